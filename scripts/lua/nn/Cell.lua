--!plain
-- RNNCell, LSTMCell and GRUCell: one step of a recurrent layer.
local require = ...
local gpush, nn = require "gpush", require "nn"

for name, gates in pairs { RNN = 1, LSTM = 4, GRU = 3 } do
    local run = gpush[name:lower() .. "_cell"]
    local class = nn.module { name .. "Cell", help = "as the op " .. name:lower() .. "_cell",
        sig = "int input_size, int hidden_size, bool bias=true" ..
            (name == "RNN" and ", str nonlinearity=\"tanh\"" or "")
            .. ", dtype? dtype, device? device" }

    function class:init(input_size, hidden_size, bias, ...)
        local rest = table.pack(...)
        if name == "RNN" then self.nonlinearity = table.remove(rest, 1) end
        local dtype, device = rest[1], rest[2]
        local rows, bound = gates * hidden_size, hidden_size > 0 and 1 / math.sqrt(hidden_size) or 0
        local function uniform(shape)
            return nn.parameter(gpush.empty(shape, dtype, device):uniform_(-bound, bound))
        end
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = uniform { rows, input_size }
        self.weight_hh = uniform { rows, hidden_size }
        if bias then self.bias_ih = uniform { rows } end
        if bias then self.bias_hh = uniform { rows } end
    end

    --- h (LSTM: and c) after x, batch x features; state: h before, or for LSTM {h, c}, zeros if not
    --- given.
    function class:forward(x, state)
        if x:dim() < 1 or x:size(-1) ~= self.input_size then
            nn.fail("x is %s (expected %d features, the last dim)", nn.shape_text(x),
                self.input_size)
        end
        return run(x, state,
            { w_ih = self.weight_ih, w_hh = self.weight_hh, b_ih = self.bias_ih,
                b_hh = self.bias_hh,
            nonlinearity = self.nonlinearity })
    end

    function class:extra_repr() return ("%d, %d"):format(self.input_size, self.hidden_size) end
    nn[name .. "Cell"] = class
end
