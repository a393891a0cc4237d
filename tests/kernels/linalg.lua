-- Linear algebra beyond the table of cases: norms and functions of singular values, larger
-- matrices, batches, sizes of 0, and matrices without a result.
local t = require "tap"
local g = require "gpush"
local linalg = g.linalg
g.manual_seed(7)

local function T(x) return x:transpose(-1, -2) end
local function far(a, b) return a:numel() == 0 and 0 or (a - b):abs():amax():item() end
local function eye(n, dtype) return g.eye(n, n, {dtype = dtype or "f32"}) end
local eps = {f32 = 1.2e-7, f64 = 2.3e-16}

-- ---- larger matrices: blocks, panels, threads ----

for dtype, e in pairs(eps) do
    for _, n in ipairs {1, 2, 33, 150} do
        local many = n < 40
        local a = g.randn(many and {3, n, n} or {n, n}, {dtype = dtype})
        local well = a + eye(n, dtype) * (n + 5) -- far from singular
        local spd = a:matmul(T(a)) + eye(n, dtype) * n
        local b = g.randn(many and {3, n, 5} or {n, 5}, {dtype = dtype})
        local tol = 30 * n * e
        local name = n .. " " .. dtype
        local q, r = linalg.qr(a)
        t.ok(far(q:matmul(r), a) <= tol * 4, "qr " .. name)
        t.ok(far(T(q):matmul(q), eye(n, dtype)) <= tol, "qr, orthogonal " .. name)
        local l = linalg.cholesky(spd)
        t.ok(far(l:matmul(T(l)), spd) <= tol * n, "cholesky " .. name)
        t.ok(far(linalg.inv(well):matmul(well), eye(n, dtype)) <= tol, "inv " .. name)
        t.ok(far(well:matmul(linalg.solve(well, b)), b) <= tol * 4, "solve " .. name)
        t.ok(far(linalg.solve(well, T(b), false):matmul(well), T(b)) <= tol * 4,
            "solve from the right " .. name)
        local p, lower, upper = linalg.lu(a)
        t.ok(far(p:matmul(lower):matmul(upper), a) <= tol * 4, "lu " .. name)
        local w, v = linalg.eigh(spd)
        t.ok(far((v * w:unsqueeze(-2)):matmul(T(v)), spd) <= tol * n * 4, "eigh " .. name)
        t.ok(far(linalg.eigvalsh(spd), w) <= tol * n, "eigvalsh " .. name)
        local _, log = linalg.slogdet(spd)
        t.ok(far(log, w:log():sum(-1)) <= tol * 20,
            "slogdet is the sum of the values' logarithms " .. name)
        local tri = linalg.solve_triangular(l, b, false)
        t.ok(far(l:matmul(tri), b) <= tol * 4, "solve_triangular " .. name)
        local vr, _, xr = linalg.eig(spd)
        t.ok(far(vr:sort(-1), w) <= tol * n * 4, "eig of a symmetric matrix " .. name)
        t.ok(far((xr * xr):sum(-2), g.ones(1, {dtype = dtype})) <= tol, "eig, lengths " .. name)
    end
    local tall, b = g.randn({120, 40}, {dtype = dtype}), g.randn({120, 3}, {dtype = dtype})
    for _, driver in ipairs {"gels", "gelsy", "gelsd", "gelss"} do
        local x, residuals = linalg.lstsq(tall, b, nil, driver)
        t.ok(far(T(tall):matmul(b - tall:matmul(x)), g.zeros(1, {dtype = dtype})) <=
            2e4 * eps[dtype], driver .. ": what is left is orthogonal " .. dtype)
        t.ok(far(residuals, (b - tall:matmul(x)):square():sum(1)) <= 1e4 * eps[dtype],
            driver .. ": residuals " .. dtype)
        local y, none = linalg.lstsq(T(tall):contiguous(), b:narrow(1, 1, 40), nil, driver)
        t.ok(far(T(tall):matmul(y), b:narrow(1, 1, 40)) <= 1e3 * eps[dtype] and none:numel() == 0,
            driver .. ": more unknowns than equations " .. dtype)
    end
