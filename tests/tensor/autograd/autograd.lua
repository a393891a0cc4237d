--!plain
-- Autograd: every differentiable row against central differences, and the rules of the tape.
local t = require "tap"
local g = require "gpush"

local rows = require "grad_rows"

local f64 = { dtype = "f64" }

-- ---- every row ----

local function check(name, case, i)
    local fn, args = rows.call(name, case)
    for _, device in ipairs { "cpu", "sim" } do
        local ok, msg = pcall(g.autograd.gradcheck, fn, rows.on_device(args, device))
        if not t.ok(ok, ("%s, case %d on %s"):format(name, i, device)) then
            io.stderr:write("#   ", tostring(msg), "\n")
        end
    end
end

rows.each(function(name, op, list)
    if op.grad == "later" then t.skip(1, name .. " has no derivative yet")
    elseif op.grad == "yes" then
        if t.ok(list ~= nil, name .. " has a case") then
            for i, case in ipairs(list) do check(name, case, i) end
        end
    end
end)

-- ---- the tape ----

local function leaf(...) return g.tensor({ ... }, f64):requires_grad_() end
local function list(y) return y:tolist() end
local function fails(fn, what, name)
    local ok, msg = pcall(fn)
    t.ok(not ok and tostring(msg):find(what, 1, true), name)
    if ok or not tostring(msg):find(what, 1, true) then
        io.stderr:write("#   ", tostring(msg), "\n")
    end
end

do
    local a = leaf(1, 2, 3)
    local y = (a * a):sum()
    t.ok(y.requires_grad and not y.is_leaf and a.is_leaf and y.grad_fn == "sum",
        "what is known of results and leaves")
    t.ok(a.grad == nil, "no gradient before backward")
    y:backward()
    t.is(list(a.grad), { 2, 4, 6 }, "a gradient")
    ;(a * 2):sum():backward()
    t.is(list(a.grad), { 4, 6, 8 }, "gradients add up")
    a.grad = nil
    t.ok(a.grad == nil, "grad = nil")
    fails(function() y:backward() end, "retain_graph", "backward twice says what to do")
    local z = (a * a):sum()
    z:backward { retain_graph = true }
    z:backward()
    t.is(list(a.grad), { 4, 8, 12 }, "retain_graph")
    fails(function() (a * 2):backward() end, "needs a gradient argument",
        "backward of many elements")
    fails(function() g.ones(3):sum():backward() end, "does not require gradients",
        "backward of what needs none")
    fails(function() g.ones(3, { dtype = "i64" }):requires_grad_() end, "expected a float",
        "integers have no gradient")
    fails(function() (a * 2):backward(g.ones(2, f64)) end, "shape", "a gradient of another shape")
    a.grad = nil
    ;(a * 2):backward(g.tensor({ 1, 0, 2 }, f64))
    t.is(list(a.grad), { 2, 0, 4 }, "backward of a gradient")
    local s = g.randn(3, { requires_grad = true })
    t.ok(s.requires_grad and s.is_leaf, "an option of creation")
end

do -- in place, views
    local a = leaf(1, 2, 3)
    fails(function() a:mul_(2) end, "no_grad", "a leaf is not written")
    fails(function() a[1] = 0 end, "no_grad", "nor through a view")
    g.no_grad(function() a[1] = 5 end)
    t.is(list(a), { 5, 2, 3 }, "but under no_grad")
    local b = a * 2
    b[1] = 0
    b:sum():backward()
    t.is(list(a.grad), { 0, 2, 2 }, "a number written into a result")
    a.grad = nil
    local c, w = g.zeros(3, f64), leaf(3)
    local early = c:narrow(1, 2, 2)
    c[2] = w[1] * 2
    t.ok(c.requires_grad and early.requires_grad,
        "writing what has gradients gives them to base and views")
    ;(c * c):sum():backward()
    t.is(list(w.grad), { 24 }, "and they come back")
    w.grad = nil
    early:sum():backward()
    t.is(list(w.grad), { 2 }, "through a view made before the write too")
    local d = a * 1
    local v = d:select(1, 2)
    v:mul_(10)
    d:sum():backward()
    t.is(list(a.grad), { 1, 10, 1 }, "an op in place on a view")
    local e = a:exp()
    e:mul_(2)
    fails(function() e:sum():backward() end, "written in place",
        "what backward needs was overwritten")
    local _, msg = pcall(function() local f = a:exp() f:mul_(2) f:sum():backward() end)
    t.ok(select(2, tostring(msg):gsub("autograd.lua:%d+", "")) >= 2, "both lines are named")
    a.grad = nil
    local h = a * 3
    h:add_(1):relu_()
    h:sum():backward()
    t.is(list(a.grad), { 3, 3, 3 }, "a chain in place")
