"""The recorded steps: torch.profiler around them, and every way in which they can end.

The profiler warms up during one step, which it leaves out, and then records. The window also ends
where the program does: at its exit, in os._exit, at SIGTERM or SIGHUP where the program does not
handle it, or where the program starts a profiler of its own, of which there can be one.
"""

import ctypes
import os
import signal
import threading
import time

import torch
from torch import profiler
from torch.autograd import profiler as internals

BUSY = 0.1  # of the time without a processor, from which that is said


class OwnProfiler:
    """Knows whether a profiler of the program's runs, or warms up, which torch does not tell."""

    def __init__(self):
        self.warms_up = False
        self.window = None  # the open one, which has to end where the program's profiler begins
        self.prepare, self.enable = internals._prepare_profiler, internals._enable_profiler
        internals._prepare_profiler = self._prepares
        internals._enable_profiler = self._enables

    def runs(self):
        enabled = getattr(torch.autograd, "_profiler_enabled", None)
        return self.warms_up or bool(enabled and enabled())

    def _prepares(self, *args, **kwargs):
        if self.window:
            self.window.displace()
        self.warms_up = True
        return self.prepare(*args, **kwargs)

    def _enables(self, *args, **kwargs):
        self.warms_up = False
        return self.enable(*args, **kwargs)


def _sync_events():
    """The option that records synchronizations of the device, where this version has it."""
    config = getattr(torch._C._profiler, "_ExperimentalConfig", None)
    try:
        return {"experimental_config": config(enable_cuda_sync_events=True)} if config else {}
    except TypeError:
        return {}


def _activities():
    """The processor, and the device if the program has used it: asking would start it."""
    found = [profiler.ProfilerActivity.CPU]
    if torch.cuda.is_initialized():
        found.append(profiler.ProfilerActivity.CUDA)
    return found


def _warm_up_first(step):
    """What the profiler does in its step: warm up in the first, record in the others."""
    return profiler.ProfilerAction.RECORD if step else profiler.ProfilerAction.WARMUP


def _scheduled(thread="thread-self"):
    """How long a thread has had a processor, and had to wait for one, ns; None: the system does not
    tell."""
    try:
        with open(f"/proc/{thread}/schedstat", encoding="ascii") as file:
            return tuple(int(word) for word in file.read().split()[:2])
    except (OSError, ValueError):
        return None


def _others():
    """How long each other thread that runs Python has had a processor, ns, by its number."""
    found = {}
    for thread in threading.enumerate():
        times = _scheduled(f"self/task/{thread.native_id}")
        if thread is not threading.current_thread() and times:
            found[thread.native_id] = times[0], thread.name
    return found


