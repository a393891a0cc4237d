-- Convolutions and pooling on the stand-in for CUDA where cuDNN and the CPU differ, against the
-- CPU's results.
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
t.done()
