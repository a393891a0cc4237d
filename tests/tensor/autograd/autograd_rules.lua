--!plain
-- Autograd's rules besides gradients: anomalies, the line of a backward op, when memory is freed,
-- checkpoints, regions.
local t = require "tap"
local g = require "gpush"

local f64 = { dtype = "f64" }
local function leaf(...) return g.tensor({ ... }, f64):requires_grad_() end
local function fails(fn, what, name)
    local ok, msg = pcall(fn)
    if not t.ok(not ok and tostring(msg):find(what), name) then
        io.stderr:write("#   ", tostring(msg), "\n")
    end
end
local function line() return debug.getinfo(2, "l").currentline end
local detect = g.autograd.detect_anomaly

do -- NaN
    local a = leaf(4, -1)
    local at
    fails(function() detect(function()
        local y = a:log() at = line()
        ;(y * 2 + 1):sum():backward()
    end) end, "is log %(.*autograd_rules.lua:" .. line() - 2 .. "%)",
        "NaN in a loss: the op and line that made it")
    t.is(at, line() - 4, "and that line it was")
    fails(function()
        local y = a:log():sum()
        detect(function() y:backward() end)
    end, "compute it under autograd.detect_anomaly", "a loss that was NaN before")
    fails(function() detect(function()
        local b = leaf(0):sqrt()
        ;(b * 0):sum():backward()
    end) end, "sqrt %(.*autograd_rules.lua:" .. line() - 2 ..
        "%) gave NaN in the gradient of its input 1", "NaN that backward makes")
    t.ok(pcall(detect, function()
        local b = leaf(0, 2)
        g.where(b:eq(0), b * 2, 3):sum():backward()
        local masked = (b / b):masked_fill(b:eq(0), 0) -- a NaN that does not propagate
        t.ok(masked.requires_grad, "recorded")
    end), "what is no NaN in the end passes")
    do
        local _ <close> = detect()
        fails(function() leaf(-1):sqrt():sum():backward() end, "sqrt", "a region for a block")
    end
    t.ok(pcall(function() leaf(-1):sqrt():sum():backward() end), "which ends with it")
    a.grad = nil
end

do -- errors
    fails(function() g.arange(1, 3):sum():backward() end, "i64.*:float%(%)",
        "backward on an integer tensor")
    fails(function() g.arange(1, 3):requires_grad_() end, "i64.*:float%(%)", "requires_grad on one")
    local a = leaf(2)
    local y = a:exp()
    local z = (y * y):sum()
    z:backward()
    fails(function() z:backward() end,
        "autograd_rules.lua:%d+.*freed by an earlier backward.*retain_graph = true",
            "backward twice")
    fails(function() (y * 2):sum():backward() end,
        "exp %(.*autograd_rules.lua:" .. line() - 7 .. "%) was freed", "through what was freed")
    local b, w = leaf(1), leaf(1)
    local p = b * w
    g.no_grad(function() w:add_(1) end)
    local made, wrote = line() - 2, line() - 1
    local what = ("mul %%(.*autograd_rules.lua:%d%%).*written in place.*autograd_rules.lua:%d%%)"
        .. ".*:clone%%(%%)"):format(made, wrote)
    fails(function() p:sum():backward() end, what, "a version error names both lines")
end

do -- a backward op carries its forward line
    local a = leaf(1, 2, 3)
    local forward
    local prof = g.profile.run(function()
        local y = a:exp():sum() forward = line()
        y:backward()
    end)
    local lines = {}
    for _, r in ipairs(prof:rows { group = "line" }) do lines[r.name:match ":(%d+)$" or ""] = r end
    local own, back = lines[tostring(forward)], lines[tostring(forward + 1)]
    t.ok(own and own.count >= 3, "exp, sum and their derivatives are of the line that ran them")
    t.ok(not back or back.count < own.count, "and not of backward's")
end

do -- memory
    local n = 1 << 16
    local function used() return g.memory("cpu").in_use end
    local x = g.ones(n, f64):requires_grad_()
    local y = x
    collectgarbage()
    collectgarbage()
    local before = used()
    for _ = 1, 10 do y = y:exp():mul(0.3) end
    collectgarbage()
    collectgarbage()
    local held = used() - before
    y = y:sum()
    y:backward()
    collectgarbage()
    collectgarbage()
    t.ok(held >= 10 * 8 * n, "the tape holds what backward needs")
    t.ok(used() - before <= 3 * 8 * n, "backward gives it back, though the result lives")
end

do -- checkpoints
    local a, w = leaf(1, 2), leaf(3, 3)
    local function noisy(v) return (v * w * g.rand(2, f64)):tanh() end
    g.manual_seed(1)
    local y = g.autograd.checkpoint(noisy, a)
    local after = g.rand(3)
    g.manual_seed(1)
    local same = noisy(a)
    t.ok(y:equal(same) and after:equal(g.rand(3)), "a checkpoint draws what fn draws, once")
    local g1, g2 = g.grad(same:sum(), { a, w })
    g.manual_seed(5)
    local expected = g.rand(3)
    g.manual_seed(5)
    y:sum():backward()
    t.ok(a.grad:equal(g1) and w.grad:equal(g2), "backward draws the same again")
    t.ok(g.rand(3):equal(expected), "and leaves the generator where it was")
    a.grad, w.grad = nil, nil
    local function block(v) return (v * w):tanh() end
    local ga = g.grad(g.autograd.checkpoint(block, a):sum(), a)
    t.ok(ga:equal(g.grad(block(a):sum(), a)) and w.grad == nil and a.grad == nil,
        "grad() through a checkpoint changes no grad")
    fails(function() g.grad(g.autograd.checkpoint(block, a):sum(), a, { create_graph = true }) end,
        "no second derivatives", "second derivatives are refused")
    local data = g.tensor({ 1, 2 }, f64)
    g.autograd.checkpoint(block, data):sum():backward()
    t.ok(w.grad:equal(g.grad(block(data):sum(), w)),
        "only what fn has from elsewhere requires gradients")
    local p, q = g.autograd.checkpoint(function(v) return v * 2, v * v end, a)
    a.grad = nil;
    (p + q):sum():backward()
    t.is(a.grad:tolist(), { 4, 6 }, "two results")
