--!plain
-- What of CUDA C a kernel's text may have: vector types, pointers to structs, parameters as C
-- writes them, names beyond ASCII, C's functions; and what is said of what it may not.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local zeros, i32 = own.zeros, own.i32
own.need_compiler()
local has_cxx <close> = io.popen "command -v g++"
local cxx = has_cxx:read "a":find "/" ~= nil

-- The result of one thread of the kernel k, whose text is `params` and `body`.
local function one(params, body, y, ...)
    g.cuda.kernel(("%s __global__ void k(%s) { %s }"):format(type(params) == "table" and params[1]
        or "", type(params) == "table" and params[2] or params, body), "k")(1, 1, y, ...)
    return y:tolist()
end
local function refused(want, fn, ...)
    local ok, message = pcall(fn, ...)
    t.ok(not ok and tostring(message):find(want, 1, true), want .. (ok and ", but it runs" or
        " in " .. tostring(message)))
end

-- ---- types ----

local BYTES <const> = { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, long = 8,
    ulong = 8, longlong = 8, ulonglong = 8, float = 4, double = 8 }
for name, bytes in pairs(BYTES) do
    t.is(one("int *y", ("%s2 a = make_%s2(1, 2); %s3 b = make_%s3(3, 4, 5); %s4 c = \z
        make_%s4(6, 7, 8, 9); y[0] = a.x + 10 * a.y; y[1] = b.x + b.y * b.z; y[2] = c.w; \z
        y[3] = sizeof a; y[4] = sizeof b; y[5] = sizeof c;"):format(name, name, name, name, name,
        name), zeros(6, "i32")), { 21, 23, 9, 2 * bytes, 3 * bytes, 4 * bytes }, name .. "2, 3, 4")
end
t.is(one("ushort4 *y", "y[0] = make_ushort4(1, 2, 3, 4);", zeros(4, "i16")), { 1, 2, 3, 4 },
    "a pointer to ushort4")
local STRUCTS <const> = { "typedef struct { float x, y; } P;",
    "typedef struct Pair { float x, y; } P;", cxx and "struct P { float x, y; };" or nil }
for _, text in ipairs(STRUCTS) do
    t.is(one({ text, "P *o, const P *p" }, "o[1].x = 3; o->y = p->y;", zeros(4),
        g.tensor { 1.0, 2.0 }), { 0, 2, 3, 0 }, "a pointer to a struct: " .. text)
