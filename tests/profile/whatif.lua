--!plain
-- prof:whatif, savings, critical_path and idle from Lua: what they accept, what they say, and that
-- their parts add up. The numbers of replays are tested in replay.c.
local t = require "tap"
local g = require "gpush"

local x = g.randn(128, 128):to "sim"
local function work()
    local y = x
    for _ = 1, 5 do
        y = (y:matmul(x) / 128):tanh()
        local _ = y[1][1]:item() -- line 12
    end
    return y
end
work()
local p = g.profile.run(work)

-- ---- whatif ----
local same = p:whatif {}
t.is(same.wall_ns, p.wall_ns, "a replay in which nothing is other takes as long")
t.is(same.predicted, "nothing changed", "it says so")
t.is(p.predicted, nil, "what was measured does not")
t.is(same:rows(), p:rows(), "its rows are the same")
local without = p:whatif { without = "item" }
t.ok(without.wall_ns <= p.wall_ns, "without waits it takes no longer")
t.is(without.predicted, "without item", "what was changed")
t.ok(tostring(without):find("predicted by a replay, not measured (without item", 1, true),
    "its text says that it is predicted")
t.ok(without:table():match "Predicted by a replay, not measured: without item", "its table, too")
local function waits(prof)
    local n = 0
    for _, e in ipairs(prof:events()) do n = n + (e.kind == "wait" and 1 or 0) end
    return n
