--!plain
-- Composites: pools of three dims, which are those of two and of one, what max pools reverse, and
-- images read at any place. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local fail, bad = require "fail", require "ops.bad"
local once, cubic = require "ops.round_once".once, require "ops.interpolate".cubic

local function shape_text(x) return table.concat(x.shape, "x") end

-- ---- pools ----

-- An integer for each of n dims, from a list of one or of n; nil stays nil.
local function each_dim(op, name, value, n)
    if value == nil then return nil end
    if #value ~= 1 and #value ~= n then bad(op, name, ("1 number or %d"):format(n), #value) end
    local list = {}
    for d = 1, n do list[d] = #value == 1 and value[1] or value[d] end
    return list
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

-- by_parts of a pool that gives indices, pool(images, of) -> values, indices; with_indices: the
-- result's, into depth x height x width. Those of the last step are a plane and a place in it,
-- where the first step's say which pixel that was.
local function chosen_by_parts(op, x, with_indices, pool)
    local pixels_of_plane, n
    local y = by_parts(op, x, function(y, of)
        local values, indices = pool(y, of)
        if of == last_two then pixels_of_plane, n = indices, y.shape[3] * y.shape[4]
        elseif with_indices then
            local places = y.shape[4]
            local plane = (indices - 1):floor_divide(places)
            local pixel = pixels_of_plane:view(y.shape[1], y.shape[2], -1):gather(3,
                indices:flatten(3))
            indices = plane * n + pixel:view(indices.shape)
            pixels_of_plane = indices
        end
        return values
    end)
    if not with_indices then return y end
    return y, pixels_of_plane:view(y.shape)
end

define { "max_pool3d",
    sig = "tensor x, ints kernel_size, ints? stride, ints padding=0, ints dilation=1, bool \z
        ceil_mode=false, bool return_indices=false",
    help = "the greatest number in each window of three dims; with indices (into an image's depth \z
        x height x width) if asked",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = function(x, kernel, stride, padding, dilation, ceil_mode, return_indices)
        local op = "max_pool3d"
        kernel, stride = each_dim(op, "kernel_size", kernel, 3), each_dim(op, "stride", stride, 3)
        padding = each_dim(op, "padding", padding, 3)
        dilation = each_dim(op, "dilation", dilation, 3)
        return chosen_by_parts(op, x, return_indices, function(y, of)
            local pad, apart = of(padding), of(dilation)
            if of == first_one then pad[2] = 0 end
            return y:max_pool2d(of(kernel), of(stride or kernel), pad, apart, ceil_mode,
                return_indices)
        end)
    end }

define { "avg_pool3d",
    sig = "tensor x, ints kernel_size, ints? stride, ints padding=0, bool ceil_mode=false, bool \z
        count_include_pad=true, int? divisor_override",
    help = "the mean of each window of three dims", dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
        local op = "avg_pool3d"
        kernel, stride = each_dim(op, "kernel_size", kernel, 3), each_dim(op, "stride", stride, 3)
        padding = each_dim(op, "padding", padding, 3)
        if divisor == 0 then bad(op, "divisor_override", "a number that is not 0", 0) end
        local y = by_parts(op, x, function(y, of)
            local pad = of(padding)
            if of == first_one then pad[2] = 0 end
            return y:avg_pool2d(of(kernel), of(stride or kernel), pad, ceil_mode,
                count_include_pad, divisor and 1)
        end)
        return divisor and y / divisor or y
    end) }

-- of(size) for adaptive pools, which leave the second dim of the last step as it is.
local function own_size(y, of, size)
    local own = of(size)
    if of == first_one then own[2] = y.shape[4] end
    return own
end

define { "adaptive_avg_pool3d", sig = "tensor x, ints output_size",
    help = "means of windows of three dims that give output_size",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, output_size)
        local size = each_dim("adaptive_avg_pool3d", "output_size", output_size, 3)
        return by_parts("adaptive_avg_pool3d", x,
            function(y, of) return y:adaptive_avg_pool2d(own_size(y, of, size)) end)
    end) }

