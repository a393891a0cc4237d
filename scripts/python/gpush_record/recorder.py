"""Decides what is recorded in this process: which steps, or which seconds, and for which rank.

Of several processes those that step are recorded, each for its rank; who comes second for a rank
leaves it alone. So the workers of a loader and a program's helpers write nothing. A launcher does
not step, but may outlast the time after which time counts: gpush record prefers files named after
steps to those after time, and ranks to processes that know of none. At its exit a process that recorded nothing leaves a note, which `gpush record` shows if no process
recorded anything. Nothing that goes wrong here may end the program, so it becomes a note, too.
"""

import atexit
import collections
import ctypes
import os
import sys
import threading
import time

NONE_FOR = 30  # seconds without a record or a step of an optimizer, after which time counts
BRIEFLY = 2  # seconds that are then recorded; steps that follow replace them
USUAL = 3  # steps at least, and twice as many at most, whose times before the window are compared
SLOWED = 1.5  # times as long as those the recorded steps take, from which that is said
OUTSIDE = ", outside of what torch.compile compiled: --seconds N records by time"
ENDED = "the program ended in the first step that was to be recorded"
PROFILED = "the program's own profiler ran when the steps were to be recorded"
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")  # where launchers say it


class Options:
    """What GPUSH_RECORD says."""

    def __init__(self, text):
        words = dict(word.partition("=")[::2] for word in text.split())
        self.skip = int(words.get("skip", 10))
        self.steps = int(words.get("steps", 3))
        self.seconds = float(words.get("seconds", 0))
        self.stacks = "stacks" in words
        self.shapes = "shapes" in words
        self.memory = "memory" in words


def say(text):
    """Prints a message, unless the program has no stderr, or has closed it."""
    if sys.stderr and not getattr(sys.stderr, "closed", False):
        print(f"gpush record: {text}", file=sys.stderr)


def in_main_thread(function):
    """Has the main thread call function() between two of its instructions, without a signal."""

    def call(_):
        function()
        return 0

    in_main_thread.kept = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(call)
    ctypes.pythonapi.Py_AddPendingCall(in_main_thread.kept, None)


def _torch_is_half_imported():
    """Whether a part of torch is being imported now: the profiler may need it."""
    parts = [part for name, part in list(sys.modules.items()) if name.startswith("torch.")]
    return any(getattr(getattr(part, "__spec__", None), "_initializing", False) for part in parts)


