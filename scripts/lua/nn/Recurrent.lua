--!plain
-- RNN, LSTM and GRU: layers over time, on the ops rnn, lstm and gru. Parameters are named as
-- PyTorch's: weight_ih_l0 … counts layers from 0, and a second direction's end in _reverse.
local require = ...
local gpush, nn, packed = require "gpush", require "nn", require "nn.packed"

local common = "int input_size, int hidden_size, int num_layers=1%s, bool bias=true, bool \z
    batch_first=false, "
    .. "float dropout=0, bool bidirectional=false, dtype? dtype, device? device"

-- The properties of each kind of layer: its op, the number of a cell's gates.
local kinds = { RNN = { "rnn", 1 }, LSTM = { "lstm", 4 }, GRU = { "gru", 3 } }

-- The names of the weights in the op's order, with their shapes.
local function layout(self, gates)
    local names, shapes, directions = {}, {}, self.bidirectional and 2 or 1
    local rows, hidden = gates * self.hidden_size, self.hidden_size
    for layer = 0, self.num_layers - 1 do
        local inputs = layer == 0 and self.input_size or hidden * directions
        for direction = 1, directions do
            local tail = "_l" .. layer .. (direction == 2 and "_reverse" or "")
            for _, it in ipairs { { "weight_ih", { rows, inputs } },
                { "weight_hh", { rows, hidden } },
                { "bias_ih", { rows } }, { "bias_hh", { rows } } } do
                if self.bias or it[1]:find "^weight" then
                    names[#names + 1], shapes[#shapes + 1] = it[1] .. tail, it[2]
                end
            end
        end
    end
    return names, shapes
end

-- PyTorch's initialisation: everything uniform within 1 / sqrt(hidden_size).
local function start(self, gates, dtype, device)
    local names, shapes = layout(self, gates)
    local bound = self.hidden_size > 0 and 1 / math.sqrt(self.hidden_size) or 0
    for i, name in ipairs(names) do
        self[name] = nn.parameter(gpush.empty(shapes[i], dtype, device):uniform_(-bound, bound))
    end
    self.weight_names = names
end

for name, kind in pairs(kinds) do
    local run, gates = gpush[kind[1]], kind[2]
    local class = nn.module { name, help = "as the op " .. kind[1],
        sig = common:format(name == "RNN" and ", str nonlinearity=\"tanh\"" or "") }

    function class:init(input_size, hidden_size, num_layers, ...)
        local rest = table.pack(...)
        if name == "RNN" then self.nonlinearity = table.remove(rest, 1) end
        if num_layers < 1 or num_layers > 65536 then
            nn.raise("nn.%s: argument 'num_layers': expected 1 to 65536, got %d", nn.class_of(self),
                num_layers)
        end
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = rest[1], rest[2], rest[3],
            rest[4]
        start(self, gates, rest[5], rest[6])
    end

    --- output, h_n (LSTM: and c_n) of x, time x batch x features, or a PackedSequence; state: h, or
    --- for LSTM {h, c}, zeros if not given.
    function class:forward(x, state)
        local inputs = packed.is_packed(x) and x.data or x
        if inputs:dim() < 2 or inputs:size(-1) ~= self.input_size then
            nn.fail("x is %s (expected %d features, the last dim)", nn.shape_text(inputs),
                self.input_size)
        end
        if name == "LSTM" and gpush.is_tensor(state) then
            nn.fail("the state is a tensor (expected {h, c}: y, h, c = lstm(x, {h, c}))")
        end
        if packed.is_packed(x) then
            return packed.run_layers(self, function(y, states, weights)
                return run(y, name == "LSTM" and states or states[1], weights,
                    { has_biases = self.bias, nonlinearity = self.nonlinearity })
            end, x, state, name == "LSTM" and 2 or 1)
        end
        local weights = {}
        for i, key in ipairs(self.weight_names) do weights[i] = self[key] end
        return run(x, state, weights,
            { has_biases = self.bias, num_layers = self.num_layers, dropout = self.dropout,
            train = self.training, bidirectional = self.bidirectional,
            batch_first = self.batch_first,
            nonlinearity = self.nonlinearity })
    end

    function class:extra_repr()
        return ("%d, %d%s%s"):format(self.input_size, self.hidden_size,
            self.num_layers > 1 and ", " .. self.num_layers .. " layers" or "",
                self.bidirectional and ", bidirectional" or "")
    end
    nn[name] = class
end
