--!plain
-- reduction: `map` of each element, combined in pairs by `reduce` (of a and b), and `post` at the
-- end. Sums, products, least and greatest, any and all are gpush's own reductions; any other
-- formula combines neighbours, in order, until one is left, and `identity` fills up odd numbers.
-- `reduce` has to be associative; the order of pairs is not that of other tools.
local require = ...
local gpush, fail = require "gpush", require "fail"
local parse, types = require "kernel.parse", require "kernel.types"
local evaluate = require "kernel.evaluate"
local parts = require "kernel".parts
local is_tensor = gpush.is_tensor

local IN <const>, OUT <const> = "gp_in_size", "gp_out_size"

-- ---- what reduces ----

local OWN <const> = {
    ["+"] = { "sum", 0 }, ["*"] = { "prod", 1 }, min = { "amin" }, max = { "amax" },
    fmin = { "amin" }, fmax = { "amax" }, ["&&"] = { "all", 1 }, ["||"] = { "any", 0 },
}

local function is_name(node, name) return node and node[1] == "name" and node[2] == name end

-- gpush's reduction for the formula, and its neutral element; nil: it is another.
local function own_reduction(node)
    local args = node[1] == "binary" and { node[3], node[4] } or node[1] == "call" and node[3]
    local row = args and #args == 2 and OWN[node[2]]
    if not row then return nil end
    local straight = is_name(args[1], "a") and is_name(args[2], "b")
    local turned = is_name(args[1], "b") and is_name(args[2], "a")
    if straight or turned then return row[1], row[2] end
end

local LEAST_OF_NONE <const> = { amin = math.huge, amax = -math.huge }

-- C's min and max give a number where the other is NaN, gpush's amin and amax NaN: so NaN counts
-- as the least of all, or the greatest, unless there is nothing else.
local function extreme(name, x, options)
    if not x.dtype:find "f" then return gpush[name](x, options) end
    local missing = x:isnan()
    local found = gpush[name](gpush.where(missing, LEAST_OF_NONE[name], x), options)
    return gpush.where(missing:all(options), 0 / 0, found)
end

