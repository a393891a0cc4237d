--!plain
-- sync.async and sync.finish: values of a device that a function gets once they have come to the
-- host, without a wait for them.
local require = ...
local gpush, fail, registry = require "gpush", require "fail", require "registry"

local first, last = 1, 0 -- of the queue
local queue = {}

-- Calls the functions of what has come, in the order in which they were given; with `all`, waits
-- for the rest. One that raises is dropped, and the others stay.
local function deliver(all)
    while first <= last and (all or queue[first].event:done()) do
        local it = queue[first]
        if all then it.event:synchronize() end
        queue[first] = nil
        first = first + 1
        it.fn(it.value, table.unpack(it.args, 1, it.args.n))
    end
end

-- At the end of a program that is not gpush's shell. Objects are finalized in the reverse order of
-- their creation, so that what an entry holds is still there for its own finalizer.
local at_end = {
    __gc = function(entry)
        if not entry.event or first > last or queue[last] ~= entry then return end
        local ok, message = pcall(deliver, true)
        if not ok then io.stderr:write("sync.async: ", tostring(message), "\n") end
    end,
}

registry["gpush.at_end"] = function() deliver(true) end

local function async(x, fn, ...)
    if not gpush.is_tensor(x) then
        fail("sync.async: argument #1: expected a tensor, got %s", type(x))
    end
    if x.device == "cpu" then return fn(x, ...) end
    local value = gpush.no_grad(function() return x:detach():to("cpu", nil, true) end)
    local event = gpush.current_stream(x.device):record()
    last = last + 1
    queue[last] = setmetatable(
        { value = value, event = event, fn = fn, args = table.pack(...) }, at_end)
    deliver(false)
end

return { async = async, finish = function() deliver(true) end }
