--!plain
-- Mutations of JSON that know its structure, for tests/support/fuzz/traces.lua: what a parser keeps
-- of a text are the places of its values, so that keys may come twice and numbers be none.
-- mutate.text(s) gives s with one to eight changes, decided by math.random.
local M = {}
local random = math.random
local function one_of(list) return list[random(#list)] end

-- ---- where the values are ----

local skip = "^[ \t\r\n]*()"
local DEPTH = 60 -- below which values are not told apart

-- Notes the value at `at` of s as {from, to, key = name of its member, whole = from the member's
-- beginning}; returns the place after it, or nil where s is no JSON.
local function note(s, at, out, depth, key, whole)
    at = s:match(skip, at)
    local c, stop = s:sub(at, at), nil
    if c == "{" or c == "[" then
        if depth == DEPTH then return end
        stop = at + 1
        local close = c == "{" and "}" or "]"
        while true do
            stop = s:match(skip, stop)
            if s:sub(stop, stop) == close then break end
            local begin, name = stop, nil
            if c == "{" then
                name, stop = s:match('^"([^"\\]*)"[ \t\r\n]*:()', stop)
                if not name then return end
            end
            stop = note(s, stop, out, depth + 1, name or key, begin)
            stop = stop and s:match("^[ \t\r\n]*,()", stop) or stop
            if not stop or stop > #s then return end
        end
        stop = stop + 1
    elseif c == '"' then
        stop = at + 1
        repeat
            local to, found = s:match('()(["\\])', stop)
            if not to then return end
            stop = to + (found == "\\" and 2 or 1)
        until found == '"'
    else
        stop = s:match("^[%w.+-]+()", at)
        if not stop then return end
    end
    out[#out + 1] = { from = at, to = stop - 1, key = key, whole = whole or at, depth = depth }
    return stop
end

local function values(s)
    local out = {}
    note(s, 1, out, 0)
    return out
end

-- ---- what is put in their place ----

local hostile = { "0", "-1", "-0", "1e308", "-1e308", "1e-320", "1e999", "0.1", "NaN", "Infinity",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616",
    "2147483647", "-2147483648", "4294967296", "9007199254740993", "1e15", "1e18",
    ("9"):rep(400), "null", "true", "false", "[]", "{}", "[[]]", "[null]", '""', '"x"', '"-1"',
    '"\\u0000"', '"\\ud800"', '"\\u202e\\u2028\\u0085"', '"\xff\xfe"', '"</script><!--"', '"\\',
    '"' .. ("a"):rep(70000) .. '"', '"[[2, 3], [4]]"', '"cpu_op"', '"kernel"', '"cuda_runtime"',
    '"cudaStreamSynchronize"', '"aten::item"', '"X"', '"B"', '"E"', '"i"', '"s"', '"f"', '"M"',
    '"nccl:all_reduce"', '"ProfilerStep#1"', '"a.py(1): f"', '"%s%n%x"', '"=1+1"', '"../../x"',
    ("["):rep(300) .. ("]"):rep(300), ("["):rep(100000),
    ('{"a":'):rep(200) .. "1" .. ("}"):rep(200) }
local keys = { "ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "bp", "correlation",
    "External id", "stream", "device", "bytes", "Input Dims", "Input type", "Call stack",
    "Python id", "Python parent id", "Python module id", "CallFrom", "Sequence number", "Bytes",
    "Total Allocated", "Device Id", "Device Type", "wait_on_stream", "traceEvents",
    "baseTimeNanoseconds", "distributedInfo", "deviceProperties", "rank", "gpush", "version",
    "Collective name", "In msg nelems", "Group size", "dtype" }
local steps = { 1, -1, 1e3, -1e3, 2 ^ 31, -2 ^ 31, 2 ^ 53, 1e12 }

local function changed_number(text)
    local n = tonumber(text)
    if not n then return one_of(hostile) end
    n = random(3) == 1 and n * one_of { 2, -1, 0.5, 1000, 1e-3, 0 } or n + one_of(steps)
    return math.type(n) == "integer" and ("%d"):format(n)
        or n == n and n - n == 0 and ("%.17g"):format(n) or "1e400"
end

-- Another value of the same key: ids that repeat, parents that are their own children.
local function same_key(s, all, v)
    for _ = 1, 200 do
        local u = one_of(all)
        if u.key == v.key and u.from ~= v.from then return s:sub(u.from, u.to) end
    end
    return one_of(hostile)
end

local function shuffled(s, v)
    local at, parts = v.from + 1, {}
    local inner = {}
    note(s, v.from, inner, 0)
    for _, u in ipairs(inner) do
        if u.depth == 1 then parts[#parts + 1] = s:sub(u.whole, u.to) end
    end
    if #parts < 2 then return s:sub(at - 1, v.to) end
    for i = #parts, 2, -1 do
        local k = random(i)
        parts[i], parts[k] = parts[k], parts[i]
    end
    return s:sub(v.from, v.from) .. table.concat(parts, ",") .. s:sub(v.to, v.to)
end

-- Each gives what replaces the text from v.whole to v.to.
local function with(s, v, text) return s:sub(v.whole, v.from - 1) .. text end
local function whole(s, v) return s:sub(v.whole, v.to) end
local changes = {
    function(s, v) return with(s, v, one_of(hostile)) end,
    function(s, v) return with(s, v, one_of(hostile)) end,
    function(s, v) return with(s, v, changed_number(s:sub(v.from, v.to))) end,
    function(s, v) return with(s, v, changed_number(s:sub(v.from, v.to))) end,
    function(s, v, all) return with(s, v, same_key(s, all, v)) end,
    function(s, v, all) return with(s, v, same_key(s, all, v)) end,
    function(s, v, all)
        local u = one_of(all)
        return with(s, v, s:sub(u.from, math.min(u.to, u.from + 5000)))
    end,
    function() return "" end, -- and a comma too many
    function(s, v) return whole(s, v) .. "," .. whole(s, v) end,
    function(s, v) return whole(s, v) .. "," .. with(s, v, one_of(hostile)) end, -- a key twice
    function(s, v) return (whole(s, v) .. ","):rep(random(50)) .. whole(s, v) end,
    function(s, v) return ('"%s": %s'):format(one_of(keys), s:sub(v.from, v.to)) end,
    function(s, v) return with(s, v, "[" .. s:sub(v.from, v.to) .. "]") end,
    function(s, v) return with(s, v, '{"a": ' .. s:sub(v.from, v.to) .. "}") end,
    function(s, v) return with(s, v, '"' .. s:sub(v.from, v.to):gsub('["\\]', "\\%0") .. '"') end,
    function(s, v) return with(s, v, shuffled(s, v)) end,
}

-- Changes of the text as bytes.
local function flipped(s)
    local at = random(#s)
    return s:sub(1, at - 1) .. string.char(s:byte(at) ~ (1 << random(0, 7))) .. s:sub(at + 1)
end
local pieces = { "\0", ",", "}", "]", '"', "\\", "\r\n", "\xef\xbb\xbf", "/**/" }
local bytes = {
    function(s) return s:sub(1, random(#s)) end,
    flipped, flipped,
    function(s)
        local at = random(#s)
        return s:sub(1, at) .. one_of(pieces) .. s:sub(at + 1)
    end,
    function(s)
        local at = random(#s)
        return s:sub(1, at) .. s:sub(at + random(200))
    end,
    function(s) return s .. s end,
    function(s) return "\xef\xbb\xbf" .. s end,
}

--- The text with one to eight changes: of bytes where it is no JSON, and now and then besides.
function M.text(s)
    local all = values(s)
    for _ = 1, 1 << random(0, 3) do
        if #s == 0 then break end
        if #all == 0 or random(12) == 1 then
            s = one_of(bytes)(s)
            all = values(s)
        else
            local v = one_of(all)
            s = s:sub(1, v.whole - 1) .. one_of(changes)(s, v, all) .. s:sub(v.to + 1)
            all = values(s)
        end
    end
    return s
end

--- Bytes of a packed file with one to four changes.
function M.packed(s)
    for _ = 1, random(4) do
        if #s > 0 then s = bytes[random(5)](s) end
    end
    return s
end

-- Where the events of a trace begin, and where they could: after "traceEvents": [.
local known = {}
local function events_of(s)
    if known[s] then return known[s] end
    local starts, first = {}, s:match '"traceEvents"%s*:%s*%[()'
    if first then
        for at in s:gmatch("()\n%s*{", first) do starts[#starts + 1] = at end
    end
    starts.first = first
    known[s] = starts
    return starts
end

--- At most n events of a trace that has more, from any place on: what a mutant takes is bounded.
function M.part(s, n)
    local starts = events_of(s)
    if #starts <= n then return s end
    local k = random(#starts - n)
    local to = starts[k + n]
    return s:sub(1, starts.first - 1) .. s:sub(starts[k], to - 1):gsub(",%s*$", "") .. "]}"
end

return M
