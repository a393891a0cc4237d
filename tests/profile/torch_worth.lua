--!plain
-- What causes are worth in traces of torch.profiler whose streams, queues and ranks wait for each
-- other without saying so. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local folder = os.getenv "TMPDIR" or "/tmp"
local function load(...)
    local files = {}
    for i, trace in ipairs { ... } do
        files[i] = ("%s/worth%d.json"):format(folder, i)
        local f <close> = assert(io.open(files[i], "wb"))
        f:write(trace:text())
    end
    local p = g.profile.load(files)
    for _, file in ipairs(files) do os.remove(file) end
    return p
end
local function by_cause(verdict)
    local out = {}
    for _, row in ipairs(verdict) do out[row.cause] = row end
    return out
end
-- Whether the profile's page says that.
local function page_says(prof, text)
    local file = folder .. "/worth.html"
    prof:report(file)
    local f <close> = assert(io.open(file, "rb"))
    local all = f:read "a"
    os.remove(file)
    return all:find(text, 1, true) ~= nil
end
local function near(ns, want, off, what)
    t.ok(math.abs(ns - want) <= off, ("%s: %d, expected %d"):format(what, ns, want))
end

local REDUCE <const> = "ncclDevKernel_AllReduce_Sum_f32"

-- ---- a late rank ----
-- Five steps of two ranks: rank 1 runs 5 ms of Python, then both a kernel of 1 ms, an all_reduce of
-- 300 us on another stream, one of 50 us after that, and an item. No event is named. Without the
-- Python a step takes 1.4 ms.
local function late_step(r, at, begun, slow)
    r:op("aten::mm", at, 8)
    r:kernel("gemm", at + 10, slow, r:call("cudaLaunchKernel", at + 2, 4))
    r:call("cudaStreamWaitEvent", at + 10, 2)
    r:kernel(REDUCE, at + slow + 13, begun + 300 - at - slow - 13,
        r:call("cudaLaunchKernelExC", at + 14, 4), 20)
    r:call("cudaStreamWaitEvent", at + 20, 2)
    r:op("aten::add_", at + 24, 8)
    r:kernel("add", begun + 303, 50, r:call("cudaLaunchKernel", at + 26, 4))
    r:op("aten::item", at + 40, begun + 360 - at - 40)
    r:call("cudaStreamSynchronize", at + 42, begun + 356 - at - 42)
end
for _, case in ipairs { { "Python", python = 5000, slow = 1000 },
    { "kernels", python = 0, slow = 6000 } } do
    local ranks, at = { made.trace { rank = 0 }, made.trace { rank = 1 } }, 0
    for _ = 1, 5 do
        local begun = at + case.python + case.slow + 13
        late_step(ranks[1], at, begun, 1000)
        late_step(ranks[2], at + case.python, begun, case.slow)
        at = begun + 362
    end
    local p = load(ranks[1], ranks[2])
    local verdict = p:verdict()
    local by, text = by_cause(verdict), verdict.sentence
    t.ok(text:find("rank 1 comes last in 5 of 5 collectives, by 25.000ms", 1, true),
        case[1] .. ": the late rank", text)
    t.ok(by.collectives.advice:find("ranks wait for rank 1", 1, true), "and it is to come earlier")
    t.ok(by.collectives.at_most < p.wall_ns / 2, "what less of collectives is worth at most")
    if case.python > 0 then
        near(by.script.worth, 25e6, 1e5, "without Python")
        t.is({ verdict.cause, by.script.rank }, { "script", 1 }, "what dominated")
    else
        t.ok(text:find("meanwhile: aten::mm on cuda", 1, true), "what it did meanwhile", text)
    end
end

