--!plain
-- reduction: gpush's own reductions and formulas of pairs, dims, derivatives, NaN, no elements, and
-- messages, against values worked out by hand.
local t = require "tap"
local g = require "gpush"
local reduction = g.reduction

local function on(device, list, dtype) return g.tensor(list, { dtype = dtype }):to(device) end

local function values(device)
    local function is(x, want, name) t.is(x, want, device .. ": " .. name) end
    local x = on(device, { { 3.0, 4.0 }, { 5.0, 12.0 } })
    local l2 = reduction { "T x", "T y", map = "x * x", reduce = "a + b", post = "y = sqrt(a)",
        identity = 0, name = "l2" }
    t.is(tostring(l2), "kernel l2(T x) -> T y: x * x, by a + b, then y = sqrt(a)", "print shows it")
    is(l2(x, { dim = 2 }), { 5, 13 }, "the norms of rows")
    is(l2(x, { dim = -1, keepdim = true }), { { 5 }, { 13 } }, "keepdim")
    is(l2(on(device, { 2.0, 2.0, 2.0, 2.0 })), 4, "all elements")
    is(l2(on(device, -3.0)), 3, "a scalar")
    is(l2(g.zeros(0, 2, { device = device }), { dim = 1 }), { 0, 0 }, "none: the identity")
    local weighted = reduction("T x, T w", "f64 y", "x * w", "b + a")
    is(weighted(x, on(device, { 1.0, 2.0 })), 3 + 8 + 5 + 24, "operands broadcast")
    is(reduction("T x", "i64 n", "x > 4", "a + b")(x), 2, "truth values are counted")
    is(reduction("T x", "bool n", "x > 4", "a || b")(x, { dim = 1 }), { true, true }, "any")
    is(reduction("T x", "T y", "x", "a * b")(x, { dim = { 1, 2 } }), 720, "a product of both dims")
    local nan = on(device, { { 0 / 0, 2.0, 7.0 }, { 0 / 0, 0 / 0, 0 / 0 } })
    local most = reduction("T x", "T y", "x", "max(a, b)")(nan, { dim = 2 }):tolist()
    t.is(most[1], 7.0, device .. ": max leaves NaN out, as CUDA's")
    t.ok(most[2] ~= most[2], device .. ": unless there is nothing else")
    is(reduction("T x", "T y", "x", "fmin(a, b)")(on(device, { 4, 2, 9 }, "i32")), 2, "of integers")
    -- ---- pairs ----
    local poly = reduction("i32 x", "i32 y", "x", "a * 10 + b", "", "0")
    is(poly(on(device, { 1, 2 }, "i32")), 12, "another formula, of two")
    local hypot = reduction { "T x", "T y", map = "x", reduce = "hypot(a, b)", identity = 0 }
    is(hypot(on(device, { 3.0, 4.0, 12.0, 84.0, 132.0 })), 157, "of five: the identity fills up")
    is(hypot(x, { dim = 2 }), { 5, 13 }, "along a dim")
    is(hypot(x:reshape(2, 1, 2), { dim = { 1, 3 }, keepdim = true }).shape, { 1, 1, 1 },
        "keepdim of two dims")
    is(hypot(g.zeros(0, { device = device })), 0, "none: the identity")
    local either = reduction("i64 x", "i64 y", "x", "(a & b) | (a ^ b)", "", 0) -- is a | b
    is(either(on(device, { 1, 4, 8 }, "i64")), 13, "an associative formula of bits")
end

local function derivatives()
    local x = g.randn(3, 5, { dtype = "f64" }):requires_grad_()
    local l2 = reduction { "T x", "T y", map = "x * x", reduce = "a + b", post = "y = sqrt(a)" }
    t.ok(g.autograd.gradcheck(function(v) return l2(v, { dim = 2 }) end, { x }), "of a sum")
    local hypot = reduction { "T x", "T y", map = "x", reduce = "hypot(a, b)", identity = 0 }
    t.ok(g.autograd.gradcheck(function(v) return hypot(v, { dim = 2 }) end, { x }), "of pairs")
    local most = reduction("T x", "T y", "x * x", "max(a, b)")
    t.ok(g.autograd.gradcheck(function(v) return most(v, { dim = 1 }) end, { x }), "of a greatest")
end

local function refused()
    local x = g.tensor { { 1.0, 2.0, 3.0 } }
    local function fails(fn, pattern) t.error(fn, pattern, pattern) end
    local function refuses(pattern, ...)
        local parts = table.pack(...)
        fails(function() reduction(table.unpack(parts, 1, parts.n)) end, pattern)
    end
    local sum = reduction("T x", "T y", "x", "a + b")
    fails(function() sum(x, { dim = 3 }) end, "option 'dim': 3 is none of 2 dims")
    fails(function() sum(x, { dim = { 1, 1 } }) end, "1 is none of 2 dims, or is there twice")
    fails(function() sum(x, { dim = "rows" }) end, "expected a dim or a list of them, got rows")
    fails(function() sum(x, { dims = 1 }) end, "unknown option 'dims'")
    fails(function() sum(3) end, "expected a tensor among the arguments")
    refuses("'none' is not a number", "T x", "T y", "x", "a - b", "", "none")
    refuses("argument 'reduce': expected text, got nothing", "T x", "T y", "x")
    refuses("unknown part 'join' %(expected inputs, outputs, map, reduce, post, identity, name%)",
        { "T x", "T y", map = "x", join = "a + b" })
    refuses("raw ones are elementwise's alone", "raw T x", "T y", "x", "a + b")
    refuses("expected one output, got 2", "T x", "T y, T z", "x", "a + b")
    refuses("expected a value, got the end", "T x", "T y", "x", "a + ")
    fails(function() reduction("T x", "T y", "3", "a + b")(x) end, "map: expected a formula of the")
    local pairs_of = reduction("T x", "T y", "x", "a * b + a")
    fails(function() pairs_of(x) end, "3 elements are left over; give an identity")
    fails(function() pairs_of(g.zeros(0)) end, "no elements; give an identity")
    fails(function() reduction("T x", "T y", "x", "a + c", "", 0)(x) end, "'c' has no value here")
    local other = reduction("T x", "T y", "x", "a + b", "z = a")
    fails(function() other(x) end, "post gives 'y' no value")
end

for _, device in ipairs { "cpu", "sim" } do values(device) end
local x = g.tensor { { 1.0, 5.0 }, { 3.0, 7.0 } }
t.is(reduction("T x", "T y", "x", "a > b ? a : b", "y = a", "-INFINITY")(x):item(), 7,
    "an identity that is a formula")
t.is(reduction("T x", "T y", "x", "a + b", "y = a / _in_ind.size()", "0")(x):item(), 4,
    "CuPy's count of what goes in")
t.is(reduction("T x", "T y", "x", "a + b", "y = a * _out_ind.size() / _in_ind.size()", "0")(x,
    { dim = 1 }):tolist(), { 2, 6 }, "and of what comes out")
derivatives()
refused()
t.done()
