#!/bin/sh
# Nodes ask each other for rights of keys, and grant them (cluster/spend/voucher.h): the laws hold all the same.
# HEADGATE_SIM_GRANTS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --grants --tap --known tests/sim/grants.txt \
    --seeds "${HEADGATE_SIM_GRANTS_SEEDS:-60}" --jobs 2
