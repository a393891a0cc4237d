-- scatter and its like where one block sorts the indices of a line of the target, and where rows
-- and columns are written at indices (kernels/cuda/index/scatter.cu), on the stand-in for CUDA: the
-- results of the CPU, which adds in the order of the indices, too. Sums of more than 256 are in
-- another order, and here of whole numbers.
local t = require "tap"

manual_seed(7)
local function same(what, op, ...)
    local there = {}
    for i, v in ipairs { ... } do there[i] = v:to "cuda" end
    local got, want = op(table.unpack(there)):cpu(), op(...)
    t.ok(got.dtype == want.dtype and got:equal(want), what)
end

local function scatter(x, i, v) return x:scatter(2, i, v) end
local function scatter_add(x, i, v) return x:scatter_add(2, i, v) end
local function smallest(x, i, v) return x:scatter_reduce(2, i, v, "amin", false) end

-- both sides of each group's size; many indices to one element, and none to some
for _, n in ipairs { 1, 2, 8, 9, 64, 257, 1000, 1024, 1025, 2048, 2049 } do
    for _, dtype in ipairs { "f32", "bf16", "i64" } do
        local rows = n < 100 and 150 or 3
        local x, v = (randn(rows, 301) * 9):to(dtype), (randn(rows, n) * 9):to(dtype)
        local name = ("%s, lines of %d"):format(dtype, n)
        local i = randint(1, 301, { rows, n })
        same("scatter of " .. name, scatter, x, i, v)
        same("scatter_add of " .. name, scatter_add, x, i, v)
        same("scatter_reduce of " .. name, smallest, x, i, v)
        same("scatter_add to few, " .. name, scatter_add, x:round(), (i - 1) % 3 + 1, v:round())
        same("scatter to negative i32, " .. name, scatter, x, (i - 302):to "i32", v)
    end
end

-- a target whose elements need more bits than a place leaves of 32
local long = zeros(2, (1 << 21) + 5)
local far = tensor { { 1, -1, 1 << 21, -1 }, { 1 << 20, 7, -1, 7 } }
same("scatter_add to a long line", scatter_add, long, far,
    tensor { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }:to "f32")

-- another dim, more dims, other strides and offsets
local x, v, i = randn(4, 50, 6), randn(4, 70, 6), randint(1, 50, { 4, 70, 6 })
same("scatter_add, the middle dim", scatter_add, x, i, v)
same("scatter_add of a part", scatter_add, x["2:3"], i["2:3, 5:60:2"], v["1:2, 1:56:2"])
same("scatter_add, transposed", function(a, k, u)
    return a:transpose(2, 3):scatter_add(3, k:transpose(2, 3), u:transpose(2, 3))
end, x, i, v)
same("scatter in place to a part", function(a, k, u)
    local y = a:clone()
    y["2:3, 1:49:2"]:scatter_(2, (k["2:3, 1:9"] - 1) % 25 + 1, u["2:3, 1:9"])
    return y
end, x, i, v)
same("scatter_add of a shorter index", scatter_add, x, i["1:3, 1:20, 2:5"]:contiguous(), v)
same("scatter_add along the first dim", function(a, k, u) return a:scatter_add(1, k, u) end, x,
    randint(1, 4, { 4, 50, 6 }), x)

-- rows and columns, whole vectors of 16 bytes and others
for _, dtype in ipairs { "f32", "bf16", "f16", "f64", "u8" } do
    for _, width in ipairs { 16, 17, 24 } do
        local a = (rand(40, width) * 9):to(dtype)
        local b, at = (rand(90, width) * 9):to(dtype), randint(1, 40, { 90 })
        local name = ("%s rows of %d"):format(dtype, width)
        same("index_copy of " .. name, function(y, k, u) return y:index_copy(1, k, u) end, a, at, b)
        same("index_add of " .. name, function(y, k, u) return y:index_add(1, k, u) end, a, at, b)
        same("index_put of a part of " .. name, function(y, k, u)
            local z = y:clone()
            z["3:40, 2:9"]:index_put_({ (k - 1) % 38 + 1 }, u["1:90, 1:8"])
            return z
        end, a, at, b)
        same("index_copy of columns, " .. name, function(y, k, u)
            return y:t():index_copy(2, k, u:t())
        end, a, at, b)
        same("index_add of columns, " .. name, function(y, k, u)
            return y:t():contiguous():index_add(2, k, u:t():contiguous())
        end, a, at, b)
    end
end
for _, dtype in ipairs { "f32", "f16" } do
    local few, many = tensor { 1, 3, 1, 1 }:tile(200), randint(-4, 4, { 800, 16 }):to(dtype)
    same("index_add of many rows to few, " .. dtype, function(y, k, u)
        return y:index_add(1, k, u)
    end, randint(-4, 4, { 3, 16 }):to(dtype), few, many)
    same("the mean of rows, " .. dtype, function(y, k, u)
        return y:scatter_reduce(1, k, u, "mean")
    end, ones({ 3, 16 }, { dtype = dtype }), few:view(-1, 1):expand(800, 16),
        ones({ 800, 16 }, { dtype = dtype }))
end
same("index_add of one number to columns", function(y, k, u) return y:index_add(2, k, u) end,
    zeros(300, 5), tensor { 2, 2, 5, 1, 2 }, randn(300, 5))

-- a bad index: nothing is written, whichever line has it
local y, bad = zeros(5, 7, { device = "cuda" }), ones({ 5, 3 }, { dtype = "i64" })
bad[4][3] = 8
local ok, message = pcall(function()
    y:scatter_(2, bad:to "cuda", ones(5, 3, { device = "cuda" }))
    synchronize "cuda"
end)
t.ok(not ok and tostring(message):find("index 8 is out of range for dim 2 of size 7", 1, true),
    "a bad index in a line is named")
t.is(y:sum():item(), 0, "and nothing is written")
t.is(zeros(5, 7, { device = "cuda" }):scatter(2, ones({ 5, 0 }, { dtype = "i64", device = "cuda" }),
    ones(5, 0, { device = "cuda" })):sum():item(), 0, "no indices")

t.done()
