--!plain
-- Identity, Flatten, Unflatten, Upsample, pads, windows and their like: layers that learn nothing.
local require = ...
local gpush, nn = require "gpush", require "nn"

local Identity = nn.module "Identity" -- takes any arguments, to stand in for any layer
function Identity:forward(x) return x end
nn.Identity = Identity

local Flatten = nn.module { "Flatten", sig = "int start_dim=2, int end_dim=-1",
    help = "dims start_dim … end_dim merged into one" }
function Flatten:init(first, last) self.start_dim, self.end_dim = first, last end
function Flatten:forward(x) return x:flatten(self.start_dim, self.end_dim) end
nn.Flatten = Flatten

local Unflatten = nn.module { "Unflatten", sig = "int dim, ints unflattened_size",
    help = "a dim split into several" }
function Unflatten:init(dim, sizes) self.dim, self.unflattened_size = dim, sizes end
function Unflatten:forward(x) return x:unflatten(self.dim, self.unflattened_size) end
nn.Unflatten = Unflatten

local Upsample = nn.module { "Upsample", help = "images resampled to size, or by scale_factor",
    sig = "ints? size, numbers? scale_factor, str mode=\"nearest\", bool align_corners=false" }
function Upsample:init(size, scale_factor, mode, align_corners)
    self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode,
        align_corners
end
function Upsample:forward(x)
    return x:interpolate(self.size, self.scale_factor, self.mode, self.align_corners)
end
function Upsample:extra_repr() return self.mode end
nn.Upsample = Upsample

-- Upsample by the names that PyTorch has for two of its forms.
for name, row in pairs { UpsamplingNearest2d = { "nearest", false },
    UpsamplingBilinear2d = { "bilinear", true } } do
    local class = nn.module { name, help = "images resampled: Upsample with mode '" .. row[1] ..
        "'" .. (row[2] and " and align_corners" or ""), sig = "ints? size, numbers? scale_factor" }
    function class:init(size, scale_factor) self.size, self.scale_factor = size, scale_factor end
    function class:forward(x)
        return x:interpolate(self.size, self.scale_factor, row[1], row[2])
    end
    nn[name] = class
end

-- Layers that call an op: { class, op, signature, operands }; their parameters are fields.
for _, row in ipairs {
    { "PixelShuffle", "pixel_shuffle", "int upscale_factor" },
    { "PixelUnshuffle", "pixel_unshuffle", "int downscale_factor" },
    { "ChannelShuffle", "channel_shuffle", "int groups" },
    { "LocalResponseNorm", "local_response_norm",
        "int size, float alpha=0.0001, float beta=0.75, float k=1" },
    { "Fold", "fold", "ints output_size, ints kernel_size, ints dilation=1, ints padding=0, \z
        ints stride=1" },
    { "CosineSimilarity", "cosine_similarity", "dim dim=2, float eps=1e-8", 2 },
    { "PairwiseDistance", "pairwise_distance", "float p=2, float eps=1e-6, bool keepdim=false", 2 },
} do
    local name, op, sig, operands = row[1], row[2], row[3], row[4] or 1
    local class, names = nn.module { name, sig = sig, help = "as the op " .. op }, {}
    for parameter in sig:gmatch "%a+%?? ([%w_]+)" do names[#names + 1] = parameter end
    local run = gpush[op]
    function class:init(...)
        for i, parameter in ipairs(names) do self[parameter] = (select(i, ...)) end
    end
    local function forward(self, a, b)
        local options = {}
        for _, parameter in ipairs(names) do options[parameter] = self[parameter] end
        if operands == 2 then return run(a, b, options) end
        return run(a, options)
    end
    if operands == 2 then
        function class:forward(x1, x2) return forward(self, x1, x2) end
    else
        function class:forward(x) return forward(self, x) end
    end
    function class:extra_repr()
        local value = self[names[1]]
        return type(value) == "table" and table.concat(value, "x") or tostring(value)
    end
    nn[name] = class
end

-- ---- windows as columns ----

local function pair(name, value)
    if type(value) ~= "table" then value = { value } end
    if #value == 1 then return { value[1], value[1] } end
    if #value ~= 2 then nn.raise("nn.Unfold: %s: expected 1 number or 2, got %d", name, #value) end
    return value
end

local Unfold = nn.module { "Unfold", help = "each window of an image as a column (im2col)",
    sig = "ints kernel_size, ints dilation=1, ints padding=0, ints stride=1" }
function Unfold:init(kernel_size, dilation, padding, stride)
    self.kernel_size, self.dilation = pair("kernel_size", kernel_size), pair("dilation", dilation)
    self.padding, self.stride = pair("padding", padding), pair("stride", stride)
    for d = 1, 2 do
        if self.kernel_size[d] < 1 or self.dilation[d] < 1 or self.stride[d] < 1
            or self.padding[d] < 0 then
            nn.raise "nn.Unfold: kernel_size, dilation and stride count from 1, padding from 0"
        end
    end
end
function Unfold:forward(x)
    if x:dim() ~= 3 and x:dim() ~= 4 then
        nn.fail("x is %s (expected [images x] channels x height x width)", nn.shape_text(x))
    end
    local single, p, k = x:dim() == 3, self.padding, self.kernel_size
    if single then x = x:unsqueeze(1) end
    x = x:pad { p[2], p[2], p[1], p[1] }
    for d = 1, 2 do
        local span = (k[d] - 1) * self.dilation[d] + 1
        if span > x:size(d + 2) then
            nn.fail("a window of %d does not fit into %d", span, x:size(d + 2))
        end
        x = x:unfold(d + 2, span, self.stride[d]):slice(-1, 1, -1, self.dilation[d])
    end
    local y = x:permute(1, 2, 5, 6, 3, 4):reshape(x:size(1), x:size(2) * k[1] * k[2],
        x:size(3) * x:size(4))
    return single and y:squeeze(1) or y
end
function Unfold:extra_repr() return table.concat(self.kernel_size, "x") end
nn.Unfold = Unfold

-- ---- padding ----

-- The list that pad takes, for 1 to 3 dims, from one number or that list.
local function pads_of(name, dims, padding)
    if type(padding) ~= "table" then padding = { padding } end
    if #padding ~= 1 and #padding ~= 2 * dims then
        nn.raise("nn.%s: padding: expected 1 number or %d, got %d", name, 2 * dims, #padding)
    end
    local list = {}
    for i = 1, 2 * dims do list[i] = padding[#padding == 1 and 1 or i] end
    return list
end

for kind, mode in pairs { Zero = "constant", Constant = "constant", Reflection = "reflect",
    Replication = "replicate", Circular = "circular" } do
    for dims = 1, 3 do
        local name = ("%sPad%dd"):format(kind, dims)
        local class = nn.module { name, help = "as the op pad with mode '" .. mode .. "'",
            sig = "ints padding" .. (kind == "Constant" and ", number value" or "") }
        function class:init(padding, value)
            self.padding, self.value = pads_of(name, dims, padding), value
        end
        function class:forward(x) return x:pad(self.padding, mode, self.value) end
        function class:extra_repr() return table.concat(self.padding, ", ") end
        nn[name] = class
    end
end