end

do -- grad, hooks, regions
    local a, b = leaf(2), leaf(3)
    local y = (a * b * b):sum()
    local ga, gb = g.grad(y, { a, b })
    t.is({ ga:tolist()[1], gb:tolist()[1] }, { 9, 12 }, "grad of two inputs")
    t.ok(a.grad == nil and b.grad == nil, "and no tensor's grad changed")
    local m = a * 2
    t.is(list(g.grad((m * m):sum(), m)), { 8 }, "grad of what is no leaf")
    fails(function() g.grad((a * 2):sum(), b) end, "allow_unused", "an input that was not used")
    t.ok(g.grad((a * 2):sum(), b, { allow_unused = true }) == nil, "allow_unused")
    a:register_hook(function(gr) return gr * 10 end)
    local n = a * 3
    n:retain_grad()
    n:register_hook(function(gr) return gr + 1 end)
    ;(n * 2):sum():backward()
    t.is(list(a.grad), { 90 }, "hooks of a leaf and of a result")
    t.is(list(n.grad), { 2 }, "retain_grad")
    a:register_hook(function() error "oh no" end)
    fails(function() (a * 2):sum():backward() end, "oh no", "an error in a hook")
    t.ok(not g.no_grad(function() return (b * 2).requires_grad end), "no_grad around a function")
    do
        local _ <close> = g.no_grad()
        t.ok(not (b * 2).requires_grad and not g.is_grad_enabled(), "no_grad in a block")
        t.ok(g.enable_grad(function() return (b * 2).requires_grad end), "enable_grad inside")
    end
    t.ok((b * 2).requires_grad, "and after it")
    pcall(g.no_grad, function() error "x" end)
    t.ok(g.is_grad_enabled(), "an error ends no_grad")
    t.ok(not (b * 2):detach().requires_grad, "detach")
    t.ok(not (b:gt(1)).requires_grad and not b:argmax().requires_grad,
        "bools and indices have none")
end

do -- functions of one's own
    local a = leaf(1, 2)
    local out = g.no_grad(function() return a * 5 end)
    g.autograd.node({ a }, { out }, function(gr) return gr * 7 end)
    out:sum():backward()
    t.is(list(a.grad), { 7, 7 }, "a backward in Lua")
    a.grad = nil
    local w = leaf(3, 3)
    local function block(v) return (v * w):tanh() end
    block(a):sum():backward()
    local ga, gw = a.grad, w.grad
    a.grad, w.grad = nil, nil
    g.autograd.checkpoint(block, a):sum():backward()
    t.ok(a.grad:equal(ga) and w.grad:equal(gw), "checkpoint gives the same gradients")
    local noise = function(v) return v * g.rand(2, f64) end
    a.grad = nil
    local y = g.autograd.checkpoint(noise, a)
    y:sum():backward()
    t.ok((a.grad * a):allclose(y), "from the same random numbers")
    fails(function() g.autograd.detect_anomaly(function() leaf(-1):sqrt():sum():backward() end) end,
        "sqrt", "detect_anomaly names the op")
end

