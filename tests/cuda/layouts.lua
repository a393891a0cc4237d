--!plain
-- Ops on the stand-in for CUDA against the CPU's, on shapes that small ones do not cover: vectors
-- and their remainders, rows and columns in parts, tiles of transposed copies, lines split into
-- parts, faults of integers.
local t = require "tap"
local g = gpush
local tolerance = {f32 = 3e-5, f16 = 3e-3}

local function close(a, b, tol, what)
    b = b:to "cpu"
    local x, y = a:to {dtype = "f64"}, b:to {dtype = "f64"}
    local near = x:sub(y):abs():le(x:abs():add(1):mul(tol)):logical_or(x:eq(y))
    near = near:logical_or(x:isnan():logical_and(y:isnan()))
    t.ok(a.dtype == b.dtype and near:all():item(), what)
end

for _, dt in ipairs {"f32", "f16"} do
    local tol = tolerance[dt]
    local x, row, col = g.randn(37, 64, {dtype = dt}), g.randn(64, {dtype = dt}),
        g.randn(37, 1, {dtype = dt})
    local X, big = x:to "cuda", g.randn(100003, {dtype = dt})
    local views = {contiguous = {x, X}, transposed = {x:t(), X:t()},
        every_second = {x:slice(2, 1, 64, 2), X:slice(2, 1, 64, 2)},
        inner = {x:narrow(1, 3, 29):narrow(2, 5, 50), X:narrow(1, 3, 29):narrow(2, 5, 50)}}
    for name, v in pairs(views) do
        for _, op in ipairs {"exp", "gelu", "erfinv", "isfinite", "lgamma"} do
            close(v[1][op](v[1]), v[2][op](v[2]), tol, op .. " of " .. dt .. ", " .. name)
        end
    end
    close(big:tanh(), big:to "cuda":tanh(), tol, "tanh of 100003 " .. dt)
    close(big:narrow(1, 2, 100001):add(big:narrow(1, 1, 100001)),
        big:to "cuda":narrow(1, 2, 100001):add(big:to "cuda":narrow(1, 1, 100001)), tol,
            "sums of what no vector begins with, " .. dt)
    for name, o in pairs {row = row, column = col, one = row:select(1, 1),
        turned = x:t():contiguous():t()}
    do
        close(x:mul(o), X:mul(o:to "cuda"), tol, "mul by a " .. name .. ", " .. dt)
        close(x:lt(o), X:lt(o:to "cuda"), tol, "lt of a " .. name .. ", " .. dt)
        close(g.where(x:gt(0), o, 3), g.where(X:gt(0), o:to "cuda", 3), 0,
            "where with a " .. name .. ", " .. dt)
    end

    local z = g.randn(7, 33, 64, {dtype = dt})
    local Z = z:to "cuda"
    for _, op in ipairs {"sum", "amax", "var", "logsumexp"} do
        for _, dims in ipairs {1, 2, 3, {1, 2}, {2, 3}, {1, 3}, {1, 2, 3}} do
            local what = op .. " of " .. dt .. " over " ..
                (type(dims) == "table" and table.concat(dims, ", ") or dims)
            close(z[op](z, dims), Z[op](Z, dims), 10 * tol, what)
            close(z:permute(3, 1, 2)[op](z:permute(3, 1, 2), dims),
                Z:permute(3, 1, 2)[op](Z:permute(3, 1, 2), dims), 10 * tol,
                what .. ", permuted")
        end
    end
    for _, p in ipairs {{1, 3, 2}, {3, 2, 1}, {2, 1, 3}, {3, 1, 2}, {2, 3, 1}} do
        local what = "a copy of dims " .. table.concat(p, ", ") .. ", " .. dt
        close(z:permute(p):contiguous(), Z:permute(p):contiguous(), 0, what)
        close(z:permute(p):to {dtype = "i16"}:contiguous(),
            Z:permute(p):to {dtype = "i16"}:contiguous(), 0, what .. ", as i16")
    end
    local line, Line = big:mul(0.01), big:mul(0.01):to "cuda"
    close(line:cumsum(1), Line:cumsum(1), 10 * tol, "cumsum of a long line, " .. dt)
    close(line:add(1):cumprod(1), Line:add(1):cumprod(1), 300 * tol,
        "cumprod of a long line, " .. dt)
    local _, at = line:cummax(1)
    local _, At = Line:cummax(1)
    close(at, At, 0, "cummax of a long line, " .. dt)
