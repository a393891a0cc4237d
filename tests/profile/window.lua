-- Traces are read in a window: events and spaces longer than it, places in messages, limits, and
-- memory, which the text's length does not add to.
local t = require "tap"
local name = os.tmpname()

local function written(...)
    local file <close> = assert(io.open(name, "wb"))
    for _, part in ipairs { ... } do assert(file:write(part)) end
end
local function read(opts)
    local prof = profile.load(name, opts)
    local ops = {}
    for _, e in ipairs(prof:events()) do
        if e.kind == "op" then ops[#ops + 1] = ("%s %d %d"):format(e.name, e.start, e.stop) end
    end
    return table.concat(ops, "\n"), prof
end

local EVENT <const> = [[{"ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 1, "tid": 1,
    "ts": %d, "dur": 3%s},
]]
local LAST <const> = [[{"ph": "X", "cat": "cpu_op", "name": "aten::last", "pid": 1, "tid": 1,
    "ts": 90000000, "dur": 3}]]
local function events(n, args)
    local list = {}
    for i = 1, n do list[i] = EVENT:format(i, 10 * i, args or "") end
    return table.concat(list)
end
local HEAD <const>, TAIL <const> = '{"schemaVersion": 1, "traceEvents": [\n', "]}"

-- ---- what is read is the same wherever a window ends ----

local N <const> = 30000 -- 3 MB
written(HEAD, events(N), LAST, TAIL)
local want, whole = read()
t.is({ select(2, want:gsub("\n", "")), want:match "^(%S+)", want:match "(%S+) %d+ %d+$" },
    { N, "aten::op1", "aten::last" }, "a trace of several windows has all of its events")
t.is(whole.count, N + 1, "and no other")

local SPACE <const> = (" "):rep(1 << 21)
written(HEAD, events(N), SPACE, LAST, SPACE, "]", SPACE, "}", SPACE)
t.is(read(), want, "spaces longer than a window")
local LONG <const> = (', "args": {"note": "%s"}'):format(("x"):rep(1 << 22))
written(HEAD, events(3), EVENT:format(4, 40, LONG), LAST, TAIL)
t.is(select(2, read():gsub("\n", "")), 4, "an event longer than several windows")
local NOTE <const> = ('"note": ["%s", {"a": [1, 2]}]'):format(("y"):rep(1 << 21))
written("{", NOTE, ', "traceEvents": [', events(N), LAST, "], ", NOTE:gsub("note", "more"), "}")
t.is(read(), want, "long values before and after the events")
local other = {} -- a window's end is in a name, a number, a key …
for shift = 1, 61, 7 do
    written((" "):rep(shift), HEAD, events(N), LAST, TAIL)
    if read() ~= want then other[#other + 1] = shift end
end
t.is(other, {}, "wherever a window ends")

-- ---- what is wrong ----

local body = HEAD .. events(N)
written(body, "!", TAIL)
t.error(read, ("byte %d: expected an object, got '!'"):format(#body), "a place beyond the window")
written(body:sub(1, -40))
local cut, prof = read()
t.is(cut, want:match "^(.*)\n[^\n]*\n[^\n]*$", "of a file that is cut, what came before")
local place = tonumber(prof.how:match "is cut at byte (%d+)")
t.ok(place and place > #body - 200 and place <= #body, "and where", prof.how)
written(body, LAST, TAIL)
local size = #body + #LAST + #TAIL
t.error(function() read { max_bytes = size - 1 } end,
    ("has more than %d bytes unpacked"):format(size - 1), "a limit within a later window")
t.is(read { max_bytes = size }, want, "a limit that is enough")

-- ---- memory ----

local function peak()
    local status <close> = assert(io.open "/proc/self/status")
    return tonumber(status:read "a":match "VmHWM:%s+(%d+)") * 1024
end
local LEFT_OUT <const> = ('{"ph": "M", "name": "%s"},\n'):format(("z"):rep(1000)):rep(1000)
local many = {}
for i = 1, 128 do many[i] = LEFT_OUT end
written(HEAD, table.concat(many), LAST, TAIL)
many = nil -- luacheck: ignore
collectgarbage()
if os.getenv "GPUSH_SAN" ~= "" then
    t.skip(1, "sanitizers keep memory")
else
    -- Reading sets the peak again where the system lets a process do so.
    local reset <close> = io.open("/proc/self/clear_refs", "w")
    if reset and reset:write "5" and reset:flush() then
        local before = peak()
        read()
        t.ok(peak() - before < 8 << 20, "131 MB of text add less than 8 MB", peak() - before)
    else
        t.skip(1, "the system does not set a peak of memory back")
    end
end
os.remove(name)
t.done()
