--!plain
-- Linear algebra of matrices with NaN and infinities, which must never come to look like numbers,
-- by the same rules on every device; and of those beside them in a batch, which must not change.
local t = require "tap"
local g = require "gpush"
local linalg = g.linalg
local nan, inf = 0 / 0, math.huge

local function all_nan(x) return x:isnan():all():item() end
local function some_not_finite(x) return not x:isfinite():all():item() end
local function first(x) return type(x) == "table" and x[1] or x end
local function refused(f, ...) -- at once, or on a device where the result is read
    local function run(...) first(f(...)):tolist() end
    local ok, why = pcall(run, ...)
    return not ok and tostring(why):find("contains NaN or infinite elements", 1, true) ~= nil
end

-- ---- any element of a matrix ----

-- a: n x n with a bad element in (i, j)
local function spoilt(a, i, j, bad)
    local n = a.shape[1]
    local b = g.ones(n, 2, { dtype = a.dtype, device = a.device })
    local wrong = {}
    local function check(ok, what) if not ok then wrong[#wrong + 1] = what end end
    local x, info = linalg.inv_ex(a)
    check(all_nan(x), "inv_ex")
    check(info:item() == 0, "info")
    for name, f in pairs { solve = linalg.solve,
        left = function(m, r) return linalg.solve(m, r:t(), false) end,
        vector = function(m, r) return linalg.solve(m, r:select(2, 1)) end }
    do
        local ok, is = pcall(function() return all_nan(f(a, b)) end)
        check(ok and is, name)
    end
    local _, l, u = linalg.lu(a)
    check(all_nan(l) and all_nan(u), "lu")
    check(all_nan((linalg.lu_factor(a))), "lu_factor")
    check(some_not_finite(linalg.det(a)), "det")
    check(some_not_finite(select(2, linalg.slogdet(a))), "slogdet")
    local q, r = linalg.qr(a)
    check(n == 1 or some_not_finite(r), "qr")
    if j < n then
        check(all_nan(q:narrow(2, j, n - j + 1)) and some_not_finite(r:narrow(2, j, 1))
            and all_nan(r:select(2, n):narrow(1, j, n - j + 1)), "qr from the column on")
    end
    if j <= i then
        check(select(2, linalg.cholesky_ex(a)):item() > 0 or bad == inf, "cholesky_ex")
    end
    if n < (tostring(a.device) == "cpu" and 100 or 10) then
        for _, name in ipairs { "svd", "svdvals", "eig", "eigvals", "pinv", "matrix_rank" } do
            check(refused(linalg[name], a), name)
        end
        check(refused(linalg.lstsq, a, b), "lstsq")
        if j <= i then check(refused(linalg.eigh, a) and refused(linalg.eigvalsh, a), "eigh") end
    end
    return table.concat(wrong, ", ")
end

local function everywhere(dev, dtype)
    for _, n in ipairs(dev == "cpu" and { 1, 2, 3, 4, 5, 40, 200 } or { 1, 2, 3, 5, 40 }) do
        for _, bad in ipairs { nan, inf, -inf } do
            local wrong, step = "", n > 5 and n // 2 - 1 or 1
            for i = 1, n, step do
                for j = 1, n, step do
                    local a = g.eye(n, { dtype = dtype }) * 4 +
                        g.arange(1, n * n, { dtype = dtype }):view(n, n):sin()
                    a[i][j] = bad
                    a = a:to(dev)
                    if (i + j) % 3 == 0 then a = a:t():contiguous():t() end
                    local e = spoilt(a, i, j, bad)
                    if e ~= "" then wrong = ("%s; %d,%d: %s"):format(wrong, i, j, e) end
                end
            end
            t.is(wrong, "", ("%s in %d x %d, %s on %s"):format(bad, n, n, dtype, dev))
        end
    end
end

-- ---- one of a batch, separate rows, and the right-hand sides ----

local function one_of_three(dev, dtype, n)
    local where = (", %d, %s on %s"):format(n, dtype, dev)
    local wide = g.randn(3, n, 2 * n, { dtype = dtype })
    local a = wide["1:3, 1:" .. n .. ", 1:" .. 2 * n .. ":2"] + g.eye(n, { dtype = dtype }) * 9
    local spoilt_one = g.zeros(3, n, 2 * n, { dtype = dtype }):to(dev)
    local view = spoilt_one["1:3, 1:" .. n .. ", 1:" .. 2 * n .. ":2"]
    a = a:to(dev)
    view:copy_(a)
    view[2][1][n] = nan
    local function same(x, want)
        return all_nan(x[2]) and x[1]:equal(want[1]) and x[3]:equal(want[3])
    end
    local b = g.randn(n, 3, { dtype = dtype }):to(dev)
    t.ok(same(linalg.inv(view), linalg.inv(a)), "inv of one of a batch" .. where)
    t.ok(same((linalg.lu_factor(view)), (linalg.lu_factor(a))), "lu_factor" .. where)
    t.ok(same(linalg.solve(view, b), linalg.solve(a, b)), "solve" .. where)
    t.ok(same(linalg.det(view), linalg.det(a)), "det" .. where)
    local _, l, u = linalg.lu(view)
    local _, ll, uu = linalg.lu(a)
    t.ok(same(l, ll) and same(u, uu), "lu" .. where)
    local q, r = linalg.qr(view.mT)
    local qq, rr = linalg.qr(a.mT)
    t.ok(q[1]:equal(qq[1]) and q[3]:equal(qq[3]) and r[1]:equal(rr[1]) and r[3]:equal(rr[3])
        and all_nan(q[2]), "qr" .. where)
    local clean = linalg.solve(a[1], b)
    b[2][2] = nan
    local y = linalg.solve(a[1], b)
    t.ok(all_nan(y:select(2, 2))
        and (y:select(2, 1) - clean:select(2, 1)):abs():max():item() < 1e-5,
            "one right side" .. where)
end

-- ---- QR of every shape: from the first column with NaN on, by the rule written out ----

-- Masks of Q (m x cols) and R (rows x n) for NaN in the columns bad[j].
local function qr_masks(m, n, cols, rows, bad)
    local from = math.huge -- the first reflection of NaN: the last row needs none
    for j = math.min(m - 1, n), 1, -1 do if bad[j] then from = j end end
    local q, r = {}, {}
    for i = 1, m do
        q[i] = {}
        for j = 1, cols do q[i][j] = j >= from end
    end
    for i = 1, rows do
        r[i] = {}
        for j = 1, n do
            r[i][j] = i <= j and (bad[j] or j >= from and i >= from) or false
        end
    end
    return q, r, from
end

local function factors(dev, dtype)
    for _, row in ipairs { { 6, 4, { 2 } }, { 6, 4, { 4 } }, { 4, 6, { 2, 5 } }, { 4, 6, { 4 } },
        { 4, 6, { 6 } }, { 5, 5, { 5 } }, { 5, 5, { 1 } }, { 3, 1, { 1 } }, { 1, 3, { 2 } },
        { 5, 5, {} }, { 120, 110, { 100 } }, { 150, 160, { 100, 155 } } }
    do
        local m, n, bad, list = row[1], row[2], {}, table.concat(row[3], " and ")
        local x = g.arange(1, 2 * m * n, { dtype = dtype }):view(2, m, n):sin() +
            g.eye(m, n, { dtype = dtype }) * 9
        local good = x:clone():to(dev)
        for _, j in ipairs(row[3]) do bad[j], x[2][(m + 1) // 2][j] = true, nan end
        x = x:to(dev)
        local where = (" of %d x %d with NaN in columns %s, %s on %s"):format(
            m, n, list, dtype, dev)
        for _, mode in ipairs { "reduced", "complete" } do
            local k = mode == "complete" and m or math.min(m, n)
            local q, r = linalg.qr(x, mode)
            local want_q, want_r = linalg.qr(good, mode)
            local mask_q, mask_r, from = qr_masks(m, n, k, k, bad)
            t.is(q[2]:isnan(), mask_q, mode .. " Q" .. where)
            t.is(r[2]:isnan(), mask_r, mode .. " R" .. where)
            t.ok(q[1]:equal(want_q[1]) and r[1]:equal(want_r[1]), "the one before it" .. where)
            local clean = math.min(from - 1, k, n)
            if clean > 0 and from <= n then
                t.close(q[2]:narrow(2, 1, clean):to "cpu",
                    want_q[2]:narrow(2, 1, clean):to "cpu":tolist(), 1e-4,
                    mode .. " Q's columns before it" .. where)
                local seen = g.tensor(mask_r):logical_not():to(dtype):to(dev)
                t.close((r[2]:nan_to_num() * seen):to "cpu", (want_r[2] * seen):to "cpu":tolist(),
                    1e-3, mode .. " R's rows before it" .. where)
            end
        end
        local only = select(2, linalg.qr(x, "r"))
        t.is(only[2]:isnan(), (select(2, linalg.qr(x)))[2]:isnan():tolist(), "R alone" .. where)
    end
end

local function small_and_large(dev, dtype)
    local where = (", %s on %s"):format(dtype, dev)
    local q, r = linalg.qr(g.tensor({ { 1, nan, 0 }, { 2, 1, 0 }, { 0, 0, 1 } },
        { dtype = dtype }):to(dev))
    t.is(r:isnan(), { { false, true, false }, { false, true, true }, { false, false, true } },
        "qr of NaN: R" .. where)
    t.is(q:isnan(), { { false, true, true }, { false, true, true }, { false, true, true } },
        "Q" .. where)
    local big = g.eye(60, { dtype = dtype })
    big[10][20] = nan
    q = linalg.qr(big:to(dev))
    t.ok(all_nan(q:narrow(2, 20, 41)), "of a larger one" .. where)
end

-- ---- Cholesky: NaN is not positive definite ----

local function cholesky(dev, dtype)
    for i, m in ipairs { { { nan, 1 }, { 1, 1 } }, { { 1, 2 }, { 2, nan } },
        { { 1, nan, 0 }, { nan, 2, 0 }, { 0, 0, 1 } } }
    do
        local a = g.tensor(m, { dtype = dtype }):to(dev)
        for _, upper in ipairs { false, true } do
            local where = (" of NaN %d, %s%s on %s"):format(
                i, dtype, upper and ", upper" or "", dev)
            local _, info = linalg.cholesky_ex(a, upper)
            t.is(info:item(), i == 1 and 1 or 2, "cholesky_ex" .. where)
            t.error(function() linalg.cholesky(a, upper):sum():item() end,
                "not positive definite", "cholesky" .. where)
        end
    end
    -- a batch, and one that a library takes alone: the first failure counts, and of one triangle
    local a = g.eye(90, { dtype = dtype })
    a[30][10], a[60][60], a[10][50] = nan, -1, nan
    local _, info = linalg.cholesky_ex(a:to(dev))
    t.is(info:item(), 30, ("NaN before a negative pivot, %s on %s"):format(dtype, dev))
    a[30][10], a[70][7] = 0, nan
    _, info = linalg.cholesky_ex(a:to(dev))
    t.is(info:item(), 60, ("NaN after it, %s on %s"):format(dtype, dev))
    local few = g.stack { g.eye(3), g.eye(3), g.eye(3) }:to(dtype)
    few[2][3][1], few[3][2][2] = nan, -1
    local l
    l, info = linalg.cholesky_ex(few:to(dev))
    t.is(info:tolist(), { 0, 3, 2 }, ("of a batch, %s on %s"):format(dtype, dev))
    t.is(l[1]:tolist(), g.eye(3):tolist(), ("beside NaN, %s on %s"):format(dtype, dev))
    t.error(function() linalg.cholesky(few:to(dev)):tolist() end,
        "linalg.cholesky: matrix %[2%] of the batch is not positive definite",
        ("which one, %s on %s"):format(dtype, dev))
end

-- ---- the rest ----

local function rest(dev, dtype)
    local where = (", %s on %s"):format(dtype, dev)
    local options = { dtype = dtype }
    local x, info = linalg.inv_ex(g.tensor({ { 1, nan, 0 }, { 2, 1, 0 }, { 0, 0, 1 } },
        options):to(dev))
    t.ok(all_nan(x) and info:item() == 0, "inv_ex of NaN: no pivot is zero" .. where)
    -- what is left without the NaN is singular, and no error
    local zeros = g.zeros(2, 3, 3, options)
    zeros[1], zeros[2][2][3] = g.eye(3, options), nan
    x, info = linalg.inv_ex(zeros:to(dev))
    t.ok(all_nan(x[2]) and x[1]:equal(g.eye(3, options):to(dev)), "NaN among zeros" .. where)
    t.is(info:tolist(), { 0, 0 }, "its info" .. where)
    t.ok(all_nan(linalg.inv(zeros:to(dev))[2]), "inv of it" .. where)
    t.ok(all_nan(linalg.solve(zeros:to(dev), g.ones(3, options):to(dev))[2]), "solve" .. where)
    t.ok(all_nan(linalg.solve(zeros:to(dev), g.ones(2, 3, 2, options):to(dev))[2]),
        "solve, two sides" .. where)
    t.is(linalg.solve(zeros:to(dev), g.ones(2, 3, 0, options):to(dev)).shape, { 2, 3, 0 },
        "solve for no side" .. where)
    t.ok(linalg.det(zeros:to(dev)):isnan():equal(g.tensor { false, true }:to(dev)), "det" .. where)
    local sign, log = linalg.slogdet(zeros:to(dev))
    t.ok(all_nan(sign[2]) and all_nan(log[2]) and log[1]:item() == 0, "slogdet" .. where)
    t.is(linalg.det(g.tensor({ { inf, 0 }, { 0, -1 } }, options):to(dev)):item(), -inf,
        "det of an infinity is one" .. where)
    local p, l, u = linalg.lu(g.tensor({ { 0, nan, 1 }, { 2, 1, 5 } }, options):to(dev))
    t.ok(all_nan(l) and all_nan(u) and p:sum():item() == 2 and p:amax():item() == 1,
        "lu, wide: P is a permutation" .. where)
    t.ok(all_nan((linalg.lu_factor(g.full({ 4, 2 }, -inf, options):to(dev)))),
        "lu_factor, tall" .. where)
end

for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f64", "f32" } do
        everywhere(dev, dtype)
        for _, n in ipairs { 3, 40 } do one_of_three(dev, dtype, n) end
        factors(dev, dtype)
        small_and_large(dev, dtype)
        cholesky(dev, dtype)
        rest(dev, dtype)
    end
end

-- The search for NaN does not wait for the device.
do
    local a = g.tensor { { { 2, 1 }, { 1, 2 } }, { { nan, 0 }, { 0, 1 } } }:to "sim"
    local function queue()
        for _, name in ipairs { "cholesky_ex", "qr", "lu", "lu_factor", "inv_ex", "inv", "det",
            "slogdet" }
        do
            linalg[name](a)
        end
        return linalg.solve(a, a)
    end
    g.sync.mode = "error"
    local ok, x = pcall(queue)
    g.sync.mode = "off"
    t.ok(ok and all_nan(x[2]), "nothing waits for the search: " .. tostring(x))
end
t.done()
