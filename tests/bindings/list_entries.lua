--!plain
-- Lists as arguments: an entry of the table that is not an entry of the list is an error, and is
-- not lost.
local t = require "tap"
local g = require "gpush"
local x = g.ones(2, 3)

local function refused(fn, text, name)
    local ok, message = pcall(fn)
    if not t.ok(not ok and message:find(text, 1, true), name) then
        io.stderr:write("#   ", ok and "no error" or message, "\n")
    end
end

-- Options among the entries.
refused(function() return g.zeros { 2, 3, dtype = "f64" } end,
    "zeros: argument 'shape': 'dtype' is in the list", "a shape with an option in it")
refused(function() return g.tensor { 1, 2, dtype = "f64" } end,
    "tensor: argument 'value': 'dtype' is in the list", "values with an option")
refused(function() return g.tensor { { 1, 2 }, { 3, 4, device = "cpu" } } end,
    "'device' is in the list", "in an inner table")
refused(function() return g.cat { x, x, dim = 2 } end,
    "cat: argument 'xs': 'dim' is in the list", "tensors with an option")
refused(function() return g.stack { x, x, dim = 2 } end,
    "stack: argument 'xs': 'dim' is in the list", "of any op")
refused(function() return x:sum { 1, keepdim = true } end,
    "sum: argument 'dim': 'keepdim' is in the list", "dims with an option")
refused(function() return g.nn.LayerNorm { 3, eps = 1e-3 } end,
    "nn.LayerNorm: argument 'normalized_shape': 'eps' is in the list", "a layer's")
refused(function() return x[{ 1, step = 2 }] end,
    "index: argument 'key': 'step' is in the list", "an index")
refused(function() return x[{ { first = 1, last = 2 } }] end, "index: argument 'range': '",
    "a range")

-- Lists that count from 0, or have gaps.
refused(function() return g.zeros { [0] = 2, 3 } end,
    "zeros: argument 'shape': entry [0] of a list of 1", "a shape from 0")
refused(function() return g.tensor { [0] = 1, 2, 3 } end,
    "tensor: argument 'value': entry [0] of a list of 2", "values from 0")
refused(function() return g.cat { [0] = x, x } end, "cat: argument 'xs': entry [0] of a list of 1",
    "tensors from 0")
refused(function() return x:sum { [2] = 1 } end, "sum: argument 'dim': entry [2] of a list of 0",
    "a gap at the beginning")
refused(function() return x[{ [0] = 1, 2 }] end, "index: argument 'key': entry [0]",
    "an index from 0")
refused(function() return g.zeros { 2, [2.5] = 1 } end,
    "zeros: argument 'shape': a list with a number for a key", "no integer")
local long = {}
for i = 1, 1000 do long[i] = i end
t.is(g.tensor(long):sum():item(), 500500, "a long list")
long[0] = 5
refused(function() return g.tensor(long) end, "entry [0] of a list of 1000", "a long list from 0")
long[0], long.dtype = nil, "f64"
refused(function() return g.tensor(long) end, "'dtype' is in the list",
    "a long list with an option")

-- Lists of modules, parameters, schedules and functions: nothing is lost.
local function layer() return g.nn.Linear(2, 2) end
local function leaf() return g.ones(2):requires_grad_() end
local opt = g.optim.SGD({ leaf() }, 0.1)
local function step() return g.optim.lr.StepLR(opt, 2) end
local T, lr = g.data.transforms, g.optim.lr
local rows = g.data.TensorDataset(x)
local function future() return g.fork(layer) end
local takes = { -- what takes a list, its argument, an entry
    { "nn.Sequential", "modules", g.nn.Sequential, layer },
    { "nn.ModuleList", "modules", g.nn.ModuleList, layer },
    { "optim.SGD", "params", function(l) return g.optim.SGD(l, 0.1) end, leaf },
    { "optim.Adam", "params", g.optim.Adam, leaf },
    { "optim.SGD", "params", function(l) return g.optim.SGD(l, 0.1) end,
        function() return { params = { leaf() } } end },
    { "optim.clip_grad_norm_", "params", function(l) g.optim.clip_grad_norm_(l, 1) end, leaf },
    { "optim.clip_grad_value_", "params", function(l) g.optim.clip_grad_value_(l, 1) end, leaf },
    { "optim.lr.MultiStepLR", "milestones", function(l) lr.MultiStepLR(opt, l) end,
        function() return 1 end },
    { "optim.lr.ChainedScheduler", "schedulers", lr.ChainedScheduler, step },
    { "optim.lr.SequentialLR", "schedulers", function(l) lr.SequentialLR(opt, l, { 2 }) end, step },
    { "optim.lr.SequentialLR", "milestones",
        function(l) lr.SequentialLR(opt, { step(), step(), step() }, l) end,
        function() return 2 end },
    { "optim.lr.LambdaLR", "lr_lambda", function(l) lr.LambdaLR(opt, l) end,
        function() return layer end },
    { "data.transforms.Compose", "list", T.Compose, T.ToFloat },
    { "data.transforms.CenterCrop", "size", T.CenterCrop, function() return 2 end },
    { "data.transforms.Resize", "size", T.Resize, function() return 2 end },
    { "data.transforms.RandomCrop", "padding", function(l) T.RandomCrop(2, l) end,
        function() return 2 end },
    { "data.transforms.Pad", "n", T.Pad, function() return 2 end },
    { "wait", "future", g.wait, future },
}
for _, case in ipairs(takes) do
    local name, argument, fn, entry = table.unpack(case)
    local what = ("%s: argument '%s': "):format(name, argument)
    refused(function() return fn { entry(), nil, entry() } end,
        what .. "entry [3] of a list of 1", name .. ": a nil in the list")
    refused(function() return fn { entry(), nosuch = entry() } end,
        what .. "'nosuch' is in the list", name .. ": a name in the list")
    refused(function() return fn { [0] = entry(), entry() } end,
        what .. "entry [0] of a list of 1", name .. ": a list from 0")
