--!plain
-- Identity, Flatten, Unflatten and Upsample: layers that learn nothing and change at most the
-- shape.
local _, nn = ...

local Identity = nn.module "Identity" -- takes any arguments, to stand in for any layer
function Identity:forward(x) return x end
nn.Identity = Identity

local Flatten = nn.module { "Flatten", sig = "int start_dim=2, int end_dim=-1",
    help = "dims start_dim … end_dim joined into one" }
function Flatten:init(first, last) self.start_dim, self.end_dim = first, last end
function Flatten:forward(x) return x:flatten(self.start_dim, self.end_dim) end
nn.Flatten = Flatten

local Unflatten = nn.module { "Unflatten", sig = "int dim, ints unflattened_size",
    help = "a dim split into several" }
function Unflatten:init(dim, sizes) self.dim, self.unflattened_size = dim, sizes end
function Unflatten:forward(x) return x:unflatten(self.dim, self.unflattened_size) end
nn.Unflatten = Unflatten

local Upsample = nn.module { "Upsample", help = "images resampled to size, or by scale_factor",
    sig = "ints? size, float? scale_factor, str mode=\"nearest\", bool align_corners=false" }
function Upsample:init(size, scale_factor, mode, align_corners)
    self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode,
        align_corners
end
function Upsample:forward(x)
    return x:interpolate(self.size, self.scale_factor, self.mode, self.align_corners)
end
function Upsample:extra_repr() return self.mode end
nn.Upsample = Upsample
