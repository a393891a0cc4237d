--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: ops that read and write at indices given by tensors.
local g = require "gpush"
local A = require "arrays"
local build, get, set, copy, as = A.build, A.get, A.set, A.copy, A.as
local nan = 0 / 0
local function opts(c) return {dtype = c.dtype, device = c.dev} end
local C = {}

-- Differences of f16's neighbours here are exact in all dtypes: small values, few of them.
local how = {
    put = function(_, b) return b end, add = function(a, b) return a + b end,
    mul = function(a, b) return a * b end,
    amin = function(a, b) return (a ~= a or a < b) and a or b end,
    amax = function(a, b) return (a ~= a or a > b) and a or b end,
}

-- Writes s at each index that f gives, as a plain loop; fresh: the elements' old values do not
-- count.
local function write(c, want, shape, f, s, combine, fresh)
    local seen = {}
    A.each(shape, function(i)
        local at = f(copy(i))
        local key = table.concat(at, ",")
        local a = get(want, at)
        if fresh and not seen[key] then a = nil end
        seen[key] = true
        local v = a == nil and get(s, i) or combine(a, get(s, i))
        set(want, at, c.dtype == "bool" and (v ~= 0 and 1 or 0) or as(c.dtype, v))
    end)
    return want
end
-- The effect of rounding once to 16 bits.
local function near(c) return c.dtype == "bf16" and 4e-3 or c.dtype == "f16" and 5e-4 or nil end
local function clone(a) return {shape = a.shape, v = copy(a.v)} end

-- x[name](x, ...) gives want and leaves x unchanged; x[name_] writes it into x.
local function both(c, name, x, a, want, ...)
    c.check(x[name](x, ...), want, nil, near(c))
    c.check(x, a, nil, nil, "x afterwards")
    x[name .. "_"](x, ...)
    c.check(x, want, nil, near(c), "in place")
end

function C.scatter_add(c)
    local x, a = c.x {3, 4}
    local src, s = c.x {4, 5}
    local ix, p = c.index({4, 3}, 3)
    both(c, "scatter_add", x, a,
        write(c, clone(a), {4, 3}, function(i) return {get(p, i), i[2]} end, s, how.add), 1, ix,
            src)
    local y, b = c.x {4, 6}
    local jx, q = c.x({4, 5}, function(i) return (i[1] * i[2]) % 6 - 6 end, "i64") -- -6 … -1
    c.check(y:scatter_add(-1, jx, src),
        write(c, clone(b), {4, 5}, function(i) return {i[1], get(q, i) + 7} end, s, how.add))
    c.refuses(function() return x:scatter_add(1, ix * 0, src):sum():item() end,
        "scatter_add: index 0 is out of range for dim 1 of size 3")
    c.refuses(function() return x:scatter_add(1, ix, (c.x {4, 2})) end,
        "^scatter_add: src .* does not cover index")
    c.refuses(function() return x:scatter_add(1, ix:to("f32"), src) end,
        "^scatter_add: dtype f32 of argument 'index'")
    if not c.float then
        c.refuses(function() return x:scatter_add(1, ix, src:to("f64")) end,
            "^scatter_add: f64 values do not fit")
    end
end

