-- Special functions and other ops of PyTorch's: values and gradients beside those that PyTorch 2.15
-- gives in f64.
local t = require "tap"
local g = require "gpush"

local function f64(v) return g.tensor(v, { dtype = "f64" }) end
local function i64(v) return g.tensor(v, { dtype = "i64" }) end

-- ---- elementwise: name, operands, results, gradients of the sum of results ----

local rows = {
    { "i0", { -9.5, -1.5, 0.25, 3, 12, 40 },
        y = { 1753.48099052732, 1.64672318977289, 1.01568614122361, 4.88079258586502,
            18948.9253492963, 1.48947747934199e+16 },
        da = { -1658.45307778213, -0.981666428577908, 0.125979108945468, 3.95337021740261,
            18141.3487816388, 1.47073961632594e+16 } },
    { "i0e", { -9.5, -1.5, 0.25, 3, 12, 400 },
        y = { 0.131251260814268, 0.367433609054158, 0.791017162139719, 0.243000354161825,
            0.11642622121344, 0.01995335628194 },
        da = { 0.00711301315938609, 0.148394221633233, -0.692904533442351, -0.0461736408645245,
            -0.00496192192325945, -2.49573230364473e-05 } },
    { "i1", { -9.5, -1.5, 0.25, 3, 12, 40 },
        y = { -1658.45307778213, -0.981666428577908, 0.125979108945468, 3.95337021740261,
            18141.3487816388, 1.47073961632594e+16 },
        da = { 1578.90698233973, 0.992278904054286, 0.511769705441736, 3.56300251339749,
            17437.1462841597, 1.45270898893384e+16 } },
    { "i1e", { -9.5, -1.5, 0.25, 3, 12, 400 },
        y = { -0.124138247654882, -0.219039387420926, 0.0981126286973683, 0.196826713297301,
            0.111464299290181, 0.0199283989589035 },
        da = { -0.00595417080428567, 0.00236796335261563, 0.300454018652878, -0.0194352635679091,
            -0.00432676968425562, -2.48636743608102e-05 } },
    { "erfcx", { -3, -0.5, 0, 0.75, 6, 60 },
        y = { 16205.9888539996, 1.95236048918256, 1, 0.506937650293145, 0.0927765678005384,
            0.00940185427517639 },
        da = { -97237.0615031646, -3.08073965627807, -1.12837916709551, -0.367972691655795,
            -0.0150603534890521, -0.000156654074346063 } },
    { "ndtr", { -2.5, -1.5, 0, 0.75, 2, 4 },
        y = { 0.00620966532577613, 0.066807201268858, 0.5, 0.773372647623132, 0.977249868051821,
            0.999968328758167 },
        da = { 0.0175283004935685, 0.129517595665892, 0.398942280401433, 0.301137432154804,
            0.053990966513188, 0.000133830225764885 } },
    { "log_ndtr", { -40, -6, -1.5, 0, 0.75, 4 },
        y = { -804.608442013754, -20.7367689499747, -2.70594440082389, -0.693147180559945,
            -0.256994266838365, -3.16717433774892e-05 },
        da = { 40.0249688472124, 6.15848260454463, 1.93867716662254, 0.797884560802865,
            0.389382056735927, 0.000133834464468575 } },
    { "ndtri", { 1e-12, 0.001, 0.3, 0.5, 0.8, 0.999 },
        y = { -7.03448382530113, -3.09023230616781, -0.524400512708041, 0, 0.841621233572914,
            3.09023230616781 },
        da = { 139442738525.042, 296.992351589231, 2.87610365926429, 2.506628274631,
            3.57191434657736, 296.992351589231 } },
    { "entr", { 0.01, 0.4, 1, 2.5, 7, 0.75 },
        y = { 0.0460517018598809, 0.366516292749662, 0, -2.29072682968539, -13.6213710433872,
            0.215761554338836 },
        da = { 3.60517018598809, -0.083709268125845, -1, -1.91629073187416, -2.94591014905531,
            -0.712317927548219 } },
    { "ldexp", { 1.5, -3, 0.1, 7, 2, 9 }, { 3, -2, 0.5, 10, -1.5, 0 },
        y = { 12, -0.75, 0.14142135623731, 7168, 0.707106781186548, 9 },
        da = { 8, 0.25, 1.4142135623731, 1024, 0.353553390593274, 1 },
        db = { 8.31776616671934, -0.519860385419959, 0.0980258143468547, 4968.47899025369,
            0.490129071734274, 6.23832462503951 } },
    { "xlog1py", { 1.5, -3, 0, 7, 2, 0.5 }, { 3, -0.5, 0.5, 1e-09, 0.25, 40 },
        y = { 2.07944154167984, 2.07944154167984, 0, 6.9999999965e-09, 0.44628710262842,
            1.85678603335215 },
        da = { 1.38629436111989, -0.693147180559945, 0.405465108108164, 9.999999995e-10,
            0.22314355131421, 3.71357206670431 },
        db = { 0.375, -6, 0, 6.999999993, 1.6, 0.0121951219512195 } },
    { "logaddexp2", { 1.5, -3, 100, 7, 2, -800 }, { 3, -2, 0.5, 7, -1.5, -801 },
        y = { 3.43675179543982, -1.41503749927884, 100, 8, 2.12219341620227, -799.415037499279 },
        da = { 0.261203874963741, 0.333333333333333, 1, 0.5, 0.918789696858388, 0.666666666666667 },
        db = { 0.738796125036259, 0.666666666666667, 1.11561779098947e-30, 0.5, 0.0812103031416123,
            0.333333333333333 } },
    { "zeta", { 1.5, 2, 3.5, 10, 30, 2 }, { 1, 0.25, 2.5, 7, 1.5, -0.5 },
        y = { 2.61237534868549, 17.1973291545071, 0.0651712515896597, 4.92752156088023e-09,
            5.21509620381573e-06, 8.93480220054468 },
        db = { -2.01223088587638, -129.327739937537, -0.0766460551986273, -6.69908938247265e-09,
            -0.000104301914852398, -0.82879664423432 } },
    { "igamma", { 0.5, 2, 10, 15, 300, 60 }, { 0.25, 3, 4, 18, 200, 90 },
        y = { 0.520499877813047, 0.800851726528544, 0.00813224279693386, 0.791922637459506,
            2.71146844334312e-11, 0.999674710989087 },
        db = { 0.878782578935445, 0.149361205103592, 0.0132311916910503, 0.0654796041278979,
            1.38162611598959e-11, 0.000117972582526843 } },
    { "igammac", { 0.5, 2, 10, 15, 300, 60 }, { 0.25, 3, 4, 18, 200, 90 },
        y = { 0.479500122186953, 0.199148273471456, 0.991867757203066, 0.208077362540494,
            0.999999999972885, 0.000325289010912553 },
        db = { -0.878782578935445, -0.149361205103592, -0.0132311916910503, -0.0654796041278979,
            -1.38162611598959e-11, -0.000117972582526843 } },
}

