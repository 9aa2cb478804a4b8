#!/bin/sh
# Links are cut for long, and those who still hear each other do not charge what they hear (cluster/apply/uncharged.h):
# the laws hold all the same. HEADGATE_SIM_LONELY_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --lonely --tap --seeds "${HEADGATE_SIM_LONELY_SEEDS:-24}" --jobs 2
