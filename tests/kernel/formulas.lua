--!plain
-- elementwise: broadcasting, dtypes, raw arguments, derivatives and messages, on cpu and sim,
-- against values worked out by hand.
local t = require "tap"
local g = require "gpush"
local elementwise = g.elementwise

local function on(device, list, dtype) return g.tensor(list, { dtype = dtype }):to(device) end

local function values(device)
    local function is(x, want, name) t.is(x, want, device .. ": " .. name) end
    local sq = elementwise("T x, T y", "T z", "z = (x - y) * (x - y)", "sq")
    local z = sq(on(device, { { 1.0, 2.0 }, { 3.0, 4.0 } }), on(device, { 1.0, -1.0 }))
    is(z, { { 0, 9 }, { 4, 25 } }, "operands broadcast")
    is(z.device:match "%a+", device, "where the operands are")
    is(sq(on(device, { 5, 7 }), 4), { 1, 9 }, "a number beside a tensor of integers")
    is(sq(on(device, { 5, 7 }), 4).dtype, "i64", "stays their dtype")
    is(sq(on(device, { 1, 2 }, "f16"), on(device, { 1, 5 }, "f64")).dtype, "f64", "T by promotion")
    is(sq(on(device, { 1, 2 }, "i32"), on(device, { 1, 5 }, "u8")):tolist(), { 0, 9 },
        "u8 is converted to T first")
    local first = elementwise("T x, T y", "T z", "z = x")
    is(first(on(device, { { 1 }, { 2 } }), on(device, { 0, 0, 0 })), { { 1, 1, 1 }, { 2, 2, 2 } },
        "a result has the shape of all operands")
    is(elementwise("T x", "T z, bool big", "z = 1; big = x > 2")(on(device, { 1.0, 3.0 })),
        { 1, 1 }, "an output that is a number")
    local minmax = elementwise("T x, T y", "T lo, T hi", "lo = min(x, y); hi = max(x, y)")
    local lo, hi = minmax(on(device, { 1.0, 5.0, 0 / 0 }), on(device, { 3.0, 2.0, 7.0 }))
    is(lo, { 1, 2, 7 }, "several outputs: the first, a number where the other is NaN")
    is(hi, { 3, 5, 7 }, "the second")
    is(elementwise("u8 x, u8 y", "u8 z", "z = (x + y) / 2")(on(device, { 250 }, "u8"),
        on(device, { 254 }, "u8")), { 252 }, "u8 is computed with as i32")
    is(elementwise("i32 x", "f32 z", "float d = x; z = d / 4")(on(device, { 6 }, "i32")), { 1.5 },
        "a declared name has its type")
    is(elementwise("bool m, f32 x", "f32 z", "z = m * x + (x > 0) + (x > 1)")(
        on(device, { true, false }), on(device, { 3.0, 0.5 })), { 5, 1 },
        "truth values count as 1 and 0")
    is(elementwise("f32 x", "f32 z", "z = M_PI > 3 ? x : -x // as in C\n; z += 0x10")(
        on(device, { 1.0 })), { 17 }, "constants, comments, +=")
    is(elementwise("T x", "T z", "z = x * 2")(on(device, 3.0)), 6, "0-d")
    local five = on(device, { 5 }, "i32")
    for formula, want in pairs { ["fabs(x) / 2"] = 2.5, ["pow(x, 7) / 2"] = 39062.5,
        ["sqrt(x)"] = 2.23606797749979, ["floor(x) / 2"] = 2.5, ["0.5 * x + 0.1"] = 2.6,
        ["x > 4.5 ? x : 0.5"] = 5, ["(char)200"] = -56, ["(short)70000 + x"] = 4469,
        ["(u8)300"] = 44, ["(char)-129"] = 127, ["hypot(x, 12)"] = 13 } do
        local z = elementwise("i32 x", "f64 z", "z = " .. formula)(five)
        t.ok((z - want):abs():item() < 1e-15, device .. ": " .. formula .. " as in C", tostring(z))
    end
    is(elementwise("T x", "T z", "z = x * 2")(g.zeros(0, 3, { device = device })).shape, { 0, 3 },
        "no elements")
    local turned = on(device, { { 1.0, 2.0 }, { 3.0, 4.0 } }):transpose(1, 2)
    is(elementwise("T x", "T z", "z = x + 1")(turned), { { 2, 4 }, { 3, 5 } }, "strided operands")
    local x = on(device, { 1.0 })
    elementwise("T x", "T z", "z = x")(x):add_(1)
    is(x, { 1 }, "a result is no view of an operand")
