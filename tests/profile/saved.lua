--!plain
-- prof:save and profile.load of what it wrote: the loaded profile answers as the first did, and a
-- damaged file is an error that says where.
local t = require "tap"
local g = require "gpush"

local folder = os.getenv "TMPDIR" or "/tmp"
local function path(name) return folder .. "/" .. name end
local function write(name, text)
    local f <close> = assert(io.open(path(name), "wb"))
    f:write(text)
    return path(name)
end
local function read(name)
    local f <close> = assert(io.open(name, "rb"))
    return f:read "a"
end

local name = 'a "b"\\\n\1\u{e9}\xff'
local x = g.randn(64, 64):to "sim"
local options = { stack = true, memory = true, shapes = true }
local p = g.profile.run(options, function()
    local y = x
    local other = coroutine.wrap(function()
        g.profile.region(name, function()
            y = y + 1
            coroutine.yield()
            y = y + 1
        end)
    end)
    other()
    for _ = 1, 5 do
        y = (y:matmul(x) / 64):tanh()
        local _ = y[1][1]:item()
    end
    other()
    pcall(g.matmul, y, 3)
    y = y:to "cpu"
    return y:add_(1)
end)

for _, file in ipairs { "kept.prof", "kept.prof.gz" } do
    p:save(path(file))
    local q = g.profile.load(path(file))
    t.is(q:events(), p:events(), file .. ": every event")
    for _, group in ipairs { "op", "region", "line", "shape", "stack", "kernel" } do
        t.is(q:table { group = group, width = 300 }, p:table { group = group, width = 300 },
            file .. ": the table by " .. group)
    end
    t.is({ q.wall_ns, q.count, q.dropped, q.lost, q.how }, { p.wall_ns, p.count, p.dropped, p.lost,
        p.how }, file .. ": its fields")
    for _, what in ipairs { "savings", "critical_path", "idle" } do
        t.is(tostring(q[what](q)), tostring(p[what](p)), file .. ": " .. what)
    end
    local change = { without = "item", host = 0.5 }
    local a, b = p:whatif(change), q:whatif(change)
    t.is(a:rows(), b:rows(), file .. ": a prediction from it")
    a:save(path "predicted")
    t.is(g.profile.load(path "predicted").predicted, "without item, host x 0.5",
        file .. ": a prediction as a file")
    t.is(q:diff(p), p:diff(p), file .. ": a diff")
    q:save(path "again")
    t.is(g.profile.load(path "again"):events(), p:events(), file .. ": saved again")
    q:trace(path "trace.json")
    q:report(path "page.html")
    t.ok(#read(path "trace.json") > 1000 and #read(path "page.html") > 1000,
        file .. ": a trace and a page of it")
end
t.is(read(path "kept.prof.gz"):sub(1, 2), "\x1f\x8b", "a name in .gz is packed")
local parallel = g.profile.run(function() return g.fork(function() return g.ones(9) + 1 end) end)
parallel:save(path "fork")
t.is(g.profile.load(path "fork"):rows(), parallel:rows(), "a profile with a fork")
g.profile.run({ limit = 2 }, function() for _ = 1, 9 do x = x + 1 end end):save(path "full")
t.ok(g.profile.load(path "full").dropped > 0, "a profile that was full")

g.sim.card = { like = "h200", name = "mine", f32 = 1 / 3 * 1e13, wait = 0 }
local modelled = g.profile.run({ flops = true }, function()
    return (x:matmul(x) + 1):sum():item()
end)
g.sim.card = nil
modelled:save(path "modelled")
local again = g.profile.load(path "modelled")
t.is(again:rows(), modelled:rows(), "a modelled card's profile: its rows, with their roofline")
t.ok(again:table { width = 300 }:find "Roofline", "and the table's column")
t.is({ again.modelled, again.card }, { modelled.modelled, modelled.card }, "its labels and figures")

-- What the profiler took has its row in any profile: the rows' own times are the wall time.
local claims = write("claims", (read(path "kept.prof"):gsub('"foreign":0', '"foreign":1')))
local sum = 0
for _, r in ipairs(g.profile.load(claims):rows()) do sum = sum + r.self_cpu_time_total end
t.is(sum, math.floor(g.profile.load(claims).wall * 1e9 + 0.5),
    "rows add up where another program is said to have recorded")

-- ---- damage ----
local function refused(text, message, what)
    local file = write("bad", text)
    t.error(function() g.profile.load(file) end, message, what or message)
