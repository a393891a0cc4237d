-- Failures of queued work: they reach every user of values computed from it, on any stream, and
-- others only once.
local t = require "tap"
local dev = "sim"
local on = { device = dev }

local nine, x = tensor({ 9 }, on), ones(3, on)
-- fewer on the stand-in for CUDA, which takes 30 times as long for each
local big = ones(dev == "cuda" and not require "on_card" (dev) and 1 << 13 or 1 << 18, on)
synchronize(dev)

local function slow(y)
    for _ = 1, 20 do y = y + 1 end
    return y
end
-- One element that does not exist, after enough work to be still queued when the next line is
-- reached.
local line = 0
local function bad()
    slow(big)
    line = debug.getinfo(1, "l").currentline + 1
    return x:index_select(1, nine)
end
local function message(f, ...)
    local ok, text = pcall(f, ...)
    return ok and "no error" or tostring(text)
end
local function fails(what, f, ...)
    local text = message(f, ...)
    t.ok(text:find("index_select: index 9 is out of range", 1, true)
        and text:find(("failures.lua:%d on"):format(line), 1, true), what .. ": " .. text)
end
local function fine(what, f, ...) t.is(message(f, ...), "no error", what) end

-- a value of another stream, each way in which numbers leave a device, and again
do
    local ways = {
        item = function(y) return y:item() end,
        tolist = function(y) return y:tolist() end,
        print = function(y) return tostring(y) end,
        branch = function(y) if y then return 1 end end,
        copy = function(y) return y:cpu() end,
        copy_into = function(y) return zeros(1):copy_(y) end,
        equal = function(y) return equal(y, y) end,
    }
    for name, way in pairs(ways) do
        local y = wait(fork(bad))
        fails(name .. " of a forked result", way, y)
        fails(name .. " again", way, y)
        local s = stream(dev)
        y = s:use(bad)
        fails(name .. " of what a stream made", way, y)
        fine("the stream goes on", s.use, s, function() return x:sum():item() end)
    end
end

-- values computed from it, through streams that consumed it, however it was reported first
do
    local a, b, c = stream(dev), stream(dev), stream(dev)
    local y = a:use(bad)
    local z = b:use(function() return y * 2 end)
    local w = c:use(function() return (cat { z, x }):sum() end)
    fails("through two more streams", w.item, w)
    fine("which is reported once", synchronize)
    fails("the value in between", z.item, z)
    local later = z + 1
    y, z = nil, nil
    collectgarbage()
    for _ = 1, 3000 do local _ = x + 1 end
    fails("the last one, after much other work", w.item, w)
    fails("and what was launched after that", later.item, later)
    t.is(x:sum():item(), 3, "what has nothing to do with it is as it was")
end

-- memory that held such a value is reused
for _ = 1, 20 do
    fails("a value", function() return bad():item() end)
    t.is((x * 2):tolist(), { 2, 2, 2 }, "is in nobody's way when it is gone")
end

-- each kind of wait raises it, once
do
    local s = stream(dev)
    local waits = {
        ["stream:synchronize"] = function() s:synchronize() end,
        ["event:synchronize"] = function() s:record():synchronize() end,
        ["synchronize of the device"] = function() synchronize(dev) end,
        synchronize = function() synchronize() end,
        elapsed = function()
            local e = s:record()
            e:elapsed(s:record())
        end,
        timeit = function() timeit(function() end, { n = 1, print = false }) end,
        compare = function() compare({ a = function() end }, { n = 1, print = false }) end,
        profile = function() profile.run(function() end) end,
        ["wait for an event on another stream"] = function()
            local r = stream(dev)
            r:wait(s:record())
            r:use(function() return x:sum():item() end)
        end,
    }
    for name, f in pairs(waits) do
        s:use(bad)
        fails(name, f)
        fine(name .. " afterwards", f)
    end
    local e = s:record()
    s:use(bad)
    fine("an event before the failure", e.synchronize, e)
    fails("its stream", s.synchronize, s)
end

