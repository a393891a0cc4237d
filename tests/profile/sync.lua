-- The sync debugger: warnings, error mode, scopes, ledger, report, self-test.
local t = require "tap"
local sync = sync
local dev = "gpu"

-- Work for the device: n additions to rows of 1,024 numbers.
local function additions(rows, n)
    local y = full({ rows, 1024 }, 1, { device = dev, dtype = "f32" })
    for _ = 1, n do y = y + 1 end
    return y
end

-- The rows, up to most, with which n additions take the device that many seconds: the stand-in for
-- CUDA takes a hundred times as long as sim.
local function rows_for(seconds, n, most)
    local rows = 4
    while rows < most do
        local from = clock()
        additions(rows, n):sum():item()
        if clock() - from > seconds then break end
        rows = rows * 2
    end
    return rows
end
local some_rows, many_rows = rows_for(0.01, 8, 256), rows_for(0.1, 40, 1024)
local function busy() return additions(some_rows, 8) end -- something to wait for
local function total(why)
    local n = 0
    for _, l in ipairs(sync.lines()) do
        if not why or l.why == why then n = n + l.times end
    end
    return n
end

-- What a child process prints on its standard error.
local function stderr_of(text)
    local name = os.tmpname()
    local f = assert(io.open(name, "w"))
    f:write(text)
    f:close()
    local p = io.popen(string.format("%s %s 2>&1 >/dev/null", arg[-1], name))
    local out = p:read("a")
    p:close()
    os.remove(name)
    return (out:gsub(name:gsub("%p", "%%%0"), "CHILD"))
end

-- ---- warnings ----
local head = [[
local x = full({256, 256}, 1, {device = "gpu", dtype = "f32"})
sync.warn = true
]]
local out = stderr_of(head .. [[
for i = 1, 5 do x = x + 1 end
local s = x:sum()
local v = s:item()
]])
-- Times of the stand-in for CUDA, on which tests/cuda runs this file, count as measured.
local KIND <const> = ("sim"):find "^s" and "%(CPU%-backed, not a GPU's%)" or "%(measured%)"
local pattern = "^CHILD:5: item waited [%d.]+ [mun]?s on sim:0 " .. KIND .. " \z
    for (%d+) queued ops? %(last: sum, CHILD:4%); [^\n]+\n$"
t.ok(out:find(pattern),
    "a warning is one line: where, what, how long, for what, and what to write instead")
if not out:find(pattern) then io.stderr:write("# ", out) end
t.is(stderr_of(head .. "x = x + 1; local y = x:sum(); local z = x['1:4']; local n = #x"), "",
    "what does not wait is not warned about")
t.is(stderr_of(head:gsub("sync.warn = true", "") .. "local v = x:sum():item()"), "",
    "nothing is said unless asked")
t.is(stderr_of(head .. "local v = x:to('cpu'):sum():item()"):match("^CHILD:3: (%w+) waited"), "to",
    "a blocking copy is reported")
t.is(select(2,
    stderr_of(head .. "for i = 1, 120 do local v = x[1][1]:item() end"):gsub("\n", "\n")), 3,
    "a line in a loop is reported at its 1st, 10th and 100th wait")
t.ok(stderr_of(head ..
    "for i = 1, 10 do local v = x[1][1]:item() end"):find("%[10 times, [%d.]+ [mun]?s in all; \z
    worth at least [%d.]+ [mun]?s each: the device then idled so long%]\n$"),
    "with how often and how long, and what it is worth")
t.is(stderr_of(head .. "do local _ <close> = sync.allow 'log' ; local v = x:sum():item() end"), "",
    "allowed waits are not warned about")
t.is(stderr_of(head .. "synchronize()"), "", "nor what was asked for")
t.ok(stderr_of(head .. "if x:sum() > 0 then end"):find("CHILD:3: branch waited"),
    "a condition is reported")

-- The prompt's echo of a result is not a line of the script.
local p = io.popen(
    string.format("printf 'x = full({3}, 1, {device = \"gpu\"})\nsync.mode = \"error\"\nx\nfor _, \z
        l in ipairs(sync.lines()) do print(l.why, l.times) end\n' | %s -i 2>&1",
    arg[-1]))
local echoed = p:read "a"
p:close()
t.ok(echoed:find("tensor({1", 1, true) and echoed:find("echo\t1", 1, true),
    "the prompt's echo is recorded as such and never refused")