-- The largest difference from want, as a share of it.
local function off(got, want)
    local worst = 0
    for i, v in ipairs(got:to("f64"):tolist()) do
        local d = v == want[i] and 0 or math.abs(v - want[i]) / math.abs(want[i])
        if not (d <= worst) then worst = d end
    end
    return worst
end

for _, row in ipairs(rows) do
    local name, two = row[1], type(row[3]) == "table"
    local a, b = f64(row[2]), nil
    if two then b = f64(row[3]) end
    if row.da then a:requires_grad_() end
    if row.db then b:requires_grad_() end
    local y = g[name](table.unpack({ a, b }))
    y:sum():backward()
    t.ok(off(y, row.y) < 1e-12, ("%s (off by %.0e)"):format(name, off(y, row.y)))
    for key, x in pairs { da = a, db = b } do
        if row[key] then
            local d = off(x.grad, row[key])
            t.ok(d < 1e-11, ("%s of %s (off by %.0e)"):format(key, name, d))
        end
    end
    local single = a:to "f32"
    t.is(g[name](table.unpack(two and { single, b:to "f32" } or { single })).dtype, "f32",
        name .. " keeps f32")
end
for _, name in ipairs { "zeta", "igamma", "igammac" } do
    local a = f64{2, 3}:requires_grad_()
    t.error(function() g[name](a, f64{1, 2}):sum():backward() end,
        "backward: " .. name .. " has no derivative for its operand 'a'")
end

-- ---- others: a line, the call, its results ----

local function near(got, want, name)
    local worst = 0
    local function walk(x, y)
        if type(y) ~= "table" then
            local d = x == y and 0 or math.abs(x - y) / math.max(math.abs(y), 1e-3)
            if not (d <= worst) then worst = d end
            return
        end
        if #x ~= #y then worst = 1 / 0 end
        for i = 1, #y do walk(x[i], y[i]) end
    end
    walk(got:tolist(), want)
    t.ok(worst < 1e-11, ("%s (off by %.0e)"):format(name, worst))
end

t.is(g.gcd(i64{12, -18, 0, 7, 1 << 40}, i64{18, 12, 5, 0, 1 << 33}):tolist(),
    { 6, 6, 5, 7, 8589934592 }, "gcd")
t.is(g.lcm(i64{12, -18, 0, 7, 6}, i64{18, 12, 5, 0, 4}):tolist(), { 36, 36, 0, 0, 12 }, "lcm")
t.error(function() g.gcd(f64{1}, f64{2}) end, "gcd: dtype f64 .* is not supported")
t.is(g.nextafter(g.tensor{1, -1, 0} + 0.0, g.tensor{2, -2, 1} + 0.0):tolist(),
    { 1.0000001192092896, -1.0000001192092896, 1.401298464324817e-45 }, "nextafter in f32")
