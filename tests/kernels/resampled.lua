-- Images read between their pixels, and what max pools reverse: interpolate by matrices and areas,
-- grid_sample of images and volumes, indices of pools of three dims, max_unpool. Numbers with a
-- fraction are PyTorch 2.15's for the call in the name, in f64.
local t = require "tap"
local g = require "gpush"

local function list(x) return x:flatten():tolist() end
-- ((arange(n) * 7) % 11).reshape(shape)
local function image(dev, ...)
    local n = 1
    for _, k in ipairs { ... } do n = n * k end
    return (g.range(0, n - 1, { device = dev }) * 7 % 11):to("f64"):view { ... }
end
local function leaf(...) return g.rand({ ... }, { dtype = "f64", requires_grad = true }) end
g.manual_seed(5)

local AA <const> = "antialias"
-- ---- interpolate ----

local resized = {
    { "bicubic 4x3", { size = { 4, 3 } }, { 0.770432649, 4.964111328, 9.157790007, 4.13488826,
        5.151596069, 7.429951421, 4.605103104, 6.106719971, 3.470132898, 1.842209993, 7.141159058,
        0.132035432 } },
    { "bicubic 2x6, aligned", { size = { 2, 6 }, align_corners = true }, { 0, 4.716, 6.8, 3.2,
        5.284, 10, 1, 5.716, 8.064, 5.256, 2.016, 0 } },
    { "bicubic by 1.6", { scale_factor = 1.6 }, { -1.301648777, 3.296030518, 7.523138613,
        3.426298887, 4.231812019, 10.051868107, 2.854135986, 3.446893681, 4.497522008, 5.32809243,
        6.825906117, 8.146254983, 6.361453619, 3.761941213, 2.28652475, 7.276156001, 8.461966436,
        4.785808954, 2.464045484, 4.17085683, 6.128230743, 6.498332895, 4.4070496, 1.435639184 } },
    { "bicubic 2x2, antialias", { size = 2, [AA] = true }, { 3.673686375, 6.822154863, 4.646253134,
        4.02994707 } },
    { "bicubic 5x2, antialias", { size = { 5, 2 }, [AA] = true }, { 3.095431155, 6.829097146,
        3.674602196, 6.838966325, 4.561983471, 6.438016529, 4.652553349, 4.031300111, 4.610868548,
        2.478325277 } },
    { "bicubic 2x2, antialias, aligned", { size = 2, [AA] = true, align_corners = true },
        { 4.761722341, 6.631616392, 4.360833823, 1.82306434 } },
    { "bicubic by 0.7 and 1.5, antialias", { scale_factor = { 0.7, 1.5 }, [AA] = true },
        { 1.906098108, 3.541616528, 5.279792655, 4.938150076, 7.01396553, 8.951897461, 3.076897483,
        4.207266661, 5.691933579, 6.405315103, 3.932396877, 1.518074657 } },
    { "bilinear 2x2, antialias", { size = 2, [AA] = true }, { 3.910714286, 6.464285714,
        4.535714286, 4.142857143 } },
    { "bilinear 4x2, antialias", { size = { 4, 2 }, [AA] = true }, { 3.428571429, 6.571428571,
        4.232142857, 6.392857143, 4.607142857, 5, 4.428571429, 2.857142857 } },
    { "bilinear 1x2, antialias, aligned", { size = { 1, 2 }, [AA] = true, align_corners = true },
        { 4.625, 7.666666667 } },
    { "area 2x3", { size = { 2, 3 } }, { 3.75, 5.25, 6.75, 4.25, 5.75, 4.5 } },
    { "area by 0.5", { scale_factor = 0.5 }, { 4, 5.166666667 } },
}
for _, dev in ipairs { "cpu", "sim" } do
    local x = image(dev, 1, 1, 3, 4)
    for _, row in ipairs(resized) do
        local name, options, want = table.unpack(row)
        options.mode = name:match "^%l+"
        t.close(list(x:interpolate(options)), want, 1e-8, name .. " on " .. dev)
        local low = x:to("bf16"):interpolate(options)
        t.close(list(low:to "f64"), want, 0.05, "its bf16 on " .. dev)
        t.is(low.dtype, "bf16", "has x's dtype")
    end
    t.close(list(image(dev, 1, 2, 5):interpolate { size = 3, mode = "area" }),
        { 3.5, 6.666666667, 8, 5.5, 5, 4.5 }, 1e-8, "area of one dim on " .. dev)
    t.close(list(image(dev, 1, 1, 2, 3, 2):interpolate { size = { 1, 2, 2 }, mode = "area" }),
        { 3.25, 7.5, 3.5, 5 }, 1e-8, "area of three dims on " .. dev)
