--!plain
-- What verdicts advise for torch.profiler's traces, where the first thought is wrong: worker
-- processes set a loader's pace, a launch is slow for what comes before it, and of waits that
-- follow each other none is worth much alone. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/verdict.json"
local function load(trace)
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    f:close()
    return g.profile.load(path)
end
-- The verdict's rows by cause, and its text.
local function owed(trace)
    local out, verdict = {}, load(trace):verdict()
    for _, row in ipairs(verdict) do out[row.cause] = row end
    return out, tostring(verdict)
end

-- Three steps of 4 ms: a batch that is waited for until 4, 8 and 12 ms, a kernel and a wait of 1 ms
-- for it. Worker processes set the pace: without the waits the second and third batch come when
-- they came, and nothing is saved; batches that the script makes come as fast as it is.
for _, iter in ipairs { "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter" } do
    local r, workers = made.trace(), iter:find "Multi" ~= nil
    for k = 0, 2 do
        local from = k == 0 and 0 or 4000 * k + 1100
        r:region("enumerate(DataLoader)#" .. iter .. ".__next__", from, 4000 * (k + 1) - from)
        local at = 4000 * (k + 1)
        r:op("aten::mul", at + 10, 20)
        r:kernel("mul_kernel", at + 30, 1000, r:call("cudaLaunchKernel", at + 12, 5))
        r:op("aten::item", at + 40, 1010)
        r:call("cudaStreamSynchronize", at + 45, 1000)
    end
    local by, text = owed(r)
    local off = math.abs(by.waits.worth / 1000 - (workers and 0 or 2000))
    t.ok(off < 60, iter .. ": what waits are worth, " .. by.waits.worth)
    t.is(text:find("(3) are taken to come when they came", 1, true) ~= nil, workers,
        "batches whose making is not on the record, which it says")
    t.is(by.loader.advice:find("beside the script already", 1, true) ~= nil, workers, "advice")
end
-- A single launch in an op of 1 ms: no graph makes that shorter.
local r = made.trace()
r:op("Torch-Compiled Region: 0/0", 0, 1000)
r:kernel("triton", 990, 10, r:call("cuLaunchKernel", 980, 5))
t.ok(owed(r).launches.advice:find "for each of 1, which is no launch's time", "one slow launch")
r = made.trace()
for k = 0, 9 do
    r:op("aten::mul", 100 * k, 20)
    r:kernel("mul_kernel", 100 * k + 10, 30, r:call("cudaLaunchKernel", 100 * k + 2, 5))
end
t.ok(owed(r).launches.advice:find "^launch less", "ten usual ones")

-- Two lines wait one after the other, the first one for a kernel of 900 us, and then the script
-- runs for as long: without the first the second one waits for that kernel.
r = made.trace()
for k = 0, 9 do
    local at = 2000 * k
    r:op("aten::mul", at, 20)
    r:kernel("mul_kernel", at + 10, 900, r:call("cudaLaunchKernel", at + 2, 5))
    r:op("aten::to", at + 20, 900)
    r:call("cudaStreamSynchronize", at + 25, 890)
    r:op("aten::add", at + 925, 20)
    r:kernel("add_kernel", at + 940, 10, r:call("cudaLaunchKernel", at + 930, 5))
    r:op("aten::item", at + 945, 15)
    r:call("cudaStreamSynchronize", at + 948, 10)
end
local pair = owed(r).waits
t.ok(pair.worth > 7e6, "together they cost 7 of 20 ms: " .. pair.worth)
t.ok(pair.advice:find("no line alone is worth that", 1, true), pair.advice)

