#!/bin/sh
# Demand that goes where rights are not: but for first asks no less is admitted with grants than without, as much as
# some rows hold, and never beyond the limit.
exec build/release/tests/sim --tap --demand 1
