--!plain
-- dotted(first, last): looks for a method that was called with a dot, opt.step() for opt:step(), or
-- the reverse, among the calls at stack levels first to last (1 is dotted itself); returns a
-- message that says so, in the user's words, and its place, "train.lua:5: ". Returns the function,
-- which runs only when an error is raised: it reads the call from its source line.
local require = ...
local source, registry = require "source", require "registry"
local scripts = "@" .. require "dir" .. "/"

-- The start of the brackets that end at byte `at` of the line, or nil.
local function opening(line, at)
    local depth = 0
    for i = at, 1, -1 do
        local c = line:sub(i, i)
        if c:find "[%])}]" then depth = depth + 1 elseif c:find "[%[({]" then depth = depth - 1 end
        if depth == 0 then return i end
    end
end

-- The expression that ends at byte `at` of the line: names, fields, calls and indices.
local function expression(line, at)
    local from = at + 1
    while from > 1 do
        local c = line:sub(from - 1, from - 1)
        local open = c:find "[%])]" and opening(line, from - 1)
        if open then from = open
        elseif c:find "[%w_:]" or c == "." and line:sub(from - 2, from - 2) ~=
            "." then from = from - 1
        else break end
    end
    return (line:sub(from, at):gsub("^[.:]+", ""))
end

-- The value of a variable in the function at the level: a local variable, an upvalue or a global.
local function variable(level, name)
    local value, found
    for i = 1, math.huge do
        local key, v = debug.getlocal(level + 1, i)
        if not key then break end
        if key == name then value, found = v, true end
    end
    if found then return value end
    local fn = debug.getinfo(level + 1, "f").func
    for i = 1, math.huge do
        local key, v = debug.getupvalue(fn, i)
        if not key then break end
        if key == name then return v end
    end
    return rawget(_G, name)
end

-- The value of a path such as w.grad or layers[1] at the level; nil where only running it would
-- tell.
local function value_of(level, path)
    local name, rest = path:match "^([%a_][%w_]*)(.*)$"
    if not name then return nil end
    local v = variable(level + 1, name)
    while rest ~= "" and v ~= nil do
        local key, after = rest:match "^%.([%a_][%w_]*)(.*)$"
        if not key then key, after = rest:match "^%[([%d]+)%](.*)$" end
        if not key then return nil end
        local ok, part = pcall(function() return v[math.tointeger(key) or key] end)
        v, rest = ok and part or nil, after
    end
    return v
end

-- Whether fn (nil: any function) is a method of v: found by its metatable, or in v itself under a
-- definition that begins with self.
local function is_method(v, name, fn)
    for _, area in next, package.loaded.gpush or {} do -- such as cuda: its functions take no self
        if rawequal(area, v) then return false end
    end
    if type(v) == "table" and rawget(v, name) ~= nil then
        return rawequal(rawget(v, name), fn) and debug.getlocal(fn, 1) == "self"
            and rawget(v, "__index") == nil
    end
    local ok, found = pcall(function() return v[name] end)
    return ok and (rawequal(found, fn) or fn == nil and type(found) == "function")
end

-- The arguments after byte `at` of the line, as they are shown.
local function arguments(line, at)
    local text = line:match("^%s*(%b())", at) or line:match("^%s*(%b{})", at)
        or line:match([[^%s*(%b"")]], at) or line:match("^%s*(%b'')", at)
    return text and #text <= 40 and text or "(…)"
end

-- Whether the arguments may be dims as Python counts them, which are other dims here: the prompt's
-- hint says which.
local function has_dim(name, args)
    local gpush = args:find "^%(.*%d" and package.loaded.gpush
    local ops = gpush and gpush.ops(true)
    local op = ops and (ops[name] or ops[name:match "^(.+)_$"]) -- or in place
    local sig = op and op.sig or ""
    return ops and (sig:find "%f[%w]dim" or name == "size") and true
end

-- Whether fn is the method of tensors called name. An object that only running would tell is then
-- taken for a tensor.
local function is_tensor_method(name, fn)
    local methods = registry["gpush.tensor.methods"]
    return fn ~= nil and methods ~= nil and rawequal(rawget(methods, name), fn)
end

-- Describes the call at the level, whose function is fn, if it is name.method(…) and the object is
-- not its first argument. name nil: any, as for a function that the method ended with and that so
-- replaced it.
local function dotted_at(level, fn, name, caller)
    local line = source.line(source.text(caller.source), caller.currentline)
    local _, first = debug.getlocal(level + 1, 1)
    for at, name,
        after in (line or ""):gmatch("()%.(" .. (name or "[%a_][%w_]*") ..
            ")()%f[^%w_]%s*%f[({\"']")
    do
        local object = expression(line, at - 1)
        local v = object ~= "" and value_of(level + 2, object)
        -- there is no object that the method could be meant for
        local other = type(first) ~= "userdata" and type(first) ~= "table"
        local computed = object:find "[%])]$" and v == nil
            and (first == nil or other and is_tensor_method(name, fn))
        if computed or v and not rawequal(v, first) and is_method(v, name, fn) then
            local args = arguments(line, after)
            return ("%s.%s%s: call a method with a colon: %s:%s%s"):format(
                object, name, args, object, name, has_dim(name, args) and "(…)" or args)
        end
    end
end

-- Whether t is a table of functions, one of Lua's libraries or of gpush's areas.
local function is_library(t)
    for _, libraries in ipairs { package.loaded, package.loaded.gpush or {} } do
        for _, library in next, libraries do
            if rawequal(library, t) then return true end
        end
    end
end

-- The opposite mistake: linalg:norm(x) passes the library to the function.
local function with_colon(library, fn, name, caller)
    local functions = registry["gpush.guarded"][library] or library
    if type(functions) ~= "table" or rawget(functions, name) ~= fn or not is_library(library) then
        return nil
    end
    local line = source.line(source.text(caller.source), caller.currentline) or ""
    local at, after = line:match("()%:%s*" .. name .. "()%f[^%w_]")
    if not at then return nil end
    local object, args = expression(line, at - 1), arguments(line, after)
    return ("%s:%s%s: a function of a library takes a dot: %s.%s%s"):format(
        object, name, args, object, name, args)
end

return function(first, last)
    for level = first, last do
        local info, caller = debug.getinfo(level, "nft"), debug.getinfo(level + 1, "Sl")
        if not caller then return nil end
        local first, self = debug.getlocal(level, 1)
        local plain = info.namewhat == "field" or info.istailcall and first == "self"
            and self == nil
        if plain and caller.currentline > 0 and caller.source:sub(1, #scripts) ~= scripts then
            local message = dotted_at(level, not info.istailcall and info.func or nil, info.name,
                caller)
            if message then
                return message, ("%s:%d: "):format(caller.short_src, caller.currentline)
            end
        elseif info.namewhat == "method" and caller.currentline > 0 then
            local message = with_colon(self, info.func, info.name, caller)
            if message then
                return message, ("%s:%d: "):format(caller.short_src, caller.currentline)
            end
        end
    end
end
