--!plain
-- Takes apart what is assigned to several variables, (a, b), c = rows[0], 3, for statements.lua,
-- and what a loop's several variables stand for, for loops: Lua has no tuples in tuples.
local require = ...
local translate = require "shell.translate"
local emit, kind, say = translate.expression, translate.kind, translate.say
local unpack = {}

-- The targets in a tuple, [a, b] being one, too; nil of any other target.
local function inside(t)
    if t[1] == "paren" then return inside(t[2]) end
    return (t[1] == "tuple" or t[1] == "list") and { table.unpack(t, 2) } or nil
end

-- [a, [b, c]] as (a, (b, c)).
local function as_tuple(t)
    if t[1] == "paren" and inside(t) then return as_tuple(t[2]) end
    if t[1] ~= "list" and t[1] ~= "tuple" then return t end
    local out = { "tuple" }
    for i = 2, #t do out[i] = as_tuple(t[i]) end
    return out
end

function unpack.targets(list)
    local out = {}
    for i, t in ipairs(list) do out[i] = as_tuple(t) end
    local inner = #out == 1 and inside(out[1])
    return inner and #inner > 1 and inner or out
end

local function part(of, k) return { "index", of, { { "number", tostring(k - 1) } } } end

-- Whether the expression may be written several times.
local function is_plain(node)
    if type(node) ~= "table" then return true end
    if node[1] == "call" or node[1] == "comprehension" or node[1] == "lambda" then return false end
    for _, of in ipairs(node) do if not is_plain(of) then return false end end
    return true
end

-- The value itself, or a variable that is set to it first where it is written several times.
local function repeatable(value, before)
    if is_plain(value) then return value end
    local name = translate.unused("t" .. (#before > 0 and #before + 1 or ""))
    before[#before + 1] = ("local %s = %s "):format(name, (emit(value)))
    translate.tell(name, value, kind(value))
    return { "name", name }
end

local function apart(target, value, to, from, before)
    local list = inside(target)
    if not list then
        to[#to + 1], from[#from + 1] = target, value
        return
    end
    if value[1] == "paren" then value = value[2] end
    local written = (value[1] == "tuple" or value[1] == "list") and #value - 1 == #list
    if require "shell.loops".is_dict(value) then say "pairs goes through a table in any order" end
    local of = written or repeatable(value, before)
    for k, t in ipairs(list) do
        if t[1] == "star" then say "a list of the rest: {table.unpack(t, 2)}" end
        apart(t, written and value[k + 1] or part(of, k), to, from, before)
    end
end

-- The targets and values of an assignment with the tuples taken apart, and the statements before
-- it; nil where there is no tuple in it.
function unpack.flat(list, values)
    local targets = #list == 1 and inside(list[1]) or list
    local nested = false
    for _, t in ipairs(targets) do nested = nested or inside(t) ~= nil end
    local of = #values == 1 and #targets > 1 and values[1]
    -- texts have no table.unpack; what is not known may be a table or a tensor
    local each = of and (kind(of) == "string" or kind(of) == nil
        and (of[1] == "name" or of[1] == "index" or of[1] == "field"))
    local several = of and of[1] == "call" and kind(of) ~= "table" -- out, (h, c) = lstm(x)
    if several or not nested and not each then return nil end
    local to, from, before = {}, {}, {}
    if #targets == #values and #list > 1 then
        for k, t in ipairs(targets) do apart(t, values[k], to, from, before) end
    else
        local value = #values == 1 and values[1] or { "tuple", table.unpack(values) }
        apart({ "tuple", table.unpack(targets) }, value, to, from, before)
    end
    return to, from, table.concat(before)
end

-- ---- tensors ----

local several <const> = {} -- tensors that these give, beside those of translate.part_of
for name in ("unbind meshgrid broadcast_tensors where nonzero gradient \z
    unravel_index"):gmatch "%S+" do
    several[name] = true
end

-- Whether the expression is one tensor, rather than several values as x.max(1).
function unpack.is_one(node)
    if node[1] == "paren" then return unpack.is_one(node[2]) end
    if kind(node) ~= "tensor" or translate.gives_indices(node) then return false end
    if node[1] ~= "call" then return node[1] ~= "choice" end
    local name = node[2][3] or node[2][2]
    if type(name) ~= "string" or name:find "split$" or name:find "^unique" then return false end
    return not (several[name] or translate.several[name])
end

-- The tensor whose element or row the expression is; nil of any other.
local function viewed(node)
    if node[1] == "paren" then return viewed(node[2]) end
    return node[1] == "index" and kind(node[2]) == "tensor" and translate.path(node[2]) or nil
end

-- x[0], x[1] = x[1], x[0]: views, which change while the targets are set, as copies.
function unpack.copied(list, values)
    if #list ~= #values or #list < 2 then return values end
    local out = {}
    for k, value in ipairs(values) do
        local of, set = viewed(value), false
        for i, t in ipairs(list) do set = set or i ~= k and of ~= nil and viewed(t) == of end
        out[k] = set and { "call", { "field", value, "clone" }, {} } or value
        if set then
            translate.note("each is a view: without clone() both would be one, as in PyTorch", true)
        end
    end
    return out
end

-- ---- loops ----

local function each_of(targets, text, names, values)
    for k, t in ipairs(targets) do
        local list, at = inside(t), ("%s[%d]"):format(text, k)
        if list then each_of(list, at, names, values)
        else names[#names + 1], values[#values + 1] = t[2], at end
    end
end

-- The names of a loop's variables and what they are, which the value that the text gives holds;
-- more: other values follow.
function unpack.each(targets, text, more)
    local names, values = {}, {}
    each_of(targets, text, names, values)
    local nested = #names > #targets
    return table.concat(names, ", "), (nested or more) and table.concat(values, ", ")
        or ("table.unpack(%s)"):format(text)
end
unpack.inside = inside

return unpack
