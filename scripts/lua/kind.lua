--!plain
-- What kind of numbers a profile's times are, in the words that every list and file of it shows:
-- predicted by a replay, modelled from a card's figures, CPU-backed (sim without a card, whose
-- times are not a GPU's) or measured. What was replayed on a card is predicted and modelled.
local usage = debug.getregistry()["gpush.usage"]

local function cpu_backed(prof)
    if prof.foreign then return false end
    for _, device in ipairs(usage.devices(prof)) do
        if device.device:find "^sim" then return true end
    end
    return false
end

--- "measured", "modelled H200, host as measured", "predicted (without waits), CPU-backed", …
return function(prof)
    local backing = prof.modelled or cpu_backed(prof) and "CPU-backed, not a GPU's"
    if not prof.predicted then return backing or "measured" end
    return ("predicted by a replay, not measured (%s%s)%s"):format(prof.predicted,
        prof.accuracy and "; " .. prof.accuracy or "", backing and ", " .. backing or "")
end
