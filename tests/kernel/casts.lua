--!plain
-- Conversions of floats to whole numbers in kernels: as on a card they give the nearest number that
-- there is, and of NaN 0, or to 64 bits and from double the highest bit alone (PTX, cvt.rzi).
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
own.need_compiler()
local found <close> = io.popen "command -v g++"
local ways = { "" }
if found:read "a":find "/" then ways[2] = "namespace in_cxx {} " end

local LEAST <const>, MOST <const>, NAN <const> = math.mininteger, math.maxinteger, 0 / 0
-- type; of float: below, beyond, NaN; of double: NaN
local TYPES <const> = {
    { "int", -2147483648, 2147483647, 0, -2147483648 },
    { "unsigned", 0, 4294967295, 0, 2147483648 },
    { "unsigned int", 0, 4294967295, 0, 2147483648 },
    { "long long", LEAST, MOST, LEAST, LEAST }, { "unsigned long long", 0, -1, LEAST, LEAST },
    { "long", LEAST, MOST, LEAST, LEAST }, { "size_t", 0, -1, LEAST, LEAST },
    { "short", -32768, 32767, 0, -32768 }, { "unsigned short", 0, 65535, 0, 32768 },
}
-- Of each type a line of what x, and what d gives; in two ways to write it.
local FORMS <const> = { "y[%d + i] = 2 * (%s)(x[i] + 0) - (%s)x[i];",
    "{ %s v = d[i] * 1; y[%d + i] = v; }" }
local function text_of(way)
    local lines = {}
    for n, row in ipairs(TYPES) do
        lines[2 * n - 1] = FORMS[1]:format(14 * (n - 1), row[1], row[1])
        lines[2 * n] = FORMS[2]:format(row[1], 14 * n - 7)
    end
    if way ~= "" then
        lines[#lines + 1] = "y[126 + i] = static_cast<int>(x[i]); y[133 + i] = int(x[i]);"
    end
    return ("%s__global__ void k(const float *x, const double *d, long long *y) { \z
        int i = threadIdx.x; %s }"):format(way, table.concat(lines, " "))
end

local VALUES <const> = { -1e30, 1e30, NAN, -1 / 0, 1 / 0, 7.9, 100.5 }
for _, way in ipairs(ways) do
    local k = g.cuda.kernel(text_of(way), "k")
    local x, d = g.tensor(VALUES), g.tensor(VALUES, { dtype = "f64" })
    for _, checked in ipairs { true, false } do
        local y = own.zeros(140, "i64")
        k(1, 7, x, d, y, { check = checked })
        y = y:reshape(20, 7):tolist()
        for n, row in ipairs(TYPES) do
            local low, high = row[2], row[3]
            t.is(y[2 * n - 1], { low, high, row[4], low, high, 7, 100 },
                way .. "float to " .. row[1])
            t.is(y[2 * n], { low, high, row[5], low, high, 7, 100 }, way .. "double to " .. row[1])
        end
        local int = way ~= "" and { -2147483648, 2147483647, 0, -2147483648, 2147483647, 7, 100 }
        t.is(y[19], int or { 0, 0, 0, 0, 0, 0, 0 }, way .. "static_cast<int>")
        t.is(y[20], int or { 0, 0, 0, 0, 0, 0, 0 }, way .. "int(x)")
    end
end

-- What looks like it, and what else a cast takes.
local OTHERS <const> = [[%stypedef struct { float x; int n; int bits : 5; } S;
__device__ int half_of(int n) { return n / 2; }
__global__ void k(const float *x, long long *y) {
    S s = {5.5f, 3, 7}, *p = &s;
    int a[2] = {4, 9}, k = 0;
    const int n = (int)sizeof(float) * 2;
    float room[8];
    long long address = (long long)x;
    y[0] = (int)p->x * 2 + (int)s.n;
    y[1] = (int)-x[1] + (int)+x[1];
    y[2] = (unsigned char)a[1] + (short)a[k++] + k;
    y[3] = (int)half_of(9) + (int)(float)2.75 + (int)(half_of)(4);
    y[4] = address == (long long)(void *)x;
    y[5] = (int)s.bits + (int)*x + !(int)x[0];
    y[6] = sizeof(int) * 2 + sizeof((int)2.0) + n + (int)(sizeof room / sizeof room[0]);
}]]
for _, way in ipairs(ways) do
    local y = own.zeros(7, "i64")
    g.cuda.kernel(OTHERS:format(way), "k")(1, 1, g.tensor { 3.0, 2.5 }, y)
    t.is(y:tolist(), { 13, 0, 14, 8, 1, 10, 28 }, way .. "what a cast takes")
end
t.is(g.elementwise("f32 x", "i32 z", "for (int k = 0; k < 1; k++) z = (int)(x * 1e9f);")(
    g.tensor { 5.0, -5.0, NAN }):tolist(), { 2147483647, -2147483648, 0 }, "in elementwise, too")
t.done()
