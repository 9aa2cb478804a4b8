#!/bin/sh
# Demand that sits where the weights do not: every node knows what each region is asked for.
exec nice -n 19 build/release/tests/sim --tap --by-demand 1
