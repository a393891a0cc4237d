--!plain
-- Random formulas of elementwise against the same text compiled by GCC, bit for bit, on the numbers
-- that formulas meet: f32 with NaN, infinities and -0, i32 and u8. Literals are floats, as C has
-- none that take the type of their neighbour. KERNEL_FORMULAS sets how many, KERNEL_SEED where
-- they begin.
local t = require "tap"
local g = require "gpush"

local compiler = io.popen "command -v gcc"
if not compiler:read "l" then t.skip_all "no gcc, which compiles the reference" end
compiler:close()

local COUNT <const> = tonumber(os.getenv "KERNEL_FORMULAS" or 150)
local VALUES <const> = 64
math.randomseed(tonumber(os.getenv "KERNEL_SEED" or 7))

-- ---- formulas ----

local function pick(list) return list[math.random(#list)] end

local float, whole -- below

local function condition(depth)
    local of = math.random(3) == 1 and whole or float
    local c = ("%s %s %s"):format(of(depth), pick { "<", "<=", ">", ">=", "==", "!=" }, of(depth))
    local other = depth > 0 and math.random(4)
    if other == 1 then return ("(%s && %s)"):format(c, condition(depth - 1)) end
    if other == 2 then return ("(%s || %s)"):format(c, condition(depth - 1)) end
    if other == 3 then return ("!(%s)"):format(c) end
    return c
end

-- Only functions whose results IEEE 754 fixes, so that every library has the same.
function float(depth)
    if depth == 0 then return pick { "x", "y", "(float)k" } end
    local kind = math.random(9)
    if kind <= 4 then
        return ("(%s %s %s)"):format(float(depth - 1), pick { "+", "-", "*", "/" },
            float(depth - 1))
    elseif kind == 5 then
        return ("(%s ? %s : %s)"):format(condition(depth - 1), float(depth - 1), float(depth - 1))
    elseif kind == 6 then
        return ("%s(%s)"):format(pick { "sqrtf", "fabsf", "floorf", "ceilf", "truncf", "roundf",
            "rintf" }, float(depth - 1))
    elseif kind == 7 then
        return ("(%s * %s)"):format(whole(depth - 1), float(depth - 1))
    elseif kind == 8 then
        return ("(-%s %s %s)"):format(float(depth - 1), pick { "+", "-", "*", "/" },
            pick { "0.5f", "3.0f", "(-1.25e2f)", ".1e1f", "7" })
    end
    return ("(%s > 0.0f) * %s"):format(float(depth - 1), float(0))
end

-- Values stay small, since C does not say what an integer that is too large becomes.
function whole(depth)
    if depth == 0 then return pick { "k", "u", "3", "-7", "0x1F" } end
    local kind = math.random(8)
    local a = ("(%s %% 100)"):format(whole(depth - 1))
    if kind <= 3 then return ("(%s %s %s)"):format(a, pick { "+", "-", "*" }, whole(0)) end
    if kind == 4 then return ("(%s / %s)"):format(a, pick { "3", "-4", "7" }) end
    if kind == 5 then return ("(%s %s %s)"):format(a, pick { "&", "|", "^" }, whole(0)) end
    if kind == 6 then return ("(%s %s %d)"):format(a, pick { "<<", ">>" }, math.random(0, 4)) end
    if kind == 7 then return ("~%s"):format(a) end
    return ("(%s ? %s : %s)"):format(condition(depth - 1), a, whole(0))
end

local formulas = {}
for k = 1, COUNT do
    local text = k % 3 == 0 and ("r = %s"):format(whole(3)) or ("z = %s"):format(float(3))
    if k % 5 == 0 then
        text = "float d = x - y; d *= 2.0f; " .. text:gsub("%f[%w]x%f[%W]", "d", 1)
    end
    formulas[k] = text
end

-- ---- the numbers ----

local special = { 0.0, -0.0, 1.0, -1.0, 1 / 0, -1 / 0, 0 / 0, 0.5, -0.5, 1.5, 2.5, -2.5,
    0.49999997, 8388609.0, -3.7, 1e-41 }
local x, y, k, u = {}, {}, {}, {}
for j = 1, VALUES do
    x[j] = special[j] or math.random() * 20 - 10
    y[j] = special[math.random(#special * 2)] or math.random() * 4 - 2
    k[j], u[j] = math.random(-50, 50), math.random(0, 255)
end
local tx, ty = g.tensor(x, { dtype = "f32" }), g.tensor(y, { dtype = "f32" })
local tk, tu = g.tensor(k, { dtype = "i32" }), g.tensor(u, { dtype = "u8" })

-- ---- GCC's results ----

-- A C literal of that f32: its exact value.
local function literal(value)
    if value ~= value then return "NAN" end
    if value == math.huge then return "INFINITY" end
    if value == -math.huge then return "-INFINITY" end
    return ("%af"):format(value)
end

local function array(type, name, list, shown)
    local texts = {}
    for j, v in ipairs(list) do texts[j] = shown(v) end
    return ("static %s %s[] = {%s};\n"):format(type, name, table.concat(texts, ", "))
end

local lines = { "#include <math.h>\n#include <stdio.h>\n",
    array("float", "xs", tx:tolist(), literal), array("float", "ys", ty:tolist(), literal),
    array("int", "ks", k, tostring), array("unsigned char", "us", u, tostring) }
for n, formula in ipairs(formulas) do
    lines[#lines + 1] = ([[
static void f%d(int j) {
    float x = xs[j], y = ys[j], z = 0;
    int k = ks[j], r = 0;
    unsigned char u = us[j];
    (void)x, (void)y, (void)k, (void)u;
    %s;
    if (z != z) printf("nan %%d\n", r);
    else printf("%%a %%d\n", z, r);
}
]]):format(n, formula)
end
lines[#lines + 1] = "int main(void) {\n"
for n = 1, COUNT do
    lines[#lines + 1] = ("    for (int j = 0; j < %d; j++) f%d(j);\n"):format(VALUES, n)
end
lines[#lines + 1] = "}\n"

local name = os.tmpname()
local file = assert(io.open(name .. ".c", "w"))
file:write(table.concat(lines))
file:close()
assert(os.execute(("gcc -w -O1 -ffp-contract=off -o %s %s.c -lm"):format(name, name)))
local results = {}
for line in io.popen(name):lines() do results[#results + 1] = line end
os.remove(name)
os.remove(name .. ".c")
t.is(#results, COUNT * VALUES, "the reference ran")

-- ---- ours ----

local function shown(z)
    if z ~= z then return "nan" end
    return z == math.huge and "inf" or z == -math.huge and "-inf" or ("%a"):format(z)
end

for n, formula in ipairs(formulas) do
    local is_whole = formula:find "r = "
    local kernel = g.elementwise("f32 x, f32 y, i32 k, u8 u", is_whole and "i32 r" or "f32 z",
        formula)
    kernel(tx, ty, tk, tu) -- notes the ops; the second call runs the fused ones
    local got = kernel(tx, ty, tk, tu):tolist()
    local wrong
    for j = 1, VALUES do
        local z, r = results[(n - 1) * VALUES + j]:match "^(%S+) (%S+)$"
        local same = is_whole and tonumber(r) == got[j]
            or not is_whole and shown(got[j]) == shown(z == "nan" and 0 / 0 or z == "inf"
                and math.huge or z == "-inf" and -math.huge or tonumber(z))
        if not same and not wrong then
            wrong = ("x %s, y %s, k %d, u %d: %s, C has %s"):format(x[j], y[j], k[j], u[j],
                is_whole and got[j] or shown(got[j]), is_whole and r or z)
        end
    end
    t.is(wrong, nil, formula)
end

t.done()
