#!/usr/bin/env bash
# gpush kernel: wrong signatures, broken messages, floods, slow readers, ends.
. "$GPUSH_ROOT/tests/support/notebook.sh" hostile
