--!plain
-- How work was launched: by call, against times that are written here and against sums of a trace's
-- own events; and what graphs launch, on the critical path, too.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/launches.json"
local function load(trace)
    local file <close> = assert(io.open(path, "w"))
    file:write(trace:text())
    file:close()
    return g.profile.load(path)
end

-- ---- each figure by hand ----

local r = made.trace()
r:whole(0, 1000)
r:op("aten::mm", 0, 400)
r:kernel("gemm", 10, 30, r:call("cudaLaunchKernel", 0, 5))      -- 5 us later
r:kernel("add", 52, 2, r:call("cudaLaunchKernel", 50, 5))       -- before the call's end, shorter
r:kernel("gemm", 300, 100, r:call("cudaLaunchKernel", 100, 60)) -- slow; 140 us later
local graph = r:call("cudaGraphLaunch", 500, 30)
for i = 0, 2 do r:kernel("fused", 600 + 12 * i, 10, graph) end -- 70 us later, none of them alone
r:copy("Memcpy DtoH (Device -> Pageable)", 710, 30, r:call("cudaMemcpyAsync", 700, 50), 4096)
r:kernel("lost", 800, 10, 1) -- whose call is not in the trace
local p = load(r)
local list = p:launches()
t.is(list, { kind = "measured",
    { device = "cuda:0", rank = 0, times = 1, work = 1, called = 50000, called_most = 50000,
        busy = 30000, delay = 0, delay_median = 0, delay_most = 0, short = 1, slow = 0, late = 0 },
    { device = "cuda:0", call = "cudaGraphLaunch", rank = 0, times = 1, work = 3, called = 30000,
        called_most = 30000, busy = 30000, delay = 70000, delay_median = 70000, delay_most = 70000,
        short = 0, slow = 0, late = 0 },
    { device = "cuda:0", call = "cudaLaunchKernel", rank = 0, times = 3, work = 3, called = 70000,
        called_most = 60000, busy = 132000, delay = 145000, delay_median = 5000,
        delay_most = 140000, short = 1, slow = 1, late = 1 } }, "launches by call")
t.is(p:devices()[1].short, 1, "a graph's kernels are not held against the graph's one call")
t.ok(tostring(list):find("cudaLaunchKernel +3 +3 +23.333us +60.000us +5.000us +140.000us +1 +1 +1"),
    "as text", tostring(list))
t.is(#g.profile.run(g.ones, 3):launches(), 0, "gpush's own records have no calls of a runtime")

-- ---- sums of the events themselves ----

-- The calls by correlation and their work, as the trace has them, and the same figures made of them
-- by going through the calls one by one.
local function reference(trace)
    local work, rows = {}, {}
    local events = g.json.decode(trace:text()).traceEvents
    for _, e in ipairs(events) do
        local id = e.args.correlation
        if id and (e.cat == "kernel" or e.cat == "gpu_memcpy") then
            work[id] = work[id] or {}
            table.insert(work[id], e)
        end
    end
    for _, e in ipairs(events) do
        local of = e.cat == "cuda_runtime" and work[e.args.correlation]
        if of then
            local first = math.huge
            local row = rows[e.name] or { times = 0, work = 0, called = 0, busy = 0, late = 0 }
            rows[e.name] = row
            for _, w in ipairs(of) do
                row.work, row.busy = row.work + 1, row.busy + w.dur
                first = math.min(first, w.ts)
            end
            row.times, row.called = row.times + 1, row.called + e.dur
            row[#row + 1] = math.max(0, first - e.ts - e.dur)
            if row[#row] > 100 then row.late = row.late + 1 end
        end
    end
    for _, row in pairs(rows) do
        table.sort(row)
        row.delay = 0
        for _, d in ipairs(row) do row.delay = row.delay + d end
        local half = #row // 2
        row.median = #row % 2 == 1 and row[half + 1] or (row[half] + row[half + 1]) / 2
    end
    return rows
end

for seed = 1, 3 do
    local trace = made.streams(400 * seed, seed)
    local want, n = reference(trace), 0
    for _, row in ipairs(load(trace):launches()) do
        local it = row.call and want[row.call]
        if it then
            n = n + 1
            t.is({ row.times, row.work, row.called, row.busy, row.delay, row.delay_median,
                row.delay_most, row.late }, { it.times, it.work, it.called * 1000, it.busy * 1000,
                it.delay * 1000, math.tointeger(it.median * 1000), it[#it] * 1000, it.late },
                ("%s of trace %d"):format(row.call, seed))
        end
    end
    t.ok(n > 0, "some calls are compared")
end

-- ---- a graph on the critical path ----

-- Of 1000 us: a graph launched from 5 to 15, its two kernels from 25 to 625, and a wait for them.
r = made.trace()
r:whole(0, 1000)
r:op("replay", 0, 20)
graph = r:call("cudaGraphLaunch", 5, 10)
r:kernel("first", 25, 300, graph)
r:kernel("second", 325, 300, graph)
r:call("cudaDeviceSynchronize", 40, 590)
r:op("aten::add", 900, 100)
p = load(r)
local parts, sum = {}, 0
for _, part in ipairs(p:critical_path()) do
    parts[part.kind .. " " .. (part.name or "")] = part.ns
    sum = sum + part.ns
end
t.is(sum, 1000000, "the path's parts add up")
t.is(parts["device replay"], 600000, "both kernels of the graph are on it")
t.done()
