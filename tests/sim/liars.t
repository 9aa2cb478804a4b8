#!/bin/sh
# One member says false words about others, who sign what they say of themselves: nobody believes it, and the laws hold.
# HEADGATE_SIM_LIARS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --liars --tap --known tests/sim/liars.txt \
    --seeds "${HEADGATE_SIM_LIARS_SEEDS:-60}" --jobs 2
