--!plain
-- Raises the error of an assignment to one of gpush's functions, as in sync.error = true, with what
-- sets that where something does: assigned(area, name, value).
local require = ...
local raise = require "raise"

local modes = { error = "error", warning = "warn", off = "off" }
local instead = { ["sim.cards"] = "sim.card = \"h200\" sets the card",
    ["nan.watch"] = "nan.watch(function() … end) watches a call",
    ["autograd.detect_anomaly"] = "autograd.detect_anomaly(function() … end) watches a call" }
for name, mode in pairs(modes) do
    instead["sync." .. name] =
        ("write sync.mode = \"%s\", or sync.%s(function() … end) for a part"):format(mode, name)
end

return function(area, name, value)
    local path = area .. "." .. name
    local shown = type(value) == "string" and '"' .. value .. '"' or tostring(value)
    local call = area == "cuda" and ("write %s(%s)"):format(path, shown)
        or ("call it, %s(…)"):format(path)
    raise("%s is a function, so nothing was set: %s", path, instead[path] or call)
end
