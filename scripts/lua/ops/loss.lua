--!plain
-- Composites: losses, directions and distances. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local fail, bad = require "fail", require "ops.bad"
local FLOATS, once = require "ops.round_once".FLOATS, require "ops.round_once".once
local registry = require "registry"

-- Reduces the losses of all elements.
local function reduced(op, losses, reduction)
    if reduction == "mean" then return losses:mean() end
    if reduction == "sum" then return losses:sum() end
    if reduction == "none" then return losses end
    bad(op, "reduction", "'none', 'mean' or 'sum'", "'" .. reduction .. "'")
end

-- PyTorch has no such loss for integers only; with a number the row would convert them to floats.
local function check_floats(op, x, target)
    if FLOATS[x.dtype] or FLOATS[target.dtype] then return end
    fail("%s: dtype %s of argument 'x' is not supported (expected f64 f32 bf16 f16)", op, x.dtype)
end

local function shape_text(x) return table.concat(x.shape, "x") end
-- Shapes that only broadcast, such as 3 and 3x1, would give a loss of 3x3 elements.
local function same_shape(op, x, target, name)
    if shape_text(x) == shape_text(target) then return end
    fail("%s: argument '%s' has shape %s, x %s (expected the same)", op, name or "target",
        shape_text(target), shape_text(x))
end

-- Weights have x's shape or broadcast to it; they must not enlarge it.
local function fits(op, x, weight, name)
    for d = 1, weight and weight.ndim or 0 do
        local size = weight.shape[weight.ndim + 1 - d]
        if d > x.ndim or size ~= 1 and size ~= x.shape[x.ndim + 1 - d] then
            fail("%s: argument '%s' has shape %s, which does not broadcast to x's, %s", op, name,
                shape_text(weight), shape_text(x))
        end
    end
end

-- Labels of 1 and -1: as bools they would be 1 and 0.
local function check_signs(op, target)
    if target.dtype ~= "bool" then return end
    fail("%s: argument 'target' is bool (expected 1 and -1: where(target, 1, -1))", op)
end

-- ---- losses of pairs of elements ----

-- Programs of losses of 16-bit floats, by their number, then by what else they depend on.
local programs, kept, MOST <const> = {}, 0, 64
local function program_of(row, x, number, reduction)
    local by, key = programs[number or false], row .. reduction .. x.dtype
    if by and by[key] then return by[key] end
    if kept == MOST then programs, kept, by = {}, 0, nil end
    by = by or {}
    by[key] = registry["gpush.losses"].program(row, reduction, x, number)
    programs[number or false], kept = by, kept + 1
    return by[key]
end

-- The losses of 16-bit floats by a row, which rounds once, or their mean or sum in one pass; nil
-- where the single ops are needed.
local function direct(row, x, target, reduction, number)
    local losses = registry["gpush.losses"]
    if x.dtype ~= target.dtype then return end
    if reduction == "none" and shape_text(x) == shape_text(target) then
        return number and x[row](x, target, number) or x[row](x, target)
    end
    if reduction ~= "mean" and reduction ~= "sum" or not (losses and losses.fits(x, target)) then
        return
    end
    return losses.run(program_of(row, x, number, reduction), x, target)
end

define { "mse_loss", sig = "tensor x, tensor target, str reduction=\"mean\"",
    help = "squared differences of x and target: their mean, sum, or each",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction)
        check_floats("mse_loss", x, target)
        same_shape("mse_loss", x, target)
        return reduced("mse_loss", x:squared_error(target), reduction)
    end, function(x, target, reduction)
        return direct("squared_error", x, target, reduction)
    end) }

define { "l1_loss", sig = "tensor x, tensor target, str reduction=\"mean\"",
    help = "absolute differences of x and target: their mean, sum, or each",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction)
        same_shape("l1_loss", x, target)
        return reduced("l1_loss", x:absolute_error(target), reduction)
    end, function(x, target, reduction)
        return direct("absolute_error", x, target, reduction)
    end) }

define { "smooth_l1_loss", sig = "tensor x, tensor target, str reduction=\"mean\", float beta=1",
    help = "differences d: d^2 / (2 beta) where |d| is below beta, else |d| - beta / 2",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction, beta)
        check_floats("smooth_l1_loss", x, target)
        same_shape("smooth_l1_loss", x, target)
        if not (beta >= 0) then bad("smooth_l1_loss", "beta", "a number >= 0", beta) end
        return reduced("smooth_l1_loss", x:smooth_l1(target, beta), reduction)
    end, function(x, target, reduction, beta)
        return beta >= 0 and direct("smooth_l1", x, target, reduction, beta)
    end) }

