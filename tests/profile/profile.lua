-- The profiler: the sum rule, columns, grouping, regions, waits, device times, memory, traces'
-- file, timeit and compare.
local t = require "tap"
local dev = "gpu"
local groups = { "op", "region", "line", "shape", "stack" }
local all = { stack = true, memory = true, shapes = true }

local function spin(seconds)
    local stop = os.clock() + seconds
    while os.clock() < stop do end
end
local function row(prof, name, opts)
    for _, r in ipairs(prof:rows(opts)) do
        if r.name == name then return r end
    end
end
local function sum(prof, field, opts)
    local n = 0
    for _, r in ipairs(prof:rows(opts)) do n = n + r[field] end
    return n
end

local x = full({ 64, 64 }, 1, { device = dev, dtype = "f32" })
local c = full({ 64, 64 }, 1, { dtype = "f32" })
local function step(v, n)
    local _ <close> = profile.region "STEP"
    for _ = 1, n do v = v * 2 + 1 end
    return v:sum():item()
end
t.is({ step(x, 3), step(c, 3) }, { 64 * 64 * 15, 64 * 64 * 15 }, "what is watched computes")

-- ---- the sum rule ----
local function mixed()
    step(x, 3)
    step(c, 3)
    local co = coroutine.wrap(function() -- regions that overlap without being nested
        local _ <close> = profile.region "IN COROUTINE"
        local a = c + 1
        coroutine.yield()
        a = a + 1
    end)
    co()
    do
        local _ <close> = profile.region "OUTSIDE"
        local b = c * 2
        co()
        b = b * 2
    end
    spin(0.002)
    local d = c + 1
end
local prof = profile.run(all, mixed)
for _, g in ipairs(groups) do
    t.is(sum(prof, "self_cpu_time_total", { group = g }), prof.wall_ns,
        "group " .. g .. ": rows and unattributed make the wall time, to the ns")
    t.is(sum(prof, "self_cpu_time_total", { group = g, limit = 1 }), prof.wall_ns,
        "also with a limit")
end
t.ok(row(prof, "[unattributed]").self_cpu_time_total >= 2e6,
    "the script's own time is unattributed")
t.ok(row(prof, "[profiler]"), "the profiler's own cost has a row")
for _, g in ipairs(groups) do
    local most = 0
    for _, r in ipairs(prof:rows { group = g }) do
        most = math.max(most, r.cpu_time_total, r.self_cpu_time_total)
    end
    t.ok(most <= prof.wall_ns, "group " .. g .. ": no row exceeds the whole")
end
local function deep(n)
    local _ <close> = profile.region "DEEP"
    if n > 0 then deep(n - 1) end
    local y = c + 1
end
local recursive = profile.run(function() deep(300) end)
t.is(row(recursive, "DEEP").count, 301, "recursion: every call is counted")
t.ok(row(recursive, "DEEP").cpu_time_total <= recursive.wall_ns, "but its time once")
t.is(sum(recursive, "self_cpu_time_total"), recursive.wall_ns,
    "and the sum rule holds for deep nesting")

-- The printed table, read back.
local text = prof:table()
local seconds = { us = 1e-6, ms = 1e-3, s = 1 }
local total, wall = 0, nil
for line in text:gmatch "[^\n]+" do
    local n, unit = line:match "%%%s+([%d.]+)([mu]?s)%s+[%d.]+%%"
    if n and line:find "^%s*[%w%[]" then total = total + tonumber(n) * seconds[unit] end
    n, unit = line:match "^Wall time: ([%d.]+)([mu]?s)"
    if n then wall = tonumber(n) * seconds[unit] end
end
t.close(total, wall, 1e-5, "the Self CPU column adds up to the wall time")
for _, head in ipairs { "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total",
    "CPU time avg", "Self SIM %", "Self SIM", "SIM total %", "SIM total",
    "SIM time avg", "CPU Mem", "Self CPU Mem", "SIM Mem", "Self SIM Mem", "# of Calls" } do
    t.ok(text:find("  " .. head .. "  ", 1, true) or text:find(head .. "\n", 1, true),
        "column " .. head)
