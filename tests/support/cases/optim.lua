--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: optimizer steps and clipping, against plain loops.
local g = require "gpush"
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 1e-2 or c.dtype == "f16" and 1e-3 or c.dtype == "f32" and 2e-6
        or 1e-12
end
local shapes = {{3, 5}, {}, {0, 2}, {700}, {2, 3, 4}}

-- A list of tensors and one of their arrays, an entry for each shape; written tensors are separate
-- ones.
local function list(c, f)
    local x, a = {}, {}
    for i, shape in ipairs(shapes) do x[i], a[i] = c.x(shape, f) end
    return x, a
end
local function positive() return math.random(0, 8) / 4 end
-- its square plus 1 is exact in every dtype
local function small() return math.random(-4, 4) / 4 end

-- Checks that update(p, g, s…), on numbers, gives the op's result for each element. names: the
-- lists.
local function step(names, run, update)
    return {types = FLOATS, run = function(c)
        local x, a = {}, {}
        for k, name in ipairs(names) do
            x[k], a[k] = list(c, name:find "sq" and positive or name == "averages" and small or nil)
        end
        run(x)
        for i, first in ipairs(a[1]) do
            for e = 1, #first.v do
                local v = {}
                for k = 1, #names do v[k] = a[k][i].v[e] end
                v = {update(table.unpack(v))}
                for k = 1, #names do a[k][i].v[e] = v[k] end
            end
            for k, name in ipairs(names) do
                c.check(x[k][i], a[k][i], nil, tolerance(c), name .. " " .. i)
            end
        end
    end}
end

C.sgd_step = step({"params", "grads", "buffers"}, function(x)
    g.sgd_step(x[1], x[2], x[3],
        {lr = 0.5, momentum = 0.75, dampening = 0.25, weight_decay = 0.125, nesterov = true})
end, function(p, d, b)
    local s = d + 0.125 * p
    b = 0.75 * b + 0.75 * s
    return p - 0.5 * (s + 0.75 * b), d, b
end)

