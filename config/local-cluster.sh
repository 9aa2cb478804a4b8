#!/usr/bin/env bash
# Three regions on this machine: `config/local-cluster.sh up` (or `make up`) starts what does not run yet of
# config/{us-east,eu-west,ap-south}.yaml, waits until all see each other and shows that one limit holds;
# `down` stops the daemons of these three configs, whether `up` or somebody's own command started them, and nothing
# else. Pid files and logs are in ./run.
set -u
cd "$(dirname "$0")/.." || exit

regions=(us-east eu-west ap-south)
build=${HEADGATE_BUILD:-build/release}
seconds_to_meet=15
seconds_to_leave=15

fail() {
    echo "headgate: $*" >&2
    exit 69
}

# The addresses that a config listens on, e.g. 127.0.0.1:7070; $2 picks one: clients, gossip, snapshots, http.
listens() {
    awk -v which="${2:-.}" '/^[^ #]/ { on = $1 == "listen:" } on && $1 ~ which && /^ .*:[0-9]+ *(#.*)?$/ { print $2 }' \
        "config/$1.yaml" | tr -d "\"'"
}

# When a live process started, in ticks after boot: with it, a pid names one process for good.
started() {
    sed -n 's/.*) //p' "/proc/$1/stat" 2>/dev/null | awk '$1 !~ /[ZX]/ { print $20 }'
}

# The pid of a region's daemon, if it is alive and the very process that was started here.
pid_of() {
    local pid ticks
    read -r pid ticks 2>/dev/null <"run/$1.pid" || return 1
    [ -n "$ticks" ] && [ "$(started "$pid")" = "$ticks" ] && echo "$pid"
}

# True when the process runs headgated with this region's config.
serves() {
    local name word before=
    read -r name 2>/dev/null <"/proc/$1/comm" && [ "$name" = headgated ] && [ -n "$(started "$1")" ] || return 1
    while IFS= read -r -d '' word; do
        case $before in -c | --config) word=--config=$word ;; esac
        before=$word
        case $word in
            --config=/*) [ "${word#*=}" -ef "config/$2.yaml" ] && return ;;
            --config=*) [ "/proc/$1/cwd/${word#*=}" -ef "config/$2.yaml" ] && return ;;
        esac
    done <"/proc/$1/cmdline"
    return 1
} 2>/dev/null

# A daemon that was started by hand gets a pid file as the others have.
adopt() {
    local region process
    for region in "${regions[@]}"; do
        pid_of "$region" >/dev/null && continue
        for process in /proc/[0-9]*; do
            serves "${process#/proc/}" "$region" || continue
            echo "${process#/proc/} $(started "${process#/proc/}")" >"run/$region.pid"
            break
        done
    done
}

# Who listens on a port, as far as /proc tells: "redis-server, pid 12", or nothing.
owner_of_port() {
    local inode fd pid
    inode=$(awk -v port="$(printf ':%04X' "$1")" \
        '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    [ -n "$inode" ] || return 1
    fd=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" -print -quit 2>/dev/null)
    pid=${fd#/proc/}
    pid=${pid%%/*}
    [ -z "$pid" ] || echo "$(cat "/proc/$pid/comm"), pid $pid"
}

check_ports() {
    local region address port owner
    for region in "$@"; do
        for address in $(listens "$region"); do
            port=${address##*:}
            if owner=$(owner_of_port "$port"); then
                fail "port $port, which $region needs, is in use${owner:+ by $owner}: stop that," \
                    "or choose another port in config/$region.yaml. Nothing was started."
            fi
        done
    done
}

start() {
    local pid
    : >"run/$1.log"
    setsid "$build/headgated" --config "config/$1.yaml" >>"run/$1.log" 2>&1 </dev/null 9>&- &
    pid=$!
    echo "$pid $(started "$pid")" >"run/$1.pid"
}

# Stops the named regions; those that do not leave in time are killed.
stop() {
    local region pid deadline=$((SECONDS + seconds_to_leave))
    for region in "$@"; do
        pid=$(pid_of "$region") && kill -TERM "$pid"
    done
    for region in "$@"; do
        while pid=$(pid_of "$region"); do
            [ "$SECONDS" -lt "$deadline" ] || kill -KILL "$pid" || fail "$region (pid $pid) cannot be stopped"
            sleep 0.05
        done
        rm -f "run/$region.pid"
    done
}

running() {
    local region
    for region in "${regions[@]}"; do
        pid_of "$region" >/dev/null && echo "$region"
    done
}

# True when this region's daemon hears all the others.
sees_all() {
    [ "$("$build/headgate" nodes --at "$(listens "$1" clients)" 2>/dev/null | grep -cw active)" -eq ${#regions[@]} ]
}

give_up() {
    local region=$1
    shift
    echo "headgate: $region $*; the end of run/$region.log:" >&2
    tail -n 5 "run/$region.log" | sed 's/^/    /' >&2
    stop "${begun[@]}"
    fail "what was started has been stopped again"
}

wait_for_all() {
    local region other deadline=$((SECONDS + seconds_to_meet))
    for region in "${regions[@]}"; do
        until sees_all "$region"; do
            for other in "${regions[@]}"; do
                pid_of "$other" >/dev/null || give_up "$other" "ended by itself"
            done
            [ "$SECONDS" -lt "$deadline" ] || give_up "$region" "does not see the others after $seconds_to_meet s"
            sleep 0.05
        done
    done
}

up() {
    local region pid age targets=()
    begun=()
    for region in "${regions[@]}"; do
        pid_of "$region" >/dev/null || begun+=("$region")
    done
    if [ ${#begun[@]} -eq 0 ]; then
        echo "Headgate is already up."
    else
        check_ports "${begun[@]}"
        trap 'stop "${begun[@]}"; exit 130' INT TERM
        for region in "${begun[@]}"; do
            start "$region"
        done
        wait_for_all
        trap - INT TERM
    fi
    for region in "${regions[@]}"; do
        pid=$(pid_of "$region")
        age=
        [[ $(readlink "/proc/$pid/exe") != *deleted* ]] || age=", an older build (make down, make up renews it)"
        printf '  %-9s clients on %s, pid %s%s\n' "$region" "$(listens "$region" clients)" "$pid" "$age"
    done
    for region in "${regions[@]}"; do
        targets+=("$region=$(listens "$region" clients)")
    done
    config/demonstrate.sh "$build/headgate" "${targets[@]}" || fail "the demonstration failed; the daemons are still up"
    echo
    echo "Try it:  redis-cli -p $(listens us-east clients | sed 's/.*://') CAN_ACCESS alice"
    echo "         curl 'http://$(listens us-east http)/check?user=alice'"
    echo "         $build/headgate explain alice"
    echo "         $build/headgate rules apply docs/examples/shop.yaml"
    echo "Logs are in run/. \`make down\` stops all three."
}

down() {
    local region up
    up=$(running)
    if [ -z "$up" ]; then
        echo "Headgate is not up: nothing to stop."
    else
        # shellcheck disable=SC2086
        stop $up
        echo "Stopped" ${up//$'\n'/ }.
    fi
    for region in "${regions[@]}"; do
        rm -f "run/$region.pid"
    done
}

mkdir -p run || exit 73
exec 9>run/lock
flock -w 60 9 || fail "another make up or make down holds run/lock"
adopt
case "${1:-}" in
    up) up ;;
    down) down ;;
    *) echo "usage: $0 up|down" >&2; exit 64 ;;
esac
