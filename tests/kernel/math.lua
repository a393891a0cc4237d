--!plain
-- CUDA's mathematical functions in kernels in C and C++, beside values that mpmath gave with 60
-- digits; its conversions, which give the nearest number; and its functions of integers and of the
-- bytes in them, beside what their documentation says.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local zeros = own.zeros
own.need_compiler()
local found <close> = io.popen "command -v g++"
local ways = { "" }
if found:read "a":find "/" then ways[2] = "namespace in_cxx {} " end

-- @: f of a literal, #: of a name, where the function is that of floats.
local VALUES <const> = {
    { "erfinv(1e-10@)", 8.8622692545275805e-11 },
    { "erfinv(0.3@)", 2.7246271472675435e-1 },
    { "erfinv(-0.7@)", -7.3286907795921678e-1 },
    { "erfinv(0.95@)", 1.3859038243496777 },
    { "erfinv(0.999999@)", 3.4589107372754988 },
    { "erfcinv(1e-300@)", 2.6209469960516124e+1 },
    { "erfcinv(1e-20@)", 6.6015806223551426 },
    { "erfcinv(0.01@)", 1.8213863677184497 },
    { "erfcinv(0.4@)", 5.9511608144999482e-1 },
    { "erfcinv(1.0@)", 0.0 },
    { "erfcinv(1.7@)", -7.3286907795921678e-1 },
    { "normcdfinv(1e-300@)", -3.7047096299361199e+1 },
    { "normcdfinv(1e-09@)", -5.9978070150076869 },
    { "normcdfinv(0.02@)", -2.053748910631823 },
    { "normcdfinv(0.3@)", -5.2440051270804082e-1 },
    { "normcdfinv(0.6@)", 2.5334710313579974e-1 },
    { "normcdfinv(0.999@)", 3.0902323061678133 },
    { "normcdf(-9.0@)", 1.1285884059538406e-19 },
    { "normcdf(-2.0@)", 2.2750131948179207e-2 },
    { "normcdf(0.0@)", 5.0e-1 },
    { "normcdf(1.5@)", 9.3319279873114193e-1 },
    { "erfcx(-5.0@)", 1.4400979867466104e+11 },
    { "erfcx(-1.0@)", 5.0089800807622835 },
    { "erfcx(0.3@)", 7.3459933456765515e-1 },
    { "erfcx(3.0@)", 1.7900115118138995e-1 },
    { "erfcx(7.9@)", 7.0857477367397131e-2 },
    { "erfcx(8.1@)", 6.9133920177343152e-2 },
    { "erfcx(26.0@)", 2.1683584850562907e-2 },
    { "erfcx(1000.0@)", 5.6418930145338766e-4 },
    { "erfcx(10000000000.0@)", 5.6418958354775629e-11 },
    { "cyl_bessel_i0(0.0@)", 1.0 },
    { "cyl_bessel_i1(0.0@)", 0.0 },
    { "cyl_bessel_i0(0.5@)", 1.0634833707413235 },
    { "cyl_bessel_i1(0.5@)", 2.5789430539089632e-1 },
    { "cyl_bessel_i0(5.0@)", 2.7239871823604447e+1 },
    { "cyl_bessel_i1(5.0@)", 2.4335642142450527e+1 },
    { "cyl_bessel_i0(29.0@)", 2.9252063178569087e+11 },
    { "cyl_bessel_i1(29.0@)", 2.8743210812625481e+11 },
    { "cyl_bessel_i0(31.0@)", 2.0899629664919038e+12 },
    { "cyl_bessel_i1(31.0@)", 2.0559727952945647e+12 },
    { "cyl_bessel_i0(80.0@)", 2.4751784043341705e+33 },
    { "cyl_bessel_i1(80.0@)", 2.4596595795675409e+33 },
    { "cyl_bessel_i1(-40.0@)", -1.4707396163259353e+16 },
    { "jn(3, 2.5@)", 2.1660039103911352e-1 },
    { "yn(2, 2.5@)", -3.8133584924180325e-1 },
    { "rhypot(3.0@, 4.0@)", 2.0e-1 },
    { "norm3d#(2.0@, 3.0@, 6.0@)", 7.0 },
    { "rnorm3d#(2.0@, 3.0@, 6.0@)", 1.4285714285714286e-1 },
    { "norm4d#(1.0@, 2.0@, 4.0@, 10.0@)", 1.1e+1 },
    { "rnorm4d#(1.0@, 2.0@, 4.0@, 10.0@)", 9.0909090909090909e-2 },
    { "ldexp(1.5@, 4)", 2.4e+1 },
    { "scalbn(1.5@, -2)", 3.75e-1 },
    { "scalbln(1.5@, 3)", 1.2e+1 },
    { "ilogb(40.0@)", 5.0 },
    { "acosh(2.5@)", 1.5667992369724111 },
    { "sinpi(0.25@)", 7.0710678118654752e-1 },
    { "rcbrt(27.0@)", 3.3333333333333333e-1 },
    { "fma(2.0@, 3.0@, 4.0@)", 1.0e+1 },
    { "lgamma(4.5@)", 2.4537365708424422 },
    { "exp10(2.5@)", 3.1622776601683793e+2 },
}

