#!/usr/bin/env bash
# gpush record: what counts as a step, in loops of many kinds; Accelerate's and Lightning's where they are installed.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
gpush=${GPUSH_BUILD:-$root/build/default}/gpush
. "$root/tests/support/tap.sh"
[ -n "${GPUSH_BENCH_PYTHON-}" ] || tap_skip_all "GPUSH_BENCH_PYTHON names no Python with PyTorch"
PATH=$(dirname "$GPUSH_BENCH_PYTHON"):$PATH
export OMP_NUM_THREADS=1
cd "$HOME" || exit 1

# record ARGUMENT...: out, err and status of gpush record, and how often an optimizer stepped in the record.
record() {
    rm -f kept.prof
    out=$("$gpush" record --save kept.prof "$@" 2>err)
    status=$?
    err=$(<err)
    stepped=$([ ! -e kept.prof ] || "$gpush" -e 'for _, r in ipairs(profile.load("kept.prof"):rows()) do
        local name = r.name:match "^Optimizer.step#(%w+)"; if name then print(name .. r.count) end end' | sort | tr '\n' ' ')
}
says() { [[ $err == *"$1"* ]]; tap_ok $? "$2" "said: $err"; }

cat >model.py <<'E2'
import os, sys, torch
from torch import nn
torch.manual_seed(0)
model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), torch.randn(4, 8)
def made(kind=torch.optim.SGD): return kind(model.parameters(), lr=0.01)
def step(optimizer): optimizer.zero_grad(); model(x).mean().backward(); optimizer.step()
E2

# ---- a processor that others have ----
# Steps of 30 ms of computing, beside a loop on the same processor: of the time about half is the loop's.
cat >beside.py <<'E2'
from model import *
import time
optimizer = made()
for i in range(14):
    end = time.thread_time() + 0.03
    while time.thread_time() < end: pass
    step(optimizer)
E2
cpu=$(taskset -pc $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
if [ -n "$cpu" ] && read -r _ _ _ 2>/dev/null </proc/thread-self/schedstat; then
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    loop=$!
    out=$(taskset -c "$cpu" "$gpush" record beside.py 2>&1 >/dev/null)
    kill "$loop"
    [[ $out =~ "for "([0-9]+)" of "([0-9]+)" ms its thread had work but no processor" ]] &&
        ((4 * BASH_REMATCH[1] >= BASH_REMATCH[2] && BASH_REMATCH[2] - BASH_REMATCH[1] >= 80))
    tap_ok $? "a loaded processor is said" "said: $out"
else
    tap_skip "a loaded processor: no taskset here, or a system that does not count the time"
fi

# ---- several optimizers ----
cat >trials.py <<'E2'
from model import *
import gc, weakref
for i in range(6):
    optimizer = made(); first = weakref.ref(optimizer) if i == 0 else first
    for i in range(5): step(optimizer)
gc.collect(); print(first())
E2
record trials.py
tap_is "$out|$stepped" "None|SGD3 " "a new optimizer for each trial: its steps count on, and the old one is not kept"
says "recorded steps 11 to 13" "which is said"
cat >phases.py <<'E2'
from model import *
warm, main = made(), made(torch.optim.Adam)
for i in range(5): step(warm)
for i in range(25): step(main)
E2
record phases.py
tap_is "$status|$stepped" "0|Adam3 " "an optimizer that steps no more: another's steps count"
cat >gan.py <<'E2'
from model import *
one, other = made(), made(torch.optim.Adam)
for i in range(20): [step(each) for each in (one, other, other, other)]
E2
record gan.py
tap_is "$status|$stepped" "0|Adam9 SGD3 " "a step of one and three of another are one step"

# ---- a module's calls ----
cat >before.py <<'E2'
from model import *
for i in range(20): model(x)
print(len(model._forward_pre_hooks))
optimizer = made()
for i in range(int(sys.argv[1])): step(optimizer)
E2
record before.py 20
tap_is "$status|$out|$stepped" "0|0|SGD3 " "steps replace the calls of an evaluation before them"
says "recorded calls 11 to 13" "which were recorded first"
record before.py 5
tap_is "$status|$stepped" "0|" "where there are too few, the calls stay"
cat >accumulates.py <<'E2'
from model import *
optimizer = made()
for i in range(int(sys.argv[1])):
    for k in range(13): model(x).mean().backward()
    optimizer.step(); optimizer.zero_grad()
E2
record accumulates.py 14
tap_is "$status|$stepped" "0|SGD3 " "a step that comes where calls are recorded begins again"
record accumulates.py 4
says "recorded calls 11 to 11" "or where there are too few, leaves what was recorded of them"
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

# ---- Accelerate ----
# alike NAME ARGUMENT...: gpush record's status and stdout, without a bar's rates, are those of the program alone.
alike() {
    local name=$1 alone
    shift
    if [ "$1" = -- ]; then alone=$("${@:2}" 2>/dev/null); else alone=$(python3 "$@" 2>/dev/null); fi
    alone="$?|$(grep -v 'it/s' <<<"$alone")"
    record --stacks "$@"
    tap_is "$status|$(grep -v 'it/s' <<<"$out")" "$alone" "$name ends as without gpush"
}
cat >accelerated.py <<'E2'
import time
from model import *
from accelerate import Accelerator
from torch.utils.data import DataLoader
every = int(sys.argv[1])
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=every)
def slowly(rows): time.sleep(0.01); return torch.stack(rows)
model, optimizer, batches = accelerator.prepare(
    model, made(), DataLoader(torch.rand(160 * every, 8), batch_size=4, collate_fn=slowly))
