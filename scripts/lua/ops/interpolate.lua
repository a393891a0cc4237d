--!plain
-- Composites: images resampled to another size. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local rows, fail, bad = require "ops".rows, require "fail", require "ops.bad"
local round_once = require "ops.round_once"
local once, FLOATS = round_once.once, round_once.FLOATS

local function shape_text(x) return table.concat(x.shape, "x") end

-- A scale for each dim: blending and picking handle one dim after the other, each as images of one
-- dim.
local function along_each(x, scales, mode, align_corners)
    local linear = mode:match "linear$"
    for d, scale in ipairs(scales) do
        local moved = x:transpose(d + 2, -1)
        local shape = moved.shape
        local lines = gpush.interpolate(moved:flatten(1, -2):unsqueeze(1), nil, scale,
            linear or mode, align_corners)
        shape[#shape] = lines.shape[3]
        x = lines:view(shape):transpose(d + 2, -1)
    end
    return x:contiguous()
end

-- The size that scale_factor gives.
local function size_of(x, size, scale)
    if size or not scale then
        fail("interpolate: recompute_scale_factor goes with a scale_factor and no size")
    end
    local list = {}
    for d = 3, x.ndim do
        local s = type(scale) == "table" and scale[d - 2] or scale
        if type(s) ~= "number" then
            bad("interpolate", "scale_factor", "a number for each spatial dim", type(s))
        end
        list[d - 2] = math.floor(x.shape[d] * s)
    end
    return list
end

-- ---- by matrices, one for each dim, whose gradients are those of the products ----

-- Keys' cubic: 1 at 0, 0 at other integers, and from 2 on. Source: Keys, "Cubic convolution
-- interpolation for digital image processing", 1981.
local function cubic(d, a)
    d = d:abs()
    local near = ((a + 2) * d - (a + 3)) * d * d + 1
    local far = ((d - 5) * d + 8) * d * a - 4 * a
    return gpush.where(d:le(1), near, gpush.where(d:lt(2), far, 0))
end
local function triangle(d) return (1 - d:abs()):clamp(0) end

-- How many pixels of the source a step in the result is; a given factor counts as it is, though the
-- size was rounded.
local function step_of(from, to, scale, align_corners)
    if align_corners then return to > 1 and (from - 1) / (to - 1) or 0 end
    return scale and 1 / scale or from / to
end

-- The numbers first … last in f64.
local function numbers(first, last, device)
    return gpush.range(first, last, { dtype = "f64", device = device })
end

-- The weights of `from` pixels and EDGE more at either end, which repeat the outermost one, in `to`
-- results: to x (from + 2 EDGE).
local EDGE <const> = 2
local function cubic_weights(from, to, scale, align_corners, device)
    local step, i = step_of(from, to, scale, align_corners), numbers(0, to - 1, device)
    local at = align_corners and i * step or (i + 0.5) * step - 0.5
    return cubic(numbers(-EDGE, from - 1 + EDGE, device) - at:unsqueeze(2), -0.75)
end

-- The same of filters as wide as the step, so that no pixel is skipped; what would lie outside does
-- not count. As Pillow resizes, and PyTorch with antialias.
local function filter_weights(from, to, scale, align_corners, device, filter)
    local step, i = step_of(from, to, scale, align_corners), numbers(0, to - 1, device)
    local distance = numbers(0, from - 1, device) + 0.5 - ((i + 0.5) * step):unsqueeze(2)
    local weights = filter(distance / math.max(1, step))
    return weights / weights:sum(2, true)
end

-- x, images x channels x h x w, to h x w of `to`; scale: a number for each of the two, or none.
local function by_matrices(x, to, scale, mode, align_corners, antialias)
    local filter = mode == "bilinear" and triangle or function(d) return cubic(d, -0.5) end
    local function weights(d)
        local of = antialias and filter_weights or cubic_weights
        return of(x.shape[d + 2], to[d], scale[d], align_corners, x.device, filter):to(x.dtype)
    end
    local left, right = weights(1), weights(2)
    if not antialias then x = x:pad({ EDGE, EDGE, EDGE, EDGE }, "replicate") end
    return left:matmul(x:matmul(right.mT))
end

-- A list of n numbers, the same or those given; nil: none.
local function each_of(name, value, n)
    local list = {}
    for d = 1, n do
        list[d] = type(value) == "table" and (#value == 1 and value[1] or value[d]) or value
        if type(list[d]) ~= "number" and value ~= nil or type(value) == "table" and #value > n then
            bad("interpolate", name, ("a number or %d"):format(n),
                type(value) == "table" and #value or type(value))
        end
    end
    return list
end

-- Sizes and factors of the modes that the row has not, checked.
local function target(x, size, scale)
    local n = x.ndim - 2
    if (size == nil) == (scale == nil) then
        fail("interpolate: %s (expected one of the two)", size
            and "size and scale_factor are both given"
            or "neither size nor scale_factor is given")
    end
    local to, factors = each_of("size", size, n), each_of("scale_factor", scale, n)
    for d = 1, n do
        local from = x.shape[d + 2]
        to[d] = to[d] or math.floor(from * factors[d])
        if not (to[d] >= 1 and from >= 1 and to[d] < 1 << 31) then
            fail("interpolate: %s %s of %d makes %s", size and "size" or "scale_factor",
                tostring(size and to[d] or factors[d]), from, tostring(to[d]))
        end
    end
    return to, factors
end

-- bicubic, area, and what antialias filters.
local function resampled(x, size, scale, mode, align_corners, antialias)
    local op, n = "interpolate", x.ndim - 2
    if not FLOATS[x.dtype] then
        fail("%s: dtype %s of argument 'x' is not supported in mode '%s' (expected f64 f32 bf16 \z
            f16)", op, x.dtype, mode)
    end
    if mode ~= "area" and n ~= 2 then
        fail("%s: mode '%s'%s goes with images x channels x h x w, x is %s", op, mode,
            antialias and " with antialias" or "", shape_text(x))
    end
    if n < 1 or n > 3 then
        fail("%s: the image is %s (expected images x channels x 1 to 3 spatial dims)", op,
            shape_text(x))
    end
    local to, factors = target(x, size, scale)
    if mode == "area" then
        if align_corners then fail("%s: align_corners does not go with mode 'area'", op) end
        return gpush[("adaptive_avg_pool%dd"):format(n)](x, to)
    end
    return once(by_matrices)(x, to, factors, mode, align_corners, antialias)
end

local MODES = { "linear", "bilinear", "trilinear" }
local interpolate = rows.interpolate
define { "interpolate",
    sig = "tensor x, ints? size, numbers? scale_factor, str mode=\"nearest\", bool \z
        align_corners=false, bool? recompute_scale_factor, bool antialias=false",
    help = "images x channels x 1 to 3 spatial dims resampled to size, or by scale_factor, a \z
        number or one for each dim: 'nearest', 'nearest-exact', 'linear', 'bilinear', \z
        'trilinear', 'bicubic' or 'area'; recompute_scale_factor: the factor follows from the \z
        rounded size; antialias: filters are as wide as the step",
    autocast = "wide", fn = function(x, size, scale, mode, align_corners, recompute, antialias)
        if recompute then size, scale = size_of(x, size, scale), nil end
        if antialias and mode ~= "bilinear" and mode ~= "bicubic" then
            fail("interpolate: antialias goes with mode 'bilinear' or 'bicubic', not with '%s'",
                mode)
        end
        if antialias or mode == "bicubic" or mode == "area" then
            return resampled(x, size, scale, mode, align_corners, antialias)
        end
        if type(scale) ~= "table" then
            if scale ~= nil and type(scale) ~= "number" then
                bad("interpolate", "scale_factor", "a number or a list of numbers", type(scale))
            end
            return interpolate(x, size, scale, mode, align_corners)
        end
        local rank = x.ndim - 2
        if rank < 1 or rank > 3 or #scale ~= rank then
            fail("interpolate: argument 'scale_factor' has %d numbers for %s (expected one for \z
                each spatial dim)", #scale, shape_text(x))
        end
        for i, s in ipairs(scale) do
            if type(s) ~= "number" then
                bad("interpolate", "scale_factor", "a list of numbers",
                    type(s) .. " as number " .. i)
            end
        end
        -- the row reports that one is too many
        if size then return interpolate(x, size, scale[1], mode, align_corners) end
        if mode:match "linear$" and mode ~= MODES[rank] then
            return interpolate(x, nil, scale[1], mode, align_corners)
        end
        return once(along_each)(x, scale, mode, align_corners)
    end }

return { cubic = cubic }
