--!plain
-- Composites: the functions that layers are made of: normalisation, attention, images in channels.
-- See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local fail, bad = require "fail", require "ops.bad"
local round_once = require "ops.round_once"
local HALF, FLOATS, once = round_once.HALF, round_once.FLOATS, round_once.once

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
        return x:group_norm(math.max(x.shape[2], 1), weight, bias, eps)
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

-- x with each head, of dim -3, as often as query has heads for it: grouped-query attention.
local function for_groups(op, query, x, name)
    if query.ndim < 3 or x.ndim < 3 then
        fail("%s: query is %s, %s %s (expected 3 dims or more with enable_gqa)", op,
            shape_text(query), name, shape_text(x))
    end
    local heads, own = query.shape[query.ndim - 2], x.shape[x.ndim - 2]
    if own == heads then return x end
    if own == 0 or heads % own ~= 0 then
        fail("%s: %s has %d heads, query %d (expected a number that divides %d)", op, name, own,
            heads, heads)
    end
    return x:repeat_interleave(heads // own, -3)
end

define { "scaled_dot_product_attention",
    sig = "tensor query, tensor key, tensor value, tensor? attn_mask, float dropout_p=0, bool \z
        is_causal=false, float? scale, bool enable_gqa=false",
    help = "softmax(query key' * scale) value; a bool mask allows positions, a float one is \z
        added; scale is 1 / sqrt(size); enable_gqa: key and value have fewer heads (dim -3), each \z
        of a group of query's",
    dtypes = "floats", autocast = "low",
    fn = function(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        local op, size = "scaled_dot_product_attention", query.shape
        if #size < 2 or #key.shape < 2 or #value.shape < 2 then
            fail("%s: query is %s, key %s, value %s (expected 2 dims or more)", op,
                shape_text(query), shape_text(key), shape_text(value))
        end
        if size[#size] ~= key.shape[#key.shape] then
            fail("%s: query %s has %d features, key %s %d (expected the same)", op,
                shape_text(query), size[#size], shape_text(key), key.shape[#key.shape])
        end
        if key.shape[#key.shape - 1] ~= value.shape[#value.shape - 1] then
            fail("%s: key %s has %d rows, value %s %d (expected the same)", op, shape_text(key),
                key.shape[#key.shape - 1], shape_text(value), value.shape[#value.shape - 1])
        end
        if not (dropout_p >= 0 and dropout_p <= 1) then
            bad(op, "dropout_p", "a number from 0 to 1", dropout_p)
        end
        if is_causal and attn_mask then
            fail(op .. ": is_causal and attn_mask do not go together")
        end
        if enable_gqa then
            key, value = for_groups(op, query, key, "key"), for_groups(op, query, value, "value")
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

-- The sizes of the last two dims, and those of the others, of an image that channels make larger.
local function check_factor(op, x, factor, name)
    if x.ndim < 3 then bad(op, "x", "channels x height x width", shape_text(x)) end
    if factor < 1 then bad(op, name, "1 or more", factor) end
    local n = x.ndim
    return n, table.move(x.shape, 1, n - 3, 1, {}), x.shape[n - 2], x.shape[n - 1], x.shape[n]
end

local function dims(first, ...)
    local list = table.move(first, 1, #first, 1, {})
    for _, v in ipairs { ... } do list[#list + 1] = v end
    return list
end

-- The dims before the last m, in order, and then those given, counted from there.
local function order(n, m, ...)
    local list = {}
    for d = 1, n - m do list[d] = d end
    for _, d in ipairs { ... } do list[#list + 1] = n - m + d end
    return list
end

define { "pixel_shuffle", sig = "tensor x, int upscale_factor",
    help = "images r times as wide and high, from r ^ 2 times as many channels (Shi et al. 2016)",
    dtypes = "all", fn = function(x, r)
        local n, outer, c, h, w = check_factor("pixel_shuffle", x, r, "upscale_factor")
        if c % (r * r) ~= 0 then
            fail("pixel_shuffle: %d channels cannot be split into groups of %d", c, r * r)
        end
        x = x:reshape(dims(outer, c // (r * r), r, r, h, w))
        return x:permute(order(n + 2, 5, 1, 4, 2, 5, 3)):reshape(
            dims(outer, c // (r * r), h * r, w * r))
    end }

define { "pixel_unshuffle", sig = "tensor x, int downscale_factor",
    help = "the inverse of pixel_shuffle: r ^ 2 times as many channels, images r times smaller",
    dtypes = "all", fn = function(x, r)
        local n, outer, c, h, w = check_factor("pixel_unshuffle", x, r, "downscale_factor")
        if h % r ~= 0 or w % r ~= 0 then
            fail("pixel_unshuffle: %d x %d cannot be divided by %d", h, w, r)
        end
        x = x:reshape(dims(outer, c, h // r, r, w // r, r))
        return x:permute(order(n + 2, 5, 1, 3, 5, 2, 4)):reshape(
            dims(outer, c * r * r, h // r, w // r))
    end }

define { "channel_shuffle", sig = "tensor x, int groups",
    help = "the channels (dim 2) of all groups in turn (Zhang et al. 2018)",
    dtypes = "all", fn = function(x, groups)
        if x.ndim < 2 then bad("channel_shuffle", "x", "images x channels x …", shape_text(x)) end
        local c = x.shape[2]
        if groups < 1 or c % groups ~= 0 then
            fail("channel_shuffle: %d channels cannot be split into %d groups", c, groups)
        end
        return x:unflatten(2, { groups, c // groups }):transpose(2, 3):flatten(2, 3)
    end }

define { "local_response_norm",
    sig = "tensor x, int size, float alpha=1e-4, float beta=0.75, float k=1",
    help = "x / (k + alpha * the mean square of `size` channels around it) ^ beta",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, size, alpha, beta, k)
        if x.ndim < 2 then
            bad("local_response_norm", "x", "images x channels x …", shape_text(x))
        end
        if size < 1 then bad("local_response_norm", "size", "1 or more", size) end
        if x:numel() == 0 then return x:clone() end
        local flat = x:square():reshape(x.shape[1], x.shape[2], -1)
        local around = flat:pad { 0, 0, size // 2, (size - 1) // 2 }:unfold(2, size, 1):mean(-1)
        return x / (around:view(x.shape) * alpha + k) ^ beta
    end) }

-- A number, or a list of n, as a list.
local function list_of(op, name, value, n)
    if type(value) ~= "table" then value = { value } end
    if #value == 1 then
        local list = {}
        for d = 1, n do list[d] = value[1] end
        return list
    end
    if #value ~= n then bad(op, name, "1 number or " .. n, #value) end
    return value
end

-- Where windows lie: the index in the padded image of each element of each window, kernel x windows
-- in a row; and the image's sizes with padding.
local function windows(op, size, kernel, dilation, padding, stride, device)
    local at, whole, n = {}, {}, {}
    for d = 1, 2 do
        whole[d] = size[d] + 2 * padding[d]
        n[d] = (whole[d] - dilation[d] * (kernel[d] - 1) - 1) // math.max(1, stride[d]) + 1
        if kernel[d] < 1 or dilation[d] < 1 or stride[d] < 1 or padding[d] < 0 or n[d] < 1 then
            fail("%s: no window of %d fits into %d with padding %d, dilation %d and stride %d", op,
                kernel[d], size[d], padding[d], dilation[d], stride[d])
        end
        local function steps(count) return gpush.range(0, count - 1, { device = device }) end
        at[d] = steps(kernel[d]):mul(dilation[d]):unsqueeze(2) + steps(n[d]):mul(stride[d])
    end
    local index = at[1]:view(kernel[1], 1, n[1], 1) * whole[2] + at[2]:view(1, kernel[2], 1, n[2])
    return index:reshape(-1) + 1, whole, n[1] * n[2]
end

-- fn(x with a batch) for x with or without one.
local function batched(x, n, fn)
    if x.ndim == n then return fn(x) end
    return fn(x:unsqueeze(1)):squeeze(1)
end

local of_windows = "ints kernel_size, ints dilation=1, ints padding=0, ints stride=1"
define { "fold", sig = "tensor x, ints output_size, " .. of_windows,
    help = "images that are the sum of their windows: the gradient of nn.Unfold",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, output_size, kernel_size, dilation, padding, stride)
        local size = list_of("fold", "output_size", output_size, 2)
        local kernel = list_of("fold", "kernel_size", kernel_size, 2)
        local pad = list_of("fold", "padding", padding, 2)
        local index, whole, n = windows("fold", size, kernel,
            list_of("fold", "dilation", dilation, 2), pad, list_of("fold", "stride", stride, 2),
            x.device)
        local each = kernel[1] * kernel[2]
        if x.ndim < 2 or x.ndim > 3 or x.shape[x.ndim] ~= n or x.shape[x.ndim - 1] % each ~= 0 then
            fail("fold: x is %s (expected images x a multiple of %d x %d windows)", shape_text(x),
                each, n)
        end
        return batched(x, 3, function(y)
            local images, c = y.shape[1], y.shape[2] // each
            local lines = gpush.zeros({ images * c, whole[1] * whole[2] },
                { dtype = y.dtype, device = y.device })
            lines = lines:index_add(2, index, y:reshape(images * c, each * n))
            return lines:view(images, c, whole[1], whole[2]):narrow(3, pad[1] + 1, size[1]):narrow(
                4, pad[2] + 1, size[2])
        end)
    end) }

define { "bilinear", sig = "tensor x1, tensor x2, tensor weight, tensor? bias",
    help = "x1 weight[k] x2 for each of weight's first dim, plus bias",
    dtypes = "floats", autocast = "low", strict = "f64 f32 bf16 f16",
    fn = once(function(x1, x2, weight, bias)
        if weight.ndim ~= 3 or x1.ndim < 1 or x1.shape[x1.ndim] ~= weight.shape[2]
            or x2.ndim < 1 or x2.shape[x2.ndim] ~= weight.shape[3] then
            fail("bilinear: x1 is %s, x2 %s, weight %s (expected … x a, … x b, out x a x b)",
                shape_text(x1), shape_text(x2), shape_text(weight))
        end
        if shape_text(x1):match "(.*x)" ~= shape_text(x2):match "(.*x)" then
            fail("bilinear: x1 is %s, x2 %s (expected the same dims before the last)",
                shape_text(x1), shape_text(x2))
        end
        if bias and shape_text(bias) ~= tostring(weight.shape[1]) then
            bad("bilinear", "bias", weight.shape[1] .. " numbers", shape_text(bias))
        end
        local left = x1:unsqueeze(-2):unsqueeze(-2):matmul(weight):squeeze(-2)
        local y = (left * x2:unsqueeze(-2)):sum(-1)
        return bias and y + bias or y
    end) }

define { "prelu", sig = "tensor x, tensor weight",
    help = "x, or weight * x below 0; weight: one for all, or one for each channel (dim 2)",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = function(x, weight)
        if weight:numel() > 1 then
            if x.ndim < 2 or weight:numel() ~= x.shape[2] then
                fail("prelu: weight is %s, x %s (expected 1 number, or one for each channel, dim \z
                    2)", shape_text(weight), shape_text(x))
            end
            local shape = {}
            for d = 1, x.ndim do shape[d] = d == 2 and -1 or 1 end
            weight = weight:view(shape)
        elseif x.ndim == 0 then
            weight = weight:reshape {}
        end
        local above = x:gt(0)
        return gpush.where(above, x, 0) + weight * gpush.where(above, 0, x)
    end }

define { "gumbel_softmax",
    sig = "tensor logits, float tau=1, bool hard=false, dim dim=-1",
    help = "a random class by its probability: softmax((logits + Gumbel noise) / tau), or \z
        one-hot with that gradient (Jang et al. 2017)",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(logits, tau, hard, dim)
        if not (tau > 0) then bad("gumbel_softmax", "tau", "a number above 0", tau) end
        local noise = -(-gpush.rand_like(logits):clamp(1e-38):log()):log()
        local soft = ((logits + noise) / tau):softmax(dim)
        if not hard then return soft end
        local one = gpush.zeros_like(soft):scatter(dim, soft:argmax(dim, true), 1)
        return one - soft:detach() + soft
    end) }

-- What negative elements of SELU tend to: those dropped take it (Klambauer et al. 2017).
local LEAST <const> = -1.7580993408473766
local function alpha_dropout(op, x, p, training, shape)
    if not (p >= 0 and p <= 1) then bad(op, "p", "a number from 0 to 1", p) end
    if not training or p == 0 then return x end
    local keep = gpush.rand(shape, { device = x.device }):ge(p)
    local scale = p < 1 and ((1 - p) * (1 + p * LEAST ^ 2)) ^ -0.5 or 0
    return gpush.where(keep, x, LEAST) * scale - scale * LEAST * p
end

define { "alpha_dropout", sig = "tensor x, float p=0.5, bool training=false",
    help = "in training replaces random elements by SELU's lower limit, and keeps mean and \z
        variance",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, p, training)
        return alpha_dropout("alpha_dropout", x, p, training, x.shape)
    end) }

define { "feature_alpha_dropout", sig = "tensor x, float p=0.5, bool training=false",
    help = "in training replaces random channels by SELU's lower limit, and keeps mean and \z
        variance",
    dtypes = "floats", strict = "f64 f32 bf16 f16",
    fn = once(function(x, p, training)
        if x.ndim < 2 then
            bad("feature_alpha_dropout", "x", "images x channels x …", shape_text(x))
        end
        local shape = x.shape
        for d = 3, x.ndim do shape[d] = 1 end
        return alpha_dropout("feature_alpha_dropout", x, p, training, shape)
    end) }
