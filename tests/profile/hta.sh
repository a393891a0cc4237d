#!/bin/bash
# Idle time, busy share and queue lengths beside HolisticTraceAnalysis 0.5.0, within 1 %, of traces
# that tests/support/torch_trace.lua makes. HTA_PYTHON names a Python that has it.
. "$GPUSH_ROOT/tests/support/tap.sh"
python=${HTA_PYTHON:-python3}
version=$("$python" -c 'import importlib.metadata as m; import hta; print(m.version("HolisticTraceAnalysis"))' 2>/dev/null)
[ "$version" = 0.5.0 ] || tap_skip_all "$python has no HolisticTraceAnalysis 0.5.0: pip install HolisticTraceAnalysis==0.5.0, and HTA_PYTHON=its Python"
cd "$TMPDIR" || exit 1

cat >make.lua <<'LUA'
local made = require "torch_trace"
local traces = { steps = made.steps(20000), few = made.steps(160) }
for seed = 1, 3 do traces["streams" .. seed] = made.streams(400 * seed, seed) end
for name, trace in pairs(traces) do
    local file <close> = assert(io.open(name .. ".json", "w"))
    file:write(trace:text())
    file:close()
    local p = profile.load(name .. ".json")
    local out <close> = assert(io.open(name .. ".got", "w"))
    local devices, queues = {}, {}
    for i, d in ipairs(p:devices()) do devices[i] = d end
    for i, q in ipairs(p:queues()) do queues[i] = q end
    out:write(json.encode { devices = devices, queues = queues })
end
LUA
LUA_PATH="$GPUSH_ROOT/tests/support/?.lua;;" "$GPUSH_BUILD/gpush" make.lua || exit 1

cat >compare.py <<'PY'
import json, logging, sys, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
logging.disable(logging.CRITICAL)

def check(name, got, want):
    close = abs(got - want) <= 0.01 * abs(want) + 1e-6
    print(f"{'ok' if close else 'no'}\t{name}\tgot {got}, HTA has {want}")

for name in sys.argv[1:]:
    got = json.load(open(name + ".got"))
    t = TraceAnalysis(trace_files={0: name + ".json"}, trace_dir=".", include_last_profiler_step=True)
    device, row = got["devices"][0], t.get_temporal_breakdown(visualize=False).iloc[0]
    for mine, its in (("idle", "idle_time(us)"), ("compute", "compute_time(us)"),
                      ("other", "non_compute_time(us)"), ("span", "kernel_time(us)")):
        check(f"{name}: {mine}", device[mine] / 1000, row[its])
    check(f"{name}: busy share", 100 * device["busy"], 100 - row["idle_time_pctg"])
    idle, _ = t.get_idle_time_breakdown(ranks=[0], visualize=False)
    lengths = t.get_queue_length_summary(ranks=[0])["queue_length"]
    for q in got["queues"]:
        stream = f"{name}: stream {q['stream']}"
        of = idle[idle.stream == q["stream"]].set_index("idle_category").idle_time
        for kind in ("host_wait", "kernel_wait", "other"):
            check(f"{stream}: {kind}", q[kind] / 1000, float(of.get(kind, 0)))
        s = lengths.loc[(0, q["stream"])]
        for mine, its in (("changes", "count"), ("mean", "mean"), ("std", "std"), ("min", "min"),
                          ("q25", "25%"), ("median", "50%"), ("q75", "75%"), ("max", "max")):
            check(f"{stream}: queue {mine}", q[mine], s[its])
PY
"$python" compare.py few steps streams1 streams2 streams3 >checks 2>errors
tap_ok $? "HolisticTraceAnalysis reads the traces" "$(tail -3 errors)"
while IFS=$'\t' read -r verdict name figures; do
    [ "$verdict" = ok ]
    tap_ok $? "$name" "$figures"
done <checks
tap_done
