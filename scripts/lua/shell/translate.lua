--!plain
-- Writes a parsed expression (parse.lua) in Lua: translate.with(scope, f, …) calls f, which may use
-- expression, condition and dim, and returns its results. scope.kind(name) is "number", "string",
-- "boolean", "table", "tensor", "function" or nil, what the variable holds; scope.value(name) its
-- value where it is known. What would mean something else in Lua raises {say = words}.
local gpush, shell = ...
local elsewhere = shell.part "elsewhere"
local translate = {}

local scope, notes -- of the line that is being translated
local loops        -- variables of its loops: "zero" or "one", what they count from
local told         -- kinds of the variables that the line sets
local write, emit, kind = {}, nil, nil
translate.write = write -- by a node's kind: function(node) -> text, how tightly it binds

-- code: the words are Lua.
local function say(words, code) error({ say = words, code = code }, 0) end
translate.say = say

local function note(words) if not notes[1] then notes[1] = words end end
translate.note = note

local TRUTH = '0, "" and {} are true in Lua'
local DIMS = "dims count from 1"
local COUNT = "indices count from 1, and a range includes its end"
translate.COUNT = COUNT

function translate.with(outer, f, ...)
    for _, name in ipairs { "texts", "indices", "calls" } do shell.part(name) end
    scope, notes, loops, told = outer, {}, {}, {}
    local result = table.pack(pcall(f, ...))
    if not result[1] then
        if type(result[2]) == "table" then return nil, { result[2].say }, result[2].code end
        return nil, {}
    end
    return result[2], notes
end

-- The value of a variable, or a path such as w.grad, where it is known.
local function value_of(name)
    local head = name:match "^[%a_][%w_]*"
    if loops[head] or told[head] then return nil end
    return scope.value(name)
end

translate.value = value_of

-- From here on the variable holds what is of the kind.
function translate.tell(name, of) told[name] = of or "unknown" end

-- Calls f while the names stand for the variables of a loop.
function translate.looping(names, counts, f)
    local before = {}
    for _, n in ipairs(names) do before[n], loops[n] = loops[n] or false, counts end
    local result = f()
    for n, old in next, before do loops[n] = old or nil end
    return result
end

-- ---- what a value is ----

local numbers = { len = true, int = true, float = true, abs = true, round = true, ord = true }
local of_number = { item = true, numel = true, dim = true, ndimension = true, nelement = true,
    element_size = true }
local methods = debug.getregistry()["gpush.tensor.methods"]

-- "torch.nn.Linear" of a chain of names; nil for any other expression.
local function path(node)
    if node[1] == "name" then return node[2] end
    local before = node[1] == "field" and path(node[2])
    return before and before .. "." .. node[3]
end
translate.path = path

local function call_kind(node)
    local f, name = node[2], path(node[2])
    if name and (numbers[name]) then return "number" end
    if name == "str" then return "string" end
    if name == "list" or name == "tuple" or name == "dict" then return "table" end
    local last = name and name:match "[^.]*$" or f[3]
    if last == "isinstance" or last == "hasattr" or last == "callable" then return "boolean" end
    if f[1] == "method" or f[1] == "field" then
        if of_number[last] or last == "size" and #node[3] > 0 then return "number" end
        if last == "tolist" or last == "split" or last == "chunk" then return "table" end
        if last == "is_available" or last == "startswith" or last == "endswith" then
            return "boolean"
        end
        if kind(f[2]) == "string" then return "string" end
        if methods[last] then return "tensor" end
    end
    local op = elsewhere.canonical(name or "")
    return gpush.ops(true)[op] and "tensor" or (op == "tensor" or op == "arange") and "tensor"
        or nil
end

local kinds = { number = "number", string = "string", list = "table", tuple = "table",
    table = "table", lambda = "function", call = call_kind, raw = "function" }
function kinds.constant(node) return node[2] == "nil" and "nil" or "boolean" end
function kinds.name(node)
    local of = loops[node[2]] or told[node[2]]
    if not of then return scope.kind(node[2]) end
    if of == "zero" or of == "one" or of == "values" then return "number" end
    return of ~= "unknown" and of or nil
