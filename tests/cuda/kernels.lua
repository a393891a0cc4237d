--!plain
-- CUDA kernels at sizes that use other paths than the op tests' small ones: rows of several warps
-- and rows that do not fit in shared memory, many blocks, elements that many writes share, lists of
-- many tensors. The CPU's kernels, which share no code with these, are the reference.
local t = require "tap"
local g = require "gpush"
local dev = os.getenv "GPUSH_TEST_DEVICE" or "sim"
g.manual_seed(11)
math.randomseed(11)

local function flat(x)
    x = x:to("cpu")
    if x.dtype ~= "bool" and x.dtype:sub(1, 1) ~= "i" and x.dtype ~= "u8" then
        x = x:to({dtype = "f64"})
    end
    return x:contiguous():view({-1}):tolist()
end

-- Largest difference of two tensors, relative to their size; NaN equals NaN. nil with a reason if
-- they cannot be compared.
local function differs(a, b, tol)
    if a.dtype ~= b.dtype then return ("dtype %s, expected %s"):format(a.dtype, b.dtype) end
    local sa, sb = table.concat(a.shape, "x"), table.concat(b.shape, "x")
    if sa ~= sb then return ("shape %s, expected %s"):format(sa, sb) end
    local p, q = flat(a), flat(b)
    for i = 1, #q do
        local same = p[i] == q[i] or (p[i] ~= p[i] and q[i] ~= q[i])
        if not same
            and (type(q[i]) == "boolean"
                or not (math.abs(p[i] - q[i]) <= tol * (1 + math.abs(q[i])))) then
            return ("element %d is %s, expected %s"):format(i, p[i], q[i])
        end
    end
end

local function moved(v, to)
    if type(v) == "table" then
        local out = {}
        for k, x in pairs(v) do out[k] = moved(x, to) end
        return out
    end
    return type(v) == "userdata" and v:to(to) or v
end

-- f(...) with its tensors on the CPU and on the device; the results, or with `written` those
-- arguments, agree.
local function same(name, tol, f, ...)
    local args = table.pack(...)
    local here, there = {}, {}
    for i = 1, args.n do here[i], there[i] = moved(args[i], "cpu"), moved(args[i], dev) end
    for i = 1, args.n do -- one tensor must not be written twice
        if type(args[i]) == "userdata" then here[i] = here[i]:clone()
        elseif type(args[i]) == "table" then
            for k, v in pairs(here[i]) do
                if type(v) == "userdata" then here[i][k] = v:clone() end
            end
        end
    end
    local a = table.pack(f(table.unpack(there, 1, args.n)))
    local b = table.pack(f(table.unpack(here, 1, args.n)))
    local problem
    for i = 1, b.n do
        if type(b[i]) == "userdata" then problem = problem or differs(a[i], b[i], tol) end
        if type(b[i]) == "table" then
            for k = 1, #b[i] do problem = problem or differs(a[i][k], b[i][k], tol) end
        end
    end
    t.ok(not problem, name .. (problem and ": " .. problem or ""))
end

local function randn(...) return g.randn({...}) end
local function labels(n, shape) return g.randint(1, n, shape) end

-- ---- rows ----
local function with_dtypes(shape, f)
    local x = g.randn(shape)
    for _, dt in ipairs {"f32", "f64", "f16", "bf16"} do
        f(dt, x:to({dtype = dt}), ({f32 = 2e-6, f64 = 1e-12, f16 = 2e-3, bf16 = 1e-2})[dt])
    end
end
for _, n in ipairs {7, 128, 1024, 5000, 13000} do
    with_dtypes({3, n}, function(dt, x, tol)
        same(("softmax %s of %d"):format(dt, n), tol,
            function(v) return v:softmax(-1), v:log_softmax(-1) end, x)
    end)
    with_dtypes({2, n}, function(dt, x, tol)
        local w, b = randn(n):to({dtype = dt}), randn(n):to({dtype = dt})
        same(("layer_norm %s of %d"):format(dt, n), 10 * tol, function(v, p, q)
            return g.layer_norm(v, {n}, p, q), g.rms_norm(v, {n}, p)
        end, x, w, b)
    end)