end

-- QR by blocks of reflections: shapes, each mode, signs, and columns of any size.
for dtype, e in pairs(eps) do
    for _, s in ipairs {{65, 65}, {49, 130}, {130, 49}, {95, 130}, {130, 97}, {97, 96}} do
        local m, n, low = s[1], s[2], math.min(s[1], s[2])
        local wide = g.randn({m, n}, {dtype = "f64"})
        wide["1:" .. m .. ", 5"] = 0 -- a zero column, and one that needs no reflection
        wide["2:" .. m .. ", 1"] = 0
        for _, scale in ipairs {1, dtype == "f32" and 1e-41 or 1e-310,
            dtype == "f32" and 1e36 or 1e305}
        do
            local a = (wide * scale):to {dtype = dtype}
            local tol, unit = 8 * math.sqrt(m + n) * e, a:to("f64"):abs():amax():item()
            for _, mode in ipairs {"reduced", "complete"} do
                local q, r = linalg.qr(a, mode)
                local name = ("qr of %d x %d, %s, %s, times %g"):format(m, n, dtype, mode, scale)
                local q64, r64 = q:to "f64", r:to("f64") / unit
                t.is({q.shape, r.shape}, mode == "reduced" and {{m, low}, {low, n}}
                    or {{m, m}, {m, n}}, name .. ": shapes")
                -- subnormal numbers have few bits
                local digits = unit * e < (dtype == "f32" and 2 ^ -149 or 2 ^ -1074) and 1e-3 or tol
                t.ok(far(q64:matmul(r64), a:to "f64" / unit) <= digits, name)
                t.ok(far(T(q64):matmul(q64), eye(q.shape[2], "f64")) <= tol, name .. ": orthogonal")
                t.is(r:tril(-1):abs():amax():item(), 0, name .. ": upper")
                t.ok(r[1][1]:item() == a[1][1]:item() and q[1][1]:item() == 1,
                    name .. ": a column that is done stays")
                t.ok((r[2][2]:item() > 0) ~= (a[2][2]:item() > 0),
                    name .. ": away from the diagonal's sign, as in LAPACK")
            end
            local full, only = select(2, linalg.qr(a)), select(2, linalg.qr(a, "r"))
            t.ok(full:equal(only), ("R alone, %d x %d %s"):format(m, n, dtype))
        end
    end
    local bad = g.randn({60, 60}, {dtype = dtype})
    bad[7][3] = 0 / 0
    t.ok(linalg.qr(bad):isnan():any():item(), "qr of a NaN " .. dtype)
    t.is(far(linalg.qr(g.zeros({60, 60}, {dtype = dtype})), eye(60, dtype)), 0,
        "qr of zeros " .. dtype)
end

-- Blocked reflections transform eigenvectors back from the tridiagonal form; near overflow or
-- underflow LAPACK does.
for dtype, e in pairs(eps) do
    local n = 290
    local s, junk = g.randn(n, n, {dtype = dtype}), g.randn(n, n, {dtype = dtype})
    s = s + T(s)
    for i, scale in ipairs {1, 1e-25, 1e25} do
        local upper = i == 2
        local given = s:tril() + junk:triu(1)
        if upper then given = s:triu() + junk:tril(-1) end
        local w, v = linalg.eigh(given * scale, upper and "U" or "L")
        local name = ("eigh %s, times %g: "):format(dtype, scale)
        t.ok(far((v * (w / scale):unsqueeze(-2)):matmul(T(v)), s) <= 100 * n * e, name .. "v w v'")
        t.ok(far(T(v):matmul(v), eye(n, dtype)) <= 10 * n * e, name .. "v' v")
        t.ok(w:diff():ge(0):all():item(), name .. "values rise")
    end
end

-- The threads do not change the bits of a batch.
local batch = g.randn(50, 20, 20)
local threads = g.threads()
g.threads(1)
local one = {linalg.qr(batch), linalg.inv(batch), linalg.det(batch), linalg.solve(batch, batch)}
g.threads(2)
local two = {linalg.qr(batch), linalg.inv(batch), linalg.det(batch), linalg.solve(batch, batch)}
g.threads(threads)
for i = 1, #one do
    t.ok(one[i]:eq(two[i]):all():item(), "the same bits with 1 and 2 threads, " .. i)