end
refused(function() return g.nn.Sequential(layer(), nil, layer()) end,
    "nn.Sequential: entry 2: expected a module, got nil", "nil among modules")
refused(function() return g.nn.Sequential(layer(), nil) end,
    "nn.Sequential: entry 2: expected a module, got nil", "and as the last")
refused(function() return g.data.TensorDataset(x, nil, x) end,
    "data.TensorDataset: argument #2: expected a tensor with rows, got nil", "nil among tensors")
refused(function() return g.optim.Adam({ leaf() }, { betas = { 0.9, 0.99, 0.9 } }) end,
    "option 'betas': expected 2 numbers, got 3", "betas")
refused(function() return lr.LambdaLR(opt, { layer, layer }) end,
    "argument 'lr_lambda': expected an entry for each group, 1, got 2", "more than groups")
refused(function() return T.CenterCrop { 2, 2, 2 } end, "got {2, 2, 2}", "a size of three")
refused(function() return T.Pad { 1, 2, 3, 4, 5 } end, "or a list of 4, got {1, 2, 3, 4, 5}",
    "five borders")

-- Samples, and a loader's options.
refused(function() return rows[1.5] end, "dataset: sample 1.5: expected an integer, 1 to 2",
    "a sample between two")
t.is(rows[2.0].shape, { 3 }, "2.0 is an integer")
refused(function() return rows:get(1, 2) end, "get: 2 arguments given, at most 1", "a surplus one")
for _, name in ipairs { "shuffle", "drop_last", "pin" } do
    refused(function() return g.data.Loader { rows, [name] = 1 } end,
        ("data.Loader: option '%s': expected true or false, got 1"):format(name), name)
end
refused(function() return g.data.Loader(rows, { dataset = rows }) end,
    "data.Loader: 'dataset' is given twice", "two data sets")
refused(function() return g.data.Loader(rows, { 1 }) end, "data.Loader: unknown option '1'",
    "an entry among options")

refused(function() for _ in g.data.Loader(rows) do break end end,
    "in a loop write for step, … in loader() do", "a loader without brackets")

-- Modules, schedules and pictures.
local deep = g.nn.Sequential(g.nn.Linear(3, 3), g.nn.ReLU())
refused(function() return deep[0] end, "module[0]: modules in a list count from 1", "0")
for name, list in pairs { Sequential = g.nn.Sequential(layer(), layer()),
    ModuleList = g.nn.ModuleList { layer(), layer() } } do
    for _, at in ipairs { 0, -1 } do
        refused(function() list[at] = layer() end,
            ("module[%d]: modules in a list count from 1; the last one is"):format(at),
            name .. ": a module as entry " .. at)
    end
    t.is(#list:parameters(), 4, name .. ": which is none then")
    list[#list] = g.nn.Linear(2, 5)
    t.is(#list:parameters(), 4, name .. ": the last is replaced")
    t.is(list[2].weight.shape[1], 5, name .. ": by the module")
end
refused(function() return deep[-1] end, "the last one is model[#model]", "from the end")
refused(function() return g.nn.ModuleList { deep }[1.5] end, "module[1.5]: expected an integer",
    "a module between two")
t.is({ deep[3], deep.bias }, {}, "what is not there")
refused(function() return deep[1]:forward(x, 7) end,
    "Linear: 2 arguments given, at most 1 expected", "a surplus argument of forward")
t.is(lr.MultiStepLR(opt, { milestones = { 3 } }).milestones, { 3 }, "a list by its name")
refused(function() return g.nn.ModuleList { act = deep } end,
    "nn.ModuleList: unknown option 'act'", "names alone are options")
local other = lr.StepLR(g.optim.SGD({ leaf() }, { lr = 1 }), 2)
refused(function() return lr.SequentialLR(opt, { lr.StepLR(opt, 1), other }, { 3 }) end,
    "entry 2 is of another optimizer", "schedules of two optimizers")
t.is(opt.launch, nil, "an optimizer has the methods that are called, and no other")
refused(function() g.plot({ 1, nil, 3 }, { text = true }) end,
    "plot: argument 'list': entry [3]", "a gap")
refused(function() g.plot { 1, 2, x = 3 } end,
    "plot: argument 'list': 'x' is in the list", "a line's name")
refused(function() return g.autograd.checkpoint(function() end, leaf()) end,
    "checkpoint: the function returned nothing", "nothing")
refused(function() return g.autograd.checkpoint(function() return 3 end, leaf()) end,
    "checkpoint: result 1 is a number", "a number")

-- Tables that are neither.
t.is(g.tensor {}.shape, { 0 }, "no values")
t.is(x:sum { dim = 1 }, { 2, 2, 2 }, "options alone")
t.is(x[{ {}, {} }].shape, { 2, 3 }, "whole dims")
t.is(g.zeros(setmetatable({ 2, 3, n = 2 }, {})).shape, { 2, 3 }, "an object that is a list")
t.is(g.cat(table.pack(x, x), 2).shape, { 2, 6 }, "table.pack's n")
t.done()
