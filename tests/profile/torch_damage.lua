--!plain
-- profile.load of traces that are not quite JSON, as programs that write them leave them, and of
-- files that are cut: what came before the cut is read, and said.
local t = require "tap"
local g = require "gpush"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/damage.json"
local function load(text)
    local f <close> = assert(io.open(path, "wb"))
    f:write(text)
    f:close()
    return g.profile.load(path)
end
local HEAD <const> = '{"traceEvents": ['
local function kernel(name, ts)
    return ('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":1}'):format(name, ts)
end
local function name_of(text)
    return load(HEAD .. kernel(text, 1) .. "]}"):events()[1].kernel
end

-- ---- texts and commas ----
t.is(name_of "a\tb\nc", "a\tb\nc", "control characters in a name")
t.is(name_of [[C:\data\Users\x.py]], [[C:\data\Users\x.py]], "backslashes that begin no escape")
t.is(name_of [[C:\\data\u00e9]], [[C:\dataé]], "escapes are read as before")
t.is(name_of [[\u12]], [[\u12]], "half an escape")
t.is(load(HEAD .. kernel("k", 1) .. ",\n]}").count, 1, "a comma after the last event")
t.is(load(HEAD .. kernel("k", 1):gsub("}$", ",}") .. "],}").count, 1, "and after the last field")
t.error(function() load(HEAD .. kernel("k", 1) .. ",,]}") end, "expected an object, got ','",
    "two commas are an error")

-- ---- cut files ----
-- At every byte after the first event: each of the two is there once it was complete.
local first, second = kernel("first", 1), kernel("second", 3)
local whole = HEAD .. first .. ", " .. second .. '], "deviceProperties": [{"name": "G"}], "x": true}'
local complete = #HEAD + #first + 2 + #second
local wrong = {}
for at = #HEAD + #first, #whole - 1 do
    local p = load(whole:sub(1, at))
    local said = p.how:find(("(it is cut at byte %d"):format(at), 1, true)
        or p.how:find "%(it is cut at byte %d+: what followed is missing%)"
    if p.count ~= (at < complete and 1 or 2) or not said then wrong[#wrong + 1] = at end
end
t.is(wrong, {}, "cut at any byte, what came before is read, and it is said")
t.ok(not load(whole).how:find "cut", "a whole file is not")
t.error(function() load(HEAD .. first:sub(1, -2)) end, "got the end of the file",
    "before the first event there is nothing to read")
t.error(function() load(HEAD .. first .. "x" .. second) end, "expected ',' or '%]', got 'x'",
    "damage is no cut")
os.remove(path)