t.error(function() g.nextafter(f64{1}:to "f16", f64{2}:to "f16") end,
    "nextafter: .*f16.* is not supported")
local m, e = g.frexp(f64{0, 1, -3, 0.1, 1e-310, 1 / 0})
t.is(m:tolist(), { 0, 0.5, -0.75, 0.8, 0.5752618031559393, 1 / 0 }, "frexp's mantissas")
t.is(e:tolist(), { 0, 1, 2, -3, -1029, 0 }, "and exponents")
t.is(e.dtype, "i32", "which are i32")
near(g.float_power(i64{2, 3}, f64{0.5, -1}), { 1.4142135623730951, 0.3333333333333333 },
    "float_power")
t.is(g.float_power(2, i64{3, -1}):tolist(), { 8, 0.5 }, "float_power of a number")
near(g.multigammaln(f64{2.5, 4, 7.25}, 3),
    { 1.8809954616117743, 5.402975080909175, 20.104800157934413 }, "multigammaln")
local a = f64{{1, 2, 3}, {4, 5, 6}}
near(g.addr(a, f64{1, 2}, f64{3, -1, 0.5}, { beta = 0.5, alpha = 2 }),
    { { 6.5, -1, 2.5 }, { 14, -1.5, 5 } }, "addr")
near(g.addbmm(g.ones(2, 2, { dtype = "f64" }), g.arange(0, 11, { dtype = "f64" }):view(2, 2, 3),
    g.arange(-4, 7, { dtype = "f64" }):view(2, 3, 2), 3, 0.5), { { 46, 58 }, { 55, 76 } },
    "addbmm")

local x = f64{{0.1, 2, -1}, {0.5, -0.3, 0.7}, {3, 0.2, 0.4}}
near(g.linalg.matrix_exp(x), { { 0.5763354229523076, 1.365066327934103, -0.3924773682867882 },
    { 1.380633183171137, 1.8019437683801827, 0.3714194230275062 },
    { 3.256165307235587, 3.075738695686748, 0.48137104993948443 } }, "matrix_exp")
local large = g.matrix_exp(20 * x):tolist()
t.close(large[3][2] / 1755871467.3325155, 1, 1e-10, "of a large matrix")
local leaf = x:clone():requires_grad_()
g.matrix_exp(leaf):sum():backward()
near(leaf.grad, { { 3.8241161422010057, 5.066442278806039, 8.617476761785488 },
    { 3.857156329789404, 4.995679794260946, 8.363078301324302 },
    { 1.083679720563765, 1.6930041781592187, 3.096399873578312 } }, "its gradient")

local lu, pivots = g.linalg.lu_factor(x)
local b = f64{{1, 2}, {3, 4}, {5, 6}}
local plain = { { 0.8074981975486659, 0.7498197548666186 },
    { 2.9452054794520555, 4.52054794520548 }, { 4.971160778658977, 7.116077865897621 } }
local turned = { { 3.7635183850036045, 4.715212689257389 },
    { 13.705839942321559, 16.596971881759192 }, { -2.076423936553713, -2.2566690699351115 } }
near(g.linalg.lu_solve(lu, pivots, b), plain, "lu_solve")
near(g.linalg.lu_solve(lu, pivots, b, { adjoint = true }), turned, "adjoint")
near(g.linalg.lu_solve(lu, pivots, b.mT, false).mT, turned, "from the right")
near(g.linalg.lu_solve(lu, pivots, b.mT, false, true).mT, plain, "both")
near(g.linalg.lu_solve(g.stack{lu, lu}, g.stack{pivots, pivots}, b)[2], plain, "of a batch")

-- ---- pieces ----