-- Neighbours along dim 1 combined until one is left.
local function combine(kernel, x, letters)
    while x:size(1) > 1 do
        local n = x:size(1)
        if n % 2 == 1 then
            local last = kernel.identity
            if last == nil then
                fail("%s: %d elements are left over; give an identity, which changes nothing",
                    kernel.name, n)
            end
            local shape = x.shape
            shape[1] = 1
            x = gpush.cat({ x, gpush.full(shape, last, { dtype = x.dtype, device = x.device }) }, 1)
            n = n + 1
        end
        local pairs_of = x:unflatten(1, { n // 2, 2 })
        local env = { values = { a = pairs_of:select(2, 1), b = pairs_of:select(2, 2) }, raw = {},
            letters = letters }
        evaluate.run(kernel.reduce, env)
        x = evaluate.cast(env.values[""], x.dtype)
    end
    return x:select(1, 1)
end

-- ---- a call ----

local function dims_of(kernel, options, ndim)
    local dims, seen, list = options.dim, {}, {}
    if dims == nil then
        for k = 1, ndim do list[k] = k end
        return list
    end
    if math.type(dims) == "integer" then dims = { dims } end
    if type(dims) ~= "table" or #dims == 0 then
        fail("%s: option 'dim': expected a dim or a list of them, got %s", kernel.name,
            tostring(options.dim))
    end
    for k, d in ipairs(dims) do
        local at = math.type(d) == "integer" and (d < 0 and d + ndim + 1 or d)
        if not at or at < 1 or at > ndim or seen[at] then
            fail("%s: option 'dim': %s is none of %d dims, or is there twice (they count from 1)",
                kernel.name, tostring(d), ndim)
        end
        seen[at], list[k] = true, at
    end
    table.sort(list)
    return list
end

local function mapped(kernel, letters, args)
    local env = parts.environment(kernel, args, letters)
    evaluate.run(kernel.map, env)
    local x = env.values[""]
    if not is_tensor(x) then
        fail("%s: map: expected a formula of the arguments, got %s", kernel.name, tostring(x))
    end
    if x.dtype == "bool" and kernel.own ~= "any" and kernel.own ~= "all" then x = x:to "i32" end
    return x
end

-- By gpush's reduction, in the options' dims.
local function by_own(kernel, options, ...)
    local args = { ... }
    local letters = parts.letters_of(kernel, args)
    local x = mapped(kernel, letters, args)
    local how = { dim = options.dim, keepdim = options.keepdim }
    if LEAST_OF_NONE[kernel.own] then return extreme(kernel.own, x, how) end
    return gpush[kernel.own](x, how)
end

-- By pairs: the dims that go are laid out as one, the first.
local function by_pairs(kernel, x, dims, keepdim, letters)
    local gone, order, left, count = {}, {}, {}, 1
    for _, d in ipairs(dims) do
        gone[d], order[#order + 1], count = true, d, count * x:size(d)
    end
    for d = 1, x.ndim do
        if not gone[d] then order[#order + 1], left[#left + 1] = d, x:size(d) end
    end
    if count == 0 and kernel.identity == nil then
        fail("%s: no elements; give an identity, the result of none", kernel.name)
    end
    local shape = { count, table.unpack(left) }
    local y = #order > 0 and x:permute(order):reshape(shape) or x:reshape(1)
    if count == 0 then
        return gpush.full(left, kernel.identity, { dtype = x.dtype, device = x.device })
    end
    y = combine(kernel, y, letters)
    for _, d in ipairs(keepdim and dims or {}) do y = y:unsqueeze(d) end
    return y
end

-- count: of the elements that went in; as CuPy's _in_ind.size(), and _out_ind.size().
local function finish(kernel, x, letters, count)
    local out = kernel.outputs[1]
    if kernel.post then
        local env = { values = { a = x, [IN] = count, [OUT] = x:numel() }, raw = {},
            letters = letters }
        evaluate.run(kernel.post, env)
        x = env.values[out.name]
        if x == nil then fail("%s: post gives '%s' no value", kernel.name, out.name) end
    end
    return evaluate.cast(x, types.dtype(out.type) or letters[out.type])
end


-- The fused function for these dims; as they aren't tensors it can't take them as arguments.
local function fused_for(kernel, dims, keepdim)
    local key = table.concat(dims, ",") .. (keepdim and "k" or "")
    local fn = kernel.fused[key]
    if not fn then
        local options = { dim = dims, keepdim = keepdim }
        fn = parts.fused(kernel, function(_, ...) return by_own(kernel, options, ...) end)
        kernel.fused[key] = fn
    end
    return fn
end

local function largest_ndim(kernel, args)
    local ndim = 0
    for k = 1, #kernel.inputs do
        if is_tensor(args[k]) then ndim = math.max(ndim, args[k].ndim) end
    end
    return ndim
end

local function call(kernel, ...)
    local args, n, options, device, letters = parts.arguments(kernel, "dim keepdim", ...)
    parts.numbers_as_tensors(kernel, args, letters, device)
    local ndim = largest_ndim(kernel, args)
    local dims = dims_of(kernel, options, ndim)
    local none = false -- of which an identity is the result
    for k = 1, n do none = none or (kernel.identity ~= nil and args[k]:numel() == 0) end
    local x
    if kernel.own and ndim > 0 and not none then
        x = fused_for(kernel, dims, options.keepdim == true)(table.unpack(args, 1, n))
    else
        x = by_pairs(kernel, mapped(kernel, letters, args), dims, options.keepdim, letters)
    end
    local count = 1
    for _, size in ipairs(parts.shape_of(kernel, args, {})) do count = count * size end
    return finish(kernel, x, letters, count)
end

-- ---- making one ----

local ORDER <const> = { "inputs", "outputs", "map", "reduce", "post", "identity", "name" }

-- The parts, by name, of a call by position or of one table.
local function by_name(first, ...)
    local def = {}
    if type(first) == "table" then
        for key, v in pairs(first) do
            local name = key == 1 and "inputs" or key == 2 and "outputs" or key
            local known = false
            for _, part in ipairs(ORDER) do known = known or part == name end
            if not known then
                fail("reduction: unknown part '%s' (expected %s)", tostring(key),
                    table.concat(ORDER, ", "))
            end
            def[name] = v
        end
        return def
    end
    local rest = table.pack(first, ...)
    for k, part in ipairs(ORDER) do def[part] = rest[k] end
    return def
end

local function identity_of(identity)
    if type(identity) == "string" then
        local text = identity
        local ok, read = pcall(parse.expression, text, "reduction", {})
        local env = { values = {}, raw = {}, letters = {} }
        ok = ok and pcall(evaluate.run, read, env)
        identity = ok and env.values[""] or nil
        if type(identity) == "table" then identity = identity.value end
        if type(identity) ~= "number" then
            fail("reduction: identity '%s' is not a number", text)
        end
    end
    if identity ~= nil and type(identity) ~= "number" then
        fail("reduction: identity: expected a number, got %s", type(identity))
    end
    return identity
end

local function reduction(...)
    local def = by_name(...)
    local kernel = parts.start("reduction", def.inputs, def.outputs, def.name)
    for _, p in ipairs(kernel.inputs) do
        if p.raw then fail("reduction: input '%s': raw ones are elementwise's alone", p.name) end
    end
    if #kernel.outputs ~= 1 then fail("reduction: expected one output, got %d", #kernel.outputs) end
    kernel.map = parse.expression(parts.checked_text("reduction", "map", def.map), kernel.name,
        kernel.letters)
    kernel.reduce = parse.expression(parts.checked_text("reduction", "reduce", def.reduce),
        kernel.name, kernel.letters)
    local post = def.post
    if post == "" then post = nil end
    if post then
        parts.checked_text("reduction", "post", post)
        local read = post:gsub("_in_ind%s*%.%s*size%s*%(%s*%)", IN)
        read = read:gsub("_out_ind%s*%.%s*size%s*%(%s*%)", OUT)
        kernel.post = parse.statements(read, kernel.name, kernel.letters)
    end
    kernel.identity, kernel.fused = identity_of(def.identity), {}
    local own, neutral = own_reduction(kernel.reduce[1].value)
    if kernel.identity == nil then kernel.identity = neutral end
    if neutral == nil or kernel.identity == neutral then kernel.own = own end
    function kernel.call(...) return parts.in_region(kernel, call, kernel, ...) end
    return parts.describe(kernel, ("%s, by %s%s"):format(def.map, def.reduce,
        post and ", then " .. post or ""))
end

return { reduction = reduction }