define { "huber_loss", sig = "tensor x, tensor target, str reduction=\"mean\", float delta=1",
    help = "differences d: d^2 / 2 where |d| is at most delta, else delta * (|d| - delta / 2)",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction, delta)
        check_floats("huber_loss", x, target)
        same_shape("huber_loss", x, target)
        if not (delta > 0) then bad("huber_loss", "delta", "a number > 0", delta) end
        return reduced("huber_loss", x:huber(target, delta), reduction)
    end, function(x, target, reduction, delta)
        return delta > 0 and direct("huber", x, target, reduction, delta)
    end) }

define { "binary_cross_entropy",
    sig = "tensor x, tensor target, tensor? weight, str reduction=\"mean\"",
    help = "cross entropy of probabilities x of being 1, for targets from 0 to 1; logarithms \z
        are at least -100",
    raises = "a probability that is not between 0 and 1", dtypes = "floats",
    fn = once(function(x, target, weight, reduction)
        check_floats("binary_cross_entropy", x, target)
        same_shape("binary_cross_entropy", x, target)
        fits("binary_cross_entropy", x, weight, "weight")
        local losses = x:bce(target)
        return reduced("binary_cross_entropy", weight and losses * weight or losses, reduction)
    end, function(x, target, weight, reduction)
        return not weight and direct("bce", x, target, reduction)
    end) }

define { "binary_cross_entropy_with_logits",
    sig = "tensor x, tensor target, tensor? weight, str reduction=\"mean\", tensor? pos_weight",
    help = "binary_cross_entropy of sigmoid(x), exact for any x; pos_weight multiplies where \z
        target is 1",
    dtypes = "floats", autocast = "wide",
    fn = once(function(x, target, weight, reduction, pos_weight)
        check_floats("binary_cross_entropy_with_logits", x, target)
        same_shape("binary_cross_entropy_with_logits", x, target)
        fits("binary_cross_entropy_with_logits", x, weight, "weight")
        fits("binary_cross_entropy_with_logits", x, pos_weight, "pos_weight")
        local losses = x:bce_with_logits(target, pos_weight or 1)
        return reduced("binary_cross_entropy_with_logits", weight and losses * weight or losses,
            reduction)
    end, function(x, target, weight, reduction, pos_weight)
        return not (weight or pos_weight)
            and direct("bce_with_logits", x, target, reduction, 1)
    end) }

define { "kl_div", sig = "tensor x, tensor target, str reduction=\"mean\", bool log_target=false",
    help = "divergence of the distribution target from the one whose logarithm is x; reduction \z
        'batchmean' is over dim 1",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction, log_target)
        check_floats("kl_div", x, target)
        same_shape("kl_div", x, target)
        local losses = log_target and x:kl_log_term(target) or x:kl_term(target)
        if reduction == "batchmean" then return losses:sum() / x.shape[1] end
        return reduced("kl_div", losses, reduction)
    end) }

define { "poisson_nll_loss",
    sig = "tensor x, tensor target, bool log_input=true, bool full=false, float eps=1e-8, str \z
        reduction=\"mean\"",
    help = "minus the log-probability of target under a Poisson distribution with mean exp(x), \z
        or x",
    dtypes = "numbers", autocast = "wide",
    fn = once(function(x, target, log_input, full, eps, reduction)
        same_shape("poisson_nll_loss", x, target)
        local losses
        if log_input then
            losses = x:exp() - target * x
        else
            losses = x - target * (x + eps):log()
        end
        if full then
            local stirling = target * target:log() - target + (target * (2 * math.pi)):log() * 0.5
            losses = losses + gpush.where(target:gt(1), stirling, 0)
        end
        return reduced("poisson_nll_loss", losses, reduction)
    end) }

-- The variance, at least eps; its gradient is that of what it was before, as in PyTorch, so that
-- one below eps is still moved.
local function limited(var, eps)
    if not var.requires_grad then return var:clamp(eps) end
    var = var:clone()
    gpush.no_grad(function() var:clamp_(eps) end)
    return var
end

