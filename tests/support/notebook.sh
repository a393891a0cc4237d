# What the tests of gpush kernel share: source "$GPUSH_ROOT/tests/support/notebook.sh" NAME runs
# tests/support/notebook/NAME.py. JUPYTER_PYTHON names a Python that has jupyter_client.
# shellcheck shell=bash
. "$GPUSH_ROOT/tests/support/tap.sh"
python=${JUPYTER_PYTHON:-python3}
"$python" -c 'import jupyter_client' 2>/dev/null ||
    tap_skip_all "$python has no jupyter_client: pip install jupyter_client, and JUPYTER_PYTHON=its Python"
cd "$HOME" || exit 1
exec "$python" "$GPUSH_ROOT/tests/support/notebook/$1.py"
