#!/bin/sh
# Windows that are used up, whose nodes grant each other rights: the laws hold all the same. HEADGATE_SIM_WINDOWS_SEEDS
# sets how many worlds.
exec nice -n 19 build/release/tests/sim --windows --tap --known tests/sim/windows.txt \
    --seeds "${HEADGATE_SIM_WINDOWS_SEEDS:-40}" --jobs 2