-- failures on two streams, and many on one
do
    local a, b = stream(dev), stream(dev)
    local y, z = a:use(bad), b:use(bad)
    local text = message(synchronize, dev)
    t.ok(text:find "index_select.*; and index_select",
        "a wait for the device raises those of all its streams: " .. text)
    fine("once", synchronize, dev)
    fails("one value", y.item, y)
    fails("the other value", z.item, z)
    y, z = a:use(bad), b:use(bad)
    fails("a value of one stream", y.item, y)
    fails("leaves the other stream's", b.synchronize, b)
    for _ = 1, 20 do a:use(bad) end
    text = message(a.synchronize, a)
    t.ok(text:find "; and 19 more, the last one: index_select",
        "many are reported in one message: " .. text)
    local n = 0
    text = message(function()
        for i = 1, 1e5 do
            n = i
            x:index_select(1, nine)
        end
    end)
    t.ok(text:find "index_select: index 9 is out of range.*more" and n < 5000,
        "a loop that fails and never waits ends after " .. n)
    message(synchronize)
end

-- gradients, and a step with them
do
    local p = ones(3, { device = dev, requires_grad = true })
    local labels = tensor({ 9 }, on)
    local loss = wait(fork(function() return p:index_select(1, nine):sum() end))
    loss:backward()
    t.error(function() return p.grad:tolist() end, "out of range", "a gradient")
    local opt = optim.SGD({ p }, { lr = 1 })
    opt:step()
    t.error(function() return p:tolist() end, "out of range",
        "a parameter that was stepped with it")
    no_grad(function() p:copy_(x) end)
    t.is(p:tolist(), { 1, 1, 1 }, "and is good again once it is overwritten")
    p.grad = nil
    local l = cross_entropy(zeros(1, 3, on), labels)
    t.error(function() return l:item() end, "cross_entropy: label 9", "a loss")
end

-- in place: the target of a write at indices is unchanged, once the failure was raised
do
    local y = zeros(3, on)
    synchronize(dev)
    slow(big)
    y:index_fill_(1, nine, 7)
    local before = y + 1
    t.error(synchronize, "index_fill: index 9", "a failed write")
    t.is(y:tolist(), { 0, 0, 0 }, "leaves what it would have written")
    t.is((y + 1):tolist(), { 1, 1, 1 }, "and that can be used")
    t.error(function() return before:tolist() end, "index_fill: index 9",
        "what counted on the write cannot")
    local n = tensor({ 4, 5, 6 }, { device = dev, dtype = "i64" })
    n:floor_divide_(tensor({ 2, 0, 3 }, { device = dev, dtype = "i64" }))
    for _ = 1, 2 do
        t.error(function() return n:tolist() end, "division by zero", "formulas write as they go")
    end
    n["1:2"] = 0
    t.error(function() return n:tolist() end, "division by zero",
        "a part of it that is overwritten is not enough")
    n:fill_(0)
    t.is(n:tolist(), { 0, 0, 0 }, "the whole of it is")
    local y = x:index_select(1, nine)
    message(synchronize)
    t.ok(rand_like(y):item() < 1 and y:uniform_():item() < 1,
        "what has only its shape does not come from it")
end

-- released streams, nested forks, Lua's own errors
do
    local y
    do
        local s = stream(dev)
        y = s:use(bad)
    end
    collectgarbage()
    collectgarbage()
    fails("a value of a stream that is gone", y.item, y)
    y = wait(fork(function() return wait(fork(bad)) + 1 end))
    fails("a fork in a fork", y.item, y)
    local l = wait { fork(bad), fork(function() return x:sum() end) }
    fails("one of a list", l[1].item, l[1])
    t.is(l[2]:item(), 3, "the other one")
    t.error(function()
        fork(function()
            bad()
            error "of Lua"
        end)
    end, "of Lua", "Lua's own error comes first")
    fails("then the device's", synchronize)
end

-- a modelled card releases what it has copied when it is asked whether it is done, which the log
-- of what is queued asks, and which is logged: the two never wait for each other
if dev:find "^s" then -- tests/cuda runs this file on the stand-in for CUDA
    synchronize()
    sync.mode = "off"
    sim.card, sim.host = "t4", 1e-6
    local many, some = randn(4096, on), randn(4, on)
    local out = tensor({ 99 }, { device = dev, dtype = "i64" })
    local raised = 0
    for _ = 1, 20 do
        local _ = some:index_select(1, out)
        for _ = 1, 300 do
            many:to("cpu", { non_blocking = true })
            collectgarbage "step"
            local _ = some + 1
        end
        if message(synchronize):find "index 99 is out of range" then raised = raised + 1 end
    end
    t.is(raised, 20, "copies released beside a failure")
    sim.card, sim.host = nil, nil
end

fine("nothing is left", synchronize)
t.done()
