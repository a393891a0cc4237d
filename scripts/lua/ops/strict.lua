--!plain
-- Composites whose own ops would take more than they say: the first tensor has a dtype of those in
-- def.strict, or any but bool where that is "numbers", and all tensors are on its device. Of types
-- such as `any` fn moves tensors there itself. def.promotes: fn gets all tensors in the float dtype
-- that they have in common, which of integers alone is f32.
local require = ...
local gpush, fail = require "gpush", require "fail"
local is_tensor = gpush.is_tensor

local NUMBERS <const> = "f64 f32 f16 bf16 i64 i32 i16 i8 u8"
local BITS <const> = { f64 = 64, f32 = 32, f16 = 16, bf16 = 16 }

local function promoted(...)
    local args, n, common = { ... }, select("#", ...), nil
    for i = 1, n do
        local bits = is_tensor(args[i]) and BITS[args[i].dtype]
        if bits and args[i].dtype ~= common then
            local most = common and BITS[common] or 0
            common = bits > most and args[i].dtype or bits == most and "f32" or common
        end
    end
    for i = 1, n do
        if is_tensor(args[i]) then args[i] = args[i]:to(common or "f32") end
    end
    return table.unpack(args, 1, n)
end

-- def.fn after these checks.
return function(def)
    local op, fn, list = def[1], def.fn, def.strict == "numbers" and NUMBERS or def.strict
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
        if def.promotes then return fn(promoted(...)) end
        return fn(...)
    end
end
