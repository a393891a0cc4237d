--!plain
-- What is known of a line's values, for the other parts: the members of lists and dicts that it
-- makes or that variables hold, integers that are computed of such ones, and tensors of one value.
local require = ...
local gpush, translate = require "gpush", require "shell.translate"
local elsewhere = require "shell.elsewhere"
local kind, path, origin, value_of = translate.kind, translate.path, translate.origin,
    translate.value
local known, changing = {}, {}

-- A variable's value as an expression; nil of what has no form.
local function written(v)
    if math.type(v) == "integer" and v < 0 then
        return { "unary", "-", { "number", tostring(-v) } }
    end
    if type(v) == "number" then return { "number", tostring(v) } end
    if type(v) == "string" then return { "raw", ("%q"):format(v), kind = "string" } end
    return type(v) == "boolean" and { "constant", tostring(v) } or nil
end

-- Whether the table is a list: one with a key 0 is a dict, whose keys are Python's.
function translate.is_list(v) return v[1] ~= nil and v[0] == nil end

-- Whether the call gives data sets, which are one list in Python and several values here.
function translate.is_split(node)
    local full = node[1] == "call" and path(node[2])
    return full and elsewhere.name(full) == "data.random_split"
end

-- ---- members of lists and dicts ----

-- The expression that a variable, a member or what is in brackets stands for.
local function bare(node)
    local of = node[1] == "paren" and node[2] or node[1] == "index" and known.member(node)
        or origin(node)
    return of ~= node and bare(of) or of
end
known.bare = bare