def end_without_kineto():
    """Has a child of fork end without the destructors of the C libraries that it inherited.

    Kineto's destroys a condition variable on which a thread of the parent waits, and never returns,
    or joins that thread and crashes. C's files are flushed, as Python's have been by then, and the
    status is the program's; what the child has C call at its exit comes first.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc's
        for function in libc._exit, libc.fcloseall:  # called in the other order
            libc.on_exit(function, None)


class Window:
    """Records `steps` steps, after one of warming up, and calls done(profile, steps recorded).
    usual: ns that a step took before; None: not known."""

    def __init__(self, options, own, done, usual=None):
        self.options = options
        self.own = own
        self.done = done
        self.left = options.steps
        self.recording = False
        self.open = True
        self.displaced = False  # by the program's own profiler
        self.begun = None  # thread, ns, its _scheduled() and that of the _others()
        self.waited = self.beside = None  # as measure() has them, of all that was recorded
        self.tells = os.environ.get("GPUSH_LOADED") != "0"  # what the machine did to the times
        self.usual = usual if self.tells else None
        self.step_ns = 0  # of a recorded step
        self.ends = []  # of the recorded steps, ns
        self.profile = profiler.profile(
            activities=_activities(),
            record_shapes=options.shapes,
            with_stack=options.stacks,
            profile_memory=options.memory,
            schedule=_warm_up_first,
            **_sync_events(),
        )
        self.closing = False
        self.ended_by = None  # a signal
        self.profile.start()
        self._guard()

    def step(self):
        """A step of the program has ended."""
        if not self.open:
            return
        if not self.recording:
            self.recording = True
            self.profile.step()
            self.begun = threading.get_ident(), time.perf_counter_ns(), _scheduled(), _others()
            return
        self.ends.append(time.perf_counter_ns())
        self.left -= 1
        if self.left == 0:
            self.close()
        else:
            self.profile.step()

    def measure(self):
        """Sets of what was recorded so far: step_ns; waited, of how many ns it was and in how many
        the thread waited for a processor, where those are many; and beside, which other thread that
        runs Python had a processor, for how many ns, and for how many this one stood still."""
        thread, begun, before, others = self.begun or (None, 0, None, None)
        now, now_others = _scheduled(), _others()  # before the clock: a wait is the clock's alone
        if thread != threading.get_ident():
            return
        wall = time.perf_counter_ns() - begun
        steps = sorted(end - start for start, end in zip([begun, *self.ends], self.ends))
        self.step_ns = steps[len(steps) // 2] if steps else 0
        if not before or not now or len(before) < 2 or len(now) < 2:
            return
        ran, ready = now[0] - before[0], now[1] - before[1]
        if ready >= BUSY * wall:
            self.waited = wall, ready
        stood = wall - ran - ready
        rows = [(ns - others.get(k, (0, ""))[0], name) for k, (ns, name) in now_others.items()]
        most, name = max(rows, default=(0, ""))
        if self.tells and most >= BUSY * wall and stood >= BUSY * wall:
            self.beside = name, most, stood

    def recorded(self):
        return self.options.steps - self.left

    def close(self):
        """Ends the recording, once, and hands it on if there is one."""
        if not self.open:
            return
        self.open, self.closing = False, True
        os._exit = self.exit
        self.own.window = None
        try:
            self.measure()
            self._note()
            self.profile.stop()
            self.done(self.profile if self.recording else None, self.recorded())
        finally:
            self.closing = False
            self._release_signals()
            self._end_by_signal()

    def _note(self):
        """Notes in the trace what gpush analyze says beside what is predicted from it."""
        notes = {
            "gpush_starved_ns": self.waited and self.waited[1],
            "gpush_beside_ns": self.beside and min(self.beside[1:]),
            "gpush_usual_step_ns": self.usual,
        }
        for key, ns in notes.items():
            if ns and self.tells:
                self.profile.add_metadata_json(key, str(ns))

    # ---- other ends ----

    def _guard(self):
        self.exit = os._exit
        os._exit = self._exits
        self.own.window = self
        self.signals = []  # which this handles
        if threading.current_thread() is threading.main_thread():
            ends = signal.SIGTERM, signal.SIGHUP
            self.signals = [each for each in ends if signal.getsignal(each) == signal.SIG_DFL]
        for each in self.signals:
            signal.signal(each, self._terminated)

    def _release_signals(self):
        if threading.current_thread() is not threading.main_thread():
            return
        for each in self.signals:
            if signal.getsignal(each) == self._terminated:
                signal.signal(each, signal.SIG_DFL)

    def _exits(self, status):
        self.close()
        self.exit(status)

    def displace(self):
        """The program's own profiler begins."""
        self.displaced = True
        self.close()

    def _terminated(self, number, frame):
        """A signal came, which ends the program once what is recorded is kept."""
        self.ended_by = number
        if not self.closing:
            self.close()
            self._end_by_signal()

    def _end_by_signal(self):
        """Ends the program where a signal came, also while the recording was ended."""
        if self.ended_by:
            self._release_signals()
            os.kill(os.getpid(), self.ended_by)

    def forked(self):
        """In a child process: the window is the parent's."""
        self.open = False
        os._exit = self.exit
        self.own.window = None
        self._release_signals()