end
for _, row in ipairs(resized) do
    t.ok(g.autograd.gradcheck(function(x) return x:interpolate(row[2]) end, { leaf(2, 1, 3, 4) }),
        "gradient of " .. row[1])
end

local x = image("cpu", 1, 1, 3, 4)
local function refused(message, options, of)
    if of == nil then of = x end
    t.error(function() return of:interpolate(options) end, message, message)
end
refused("antialias goes with mode 'bilinear' or 'bicubic', not with 'nearest'", { size = 2,
    antialias = true })
refused("mode 'bicubic' goes with images x channels x h x w, x is 1x2x5", { size = 2,
    mode = "bicubic" }, image("cpu", 1, 2, 5))
refused("align_corners does not go with mode 'area'", { size = 2, mode = "area",
    align_corners = true })
refused("dtype u8 of argument 'x' is not supported in mode 'bicubic'", { size = 2,
    mode = "bicubic" }, x:to "u8")
refused("argument 'size': expected a number or 2, got 3", { size = { 1, 2, 3 }, mode = "area" })
refused("scale_factor 0.1 of 3 makes 0", { scale_factor = 0.1, mode = "bicubic" })
refused("size and scale_factor are both given", { size = 2, scale_factor = 2, mode = "area" })

-- ---- grid_sample, affine_grid ----

