#!/usr/bin/env bash
# gpush kernel: cells of all kinds that run for long are interrupted.
. "$GPUSH_ROOT/tests/support/notebook.sh" interrupts
