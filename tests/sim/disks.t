#!/bin/sh
# All nodes start anew, and some have what their stores kept. HEADGATE_SIM_DISK_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --disks --tap --known tests/sim/disks.txt \
    --seeds "${HEADGATE_SIM_DISK_SEEDS:-150}" --jobs 2
