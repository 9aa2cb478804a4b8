#!/bin/sh
# Weights of regions change while nodes run: the laws hold all the same. HEADGATE_SIM_WEIGHTS_SEEDS sets how many
# worlds.
exec nice -n 19 build/release/tests/sim --weights --tap --known tests/sim/weights.txt \
    --seeds "${HEADGATE_SIM_WEIGHTS_SEEDS:-60}" --jobs 2
