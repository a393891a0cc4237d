--!plain
-- nn.init: how parameters start. Every function writes its tensor in place, recording nothing, and returns it.
-- Names, defaults and formulas are those of torch.nn.init.
local gpush, nn = ...
local init = {}
nn.init = init

local function quietly(t, fn, ...)
    gpush.no_grad(fn, t, ...)
    return t
end

function init.uniform_(t, low, high) return quietly(t, t.uniform_, low or 0, high or 1) end
function init.normal_(t, mean, std) return quietly(t, t.normal_, mean or 0, std or 1) end
function init.constant_(t, value) return quietly(t, t.fill_, value) end
function init.zeros_(t) return quietly(t, t.fill_, 0) end
function init.ones_(t) return quietly(t, t.fill_, 1) end

-- How many elements of the input reach one of the output, and the reverse: dims 2 and 1, times the window.
local function fans(t, name)
    local shape = t.shape
    if #shape < 2 then
        error(("nn.init.%s: the tensor has %d dims (expected at least 2, outputs x inputs)"):format(name, #shape), 3)
    end
    local window = 1
    for d = 3, #shape do window = window * shape[d] end
    return shape[2] * window, shape[1] * window
end

local gains = { linear = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2), selu = 3 / 4 }

--- What a nonlinearity asks the standard deviation to be multiplied by; slope is leaky_relu's.
function init.calculate_gain(nonlinearity, slope)
    if nonlinearity == "leaky_relu" then return math.sqrt(2 / (1 + (slope or 0.01) ^ 2)) end
    if nonlinearity:find "^conv" then return 1 end
    return gains[nonlinearity] or error(("nn.init.calculate_gain: no gain is known for '%s'"):format(nonlinearity), 2)
end

-- Deviation by He et al. 2015; opt: a (slope), mode ("fan_in", "fan_out"), nonlinearity.
local function kaiming(t, opt, name)
    opt = opt or {}
    local into, out = fans(t, name)
    local mode = opt.mode or "fan_in"
    if mode ~= "fan_in" and mode ~= "fan_out" then
        error(("nn.init.%s: mode: expected 'fan_in' or 'fan_out', got '%s'"):format(name, mode), 3)
    end
    local fan = mode == "fan_in" and into or out
    return init.calculate_gain(opt.nonlinearity or "leaky_relu", opt.a or 0) / math.sqrt(math.max(1, fan))
end

function init.kaiming_uniform_(t, opt)
    local bound = math.sqrt(3) * kaiming(t, opt, "kaiming_uniform_")
    return init.uniform_(t, -bound, bound)
end
function init.kaiming_normal_(t, opt) return init.normal_(t, 0, kaiming(t, opt, "kaiming_normal_")) end

-- Deviation by Glorot and Bengio 2010.
local function xavier(t, gain, name)
    local into, out = fans(t, name)
    return (gain or 1) * math.sqrt(2 / (into + out))
end

function init.xavier_uniform_(t, gain)
    local bound = math.sqrt(3) * xavier(t, gain, "xavier_uniform_")
    return init.uniform_(t, -bound, bound)
end
function init.xavier_normal_(t, gain) return init.normal_(t, 0, xavier(t, gain, "xavier_normal_")) end

--- Rows (or columns, whichever are fewer) of length gain at right angles; dims from 2 on count as one. Saxe et al. 2013.
function init.orthogonal_(t, gain)
    local shape = t.shape
    fans(t, "orthogonal_")
    local rows, cols = shape[1], t:numel() // shape[1]
    local q, r = gpush.linalg.qr(gpush.randn({ math.max(rows, cols), math.min(rows, cols) }, { device = t.device }))
    q = q * r:diagonal():sign() -- so that it is distributed evenly
    if rows < cols then q = q:transpose(1, 2) end
    return quietly(t, t.copy_, (q * (gain or 1)):reshape(shape))
end

-- The normal distribution's probability below x.
local function below(x) return 0.5 + 0.5 * gpush.tensor(x / math.sqrt(2), { dtype = "f64" }):erf():item() end

--- Normal numbers within [low, high], by the inverse of their distribution.
function init.trunc_normal_(t, mean, std, low, high)
    mean, std, low, high = mean or 0, std or 1, low or -2, high or 2
    return quietly(t, function()
        t:uniform_(2 * below((low - mean) / std) - 1, 2 * below((high - mean) / std) - 1)
        t:erfinv_():mul_(std * math.sqrt(2)):add_(mean):clamp_(low, high)
    end)
end
