--!plain
-- nn.utils.rnn's packed sequences: sequences of different lengths without padding, the longest
-- first, step after step. A step has as many rows as sequences are still going, so that steps
-- between two lengths are a segment of one batch size: a view of the data, which layers over time
-- take in one call. RNN, LSTM and GRU run the segments in turn, the finished sequences' states set
-- aside, or in the other direction joined as their sequences begin. No step is computed in vain,
-- and results are those of each sequence alone.
local require = ...
local gpush, nn, composite = require "gpush", require "nn", require "composite"

local PackedSequence = { __name = "nn.utils.rnn.PackedSequence" }
PackedSequence.__index = PackedSequence
function PackedSequence:__tostring()
    return ("PackedSequence(%d sequences, %d steps, data %s %s)"):format(self.batch_sizes[1],
        #self.batch_sizes, self.data.dtype, nn.shape_text(self.data))
end

local function is_packed(x) return getmetatable(x) == PackedSequence end

-- Steps of one batch size after another: {at = their first row in the data, steps =, batch =}.
local function segments(batch_sizes)
    local list, at = {}, 1
    for _, batch in ipairs(batch_sizes) do
        local last = list[#list]
        if last and last.batch == batch then last.steps = last.steps + 1
        else list[#list + 1] = { at = at, steps = 1, batch = batch } end
        at = at + batch
    end
    return list
end

-- A segment of the data as steps x batch x ….
local function part(data, s)
    return data:narrow(1, s.at, s.steps * s.batch):unflatten(1, { s.steps, s.batch })
end

-- The numbers 1 … n in the order of falling lengths, equal ones as they come; and what undoes it.
local function order_of(lengths)
    local order, back = {}, {}
    for i = 1, #lengths do order[i] = i end
    table.sort(order, function(a, b)
        if lengths[a] == lengths[b] then return a < b end
        return lengths[a] > lengths[b]
    end)
    for i, k in ipairs(order) do back[k] = i end
    return order, back
end

local function check_lengths(op, lengths, steps, batch)
    if #lengths ~= batch then
        nn.raise("nn.utils.rnn.%s: %d lengths for %d sequences", op, #lengths, batch)
    end
    for i, n in ipairs(lengths) do
        if math.type(n) ~= "integer" or n < 1 or n > steps then
            nn.raise("nn.utils.rnn.%s: length %d is %s (expected an integer from 1 to %d)", op, i,
                tostring(n), steps)
        end
    end
end

-- x: steps x batch x …; lengths: a list, or a tensor, which is waited for.
local function pack(op, x, lengths, enforce_sorted)
    if gpush.is_tensor(lengths) then lengths = lengths:tolist() end
    if x:dim() < 2 then
        nn.raise("nn.utils.rnn.%s: input is %s (expected steps x sequences x …)", op,
            nn.shape_text(x))
    end
    check_lengths(op, lengths, x:size(1), x:size(2))
    local packed = { batch_sizes = {} }
    local order, back = order_of(lengths)
    for i = 2, enforce_sorted and #lengths or 0 do
        if lengths[i] > lengths[i - 1] then
            nn.raise("nn.utils.rnn.%s: length %d is %d, after %d (expected falling ones, or \z
                enforce_sorted = false)", op, i, lengths[i], lengths[i - 1])
        end
    end
    if not enforce_sorted then
        local o = { dtype = "i64", device = x.device }
        packed.sorted_indices, packed.unsorted_indices = gpush.tensor(order, o),
            gpush.tensor(back, o)
        x = x:index_select(2, packed.sorted_indices)
    end
    local batch = #lengths
    for step = 1, lengths[order[1]] do
        while lengths[order[batch]] < step do batch = batch - 1 end
        packed.batch_sizes[step] = batch
    end
    local rows, step = {}, 1
    for i, s in ipairs(segments(packed.batch_sizes)) do
        rows[i] = x:narrow(1, step, s.steps):narrow(2, 1, s.batch):flatten(1, 2)
        step = step + s.steps
    end
    packed.data = gpush.cat(rows, 1)
    return setmetatable(packed, PackedSequence)
end

local functions = {} -- of nn.utils.rnn
local function define(name, sig, help, fn)
    functions[name] = composite { name = "nn.utils.rnn." .. name, sig = sig, help = help, fn = fn }
end

define("pack_padded_sequence",
    "tensor input, any lengths, bool batch_first=false, bool enforce_sorted=true",
    "sequences padded to one length, of those lengths, as one that RNN, LSTM and GRU take",
    function(x, lengths, batch_first, enforce_sorted)
        if type(lengths) ~= "table" and not gpush.is_tensor(lengths) then
            nn.raise("nn.utils.rnn.pack_padded_sequence: argument 'lengths': expected a list or a \z
                tensor, got %s", type(lengths))
        end
        if batch_first and x:dim() > 1 then x = x:transpose(1, 2) end
        return pack("pack_padded_sequence", x, lengths, enforce_sorted)
    end)

define("pack_sequence", "tensors sequences, bool enforce_sorted=true",
    "a list of sequences, steps x …, as one that RNN, LSTM and GRU take",
    function(list, enforce_sorted)
        if #list == 0 then nn.raise "nn.utils.rnn.pack_sequence: no sequences" end
        local lengths = {}
        for i, x in ipairs(list) do lengths[i] = x:size(1) end
        return pack("pack_sequence", nn.utils.rnn.pad_sequence(list), lengths, enforce_sorted)
    end)

define("pad_packed_sequence",
    "any sequence, bool batch_first=false, number padding_value=0, int? total_length",
    "the tensor that was packed, steps x sequences x …, and the lengths",
    function(packed, batch_first, value, total_length)
        local op = "nn.utils.rnn.pad_packed_sequence"
        if not is_packed(packed) then
            nn.raise("%s: argument 'sequence': expected a PackedSequence, got %s", op,
                gpush.is_tensor(packed) and "tensor" or type(packed))
        end
        local sizes, data, parts, lengths = packed.batch_sizes, packed.data, {}, {}
        local batch, more = sizes[1], (total_length or #sizes) - #sizes
        if more < 0 then
            nn.raise("%s: option 'total_length' is %d (expected %d or more)", op, total_length,
                #sizes)
        end
        for i, s in ipairs(segments(sizes)) do
            parts[i] = part(data, s)
            local pads = {}
            for d = 1, 2 * parts[i]:dim() do pads[d] = 0 end
            pads[#pads - 2] = batch - s.batch -- of dim 2, at the end
            parts[i] = parts[i]:pad(pads, { value = value })
        end
        local x = gpush.cat(parts, 1)
        if more > 0 then
            local shape, o = x.shape, { dtype = x.dtype, device = x.device }
            shape[1] = more
            x = gpush.cat({ x, gpush.full(shape, value, o) }, 1)
        end
        for step, n in ipairs(sizes) do for i = 1, n do lengths[i] = step end end
        lengths = gpush.tensor(lengths, { dtype = "i64" })
        if packed.unsorted_indices then
            x = x:index_select(2, packed.unsorted_indices)
            lengths = lengths:index_select(1, packed.unsorted_indices:to "cpu")
        end
        return batch_first and x:transpose(1, 2) or x, lengths
    end)

-- ---- layers ----

local function each(list, fn)
    local out = {}
    for i, v in ipairs(list) do out[i] = fn(v, i) end
    return out
end

-- The states of a segment of `batch` sequences, where `had` were going before; of those that end
-- here the states go in front of ended's lists.
local function going(current, start, had, batch, ended)
    if not current then return each(start, function(h) return h:narrow(2, 1, batch) end) end
    return each(current, function(h, i)
        if batch > had then
            return gpush.cat({ h, start[i]:narrow(2, had + 1, batch - had) }, 2)
        elseif batch < had then
            table.insert(ended[i], 1, h:narrow(2, batch + 1, had - batch))
        end
        return h:narrow(2, 1, batch)
    end)
end

-- One layer in one direction: run(x, states) gives the output and the states after it. start: the
-- states before, 1 x sequences x hidden each.
local function along(data, list, run, start, reverse)
    local outputs, ended, current, had = {}, each(start, function() return {} end), nil, 0
    for n = 1, #list do
        local k = reverse and #list + 1 - n or n
        local s = list[k]
        local x = part(data, s)
        current = going(current, start, had, s.batch, ended)
        local result = { run(reverse and x:flip(1) or x, current) }
        outputs[k] = (reverse and result[1]:flip(1) or result[1]):flatten(1, 2)
        current, had = { table.unpack(result, 2) }, s.batch
    end
    return gpush.cat(outputs, 1), each(current, function(h, i)
        return gpush.cat({ h, table.unpack(ended[i]) }, 2)
    end)
end

-- The states that a layer begins with, in the packed order: {h} or {h, c}, zeros if not given.
local function states(self, packed, state, count)
    local batch, data = packed.batch_sizes[1], packed.data
    local rows = self.num_layers * (self.bidirectional and 2 or 1)
    if state == nil then
        local zeros = gpush.zeros({ rows, batch, self.hidden_size },
            { dtype = data.dtype, device = data.device })
        return count == 2 and { zeros, zeros } or { zeros }
    end
    local want = ("%dx%dx%d"):format(rows, batch, self.hidden_size)
    return each(count == 2 and state or { state }, function(h)
        if nn.shape_text(h) ~= want then
            nn.fail("a state is %s (expected %s)", nn.shape_text(h), want)
        end
        return packed.sorted_indices and h:index_select(2, packed.sorted_indices) or h
    end)
end

-- RNN, LSTM or GRU `self` on packed sequences: op(x, states, weights) runs one layer in one
-- direction; count: the states of a layer. Returns packed outputs and the states of all layers.
local function run_layers(self, op, packed, state, count)
    local list, data = segments(packed.batch_sizes), packed.data
    local start, per = states(self, packed, state, count), self.bias and 4 or 2
    local directions, finals = self.bidirectional and 2 or 1, {}
    for i = 1, count do finals[i] = {} end
    for layer = 1, self.num_layers do
        local outputs = {}
        for direction = 1, directions do
            local k, weights = (layer - 1) * directions + direction, {}
            for i = 1, per do weights[i] = self[self.weight_names[(k - 1) * per + i]] end
            local own = each(start, function(h) return h:narrow(1, k, 1) end)
            local after
            outputs[direction], after = along(data, list,
                function(x, now) return op(x, now, weights) end, own, direction == 2)
            for i = 1, count do finals[i][k] = after[i] end
        end
        data = directions == 2 and gpush.cat(outputs, 2) or outputs[1]
        if layer < self.num_layers then data = data:dropout(self.dropout, self.training) end
    end
    local out = setmetatable({ data = data, batch_sizes = packed.batch_sizes,
        sorted_indices = packed.sorted_indices, unsorted_indices = packed.unsorted_indices },
        PackedSequence)
    return out, table.unpack(each(finals, function(h)
        h = gpush.cat(h, 1)
        return packed.unsorted_indices and h:index_select(2, packed.unsorted_indices) or h
    end))
end

return { functions = functions, is_packed = is_packed, run_layers = run_layers }
