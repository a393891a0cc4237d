-- Modules: what registers, the tree, modes, moving, the state by name, hooks, printing, and where
-- errors say they are.
local t = require "tap"
local g = require "gpush"
local nn = g.nn

local Net = nn.module "Net"
function Net:init(hidden)
    self.first = nn.Linear(3, hidden)
    self.blocks = nn.ModuleList { nn.Linear(hidden, hidden),
        nn.Sequential(nn.ReLU(), nn.Linear(hidden, 2)) }
    self.scale = nn.parameter(g.ones(2))
    self.note = "no tensor"
    self.seen = g.zeros(2) -- a plain tensor is not a parameter
    self:register_buffer("count", g.zeros({}, { dtype = "i64" }))
    self:register_buffer("scratch", g.zeros(3), false)
end
function Net:forward(x)
    x = self.first(x)
    for _, block in ipairs(self.blocks) do x = block(x) end
    return x * self.scale
end

local function names(iterator, state)
    local list = {}
    for name in iterator, state do list[#list + 1] = name end
    return list
end

-- ---- the tree ----

local net = Net(4)
local learned = { "first.weight", "first.bias", "scale", "blocks.1.weight", "blocks.1.bias",
    "blocks.2.2.weight", "blocks.2.2.bias" }
local function sorted(list) table.sort(list) return list end
t.is(sorted(names(net:named_parameters())), sorted(learned), "parameters by name")
t.is(#net:parameters(), 7, "parameters is a list of the tensors")
t.is(names(net:named_buffers()), { "count", "scratch" }, "buffers")
t.is(#net:buffers(), 2, "and as a list")
t.is(names(net:named_modules()),
    { "", "first", "blocks", "blocks.1", "blocks.2", "blocks.2.1", "blocks.2.2" },
    "modules, the model first")
t.is(names(net:named_children()), { "first", "blocks" }, "children")
t.ok(rawequal(net:children()[1], net.first) and nn.is_module(net) and not nn.is_module {},
    "they are the fields")
t.is(net(g.ones(5, 3)).shape, { 5, 2 }, "a call runs forward")
t.ok(net.first.weight.requires_grad and net.first.weight.is_leaf,
    "parameters are leaves that require gradients")

net.first.bias = nil
t.is(#net:parameters(), 6, "a field set to nil is no parameter any more")
net.first.bias = nn.parameter(g.zeros(4))
t.is(#net:parameters(), 7, "set again, it is one")
net.note = nn.Linear(1, 1)
t.is(#net:parameters(), 9, "a field that held something else before registers too")
net.note = nil
local tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
tied[2].weight = tied[1].weight
t.is(#tied:parameters(), 3, "a tensor with two names counts once")
local order = {}
net:apply(function(m) order[#order + 1] = nn.class_of(m) end)
t.is(order, { "Linear", "Linear", "ReLU", "Linear", "Sequential", "ModuleList", "Net" },
    "apply goes from the leaves to the root")

-- ---- modes and gradients ----

t.ok(net.training and net.blocks[2][1].training, "modules begin in training mode")
t.ok(rawequal(net:eval(), net) and not net.blocks[2][1].training, "eval is for the whole tree")
t.ok(net:train().blocks[2][1].training, "and so is train")
net(g.ones(1, 3)):sum():backward()
t.ok(net.scale.grad ~= nil, "gradients arrive")
net:zero_grad()
t.ok(net.scale.grad == nil, "zero_grad forgets them")
net:requires_grad_(false)
t.ok(not net(g.ones(1, 3)).requires_grad and #net:parameters() == 7,
    "frozen parameters stay parameters")
net:requires_grad_()

-- ---- to ----

local before = net.first.weight
t.ok(rawequal(net:to("cpu"), net) and rawequal(net.first.weight, before),
    "to where it is changes nothing")
net:to("f64")
t.is(net.first.weight.dtype, "f64", "to a dtype")
t.is(net.count.dtype, "i64", "which integers do not take")
t.ok(net.first.weight.is_leaf and net.first.weight.requires_grad, "what moved is a leaf")
net(g.ones(1, 3, { dtype = "f64" })):sum():backward()
net:to("sim", "f32")
t.is({ net.scale.device, net.scale.dtype, net.count.device }, { "sim:0", "f32", "sim:0" },
    "to a device and a dtype")
t.is(net.scale.grad.device, "sim:0", "gradients move along")
t.is(net(g.ones(1, 3, { device = "sim" })).device, "sim:0", "and it runs there")
t.is(net:cpu().scale.device, "cpu", "cpu()")
t.is(net:to(g.ones(1, { dtype = "f64" })).scale.dtype, "f64", "to like a tensor")
net:float()
tied:to("f64")
t.ok(rawequal(tied[1].weight, tied[2].weight), "tied tensors stay tied")
-- As in PyTorch parameters stay the same objects, and buffers do not: an optimizer made before the
-- model moves trains it.
local moving = nn.Linear(4, 1)
local weight, start, called = moving.weight, moving.weight:tolist()[1][1], 0
local early = g.optim.SGD(moving, { lr = 0.125 })
weight:register_hook(function() called = called + 1 end)
for _, to in ipairs { "sim", "f64" } do
    moving:to(to)
    early:zero_grad()
    local x = g.ones(2, 4, { device = "sim", dtype = moving.weight.dtype })
    moving(x):sum():backward()
    early:step()
end
t.ok(rawequal(moving.weight, weight) and weight.device == "sim:0" and weight.dtype == "f64",
    "a parameter that moves is the same object")
t.is(weight:tolist()[1][1], start - 0.125 * 2 * 2, "two steps of 0.125 times a gradient of 2")
t.is({ weight.grad.device, weight.grad.dtype, called }, { "sim:0", "f64", 2 },
    "its gradient and hooks are its own")
local behind = nn.Linear(2, 1)
local late = g.optim.Adam(behind, { lr = 0.1 }) -- its state stays where it was
behind(g.ones(1, 2)):sum():backward()
late:step()
behind:to("sim")
t.error(function() late:step() end, "tensors are on different devices: sim:0 and cpu",
    "state that was left behind is named")
local norm = nn.BatchNorm1d(2)
local mean, gamma = norm.running_mean, norm.weight
norm:to("sim")
t.ok(mean.device == "cpu" and norm.running_mean.device == "sim:0" and rawequal(gamma, norm.weight),
    "buffers are new tensors")
local shared = nn.Linear(2, 2)
local both = nn.Sequential(shared, nn.Linear(2, 2))
both[2].weight = shared.weight
both:half()
t.ok(rawequal(both[2].weight, shared.weight) and shared.weight.dtype == "f16"
    and #both:parameters() == 3, "tied parameters stay tied")
local whole = pcall(function() both:to("f32", "nowhere") end)
t.ok(not whole and shared.weight.dtype == "f16", "where it fails nothing has moved")
t.error(function() return both[g.tensor(1)] end, "module%[t%]: a tensor is no index of a list",
    "a tensor as the index of a list of modules")
local captured = g.capture(function(x) return (shared.weight * x):detach() end)
captured(g.ones(2, { dtype = "f16" }))
both:float()
t.error(function() captured(g.ones(2, { dtype = "f16" })) end, "was changed: capture",
    "a captured function notices that a parameter moved")
local fused = g.fuse(function(x) return shared.weight * x end)
t.is({ fused(g.ones(2)).dtype, both:double() and fused(g.ones(2)).dtype }, { "f32", "f64" },
    "a fused one uses what the parameter is now")
-- A field of a parameter, buffer or module that was assigned something else.
for _, case in ipairs {
    { g.nn.Linear(2, 2), "weight", 5, "Linear: 'weight' held a parameter, and was" },
    { g.nn.BatchNorm2d(3), "running_mean", "x", "'running_mean' held a buffer, and was" },
    { g.nn.Sequential(g.nn.ReLU(), g.nn.ReLU()), 1, 5, "Sequential: '1' held a module, and was" },
    { g.nn.Sequential(g.nn.ReLU()), 1, g.ones(2), "'1' held a module, and was assigned a" } } do
    local m, field, value, says = table.unpack(case)
    m[field] = value
    t.error(function() return m:parameters() end, says, says)
    t.error(function() return m:state_dict() end, says, "and when it is saved")
    t.error(function() return m(g.ones(1, 3, 2, 2)) end, type(field) == "string" and field or says,
        "and when it is called")
end
local bare = g.nn.Linear(2, 2)
bare.bias = nil
t.is(#bare:parameters(), 1, "nil removes a parameter")
t.error(function() net:to("f33") end, "f33", "a device that is none")
t.is(net.scale.dtype, "f32", "leaves the model as it was")

-- ---- state ----

local a, b = Net(4), Net(4)
local state = a:state_dict()
t.is(sorted(names(pairs(state))), sorted { "count", table.unpack(learned) },
    "the state: parameters and buffers that are saved")
t.ok(state.scale:shares_storage(a.scale) and not state.scale.requires_grad,
    "shares memory, without gradients")
b:load_state_dict(state)
local x = g.randn(2, 3)
t.is(a(x), b(x), "a state makes the models equal")
t.ok(not b.scale:shares_storage(a.scale) and b.scale.requires_grad, "by copies")
local half = {}
for name, v in pairs(state) do half[name] = v:to("f64") end
half.scale = g.full({ 2 }, 3, { dtype = "f64" })
b:load_state_dict(half)
t.is({ b.scale.dtype, b.scale[1]:item() }, { "f32", 3 }, "another dtype is converted")
b:to("sim"):load_state_dict(state)
t.is(b:cpu()(x), a(x), "to a model on another device")

local wrong = { ["first.weight"] = g.ones(4, 5), extra = g.ones(1), scale = 7 }
for name, v in pairs(state) do
    if wrong[name] == nil and name ~= "blocks.1.bias" then wrong[name] = v end
end
wrong.count = g.ones({}, { dtype = "i64" })
local ok, message = pcall(b.load_state_dict, b, wrong)
t.ok(not ok and message:find "load_state_dict: this is not a state of Net:",
    "a state of another model")
t.ok(message:find "missing: blocks.1.bias\n", "says what is missing")
t.ok(message:find "unexpected: extra\n", "what is unexpected")
t.ok(
    message:find "of another shape: first.weight is 4x5 %(expected 4x3%), scale is a number \z
        %(expected a tensor%)", "and which shapes differ")
t.is(b.count:item(), 0, "and the model is as it was")
wrong["first.weight"], wrong.scale = nil, nil
local missing, unexpected = b:load_state_dict(wrong, { strict = false })
t.is({ missing, unexpected }, { { "blocks.1.bias", "first.weight", "scale" }, { "extra" } },
    "not strict: the names are returned")
t.is(b.count:item(), 1, "and the rest is loaded")
t.error(function() b:load_state_dict(3) end, "load_state_dict: expected a table", "no table")

-- ---- classes and hooks ----

local Twice = nn.module({ "Twice", sig = "int size, float factor=2" }, Net)
function Twice:init(size, factor) Net.init(self, size) self.factor = factor end
function Twice:forward(x) return Net.forward(self, x) * self.factor end
t.is(Twice(4).factor, 2, "a signature fills in defaults")
t.is(Twice(4, { factor = 3 })(x).shape, { 2, 2 }, "a class with a base has its methods")
t.error(function() Twice() end,
    "nn.Twice: argument 'size' %(#1%): expected an integer, got nothing",
        "and its arguments are checked")
t.error(function() nn.Linear(3) end, "nn.Linear: argument 'out_features' %(#2%)", "as a layer's")
t.error(function() nn.module "Empty"()(x) end, "Empty: the class has no method forward",
    "no forward")
t.error(function() nn.module(3) end, "nn.module: expected a name", "no name")
t.ok(nn.NoSuchLayer == nil and nn.tree == nil, "there is no such layer")

local m, log = nn.Sequential(nn.Identity(), nn.Identity()), {}
local off = m[1]:register_forward_pre_hook(function(_, args) return args[1] + 1 end)
m[2]:register_forward_hook(function(_, args, y) log[1] = args[1]:item() return y * 10 end)
t.is(m(g.ones(1)):item(), 20, "hooks replace arguments and results")
t.is(log, { 2 }, "and see them")
off:remove()
t.is(m(g.ones(1)):item(), 10, "a hook that was taken away is gone")

-- ---- text ----

local tree = nn.Sequential(nn.Linear(300, 400), nn.ReLU(),
    nn.Sequential(nn.Linear(400, 2, { bias = false })))
t.is(tostring(tree), [[
Sequential                                                     121,200
  1: Linear(300, 400)                weight 400x300, bias 400  120,400
  2: ReLU
  3: Sequential                                                    800
    1: Linear(400, 2, bias = false)  weight 2x400                  800]], "a printed tree")
local summary = nn.summary(Net(4), g.ones(5, 3))
for _, line in ipairs { "\nNet%s+5x2%s+2\n", "\n  first: Linear%s+5x4%s+16\n",
    "\n  blocks.2: Sequential%s+5x2\n",
    "\n    blocks.2.2: Linear%s+5x2%s+10\n", "total: 48 parameters %(192 B%), 48 of them learn$" }
    do
    t.ok(summary:find(line), "a summary has " .. line:gsub("\n", ""))
end
t.error(function() nn.summary(3) end, "nn.summary: argument 'model'", "of a module only")

local told, show = {}, print
print = function(v) told[#told + 1] = v end
g.help(nn.Linear)
g.help(nn.Linear(1, 1))
g.help(nn.Sequential)
print = show
t.ok(told[1]:find "^nn.Linear%(in_features, out_features, %[bias=true%]" and told[1] == told[2],
    "help tells a layer's arguments")
t.ok(told[3]:find "fields:.*forward", "of one that says none, what it has")

-- ---- errors name the layer ----

local s = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(5, 2)))
t.error(function() s(g.ones(1, 3)) end,
    "Sequential%.2%.2 %(Linear%): linear: x is f32 1x4 and has 4 features, the weight is f32 2x5 ",
        "the path of a layer, and both shapes")
t.error(function() s[1](g.ones(1, 2)) end, "nn_module.lua:%d+: Linear: linear: x is f32 1x2",
    "a layer on its own")
t.error(function() s(nil) end,
    "nn_module.lua:%d+: Sequential%.1 %(Linear%): linear: argument 'x' %(#1%): expected a tensor, \z
        got nil",
    "what is no tensor, at the script's line")
local deep = Net(4)
deep.blocks[2] = nn.Linear(7, 1)
t.error(function() deep(g.ones(1, 3)) end, "Net%.blocks%.2 %(Linear%): ", "through a list")
t.error(function() return x:matmul(x) end, "lua:%d+: matmul: ",
    "outside of modules there is no path")
t.error(function() nn.BatchNorm2d(3)(g.ones(2, 3)) end, "BatchNorm2d: x is 2x3 %(expected 4 dims%)",
    "a layer's own checks too")

t.error(function() nn.BCELoss()(g.zeros(2, 3), g.zeros(2)) end,
    "nn_module.lua:%d+: BCELoss: binary_cross_entropy: argument 'target' has shape 2, x 2x3",
        "a composite's checks at the script's line, too")

local Odd = nn.module "Odd\27[31m"
function Odd:init() self["l\27[31m"] = nn.Linear(2, 2) end
t.ok(not tostring(Odd()):find "[^%g \n]", "a name does not steer the terminal")

local ring, visits = nn.Sequential { nn.Linear(2, 3) }, 0
ring.back = ring
t.is(tostring(ring), [[
Sequential                                        9
  1: Linear(2, 3)             weight 3x2, bias 3  9
  back: the Sequential above]], "a module that holds itself is printed once")
ring:apply(function() visits = visits + 1 end)
t.is(visits, 2, "and visited once")

-- A deep model prints in time that grows with the text: 1,000 levels took 15 s.
local deep = g.nn.Linear(2, 3)
for _ = 1, 1000 do deep = g.nn.Sequential(deep) end
local begin = g.clock()
local text = tostring(deep)
t.ok(g.clock() - begin < 5 and #text > 1000000, "a deep model prints")
local tied = g.nn.Linear(2, 3)
text = tostring(g.nn.Sequential { tied, tied })
t.ok(text:find "^Sequential +9\n", "a layer that occurs twice counts once")

-- ---- copies ----

do
    local Tied = nn.module "Tied"
    function Tied:init()
        self.a, self.list = nn.Linear(2, 2), { 1, { 2 } }
        self.b = self.a
        self:register_buffer("seen", g.zeros(1))
    end
    local one = Tied()
    one.a(g.ones(2)):sum():backward()
    local two = one:deepcopy()
    t.ok(rawequal(two.a, two.b) and not rawequal(one.a, two.a), "what was shared is shared")
    t.ok(g.equal(one.a.weight, two.a.weight) and g.equal(one.a.weight.grad, two.a.weight.grad),
        "values and gradients are the same")
    g.no_grad(function() two.a.weight:fill_(9) two.seen:fill_(1) end)
    two.list[2][1], two.a.weight.grad = 3, nil
    t.ok(one.a.weight:max():item() < 9 and one.seen:item() == 0 and one.list[2][1] == 2
        and one.a.weight.grad ~= nil, "and apart")
    t.is(#two:parameters(), 2, "its parameters are found")
end
t.done()
