-- A profile's clock: the wall time includes the device's work, regions belong to the coroutine that
-- opened them, and a trace's memory counter shows the bytes in use.
local t = require "tap"
local dev = "sim"

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
local function spin(seconds)
    local stop = os.clock() + seconds
    while os.clock() < stop do end
end

-- ---- the device's work is within the wall time ----
local x = full({ 256, 256 }, 1, { device = dev, dtype = "f32" })
local function queue(n) for _ = 1, n do local y = x:matmul(x) end end
queue(1)
synchronize()
local LAST = "[wait for the devices at the end]"
local function check(prof, streams, name)
    local device = sum(prof, "self_device_time_total")
    t.ok(device > 0 and device <= prof.wall_ns * streams,
        ("%s: device %d ns, at most %d x wall %d ns"):format(name, device, streams, prof.wall_ns))
    for _, group in ipairs { "op", "region", "line" } do
        t.is(sum(prof, "self_cpu_time_total", { group = group }), prof.wall_ns,
            name .. ": the rows make the wall time, by " .. group)
    end
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and e.stop > prof.wall_ns then
            t.ok(false, name .. ": a kernel ends after the profile")
        end
    end
    return prof
end
-- From the times of the events, as the machine's load decides how long each takes.
local function times(prof, field, value)
    for _, e in ipairs(prof:events()) do
        if e[field] == value then return e.start, e.stop end
    end
end
local prof = check(profile.run(queue, 20), 1, "run")
local start, stop = times(prof, "kind", "wait")
t.ok(row(prof, LAST).self_cpu_time_total >= stop - start, "the wait at the end has its own row")
t.ok(not row(prof, LAST, { group = "line" }).name:find "profile_time",
    "and is no line's of the script")
t.ok(prof:table():find(LAST, 1, true), "and the table shows it")
profile.start()
local _ = profile.region "OPEN"
queue(20)
prof = check(profile.stop(), 1, "start and stop")
local _, left = times(prof, "name", "OPEN")
t.ok(left <= times(prof, "kind", "wait"), "a region that is open at the end does not wait")
local recorded
local schedule = profile.schedule { active = 2, repeats = 1,
    on_trace_ready = function(p) recorded = p end }
for _ = 1, 2 do
    queue(10)
    schedule:step()
end
check(recorded, 1, "schedule")
local a, b = stream(dev), stream(dev)
check(profile.run(function()
    a:use(queue, 10)
    b:use(queue, 10)
end), 2, "two streams")
t.ok(not row(profile.run(function() spin(0.001) end), LAST), "no such row where nothing was queued")
t.ok(not row(profile.run(function() queue(2) synchronize() end), LAST),
    "or where the script waited itself")
do
    local small, large = profile.run(queue, 5), profile.run(queue, 50)
    local times = tonumber(large:diff(small):match "%(([%d.]+) times%)")
    -- which includes the device's work, as `check` has seen
    local ratio = large.wall_ns / small.wall_ns
    t.ok(math.abs(times - ratio) <= 0.006,
        ("diff says %.2f times for a ratio of %.3f"):format(times, ratio))
end

-- ---- regions of coroutines ----
local function ms(prof, name, group)
    return row(prof, name, { group = group }).self_cpu_time_total / 1e6
end
local took = {} -- milliseconds by the test's own clock, however busy the machine is
local function work(name, seconds)
    local begun = clock()
    spin(seconds)
    took[name] = (took[name] or 0) + (clock() - begun) * 1e3
end
local function worker(name, seconds)
    return coroutine.wrap(function()
        local _ <close> = profile.region(name)
        for _ = 1, 3 do
            work(name, seconds)
            local y = ones(2) + 1
            coroutine.yield()
        end
    end)
end
local function interleaved()
    local slow, fast = worker("SLOW", 0.02), worker("FAST", 0.001)
    for _ = 1, 4 do
        slow()
        fast()
        work("[unattributed]", 0.002)
    end
