--!plain
-- Composites: comparisons of whole tensors and other elementwise ones. See define in scripts/init.lua.
local gpush, define = ...

define { "equal", sig = "tensor a, tensor b",
    help = "whether two tensors have the same shape and elements; true or false, so a wait for tensors on a device",
    fn = function(a, b)
        local x, y = a.shape, b.shape
        if #x ~= #y then return false end
        for i = 1, #x do
            if x[i] ~= y[i] then return false end
        end
        return a:eq(b):all():item()
    end }

-- Source: numpy.isclose. Infinities of one sign are close.
define { "isclose", sig = "tensor a, operand b, float rtol=1e-5, float atol=1e-8, bool equal_nan=false",
    help = "whether |a - b| <= atol + rtol * |b|, elementwise; NaNs are close only if equal_nan",
    fn = function(a, b, rtol, atol, equal_nan)
        if type(b) == "number" then b = gpush.tensor(b, { dtype = a.dtype, device = a.device }) end
        local close = (a - b):abs():le(b:abs() * rtol + atol) & b:abs():lt(math.huge) | a:eq(b)
        if equal_nan then close = close | a:ne(a) & b:ne(b) end
        return close
    end }

define { "allclose", sig = "tensor a, operand b, float rtol=1e-5, float atol=1e-8, bool equal_nan=false",
    help = "whether isclose holds everywhere; true or false, so a wait for tensors on a device",
    fn = function(a, b, rtol, atol, equal_nan)
        return a:isclose(b, rtol, atol, equal_nan):all():item()
    end }
