#!/usr/bin/env bash
# gpush record: what a step costs before it is recorded, and that torch.compile is not disturbed.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
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
