#!/usr/bin/env bash
# gpush record: what counts as a step, of optimizers and of a module's calls.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record_steps.sh"
unset GPUSH_LOADED

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
    out=$(taskset -c "$cpu" "$gpush" record --save beside.prof beside.py 2>&1 >/dev/null)
    kill "$loop"
    [[ $out =~ "for "([0-9]+)" of "([0-9]+)" ms its thread had work but no processor" ]] &&
        ((4 * BASH_REMATCH[1] >= BASH_REMATCH[2] && BASH_REMATCH[2] - BASH_REMATCH[1] >= 80))
    tap_ok $? "a loaded processor is said" "said: $out"
    [[ $out =~ "for "([0-9]+)" of".*"loaded: for "([0-9]+)" ms a thread had work but none" ]] &&
        ((BASH_REMATCH[1] == BASH_REMATCH[2]))
    tap_ok $? "also in the verdict, beside what is predicted" "said: $out"
    out=$("$gpush" analyze beside.prof)
    [[ $out == *"measured while the processors were loaded"* ]]
    tap_ok $? "and of the record that was kept" "said: $out"
else
    tap_skip "a loaded processor: no taskset here, or a system that does not count the time"
fi

# ---- what the recording costs, and another thread ----
# Steps that take five times as long while they are recorded, beside a thread that runs Python all the time.
cat >slowed.py <<'E2'
from model import *
import threading, time
def spin():
    while True: sum(range(1000))
threading.Thread(target=spin, name="spin", daemon=True).start()
optimizer, most = made(), 0.015
for i in range(14):
    began = time.perf_counter()
    if torch.autograd._profiler_enabled(): time.sleep(4 * most)
    step(optimizer)
    if 1 < i < 9: most = max(most, time.perf_counter() - began)
E2
out=$("$gpush" record --save slowed.prof slowed.py 2>&1 >/dev/null)
[[ $out =~ "a step took "([0-9]+)[.0-9]*" ms before, "([0-9]+)[.0-9]*" ms while it was recorded" ]] &&
    ((BASH_REMATCH[2] >= 60 && BASH_REMATCH[1] < BASH_REMATCH[2]))
tap_ok $? "what a step took before is said" "said: $out"
[[ $out == *" on the record are left out: by so much its steps are longer than those before it"* ]]
tap_ok $? "and left out of the verdict" "said: $out"
[[ $out == *"its thread spin ran for "*" the interpreter's lock (GIL)"* ]]
tap_ok $? "a thread that may hold the interpreter's lock is said" "said: $out"
out=$("$gpush" analyze slowed.prof)
[[ $out == *"are left out"*"another thread of the program ran Python for "* ]]
tap_ok $? "all of it of the record that was kept, too" "said: $out"

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
tap_done
