#!/bin/sh
# Leases with a home are renewed elsewhere for several of their periods, while nodes crash, join and are cut off: the
# laws hold all the same. HEADGATE_SIM_HOMES_LEASES_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --homes --leases --tap --from 2000000 \
    --seeds "${HEADGATE_SIM_HOMES_LEASES_SEEDS:-30}" --jobs 2
