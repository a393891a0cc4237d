#!/usr/bin/env bash
# gpush kernel as a rank of two: a collective that waits for the other is interrupted.
. "$GPUSH_ROOT/tests/support/notebook.sh" collective
