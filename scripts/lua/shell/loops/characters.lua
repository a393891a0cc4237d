--!plain
-- What a loop goes through beside lists, for loops: lines of a file, keys of a dict, and what a
-- parameter holds, a list or a text, whose characters ipairs leaves out: the body tells which.
local require = ...
local translate, known = require "shell.translate", require "shell.known"
local kind, path = translate.kind, translate.path
local characters = {}

local function is_dict(node) return require "shell.loops".is_dict(node) end

-- What the keys of a dict are.
function characters.keys_of(over)
    local v = known.value(over)
    return type(v) == "table" and type(next(v)) == "number" and "values" or "string"
end

-- Whether the trees take the variable for a text: a key of a dict, ord's, compared with a text.
local function of_text(node, name)
    if type(node) ~= "table" then return false end
    local function is(e) return type(e) == "table" and e[1] == "name" and e[2] == name end
    local k, a, b = node[1], node[2], node[3]
    if k == "index" and is(b[1]) then return is_dict(a) and characters.keys_of(a) == "string" end
    if k == "compare" and (is(a) and (kind(node[4]) == "string" or is_dict(node[4]))
        or is(node[4]) and kind(a) == "string") then
        return true
    end
    if k == "call" and is(b[1]) and (path(a) == "ord" or a[3] == "get") then return true end
    if k == "call" and a[1] == "field" and is(a[2]) and (string[a[3]] or a[3]:find "^is") then
        return true
    end
    for _, part in next, node do if of_text(part, name) then return true end end
    return false
end

-- The list that a loop goes through; a parameter may be a text.
function characters.list(over, name, trees)
    local s = over[2]
    if over[1] ~= "name" or translate.of_loop(s) ~= "unknown" then
        return translate.expression(over)
    end
    if not of_text(trees, name) then
        translate.note(("of a text: for %s in %s:gmatch(utf8.charpattern) do"):format(name, s))
        return s
    end
    return translate.renamed(('type(%s) == "table" and %s or (function() local t = {} \z
        for v in %s:gmatch(utf8.charpattern) do t[#t + 1] = v end return t end)()'):format(s, s, s),
        "t v")
end

-- What goes through the lines of an open file, as Python's with their ends; nil of other values.
function characters.lines_of(node)
    local of = translate.origin(node)
    local opened = of[1] == "call" and path(of[2]) == "open" and of[3]
    if opened and of == node and opened[1] then
        return ('io.lines(%s, "L")'):format((translate.expression(opened[1])))
    end
    local file = opened or path(of) == "sys.stdin" or node[1] == "name"
        and (io.type(translate.value(node[2])) or translate.is_file(node[2]))
    return file and translate.expression(node, 14) .. ':lines "L"' or nil
end

return characters
