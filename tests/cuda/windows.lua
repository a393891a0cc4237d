-- Convolutions, pooling and resizing on the stand-in for CUDA where cuDNN and the CPU differ or a
-- kernel divides its work by the sizes, and repeat_interleave; against the CPU's results.
local t = require "tap"

local function same(fn, tensors, tol, name, ...)
    local away = {}
    for i, x in ipairs(tensors) do away[i] = x:to "cuda" end
    local here, there = fn(tensors, ...), fn(away, ...):to "cpu"
    t.close((there:to "f64"):reshape(-1):tolist(), (here:to "f64"):reshape(-1):tolist(), tol, name)
end

-- "same" with an even kernel has one more element of padding at the end than at the start, which
-- cuDNN lacks.
for dtype, tol in pairs {f32 = 1e-5, f16 = 2e-2, bf16 = 1e-1} do
    local x, w, b = randn(2, 4, 7, 6):to(dtype), randn(6, 2, 4, 3):to(dtype), randn(6):to(dtype)
    local g, how = randn(2, 6, 7, 6):to(dtype), {1, "same", 1, 2}
    same(function(a) return conv2d(a[1], a[2], a[3], table.unpack(how)) end, {x, w, b}, tol,
        dtype .. " conv2d, an even kernel")
    same(function(a) return conv_input_grad(a[1], a[2], {2, 4, 7, 6}, table.unpack(how)) end,
        {g, w}, tol, dtype .. " its input's gradient")
    same(function(a) return conv_weight_grad(a[1], a[2], {6, 2, 4, 3}, table.unpack(how)) end,
        {g, x}, 10 * tol, dtype .. " its weight's gradient")
end

-- NaN wins wherever it is in a window; its index is returned.
local x = arange(1, 36, 1, {dtype = "f32"}):view(1, 6, 6):clone()
x[1][2][5], x[1][4][1], x[1][6][6] = 0 / 0, 0 / 0, 0 / 0
local values, places = max_pool2d(x:to "cuda", 3, 3, 0, 1, false, true)
t.is(tostring(values:isnan():to "cpu":tolist()[1][1][2]), "true",
    "NaN wins where larger elements follow")
t.is(places:to "cpu":tolist(), (select(2, max_pool2d(x, 3, 3, 0, 1, false, true))):tolist(),
    "and its place is printed")
-- A thread resizes several planes; the last ones are fewer.
for dtype, tol in pairs { f32 = 1e-5, bf16 = 5e-2 } do
    for _, mode in ipairs { "nearest", "bilinear" } do
        local x = randn(3, 7, 9, 13):to(dtype)
        for _, scale in ipairs { 2, 1.7, 0.4 } do
            local how = { scale_factor = scale, mode = mode }
            local function resized(a) return interpolate(a[1], how) end
            local g = randn(resized { x }.shape):to(dtype)
            same(resized, { x }, tol, ("%s %s by %g"):format(dtype, mode, scale))
            same(function(a)
                local leaf = a[1]:detach():requires_grad_()
                resized { leaf }:backward(a[2])
                return leaf.grad
            end, { x, g }, 4 * tol, ("%s %s by %g, gradient"):format(dtype, mode, scale))
        end
    end
    -- large windows have a warp or a block each
    local image = randn(2, 3, 40, 45):to(dtype)
    for _, size in ipairs { 1, 2, 3 } do
        same(function(a) return adaptive_avg_pool2d(a[1], size) end, { image }, tol,
            ("%s means of %dx%d windows"):format(dtype, size, size))
    end
    same(function(a) return avg_pool2d(a[1], { 11, 9 }, 4, { 5, 3 }) end, { image }, tol,
        dtype .. " means of padded windows")
    same(function(a) return avg_pool2d(a[1]:transpose(3, 4), { 33, 35 }, 2, 8) end, { image }, tol,
        dtype .. " means of transposed large windows")
end

-- An expanded batch has one image's memory.
same(function(a) return max_pool2d(a[1]:expand(4, 3, 8, 8), 2) end, { randn(1, 3, 8, 8) }, 0,
    "max_pool2d of an expanded image")
