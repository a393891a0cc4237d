-- Traces of at most that many bytes: what is kept, what is merged and what that says.
local t = require "tap"

local x = ones(4, { device = "sim" })
local function work()
    for i = 1, 40 do
        local _ <close> = profile.region("part " .. i)
        for _ = 1, 60 do local _ = (x + 1):tanh() end
        local kept
        if i == 20 then kept = zeros(512, 512, { device = "sim" }) end
        local _ = x:sum():item()
        collectgarbage()
        local _ = kept
    end
end
local prof = profile.run({ memory = true, shapes = true }, work)

local function trace(max)
    local name = os.tmpname()
    local said = prof:trace(name, { max = max })
    local file <close> = assert(io.open(name))
    local text = file:read "a"
    os.remove(name)
    return json.decode(text), #text, said
end
-- Slices of a kind, by their name and time.
local function slices(data, kind)
    local list = {}
    for _, e in ipairs(data.traceEvents) do
        if e.ph == "X" and e.cat == kind then
            list[#list + 1] = ("%s %.3f %.3f"):format(e.name, e.ts, e.dur)
        end
    end
    return list
end
local function most(data)
    local top = {}
    for _, e in ipairs(data.traceEvents) do
        if e.ph == "C" then top[e.name] = math.max(top[e.name] or 0, e.args.bytes) end
    end
    return top
end

local whole, size, said = trace()
t.is(said, nil, "without a cap nothing is merged")
t.ok(#slices(whole, "op") > 4000 and #slices(whole, "wait") >= 40, "and all is there")
local same, same_size = trace(size)
t.is({ same_size, #same.traceEvents }, { size, #whole.traceEvents }, "nor where all fits")

for _, max in ipairs { 400000, "100 kB", "80KiB" } do
    local bytes = math.type(max) == "integer" and max or max == "100 kB" and 100000 or 81920
    local capped, n, merged = trace(max)
    local name = tostring(max) .. ": "
    t.ok(n <= bytes and n > bytes / 5, name .. "the file is at most that, and uses it: " .. n)
    t.is(slices(capped, "wait"), slices(whole, "wait"), "each wait is there, when it was")
    t.is(slices(capped, "region"), slices(whole, "region"), "each region, too")
    t.is(most(capped), most(whole), "and the peaks of memory")
    t.ok(merged:match "^%d+ events were merged into %d+", merged)
    t.is(capped.otherData.merged_into, math.tointeger(merged:match "into (%d+)"),
        "the file says so, too")
    local ops, busy, named, last = slices(capped, "op"), true, false, nil
    for _, e in ipairs(capped.traceEvents) do
        named = named or e.ph == "X" and e.name:find "^%d+ merged: %a+ %d+, %a+ %d+"
        if e.ph == "X" and e.cat == "kernel" then
            busy = busy and (not last or e.ts + 0.002 >= last)
            last = e.ts + e.dur
        end
        if e.ph == "s" or e.ph == "f" then busy = false end
    end
    t.ok(named, "merged ones are named by what they were")
    t.ok(busy, "a stream's follow one another, without arrows")
    t.ok(#ops < #slices(whole, "op") / 2 and #ops >= 40, "there are far fewer ops")
end

local function too_small() prof:trace("/dev/null", { max = 2000 }) end
t.error(too_small, "max: the waits and regions alone need more than 0.00 MB", "no wait is left out")
for _, max in ipairs { "much", "5 EB", 0, -1, 0 / 0, {} } do
    t.error(function() prof:trace("/dev/null", { max = max }) end,
        "profile.trace: max: expected a size as \"50MB\" or a number of bytes, got", tostring(max))
end

-- A loaded trace has more devices than a process: each has its level.
local list, name = {}, os.tmpname()
for i = 1, 2000 do
    list[i] = { ph = "i", s = "t", cat = "cpu_instant_event", name = "[memory]", pid = 1, tid = 1,
        ts = i, args = { ["Device Type"] = 1, ["Device Id"] = i % 50, Bytes = 512,
            ["Total Allocated"] = 512 * i } }
end
local file <close> = assert(io.open(name, "w"))
file:write(json.encode(list))
file:close()
prof = profile.load(name)
os.remove(name)
local devices, peaks = 0, most(trace "20kB")
for _ in pairs(peaks) do devices = devices + 1 end
t.is(devices, 50, "a trace of 50 devices has the memory of each")
t.is({ peaks["memory cuda:0"], peaks["memory cuda:49"] }, { 512 * 2000, 512 * 1999 },
    "and their peaks")

t.done()