end

-- Operands of two dtypes, read as adjacent elements; in other orders of dims, by tiles.
do
    local x = g.randn(3, 40, 68):mul(50)
    for _, pair in ipairs {{"f16", "f32"}, {"f32", "bf16"}, {"f64", "f32"}, {"i64", "f32"},
        {"u8", "i16"}, {"i8", "i64"}, {"f16", "bf16"}, {"bool", "f64"}} do
        local a, b = x:to {dtype = pair[1]}, x:mul(3):to {dtype = pair[2]}
        local A, B = a:to "cuda", b:to "cuda"
        for _, p in ipairs {{1, 2, 3}, {1, 3, 2}, {3, 2, 1}, {2, 3, 1}} do
            local what = ("%s and %s in order %s"):format(pair[1], pair[2], table.concat(p, ", "))
            local n = a:permute(p).shape
            local same, Same = g.ones(n, {dtype = pair[2]}), g.ones(n, {dtype = pair[2]}):to "cuda"
            for _, op in ipairs {"add", "lt"} do
                close(a:permute(p)[op](a:permute(p), same), A:permute(p)[op](A:permute(p), Same), 0,
                    op .. " of " .. what .. " and an ordered one")
                close(same[op](same, a:permute(p)), Same[op](Same, A:permute(p)), 0,
                    op .. " of an ordered one and " .. what)
            end
            local view, View = b:permute(p), B:permute(p)
            close(a:permute(p):add(view), A:permute(p):add(View), 0, "sum of " .. what)
            close(view:narrow(1, 1, 1):add(a:permute(p)),
                View:narrow(1, 1, 1):add(A:permute(p)), 0, "sum with a first of " .. what)
        end
    end
    local y, Y = x:permute(1, 3, 2), x:to "cuda":permute(1, 3, 2)
    close(y:exp(), Y:exp(), 3e-5, "exp by tiles")
    close(y:addcmul(y, y, 0.5), Y:addcmul(Y, Y, 0.5), 3e-5, "addcmul by tiles")
end

-- Integers of one and two bytes: 16 bytes of a thread at once, what remains, and views that begin
-- anywhere; a bool's inverse; numbers that the dtype cannot hold.
for _, dt in ipairs {"u8", "i8", "i16", "bool"} do
    local x = g.randint(-300, 300, {1003}, {dtype = "i64"}):to {dtype = dt}
    local y = g.randint(-3, 3, {1003}, {dtype = "i64"}):to {dtype = dt}
    local n = dt == "bool" and 1 or 7
    for from = 1, 2 do
        local a, b = x:narrow(1, from, 1002), y:narrow(1, from, 1002)
        local A, B = x:to "cuda":narrow(1, from, 1002), y:to "cuda":narrow(1, from, 1002)
        local what = (" of %s from %d"):format(dt, from)
        for _, op in ipairs {"add", "mul", "maximum", "bitwise_xor", "lt", "eq", "logical_and"} do
            close(a[op](a, b), A[op](A, B), 0, op .. what)
            close(a[op](a, b:select(1, 1)), A[op](A, B:select(1, 1)), 0, op .. " of one" .. what)
        end
        for _, op in ipairs {"bitwise_not", "logical_not", "relu"} do
            if dt ~= "bool" or op ~= "relu" then close(a[op](a), A[op](A), 0, op .. what) end
        end
        for _, op in ipairs {"lt", "ge", "ne"} do
            for _, by in ipairs {n, -1, 300, 1 << 40} do
                close(a[op](a, by), A[op](A, by), 0, op .. " " .. by .. what)
            end
        end
    end
end

-- lgamma in f32 against that in f64 on the CPU: zeros, poles, both sides of each branch.
do
    local x = g.cat {g.linspace(-9, 9, 2000), g.tensor {0.0, -0.0, 1, 2, -1, -2, 1 / 0, -1 / 0,
        0 / 0, 3e38, -3e38, -0.5, -0.50000006, 1e-40, -1e-40, 7.5, -7.5, 7.4999995, 171.5, -171.5}}
    close(x:to "f64":lgamma():to "f32", x:to "cuda":lgamma(), 2e-7, "lgamma of f32")
end

