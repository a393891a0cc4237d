"""Python imports this file at its start where `gpush record` put its folder in PYTHONPATH.

It begins to watch for torch, and then runs the sitecustomize that Python would have imported
without it, so that the program finds what it knows: the module, and sys.path without this folder.
"""

import os
import sys
from importlib import machinery, util


def _hand_on(here):
    """Takes this folder out of sys.path and runs the next sitecustomize, if there is one."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _watch():
    """Starts the recorder; an error of it is reported and does not end the program."""
    try:
        import gpush_record

        gpush_record.watch()
    except Exception as error:  # the program comes first
        print(f"gpush record: nothing is recorded: {error!r}", file=sys.stderr)


if os.environ.get("GPUSH_RECORD_DIR"):
    _watch()
_hand_on(os.path.dirname(os.path.abspath(__file__)))
