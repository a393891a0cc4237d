-- The record of the CUDA device, on the stand-in: times from CUPTI, or from events where CUPTI is
-- unavailable, dropped records, waits inside libraries, NVTX ranges.
local t = require "tap"
local fake = require "fake"
local build = os.getenv "GPUSH_BUILD"
local scratch = os.getenv "TMPDIR"

local x = ones(1000, { device = "cuda" })
synchronize("cuda")

-- The row of a table called name: its device time in ms and its calls.
local function row(text, name)
    for line in text:gmatch "[^\n]+" do
        local cell, what, rest = {}, line:match "^%s*(.-)%s+([%d.]+%%.*)$"
        for word in (rest or ""):gmatch "%S+" do cell[#cell + 1] = word end
        if what == name then
            local n, unit = cell[9]:match "^([%d.]+)(%a+)$"
            return tonumber(n) * ({ us = 1e-3, ms = 1, s = 1e3 })[unit],
                math.tointeger(tonumber(cell[11]))
        end
    end
end
local function adds(n)
    local y
    for _ = 1, n do y = x + 1 end
    return y
end
-- Three ops in a region and a copy; the second launch takes 40 ms.
local function step()
    local y
    do
        local _ <close> = profile.region "region"
        fake.fault "slow=2:40"
        y = adds(3)
    end
    return y:to "cpu"
end

-- The first op after what CUPTI stays attached for.
local function until_detached()
    os.execute "sleep 0.35"
    return x + 1
end

-- A wait looks thousands of times whether work is done, which leaves no records.
do
    local before = fake.count "call record"
    profile.run({}, function()
        fake.fault "slow=1:100"
        local y = x + 1
        y[1]:item()
        synchronize "cuda"
    end)
    local records = fake.count "call record" - before
    t.ok(records > 0 and records < 40, "a wait of 100 ms leaves few records of calls: " .. records)
end

-- CUPTI is attached once for records that follow each other. It slows every call of CUDA until it
-- is detached, at the end of a call, a while later.
do
    local attached, detached = fake.count "CUPTI attached", fake.count "CUPTI detached"
    local lost, adds = 0, 0
    for _ = 1, 50 do
        local prof = profile.run({}, function() return x + 1 end)
        lost, adds = lost + prof.lost, adds + select(2, row(prof:table {}, "add"))
    end
    timeit(function() return x + 1 end, { n = 1, print = false, device = "cuda" })
    t.ok(fake.count "CUPTI attached" <= attached + 1, "50 records and timeit attach CUPTI once")
    t.is({ lost, adds }, { 0, 50 }, "and lose nothing")
    t.is(fake.count "CUPTI detached", detached, "it stays attached")
    local y = until_detached()
    t.is(fake.count "CUPTI detached", detached + 1, "until an op some 0.3 s later")
    y = y + 1
    synchronize "cuda"
    t.is(fake.count "CUPTI detached", detached + 1, "and the next op finds it gone")
    t.is(select(2, row(profile.run({}, function() return x + 1 end):table {}, "add")), 1,
        "a record after that attaches it again")
    t.is(fake.count "CUPTI attached", attached + 2 - (attached > 0 and 1 or 0), "for a second time")
    t.is(fake.count "CUPTI detached outside a call", 0, "never beside another thread's call")
end

-- The times are CUPTI's, on the host's clock.
do
    local prof = profile.run({}, step)
    local text = prof:table {}
    t.is({ prof.lost, prof.how or "-" }, { 0, "-" }, "nothing is lost, and CUPTI is not spoken of")
    local ms, calls = row(text, "add")
    t.is(calls, 3, "ops are called what they are called elsewhere")
    t.ok(ms and ms >= 40 and ms < 1000, "the device time of an op")
    t.ok(row(text, "region") >= 40, "and of the region it is in")
    t.is(select(2, row(text, "copy D2H")), 1, "the copy has a row")
    prof:trace(scratch .. "/trace.json")
    local f = assert(io.open(scratch .. "/trace.json"))
    local trace = f:read "a"
    f:close()
    local wall, kernels, ends = tonumber(trace:match '"wall_us":([%d.]+)'), 0, 0
    local longest, last, ordered, own = 0, 0, true, true
    for name, ts, dur, op in trace:gmatch
        '"cat":"kernel","name":"([^"]+)","pid":%d+,"tid":%d+,"ts":([%d.-]+),"dur":([%d.]+),\z
            "args":{"id":%d+,"op":"([^"]+)"' do
        own = own and name ~= "add" and op == "add"
        ts, dur = tonumber(ts), tonumber(dur)
        kernels, longest = kernels + 1, math.max(longest, dur)
        ordered = ordered and ts >= last and ts + dur <= wall + 1
        last = ts + dur
    end
    for _ in trace:gmatch '"ph":"f","bp":"e","cat":"launch"' do ends = ends + 1 end
    t.is(kernels, 3, "three kernels in the trace")
    t.ok(own, "under their own names, with the op's beside it")
    t.ok(ordered, "one after the other, within the wall time")
    t.ok(longest >= 40000, "the slow one among them")
    t.is(ends, 4, "arrows from launches to kernels and to the copy")
    t.ok(trace:find '"cuda:0"', "under the device's name")
