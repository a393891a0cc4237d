--!plain
-- RMSNorm: the elements of the last dims divided by the root of their mean square, times weight.
local require = ...
local gpush, nn = require "gpush", require "nn"
local RMSNorm = nn.module { "RMSNorm",
    help = "the elements of the last dims over the root of their mean square",
    sig = "ints normalized_shape, float? eps, bool elementwise_affine=true, dtype? dtype, device? \z
        device" }

function RMSNorm:init(shape, eps, affine, dtype, device)
    self.normalized_shape, self.eps = shape, eps
    if affine then self.weight = nn.parameter(gpush.ones(shape, dtype, device)) end
end

function RMSNorm:forward(x)
    return x:rms_norm(self.normalized_shape, self.weight, self.eps)
end

function RMSNorm:extra_repr() return table.concat(self.normalized_shape, "x") end
return RMSNorm
