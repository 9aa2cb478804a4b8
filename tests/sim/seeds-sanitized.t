#!/bin/sh
# The simulated cluster under ASan and UBSan, in worlds that seeds.t does not run. hash.t runs those from 1001 to 1016.
exec nice -n 19 build/asan/tests/sim --tap --from 1017 --seeds 12 --jobs 2
