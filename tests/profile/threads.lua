-- Other threads in profiles: a loader's workers have rows, tracks and lanes of their own.
local t = require "tap"

local set = { size = 24, get = function(_, i) return (ones(8, 8) * i):sum() end }
local loader = data.Loader { set, batch = 4, workers = 2 }
local function epoch()
    local sum = 0
    for _, x in loader() do sum = sum + x:sum():item() end
    return sum
end
t.is(epoch(), 64 * 24 * 25 // 2 + 0.0, "what is watched computes")

local prof, sum = profile.run({ stack = true, memory = true }, epoch)
t.is(sum, 64 * 24 * 25 // 2 + 0.0, "also while it is watched")
local rows, by_name, total = prof:rows(), {}, 0
for _, r in ipairs(rows) do
    by_name[r.name] = r
    total = total + r.self_cpu_time_total
end
t.is({ by_name.ones.count, by_name.mul.count, by_name.sum.count }, { 24, 24, 24 + 6 },
    "ops of the workers are counted")
local beside, threads = 0, {}
for _, e in ipairs(prof:events()) do
    if e.thread and e.kind == "op" then
        threads[e.thread] = true
        beside = beside + e.stop - e.start
    end
end
for name in pairs(threads) do t.ok(name:find "^loader [12]$", "it has its name: " .. name) end
t.ok(next(threads), "there are such events")
t.ok(total > prof.wall_ns and total - prof.wall_ns >= beside,
    "the rows add up to the wall time and what ran beside it")
local text = prof:table { width = 1000 }
t.ok(text:find "ran on %d other threads? beside the main one", "a table says so")
t.ok(not prof:table():find "not in the table", "and leaves nothing out")
local stack
for _, r in ipairs(prof:rows { group = "stack" }) do if r.name == "mul" then stack = r.stack end end
t.ok(stack:find "threads.lua:4$", "their stacks are the worker's: " .. stack)
for _, r in ipairs(prof:memory()) do
    if r.name == "mul" then t.is(r.blocks, 24, "and their memory is theirs") end
end

local path = os.tmpname()
prof:trace(path)
local file <close> = assert(io.open(path))
local names, ops = {}, {}
for _, e in ipairs(json.decode(file:read "a").traceEvents) do
    if e.name == "thread_name" then names[e.tid] = e.args.name end
    if e.ph == "X" and e.cat == "op" then ops[e.tid] = (ops[e.tid] or 0) + 1 end
end
local of_loader = 0
for tid, n in pairs(ops) do
    if names[tid]:find "^loader" then of_loader = of_loader + n end
end
t.is(of_loader, 24 * 3, "a trace has a row for each")
prof:save(path)
t.is(profile.load(path):table(), prof:table(), "a saved profile has them")
os.remove(path)

local same = prof:whatif {}
t.is({ same.wall_ns, same:rows() }, { prof.wall_ns, prof:rows() }, "a replay takes workers along")
t.is({ by_name["loader: wait for a batch"].count, prof:idle().loader > 0 }, { 6, true },
    "each take of a batch is on the record, as is what it waited")

-- Workers go on while profiles come and go, and end while one runs.
local events = 0
for round = 1, 40 do
    local p = profile.run({ memory = true }, function()
        for step in loader() do if step == round % 6 then break end end
    end)
    events = events + p.count
    p:free()
end
t.ok(events > 0, "profiles end beside workers that are at work")

t.done()
