#!/usr/bin/env bash
# gpush record: programs of PyTorch run as they would without it, and what was recorded is shown.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
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
import sys, time, torch
began = time.time()
while time.time() - began < float(sys.argv[1]): (torch.ones(99, 99) @ torch.ones(99, 99)).sum()
E2
record time.py 0.1
says "no optimizer stepped and no module was called twice" "neither steps nor calls"
record --seconds 1 time.py 4
tap_is "$status" 0 "--seconds"
says "recorded by time" "by time"
tap_done
