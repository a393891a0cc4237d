"""Counts a program's steps without a change to it, and calls a function at each.

A step ends where an optimizer has stepped: the first that does so, of several, until it is gone or
steps no more while another does. Until one has, the calls of a module count, as in a program that
infers: the first module that is called twice from outside of any other. A hook of all modules would make every inner call slower, so it is away
while a module runs, and for good once that module is known. In what torch.compile traces, hooks do
nothing: a step that is compiled as a whole does not count.
"""

import weakref
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook


try:
    from torch.compiler import is_compiling
except ImportError:  # PyTorch 2.0 to 2.2
    from torch._utils import is_compiling


ALONE = 10  # steps of another optimizer, in which the one that counts has none: it counts no more


def _none():
    """A weak reference to nothing."""


class Steps:
    """Calls step("optimizer") after an optimizer's step, and step("module") before a call."""

    def __init__(self, step):
        self.step = step
        self.optimizer = self.other = _none  # weak: the program may drop it, and its memory
        self.others = 0  # steps of the other one since the last that counted
        self.called = set()
        self.handle = register_optimizer_step_post_hook(self._stepped)
        self.module_handle = register_module_forward_pre_hook(self._enters)

    def _stepped(self, optimizer, args, kwargs):
        if is_compiling():
            return
        if optimizer is self.optimizer():
            self.others = 0
        elif not self._follows(optimizer):
            return
        self.step("optimizer")

    def _follows(self, optimizer):
        """Whether the steps of this optimizer count from here on."""
        if self.optimizer() is None:
            self.forget_modules()
        else:
            if not self.others or self.other() is None:
                self.other, self.others = weakref.ref(optimizer), 0
            if optimizer is self.other():
                self.others += 1
            if self.others < ALONE:
                return False
        self.optimizer, self.others = weakref.ref(optimizer), 0
        return True

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

    def remove(self, kind):
        """Takes the hooks away that this kind of step needs no more: all, but for calls that steps
        of an optimizer may follow."""
        self.forget_modules()
        if kind != "module":
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
