--!plain
-- Which language whose indices count from 1 a line is in: language(line, before) is "julia",
-- "matlab" or "R", where ranges include their end and ^ is a power; false where it is Python's,
-- nil where that is not known. It has marks of one of them, or else the last line with such marks
-- before it has: in the text above it, before, or among the prompt's inputs.
local require = ...
local gpush = require "gpush"
local tokens = require "shell.parse.tokens"
local inputs = require "shell.parse.inputs"
local rows = require "shell.parse.array_rows"

local of_python = { "^%s*>>>", "%f[%w_]import%s", "%f[%w_]torch%.", "%f[%w_]np%.", "%f[%w_]def%s",
    "%f[%w_]lambda%f[^%w_]", "%f[%w_]True%f[^%w_]", "%f[%w_]False%f[^%w_]",
    "%f[%w_]None%f[^%w_]", "%f[%w_]range%(", "%f[%w_]len%(" }
local marks = {
    { "julia", "%f[%w_]range%([^()]*%f[%w](%l+)=", of = { length = true, step = true } },
    { false, of_python },
    { "julia", { "^%s*julia>", "^%s*using%s+%u", "|>", "%f[%w_]%a+!%(", "%f[%w_]CUDA%.%l",
        "%f[%w_]cu%(", "%f[%w_]for%s+%a+%s+in%s+%d+:%w", "%f[%w_]abs2%f[^%w_]",
        "%f[%w_]Float%d%d%f[^%w_]", "%f[%w_.]fill%(%-?[%d.]", "%f[%w_]rev=true" } },
    { "R", { "%f[%w_.:]c%(%s*%-?[%d.\"']", "[%w_%])]%s*<%-%s", "%%[*o/]%%", "%%in%%",
        "%f[%w_]TRUE%f[^%w_]", "%f[%w_]FALSE%f[^%w_]", "[%w_]%[[^%[%]]*,%s*%]", "[%w_]%[%s*,",
        "^%s*library%(" } },
    { "matlab", { "^%s*%[%w+,%s*%w+%]%s*=%s*m[axin]+%(",
        "%f[%w_]m[axin]+%([^()]*,%s*%[%],", "[%w_]%(%s*:%s*[,)]", "[%w_]%([^()]*,%s*:%s*[,)]",
        "[%w_]%([^()]*%f[%w_]end%f[^%w_][^()]*%)", "^%s*for%s+%w+%s*=%s*[%w.]+:[^%s]" } },
    { "julia", { "^%-?[%d.]+:%-?[%d.]+:%-?[%d.]+$", "%f[%w_%[]%[[^%[%],]*;[^%[%],]*%]",
        "%f[%w_%[]%[%-?[%d.]+%s+%-?[%d.]+[^%[%],]*%]" } } }
-- A function that only one of them has, by its name; Python's programs have these, too.
local common = {}
for name in ("map filter list scale array head tail order shuffle reverse transpose round \z
    set is"):gmatch "%a+" do
    common[name] = true
end
local own = {}
for keys in ("\n" .. rows):gmatch "\n(%a[%w_.|!]*)%(" do
    for language, name in keys:gmatch "%f[%w](%a+)%.([%w_]+)" do
        if language ~= "CUDA" and rawget(gpush, name) == nil and not common[name] then
            own[name:gsub("_", ".")] = language
        end
    end
end
local dims_of_python = { flip = true, roll = true, permute = true, tensordot = true, rot90 = true }

-- x[end - 1], unless a variable of that name is set: start, end = 2, 5.
local function has_end(line, before)
    local set = "%f[%w_]end%s*=%f[^=]"
    return line:find "%[[^%[%]]*%f[%w_]end%f[^%w_][^%[%]]*%]"
        and not line:find "%f[%w_]function%f[^%w_]" and rawget(_G, "end_") == nil
        and not line:find(set) and not (before or ""):find(set)
end

local function has(line, list)
    if type(list) == "table" then
        for _, mark in ipairs(list) do if line:find(mark) then return true end end
    end
    return false
end

-- The language of a function that the line calls, or of the variable of a tensor, which only
-- MATLAB indexes so.
local function by_call(line)
    for name in line:gmatch "%f[%w_.:]([%a][%w_.]*)%(" do
        local v = rawget(_G, name)
        if gpush.is_tensor(v) then return "matlab" end
        if v == nil and own[name] then return own[name] end
    end
end

local function language(line)
    for _, m in ipairs(marks) do
        if m.of and m.of[line:match(m[2]) or ""] or has(line, m[2]) then return m[1] end
    end
    local of_dims = line:match "%f[%w_.](%l+)%([^()]*%f[%w_]dims%s*=%f[^=]" -- sum(A, dims = 1)
    if of_dims and not dims_of_python[of_dims] then return "julia" end
    local called = by_call(line)
    if called then return called end
    local ok, list = pcall(tokens, line)
    return ok and list.powers and "julia" or nil
end

-- alone: by the line's own marks.
return function(line, before, alone)
    local known = language(line)
    if alone then return known end
    if known == nil and has_end(line, before) then known = "julia" end
    for _, text in ipairs(known == nil and inputs(before) or {}) do
        if known == nil then known = language(text) end
    end
    return known
end
