--!plain
-- Translates a Python expression to Lua: python.expression(text, notes) -> text, for text typed by
-- habit; notes gets remarks about it. Strings are marks in the text, so that nothing in them is
-- translated: see python.masked.
local gpush, shell = ...
local python = {}

-- ---- strings and brackets ----

-- The end of the string whose quote is at byte `at`, and the number of its quotes, 1 or 3.
local function string_end(text, at)
    local quote = text:sub(at, at)
    local triple = text:sub(at, at + 2) == quote:rep(3)
    if triple then
        local _, stop = text:find(quote:rep(3), at + 3, true)
        return stop or #text, 3
    end
    local i = at + 1
    while i <= #text and text:sub(i, i) ~= quote and text:sub(i, i) ~= "\n" do
        i = i + (text:sub(i, i) == "\\" and 2 or 1)
    end
    return math.min(i, #text), 1
end

local function newlines(text) return (text:gsub("[^\n]", "")) end

-- The text with a mark, "\2N\3", for the content of each string, and without Lua's comments; and
-- the contents. long: long strings are removed, too.
function python.mask(text, long)
    local kept, out, at = {}, {}, 1
    while true do
        local s = text:find("[\"'%-%[]", at)
        if not s then break end
        local c, stop = text:sub(s, s), s
        local comment = c == "-" and text:sub(s + 1, s + 1) == "-"
        local level = (comment or long and c == "[")
            and text:match("^%[(=*)%[", comment and s + 2 or s)
        out[#out + 1] = text:sub(at, s - 1)
        if level then
            stop = select(2, text:find("]" .. level .. "]", s, true)) or #text
            out[#out + 1] = " " .. newlines(text:sub(s, stop))
        elseif comment then stop = (text:find("\n", s, true) or #text + 1) - 1
        elseif c == '"' or c == "'" then
            local quotes
            stop, quotes = string_end(text, s)
            kept[#kept + 1] = text:sub(s + quotes, stop - quotes)
            out[#out + 1] = c .. "\2" .. #kept .. "\3" .. c
        else out[#out + 1] = c end
        at = stop + 1
    end
    out[#out + 1] = text:sub(at)
    return table.concat(out), kept
end

local kept -- the contents for the marks in the line that is being translated

function python.unmask(text)
    return (text:gsub("\2(%d+)\3", function(n) return kept[tonumber(n)] end))
end
local unmask = python.unmask

-- f's result for the line with marks for its strings, with the strings put back; nil where f
-- returns nil.
function python.masked(line, f)
    line, kept = python.mask(line)
    local text, more = f(line)
    return text and unmask(text), more
end

-- The parts of the text between marks that are outside brackets.
function python.split(text, mark)
    local parts, depth, from = {}, 0, 1
    for i = 1, #text do
        local c = text:sub(i, i)
        if c:find "[%(%[{]" then
            depth = depth + 1
        elseif c:find "[%)%]}]" then
            depth = depth - 1
        end
        if c == mark and depth == 0 then
            parts[#parts + 1] = text:sub(from, i - 1):match "^%s*(.-)%s*$"
            from = i + 1
        end
    end
    parts[#parts + 1] = text:sub(from):match "^%s*(.-)%s*$"
    return parts
end
local split = python.split

-- The captures of pattern in the text, outside brackets: brackets with their contents count as one
-- character.
local function match_outside(text, pattern)
    local groups = {}
    local function fold(group)
        groups[#groups + 1] = group
        return "\4" .. #groups .. "\5"
    end
    local flat = text:gsub("%b()", fold):gsub("%b[]", fold):gsub("%b{}", fold)
    local captures = { flat:match(pattern) }
    local function unfold(s)
        local n
        repeat s, n = s:gsub("\4(%d+)\5", function(i) return groups[tonumber(i)] end) until n == 0
        return s
    end
    for i, s in ipairs(captures) do captures[i] = unfold(s) end
    return table.unpack(captures)
end

local function each(parts, f, notes)
    local out = {}
    for i, part in ipairs(parts) do out[i] = f(part, notes) end
    return table.concat(out, ", ")
end

-- ---- indices ----

local COUNT = "indices count from 1, and a range includes its end"

-- Bounds of a range, and an index among several, in Lua's counting.
local function first(s)
    local n = math.tointeger(tonumber(s))
    return n and tostring(n < 0 and n or n + 1) or s == "" and "" or s .. " + 1"
end
local function last(s)
    local n = math.tointeger(tonumber(s))
    return n and tostring(n < 0 and n - 1 or n) or s
end

-- One of the indices: in a text, and as a value.
local function index_part(part)
    if part == "..." then return part, '"..."' end
    if part == "None" or part:find "newaxis$" then return "new" end
    local bounds = split(part, ":")
    if #bounds == 1 then
        local one = tonumber(part) and first(part) or part
        return one, one
    end
    local from, to = first(bounds[1]), last(bounds[2])
    local step = (bounds[3] or "") ~= "" and ":" .. bounds[3] or ""
    return from .. ":" .. to .. step, step == ""
        and (from .. to == "" and "{}" or from ~= "" and to ~= "" and ("{%s, %s}"):format(from, to))
            or nil
end

-- The content of x[…].
local function index(inner, notes)
    local parts = split(inner, ",")
    local method = inner:find ":[%a_][%w_]*%s*[(\"'{]" -- Lua's
    if method or #parts == 1 and not inner:find ":" and not inner:find "^%.%.%.$"
        and not inner:find "^None$" then
        return "[" .. python.expression(inner, notes) .. "]"
    end
    local texts, values, plain, ranges = {}, {}, true, false
    for i, part in ipairs(parts) do
        texts[i], values[i] = index_part(part)
        plain = plain and texts[i]:find "^[%d:.%-new]*$" ~= nil
        ranges = ranges or texts[i]:find "[:.n]" ~= nil
    end
    notes[#notes + 1] = COUNT
    if plain and ranges then return '["' .. table.concat(texts, ", ") .. '"]' end
    if #values < #parts then return "[" .. inner .. "]" end
    return ranges and ("[{ %s }]"):format(table.concat(values, ", "))
        or ("[{%s}]"):format(table.concat(values, ", "))
end

local before_list = { ["return"] = true, ["in"] = true, ["and"] = true, ["or"] = true,
    ["not"] = true, ["else"] = true }

-- Part of a text: s[1:3].
local function part_of(name, inner)
    local bounds = split(inner, ":")
    if type(rawget(_G, name or "")) ~= "string" or #bounds ~= 2 then return nil end
    local from, to = first(bounds[1]), last(bounds[2])
    return (":sub(%s%s)"):format(from == "" and "1" or from, to == "" and "" or ", " .. to)
end

local function brackets(e, notes)
    return (e:gsub("()(%b[])", function(at, group)
        local head, inner = e:sub(1, at - 1), group:sub(2, -2)
        local indexed = head:find "[%w_%]%)\"']%s*$" and not before_list[head:match "([%a_]+)%s*$"]
        if indexed then
            return part_of(head:match "([%a_][%w_]*)$", inner) or index(inner, notes)
        end
        if inner:find "%f[%w_]for%f[^%w_]" then return group end
        return "{" .. each(split(inner, ","), python.expression, notes) .. "}"
    end))
end

-- {'a': 1} and {"two words": 2}.
local function braces(e, notes)
    return (e:gsub("%b{}", function(group)
        local out = {}
        for i, part in ipairs(split(group:sub(2, -2), ",")) do
            local key, value = table.unpack(split(part, ":"))
            if not value or not (key:find "^[\"']" or tonumber(key) or part:find ":%s") then
                return nil
            end
            local word = unmask(key):match "^[\"']([%a_][%w_]*)[\"']$"
            out[i] = ("%s = %s"):format(word or "[" .. key .. "]", python.expression(value, notes))
        end
        return "{" .. table.concat(out, ", ") .. "}"
    end))
end

-- ---- names ----

local names = shell.part "python_names"
local dtypes, same, kinds, kind = names.dtypes, names.same, names.kinds, names.kind
python.dtypes, python.packages, python.functions = dtypes, names.packages, names.functions

-- The path's name in the module: "nn.Linear"; nil if there is none.
local function there(path)
    local v = gpush
    for key in path:gmatch "[^.]+" do v = type(v) == "table" and v[key] or nil end
    return v ~= nil and path or nil
end

-- torch.nn.Linear is nn.Linear here, F.relu relu, and torch.float32 a string.
function python.without_package(path)
    return same[path] or there(path) or there(path:match "[^.]*$") or dtypes[path]
        and ('"%s"'):format(dtypes[path])
end

local function packages(e)
    return (e:gsub("%f[%w_.]nn%.functional%.", "F."):gsub("%f[%w_.]([%a_][%w_]*)%.([%a_][%w_.]*)",
        function(package, path)
        return python.packages[package] and rawget(_G, package) == nil
            and python.without_package(path) or nil
    end))
end

-- ---- calls ----

local renamed = debug.getregistry()["gpush.typed_options"].any

-- The types of the parameters of the op that Python calls by the name, x.sum or torch.sum; a
-- method's without the first.
local function parameters(name)
    local package, path = name:match "^([%w_]+)%.([%w_.]+)$"
    local last = name:match "[%w_]*$"
    local op = package and (gpush.ops(true)[path] or gpush.ops(true)[last])
    local types = {}
    for kind, parameter in (op and op.sig or ""):gmatch "(%a+)[!?]* ([%w_]+)" do
        types[#types + 1] = parameter:find "^dim" and "dim" or kind
    end
    if not python.packages[package] then table.remove(types, 1) end
    return types
end

-- A dim as Lua counts.
local function dim(value, notes)
    local n = math.tointeger(tonumber(value))
    if not n or n < 0 then return value end
    notes[#notes + 1] = "dims count from 1"
    return tostring(n + 1)
end

-- The arguments in brackets of a function with such parameters, named ones in a final table.
local function arguments(inner, types, notes)
    local list, named = {}, {}
    local tuple = inner:match "^%s*(%b())%s*$"
    if tuple and types[1] ~= "tensors" and #split(tuple:sub(2, -2), ",") > 1 then
        inner = tuple:sub(2, -2)
    end
    for _, part in ipairs(inner:find "%S" and split(inner, ",") or {}) do
        local key, value = part:match "^([%a_][%w_]*)%s*=%s*([^=].*)$"
        key = key and (renamed[key] or key)
        if key then named[#named + 1] = ("%s = %s"):format(
            key, python.expression(key == "dim" and dim(value, notes) or value, notes))
        else list[#list + 1] = python.expression(
            types[#list + 1] == "dim" and dim(part, notes) or part, notes) end
    end
    if #named > 0 then list[#list + 1] = "{" .. table.concat(named, ", ") .. "}" end
    return list
end

local of_lists = { sum = true, max = true, min = true, mean = true, std = true, prod = true,
    any = true, all = true }
local methods = {}
for name in ("step zero_grad parameters named_parameters state_dict load_state_dict train eval \z
    modules children"):gmatch "%S+" do methods[name] = true end

local layers = { lstm = true, gru = true, rnn = true, linear = true } -- fields of models, rather
local function tensor_methods() return debug.getregistry()["gpush.tensor.methods"] end

-- x.sum( with a colon, where x is not a module or library.
local function colon(name)
    local object, method = name:match "^(.*)%.([%a_][%w_]*)$"
    local head = object and object:match "^[%a_][%w_]*"
    if not head or head == "self" or python.packages[head] or gpush[head] ~= nil
        or package.loaded[head] then
        return name
    end
    local library = rawget(_G, head)
    if type(library) == "table" and (getmetatable(library) == nil
        or type(rawget(library, method)) == "table") then
        return name -- a module's own module, model.lstm(x)
    end
    local known = methods[method] or tensor_methods()[method] and not layers[method]
    return known and object .. ":" .. method or name
end

local function calls(e, notes)
    e = e:gsub("([%)%]])%.([%a_][%w_]*)(%f[(])",
        function(close, name, open)
            return tensor_methods()[name] and close .. ":" .. name .. open or nil
        end)
    return (e:gsub("()([%a_][%w_.:]*)(%b())", function(at, name, group)
        if name == "function" or before_list[name] or name == "if" then
            return name .. "(" .. python.expression(group:sub(2, -2), notes) .. ")"
        end
        local foreign = python.packages[name:match "^[%a_][%w_]*"] or colon(name) ~= name
        local f = python.functions[name]
        local types = foreign and not f and parameters(name) or {}
        local list = arguments(group:sub(2, -2), types, notes)
        -- also of names that are tables or functions here: open, copy.deepcopy, json.dumps
        local free = rawget(_G, name:match "^[%a_]+") == nil or name == "open"
            or name:find "^copy%." or name:find "^nn%." or name:find "^json%." or name:find "^os%."
        local member = e:sub(at - 1, at - 1):find "[.:\"']"
        local made = f and free and not member and f(table.unpack(list))
        if made then return made end
        name = member and name or colon(name)
        if of_lists[name] and not member and list[1] and list[1]:find "^%b{}$" then
            return ("tensor%s:%s()"):format(list[1], name)
        end
        if #list == 1 and list[1]:find "^%b{}$" then return name .. list[1] end
        return name .. "(" .. table.concat(list, ", ") .. ")"
    end))
end

-- (1, 2) that is not a call's.
local function tuples(e)
    return (e:gsub("()(%b())", function(at, group)
        local head = e:sub(1, at - 1)
        if head:find "[%w_]$" or head:find "[%]%)\"']%s*$" or #split(group:sub(2, -2), ",") < 2 then
            return nil
        end
        return "{" .. group:sub(2, -2) .. "}"
    end))
end

-- ---- texts ----

-- f"loss {x:.2f}".
local function f_string(text)
    local format, values, rest = {}, {}, text
    local function literal(s) return (s:gsub("%%", "%%%%")) end
    while true do
        local head, inner, after = rest:match "^([^{]*)(%b{})(.*)$"
        if not head then break end
        local value, form = inner:match "^{(.-)=?:([^:]*)}$"
        value = python.expression(value or inner:sub(2, -2):gsub("=$", ""), {})
        format[#format + 1] = literal(head) .. "%" ..
            ((form or ""):gsub("[<>^,_]", ""):gsub("%d$", "%0d") .. ""):gsub("^$", "s")
        values[#values + 1] = value
        rest = after
    end
    if #values == 0 then return '"' .. text .. '"' end
    return ('("%s"):format(%s)'):format(table.concat(format) .. literal(rest),
        table.concat(values, ", "))
end

local quoted = "([\"']\2%d+\3[\"'])"

-- "a %s" % x, "{}".format(x), ", ".join(xs), "a" + b.
local function texts(e)
    e = e:gsub(quoted .. "%s*%%%s*(%b())", "(%1):format%2"):gsub(
        quoted .. "%s*%%%s*([%w_.]+)", "(%1):format(%2)")
    e = e:gsub(quoted .. "%.join(%b())",
        function(mark, xs) return ("table.concat(%s, %s)"):format(xs:sub(2, -2), mark) end)
    e = e:gsub(quoted .. "%.format(%b())", function(text, values)
        text = unmask(text):gsub("{:?([%d.]*)(%a?)}",
            function(size, letter) return "%" .. size .. (letter == "" and "s" or letter) end)
        return ("(%s):format%s"):format(text, values)
    end)
    -- not for f "text", a call
    local function of_text(pattern, form)
        e = e:gsub("()" .. quoted .. pattern, function(at, text, name)
            return not e:sub(1, at - 1):find "[%w_]%s*$" and form:format(text, name) or nil
        end)
    end
    of_text("%.([%a_][%w_]*)%(", "(%s):%s(")
    of_text("%s*%+%s*", "%s .. ")
    return (e:gsub("%s*%+%s*" .. quoted, " .. %1"))
end

-- ---- whole lines ----

local words = {
    { "%f[%w_]True%f[^%w_]", "true" }, { "%f[%w_]False%f[^%w_]", "false" },
    { "%f[%w_]None%f[^%w_]", "nil" },
    { "%f[%w_]is%s+not%f[^%w_]", "~=" }, { "%f[%w_]is%f[^%w_]", "==" }, { "!=", "~=" },
    { "%s*&&%s*", " and " }, { "%s*||%s*", " or " },
    { quoted .. "%s+not%s+in%s+([%w_.]+)", "%2[%1] == nil" },
    { quoted .. "%s+in%s+([%w_.]+)", "%2[%1] ~= nil" },
    { "([%w_.]+)%.items%(%)", "pairs(%1)" }, { "([%w_.]+)%.keys%(%)", "pairs(%1)" },
    { "([%w_.]+)%.get%((" .. quoted:sub(2, -2) .. ")%)", "%1[%2]" },
    { "%.astype%(", ":to(" }, { "!%f[%w_(]", "not " }, { "%*%*", "^" },
    { "^(.-)%s+%?%s+(.-)%s+:%s+(.+)$", "%1 and %2 or %3" },
    { "^%(?([%w_, ]-)%)?%s*[-=]>%s*([^{].*)$", "function(%1) return %2 end" },
}

local function lambda(e, notes)
    local head, args, body = match_outside(e, "^(.-)%f[%w_]lambda%s*([%w_,%s]-):%s*(.+)$")
    return body and head ..
        ("function(%s) return %s end"):format(args, python.expression(body, notes)) or nil
end

local function choice(e, notes)
    local yes, cond, no = match_outside(e, "^(.-)%s+%f[%w_]if%s+(.-)%s+else%s+(.+)$")
    if not yes or yes == "" then return nil end
    return ("%s and %s or %s"):format(python.expression(cond, notes), python.expression(yes, notes),
        python.expression(no, notes))
end

function python.expression(e, notes)
    local whole = lambda(e, notes) or choice(e, notes)
    if whole then return whole end
    e = e:gsub("%f[%w_]f([\"'])\2(%d+)\3%1", function(_, n) return f_string(kept[tonumber(n)]) end)
    e = texts(e:gsub("%f[%w_][rbu](%f[\"'][\"'])", "%1"))
    e = calls(braces(brackets(e, notes), notes), notes)
    e = packages(tuples(e))
    for _, w in ipairs(words) do e = e:gsub(w[1], w[2]) end
    return (e:gsub("type(%b()) == (%a+)",
        function(x, name) return kinds[name] and kind(x:sub(2, -2), name) or nil end))
end

return python
