--!plain
-- nn.init: initialises parameters. Every function writes its tensor in place, without recording,
-- and returns it. Names, arguments, defaults and formulas are those of torch.nn.init.
local require = ...
local gpush, nn, composite = require "gpush", require "nn", require "composite"
local init = {}
nn.init = init

-- define(name, signature, help, fn): fn gets the arguments checked and filled in.
local function define(name, sig, help, fn)
    init[name] = composite { name = "nn.init." .. name, sig = sig, help = help, fn = fn }
end

local function quietly(t, fn, ...)
    gpush.no_grad(fn, t, ...)
    return t
end
local function uniform(t, a, b) return quietly(t, t.uniform_, a, b) end
local function normal(t, mean, std) return quietly(t, t.normal_, mean, std) end

define("uniform_", "tensor tensor, float a=0, float b=1",
    "fills a tensor with uniform numbers from a to b", uniform)
define("normal_", "tensor tensor, float mean=0, float std=1", "fills a tensor with normal numbers",
    normal)
define("constant_", "tensor tensor, number val", "fills a tensor with one number",
    function(t, val) return quietly(t, t.fill_, val) end)
define("zeros_", "tensor tensor", "fills a tensor with zeros",
    function(t) return quietly(t, t.fill_, 0) end)
define("ones_", "tensor tensor", "fills a tensor with ones",
    function(t) return quietly(t, t.fill_, 1) end)

-- The numbers of input elements per output element, and the reverse: dims 2 and 1, times the
-- window.
local function fans(t, name)
    local shape = t.shape
    if #shape < 2 then
        nn.raise("nn.init.%s: the tensor has %d dims (expected at least 2, outputs x inputs)", name,
            #shape)
    end
    local window = 1
    for d = 3, #shape do window = window * shape[d] end
    return shape[2] * window, shape[1] * window
end

local gains = { linear = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2), selu = 3 / 4 }

local function gain_of(nonlinearity, slope, name)
    if nonlinearity == "leaky_relu" then return math.sqrt(2 / (1 + slope ^ 2)) end
    if nonlinearity:find "^conv" then return 1 end
    return gains[nonlinearity]
        or nn.raise("nn.init.%s: no gain is known for '%s'", name, nonlinearity)
end

define("calculate_gain", "str nonlinearity, float param=0.01",
    "what a nonlinearity asks the standard deviation to be multiplied by; param: the slope of \z
        leaky_relu",
    function(nonlinearity, slope) return gain_of(nonlinearity, slope, "calculate_gain") end)

-- Standard deviation by He et al. 2015.
local function kaiming(t, a, mode, nonlinearity, name)
    local into, out = fans(t, name)
    if mode ~= "fan_in" and mode ~= "fan_out" then
        nn.raise("nn.init.%s: option 'mode': expected 'fan_in' or 'fan_out', got '%s'", name, mode)
    end
    local fan = mode == "fan_in" and into or out
    return gain_of(nonlinearity, a, name) / math.sqrt(math.max(1, fan))
end

local he = 'tensor tensor, float a=0, str mode="fan_in", str nonlinearity="leaky_relu"'
define("kaiming_uniform_", he, "uniform numbers whose spread suits a nonlinearity (He et al. 2015)",
    function(t, a, mode, nonlinearity)
        local bound = math.sqrt(3) * kaiming(t, a, mode, nonlinearity, "kaiming_uniform_")
        return uniform(t, -bound, bound)
    end)
define("kaiming_normal_", he, "normal numbers whose spread suits a nonlinearity (He et al. 2015)",
    function(t, a, mode, nonlinearity)
        return normal(t, 0, kaiming(t, a, mode, nonlinearity, "kaiming_normal_"))
    end)

-- Standard deviation by Glorot and Bengio 2010.
local function xavier(t, gain, name)
    local into, out = fans(t, name)
    return gain * math.sqrt(2 / (into + out))
end

define("xavier_uniform_", "tensor tensor, float gain=1",
    "uniform numbers whose spread keeps signals as large forward and backward (Glorot and Bengio \z
        2010)",
    function(t, gain)
        local bound = math.sqrt(3) * xavier(t, gain, "xavier_uniform_")
        return uniform(t, -bound, bound)
    end)
