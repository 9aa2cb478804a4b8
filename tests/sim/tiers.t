#!/bin/sh
# Limits are tiers of one rule, and each request of a key is of any of them, while everything breaks.
# HEADGATE_SIM_TIERS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --tiers --tap --known tests/sim/tiers.txt \
    --seeds "${HEADGATE_SIM_TIERS_SEEDS:-100}" --jobs 2