function C.scatter_reduce(c)
    local ways = {sum = how.add, prod = how.mul, amin = how.amin, amax = how.amax}
    local ix, p = c.index({4, 3}, 3)
    local function at(i) return {get(p, i), i[2]} end
    for way, combine in pairs(ways) do
        for _, self in ipairs {true, false} do
            local x, a = c.x {3, 3}
            local src, s = c.x {4, 3}
            both(c, "scatter_reduce", x, a, write(c, clone(a), {4, 3}, at, s, combine, not self), 1,
                ix, src, way, self)
        end
    end
    local x, a = c.x {3, 3}
    local src, s = c.x {4, 3}
    if c.dtype == "bool" then
        c.refuses(function() return x:scatter_reduce(1, ix, src, "mean") end,
            "^scatter_reduce: dtype bool .* has no mean")
    else
        for _, self in ipairs {true, false} do
            local sum, n, want = {}, {}, clone(a)
            A.each({4, 3}, function(i)
                local k = (get(p, i) - 1) * 3 + i[2]
                sum[k] = (sum[k] or self and a.v[k] or 0) + get(s, i)
                n[k] = (n[k] or self and 1 or 0) + 1
            end)
            for k, v in pairs(sum) do want.v[k] = c.float and v / n[k] or v // n[k] end
            c.check(x:scatter_reduce(1, ix, src, "mean", self), want, nil,
                near(c) or c.float and 1e-7 or nil, "mean")
        end
    end
    c.refuses(function() return x:scatter_reduce(1, ix, src, "max") end,
        "^scatter_reduce: argument 'reduce': expected 'sum', .* got 'max'")
    c.refuses(function() return x:scatter_reduce(1, ix + 3, src, "sum"):sum():item() end,
        "scatter_reduce: index %d is out of range for dim 1 of size 3")
    if c.float then
        local y = g.tensor({1, nan}, {dtype = c.dtype}):to(c.dev):scatter_reduce(
            1, g.tensor({1, 1, 2}):to(c.dev), g.tensor({nan, 3, 0}, {dtype = c.dtype}):to(c.dev),
                "amax")
        c.check(y, {shape = {2}, v = {nan, nan}}, nil, nil, "NaN")
    end
end

function C.scatter_nd(c)
    local x, a = c.x {3, 4, 2}
    local rows = {{1, 2}, {3, 4}, {-1, 1}, {1, 2}}
    local ix = g.tensor(rows):to(c.dev)
    local src, s = c.x {4, 2}
    local function at(i) local r = rows[i[1]]; return {r[1] < 0 and 3 or r[1], r[2], i[2]} end
    c.check(x:scatter_nd(ix, src), write(c, clone(a), {4, 2}, at, s, how.put))
    c.check(x:scatter_nd(ix, src, "multiply"), write(c, clone(a), {4, 2}, at, s, how.mul), nil,
        near(c))
    local one = build({4, 2}, function() return 1 end)
    c.check(x:scatter_nd(ix, 1), write(c, clone(a), {4, 2}, at, one, how.put))
    both(c, "scatter_nd", x, a, write(c, clone(a), {4, 2}, at, s, how.add), ix, src, "add")
    c.refuses(function() return x:scatter_nd(ix * 4, src):sum():item() end,
        "scatter_nd: index 4 is out of range for dim 1 of size 3")
    c.refuses(function() return x:scatter_nd(ix, (c.x {4, 3})) end, "^scatter_nd: ")
    c.refuses(function() return x:scatter_nd(ix, src, "mean") end,
        "^scatter_nd: argument 'reduce': expected 'add' or 'multiply', got 'mean'")
end

function C.index_add(c)
    local x, a = c.x {3, 4}
    local src, s = c.x {5, 4}
    local ix, p = c.index({5}, 3)
    local function at(i) return {get(p, {i[1]}), i[2]} end
    c.check(x:index_add(1, ix, src, {alpha = 2}),
        write(c, clone(a), {5, 4}, at, s, function(m, n) return m + as(c.dtype, 2 * n) end))
    both(c, "index_add", x, a, write(c, clone(a), {5, 4}, at, s, how.add), 1, ix, src)
    local y, b = c.x {4, 3}
    c.check(y:index_add(2, ix:narrow(1, 1, 2), src:transpose(1, 2):narrow(2, 1, 2)),
        write(c, clone(b), {4, 2}, function(i) return {i[1], get(p, {i[2]})} end,
            build({4, 2}, function(i) return get(s, {i[2], i[1]}) end), how.add))
    c.refuses(function() return x:index_add(1, ix * 0 + 4, src):sum():item() end,
        "index_add: index 4 is out of range for dim 1 of size 3")
    c.refuses(function() return x:index_add(2, ix, src) end,
        "^index_add: source .* does not fit %(expected shape 3x5%)")
    if not c.float then
        c.refuses(function() return x:index_add(1, ix, src, 0.5) end,
            "^index_add: a float alpha does not fit in a")
    end
end

