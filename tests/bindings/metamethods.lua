--!plain
-- Metamethods and methods of gpush's types, reached by getmetatable or the registry and called with
-- anything: an error or nothing, never a crash; and what a script has closed by hand can be closed
-- again, and used only with an error.
local t = require "tap"
local g = require "gpush"

local closed = g.ones(2)
getmetatable(closed).__gc(closed)
local loader = g.data.Loader { { size = 4, get = function(_, i) return i end }, batch = 2 }
local pooled = g.data.Loader { { size = 4, get = function(_, i) return i end }, batch = 2,
    workers = 1 }

-- What ops give as long as nothing that was closed has taken along what they need.
local function working()
    local y = g.ones(2) + 1
    return y:tolist()
end

-- Makes one object of every type that scripts see.
local makers = {
    tensor = function() return g.ones(2, 3) end,
    stream = function() return g.stream "sim" end,
    event = function() return g.stream "sim":record() end,
    ["stream guard"] = function()
        local guard = g.stream "sim":use()
        getmetatable(guard).__close(guard)
        return guard
    end,
    profile = function() return g.profile.run(function() return g.ones(2) + 1 end) end,
    region = function() return g.profile.region "here" end,
    allow = function() return g.sync.allow "a test" end,
    budget = function() return g.sync.budget { max = 1 } end,
    no_grad = function() return g.no_grad() end,
    hook = function()
        return g.ones(2):requires_grad_():register_hook(function() end)
    end,
    future = function() return g.fork(function() return g.ones(2) + 1 end) end,
    rng = function() return g.get_rng_state() end,
    module = function() return g.nn.Linear(2, 2) end,
    shape = function() return g.ones(2, 3).shape end,
    optimizer = function() return g.optim.SGD({ g.ones(2) }, { lr = 1 }) end,
    loader = function() return loader end,
    pass = function() return loader() end,
}
for _, pass in ipairs { loader, pooled } do -- what a pass holds is reached by upvalues
    local iterator = pass()
    for i = 1, 20 do
        local name, value = debug.getupvalue(iterator, i)
        if not name then break end
        if type(value) == "userdata" then
            makers["loader's " .. name] = function() return value end
        end
    end
end

-- A closed coroutine, a forged object and values of every type.
local function hostile(meta)
    local forged = setmetatable({}, { __index = meta, __name = "forged" })
    return { 0.5, "x", {}, true, io.stdout, print, coroutine.create(print), closed, g.ones(1),
        forged, g.stream "sim" }
end

-- What reads standard input or ends the program is no metamethod.
local calls = 0
local function batter(fn, values)
    calls = calls + 1
    pcall(fn)
    for _, v in ipairs(values) do
        calls = calls + 3
        pcall(fn, v)
        pcall(fn, v, v)
        pcall(fn, v, nil, v)
    end
end
local seen = {}
local function walk(meta)
    if type(meta) ~= "table" or seen[meta] then return end
    seen[meta] = true
    local values = hostile(meta)
    for key, fn in pairs(meta) do
        if type(fn) == "function" and type(key) == "string" then batter(fn, values) end
    end
end

local names = {}
for name in pairs(makers) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
    local object = makers[name]()
    local meta = debug.getmetatable(object)
    walk(meta)
    local methods = meta and rawget(meta, "__index")
    if type(object) == "userdata" then walk(methods) end
    for i = 1, 5 do -- the table of methods of an __index in C
        local _, up = debug.getupvalue(type(methods) == "function" and methods or print, i)
        if type(object) == "userdata" then walk(up) end
    end
    if type(meta) == "table" then
        for _ = 1, 2 do
            for _, close in ipairs { "__close", "__gc" } do
                if rawget(meta, close) then pcall(rawget(meta, close), object) end
            end
        end
        for key, fn in pairs(type(methods) == "table" and methods or {}) do
            if type(object) == "userdata" and type(fn) == "function" then
                calls = calls + 1
                pcall(fn, object, object)
                if key == "use" then g.synchronize() end
            end
        end
        if type(object) == "userdata" then pcall(tostring, object) end
        t.is(working(), { 2.0, 2.0 }, name .. ": closed twice, and used")
    end
end

-- Metatables of types that scripts do not get objects of.
local others = 0
for key, meta in pairs(debug.getregistry()) do
    if type(key) == "string" and type(meta) == "table" and rawget(meta, "__name") == key
        and key:find "^gpush" then
        others = others + 1
        walk(meta)
    end
end
t.ok(others > 8, others .. " metatables by their names")
t.ok(calls > 4000, calls .. " calls")

-- Tables with such a metatable are finalized with it.
for name, make in pairs(makers) do
    local meta = debug.getmetatable(make())
    local forged = type(meta) == "table" and not rawget(meta, "__metatable") and {}
    if forged then
        debug.setmetatable(forged, meta)
        pcall(tostring, forged)
        pcall(function() return forged.x, #forged, forged + 1 end)
        pcall(function() forged.x = 1 end)
        t.is(working(), { 2.0, 2.0 }, name .. ": forged")
    end
end
collectgarbage()
collectgarbage()
local x = g.ones(3, { requires_grad = true })
;(x * 2):sum():backward()
t.ok(g.equal(x.grad, g.full({ 3 }, 2.0)), "ops and backward work as before")
t.ok(g.is_grad_enabled(), "and are recorded")
t.is(g.sync.mode, "off", "modes are as they were")
local n = 0
for _ in pooled() do n = n + 1 end
t.is(n, 2, "a loader, too")
t.done()
