--!plain
-- Every op, called in other forms that mean the same: with an empty table of options at the end,
-- and with a 0-d tensor for each of its numbers. And lists without an end.
local t = require "tap"
local g = require "gpush"
local A, M, S = require "audit", require "audit.mutants", require "audit.samples"

-- What a call gives, as text: dtypes, shapes and numbers, or the error.
local function shown(v, values)
    if g.is_tensor(v) then
        local numbers = {}
        for i, x in ipairs(values and v:detach():reshape(-1):tolist() or {}) do
            numbers[i] = tostring(x)
        end
        return ("%s %s {%s}"):format(v.dtype, table.concat(v.shape, "x"),
            table.concat(numbers, " "))
    end
    if type(v) ~= "table" then return tostring(v) end
    local list = {}
    for i, x in ipairs(v) do list[i] = shown(x, values) end
    return "{" .. table.concat(list, ", ") .. "}"
end
local function result(fn, text, values)
    g.manual_seed(1)
    local chunk = assert(load("local fn = ... return fn(" .. text .. ")", "=call", "t", A.env))
    return shown(table.pack(pcall(chunk, fn)), values)
end

local different, calls = {}, { options = 0, numbers = 0 }
local function same(what, name, fn, text, other)
    local values = not name:find "empty"
    local expected, got = result(fn, text, values), result(fn, other, values)
    calls[what] = calls[what] + 1
    if got ~= expected then
        different[#different + 1] = ("%s(%s): %s; %s: %s"):format(name, text, expected, other, got)
    end
end

local NUMBER = { int = true, dim = true, float = true, number = true, numbers = true, order = true,
    ints = true, dims = true, shape = true }
local function try(name, sig, text)
    local fn, args, parameters = (S.function_of(g, name)), M.split(text), M.parameters(sig)
    local least = 0
    for k, p in ipairs(parameters) do
        if not p.optional then least = k end
        -- An empty table is a value of these, not one of options.
        if p.type == "value" or p.type == "table" or p.type == "shape" then least = k end
        if NUMBER[p.type] and tonumber(args[k]) then
            local other = table.move(args, 1, #args, 1, {})
            other[k] = ("g.tensor(%s)"):format(args[k])
            same("numbers", name, fn, text, table.concat(other, ", "))
        end
    end
    for k = least, #args do
        local given = table.concat(args, ", ", 1, k)
        same("options", name, fn, given, given .. (k > 0 and ", {}" or "{}"))
    end
end

A.env.g = g
for name, row in pairs(g.ops(true)) do
    local text = S.call(name, row)
    if text and not row.own then try(name, row.sig, text) end
end
table.sort(different)
t.is(different, {}, ("%d calls with {} at the end, %d with a 0-d tensor for a number"):format(
    calls.options, calls.numbers))
t.ok(calls.options > 300 and calls.numbers > 100, "of hundreds")

-- ---- in classes and methods ----

local x = g.rand { 1, 1, 4, 4 }
t.is(g.nn.Unfold(2, {})(x):tolist(), g.nn.Unfold(2)(x):tolist(), "nn.Unfold(2, {})")
local y = x:clone()
t.is(y:index_put_({ g.tensor { 1 } }, g.tensor(5.0), {}):sum():item(), 80.0, "in place")
t.is(g.normal(0, 1, {}).shape, {}, "an empty shape is a shape")
local layer = g.nn.Upsample { scale_factor = { 2, g.tensor(3) } }
t.is(layer(x).shape, { 1, 1, 8, 12 }, "nn.Upsample with a factor for each dim")
local w = g.rand(3):requires_grad_()
local opt = g.optim.SGD({ { params = { w }, lr = g.tensor(0.25) } }, { lr = 0.5 })
t.is(opt.param_groups[1].lr, 0.25, "an option of a group of parameters")
t.error(function() g.optim.SGD { { params = { w }, lr = "x" } } end,
    "optim.SGD: option 'lr': expected a number, got 'x'", "that is no number")
t.is(g.optim.Adam({ w }, { betas = { g.tensor(0.5), 0.75 } }).param_groups[1].betas, { 0.5, 0.75 },
    "a pair of numbers")
t.error(function() x:split(g.rand(2)) end, "2", "more than a number")
t.error(function() x:norm(true) end,
    "norm: argument 'p' %(#2%): expected a number or a string, got boolean", "no norm")

-- Lengths on the host, as PyTorch takes them for log_probs on a GPU.
local log_probs = g.randn { 5, 2, 4 }:log_softmax(-1)
local labels, times, counts = g.tensor { { 2, 3 }, { 4, 2 } }, g.tensor { 5, 4 }, g.tensor { 2, 1 }
local here = log_probs:ctc_loss(labels, times, counts):item()
local there = log_probs:to "sim":ctc_loss(labels:to "sim", times, counts):item()
t.is(there, here, "ctc_loss with lengths on the host")
t.error(function() log_probs:to "sim":ctc_loss(labels, times, counts) end,
    "ctc_loss: argument 'targets' is on cpu, log_probs on sim:0", "its labels are on the device")

-- ---- lists and functions without an end ----

-- A table whose entries never end, and that has any length.
local function endless(entry)
    return setmetatable({}, { __len = function() return math.maxinteger end,
        __index = function(_, i) return math.type(i) and entry or nil end })
end
local function gives(v) return function() return v end end
for what, params in pairs { ["a function that gives 1"] = gives(1),
    ["a function that gives a table"] = gives {}, ["a list of numbers"] = endless(1) } do
    for _, name in ipairs { "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS", "Rprop" } do
        t.error(function() g.optim[name](params) end, "optim." .. name .. ": ",
            name .. ": " .. what)
    end
    t.error(function() g.optim.clip_grad_norm_(params, 1) end,
        "optim.clip_grad_norm_: params: entry 1: expected a tensor", "clip_grad_norm_: " .. what)
    t.error(function() g.optim.clip_grad_value_(params, 1) end,
        "optim.clip_grad_value_: params: entry 1: expected a tensor", "clip_grad_value_: " .. what)
    t.error(function() g.nn.utils.parameters_to_vector(params) end,
        "parameters_to_vector: params: entry 1: expected a tensor", "to a vector: " .. what)
    t.error(function() g.nn.utils.vector_to_parameters(x:reshape(-1), params) end,
        "vector_to_parameters: params: entry 1: expected a tensor", "from a vector: " .. what)
end
t.error(function() g.nn.utils.parameters_to_vector(endless(w)) end,
    "a table gave 1000000 parameters and did not end", "one parameter without end")
for _, op in ipairs { "split", "tensor_split" } do
    for _, size in ipairs { 0, 1 } do
        t.error(function() x[op](x, endless(size)) end,
            op .. ": argument 's%w+' cannot have 9223372036854775807 entries",
            ("%s by %d without end"):format(op, size))
    end
end
t.done()
