--!plain
-- fuse and capture: what a function that is run once reads besides its arguments, so that a change
-- is noticed.
local require = ...
local gpush, fail, registry = require "gpush", require "fail", require "registry"
local dir = require "dir"
local make = registry["gpush.fuse"]
local is_tensor, another = gpush.is_tensor, registry["gpush.another"]
local getupvalue, getinfo = debug.getupvalue, debug.getinfo

local MOST <const> = 20000 -- values that are compared at each call

-- ---- the texts in a function's code: names of globals and fields that it may read ----

-- A number of Lua's binary format: 7 bits a byte, the last of which has bit 8.
local function size(code, at)
    local n = 0
    repeat
        local byte = code:byte(at)
        n, at = n << 7 | byte & 0x7f, at + 1
    until byte >= 0x80
    return n, at
end

local function text(code, at)
    local n
    n, at = size(code, at)
    if n == 0 then return nil, at end
    return code:sub(at, at + n - 2), at + n - 1
end

local constants = { [0x13] = 8, [0x03] = 8 } -- bytes after the type
local function read_constants(code, at, names)
    local n
    n, at = size(code, at)
    for _ = 1, n do
        local type = code:byte(at)
        at = at + 1 + (constants[type] or 0)
        if type == 0x04 or type == 0x14 then
            local name
            name, at = text(code, at)
            names[name] = true
        end
    end
    return at
end

-- Skips n entries, each read by a function of the place.
local function skip(code, at, entry)
    local n
    n, at = size(code, at)
    for _ = 1, n do at = entry(code, at) end
    return at
end

local function sizes(count)
    return function(code, at)
        for _ = 1, count do _, at = size(code, at) end
        return at
    end
end

local function one_text(code, at) return select(2, text(code, at)) end
local function local_name(code, at) return sizes(2)(code, one_text(code, at)) end

-- Adds the texts of a function, and of those in it, to names; returns the place after it.
local function read_function(code, at, names)
    local n
    at = sizes(2)(code, one_text(code, at)) + 3 -- source, lines; numbers of registers
    n, at = size(code, at)
    at = read_constants(code, at + 4 * n, names)
    n, at = size(code, at)
    at = at + 3 * n -- upvalues
    at = skip(code, at, function(_, place) return read_function(code, place, names) end)
    n, at = size(code, at)
    at = skip(code, at + n, sizes(2)) -- lines
    return skip(code, skip(code, at, local_name), one_text)
end

local HEADER <const> = 31 -- and a byte, the number of upvalues
local known = setmetatable({}, { __mode = "k" })

local function names_in(fn)
    local names = known[fn]
    if names then return names end
    names = {}
    read_function(string.dump(fn, true), HEADER + 2, names)
    known[fn] = names
    return names
end

-- ---- what a function reaches ----

local function shipped(fn)
    local source = getinfo(fn, "S").source
    return source:sub(1, #dir + 1) == "@" .. dir
end

-- The libraries' tables, of which a function reads single fields by name.
local function libraries()
    local list = { [_G] = true, [package.loaded] = true }
    for _, lib in next, package.loaded do list[lib] = true end
    for _, field in next, gpush do
        if type(field) == "table" then list[field] = true end
    end
    return list
end

local function is_class(t)
    for _, field in next, t do
        if type(field) == "function" and getinfo(field, "S").what == "Lua" and shipped(field) then
            return true
        end
    end
    return false
end

-- Lists the guards of fn: see bindings/api/op/fuse.c. Also gives their number, and how many were
-- left out: the keys of tables in except[table].
local function collect(fn, except)
    local list, n, seen, libs, left = {}, 0, {}, libraries(), 0
    local names, tables, todo = {}, {}, { fn }
    local function add(where, key, value)
        list[n + 1], list[n + 2] = where, key
        list[n + 3] = is_tensor(value) and another(value) or value
        n = n + 3
        local kind = type(value)
        if (kind == "table" or kind == "function") and not seen[value] then
            seen[value] = true
            todo[#todo + 1] = value
        end
        if n > 3 * MOST then
            fail("fuse: the function reaches more than %d values, which each call would have to \z
                compare; pass what it needs as arguments", MOST)
        end
    end
    -- Each text of the code may be a key of each table, there or not.
    local function pair(name, t)
        local value = rawget(t, name)
        if value == nil or libs[t] then add(t, name, value) end
    end
    local function add_function(f)
        local own = f ~= fn and shipped(f) -- not the function that stands for an object
        if own or getinfo(f, "S").what == "C" then return end
        for name in next, names_in(f) do
            if not names[name] then
                names[name] = true
                for _, t in ipairs(tables) do pair(name, t) end
            end
        end
        for i = 1, getinfo(f, "u").nups do
            local _, value = getupvalue(f, i)
            add(f, i, value)
        end
    end
    local function add_table(t)
        tables[#tables + 1] = t
        for name in next, names do pair(name, t) end
        if libs[t] then return end
        local dynamic = except and except[t]
        for key, value in next, t do
            if dynamic and dynamic[key] then left = left + 1
            else add(t, key, value) end
        end
        add(t, #t + 1, nil)
        local meta = debug.getmetatable(t)
        local class = meta and rawget(meta, "__index")
        if type(class) == "table" and not seen[class] and not is_class(class) then
            seen[class] = true
            todo[#todo + 1] = class
        end
    end
    seen[fn] = true
    while #todo > 0 do
        local value = table.remove(todo)
        if type(value) == "function" then add_function(value) else add_table(value) end
    end
    return list, n // 3, n // 3 + left
end

-- fn as a Lua function: objects that can be called are called by one.
local function as_function(fn)
    if type(fn) ~= "function" then
        local object = fn
        return function(...) return object(...) end
    end
    if getinfo(fn, "S").what == "C" then
        local inner = fn
        return function(...) return inner(...) end
    end
    return fn
end

-- A fused function, and a captured one: see docs/performance.md.
local function fuse(fn) return make(as_function(fn), collect) end
local function capture(fn)
    return registry["gpush.capture"](as_function(fn), collect) -- as it is at the call
end

return { fuse = fuse, capture = capture }
