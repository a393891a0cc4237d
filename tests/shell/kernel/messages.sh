#!/usr/bin/env bash
# gpush kernel, asked by jupyter_client: the requests of a notebook, one by one. JUPYTER_PYTHON names
# a Python that has it.
. "$GPUSH_ROOT/tests/support/tap.sh"
python=${JUPYTER_PYTHON:-python3}
"$python" -c 'import jupyter_client' 2>/dev/null ||
    tap_skip_all "$python has no jupyter_client: pip install jupyter_client, and JUPYTER_PYTHON=its Python"
exec "$python" "$GPUSH_ROOT/tests/support/notebook/messages.py"
