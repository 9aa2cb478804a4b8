#!/bin/sh
# Seeds that once broke a law, then fresh ones. HEADGATE_SIM_SEEDS sets how many.
exec nice -n 19 build/release/tests/sim --tap --known tests/sim/seeds.txt --seeds "${HEADGATE_SIM_SEEDS:-240}" --jobs 2