-- A variance for each element of x, or for each of its rows: their shape is x's, or that without
-- the last dim or with 1 in its place.
local function of_rows(x, var)
    local rows = table.move(x.shape, 1, x.ndim - 1, 1, {})
    local row_text = table.concat(rows, "x")
    if shape_text(var) == shape_text(x) then return var end
    if x.ndim > 0 and shape_text(var) == row_text then return var:unsqueeze(-1) end
    rows[x.ndim] = 1
    if x.ndim > 0 and shape_text(var) == table.concat(rows, "x") then return var end
    fail("gaussian_nll_loss: argument 'var' has shape %s, x %s (expected the same, or one for \z
        each row)", shape_text(var), shape_text(x))
end

define { "gaussian_nll_loss",
    sig = "tensor x, tensor target, tensor var, bool full=false, float eps=1e-6, str \z
        reduction=\"mean\"",
    help = "minus the log-density at target of a normal distribution with mean x and variance \z
        var, at least eps",
    dtypes = "numbers", autocast = "wide", fn = once(function(x, target, var, full, eps, reduction)
        same_shape("gaussian_nll_loss", x, target)
        var = limited(of_rows(x, var), eps)
        local losses = (var:log() + (x - target):square() / var) * 0.5
        return reduced("gaussian_nll_loss", full and losses + 0.5 * math.log(2 * math.pi) or losses,
            reduction)
    end) }

define { "soft_margin_loss", sig = "tensor x, tensor target, str reduction=\"mean\"",
    help = "log(1 + exp(-target * x)) for targets of 1 and -1",
    dtypes = "floats", autocast = "wide", fn = once(function(x, target, reduction)
        same_shape("soft_margin_loss", x, target)
        check_signs("soft_margin_loss", target)
        return reduced("soft_margin_loss", (-target * x):softplus(1, 40), reduction)
    end) }

define { "hinge_embedding_loss",
    sig = "tensor x, tensor target, float margin=1, str reduction=\"mean\"",
    help = "x where target is 1, max(0, margin - x) where it is -1",
    dtypes = "numbers", autocast = "wide", fn = once(function(x, target, margin, reduction)
        same_shape("hinge_embedding_loss", x, target)
        check_signs("hinge_embedding_loss", target)
        return reduced("hinge_embedding_loss",
            gpush.where(target:ne(1), (margin - x):relu(), 0) + gpush.where(target:ne(-1), x, 0),
            reduction)
    end) }

define { "margin_ranking_loss",
    sig = "tensor x1, tensor x2, tensor target, float margin=0, str reduction=\"mean\"",
    help = "max(0, margin - target * (x1 - x2)); target 1 asks for x1 above x2, -1 for the \z
        opposite",
    dtypes = "numbers", autocast = "wide", fn = once(function(x1, x2, target, margin, reduction)
        same_shape("margin_ranking_loss", x1, x2, "x2")
        same_shape("margin_ranking_loss", x1, target)
        check_signs("margin_ranking_loss", target)
        return reduced("margin_ranking_loss", (margin - target * (x1 - x2)):relu(), reduction)
    end) }

-- ---- directions and distances ----

-- The p-norm of x along dim. For a row of zeros the gradient is 0, not that of a root at 0.
local function p_norm(x, p, dim, keepdim) return gpush.linalg.vector_norm(x, p, dim, keepdim) end

define { "normalize", sig = "tensor x, float p=2, dim dim=2, float eps=1e-12",
    help = "x divided by its p-norm along dim, or by eps where the norm is smaller",
    dtypes = "floats",
    autocast = "wide",
    fn = once(function(x, p, dim, eps) return x / p_norm(x, p, dim, true):clamp(eps) end) }

local function check_broadcast(op, x1, x2)
    for d = 1, math.min(x1.ndim, x2.ndim) do
        local a, b = x1.shape[x1.ndim + 1 - d], x2.shape[x2.ndim + 1 - d]
        if a ~= b and a ~= 1 and b ~= 1 then
            fail("%s: shapes %s and %s do not broadcast (dim %d from the end: %d and %d)", op,
                shape_text(x1), shape_text(x2), d, a, b)
        end
    end
end

define { "cosine_similarity", sig = "tensor x1, tensor x2, dim dim=2, float eps=1e-8",
    help = "cosine of the angle between x1 and x2 along dim; norms below eps count as eps",
    dtypes = "numbers", strict = "numbers", promotes = true, autocast = "wide",
    fn = once(function(x1, x2, dim, eps)
        check_broadcast("cosine_similarity", x1, x2)
        if shape_text(x1) ~= shape_text(x2) then
            x1, x2 = table.unpack(gpush.broadcast_tensors { x1, x2 })
        end
        local n1, n2 = p_norm(x1, 2, dim, true):clamp(eps), p_norm(x2, 2, dim, true):clamp(eps)
        return ((x1 / n1) * (x2 / n2)):sum(dim)
    end) }