-- The entries of a dict, {key node, value node}; nil where they are not known.
local function entries(node)
    local of, out = bare(node), {}
    if of[1] == "call" and path(of[2]) == "dict" then
        for i, a in ipairs(of[3]) do
            if a[1] ~= "named" then return nil end
            out[i] = { { "string", a[2], quote = '"', prefix = "" }, a[3] }
        end
        return out
    end
    if of[1] == "table" then
        for i = 2, #of do
            local item = of[i]
            if item[1] ~= "key" or not item[2] then return nil end
            out[i - 1] = { item[2], item[3] }
        end
        return out
    end
    local v = of[1] == "name" and value_of(of[2])
    if type(v) ~= "table" or getmetatable(v) ~= nil or translate.is_list(v) then return nil end
    for key, value in next, v do
        if type(key) ~= "string" then return nil end
        out[#out + 1] = { { "string", key, quote = '"', prefix = "" }, written(value) }
    end
    table.sort(out, function(a, b) return a[1][2] < b[1][2] end)
    return out
end
known.entries = entries

-- The place in a list of n for an index of Python's.
local function place(at, n)
    return at < 0 and n + at + 1 or translate.counted() and at or at + 1
end

-- The member that an index, a number or text that is known, names; nil of any other expression.
local function member(node)
    local key = node[1] == "index" and #node[3] == 1 and node[3][1]
    if not key then return nil end
    local at, of = known.number(key), bare(node[2])
    if at and (of[1] == "list" or of[1] == "tuple") then
        for i = 2, #of do if of[i][1] == "star" then return nil end end
        return of[place(at, #of - 1) + 1]
    end
    local x = translate.is_shape(of) and value_of(path(of[1] == "call" and of[2][2] or of[2]) or "")
    local v = gpush.is_tensor(x) and table.pack(table.unpack(x.shape))
        or of[1] == "name" and value_of(of[2])
    if at and type(v) == "table" and getmetatable(v) == nil and translate.is_list(v) then
        return written(v[place(at, #v)])
    end
    local text, found = key[1] == "string" and key[2], nil
    for _, e in ipairs((text or at) and entries(of) or {}) do
        if e[1][1] == "string" and e[1][2] == text or at and known.number(e[1]) == at then
            found = e[2]
        end
    end
    return found
end
known.member = member

-- The value of the session that a variable, a field of it, or a member by a number or a text has;
-- nil of any other expression.
function known.value(node)
    local of = bare(node)
    if of ~= node then return known.value(of) end
    local k = node[1]
    if k == "paren" then return known.value(node[2]) end
    if k == "name" or k == "field" then
        local full = path(node)
        return full and value_of(full)
    end
    local key = k == "index" and #node[3] == 1 and node[3][1]
    local v = key and known.value(node[2])
    if type(v) ~= "table" or getmetatable(v) ~= nil then return nil end
    if key[1] == "string" then return v[key[2]] end
    local at = known.number(key)
    return at and v[translate.is_list(v) and place(at, #v) or at]
end

-- How many dims the list has that x.tolist() makes, or a member of it; 0: of a list, but it is not
-- known how many; nil of any other expression.
function known.depth(node)
    local of = origin(node)
    if of[1] == "paren" then return known.depth(of[2]) end
    if of[1] == "call" and of[2][1] == "field" and of[2][3] == "tolist" then
        return known.rank(of[2][2]) or 0
    end
    local n = of[1] == "index" and known.depth(of[2])
    if not n or n == 0 then return n or nil end
    return #of[3] == 1 and of[3][1][1] == "range" and n or n - #of[3]
end

-- From here on the members of the variable's list or dict are not known.
function known.changed(node)
    if node[1] ~= "name" or kind(node) ~= "table" then return end
    local any = require "shell.loops".is_dict(node) and { "table", { "key" } }
        or { "list", { "star", { "raw", "" } } }
    translate.tell(node[2], any, "table", translate.is_index(node))
end

-- Calls f while what the statements of a loop's body set is not known.
function known.looping(body, f)
    local before = changing
    changing = setmetatable({}, { __index = before })
    for _, node in ipairs(body) do
        for _, list in ipairs(node[1] == "assign" and node[2] or { { node[2] } }) do
            for _, t in ipairs((node[1] == "assign" or node[1] == "augment") and list or {}) do
                if type(t[2]) == "string" then changing[t[2]] = true end
            end
        end
    end
    local text = f()
    changing = before
    return text
end

-- How many elements a list or a tensor has whose value is known; nil: not known.
function known.length(node)
    local of = bare(node)
    if of[1] == "list" or of[1] == "tuple" then return #of - 1 end
    local v = known.value(of)
    local list = type(v) == "table" and getmetatable(v) == nil and translate.is_list(v)
    return (list or gpush.is_tensor(v) and v.ndim > 0) and #v or nil
end

-- ---- integers ----

local operators = {
    ["+"] = function(a, b) return a + b end,
    ["-"] = function(a, b) return a - b end,
    ["*"] = function(a, b) return a * b end }

-- The integer that the expression is; nil where it is not known, or a loop changes it.
function known.number(node)
    local k = node[1]
    if k == "number" then return math.tointeger(tonumber(node[2])) end
    if k == "paren" then return known.number(node[2]) end
    if k == "unary" then
        local n = node[2] == "-" and known.number(node[3])
        return n and -n or nil
    end
    if k == "binary" then
        local f = operators[node[2]]
        local a, b = f and known.number(node[3]), f and known.number(node[4])
        return a and b and f(a, b) or nil
    end
    if k == "index" then
        local of = member(node)
        return of and known.number(of) or nil
    end
    if k == "call" then
        local of = path(node[2]) == "len" and #node[3] == 1 and bare(node[3][1])
        local v = of and of[1] == "name" and value_of(of[2])
        local list = type(v) == "table" and getmetatable(v) == nil and translate.is_list(v)
        return (list or gpush.is_tensor(v) and v.ndim > 0) and #v or nil
    end
    if k ~= "name" or changing[node[2]] then return nil end
    local of = origin(node)
    if of ~= node then return known.number(of) end
    local v = value_of(node[2])
    return math.type(v) == "integer" and v or nil
end

-- The least of a list of integers; nil where not all are known.
function known.least(node)
    local v, least = node[1] == "name" and value_of(node[2]), math.huge
    for i = v and 1 or 2, v and #v or #node do
        local n = v and math.type(v[i]) == "integer" and v[i] or not v and known.number(node[i])
        if not n then return nil end
        least = math.min(least, n)
    end
    return math.type(least) and least or nil
end

-- The least and the greatest value of a loop's variable, or of a sum or difference of it and a
-- number, or its opposite; nil of any other expression.
function known.bounds(node)
    local k = node[1]
    if k == "paren" then return known.bounds(node[2]) end
    if k == "name" then
        local least = translate.of_loop(node[2])
        if least == "one" then least = 0 end
        if not math.type(least) then return nil end
        return least, math.huge
    end
    local n = k == "unary" and 0 or k == "binary" and known.number(node[4])
    if not n or node[2] ~= "-" and (node[2] ~= "+" or k == "unary") then return nil end
    local low, high = known.bounds(node[3])
    if not low then return nil end
    if k == "unary" then return -high, -low end
    if node[2] == "-" then n = -n end
    return low + n, high + n
end

-- The integer as what a variable is set to.
function known.constant(node)
    local n = known.number(node)
    return n and written(n)
end

-- ---- how many dims a tensor has ----

local scalars = { trace = true, det = true, logdet = true, dot = true, vdot = true }
local reshapes = { flatten = true, ravel = true, unsqueeze = true, nonzero = true, squeeze = true,
    atleast_1d = true, atleast_2d = true }
local over = { dim = true, axis = true, keepdim = true, keepdims = true, reduction = true }

-- How many dims the call of the op leaves of its tensors', which stand before the arguments or are
-- the first: 0 of reductions; nil: not known.
local function reduced(name, args, x)
    local sig = (elsewhere.ops()[name] or {}).sig or ""
    local two = sig:find " reduction" or name == "dot" or name == "vdot"
    local n, dim = (two and 2 or 1) - (x and 1 or 0), nil
    for i, a in ipairs(args) do
        if a[1] == "options" or a[1] == "star" then return nil end
        if a[1] == "named" and (a[2] == "dim" or a[2] == "axis") then dim = a[3]
        elseif a[1] == "named" and over[a[2]] then return nil
        elseif a[1] ~= "named" and i == n + 1 and not two then dim = a
        elseif a[1] ~= "named" and i > n then return nil end
    end
    local reduces = name ~= "mode" and sig:find " keepdim" ~= nil
    if not dim then return (scalars[name] or two or reduces) and 0 or nil end
    local pair = elsewhere.indices(name) == 2 -- values and indices along the dim
    local of = reduces and kind(dim) == "number" and not pair and known.rank(x or args[1])
    return of and of - 1 or nil
end

local function rank_of_call(node)
    local f, args = node[2], node[3]
    local name, full = f[3] or f[2], path(f)
    if type(name) ~= "string" then return nil end
    local method = f[1] == "field" and not (full and elsewhere.is_package(full, value_of))
    if not method then name = elsewhere.canonical(full or name) end
    if name == "tensor" and args[1] then return kind(args[1]) == "number" and 0 or nil end
    local n = reduced(name, args, method and f[2])
    if n then return n end
    return #args == (method and 0 or 1) and not reshapes[name]
        and known.rank(method and f[2] or args[1]) or nil
end

-- How many dims the tensor has, 0 for a number; nil where that is not known.
function known.rank(node)
    local k, of = node[1], bare(node)
    if kind(node) == "number" then return 0 end
    if of ~= node then return known.rank(of) end
    local v = k == "name" and value_of(node[2])
    if v then return gpush.is_tensor(v) and v.ndim or nil end
    if k == "unary" then return known.rank(node[3]) end
    if k == "binary" or k == "compare" and #node == 4 then
        local a, b = known.rank(node[k == "binary" and 3 or 2]), known.rank(node[4])
        return a and b and math.max(a, b) or nil
    end
    if k == "index" then
        of = known.rank(node[2])
        for _, item in ipairs(of and node[3] or {}) do
            if kind(item) == "number" then of = of - 1
            elseif item[1] ~= "range" then return nil end
        end
        return of
    end
    if k == "field" and node[3] == "T" then return known.rank(node[2]) end
    return k == "call" and rank_of_call(node) or nil
end

-- Whether the expression is a tensor without dims, so that its text is its number's.
function known.is_scalar(node) return kind(node) == "tensor" and known.rank(node) == 0 end

return known
