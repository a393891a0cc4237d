#!/usr/bin/env bash
# gpush kernel in JupyterLab, in a headless Chromium: cells, pictures, completion, an interrupt, a
# second console. It takes half a minute of processor, and is skipped where there is no JupyterLab.
. "$GPUSH_ROOT/tests/support/notebook.sh" browser