local grid = g.arange(0, 23):view(2, 3, 4)
t.is(g.hsplit(grid, 3)[2]:tolist(), grid["1:, 2:2"]:tolist(), "hsplit")
t.is(#g.hsplit(g.arange(0, 5), 3), 3, "of a vector")
t.is(g.vsplit(grid, { 1 })[2]:tolist(), grid["2:2"]:tolist(), "vsplit at an index")
t.is(g.dsplit(grid, 2)[1]:tolist(), grid["1:, 1:, 1:2"]:tolist(), "dsplit")
t.error(function() g.hsplit(grid, 2) end, "hsplit: argument 'sections': 2 does not divide dim 2")
t.error(function() g.vsplit(g.ones(3), 3) end, "vsplit: x has 1 dims")
local base, src = f64{{1, 2, 3}, {4, 5, 6}}:requires_grad_(), f64{7, 8}:requires_grad_()
local put = g.select_scatter(base, src, 2, 1)
t.is(put:tolist(), { { 7, 2, 3 }, { 8, 5, 6 } }, "select_scatter")
put:sum():backward()
t.is(base.grad:tolist(), { { 0, 1, 1 }, { 0, 1, 1 } }, "no gradient where src is")
t.is(src.grad:tolist(), { 1, 1 }, "but there")
t.is(g.slice_scatter(base:detach(), g.zeros(2, 2, { dtype = "f64" }), 2, 1, 3, 2):tolist(),
    { { 0, 2, 0 }, { 0, 5, 0 } }, "slice_scatter")
t.is(g.diagonal_scatter(base:detach(), f64{0, 0}, 1):tolist(), { { 1, 0, 3 }, { 4, 5, 0 } },
    "diagonal_scatter")
t.error(function() g.select_scatter(base, f64{1}, 2, 1) end,
    "select_scatter: src has shape 1 %(expected 2%)")

-- ---- gradient ----

local field = f64{{1, 4, 2, 8}, {3, 5, 9, 7}, {0, 1, 5, 2}}
local down, along = table.unpack(g.gradient(field))
near(down, { { 2, 1, 7, -1 }, { -0.5, -1.5, 1.5, -3 }, { -3, -4, -4, -5 } }, "gradient, dim 1")
near(along, { { 3, 0.5, 2, 6 }, { 2, 3, 1, -2 }, { 1, 2.5, 0.5, -3 } }, "dim 2")
down, along = table.unpack(g.gradient(field, { spacing = { 2, 0.5 }, edge_order = 2 }))
near(down, { { 2.25, 1.75, 6.25, 0.5 }, { -0.25, -0.75, 0.75, -1.5 },
    { -2.75, -3.25, -4.75, -3.5 } }, "with distances and edges of order 2")
near(along, { { 11, 1, 4, 20 }, { 2, 6, 2, -10 }, { -1, 5, 1, -13 } }, "dim 2")
down, along = table.unpack(g.gradient(field, { spacing = { f64{0, 1, 4}, f64{0, 0.5, 2, 3} } }))
near(down, { { 2, 1, 7, -1 },
    { 1.25, 0.41666666666666635, 4.916666666666667, -1.1666666666666672 },
    { -1, -1.3333333333333333, -1.3333333333333333, -1.6666666666666667 } }, "with places")
near(along, { { 6, 4.166666666666666, 3.0666666666666664, 6 },
    { 4, 3.666666666666666, -0.13333333333333286, -2 },
    { 2, 2.1666666666666665, -0.7333333333333332, -3 } }, "dim 2")
down = g.gradient(field, { spacing = { f64{0, 1, 4} }, dim = 1, edge_order = 2 })[1]
near(down, { { 2.75, 1.5833333333333328, 9.083333333333334, -0.8333333333333345 },
    { 1.25, 0.41666666666666635, 4.916666666666667, -1.1666666666666672 },
    { -3.25, -3.0833333333333326, -7.583333333333333, -2.166666666666665 } }, "order 2 of places")
t.error(function() g.gradient(g.ones(1)) end, "gradient: dim 1 has size 1 %(expected 2 or more")

-- ---- counts and windows ----

local v = f64{1, 2, 1, 4, 3.5, 0}
local counts, edges = g.histogram(v, 4)
t.is(counts:tolist(), { 1, 2, 1, 2 }, "histogram")
t.is(edges:tolist(), { 0, 1, 2, 3, 4 }, "its edges")
counts = g.histogram(v, f64{0, 1, 3, 4}, { density = true })
near(counts, { 0.16666666666666666, 0.25, 0.3333333333333333 }, "density of given edges")
t.error(function() g.histogram(v, 0) end, "histogram: argument 'bins': expected an integer above 0")
near(g.renorm(f64{{1, 2, 2}, {0, 3, 4}}, 2, 1, 4),
    { { 1, 2, 2 }, { 0, 2.399999952000001, 3.199999936000001 } }, "renorm")
near(g.kaiser_window(5, { dtype = "f64" }), { 5.2773441320097665e-05, 0.10171968770956323,
    0.7929398341014605, 0.7929398341014605, 0.10171968770956323 }, "kaiser_window")
t.is(g.combinations(i64{1, 2, 3, 4}):tolist(),
    { { 1, 2 }, { 1, 3 }, { 1, 4 }, { 2, 3 }, { 2, 4 }, { 3, 4 } }, "combinations")
t.is(g.combinations(i64{1, 2, 3}, 3):tolist(), { { 1, 2, 3 } }, "of three")
t.is(g.combinations(i64{1, 2}, { with_replacement = true }):tolist(),
    { { 1, 1 }, { 1, 2 }, { 2, 2 } }, "with replacement")
t.done()