end

do -- views made before a write
    local w = leaf(3)
    local function gradient(write)
        local c = g.zeros(4, f64)
        local v = c:narrow(1, 2, 3)
        local of_view = v:narrow(1, 2, 2)
        write(c, v)
        w.grad = nil
        of_view:sum():backward()
        return w.grad:tolist()
    end
    t.is(gradient(function(c) c:add_(w * 2) end), { 4 },
        "an op in place on the base reaches a view of a view made before")
    t.is(gradient(function(c) c[3] = w[1] * 5 end), { 5 }, "a write through another view too")
    t.is(gradient(function(_, v) v:mul_(0):add_(w) end), { 2 }, "and one through the view between")
    local p = leaf(1, 2)
    local part = g.no_grad(function() return p:narrow(1, 1, 1) end)
    fails(function() g.sgd_step({ part }, { leaf(5) }, nil, 0.1) end,
        "tensor 1 of argument 1 requires gradients.*no_grad",
        "a step of a view made under no_grad, by gradients that are recorded")
    t.is(p:tolist(), { 1, 2 }, "which then is as it was")
end

do -- gradients that add up belong to no other tensor
    local a, seed = leaf(1, 2), g.ones(2, f64)
    local y = a * 3
    t.is(g.grad({ y, y }, a, { seed, seed }):tolist(), { 6, 6 }, "the same result twice")
    t.is(seed:tolist(), { 1, 1 }, "the gradient that was given stays as it is")
    y = a * 1
    local u = y:clone()
    local w = y * 10
    local v = y:clone()
    ;(u + v + w):sum():backward()
    t.is(a.grad:tolist(), { 12, 12 },
        "three ways to one result, two of which begin with the same gradient")
    local b = leaf(3, 4)
    for _ = 1, 2 do b:clone():backward(seed) end
    t.is({ b.grad:tolist(), seed:tolist() }, { { 2, 2 }, { 1, 1 } },
        "a leaf's grad is no other's tensor")
    local least, most = b:aminmax()
    most:register_hook(function(gr) return gr * 10 end)
    b.grad = nil;
    (least + most):backward()
    t.is(b.grad:tolist(), { 1, 10 }, "a hook of one result of two")
end

do -- regions
    local a = leaf(1)
    for name, region in pairs { no_grad = g.no_grad, inference = g.inference } do
        t.ok(not region(function() return (a * 2).requires_grad end), name .. " round a function")
        do
            local _ <close> = region()
            t.ok(not (a * 2).requires_grad and not g.is_grad_enabled(), name .. " in a block")
        end
        t.ok((a * 2).requires_grad, "and not after it")
        pcall(function()
            local _ <close> = region()
            error "x"
        end)
        t.ok(g.is_grad_enabled(), "an error ends it")
        t.is({ region(function(...) return ... end, 1, 2) }, { 1, 2 },
            "arguments and results go through")
    end
end

do -- hooks
    local a, order = leaf(2), {}
    local y = a * 3
    y:register_hook(function(gr) order[#order + 1] = gr:tolist()[1] end)
    y:register_hook(function(gr) return gr * 2 end)
    y:register_hook(function(gr) order[#order + 1] = gr:tolist()[1] end)
    ;(y * y):sum():backward()
    t.is(order, { 12, 24 },
        "hooks run in the order of their making, each on what the one before returned")
    t.is(a.grad:tolist(), { 72 }, "and the last gradient goes on")
    local b = leaf(1)
    b:register_hook(function(gr) return gr:sum() end)
    fails(function() (b * 2):backward(g.ones(1, f64)) end, "hook.*shape",
        "a hook's gradient of another shape")
end
do -- removed hooks
    local a, calls = leaf(1), 0
    local kept = a:register_hook(function(gr) return gr + 1 end)
    for i = 1, 3 do a:register_hook(function(gr) return gr * 100 end):remove() end
    local once
    once = a:register_hook(function(gr) -- removes itself, and adds another
        calls = calls + 1
        once:remove()
        a:register_hook(function(g2) return g2 * 2 end)
        return gr
    end)
    ;(a * 3):sum():backward()
    t.is(a.grad:tolist(), { 8 },
        "what is left runs, and what a hook registers runs in the same walk")
    a.grad = nil
    ;(a * 3):sum():backward()
    t.is({ a.grad:tolist()[1], calls }, { 8, 1 },
        "a hook that took itself away is not called again")
    kept()
    kept:remove()
    a.grad = nil
    ;(a * 3):sum():backward()
    t.is(a.grad:tolist(), { 6 }, "a handle can be called, twice too")
    local handle = (a * 1):register_hook(function() end)
    collectgarbage()
    handle:remove()
    t.error(function() kept.remove(3) end, "kept:remove", "remove of something else")
end
t.done()