for batch in batches:
    with accelerator.accumulate(model):
        loss = model(batch).mean()
        accelerator.backward(loss)
        optimizer.step(); optimizer.zero_grad()
accelerator.print(f"{loss.item():.5f}", type(model).__name__)
accelerator.end_training()
E2
if python3 -c 'import accelerate' 2>/dev/null; then
    alike "Accelerate's loop" accelerated.py 2
    tap_is "$stepped" "SGD3 " "Accelerate: a step is the optimizer's, of two batches"
    says "dominated by the loader" "Accelerate: a slow loader is found"
    alike "accelerate launch" -- accelerate launch --cpu accelerated.py 1
    tap_is "$stepped" "SGD3 " "accelerate launch: the optimizer's steps"
    alike "Accelerate on two ranks" -- python3 -m torch.distributed.run --standalone --nproc-per-node 2 accelerated.py 1
    tap_is "$stepped" "SGD6 " "Accelerate: both ranks"
else
    tap_skip "accelerate is not installed"
fi

# ---- Lightning ----
cat >lit.py <<'E2'
import logging, warnings
from model import *
import lightning.pytorch as pl
from torch.utils.data import DataLoader
warnings.simplefilter("ignore")
def slow_part(): return sum(i * i for i in range(200000))
class Lit(pl.LightningModule):
    def __init__(self): super().__init__(); self.model = model
    def training_step(self, batch, i): slow_part(); loss = self.model(batch).mean(); self.log("loss", loss, prog_bar=True); return loss
    def validation_step(self, batch, i): self.log("held out", self.model(batch).mean())
    def configure_optimizers(self): return made()
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
trainer = pl.Trainer(accelerator="cpu", max_epochs=2, logger=False, enable_model_summary=False, **eval(sys.argv[1]))
batches = DataLoader(torch.rand(40, 8), batch_size=4)
trainer.fit(Lit(), batches, batches)
print(trainer.global_step, trainer.state.status.value)
E2
if python3 -c 'import lightning.pytorch' 2>/dev/null; then
    alike "Lightning" lit.py 'dict(enable_progress_bar=False)'
    tap_is "$stepped" "SGD3 " "Lightning: the optimizer's steps"
    says "slow_part" "Lightning: a slow function is found"
    alike "Lightning with its bar" lit.py 'dict(enable_checkpointing=True)'
    alike "Lightning's own profiler" lit.py 'dict(enable_progress_bar=False, profiler="pytorch")'
    [[ $err == *"the program's own profiler ran"* || $err == *"recorded steps 1"* ]]
    tap_ok $? "which keeps its steps, and the rest are recorded" "said: $err"
else
    tap_skip "lightning is not installed"
fi
tap_done