-- ---- error mode ----
local x = busy()
sync.mode = "error"
t.error(function() return x:sum():item() end,
    "^[^\n]*sync%.lua:%d+: item would wait on sim:0 for %d+ queued ops? %(last: sum, \z
        [^\n]*sync%.lua:%d+%); .+",
    "error mode refuses, in the same form")
t.error(function() return x:to("cpu") end, "to would wait", "a copy")
t.error(function() return tostring(x) end, "would wait", "tostring")
t.error(function() if x:sum() == 1 then return end end, "would wait", "a comparison")
local c = full({ 3 }, 7, { dtype = "f32" })
t.is(c:tolist(), { 7, 7, 7 }, "the host's tensors can be read")
local y = x:sum()
sync.mode = "off"
t.is(y:item(), some_rows * 1024 * 9, "after a refusal everything is usable")
t.is(x:sum():item(), some_rows * 1024 * 9, "and the tensors are as they were")

-- ---- scopes ----
sync.mode = "error"
t.is(sync.allow("test", function(a) return a + x:sum():item() end, 1), some_rows * 1024 * 9 + 1,
    "allow as a function passes arguments and results")
do
    local _ <close> = sync.allow "test"
    t.ok(pcall(function() return x:sum():item() end), "allow as a scope")
end
t.ok(not pcall(function() return x:sum():item() end), "ends with its block")
pcall(function()
    local _ <close> = sync.allow "test"
    error "out of it"
end)
t.ok(not pcall(function() return x:sum():item() end), "also on an error")
local co = coroutine.wrap(function()
    local _ <close> = sync.allow "coroutine"
    local first = x:sum():item()
    coroutine.yield(first)
    return x:sum():item()
end)
t.is(co(), some_rows * 1024 * 9, "a coroutine's scope holds in it")
t.ok(not pcall(function() return x:sum():item() end), "not outside while it is suspended")
t.is(co(), some_rows * 1024 * 9, "and again when it runs on")
do
    local _ <close> = sync.allow "outer"
    t.ok(coroutine.wrap(function() return pcall(function() return x:sum():item() end) end)(),
        "a scope holds in the coroutines it resumes")
end
t.is(sync.mode, "error", "scopes leave the mode alone")
sync.mode = "off"

