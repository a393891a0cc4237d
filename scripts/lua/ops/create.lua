--!plain
-- Composites: tensors made from a shape or like another tensor. See define in init.lua.
local require = ...
local gpush, define = require "gpush", require "ops".define
local fail, bad = require "fail", require "ops.bad"

-- The options of a tensor like x: absent ones are x's.
local function like(x, dtype, device)
    return { dtype = dtype or x.dtype, device = device or x.device }
end

define { "zeros_like", sig = "tensor x, dtype? dtype, device? device",
    help = "a tensor of zeros of the shape, dtype and device of x",
    dtypes = "all",
    fn = function(x, dtype, device) return gpush.full(x.shape, 0, like(x, dtype, device)) end }

define { "ones_like", sig = "tensor x, dtype? dtype, device? device",
    help = "a tensor of ones of the shape, dtype and device of x",
    dtypes = "all",
    fn = function(x, dtype, device) return gpush.full(x.shape, 1, like(x, dtype, device)) end }

define { "arange", sig = "number first, number? last, number step=1, dtype? dtype, device? device",
    help = "first, first + step … last: PyTorch's name for range, but last is included",
    fn = function(first, last, step, dtype, device)
        if last == nil then
            fail("arange: argument 'last' (#2): expected a number, got nothing; arange(1, n) is 1 \z
                … n, arange(0, n - 1) what PyTorch's arange(n) is")
        end
        return gpush.range(first, last, step, dtype, device)
    end }

define { "full_like", sig = "tensor x, number value, dtype? dtype, device? device",
    help = "a tensor of one value of the shape, dtype and device of x",
    dtypes = "all", fn = function(x, value, dtype, device)
        return gpush.full(x.shape, value, like(x, dtype, device))
    end }

define { "empty_like", sig = "tensor x, dtype? dtype, device? device",
    help = "a tensor with undefined contents of the shape, dtype and device of x",
    dtypes = "all",
    fn = function(x, dtype, device) return gpush.empty(x.shape, like(x, dtype, device)) end }

define { "rand_like", sig = "tensor x, dtype? dtype, device? device",
    help = "uniform numbers in [0, 1) of the shape, dtype and device of x",
    fn = function(x, dtype, device) return gpush.rand(x.shape, like(x, dtype, device)) end }

define { "randn_like", sig = "tensor x, dtype? dtype, device? device",
    help = "normal numbers of the shape, dtype and device of x",
    fn = function(x, dtype, device) return gpush.randn(x.shape, like(x, dtype, device)) end }

define { "randint_like", sig = "tensor x, int low, int high, dtype? dtype, device? device",
    help = "integers from low to high, both included, of the shape, dtype and device of x",
    dtypes = "numbers", fn = function(x, low, high, dtype, device)
        return gpush.randint(low, high, x.shape, like(x, dtype, device))
    end }

-- The row normal_ fills a tensor; this makes one.
define { "normal", sig = "operand mean, operand std=1, shape? shape, dtype? dtype, device? device",
    help = "normal numbers of the means and standard deviations in two tensors, or in one of \z
        them; for two numbers in the shape given",
    fn = function(mean, std, shape, dtype, device)
        local tensors = gpush.is_tensor(mean) or gpush.is_tensor(std)
        if not tensors and not shape then
            fail("normal: argument 'shape' (#3): expected a shape (integers), got nothing")
        end
        if not tensors then return gpush.empty(shape, dtype, device):normal_(mean, std) end
        if shape or dtype or device then
            fail("normal: shape, dtype and device are those of the tensors 'mean' and 'std'")
        end
        return gpush.addcmul(mean, gpush.randn_like(mean + std), std)
    end }

-- ---- x filled with random numbers of a distribution ----

-- Uniform numbers in [0, 1) for x, in f32 where it is of 16 bits or of integers.
local function uniform(x)
    return gpush.rand(x.shape, { dtype = x.dtype == "f64" and "f64" or "f32", device = x.device })
end

local function above_0(op, name, value)
    if not (value > 0) then bad(op, name, "a number above 0", value) end
end

define { "exponential_", sig = "tensor x, float lambd=1",
    help = "x filled with random numbers, lambd exp(-lambd t) dense at t", dtypes = "floats",
    strict = "f64 f32 bf16 f16", fn = function(x, lambd)
        above_0("exponential_", "lambd", lambd)
        return x:copy_((-uniform(x)):log1p() * (-1 / lambd))
    end }

define { "geometric_", sig = "tensor x, float p",
    help = "x filled with random counts, k with probability p (1 - p) ^ (k - 1)",
    sample = "f(3), 0.5", dtypes = "numbers", strict = "numbers", fn = function(x, p)
        if not (p > 0 and p <= 1) then bad("geometric_", "p", "a number above 0, up to 1", p) end
        if p == 1 then return x:fill_(1) end
        local failure = p < 1e-5 and -p * (1 + p / 2) or math.log(1 - p) -- the logarithm of 1 - p
        return x:copy_(((-uniform(x)):log1p() / failure):ceil():clamp(1))
    end }

define { "cauchy_", sig = "tensor x, float median=0, float sigma=1",
    help = "x filled with random numbers of Cauchy's distribution", dtypes = "floats",
    strict = "f64 f32 bf16 f16", fn = function(x, median, sigma)
        above_0("cauchy_", "sigma", sigma)
        return x:copy_(((uniform(x) - 0.5) * math.pi):tan() * sigma + median)
    end }

define { "log_normal_", sig = "tensor x, float mean=1, float std=2",
    help = "x filled with random numbers whose logarithms are normal ones", dtypes = "floats",
    strict = "f64 f32 bf16 f16", fn = function(x, mean, std)
        above_0("log_normal_", "std", std)
        return x:copy_(uniform(x):normal_(mean, std):exp_())
    end }

-- ---- x:new_…: shape and values are given, dtype and device default to x's ----

define { "new_zeros", sig = "tensor x, shape shape, dtype? dtype, device? device",
    help = "a tensor of zeros of x's dtype, on x's device",
    dtypes = "all",
    fn = function(x, shape, dtype, device) return gpush.zeros(shape, like(x, dtype, device)) end }
define { "new_ones", sig = "tensor x, shape shape, dtype? dtype, device? device",
    help = "a tensor of ones of x's dtype, on x's device",
    dtypes = "all",
    fn = function(x, shape, dtype, device) return gpush.ones(shape, like(x, dtype, device)) end }
define { "new_empty", sig = "tensor x, shape shape, dtype? dtype, device? device",
    help = "a tensor with undefined contents of x's dtype, on x's device",
    dtypes = "all",
    fn = function(x, shape, dtype, device) return gpush.empty(shape, like(x, dtype, device)) end }
define { "new_full", sig = "tensor x, shape shape, number value, dtype? dtype, device? device",
    help = "a tensor of one value of x's dtype, on x's device",
    dtypes = "all", fn = function(x, shape, value, dtype, device)
        return gpush.full(shape, value, like(x, dtype, device))
    end }
define { "new_tensor", sig = "tensor x, any values, dtype? dtype, device? device",
    help = "a tensor of nested tables of x's dtype, on x's device",
    waits = "for the copy to the device",
    dtypes = "all", fn = function(x, values, dtype, device)
        local kind = type(values)
        if kind ~= "table" and kind ~= "number" and kind ~= "boolean"
            and not gpush.is_tensor(values) then
            fail("new_tensor: argument 'values': expected numbers or booleans in nested tables, \z
                got %s", kind)
        end
        if kind == "table" and #values ~= rawlen(values) then
            fail("new_tensor: argument 'values': expected a plain table, got one of %d elements \z
                by a metamethod", #values)
        end
        return gpush.tensor(values, like(x, dtype, device))
    end }
define { "type_as", sig = "tensor x, tensor other",
    help = "x with other's dtype, on other's device",
    waits = "for a copy to another device",
    dtypes = "all", fn = function(x, other) return x:to(other) end }

-- The rows (first line) and columns of a mask's k elements that are true. A stable sort puts them
-- first; nonzero would wait to count them.
local function places(mask, k, dtype)
    local col = math.max(mask.shape[2], 1)
    local at = mask:reshape(-1):argsort({ descending = true, stable = true }):narrow(1, 1, k) - 1
    return (gpush.stack { at:floor_divide(col), at:remainder(col) } + 1):to(dtype or "i64")
end

-- How many elements of a row x col matrix lie on and below a diagonal.
local function below(row, col, offset)
    local k = 0
    for i = 1, row do k = k + math.max(0, math.min(i + offset, col)) end
    return k
end

define { "tril_indices", sig = "int row, int col, int offset=0, dtype? dtype, device? device",
    help = "the rows (first line) and columns of the elements on and below a diagonal of a row x \z
        col matrix",
    indices = 1,
    fn = function(row, col, offset, dtype, device)
        local mask = gpush.ones({ row, col }, { device = device }):tril(offset)
        return places(mask, below(row, col, offset), dtype)
    end }
define { "triu_indices", sig = "int row, int col, int offset=0, dtype? dtype, device? device",
    help = "the rows (first line) and columns of the elements on and above a diagonal of a row x \z
        col matrix",
    indices = 1,
    fn = function(row, col, offset, dtype, device)
        local mask = gpush.ones({ row, col }, { device = device }):triu(offset)
        return places(mask, row * col - below(row, col, offset - 1), dtype)
    end }