-- softmax of infinities and NaN: in rows that are held, kept or in parts, and down columns.
for _, dt in ipairs {"f32", "f16"} do
    local x, y, inf = g.randn(3, 70000), g.randn(100, 70), math.huge
    x[{1, {1, 5000}}], x[{2, {}}], x[{3, 123}] = -inf, -inf, inf
    y[{{1, 40}, {1, 20}}], y[{{}, 30}], y[{77, 31}] = -inf, -inf, inf
    y[{78, 32}], y[{78, 33}] = 0 / 0, 1e4
    for name, v in pairs {long = x, short = y, odd = g.randn(5, 1001), kept = g.randn(5, 9001),
        longer = g.randn(5, 20000)} do
        v = v:to {dtype = dt}
        for _, op in ipairs {"softmax", "log_softmax"} do
            close(v[op](v, 2), v:to "cuda"[op](v:to "cuda", 2), tolerance[dt],
                ("%s of %s rows, %s"):format(op, name, dt))
            local turned = v:t():contiguous()
            close(turned[op](turned, 1), turned:to "cuda"[op](turned:to "cuda", 1), tolerance[dt],
                ("%s of %s columns, %s"):format(op, name, dt))
        end
    end
end

-- Transposed copies with enough tiles for the widest ones to be used.
for dt, n in pairs {f32 = 1452, i16 = 2900} do
    local x = g.arange(1, n * n, 1, {dtype = "i32"}):to(dt):view(n, n)
    local y = x:to "cuda":t():contiguous():cpu()
    t.ok(y:eq(x:t()):all():item(), "a large transposed copy, " .. dt)
end

-- Columns of more than a cache holds: strips of vectors, of single elements, and of several
-- matrices; rows so long that their parts' sums are joined by a kernel of their own.
do
    local x, y = g.randn(1100, 7700), g.randn(2, 1050, 2003):to "f64"
    x[{{}, 5}], x[{{1, 200}, 6}] = -math.huge, -math.huge
    x[{1000, 7}], x[{1001, 8}] = math.huge, 0 / 0
    close(x:softmax(1) * 1000, x:to "cuda":softmax(1) * 1000, tolerance.f32,
        "softmax of large columns, f32")
    close(y:log_softmax(2), y:to "cuda":log_softmax(2), 1e-12, "log_softmax of large columns, f64")
    local row = g.randn(300004)
    for from = 1, 2 do
        local a, b = row:narrow(1, from, 300003), row:to "cuda":narrow(1, from, 300003)
        close(a:softmax(1) * 1e5, b:softmax(1) * 1e5, 1e-5, "softmax of a row in many parts")
    end
    close(row:log_softmax(1), row:to "cuda":log_softmax(1), 1e-5, "log_softmax of such a row")
end

