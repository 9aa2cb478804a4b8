#!/bin/sh
# What the simulator draws is drawn together: every two features, in the seeds that `make check` runs.
exec build/release/tests/sim --tap --pairs 500
