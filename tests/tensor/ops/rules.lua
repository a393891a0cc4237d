--!plain
-- Rules of elementwise ops that a table of values does not show: comparisons beyond a dtype's
-- range, operations undefined for integers, writing over operands.
local t = require "tap"
local g = require "gpush"

local function rules(dev)
    local function on(v, dtype) return g.tensor(v, {dtype = dtype}):to(dev) end
    local function is(y, v, name) t.is(y, v, name .. " on " .. dev) end
    local function refuses(f, pattern, name)
        t.error(function() f():to "cpu"; return (g.ones(1, {device = dev}) + 1):item() end, pattern,
            name .. " on " .. dev)
    end

    -- comparisons use the numbers themselves, not their conversion to the tensor's dtype
    is(on({0, 255}, "u8"):eq(-1), {false, false}, "u8 and -1")
    is(on({44, 200}, "u8"):lt(300), {true, true}, "u8 < 300")
    is(on({0, 7}, "i32"):eq(1 << 32), {false, false}, "i32 and 2^32")
    is(on({0, 7}, "i32"):lt(on({1 << 40}, "i64")[1]), {true, true}, "i32 < a 0-d i64")
    is(on({(1 << 53) + 1, 1 << 53}, "i64"):eq((1 << 53) + 1), {true, false}, "i64 beyond 2^53")
    is(on({0.1, 0.2}, "f16"):eq(0.1), {true, false}, "f16 and 0.1")
    is(on({0.1, 0.2}, "bf16"):ge(0.2), {false, true}, "bf16 >= 0.2")
    is(on({0.1, 0.2}, "f32"):eq(0.1), {true, false}, "f32 and 0.1")
    is(on({1, 2}, "i64"):lt(1.5), {true, false}, "i64 < 1.5")
    is(on({true, false}):eq(true), {true, false}, "bool and true")
    is(on({0 / 0, 1}):ne(on({0 / 0, 1})), {true, false}, "NaN differs from itself")

    -- NaN wins
    local n = on({0 / 0, 1, 2})
    is(n:amax(), 0 / 0, "amax with NaN")
    is(n:amin(), 0 / 0, "amin with NaN")
    is(n:maximum(1.5), {0 / 0, 1.5, 2}, "maximum with NaN")
    is(on({1.0, 2.0}):minimum(0 / 0), {0 / 0, 0 / 0}, "minimum of NaN")

    -- powers by numbers are PyTorch's roots and quotients: of -0.0 with its sign, of -inf none; by
    -- tensors they are C's pow
    for dtype in ("f32 f64 f16 bf16"):gmatch "%w+" do
        local odd = on({-0.0, 0, -1 / 0, 1 / 0, -4, 4}, dtype)
        is(1 / odd:pow(0.5), {-1 / 0, 1 / 0, 0 / 0, 0, 0 / 0, 0.5}, "roots of " .. dtype)
        is(odd:pow(-0.5), {-1 / 0, 1 / 0, 0 / 0, 0, 0 / 0, 0.5}, "one over roots of " .. dtype)
        is(1 / odd:pow(on({0.5}, dtype)), {1 / 0, 1 / 0, 0, 0, 0 / 0, 0.5},
            "powers of " .. dtype .. " by a tensor")
        is(1 / odd:clone():pow_(-1), {-0.0, 0, -1 / 0, 1 / 0, -4, 4}, "quotients of " .. dtype)
        is(odd:pow(2), {0, 0, 1 / 0, 1 / 0, 16, 16}, "squares of " .. dtype)
    end
    is(on({4, 9, 0}, "i32"):pow(0.5), {2, 3, 0}, "roots of i32")

    -- undefined for integers
    local x = on({7, -7, 5}, "i32")
    refuses(function() return x:floor_divide(on({1, 0, 1}, "i32")) end,
        "floor_divide: integer division by zero", "i32 // 0")
    refuses(function() return x:remainder(0) end, "remainder: integer division by zero", "i32 % 0")
    refuses(function() return x:pow(-2) end, "pow: an integer raised to a negative integer",
        "i32 ^ -2")
    refuses(function() return x:maximum(1 << 40) end,
        "maximum: the number 1099511627776 does not fit in i32", "a number beyond i32")
    is(x:floor_divide(2), {3, -4, 2}, "// rounds down")
    is(x:remainder(-3), {-2, -1, -1}, "% has the divisor's sign")
    is(on({1, -1, -1}, "i8"):pow(on({-3, -3, -4}, "i8")), {1, -1, 1},
        "1 and -1 take negative exponents")
    is(on({-128, 127}, "i8"):floor_divide(-1), {-128, -127}, "i8: the least by -1 wraps")
    is(on({math.mininteger}):remainder(-1), {0}, "i64: the least % -1")
    is(on({(1 << 60) + 1, -5}, "i64"):clamp(0, (1 << 60) + 1), {(1 << 60) + 1, 0},
        "clamp of i64 beyond 2^53")

    refuses(function() return x:fmod(0) end, "fmod: integer division by zero", "fmod of i32 and 0")
    is(on({}, "i32"):remainder(0), {}, "what has no elements has none to divide")
    for name, number in pairs {floor_divide = 0, remainder = 0, fmod = 0, pow = -1} do
        local y = on({7, -7, 1}, "i32")
        refuses(function() y[name .. "_"](y, number) end, name .. ": .*integer",
            name .. "_ by " .. number)
        is(y, {7, -7, 1}, name .. "_ by " .. number .. " that failed has written nothing")
    end
    refuses(function() return x:div(0, "trunc") end, "div[ide]*: integer division by zero",
        "trunc of i32 / 0")
    refuses(function() return x:addcmul(x, x, 0.5) end, "addcmul: argument 'value' is 0.5",
        "a fraction of integers")
    refuses(function() return x:div(2, "up") end,
        "div: argument 'rounding_mode': expected 'floor' or 'trunc', got 'up'", "no such rounding")
    refuses(function() return on({1.0}):gelu("fast") end,
        "gelu: argument 'approximate': expected 'none' or 'tanh'", "no such approximation")
    is(x:div(2, "trunc"), {3, -3, 2}, "div to 0")
    is(x:clone():div_(2, "floor"), {3, -4, 2}, "down, in place")
    is(x:clone():div_(on({2, 2, 2}, "i32"), {rounding_mode = "trunc"}), {3, -3, 2},
        "to 0, in place, by name")
    refuses(function() return x:div_(2, "up") end, "div: 3 arguments given",
        "in place there is no such rounding, either")
    local big,
        small = on({-0x1p62, 7.5, 1e300, -3, 0.3, 2^52 + 0.5, 0 / 0, math.huge, 5, -5, 5, -5},
            "f64"), on({3, -2, 7e-300, 2^-1060, 0.1, 1, 1, 1, math.huge, math.huge, 0, 5}, "f64")
    for i = 1, 12 do -- together, where a block has quotients of any size, and each separately
        local a, b = big:narrow(1, i, 1), small:narrow(1, i, 1)
        local want = math.fmod(a:item() + 0.0, b:item())
        is(a:fmod(b), {want}, "fmod of f64")
        is(big:fmod(small):narrow(1, i, 1), {want}, "fmod of f64 among others")
        if want == 0 or b:item() == math.huge or want ~= want then goto next end
        is(a:remainder(b), {want * b:item() < 0 and want + b:item() or want}, "remainder of f64")
        ::next::
    end
    is(x:div(2, {rounding_mode = "floor"}), {3, -4, 2}, "div down")
    is(x:fmod(-3), {1, -1, 2}, "fmod has the dividend's sign")
    is(on({1.25, -2.375, 0.5}, "f64"):round(1), {1.2, -2.4, 0.5},
        "round to a place after the point")
    is(on({125.0, -235.0, 4.0}, "f64"):round {decimals = -1}, {120, -240, 0}, "and before it")
    refuses(function() return x:round(1) end,
        "round: dtype i32 of argument 'x' is not supported with decimals", "places of integers")
    is(on({2, 9, 1}, "u8"):hardtanh(2, 5), {2, 5, 2}, "hardtanh of u8")
    refuses(function() return on({2}, "u8"):hardtanh() end,
        "hardtanh: argument 'min' is %-1 %(expected a number from 0 for a u8",
            "u8 has nothing below 0")
    refuses(function() return on({true}):softsign() end, "softsign: dtype bool", "softsign of bool")
    is(on({1, 2}):add {other = on({3, 4}), alpha = 2}, {7, 10}, "add by name alone")
    is(g.sub {input = on({1, 2}), other = 3, alpha = 2}, {-5, -4}, "sub, too")
    is(on({1, 2}):add_ {other = on({3, 4}), alpha = 2}, {7, 10}, "and in place")
    is(g.add(on({1, 2}), {b = 5, alpha = 3}), {16, 17}, "by the names that help says")
    refuses(function() return on({1, 2}):add {alpha = 2} end, "add: unknown option 'alpha'",
        "alpha without another operand")
    refuses(function() return on({1, 2}):add(on({1, 2}), {alpha = 2, beta = 3}) end,
        "add: unknown option", "another option beside alpha")
    refuses(function() return g.sub(on({true}), on({false}), {alpha = 2}) end, "sub: dtype bool",
        "bools are not subtracted, with alpha either")
    is(g.add(on({true, false}), on({true, false}), {alpha = 2}), {true, false},
        "add of bools with alpha")
    refuses(function() return g.zeros(0, 0, {device = dev}):amax(1) end,
        "amax: no elements to compare", "amax of nothing, for no results")
    refuses(function() return g.zeros(0, 0, {device = dev}):median(1) end,
        "median: no elements to choose from", "nor median")
    refuses(function() return (g.zeros(0, 0, {device = dev}):aminmax(1)) end,
        "aminmax: no elements to compare", "nor aminmax")

    -- one limit, a tensor; limits of clamp_
    local low, high = on({2.0, 2.0, 0 / 0}), on({4.0})
    local function y() return on({1.0, 5.0, 3.0}) end
    is(y():clamp(low), {2, 5, 0 / 0}, "clamp from a tensor")
    is(y():clamp {max = high}, {1, 4, 3}, "clamp to a tensor")
    is(y():clamp(low, high), {2, 4, 0 / 0}, "between tensors")
    is(y():clamp_(low), {2, 5, 0 / 0}, "clamp_ likewise")
    is(y():clamp_(nil, high), {1, 4, 3}, "its second limit")
    is(y():clamp_ {max = high}, {1, 4, 3}, "by name")
    is(y():clamp_ {min = low, max = 4}, {2, 4, 0 / 0}, "both")
    is(y():clamp_ {min = 2, max = 4}, {2, 4, 3}, "numbers")
    refuses(function() return y():clamp_ {min = low, least = 1} end, "clamp", "no such limit")
    refuses(function() return on({1, 2}, "i32"):clamp_(on({1.5})) end,
        "clamp_min_: a f32 result does not fit in a i32 tensor",
            "a limit that integers cannot hold")
    is(on({1, 7}, "i64"):clamp(on({(1 << 60) + 1, 0})), {(1 << 60) + 1, 7},
        "a limit of i64 beyond 2^53")

    is(x << 1, {14, -14, 10}, "<<")
    is(x >> 1, {3, -4, 2}, ">>")
    is(1 << on({0, 3}, "i32"), {1, 8}, "a number << a tensor")
    is(on({1.0, -2.0}):gelu():eq(on({1.0, -2.0}):gelu {approximate = "tanh"}), {false, false},
        "gelu has two forms")
    is(on({0 / 0, math.huge, -1.0}):nan_to_num(1, 2), {1, 2, -1}, "nan_to_num by position")
    is(on({-math.huge}, "f16"):nan_to_num {nan = 7}, {-65504}, "nan_to_num to the dtype's end")

    -- numbers computed from numbers
    local u8 = {dtype = "u8", device = dev}
    refuses(function() return g.full({2}, 1e30, {dtype = "i64", device = dev}) end,
        "full: argument 'value' is 1e%+30, which i64 cannot hold", "a float beyond i64")
    refuses(function() return g.full({2}, 0 / 0, {dtype = "i32", device = dev}) end,
        "full: argument 'value' is %-?nan, which i32 cannot hold", "NaN is no integer")
    refuses(function() return g.full({2}, 300, u8) end,
        "full: argument 'value' is 300, which u8 cannot hold", "300 is no u8")
    refuses(function() return g.zeros(2, u8):fill_(-1) end,
        "fill_?: argument 'value' is %-1, which u8 cannot hold", "nor is -1")
    refuses(function() return g.full_like(on({1}, "i8"), 128) end,
        "full_like: argument 'value' is 128, which i8 cannot hold", "full_like")
    refuses(function() return on({1, 2}, "u8"):masked_fill(on({true, false}), 300) end,
        "masked_fill: argument 'value' is 300", "masked_fill")
    refuses(function() return on({1, 2}, "u8"):index_fill(1, on({1}), 300) end,
        "index_fill: argument 'value' is 300", "index_fill")
    refuses(function() return on({1, 2}, "u8"):scatter(1, on({1}), 300) end,
        "scatter: argument 'value' is 300", "scatter")
    refuses(function() return g.pad(on({1, 2}, "u8"), {1, 1}, "constant", 300) end,
        "pad: argument 'value' is 300, which u8", "pad")
    refuses(function() return g.linspace(0, 300, 4, u8) end, "linspace: argument 'last' is 300",
        "linspace")
    is(g.full({1}, math.mininteger + 0.0, {dtype = "i64", device = dev}), {math.mininteger},
        "the least i64, as a float")
    is(g.full({3}, 2.75, u8), {2, 2, 2}, "a fraction is cut off")
    is(g.full({1}, 1e30, {dtype = "bool", device = dev}), {true}, "bool takes any number")
    is(g.arange(0, 0.3, 0.1, {dtype = "f64", device = dev}):numel(), 4,
        "an end that rounding has put just short of a step counts")
    is(g.arange(0, 0.29, 0.1, {device = dev}):numel(), 3, "one that is short of it does not")
    refuses(function() return g.zeros({0, 3}, {device = dev}):amax(1) end,
        "amax: no elements to compare", "and for three")

    -- clamp, as PyTorch: max where min is above it, NaN where a limit is; tensors as limits,
    -- gradients too
    local nan = 0 / 0
    is(on({1.0, 5.0, nan}):clamp(3, 2):isnan(), {false, false, true},
        "clamp with min above max: NaN stays")
    is(on({1.0, 5.0}):clamp(3, 2), {2, 2}, "clamp with min above max")
    is(on({1, 200}, "u8"):clamp(-5, 100), {1, 100}, "a least u8 below 0 limits nothing")
    is(on({1, 100}, "i8"):clamp(0, 300), {1, 100}, "nor a largest i8 of 300")
    is(on({1, 100}, "i8"):clamp(300, 7), {7, 7}, "a least one above the largest does not count")
    refuses(function() return on({1, 200}, "u8"):clamp(-5, -1) end,
        "clamp: argument 'max' is %-1, which u8 cannot hold", "a largest u8 below 0")
    refuses(function() return on({1, 100}, "i8"):clamp {min = 300} end,
        "clamp: argument 'min' is 300, which i8 cannot hold", "a least i8 of 300")
    is(on({1.0, 5.0}):clamp(nan, 2):isnan(), {true, true}, "clamp with a min of NaN")
    is(on({1.0, 5.0}):clamp(0, nan):isnan(), {true, true}, "clamp with a max of NaN")
    is(on({1, 2, 3}):clamp(nan, 2):isnan(), {true, true, true},
        "clamp of integers, which become floats, with NaN")
    is(on({true, false}, "bool"):clamp(0, 3), {1, 0}, "clamp of bool by integers")
    is(on({1.0, 2.0, 3.0}):clamp(on {2.0, 0.0, 0.0}, on {1.0, 1.0, 9.0}), {1, 1, 3},
        "clamp by tensors")
    is(on({{1, 5}, {7, 3}}):clamp(on({2, 4}), on({{6}, {3}})), {{2, 5}, {3, 3}},
        "clamp by tensors that broadcast")
    is(on({1, 2, 3}):clamp {min = on {2, 1, 9}}, {2, 2, 9}, "clamp from below by a tensor")
    is(on({1.0, 9.0}):clamp {max = on {nan, 4.0}}:isnan(), {true, false},
        "clamp from above by a tensor with NaN")
    is(on({1, 9}):clamp(2, on {5, 6}), {2, 6}, "clamp by a number and a tensor")
    is(on({1, 9}):clamp(on {2.5, 2.5}), {2.5, 9}, "clamp of integers by floats")
    refuses(function() return on({1.0}):clamp() end,
        "clamp: arguments 'min' and 'max': expected at least one", "clamp without limits")
    refuses(function() return on({1.0}):polygamma(-1) end,
        "polygamma: argument 'n': expected an integer from 0, got %-1",
            "polygamma(-1) as a method")
    -- torch 2.15: x, lo, hi = torch.tensor([1., 2., 5., 2.]), torch.tensor([2., 2., 0., 3.]),
    -- torch.tensor([4., 4., 4., 1.]), which require gradients; torch.clamp(x, lo,
    -- hi).sum().backward()
    local px, lo, hi = on {1.0, 2.0, 5.0, 2.0}, on {2.0, 2.0, 0.0, 3.0}, on {4.0, 4.0, 4.0, 1.0}
    px:requires_grad_() lo:requires_grad_() hi:requires_grad_()
    px:clamp(lo, hi):sum():backward()
    is(px.grad, {0, 0.5, 0, 0}, "gradient of clamp")
    is(lo.grad, {1, 0.5, 0, 0}, "gradient of clamp's min")
    is(hi.grad, {0, 0, 1, 1}, "gradient of clamp's max")

    -- a + alpha b, also in place; {alpha = …} is PyTorch's name
    is(on({1, 2}):add(on {10, 20}, {alpha = 3}), {31, 62}, "add with alpha")
    is(on({1.0, 2.0}):sub(on {10.0, 20.0}, {alpha = 0.5}), {-4, -8}, "sub with alpha")
    is(on({1.0, 2.0}):add_(on {10.0, 20.0}, {alpha = -1}), {-9, -18}, "add_ with alpha")
    is(on({1, 2}):add(5, {alpha = 2}), {11, 12}, "add of a number with alpha")
    refuses(function() return on({1}):add(on {1}, {beta = 2}) end, "add: unknown option 'beta'",
        "add has no beta")
    refuses(function() return on({1}):add(on {1}, {alpha = 0.5}) end,
        "add.*: argument 'value' is 0.5", "a fraction of integers, as alpha")

    -- bools: no differences; sums of them where a bool is asked for are of bools, 0.5 is true
    refuses(function() return on({true}, "bool") - 1 end,
        "sub: dtype bool of argument 'a' is not supported", "bool less a number")
    refuses(function() return 1 - on({true}, "bool") end,
        "sub: dtype bool of argument 'b' is not supported", "a number less bool")
    is(on({0.5, 0.0}):sum {dtype = "bool"}, true, "sum of a half as bool")
    is(on({0.5, 0.25}):prod {dtype = "bool"}, true, "product of halves as bool")
    is(on({true, false}, "bool"):square(), {1, 0}, "square of bool is i64, as x^2")

    -- close integers and 16-bit floats: no difference wraps or is rounded
    is(on({8, 200}, "u8"):isclose(on({9, 100}, "u8"), 0.1, 0.2), {true, false}, "isclose of u8")
    is(on({0, 1}, "i64"):isclose(0.5), {false, false}, "isclose of integers to a half")
    is(on({0, 255}, "u8"):isclose(256), {false, false}, "and to what u8 cannot hold")
    is(on({0, 1}, "u8"):isclose(1), {false, true}, "and to an integer")
    is(on({true, false}, "bool"):isclose(on({true, true}, "bool")), {true, false},
        "isclose of bool")
    is(on({math.maxinteger}):isclose(on({math.maxinteger - 1}), 0, 0), {true},
        "isclose of i64 is in f64")
    -- from the nearer end, as PyTorch: 1 - 2^30 (1 - 1) is 1, where 2^30 + (1 - 2^30) is 0 in f32
    is(on({2.0 ^ 30}):lerp(on {1.0}, on {1.0}), {1}, "lerp from the far end")
    refuses(function() return on({1, 2}):lerp(on {3, 4}, on {0, 1}) end,
        "lerp: dtype i64 of argument 'a' is not supported", "lerp of integers")
    is(on({1.0, 2.0}):var {unbiased = false}, 0.25, "var, unbiased = false")
    is(on({1.0, 3.0, 5.0}):std(1, {unbiased = true}), 2, "std, unbiased = true")

    -- writing over the operand that is read
    local m = g.arange(1, 20, {dtype = "i32", device = dev}):view(4, 5)
    refuses(function()
        local s = m:narrow(1, 1, 4):narrow(2, 1, 4); return s:add_(s:transpose(1, 2))
    end, "add_: .*shares memory.*clone", "x += x:t()")
    refuses(function() return m:narrow(2, 1, 4):add_(m:narrow(2, 2, 4)) end,
        "add_: .*shares memory", "columns that overlap")
    refuses(function() return m:narrow(1, 2, 3):add_(m:narrow(1, 1, 3)) end,
        "add_: .*shares memory", "rows that overlap")
    is(m[1], {1, 2, 3, 4, 5}, "a refused op leaves its input")
    m:narrow(2, 1, 2):add_(m:narrow(2, 3, 2))
    is(m, {{4, 6, 3, 4, 5}, {14, 16, 8, 9, 10}, {24, 26, 13, 14, 15}, {34, 36, 18, 19, 20}},
        "columns beside each other")
    refuses(function() return m:slice(2, 1, -1, 2):sub_(m:narrow(2, 3, 1)) end,
        "sub_: .*shares memory", "every other column less one of them")
    m:slice(1, 1, -1, 2):copy_(m:slice(1, 2, -1, 2))
    is(m[1], m[2]:tolist(), "every other row from the ones between")
    m:add_(m)
    local wide = g.ones({64, 64}, {dtype = "i32", device = dev})
    wide:slice(2, 1, -1, 2):add_(wide:slice(2, 2, -1, 2))
    is(wide:sum(1)["1:2"], {128, 64}, "every other column and the ones between, of a large tensor")
