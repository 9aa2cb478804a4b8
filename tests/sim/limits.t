#!/bin/sh
# Operators change limits of configs and reload daemons while everything breaks. HEADGATE_SIM_LIMITS_SEEDS sets how many
# worlds.
exec nice -n 19 build/release/tests/sim --limits --tap --known tests/sim/limits.txt \
    --seeds "${HEADGATE_SIM_LIMITS_SEEDS:-100}" --jobs 2
