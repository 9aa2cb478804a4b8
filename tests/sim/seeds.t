#!/bin/sh
# Seeds that once broke a law, then fresh ones, under ASan and UBSan. HEADGATE_SIM_SEEDS sets how many.
exec build/asan/tests/sim --tap --known tests/sim/seeds.txt --seeds "${HEADGATE_SIM_SEEDS:-1000}" --jobs 2
