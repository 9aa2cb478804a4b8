#!/bin/sh
# One node of three or more has another config, and must not decide. HEADGATE_SIM_ODD_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --odd --tap --seeds "${HEADGATE_SIM_ODD_SEEDS:-100}" --jobs 2
