--!plain
-- Predictions by a replay are consistent with the model: programs on a modelled card, whose times
-- are the same each time, take what a record of each said that their rewrites would. How far off
-- predictions of measured times are is another matter, which scripts/dev/accuracy measures: its
-- document and the figures that gpush prints with predictions agree.
local t = require "tap"
local g = require "gpush"

-- ---- modelled against modelled ----

g.sync.mode = "off"
local HOST <const>, SCRIPT <const>, LIMIT <const> = 8e-6, 4e-9, 0.005
g.sim.card, g.sim.host = "t4", HOST

-- Work of the script: the instructions of a loop, around views, which take no time here.
local view = g.randn(2, 2, { device = "sim" })
local function work(us)
    for _ = 1, us // 8 do local _ = view:t() end
end
local function record(fn, host)
    g.sim.host, g.sim.script = host or HOST, host and SCRIPT * host / HOST or SCRIPT
    fn()
    g.synchronize()
    local p = g.profile.run({ flops = true, shapes = true }, fn)
    g.sim.host, g.sim.script = HOST, SCRIPT
    return p
end

-- With threads watched each takes seconds: there 3 of each kind are enough for their locks.
local most <const> = os.getenv "GPUSH_SAN" == "thread" and 3 or 20
local tried = {}
for _, it in ipairs(require "rewrites"("sim", work)) do
    tried[it.kind] = (tried[it.kind] or 0) + 1
    if not it.slow and tried[it.kind] <= most then
        local predicted = record(it.first):whatif(it.whatif).wall_ns
        local is = record(it.kind == "host" and it.first or it.second,
            it.kind == "host" and HOST / 2 or HOST).wall_ns
        t.ok(math.abs(predicted - is) <= LIMIT * is,
            ("%s: %s: %.1f us predicted, %.1f then (%+.2f %%)"):format(it.kind, it.name,
                predicted / 1e3, is / 1e3, 100 * (predicted / is - 1)))
    end
end
-- Streams that come to overlap where waits go share the card, of a record without costs, too.
do
    local a = g.randn(512, 512, { device = "sim" })
    local streams = { g.stream "sim", g.stream "sim", g.stream "sim" }
    local programs = {
        streams = function(read)
            for i = 0, 8 do
                streams[i % 3 + 1]:use(function() read(a:matmul(a):matmul(a)[1][1]) end)
            end
        end,
        forks = function(read)
            for i = 1, 6 do
                local f = g.fork(function(x) return x:matmul(x):matmul(x) end, a)
                read((a * i):sum())
                read(g.wait(f):sum())
            end
        end,
    }
    local function item(x) return x:item() end
    local function later(x) return x:to("cpu", { non_blocking = true }) end
    local function run(program, read)
        for _ = 1, 3 do program(read) end -- forks' streams have all read a
        g.synchronize()
        return g.profile.run(function() program(read) end)
    end
    for name, program in pairs(programs) do
        local p, is = run(program, item), run(program, later).wall_ns
        local predicted = p:whatif({ without = "all" }).wall_ns
        t.ok(math.abs(predicted - is) <= LIMIT * is, ("%s: %.1f us predicted, %.1f then")
            :format(name, predicted / 1e3, is / 1e3))
        t.close(p:whatif({}).wall_ns, p.wall_ns, 1e-4, name .. ": as it was it takes as long")
    end
