--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: products, layers, decompositions and random numbers.
local g = require "gpush"
local A = require "arrays"
local build, get, with, as = A.build, A.get, A.with, A.as
local C = {}
for name, case in pairs(require "cases.linalg") do C[name] = case end

local function set_of(list)
    local s = {}
    for _, d in ipairs(list) do s[d] = true end
    return s
end
local FLOATS = set_of {"f64", "f32", "f16", "bf16"}
local WIDE = set_of {"f64", "f32"}
local REAL = set_of {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}

-- ---- products and layers ----

local function product(name, p, q, shape, f)
    return {types = REAL, run = function(c)
        local x, a = c.x(p)
        local y, b = c.x(q)
        local fn = g[name]
        c.check(fn(x, y), build(shape, function(i)
            local v = f(a, b, i)
            return A.floats[c.dtype] and v or as(c.dtype, v)
        end), nil, c.dtype == "bf16" and 1e-2 or c.dtype == "f16" and 2e-3 or c.float and 1e-6
            or nil)
        c.refuses(function() return fn(x, (c.x {7, 7, 9})) end, "^" .. name .. ": ")
    end}
end
local function inner(a, b, n, i, j)
    local s = 0
    for k = 1, n do s = s + get(a, i(k)) * get(b, j(k)) end
    return s
end
local function mm(a, b, i)
    return inner(a, b, 4, function(k) return {i[1], k} end, function(k) return {k, i[2]} end)
end
C.mm = product("mm", {3, 4}, {4, 5}, {3, 5}, mm)
C.mv = product("mv", {3, 4}, {4}, {3},
    function(a, b, i)
        return inner(a, b, 4, function(k) return {i[1], k} end, function(k) return {k} end)
    end)
C.dot = product("dot", {6}, {6}, {},
    function(a, b, i)
        return inner(a, b, 6, function(k) return {k} end, function(k) return {k} end)
    end)
C.bmm = product("bmm", {2, 3, 4}, {2, 4, 5}, {2, 3, 5}, function(a, b, i)
    return inner(a, b, 4, function(k) return {i[1], i[2], k} end,
        function(k) return {i[1], k, i[3]} end)
end)
C.matmul = product("matmul", {2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}, function(a, b, i)
    return inner(a, b, 4, function(k) return {i[1], 1, i[3], k} end,
        function(k) return {i[2], k, i[4]} end)
end)

local function tolerance(c)
    return c.dtype == "bf16" and 2e-2 or c.dtype == "f16" and 2e-3 or c.dtype == "f32" and 2e-6
        or 1e-12
