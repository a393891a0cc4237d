#!/usr/bin/env bash
# gpush kernel: jupyter_kernel_test whole, and a notebook by nbclient.
. "$GPUSH_ROOT/tests/support/notebook.sh" jupyter