t.error(function()
    local _ <close> = sync.budget { max = 1 } ; local a, b = x:sum():item(), x:sum():item()
end,
    "sync.lua:%d+: sync.budget: the host waited 2 times, at most 1 allowed, [^\n]*: \z
        [^\n]*sync.lua:%d+ item x2", "a budget raises at its end and names the lines")
t.ok(pcall(function()
    local _ <close> = sync.budget { max = 2 } ; local a, b = x:sum():item(), x:sum():item()
end), "a kept budget says nothing")
t.ok(pcall(sync.budget, { stall = "100s" }, function() return x:sum():item(), x:sum():item() end),
    "stall alone leaves the number open")
t.error(function() sync.budget({ stall = "1ns" }, function() return x:sum():item() end) end,
    "sync.budget: the host waited 1 time, [%d.]+ [mun]?s in all " .. KIND .. ", at most 1 ns \z
    allowed: ",
        "but not the time")
t.ok(pcall(sync.budget, {},
    function() local _ <close> = sync.allow "r" ; return x:sum():item() end),
        "allowed ones are free")
t.is(select(2, pcall(sync.budget, {}, function() x:sum():item() ; error("mine", 0) end)), "mine",
    "an error on its way out is not replaced")
t.is(sync.budget({ max = 1 }, function(a, b) return b, a end, 1, 2), 2,
    "a budget's function form passes arguments and results")

co = coroutine.wrap(function()
    return sync.budget({ max = 1 }, function(a) return coroutine.yield(a) + x:sum():item() end, 1)
end)
t.is({ co(), co(5) }, { 1, some_rows * 1024 * 9 + 5 }, "a budget's function may yield")
t.is(#sync.lines() > 0 and sync.allow("r", function() return 1, nil, 3 end), 1,
    "allow passes several results")
t.error(function()
    sync.budget({ max = 0, stall = "100s" }, function() return x:sum():item() end)
end, "the host waited 1 time, at most 0 allowed, [%d.]+ [mun]?s in all %b(), at most 100 s allowed",
    "max counts waits of any length")
t.error(function() -- each is shorter than stall, all together are longer
    local first
    sync.budget({ stall = 1000 },
        function() first = clock() x:sum():item() first = clock() - first end)
    sync.budget({ max = 1000, stall = 2 * first },
        function() for _ = 1, 200 do busy():sum():item() end end)
end,
    "the host waited %d+ times, at most 1000 allowed, [%d.]+ [mun]?s in all %b(), at most [%d.]+ \z
        [mun]?s allowed", "stall is of all waits together")
t.ok(not pcall(sync.budget, {}, function() return x:sum():item() end),
    "with neither there is to be no wait")
t.ok(pcall(sync.budget, { max = math.huge }, function() return x:sum():item() end),
    "math.huge is no limit")
local not_closed = "CHILD:3: sync.budget was not closed: write local _ <close> = \z
    sync.budget(...), or pass it a function\n"
t.is(stderr_of(head:gsub("sync.warn = true", "") ..
    "sync.budget { max = 1 }\nlocal v = x:sum():item()"), not_closed,
    "a budget that nobody closes is not passed over in silence")
local forgotten = stderr_of(head:gsub("sync.warn = true", "") ..
    "b = sync.budget { max = 0 }\nlocal v = x:sum():item() b = nil collectgarbage()")
t.ok(forgotten:find("^gpush: CHILD:3: sync.budget: the host waited 1 time, at most 0 allowed")
    and forgotten:find(not_closed, 1, true), "nor is one that is exceeded")
t.ok(stderr_of(head .. "sync.allow 'log'"):find "CHILD:3: sync.allow was not closed",
    "nor is an allow")
t.is(stderr_of(head ..
    "pcall(sync.allow, 'log', error) ; do local _ <close> = sync.budget { max = 1 } end"), "",
        "closed ones say nothing")
-- Work that takes long, however busy the machine is when the wait comes.
local function wait() return additions(many_rows, 40):sum():item() end
co = coroutine.wrap(function()
    local _ <close> = sync.budget { max = 0 }
    coroutine.yield()
end)
co()
wait()
t.ok(pcall(co), "a budget in a coroutine is not for what others wait for meanwhile")
t.error(function()
    local _ <close> = sync.budget { max = 0 }
    local _ <close> = sync.budget { max = 5 }
    wait()
end, "the host waited 1 time, at most 0", "a wait counts for the outer budget as well as the inner")
co = coroutine.wrap(function()
    local _ <close> = sync.allow "co"
    coroutine.yield()
end)
co()
t.error(function()
    local _ <close> = sync.budget { max = 0 }
    co()
    wait()
end, "the host waited 1 time", "a coroutine's scope that ends takes no other with it")
do -- Two coroutines in turn: each one's scope is its own.
    local function turns(open)
        return coroutine.wrap(function()
            local _ <close> = open()
            for _ = 1, 2 do
                wait()
                coroutine.yield()
            end
        end)
    end
    local allows = turns(function() return sync.allow "mine" end)
    local counts = turns(function() return sync.budget { max = 2 } end)
    for _ = 1, 2 do
        allows()
        counts()
        sync.allow("outside", wait)
    end
    t.ok(pcall(counts) and pcall(allows),
        "scopes of coroutines that take turns count their own waits")
    local dead = coroutine.create(function()
        local scope = sync.allow "dead"
        error(scope)
    end)
    local _, scope = coroutine.resume(dead)
    sync.mode = "error"
    t.error(function() return x:sum():item() end, "would wait",
        "the scope of a coroutine that failed holds no longer")
    sync.mode = "off"
    getmetatable(scope).__close(scope)
end
local function sum() return busy():sum() end
local many = load("local sum = ... local _ <close> = sync.budget {}" ..
    ("\nlocal v = sum():item()"):rep(30), "=many")
local _, message = pcall(many, sum)
t.ok(tonumber(message:match "waited (%d+) times") > 8
    and select(2, message:gsub("many:%d+ item", "")) == 8
    and message:find ", %.%.%.$", "a budget counts the waits of many lines and names eight")
sync.reset()
many = load("local sum = ..." .. ("\nlocal v = sum():item()"):rep(150), "=many")
-- less to wait for than busy(): there are 300 of them
local few = full({ some_rows, 256 }, 1, { device = dev, dtype = "f32" })
sum = function() return (few + 1):exp():sum() end
many(sum)
many(sum)
-- not every line had something to wait for each time, if the machine was busy
local known, again = {}, 0
for _, l in ipairs(sync.lines()) do
    again = again + (known[l.line] and 1 or l.times > 2 and 1 or 0)
    known[l.line] = true
end
t.ok(#sync.lines() > 64 and again == 0, "the ledger knows its lines after it has grown")
sync.reset() -- more waits than are kept individually; the last ones are listed in order
local ascending, lost, x1, kept = true, 0, ones({ 1 }, { device = dev }), nil
for _ = 1, 5 do
    for _ = 1, lost == 0 and 2000 or 0 do x1 = x1 + 1 x1:item() end
    kept, lost = sync.events()
end
for i = 2, #kept do ascending = ascending and kept[i].start >= kept[i - 1].start end
if lost == 0 then t.skip(1, "the machine is too busy: nothing was to be waited for")
else t.ok(ascending and #kept == 4096, "the last waits, the oldest first") end
sync.reset()
wait()
local stop = os.clock() + 0.05
while os.clock() < stop do end
ones({ 1 }, { device = dev })
local l = sync.lines()[1]
t.ok(l.idle <= l.wait,
    "what the script does for itself after a wait is not idle time that the wait caused")
sync.reset()
local copies = {}
additions(many_rows, 40):to "cpu"
local _ = additions(many_rows, 40)
ones(1 << 20):to(dev)
for _, e in ipairs(sync.events()) do
    if e.why == "copy" then copies[#copies + 1] = e.advice:match "^%w+ %w+" end
end
t.is(copies, { "leave it", "pin the" }, "advice is for the direction of the copy")
-- A tensor with requires_grad exists here, which is nobody's business but its own results'.
local w, pinned = ones({ 3 }):to(dev):requires_grad_(), zeros(3):pin_memory()
sync.reset()
local many, kept = additions(many_rows, 40):reshape(-1), zeros(many_rows * 1024):pin_memory()
kept:copy_(many, { non_blocking = true })
t.is(#sync.events(), 0,
    "a copy into pinned memory does not wait where other tensors need gradients")
t.is({ kept:min():item(), kept:max():item(), kept.requires_grad }, { 41, 41, false },
    "and arrives, without a history")
local squares = pinned * w:cpu() -- saves pinned
pinned:copy_(ones({ 3 }, { device = dev }), { non_blocking = true })
local at = debug.getinfo(1, "l").currentline - 1
t.error(function() squares:sum():backward() end, "sync.lua:" .. at,
    "backward names the line of a copy that nobody waited for")
pinned:copy_(w * 2, { non_blocking = true })
local rows = zeros(4)
rows["1:3"] = w * 3
(pinned:sum() + rows:sum()):backward()
t.is(w.grad:tolist(), { 5, 5, 5 }, "what needs a gradient itself is recorded, across devices, too")
sync.reset()
wait()
sync.allow("r", wait)
sync.mode = "error"
t.ok(not pcall(wait), "refused")
sync.mode = "off"
local found = {}
for _, l in ipairs(sync.lines()) do found[l.reason or "none"] = l.times .. " " .. l.refused end
t.is(found, { none = "1 1", r = "1 0" },
    "one line, allowed and not: two entries; what was refused is no wait")

-- ---- the ledger ----
sync.reset()
t.is(#sync.lines(), 0, "reset forgets")
for _ = 1, 3 do x = x + 1 ; local v = x:sum():item() end
do local _ <close> = sync.allow "reason" ; local v = x:sum():item() end
local lines = sync.lines()
t.is(#lines, 2, "one entry per line and reason")
t.is({ lines[1].times, lines[1].why, lines[1].what, lines[1].device },
    { 3, "item", "item", "sim:0" }, "times, why, what and where")
t.ok(lines[1].wait > 0 and lines[1].longest <= lines[1].wait and lines[1].idle > 0
    and lines[1].idle <= lines[1].wait, "host wait, longest, idle")
t.ok(lines[1].drained >= 1, "device work drained")
t.is(lines[2].reason, "reason", "allowed waits are kept with their reason")
local e = sync.events()
t.is(#e, 4, "each wait is an event")
t.is({ e[1].why, e[1].last_op, e[1].line == lines[1].line, e[1].refused },
    { "item", "sum", true, false }, "with what was queued")
local text = sync.report { print = false }
t.ok(text:find("sync%.lua:" .. lines[1].line .. "%s+item%s+%w+:0%s+3%s")
    and text:find("allowed: reason", 1, true) and text:find("0%-d tensor"),
    "the report has a row per line with what to write instead")
sync.reset()
synchronize() ; additions(many_rows, 40) ; synchronize()
t.is(sync.lines()[1].why, "explicit", "synchronize is in the ledger as explicit")
sync.reset()
local z = full({ 16 }, 1, { device = dev }) ; local w = (z + 1):sum() ; w = z["1:3"]
t.is(#sync.lines(), 0, "what does not wait leaves nothing")
for i = 1, 3000 do z = z + 1 end
t.is(total(), total "queue", "a full launch queue is no more than recorded")
sync.mode = "error"
local went, refused = pcall(function() for i = 1, 3000 do z = z + 1 end end)
sync.mode = "off"
t.is({ went, refused }, { true }, "and never refused")

-- ---- bad input ----
t.error(function() sync.mode = "loud" end,
    "sync.mode: expected \"off\", \"warn\" or \"error\", got loud", "a mode that is none")
for line, says in pairs {
    ["sync.error = true"] = 'write sync%.mode = "error", or sync%.error%(',
    ["sync.budget = 3"] = "call it, sync%.budget%(",
    ["sync.report = nil"] = "call it, sync%.report%(",
    ['sim.cards = "h200"'] = 'sim%.card = "h200" sets',
    ["nan.watch = true"] = "nan%.watch%(function", ["profile.run = true"] = "call it",
    ["autograd.detect_anomaly = true"] = "watches a call" } do
    t.error(load(line, "=line"), "^line:1: %S+ is a function, so nothing was set: .*" .. says, line)
end
t.error(load("sync.nosuch = 1", "=line"), '^line:1: sync has no field "nosuch"', "an unknown field")
local of_sync = {}
for name, f in pairs(sync) do of_sync[name] = f end
t.ok(of_sync.error == sync.error and of_sync.report == sync.report, "pairs gives sync's functions")
t.ok(tostring(sync):find "^sync: Tab after sync%.", "which the prompt says how to list")
local allow, numbers = sync.allow, { size = 1 }
function numbers:get(i) return allow("a test", function() return tensor(i) end) end
for _, batch in data.Loader(numbers, { workers = 1 })() do
    t.is(batch:item(), 1, "a loader's worker has such a function, too")
end
local report = sync.report
sync.report = function() return "mine" end
t.is(sync.report(), "mine", "a function may stand in for one")
sync.report = report
t.error(function() sync.warn = 1 end, "sync.warn: expected true or false, got number", "warn")
t.error(function() sync.wran = true end, "no field \"wran\"", "a field that is none")
t.error(function() sync.allow() end, "argument 'reason' %(#1%): expected a string",
    "allow without a reason")
t.error(function() sync.allow("x", 3) end, "expected a function, got 3", "allow of no function")
t.error(function() sync.budget { most = 1 } end,
    "sync.budget: unknown option 'most' %(expected max, stall%)", "a budget's field")
t.error(function() sync.budget { max = -1 } end, "max: expected a number of waits, got %-1",
    "a budget's max")
t.error(function() sync.budget { stall = "soon" } end,
    "expected seconds or a time such as \"50us\", got soon", "a budget's stall")
t.is({ sync.mode, sync.warn }, { "off", false }, "and the mode is as it was")
sync.warn = true
t.is(sync.mode, "warn", "warn = true is the mode warn")
sync.warn = false
t.is(sync.mode, "off", "and false is off")

-- ---- the self-test ----
sync.mode = "warn"
sync.reset()
local calls = sync.calls()
local function first_call()
    return calls[1] and { calls[1].what, calls[1].line, calls[1].times, #calls }
end
additions(many_rows, 40):sum():item() -- long enough for a host that is held up to find it busy
local large = zeros(8000017, { device = dev }) -- on CUDA that asks for memory, which may block
calls = sync.calls()
local booked = first_call()
t.is(booked ~= nil, large.device:find "cuda" ~= nil, "calls that may block are booked before it")
local kept_lines = #sync.lines()
t.ok(kept_lines > 0, "and a wait is in the ledger")
local ok, missed = sync.selftest(dev)
t.ok(ok, "the self-test catches every class on " .. dev)
for _, line in ipairs(missed) do io.stderr:write("# ", line, "\n") end
t.is({ sync.mode, #sync.lines() }, { "warn", kept_lines }, "and leaves mode and ledger alone")
calls = sync.calls()
t.is(first_call(), booked, "and the books of the runtime's calls")
sync.mode = "off"
t.ok(not sync.selftest "cpu", "where nothing waits it says that it caught nothing")
t.done()
