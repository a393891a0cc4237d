#!/usr/bin/env bash
# gpush kernel answers what VS Code's Jupyter extension sends, by a list of its messages.
. "$GPUSH_ROOT/tests/support/notebook.sh" vscode