end
-- A batch 8 times as large: kernels that take a card's measured fixed time do not grow with it.
do
    g.sim.card, g.sim.host = "h200", HOST
    local net = g.nn.Sequential(g.nn.Linear(256, 256), g.nn.ReLU(), g.nn.LayerNorm(256),
        g.nn.Linear(256, 10)):to "sim"
    local function steps(n)
        local x = g.randn(n, 256, { device = "sim" })
        local y = g.randint(1, 10, { n }, { device = "sim" })
        return function()
            for _ = 1, 3 do g.cross_entropy(net(x), y):backward() net:zero_grad() end
        end
    end
    local predicted = record(steps(128)):whatif({ batch = { 128, 1024 } }).wall_ns
    local is = record(steps(1024)).wall_ns
    t.ok(math.abs(predicted - is) <= LIMIT * is, ("batch on a card with fixed times: %.1f us \z
        predicted, %.1f then"):format(predicted / 1e3, is / 1e3))
end
g.sim.card, g.sim.host, g.sim.script = nil, nil, nil

-- ---- what is printed with predictions ----

-- Every place that shows a prediction says how far off such ones were.
local figure = debug.getregistry()["gpush.replay"].accuracy
local function accuracy(...) return figure(nil, ...) end
local function holds(text, part, what)
    t.ok(text:find(part, 1, true), ("%s: %s"):format(what, part))
end
local x = g.randn(64, 64, { device = "sim" })
local p = g.profile.run(function()
    for _ = 1, 3 do local _ = x:matmul(x):sum():item() end
end)
local scratch = os.getenv "TMPDIR" or "/tmp"
local function file(name) return ("%s/accuracy_%s"):format(scratch, name) end
local function text_of(path)
    local f <close> = assert(io.open(path))
    return f:read "a"
end

holds(tostring(p:savings()), accuracy "wait", "savings")
holds(tostring(p:sync()), accuracy "wait", "sync")
local verdict = p:verdict()
holds(verdict.sentence, accuracy(verdict[1].cause), "the verdict")
t.is({ accuracy "waits", accuracy "loader", accuracy "script" },
    { accuracy "wait", accuracy "workers", accuracy "host" }, "causes are kinds of predictions")
-- No pair left these out, and none ran anywhere but on sim.
local NOBODY <const> = "no such prediction has been compared with a measurement"
for _, cause in ipairs { "kernels", "copies", "collectives", "launches", "cpu", "setup", "delays",
    "synchronize" } do
    t.is(accuracy(cause), NOBODY, cause .. ": nobody measured that")
end
local alone = g.profile.run(function() return g.ones(8):sum():item() end)
t.is({ figure(alone, "host"), figure(p, "host") }, { NOBODY, accuracy "host" },
    "a record of the CPU alone, and one of sim")
local made = require "torch_trace".trace()
made:region("train", 0, 100)
made:op("aten::item", 5, 80)
made:kernel("k", 20, 50, made:call("cudaLaunchKernel", 6, 2))
made:call("cudaStreamSynchronize", 10, 70)
local trace <close> = assert(io.open(file "pytorch.json", "w"))
trace:write(made:text())
trace:close()
local foreign = g.profile.load(file "pytorch.json")
os.remove(file "pytorch.json")
t.is({ figure(foreign, "wait"), foreign:whatif({ host = 0.5 }).accuracy }, { NOBODY, NOBODY },
    "a trace of PyTorch")
t.ok(not tostring(foreign:verdict()):find("within", 1, true), "whose verdict has no bound")
p:report(file "page.html")
holds(text_of(file "page.html"), accuracy "wait", "savings on a page")
local off = p:whatif { host = 0.5 }
holds(tostring(off), accuracy "host", "a profile as text")
holds(off:table(), accuracy "host", "its table")
holds(off:diff(p), "now: predicted by a replay, not measured (host x 0.5; " .. accuracy "host",
    "a difference")
t.ok(not p:diff(p):find "predicted", "of what was measured it says nothing")
holds(off:table { format = "markdown" }, accuracy "host", "in Markdown")
holds(off:table { format = "json" }, accuracy "host", "in JSON")
off:report(file "page.html")
holds(text_of(file "page.html"), ('"accuracy":"%s"'):format(accuracy "host"), "its page")
off:trace(file "trace.json")
holds(text_of(file "trace.json"), accuracy "host", "its trace")
off:save(file "saved.prof")
t.is(g.profile.load(file "saved.prof").accuracy, off.accuracy, "saved with it")
t.is(off:whatif({ overlap = true }).accuracy,
    ("%s; then %s"):format(accuracy "host", accuracy "overlap"), "a prediction of a prediction")
t.is({ p.accuracy, p:whatif({}).accuracy }, {}, "where nothing is other nothing is off")
for _, name in ipairs { "page.html", "trace.json", "saved.prof" } do os.remove(file(name)) end

-- ---- the document and the figures ----

-- {pairs, median, 9th decile} by kind.
local root = os.getenv "GPUSH_ROOT" or "."
local figures = {}
for kind, n, median, decile in text_of(root .. "/profile/replay/accuracy.def"):gmatch
    "\nACCURACY%((%w+), +(%d+), ([%d.]+), ([%d.]+)%)" do
    figures[kind] = { tonumber(n), tonumber(median), tonumber(decile) }
end
for kind, it in pairs(figures) do
    local n, shown = it[1], math.ceil(it[3])
    t.is(accuracy(kind), n == 0 and "no such prediction has been compared with a measurement"
        or ("%d of %d %s within %d %%, docs/accuracy.md"):format(n < 10 and n or 9,
            math.min(n, 10), kind == "card"
                and "single ops' times on a card (no whole program's was compared) were"
                or "such predictions were", shown), kind .. ": the figure is printed")
end
t.is(accuracy("network", "bound"), accuracy "bound", "of two kinds that which nobody measured")
t.is(accuracy("network", "card"), accuracy "card", "or that which was farther off")
local costs = g.profile.run({ flops = true }, function() return (x:matmul(x) + x):to "cpu" end)
t.is({ costs:on("h100").accuracy, costs:on("t4").accuracy },
    { accuracy "card", accuracy "bound" }, "a card that was measured, and one that was not")
t.is({ costs:on("h100"):whatif({ host = 0.5 }).accuracy, figure(costs:on "t4", "wait") },
    { accuracy "card" .. "; then " .. NOBODY, NOBODY },
    "what is predicted from a modelled record was compared with no program")
t.is(costs:on("h100"):on("h200").accuracy, accuracy "card" .. "; then " .. accuracy "card",
    "but single ops from one card to another")

-- The document's rows of pairs give the figures.
local page = io.open(root .. "/docs/accuracy.md")
if page then
    local rows = {}
    local PAIR <const> = "\n| (%w+) | [^|]+ | [%d.]+ | [%d.]+ | [%d.]+ | ([-+][%d.]+) %% |"
    for kind, by in page:read "a":gmatch(PAIR) do
        rows[kind] = rows[kind] or {}
        table.insert(rows[kind], math.abs(tonumber(by)))
    end
    page:close()
    for kind, list in pairs(rows) do
        table.sort(list)
        local n = #list
        local is = { n, list[math.ceil(n / 2)], list[n < 10 and n or math.ceil(0.9 * n)] }
        t.is(figures[kind], is, kind .. ": the document's pairs give the code's figures")
    end
    t.ok(next(rows), "the document has pairs")
end
t.done()