end

for _, dev in ipairs {"cpu", "sim"} do rules(dev) end
-- An integer op in place that fails leaves its operand unchanged: numbers, layouts, small types,
-- and enough elements that threads share them.
do
    local long = g.full({ 300000 }, 6, { dtype = "i64" })
    local one_zero = g.full({ 300000 }, 2, { dtype = "i64" })
    one_zero[299999] = 0
    local ops = { floor_divide_ = "integer division by zero",
        remainder_ = "integer division by zero", fmod_ = "integer division by zero",
            pow_ = "raised to a negative integer" }
    for name, message in pairs(ops) do
        local bad = name == "pow_" and -1 or 0
        for _, dtype in ipairs { "i8", "i16", "i32", "i64" } do
            local function on(v) return g.tensor(v, { dtype = dtype }) end
            for what, b in pairs { number = bad, tensor = on { { 2, 1, bad }, { 1, 1, 1 } },
                row = on { 1, bad, 2 }, column = on { { 1 }, { bad } },
                transposed = on({ { 1, 2 }, { bad, 1 }, { 1, 1 } }):transpose(1, 2) } do
                local x = on { { 4, 5, 6 }, { 7, 8, 9 } }
                t.error(function() x[name](x, b) end, message, name .. " " .. dtype .. " " .. what)
                t.is(x:tolist(), { { 4, 5, 6 }, { 7, 8, 9 } }, "nothing was written")
            end
        end
        local divisors = name == "pow_" and one_zero - 1 or one_zero
        t.error(function() long[name](long, divisors) end, message, name .. " of many")
        t.ok(long:eq(6):all():item(), "nothing was written")
        local x = g.tensor { 4, 5 }
        t.error(function() x[name](x, x * 0 + bad) end, message, name .. " by what it was made of")
        local empty = g.zeros(0, { dtype = "i64" })
        t.is(empty[name](empty, g.tensor { bad }):tolist(), {}, name .. " of nothing")
    end
end
t.done()