-- What the expressions give in a kernel, whose text is begun by `way`.
local function results(way, list, dtype, type)
    local lines = {}
    for k, text in ipairs(list) do lines[k] = ("y[%d] = %s;"):format(k - 1, text) end
    local y = zeros(#list, dtype)
    g.cuda.kernel(("%s__global__ void k(%s *y) { %s }"):format(way, type, table.concat(lines, " ")),
        "k")(1, 1, y)
    return y:tolist()
end

local function texts(of_float)
    local list, want = {}, {}
    for _, row in ipairs(VALUES) do
        if not of_float or not row[1]:find "e%-" and not row[1]:find "0.999" then
            list[#list + 1] = row[1]:gsub("[@#]", of_float and "f" or "")
            want[#list] = row[2]
        end
    end
    return list, want
end

for _, way in ipairs(ways) do
    for _, of_float in ipairs { false, true } do
        local list, want = texts(of_float)
        local got = results(way, list, of_float and "f32" or "f64",
            of_float and "float" or "double")
        local most = of_float and 1e-6 or 4e-15
        for k, text in ipairs(list) do
            local off = math.abs(got[k] - want[k])
            t.ok(off <= most * math.abs(want[k]), ("%s%s: %.17g, %.17g"):format(way, text, got[k],
                want[k]))
        end
    end
end

-- Two results; edges.
local EDGES <const> = { { "erfinv(1.0)", 1 / 0 }, { "erfinv(-1.0)", -1 / 0 },
    { "isnan(erfinv(1.5))", 1 }, { "erfcinv(0.0)", 1 / 0 }, { "erfcinv(2.0)", -1 / 0 },
    { "normcdfinv(0.0)", -1 / 0 }, { "normcdfinv(1.0)", 1 / 0 }, { "isnan(normcdfinv(-0.5))", 1 },
    { "erfcx(-30.0)", 1 / 0 }, { "erfcx(INFINITY)", 0 }, { "cyl_bessel_i0(INFINITY)", 1 / 0 },
    { "sizeof(acos(0.5f))", 4 }, { "sizeof(erfinv(0.5))", 8 },
    { "sizeof(hypot(3.0f, 4.0f))", 4 } }
local PARTS <const> = [[%s__global__ void k(double *y, float *z) {
    int e, q;
    sincos(0.5, y, y + 1);
    y[2] = frexp(40.0, &e);
    y[3] = e;
    y[4] = modf(-3.25, y + 5);
    y[6] = remquo(7.0, 2.0, &q);
    y[7] = q;
    sincospi(0.25, y + 8, y + 9);
    y[10] = norm(3, y + 11);
    sincos(0.5f, z, z + 1);
    z[2] = frexp(40.0f, &e);
    z[3] = modf(-3.25f, z + 4);
}]]
for _, way in ipairs(ways) do
    local list, want = {}, {}
    for k, row in ipairs(EDGES) do list[k], want[k] = row[1], row[2] end
    t.is(results(way, list, "f64", "double"), want, way .. "edges")
    local y, z = g.tensor({ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 6 }, { dtype = "f64" }), zeros(5)
    g.cuda.kernel(PARTS:format(way), "k")(1, 1, y, z)
    t.close(y:tolist(), { math.sin(0.5), math.cos(0.5), 0.625, 6, -0.25, -3, -1, 4, 0.5 ^ 0.5,
        0.5 ^ 0.5, 7, 2, 3, 6 }, 1e-15, way .. "results through pointers")
    t.close(z:tolist(), { math.sin(0.5), math.cos(0.5), 0.625, -0.25, -3 }, 1e-7,
        way .. "and of floats")
end

-- ---- rounding: the exact result is between two floats ----

local modes, wants = {}, {}
local function rounded(name, args, low, high)
    for _, mode in ipairs { "rd", "ru", "rz" } do
        modes[#modes + 1] = ("%s_%s(%s)"):format(name, mode, args)
        wants[#modes] = (mode == "rd" or mode == "rz" and low >= 0) and low or high
    end
end
local E32 <const>, E64 <const> = 2.0 ^ -23, 2.0 ^ -52
rounded("__fadd", "1.0f, 1e-20f", 1, 1 + E32)
rounded("__fsub", "-1.0f, 1e-20f", -1 - E32, -1)
rounded("__fmul", "1.00000012f, 1.00000012f", 1 + 2 * E32, 1 + 3 * E32)
rounded("__fdiv", "1.0f, 3.0f", 0x0.555555p0, 0x0.5555558p0)
rounded("__frcp", "3.0f", 0x0.555555p0, 0x0.5555558p0)
rounded("__fsqrt", "2.0f", 0x1.6a09e6p0, 0x1.6a09e8p0)
rounded("__fmaf", "1.0f, 1.0f, 1e-20f", 1, 1 + E32)
rounded("__dadd", "1.0, 1e-40", 1, 1 + E64)
rounded("__dmul", "-1.0000000000000002, 1.0000000000000002", -1 - 3 * E64, -1 - 2 * E64)
rounded("__ddiv", "1.0, 3.0", 0x1.5555555555555p-2, 0x1.5555555555556p-2)
rounded("__dsqrt", "2.0", 0x1.6a09e667f3bccp0, 0x1.6a09e667f3bcdp0)
rounded("__fma", "1.0, 1.0, 1e-40", 1, 1 + E64)
rounded("__double2float", "-1.00000001", -1 - E32, -1)
rounded("__int2float", "16777217", 16777216, 16777218)
rounded("__ull2float", "0xffffffffffffffffull", 0x1.fffffep63, 0x1p64)
rounded("__ll2double", "9007199254740993ll", 9007199254740992, 9007199254740994)
modes[#modes + 1], wants[#modes + 1] = "__fmul_rz(FLT_MAX, 2.0f)", 0x1.fffffep127
modes[#modes + 1], wants[#modes + 1] = "__fadd_rn(1.0f, 1e-20f)", 1
for k, got in ipairs(results("", modes, "f64", "double")) do t.is(got, wants[k], modes[k]) end

-- ---- integers ----

local INTEGERS <const> = {
    { "__byte_perm(0x33221100, 0x77665544, 0x7531)", 0x77553311 }, { "__brevll(1) >> 60", 8 },
    { "__mul64hi(-1ll << 62, 8)", -2 }, { "__umul64hi(1ull << 63, 6)", 3 },
    { "__mul24(0x1000003, 5)", 15 }, { "__mul24(-3, 5)", -15 }, { "__umul24(0xff000002u, 3)", 6 },
    { "__hadd(2147483647, 2147483645)", 2147483646 }, { "__rhadd(-3, 0)", -1 },
    { "__uhadd(0xffffffffu, 1)", 2147483648 }, { "__urhadd(2, 5)", 4 },
    { "__sad(-5, 3, 10)", 18 }, { "__usad(3, 5, 1)", 3 }, { "__funnelshift_lc(1, 2, 40)", 1 },
    { "__funnelshift_rc(1, 2, 32)", 2 }, { "__fns(0xf0, 0, 2)", 5 }, { "__fns(0xf0, 7, -2)", 6 },
    { "__fns(0xf0, 4, 0)", 4 }, { "(int)__fns(0xf0, 0, 5)", -1 },
    { "__dp4a(0x01020304, 0x01ff0101, 100)", 106 },
    { "__dp4a(0xff000001u, 0x02000003u, 1u)", 514 },
    { "__dp2a_lo(0x00020003, 0x05060701, 0)", 17 },
    { "__dp2a_hi(0x00020003, 0x05060701, 0)", 28 }, { "ullmax(3, 1ull << 40) >> 38", 4 },
    { "llmin(-1, 1)", -1 }, { "__double2hiint(1.0)", 0x3ff00000 },
    { "__hiloint2double(0x40080000, 0) == 3.0", 1 }, { "__vadd2(0xffff0001, 0x00010002)", 3 },
    { "__vaddus4(0xf0010203, 0x20010101)", 0xff020304 },
    { "__vaddss2(0x7fff8000, 0x0001ffff)", 0x7fff8000 },
    { "__vsub4(0x00000001, 0x00000102)", 0xffff }, { "__vsubus2(0x00010005, 0x00020003)", 2 },
    { "__vabsdiffs2(0xffff0003, 0x00010005)", 0x00020002 },
    { "__vmaxs4(0xff01807f, 0x00000000)", 0x0001007f },
    { "__vminu2(0xffff0003, 0x00010005)", 0x00010003 },
    { "__vcmpgts2(0x0001ffff, 0x00000000)", 0xffff0000 },
    { "__vseteq4(0x01020304, 0x01000300)", 0x01000100 },
    { "__vsadu4(0x01020304, 0x04030201)", 8 }, { "__vsads2(0xffff0001, 0x00010001)", 2 },
    { "__vneg2(0x00010002)", 0xfffffffe }, { "__vabsss2(0x8000ffff)", 0x7fff0001 },
    { "__vavgu4(0x01020304, 0x02020202)", 0x02020303 },
    { "__vhaddu2(0x00030004, 0x00000001)", 0x00010002 }
}
for _, way in ipairs(ways) do
    local list, want = {}, {}
    for k, row in ipairs(INTEGERS) do list[k], want[k] = row[1], row[2] end
    local got = results(way, list, "i64", "long long")
    for k, row in ipairs(INTEGERS) do t.is(got[k], want[k], way .. row[1]) end
end
t.done()
