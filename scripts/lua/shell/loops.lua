--!plain
-- Writes Python's loops and comprehensions in Lua, for statements.lua and translate.lua. A variable
-- of range(n) counts from 0 here, too, unless it is an index only.
local require = ...
local translate = require "shell.translate"
require "shell.operators" -- translate.condition
local emit, condition, kind, say = translate.expression, translate.condition, translate.kind,
    translate.say
local path = translate.path
local loops = {}

-- Whether the names in the trees are indices only, as in x[i].
local function only_index(node, name, inside)
    if type(node) ~= "table" then return true end
    if node[1] == "name" and node[2] == name then return inside end
    if node[1] == "index" then
        if not only_index(node[2], name, false) then return false end
        for _, item in ipairs(node[3]) do
            if not only_index(item, name, item[1] ~= "range") then return false end
        end
        return true
    end
    local pass = node[1] == "string" and (node.prefix or ""):find "f" and node[2]:find(name)
    if pass then return false end
    for _, part in next, node do
        if not only_index(part, name, false) then return false end
    end
    return true
end

local function name_of(t)
    if t[1] == "tuple" then return translate.joined(t, name_of, 2) end
    return t[1] == "paren" and name_of(t[2]) or t[2]
end
local function text_of(targets) return translate.joined(targets, name_of) end

-- for v in range(…): counted from 0, or from 1 where the variable is an index only.
local function ranged(name, args, trees, body)
    local from, to, step = args[1], args[2], args[3]
    if not to then from, to = nil, from end
    local filled = next(trees) ~= nil
    if not from and filled and only_index(trees, name, false) then
        return ("for %s = 1, %s do "):format(name, (emit(to))),
            translate.looping({ name }, "one", body)
    end
    local back = step and emit(step):find "^%-"
    local last = translate.plus(to, back and 1 or -1)
    if not filled then translate.note(("x[%s] there is x[%s + 1] here"):format(name, name)) end
    return ("for %s = %s, %s%s do "):format(name, from and emit(from) or "0", last,
        step and ", " .. emit(step) or ""), translate.looping({ name }, "zero", body)
end

local function called(node, name)
    return node[1] == "call" and path(node[2]) == name and node[3]
end

-- Whether the expression is a table of names that is known.
local function is_dict(node)
    if node[1] == "table" then return node[2] ~= nil and node[2][1] ~= "item" end
    local v = node[1] == "name" and translate.value(node[2])
    return type(v) == "table" and getmetatable(v) == nil and v[1] == nil and next(v) ~= nil
end

local of_dict = { items = 2, keys = 1, values = 1 }
-- What goes through several values as a list: texts by their characters, dicts by their keys,
-- d.items(), enumerate and zip; any other node as it is.
local function as_list(node)
    local names = { { "name", translate.unused "a" } }
    local method = node[1] == "call" and node[2][1] == "field" and #node[3] == 0 and node[2][3]
    local n = of_dict[method] or (kind(node) == "string" or is_dict(node)) and 1
        or called(node, "enumerate") and 2 or (called(node, "zip") or {})[2] and 2
    if not n then return node end
    if n == 2 then names[2] = { "name", translate.unused "b" } end
    return { "comprehension", "list", n == 2 and { "tuple", names[1], names[2] } or names[1],
        loops = { { targets = names, over = node } } }
end

function translate.sequences(args)
    local out = {}
    for i, a in ipairs(args) do out[i] = a[1] == "named" and a or as_list(a) end
    return out
end

-- The same of a function that goes through lists.
local function lists_of(node, name)
    local args = called(node, name)
    return args and translate.sequences(args)
end

local function is_loader(node)
    local v = node[1] == "name" and loops.value(node[2])
    return type(v) == "table" and getmetatable(v) and rawget(v, "dataset") ~= nil
        or (path(node) or ""):find "[lL]oader$" or (path(node) or ""):find "_dl$"
end

-- What the elements of a list are.
local function element(over)
    if kind(over) == "tensor" then return "tensor" end
    local v = over[1] == "name" and loops.value(over[2])
    local first = type(v) == "table" and type(v[1]) or over[1] == "list" and over[2]
        and kind(over[2])
    return first == "number" and "values" or first == "string" and "string" or "unknown"
end

