# What the tests of gpush record's steps share: source "$GPUSH_ROOT/tests/support/record_steps.sh".
# shellcheck shell=bash disable=SC2034 # for those that source it
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
