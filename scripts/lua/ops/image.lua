--!plain
-- Composites: pools of three dims, which are those of two and of one, and images read at any place.
-- See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local fail, bad = require "fail", require "ops.bad"
local once = require "ops.round_once".once

local function shape_text(x) return table.concat(x.shape, "x") end

-- ---- pools ----

-- Three integers from one or a list of three; nil stays nil.
local function triple(op, name, value)
    if value == nil then return nil end
    if type(value) ~= "table" then value = { value } end
    if #value == 1 then return { value[1], value[1], value[1] } end
    if #value ~= 3 then bad(op, name, "1 number or 3", #value) end
    return value
end

local function last_two(list) return list and { list[2], list[3] } end
local function first_one(list) return list and { list[1], 1 } end

-- pool(images, which part of an argument of three dims) first of height and width, then of depth:
-- x is [images x] channels x depth x height x width.
local function by_parts(op, x, pool)
    if x.ndim ~= 4 and x.ndim ~= 5 then
        fail("%s: x is %s (expected [images x] channels x depth x height x width)", op,
            shape_text(x))
    end
    local single = x.ndim == 4
    if single then x = x:unsqueeze(1) end
    local n, c, d = x.shape[1], x.shape[2], x.shape[3]
    local y = pool(x:reshape(n, c * d, x.shape[4], x.shape[5]), last_two)
    local h, w = y.shape[3], y.shape[4]
    y = pool(y:reshape(n, c, d, h * w), first_one)
    y = y:reshape(n, c, y.shape[3], h, w)
    return single and y:squeeze(1) or y
end

define { "max_pool3d",
    sig = "tensor x, ints kernel_size, ints? stride, ints padding=0, ints dilation=1, bool \z
        ceil_mode=false",
    help = "the greatest number in each window of three dims",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = function(x, kernel, stride, padding, dilation, ceil_mode)
        local op = "max_pool3d"
        kernel, stride = triple(op, "kernel_size", kernel), triple(op, "stride", stride)
        padding, dilation = triple(op, "padding", padding), triple(op, "dilation", dilation)
        return by_parts(op, x, function(y, of)
            local pad, apart = of(padding), of(dilation)
            if of == first_one then pad[2] = 0 end
            return y:max_pool2d(of(kernel), of(stride or kernel), pad, apart, ceil_mode)
        end)
    end }

define { "avg_pool3d",
    sig = "tensor x, ints kernel_size, ints? stride, ints padding=0, bool ceil_mode=false, bool \z
        count_include_pad=true, int? divisor_override",
    help = "the mean of each window of three dims", dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
        local op = "avg_pool3d"
        kernel, stride = triple(op, "kernel_size", kernel), triple(op, "stride", stride)
        padding = triple(op, "padding", padding)
        if divisor == 0 then bad(op, "divisor_override", "a number that is not 0", 0) end
        local y = by_parts(op, x, function(y, of)
            local pad = of(padding)
            if of == first_one then pad[2] = 0 end
            return y:avg_pool2d(of(kernel), of(stride or kernel), pad, ceil_mode,
                count_include_pad, divisor and 1)
        end)
        return divisor and y / divisor or y
    end) }

-- Pools windows of three dims that give output_size: pool(y, size) pools two of them.
local function adaptive(name, pool)
    return function(x, output_size)
        local size = triple(name, "output_size", output_size)
        return by_parts(name, x, function(y, of)
            local own = of(size)
            if of == first_one then own[2] = y.shape[4] end
            return pool(y, own)
        end)
    end
end

define { "adaptive_avg_pool3d", sig = "tensor x, ints output_size",
    help = "means of windows of three dims that give output_size",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(adaptive("adaptive_avg_pool3d",
        function(y, size) return y:adaptive_avg_pool2d(size) end)) }

define { "adaptive_max_pool3d", sig = "tensor x, ints output_size",
    help = "the greatest numbers of windows of three dims that give output_size",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = adaptive("adaptive_max_pool3d",
        function(y, size) return y:adaptive_max_pool2d(size) end) }

-- ---- images at any place ----

-- n places from -1 to 1: of the pixels' centres, or, if align_corners, with the first and the last
-- at the ends.
local function places(n, align_corners, like)
    local i = gpush.range(0, n - 1, { device = like.device }):to(like.dtype)
    if align_corners then return n > 1 and i * (2 / (n - 1)) - 1 or i end
    return (i * 2 + 1) / n - 1
end