class Recorder:
    def __init__(self):
        self.folder = os.environ["GPUSH_RECORD_DIR"]
        self.options = Options(os.environ.get("GPUSH_RECORD", ""))
        self.kind = None  # of the steps: "optimizer" or "module"
        self.count = 0  # of steps
        self.tries = 3  # where the program's own profiler ends the window before its first step
        self.next = 1  # the step at which there is something to do
        self.ends = collections.deque(maxlen=2 * USUAL + 1)  # ns, of the last steps before
        self.window = self.steps = self.timer = self.own_profiler = None
        self.rank = self.name = None  # whose steps these are and the record's, once one begins
        self.by_time = False
        self.wrote = False
        self.profiled = False  # whether torch.profiler ran here, or in a parent before fork
        self.child = "--multiprocessing-fork" in getattr(sys, "orig_argv", sys.argv)
        self.reason = None  # why nothing was recorded
        self._touch("python")
        if self._rank_of_environment() is not None:
            self._touch("ranked")

    def no_torch(self):
        """The program looks for torch, which is not installed here."""
        self._write("no-torch", f"{sys.executable} has no torch")

    def torch_is_there(self):
        """torch has been imported: begin to count, or note why not."""
        atexit.register(self.at_exit)
        try:
            self._begin_to_count()
        except Exception as error:
            self._give_up(f"gpush's part failed: {error!r}")

    def _begin_to_count(self):
        import torch

        version = torch.__version__
        if int(version.partition(".")[0]) < 2:
            return self._give_up(f"PyTorch {version} is older than 2.0, which is needed")
        if not torch.autograd.kineto_available():
            return self._give_up(f"this build of PyTorch {version} has no Kineto, its profiler")
        from gpush_record.window import OwnProfiler

        self.own_profiler = OwnProfiler()
        os.register_at_fork(after_in_child=self.forked)
        if self.options.seconds:
            self._after(self.options.seconds, self._begin_by_time)
            return None
        from gpush_record.steps import Steps

        self.steps = Steps(self.step)
        if not self.child:
            self._after(NONE_FOR, self._begin_if_none)
        return None

    # ---- steps ----

    def step(self, kind):
        """A step has ended ("optimizer"), or is about to begin ("module")."""
        if kind != self.kind:
            self._begin_again(kind)
        self.count += 1
        if not self.window:
            self.ends.append(time.perf_counter_ns())
        if self.count < self.next:
            return
        try:
            self._at_step()
        except Exception as error:
            self._give_up(f"gpush's part failed at step {self.count}: {error!r}")

    def _begin_again(self, kind):
        """Steps of this kind follow: what was recorded of another is kept until theirs is."""
        if self.window and not self.by_time:
            self._end()
        self.kind, self.count, self.next, self.reason = kind, 0, 1, None
        self.ends.clear()

    def _at_step(self):
        ended = self.count - (self.kind == "module")
        if self.window and not self.by_time:
            return self.window.step()
        self.next = max(1, self.options.skip - 1) + (self.kind == "module")
        if self.count < self.next:
            return None
        if self.window:
            self._end()  # steps go before time
        if not self._may_open():
            return None
        self._open()
        if ended >= self.options.skip:
            self.window.step()
        return None

    def _may_open(self):
        """Whether to record from here on; another step is asked where not."""
        if self.own_profiler.runs():
            self.reason = PROFILED
        elif not self._claim():
            self.reason = f"another process records rank {self.rank}"
            if not self.by_time:
                self._give_up(self.reason)
        else:
            self.reason = None
            return True
        return False

    def _open(self):
        from gpush_record.window import Window

        self.profiled = True
        usual = None if self.by_time else self._usual()
        self.window = Window(self.options, self.own_profiler, self._done, usual)

    def _usual(self):
        """How long a step took before, ns; None: there were too few."""
        ends = list(self.ends)
        steps = sorted(end - begin for begin, end in zip(ends, ends[1:]))
        return steps[len(steps) // 2] if len(steps) >= USUAL else None

    def _done(self, profile, steps):
        """The window has ended, with `steps` whole steps; profile: None if it did not begin."""
        window, self.window = self.window, None
        displaced = window.displaced
        if profile is None or steps == 0 and not self.by_time:
            self.tries -= displaced
            self.reason = PROFILED if displaced else ENDED
            return None if displaced and self.tries else self._stop_counting(self.kind)
        unwritten = self._export(profile)
        if unwritten:
            where = f"{self.folder} (TMPDIR)"
            return self._give_up(f"the record cannot be written to {where}: {unwritten}")
        if self.rank == 0:
            self._say_what(steps, window)
        self.wrote = True
        if self.by_time:
            self.by_time, self.options.steps = False, self.asked
        else:
            self._stop_counting(self.kind)
        return None

    def _export(self, profile):
        """Writes the record; returns why not, for which torch raises no error."""
        path = os.path.join(self.folder, self.name)
        try:
            profile.export_chrome_trace(path + ".part")
            if not os.path.exists(path + ".part"):
                with open(path + ".part", "wb") as file:
                    file.write(bytes(1 << 20))
                return "torch.profiler wrote no file"
            os.replace(path + ".part", path + ".json")
        except OSError as error:
            return error.strerror
        return None

    def _say_what(self, steps, window):
        """Tells which part was recorded, of a program that may run for hours after it; whether
        other programs had its processor, or other threads of it; and what the recording cost."""
        first = self.count - steps + (self.kind == "optimizer")
        what = {"optimizer": "steps", "module": "calls"}.get(self.kind)
        span = "by time" if self.by_time else f"{what} {first} to {first + steps - 1}"
        instead = " instead" if self.wrote else ""
        say(f"recorded {span}{instead}; the verdict follows at the end")
        if window.waited:
            wall, ready = window.waited
            say(
                f"for {ready / 1e6:.0f} of {wall / 1e6:.0f} ms its thread had work but no processor: "
                "what else runs on this machine is in the times of the script and ops"
            )
        if window.beside:
            thread, ran, stood = window.beside
            say(
                f"its thread {thread} ran for {ran / 1e6:.0f} ms beside it, and the recorded one "
                f"stood still for {stood / 1e6:.0f} ms: where the other runs Python code, it holds "
                "the interpreter's lock (GIL), and such waits are in the times of the script and ops"
            )
        if window.usual and window.step_ns > SLOWED * window.usual:
            say(
                f"a step took {window.usual / 1e6:.1f} ms before, {window.step_ns / 1e6:.1f} ms "
                "while it was recorded: where the recording may have added that, worths are ranges"
                + (" (without --stacks it costs less)" if self.options.stacks else "")
            )

    # ---- time ----

    def _after(self, seconds, function):
        seconds = min(seconds, threading.TIMEOUT_MAX)
        self.timer = threading.Timer(seconds, in_main_thread, [function])
        self.timer.daemon = True
        self.timer.start()

    def _begin_if_none(self):
        if self.kind != "optimizer" and not self._others_record():
            self.options.seconds = BRIEFLY
            self._begin_by_time()

    def _others_record(self):
        """Whether another process does, or this is the launcher of those that will."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return True  # gpush record is over
        launcher = "ranked" in names and self._rank_of_environment() is None
        return launcher or any(name.startswith("claim-") for name in names)

    def _begin_by_time(self):
        if _torch_is_half_imported():
            return self._after(0.1, self._begin_by_time)
        try:
            if self.window:
                return None
            self.by_time = True
            if not self._may_open():
                self.by_time = False
                return None
            self.asked, self.options.steps = self.options.steps, 1
            self._open()
            self.window.step()
            self._after(self.options.seconds, self._end_by_time)
        except Exception as error:
            self._give_up(f"gpush's part failed: {error!r}")

    def _end_by_time(self):
        if self.window and self.by_time:
            self.window.step()

    # ---- whose record it is, and ends ----

    def _claim(self):
        """Whether this process is the first to record its rank so; names the record."""
        import torch

        dist, known = torch.distributed, self._rank_of_environment()
        if dist.is_available() and dist.is_initialized():
            self.rank, world, known = dist.get_rank(), dist.get_world_size(), True
        else:
            self.rank, world = known or 0, 1
        whose = "rank" if known is not None else "lone"
        name = f"{'time' if self.by_time else 'steps'}-{whose}-{self.rank}-of-{world}"
        mine, self.name = name == self.name, name
        return mine or self._touch(f"claim-{name}")

    @staticmethod
    def _rank_of_environment():
        for name in RANKS:
            if os.environ.get(name, "").isdigit():
                return int(os.environ[name])
        return None

    def _touch(self, name):
        """Makes a file of the folder; whether it was not there."""
        try:
            os.close(os.open(os.path.join(self.folder, name), os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:
            return False
        return True

    def _stop_counting(self, kind=None):
        """No more steps, or of this kind: an optimizer's may follow the calls of a module."""
        if self.steps:
            self.steps.remove(kind)
        if self.timer:
            self.timer.cancel()

    def _give_up(self, reason):
        self.reason, self.next = reason, float("inf")
        self._stop_counting()

    def _end(self):
        """Ends the window early; what is recorded is kept."""
        try:
            self.window.close()
        except Exception as error:
            self.reason = f"gpush's part failed at the end: {error!r}"

    def forked(self):
        """In a child process of fork: it may be a rank, and counts from 0."""
        self.child, self.timer, self.name, self.count, self.next = True, None, None, 0, 1
        self.wrote = self.by_time = False
        if self.profiled:
            from gpush_record.window import end_without_kineto

            end_without_kineto()
        if self.window:
            self.window.forked()
            self.window = None

    def at_exit(self):
        """The program ends: what is recorded is kept."""
        if self.window:
            self._end()
        if self.wrote or self.child:
            return
        name = f"note-{os.getpid()}" if self.reason or self.kind else "idle"
        self._write(name, self.reason or self._why_no_step())

    def _write(self, name, text):
        """Writes a file of the folder; says the text where it has no room, and nothing where
        gpush record is over, and nobody would read it."""
        try:
            with open(os.path.join(self.folder, name), "w") as note:
                note.write(text)
        except OSError:
            if os.path.isdir(self.folder):
                say(text)

    def _why_no_step(self):
        skip = self.options.skip
        if self.options.seconds:
            return f"the program ended before {self.options.seconds:g} seconds were over"
        if self.kind is None:
            return f"no optimizer stepped and no module was called twice{OUTSIDE}"
        half = self.count // 2
        hint = f"--skip {half} begins earlier" if half else "let it run longer"
        what = "steps of an optimizer"
        if self.kind == "module":
            what = "calls of a module"
            hint += "; where torch.compile compiled the step, --seconds N records by time"
        return f"there were {self.count} {what}, and the first {skip} are skipped: {hint}"
