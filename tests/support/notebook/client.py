# A front end for tests of gpush kernel: starts one, asks, gathers what is published about each
# request, and interrupts; and TAP. Needs jupyter_client, which brings pyzmq. TRIES: how often each
# cell is interrupted; with TIMES=1 the times are printed.
import json
import os
import queue
import random
import signal
import sys
import time

import zmq
from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpec

GPUSH = os.environ["GPUSH_BUILD"] + "/gpush"
PATIENCE = 60 if os.environ.get("GPUSH_SAN") else 20  # seconds for one message


class Manager(KernelManager):
    """Starts gpush by a kernelspec as gpush kernel install writes it."""

    options = []

    @property
    def kernel_spec(self):
        argv = [GPUSH, *self.options, "kernel", "--connection", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="gpush", language="lua", interrupt_mode="message")


class Kernel:
    def __init__(self, *options, **environment):
        began = time.monotonic()
        self.manager = Manager(kernel_name="gpush")
        self.manager.options = list(options)
        self.manager.start_kernel(env={**os.environ, **environment})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.kernel_info()
        self.info = self.client.get_shell_msg(timeout=PATIENCE)["content"]
        self.seconds = time.monotonic() - began
        self.client.wait_for_ready(timeout=PATIENCE)

    def ask(self, kind, content, channel="shell", header=None):
        """Sends a request of that kind; its id."""
        message = self.client.session.msg(kind, content)
        message["header"].update(header or {})
        getattr(self.client, channel + "_channel").send(message)
        return message["header"]["msg_id"]

    def published(self, about, until=None):
        """What is published about a request up to `until`, or its idle status: (type, content)."""
        out = []
        while True:
            m = self.client.get_iopub_msg(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") != about:
                continue
            out.append((m["msg_type"], m["content"]))
            state = m["content"].get("execution_state")
            if m["msg_type"] == until or (m["msg_type"] == "status" and state == "idle"):
                return out

    def reply(self, about, channel="shell"):
        while True:
            m = getattr(self.client, f"get_{channel}_msg")(timeout=PATIENCE)
            if m["parent_header"].get("msg_id") == about:
                return m["content"]

    def answer(self, kind, content, channel="shell", header=None):
        """The reply to a request, and what was published about it."""
        about = self.ask(kind, content, channel, header)
        return self.reply(about, channel), self.published(about)

    def run(self, code, **options):
        return self.answer("execute_request", {"code": code, "silent": False, "store_history": True,
                                               "user_expressions": {}, "allow_stdin": False,
                                               "stop_on_error": True, **options})

    def text(self, code, **options):
        """What a cell shows: its streams, displays and result, as text; an error's first line."""
        _, out = self.run(code, **options)
        return shown(out)

    def interrupt(self, how):
        if how == "message":
            self.ask("interrupt_request", {}, "control")
        else:
            os.kill(self.manager.provisioner.pid, signal.SIGINT)

    def interrupts(self, name, code, dies=True, signals=True):
        """Interrupts a cell TRIES times, and checks that its reply says so (dies) and comes soon."""
        tries, times, ends = int(os.environ.get("TRIES", 3)), [], set()
        for i in range(tries):
            about = self.ask("execute_request", {"code": f"print 'begun'; {code}", "allow_stdin": False})
            self.published(about, "stream")
            time.sleep(random.uniform(0.01, 0.05))
            began = time.monotonic()
            self.interrupt("message" if i % 2 == 0 or not dies or not signals else "signal")
            reply = self.reply(about)
            times.append(1000 * (time.monotonic() - began))
            self.published(about)
            ends.add(reply.get("ename", "ok"))
        times.sort()
        same(ends - {"Interrupted"}, set() if dies else ends & {"ok"}, f"{name} is interrupted")
        ok(times[tries // 2] < 2000, f"{name}: soon", times)
        if os.environ.get("TIMES"):
            print(f"# {name}: {tries} tries, median {times[tries // 2]:.1f} ms, 99 % "
                  f"{times[int(tries * 0.99)]:.1f} ms, most {times[-1]:.1f} ms, load "
                  f"{os.getloadavg()[0]:.1f}", flush=True)

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()
        self.manager.cleanup_resources()


def shown(out):
    texts = []
    for kind, content in out:
        if kind == "stream":
            texts.append(content["text"])
        elif kind in ("display_data", "execute_result", "update_display_data"):
            texts.append(content["data"]["text/plain"])
        elif kind == "error":
            texts.append(content["evalue"])
    return "".join(texts)


def kinds(out):
    return [kind for kind, _ in out]


count = failed = 0


def ok(good, name, why=""):
    global count, failed
    count += 1
    if not good:
        failed += 1
        print(f"# failed {count}: {name}\n#   {why}", file=sys.stderr)
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)


def same(got, want, name):
    ok(got == want, name, f"got {got!r}, expected {want!r}")


def done():
    print(f"1..{count}")
    sys.exit(1 if failed else 0)
