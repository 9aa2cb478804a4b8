#!/bin/sh
# The same seeds give the same effects, bit for bit, whatever compiles them: gcc -O2, -O1, -O0 and clang.
seeds=16
expected=$(build/release/tests/sim --hash --seeds $seeds)
echo "# gcc -O2: $expected"
tests=0
for flavour in asan debug clang; do
    tests=$((tests + 1))
    hash=$(build/$flavour/tests/sim --hash --seeds $seeds)
    if [ -n "$hash" ] && [ "$hash" = "$expected" ]; then
        echo "ok $tests - $seeds seeds have the same hash of all effects in the $flavour build"
    else
        echo "not ok $tests - $seeds seeds have the same hash of all effects in the $flavour build"
        echo "# $hash"
    fi
done
echo "1..$tests"
