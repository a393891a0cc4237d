#!/usr/bin/env python3
"""What the prompt costs, on a pseudo-terminal, beside lua5.4's: start to first prompt, Enter to next prompt, Tab.

usage: prompt.py [path of gpush]; prints minima and medians of interleaved runs, in ms and us."""
import os
import pty
import statistics
import sys
import time

GPUSH = sys.argv[1] if len(sys.argv) > 1 else "build/default/gpush"


class Session:
    def __init__(self, argv):
        self.start = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8", HOME="/tmp/gpush-bench")
            os.execvp(argv[0], argv)

    def until(self, *marks):
        """Reads until the marks have come, one after the other; the time of that."""
        text = b""
        for mark in marks:
            while mark not in text:
                text += os.read(self.fd, 65536)
            text = text[text.index(mark) + len(mark):]
        return time.perf_counter()

    def line(self, text, *marks):
        """Seconds from Enter to the next prompt. The echo of what is typed is read before."""
        os.write(self.fd, text)
        time.sleep(0.02)
        os.read(self.fd, 65536)
        t0 = time.perf_counter()
        os.write(self.fd, b"\r")
        return self.until(*marks) - t0

    def close(self):
        os.write(self.fd, b"\x04")
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def show(what, times, unit, scale):
    for name, t in times.items():
        print(f"{what:28} {name:8} min {min(t) * scale:8.2f} median {statistics.median(t) * scale:8.2f} {unit}")


os.makedirs("/tmp/gpush-bench", exist_ok=True)
programs = {"lua5.4": ["lua5.4", "-i"], "gpush": [GPUSH, "-i"]}
starts = {name: [] for name in programs}
for _ in range(30):
    for name, argv in programs.items():
        s = Session(argv)
        starts[name].append(s.until(b"PUC-Rio", b"> ") - s.start)
        s.close()
show("start to first prompt", starts, "ms", 1e3)

enters = {name: [] for name in programs}
sessions = {name: Session(argv) for name, argv in programs.items()}
for name, s in sessions.items():
    s.until(b"PUC-Rio", b"> ")
    s.line(b"x, y = 1, 2", b"> ")
for _ in range(200):
    for name, s in sessions.items():
        enters[name].append(s.line(b"x+y", b"3\r\n", b"> "))
show("Enter to next prompt, x+y", enters, "us", 1e6)



def tabs(s, typed, shown):
    """Seconds from Tab to what it puts in, 20 times."""
    times = []
    for _ in range(20):
        os.write(s.fd, typed)
        time.sleep(0.02)
        os.read(s.fd, 65536)
        t0 = time.perf_counter()
        os.write(s.fd, b"\t")
        times.append(s.until(shown) - t0)
        os.write(s.fd, b"\x15")
        time.sleep(0.02)
        os.read(s.fd, 65536)
    return times


s = sessions["gpush"]
s.line(b"x = randn(3, 4)", b"> ")
times = tabs(s, b"x:cumpro", b"cumprod")
show("Tab (the first reads scripts)", {"first": times[:1], "gpush": times[1:]}, "ms", 1e3)
s.line(b"for i = 1, 10000 do _G['name' .. i] = i end", b"> ")
show("Tab with 10,000 globals", {"gpush": tabs(s, b"collectgarb", b"collectgarbage")}, "ms", 1e3)
for s in sessions.values():
    s.close()