-- ---- what may be worth more ----
-- Five steps of 1 ms: 300 us of Python, a kernel of 400 and a collective of 300 after it, on a
-- stream of its own, for which the host waits. What the two are worth is not known, at most what
-- they take: 2 and 1.5 ms. The Python after the first op is worth 4 * 300 us, or 4 * 600, and so
-- are the waits: without them it runs beside the device.
for _, python in ipairs { 300, 600 } do
    local r, at = made.trace(), 0
    for _ = 1, 5 do
        at = at + python
        r:op("aten::mm", at, 8)
        r:kernel("gemm", at + 10, 400, r:call("cudaLaunchKernel", at + 2, 4))
        r:call("cudaStreamWaitEvent", at + 10, 2)
        r:kernel(REDUCE, at + 412, 300, r:call("cudaLaunchKernelExC", at + 14, 4), 20)
        r:op("aten::item", at + 20, 695)
        r:call("cudaStreamSynchronize", at + 22, 692)
        at = at + 716
    end
    local p = load(r)
    local verdict = p:verdict()
    local by, open = by_cause(verdict), python == 300
    t.ok(page_says(p, '"nothing":"at most 2.000ms"'), "the page says that, too")
    t.is({ by.kernels.at_most, by.collectives.at_most }, { 2000000, 1500000 }, "at most")
    t.is({ verdict.cause, (verdict.sentence:match "^[^:]*") },
        { not open and "waits" or nil, open and "what dominated is not decided" or
            "dominated by waits of the host" }, "what dominated, with Python of " .. python)
    near(by.script.worth, 4000 * python, 3e4, "the script")
    -- The record begins after the first Python. Without waits the host takes 24 a step and Python,
    -- the kernels 400 a step, whatever they wait for: no more is saved than is left beside that.
    local least = math.max(5 * 24 + 4 * python, 5 * 400)
    near(by.waits.at_most, 1000 * (5 * 716 + 4 * python - least), 1e4, "the waits at most")
    t.ok(tostring(verdict):find(("\nwaits of the host +5 +[%%d.]+ms +%%d%%.%%d+ms to %%d%%.%%d+ms \z
        +%%d%%d%%.%%d%%%% to %s"):format(open and "58%.[12]%%" or "57%.[89]%%")),
        "as their row says, with the shares of both", tostring(verdict))
    if open then
        t.ok(verdict.sentence:find("kernels may be worth up to 2.000ms", 1, true), "why")
        t.ok(verdict:head():find("\nwaits of the host: ", 1, true), "what is known has its advice")
    end
end

-- ---- worker processes ----
-- Five steps of 100 ms: a batch of worker processes that comes after 4 or 20 ms, then either 20
-- kernels that take the rest, and an item, or an op of the host. Where the workers need all of the
-- 100 ms for a batch, less work saves the last step's alone; where they had time left, each one's.
for _, case in ipairs { { "kernels", next = 4000 }, { "cpu", next = 20000, cpu = true } } do
    local r, rest = made.trace { no_device = case.cpu }, 98000 - case.next
    for k = 0, 4 do
        local at = 100000 * k
        r:region("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, case.next)
        at = at + case.next
        if case.cpu then r:op("aten::mm", at, rest) end
        for i = 0, case.cpu and -1 or 19 do
            r:op("aten::mm", at + 20 * i, 10)
            r:kernel("gemm", at + 1000 + rest // 20 * i, rest // 20,
                r:call("cudaLaunchKernel", at + 20 * i + 2, 5))
        end
        if not case.cpu then
            r:op("aten::item", at + 500, rest + 510)
            r:call("cudaStreamSynchronize", at + 505, rest + 500)
        end
        r:region("ProfilerStep#" .. k, 100000 * k, 99900)
    end
    local p = load(r)
    local verdict = p:verdict()
    local row, text = by_cause(verdict)[case[1]], tostring(verdict)
    near(row.worth, 1000 * rest, 3e6, case[1] .. " where workers need all of the time")
    near(row.at_most, 5000 * rest, 3e6, case[1] .. " where they had time left")
    near(by_cause(verdict).loader.worth, 5000 * case.next, 1e5, "and batches that are there")
    t.ok(case.cpu or text:find("^dominated by kernels: without that 3%d%.%d+ms to 40%d%.%d+ms \z
        instead of"), "both ends are said", text)
    t.ok(not case.cpu or text:find("^what dominated is not decided: ops that the host computes \z
        may be worth up to 390%.%d+ms, since the trace does not say how long worker processes \z
        took for a batch %b(); of what is known the most is owed to"),
        "a loader dominates no ops that take 78 %", text)
    t.is(verdict.cause, not case.cpu and "kernels" or nil, "what dominated")
    t.ok(text:find("a range ends where batches come as long after", 1, true), "what the ends are")
    local s = p:savings()
    t.ok(case.cpu or s[1].at_most > s[1].saves and tostring(s):find "ms to [%d.]+ms",
        "what waits cost, too", tostring(s))
end

-- ---- a full launch queue ----
-- 2000 or 8000 kernels of 40 us, for each of which the host takes 10: from the 1025th queued on, a
-- call returns when a kernel has ended. Without kernels the host takes a quarter of the time. A
-- call of 3 ms for another reason is the host's time, however it ends. The last record begins when
-- 2500 are launched already, of which 1024 have not ended.
for _, case in ipairs { { 2000, 0 }, { 2000, 3000 }, { 8000, 0 }, { 4000, 0, before = 2500 } } do
    local n, slow, before = case[1], case[2], case.before or 0
    local r, at, ready, ended, blocked = made.trace(), 0, 10, {}, 0
    for i = 1, n do
        local room = ended[i - 1024]
        local wait = room and room > at and room - at or i == 900 and slow or 0
        blocked = blocked + (room and wait > 0 and i > before and 1 or 0)
        local from, call = math.max(ready, at + 8 + wait), 90000000 + i
        if i > before then
            r:op("aten::mm", at, 8 + wait)
            call = r:call("cudaLaunchKernel", at + 2, 4 + wait)
        end
        if i > before - 1024 then r:kernel("gemm", from, 40, call) end
        ready, at = from + 40, at + 10 + wait
        ended[i] = ready
    end
    r:call("cudaDeviceSynchronize", at, ready - at + 4)
    local p = load(r)
    local by = by_cause(p:verdict())
    if before == 0 then
        near(by.kernels.worth, n * 30e3 - 1e3 * slow, 2e5, "kernels where the queue was full")
        near(by.launches.ns, n * 8e3 + 1e3 * slow, 2e5, "launches without waiting for room")
    end
    local full
    for _, row in ipairs(p:rows()) do if row.name == "wait: full queue" then full = row end end
    t.is({ full and full.count, blocked > 300 }, { blocked, true }, "how often it was full")
end

-- ---- once ----
-- Ten steps of 500 us: a kernel of 50, and one of another name in the first step alone. In the
-- seventh 8 ms of host pass: in the script, or in the call that launches a kernel which has run
-- before, for the first time, or with another shape; or its kernel takes 8 ms. Without steps on the
-- record the same is said of a stretch of the host, and nothing of a kernel.
for _, case in ipairs {
    { "a gap", cause = "script", gap = 8000, step = 7 },
    { "a gap, no steps", cause = "script", gap = 8000, bare = true },
    { "a gap in each step", cause = "script", gap = 8000, each = true },
    { "a launch", cause = "launches", call = 8000, step = 7 },
    { "a launch of another shape", cause = "launches", call = 8000, step = 7, shape = true },
    { "a first launch", cause = "setup", call = 8000, kernel = "new" },
    { "another call", cause = "launches", call = 8000, step = 7, event = "cudaEventRecord" },
    { "a first one", cause = "setup", call = 8000, event = "cudaFuncGetAttributes" },
    { "a kernel", cause = "kernels", ran = 8000, step = 7 },
    { "a kernel, no steps", cause = "kernels", ran = 8000, bare = true, silent = true },
    { "a kernel in each step", cause = "kernels", ran = 8000, each = true },
} do
    local r, at = made.trace(), 0
    for k = 1, 10 do
        local now, began = k == 7 or case.each, at
        at = at + (now and case.gap or 0)
        local long = now and case.call or 0
        r:op("aten::mm", at + 10, 20 + long, { ["Input Dims"] = now and case.shape
            and "[[9, 9], [9, 9]]" or "[[4, 4], [4, 4]]", ["Input type"] = '["float", "float"]' })
        if case.event then
            local old = case.event == "cudaEventRecord"
            if old or now then r:call(case.event, at + 11, 2 + long) end
            long = 0
            at = at + (now and case.call or 0)
        end
        local from = at + 30 + long
        local ran = now and case.ran or 0
        r:kernel(now and case.kernel or "gemm", from, 50 + ran, r:call("cudaLaunchKernel", at + 15,
            5 + long))
        at = at + 500 + long
        if not case.bare then r:region("ProfilerStep#" .. k, began, at - began) end
    end
    local by = by_cause(load(r):verdict())
    local row = by[case.cause]
    near(row.ns, (case.each and 10 or 1) * 8e6, 6e6, case[1] .. ": its cause")
    t.ok(not row.advice:find("record began", 1, true), "nothing was queued before the record")
    t.is((row.advice:match "came once, in step (%d+) of the 10"), case.step
        and tostring(case.step), "once, in step", row.advice)
    t.is(row.advice:find("came once, in one stretch", 1, true) ~= nil,
        case.bare == true and not case.silent, "once, without steps")
end

-- Three steps of a kernel of 50 us after one of 9 ms that ran when the record began, or that the
-- first of them queued.
for _, own in ipairs { false, true } do
    local r, busy = made.trace(), 9000
    r:kernel("old", own and 20 or 0, busy, own and r:call("cudaLaunchKernel", 2, 4) or 12345)
    for k = 0, 2 do
        local at = 100 * k
        r:op("aten::mm", at + 10, 20)
        r:kernel("gemm", busy + 20 + 50 * k, 50, r:call("cudaLaunchKernel", at + 15, 5))
        r:region("ProfilerStep#" .. k, at, 99)
    end
    local row = by_cause(load(r):verdict()).kernels
    local says = row.advice:find("nothing on the record queued 9.000ms of the 9.150ms", 1, true)
    t.is({ says ~= nil, row.earlier }, { not own, own and 0 or 9000000 },
        "what was queued before the record", row.advice)
end

-- Of another stream's three, one ran beside the first that was launched there: it is not known when
-- it was queued. The wait is for the other two, and two that were launched.
local r = made.trace()
for k = 0, 3 do
    r:kernel("k", 100 * k, 90, k == 2 and r:call("cudaLaunchKernel", 5, 4) or 500 + k, 9)
end
r:kernel("gemm", 120, 50, r:call("cudaLaunchKernel", 10, 4))
r:call("cudaDeviceSynchronize", 15, 300)
local p, lost = load(r), {}
for _, row in ipairs(p:rows()) do lost[row.name] = row.self_device_time_total end
t.is({ lost["[device work queued before the record]"],
    lost["[device work without a launch on record]"] }, { 180000, 90000 }, "as rows")
t.is(p:sync()[1].drained, 4, "a wait for what was queued before the record")

-- ---- what is in place already ----
-- Ten steps of a graph of 20 kernels that torch.compile made, with 1 us between two; the same
-- launched one by one; and PyTorch's own kernels by a graph.
for _, case in ipairs { { "a compiled graph", graph = true, name = "triton_poi_fused_add_0" },
    { "compiled", name = "triton_poi_fused_add_0" },
    { "a graph", graph = true, name = "at::native::vectorized_elementwise_kernel" },
    { "neither", name = "at::native::vectorized_elementwise_kernel" } } do
    local r, at = made.trace(), 0
    for k = 0, 9 do
        r:op("CompiledFunction", at, case.graph and 12 or 160)
        local id = case.graph and r:call("cudaGraphLaunch", at, 10)
        for i = 0, 19 do
            local from = at + (case.graph and 20 or 8 * (i + 1)) + (case.graph and 4 * i or 0)
            r:kernel(case.name, from, 3, id or r:call("cudaLaunchKernel", at + 8 * i, 6))
        end
        at = at + 300
        r:region("ProfilerStep#" .. k, at - 300, 299)
    end
    local by = by_cause(load(r):verdict())
    local compiled = case.name:find "^triton" ~= nil
    for _, it in ipairs { { "kernels", "torch.compile joins", "torch.compile made" },
        { "launches", "torch.compile(mode", not case.graph and "torch.compile made",
            case.graph and "CUDA graphs launch most" },
        { "delays", "torch.compile or CUDA graphs make", nil,
            case.graph and "CUDA graphs that" } } do
        local row = by[it[1]]
        local advice = row and (row.share >= 0.02 or it[1] ~= "kernels") and row.advice
        if advice and compiled and it[3] then
            t.ok(advice:find(it[3], 1, true), case[1] .. ": " .. it[1], advice)
        end
        if advice and it[4] then
            t.ok(advice:find(it[4], 1, true), case[1] .. ": graphs, " .. it[1], advice)
        end
        if advice and not compiled and not case.graph then
            t.ok(advice:find(it[2], 1, true), case[1] .. ": " .. it[1], advice)
        end
    end
end

-- ---- reads are launches that no graph holds ----
-- A kernel of 10 us, then 5 item() of 180 us, which wait for 5 of that: nearly all of the
-- launches' time is theirs.
do
    local r, at = made.trace(), 0
    for _ = 1, 5 do
        r:op("aten::mm", at, 10)
        r:kernel("gemm", at + 8, 10, r:call("cudaLaunchKernel", at + 2, 5))
        for i = 1, 5 do
            local from = at + 200 * i
            r:op("aten::item", from, 180)
            r:op("aten::_local_scalar_dense", from + 2, 176)
            r:copy("Memcpy DtoH (Device -> Pageable)", from + 8, 2,
                r:call("cudaMemcpyAsync", from + 4, 3), 4)
            r:call("cudaStreamSynchronize", from + 8, 5)
        end
        at = at + 1200
    end
    local by = by_cause(load(r):verdict())
    t.is(by.launches.where, "aten::_local_scalar_dense", "most launches are reads")
    t.ok(by.launches.advice:find("no CUDA graph holds that", 1, true)
        and by.launches.advice:find("loss.detach()", 1, true), "what to do", by.launches.advice)
end

-- ---- a copy that may take less ----
-- Five copies of 2 ms from pageable memory, after each of which the host works for 1 ms: without
-- the waits 4 ms are saved, and from pinned memory the copies take less, too.
do
    local r = made.trace()
    for k = 0, 4 do
        local at = 3000 * k
        r:op("aten::copy_", at, 2010)
        r:copy("Memcpy HtoD (Pageable -> Device)", at + 5, 2000,
            r:call("cudaMemcpyAsync", at + 2, 2006), 1 << 24)
    end
    local p = load(r)
    local verdict = p:verdict()
    near(by_cause(verdict).waits.worth, 4e6, 1e5, "without the waits")
    t.ok(page_says(p, 'ms or more"') and page_says(p, '"more":true'),
        "the page says that they may be worth more, and of the line, too")
    t.ok(tostring(verdict):find("waits of the host +5 +10.030ms +[%d.]+ms or more"), "or more",
        tostring(verdict))
    t.ok(tostring(verdict):find("a copy from pinned memory takes less itself", 1, true), "why")
end

-- ---- a line that waits for several things ----
do
    local r = made.trace()
    r:python("train.py(7): step", 0, 4000)
    for k = 0, 3 do
        local at, copy = 1000 * k, "Memcpy DtoH (Device -> Pageable)"
        if k == 2 then copy = "Memcpy HtoD (Pageable -> Device)" end
        r:op("aten::to", at, 210)
        r:copy(copy, at + 5, 200, r:call("cudaMemcpyAsync", at + 2, 206), 1 << 24)
    end
    local p = load(r)
    local list = p:savings()
    t.is({ #list, list[1].what, list[1].count, list[1].mixed }, { 1, "aten::to: DtoH", 4, true },
        "a line that waits for copies both ways: three of them and one")
    t.ok(tostring(list):find "train%.py:7%+  aten::to: DtoH and others +4 ", "which its row says",
        tostring(list))
    t.ok(page_says(p, '"mixed":true'), "and the page")
end

-- ---- what is worth nothing ----
-- A kernel of 1 s, launched by an op of 10 us, and beside it four more ops: launches are worth the
-- first one's microseconds, which is less than is said, and then is 0 wherever it is said.
do
    local r = made.trace()
    for k = 0, 4 do
        r:op("aten::mm", 20 * k, 10)
        local from = k == 0 and 10 or 1e6 + 10 * k
        r:kernel("gemm", from, k == 0 and 1e6 or 5, r:call("cudaLaunchKernel", 20 * k + 2, 5))
    end
    local by = by_cause(load(r):verdict())
    t.is({ by.launches.nothing, by.launches.worth, by.launches.share },
        { "0: the device is busy", 0, 0.0 }, "what is said as 0 is 0")
end

t.done()
