--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: ops that make, choose, move and order elements.
local g = require "gpush"
local A = require "arrays"
local build, get, set, with, copy, as = A.build, A.get, A.set, A.with, A.copy, A.as
local nan, inf = 0 / 0, math.huge
local slices = require "cases.search".slices
local C = {}

local function opts(c) return {dtype = c.dtype, device = c.dev} end

-- ---- making tensors ----

local function constant(value)
    return function(c, f, ...)
        c.check(f(2, 3, opts(c)), build({2, 3}, function() return as(c.dtype, value) end))
        c.check(f({0, 3}, opts(c)), {shape = {0, 3}, v = {}})
        c.check(f({}, opts(c)), {shape = {}, v = {as(c.dtype, value)}})
        c.refuses(function() return f(2, -1, opts(c)) end, "negative size %-1")
        c.refuses(function() return f(1, 1, 1, 1, 1, 1, 1, 1, 1, opts(c)) end, "9 dims")
        c.refuses(function() return f(1 << 40, 1 << 40, opts(c)) end, "elements")
        c.refuses(function() return f(1 << 50, opts(c)) end, "out of memory")
    end
end
function C.zeros(c) constant(0)(c, g.zeros) end
function C.ones(c) constant(1)(c, g.ones) end
function C.full(c)
    constant(3)(c, function(...)
        local args = {...}
        local o = table.remove(args)
        local shape = type(args[1]) == "table" and args[1] or args
        return g.full(shape, 3, o)
    end)
    local default = g.full({2}, 1.5, {device = c.dev}).dtype
    if default ~= "f32" then c.problem("full of a float is %s", default) end
end
function C.empty(c)
    local y = g.empty(2, 3, opts(c))
    if A.text(y.shape) ~= "{2, 3}" or y.dtype ~= c.dtype then c.problem("got %s", tostring(y)) end
end
function C.eye(c)
    for _, s in ipairs {{3, 3}, {2, 4}, {4, 2}, {0, 0}} do
        c.check(g.eye(s[1], s[2], opts(c)),
            build(s, function(i) return i[1] == i[2] and 1 or 0 end))
    end
    c.check(g.eye(2, opts(c)), {shape = {2, 2}, v = {1, 0, 0, 1}})
    c.refuses(function() return g.eye(-1, opts(c)) end, "^eye: negative size")
