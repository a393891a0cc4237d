--!plain
-- Writes Python's strings, f"…{x:.2f}…" and "{}".format(x) in Lua, for translate.lua.
local require = ...
local gpush, translate = require "gpush", require "shell.translate"
local emit, kind, say, write = translate.expression, translate.kind, translate.say, translate.write
local known = require "shell.known"

local escapes = { ["\n"] = "\\n", ['"'] = '\\"', ["\\"] = "\\\\" }

-- The values in f"…{x:.2f}…" as a format and its arguments.
local function formatted(form, value, repr)
    local fill, align, rest = form:match "^(.)([<>^])(.*)$"
    if not fill then align, rest = form:match "^([<>^]?)(.*)$" end
    local sign, zero, width, comma, dot, letter = rest:match
        "^([+ #]?)(0?)(%d*)([,_]?)(%.?%d*)([a-zA-Z%%]?)$"
    if comma and comma ~= "" and ("df"):find(letter, 1, true) and align ~= "<" then
        local number = letter == "f" and ('("%%%s%sf"):format(%s)'):format(sign, dot, emit(value))
            or ("tostring(%s)"):format((emit(value)))
        return "%" .. width .. "s", ('(%s:gsub("%%d+", function(s) return s:reverse():gsub(\z
            "%%d%%d%%d", "%%0%s"):reverse():gsub("^%s", "") end, 1))'):format(number, comma, comma)
    end
    if fill == "0" and align == ">" then fill, align, zero = nil, "", "0" end
    if not width or comma ~= "" or align == "^" or fill and fill ~= " " then
        say(("-- the format {:%s} has no form in Lua"):format(form))
    end
    if letter == "" and dot ~= "" then letter = kind(value) == "string" and "s" or "g" end
    if letter == "%" then
        return ("%%%s%s%s%sf%%%%"):format(sign, zero, width, dot == "" and ".6" or dot),
            "100 * " .. emit(value, 11)
    end
    if not ("defgGxXs"):find(letter ~= "" and letter or "s", 1, true) then
        say(("-- the format {:%s} has no form in Lua"):format(form))
    end
    if kind(value) == "table" and value[3] ~= "shape" and letter .. width == "" then
        return "%s", ("json.encode(%s)"):format((emit(value)))
    end
    if letter == "" and not repr and known.is_scalar(value) then -- its text is its number's
        value = { "call", { "field", translate.from_zero(value), "item" }, {} }
    elseif kind(value) == "number" then value = translate.from_zero(value) end
    letter = letter ~= "" and letter
        or (zero ~= "" or sign ~= "" and kind(value) == "number") and "g" or "s"
    local left = align == "<" or align == "" and width ~= "" and letter == "s"
        and kind(value) ~= "number" and kind(value) ~= "tensor"
    return "%" .. (left and "-" or "") .. sign .. zero .. width .. dot .. letter, (emit(value))
end

local function placeholder(inner)
    local code, form = inner, ""
    local depth = 0
    for i = 1, #inner do
        local c = inner:sub(i, i)
        if c:find "[%(%[{]" then depth = depth + 1
        elseif c:find "[%)%]}]" then depth = depth - 1
        elseif c == ":" and depth == 0 then
            code, form = inner:sub(1, i - 1), inner:sub(i + 1)
            break
        end
    end
    local repr = code:find "![ra]%s*$" ~= nil
    code = code:gsub("![rsa]%s*$", "")
    local named = code:match "^(.-[%w_%)%]])%s*=%s*$"
    local node = require "shell.parse".expression(named or code)
    local text, value = formatted(form, node, repr or named)
    if repr and kind(node) == "string" then text = "'" .. text .. "'" end
    return (named and named .. "=" or "") .. text, value
end

