-- Functions that take a device, of cuda and others, given devices that are not there, and values
-- that name none: the error names the function and what was given. Runs where there is no card;
-- tests/cuda/device.lua has those of one.
local t = require "tap"

local x, layer = ones(2), nn.Linear(2, 2)
local FUNCTIONS <const> = {
    ["timeit"] = function(d) return timeit("return 1", { device = d, n = 1 }) end,
    ["compare"] = function(d) return compare({ "return 1" }, { device = d, n = 1 }) end,
    ["ones"] = function(d) return ones(2, { device = d }) end,
    ["tensor"] = function(d) return tensor({ 1 }, { device = d }) end,
    ["to"] = function(d) return x:to(d) end,
    ["to "] = function(d) return layer:to(d) end, -- which calls the tensors' own
    ["sync.explain"] = function(d)
        return sync.explain("item", d, { print = false, run = false })
    end,
    ["sync.selftest"] = sync.selftest, ["autocast"] = function(d) return autocast(d, print) end,
}
for name, fn in pairs { synchronize = synchronize, empty_cache = empty_cache, memory = memory,
    current_stream = current_stream, stream = stream, reset_peak = reset_peak } do
    FUNCTIONS[name] = fn
end
for _, name in ipairs { "get_device_name", "get_device_capability", "synchronize", "empty_cache",
    "current_stream", "stream", "memory_stats", "memory_allocated", "max_memory_allocated",
    "memory_reserved", "reset_peak_memory_stats", "memory_summary" } do
    FUNCTIONS["cuda." .. name] = cuda[name]
end
for name, fn in next, cuda do
    local other = name == "devices" or name == "device_count" or name == "is_available"
        or name == "kernel" or name == "module"
    t.ok(type(fn) ~= "function" or other or FUNCTIONS["cuda." .. name], "cuda." .. name ..
        " is called here")
end

for name, fn in pairs(FUNCTIONS) do
    for _, device in ipairs { "cuda:x", "nothing", "sim:9", "", 3, 2.5, true } do
        local ok, message = pcall(fn, device)
        message = tostring(message)
        local plain = name:gsub("^cuda%.(%l)", "%1"):gsub(" $", "")
        t.ok(not ok and message:find(plain, 1, true) and not message:find "attempt to"
            and (message:find(tostring(device), 1, true) or message:find("got " .. type(device))),
            ("%s(%s): %s"):format(name, tostring(device), message))
    end
end
if not cuda.is_available() then
    for _, name in ipairs { "get_device_name", "get_device_capability" } do
        for _, device in ipairs { "gpu", "gpu:0", "cuda", "cuda:7", "cpu", "sim" } do
            t.error(function() return cuda[name](device) end,
                ("^[^\n]*: cuda%%.%s: '%s' is no CUDA device"):format(name, device),
                name .. " of " .. device)
        end
        t.error(cuda[name], "cuda%." .. name .. ": 'cuda' is no CUDA device: ", name .. " of none")
    end
    t.error(cuda.memory_allocated, "cuda%.memory_allocated: no CUDA device here", "its own name")
end
t.done()