define { "pairwise_distance",
    sig = "tensor x1, tensor x2, float p=2, float eps=1e-6, bool keepdim=false",
    help = "p-norm of x1 - x2 + eps along the last dim",
    dtypes = "numbers",
    autocast = "wide",
    fn = once(function(x1, x2, p, eps, keepdim) return p_norm(x1 - x2 + eps, p, -1, keepdim) end) }

-- |a - b|^2 = |a|^2 + |b|^2 - 2 a b as one matrix product in f64, relative to the mean of x2's
-- rows: the rounding error left, some 1e-8 of the rows' size, is below f32's. `less` removes it:
-- equal rows have distance 0.
local function euclidean(x1, x2)
    local dtype, less = x1.dtype, 1 - (8 + x1.shape[x1.ndim] ^ 0.5) * 1.2e-16
    local a, b = x1:to "f64", x2:to "f64"
    local middle = b:detach():mean(-2, true)
    middle = gpush.where(middle:isfinite(), middle, 0)
    a, b = a - middle, b - middle
    local aa, bb = (a * a):sum(-1, true) * less, (b * b):sum(-1, true) * less
    local one = gpush.ones(1, { dtype = "f64", device = x1.device })
    local left = gpush.cat({ a * -2, aa, one:expand(aa.shape) }, -1)
    local right = gpush.cat({ b, one:expand(bb.shape), bb }, -1)
    local d = left:matmul(right:transpose(-1, -2))
    local equal = d:le(0) -- false for NaN
    return gpush.where(equal, 0, gpush.where(equal, 1, d):sqrt()):to(dtype)
end

define { "cdist", sig = "tensor x1, tensor x2, float p=2",
    help = "p-norms of the differences between each row of x1 and each row of x2; with p = 2, \z
        more than 25 rows and f32 or less, accurate to 1e-8 of the rows' size",
    dtypes = "floats", autocast = "wide", fn = once(function(x1, x2, p)
        if not (p >= 0) then bad("cdist", "p", "a number >= 0", p) end
        if x1.ndim < 2 then bad("cdist", "x1", "rows of numbers", shape_text(x1)) end
        if x2.ndim < 2 then bad("cdist", "x2", "rows of numbers", shape_text(x2)) end
        local many = x1.ndim >= 2 and x2.ndim >= 2 and x1.shape[x1.ndim - 1] > 25
            and x2.shape[x2.ndim - 1] > 25
        local narrow = x1.dtype == x2.dtype and x1.shape[x1.ndim] == x2.shape[x2.ndim]
            and (x1.dtype == "f32" or x1.dtype == "f16" or x1.dtype == "bf16")
        if p == 2 and many and narrow then return euclidean(x1, x2) end
        return p_norm(x1:unsqueeze(-2) - x2:unsqueeze(-3), p, -1, false)
    end) }

define { "cosine_embedding_loss",
    sig = "tensor x1, tensor x2, tensor target, float margin=0, str reduction=\"mean\"",
    help = "1 - cosine_similarity where target is 1, max(0, it - margin) where target is -1",
    dtypes = "numbers", strict = "numbers", autocast = "wide",
    fn = once(function(x1, x2, target, margin, reduction)
        same_shape("cosine_embedding_loss", x1, x2, "x2")
        check_signs("cosine_embedding_loss", target)
        local cosine = x1:cosine_similarity(x2, -1)
        if shape_text(cosine) ~= shape_text(target) then
            fail("cosine_embedding_loss: argument 'target' has shape %s (expected %s, one for \z
                each row)", shape_text(target), shape_text(cosine))
        end
        return reduced("cosine_embedding_loss",
            gpush.where(target:eq(1), 1 - cosine,
                gpush.where(target:eq(-1), (cosine - margin):relu(), 0)), reduction)
    end) }