-- Views that do not begin at a multiple of 16 bytes, where the libraries' kernels would read 16 at
-- once.
for _, dt in ipairs {"f32", "f16"} do
    local a, b = g.randn(1 + 2 * 3 * 8 * 8, {dtype = dt}), g.randn(1 + 4 * 3 * 3 * 3, {dtype = dt})
    local function operands(device)
        return a:to(device):narrow(1, 2, 384):view(2, 3, 8, 8),
            b:to(device):narrow(1, 2, 108):view(4, 3, 3, 3)
    end
    local x, w = operands "cpu"
    local X, W = operands "cuda"
    close(g.conv2d(x, w), g.conv2d(X, W), 10 * tolerance[dt],
        "conv2d of views that begin anywhere, " .. dt)
    local function gradients(u, v)
        u, v = u:detach():requires_grad_(), v:detach():requires_grad_()
        g.conv2d(u, v):sum():backward()
        return u.grad, v.grad
    end
    local gx, gw = gradients(x, w)
    local GX, GW = gradients(X, W)
    close(gx, GX, 10 * tolerance[dt], "the image's gradient, " .. dt)
    close(gw, GW, 30 * tolerance[dt], "the weight's gradient, " .. dt)
    for _, op in ipairs {"softmax", "log_softmax"} do
        close(x[op](x, -1), X[op](X, -1), tolerance[dt],
            op .. " of rows that begin anywhere, " .. dt)
    end
    close(g.layer_norm(x, {8}), g.layer_norm(X, {8}), 10 * tolerance[dt],
        "layer_norm of rows that begin anywhere, " .. dt)
    -- Weights: in vectors, unaligned, one for several adjacent elements.
    local rows, groups = g.randn(5, 64, {dtype = dt}), g.randn(2, 6, 4, 4, {dtype = dt})
    for from = 1, 4 do -- in x's dtype, and in f32
        local ws, bs = g.randn(65, {dtype = dt}), g.randn(65, {dtype = dt})
        if from > 2 then from, ws, bs = from - 2, ws:float(), bs:float() end
        local w1, b1 = ws:narrow(1, from, 64), bs:narrow(1, from, 64)
        local W1, B1 = ws:to "cuda":narrow(1, from, 64), bs:to "cuda":narrow(1, from, 64)
        local what = (" of %s, %s weights from %d"):format(dt, ws.dtype, from)
        close(g.layer_norm(rows, {64}, w1, b1), g.layer_norm(rows:to "cuda", {64}, W1, B1),
            10 * tolerance[dt], "layer_norm" .. what)
        close(g.group_norm(groups, 3, w1:narrow(1, 1, 6), b1:narrow(1, 1, 6)),
            g.group_norm(groups:to "cuda", 3, W1:narrow(1, 1, 6), B1:narrow(1, 1, 6)),
                10 * tolerance[dt], "group_norm" .. what)
    end
    local line, Line = g.randn(1025, {dtype = dt}), nil
    Line = line:to "cuda"
    local mask, at = line:narrow(1, 2, 1024):gt(0), g.randint(1, 32, {40})
    -- all ops that run by vectors, on rows that begin at the second element
    local function some(v, m, i)
        local u, w = v:narrow(1, 2, 1024), v:narrow(1, 1, 1024)
        local r = u:view(32, 32)
        local into = g.zeros(1025, {dtype = dt, device = v.device})
        into:narrow(1, 2, 1024):fill_(3)
        into:narrow(1, 4, 512):copy_(u:narrow(1, 1, 512))
        return {u:clone(), u:to {dtype = "f64"}, u:to {dtype = "i8"}, g.where(m, u, w),
            g.where(m, u, 2), g.cat {u, w, u}, g.stack {u, w},
            r:index_select(1, i), g.embedding(i, r), r:sum(1), r:sum(2), r:cumsum(2),
            r:t():contiguous(), r:sort(2), into,
            r:index_add(1, i, v:narrow(1, 1, 1024):view(32, 32):index_select(1, i)), r:var(2),
            g.cross_entropy(r, i:narrow(1, 1, 32))}
    end
    local want, got = some(line, mask, at), some(Line, mask:to "cuda", at:to "cuda")
    for k, v in ipairs(want) do
        close(v, got[k], 30 * tolerance[dt],
            ("number %d of what begins at the second element, %s"):format(k, dt))
    end
    local function stepped(device) -- unaligned parameters, gradients and moments
        local list = {}
        for k = 1, 4 do list[k] = line:mul(k):abs():to(device):narrow(1, 2, 1024) end
        local p = list[1]:clone():requires_grad_()
        p:softmax(-1):mul(list[2]):sum():backward()
        local q = g.layer_norm(list[3]:view(16, 64):detach():requires_grad_(), {64})
        return p.grad, q:detach()
    end
    local p1, q1 = stepped "cpu"
    local p2, q2 = stepped "cuda"
    close(p1, p2, tolerance[dt], "softmax's gradient, " .. dt)
    close(q1, q2, 10 * tolerance[dt], "layer_norm, " .. dt)
    -- a warp a row, groups, scalars, a block, more than shared memory keeps
    for _, n in ipairs {40, 1000, 1001, 9000, 40000} do
        local r = g.randn(3, n, {dtype = dt})
        close(r:softmax(2), r:to "cuda":softmax(2), tolerance[dt],
            "softmax of rows of " .. n .. ", " .. dt)
        close(r:log_softmax(2), r:to "cuda":log_softmax(2), 10 * tolerance[dt],
            "log_softmax of rows of " .. n .. ", " .. dt)
        close(g.layer_norm(r, {n}), g.layer_norm(r:to "cuda", {n}), 10 * tolerance[dt],
            "layer_norm of rows of " .. n .. ", " .. dt)
    end
end