end
do -- the device's own column adds up too
    local sum = 0
    for line in text:gmatch "[^\n]+" do
        local times = {}
        for percent in line:gmatch "([%d.]+)%%" do times[#times + 1] = tonumber(percent) end
        sum = sum + (times[3] or 0)
    end
    t.close(sum, 100, 1e-2, "the Self SIM % column adds up to 100")
end
t.ok(text:find("sim is CPU-backed", 1, true), "a table from sim says what it is")
local host_only = profile.run(function() local y = c + 1 end)
t.ok(not host_only:table():find("SIM", 1, true) and not host_only:table():find("Mem", 1, true),
    "no columns for what was not there")

-- ---- rows ----
local p = profile.run(function() step(c, 5) ; step(c, 2) end)
t.is({ row(p, "mul").count, row(p, "add").count, row(p, "sum").count, row(p, "STEP").count },
    { 7, 7, 2, 2 }, "calls are counted")
local ops = row(p, "mul").cpu_time_total + row(p, "add").cpu_time_total +
    row(p, "sum").cpu_time_total
t.ok(row(p, "STEP").cpu_time_total >= ops + row(p, "STEP").self_cpu_time_total,
    "a region holds its ops")
local by_region = row(p, "STEP", { group = "region" })
t.ok(by_region.self_cpu_time_total >= ops, "by region, the ops' time is the region's own")
t.is(row(p, "STEP", { group = "region" }).count, 2, "and its calls are its own")
local spun = profile.run(function() profile.region("SPIN", spin, 0.005) end)
local ns = row(spun, "SPIN").self_cpu_time_total
t.ok(ns >= 4.9e6 and ns <= spun.wall_ns, "a region in function form; its time is right")
t.is({ profile.region("R", function(...) return select("#", ...), ... end, 1, nil, 3) },
    { 3, 1, nil, 3 }, "it passes arguments and results, also when nothing records")
local co = coroutine.wrap(function()
    return profile.region("YIELDS", function(a)
        local b = coroutine.yield(a)
        return b + 1
    end, 1)
end)
local yielded = profile.run(function()
    t.is({ co(), co(10) }, { 1, 11 }, "a region's function may yield")
end)
t.is(row(yielded, "YIELDS").count, 1, "and the region spans it")
t.error(function() profile.region("R", error, "mine") end, "mine",
    "an error passes through a region")
local inplace = profile.run(function() local y = c + 0 ; y:add_(1) end)
t.is({ row(inplace, "add").count, row(inplace, "add_").count }, { 1, 1 },
    "an op in place is another row")

local line = debug.getinfo(1, "l").currentline + 1
local by_line = profile.run(function() local y = c + 1 ; y = y * 2 end)
local found
for _, r in ipairs(by_line:rows { group = "line" }) do
    found = found or r.name:find("profile.lua:" .. line .. "$") and r
end
t.is(found and found.count, 2, "by line")
local by_shape = prof:rows { group = "shape" }
found = nil
for _, r in ipairs(by_shape) do found = found or r.name == "mul" and r.shapes end
t.is(found, "f32 64x64", "by shape")
found = nil
for _, r in ipairs(prof:rows { group = "stack" }) do
    found = found or r.name == "sum" and r.stack
end
t.ok(found and found:find("profile.lua:%d+ < ") , "by stack: the innermost line first")

-- ---- sort and limit ----
for _, key in ipairs { "cpu_time_total", "self_cpu_time_total", "cuda_time_total",
    "device_time_total", "self_cuda_time_total", "count", "cpu_memory_usage" }
do
    local rows, ordered = prof:rows { sort = key }, true
    local field = key:gsub("cuda", "device")
    for i = 2, #rows do
        if rows[i].name:sub(1, 1) ~= "[" and rows[i - 1][field] < rows[i][field] then
            ordered = false
        end
    end
    t.ok(ordered, "sorted by " .. key)
end
t.is(#prof:rows { limit = 2 }, 5, "limit: two rows, the rest as one, the profiler, unattributed")
t.is(prof:rows({ limit = 2 })[3].name, "[other rows]", "the rest is there")

-- ---- waits and devices ----
local g = profile.run(function() step(x, 3) end)
t.is(row(g, "wait: item").count, 1, "a wait is a row")
t.is(row(g, "copy D2H").count, 1, "so is a copy")
t.ok(row(g, "mul").self_device_time_total > 0, "device time is joined with the op that queued it")
t.is(row(g, "STEP").device_time_total, sum(g, "self_device_time_total"),
    "and with the region it was queued in")
local large = full({ 512, 512 }, 1, { device = dev, dtype = "f32" })
local full_queue
for _ = 1, 20 do -- again where the device caught up while the host had no processor
    full_queue = profile.run(function() for _ = 1, 1500 do large:add_(1) end end)
    if row(full_queue, "wait: full queue") then break end
end
t.ok(row(full_queue, "wait: full queue"), "launching into a full queue is a wait of its own")
local kernels, ids = {}, {}
for _, e in ipairs(g:events()) do
    if e.kind == "op" then ids[e.id] = e end
    if e.kind == "kernel" then kernels[#kernels + 1] = e end
end
local joined = #kernels == 7
for _, k in ipairs(kernels) do
    local op = ids[k.id]
    joined = joined and op and op.name == k.name and k.start >= op.start and k.device == "sim:0"
end
t.ok(joined, "each of the seven kernels has its op, which began before it")

collectgarbage()
collectgarbage() -- memory that would be freed meanwhile counts
local m = profile.run({ memory = true }, function()
    local _ <close> = profile.region "ALLOC"
    local a = zeros({ 1024, 1024 }, { dtype = "f32" })
    local b = zeros({ 1024, 256 }, { dtype = "f32", device = dev })
end)
t.is({ row(m, "ALLOC").cpu_memory_usage, row(m, "ALLOC").device_memory_usage },
    { 4 << 20, 1 << 20 }, "memory of host and device, by region")
t.ok(m:table():find("4.00 MiB", 1, true), "and in the table")

-- ---- start, stop, errors ----
profile.start()
t.error(function() profile.start() end, "profile: one is running already", "one profile at a time")
local r = profile.region "OPEN"
local y = c + 1
local stopped = profile.stop()
t.is({ row(stopped, "add").count, row(stopped, "OPEN").count }, { 1, 1 },
    "start and stop; a region left open counts to the end")
r = nil
t.error(profile.stop, "profile: none is running", "stop without start")
t.is(select(2, pcall(profile.run, {}, function() error("mine", 0) end)), "mine",
    "an error passes through run")
t.is({ select(2, profile.run(function(...) return ... end, 1, nil, 3)) }, { 1, nil, 3 },
    "run passes arguments and results")
t.error(function() profile.run({ stak = true }, print) end, "unknown option 'stak'",
    "an option that is none")
t.error(function() profile.run({}, 3) end, "expected a function, got 3", "run of no function")
t.error(function() profile.region() end, "argument 'name' %(#1%): expected a string, got nothing",
    "a region without a name")
t.error(function() prof:table { limitt = 3 } end, "unknown option 'limitt'; did you mean limit%?",
    "an option")
t.error(function() prof:table { width = 0 } end, "width: expected a number of columns, got 0",
    "width")
local whole, small = prof:table():match "\n([^\n]*)\n",
    prof:table { width = 100 }:match "\n([^\n]*)\n"
t.ok(#whole > 130 and #small < #whole
    and small:find "Name +Self CPU +CPU total +Self SIM +SIM total +CPU Mem ",
    "a narrow table leaves out averages and percentages: " .. small)
t.ok(prof:table { width = 100 }:find "\n +Name [^\n]*# of Calls\n",
    "what does not fit stands below, beside the names again")
t.ok(not prof:table { width = 20 }:find "avg" and prof:table { width = 20 }:find "SIM total",
    "but no more than these")
t.error(function() prof:table { sort = "speed" } end, "no column \"speed\"", "sort")
t.error(function() prof:table { group = "mood" } end, "group: expected \"op\"", "group")
t.error(function() host_only:table { group = "stack" } end, "needs a profile with stack = true",
    "group by what was not recorded")
t.error(function() prof:trace("/nowhere/x.json") end,
    "trace: cannot write /nowhere/x.json: No such file", "a trace that cannot be written")
local few = profile.run({ limit = 10 }, function() for _ = 1, 20 do y = c + 1 end end)
t.is({ few.count, few.dropped }, { 10, 10 }, "what is dropped is counted")
t.ok(few:table():find("10 events were dropped", 1, true), "and said")
t.is(sum(few, "self_cpu_time_total"), few.wall_ns, "and the sum rule holds")

-- Streams in turn: each device's op is found by the event that queued it.
do
    local a, b, s = stream(dev), stream(dev), current_stream(dev)
    local turns = profile.run(function()
        for i = 1, 60 do
            local y = x * 2
            a:use(function() local z = x + 1 end)
            if i % 3 == 0 then b:use(function() local z = x - 1 end) end
        end
    end)
    local rows = turns:rows {}
    local known = 0
    for _, name in ipairs { "mul", "add", "sub" } do
        known = known + row(turns, name).self_device_time_total
    end
    local all = 0
    for _, r in ipairs(rows) do all = all + r.self_device_time_total end
    t.ok(known == all and known > 0, "device time of three streams in turns is all of known ops")
end

-- ---- the file of a trace ----
local name = os.tmpname()
prof:trace(name)
local f = io.open(name)
local json = f:read "a"
f:close()
t.ok(json:find('^{"displayTimeUnit"') and json:find('"name":"wait: item"', 1, true)
    and json:find '%]}\n$', "a trace in plain JSON; tests/profile/trace.c reads it")
local starts, ends = select(2, json:gsub('"ph":"s"', "")), select(2, json:gsub('"ph":"f"', ""))
t.ok(starts == ends and ends > 0, ("%d arrows begin, %d end"):format(starts, ends))
profile.run(function()
    profile.region("a\xc3(b\xe2\x82\xac", function() return c + 1 end)
end):trace(name)
f = io.open(name)
t.ok(f:read "a":find("a\\ufffd(b€", 1, true), "half a character in a name is none")
f:close()
prof:trace(name .. ".gz")
local gz = io.open(name .. ".gz", "rb")
t.is(gz:read(2), "\x1f\x8b", "gzip when the name ends so")
gz:close()
os.remove(name)
os.remove(name .. ".gz")

-- ---- two profiles compared, and a page ----
do
    local function waits(n)
        local y = ones(64, 64, { device = dev })
        for _ = 1, n do y:sum():item() end
        return y:exp()
    end
    local before, after = profile.run(waits, 5), profile.run(waits, 2)
    local out = after:diff(before)
    local function count(name) return out:match("\n *" .. name .. " +(%S+) +(%S+) ") end
    t.is({ count "sum" }, { "5", "2" }, "a diff has the calls of both")
    t.is({ count "exp" }, { "1", "1" }, "also of what did not change")
    t.ok(out:find "\nWaits: 5 before %([%d.]+%a+%), 2 now %([%d.]+%a+%)\nTimes: [^\n]+\n$"
        and out:find "\nWall time: [%d.]+%a+ before, [%d.]+%a+ now %([%d.]+ times%)\n",
            "waits and wall times of both")
    local rows = {}
    for _, r in ipairs(after:rows()) do rows[r.name] = r.self_cpu_time_total end
    for _, r in ipairs(before:rows()) do
        rows[r.name] = (rows[r.name] or 0) - r.self_cpu_time_total
    end
    local ms, unit = out:match "\n *wait: item +5 +2 +%S+ +%S+ +([+-][%d.]+)([mu])s"
    t.close(tonumber(ms) * (unit == "m" and 1e6 or 1e3), rows["wait: item"],
        unit == "m" and 1e3 or 1, "the change is that of self CPU time")
    local other = profile.run(function() return c:log() end):diff(before, { limit = 3 })
    t.ok(other:find "%(%d+ rows that changed less are left out%)",
        "limit leaves rows out and says so")
    t.ok(profile.run(function() return c:log() end):diff(before):find "\n *log +%- +1 +%- ",
        "an op of one of them alone")
    t.error(function() after:diff(3) end, "profile.diff: before: expected a profile, got number",
        "diff with a number")
    t.error(function() after:diff(before, { grup = "op" }) end, "unknown option 'grup'",
        "an option that is none")

    t.error(function() prof:report("/nowhere/x.html") end,
        "profile.report: cannot write /nowhere/x.html: No such file or directory",
            "a page that cannot be written")
    local full = io.open("/dev/full", "w")
    if full then -- a device is written to, not replaced
        full:close()
        for _, way in ipairs { "trace", "report" } do
            t.error(function() after[way](after, "/dev/full") end,
                "cannot write /dev/full: No space left on device", way .. ": the disk is full")
        end
        full = io.open("/dev/full", "r")
        t.is(#full:read(4), 4, "and what was there is there")
        full:close()
    end
end

-- ---- a schedule ---- Step i runs i ops: the counts show which steps were recorded.
local seen = {}
local function steps(schedule, n)
    local z = ones(2)
    for i = 1, n do
        for _ = 1, i do z = z:neg() end
        schedule:step()
    end
end
local function negations(prof)
    for _, row in ipairs(prof:rows { group = "op" }) do
        if row.name == "neg" then return row.count end
    end
    return 0
end
local function keep(prof) seen[#seen + 1] = negations(prof) end
local schedule = profile.schedule { wait = 1, warmup = 2, active = 3, repeats = 2,
    on_trace_ready = keep }
steps(schedule, 20)
t.is(seen, { 4 + 5 + 6, 10 + 11 + 12 },
    "a schedule records its active steps, as often as it repeats")
t.is(negations(schedule.result), 33, "and keeps the last profile")
seen = {}
do
    local endless <close> = profile.schedule { on_trace_ready = keep }
    steps(endless, 3)
end
t.is(seen, { 1, 2, 3, 0 }, "active = 1 without end: each step; closed, it stops recording")
t.is(negations(profile.run(function() local z = ones(1):neg() end)), 1, "and others may record")
do
    local early = profile.schedule { wait = 1, active = 5, shapes = true }
    steps(early, 3)
    early:close()
    t.is(negations(early.result), 2 + 3, "closed in its active phase it keeps what there is")
    steps(early, 2)
    t.is(negations(early.result), 5, "and rests afterwards")
end
seen = {}
local late = profile.schedule { skip_first = 3, wait = 1, warmup = 1, active = 2, repeats = 2,
    on_trace_ready = function(prof)
        local marks = {}
        for _, e in ipairs(prof:events()) do
            if e.kind == "region" then marks[#marks + 1] = e.name end
        end
        seen[#seen + 1] = { negations(prof), marks }
    end }
steps(late, 12)
t.is(seen, { { 6 + 7, { "step 6", "step 7" } }, { 10 + 11, { "step 10", "step 11" } } },
    "skip_first counts once; steps are regions")
do
    local _ = profile.schedule { active = 2 }
    steps(_, 1)
end
late = nil
collectgarbage()
collectgarbage()
t.is(negations(profile.run(function() local z = ones(1):neg() end)), 1,
    "a schedule that is gone records no longer")
t.error(function() profile.schedule { skip_first = -1 } end,
    "profile.schedule: skip_first: expected an integer of at least 0, got %-1", "nor such a one")
t.error(function() profile.schedule { wait = -1 } end,
    "profile.schedule: wait: expected an integer of at least 0, got %-1", "no such schedule")
t.error(function() profile.schedule { stacks = true } end,
    "unknown option 'stacks'; did you mean stack%?", "no such option")

-- ---- cost ----
if os.getenv "GPUSH_SAN" ~= "" then
    t.skip(1, "times mean little under a sanitizer")
else
    local a, b, n = full({ 16 }, 1, { dtype = "f32" }), full({ 16 }, 2, { dtype = "f32" }), 20000
    local function loop() for _ = 1, n do local z = a + b end end
    local best = math.huge
    loop()
    for _ = 1, 5 do
        local t0 = os.clock()
        loop()
        local t1 = os.clock()
        profile.run(loop):table()
        best = math.min(best, (os.clock() - t1 - (t1 - t0)) / n)
    end
    t.ok(best < 4e-6, -- 0.5 on a quiet machine; a neighbour takes the caches
        string.format("an op costs %.0f ns from recording to its row (PyTorch: 15900)", best * 1e9))
end

-- ---- timeit and compare ----
local fig = timeit(function() spin(0.002) end, { n = 2 })
t.ok(fig.time >= 0.0019 and fig.host >= 0.0019 and fig.device == nil and fig.n == 2,
    "timeit of the host")
fig = timeit(function() local z = x * 2 end)
t.ok(fig.device > 0 and fig.host > 0 and fig.time >= fig.device * 0.5 and fig.min <= fig.time
    and fig.time <= fig.max, "timeit of a device")
for _ = 1, 5 do -- again where the first call, from which n follows, was interrupted
    fig = timeit "return 1 + 1"
    if fig.n > 100 then break end
end
t.ok(fig.time < 1e-2 and fig.n > 100, "timeit of text")
-- A first call that is slow, as one that loads code, does not choose the number of calls. Tried
-- again where the second one was held up.
local chosen = 0
for _ = 1, 5 do
    local calls = 0
    chosen = timeit(function()
        calls = calls + 1
        if calls == 1 then spin(0.02) end
    end, { print = false }).n
    if chosen > 10 then break end
end
t.ok(chosen > 10, "timeit after a slow first call")
t.error(function() timeit("1 +") end, "timeit", "text that is no Lua")
t.error(function() timeit(ones(3)) end, "got a tensor, which is computed already", "a tensor")
t.error(function() timeit(3) end, "expected a function or text, got number",
    "timeit of no function")
t.error(function() timeit(function() error "mine" end) end, "mine", "an error of what is timed")
sync.mode = "error"
sync.reset()
fig = compare({ slow = function() spin(0.003) end, fast = function() end,
    gpu = function() local z = x * 2 end }, { n = 1 })
t.is(#sync.lines(), 0, "their own waits are neither refused nor in the ledger")
sync.mode = "off"
t.ok(fig.slow.min > fig.fast.min and math.min(fig.slow.ratio, fig.fast.ratio, fig.gpu.ratio) == 1,
    "compare: ratios to the fastest")
fig = compare({ function() spin(0.0003) end, "return 1" }, { n = 1 })
t.ok(fig[1].min > fig[2].min, "functions without names")
t.ok(tostring(fig):find "^ +time +spread +host +device +ratio\n2 .* 1%.00x\n1 [^\n]*x\n\z
    times: measured$",
    "compare's figures as text: the table")
t.ok(tostring(timeit("return 1",
    { n = 3 })):find "^%S+ %ws a call, spread .* device %- %(median of %d+ runs of 3; measured%)$",
    "timeit's figures as text: the line")
local there = timeit(function() return x + 1 end, { n = 2 })
t.is({ there.device_runs, timeit("return 1", { n = 2 }).device_runs }, { 3, nil },
    "the device's time is of runs of its own")
t.ok(tostring(there):find("; device: median of 3 other runs)", 1, true), "timeit says so")
t.ok(tostring(compare({ a = function() return x + 1 end, b = "return 1" }, { n = 2 }))
    :find "; device: median of 3 other runs", "and so does compare")
for text, lines in pairs { ["print(timeit('return 1', {n = 2}))"] = 1,
    ["timeit('return 1', {n = 2, print = true})"] = 1,
    ["local f = timeit('return 1', {n = 2})"] = 0,
    ["print(compare({a = 'return 1'}, {n = 2}))"] = 3,
    ["local f = compare({a = 'return 1'}, {n = 2})"] = 0 }
    do
    local p = io.popen(("%s -e %q"):format(arg[-1], text))
    t.is(select(2, p:read "a":gsub("\n", "")), lines, text .. ": its lines")
    p:close()
end
t.error(function() compare {} end, "expected functions", "compare of nothing")
t.done()
