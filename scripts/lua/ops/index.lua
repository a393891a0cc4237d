--!plain
-- Composites: indices and masks. See define in scripts/lua/init.lua.
local gpush, define, rows = ...

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
