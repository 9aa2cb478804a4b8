#!/bin/sh
# Adversarial schedules for limits that refill.
exec build/release/tests/sim --tap --search 50 --refill