define { "affine_grid", sig = "tensor theta, ints size, bool align_corners=false",
    help = "for grid_sample: where each pixel of images of size n x c x h x w comes from by the \z
        matrices theta, n x 2 x 3",
    dtypes = "floats", autocast = "wide", strict = "f64 f32 bf16 f16",
    fn = once(function(theta, size, align_corners)
        if theta.ndim ~= 3 or theta.shape[2] ~= 2 or theta.shape[3] ~= 3 then
            bad("affine_grid", "theta", "n x 2 x 3", shape_text(theta))
        end
        if type(size) ~= "table" or #size ~= 4 or size[1] ~= theta.shape[1] then
            bad("affine_grid", "size", ("n x c x h x w with n = %d"):format(theta.shape[1]),
                type(size) == "table" and table.concat(size, "x") or size)
        end
        local h, w = size[3], size[4]
        local x = places(w, align_corners, theta):view(1, w):expand(h, w)
        local y = places(h, align_corners, theta):view(h, 1):expand(h, w)
        local base = gpush.stack({ x, y, gpush.ones_like(x) }, 3):view(h * w, 3)
        return base:matmul(theta:transpose(2, 3)):view(size[1], h, w, 2)
    end) }

-- Places in pixels from 0; outside of the image moved by padding_mode.
local function in_pixels(g, size, padding_mode, align_corners)
    local x = align_corners and (g + 1) * ((size - 1) / 2) or ((g + 1) * size - 1) / 2
    if padding_mode == "zeros" then return x end
    if padding_mode == "reflection" then
        local low, span = align_corners and 0 or -0.5, align_corners and size - 1 or size
        if span == 0 then return x * 0 end
        x = (x - low):abs()
        local turns = (x / span):floor()
        local rest = x - turns * span
        x = gpush.where((turns % 2):eq(0), rest, span - rest) + low
    end
    return x:clamp(0, size - 1)
end

-- The pixels at whole places x, y, each n x h x w; 0 outside. lines: n x c x all pixels.
local function pixels(lines, x, y, height, width)
    local there = x:ge(0) & x:lt(width) & y:ge(0) & y:lt(height)
    local index = gpush.where(there, y * width + x, 0):detach():to "i64" + 1
    local n, c = lines.shape[1], lines.shape[2]
    local shape = { n, c, index.shape[2], index.shape[3] }
    local at = index:flatten(2):unsqueeze(2):expand(n, c, index.shape[2] * index.shape[3])
    return gpush.where(there:unsqueeze(2), lines:gather(3, at):view(shape), 0)
end

define { "grid_sample",
    sig = "tensor x, tensor grid, str mode=\"bilinear\", str padding_mode=\"zeros\", bool \z
        align_corners=false",
    help = "images read at the places in grid, n x h x w x 2, of x and y from -1 to 1: 'bilinear' \z
        or 'nearest'; outside 'zeros', 'border' or 'reflection'",
    dtypes = "floats", autocast = "wide", strict = "f64 f32 bf16 f16",
    fn = once(function(x, grid, mode, padding_mode, align_corners)
        local op = "grid_sample"
        if x.ndim ~= 4 then bad(op, "x", "images x channels x height x width", shape_text(x)) end
        if grid.ndim ~= 4 or grid.shape[4] ~= 2 or grid.shape[1] ~= x.shape[1] then
            bad(op, "grid", ("%d x h x w x 2"):format(x.shape[1]), shape_text(grid))
        end
        if mode ~= "bilinear" and mode ~= "nearest" then
            bad(op, "mode", "'bilinear' or 'nearest'", mode)
        end
        if not ({ zeros = true, border = true, reflection = true })[padding_mode] then
            bad(op, "padding_mode", "'zeros', 'border' or 'reflection'", padding_mode)
        end
        local h, w = x.shape[3], x.shape[4]
        local lines = x:reshape(x.shape[1], x.shape[2], h * w)
        local px = in_pixels(grid:select(4, 1), w, padding_mode, align_corners)
        local py = in_pixels(grid:select(4, 2), h, padding_mode, align_corners)
        if mode == "nearest" then return pixels(lines, px:round(), py:round(), h, w) end
        local left, top = px:detach():floor(), py:detach():floor()
        local right, low = (px - left):unsqueeze(2), (py - top):unsqueeze(2)
        return pixels(lines, left, top, h, w) * (1 - right) * (1 - low)
            + pixels(lines, left + 1, top, h, w) * right * (1 - low)
            + pixels(lines, left, top + 1, h, w) * (1 - right) * low
            + pixels(lines, left + 1, top + 1, h, w) * right * low
    end) }
