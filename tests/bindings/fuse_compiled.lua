--!plain
-- Compiled programs against single ops, bit for bit: every formula that is compiled, on numbers of
-- all kinds, with gradients, strided and broadcast operands, reductions, and on sim.
local t = require "tap"
local g = require "gpush"
local programs = require "fused_programs"
local same, gradients = programs.same, programs.gradients
local _, before = g.fuse_compile "wait"

local function done() return select(2, g.fuse_compile()) end
do
    local f = g.fuse(function(x) return g.relu(x * 2) * 3 end)
    f(g.ones(2))
    f(g.ones(2))
    local why = done().why
    if why and why:find "no gcc or cc" or why and why:find "by clang" then t.skip_all(why) end
end

-- ---- comparison ----

local function numbers(dtype)
    local tiny = dtype == "f32" and 1e-41 or 5e-320
    local large = dtype == "f32" and 3e38 or 1e308
    local special = g.tensor({ 0, -0.0, 1, -1, 1 / 0, -1 / 0, 0 / 0, tiny, -tiny, large, -large,
        0.5, -0.5, 3, -3, 6, 20, 25, 26, -26, 88.5, -88, -104.5, 90, 1e9, -2e9, 2.5, -3.5, 14.6,
        -14.7, 0.1 }, { dtype = dtype })
    local x = g.randn(2000, { dtype = dtype })
    return g.cat { special, x["1:1000"], 30 * x["1001:-1"] }
end

-- The same results from fn fused and as it is, and from a compiled program.
local function compare(what, fn, ...)
    local was = done()
    local fused = g.fuse(fn)
    fused(...)
    local n = done()
    t.is(n.compiled + n.loaded - was.compiled - was.loaded + n.failed, 0,
        what .. ": nothing is compiled by the first call, which notes the ops")
    g.manual_seed(3)
    local got = table.pack(fused(...))
    g.manual_seed(3)
    local want = table.pack(fn(...))
    n = done()
    t.ok(n.compiled + n.loaded > was.compiled + was.loaded, what .. ": is compiled")
    for i = 1, want.n do t.ok(same(got[i], want[i]), what .. ": result " .. i) end
end

-- ---- every formula, several in one program ----

local unary = { "neg", "abs", "square", "relu", "exp", "sqrt", "rsqrt", "reciprocal", "sigmoid",
    "silu", "floor", "ceil", "round", "trunc", "frac", "relu6", "gelu_tanh", "mish", "softsign",
    "hardsigmoid", "hardswish", "sign" }
local binary = { "add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "fmax",
    "fmin", "squared_error", "absolute_error", "kl_log_term" }
local truth = { "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor" }

-- Each formula is taken above a bound of its own, so that one NaN does not hide all others.
local function all_unary(from, to)
    return function(x)
        local y = x * 1
        for i = from, to do y = g.where(x:gt(i - 12), g[unary[i]](x), y) end
        return y, g[unary[from]](x) * 1
    end
end
local function all_binary(a, b)
    local y, m = a * 1, nil
    for i, op in ipairs(binary) do y = g.where(a:gt(i - 7), g[op](a, b), y) end
    for _, op in ipairs(truth) do m = m and m:logical_xor(g[op](a, b)) or g[op](a, b) end
    return y, m
end
local function others(x, y)
    local z = g.leaky_relu(x, 0.1) + g.clamp(y, -0.5, 20) - g.hardtanh(x)
    z = g.where(x:isnan(), g.nan_to_num(x, 3), z) + g.threshold(y, 0.1, -2)
    z = g.where(y:isinf() | x:isfinite(), g.addcmul(z, x, y, 0.3), g.lerp(x, y, 0.7))
    z = g.where(x:lt(y), z, g.softshrink(x, 0.4) * g.hardshrink(y, 0.2)) + x ^ 2 - y ^ 3
    return g.where(x:ge(0), x ^ 0.5, x ^ -1) + z, g.huber(x, y, 0.7)
end
for _, dtype in ipairs { "f32", "f64" } do
    local x = numbers(dtype)
    local y = x:flip(1)
    compare(dtype .. " of one operand", all_unary(1, 11), x)
    compare(dtype .. " of one operand, more", all_unary(12, #unary), x)
    compare(dtype .. " of two operands", all_binary, x, y)
    compare(dtype .. " with parameters", others, x, y)
end

-- ---- integers, bools, conversions ----

compare("integers and conversions", function(i, m, x)
    local k = (i * 3 - i:abs()) & (i | 5)
    return k:to "f32" * x + m:to "f32", g.where(m, k, i) + 1, (k:gt(2) & m):to "i64" + i:to "i64"
end, (g.randn(3000) * 9):to "i32", g.randn(3000):gt(0), g.randn(3000))

-- ---- layouts, steps that are not compiled between others, sums ----

local m = g.randn(37, 2500)
compare("broadcast and strided operands, and functions of the C library", function(a, b, c)
    local y = (a * b + 1) * c
    return (y:sin() * 2 + a):exp() * 0.5
end, m, g.randn(2500), g.randn(2500, 37):t())
compare("a sum", function(a) return (g.gelu(a * 2 + 1) * 1):sum() end, m)
compare("a maximum over rows", function(a) return (a * a - 3):amax(-1) end, m)
compare("dropout", function(a) return g.dropout(a * 2 + 1, 0.3) * 3 + 1 end, m)

-- ---- gradients ----

do
    local function fn(a, b)
        return g.gelu(a * b + 1) * g.silu(b - a) + g.relu(a) ^ 2 * 0.5 + g.maximum(a, b)
    end
    local a, b, fused = g.randn(5000), g.randn(5000), g.fuse(fn)
    gradients(fused, a, b)
    local was = done()
    local got, want = gradients(fused, a, b), gradients(fn, a, b)
    t.ok(done().compiled + done().loaded > was.compiled + was.loaded + 1,
        "a function and its gradients are compiled")
    for i = 1, 2 do t.ok(same(got[i], want[i]), "gradient " .. i) end
end

-- ---- sim ----

do
    local function fn(a) return g.relu(a * 2 + 1) * 3 end
    local x, fused = g.randn(5000):to "sim", g.fuse(fn)
    fused(x)
    local got = fused(x)
    g.synchronize()
    t.ok(same(got:to "cpu", fn(x):to "cpu"), "on sim")
end

-- ---- the setting ----

t.is(done().failed, 0, "nothing failed")
t.is(before.compiled + before.loaded + before.failed, 0, "nothing was compiled before that")
t.is(g.fuse_compile(), "wait", "the mode")
t.is(g.fuse_compile(false), false, "off")
do
    local was, f = done(), g.fuse(function(x) return x * 3 + 4 end)
    f(g.ones(5))
    f(g.ones(5))
    t.is(done().compiled + done().loaded, was.compiled + was.loaded, "nothing is compiled then")
end
t.is(g.fuse_compile(true), true, "on")
t.error(function() g.fuse_compile "now" end, 'fuse_compile.*expected true, false or "wait"',
    "another mode")
t.done()