end
C.softmax = {types = FLOATS, run = function(c)
    local x, a = c.x {3, 4}
    for d = 1, 2 do
        c.check(x:softmax(d), build({3, 4}, function(i)
            local s = 0
            for k = 1, a.shape[d] do s = s + math.exp(get(a, with(i, d, k)) - get(a, i)) end
            return 1 / s
        end), nil, tolerance(c))
    end
    c.refuses(function() return x:softmax(3) end, "^softmax: dim 3")
end}
C.log_softmax = {types = FLOATS, run = function(c)
    local x, a = c.x {3, 4}
    for d = 1, 2 do
        c.check(x:log_softmax(d), build({3, 4}, function(i)
            local s = 0
            for k = 1, a.shape[d] do s = s + math.exp(get(a, with(i, d, k)) - get(a, i)) end
            return -math.log(s)
        end), nil, tolerance(c))
    end
end}
C.batch_norm = {types = FLOATS, run = function(c)
    local x, a = c.x {3, 2, 4}
    local y = g.batch_norm(x, nil, nil, nil, nil, true)
    c.check(y, build({3, 2, 4}, function(i)
        local s, q = 0, 0
        for n = 1, 3 do for k = 1, 4 do s = s + get(a, {n, i[2], k}) end end
        local mean = s / 12
        for n = 1, 3 do for k = 1, 4 do q = q + (get(a, {n, i[2], k}) - mean) ^ 2 end end
        return (get(a, i) - mean) / math.sqrt(q / 12 + 1e-5)
    end), nil, tolerance(c) * 4)
end}
local function spread(name, root)
    return {types = FLOATS, run = function(c)
        local x, a = c.x {4, 5}
        local function judge(idx, n, correction)
            local sum, square = 0, 0
            for k = 1, n do sum = sum + get(a, idx(k)) end
            for k = 1, n do square = square + (get(a, idx(k)) - sum / n) ^ 2 end
            return root(square / (n - correction))
        end
        c.check(x[name](x, 2),
            build({4}, function(i) return judge(function(k) return {i[1], k} end, 5, 1) end), nil,
                tolerance(c))
        c.check(x[name](x, {1}, 0, true),
            build({1, 5}, function(i) return judge(function(k) return {k, i[2]} end, 4, 0) end),
                nil, tolerance(c))
        c.check(x[name](x),
            {shape = {},
                v = {judge(function(k) return {(k - 1) // 5 + 1, (k - 1) % 5 + 1} end, 20, 1)}},
                    nil, tolerance(c))
        c.refuses(function() return x[name](x, 3) end, "^" .. name .. ": dim 3")
    end}
end
C.var, C.std = spread("var", function(v) return v end), spread("std", math.sqrt)

local function residual(c, svd)
    local x, a = c.x({4, 3}, function(i) return (i[1] * 7 + i[2] * i[2] * 3) % 11 - 5 end)
    local u, s, vh = svd(x)
    if u then
        c.check((u * s):matmul(vh), a, nil, c.dtype == "f32" and 1e-5 or 1e-12, "u * s @ vh")
        c.check(u:transpose(1, 2):matmul(u),
            build({3, 3}, function(i) return i[1] == i[2] and 1 or 0 end), nil, 1e-5, "u' @ u")
    end
    local sq, trace = 0, 0
    for _, e in ipairs(a.v) do trace = trace + e * e end
    local list = A.values(s)
    for k, e in ipairs(list) do
        sq = sq + e * e
        if e < 0 or (k > 1 and e > list[k - 1]) then
            c.problem("singular values %s", A.text(list))
        end
    end
    if math.abs(sq - trace) > 1e-4 * trace then c.problem("singular values %s", A.text(list)) end
end
C.linalg_svd = {types = WIDE, run = function(c)
    residual(c, function(x) return g.linalg.svd(x, false) end)
end}
C.linalg_svdvals = {types = WIDE,
    run = function(c) residual(c, function(x) return nil, g.linalg.svdvals(x) end) end}

-- ---- random ----

-- Same seed, same numbers, on each device; all within lo … hi; and not all the same.
local function random(types, make, lo, hi)
    return {types = types, run = function(c)
        g.manual_seed(5)
        local y = make(c)
        g.manual_seed(5)
        local other = {dtype = c.dtype, dev = c.dev == "cpu" and "sim" or "cpu",
            layout = "contiguous"}
        other.x = function(shape) return g.ones(shape, {dtype = c.dtype, device = other.dev}) end
        c.check(y, {shape = y.shape, v = A.values(make(other))})
        local list, first, differ = A.values(y)
        first = list[1]
        for _, e in ipairs(list) do
            if not (e >= lo and e <= hi) then c.problem("%s is not in %s to %s", e, lo, hi) end
            differ = differ or e ~= first
        end
        if not differ then c.problem("all elements are %s", first) end
    end}
end
local function o(c) return {dtype = c.dtype, device = c.dev} end
C.rand = random(FLOATS, function(c) return g.rand(6, 7, o(c)) end, 0, 1)
C.randn = random(FLOATS, function(c) return g.randn(6, 7, o(c)) end, -6, 6)
C.rand_like = random(FLOATS, function(c) return g.rand_like((c.x {6, 7})) end, 0, 1)
C.randn_like = random(FLOATS, function(c) return g.randn_like((c.x {6, 7})) end, -6, 6)
C.uniform = random(FLOATS, function(c) return (c.x {6, 7}):uniform_(2, 3) end, 2, 3)
C.normal = random(FLOATS, function(c) return (c.x {6, 7}):normal_(5, 0.5) end, 1, 9)
C.randint = random(REAL, function(c) return g.randint(1, 6, {40}, o(c)) end, 1, 6)
C.randperm = random(REAL, function(c) return g.randperm(40, o(c)) end, 1, 40)
C.bernoulli = random(nil, function(c) return (c.x {6, 7}):bernoulli(0.5) end, 0, 1)
-- of rate 1: 13 or more are seen once in 10^10 draws
C.poisson = random(FLOATS,
    function(c) return c.x({6, 7}, function() return 1 end):poisson() end, 0, 12)

C.multinomial = {types = FLOATS, run = function(c)
    -- rows have 0 0.25 0.5 in turn
    local x = c.x({3, 5}, function(i) return (i[1] + i[2]) % 3 / 4 end)
    for _, replace in ipairs {false, true} do
        local y = x:multinomial(3, replace)
        if A.text(y.shape) ~= "{3, 3}" or y.dtype ~= "i64" then
            return c.problem("got %s", tostring(y))
        end
        for r, row in ipairs(y:tolist()) do
            local seen = {}
            for _, k in ipairs(row) do
                if k < 1 or k > 5 or (r + k) % 3 == 0 then
                    c.problem("index %d of row %d has no weight", k, r)
                end
                if seen[k] and not replace then
                    c.problem("index %d of row %d comes twice", k, r)
                end
                seen[k] = true
            end
        end
    end
    c.refuses(function() return x:multinomial(6) end, "^multinomial: 6 samples of 5 weights")
    c.refuses(function() return x:multinomial(0) end, "^multinomial: argument 'num_samples' is 0")
    c.refuses(function() return c.x({2, 2, 2}):multinomial(1) end,
        "^multinomial: argument 'x' has 3 dims")
    c.refuses(function() return g.ones(0, {dtype = c.dtype, device = c.dev}):multinomial(1) end,
        "no weights")
end}

return C
