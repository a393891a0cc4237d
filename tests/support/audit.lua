-- For tests/bindings/audit*.lua: one call with a mistake in it, and its outcome. A call is
-- accepted, refused well (the error names the function, the argument or its value, and the script's
-- line) or refused poorly.
local g = require "gpush"
local A = { calls = 0, good = 0, poor = {}, open = {}, accepted = 0, seen = {} }

-- Names that the calls may use.
local env = setmetatable({}, { __index = _G })
A.env = env
function env.f(...) return g.rand(...) * 0.8 + 0.1 end
function env.i(v) return g.tensor(v, { dtype = "i64" }) end
function env.b(v) return g.tensor(v) end
-- A list and a function that have no end.
function env.endless(v)
    return setmetatable({}, { __len = function() return math.maxinteger end,
        __index = function(_, k) return math.type(k) and v or nil end })
end
function env.gives(v) return function() return v end end
env.spd = g.tensor { { 4.0, 1, 0 }, { 1, 3, 1 }, { 0, 1, 2 } }

-- The signature of a function: help reads it for ops, classes and functions alike.
function A.signature(fn) return select(2, debug.getregistry()["gpush.signature"](fn)) end

-- Words that reveal Lua's own errors: a name inside gpush, or one of its files.
local leaks = { "local '", "upvalue '", "field '", "method '", "attempt to ", "scripts/lua/",
    "global '" }
local function names(message, public, p, v)
    local short = public:gsub("_$", "")
    local last = short:match "[^.:]*$"
    if not (message:find(short, 1, true) or message:find((short:gsub("[.:]", "_")), 1, true)
        or message:find(last, 1, true)) then
        return false
    end
    if not p then return true end
    local value = v and v:match "^'(.*)'$"
    return message:find(p.name, 1, true) or value and message:find("'" .. value .. "'", 1, true)
        or message:find("dim", 1, true)
        or message:find("arguments given", 1, true) or message:find("element", 1, true)
            or message:find("expected", 1, true)
end
local function is_good(message, public, p, v)
    if message:sub(1, 9) ~= "audit:1: " then return false end
    for _, text in ipairs(leaks) do
        if message:find(text, 1, true) then return false end
    end
    return names(message, public, p, v)
end

-- Errors of a part of an object: A.parts lists {object, its words, why}.
A.parts = {}
local function is_part(public, message)
    for _, p in ipairs(A.parts) do
        if public:find(p[1]) and message:find("audit:1: ", 1, true) == 1 and message:find(p[2]) then
            return true
        end
    end
end

local function describe(v)
    local ok, shape = pcall(function()
        return g.is_tensor(v) and v.dtype .. " " .. table.concat(v.shape, "x")
    end)
    return ok and shape or tostring(v):gsub("\n%s*", " "):sub(1, 60)
end

-- Calls that do not return: an error after ten seconds, of which a busy machine may take most.
local clock = debug.getregistry()["gpush.clock"] -- no word about what is queued
local function limited(fn, ...)
    local stop = clock() + 10
    debug.sethook(function()
        if clock() > stop then error("audit:1: it does not return: local '" .. "'", 0) end
    end, "", 1000000)
    local out = table.pack(pcall(fn, ...))
    debug.sethook()
    return out
end

-- Calls fn, or what fn names as text, with arguments as text; `then_called`: the result, which is
-- called with it. judge(public, what, p, v, text) gives the reason why such a call is right, else
-- nil.
function A.try(public, fn, what, p, text, v, judge, then_called)
    local key = public .. "(" .. text .. ")"
    if A.seen[key] then return end
    A.seen[key] = true
    local called = type(fn) == "string" and fn or "fn"
    local chunk = assert(load("local fn = ... local r = table.pack(" .. called .. "(" .. text ..
        ")" .. (then_called or "") .. ") return table.unpack(r, 1, r.n)", "=audit", "t", env))
    A.calls = A.calls + 1
    local out = limited(chunk, fn)
    if not out[1] then
        local message = tostring(out[2])
        if is_part(public, message)
            or is_good(message, public, (what == "wrong" or what == "missing") and p or nil,
                v) then A.good = A.good + 1
        else A.poor[#A.poor + 1] = ("%s: %s"):format(key, (message:gsub("\n%s*", " "))) end
        return
    end
    A.accepted = A.accepted + 1
    if judge(public, what, p, v, text) then return end
    local results = {}
    for i = 2, out.n do results[#results + 1] = describe(out[i]) end
    A.open[#A.open + 1] = ("[%s %s] %s -> %s"):format(
        what, p and p.type .. " " .. p.name or "", key, table.concat(results, ", "))
end

-- A rule is a table of patterns for its subject, and a reason: { "function", what =, type =, param
-- =, value =, why = }, each a pattern for the whole or a list of them, separated by blanks.
local function fits(patterns, text)
    if not patterns then return true end
    for pattern in patterns:gmatch "%S+" do
        if text:find("^" .. pattern .. "$") then return true end
    end
    return false
end
function A.judge(rules)
    return function(public, what, p, v)
        for _, r in ipairs(rules) do
            local value = not r.value or v and r.value[v]
            if value and fits(r[1], public) and fits(r.what, what)
                and fits(r.type, p and p.type or "") and fits(r.param, p and p.name or "") then
                r.used = true
                return r.why
            end
        end
    end
end

-- The figures, open and poor cases, and rules that are no longer needed.
function A.report(t, rules, title)
    local function none(list, name)
        if t.ok(#list == 0, ("%s: %s"):format(title, name)) then return end
        for i = 1, math.min(#list, tonumber(os.getenv "AUDIT_SHOW") or 12) do
            io.stderr:write("#   ", list[i], "\n")
        end
    end
    none(A.open,
        ("%d calls with a mistake: %d refused, %d accepted with a reason"):format(
            A.calls, A.good + #A.poor, A.accepted - #A.open))
    none(A.poor, ("%d errors name the function and the argument"):format(A.good))
    local idle = {}
    for _, r in ipairs(rules) do
        if not r.used then idle[#idle + 1] = ("%s: %s"):format(r[1] or "any", r.why) end
    end
    none(idle, ("each of %d rules is needed"):format(#rules))
end
return A