C.adam_step = step({"params", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"}, function(x)
    g.adam_step(x[1], x[2], x[3], x[4], x[5], 3,
        {lr = 0.25, beta1 = 0.5, beta2 = 0.75, eps = 0.5, weight_decay = 0.5, decoupled = true})
end, function(p, d, m, v, most)
    m, v = 0.5 * m + 0.5 * d, 0.75 * v + 0.25 * d * d
    most = math.max(most, v)
    local rate = 0.25 / (1 - 0.5 ^ 3)
    return p * (1 - 0.25 * 0.5) - rate * m / (math.sqrt(most) / math.sqrt(1 - 0.75 ^ 3) + 0.5), d,
        m, v, most
end)

C.rmsprop_step = step({"params", "grads", "square_avgs", "averages", "buffers"}, function(x)
    -- the average of squares is at least the square of the average
    g.no_grad(function() for i = 1, #x[3] do x[3][i]:copy_(x[4][i] * x[4][i] + 1) end end)
    g.rmsprop_step(x[1], x[2], x[3], x[4], x[5],
        {lr = 0.25, alpha = 0.75, eps = 0.5, weight_decay = 0.125, momentum = 0.5, maximize = true})
end, function(p, d, v, m, b)
    local s = -d + 0.125 * p
    v, m = 0.75 * (m * m + 1) + 0.25 * s * s, 0.75 * m + 0.25 * s
    b = 0.5 * b + s / (math.sqrt(v - m * m) + 0.5)
    return p - 0.25 * b, d, v, m, b
end)

C.adagrad_step = step({"params", "grads", "sqs"}, function(x)
    g.adagrad_step(x[1], x[2], x[3], 5,
        {lr = 0.5, lr_decay = 0.25, eps = 0.5, weight_decay = 0.125})
end, function(p, d, s)
    local k = d + 0.125 * p
    s = s + k * k
    return p - 0.25 * k / (math.sqrt(s) + 0.5), d, s
end)

C.clip_grad_value = step({"grads"}, function(x) g.clip_grad_value(x[1], 1.5) end,
    function(d) return math.max(-1.5, math.min(1.5, d)) end)

-- The same where the parameters are rounded into another list and the device counts the steps.
local adam = C.adam_step
C.adam_step = {types = FLOATS, run = function(c)
    adam.run(c)
    local x, a = list(c)
    local f, d, m, v, rounded = {}, {}, {}, {}, {}
    for i, y in ipairs(x) do
        f[i] = y:to(c.dtype == "f64" and "f64" or "f32")
        d[i] = g.ones_like(f[i]) * 8
        m[i], v[i], rounded[i] = g.zeros_like(f[i]), g.zeros_like(f[i]), g.zeros_like(y)
    end
    local device = x[1].device
    local steps = g.full({}, 0, {dtype = "i64", device = device})
    local scale, found = g.full({}, 4, {dtype = "f32", device = device}),
        g.zeros({}, {dtype = "f32", device = device})
    local function run()
        g.adam_step(f, d, m, v, nil, {lr = 0.25, beta1 = 0.5, beta2 = 0.5, eps = 2,
            rounded = rounded, steps = steps, grad_scale = scale, found_inf = found})
    end
    run()
    found:fill_(1)
    run() -- nothing
    found:fill_(0)
    run()
    for i, y in ipairs(a) do
        for e = 1, #y.v do
            local p, mean, square = y.v[e], 0, 0
            for n = 1, 2 do
                mean, square = 0.5 * mean + 1, 0.5 * square + 2
                local k = 1 - 0.5 ^ n
                p = p - 0.25 * (mean / k) / (math.sqrt(square / k) + 2)
            end
            y.v[e] = p
        end
        c.check(f[i], y, f[i].dtype, f[i].dtype == "f64" and 1e-12 or 2e-6, "f32 copies " .. i)
        c.check(rounded[i], y, nil, tolerance(c), "rounded " .. i)
    end
    c.check(steps, {shape = {}, v = {2}}, "i64", 0, "steps")
end}

C.amp_unscale = {types = FLOATS, run = function(c)
    local x, a = list(c)
    local device = x[1].device
    local scale = g.full({}, 8, {dtype = "f32", device = device})
    local found = g.zeros({}, {dtype = "f32", device = device})
    if c.dtype == "f64" or c.dtype == "f32" then
        g.amp_unscale(x, scale, found)
        for _, y in ipairs(a) do for e = 1, #y.v do y.v[e] = y.v[e] / 8 end end
    end
    g.amp_unscale(x, scale, found, true)
    for i, y in ipairs(a) do c.check(x[i], y, nil, 0, "grads " .. i) end
    c.check(found, {shape = {}, v = {0}}, "f32", 0, "found_inf of numbers")
    for _, bad in ipairs {math.huge, -math.huge, 0 / 0} do
        found:fill_(0)
        x[4][699] = bad
        g.amp_unscale(x, scale, found, true)
        c.check(found, {shape = {}, v = {1}}, "f32", 0, "found_inf of " .. bad)
    end
end}

C.amp_update_scale = {types = {f32 = true}, run = function(c)
    local x = c.x({1})
    local function one(v) return g.full({}, v, {dtype = x.dtype, device = x.device}) end
    local scale, tracker = one(16), one(0)
    for _, case in ipairs {{0, 16, 1}, {0, 48, 0}, {0, 48, 1}, {1, 12, 0}, {0, 12, 1}} do
        g.amp_update_scale({scale, tracker}, one(case[1]), 3, 0.25, 2)
        c.check(scale, {shape = {}, v = {case[2]}}, "f32", 0, "scale")
        c.check(tracker, {shape = {}, v = {case[3]}}, "f32", 0, "growth_tracker")
    end
end}

C.clip_grad_norm = {types = FLOATS, run = function(c)
    local x, a = list(c)
    local n = 0
    for _, y in ipairs(a) do
        for _, v in ipairs(y.v) do n = n + v * v end
    end
    n = math.sqrt(n)
    local got = g.clip_grad_norm(x, 2)
    c.check(got, {shape = {}, v = {n}}, c.dtype == "f64" and "f64" or "f32", 1e-6, "norm")
    for i, y in ipairs(a) do
        for e = 1, #y.v do y.v[e] = y.v[e] * (2 / (n + 1e-6)) end
        c.check(x[i], y, nil, tolerance(c), "grads " .. i)
    end
end}

return C