end

-- Time that CUPTI saw the host spend elsewhere.
do
    local first
    for _, l in ipairs(sync.calls()) do
        if l.what == "loading of kernels" then first = l end
    end
    t.ok(first and first.first_use and first.times >= 1,
        "the loading of a kernel's code is a first use")
end

-- A region on another stream has a row of its own in the trace.
do
    local s = stream "cuda"
    local prof = profile.run({}, function() s:use(adds, 2) end)
    prof:trace(scratch .. "/stream.json")
    local f = assert(io.open(scratch .. "/stream.json"))
    t.ok(f:read "a":find '"cat":"kernel","name":"[^"]+","pid":%d+,"tid":[2-9]',
        "a stream is a row of the trace")
    f:close()
end

-- What CUPTI dropped is counted and reported.
do
    adds(1)
    fake.fault "cupti_drop=1-3"
    local prof = profile.run({}, step)
    fake.fault "cupti_drop=0"
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" then
            t.ok(e.kernel and e.kernel ~= "add", "an event has its kernel's name") break
        end
    end
    t.is(prof.lost, 3, "dropped records are counted")
    t.ok(prof:table {}:find("3 events of the device were dropped by its tools (CUPTI)", 1, true),
        "and said")
end

-- Without CUPTI: the reason, and times from events.
local function without(fault, why)
    fake.fault(fault)
    local prof = profile.run({}, step)
    fake.fault "cupti="
    t.ok(prof.how and prof.how:find(why, 1, true), fault .. ": the reason is named")
    local text = prof:table {}
    t.ok(text:find(why, 1, true), fault .. ": under the table, too")
    local ms, calls = row(text, "add")
    t.ok(calls == 3 and ms >= 40 and ms < 1000, fault .. ": times come from events")
    t.ok(row(text, "region") >= 40, fault .. ": and reach regions")
end
until_detached()
without("cupti=busy", "another profiler is attached")
without("cupti=permission", "no permission to profile")
t.is(profile.run({}, step).how, nil, "afterwards CUPTI is used again")

-- timeit counts the device's time.
do
    fake.fault "slow=1+:3"
    local r = timeit(function() return x + 1 end, { n = 3 })
    fake.fault "slow=0"
    t.ok(r.device and r.device >= 0.003 and r.device < 1, "timeit sees the device's time")
end

-- A wait within an op, as in NVIDIA's libraries, is recorded by line while a profile runs.
do
    sync.reset()
    local prof = profile.run({}, function()
        fake.fault "slow=1:30 wait=2"
        adds(1)
        do
            local _ <close> = profile.region "held up"
            adds(1) -- waits for the one before
        end
    end)
    fake.fault "wait=0"
    local found, held, second
    for _, e in ipairs(prof:events()) do
        if e.kind == "op" then second = e end
        if e.kind == "held" and e.name == "add" and e.kernel:find "^synchronization" then
            held = e
        end
    end
    t.is(held and held.kernel, "synchronization with a stream", "CUPTI's record of it is an event")
    t.ok(held and held.id == second.id and held.start >= second.start
        and held.stop <= second.stop + 1000 and
        held.stop - held.start >= 2e7, "of the op that waited, within its time")
    prof:trace(scratch .. "/held.json")
    local f = assert(io.open(scratch .. "/held.json"))
    local trace = f:read "a"
    f:close()
    t.ok(trace:find('"cat":"held","name":"synchronization with a stream","pid":1,"tid":2', 1, true)
        and
        trace:find('"tid":2,"args":{"name":"held up by the device\'s runtime"}', 1, true),
            "and a row of the trace has it")
    t.ok(prof:table{group = "region"}:find "held up", "beside the region")
    t.is(select(2, row(prof:table {}, "add")), 2, "it is no call of the op")
    for _, l in ipairs(sync.calls()) do
        if l.what == "add: cudaStreamSynchronize" then found = l end
    end
    t.ok(found, "a wait inside an op is booked")
    t.ok(found and found.line and found.longest >= 0.02, "with its line and how long it took")
end

