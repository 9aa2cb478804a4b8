#!/bin/sh
# Starts with kept stores under ASan and UBSan, in worlds that disks.t does not run.
exec nice -n 19 build/asan/tests/sim --disks --tap --from 1001 --seeds 30 --jobs 2
