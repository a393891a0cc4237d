-- Every composite against values written out (tests/support/cases/composite.lua), and some of them
-- more closely, on cpu and sim.
local t = require "tap"
local gpush = require "gpush"

local function is(got, want, what) t.close(got:tolist(), want, 1e-6, what) end
local function shape(got, want, what) t.is(table.concat(got.shape, "x"), want, what) end

local function values(dev)
    local function on(what) return what .. " (" .. dev .. ")" end
    local function tensor(v, dtype) return gpush.tensor(v, { device = dev, dtype = dtype }) end
    local x = tensor { { 1, 2, 3 }, { 4, 5, 6 } }

    shape(gpush.atleast_1d(tensor(3)), "1", on "atleast_1d of 0 dims")
    shape(gpush.atleast_1d(x), "2x3", on "atleast_1d of 2 dims")
    shape(gpush.atleast_2d(tensor(3)), "1x1", on "atleast_2d of 0 dims")
    shape(gpush.atleast_2d(tensor { 1, 2, 3 }), "1x3", on "atleast_2d of 1 dim")
    is(gpush.atleast_2d(tensor { 1, 2, 3 }), { { 1, 2, 3 } }, on "atleast_2d's values")
    is(gpush.cat({ x, x + 6 }, 2), { { 1, 2, 3, 7, 8, 9 }, { 4, 5, 6, 10, 11, 12 } }, on "cat")

    for _, name in ipairs { "zeros_like", "ones_like" } do
        local like, wide = gpush[name](x), gpush[name](x, { dtype = "i16" })
        local v = name == "ones_like" and 1 or 0
        is(like, { { v, v, v }, { v, v, v } }, on(name))
        t.is(like.dtype .. " " .. tostring(like.device):match "^%a+", x.dtype .. " " .. dev,
            on(name .. ": where and what"))
        t.is(wide.dtype, "i16", on(name .. " of another dtype"))
        is(wide, { { v, v, v }, { v, v, v } }, on(name .. "'s values in another dtype"))
    end

    -- pi^2 / 6, and -2 zeta(3) by Euler's sum
    t.close(gpush.polygamma(1, tensor({ 1, 2 }, "f64")):tolist(),
        { math.pi ^ 2 / 6, math.pi ^ 2 / 6 - 1 }, 1e-15, on "polygamma 1")
    t.close(tensor({ 1 }, "f64"):polygamma(2):tolist(), { -2.404113806319188570799 }, 1e-15,
        on "polygamma 2, as a method")
    t.close(gpush.polygamma(0, tensor({ 1 }, "f64")):tolist(), { -0.57721566490153286061 }, 1e-15,
        on "polygamma 0 is digamma")
    t.error(function() gpush.polygamma(-1, x) end,
        "composites.lua:%d+: polygamma: argument 'n': expected an integer from 0", on "-1")

    is(x:ravel(), { 1, 2, 3, 4, 5, 6 }, on "ravel")
    is(x:t():ravel(), { 1, 4, 2, 5, 3, 6 }, on "ravel of a transposed tensor")
    is(x:view_as(gpush.zeros(3, 2, { device = dev })), { { 1, 2 }, { 3, 4 }, { 5, 6 } },
        on "view_as")
    is(x:t():reshape_as(gpush.zeros(2, 3, { device = dev })), { { 1, 4, 2 }, { 5, 3, 6 } },
        on "reshape_as")
    -- only its shape counts
    local elsewhere = gpush.zeros(3, 2, { device = dev == "cpu" and "sim" or "cpu" })
    is(x:view_as(elsewhere), { { 1, 2 }, { 3, 4 }, { 5, 6 } },
        on "view_as of a tensor on another device")
    is(x:reshape_as(elsewhere), { { 1, 2 }, { 3, 4 }, { 5, 6 } }, on "reshape_as of one")
    is(tensor { { 1 }, { 2 }, { 3 } }:expand_as(elsewhere), { { 1, 1 }, { 2, 2 }, { 3, 3 } },
        on "expand_as of one")
    local y = tensor { { { 1, 2, 3 }, { 4, 5, 6 } } } -- 1 x 2 x 3
    is(y:moveaxis(1, 3), { { { 1 }, { 2 }, { 3 } }, { { 4 }, { 5 }, { 6 } } }, on "moveaxis")
    for _, name in ipairs { "swapaxes", "swapdims" } do
        is(y[name](y, 2, 3), { { { 1, 4 }, { 2, 5 }, { 3, 6 } } }, on(name))
    end

    -- The squares' mean distance: 1, 2, 3, 4 have mean 2.5 and variance 5 / 3, uncorrected 5 / 4.
    local four = tensor({ 1, 2, 3, 4 }, "f32")
    local std, mean = gpush.std_mean(four)
    t.close({ std:item(), mean:item() }, { math.sqrt(5 / 3), 2.5 }, 1e-6, on "std_mean")
    std, mean = gpush.std_mean(x:float(), 2, { correction = 0 })
    is(std, { math.sqrt(2 / 3), math.sqrt(2 / 3) }, on "std_mean over a dim, uncorrected")
    is(mean, { 2, 5 }, on "its means")

    -- |a - b| <= atol + rtol |b|
    local nan, inf = 0 / 0, math.huge
    local a = tensor { 1, 1, 1, nan, inf, inf, -inf, 0 }
    local b = tensor { 1, 1.000009, 1.00002, nan, inf, 1, inf, 1e-9 }
    is(gpush.isclose(a, b):int(), { 1, 1, 0, 0, 1, 0, 0, 1 }, on "isclose")
    t.is(gpush.isclose(a, b, { equal_nan = true })[4]:item(), true,
        on "isclose where NaN equals NaN")
    t.is(gpush.isclose(a, b, { rtol = 1e-4 })[3]:item(), true, on "isclose with a wider tolerance")

    -- A GRU's step with units = 1, by hand: r and z gates, then the new state's candidate.
    local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
    local wx, wh, bx, bh = { 0.5, -0.3, 0.8 }, { 0.2, 0.4, -0.6 }, { 0.1, 0, -0.1 },
        { 0, 0.3, 0.05 }
    local function column(v) return tensor { { v[1] }, { v[2] }, { v[3] } } end
    local input, state = 0.7, -0.2
    local r = sigmoid(wx[1] * input + bx[1] + wh[1] * state + bh[1])
    local z = sigmoid(wx[2] * input + bx[2] + wh[2] * state + bh[2])
    local arg = wx[3] * input + bx[3] + r * (wh[3] * state + bh[3])
    local n = (math.exp(2 * arg) - 1) / (math.exp(2 * arg) + 1)
    is(gpush.gru_cell(tensor { { input } }, tensor { { state } }, column(wx), column(wh),
        tensor(bx), tensor(bh)),
        { { (1 - z) * n + z * state } }, on "gru_cell")
