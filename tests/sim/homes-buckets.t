#!/bin/sh
# Buckets with a home are used, held and given back elsewhere, while nodes crash, join and are cut off: the laws hold
# all the same. HEADGATE_SIM_HOMES_BUCKETS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --homes --buckets --tap --known tests/sim/homes-buckets.txt \
    --from 4100000 --seeds "${HEADGATE_SIM_HOMES_BUCKETS_SEEDS:-30}" --jobs 2
