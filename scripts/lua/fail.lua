--!plain
-- fail(format, …): an error of a function written in Lua, at the script's line and with the layer's
-- place in front, as an op's has it.
local require = ...
local raise, registry = require "raise", require "registry"

return function(text, ...)
    local place = registry["gpush.place"] -- see nn/init.lua
    place = place and place()
    if select("#", ...) > 0 then text = text:format(...) end
    raise(place and place .. ": " .. text or text)
end
