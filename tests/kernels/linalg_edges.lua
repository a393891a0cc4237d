--!plain
-- Linear algebra in edge cases: gradients of singular matrices, whose references are cofactors of
-- small integers.
local t = require "tap"
local g = require "gpush"
local linalg = g.linalg
local inf = math.huge

-- ---- determinants of singular matrices ----

local function without(m, i, j)
    local rest = {}
    for r = 1, #m do
        if r ~= i then
            rest[#rest + 1] = table.move(m[r], j + 1, #m, j, table.move(m[r], 1, j - 1, 1, {}))
        end
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
    { { 0 } }, { { 3 } }, { { 1, 2 }, { 2, 4 } }, { { 0, 1 }, { 0, 0 } }, { { 0, 0 }, { 0, 0 } },
    { { 1, 2 }, { 3, 4 } },
    { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }, { { 0, 0, 0 }, { 0, 2, 1 }, { 0, 3, 4 } },
    { { 1, 0, 2 }, { 2, 0, 4 }, { 5, 0, 1 } },
    { { 1, 2, 3 }, { 2, 4, 6 }, { -1, -2, -3 } }, { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
    { { 2, 1, 0 }, { 1, 3, 1 }, { 0, 1, 4 } },
    { { 1, 2, 0, 1 }, { 2, 4, 0, 2 }, { 1, 1, 1, 1 }, { 0, 3, 5, 2 } },
    { { 1, 2, 3, 4 }, { 0, 1, 0, 1 }, { 1, 3, 3, 5 }, { 2, 5, 6, 9 } },
    { { 0, 1, 2, 0 }, { 0, 0, 3, 0 }, { 0, 0, 0, 0 }, { 0, 4, 0, 5 } }, shifted(4), shifted(7),
}
local batch = { { { 1, 2 }, { 2, 4 } }, { { 1, 2 }, { 3, 4 } }, { { 0, 0 }, { 0, 0 } },
    { { 0, 0 }, { 5, 0 } } }

local function determinants(dev, dtype)
    local where = " " .. dtype .. " on " .. dev
    local tol = dtype == "f64" and 1e-13 or 1e-4
    local function leaf(v) return g.tensor(v, { dtype = dtype }):to(dev):requires_grad_() end
    for k, m in ipairs(matrices) do
        local a = leaf(m)
        t.close((g.grad(linalg.det(a) * 1, a):to "cpu"), cofactors(m), tol,
            "det's gradient of matrix " .. k .. where)
    end
    local a, w = leaf(batch), g.tensor({ 1, 2, 3, -4 }, { dtype = dtype }):to(dev)
    local want = {}
    for i, m in ipairs(batch) do
        want[i] = (g.tensor(cofactors(m), { dtype = dtype }) * ({ 1, 2, 3, -4 })[i]):tolist()
    end
    t.close((g.grad((linalg.det(a) * w):sum(), a):to "cpu"), want, tol, "of a batch" .. where)

    -- log |det| has a pole there: PyTorch's infinities, beside a regular matrix
    a = leaf { { { 1, 2 }, { 2, 4 } }, { { 1, 2 }, { 3, 4 } } }
    local sign, log = linalg.slogdet(a)
    t.is({ sign:tolist(), log[1]:item() }, { { 0, -1 }, -inf }, "sign and logarithm" .. where)
    t.is((g.grad(log:sum(), a):to "cpu":mul(2):round()),
        { { { -inf, inf }, { inf, -inf } }, { { -4, 3 }, { 2, -1 } } }, "slogdet's" .. where)
    local first = g.grad(g.linalg.slogdet(a):sum() * 0 + select(2, linalg.slogdet(a)):sum(), a, nil,
        { create_graph = true })
    local twice = g.grad(first[2]:sum(), a):to "cpu"
    t.ok(first[1]:isnan():all():item(), "slogdet's, to be differentiated" .. where)
    -- minus the inverse's sums of columns times those of rows
    t.close(twice[2]:tolist(), { { -0.5, 0.5 }, { 0.5, -0.5 } }, tol * 10,
        "its derivative" .. where)
end
for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f64", "f32" } do determinants(dev, dtype) end
    local none = g.zeros(3, 0, 0):to(dev):requires_grad_()
    t.is(g.grad(linalg.det(none):sum(), none).shape, { 3, 0, 0 },
        "det's gradient of 0x0 on " .. dev)
end

-- the second and third derivatives, by the elements of matrices without one and two of their rows
-- and columns, for all ranks; and with singular matrices beside regular ones
do
    local function without(m, i, j)
        local r = {}
        for y = 1, #m do
            local line = {}
            for x = 1, #m do if x ~= j then line[#line + 1] = m[y][x] end end
            if y ~= i then r[#r + 1] = line end
        end
        return r
    end
    local function determinant(m)
        if #m == 0 then return 1 end
        local sum = 0
        for j = 1, #m do
            local d = m[1][j] == 0 and 0 or determinant(without(m, 1, j))
            sum = sum + (j % 2 == 1 and 1 or -1) * m[1][j] * d
        end
        return sum
    end
    local function cofactor(m, i, j)
        return ((i + j) % 2 == 0 and 1 or -1) * determinant(without(m, i, j))
    end
    local function weight(i, j) return 0.5 + (i * 0.7 + j * 0.3) % 1 end
    -- d/d(m_kl) of the sum of weights times cofactors: cofactors of the matrix without i, j
    local function twice(m)
        local n, r = #m, {}
        for k = 1, n do
            r[k] = {}
            for l = 1, n do
                local sum = 0
                for i = 1, n do
                    for j = 1, n do
                        if i ~= k and j ~= l then
                            local s = (i + j) % 2 == 0 and 1 or -1
                            local y, x = k - (i < k and 1 or 0), l - (j < l and 1 or 0)
                            sum = sum + weight(i, j) * s * cofactor(without(m, i, j), y, x)
                        end
                    end
                end
                r[k][l] = sum
            end
        end
        return r
    end
    local function second(m, dtype)
        local a = g.tensor(m, { dtype = dtype }):requires_grad_()
        local w = g.empty(#m, #m, { dtype = dtype })
        for i = 1, #m do for j = 1, #m do w[i][j] = weight(i, j) end end
        local d = g.grad(linalg.det(a), a, nil, { create_graph = true })
        return g.grad((d * w):sum(), a)
    end
    local ranks = {
        { { 1, 2 }, { 3, 4 } }, { { 1, 2 }, { 2, 4 } }, { { 0, 0 }, { 0, 0 } }, { { 5 } },
        { { 0 } },
        { { 1, 2, 3 }, { 2, 4, 6 }, { 1, 0, 1 } }, { { 1, 2, 3 }, { 2, 4, 6 }, { 3, 6, 9 } },
        { { 0, 0, 1 }, { 0, 0, 0 }, { 0, 0, 0 } }, { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
        { { 0, 1, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 }, { 0, 0, 0, 0 } },
        { { 2, 0, 0, 1 }, { 0, 3, 0, 0 }, { 0, 0, 0, 0 }, { 4, 0, 0, 2 } },
        { { 1, 2, 3, 4 }, { 2, 4, 6, 8 }, { 3, 6, 9, 12 }, { 1, 1, 1, 1 } },
        { { 1, 2, 3, 4 }, { 2, 4, 6, 8 }, { 3, 6, 9, 12 }, { 4, 8, 12, 16 } },
        { { 1, 1e-9, 0 }, { 0, 1e-9, 0 }, { 0, 0, 1e-18 } },
    }
    for k, m in ipairs(ranks) do
        t.close(second(m, "f64"), twice(m), 1e-13 * 60, "det twice of matrix " .. k)
        t.close(second(m, "f32"), twice(m), 1e-6 * 60, "det twice of matrix " .. k .. " in f32")
    end
    -- thrice: of the 3x3 zeros the signs of permutations, through a sum of a line of the second
    local a = g.zeros(3, 3, { dtype = "f64" }):requires_grad_()
    local d = g.grad(linalg.det(a), a, nil, { create_graph = true })
    local keep = { create_graph = true, retain_graph = true }
    local dd = g.grad(d[1][1], a, nil, keep)
    t.close(g.grad(dd[2][2], a, nil, { retain_graph = true }),
        { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 1 } }, 1e-14, "det thrice")
    dd = g.grad(d[1][2], a, nil, { create_graph = true })
    t.close(g.grad(dd[2][1], a), { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, -1 } }, 1e-14, "and its sign")
    local some = { ranks[6], { { 2, 1, 0 }, { 1, 3, 1 }, { 0, 1, 4 } }, ranks[9] }
    local x = g.tensor(some, { dtype = "f64" }):requires_grad_()
    d = g.grad(linalg.det(x):sum(), x, nil, { create_graph = true })
    local w = g.tensor { { weight(1, 1), weight(1, 2), weight(1, 3) },
        { weight(2, 1), weight(2, 2), weight(2, 3) }, { weight(3, 1), weight(3, 2), weight(3, 3) } }
    t.close(g.grad((d * w:to "f64"):sum(), x), { twice(some[1]), twice(some[2]), twice(some[3]) },
        1e-6, "det twice of a batch")
end

t.done()
