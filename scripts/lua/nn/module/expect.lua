--!plain
-- expect(value, place): raises unless the value is a module. Of a class, whose brackets were
-- forgotten, it says what to write. place: "nn.Sequential: entry 2".
local require = ...
local nn = require "nn"

return function(value, place)
    if nn.is_module(value) then return end
    local class = type(value) == "table" and rawget(value, "__module") and rawget(value, "__name")
    local name = class and (rawequal(rawget(nn, class), value) and "nn." or "") .. class
    nn.raise("%s: expected a module, got %s", place,
        name and ("the class %s (write %s())"):format(name, name) or type(value))
end
