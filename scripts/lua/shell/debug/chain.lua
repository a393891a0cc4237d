--!plain
-- :dbg x:matmul(y):relu():sum(): the steps of a chain of calls, fields and indices, one after
-- another, each with its value, its times, and whether it waited. The text is split at the places
-- where what is before and after them are Lua on their own; what is no chain is one step.
local require = ...
local gpush, shell = require "gpush", require "shell"
local native = shell.native
local BEFORE = "(...)" -- the value of the step before; Lua's messages give it no name

-- The end of one call, field or index of text from `at` on, or nil.
local function suffix_end(text, at)
    local open = text:match("^%s*:%s*[%a_][%w_]*%s*()", at) or text:match("^%s*()", at)
    local method = text:find("^%s*:", at)
    local stop = text:match("^%b()()", open) or text:match("^%b{}()", open)
        or text:match('^"[^"\\\n]*"()', open) or text:match("^'[^'\\\n]*'()", open)
    if method or stop then return stop end
    return text:match("^%b[]()", open) or text:match("^%.%s*[%a_][%w_]*()", open)
end

local function compiles(text) return load("return " .. text, "=dbg") ~= nil end

-- The texts of the steps: the first as it stands, the others to follow a value.
local function split(text)
    local at = text:match "^[%a_][%w_.]*()" or text:match "^%b()()"
    local steps = {}
    while at and at <= #text do
        local stop = suffix_end(text, at)
        if not stop or not compiles(BEFORE .. text:sub(at, stop - 1)) then return { text } end
        if #steps == 0 and not text:find("^%s*[:%[.]", at) then -- f(x) is the first step
            steps[1] = text:sub(1, stop - 1)
        else
            if #steps == 0 then steps[1] = text:sub(1, at - 1) end
            steps[#steps + 1] = text:sub(at, stop - 1)
        end
        at = stop
    end
    return at and #steps > 1 and steps or { text }
end

-- Whether no field or method can be read from the value.
local function is_closed(v) return type(v) ~= "table" and debug.getmetatable(v) == nil end

-- The functions of the steps, which errors find under the input's name and at its lines. Where the
-- first is a name, also one of both first steps, whose message has that name: for a value that is
-- nil, or another one without fields.
local function compiled(text, steps, compile)
    if #steps == 1 then return { compile(text, "dbg") } end
    local out, name, lines = {}, native.input(text), ""
    local function chunk(body)
        local text = "local gpush_line_ <close> = nil return " .. body
        return assert(load(lines .. text .. "\n", name))
    end
    for i, step in ipairs(steps) do
        local before = i > 1 and BEFORE or ""
        out[i] = chunk(before .. step)
        if i == 2 and steps[1]:find "^[%a_][%w_.]*$" then
            out.named = chunk(steps[1] .. step)
        end
        lines = lines .. step:gsub("[^\n]", "")
    end
    return out
end

-- Runs f(value): its results, host and device seconds with their kind, and its waits.
local function measured(f, value, commands)
    local before, t0 = commands.waits(), native.now()
    native.busy(true)
    local results = table.pack(commands.chunk_of(f)(value))
    local host, waited = native.now() - t0, commands.waits() - before
    gpush.synchronize()
    local device, kind = native.busy(false)
    return results, { host = host, device = device, kind = kind, waits = waited }
end

-- A step as one line.
local function shown(step) return (step:gsub("%s*\n%s*", "")) end

-- One line: the step, its value, what it took.
local function put(step, wide, value, used, commands)
    local line = ("%-" .. wide .. "s  %s; host %s"):format(step, commands.describe(value),
        commands.seconds(used.host))
    if used.device > 0 then
        line = ("%s, device %s (%s)"):format(line, commands.seconds(used.device), used.kind)
    end
    if used.waits > 0 then
        local times = used.waits > 1 and (" %d times"):format(used.waits) or ""
        line = ("%s, waited%s"):format(line, times)
    end
    print(line)
end

-- commands: describe, seconds, waits, chunk_of and compile of commands.lua.
return function(text, commands)
    text = text:match "^%s*(.-)[%s;]*$"
    local _ <close> = setmetatable({}, { __close = function() native.busy(false) end })
    local results, wide, used = { n = 0 }, 0
    local steps = split(text)
    for _, step in ipairs(steps) do wide = math.max(wide, math.min(#shown(step), 40)) end
    local functions = compiled(text, steps, commands.compile)
    gpush.synchronize()
    for i, step in ipairs(steps) do
        local f = i == 2 and is_closed(results[1]) and functions.named or functions[i]
        results, used = measured(f, results[1], commands)
        put(shown(step), wide, results[1], used, commands)
    end
    return table.unpack(results, 1, results.n)
end
