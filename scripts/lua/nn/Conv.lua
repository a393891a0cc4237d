--!plain
-- Conv1d, Conv2d, Conv3d and ConvTranspose1d, 2d, 3d: the classes are made in a loop over the
-- number of dims.
local require = ...
local gpush, nn = require "gpush", require "nn"

-- One number, or a list of dims of them, as a list.
local function list_of(value, dims)
    if type(value) == "table" and #value == 1 then value = value[1] end
    if type(value) == "table" then return value end
    local list = {}
    for d = 1, dims do list[d] = value end
    return list
end

-- PyTorch's initialisation: both uniform within 1 / sqrt(inputs of an output).
local function start(self, shape, outputs, bias, dtype, device)
    local window = 1
    for d = 2, #shape do window = window * shape[d] end
    local bound = window > 0 and 1 / math.sqrt(window) or 0
    self.weight = nn.parameter(gpush.empty(shape, dtype, device):uniform_(-bound, bound))
    if bias then
        self.bias = nn.parameter(gpush.empty({ outputs }, dtype, device):uniform_(-bound, bound))
    end
end

local function keep(self, fields)
    for name, value in pairs(fields) do self[name] = value end
    if fields.groups < 1 or fields.in_channels % fields.groups ~= 0
        or fields.out_channels % fields.groups ~= 0 then
        nn.raise("nn.%s: %d to %d channels cannot be split into %d groups", nn.class_of(self),
            fields.in_channels,
            fields.out_channels, fields.groups)
    end
end

local function text(v) return type(v) == "table" and table.concat(v, "x") or tostring(v) end

-- The arguments that differ from the defaults.
local function extra(self)
    local parts = { tostring(self.in_channels), tostring(self.out_channels),
        "kernel " .. text(self.kernel_size) }
    for _, it in ipairs { { "stride", "1" }, { "padding", "0" }, { "output_padding", "0" },
        { "dilation", "1" }, { "groups", "1" } }
    do
        local value = self[it[1]] and text(self[it[1]])
        if value and value ~= it[2] then parts[#parts + 1] = it[1] .. " " .. value end
    end
    if self.padding_mode and self.padding_mode ~= "zeros" then
        parts[#parts + 1] = self.padding_mode
    end
    if not self.bias then parts[#parts + 1] = "bias = false" end
    return table.concat(parts, ", ")
end

-- pad's list for a padding (a list, or 'same') of the last dims: before and after, the last dim
-- first.
local function pad_list(self, dims)
    local pads = {}
    local dilation, own = list_of(self.dilation, dims), self.padding
    own = own == "valid" and 0 or own
    for d = dims, 1, -1 do
        local all = own == "same" and dilation[d] * (self.kernel_size[d] - 1)
        pads[#pads + 1] = all and all // 2 or list_of(own, dims)[d]
        pads[#pads + 1] = all and all - all // 2 or list_of(own, dims)[d]
    end
    return pads
end

local modes = { zeros = "constant", reflect = "reflect", replicate = "replicate",
    circular = "circular" }

local function check_mode(self, dims)
    if modes[self.padding_mode] then return end
    nn.raise("nn.Conv%dd: padding_mode: expected 'zeros', 'reflect', 'replicate' or 'circular', \z
        got '%s'", dims,
        self.padding_mode)
end

-- A class whose arguments, except the last ones, become fields of these names. weight(self): the
-- first two dims of the weight's shape; begin(self), if given, continues the initialisation.
local function define(name, dims, help, sig, weight, begin)
    sig = "int in_channels, int out_channels, ints kernel_size, ints stride=1, " .. sig ..
        ", dtype? dtype, device? device"
    local class, names = nn.module { name .. dims .. "d", help = help, sig = sig }, {}
    for n in sig:gmatch "%a+%?? ([%w_]+)" do names[#names + 1] = n end

    function class:init(...)
        local o = {}
        for i, n in ipairs(names) do o[n] = (select(i, ...)) end
        local bias, dtype, device = o.bias, o.dtype, o.device
        o.bias, o.dtype, o.device, o.kernel_size = nil, nil, nil, list_of(o.kernel_size, dims)
        keep(self, o)
        if begin then begin(self) end
        local rows, columns = weight(self)
        start(self, { rows, columns, table.unpack(o.kernel_size) }, o.out_channels, bias, dtype,
            device)
    end

    class.extra_repr = extra
    nn[name .. dims .. "d"] = class
    return class
end

for dims = 1, 3 do
    local conv, transposed = gpush["conv" .. dims .. "d"], gpush["conv_transpose" .. dims .. "d"]
    local Conv = define("Conv", dims, "convolution over the last " .. dims .. " dims",
        "padding padding=0, ints dilation=1, int groups=1, bool bias=true, str \z
            padding_mode=\"zeros\"",
        function(self) return self.out_channels, self.in_channels // self.groups end,
        function(self)
            check_mode(self, dims)
            if self.padding_mode ~= "zeros" then self.pads = pad_list(self, dims) end
        end)

    function Conv:forward(x)
        if self.pads then
            x = x:pad(self.pads, modes[self.padding_mode])
            return conv(x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)
        end
        return conv(x, self.weight, self.bias, self.stride, self.padding, self.dilation,
            self.groups)
    end

    local Transpose = define("ConvTranspose", dims, "what Conv" .. dims .. "d does to gradients",
        "ints padding=0, ints output_padding=0, int groups=1, bool bias=true, ints dilation=1",
        function(self) return self.in_channels, self.out_channels // self.groups end)

    function Transpose:forward(x)
        return transposed(x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            self.groups, self.dilation)
    end
end
