-- Matrix products in all their forms: ranks, layouts, sizes that are computed in slices, addmm and
-- the transposes; against plain loops and closed forms.
local t = require "tap"
local g = require "gpush"
local linalg = g.linalg
g.manual_seed(7)

local function T(x) return x:transpose(-1, -2) end
local function far(a, b) return a:numel() == 0 and 0 or (a - b):abs():amax():item() end
local function eye(n, dtype) return g.eye(n, n, {dtype = dtype or "f32"}) end
local z = {dtype = "f64"}
local low = g.randn({2, 5, 5}, z)
local sym = low:matmul(T(low))

local i = g.tensor({{1, 2}, {3, 4}})
t.is(linalg.matrix_power(i, 5):tolist(), {{1069, 1558}, {2337, 3406}}, "matrix_power")
t.is(linalg.matrix_power(i, 0):tolist(), {{1, 0}, {0, 1}}, "to the power 0")
t.close(linalg.matrix_power(i:to {dtype = "f64"}, -2), {{5.5, -2.5}, {-3.75, 1.75}}, 1e-14,
    "to the power -2")
t.is(g.outer(g.tensor {1, 2}, g.tensor {3, 4, 5}):tolist(), {{3, 4, 5}, {6, 8, 10}}, "outer")
t.is(g.inner(i, i):tolist(), {{5, 11}, {11, 25}}, "inner")
t.is(g.inner(i, g.tensor(2)):tolist(), {{2, 4}, {6, 8}}, "inner with a 0-d tensor")
t.is(g.kron(i, g.tensor {1, 10}):tolist(), {{1, 10, 2, 20}, {3, 30, 4, 40}}, "kron")
t.is(g.kron(g.tensor({{true}, {false}}), g.tensor {true, true}):tolist(),
    {{true, true}, {false, false}}, "kron of bool")
t.is({g.trace(i):item(), g.trace(g.ones(2, 5)):item(),
    g.trace(g.ones({1, 1}, {dtype = "i32"})).dtype}, {5, 2, "i64"}, "trace")
t.is(linalg.cross(g.tensor {1, 2, 3}, g.tensor {4, 5, 6}):tolist(), {-3, 6, -3}, "cross")
t.is(g.cross(g.tensor {{1}, {2}, {3}}, g.tensor {{4}, {5}, {6}}):tolist(), {{-3}, {6}, {-3}},
    "cross along the first dim of size 3")
t.is(linalg.vecdot(i, i):tolist(), {5, 25}, "vecdot")
t.is({linalg.vecdot(g.tensor{1, 2}, g.tensor{0.5, 1.0}):item(),
    linalg.vecdot(g.full({2}, 100, {dtype = "i8"}), g.ones(2, {dtype = "i8"})):item()}, {2.5, 200},
    "vecdot's dtype is that of the products' sum")
local chain = {g.randn({3}, z), g.randn({3, 20}, z), g.randn({20, 2}, z), g.randn({2, 9}, z)}
t.close(linalg.multi_dot(chain),
    chain[1]:matmul(chain[2]):matmul(chain[3]):matmul(chain[4]):tolist(), 1e-12, "multi_dot")
local l = linalg.cholesky(sym + eye(5, "f64"))
local side = g.randn({2, 5, 3}, z)
t.ok(far((sym + eye(5, "f64")):matmul(g.cholesky_solve(side, l)), side) < 1e-11, "cholesky_solve")
t.ok(far(g.cholesky_solve(side, T(l), true), g.cholesky_solve(side, l)) < 1e-12,
    "with the upper triangle")
t.error(function() return g.outer(i, i) end, "outer: ", "outer of matrices")
t.error(function() return g.trace(g.ones(3)) end, "trace: argument 'x' is f32 3",
    "trace of a vector")
t.error(function() return linalg.multi_dot {i} end, "linalg.multi_dot: 1 tensors",
    "multi_dot of one")
t.error(function() return linalg.cross(i, i) end, "linalg.cross: ", "cross of 2-vectors")
t.error(function() return linalg.matrix_power(g.ones(2, 3), 2) end, "linalg.matrix_power: .*square",
    "a power of a matrix that is not square")

-- matmul of every rank, against einsum's reference form in NumPy's documentation: sums written out.
local function mm(p, q, j, k)
    local s = 0 for n = 1, #q do s = s + p[j][n] * q[n][k] end return s
end
local big, small = g.arange(1, 24):reshape(2, 3, 4), g.arange(1, 8):reshape(4, 2)
local prod = big:matmul(small):tolist()
local wrong = 0
for n = 1, 2 do for j = 1, 3 do for k = 1, 2 do
    if prod[n][j][k] ~= mm(big[n]:tolist(), small:tolist(), j, k) then wrong = wrong + 1 end
end end end
t.is(wrong, 0, "3-d by 2-d")
t.is(big:matmul(g.ones({4}, {dtype = "i64"})):tolist(), big:sum(-1):tolist(), "3-d by 1-d")
t.is(g.ones({3}, {dtype = "i64"}):matmul(big):tolist(), big:sum(-2):tolist(), "1-d by 3-d")
t.is(g.ones(5, 1, 2, 0):matmul(g.ones(3, 0, 4)):tolist(), g.zeros(5, 3, 2, 4):tolist(),
    "sums over nothing are 0")
t.is(g.addmm(g.full({2, 2}, 3.0), g.ones(2, 0), g.ones(0, 2), 2):tolist(), {{6, 6}, {6, 6}},
    "addmm with sums over nothing")

