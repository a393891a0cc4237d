--!plain
-- f16 and bf16 are computed in f32 and rounded once, also by composed ops: results against plain
-- loops in double precision over the same 16-bit inputs, which a second rounding would miss by more
-- than half a unit in the last place.
local t = require "tap"
local g = require "gpush"
local exp, log, abs, max = math.exp, math.log, math.abs, math.max

math.randomseed(20261122)
local devices = os.getenv "GPUSH_TEST_DEVICE" and { os.getenv "GPUSH_TEST_DEVICE" }
    or { "cpu", "sim" }
local bits, least = { f16 = 10, bf16 = 7 }, { f16 = -14, bf16 = -126 }

-- Half the distance between neighbours of dtype at x, plus a little for the f32 that it was rounded
-- from.
local function half_unit(dtype, x)
    local e = x == 0 and least[dtype] or max(math.floor(log(abs(x), 2)), least[dtype])
    return 2.0 ^ (e - bits[dtype]) * 0.502
end

local function flat(x)
    local out = {}
    local function walk(v)
        if type(v) == "table" then for i = 1, #v do walk(v[i]) end else out[#out + 1] = v end
    end
    walk(x:to "f64":tolist())
    return out
end

local function same(y, want, dtype, what)
    local got, worst = flat(y), nil
    for i = 1, max(#got, #want) do
        if not (got[i] and want[i] and abs(got[i] - want[i]) <= half_unit(dtype, want[i])) then
            worst = worst or ("element %d is %s, expected %s"):format(i, got[i], want[i])
        end
    end
    if not t.ok(y.dtype == dtype and not worst, what) then
        io.stderr:write("#   ", y.dtype, " ", worst or "", "\n")
    end
end

-- A tensor of dtype, and its numbers.
local function random(dtype, dev, shape, f)
    local n, v = 1, {}
    for _, d in ipairs(shape) do n = n * d end
    for i = 1, n do
        v[i] = f and f() or (math.random() + math.random() + math.random() - 1.5) * 3
    end
    local x = g.tensor(v, { dtype = dtype }):view(shape)
    return x:to(dev), flat(x)
end
local function chance() return 0.02 + 0.96 * math.random() end

local function softplus(x) return max(x, 0) + log(1 + exp(-abs(x))) end
-- {name, function that makes x, one that makes the target, the loss of one element, options}
local losses = {
    { "mse_loss", nil, nil, function(a, b) return (a - b) ^ 2 end },
    { "l1_loss", nil, nil, function(a, b) return abs(a - b) end },
    { "smooth_l1_loss", nil, nil,
        function(a, b) local d = abs(a - b); return d < 0.5 and d * d or d - 0.25 end,
        { beta = 0.5 } },
    { "huber_loss", nil, nil,
        function(a, b) local d = abs(a - b); return d <= 0.5 and d * d / 2 or 0.5 * (d - 0.25) end,
        { delta = 0.5 } },
    { "binary_cross_entropy", chance, chance,
        function(a, b) return -b * log(a) - (1 - b) * log(1 - a) end },
    { "binary_cross_entropy_with_logits", nil, chance,
        function(a, b) return b * softplus(-a) + (1 - b) * softplus(a) end },
    { "kl_div", nil, chance, function(a, b) return b * (log(b) - a) end },
    { "kl_div", nil, nil, function(a, b) return exp(b) * (b - a) end, { log_target = true } },
    { "soft_margin_loss", nil, nil, function(a, b) return softplus(-a * b) end },
    { "poisson_nll_loss", nil, chance, function(a, b) return exp(a) - a * b end },
}
local function sum(list)
    local s = 0
    for i = 1, #list do s = s + list[i] end
    return s
end

local function one_loss(dtype, dev, row)
    local name, of_x, of_target, f, options = table.unpack(row, 1, 5)
    local x, a = random(dtype, dev, { 5, 7 }, of_x)
    local target, b = random(dtype, dev, { 5, 7 }, of_target)
    local each = {}
    for i = 1, #a do each[i] = f(a[i], b[i]) end
    for _, reduction in ipairs { "none", "sum", "mean" } do
        local o = { reduction = reduction }
        for k, v in pairs(options or {}) do o[k] = v end
        local want = reduction == "none" and each
            or { sum(each) / (reduction == "mean" and #each or 1) }
        same(g[name](x, target, o), want, dtype,
            ("%s %s %s on %s"):format(name, reduction, dtype, dev))
    end
end

local function weighted(dtype, dev)
    local x, a = random(dtype, dev, { 40 }, chance)
    local target, b = random(dtype, dev, { 40 }, chance)
    local weight, w = random(dtype, dev, { 40 }, chance)
    local want = {}
    for i = 1, 40 do want[i] = -w[i] * (b[i] * log(a[i]) + (1 - b[i]) * log(1 - a[i])) end
    same(g.binary_cross_entropy(x, target, weight, "none"), want, dtype,
        "bce with weights " .. dtype .. " on " .. dev)
    for i = 1, 40 do
        want[i] = a[i] * (w[i] * b[i] * softplus(-a[i]) + (1 - b[i]) * softplus(a[i]))
    end
    same(g.binary_cross_entropy_with_logits(x, target, x, "none", weight), want, dtype,
        "bce of logits with weights " .. dtype .. " on " .. dev)
end

-- The 2-norm of rows r of a and r' of b, of `n` elements: sqrt(sum of f(x, y)).
local function rows(a, i, n) return table.move(a, (i - 1) * n + 1, i * n, 1, {}) end
local function dot(a, b)
    local s = 0
    for i = 1, #a do s = s + a[i] * b[i] end
    return s
end

local function distances(dtype, dev)
    local x, a = random(dtype, dev, { 6, 5 })
    local y, b = random(dtype, dev, { 6, 5 })
    local cosine, unit, far, all = {}, {}, {}, {}
    for i = 1, 6 do
        local p, q = rows(a, i, 5), rows(b, i, 5)
        cosine[i] = dot(p, q) / math.sqrt(dot(p, p) * dot(q, q))
        for k = 1, 5 do unit[#unit + 1] = p[k] / math.sqrt(dot(p, p)) end
        for j = 1, 6 do
            local d = rows(b, j, 5)
            for k = 1, 5 do d[k] = p[k] - d[k] end
            all[#all + 1] = math.sqrt(dot(d, d))
            if i ~= j then goto continue end
            for k = 1, 5 do d[k] = d[k] + 1e-6 end
            far[i] = math.sqrt(dot(d, d))
            ::continue::
        end
    end
    local on = " " .. dtype .. " on " .. dev
    same(x:cosine_similarity(y), cosine, dtype, "cosine_similarity" .. on)
    same(x:normalize(), unit, dtype, "normalize" .. on)
    same(x:pairwise_distance(y), far, dtype, "pairwise_distance" .. on)
    same(x:cdist(y), all, dtype, "cdist" .. on)
end

-- n x n matrices a b, row-major
local function product(a, b, n)
    local c = {}
    for i = 1, n do
        for j = 1, n do
            local s = 0
            for k = 1, n do s = s + a[(i - 1) * n + k] * b[(k - 1) * n + j] end
            c[#c + 1] = s
        end
    end
    return c
end

local function products(dtype, dev)
    local on = " " .. dtype .. " on " .. dev
    local x, a = random(dtype, dev, { 3, 3 })
    local y, b = random(dtype, dev, { 3, 3 })
    same(g.linalg.matrix_power(x, 3), product(product(a, a, 3), a, 3), dtype, "matrix_power" .. on)
    same(g.linalg.multi_dot { x, y, x }, product(product(a, b, 3), a, 3), dtype, "multi_dot" .. on)
    same(g.einsum("ij,jk,kl->il", x, y, x), product(product(a, b, 3), a, 3), dtype,
        "einsum of three" .. on)
    local sums = {}
    for i = 1, 3 do sums[i] = sum(rows(a, i, 3)) * sum(b) end
    same(g.einsum("ij,kl->i", x, y), sums, dtype, "einsum with sums before the product" .. on)
    local cross, second = {}, {}
    for i = 1, 3 do
        local p, q = rows(a, i, 3), rows(b, i, 3)
        for k = 1, 3 do
            local m, n = k % 3 + 1, (k + 1) % 3 + 1
            cross[#cross + 1] = p[m] * q[n] - p[n] * q[m]
        end
        second[i] = p[3] - 2 * p[2] + p[1]
    end
    same(g.linalg.cross(x, y), cross, dtype, "cross" .. on)
    same(x:diff(2), second, dtype, "diff twice" .. on)
end

local function attention(dtype, dev)
    local q, a = random(dtype, dev, { 4, 3 })
    local k, b = random(dtype, dev, { 4, 3 })
    local v, c = random(dtype, dev, { 4, 3 })
    for _, causal in ipairs { false, true } do
        local want = {}
        for i = 1, 4 do
            local share, all = {}, 0
            for j = 1, causal and i or 4 do
                share[j] = exp(dot(rows(a, i, 3), rows(b, j, 3)) / math.sqrt(3))
                all = all + share[j]
            end
            for d = 1, 3 do
                local s = 0
                for j = 1, #share do s = s + share[j] / all * c[(j - 1) * 3 + d] end
                want[#want + 1] = s
            end
        end
        same(g.scaled_dot_product_attention(q, k, v, { is_causal = causal }), want, dtype,
            ("attention%s %s on %s"):format(causal and ", causal" or "", dtype, dev))
    end
end

-- Running statistics of two images of three channels with four elements each.
local function instance_norm(dtype, dev)
    local x, a = random(dtype, dev, { 2, 3, 4 })
    local mean, m = random(dtype, dev, { 3 })
    local var, s = random(dtype, dev, { 3 }, chance)
    local means, vars = {}, {}
    for ch = 1, 3 do
        local mu, sigma = 0, 0
        for i = 0, 1 do
            local p = rows(a, i * 3 + ch, 4)
            local own = sum(p) / 4
            for k = 1, 4 do p[k] = p[k] - own end
            mu, sigma = mu + own / 2, sigma + dot(p, p) / 3 / 2
        end
        means[ch], vars[ch] = 0.7 * m[ch] + 0.3 * mu, 0.7 * s[ch] + 0.3 * sigma
    end
    x:instance_norm(mean, var, { momentum = 0.3 })
    same(mean, means, dtype, "running mean " .. dtype .. " on " .. dev)
    same(var, vars, dtype, "running variance " .. dtype .. " on " .. dev)
end

for _, dev in ipairs(devices) do
    for _, dtype in ipairs { "f16", "bf16" } do
        for _, row in ipairs(losses) do one_loss(dtype, dev, row) end
        weighted(dtype, dev)
        distances(dtype, dev)
        products(dtype, dev)
        attention(dtype, dev)
        instance_norm(dtype, dev)
        local x = g.ones(2, { dtype = dtype, device = dev }):requires_grad_()
        g.mse_loss(x, x:detach() * 3):backward()
        t.is({ x.grad.dtype, x.grad:tolist() }, { dtype, { -2.0, -2.0 } },
            "the gradient is " .. dtype .. " on " .. dev)
        t.is(g.mse_loss(x, g.ones(2, { device = dev })).dtype, "f32",
            "beside f32 the result is f32 on " .. dev)
    end
end
t.done()
