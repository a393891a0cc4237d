--!plain
-- data.TensorDataset(x, y, …): sample i is x[i], y[i], …, views of the tensors, which must have
-- equally many rows. Workers share their memory.
local gpush, data = ...

local function get(self, i)
    if type(self) ~= "table" then
        error("get: expected the data set in front: call it with a colon, dataset:get(i)", 2)
    end
    local list, out = self.tensors, {}
    for k = 1, #list do out[k] = list[k][i] end
    return table.unpack(out)
end

return function(...)
    local tensors = { ... }
    for k, x in ipairs(tensors) do
        if not gpush.is_tensor(x) or x.ndim == 0 then
            error(("data.TensorDataset: argument #%d: expected a tensor with rows, got %s"):format(
                k,
                gpush.is_tensor(x) and "a 0-d one" or type(x)), 2)
        end
        if #x ~= #tensors[1] then
            error(("data.TensorDataset: argument #%d has %d rows, #1 has %d"):format(
                k, #x, #tensors[1]), 2)
        end
    end
    if #tensors == 0 then error("data.TensorDataset: expected tensors", 2) end
    return data.Dataset { size = #tensors[1], get = get, tensors = tensors }
end
