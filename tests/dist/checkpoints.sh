#!/usr/bin/env bash
# Sharded checkpoints: they load on another number of ranks, gpush run --restarts goes on from the
# last one with the same losses, and a save that fails on one rank fails on all and leaves the
# earlier one whole.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
lua=$GPUSH_ROOT/tests/support/dist/checkpoint.lua

ranks 2 "$lua" train whole.safetensors
tap_is "$status $(grep -c '^step' out)" "0 8" "a training of 8 steps, saved after every second" "$(head -5 err)"
grep '^step' out >whole
ranks 2 --restarts 1 "$lua" train killed.safetensors 7
tap_is "$status $(grep -c 'restart 1 of 1' err)" "0 1" "a rank that is killed: the job is started again"
tap_is "$(grep '^from' out | tr '\n' ' ')" "from 0 from 6 " "it goes on from the last checkpoint"
tap_is "$(grep '^step' out | sort -u)" "$(cat whole)" "with the same losses, bit for bit"
tap_is "$(printf "%s\n" killed*)" "killed-4-00001-of-00002.safetensors
killed-4-00002-of-00002.safetensors
killed.safetensors" "earlier shards are removed"

for n in 1 3; do
    ranks $n "$lua" load whole.safetensors
    tap_is "$status $(grep -c 'equal.*true' out)" "0 $n" "it loads on $n ranks"
done

ranks 2 "$lua" faults whole.safetensors
tap_is "$status" 0 "faults: it runs"
[ "$(grep -c ' wrong' out)" = 0 ]
tap_ok $? "each fails on both ranks, with the rank and the reason" "$(cat out; head -5 err)"
tap_is "$(echo whole*)" \
    "whole whole-4-00001-of-00002.safetensors whole-4-00002-of-00002.safetensors whole.safetensors" \
    "and leaves the files as they were"
tap_done
