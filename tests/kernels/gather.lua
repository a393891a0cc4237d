--!plain
-- Ops that move elements (gather, scatter, index_select, masks, cat …): every dtype in every
-- layout, on cpu and sim, against nested Lua tables.
local t = require "tap"
local g = require "gpush"

local R, C = 4, 6 -- the initial shape of every tensor here
local dtypes = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"}

local function grid(rows, cols, f)
    local out = {}
    for i = 1, rows do
        out[i] = {}
        for j = 1, cols do out[i][j] = f(i, j) end
    end
    return out
end

-- Elements that every dtype holds; in bool they are true and false.
local function values(dtype, seed)
    return function(i, j)
        local n = (i * 7 + j * 5 + i * j * seed) % 11
        if dtype == "bool" then return n % 2 == 0 end
        return n
    end
end

-- Tensors that all show grid(R, C, v), with different memory layouts.
local function layouts(v, dtype, dev)
    local function make(rows, cols, f)
        return g.tensor(grid(rows, cols, f), {dtype = dtype}):to(dev)
    end
    local wide = make(2 * R, 3 * C, function(i, j) return v((i + 1) // 2, (j + 2) // 3) end)
    return {
        contiguous = make(R, C, v),
        transposed = make(C, R, function(i, j) return v(j, i) end):transpose(1, 2),
        strided = wide["::2, ::3"],
        offset = make(R + 1, C + 2,
            function(i, j)
                return v(math.max(i - 1, 1), math.min(math.max(j - 1, 1), C))
            end)["2:5, 2:7"],
    }
end

-- Layouts whose rows are all the same memory.
local function expanded(v, dtype, dev)
    return g.tensor(grid(1, C, v), {dtype = dtype}):to(dev):expand(R, C),
        function(_, j) return v(1, j) end
end

local zero = {bool = false}
local function nought(dtype) return zero[dtype] == nil and 0 or false end

-- Calls check(name, x, v) for every layout, x showing v.
local function each(dtype, dev, seed, check)
    local v = values(dtype, seed)
    for name, x in pairs(layouts(v, dtype, dev)) do
        check(("%s %s %s: "):format(dev, dtype, name), x, v)
    end
    local x, w = expanded(v, dtype, dev)
    check(("%s %s expanded: "):format(dev, dtype), x, w)
end

local function moving(dtype, dev)
    local function ints(v, dt) return g.tensor(v, {dtype = dt or "i64"}):to(dev) end
    local col = grid(R, 3, function(i, j) return (i * j) % C + 1 end)
    local row = grid(2, C, function(i, j) return -((i + j) % R + 1) end) -- from the end
    local function from_end(i, n) return i < 0 and n + 1 + i or i end
    each(dtype, dev, 1, function(name, x, v)
        t.is(x:gather(2, ints(col, "i32")), grid(R, 3, function(i, j) return v(i, col[i][j]) end),
            name .. "gather along dim 2")
        t.is(x:gather(1, ints(row)),
            grid(2, C, function(i, j) return v(from_end(row[i][j], R), j) end),
                name .. "gather along dim 1")
        t.is(x:index_select(1, ints{3, 3, -4}),
            grid(3, C, function(i, j) return v(({3, 3, 1})[i], j) end),
                name .. "index_select of rows")
        t.is(x:index_select(2, ints({6, 1}, "u8")),
            grid(R, 2, function(i, j) return v(i, ({6, 1})[j]) end),
                name .. "index_select of columns")
        t.is(x:gather_nd(ints{{4, 1}, {1, -1}, {2, 3}}), {v(4, 1), v(1, C), v(2, 3)},
            name .. "gather_nd of elements")
        t.is(x:gather_nd(ints{{4}, {2}}),
            grid(2, C, function(i, j) return v(i == 1 and 4 or 2, j) end),
                name .. "gather_nd of rows")
        t.is(x:gather_nd(ints{{1}, {6}, {2}, {2}}, 1), {v(1, 1), v(2, 6), v(3, 2), v(4, 2)},
            name .. "gather_nd with a batch dim")
        t.is(x:flip(1), grid(R, C, function(i, j) return v(R + 1 - i, j) end),
            name .. "flip of rows")
        t.is(x:flip(1, 2), grid(R, C, function(i, j) return v(R + 1 - i, C + 1 - j) end),
            name .. "flip of both")
        t.is(x:repeat_interleave(2, 1),
            grid(2 * R, C, function(i, j) return v((i + 1) // 2, j) end),
                name .. "repeat_interleave")
        t.is(x:tril(1),
            grid(R, C, function(i, j) return j <= i + 1 and v(i, j) or nought(dtype) end),
                name .. "tril")
        t.is(x:triu(), grid(R, C, function(i, j) return j >= i and v(i, j) or nought(dtype) end),
            name .. "triu")
        t.is(g.cat({x, x:transpose(1, 2):reshape(R, C), x}, 1)["9:12"], grid(R, C, v),
            name .. "cat of rows")
        t.is(g.cat({x, x}, -1)[":, 5:8"],
            grid(R, 4, function(i, j) return v(i, (j + 3) % C + 1) end), name .. "cat of columns")
        t.is(g.stack({x, x}, 3)[":, :, 2"], grid(R, C, v), name .. "stack")
        t.is(g.stack({x, x})[1], grid(R, C, v), name .. "stack in front")
    end)
end

local function masking(dtype, dev)
    local function on(v, dt) return g.tensor(v, {dtype = dt}):to(dev) end
    local function chosen(i, j) return (i + 2 * j) % 3 == 0 end
    local one = dtype == "bool" and true or 1
    for mname, mask in pairs(layouts(chosen, "bool", dev)) do
        each(dtype, dev, 2, function(name, x, v)
            name = name .. mname .. " mask: "
            local picked, rows = {}, {}
            for i = 1, R do
                for j = 1, C do
                    if chosen(i, j) then
                        picked[#picked + 1] = v(i, j)
                        rows[#rows + 1] = {i, j}
                    end
                end
            end
            t.is(x:masked_select(mask), picked, name .. "masked_select")
            t.is(x:masked_fill(mask, 1),
                grid(R, C, function(i, j) return chosen(i, j) and one or v(i, j) end),
                    name .. "masked_fill")
            t.is(g.where(mask, x, x:flip(1)),
                grid(R, C, function(i, j) return v(chosen(i, j) and i or R + 1 - i, j) end),
                    name .. "where")
            if name:find("contiguous mask") then t.is(mask:nonzero(), rows, name .. "nonzero") end
            local order = {}
            for k = 1, #picked do order[k] = picked[#picked + 1 - k] end
            local k = 0
            t.is(x:masked_put(mask, on(order, dtype)), grid(R, C, function(i, j)
                if not chosen(i, j) then return v(i, j) end
                k = k + 1
                return order[k]
            end), name .. "masked_put")
        end)
    end
    each(dtype, dev, 3, function(name, x, v)
        local list, count = {}, {}
        for i = 1, R do
            count[i] = 0
            for j = 1, C do
                if v(i, j) ~= nought(dtype) then
                    list[#list + 1] = {i, j}
                    count[i] = count[i] + 1
                end
            end
        end
        t.is(x:nonzero(), list, name .. "nonzero")
        t.is(x:count_nonzero():item(), #list, name .. "count_nonzero")
        t.is(x:count_nonzero(2), count, name .. "count_nonzero of rows")
        local column = on({{true}, {false}, {true}, {true}}, "bool")
        t.is(x:masked_fill(column, 1),
            grid(R, C, function(i, j) return i ~= 2 and one or v(i, j) end),
                name .. "a mask that is broadcast")
        t.is(x:masked_select(column).shape, {3 * C}, name .. "… selects all it covers")
    end)
end

-- Writing: into every layout, in place, leaving other memory unchanged.
local function writing(dtype, dev)
    local function ints(v) return g.tensor(v, {dtype = "i64"}):to(dev) end
    local v, w = values(dtype, 4), values(dtype, 5)
    local index = grid(2, C, function(i, j) return i == 1 and j % R + 1 or -((j + 2) % R) - 1 end)
    local put = {}
    for i = 1, 2 do
        for j = 1, C do
            put[(index[i][j] < 0 and R + 1 + index[i][j] or index[i][j]) * 100 + j] = w(i, j)
        end
    end
    for name, x in pairs(layouts(v, dtype, dev)) do
        name = ("%s %s %s: "):format(dev, dtype, name)
        local src = g.tensor(grid(2, C, w), {dtype = dtype}):to(dev)
        local want = grid(R, C, function(i, j)
            local p = put[i * 100 + j]
            if p == nil then return v(i, j) end
            return p
        end)
        t.is(x:scatter(1, ints(index), src), want, name .. "scatter")
        t.is(x, grid(R, C, v), name .. "… leaves x")
        x:scatter_(1, ints(index), src)
        t.is(x, want, name .. "scatter_")
        x:index_put_({ints{1, -1}, ints{2, 3}},
            g.tensor({w(1, 1), w(2, 2)}, {dtype = dtype}):to(dev))
        t.is(x:index({ints{1, 4, 1}, ints{2, 3, 1}}), {w(1, 1), w(2, 2), want[1][1]},
            name .. "index_put_")
    end
    local own = g.tensor(grid(R, C, v), {dtype = dtype}):to(dev)
    own:index_put_({ints{4, 3, 2, 1}}, own)
    t.is(own, grid(R, C, function(i, j) return v(R + 1 - i, j) end),
        dev .. " " .. dtype .. ": its own rows put in another order")
    own:scatter_(1, ints(grid(R, C, function(i) return i % R + 1 end)), own)
    t.is(own, grid(R, C, function(i, j) return v(i == 1 and 1 or R + 2 - i, j) end),
        dev .. " " .. dtype .. ": its own rows scattered")
    if dtype == "bool" then return end
    local x = g.zeros(3, {dtype = dtype, device = dev})
    t.is(x:index_put({ints{1, 3, 1, 1}}, g.tensor({1, 2, 3, 4}, {dtype = dtype}):to(dev), true),
        {8, 0, 2}, dev .. " " .. dtype .. ": index_put accumulates")
end

local function refusing(dev)
    local function on(v, dt) return g.tensor(v, {dtype = dt}):to(dev) end
    local x = g.zeros(R, C, {device = dev})
    local function later(f) return function() return f():cpu() end end
    t.error(function() return x:gather(1, on({{1.5}}, "f32")) end,
        "gather: dtype f32 of argument 'index'", dev .. ": a float index")
    t.error(function() return x:gather(1, on({1}, "i64")) end, "index has 1 dims, x has 2",
        dev .. ": an index of fewer dims")
    t.error(function() return x:gather(1, on(grid(1, C + 1, function() return 1 end), "i64")) end,
        "size 7 in dim 2, x has 6", dev .. ": an index that is too large")
    t.error(later(function() return x:gather(2, on({{7}}, "i64")) end),
        "gather: index 7 is out of range for dim 2 of size 6 %(expected 1 to 6, or %-6 to %-1%)",
            dev .. ": gather beyond the end")
    t.error(later(function() return x:gather(2, on({{0}}, "i64")) end), "index 0 is out of range",
        dev .. ": index 0")
    t.error(later(function() return x:scatter_(1, on({{1, 9}}, "i64"), 5) end), "scatter: index 9",
        dev .. ": scatter beyond the end")
    t.is(x:sum():item(), 0, dev .. ": … has written nothing")
    t.error(function() return x:scatter(1, on({{1, 1}}, "i64"), on({{1}}, "f32")) end,
        "does not cover", dev .. ": too small a src")
    t.error(later(function() return x:gather_nd(on({{5, 1}}, "i64")) end),
        "gather_nd: index 5 is out of range for dim 1 of size 4",
            dev .. ": gather_nd beyond the end")
    t.error(function() return x:gather_nd(on({{1, 1, 1}}, "i64")) end, "tuples of at most 2",
        dev .. ": tuples that are too long")
    t.error(function() return g.where(x, 1, 2) end,
        "where: dtype f32 of argument 'cond' is not supported %(expected bool%)",
            dev .. ": a condition that is no mask")
    t.error(function() return x:masked_fill(on({true}, "bool"):expand(5), 1) end, "masked_fill",
        dev .. ": a mask that does not fit")
    t.error(function() return x:long():masked_fill(x:eq(0), 0.5) end,
        "float value does not fit in a i64", dev .. ": a fraction into integers")
    t.error(function() return g.cat({}) end, "at least one", dev .. ": nothing to join")
    t.error(function() return g.cat({x, g.zeros(2, 2, {device = dev})}) end,
        "tensor 2 is f32 2x2, which does not fit f32 4x6", dev .. ": shapes that differ")
    t.error(function() return g.stack({x, x:transpose(1, 2)}) end, "stack: tensor 2",
        dev .. ": stack of different shapes")
    t.error(function()
        return g.cat({x, g.zeros(R, C, {device = dev == "cpu" and "sim" or "cpu"})})
    end, "different devices", dev .. ": two devices")
    t.is(g.cat({x:long(), x:half()}).dtype, "f16", dev .. ": cat promotes")
    t.is(g.where(x:eq(0), 1, 2).dtype, "i64", dev .. ": where of two integers")
    t.is(g.where(x:eq(0), x:short(), 2).dtype, "i16", dev .. ": a number does not widen")
end

-- Many writes, some to the same element, by one thread and by two: the results of a plain loop.
local function many(n, size, dtype)
    local at, value, want = {}, {}, {}
    for i = 1, n do at[i], value[i] = math.random(size), math.random(-9, 9) end
    for i = 1, size do want[i] = 0 end
    local last = table.move(want, 1, size, 1, {})
    for i = 1, n do want[at[i]], last[at[i]] = want[at[i]] + value[i], value[i] end
    local x, ix, src = g.zeros(size, {dtype = dtype}), g.tensor(at, {dtype = "i64"}),
        g.tensor(value, {dtype = dtype})
    for k = 1, 2 do
        g.threads(k)
        local name = ("%d %s writes to %d places on %d threads: "):format(n, dtype, size, k)
        local function same(y, v) return (y:eq(g.tensor(v, {dtype = dtype}))):all():item() end
        t.ok(same(x:scatter_add(1, ix, src), want), name .. "scatter_add")
        t.ok(same(x:index_add(1, ix, src), want), name .. "index_add")
        t.ok(same(x:index_put({ix}, src, true), want), name .. "index_put, accumulating")
        t.ok(same(x:index_put({ix}, src), last), name .. "index_put: the last stays")
        local rows = x:view(size, 1):expand(size, 64):index_put({ix}, src:view(n, 1))
        t.ok(same(rows:select(2, 1), last) and same(rows:select(2, 64), last), name .. "rows")
        local columns = x:view(1, size):expand(5, size):scatter_add(
            2, ix:view(1, n):expand(5, n), src:view(1, n):expand(5, n))
        t.ok(same(columns[1], want) and same(columns[5], want), name .. "columns")
    end
end
math.randomseed(11)
many(70000, 300000, "f32") -- a part of the memory each
many(70000, 50, "i16")
many(40000, 200000, "f64")

-- A bad index near the end of a long row of them; and tensors of which one row is used for several
-- rows of indices.
for _, dev in ipairs {"cpu", "sim"} do
    local index = g.arange(1, 3000, {device = dev}):remainder(5) + 1
    index[2500] = 9
    t.error(function() return g.ones(5, {device = dev}):index_select(1, index):sum():item() end,
        "index 9 is out of range", dev .. ": the 2500th of 3000 indices")
    -- A 0-d tensor counts as one dim of size 1.
    local alone = g.tensor(5.0):to(dev)
    for _, one in ipairs {g.tensor {1}, g.tensor {-1}, g.tensor(1)} do
        t.is({alone:index_select(1, one:to(dev)):item(), alone:index_select(-1, one:to(dev)):dim()},
            {5, 0}, dev .. ": index_select of a 0-d tensor")
    end
    t.error(function() return alone:index_select(1, g.tensor {2}:to(dev)):item() end,
        "index_select: index 2 is out of range", dev .. ": beyond a 0-d tensor")
    t.error(function() return alone:index_select(1, g.tensor {1, 1}:to(dev)) end,
        "index_select: 2 indices into a 0%-d tensor", dev .. ": a 0-d tensor twice")
    t.error(function() return alone:index_select(2, g.tensor {1}:to(dev)) end,
        "index_select: .*dim", dev .. ": dim 2 of none")
    alone:requires_grad_():index_select(1, g.tensor(1):to(dev)):backward()
    t.is(alone.grad, 1, dev .. ": and its gradient")
    local x = g.tensor({{10, 20, 30}, {1, 2, 3}}, {dtype = "i64"}):to(dev)
    t.is(g.take_along_dim(x["1:1"], g.tensor({{3, 1}, {2, 2}}):to(dev), 2), {{30, 10}, {20, 20}},
        dev .. ": one row for two rows of indices")
end

-- The limits of a dtype, where the target's own elements do not count; and a source of which the
-- index covers a part.
for _, dev in ipairs {"cpu", "sim"} do
    for dtype,
        ends in pairs {i8 = {-128, 127}, i16 = {-32768, 32767},
            i64 = {math.mininteger, math.maxinteger}, u8 = {0, 255}, f32 = {-math.huge, math.huge}}
    do
        local function on(v, dt) return g.tensor(v, {dtype = dt or dtype}):to(dev) end
        local x, first = on {3, 4}, on({1}, "i64")
        t.is(x:scatter_reduce(1, first, on {ends[1]}, "amax", false), {ends[1], 4},
            dev .. " " .. dtype .. ": the least is a largest element")
        t.is(x:scatter_reduce(1, first, on {ends[2]}, "amin", false), {ends[2], 4},
            dev .. " " .. dtype .. ": the largest is a least one")
        t.is(on {0, 0, 0}:scatter(1, on({3, 1}, "i64"), on {5, 6, 7}), {6, 0, 5},
            dev .. " " .. dtype .. ": a source that is longer than the index")
    end
end

for _, dev in ipairs {"cpu", "sim"} do
    for _, dtype in ipairs(dtypes) do
        moving(dtype, dev)
        masking(dtype, dev)
        writing(dtype, dev)
    end
    refusing(dev)
end
-- Rows of every width, by an op and by a layer: the table's own rows, also from many indices.
for _, dtype in ipairs {"f32", "f16", "u8"} do
    for _, width in ipairs {1, 2, 3, 4, 8, 16, 32, 33, 300} do
        local rows, n = 41, 700
        local whole = g.arange(0, rows * width - 1):remainder(251):to(dtype):view(rows, width)
        local at = {}
        for i = 1, n do at[i] = (i * 17 + i // 7) % rows + 1 end
        local want, list = {}, whole:tolist()
        for i = 1, n do want[i] = list[at[i]] end
        want = g.tensor(want):to(dtype)
        t.ok(whole:index_select(1, g.tensor(at)):equal(want),
            dtype .. ": index_select of rows of " .. width)
        t.ok(whole[g.tensor(at)]:equal(want), dtype .. ": rows of " .. width .. " by an index")
        if dtype ~= "u8" then
            t.ok(g.embedding(g.tensor(at), whole):equal(want),
                dtype .. ": embedding of rows of " .. width)
        end
    end
end

-- Long masks, of which each thread takes a part; its output begins where another's ends. From an
-- offset, up to an end within a vector.
local N, SKIP = 5 * 32768 + 77, 3
local drawn, places = {}, {}
for i = 1, N do
    if (i * 7919) % 32 < 27 then places[#places + 1], drawn[#drawn + 1] = i, (i + SKIP) % 101 end
end
local chosen = (g.arange(1 - SKIP, N):mul(7919) % 32):lt(27)[("%d:"):format(SKIP + 1)]
local threads = g.threads()
for n = 1, 2 do
    g.threads(n)
    for _, dtype in ipairs {"u8", "i16", "f32", "i64"} do
        local x = (g.arange(1, N + SKIP) % 101):to(dtype)[("%d:"):format(SKIP + 1)]
        local what = (" of a long mask, %s, %d threads"):format(dtype, n)
        t.ok(x[chosen]:equal(g.tensor(drawn):to(dtype)), "x[mask]" .. what)
        local tested = x * chosen:to(dtype)
        local zeros = 0
        for _, v in ipairs(drawn) do zeros = zeros + (v == 0 and 1 or 0) end
        t.is(tested:count_nonzero():item(), #drawn - zeros, "count_nonzero" .. what)
    end
    t.ok(chosen:nonzero():flatten():equal(g.tensor(places)),
        "nonzero of a long mask, " .. n .. " threads")
end
g.threads(threads)
for _, dtype in ipairs {"i8", "i16", "f16", "bf16", "f32", "f64"} do
    local x = g.zeros(1001, {dtype = dtype})
    x["2:1001:3"] = dtype:sub(1, 1) == "i" and -128 or -0.0
    x["1:1001:4"] = 3
    local want = dtype:sub(1, 1) == "i" and 501 or 251 -- of 334 and 251, 84 are both
    for from = 1, 3 do
        local less = 0
        for i = 1, from - 1 do
            less = less + (i % 4 == 1 and 1 or i % 3 == 2 and want == 501 and 1 or 0)
        end
        t.is(x[("%d:"):format(from)]:count_nonzero():item(), want - less,
            ("count_nonzero of %s from %d, with -128 or -0.0"):format(dtype, from))
    end
end

-- No number means "none is skipped".
for _, device in ipairs {"cpu", "sim"} do
    for _, bad in ipairs { math.mininteger, 0, 5 } do
        local at, w = g.tensor({ 1, bad }):to(device), g.ones(4, 3):to(device)
        local text = ("index %d is out of range (expected 1 to 4)"):format(bad):gsub("%p", "%%%0")
        t.error(function() g.embedding(at, w):sum():item() end, text,
            ("embedding: index %d on %s"):format(bad, device))
        t.error(function() g.embedding_grad(g.ones(2, 3):to(device), at, 4):sum():item() end, text,
            ("embedding_grad: index %d on %s"):format(bad, device))
    end
end
t.done()
