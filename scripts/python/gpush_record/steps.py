"""Counts a program's steps without a change to it, and calls a function at each.

A step ends where an optimizer has stepped: the first that does so, of several. Until one has, the
calls of a module count, as in a program that infers: the first module that is called twice from
outside of any other. A hook of all modules would make every inner call slower, so it is away
while a module runs, and for good once that module is known. In what torch.compile traces, hooks do
nothing: a step that is compiled as a whole does not count.
"""

import gc
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook


try:
    from torch.compiler import is_compiling
except ImportError:  # PyTorch 2.0

    def is_compiling():
        return False


class Steps:
    """Calls step("optimizer") after an optimizer's step, and step("module") before a call."""

    def __init__(self, step):
        self.step = step
        self.optimizer = None
        self.called = set()
        self.handle = register_optimizer_step_post_hook(self._stepped)
        self.module_handle = register_module_forward_pre_hook(self._enters)

    def _stepped(self, optimizer, args, kwargs):
        if is_compiling():
            return
        if optimizer is not self.optimizer:
            if self.optimizer is not None:
                return
            self.optimizer = optimizer
            self.forget_modules()
        self.step("optimizer")

    def _enters(self, module, args):
        """Before a call from outside of any module."""
        if is_compiling():
            return
        self.module_handle.remove()
        if id(module) in self.called:
            self.module_handle = module.register_forward_pre_hook(_BeforeCall(self.step))
            self.step("module")
        else:
            self.called.add(id(module))
            self.module_handle = module.register_forward_hook(self._leaves)

    def _leaves(self, module, args, result):
        self.module_handle.remove()
        self.module_handle = register_module_forward_pre_hook(self._enters)

    def forget_modules(self):
        self.module_handle.remove()

    def remove(self):
        """Takes all hooks away: the program runs as without gpush from here on."""
        self.forget_modules()
        self.handle.remove()


class _BeforeCall:
    """A module's hook. A program may save its module with it, or copy it: the hook is then
    `{}.get`, which before a call gives the arguments back, and needs nothing of gpush."""

    def __init__(self, step):
        self.step = step

    def __call__(self, module, args):
        if not is_compiling():
            self.step("module")

    def __reduce__(self):
        return getattr, ({}, "get")


def has_optimizer():
    """Whether the program made an optimizer, whose steps are then worth waiting for."""
    return any(issubclass(type(each), Optimizer) for each in gc.get_objects())
