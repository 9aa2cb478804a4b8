#!/bin/sh
# Regions that all ask for more than there is: each gets its weight's part of what refills.
exec nice -n 19 build/release/tests/sim --tap --contention 1
