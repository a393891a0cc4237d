-- Convolutions of one and three dims, transposed ones, and the gradients of all, against a plain
-- loop that walks the products of a convolution once and adds each to its result; on cpu and sim.
local t = require "tap"
local g = require "gpush"

local plain = require "plain"
local numbers, product = plain.numbers(11), plain.product

local function spread(v, rank)
    if type(v) == "table" then return v end
    local out = {}
    for d = 1, rank do out[d] = v end
    return out
end

-- Calls f with each index (0-based, one table) below the sizes.
local function each(sizes, f)
    local idx = {}
    local function walk(d)
        if d > #sizes then return f(idx) end
        for i = 0, sizes[d] - 1 do
            idx[d] = i
            walk(d + 1)
        end
    end
    walk(1)
end

local function at(idx, sizes)
    local n = 0
    for d = 1, #sizes do n = n * sizes[d] + idx[d] end
    return n
end

-- Calls f with the indices of image, weight and result elements that are multiplied in convolution
-- k; returns the spatial size of results.
local function products(k, f)
    local rank, s, d = #k.size, k.stride, k.dilation
    local out = {}
    for i = 1, rank do
        out[i] = (k.size[i] + k.before[i] + k.behind[i] - d[i] * (k.kernel[i] - 1) - 1) // s[i] + 1
    end
    local cg, fg, plane = k.channels // k.groups, k.filters // k.groups, product(k.size)
    local pos = {}
    for n = 0, f and k.images - 1 or -1 do
        for filter = 0, k.filters - 1 do
            each(out, function(o)
                local y = (n * k.filters + filter) * product(out) + at(o, out) + 1
                each(k.kernel, function(i)
                    for a = 1, rank do
                        pos[a] = o[a] * s[a] - k.before[a] + i[a] * d[a]
                        if pos[a] < 0 or pos[a] >= k.size[a] then return end
                    end
                    local tap, place = at(i, k.kernel), at(pos, k.size)
                    for c = 0, cg - 1 do
                        local x = (n * k.channels + filter // fg * cg + c) * plane + place + 1
                        f(x, (filter * cg + c) * product(k.kernel) + tap + 1, y)
                    end
                end)
            end)
        end
    end
    return out
end

local function case(name, k)
    k.name = name
    local rank = #k.size
    k.images, k.channels, k.filters, k.groups = k.images or 2, k.channels or 2, k.filters
        or 3, k.groups or 1
    for _, key in ipairs {"stride", "dilation"} do k[key] = spread(k[key] or 1, rank) end
    k.kernel = spread(k.kernel or 3, rank)
    if k.padding == "same" then
        k.before, k.behind = {}, {}
        for d = 1, rank do
            local all = k.dilation[d] * (k.kernel[d] - 1)
            k.before[d], k.behind[d] = all // 2, all - all // 2
        end
    else
        k.padding = spread(k.padding or 0, rank)
        k.before, k.behind = k.padding, k.padding
    end
    return k
end

local function shape(images, channels, size) return {images, channels, table.unpack(size)} end

local function lay(x, layout)
    local n, back = x:dim(), {}
    if layout == "transposed" then
        for d = 1, n do back[d] = n + 1 - d end
        return x:permute(back):contiguous():permute(back)
    elseif layout == "strided" then
        local size = x.shape
        size[n] = size[n] * 2
        local wide = g.full(size, 7, {dtype = x.dtype})
        wide:slice(n, 1, -1, 2):copy_(x)
        return wide:slice(n, 1, -1, 2)
    end
    return x
end

local function zeros(n)
    local v = {}
    for i = 1, n do v[i] = 0 end
    return v
end

local function check(k, dtype, layout, device)
    local rank, out = #k.size, products(k)
    local xs, ws = shape(k.images, k.channels, k.size),
        shape(k.filters, k.channels // k.groups, k.kernel)
    local ys = shape(k.images, k.filters, out)
    local x, w, y = numbers(product(xs), -2, 2), numbers(product(ws), -1, 1),
        numbers(product(ys), -2, 2)
    local b, bt = numbers(k.filters, -3, 3), numbers(k.channels, -3, 3)
    local fwd, dx, dw = zeros(#y), zeros(#x), zeros(#w)
    products(k, function(i, j, o)
        fwd[o] = fwd[o] + x[i] * w[j]
        dx[i] = dx[i] + y[o] * w[j]
        dw[j] = dw[j] + y[o] * x[i]
    end)
    local function put(v, s) return lay(g.tensor(v, {dtype = dtype}):view(s), layout):to(device) end
    local tx, tw, ty = put(x, xs), put(w, ws), put(y, ys)
    local function judge(what, got, want, s)
        local name = ("%s, %s: %s %s %s"):format(k.name, what, dtype, layout, device)
        if not t.is(got.shape, s, name .. ": shape") then return end
        got = got:to("cpu"):reshape(-1):tolist()
        if dtype == "f16"
            or dtype == "bf16" then t.close(got, want, dtype == "f16" and 1e-3 or 8e-3, name)
        else t.is(got, want, name) end
    end
    judge("input_grad", g.conv_input_grad(ty, tw, xs, k.stride, k.padding, k.dilation, k.groups),
        dx, xs)
    judge("weight_grad", g.conv_weight_grad(ty, tx, ws, k.stride, k.padding, k.dilation, k.groups),
        dw, ws)
    local plane = product(out)
    for i = 1, #fwd do fwd[i] = fwd[i] + b[(i - 1) // plane % k.filters + 1] end
    judge("conv",
        g["conv" .. rank .. "d"](tx, tw, put(b, {k.filters}), k.stride, k.padding, k.dilation,
            k.groups), fwd, ys)
    if k.padding == "same" then return end
    -- The transposed convolution maps y to x; the part of x that no product reaches is
    -- output_padding.
    local extra, plane = {}, product(k.size)
    for d = 1, rank do
        extra[d] = k.size[d] -
            ((out[d] - 1) * k.stride[d] - 2 * k.padding[d] + k.dilation[d] * (k.kernel[d] - 1) + 1)
    end
    for i = 1, #dx do dx[i] = dx[i] + bt[(i - 1) // plane % k.channels + 1] end
    judge("conv_transpose",
        g["conv_transpose" .. rank .. "d"](ty, tw, put(bt, {k.channels}), k.stride, k.padding,
            extra, k.groups, k.dilation), dx, xs)
end

local cases = {
    case("1d", {size = {40}}),
    case("1d, more outputs than elements, f64's vectors", {size = {7}, kernel = 1, padding = 1}),
    case("1d, more outputs than elements, f32's vectors",
        {size = {14}, kernel = 2, padding = 2, channels = 3}),
    case("2d, more outputs than elements", {size = {5, 14}, kernel = {2, 1}, padding = {2, 1}}),
    case("1d, stride and padding", {size = {23}, stride = 3, padding = 2, kernel = 5}),
    case("1d, same", {size = {9}, kernel = 4, padding = "same"}),
    case("1d, stride beyond the kernel", {size = {24}, stride = 4, kernel = 2}),
    case("2d", {size = {7, 9}, padding = 1}),
    case("2d, same, dilated", {size = {7, 9}, padding = "same", dilation = 2, kernel = {2, 3}}),
    case("2d, stride 2", {size = {8, 11}, stride = 2, padding = 1}),
    case("2d, strides 3 and 2, dilation 2 and 3",
        {size = {15, 16}, stride = {3, 2}, dilation = {2, 3}, padding = {1, 2}}),
    case("2d, dilation and stride of a common divisor",
        {size = {17, 19}, stride = {4, 6}, dilation = {2, 4}, kernel = {4, 3}}),
    case("2d, groups", {size = {5, 6}, groups = 2, channels = 4, filters = 6}),
    case("2d, depthwise", {size = {6, 5}, groups = 5, channels = 5, filters = 5, padding = 1}),
    case("2d, wide, many filters",
        {size = {5, 70}, filters = 14, channels = 13, images = 1, padding = 1}),
    case("2d, many bands", {size = {150, 40}, images = 1, channels = 1, filters = 2, padding = 1}),
    case("2d, rows of whole vectors, two bands",
        {size = {35, 128}, images = 1, channels = 1, filters = 4, padding = 1}),
    case("2d, many small images",
        {size = {5, 5}, kernel = {2, 2}, images = 131, channels = 1, filters = 2}),
    case("2d, padding beyond the kernel", {size = {3, 2}, kernel = {2, 2}, padding = 4}),
    case("3d", {size = {4, 5, 6}, padding = 1}),
    case("3d, strides",
        {size = {5, 6, 7}, stride = {2, 1, 3}, padding = {1, 0, 1}, kernel = {3, 2, 3}}),
    case("3d, groups, dilation",
        {size = {6, 4, 5}, groups = 2, channels = 4, filters = 4, dilation = {2, 1, 2},
            kernel = {2, 2, 2}, images = 1}),
    case("3d, same", {size = {3, 4, 5}, padding = "same", kernel = {2, 3, 1}}),
}
for _, k in ipairs(cases) do
    check(k, "f32", "dense", "cpu")
    check(k, "f64", "strided", "sim")
end
for _, i in ipairs {2, 7, 16} do
    for _, dtype in ipairs {"f16", "bf16"} do
        check(cases[i], dtype, "transposed", "sim")
        check(cases[i], dtype, "strided", "cpu")
    end
    check(cases[i], "f32", "transposed", "cpu")
end
check(cases[12], "f32", "transposed", "cpu")
check(cases[#cases - 1], "f32", "transposed", "cpu")

-- ---- rows too long for a cache, computed in stretches ----

-- Small integers, so that sums are exact, and sums of slices of the padded line as reference.
local long = 600011
local function line(n, k) return g.range(0, n - 1):mul(k):remainder(13):sub(6):float() end
local function by_slices(x, w, stride, padding, dilation)
    local n, taps = x:numel(), #w
    local wide = g.zeros(n + 2 * padding)
    wide:narrow(1, 1 + padding, n):copy_(x)
    local out = (n + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    local sum = g.zeros(out)
    for i = 1, taps do
        local first = 1 + (i - 1) * dilation
        sum:add_(wide:slice(1, first, first + (out - 1) * stride, stride) * w[i])
    end
    return sum
end
local x, w = line(long, 5), {{1, -2, 3}, {0, 4, -1}}
for _, k in ipairs {{1, 0, 1}, {1, 1, 1}, {2, 5, 3}, {3, 0, 200}} do
    local y = g.conv1d(x:view(1, 1, long), g.tensor(w):unsqueeze(2):float(), g.tensor {10.0, 20.0},
        k[1], k[2], k[3])
    for f = 1, 2 do
        local want = by_slices(x, w[f], k[1], k[2], k[3]) + 10 * f
        t.is(y.shape, {1, 2, want:numel()}, "a long line: shape")
        t.ok(y[1][f]:equal(want),
            ("a long line, stride %d, padding %d, dilation %d, filter %d"):format(
                k[1], k[2], k[3], f))
    end
end
local rows = g.stack({line(long, 5), line(long, 3)}, 1):view(1, 1, 2, long)
local y = g.conv2d(rows, g.tensor {1.0, -2.0, 3.0, 0.0, 4.0, -1.0}:view(1, 1, 2, 3))
t.ok(y[1][1][1]:equal(by_slices(rows[1][1][1], w[1], 1, 0, 1) +
    by_slices(rows[1][1][2], w[2], 1, 0, 1)), "two long rows")
local back = g.conv_transpose1d(x:view(1, 1, long), g.tensor {1.0, -2.0, 3.0}:view(1, 1, 3), nil, 2)
local apart = g.zeros(2 * long + 4)
apart:slice(1, 3, 2 * long + 1, 2):copy_(x)
t.ok(back[1][1]:equal(by_slices(apart, {3, -2, 1}, 1, 0, 1):narrow(1, 1, 2 * long + 1)),
    "a long line transposed")

-- ---- edges ----

local x, w = g.ones(2, 3, 8), g.ones(4, 3, 3)
t.is(g.conv1d(x[1], w).shape, {4, 6}, "one image without its dim")
t.is(g.conv1d(x, w, {padding = "same"}).shape, {2, 4, 8}, "options by name")
t.is(g.conv3d(g.ones(0, 1, 4, 4, 4), g.ones(2, 1, 3, 3, 3)).shape, {0, 2, 2, 2, 2}, "no images")
t.is(g.conv_transpose2d(g.ones(0, 3, 4, 4), g.ones(3, 2, 3, 3), {stride = 2}).shape, {0, 2, 9, 9},
    "transposed, no images")
t.is(g.conv_transpose1d(g.ones(3, 4), g.ones(3, 2, 3)).shape, {2, 6},
    "transposed, one image without its dim")
t.is(g.conv_input_grad(g.ones(4, 6), w, {3, 8}).shape, {3, 8}, "gradient of one image")
t.is(g.conv_weight_grad(g.ones(0, 4, 6), g.ones(0, 3, 8), {4, 3, 3}):reshape(-1):tolist(),
    zeros(36), "weight gradient of no images is 0")
local inf = g.zeros(1, 1, 1, 20)
inf[1][1][1][20]:fill_(math.huge)
local dw = g.conv_weight_grad(g.ones(1, 1, 1, 18), inf, {1, 1, 1, 3}):reshape(-1):tolist()
t.is(dw, {0, 0, math.huge}, "infinity reaches the taps that see it, and no others")
dw = g.conv_weight_grad(g.ones(3, 1, 1, 18), g.cat {inf, g.zeros(2, 1, 1, 20)},
    {1, 1, 1, 3}):reshape(-1):tolist()
t.is(dw, {0, 0, math.huge}, "also where it is in the first of several images")
local wide = g.zeros(1, 1, 9, 128)
wide[1][1][9][128]:fill_(math.huge)
dw = g.conv_weight_grad(g.ones(1, 1, 9, 128), wide, {1, 1, 3, 3}, {padding = 1}):reshape(-1)
t.is(dw:tolist(), {0, 0, 0, 0, math.huge, math.huge, 0, math.huge, math.huge},
    "also in rows of whole vectors")
local many, one = g.randn(3, 9, 40, 33), g.randn(7, 9, 3, 3)
local result = g.conv2d(many, one)
local function bits(f) return plain.same_bits(g, f) end
t.ok(bits(function() return g.conv_weight_grad(result, many, one.shape) end),
    "weight gradients are the same bits for any number of threads")
t.ok(bits(function() return g.conv_input_grad(result, one, many.shape) end), "and input gradients")

t.error(function() g.conv1d(x, g.ones(4, 3, 9)) end, "conv1d: the kernel covers 9.* 8",
    "a kernel beyond the image")
t.error(function() g.conv1d(x, g.ones(4, 3, 3, 3)) end,
    "conv1d: argument 'weight' is .*filters x channels x length", "a weight of another rank")
t.error(function() g.conv1d(x, w, nil, {1, 2}) end, "conv1d: argument 'stride' has 2 entries",
    "two strides")
t.error(function() g.conv3d(x, w) end, "conv3d: argument 'x'", "an image of another rank")
-- An output_padding of the stride or more, which a dilation allows: differences, once and twice.
local function transposed(rank, options)
    return function(x, w) return g["conv_transpose" .. rank .. "d"](x, w, nil, options) end
end
for _, dev in ipairs { "cpu", "sim" } do
    local f64 = { dtype = "f64", device = dev }
    local function leaf(...) return g.randn(..., f64):requires_grad_() end
    local one, two = transposed(1, { padding = 1, output_padding = 2, dilation = 3 }),
        transposed(2, { stride = { 1, 2 }, output_padding = { 1, 2 }, dilation = { 2, 3 } })
    local y = one(leaf { 2, 2, 5 }, leaf { 2, 1, 2 })
    t.is(y.shape, { 2, 1, 8 }, "output_padding of two strides: the result on " .. dev)
    t.ok(g.autograd.gradcheck(one, { leaf { 2, 2, 5 }, leaf { 2, 1, 2 } }),
        "its gradients on " .. dev)
    t.ok(g.autograd.gradcheck(two, { leaf { 1, 2, 3, 3 }, leaf { 2, 2, 2, 2 } }),
        "in two dims on " .. dev)
    t.ok(g.autograd.gradgradcheck(one, { leaf { 1, 2, 3 }, leaf { 2, 1, 2 } }), "twice on " .. dev)
end
t.error(function() g.conv_transpose1d(x, w) end, "conv_transpose1d: the weight is .*expected 3",
    "input channels that differ")
t.error(function() g.conv_transpose1d(x, g.ones(3, 4, 3), g.ones(3)) end,
    "conv_transpose1d: the bias is .*expected 4", "a bias of another size")
t.error(function() g.conv_transpose1d(x, g.ones(3, 4, 3), {output_padding = 1}) end,
    "conv_transpose1d: output_padding 1", "output_padding without stride")
t.error(function() g.conv_transpose1d(x, g.ones(3, 4, 3), {padding = 9}) end,
    "conv_transpose1d: .*no output", "padding that leaves nothing")
t.error(function() g.conv_input_grad(x, w, {2, 3, 8}) end,
    "conv_input_grad: argument 'grad' is .*expected 2x4x6", "a gradient of another shape")
t.error(function() g.conv_weight_grad(g.ones(2, 4, 6), x, {4, 2, 3}) end,
    "conv_weight_grad: the weight 4x2x3 takes 2 channels, the image 2x3x8 has 3",
    "a weight of other channels")
t.error(function() g.conv_input_grad(x, g.ones(3), {2, 3, 8}) end,
    "conv_input_grad: the weight is 3", "a weight without kernel")

t.done()
