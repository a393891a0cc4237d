--!plain
-- Dropout: while training, zeroes each element (Dropout1d to 3d: each channel) with probability p
-- and scales the others up.
local require = ...
local gpush, nn = require "gpush", require "nn"

-- dims: those of x in a batch, whose first two, samples and channels, are dropped as a whole; nil:
-- each element on its own.
local function family(name, dims, help)
    local class = nn.module { name, sig = "float p=0.5", help = help }

    function class:init(p)
        if not (p >= 0 and p <= 1) then
            nn.raise("nn." .. name .. ": p: expected 0 to 1, got %g", p)
        end
        self.p = p
    end

    function class:forward(x)
        if dims and x:dim() ~= dims and x:dim() ~= dims - 1 then
            nn.fail("x has %d dims (expected %d, or %d without samples)", x:dim(), dims, dims - 1)
        end
        if not self.training or self.p == 0 then return x end
        if not dims then return x:dropout(self.p) end
        local shape = x.shape
        for d = #shape - dims + 3, #shape do shape[d] = 1 end
        return x * gpush.ones(shape, { dtype = x.dtype, device = x.device }):dropout(self.p)
    end

    function class:extra_repr() return tostring(self.p) end
    nn[name] = class
end

-- Those that keep mean and variance behind SELU: op(x, p, training).
for name, op in pairs { AlphaDropout = "alpha_dropout",
    FeatureAlphaDropout = "feature_alpha_dropout" } do
    family(name, nil, "as the op " .. op .. ", while training")
    local run = gpush[op]
    nn[name].forward = function(self, x) return run(x, self.p, self.training) end
end

family("Dropout", nil, "elements at random 0 while training")
for d = 1, 3 do family("Dropout" .. d .. "d", d + 2, "channels at random 0 while training") end
