-- Every public function and method, called with one argument too many and with an unknown option:
-- an error, never silence. The list comes from the module, the op table, the classes and the
-- methods of objects, so that later additions are tested, too.
local t = require "tap"
local g = require "gpush"
local registry = debug.getregistry()
local methods = registry["gpush.tensor.methods"]

-- Functions that take any number of arguments, or any table, each for a reason.
local free = {}
for name, reason in pairs {
    ["autograd.checkpoint"] = "hands its arguments on", fork = "hands its arguments on",
    no_grad = "hands its arguments on", autocast = "hands its arguments on",
    ["amp.autocast"] = "hands its arguments on",
    ["gradscaler:step"] = "hands its arguments on",
    ["autograd.autocast_as"] = "hands its arguments on",
    inference = "hands its arguments on", enable_grad = "hands its arguments on",
    ["profile.run"] = "hands its arguments on",
    ["profile.region"] = "hands its arguments on",
    ["profile.record_function"] = "hands its arguments on",
    ["sync.allow"] = "hands its arguments on",
    ["sync.budget"] = "hands its arguments on", ["sync.error"] = "hands its arguments on",
    ["sync.warning"] = "hands its arguments on", ["sync.off"] = "hands its arguments on",
    ["sync.async"] = "hands its arguments on",
    ["autograd.detect_anomaly"] = "hands its arguments on",
    ["nan.watch"] = "hands its arguments on",
    ["nn.summary"] = "hands its arguments on", ["optim.check_positive"] = "a list of names",
    ["nn.raise"] = "a format", ["nn.fail"] = "a format", ["optim.raise"] = "a format",
    ["data.raise"] = "a format",
    einsum = "a list of tensors", ["nn.Identity"] = "stands in for any layer",
    ["nn.Sequential"] = "a list of modules, each checked",
    ["data.TensorDataset"] = "a list of tensors, each checked",
    ["stream:use"] = "hands its arguments on", ["schedule:chain"] = "what a schedule overrides",
    ["schedule:rate"] = "what a schedule overrides",
    ["sequential:forward"] = "hands its arguments on",
    ["sequential:init"] = "a list of modules, each checked",
    ["list:init"] = "called by the class", ["progress:pass"] = "hands on what an iterator gives",
    ["module:forward"] = "what a class overrides", ["module:init"] = "what a class overrides",
} do free[name] = reason end

local x = g.tensor { 1.0, 2.0 }
local model, opt = g.nn.Linear(2, 2), nil
opt = g.optim.SGD(model:parameters(), 0.1)
local schedule = g.optim.lr.StepLR(opt, 1)
local dir = os.tmpname()

-- A value for a parameter of that type.
local function sample(kind, name)
    if kind == "self" then return nil end
    if kind == "tensor" or kind == "operand" then return x end
    if kind == "tensors" then return { x, x } end
    if kind == "int" or kind == "dim" or kind == "number" or kind == "float" then return 1 end
    if kind == "bool" then return true end
    if kind == "ints" or kind == "dims" or kind == "shape" or kind == "padding" then
        return { 1 }
    end
    if kind == "dtype" then return "f32" end
    if kind == "device" then return "cpu" end
    if kind == "str" or kind == "text" then return dir end
    if kind == "function" then return function() end end
    if kind == "table" then return { k = x } end
    return ({ optimizer = opt, params = { x }, schedulers = { schedule }, milestones = {} })[name]
        or { 1 }
end

-- Arguments for all parameters of a signature.
local function arguments(sig)
    local list, n = {}, 0
    for kind, name in (sig .. ","):gmatch "(%w+)[!?]* ([%w_]+)[^,]*," do
        if kind ~= "self" then
            n = n + 1
            list[n] = sample(kind, name)
        end
    end
    return list, n
end

local silent, plain, calls = {}, {}, 0
local function quietly(fn, ...)
    calls = calls + 1
    return pcall(fn, ...)
end

-- fn with far more arguments than anything takes: of any type, so that the first of them may be
-- refused.
local function surplus(fn, sig, self)
    local list, n = arguments(sig)
    if self ~= nil then table.insert(list, 1, self) end
    n = n + (self ~= nil and 1 or 0)
    for i = n + 1, n + 8 do list[i] = 1 end
    return not quietly(fn, table.unpack(list, 1, n + 8))
end