end
t.is(linalg.inv(batch[7]):tolist(), linalg.inv(batch)[7]:tolist(),
    "a matrix alone gives the bits that it has in a batch")

-- One matrix large enough for all threads; their result is close to that of one thread.
do
    local n = 470
    local a, b = (g.randn(n, n) + g.eye(n) * 60):roll(7, 1), g.randn(n, 3)
    local results = {}
    for k = 1, 2 do
        g.threads(k)
        local p, l, u = linalg.lu(a)
        t.ok(far(p:matmul(l):matmul(u), a) <= 1e-3, k .. " threads: lu " .. n)
        t.ok(far(linalg.inv(a):matmul(a), g.eye(n)) <= 1e-3, k .. " threads: inv " .. n)
        t.ok(far(a:matmul(linalg.solve(a, b)), b) <= 1e-3, k .. " threads: solve " .. n)
        local twins = g.stack {a, a}
        t.is(far(linalg.inv(twins)[1], linalg.inv(twins)[2]), 0,
            k .. " threads: twins have one inverse")
        local sign, log = linalg.slogdet(a)
        results[k] = {sign:item(), log:item()}
    end
    t.is(results[2][1], results[1][1], "slogdet: the same sign with 1 and 2 threads")
    t.close(results[2][2], results[1][2], 1e-5, "slogdet: the same logarithm with 1 and 2 threads")
    g.threads(threads)
end

for _, dtype in ipairs { "f32", "f64" } do
    local inv = linalg.inv(eye(3, dtype))
    t.is(tostring(inv):find "%-0", nil, "no -0 in the inverse of the identity, " .. dtype)
end