-- Small products run in different ways by size and layout: integers are exact in all of them, i64
-- ones are plain loops.
local off = {}
for _, n in ipairs {1, 15, 16, 32, 48, 64, 80, 112} do
    for _, rows in ipairs {1, 2, 7, 8, 13, 64} do
        for _, k in ipairs {1, 9, 64} do
            local p, q = g.randint(-9, 9, {rows, k}), g.randint(-9, 9, {k, n + 3}):narrow(2, 2, n)
            local whole = p:matmul(q)
            for _, dtype in ipairs {"f32", "f64"} do
                local x, y = p:to {dtype = dtype}, q:to {dtype = dtype}
                local wide = g.zeros({k, n + 3}, {dtype = dtype}):narrow(2, 2, n)
                wide:add_(y)
                for way, z in pairs {plain = x:matmul(y), turned = T(T(x):contiguous()):matmul(y),
                    strided = x:matmul(wide), batch = g.stack({x, x}):matmul(y)[2]}
                do
                    if not z:eq(whole):all():item() then
                        off[#off + 1] = table.concat({rows, k, n, dtype, way}, " ")
                    end
                end
            end
        end
    end
end
t.is(off, {}, "products of small matrices")

-- Large ones are computed in slices of rows and columns, with checks for Ctrl-C between. Small
-- integers, of rank one: every product is exact, and known without one.
local function small(n, mod) return g.arange(1, n) % mod end
for _, size in ipairs { { 700, 3000, 3001 }, { 1700, 2000, 2001 } } do
    local m, k, n = table.unpack(size)
    local u, v, w, z = small(m, 7), small(k, 3), small(k, 5), small(n, 13)
    for _, dt in ipairs { "f32", "f64" } do
        local a, b = (u:unsqueeze(2) * v):to(dt), (w:unsqueeze(2) * z):to(dt)
        local want = (u:unsqueeze(2) * z * (v * w):sum()):to(dt)
        t.ok(a:matmul(b):equal(want), ("%s: %d x %d x %d"):format(dt, m, k, n))
        t.ok(T(T(a):contiguous()):matmul(T(T(b):contiguous())):equal(want), "as they are turned")
    end
end

-- BLAS: a product times 0 is not read
local inf = g.full({ 2, 2 }, math.huge)
t.is(g.addmm(g.ones(2, 2), inf, g.zeros(2, 2), { alpha = 0, beta = 3 }), { { 3, 3 }, { 3, 3 } },
    "addmm {alpha = 0} beside infinities")

-- mT, mH and H
local batch = g.arange(1, 12):view(2, 3, 2)
t.is(batch.mT, { { { 1, 3, 5 }, { 2, 4, 6 } }, { { 7, 9, 11 }, { 8, 10, 12 } } }, "mT of a batch")
t.is(batch.mH, batch.mT:tolist(), "mH is mT: numbers are real")
t.is(batch[1].H, { { 1, 3, 5 }, { 2, 4, 6 } }, "H of a matrix")
t.error(function() return batch.H end, "H: the tensor has 3 dims %(expected a matrix%)",
    "H of a batch")
t.error(function() return batch[1][1].mT end,
    "mT: the tensor has 1 dims %(expected a matrix or a batch of matrices%)", "mT of a vector")

-- Rows a multiple of 2 KiB apart, which are copied before some products: exact, as integers are.
local function whole(rows, columns, turned)
    local x = g.randint(-8, 8, turned and {columns, rows} or {rows, columns})
    local y = x:to {dtype = "f32"} -- before it is transposed: a copy is contiguous
    return turned and {y:t(), x:t()} or {y, x}
end
for _, size in ipairs {{130, 70, 512}, {512, 65, 512}, {200, 33, 1024}, {512, 40, 200}} do
    for form = 0, 3 do
        local p, q = whole(size[1], size[2], form % 2 == 1), whole(size[2], size[3], form > 1)
        t.ok(p[1]:matmul(q[1]):to {dtype = "i64"}:eq(p[2]:matmul(q[2])):all():item(),
            ("%d x %d x %d, form %d"):format(size[1], size[2], size[3], form))
    end
end

-- Sizes that are multiplied in registers, and beside them: ragged rows and columns, a transposed,
-- b in rows apart or by columns. All numbers are small integers, so every order of sums is exact.
do
    local function operand(rows, columns, how, dtype)
        local x = g.randint(-4, 4, {rows, columns}):to(dtype)
        if how == "columns" then return T(T(x):contiguous()) end
        if how == "apart" then return g.zeros(rows, columns + 3, {dtype = dtype}):narrow(2, 2,
            columns):copy_(x) end
        return x
    end
    local count = 0
    for _, dtype in ipairs {"f32", "f64"} do
        local bad = {}
        for _, m in ipairs {1, 2, 5, 6, 13, 64} do
            for _, n in ipairs {1, 7, 8, 9, 15, 17, 33, 64, 65} do
                for _, k in ipairs {1, 5, 64} do
                    local how = ({"rows", "columns", "apart"})[count % 3 + 1]
                    local also = ({"rows", "columns", "apart"})[count // 3 % 3 + 1]
                    local a, b = operand(m, k, how, dtype), operand(k, n, also, dtype)
                    local want = (a:to("i64"):unsqueeze(3) * b:to("i64"):unsqueeze(1)):sum(2)
                    if not a:matmul(b):to("i64"):equal(want) then
                        bad[#bad + 1] = table.concat({m, k, how, k, n, also}, " ")
                    end
                    count = count + 1
                end
            end
        end
        t.is(bad, {}, "small products of " .. dtype)
    end
end
t.done()
