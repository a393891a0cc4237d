--!plain
-- sort, unique, argmax, max, cumsum, flip, tril, repeat_interleave and nonzero on cpu and sim,
-- against plain Lua.
local t = require "tap"
local g = require "gpush"

local nan, inf = 0 / 0, math.huge
math.randomseed(7)

local plain = require "plain"
local sorted_indices = plain.order

local function map(ix, f)
    local out = {}
    for i = 1, #ix do out[i] = f(ix[i]) end
    return out
end

local function line(n, dtype, few)
    local v = {}
    for i = 1, n do
        local r = math.random(few or 100)
        if dtype == "bool" then v[i] = r % 2 == 0
        elseif dtype:sub(1, 1) == "u" then v[i] = r
        elseif dtype:sub(1, 1) == "i" then v[i] = r - 50
        else v[i] = (r - 50) / 4 end
    end
    return v
end

local floats = {f64 = true, f32 = true, f16 = true, bf16 = true}

local function sorting(dev)
    for _, dtype in ipairs {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"} do
        for _, n in ipairs {1, 2, 7, 40, 41, 300, 1500} do
            local v = line(n, dtype)
            if floats[dtype] and n > 6 then
                v[2], v[3], v[4], v[5], v[6] = nan, -inf, inf, 0.0, -0.0
            end
            local x = g.tensor(v, {dtype = dtype}):to(dev)
            local num = map(v, function(a) return a == true and 1 or a == false and 0 or a end)
            for _, descending in ipairs {false, true} do
                local y, ix = x:sort(1, descending)
                local want = sorted_indices(num, descending)
                t.is(ix, want,
                    ("%s: indices of %d %s%s"):format(
                        dev, n, dtype, descending and ", descending" or ""))
                t.is(y, map(want, function(i) return v[i] end),
                    ("%s: %d %s%s sorted"):format(dev, n, dtype,
                        descending and ", descending" or ""))
                t.is(x:argsort{descending = descending}, want, dev .. ": argsort")
                if not descending then
                    t.is(x:msort(), map(want, function(i) return v[i] end),
                        ("%s: msort of %d %s"):format(dev, n, dtype))
                end
            end
        end
    end
    local wide = map(line(500, "i64"), function(a) return a * 0x0123456789abcdef end)
    local y, ix = g.tensor(wide, {dtype = "i64"}):to(dev):sort()
    t.is(ix, sorted_indices(wide), dev .. ": 64-bit keys")
    local x = g.tensor({{3, 1, 2}, {1, 5, 4}}):to(dev)
    y, ix = x:sort(1)
    t.is(y, {{1, 1, 2}, {3, 5, 4}}, dev .. ": along dim 1")
    t.is(ix, {{2, 1, 1}, {1, 2, 2}}, dev .. ": indices along dim 1")
    t.is((x:transpose(1, 2):sort(1)), {{1, 1}, {2, 4}, {3, 5}}, dev .. ": a transposed tensor")
    t.is((g.zeros(0, 3, {device = dev}):sort(1)).shape, {0, 3}, dev .. ": nothing to sort")
    t.is((g.tensor(5):to(dev):sort()):item(), 5, dev .. ": a 0-d tensor")
    t.error(function() x:sort(3) end, "sort: dim 3", dev .. ": a dim that is not there")
end

-- Many integers, of ranges that are handled in different ways, some of them by sorting: the
-- distinct ones and their counts, against a table.
local function many_distinct(dev, k)
    g.threads(k)
    local n = 70001
    local ranges = {
        bool = {{0, 1}}, u8 = {{0, 255}, {3, 40}}, i8 = {{-128, 127}, {-5, 5}},
        i16 = {{-32768, 32767}, {-300, 600}},
        i32 = {{-30, 33}, {-30, 34}, {7, 7}, {1000, 66535}, {1000, 66536},
            {-2147483648, 2147483647}},
        i64 = {{-1, 9}, {(1 << 62) - 40, 1 << 62}, {-500, 523}, {-500, 524}, {-(1 << 40), 1 << 40},
            {math.mininteger, math.maxinteger}},
    }
    for dtype, list in pairs(ranges) do
        for _, r in ipairs(list) do
            local seen, v, values, counts = {}, {}, {}, {}
            for i = 1, n do
                -- both ends occur, once each; in between only some values do
                local e = i == 1000 and r[1] or i == n and r[2]
                    or r[1] + (r[2] - r[1] <= 1 and i % 2
                        or math.abs(math.random(0) % 5000) * 3 % math.max(r[2] - r[1], 1))
                if r[2] == r[1] then e = r[1] end
                v[i] = e
                if not seen[e] then values[#values + 1] = e end
                seen[e] = (seen[e] or 0) + 1
            end
            table.sort(values)
            for i, e in ipairs(values) do counts[i] = seen[e] end
            local x, name = g.tensor(v, {dtype = dtype == "bool" and "u8" or dtype}),
                ("%s %s %d to %d, %d threads: "):format(dev, dtype, r[1], r[2], k)
            x = (dtype == "bool" and x:to("bool") or x):to(dev)
            if dtype == "bool" then values = {false, true} end
            t.is(x:unique(), values, name .. "unique")
            local u, c = x:unique {return_counts = true}
            t.is(u, values, name .. "unique beside counts")
            t.is(c, counts, name .. "its counts")
            local runs = {}
            for i = 1, n do
                if i == 1 or v[i] ~= v[i - 1] then
                    runs[#runs + 1] = dtype == "bool" and v[i] ~= 0 or dtype ~= "bool" and v[i]
                end
            end
            t.is(x:unique_consecutive(), runs, name .. "unique_consecutive")
            t.is(x:view(-1, 1):expand(-1, 2):unique(), values,
                name .. "unique of an expanded tensor")
        end
    end
end

-- Integers of 64 bits in lines around the sizes where the way of sorting changes, whose keys differ
-- in all bits, in the last ones, but for one element, or in two bits far from each other.
local function sizes_of_lines(dev)
    local kinds = {
        all = function() return math.random(0) end,
        last = function() return (5 << 50) + math.random(0, 3000) end,
        outlier = function(i) return i == 9 and math.mininteger or math.random(0, 1 << 20) end,
        two = function() return math.random(0, 1) << 61 | math.random(0, 1) << 3 end,
    }
    for _, n in ipairs { 3, 62, 63, 64, 65, 257, 2047, 2048, 2049, 5003 } do
        for name, value in pairs(kinds) do
            local v = {}
            for i = 1, n do v[i] = value(i) end
            local x, want = g.tensor(v, { dtype = "i64" }):to(dev), sorted_indices(v)
            local y, ix = x:sort()
            local values = map(want, function(i) return v[i] end)
            name = ("%s: %d of 64 bits, %s: "):format(dev, n, name)
            t.is(ix, want, name .. "indices")
            t.is(y, values, name .. "sorted")
            t.is(x:msort(), values, name .. "msort")
            t.is((x:sort(1, true)), map(sorted_indices(v, true), function(i) return v[i] end),
                name .. "descending")
        end
    end
end

-- A long line, divided among the threads: sorted, equal elements in their order, nothing lost.
local function long_sorting(k)
    g.threads(k)
    local n = 150001
    g.manual_seed(3)
    local lines = {f32 = g.randn(n), f64 = g.randn(n, {dtype = "f64"}),
        ["few i64"] = g.randint(-3, 7, {n}), ["random i64"] = g.randint(-(1 << 60), 1 << 60, {n}),
        ["equal upper halves"] = g.randint(0, 3, {n}) * (1 << 40) + g.randint(0, 1 << 20, {n}),
        ["nearly equal"] = g.randint(0, 60000, {n}) // 59999 * (1 << 50) +
                g.randint(0, 99, {n}),
        outlier = g.randint(0, 1 << 20, {n}),
        f16 = g.randn(n):half(), u8 = g.randint(0, 255, {n}):to("u8"),
        zeros = g.zeros(n) * g.randn(n)}
    lines.outlier[77] = 1 << 62
    lines.f32["1:20"], lines.f32[n], lines.f32[77777] = 0, nan, -inf
    for name, x in pairs(lines) do
        for _, descending in ipairs {false, true} do
            local y, ix = x:sort(1, descending)
            local a, b, i, j = y:narrow(1, 1, n - 1), y:narrow(1, 2, n - 1), ix:narrow(1, 1, n - 1),
                ix:narrow(1, 2, n - 1)
            if descending then a, b = b, a end
            local ordered = (a:lt(b) | b:ne(b)) | (a:eq(b) & i:lt(j))
            name = ("%s%s on %d threads"):format(name, descending and ", descending" or "", k)
            t.ok(ordered:all():item(), "a long line of " .. name)
            t.ok((x:gather(1, ix):eq(y) | y:ne(y)):all():item(), "… its indices")
            t.is(ix:sum():item(), n * (n + 1) // 2, "… all of them")
            t.ok(x:argsort(1, descending):eq(ix):all():item(), "… argsort")
        end
        t.ok((x:msort():eq((x:sort())) | x:msort():ne(x:msort())):all():item(), "… msort")
    end
    t.is(lines.f32:argsort()[n]:item(), n, "NaN comes last")
end

local function distinct(dev)
    local v = line(3000, "i64", 9)
    local seen, list, count = {}, {}, {}
    for _, a in ipairs(v) do
        if not seen[a] then list[#list + 1] = a end
        seen[a] = (seen[a] or 0) + 1
    end
    table.sort(list)
    local rank = {}
    for i, a in ipairs(list) do rank[a], count[i] = i, seen[a] end
    local x = g.tensor(v, {dtype = "i64"}):to(dev)
    local u, inverse, counts = x:unique{return_inverse = true, return_counts = true}
    t.is(u, list, dev .. ": unique")
    t.is(inverse, map(v, function(a) return rank[a] end), dev .. ": inverse")
    t.is(counts, count, dev .. ": counts")
    t.is(select("#", x:unique()), 1, dev .. ": unique alone gives one tensor")
    local _, inv2 = x:reshape(30, 100):unique{return_inverse = true}
    t.is(inv2.shape, {30, 100}, dev .. ": the inverse has x's shape")
    local _, only_counts = x:unique{return_counts = true}
    t.is(only_counts, count, dev .. ": counts without inverse")
    t.is(g.tensor({1.5, nan, 1.5, nan, -0.0, 0.0}):to(dev):unique(), {0, 1.5, nan, nan},
        dev .. ": each NaN is one of its own")
    local c, inv,
        n = g.tensor({1, 1, 2, 2, 2, 1}):to(dev):unique_consecutive{
            return_inverse = true, return_counts = true}
    t.is(c, {1, 2, 1}, dev .. ": unique_consecutive")
    t.is(inv, {1, 1, 2, 2, 2, 3}, dev .. ": … its inverse")
    t.is(n, {2, 3, 1}, dev .. ": … its counts")
    t.is(g.zeros(0, {device = dev}):unique().shape, {0}, dev .. ": unique of nothing")
end

local function extremes(dev)
    local x = g.tensor({{3, 1, 2}, {1, 5, 5}}):to(dev)
    t.is(x:argmax():item(), 5, dev .. ": argmax of all")
    t.is(x:argmin():item(), 2, dev .. ": argmin of all: the first")
    t.is(x:argmax(2), {1, 2}, dev .. ": argmax along dim 2")
    t.is(x:argmax(1), {1, 2, 2}, dev .. ": argmax along dim 1")
    t.is(x:argmax(1, true), {{1, 2, 2}}, dev .. ": … keepdim")
    t.is(x:transpose(1, 2):argmax(1), {1, 2}, dev .. ": … transposed")
    local v, i = x:max(2)
    t.is(v, {3, 5}, dev .. ": max along dim 2")
    t.is(i, {1, 2}, dev .. ": … and where")
    v, i = x:min{dim = 1}
    t.is(v, {1, 1, 2}, dev .. ": min along dim 1")
    t.is(i, {2, 1, 1}, dev .. ": … and where")
    t.is(x:max():item(), 5, dev .. ": max of all")
    t.is(x:min():item(), 1, dev .. ": min of all")
    t.is(x:max(x:neg() + 4), {{3, 3, 2}, {3, 5, 5}}, dev .. ": max of two tensors")
    t.is(g.tensor({1, nan, 7, nan}):to(dev):argmax():item(), 2,
        dev .. ": the first NaN is the largest")
    t.is(g.tensor({1, nan, -7}):to(dev):argmin():item(), 2, dev .. ": … and the smallest")
    for _, dtype in ipairs {"f32", "bf16", "i16", "u8", "i64"} do
        local n = 40
        local rows = {}
        for r = 1, n do rows[r] = line(n, dtype, 60) end
        local y = g.tensor(rows, {dtype = dtype}):to(dev)
        local along1, along2 = {}, {}
        for r = 1, n do
            local b1, b2 = 1, 1
            for c = 2, n do
                if rows[r][c] > rows[r][b2] then b2 = c end
                if rows[c][r] > rows[b1][r] then b1 = c end
            end
            along1[r], along2[r] = b1, b2
        end
        t.is(y:argmax(1), along1, dev .. ": argmax along dim 1 of " .. dtype)
        t.is(y:argmax(2), along2, dev .. ": argmax along dim 2 of " .. dtype)
    end
    local long = g.zeros(300000, {device = dev})
    long[123457], long[299999] = 2, 2
    t.is(long:argmax():item(), 123457, dev .. ": a long line: the first of equals")
    long[200001] = nan
    t.is(long:argmax():item(), 200001, dev .. ": a long line: NaN")
    t.error(function() g.zeros(0, {device = dev}):argmax() end, "argmax: no elements",
        dev .. ": argmax of nothing")
    t.error(function() g.zeros(2, 0, {device = dev}):max(2) end, "max: no elements",
        dev .. ": max of nothing")
end

-- Rows of 4004 bytes, longer than the caches in all: the element at row r and column c is
-- 1001 r + c.
local function moves(dev)
    local x = g.range(0, 4204199, {device = dev}):reshape(4200, 1001)
    local function is(y, r, c, what)
        t.is(y:eq(r:unsqueeze(2) * 1001 + c):all():item(), true, dev .. ": " .. what)
    end
    local function numbers(first, last) return g.range(first, last, {device = dev}) end
    local r, c = numbers(0, 4199), numbers(0, 1000)
    is(x:roll(3, 2), r, (c - 3) % 1001, "roll of rows, longer than the caches")
    is(x:roll({-5, 7}, {1, 2}), (r + 5) % 4200, (c - 7) % 1001, "… of both dims")
    is(x:roll(5 * 1001), (r - 5) % 4200, c, "… of all elements")
    r, c = numbers(-2, 4200), numbers(-3, 1001)
    local pad = {3, 1, 2, 1}
    is(x:pad(pad, "circular"), r % 4200, c % 1001, "circular padding")
    is(x:pad(pad, "reflect"), 4199 - (4199 - r:abs()):abs(), 1000 - (1000 - c:abs()):abs(),
        "reflected padding")
    local y = x:pad(pad, "constant", -1)
    is(y["3:-2, 4:-2"], r["3:-2"], c["4:-2"], "constant padding")
    t.is(y:lt(0):sum():item(), 4203 * 1005 - 4200 * 1001, "… is the value")
end

local function scans(dev)
    local x = g.tensor({{3, 1, 2}, {1, 5, 5}}, {dtype = "i32"}):to(dev)
    t.is(x:cumsum(2), {{3, 4, 6}, {1, 6, 11}}, dev .. ": cumsum along dim 2")
    t.is(x:cumsum(1), {{3, 1, 2}, {4, 6, 7}}, dev .. ": cumsum along dim 1")
    t.is(x:cumsum(1).dtype, "i64", dev .. ": integers are summed in i64")
    t.is(x:cumsum(2, {dtype = "f32"}).dtype, "f32", dev .. ": … unless a dtype is given")
    local wide = g.ones(5, 300, {device = dev}):cumsum(1)
    t.is(wide[5]:sum():item(), 1500, dev .. ": columns")
    local long = g.ones(200000, {device = dev}):cumsum(1)
    t.is(long[200000]:item(), 200000, dev .. ": a long line")
    t.is(long[65537]:item(), 65537, dev .. ": … inside")
    long = g.ones(4200003, {device = dev})["2:-1"]:cumsum(1)
    t.is(long:eq(g.range(1, 4200002, {device = dev})):all():item(), true,
        dev .. ": … longer than the caches")
    local i = g.range(1, 1000, {device = dev})
    t.is(i:to("f32"):cumsum(1):eq(i * (i + 1) / 2):all():item(), true,
        dev .. ": 1 to n add up to n (n + 1) / 2")
    t.is(g.full({3}, 0.1, {device = dev, dtype = "f64"}):cumsum(1),
        {0.1, 0.1 + 0.1, 0.1 + 0.1 + 0.1}, dev .. ": f64")
    for _, n in ipairs {1, 2, 7, 31, 32, 33} do
        local v, want = {}, {}
        for r = 1, 40 do
            v[r], want[r] = {}, {}
            local sum = 0
            for k = 1, n do
                v[r][k] = math.random(-4000, 4000) / 8
                sum = sum + v[r][k]
                want[r][k] = sum
            end
        end
        local rows, gaps = g.tensor(v):to(dev), g.zeros(40, n + 3, {device = dev})
        gaps:narrow(2, 2, n):copy_(rows)
        t.is(rows:cumsum(2), want, dev .. ": cumsum of rows of " .. n)
        t.is(gaps:narrow(2, 2, n):cumsum(2), want, dev .. ": … with gaps between them")
    end
    t.is(x:flip(2), {{2, 1, 3}, {5, 5, 1}}, dev .. ": flip")
    t.is(x:flip{1, 2}, {{5, 5, 1}, {2, 1, 3}}, dev .. ": flip of two dims")
    t.is(g.ones(3, 4, {device = dev}):tril(), {{1, 0, 0, 0}, {1, 1, 0, 0}, {1, 1, 1, 0}},
        dev .. ": tril")
    t.is(g.ones(3, 4, {device = dev}):triu(1), {{0, 1, 1, 1}, {0, 0, 1, 1}, {0, 0, 0, 1}},
        dev .. ": triu")
    local m = g.ones(2, 2, 2, {device = dev})
    m:triu_(-5):tril_()
    t.is(m, {{{1, 0}, {1, 1}}, {{1, 0}, {1, 1}}}, dev .. ": in place, of a batch")
    t.is(x:repeat_interleave(2, 2), {{3, 3, 1, 1, 2, 2}, {1, 1, 5, 5, 5, 5}},
        dev .. ": repeat_interleave")
    t.is(x:repeat_interleave(2), {3, 3, 1, 1, 2, 2, 1, 1, 5, 5, 5, 5}, dev .. ": … of all")
    t.is(x:repeat_interleave(g.tensor({2, 0, 1}, {dtype = "i64"}):to(dev), 2),
        {{3, 3, 2}, {1, 1, 5}}, dev .. ": … by a tensor")
    t.is(x:repeat_interleave(g.tensor({1, 2}, {dtype = "i64"}):to(dev), 1, {output_size = 3}),
        {{3, 1, 2}, {1, 5, 5}, {1, 5, 5}}, dev .. ": … of known size")
    t.error(function() x:repeat_interleave(-1) end, "repeats is %-1", dev .. ": negative repeats")
    t.error(function()
        x:repeat_interleave(g.tensor({1, 2}, {dtype = "i64"}):to(dev), 1,
            {output_size = 4}):tolist()
    end, "do not add up", dev .. ": a wrong size")
    t.error(function()
        x:repeat_interleave(g.tensor({7, -5}, {dtype = "i64"}):to(dev), 1,
            {output_size = 1}):tolist()
    end, "repeats has %-5 at index 2", dev .. ": a negative one before a wrong size")
    t.is(g.tensor({{0, 1}, {2, 0}}):to(dev):nonzero(), {{1, 2}, {2, 1}}, dev .. ": nonzero")
    for _, shape in ipairs {{24}, {4, 6}, {2, 3, 4}, {2, 2, 2, 3}, {2, 1, 3, 2, 2}} do
        local want, n = {}, 1
        for _, size in ipairs(shape) do n = n * size end
        for e = 0, n - 1 do
            local at, rest = {}, e
            for d = #shape, 1, -1 do at[d], rest = rest % shape[d] + 1, rest // shape[d] end
            if e % 5 == 0 or e % 5 == 3 then want[#want + 1] = at end
        end
        local v = g.range(0, n - 1, {device = dev}):reshape(shape) % 5
        t.is((v:eq(0) | v:eq(3)):nonzero(), want, dev .. ": nonzero of " .. #shape .. " dims")
    end
    for _, most in ipairs {7, 300} do
        local want, labels = {}, g.range(0, 5002, {device = dev, dtype = "i64"}) % most + 1
        for v = 1, most do want[v] = 5003 // most + (v <= 5003 % most and 1 or 0) end
        t.is(labels:bincount(), want, dev .. ": bincount of " .. most .. " values")
        t.is(labels:to("i32"):bincount(), want, dev .. ": … of i32")
        labels[4097] = 0
        t.error(function() labels:bincount(nil, most):tolist() end, "value 0 is out of range",
            dev .. ": … and a bad one")
    end
    local i, j = table.unpack(g.nonzero(g.tensor({{0, 1}, {2, 0}}):to(dev), {as_tuple = true}))
    t.is(i, {1, 2}, dev .. ": nonzero as a tuple: rows")
    t.is(j, {2, 1}, dev .. ": … columns")
    t.is(g.where(g.tensor({false, true, true}):to(dev))[1], {2, 3},
        dev .. ": where with one argument")
    t.is(g.nonzero(g.tensor(5):to(dev), {as_tuple = true})[1], {1},
        dev .. ": … of what has no dim: as of one element")
    t.is(g.where(g.tensor(false):to(dev))[1], {}, dev .. ": … that is zero")
    t.is(g.clone(g.tensor({1, 2}):to(dev)), {1, 2}, dev .. ": clone as a function")
    t.is(g.where(g.tensor({false, true}):to(dev), g.tensor({1, 2}):to(dev), 0.5), {0.5, 2},
        dev .. ": where with three")
    t.is(g.tensor({0.25, 0, -0.0, nan}, {dtype = "f16"}):to(dev):count_nonzero():item(), 2,
        dev .. ": count_nonzero of f16")
end

-- The first k of a list by a plain loop: {value, index}, of equal values the first index.
local function first_of(list, k, before)
    local best = {}
    for place, v in ipairs(list) do
        if #best < k or before(v, best[k][1]) then
            local at = #best + 1
            while at > 1 and before(v, best[at - 1][1]) do at = at - 1 end
            table.insert(best, at, {v, place})
            best[k + 1] = nil
        end
    end
    return best
end

-- One long line, of which few are wanted, and labels, counted by each thread separately.
local function long_lines(k)
    g.threads(k)
    for name, x in pairs {random = g.randn(150001),
        ties = g.randint(1, 40, {150001}, {dtype = "i64"}),
        ["every other"] = g.randn(140001, 2):select(2, 1)} do
        local list = x:tolist()
        for _, largest in ipairs {true, false} do
            local best = first_of(list, 20,
                function(a, b) if largest then return a > b end return a < b end)
            local want, places = {}, {}
            for i, b in ipairs(best) do want[i], places[i] = b[1], b[2] end
            local v, i = x:topk(20, {largest = largest})
            t.is(v, want, ("topk of a long line, %s on %d threads"):format(name, k))
            t.is(i, places, "… and where")
            if not largest then
                for _, at in ipairs {1, 20} do
                    local one, place = x:kthvalue(at)
                    t.is({one:item(), place:item()}, {want[at], places[at]},
                        ("kthvalue %d of a long line, %s on %d threads"):format(at, name, k))
                end
            end
        end
    end
    local labels = g.range(0, 300000, {dtype = "i64"}) % 7 + 1
    local want = {}
    for v = 1, 7 do want[v] = 300001 // 7 + (v <= 300001 % 7 and 1 or 0) end
    t.is(labels:bincount(), want, "bincount of many labels on " .. k .. " threads")
    labels[299000], labels[200001] = 0, -3
    t.error(function() labels:bincount(nil, 7):tolist() end, "value %-3 is out of range",
        "… the first bad one is named")
end

-- More threads than processors: leading digits are shared among them, some of which get none.
local function many_threads()
    local n = 70001
    local x = { g.randn(n), g.randint(0, 900, {n}), g.randint(-(1 << 60), 1 << 60, {n}) }
    x[4] = x[3]:clone()
    x[4]["1:60000"] = 5
    for i = 1, #x do
        g.threads(1)
        local y, ix = x[i]:sort()
        local order = ix:tolist()
        for _, k in ipairs { 3, 64 } do
            g.threads(k)
            local name = ("line %d on %d threads: "):format(i, k)
            t.is((x[i]:argsort()):tolist(), order, name .. "indices")
            t.ok(x[i]:msort():eq(y):all():item(), name .. "values")
        end
    end
    g.threads(1)
end

for k = 1, 2 do long_sorting(k) end
many_threads()
sizes_of_lines("cpu")
for k = 1, 2 do long_lines(k) end
many_distinct("cpu", 1)
for _, dev in ipairs {"cpu", "sim"} do
    sorting(dev)
    distinct(dev)
    many_distinct(dev, 2)
    extremes(dev)
    scans(dev)
    moves(dev)
end
t.done()
