#!/bin/sh
# Half of the limits with a home have a daemon as their home, while nodes crash, join and are cut off: the laws hold all
# the same. HEADGATE_SIM_HOMES_DAEMONS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --homes --daemons --tap --from 1000000 \
    --seeds "${HEADGATE_SIM_HOMES_DAEMONS_SEEDS:-30}" --jobs 2
