#!/usr/bin/env bash
# gpush record: what is recorded by time, and in which of several processes.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record_steps.sh"

mkdir own
echo 'import sys; sys.modules["gpush_record.recorder"].NONE_FOR = 1' >own/sitecustomize.py
cat >imports.py <<'E2'
from model import *
import threading, time
class Slowly:
    def find_spec(self, name, path=None, target=None):
        if name == "torch._dynamo.utils": time.sleep(3) or sys.meta_path.remove(self)
sys.meta_path.insert(0, Slowly())
import torch._dynamo
began = time.time()
while time.time() - began < 5: x + x
E2
PYTHONPATH=own record imports.py
says "recorded by time" "time that comes while a part of torch is imported waits until it is"

cat >slow_start.py <<'E2'
from model import *
import time
optimizer, began = made(), time.time()
while time.time() - began < 2: x + x
for i in range(20): step(optimizer)
E2
PYTHONPATH=own record slow_start.py
tap_is "$status|$stepped" "0|SGD3 " "steps that come while time is recorded go before it"
cat >profiled.py <<'E2'
from model import *
from torch.profiler import profile, schedule
optimizer, seen = made(), []
with profile(schedule=schedule(wait=10, warmup=1, active=2, repeat=1), on_trace_ready=lambda p: seen.append(len(p.events()) > 0)) as p:
    for i in range(30): step(optimizer); p.step()
print(len(seen), all(seen))
E2
record profiled.py
tap_is "$status|$out|$stepped" "0|1 True|SGD3 " "the program's own profiler begins just then: recorded after it"

# ---- other processes ----
cat >few.py <<'E2'
from model import *
optimizer = made()
for i in range(4): step(optimizer)
E2
cat >time.py <<'E2'
from model import *
import time
optimizer, began = made(), time.time()
while time.time() - began < 4: step(optimizer)
E2
record -- python3 -m torch.distributed.run --standalone --nproc-per-node 1 few.py
says "nothing was recorded: there were 4 steps of an optimizer, and the first 10 are skipped" "what a rank did is said"
[[ $err != *"no optimizer stepped"* ]]
tap_ok $? "and nothing of its launcher, which had no steps" "said: $err"
record --seconds 100 few.py
says "nothing was recorded: the program ended before 100 seconds were over" "by time, of a program that ends before"
cat >late.py <<'E2'
from model import *
import time
def train(rank):
    time.sleep(3)
    optimizer = made()
    for i in range(20): step(optimizer)
if __name__ == "__main__": torch.multiprocessing.spawn(train)
E2
PYTHONPATH=own record late.py
tap_is "$status|$stepped" "0|SGD3 " "a process that starts one that trains late: that one's steps"
record --seconds 1 -- python3 -m torch.distributed.run --standalone --nproc-per-node 1 --no-python sh -c 'sleep 2; exec python3 time.py'
tap_is "$status|${stepped%%[0-9]*}" "0|SGD" "by time, the rank is recorded and not its launcher"
cat >outlives.py <<'E2'
import atexit, os, subprocess, sys, time
if len(sys.argv) > 1:
    atexit.register(lambda: open("gone", "w").close())
    import torch
    open("here", "w").close()
    while not os.path.exists("over"): time.sleep(0.05)
else:
    subprocess.Popen([sys.executable, __file__, "child"], stdout=subprocess.DEVNULL, stderr=open("child.err", "w"))
    while not os.path.exists("here"): time.sleep(0.05)
E2
record outlives.py
touch over
for _ in {1..600}; do [ -e gone ] || sleep 0.1; done
tap_is "$(ls gone)|$(<child.err)" "gone|" "a process that outlives gpush record ends quietly"
tap_done
