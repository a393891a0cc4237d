--!plain
-- elementwise of texts with loops and branches: values worked out by hand, on cpu and sim, checked
-- and not; derivatives, places of errors, and random texts, which may be refused and no more.
local t = require "tap"
local g = require "gpush"
local elementwise = g.elementwise

require "own_kernels".need_compiler()

local function on(device, list, dtype) return g.tensor(list, { dtype = dtype }):to(device) end

local POWER <const> = "z = 1; for (int k = 0; k < n; k++) z *= x;"

local function values(device, check)
    local function is(x, want, name) t.is(x, want, ("%s, %s: %s"):format(device, check, name)) end
    local how = { check = check }
    local steps = elementwise("i32 x", "i32 z", [[
        int n = x, c = 0;
        while (n != 1) {
            n = n % 2 ? 3 * n + 1 : n / 2;
            c++;
        }
        z = c;]], "steps", how)
    is(steps(on(device, { { 1, 2 }, { 3, 27 } }, "i32")), { { 0, 1 }, { 7, 111 } },
        "Collatz's steps, by a loop")
    local power = elementwise("T x, i32 n", "T z", POWER, "power", how)
    for _, dtype in ipairs { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8" } do
        local z = power(on(device, { 1, 2, 3 }, dtype), on(device, { { 2 }, { 3 } }, "i32"))
        is(z, { { 1, 4, 9 }, { 1, 8, 27 } }, "operands broadcast, " .. dtype)
        is(z.dtype, dtype, "and T stays")
    end
    is(power(on(device, { 1, 2 }, "f32"), 3), { 1, 8 }, "a number")
    local turned = on(device, { { 1.0, 2.0 }, { 3.0, 4.0 } }):transpose(1, 2)
    is(power(turned, 2), { { 1, 9 }, { 4, 16 } }, "strided operands")
    is(power(g.zeros(0, 3, { device = device }), 2).shape, { 0, 3 }, "no elements")
    is(power(on(device, 3.0), 2), 9, "0-d")
    local sorted = elementwise("T x, T y", "T lo, T hi",
        "if (x < y) { lo = x; hi = y; } else { lo = y; hi = x; }", "sorted", how)
    local lo, hi = sorted(on(device, { 1.0, 5.0 }, "f64"), on(device, { 3.0, 2.0 }, "f32"))
    is(lo, { 1, 2 }, "two results")
    is(hi, { 3, 5 }, "the second")
    is(hi.dtype, "f64", "T by promotion")
    local before = elementwise("raw T x, i64 n", "T z, i64 at", [[
        float64 s = 0; // as CuPy calls it
        for (long long k = 0; k <= i && k < n; k++) s += x[k];
        z = s; at = i;]], "before", how)
    local sums, at = before(on(device, { 1.0, 2.0, 4.0 }), 2, { size = 4 })
    is(sums, { 1, 3, 3, 3 }, "raw elements, guarded")
    is(at, { 0, 1, 2, 3 }, "the index counts from 0")
    local some = elementwise("T x", "T a, i32 b", "if (x > 1) { a = x; b = 2; }", "some", how)
    local a, b = some(on(device, { 1.0, 2.0 }))
    t.ok(a[1]:item() ~= a[1]:item(), device .. ": what no statement sets is NaN")
    is(b, { -2147483648, 2 }, "or the least integer")
    local x = on(device, { 1.0 })
    elementwise("T x", "T z", "if (true) z = x;", "same", how)(x):add_(1)
    is(x, { 1 }, "a result is no view of an operand")
end

local function gradients(device)
    local function is(x, want, name) t.is(x, want, device .. ": " .. name) end
    local function wanted(list)
        return on(device, list):requires_grad_()
    end
    local power = elementwise("T x, i32 n", "T z", POWER, { name = "power",
        backward = function(up, x, n) return up * n * x ^ (n - 1) end })
    local x = wanted { 1.0, 2.0, 3.0 }
    power(x, 3):sum():backward()
    is(x.grad, { 3, 12, 27 }, "the user's derivative: 3 x^2")
    local first = g.grad(power(x, 3):sum(), { x }, { create_graph = true })
    is(g.grad(first:sum(), { x }), { 6, 12, 18 }, "and of that: 6 x")
    local mul = elementwise("T x, T y", "T z", "if (true) z = x * y;", { name = "mul",
        backward = function(up, a, b) return up * b, up * a end })
    local row, column = wanted { { 1.0, 5.0 } }, wanted { { 3.0 }, { 2.0 } }
    mul(row, column):sum():backward()
    is(row.grad, { { 5, 5 } }, "summed over what was broadcast")
    is(column.grad, { { 6 }, { 6 } }, "of both")
    local rounded = elementwise("T x", "T z", "z = round(x)",
        { name = "rounded", backward = function(up) return up end })
    local y = wanted { 0.4, 1.6 }
    local z = rounded(y)
    z:square():sum():backward()
    is(y.grad, { 0, 4 }, "a formula's own derivative is replaced")
    local plain = elementwise("T x", "T z", "if (true) z = x;", "plain")
    t.error(function() plain(x):sum():backward() end, "plain is no formula, and has no derivative",
        "none: backward is an error")
    local again = x * 1
    local late = mul(again, 2.0)
    again:add_(1)
    t.error(function() late:sum():backward() end, "argument 1 'x' of mul was written in place",
        "an operand that was written since")
end

local function together(device)
    local function is(x, want, name) t.is(x, want, device .. ": " .. name) end
    local relu = elementwise("T x", "T z", "if (x > 0) z = x; else z = 0;", "relu2")
    local fused = g.fuse(function(x) return relu(x * 2) + 1 end)
    local captured = g.capture(function(x) return relu(x) + 1 end)
    local x = on(device, { -1.0, 2.0 })
    for _ = 1, 3 do is(fused(x), { 1, 5 }, "within fuse") end
    for k = 1, 4 do
        is(captured(x), { k < 3 and 1 or k - 1, k + 2 }, "within capture")
        x:add_(1)
    end
    g.sync.reset()
    relu(x)
    t.is(#g.sync.events(), 0, device .. ": it does not wait")
    local prof = g.profile.run(function() relu(x) end)
    t.ok(prof:table():find "relu2", device .. ": profiles have its name")
end

local function refused()
    local function bad(formula, pattern)
        t.error(function() elementwise("f32 x", "f32 z", formula, "bad") end, pattern, pattern)
    end
    bad("for (;;) { z = x +; }",
        "bodies.lua:%d+: expected expression[^\n]*\n    for %(;;%) { z = x %+; }")
    bad("int k;\n  for (k = 0; k < 3; k++) z = w;", "'?w'?[^\n]* undeclared[^\n]*\n      for")
    bad("if (x) { z = x;", "a '{' that no '}' is after")
    bad("if (x) z = 1; }} void f() {{", "a '}' that no '{' is before")
    bad("if (x > 0) return; z = x;", "'return' would leave a result without its value")
    bad("#include \"/etc/passwd\"\nif (x) z = 1;", "refuses")
    bad("if (x) z = 1;\n#include \"/etc/passwd\"\n", "#include of '/etc/passwd'")
    local shift = elementwise("raw T x", "T z", "if (i < 9) z = x[i + 1];", "shift")
    t.error(function() shift(g.ones(3), { size = 3 }) end,
        "shift: out of bounds read at [^\n]*bodies.lua:%d+, block 0 thread 2: element 3 of 'x'",
        "a read beyond the end")
    t.error(function() shift(g.ones(3)) end, "only raw arguments: pass {size = n}", "no size")
    t.error(function() shift(g.ones(3), { sice = 3 }) end,
        "unknown option 'sice' %(expected size%)", "an option")
    local x = g.ones(2):requires_grad_()
    local wide = elementwise("T x", "T z", "z = x",
        { name = "wide", backward = function() return g.ones(2, 3) end })
    t.error(function() wide(x):sum():backward() end,
        "gradient of argument 1 'x' of wide is of shape 2x3 %(expected a tensor of shape 2%)",
        "a gradient of another shape")
    local failing = elementwise("T x", "T z", "z = x", { backward = function() error "oops" end })
    t.error(function() failing(x):sum():backward() end, "^[^\n:]*:%d+: oops",
        "an error within it, with one place")
    t.error(function() elementwise("T x", "T z", "z = x", { backward = 3 }) end,
        "option 'backward': expected a function, got 3", "a derivative that is none")
end

-- Pieces in random order: each text is an error or a kernel, and nothing outlives it.
local function random_texts()
    local pieces = { "{", "}", "(", ")", ";", "if", "for", "x", "z", "i", "=", "+", "1", "[", "]",
        "\n", "#", "\"", "'", "/*", "*/", "//", "\\", "float", "T", ",", "*", "&", "do", "while" }
    math.randomseed(11)
    local known = 0
    for _ = 1, 40 do
        local text = { "if (1) ;" }
        for k = 1, math.random(12) do text[k + 1] = pieces[math.random(#pieces)] end
        local ok, message = pcall(elementwise, "f32 x", "f32 z", table.concat(text, " "), "odd")
        known = known + ((ok or tostring(message):find "^[^\n]*odd") and 1 or 0)
    end
    t.is(known, 40, "40 random texts: kernels, or errors that name theirs")
end

for _, device in ipairs { "cpu", "sim" } do
    values(device, true)
    values(device, false)
    gradients(device)
    together(device)
end
refused()
random_texts()
t.done()
