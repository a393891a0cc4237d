--!plain
-- Writes Python's loops and comprehensions in Lua, for statements.lua and translate.lua. A variable
-- of range(n) counts from 0 here, too, unless it is an index only.
local require = ...
local translate = require "shell.translate"
require "shell.operators" -- translate.condition
local emit, condition, kind, say = translate.expression, translate.condition, translate.kind,
    translate.say
local path, counts = translate.path, require "shell.counts"
local unpack, batches = require "shell.loops.unpack", require "shell.loops.batches"
local characters = require "shell.loops.characters"
local elsewhere, known = require "shell.elsewhere", require "shell.known"
local loops = {}
local ZERO <const> = { "number", "0" }
local UNORDERED <const> = "pairs goes through a table in any order"

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
    local last = counts.plus(to, back and 1 or -1, true)
    local least = back and (counts.literal(to) or math.huge) + 1 or counts.literal(from or ZERO)
    if not filled and not translate.language() then
        translate.note(("x[%s] there is x[%s + 1] here"):format(name, name))
    end
    return ("for %s = %s, %s%s do "):format(name, from and emit(from) or "0", last,
        step and ", " .. emit(step) or ""),
        translate.looping({ name }, least or "values", body)
end

local function called(node, name)
    return node[1] == "call" and path(node[2]) == name and node[3]
end

local function holds_names(v)
    return type(v) == "table" and getmetatable(v) == nil and not translate.is_list(v)
        and next(v) ~= nil
end

-- Whether the expression is a table of names that is known.
local function is_dict(node)
    local of = node[1] == "index" and known.member(node) or translate.origin(node)
    if of[1] == "table" then return of[2] ~= nil and of[2][1] ~= "item" end
    if called(of, "dict") then return true end
    if of[1] == "comprehension" then return of[2] == "dict" end
    if of[1] == "call" and of[2][3] == "state_dict" then return true end
    if node[1] == "name" and translate.of_loop(node[2]) == "dict" then return true end
    return holds_names(known.value(node))
end

-- Whether the expression is a data set, whose samples are several values: ds:get(i).
local function is_dataset(node)
    local of = translate.origin(node)
    if of[1] == "call" then
        local name = elsewhere.name(path(of[2]) or "") or ""
        return name:find "^data%.%w*Dataset$" ~= nil or name == "data.Subset"
    end
    local v = known.value(node)
    return type(v) == "table" and getmetatable(v) ~= nil and type(rawget(v, "get")) == "function"
end
loops.is_dataset = is_dataset

