--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: normalisations, dropout, embedding and gradients,
-- against plain loops and finite differences.
local g = require "gpush"
local A = require "arrays"
local build, get, with = A.build, A.get, A.with
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 2e-2 or c.dtype == "f16" and 3e-3 or c.dtype == "f32" and 5e-6
        or 1e-12
end
local function slope_tolerance(c) return math.max(tolerance(c), 2e-7) end

-- d f(a) / d a by central differences, an array of a's shape; f gives a number.
local function slope(a, f)
    local h, v = 1e-4, {}
    for i = 1, #a.v do
        local x = a.v[i]
        a.v[i] = x + h
        local up = f(a)
        a.v[i] = x - h
        v[i] = (up - f(a)) / (2 * h)
        a.v[i] = x
    end
    return {shape = a.shape, v = v}
end
local function dot(a, b)
    local s = 0
    for i = 1, #a.v do s = s + a.v[i] * b.v[i] end
    return s
end
-- A positive value that every float dtype holds.
local function positive() return math.random(1, 8) / 4 end

-- Normalises the elements of a that share key(idx); weight and bias at channel(idx). o: {eps, rms,
-- mean, var}
local function normal(a, key, channel, w, b, o)
    local n, sum, sq = {}, {}, {}
    local function each(f) A.each(a.shape, function(i) f(key(i), get(a, i)) end) end
    each(function(k, x) n[k], sum[k], sq[k] = (n[k] or 0) + 1, (sum[k] or 0) + x, 0 end)
    local function mean(k) return o.mean and o.mean.v[k] or o.rms and 0 or sum[k] / n[k] end
    each(function(k, x) sq[k] = sq[k] + (x - mean(k)) ^ 2 end)
    return build(a.shape, function(i)
        local k, c = key(i), channel(i)
        return (get(a, i) - mean(k)) / math.sqrt((o.var and o.var.v[k] or sq[k] / n[k]) + o.eps) *
            (w and w.v[c] or 1) + (b and b.v[c] or 0)
    end)
end

