-- For compute-sanitizer to watch: one call of many ops at odd sizes, forward and backward, then one
-- of every kernel of our own at the least size that selects it (kernels.lua). gpush touch.lua
-- DEVICE [ours]. `ours` leaves out what cuDNN's kernels for attention do.
local opt, ours = { device = arg[1] }, arg[2] == "ours"
manual_seed(0)
for _, n in ipairs { 1, 31, 257, 4099 } do
    local x, y = randn(n, opt), rand(n, opt) + 0.5
    local mask, index = x > 0, randint(1, n, { n }, opt)
    local _ = (x * y + 1):exp():sum() + x:to "bf16":relu():sum():to "f32" + x:cumsum(1):amax() +
        x[mask]:sum()
    _ = { x:sort(), x:argsort(), x:topk(math.min(n, 5)), index:unique(), mask:nonzero(),
        x:gather(1, index), x:index_select(1, index) }
    _ = { zeros(n, opt):scatter_add(1, index, x), x:flip(1), x:roll(3), cat({ x, y }), x:median(),
        x:var(), where(mask, x, y) }
end
local image, kernel = randn(2, 3, 17, 19, opt), randn(5, 3, 3, 3, opt)
image:requires_grad_()
kernel:requires_grad_()
local scores = conv2d(image, kernel, nil, 1, 1):relu()
local pooled = max_pool2d(scores, 2):flatten(2)
local loss = cross_entropy(scores, randint(1, 5, { 2, 17, 19 }, opt)) +
    pooled:softmax(-1):square():sum() + layer_norm(pooled, { pooled.shape[2] }):sum()
loss:backward()
-- rows so wide that a block has 1024 threads, and attention with and without a mask
local wide = randn(2, 20000, opt):to "bf16":detach():requires_grad_()
local heads = randn(2, 3, 40, 64, opt):to "f16":detach():requires_grad_()
local seen = heads * 2
if not ours then
    seen = scaled_dot_product_attention(heads, heads, heads, nil, 0, true) +
        scaled_dot_product_attention(heads, heads, heads, randn(40, 40, opt):to "f16")
end
loss = (layer_norm(wide, { 20000 }) + wide:softmax(-1)):to "f32":square():sum() +
    seen:to "f32":square():sum()
loss:backward()
print(loss:item(), wide.grad:to "f32":abs():sum():item(), heads.grad:to "f32":abs():sum():item())
local m = randn(4, 9, 9, opt)
local _ = { linalg.svd(m), linalg.inv(m), m:matmul(m), m:transpose(2, 3):contiguous(),
    linalg.qr(m) }
print(image.grad:abs():sum():item(), kernel.grad:abs():sum():item())

local rows = assert(loadfile((arg[0]:match ".*/" or "") .. "kernels.lua"))(arg[1])
for _, row in ipairs(rows) do
    io.stderr:write(row[1], ": ", row[2], "\n") -- an error or a report is of the last one
    row[3]()
    synchronize(arg[1])
    collectgarbage()
end
print(#rows .. " calls of our own kernels")
