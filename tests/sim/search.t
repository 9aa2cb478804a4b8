#!/bin/sh
# Adversarial schedules without refill.
exec build/release/tests/sim --tap --search 400