function C.index_copy(c)
    local x, a = c.x {3, 4}
    local src, s = c.x {3, 2}
    local ix = g.tensor({4, -3}):to(c.dev)
    both(c, "index_copy", x, a,
        write(c, clone(a), {3, 2}, function(i) return {i[1], ({4, 2})[i[2]]} end, s, how.put), 2,
            ix, src)
    c.refuses(function() return x:index_copy(1, ix, src:transpose(1, 2)) end, "^index_copy: source")
    c.refuses(function() return x:index_copy(2, ix - 2, src):sum():item() end,
        "index_copy: index %-5 is out of range for dim 2 of size 4")
end

function C.index_fill(c)
    local x, a = c.x {3, 4}
    local ix = g.tensor({1, -1}):to(c.dev)
    both(c, "index_fill", x, a,
        build({3, 4},
            function(i) return (i[2] == 1 or i[2] == 4) and as(c.dtype, 3) or get(a, i) end), 2, ix,
                3)
    c.check(x:index_fill(1, ix, g.tensor(1, opts(c))), build({3, 4}, function(i)
        return i[1] ~= 2 and 1 or (i[2] == 1 or i[2] == 4) and as(c.dtype, 3) or get(a, i)
    end))
    c.refuses(function() return x:index_fill(1, ix, (c.x {2})) end,
        "^index_fill: expected a number or a 0%-d tensor")
    if not c.float then
        c.refuses(function() return x:index_fill(1, ix, 0.5) end,
            "^index_fill: a float value does not fit")
    end
    c.refuses(function() return x:index_fill(1, g.tensor({1, 4}):to(c.dev), 1):sum():item() end,
        "index_fill: index 4 is out of range for dim 1 of size 3")
end

function C.take(c)
    local x, a = c.x {3, 4}
    local ix, p = c.index({2, 5}, 12)
    c.check(x:take(ix), build({2, 5}, function(i) return a.v[get(p, i)] end))
    c.check(x:take(ix - 13), build({2, 5}, function(i) return a.v[get(p, i)] end))
    c.refuses(function() return x:take(ix * 0 + 13):sum():item() end,
        "take: index 13 is out of range for dim 1 of size 12")
end

function C.take_along_dim(c)
    local x, a = c.x {3, 4}
    local ix, p = c.index({1, 5}, 3)
    local function row(i) return {1, i[2]} end
    local y, b = c.x {3, 1}
    c.check(y:take_along_dim(ix, 1), build({1, 5}, function(i) return get(b, {get(p, i), 1}) end))
    c.check(x:take_along_dim(ix, 2),
        build({3, 5}, function(i) return get(a, {i[1], get(p, row(i))}) end))
    c.check(x:take_along_dim(ix), build({5}, function(i) return a.v[get(p, {1, i[1]})] end))
    c.check(x:take_along_dim(x:argsort(1), 1),
        (function() local s = x:sort(1); return {shape = {3, 4}, v = A.values(s)} end)())
    c.refuses(function() return x:take_along_dim(ix:view(5), 1) end,
        "^take_along_dim: indices has 1 dims, x has 2")
    c.refuses(function() return x:take_along_dim(ix * 0 + 9, 2):sum():item() end,
        "take_along_dim: index 9 is out of range for dim 2 of size 4")
end

function C.masked_scatter(c)
    local x, a = c.x {3, 4, 2}
    local m, p = c.x({3, 4, 1}, nil, "bool")
    local src, s = c.x {5, 5}
    local n = 0
    local want = build({3, 4, 2}, function(i)
        if get(p, {i[1], i[2], 1}) == 0 then return get(a, i) end
        n = n + 1
        return s.v[n]
    end)
    both(c, "masked_scatter", x, a, want, m, src)
    local apart = x:permute(3, 1, 2):contiguous():permute(2, 3, 1)
    c.check(apart:masked_scatter_(m, src), want)
    local y, b = c.x {2}
    c.check(y:masked_scatter(m:fill(0), src),
        build({3, 4, 2}, function(i) return get(b, {i[3]}) end))
    c.refuses(function() return x:masked_scatter(m:fill(1), src:narrow(1, 1, 4)):sum():item() end,
        "masked_scatter: source has 20 elements for 24 true")
    c.refuses(function() return x:masked_scatter(m:to("f32"), src) end,
        "^masked_scatter: dtype f32 of argument 'mask'")
    if not c.float then
        c.refuses(function() return x:masked_scatter(m, src:to("f32")) end,
            "^masked_scatter: f32 values do not fit")
    end
end

return C
