--!plain
-- MaxPool, MaxUnpool, AvgPool, AdaptiveAvgPool and AdaptiveMaxPool of 1 to 3 dims, over the ops of
-- these names.
local require = ...
local gpush, nn = require "gpush", require "nn"

local function text(v) return type(v) == "table" and table.concat(v, "x") or tostring(v) end

-- A class whose forward is op(x, the constructor's arguments).
local function pool(name, op, sig)
    local Pool = nn.module { name, sig = sig, help = "as the op " .. op }
    local run = gpush[op]
    function Pool:init(...) self.arguments = table.pack(...) end
    function Pool:forward(x)
        local a = self.arguments
        return run(x, table.unpack(a, 1, a.n))
    end
    function Pool:extra_repr() return text(self.arguments[1]) end
    nn[name] = Pool
end

-- A class whose forward is op(x, indices, the constructor's arguments, output_size).
local function unpool(name, op)
    local Unpool = nn.module { name, help = "as the op " .. op,
        sig = "ints kernel_size, ints? stride, ints padding=0" }
    local run = gpush[op]
    function Unpool:init(kernel_size, stride, padding)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
    end
    function Unpool:forward(x, indices, ...)
        return run(x, indices, self.kernel_size, self.stride, self.padding, ...)
    end
    function Unpool:extra_repr() return text(self.kernel_size) end
    nn[name] = Unpool
end

for d = 1, 3 do
    pool("MaxPool" .. d .. "d", "max_pool" .. d .. "d",
        "ints kernel_size, ints? stride, ints padding=0, ints dilation=1, "
        .. "bool ceil_mode=false, bool return_indices=false")
    unpool("MaxUnpool" .. d .. "d", "max_unpool" .. d .. "d")
    pool("AvgPool" .. d .. "d", "avg_pool" .. d .. "d",
        "ints kernel_size, ints? stride, ints padding=0, "
        .. "bool ceil_mode=false, bool count_include_pad=true" ..
            (d > 1 and ", int? divisor_override" or ""))
    pool("AdaptiveAvgPool" .. d .. "d", "adaptive_avg_pool" .. d .. "d", "ints output_size")
    pool("AdaptiveMaxPool" .. d .. "d", "adaptive_max_pool" .. d .. "d",
        "ints output_size, bool return_indices=false")
end