define { "triplet_margin_loss",
    sig = "tensor anchor, tensor positive, tensor negative, float margin=1, float p=2, float \z
        eps=1e-6, bool swap=false, str reduction=\"mean\"",
    help = "max(0, distance to positive - distance to negative + margin)",
    dtypes = "numbers",
    autocast = "wide",
    fn = once(function(anchor, positive, negative, margin, p, eps, swap, reduction)
        local near, far = anchor:pairwise_distance(positive, p, eps),
            anchor:pairwise_distance(negative, p, eps)
        if swap then far = far:minimum(positive:pairwise_distance(negative, p, eps)) end
        return reduced("triplet_margin_loss", (near - far + margin):relu(), reduction)
    end) }

-- ---- several classes, and sequences of them ----

define { "multi_margin_loss",
    sig = "tensor x, tensor target, int p=1, float margin=1, tensor? weight, str \z
        reduction=\"mean\"",
    help = "the mean over the wrong classes of max(0, margin - score of the right class + \z
        score) ^ p; p is 1 or 2",
    raises = "a label that is no class", dtypes = "floats", autocast = "wide",
    strict = "f64 f32 bf16 f16",
    fn = once(function(x, target, p, margin, weight, reduction)
        if p ~= 1 and p ~= 2 then bad("multi_margin_loss", "p", "1 or 2", p) end
        if x.ndim < 1 or x.ndim > 2 then
            bad("multi_margin_loss", "x", "rows of scores, or one", shape_text(x))
        end
        if shape_text(target) ~= table.concat(x.shape, "x", 1, x.ndim - 1) then
            fail("multi_margin_loss: argument 'target' has shape %s, x %s (expected a label for \z
                each row)", shape_text(target), shape_text(x))
        end
        local label = target:unsqueeze(-1)
        local losses = (margin - x:gather(-1, label) + x):relu() ^ p
        losses = losses:scatter(-1, label, 0)
        if weight then losses = losses * weight[target]:unsqueeze(-1) end
        return reduced("multi_margin_loss", losses:mean(-1), reduction)
    end) }

define { "multilabel_margin_loss", sig = "tensor x, tensor target, str reduction=\"mean\"",
    help = "for each right class and each wrong one max(0, 1 - score of the right + score of the \z
        wrong), over the number of classes; target: rows of right classes, ended by 0 or less",
    raises = "a label that is no class", dtypes = "floats", autocast = "wide",
    strict = "f64 f32 bf16 f16",
    fn = once(function(x, target, reduction)
        same_shape("multilabel_margin_loss", x, target)
        local valid = target:gt(0):to(x.dtype):cumprod(-1)
        local label = gpush.where(valid:gt(0), target, 1)
        local wrong = gpush.zeros_like(x):scatter_add(-1, label, valid):eq(0):to(x.dtype)
        local each = (1 - x:gather(-1, label):unsqueeze(-1) + x:unsqueeze(-2)):relu()
        each = each * valid:unsqueeze(-1) * wrong:unsqueeze(-2)
        return reduced("multilabel_margin_loss", each:sum { -2, -1 } / x.shape[x.ndim], reduction)
    end) }

define { "multilabel_soft_margin_loss",
    sig = "tensor x, tensor target, tensor? weight, str reduction=\"mean\"",
    help = "the mean over classes of binary_cross_entropy_with_logits, for targets of 0 and 1",
    dtypes = "floats", autocast = "wide",
    strict = "f64 f32 bf16 f16",
    fn = once(function(x, target, weight, reduction)
        same_shape("multilabel_soft_margin_loss", x, target)
        fits("multilabel_soft_margin_loss", x, weight, "weight")
        local losses = x:bce_with_logits(FLOATS[target.dtype] and target or target:to(x.dtype), 1)
        if weight then losses = losses * weight end
        return reduced("multilabel_soft_margin_loss", losses:mean(-1), reduction)
    end) }

