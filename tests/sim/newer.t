#!/bin/sh
# Some nodes are of a later release and say more than this one knows: nothing else may differ. Each world is run with
# what they say besides, and without. HEADGATE_SIM_NEWER_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --newer --tap --seeds "${HEADGATE_SIM_NEWER_SEEDS:-30}" --jobs 2
