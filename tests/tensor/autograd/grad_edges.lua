--!plain
-- Gradients in edge cases: NaN and ties, zeros of norms, ops in place that read what they
-- overwrite, assignment through masks. References are closed forms, the same op out of place, or
-- PyTorch's numbers.
local t = require "tap"
local g = require "gpush"

local f64 = { dtype = "f64" }
local nan = 0 / 0

local function edges(dev)
    local function on(v) return g.tensor(v, f64):to(dev) end
    local function leaf(v) return on(v):requires_grad_() end
    local function gradient(f, v, w)
        local a = leaf(v)
        local y = f(a)
        if w then y = y * on(w) end
        return (g.grad(y:sum(), a):to "cpu")
    end
    local function is(got, want, name) t.is(got, want, name .. " on " .. dev) end

    -- NaN: where no element is the largest, any may be
    is(gradient(function(a) return a:amax(2) end, { { 1, nan, 2 }, { 3, 3, 1 } }),
        { { nan, nan, nan }, { 0.5, 0.5, 0 } }, "amax of NaN")
    is(gradient(function(a) return a:max() end, { 1, nan, 2, nan }, 4), { 0, 2, 0, 2 },
        "max of all: NaNs share it")
    is(gradient(function(a) return a:median() end, { 1, nan, 2 }), { 0, 1, 0 },
        "median of all likewise")
    is(gradient(function(a) return a:maximum(on { 1, nan, 2, 2 }) end, { nan, 1, 2, 1 }),
        { 1, 1, 0.5, 0 }, "maximum beside NaN")
    is(gradient(function(a) return on({ 1, nan, 2, 2 }):minimum(a) end, { nan, 1, 2, 1 }),
        { 1, 1, 0.5, 1 }, "minimum beside NaN")
    is(gradient(function(a) return a:relu() end, { nan, -1, 0, 2 }), { 1, 0, 0, 1 }, "relu of NaN")

    -- norms: d|x|_2 = x / |x|, whose derivative is (1 - x x' / |x|^2) / |x|, in rows and columns of
    -- zeros too
    local function twice(p, v, w)
        local a = leaf(v)
        local d = g.grad(g.linalg.vector_norm(a, p), a, nil, { create_graph = true })
        return (g.grad((d * on(w)):sum(), a):to "cpu")
    end
    t.close(twice(2, { 3, 0, 4 }, { 0, 1, 0 }), { 0, 0.2, 0 }, 1e-15,
        "the second derivative of a norm where x is 0 on " .. dev)
    t.close(twice(2, { 3, 0, 4 }, { 1, 1, 0 }), { 16 / 125, 0.2, -12 / 125 }, 1e-15,
        "and beside it on " .. dev)
    t.close(twice(1.5, { 1, 0 }, { 1, 1 }), { 0, 0 }, 1e-15, "of the norm 1.5 on " .. dev)
    t.close(gradient(function(a) return g.linalg.vector_norm(a, 0.5) end, { 1, 0, 4 }),
        { 3, 0, 1.5 }, 1e-14, "the norm 0.5 where x is 0 on " .. dev)

    -- in place: the derivative is of the old values
    local b = on { { 2, -3 }, { 0.5, 4 } }
    for name, f in pairs {
        mul = function(a, ip) return ip and a:mul_(b) or a * b end,
        div = function(a, ip) return ip and (b * 1):div_(a) or b / a end,
        pow = function(a, ip) return ip and a:pow_(3) or a ^ 3 end,
        clamp = function(a, ip) return ip and a:clamp_(-1, 2) or a:clamp(-1, 2) end,
        square = function(a, ip) return ip and a:mul_(a) or a * a end,
        addcmul = function(a, ip) return ip and a:addcmul_(a, b) or a:addcmul(a, b) end,
        sin = function(a, ip) return ip and a:sin_():sin_() or a:sin():sin() end,
        view = function(a, ip)
            if not ip then return a * on { { 1, 5 }, { 1, 5 } } * a:select(2, 1):unsqueeze(2) end
            local first = a:select(2, 1):clone()
            a:select(2, 2):mul_(5)
            return a:mul_(first:unsqueeze(2))
        end,
    } do
        local v = { { 1.5, -2 }, { 3, 0.25 } }
        local want = gradient(function(a) return f(a * 2) end, v, { { 1, 2 }, { 3, 4 } })
        t.close(gradient(function(a) return f(a * 2, true) end, v, { { 1, 2 }, { 3, 4 } }), want,
            1e-14, name .. "_ on " .. dev)
    end
    local w = leaf { 2, 3 }
    local y = on { 5, 7 }
    y:mul_(w)
    is((g.grad(y:sum(), w):to "cpu"), { 5, 7 }, "the factor of a tensor that is no longer there")

    -- x[mask] = values: masks over the first dims, values that broadcast
    local function assigned(shape, mask, values)
        local x, v = g.ones(shape, f64):to(dev):requires_grad_(), leaf(values)
        local z = x * 1
        z[g.tensor(mask):to(dev)] = v
        local n = z:numel()
        local gx, gv = g.grad((z * g.range(1, n, f64):to(dev):view(shape)):sum(), { x, v })
        return { gx:to("cpu"):view(-1):tolist(), gv:to("cpu"):tolist() }
    end
    is(assigned({ 2, 2 }, { { true, false }, { true, true } }, { 1, 2, 3 }),
        { { 0, 2, 0, 0 }, { 1, 3, 4 } }, "a value for each true element")
    is(assigned({ 2, 2 }, { { true, false }, { true, true } }, { 9 }), { { 0, 2, 0, 0 }, { 8 } },
        "one value for all")
    is(assigned({ 2, 2 }, { { true, false }, { true, true } }, 9), { { 0, 2, 0, 0 }, 8 },
        "a 0-d one")
    is(assigned({ 3, 2 }, { true, false, true }, { { 1, 2 }, { 3, 4 } }),
        { { 0, 0, 3, 4, 0, 0 }, { { 1, 2 }, { 5, 6 } } }, "rows")
    is(assigned({ 3, 2 }, { true, false, true }, { 1, 2 }), { { 0, 0, 3, 4, 0, 0 }, { 6, 8 } },
        "one row for several")
    is(assigned({ 3, 2 }, { true, false, true }, { { 1 }, { 2 } }),
        { { 0, 0, 3, 4, 0, 0 }, { { 3 }, { 11 } } }, "a number for each row")
    is(assigned({ 3, 2 }, { false, false, false }, { 1, 2 }), { { 1, 2, 3, 4, 5, 6 }, { 0, 0 } },
        "none")
    is(assigned({ 2, 0 }, { true, false }, { 1 }), { {}, { 0 } }, "rows of nothing")

    -- linear over no inputs is only the bias, for one vector and for rows of it
    for _, shape in ipairs { { 0 }, { 2, 0 }, { 2, 1, 0 } } do
        local x, w, b = g.zeros(shape, f64):to(dev):requires_grad_(),
            g.zeros({ 3, 0 }, f64):to(dev):requires_grad_(), leaf { 1, 2, 3 }
        local dx, dw, db = g.grad(x:linear(w, b):sum(), { x, w, b })
        t.is({ dx.shape, dw.shape }, { x.shape, w.shape },
            "linear without inputs: shapes on " .. dev)
        is(db, { #shape > 1 and 2 or 1, #shape > 1 and 2 or 1, #shape > 1 and 2 or 1 },
            "and its bias")
    end

    -- a product's gradient is the product divided by the element where that is a normal number,
    -- otherwise that of the others
    for _, case in ipairs { { { 2, 3, 4 }, { 12, 8, 6 } }, { { 2, 0, 4 }, { 0, 8, 0 } },
        { { -2, 3 }, { 3, -2 } }, { { 1e-30, 1e-30, 1e30 }, { 1, 1, 0 } },
        { { 1e30, 1e30 }, { 1e30, 1e30 } }, { { math.huge, 2 }, { 2, math.huge } },
        { { 1e-30, 1e-10 }, { 1e-10, 1e-30 } } }
        do
        local v = g.tensor(case[1], { dtype = "f32" }):to(dev):requires_grad_()
        t.close(g.grad(v:prod(), { v }):to "cpu":tolist(),
            g.tensor(case[2], { dtype = "f32" }):tolist(), 1e-6,
                "prod of " .. table.concat(case[1], ", ") .. " on " .. dev)
    end

    -- one vector and one output, whose bias is 0-d, too
    is(leaf { 1, 2, 3 }:linear(leaf { 4, 5, 6 }, leaf(0.5)):detach(), 32.5,
        "linear of vectors, with a bias")

    -- writes to the single element of a 0-d tensor
    local five, seven = leaf(5), leaf(7)
    local one = g.tensor { 1 }:to(dev)
    local sum = five:index_add(1, one, seven, { alpha = 2 })
    is(sum:detach(), 19, "index_add of 0-d")
    local function both(y) local a, b = g.grad(y, { five, seven }) return { a:item(), b:item() } end
    t.is(both(sum), { 1, 2 }, "its gradients on " .. dev)
    local copied = five:index_copy(-1, one, seven)
    is(copied:detach(), 7, "index_copy of 0-d")
    t.is(both(copied), { 0, 1 }, "its gradients on " .. dev)
    is(five:detach():index_fill(1, one, 3), 3, "index_fill of 0-d")
    local twice, pair = g.tensor { 1, 1 }:to(dev),
        g.tensor({ 7, 8 }, { dtype = "f64" }):to(dev):requires_grad_()
    sum = five:index_add(1, twice, pair)
    is(sum:detach(), 20, "index_add of 0-d at two indices")
    is(g.grad(sum, { pair }), { 1, 1 }, "its gradient")
    is(five:detach():index_fill(1, twice, 3), 3, "index_fill of 0-d at two indices")
    is(five:detach():index_fill(1, twice:narrow(1, 1, 0), 3), 5, "… and at none")
    is(five:detach():index_copy(1, one, pair:detach():narrow(1, 2, 1)), 8,
        "index_copy of 0-d from one dim")
    local filled = five:index_fill(1, twice, seven)
    t.is(both(filled), { 0, 1 }, "gradients of index_fill of 0-d on " .. dev)
    t.error(function() return five:index_select(1, twice) end,
        "2 indices into a 0%-d tensor %(expected 1%)", "more than one")

    -- an index without dims is one index; elements that share memory add up; an empty one has no
    -- gradient
    is(gradient(function(a) return a:index_select(1, g.tensor(2):to(dev)) end,
        { { 1, 2 }, { 3, 4 } }, { { 5, 6 } }), { { 0, 0 }, { 5, 6 } },
            "index_select by a 0-d index")
    is(gradient(function(a) return a:as_strided({ 3, 3 }, { 1, 1 }) end, { 1, 2, 3, 4, 5 }),
        { 1, 2, 3, 2, 1 }, "as_strided with overlaps")
    is(gradient(function(a) return a:as_strided({ 2, 2 }, { 2, 0 }, 2) end, { { 1, 2 }, { 3, 4 } },
        { { 1, 2 }, { 3, 4 } }), { { 0, 3 }, { 0, 7 } }, "as_strided that repeats")
    is(gradient(function(a) return (a:as_strided({ 2, 2 }, { 1, 1 }) ^ 2):sum() end, { 1, 2, 3 }),
        { 2, 8, 6 }, "as_strided, then squares")
    t.error(function() leaf { { 1, 2 }, { 3, 4 } }.T:as_strided({ 2 }, { 1 }):sum():backward() end,
        "as_strided.*use :contiguous%(%)", "as_strided of a transposed tensor on " .. dev)
    is(gradient(function(a) return (a:topk(0)) end, 3), 0, "topk of 0 elements of a scalar")
    is(gradient(function(a) return (a:topk(1)) end, 3), 1, "and of 1")

    -- targets of bool and of integers are numbers in the second derivative, too
    local function second(f, v)
        local a = leaf(v)
        local d = g.grad(f(a), a, nil, { create_graph = true })
        return g.grad(d:sum(), a):to "cpu"
    end
    local truth = g.tensor { true, false }:to(dev)
    for _, target in ipairs { truth, truth:to "i64", truth:to "u8" } do
        local what = " to " .. target.dtype .. " twice on " .. dev
        t.close(second(function(a) return a:mse_loss(target) end, { 0.25, 3 }), { 1, 1 }, 1e-14,
            "mse_loss" .. what)
        t.close(second(function(a) return a:huber_loss(target) end, { 0.25, 3 }), { 0.5, 0 }, 1e-14,
            "huber_loss" .. what)
        t.close(second(function(a) return a:smooth_l1_loss(target) end, { 0.25, 3 }), { 0.5, 0 },
            1e-14, "smooth_l1_loss" .. what)
        t.close(second(function(a) return a:binary_cross_entropy_with_logits(target) end, { 0, 0 }),
            { 0.125, 0.125 }, 1e-14, "binary_cross_entropy_with_logits" .. what)
        t.close(second(function(a) return (a * target * a):sum() end, { 3, 4 }), { 2, 0 }, 1e-14,
            "a product" .. what)
    end

    -- torch: q, r = linalg.qr(a); ((q ** 3 * w[:, :2]).sum() + (r ** 2 * w).sum()).backward()
    local wide = on { { 1, -2, 3, 0.5 }, { 2, 1, -1, 4 } }
    local function by_qr(a)
        local q, r = g.linalg.qr(a)
        return (q ^ 3 * wide:narrow(2, 1, 2)):sum() + (r ^ 2 * wide):sum()
    end
    t.close(gradient(by_qr, { { 1, 2, 0, 1 }, { 3, -1, 2, 0.5 } }),
        { { -0.9325, 4.6, 4.8, 6.25 }, { 6.9775, -0.2, 10.4, -1.25 } }, 1e-12,
            "qr of more columns than rows on " .. dev)
end
edges "cpu"
edges "sim"

do -- grad is of the tensor's own dtype, shape and device
    local p = g.randn(3):requires_grad_()
    t.error(function() p.grad = g.tensor { 1, 2, 3 } end,
        "grad: expected f32 on cpu, as the tensor is, got i64 on cpu", "an integer gradient")
    t.error(function() p.grad = g.randn(3, f64) end, "got f64 on cpu",
        "a gradient of another float type")
    t.error(function() p.grad = g.randn(3, { device = "sim" }) end, "got f32 on sim:0",
        "a gradient on another device")
    t.error(function() p.grad = g.randn(2) end, "expected shape 3, got 2",
        "a gradient of another shape")
    t.ok(p.grad == nil, "none of them was taken")
    p.grad = g.ones(3)
    t.is(p.grad, { 1, 1, 1 }, "a good one is")
end

-- A missing gradient of an op is an error, not a silent zero.
local x, w = g.randn(3, 4, f64), g.rand(4, f64):requires_grad_()
for name, target in pairs { labels = g.tensor { 1, 2, 4 }, probabilities = g.rand(3, 4, f64) } do
    t.error(function() x:cross_entropy(target, w):backward() end,
        "cross_entropy has no derivative by its weight", "weights of classes, " .. name)
end
t.error(function() x:nll_loss(g.tensor { 1, 2, 4 }, w):backward() end,
    "nll_loss has no derivative by its weight", "weights of nll_loss")
-- ---- parts of one tensor share their gradient: overlapping ones, of a leaf and of a result, held
-- and hooked ----
do
    local function parts(x) -- elements of row 2 three times, of rows 1 and 3 twice
        return (x:narrow(1, 1, 2) * 2):sum() + (x:narrow(1, 2, 2) * 3):sum() + (x[2] * 5):sum() +
            (x["1::2, 1"] * 7):sum()
    end
    local want = {{9, 2, 2}, {10, 10, 10}, {10, 3, 3}}
    for _, dtype in ipairs {"f64", "f32", "f16"} do
        local x = g.randn(3, 3, {dtype = dtype}):requires_grad_()
        parts(x):backward()
        t.is(x.grad, want, dtype .. ": of a leaf")
        parts(x):backward()
        t.is(x.grad, (g.tensor(want) * 2):tolist(), dtype .. ": and added to what it had")
        local y = x * 2
        local dy, dx = g.grad(parts(y), {y, x})
        t.is(dy, want, dtype .. ": of a result")
        t.is(dx, (g.tensor(want) * 2):tolist(), dtype .. ": and what it was made of")
        local seen = {}
        y = x * 2
        y:register_hook(function(d) seen[#seen + 1] = d return d * 10 end)
        local hooked = g.grad(parts(y) + y:sum(), {x})
        t.is({#seen, seen[1]:tolist(), hooked:tolist()},
            {1, (g.tensor(want) + 1):to(dtype):tolist(),
                ((g.tensor(want) + 1) * 20):to(dtype):tolist()}, dtype .. ": under a hook")
    end
    local x = g.randn(40, 3, {dtype = "f64"}):requires_grad_()
    local h, steps = x[1], {}
    for i = 2, 40 do h = (h * 0.5 + x[i]):tanh() steps[i] = h end
    local quick, slow = g.grad(h:sum(), {x}, nil, {retain_graph = true}),
        g.grad(h:sum(), {x}, nil, {create_graph = true})
    t.ok((quick - slow:detach()):abs():max():item() < 1e-14, "step by step")
end

do -- cumprod_ goes back from what x was
    local x = g.tensor({1, 2, 4}, {dtype = "f64"}):requires_grad_()
    local y = x * 1
    y:cumprod_(1):sum():backward()
    t.is(x.grad, {11, 5, 2}, "cumprod_")
end

-- How many inputs a list has is its n, or its length: neither may keep the check going forever.
for _, name in ipairs {"gradcheck", "gradgradcheck"} do
    local check = g.autograd[name]
    local endless = setmetatable({}, {__len = function() return 1 << 53 end})
    local x = ones(2)
    for _, list in ipairs {{x, n = 1 << 53}, {x, n = -1}, {x, n = "3"}, {x, n = 1.5}, endless} do
        t.error(function() check(function(...) return ... end, list) end,
            name .. ": argument 'inputs': expected 0 to 250 inputs, got n = ",
            name .. " of a list with another n: " .. tostring(list.n))
    end
    local list = {ones(2, {dtype = "f64"}):requires_grad_()}
    t.ok(check(function(y) return y * y end, list), name)
    t.is(list.n, nil, name .. " leaves the list as it was")
end

-- A leaf keeps the gradient that a rule made, where nobody else holds it: a product of a layer's is
-- no view, which would be copied, in 6 % of an MLP's step.
for _, dev in ipairs { "cpu", "sim" } do
    local w, x = g.randn(4, 3, { device = dev }):requires_grad_(), g.randn(2, 3, { device = dev })
    local prof = g.profile.run(function() g.linear(x, w):sum():backward() end)
    for _, row in ipairs(prof:rows()) do t.ok(row.name ~= "copy", dev .. ": " .. row.name) end
    t.ok(g.allclose(w.grad, x:sum(1):expand(4, 3)), dev .. ": and it is right")
end

t.done()
