--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: attention and its gradients, by the definition, one
-- query at a time.
local g = require "gpush"
local A = require "arrays"
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 4e-2 or c.dtype == "f16" and 5e-3 or c.dtype == "f32" and 5e-6
        or 1e-12
end
-- exact in every dtype, and no weight is 1
local function small() return math.random(-8, 8) / 8 end

-- Weights of query i of head h of image b over the keys, and the logarithm of the sum of
-- exp(scores).
local function shares(a, b, h, i)
    local p, sum, most = {}, 0, a.causal and math.min(i, a.s) or a.s
    for j = 1, most do
        local dot = 0
        for d = 1, a.size do dot = dot + A.get(a.q, {b, h, i, d}) * A.get(a.k, {b, h, j, d}) end
        p[j] = math.exp(dot * a.scale + (a.mask and A.get(a.mask, {h, 1, j}) or 0))
        sum = sum + p[j]
    end
    for j = 1, a.s do p[j] = (p[j] or 0) / sum end
    return p, math.log(sum)
end

-- Results out and stats, and the gradients of query, key and value for that of out, as arrays.
local function reckon(a)
    local r = {out = A.build(a.up.shape, function() return 0 end),
        stats = A.build({a.b, a.h, a.l}, function() return 0 end)}
    for k, x in pairs {dq = a.q, dk = a.k, dv = a.v} do
        r[k] = A.build(x.shape, function() return 0 end)
    end
    local function add(x, i, v)
        local at = 0
        for d = 1, #i do at = at * x.shape[d] + i[d] - 1 end
        x.v[at + 1] = x.v[at + 1] + v
    end
    A.each({a.b, a.h, a.l}, function(at)
        local b, h, i = table.unpack(at)
        local p, stat = shares(a, b, h, i)
        local slope, mean = {}, 0
        add(r.stats, {b, h, i}, stat)
        for j = 1, a.s do
            slope[j] = 0
            for e = 1, a.width do
                add(r.out, {b, h, i, e}, p[j] * A.get(a.v, {b, h, j, e}))
                add(r.dv, {b, h, j, e}, p[j] * A.get(a.up, {b, h, i, e}))
                slope[j] = slope[j] + A.get(a.up, {b, h, i, e}) * A.get(a.v, {b, h, j, e})
            end
            mean = mean + p[j] * slope[j]
        end
        for j = 1, a.s do
            local d = p[j] * (slope[j] - mean) * a.scale
            for e = 1, a.size do
                add(r.dq, {b, h, i, e}, d * A.get(a.k, {b, h, j, e}))
                add(r.dk, {b, h, j, e}, d * A.get(a.q, {b, h, i, e}))
            end
        end
    end)
    return r
end

-- Calls: sizes that cuDNN takes and others, with and without a mask.
local function each(c, fn)
    for _, o in ipairs {{2, 2, 3, 4, 8, 8}, {1, 2, 4, 3, 8, 16, causal = true},
        {1, 2, 2, 3, 3, 5, mask = true, scale = 0.25}, {1, 2, 2, 8, 8, 8, mask = true}}
    do
        local a = {b = o[1], h = o[2], l = o[3], s = o[4], size = o[5], width = o[6],
            causal = o.causal or false, scale = o.scale or o[5] ^ -0.5}
        local q, k, v, m, up
        q, a.q = c.x({a.b, a.h, a.l, a.size}, small)
        k, a.k = c.x({a.b, a.h, a.s, a.size}, small)
        v, a.v = c.x({a.b, a.h, a.s, a.width}, small)
        up, a.up = c.x({a.b, a.h, a.l, a.width}, small)
        if o.mask then m, a.mask = c.x({a.h, 1, a.s}, small) end
        fn({q, k, v, m, a.causal, o.scale, n = 6}, reckon(a), up)
    end
end

local function refused(c, name)
    local x = c.x({1, 1, 2, 8}, small)
    c.refuses(function() return g[name](x[1], x, x) end, "^" .. name .. ": argument 'query'",
        "batch x heads x rows x features")
    c.refuses(function() return g[name](x, (c.x({1, 1, 2, 7}, small)), x) end,
        "^" .. name .. ": argument 'key'", "1x1x2x8")
    c.refuses(function() return g[name](x, x, x, (c.x({3, 2}, small))) end,
        "^" .. name .. ": argument 'attn_mask'", "broadcasts to 1x1x2x2")
end

C.attention = {types = FLOATS, run = function(c)
    each(c, function(args, want)
        c.check(g.attention(table.unpack(args, 1, args.n)), want.out, nil, tolerance(c))
    end)
    refused(c, "attention")
end}
C.attention_forward = {types = FLOATS, run = function(c)
    each(c, function(args, want)
        local out, stats = g.attention_forward(table.unpack(args, 1, args.n))
        c.check(out, want.out, nil, tolerance(c))
        c.check(stats, want.stats, c.dtype == "f64" and "f64" or "f32", tolerance(c), "stats")
    end)
    refused(c, "attention_forward")
end}
C.attention_backward = {types = FLOATS, run = function(c)
    each(c, function(args, want, up)
        local out, stats = c.put(want.out),
            A.layouts[c.layout](want.stats, c.dtype == "f64" and "f64" or "f32", c.dev)
        args[7], args[8], args[9] = out, stats, up
        local got = {g.attention_backward(table.unpack(args, 1, 9))}
        for i, name in ipairs {"dq", "dk", "dv"} do
            c.check(got[i], want[name], nil, tolerance(c), name)
        end
    end)
    local x = c.x({1, 1, 2, 8}, small)
    c.refuses(function()
        return g.attention_backward(x, x, x, nil, false, nil, x, (c.x({1, 1, 2, 2}, small)), x)
    end,
        "^attention_backward: argument 'stats'")
end}

return C
