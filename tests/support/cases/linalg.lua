--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: factorizations and equations. References are Gaussian
-- elimination written here, and the defining equations of a factorization.
local g = require "gpush"
local A = require "arrays"
local build, get, as = A.build, A.get, A.as
local C = {}

local WIDE = {f64 = true, f32 = true}
local REAL = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true, i32 = true, i16 = true,
    i8 = true, u8 = true}

-- ---- products added to x ----

local function added(name, shapes, f)
    return {types = REAL, run = function(c)
        local x, v = c.x(shapes.x)
        local p, a = c.x(shapes.a)
        local q, b = c.x(shapes.b)
        local tol = c.dtype == "bf16" and 1e-2 or c.dtype == "f16" and 2e-3 or c.float and 1e-6
            or nil
        local function want(beta, alpha)
            return build(shapes.out, function(i)
                local at = table.move(i, #i - #shapes.x + 1, #i, 1, {})
                for d = 1, #at do if shapes.x[d] == 1 then at[d] = 1 end end
                local s = 0
                for k = 1, 4 do s = s + f(a, b, i, k) end
                s = beta * get(v, at) + alpha * s
                return A.floats[c.dtype] and s or as(c.dtype, s)
            end)
        end
        c.check(g[name](x, p, q), want(1, 1), nil, tol)
        c.check(g[name](x, p, q, {beta = 2, alpha = -3}), want(2, -3), nil, tol)
        if c.float then c.check(g[name](x * (0 / 0), p, q, 0, 0.5), want(0, 0.5), nil, tol,
            "beta 0")
        else c.refuses(function() return g[name](x, p, q, 0.5) end, "^" .. name .. ": ", "beta") end
        c.refuses(function() return g[name]((c.x {7, 7}), p, q) end, "^" .. name .. ": ")
    end}
end
C.addmm = added("addmm", {x = {1, 5}, a = {3, 4}, b = {4, 5}, out = {3, 5}},
    function(a, b, i, k) return get(a, {i[1], k}) * get(b, {k, i[2]}) end)
C.addmv = added("addmv", {x = {3}, a = {3, 4}, b = {4}, out = {3}},
    function(a, b, i, k) return get(a, {i[1], k}) * get(b, {k}) end)
C.baddbmm = added("baddbmm", {x = {3, 1}, a = {2, 3, 4}, b = {2, 4, 5}, out = {2, 3, 5}},
    function(a, b, i, k)
    return get(a, {i[1], i[2], k}) * get(b, {i[1], k, i[3]})
end)

-- y[…, o] = sum over i of x[…, i] w[o, i], plus b[o]; a weight of one dim has no o.
C.linear = {types = REAL, run = function(c)
    local tol = c.dtype == "bf16" and 1e-2 or c.dtype == "f16" and 2e-3 or c.float and 1e-6 or nil
    for _, s in ipairs {{{3, 4}, {5, 4}, {5}}, {{4}, {5, 4}, {5}}, {{2, 3, 4}, {16, 4}, {1}},
        {{2, 3, 4}, {4}, {}}, {{40, 30}, {20, 30}, {20}}, {{2, 0}, {3, 0}, {3}}}
    do
        local x, xv = c.x(s[1])
        local w, wv = c.x(s[2])
        local b, bv = c.x(s[3])
        local shape, vector = A.copy(s[1]), #s[2] == 1
        shape[#shape] = not vector and s[2][1] or nil
        local function want(bias)
            return build(shape, function(i)
                local sum, at = bias and bv.v[math.min(#bv.v, i[#i])] or 0, A.copy(i)
                for k = 1, s[1][#s[1]] do
                    at[#s[1]] = k
                    sum = sum + get(xv, at) * get(wv, vector and {k} or {i[#i], k})
                end
                return A.floats[c.dtype] and sum or as(c.dtype, sum)
            end)
        end
        c.check(g.linear(x, w, b), want(true), nil, tol)
        c.check(g.linear(x, w), want(false), nil, tol)
    end
    local x, w = c.x {2, 3}, c.x {4, 5}
    c.refuses(function() return g.linear(x, w) end,
        "^linear: x is .*2x3 and has 3 features, the weight is .*4x5 ")
    c.refuses(function() return g.linear(x, (c.x {4, 3}), (c.x {3})) end, "^linear: .*2x4 and 3")
    c.refuses(function() return g.linear(x, (c.x {4, 3}), (c.x {5, 2, 4})) end,
        "^linear: the bias is .*5x2x4 .*2x4")
end}

-- ---- plain matrices ----

-- Solves a x = b (n rows, k columns of numbers) by elimination with pivots; also the determinant.
local function gauss(a, b, n, k)
    local det = 1
    for i = 1, n do
        local p = i
        for r = i + 1, n do if math.abs(a[r][i]) > math.abs(a[p][i]) then p = r end end
        a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
        if p ~= i then det = -det end
        det = det * a[i][i]
        for r = 1, n do
            local f = r ~= i and a[r][i] / a[i][i] or 0
            for j = 1, n do a[r][j] = a[r][j] - f * a[i][j] end
            for j = 1, k do b[r][j] = b[r][j] - f * b[i][j] end
        end
    end
    for i = 1, n do for j = 1, k do b[i][j] = b[i][j] / a[i][i] end end
    return b, det
end

-- Matrix m of an array whose last two dims are rows x cols, as rows of numbers.
local function rows_of(a, m, turned)
    local n = #a.shape
    local rows, cols, out = a.shape[n - 1], a.shape[n], {}
    for i = 1, turned and cols or rows do
        out[i] = {}
        for j = 1, turned and rows or cols do
            out[i][j] = a.v[(m - 1) * rows * cols +
                (turned and (j - 1) * cols + i or (i - 1) * cols + j)]
        end
    end
    return out
end
local function unit(n)
    local e = {}
    for i = 1, n do
        e[i] = {}
        for j = 1, n do e[i][j] = i == j and 1 or 0 end
    end
    return e
end
local function triangle(m, upper, unitary)
    for i = 1, #m do
        for j = 1, #m[i] do
            if i == j and unitary then m[i][j] = 1
            elseif i ~= j and (i < j) ~= upper then m[i][j] = 0 end
        end
    end
    return m
end
-- An array of two n x k matrices from f(1) and f(2).
local function two(n, k, f, turned)
    local m = {f(1), f(2)}
    return build({2, n, k},
        function(i) return turned and m[i[1]][i[3]][i[2]] or m[i[1]][i[2]][i[3]] end)
end

-- Integers, far from singular; symmetric ones are positive definite.
local function dominant(i)
    local r, q = i[#i - 1], i[#i]
    return r == q and 9 + (i[1] + r) % 3 or (i[1] * 3 + r * 7 + q * 4) % 5 - 1
end
local function symmetric(i)
    local r, q = i[#i - 1], i[#i]
    return r == q and 9 + r or (i[1] + r * q + r + q) % 4 - 1
end
local function tol(c) return c.dtype == "f32" and 1e-5 or 1e-13 end
local function T(x) return x:transpose(-1, -2) end
local function identity(n)
    return build({2, n, n}, function(i) return i[2] == i[3] and 1 or 0 end)
end
-- x with the elements outside the triangle replaced.
local function masked(a, upper, value)
    return build(a.shape, function(i)
        if i[2] == i[3] or (i[2] < i[3]) == upper then return get(a, i) end
        return value
    end)
end

-- ---- decompositions ----

C.linalg_qr = {types = WIDE, run = function(c)
    for _, shape in ipairs {{2, 4, 3}, {2, 3, 4}, {2, 3, 3}} do
        local x, a = c.x(shape, dominant)
        for _, mode in ipairs {"reduced", "complete"} do
            local q, r = g.linalg.qr(x, mode)
            c.check(q:matmul(r), a, nil, tol(c), "q @ r, " .. mode)
            c.check(T(q):matmul(q),
                identity(mode == "complete" and shape[2] or math.min(shape[2], shape[3])), nil,
                    tol(c), "q' @ q")
            c.check(r:tril(-1):abs():sum({2, 3}), {shape = {2}, v = {0, 0}}, nil, nil,
                "below r's diagonal")
            if mode == "reduced" then
                local none, only = g.linalg.qr(x, "r")
                c.check(none, {shape = {0}, v = {}}, nil, nil, "q of mode r")
                c.check(only, {shape = r.shape, v = A.values(r)}, nil, tol(c), "r of mode r")
            end
        end
    end
    c.refuses(function() return g.linalg.qr((c.x({2, 2}, dominant)), "full") end,
        "qr: argument 'mode' is 'full'")
end}

local function cholesky(f)
    return {types = WIDE, run = function(c)
        local _, a = c.x({2, 4, 4}, symmetric)
        for _, upper in ipairs {false, true} do
            local l = f(c.put(masked(a, upper, 77)), upper) -- the other triangle is not read
            if upper then l = T(l) end
            c.check(l:matmul(T(l)), a, nil, tol(c), upper and "u' @ u" or "l @ l'")
            c.check(l:triu(1):abs():sum({2, 3}), {shape = {2}, v = {0, 0}}, nil, nil,
                "the other triangle")
        end
        return a
    end}
end
C.linalg_cholesky = cholesky(function(x, upper) return g.linalg.cholesky(x, upper) end)
C.linalg_cholesky_ex = cholesky(function(x, upper)
    local l, info = g.linalg.cholesky_ex(x, upper)
    if A.text(A.values(info)) ~= "{0, 0}" or info.dtype ~= "i32" then
        error("info is " .. tostring(info))
    end
    return l
end)

C.linalg_lu = {types = WIDE, run = function(c)
    for _, shape in ipairs {{2, 4, 3}, {2, 3, 4}, {2, 3, 3}} do
        local x, a = c.x(shape, function(i) return (i[1] + i[2] * 5 + i[3] * i[3] * 3) % 11 - 4 end)
        local p, l, u = g.linalg.lu(x)
        c.check(p:matmul(l):matmul(u), a, nil, tol(c), "p @ l @ u")
        c.check(p:sum(2) * p:sum(3) * p:amax(3),
            {shape = {2, shape[2]}, v = A.values(g.ones(2, shape[2]))}, nil, nil,
                "ones in a row and column")
        c.check(u:tril(-1):abs():sum({2, 3}) + l:triu(1):abs():sum({2, 3}),
            {shape = {2}, v = {0, 0}}, nil, nil, "the other triangles")
        if not (A.values(l:abs():amax())[1] == 1) then c.problem("a multiplier is above 1") end
    end
end}
C.linalg_lu_factor = {types = WIDE, run = function(c)
    for _, shape in ipairs {{2, 4, 3}, {2, 3, 4}} do
        local x, a = c.x(shape, function(i) return (i[1] + i[2] * 5 + i[3] * i[3] * 3) % 11 - 4 end)
        local lu, pivots = g.linalg.lu_factor(x)
        local list, k = A.values(lu), math.min(shape[2], shape[3])
        local function at(m, i, j)
            return list[(m - 1) * shape[2] * shape[3] + (i - 1) * shape[3] + j]
        end
        local pivot = A.values(pivots)
        for m = 1, 2 do -- the rows of x, exchanged by the pivots, are l u
            local rows = rows_of(a, m)
            for i = 1, k do
                local p = pivot[(m - 1) * k + i]
                rows[i], rows[p] = rows[p], rows[i]
            end
            c.check(g.tensor(rows, {dtype = c.dtype, device = c.dev}),
                build({shape[2], shape[3]}, function(i)
                local s = 0
                for l = 1, math.min(i[1], i[2], k) do
                    s = s + (l == i[1] and 1 or at(m, i[1], l)) * at(m, l, i[2])
                end
                return s
            end), nil, tol(c), "exchanged rows")
        end
    end
end}

-- ---- eigenvalues ----

local function eigh(c, f)
    local _, a = c.x({2, 4, 4}, symmetric)
    local trace = {shape = {2}, v = {}}
    for m = 1, 2 do
        local r = rows_of(a, m)
        trace.v[m] = r[1][1] + r[2][2] + r[3][3] + r[4][4]
    end
    for _, uplo in ipairs {"L", "U"} do
        local w, q = f(c.put(masked(a, uplo == "U", 77)), uplo)
        c.check(w:sum(2), trace, nil, tol(c), "sum of the values")
        local list = A.values(w)
        for i = 2, #list do
            if i ~= 5 and list[i] < list[i - 1] then c.problem("values fall: %s", A.text(list)) end
        end
        if q then
            c.check((q * w:unsqueeze(-2)):matmul(T(q)), a, nil, tol(c), "q w q'")
            c.check(T(q):matmul(q), identity(4), nil, tol(c), "q' @ q")
        else
            c.check(w:prod(2),
                {shape = {2},
                    v = {select(2, gauss(rows_of(a, 1), unit(4), 4, 4)),
                        select(2, gauss(rows_of(a, 2), unit(4), 4, 4))}},
                nil, tol(c) * 10, "product of the values")
        end
    end
end
C.linalg_eigh = {types = WIDE,
    run = function(c) eigh(c, function(x, uplo) return g.linalg.eigh(x, uplo) end) end}
C.linalg_eigvalsh = {types = WIDE, run = function(c)
    eigh(c, function(x, uplo) return g.linalg.eigvalsh(x, uplo) end)
    c.refuses(function() return g.linalg.eigvalsh((c.x({2, 2}, symmetric)), "x") end,
        "eigvalsh: argument 'uplo' is 'x'")
end}

local function turning(i)
    return (i[1] + i[2] * 2 - i[3] * 5) % 7 - 3 + (i[2] < i[3] and 4 or -4)
end
C.linalg_eig = {types = WIDE, run = function(c)
    local x = c.x({2, 4, 4}, turning)
    local re, im, vr, vi = g.linalg.eig(x)
    if A.values(im:abs():amax())[1] < 0.1 then c.problem("all values are real: no test") end
    re, im = re:unsqueeze(-2), im:unsqueeze(-2)
    local function same(y, z, what)
        c.check(y, {shape = z.shape, v = A.values(z)}, nil, tol(c) * 10, what)
    end
    same(x:matmul(vr), vr * re - vi * im, "real part of x v = v w")
    same(x:matmul(vi), vr * im + vi * re, "imaginary part of x v = v w")
    same((vr * vr + vi * vi):sum(-2), g.ones(2, 4), "lengths")
end}
C.linalg_eigvals = {types = WIDE, run = function(c)
    local x, a = c.x({2, 4, 4}, turning)
    local re, im = g.linalg.eigvals(x)
    local det, trace = {shape = {2}, v = {}}, {shape = {2}, v = {}}
    local p, q, product = A.values(re), A.values(im), {}
    for m = 1, 2 do
        local r = rows_of(a, m)
        trace.v[m] = r[1][1] + r[2][2] + r[3][3] + r[4][4]
        det.v[m] = select(2, gauss(r, unit(4), 4, 4))
        local u, v = 1, 0
        for k = m * 4 - 3, m * 4 do u, v = u * p[k] - v * q[k], u * q[k] + v * p[k] end
        product[m] = u
    end
    c.check(re:sum(2), trace, nil, tol(c) * 4, "sum of the values")
    c.check(g.tensor(product, {dtype = c.dtype, device = c.dev}), det, nil, tol(c) * 10,
        "product of the values")
end}

-- ---- equations ----

C.linalg_solve = {types = WIDE, run = function(c)
    local a, x = c.x({2, 4, 4}, dominant)
    local b, y = c.x {2, 4, 3}
    c.check(g.linalg.solve(a, b),
        two(4, 3, function(m) return (gauss(rows_of(x, m), rows_of(y, m), 4, 3)) end), nil, tol(c))
    local right, z = c.x {2, 3, 4}
    c.check(g.linalg.solve(a, right, false), two(3, 4, function(m)
        return (gauss(rows_of(x, m, true), rows_of(z, m, true), 4, 3))
    end, true), nil, tol(c), "x a = b")
    local one, v = c.x {4}
    local function vector() return {{v.v[1]}, {v.v[2]}, {v.v[3]}, {v.v[4]}} end
    local want = two(4, 1, function(m) return (gauss(rows_of(x, m), vector(), 4, 1)) end)
    c.check(g.linalg.solve(a, one), {shape = {2, 4}, v = want.v}, nil, tol(c), "a vector")
    c.refuses(function() return g.linalg.solve(a, (c.x {2, 3, 3})) end, "solve: argument 'a' is")
    c.refuses(function() return g.linalg.solve(right, b) end, "solve: argument 'a' is .*square")
end}
C.linalg_solve_triangular = {types = WIDE, run = function(c)
    local a, x = c.x({2, 4, 4}, dominant)
    local b, y = c.x {2, 4, 3}
    local right, z = c.x {2, 3, 4}
    for _, upper in ipairs {false, true} do
        for _, unitary in ipairs {false, true} do
            c.check(g.linalg.solve_triangular(a, b, upper, true, unitary), two(4, 3, function(m)
                return (gauss(triangle(rows_of(x, m), upper, unitary), rows_of(y, m), 4, 3))
            end), nil, tol(c) * 10, "a x = b")
            c.check(g.linalg.solve_triangular(a, right, upper, false, unitary),
                two(3, 4, function(m)
                return (gauss(triangle(rows_of(x, m, true), not upper, unitary),
                    rows_of(z, m, true), 4, 3))
            end, true), nil, tol(c) * 10, "x a = b")
        end
    end
end}
C.linalg_lstsq = {types = WIDE, run = function(c)
    local a, x = c.x({2, 5, 3}, dominant)
    local b, y = c.x {2, 5, 2}
    local function normal(m) -- a' a and a' b
        local p, q, s, t = rows_of(x, m), rows_of(y, m), {}, {}
        for i = 1, 3 do
            s[i], t[i] = {0, 0, 0}, {0, 0}
            for k = 1, 5 do
                for j = 1, 3 do s[i][j] = s[i][j] + p[k][i] * p[k][j] end
                for j = 1, 2 do t[i][j] = t[i][j] + p[k][i] * q[k][j] end
            end
        end
        return (gauss(s, t, 3, 2))
    end
    local want = two(3, 2, normal)
    local left = build({2, 2}, function(i)
        local p, q, s = rows_of(x, i[1]), rows_of(y, i[1]), 0
        for k = 1, 5 do
            local d = q[k][i[2]]
            for l = 1, 3 do d = d - p[k][l] * get(want, {i[1], l, i[2]}) end
            s = s + d * d
        end
        return s
    end)
    for _, driver in ipairs {"gels", "gelsy", "gelsd", "gelss"} do
        local s, residuals, rank, values = g.linalg.lstsq(a, b, nil, driver)
        c.check(s, want, nil, tol(c) * 10, driver)
        c.check(residuals, left, nil, tol(c) * 10, "residuals")
        c.check(rank, driver == "gels" and {shape = {0}, v = {}} or {shape = {2}, v = {3, 3}},
            "i64", nil, "rank")
        if values:numel() ~= (#driver == 5 and driver ~= "gelsy" and 6 or 0) then
            c.problem("%d singular values", values:numel())
        end
    end
    c.refuses(function() return g.linalg.lstsq(a, b, nil, "qr") end,
        "lstsq: argument 'driver' is 'qr'")
end}

local function inverse(f)
    return {types = WIDE, run = function(c)
        local a, x = c.x({2, 4, 4}, dominant)
        c.check(f(a), two(4, 4, function(m) return (gauss(rows_of(x, m), unit(4), 4, 4)) end), nil,
            tol(c))
        c.refuses(function() return f((c.x({2, 3}, dominant))) end, "square")
    end}
end
C.linalg_inv = inverse(function(x) return g.linalg.inv(x) end)
C.linalg_inv_ex = inverse(function(x) return (g.linalg.inv_ex(x)) end)
C.linalg_det = {types = WIDE, run = function(c)
    local a, x = c.x({2, 4, 4},
        function(i) return dominant(i) * (i[1] == 2 and i[2] == 3 and -1 or 1) end)
    local want = {shape = {2}, v = {}}
    for m = 1, 2 do want.v[m] = select(2, gauss(rows_of(x, m), unit(4), 4, 4)) end
    c.check(g.linalg.det(a), want, nil, tol(c))
    if want.v[2] > 0 then c.problem("no negative determinant: no test") end
end}
C.linalg_slogdet = {types = WIDE, run = function(c)
    local a, x = c.x({2, 4, 4},
        function(i) return dominant(i) * (i[1] == 2 and i[2] == 3 and -1 or 1) end)
    local sign, log = g.linalg.slogdet(a)
    local want = {shape = {2}, v = {}}
    for m = 1, 2 do
        want.v[m] = math.log(math.abs((select(2, gauss(rows_of(x, m), unit(4), 4, 4)))))
    end
    c.check(sign, {shape = {2}, v = {1, -1}}, nil, tol(c), "sign")
    c.check(log, want, nil, tol(c), "logarithm")
end}

return C
