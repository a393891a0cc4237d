--!plain
-- Ops on the stand-in for CUDA against the CPU's, on shapes that reach what small ones do not: vectors and what is left
-- behind them, rows and columns in parts, tiles of transposed copies, lines cut into parts, faults of integers.
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
    local x, row, col = g.randn(37, 64, {dtype = dt}), g.randn(64, {dtype = dt}), g.randn(37, 1, {dtype = dt})
    local X, big = x:to "cuda", g.randn(100003, {dtype = dt})
    local views = {contiguous = {x, X}, transposed = {x:t(), X:t()}, every_second = {x:slice(2, 1, 64, 2), X:slice(2, 1, 64, 2)},
        inner = {x:narrow(1, 3, 29):narrow(2, 5, 50), X:narrow(1, 3, 29):narrow(2, 5, 50)}}
    for name, v in pairs(views) do
        for _, op in ipairs {"exp", "gelu", "erfinv", "isfinite", "lgamma"} do
            close(v[1][op](v[1]), v[2][op](v[2]), tol, op .. " of " .. dt .. ", " .. name)
        end
    end
    close(big:tanh(), big:to "cuda":tanh(), tol, "tanh of 100003 " .. dt)
    close(big:narrow(1, 2, 100001):add(big:narrow(1, 1, 100001)),
        big:to "cuda":narrow(1, 2, 100001):add(big:to "cuda":narrow(1, 1, 100001)), tol, "sums of what no vector begins with, " .. dt)
    for name, o in pairs {row = row, column = col, one = row:select(1, 1), turned = x:t():contiguous():t()} do
        close(x:mul(o), X:mul(o:to "cuda"), tol, "mul by a " .. name .. ", " .. dt)
        close(x:lt(o), X:lt(o:to "cuda"), tol, "lt of a " .. name .. ", " .. dt)
        close(g.where(x:gt(0), o, 3), g.where(X:gt(0), o:to "cuda", 3), 0, "where with a " .. name .. ", " .. dt)
    end

    local z = g.randn(7, 33, 64, {dtype = dt})
    local Z = z:to "cuda"
    for _, op in ipairs {"sum", "amax", "var", "logsumexp"} do
        for _, dims in ipairs {1, 2, 3, {1, 2}, {2, 3}, {1, 3}, {1, 2, 3}} do
            local what = op .. " of " .. dt .. " over " .. (type(dims) == "table" and table.concat(dims, ", ") or dims)
            close(z[op](z, dims), Z[op](Z, dims), 10 * tol, what)
            close(z:permute(3, 1, 2)[op](z:permute(3, 1, 2), dims), Z:permute(3, 1, 2)[op](Z:permute(3, 1, 2), dims), 10 * tol,
                what .. ", permuted")
        end
    end
    for _, p in ipairs {{1, 3, 2}, {3, 2, 1}, {2, 1, 3}, {3, 1, 2}, {2, 3, 1}} do
        local what = "a copy of dims " .. table.concat(p, ", ") .. ", " .. dt
        close(z:permute(p):contiguous(), Z:permute(p):contiguous(), 0, what)
        close(z:permute(p):to {dtype = "i16"}:contiguous(), Z:permute(p):to {dtype = "i16"}:contiguous(), 0, what .. ", as i16")
    end
    local line, Line = big:mul(0.01), big:mul(0.01):to "cuda"
    close(line:cumsum(1), Line:cumsum(1), 10 * tol, "cumsum of a long line, " .. dt)
    close(line:add(1):cumprod(1), Line:add(1):cumprod(1), 300 * tol, "cumprod of a long line, " .. dt)
    local _, at = line:cummax(1)
    local _, At = Line:cummax(1)
    close(at, At, 0, "cummax of a long line, " .. dt)
end

-- A part's product may be beyond f64 where the whole is not.
local both = g.stack({g.full({15000}, 1e-200, {dtype = "f64"}), g.full({15000}, 1e200, {dtype = "f64"})}, 2):flatten()
t.close(both:to "cuda":cumprod(1):select(1, 30000):item(), 1, 1e-6, "cumprod of factors that cancel")

for text, call in pairs {
    ["floor_divide: integer division by zero"] = function(x) return x:floor_divide(x:sub(x)) end,
    ["fmod: integer division by zero"] = function(x) return x:fmod(0) end,
    ["pow: an integer raised to a negative integer"] = function(x) return x:pow(x:neg()) end,
    ["bernoulli: a probability in 'x' is not between 0 and 1"] = function(x) return x:to {dtype = "f32"}:bernoulli() end,
    ["multinomial: a weight in 'x' is negative"] = function(x) return x:to {dtype = "f32"}:neg():multinomial(1) end,
} do
    local x = g.range(2, 40, {device = "cuda"})
    local ok, message = pcall(function() return call(x):sum():item() end)
    t.ok(not ok and tostring(message):find(text, 1, true), text .. ": raised at the wait")
    t.is(x:sum():item(), 819, "and the device lives on")
end
t.done()
