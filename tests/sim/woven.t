#!/bin/sh
# Schedules in which each view lacks another half of what is on its way.
exec build/release/tests/sim --tap --woven
