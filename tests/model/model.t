#!/bin/sh
# Rights that end by themselves: the laws hold in every story without starts and returns.
# `make model` tries those with one.
exec build/release/tests/model/model --starts 0 --states 1000000
