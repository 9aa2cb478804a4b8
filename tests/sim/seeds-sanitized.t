#!/bin/sh
# The simulated cluster under ASan and UBSan, in worlds that seeds.t does not run.
exec nice -n 19 build/asan/tests/sim --tap --from 1001 --seeds 40 --jobs 2
