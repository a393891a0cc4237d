--!plain
-- profile.load of torch.profiler's traces: what the host waited for, and what was no wait of the
-- script's. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/causes.json"
local function load(trace)
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    f:close()
    return g.profile.load(path)
end
-- An op of 20 us at `at` whose kernel of 30 us begins 10 us later.
local function launch(r, at, name)
    r:op(name or "aten::mul", at, 20)
    r:kernel("mul_kernel", at + 10, 30, r:call("cudaLaunchKernel", at + 2, 5))
end
local function waits(p)
    local out = {}
    for i, row in ipairs(p:sync()) do out[i] = row.why .. ": " .. row.what end
    return out
end

-- ---- the loader ----
for _, old in ipairs { false, true } do
    local name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    local r = made.trace { old = old }
    r:region("ProfilerStep#1", 0, 1000)
    if old then r:op(name, 100, 800) else r:region(name, 100, 800) end
    launch(r, 920)
    local p = load(r)
    -- of 1000 us: 800 in the loader, 8 from the call to its kernel, 30 in that; an op from 920 to
    -- 940, of which 2 come before the call
    local idle = p:idle()
    t.is({ idle.loader, idle.kernels, idle.latency, idle.op, idle.script },
        { 800000, 30000, 8000, 2000, 160000 },
        "idle time is the loader's" .. (old and ", 2021" or ""))
    t.ok(p:table { group = "region" }:find("__next__", 1, true), "under PyTorch's name")
    p:save(path .. ".prof")
    t.is(g.profile.load(path .. ".prof"):idle().loader, 800000, "saved and loaded")