-- Lengths, a list or a tensor, as a tensor of n integers.
local function lengths(name, value, n, like)
    if math.type(value) == "integer" then value = { value } end
    for i = 1, type(value) == "table" and math.min(#value, n) or 0 do
        local v = value[i]
        if type(v) ~= "number" or v < 0 then bad("ctc_loss", name, "0 or more", v) end
    end
    local t = gpush.is_tensor(value) and value
        or type(value) == "table" and #value == rawlen(value) and gpush.tensor(value)
    if not t or t.dtype:find "f" or t:numel() ~= n then
        bad("ctc_loss", name, ("%d integers, one for each sequence"):format(n),
            t and t.dtype .. " " .. shape_text(t) or type(value))
    end
    return t:reshape(n):to { device = like.device, dtype = "i64" }
end

-- One target after the other in a line, as rows.
local function target_rows(targets, counts)
    local rows, at, most = {}, 1, 0
    local list = counts:tolist()
    for _, n in ipairs(list) do most = math.max(most, n) end
    for i, n in ipairs(list) do
        rows[i] = targets:narrow(1, at, n):pad { 0, most - n }
        at = at + n
    end
    return gpush.stack(rows)
end

local NEVER <const> = -1e30 -- the logarithm of a chance of 0: its sums and differences are finite

-- x along dim 2, moved on by n, with NEVER in the gap.
local function later(x, n)
    return x:pad({ n, 0 }, { value = NEVER }):narrow(2, 1, x.shape[2])
end

-- The logarithm of the chance of each target: paths through it with blanks between its labels, one
-- time after the other. x: time x n x classes.
local function path_chance(x, targets, times, counts, blank)
    local n, s = targets.shape[1], targets.shape[2]
    local states = gpush.full({ n, 2 * s + 1 }, blank, { dtype = "i64", device = x.device })
    if s > 0 then
        local used = gpush.range(1, s, { device = x.device }):le(counts:unsqueeze(2))
        states[{ {}, { 2, 2 * s, 2 } }] = gpush.where(used, targets:to "i64", blank)
    end
    local before = states:pad({ 2, 0 }, { value = blank }):narrow(2, 1, 2 * s + 1)
    local two_on = states:ne(before) & states:ne(blank) -- past a blank between unlike labels
    local emit = x:gather(3, states:unsqueeze(1):expand(x.shape[1], n, 2 * s + 1))
    local first = gpush.range(1, 2 * s + 1, { device = x.device }):le(2):expand(n, 2 * s + 1)
    local all = { gpush.where(first, emit[1], NEVER) }
    for t = 2, x.shape[1] do
        local a = all[t - 1]
        local skip = gpush.where(two_on, later(a, 2), NEVER)
        all[t] = gpush.stack({ a, later(a, 1), skip }, 1):logsumexp(1) + emit[t]
    end
    local at = times:view(1, n, 1):expand(1, n, 2 * s + 1)
    local last = gpush.stack(all, 1):gather(1, at):squeeze(1)
    local final = (counts * 2 + 1):unsqueeze(2)
    local label = gpush.where(counts:unsqueeze(2):gt(0), last:gather(2, (final - 1):clamp(1)),
        NEVER)
    return gpush.cat({ last:gather(2, final), label }, 2):logsumexp(2)
end

define { "ctc_loss",
    sig = "tensor log_probs, tensor targets, any input_lengths, any target_lengths, int blank=1, \z
        str reduction=\"mean\", bool zero_infinity=false",
    help = "minus the log-probability that a sequence of classes, without its blanks and \z
        repeats, is the target (Graves et al. 2006)",
    raises = "a label that is no class, a length beyond its sequence",
    waits = "for the lengths of targets that are in one line",
    dtypes = "floats", autocast = "wide",
    strict = "f64 f32 bf16 f16",
    fn = once(function(x, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
        local single = x.ndim == 2
        if single then x = x:unsqueeze(2) end
        if x.ndim ~= 3 then
            bad("ctc_loss", "log_probs", "time x sequences x classes", shape_text(x))
        end
        if targets.dtype:find "f" then bad("ctc_loss", "targets", "integers", targets.dtype) end
        if blank < 1 or blank > x.shape[3] then
            bad("ctc_loss", "blank", ("a class, counted from 1 to %d"):format(x.shape[3]), blank)
        end
        local n = x.shape[2]
        local times = lengths("input_lengths", input_lengths, n, x)
        local counts = lengths("target_lengths", target_lengths, n, x)
        if targets.ndim == 1 then targets = target_rows(targets, counts) end
        if targets.ndim ~= 2 or targets.shape[1] ~= n then
            bad("ctc_loss", "targets", ("%d rows of labels, or all in one line"):format(n),
                shape_text(targets))
        end
        local losses = -path_chance(x, targets, times, counts, blank)
        local never = losses:gt(-NEVER / 2)
        losses = gpush.where(never, zero_infinity and 0 or math.huge, losses)
        if reduction == "mean" then losses = losses / counts:clamp(1):to(losses.dtype) end
        if single and reduction == "none" then losses = losses:squeeze(1) end
        return reduced("ctc_loss", losses, reduction)
    end) }