end
-- few rows so long that many blocks share one
for dt, tol in pairs { f32 = 1e-9, f64 = 1e-15, f16 = 1e-6 } do
    local x = randn(2, 70000):to(dt)
    x[2][9] = -math.huge
    same("softmax of long rows, " .. dt, tol, function(v) return v:softmax(-1), v[1]:softmax(1) end,
        x)
    same("log_softmax of long rows, " .. dt, dt == "f16" and 1e-2 or 1e-4,
        function(v) return v[1]:log_softmax(1), v["1, 2:69999"]:log_softmax(1) end, x)
end
same("softmax of long rows with infinities", 1e-9, function(x)
    local y = x:clone()
    x[1][70000], y[1][3] = math.huge, 0 / 0
    return x:softmax(-1), y:softmax(-1), g.full({66000}, -math.huge, {device = x.device}):softmax(1)
end, randn(2, 70000))
-- every seventh element: some of each part, and of each of its threads in turn
local function some(...)
    local out = table.pack(...)
    for i, x in ipairs(out) do
        if x:numel() > 60000 then out[i] = x:reshape(-1)["1:-1:7"] end
    end
    return table.unpack(out)
end
same("softmax of few long columns", 1e-14, function(x)
    return some(x:softmax(1), x[":, 1"]:softmax(1), x:view({2, -1, 2}):log_softmax(2) / 10)
end, randn(140000, 2):to("f64"))
for _, case in ipairs {{"f32", 2e-6}, {"f64", 1e-13}, {"f16", 2e-3}} do
    local dt, tol = case[1], case[2]
    local rows = dt == "f32" and 2 or 1
    local x, w, b = randn(rows, 66000):to(dt), randn(66000):to(dt), randn(66000):to(dt)
    local grad = randn(rows, 66000):to(dt)
    x[rows]:add_(30) -- its squares are much larger than its variance
    same("softmax_grad of long rows, " .. dt, tol, function(a, v)
        return some(g.softmax_grad(v, a:softmax(-1) * 1000, -1) / 50,
            g.log_softmax_grad(v, a:log_softmax(-1), -1),
            g.softmax_grad(v.T, a.T:softmax(1) * 1000, 1) / 50)
    end, x, grad)
    same("norms of long rows, " .. dt, 20 * tol, function(a, p, q)
        return some(g.layer_norm(a, {66000}, p, q), g.rms_norm(a, {66000}, p),
            g.group_norm(a["1"]:view({1, 3, -1}), 1, p["1:3"], q["1:3"]))
    end, x, w, b)
    same("gradients of norms of long rows, " .. dt, 50 * tol, function(v, a, p)
        local f, e = g.layer_norm_grad(v, a, {66000}, p)
        local h, i = g.rms_norm_grad(v, a, {66000}, p)
        local one = a["1"]:view({1, 3, -1})
        local j, k, l = g.group_norm_grad(v["1"]:view({1, 3, -1}), one, 1, p["1:3"])
        return some(f, e, h, i, j, k / 100, l / 100)
    end, grad, x, w)
end
same("norms of long rows with infinities", 1e-5, function(x)
    x[1][9], x[2][66000] = math.huge, 0 / 0
    local threes = g.full_like(x, 3)
    return g.layer_norm(x, {66000}), some(g.rms_norm(x, {66000}), g.rms_norm(threes, {66000}))
end, randn(2, 66000))
do -- one query of many keys: rows of scores
    local q, k, v = g.randn(1, 2, 1, 4), g.randn(1, 2, 66000, 4), g.randn(1, 2, 66000, 3)
    local mask = randn(66000)
    mask["100:60000"] = -math.huge
    for name, args in pairs {plain = {}, masked = {mask}, blind = {g.full({66000}, -math.huge)},
            causal = {nil, 0, true}} do
        for _, dt in ipairs {"f32", name == "masked" and "f64" or nil} do
            same("attention of long rows, " .. name .. ", " .. dt, dt == "f32" and 1e-5 or 1e-13,
                function(a, b, c, m)
                local l = {}
                for i, x in ipairs {a, b, c} do l[i] = x:detach():requires_grad_() end
                local y = g.scaled_dot_product_attention(l[1], l[2], l[3], m, args[2], args[3])
                y:sum():backward()
                return y:detach(), l[1].grad, some(l[2].grad * 100, l[3].grad * 1000)
            end, q:to(dt), k:to(dt), v:to(dt), args[1] and args[1]:to(dt))
        end
    end
