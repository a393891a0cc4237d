--!plain
-- Calls of gpush's functions with hostile arguments, for tests/bindings/hostile.lua and
-- scripts/dev/fuzz-calls: hostile.run(seed, n) makes n calls and returns how many were refused, and
-- the slowest with its seconds. The same seed makes the same calls. What may go wrong is a crash, a
-- hang, or a state that is not whole: those who call look for that.
local g = require "gpush"
local S = require "audit.samples"
local A = require "audit"
local H = {}

local random = math.random
local function one_of(list) return list[random(#list)] end

-- ---- Values ----

local dtypes = { "f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool" }
-- None between a thousand and what no machine has: as a size it would only use up the memory.
local integers = { 0, 1, -1, 2, 3, 7, 63, 64, 65, 255, 256, 1000, -(1 << 45), 1 << 42, 1 << 53,
    1 << 62, math.mininteger, math.maxinteger }
local floats = { 0.0, -0.0, 0.5, -1.5, 1e-45, 1e-310, 3.5e38, 1e300, math.huge, -math.huge, 0 / 0 }
local strings = { "", "x", "cpu", "sim", "cuda", "sim:0", "sim:99", "f32", "f99", "mean", "none",
    "sum", "same", "valid", "reflect", "constant", "ij,jk->ik", "...ij->...", "i->", "gesvd", "fro",
    "nuc",
    "linear", "bilinear", "nearest", "\0", "a\0b", ("x"):rep(5000), "%s%n", "\xff\xfe", "\27[31m",
    "\u{202e}abc", "/", "/proc/self/mem", "/nonexistent/x.npy", "here.npy", "here.npz", "here.png" }
local shapes = { {}, { 0 }, { 1 }, { 3 }, { 2, 3 }, { 3, 2 }, { 3, 3 }, { 0, 3 }, { 2, 0, 3 },
    { 2, 3, 4 }, { 1, 2, 5, 5 }, { 1, 1, 2, 3, 4 }, { 1, 1, 1, 1, 1, 1, 1, 1 }, { 70 }, { 33, 35 } }

local function tensor()
    local dt = one_of(dtypes)
    local x = g.rand(one_of(shapes)) * one_of { 1, 10, 250 }
    if dt ~= "u8" then x = x - one_of { 0, 1, 5 } end
    x = x:to(dt)
    local kind, n = random(12), #x.shape
    if kind == 1 and #x.shape > 1 then x = x:transpose(1, -1) end
    if kind == 2 and #x.shape > 0 and x.shape[1] > 1 then x = x:slice(1, 1, -1, 2) end
    if kind == 3 and n > 0 and n < 8 and x.shape[1] == 1 then
        x = x:expand(4, table.unpack(x.shape))
    end
    if kind == 4 and x:is_floating_point() then x = x:detach():requires_grad_() end
    if kind == 5 then x = x:to "sim" end
    if kind == 6 and x:is_floating_point() then x = x * one_of { 0 / 0, 1 / 0, 1e30 } end
    return x
end
local closed = g.ones(2)
getmetatable(closed).__gc(closed)
local stream = g.stream "sim"
local cyclic = {}
cyclic[1], cyclic.x = cyclic, cyclic
local forged = setmetatable({ 1, 2 },
    { __index = function() error "forged" end, __len = function() return 1e9 end })
local odd = setmetatable({}, { __tostring = function() return {} end, __name = 5 })
local value

local function list()
    local out = {}
    for i = 1, random(0, 4) do out[i] = value() end
    if random(6) == 1 then out[random(6)] = value() end
    local key = one_of { "x", "dim", "dtype", "device", "n", 0, -1, 1.5 }
    if random(6) == 1 then out[key] = value() end
    return out
end
local others = { closed, cyclic, forged, odd, print, io.stdout, coroutine.create(print) }
local kinds = {
    function() return tensor() end, function() return tensor() end, function() return tensor() end,
    function() return one_of(integers) end, function() return one_of(integers) end,
    function() return random(-5, 5) end, function() return random(-5, 5) end,
    function() return one_of(floats) end, function() return one_of(strings) end,
    function() return one_of(dtypes) end, function() return random(2) == 1 end,
    function() return nil end, list, list, function() return one_of(shapes) end,
    function() return one_of(others) end,
    function() return stream end, function() return function(...) return ... end end,
}
function value() return one_of(kinds)() end

-- A value of the same kind, or any.
local function like(v)
    if random(3) == 1 then return value() end
    if math.type(v) == "integer" then return one_of(integers) end
    if type(v) == "number" then return one_of(floats) end
    if type(v) == "string" then return one_of(strings) end
    if type(v) == "boolean" then return not v end
    if g.is_tensor(v) and not v.requires_grad then
        local way = random(6)
        if way == 1 then return tensor() end
        if way == 2 then return v:to(one_of(dtypes)) end
        if way == 3 and #v.shape > 0 then return v:flip(1) end
        if way == 4 then return v * one_of { 0, 100, -1 } end
        if way == 5 and #v.shape > 0 then return v:narrow(1, 1, random(0, v.shape[1])) end
        return v:to "sim"
    end
    if type(v) == "table" and v ~= forged and math.type(v[1]) == "integer" then
        local out = table.move(v, 1, #v, 1, {})
        out[random(#v)] = one_of(integers)
        return out
    end
    return value()
end

-- ---- Functions ----

-- What ends the program, waits for a terminal or for seconds, or changes what other tests rely on.
local apart = {}
for name in ([[sync.selftest sync.report terminal help threads gpush optim.define nn.module
    default_dtype default_device compare timeit autograd.gradgradcheck profile.start profile.stop
    progress]]):gmatch "%S+" do
    apart[name] = true
end
local function callable(v)
    local meta = type(v) == "table" and getmetatable(v)
    return type(v) == "function" or type(meta) == "table" and rawget(meta, "__call") ~= nil
end

local functions
local function add(name, fn, sample)
    if apart[name] or not callable(fn) then return end
    functions[#functions + 1] = { name = name, fn = fn, sample = sample }
end
local function gather()
    functions = {}
    for name, row in pairs(g.ops(true)) do
        local group, short = name:match "^(%l+)[._](.+)$"
        local fn = (group == "linalg" or group == "fft") and g[group][short] or g[name]
        add(name, fn, S.call(name, row))
    end
    for name, fn in pairs(debug.getregistry()["gpush.tensor.methods"]) do
        if not g.ops(true)[name] then add("tensor:" .. name, fn) end
    end
    for name, fn in pairs(getmetatable(closed)) do
        if type(fn) == "function" then add(name, fn) end
    end
    for name, fn in pairs(g) do if not g.ops(true)[name] then add(name, fn) end end
    for _, area in ipairs { "sync", "autograd", "nan", "json", "npy", "npz", "image", "safetensors",
        "checkpoint", "data", "data.transforms", "nn.init", "nn.utils", "optim", "optim.lr",
        "amp" } do
        local t = load("return (...)." .. area)(g)
        local _ = t.Nothing -- reads the area's files
        for name, fn in pairs(t) do
            if type(name) == "string" then add(area .. "." .. name, fn) end
        end
    end
    local layers = [[Linear Conv1d Conv2d ConvTranspose2d BatchNorm1d BatchNorm2d LayerNorm
        GroupNorm RMSNorm Embedding LSTM GRU RNN LSTMCell MultiheadAttention Dropout MaxPool2d
        TransformerEncoderLayer AvgPool2d AdaptiveAvgPool2d Upsample Flatten Sequential ModuleList
        ReLU GELU Softmax CrossEntropyLoss MSELoss BCELoss KLDivLoss]]
    for name in layers:gmatch "%S+" do add("nn." .. name, g.nn[name]) end
    table.sort(functions, function(a, b) return a.name < b.name end)
end

-- ---- Calls ----

local env = setmetatable({}, { __index = A.env })
local function arguments(f)
    local args = { n = random(0, 5) }
    if f.sample and random(3) > 1 then
        args = table.pack(load("return " .. f.sample, "=sample", "t", env)())
        for _ = 1, random(2) do -- a valid call with one or two things changed
            local i = random(args.n + 1)
            args[i], args.n = like(args[i]), math.max(args.n, i)
        end
        return args
    end
    for i = 1, args.n do args[i] = value() end
    if f.name:find "^tensor:" and random(4) > 1 then
        args[1], args.n = tensor(), math.max(args.n, 1)
    end
    return args
end

-- Uses the results, as a script would.
local function use(...)
    local n = select("#", ...)
    for i = 1, math.min(n, 3) do
        local v = select(i, ...)
        if random(4) == 1 then tostring(v) end
        if g.is_tensor(v) and random(6) == 1 and v.requires_grad then v:sum():backward() end
        if callable(v) and type(v) == "table" and random(2) == 1 then v(tensor()) end
        if type(v) == "userdata" and not g.is_tensor(v) then
            local close = (debug.getmetatable(v) or {}).__close
            if close then close(v) end
        end
    end
end

-- Not called: its windows of 1000 in three dims are 4 GiB, and several times that with TSan.
local LARGE <const> = { max_unpool3d = true }

-- note: a function that gets a text about each call before it is made, to find the last one.
function H.run(seed, n, note)
    if not functions then gather() end
    math.randomseed(seed)
    g.manual_seed(seed)
    local refused, slowest, longest = 0, "", 0
    local print = print
    _G.print = function() end
    local clock = debug.getregistry()["gpush.clock"] -- no word about what is queued
    for i = 1, n do
        local f = one_of(functions)
        local made, args = pcall(arguments, f) -- an earlier call's error may come here, at a copy
        if not made then args = { n = 0 } end
        if note then note(("%d %s"):format(i, f.name)) end
        local t0 = clock()
        local fn = LARGE[f.name] and function() error "too large" end or f.fn
        local ok = pcall(function() use(fn(table.unpack(args, 1, args.n))) end)
        if not ok then refused = refused + 1 end
        local took = clock() - t0
        if took > longest then longest, slowest = took, f.name end
        if random(50) == 1 then pcall(g.synchronize) end
    end
    pcall(g.synchronize)
    pcall(g.synchronize)
    _G.print = print
    return refused, slowest, longest
end
H.functions = function()
    if not functions then gather() end
    return #functions
end
return H