end

local function raw(device)
    local function is(x, want, name) t.is(x, want, device .. ": " .. name) end
    local edge = elementwise("raw f32 x, i64 n", "f32 z",
        "z = i > 0 && i < n - 1 ? x[i - 1] - 2 * x[i] + x[i + 1] : 0", "edge")
    local list = { 1, 4, 9, 16, 30 }
    local x, want = on(device, list, "f32"), { 0, 2, 2, 7, 0 }
    is(edge(x, 5, { size = 5 }), want, "a stencil; conditions guard its reads")
    is(edge(g.stack({ x, x }, 2):select(2, 1), 5, { size = 5 }), want, "of a strided one")
    local pick = elementwise("raw T table, i64 at", "T z", "z = at >= 0 ? table[at] : -1")
    is(pick(x, on(device, { { 4, -3 }, { 0, 1 } })), { { 30, -1 }, { 1, 4 } },
        "indices that are an operand, in its shape")
    is(elementwise("f32 y", "i64 z", "z = i * 10")(on(device, { { 0.0, 0 }, { 0, 0 } })),
        { { 0, 10 }, { 20, 30 } }, "i counts elements from 0, along rows")
    is(elementwise("raw T x", "T z", "z = x[2 - i]")(x, { size = 3 }), { 9, 4, 1 }, "backwards")
    local either = elementwise("raw T x", "T z", "z = i == 0 || x[i - 1] > 3 ? x[i] : 0")
    is(either(x, { size = 5 }), { 1, 0, 9, 16, 30 }, "|| guards, too")
end

local function derivatives()
    local x, y = g.randn(3, 4, { dtype = "f64" }), g.randn(4, { dtype = "f64" })
    local list = { x:requires_grad_(), y:requires_grad_() }
    local smooth = elementwise("T x, T y", "T z", "T d = x - y; z = exp(-d * d) / (1 + y * y)")
    t.ok(g.autograd.gradcheck(smooth, list), "a formula's derivative")
    local slope = elementwise("T x, T y", "T a, T b", "a = x > 0 ? x * y : y; b = sin(x)")
    t.ok(g.autograd.gradcheck(slope, list), "of two outputs, with ?:")
    local read = elementwise("raw T x, i64 n", "T z", "z = i + 1 < n ? x[i] * x[i + 1] : x[0]")
    t.ok(g.autograd.gradcheck(function(v) return read(v, 12, { size = 12 }) end, { x }),
        "of elements that are read by index")
end

