--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: reductions and scans that are not rows of formulas,
-- and padding.
local g = require "gpush"
local A = require "arrays"
local build, get, with, as = A.build, A.get, A.with, A.as
local nan, inf = 0 / 0, math.huge
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
local NUMBERS = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true, i32 = true,
    i16 = true, i8 = true, u8 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 2e-2 or c.dtype == "f16" and 2e-3 or c.dtype == "f32" and 2e-6
        or 1e-12
end

-- f of the list of elements along dim d, for each line; keep: the dim stays with size 1.
local function along(a, d, f, keep)
    local shape = A.copy(a.shape)
    if keep then shape[d] = 1 else table.remove(shape, d) end
    return build(shape, function(i)
        local line, idx = {}, A.copy(i)
        if not keep then table.insert(idx, d, 1) end
        for k = 1, a.shape[d] do
            idx[d] = k
            line[k] = get(a, idx)
        end
        return f(line)
    end)
end
local function all_of(a, f) return {shape = {}, v = {f(a.v)}} end
-- Replaces element k of line d by f of the elements up to k.
local function running(a, d, f)
    return build(a.shape, function(i)
        local line = {}
        for k = 1, i[d] do line[k] = get(a, with(i, d, k)) end
        return f(line)
    end)
end
local function spoiled(c, shape, f)
    local x, a = c.x(shape)
    if not c.float then return x, a end
    a = build(shape, function(i) return f(i) and nan or get(a, i) end)
    return c.put(a), a
end

-- ---- reductions ----

local function log_sum(v)
    local m, s = -inf, 0
    for _, e in ipairs(v) do m = math.max(m, e) end
    if m == -inf or m == inf then return m end
    for _, e in ipairs(v) do s = s + math.exp(e - m) end
    return m + math.log(s)
end
function C.logsumexp(c)
    local to, tol = c.float and c.dtype or "f32", c.float and tolerance(c) or 2e-6
    local x, a = c.x {3, 70}
    for d = 1, 2 do
        c.check(x:logsumexp(d), along(a, d, log_sum), to, tol)
        c.check(x:logsumexp({d}, true), along(a, d, log_sum, true), to, tol)
    end
    c.check(x:logsumexp(1, 2), all_of(a, log_sum), to, tol)
    local y, b = c.x {40, 9}
    c.check(y:logsumexp(1), along(b, 1, log_sum), to, tol)
    c.check(g.zeros(2, 0, {dtype = c.dtype, device = c.dev}):logsumexp(2),
        {shape = {2}, v = {-inf, -inf}}, to)
    if c.float then
        local odd = {shape = {9, 3}, v = {}}
        for i = 1, 27 do odd.v[i] = ({inf, -inf, 500})[(i - 1) % 3 + 1] end
        odd.v[7], odd.v[10] = 1, -inf
        for _, d in ipairs {1, 2} do
            c.check(c.put(odd):logsumexp(d), along(odd, d, log_sum), to, tol)
        end
        c.check(c.put {shape = {8, 2},
            v = {1, 2, nan, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}}:logsumexp(1),
                {shape = {2}, v = {nan, 2 + math.log(8)}}, to, tol)
    end
    c.refuses(function() return x:logsumexp(3) end, "^logsumexp: dim 3")
end

local function norm_of(p)
    return function(v)
        local s = p == -inf and inf or 0
        for _, e in ipairs(v) do
            e = math.abs(e)
            if p == inf then s = math.max(s, e)
            elseif p == -inf then s = math.min(s, e)
            elseif p == 0 then s = s + (e ~= 0 and 1 or 0)
            else s = s + e ^ p end
        end
        return (p == 0 or p == inf or p == -inf) and s or s ^ (1 / p)
    end