local places = { { { { -1.3, 0.2 }, { 0.1, -0.45 }, { 0.77, 1.6 } } } }
local spots = { { { { { -1.3, 0.2, 0.4 }, { 0.1, -0.45, -1.2 }, { 0.77, 1.6, 0.05 } } } } }
local sampled = { -- mode, padding_mode, aligned or not
    { "bicubic", "zeros", { -0.322810313, 5.266839806, 0.011943936 },
        { 3.48277325, 5.988208103, -0.028760049 } },
    { "bicubic", "border", { 5.2665, 4.858699474, -0.110592 },
        { 6.0145325, 5.656301901, 0.669754568 } },
    { "bicubic", "reflection", { 5.055992188, 4.858699474, 1.4419904 },
        { 4.11089225, 5.413998628, 3.465978603 } },
    { "bicubic", "zeros", { -0.236800728, 1.286010894, -0.4896103 },
        { 1.904757243, 5.322994822, 1.398008843 }, volumes = true },
    { "bicubic", "border", { 3.2985375, 4.699526588, 3.951872692 },
        { 3.084859854, 5.501916132, 2.769856445 }, volumes = true },
    { "bicubic", "reflection", { 3.70077759, 4.328123188, 3.082015587 },
        { 4.920408902, 5.493532609, 3.047402436 }, volumes = true },
    { "bilinear", "zeros", { 0, 1.52325, 0 }, { 2.057, 5.02425, 1.22505 } },
    { "bilinear", "border", { 3.87, 5.0775, 3.85 }, { 3.74, 5.5825, 3.062625 } },
    { "bilinear", "reflection", { 4.196, 5.0775, 3.43 }, { 5.009, 5.716, 3.79305 } },
    { "nearest", "zeros", { 0, 0, 0 }, { 2, 9, 0 } },
    { "nearest", "border", { 2, 3, 7 }, { 2, 9, 7 } },
    { "nearest", "reflection", { 2, 3, 7 }, { 2, 9, 1 } },
}
for _, dev in ipairs { "cpu", "sim" } do
    local o = { dtype = "f64", device = dev }
    for i, row in ipairs(sampled) do
        local mode, padding = row[1], row[2]
        local of_images = mode == "bicubic" and not row.volumes
        local from = image(dev, table.unpack(of_images and { 1, 1, 3, 4 } or { 1, 1, 2, 3, 4 }))
        local grid = g.tensor(of_images and places or spots, o)
        for k, aligned in ipairs { false, true } do
            local name = ("%s, %s, %s on %s"):format(mode, padding, aligned, dev)
            t.close(list(g.grid_sample(from, grid, mode, padding, aligned)), row[2 + k], 1e-8, name)
        end
        if dev == "cpu" and i % 3 == 2 and mode ~= "nearest" then
            from:requires_grad_()
            t.ok(g.autograd.gradcheck(function(a, b)
                return g.grid_sample(a, b, mode, padding)
            end, { from, (grid * 0.7):detach():requires_grad_() }), "gradient, " .. mode)
        end
    end
    local theta = g.tensor({ { { 0.5, 0.2, -0.1, 0.1 }, { -0.3, 1, 0.4, 0 },
        { 0.2, 0.1, 0.9, -0.2 } } }, o)
    t.close(list(g.affine_grid(theta, { 1, 1, 2, 1, 2 })), { -0.1, -0.05, -0.75, 0.4, -0.35, -0.55,
        -0.2, 0.35, 0.15, 0.3, 0.05, 0.35 }, 1e-8, "affine_grid of volumes on " .. dev)
    t.close(list(g.affine_grid(theta, { 1, 1, 2, 1, 2 }, true)), { -0.3, -0.1, -1.3, 0.7, -0.7,
        -0.9, -0.5, 0.7, 0.5, 0.5, 0.1, 0.9 }, 1e-8, "with corners aligned on " .. dev)
end
t.error(function() g.grid_sample(image("cpu", 1, 1, 2, 3, 4), g.tensor(places)) end,
    "argument 'grid': expected 1 x d x h x w x 3, got 1x1x3x2", "a grid of images for volumes")
t.error(function() g.affine_grid(g.ones(1, 3, 3), { 1, 1, 2, 2 }) end,
    "argument 'theta': expected n x 2 x 3 or n x 3 x 4, got 1x3x3", "matrices of neither")

-- ---- pools of three dims with indices, and max_unpool ----

