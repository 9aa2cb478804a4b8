#!/bin/sh
# The same seeds give the same effects, bit for bit, whatever compiles them: gcc -O2 and -O1, clang -O0.
# The build with -O1 has sanitizers, and these are the first of the seeds that run with them: seeds-sanitized.t has the
# others.
seeds=16
expected=$(build/release/tests/sim --hash --from 1001 --seeds $seeds)
echo "$expected" | sed 's/^/# gcc -O2: /'
tests=0
for flavour in asan clang; do
    tests=$((tests + 1))
    if hash=$(build/$flavour/tests/sim --hash --from 1001 --seeds $seeds) && [ "$hash" = "$expected" ]; then
        echo "ok $tests - $seeds seeds have the same hash of all effects in the $flavour build"
    else
        echo "not ok $tests - $seeds seeds have the same hash of all effects in the $flavour build"
        echo "$hash" | sed 's/^/# /'
    fi
done
echo "1..$tests"
