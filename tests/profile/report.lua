--!plain
-- prof:report: what the page holds, decoded here without its script. report_page.sh opens it in a
-- browser.
local t = require "tap"
local g = require "gpush"
local profile = g.profile

local function page_of(prof)
    local name = os.tmpname()
    prof:report(name)
    local f <close> = io.open(name)
    local html = f:read "a"
    os.remove(name)
    return html
end
local function data_of(html)
    return g.json.decode(html:match '<script type="application/json" id="data">(.-)</script>')
end

-- ---- a decoder of its own ----

local digits = {}
for i = 1, 64 do
    digits[("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(i)] = i - 1
end
local function bytes_of(text)
    local out = {}
    for four in text:gmatch "...." do
        local v, pads = 0, #four:match "=*$"
        for i = 1, 4 do v = v << 6 | (digits[four:byte(i)] or 0) end
        for i = 1, 3 - pads do out[#out + 1] = v >> (24 - 8 * i) & 255 end
    end
    return out
end

-- The events of a page's record, as prof:events() has them.
local function events_of(html, record)
    local events = {}
    for _, track in ipairs(record.tracks) do
        local text = html:match(('id="block%%-%d">(.-)</script>'):format(track.text))
        local list, at, t0, id, level = bytes_of(text), 0, 0, 0, 0
        local function number()
            local v, shift = 0, 0
            repeat
                at = at + 1
                v, shift = v | (list[at] & 127) << shift, shift + 7
            until list[at] < 128
            return v
        end
        local function signed()
            local v = number()
            return v & 1 == 1 and -(v >> 1) - 1 or v >> 1
        end
        for _ = 1, track.events do
            local c = record.classes[number() + 1]
            local e = { kind = c[1], name = c[2], file = record.files[c[3]], line = c[4] }
            t0 = t0 + signed()
            e.start, e.stop = t0, t0 + number()
            local has_id = not ("memory region wait sample switch"):find(e.kind, 1, true)
            if has_id then id = id + signed() e.id = id end
            local bytes = e.kind == "wait" or e.kind:find "^cop" or e.kind:find "^s"
            if bytes or e.kind == "memory" then e.bytes = signed() end
            if e.kind == "memory" then
                e.block, level = number(), level + signed() + e.bytes
                e.level = level
            end
            events[#events + 1] = e
        end
        t.is(at, #list, "a block is read to its end")
    end
    return events
end

-- ---- events ----

local x = g.randn(64, 64, { device = "sim" })
local function work(n)
    for i = 1, n do
        local _ <close> = profile.region("step " .. i)
        local y = (x:matmul(x) / 64):tanh()
        local _ = y:sum():item() -- line 81
    end
end
work(1)
collectgarbage() -- what was made before is not freed meanwhile
local prof = profile.run({ memory = true, stack = true, shapes = true, lua = true }, work, 3)
local html = page_of(prof)
local data = data_of(html)
local events, want = events_of(html, data.record), {}
for _, e in ipairs(prof:events()) do
    want[#want + 1] = e
end
t.is(#events, #want, "the page has all events")
local wrong, kinds = {}, {}
for i, e in ipairs(events) do
    local w = want[i]
    kinds[e.kind] = (kinds[e.kind] or 0) + 1
    if e.kind ~= w.kind or e.name ~= w.name or e.start ~= w.start or e.stop ~= w.stop
        or e.file ~= w.file or e.file and e.line ~= w.line
        or e.kind ~= "memory" and (e.id or 0) ~= (w.id or 0)
        or e.kind == "memory" and (e.level ~= (w.id or 0) or e.bytes ~= w.bytes)
        or e.kind == "wait" and e.bytes ~= w.queued
    then
        wrong[#wrong + 1] = i
    end
end
t.is(wrong, {}, "with their names, times, lines, ids and bytes")
t.is({ kinds.region, kinds.wait, kinds.kernel > 8, kinds.memory > 8 }, { 3, 3, true, true },
    "of all kinds")

-- Each block that is freed was allocated before, or is there from before; what lives at the end is
-- the difference.
local live, unknown, sum, first = {}, 0, {}, {}
table.sort(events, function(a, b) return a.start < b.start end)
for _, e in ipairs(events) do
    if e.kind == "memory" and e.bytes > 0 then
        t.ok(not live[e.block], "no block is allocated twice")
        live[e.block] = e.bytes
        sum[#sum + 1] = e.bytes
    elseif e.kind == "memory" then
        if not live[e.block] then unknown = unknown + 1
        else first[#first + 1] = live[e.block] + e.bytes
        end
        live[e.block] = nil
    end
end
for _, left in ipairs(first) do t.is(left, 0, "a block is freed with the size that it had") end
t.ok(#sum > 8 and unknown <= 2, "blocks have names")

-- The page of a profile that was saved and loaded has the same blocks, by other names.
local file = os.tmpname()
prof:save(file)
local names, again = {}, page_of(profile.load(file))
os.remove(file)
again = events_of(again, data_of(again).record)
table.sort(again, function(a, b) return a.start < b.start end)
for i, e in ipairs(events) do
    if e.kind == "memory" then
        names[e.block] = names[e.block] or again[i].block
        if names[e.block] ~= again[i].block or again[i].bytes ~= e.bytes then
            wrong[#wrong + 1] = i
        end
    end
end
t.ok(next(names) and #again == #events, "a loaded profile has its memory's events")
t.is(wrong, {}, "with the same blocks")

-- ---- what else is on the page ----

t.is(data.rows.op, (function()
    local rows = {}
    for i, row in ipairs(prof:rows()) do
        row.cpu_memory_usage, row.device_memory_usage, row.shapes, row.stack = nil, nil, nil, nil
        rows[i] = row
    end
    return rows
end)(), "its rows are the table's")
t.ok(data.rows.region and data.rows.line and data.rows.shape and data.rows.stack,
    "by op, region, line, shape and stack")
t.ok(data.rows.stack[1].more:find "report.lua:%d+", "a stack is part of its row")
local saving = prof:savings()[1]
t.is({ data.savings[1].line, data.savings[1].saves, data.savings[1].advice },
    { 81, saving.saves, saving.advice }, "what a line's waits would save is prof:savings's")
local here = debug.getinfo(1, "S").short_src
t.is(data.advice, { { line = here .. ":81", why = "item", text = saving.advice } },
    "and what to write instead, by cause")
t.is(data.sources[here .. ":81"], "local _ = y:sum():item() -- line 81", "with its source")
t.is(data.idle.kernels, prof:idle().kernels, "shares of the wall time are prof:idle's")
t.is({ data.wall, data.count, data.dropped }, { prof.wall_ns, prof.count, 0 }, "and its totals")

local plain = data_of(page_of(profile.run(work, 1)))
t.is({ plain.rows.shape, plain.missing.shape }, { nil, "needs a profile with shapes = true" },
    "what was not recorded is named")

-- ---- predictions ----

local gain = prof:whatif { without = "all" }
t.is(gain.measured.wall_ns, prof.wall_ns, "a prediction knows what was measured")
t.is(prof.measured, nil, "a measurement has no other")
t.is(gain:whatif { host = 0.5 }.measured.wall_ns, prof.wall_ns,
    "of a prediction's prediction it is the first")
html = page_of(gain)
local both = data_of(html)
t.is({ both.predicted, both.wall, both.measured.wall }, { "without all", gain.wall_ns,
    prof.wall_ns }, "the page has both wall times")
t.is(both.measured.op, data.rows.op, "both rows")
local count = { 0, 0 }
for _, e in ipairs(events_of(html, both.record)) do
    count[1] = count[1] + (e.kind == "wait" and 1 or 0)
end
for _, e in ipairs(events_of(html, both.measured.record)) do
    count[2] = count[2] + (e.kind == "wait" and 1 or 0)
end
t.is(count, { 0, 3 }, "and both records")
local measured = gain.measured
gain:free()
prof:free()
t.ok(#measured:rows() > 3, "which lives as long as it is asked for")

-- ---- hostile names, and files ----

local function named(name)
    return profile.run(function() profile.region(name, work, 1) end)
end
html = page_of(named "</script><script>alert(1)</script>\xc3(")
data = data_of(html)
local regions = {}
for _, class in ipairs(data.record.classes) do
    if class[1] == "region" then regions[#regions + 1] = class[2] end
end
t.is(regions, { "</script><script>alert(1)</script>?(", "step 1" }, "no name ends the page's data")
html = page_of(named(("日"):rep(1000)))
for _, class in ipairs(data_of(html).record.classes) do
    if class[1] == "region" and class[2] ~= "step 1" then
        t.ok(utf8.len(class[2]) < 400 and class[2]:find "^日日日", "a long name is cut")
    end
end
for _, name in ipairs { "@DATA@", "@SCRIPT@", "%1", "@BLOCKS@" } do
    t.is(data_of(page_of(named(name))).record.classes[1][2], name, name .. " is a name")
end

-- Of files in folders of this machine a page has as much as tells them apart; so of arguments.
local folder = os.tmpname()
os.remove(folder)
assert(os.execute(("mkdir -p %s/a %s/b"):format(folder, folder)))
local function script(name)
    local full = folder .. name
    local out <close> = assert(io.open(full, "w"))
    out:write "local x = ... local _ = x:sum():item()"
    out:close()
    return loadfile(full)
end
local first, second, alone = script "/a/run.lua", script "/b/run.lua", script "/a/one.lua"
html = page_of(profile.run(function()
    for _, each in ipairs { first, second, alone } do each(x) end
end))
data = data_of(html)
local lines = {}
for _, row in ipairs(data.rows.line) do lines[row.name] = true end
t.is({ lines["a/run.lua:1"], lines["b/run.lua:1"], lines["one.lua:1"] }, { true, true, true },
    "a file's name is as short as tells it from others")
t.is(data.sources["a/run.lua:1"], "local x = ... local _ = x:sum():item()", "its source is known")
t.is(html:find(folder, 1, true), nil, "no full path is on the page")
local trace = require "torch_trace".trace()
trace:region("ProfilerStep#1", 1000, 1000)
trace:python(folder .. "/a/train.py(12): step", 1010, 900)
trace:op("aten::item", 1100, 500)
trace:call("cudaStreamSynchronize", 1110, 480)
local traced = io.open(folder .. "/a/my trace.json", "w")
traced:write(trace:text())
traced:close()
html = page_of(profile.load(folder .. "/a/my trace.json"))
t.is({ html:find(folder, 1, true), data_of(html).title }, { nil, "my trace.json" },
    "nor of a trace's, whose title is its file")
os.execute("rm -r " .. folder)

-- Of many ranks with many events a page holds whole ranks, that of the verdict among them; what it
-- counts is of all.
local files = {}
for rank = 0, 5 do
    local r = require "torch_trace".trace { rank = rank, device = 0, pid = 70 + rank }
    for i = 1, 50000 do r:op("aten::mm", 1000 + 20 * i, rank == 5 and 19 or 2) end
    files[rank + 1] = os.tmpname()
    local out <close> = io.open(files[rank + 1], "w")
    out:write(r:text())
end
local job = profile.load(files)
html = page_of(job)
data = data_of(html)
local part = data.record.part
t.is({ part.all, part.events, part.of, #part.ranks }, { 300000, 250000, 6, 5 },
    "a page of 300,000 events of six ranks holds five of them")
t.is({ #data.record.tracks, #events_of(html, data.record) }, { 5, 250000 }, "whole ones")
t.is(data.count, 300000, "its tables are of all")
local named, held = job:verdict()[1].rank, {}
for _, rank in ipairs(part.ranks) do held[rank] = true end
t.ok(held[named], "the verdict's rank is among them", named)
job:free()
for _, file in ipairs(files) do os.remove(file) end

-- A record that names other files than scripts gets nothing of them.
local secret = os.tmpname()
local f = io.open(secret, "w")
f:write "secret\n"
f:close()
local run = load("local x = ... local _ = x:sum():item()", "@" .. secret)
data = data_of(page_of(profile.run(run, x)))
t.is(data.sources[secret .. ":1"], nil, "a file that is no script is not read")
os.remove(secret)
data = data_of(page_of(profile.run(load("local x = ... local _ = x:sum():item()",
    "@/nowhere/none.lua"), x)))
t.is(data.sources["/nowhere/none.lua:1"], nil, "nor one that is not there")

data = data_of(page_of(profile.run(function() end)))
t.is({ data.count, #data.rows.op, data.idle == g.json.null }, { 0, 2, true },
    "a profile of nothing is a page, too")
t.error(function() profile.run(work, 1):report() end, "profile.report: ", "a report without a file")

-- ---- size and memory ----

-- Resident bytes of this process; nil where the system does not say.
local function resident()
    local status = io.open "/proc/self/status"
    if not status then return nil end
    local text = status:read "a"
    status:close()
    return tonumber(text:match "VmRSS:%s+(%d+)") * 1024
end
-- A million events: at most 20 MB in 2 s of the processor's time, several times that beside others.
if os.getenv "GPUSH_SAN" ~= "" then
    t.skip(4, "a million events: sanitizers are slow, and keep memory")
else
    local small, name = g.randn(4, { device = "sim" }), os.tmpname()
    local big = profile.run(function()
        for i = 1, 500000 do
            local y = small + 1
            if i % 500 == 0 then local _ = y[1]:item() end
        end
    end)
    t.ok(big.count > 1e6, "a million events")
    data, events, want, both = nil, nil, nil, nil
    collectgarbage()
    local before, clock = resident(), os.clock()
    big:report(name)
    clock = os.clock() - clock
    local after = resident()
    t.ok(clock < 12, "their page is written in seconds", clock)
    local f <close> = io.open(name)
    local size = f:seek "end"
    t.ok(size < 20e6, "of 20 MB", size)
    if before then
        t.ok(after - before < 8 << 20, "and memory is given back", after - before)
    else
        t.skip(1, "memory is given back: the system does not say")
    end
    os.remove(name)
end
t.done()
