--!plain
-- fuse: what is run in place of a function, what makes it be traced again, and what is refused.
local t = require "tap"
local g = require "gpush"
local counter = require "counter"
local fuse = g.fuse

local function same(got, want, name)
    t.ok(got.dtype == want.dtype and got:equal(want), name)
end

-- ---- arguments ----
do
    local x, y, row = g.randn(4, 6), g.randn(4, 6), g.randn(6)
    local function plain(a, b) return g.relu(a * b + a) end
    local f = fuse(plain)
    for i = 1, 3 do same(f(x, y), plain(x, y), "call " .. i .. " gives what the function gives") end
    same(f(g.randn(0, 6), g.randn(0, 6)), g.zeros(0, 6), "an empty tensor")
    local a, b = g.randn(9, 200), g.randn(9, 200)
    same(f(a, b), plain(a, b), "other sizes")
    for _ = 1, 2 do same(f(x, row), plain(x, row), "a row is broadcast") end
    for _ = 1, 2 do same(f(x, 3), plain(x, 3), "a number") end
    same(f(x, 3.5), plain(x, 3.5), "another number")
    for _ = 1, 2 do same(f(x, x), plain(x, x), "one tensor twice") end
    same(f(x, y), plain(x, y), "and two again")
    same(f(x:t(), y:t()), plain(x:t(), y:t()), "transposed ones")
    for _ = 1, 2 do same(f(x:to "f64", y:to "f64"), plain(x:to "f64", y:to "f64"), "f64") end
    t.error(function() f(x, {}) end, "argument #2: expected a tensor, a number, a string, a " ..
        "boolean or nil, got table", "a table is refused")
    t.error(function() f(x, g.randn(5)) end, "mul: ", "shapes that do not fit")
end

-- ---- results ----
do
    local x = g.randn(3, 4)
    local f = fuse(function(a) return a + 1, "text", nil, a * 2, 7 end)
    for i = 1, 2 do
        local r = table.pack(f(x))
        t.is(r.n, 5, "five results at call " .. i)
        same(r[1], x + 1, "the first")
        same(r[4], x * 2, "the fourth")
        t.is({ r[2], r[5] }, { "text", 7 }, "what is no tensor")
    end
    local id = fuse(function(a) return a, a:t(), a end)
    for _ = 1, 2 do
        local a, b, c = id(x)
        a[1][1] = 5
        t.is(x[1][1]:item(), 5, "a result may be an argument")
        t.is(b[1][1]:item(), 5, "or a view of it")
        t.is(c[1][1]:item(), 5, "or be given twice")
        x[1][1] = 0
    end
    t.is(select("#", fuse(function() end)()), 0, "no result")
    t.error(function() fuse(function(a) return { a } end)(x) end, "result 1 is a table", "a table")
    local many = fuse(function(a)
        local out = {}
        for i = 1, 6 do out[i] = g.exp(a * i) + i end
        return table.unpack(out)
    end)
    for _ = 1, 2 do same(select(6, many(x)), g.exp(x * 6) + 6, "more results than one op has") end
end

-- ---- what the function reads ----
do
    local x, k, options, w = g.randn(5), 2, { scale = 3, on = false, deep = { n = 1 } }, g.randn(5)
    function Shift(a) return a + 10 end -- luacheck: ignore
    local f = fuse(function(a)
        local y = a * k * options.scale * w * options.deep.n
        if options.on then y = y + 100 end
        if options.more then y = y + 1000 end
        return Shift(y) -- luacheck: ignore
    end)
    local function expected()
        local y = x * k * options.scale * w * options.deep.n
        if options.on then y = y + 100 end
        if options.more then y = y + 1000 end
        return Shift(y) -- luacheck: ignore
    end
    local function both(name) for _ = 1, 2 do same(f(x), expected(), name) end end
    both "as it was traced"
    k = 4
    both "a changed upvalue"
    options.scale = 5
    both "a changed field"
    options.on = true
    both "a boolean"
    options.deep.n = 7
    both "a field of a field"
    options.more = true
    both "a field that was not there"
    w = g.randn(5)
    both "another tensor"
    Shift = function(a) return a - 10 end -- luacheck: ignore
    t.ok(f(x):equal(expected()), "a global function")
end
do
    local x, list = g.randn(5), { 1, 2 }
    local f = fuse(function(a)
        for _, n in ipairs(list) do a = a + n end
        return a
    end)
    f(x)
    list[3] = 3
    same(f(x), x + 1 + 2 + 3, "a longer list")
    local outer = 1
    local function inner() return outer end
    local h = fuse(function(a) return a + inner() end)
    h(x)
    outer = 2
    same(h(x), x + 2, "an upvalue of a function that is called")
    local n = 0
    local bad = fuse(function(a)
        n = n + 1
        return a + n
    end)
    t.error(function() bad(x) end, "changes 'n', which it reads, too", "a function with a memory")
    local seen
    local pure = fuse(function(a)
        seen = "traced"
        return a * 2
    end)
    t.error(function() pure(x) end, "changes 'seen'", "and one that only writes")
    t.is(seen, "traced", "which has run then")
