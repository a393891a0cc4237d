--!plain
-- profile.load of torch.profiler's traces: small ones whose answers are worked out by hand, in the
-- forms of several versions; and broken ones, which are errors that say where.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local folder = os.getenv "TMPDIR" or "/tmp"
local function write(name, text)
    local path = folder .. "/" .. name
    local f <close> = assert(io.open(path, "wb"))
    f:write(text)
    return path
end
local function load(trace, name)
    return g.profile.load(write(name or "trace.json", type(trace) == "string" and trace
        or trace:text()))
end
local function rows(p, group)
    local out = {}
    for _, r in ipairs(p:rows { group = group }) do out[r.name] = r end
    return out
end
local function events(p, kind)
    local out = {}
    for _, e in ipairs(p:events()) do if e.kind == kind then out[#out + 1] = e end end
    return out
end

-- A step: an op of 100 us that launches a kernel of 300, an op that reads and waits for it, another
-- launch 40 us after that. Times are us; the host starts at 1000.
local function step(options, runtime)
    local r = made.trace(options)
    runtime = runtime or "cuda"
    r:region("ProfilerStep#3", 1000, 700)
    r:op("aten::mm", 1000, 100, { ["Input Dims"] = "[[2, 3], [3, 4], []]",
        ["Input type"] = '["float", "float", "Scalar"]' })
    r:kernel("void gemm<float>(int)", 1060, 300, r:call(runtime .. "LaunchKernel", 1050, 10))
    r:op("aten::item", 1120, 280)
    r:op("aten::_local_scalar_dense", 1121, 278)
    local copy = r:call(runtime .. "MemcpyAsync", 1130, 10)
    r:copy("Memcpy DtoH (Device -> Pinned)", 1360, 10, copy, 4)
    r:call(runtime .. "StreamSynchronize", 1150, 225)
    r:op("aten::relu", 1410, 20)
    r:kernel("relu_kernel", 1415, 50, r:call(runtime .. "LaunchKernel", 1412, 6))
    return r
end

for _, version in ipairs { { "new" }, { "old", old = true }, { "hip", hip = true },
    { "with a base", base = 1735632360000000000 } } do
    local name = version[1]
    local p = load(step({ old = version.old, base = version.base }, version.hip and "hip"))
    t.is(p.wall_ns, 700000, name .. ": wall time")
    local by = rows(p)
    t.is({ by["aten::mm"].self_device_time_total, by["aten::mm"].self_cpu_time_total,
        by["aten::mm"].cpu_time_total }, { 300000, 90000, 100000 }, name .. ": an op's times")
    t.is(by["ProfilerStep*"].device_time_total, 360000, name .. ": a step's device time")
    t.is(by["[unattributed]"].self_cpu_time_total, 0, name .. ": nothing is unattributed")
    local cpu, device = 0, 0
    for _, r in pairs(by) do
        cpu, device = cpu + r.self_cpu_time_total, device + r.self_device_time_total
    end
    t.is({ cpu, device }, { 700000, 360000 }, name .. ": rows add up")
    local list = p:sync()
    t.is({ #list, list[1].what, list[1].why, list[1].count }, { 1, "aten::item", "item", 1 },
        name .. ": the op that waited, and why")
    -- the host waited from 1150 to 1375, the device was done at 1370 and began again at 1415
    t.is({ list[1].waited, list[1].drained, list[1].idle, list[1].region },
        { 225000, 2, 40000, "ProfilerStep*" }, name .. ": how long, what it drained, idle time")
    t.ok(list[1].advice:match "loss.detach", name .. ": what to write instead")
    t.ok(tostring(list):match "in ProfilerStep%*", name .. ": as text")
    local w = p:waits()[1]
    local kind = version.hip and "hip:0" or "cuda:0"
    t.is({ w.start, w.stop, w.device, w.stream }, { 150000, 375000, kind, 7 }, name .. ": the wait")
    local d = p:devices()[1]
    t.is({ d.span, d.idle, d.compute, d.other, d.kernels, d.copies }, { 405000, 45000, 350000,
        10000, 2, 1 }, name .. ": the device")
    local q = p:queues()[1]
    t.is({ q.busy, q.host_wait, q.kernel_wait, q.other }, { 360000, 45000, 0, 0 },
        name .. ": its stream")
    -- lengths 1 0 1 0 1 0
    local over = p:queues { series = true }[1]
    t.is({ over.lengths, over.times[1], #over.times }, { { 1, 0, 1, 0, 1, 0 }, 50000, 6 },
        name .. ": its queue over time")
    t.is({ q.changes, q.mean, q.min, q.median, q.max }, { 6, 0.5, 0, 0.5, 1 }, name .. ": queue")
    t.is(#p:rows { group = "shape" } > 0, true, name .. ": shapes")
    local mm
    for _, r in ipairs(p:rows { group = "shape" }) do if r.name == "aten::mm" then mm = r end end
    t.is(mm.shapes, "f32 2x3, f32 3x4", name .. ": whose tensors")
    t.is({ events(p, "kernel")[1].name, events(p, "kernel")[1].kernel }, { "aten::mm",
        "void gemm<float>(int)" }, name .. ": a kernel has its op's name and its own")
    p:trace(folder .. "/out.json")
    p:report(folder .. "/out.html")
    local page <close> = io.open(folder .. "/out.html")
    t.ok(page:read "a":find('"line":"in ProfilerStep*"', 1, true),
        name .. ": its page has the waits")
    p:save(folder .. "/kept.prof.gz")
    local q2 = g.profile.load(folder .. "/kept.prof.gz")
    t.is(q2:events(), p:events(), name .. ": saved and loaded")
    t.is(tostring(q2:sync()), tostring(p:sync()), name .. ": its sync report, too")
    t.ok(p:table():match "torch.profiler's trace of Made GPU",
        name .. ": the table says its source")
    t.ok(not p:table():match "profiler's own cost", name .. ": and nothing of gpush's profiler")
    t.ok(p:diff(q2):match "1.00 times", name .. ": a diff")
end

-- ---- what-if ----
-- A kernel of 100 us, an item that waits for it, and a second kernel of 100 us.
local function two_kernels()
    local r = made.trace()
    r:region("train", 0, 150)
    for i = 0, 1 do
        r:op("aten::mm", 130 * i, 10)
        r:kernel("gemm", 130 * i + 10, 100, r:call("cudaLaunchKernel", 130 * i + 2, 4))
    end
    r:op("aten::item", 20, 95)
    r:copy("Memcpy DtoH (Device -> Pageable)", 110, 2, r:call("cudaMemcpyAsync", 22, 3), 4)
    r:call("cudaStreamSynchronize", 30, 84)
    return load(r)
end
local p = two_kernels()
local wall = { {}, 240, { without = "aten::item" }, 212, { without = "item" }, 212,
    { scale = { ["aten::mm"] = 0.5 } }, 140, { host = 0.5 }, 230 }
for i = 1, #wall, 2 do
    t.is(p:whatif(wall[i]).wall_ns, wall[i + 1] * 1000, "what-if: " .. p:whatif(wall[i]).predicted)
end
t.is(p:whatif({}):rows(), p:rows(), "a replay in which nothing is other has the same rows")
local s = p:savings()
t.is({ #s, s[1].what, s[1].why, s[1].count, s[1].waited, s[1].saves }, { 1, "aten::item", "item", 1,
    84000, 28000 }, "what its wait costs")
t.ok(s[1].advice:find "loss.detach%(%)", "what to write instead in PyTorch")
t.ok(tostring(s):find "^what waits +times +waited +saves\naten::item +1 +84.000us +28.000us\n",
    "as text", tostring(s))
local path = {}
for _, part in ipairs(p:critical_path()) do path[part.kind .. (part.name or "")] = part.ns end
-- 2 + 8 us until the first kernel began, 100, 2 + 2 for the copy and the wait, 18 + 8, 100
t.is({ path["deviceaten::mm"], path.script, path["hostaten::mm"] }, { 200000, 15000, 4000 },
    "its critical path", tostring(p:critical_path()))
t.is(p:idle().kernels, 200000, "its idle time")
t.error(function() p:whatif { without = "aten::nonzero" } end,
    "there is no wait of 'aten::nonzero' on the record", "what did not wait")
t.error(function() p:whatif { scale = { ["aten::item"] = 0.5 } } end,
    "no op 'aten::item' is on the record", "an op that no device ran")
t.error(function() p:on "h200" end, "no op that launched a kernel has a known cost", "nor a card")

-- ---- streams that wait for events ----
-- A kernel of 100 us on stream 7; stream 8 waits for it, then runs one of 50. Beside them stream 9
-- waits for nothing. ordered: whether the trace says so; unnamed: without the event, as older ones.
local function two_streams(ordered, unnamed)
    local r = made.trace()
    r:region("train", 0, 20)
    r:kernel("first", 10, 100, r:call("cudaLaunchKernel", 2, 2), 7)
    local record = r:call("cudaEventRecord", 5, 1)
    r:kernel("later", 110, 10, r:call("cudaLaunchKernel", 7, 2), 7)
    local wait = r:call("cudaStreamWaitEvent", 10, 1)
    if ordered then
        r:event({ cat = "cuda_sync", name = "Stream Wait Event", pid = 0, tid = 8, ts = 10,
            dur = 1 }, { correlation = wait, stream = 8, device = 0, wait_on_stream = 7,
            wait_on_cuda_event_record_corr_id = not unnamed and record or nil,
            wait_on_cuda_event_id = 1 })
    end
    r:kernel("second", 112, 50, r:call("cudaLaunchKernel", 12, 2), 8)
    r:kernel("beside", 20, 20, r:call("cudaLaunchKernel", 15, 2), 9)
    return load(r)
end
local free, held = two_streams(false), two_streams(true)
t.is({ free:whatif({}).wall_ns, held:whatif({}).wall_ns }, { 162000, 162000 },
    "unchanged, both replays take as long")
-- the kernels' op is the region: all of them take half
local quicker = held:whatif { scale = { train = 0.5 } }
local function starts(prof)
    local at = {}
    for _, e in ipairs(events(prof, "kernel")) do at[e.kernel] = e.start end
    return { at.first, at.second, at.beside }
end
t.is(starts(quicker), { 10000, 62000, 20000 }, "a stream waits for the event's kernel, 2 us more")
t.is(starts(free:whatif { scale = { train = 0.5 } }), { 10000, 112000, 20000 },
    "without the report it starts when it did")
t.is(free:whatif({}).predicted, "nothing changed; no stream is taken to wait for another: \z
    the trace has calls for that (1), which do not say for what", "which the prediction says")
t.is(held:whatif({}).predicted, "nothing changed", "and not where the trace has them")
t.ok(tostring(free:critical_path()):match "no stream is taken to wait", "and so does the path")
local unnamed = two_streams(true, true)
t.is(starts(unnamed:whatif { scale = { train = 0.5 } }), { 10000, 62000, 20000 },
    "an event without its name is the last one recorded")
t.ok(unnamed:whatif({}).predicted:match "does not name %(1%), it is taken to be the last",
    "which is said, too")
for _, prof in ipairs { free, unnamed } do
    prof:save(folder .. "/orders.gz")
    t.is(g.profile.load(folder .. "/orders.gz"):whatif({}).predicted, prof:whatif({}).predicted,
        "and kept in a file")
end
held:save(folder .. "/orders.gz")
t.is(starts(g.profile.load(folder .. "/orders.gz"):whatif { scale = { train = 0.5 } }),
    { 10000, 62000, 20000 }, "a saved profile keeps it")
local by_event = made.trace()
by_event:kernel("a", 110, 100, by_event:call("cudaLaunchKernel", 100, 5), 7)
by_event:kernel("b", 110, 300, by_event:call("cudaLaunchKernel", 106, 5), 8)
local done_call = by_event:call("cudaEventSynchronize", 120, 95)
by_event:event({ cat = "cuda_sync", name = "Event Sync", pid = 0, tid = -1, ts = 120, dur = 95 },
    { correlation = done_call, stream = -1, device = 0, wait_on_stream = 7 })
t.is(load(by_event):waits()[1].stream, 7, "the host waits for the stream that recorded the event")

-- ---- waits and their reasons ----
local function why(op, call, prepare)
    local r = made.trace()
    r:op(op or "aten::empty", 100, 100)
    if prepare then prepare(r) end
    if call then r:call(call, 110, 50) end
    return load(r):sync()[1]
end
for _, it in ipairs { { "aten::is_nonzero", "branch" }, { "aten::nonzero", "shape" },
    { "aten::masked_select", "shape" }, { "aten::copy_", "copy" }, { "aten::to", "copy" },
    { "aten::repeat_interleave", "shape" }, { "aten::equal", "branch" } } do
    local w = why(it[1], "cudaStreamSynchronize")
    t.is({ w.what, w.why }, it, it[1] .. " waits")
    t.ok(#w.advice > 20, it[1] .. " has advice")
end
local nested = made.trace()
nested:op("aten::is_nonzero", 100, 100)
nested:op("aten::item", 101, 90)
nested:call("cudaStreamSynchronize", 110, 50)
t.is(load(nested):sync()[1].what, "aten::is_nonzero", "the outermost op has the reason")
for outer, inner in pairs { ["aten::cov"] = "aten::equal", ["aten::matrix_exp"] = "aten::nonzero",
    ["aten::histc"] = "aten::item", ["aten::where"] = "aten::nonzero_numpy" } do
    local r = made.trace()
    r:op(outer, 100, 100)
    r:op(inner, 101, 90)
    r:call("cudaStreamSynchronize", 110, 50)
    local w = load(r):sync()[1]
    t.is(w.what, outer, outer .. " is what the script calls")
    t.is(w.advice:find "the op itself reads" ~= nil, outer ~= "aten::where", "its own advice")
end
for _, it in ipairs { { "cudaDeviceSynchronize", "explicit" },
    { "hipDeviceSynchronize", "explicit" },
    { "cuStreamSynchronize_ptsz", "explicit" }, { "cudaEventSynchronize", "explicit" },
    { "cuCtxSynchronize", "explicit" }, { "cudaFree", "alloc" }, { "cudaMemcpy", "copy" } } do
    local w = why(nil, it[1], function(r)
        r:kernel("gemm", 106, 50, r:call("cudaLaunchKernel", 102, 3))
    end)
    t.is(w and { w.what, w.why }, it, it[1] .. " waits by itself")
end
for _, call in ipairs { "cudaEventQuery", "cudaStreamWaitEvent", "cudaMalloc", "cudaFreeHostNot",
    "cudaLaunchKernel" } do
    t.is(why(nil, call), nil, call .. " is no wait")
end
local function copying(ends) -- a copy to pageable memory: the call returns after it, or before
    return why("aten::to", nil, function(r)
        r:copy("Memcpy DtoH (Device -> Pageable)", 120, 30, r:call("cudaMemcpyAsync", 110, ends), 9)
    end)
end
t.is(copying(45).why, "copy", "a copy whose call returned after it was waited for")
t.is(copying(20), nil, "one whose call returned before was not")
local synced = made.trace()
synced:kernel("a", 200, 900, synced:call("cudaLaunchKernel", 100, 5), 7)
synced:kernel("b", 200, 100, synced:call("cudaLaunchKernel", 120, 5), 8)
local id = synced:call("cudaEventSynchronize", 150, 160)
synced:event({ cat = "cuda_sync", name = "Event Sync", pid = 0, tid = 8, ts = 150, dur = 150 },
    { correlation = id, stream = 8, device = 0 })
synced:call("cudaDeviceSynchronize", 400, 705)
local waits = load(synced):waits()
t.is({ waits[1].stream, waits[1].drained, waits[2].stream, waits[2].drained }, { 8, 1, nil, 1 },
    "a wait is for the stream that the device reports, or for all")

-- ---- sources ----
local function sourced(r) return load(r):sync()[1] end
local lines = made.trace()
lines:python("train.py(10): main", 90, 200, "<frozen runpy>:88")
lines:python("train.py(3): step", 95, 190, "train.py:15")
lines:python("<built-in method item of Tensor object at 0x7f>", 99, 150, "train.py:7")
lines:op("aten::item", 100, 100)
lines:call("cudaStreamSynchronize", 110, 50)
t.is({ sourced(lines).file, sourced(lines).line }, { "train.py", 7 }, "the line that called")
local stacks = load(lines):rows { group = "stack" }
t.is(stacks[1].stack, "train.py:7 (step) < train.py:15 (main)",
    "the stack of lines, with the functions that they are in")
t.is(rows(load(lines), "line")["train.py:7"].count, 2, "rows by line")
local older = made.trace()
older:python("torch/nn/modules/module.py(1194): _call_impl", 90, 200)
older:python("/home/me/net.py(12): forward", 95, 190)
older:python("torch/nn/functional.py(9): linear", 99, 180)
older:op("aten::item", 100, 100)
older:call("cudaStreamSynchronize", 110, 50)
t.is({ sourced(older).file, sourced(older).line }, { "/home/me/net.py", -12 },
    "without such lines one of the function's own, of the user's code")
local function stack_of(p, name)
    for _, row in ipairs(p:rows { group = "stack" }) do
        if row.name == name then return row.stack end
    end
end
t.is(stack_of(load(older), "aten::item"), "/home/me/net.py:12+ (forward)",
    "with its name")
local nested_in = made.trace()
nested_in:python("a.py(1): <module>", 80, 300, "<frozen runpy>:88")
nested_in:python("a.py(10): main", 90, 200, "a.py:40")
nested_in:python("b.py(3): evil < x.py", 95, 190, "a.py:15")
nested_in:python("torch/nn/modules/module.py(9): _call", 96, 188, "b.py:4")
nested_in:python("b.py(7): forward", 97, 180, "torch/nn/modules/module.py:12")
nested_in:op("aten::item", 100, 100)
nested_in:call("cudaStreamSynchronize", 110, 50)
local in_functions = load(nested_in)
t.is(stack_of(in_functions, "aten::item"),
    "b.py:7+ (forward) < b.py:4 < a.py:15 (main) < a.py:40",
    "a line's function is the innermost in its file; a name that is no word is left out")
in_functions:save(folder .. "/functions.gz")
t.is(g.profile.load(folder .. "/functions.gz"):rows { group = "stack" },
    in_functions:rows { group = "stack" }, "a saved profile keeps them")
in_functions:folded(folder .. "/functions.folded")
local folded <close> = io.open(folder .. "/functions.folded")
t.ok(folded:read "a":find("a.py:15 (main);b.py:4;b.py:7+ (forward);aten::item", 1, true),
    "folded, too")
local modules = made.trace()
modules:python("net.py(20): step", 80, 300, "net.py:40")
modules:python("nn.Module: Net_0", 90, 200, "net.py:21")
modules:python("torch/nn/modules/module.py(9): _call", 91, 190, "net.py:21")
modules:python("nn.Module: Linear_1", 95, 100, "torch/nn/modules/module.py:12")
modules:op("aten::linear", 100, 50)
modules:op("aten::relu", 200, 10)
modules:op("aten::add", 300, 10)
local by_module = rows(load(modules), "module")
t.is({ by_module["Net_0.Linear_1"].cpu_time_total, by_module.Net_0.cpu_time_total,
    by_module["(no module)"].cpu_time_total }, { 100000, 100000, 100000 },
    "rows by module, as the trace numbers them")
t.is(rows(load(modules), "line")["net.py:21"].count, 2, "whose lines are the script's")
local oldest = made.trace()
oldest:op("aten::item", 100, 100,
    { ["Call stack"] = '"torch/tensor.py(4): item;a b.py(8): f;c.py(9): g"' })
oldest:op("aten::mm", 300, 10)
oldest:call("cudaDeviceSynchronize", 110, 50)
t.is(rows(load(oldest), "line")["a b.py:8"].count, 1, "a call stack as text")
t.is(load(oldest):rows { group = "stack" }[1].stack, "a b.py:8 (f) < c.py:9 (g)",
    "with its functions")

-- ---- threads ----
local threads = made.trace()
threads:op("AddmmBackward0", 100, 50, nil, 99)
threads:kernel("k", 120, 100, threads:call("cudaLaunchKernel", 110, 10, 99))
threads:region("ProfilerStep#1", 50, 200)
threads:raw('{"ph": "M", "name": "thread_name", "pid": 77, "tid": 99, "args": {"name": "engine"}}')
p = load(threads)
t.is({ rows(p)["[unattributed]"].self_cpu_time_total, rows(p)["AddmmBackward0"].cpu_time_total,
    rows(p)["ProfilerStep*"].self_cpu_time_total }, { 0, 50000, 200000 },
    "another thread's events run beside the main one's")
t.ok(p:table():match "50.000us ran on 1 other thread beside the main one", "the table says so")
t.is(events(p, "op")[1].thread, "engine", "a thread's name")

-- ---- what belongs to what ----
local graph = made.trace()
local launch = graph:call("cudaGraphLaunch", 100, 10)
for i = 0, 3 do graph:kernel("k" .. i, 120 + 20 * i, 10, launch) end
t.is(rows(load(graph))["cudaGraphLaunch"].self_device_time_total, 40000,
    "all kernels of a graph belong to its launch")
local lost = made.trace()
lost:kernel("k", 100, 10, 55)
t.is(rows(load(lost))["[device work without a launch on record]"].self_device_time_total, 10000,
    "a kernel without a launch")
local external = made.trace()
external:op("aten::mm", 100, 10, { ["External id"] = 4 })
external:event({ cat = "kernel", name = "k", pid = 0, tid = 7, ts = 120, dur = 30 },
    { correlation = 900, ["External id"] = 4, device = 0, stream = 7 })
t.is(rows(load(external))["aten::mm"].self_device_time_total, 30000,
    "one whose op is known by its external id")
local memory = made.trace()
memory:op("aten::empty", 100, 10)
memory:raw('{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 77, \z
    "tid": 77, "ts": 105, "args": {"Total Allocated": 512, "Bytes": 512, "Device Id": 0, \z
    "Device Type": 1, "Addr": 1}}')
memory:raw('{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 77, \z
    "tid": 77, "ts": 106, "args": {"Total Allocated": 64, "Bytes": -64, "Device Id": -1, \z
    "Device Type": 0, "Addr": 1}}')
local row = rows(load(memory))["aten::empty"]
t.is({ row.self_device_memory_usage, row.self_cpu_memory_usage }, { 512, -64 }, "memory")
local order = made.trace()
order:raw('{"args": {"stream": "7", "device": 0, "correlation": 3}, "dur": 1e1, "ts": 5.5E1, \z
    "tid": "7", "pid": "0", "name": "k\\u00e9\\ud83d\\ude00", "cat": "kernel", "ph": "X"}')
local k = events(load(order), "kernel")[1]
t.is({ k.kernel, k.stop - k.start, k.stream }, { "ké\u{1F600}", 10000, 7 },
    "other orders, texts for numbers, exponents, escapes")
local exact = made.trace()
local op = '{"ph":"X","cat":"cpu_op","pid":1,"tid":1,'
exact:raw(op .. '"name":"a","ts":1735632360000001.2345,"dur":0.0006}')
exact:raw(op .. '"name":"b","ts":1735632360000002.2346,"dur":9.9994}')
local a, b = table.unpack(events(load(exact), "op"))
t.is({ a.stop - a.start, b.start - a.start, b.stop - b.start }, { 1, 1000, 9999 },
    "times are exact to the ns")
t.is(load("[" .. table.concat(step().events, ",") .. "]").wall_ns, 700000, "a list of events alone")
local other = step()
other:event { cat = "overhead", name = "CUPTI", ts = 1, dur = 2 }
other:event { cat = "Trace", name = "PyTorch Profiler (0)", ts = 0, dur = 9999 }
t.ok(load(other).how:match "1 events of other kinds %(overhead …%) are not in the record",
    "what is left out is said")
local negative = step()
negative:op("aten::x", 1500, -1)
t.ok(load(negative).how:match "1 events had a negative duration", "a negative duration is said")

-- ---- damage ----
local function refused(text, message, what)
    local file = write("bad", text)
    t.error(function() g.profile.load(file) end, message, what or message)
end
local head = '{"traceEvents": ['
local event = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}'
local function broken(text, message, what) refused(head .. text, message, what) end
t.is(load(head .. event .. "]}").count, 1, "the least trace")
refused("{}", "byte 2: neither a profile of gpush's nor a trace", "an empty object")
broken("]}", "no event of the kinds that torch.profiler writes")
refused("[1]", "no event that can be read: 1 of 1 have no valid fields", "a list of numbers")
broken(event:sub(1, -10), "got the end of the file", "an event that ends")
broken(event:gsub('"ts":1,', "") .. "]}", "1 of 1 have no valid ts", "no start")
broken(event:gsub('"ts":1,', '"ts":"1",') .. "]}", "1 of 1 have no valid ts",
    "a text as a time")
broken(event:gsub('"ts":1', '"ts":1e300') .. "]}", "no valid ts", "too late")
broken(event:gsub('"ts":1', '"ts":01') .. "]}", "',' or '}'", "a number that is none")
broken(event:gsub('"name":"k",', "") .. "]}", "no valid name", "no name")
broken(event:gsub('"k"', '"k\0"') .. "]}", "the byte 0x00 in a text", "a byte that is none")
broken(event .. "]}{", "expected the end of the file", "more after it")
broken(event .. "]}more", "expected the end of the file, got 'm'",
    "a word after it, which is no file that is cut")
broken(event:gsub("}", ',"args":' .. ("["):rep(600) .. "}") .. "]}", "more than 512 levels",
    "depth")
broken(event .. "," .. event:gsub('"ts":1', '"ts":2e15') .. "]}",
    "times that are too far apart", "a long profile")
t.is(load(head .. event:gsub("}", ',"args":{"x":[nan,-inf,Infinity]}}') .. "]}").count, 1,
    "numbers that JSON does not have, in what is not read")
t.error(function() g.profile.load {} end, "file: expected 1 to 4096 names, got 0", "no files")
t.error(function() g.profile.load { 3 } end, "file%[1%]: expected a name, got number", "no name")
t.error(function() g.profile.load(3) end, "file: expected a name or a list of names, got number",
    "a number")
t.error(function() g.profile.load { folder .. "/kept.prof.gz", folder .. "/trace.json" } end,
    "profiles that gpush saved and other programs' traces are not joined",
    "a saved profile among ranks")

-- ---- a large one ----
local large = made.steps(109000)
p = load(large)
local kernels, copies, host = 0, 0, 0
for _, e in ipairs(p:events()) do
    local ns = e.stop - e.start
    if e.kind == "kernel" then kernels = kernels + ns end
    if e.kind == "copied" then copies = copies + ns end
    if e.kind == "op" then host = host + ns end
end
local n = #large.events // 156 -- whole steps
t.is({ kernels, copies }, { n * 50 * 10000, n * 3000 }, "sums of a large trace")
t.ok(host > n * 50 * 8000, "its ops")
local clock = os.clock()
load(large, "large.json"):free()
local took = os.clock() - clock
t.ok(took < (os.getenv "GPUSH_SAN" ~= "" and 20 or 1.5),
    ("109,000 events are loaded in %.2f s"):format(took))
-- A step that an optimizer's hook begins, as gpush record does, begins at the optimizer's end, and
-- the one before ends there.
do
    local r = made.trace()
    r:region("ProfilerStep#1", 100, 150)
    r:op("aten::add", 110, 20)
    r:region("Optimizer.step#SGD.step", 200, 60)
    r:op("aten::add_", 210, 30)
    r:region("ProfilerStep#2", 250, 200)
    r:op("aten::mul", 300, 50)
    local p, row = load(r), {}
    for _, it in ipairs(p:rows()) do row[it.name] = it end
    t.is({ row["Optimizer.step#SGD.step"].cpu_time_total, row["ProfilerStep*"].cpu_time_total,
        row["ProfilerStep*"].count }, { 60000, 350000, 2 }, "steps by an optimizer's hook")
end

-- The profiler loads modules after it has begun to record, within the frames of the program: the
-- record begins with the step that follows. Where the program ran before that, it stays.
for _, before in ipairs { false, true } do
    local r = made.trace()
    r:python("train.py(3): main", 0, 2000)
    if before then r:python("train.py(9): work", 1, 400) end
    r:python("torch/profiler/profiler.py(1520): step", before and 500 or 1, before and 501 or 1000)
    r:region("ProfilerStep#1", 990, 500)
    r:python("train.py(5): step", 1010, 400, "train.py:4")
    r:op("aten::mm", 1050, 100)
    local p = load(r)
    t.is(p.wall_ns, before and 2000000 or 1010000, "without the profiler's start")
end

-- Space between values, of any length and kind, changes nothing.
do
    local text = made.steps(300):text()
    local plain = load(text)
    for _, n in ipairs { 0, 1, 7, 15, 16, 17, 40 } do
        local space = "\n" .. (" "):rep(n) .. (n % 2 == 0 and "\t\r\n" or "") .. (" "):rep(n % 5)
        local p = load((text:gsub(", \"", "," .. space .. "\""):gsub(": ", space .. ":" .. space)))
        t.is(p:events(), plain:events(), ("after a line's end and %d spaces"):format(n))
    end
end

t.done()