local function f_string(node)
    local text, format, list, at = node[2], {}, {}, 1
    local function literal_text(s)
        return (s:gsub("{{", "{"):gsub("}}", "}"):gsub("%%", "%%%%"))
    end
    while true do
        local s = text:find("{", at, true)
        while s and text:sub(s + 1, s + 1) == "{" do s = text:find("{", s + 2, true) end
        if not s then break end
        local inner = text:match("^%b{}", s) or say "a brace that is not closed"
        format[#format + 1] = literal_text(text:sub(at, s - 1))
        format[#format + 1], list[#list + 1] = placeholder(inner:sub(2, -2))
        at = s + #inner
    end
    local rest = text:sub(at)
    if #list == 0 then
        return node.quote .. rest:gsub("{{", "{"):gsub("}}", "}") .. node.quote, 13
    end
    local whole = (table.concat(format) .. literal_text(rest)):gsub("\n", "\\n")
    if node.quote == "'" then whole = whole:gsub("\\'", "'"):gsub('"', '\\"') end
    return ('("%s"):format(%s)'):format(whole, table.concat(list, ", "))
end

-- ---- names of parameters ----

local NAMES <const> = "numbers in the names of parameters count from 1 here"
local FILES <const> = { pt = true, pth = true, bin = true, npz = true, npy = true, txt = true,
    safetensors = true }

-- The name with its numbers counted from 1, 3.weight of 2.weight; nil of any other text.
local function raised(text)
    if not text:find "^[%w_.]+$" or text:find "^%d+%.%d+$" or FILES[text:match "[^.]*$"] then
        return nil
    end
    local name, n = ("." .. text .. "."):gsub("%.(%d+)%f[.]", function(number)
        return "." .. math.tointeger(number) + 1
    end)
    return n > 0 and name:sub(2, -2) or nil
end

-- Whether the table has tensors by names with a number: "one", counted from 1; "zero", from 0.
local function named(v)
    local of
    for key, value in next, type(v) == "table" and getmetatable(v) == nil and v or {} do
        if type(key) ~= "string" or not gpush.is_tensor(value) then return nil end
        if ("." .. key .. "."):find "%.0%." then return "zero" end
        if raised(key) then of = "one" end
    end
    return of
end

-- Whether the line is about such names: of a model here, "one"; of a file of PyTorch's, "zero".
local function about_names()
    local line = translate.line()
    if line:find "%f[%w_]state_dict%(" then return "one" end
    for word in line:gmatch "[%a_][%w_]*" do
        local of = named(translate.value(word))
        if of then return of end
    end
    return translate.above "%f[%w_]named_%l+%(" and "one" or nil
end

-- The text, or what it is as a parameter's name.
local function name_of(text)
    local name = not translate.counted() and raised(text)
    if not name and text ~= "." then return text end
    local of = about_names()
    local sure = text:find "%a" or text:find "%.$"
    if of == "one" or not of and sure then translate.note(NAMES, true) end
    return of == "one" and name or text
end

function write.string(node)
    if node.prefix:find "f" then
        local text = node[2]
        if (text:find "%.{" or text:find "}%.") and about_names() == "one" then
            translate.note(NAMES, true)
        end
        return f_string(node)
    end
    if node.prefix:find "r" then return '"' .. node[2]:gsub("[\n\"\\]", escapes) .. '"', 13 end
    if node.triple then return '"' .. node[2]:gsub("[\n\"]", escapes) .. '"', 13 end
    return node.quote .. name_of(node[2]) .. node.quote, 13
end

-- "{} of {:.2f}".format(a, b)
function translate.formatting(node, args)
    local named, n, list = {}, 0, {}
    for i, a in ipairs(args) do if a[1] == "named" then named[a[2]] = a[3] else args[i] = a end end
    local function value(inner)
        local word, form = inner:match "^([^:]*):?(.*)$"
        if word == "" then n = n + 1 end
        local at = word == "" and n or tonumber(word) and tonumber(word) + 1
        local of = at and args[at] or named[word]
        if not of then say "a format of this kind has no form in Lua" end
        local text, v = formatted(form, of)
        list[#list + 1] = v
        return text
    end
    local text = node[2]:gsub("%%", "%%%%"):gsub("{{", "\1"):gsub("}}", "\2")
        :gsub("{([^{}]*)}", value)
    text = text:gsub("\1", "{"):gsub("\2", "}")
    return ("(%s%s%s):format(%s)"):format(node.quote, text, node.quote, table.concat(list, ", "))
end
