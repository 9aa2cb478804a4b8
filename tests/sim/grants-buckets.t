#!/bin/sh
# Buckets of which all regions have a share, and whose clients hold and give back what others granted: the laws hold all
# the same. HEADGATE_SIM_GRANTS_BUCKETS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --grants --buckets --tap --known tests/sim/grants-buckets.txt --from 5000000 \
    --seeds "${HEADGATE_SIM_GRANTS_BUCKETS_SEEDS:-30}" --jobs 2
