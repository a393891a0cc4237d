--!plain
-- Traces of torch.profiler of a job's ranks, read together: their clocks, tables and replays, and
-- why a rank came late to a collective, worked out by hand.
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
local function rows(p, group)
    local out = {}
    for _, r in ipairs(p:rows { group = group }) do out[r.name] = r end
    return out
end
local function ranks(...)
    local files = {}
    for i, r in ipairs { ... } do files[i] = write("rank" .. i, r:text()) end
    return g.profile.load(files)
end
local function moved(rank, by, base)
    local r = made.trace { rank = rank, device = rank, base = base, pid = 70 + rank }
    r:op("aten::mm", by + 100, 50)
    r:kernel("ncclDevKernel_AllReduce", by + 150 + 10 * rank, 100 - 10 * rank,
        r:call("cudaLaunchKernel", by + 110, 5))
    r:kernel("gemm", by + 300, 20, r:call("cudaLaunchKernel", by + 130, 5))
    return r
end
local p = ranks(moved(1, 5000), moved(0, 0))
t.is(p:whatif({ host = 1 }).wall_ns, p.wall_ns, "ranks are replayed together")
t.is({ #p:savings(), #p:savings().ranks, p:savings { rank = 1 }.ranks[1].rank }, { 0, 2, 1 },
    "savings are of all ranks, or of one")
-- Both all_reduces end at 150 us, which rank 1's begins as the last; gemm begins at 200 and ends
-- 20 us later. Before the call at 10 us (15) the host was in the script and the op.
local path = {}
for _, part in ipairs(p:critical_path { group = "rank" }) do path[part.rank] = part.ns end
t.is((path[0] or 0) + (path[1] or 0), p.wall_ns, "the ranks' shares of the path are the wall time")
local idle = p:idle()
t.is({ #idle.ranks, idle.ranks[1].kernels, p:idle({ rank = 1 }).kernels, idle.ranks[2].kernels },
    { 2, 120000, 110000, 110000 }, "each rank's idle time")
for _, rank in ipairs(idle.ranks) do
    t.is(rank.kernels + rank.copies + rank.latency + rank.waiting + rank.loader + rank.op
        + rank.script, rank.wall, "whose shares are its wall time")
end
t.ok(tostring(idle):match "of rank %d, which ended last.*rank +wall time +kernels.*\n +0 ",
    "as text")
t.error(function() p:idle { rank = 7 } end, "no event of rank 7 is on the record", "another rank")
t.error(function() p:savings { rank = -1 } end, "rank: expected a rank's number, from 0, got %-1",
    "no rank")
local by = rows(p, "rank")
t.is({ by["rank 0"].count, by["rank 1"].count, by["rank 0"].self_device_time_total,
    by["rank 1"].self_device_time_total }, { 3, 3, 120000, 110000 }, "a row for each rank")
t.is(p.wall_ns, 220000, "their clocks are aligned by a collective")
t.ok(p.how:match "aligned by the ends of the collectives", "which is said")
t.is({ p:devices()[1].device, p:devices()[2].device }, { "r0/cuda:0", "r1/cuda:1" },
    "each rank's devices are its own")
t.ok(p:table():match "Wall time of all ranks: 440.000us", "the wall time is that of all ranks")
local old = write("old", (moved(1, 5000):text():gsub("cuda_runtime", "Runtime"))) -- of PyTorch 1
local both = g.profile.load { old, write("new", moved(0, 0):text()) }
t.ok(both:table():find "Self CUDA", "one kind of device, whichever PyTorch wrote each rank's file")
local late = moved(1, 5000)
late:call("cudaDeviceSynchronize", 5400, 10)
t.ok(tostring(ranks(moved(0, 0), late):sync()):match "cudaDeviceSynchronize",
    "a wait of one rank")
local early = moved(0, 0)
early:call("cudaDeviceSynchronize", 400, 10)
t.ok(tostring(ranks(early, late):sync()):match "rank 1: %?  explicit", "waits of several")
local apart = moved(1, 5000)
apart:kernel("ncclDevKernel_More", 5400, 10, 99)
t.ok(ranks(moved(0, 0), apart).how:match "no common clock", "without one it is said")
t.is(ranks(moved(0, 0), apart).wall_ns, 310000, "and ranks begin together")
t.ok(ranks(moved(0, 0), apart):verdict().assumed:find "no common clock", "a verdict says it, too")
local epoch = 1735632360000000000
apart.base = epoch - 4990000
t.ok(ranks(moved(0, 0, epoch), apart).how:match "clocks are as in their files", "or they have one")
t.is(ranks(moved(0, 0, epoch), apart).wall_ns, 320000, "on which their times are")
apart.base = epoch + 735004 * 1000000000
t.error(function() ranks(moved(0, 0, epoch), apart) end, "the events of .*rank2 are at another \z
    time than those of .*rank1 %(they begin 735004 s later%), so these are no ranks of one job",
    "other days are another job's")
t.ok(ranks(moved(0, 0), moved(0, 0)).how:match "numbered in the order of the files",
    "ranks of one number")

-- Two all_reduces each, whose second one lies 20 ms apart from the other rank's once the first ones
-- are aligned: each file has another part of the run.
local function sampled(rank)
    local r = moved(rank, 0)
    for k = 1, 3 do
        local at = 1000 * k + (k == 3 and 0 or 20000 * rank)
        r:kernel("ncclDevKernel_AllReduce", at, 100, r:call("cudaLaunchKernel", at - 10, 5))
    end
    return r
end
local other = ranks(sampled(0), sampled(1))
t.ok(other.how:match "of which none is paired: each rank begins with the first", other.how)
t.is(#other:collectives(), 0, "no rank was last")
t.ok(tostring(other:collectives()):match "no collective is paired", "which is said")
other:save(folder .. "/other.prof")
t.ok(g.profile.load(folder .. "/other.prof").unpaired, "saved and loaded")

-- On one clock they overlap, but end up to 6 ms apart, as on a machine that has more to do: what
-- the files have is kept then.
local function ragged(rank)
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank, base = epoch }
    for k, later in ipairs { 3000, 3500, -3000 } do
        local at = 20000 * k + (later < 0 and rank * 9500 or 0)
        r:kernel("ncclDevKernel_AllReduce", at, 10000 - later * rank,
            r:call("cudaLaunchKernel", at - 10, 5))
    end
    return r
end
other = ranks(ragged(0), ragged(1))
t.ok(other.how:match "clocks are as in their files;" or other.how:match "in their files$",
    other.how)
t.is(#other:collectives(), 1, "and they are paired")

-- ---- who comes late ----
-- Both ranks call an all_reduce at 110 us, which ends at 300; rank 1's begins 90 us later than rank
-- 0's, with nothing else on its record. Of the next, rank 1's host comes late: it leaves the wait
-- for the first 70 us later.
local function held_up(rank)
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank }
    local by = 70 * rank
    r:op("c10d::allreduce_", 100, 15)
    r:kernel("ncclDevKernel_AllReduce", 120 + 90 * rank, 180 - 90 * rank,
        r:call("cudaLaunchKernel", 110, 5))
    r:op("aten::add", 330 + by, 15)
    r:op("c10d::broadcast_", 350 + by, 15)
    r:kernel("ncclDevKernel_Broadcast", 360 + by, 100 - by, r:call("cudaLaunchKernel", 355 + by, 5))
    return r
end
local list = ranks(held_up(0), held_up(1)):collectives()
t.is({ list[1].op, list[1].last, list[1].meanwhile, list[1].excess },
    { "c10d::allreduce_", 1, "c10d::allreduce_ was called, and began late", 90000 },
    "a collective that began late by itself")
t.is({ list[2].op, list[2].last, list[2].meanwhile, list[2].excess },
    { "c10d::broadcast_", 1, "between c10d::allreduce_ and aten::add", 70000 },
    "what counts is what ranks did since all had come to the collective before")
-- Two ranks that are the same to the microsecond: none was late, and nothing took it longer.
local function same(rank)
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank }
    for k = 0, 3 do
        r:op("aten::mm", 1000 * k, 20)
        r:kernel("gemm", 1000 * k + 20, 500, r:call("cudaLaunchKernel", 1000 * k + 5, 5))
        r:op("c10d::allreduce_", 1000 * k + 30, 20)
        r:kernel("ncclDevKernel_AllReduce", 1000 * k + 520, 300,
            r:call("cudaLaunchKernel", 1000 * k + 32, 5))
    end
    return r
end
for _, row in ipairs(ranks(same(0), same(1)):collectives()) do
    t.is({ row.waited, row.excess, row.meanwhile }, { 0, 0 }, "no rank was late")
end

-- Between two ops of one line rank 1 is in prepare() for 400 us, which its frames say: 350 of these
-- are its own.
local function prepared(rank, call)
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank }
    r:python("ddp.py(1): <module>", 0, 2000)
    for k = 0, 1 do
        local at = 700 * k
        local late = k == 1 and rank == 1 and 400 or 0
        if late > 0 then
            r:python("ddp.py(4): prepare", at, late, "ddp.py:9")
            if call then r:python(call, at, 350, "ddp.py:5") end
            r:op("aten::rand", at + 350, 50)
        end
        r:op("c10d::allreduce_", at + late + 10, 20, nil)
        r:kernel("ncclDevKernel_AllReduce", at + 30 + late, 500 - late,
            r:call("cudaLaunchKernel", at + late + 15, 5))
    end
    return r
end
local reduce = ranks(prepared(0), prepared(1)):collectives()[1]
t.is({ reduce.last, reduce.late, reduce.meanwhile, reduce.excess },
    { 1, 400000, "prepare (ddp.py:4)", 350000 }, "the function that made it late")
local sleep = "<built-in function sleep>"
reduce = ranks(prepared(0), prepared(1, sleep)):collectives()[1]
t.is({ reduce.meanwhile, reduce.excess }, { "time.sleep at ddp.py:5", 350000 },
    "or what a library did for its line")

t.done()