end
function C.range(c)
    local function range(a, b, s)
        local v = {}
        for x = a, b, s do v[#v + 1] = as(c.dtype, x) end
        return {shape = {#v}, v = v}
    end
    c.check(g.range(1, 9, opts(c)), range(1, 9, 1))
    c.check(g.range(1, 9, 3, opts(c)), range(1, 9, 3))
    c.check(g.range(9, 2, -2, opts(c)), range(9, 2, -2))
    c.check(g.range(5, 1, opts(c)), {shape = {0}, v = {}})
    if c.float then c.check(g.range(0.5, 2.5, 0.25, opts(c)), range(0.5, 2.5, 0.25)) end
    c.check(g.range(math.maxinteger - 1, math.maxinteger, {device = c.dev}),
        {shape = {2}, v = {math.maxinteger - 1, math.maxinteger}}, "i64")
    c.check(g.range(math.mininteger, math.maxinteger, math.maxinteger, {device = c.dev}),
        {shape = {3}, v = {math.mininteger, -1, math.maxinteger - 1}}, "i64")
    c.refuses(function() return g.range(1, 2, 0, opts(c)) end, "^range: step is 0")
    c.refuses(function() return g.range(1, inf, opts(c)) end, "^range: ")
    c.refuses(function() return g.range(nan, 1, opts(c)) end, "^range: ")
    c.refuses(function() return g.range(math.mininteger, math.maxinteger, opts(c)) end, "range")
end
-- From both ends; integer dtypes truncate the fraction.
local function spaced(c, make, at)
    for _, s in ipairs {{0, 1, 5}, {-2, 3, 11}, {3, -3, 4}, {0, 5, 6}} do
        local a, b, n = table.unpack(s)
        if c.dtype == "u8" then a, b = math.abs(a), math.abs(b) end
        local want = build({n},
            function(i)
                return at(i[1] <= (n + 1) // 2 and a + (i[1] - 1) * ((b - a) / (n - 1))
                    or b - (n - i[1]) * ((b - a) / (n - 1)))
            end)
        if not c.float then
            for i, v in ipairs(want.v) do want.v[i] = (v < 0 and math.ceil or math.floor)(v) end
        end
        c.check(make(a, b, n, opts(c)), want, nil,
            c.float and (c.dtype == "bf16" and 8e-3 or c.dtype == "f16" and 1e-3 or 1e-7))
    end
    c.check(make(2, 3, 1, opts(c)), {shape = {1}, v = {at(2)}})
    c.check(make(2, 3, 0, opts(c)), {shape = {0}, v = {}})
    c.refuses(function() return make(2, 3, -1, opts(c)) end, "space: argument 'steps' is %-1")
end
local numbers = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true, i32 = true,
    i16 = true, i8 = true, u8 = true}
C.linspace = {types = numbers,
    run = function(c) spaced(c, g.linspace, function(x) return x end) end}
C.logspace = {types = numbers, run = function(c)
    spaced(c, function(a, b, n, o) o.base = 2; return g.logspace(a, b, n, o) end,
        function(x) return 2.0 ^ x end)
    if c.dtype == "i16" then
        c.check(g.logspace(0, 3, 4, opts(c)), {shape = {4}, v = {1, 10, 100, 1000}})
    end
end}
function C.fill(c)
    local x, a = c.x {3, 4}
    local want = build({3, 4}, function() return as(c.dtype, 2) end)
    c.check(x:fill(2), want)
    c.check(x, a)
    x:fill_(2)
    c.check(x, want)
end
function C.copy(c)
    local x, a = c.x {3, 4, 2}
    local y = x:copy()
    c.check(y, a)
    y:fill_(0)
    c.check(x, a)
    c.check(x:copy("f64"), a, "f64")
end

-- ---- choosing and moving ----

function C.where(c)
    local cond, p = c.x({3, 1}, nil, "bool")
    local x, a = c.x {3, 4}
    local y, b = c.x {4}
    c.check(g.where(cond, x, y),
        build({3, 4},
            function(i) return get(p, {i[1], 1}) == 1 and get(a, i) or get(b, {i[2]}) end))
    c.check(g.where(cond, x, x), a)
    c.refuses(function() return g.where(x:to("f32"), x, y) end, "^where: ")
    c.refuses(function() return g.where(cond, x, (c.x {5})) end, "^where: shapes")
end
function C.masked_fill(c)
    local x, a = c.x {3, 4}
    local m, p = c.x({3, 1}, nil, "bool")
    local want = build({3, 4}, function(i) return get(p, {i[1], 1}) == 1 and 1 or get(a, i) end)
    c.check(x:masked_fill(m, 1), want)
    c.check(x, a)
    x:masked_fill_(m, 1)
    c.check(x, want)
end
function C.masked_select(c)
    local x, a = c.x {3, 4}
    local m, p = c.x({3, 4}, nil, "bool")
    local v = {}
    for i = 1, 12 do if p.v[i] == 1 then v[#v + 1] = a.v[i] end end
    c.check(x:masked_select(m), {shape = {#v}, v = v})
    -- a mask whose last dims are broadcast selects parts of x
    local y, b = c.x {3, 4, 2, 3}
    local w = {}
    A.each({3, 2, 3, 4}, function(i)
        if get(p, {i[1], 2}) == 1 then w[#w + 1] = get(b, {i[1], i[4], i[2], i[3]}) end
    end)
    c.check(y:permute(1, 3, 4, 2):masked_select(m:select(2, 2):view(3, 1, 1, 1):expand(3, 2, 3, 4)),
        {shape = {#w}, v = w}, nil, nil, "parts")
    w = {}
    A.each({3, 4, 2, 3},
        function(i) if get(p, {i[1], i[2]}) == 1 then w[#w + 1] = get(b, i) end end)
    c.check(y:masked_select(m:unsqueeze(3):unsqueeze(4)), {shape = {#w}, v = w}, nil, nil, "rows")
    c.check(x:masked_select(m:fill(0)), {shape = {0}, v = {}})
end
function C.masked_put(c)
    local x, a = c.x {3, 4}
    local m, p = c.x({3, 4}, nil, "bool")
    local y, b = c.x {12}
    local n, v = 0, {}
    for i = 1, 12 do
        if p.v[i] == 1 then n = n + 1; v[i] = b.v[n] else v[i] = a.v[i] end
    end
    c.check(x:masked_put(m, y:narrow(1, 1, n)), {shape = {3, 4}, v = v})
    c.check(x, a)
end
function C.nonzero(c)
    local x, a = c.x({3, 4}, function(i) return (i[1] + 2 * i[2]) % 3 == 0 and 1 or 0 end)
    local v, n = {}, 0
    A.each({3, 4},
        function(i) if get(a, i) ~= 0 then v[#v + 1], v[#v + 2], n = i[1], i[2], n + 1 end end)
    c.check(x:nonzero(), {shape = {n, 2}, v = v}, "i64")
    c.check(x:fill(0):nonzero(), {shape = {0, 2}, v = {}}, "i64")
end
C.check_finite = {types = {f16 = true, bf16 = true, f32 = true, f64 = true}, run = function(c)
    local x = c.x {3, 4}
    g.check_finite(x)
    for _, bad in ipairs {math.huge, -math.huge, 0 / 0} do
        local y = x:clone()
        y[3][4] = bad
        local text = bad == bad and "0 NaN and 1 infinite of 12" or "1 NaN and 0 infinite of 12"
        local function fails(z) g.check_finite(z) g.synchronize() end
        c.refuses(function() fails(y) end, "check_finite", text)
        c.refuses(function() fails(y:t()) end, "check_finite", text)
        c.refuses(function() fails(y:narrow(2, 4, 1)) end, "check_finite", (text:gsub("12", "3")))
        fails(y:narrow(1, 1, 2))
        if bad == bad then g.check_finite(y, x, y) end -- what an operand brings is passed on
    end
end}
function C.count_nonzero(c)
    local x, a = c.x {3, 4}
    local function count(i)
        local n = 0; for j = 1, 4 do if get(a, {i, j}) ~= 0 then n = n + 1 end end; return n
    end
    c.check(x:count_nonzero(2), {shape = {3}, v = {count(1), count(2), count(3)}}, "i64")
    c.check(x:count_nonzero(), {shape = {}, v = {count(1) + count(2) + count(3)}}, "i64")
end
function C.gather(c)
    local x, a = c.x {3, 4}
    local ix, p = c.index({2, 4}, 3)
    c.check(x:gather(1, ix), build({2, 4}, function(i) return get(a, {get(p, i), i[2]}) end))
    local jx, q = c.index({3, 2}, 4)
    c.check(x:gather(2, jx), build({3, 2}, function(i) return get(a, {i[1], get(q, i)}) end))
    c.check(x:gather(-1, g.zeros(3, 0, {dtype = "i64", device = c.dev})), {shape = {3, 0}, v = {}})
    c.refuses(function() return x:gather(1, ix * 0):sum():item() end, "gather", "index 0")
    c.refuses(function() return x:gather(1, ix * 0 + 4):sum():item() end, "gather", "index 4")
    c.refuses(function() return x:gather(3, ix) end, "^gather: dim 3")
end
function C.scatter(c)
    local x, a = c.x {3, 4}
    local src, s = c.x {3, 2}
    -- no index twice
    local ix, p = c.x({3, 2}, function(i) return (i[1] + i[2]) % 2 * 2 + i[2] end, "i64")
    local v = copy(a.v)
    local want = {shape = {3, 4}, v = v}
    A.each({3, 2}, function(i) set(want, {i[1], get(p, i)}, get(s, i)) end)
    c.check(x:scatter(2, ix, src), want)
    c.check(x, a)
    x:scatter_(2, ix, src)
    c.check(x, want)
    c.refuses(function() return x:scatter(2, ix * 0 + 5, src):sum():item() end, "scatter",
        "index 5")
    c.check(x, want)
end
function C.gather_nd(c)
    local x, a = c.x {3, 4, 2}
    local rows = {{1, 2}, {3, 4}, {-1, 1}}
    local ix = g.tensor(rows):to(c.dev)
    c.check(x:gather_nd(ix),
        build({3, 2},
            function(i)
                local r = rows[i[1]]; return get(a, {r[1] < 0 and 3 or r[1], r[2], i[2]})
            end))
    c.refuses(function() return x:gather_nd(ix * 9):sum():item() end, "gather_nd", "index")
end
function C.index_select(c)
    local x, a = c.x {3, 4}
    local ix, p = c.index({5}, 4)
    c.check(x:index_select(2, ix),
        build({3, 5}, function(i) return get(a, {i[1], get(p, {i[2]})}) end))
    c.check(x:index_select(1, g.tensor({-1}):to(c.dev)),
        build({1, 4}, function(i) return get(a, {3, i[2]}) end))
    c.refuses(function() return x:index_select(1, ix * 0):sum():item() end, "index_select",
        "index 0")
end
function C.index(c)
    local x, a = c.x {3, 4, 2}
    local ix, p = c.index({2, 1}, 3)
    local jx, q = c.index({3}, 4)
    c.check(x:index({ix, jx}),
        build({2, 3, 2}, function(i) return get(a, {get(p, {i[1], 1}), get(q, {i[2]}), i[3]}) end))
    c.check(x:index({jx}, {2}),
        build({3, 3, 2}, function(i) return get(a, {i[1], get(q, {i[2]}), i[3]}) end))
    c.refuses(function() return x:index({ix * 0 - 4}):sum():item() end, "index", "%-4")
end
function C.index_put(c)
    local x, a = c.x {3, 4}
    local ix = g.tensor({1, 3}):to(c.dev)
    local src, s = c.x {2, 4}
    local want = {shape = {3, 4}, v = copy(a.v)}
    for r = 1, 2 do for j = 1, 4 do set(want, {({1, 3})[r], j}, get(s, {r, j})) end end
    c.check(x:index_put({ix}, src), want)
    c.check(x, a)
    local twice = g.tensor({2, 2, 2}):to(c.dev)
    local ones = g.ones(3, 4, opts(c))
    want = build({3, 4},
        function(i) return as(c.dtype, i[1] == 2 and get(a, i) + 3 or get(a, i)) end)
    c.check(x:index_put({twice}, ones, true), want, nil, nil, "accumulated")
    x:index_put_({ix}, src)
end
function C.cat(c)
    local x, a = c.x {2, 3}
    local y, b = c.x {2, 4}
    c.check(g.cat({x, y, x}, 2), build({2, 10}, function(i)
        local j = i[2]
        return j <= 3 and get(a, i) or j <= 7 and get(b, {i[1], j - 3}) or get(a, {i[1], j - 7})
    end))
    c.check(g.cat {x, x}, build({4, 3}, function(i) return get(a, {(i[1] - 1) % 2 + 1, i[2]}) end))
    c.check(g.cat {x}, a)
    -- no elements: of the same dims, and as in PyTorch also of one
    local none, nothing = c.x {2, 0}, c.x {0}
    c.check(g.cat({x, none, y, nothing}, 2),
        build({2, 7}, function(i) return i[2] <= 3 and get(a, i) or get(b, {i[1], i[2] - 3}) end))
    c.check(g.cat({nothing, none, x}, 2), a)
    c.check(g.cat({none, none}, 2), {shape = {2, 0}, v = {}})
    c.refuses(function() return g.cat({x, y}, 1) end, "^cat: ")
    c.refuses(function() return g.cat({x, x}, 3) end, "^cat: dim 3")
    c.refuses(function() return g.cat {} end, "^cat: ")
end
function C.stack(c)
    local x, a = c.x {2, 3}
    local y, b = c.x {2, 3}
    for d = 1, 3 do
        local shape = copy(a.shape)
        table.insert(shape, d, 2)
        c.check(g.stack({x, y}, d),
            build(shape, function(i) return get(i[d] == 1 and a or b, with(i, d)) end))
    end
    c.refuses(function() return g.stack {x, (c.x {3, 2})} end, "^stack: ")
end
function C.flip(c)
    local x, a = c.x {2, 3, 4}
    c.check(x:flip(1, -1),
        build({2, 3, 4}, function(i) return get(a, {3 - i[1], i[2], 5 - i[3]}) end))
    c.check(x:flip(2), build({2, 3, 4}, function(i) return get(a, {i[1], 4 - i[2], i[3]}) end))
    c.refuses(function() return x:flip(1, 1) end, "^flip: ")
end
local function triangle(name, keep)
    return function(c)
        for _, k in ipairs {0, 1, -1, 9, -9} do
            local x, a = c.x {2, 3, 4}
            local want = build({2, 3, 4},
                function(i) return keep(i[3] - i[2], k) and get(a, i) or 0 end)
            c.check(x[name](x, k), want)
            c.check(x, a)
            x[name .. "_"](x, k)
            c.check(x, want)
        end
        c.refuses(function() local v = c.x {3}; return v[name](v) end, "^" .. name .. ": ")
    end
end
C.tril = triangle("tril", function(d, k) return d <= k end)
C.triu = triangle("triu", function(d, k) return d >= k end)
function C.repeat_interleave(c)
    local x, a = c.x {3, 2}
    c.check(x:repeat_interleave(2, 1),
        build({6, 2}, function(i) return get(a, {(i[1] + 1) // 2, i[2]}) end))
    c.check(x:repeat_interleave(g.tensor({2, 0, 1}):to(c.dev), 1),
        build({3, 2}, function(i) return get(a, {({1, 1, 3})[i[1]], i[2]}) end))
    c.check(x:repeat_interleave(0, 2), {shape = {3, 0}, v = {}})
    c.refuses(function() return x:repeat_interleave(-1, 1) end, "^repeat_interleave: ")
    c.refuses(function()
        return x:repeat_interleave(g.tensor({1, -1, 1}):to(c.dev), 1):sum():item()
    end, "repeat_interleave")
end

-- ---- order ----

local plain = require "plain"
local order = plain.order
local function sorting(c, judge)
    for d = 1, 2 do
        for _, descending in ipairs {false, true} do
            local x, a = c.x {5, 6}
            if c.float then
                a = build({5, 6}, function(i) return i[1] == i[2] and nan or get(a, i) end)
                x = c.put(a)
            end
            local ix, v = build({5, 6}, function() return 0 end),
                build({5, 6}, function() return 0 end)
            for r = 1, d == 1 and 6 or 5 do
                local function at(k) return d == 1 and {k, r} or {r, k} end
                local row = {}
                for k = 1, d == 1 and 5 or 6 do row[k] = get(a, at(k)) end
                for k, i in ipairs(order(row, descending)) do
                    set(ix, at(k), i)
                    set(v, at(k), row[i])
                end
            end
            judge(x, d, descending, v, ix)
        end
    end
end
function C.sort(c)
    sorting(c, function(x, d, descending, v, ix)
        local y, p = x:sort(d, descending)
        c.check(y, v)
        c.check(p, ix, "i64", nil, "indices")
    end)
    c.refuses(function() return c.x({3}):sort(2) end, "^sort: dim 2")
end
function C.msort(c)
    sorting(c,
        function(x, d, descending, v)
            if d == 1 and not descending then c.check(x:msort(), v) end
        end)
end
function C.argsort(c)
    sorting(c, function(x, d, descending, v, ix) c.check(x:argsort(d, descending), ix, "i64") end)
end
function C.unique(c)
    local x, a = c.x {4, 5}
    local seen, v, inverse, counts = {}, {}, {}, {}
    for _, e in ipairs(a.v) do
        if not seen[e] then seen[e] = true; v[#v + 1] = e end
    end
    table.sort(v)
    for k, e in ipairs(v) do
        counts[k] = 0
        for i, f in ipairs(a.v) do if f == e then inverse[i] = k; counts[k] = counts[k] + 1 end end
    end
    local y, p, n = x:unique(true, true, true)
    c.check(y, {shape = {#v}, v = v})
    c.check(p, {shape = {4, 5}, v = inverse}, "i64", nil, "inverse")
    c.check(n, {shape = {#v}, v = counts}, "i64", nil, "counts")
    c.check(x:unique(), {shape = {#v}, v = v})
    slices(c, "unique", true)
end
function C.unique_consecutive(c)
    local x, a = c.x({12}, function(i) return A.value("bool") end)
    local v, inverse, counts = {}, {}, {}
    for i, e in ipairs(a.v) do
        if i == 1 or e ~= v[#v] then v[#v + 1], counts[#v + 1] = e, 0 end
        inverse[i], counts[#v] = #v, counts[#v] + 1
    end
    local y, p, n = x:unique_consecutive(true, true)
    c.check(y, {shape = {#v}, v = v})
    c.check(p, {shape = {12}, v = inverse}, "i64", nil, "inverse")
    c.check(n, {shape = {#v}, v = counts}, "i64", nil, "counts")
    slices(c, "unique_consecutive", false)
end

-- The best of a list: value and first index; NaN wins.
local function best(v, better)
    local k = 1
    for i = 2, #v do
        if v[k] == v[k] and (v[i] ~= v[i] or better(v[i], v[k])) then k = i end
    end
    return v[k], k
end
local function extreme(name, arg, better)
    return function(c)
        local x, a = c.x {4, 9}
        if c.float then
            a = build({4, 9}, function(i) return i[1] == 2 and i[2] == 3 and nan or get(a, i) end)
            x = c.put(a)
        end
        local v, ix = {}, {}
        for r = 1, 4 do v[r], ix[r] = best({table.unpack(a.v, 9 * r - 8, 9 * r)}, better) end
        local all, where = best(a.v, better)
        -- the other dim, whose lines are adjacent, and are taken 8 and more at a time
        local down, at = {}, {}
        for k = 1, 9 do
            local line = {}
            for r = 1, 4 do line[r] = get(a, {r, k}) end
            down[k], at[k] = best(line, better)
        end
        if arg then
            c.check(x[name](x, 1), {shape = {9}, v = at}, "i64", nil, "along dim 1")
            c.check(x[name](x, 2), {shape = {4}, v = ix}, "i64")
            c.check(x[name](x, -1, true), {shape = {4, 1}, v = ix}, "i64")
            c.check(x[name](x), {shape = {}, v = {where}}, "i64")
        else
            local y, p = x[name](x, 1)
            c.check(y, {shape = {9}, v = down}, nil, nil, "along dim 1")
            c.check(p, {shape = {9}, v = at}, "i64", nil, "indices along dim 1")
            y, p = x[name](x, 2)
            c.check(y, {shape = {4}, v = v})
            c.check(p, {shape = {4}, v = ix}, "i64", nil, "indices")
            c.check(x[name](x), {shape = {}, v = {all}})
            local z, b = c.x {4, 9}
            if c.dtype ~= "bool" then
                c.check(x[name](x, z),
                    build({4, 9}, function(i) return (best({get(a, i), get(b, i)}, better)) end))
            end
        end
        c.refuses(function() return x[name](x, 3) end, "^" .. name .. ": dim 3")
        c.refuses(function() return g.zeros(0, 3, opts(c))[name](g.zeros(0, 3, opts(c)), 1) end,
            "^" .. name .. ": ")
    end
end
local function more(x, y) return x > y end
local function less(x, y) return x < y end
local no_truths = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true, i32 = true,
    i16 = true, i8 = true, u8 = true}
C.argmax = {types = no_truths, run = extreme("argmax", true, more)}
C.argmin = {types = no_truths, run = extreme("argmin", true, less)}
C.max, C.min = extreme("max", false, more), extreme("min", false, less)
function C.cumsum(c)
    local x, a = c.x {3, 5}
    local to = c.float and c.dtype or "i64"
    local function sum(i, d)
        local s = 0; for k = 1, i[d] do s = s + get(a, with(i, d, k)) end; return s
    end
    for d = 1, 2 do c.check(x:cumsum(d), build({3, 5}, function(i) return sum(i, d) end), to) end
    c.check(x:cumsum(1, "f64"), build({3, 5}, function(i) return sum(i, 1) end), "f64")
end

return C
