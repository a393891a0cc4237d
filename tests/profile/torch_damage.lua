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
    return ('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":1}')
        :format(name, ts)
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
local whole = HEAD .. first .. ", " .. second
    .. '], "deviceProperties": [{"name": "G"}], "x": true}'
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
local part = load(whole:sub(1, complete))
t.ok(part:verdict().sentence:find "^no verdict: the file is cut", "what is missing may dominate")
part:save(path .. ".prof")
t.is(profile.load(path .. ".prof"):verdict().sentence, part:verdict().sentence, "saved, too")
os.remove(path .. ".prof")
t.error(function() load(HEAD .. first:sub(1, -2)) end, "got the end of the file",
    "before the first event there is nothing to read")
t.error(function() load(HEAD .. first .. "x" .. second) end, "expected ',' or '%]', got 'x'",
    "damage is no cut")

-- ---- events of wrong types ----
-- One of three events is left out, and it is said, whatever is wrong with it.
local good = kernel("k", 1) .. "," .. kernel("k", 3)
for field, event in pairs {
    dur = kernel("bad", 2):gsub('"dur":1', '"dur":"abc"'),
    ts = kernel("bad", 2):gsub('"ts":2', '"ts":[2]'),
    args = kernel("bad", 2):gsub("}$", ',"args":[1]}'),
    name = kernel("bad", 2):gsub('"bad"', "7"),
    ph = kernel("bad", 2):gsub('"X"', "{}"),
    ["ts and dur"] = kernel("bad", 2):gsub('"dur":1', '"dur":3e14'),
    fields = "17",
} do
    local p = load(HEAD .. event .. "," .. good .. "]}")
    t.is(p.count, 2, "the others are read: " .. field)
    t.ok(p.how:find(("; 1 event of 3 has no valid %s, and is left out"):format(field), 1, true),
        p.how)
end
t.ok(not load(HEAD .. good .. "]}").how:find "valid", "nothing is wrong")
t.is(load(HEAD .. good .. "," .. kernel("k", 5):gsub("}$", ',"args":null}') .. "]}").count, 3,
    "no arguments are no error")
t.error(function() load(HEAD .. kernel("k", 1):gsub('"ts":1', '"ts":null') .. "]}") end,
    "no event that can be read: 1 of 1 have no valid ts", "where nothing is left")
local bad = {}
for i = 1, 5 do bad[i] = kernel("bad", i):gsub('"dur":1', '"dur":true') end
local lacking = load(HEAD .. good .. "," .. table.concat(bad, ",") .. "]}")
t.ok(lacking:verdict().sentence:find "^no verdict: events were dropped", "most are missing")

-- ---- files of other programs ----
local function is(text, what, name)
    t.error(function() load(text) end, "damage.json is " .. what, name or what)
end
local database = "SQLite format 3\0" .. ("x"):rep(100)
t.error(function() load(database) end, "damage.json cannot be read: file is not a database",
    "a database")
is(("name"):rep(64) .. ".ustar\00000" .. ("\0"):rep(300), "a tar archive")
is("PK\3\4", "a zip archive")
is("\x28\xb5\x2f\xfdxx", "packed by zstd: zstd %-dc FILE | gpush analyze %-")
is("\031\139\008\000\000\000\000\000\002\003\147\239\006\000\201\070\233\246\z
    \002\000\000\000", "packed by gzip twice: gzip %-dc", "packed twice")
is("\x80\4\x95", "a pickle of Python")
is("\xff\xfe{\0", "text of 16 bits a character")
is("<!DOCTYPE html><html>", "a page for a browser")
is("\n\x24\x10\1\x12\9/host:CPU\x1a\5", "a protocol buffer", "xplane.pb")
is('{"schema": "1.1.0-chakra.0.0.4", "pid": 3, "nodes": []}', "an execution trace")
is('[[1, 2, 3], [[0, 1], [0, 2], [0, 3]]]', "a memory timeline")
is('{"$schema": "https://www.speedscope.app/file-format-schema.json"}', "a file for speedscope")
is('{"segments": [], "device_traces": []}', "a snapshot of PyTorch's memory")
is(" \n", "empty")
for ending, what in pairs { ["nsys-rep"] = "nsys export %-%-type sqlite makes a database of it",
    ["ncu-rep"] = "torch.profiler's export_chrome_trace writes a file that is read",
    pftrace = "torch.profiler's export_chrome_trace writes a file that is read" } do
    local file <close> = assert(io.open(path .. "." .. ending, "wb"))
    file:write "\1\2\3"
    file:close()
    t.error(function() g.profile.load(path .. "." .. ending) end,
        "is a .*: " .. what, ending)
    os.remove(path .. "." .. ending)
end

-- What marks them in a name of ours is a name.
local marks = "speedscope.app/file-format rocprofiler-sdk-tool nodes schema segments device_traces"
local events = {}
for mark in marks:gmatch "%S+" do
    events[#events + 1] = kernel([[\"]] .. mark .. [[\"]], #events)
end
local named = load(HEAD .. table.concat(events, ",") .. "]}")
for length = 0, 4 do -- one of them begins at the place where a tar archive has its mark
    local p = load(HEAD .. kernel(("x"):rep(length) .. ("ustar"):rep(40), 1) .. "]}")
    t.is(p.count, 1, "a name at any place, " .. length)
end
named:save(path .. ".prof")
t.is(profile.load(path .. ".prof").count, #events, "a saved profile with their marks as names")
os.remove(path .. ".prof")

-- Several ranks' traces in one file: an id is of a call of either.
local function call(pid)
    return ('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":%d,"tid":1,"ts":1,\z
        "dur":1,"args":{"correlation":7}}'):format(pid)
end
t.error(function() load(HEAD .. call(5) .. "," .. call(6) .. "]}") end,
    "two processes' calls have one correlation id: it joins traces of several ranks", "joined")
t.is(load(HEAD .. call(5) .. "," .. call(5) .. "]}").count, 2, "one process's are read")
t.error(function()
    load(HEAD .. kernel("x", 1):gsub('"kernel"', '"toplevel"') .. "]}")
end, "no event of the kinds that torch.profiler writes: 1 of others, as toplevel", "a browser's")

t.error(function() load "hello" end, "byte 0: expected an object, got 'h'", "what is not known")
os.remove(path)
t.done()