end

for _, dev in ipairs { "cpu", "sim" } do values(dev) end

-- Every composite is called, by the name it is registered under, and gives the result of its case;
-- one without a case fails, and so does a case without a composite.
local cases_of = require "cases.composite"

-- Results as tables: a single one, or a list of several; lists of tensors as they are.
local function plain(v)
    if gpush.is_tensor(v) then return v:tolist() end
    if type(v) ~= "table" then return v end
    local out = {}
    for i, x in ipairs(v) do out[i] = plain(x) end
    return out
end

local function every(dev)
    local function put(v, dtype)
        return gpush.tensor(v, { device = dev, dtype = dtype or "f64" })
    end
    local cases, seen = cases_of(put, dev), {}
    for name, op in pairs(gpush.ops(true)) do
        local composite = op.kind == "composite"
        if composite or cases[name] then
            seen[#seen + 1] = { name = name, case = cases[name], composite = composite }
        end
        cases[name] = nil
    end
    table.sort(seen, function(x, y) return x.name < y.name end)
    for _, one in ipairs(seen) do
        local group, last = one.name:match "^(%w+)%.(.+)$"
        local fn, label = group and gpush[group][last] or gpush[one.name], one.name ..
            "'s case (" .. dev .. ")"
        if t.ok(one.composite and one.case, one.name .. " is a composite and has a case (" .. dev ..
            ")") then
            local got = table.pack(fn(table.unpack(one.case.args, 1, one.case.args.n)))
            local all = got
            if got.n == 1 then all = got[1] end
            t.close(plain(all), one.case.want, 2e-8, label)
        end
    end
    t.is(next(cases), nil, "cases of what there is not (" .. dev .. ")")
end

-- Second names: the same numbers, written out; in place where the first name has that form, too.
local function second(dev)
    local function put(v) return gpush.tensor(v, { device = dev }) end
    local a, b, m = put { -0.5, 0.25 }, put { 2.0, 0.25 }, put { { 2.0, 1.0 }, { 0.0, 4.0 } }
    for name, case in pairs {
        absolute = { { 0.5, 0.25 }, a }, arccos = { { 2 * math.pi / 3, math.acos(0.25) }, a },
        arcsin = { { -math.pi / 6, math.asin(0.25) }, a },
        arctan = { { math.atan(-0.5), math.atan(0.25) }, a },
        arcsinh = { { math.log(-0.5 + 1.25 ^ 0.5), math.log(0.25 + 1.0625 ^ 0.5) }, a },
        arctanh = { { -0.5 * math.log(3), 0.5 * math.log(5 / 3) }, a },
        arccosh = { { math.log(2 + 3 ^ 0.5), 0 }, put { 2.0, 1.0 } },
        arctan2 = { { math.atan(-0.5, 2), math.pi / 4 }, a, b }, clip = { { 0, 0.25 }, a, 0, 1 },
        divide = { { -0.25, 1 }, a, b },
        true_divide = { { -0.25, 1 }, a, b }, multiply = { { -1, 0.0625 }, a, b },
        subtract = { { -2.5, 0 }, a, b }, negative = { { 0.5, -0.25 }, a },
        fix = { { 0, 2 }, put { -0.5, 2.75 } }, greater = { { false, false }, a, b },
        greater_equal = { { false, true }, a, b },
        less = { { true, false }, a, b }, less_equal = { { true, true }, a, b },
        not_equal = { { true, false }, a, b },
        argwhere = { { { 1, 1 }, { 1, 2 }, { 2, 2 } }, m },
        ger = { { { -1, -0.125 }, { 0.5, 0.0625 } }, a, b },
        concat = { { -0.5, 0.25, 2, 0.25 }, { a, b } },
        concatenate = { { -0.5, 0.25, 2, 0.25 }, { a, b } },
        row_stack = { { { -0.5, 0.25 }, { 2, 0.25 } }, { a, b } },
        swapaxes = { { { 2, 0 }, { 1, 4 } }, m, 1, 2 },
        swapdims = { { { 2, 0 }, { 1, 4 } }, m, 1, 2 },
        moveaxis = { { { 2, 0 }, { 1, 4 } }, m, 1, 2 },
        det = { 8, m }, inverse = { { { 0.5, -0.125 }, { 0, 0.25 } }, m },
        pinverse = { { { 0.5, -0.125 }, { 0, 0.25 } }, m },
        matrix_power = { { { 4, 6 }, { 0, 16 } }, m, 2 },
        cholesky = { { { 2, 0 }, { 1, 3 } }, put { { 4.0, 2.0 }, { 2.0, 10.0 } } },
    } do
        t.close(plain(gpush[name](table.unpack(case, 2))), case[1], 1e-6,
            name .. " (" .. dev .. ")")
        if gpush.is_tensor(case[2]) then
            t.close(plain(case[2][name](table.unpack(case, 2))), case[1], 1e-6,
                "x:" .. name .. " (" .. dev .. ")")
        end
    end
    t.close(plain(table.pack(put { { 2.0, 0.0 }, { 0.0, -3.0 } }:slogdet())[2]), math.log(6), 1e-6,
        "slogdet (" .. dev .. ")")
    local q, r = m:qr()
    t.close(plain(q:matmul(r)), { { 2, 1 }, { 0, 4 } }, 1e-6, "qr (" .. dev .. ")")
    local x = put { -3.0, 0.5 }
    t.ok(rawequal(x:clip_(-1, 1), x) and x[1]:item() == -1 and x:absolute_():sum():item() == 1.5,
        "in place (" .. dev .. ")")
end

-- Gradients of those that are not rows, against differences.
local function gradients(name, fn, ...)
    t.is(gpush.autograd.gradcheck(fn, ...), true, "gradient of " .. name)
end
local function leaf(...)
    return gpush.rand({ ... }, { dtype = "f64", requires_grad = true })
end
gpush.manual_seed(3)
gradients("ctc_loss", function(x)
    return gpush.ctc_loss(x:log_softmax(3), gpush.tensor { { 2, 3, 3 }, { 4, 2, 0 }, { 3, 0, 0 } },
        { 5, 4, 5 }, { 3, 2, 0 })
end, leaf(5, 3, 4))
gradients("multi_margin_loss", function(x)
    return gpush.multi_margin_loss(x, gpush.tensor { 1, 3 }, 2)
end, leaf(2, 3))
gradients("multilabel_margin_loss", function(x)
    return gpush.multilabel_margin_loss(x, gpush.tensor { { 1, 0, 2 }, { 3, 2, 0 } })
end, leaf(2, 3))
gradients("fold", function(x) return gpush.fold(x, { 3, 4 }, 2) end, leaf(1, 8, 6))
gradients("bilinear", gpush.bilinear, { leaf(2, 3), leaf(2, 4), leaf(5, 3, 4), leaf(5) })
gradients("local_response_norm", function(x) return gpush.local_response_norm(x, 3, 0.5) end,
    leaf(1, 4, 2))
gradients("grid_sample", function(x, grid)
    return gpush.grid_sample(x, grid * 1.5 - 0.9, "bilinear", "zeros", true)
end, { leaf(1, 2, 3, 4), leaf(1, 2, 3, 2) })
gradients("embedding_bag", function(w, factors)
    return gpush.embedding_bag(gpush.tensor { 1, 3, 3, 2 }, w, gpush.tensor { 1, 3 }, "sum",
        factors)
end, { leaf(3, 2), leaf(4) })
gradients("stft", function(x) return gpush.stft(x, 4, 2, { window = gpush.hann_window(4, true,
    { dtype = "f64" }) }) end, leaf(12))
gradients("max_pool3d", function(x) return gpush.max_pool3d(x, 2, 1) end, leaf(1, 1, 3, 3, 3))
gradients("cov", gpush.cov, leaf(2, 4))
do
    local x = gpush.zeros(2, { requires_grad = true })
    gpush.sinc(x):sum():backward()
    t.is(x.grad:tolist(), { 0, 0 }, "sinc is flat at 0")
    local nan = string.unpack("<d", string.pack("<I8", 0x7ff8 << 48))
    for _, dtype in ipairs { "f64", "f32" } do
        t.is(gpush.tensor({ nan, -nan, 0.0, -0.0 }, { dtype = dtype }):signbit():tolist(),
            { false, true, false, true }, "signbit of " .. dtype)
    end
    t.is(gpush.tensor({ -1, 0, 1 }, { dtype = "i8" }):signbit():tolist(), { true, false, false },
        "signbit of integers")
    t.is(gpush.sinc(gpush.tensor { 0, 2 }).dtype, "f32", "sinc of integers")
    local log = gpush.randn(4, 2, 3):log_softmax(3)
    local lost = gpush.ctc_loss(log["1:2"], gpush.tensor { { 2, 2 }, { 2, 3 } }, { 2, 2 },
        { 2, 2 }, { reduction = "none" })
    t.is(lost[1]:item(), math.huge, "a repeat needs a blank between")
    t.ok(lost[2]:item() < 99, "two labels do not")
    t.is(gpush.ctc_loss(log["1:2"], gpush.tensor { { 2, 2 }, { 2, 2 } }, { 2, 2 }, { 2, 2 },
        { zero_infinity = true }):item(), 0, "or it counts 0")
    local wave = (gpush.arange(1, 100) * 0.3):sin()
    local window = gpush.hann_window(16)
    local spectra = gpush.stft(wave, 16, 4, { window = window })
    t.close(gpush.istft(spectra, 16, 4, { window = window, length = 100 }), wave, 1e-5,
        "istft undoes stft")
    gpush.manual_seed(1)
    local drop = gpush.alpha_dropout(gpush.randn(20000), 0.3, true)
    t.close({ drop:mean():item(), drop:std():item() }, { 0, 1 }, 0.03, "alpha_dropout keeps both")
    local soft = gpush.gumbel_softmax(gpush.tensor { 0.2, 0.5, 0.3 }:log():expand(20000, 3),
        { hard = true })
    t.close(soft:mean(1), { 0.2, 0.5, 0.3 }, 0.02, "gumbel_softmax has the chances")
end

-- Adaptive pools of three dims: each output is that of its window, cut out.
local function adaptive(name, size, of_window)
    local x, cells = gpush.randn(1, 2, 5, 6, 7), {}
    local function range(d, k) -- window k of dim d, as PyTorch's documentation says
        local n, out = x.shape[d + 2], size[d]
        return ("%d:%d"):format((k - 1) * n // out + 1, (k * n + out - 1) // out)
    end
    for i = 1, size[1] do for j = 1, size[2] do for k = 1, size[3] do
        local window = (":, :, %s, %s, %s"):format(range(1, i), range(2, j), range(3, k))
        cells[#cells + 1] = of_window(x[window]:reshape(1, 2, -1))
    end end end
    local want = gpush.stack(cells, 3):reshape(1, 2, size[1], size[2], size[3])
    t.close(gpush[name](x, size), want, 1e-5, name .. " to " .. table.concat(size, "x"))
end
for _, size in ipairs { { 2, 3, 4 }, { 3, 2, 5 }, { 5, 6, 7 } } do
    adaptive("adaptive_avg_pool3d", size, function(w) return w:mean(3) end)
    adaptive("adaptive_max_pool3d", size, function(w) return w:amax(3) end)
end

for _, dev in ipairs { "cpu", "sim" } do every(dev) second(dev) end
t.done()