do -- length and memory
    local a = leaf(1)
    local y = a
    for _ = 1, 100000 do y = y + 1 end
    y:sum():backward()
    t.is(list(a.grad), { 1 }, "a chain of 100000")
    y = a
    collectgarbage()
    collectgarbage()
    local before = g.memory "cpu".in_use
    for _ = 1, 100000 do y = y * a end
    t.ok(g.memory "cpu".in_use > before + 1e6, "a chain keeps what its gradients need")
    y = nil
    collectgarbage()
    collectgarbage()
    t.is(g.memory "cpu".in_use, before, "and is freed whole, without recursion")
end

do -- ties and edges, as PyTorch has them
    local function gradient(fn, ...)
        local a = leaf(...)
        fn(a):sum():backward()
        return list(a.grad)
    end
    t.is(gradient(g.amax, 2, 2, 0), { 0.5, 0.5, 0 }, "amax shares its gradient among the largest")
    t.is(gradient(g.amin, 2, 0, 0), { 0, 0.5, 0.5 }, "amin likewise")
    t.is(gradient(function(a) return a:prod() end, 0, 3, 2), { 6, 0, 0 },
        "prod with a zero: the product of the others")
    t.is(gradient(function(a) return a:prod() end, 0, 3, 0), { 0, 0, 0 }, "prod with two zeros")
    t.is(gradient(function(a) return a ^ 0 end, 0, 2), { 0, 0 }, "x ^ 0 at 0")
    t.is(gradient(g.nanmean, 1, 0 / 0, 3), { 0.5, 0, 0.5 }, "nanmean: NaN takes no part")
    t.is(gradient(g.nansum, 1, 0 / 0, 3), { 1, 0, 1 }, "nor in nansum")
    local function norm(p) return function(a) return g.linalg.vector_norm(a, p) end end
    t.is(gradient(norm(math.huge), -2, 2, 1), { -0.5, 0.5, 0 },
        "the largest norm shares its gradient")
    t.is(gradient(norm(-math.huge), -1, 1, 3), { -0.5, 0.5, 0 }, "and the smallest")
    for _, p in ipairs { 1, 2, 3 } do
        t.is(gradient(norm(p), 0, 0), { 0, 0 }, "norm " .. p .. " at 0")
    end
    t.is(gradient(function(a) return g.pow(0, a) end, 1, 0), { 0, 0 }, "0 ^ x")
    t.is(gradient(function(a) return a:atan2(a) end, 0), { 0 }, "atan2 at 0, 0: PyTorch's 0")
end

do -- f16, mixed dtypes, broadcasting, devices
    local a = g.ones(2, 3, { dtype = "f16" }):requires_grad_()
    local b = g.ones(3, f64):requires_grad_()
    ;(a * b):sum():backward()
    t.ok(a.grad.dtype == "f16" and b.grad.dtype == "f64", "gradients have their tensor's dtype")
    t.is(list(b.grad), { 2, 2, 2 }, "and its shape")
    local c = leaf(1, 2)
    local d = c:to "sim" * 3
    d:sum():backward()
    t.ok(c.grad.device == "cpu" and c.grad:tolist()[2] == 3, "from one device to another and back")
end
-- batch_norm's backward does not need the running statistics, which training writes.
do
    local mean, var = g.zeros(3, f64), g.ones(3, f64)
    local values = {}
    for i = 1, 12 do values[i] = i * 7 % 11 - 4 end
    local a = g.tensor(values, f64):view(4, 3)
    local b = a:clone():requires_grad_()
    a:requires_grad_()
    local w = g.tensor({ 1, -2, 3 }, f64)
    local function run(x, m, v)
        local y = x:batch_norm(m, v, w, nil, true) * x
        y:sum():backward()
    end
    run(a)
    run(b, mean, var)
    t.is(b.grad, a.grad, "backward of batch_norm that has written running statistics")
end
-- 2, 2·3, 2·3·4: by the first factor 1 + 3 + 12, by the second 2 + 8, by the third 6.
do
    local a = g.tensor({2, 3, 4}, {dtype = "f32"}):requires_grad_()
    local x = a * 1
    x:cumprod_(1):sum():backward()
    t.is(a.grad, {16, 10, 6}, "running products in place have a gradient")
end
t.done()
