#!/bin/sh
# The reference model's scenarios: declared overshoot never exceeded, utilisation as good as the model's.
exec build/release/tests/sim --tap --scenarios 1