end
prof = profile.run(interleaved)
for _, group in ipairs { "op", "region" } do
    for _, name in ipairs { "SLOW", "FAST", "[unattributed]" } do
        local own = ms(prof, name, group)
        t.ok(own > took[name] * 0.99,
            ("by %s, %s has its own time: %.1f of %.1f ms"):format(group, name, own, took[name]))
    end
    -- so that none has another's
    t.is(sum(prof, "self_cpu_time_total", { group = group }), prof.wall_ns, "and they add up")
end
t.ok(row(prof, "SLOW").cpu_time_total + row(prof, "FAST").cpu_time_total <= prof.wall_ns,
    "totals have no time of the others either")

-- Ops, by their region: work belongs to the open region, not to the last one opened.
prof = profile.run(function()
    local inner = coroutine.create(function()
        local _ <close> = profile.region "INNER"
        coroutine.yield()
        local y = ones(2):exp()
        coroutine.yield()
    end)
    coroutine.resume(inner)
    local y = ones(2):neg()
    local _ <close> = profile.region "OUTER"
    coroutine.resume(inner)
    y = ones(2):sqrt()
    coroutine.resume(inner)
end)
local within = {}
for _, e in ipairs(prof:events()) do
    if e.kind == "switch" or e.kind == "region" then within.now = e.name end
    if e.kind == "op" then within[e.name] = within.now end
end
t.is({ within.neg, within.exp, within.sqrt }, { "(no region)", "INNER", "OUTER" },
    "each op is in its coroutine's region")

-- A coroutine's region includes those that it resumes; one that died with an open region passes it
-- to none.
local lived
prof = profile.run(function()
    coroutine.wrap(function()
        local _ <close> = profile.region "ROUND"
        coroutine.wrap(function() spin(0.005) end)()
    end)()
    local dead = coroutine.create(function()
        local _ = profile.region "DEAD"
        error "mine"
    end)
    lived = clock()
    coroutine.resume(dead)
    lived = (clock() - lived) * 1e3
    spin(0.005)
    t.is(coroutine.status(dead), "dead", "its coroutine has failed")
end)
t.ok(ms(prof, "ROUND") >= 4.9, "a coroutine's region holds in what it resumes")
t.ok(ms(prof, "DEAD") <= lived, "that of a dead one does not go on")
took = {}
local generator = coroutine.wrap(function()
    for i = 1, 3 do
        local _ <close> = profile.region "MAKE"
        work("MAKE", 0.001)
        coroutine.yield(i)
    end
end)
prof = profile.run(function()
    for _ in generator do
        local _ <close> = profile.region "USE"
        work("USE", 0.004)
    end
end)
t.ok(ms(prof, "USE") >= took.USE and ms(prof, "MAKE") <= prof.wall_ns / 1e6 - took.USE,
    "a generator's region is suspended with it")
t.is({ row(prof, "MAKE").count, row(prof, "USE").count }, { 3, 3 }, "and both are counted")

-- ---- nested runs, in coroutines, and with errors ----
t.error(function() profile.run(function() profile.run(print) end) end, "one is running already",
    "a profile within a profile")
t.error(profile.stop, "none is running", "ends both")

-- What an error or a coroutine leaves open records no longer where somebody wants to record.
local function left_by_error(options)
    pcall(function()
        local s = profile.schedule(options)
        for i = 1, 3 do
            s:step()
            if i == 2 then error "mine" end
        end
    end)
end
left_by_error { warmup = 1, active = 3 }
t.is(row(profile.run(queue, 2), "matmul").count, 2, "a run after a schedule's loop has failed")
left_by_error { active = 5, lua = true, stack = true }
t.is(row(profile.run({ lua = true }, queue, 2), "matmul").count, 2, "the same with the script")
left_by_error { warmup = 1, active = 3 }
profile.start()
t.ok(profile.stop(), "profile.start")
coroutine.wrap(function() profile.run(coroutine.yield) end)()
t.is(row(profile.run(queue, 2), "matmul").count, 2, "a run after one whose coroutine has gone")
left_by_error { warmup = 1, active = 3 }
local captured = capture(function(a)
    collectgarbage()
    return a * 2
end)
t.is({ captured(x):equal(x * 2), captured(x):equal(x * 2) }, { true, true },
    "a schedule that goes while a function is captured does not spoil it")