local function places()
    local k = elementwise("T x, T y", "T z", "z = fabs(x) * y", "twisted")
    local x, y = g.randn(100), g.randn(100)
    local want = k(x, y)
    t.is(k(x:to "sim", y:to "sim"):to "cpu", want, "the same bits on sim")
    t.is(g.fuse(function(a, b) return k(a, b) + 1 end)(x, y), want + 1, "within a fused function")
    local captured = g.capture(function(a, b) return k(a, b) end)
    captured(x, y)
    t.is(captured(x, y), want, "within a captured one")
    local found
    for _, e in ipairs(g.profile.run(function() k(x, y) end):events()) do
        found = found or e.name == "twisted"
    end
    t.ok(found, "profiles have its name")
    t.is(tostring(k), "kernel twisted(T x, T y) -> T z: z = fabs(x) * y", "print shows it")
    local shown, print_before = {}, print
    rawset(_G, "print", function(text) shown[#shown + 1] = text end)
    g.help(k)
    rawset(_G, "print", print_before)
    t.ok(table.concat(shown):find("twisted(T x, T y) -> T z: z = fabs(x) * y", 1, true),
        "and so does help")
    local there = x:to "sim"
    g.sync.reset()
    k(there, 2.5)
    t.is(#g.sync.events(), 0, "it does not wait")
end

local function refused()
    local function bad(inputs, outputs, formula, pattern)
        t.error(function() elementwise(inputs, outputs, formula) end, pattern, pattern)
    end
    bad("T x", "T z", "z = x +", "expected a value, got the end\n    z = x %+\n           %^")
    bad("T x", "T z", "z = 1;\nz = (x", "%(line 2%)")
    bad("T x", "T z", "x ? y", "expected '=' after 'x'")
    bad("T x", "T z", "z = 08", "'08' is not a decimal or hex number")
    bad("T x", "T z", "z = 1.2.3", "'1.2.3' is not")
    bad("T x", "T z", "z[0] = x", "can be read, not written")
    bad("T x", "T z", "vec3 d = x", "unknown type 'vec3' %(expected f64")
    bad("T x", "T z", ("("):rep(300) .. "x" .. (")"):rep(300), "expected 'name = value'")
    bad("T x", "T z", "z = " .. ("("):rep(300) .. "x" .. (")"):rep(300), "over 100 levels deep")
    bad("T x", "T z", "z = x -> y", "fields are not formulas")
    bad("T x, T x", "T z", "z = x", "input 'x' is there twice")
    bad("int x y", "T z", "z = x", "expected 'type name', as in 'T x'")
    bad("quad x", "T z", "z = x", "unknown type 'quad'")
    bad("T x", "U z", "z = x", "no input has its type U")
    bad("T x", "raw T z", "z = x", "raw outputs need")
    bad("", "T z", "z = 1", "at least one output, got 0 and 1")
    t.error(function() elementwise("T x", "T z", "z = x", "a b") end, "expected a name of letters",
        "a name with a space")
    local function fails(k, pattern, ...)
        local args = table.pack(...)
        t.error(function() k(table.unpack(args, 1, args.n)) end, pattern, pattern)
    end
    local x = g.tensor { 1.0, 2.0, 3.0 }
    local k = elementwise("f32 x, f32 y", "f32 z", "z = x * y", "times")
    fails(k, "times takes 2 arguments %(f32 x, f32 y%), got 1", x)
    fails(k, "argument 2 'y' is f64, the kernel takes f32; y:to 'f32' converts", x, x:to "f64")
    fails(k, "argument 2 'y': expected a tensor or a number, got string", x, "1")
    fails(k, "argument 2 'y' is on sim:0, 'x' on cpu", x, x:to "sim")
    fails(k, "'y' is 2, the others 3: they do not broadcast", x, g.ones(2))
    fails(k, "expected a tensor among the arguments, got numbers", 1, 2)
    fails(k, "unknown option 'sice'", x, x, { sice = 3 })
    fails(elementwise("T x, T n", "T z", "z = x[0]"), "'x' is not a raw argument", x, 1)
    fails(elementwise("raw T x, T y", "T z", "z = x + y"), "'x' is raw: read an element", x, x)
    fails(elementwise("raw T x", "T z", "z = x[i]"), "only raw arguments: pass {size = n}", x)
    fails(elementwise("raw T x", "T z", "z = x[i]"), "expected an integer >= 0, got 1.5", x,
        { size = 1.5 })
    fails(elementwise("raw T x", "T z", "z = x[i + 1]"),
        "'x' has 3 elements, and element 3 is read %(they count from 0%)", x, { size = 3 })
    fails(elementwise("raw T x", "T z", "z = x[i - 2]"), "and one before them is read", x,
        { size = 3 })
    fails(elementwise("T x", "T z", "z = sqr(x)"), "did you mean sqrt", x)
    fails(elementwise("T x", "T z", "z = w + x"), "'w' has no value here", x)
    fails(elementwise("T x", "T z", "z = x % 2"), "'%%' is for integers", x)
    fails(elementwise("T x", "T z", "w = x"), "output 'z' gets no value", x)
    fails(elementwise("T x", "T z", "z = x + 1 / 0"), "a whole number divided by 0", x)
    t.error(function() return k.grid end, "a kernel has no 'grid'", "no fields")
end

for _, device in ipairs { "cpu", "sim" } do
    values(device)
    raw(device)
end
derivatives()
places()
refused()
t.done()
