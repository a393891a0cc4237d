-- The script's own time in profiles: functions, lines, C functions, coroutines, regions and the
-- library; debug.sethook and errors.
local t = require "tap"
if (os.getenv "GPUSH_SAN" or ""):find "thread" then
    t.skip_all "the thread sanitizer delivers signals late, when a function of the system is called"
end

-- Takes that many seconds of the processor: the sampler sees only what runs, and a loaded machine
-- runs others, too.
local function busy(seconds)
    local stop, n = os.clock() + seconds, 0
    while os.clock() < stop do
        for i = 1, 2000 do n = n + i % 7 end
    end
    return n
end
local BUSY <const> = debug.getinfo(busy, "S").linedefined

-- Whether that is a line of busy, at the end of text.
local function in_busy(text)
    local line = tonumber(text:match "lua_time.lua:(%d+) ?%(?%l*%)?$")
    return line and line > BUSY and line < BUSY + 4
end
local function repeated(seconds)
    local stop = os.clock() + seconds
    while os.clock() < stop do string.rep("x", 1 << 20) end
end
local function find(rows, pattern)
    for _, r in ipairs(rows) do if r.name:find(pattern) then return r end end
end
local function sum(rows, field)
    local n = 0
    for _, r in ipairs(rows) do n = n + (r[field] or 0) end
    return n
end
local all = { lua = true, stack = true, memory = true, shapes = true }

-- ---- where the time went ----
local c = ones(8)
local ran -- ns of the processor
local prof = profile.run(all, function()
    ran = os.clock()
    busy(0.06)
    repeated(0.06)
    for _ = 1, 100 do c = c + 0 end
    ran = (os.clock() - ran) * 1e9
end)
local rows = prof:rows()
local mine = find(rows, ("^busy %%(.*lua_time.lua:%d%%)$"):format(BUSY))
local of_c = find(rows, "^rep %[C%]$")
t.ok(mine and mine.samples >= 5, "a function has a row, with its line")
t.ok(of_c and of_c.samples >= 5, "a C function has one, as the script calls it")
t.ok(prof.wall_ns - find(rows, "unattributed").self_cpu_time_total > ran / 2,
    "most of the time that it ran is attributed")
t.ok(mine.self_cpu_time_total <= mine.samples * 1e6, "no sample stands for more than its period")
t.is(mine.self_cpu_time_total, mine.cpu_time_total, "a function's total is its own time")
for _, group in ipairs { "op", "region", "line", "shape", "stack" } do
    t.is(sum(prof:rows { group = group }, "self_cpu_time_total"), prof.wall_ns,
        "the rows by " .. group .. " add up to the wall time")
    t.is(sum(prof:rows { group = group, limit = 1 }, "self_cpu_time_total"), prof.wall_ns,
        "also with a limit")
end
local found = false
for _, r in ipairs(prof:rows { group = "line" }) do
    found = found or in_busy(r.name) and r.samples > 0
end
t.ok(found, "lines have their time")
local stack = find(prof:rows { group = "stack" }, "^busy ").stack
t.ok(in_busy(stack:match "^(.-) < .+ < "), "a sample has its stack: " .. stack)
t.ok(prof:table():find "one each 1.000ms", "a table says that it was sampled")
-- Where the host had no processor for a millisecond, there is a sample, of nothing: then again.
local none
for _ = 1, 100 do
    none = profile.run({ lua = true }, function() end):table()
        :find "\nNo sample, one each 1.000ms, found the script outside of ops"
    if none then break end
end
t.ok(none, "also that none was")
t.is(sum(rows, "count"), sum(profile.run(function()
    for _ = 1, 100 do c = c + 0 end
end):rows(), "count"), "samples are no calls")

