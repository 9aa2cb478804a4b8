#!/bin/sh
# The same under ASan and UBSan: seeds that once broke a law, and some fresh ones.
exec nice -n 19 build/asan/tests/sim --tap --known tests/sim/seeds.txt --seeds 100 --jobs 2
