--!plain
-- Gradients of matrices with equal singular values or eigenvalues, and of more rows than columns:
-- numbers where the derivative exists, NaN where it depends on the choice of vectors. References
-- are closed forms, or PyTorch 2.15's numbers.
local t = require "tap"
local g = require "gpush"
local L = g.linalg
local f64 = { dtype = "f64" }

local function leaf(values, dev) return g.tensor(values, f64):to(dev):requires_grad_() end

-- The gradient of the sum of fn(x) times weights.
local function gradient(fn, x, weights)
    local y = fn(x)
    if weights then y = y * g.tensor(weights, f64):to(x.device) end
    return (g.grad(y:sum(), x):to "cpu"):tolist()
end

local function all_nan(list)
    for _, v in ipairs(list) do
        if type(v) == "table" and not all_nan(v) or type(v) ~= "table" and v == v then
            return false
        end
    end
    return true
end

local I = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } }
local C = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } }
local double = { { 2, 0, 0 }, { 0, 2, 0 } } -- two equal singular values
local single = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 2 } }

local function on(dev)
    -- pinv: d pinv(x) = -dx at the identity
    t.close(gradient(L.pinv, leaf(I, dev), C),
        { { -1, -2, -3 }, { -4, -5, -6 }, { -7, -8, -9 } }, 1e-14, "pinv of the identity, " .. dev)
    t.close(gradient(L.pinv, leaf({ { 1, 0 }, { 0, 1 }, { 0, 0 } }, dev),
        { { 1, 2, 3 }, { 4, 5, 6 } }), { { -1, -2 }, { -4, -5 }, { 3, 6 } }, 1e-14,
        "pinv of more rows than columns, " .. dev)
    t.close(gradient(L.pinv, leaf({ { 1, 2, 2 }, { 2, 4, 4 } }, dev),
        { { 1, 2 }, { 3, -4 }, { 5, 6 } }),
        { { 0.02123456790123457, -0.02419753086419752, 0.07358024691358026 },
            { -0.026666666666666658, -0.18666666666666665, 0.00888888888888889 } }, 1e-14,
        "pinv of rank 1, " .. dev)
    t.close(gradient(function(x) return L.pinv(x, { hermitian = true }) end,
        leaf({ { 2, 0 }, { 0, -2 } }, dev), { { 1, 2 }, { 3, 4 } }),
        { { -0.25, 0.5 }, { 0.75, -1 } }, 1e-14, "hermitian pinv, " .. dev)
    t.is(gradient(L.pinv, leaf({ { 0, 0 }, { 0, 0 } }, dev)), { { 0, 0 }, { 0, 0 } },
        "pinv of zeros, " .. dev)
    t.ok(g.autograd.gradgradcheck(L.pinv, { leaf({ { 1, 0 }, { 0, 1 }, { 0, 0 } }, dev) }),
        "pinv twice, " .. dev)

    -- only singular values: dx = u vh
    for _, x in ipairs { double, { { 2, 0 }, { 0, 2 }, { 0, 0 } }, I } do
        local want = g.tensor(x, f64) / g.tensor(x, f64):amax()
        t.close(gradient(function(a) return (select(2, L.svd(a))) end, leaf(x, dev)),
            want:tolist(), 1e-14, ("S alone of svd, %d x %d, %s"):format(#x, #x[1], dev))
    end
    t.is(gradient(function(a) return (select(2, L.svd(a, false))) * 0 end,
        leaf({ { 0, 0, 0 }, { 0, 0, 0 } }, dev)), { { 0, 0, 0 }, { 0, 0, 0 } },
        "S alone of zeros, " .. dev)

    -- full matrices: their first vectors have the gradients of the reduced ones, the others none
    local wide = { { 3, 1, 0.5 }, { 1, 2, -1 } }
    local function vectors(full)
        return function(x)
            local u, s, vh = L.svd(x, full)
            local two = vh:narrow(-2, 1, 2)
            return (u * s):matmul(two) + two:narrow(2, 1, 1) ^ 2
        end
    end
    for _, x in ipairs { g.tensor(wide, f64), g.tensor(wide, f64).T:contiguous() } do
        if x.shape[1] == 2 then
            local a, b = x:to(dev):requires_grad_(), x:to(dev):requires_grad_()
            t.close(gradient(vectors(true), a), gradient(vectors(false), b), 1e-12,
                "full matrices as reduced ones, " .. dev)
        end
        local u, _, vh = L.svd(x:to(dev):requires_grad_(), true)
        t.is({ u.shape[1], vh.shape[1] }, { x.shape[1], x.shape[2] }, "full, " .. dev)
    end
    t.ok(all_nan(gradient(function(x) return (select(3, L.svd(x))) ^ 3 end, leaf(wide, dev))),
        "vectors beyond the singular values have no gradient, " .. dev)

    -- vectors of equal values
    for name, fn in pairs {
        svd = function(x) return (L.svd(x)) ^ 3 end,
        eigh = function(x) return (select(2, L.eigh(x))) ^ 3 end,
        eig = function(x) return (select(3, L.eig(x))) ^ 3 end,
    } do
        t.ok(all_nan(gradient(fn, leaf(I, dev))), name .. "'s vectors of equal values, " .. dev)
    end
    local zeros = gradient(function(x)
        local u, s, vh = L.svd(x)
        return (u * s):matmul(vh)
    end, leaf({ { 0, 0 }, { 0, 0 } }, dev), { { 1, 2 }, { 3, 4 } })
    t.ok(all_nan { zeros[1][2], zeros[2][1] }, "u diag(s) vh of zeros, " .. dev)
    -- values that rounding alone tells apart
    local close = { { 1, 0 }, { 0, 1 + 2.0 ^ -52 } }
    t.ok(all_nan(gradient(function(x) return (select(2, L.eigh(x))) ^ 3 end, leaf(close, dev))),
        "eigh's vectors of values one rounding apart, " .. dev)

    -- the vector of a value that differs, beside equal ones: u3[1] u3[3] changes by dx[1][3]
    t.close(gradient(function(x)
        local _, u = L.eigh(x)
        return u[1][3] * u[3][3]
    end, leaf(single, dev)), { { 0, 0, 0.5 }, { 0, 0, 0 }, { 0.5, 0, 0 } }, 1e-14,
        "eigh's vector of another value, " .. dev)
    t.close(gradient(function(x)
        local _, _, re = L.eig(x)
        return re[1][3] * re[3][3]
    end, leaf(single, dev)), { { 0, 0, 1 }, { 0, 0, 0 }, { 0, 0, 0 } }, 1e-14,
        "eig's vector of another value, " .. dev)
    -- u1[1] u1[3] of the value 2: (2 dx[1][3] + dx[3][1]) / (2^2 - 1^2)
    t.close(gradient(function(x)
        local u = L.svd(x)
        return u[1][1] * u[3][1]
    end, leaf(single, dev)), { { 0, 0, 2 / 3 }, { 0, 0, 0 }, { 1 / 3, 0, 0 } }, 1e-14,
        "svd's vector of another value, " .. dev)

    -- matrices that a factorization fails for have a gradient that is no number, not an error
    local lower = function(x) return (L.cholesky_ex(x)) end
    t.ok(pcall(gradient, lower, leaf({ { 1, 1 }, { 1, 1 } }, dev)), "cholesky_ex, " .. dev)
    local r = function(x) return (select(2, L.qr(x))) end
    t.ok(pcall(gradient, r, leaf({ { 1, 0 }, { 0, 0 } }, dev)), "qr of rank 1, " .. dev)
    for name, fn in pairs { svd = L.svd, eigh = L.eigh, eig = L.eig } do
        local x = g.zeros(0, 0, f64):to(dev):requires_grad_()
        local out = { fn(x) }
        t.is(g.grad((out[1]:sum() + out[2]:sum()), x).shape, { 0, 0 }, name .. " of nothing")
    end
end

on "cpu"
on "sim"

do -- what backward of pinv needs must not have been written
    local x = leaf(I, "cpu")
    local p = L.pinv(x)
    g.no_grad(function() x:mul_(2) end)
    t.error(function() p:sum():backward() end, "linalg.pinv needs a tensor that was written",
        "pinv of a tensor that was written since")
end
t.done()
