--!plain
-- data.TensorDataset(x, y, …): sample i is x[i], y[i], …, views of the tensors,
-- which must have equally many rows. Workers share their memory.
local require = ...
local gpush, data, composite = require "gpush", require "data", require "composite"

local function get(self, i, ...)
    if type(self) ~= "table" then
        error("get: expected the data set in front: call it with a colon, dataset:get(i)", 2)
    end
    if select("#", ...) > 0 then
        error(("data.TensorDataset: get: %d arguments given, at most 1 expected: get(index)")
            :format(1 + select("#", ...)), 2)
    end
    local list, out = self.tensors, {}
    for k = 1, #list do out[k] = list[k][i] end
    return table.unpack(out)
end

local function new(...)
    local tensors, n = { ... }, select("#", ...)
    for k = 1, n do
        local x = tensors[k]
        if not gpush.is_tensor(x) or x.ndim == 0 then
            data.raise("data.TensorDataset: argument #%d: expected a tensor with rows, got %s", k,
                gpush.is_tensor(x) and "a 0-d one" or type(x))
        end
        if #x ~= #tensors[1] then
            data.raise("data.TensorDataset: argument #%d has %d rows, #1 has %d", k, #x,
                #tensors[1])
        end
    end
    if n == 0 then data.raise "data.TensorDataset: expected tensors" end
    return data.Dataset { size = #tensors[1], get = get, tensors = tensors }
end

return composite { name = "data.TensorDataset", sig = "rest tensors", help = "", fn = new,
    plain = true }
