--!plain
-- x[key] and x[key] = value: every form, on cpu and sim, against nested Lua tables.
local t = require "tap"
local g = require "gpush"

-- The nested table of a function of the indices: grid({2, 3}, f) is {{f(1,1), f(1,2), f(1,3)},
-- {f(2,1) …}}.
local function grid(dims, f, at)
    at = at or {}
    if #at == #dims then return f(table.unpack(at)) end
    local out = {}
    for i = 1, dims[#at + 1] do
        at[#at + 1] = i
        out[i] = grid(dims, f, at)
        at[#at] = nil
    end
    return out
end

local function value(i, j, k) return i * 100 + j * 10 + (k or 0) end

local function reading(dev)
    local function on(v, dtype) return g.tensor(v, {dtype = dtype}):to(dev) end
    local x = on(grid({3, 4, 5}, value), "i64")
    local function is(got, dims, f, name)
        t.is(got.shape, dims, dev .. ": shape of " .. name)
        t.is(got, grid(dims, f), dev .. ": " .. name)
    end
    is(x[2], {4, 5}, function(j, k) return value(2, j, k) end, "x[2]")
    is(x[-1], {4, 5}, function(j, k) return value(3, j, k) end, "x[-1]")
    t.is(x[2][3][4]:item(), 234, dev .. ": x[2][3][4]")
    t.is(x[2][3][4]:dim(), 0, dev .. ": an element is 0-d")
    is(x[2.0], {4, 5}, function(j, k) return value(2, j, k) end, "x[2.0]")
    is(x["1:2, :, -1"], {2, 4}, function(i, j) return value(i, j, 5) end, 'x["1:2, :, -1"]')
    is(x["2:3"], {2, 4, 5}, function(i, j, k) return value(i + 1, j, k) end, 'x["2:3"]')
    is(x["-2:-1"], {2, 4, 5}, function(i, j, k) return value(i + 1, j, k) end, 'x["-2:-1"]')
    is(x["..., 1"], {3, 4}, function(i, j) return value(i, j, 1) end, 'x["..., 1"]')
    is(x["2, ..., 1"], {4}, function(j) return value(2, j, 1) end, 'x["2, ..., 1"]')
    is(x["..."], {3, 4, 5}, value, 'x["..."]')
    is(x[":,:,1:5:2"], {3, 4, 3}, function(i, j, k) return value(i, j, 2 * k - 1) end,
        'x[":,:,1:5:2"]')
    is(x["::2"], {2, 4, 5}, function(i, j, k) return value(2 * i - 1, j, k) end, 'x["::2"]')
    is(x["3:2"], {0, 4, 5}, value, "an empty range")
    is(x["2:99"], {2, 4, 5}, function(i, j, k) return value(i + 1, j, k) end,
        "a range beyond the end is cut")
    is(x["new, 1"], {1, 4, 5}, function(_, j, k) return value(1, j, k) end, 'x["new, 1"]')
    is(x["1, new, :, new"], {1, 4, 1, 5}, function(_, j, _, k) return value(1, j, k) end,
        'x["1, new, :, new"]')
    is(x[{1, 2}], {5}, function(k) return value(1, 2, k) end, "x[{1, 2}]")
    is(x[{{1, 2}, {}, -1}], {2, 4}, function(i, j) return value(i, j, 5) end,
        "x[{ {1,2}, {}, -1 }]")
    is(x[{{}, {1, 4, 2}}], {3, 2, 5}, function(i, j, k) return value(i, 2 * j - 1, k) end,
        "x[{ {}, {1,4,2} }]")
    is(x[{{2}}], {1, 4, 5}, function(_, j, k) return value(2, j, k) end, "x[{ {2} }]")
    is(x[{"...", 2}], {3, 4}, function(i, j) return value(i, j, 2) end, 'x[{"...", 2}]')
    is(x[{}], {3, 4, 5}, value, "x[{}]")
    t.ok(x["1:2"]:shares_storage(x), dev .. ": ranges are views")
    t.ok(x[2][3]:shares_storage(x), dev .. ": x[i][j] is a view")

    local idx, jdx, kdx = {3, 1, -1, 3}, {1, 4, 2, 2}, {5, 1, 2, -5}
    local function at(list, n, size)
        return function(i) return list[i] > 0 and list[i] or list[i] + size + 1 end
    end
    local I, J, K = at(idx, 4, 3), at(jdx, 4, 4), at(kdx, 4, 5)
    for _, dtype in ipairs {"i64", "i32", "i16", "i8"} do
        is(x[on(idx, dtype)], {4, 4, 5}, function(n, j, k) return value(I(n), j, k) end,
            "x[idx] of " .. dtype)
    end
    local ix, jx, kx = on(idx, "i64"), on(jdx, "i64"), on(kdx, "i64")
    is(x[{ix, jx}], {4, 5}, function(n, k) return value(I(n), J(n), k) end, "x[{idx, idx}]")
    is(x[{ix, jx, kx}], {4}, function(n) return value(I(n), J(n), K(n)) end, "x[{idx, idx, idx}]")
    is(x[{{}, jx, kx}], {3, 4}, function(i, n) return value(i, J(n), K(n)) end,
        "neighbours stay in their place")
    is(x[{ix, {}, kx}], {4, 4}, function(n, j) return value(I(n), j, K(n)) end,
        "separated ones come first")
    is(x[{{}, jx}], {3, 4, 5}, function(i, n, k) return value(i, J(n), k) end, "x[{ {}, idx }]")
    is(x[{2, {}, kx}], {4, 4}, function(j, n) return value(2, j, K(n)) end,
        "an integer beside an index tensor")
    is(x[{"...", kx}], {3, 4, 4}, function(i, j, n) return value(i, j, K(n)) end, 'x[{"...", idx}]')
    is(x[ix:reshape(2, 2)], {2, 2, 4, 5},
        function(a, b, j, k) return value(I(2 * a + b - 2), j, k) end, "an index of two dims")
    is(x[{ix:reshape(4, 1), jx:reshape(1, 4)}], {4, 4, 5},
        function(n, m, k) return value(I(n), J(m), k) end, "indices broadcast")
    is(x:transpose(1, 3)[kx], {4, 4, 3}, function(n, j, i) return value(i, j, K(n)) end,
        "a transposed tensor")
    is(x["::2"][on({2, 1}, "i64")], {2, 4, 5},
        function(n, j, k) return value(n == 1 and 3 or 1, j, k) end, "a strided tensor")
    is(x[on({}, "i64")], {0, 4, 5}, value, "no indices")

    local want, n = {}, 0
    for i = 1, 3 do for j = 1, 4 do for k = 1, 5 do
        if value(i, j, k) % 7 == 0 then want[#want + 1] = value(i, j, k) end
    end end end
    t.is(x[(x % 7):eq(0)], want, dev .. ": x[mask]")
    t.is(x:transpose(1, 2)[(x:transpose(1, 2) % 7):eq(0)]:sum():item(),
        x[(x % 7):eq(0)]:sum():item(), dev .. ": a transposed mask")
    local rows = on({true, false, true}, "bool")
    local R = function(i) return i == 1 and 1 or 3 end
    is(x[rows], {2, 4, 5}, function(i, j, k) return value(R(i), j, k) end,
        "a mask of the first dim")
    is(x[{{}, on({false, true, true, false}, "bool"), 5}], {3, 2},
        function(i, j) return value(i, j + 1, 5) end, "a mask of an inner dim")
    is(x[{on({3, 1}, "i64"), {}, on({true, false, false, true, false}, "bool")}], {2, 4},
        function(a, j) return value(a == 1 and 3 or 1, j, a == 1 and 1 or 4) end,
            "x[{idx, {}, mask}]")
    is(x[on(grid({3, 4}, function(i, j) return i == j end), "bool")], {3, 5},
        function(a, k) return value(a, a, k) end, "a mask of two dims")
    is(x[on({false, false, false}, "bool")], {0, 4, 5}, value, "an empty mask")
    t.is(x[on(2, "i64")], x[2]:tolist(), dev .. ": a 0-d index tensor")
    is(x[{{on(2, "i64"), on(3, "i32")}}], {2, 4, 5},
        function(i, j, k) return value(i + 1, j, k) end, "a range of 0-d tensors")
    is(x[1][1][1][on(true, "bool")], {1}, function() return 111 end, "a 0-d mask")
end

-- Applies change to a tensor and to the table of its values, and compares.
local function assigning(dev)
    local function on(v, dtype) return g.tensor(v, {dtype = dtype}):to(dev) end
    local function check(name, dtype, assign, f)
        local x = on(grid({3, 4}, value), dtype)
        assign(x)
        t.is(x, grid({3, 4}, f), dev .. ", " .. dtype .. ": " .. name)
    end
    local mask = on(grid({3, 4}, function(i, j) return (i + j) % 3 == 0 end), "bool")
    local function masked(i, j) return (i + j) % 3 == 0 end
    local rank = {}
    for i = 1, 3 do for j = 1, 4 do
        if masked(i, j) then rank[#rank + 1] = i * 10 + j; rank[i * 1000 + j] = #rank end
    end end
    for _, dtype in ipairs {"i64", "f32", "f16", "i16"} do
        check("x[2] = 7", dtype, function(x) x[2] = 7 end,
            function(i, j) return i == 2 and 7 or value(i, j) end)
        check("x[2][3] = 7", dtype, function(x) x[2][3] = 7 end,
            function(i, j) return i == 2 and j == 3 and 7 or value(i, j) end)
        check('x["..., 1"] = 0', dtype, function(x) x["..., 1"] = 0 end,
            function(i, j) return j == 1 and 0 or value(i, j) end)
        check("x[{ {}, {1,4,3} }] = tensor", dtype,
            function(x) x[{{}, {1, 4, 3}}] = on({1, 2}, "i32") end,
            function(i, j) return j == 1 and 1 or j == 4 and 2 or value(i, j) end)
        check("x[2] = tensor", dtype,
            function(x) x[2] = on({5, 6, 7, 8}, dtype:find "f" and "f64" or "i32") end,
                function(i, j) return i == 2 and j + 4 or value(i, j) end)
        check("x[mask] = 1", dtype, function(x) x[mask] = 1 end,
            function(i, j) return masked(i, j) and 1 or value(i, j) end)
        check("x[mask] = tensor", dtype, function(x) x[mask] = g.arange(1, 4, {device = dev}) end,
            function(i, j) return masked(i, j) and rank[i * 1000 + j] or value(i, j) end)
        check("x[mask] = 0-d tensor", dtype, function(x) x[mask] = on(3, dtype) end,
            function(i, j) return masked(i, j) and 3 or value(i, j) end)
        check("x[rows] = 1", dtype, function(x) x[on({true, false, true}, "bool")] = 1 end,
            function(i, j) return i ~= 2 and 1 or value(i, j) end)
        check("x[rows] = a row", dtype,
            function(x) x[on({true, false, true}, "bool")] = on({1, 2, 3, 4}, dtype) end,
            function(i, j) return i ~= 2 and j or value(i, j) end)
        check("x[rows] = rows", dtype,
            function(x)
                x[on({true, false, true}, "bool")] = on({{1, 2, 3, 4}, {5, 6, 7, 8}}, dtype)
            end,
            function(i, j) return i == 1 and j or i == 3 and j + 4 or value(i, j) end)
        check("x[{ {}, mask }] = columns", dtype,
            function(x)
                x[{{}, on({false, true, false, true}, "bool")}] = on(
                    {{1, 2}, {3, 4}, {5, 6}}, dtype)
            end,
            function(i, j) return j % 2 == 0 and 2 * i - 2 + j / 2 // 1 | 0 or value(i, j) end)
        check("x[{ {}, mask }] = 1", dtype,
            function(x) x[{{}, on({false, true, false, true}, "bool")}] = 1 end,
            function(i, j) return j % 2 == 0 and 1 or value(i, j) end)
        check("x[idx] = 1", dtype, function(x) x[on({3, -3}, "i64")] = 1 end,
            function(i, j) return i ~= 2 and 1 or value(i, j) end)
        check("x[idx] = rows", dtype,
            function(x) x[on({3, 1}, "i64")] = on({{1, 2, 3, 4}, {5, 6, 7, 8}}, "i64") end,
            function(i, j) return i == 3 and j or i == 1 and j + 4 or value(i, j) end)
        check("x[{idx, idx}] = values", dtype,
            function(x) x[{on({1, 2}, "i64"), on({4, 1}, "i64")}] = on({1, 2}, dtype) end,
            function(i, j)
                return i == 1 and j == 4 and 1 or i == 2 and j == 1 and 2 or value(i, j)
            end)
        check("the last of several writes stays", dtype,
            function(x) x[{on({1, 1, 1}, "i64"), on({1, 1, 1}, "i64")}] = on({1, 2, 3}, dtype) end,
            function(i, j) return i == 1 and j == 1 and 3 or value(i, j) end)
        check("the source overlaps", dtype, function(x) x["1:2"] = x["2:3"] end,
            function(i, j) return i < 3 and value(i + 1, j) or value(i, j) end)
        check("rows exchanged", dtype,
            function(x) x[on({1, 2}, "i64")] = x["1:2"][on({2, 1}, "i64")] end,
            function(i, j)
                return i == 1 and value(2, j) or i == 2 and value(1, j) or value(i, j)
            end)
        check("from the cpu", dtype, function(x) x[2] = g.tensor({5, 6, 7, 8}) end,
            function(i, j) return i == 2 and j + 4 or value(i, j) end)
        check("mask and index from the cpu", dtype,
            function(x)
                x[mask:cpu()] = 1; x[{g.tensor({1}, {dtype = "i64"}),
                    g.tensor({1}, {dtype = "i64"})}] = 2
            end,
            function(i, j) return i == 1 and j == 1 and 2 or masked(i, j) and 1 or value(i, j) end)
    end
    local b = g.zeros(3, {dtype = "bool", device = dev})
    b[2] = true
    t.is(b, {false, true, false}, dev .. ": a boolean is assigned")
    b[2] = false
    t.is(b, {false, false, false}, dev .. ": and the other one")
    local big = g.zeros(200000, {device = dev, dtype = "f64"})
    big[g.arange(1, 200000, {device = dev}):remainder(3):eq(0)] = g.arange(1, 66666, {device = dev})
    t.is(big:sum():item(), 66666 * 66667 / 2, dev .. ": a long mask takes its values in order")
    t.is(big[199998]:item(), 66666, dev .. ": … to the last")
end

local function errors(dev)
    local x = g.zeros(3, 4, {device = dev})
    local function on(v, dtype) return g.tensor(v, {dtype = dtype}):to(dev) end
    local function sync(f) return function() local y = f() return g.is_tensor(y) and y:cpu() end end
    t.error(function() return x[4] end,
        "index 4 is out of range .*size 3 %(expected 1 to 3, or %-3 to %-1%)",
            dev .. ": an index beyond the end")
    t.error(function() return x[0] end, "index 0 is out of range", dev .. ": index 0")
    t.error(function() return x[1.5] end, "fraction", dev .. ": a fraction")
    t.error(function() return x[true] end, "got boolean", dev .. ": a boolean")
    t.error(function() return x[1][1][1] end, "0%-d tensor cannot be indexed",
        dev .. ": a 0-d tensor")
    t.error(function() return x["1, 1, 1"] end, "3 dims are indexed, but the tensor is f32 3x4",
        dev .. ": too many dims")
    t.error(function() return x["..., ..."] end, "twice", dev .. ": two ellipses")
    t.error(function() return x["1:x"] end, "'1:x' is not an index", dev .. ": a text that is none")
    t.error(function() return x["1,,2"] end, "is not an index", dev .. ": an empty item")
    t.error(function() return x.nosuch end, "no method or property 'nosuch'",
        dev .. ": an unknown name")
    t.error(function() return x["1:2:0"] end, "step 0", dev .. ": step 0")
    t.error(function() return x[{{1, 2, 3, 4}}] end, "4 entries", dev .. ": a range of four")
    t.error(sync(function() return x[on({1, 4}, "i64")] end),
        "index: index 4 is out of range for dim 1 of size 3",
            dev .. ": an index tensor beyond the end")
    t.error(sync(function() return x[{{}, on({-5}, "i64")}] end),
        "index %-5 is out of range for dim 2 of size 4", dev .. ": … from the end")
    t.error(function() return x[on({1.5}, "f32")] end,
        "expected an integer or bool tensor, got f32 1", dev .. ": a float index tensor")
    t.error(function() return x[on({true, false}, "bool")] end, "mask bool 2 does not fit f32 3x4",
        dev .. ": a mask of another shape")
    t.error(function() return x[{on({1, 2}, "i64"), on({1, 2, 3}, "i64")}] end, "index",
        dev .. ": indices that do not broadcast")
    t.error(function() x[1] = "a" end, "a string cannot be assigned",
        dev .. ": a string is assigned")
    t.error(function() x[1] = g.zeros(3, {device = dev}) end, "",
        dev .. ": a tensor that does not broadcast")
    t.error(function() x:expand(2, 3, 4)[1] = nil end, "cannot be assigned",
        dev .. ": nil is assigned")
    t.error(function() x:expand(2, 3, 4)["..."] = 1 end, "share one place",
        dev .. ": an expanded tensor")
    local n = g.zeros(3, {dtype = "u8", device = dev})
    t.error(function() n[1] = 300 end, "value 300 does not fit in a u8 tensor",
        dev .. ": a number that the dtype cannot hold")
    t.error(function() n[1] = 0.5 end, "value 0.5 does not fit in a u8 tensor",
        dev .. ": a fraction into integers")
    t.error(sync(function() x[on({2, 9}, "i64")] = 1 return x end), "index 9 is out of range",
        dev .. ": assigning beyond the end")
    t.error(sync(function() x[x:eq(0)] = g.zeros(5, {device = dev}) return x end),
        "5 values given for 12 true elements", dev .. ": too few values for a mask")
    t.is(x, grid({3, 4}, function() return 0 end), dev .. ": nothing was changed by what failed")
end

-- x[…, mask, …] = values: they are broadcast to the shape that reading gives; here by plain loops.
local function masked(dev)
    local keep = {true, false, true, true}
    local mask = g.tensor(keep):to(dev)
    local at, n = {}, 0 -- the number of each true element
    for i, k in ipairs(keep) do if k then n = n + 1 at[i] = n end end
    local function case(pre, behind, shape)
        local size, count = {}, 1
        for _, d in ipairs(pre) do size[#size + 1] = d end
        size[#size + 1] = #keep
        for _, d in ipairs(behind) do size[#size + 1] = d end
        for _, d in ipairs(shape) do count = count * d end
        local x, v = g.zeros(size, {device = dev}),
            g.range(1, count, {dtype = "f32", device = dev}):view(shape)
        local key = {}
        for i = 1, #pre do key[i] = {} end
        key[#pre + 1] = mask
        x[key] = v
        local got, wrong = x:to("cpu"):contiguous():view(-1):tolist(), 0
        local pos = {}
        local function walk(d, flat)
            if d > #size then
                local want, place = 0, at[pos[#pre + 1]]
                if place then
                    local off, lead = 0, #size - #shape
                    for k, s in ipairs(shape) do
                        local i = lead + k == #pre + 1 and place or pos[lead + k]
                        off = off * s + (s == 1 and 0 or i - 1)
                    end
                    want = off + 1
                end
                if got[flat + 1] ~= want then wrong = wrong + 1 end
                return
            end
            for i = 1, size[d] do pos[d] = i walk(d + 1, flat * size[d] + i - 1) end
        end
        walk(1, 0)
        t.is(wrong, 0,
            ("%s: x[mask] = %s values in a %s tensor"):format(
                dev, table.concat(shape, "x"), table.concat(size, "x")))
    end
    for _, shape in ipairs { {3, 3}, {3}, {1}, {3, 1}, {1, 3}, {1, 1} } do case({3}, {}, shape) end
    for _, shape in ipairs { {2, 5, 3}, {5, 3}, {3}, {2, 1, 3}, {1, 5, 1}, {1} } do
        case({2, 5}, {}, shape)
    end
    for _, shape in ipairs { {2, 3, 3}, {3, 3}, {3}, {3, 1}, {2, 1, 3}, {2, 3, 1}, {1} } do
        case({2}, {3}, shape)
    end
    for _, shape in ipairs { {3, 2}, {2}, {3, 1}, {1, 2} } do case({}, {2}, shape) end

    local y = g.zeros(3, 4, {device = dev})
    y[2] = g.ones(1, 1, 4, {device = dev})
    y[{3, 1}] = g.full({1}, 5, {device = dev})
    t.is(y, {{0, 0, 0, 0}, {1, 1, 1, 1}, {5, 0, 0, 0}},
        dev .. ": dims of size 1 in front of values are left out")
    t.error(function() y[2] = g.ones(3, {device = dev}) end, "index: f32 3 does not fit in f32 4",
        dev .. ": values that do not fit, by name")
    t.error(function() y:copy_(g.ones(2, 3, 4, {device = dev})) end, "copy_: f32 2x3x4",
        dev .. ": copy_ likewise")
end

-- Temporaries of an index are collected as they are made: each result of 2.6 MB here is a view of
-- another tensor.
local function memory(dev)
    local x = gpush.zeros(65536, 10, { device = dev })
    local mask = gpush.ones(65536, { dtype = "bool", device = dev })
    collectgarbage()
    local before = gpush.memory(dev).in_use
    gpush.reset_peak(dev)
    -- fewer, where the stand-in for CUDA is slow, but still more than the limit
    local times = dev == "cuda" and 30 or 200
    for _ = 1, times do local y = x[mask] end
    local grown = gpush.memory(dev).peak - before
    t.ok(grown < 64 << 20,
        ("%d results of a mask take %d MiB at once (%s)"):format(times, grown >> 20, dev))
end

-- An op reuses the memory of a dead result, one that is in a cache, and takes no second block.
local function reuse()
    local x, times, size = gpush.zeros(1 << 19, { dtype = "i64" }), 100, 4 << 20
    local function step() local y = x:neg() end
    collectgarbage()
    step()
    local before = gpush.memory("cpu").in_use
    gpush.reset_peak("cpu")
    for _ = 1, times do step() end
    local grown = gpush.memory("cpu").peak - before
    t.ok(grown < size, ("%d results take %d KiB more than one"):format(times, grown >> 10))
end
reuse()

for _, dev in ipairs {"cpu", "sim"} do
    reading(dev)
    memory(dev)
    assigning(dev)
    masked(dev)
    errors(dev)
end
-- Values that would be truncated, and writes that would show in other elements.
do
    local x = g.zeros(3, { dtype = "i64" })
    t.error(function() x["1:2"] = g.tensor { 0.5, 1.5 } end,
        "index: f32 values do not fit in a i64 tensor", "floats into a slice of integers")
    t.error(function() x[1] = g.tensor { 0.5 } end, "f32 values do not fit", "and into an element")
    t.error(function() x:fill_(0.5) end, "fill: argument 'value' is 0.5, which i64 cannot hold",
        "fill_ with a fraction")
    t.is(x:fill_(2.0), { 2, 2, 2 }, "but with a whole number")
    local rows = g.ones(3):expand(2, 3)
    t.error(function() rows[1] = 2 end,
        "index: several elements of the tensor share one place in memory",
            "a row of an expanded tensor")
    t.error(function() rows[1] = g.zeros(3) end, "share one place in memory", "by a tensor")
    t.error(function() x.requires_grad = 0 end, "requires_grad: expected true or false, got number",
        "requires_grad = 0")
    t.error(function() return g.ones(2, { requires_grad = 1 }) end,
        "ones: option 'requires_grad': expected true or false, got number", "as an option")
end
t.done()
