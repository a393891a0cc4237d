--!plain
-- Whether `device` is a card: not the cpu, sim, or the stand-in for CUDA, which keep to what
-- kernels of ours give.
local g = require "gpush"
return function(device)
    return device:find "^cuda" ~= nil and not g.cuda.get_device_name():find("stand-in", 1, true)
end
