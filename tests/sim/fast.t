#!/bin/sh
# Clocks run 2% to 20% fast, or slow, while faults come and times are held to the median: every law of safety holds.
# HEADGATE_SIM_FAST_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --fast --tap --seeds "${HEADGATE_SIM_FAST_SEEDS:-4}" --jobs 2