end

-- ---- how often it is traced ----
do
    local x = g.randn(3, 4)
    local tick = counter()
    local f = fuse(function(a)
        tick()
        return a * 2
    end)
    f(x)
    f(x)
    f(g.randn(30, 40))
    t.is(tick(), 1, "the first call traces, others do not, whatever the sizes")
    f(g.randn(1, 4))
    t.is(tick(), 3, "a dim of size 1 is another kind")
    f(g.randn(4))
    f(x:to "f64")
    t.is(tick(), 6, "so are other dims and dtypes")
    local seen = counter()
    local sized = fuse(function(a)
        seen()
        return a / a.shape[1]
    end)
    for _, n in ipairs { 2, 3, 3, 2 } do
        same(sized(g.ones(n)), g.ones(n) / n, "a size that the function reads")
    end
    t.is(seen(), 2, "a function that reads sizes is traced for each")
    local ended = fuse(function(a) return a["2:-1"] * 2 end)
    for _, n in ipairs { 4, 6 } do
        local v = g.randn(n)
        same(ended(v), v["2:-1"] * 2, "an end that depends on the size")
    end
    local often = counter()
    local many = fuse(function(a, n)
        often()
        return a * n
    end)
    for i = 1, 12 do same(many(x, i), x * i, "number " .. i) end
    for i = 1, 3 do many(x, i) end
    t.is(often(), 15, "after 8 kinds a function runs as it is")
end

-- ---- waits, writes, and others that cannot be repeated ----
do
    local x = g.randn(6)
    t.error(function() fuse(function(a) return a * math.random() end)(x) end,
        "fuse.lua:%d+: math.random: a function that is captured or fused", "math.random")
    t.error(function() fuse(function(a) return a:sum():item() end)(x) end,
        "fuse.lua:%d+: item: a function that fuse traces cannot read the values", "item")
    t.error(function() fuse(function(a) return a:tolist()[1] end)(x) end, "cannot read", "tolist")
    t.error(function() fuse(function(a) return tostring(a) end)(x) end, "cannot read", "print")
    t.error(function()
        fuse(function(a)
            local y = a * 2
            y:sum():backward()
            return y
        end)(x:clone():requires_grad_())
    end, "computes no gradients itself", "backward")
    t.error(function() fuse(function() return g.randn(3, { requires_grad = true }) end)() end,
        "make the leaf before", "a leaf")
    same(fuse(function(a) return a + 1 end)(x), x + 1, "and a trace after that works")

    local f = fuse(function(a, b)
        local y = a * 2
        a:add_(1)
        b:copy_(y)
        return y + a
    end)
    for _ = 1, 2 do
        local a, b = x:clone(), g.zeros(6)
        same(f(a, b), x * 2 + (x + 1), "writes in place are repeated")
        same(a, x + 1, "in an argument")
        same(b, x * 2, "and in another")
    end
end

-- ---- ops between programs, random numbers, no_grad ----
do
    local m, x = g.randn(4, 4), g.randn(3, 4)
    local function plain(a)
        local h = (a * 2 + 1):matmul(m):relu() * 0.5
        local s = (h - h:mean(-1, true)) / (h:var(-1, nil, true) + 1e-5):sqrt()
        return g.dropout(s * 2 + 1, 0.5) * 3 + g.rand_like(a)
    end
    local f = fuse(plain)
    for i = 1, 3 do
        g.manual_seed(i)
        local want = plain(x)
        local drawn = g.get_rng_state().counter
        g.manual_seed(i)
        same(f(x), want, "single ops between programs, random numbers as without fuse")
        t.is(g.get_rng_state().counter, drawn, "as many drawn")
    end
    local w = g.randn(4):requires_grad_()
    local half = fuse(function(a)
        local y = a * w
        return y + g.no_grad(function() return g.exp(w * 2) + 1 end)
    end)
    for _ = 1, 2 do
        w.grad = nil
        half(x):sum():backward()
        same(w.grad, x:sum(1), "no gradients where the function records none")
    end
end