end
function kinds.paren(node) return kind(node[2]) end
function kinds.compare(node)
    for i = 2, #node, 2 do if kind(node[i]) == "tensor" then return "tensor" end end
    return "boolean"
end
kinds["not"] = function() return "boolean" end
function kinds.unary(node) return node[2] == "#" and "number" or kind(node[3]) end
function kinds.binary(node)
    local op, a, b = node[2], kind(node[3]), kind(node[4])
    if op == ".." then return "string" end
    if op == "or" or op == "and" then return a == b and a or nil end
    if a == "tensor" or b == "tensor" or op == "@" then return "tensor" end
    return (a == "string" or b == "string" and op == "+") and "string"
        or a == "number" and b == "number" and "number" or a == "table" and b == "table" and a
        or nil
end
function kinds.field(node)
    if node[3] == "shape" then return "table" end
    if node[3] == "ndim" then return "number" end
    if kind(node[2]) == "tensor" then return "tensor" end
    local name = path(node)
    local v = name and value_of(name)
    return v ~= nil and (gpush.is_tensor(v) and "tensor" or type(v)) or nil
end
function kinds.index(node)
    if node[2][1] == "field" and node[2][3] == "shape" then return "number" end
    local k = kind(node[2])
    return (k == "tensor" or k == "string") and k or nil
end
function kind(node)
    local k = kinds[node[1]]
    if type(k) == "function" then return k(node) end
    return k
end
translate.kind = kind

-- ---- numbers that count from 0 there and from 1 here ----

local function literal(node)
    if node[1] == "paren" then return literal(node[2]) end
    if node[1] == "unary" and node[2] == "-" then
        local n = literal(node[3])
        return n and -n
    end
    return node[1] == "number" and math.tointeger(tonumber(node[2]))
end

translate.literal = literal

-- The text of node + n, with the sum of numbers at its end made.
local function plus(node, n)
    local value = literal(node)
    if value then return tostring(value + n), value + n < 0 and 11 or 14 end
    if node[1] == "paren" then return plus(node[2], n) end
    local right = node[1] == "binary" and (node[2] == "+" or node[2] == "-") and literal(node[4])
    if right then return plus(node[3], n + (node[2] == "-" and -right or right)) end
    if node[1] == "name" and loops[node[2]] == "one" then
        local name = node[2]
        n = n - 1
        if n == 0 then return name end
        return ("%s %s %d"):format(name, n < 0 and "-" or "+", math.abs(n)), 9
    end
    local text = emit(node, 9)
    if n == 0 then return text, 9 end
    return ("%s %s %d"):format(text, n < 0 and "-" or "+", math.abs(n)), 9
end

translate.plus = plus

-- Whether the number counts from the end: -1, -n, a variable that holds such a number.
local function from_end(node)
    local n = literal(node)
    if n then return n < 0 end
    if node[1] == "unary" and node[2] == "-" then return true end
    local v = node[1] == "name" and value_of(node[2])
    return math.type(v) == "integer" and v < 0
end

translate.from_end = from_end

-- A dim or an index of a number; what is not known to be one stays, with a note.
local function position(node, words)
    if node[1] == "constant" then return emit(node) end
    local k = kind(node)
    if k == "number" and from_end(node) then return emit(node) end
    note(words or COUNT)
    if k == "number" or node[1] == "binary" and literal(node[4]) then return plus(node, 1) end
    return emit(node)
end

translate.position = position

local function dims(node)
    if node[1] ~= "tuple" and node[1] ~= "list" then return position(node, DIMS) end
    local out = {}
    for i = 2, #node do out[#out + 1] = position(node[i], DIMS) end
    return "{" .. table.concat(out, ", ") .. "}"
end
translate.dims = dims

-- An exclusive upper bound as an inclusive one.
local function stop(node) return plus(node, -1) end
translate.stop = stop

