#!/bin/sh
# Limits have a home, whose region has all of them, while nodes crash, join and are cut off: the laws hold all the same.
# HEADGATE_SIM_HOMES_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --homes --tap --known tests/sim/homes.txt \
    --seeds "${HEADGATE_SIM_HOMES_SEEDS:-60}" --jobs 2