define("xavier_normal_", "tensor tensor, float gain=1",
    "normal numbers whose spread keeps signals as large forward and backward (Glorot and Bengio \z
        2010)",
    function(t, gain) return normal(t, 0, xavier(t, gain, "xavier_normal_")) end)

define("orthogonal_", "tensor tensor, float gain=1",
    "rows (or columns, whichever are fewer) of length gain at right angles; dims from 2 on count \z
        as one (Saxe et al. 2013)",
    function(t, gain)
        local shape = t.shape
        fans(t, "orthogonal_")
        if t:numel() == 0 then return t end
        local rows, cols = shape[1], t:numel() // shape[1]
        local q, r = gpush.linalg.qr(gpush.randn(
            { math.max(rows, cols), math.min(rows, cols) }, { device = t.device }))
        q = q * r:diagonal():sign() -- makes its distribution uniform
        if rows < cols then q = q:transpose(1, 2) end
        return quietly(t, t.copy_, (q * gain):reshape(shape))
    end)

-- The normal distribution's probability below x.
local function below(x)
    return 0.5 + 0.5 * gpush.tensor(x / math.sqrt(2), { dtype = "f64" }):erf():item()
end

-- By the inverse of their distribution function.
define("trunc_normal_", "tensor tensor, float mean=0, float std=1, float a=-2, float b=2",
    "normal numbers between a and b", function(t, mean, std, a, b)
        if not (std > 0) then
            nn.raise("nn.init.trunc_normal_: option 'std' is %s (expected above 0)", std)
        end
        return quietly(t, function()
            t:uniform_(2 * below((a - mean) / std) - 1, 2 * below((b - mean) / std) - 1)
            t:erfinv_():mul_(std * math.sqrt(2)):add_(mean):clamp_(a, b)
        end)
    end)

define("eye_", "tensor tensor", "fills a matrix with ones on its diagonal, and zeros",
    function(t)
        local shape = t.shape
        if #shape ~= 2 then
            nn.raise("nn.init.eye_: the tensor has %d dims (expected 2)", #shape)
        end
        return quietly(t, t.copy_, gpush.eye(shape[1], shape[2], { device = t.device }))
    end)

-- Zagoruyko and Komodakis 2017.
define("dirac_", "tensor tensor, int groups=1",
    "fills a convolution's weight so that as many channels as possible pass as they are",
    function(t, groups)
        local shape = t.shape
        if #shape < 3 or #shape > 5 then
            nn.raise("nn.init.dirac_: the tensor has %d dims (expected 3 to 5)", #shape)
        end
        if groups < 1 or shape[1] % groups ~= 0 then
            nn.raise("nn.init.dirac_: %d outputs cannot be split into %d groups", shape[1], groups)
        end
        local each = shape[1] // groups
        return quietly(t, function()
            t:zero_()
            for k = 0, groups - 1 do
                for d = 1, math.min(each, shape[2]) do
                    local place = { k * each + d, d }
                    for i = 3, #shape do place[i] = shape[i] // 2 + 1 end
                    t[place] = 1
                end
            end
        end)
    end)

define("sparse_", "tensor tensor, float sparsity, float std=0.01",
    "fills a matrix with normal numbers, of which in each column the share sparsity is 0 (Martens \z
        2010)",
    function(t, sparsity, std)
        local shape = t.shape
        if #shape ~= 2 then
            nn.raise("nn.init.sparse_: the tensor has %d dims (expected 2)", #shape)
        end
        if not (sparsity >= 0 and sparsity <= 1) then
            nn.raise("nn.init.sparse_: option 'sparsity' is %s (expected 0 to 1)", sparsity)
        end
        local zeros = math.ceil(sparsity * shape[1])
        local rank = gpush.rand(shape, { device = t.device }):argsort(1):argsort(1)
        return quietly(t, function() t:normal_(0, std):masked_fill_(rank:le(zeros), 0) end)
    end)