-- The same without a profile, once waits are reported.
do
    local function booked()
        for _, l in ipairs(sync.calls()) do
            if l.what == "mul: cudaStreamSynchronize" then return true end
        end
        return false
    end
    fake.fault "wait=1"
    local y = x * 2
    t.ok(not booked(), "waits inside of ops are not looked for all the time")
    sync.mode = "warn"
    fake.fault "wait=1"
    y = x * 2
    t.ok(booked(), "but while sync.mode is warn")
    sync.mode = "off"
    t.is(profile.run({}, step).how, nil, "and a profile can be made all the same")
    t.is(row(profile.run({}, step):table {}, "add") >= 40, true, "with its times")
    sync.reset()
    fake.fault "wait=1"
    y = x * 2
    t.ok(booked(), "after which waits are still looked for")
end

-- What a library waits for is booked for its op, whichever function it is.
do
    sync.mode = "warn"
    local a = randn(40, 40, { device = "cuda" })
    local s = a:mm(a:transpose(1, 2))
    local image = randn(1, 2, 9, 9, { device = "cuda" })
    for _, case in ipairs {
        { "fake_syevd", function() return linalg.eigh(s) end },
        { "fake_geev", function() return linalg.eig(a) end },
        { "fake_gesvd", function()
            cuda.svd_driver "gesvd"
            return linalg.svd(a)
        end },
        { "cufftMakePlanMany64", function() return fft.rfft(a["1:35, 1:23"]) end },
        { "fake_convolutions_tried", function()
            cuda.benchmark(true)
            return conv2d(image, image)
        end },
    } do
        local name, fn = table.unpack(case)
        sync.reset()
        fake.fault("wait_in=" .. name)
        fn()
        fake.fault "wait_in=0"
        local op
        for _, l in ipairs(sync.calls()) do
            if l.what:find ": cudaStreamSynchronize$" and l.line then op = l.what end
        end
        t.ok(op, ("a wait in %s is booked: %s"):format(name, op))
    end
    cuda.svd_driver "auto"
    cuda.benchmark(false)
    sync.mode = "off"
end

-- What gpush prints for a script with these settings.
local function run(settings, text)
    local path = scratch .. "/child.lua"
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
    local p = assert(io.popen(("env %s timeout -k 1 60 %s/gpush %s 2>&1"):format(
        settings, build, path)))
    local out = p:read "a"
    p:close()
    return out
end
local out = run("GPUSH_CUDA_LIBRARIES=/nowhere", [[
    local x = ones(10, {device = "cuda"})
    print(profile.run({}, function() return x + 1 end).how)]])
t.ok(out:find("times are of whole ops", 1, true) or out:find("nil", 1, true),
    "CUPTI that is not in the named folder")
out = run("GPUSH_FAKE_CUPTI=busy", [[
    sync.mode = "warn"
    local x = ones(10, {device = "cuda"})
    print(sync.report())]])
t.ok(
    out:find("cuda:0: waits inside of NVIDIA's libraries are not seen, because of CUPTI: another \z
        profiler is attached", 1, true),
    "the report says what it cannot see")
out = run("", [[
    local kernels = 0
    local prof = profile.run({}, function() return ones(1000, {device = "cuda"}) + 1 end)
    for _, e in ipairs(prof:events()) do kernels = kernels + (e.kind == "kernel" and 1 or 0) end
    print(kernels, prof.how)]])
t.is(out, "2\tnil\n", "a device that is opened while a profile runs is in it")
out = run("", [[
    sync.mode = "warn"
    local x = ones(10, {device = "cuda"})
    require "fake".fault "wait=1"
    local y = x * 2
    for _, l in ipairs(sync.calls()) do
        if l.what:find "mul: cudaStreamSynchronize" then print "seen" end
    end]])
t.is(out, "seen\n", "and the calls of one that is opened after sync.mode was set are seen")
out = run("NVTX_INJECTION64_PATH=/somewhere", [[
    local fake = require "fake"
    local x = ones(10, {device = "cuda"})
    local y = x + 1 + 2
    print(fake.count "range add", fake.count "open ranges")]])
t.ok(out:find "^2%s+0%s", "NVTX ranges carry the ops' names where a tool wants them")
out = run("NVTX_INJECTION64_PATH=/somewhere", [[
    local fake = require "fake"
    local x = ones(10, {device = "cuda"})
    local first = profile.region "load"
    profile.region("step", function() x = x + 1 end)
    local prof = profile.run({}, function() profile.region("step", function() x = x + 1 end) end)
    print(fake.count "range load", fake.count "range step", fake.count "open ranges",
        prof:table{group = "region"}:find "step" ~= nil)
    getmetatable(first).__close(first)
    getmetatable(first).__close(first)
    print(fake.count "open ranges", fake.count "range an end of none")]])
t.ok(out:find "^1%s+2%s+1%s+true%s+0%s+0%s",
    "and regions' names, while nothing records, too; each ends once: " .. out)
t.done()
