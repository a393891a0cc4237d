--!plain
-- Notes, once, about what runs and means something else: notes(text) writes them of a line that is
-- Lua. True, False and None are variables to Lua, and nil; f"{x}" calls f; x.size is the method;
-- [[1], [2]] is a text; A * A is elementwise; y <- x compares; v[-1] is the last element.
local require = ...
local gpush = require "gpush"
local mask = require "shell.parse.mask"

local told = {} -- what was said, by its kind
local function say(kind, ...)
    if told[kind] then return end
    told[kind] = true
    io.stderr:write(string.format(...), "\n")
end

local function tensor(name)
    local v = name and rawget(_G, name)
    return gpush.is_tensor(v) and v or nil
end

local function of_texts(masked, kept)
    local called, n = masked:match "%f[%w_]([fF])[\"']\2(%d+)\3"
    if called and kept[tonumber(n)]:find "{.+}" then
        local form = require "shell.foreign".line(kept.whole)
        say("f", "%s\"…\" calls the function %s; Lua's texts with values are %s", called, called,
            form or '("%s"):format(x)')
    end
end

local function of_lists(text)
    local list = text:match "%[%[[^%[%]\n]*%]%s*,%s*%[[^%[%]\n]*%]%]"
    if not list then return end
    local braces = list:gsub("[%[%]]", { ["["] = "{", ["]"] = "}" })
    say("list", "%s is a text to Lua: lists are %s", list, braces)
end

-- What languages whose indices count from 1 mean by a line.
local function of_language(text)
    local a, b = text:match "%f[%w_.]([%a_][%w_]*)%s*%*%s*([%a_][%w_]*)%f[^%w_.:(%[]"
    local one, two = tensor(a), tensor(b)
    local matrices = one and two and one.ndim == 2 and two.ndim == 2
    local set, value = text:match "^%s*([%a_][%w_.]*)%s*<%-%s+(.*)"
    if set then say("set", "%s <- … compares %s with -…: R's assignment is %s = %s", set, set, set,
        value) end
    local last, n = text:match "%f[%w_.]([%a_][%w_]*)%[%-(%d+)%]"
    if not matrices and not (last and tensor(last)) then return end
    local language = require "shell.parse.language"(text)
    if matrices and (language == "julia" or language == "matlab") then
        say("product", "%s * %s is elementwise: Julia's product is %s @ %s", a, b, a, b)
    elseif last and language == "R" then
        say("last", "%s[-%s] counts from the end: R's, without element %s, is cat of the parts",
            last, n, n)
    end
end

local constants = { True = "true", False = "false", None = "nil" }
local function of_constants(text)
    for name in text:gmatch "%f[%w_.:]%u%l+%f[^%w_]" do
        local lua = constants[name]
        if lua and rawget(_G, name) == nil and not text:find(name .. "%s*=[^=]") then
            say(name, "%s is a variable that was never set, so nil: Lua writes %s", name, lua)
        end
    end
end

return function(whole)
    local masked, kept = mask(whole)
    kept.whole = whole
    of_texts(masked, kept)
    local text = masked:gsub("\2%d+\3", "")
    local sized = text:match "([%a_][%w_]*)%.size%f[^%w_(]"
    if sized and tensor(sized) then
        say("size", "%s.size is the method: %s:size() gives the sizes, %s:numel() NumPy's number \z
            of elements", sized, sized, sized)
    end
    of_lists(text)
    of_language(text)
    of_constants(text)
end