-- An index tensor that is written in place: [0, 2] or torch.tensor([0, 2]), else as it is.
local function shifted(node)
    if node[1] == "list" or node[1] == "tuple" then
        local out = {}
        for i = 2, #node do
            local v = node[i]
            if v[1] == "constant" then out[i - 1] = emit(v)
            elseif v[1] == "list" then out[i - 1] = shifted(v)
            else out[i - 1] = (position(v)) end
        end
        return "{" .. table.concat(out, ", ") .. "}"
    end
    local name = node[1] == "call" and path(node[2])
    local op = name and elsewhere.canonical(name)
    if op == "arange" or name == "range" or op == "randint" then
        local counted = op == "randint" and node or { "call", { "name", "torch.arange" }, node[3] }
        note(COUNT)
        return emit(counted) .. " + 1", 9
    end
    local list = name and elsewhere.canonical(name) == "tensor" and node[3][1]
    if list and (list[1] == "list" or list[1] == "tuple") then return "tensor" .. shifted(list) end
    return (position(node))
end
translate.shifted = shifted

-- ---- conditions ----

-- What an if of Lua asks, for an expression of Python's.
function translate.condition(node)
    local k = node[1]
    if k == "paren" then
        local text = translate.condition(node[2])
        return "(" .. text .. ")", 14
    end
    if k == "not" then
        local text, level = translate.condition(node[2])
        local inner = text:match "^([^()]*) ~= 0$" or text:match "^([^()]*) == nil$" and nil
        if inner and level == 3 then return inner .. " == 0", 3 end
        return "not " .. (level < 11 and "(" .. text .. ")" or text), 11
    end
    if k == "binary" and (node[2] == "and" or node[2] == "or") then
        local mine = node[2] == "or" and 1 or 2
        local a, la = translate.condition(node[3])
        local b, lb = translate.condition(node[4])
        return (la < mine and "(" .. a .. ")" or a) .. " " .. node[2] .. " "
            .. (lb <= mine and lb < 3 and lb < mine and "(" .. b .. ")" or b), mine
    end
    local of = kind(node)
    if of == "number" then return emit(node, 4) .. " ~= 0", 3 end
    if of == "string" then return emit(node, 4) .. ' ~= ""', 3 end
    if of == "table" then return ("next(%s) ~= nil"):format(emit(node)), 3 end
    if of == nil and k ~= "compare" then note(TRUTH) end
    local text, level = emit(node)
    return text, level or 14
end
local condition = translate.condition

-- Whether the value is true in Lua, whatever it is.
local function always(node)
    local k = kind(node)
    return k == "number" or k == "string" or k == "table" or k == "function"
end

function write.choice(node)
    local yes, cond, no = node[2], node[3], node[4]
    local c, level = condition(cond)
    if always(yes) then
        return ("%s and %s or %s"):format(level < 2 and "(" .. c .. ")" or c, emit(yes, 3),
            emit(no, 1)), 1
    end
    return ("(function() if %s then return %s else return %s end end)()"):format(c, (emit(yes)),
        (emit(no)))
end

-- a or b, where a's truth is another in Lua, as a choice.
function translate.as_choice(node)
    local a, b = node[3], node[4]
    local k = (node[2] == "or" or node[2] == "and") and kind(a)
    if k ~= "number" and k ~= "string" and k ~= "table" then return nil end
    if node[2] == "or" then return { "choice", a, a, b } end
    return { "choice", b, a, a }
end

-- ---- operators ----

local levels = { ["or"] = 1, ["and"] = 2, ["|"] = 4, ["&"] = 6, ["<<"] = 7, [">>"] = 7,
    [".."] = 8, ["+"] = 9, ["-"] = 9, ["*"] = 10, ["/"] = 10, ["//"] = 10, ["%"] = 10, ["@"] = 10,
    ["^"] = 12, ["~"] = 5 }

local function repeated(list, times) -- [0] * 3
    local n, out = literal(times), {}
    if list[1] ~= "list" and list[1] ~= "tuple" or not n or n > 20 then
        say "a list times a number: a loop, t[#t + 1] = v"
    end
    for _ = 1, n do
        for i = 2, #list do out[#out + 1] = emit(list[i]) end
    end
    return "{" .. table.concat(out, ", ") .. "}", 13
end

