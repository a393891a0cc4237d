--!plain
-- Writes einops's rearrange, reduce and repeat in Lua, for builtins: x.unflatten divides the dims
-- that the pattern's left side has in brackets, a reduction takes those that the right side lacks,
-- permute puts the others in its order, expand repeats new ones, and flatten joins its brackets.
local require = ...
local translate = require "shell.translate"
local emit, say = translate.expression, translate.say
local known = require "shell.known"

-- The dims of one side of a pattern, each a list of axes; "1" is a dim of one.
local function side(text, rank)
    local dims, named = {}, 0
    for _ in text:gsub("%b()", "g"):gmatch "[%w_]+" do named = named + 1 end
    text = text:gsub("%.%.%.", function()
        if not rank then say "the pattern's … stands for dims whose number is not known here" end
        local names = {}
        for i = 1, rank - named do names[i] = "_" .. i end
        return table.concat(names, " ")
    end)
    for part in text:gsub("%(([^()]*)%)", function(inner)
        return "(" .. inner:gsub("%s+", ",") .. ")"
    end):gmatch "%S+" do
        local dim = {}
        for axis in part:gmatch "[%w_]+" do
            local size = axis ~= "1" and axis:find "^%d" -- of an axis without a name
            dim[#dim + 1] = size and ("%d %d %s"):format(#dims, #dim, axis) or axis
        end
        dims[#dims + 1] = dim
    end
    return dims
end

local function place(list, axis)
    for i, a in ipairs(list) do if a == axis then return i end end
end

-- All axes but those of one, in their order.
local function axes_of(dims)
    local out = {}
    for _, dim in ipairs(dims) do
        for _, axis in ipairs(dim) do out[#out + 1] = axis ~= "1" and axis or nil end
    end
    return out
end

-- Divides the dims with several axes, and drops those of one; the axes that are left.
local function divided(dims, sizes)
    local out = {}
    for i = #dims, 1, -1 do
        local dim = dims[i]
        if #dim == 0 or dim[1] == "1" then out[#out + 1] = (":squeeze(%d)"):format(i) end
        if #dim > 1 then
            local list, unknown = {}, 0
            for k, axis in ipairs(dim) do
                list[k] = sizes[axis] or axis:match " (%d+)$" or "-1"
                unknown = unknown + (list[k] == "-1" and 1 or 0)
            end
            if unknown > 1 then say "the sizes of the pattern's axes are missing: h = 2" end
            out[#out + 1] = (":unflatten(%d, {%s})"):format(i, table.concat(list, ", "))
        end
    end
    return axes_of(dims), table.concat(out)
end

local reductions = { mean = "mean", sum = "sum", max = "amax", min = "amin", prod = "prod" }

-- The axes without those that the right side lacks, over which the operation reduces.
local function reduced(axes, right, operation)
    local left, dims = {}, {}
    for i, axis in ipairs(axes) do
        if place(right, axis) then left[#left + 1] = axis else dims[#dims + 1] = i end
    end
    if #dims == 0 then return left, "" end
    local name = reductions[operation or ""] or say "rearrange keeps every axis of the pattern"
    return left, (":%s{%s}"):format(name, table.concat(dims, ", "))
end

-- The axes in the order of the right side; those that only it has are repeated.
local function ordered(axes, right, sizes)
    local order, shape, new, changes = {}, {}, {}, false
    for i, axis in ipairs(right) do
        local at = place(axes, axis)
        if at then
            order[#order + 1], shape[i] = at, "-1"
            changes = changes or at ~= #order
        else
            new[#new + 1] = (":unsqueeze(%d)"):format(i)
            shape[i] = sizes[axis] or say(("the size of %s is missing"):format(axis))
        end
    end
    local text = changes and (":permute(%s)"):format(table.concat(order, ", ")) or ""
    if #new == 0 then return text end
    return ("%s%s:expand(%s)"):format(text, table.concat(new), table.concat(shape, ", "))
end

-- Joins the axes that stand in brackets, and puts in the dims of one.
local function joined(dims)
    local out = {}
    for i, dim in ipairs(dims) do
        if #dim == 0 or dim[1] == "1" then out[i] = (":unsqueeze(%d)"):format(i)
        elseif #dim > 1 then out[i] = (":flatten(%d, %d)"):format(i, i + #dim - 1)
        else out[i] = "" end
    end
    return table.concat(out)
end

local function by_pattern(args)
    local x, pattern = args[1], args[2]
    local left, right = (pattern and pattern[1] == "string" and pattern[2] or "")
        :match "^(.-)%->(.*)$"
    if not left then return nil end
    local sizes, operation = {}, nil
    for i = 3, #args do
        local a = args[i]
        if a[1] == "named" then sizes[a[2]] = emit(a[3])
        elseif a[1] == "string" then operation = a[2] end
    end
    local rank = known.rank(x)
    local from = side(left, rank)
    if right:find("...", 1, true) then -- the number of dims on the left
        local names = {}
        for _, axis in ipairs(axes_of(from)) do
            names[#names + 1] = axis:find "^_%d" and axis or nil
        end
        right = right:gsub("%.%.%.", table.concat(names, " "))
    end
    local to = side(right)
    local axes, divide = divided(from, sizes)
    local reduce, order
    axes, reduce = reduced(axes, axes_of(to), operation)
    order = ordered(axes, axes_of(to), sizes)
    return emit(x, 14) .. divide .. reduce .. order .. joined(to), 14
end

local functions = {}
for name in ("rearrange reduce repeat"):gmatch "%a+" do
    functions[name], functions["einops." .. name] = by_pattern, by_pattern
end
return functions
