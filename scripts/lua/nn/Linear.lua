--!plain
-- Linear: y = x W' + b over the last dim of x.
local gpush, nn = ...
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
return Linear
