#!/bin/sh
# Operators change rules at several nodes while everything breaks. HEADGATE_SIM_EDIT_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --edits --tap --known tests/sim/edits.txt \
    --seeds "${HEADGATE_SIM_EDIT_SEEDS:-60}" --jobs 2