end
C.linalg_vector_norm = {types = FLOATS, run = function(c)
    local norm, tol = g.linalg.vector_norm, tolerance(c)
    local x, a = c.x {5, 70}
    local y, b = c.x {37, 9}
    for _, p in ipairs {2, 1, 0, inf, -inf, 3, 0.5, -1} do
        if (p >= 0 or p == -inf) and not (p == 0.5 and c.dtype == "f16") then
            for d = 1, 2 do
                c.check(norm(x, p, d), along(a, d, norm_of(p)), nil, tol)
                c.check(norm(y, p, {d}, true), along(b, d, norm_of(p), true), nil, tol)
            end
            c.check(norm(x, p), all_of(a, norm_of(p)), nil, tol)
        end
    end
    c.check(norm(c.put {shape = {3}, v = {1, 2, 4}}, -1), {shape = {}, v = {1 / 1.75}}, nil, tol)
    c.check(norm(c.put {shape = {3}, v = {1, nan, 4}}, inf), {shape = {}, v = {nan}})
    c.check(norm(x, 2, 1, false, "f64"), along(a, 1, norm_of(2)), "f64", 1e-12)
    local none = g.zeros(2, 0, {dtype = c.dtype, device = c.dev})
    c.check(norm(none, 2, 2), {shape = {2}, v = {0, 0}})
    c.refuses(function() return norm(none, inf, 2) end, "vector_norm: no elements")
    c.refuses(function() return norm(x, 2, 3) end, "vector_norm: dim 3")
    c.refuses(function() return norm(x, 2, nil, false, "i64") end, "vector_norm", "i64")
end}

function C.nansum(c)
    local function sum(v)
        local s = 0
        for _, e in ipairs(v) do if e == e then s = s + e end end
        return s
    end
    local to, tol = c.float and c.dtype or "i64", c.float and tolerance(c)
    local x, a = spoiled(c, {12, 40}, function(i) return (i[1] + i[2]) % 3 == 0 or i[1] == 5 end)
    for d = 1, 2 do
        c.check(x:nansum(d), along(a, d, sum), to, tol)
        c.check(x:nansum({d}, true), along(a, d, sum, true), to, tol)
    end
    c.check(x:nansum(), all_of(a, sum), to, tol)
    c.check(x:nansum(1, false, "f64"), along(a, 1, sum), "f64", 1e-12)
    if c.float then -- a NaN made by infinities is not an input NaN
        local odd = {shape = {100}, v = {}}
        for i = 1, 100 do odd.v[i] = i == 3 and inf or i == 67 and -inf or nan end
        c.check(c.put(odd):nansum(), {shape = {}, v = {nan}})
    end
    c.refuses(function() return x:nansum(3) end, "^nansum: dim 3")
end

C.nanmean = {types = FLOATS, run = function(c)
    local function mean(v)
        local s, n = 0, 0
        for _, e in ipairs(v) do if e == e then s, n = s + e, n + 1 end end
        return s / n
    end
    local x, a = spoiled(c, {12, 40}, function(i) return (i[1] + i[2]) % 3 == 0 or i[1] == 5 end)
    for d = 1, 2 do
        c.check(x:nanmean(d), along(a, d, mean), nil, tolerance(c))
        c.check(x:nanmean({d}, true), along(a, d, mean, true), nil, tolerance(c))
    end
    c.check(x:nanmean(), all_of(a, mean), nil, tolerance(c))
    c.check(x:nanmean(1, false, "f64"), along(a, 1, mean), "f64", 1e-12)
end}

local function extremes(v)
    local lo, hi = v[1], v[1]
    for _, e in ipairs(v) do
        if e ~= e or e < lo then lo = e end
        if e ~= e or e > hi then hi = e end
        if lo ~= lo then return lo, lo end
    end
    return lo, hi
