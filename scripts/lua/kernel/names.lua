--!plain
-- Names of kernels: "scale", or of a template "ns::scale<float, 4>", as CUDA's name expressions.
-- What the template's own names stand for is taken from there.
local require = ...
local fail, tokens = require "fail", require "kernel.tokens".tokens

-- Splits the tokens first … last at commas outside of brackets.
local function split(list, first, last)
    local parts, part, depth = {}, {}, 0
    for i = first, last do
        local t = list[i].text
        if t == "<" or t == "(" then depth = depth + 1
        elseif t == ">" or t == ")" then depth = depth - 1 end
        if t == "," and depth == 0 then parts[#parts + 1], part = part, {}
        else part[#part + 1] = list[i] end
    end
    if #part > 0 then parts[#parts + 1] = part end
    return parts, depth
end

-- A template's parameters, of the tokens in its < >: {name =, type = whether it is one, default =}.
local function template_of(list, first, last, what)
    local params = {}
    for k, part in ipairs((split(list, first, last))) do
        local p, stop = { type = part[1].text == "typename" or part[1].text == "class" }, #part
        for i, t in ipairs(part) do
            if t.text == "=" then
                p.default, stop = table.move(part, i + 1, #part, 1, {}), i - 1
                break
            end
            if t.text == "." or t.text == "<" then
                fail("%s: parameter %d of its template is not taken here (expected a type or a \z
                    number)", what, k)
            end
        end
        p.name = stop > 1 and part[stop].kind == "word" and part[stop].text or ""
        params[k] = p
    end
    return params
end

-- The name before < and the arguments in it, as lists of tokens; nil: it has none.
local function read(name)
    local base, rest = name:match "^%s*([%a_\x80-\xff][%w_:\x80-\xff]*)%s*(.-)%s*$"
    local list = rest and rest ~= "" and tokens(rest) or {}
    local ok = base and not name:find "[^%w%s_:<>,*&()+%-\x80-\xff]"
    if ok and #list == 0 then return base end
    local args, depth
    if ok and list[1].text == "<" and list[#list].text == ">" then
        args, depth = split(list, 2, #list - 1)
    end
    if depth ~= 0 then
        fail("cuda.kernel: name '%s': expected a name, or one with a template's arguments, as in \z
            'scale<float, 4>'", name)
    end
    return base, args
end

-- The tokens that a template's types stand for, in a copy of env.
local function bind(kernel, args, env)
    local all = setmetatable({}, { __index = env })
    if not kernel.template then
        if args then fail("cuda.kernel: '%s' is no template", kernel.name) end
        return all
    end
    args = args or {}
    for k, p in ipairs(kernel.template) do
        local arg = args[k] or p.default
        if not arg then
            fail("cuda.kernel: '%s' is a template: its argument '%s' is missing, as in '%s<%s>'",
                kernel.name, p.name, kernel.name, p.type and "float" or "128")
        end
        if p.type then all[p.name] = arg end
    end
    if #args > #kernel.template then
        fail("cuda.kernel: '%s': %d arguments for the %d of its template", kernel.name, #args,
            #kernel.template)
    end
    return all
end

return { read = read, bind = bind, template_of = template_of }
