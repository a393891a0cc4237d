#!/usr/bin/env bash
# gpush kernel: the requests of a notebook, one by one.
. "$GPUSH_ROOT/tests/support/notebook.sh" messages
