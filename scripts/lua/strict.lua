--!plain
-- Composites whose own ops would take more than they say: the first tensor has a float dtype, of
-- those in def.strict, and all tensors are on its device. Of types such as `any` fn moves tensors
-- there itself.
local gpush = ...
local is_tensor = gpush.is_tensor

-- def.fn after these checks; fail as in init.lua.
return function(def, fail)
    local op, fn, list = def[1], def.fn, def.strict
    local names, moved = {}, {}
    for type, name in def.sig:gmatch "(%a+)[!?]* ([%w_]+)" do
        names[#names + 1], moved[#names + 1] = name, type == "any"
    end
    return function(...)
        local first = ...
        if not (" " .. list .. " "):find(" " .. first.dtype .. " ", 1, true) then
            fail("%s: dtype %s of argument '%s' is not supported (expected %s)", op, first.dtype,
                names[1], list)
        end
        for i = 2, select("#", ...) do
            local x = select(i, ...)
            if is_tensor(x) and not moved[i] and x.device ~= first.device and x.ndim > 0 then
                fail("%s: argument '%s' is on %s, %s on %s (expected the same)", op, names[i],
                    x.device, names[1], first.device)
            end
        end
        return fn(...)
    end
end