-- fn with {nonsuch_option = 1} after some of its arguments, from the last one on that may be any
-- table.
local function option(fn, sig, self)
    local list, n = arguments(sig)
    local first, at = 0, 0
    for kind in (sig .. ","):gmatch "(%w+)[!?]* [%w_]+[^,]*," do
        at = at + (kind == "self" and 0 or 1)
        if kind == "value" or kind == "table" then first = at end
    end
    for given = first, n do
        local args = table.move(list, 1, given, 1, {})
        args[given + 1] = { nonsuch_option = 1 }
        if self ~= nil then table.insert(args, 1, self) end
        if quietly(fn, table.unpack(args, 1, given + (self ~= nil and 2 or 1))) then
            return false, given
        end
    end
    return true
end

local op_name = registry["gpush.signature"]
local function check(name, fn, self)
    if free[name] or type(fn) ~= "function" then return end
    if debug.getinfo(fn, "S").what ~= "C" then
        plain[#plain + 1] = name
        return
    end
    local _, sig = op_name(fn)
    if not sig then plain[#plain + 1] = name return end
    if not surplus(fn, sig, self) then silent[#silent + 1] = name .. " (surplus)" end
    local refused, at = option(fn, sig, self)
    if not refused then silent[#silent + 1] = ("%s (option behind %d)"):format(name, at) end
end

-- ---- the public names ----

for name, fn in pairs(g) do
    if type(fn) == "function" then check(name, fn) end
end
for _, area in ipairs { "linalg", "fft", "autograd", "nan", "profile", "sync", "json", "npy", "npz",
    "safetensors", "image", "nn", "optim", "amp",
    "data", "checkpoint", "cuda" } do
    local _ = g[area].Nothing
    for name, fn in pairs(g[area]) do check(area .. "." .. name, fn) end
end
for name, fn in pairs(g.nn.init) do check("nn.init." .. name, fn) end
for name, fn in pairs(g.nn.utils) do check("nn.utils." .. name, fn) end
for name, fn in pairs(g.optim.lr) do check("optim.lr." .. name, fn) end
for name, fn in pairs(g.data.transforms) do check("data.transforms." .. name, fn) end
for _, name in ipairs { "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam",
    "Adadelta", "Rprop", "ASGD", "LBFGS" } do
    check("optim." .. name, g.optim[name])
end
for _, name in ipairs { "Loader", "Dataset", "ImageFolder", "Subset", "ConcatDataset" } do
    check("data." .. name, g.data[name])
end
for name, fn in pairs(methods) do check("tensor:" .. name, fn, x) end

local loader = g.data.Loader(g.data.TensorDataset(x))
local prof = g.profile.run(function() end)
for class, it in pairs {
    stream = { g.stream "sim" }, event = { g.stream("sim"):record() },
    module = { model, g.nn.Module },
    optimizer = { opt, getmetatable(getmetatable(opt)) },
    schedule = { schedule, getmetatable(getmetatable(schedule)) },
    loader = { loader, getmetatable(loader) },
    profile = { prof, select(2, debug.getupvalue(registry["gpush.profile"].__index, 1)) },
    recording = { g.profile.schedule {}, registry["gpush.recording"] },
    future = { g.fork(function() end) },
    hook = { g.tensor({ 1.0 }, { requires_grad = true }):register_hook(function() end) },
    module_hook = { model:register_forward_hook(function() end) },
    progress = { (g.progress(1)) }, list = { g.nn.ModuleList { model }, g.nn.ModuleList },
    sequential = { g.nn.Sequential(model), g.nn.Sequential },
} do
    local object = it[1]
    for name, fn in pairs(it[2] or getmetatable(object)) do
        if type(name) == "string" and not name:find "^_" then
            check(class .. ":" .. name, fn, object)
        end
    end
end

-- Layers: their constructors. A file has one of its name, or those that `homes` lists.
local folder = debug.getinfo(registry["gpush.place"], "S").source:match "^@(.*)/init%.lua$"
local names, made = {}, 0
for name in pairs(getmetatable(g.nn).homes) do names[name] = true end
for file in assert(io.popen(("ls '%s'"):format(folder))):lines() do
    names[file:match "^(%u%w*)%.lua$" or ""] = true
end
for name in pairs(names) do
    local class = name:find "^%u" and g.nn[name]
    local help = type(class) == "table" and rawget(class, "__help")
    if help then
        made = made + 1
        check("nn." .. name, help)
    elseif class and not free["nn." .. name] then
        plain[#plain + 1] = "nn." .. name
    end
end

t.is(table.concat(silent, "\n"), "", "none takes more than it knows in silence")
t.is(table.concat(plain, " "), "", "each public function has a signature")
t.ok(made > 70, ("%d layers"):format(made))
t.error(function() model(x, 1) end, "Linear: 2 arguments given, at most 1 expected",
    "a layer that is called with too much")
t.ok(calls > 3000, ("%d calls"):format(calls))
os.remove(dir)

-- Tensors one by one where a signature says varargs, as PyTorch takes them, or a table of them.
local a, b = g.tensor { 1, 2 }, g.tensor { 3, 4, 5 }
t.is(g.cartesian_prod(a, b), g.cartesian_prod { a, b }, "cartesian_prod(a, b)")
t.is(g.block_diag(a, b), g.block_diag { a, b }, "block_diag(a, b)")
t.is({ #g.broadcast_tensors(a, a, a), #g.broadcast_tensors(a) }, { 3, 1 }, "three tensors, and one")
for _, fn in ipairs { function() return g.meshgrid(a, b, "xy") end,
    function() return g.meshgrid(a, b, { indexing = "xy" }) end,
    function() return g.meshgrid({ a, b }, "xy") end,
    function() return g.meshgrid { a, b, n = 2 } end } do
    t.is(fn()[2]:tolist()[1][1], 3, "meshgrid with options after its tensors")
end
t.is(g.meshgrid(a, b, "xy")[1]:tolist(), { { 1, 2 }, { 1, 2 }, { 1, 2 } }, "which are read")
local many = {}
for i = 1, 300 do many[i] = g.ones(1, 1) end
t.is(g.block_diag(table.unpack(many)).shape, { 300, 300 }, "300 tensors one by one")
t.error(function() g.meshgrid(a, 3) end, "meshgrid: argument 'indexing' %(#2%): expected a string",
    "a number among them")
t.error(function() g.meshgrid(3) end,
    "meshgrid: argument 'xs' %(#1%): expected tensors, or a table of them, got 3", "a number")
t.error(function() g.meshgrid() end,
    "meshgrid: argument 'xs' %(#1%): expected tensors, got nothing", "no tensors")
t.error(function() g.hstack(a, b) end, "hstack: argument 'xs' %(#1%): expected a table of tensors",
    "a list stays one where PyTorch takes a list")

-- requires_grad is an option of every op that makes a tensor, and of nothing else.
local function made(name)
    local x, o = g.ones(2), { requires_grad = true }
    if name == "tensor" or name == "new_tensor" then return end
    local sig = g.ops(true)[name].sig
    local values = { tensor = x, number = 1.5, int = 2, float = 1, shape = { 2 }, operand = 1 }
    local args = {}
    for type, mark, default in sig:gmatch "(%a+)([?!]*) [%w_]+(=?)" do
        if mark == "" and default == "" then args[#args + 1] = values[type] end
    end
    if name == "normal" then args = { 0, 1, { 2 } } end
    if name == "arange" then args = { 1.5, 2.5 } end
    args[#args + 1] = o
    local group, short = name:match "^(%a+)[._](%a+)$"
    local fn = g[name] or g[group][short]
    return pcall(fn, table.unpack(args))
end
local makers = 0
for name, row in pairs(g.ops(true)) do
    local whole = name == "randint" or name == "randperm" or name:find "_indices$"
    if row.sig:find "device%? device$" and not name:find "new_tensor" then
        makers = makers + 1
        local ok, v = made(name)
        if whole then t.ok(not ok and v:find "requires_grad: dtype i64", name .. ": integers")
        else t.ok(ok and v.requires_grad and v.is_leaf, name .. ": " .. tostring(v)) end
    end
end
t.ok(makers >= 20, makers .. " ops make tensors")
for name, args in pairs { Linear = { 2, 3 }, LSTM = { 2, 3 }, Conv2d = { 2, 3, 1 } } do
    args[#args + 1] = { requires_grad = true }
    t.error(function() g.nn[name](table.unpack(args)) end, "unknown option 'requires_grad'", name)
end
t.error(function() g.synchronize { requires_grad = true } end, "unknown option 'requires_grad'",
    "a function that makes nothing")
t.done()
