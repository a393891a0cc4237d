--!plain
-- Linear algebra at its borders: gradients of singular matrices. References are cofactors of small integers.
local t = require "tap"
local g = require "gpush"
local linalg = g.linalg
local nan, inf = 0 / 0, math.huge

-- ---- determinants of singular matrices ----

local function without(m, i, j)
    local rest = {}
    for r = 1, #m do
        if r ~= i then rest[#rest + 1] = table.move(m[r], j + 1, #m, j, table.move(m[r], 1, j - 1, 1, {})) end
    end
    return rest
end
local function det(m)
    if #m == 0 then return 1 end
    local sum = 0
    for j = 1, #m do
        if m[1][j] ~= 0 then sum = sum + (-1) ^ (j + 1) * m[1][j] * det(without(m, 1, j)) end
    end
    return sum
end
local function cofactors(m)
    local c = {}
    for i = 1, #m do
        c[i] = {}
        for j = 1, #m do c[i][j] = (-1) ^ (i + j) * det(without(m, i, j)) end
    end
    return c
end

local function shifted(n) -- nilpotent: each pivot is zero, the cofactor in one corner is not
    local m = {}
    for i = 1, n do
        m[i] = {}
        for j = 1, n do m[i][j] = j == i + 1 and 1 or 0 end
    end
    return m
end
local matrices = {
    { { 0 } }, { { 3 } }, { { 1, 2 }, { 2, 4 } }, { { 0, 1 }, { 0, 0 } }, { { 0, 0 }, { 0, 0 } }, { { 1, 2 }, { 3, 4 } },
    { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, { { 0, 0, 0 }, { 0, 2, 1 }, { 0, 3, 4 } }, { { 1, 0, 2 }, { 2, 0, 4 }, { 5, 0, 1 } },
    { { 1, 2, 3 }, { 2, 4, 6 }, { -1, -2, -3 } }, { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } }, { { 2, 1, 0 }, { 1, 3, 1 }, { 0, 1, 4 } },
    { { 1, 2, 0, 1 }, { 2, 4, 0, 2 }, { 1, 1, 1, 1 }, { 0, 3, 5, 2 } }, { { 1, 2, 3, 4 }, { 0, 1, 0, 1 }, { 1, 3, 3, 5 }, { 2, 5, 6, 9 } },
    { { 0, 1, 2, 0 }, { 0, 0, 3, 0 }, { 0, 0, 0, 0 }, { 0, 4, 0, 5 } }, shifted(4), shifted(7),
}
local batch = { { { 1, 2 }, { 2, 4 } }, { { 1, 2 }, { 3, 4 } }, { { 0, 0 }, { 0, 0 } }, { { 0, 0 }, { 5, 0 } } }

local function determinants(dev, dtype)
    local where = " " .. dtype .. " on " .. dev
    local tol = dtype == "f64" and 1e-13 or 1e-4
    local function leaf(v) return g.tensor(v, { dtype = dtype }):to(dev):requires_grad_() end
    for k, m in ipairs(matrices) do
        local a = leaf(m)
        t.close((g.grad(linalg.det(a) * 1, a):to "cpu"), cofactors(m), tol, "det's gradient of matrix " .. k .. where)
    end
    local a, w = leaf(batch), g.tensor({ 1, 2, 3, -4 }, { dtype = dtype }):to(dev)
    local want = {}
    for i, m in ipairs(batch) do want[i] = (g.tensor(cofactors(m), { dtype = dtype }) * ({ 1, 2, 3, -4 })[i]):tolist() end
    t.close((g.grad((linalg.det(a) * w):sum(), a):to "cpu"), want, tol, "of a batch" .. where)

    -- log |det| has a pole there
    a = leaf { { { 1, 2 }, { 2, 4 } }, { { 1, 2 }, { 3, 4 } } }
    local _, log = linalg.slogdet(a)
    t.is((g.grad(log:sum(), a):to "cpu":mul(2):round()), { { { inf, inf }, { inf, inf } }, { { -4, 3 }, { 2, -1 } } }, "slogdet's" .. where)
end
for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f64", "f32" } do determinants(dev, dtype) end
    local none = g.zeros(3, 0, 0):to(dev):requires_grad_()
    t.is(g.grad(linalg.det(none):sum(), none).shape, { 3, 0, 0 }, "det's gradient of 0x0 on " .. dev)
end

do -- the second derivative: that of two rows is linear; where a pivot is zero it is NaN, never another number
    local function second(m)
        local a = g.tensor(m, { dtype = "f64" }):requires_grad_()
        local d = g.grad(linalg.det(a), a, nil, { create_graph = true })
        return g.grad((d * g.tensor { { 1, 2 }, { 3, 4 } }):sum(), a)
    end
    t.close(second { { 1, 2 }, { 3, 4 } }, { { 4, -3 }, { -2, 1 } }, 1e-13, "det twice")
    t.ok(second({ { 1, 2 }, { 2, 4 } }):isnan():all():item(), "det twice of a singular matrix")
end

t.done()
