-- Convolutions of few channels by kernels of our own on the stand-in for CUDA: results and all
-- gradients against the cpu's in f64, which products are theirs, and the same bits in any order of
-- blocks.
local t = require "tap"
local g, fake = require "gpush", require "fake"

-- The convolutions' kernels among those that fn ran, but for copies, and what it returned.
local function kernels_of(fn)
    local names, list = {}, nil
    local prof = profile.run({}, function() list = fn() end)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel" and e.name:find "^conv" and e.kernel
        if name and not name:find ": kernel$" then names[#names + 1] = name end
    end
    return table.concat(names, ", "), list
end

-- What is computed from k's numbers, of one dtype on one device: the result and the gradients of
-- the image, the weight and the bias.
local function run(k, dtype, device)
    local function leaf(v)
        v = v:detach():to(dtype):to(device)
        if k.lay and v.ndim == 4 then v = k.lay(v) end
        return v:detach():requires_grad_()
    end
    local x, w, bias = leaf(k.x), leaf(k.w), leaf(k.bias)
    local y = g[k.op](x, w, bias, k.options)
    y:backward((y:detach() * 0.7):cos())
    return { y:detach(), x.grad, w.grad, bias.grad }
end

local function case(op, image, weight, options, lay)
    local filters = weight[op == "conv2d" and 1 or 2]
    return { op = op, x = randn(image), w = randn(weight), bias = randn(filters),
        options = options, lay = lay }
end

local function judge(k, name, want)
    local names, got = kernels_of(function() return run(k, "f32", "cuda") end)
    t.is(names, want, name .. ": its kernels")
    for i, right in ipairs(run(k, "f64", "cpu")) do
        local eps = 1e-5 * (1 + right:abs():amax():item())
        t.close(got[i]:cpu():reshape(-1):tolist(), right:reshape(-1):tolist(), eps,
            name .. ": result " .. i)
    end
end

local all = "direct: convolve, direct: convolve, direct: weigh, direct: add_parts"
-- Rows that begin anywhere, and columns that are not adjacent.
local function inside(v)
    local wide = g.full({ v.shape[1], v.shape[2] + 1, v.shape[3] + 2, v.shape[4] + 3 }, 9,
        { dtype = v.dtype, device = v.device })
    local part = wide:narrow(2, 2, v.shape[2]):narrow(3, 2, v.shape[3]):narrow(4, 3, v.shape[4])
    part:copy_(v)
    return part
end
local function turned(v) return v:permute(4, 3, 2, 1):contiguous():permute(4, 3, 2, 1) end

for i, k in ipairs {
    case("conv2d", { 2, 10, 19, 66 }, { 10, 10, 3, 3 }, { padding = "same" }),
    case("conv2d", { 1, 1, 17, 18 }, { 1, 1, 3, 3 }, { padding = 1 }),
    case("conv2d", { 3, 3, 16, 20 }, { 2, 3, 1, 1 }),
    case("conv2d", { 1, 2, 30, 20 }, { 3, 2, 3, 2 }, { padding = "same" }), -- uneven padding
    case("conv2d", { 1, 5, 24, 21 }, { 16, 5, 5, 4 }, { padding = { 0, 3 } }),
    case("conv2d", { 1, 8, 22, 33 }, { 5, 8, 2, 5 }),
    case("conv2d", { 1, 4, 26, 27 }, { 6, 4, 7, 7 }, { padding = 5 }),
    case("conv2d", { 2, 13, 20, 16 }, { 8, 13, 1, 6 }, { padding = "same" }),
    case("conv2d", { 1, 32, 16, 17 }, { 11, 32, 3, 1 }, { padding = 1 }),
    case("conv2d", { 1, 17, 20, 18 }, { 32, 17, 3, 3 }), -- several groups of either channels
    case("conv2d", { 4, 18, 36 }, { 4, 4, 3, 3 }), -- no images
    case("conv2d", { 2, 3, 20, 24 }, { 4, 3, 3, 3 }, { padding = 2 }, inside),
    case("conv2d", { 2, 3, 20, 24 }, { 4, 3, 3, 3 }, { padding = 2 }, turned),
    case("conv_transpose2d", { 2, 4, 18, 20 }, { 4, 7, 3, 3 }),
    case("conv_transpose2d", { 1, 3, 24, 32 }, { 3, 2, 5, 3 }, { padding = 2 }),
} do judge(k, ("case %d, %s"):format(i, k.op), all) end

-- Dtypes, steps, groups, channels, taps and images that are cuDNN's.
for i, k in ipairs {
    { { 1, 3, 18, 20 }, { 4, 3, 3, 3 }, { stride = 2 } },
    { { 1, 3, 18, 20 }, { 4, 3, 3, 3 }, { dilation = { 1, 2 } } },
    { { 1, 4, 18, 20 }, { 4, 2, 3, 3 }, { groups = 2 } },
    { { 1, 33, 18, 20 }, { 4, 33, 3, 3 } },
    { { 1, 4, 18, 20 }, { 33, 4, 3, 3 } },
    { { 1, 3, 18, 20 }, { 4, 3, 3, 8 } },
    { { 1, 3, 9, 12 }, { 4, 3, 3, 3 } },
    { { 1, 3, 18, 20 }, { 4, 3, 3, 3 }, nil, "f64" },
    { { 1, 3, 18, 20 }, { 4, 3, 3, 3 }, nil, "f16" },
} do
    local dtype = k[4] or "f32"
    local x, w = randn(k[1]):to(dtype):cuda(), randn(k[2]):to(dtype):cuda()
    local names = kernels_of(function() return conv2d(x, w, nil, k[3]) end)
    t.ok(names:find "^fake_convolution", ("cuDNN's, case %d: %s"):format(i, names))
end

-- Infinity reaches the taps that see it, and no others, also beyond the last output.
local x = zeros(1, 1, 16, 19)
x[1][1][16][19]:fill_(math.huge)
local dw = conv_weight_grad(ones(1, 1, 14, 17):cuda(), x:cuda(), { 1, 1, 3, 3 }):cpu()
t.is(dw:reshape(-1):tolist(), { 0, 0, 0, 0, 0, 0, 0, 0, math.huge }, "infinity in a corner")

-- The same bits whatever block or thread comes first.
local k = case("conv2d", { 3, 5, 37, 50 }, { 7, 5, 3, 3 }, { padding = 1 })
local first = run(k, "f32", "cuda")
for _, order in ipairs { "forward", "backward" } do
    fake.fault("order=" .. order)
    for i, y in ipairs(run(k, "f32", "cuda")) do
        t.ok(y:equal(first[i]), ("the same bits, %s: result %d"):format(order, i))
    end
end
t.done()
