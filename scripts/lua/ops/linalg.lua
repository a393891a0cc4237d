--!plain
-- Composites: linear algebra. See define in init.lua. Sums of products are in
-- einsum.lua.
local require = ...
local gpush, define, fail = require "gpush", require "ops".define, require "fail"
local linalg = gpush.linalg

local EPS = { f32 = 2.0 ^ -23, f64 = 2.0 ^ -52 }
local HALF = { f16 = true, bf16 = true }

local function text(x) return x.dtype .. " " .. table.concat(x.shape, "x") end

-- x's shape without its last `without` dims, followed by the other arguments.
local function batch(x, without, ...)
    local shape = table.move(x.shape, 1, #x.shape - without, 1, {})
    for _, d in ipairs { ... } do shape[#shape + 1] = d end
    return shape
end

local function check_matrices(op, x)
    if #x.shape < 2 then
        fail(op .. ": argument 'x' is " .. text(x) .. " (expected a matrix or a batch of matrices)")
    end
end

local function check_square(op, x)
    check_matrices(op, x)
    if x.shape[#x.shape] ~= x.shape[#x.shape - 1] then
        fail(op .. ": argument 'x' is " .. text(x) .. " (expected square matrices)")
    end
end

local function check_devices(op, a, b)
    if a.device ~= b.device then
        fail("%s: tensors are on different devices: %s and %s", op, a.device, b.device)
    end
end

-- ---- products ----

define { "outer", sig = "tensor a, tensor b",
    help = "products of every element of vector a and every element of vector b",
    dtypes = "all", fn = function(a, b)
        check_devices("outer", a, b)
        if #a.shape ~= 1 or #b.shape ~= 1 then
            fail("outer: %s and %s (expected two vectors)", text(a), text(b))
        end
        return a:unsqueeze(2) * b
    end }

define { "inner", sig = "tensor a, tensor b",
    help = "sums of products over the last dims of a and b",
    dtypes = "numbers", fn = function(a, b)
        local n, m = #a.shape, #b.shape
        if n == 0 or m == 0 then return a * b end
        if a.shape[n] ~= b.shape[m] then
            fail("inner: %s and %s (expected last dims of one size)", text(a), text(b))
        end
        if a.dtype ~= b.dtype then
            fail("inner: %s and %s (expected the same dtype)", text(a), text(b))
        end
        return gpush.tensordot(a, b, { { n }, { m } })
    end }

-- beta * x + alpha * y; x is not read where beta is 0.
local function added(x, y, beta, alpha)
    if alpha ~= 1 then y = y * alpha end
    if beta == 0 then return y end
    return beta == 1 and x + y or x * beta + y
end

define { "addr", sig = "tensor x, tensor a, tensor b, number beta=1, number alpha=1",
    help = "beta * x + alpha * outer(a, b)", sample = "f(2, 3), f(2), f(3)",
    dtypes = "numbers", strict = "numbers", fn = function(x, a, b, beta, alpha)
        if #a.shape ~= 1 or #b.shape ~= 1 then
            fail("addr: a is %s, b is %s (expected two vectors)", text(a), text(b))
        end
        return added(x, gpush.outer(a, b), beta, alpha)
    end }

define { "addbmm", sig = "tensor x, tensor a, tensor b, number beta=1, number alpha=1",
    help = "beta * x + alpha * (the sum of the products of two batches of matrices), rounded once",
    sample = "f(2, 4), f(2, 2, 3), f(2, 3, 4)",
    dtypes = "numbers", strict = "numbers", fn = function(x, a, b, beta, alpha)
        local s, u = a.shape, b.shape
        if #s ~= 3 or #u ~= 3 or s[1] ~= u[1] or s[3] ~= u[2] then
            fail("addbmm: a is %s, b is %s (expected batches of matrices that can be multiplied)",
                text(a), text(b))
        end
        local left = a:permute(2, 1, 3):reshape(s[2], s[1] * s[3])
        return gpush.addmm(x, left, b:reshape(u[1] * u[2], u[3]), beta, alpha)
    end }

define { "kron", sig = "tensor a, tensor b",
    help = "Kronecker product: each element of a times b, as blocks; dims of size 1 are put in \z
        front of the operand with fewer",
    dtypes = "all", fn = function(a, b)
        local n = math.max(#a.shape, #b.shape)
        local left, right, shape = {}, {}, {}
        for d = 1, n do
            local p, q = rawget(a.shape, d - n + #a.shape) or 1, rawget(b.shape, d - n + #b.shape)
                or 1
            left[2 * d - 1], left[2 * d], right[2 * d - 1], right[2 * d] = p, 1, 1, q
            shape[d] = p * q
        end
        return (a:reshape(left) * b:reshape(right)):reshape(shape)
    end }

define { "trace", sig = "tensor x", help = "sum of a matrix's diagonal; integers give i64",
    dtypes = "numbers", fn = function(x)
        if #x.shape ~= 2 then fail("trace: argument 'x' is %s (expected a matrix)", text(x)) end
        if x.dtype == "bool" then fail("trace: dtype bool of argument 'x' is not supported") end
        return x:diagonal():sum()
    end }

-- In f32 for 16-bit floats, rounded once.
local function wide(x) return HALF[x.dtype] and x:to { dtype = "f32" } or x end
local function back(y, dtype) return y.dtype ~= dtype and y:to { dtype = dtype } or y end

define { "linalg.vecdot", sig = "tensor x, tensor y, dim dim=-1",
    help = "inner products of the vectors along dim",
    dtypes = "all", autocast = "low", fn = function(x, y, dim)
        local sum = (wide(x) * wide(y)):sum(dim)
        return x.dtype == y.dtype and HALF[x.dtype] and back(sum, x.dtype) or sum
    end }

local function cross(op, a, b, dim)
    check_devices(op, a, b)
    if rawget(a.shape, dim < 0 and #a.shape + dim + 1 or dim) ~= 3
        or rawget(b.shape, dim < 0 and #b.shape + dim + 1 or dim) ~= 3 then
        fail("%s: %s and %s (expected size 3 along dim %d)", op, text(a), text(b), dim)
    end
    if dim > 0 and #a.shape ~= #b.shape then
        fail("%s: %s and %s (expected as many dims)", op, text(a), text(b))
    end
    local n, parts, half = math.max(#a.shape, #b.shape), {}, a.dtype == b.dtype and HALF[a.dtype]
        and a.dtype
    if half then a, b = wide(a), wide(b) end
    for i = 1, 3 do
        local j, k = i % 3 + 1, (i + 1) % 3 + 1
        parts[i] = a:select(dim, j) * b:select(dim, k) - a:select(dim, k) * b:select(dim, j)
    end
    local y = gpush.stack(parts, dim < 0 and n + dim + 1 or dim)
    return half and back(y, half) or y
end

define { "linalg.cross", sig = "tensor a, tensor b, dim dim=-1",
    help = "cross products of the 3-vectors along dim",
    dtypes = "numbers", autocast = "promote",
    fn = function(a, b, dim) return cross("linalg.cross", a, b, dim) end }

define { "cross", sig = "tensor a, tensor b, dim? dim",
    help = "cross products of the 3-vectors along dim, or the first dim of size 3",
    dtypes = "numbers", autocast = "promote", fn = function(a, b, dim)
        for d = 1, dim and 0 or #a.shape do
            if a.shape[d] == 3 then dim = d break end
        end
        return cross("cross", a, b, dim or -1)
    end }

-- The cheapest order for a chain of matrices, m[i] x m[i + 1] each: cut[i][j] is where to split i …
-- j. Source: the textbook's dynamic programming, in n^3 steps.
local function chain(m, n)
    local cost, cut = {}, {}
    for i = 1, n do cost[i], cut[i] = { [i] = 0 }, {} end
    for len = 1, n - 1 do
        for i = 1, n - len do
            local j = i + len
            cost[i][j] = math.huge
            for k = i, j - 1 do
                local c = cost[i][k] + cost[k + 1][j] + m[i] * m[k + 1] * m[j + 1]
                if c < cost[i][j] then cost[i][j], cut[i][j] = c, k end
            end
        end
    end
    return cut
end

define { "linalg.multi_dot", sig = "tensors xs",
    help = "product of two or more matrices in the order of least work; the first and last may be \z
        vectors",
    dtypes = "numbers", autocast = "low", fn = function(xs)
        local n = #xs
        if n < 2 then fail("linalg.multi_dot: %d tensors (expected two or more)", n) end
        local m = {}
        for i, x in ipairs(xs) do
            local ends = i == 1 or i == n
            if #x.shape ~= 2 and not (ends and #x.shape == 1) then
                fail("linalg.multi_dot: tensor %d is %s (expected a matrix%s)", i, text(x),
                    ends and " or a vector" or "")
            end
            m[i] = #x.shape == 1 and (i == 1 and 1 or x.shape[1]) or x.shape[1]
            m[i + 1] = #x.shape == 1 and (i == 1 and x.shape[1] or 1) or x.shape[2]
        end
        local cut, same = chain(m, n), true
        for _, x in ipairs(xs) do same = same and x.dtype == xs[1].dtype end
        local function product(i, j)
            if i == j then return same and wide(xs[i]) or xs[i] end
            return product(i, cut[i][j]):matmul(product(cut[i][j] + 1, j))
        end
        local y = product(1, n)
        return same and back(y, xs[1].dtype) or y
    end }

define { "linalg.matrix_power", sig = "tensor x, int n",
    help = "square matrices to the power n; negative n: of the inverse",
    dtypes = "numbers", fn = function(x, n)
        check_square("linalg.matrix_power", x)
        if n == 0 then -- a part of x's graph: its gradient is 0, not missing
            local eye = gpush.eye(x.shape[#x.shape], { dtype = x.dtype, device = x.device })
            return gpush.where(eye:lt(0), x, eye)
        end
        if n < 0 then x, n = linalg.inv(x), -n end
        local dtype, y = x.dtype, nil
        x = wide(x)
        while true do
            if n & 1 == 1 then y = y and y:matmul(x) or x end
            n = n >> 1 -- of the smallest integer, too, which has no positive one
            if n == 0 then break end
            x = x:matmul(x)
        end
        return back(y, dtype)
    end }

-- ---- norms ----

local function check_float(op, x)
    if not (EPS[x.dtype] or HALF[x.dtype]) then
        fail("%s: dtype %s of argument 'x' is not supported (expected f64 f32 f16 bf16)", op,
            x.dtype)
    end
end

local function vector_norm(op, x, ord, dim, keepdim, dtype)
    check_float(op, x)
    return linalg.vector_norm(x, ord, dim, keepdim, dtype)
end

-- The largest of numbers >= 0 along dim: of none 0, as in PyTorch.
local function none_is_0(s, dim, keepdim)
    return s.shape[dim] == 0 and s:sum(dim, keepdim) or s:amax(dim, keepdim)
end

local ORDS = { fro = "fro", nuc = "nuc", inf = math.huge, ["-inf"] = -math.huge }

local function matrix_norm(op, x, ord, dim, keepdim, dtype)
    check_float(op, x)
    local n = #x.shape
    if dtype then x = x:to { dtype = dtype } end
    if #dim ~= 2 then fail(op .. ": argument 'dim' has " .. #dim .. " dims (expected two)") end
    local p, q = dim[1] < 0 and dim[1] + n + 1 or dim[1], dim[2] < 0 and dim[2] + n + 1 or dim[2]
    if p < 1 or p > n or q < 1 or q > n or p == q then
        fail("%s: dims %d and %d of %s (expected two of its dims)", op, dim[1], dim[2], text(x))
    end
    if ord == "fro" then return vector_norm(op, x, 2, { p, q }, keepdim) end
    if ord == "nuc" or ord == 2 or ord == -2 then
        local order = {}
        for d = 1, n do if d ~= p and d ~= q then order[#order + 1] = d end end
        local s = linalg.svdvals(x:permute(table.move({ p, q }, 1, 2, #order + 1, order)))
        if ord == 2 then s = none_is_0(s, -1) else s = ord == "nuc" and s:sum(-1) or s:amin(-1) end
        if not keepdim then return s end
        return s:unsqueeze(math.min(p, q)):unsqueeze(math.max(p, q))
    end
    local size = type(ord) == "number" and math.abs(ord)
    if size ~= 1 and size ~= math.huge then
        fail("%s: argument 'ord' is %s (expected 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2)", op, ord)
    end
    if size == math.huge then p, q = q, p end
    local sums, half = wide(x):abs():sum(p, true), x.dtype
    local y = ord > 0 and none_is_0(sums, q, true) or sums:amin(q, true)
    if not keepdim then y = y:squeeze(p, q) end
    return back(y, half)
end

define { "linalg.matrix_norm",
    sig = "tensor x, order? ord, dims? dim, bool keepdim=false, dtype? dtype",
    help = "the norm 'fro' (if not given), 'nuc', inf, -inf, 1, -1, 2 or -2 of the matrices in \z
        two dims, the last ones if not given",
    raises = "NaN or infinite elements, where ord is 2, -2 or 'nuc'",
    dtypes = "floats", autocast = "wide", fn = function(x, ord, dim, keepdim, dtype)
        check_matrices("linalg.matrix_norm", x)
        return matrix_norm("linalg.matrix_norm", x, ORDS[ord] or ord or "fro", dim or { -2, -1 },
            keepdim, dtype)
    end }

define { "linalg.norm", sig = "tensor x, order? ord, dims? dim, bool keepdim=false, dtype? dtype",
    help = "norm of a vector (one dim) or of matrices (two dims); without ord the square root of \z
        the sum of squares",
    raises = "NaN or infinite elements of a matrix, where ord is 2, -2 or 'nuc'",
    dtypes = "floats", autocast = "wide", fn = function(x, ord, dim, keepdim, dtype)
        ord = ORDS[ord] or ord
        if ord == nil then return vector_norm("linalg.norm", x, 2, dim, keepdim, dtype) end
        local n = #x.shape
        if dim and #dim > 2 or not dim and n > 2 then
            fail("linalg.norm: %d dims of %s (expected one or two where ord is given)",
                dim and #dim or n, text(x))
        end
        if (dim and #dim or n) < 2 then
            if type(ord) ~= "number" then
                fail("linalg.norm: argument 'ord' is %s (expected a number for vectors)", ord)
            end
            return vector_norm("linalg.norm", x, ord, dim, keepdim, dtype)
        end
        return matrix_norm("linalg.norm", x, ord, dim or { 1, 2 }, keepdim, dtype)
    end }

-- ---- functions of singular values ----

-- A tolerance: nil, a number, or a tensor of one for each matrix, as a column beside their values.
local function tolerance(op, name, value)
    if gpush.is_tensor(value) then return value:unsqueeze(-1) end
    if value and not (type(value) == "number" and value >= 0) then
        fail("%s: argument '%s': expected a number >= 0 or a tensor, got %s", op, name,
            tostring(value))
    end
    return value
end

-- Singular values up to this count as zero; PyTorch's rule. s: k values of each matrix, k > 0.
local function cutoff(op, x, s, atol, rtol)
    atol, rtol = tolerance(op, "atol", atol), tolerance(op, "rtol", rtol)
    if not rtol then
        local own = EPS[x.dtype] * math.max(x.shape[#x.shape - 1], x.shape[#x.shape])
        rtol = own
        if gpush.is_tensor(atol) then rtol = gpush.where(atol:gt(0), 0, own)
        elseif atol and atol > 0 then rtol = 0 end
    end
    local relative = s:amax(-1, true) * rtol
    return gpush.is_tensor(atol) and relative:maximum(atol) or relative:clamp(atol or 0)
end

define { "linalg.matrix_rank",
    sig = "tensor x, operand? atol, operand? rtol, bool hermitian=false",
    help = "the number of singular values of each matrix above max(atol, rtol * the largest), \z
        which are numbers, or tensors of one for each matrix; hermitian: x is symmetric",
    raises = "NaN or infinite elements", dtypes = "f64 f32", autocast = "wide",
    fn = function(x, atol, rtol, hermitian)
        check_matrices("linalg.matrix_rank", x)
        local s = hermitian and linalg.eigvalsh(x):abs() or linalg.svdvals(x)
        if s.shape[#s.shape] == 0 then return s:ne(0):sum(-1) end
        return s:gt(cutoff("linalg.matrix_rank", x, s, atol, rtol)):sum(-1)
    end }

-- The gradient of x from g, that of p = pinv(x), for matrices near x of x's rank. Source: Golub and
-- Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973.
local function pinv_grad(x, p, g)
    local tall = x.shape[#x.shape - 1] > x.shape[#x.shape]
    local pt, gt = p:transpose(-1, -2), g:transpose(-1, -2)
    local function times(a, b, c) -- a and c as x, b transposed: through the smaller square
        if tall then return a:matmul(b:matmul(c)) end
        return a:matmul(b):matmul(c)
    end
    local left, right = gt - times(x, p, gt), gt - times(gt, p, x)
    return times(left, p, pt) + times(pt, p, right) - times(pt, g, pt)
end

local function pinv_by_values(x, atol, rtol, hermitian)
    local u, s, vh
    if hermitian then
        s, u = linalg.eigh(x)
        vh = u:transpose(-1, -2)
    else
        u, s, vh = linalg.svd(x, false)
    end
    local size = hermitian and s:abs() or s
    local inverse = gpush.where(size:gt(cutoff("linalg.pinv", x, size, atol, rtol)),
        s:reciprocal(), 0)
    return vh:transpose(-1, -2):matmul(inverse:unsqueeze(-1) * u:transpose(-1, -2))
end

define { "linalg.pinv", sig = "tensor x, operand? atol, operand? rtol, bool hermitian=false",
    help = "Moore-Penrose inverse; singular values up to max(atol, rtol * the largest), which are \z
        numbers, or tensors of one for each matrix, count as zero",
    raises = "NaN or infinite elements", dtypes = "f64 f32", autocast = "wide",
    fn = function(x, atol, rtol, hermitian)
        check_matrices("linalg.pinv", x)
        if x:numel() == 0 then return x:transpose(-1, -2):clone() end
        local p = gpush.no_grad(pinv_by_values, x, atol, rtol, hermitian)
        local own, x_version, p_version = p:detach(), x._version, p._version
        gpush.autograd.node({ x }, { p }, function(g)
            if x._version ~= x_version or own._version ~= p_version then
                error("backward: linalg.pinv needs a tensor that was written in place since", 0)
            end
            if not gpush.is_grad_enabled() then return pinv_grad(x, own, g) end
            return pinv_grad(x, linalg.pinv(x, atol, rtol, hermitian), g)
        end)
        return p
    end }

define { "linalg.cond", sig = "tensor x, order? p",
    help = "condition number for the norm p (of linalg.matrix_norm); by singular values if not \z
        given. Singular matrices: inf",
    raises = "NaN or infinite elements, where p is 2, -2, 'nuc' or not given",
    dtypes = "f64 f32", autocast = "wide", fn = function(x, p)
        p = ORDS[p] or p
        check_matrices("linalg.cond", x)
        if x:numel() == 0 then
            return gpush.zeros(batch(x, 2), { dtype = x.dtype, device = x.device })
        end
        if p == nil or p == 2 or p == -2 then
            local s = linalg.svdvals(x)
            local most, least = s:amax(-1), s:amin(-1)
            if p == -2 then return least / most end
            return most / least
        end
        check_square("linalg.cond", x)
        local inverse, info = linalg.inv_ex(x)
        local c = matrix_norm("linalg.cond", x, p, { -2, -1 }) *
            matrix_norm("linalg.cond", inverse, p, { -2, -1 })
        return gpush.where(info:ne(0), math.huge, c)
    end }

define { "logdet", sig = "tensor x",
    help = "logarithm of the determinant; NaN where that is negative",
    dtypes = "f64 f32", autocast = "wide", fn = function(x)
        local sign, log = linalg.slogdet(x)
        return log:masked_fill(sign:lt(0), 0 / 0)
    end }

define { "cholesky_solve", sig = "tensor b, tensor l, bool upper=false",
    help = "x with (l l') x = b; upper: (l' l) x = b",
    dtypes = "f64 f32", autocast = "wide", fn = function(b, l, upper)
        local lower, right = l, l:transpose(-1, -2)
        if upper then lower, right = right, lower end
        return linalg.solve_triangular(right, linalg.solve_triangular(lower, b, false), true)
    end }

-- Source: N. J. Higham, "The Scaling and Squaring Method for the Matrix Exponential Revisited",
-- 2005: Pade's approximant of degree 13, which is exact in f64 for norms up to 5.37.
local PADE <const> = { 64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
    129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380,
    182, 1 }
local function pade(x)
    local x2 = x:matmul(x)
    local x4, n = x2:matmul(x2), x.shape[#x.shape]
    local x6, one = x4:matmul(x2), gpush.eye(n, { dtype = x.dtype, device = x.device })
    local function part(from) -- of every second coefficient: even powers
        local c = function(k) return PADE[from + k] end
        local high = x6:matmul(x6 * c(12) + x4 * c(10) + x2 * c(8))
        return high + x6 * c(6) + x4 * c(4) + x2 * c(2) + one * c(0)
    end
    local odd, even = x:matmul(part(2)), part(1)
    return linalg.solve(even - odd, even + odd)
end

define { "linalg.matrix_exp", sig = "tensor x", sample = "spd",
    help = "the matrix exponential of square matrices: 1 + x + x x / 2 + …",
    waits = "for the largest norm",
    dtypes = "f64 f32", strict = "f64 f32", autocast = "wide", fn = function(x)
        check_square("linalg.matrix_exp", x)
        if x:numel() == 0 then return x:clone() end
        local norm = x:detach():abs():sum(-2):max():item()
        if norm - norm ~= 0 then return x * (0 / 0) end
        local halvings = math.max(0, math.ceil(math.log(norm / 5.37, 2)))
        local y = pade(x * 2.0 ^ -halvings)
        for _ = 1, halvings do y = y:matmul(y) end
        return y
    end }

-- The order of rows that pivots, of the LU factors of n rows, bring about: exchanges in turn.
local function permutation(pivots, n)
    local batch_shape = batch(pivots, 1)
    local order = gpush.range(1, n, { dtype = "i64", device = pivots.device })
        :expand(batch(pivots, 1, n)):contiguous()
    for i = 1, pivots.shape[#batch_shape + 1] do
        local j = pivots:narrow(-1, i, 1):to "i64"
        local here, there = order:narrow(-1, i, 1):clone(), order:gather(-1, j)
        order = order:scatter(-1, j, here)
        order:narrow(-1, i, 1):copy_(there)
    end
    return order
end

define { "linalg.lu_solve",
    sig = "tensor lu, tensor pivots, tensor b, bool left=true, bool adjoint=false",
    help = "x with a x = b, or x a = b if left is false, from a's factors, lu and pivots, of \z
        linalg.lu_factor; adjoint: of a transposed",
    sample = "spd, i{1, 2, 3}, f(3, 2)", raises = "a pivot out of range",
    dtypes = "f64 f32", strict = "f64 f32", autocast = "wide",
    fn = function(lu, pivots, b, left, adjoint)
        check_square("linalg.lu_solve", lu)
        check_matrices("linalg.lu_solve", b)
        local n = lu.shape[#lu.shape]
        if pivots:is_floating_point() or pivots.dtype == "bool" or pivots.ndim == 0
            or pivots:size(-1) ~= n then
            fail("linalg.lu_solve: argument 'pivots' is %s (expected i32, %d in the last dim)",
                text(pivots), n)
        end
        if not left then return linalg.lu_solve(lu, pivots, b.mT, true, not adjoint).mT end
        local order = permutation(pivots, n):unsqueeze(-1)
        if adjoint then
            local y = linalg.solve_triangular(lu.mT, b, false)
            y = linalg.solve_triangular(lu.mT, y, true, true, true)
            return y:scatter(-2, order:expand(y.shape), y)
        end
        local rows = b:expand(batch(lu, 2, n, b.shape[#b.shape]))
        local y = rows:gather(-2, order:expand(rows.shape))
        return linalg.solve_triangular(lu,
            linalg.solve_triangular(lu, y, false, true, true), true)
    end }