-- ---- how often, and how long ----
-- Two batches, which take 2 ops each; an op of the host that calls 2 others; a graph whose launch
-- queues 3 kernels, and 2 launches of one; 2 waits. Of the second one's 900 us the main thread goes
-- on for 800: they took 1000 us, which the waits' own table says, too.
r = made.trace()
for k = 0, 1 do
    r:region("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1000 * k, 500)
    for i = 1, 2 do r:op("aten::stack", 1000 * k + 100 * i, 50) end
end
r:op("aten::sort", 2000, 200)
r:op("aten::add", 2050, 40)
r:op("aten::sub", 2120, 40)
local graph = r:call("cudaGraphLaunch", 2300, 10)
for i = 0, 2 do r:kernel("gemm", 2320 + 100 * i, 90, graph) end
r:call("cudaStreamSynchronize", 2530, 100)
r:kernel("gemm", 2810, 760, r:call("cudaLaunchKernel", 2700, 5))
r:call("cudaStreamSynchronize", 2705, 900, 99)
r:op("aten::mul", 2705, 5)
r:kernel("mul", 3570, 10, r:call("cudaLaunchKernel", 3500, 5))
local by = owed(r)
t.is({ by.loader.times, by.cpu.times, by.launches.times, by.kernels.times, by.synchronize.times },
    { 2, 3, 3, 5, 2 }, "how many batches, ops, launches, kernels and waits there are")
local sum = 0
for _, row in ipairs(load(r):sync()) do sum = sum + row.waited end
t.is({ by.synchronize.ns, sum }, { 1000000, 1000000 }, "one time of the waits in both tables")

-- An item() waits twice, for its copy and for the stream; alone it is in no loop that one sees.
for times = 1, 2 do
    r = made.trace()
    for k = 1, times do
        r:op("aten::mm", 1000 * k, 10)
        r:kernel("gemm", 1000 * k + 20, 500, r:call("cudaLaunchKernel", 1000 * k + 5, 2))
        r:op("aten::item", 1000 * k + 20, 540)
        r:copy("Memcpy DtoH (Device -> Pageable)", 1000 * k + 525, 5,
            r:call("cudaMemcpyAsync", 1000 * k + 25, 510), 4)
        r:call("cudaStreamSynchronize", 1000 * k + 540, 10)
    end
    local lines = load(r):sync()
    t.is({ lines[1].count, lines[1].advice:find "^it came once in this record" ~= nil,
        owed(r).waits.advice:find "it came once in this record" ~= nil },
        { 2 * times, times == 1, times == 1 }, "no loop is named for what came once: " .. times)
end

-- ---- memory ----
-- Six steps of 1 ms, which begin with a cudaMalloc of 300 us: all of them, each second one, the
-- first two, or the first; the same without steps. A loaded module is no memory.
for _, case in ipairs {
    { name = "each step", steps = 6, calls = 6, again = true },
    { name = "each second one", steps = 6, calls = 3, every = 2, again = true },
    { name = "the first two", steps = 6, calls = 2, again = false },
    { name = "the first", steps = 6, calls = 1, again = false },
    { name = "one step of six runs", steps = 1, calls = 6, again = true },
    { name = "no step, six runs", steps = 0, calls = 6, again = true },
    { name = "no step, the first two", steps = 0, calls = 2, again = false },
    { name = "not after a busy device", steps = 6, calls = 6, again = true, busy = true },
    { name = "modules", steps = 6, calls = 1, again = false, call = "cuModuleLoadData" },
} do
    r = made.trace()
    for k = 0, 5 do
        if k < case.steps then r:region("ProfilerStep#" .. k, 1000 * k, 1000) end
        r:op("aten::empty", 1000 * k + 10, 400)
        local every = case.every or 1
        if k % every == 0 and k / every < case.calls then
            r:call(case.call or "cudaMalloc", 1000 * k + 20, 300)
        end
        r:op("aten::mul", 1000 * k + 500, 20)
        r:kernel("mul", 1000 * k + 530, case.busy and 1000 or 30,
            r:call("cudaLaunchKernel", 1000 * k + 505, 5))
    end
    local causes = owed(r)
    local cause = case.again and causes.memory or causes.setup
    t.is({ cause and cause.ns, cause and cause.times, not (causes.memory and causes.setup) },
        { 300000 * case.calls, case.calls, true }, "memory in " .. case.name)
    if case.again then
        t.ok(cause.advice:find "PYTORCH_NO_CUDA_MEMORY_CACHING", "what to do about it")
        -- where the device is busy from the first kernel on, only that begins earlier
        t.is(cause.worth, case.busy and 300000 or 300000 * case.calls, "its worth, " .. case.name)
    end
end

-- A cudaFree that waits for nothing has one row with those that libraries make, also once saved.
r = made.trace()
for at = 0, 2000, 1000 do
    r:op("aten::addmm", at, 300)
    r:call("cudaFree", at + 10, 50)
    r:kernel("gemm", at + 100, 30, r:call("cudaLaunchKernel", at + 90, 5))
end
local made_once = load(r)
made_once:save(path .. ".prof")
t.is(g.profile.load(path .. ".prof"):table(), made_once:table(), "calls of one name are one row")
os.remove(path .. ".prof")

-- ---- streams that wait for each other, but for what the trace does not say ----
-- Five steps of a kernel of 3 ms and, on another stream, a collective of 1 ms after it, for which
-- the next kernel waits; calls for that name no event. What the collectives are worth is not known:
-- without them 15 ms of kernels are left. Nor is any prediction below what it keeps busy.
local ms = 1000
for _, calls in ipairs { true, false } do
    r = made.trace()
    for k = 0, 4 do
        local at = 4 * k * ms
        r:op("aten::mm", 10 * k, 5)
        r:kernel("gemm", at + 100, 3 * ms, r:call("cudaLaunchKernel", 10 * k + 1, 2))
        if calls then r:call("cudaStreamWaitEvent", 10 * k + 6, 1) end
        r:op("nccl:all_reduce", 10 * k + 7, 2)
        r:kernel("ncclDevKernel_AllReduce", at + 3 * ms + 100, ms,
            r:call("cudaLaunchKernel", 10 * k + 7.5, 1), 20)
    end
    local p = load(r)
    local v = p:verdict()
    local known = {}
    for _, row in ipairs(v) do known[row.cause] = not row.unknown end
    t.is({ known.kernels, known.collectives }, { not calls, not calls }, "is their worth known")
    t.is(tostring(v):find("not known", 1, true) ~= nil, calls, "which is said")
    for _, cause in ipairs { "launches", "script", "waits" } do
        if calls then
            t.ok(p:whatif { without = "all" }.wall_ns >= 20e6, "no less than was busy")
            local ok, less = pcall(p.whatif, p, { without = cause })
            if ok then t.ok(less.wall_ns >= 20e6, "nor without " .. cause) end
        end
    end
    local without = p:whatif { without = "collectives" }.wall_ns
    t.ok(without >= 15e6, "the kernels are left: " .. without)
end

os.remove(path)
-- Devices that are busy for 94 % of five steps of 1 ms, on two streams whose order is not in the
-- trace: waits worth 6 % do not dominate; what most of the time is, collectives, gets its advice.
r = made.trace()
for k = 0, 4 do
    local at = 1000 * k
    r:op("aten::mm", at, 30)
    r:kernel("gemm", at + 60, 270, r:call("cudaLaunchKernel", at + 5, 20))
    r:op("c10d::allreduce_", at + 35, 20)
    r:call("cudaStreamWaitEvent", at + 36, 2)
    r:kernel("ncclDevKernel_AllReduce", at + 330, 670, r:call("cudaLaunchKernel", at + 40, 10), 20)
    r:op("aten::item", at + 70, 900)
    r:call("cudaStreamSynchronize", at + 75, 880)
end
local verdict = load(r):verdict()
t.is({ verdict[1].cause, verdict[1].worth }, { "waits", 300000 }, "what is known to be worth most")
t.is({ verdict.cause, verdict.together and verdict.together.cause },
    { "collectives", "collectives" }, "the devices' work")
t.ok(verdict:head():find("collectives: compute beside them", 1, true), "its advice", verdict:head())

-- The sixth add_ of a run on the CPU takes 19 ms, the others 5 us: it had lost its processor, and
-- sets nothing up. The first one would.
for _, slow in ipairs { 6, 1 } do
    r = made.trace { no_device = true }
    local at = 0
    for k = 1, 32 do
        local ns = k == slow and 19000 or 5
        local dims = k < 6 and "[[8], [8]]" or "[[9, 9], [9, 9]]"
        r:op("aten::add_", at, ns,
            { ["Input Dims"] = dims, ["Input type"] = '["float", "float"]' })
        at = at + ns + 3
    end
    local by = owed(r)
    t.is(by.setup ~= nil, slow == 1, "run " .. slow)
end

-- Of Intel's GPUs the advice is in the words of torch.xpu, where CUDA graphs do not exist.
local intel = made.trace()
for k = 0, 3 do
    intel:region("ProfilerStep#" .. k, 2000 * k, 1990)
    for i = 0, 19 do
        intel:op("aten::mul", 2000 * k + 90 * i, 85)
        intel:kernel("mul_kernel", 2000 * k + 90 * i + 60, 3,
            intel:call("cudaLaunchKernel", 2000 * k + 90 * i + 10, 45))
    end
end
local plain = load(intel):verdict()[1]
for i, e in ipairs(intel.events) do intel.events[i] = e:gsub("cuda_runtime", "xpu_runtime") end
local of_xpu = load(intel):verdict()[1]
t.is({ plain.cause, of_xpu.cause }, { "launches", "launches" }, "launches come late")
t.ok(plain.advice:find("CUDA graphs (torch.compile", 1, true), "on CUDA graphs help")
t.ok(of_xpu.advice:find("torch.xpu.XPUGraph", 1, true)
    and of_xpu.advice:find("do not exist on Intel's GPUs", 1, true), of_xpu.advice)

-- A read by ReduceLROnPlateau is its own, with advice of its own.
r = made.trace()
r:op("aten::mm", 0, 20)
r:kernel("gemm", 10, 5000, r:call("cudaLaunchKernel", 5, 10))
r:python("torch/optim/lr_scheduler.py(1550): step", 100, 6000)
r:op("aten::item", 200, 5000)
r:copy("Memcpy DtoH (Device -> Pageable)", 5010, 10, r:call("cudaMemcpyAsync", 300, 20), 4)
r:call("cudaStreamSynchronize", 330, 4800)
local stepped = load(r):sync()[1]
t.is({ stepped.why, stepped.what }, { "item", "scheduler.step" }, "a schedule's read")
t.ok(tostring(load(r):sync()):find("step it once an epoch, with a number", 1, true), "its advice")

-- A read by GradScaler is its own.
r = made.trace()
r:python("train.py(20): <module>", 0, 5000)
r:python("torch/amp/grad_scaler.py(379): _maybe_opt_step", 100, 1000)
r:op("aten::mul", 200, 20)
r:kernel("mul_kernel", 210, 30, r:call("cudaLaunchKernel", 202, 5))
r:op("aten::item", 300, 100)
r:call("cudaStreamSynchronize", 310, 80)
local read = load(r):sync()[1]
t.is({ read.why, read.what }, { "item", "GradScaler" }, "GradScaler's read")
t.ok(read.advice:find("fused=True", 1, true), "and what to do about it")

-- The script's own synchronize() at the end of the last step is not the profiler's, which waits
-- after that, or not at all.
for _, stops in ipairs { true, false } do
    r = made.trace()
    for k = 0, 1 do
        r:region("ProfilerStep#" .. k, 1000 * k, 900)
        r:op("aten::mul", 1000 * k + 10, 20)
        r:kernel("mul_kernel", 1000 * k + 30, 500, r:call("cudaLaunchKernel", 1000 * k + 12, 5))
        r:call("cudaDeviceSynchronize", 1000 * k + 100, 450)
    end
    if stops then r:call("cudaDeviceSynchronize", 2000, 20) end
    local asked = {}
    for i, row in ipairs(load(r):sync()) do asked[i] = row.what .. " " .. row.count end
    t.is(asked, { "cudaDeviceSynchronize 2", stops and "profiler: cudaDeviceSynchronize 1" or nil },
        "who asked for it")
end

-- The script's time between launches, of which a graph leaves out what is short, and 3 ms before
-- each step, which no graph does.
for _, case in ipairs { { 25, 0, true }, { 0, 3000, false }, { 25, 3000, false } } do
    local at, gap, before, between = 0, table.unpack(case)
    r = made.trace()
    for _ = 1, 5 do
        at = at + before
        for _ = 1, 20 do
            r:op("aten::mul", at, 8)
            r:kernel("mul_kernel", at + 9, 4, r:call("cudaLaunchKernel", at + 2, 4))
            at = at + 8 + gap
        end
    end
    local script = owed(r).script
    t.is(script.advice:find "lies in short stretches between launches: CUDA graphs" ~= nil,
        between, script.advice)
end

-- 150 us of the script once a step, between the last launch of one and the first of the next, is
-- what it does there, whatever a graph replays.
r = made.trace()
for k = 0, 9 do
    for i = 0, 2 do
        local at, op = 200 * k + 150 + 9 * i, ({ "aten::mm", "aten::add", "aten::tanh" })[i + 1]
        r:op(op, at, 8)
        r:kernel(op, at + 9, 4, r:call("cudaLaunchKernel", at + 2, 4))
    end
end
local script = owed(r).script
t.ok(not script.advice:find "short stretches", "a stretch in one place: " .. script.advice)

-- Four steps of 3 ms: a launch of 100 us, a kernel of 2 ms, a loop of the script's that asks each
-- 10 us whether its event is over, and 900 us of the script. Ops on the trace or not: the loop is a
-- wait, and what is between calls is no launch.
for _, ops in ipairs { true, false } do
    r = made.trace()
    for k = 0, 3 do
        local at = 3000 * k
        if ops then r:op("aten::mm", at, 100) end
        r:kernel("gemm", at + 100, 2000, r:call("cudaLaunchKernel", at + 50, 50))
        for i = 0, 200 do r:call("cudaEventQuery", at + 100 + 10 * i, 2) end
    end
    local by = owed(r)
    local how = ops and "polls, with ops" or "polls, without"
    t.is({ by.synchronize.ns, by.synchronize.times, by.launches.times, by.launches.where },
        { 4 * 2002000, 4, 4, ops and "aten::mm" or "cudaLaunchKernel" }, how)
    t.ok(by.synchronize.advice:find("a loop that asks until the event is over waits", 1, true),
        how, by.synchronize.advice)
    local rest = by[ops and "script" or "between"]
    t.is(rest.ns, 3 * (ops and 898000 or 948000), how)
    t.ok(by.launches.ns <= 400000, "launches take their calls alone, " .. how)
    if not ops then
        t.ok(rest.advice:find("ProfilerActivity.CPU", 1, true), "what to record", rest.advice)
    end
end

-- Without ops a copy of 4 bytes and a wait for its stream read a number, as with item().
r = made.trace()
for k = 0, 3 do
    local at = 1000 * k
    r:kernel("gemm", at + 10, 500, r:call("cudaLaunchKernel", at, 5))
    r:copy("Memcpy DtoH (Device -> Pageable)", at + 510, 2, r:call("cudaMemcpyAsync", at + 10, 5),
        4)
    r:call("cudaStreamSynchronize", at + 16, 500)
end
t.is({ owed(r).waits.where, owed(r).synchronize == nil }, { "copy of a number", true },
    "a number that is read")

-- cudaFree in an op's first run, where a library tries what is fastest, launches nothing.
r = made.trace()
r:op("aten::cudnn_convolution", 0, 20000)
r:call("cudaFree", 1000, 15000)
r:kernel("conv", 17000, 100, r:call("cudaLaunchKernel", 16500, 5))
r:op("aten::mul", 21000, 20)
r:kernel("mul_kernel", 21030, 30, r:call("cudaLaunchKernel", 21002, 5))
t.ok(owed(r).setup.ns >= 15000000, "memory that is given back once")

-- Kernels that take the least that any does are advised nothing that makes their work less.
r = made.trace()
for i = 0, 99 do
    r:op("aten::mul", i, 1)
    r:kernel("void at::native::vectorized_elementwise_kernel<4>", 20 + 2 * i, 2,
        r:call("cudaLaunchKernel", i, 1))
end
local least = owed(r).kernels.advice
t.ok(least:find("take the least that one does, 2.000us each", 1, true), least)

-- cuBLAS's nvjet kernels name their dtypes by letters: of bf16 is "tst", of f32 "sss".
for name, short in pairs { nvjet_tst_128x64 = true, nvjet_hsh_64x8 = true,
    nvjet_sm120_qqtst_mma = true, nvjet_sss_tf32_128x256 = false } do
    r = made.trace()
    r:op("aten::mm", 0, 8)
    r:kernel(name .. "_v_bz_TNT", 9, 900, r:call("cudaLaunchKernel", 2, 4))
    local advice = owed(r).kernels.advice
    t.is(advice:find "16 bits or fewer already" ~= nil, short, name .. ": " .. advice)
end

-- A trace of a card is no multiple of a run on the processor, which stands in for one; a trace of
-- the CPU alone may be.
local processors = g.profile.run(function()
    return g.ones(8, { device = "sim" }):sum():item()
end)
for _, card in ipairs { true, false } do
    r = made.trace { no_device = not card }
    r:op("aten::mm", 0, 800)
    if card then r:kernel("gemm", 100, 600, r:call("cudaLaunchKernel", 10, 5)) end
    local diff = load(r):diff(processors)
    t.is(diff:find " times%)" ~= nil, not card, diff)
end

-- Six steps of 5 kernels of 100 us, a synchronize, an item() and 300 us of the script: without the
-- one the other waits, without both the kernels alone are left.
r = made.trace()
for k = 0, 5 do
    local at = 830 * k
    for i = 0, 4 do
        r:op("aten::mm", at + 10 * i, 10)
        r:kernel("gemm", at + 10 + 100 * i, 100, r:call("cudaLaunchKernel", at + 10 * i + 2, 5))
    end
    r:call("cudaDeviceSynchronize", at + 50, 465)
    r:op("aten::item", at + 515, 15)
    r:copy("Memcpy DtoH (Device -> Pageable)", at + 520, 2,
        r:call("cudaMemcpyAsync", at + 517, 3), 4)
    r:call("cudaStreamSynchronize", at + 521, 5)
end
local hidden = load(r):verdict()
local left = tonumber(hidden.sentence:match "without both ([%d.]+)ms instead of 4%.680ms")
t.ok(left and math.abs(left - 3.05) < 0.1, "waits that hide each other", hidden.sentence)
t.ok(tostring(hidden):find "\nwaits of the host: in a loop keep", "and what to do about both")

t.done()
