# What the tests of gpush record share: source "$GPUSH_ROOT/tests/support/record.sh".
# shellcheck shell=bash disable=SC2034 # for those that source it
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

# What follows needs PyTorch: one skip is counted where GPUSH_BENCH_PYTHON names no Python that has it.
with_torch() {
    if [ -z "${GPUSH_BENCH_PYTHON-}" ]; then
        tap_skip "GPUSH_BENCH_PYTHON names no Python with PyTorch"
        tap_done
    fi
    PATH=$(dirname "$GPUSH_BENCH_PYTHON"):$PATH
    cat >model.py <<'E2'
import os, sys, time, torch
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
    # Runs the code of its argument within the second recorded step.
    cat >ends.py <<'E2'
from model import *
import signal
for i in range(30):
    step()
    if i == 11: exec(sys.argv[1])
E2
}

# ends CODE STATUS NAME: CODE within the second recorded step ends the program with STATUS, and the record is kept.
ends() {
    record ends.py "$1"
    tap_is "$status" "$2" "$3"
    says "recorded steps 11 to 12" "$3: the record is kept"
}