for _, dev in ipairs { "cpu", "sim" } do
    local v = image(dev, 1, 1, 2, 3, 4)
    local y, i = g.max_pool3d(v, 2, { stride = 1, return_indices = true })
    t.is(list(y), { 9, 10, 10, 9, 9, 9 }, "max_pool3d on " .. dev)
    t.is(list(i), { 18, 15, 4, 18, 7, 7 }, "and its indices")
    y, i = g.max_pool3d(v, { 1, 2, 3 }, { stride = { 1, 2, 2 }, padding = { 0, 1, 1 },
        ceil_mode = true, return_indices = true })
    t.is(i.shape, { 1, 1, 2, 2, 3 }, "a shape")
    t.is(list(y), { 7, 10, 10, 8, 9, 5, 7, 10, 6, 9, 9, 7 }, "with padding on " .. dev)
    t.is(list(i), { 2, 4, 4, 10, 7, 8, 13, 15, 16, 18, 18, 24 }, "and its indices")
    y, i = g.adaptive_max_pool3d(v, { 1, 2, 3 }, true)
    t.is(list(y), { 9, 10, 10, 9, 9, 9 }, "adaptive_max_pool3d on " .. dev)
    t.is(list(i), { 18, 15, 4, 18, 7, 7 }, "and its indices")
    t.is({ select("#", g.max_pool3d(v, 2)) }, { 1 }, "no indices unless they are asked for")
    local _, of_one = g.adaptive_max_pool3d(v[1], 1, { return_indices = true })
    t.is(of_one.shape, { 1, 1, 1, 1 }, "without a batch")

    y, i = g.max_pool1d(image(dev, 1, 1, 7), 2, { return_indices = true })
    t.is(list(g.max_unpool1d(y, i, 2)), { 0, 7, 0, 10, 6, 0 }, "max_unpool1d on " .. dev)
    t.is(list(g.max_unpool1d(y, i, 2, { output_size = 7 })), { 0, 7, 0, 10, 6, 0, 0 },
        "to a size of 7")
    y, i = g.max_pool2d(image(dev, 1, 1, 3, 4), 2, { stride = 1, return_indices = true })
    t.is(list(g.max_unpool2d(y, i, 2, 1)), { 0, 7, 0, 10, 0, 0, 9, 0, 0, 8, 0, 0 },
        "max_unpool2d on " .. dev)
    y, i = g.max_pool3d(v, 2, { return_indices = true })
    local back = g.max_unpool3d(y, i, 2, { output_size = { 2, 3, 4 } })
    t.is(list(back), { 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0 },
        "max_unpool3d on " .. dev)
    t.is(back.shape, { 1, 1, 2, 3, 4 }, "its shape")
    t.is(g.max_unpool3d(y:to "f16", i, 2, { output_size = v.shape }).dtype, "f16", "of f16")
end
local y, i = g.max_pool2d(leaf(2, 2, 4, 4), 2, { return_indices = true })
t.ok(g.autograd.gradcheck(function(a) return g.max_unpool2d(a, i, 2) end,
    { y:detach():requires_grad_() }), "gradient of max_unpool2d")
t.ok(g.autograd.gradcheck(function(a)
    return (g.max_pool3d(a, 2, { return_indices = true }))
end, { leaf(1, 2, 2, 3, 4) }), "gradient of max_pool3d with indices")
t.error(function() g.max_unpool2d(y, i, 2, { output_size = { 4, 7 } }) end,
    "max_unpool2d: dim 2 of output_size is 7 %(expected 3 to 5%)", "a size out of reach")
t.error(function() g.max_unpool2d(y, i, 2, { output_size = { 6, 4 } }) end,
    "dim 1 of output_size is 6 %(expected 3 to 5%)", "nor one a stride away, as in PyTorch")
t.error(function() g.max_unpool2d(y, i[1], 2) end,
    "argument 'indices': expected 2x2x2x2, got 2x2x2", "indices of another shape")
t.error(function() g.max_unpool2d(y, i:to "f32", 2) end,
    "argument 'indices': expected integers, got f32", "indices with fractions")
t.error(function() g.max_unpool3d(y[1], i[1], 2) end,
    "x is 2x2x2 %(expected %[images x%] channels x depth x height x width%)", "too few dims")
t.error(function() g.max_unpool2d(y, i + 99, 2) end, "max_unpool2d", "indices out of range")

local nn = g.nn
local pool, unpool = nn.MaxPool3d(2, { return_indices = true }), nn.MaxUnpool3d(2)
local v = image("cpu", 1, 1, 2, 4, 4)
local values, at = pool(v)
t.is(unpool(values, at):amax(), v:amax(), "nn.MaxPool3d and nn.MaxUnpool3d")
t.is(nn.MaxUnpool2d(2)(y, i, { output_size = { 5, 5 } }).shape, { 2, 2, 5, 5 },
    "nn.MaxUnpool2d to a size")
t.is(nn.MaxUnpool1d(2)(g.ones(1, 2), g.tensor { { 1, 4 } }):tolist(), { { 1, 0, 0, 1 } },
    "nn.MaxUnpool1d")
t.done()