-- Small matrices with row exchanges, in batches, transposed, and singular ones.
for dtype, e in pairs(eps) do
    for _, n in ipairs {1, 2, 3, 7, 8, 9, 16, 23, 31, 32, 33} do
        local a = (g.randn({5, n, n}, {dtype = dtype}) + eye(n, dtype) * 4 * math.sqrt(n)):roll(
            n // 2, 2)
        local inv, name = linalg.inv(a), n .. " " .. dtype
        t.ok(far(inv:matmul(a), eye(n, dtype):expand(5, n, n)) <= 30 * n * e,
            "inv of a batch " .. name)
        t.ok(far(linalg.inv(a[3]), inv[3]) == 0, "one of them alone " .. name)
        t.ok(far(linalg.inv(T(a)), T(inv)) <= 30 * e, "inv of transposed ones " .. name)
        t.is(linalg.inv(eye(n, dtype):roll(1, 1)):tolist(), eye(n, dtype):roll(-1, 1):tolist(),
            "inv of a permutation " .. name)
        a[4] = 0
        local _, info = linalg.inv_ex(a)
        t.is(info:tolist(), {0, 0, 0, 1, 0}, "inv_ex tells which is singular " .. name)
        local ok, message = pcall(linalg.inv, a)
        t.ok(not ok and message:find("matrix [4] of the batch is singular", 1, true),
            "as inv does " .. name)
    end
end

-- Inverses and equations of sizes close to the blocks of large ones, also of transposed and
-- singular matrices.
for dtype, e in pairs(eps) do
    for _, n in ipairs {191, 192, 256, 257, 300, 383, 384, 447, 448} do
        -- rows must be exchanged
        local a = (g.randn({n, n}, {dtype = dtype}) + eye(n, dtype) * 60):roll(7, 1)
        local inv = linalg.inv(a)
        t.ok(far(inv:matmul(a), eye(n, dtype)) <= 30 * n * e, "inv " .. n .. " " .. dtype)
        t.ok(far(linalg.inv(T(a)), T(inv)) <= 30 * e, "inv of a transposed " .. n .. " " .. dtype)
        for _, cols in ipairs {1, 5, 16, 70, 150} do
            local x = g.randn({n, cols}, {dtype = dtype})
            local y, name = a:matmul(x), n .. ", " .. cols .. " sides, " .. dtype
            t.ok(far(linalg.solve(a, y), x) <= 30 * n * e, "solve " .. name)
            t.ok(far(linalg.solve(T(a), T(y), false), T(x)) <= 30 * n * e,
                "solve from the right " .. name)
        end
        -- det(I + u u') = 1 + u'u; each of 7 rows passes n - 1 others
        local u = g.randn({n, 1}, {dtype = dtype})
        local sign, log = linalg.slogdet((eye(n, dtype) + u:matmul(T(u))):roll(7, 1))
        t.is(sign:item(), n % 2 == 0 and -1 or 1, "slogdet, the sign " .. n .. " " .. dtype)
        t.ok(far(log, (1 + u:square():sum()):log()) <= 30 * n * e,
            "slogdet, the logarithm " .. n .. " " .. dtype)
        a[n - 1] = 0
        t.is(linalg.slogdet(a):item(), 0, "slogdet, the sign of a singular " .. n .. " " .. dtype)
        t.ok(not pcall(linalg.inv, a), "inv of a singular " .. n .. " " .. dtype)
        t.ok(not pcall(linalg.solve, a, a), "solve with a singular " .. n .. " " .. dtype)
        t.ok(select(2, linalg.inv_ex(a)):item() > 0,
            "inv_ex tells of a singular " .. n .. " " .. dtype)
    end
end

-- Batches broadcast; views of every kind.
local a, b = g.randn({4, 1, 3, 3}, {dtype = "f64"}) + eye(3, "f64") * 4,
    g.randn({5, 3, 2}, {dtype = "f64"})
local x = linalg.solve(a, b)
t.is(x.shape, {4, 5, 3, 2}, "solve broadcasts batches")
t.ok(far(a:matmul(x), b) < 1e-13, "and is right")
t.is(linalg.solve_triangular(a:tril(), b, false).shape, {4, 5, 3, 2},
    "solve_triangular broadcasts batches")
t.is(linalg.solve(a[1]:expand(6, 3, 3), g.ones(6, 3, {dtype = "f64"})).shape, {6, 3},
    "a vector for each matrix")
t.is(linalg.solve(a, g.ones(3, {dtype = "f64"})).shape, {4, 1, 3}, "one vector for all")
t.ok(far(linalg.inv(T(a)), T(linalg.inv(a))) < 1e-14, "the inverse of a transposed view")
t.ok(far(linalg.inv(a:flip(-1):flip(-1)), linalg.inv(a)) == 0, "and of a copy")

-- ---- sizes of 0 ----

local z = {dtype = "f64"}
t.is(linalg.det(g.zeros({2, 0, 0}, z)):tolist(), {1, 1}, "det of nothing is 1")
local sign, log = linalg.slogdet(g.zeros({0, 0}, z))
t.is({sign:item(), log:item()}, {1, 0}, "slogdet of nothing")
for _, shape in ipairs {{0, 0}, {2, 0, 0}, {0, 3, 3}} do
    local e = g.zeros(shape, z)
    local name = table.concat(shape, "x")
    t.is(linalg.inv(e).shape, shape, "inv of " .. name)
    t.is(linalg.cholesky(e).shape, shape, "cholesky of " .. name)
    t.is(select(2, linalg.eigh(e)).shape, shape, "eigh of " .. name)
    t.is(select(3, linalg.eig(e)).shape, shape, "eig of " .. name)
    t.is(linalg.solve(e, e).shape, shape, "solve of " .. name)
    t.is(linalg.matrix_power(e, 3).shape, shape, "matrix_power of " .. name)
end
for _, case in ipairs {{{3, 0}, {3, 0}, {0, 0}, {3, 3}}, {{0, 3}, {0, 0}, {0, 3}, {0, 0}},
    {{0, 4, 3}, {0, 4, 3}, {0, 3, 3}, {0, 4, 4}}}
do
    local e = g.zeros(case[1], z)
    local q, r = linalg.qr(e)
    t.is({q.shape, r.shape, linalg.qr(e, "complete").shape}, {case[2], case[3], case[4]},
        "qr of " .. table.concat(case[1], "x"))
    local p, l, u = linalg.lu(e)
    t.is({l:matmul(u).shape, p:matmul(l).shape}, {e.shape, l.shape},
        "lu of " .. table.concat(case[1], "x"))
end
t.is(linalg.qr(g.zeros({3, 0}, z), "complete"):tolist(), eye(3, "f64"):tolist(),
    "Q without columns of x is the identity")
t.is(linalg.solve(eye(3), g.zeros(3, 0)).shape, {3, 0}, "solve without right sides")
local s0, r0, k0 = linalg.lstsq(g.zeros({3, 0}, z), g.tensor({{1.0, 2}, {3, 4}, {5, 6}}, z))
t.is({s0.shape, r0:tolist(), k0:item()}, {{0, 2}, {35, 56}, 0}, "lstsq without unknowns")
t.is(linalg.lstsq(g.zeros({0, 2}, z), g.zeros({0, 1}, z)):tolist(), {{0}, {0}},
    "lstsq without equations")
t.is({linalg.pinv(g.ones(0, 3)).shape, linalg.matrix_rank(g.ones(2, 0, 3)):tolist(),
    linalg.cond(g.ones(0, 0)):item()}, {{3, 0}, {0, 0}, 0}, "pinv, rank and cond of nothing")

-- ---- no result ----

local good = eye(3)
local three = g.stack {good, good, good, good, good, good}:reshape(2, 3, 3, 3)
for _, device in ipairs {"cpu", "sim"} do
    local bad = three:to {dtype = "f64"}
    bad[2][1]:fill_(0)
    bad = bad:to(device)
    for name, fn in pairs {inv = function(m) return linalg.inv(m) end,
        solve = function(m) return linalg.solve(m, m) end}
    do
        t.error(function() return fn(bad):tolist() end,
            "linalg." .. name .. ": matrix %[2%]%[1%] of the batch is singular",
                name .. ", a batch on " .. device)
        t.error(function() return fn(bad[2][1]):tolist() end,
            "linalg." .. name .. ": the matrix is singular", name .. ", one on " .. device)
    end
    t.error(function() return linalg.cholesky(-bad):tolist() end,
        "linalg.cholesky: matrix %[1%]%[1%] of the batch is not positive definite",
            "cholesky on " .. device)
    local _, info = linalg.inv_ex(bad)
    t.is(info:tolist(), {{0, 0, 0}, {1, 0, 0}}, "inv_ex says which, on " .. device)
    _, info = linalg.cholesky_ex(bad)
    t.is(info:tolist(), {{0, 0, 0}, {1, 0, 0}}, "cholesky_ex too, on " .. device)
    t.is(linalg.det(bad):tolist(), {{1, 1, 1}, {0, 1, 1}}, "det is 0, on " .. device)
    local sg, lg = linalg.slogdet(bad)
    t.is({sg[2][1]:item(), lg[2][1]:item()}, {0, -math.huge},
        "slogdet is 0 and -inf, on " .. device)
end
for _, v in ipairs {0 / 0, math.huge} do
    local m = g.stack {good, good * v}
    for _, name in ipairs {"eigh", "eigvalsh", "eig", "eigvals"} do
        t.error(function() return linalg[name](m) end,
            "linalg." .. name .. ": matrix %[2%] of the batch contains NaN or infinite",
                name .. " of " .. v)
    end
    t.error(function() return linalg.lstsq(good * v, good) end,
        "linalg.lstsq: the matrix contains NaN or infinite", "lstsq of " .. v)
end
t.is(linalg.eigvalsh(good + g.full({3, 3}, 0 / 0):triu(1)):tolist(), {1, 1, 1},
    "eigvalsh reads one triangle")
t.ok(linalg.solve(good, g.full({3}, 0 / 0)):isnan():all():item(), "NaN on the right side stays")
t.error(function()
    return linalg.lstsq(g.tensor({{1.0, 0}, {0, 0}, {0, 0}}), g.ones(3, 1), nil, "gels")
end, "linalg.lstsq: the matrix does not have full rank", "gels wants full rank")
t.is(select(3, linalg.lstsq(g.ones(3, 2), g.ones(3, 1))):item(), 1, "gelsy finds the rank")
t.close(linalg.lstsq(g.ones(3, 2), g.ones(3, 1)), {{0.5}, {0.5}}, 1e-6, "and the shortest solution")
for _, bad in ipairs {{"inv", g.ones(2, 3)}, {"det", g.ones(2, 3)}, {"eigh", g.ones(3)},
    {"cholesky", g.ones(3, 2)}, {"qr", g.ones(3)}, {"lu", g.ones({})}}
do
    t.error(function() return linalg[bad[1]](bad[2]) end, bad[1] .. ": argument 'x' is f32",
        bad[1] .. " of a wrong shape")
end
t.error(function() return linalg.solve(good, g.ones(3, {dtype = "f64"})) end,
    "solve: argument 'a' is f32 and argument 'b' f64", "two dtypes")
t.error(function() return linalg.solve(good, g.ones(3), false) end, "solve: argument 'b' is f32 3",
    "a vector on the left")
t.error(function() return linalg.solve(good, good:to "sim") end, "different devices", "two devices")
t.error(function() return linalg.solve(three, g.ones(5, 3, 2)) end, "solve",
    "batches that do not broadcast")

-- ---- norms, by plain loops ----

local m = g.tensor({{1.0, -2, 3}, {-4, 5, 6.5}}, z)
local v = g.tensor({3.0, -4, 0, 12}, z)
for p, want in pairs {[2] = 13, [1] = 19, [0] = 3, [math.huge] = 12, [-math.huge] = 0,
    [3] = (27 + 64 + 1728) ^ (1 / 3), [0.5] = (3 ^ 0.5 + 2 + 12 ^ 0.5) ^ 2}
do
    t.close(linalg.vector_norm(v, p), want, 1e-14, "vector_norm " .. p)
    t.close(linalg.norm(v, p), want, 1e-14, "norm of a vector, " .. p)
end
t.close(linalg.vector_norm(m, 1, 1), {5, 7, 9.5}, 1e-15, "along a dim")
t.close(linalg.vector_norm(m, 1, {1, 2}, true), {{21.5}}, 1e-15, "keepdim")
t.is(linalg.vector_norm(g.full({4}, 200, {dtype = "f16"})):item(), 400,
    "f16 does not overflow on the way")
t.is(linalg.vector_norm(v:to {dtype = "f32"}, 2, nil, false, "f64").dtype, "f64", "dtype")
t.error(function() return linalg.vector_norm(g.ones(3, {dtype = "i64"})) end,
    "vector_norm: dtype i64", "integers")
local fro = math.sqrt(1 + 4 + 9 + 16 + 25 + 6.5 ^ 2)
local sv = linalg.svdvals(m):tolist() -- checked in svd.lua
for ord, want in pairs {fro = fro, [1] = 9.5, [-1] = 5, [math.huge] = 15.5, [-math.huge] = 6,
    [2] = sv[1], [-2] = sv[2], nuc = sv[1] + sv[2]}
do
    t.close(linalg.norm(m, ord), want, 1e-14, "norm of a matrix, " .. ord)
    t.close(linalg.matrix_norm(g.stack {m, m * 2}, ord), {want, 2 * want}, 1e-14,
        "matrix_norm " .. ord)
    t.close(linalg.matrix_norm(T(m):unsqueeze(2), ord, {3, 1}, true), {{{want}}}, 1e-14,
        "matrix_norm of dims 3 and 1, " .. ord)
end
t.close(linalg.norm(g.ones(2, 2, 2)), math.sqrt(8), 1e-6, "norm without ord: of all elements")
t.close(linalg.matrix_norm(m, "-inf"), 6, 1e-14, "'-inf' as text")
t.error(function() return linalg.norm(g.ones(2, 2, 2), 2) end, "linalg.norm: 3 dims",
    "ord for three dims")
t.error(function() return linalg.norm(m, 3) end, "linalg.norm: argument 'ord' is 3",
    "an order that matrices do not have")
t.error(function() return linalg.norm(v, "fro") end, "linalg.norm: argument 'ord' is fro",
    "fro of a vector")
t.error(function() return linalg.matrix_norm(m, 2, {1, 1}) end, "linalg.matrix_norm: dims 1 and 1",
    "one dim twice")

-- ---- functions of singular values ----

local low = g.randn({2, 5, 2}, z):matmul(g.randn({2, 2, 4}, z))
t.is(linalg.matrix_rank(low):tolist(), {2, 2}, "matrix_rank")
t.is(linalg.matrix_rank(g.tensor({{2.0, 0}, {0, 1e-3}}), 1e-2):item(), 1, "atol")
t.is(linalg.matrix_rank(g.tensor({{2.0, 0}, {0, -1}}), nil, 0.6, true):item(), 1, "rtol, symmetric")
-- A tolerance for each matrix: PyTorch 2.15's results.
for _, dev in ipairs {"cpu", "sim"} do
    local o = {dtype = "f64", device = dev}
    local m = g.diag_embed(g.tensor({{3.0, 1, 0.25}, {5.0, 2, 0.5}}, o))
    local function each(...) return g.tensor({...}, o) end
    t.is(linalg.matrix_rank(m, each(0.3, 1)):tolist(), {2, 2}, "atol for each matrix on " .. dev)
    t.is(linalg.matrix_rank(m, each(0.3, 3), each(0.5, 0.05)):tolist(), {1, 1}, "and rtol")
    t.is(linalg.matrix_rank(m, {rtol = each(0.2, 0.6)}):tolist(), {2, 1}, "rtol alone")
    t.is(linalg.matrix_rank(m, each(0, 3)):tolist(), {3, 1}, "an atol of 0 leaves the default rtol")
    t.is(linalg.matrix_rank(m, g.tensor({{0.3, 1}, {2, 2}}, o)):tolist(), {{2, 2}, {1, 1}},
        "tolerances that the batch is broadcast with")
    t.close(linalg.pinv(m, {rtol = each(0.1, 0.3)}):diagonal(0, 2, 3),
        {{1 / 3, 1, 0}, {0.2, 0.5, 0}}, 1e-12, "pinv by an rtol for each on " .. dev)
    t.close(linalg.pinv(m, each(0.3, 3)):diagonal(0, 2, 3), {{1 / 3, 1, 0}, {0.2, 0, 0}}, 1e-12,
        "pinv by an atol for each on " .. dev)
end
t.error(function() linalg.matrix_rank(low, -1) end,
    "argument 'atol': expected a number >= 0 or a tensor, got %-1", "a negative tolerance")
local p = linalg.pinv(low)
t.is(p.shape, {2, 4, 5}, "pinv's shape")
t.ok(far(low:matmul(p):matmul(low), low) < 1e-12 and far(p:matmul(low):matmul(p), p) < 1e-12,
    "pinv: x p x = x, p x p = p")
t.ok(far(T(low:matmul(p)), low:matmul(p)) < 1e-12 and far(T(p:matmul(low)), p:matmul(low)) < 1e-12,
    "x p and p x are symmetric")
local sym = low:matmul(T(low))
t.ok(far(linalg.pinv(sym, nil, nil, true), linalg.pinv(sym)) < 1e-8, "pinv of symmetric matrices")
t.close(linalg.cond(g.tensor({{3.0, 0}, {0, -0.5}}, z)), 6, 1e-14, "cond")
t.close(linalg.cond(g.tensor({{3.0, 0}, {0, -0.5}}, z), -2), 1 / 6, 1e-14, "cond -2")
t.close(linalg.cond(g.tensor({{3.0, 1}, {0, -0.5}}, z), 1), 3 * (2 + 2 / 3), 1e-14, "cond 1")
t.is(linalg.cond(g.zeros(2, 2, 2), 1):tolist(), {math.huge, math.huge}, "cond of singular matrices")
t.close(g.logdet(g.tensor({{2.0, 1}, {0, 3}}, z)), math.log(6), 1e-15, "logdet")
t.ok(g.logdet(g.tensor({{-2.0}})):isnan():item(), "logdet of a negative determinant")

t.done()
