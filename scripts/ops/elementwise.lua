--!plain
-- Composites: comparisons of whole tensors and other elementwise ones. See define in scripts/init.lua.
local gpush, define, rows, fail = ...

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

local div, floor_divide, trunc_divide = rows.div, gpush.floor_divide, gpush.trunc_divide
define { "div", sig = "operand a, operand b, str? rounding_mode",
    help = "true quotient, integers give f32; rounding_mode 'floor' rounds it down, 'trunc' towards 0",
    fn = function(a, b, rounding_mode)
        if rounding_mode == nil then return div(a, b) end
        if rounding_mode == "floor" then return floor_divide(a, b) end
        if rounding_mode == "trunc" then return trunc_divide(a, b) end
        fail("div: argument 'rounding_mode': expected 'floor' or 'trunc', got '" .. rounding_mode .. "'")
    end }

local gelu, gelu_tanh = rows.gelu, gpush.gelu_tanh
define { "gelu", sig = "tensor x, str approximate=\"none\"",
    help = "x times the normal distribution's probability below x; approximate = 'tanh': gelu_tanh",
    fn = function(x, approximate)
        if approximate == "none" then return gelu(x) end
        if approximate == "tanh" then return gelu_tanh(x) end
        fail("gelu: argument 'approximate': expected 'none' or 'tanh', got '" .. approximate .. "'")
    end }

local polygamma = rows.polygamma
define { "polygamma", sig = "int n, tensor x",
    help = "the n-th derivative of digamma: polygamma(n, x) or x:polygamma(n)",
    fn = function(n, x)
        if n < 0 then
            fail("polygamma: argument 'n': expected a whole number from 0, got %d", n)
        end
        return polygamma(x, n)
    end }