-- ---- gradients ----
do
    local x, w = g.randn(5, 3), g.randn(3):requires_grad_()
    local f = fuse(function(a) return (g.tanh(a * w) * a):mean() end)
    local function grads(fn)
        local a = x:clone():requires_grad_()
        w.grad = nil
        fn(a):backward()
        return a.grad, w.grad
    end
    f(x)
    local a, b = grads(f)
    local c, d = grads(function(v) return (g.tanh(v * w) * v):mean() end)
    same(a, c, "the gradient of an argument")
    t.ok((b - d):abs():amax():item() < 1e-6, "and of an upvalue")
    local h = fuse(function(v) return g.sigmoid(v * v) * g.exp(v) end)
    h(x:to "f64")
    t.ok(g.autograd.gradcheck(h, { g.randn(4, g.f64 or { dtype = "f64" }):requires_grad_() }),
        "gradcheck")
    t.ok(g.autograd.gradgradcheck(h, { g.randn(4, { dtype = "f64" }):requires_grad_() }),
        "gradgradcheck")
    local product = fuse(function(p, q, r) return (p + q) * r end)
    for _ = 1, 2 do
        local p, q = g.ones(5):requires_grad_(), g.ones(5):requires_grad_()
        product(p, q, g.full({ 5 }, 3.0)):sum():backward()
        same(p.grad, g.full({ 5 }, 3.0), "one gradient for two arguments")
        q.grad:zero_()
        same(p.grad, g.full({ 5 }, 3.0), "which do not share its memory")
    end
    local v = g.randn(4):requires_grad_()
    local y = fuse(function(q) return q * q end)
    y(v)
    local z = y(v):sum()
    g.no_grad(function() v:add_(1) end)
    t.error(function() z:backward() end, "written in place since", "an overwritten argument")
end

-- ---- reductions at the end ----
do
    local nan, inf = 0 / 0, math.huge
    local rows = g.tensor { { 1, -2, 1, 0.5 }, { 3, 3, nan, 3 }, { -1, -1, -1, -1 },
        { 0, 2, 0, -4 }, { 1e30, 1e30, 5, 1 }, { -inf, -3, 2, 0.25 } }
    local function equal(a, b)
        return a.dtype == b.dtype and a:isnan():equal(b:isnan()) and
            a:nan_to_num(7):equal(b:nan_to_num(7))
    end
    local function both(op, dtype, ...)
        local options = table.pack(...)
        local function plain(x, w)
            return g[op](x * w * 0.5, table.unpack(options, 1, options.n))
        end
        local f, name = fuse(plain), ("%s(%s) %s"):format(op, options[1], dtype)
        local function outcome(fn)
            local x = rows:clone():to(dtype):requires_grad_()
            local w = g.tensor({ 2, 4, 2, 1 }, { dtype = dtype }):requires_grad_()
            local y = fn(x, w)
            y:backward(g.ones_like(y) * 3)
            return y, x.grad, w.grad
        end
        local y, dx, dw = outcome(plain)
        for _ = 1, 2 do
            local z, ex, ew = outcome(f)
            t.ok(equal(y, z) and equal(dx, ex) and equal(dw, ew), name .. ": result, gradients")
        end
        local p = g.profile.run(function() outcome(f) end)
        t.ok(tostring(p:table()):match("mul%+mul%+" .. op), name .. " is one op")
    end
    for _, dtype in ipairs { "f32", "f64", "bf16" } do
        for _, op in ipairs { "amax", "amin", "prod" } do
            both(op, dtype, -1)
            both(op, dtype, 1, true)
            both(op, dtype)
        end
        both("mean", dtype, { 1, 2 })
    end
    local whole = fuse(function(a, b) return (a - b):amax(-1), (a * b):prod() end)
    local a, b = g.tensor { { 3, 8 }, { 9, 2 } }, g.tensor { 1, 2 }
    for _ = 1, 2 do
        local most, product = whole(a, b)
        same(most, g.tensor { 6, 8 }, "whole numbers, amax")
        same(product, g.tensor(1728), "and prod")
    end
    t.error(function() whole(g.zeros({ 2, 0 }), g.zeros({ 2, 1 })) end,
        "amax: no elements to compare", "no elements")
    local wide = fuse(function(x) return (x * 2):amax(-1, false, "f64") end)
    for _ = 1, 2 do same(wide(rows[1]), g.tensor(2, { dtype = "f64" }), "a dtype is asked for") end
