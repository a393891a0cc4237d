--!plain
-- Composites: indices and masks. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local rows, fail = require "ops".rows, require "fail"

-- The columns of nonzero, a list of one tensor for each dim, which is an index; a 0-d tensor counts
-- as one element in one dim.
local nonzero, where = rows.nonzero, rows.where
local function as_tuple(x)
    local rows, columns = nonzero(x.ndim == 0 and x:reshape(1) or x), {}
    for d = 1, rows.shape[2] do columns[d] = rows:select(2, d) end
    return columns
end

define { "nonzero", sig = "tensor x, bool as_tuple=false",
    help = "the indices of the elements that are not zero, a row each; as_tuple: a list of a \z
        tensor for each dim, as in t[nonzero(m, {as_tuple = true})]. Waits for their number",
    waits = "for the number of elements that are not zero",
    fn = function(x, tuple)
        if tuple then return as_tuple(x) end
        return nonzero(x)
    end }

define { "where", sig = "tensor cond, operand? a, operand? b",
    help = "a where cond is true, b elsewhere; where(cond) alone: nonzero(cond, {as_tuple = true})",
    waits = "for the number of true elements, if a and b are not given",
    fn = function(cond, a, b)
        if a == nil and b == nil then return as_tuple(cond) end
        return where(cond, a, b)
    end }

define { "isin", sig = "tensor x, tensor test_elements, bool invert=false",
    help = "x is one of the elements of another tensor, elementwise; invert: is none of them",
    dtypes = "numbers", fn = function(x, elements, invert)
        local sorted = elements:reshape(-1):sort()
        local n = sorted:numel()
        if n == 0 then return gpush.full(x.shape, invert, { dtype = "bool", device = x.device }) end
        local found = sorted:take(gpush.searchsorted(sorted, x:contiguous()):clamp(1, n)):eq(x)
        return invert and ~found or found
    end }

-- The bag of each index: offsets are where bags begin in a line of indices, counted from 1.
local function bags(indices, offsets)
    local places = gpush.range(1, indices:numel(), { device = indices.device })
    return gpush.searchsorted(offsets:to "i64":contiguous(), places, { right = true }) - 1
end

-- Rows of weight, each times its factor, in one bag each: for sums and means.
local function sum_bags(rows, bag, n)
    local sums = gpush.zeros({ n, rows.shape[2] }, { dtype = rows.dtype, device = rows.device })
    return sums:index_add(1, bag, rows)
end

define { "embedding_bag",
    sig = "tensor input, tensor weight, tensor? offsets, str mode=\"mean\", tensor? \z
        per_sample_weights, int? padding_idx",
    help = "the mean, sum or max of the rows of weight for each bag of indices: a row of input, \z
        or the part of a vector from one offset to the next",
    raises = "an index that is no row of weight", dtypes = "all",
    fn = function(input, weight, offsets, mode, factors, padding_idx)
        local op = "embedding_bag"
        if mode ~= "mean" and mode ~= "sum" and mode ~= "max" then
            fail("%s: argument 'mode': expected 'mean', 'sum' or 'max', got '%s'", op, mode)
        end
        if input.ndim > 2 or input.ndim == 1 ~= (offsets ~= nil) then
            fail("%s: input has %d dims (expected rows of indices, or a line of them with offsets)",
                op, input.ndim)
        end
        if factors and mode ~= "sum" then fail(op .. ": per_sample_weights go with mode 'sum'") end
        local n, line = offsets and offsets:numel() or input.shape[1], input:reshape(-1)
        local bag = offsets and bags(input, offsets)
            or gpush.range(1, n, { device = input.device }):repeat_interleave(input.shape[2])
        if padding_idx and padding_idx < 0 then padding_idx = weight:size(1) + 1 + padding_idx end
        local rows = line:embedding(weight, padding_idx)
        local used = gpush.ones(line.shape, { dtype = rows.dtype, device = rows.device })
        if padding_idx then used = gpush.where(line:eq(padding_idx), 0, used) end
        if mode == "max" then
            local least = gpush.where(used:unsqueeze(2):gt(0), rows, -math.huge)
            local index = bag:unsqueeze(2):expand(rows.shape)
            local most = gpush.full({ n, rows.shape[2] }, -math.huge,
                { dtype = rows.dtype, device = rows.device })
            most = most:scatter_reduce(1, index, least, "amax")
            return gpush.where(most:eq(-math.huge), 0, most)
        end
        if factors then used = used * factors:reshape(-1) end
        local sums = sum_bags(rows * used:unsqueeze(2), bag, n)
        if mode == "sum" then return sums end
        local counts = gpush.zeros({ n }, { dtype = rows.dtype, device = rows.device })
        return sums / counts:index_add(1, bag, used):clamp(1):unsqueeze(2)
    end }
