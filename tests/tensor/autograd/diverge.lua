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
t.error(function() diverge(print, 3) end, "diverge: argument 'inputs'", "a number")
t.error(function() diverge(print, {}) end, "diverge: fn computed nothing with floats", "print")
t.error(function() diverge(print, {}, { ulp = -1 }) end, "diverge: argument 'ulp'", "below 0")
t.error(function() diverge(print, {}, { dtype = "i32" }) end, "diverge: argument 'dtype'", "i32")
t.error(function() diverge(function(x) return x + net.first.weight end, f32 { 1 },
    { device = "sim" }) end, "cpu", "tensors that are not given stay where they are")
t.done()
