#!/bin/sh
# Rules have weights of their own, which some nodes learn late, while nodes crash, join and are cut off: the laws hold
# all the same. HEADGATE_SIM_RULE_WEIGHTS_SEEDS sets how many worlds.
exec nice -n 19 build/release/tests/sim --rule-weights --tap --known tests/sim/rule-weights.txt \
    --seeds "${HEADGATE_SIM_RULE_WEIGHTS_SEEDS:-60}" --jobs 2
