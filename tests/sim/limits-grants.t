#!/bin/sh
# Operators change limits of configs while nodes grant each other rights under the former ones: the laws hold all the
# same. HEADGATE_SIM_LIMITS_GRANTS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --limits --grants --tap --known tests/sim/limits-grants.txt \
    --seeds "${HEADGATE_SIM_LIMITS_GRANTS_SEEDS:-30}" --jobs 2
