--!plain
-- LayerNorm: the elements of the last dims to mean 0 and variance 1, times weight plus bias.
local require = ...
local gpush, nn = require "gpush", require "nn"
local LayerNorm = nn.module { "LayerNorm",
    help = "the elements of the last dims to mean 0 and variance 1",
    sig = "ints normalized_shape, float eps=1e-5, bool elementwise_affine=true, bool bias=true, \z
        dtype? dtype, device? device" }

function LayerNorm:init(shape, eps, affine, bias, dtype, device)
    self.normalized_shape, self.eps = shape, eps
    if affine then self.weight = nn.parameter(gpush.ones(shape, dtype, device)) end
    if affine and bias then self.bias = nn.parameter(gpush.zeros(shape, dtype, device)) end
end

function LayerNorm:forward(x)
    return x:layer_norm(self.normalized_shape, self.weight, self.bias, self.eps)
end

function LayerNorm:extra_repr() return table.concat(self.normalized_shape, "x") end
return LayerNorm
