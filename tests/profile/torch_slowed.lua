--!plain
-- What a verdict does not owe to the program: the time that recording it takes, of which a record
-- knows how much it is, or how many calls of Python there were; and batches that may have been
-- waited for. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local folder = os.getenv "TMPDIR" or "/tmp"
local function load(trace)
    local file <const> = folder .. "/slowed.json"
    local f <close> = assert(io.open(file, "wb"))
    f:write(trace:text())
    f:flush()
    local p = g.profile.load(file)
    p:save(folder .. "/slowed.gz")
    os.remove(file)
    return p, g.profile.load(folder .. "/slowed.gz")
end
local function by_cause(verdict)
    local out = {}
    for _, row in ipairs(verdict) do out[row.cause] = row end
    return out
end
local function has(text, part) return text:find(part, 1, true) ~= nil end
local function range(row) return { row.worth // 1000, (row.at_most or row.worth) // 1000 } end

-- ---- steps that were shorter before ----
-- Six steps of 10 ms without a device: an op takes 7, the script 3. Of 2 ms more than before in
-- each, either may have any.
local function on_host(usual, beside)
    local r = made.trace { no_device = true, usual = usual, beside = beside }
    for k = 0, 5 do
        r:op("aten::sort", 10000 * k, 7000)
        r:region("ProfilerStep#" .. k + 10, 10000 * k, 10000)
    end
    return load(r)
end
for _, p in ipairs { on_host(8000) } do
    local v = p:verdict()
    local by = by_cause(v)
    t.is({ v.cause, v.wall // 1000, v.recorded // 1000 }, { "cpu", 48000, 60000 },
        "the program alone, and what is first", v.sentence)
    t.is({ range(by.cpu), range(by.script) }, { { 30000, 42000 }, { 6000, 18000 } }, "ranges")
    t.ok(has(v.sentence, "without that 6.000ms to 18.000ms instead of 48.000ms"), "said so")
    t.ok(has(v.sentence, "; 12.000ms of the 60.000ms on the record are left out: by so much its \z
        steps are longer than those before it, which took 8.000ms"), "and why", v.sentence)
end
local v = on_host(4000):verdict()
t.is({ v.cause or "none", range(by_cause(v).cpu), range(by_cause(v).script) },
    { "none", { 6000, 24000 }, { 0, 18000 } }, "too much to decide", v.sentence)
t.ok(has(v.sentence, "the script itself may be worth up to 18.000ms, since the record does not \z
    say whose time the recording's is"), "which is said", v.sentence)
for _, usual in ipairs { 9500, 12000, 0 } do
    local as_it_is = on_host(usual):verdict()
    t.is({ as_it_is.wall // 1000, range(by_cause(as_it_is).cpu),
        has(as_it_is.sentence, "left out") }, { 60000, { 42000, 42000 }, false },
        ("steps of %d us before"):format(usual))
end

-- Two steps of 10 ms and one of 1: the program alone is taken to have three of 0.5 ms at least.
local uneven = made.trace { no_device = true, usual = 500 }
for k, at in ipairs { 0, 10000, 20000 } do
    uneven:op("aten::sort", at, 500)
    uneven:region("ProfilerStep#" .. k + 10, at, k < 3 and 10000 or 1000)
end
v = load(uneven):verdict()
t.is({ v.wall // 1000, v.recorded // 1000 }, { 1500, 21000 }, "uneven steps", v.sentence)

-- With a device, whose 6 ms of a step's 10 would decide if the host took 4 ms less.
local r = made.trace { usual = 6000 }
for k = 0, 5 do
    for i = 0, 9 do
        local at = 10000 * k + 1000 * i
        r:op("aten::mm", at, 950)
        r:kernel("gemm", at + 945, 600, r:call("cudaLaunchKernel", at + 935, 8))
    end
    r:region("ProfilerStep#" .. k + 10, 10000 * k, 10000)
end
v = load(r):verdict()
local kernels = by_cause(v).kernels
t.is({ v.cause or "none", kernels.at_most // 1000 }, { "none", 36000 },
    "the device may be what decides", v.sentence)

-- ---- another thread ----
local function script_advice(p) return by_cause(p:verdict()).script.advice end
t.is({ has(script_advice(on_host(0, 5000)), "another thread of the program ran Python for 5.000ms"),
    has(script_advice(on_host(0)), "another thread") }, { true, false }, "which may hold the GIL")

-- ---- calls of Python ----
-- 12 ms of the script, in one function, or with 2000 calls from it, which the profiler writes down
-- in up to 2 us each.
for _, case in ipairs { { 0, { 12000, 12000 } }, { 2000, { 7998, 12000 } } } do
    r = made.trace { no_device = true }
    r:python("train.py(3): main", 0, 13000)
    for i = 0, case[1] - 1 do r:python("train.py(9): work", 6 * i, 6) end
    r:op("aten::sort", 12000, 1000)
    local p, kept = load(r)
    for _, prof in ipairs { p, kept } do
        v = prof:verdict()
        t.is(range(by_cause(v).script), case[2], ("%d calls"):format(case[1]), v.sentence)
        t.is(has(v.sentence, "up to 4.002ms of the script's time may be the profiler's, for 2001 \z
            calls of Python"), case[1] > 0, "which is said", v.sentence)
    end
end

-- ---- batches ----
-- Sixteen steps of 3 ms: a batch takes `us` to come, then ten kernels of 200 us, and an item.
local function batches(us)
    local at, trace = 0, made.trace()
    for k = 0, 15 do
        local began = at
        trace:region("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, us)
        at = at + us
        for i = 0, 9 do
            trace:op("aten::mm", at + 12 * i, 10)
            trace:kernel("gemm", at + 10 + 202 * i, 200,
                trace:call("cudaLaunchKernel", at + 12 * i + 2, 5))
        end
        trace:op("aten::item", at + 130, 1910)
        trace:call("cudaStreamSynchronize", at + 132, 1904)
        at = at + 2100
        trace:region("ProfilerStep#" .. k, began, at - began)
    end
    return load(trace)
end
for _, case in ipairs { { 60, false }, { 250, true }, { 900, true } } do
    local p, kept = batches(case[1])
    for _, prof in ipairs { p, kept } do
        v = prof:verdict()
        kernels = by_cause(v).kernels
        t.is({ v.paced, kernels.worth < 3e6, kernels.at_most ~= nil },
            { case[2], case[2], case[2] },
            ("batches that take %d us: what kernels are worth"):format(case[1]), v.sentence)
    end
end
-- On the critical path they are the loader's, not the script's.
local on_path = {}
for _, part in ipairs(batches(900):critical_path()) do
    on_path[part.kind] = (on_path[part.kind] or 0) + part.ns
end
t.ok(on_path.loader == 16 * 900000 and on_path.script < 2e6, "batches on the critical path")
os.remove(folder .. "/slowed.gz")

t.done()
