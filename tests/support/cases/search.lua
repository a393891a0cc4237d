--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: ops that find the first few of a line, the positions
-- of values in it, and their counts.
local g = require "gpush"
local A = require "arrays"
local build, get = A.build, A.get
local nan, inf = 0 / 0, math.huge
local C = {}

local function set_of(list)
    local s = {}
    for _, d in ipairs(list) do s[d] = true end
    return s
end
local INTS = set_of {"i64", "i32", "i16", "i8", "u8"}
local FLOATS = set_of {"f64", "f32", "f16", "bf16"}
local REAL = set_of {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}

local plain = require "plain"
local before, order = plain.before, plain.order

-- A 5 x n array (with a NaN for floats), and the order of each row.
local function rows(c, n, descending)
    local _, a = c.x {5, n}
    if c.float then a.v[3], a.v[2 * n] = nan, -inf end
    local ix = {}
    for r = 1, 5 do ix[r] = order({table.unpack(a.v, (r - 1) * n + 1, r * n)}, descending) end
    return c.put(a), a, ix
end

C.topk = {types = REAL, run = function(c)
    for _, n in ipairs {6, 40} do
        for _, largest in ipairs {true, false} do
            local x, a, ix = rows(c, n, largest)
            for _, k in ipairs {0, 1, 5} do
                local y, p = x:topk(k, 2, largest)
                c.check(y, build({5, k}, function(i) return get(a, {i[1], ix[i[1]][i[2]]}) end))
                c.check(p, build({5, k}, function(i) return ix[i[1]][i[2]] end), "i64", nil,
                    "indices")
            end
            local y, p = x:transpose(1, 2):topk(3, {dim = 1, largest = largest})
            c.check(y, build({3, 5}, function(i) return get(a, {i[2], ix[i[2]][i[1]]}) end))
            c.check(p, build({3, 5}, function(i) return ix[i[2]][i[1]] end), "i64", nil, "indices")
        end
    end
    c.check((g.tensor(3, {dtype = c.dtype}):to(c.dev):topk(1)), {shape = {}, v = {3}})
    c.refuses(function() return c.x({3}):topk(4) end, "^topk: k is 4, dim 1 has size 3")
end}
C.kthvalue = {types = REAL, run = function(c)
    local x, a, ix = rows(c, 9)
    for _, k in ipairs {1, 4, 9} do
        local y, p = x:kthvalue(k)
        c.check(y, build({5}, function(i) return get(a, {i[1], ix[i[1]][k]}) end))
        c.check(p, build({5}, function(i) return ix[i[1]][k] end), "i64", nil, "indices")
    end
    local y = x:transpose(1, 2):kthvalue(2, 1, true)
    c.check(y, build({1, 5}, function(i) return get(a, {i[2], ix[i[2]][2]}) end))
    c.refuses(function() return x:kthvalue(0) end,
        "^kthvalue: k is 0, dim 2 has size 9 %(expected 1 to 9%)")
end}

-- The position of v in the sorted list: by checking every element.
local function place(list, v, right)
    local n = 1
    for _, e in ipairs(list) do
        if before(e, v) or (right and not before(v, e)) then n = n + 1 end
    end
    return n
end
C.searchsorted = {types = REAL, run = function(c)
    local _, a = c.x {3, 7}
    if c.float then a.v[5], a.v[9], a.v[20] = inf, nan, nan end
    local sorted, sorter = build({3, 7}, function() return 0 end),
    build({3, 7}, function() return 0 end)
    local lines = {}
    for r = 1, 3 do
        local row = {table.unpack(a.v, 7 * r - 6, 7 * r)}
        lines[r] = {}
        for k, i in ipairs(order(row)) do
            lines[r][k] = row[i]
            A.set(sorted, {r, k}, row[i])
            A.set(sorter, {r, k}, i)
        end
    end
    local x, v, b = c.put(sorted), c.x {3, 4}
    if c.float then b.v[2], b.v[7] = nan, -inf; v = c.put(b) end
    for _, right in ipairs {false, true} do
        local want = build({3, 4}, function(i) return place(lines[i[1]], get(b, i), right) end)
        c.check(g.searchsorted(x, v, {right = right}), want, "i64")
        c.check(g.searchsorted(c.put(a), v,
            {side = right and "right" or "left", sorter = c.put(sorter, "i64"), out_int32 = true}),
                want, "i32", nil, "sorter")
        c.check(x[2]:searchsorted(v, {right = right}),
            build({3, 4}, function(i) return place(lines[2], get(b, i), right) end), "i64", nil,
                "one line")
        c.check(x[1]:searchsorted(1, {right = right}),
            {shape = {}, v = {place(lines[1], 1, right)}}, "i64", nil, "a number")
        c.check(x[1]:searchsorted(2.5, {right = right}),
            {shape = {}, v = {place(lines[1], 2.5, right)}}, "i64", nil, "a fraction")
        c.check(v:bucketize(x[3], {right = right}),
            build({3, 4}, function(i) return place(lines[3], get(b, i), right) end), "i64", nil,
                "bucketize")
    end
    c.refuses(function() return x:searchsorted((c.x {2, 4})) end,
        "^searchsorted: the sequence .* 3x7 has more than 1 dim")
    c.refuses(function() return x:searchsorted(v, {side = "middle"}) end,
        "^searchsorted: argument 'side': expected 'left' or 'right', got 'middle'")
    c.refuses(function()
        return x:searchsorted(v, {sorter = g.ones(7, {dtype = "i64", device = c.dev})})
    end, "^searchsorted: sorter")
    c.refuses(function()
        return x:searchsorted(v, {sorter = c.put(sorter, "i64") + 1}):sum():item()
    end, "index 8 is out of range")
end}
C.bucketize = {types = REAL, run = function(c)
    local v, b = c.x {3, 5}
    local edges = {shape = {3}, v = {1, 3, 5}}
    local x = c.put(edges)
    c.check(v:bucketize(x), build({3, 5}, function(i) return place(edges.v, get(b, i), false) end),
        "i64")
    c.check(g.bucketize(3, x), {shape = {}, v = {2}}, "i64")
    c.check(g.bucketize(3, x, {right = true}), {shape = {}, v = {3}}, "i64")
    c.refuses(function() return v:bucketize(v) end,
        "^bucketize: expected boundaries of 1 dim, got 2")
end}

