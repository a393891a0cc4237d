--!plain
-- GroupNorm: each group of channels of each image to mean 0 and variance 1, times weight plus bias.
local require = ...
local gpush, nn = require "gpush", require "nn"
local GroupNorm = nn.module { "GroupNorm",
    help = "each group of channels (dim 2) of each image to mean 0 and variance 1",
    sig = "int num_groups, int num_channels, float eps=1e-5, bool affine=true, dtype? dtype, \z
        device? device" }

function GroupNorm:init(groups, channels, eps, affine, dtype, device)
    if channels % groups ~= 0 then
        nn.raise("nn.GroupNorm: %d channels cannot be split into %d groups", channels, groups)
    end
    self.num_groups, self.num_channels, self.eps = groups, channels, eps
    if affine then
        self.weight = nn.parameter(gpush.ones(channels, dtype, device))
        self.bias = nn.parameter(gpush.zeros(channels, dtype, device))
    end
end

function GroupNorm:forward(x)
    if x:dim() < 2 or x:size(2) ~= self.num_channels then
        nn.fail("x is %s (expected %d channels, dim 2)", nn.shape_text(x), self.num_channels)
    end
    return x:group_norm(self.num_groups, self.weight, self.bias, self.eps)
end

function GroupNorm:extra_repr() return ("%d, %d"):format(self.num_groups, self.num_channels) end
return GroupNorm
