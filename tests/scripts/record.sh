#!/usr/bin/env bash
# gpush record: programs of PyTorch end as they would without it, and what was recorded is shown.
# Those that need torch run where GPUSH_BENCH_PYTHON names a Python that has it.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
gpush=${GPUSH_BUILD:-$root/build/default}/gpush
. "$root/tests/support/tap.sh"
cd "$HOME" || exit 1
command -v python3 >/dev/null || tap_skip_all "there is no python3"

# record ARGUMENT...: out, err and status of gpush record.
record() {
    out=$("$gpush" record "$@" 2>err)
    status=$?
    err=$(grep -v '^W[0-9]' err) # torchrun's own
}
says() { [[ $err == *"$1"* ]]; tap_ok $? "$2" "said: $err"; }

# ---- without torch ----
echo 'import sys; print(sys.argv[1:]); sys.exit(7)' >seven.py
record seven.py --steps 4 x
tap_is "$status|$out" "7|['--steps', '4', 'x']" "arguments and exit status are the program's"
says "nothing was recorded: the program did not import torch" "and why nothing was recorded"
echo 'print("fine")' >fine.py
record fine.py
tap_is "$status|$out" "1|fine" "a success that recorded nothing is 1"
record -m fine
tap_is "$out" fine "-m runs a module"
record -- sh -c 'exit 3'
tap_is "$status" 3 "a command after --"
record -- nosuch x
tap_is "$status|$out|$err" "1||gpush record: there is no command 'nosuch' here" "one that is not there"
record -- sh -c 'exit 3'
says "no Python started that loads gpush's package" "which is no Python"
record -- python3 -I fine.py
says "no Python started that loads gpush's package" "an isolated Python, too"
record -- sh -c 'kill -9 $$'
tap_is "$status" 137 "a signal's status is that of a shell"
record
tap_is "$status|$out" "2|" "no program is a wrong use"
says "expected a program" "which says so"
record --steps 0 fine.py
tap_is "$status" 2 "no steps are a wrong use"
cp fine.py page.html
record --html page.html page.html
tap_is "$status|$(cat page.html)" "2|print(\"fine\")" "a page does not replace the program"
mkdir own
echo 'import sys; own = True; print("own sitecustomize", any("scripts/python" in p for p in sys.path))' >own/sitecustomize.py
echo 'import sys, sitecustomize; print(sitecustomize.own)' >see.py
PYTHONPATH=own record see.py
tap_is "$out" $'own sitecustomize False\nTrue' "the user's sitecustomize is found, and sys.path is as without gpush"
PATH=/nonexistent "$gpush" record fine.py 2>err
tap_is "$?|$(grep -c 'no python3 here' err)" "1|1" "no Python at all"

mkdir -p made/torch
echo 'import torch; print("fine")' >imports.py
echo '__version__ = "1.13.1"' >made/torch/__init__.py
PYTHONPATH=made record imports.py
tap_is "$status|$out" "1|fine" "an old PyTorch"
says "PyTorch 1.13.1 is older than 2.0, which is needed" "which is said"
printf '%s\n' '__version__ = "2.4.0"' 'class autograd: kineto_available = staticmethod(lambda: False)' >made/torch/__init__.py
PYTHONPATH=made record imports.py
says "this build of PyTorch 2.4.0 has no Kineto, its profiler" "a build without Kineto"

# ---- with torch ----
if [ -z "${GPUSH_BENCH_PYTHON-}" ]; then
    tap_skip "GPUSH_BENCH_PYTHON names no Python with PyTorch"
    tap_done
fi
PATH=$(dirname "$GPUSH_BENCH_PYTHON"):$PATH
cat >model.py <<'E2'
import os, sys, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 64), torch.randn(32, 1)
def step():
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    return loss.item()
E2
cat >train.py <<'E2'
from model import *
for i in range(int(sys.argv[1])): loss = step()
from torch.optim import optimizer as module
print(loss, len(module._global_optimizer_post_hooks), len(torch.nn.modules.module._global_forward_pre_hooks))
E2
alone=$(python3 train.py 20)
record --save kept.prof train.py 20
tap_is "$status|$out" "0|$alone" "a program prints the same, and no hook is left"
says "recorded steps 11 to 13" "the steps after the first ten"
says "dominated by" "with a verdict"
says "these lines would make the host wait on a card" "and what would wait on a card"
tap_is "$("$gpush" -e 'for _, r in ipairs(profile.load("kept.prof"):rows()) do if r.name == "aten::item" or r.name:find "^Optimizer.step" then print(r.name, r.count) end end' | sort | tr '\t\n' ' ;')" \
    "Optimizer.step#SGD.step 3;aten::item 3;" "three steps, each with its item()"
record --skip 2 --steps 1 train.py 20
says "recorded steps 3 to 3" "--skip and --steps"
record train.py 5
says "there were 5 steps of an optimizer, and the first 10 are skipped: --skip 2 begins earlier" "too few steps"

cat >ends.py <<'E2'
from model import *
for i in range(30):
    step()
    if i == 11: exec(sys.argv[1])
