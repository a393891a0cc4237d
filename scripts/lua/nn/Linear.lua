--!plain
-- Linear: y = x W' + b over the last dim of x. Bilinear: y[k] = x1 W[k] x2' + b[k].
local require = ...
local gpush, nn = require "gpush", require "nn"
local linear = gpush.linear

local Linear = nn.module { "Linear",
    sig = "int in_features, int out_features, bool bias=true, dtype? dtype, device? device",
    help = "x times the transposed weight (out_features x in_features), plus bias" }

function Linear:init(in_features, out_features, bias, dtype, device)
    local bound = in_features > 0 and 1 / math.sqrt(in_features) or 0
    self.in_features, self.out_features = in_features, out_features
    self.weight = nn.parameter(gpush.empty({ out_features, in_features }, dtype, device):uniform_(
        -bound, bound))
    if bias then
        self.bias = nn.parameter(gpush.empty({ out_features }, dtype, device):uniform_(
            -bound, bound))
    end
end

function Linear:forward(x)
    return linear(x, self.weight, self.bias)
end

function Linear:extra_repr()
    return ("%d, %d%s"):format(self.in_features, self.out_features,
        self.bias and "" or ", bias = false")
end
nn.Linear = Linear

local Bilinear = nn.module { "Bilinear",
    sig = "int in1_features, int in2_features, int out_features, bool bias=true, dtype? dtype, \z
        device? device",
    help = "x1 times each matrix of weight (out_features x in1_features x in2_features) times x2, \z
        plus bias" }

function Bilinear:init(in1, in2, out, bias, dtype, device)
    local bound = in1 > 0 and 1 / math.sqrt(in1) or 0
    local function uniform(shape)
        return nn.parameter(gpush.empty(shape, dtype, device):uniform_(-bound, bound))
    end
    self.in1_features, self.in2_features, self.out_features = in1, in2, out
    self.weight = uniform { out, in1, in2 }
    if bias then self.bias = uniform { out } end
end

function Bilinear:forward(x1, x2)
    return gpush.bilinear(x1, x2, self.weight, self.bias)
end

function Bilinear:extra_repr()
    return ("%d, %d, %d%s"):format(self.in1_features, self.in2_features, self.out_features,
        self.bias and "" or ", bias = false")
end
nn.Bilinear = Bilinear