end
same("softmax down columns", 2e-6,
    function(x) return x:softmax(1), x:softmax(2), x:log_softmax(1) end, randn(70, 45, 3))
same("softmax of a transposed one", 2e-6, function(x) return x:transpose(1, 2):softmax(-1) end,
    randn(300, 40))
same("softmax of infinities", 1e-6,
    function(x) return x:softmax(-1), x:softmax(1), x:log_softmax(1) end,
    g.tensor({{1, -math.huge, 0 / 0, math.huge}, {-math.huge, -math.huge, 2, 3},
        {0, -math.huge, 1, 5}}))
for _, n in ipairs {64, 1000, 7000} do
    local x, gr = randn(5, n), randn(5, n)
    same("softmax_grad of " .. n, 1e-5, function(a, b)
        return g.softmax_grad(b, a:softmax(-1), -1), g.log_softmax_grad(b, a:log_softmax(-1), -1)
    end, x, gr)
    same("layer_norm_grad of " .. n, 2e-4, function(a, b, w)
        return table.unpack({g.layer_norm_grad(b, a, {n}, w)})
    end, x, gr, randn(n))
end
same("layer_norm_grad of many rows", 1e-3, function(a, b) return g.layer_norm_grad(b, a, {40}) end,
    randn(3000, 40), randn(3000, 40))
same("softmax_grad down columns", 1e-5,
    function(a, b) return g.softmax_grad(b, a:softmax(1), 1) end, randn(60, 37), randn(60, 37))
same("group_norm", 2e-5, function(x, w, b) return g.group_norm(x, 3, w, b) end, randn(2, 12, 9, 11),
    randn(12), randn(12))
same("group_norm_grad", 2e-3, function(gr, x, w) return g.group_norm_grad(gr, x, 3, w) end,
    randn(2, 12, 30, 31), randn(2, 12, 30, 31), randn(12))
-- channels of many elements: single ones, vectors, several parts; a mean far from 0; no images
for _, case in ipairs {{"f32", 1517, 1e-4}, {"f32", 5000, 1e-4}, {"f64", 2100, 1e-12},
    {"f16", 1040, 1e-2}} do
    local dt, n, tol = table.unpack(case)
    local x = randn(3, 6, n) + g.tensor({{{0}, {9}, {-5}, {1}, {0}, {30}}})
    same(("group_norm_grad of %d %s"):format(n, dt), tol, function(gr, v, w)
        local dx, dw, db = g.group_norm_grad(gr, v, 2, w)
        return dx, dw / n ^ 0.5, db / n ^ 0.5
    end, randn(3, 6, n):to(dt), x:to(dt), randn(6):to(dt))
end
same("group_norm_grad of no images", 0,
    function(gr, v, w) return g.group_norm_grad(gr, v, 2, w) end, randn(0, 6, 1100),
    randn(0, 6, 1100), randn(6))
same("batch_norm in chunks", 1e-5, function(x, m, v, w, b)
    return g.batch_norm(x, m, v, w, b, true), m, v, g.batch_norm(x, m, v, w, b, false)
end, randn(40, 3, 21, 25) + 5, g.zeros(3), g.ones(3), randn(3), randn(3))
same("batch_norm_grad in chunks", 2e-3, function(gr, x, w, m, v)
    local a, b, c = g.batch_norm_grad(gr, x, nil, nil, w, true)
    local d, e, f = g.batch_norm_grad(gr, x, m, v, w, false)
    return a, b, c, d, e, f
end, randn(40, 3, 21, 25), randn(40, 3, 21, 25) + 2, randn(3), randn(3), randn(3):abs() + 1)

