--!plain
-- diverge: the first op whose result is another one on another device or in another dtype. The
-- distances are worked out by hand.
local t = require "tap"
local g = require "gpush"
local nn, diverge = g.nn, g.diverge

local function line() return debug.getinfo(2, "l").currentline end
local function f32(v) return g.tensor(v, { dtype = "f32" }) end

do -- 256.5 is 256 in bf16: after - 256 nothing is left of 0.5, whose neighbours are 2^-8 apart
    local at
    local function lost(x)
        local y = x + 0.5
        at = line() + 1
        return (y - 256) * 2
    end
    local r = diverge(lost, f32 { 256 }, { dtype = "bf16" })
    t.is({ r.op, r.line, r.element, r.count, r.shape }, { "sub", at, 1, 1, "1" }, "bf16 parts")
    t.is({ r.first_value, r.second_value, r.ulp }, { 0.5, 0, 128 }, "by 0.5, 128 times 2^-8")
    t.is({ r.before, r.dtype }, { 0.25, "bf16" }, "after 0.5 of the 2 between neighbours of 256.5")
    t.ok(tostring(r):find("sub at .*diverge.lua:%d+ is the first to part by more than 16 ulp: by \z
        128 ulp of bf16, element 1 of 1 is 0.5 on f32 cpu and 0 on bf16 cpu; 1 result before \z
        differs by at most 0.25 ulp"), "the sentence")
    r = diverge(lost, f32 { 256, 1 }, { dtype = "bf16" })
    t.is({ r.op, r.count, r.before }, { nil, 3, 0.5 },
        "beside -254.5 the same 0.5 is half an ulp: they count at the largest element")
end
do -- 300 * 300 is above 65504
    local r = diverge(function(x) return x * x end, f32 { 300 }, { dtype = "f16" })
    t.is({ r.op, r.ulp, r.second_value }, { "mul", math.huge, math.huge }, "f16 overflows")
end
do -- f64
    local r = diverge(function(x) return (x + 1e-9) - 1 end, f32 { 1 }, { dtype = "f64" })
    t.is({ r.op, r.dtype }, { "sub", "f32" }, "f64 against f32, in ulp of f32")
end

local Net = nn.module "Net"
function Net:init() self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 2) end
function Net:forward(x) return self.last(self.first(x):dropout(0.5):relu()) end
g.manual_seed(3)
local net = Net()
local function loss(model, x)
    local y = model(x):square():mean()
    y:backward()
    return y
end
do
    local weight, before = net.first.weight, net.first.weight:tolist()
    local r = diverge(loss, { net, g.randn(3, 4) }, { device = "sim" })
    t.is({ r.op, r.before }, { nil, 0 }, "cpu and sim run the same kernels")
    t.ok(r.count > 8, "forward and backward are compared: " .. r.count)
    t.ok(tostring(r):find "none of %d+ results parts by more than 16 ulp of f32: at most 0",
        "which it says")
    t.ok(rawequal(net.first.weight, weight), "the model keeps its parameters")
    t.is({ net.first.weight:tolist(), net.first.weight.grad }, { before, nil }, "as they were")
    r = diverge(loss, { net, g.randn(3, 4) }, { dtype = "bf16", ulp = 16 })
    t.is(r.op, nil, "a small net in bf16")
    r = diverge(loss, { net, g.randn(3, 4) }, { dtype = "bf16", ulp = 0 })
    t.is({ r.op, r.module }, { "linear", "Net.first" }, "ulp = 0: the first rounding, in a module")
end
do -- backward
    local r = diverge(function(x)
        local y = (x * 1):sqrt()
        y:sum():backward()
    end, g.tensor({ 1.0, 1e-9 }, { dtype = "f32", requires_grad = true }), { dtype = "f16" })
    t.is({ r.op, r.step, r.ulp }, { "sqrt_dx", "sqrt", math.huge },
        "1 / 2 sqrt(1e-9) is infinite in f16, where 1e-9 is 0")
end
do -- other paths
    local r = diverge(function(x)
        return tostring(x.dtype) == "bf16" and x:exp() or x:sin()
    end, f32 { 1, 2 }, { dtype = "bf16" })
    t.ok(tostring(r):find "the runs part at op 1: sin at .*, but exp at .* on bf16 cpu",
        "two paths")
end
do -- NaN in both runs is equal, which the report says
    local function f(x) return x:log() * 2 end
    local r = diverge(f, f32 { -1, 2, -3 }, { device = "sim" })
    t.is({ r.op, r.nans }, { nil, 4 }, "two NaN in each of two results")
    t.ok(tostring(r):find "4 elements are NaN in both runs, .* first of log at .*diverge.lua:%d+: \z
        nan.watch", tostring(r))
    r = diverge(f, f32 { 1 }, { device = "sim" })
    t.is(r.nans, 0, "none where there is none")
    t.ok(not tostring(r):find "NaN", "of which none is said")
end
do -- what compares or chooses: 1 + 2^-20 is 1 in bf16, 2.999 is 3
    local function chosen(fn, ...)
        local r = diverge(fn, f32 { ... }, { dtype = "bf16" })
        local c = r.choice or {}
        return { r.op, c.op, c.elements, c.all, c.element, c.first_value, c.second_value }, r
    end
    local near = 1 + 2 ^ -20
    t.is((chosen(function(x) return (x:argmax()) end, 1, near)), { nil, "argmax", 1, 1, 1, 2, 1 },
        "argmax, which computes no float")
    t.is((chosen(function(x) return select(2, (x * 1):sort()) end, near, 1)),
        { nil, "sort", 2, 2, 1, 2, 1 }, "the indices of sort")
    t.is((chosen(function(x) return (x * 1):to "i64" end, 5, 2.999)),
        { nil, "copy", 1, 2, 2, 2, 3 }, "a conversion to integers")
    local got, r = chosen(function(x) return g.where((x + 1):gt(2), 0.0, 1.0) end, near, 1)
    t.is(got, { "where", "gt", 1, 2, 1, 1, 0 }, "where parts, as gt chose otherwise before")
    t.ok(tostring(r):find "where at .* is the first to part .*; gt at .*diverge.lua:%d+ does not \z
        give the same: 1 of 2 elements differs, element 1 is 1 and 0$", tostring(r))
    got, r = chosen(function(x) return (x:gt(1):logical_not()) end, near, 3)
    t.ok(tostring(r):find "^none of 2 results parts .*; gt at .*, nor does a later one$",
        tostring(r))
    t.is((chosen(function(x) return (x * 1):sort(), x:gt(2), x:argmax() end, 1, 3)),
        { nil, nil, nil, nil, nil, nil, nil }, "the same choices")
end
do -- what an optimizer writes
    local r = diverge(function(x)
        local o = g.optim.SGD({ x }, { lr = 1 })
        x:square():sum():backward()
        o:step()
    end, g.tensor({ 300.0 }, { dtype = "f32", requires_grad = true }), { dtype = "f64" })
    local last = r.count
    t.is({ r.op, r.before }, { nil, 0 }, "a step of SGD is the same in f64")
    r = diverge(function(x)
        local o = g.optim.SGD({ x }, { lr = x.dtype == "f64" and 2 or 1 })
        x:square():sum():backward()
        o:step()
    end, g.tensor({ 300.0 }, { dtype = "f32", requires_grad = true }), { dtype = "f64" })
    t.is({ r.count, r.op, r.first_value, r.second_value }, { last - 1, "sgd_step", -300, -900 },
        "parameters after steps of other sizes part")
end
t.error(function() diverge(print, 3) end, "diverge: argument 'inputs'", "a number")
t.error(function() diverge(print, {}) end, "diverge: fn computed nothing", "print")
t.error(function() diverge(print, {}, { ulp = -1 }) end, "diverge: argument 'ulp'", "below 0")
t.error(function() diverge(print, {}, { dtype = "i32" }) end, "diverge: argument 'dtype'", "i32")
t.error(function() diverge(function(x) return x + net.first.weight end, f32 { 1 },
    { device = "sim" }) end, "cpu", "tensors that are not given stay where they are")
t.done()
