--!plain
-- Composites: comparisons of whole tensors and other elementwise ones. See define in
-- init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local rows, fail = require "ops".rows, require "fail"

define { "equal", sig = "tensor a, tensor b",
    help = "whether two tensors have the same shape and elements; true or false, so a wait for \z
        tensors on a device",
    waits = "for true or false",
    dtypes = "all", fn = function(a, b)
        local x, y = a.shape, b.shape
        if #x ~= #y then return false end
        for i = 1, #x do
            if x[i] ~= y[i] then return false end
        end
        return a:eq(b):all():item()
    end }

-- The dtype of differences: those of unsigned integers would wrap, those of 16-bit floats be
-- rounded.
local WIDE = { f16 = "f32", bf16 = "f32", i64 = "f64", i32 = "f64", i16 = "f64", i8 = "f64",
    u8 = "f64", bool = "f64" }

local function check_tolerance(op, name, value)
    if not (value >= 0) then
        fail("%s: argument '%s': expected a number >= 0, got %s", op, name, value)
    end
end

-- Source: numpy.isclose. Infinities of the same sign are close.
define { "isclose",
    sig = "tensor a, operand b, float rtol=1e-5, float atol=1e-8, bool equal_nan=false",
    help = "whether |a - b| <= atol + rtol * |b|, elementwise; NaNs are close only if equal_nan",
    dtypes = "all", fn = function(a, b, rtol, atol, equal_nan)
        check_tolerance("isclose", "rtol", rtol)
        check_tolerance("isclose", "atol", atol)
        if type(b) == "boolean" then b = b and 1 or 0 end
        if type(b) == "number" then
            local dtype = a.dtype
            if WIDE[dtype] == "f64" then dtype = math.type(b) == "integer" and "i64" or "f64" end
            b = gpush.full({}, b, { dtype = dtype, device = a.device }) -- no copy, so no wait
        end
        local x, y, close = WIDE[a.dtype] and a:to(WIDE[a.dtype]) or a, WIDE[b.dtype]
            and b:to(WIDE[b.dtype]) or b, a:eq(b)
        close = (x - y):abs():le(y:abs() * rtol + atol) & y:abs():lt(math.huge) | close
        if equal_nan then close = close | a:ne(a) & b:ne(b) end
        return close
    end }

define { "allclose",
    sig = "tensor a, operand b, float rtol=1e-5, float atol=1e-8, bool equal_nan=false",
    help = "whether isclose holds everywhere; true or false, so a wait for tensors on a device",
    waits = "for true or false",
    dtypes = "all", fn = function(a, b, rtol, atol, equal_nan)
        check_tolerance("allclose", "rtol", rtol)
        check_tolerance("allclose", "atol", atol)
        return a:isclose(b, rtol, atol, equal_nan):all():item()
    end }

local div, floor_divide, trunc_divide = rows.div, gpush.floor_divide, gpush.trunc_divide
define { "div", sig = "operand a, operand b, str? rounding_mode",
    help = "true quotient, integers give f32; rounding_mode 'floor' rounds it down, 'trunc' \z
        towards 0",
    fn = function(a, b, rounding_mode)
        if rounding_mode == nil then return div(a, b) end
        if rounding_mode == "floor" then return floor_divide(a, b) end
        if rounding_mode == "trunc" then return trunc_divide(a, b) end
        fail("div: argument 'rounding_mode': expected 'floor' or 'trunc', got '" .. rounding_mode ..
            "'")
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
    fn = function(n, x) return polygamma(x, n) end }

local clamp, between, is_tensor = rows.clamp, gpush.clamp_between, gpush.is_tensor
define { "clamp", sig = "tensor x, operand? min, operand? max",
    help = "x limited to min … max, numbers or tensors; max where min is above it, NaN where a \z
        limit is",
    fn = function(x, min, max)
        if not is_tensor(min) and not is_tensor(max) then return clamp(x, min, max) end
        if max == nil then return x:clamp_min(min) end
        if min == nil then return x:clamp_max(max) end
        return between(x, min, max)
    end }

-- A number is a limit as clamp has it; of two tensors the gradient is shared where they are equal.
local clamp_min, clamp_max = rows.clamp_min, rows.clamp_max
define { "clamp_min", sig = "operand a, operand b",
    help = "a, or b where a is below it: a number or a tensor; NaN where either is",
    fn = function(a, b)
        if is_tensor(a) and not is_tensor(b) then return clamp(a, b) end
        return clamp_min(a, b)
    end }
define { "clamp_max", sig = "operand a, operand b",
    help = "a, or b where a is above it: a number or a tensor; NaN where either is",
    fn = function(a, b)
        if is_tensor(a) and not is_tensor(b) then return clamp(a, nil, b) end
        return clamp_max(a, b)
    end }

local HALF, FLOATS = { f16 = true, bf16 = true },
    { f64 = true, f32 = true, f16 = true, bf16 = true }