end
do
    local x = g.tensor({ { 0.5, -1.5, 2 }, { 1.25, 0.75, -2 } }, { dtype = "f64" }):requires_grad_()
    for op, fn in pairs { amax = function(v) return (v * v * v):amax(-1) end,
        amin = function(v) return (v:exp() * v):amin() end,
        prod = function(v) return (v * 2 + 0.1):prod(-1) end } do
        local f = fuse(fn)
        f(x)
        t.ok(g.autograd.gradcheck(f, { x }), op .. ": gradcheck")
        t.ok(g.autograd.gradgradcheck(f, { x }), op .. ": gradgradcheck")
    end
    local zero = g.tensor({ 3.0, 0.0, 2.0 }):requires_grad_()
    local product = fuse(function(v) return (v * 1):prod() end)
    product(zero)
    product(zero):backward()
    same(zero.grad, g.tensor { 0.0, 6.0, 0.0 }, "a factor of 0: the product of the others")
    local largest = fuse(function(v) return (v * 2):amax() end)
    largest(x)
    local y = largest(x)
    g.no_grad(function() y:add_(1) end)
    t.error(function() y:backward() end, "written in place since", "an overwritten result")
end

-- ---- modules, devices, profiles ----
do
    local nn = g.nn
    g.manual_seed(1)
    local model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2))
    local x, f = g.randn(3, 4), fuse(model)
    for i = 1, 2 do
        g.manual_seed(i)
        local want = model(x)
        g.manual_seed(i)
        same(f(x), want, "a module, training")
    end
    model:eval()
    for _ = 1, 2 do same(f(x), model(x), "a module, after eval()") end
    local s = fuse(function(a) return g.gelu(a * 2 + 1):sum(), g.exp(a) * 2 end)
    local dev = x:to "sim"
    for _ = 1, 2 do
        local a, b = s(dev)
        same(a:to "cpu", g.gelu(x * 2 + 1):sum(), "on sim")
        same(b:to "cpu", g.exp(x) * 2, "two programs on sim")
    end
    do
        local short = fuse(function(a) return g.exp(a) * 3 end)
        short(dev)
        local late = short(dev)
        short = nil -- luacheck: ignore
        collectgarbage()
        same(late:to "cpu", g.exp(x) * 3, "a program outlives its function while it is queued")
    end
    local relu = fuse(function(a, b) return g.relu(a * b + a) end)
    relu(x, x)
    local p = g.profile.run(function() relu(x, x) end)
    t.ok(tostring(p:table()):match "mul%+add%+relu", "a profile names what a program contains")
end

-- ---- autocast ----
do
    local x, w = g.randn(4, 6), g.randn(6, 3):requires_grad_()
    local function plain(a) return g.relu(a:matmul(w) * 2 + 1), a:exp() end
    local f = fuse(plain)
    local function both(name, scope)
        local want, wide = scope(plain)
        for _ = 1, 2 do
            local got, exp = scope(f)
            same(got, want, name)
            same(exp, wide, name .. ", an op of f32")
        end
    end
    local function low(fn) return g.autocast("bf16", function() return fn(x) end) end
    both("outside a scope", function(fn) return fn(x) end)
    both("in a scope", low)
    both("in another dtype", function(fn)
        return g.autocast("f16", function() return fn(x) end)
    end)
    both("outside again", function(fn) return fn(x) end)
    g.autocast("bf16", function()
        f(x)
        g.no_grad(function() w:add_(1) end)
        same(f(x), plain(x), "a parameter's conversion is made again at each call")
    end)
    local inner = fuse(function(a)
        local y = g.autocast("bf16", function() return a:matmul(w) * 3 end)
        return y + 1
    end)
    local want = g.autocast("bf16", function() return x:matmul(w) * 3 end) + 1
    for _ = 1, 2 do same(inner(x), want, "a scope within the function") end
    local out = fuse(function(a)
        return g.autocast({ dtype = "bf16", enabled = false }, function()
            return a:matmul(w) * 3
        end)
    end)
    for _ = 1, 2 do same(low(out), x:matmul(w) * 3, "a scope within that switches it off") end
    local function gradient(fn)
        w.grad = nil
        low(function(a) return (fn(a):to "f32" * 1):sum() end):backward()
        return w.grad
    end
    local grad = gradient(plain)
    for _ = 1, 2 do same(gradient(f), grad, "gradients flow through conversions") end
end

-- ---- errors ----
t.error(function() fuse(3) end, "fuse: argument 'fn' %(#1%): expected a function", "no function")
t.is(g.fused, nil, "its op is none of Lua's")
do
    local f = fuse(function(a, b) return a // b + 1 end)
    local a, b = g.tensor { 4, 6 }, g.tensor { 2, 3 }
    f(a, b)
    same(f(a, b), g.tensor { 3, 3 }, "integers")
    t.error(function() f(a, g.tensor { 1, 0 }) end, "integer division by zero", "a fault")
    local c = fuse(function(p, q) return g.bce(p * 1, q) end)
    c(g.tensor { 0.5 }, g.tensor { 1.0 })
    t.error(function() c(g.tensor { 1.5 }, g.tensor { 1.0 }) end,
        "a probability is not between 0 and 1", "a fault of a float")
end
t.done()
