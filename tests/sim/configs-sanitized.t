#!/bin/sh
# A node of another config under ASan and UBSan, in worlds that configs.t does not run.
exec nice -n 19 build/asan/tests/sim --odd --tap --from 1001 --seeds 20 --jobs 2
