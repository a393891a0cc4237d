--!plain
-- Captured functions that fork: replays run on the forks' streams, and give the same bits.
local t = require "tap"
local g = require "gpush"

g.threads(1) -- the bits of a product are those of one thread, as a worker's

local function large(dev) return g.rand(64, 64):to(dev) end

-- Streams with kernels while fn runs; the host itself, which runs the cpu's ops, is none.
local function streams(fn, ...)
    local args, seen, n = { ... }, {}, 0
    local prof = g.profile.run(function()
        fn(table.unpack(args))
        g.synchronize()
    end)
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and not seen[e.stream] then seen[e.stream], n = true, n + 1 end
    end
    return n
end

for _, dev in ipairs { "cpu", "sim" } do
    local kept = g.ones(64, 64):to(dev)
    local function fn(x)
        local f = g.fork(function(a)
            for _ = 1, 3 do a = a:matmul(a) * 0.01 end
            return a, a:sum()
        end, x)
        local y = x
        for _ = 1, 3 do y = y:matmul(y) * 0.02 end
        local a, total = g.wait(f)
        kept:add_(a) -- in place: the next call's fork comes after it
        return g.fork(function() return kept * y end):wait() + a, total
    end
    local captured = g.capture(fn)
    for i = 1, 6 do
        local x = large(dev)
        local before = kept:clone()
        local a, b = captured(x)
        local kept_then = kept:clone()
        kept:copy_(before)
        local want, total = fn(x)
        t.ok(a:equal(want) and b:equal(total) and kept:equal(kept_then),
            ("call %d on %s"):format(i, dev))
    end
    local x = large(dev)
    local own = dev == "cpu" and 1 or 0 -- the caller's calls have one, too
    t.is(streams(captured, x), streams(fn, x) + own, "a replay is on as many streams, on " .. dev)
    t.ok(streams(captured, x) > (dev == "cpu" and 0 or 1), "and these are several")

    -- backward runs on the forks' streams
    local w = g.rand(64, 64):to(dev):requires_grad_()
    local function step(x)
        w.grad = nil
        local futures = {}
        for i = 1, 3 do
            futures[i] = g.fork(function() return (x * i):matmul(w):tanh():matmul(w) end)
        end
        local loss = g.stack(g.wait(futures)):square():mean()
        loss:backward()
        return loss
    end
    if dev == "cpu" then -- backward's own calls do not hold up those of its forks
        local both = g.capture(function(x)
            w.grad = nil
            local f = g.fork(function() return (x * 2):matmul(w):sin():matmul(w) end)
            local y = x:matmul(w):tanh():cos()
            local loss = (g.wait(f) + y):mean()
            loss:backward()
            return loss
        end)
        both(x)
        local op, kernel = {}, {}
        for _, e in ipairs(g.profile.run(function() both(x) end):events()) do
            if e.kind == "op" then op[e.name] = e.start end
            if e.kind == "kernel" then kernel[e.name] = e.start end
        end
        t.ok(op.sin_dx > op.cos_dx and kernel.cos_dx > op.sin_dx and kernel.tanh_dx > op.sin_dx,
            "the caller's calls run once its forks' are queued")
    end
    local again, losses, grads = g.capture(step), {}, {}
    for i = 1, 4 do
        x = large(dev)
        losses[i], grads[i] = again(x), w.grad
        local want = step(x)
        t.ok(losses[i]:equal(want) and grads[i]:equal(w.grad),
            ("step %d on %s: loss and gradient"):format(i, dev))
    end

    -- within a fork, many at a time
    local futures, want = {}, {}
    for i = 1, 6 do
        x = large(dev)
        futures[i], want[i] = g.fork(again, x), step(x)
    end
    for i = 1, 6 do t.ok(g.wait(futures[i]):equal(want[i]), "replay " .. i .. " in a fork") end

    -- no intermediate results: nothing but the capture itself orders replays on several streams
    local one, inputs = g.capture(function(a) return a:exp() end), {}
    one(g.rand(20000):to(dev))
    for i = 1, 8 do
        inputs[i] = g.rand(20000):to(dev)
        futures[i] = g.fork(one, inputs[i])
    end
    for i = 1, 8 do
        t.ok(g.wait(futures[i]):equal(inputs[i]:exp()), "one op, replay " .. i .. " on " .. dev)
    end

    -- many small ones
    local function small(v)
        local list = {}
        for i = 1, 20 do list[i] = g.fork(function(e) return (e * i):neg() end, v) end
        return g.stack(g.wait(list)):sum()
    end
    local few = g.capture(small)
    for i = 1, 3 do
        local v = g.tensor(i + 0.5):to(dev)
        t.is(few(v):item(), small(v):item(), "20 forks of a number on " .. dev)
    end

    -- what fails in a fork
    local function pick(x, index)
        local f = g.fork(function() return (x * 2):matmul(x):index_select(1, index):sum() end)
        local y = (x + 1):matmul(x):sum()
        return g.wait(f) + y
    end
    local taken = g.capture(pick)
    local good, bad = g.tensor({ 1, 64 }):to(dev), g.tensor({ 1, 65 }):to(dev)
    x = large(dev)
    for i = 1, 4 do
        t.ok(taken(x, good):equal(pick(x, good)), "before a failure")
        if i > 1 then
            t.error(function() taken(x, bad):item() end, "65", "a bad index in a fork on " .. dev)
            pcall(g.synchronize)
        end
    end
end
t.done()
