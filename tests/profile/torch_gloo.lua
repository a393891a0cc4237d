--!plain
-- Traces of torch.profiler whose collectives other threads of the host run, as gloo's do: who
-- queued them, who waited, and what they cost. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local folder = os.getenv "TMPDIR" or "/tmp"
local function write(trace, name)
    local path = folder .. "/" .. name
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    return path
end
local function load(trace) return g.profile.load(write(trace, "gloo.json")) end
local function owed(prof)
    local out = {}
    for _, row in ipairs(prof:verdict()) do out[row.cause] = row end
    return out
end

-- The main thread computes for 1 ms, queues an all_reduce in 50 us, computes for 1 ms beside it,
-- does nothing until 10 us after its end at `ends`, and computes for 1 ms.
local RUNNER <const> = 99
local function step(ends, from, r)
    r, from = r or made.trace { no_device = true }, from or 0
    local id = #r.events + 1
    r:op("aten::mm", from, 1000)
    r:op("c10d::allreduce_", from + 1000, 50, { ["External id"] = id })
    r:region("gloo:all_reduce", from + 1040, ends - 1040, RUNNER)
    r:op("aten::mm", from + 1050, 1000)
    r:op("aten::add", from + ends + 10, 1000)
    return r
end
local r
local p = load(step(4040))
local by = owed(p)
t.is(p.wall_ns, 5050000, "5.05 ms")
t.is({ by.collectives.ns, by.collectives.name }, { 3060000, "c10d::allreduce_" },
    "3 ms of the collective, 50 us of its call, and 10 until the thread went on")