-- The position of an index of a in rows of the last dims, of which there are `last`.
local function rows(shape, last)
    local function place(i, from, to)
        local at = 0
        for d = from, to do at = at * shape[d] + i[d] - 1 end
        return at + 1
    end
    return function(i) return place(i, 1, #shape - last) end,
        function(i) return place(i, #shape - last + 1, #shape) end
end
local function tail(shape, last) return table.move(shape, #shape - last + 1, #shape, 1, {}) end

local function layer(name, rms)
    return {types = FLOATS, run = function(c)
        for last, shape in pairs {{3, 7}, {2, 3, 4}} do
            local x, a = c.x(shape)
            local key, channel = rows(shape, last)
            local size = tail(shape, last)
            local weight, w = c.x(size, positive)
            local bias, b = c.x(size)
            if rms then
                c.check(g.rms_norm(x, size),
                    normal(a, key, channel, nil, nil,
                        {rms = true, eps = c.dtype == "f64" and 2 ^ -52 or 2 ^ -23}), nil,
                            tolerance(c))
                c.check(g.rms_norm(x, size, weight, 0.5),
                    normal(a, key, channel, w, nil, {rms = true, eps = 0.5}), nil, tolerance(c))
            else
                c.check(g.layer_norm(x, size), normal(a, key, channel, nil, nil, {eps = 1e-5}), nil,
                    tolerance(c))
                c.check(g.layer_norm(x, size, weight, nil, 0.5),
                    normal(a, key, channel, w, nil, {eps = 0.5}), nil, tolerance(c))
                c.check(g.layer_norm(x, size, weight, bias),
                    normal(a, key, channel, w, b, {eps = 1e-5}), nil, tolerance(c))
            end
        end
        c.refuses(function() return g[name]((c.x {3, 4}), {3}) end,
            "^" .. name .. ": argument 'normalized_shape'")
        c.refuses(function() return g[name]((c.x {3, 4}), 4, (c.x {3})) end,
            "^" .. name .. ": argument 'weight' is %w* 3")
    end}
end
C.layer_norm, C.rms_norm = layer("layer_norm"), layer("rms_norm", true)

local function group_key(shape, groups)
    local each = shape[2] // groups
    return function(i) return (i[1] - 1) * groups + (i[2] - 1) // each + 1 end,
        function(i) return i[2] end
end
C.group_norm = {types = FLOATS, run = function(c)
    for groups, shape in pairs {[2] = {2, 4, 3, 2}, [3] = {3, 6}, [1] = {2, 2, 5}} do
        local x, a = c.x(shape)
        local key, channel = group_key(shape, groups)
        local weight, w = c.x({shape[2]}, positive)
        local bias, b = c.x {shape[2]}
        c.check(g.group_norm(x, groups), normal(a, key, channel, nil, nil, {eps = 1e-5}), nil,
            tolerance(c))
        c.check(g.group_norm(x, groups, weight, bias, 0.5),
            normal(a, key, channel, w, b, {eps = 0.5}), nil, tolerance(c))
    end
    c.refuses(function() return g.group_norm((c.x {2, 4}), 3) end,
        "^group_norm: argument 'num_groups' is 3", "4 channels")
    c.refuses(function() return g.group_norm((c.x {4}), 1) end, "^group_norm: argument 'x'")
end}

-- ---- gradients ----

-- Results of a gradient op against differences of sum(u * norm(a, w, b)).
local function check_norm(c, results, a, w, b, u, f, rms)
    c.check(results[1], slope(a, function(t) return dot(u, f(t, w, b)) end), nil,
        slope_tolerance(c), "gradient of x")
    c.check(results[2], slope(w, function(t) return dot(u, f(a, t, b)) end), nil,
        4 * slope_tolerance(c), "gradient of weight")
    if not rms then
        c.check(results[3], slope(b, function(t) return dot(u, f(a, w, t)) end), nil,
            4 * slope_tolerance(c), "gradient of bias")
    end
end
local function layer_grad(name, rms)
    return {types = FLOATS, run = function(c)
        for last, shape in pairs {{3, 5}, {2, 3, 2}} do
            local x, a = c.x(shape)
            local key, channel = rows(shape, last)
            local size = tail(shape, last)
            local up, u = c.x(shape)
            local weight, w = c.x(size, positive)
            local b = build(size, function() return 0.5 end)
            check_norm(c, {g[name](up, x, size, weight, 0.25)}, a, w, b, u,
                function(p, q, r) return normal(p, key, channel, q, r, {rms = rms, eps = 0.25}) end,
                    rms)
        end
        c.refuses(function() return g[name]((c.x {3, 2}), (c.x {3, 4}), 4) end,
            "^" .. name .. ": argument 'g' is")
    end}
end
C.layer_norm_grad, C.rms_norm_grad = layer_grad("layer_norm_grad"),
    layer_grad("rms_norm_grad", true)
C.group_norm_grad = {types = FLOATS, run = function(c)
    for groups, shape in pairs {[2] = {2, 4, 3}, [1] = {3, 2}} do
        local x, a = c.x(shape)
        local key, channel = group_key(shape, groups)
        local up, u = c.x(shape)
        local weight, w = c.x({shape[2]}, positive)
        local b = build({shape[2]}, function() return 0.5 end)
        check_norm(c, {g.group_norm_grad(up, x, groups, weight, 0.25)}, a, w, b, u,
            function(p, q, r) return normal(p, key, channel, q, r, {eps = 0.25}) end)
    end
end}
C.batch_norm_grad = {types = FLOATS, run = function(c)
    for _, shape in ipairs {{3, 2, 2}, {5, 3}} do
        local x, a = c.x(shape)
        local function key(i) return i[2] end
        local up, u = c.x(shape)
        local weight, w = c.x({shape[2]}, positive)
        local mean, m = c.x {shape[2]}
        local var, v = c.x({shape[2]}, positive)
        local b = build({shape[2]}, function() return 0.5 end)
        check_norm(c, {g.batch_norm_grad(up, x, nil, nil, weight, true, 0.25)}, a, w, b, u,
            function(p, q, r) return normal(p, key, key, q, r, {eps = 0.25}) end)
        check_norm(c, {g.batch_norm_grad(up, x, mean, var, weight, false, 0.25)}, a, w, b, u,
            function(p, q, r)
            return normal(p, key, key, q, r, {eps = 0.25, mean = m, var = v})
        end)
    end
    c.refuses(function() return g.batch_norm_grad((c.x {3, 2}), (c.x {3, 2})) end,
        "^batch_norm_grad: running_mean and running_var")
end}

local function softmax(a, d, logs)
    return build(a.shape, function(i)
        local s = 0
        for k = 1, a.shape[d] do s = s + math.exp(get(a, with(i, d, k))) end
        local y = math.exp(get(a, i)) / s
        return logs and math.log(y) or y
    end)
end
local function softmax_grad(name, logs)
    return {types = FLOATS, run = function(c)
        for _, shape in ipairs {{4, 3}, {2, 3, 2}, {2, 3, 70}} do
            if #shape < 3 or shape[3] < 70 or c.dtype == "f64" then
                for d = 1, shape[3] == 70 and 0 or #shape do
                    local a = build(shape, function() return math.random(-8, 8) / 4 end)
                    local up, u = c.x(shape)
                    local y = c.put(softmax(a, d, logs))
                    c.check(g[name](up, y, d),
                        slope(a, function(t) return dot(u, softmax(t, d, logs)) end), nil,
                            4 * slope_tolerance(c), name .. " " .. d)
                end
            end
        end
        -- many columns, by the formula, where differences would be slow
        local y, a = c.x({2, 3, 70}, function() return -positive() end)
        local up, u = c.x {2, 3, 70}
        c.check(g[name](up, y, 2), build({2, 3, 70}, function(i)
            local s = 0
            for k = 1, 3 do
                s = s + get(u, with(i, 2, k)) * (logs and 1 or get(a, with(i, 2, k)))
            end
            return logs and get(u, i) - math.exp(get(a, i)) * s or get(a, i) * (get(u, i) - s)
        end), nil, 4 * tolerance(c), name .. " of many columns")
        c.refuses(function() return g[name](up, y, 4) end, "^" .. name .. ": dim 4")
    end}
end
C.softmax_grad, C.log_softmax_grad = softmax_grad("softmax_grad"),
    softmax_grad("log_softmax_grad", true)

-- ---- dropout ----

-- The elements that rand drops, from the same seed and counter.
local function dropped(a, p, r)
    local i = 0
    return build(a.shape, function(idx)
        i = i + 1
        return r[i] < p and 0 or get(a, idx) / (1 - p)
    end)
end
local function drawn(seed, n)
    g.manual_seed(seed)
    return A.values(g.rand(n))
end
C.dropout = {types = FLOATS, run = function(c)
    local x, a = c.x {37, 61}
    local r = drawn(5, 37 * 61)
    g.manual_seed(5)
    c.check(g.dropout(x, 0.25), dropped(a, 0.25, r), nil, tolerance(c))
    c.check(g.dropout(x, 0.25, false), a, nil, nil, "evaluation")
    c.check(g.dropout(x, 1), build(a.shape, function() return 0 end), nil, nil, "all")
    c.refuses(function() return g.dropout(x, 1.5) end, "^dropout: argument 'p' is 1.5")
end}
C.dropout_grad = {types = FLOATS, run = function(c)
    local x, a = c.x {5, 61}
    c.check(g.dropout_grad(x, 0.5, true, 7, 0), dropped(a, 0.5, drawn(7, 5 * 61)), nil,
        tolerance(c))
end}

-- ---- embedding ----

C.embedding = function(c)
    local weight, w = c.x {5, 3}
    for _, shape in ipairs {{}, {4}, {2, 3}, {0}} do
        local index, i = c.index(shape, 5)
        local out = A.copy(shape)
        out[#out + 1] = 3
        c.check(g.embedding(index, weight),
            build(out, function(idx) return get(w, {get(i, with(idx, #idx)), idx[#idx]}) end))
    end
    for _, bad in ipairs {0, 6} do
        c.refuses(function()
            return g.embedding(g.tensor {1, bad}:to(c.dev), weight):sum():item()
        end, "embedding: index " .. bad .. " ", "1 to 5")
        c.refuses(function()
            return g.embedding(g.tensor {1, bad}:to(c.dev), weight:narrow(2, 1, 0)):sum():item()
        end, "embedding: index " .. bad .. " ", "1 to 5")
    end
    c.refuses(function() return g.embedding(g.ones(2, {device = c.dev}), weight) end,
        "^embedding: dtype f32 of argument 'index'")
    c.refuses(function() return g.embedding((c.index({2}, 5)), weight, 6) end,
        "^embedding: argument 'padding_idx' is 6")
end
C.embedding_grad = {types = FLOATS, run = function(c)
    local index, i = c.index({4, 3}, 5)
    local up, u = c.x {4, 3, 2}
    for _, pad in ipairs {0, 2, -1} do
        local want = build({5, 2}, function() return 0 end)
        A.each({4, 3, 2}, function(idx)
            local row = get(i, {idx[1], idx[2]})
            if row ~= (pad < 0 and 5 or pad) then
                A.set(want, {row, idx[3]}, get(want, {row, idx[3]}) + get(u, idx))
            end
        end)
        c.check(g.embedding_grad(up, index, 5, pad ~= 0 and pad or nil), want, nil, tolerance(c))
    end
    c.refuses(function() return g.embedding_grad(up, index, 0):sum():item() end,
        "embedding_grad: index")
end}

return C
