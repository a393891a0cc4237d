#!/bin/bash
# What gpush analyze --json has of devices, streams, launches and kernels, beside
# HolisticTraceAnalysis 0.5.0, within 1 %, of traces that tests/support/torch_trace.lua makes.
# HTA_PYTHON, or else GPUSH_BENCH_PYTHON, names a Python that has it. HTA_TRACES: real traces, whose
# figures are printed beside each other as a table, and not judged: docs/profiling-reference.md explains
# them.
. "$GPUSH_ROOT/tests/support/tap.sh"
python=${HTA_PYTHON:-${GPUSH_BENCH_PYTHON:-python3}}
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
end
LUA
LUA_PATH="$GPUSH_ROOT/tests/support/?.lua;;" "$GPUSH_BUILD/gpush" make.lua || exit 1
"$python" "$GPUSH_ROOT/tests/support/beside_hta.py" "$GPUSH_BUILD/gpush" few.json steps.json streams[123].json \
    >checks 2>errors
tap_ok $? "HolisticTraceAnalysis reads the traces" "$(tail -3 errors)"
while IFS=$'\t' read -r name got want off; do
    [ "$off" = 0 ]
    tap_ok $? "$name" "got $got, HTA has $want"
done <checks
for trace in $HTA_TRACES; do
    "$python" "$GPUSH_ROOT/tests/support/beside_hta.py" "$GPUSH_BUILD/gpush" "$trace" 2>/dev/null | sed 's/^/# /'
done
tap_done