local round = rows.round
define { "round", sig = "tensor x, int decimals=0",
    help = "nearest integer, halves to even; with decimals to that many places after the point, \z
        or before it below 0",
    fn = function(x, decimals)
        if decimals == 0 then return round(x) end
        if not FLOATS[x.dtype] then
            fail("round: dtype %s of argument 'x' is not supported with decimals (expected f64 \z
                f32 bf16 f16)", x.dtype)
        end
        local dtype, scale = x.dtype, 10.0 ^ math.abs(decimals)
        if HALF[dtype] then x = x:to "f32" end
        local y = decimals > 0 and round(x * scale) / scale or round(x / scale) * scale
        return HALF[dtype] and y:to(dtype) or y
    end }

-- ---- activations ----

define { "logsigmoid", sig = "tensor x",
    help = "logarithm of the sigmoid, exact where that is tiny",
    -- beyond 40 the 1 in log(1 + e^-x) is lost in f64
    dtypes = "floats", fn = function(x) return -(-x):softplus(1, 40) end }
define { "tanhshrink", sig = "tensor x", help = "x - tanh(x)",
    dtypes = "numbers", fn = function(x) return x - x:tanh() end }
define { "glu", sig = "tensor x, dim dim=-1",
    help = "the first half of dim times the sigmoid of the second",
    dtypes = "all", fn = function(x, dim)
        local size = rawget(x.shape, dim < 0 and dim + 1 + x.ndim or dim)
        if not size and x.ndim > 0 then
            fail("glu: dim %d is out of range for a %d-d tensor (expected 1 to %d)", dim, x.ndim,
                x.ndim)
        end
        if x.ndim == 0 or size % 2 == 1 then
            fail("glu: argument 'x' has shape %s (expected an even size in dim %d)", x.shape, dim)
        end
        local halves = x:chunk(2, dim)
        return halves[1] * halves[2]:sigmoid()
    end }

-- ---- numbers ----

define { "deg2rad", sig = "tensor x", help = "degrees as radians",
    dtypes = "all", fn = function(x) return x * (math.pi / 180) end }
define { "rad2deg", sig = "tensor x", help = "radians as degrees",
    dtypes = "all", fn = function(x) return x * (180 / math.pi) end }
define { "isposinf", sig = "tensor x", help = "x is infinite and above 0, elementwise",
    dtypes = "all", fn = function(x) return x:isinf() & x:gt(0) end }
define { "isneginf", sig = "tensor x", help = "x is infinite and below 0, elementwise",
    dtypes = "all", fn = function(x) return x:isinf() & x:lt(0) end }
define { "dist", sig = "tensor a, tensor b, float p=2",
    help = "the p-norm of a - b, over all elements",
    dtypes = "floats", autocast = "wide", fn = function(a, b, p) return (a - b):norm(p) end }

-- ---- in-place forms that the rows lack ----

define { "zero_", sig = "tensor x", help = "every element of x set to 0",
    dtypes = "all", fn = function(x) return x:fill_(0) end }
define { "deg2rad_", sig = "tensor x", help = "degrees overwritten with radians",
    dtypes = "floats", fn = function(x) return x:mul_(math.pi / 180) end }
define { "rad2deg_", sig = "tensor x", help = "radians overwritten with degrees",
    dtypes = "floats", fn = function(x) return x:mul_(180 / math.pi) end }
define { "cumsum_", sig = "tensor x, dim dim",
    help = "x overwritten with its running sums along dim",
    dtypes = "all", fn = function(x, dim) return x:copy_(x:cumsum(dim)) end }
define { "cumprod_", sig = "tensor x, dim dim",
    help = "x overwritten with its running products along dim",
    -- Its gradient needs x as it was, which an overwritten x is not.
    dtypes = "all",
    fn = function(x, dim) return x:copy_((x.requires_grad and x:clone() or x):cumprod(dim)) end }

-- ---- signs, and functions of probabilities ----

define { "float_power", sig = "operand a, operand b",
    help = "a raised to b, computed in f64; the result is f64",
    dtypes = "all", fn = function(a, b)
        local function wide(v) return gpush.is_tensor(v) and v:to "f64" or v end
        return wide(a) ^ wide(b)
    end }

define { "frexp", sig = "tensor x",
    help = "x as a mantissa from 1/2 to 1, with its sign, and the power of 2 (i32) that it is \z
        times; 0, infinities and NaN are their own mantissa",
    dtypes = "floats", fn = function(x)
        return gpush.frexp_mantissa(x), gpush.frexp_exponent(x):to "i32"
    end }

define { "multigammaln", sig = "tensor x, int p", sample = "f(2, 3) + 1, 2",
    help = "logarithm of the p-dimensional gamma function; NaN or another branch where x is not \z
        above (p - 1) / 2",
    dtypes = "all", fn = function(x, p)
        if p < 1 or p > 100000 then
            fail("multigammaln: argument 'p': expected 1 to 100000, got %d", p)
        end
        local dtype = x:is_floating_point() and x.dtype or "f32"
        local halves = gpush.range(0, p - 1, { dtype = dtype, device = x.device }) / 2
        return gpush.lgamma(x:unsqueeze(-1) - halves):sum(-1) + p * (p - 1) / 4 * math.log(math.pi)
    end }

define { "heaviside", sig = "tensor x, operand values",
    help = "0 below 0, 1 above, and values at 0",
    dtypes = "all", fn = function(x, values)
        return gpush.where(x:eq(0), values, x:gt(0):to(x.dtype)):to(x.dtype)
    end }
