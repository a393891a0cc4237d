--!plain
-- Composites: images resampled to another size. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local rows, fail, bad = require "ops".rows, require "fail", require "ops.bad"
local once = require "ops.round_once".once

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

local MODES = { "linear", "bilinear", "trilinear" }
local interpolate = rows.interpolate
define { "interpolate",
    sig = "tensor x, ints? size, numbers? scale_factor, str mode=\"nearest\", bool \z
        align_corners=false, bool? recompute_scale_factor",
    help = "images x channels x 1 to 3 spatial dims resampled to size, or by scale_factor, a \z
        number or one for each dim: 'nearest', 'nearest-exact', 'linear', 'bilinear' or \z
        'trilinear'; recompute_scale_factor: the factor is what the size, rounded down, comes to",
    autocast = "wide", fn = function(x, size, scale, mode, align_corners, recompute)
        if recompute then size, scale = size_of(x, size, scale), nil end
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
