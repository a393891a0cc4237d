--!plain
-- Dropout: while training, each element 0 with probability p and the others larger for it.
local gpush, nn = ...
local Dropout = nn.module { "Dropout", sig = "float p=0.5", help = "elements at random 0 while training" }

function Dropout:init(p)
    if not (p >= 0 and p <= 1) then nn.raise("nn.Dropout: p: expected 0 to 1, got %g", p) end
    self.p = p
end

function Dropout:forward(x)
    if not self.training or self.p == 0 then return x end
    return x:dropout(self.p)
end

function Dropout:extra_repr() return tostring(self.p) end
return Dropout