-- ---- losses ----
for _, case in ipairs {{{300, 10}, {300}}, {{9, 500}, {9}}, {{3, 7, 20, 21}, {3, 20, 21}}} do
    local shape, target = case[1], case[2]
    local n = shape[2]
    local x, y, w = g.randn(shape), labels(n, target), randn(n):abs() + 0.1
    y:view({-1}):slice(1, 1, 3):fill_(-100)
    for _, reduction in ipairs {"mean", "sum", "none"} do
        same(("cross_entropy %s of %s"):format(reduction, table.concat(shape, "x")), 2e-5,
            function(a, b, v)
            local o = {reduction = reduction}
            local s = {reduction = reduction, label_smoothing = 0.1, weight = v}
            return g.cross_entropy(a, b, o), g.cross_entropy(a, b, s),
                g.nll_loss(a, b, {reduction = reduction, weight = v})
        end, x, y, w)
        local grad = reduction == "none" and g.randn(target) or g.tensor(1.5)
        same(("cross_entropy_grad %s of %s"):format(reduction, table.concat(shape, "x")), 2e-5,
            function(a, b, v, gr)
            return g.cross_entropy_grad(gr, a, b, v, -100, reduction, 0.2),
                g.nll_loss_grad(gr, a, b, v, -100, reduction)
        end, x, y, w, grad)
    end
    same("cross_entropy of probabilities", 2e-5, function(a, p, v)
        return g.cross_entropy(a, p, v, -100, "mean", 0.1),
            g.cross_entropy_grad(g.tensor(2.0):to(a.device), a, p, v, -100, "mean", 0.1)
    end, x, g.randn(shape):softmax(2), w)
end

for _, dt in ipairs {"f16", "bf16"} do
    same("cross_entropy of " .. dt, 2e-3, function(a, b)
        return g.cross_entropy(a, b), g.cross_entropy_grad(g.tensor(300):to(dt):to(a.device), a, b)
    end, g.randn(300, 45):to(dt), labels(45, {300}))
end
-- enough pixels that their sums are added in two steps
same("cross_entropy of 8300 pixels", 2e-5, function(a, b) return g.cross_entropy(a, b) end,
    g.randn(8300, 32), labels(32, {8300}))

-- ---- indices ----
local many = labels(3, {5000})
same("scatter_add into few", 1e-4, function(x, i, v) return x:scatter_add(1, i, v) end, g.zeros(3),
    many, randn(5000))
