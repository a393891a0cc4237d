--!plain
-- Functions, classes and methods that are not ops, called with every plausible mistake, as in
-- tests/bindings/audit.lua for ops: a new one needs a signature, and a valid call in
-- tests/support/audit/surface.lua.
local t = require "tap"
local g = require "gpush"
local A, M, S, rules = require "audit", require "audit.mutants", require "audit.surface",
    require "audit.surface_rules"
A.parts = rules.parts
local judge, env = A.judge(rules), A.env
local scratch = os.tmpname()
os.remove(scratch)
os.execute(("mkdir -p '%s/red'"):format(scratch))

-- Names that the calls may use.
function env.nop() end
function env.one() return 1 end
function env.double(x) return x and x * 2 end
function env.square(x) return x and x * x end
function env.leaf() return env.f(2, 3):requires_grad_() end
function env.leaf64() return g.rand(2, { dtype = "f64" }):requires_grad_() end
-- A gradient scaler after a backward, so that it may step, and an optimizer of that.
function env.scaler()
    local scaler, w = g.amp.GradScaler(), env.leaf()
    env.scaled = g.optim.SGD({ w }, 0.1)
    scaler:scale(w:sum()):backward()
    return scaler
end
function env.sgd() return g.optim.SGD({ env.leaf() }, 0.1) end
function env.two_schedules()
    local o = env.sgd()
    return o, { g.optim.lr.StepLR(o, 2), g.optim.lr.StepLR(o, 3) }
end
function env.later() return g.stream("sim"):record() end
env.folder, env.out, env.npy_file, env.npz_file = scratch, scratch .. "/out", scratch ..
    "/x.npy", scratch .. "/x.npz"
env.png_file, env.safe_file = scratch .. "/red/x.png", scratch .. "/x.safetensors"
g.npy.save(env.npy_file, env.f(2))
g.npz.save(env.npz_file, { x = env.f(2) })
g.image.save(env.png_file, env.f(3, 4, 4))
g.safetensors.save(env.safe_file, { x = env.f(2) })
env.saved = scratch .. "/x.checkpoint"
g.checkpoint.save(env.saved, {})
env.w = env.leaf()
env.o, env.two = env.two_schedules()
env.prof = g.profile.run(function() return g.ones(2) + 1 end)
env.prof_file = scratch .. "/x.profile"
env.prof:save(env.prof_file)

-- The signature of a function, or of a class: that of its constructor.
local function signature(v)
    if type(v) == "function" then return A.signature(v) end
    local meta = type(v) == "table" and getmetatable(v)
    if not meta then return nil end
    if rawget(v, "__help") then return A.signature(rawget(v, "__help")) end
    return type(rawget(meta, "__call")) == "function" and A.signature(meta.__call) or nil
end

local dir = debug.getinfo(g.progress, "S").source:match "^@(.*)/init%.lua$"
local names, function_at, unsigned = {}, {}, {}
local function add(public, v, called)
    if type(v) ~= "function"
        and not (type(v) == "table" and getmetatable(v) and rawget(getmetatable(v), "__call")) then
        return
    end
    if (" " .. S.internal .. " "):find(" " .. public .. " ", 1, true) or S.apart[public] then
        return
    end
    local sig = signature(v)
    if not sig then unsigned[#unsigned + 1] = public return end
    names[#names + 1] = public
    function_at[public] = { sig = sig, called = called }
end

local rows, methods = g.ops(true), debug.getregistry()["gpush.tensor.methods"]
local of_ops = {}
for name in pairs(rows) do
    of_ops[g[name] or false], of_ops[methods[name] or false],
        of_ops[methods[name .. "_"] or false] = true, true, true
end
for _, area in ipairs { "linalg", "fft" } do for _, v in pairs(g[area]) do of_ops[v] = true end end
for name, v in next, g do
    if not of_ops[v] then add("g." .. name, v, "(require 'gpush')." .. name) end
end
for _, area in ipairs(S.areas) do
    local at, all = g, {}
    for key in area:gmatch "[^.]+" do at = at[key] end
    if (getmetatable(at) or {}).homes then pcall(function() return at.Nothing end) end
    for key in pairs(at) do all[key] = true end
    for key in pairs((getmetatable(at) or {}).homes or {}) do all[key] = true end
    for line in io.popen(("ls '%s/%s' 2>/dev/null"):format(dir, (area:gsub("%.", "/")))):lines() do
        if line:find "^%u%w*%.lua$" then all[line:match "^%w+"] = true end
    end
    for key in pairs(all) do
        local ok, v = pcall(function() return at[key] end)
        if ok and type(key) == "string" and key:find "^%a" then
            add(area .. "." .. key, v, area .. "." .. key)
        end
    end
end
-- The methods of an object: those of its metatable and of its base classes. A function that looks
-- them up has them in an upvalue; that of a base class raises only.
local function methods_of(v)
    local found = {}
    local own = debug.getmetatable(v)
    local meta = own
    while type(meta) == "table" do
        local index = rawget(meta, "__index")
        if type(index) == "function" then
            if meta ~= own then break end
            index = select(2, debug.getupvalue(index, type(v) == "userdata" and 1 or 2))
        end
        for key, m in next, type(index) == "table" and index or {} do
            if type(m) == "function" and not key:find "^_" and not found[key] then
                found[key] = m
            end
        end
        meta = type(index) == "table" and debug.getmetatable(index)
    end
    return found
end
-- A method by its second name is the same function, whose errors name the first.
local second = {}
for _, list in pairs(debug.getregistry()["gpush.synonyms"]) do
    for _, name in ipairs(list) do second[name] = true end
end
for kind, text in pairs(S.objects) do
    local v = load("return " .. text, "=object", "t", env)()
    for key, m in pairs(kind == "tensor" and methods or methods_of(v)) do
        if not of_ops[m] and not (kind == "tensor" and second[key]) then
            add(kind .. ":" .. key, m, "(" .. text .. "):" .. key)
        end
    end
end
table.sort(names)

local missing = {}
local function arguments(public)
    if S.calls[public] then return S.calls[public] end
    for _, p in ipairs(S.patterns) do
        if public:find(p[1]) then return p[2] end
    end
    return ""
end
-- The text of the arguments with which the result is called.
local function input(public)
    if (" " .. S.without_input .. " "):find(" " .. public .. " ", 1, true)
        or not public:find "^nn%.%u" and not public:find "transforms" then
        return nil
    end
    for _, p in ipairs(S.inputs) do
        if public:find(p[1]) then return "(" .. p[2] .. ")" end
    end
end
for _, public in ipairs(names) do
    local at = function_at[public]
    local args = arguments(public)
    local ok, message = pcall(load("return " .. at.called .. "(" .. args .. ")" ..
        (input(public) or ""), "=audit", "t", env))
    if not ok then missing[#missing + 1] = public .. ": " .. tostring(message)
    else
        M.each(at.sig, M.split(args), function(what, p, text, v)
            A.try(public, at.called, what, p, text, v, judge, input(public))
            pcall(g.profile.stop)
        end)
    end
    g.default_device "cpu"
    g.default_dtype "f32"
    pcall(g.profile.stop)
end
os.execute(("rm -rf '%s'"):format(scratch))
table.sort(unsigned)
t.is(unsigned, {}, "every function has a signature")
t.is(missing, {}, "and a valid call")
A.report(t, rules, ("%d functions, classes and methods"):format(#names))
t.done()
