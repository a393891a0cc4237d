--!plain
-- prof:verdict from Lua: what it says of traces and of modelled runs, whose times are the same on
-- every machine. The numbers of the replays are tested in verdict.c.
local t = require "tap"
local g = require "gpush"
local made = dofile((os.getenv "GPUSH_ROOT" or ".") .. "/tests/support/torch_trace.lua")

local function load_trace(r)
    local name = os.tmpname() .. ".json"
    local f <close> = assert(io.open(name, "w"))
    f:write(r:text())
    f:close()
    local p = g.profile.load(name)
    os.remove(name)
    return p
end

-- ---- traces ----

-- Ten ops of 100 us, each of which launches a kernel of 10 us when it ends.
local r = made.trace {}
for i = 0, 9 do
    r:op("aten::mm", 100 * i, 100)
    r:kernel("gemm", 100 * i + 100, 10, r:call("cudaLaunchKernel", 100 * i + 90, 10))
end
local v = load_trace(r):verdict()
t.is({ v.cause, v[1].cause, v[1].where }, { "launches", "launches", "aten::mm" }, "late launches")
t.is(v.wall, 1010000, "of a run of 1.01 ms")
-- Without the host's time all are queued at 0, and the kernels follow each other.
t.is(v[1].worth, 910000, "are worth all but the kernels' time")
t.ok(v.sentence:find("^dominated by launches, which come late: without that 100.000us instead of \z
    1.010ms %(predicted by a replay, not measured; [^)]+%)$"), v.sentence)
t.ok(tostring(v):find 'CUDA graphs %(torch.compile%(mode="reduce%-overhead"%)%)',
    "what to do in PyTorch")
t.ok(tostring(v):find("\nkernels +10 +100.000us +10.000us +1.0%% +aten::mm\n"), tostring(v))

-- Ops on the CPU that take less than a launch gain nothing from a device; products of 4 ms do.
local function advice_of(cause, prof)
    for _, row in ipairs(prof:verdict()) do if row.cause == cause then return row.advice end end
    return ""
end
local few, many = g.ones(8), g.ones(600, 600)
-- What is said of n calls; again where another program had the processor, which came once.
local function of_ops(n, op)
    local advice
    for _ = 1, 9 do
        advice = advice_of("cpu", g.profile.run(function() for i = 1, n do op(i) end end))
        if not advice:find(" came once, ", 1, true) then break end
    end
    return advice
end
local advice
if (os.getenv "GPUSH_SAN" or "") ~= "" then
    t.skip(1, "times mean little under a sanitizer")
else
    advice = of_ops(1000, function(i) return few + i end)
    t.ok(advice:find("^they take [%d.]+us each where most of it is, and a launch on a device 5 to \z
        20 us: none is faster there"), advice)
end
advice = of_ops(3, function() return many:matmul(many) end)
t.ok(advice:find "^move their tensors to a device", advice)
local function looped()
    local stop, s = g.clock() + 0.02, 0
    while g.clock() < stop do s = s + 1 end
    return s
end
for lua, text in pairs { [true] = "have rows of their own in the table, by samples",
    [false] = "gpush profile shows" } do
    advice = advice_of("script", g.profile.run({ lua = lua }, looped))
    t.ok(advice:find(text, 1, true), advice)
end

-- On a card that nobody measured kernels may take more than is modelled, which the verdict says
-- where something else dominates.
local function waiting(card)
    g.sim.card, g.sim.host = card, 8e-6
    local z = g.ones(64, { device = "sim" })
    local p = g.profile.run(function() for _ = 1, 20 do local _ = (z + 1):sum():item() end end)
    g.sim.card, g.sim.host = nil, nil
    return p:verdict().sentence
end
t.ok(waiting("t4"):find("; the card's times are the least that it can take", 1, true), "a T4")
t.ok(not waiting("h200"):find("the least that it can take", 1, true), "an H200, which was measured")

local lines = tostring(load_trace(r):sync())
t.is(lines:match "^.-\n[^\n]*", v:head(), "the waits begin with the sentence, and with the advice")
t.ok(lines:find "\nthe host has not waited for a device$", "then come the waits: there are none")
local page = os.tmpname()
load_trace(r):report(page)
local f <close> = assert(io.open(page))
local text = (f:read "a"):match '<script type="application/json" id="data">(.-)</script>'
local data = g.json.decode(text)
os.remove(page)
t.is(data.verdict.sentence, v.sentence, "the page has the same sentence")
t.is({ #data.verdict.causes, data.verdict.causes[1].worth, data.verdict.causes[1].advice },
    { #v, v[1].worth, v[1].advice }, "causes, worths and advice")

-- A replay without a cause takes away what is owed to it, and nothing else: streams, copies whose
-- calls wait, and launches in other threads.
for seed = 1, 4 do
    r = made.streams(300, seed)
    for i = 1, 20 do
        local from = 5000 * i
        r:copy("Memcpy HtoD (Pageable -> Device)", from + 40, 20,
            r:call("cudaMemcpy", from, 70), 4096)
        r:kernel("gemm", from + 90, 10, r:call("cudaLaunchKernel", from + 30, 55, 99))
    end
    for _, row in ipairs(load_trace(r):verdict()) do
        t.ok(row.worth <= row.ns, ("%s is worth %d of %d ns"):format(row.cause, row.worth, row.ns))
    end
end

-- Two streams that are busy beside each other, with kernels and a collective: neither alone is
-- worth anything, both are; where streams wait for each other, but the trace does not say for what,
-- nothing is known.
for _, waits in ipairs { false, true } do
    r = made.trace {}
    r:op("aten::mm", 0, 10)
    r:kernel("gemm", 20, 1000, r:call("cudaLaunchKernel", 2, 5))
    if waits then r:call("cudaStreamWaitEvent", 8, 1) end
    r:op("nccl:all_reduce", 10, 10)
    r:kernel("ncclDevKernel_AllReduce", 25, 995, r:call("cudaLaunchKernel", 12, 5), 9)
    v = load_trace(r):verdict()
    t.is({ v.cause, v[1].share < 0.02 }, { "kernels", true }, "devices' work together")
    -- without it the collective begins 13 us after its call began, as it did, but for the 3 from 17
    -- to 20 in which nothing ran
    t.ok(v.sentence:find("dominated by the devices' work, kernels (1.000ms), collectives \z
        (995.000us), busy for 98.0% of 1.020ms: " .. (waits and "what less of it would save is \z
        not known" or "without all of it 22.000us"), 1, true), v.sentence)
    t.ok(v:head():find "\nkernels: 1.000ms of 1.000ms are products", v:head())
end

-- Kernels by what their names say: of 1000 us 600 are PyTorch's own, 400 products; a copy is none.
for _, case in ipairs {
    { "sm90_xmma_gemm_bf16bf16_tn", "most of them in 16 bits or fewer already" },
    { "ampere_sgemm_128x64_tn",
        "most of them in f32: torch.autocast, to f16, or bf16 from the A100 on; or tf32" },
    { "Cijk_Ailk_Bljk_HHS_BH_MT128", "most of them in 16 bits or fewer already" },
} do
    r = made.trace {}
    r:op("aten::mm", 0, 10)
    r:kernel("void at::native::elementwise_kernel<bfloat16>", 20, 600,
        r:call("cudaLaunchKernel", 2, 2))
    r:kernel(case[1], 620, 400, r:call("cudaLaunchKernel", 4, 2))
    r:copy("Memcpy DtoH (Device -> Pinned)", 1020, 5, r:call("cudaMemcpyAsync", 6, 2), 4)
    v = load_trace(r):verdict()
    t.is(v.cause, "kernels", case[1])
    for _, part in ipairs { "600.000us of 1.000ms are PyTorch's own elementwise ops",
        "400.000us of 1.000ms are products, convolutions and attention", case[2] } do
        t.ok(v[1].advice:find(part, 1, true), part, v[1].advice)
    end
end

-- A wait of 20 us in 100 ms is worth what it takes where nothing runs beside it, and no 0.
r = made.trace {}
r:op("aten::mm", 0, 100000)
r:kernel("gemm", 100010, 5, r:call("cudaLaunchKernel", 99990, 5))
r:op("aten::item", 100030, 20)
r:copy("Memcpy DtoH (Device -> Pageable)", 100035, 10, r:call("cudaMemcpyAsync", 100031, 15), 4)
r:op("aten::add", 100060, 100000)
for _, row in ipairs(load_trace(r):verdict()) do
    if row.cause == "waits" then
        t.is({ row.nothing, row.worth > row.ns / 2 }, { nil, true }, "a little is worth a little")
    end
end

-- Copies by where most of them go.
for copy, advice in pairs { ["Memcpy HtoD (Pageable -> Device)"] = "from pinned memory",
    ["Memcpy HtoD (Pinned -> Device)"] = "is pinned already",
    ["Memcpy DtoH (Device -> Pinned)"] = "into pinned memory",
    ["Memcpy DtoD (Device -> Device)"] = "clone" } do
    r = made.trace {}
    r:op("aten::copy_", 0, 10)
    r:copy(copy, 20, 1000, r:call("cudaMemcpyAsync", 2, 5), 4096)
    v = load_trace(r):verdict()
    t.ok(v.cause == "copies" and v[1].advice:find(advice, 1, true), copy, v[1].advice)
end

-- Nothing but the device's events.
r = made.trace {}
for i = 1, 20 do r:kernel("gemm", 100 * i, 90, 1000 + i) end
v = load_trace(r):verdict()
t.is(v.cause, nil, "of a device's events alone there is no verdict")
t.is(tostring(v), "no verdict: for 20 of 20 kernels and copies the record has no event of the \z
    host that queued them, so it cannot tell what the device waited for; devices were busy \z
    for 90.5% of 1.990ms: kernels 1.800ms", "which says why")

-- Kernels of ops that the trace says, without a call that launched them: 917 of 1000 us.
r = made.trace {}
for i = 0, 9 do
    r:op("aten::mm", 10 * i, 5, { ["External id"] = 500 + i })
    r:kernel("gemm", 83 + 92 * i - (i == 9 and 0 or 1), i == 9 and 89 or 92, 900 + i, 7,
        { ["External id"] = 500 + i })
end
r:call("cudaDeviceGetAttribute", 100, 1)
v = load_trace(r):verdict()
t.is({ v.cause, v.untold }, { nil, "calls" }, "launches that are not on the record")
t.ok(v.sentence:find "^no verdict on the host: for 10 of 10 kernels and copies the trace has no",
    v.sentence)
t.ok(v.sentence:find("devices were busy for 91.7% of 1.000ms: kernels 917.000us", 1, true),
    v.sentence)

-- ---- modelled runs ----

g.sim.card, g.sim.host = "h200", 8e-6
local numbers = g.ones(64, { device = "sim" })

-- Before the first op, and after the last, is no loop.
local clock = debug.getregistry()["gpush.clock"] -- no word about what is queued
local function pass_1_ms() local stop = clock() + 1e-3 while clock() < stop do end end
for where, run in pairs {
    ["the start, before "] = function() pass_1_ms() return numbers + 1 end,
    ["the end, after "] = function() local y = numbers + 1 pass_1_ms() return y end,
} do
    v = g.profile.run(run):verdict()
    t.is({ v.cause, v[1].where:sub(1, #where), v[1].advice:find "once" ~= nil,
        v[1].advice:find "loop" }, { "script", where, true }, where .. "is no loop")
end

-- Where instructions take no time, queueing a copy is a launch, also where no op encloses it; of
-- tolist the script has 64 values of 10 ns.
for name, read in pairs { item = function() return numbers[1]:item() end,
    tolist = function() return numbers:tolist() end,
    print = function() return tostring(numbers) end,
    equal = function() return numbers:equal(numbers) end,
    copy_ = function() return numbers:copy_(g.zeros(64)) end } do
    local script
    g.sim.script = 0
    for _, row in ipairs(g.profile.run(read):verdict()) do
        script = script or row.cause == "script" and row.ns or nil
    end
    g.sim.script = nil
    t.is(script, name == "tolist" and 640 or nil, name .. ": nothing else is the script's")
end

local x = g.randn(2048, 2048):to "sim"
local function run(f) return g.profile.run(f) end
local small = g.randn(64, 64):to "sim"

local here = debug.getinfo(1, "l").currentline + 3 -- the line that waits
local p = run(function()
    for _ = 1, 20 do
        small:matmul(small):sum():item()
    end
end)
v = p:verdict()
local by = {}
for _, row in ipairs(v) do by[row.cause] = row end
t.is(by.waits.worth, p:savings().all, "waits are worth what savings says of all")
t.is(by.waits.worth, p.wall_ns - p:whatif { without = "waits" }.wall_ns, "and whatif")
t.is(by.launches.worth, p.wall_ns - p:whatif { without = "launches" }.wall_ns, "launches, too")
t.ok(v.sentence:find "predicted by a replay of a record that is modelled H200", v.sentence)
t.is(by.waits.line, here, "the line that waits")
t.ok(by.waits.advice:find "0%-d tensor", "has its own advice")

-- A copy to the host needs nothing pinned first.
v = run(function() for _ = 1, 20 do x:cpu() end end):verdict()
for _, row in ipairs(v) do by[row.cause] = row end
t.ok(by.copies.advice:find('to("cpu", {non_blocking = true})', 1, true) and
    not by.copies.advice:find("pin = true", 1, true), by.copies.advice)
-- One from pageable memory takes more itself: what its wait is worth is what the same run takes
-- less from pinned memory without waits.
local pageable = g.randn(1000, 1000)
local pinned = pageable:pin_memory()
local function copied(of, o) return run(function() for _ = 1, 4 do of:to("sim", o) end end) end
p = copied(pageable)
local saved = p:savings()
t.is(saved.all, p.wall_ns - copied(pinned, { non_blocking = true }).wall_ns, "pinned copies")
t.ok(not tostring(saved):find "or more", "which is all", tostring(saved))

-- The device is busy all the time: the wait at the end is worth nothing.
p = run(function()
    local y = x
    for _ = 1, 4 do y = y:matmul(x) end
    y:sum():item()
end)
v = p:verdict()
t.is(v.cause, "kernels", "large kernels")
for _, row in ipairs(v) do by[row.cause] = row end
t.is(by.waits.nothing, "0: the device is busy", "a wait that costs nothing")
t.ok(by.waits.ns > 0.9 * v.wall and by.waits.worth < 1e-3 * v.wall, "though the host waited long")
t.ok(v.sentence:find "nothing else is worth 2%%: devices were busy for [19]%d+%.%d%% of the time",
    v.sentence)
-- Kernels that take the card's least: what makes their work less makes none of them shorter.
p = run(function()
    for _ = 1, 10 do
        local step = g.capture(function(a) for _ = 1, 20 do a = a * 2 end return a end)
        for _ = 1, 10 do step(numbers) end
    end
    g.synchronize()
end)
for _, row in ipairs(p:verdict()) do by[row.cause] = row end
t.ok(by.kernels.advice:find "which take the least that one does, [%d.]+us each: fewer of them",
    "the least: " .. by.kernels.advice)
-- By what they are: what makes products cheaper is not said of a sort, nor of what has it already.
local half = x:half()
local join = g.fuse(function(a) for _ = 1, 10 do a = a * 2 + 1 end return a end)
join(x)
for name, case in pairs {
    sort = { function() x:sort() end, "are sort: neither autocast nor fuse%(f%) makes these" },
    f32 = { function() x:matmul(x) end, "convolutions and attention: autocast where" },
    f16 = { function() half:matmul(half) end, "attention, in 16 bits or fewer already; or a" },
    elementwise = { function() return x * 2 + 1 end, "ops: fuse%(f%) makes one kernel" },
    fused = { function() join(x) end, "is fused already: what fuse%(f%) joins is joined" } } do
    p = g.profile.run({ flops = true }, function() for _ = 1, 3 do case[1]() end end)
    for _, row in ipairs(p:verdict()) do by[row.cause] = row end
    t.ok(by.kernels.advice:find(case[2]) and (name == "f32") == (by.kernels.advice:find
        "autocast where" ~= nil), name .. ": " .. by.kernels.advice)
end
for _, row in ipairs(run(function() for _ = 1, 50 do join(small) end end):verdict()) do
    by[row.cause] = row
end
t.ok(by.launches.advice:find "fuse%(f%) made kernels of several ops already; capture", "fused: " ..
    by.launches.advice)
g.sim.card, g.sim.host = nil, nil

-- ---- the cpu ----

local c = g.randn(200, 200)
local function compute() for _ = 1, 20 do c = c:matmul(c):tanh() end end
compute() -- the first use of the processors' threads
v = run(compute):verdict()
t.is(v.work, 0, "nothing ran beside the host")
t.ok(tostring(v):find "no device but the host ran anything", "which it says")
t.is(v.cause, "cpu", "its own ops dominate")

-- A table of Lua's that becomes a tensor is a row of its own, with its line and its advice; one
-- that raises ends there, and what follows is not within it.
local numbers = {}
for i = 1, 50000 do numbers[i] = i end
local place = debug.getinfo(1, "l").currentline + 3
local made = run(function()
    for _ = 1, 10 do
        c = g.tensor(numbers)
    end
    t.error(function() g.tensor { 1, 2, "x" } end, "tensor: element %[3%] is a string", "it raises")
    c = c + 1
end)
v = made:verdict()
t.is({ v.cause, v[1].where:match "^tensor at .*verdict.lua:(%d+)$" }, { "cpu", tostring(place) },
    "tensors of tables dominate: " .. tostring(v))
t.ok(v[1].advice:find("make it once, before the loop", 1, true), "what to do", v[1].advice)
local inside
for _, e in ipairs(made:events()) do
    if e.name == "add" then inside = made:events()[1].stop > e.start end
end
by = {}
for _, row in ipairs(made:rows()) do by[row.name] = row end
t.is({ by.tensor.count, by.add.count, inside }, { 11, 1, false }, "rows: of tables, an op after")
t.ok(by.tensor.cpu_time_total + by.add.cpu_time_total <= made.wall_ns, "none is within another")

-- Ops that share their processors with what makes a loader's batches stay as slow in a replay.
local set = g.data.Dataset { size = 40, get = function(_, i)
    local sum = 0
    for k = 1, 100000 do sum = sum + k % 7 end
    return g.full({}, sum), i
end }
local SHARED = "; or less: the ops share the loader's processors"
for workers = 0, 1 do
    local ran = run(function()
        for _, y in g.data.Loader { set, batch = 2, workers = workers }() do y:sum() end
    end)
    v = ran:verdict()
    t.ok(ran:idle().loader > ran.wall_ns / 2 and ran:critical_path()[1].kind == "loader",
        "its idle time and path say so")
    t.is(v.cause, "loader", "a loader on the cpu dominates, workers: " .. workers)
    t.is(v.sentence:find(SHARED, 1, true) ~= nil, workers > 0, "beside it: " .. v.sentence)
end

-- In marked steps what comes before the first op is no start: a loop of parse() is in each of four,
-- and one three times as long in the first, 3 of 7 parts.
local function work(n)
    local sum = 0
    for k = 1, n do sum = sum + k end
    return sum
end
g.sim.card, g.sim.host = "h200", 8e-6
local on_card = g.ones(4, { device = "sim" })
v = g.profile.run({ lua = true }, function()
    for k = 1, 4 do
        local _ <close> = g.profile.region("step " .. k)
        work(k == 1 and 400000 or 100000)
        on_card = on_card * 1
    end
end):verdict()
g.sim.card, g.sim.host = nil, nil
t.is({ v.cause, v[1].advice:find("passes once", 1, true) }, { "script", nil }, v[1].advice)

t.error(function() p:verdict { rank = 3 } end, "profile.verdict: rank: no event of rank 3", "ranks")
t.error(function() p:whatif { without = "lauches" } end, "whatif: without", "a wrong cause")
t.done()
