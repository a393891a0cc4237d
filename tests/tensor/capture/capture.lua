--!plain
-- capture: what a replay gives, what it refuses and with which line, and who sees it.
local t = require "tap"
local g = require "gpush"
local counter = require "counter"
local capture = g.capture

local function line() return debug.getinfo(2, "l").currentline end

for _, dev in ipairs { "cpu", "sim" } do
    local function randn(...) return g.randn(...):to(dev) end

    -- ---- inputs and results ----
    do
        local tick = counter()
        local made = line() + 3
        local function plain(a, b, k)
            tick()
            return a * b + k, "text", nil, a
        end
        local f = capture(plain)
        for i = 1, 4 do
            local x, y = randn(3, 4), randn(3, 4)
            local z, text, none, same = f(x, y, 2)
            t.ok(z:equal(x * y + 2), "call " .. i .. " on " .. dev)
            t.is({ text, none == nil }, { "text", true }, "what is no tensor is the same each time")
            t.ok(rawequal(same, x) or same:equal(x), "an argument is given back")
        end
        t.is(tick(), 1, "the function ran once")
        local x, y = randn(3, 4), randn(3, 4)
        local here = "capture%.lua:" .. made
        local function refuses(why, name, ...)
            local args = table.pack(...)
            t.error(function() f(table.unpack(args, 1, args.n)) end, why, name .. " on " .. dev)
        end
        refuses("argument #2 is f32 3x5, and was f32 3x4 when the function was captured %(.*" ..
            here, "another shape", x, randn(3, 5), 2)
        refuses("argument #1 is f64 3x4", "another dtype", x:double(), y, 2)
        refuses("argument #3 is not the value", "another number", x, y, 3)
        refuses("argument #2 is not the value", "a number for a tensor", x, 3, 2)
        refuses("with 3 arguments, and is called with 2", "fewer arguments", x, y)
        refuses("argument #1 is of other strides", "another layout", randn(4, 3):t(), y, 2)
        refuses("share memory otherwise", "one storage", x, x:view(3, 4), 2)
        refuses("argument #1 is with gradients", "gradients", randn(3, 4):requires_grad_(), y, 2)
        t.error(function() g.no_grad(f, x, y, 2) end, "outside no_grad, and is called under it",
            "another grad mode")
        local other = dev == "cpu" and "sim" or "cpu"
        refuses("argument #1 is " .. other, "another device", x:to(other), y, 2)
        t.ok(f(x, y, 2):equal(x * y + 2), "after which it works")
        local twice = capture(function(a, b) return a + b end)
        twice(x, x)
        t.ok(twice(y, y):equal(y + y), "one tensor twice")
        t.error(function() twice(x, y) end, "were the same tensor", "and then two")
    end

    -- ---- what a replay would not repeat ----
    do
        local x = randn(4)
        local function refuses(fn, why, name)
            local f, ok, message = capture(fn), true, nil
            for _ = 1, 3 do
                if ok then ok, message = pcall(f, x) end
            end
            t.ok(not ok and tostring(message):find(why), name .. " on " .. dev .. ": " ..
                tostring(message))
        end
        refuses(function(a) return a * a:sum():item() end, "capture.lua:%d+: item: a captured",
            "item")
        refuses(function(a) return a:tolist() and a end, "tolist: a captured", "tolist")
        refuses(function(a) return tostring(a) and a end, "a captured function cannot read",
            "print")
        refuses(function(a) return a[a:gt(0)] end, "a captured function cannot read", "a mask")
        refuses(function(a)
            g.synchronize()
            return a
        end, dev == "cpu" and "cannot read" or "cannot read", "synchronize")
        refuses(function(a)
            pcall(a.item, a)
            return a + 1
        end, "refused in the function, which went on", "an error that is caught")
        refuses(function(a)
            g.manual_seed(1)
            return a + 1
        end, "manual_seed: a captured", "manual_seed")
        refuses(function(a) return a * math.random() end,
            "capture.lua:%d+: math.random: a function that is captured", "math.random")
        refuses(function(a)
            pcall(math.randomseed, 1)
            return a + 1
        end, "refused in the function", "math.randomseed, caught")
        refuses(function(a) return a:to(dev == "cpu" and "sim" or "cpu") end,
            "cannot read", "a copy to another device")
        local n, kept, list = 0, nil, {}
        refuses(function(a)
            n = n + 1
            return a
        end, "changes 'n'", "a counter")
        refuses(function(a)
            kept = a * 2
            return a
        end, "capture.lua:%d+ makes is kept after the call", "an upvalue")
        refuses(function(a)
            list[#list + 1] = 1
            return a
        end, "changes '%d+'", "a list that grows")
        local box = setmetatable({}, { __mode = "k" })
        refuses(function(a)
            coroutine.wrap(function() box.x = a * 2 end)()
            return a
        end, "capture.lua:%d+ makes is kept after the call", "a field")
        t.ok(kept ~= nil, "the function ran")
        if dev == "cpu" then
            refuses(function(a)
                local z = g.tensor { 1.0, 2.0, 3.0, 4.0 }
                z:add_(a)
                return z + 0
            end, "writes in place to a tensor that the captured function makes from values",
                "a host's tensor that is written")
            refuses(function() return g.tensor { 1, 2 } end, "result 1 is made from values of the",
                "a host's tensor as a result")
            local c = capture(function(a) return a + g.tensor { 1, 2, 3, 4 } end)
            for _ = 1, 3 do t.ok(c(x):equal(x + g.tensor { 1, 2, 3, 4 }), "a constant") end
        end
        local w = randn(4):requires_grad_()
        refuses(function(a) return a * w end, "result 1 carries gradients %(of mul, .*capture.lua",
            "a result with gradients")
        refuses(function(a)
            (a * w):sum():backward()
            w.grad = w.grad * 2
        end, "reads a gradient", "a gradient that is read, then replaced")
        t.error(capture(function() return {} end), "result 1 is a table", "a table")
        local gives = capture(function() return g.zeros(2):to_dlpack() end)
        t.error(gives, "to_dlpack: a captured function cannot read", "memory that is given away")
    end

    -- ---- what changes between calls ----
    do
        local x, w, k, options = randn(4), randn(4), 2, { on = false }
        local f = capture(function(a) return options.on and a or a * w * k end)
        for _ = 1, 2 do t.ok(f(x):equal(x * w * 2), "upvalues") end
        w:add_(1)
        t.ok(f(x):equal(x * w * 2), "a tensor that is written is read again")
        k = 3
        t.error(function() f(x) end, "'k', which the captured function reads, was changed", "k")
        k = 2
        options.on = true
        t.error(function() f(x) end, "'on', which the captured function reads", "a field")
        options.on = false
        local was = w
        w = randn(4)
        t.error(function() f(x) end, "'w', which the captured function reads", "another tensor")
        w = was
        t.ok(f(x):equal(x * w * 2), "as it was")
        w:requires_grad_()
        t.error(function() f(x) end, "requires_grad", "a tensor that gets gradients")
        local model = g.nn.Sequential(g.nn.Dropout(0.5)):to(dev)
        local h = capture(function(a) return model(a) end)
        h(x)
        model:eval()
        t.error(function() h(x) end, "'training'", "eval after training")
        local cast = capture(function(a) return a:matmul(a) end)
        local m = randn(3, 3)
        cast(m)
        t.error(function() g.autocast("bf16", cast, m) end, "autocast scope", "autocast")
    end

    -- ---- gradients, and results that are kept ----
    do
        local w = randn(3):requires_grad_()
        local step = capture(function(a)
            w.grad = nil
            local loss = (a * w):square():sum()
            loss:backward()
            return loss
        end)
        local grads, losses, want = {}, {}, {}
        for i = 1, 5 do
            local a = randn(3)
            losses[i] = step(a)
            grads[i] = w.grad
            want[i] = { (a * w):detach():square():sum(), 2 * a * a * w:detach() }
        end
        for i = 1, 5 do
            t.ok(losses[i]:detach():equal(want[i][1]), "loss " .. i)
            t.ok(grads[i]:allclose(want[i][2]), "gradient " .. i .. " stays as it was")
        end
        w.grad = nil
        step(randn(3))
        t.ok(w.grad ~= nil, "a gradient that was cleared is there again")
        local add = capture(function(a) (a * w):sum():backward() end)
        w.grad = nil
        local sum = g.zeros(3):to(dev)
        for _ = 1, 4 do
            local a = randn(3)
            add(a)
            sum = sum + a
        end
        t.ok(w.grad:allclose(sum), "gradients that accumulate")
        w.grad = nil
        t.error(function() add(randn(3)) end, "capture.lua:%d+ adds to is not the one",
            "until they are cleared elsewhere")
        local version = w._version
        local write = capture(function(a) g.no_grad(function() w:add_(a) end) end)
        for _ = 1, 3 do write(randn(3)) end
        t.is(w._version, version + 3, "writes count")
        local y = (w * w):sum()
        write(randn(3))
        t.error(function() y:backward() end, "was written in place since", "for backward, too")
    end

    -- ---- random numbers ----
    do
        local f = capture(function(a) return a:dropout(0.5) + g.randn_like(a) end)
        local x, got = randn(50), {}
        g.manual_seed(5)
        for i = 1, 4 do got[i] = f(x) end
        local next_one = g.rand(3)
        g.manual_seed(5)
        for i = 1, 4 do
            t.ok(got[i]:equal(x:dropout(0.5) + g.randn_like(x)), "numbers of call " .. i)
        end
        t.ok(g.rand(3):equal(next_one), "and those after it")
    end

    -- ---- forks ----
    do
        local function plain(a)
            local f = g.fork(function(b) return (b * 2):matmul(b) end, a)
            return a + g.wait(f)
        end
        local f, x = capture(plain), randn(5, 5)
        for _ = 1, 4 do t.ok(f(x):equal(plain(x)), "a function that forks on " .. dev) end
        t.ok(g.wait(g.fork(f, x)):equal(plain(x)), "a fork of a captured function")
        local futures = {}
        for i = 1, 4 do futures[i] = g.fork(f, x * i) end
        for i = 1, 4 do t.ok(g.wait(futures[i]):equal(plain(x * i)), "several") end
        local done = capture(function(a)
            local future = g.fork(g.exp, a)
            return future:done() and a or g.wait(future)
        end)
        t.error(function() done(x) end, "done: a captured function cannot read", "done")
    end

    -- ---- observers ----
    do
        local f = capture(function(a)
            local b = a + 1
            return b * 2
        end)
        local x = randn(8)
        local first = line() - 4
        f(x)
        local prof = g.profile.run({ stack = true }, function() f(x) end)
        local text = tostring(prof:table { group = "line" })
        t.ok(text:find("capture.lua:" .. first, 1, true) and
            text:find("capture.lua:" .. first + 1, 1, true), "a profile has the ops' lines")
        t.ok(tostring(prof:table { group = "op" }):find "mul", "and their names")
    end

    -- ---- errors of kernels; many in a queue ----
    do
        local pick = capture(function(a, i) return a:index_select(1, i) * 2 end)
        local x, good, bad = randn(4), g.tensor { 1, 4 }:to "i64":to(dev),
            g.tensor { 1, 9 }:to "i64":to(dev)
        for _ = 1, 2 do pick(x, good) end
        t.error(function() pick(x, bad):tolist() end, "index 9 is out of range.*capture.lua:%d+",
            "a bad index names its line")
        t.ok(pick(x, good):equal(x:index_select(1, good) * 2), "the next replay is right")
        local f, last = capture(function(a) return a + 1 end), x
        for _ = 1, 3000 do last = f(last) end
        t.ok(last:allclose(x + 3000), "3000 replays in a row")
        f = nil -- luacheck: ignore
        collectgarbage()
        t.ok((last - last):eq(0):all():item(), "a capture that is collected while it is queued")
    end
end

-- ---- forms of functions ----
do
    local x = g.randn(3)
    t.ok(capture(g.exp)(x):equal(g.exp(x)), "an op")
    local model = g.nn.Linear(3, 2)
    local f = capture(model)
    t.error(function() f(x) end, "carries gradients", "a model outside of no_grad")
    local h = capture(model)
    for _ = 1, 3 do t.ok(g.no_grad(h, x):equal(g.no_grad(model, x)), "a model") end
    local outer = capture(function(a) return capture(function(b) return b * 2 end)(a) + 1 end)
    for _ = 1, 3 do t.ok(outer(x):equal(x * 2 + 1), "one in another") end
    local fused = g.fuse(function(a) return (a * 2 + 1):relu() end)
    local both = capture(function(a) return fused(a) - 1 end)
    for _ = 1, 4 do t.ok(both(x):equal((x * 2 + 1):relu() - 1), "a fused function in it") end
    t.error(function() capture(function(a) error "mine" end)(x) end, "mine", "an error of its own")
    t.ok(capture(function(a) return a + 1 end)(x):equal(x + 1), "after which others work")
    local empty = capture(function(a) return a:sum() end)
    for _ = 1, 3 do t.is(empty(g.zeros(0)):item(), 0.0, "an empty tensor") end
    local y = g.randn(3, 2)
    local views = capture(function(a) return a:t(), a end)
    for _ = 1, 3 do
        local v, same = views(y)
        v[1][1] = 7
        t.is({ y[1][1]:item(), same[1][1]:item() }, { 7.0, 7.0 }, "a view of an argument")
        y = g.randn(3, 2)
    end
    local w = g.ones(3, { requires_grad = true })
    local loss = capture(function(a)
        w.grad = nil
        local l, unread = (a * w):sum(), a:clone():requires_grad_()
        l:backward()
        return l, unread, w
    end)
    for i = 1, 3 do
        local l, unread, same = loss(g.ones(3))
        t.is({ l.requires_grad, unread.requires_grad, same.requires_grad }, { false, false, true },
            "what call " .. i .. " gives is of no graph; a parameter stays one")
    end
    local write = capture(function(a) a:mul_(2) end)
    for _ = 1, 3 do
        local z = g.ones(2)
        write(z)
        t.is(z:tolist(), { 2.0, 2.0 }, "an argument that is written")
    end
end
t.done()
