--!plain
-- 16-bit floats in composites: computed in f32 and rounded once, however many ops that takes.
local require = ...
local gpush = require "gpush"

local HALF, FLOATS = { f16 = true, bf16 = true },
    { f64 = true, f32 = true, f16 = true, bf16 = true }

-- The one 16-bit dtype of all float tensors in a list of arguments, else nil: their ops promote it.
local function half_of(args, n)
    local half
    for i = 1, n do
        local dtype = gpush.is_tensor(args[i]) and args[i].dtype
        if dtype and FLOATS[dtype] then
            if not HALF[dtype] or half and half ~= dtype then return nil end
            half = dtype
        end
    end
    return half
end

-- fn, computed in f32 where its tensors are of a 16-bit dtype; its result is of that dtype. direct,
-- where given, is tried first: it rounds once by itself, and gives nil for what it cannot do.
local function once(fn, direct)
    return function(...)
        local n = select("#", ...)
        local args = { ... }
        local half = half_of(args, n)
        if not half then return fn(...) end
        local result = direct and direct(...)
        if result then return result end
        for i = 1, n do
            if gpush.is_tensor(args[i]) and args[i].dtype == half then
                args[i] = args[i]:to "f32"
            end
        end
        return fn(table.unpack(args, 1, n)):to(half)
    end
end

return { HALF = HALF, FLOATS = FLOATS, once = once }
