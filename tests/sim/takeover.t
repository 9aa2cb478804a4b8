#!/bin/sh
# Rights end by themselves, and who is gone is not waited for (cluster/members/takeover.h): the laws hold all the same.
# HEADGATE_SIM_TAKEOVER_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --takeover --tap --known tests/sim/takeover.txt \
    --seeds "${HEADGATE_SIM_TAKEOVER_SEEDS:-12}" --jobs 2
