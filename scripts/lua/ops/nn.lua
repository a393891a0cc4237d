--!plain
-- Composites: the functions that layers are made of: normalisation, attention, interpolation. See
-- define in scripts/lua/init.lua.
local gpush, define, rows, fail, part = ...
local HALF, FLOATS, once = part "round_once"

local function bad(op, name, expected, got)
    fail("%s: argument '%s': expected %s, got %s", op, name, expected, tostring(got))
end

local function shape_text(x) return table.concat(x.shape, "x") end

define { "softmin", sig = "tensor x, dim dim, dtype? dtype", help = "softmax of -x",
    dtypes = "floats", fn = function(x, dim, dtype) return (-x):softmax(dim, dtype) end }

-- (1 - momentum) * running + momentum * the mean over images of each one's own statistic; rounded
-- once
local function follow(running, own, momentum)
    local wide = HALF[running.dtype] and running:to "f32" or running
    running:copy_(wide * (1 - momentum) + own:mean(1):to(wide.dtype) * momentum)
end

-- The running statistics are both given, or neither: floats, one per channel.
local function check_running(x, running, name)
    if running and FLOATS[running.dtype] and shape_text(running) == tostring(x.shape[2]) then
        return
    end
    bad("instance_norm", name, ("%d floats"):format(x.shape[2]),
        running and running.dtype .. " " .. shape_text(running))
end

define { "instance_norm",
    sig = "tensor x, tensor? running_mean, tensor? running_var, tensor? weight, tensor? bias, \z
        bool use_input_stats=true, float momentum=0.1, float eps=1e-5",
    help = "each channel of each image to mean 0 and variance 1, times weight plus bias",
    dtypes = "floats",
    fn = function(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
        if not use_input_stats then
            return x:batch_norm(running_mean, running_var, weight, bias, false, momentum, eps)
        end
        if x:dim() < 3 then
            bad("instance_norm", "x", "images x channels x at least one more dim", shape_text(x))
        end
        if running_mean or running_var then
            check_running(x, running_mean, "running_mean")
            check_running(x, running_var, "running_var")
            local rest = {}
            for d = 3, x:dim() do rest[#rest + 1] = d end
            local seen = HALF[x.dtype] and x:detach():to "f32" or x:detach()
            follow(running_mean, seen:mean(rest), momentum)
            follow(running_var, seen:var(rest), momentum)
        end
        return x:group_norm(x.shape[2], weight, bias, eps)
    end }

-- A query that may see no key attends to nothing, instead of NaN, as in PyTorch. Returns which
-- queries see one, and the mask with all keys visible to the others, whose results and gradients
-- are then 0.
local function sighted(mask)
    local bool = mask.dtype == "bool"
    local some = (bool and mask or mask:detach():ne(-math.huge)):any(-1, true)
    return some, bool and mask | ~some or gpush.where(some, mask, 0)
end

-- Two products with a softmax between them.
local composed = once(function(query, key, value, attn_mask, dropout_p, is_causal, scale)
    local size, visible = query.shape, nil
    local scores = (query * scale):matmul(key:transpose(-2, -1))
    if is_causal then
        local l, s = size[#size - 1], key.shape[#key.shape - 1]
        visible = gpush.ones({ l, s }, { dtype = "bool", device = query.device }):tril()
    elseif attn_mask and attn_mask.dtype == "bool" then
        visible = attn_mask
    elseif attn_mask then
        scores = scores + attn_mask
    end
    if visible then scores = gpush.where(visible, scores, -math.huge) end
    local share = scores:softmax(-1)
    if dropout_p > 0 then share = share:dropout(dropout_p) end
    return share:matmul(value)
end)

-- Whether the row attention takes these, as it does on CUDA by cuDNN (elsewhere the composed one is
-- faster).
local function row_takes(query, key, value, mask)
    local q, k, v = query.shape, key.shape, value.shape
    local n = #q
    if not tostring(query.device):find "^cuda" or n > 4 or #k ~= n or #v ~= n
        or not FLOATS[query.dtype] then
        return false
    end
    if key.dtype ~= query.dtype or value.dtype ~= query.dtype then return false end
    for d = 1, n do
        if q[d] * k[d] * v[d] == 0 or d < n - 1 and (q[d] ~= k[d] or k[d] ~= v[d]) then
            return false
        end
    end
    if q[n] ~= k[n] or k[n - 1] ~= v[n - 1] then return false end
    if not mask then return true end
    local m, want = mask.shape, { table.unpack(q, 1, n - 1) }
    want[n] = k[n - 1]
    if mask.dtype ~= query.dtype or mask.requires_grad or #m > n then return false end
    for d = 1, #m do
        if m[d] ~= 1 and m[d] ~= want[n - #m + d] then return false end
    end
    return true
end

define { "scaled_dot_product_attention",
    sig = "tensor query, tensor key, tensor value, tensor? attn_mask, float dropout_p=0, bool \z
        is_causal=false, float? scale",
    help = "softmax(query key' * scale) value; a bool mask says what may be seen, a float one is \z
        added; scale is 1 / sqrt(size)",
    dtypes = "floats", autocast = "low",
    fn = function(query, key, value, attn_mask, dropout_p, is_causal, scale)
        local op, size = "scaled_dot_product_attention", query.shape
        if #size < 2 or #key.shape < 2 or #value.shape < 2 then
            fail("%s: query is %s, key %s, value %s (expected 2 dims or more)", op,
                shape_text(query), shape_text(key), shape_text(value))
        end
        if not (dropout_p >= 0 and dropout_p <= 1) then
            bad(op, "dropout_p", "a number from 0 to 1", dropout_p)
        end
        if is_causal and attn_mask then
            fail(op .. ": is_causal and attn_mask do not go together")
        end
        scale = scale or 1 / math.sqrt(size[#size])
        local some, y
        if attn_mask then some, attn_mask = sighted(attn_mask) end
        if dropout_p > 0 or not row_takes(query, key, value, attn_mask) then
            y = composed(query, key, value, attn_mask, dropout_p, is_causal, scale)
        else
            for _ = #size, 3 do
                query, key, value = query:unsqueeze(1), key:unsqueeze(1), value:unsqueeze(1)
            end
            y = gpush.attention(query, key, value, attn_mask, is_causal, scale)
            for _ = #size, 3 do y = y:squeeze(1) end
        end
        return some and gpush.where(some, y, 0) or y
    end }

-- ---- images ----

-- A scale for each dim: blending and picking handle one dim after the other, each as images of one
-- dim.
local function along_each(x, scales, mode, align_corners)
    local linear = mode:match "linear$"
    for d, scale in ipairs(scales) do
        local moved = x:transpose(d + 2, -1)
        local shape = moved.shape
        local lines = gpush.interpolate(moved:reshape(1, -1, shape[#shape]), nil, scale,
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
    sig = "tensor x, ints? size, any? scale_factor, str mode=\"nearest\", bool \z
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
