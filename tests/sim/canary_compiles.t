#!/bin/bash
# Planted bugs are looked for by hand (`make sim-canary`), since that takes long. Here each is planted, and the sources
# that it changes are compiled: a bug that does not compile any more would be found by nothing. What a patch changes is
# a small tree of its own, which the compiler looks into before it looks into ours.
trees=build/canary/compiles
rm -rf "$trees" && mkdir -p "$trees" || exit 1
eval "compile=($(make -s --no-print-directory FLAVOUR=debug show-compile))" || exit 1

# The sources that a patch changes, in its tree; for a header, one that includes it.
sources() { # patch, tree
    for file in $(sed -n 's/^+++ b\///p' "$1"); do
        case $file in
            *.h) grep -rl --include='*.c' "\"${file#src/}\"" cluster src | sort | head -n 1 ;;
            *) echo "$2/$file" ;;
        esac
    done
}

compiles() { # patch, tree
    mkdir -p "$2" && sed -n 's/^+++ b\///p' "$1" | xargs cp --parents -t "$2" && patch -s -p1 -d "$2" <"$1" || return
    local source all
    all=$(sources "$1" "$2")
    [ -n "$all" ] || { echo 'no source includes what it changes' && return 1; }
    for source in $all; do
        nice "${compile[@]}" -iquote "$2" -iquote "$2/src" -g0 -fsyntax-only "$source" || return
    done
}

tests=0
failed=0
for patch in tests/sim/canary/*.patch; do
    tests=$((tests + 1))
    name=$(basename "$patch" .patch)
    if compiles "$patch" "$trees/$name" >"$trees/log" 2>&1; then
        echo "ok $tests - $name compiles"
    else
        failed=1
        sed 's/^/# /' "$trees/log"
        echo "not ok $tests - $name compiles"
    fi
done
echo "1..$tests"
rm -rf "$trees"
exit $failed
