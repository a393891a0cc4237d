-- Losses of 16-bit floats on the stand-in for CUDA: one pass over both tensors and at most one
-- launch more, rounded once; values and gradients beside formulas in Lua's own f64.
local t = require "tap"
local fake = require "fake"

local function log100(v) return v > 0 and math.max(math.log(v), -100) or -100 end
local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
local function sign(v) return v > 0 and 1 or v < 0 and -1 or 0 end
-- A loss of a and b, and its derivative by a.
local LOSSES <const> = {
    mse_loss = function(a, b) return (a - b) ^ 2, 2 * (a - b) end,
    l1_loss = function(a, b) return math.abs(a - b), sign(a - b) end,
    smooth_l1_loss = function(a, b)
        local d = math.abs(a - b)
        if d < 0.3 then return d * d / 0.6, (a - b) / 0.3 end
        return d - 0.15, sign(a - b)
    end,
    huber_loss = function(a, b)
        local d = math.abs(a - b)
        if d <= 0.3 then return d * d / 2, a - b end
        return 0.3 * (d - 0.15), 0.3 * sign(a - b)
    end,
    binary_cross_entropy = function(a, b)
        return -(b * log100(a) + (1 - b) * log100(1 - a)), (a - b) / ((1 - a) * a)
    end,
    binary_cross_entropy_with_logits = function(a, b)
        return math.max(a, 0) - a * b + math.log(1 + math.exp(-math.abs(a))), sigmoid(a) - b
    end,
}
local OPTIONS <const> = { smooth_l1_loss = { beta = 0.3 }, huber_loss = { delta = 0.3 } }
local ROUNDING <const> = { bf16 = 2.0 ^ -8, f16 = 2.0 ^ -11 } -- of a value, relative
local LEAST <const> = { bf16 = 0, f16 = 2.0 ^ -25 }           -- and of f16 below its normal numbers

local function call(name, x, y, reduction)
    local options = { reduction = reduction }
    for k, v in next, OPTIONS[name] or {} do options[k] = v end
    return _G[name](x, y, options)
end

-- x and y of n elements between 0.05 and 0.95, which begin at element `from` of their memory.
local function pair(dtype, n, from)
    local function one()
        local x = (rand(n + from) * 0.9 + 0.05):to(dtype):to "cuda"
        return x:narrow(1, from + 1, n):detach()
    end
    return one(), one()
end
local function numbers(x) return x:cpu():to("f64"):tolist() end

-- The largest error of got, in roundings of the dtype; of f32, in numbers of `size`, before.
local function error_of(got, want, dtype, size)
    local worst = 0
    for i = 1, #want do
        local room = math.abs(want[i]) * (ROUNDING[dtype] + 2e-6) + LEAST[dtype] + size * 2.0 ^ -23
        local e = math.abs(got[i] - want[i]) / room
        if not (e <= worst) then worst = e end
    end
    return worst
end

local function launches(fn)
    local before = fake.count "launch"
    local y = fn()
    return fake.count "launch" - before, y
end