same("scatter_reduce into few", 1e-4, function(x, i, v)
    local out = {}
    for _, how in ipairs {"sum", "mean", "amin", "amax"} do
        out[#out + 1] = x:scatter_reduce(1, i, v, how)
        out[#out + 1] = x:scatter_reduce(1, i, v, how, false)
    end
    return table.unpack(out)
end, randn(3), many, randn(5000))
same("scatter_reduce of integers", 0, function(x, i, v)
    return x:scatter_reduce(1, i, v, "mean"), x:scatter_reduce(1, i, v, "sum"),
        x:scatter_reduce(1, i, v, "amax", false)
end, g.tensor({5, -7, 3}), many, g.randint(-50, 50, {5000}))
do -- a bad index among good ones
    local z = g.zeros(4, {device = dev})
    local bad = g.tensor({1, 9, 2}):to(dev)
    for name, write in pairs {index_put = function() return z:index_put_({bad}, 5) end,
            scatter = function() return z:scatter_(1, bad, g.ones(3, {device = dev})) end} do
        t.error(function() return write():cpu() end, name .. ": index 9 is out of range",
            name .. " beyond the end")
        t.is(z:sum():item(), 0, name .. " … has written nothing")
    end
end
same("the last of many writes stays", 0,
    function(x, i, v) return x:scatter(1, i, v), x:index_put({i}, v) end, g.zeros(3), many,
        randn(5000))
same("index_add of rows", 1e-4,
    function(x, i, v) return x:index_add(1, i, v), x:index_copy(1, i, v) end, g.zeros(3, 70), many,
        randn(5000, 70))
same("index_add of f16 rows", 4e-2, function(x, i, v) return x:index_add(1, i, v) end,
    g.zeros(3, 5):to({dtype = "f16"}), many, (randn(5000, 5) / 16):to({dtype = "f16"}))
same("embedding", 0, function(i, w) return g.embedding(i, w) end, labels(50, {30, 20}),
    randn(50, 64))
same("embedding_grad", 1e-4, function(gr, i) return g.embedding_grad(gr, i, 50, 7) end,
    randn(30, 20, 33), labels(50, {30, 20}))
same("index_select of columns and rows", 0,
    function(x, i) return x:index_select(2, i), x:index_select(1, i) end, randn(60, 60),
        labels(60, {200}))
same("indices of two dims", 0,
    function(x, i, j) return g.index(x, {i, j}), g.index_put(x, {i, j}, 3, true) end,
        randn(40, 30, 3), labels(40, {500}), labels(30, {500}))
same("bincount", 1e-9, function(x, w) return x:bincount(), x:bincount(w), x:bincount(nil, 9000) end,
    labels(40, {6000}), g.rand(6000):to({dtype = "f64"}))
same("histc", 0, function(x) return x:histc(20), x:histc(20, -1, 1), x:histc(5000, -3, 3) end,
    randn(9000))
-- enough elements that a thread reads several at once
same("bincount and histc of 40003", 0, function(l, x, narrow)
    return l:bincount(), narrow:bincount(), l["1:-1:2"]:bincount(), x:histc(20, -1, 1), x:histc(70)
end, labels(40, {40003}), randn(40003), labels(40, {40003}):to "u8")
same("repeat_interleave", 0,
    function(x, r) return x:repeat_interleave(r, 1), x:repeat_interleave(3, 2) end, randn(700, 3),
        g.randint(0, 4, {700}))

-- ---- random numbers: the CPU's ----
same("multinomial of many weights", 0, function(w, few)
    g.manual_seed(21)
    return w:multinomial(3000, true), few:multinomial(2000, true), w:to "bf16":multinomial(7, true)
end, (g.rand(70001) - 0.3):relu(), g.rand(3, 2000))
for _, dt in ipairs {"f32", "f64", "f16"} do
    same("bernoulli of " .. dt, 0, function(x)
        g.manual_seed(22)
        return x:bernoulli(), x.T:bernoulli(), x:view({-1})["2:-1"]:bernoulli(),
            x:bernoulli(0.3), x.T:bernoulli(1), x:bernoulli(0), x[":, 2:-1"]:bernoulli(2^-53)
    end, g.rand(103, 45):to(dt))
end
-- ---- numbers that depend on their index ----
for _, dt in ipairs {"f32", "f64", "bf16", "i64", "u8"} do
    same("series of " .. dt, 0, function(x)
        local o = {dtype = dt, device = x.device}
        local float = dt:find "f"
        return g.eye(37, 41, o), g.eye(64, 3, o), g.eye(3, 64, o), g.eye(1, o),
            g.arange(3, 121, 1, o), float and g.linspace(-1, 2, 1003, o),
            float and g.arange(0, 9, 0.25, o)
    end, g.zeros(1))
end
same("gradients of a recurrent layer's biases", 1e-4, function(x)
    g.manual_seed(23)
    local layer = g.nn.LSTM(3, 20, {num_layers = 2, dropout = 0.1}):to(x.device)
    local y = layer(x)
    y:sum():backward()
    local out = {}
    for i, p in ipairs(layer:parameters()) do out[i] = p.grad end
    return table.unpack(out)
end, randn(90, 5, 3))

-- ---- masks ----
local x, mask = randn(90, 80), randn(90, 80):gt(0)
same("nonzero", 0, function(m) return m:nonzero() end, mask)
same("masked_select", 0,
    function(a, m) return a:masked_select(m), a.T:masked_select(m.T), a:masked_select(m[{1}]) end,
        x, mask)
same("masked_scatter", 0, function(a, m, s) return a:masked_scatter(m, s) end, x, mask, randn(7200))
same("x[mask] = values", 0, function(a, m, v)
    a[m] = v
    return a
end, x, mask, x:masked_select(mask) * 2)
same("x[mask] = rows", 0, function(a, m, v)
    a[m] = v
    return a
end, x, x:select(2, 1):gt(0), randn(1, 80))

-- ---- order ----
for _, dt in ipairs {"f32", "f64", "f16", "i64", "i32", "u8"} do
    local v = dt:sub(1, 1) == "f" and (randn(50, 90) * 3):to({dtype = dt})
        or g.randint(0, 60, {50, 90}):to({dtype = dt})
    same("sort " .. dt, 0, function(a)
        local v1, i1 = a:sort(-1)
        local v2, i2 = a:sort(1, true)
        local v3, i3 = a:view({-1}):sort(1)
        return v1, i1, v2, i2, v3, i3
    end, v)
    same("topk " .. dt, 0, function(a)
        local v1, i1 = a:topk(5)
        local v2, i2 = a:topk(3, 1, false)
        local v3, i3 = a:kthvalue(4, 1)
        return v1, i1, v2, i2, v3, i3
    end, v)
    same("unique " .. dt, 0, function(a)
        local u, inverse, counts = a:unique(true, true, true)
        local v1, c1 = a:unique {return_counts = true}
        return u, inverse, counts, v1, c1, a:unique()
    end, v)
end
same("median, nanmedian, mode", 0, function(a, b)
    local v1, i1 = a:median(1)
    local v2, i2 = a:nanmedian(-1)
    local v3, i3 = b:mode(1)
    local v4, i4 = b:mode(2)
    return v1, i1, v2, i2, v3, i3, v4, i4, a:median(), b:view({-1}):median()
end, g.tensor({{1, 0 / 0, 3, 2, 2}, {0 / 0, 0 / 0, 0 / 0, 0 / 0, 0 / 0}, {-1, 4, 4, 0 / 0, 0}}),
    g.randint(1, 40, {700, 30}))
same("unique rows", 0, function(a)
    local u, inverse, counts = a:unique(true, true, true, 1)
    return u, inverse, counts, a:argsort_rows()
end, g.randint(1, 3, {600, 4}))
same("searchsorted", 0,
    function(a, v) return g.searchsorted(a, v), g.bucketize(v, a, false, true) end,
        randn(3000):sort(1), randn(4000))

-- ---- pieces ----
local list = {}
for i = 1, 150 do list[i] = randn(3, i % 5, 4) end
list[7] = randn(4, 9, 3):transpose(1, 3):slice(1, 1, 3)
same("cat of many", 0, function(l) return g.cat(l, 2) end, list)
local equal = {}
for i = 1, 70 do equal[i] = randn(5, 6) end
equal[3] = randn(6, 5).T
same("stack of many", 0, function(l) return g.stack(l, 1), g.stack(l, 2), g.stack(l, 3) end, equal)
for _, mode in ipairs {"constant", "reflect", "replicate", "circular"} do
    same("pad " .. mode, 0, function(a) return a:pad({3, 2, 1, 4}, mode) end, randn(40, 50))
end
same("roll, flip, diag_embed", 0,
    function(a) return a:roll({5, -3}, {1, 2}), a:roll({7}), a:flip({1, 2}), a:diag_embed(-2) end,
        randn(40, 50))
for _, align in ipairs {false, true} do
    same("interpolate", 1e-5, function(a, b)
        return g.interpolate(a, {41, 23}, nil, "bilinear", align),
            g.interpolate_grad(b, {2, 3, 30, 31}, nil, "bilinear", align)
    end, randn(2, 3, 30, 31), randn(2, 3, 41, 23))
end
same("interpolate nearest", 1e-5, function(a, b)
    return g.interpolate(a, {41, 23}), g.interpolate_grad(b, {2, 3, 30, 31}),
        g.interpolate(a, {77, 9}, nil, "nearest-exact")
end, randn(2, 3, 30, 31), randn(2, 3, 41, 23))

-- ---- optimizers ----
local function tensors(f)
    local out = {}
    for i = 1, 70 do out[i] = f(i % 3 == 0 and {i} or i == 8 and {9000} or {4, i}) end
    out[9] = f({8, 6}).T
    out[10] = f({5, 5}):to({dtype = "f64"})
    out[11] = f({5, 5}):to({dtype = "bf16"})
    return out
end
local p, gr, m, v = tensors(g.randn), tensors(g.randn), tensors(g.zeros), tensors(g.zeros)
same("sgd_step", 1e-5, function(a, b, c)
    g.sgd_step(a, b, c, 0.1, 0.9, 0, 0.01, true, true)
    g.sgd_step(a, b, nil, 0.1)
    return a, c
end, p, gr, m)
same("adam_step", 1e-5, function(a, b, c, d, e)
    g.adam_step(a, b, c, d, nil, 1, 0.01)
    g.adam_step(a, b, c, d, e, 2, 0.01, 0.9, 0.999, 1e-8, 0.01, true)
    return a, c, d, e
end, p, gr, m, v, tensors(g.zeros))
same("rmsprop_step and adagrad_step", 1e-5, function(a, b, c, d, e, s)
    g.rmsprop_step(a, b, c, d, e, 0.01, 0.9, 1e-8, 0, 0.5)
    g.rmsprop_step(a, b, c, nil, nil)
    g.adagrad_step(a, b, s, 1)
    return a, c, d, e, s
end, p, gr, tensors(g.ones), v, m, tensors(g.ones))
local function one(x, dtype) return g.full({}, x, { dtype = dtype or "f32" }) end
local masters = tensors(function(s) return (g.randn(s)) end)
same("steps that round, count and skip on the device", 1e-5, function(a, b, c, d, r)
    local device = a[1].device
    local steps, scale, found = one(0, "i64"):to(device), one(4):to(device), one(0):to(device)
    local how = { rounded = r, steps = steps, grad_scale = scale, found_inf = found }
    g.adam_step(a, b, c, d, nil, how)
    g.sgd_step(a, b, c, { momentum = 0.9, rounded = r, steps = steps, grad_scale = scale })
    found:fill_(1)
    g.adam_step(a, b, c, d, nil, how)
    g.rmsprop_step(a, b, c, nil, nil, { rounded = r, steps = steps, found_inf = found })
    found:fill_(0)
    g.adagrad_step(a, b, d, how)
    g.rmsprop_step(a, b, c, nil, nil, { rounded = r })
    return a, c, d, r, steps
end, masters, gr, tensors(g.ones), tensors(g.ones), tensors(g.zeros))
same("amp_unscale and amp_update_scale", 1e-6, function(a, b)
    local device = a[1].device
    local scale, tracker, found = one(4):to(device), one(1):to(device), one(0):to(device)
    a[11] = a[11]:float()
    g.amp_unscale(a, scale, found)
    b[70][1] = math.huge
    local other = one(0):to(device)
    g.amp_unscale(b, scale, other, true)
    g.amp_update_scale({ scale, tracker }, found, 2, 0.5, 2)
    local grown = scale:clone()
    g.amp_update_scale({ scale, tracker }, other, 2, 0.5, 2)
    return a, found, other, grown, scale, tracker
end, tensors(function(s) return g.randn(s) end), gr)
same("clipping", 1e-5, function(a, b)
    local n = g.clip_grad_norm(a, 3)
    g.clip_grad_value(b, 0.5)
    return a, b, n, g.clip_grad_norm(b, math.huge, 3), g.clip_grad_norm(b, 2, math.huge)
end, gr, tensors(g.randn))

-- A bad index is an error where nothing is read or written, too, as on the cpu.
for _, where in ipairs {"cpu", "cuda"} do
    local x, bad = g.zeros(3, 5, 0):to(where), g.tensor({8, 2}):to(where)
    local rows = g.zeros(2, 5, 0):to(where)
    for name, call in pairs {
        gather_nd = function() return g.gather_nd(x, bad:unsqueeze(2)) end,
        index_select = function() return x:index_select(1, bad) end,
        index_fill = function() return x:index_fill(1, bad, 1) end,
        index_add = function() return x:index_add(1, bad, rows) end,
        index_copy = function() return x:index_copy(1, bad, rows) end,
        embedding = function() return g.embedding(bad, g.zeros(3, 0):to(where)) end,
    } do
        t.error(function() call() g.synchronize() end, name .. ": index 8 is out of range",
            name .. " of an empty result on " .. where)
    end
end

t.done()