local function percent(node) -- "a %s" % x
    local list = node[4][1] == "tuple" and { table.unpack(node[4], 2) } or { node[4] }
    for i, v in ipairs(list) do list[i] = emit(v) end
    return ("%s:format(%s)"):format(emit(node[3], 14), table.concat(list, ", "))
end

local function is_mask(node)
    if node[1] == "paren" then return is_mask(node[2]) end
    local v = node[1] == "name" and value_of(node[2])
    return node[1] == "compare" or gpush.is_tensor(v) and v.dtype == "bool"
end

function write.binary(node)
    local op, left, right = node[2], node[3], node[4]
    local a, b = kind(left), kind(right)
    if op == "or" or op == "and" then
        local choice = translate.as_choice(node)
        if choice then return write.choice(choice) end
        if a == nil and left[1] ~= "compare" then note(TRUTH) end
    end
    if (op == "and" or op == "or") and a == "tensor" and b == "tensor" then
        local mark = op == "and" and "&" or "|"
        return ("%s %s %s"):format(emit(left, 8), mark, emit(right, 8)), mark == "&" and 6 or 4
    end
    if op == "%" and a == "string" then return percent(node) end
    if op == "*" and a == "table" then return repeated(left, right) end
    if op == "*" and b == "table" then return repeated(right, left) end
    if op == "*" and a == "string" then
        return ("%s:rep(%s)"):format(emit(left, 14), (emit(right)))
    end
    if op == "+" and (a == "table" or b == "table") then
        say "two lists: table.move(b, 1, #b, #a + 1, a) appends b to a"
    end
    if op == "+" and (a == "string" or b == "string") then op = ".." end
    if op == "^" and is_mask(left) and is_mask(right) then op = "~" end
    local level = levels[op]
    local less = (op == "^" or op == "..") and 1 or 0
    return ("%s %s %s"):format(emit(left, level + less), op, emit(right, level + 1 - less)), level
end

function write.unary(node)
    if node[2] == "+" then return emit(node[3]) end
    return node[2] .. emit(node[3], 11), 11
end

write["not"] = function(node)
    if kind(node[2]) == "tensor" then return "not " .. emit(node[2], 11), 11 end
    return condition(node)
end