define { "adaptive_max_pool3d", sig = "tensor x, ints output_size, bool return_indices=false",
    help = "the greatest numbers of windows of three dims that give output_size; with indices \z
        (into an image's depth x height x width) if asked",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = function(x, output_size, return_indices)
        local op = "adaptive_max_pool3d"
        local size = each_dim(op, "output_size", output_size, 3)
        return chosen_by_parts(op, x, return_indices, function(y, of)
            return y:adaptive_max_pool2d(own_size(y, of, size), return_indices)
        end)
    end }

-- ---- what max pools reverse ----

-- The sizes of the n last dims that x came from: output_size, less than a stride from what the
-- windows cover, or just that.
local function unpooled_size(op, x, kernel, stride, padding, size, n)
    local list = {}
    for d = 1, n do
        local at = x.ndim - n + d
        local covered = (x.shape[at] - 1) * stride[d] - 2 * padding[d] + kernel[d]
        list[d] = size and size[#size - n + d] or covered
        if math.abs(list[d] - covered) >= stride[d] and size or list[d] < 1 then
            fail("%s: dim %d of output_size is %d (expected %d to %d)", op, d, list[d],
                math.max(1, covered - stride[d] + 1), covered + stride[d] - 1)
        end
    end
    return list
end

local function unpool(n, dims)
    local op = "max_unpool" .. n .. "d"
    return function(x, indices, kernel, stride, padding, size)
        if x.ndim ~= n + 1 and x.ndim ~= n + 2 then
            fail("%s: x is %s (expected [images x] channels x %s)", op, shape_text(x), dims)
        end
        if shape_text(indices) ~= shape_text(x) then
            bad(op, "indices", shape_text(x), shape_text(indices))
        end
        if not ("i64 i32 i16 i8 u8"):find(indices.dtype, 1, true) then
            bad(op, "indices", "integers", indices.dtype)
        end
        kernel = each_dim(op, "kernel_size", kernel, n)
        stride = each_dim(op, "stride", stride, n) or kernel
        padding = each_dim(op, "padding", padding, n)
        if size and #size ~= n and #size ~= x.ndim then
            bad(op, "output_size", ("%d numbers"):format(n), #size)
        end
        size = unpooled_size(op, x, kernel, stride, padding, size, n)
        local whole, first = 1, x.ndim - n + 1
        for d = 1, n do whole = whole * size[d] end
        local shape = x:flatten(first).shape
        shape[first] = whole
        local flat = gpush.zeros(shape, { dtype = x.dtype, device = x.device })
        return flat:scatter(first, indices:flatten(first), x:flatten(first)):unflatten(first, size)
    end
end

local of_unpool = ", tensor indices, ints kernel_size, ints? stride, ints padding=0, ints? \z
    output_size"
define { "max_unpool1d", sig = "tensor x" .. of_unpool,
    help = "zeros with x's numbers where max_pool1d's indices say that they were",
    dtypes = "floats", strict = "f64 f32 bf16 f16", raises = "an index out of range",
    sample = "f(1, 2, 3), i{{{1, 4, 6}, {2, 3, 5}}}, 2",
    fn = unpool(1, "length") }
define { "max_unpool2d", sig = "tensor x" .. of_unpool,
    help = "zeros with x's numbers where max_pool2d's indices say that they were",
    dtypes = "floats", strict = "f64 f32 bf16 f16", raises = "an index out of range",
    sample = "f(1, 2, 1, 1), i{{{{1}}, {{4}}}}, 2",
    fn = unpool(2, "height x width") }
define { "max_unpool3d", sig = "tensor x" .. of_unpool,
    help = "zeros with x's numbers where max_pool3d's indices say that they were",
    dtypes = "floats", strict = "f64 f32 bf16 f16", raises = "an index out of range",
    sample = "f(1, 1, 1, 1, 1), i{{{{{8}}}}}, 2", fn = unpool(3, "depth x height x width") }

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
        matrices theta, n x 2 x 3; of volumes n x c x d x h x w by matrices n x 3 x 4",
    dtypes = "floats", autocast = "wide", strict = "f64 f32 bf16 f16",
    fn = once(function(theta, size, align_corners)
        local n = theta.ndim == 3 and theta.shape[2]
        if n ~= 2 and n ~= 3 or theta.shape[3] ~= n + 1 then
            bad("affine_grid", "theta", "n x 2 x 3 or n x 3 x 4", shape_text(theta))
        end
        if type(size) ~= "table" or #size ~= n + 2 or size[1] ~= theta.shape[1] then
            bad("affine_grid", "size", ("n x c x %s with n = %d"):format(
                n == 2 and "h x w" or "d x h x w", theta.shape[1]),
                type(size) == "table" and table.concat(size, "x") or size)
        end
        local at, shape, numel = {}, { table.unpack(size, 3) }, 1
        for d = 1, n do -- x is of the last dim
            local one = {}
            for k = 1, n do one[k] = k == n + 1 - d and -1 or 1 end
            at[d] = places(shape[n + 1 - d], align_corners, theta):view(one):expand(shape)
            numel = numel * shape[d]
        end
        at[n + 1] = gpush.ones_like(at[1])
        local base = gpush.stack(at, n + 1):view(numel, n + 1)
        shape[n + 1] = n
        return base:matmul(theta:transpose(2, 3)):view(size[1], table.unpack(shape))
    end) }

-- Places from -1 to 1 in pixels from 0.
local function in_pixels(g, size, align_corners)
    return align_corners and (g + 1) * ((size - 1) / 2) or ((g + 1) * size - 1) / 2
end

-- Places in pixels, those outside of the image moved by padding_mode.
local function moved(x, size, padding_mode, align_corners)
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

-- The pixels at whole places, a tensor of images x … for each dim, the last one first; 0 outside.
-- lines: images x channels x all pixels; size: their sizes, in that order.
local function pixels(lines, at, size)
    local there, index
    for d = #at, 1, -1 do
        local inside = at[d]:ge(0) & at[d]:lt(size[d])
        there = there and there & inside or inside
        index = index and index * size[d] + at[d] or at[d]
    end
    index = gpush.where(there, index, 0):detach():to "i64" + 1
    local n, c, shape = lines.shape[1], lines.shape[2], index.shape
    local flat = index:flatten(2):unsqueeze(2)
    local found = lines:gather(3, flat:expand(n, c, flat.shape[3]))
    return gpush.where(there:unsqueeze(2), found:view(n, c, table.unpack(shape, 2)), 0)
end

-- The sum over all choices of one tap per dim, the d-th dim's being taps[d] = {{places, weights},
-- …}, of the pixels there times their weights.
local function weighted(lines, taps, size, d, at, weight)
    if d > #taps then return pixels(lines, at, size) * weight:unsqueeze(2) end
    local sum
    for _, tap in ipairs(taps[d]) do
        at[d] = tap[1]
        local part = weighted(lines, taps, size, d + 1, at, weight and weight * tap[2] or tap[2])
        sum = sum and sum + part or part
    end
    return sum
end

-- The taps of a place in pixels along a dim: those of mode 'bilinear' or 'bicubic'.
local function taps_of(place, size, mode, padding_mode, align_corners)
    if mode == "bilinear" then
        place = moved(place, size, padding_mode, align_corners)
        local first = place:detach():floor()
        return { { first, 1 - (place - first) }, { first + 1, place - first } }
    end
    local first, list = place:detach():floor(), {}
    for k = -1, 2 do
        list[k + 2] = { moved(first + k, size, padding_mode, align_corners),
            cubic(place - first - k, -0.75) }
    end
    return list
end

local MODES = { bilinear = true, nearest = true, bicubic = true }
local PADDING = { zeros = true, border = true, reflection = true }
local function check_sampling(op, x, grid, mode, padding_mode)
    local n = x.ndim - 2
    if n ~= 2 and n ~= 3 then
        bad(op, "x", "images x channels x [depth x] height x width", shape_text(x))
    end
    if grid.ndim ~= n + 2 or grid.shape[n + 2] ~= n or grid.shape[1] ~= x.shape[1] then
        bad(op, "grid", ("%d x %s x %d"):format(x.shape[1], n == 2 and "h x w" or "d x h x w", n),
            shape_text(grid))
    end
    if not MODES[mode] then bad(op, "mode", "'bilinear', 'nearest' or 'bicubic'", mode) end
    if not PADDING[padding_mode] then
        bad(op, "padding_mode", "'zeros', 'border' or 'reflection'", padding_mode)
    end
    return n
end

define { "grid_sample",
    sig = "tensor x, tensor grid, str mode=\"bilinear\", str padding_mode=\"zeros\", bool \z
        align_corners=false",
    help = "images sampled at the positions in grid, n x h x w x 2, of x and y from -1 to 1, \z
        volumes at n x d x h x w x 3, of x, y and z: 'bilinear', 'nearest' or 'bicubic'; outside \z
        'zeros', 'border' or 'reflection'",
    dtypes = "floats", autocast = "wide", strict = "f64 f32 bf16 f16",
    fn = once(function(x, grid, mode, padding_mode, align_corners)
        local n = check_sampling("grid_sample", x, grid, mode, padding_mode)
        local size, list, lines = {}, {}, x:flatten(3)
        for d = 1, n do
            size[d] = x.shape[x.ndim + 1 - d]
            local place = in_pixels(grid:select(-1, d), size[d], align_corners)
            list[d] = mode == "nearest"
                and moved(place, size[d], padding_mode, align_corners):round()
                or taps_of(place, size[d], mode, padding_mode, align_corners)
        end
        if mode == "nearest" then return pixels(lines, list, size) end
        return weighted(lines, list, size, 1, {})
    end) }