-- The head of a loop that counts, and its body; nil for any other.
local function counted(targets, over, trees, body)
    local name = targets[1][2]
    local range = called(over, "range")
    if range then return ranged(name, range, trees, body) end
    local steps = called(over, "tqdm") or called(over, "trange")
    local inner = steps and (called(steps[1], "range") or called(over, "trange"))
    if inner and #inner == 1 then
        return ("for %s in progress(%s) do "):format(name, (emit(inner[1]))),
            translate.looping({ name }, "one", body)
    elseif steps and is_loader(steps[1]) then
        return ("for %s, %s in progress(%s) do "):format(translate.unused "step",
            text_of(targets), (emit(steps[1]))), body()
    elseif steps then
        return ("for _, %s in ipairs(%s) do "):format(name, (emit(steps[1]))), body()
    end
    local list = lists_of(over, "enumerate")
    if list then
        local start = list[2] and (list[2][1] == "named" and list[2][3] or list[2])
        local from = start and emit(start) or "0"
        local one = from == "1"
        if not one and from ~= "0" then say "ipairs counts from 1: add a number to it" end
        if next(trees) == nil and not one then translate.note(name .. " counts from 1 here") end
        local rest, zip = text_of { table.unpack(targets, 2) }, lists_of(list[1], "zip")
        if zip and targets[2][1] == "tuple" and #zip == 2 then
            return ("for %s, %s in ipairs(%s) do local %s = %s[%s] "):format(name, targets[2][2][2],
                emit(zip[1]), targets[2][3][2], emit(zip[2], 14), name),
                translate.looping({ name }, one and "zero" or "one", body)
        end
        local item = translate.unused "item"
        local tuple = targets[2] and (targets[2][1] == "tuple")
        local head = is_loader(list[1]) and ("for %s, %s in %s() do "):format(name, rest,
            (emit(list[1]))) or tuple and ("for %s, %s in ipairs(%s) do local %s = \z
            table.unpack(%s) "):format(name, item, (emit(list[1])), rest, item)
            or ("for %s, %s in ipairs(%s) do "):format(name, rest, (emit(list[1])))
        local of = targets[2] and not tuple and not is_loader(list[1]) and element(list[1])
        return head, translate.looping({ name }, one and "zero" or "one", function()
            return of and translate.looping({ rest }, of, body) or body()
        end)
    end
end

-- The head of a loop over two lists, a list backwards, a table's keys …
local function paired(targets, over, body)
    local names = text_of(targets)
    local list = lists_of(over, "zip")
    if list and #targets >= 2 and list[1][1] ~= "star" then
        local i, also, values = translate.unused "i", {}, {}
        local before, shorter = "", ""
        for k = 2, #targets do
            local other = path(list[k])
            if not other then
                other = translate.unused("list" .. k)
                before = ("%slocal %s = %s "):format(before, other, (emit(list[k])))
            else other = emit(list[k]) end
            also[#also + 1] = targets[k][2]
            values[#values + 1] = ("%s[%s]"):format(other, i)
            if list[k][1] == "index" then -- a part, which may be shorter
                shorter = ("if %s == nil then break end "):format(targets[k][2])
            end
        end
        return before .. ("for %s, %s in ipairs(%s) do local %s = %s "):format(i, targets[1][2],
            (emit(list[1])), table.concat(also, ", "), table.concat(values, ", "))
            .. shorter, body()
    end
    list = lists_of(over, "sorted")
    local method = list and list[1][1] == "call" and list[1][2][3]
    if method == "items" or method == "keys" then
        local d = emit(list[1][2][2])
        return translate.renamed("local keys = {} for k in pairs(%s) do keys[#keys + 1] = k end \z
            table.sort(keys) for _, %s in ipairs(keys) do %s", "keys k"):format(d,
            targets[1][2], method == "items"
            and ("local %s = %s[%s] "):format(targets[2][2], d, targets[1][2]) or ""), body()
    end
    list = lists_of(over, "reversed")
    if list then
        local i = translate.unused "i"
        return ("for %s = #%s, 1, -1 do local %s = %s[%s] "):format(i, emit(list[1], 14), names,
            emit(list[1], 14), i), body()
    end
    method = over[1] == "call" and over[2][1] == "field" and over[2][3]
    local object = method and over[2][2]
    if method == "items" or method == "keys" then
        return ("for %s in pairs(%s) do "):format(names, (emit(object))), body()
    elseif method == "values" and #over[3] == 0 then
        return ("for _, %s in pairs(%s) do "):format(names, (emit(object))), body()
    elseif method == "split" and #over[3] == 0 then
        return ('for %s in %s:gmatch "%%S+" do '):format(names, emit(object, 14)), body()
    elseif method and method:find "^named_" then
        return ("for %s in %s do "):format(names, (emit(over))), body()
    end
end

-- A loop over a list, and its body.
local function listed(targets, over, body)
    local names = text_of(targets)
    if is_loader(over) then
        return ("for %s, %s in %s() do "):format(translate.unused "step", names, (emit(over))),
            body()
    end
    local v = over[1] == "name" and loops.value(over[2])
    if is_dict(over) then
        return ("for %s in pairs(%s) do "):format(names, (emit(over))), body()
    end
    if io.type(v) then return ("for %s in %s:lines() do "):format(names, (emit(over))), body() end
    if kind(over) == "string" then
        return ("for %s in %s:gmatch(utf8.charpattern) do "):format(names, emit(over, 14)),
            translate.looping({ names }, "string", body)
    end
    if #targets > 1 then
        local item = translate.unused "item"
        return ("for _, %s in ipairs(%s) do local %s = table.unpack(%s) "):format(item,
            (emit(over)), names, item), body()
    end
    return ("for _, %s in ipairs(%s) do "):format(names, (emit(over))),
        translate.looping({ names }, element(over), body)
end

-- for targets in over: body() …; trees: the body's.
local function loop(targets, over, trees, body)
    if over[1] == "paren" then over = over[2] end
    if #targets == 1 and targets[1][1] == "tuple" then targets = { table.unpack(targets[1], 2) } end
    local names = {}
    for name in text_of(targets):gmatch "[%a_][%w_]*" do names[#names + 1] = name end
    return translate.looping(names, "unknown", function()
        local head, inside = counted(targets, over, trees, body)
        if not head then head, inside = paired(targets, over, body) end
        if not head then head, inside = listed(targets, over, body) end
        return head .. inside .. " end"
    end)
end

-- The loops of a comprehension around what they do for each of its values.
local function around(node, each)
    local function level(i)
        local l = node.loops[i]
        if not l then return each() end
        local rest = { node[3], node[4], l.cond }
        for k = i + 1, #node.loops do rest[#rest + 1] = node.loops[k].over end
        return loop(l.targets, l.over, rest, function()
            local inner = level(i + 1)
            return l.cond and ("if %s then %s end"):format((condition(l.cond)), inner) or inner
        end)
    end
    return level(1)
end

-- What fills the table `name`.
function loops.comprehension(node, name)
    return around(node, function()
        if node[2] == "dict" then
            return ("%s[%s] = %s"):format(name, (emit(node[3])), (emit(node[4])))
        end
        if node[2] == "set" then return ("%s[%s] = true"):format(name, (emit(node[3]))) end
        return ("%s[#%s + 1] = %s"):format(name, name, (emit(node[3])))
    end)
end

-- The statements that make a sum or a list in the variable; nil where f is another function.
local function made(f, node, name)
    if f == "sum" then
        return ("%s = 0 %s"):format(name, around(node, function()
            return ("%s = %s + %s"):format(name, name, emit(node[3], 10))
        end))
    elseif f == "any" or f == "all" then
        local all = f == "all"
        return ("%s = %s %s"):format(name, tostring(all), around(node, function()
            local c, level = condition(node[3])
            return ("if %s then %s = %s break end"):format(not all and c
                or level < 11 and "not (" .. c .. ")" or "not " .. c, name, tostring(not all))
        end))
    elseif f == "next" then
        return ("%s = nil %s"):format(name, around(node, function()
            return ("%s = %s break"):format(name, (emit(node[3])))
        end))
    elseif f == "max" or f == "min" then
        return ("%s = nil %s"):format(name, around(node, function()
            local v = translate.unused "v"
            return ("local %s = %s if %s == nil or %s %s %s then %s = %s end"):format(v,
                emit(node[3]), name, v, f == "max" and ">" or "<", name, name, v)
        end))
    elseif f == "list" or f == "tuple" or f == "set" or f == "dict" then
        node[2] = f == "set" and "set" or f == "dict" and "dict" or "list"
        if f == "dict" and node[3][1] == "tuple" then node[4], node[3] = node[3][3], node[3][2] end
        return ("%s = {} %s"):format(name, loops.comprehension(node, name))
    end
end

-- f(value for v in list) as a value.
function loops.over(f, node)
    local t = translate.unused "t"
    local body = made(f, node, t)
    return body and ("(function() local %s return %s end)()"):format(body, t)
end
-- [f(v) for v in list] as a statement: f is called, and its values are not kept.
function loops.statement(node)
    return around(node, function()
        local text = emit(node[3])
        return load(text) and text or "local _ = " .. text
    end)
end
loops.is_dict = is_dict
loops.loop, loops.called, loops.made = loop, called, made

return loops