end
function C.aminmax(c)
    local x, a = spoiled(c, {12, 40}, function(i) return i[1] == 3 and i[2] == 7 end)
    local function least(v) return (extremes(v)) end
    local function most(v) return (select(2, extremes(v))) end
    for d = 1, 2 do
        local lo, hi = x:aminmax(d)
        c.check(lo, along(a, d, least))
        c.check(hi, along(a, d, most))
        lo, hi = x:aminmax(-d, true)
        c.check(lo, along(a, 3 - d, least, true))
        c.check(hi, along(a, 3 - d, most, true))
    end
    local lo, hi = x:aminmax()
    c.check(lo, all_of(a, least))
    c.check(hi, all_of(a, most))
    c.refuses(function() return g.zeros(0, 2, {dtype = c.dtype, device = c.dev}):aminmax(1) end,
        "^aminmax: no elements")
    c.refuses(function() return x:aminmax(3) end, "^aminmax: dim 3")
end

local function before(x, y) return x == x and (y ~= y or x < y) end
-- Value and first index of the lower median; nan_too: NaNs are left out.
local function median_of(v, without)
    local list = {}
    for _, e in ipairs(v) do
        if e ~= e and not without then return e, e end
        if e == e then list[#list + 1] = e end
    end
    table.sort(list)
    return list[(#list + 1) // 2] or nan
end
local function place_of(v, e)
    for i = 1, #v do if v[i] == e or (e ~= e and v[i] ~= v[i]) then return i end end
end
local function median(name, without)
    return {types = NUMBERS, run = function(c)
        local x, a = spoiled(c, {7, 40},
            function(i) return i[1] == 3 and i[2] % 3 == 1 or i[1] == 5 end)
        local function value(v) return (median_of(v, without)) end
        for d = 1, 2 do
            local y, p = x[name](x, d)
            c.check(y, along(a, d, value))
            c.check(p, along(a, d, function(v) return place_of(v, value(v)) end), "i64", nil,
                "indices")
            y, p = x[name](x, d, true)
            c.check(y, along(a, d, value, true))
            c.check(p, along(a, d, function(v) return place_of(v, value(v)) end, true), "i64", nil,
                "indices")
        end
        c.check(x[name](x), all_of(a, value))
        local none = g.zeros(0, 3, {dtype = c.dtype, device = c.dev})
        if c.float then c.check(none[name](none), {shape = {}, v = {nan}})
        else c.refuses(function() return none[name](none) end, "^" .. name .. ": no elements") end
        c.refuses(function() return none[name](none, 1) end, "^" .. name .. ": no elements")
        c.refuses(function() return x[name](x, 3) end, "^" .. name .. ": dim 3")
    end}
end
C.median, C.nanmedian = median("median", false), median("nanmedian", true)

function C.mode(c)
    local function often(v)
        local list, best, most = A.copy(v), nil, 0
        table.sort(list, before)
        for i = 1, #list do
            local n = 1
            while i + n <= #list and list[i + n] == list[i] do n = n + 1 end
            if n > most then best, most = list[i], n end
        end
        return best
    end
    local function last(v)
        for i = #v, 1, -1 do if v[i] == often(v) then return i end end
    end
    local x, a = c.x({5, 40},
        function(i) return as(c.dtype, i[1] == 2 and i[2] or math.random(0, 6)) end)
    for d = 1, 2 do
        local y, p = x:mode(d)
        c.check(y, along(a, d, often))
        c.check(p, along(a, d, last), "i64", nil, "indices")
    end
    local y, p = x:mode(-1, true)
    c.check(y, along(a, 2, often, true))
    c.check(p, along(a, 2, last, true), "i64", nil, "indices")
    if c.float then
        c.check(c.put {shape = {5}, v = {nan, 3, nan, 2, 3}}:mode(), {shape = {}, v = {3}})
    end
    c.refuses(function() return g.zeros(2, 0, {dtype = c.dtype, device = c.dev}):mode() end,
        "^mode: no elements")
end

-- ---- scans ----

function C.cumprod(c)
    local to = c.float and c.dtype or "i64"
    local x, a = c.x({3, 12},
        function() return as(c.dtype, math.random(0, 9) == 0 and 0 or math.random(1, 2)) end)
    local function product(v) local p = 1; for _, e in ipairs(v) do p = p * e end; return p end
    for d = 1, 2 do c.check(x:cumprod(d), running(a, d, product), to) end
    c.check(x:cumprod(2, "f64"), running(a, 2, product), "f64")
    c.refuses(function() return x:cumprod(3) end, "^cumprod: dim 3")
end

C.logcumsumexp = {types = FLOATS, run = function(c)
    local x, a = c.x {3, 40}
    for d = 1, 2 do c.check(x:logcumsumexp(d), running(a, d, log_sum), nil, tolerance(c)) end
    local far = {-inf, -1000, 500, -inf, 500, 3}
    for i = 1, 6 do if c.dtype == "bf16" then far[i] = math.max(far[i], -512) end end
    local y = c.put {shape = {6}, v = far}
    c.check(y:logcumsumexp(1), running({shape = {6}, v = far}, 1, log_sum), nil, tolerance(c))
    c.check(c.put {shape = {3}, v = {1, nan, 2}}:logcumsumexp(1), {shape = {3}, v = {1, nan, nan}})
end}

local function so_far(name, better)
    return function(c)
        local x, a = spoiled(c, {9, 30},
            function(i) return i[1] == 4 and (i[2] == 5 or i[2] == 9) end)
        local function best(v)
            local k = 1
            for i = 2, #v do
                if v[i] ~= v[i] or better(v[i], v[k]) then k = i end
            end
            return k
        end
        for d = 1, 2 do
            local y, p = x[name](x, d)
            c.check(y, running(a, d, function(v) return v[best(v)] end))
            c.check(p, running(a, d, best), "i64", nil, "indices")
        end
        local y, p = x[1][1][name](x[1][1], 1)
        c.check(y, {shape = {}, v = {a.v[1]}})
        c.check(p, {shape = {}, v = {1}}, "i64")
        c.refuses(function() return x[name](x, 3) end, "^" .. name .. ": dim 3")
    end
end
C.cummax = so_far("cummax", function(x, y) return x >= y end)
C.cummin = so_far("cummin", function(x, y) return x <= y end)

-- ---- at the edges ----

function C.pad(c)
    local x, a = c.x {2, 3, 4}
    local function padded(pad, src, value)
        local shape, before = A.copy(a.shape), {0, 0, 0}
        for k = 1, #pad // 2 do
            local d = 4 - k
            before[d] = pad[2 * k - 1]
            shape[d] = shape[d] + before[d] + pad[2 * k]
        end
        return build(shape, function(i)
            local at = {}
            for d = 1, 3 do
                local k = i[d] - before[d]
                if k < 1 or k > a.shape[d] then k = src and src(k, a.shape[d], before[d], d) end
                if not k then return value end
                at[d] = k
            end
            return get(a, at)
        end)
    end
    for _, pad in ipairs {{1, 2}, {0, 3, 2, 0}, {1, 1, 0, 1, 2, 1}, {-1, 2, 1, -1}, {-1, -2}, {},
        {-5, 4}}
    do
        c.check(x:pad(pad), padded(pad, nil, 0), nil, nil, A.text(pad))
        c.check(x:pad(pad, "constant", 1), padded(pad, nil, 1), nil, nil, A.text(pad) .. " with 1")
    end
    local function reflect(k, n) return k < 1 and 2 - k or 2 * n - k end
    local function replicate(k, n) return k < 1 and 1 or n end
    -- As in PyTorch, circular padding wraps only the elements that are kept: of 1 2 3 4, {-1, 1}
    -- makes 2 3 4 2.
    local function going_round(pad)
        return function(k, n, before, d)
            local after = pad[2 * (#a.shape - d) + 2] or 0
            local out = math.max(-before, 0)
            return (k - 1 - out) % (n - out - math.max(-after, 0)) + 1 + out
        end
    end
    for _, pad in ipairs {{1, 2}, {3, 1, 2, 0}, {1, 1, 0, 1, 1, 1}, {-1, 2, 1, -1}} do
        c.check(x:pad(pad, "reflect"), padded(pad, reflect), nil, nil, "reflect " .. A.text(pad))
        c.check(x:pad(pad, "replicate"), padded(pad, replicate), nil, nil,
            "replicate " .. A.text(pad))
        c.check(x:pad(pad, "circular"), padded(pad, going_round(pad)), nil, nil,
            "circular " .. A.text(pad))
    end
    c.check(x:pad({2, -1, -1, 1}, "circular"), padded({2, -1, -1, 1}, going_round {2, -1, -1, 1}),
        nil, nil, "circular {2, -1, -1, 1}")
    c.refuses(function() return x:pad({-3, 2}, "circular") end,
        "^pad: 2 elements at dim 3 of size 1")
    c.check(x:pad({9, 0}, "replicate"), padded({9, 0}, replicate))
    c.refuses(function() return x:pad({4, 0}, "reflect") end,
        "^pad: 4 elements at dim 3 of size 4 are too many for reflect")
    c.refuses(function() return x:pad({5, 0}, "circular") end, "^pad: 5 elements")
    c.refuses(function() return x:pad({1, 0}, "mirror") end, "^pad: mode 'mirror'")
    c.refuses(function() return x:pad({1, 0}, "reflect", 2) end,
        "^pad: mode reflect takes no value")
    c.refuses(function() return x:pad {1} end, "^pad: 1 numbers")
    c.refuses(function() return x:pad {1, 1, 1, 1, 1, 1, 1, 1} end, "^pad: 8 numbers")
    c.refuses(function() return x:pad {-3, -2} end, "^pad: %-3 and %-2 elements")
end

function C.roll(c)
    local x, a = c.x {2, 3, 4}
    local function rolled(by)
        return build(a.shape, function(i)
            local at = {}
            for d = 1, 3 do at[d] = (i[d] - 1 - by[d]) % a.shape[d] + 1 end
            return get(a, at)
        end)
    end
    c.check(x:roll(1, 2), rolled {0, 1, 0})
    c.check(x:roll({1, -3}, {1, 3}), rolled {1, 0, -3})
    c.check(x:roll({1, 1, 1}, {3, 3, 2}), rolled {0, 1, 2})
    c.check(x:roll(-17, -1), rolled {0, 0, -1})
    c.check(x:roll(5),
        build(a.shape,
            function(i) return a.v[((i[1] - 1) * 12 + (i[2] - 1) * 4 + i[3] - 1 - 5) % 24 + 1] end))
    c.refuses(function() return x:roll({1, 2}) end, "^roll: 2 shifts and 0 dims")
    c.refuses(function() return x:roll(1, {1, 2}) end, "^roll: 1 shifts and 2 dims")
    c.refuses(function() return x:roll(1, 4) end, "^roll: dim 4")
end

function C.diag_embed(c)
    local x, a = c.x {2, 3}
    c.check(x:diag_embed(),
        build({2, 3, 3}, function(i) return i[2] == i[3] and get(a, {i[1], i[2]}) or 0 end))
    c.check(x:diag_embed(1),
        build({2, 4, 4}, function(i) return i[3] == i[2] + 1 and get(a, {i[1], i[2]}) or 0 end))
    c.check(x:diag_embed(-2, 1, 3),
        build({5, 2, 5}, function(i) return i[1] == i[3] + 2 and get(a, {i[2], i[3]}) or 0 end))
    c.refuses(function() return x:diag_embed(0, 1, 1) end, "^diag_embed: dim1 and dim2 are both 1")
    c.refuses(function() return x[1][1]:diag_embed() end, "^diag_embed: expected 1 to")
end

return C
