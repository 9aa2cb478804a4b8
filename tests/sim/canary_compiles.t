#!/bin/sh
# Planted bugs are looked for by hand (`make sim-canary`), since that takes long. Here each is planted, and the sources
# that it changes are compiled: a bug that does not compile any more would be found by nothing.
copy=build/canary/compiles
rm -rf "$copy" && mkdir -p "$copy" && cp -r Makefile .ci cluster src include "$copy" || exit 1

# The sources that a patch changes; of a header, one that includes it.
sources() {
    for file in $(sed -n 's/^+++ b\///p' "$1"); do
        case $file in
            *.h) (cd "$copy" && grep -rl --include='*.c' "\"${file#src/}\"" cluster src | sort | head -n 1) ;;
            *) echo "$file" ;;
        esac
    done
}

tests=0
failed=0
for patch in tests/sim/canary/*.patch; do
    tests=$((tests + 1))
    objects=$(for source in $(sources "$patch"); do echo "build/debug/obj/${source%.c}.o"; done)
    if [ -n "$objects" ] && patch -s -p1 -d "$copy" <"$patch" >"$copy/log" 2>&1 &&
        nice make -s -C "$copy" FLAVOUR=debug $objects >"$copy/log" 2>&1; then
        echo "ok $tests - $(basename "$patch" .patch) compiles"
    else
        failed=1
        sed 's/^/# /' "$copy/log"
        echo "not ok $tests - $(basename "$patch" .patch) compiles"
    fi
    patch -s -R -p1 -d "$copy" <"$patch" >/dev/null 2>&1
done
echo "1..$tests"
rm -rf "$copy"
exit $failed