local of_dict = { items = 2, keys = 1, values = 1 }
-- What goes through several values as a list: texts by their characters, dicts by their keys,
-- d.items(), enumerate and zip; any other node as it is.
local as_list
function as_list(node)
    local names = { { "name", translate.unused "a" } }
    if batches.loader(node) then return { "raw", batches.list(node), kind = "table" } end
    local lines = characters.lines_of(node)
    if lines then
        return { "raw", translate.renamed("(function() local t = {} for l in %s do t[#t + 1] = l \z
            end return t end)()", "t l"):format(lines), kind = "table", of = "string" }
    end
    local method = node[1] == "call" and node[2][1] == "field" and #node[3] == 0 and node[2][3]
    local set = called(node, "set")
    if set and set[1] then -- its values, once each
        return { "raw", translate.renamed("(function() local t, seen = {}, {} for _, v in \z
            ipairs(%s) do if not seen[v] then seen[v], t[#t + 1] = true, v end end return t \z
            end)()", "t seen v"):format((emit(as_list(set[1])))), kind = "table" }
    end
    local n = of_dict[method] or (kind(node) == "string" or is_dict(node)) and 1
        or called(node, "enumerate") and 2 or #(called(node, "zip") or "")
    if n == 0 or called(node, "zip") and n == 1 then return node end
    for i = 2, n do names[i] = { "name", translate.unused(string.char(96 + i)) } end -- a, b …
    return { "comprehension", "list", n > 1 and { "tuple", table.unpack(names) } or names[1],
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

-- What the elements of a list are: integers by their least.
local element
function element(over)
    local of = over and (over[1] == "index" and known.member(over) or translate.origin(over))
    if of == nil then return "unknown" end
    if of[1] == "raw" and of.of then return of.of end
    if translate.is_index(over) then return kind(over) == "tensor" and "indices" or "index" end
    if batches.loader(over) then return "table" end
    if over[1] == "name" and translate.of_loop(over[2]) == "tensors" or batches.next(of) then
        return "tensor"
    end
    if kind(over) == "tensor" then
        return counts.open_label(over) and "open" or counts.from_zero(over) and "zeros" or "tensor"
    end
    if called(of, "range") then return "values" end
    if of[1] == "call" and of[2][3] == "split" and kind(of[2][2]) == "string" then
        return "string"
    end
    local f = of[1] == "call" and path(of[2])
    if f == "sorted" or f == "list" or f == "reversed" then return element(of[3][1]) end
    if f == "zip" or f == "enumerate" or of[1] == "call" and of[2][3] == "items" then
        return "table"
    end
    if of[1] == "index" and #of[3] == 1 and of[3][1][1] == "range" then return element(of[2]) end
    local depth = known.depth(of)
    if depth and depth > 0 then
        return depth > 1 and "table" or counts.open_label(of) and "labels" or "values"
    end
    local values = of[1] == "call" and of[2][3] == "values" and known.value(of[2][2])
    if type(values) == "table" then values = { (select(2, next(values))) } end
    local v = values or known.value(of)
    local written = of[1] == "list" or of[1] == "tuple"
    if type(v) == "table" and holds_names(v[1]) or written and of[2] and is_dict(of[2]) then
        return "dict"
    end
    local first = type(v) == "table" and type(v[1]) or written and of[2] and kind(of[2])
        or of[1] == "comprehension" and of[3][1] == "tuple" and "table"
    if first == "number" then return known.least(of) or "values" end
    return (first == "string" or first == "table" or first == "boolean") and first or "unknown"
end

-- How many elements a list has that is written in place or whose variable is set; nil: not known.
local function length_of(node)
    if node[1] == "list" then return #node - 1 end
    local v = node[1] == "name" and loops.value(node[2])
    local counts = type(v) == "table" and not is_dict(node) or kind(node) == "tensor"
    return counts and v and #v or nil
end

-- Whether none of the lists is shorter than the first, at which zip ends.
local function first_ends(lists)
    local first = length_of(lists[1])
    for k = 2, #lists do
        local n = first and length_of(lists[k])
        if not n or n < first then return false end
    end
    return true
end

-- A loop over the samples of a data set, by their number i.
local function sampled(i, targets, over, body)
    local names, before = text_of(targets), ""
    local ds = path(over) or translate.unused "ds"
    if ds ~= path(over) then before = ("local %s = %s "):format(ds, (emit(over))) end
    local one = #targets == 1 and targets[1][1] ~= "tuple"
    return ("%sfor %s = 1, #%s do local %s = %s%s:get(%s)%s "):format(before, i, ds, names,
        one and "{" or "", ds, i, one and "}" or ""), translate.looping({ i }, "one", function()
        return translate.looping(one and { names } or {}, "table", body)
    end)
end

-- The head of a loop that counts, and its body; nil for any other.
local function counted(targets, over, trees, body)
    local name = targets[1][2]
    local range = called(over, "range")
    if range then return ranged(name, range, trees, body) end
    local shown = called(over, "progress")
    local steps = called(over, "tqdm") or called(over, "trange") or shown
    local inner = steps and (called(steps[1], "range") or called(over, "trange"))
    if inner and #inner == 1 then
        return ("for %s in progress(%s) do "):format(name, (emit(inner[1]))),
            translate.looping({ name }, "one", body)
    elseif steps and not batches.loader(over) then
        local each = shown and "progress" or "ipairs"
        return ("for _, %s in %s(%s) do "):format(name, each, (emit(steps[1]))), body()
    end
    local list = lists_of(over, "enumerate")
    if list then
        local start = list[2] and (list[2][1] == "named" and list[2][3] or list[2])
        local from = start and emit(start) or "0"
        local one = from == "1"
        if not one and from ~= "0" then say "ipairs counts from 1: add a number to it" end
        if next(trees) == nil and not one then translate.note(name .. " counts from 1 here") end
        local over = called(over, "enumerate")[1]
        if batches.loader(over) then
            local rest = { table.unpack(targets, 2) }
            return batches.loop(name, rest, over, trees, function()
                return translate.looping({ name }, one and 1 or "one", body)
            end)
        elseif is_dataset(list[1]) then
            return sampled(name, { table.unpack(targets, 2) }, list[1], body)
        end
        local rest, zip = text_of { table.unpack(targets, 2) }, lists_of(list[1], "zip")
        if zip and targets[2][1] == "tuple" and #zip == 2 and first_ends(zip) then
            return ("for %s, %s in ipairs(%s) do local %s = %s[%s] "):format(name, targets[2][2][2],
                emit(zip[1]), targets[2][3][2], emit(zip[2], 14), name),
                translate.looping({ name }, one and 1 or "one", body)
        end
        local item = translate.unused "item"
        local tuple = targets[2] and (targets[2][1] == "tuple")
        local names, values = unpack.each(tuple and unpack.inside(targets[2]) or {}, item)
        local head = tuple and ("for %s, %s in ipairs(%s) do local %s = %s "):format(
            name, item, (emit(list[1])), names, values)
            or ("for %s, %s in ipairs(%s) do "):format(name, rest, (emit(list[1])))
        local of = targets[2] and not tuple and element(list[1])
        return head, translate.looping({ name }, one and 1 or "one", function()
            return of and translate.looping({ rest }, of, body) or body()
        end)
    end
end

-- The body of a loop over several lists: what is known of their elements.
local function each_of(targets, lists, body, k)
    k = k or 1
    local t = targets[k]
    if not t then return body() end
    return translate.looping(t[1] == "name" and { t[2] } or {}, element(lists[k]), function()
        return each_of(targets, lists, body, k + 1)
    end)
end

-- The head of a loop over several lists, and its body: it ends with the shortest of them.
local function zipped(targets, lists, body)
    local i, before, names, values, lengths = translate.unused "i", "", {}, {}, {}
    local ends = first_ends(lists)
    for k = 1, #targets do ends = ends and not unpack.inside(targets[k]) end
    for k = 1, #targets do
        local name, text = path(lists[k]), (emit(lists[k]))
        if not name and not (k == 1 and ends) then
            name = translate.unused("list" .. k)
            before = ("%slocal %s = %s "):format(before, name, text)
            text = name
        end
        names[k], values[k], lengths[k] = targets[k][2], ("%s[%s]"):format(text, i), "#" .. text
        if unpack.inside(targets[k]) then
            names[k], values[k] = unpack.each(unpack.inside(targets[k]), values[k], true)
        end
    end
    local head = ends and ("for %s, %s in ipairs(%s) do local %s = %s "):format(i, names[1],
        values[1]:match "^(.*)%[", table.concat(names, ", ", 2), table.concat(values, ", ", 2))
        or ("for %s = 1, math.min(%s) do local %s = %s "):format(i, table.concat(lengths, ", "),
            table.concat(names, ", "), table.concat(values, ", "))
    return before .. head, each_of(targets, lists, body)
end

-- The head of a loop over two lists, a list backwards, a table's keys …
local function paired(targets, over, body)
    local names = text_of(targets)
    local list = lists_of(over, "zip")
    if list and #targets >= 2 and list[1][1] ~= "star" then return zipped(targets, list, body) end
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
            emit(list[1], 14), i), translate.looping({ names }, element(list[1]), body)
    end
    method = over[1] == "call" and over[2][1] == "field" and over[2][3]
    local object = method and over[2][2]
    if of_dict[method] then translate.note(UNORDERED) end
    local inner = method == "items" and targets[2] and unpack.inside(targets[2])
    if inner then
        local item = translate.unused "item"
        local values
        names, values = unpack.each(inner, item)
        return ("for %s, %s in pairs(%s) do local %s = %s "):format(targets[1][2], item,
            emit(object), names, values), body()
    elseif method == "items" or method == "keys" then
        return ("for %s in pairs(%s) do "):format(names, (emit(object))), body()
    elseif method == "values" and #over[3] == 0 then
        return ("for _, %s in pairs(%s) do "):format(names, (emit(object))), body()
    elseif method == "split" and #over[3] == 0 then
        return ('for %s in %s:gmatch "%%S+" do '):format(names, emit(object, 14)), body()
    elseif method and method:find "^named_" then
        local text = method == "named_children" and translate.line():find "['\"]%d+['\"]"
            and ("local %s = tostring(%s) "):format(targets[1][2], targets[1][2]) or ""
        return ("for %s in %s do %s"):format(names, emit(over), text),
            translate.looping({ targets[1][2] }, "string", body)
    end
end

-- The k-th values of a list's rows, as a list; of indices, any list of such; nil: not known.
local function column(over, k)
    if translate.is_index(over) then return over end
    local out, of = { "list" }, known.bare(over)
    if of[1] ~= "list" and of[1] ~= "tuple" then return nil end
    for i = 2, #of do
        if of[i][1] ~= "list" and of[i][1] ~= "tuple" then return nil end
        out[i] = of[i][k + 1]
    end
    return out
end

-- A loop over a list, and its body.
local function listed(targets, over, trees, body)
    local names = text_of(targets)
    if batches.loader(over) then
        return batches.loop(translate.unused "step", targets, over, trees, body)
    end
    if is_dataset(over) then return sampled(translate.unused "i", targets, over, body) end
    if is_dict(over) then
        translate.note(UNORDERED)
        return ("for %s in pairs(%s) do "):format(names, (emit(over))),
            translate.looping({ names }, characters.keys_of(over), body)
    end
    local lines = characters.lines_of(over)
    if lines then
        return ("for %s in %s do "):format(names, lines),
            translate.looping({ names }, "string", body)
    end
    if kind(over) == "string" then
        return ("for %s in %s:gmatch(utf8.charpattern) do "):format(names, emit(over, 14)),
            translate.looping({ names }, "string", body)
    end
    if #targets > 1 or targets[1][1] == "tuple" then
        local item, lists = translate.unused "item", {}
        local values
        for k in ipairs(targets) do lists[k] = column(over, k) end
        names, values = unpack.each(targets, item)
        return ("for _, %s in ipairs(%s) do local %s = %s "):format(item, (emit(over)), names,
            values), each_of(targets, lists, body)
    end
    local list = known.value(over)
    return ("for _, %s in ipairs(%s) do "):format(names, (characters.list(over, names, trees))),
        translate.looping({ names }, element(over), body, type(list) == "table" and list[1] or nil)
end

-- for targets in over: body() …; trees: the body's.
local function loop(targets, over, trees, body)
    if over[1] == "paren" then over = over[2] end
    if #targets == 1 and #(unpack.inside(targets[1]) or {}) > 1 then
        targets = unpack.inside(targets[1])
    end
    local method = over[1] == "call" and over[2][1] == "field" and over[2][3]
    if called(over, "set") or #targets == 1 and (called(over, "zip") or called(over, "enumerate")
        or method == "items") then -- for pair in zip(a, b)
        over = as_list(over)
    end
    local names = {}
    for name in text_of(targets):gmatch "[%a_][%w_]*" do names[#names + 1] = name end
    return translate.looping(names, "unknown", function()
        local head, inside = counted(targets, over, trees, body)
        if not head then head, inside = paired(targets, over, body) end
        if not head then head, inside = listed(targets, over, trees, body) end
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

-- What is made of a comprehension: "list", "dict" or "set", or the function whose argument it is;
-- the comprehension; and the next argument. nil of any other expression.
local function aim(node)
    if node[1] == "comprehension" then return node[2] == "generator" and "list" or node[2], node end
    local args = node[1] == "call" and node[2][1] == "name" and node[3] or {}
    if args[1] and args[1][1] == "comprehension" then return node[2][2], args[1], args[2] end
end

-- What each value does to the variable, and what the variable is before: by what is made.
local steps = {}
function steps.list(name, value)
    return "{}", function() return ("%s[#%s + 1] = %s"):format(name, name, (emit(value))) end
end
steps.tuple = steps.list
function steps.set(name, value)
    return "{}", function() return ("%s[%s] = true"):format(name, (emit(value))) end
end
function steps.dict(name, key, value)
    if not value and key[1] == "tuple" then key, value = key[2], key[3] end
    if not value then
        local p = translate.unused "p"
        return "{}", function()
            return ("local %s = %s %s[%s[1]] = %s[2]"):format(p, emit(key), name, p, p)
        end
    end
    return "{}", function() return ("%s[%s] = %s"):format(name, emit(key), (emit(value))) end
end
function steps.sum(name, value)
    return "0", function()
        return ("%s = %s + %s"):format(name, name, emit(translate.from_zero(value), 10))
    end
end
local function extreme(op)
    return function(name, value)
        return "nil", function()
            local v = translate.unused "v"
            return ("local %s = %s if %s == nil or %s %s %s then %s = %s end"):format(v,
                emit(value), name, v, op, name, name, v)
        end
    end
end
steps.max, steps.min = extreme ">", extreme "<"

-- The statements that make the value of a comprehension, or sum(f(v) for v in list), in a variable
-- that the line does not read; nil of any other expression.
function loops.filled(node, name)
    local f, of, more = aim(node)
    if not steps[f] or more then return nil end
    local first, step = steps[f](name, of[3], of[4])
    return ("%s = %s %s"):format(name, first, around(of, step))
end

-- The statements that return it.
function loops.returned(node)
    local f, of, more = aim(node)
    if f == "any" or f == "all" then
        return ("%s return %s"):format(around(of, function()
            local c, level = condition(of[3])
            if f == "all" then c = level < 11 and "not (" .. c .. ")" or "not " .. c end
            return ("if %s then return %s end"):format(c, tostring(f == "any"))
        end), tostring(f == "all"))
    elseif f == "next" then
        return ("%s return %s"):format(around(of, function() return "return " .. emit(of[3]) end),
            more and emit(more) or "nil")
    end
    local t = translate.unused "t"
    local body = loops.filled(node, t)
    return body and ("local %s return %s"):format(body, t)
end

-- [f(v) for v in list] as a statement: f is called, and its values are not kept.
function loops.statement(node)
    return around(node, function()
        local text = emit(node[3])
        return load(text) and text or "local _ = " .. text
    end)
end
loops.is_dict = is_dict
loops.loop, loops.called, loops.element = loop, called, element

return loops
