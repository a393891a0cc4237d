--!plain
-- Losses, distances and attention composed of other ops, against plain loops; none waits for a
-- device.
local t = require "tap"
local g = require "gpush"

local exp, log, abs, max = math.exp, math.log, math.abs, math.max
local tolerance = {f64 = 1e-12, f32 = 2e-6, f16 = 5e-3, bf16 = 4e-2}

local xs, ys = {0.25, -1.5, 2, 0.5, -0.75, 3}, {1, 0, 0.5, 0.25, 0, 1}
local ps = {0.25, 0.5, 0.75, 1, 0, 0.125} -- probabilities
local signs = {1, -1, -1, 1, 1, -1}

-- f(x, y) for each pair, with x and y as tables.
local function map(x, y, f)
    local v = {}
    for i = 1, #x do v[i] = f(x[i], y[i]) end
    return v
end
local function sum(v)
    local s = 0
    for i = 1, #v do s = s + v[i] end
    return s
end
local function clamped(p) return p == 0 and -100 or max(log(p), -100) end
local function bce(p, y) return -(y * clamped(p) + (1 - y) * clamped(1 - p)) end
local function logits(x, y) return bce(1 / (1 + exp(-x)), y) end

-- name, x, target, options, the loss of one pair
local losses = {
    {"mse_loss", xs, ys, {}, function(x, y) return (x - y) ^ 2 end},
    {"l1_loss", xs, ys, {}, function(x, y) return abs(x - y) end},
    {"smooth_l1_loss", xs, ys, {beta = 0.75},
        function(x, y) local z = abs(x - y) return z < 0.75 and z * z / 1.5 or z - 0.375 end},
    {"smooth_l1_loss", xs, ys, {beta = 0}, function(x, y) return abs(x - y) end},
    {"huber_loss", xs, ys, {delta = 0.75},
        function(x, y)
            local z = abs(x - y) return z <= 0.75 and z * z / 2 or 0.75 * (z - 0.375)
        end},
    {"binary_cross_entropy", ps, ys, {}, bce},
    {"binary_cross_entropy_with_logits", xs, ys, {}, logits},
    {"kl_div", xs, ps, {}, function(x, y) return y == 0 and 0 or y * (log(y) - x) end},
    {"kl_div", xs, ys, {log_target = true}, function(x, y) return exp(y) * (y - x) end},
    {"poisson_nll_loss", xs, ys, {}, function(x, y) return exp(x) - y * x end},
    {"poisson_nll_loss", ps, ys, {log_input = false, eps = 2 ^ -7},
        function(x, y) return x - y * log(x + 2 ^ -7) end},
    {"soft_margin_loss", xs, signs, {}, function(x, y) return log(1 + exp(-y * x)) end},
    {"hinge_embedding_loss", xs, signs, {margin = 0.5},
        function(x, y) return y == 1 and x or max(0, 0.5 - x) end},
}

-- Runs f with every wait refused.
local function without_waits(f)
    g.sync.mode = "error"
    local ok, y = pcall(f)
    g.sync.mode = "off"
    if not ok then error(y, 0) end
    return y
end

