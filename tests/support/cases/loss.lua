--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: losses over classes and their gradients, against plain
-- loops and finite differences.
local g = require "gpush"
local A = require "arrays"
local build, get = A.build, A.get
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 2e-2 or c.dtype == "f16" and 2e-3 or c.dtype == "f32" and 5e-6
        or 1e-12
end

-- d f(a) / d element i of a by central differences; f gives a number.
local function slope(a, i, f)
    local h, x = 1e-4, a.v[i]
    a.v[i] = x + h
    local up = f()
    a.v[i] = x - h
    local s = (up - f()) / (2 * h)
    a.v[i] = x
    return s
end
local function slope_tolerance(c) return math.max(tolerance(c), 1e-7) end

-- The shape without the classes, and the index of class k at pixel i.
local function pixels(shape)
    local s = A.copy(shape)
    table.remove(s, #s == 1 and 1 or 2)
    return s
end
-- The offset of class 1 of pixel i in an array of the shape, and the stride of its classes.
local function place(shape, i)
    local at, step = 0, 1
    for d = 1, #shape do
        local class = d == (#shape == 1 and 1 or 2)
        at = at * shape[d] + (class and 0 or i[d < 2 and 1 or d - 1] - 1)
        if d > 2 then step = step * shape[d] end
    end
    return at + 1, step
end
-- The values of pixel i by class.
local function classes(a, i, n)
    local at, step = place(a.shape, i)
    local v = {}
    for k = 1, n do v[k] = a.v[at + (k - 1) * step] end
    return v
end
local function log_softmax(v, n)
    local s, m = 0, math.max(table.unpack(v))
    for k = 1, n do s = s + math.exp(v[k] - m) end
    for k = 1, n do v[k] = v[k] - m - math.log(s) end
    return v
end

-- The loss at pixel i and its weight in a mean. o: {label or soft, weight, ignore, smooth, logs}
local function at_pixel(a, i, o)
    local n = a.shape[#a.shape == 1 and 1 or 2]
    local log_p = classes(a, i, n)
    if not o.logs then log_softmax(log_p, n) end
    local soft = o.soft and classes(o.soft, i, n)
    local smooth, sum = o.smooth or 0, 0
    local function w(k) return o.weight and o.weight.v[k] or 1 end
    local label = o.label and get(o.label, i)
    if label and label == o.ignore then return 0, 0 end
    for k = 1, n do
        local y = soft and soft[k] or k == label and 1 or 0
        y = y * (1 - smooth) + smooth / n
        if y ~= 0 then sum = sum - w(k) * y * log_p[k] end
    end
    return sum, label and w(label) or 1
end
local function reduced(a, o)
    local sum, weight = 0, 0
    A.each(pixels(a.shape), function(i)
        local l, w = at_pixel(a, i, o)
        sum, weight = sum + l, weight + w
    end)
    return o.reduction == "sum" and sum or sum / weight
end

-- Calls f(x, array, target, options for the op, options for the reference) for each combination
-- worth testing.
local function combinations(c, soft, f)
    local shapes = {{5}, {3, 4}, {2, 5, 3}, {2, 3, 2, 2}, {2, 70}}
    for s, shape in ipairs(shapes) do
        local x, a = c.x(shape)
        local n, px = shape[#shape == 1 and 1 or 2], pixels(shape)
        local target,
            label = c.x(px, function(i) return i[1] == 2 and s > 1 and 200 or math.random(1, n) end,
                "i64")
        local weight, w = c.x({n}, function() return math.random(1, 8) / 4 end)
        -- many classes are slow
        for _, reduction in ipairs(n < 70 and {"mean", "sum", "none"} or {"mean"}) do
            f(x, a, target, {reduction = reduction, ignore_index = 200},
                {label = label, ignore = 200, reduction = reduction})
            f(x, a, target, {reduction = reduction, ignore_index = 200, weight = weight},
                {label = label, ignore = 200, reduction = reduction, weight = w})
            if soft then
                f(x, a, target,
                    {reduction = reduction, ignore_index = 200, weight = weight,
                        label_smoothing = 0.25},
                    {label = label, ignore = 200, reduction = reduction, weight = w, smooth = 0.25})
                local chances, p = c.x(shape, function() return math.random(0, 8) / 8 end)
                f(x, a, chances, {reduction = reduction}, {soft = p, reduction = reduction})
                f(x, a, chances, {reduction = reduction, weight = weight, label_smoothing = 0.5},
                    {soft = p, reduction = reduction, weight = w, smooth = 0.5})
            end
        end
    end
end

local function errors(c, fn, name)
    local x = c.x {3, 4}
    c.refuses(function() return fn(x, g.ones(4, {dtype = "i64", device = c.dev})) end,
        "^" .. name .. ": .*target.*f?%w* 3x4.*shape 3")
    c.refuses(function() return fn(x, g.ones(3, {dtype = "bool", device = c.dev})) end,
        "^" .. name .. ": dtype bool of argument 'target'")
    c.refuses(function()
        return fn(x, g.ones(3, {dtype = "i64", device = c.dev}), g.ones(3, {device = c.dev}))
    end, "'weight'", "4 elements")
    c.refuses(function()
        return fn(x, g.ones(3, {dtype = "i64", device = c.dev}), {reduction = "all"})
    end, "reduction 'all'")
    for _, bad in ipairs {0, 5, -1} do
        c.refuses(function() return fn(x, g.tensor {1, bad, 2}:to(c.dev)):item() end,
            ("%s: label %s%d "):format(name, bad < 0 and "%" or "", bad), "1 to 4")
    end
end

local function loss(name, soft)
    return {types = FLOATS, run = function(c)
        combinations(c, soft, function(x, a, target, o, ref)
            ref.logs = not soft
            local what = name .. " " .. A.text(a.shape) .. " " .. o.reduction
            local want = o.reduction == "none"
                and build(pixels(a.shape), function(i) return (at_pixel(a, i, ref)) end)
                    or {shape = {}, v = {reduced(a, ref)}}
            c.check(g[name](x, target, o), want, nil, 2 * tolerance(c), what)
        end)
        errors(c, g[name], name)
    end}
end
C.cross_entropy = loss("cross_entropy", true)
C.nll_loss = loss("nll_loss", false)

-- For the loss times u: a score changes only its own pixel's loss, and no pixel's weight.
local function gradient_of(a, u, reduction, o)
    local n, weight, out = a.shape[#a.shape == 1 and 1 or 2], 0, {shape = a.shape, v = {}}
    A.each(pixels(a.shape), function(i) weight = weight + select(2, at_pixel(a, i, o)) end)
    A.each(pixels(a.shape), function(i)
        local at, step = place(a.shape, i)
        local up = reduction == "none" and get(u, i)
            or u.v[1] / (reduction == "mean" and weight or 1)
        for k = 0, n - 1 do
            out.v[at + k * step] = up * slope(a, at + k * step,
                function() return (at_pixel(a, i, o)) end)
        end
    end)
    return out
end

local function gradient(name, soft)
    return {types = FLOATS, run = function(c)
        combinations(c, soft, function(x, a, target, o, ref)
            ref.logs = not soft
            local up, u = c.x(o.reduction == "none" and pixels(a.shape) or {})
            local want = gradient_of(a, u, o.reduction, ref)
            c.check(g[name](up, x, target, o), want, nil, slope_tolerance(c),
                name .. " " .. A.text(a.shape) .. " " .. o.reduction)
        end)
        local x = c.x {3, 4}
        c.refuses(function()
            return g[name](g.ones(4, {device = c.dev}), x,
                g.ones(3, {dtype = "i64", device = c.dev}))
        end, "^" .. name .. ": argument 'g'")
        c.refuses(function()
            return g[name](g.ones(1, {device = c.dev}):sum(), x,
                g.tensor({1, 5, 2}):to(c.dev)):sum():item()
        end, "label 5")
    end}
end
C.cross_entropy_grad = gradient("cross_entropy_grad", true)
C.nll_loss_grad = gradient("nll_loss_grad", false)

return C
