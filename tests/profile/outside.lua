-- Traces from outside, with the worst names and numbers in each field: what is shown of them holds
-- nothing that a terminal would obey or not show, and stays valid JSON. ASan and UBSan watch it.
local t = require "tap"

local HIDDEN <const> = { "\u{2028}", "\u{2029}", "\u{85}", "\u{9b}", "\u{202e}", "\u{2066}",
    "\u{200b}", "\u{feff}", "\u{ad}", "\u{61c}", "\u{e0041}", "\27", "\7", "\127" }
local HOSTILE <const> = table.concat(HIDDEN) .. "\"\\'<&>;"

local function in_file(text, fn, ...)
    local name = os.tmpname()
    local file <close> = assert(io.open(name, "w"))
    file:write(text)
    file:close()
    local results = table.pack(pcall(fn, name, ...))
    os.remove(name)
    return table.unpack(results)
end
local function written(write)
    local _, text = in_file("", function(name)
        write(name)
        local file <close> = assert(io.open(name))
        return file:read "a"
    end)
    return text
end

-- A trace of six steps: `name` changes each text, and `number` each number of an event's fields.
local function trace(name, number)
    local events = {}
    local function add(cat, label, tid, ts, dur, args)
        for key, value in pairs(args or {}) do args[key] = number(key, value) end
        events[#events + 1] = { ph = "X", cat = cat, name = label, pid = name "p", tid = tid,
            ts = number("ts", ts), dur = number("dur", dur), args = args }
    end
    local function at(line, fn) return ("%s.py(%d): %s"):format(name "train", line, fn) end
    local thread = name "thread"
    for i = 1, 6 do
        local ts = i * 100
        local op = { ["External id"] = i }
        add("user_annotation", name "region", thread, ts, 80)
        add("cpu_op", name "op", thread, ts + 1, 60, op)
        op["Call stack"] = at(12, "fn")
        op["Input Dims"], op["Input type"] = { { 2, 3 } }, { "float" }
        add("cuda_runtime", "cudaLaunchKernel", thread, ts + 2, 5, { correlation = i * 10 })
        add("kernel", name "kernel", 7, ts + 10, 20,
            { correlation = i * 10, device = 0, stream = 7 })
        add("cuda_runtime", "cudaStreamSynchronize", thread, ts + 63, 8,
            { correlation = i * 10 + 1 })
        add("python_function", "nn.Module: " .. name "Net", thread, ts, 90)
        add("python_function", at(14, "step"), thread, ts + 1, 88)
        events[#events + 1] = { ph = "i", s = "t", cat = "cpu_instant_event", name = "[memory]",
            pid = name "p", tid = thread, ts = number("ts", ts + 3), args = {
                ["Device Type"] = 1, ["Device Id"] = number("Device Id", 0),
                Bytes = number("Bytes", 512), ["Total Allocated"] = number("Total", 512 * i) } }
    end
    events[#events + 1] = { ph = "M", name = "thread_name", pid = name "p", tid = thread,
        args = { name = name "Main" } }
    return json.encode { traceEvents = events, deviceProperties = { { name = name "Card" } },
        distributedInfo = { rank = number("rank", 0) } }
end

-- Each output of a profile: fn(what, text), and whether it is JSON.
local function each_output(p, fn)
    fn("tostring", tostring(p))
    for _, group in ipairs { "op", "region", "line", "shape", "stack", "module", "rank",
        "kernel" } do
        for _, format in ipairs { "text", "markdown", "csv", "json" } do
            local done, text = pcall(p.table, p, { group = group, format = format })
            -- a trace whose ops were left out has no shapes
            if not done and not text:find "needs a profile with" then error(text, 0) end
            fn(("a table by %s, %s"):format(group, format), text, done and format == "json")
        end
    end
    for _, name in ipairs { "sync", "waits", "savings", "critical_path", "idle", "devices",
        "queues", "launches", "collectives" } do
        fn(name, tostring(p[name](p)))
    end
    fn("a prediction", p:whatif { without = "all" }:table())
    fn("diff", p:diff(p))
    fn("trace", written(function(file) p:trace(file) end), true)
    fn("a short trace", written(function(file) p:trace(file, { max = "20kB" }) end), true)
    fn("folded", written(function(file) p:folded(file) end))
    fn("speedscope", written(function(file) p:speedscope(file) end), true)
end

-- ---- names ----

local function shows_nothing_hidden(p, whose)
    local raw, broken, n = {}, {}, 0
    each_output(p, function(what, text, is_json)
        n = n + 1
        for _, c in ipairs(HIDDEN) do
            if text:find(c, 1, true) then raw[#raw + 1] = ("%s: %q"):format(what, c) end
        end
        local ok, why = pcall(json.decode, text)
        if is_json and not ok then broken[#broken + 1] = what .. ": " .. why end
    end)
    t.is(raw, {}, ("%s: none of %d outputs shows a hidden character as it is"):format(whose, n))
    t.is(broken, {}, whose .. ": what is JSON is valid")
end

local function same(_, value) return value end
local function hostile(name) return name .. HOSTILE end
local ok, prof = in_file(trace(hostile, same), profile.load)
t.ok(ok, "a trace with hostile names is read")
shows_nothing_hidden(prof, "a trace")
-- Names of functions are words in a trace, and any text in a profile that someone saved.
local saved, functions = written(function(file) prof:save(file) end):gsub('"step"', function()
    return json.encode(HOSTILE)
end)
ok, prof = in_file(saved, profile.load)
t.ok(ok and functions == 1, "a saved profile of it, too: " .. tostring(prof))
shows_nothing_hidden(prof, "a saved profile")

-- ---- numbers ----

local EXTREME <const> = { 0, -1, 2147483647, -2147483648, 4294967295, math.maxinteger,
    math.mininteger }
local read, refused = 0, {}
for _, key in ipairs { "ts", "dur", "correlation", "External id", "device", "stream", "Device Id",
    "Bytes", "Total", "rank" } do
    for _, extreme in ipairs(EXTREME) do
        local done, p = in_file(trace(tostring, function(k, value)
            return k == key and extreme or value
        end), profile.load)
        if done then
            read = read + 1
            each_output(p, function() end)
        elseif not (p:find "profile%.load: .*64 bits" or p:find "no event that can be read") then
            refused[#refused + 1] = ("%s = %d: %s"):format(key, extreme, p)
        end
    end
end
t.ok(read > 50, ("of 70 traces with an extreme number %d are read and shown"):format(read))
t.is(refused, {}, "and the others refused with a reason")

local last = 2147483647 -- of the streams' and devices' numbers
local _, far = in_file(trace(tostring, function(key, value)
    return (key == "device" or key == "stream") and last or value
end), profile.load)
local rows, others = {}, 0
for _, e in ipairs(json.decode(written(function(file) far:trace(file) end)).traceEvents) do
    if e.cat == "kernel" then rows[e.tid] = true end
    others = others + (e.tid and e.tid < 0 and 1 or 0)
end
t.is({ rows[last + 1], others }, { true, 0 }, "the last stream's row has the number after its own")
t.done()