-- Without them three ops of 1 ms follow each other.
t.is(by.collectives.worth, 2050000, "what the main thread waited, and its call")
t.is({ by.cpu.ns, by.script, by.launches, by.waits }, { 3000000 }, "the rest is its ops'")
r = step(4040)
r:op("aten::item", 4100, 20)
r:op("aten::_local_scalar_dense", 4105, 10)
t.is(#load(r):sync().reads, 1, "a read would wait on a card, gloo or not")
local waits = p:sync()
t.is({ #waits, waits[1].why, waits[1].what, waits[1].waited, waits[1].idle },
    { 1, "collective", "gloo:all_reduce", 2000000, 0 }, "the wait, for which no device was idle")
t.ok(waits[1].advice:find "async_op=True", "what to do about it")
t.ok(tostring(p:verdict()):find "no device but the host ran anything", "gloo is no device")
t.ok(p:table():find "COMM is the time of collectives that other threads", "nor a fork")
t.ok(not tostring(waits):find "is not known", "and the waits are known")

t.ok(by.collectives.advice:find "traces of all ranks together", "of one rank, who waited for whom?")

-- The thread does something else when it ends: it has not waited. Nor has one whose next op begins
-- long after it.
r = step(4040)
r:op("aten::exp", 2100, 1940)
t.is(#load(r):sync(), 0, "an op that goes on beside it is no wait")
r = made.trace { no_device = true }
r:op("c10d::allreduce_", 0, 50, { ["External id"] = 1 })
r:region("gloo:all_reduce", 40, 1000, RUNNER)
r:op("aten::mm", 2000, 1000)
p = load(r)
t.is(#p:sync(), 0, "nor is a script that goes on after it")
t.is(owed(p).script.ns, 1950000, "which has that time")

-- A call that waits itself (async_op=False), however late its thread wakes.
r = made.trace { no_device = true }
r:op("c10d::allreduce_", 0, 3000, { ["External id"] = 1 })
r:region("gloo:all_reduce", 100, 2000, RUNNER)
p = load(r)
t.is({ p:sync()[1].waited, owed(p).collectives.worth }, { 2900000, 3000000 }, "within its call")

-- DistributedDataParallel's reducer waits for its buckets one after another, and makes views of
-- each: it was over then, also where its thread says so later, or said it begins later.
local function reduced(forward)
    local r = made.trace { no_device = true }
    r:region(forward, 0, 50)
    for k = 0, 1 do
        r:op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 100 * k + 50,
            90)
        r:op("c10d::allreduce_", 100 * k + 60, 30, { ["External id"] = k + 1 })
        r:region("gloo:all_reduce", 300 * k + 70, k == 0 and 7000 or 8000, RUNNER + k)
        r:op("aten::as_strided", 4000 * k + 5000, 10)
        r:op("aten::copy_", 4000 * k + 5020, 40)
    end
    r:op("aten::add", 9100, 900)
    return load(r)
end
p = reduced "DistributedDataParallel.forward"
waits = {}
for _, e in ipairs(p:events()) do
    if e.why == "collective" then waits[#waits + 1] = { e.start // 1000, e.stop // 1000 } end
end
t.is(waits, { { 240, 5000 }, { 5060, 9000 } }, "a reducer's two waits")
t.is(owed(p).script.ns, 120000, "and the script has what lies between ops")
t.is(#reduced "Net.forward":sync(), 0, "which is known of that alone")

-- Two at a time, of two threads: each is queued by the op of its name.
r = made.trace { no_device = true }
r:op("c10d::allreduce_", 0, 10, { ["External id"] = 11 })
r:op("c10d::broadcast_", 20, 10, { ["External id"] = 12 })
r:region("gloo:broadcast", 30, 1000, RUNNER)
r:region("gloo:all_reduce", 35, 3000, RUNNER + 1)
r:op("aten::mm", 40, 5000)
local queued = {}
for _, e in ipairs(load(r):events()) do
    if e.kind == "kernel" then queued[#queued + 1] = e.kernel .. " by " .. e.name end
end
table.sort(queued)
t.is(queued, { "gloo:all_reduce by c10d::allreduce_", "gloo:broadcast by c10d::broadcast_" },
    "which op queued which")

-- The threads that run collectives wait for the next one, and a timer for its time: not for those.
r = step(4040)
step(4040, 10000, r)
r:op("aten::clone", 500, 3, nil, RUNNER)
r:op("aten::clone", 14042, 3, nil, RUNNER)
r:python("threading.py(331): wait", 100, 15000, nil, RUNNER + 1)
p = load(r)
waits = p:sync()
t.is({ waits.count, waits.waited }, { 2, 4000000 }, "two waits, of the main thread alone")

-- Beside a device: it is busy for 100 us of the 4 ms that the host waits for a barrier, idle then.
r = made.trace()
r:op("aten::mm", 0, 10)
r:kernel("gemm", 20, 100, r:call("cudaLaunchKernel", 2, 5))
r:op("c10d::barrier", 100, 3900, { ["External id"] = 9 })
r:region("gloo:barrier", 150, 3840, RUNNER)
p = load(r)
local idle = p:idle()
t.is({ idle.kernels, idle.waiting, p:verdict().busy }, { 100000, 3850000, 100000 },
    "a device is not busy with them")

-- Two ranks, whose second one comes 1 ms later to the all_reduce: they are replayed together.
local first, second = step(4040), made.trace { no_device = true }
first.rank, second.rank = 0, 1
second:op("aten::mm", 0, 2000)
second:op("c10d::allreduce_", 2000, 50, { ["External id"] = 1 })
second:region("gloo:all_reduce", 2040, 2000, RUNNER)
second:op("aten::add", 4050, 1000)
p = g.profile.load { write(first, "rank0.json"), write(second, "rank1.json") }
t.ok(p.how:find "aligned by the ends of the collectives", p.how)
local met = p:collectives()[1]
for _, of in ipairs { first, second } do -- each sends the other something
    for k, name in ipairs { "send", "recv" } do
        local at = 5000 + 200 * k
        of:op("c10d::" .. name, at, 10, { ["External id"] = 50 + k })
        of:region("gloo:" .. name, at + 10, 100, RUNNER)
        of:op("aten::mm", at + 10, 150)
    end
end
p = g.profile.load { write(first, "rank0.json"), write(second, "rank1.json") }
t.is(#p:collectives(), 1, "messages are no collectives")
t.ok(not owed(p).collectives.advice:find "all ranks together", "which several say")
t.is({ met.last, met.waited }, { 1, 1000000 }, "the rank that came last")
t.done()