end
local r = made.trace()
r:region("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 500)
r:op("aten::stack", 100, 300)
launch(r, 600)
t.is(load(r):idle().loader, 500000, "ops of a loader without workers are its time")

-- ---- the end ----
-- A step that is open when the recording ends has an end 13 s later, as one trace of PyTorch's has.
r = made.trace()
r:region("ProfilerStep#1", 0, 13e6)
launch(r, 100)
r:call("cudaDeviceSynchronize", 500, 20)
r:whole(-50, 600)
t.is(load(r).wall_ns, 550000, "nothing lasts longer than the recording")

-- ---- first use ----
-- A library begins in an op's first run, and gives memory back there; the same op again; then the
-- cache is emptied, outside of any op, and by one that needs memory.
r = made.trace()
launch(r, 0)
r:op("aten::addmm", 100, 500)
r:call("cudaFree", 110, 400)
r:kernel("gemm", 580, 30, r:call("cudaLaunchKernel", 570, 5))
launch(r, 700, "aten::addmm")
local p = load(r)
t.is(waits(p), {}, "a library that begins is no wait")
t.is(#p:savings(), 0, "and nothing is saved without it")
for _, busy in ipairs { false, true } do
    r = made.trace()
    launch(r, 800, "aten::addmm")
    r:op("aten::addmm", 900, 100)
    r:op("aten::empty", 1200, 100)
    for at, long in pairs { [910] = 50, [1100] = 50, [1210] = 50 } do
        if busy then r:kernel("gemm", at - 5, long, r:call("cudaLaunchKernel", at - 8, 2)) end
        r:call("cudaFree", at, long)
    end
    p = load(r)
    t.is({ waits(p), #p:sync() > 0 and p:sync()[1].count }, busy and { { "alloc: cudaFree" }, 3 }
        or { {}, false }, "what gives memory back later waits for work that is queued")
end

-- Kernels that are tried, and algorithms of convolutions.
r = made.trace()
r:python("train.py(3): <module>", 0, 900)
r:python("triton/testing.py(140): do_bench", 10, 300)
launch(r, 20)
r:call("cudaDeviceSynchronize", 50, 100)
r:op("aten::cudnn_convolution", 400, 200)
r:call("cudaEventSynchronize", 420, 100)
launch(r, 700)
p = load(r)
t.is(waits(p), { "explicit: first use: cudaDeviceSynchronize",
    "explicit: aten::cudnn_convolution" }, "kernels and algorithms that are tried")
for _, row in ipairs(p:sync()) do
    t.ok(row.advice:find "nothing to gain after warm%-up", row.what .. ": what to do")
end
t.is(#p:savings(), 0, "no saving is predicted")

-- What a trace owes to each cause: its time, and where most of it was.
local function owed(trace)
    local out = {}
    for _, row in ipairs(load(trace):verdict()) do out[row.cause] = row end
    return out
end

-- An op's first run, in which a library chooses an algorithm for 3 ms, and two of 20 us.
local function convolve(of, at, dur, dims)
    of:op("aten::cudnn_convolution", at, dur,
        dims and { ["Input Dims"] = dims, ["Input type"] = '["float"]' })
    of:kernel("conv", at + dur, 30, of:call("cudaLaunchKernel", at + dur - 5, 5))
end
r = made.trace()
for i, dur in ipairs { 3000, 20, 20 } do convolve(r, 5000 * i, dur) end
local setup = owed(r).setup
t.is({ setup.ns, setup.where }, { 3000000, "aten::cudnn_convolution" }, "an op's first run")
t.ok(setup.advice:find "pass once", "which passes once", setup.advice)
t.is(load(r):verdict().cause, "script", "the gaps of 2 ms and 5 ms are longer")
r = made.trace()
for i, run in ipairs { { 20, "[[4]]" }, { 3000, "[[8]]" }, { 20, "[[4]]" }, { 20, "[[8]]" } } do
    convolve(r, 5000 * i, run[1], run[2])
end
t.is(owed(r).setup.ns, 3000000, "the first run of a shape")
for what, runs in pairs { ["a later one"] = { 20, 3000, 20 }, ["all are"] = { 3000, 3000, 3000 },
    ["the only one"] = { 3000 }, ["below 1 ms"] = { 900, 20, 20 } } do
    r = made.trace()
    for i, dur in ipairs(runs) do convolve(r, 5000 * i, dur) end
    t.is(owed(r).setup, nil, "no first use: " .. what)
end
-- A copy that the host waits for, and beside which the device does nothing, is no set-up.
r = made.trace()
for i, dur in ipairs { 3000, 20, 20 } do
    r:op("aten::copy_", 5000 * i, dur + 20)
    r:copy("Memcpy HtoD (Pageable -> Device)", 5000 * i + dur + 5, 1,
        r:call("cudaMemcpyAsync", 5000 * i + 5, dur + 5), 1 << 20)
end
t.is(owed(r).setup, nil, "no first use: a wait")

-- Calls that make something are set-up however short they are, but from a pool of memory.
for call, sets_up in pairs { cudaMalloc = true, hipHostMalloc = true, cuLibraryLoadData = true,
    cudaGraphInstantiate = true, cudaMallocAsync = false, cudaLaunchKernel = false } do
    r = made.trace()
    r:op("aten::mul", 0, 400)
    r:call(call, 10, 300)
    r:kernel("mul_kernel", 395, 30, r:call("cudaLaunchKernel", 390, 5))
    t.is(owed(r).setup and owed(r).setup.ns, sets_up and 300000 or nil, call)
end

-- torch.compile and Triton, by PyTorch's own names and by their frames.
r = made.trace()
r:op("_compile.compile_inner (dynamo_timed)", 0, 500)
r:op("aten::mul", 100, 50)
launch(r, 600)
t.is({ owed(r).setup.ns, owed(r).cpu }, { 500000 }, "torch.compile's first call")
for frame, name in pairs {
    ["torch/_dynamo/convert_frame.py(637): __call__"] = "first use: torch.compile",
    ["triton/compiler/compiler.py(226): compile"] = "first use: a kernel is compiled",
    ["triton/testing.py(140): do_bench"] = "first use: kernels are tried",
} do
    r = made.trace()
    r:python("train.py(3): <module>", 0, 900)
    r:python(frame, 10, 300)
    r:python(frame, 20, 200)
    launch(r, 400)
    t.is({ owed(r).setup.ns, owed(r).setup.times, owed(r).setup.where },
        { 300000, 1, name .. " at train.py:?" }, frame)
end

-- ---- names ----
-- Of 2021 the profiler's step is an op.
r = made.trace { old = true }
r:op("ProfilerStep#1", 0, 1000)
for i = 1, 5 do launch(r, 100 * i) end
local causes = owed(r)
t.is({ causes.launches.where, causes.script.ns }, { "aten::mul", 900000 },
    "what is late is an op, and the step is the script's")
r = made.trace()
r:region("ProfilerStep#1", 0, 1000)
r:kernel("mine", 690, 5, r:call("cudaLaunchKernel", 680, 5))
t.is({ owed(r).kernels.where, owed(r).launches.where }, { "mine", "cudaLaunchKernel" },
    "what a step queues in no op has its own name")
-- A line that calls several ops is shown by that which takes the most, and has no other advice for
-- the script than its lines.
r = made.trace { no_device = true }
r:python("train.py(7): step", 90, 320)
for i, op in ipairs { { "aten::ones_like", 5 }, { "aten::mul", 6 }, { "aten::sort", 8 },
    { "aten::mul", 7 } } do
    r:op(op[1], 100 * i, op[2])
end
causes = owed(r)
t.is({ causes.cpu.where, causes.cpu.most }, { "aten::mul at train.py:7+", 26000 },
    "a line's ops, which is one of its function's")
t.ok(causes.script.advice:find "^step %(train.py:7%) has .*: move work", "the lines are known",
    causes.script.advice)
-- Memory that an op makes is no work of the host's, whatever it takes.
r = made.trace()
r:op("aten::empty", 0, 90)
r:op("autograd::engine::evaluate_function: TBackward0", 100, 90)
r:op("aten::sort", 200, 90)
launch(r, 300)
t.is({ owed(r).cpu.ns, owed(r).cpu.where }, { 90000, "aten::sort" }, "ops that compute nothing")

-- After the last op 800 us pass until the profiler stops.
r = made.trace()
r:region("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 50)
launch(r, 100)
r:call("cudaDeviceSynchronize", 920, 10)
local script = owed(r).script
t.is({ script.where, script.most }, { "the end, after aten::mul", 800000 }, "the end of a run")
t.ok(script.advice:find "passes once" and script.advice:find "DataLoader's loop was left",
    "passes once, and may be the loader's", script.advice)

-- ---- the profiler's own ----
-- Two waits for the device follow the last op: the script's, and the profiler's when it stops.
r = made.trace()
launch(r, 0)
r:call("cudaDeviceSynchronize", 15, 30)
launch(r, 100)
r:call("cudaDeviceSynchronize", 130, 15)
r:call("cudaDeviceSynchronize", 150, 5)
p = load(r)
t.is({ waits(p), p:sync()[1].count }, { { "explicit: cudaDeviceSynchronize",
    "explicit: profiler: cudaDeviceSynchronize" }, 2 },
    "the last wait for the device is the profiler's own")
r = made.trace()
r:python("train.py(20): <module>", 0, 5000)
launch(r, 100)
r:python("torch/profiler/profiler.py(811): step", 400, 1000)
r:call("cudaDeviceSynchronize", 430, 900)
launch(r, 2000)
p = load(r)
t.is({ waits(p), p:sync()[1].file == nil }, { { "explicit: profiler: cudaDeviceSynchronize" },
    true }, "by its frames, and of no line of the script")
t.ok(p:sync()[1].advice:find "nothing to change", "what to do about it")

-- A region that one of the profiler's functions begins, and that goes on after it: what follows is
-- not in that function.
r = made.trace()
r:python("train.py(20): <module>", 0, 5000)
r:python("torch/profiler/profiler.py(821): step", 10, 100)
r:region("ProfilerStep#1", 50, 1000)
r:call("cudaDeviceSynchronize", 200, 50)
launch(r, 300)
p = load(r)
t.is({ waits(p)[1], p:sync()[1].line }, { "explicit: cudaDeviceSynchronize", 0 },
    "a function that has ended is not the one that waits")
t.ok(tostring(p:sync()):find("train.py:?  explicit", 1, true),
    "in a function that ran when the profiler began, whose line is not known")

-- ---- indices, and copies by where they go ----
local function copying(op, copy, inner)
    local of = made.trace()
    of:op(op, 0, 200)
    if inner then of:op(inner, 5, 190) end
    of:copy(copy, 30, 50, of:call("cudaMemcpyAsync", 10, 15), 4096)
    of:call("cudaStreamSynchronize", 30, 60)
    launch(of, 300)
    local row = load(of):sync()[1]
    return row.why, row.what, row.advice
end
local HOST <const>, PINNED <const>, BACK <const> = "Memcpy HtoD (Pageable -> Device)",
    "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"
for _, case in ipairs {
    { "aten::index", BACK, "aten::nonzero", "shape", "boolean mask" },
    { "aten::index", HOST, "aten::to", "index", "on the host" },
    { "aten::index_put_", HOST, "aten::copy_", "index", "on the host" },
    { "aten::to", HOST, "aten::_to_copy", "copy", "^pin the source" },
    { "aten::to", "Memcpy HtoD (Host -> Device)", nil, "copy", "^pin the source" },
    { "aten::to", PINNED, "aten::_to_copy", "copy", "^the source is pinned" },
    { "aten::to", BACK, "aten::_to_copy", "copy", "^to the host" },
    { "aten::copy_", BACK, nil, "copy", "^to the host" },
    { "aten::item", BACK, "aten::_local_scalar_dense", "item", "loss.detach" },
} do
    local why, what, advice = copying(case[1], case[2], case[3])
    t.ok(why == case[4] and advice:find(case[5]) and what:find(case[1], 1, true) == 1,
        ("%s of %s"):format(case[1], case[2]), ("%s: %s: %s"):format(why, what, advice))
end

-- A kernel from 10 to 1500; a call from 20 copies between `from` and `to`; then 3 ms of the host
-- alone before an op. What its wait took, and what the run would take less without it: the call
-- would take as long as a launch, 5 us.
local function call_of(copy, bytes, returns, from, to)
    local of = made.trace()
    of:kernel("gemm", 10, 1490, of:call("cudaLaunchKernel", 2, 5))
    of:op("aten::copy_", 15, returns - 10, { ["Concrete Inputs"] = '["", "", "True"]' })
    of:copy(copy, from, to - from, of:call("cudaMemcpyAsync", 20, returns - 20), bytes)
    launch(of, returns + 3000)
    local row = load(of):savings()[1]
    return row and { row.waited, row.saves } or {}
end
local MIB <const> = 1 << 20
for _, case in ipairs {
    { "staged, it returns shortly before the end", { 1990000, 1985000 }, HOST, MIB, 2010, 1505,
        2044 },
    { "a short one", { 20000, 15000 }, HOST, MIB, 40, 30,
        90 },
    { "64 KiB are read at once", {}, HOST, 65536, 2010, 1505, 2044 },
    { "it returns before the copy's begin", {}, HOST, MIB, 40, 1505, 2044 },
    { "from pinned memory", {}, PINNED, MIB, 2010, 1505, 2000 },
    { "within a device", {}, "Memcpy DtoD (Device -> Device)", MIB, 2010, 1505, 2000 },
    { "to pageable memory", { 1990000, 1985000 }, BACK, MIB, 2010, 1505, 2000 },
} do
    t.is(call_of(table.unpack(case, 3)), case[2], "what a copy holds up: " .. case[1])
end

-- ---- a tensor as text ----
-- print(loss) tests what it prints, and reads it; then the script reads it, and tests it.
local function printed(options, stacks)
    local of, at = made.trace(options), 100
    local function op(name, waits)
        of:op("aten::" .. name, at, 50)
        if waits then of:call("cudaStreamSynchronize", at + 10, 30) end
        at = at + 60
    end
    launch(of, 0)
    if stacks then
        of:python("train.py(10): step", 90, 2000)
        of:python("torch/_tensor_str.py(651): _str", 95, 60 * 16 - 5)
    end
    for name in ("reshape isfinite ne __and__ masked_select! abs max to unbind ceil ne \z
        is_nonzero! unbind detach item! is_nonzero! item! is_nonzero!"):gmatch "%S+" do
        op(name:match "[%w_]+", name:find "!")
    end
    launch(of, 1400)
    local counts = {}
    for _, row in ipairs(load(of):sync()) do counts[row.why .. ": " .. row.what] = row.count end
    return counts
end
for _, stacks in ipairs { false, true } do
    t.is(printed({}, stacks), { ["print: print"] = 4, ["item: aten::item"] = 1,
        ["branch: aten::is_nonzero"] = 1 }, stacks and "by its frames" or "by its ops")
end

-- ---- kernels by name ----
r = made.trace()
for i = 0, 2 do launch(r, 100 * i) end
r:op("aten::mm", 300, 20)
r:kernel("void gemm<float>(int)", 310, 200, r:call("cudaLaunchKernel", 305, 5))
r:copy("Memcpy DtoH (Device -> Pinned)", 520, 7, r:call("cudaMemcpyAsync", 515, 2), 4)
p = load(r)
local kernels = {}
for i, row in ipairs(p:rows { group = "kernel" }) do
    kernels[i] = { row.name, row.count, row.self_device_time_total, row.self_cpu_time_total }
end
t.is(kernels, { { "void gemm<float>(int)", 1, 200000, 0 }, { "mul_kernel", 3, 90000, 0 },
    { "Memcpy DtoH (Device -> Pinned)", 1, 7000, 0 },
    { "[wait for the devices at the end]", 0, 0, 10000 }, { "[unattributed]", 0, 0, 517000 } },
    "kernels by name, and the rest of the time")
local text = p:table { group = "kernel" }
t.ok(text:find "Self CUDA %%" and text:find "gemm" and not text:find "Self CPU", "as a table", text)
p = g.profile.run(function() return g.ones(3) end)
for _, row in ipairs(p:rows { group = "kernel" }) do
    t.ok(row.name:find "^%[", "none ran on the host", row.name)
end

-- What a kernel fills, as means by time: of 300 us 0.25 blocks for each multiprocessor, of 100 us
-- 6.25; an occupancy of 0 with half a block or more is not known, and a collective's blocks say
-- nothing.
local BLOCKS <const>, OCCUPANCY <const> = "blocks per SM", "est. achieved occupancy %"
local function filled(small)
    local of = made.trace()
    of:op("aten::mm", 0, 20)
    for i, run in ipairs { { "gemm", small, 0.25, 4 }, { "gemm", 100, 6.25, 44 },
        { "tma", 40, 0.506757, 0 }, { "ncclDevKernel_AllReduce", 50, 0.1, 3 }, { "bare", 20 } } do
        of:kernel(run[1], 10 + 400 * i, run[2], of:call("cudaLaunchKernel", i, 1), 7,
            { [BLOCKS] = run[3], [OCCUPANCY] = run[4] })
    end
    return load(of)
end
p = filled(300)
local fill = {}
for _, row in ipairs(p:rows { group = "kernel" }) do
    fill[row.name] = { row.blocks_per_sm or false, row.occupancy or false }
end
t.is({ fill.gemm, fill.tma, fill.ncclDevKernel_AllReduce, fill.bare },
    { { 1.75, 0.14 }, { 0.506757, false }, { false, false }, { false, false } },
    "what kernels fill")
text = p:table { group = "kernel" }
t.ok(text:find "Blocks/SM +Est%. occupancy" and text:find "gemm .* 1%.75 +14%%" and
    text:find "below 1 some have none", "as a table", text)
t.is(load(r):rows({ group = "kernel" })[1].blocks_per_sm, nil, "nothing where the trace has none")
-- 300 of 440 us leave half of the device without a block, or 100 of 240.
for _, case in ipairs { { 300, true }, { 100, false } } do
    local kernels
    for _, row in ipairs(filled(case[1]):verdict()) do
        if row.cause == "kernels" then kernels = row end
    end
    t.is({ kernels.small, kernels.filled }, { case[1] * 1000, (case[1] + 140) * 1000 }, "by time")
    t.is(kernels.advice:find "too small for the device: for 300.000us of 440.000us" ~= nil, case[2],
        kernels.advice)
end

-- ---- what a device did ----
-- Of 1000 us: kernels from 100 to 300 and a collective from 250 to 450 beside them, which the same
-- kernel follows from 600 to 602, shorter than its launch of 5.
r = made.trace()
r:region("step", 0, 1000)
r:kernel("gemm", 100, 200, r:call("cudaLaunchKernel", 90, 5))
r:kernel("ncclDevKernel_AllReduce", 250, 200, r:call("cudaLaunchKernel", 96, 5), 9)
r:kernel("gemm", 600, 2, r:call("cudaLaunchKernel", 500, 5))
p = load(r)
local d = p:devices()[1]
t.is({ d.busy, d.compute, d.collective, d.beside, d.short, d.span, d.idle },
    { 0.352, 202000, 200000, 50000, 1, 502000, 150000 }, "a device's shares, busy of the wall time")
text = tostring(p:devices())
t.ok(text:find "busy: of the wall time" and text:find "cuda:0 +35.2%%"
    and text:find "200.000us +25.0%%", "as text", text)

-- One line that waits for both: its advice is for what it waits for most.
r = made.trace()
r:python("train.py(7): step", 0, 900)
for i, case in ipairs { { HOST, 10 }, { BACK, 40 }, { HOST, 20 } } do
    r:op("aten::to", 100 * i, 90)
    r:copy(case[1], 100 * i + 10, case[2], r:call("cudaMemcpyAsync", 100 * i + 2, 5), 4096)
    r:call("cudaStreamSynchronize", 100 * i + 8, case[2] + 4)
end
launch(r, 600)
t.ok(tostring(load(r):sync()):find("the trace has only the first line of its function", 1, true),
    "which line it is")
local s = load(r):savings()
t.is({ #s, s[1].what, s[1].count }, { 1, "aten::to: DtoH", 3 }, "one advice for a line")

-- ---- runtimes of other makers ----
local function of_runtime(cat, call)
    local of = made.trace()
    launch(of, 0)
    for i, e in ipairs(of.events) do
        of.events[i] = e:gsub("cuda_runtime", cat):gsub("cuda", "x")
    end
    of:event { cat = cat, name = call, ts = 15, dur = 30 }
    of:op("aten::mul", 100, 5)
    return load(of)
end
for _, it in ipairs { { "privateuse1_runtime", "aclrtSynchronizeStream" },
    { "xpu_runtime", "zeEventHostSynchronize" }, { "mtia_runtime", "mtiaDeviceSynchronize" },
    { "xpu_runtime", "urQueueFinish" } } do
    local of = of_runtime(it[1], it[2])
    t.is(waits(of), { "explicit: " .. it[2] }, it[2] .. " waits")
    local maker = it[1]:match "^%a+"
    t.is(of:devices()[1].device, (#maker <= 6 and maker or "device") .. ":0", "whose device it is")
end
p = of_runtime("mtia_runtime", "runtimeFunc")
t.ok(tostring(p:sync()):find "whether the host has waited for a device is not known",
    "of a runtime that is not known nothing is said", tostring(p:sync()))
t.ok(tostring(p:waits()):find "not known", "nor by prof:waits")
r = made.trace()
launch(r, 0)
t.ok(tostring(load(r):sync()):find "the host has not waited", "of CUDA's it is")

-- ---- the page ----
-- Of one rank, number 3, with a thread whose number an older version wrote with a sign.
r = made.trace { rank = 3 }
launch(r, 0)
r:op("aten::other", 0, 10, nil, -1029147072)
r:op("aten::item", 100, 50)
r:call("cudaStreamSynchronize", 105, 40)
p = load(r)
p:report(path .. ".html")
local page <close> = assert(io.open(path .. ".html"))
local html = page:read "a"
t.ok(html:find('"how":"Loaded from causes.json, torch.profiler\'s trace of Made GPU"', 1, true)
    and html:find('"title":"causes.json"', 1, true), "names the file without its folder")
t.ok(html:find('"version":"' .. g._VERSION, 1, true), "and gpush's version")
t.ok(html:find('"why":"item"', 1, true) and not html:find('"rank":3', 1, true),
    "waits of one rank have no number of it")
t.ok(html:find("thread 3265820224", 1, true) and not html:find("thread -", 1, true),
    "threads' numbers have no sign")
-- ---- no device ----
r = made.trace {}
for i = 0, 9 do r:op("aten::mul", 100 * i, 90) end
t.is({ load(r):verdict().cause, load(r):verdict().untold }, { nil, "work" },
    "a trace without the device's work draws no verdict")
t.ok(load(r):verdict().sentence:find("the profiler did not record its device", 1, true),
    "and says why that may be")

-- Of a machine that has none, the host's ops are what there is: 10 of 90 us in 990.
r = made.trace { no_device = true }
for i = 0, 9 do r:op("aten::mul", 100 * i, 90) end
p = load(r)
t.is({ p:verdict().cause, p:verdict()[1].ns, p:verdict()[1].where, p:verdict()[1].worth },
    { "cpu", 900000, "aten::mul", 900000 }, "what the host computes dominates")
p:save(path .. ".prof")
t.is(g.profile.load(path .. ".prof"):verdict().cause, "cpu", "saved and loaded")
r:call("cudaGetDeviceCount", 995, 5)
t.is(load(r):verdict().untold, "work", "a call of a device's runtime is of a device")

os.remove(path .. ".html")
os.remove(path)
os.remove(path .. ".prof")
t.done()
