#!/bin/sh
# Seeds that once broke a law, then 1,000 more, under ASan and UBSan.
exec build/asan/tests/sim --known tests/sim/seeds.txt --seeds "${SIM_SEEDS:-1000}" --jobs "$(nproc)" --tap
