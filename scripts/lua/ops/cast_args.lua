--!plain
-- Composites under autocast: what tensor/autocast.c does to the arguments of rows.
local require = ...
local gpush = require "gpush"
local is_tensor, state, off = gpush.is_tensor, gpush.get_autocast_dtype, { enabled = false }
local ELIGIBLE = { f32 = 2, f16 = 1, bf16 = 1 } -- f64 was asked for

-- f(x) of each tensor of the arguments, also of those in lists, in a new list.
local function each(args, n, f)
    local out = {}
    for i = 1, n do
        local x = args[i]
        if is_tensor(x) then x = f(x)
        elseif type(x) == "table" and is_tensor(x[1]) then x = each(x, #x, f) end
        out[i] = x
    end
    return out
end

-- The widest of the eligible dtypes: f32 also for the two of 16 bits.
local function widest(args, n)
    local widest_so_far
    each(args, n, function(x)
        local dtype = x.dtype
        if not ELIGIBLE[dtype] then return end
        local other = widest_so_far or dtype
        widest_so_far = other == dtype and dtype or "f32"
    end)
    return widest_so_far
end

-- fn with the arguments of the policy, where autocast holds.
return function(policy, fn)
    return function(...)
        local low = state()
        if not low then return fn(...) end
        local args, n = { ... }, select("#", ...)
        local dtype = policy == "low" and low or policy == "wide" and "f32" or widest(args, n)
        args = each(args, n, function(x)
            return ELIGIBLE[x.dtype] and dtype and x:to(dtype) or x
        end)
        return gpush.autocast(off, fn, table.unpack(args, 1, n))
    end
end
