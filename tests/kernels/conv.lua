-- conv2d against a plain loop: sizes, strides, paddings, dilations, groups, dtypes and layouts, on
-- cpu and sim.
local t = require "tap"
local g = require "gpush"

local plain = require "plain"
local numbers = plain.numbers(7)

local function pair(v) return type(v) == "table" and v or {v, v} end

-- k: images, channels, filters, size, kernel, and the options; padding as {top, left, bottom,
-- right}.
local function reference(k, x, w, b)
    local groups, s, d, p = k.groups or 1, pair(k.stride or 1), pair(k.dilation or 1), k.pad
    local C, F, H, W, kh, kw = k.channels, k.filters, k.size[1], k.size[2], k.kernel[1], k.kernel[2]
    local oh = (H + p[1] + p[3] - d[1] * (kh - 1) - 1) // s[1] + 1
    local ow = (W + p[2] + p[4] - d[2] * (kw - 1) - 1) // s[2] + 1
    local cg, fg, out = C // groups, F // groups, {}
    for n = 0, k.images - 1 do
        for f = 0, F - 1 do
            for oy = 0, oh - 1 do
                for ox = 0, ow - 1 do
                    local sum = b and b[f + 1] or 0
                    for c = 0, cg - 1 do
                        for i = 0, kh - 1 do
                            local y = oy * s[1] - p[1] + i * d[1]
                            for j = 0, kw - 1 do
                                local xx = ox * s[2] - p[2] + j * d[2]
                                if y >= 0 and y < H and xx >= 0 and xx < W then
                                    local at = ((n * C + f // fg * cg + c) * H + y) * W + xx + 1
                                    sum = sum + x[at] * w[((f * cg + c) * kh + i) * kw + j + 1]
                                end
                            end
                        end
                    end
                    out[#out + 1] = sum
                end
            end
        end
    end
    return out, {k.images, F, oh, ow}
end

local function lay(x, layout)
    if layout == "transposed" then return x:permute(4, 3, 2, 1):contiguous():permute(4, 3, 2, 1) end
    if layout ~= "strided" then return x end
    local shape = x.shape
    shape[4] = shape[4] * 2
    local wide = g.zeros(shape, {dtype = x.dtype})
    wide:slice(4, 1, -1, 2):copy_(x)
    return wide:slice(4, 1, -1, 2)
end

local function check(k, dtype, layout, device)
    local cg = k.channels // (k.groups or 1)
    local x = numbers(k.images * k.channels * k.size[1] * k.size[2], -2, 2)
    local w = numbers(k.filters * cg * k.kernel[1] * k.kernel[2], -1, 1)
    local b = k.bias and numbers(k.filters, -3, 3)
    local want, shape = reference(k, x, w, b)
    local put = function(v, s) return lay(g.tensor(v, {dtype = dtype}):view(s),
        layout):to(device) end
    local tx, tw = put(x, {k.images, k.channels, k.size[1], k.size[2]}), put(w, {k.filters, cg,
        k.kernel[1], k.kernel[2]})
    local y = g.conv2d(tx, tw, b and g.tensor(b, {dtype = dtype}):to(device), k.stride or 1,
        k.padding or 0, k.dilation or 1, k.groups or 1)
    local name = string.format("%s, %s %s %s", k.name, dtype, layout, device)
    if not t.is(y.shape, shape, name .. ": shape") then return end
    local got = y:to("cpu"):reshape(-1):tolist()
    if dtype == "bf16" or dtype == "f16" then t.close(got, want, dtype == "f16" and 1e-3 or 8e-3,
        name)
    else t.is(got, want, name) end
end

local function case(name, k)
    k.name = name
    k.images, k.channels, k.filters = k.images or 1, k.channels or 2, k.filters or 3
    k.size, k.kernel, k.pad = k.size or {7, 9}, k.kernel or {3, 3}, k.pad or {0, 0, 0, 0}
    return k
end

local cases = {
    case("plain", {}),
    case("bias and padding", {bias = true, padding = 1, pad = {1, 1, 1, 1}, images = 2}),
    case("padding by side", {padding = {2, 1}, pad = {2, 1, 2, 1}, kernel = {5, 3}}),
    case("same, even kernel", {padding = "same", pad = {0, 1, 1, 2}, kernel = {2, 4}}),
    case("same, dilated", {padding = "same", pad = {2, 2, 2, 2}, dilation = 2}),
    case("valid", {padding = "valid"}),
    case("stride 2", {stride = 2, padding = 1, pad = {1, 1, 1, 1}, size = {12, 13}}),
    case("strides 3 and 2", {stride = {3, 2}, padding = {2, 3}, pad = {2, 3, 2, 3}, kernel = {4,
        5}, size = {13, 50}}),
    case("stride beyond the kernel", {stride = 4, kernel = {2, 2}, size = {14, 15}}),
    case("dilation", {dilation = {2, 3}, size = {12, 17}, bias = true}),
    case("dilation and stride", {dilation = {3, 2}, stride = {2, 3}, padding = 3, pad = {3, 3, 3,
        3}, size = {12, 17}}),
    case("groups", {groups = 2, channels = 4, filters = 6, images = 2, bias = true}),
    case("depthwise", {groups = 5, channels = 5, filters = 5, padding = 1, pad = {1, 1, 1, 1}}),
    case("1 x 1", {kernel = {1, 1}, channels = 5, filters = 30}),
    case("1 x 1 with stride", {kernel = {1, 1}, stride = 2, channels = 3}),
    case("as large as the image", {kernel = {7, 9}}),
    case("one output column", {size = {9, 3}, padding = {1, 0}, pad = {1, 0, 1, 0}}),
    case("wide", {size = {6, 150}, channels = 3, filters = 8, padding = 1, pad = {1, 1, 1, 1}}),
    case("many filters", {size = {5, 6}, filters = 29, channels = 3}),
    case("many channels", {size = {5, 19}, channels = 70, filters = 8, padding = 1, pad = {1, 1, 1,
        1}}),
    case("many channels, rows by themselves", {size = {4, 66}, channels = 53, filters = 3,
        bias = true}),
    case("many bands", {size = {90, 70}, filters = 2, channels = 1, padding = 1, pad = {1, 1, 1,
        1}}),
    case("vectors across rows", {size = {9, 23}, filters = 14, images = 2, bias = true, padding = 1,
        pad = {1, 1, 1, 1}}),
    case("vectors across rows, wide padding", {size = {5, 18}, kernel = {3, 7}, padding = {1, 5},
        pad = {1, 5, 1, 5}}),
    case("padding larger than the image", {size = {2, 2}, padding = 4, pad = {4, 4, 4, 4}}),
}
for filters = 1, 13 do cases[#cases + 1] = case(filters .. " filters", {filters = filters,
    size = {5, 67}, channels = 1}) end

for _, k in ipairs(cases) do
    check(k, "f32", "dense", "cpu")
    check(k, "f64", "dense", "cpu")
end
for i = 1, 12 do
    for _, dtype in ipairs {"f32", "f64", "f16", "bf16"} do
        check(cases[i], dtype, "transposed", "cpu")
        check(cases[i], dtype, "strided", "sim")
    end
end

local x, w = g.ones(2, 3, 8, 8), g.ones(4, 3, 3, 3)
t.is(g.conv2d(x[1], w).shape, {4, 6, 6}, "one image without its dim")
t.is(g.conv2d(x[1], w):sum():item(), 4 * 36 * 27, "and its values")
t.is(g.conv2d(x, w, nil, {stride = 2, padding = "valid"}).shape, {2, 4, 3, 3}, "options by name")
t.is(g.conv2d(g.ones(0, 3, 8, 8), w).shape, {0, 4, 6, 6}, "no images")
t.is(g.conv2d(x, g.ones(0, 3, 3, 3)).shape, {2, 0, 6, 6}, "no filters")
t.is(g.conv2d(g.ones(1, 0, 4, 4), g.ones(2, 0, 3, 3), g.tensor({1.0, 2.0})):sum():item(), 12,
    "no channels: the bias")
t.is(g.conv2d(x, w:expand({4, 3, 3, 3})[1]:expand({4, 3, 3, 3})):sum():item(), 2 * 4 * 36 * 27,
    "an expanded weight")
-- One channel in place of all: pairs of channels are 0 bytes apart, which once meant "no second".
for dtype in pairs {f32 = 1, f16 = 1, bf16 = 1} do
    local image, filter = g.ones(1, 5, 6, 6):to(dtype), g.randn(4, 5, 3, 3):to(dtype)
    t.ok(g.conv2d(image[{{}, {1, 1}}]:expand({1, 5, 6, 6}), filter):equal(g.conv2d(image, filter)),
        "an expanded image in " .. dtype)
end
local nan = g.ones(1, 1, 6, 6)
nan[1][1][1][1]:fill_(0 / 0)
local y = g.conv2d(nan, g.ones(1, 1, 3, 3)):reshape(-1):tolist()
t.ok(y[1] ~= y[1] and y[2] == 9, "NaN reaches the outputs that see it, and no others")
t.error(function() g.conv2d(x, g.ones(4, 2, 3, 3)) end,
    "conv2d: the weight 4x2x3x3 takes 2 channels, the image 2x3x8x8 has 3",
    "channels that do not fit")
t.error(function() g.conv2d(x, g.ones(4, 3, 9, 9)) end, "conv2d: the kernel covers 9x9.*8x8",
    "a kernel beyond the image")
t.error(function() g.conv2d(x, w, g.ones(3)) end, "conv2d: the bias is", "a bias of another size")
t.error(function() g.conv2d(x, w, nil, 0) end, "conv2d: argument 'stride' is 0", "stride 0")
t.error(function() g.conv2d(x, w, nil, 1, -1) end, "conv2d: argument 'padding' is %-1",
    "negative padding")
t.error(function() g.conv2d(x, w, nil, 1, "some") end, "conv2d: padding 'some'",
    "an unknown padding")
t.error(function() g.conv2d(x, w, nil, 2, "same") end, "conv2d: padding 'same'",
    "same with a stride")
t.error(function() g.conv2d(x, w, nil, {1, 2, 3}) end, "conv2d: argument 'stride' has 3 entries",
    "three strides")
t.error(function() g.conv2d(x, w, nil, 1, 0, 1, 2) end, "conv2d: 2 groups",
    "groups that do not divide")
t.error(function() g.conv2d(x:to {dtype = "bool"}, w) end, "conv2d: dtype bool", "bools")
t.error(function() g.conv2d(x:to {dtype = "i32"}, w) end, "conv2d: .*i32.*f32",
    "integers and floats")
t.error(function() g.conv2d(x, w:to {dtype = "f64"}) end, "conv2d: .*f32.*f64", "mixed dtypes")
t.error(function() g.conv2d(x[1][1], w) end, "conv2d: argument 'x'", "an image of two dims")
t.error(function() g.conv2d(x, w[1]) end, "conv2d: argument 'weight'", "a weight of three dims")

-- f32 and f64 differ in their tiles: blocks of filters by vectors of rows that are long, joined or
-- one by one. With small integers every order of sums is exact. 17 rows of 15 and 30 of 57 suit
-- blocks of four filters; those beside them do not.
do
    local bad = {}
    for _, filters in ipairs {1, 3, 4, 7, 16, 17, 20, 64} do
        for _, size in ipairs {{17, 15}, {30, 57}, {7, 7}, {9, 32}} do
            for _, type in ipairs {"f32", "bf16"} do
                local x = g.randint(-3, 3, {2, 5, size[1], size[2]}):to(type)
                local w = g.randint(-3, 3, {filters, 5, 3, 3}):to(type)
                local b = g.arange(1, filters):to(type)
                local out = g.randint(-3, 3, {2, filters, size[1], size[2]}):to(type)
                local y, back = g.conv2d(x, w, b, 1, 1), g.conv_input_grad(out, w, x.shape, 1, 1)
                local wide = g.conv2d(x:to "f64", w:to "f64", b:to "f64", 1, 1)
                local down = g.conv_input_grad(out:to "f64", w:to "f64", x.shape, 1, 1)
                if not (y:equal(wide:to(type)) and back:equal(down:to(type))) then
                    bad[#bad + 1] = table.concat({type, filters, size[1], size[2]}, " ")
                end
            end
        end
    end
    t.is(bad, {}, "filters and sizes that suit different tiles")
end
t.done()
