#!/bin/sh
# One of three regions is gone for good: once it is forgotten the two others use the whole limit, within what is
# declared.
exec build/release/tests/sim --tap --gone 2