C.bincount = {types = INTS, run = function(c)
    local x, a = c.x({20}, function() return math.random(2, 9) end)
    local most = math.max(table.unpack(a.v))
    local function count(n, w)
        local v = {}
        for i = 1, n do v[i] = 0 end
        for i, e in ipairs(a.v) do v[e] = v[e] + (w and w.v[i] or 1) end
        return {shape = {n}, v = v}
    end
    c.check(x:bincount(), count(most), "i64")
    c.check(x:bincount{minlength = 12}, count(12), "i64")
    for w, out in pairs {f32 = "f32", f16 = "f64", i32 = "f64"} do
        local y, b = c.x({20}, nil, w)
        c.check(x:bincount(y), count(most, b), out, nil, w .. " weights")
    end
    c.check(x:narrow(1, 1, 0):bincount(nil, 2), {shape = {2}, v = {0, 0}}, "i64")
    c.refuses(function() return (x * 0):bincount():sum():item() end,
        "bincount: value 0 is out of range %(values count from 1: expected at least 1; add")
    c.refuses(function() return x:bincount((c.x {3})) end, "^bincount: weights .* do not fit")
    c.refuses(function() return x:view(4, 5):bincount() end, "^bincount: expected x of 1 dim")
end}
C.count_labels = {types = INTS, run = function(c)
    local x, a = c.x({20}, function() return math.random(2, 9) end)
    local v = {}
    for i = 1, 4096 do v[i] = 0 end
    for _, e in ipairs(a.v) do v[e] = v[e] + 1 end
    local n, most = x:count_labels()
    c.check(n, {shape = {4096}, v = v}, "i64", nil, "counts")
    c.check(most, {shape = {}, v = {math.max(table.unpack(a.v))}}, "i64", nil, "the largest")
    c.check(select(2, (x * 0):count_labels()), {shape = {}, v = {4097}}, "i64", nil, "below 1")
    c.check(select(2, x:narrow(1, 1, 0):count_labels()), {shape = {}, v = {0}}, "i64")
    c.refuses(function() return x:view(4, 5):count_labels() end,
        "^count_labels: expected x of 1 dim")
end}
C.histc = {types = FLOATS, run = function(c)
    local x, a = c.x {4, 10}
    local function count(bins, lo, hi)
        local v = {}
        for i = 1, bins do v[i] = 0 end
        for _, e in ipairs(a.v) do
            if e >= lo and e <= hi then
                local k = math.min(bins, (e - lo) * bins // (hi - lo) + 1) // 1
                v[k] = v[k] + 1
            end
        end
        return {shape = {bins}, v = v}
    end
    c.check(x:histc(4, -2, 2), count(4, -2, 2))
    c.check(x:histc(5), count(5, math.min(table.unpack(a.v)), math.max(table.unpack(a.v))))
    c.check(x:fill(3):histc(2), {shape = {2}, v = {0, 40}})
    c.check(x:narrow(1, 1, 0):histc(3), {shape = {3}, v = {0, 0, 0}})
    c.check(x:fill(nan):histc(2, 0, 1), {shape = {2}, v = {0, 0}})
    c.refuses(function() return x:fill(nan):histc(2):sum():item() end,
        "histc: the elements' range is not finite")
    c.refuses(function() return x:histc(2, 3, 1) end, "^histc: min is 3 and max is 1")
    c.refuses(function() return x:histc(0) end, "^histc: bins is 0")
end}
C.one_hot = {types = INTS, run = function(c)
    local x, a = c.x({3, 4}, function() return math.random(1, 5) end)
    local function want(n)
        return build({3, 4, n}, function(i) return get(a, {i[1], i[2]}) == i[3] and 1 or 0 end)
    end
    c.check(x:one_hot(), want(math.max(table.unpack(a.v))), "i64")
    c.check(x:one_hot(7), want(7), "i64")
    c.check(x:narrow(1, 1, 0):one_hot(2), {shape = {0, 4, 2}, v = {}}, "i64")
    c.refuses(function() return (x * 0):one_hot(7):sum():item() end,
        "one_hot: value 0 is out of range %(values count from 1: expected 1 to 7")
    c.refuses(function() return x:narrow(1, 1, 0):one_hot() end, "^one_hot: num_classes is %-1")
end}

-- ---- rows ----

local function row_before(p, q)
    for k = 1, #p do
        if before(p[k], q[k]) then return true end
        if before(q[k], p[k]) then return false end
    end
    return nil
end
local function row_order(list)
    local ix = {}
    for i = 1, #list do ix[i] = i end
    table.sort(ix, function(i, j)
        local b = row_before(list[i], list[j])
        if b == nil then return i < j end
        return b
    end)
    return ix
end
-- A matrix of few different rows.
local function few(c, n)
    local x, a = c.x({n, 3}, function() return math.random(0, 1) end)
    local list = {}
    for r = 1, n do list[r] = {table.unpack(a.v, 3 * r - 2, 3 * r)} end
    return x, list
end
function C.argsort_rows(c)
    local x, list = few(c, 21)
    c.check(x:argsort_rows(), {shape = {21}, v = row_order(list)}, "i64")
    c.check(x:narrow(1, 1, 0):argsort_rows(), {shape = {0}, v = {}}, "i64")
    c.refuses(function() return x[1]:argsort_rows() end, "^argsort_rows: expected a matrix")
end

function C.distinct(c)
    local x, a = c.x {20}
    local seen, v, counts = {}, {}, {}
    for _, e in ipairs(a.v) do
        if not seen[e] then v[#v + 1] = e end
        seen[e] = (seen[e] or 0) + 1
    end
    table.sort(v)
    for k, e in ipairs(v) do counts[k] = seen[e] end
    local y, n, m = x:distinct(true)
    c.check(n, {shape = {}, v = {#v}}, "i64", nil, "number")
    c.check(y:narrow(1, 1, #v), {shape = {#v}, v = v})
    c.check(m:narrow(1, 1, #v), {shape = {#v}, v = counts}, "i64", nil, "counts")
    c.check((x:narrow(1, 1, 0):distinct()), {shape = {0}, v = {}})
    c.refuses(function() return x:view(4, 5):distinct() end, "^distinct: expected 1 dim, got 2")
end

-- The distinct rows in the order ix; the inverse; the counts.
local function distinct(list, ix)
    local out, inverse, counts = {}, {}, {}
    for k, i in ipairs(ix) do
        if k == 1 or row_before(list[ix[k - 1]], list[i]) ~= nil then
            out[#out + 1], counts[#out + 1] = list[i], 0
        end
        inverse[i], counts[#out] = #out, counts[#out] + 1
    end
    return out, inverse, counts
end
-- unique and unique_consecutive along a dim; for their cases.
function C.slices(c, name, sorted)
    local x, list = few(c, 13)
    local ix = {}
    for i = 1, #list do ix[i] = i end
    local out, inverse, counts = distinct(list, sorted and row_order(list) or ix)
    for d = 1, 2 do
        local y, p,
            n = (d == 1 and x or x:transpose(1, 2))[name](
                d == 1 and x or x:transpose(1, 2),
                    {return_inverse = true, return_counts = true, dim = d})
        c.check(y,
            build(d == 1 and {#out, 3} or {3, #out}, function(i) return out[i[d]][i[3 - d]] end))
        c.check(p, {shape = {13}, v = inverse}, "i64", nil, "inverse")
        c.check(n, {shape = {#counts}, v = counts}, "i64", nil, "counts")
    end
    local cube = x:view(13, 3, 1):expand(13, 3, 2)
    c.check(cube[name](cube, {dim = 1}),
        build({#out, 3, 2}, function(i) return out[i[1]][i[2]] end), nil, nil, "three dims")
    c.refuses(function() return x[name](x, {dim = 3}) end, "^" .. name .. ": dim 3")
    c.refuses(function() local e = x:narrow(2, 1, 0); return e[name](e, {dim = 1}) end,
        "^" .. name .. ": slices along dim 1 have no elements")
end

return C
