"""Records some steps of a PyTorch program that does not know of it; `gpush record` starts it.

sitecustomize calls watch() in each Python process. It waits until the program has imported torch,
then counts steps (steps.py), and records a few of them by torch.profiler (window.py). What it is to
record, and for whom, stands in recorder.py. The environment says how, and is inherited:

GPUSH_RECORD_DIR   the folder for traces, claims and notes; without it nothing is recorded
GPUSH_RECORD       options as words: skip=10 steps=3 seconds=0 stacks shapes memory
"""

import sys


class _AfterImport:
    """A finder that knows no module. Once torch's own loader has run it, `ready` is called, and the
    finder is gone; until then a program may ask where torch is. `missing`: it is nowhere."""

    def __init__(self, ready, missing):
        self.ready, self.missing = ready, missing

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    self._call_after(spec.loader)
                return spec
        self.missing()
        return None

    def _call_after(self, loader):
        run = loader.exec_module

        def exec_module(module):
            loader.exec_module = run
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.ready()

        loader.exec_module = exec_module


def watch():
    """Calls the recorder once torch is imported; adds nothing to a process that never does."""
    from gpush_record.recorder import Recorder

    recorder = Recorder()
    sys.meta_path.insert(0, _AfterImport(recorder.torch_is_there, recorder.no_torch))
