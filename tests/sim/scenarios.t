#!/bin/sh
# The reference model's scenarios: at least as accurate as the model.
exec build/release/tests/sim --scenarios 3 --tap