-- Transposed copies of small elements: squares of adjacent ones, sizes and views without any.
for _, dt in ipairs {"u8", "bool", "i16", "bf16", "i32", "f64"} do
    local x = g.arange(0, 2 * 132 * 76 - 1):remainder(251):view(2, 132, 76):to {dtype = dt}
    local X = x:to "cuda"
    for _, v in ipairs {{1, 132, 1, 76}, {1, 130, 1, 76}, {4, 125, 1, 76}, {5, 128, 3, 64}} do
        local function turned(y)
            y = y:narrow(2, v[1], math.min(v[2], 133 - v[1])):narrow(3, v[3], v[4])
            local into = g.zeros(2, v[4], 140, {dtype = dt, device = y.device})
            into:narrow(3, 5, y.shape[2]):copy_(y:transpose(2, 3))
            return y:transpose(2, 3):contiguous(), into
        end
        local a, b = turned(x)
        local A, B = turned(X)
        t.ok(a:eq(A:to "cpu"):all():item() and b:eq(B:to "cpu"):all():item(),
            ("a transposed copy of %s, %d from %d"):format(dt, v[2], v[1]))
    end
end

-- Products of integers, which wrap: tiles of 16 and of 64, their edges, views.
for _, dt in ipairs {"i32", "i64", "i16", "u8"} do
    for _, size in ipairs {{33, 70, 129}, {64, 1, 64}, {65, 17, 40}, {7, 33, 90}} do
        local m, k, n = table.unpack(size)
        local a, b = g.randint(-2000000000, 2000000000, {2, m, k}, {dtype = "i64"}):to {dtype = dt},
            g.randint(-2000000000, 2000000000, {2, n, k}, {dtype = "i64"}):to {dtype = dt}
        local A, B = a:to "cuda", b:to "cuda"
        local bt, Bt, at, At = b:transpose(2, 3), B:transpose(2, 3), a[2]:t(), A[2]:t()
        local same = a:matmul(bt):eq(A:matmul(Bt):to "cpu"):all():item()
        same = same and b[1]:matmul(at):eq(B[1]:matmul(At):to "cpu"):all():item()
        t.ok(same, ("a product of %s, %d x %d x %d"):format(dt, m, k, n))
    end
end

-- Tiles of operands across the result, whole and not, of one dtype and of several.
for _, dt in ipairs {"f32", "f64", "i64", "i32", "bf16"} do
    local x, y = (g.randn(70, 133) * 9):to(dt), (g.randn(133, 70) * 9):to(dt)
    local z = (g.randn(3, 40, 2, 37) * 9):to(dt):permute(1, 4, 3, 2)
    local X, Y, Z = x:to "cuda":t(), y:to "cuda", z:contiguous():to "cuda"
    Z = Z:permute(1, 4, 3, 2):contiguous():permute(1, 4, 3, 2)
    close(x:t() * 2, X * 2, 0, dt .. ": a number times the transposed")
    close(x:t() + y, X + Y, 0, dt .. ": plus rows")
    close(y - x:t(), Y - X, 0, dt .. ": from rows")
    close(x:t() * x:t(), X * X, 0, dt .. ": both transposed")
    close(x:t():gt(y), X:gt(Y), 0, dt .. ": a bool as the result")
    close(x:t() + y:narrow(2, 1, 1), X + Y:narrow(2, 1, 1), 0, dt .. ": plus a column")
    close(z * 2, Z * 2, 0, dt .. ": matrices")
end

-- A part's product may overflow f64 where the whole does not.
local both = g.stack({g.full({15000}, 1e-200, {dtype = "f64"}),
    g.full({15000}, 1e200, {dtype = "f64"})}, 2):flatten()
t.close(both:to "cuda":cumprod(1):select(1, 30000):item(), 1, 1e-6,
    "cumprod of factors that cancel")

for text, call in pairs {
    ["floor_divide: integer division by zero"] = function(x) return x:floor_divide(x:sub(x)) end,
    ["fmod: integer division by zero"] = function(x) return x:fmod(0) end,
    ["pow: an integer raised to a negative integer"] = function(x) return x:pow(x:neg()) end,
    ["bernoulli: a probability in 'x' is not between 0 and 1"] =
        function(x) return x:to {dtype = "f32"}:bernoulli() end,
    ["bce: a probability is not between 0 and 1"] =
        function(x) return x:to {dtype = "f32"}:bce(x) end,
    ["multinomial: a weight in 'x' is negative"] =
        function(x) return x:to {dtype = "f32"}:neg():multinomial(1) end,
} do
    local x = g.range(2, 40, {device = "cuda"})
    local ok, message = pcall(function() return call(x):sum():item() end)
    t.ok(not ok and tostring(message):find(text, 1, true), text .. ": raised at the wait")
    t.is(x:sum():item(), 819, "and the device lives on")
end
t.done()
