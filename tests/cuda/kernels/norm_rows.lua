-- softmax, log_softmax, layer_norm, rms_norm and their gradients on CUDA, of rows and columns whose
-- lengths choose between kernels (kernels/cuda/norm): against f64 on the CPU.
local t = require "tap"
local on_stand_in, fake = pcall(require, "fake") -- else a GPU, which has its own order
manual_seed(8)

-- The error of f32 and 16-bit floats relative to the largest element; f64's absolute one.
local tolerances = { f32 = 1e-5, f64 = 1e-12, f16 = 4e-3, bf16 = 3e-2 }
local function close(got, want, dtype, name)
    local far = (got:to "cpu":to "f64" - want):abs():max():item()
    local large = want:abs():max():item()
    t.ok(far <= tolerances[dtype] * math.max(large, 1e-3),
        ("%s: %g off, of %g"):format(name, far, large))
end

-- Runs fn(x, …) of leaves here in f64 and on cuda, and compares results and gradients.
local function both(fn, tensors, dtype, name)
    local here, there = {}, {}
    for i, x in ipairs(tensors) do
        here[i] = x:to("f64"):clone():requires_grad_()
        there[i] = x:to(dtype):to "cuda":clone():requires_grad_()
    end
    local want, got = fn(table.unpack(here)), fn(table.unpack(there))
    local g = randn(want.shape):to(dtype)
    close(got:detach(), want:detach(), dtype, name)
    want:backward(g:to "f64")
    got:backward(g:to "cuda")
    for i, x in ipairs(there) do
        close(x.grad, here[i].grad, dtype, ("%s, gradient %d"):format(name, i))
    end
end

local function check_rows(shape, dtype)
    local width, name = { shape[2] }, table.concat(shape, "x") .. " " .. dtype
    local x, w, b = randn(shape):to(dtype), randn(width):to(dtype), randn(width):to(dtype)
    both(function(x) return x:softmax(2) end, { x }, dtype, "softmax " .. name)
    both(function(x) return x:log_softmax(2) end, { x }, dtype, "log_softmax " .. name)
    if shape[2] < 4 then return end -- the variance of few numbers may be tiny
    both(function(x, w, b) return layer_norm(x, width, w, b) end, { x, w, b }, dtype,
        "layer_norm " .. name)
    both(function(x, w) return rms_norm(x, width, w, 1e-5) end, { x, w }, dtype,
        "rms_norm " .. name)
end

local function check_columns(shape, dtype)
    local x, name = randn(shape):to(dtype), table.concat(shape, "x") .. " " .. dtype
    both(function(x) return x:softmax(-2) end, { x }, dtype, "softmax down " .. name)
    both(function(x) return x:log_softmax(-2) end, { x }, dtype, "log_softmax down " .. name)
end

for _, from in ipairs(on_stand_in and { "forward", "backward" } or { "own" }) do
    if on_stand_in then fake.fault("order=" .. from) end
    for dtype in pairs(tolerances) do
        -- rows that end within a block, within a vector, and where the kernel changes
        for _, shape in ipairs { { 70, 1 }, { 301, 3 }, { 300, 10 }, { 77, 17 }, { 33, 64 },
            { 21, 99 }, { 9, 128 }, { 5, 257 }, { 3, 512 }, { 3, 513 } } do
            check_rows(shape, dtype)
        end
        for _, shape in ipairs { { 1024, 1 }, { 1500, 5 }, { 1030, 12 }, { 2, 1100, 6 } } do
            check_columns(shape, dtype)
        end
    end
    check_columns({ 33000, 9 }, "f32")
    check_columns({ 70000, 2 }, "f32")
end
if on_stand_in then fake.fault "order=forward" end

-- groups of several warps, and rows that registers do not hold
check_rows({ 3, 1027 }, "bf16")
check_rows({ 1, 16388 }, "f32")

-- Rows whose elements lie apart, or that begin elsewhere in x than in the result, modulo 16 bytes.
for _, n in ipairs { 37, 4096, 4099 } do
    local tall, wide = randn(n, 3), randn(3, n + 1)
    close(tall:to "cuda".T:softmax(2), tall:to("f64").T:softmax(2), "f32",
        "softmax of transposed rows of " .. n)
    close(wide:to "cuda"[":, 2:"]:softmax(2), wide:to("f64")[":, 2:"]:softmax(2), "f32",
        "softmax of rows' last " .. n)
end

-- Infinities and NaN stay in their row, and in their column.
for _, shape in ipairs { { 6, 10 }, { 6, 99 } } do
    local x = randn(shape)
    x[2][3], x[3][4], x[4] = 0 / 0, math.huge, -math.huge
    for _, name in ipairs { "softmax", "log_softmax" } do
        local got, want = x:to "cuda"[name](x:to "cuda", 2):to "cpu", x[name](x, 2)
        t.is(got:isnan():tolist(), want:isnan():tolist(),
            ("%s %dx%d: NaN where the CPU has it"):format(name, shape[1], shape[2]))
    end
end
local x = randn(1100, 8)
x[7][2], x[8][3], x[{ {}, 4 }] = 0 / 0, math.huge, -math.huge
t.is(x:to "cuda":softmax(1):to "cpu":isnan():tolist(), x:softmax(1):isnan():tolist(),
    "down columns, too")
t.done()
