#!/usr/bin/env bash
# gpush kernel: input and a second console while a cell runs.
. "$GPUSH_ROOT/tests/support/notebook.sh" running
