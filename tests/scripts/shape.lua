--!plain
-- Composites that change the shape, on cpu and sim in several dtypes: against numbers written out,
-- and which of them are views.
local t = require "tap"
local g = require "gpush"

local function shapes(list)
    local out = {}
    for i, x in ipairs(list) do out[i] = x:tolist() end
    return out
end
local function refuses(f, pattern, name)
    local ok, msg = pcall(f)
    t.ok(not ok and tostring(msg):find(pattern), name .. (ok and "" or ": " .. tostring(msg)))
end

for _, dev in ipairs {"cpu", "sim"} do
    for _, dtype in ipairs {"f32", "i64", "f16", "u8"} do
        local o = {dtype = dtype, device = dev}
        local name = dev .. " " .. dtype .. ": "
        local function put(v) return g.tensor(v, {dtype = dtype}):to(dev) end
        local m, v = put {{1, 2, 3}, {4, 5, 6}}, put {1, 2, 3, 4, 5}

        t.is(shapes(v:split(2)), {{1, 2}, {3, 4}, {5}}, name .. "split by size")
        t.is(shapes(m:split({2, 0, 1}, 2)), {{{1, 2}, {4, 5}}, {{}, {}}, {{3}, {6}}},
            name .. "split by sizes")
        t.is(shapes(v:chunk(3)), {{1, 2}, {3, 4}, {5}}, name .. "chunk")
        t.is(#v:chunk(4), 3, name .. "chunk gives fewer pieces where the size does not divide")
        t.is(shapes(v:tensor_split(3)), {{1, 2}, {3, 4}, {5}}, name .. "tensor_split")
        t.is(shapes(v:tensor_split {1, 4}), {{1}, {2, 3, 4}, {5}},
            name .. "tensor_split at indices")
        t.is(shapes(m:unbind(-1)), {{1, 4}, {2, 5}, {3, 6}}, name .. "unbind")
        local w = v:clone()
        w:split(2)[2]:fill_(9)
        w:chunk(5)[5]:fill_(7)
        t.is(w, {1, 2, 9, 9, 7}, name .. "pieces are views")

        t.is(g.hstack {v, v["1:1"]}, {1, 2, 3, 4, 5, 1}, name .. "hstack of vectors")
        t.is(g.hstack {m, m["1:2, 1:1"]}, {{1, 2, 3, 1}, {4, 5, 6, 4}}, name .. "hstack")
        t.is(g.vstack {m, put {7, 8, 9}}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, name .. "vstack")
        t.is(g.dstack {m[1], m[2]}, {{{1, 4}, {2, 5}, {3, 6}}}, name .. "dstack")
        t.is(g.column_stack {m[1], m[2]}, {{1, 4}, {2, 5}, {3, 6}}, name .. "column_stack")
        t.is(m[1][1]:atleast_3d(), {{{1}}}, name .. "atleast_3d of a number")
        t.is(m:atleast_3d().shape, {2, 3, 1}, name .. "atleast_3d of a matrix")

        t.is(put({1, 2}):tile(3), {1, 2, 1, 2, 1, 2}, name .. "tile")
        t.is(put({{1, 2}}):tile(2, 2), {{1, 2, 1, 2}, {1, 2, 1, 2}}, name .. "tile of a matrix")
        t.is(put({{1}, {2}}):tile(2), {{1, 1}, {2, 2}}, name .. "tile with fewer numbers")
        t.is(put({1, 2}):tile(2, 1), {{1, 2}, {1, 2}}, name .. "tile with more numbers")
        t.is(m:transpose(1, 2):tile {1, 2}, {{1, 4, 1, 4}, {2, 5, 2, 5}, {3, 6, 3, 6}},
            name .. "tile of a transposed matrix")
        t.is(m:tile(0, 1).shape, {0, 3}, name .. "tile no time")
        t.is(m["repeat"](m, 1, 1, 2), {{{1, 2, 3, 1, 2, 3}, {4, 5, 6, 4, 5, 6}}}, name .. "repeat")
        local deep = put({1, 2}):reshape(1, 1, 1, 2, 1, 1, 1, 1):tile(1, 2, 1, 2, 1, 1, 1, 2)
        t.is(deep.shape, {1, 2, 1, 4, 1, 1, 1, 2}, name .. "tile of eight dims")
        t.is(deep:flatten(), {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2},
            name .. "… and its elements")

        t.is(m:rot90(), {{3, 6}, {2, 5}, {1, 4}}, name .. "rot90")
        t.is(m:rot90(2), {{6, 5, 4}, {3, 2, 1}}, name .. "rot90 twice")
        t.is(m:rot90(-1), {{4, 1}, {5, 2}, {6, 3}}, name .. "rot90 back")
        t.is(m:rot90(1, {2, 1}), {{4, 1}, {5, 2}, {6, 3}}, name .. "rot90 from dim 2 to dim 1")
        t.is(m:fliplr(), {{3, 2, 1}, {6, 5, 4}}, name .. "fliplr")
        t.is(m:flipud(), {{4, 5, 6}, {1, 2, 3}}, name .. "flipud")
        t.is(m:diag(1), {2, 6}, name .. "diag of a matrix")
        t.is(put({1, 2}):diag(-1), {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}}, name .. "diag of a vector")
        t.is(put({{1}, {2}}):diagflat(), {{1, 0}, {0, 2}}, name .. "diagflat")
        t.is(put({1, 2}):unsqueeze(2):expand_as(put {{0, 0, 0}, {0, 0, 0}}), {{1, 1, 1}, {2, 2, 2}},
            name .. "expand_as")

        local a, b = put {1, 2}, put {3, 4, 5}
        local x, y = table.unpack(g.meshgrid {a, b})
        t.is(x, {{1, 1, 1}, {2, 2, 2}}, name .. "meshgrid, first")
        t.is(y, {{3, 4, 5}, {3, 4, 5}}, name .. "meshgrid, second")
        x, y = table.unpack(g.meshgrid({a, b}, "xy"))
        t.is(x, {{1, 2}, {1, 2}, {1, 2}}, name .. "meshgrid xy, first")
        t.is(y, {{3, 3}, {4, 4}, {5, 5}}, name .. "meshgrid xy, second")
        t.is(g.cartesian_prod {a, b}, {{1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}},
            name .. "cartesian_prod")
        t.is(g.cartesian_prod {b}, {3, 4, 5}, name .. "cartesian_prod of one")
    end
    local x = g.zeros(4, {device = dev})
    refuses(function() return x:split(0) end, "shape.lua:%d+: split: argument 'size'",
        dev .. ": split by 0")
    refuses(function() return x:split {1, 2} end,
        "shape.lua:%d+: split: the sizes add up to 3, but dim 1 has size 4",
            dev .. ": split by too little")
    refuses(function() return x:split(2, 2) end, "shape.lua:%d+: split: dim 2 is out of range",
        dev .. ": split along a dim that is not there")
    refuses(function() return x:chunk(0) end, "shape.lua:%d+: chunk: argument 'chunks'",
        dev .. ": chunk into 0")
    refuses(function() return x[1]:chunk(2) end, "shape.lua:%d+: chunk: a 0%-d tensor",
        dev .. ": chunk of a number")
    refuses(function() return x:tile(-1) end, "shape.lua:%d+: tile: count 1 is %-1",
        dev .. ": tile -1 times")
    refuses(function() return x:rot90() end, "shape.lua:%d+: rot90: dim 2 is out of range",
        dev .. ": rot90 of a vector")
    refuses(function() return g.zeros(2, 2, 2):diag() end,
        "shape.lua:%d+: diag: expected 1 or 2 dims, got 3", dev .. ": diag of 3 dims")
    refuses(function() return g.meshgrid({x}, "yx") end,
        "shape.lua:%d+: meshgrid: argument 'indexing'", dev .. ": meshgrid with a wrong indexing")
    refuses(function() return g.meshgrid {g.zeros(2, 2)} end,
        "shape.lua:%d+: meshgrid: tensor 1 has 2 dims", dev .. ": meshgrid of a matrix")
end

-- Transposed copies that bypass the caches, by element size; the expected elements are computed
-- there.
for dtype, rows in pairs {f64 = 2201, f32 = 4219, i16 = 8443, u8 = 16871} do
    local cols = 1003
    local function numbers(n) return g.arange(0, n - 1, {dtype = "i64"}) end
    local x = (numbers(rows):view(rows, 1) * 7 + numbers(cols):view(1, cols) * 3):remainder(251):to(
        dtype)
    local want = (numbers(cols):view(cols, 1) * 3 + numbers(rows):view(1, rows) * 7):remainder(
        251):to(dtype)
    t.ok(x:transpose(1, 2):contiguous():equal(want), dtype .. ": a large transposed copy")
end
t.done()
