--!plain
-- Activations: a table of names, their formulas and parameters; each becomes a class.
local require = ...
local gpush, nn = require "gpush", require "nn"

local inplace = "bool inplace=false"

-- name -> the op; the constructor's parameters. If inplace is the last, the op may overwrite its
-- input.
local activations = {
    ReLU = { "relu", inplace }, ReLU6 = { "relu6", inplace }, SELU = { "selu", inplace },
    SiLU = { "silu", inplace },
    Mish = { "mish", inplace }, Hardsigmoid = { "hardsigmoid", inplace },
    Hardswish = { "hardswish", inplace },
    LeakyReLU = { "leaky_relu", "float negative_slope=0.01, " .. inplace },
    ELU = { "elu", "float alpha=1, " .. inplace }, CELU = { "celu", "float alpha=1, " .. inplace },
    Hardtanh = { "hardtanh", "number min_val=-1, number max_val=1, " .. inplace },
    Threshold = { "threshold", "number threshold, number value, " .. inplace },
    Tanh = { "tanh", "" }, Sigmoid = { "sigmoid", "" }, Softsign = { "softsign", "" },
    LogSigmoid = { "logsigmoid", "" },
    GELU = { "gelu", "str approximate=\"none\"" },
    Softplus = { "softplus", "float beta=1, float threshold=20" },
    Tanhshrink = { "tanhshrink", "" },
    Hardshrink = { "hardshrink", "float lambd=0.5" },
    Softshrink = { "softshrink", "float lambd=0.5" },
    GLU = { "glu", "int dim=-1" },
    Softmax = { "softmax", "int dim" }, LogSoftmax = { "log_softmax", "int dim" },
    Softmin = { "softmin", "int dim" },
}

for name, row in pairs(activations) do
    local op, sig = row[1], row[2]
    local run = gpush[op]
    local write = sig:find "inplace" and gpush.ones(1)[op .. "_"]
    local class = nn.module { name, sig = sig, help = "as the op " .. op }

    function class:init(...)
        local n, a = select("#", ...), { ... }
        if write then n = n - 1 end
        self.run = write and a[n + 1] and write or run
        self.n, self.p, self.q = n, a[1], n == 2 and a[2] or nil
    end

    function class:forward(x)
        local n = self.n
        if n == 0 then return self.run(x) end
        if n == 1 then return self.run(x, self.p) end
        return self.run(x, self.p, self.q)
    end

    function class:extra_repr()
        return self.n == 0 and "" or self.n == 1 and tostring(self.p)
            or ("%s, %s"):format(self.p, self.q)
    end
    nn[name] = class
end

-- x, or below 0 weight * x: weight is learnt, one for all or one per channel (dim 2).
local PReLU = nn.module { "PReLU",
    sig = "int num_parameters=1, float init=0.25, dtype? dtype, device? device",
    help = "leaky_relu with a learned slope" }
function PReLU:init(count, value, dtype, device)
    self.weight = nn.parameter(gpush.full({ count }, value, dtype, device))
end
function PReLU:forward(x) return gpush.prelu(x, self.weight) end
nn.PReLU = PReLU

local Softmax2d = nn.module { "Softmax2d", sig = "", help = "softmax over the channels of images" }
function Softmax2d:forward(x)
    if x:dim() ~= 3 and x:dim() ~= 4 then
        nn.fail("x is %s (expected [images x] channels x height x width)", nn.shape_text(x))
    end
    return x:softmax(-3)
end
nn.Softmax2d = Softmax2d