same(function(a)
    local leaf = a[1]:detach():requires_grad_()
    avg_pool2d(leaf, 2):backward(a[2]:expand(4, 3, 4, 4))
    return leaf.grad
end, { randn(4, 3, 8, 8), randn(1, 3, 4, 4) }, 1e-6, "avg_pool2d's gradient of an expanded one")

-- The gradient of max pooling sums, in the cpu's order, over the windows that an input is in: of
-- four inputs at a time, of one, and where windows have gaps or arrays other layouts. Elements are
-- equal, and windows overlap, often.
local windows = { { 2 }, { 3, 2, 1 }, { 3, 1, 1 }, { 2, 3 }, { { 2, 5 }, { 1, 3 }, { 1, 2 } },
    { 3, 2, 1, 2 }, { { 1, 2 }, 1, 0, { 1, 3 } }, { 3, 2, 0, 1, true }, { { 8, 7 }, 1, { 3, 3 } } }
local layouts = {
    ["adjacent"] = function(g) return g end,
    ["transposed"] = function(g) return g:transpose(3, 4):contiguous():transpose(3, 4) end,
    ["channels last"] = function(g)
        return g:permute(1, 3, 4, 2):contiguous():permute(1, 4, 2, 3)
    end,
    ["expanded"] = function(g) return g["1:1, 1:1, 1:1, 1:1"]:expand(g.shape) end,
    ["of planes apart"] = function(g) return cat({ g, g }, 2):narrow(2, 1, g.shape[2]) end,
}
local function grad_of(op, k)
    return function(a)
        local leaf = a[1]:detach():requires_grad_()
        op(leaf, table.unpack(k)):backward(a[2])
        return leaf.grad
    end
end
for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
    for number, k in ipairs(windows) do
        for _, size in ipairs { 12, 13 } do
            local x = randint(1, 5, { 2, 3, 9, size }):to(dtype)
            x[1][2][3][4] = 0 / 0
            local g = randn(max_pool2d(x, table.unpack(k)).shape):to(dtype)
            for name, layout in pairs(layouts) do
                if dtype == "f32" or name == "adjacent" then
                    same(grad_of(max_pool2d, k), { x, layout(g) }, 0,
                        ("%s max_pool2d's gradient, windows %d of %d columns, %s"):format(dtype,
                            number, size, name))
                end
            end
        end
    end
    for size = 30, 32 do
        local x = randint(1, 5, { 2, 3, size }):to(dtype)
        for _, k in ipairs { { 2 }, { 3, 1, 1 }, { 5, 3, 2 }, { 3, 2, 1, 2 } } do
            local g = randn(max_pool1d(x, table.unpack(k)).shape):to(dtype)
            same(grad_of(max_pool1d, k), { x, g }, 0,
                ("%s max_pool1d's gradient, %d, %d of %d"):format(dtype, k[1], k[2] or 2, size))
        end
    end
end
local _, at = max_pool2d(randn(1, 2, 8, 8), 3, 1, { return_indices = true })
for name, places in pairs { ["i32"] = at:to "i32",
    ["not adjacent"] = at:repeat_interleave(2, 4)["..., 1:-1:2"] } do
    same(function(a) return max_pool2d_grad(a[1], a[2], { 1, 2, 8, 8 }, 3, 1) end,
        { randn(1, 2, 6, 6), places }, 0, "indices that are " .. name)
end
for _, far in ipairs { 0, 65, math.mininteger, math.maxinteger, 64 } do
    local wrong = at:clone()
    wrong[1][2][2][3] = far
    t.error(function() max_pool2d_grad(ones(1, 2, 6, 6):to "cuda", wrong:to "cuda", { 1, 2, 8, 8 },
        3, 1):tolist() end, far == 64 and "index 64 is outside the window of output 9"
            or ("index %d is outside the image's plane of 64"):format(far):gsub("%-", "%%-"),
        "index " .. far)
end

local rows = randn(4, 5, 6)
for _, dim in ipairs { 1, 2, 3 } do
    same(function(a) return a[1]:repeat_interleave(3, dim) end, { rows }, 0,
        "repeated, dim " .. dim)
    same(function(a) return a[1]:transpose(1, 3):repeat_interleave(2, dim) end, { rows }, 0,
        "repeated of the transposed, dim " .. dim)
end
same(function(a) return a[1]:repeat_interleave(2) end, { rows }, 0, "repeated, flattened")
t.done()
