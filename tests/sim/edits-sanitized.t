#!/bin/sh
# Changes of rules under ASan and UBSan, in worlds that edits.t does not run.
exec nice -n 19 build/asan/tests/sim --edits --tap --from 1001 --seeds 12 --jobs 2