local function check(what, name, x, y, dtype, most)
    local f, a, b, each, slope, sum = LOSSES[name], numbers(x), numbers(y), {}, {}, 0
    for i = 1, #a do
        each[i], slope[i] = f(a[i], b[i])
        sum = sum + each[i]
    end
    for reduction, by in next, { mean = #a, sum = 1, none = 0 } do
        x.requires_grad = true
        call(name, x, y, reduction) -- its kernels are loaded
        local n, loss = launches(function() return call(name, x, y, reduction) end)
        t.ok(n <= most, ("%s, %s: %d launches"):format(what, reduction, n))
        t.is(loss.dtype, dtype, what .. ": the dtype")
        local got, want = numbers(loss), each
        if by > 0 then got, want = { loss:item() }, { sum / by } end
        t.ok(error_of(got, want, dtype, 1) <= 1, ("%s, %s: the value"):format(what, reduction))
        loss:sum():backward()
        local size = 1 / math.max(by, 1)
        for i = 1, #a do want[i] = slope[i] * size end
        t.ok(error_of(numbers(x.grad), want, dtype, size) <= 1,
            ("%s, %s: the gradient"):format(what, reduction))
        x.grad, x.requires_grad = nil, false
    end
end

manual_seed(4)
for name in next, LOSSES do
    for _, dtype in ipairs { "bf16", "f16" } do
        local what = name .. " of " .. dtype
        check(what, name, pair(dtype, 1000, 0), select(2, pair(dtype, 1000, 0)), dtype, 1)
        local x, y = pair(dtype, 1003, 0)
        check(what .. ", no whole vectors", name, x, y, dtype, 2)
        x, y = pair(dtype, 1000, 1)
        check(what .. ", beside a vector's beginning", name, x, y, dtype, 1)
    end
    local x, y = pair("bf16", 20000, 0)
    check(name .. " of many elements", name, x, y, "bf16", 2)
end

-- Both need a gradient; both are one tensor; a derivative of the gradient.
do
    local x, y = pair("bf16", 40, 0)
    x.requires_grad, y.requires_grad = true, true
    mse_loss(x, y):backward()
    t.ok((x.grad + y.grad):eq(0):all():item(), "the gradient of the target is minus x's")
    x.grad = nil
    mse_loss(x, x):backward()
    t.ok(x.grad:eq(0):all():item(), "a loss of a tensor and itself")
    local z = tensor({ 0.5, 1.5 }, { dtype = "bf16", device = "cuda", requires_grad = true })
    local g = grad(mse_loss(z, zeros_like(z), { reduction = "sum" }), z,
        { create_graph = true })
    t.is(g:cpu(), tensor({ 1.0, 3.0 }, { dtype = "bf16" }), "a gradient that is recorded")
    t.is(grad(g:sum(), z):cpu(), tensor({ 2.0, 2.0 }, { dtype = "bf16" }),
        "and differentiated")
end

-- What is no pair of contiguous tensors of one dtype runs by single ops, to the same result.
do
    local x, y = pair("bf16", 36, 0)
    local want = mse_loss(x, y)
    t.is(mse_loss(x:view(6, 6):t(), y:view(6, 6):t()):cpu(), want:cpu(), "transposed tensors")
    t.is(mse_loss(x, y:to "f32").dtype, "f32", "a target of f32")
    t.ok(mse_loss(x:narrow(1, 1, 0), y:narrow(1, 1, 0)):isnan():item(), "no elements")
    gpush.nan.watch(true)
    t.is(mse_loss(x, y):cpu(), want:cpu(), "under nan.watch")
    gpush.nan.watch(false)
    local fused = fuse(function(a, b) return mse_loss(a * 1, b) end)
    t.is({ fused(x, y):item(), fused(x, y):item() }, { want:item(), want:item() }, "in fuse")
    local captured = capture(function(a, b) return mse_loss(a, b) end)
    for i = 1, 3 do t.is(captured(x, y):item(), want:item(), "in capture, call " .. i) end
    t.is(autocast({ dtype = "bf16" }, function() return mse_loss(x, y) end).dtype,
        "f32", "autocast widens it as before")
end

-- Errors are those of single ops; programs for many numbers are not kept.
do
    local x, y = pair("bf16", 40, 0)
    t.error(function() return mse_loss(x, y:view(5, 8)) end, "shape 5x8", "shapes that differ")
    t.error(function() return mse_loss(x, y, { reduction = "median" }) end, "reduction",
        "an unknown reduction")
    t.error(function() return smooth_l1_loss(x, y, { beta = -1 }) end, "beta", "a negative beta")
    t.error(function() return binary_cross_entropy(x * 3, y):item() end,
        "bce: a probability is not between 0 and 1", "no probability")
    local want = huber_loss(x, y, { delta = 0.5 }):item()
    for i = 1, 200 do huber_loss(x, y, { delta = i }) end
    t.is(huber_loss(x, y, { delta = 0.5 }):item(), want, "after 200 other numbers")
end

t.done()
