--!plain
-- The __constant__ and __device__ variables of a module. Each module has its own on each device, in
-- two blocks of bytes: of those that kernels only read, and of the others. On cpu and sim a launch
-- sets the compiled text's variables from there, and takes them back; the first one makes them. On
-- a card they are the module's there, but for those that the program asks for.
local require = ...
local gpush, fail, registry = require "gpush", require "fail", require "registry"
local simt = registry["gpush.simt"]

-- The module's blocks on the device of x, with the first values: {bits of the variables that are
-- there, of those that are written, of those only read}, and the tensors by number.
local function blocks(module, handle, x)
    local device = tostring(x.device)
    local known = module.values[device]
    if known then return known end
    known = { device:find "^cuda" and 0 or -1, simt.block(handle, false, x) or false,
        simt.block(handle, true, x) or false, tensors = {} }
    module.values[device] = known
    return known
end

local function find(module, name)
    local known = {}
    for i, v in ipairs(module.globals) do
        if v.name == name then return i, v end
        known[i] = v.name
    end
    fail("%s: the text has no __constant__ or __device__ variable '%s' (it has %s)", module.name,
        tostring(name), #known > 0 and table.concat(known, ", ") or "none")
end

-- The variable as a tensor on that device: what is written to it the next launches there read.
-- handle: of the text that is compiled for the processor.
local function global(module, handle, name, device)
    local i, v = find(module, name)
    local known = blocks(module, handle, gpush.zeros(0, { device = device }))
    if known.tensors[i] then return known.tensors[i] end
    local t = v.dtype and simt.variable(handle, i - 1, v.dtype, known[v.read and 3 or 2])
    if not t then fail("%s: '%s' is of a type that no tensor has", module.name, v.name) end
    local n = 1
    for _, dim in ipairs(v.dims) do n = n * dim end
    if #v.dims > 1 and n == t:numel() then t = t:reshape(table.unpack(v.dims)) end
    known.tensors[i], known[1] = t, known[1] | 1 << i - 1
    return t
end

-- For simt.launch on the device of x: the blocks; or x, where it was not given, as there are none.
local function values(module, x, given)
    local device = tostring(x.device)
    if #module.globals > 0 and not device:find "^cuda" then
        local _, built = next(module.built)
        return blocks(module, built.handle, x)
    end
    return module.values[device] or (not given and x or nil)
end

return { global = global, values = values }