end
t.is({ waits(p), waits(without) }, { 5, 0 }, "the waits are gone")
t.is(waits(p:whatif { without = "whatif.lua:12" }), 0, "by line")
t.is(waits(p:whatif { without = { "print", "whatif.lua:12" } }), 0, "by a list")
t.is(waits(p:whatif { without = "all" }), 0, "all")
local both = p:whatif { scale = { matmul = 0.5 }, host = 0.1, overlap = true }
t.is(both.predicted, "matmul x 0.5, host x 0.1, copies beside kernels", "several changes")
t.ok(both.wall_ns < p.wall_ns, "take less")
local again = without:whatif { host = 0 }
t.ok(again.wall_ns <= without.wall_ns, "a prediction of a prediction")
local kept = p:whatif {}
local q = g.profile.run(work)
local late = q:whatif {}
q:free()
t.ok(#late:table() > 0, "a prediction outlives its profile")
t.error(function() q:whatif {} end, "it was freed", "which has none any more")

local function refused(options, message)
    t.error(function() p:whatif(options) end, message, message)
end
refused({ without = "nowhere.lua:3" }, "no wait at nowhere.lua:3 is on the record")
refused({ without = "later" }, 'without: expected a line such as "train.lua:40", "all", or a cause')
refused({ without = 3 }, "without: expected a line such as .* got number")
refused({ without = { 3 } }, "without%[1%]: expected a text, got number")
refused({ scale = { conv2d = 0.5 } }, "scale: no op 'conv2d' is on the record")
refused({ scale = { matmul = -1 } }, "scale: matmul: expected a factor from 0")
refused({ scale = { 2 } }, "scale: expected factors by op")
refused({ host = -1 }, "host: expected a factor from 0")
refused({ batch = 64 }, "batch: expected the samples of a batch as they are .* as in {32, 64}")
refused({ batch = { 32, 0 } }, "batch: expected the samples of a batch")
refused({ batch = { 128, 256 } }, "batch: no op on the record has a shape with a dim of 128")
refused({ workers = 2 }, "workers: no batch of a data.Loader is on the record")
refused({ workers = 0 }, "workers: expected 1 to 64, got 0")
refused({ device = "h200" }, "device")

-- ---- savings ----
local list = p:savings()
local first = list[1]
t.is({ #list, first.line, first.what, first.why, first.count }, { 1, 12, "item", "item", 5 },
    "the line that waited")
t.ok(list.all >= list[1].saves and list[1].saves <= list[1].waited, "what it costs")
t.ok(tostring(list):match "whatif.lua:12  item +5 ", "as text")
t.ok(tostring(list):match "predicted by a replay, not measured", "which says how it is known")
t.is({ p:sync()[1].line, p:sync()[1].saves }, { 12, list[1].saves },
    "the sync report of the profile has it, too")
t.ok(tostring(p:sync()):find("idle +saves\n") and tostring(p:sync()):find "predicted", "as text")
t.is({ list.asked, tostring(list):find("those that the script asks for", 1, true) }, { 0 },
    "which leaves nothing out")
local large = g.randn(400, 400):to "sim"
local function asked()
    for _ = 1, 3 do
        local y = large:matmul(large)
        g.synchronize()
        y:sum():item()
    end
end
local asks
for _ = 1, 9 do -- again where the device was done before the host came to wait
    asks = g.profile.run(asked):savings()
    if asks.asked == 3 then break end
end
t.is(asks.asked, 3, "waits that are asked for stay")
t.ok(asks.without_asked <= asks.wall - asks.all, "and both kinds together cost at least as much")
t.ok(tostring(asks):find "asks for %(synchronize, 3%) stay in that: without both kinds ",
    "which the text says")
local quiet = g.profile.run(function() return g.ones(3) + 1 end)
t.is(tostring(quiet:savings()), "no wait but those that the script asks for \z
    (prof:verdict() has these) is recorded", "none")

-- ---- the critical path, idle time ----
for _, group in ipairs { "op", "line" } do
    local sum = 0
    for _, part in ipairs(p:critical_path { group = group }) do sum = sum + part.ns end
    t.is(sum, p.wall_ns, "the critical path by " .. group .. " adds up to the wall time")
end
t.ok(tostring(p:critical_path()):match "matmul, on the device", "as text")
t.error(function() p:critical_path { group = "shape" } end,
    'group: expected "op", "line" or "rank"', "another group")
local idle, sum = p:idle(), 0
for _, name in ipairs { "kernels", "copies", "latency", "waiting", "op", "script" } do
    sum = sum + idle[name]
end
t.is(sum, p.wall_ns, "the parts of idle() add up to the wall time")
t.is({ idle.streams[1].device, idle.streams[1].stream }, { "sim:0", 0 }, "streams")
t.ok(tostring(idle):match "kernels ran", "as text")
t.is(tostring(quiet:idle()), "no device but the host ran anything", "without a device")
t.ok(kept.wall_ns == p.wall_ns, "kept")

-- ---- records that no program makes ----
-- A saved profile with other numbers in its events: in any order, out of the profiled time, waits
-- and kernels over each other. Those that are read are replayed as they are.
local name = os.tmpname()
local function times(prof)
    local list = { tostring(prof.wall_ns) }
    for _, e in ipairs(prof:events()) do
        list[#list + 1] = ("%s %s %d %s"):format(e.kind, e.name, e.start, e.stop)
    end
    table.sort(list)
    return table.concat(list, "\n")
end
local function write(text)
    local f <close> = io.open(name, "w")
    f:write(text)
end
g.profile.run(function()
    local first = g.fork(function() return work() end)
    local _ = (g.wait(first) + work()):to "cpu"
end):save(name)
local whole
do
    local f <close> = io.open(name)
    whole = f:read "a"
end
local head, events = whole:match '^(.-"threads":)(.*)$'
local drawn = 1
local function below(n)
    drawn = (drawn * 1103515245 + 12345) % 2147483648
    return drawn // 65536 % n
end
local numbers = select(2, events:gsub("%-?%d+", ""))
local function other(number)
    if below(numbers) > 2 then return nil end
    local now = tonumber(number)
    return tostring(({ 0, -now, 2 * now, now // 2, below(9), below(30000), -1 })[1 + below(7)])
end
local read, wrong = 0, 0
for _ = 1, 300 do
    write(head .. events:gsub("%-?%d+", other))
    local ok, odd = pcall(g.profile.load, name)
    if ok then
        read = read + 1
        wrong = wrong + (times(odd:whatif {}) == times(odd) and 0 or 1)
    end
end
os.remove(name)
t.ok(read > 20, ("%d of 300 such records are read"):format(read))
t.is(wrong, 0, "and nothing is other in a replay of one in which nothing is other")
t.done()