local held = profile.schedule { active = 3 }
local here = debug.getinfo(1, "l").currentline - 1
t.error(function() profile.run(queue, 2) end,
    ("profile: one is running already, begun at .-profile_time.lua:%d; profile.stop() ends it, \z
        or a schedule's close()"):format(here):gsub("[()]", "%%%0"), "one that lives is named")
held:close()
prof = coroutine.wrap(function()
    return profile.run(function(n)
        queue(n)
        coroutine.yield()
    end, 2)
end)
prof()
local y = ones(2):neg()
prof = prof()
t.is({ row(prof, "matmul").count, row(prof, "neg").count }, { 2, 1 },
    "a run in a coroutine records until its function ends")
prof = profile.run(function()
    lived = clock()
    pcall(function()
        local _ <close> = profile.region "FAILS"
        ones(2):add(ones(3))
    end)
    lived = (clock() - lived) * 1e9
    spin(0.004)
end)
t.ok(row(prof, "FAILS").cpu_time_total <= lived and ms(prof, "[unattributed]") >= 3.9,
    "an error ends the region")

-- Random coroutines, recursion, errors and regions that are never closed: nothing exceeds the
-- whole.
math.randomseed(3)
local acts = {
    function(cos)
        cos[#cos + 1] = coroutine.wrap(function()
            local _ <close> = profile.region("R" .. math.random(3))
            local y = x * 2
            coroutine.yield()
            local _ <close> = profile.region "N"
            if math.random() < 0.3 then error "mine" end
            coroutine.yield(x + 1)
        end)
    end,
    function(cos)
        local at = #cos > 0 and math.random(#cos)
        if at and not pcall(cos[at]) then table.remove(cos, at) end
    end,
    function()
        local _ = profile.region "OPEN"
        return x:sum():item()
    end,
    function()
        local function deep(n)
            local _ <close> = profile.region "DEEP"
            if n > 0 then deep(n - 1) end
        end
        deep(math.random(300))
    end,
    function() queue(1) end,
}
local wrong = {}
for trial = 1, 20 do
    local p = profile.run({ memory = true }, function()
        local cos = {}
        for _ = 1, 30 do acts[math.random(#acts)](cos) end
    end)
    for _, group in ipairs { "op", "region", "line" } do
        if sum(p, "self_cpu_time_total", { group = group }) ~= p.wall_ns then
            wrong[#wrong + 1] = trial .. ": sum by " .. group
        end
        for _, r in ipairs(p:rows { group = group }) do
            if r.cpu_time_total > p.wall_ns or r.self_cpu_time_total < 0 then
                wrong[#wrong + 1] = trial .. ": " .. r.name
            end
        end
        for percent in p:table { group = group }:gmatch "([%d.]+)%%" do
            if tonumber(percent) > 100 then wrong[#wrong + 1] = trial .. ": " .. percent .. " %" end
        end
    end
end
t.is(wrong, {}, "whatever is nested or not, rows make the wall time and no share exceeds 100 %")

-- ---- the counter of memory ----
local file = os.tmpname()
local function counters(p)
    p:trace(file)
    local f = io.open(file)
    local values = {}
    for name, bytes in f:read "a":gmatch '"name":"memory ([^"]+)".-"bytes":(%-?%d+)' do
        values[name] = values[name] or {}
        table.insert(values[name], tonumber(bytes))
    end
    f:close()
    return values
end
for _, d in ipairs { "cpu", dev } do
    collectgarbage()
    collectgarbage()
    local old = zeros({ 1024, 1024 }, { device = d })
    local name = old.device
    synchronize()
    local used = memory(d).in_use
    local values = counters(profile.run({ memory = true }, function()
        local _ = zeros({ 512, 512 }, { device = d })
        old = nil
        collectgarbage()
        collectgarbage()
    end))[name]
    t.is({ values[1], values[#values] < used - (2 << 20) }, { used + (1 << 20), true },
        "the counter goes on from what is in use on " .. name)
    t.ok(math.min(table.unpack(values)) >= 0, "and is never negative")
end
os.remove(file)
t.done()