E2
ends() { # CODE STATUS NAME
    record ends.py "$1"
    tap_is "$status" "$2" "$3"
    says "recorded steps 11 to 12" "$3: the record is kept"
}
ends 'os._exit(5)' 5 "os._exit"
ends 'raise ValueError("mine")' 1 "an exception"
says 'ValueError: mine' "which is shown"
ends 'sys.exit(4)' 4 "sys.exit"
ends 'os.kill(os.getpid(), 15)' 143 "SIGTERM"
ends 'os.kill(os.getpid(), 2)' 130 "Ctrl-C"
record ends.py 'os.kill(os.getpid(), 9)'
tap_is "$status" 137 "SIGKILL"
says "signal 9 ended the program before" "of which nothing is left"
record ends.py 'child = os.fork()
if child == 0: optimizer.step(); os._exit(0)
os.waitpid(child, 0)'
tap_is "$status" 0 "fork in the window"
says "recorded steps 11 to 13" "fork: the parent is recorded"
record ends.py 'p = torch.profiler.profile(); p.start(); step(); p.stop(); print(len(p.events()) > 0)'
tap_is "$status|$out" "0|True" "a program that profiles itself has its own profile"
says "recorded steps 11 to 12" "and gpush's record ends there"

cat >infer.py <<'E2'
import copy, io, torch
from torch import nn
inner = [nn.Linear(16, 16) for _ in range(3)]
model, once = nn.Sequential(*inner), nn.Linear(4, 4)
once(torch.ones(4))
for i in range(20):
    model(torch.ones(2, 16))
    if i == 5:
        print(sum(len(m._forward_pre_hooks) + len(m._forward_hooks) for m in [once, *inner]),
              len(nn.modules.module._global_forward_pre_hooks))
        file = io.BytesIO(); torch.save(model, file); file.seek(0)
        same = torch.load(file, weights_only=False)(torch.ones(2, 16)) == copy.deepcopy(model)(torch.ones(2, 16))
        print(bool(same.all()))
print(len(model._forward_pre_hooks))
E2
record infer.py
tap_is "$status|$out" $'0|0 0\nTrue\n0' "only the outermost module has a hook, for as long as it is counted; saved and copied models work"
says "recorded calls 11 to 13" "calls of a module"
cat >time.py <<'E2'
import time, torch
began = time.time()
while time.time() - began < 4: (torch.ones(99, 99) @ torch.ones(99, 99)).sum()
E2
record time.py
says "no optimizer stepped and no module was called twice" "neither steps nor calls"
record --seconds 1 time.py
tap_is "$status" 0 "--seconds"
says "recorded by time" "by time"
cat >loads.py <<'E2'
from model import *
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    for how in "fork", "spawn":
        for (b,) in DataLoader(TensorDataset(x), batch_size=4, num_workers=1, multiprocessing_context=how):
            ((model(b)) ** 2).mean().backward(); optimizer.step()
E2
record loads.py
tap_is "$status|$(grep -c 'recorded steps' err)" "0|1" "a loader's workers are left alone"
cat >ranks.py <<'E2'
from model import *
import torch.distributed as dist
def train(rank=None):
    torch.set_num_threads(1)
    if rank is None: dist.init_process_group("gloo")
    else: dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2)
    parallel = nn.parallel.DistributedDataParallel(model)
    for i in range(14): parallel(x).mean().backward(); optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    if len(sys.argv) > 1: torch.multiprocessing.spawn(train, nprocs=2)
    else: train()
E2
record --save ranks.prof -- torchrun --nproc-per-node 2 ranks.py
tap_is "$status" 0 "torchrun"
says "Wall time of all ranks" "one profile of both ranks"
record ranks.py spawn
tap_is "$status" 0 "ranks by torch.multiprocessing"
says "Wall time of all ranks" "one profile of both, too"
cat >cost.py <<'E2'
import time, torch
from torch import nn
from torch.optim import optimizer as module
optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
def took():
    began = time.process_time()
    for i in range(20000): optimizer.step()
    return (time.process_time() - began) / 20000
with_hook, hooks, best = list(module._global_optimizer_post_hooks.items()), module._global_optimizer_post_hooks, 1
for i in range(5):
    counted = took(); hooks.clear(); best = min(best, counted - took()); hooks.update(with_hook)
print(len(with_hook), best < 3e-6, f"{best * 1e6:.2f} us", file=__import__("sys").stderr)
E2
record --skip 1000000000 cost.py
says "1 True" "1e5 steps cost at most 3 us each"
cat >compiled.py <<'E2'
from model import *
whole = torch.compile(step, backend="eager", fullgraph=False)
def apart(): optimizer.step()
apart = torch.compile(apart, backend="eager")
for i in range(12): whole(); apart()
counters = torch._dynamo.utils.counters
print(counters["stats"].get("unique_graphs"), len(counters["graph_break"]))
E2
alone=$(python3 compiled.py 2>/dev/null)
record compiled.py
tap_is "$out" "$alone" "torch.compile makes the same graphs, with as many reasons to break them"
tap_done
