#!/bin/sh
# Weights that follow demand: never less is admitted than with fixed ones, and what swings or is even changes nothing.
exec nice -n 19 build/release/tests/sim --tap --follow 1