end
if cxx then
    t.is(one("half2 *y", "y[0] = __float2half2_rn(1.5f);", zeros(2, "f16")), { 1.5, 1.5 }, "half2")
    -- As nvcc's half converts to float: 1.0009765625 * 1.0001 in f32.
    t.close(one("float *y, const __half *x, float f", "y[0] = x[0] * f; y[1] = f / x[0]; \z
        y[2] = x[0] > f;", zeros(3), g.tensor({ 1.0009765625 }, { dtype = "f16" }), 1.0001),
        { 1.00107666, 0.99912440, 1 }, 1e-7, "a half and a float give a float")
    t.is(g.elementwise("f16 x, f32 y", "f32 z", "if (1) z = x * y;")(g.tensor({ 2.0 },
        { dtype = "f16" }), g.tensor { 100000.0 }):tolist(), { 200000 }, "in elementwise, too")
end

-- ---- parameters ----

t.is(one("int *y, const int x[3], int n[]", "y[0] = x[2] + n[1];", zeros(1, "i32"), i32(3), i32(2)),
    { 3 }, "arrays")
t.is(one({ "#define REAL float\n#define INDEX unsigned int\n", "REAL *y, INDEX n" }, "y[0] = n;",
    zeros(1), 7), { 7 }, "types by macros")
t.is(one({ "enum Mode { ADD, SUB };", "int *y, enum Mode m" }, "y[0] = m == SUB;", zeros(1, "i32"),
    1), { 1 }, "an enum")
if cxx then
    t.is(one("float *y, int n = 3", "y[0] = n;", zeros(1), 4), { 4 }, "a default is not used")
    t.is(one({ "enum class Mode { ADD, SUB };", "int *y, Mode m" }, "y[0] = m == Mode::SUB;",
        zeros(1, "i32"), 1), { 1 }, "an enum of C++")
end
local largest = g.cuda.kernel "__global__ void größe(float *α, int n) { α[0] = n; }"
local y = zeros(1)
largest(1, 1, y, 5)
t.ok(tostring(largest):find("größe(float *α, int n)", 1, true) and y:item() == 5,
    "names of UTF-8")
t.ok(tostring(g.cuda.kernel "__global__ void k(volatile int *x) { x[0] = 1; }"):find(
    "k(volatile int *x)", 1, true), "volatile is shown")
local many = {}
for k = 1, 33 do many[k] = "int a" .. k end
refused("cuda.kernel: k: more than 32 parameters", g.cuda.kernel,
    ("__global__ void k(%s) {}"):format(table.concat(many, ", ")))
refused("cuda.kernel: the text has a byte of value 0", g.cuda.kernel,
    "__global__ void k(int *y) {} \0")

-- ---- functions ----

t.is(one("int *y, float x, float z", "y[0] = isfinite(x) + 2 * signbit(z) + 4 * isnan(x - x) + \z
    8 * isinf(1 / z) + 16 * isnormal(x) + 32 * isless(x, z) + 64 * isgreater(x, z) + \z
    128 * (fpclassify(z) == FP_ZERO) + 256 * isunordered(x, z);", zeros(1, "i32"), 1.5, -0.0),
    { 1 + 2 + 8 + 16 + 64 + 128 }, "C's questions of floats")
-- CUDA C++ Programming Guide: conversions are clamped, NaN is 0.
t.is(one("int *y, float x, float n", "y[0] = __float2int_rz(x); y[1] = __float2int_rn(-x); \z
    y[2] = __float2int_ru(n); y[3] = __float2uint_rz(x) == 3000000000u; \z
    y[4] = __float2uint_rd(-x); y[5] = __float2int_rd(-1.5f);", zeros(6, "i32"), 3e9, 0 / 0),
    { 2147483647, -2147483648, 0, 1, 0, -2 }, "conversions are clamped")
for _, check in ipairs { true, false } do
    local k = g.cuda.kernel([[
__global__ void k(int *y, const int *x) {
    memcpy(y, x + 1, 3 * sizeof *x);
    memset(y + 3, -1, 4);
}]],
        "k", { check = check })
    y = zeros(5, "i32")
    k(1, 1, y, i32(5))
    t.is(y, { 1, 2, 3, -1, 0 }, "memcpy and memset")
    if check then refused("out of bounds write at", k, 1, 1, zeros(3, "i32"), i32(5)) end
end
for _, call in ipairs { 'system("true")', "rand()", "qsort(y, 1, 4, 0)" } do
    refused("implicit declaration of function", g.cuda.kernel,
        ("__global__ void k(int *y) { %s; }"):format(call))
end

-- ---- formulas that are C ----

local x = g.tensor { 300.0 }
for text, want in pairs { ["const float k = 2, m = 3; z = x * k + m"] = 603,
    ["unsigned u = 3; z = x * u"] = 900, ["z = (unsigned char)x"] = 44, ["z = (long long)x"] = 300,
    ["z = static_cast<float>(x)"] = cxx and 300 or nil, ["z = sizeof(x)"] = 4,
    ["z = x * 017"] = 4500, ["z = __fdividef(x, 2)"] = 150 } do
    t.is(g.elementwise("f32 x", "f32 z", text)(x):item(), want, text)
end

-- ---- messages of arguments ----

local two = g.cuda.kernel "__global__ void f(float *x, float *y) { x[0] = y[0]; }"
local with = g.cuda.kernel "__global__ void f(float *x, int n) { x[0] = n; }"
refused("f: argument 2 'y' is on sim:0, 'x' on cpu (expected the same)", two, 1, 1, zeros(1),
    zeros(1):to "sim")
refused("f: argument 2 'n': expected a number for int, got a tensor", with, 1, 1, zeros(1),
    zeros(1))
refused("f: argument 2 'n': 2147483648 is no int", with, 1, 1, zeros(1), 2 ^ 31)
refused("f: grid: expected a number or {x, y, z}, got a table of 4", with, { 1, 2, 3, 4 }, 1,
    zeros(1), 1)
refused("which is in no argument or variable",
    g.cuda.kernel "__global__ void f(float *x, long long a) { x[0] = ((float *)a)[4]; }", 1, 1,
    zeros(1), 123456789123)
t.done()