-- ---- kept, and for other programs ----
local path = os.tmpname()
prof:save(path)
local kept = profile.load(path)
t.is(kept:table { group = "stack" }, prof:table { group = "stack" }, "a saved profile has it")
prof:folded(path)
local file <close> = assert(io.open(path))
t.ok(in_busy(file:read "a":match "[^\n;]+;busy %b() " :match "^[^;]+"), "folded stacks have it")
prof:trace(path)
local trace <close> = assert(io.open(path))
local slices, row, last, named = 0, nil, 0, false
for _, e in ipairs(json.decode(trace:read "a").traceEvents) do
    if e.cat == "sample" then
        slices, row = slices + e.args.samples, row or e.tid
        t.ok(e.tid == row and e.ts >= last - 0.0015 and e.dur >= 0 and e.args.line,
            "a trace has samples in a row of their own")
        last = e.ts + e.dur
        named = named or e.name:find "^busy " and in_busy(e.args.line)
            and in_busy(e.args.stack:match "^(.-) < ")
    elseif e.ph == "X" then
        t.ok(e.tid ~= row, "in which nothing else is")
    end
end
t.ok(named, "with their functions, lines and stacks")
t.is(slices, sum(rows, "samples"), "all of them")
os.remove(path)
local samples = 0
for _, e in ipairs(prof:events()) do
    if e.kind == "sample" then samples = samples + e.samples end
end
t.is(samples, sum(rows, "samples"), "each sample is an event")
t.ok(prof:whatif { host = 0.5 }:rows()[1], "and a replay takes them along")

-- ---- regions and coroutines ----
prof = profile.run({ lua = true }, function()
    ran = os.clock()
    local co = coroutine.wrap(function()
        local _ <close> = profile.region "IN COROUTINE"
        for _ = 1, 4 do
            busy(0.01)
            coroutine.yield()
        end
    end)
    for _ = 1, 4 do co() end
    ran = (os.clock() - ran) * 1e9
end)
rows = prof:rows()
local region = find(rows, "IN COROUTINE")
t.ok(find(rows, "^busy ").samples >= 3, "a coroutine is followed")
t.ok(region.cpu_time_total - region.self_cpu_time_total > ran / 2,
    "a region's own time goes to its functions, and its total stays")
local by_region = find(prof:rows { group = "region" }, "IN COROUTINE")
t.is(by_region.cpu_time_total, region.cpu_time_total, "as by region")

-- ---- the library ----
local model = nn.Linear(2, 2)
prof = profile.run({ lua = true }, function()
    local stop = os.clock() + 0.05
    while os.clock() < stop do for _ = 1, 20 do model:named_parameters() end end
end)
t.ok(find(prof:rows(), "^named_parameters %[gpush%]$"), "the library has a row by what was called")
for _, r in ipairs(prof:rows { group = "line" }) do
    t.ok(not r.name:find "scripts/lua", "its lines are the caller's: " .. r.name)
end

-- ---- beside other hooks ----
local calls = 0
prof = profile.run({ lua = true }, function()
    debug.sethook(function() calls = calls + 1 end, "", 1000)
    busy(0.02)
    local hook, mask, count = debug.gethook()
    t.is({ type(hook), mask, count }, { "function", "", 1000 }, "the script's hook stays")
    debug.sethook()
end)
t.ok(calls > 0, "and is called")
t.ok(prof:table():find "samples were not taken: the script's own hook", "a table says so")
t.is(debug.gethook(), nil, "no hook is left behind")
local ok = pcall(profile.run, { lua = true }, function() busy(0.003) error "x" end)
t.ok(not ok, "an error ends it")
prof = profile.run(function() busy(0.003) end)
t.is(sum(prof:rows(), "samples"), 0, "nothing is sampled unless asked for")
t.ok(prof:table():find "lua = true says where", "then the table says how")
t.ok(not prof:table { limit = 1 }:find "samples", "and names no samples")
t.is(select(2, pcall(profile.run, { lua = 1 }, print)):match "lua: .*",
    "lua: expected true or false, got number", "the option is checked")
do
    profile.start { lua = true }
    busy(0.01)
    prof = profile.stop()
    t.ok(find(prof:rows(), "^busy "), "start and stop take it")
end
local schedule = profile.schedule { active = 1, repeats = 1, lua = true }
busy(0.01)
schedule:step()
t.ok(find(schedule.result:rows(), "^busy "), "and a schedule does")

t.done()
