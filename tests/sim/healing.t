#!/bin/sh
# After a healed cut lawful users go on: hardly any is refused, and what is declared is not exceeded.
exec build/release/tests/sim --tap --healing 2