local function check(dev, dtype)
    local function put(v) return g.tensor(v, {dtype = dtype}):to(dev) end
    local function close(f, want, name)
        local y = without_waits(f)
        t.is(y.dtype, dtype, ("%s keeps %s on %s"):format(name, dtype, dev))
        t.close(y:to "cpu":to "f64":reshape(-1):tolist(), type(want) == "table" and want or {want},
            tolerance[dtype], ("%s %s on %s"):format(name, dtype, dev))
    end
    for _, l in ipairs(losses) do
        local name, x, y, options, f = table.unpack(l)
        local each = map(x, y, f)
        for reduction, want in pairs {none = each, sum = sum(each), mean = sum(each) / #each} do
            local o = {reduction = reduction}
            for k, v in pairs(options) do o[k] = v end
            local a, b = put(x), put(y)
            close(function() return g[name](a, b, o) end, want, name .. " " .. reduction)
        end
    end
    local x, y, p, w = put(xs), put(ys), put(ps), put {1, 2, 0.5, 1, 0, 3}
    local u, v, three, towards = x:view(2, 3), y:view(2, 3), put {3}, put(signs)
    local one, two, bias = put {1, -1}, put {2, 1}, put {0, 1}
    -- found where the loss is computed, and raised at the next wait
    for _, v in ipairs {-0.25, 1.5, 0 / 0} do
        t.error(function() return g.binary_cross_entropy(put {0.5, v}, put {1, 0}):item() end,
            "a probability is not between 0 and 1",
                ("%s is no probability, %s on %s"):format(v, dtype, dev))
    end
    close(function() return g.binary_cross_entropy(p, y, w, "none") end,
        map(map(ps, ys, bce), {1, 2, 0.5, 1, 0, 3}, function(a, b) return a * b end),
            "weighted bce")
    local pos = map(xs, ys,
        function(a, b) return (1 - b) * a + (1 + (3 - 1) * b) * log(1 + exp(-a)) end)
    close(function()
        return g.binary_cross_entropy_with_logits(x, y, {pos_weight = three, reduction = "none"})
    end, pos, "bce with pos_weight")
    close(function() return g.kl_div(u, v:abs() + 1, "batchmean") end,
        sum(map(xs, ys, function(a, b) return (b + 1) * (log(b + 1) - a) end)) / 2,
            "kl_div batchmean")
    local vs = {1, 2, 0.5, 1, 0, 3}
    close(function() return g.gaussian_nll_loss(x, y, w + 1, {reduction = "none", full = true}) end,
        map(map(xs, ys, function(a, b) return (a - b) ^ 2 end), vs,
        function(d, s) return 0.5 * (log(s + 1) + d / (s + 1) + log(2 * math.pi)) end),
            "gaussian_nll_loss")
    close(function() return g.margin_ranking_loss(x, y, towards, 0.5, "none") end,
        map(map(xs, ys, function(a, b) return a - b end), signs,
            function(d, s) return max(0, 0.5 - s * d) end), "margin_ranking_loss")

    -- rows u and v of three elements
    local function row(values, i) return table.move(values, 3 * i - 2, 3 * i, 1, {}) end
    local function norm(a, q) return sum(map(a, a, function(e) return abs(e) ^ q end)) ^ (1 / q) end
    local function cosine(a, b)
        return sum(map(a, b, function(e, f) return e * f end)) / (norm(a, 2) * norm(b, 2))
    end
    local function distance(a, b, q, eps)
        return norm(map(a, b, function(e, f) return e - f + (eps or 0) end), q)
    end
    local x1, x2, y1, y2 = row(xs, 1), row(xs, 2), row(ys, 1), row(ys, 2)
    close(function() return g.cosine_similarity(u, v) end, {cosine(x1, y1), cosine(x2, y2)},
        "cosine_similarity")
    local half = put {0.5} -- broadcast first: the norm is of three of it
    close(function() return g.cosine_similarity(u, half, 2) end,
        {cosine(x1, {0.5, 0.5, 0.5}), cosine(x2, {0.5, 0.5, 0.5})},
            "cosine_similarity with one number")
    close(function() return g.normalize(u, 3) end,
        {x1[1] / norm(x1, 3), x1[2] / norm(x1, 3), x1[3] / norm(x1, 3), x2[1] / norm(x2, 3),
            x2[2] / norm(x2, 3), x2[3] / norm(x2, 3)}, "normalize")
    close(function() return g.pairwise_distance(u, v, 2, 0.25) end,
        {distance(x1, y1, 2, 0.25), distance(x2, y2, 2, 0.25)}, "pairwise_distance")
    close(function() return g.cdist(u, v, 1) end,
        {distance(x1, y1, 1), distance(x1, y2, 1), distance(x2, y1, 1), distance(x2, y2, 1)},
            "cdist")
    close(function() return g.cdist(u, v, math.huge) end, {1.5, 1.5, 2.5, 2},
        "cdist of the largest")
    close(function() return g.cosine_embedding_loss(u, v, one, 0.25, "none") end,
        {1 - cosine(x1, y1), max(0, cosine(x2, y2) - 0.25)}, "cosine_embedding_loss")
    close(function() return g.triplet_margin_loss(u, v, v + 1, {eps = 0, reduction = "sum"}) end,
        max(0, distance(x1, y1, 2) - distance(x1, map(y1, y1, function(e) return e + 1 end), 2) + 1)
        + max(0, distance(x2, y2, 2) - distance(x2, map(y2, y2, function(e) return e + 1 end), 2) +
            1), "triplet_margin_loss")
    close(function() return g.softmin(u, 2):log() end,
        u:neg():log_softmax(2):to "cpu":to "f64":reshape(-1):tolist(), "softmin")

    -- attention with two queries, three keys of size 2
    local qs, ks, vals = {1, 0.5, -1, 2}, {0.5, 1, -1, 0.25, 2, -0.5}, {1, 2, 3, 4, 5, 6}
    local q, k, value = put(qs):view(1, 2, 2), put(ks):view(1, 3, 2), put(vals):view(1, 3, 2)
    local function attend(scale, visible, added)
        local out = {}
        for i = 1, 2 do
            local e, s = {}, 0
            for j = 1, 3 do
                local dot = (qs[2 * i - 1] * ks[2 * j - 1] + qs[2 * i] * ks[2 * j]) * scale +
                    (added and added[3 * i - 3 + j] or 0)
                e[j] = (not visible or visible(i, j)) and exp(dot) or 0
                s = s + e[j]
            end
            for d = 1, 2 do
                local y = 0
                for j = 1, 3 do y = y + (s == 0 and 0 or e[j] / s) * vals[2 * j - 2 + d] end
                out[#out + 1] = y
            end
        end
        return out
    end
    local sdpa = g.scaled_dot_product_attention
    close(function() return sdpa(q, k, value) end, attend(2 ^ -0.5), "attention")
    close(function() return sdpa(q, k, value, {is_causal = true, scale = 1}) end,
        attend(1, function(i, j) return j <= i end), "causal attention")
    close(function() return sdpa(q, k, value, u) end, attend(2 ^ -0.5, nil, xs),
        "attention with scores added")
    local mask = g.tensor {true, false, true, false, false, false}:view(2, 3):to(dev)
    close(function() return sdpa(q, k, value, mask) end,
        attend(2 ^ -0.5, function(i, j) return i == 1 and j ~= 2 end), "masked attention")
    local three_biases = put {1, 2, 3}
    close(function() return g.linear(q, k[1], three_biases) end,
        {0.5 + 0.5 + 1, -1 + 0.125 + 2, 2 - 0.25 + 3, -0.5 + 2 + 1, 1 + 0.5 + 2, -2 - 1 + 3},
            "linear")

    -- instance_norm: each channel of each image on its own
    local images = put {1, 2, 3, 4, 2, 6, 0, 1}:view(2, 2, 2)
    local function unit(a, b) local d = (a - b) / 2 return d / math.sqrt(d * d + 1e-5) end
    local mean, var = put {0, 0}, put {1, 1}
    close(function() return g.instance_norm(images, mean, var, two, bias) end,
        {2 * unit(1, 2), 2 * unit(2, 1), unit(3, 4) + 1, unit(4, 3) + 1, 2 * unit(2, 6),
            2 * unit(6, 2), unit(0, 1) + 1, unit(1, 0) + 1}, "instance_norm")
    close(function() return mean end, {0.1 * (1.5 + 4) / 2, 0.1 * (3.5 + 0.5) / 2},
        "its running mean")
    close(function() return var end, {0.9 + 0.1 * (0.5 + 8) / 2, 0.9 + 0.1 * 0.5},
        "its running variance")
end

for _, dev in ipairs {"cpu", "sim"} do
    for dtype in pairs(tolerance) do check(dev, dtype) end
end

t.error(function() g.mse_loss(g.ones(2), g.ones(2), "all") end, "mse_loss: argument 'reduction'",
    "a reduction that there is not")
t.error(function() g.binary_cross_entropy(g.ones(2), g.ones(3)) end,
    "binary_cross_entropy: argument 'target' has shape 3, x 2", "shapes that differ")
t.error(function() g.huber_loss(g.ones(2), g.ones(2), {delta = 0}) end,
    "huber_loss: argument 'delta'", "no delta")
local far = g.tensor({1000.0, -1000.0}):binary_cross_entropy_with_logits(
    g.tensor({0.0, 1.0}), {reduction = "none"})
t.is(far, {1000, 1000}, "logits that are large")
-- At 0 and 1 the gradient is PyTorch's, (x - target) / max((1 - x) x, 1e-12), where log(x) clamped
-- would give NaN:
-- F.binary_cross_entropy(tensor([0., 1, 1, 0, .5]), tensor([0., 1, 0, 1, .5]), reduction="sum")'s
-- is [0, 0, 1e12, -1e12, 0].
for _, dev in ipairs {"cpu", "sim"} do
    local p = g.tensor({0.0, 1.0, 1.0, 0.0, 0.5}, {device = dev}):requires_grad_()
    local loss = p:binary_cross_entropy(g.tensor({0.0, 1.0, 0.0, 1.0, 0.5}, {device = dev}),
        {reduction = "sum"})
    loss:backward()
    t.close(loss:item(), 200.693147, 1e-6, "cross entropy of certainties on " .. dev)
    t.close(p.grad:tolist(), {0, 0, 1e12, -1e12, 0}, 1e-6, "and its gradient")
end
-- 16-bit floats are computed in f32 and rounded once: the f64 losses of the same numbers, rounded,
-- are the same bits.
for _, dtype in ipairs {"f16", "bf16"} do
    for at, l in ipairs(losses) do
        local name, options = l[1], {reduction = "none"}
        for k, v in pairs(l[4]) do options[k] = v end
        if at <= 9 and name ~= "binary_cross_entropy" then
            local i = g.arange(1, 500, {dtype = "f64"})
            local x, y = ((i * 0.618 % 1) * 4 - 2):to(dtype), (i * 0.377 % 1):to(dtype)
            t.is(g[name](x, y,
                options):eq(g[name](x:double(), y:double(), options):to(dtype)):all():item(), true,
                    name .. " rounds once to " .. dtype)
        end
    end
end
-- A gradient too large for the caches: class c's logit is log(c), so that its softmax is c / 55
-- everywhere.
for _, dev in ipairs {"cpu", "sim"} do
    local pixels = 640000
    local x = g.arange(1, 10, {device = dev, dtype = "f32"}):log():view(1, 10, 1):expand(
        1, 10, pixels):contiguous():requires_grad_()
    local labels = (g.arange(1, pixels, {device = dev}) * 7 % 10 + 1):view(1, pixels)
    g.cross_entropy(x, labels, {reduction = "sum"}):backward()
    local want = (g.arange(1, 10, {device = dev, dtype = "f32"}) / 55):view(1, 10, 1)
    local off = x.grad - want +
        g.arange(1, 10, {device = dev}):view(1, 10, 1):eq(labels:unsqueeze(2)):float()
    t.close(off:abs():max():item(), 0, 1e-6, "a gradient of 25 MB on " .. dev)
end
-- Pixels whose classes are adjacent: logit log(a) with a = 1 to 12, and the softmax is a / sum.
for _, n in ipairs {3, 8, 10, 17} do
    for _, dtype in ipairs {"f32", "f64"} do
        local pixels, weights, labels, loss, want = 45, {}, {}, {}, {}
        for i = 1, pixels do
            local row, sum = {}, 0
            for c = 1, n do row[c] = (5 * i + 7 * c) % 12 + 1 end
            for c = 1, n do sum = sum + row[c] end
            weights[i], labels[i] = row, i * 3 % n + 1
            loss[i] = log(sum / row[labels[i]])
            for c = 1, n do
                want[#want + 1] = row[c] / sum - (c == labels[i] and 1 or 0)
            end
        end
        local x = g.tensor(weights, {dtype = dtype}):log():requires_grad_()
        local got = g.cross_entropy(x, g.tensor(labels), {reduction = "none"})
        got:sum():backward()
        local name = ("cross_entropy of %d adjacent classes, %s"):format(n, dtype)
        t.close(got:tolist(), loss, 2e-6, name)
        t.close(x.grad:flatten():tolist(), want, 2e-6, name .. ": the gradient")
    end
end
-- The root of a sum of squares has no derivative at 0: rows of zeros, and equal rows, still have
-- gradients.
for name, f in pairs { normalize = function(z) return g.normalize(z) end,
    cdist = function(z) return g.cdist(z, z:detach()) end,
    cosine_similarity = function(z) return g.cosine_similarity(z, g.ones(2, 2)) end } do
    local z = g.zeros(2, 2):requires_grad_()
    f(z):sum():backward()
    t.ok(z.grad:isfinite():all():item(), name .. "'s gradient at zeros is finite")
end
-- Labels that are not classes, and ignored ones: with three classes, equal logits cost log 3 each.
for _, dev in ipairs {"cpu", "sim"} do
    local x = g.zeros({3, 3}, {device = dev})
    for _, dtype in ipairs {"i64", "i32"} do
        local function loss(name, labels, options)
            return g[name](name == "nll_loss" and x - log(3) or x,
                g.tensor(labels, {dtype = dtype}):to(dev), options):item()
        end
        for _, name in ipairs {"cross_entropy", "nll_loss"} do
            local what = name .. " with " .. dtype .. " on " .. dev .. ": "
            for _, bad in ipairs {0, -1, 4} do
                t.error(function() return loss(name, {1, bad, 3}) end,
                    name .. ": label " .. (bad < 0 and "%-1" or bad) ..
                        " in argument 'target' is not a class .*; add 1 to labels",
                    what .. "label " .. bad)
            end
            for _, ignored in ipairs {-100, 0, 2} do
                t.close(loss(name, {1, ignored, 3}, {ignore_index = ignored, reduction = "sum"}),
                    2 * log(3), 1e-6, what .. ignored .. " is ignored")
            end
        end
    end
end
for _, dev in ipairs {"cpu", "sim"} do
    local y = g.l1_loss(g.tensor {0.0, -0.0, 1 / 0}:to(dev), g.tensor {-0.0, 0.0, 1 / 0}:to(dev),
        {reduction = "none"}):tolist()
    t.is({1 / y[1], 1 / y[2]}, {1 / 0, 1 / 0}, "the distance of 0 and -0 is 0 on " .. dev)
    t.ok(y[3] ~= y[3], "that of two infinities NaN")
end
-- cdist of many rows in f32, by a matrix product: plain loops, rows far from 0, equal rows, NaN,
-- and gradients as in f64
do
    local n, m, far = 31, 5, 1000
    local a, b = g.randn(n, m) + far, g.randn(n + 2, m) + far
    b[4] = a[9]:clone()
    local x, y, d = a:tolist(), b:tolist(), g.cdist(a, b):tolist()
    local good = d[9][4] == 0
    for i = 1, n do
        for j = 1, n + 2 do
            local s = 0
            for k = 1, m do s = s + (x[i][k] - y[j][k]) ^ 2 end
            good = good and math.abs(d[i][j] - math.sqrt(s)) <= 1e-6 * (1 + math.sqrt(s))
        end
    end
    t.ok(good, "cdist of many rows")
    local function grads(u, v)
        u, v = u:detach():requires_grad_(), v:detach():requires_grad_()
        return g.grad((g.cdist(u, v) * g.arange(1, n + 2):to(u.dtype):sin()):sum(), {u, v})
    end
    local da, db = grads(a, b)
    local ea, eb = grads(a:to "f64", b:to "f64")
    t.ok((da - ea):abs():max():item() < 1e-4 and (db - eb):abs():max():item() < 1e-4
        and da.dtype == "f32", "and its gradients")
    a[{2, 3}] = 0 / 0
    local nan = g.cdist(a, b):isnan()
    t.ok(nan[2]:all():item() and nan:sum():item() == n + 2, "a NaN is that of its row")
    t.is({g.cdist(g.randn(2, 30, 3):half(), g.randn(28, 3):half()).dtype,
        g.cdist(g.zeros(30, 0), g.zeros(26, 0)):max():item()}, {"f16", 0}, "of f16, of no columns")
end

-- softmax, logsumexp and cross_entropy: equal rows, columns and elements give the same bits at any
-- position, and for any number of threads.
do
    local odd = g.tensor {0.3, -1.7, 2.9, 0.1, -0.6, 1.1, -3.3}
    local function same(y, dim) return y:eq(y:narrow(dim, 1, 1)):all():item() end
    -- Element j of every row, or column, is odd's at (j - 1) % 7 + 1, and the same holds in the
    -- result, up to order.
    local function bits(op, base, many)
        local rows = op(base:expand(many, -1):contiguous(), 2)
        local columns = op(base:t():expand(-1, many):contiguous(), 1)
        local good = same(rows, 1) and same(columns, columns.ndim)
        for _, y in ipairs(rows.ndim == 2 and {rows, columns:t():contiguous()} or {}) do
            for j = 8, y:size(2), 7 do
                local m = math.min(7, y:size(2) - j + 1)
                good = good and y:narrow(2, j, m):equal(y:narrow(2, 1, m))
            end
        end
        return good, rows, columns
    end
    for _, dtype in ipairs {"f32", "f64"} do
        for _, name in ipairs {"softmax", "log_softmax", "logsumexp"} do
            for _, n in ipairs {5, 20, 33, 63, 100, 1001} do
                local base = odd[g.arange(0, n - 1):remainder(7) + 1]:to(dtype):view(1, n)
                for _, many in ipairs {19, 83} do
                    g.threads(1)
                    local one, rows, columns = bits(g[name], base, many)
                    g.threads(2)
                    local two, rows2, columns2 = bits(g[name], base, many)
                    t.ok(one and two and rows:equal(rows2) and columns:equal(columns2),
                        ("%s %s of %d rows of %d"):format(dtype, name, many, n))
                end
            end
        end
        for _, c in ipairs {3, 60} do
            local x, labels = odd[g.arange(0, c - 1):remainder(7) + 1]:to(dtype),
                g.zeros(2, 37, {dtype = "i64"}) + 3
            local spread = x:view(1, c, 1):expand(2, c, 37)
            for k, scores in ipairs {spread:contiguous(),
                spread:transpose(2, 3):contiguous():transpose(2, 3)}
            do
                local losses = g.cross_entropy(scores, labels, {reduction = "none"}):flatten()
                local d = g.cross_entropy_grad(g.ones({}, {dtype = dtype}), scores, labels, nil, -1)
                t.ok(same(losses, 1) and d:equal(d["1:1, :, 1:1"]:expand(2, c, 37):contiguous()),
                    ("%s cross_entropy of equal pixels with %d classes, %d"):format(dtype, c, k))
            end
        end
    end
end
-- logsumexp of long rows with one different element, the first or the last, or without it: zeros
-- give log(n).
for _, dtype in ipairs {"f32", "f64"} do
    for _, n in ipairs {31, 33, 5000} do
        local good = true
        for _, v in ipairs {math.huge, -math.huge, 0 / 0} do
            for _, at in ipairs {1, n, 0} do
                local x = at == 0 and g.full({2, n}, v, {dtype = dtype})
                    or g.zeros(2, n, {dtype = dtype})
                if at > 0 then x[{1, at}] = v end
                local want = v == -math.huge and at > 0 and math.log(n - 1) or v
                for _, y in ipairs {x:logsumexp(2), x:t():contiguous():logsumexp(1)} do
                    local a, b = y[1]:item(), y[2]:item()
                    good = good
                        and (a == want or a ~= a and want ~= want or math.abs(a - want) < 1e-5)
                    if at > 0 then good = good and math.abs(b - math.log(n)) < 1e-5 end
                end
            end
        end
        t.ok(good, ("%s logsumexp of %d with infinities and NaN"):format(dtype, n))
    end
end

-- ---- shapes that broadcast to more elements than the loss has, and labels that are bools ----

do
    local x, column, labels = g.rand(3), g.rand(3, 1), g.tensor { 1, -1, 1 }
    for _, name in ipairs { "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
        "poisson_nll_loss", "soft_margin_loss", "hinge_embedding_loss" }
    do
        t.error(function() return g[name](x, column) end,
            name .. ": argument 'target' has shape 3x1, x 3", name .. " of 3 and 3x1")
        t.error(function() return g[name](x, x[1]) end, name .. ": argument 'target' has shape ",
            name .. " of 3 and one number")
    end
    t.error(function() return g.nn.MSELoss()(x, column) end, "MSELoss: mse_loss: argument 'target'",
        "a layer's")
    t.error(function() return g.margin_ranking_loss(x, column, labels) end,
        "margin_ranking_loss: argument 'x2' has shape 3x1", "x2 of another shape")
    t.error(function() return g.margin_ranking_loss(x, x, labels[1]) end,
        "margin_ranking_loss: argument 'target'", "one label for all")
    local rows = g.rand(3, 4)
    t.error(function() return g.cosine_embedding_loss(rows, rows, labels["1:1"]) end,
        "argument 'target' has shape 1 %(expected 3", "one label for all rows")
    t.error(function() return g.cosine_embedding_loss(rows, rows:unsqueeze(2), labels) end,
        "argument 'x2' has shape 3x1x4", "rows that broadcast")
    t.error(function() return g.binary_cross_entropy(x, x, column) end,
        "binary_cross_entropy: argument 'weight' has shape 3x1", "weights of 3x1")
    t.error(function()
        return g.binary_cross_entropy_with_logits(x, x, nil, { pos_weight = column })
    end, "argument 'pos_weight' has shape 3x1", "other weights")
    t.ok(g.binary_cross_entropy_with_logits(rows, rows, nil, { pos_weight = g.ones(4) }):item() > 0,
        "a weight for each class")
    t.ok(g.binary_cross_entropy(x, x, g.ones(1)):item() > 0, "one for all")
    for _, name in ipairs { "soft_margin_loss", "hinge_embedding_loss" } do
        t.error(function() return g[name](x, labels:gt(0)) end,
            name .. ": argument 'target' is bool", name .. " of bools")
    end
    t.error(function() return g.margin_ranking_loss(x, x, labels:gt(0)) end,
        "margin_ranking_loss: argument 'target' is bool", "bools")
    t.error(function() return g.cosine_embedding_loss(rows, rows, labels:gt(0)) end,
        "cosine_embedding_loss: argument 'target' is bool", "bools")
    -- A variance for each row: log(var) / 2 where x is the target.
    local three = g.ones(3, 3)
    t.close(g.gaussian_nll_loss(three, three, g.tensor { 1.0, 4, 9 },
        { reduction = "none" }):tolist(),
        { { 0, 0, 0 }, { log(2), log(2), log(2) }, { log(3), log(3), log(3) } }, 1e-6,
            "a variance for each row")
    t.error(function() return g.gaussian_nll_loss(three, three, g.ones(1, 3)) end,
        "argument 'var' has shape 1x3, x 3x3", "one for each column")
    t.error(function() return g.cdist(rows, rows, -1) end,
        "cdist: argument 'p': expected a number >= 0, got %-1", "a norm that is none")
end
t.done()
