#!/bin/bash
# What gpush analyze --json has of devices, streams, launches and kernels, beside
# HolisticTraceAnalysis 0.5.0 and TensorBoard's plug-in (torch-tb-profiler 0.4.3, where it is there),
# within 1 %, of traces that are made here. HTA_PYTHON, or else GPUSH_BENCH_PYTHON, names a Python
# that has them. HTA_TRACES: real traces, whose figures are printed beside each other, and not
# judged: docs/profiling-reference.md says why some differ.
. "$GPUSH_ROOT/tests/support/tap.sh"
python=${HTA_PYTHON:-${GPUSH_BENCH_PYTHON:-python3}}
version=$("$python" -c 'import importlib.metadata as m; import hta; print(m.version("HolisticTraceAnalysis"))' 2>/dev/null)
[ "$version" = 0.5.0 ] || tap_skip_all "$python has no HolisticTraceAnalysis 0.5.0: pip install HolisticTraceAnalysis==0.5.0, and HTA_PYTHON=its Python"
cd "$TMPDIR" || exit 1

cat >make.lua <<'LUA'
local made = require "torch_trace"
local traces = { steps = made.steps(20000), few = made.steps(160) }
local filled, seed = made.trace(), 7
for i = 1, 300 do
    seed = (seed * 1103515245 + 12345) % 2147483648
    local n = seed // 65536
    filled:op("aten::op", 100 * i, 20)
    filled:kernel(n % 5 < 2 and "ampere_s16816gemm_" .. n % 5 or "add_" .. n % 5, 100 * i + 31,
        1 + n % 60, filled:call("cudaLaunchKernel", 100 * i + 4, 6), 7,
        { ["blocks per SM"] = (1 + n % 900) / 148, ["est. achieved occupancy %"] = 1 + n % 100 })
end
traces.filled = filled
for seed = 1, 3 do traces["streams" .. seed] = made.streams(400 * seed, seed) end
for name, trace in pairs(traces) do
    local file <close> = assert(io.open(name .. ".json", "w"))
    file:write(trace:text())
end
LUA
LUA_PATH="$GPUSH_ROOT/tests/support/?.lua;;" "$GPUSH_BUILD/gpush" make.lua || exit 1
"$python" "$GPUSH_ROOT/tests/support/beside_hta.py" "$GPUSH_BUILD/gpush" few.json steps.json \
    filled.json streams[123].json \
    >checks 2>errors
tap_ok $? "HolisticTraceAnalysis reads the traces" "$(tail -3 errors)"
while IFS=$'\t' read -r name got want off; do
    [ "$off" = 0 ]
    tap_ok $? "$name" "got $got, the other has $want"
done <checks
for trace in $HTA_TRACES; do
    "$python" "$GPUSH_ROOT/tests/support/beside_hta.py" "$GPUSH_BUILD/gpush" "$trace" 2>/dev/null | sed 's/^/# /'
done
tap_done