end
local whole = read(path "kept.prof")
local head = '{"gpush":"profile","version":2,"t0":9,"done":5,"t1":5,'
local function broken(rest, message) refused(head .. rest, message) end
refused("", "bad is empty", "an empty file")
refused("hello", "byte 0: expected an object, got 'h'", "another text")
refused(whole:sub(1, #whole // 2), "byte %d+: ", "half a file")
refused(whole .. "x", "expected the end of the file, got 'x'", "more than a file")
local packed = read(path "kept.prof.gz")
refused(packed:sub(1, #packed // 2), "byte %d+: .*: the packed data end early",
    "half a packed file")
refused(packed:sub(1, #packed // 2) .. ("\xff"):rep(99) .. packed:sub(#packed // 2),
    "after %d+ unpacked bytes: ",
    "a damaged packed file")
refused('{"gpush":"profile","version":3}', "byte 30: a profile of version 3")
refused('{"gpush":"profile","version":2}', "without its version, times or threads")
broken('"texts":["a\0b"]', "byte 65: the byte 0x00 in a text")
broken('"texts":["a"],"devices":[[2,"d",0,true]]}', "expected a number from 0 to 1, got 2")
broken('"texts":["a"],"devices":[[1,"a name that is too long",0,true]]}', "a name of more than 15")
broken('"texts":["a\\u001b"],"devices":[[1,"d",0,true]]}', "whose kind or name is no word")
broken('"texts":["a"],"devices":[[1,"d\\tx",0,true]]}', "a name of more than 15 bytes")
broken('"texts":["a"],"devices":[[1,"d x",0,true]]}', "whose kind or name is no word")
broken('"streams":[[0,0]]}', "a stream without a device")
broken('"shapes":[[3]]}', "more dimensions than a tensor has")
broken('"shapes":[["f99"]]}', "a dtype that gpush does not have")
broken('"stacks":[[0,0,1,0]]}', "a frame without a file")
broken('"card":["a",3]}', "expected a text, got '3'")
broken('"card":["a","b",true,0]}', "a card's figure that is out of range: memory")
broken('"card":["a","b",true]}', "expected another element")
broken('"card":["sixteen bytes ab","b",true]}', "a card's name of more than 15 plain bytes")
broken('"nothing":1}', "a field that a profile does not have")
local function thread(events, message)
    broken('"texts":["a"],"threads":[{"host":true,"events":[' .. events .. ']}]}', message)
end
thread("[0,0,0]", "an event of 3 numbers: expected 4 or more")
thread("[0,0,0,0]", "refers to what is not there")
thread("[0,0,0,2]", "refers to what is not there")
thread("[99,0,0,1]", "of a kind that this thread does not have")
thread("[4,0,0,1]", "of a kind that this thread does not have")
thread("[2,0,0,1]", "in a place that is not there")
thread("[2,0,0,1,0,0,0,1]", "in a place that is not there")
thread("[1,0,0,1,0,0,0,1]", "in a place that is not there")
thread("[0,0,0,1],[1,0,0,1,0,0,0,1]", "within one that is not a region")
thread("[0,-9,0,1]", "starts out of range")
thread("[0,9223372036854775807,0,1]", "starts out of range")
thread("[0,9223372036854775808,0,1]", "expected an integer of 64 bits")
thread("[0,0,-2,1]", "whose duration is out of range")
thread("[0,0,2305843009213693953,1]", "whose duration is out of range")
thread("[0,0,0,1,0,0,-2147483648]", "line, reason or flag out of range")
thread("[0,0,0,1,0,0,2147483648]", "line, reason or flag out of range")
thread("[0,0,0,1,0,0,0,0,0,0,0,0,0,0]", "an event of more than 13 numbers")
thread("[0,0,0,1", "',' or ']'")
thread("[0,0,2305843009213693952,1]", "sums do not fit in 64 bits")
local escapes = '\\u001b[2J'
local text = ('"how":"%s","predicted":"%s","texts":["%s","sim"],\z
    "devices":[[2,"sim:0",0,false]],"streams":[[1,0]],"threads":[{"host":true,"events":[\z
    [2,0,3,1,0,1,1,1],[1,1,1,1,0,1,1],[0,1,1,1,1,1,1]]},{"host":false,"name":1,"events":[\z
    [4,1,1,1,1,0,0,1,0,0,1]]}]}'):format(escapes, escapes, escapes)
local hostile = g.profile.load(write("hostile", head .. text))
local shown = { tostring(hostile) }
for _, group in ipairs { "op", "region", "line", "rank" } do
    shown[#shown + 1] = hostile:table { group = group }
end
for _, what in ipairs { "sync", "waits", "devices", "queues", "launches", "savings",
    "critical_path", "idle" } do
    shown[#shown + 1] = tostring(hostile[what](hostile))
end
shown[#shown + 1] = tostring(hostile:critical_path { group = "line" }) .. hostile:diff(hostile)
t.ok(not table.concat(shown):find "\27", "no text of a file reaches the terminal as it is")
t.error(function() g.profile.load(path "nothing") end, "cannot open .*nothing", "no file")
t.error(function() g.profile.load(path "kept.prof", { max_bytes = 99 }) end,
    "has more than 99 bytes unpacked, the limit; max_bytes", "more than the limit")
t.error(function() g.profile.load(path "kept.prof", { max_bytes = 0 }) end, "max_bytes: expected",
    "a limit of 0")
t.error(function() p:save(path "no/such/folder") end, "its folder does not exist", "no folder")
t.is(g.profile.load(path "kept.prof", { max_bytes = #whole }):events(), p:events(),
    "the limit itself")
t.done()
