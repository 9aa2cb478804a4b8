#!/usr/bin/env bash
# Shows that one limit holds over several daemons: config/demonstrate.sh HEADGATE REGION=HOST:PORT ...
# Exit status 1 when more was admitted than the limit, its refill and its declared overshoot allow.
set -u
headgate=$1
shift
regions=("${@%%=*}")
targets=$(printf '%s,' "${@#*=}")
targets=${targets%,}

# One number of a report, which is JSON on one line.
number() {
    sed -n "s/.*\"$1\":\\(-\\{0,1\\}[0-9.]*\\).*/\\1/p" <<<"$report"
}

row() {
    # shellcheck disable=SC2059
    printf "  %-26s$(printf '%%10s%.0s' "${regions[@]}")%8s%12s%8s  %s\n" "$@" | sed "s/ *$//"
}

status=0
# A row: what it is called, the limit, then how to load.
show() {
    local title=$1 rule=$2 verdict=holds
    shift 2
    if ! report=$("$headgate" load --to "$targets" --command check --rule "$rule" --json "$@"); then
        echo "headgate load $* failed" >&2
        exit 69
    fi
    mapfile -t admitted < <(grep -o '"address":[^}]*' <<<"$report" | sed 's/.*"admitted":\([0-9]*\).*/\1/')
    if ! grep -q '"within_bound":true' <<<"$report"; then
        verdict="DOES NOT HOLD"
        status=1
    fi
    row "$title" "${admitted[@]}" "$(number admitted_tokens)" "$(printf %.0f "$(number ideal_tokens)")" \
        "$(awk -v bound="$(number bound)" 'BEGIN { print int(bound) }')" "$verdict"
}

echo
echo "Tokens that each region hands out for one key, asked at all of them at once (limit: 100, refilled at 100/s):"
row "" "${regions[@]}" sum "one bucket" bound ""
echo "Limit \"default\", declared overshoot 20%"
show "300 requests, once" default --burst 100
show "600 requests/s for 2 s" default --rate 600/s --poisson --seconds 2
echo "Limit \"strict\", declared overshoot 0"
show "300 requests, once" strict --burst 100
show "600 requests/s for 2 s" strict --rate 600/s --poisson --seconds 2
echo "(Three limits that do not talk would admit 300 at once. Bound: 100 + refill + overshoot. What a burst leaves over"
echo "is handed out as soon as all regions know who spent what, some milliseconds later.)"
exit $status