-- x in t, of a text, of a list that is written in place, and of a dict.
local function member(value, holder, negated)
    if holder[1] == "tuple" or holder[1] == "list" then
        local out, v = {}, emit(value, 4)
        for i = 2, #holder do
            out[#out + 1] = ("%s %s %s"):format(v, negated and "~=" or "==", emit(holder[i], 4))
        end
        return table.concat(out, negated and " and " or " or "), #out > 1 and 1 or 3
    end
    local op = negated and "==" or "~="
    local h = holder[1] == "call" and holder[2][3] == "keys" and holder[2][2] or holder
    if kind(h) == "string" then
        return ("%s:find(%s, 1, true) %s nil"):format(emit(h, 14), (emit(value)), op), 3
    end
    local known = h[1] == "name" and value_of(h[2])
    local list = type(known) == "table" and known[1] ~= nil
    if kind(h) == "tensor" then return ("(%s == %s):any()"):format(emit(h, 4), emit(value, 4)) end
    if list or kind(value) == "number" then
        say "whether a list has the value: a loop, for _, v in ipairs(t) do … end"
    end
    return ("%s[%s] %s nil"):format(emit(h, 14), (emit(value)), op), 3
end

local function compared(a, op, b)
    if op == "in" or op == "not in" then return member(a, b, op == "not in") end
    local name = a[1] == "call" and path(a[2]) == "type" and path(b)
    if name and (op == "==" or op == "~=") then
        local text = elsewhere.kind(emit(a[3][1], 14), name)
        return op == "==" and text or "not (" .. text .. ")", 3
    end
    if kind(a) == "table" and (b[1] == "list" and #b == 1) and (op == "==" or op == "~=") then
        return ("next(%s) %s nil"):format(emit(a), op), 3
    end
    return ("%s %s %s"):format(emit(a, 4), op, emit(b, 4)), 3
end

function write.compare(node)
    if #node == 4 then return compared(node[2], node[3], node[4]) end
    local out, masks = {}, kind(node) == "tensor"
    for i = 2, #node - 2, 2 do
        local text = compared(node[i], node[i + 1], node[i + 2])
        out[#out + 1] = masks and "(" .. text .. ")" or text
    end
    return table.concat(out, masks and " & " or " and "), masks and 6 or 2
end

-- ---- values ----

function write.name(node)
    local name = node[2]
    if loops[name] == "one" then return name .. " - 1", 9 end
    local form = elsewhere.value(name, rawget(_G, name) == nil and value_of(name) == nil)
    return form or name
end
function write.number(node)
    if node[2]:find "[jJ]$" then say "a complex number: pairs in a last dim of size 2" end
    return node[2]
end
function write.constant(node) return node[2] end
function write.raw(node) return node[2], 13 end
function write.paren(node)
    local text, level = emit(node[2])
    if text:find "^%(function%(%)" and (level or 14) == 14 then return text end
    return "(" .. text .. ")"
end
function write.span(node) return ("arange(%s, %s)"):format(emit(node[2]), (emit(node[3]))) end
function write.ellipsis() return "..." end
function write.star(node) return ("table.unpack(%s)"):format((emit(node[2]))) end

local function elements(node, from)
    local out = {}
    for i = from, #node do out[#out + 1] = (emit(node[i])) end
    return table.concat(out, ", ")
end
function write.list(node) return "{" .. elements(node, 2) .. "}", 13 end
write.tuple = write.list

function write.table(node)
    local out = {}
    for i = 2, #node do
        local item = node[i]
        local word = item[1] == "key" and item[2][1] == "string"
            and item[2][2]:match "^[%a_][%w_]*$"
        if item[1] == "item" then out[#out + 1] = (emit(item[2]))
        elseif word and load(("return {%s = 1}"):format(word)) then
            out[#out + 1] = ("%s = %s"):format(word, (emit(item[3])))
        else out[#out + 1] = ("[%s] = %s"):format((emit(item[2])), (emit(item[3]))) end
    end
    return "{" .. table.concat(out, ", ") .. "}", 13
end

function write.lambda(node)
    local names = {}
    for i, p in ipairs(node[2]) do names[i] = p[1] end
    return ("function(%s) return %s end"):format(table.concat(names, ", "), (emit(node[3]))), 13
end

-- A list or a sum that a loop makes, as a value.
function write.comprehension(node)
    local body = shell.part "loops".comprehension(node, "t")
    return ("(function() local t = {} %s return t end)()"):format(body)
end

function write.field(node)
    local object, name = node[2], node[3]
    local full = path(node)
    local v = full and elsewhere.value(full, true)
    if v and (rawget(_G, full:match "^[%a_][%w_]*") == nil or gpush[full:match "^%w+"]) then
        return v
    end
    if full and elsewhere.is_package(full, value_of) then return elsewhere.name(full) or say(
        elsewhere.advice(full), true) end
    local pair = translate.part_of(object, name)
    if pair then return pair end
    if name == "__name__" and object[3] == "__class__" then
        return ("nn.class_of(%s)"):format((emit(object[2])))
    end
    if object[1] == "field" and object[3] == "data" and name == "grad" then object = object[2] end
    if name == "data" and object[1] == "field" and object[3] == "grad" then return emit(object) end
    local form = kind(object) ~= "table" and elsewhere.property(name)
    if form then return (form:gsub("X", function() return (emit(object, 14)) end)) end
    return emit(object, 14) .. "." .. name
end
function write.method(node) return emit(node[2], 14) .. ":" .. node[3] end

-- An expression in Lua, in brackets where it binds less tightly than `least`, and how tightly it
-- binds: as in Lua's manual, or 1 to 2, or and and; 3, ==; 9, +; 12, ^; 13, a value; 14, a prefix.
function emit(node, least)
    local f = write[node[1]] or say("there is no form in Lua of this")
    local text, level = f(node)
    if least and (level or 14) < least then return "(" .. text .. ")", 14 end
    return text, level
end
translate.expression = emit

return translate
