-- Records with many different names, streams and regions: what a reader does for each of them does
-- not grow with their number. Processor time is compared with that of a reader of the same record.
local t = require "tap"

-- A trace of n steps, each with a region, an op and a kernel, of that many streams.
local function load(n, streams)
    local events, name = {}, os.tmpname()
    local function add(cat, label, ts, dur, args)
        events[#events + 1] = { ph = "X", cat = cat, name = label, pid = 1, tid = 1, ts = ts,
            dur = dur, args = args }
    end
    for i = 1, n do
        add("user_annotation", "region " .. i, 30 * i, 20)
        add("cpu_op", "op " .. i, 30 * i + 1, 10)
        add("cuda_runtime", "cudaLaunchKernel", 30 * i + 2, 3, { correlation = i })
        add("kernel", "kernel", 30 * i + 6, 9,
            { correlation = i, device = 0, stream = i % streams })
    end
    local file <close> = assert(io.open(name, "w"))
    file:write(json.encode { traceEvents = events })
    file:close()
    local prof = profile.load(name)
    os.remove(name)
    return prof
end

-- The least processor time of three calls, in seconds.
local function cost(fn)
    local least = math.huge
    for _ = 1, 3 do
        collectgarbage()
        local before = os.clock()
        pcall(fn)
        least = math.min(least, os.clock() - before)
    end
    return least
end

-- Instructions of Lua's that fn takes.
local function instructions(fn)
    local n = 0
    debug.sethook(function() n = n + 1 end, "", 100)
    fn()
    debug.sethook()
    return 100 * n
end

local N <const> = 10000
local few, many = load(N, 2), load(N, 4000)

local each = instructions(function() many:diff(few) end) / (2 * N)
t.ok(each < 700, ("diff takes %.0f instructions of Lua's for each of %d rows"):format(each, 2 * N))

local whole = cost(function() few:trace "/dev/null" end)
local refused = cost(function() few:trace("/dev/null", { max = 2000 }) end)
t.error(function() few:trace("/dev/null", { max = 2000 }) end, "need more than 0.00 MB",
    "a trace that cannot be so short is refused")
t.ok(refused < 5 * whole, ("in %.1f times what writing it whole takes"):format(refused / whole))

-- Four times the steps take four times as long; a walk over all events for each took 14 times.
local function verdict_of(n)
    local name = os.tmpname()
    local file <close> = assert(io.open(name, "w"))
    file:write(require "torch_trace".steps(n):text())
    file:close()
    local prof = profile.load(name)
    os.remove(name)
    return cost(function() prof:verdict() end)
end
local short, long = verdict_of(15000), verdict_of(60000)
t.ok(long < 8 * short, ("a verdict of four times the steps takes %.1f times"):format(long / short))

local streams, busy = many:idle().streams, 0
for _, s in ipairs(streams) do busy = busy + s.busy end
t.is({ #streams, busy }, { 4000, N * 9000 }, "each of 4000 streams has its time")
t.done()
