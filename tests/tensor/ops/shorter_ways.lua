--!plain
-- Elementwise ops and copies with a fast path for some operands (powers by a number, remainders of
-- f32, a column broadcast along rows, few planes made pixels): the same results as Lua's own
-- arithmetic.
local g = require "gpush"
local t = require "tap"
local nan, inf = 0 / 0, math.huge

local function close(y, want, tolerance, name)
    local good, list = true, y:tolist()
    for i, v in ipairs(want) do
        local d = list[i]
        if v ~= v then good = good and d ~= d
        elseif v == 0 then good = good and d == 0 and 1 / d == 1 / v
        elseif v - v ~= 0 then good = good and d == v
        else good = good and math.abs(d - v) <= tolerance * math.abs(v) end
        if not good then return t.is(d, v, name .. ": element " .. i) end
    end
    t.ok(good, name)
end

-- ---- powers ----
local N = 2100 -- more than two blocks
local bases, exponents = {}, {}
local odd = {-2, -0.0, 0, 1, -1, 2.5, -2.5, inf, -inf, nan, 3, -3, 0.25}
for i = 1, N do
    bases[i], exponents[i] = odd[i % #odd + 1],
        ({2, 3, -1, 0.5, -2, 0, 1, nan, inf, -inf, 1 / 3, -3, 7, 1.5, -0.5, 4, -5})[i % 17 + 1]
end
for dtype, tolerance in pairs {f32 = 1e-6, f64 = 1e-14} do
    local a, b = g.tensor(bases, {dtype = dtype}), g.tensor(exponents, {dtype = dtype})
    local want = {}
    for i = 1, N do
        want[i] = bases[i] ^ (dtype == "f32" and string.unpack("f", string.pack("f", exponents[i]))
            or exponents[i])
    end
    close(a:pow(b), want, tolerance, dtype .. ": powers of all kinds")
    for _, e in ipairs {2, 3, -1, -2, 0, 1, 4, 5, -3} do
        for i = 1, N do want[i] = bases[i] ^ e end
        close(a:pow(e), want, tolerance, dtype .. ": power " .. e)
        close(a ^ (e + 0.0), want, tolerance, dtype .. ": power " .. e .. " as a float")
        local own = a:clone()
        own:pow_(e)
        close(own, want, tolerance, dtype .. ": power " .. e .. " in place")
    end
    -- PyTorch takes roots here: -0.0 stays, and -inf has none.
    close(g.tensor({4, 0.25, -0.0, -inf, -1, inf}, {dtype = dtype}):pow(0.5),
        {2, 0.5, -0.0, nan, nan, inf}, tolerance, dtype .. ": power 0.5")
end
-- … and their derivatives by the base, b a^(b-1).
for dtype, tolerance in pairs {f32 = 2e-6, f64 = 1e-14} do
    for _, e in ipairs {2, 3, -1, 1, 0, 4, -2, 0.5, 1.5} do
        local list, want = {}, {}
        for i = 1, N do
            list[i] = (e % 1 ~= 0 and 0.5 or -3) + i % 7 + (i % 3 + 1) / 8
            want[i] = e == 0 and 0 or e * list[i] ^ (e - 1)
        end
        for _, power in ipairs {e, g.tensor(e, {dtype = dtype})} do
            local a = g.tensor(list, {dtype = dtype}):requires_grad_()
            a:pow(power):sum():backward()
            close(a.grad, want, tolerance, dtype .. ": derivative of the power " .. e)
        end
    end
end
t.is(g.tensor({-3, 2, 0}):pow(2), {9, 4, 0}, "integers squared")
t.is(g.tensor({-3, 2, 0}):pow(3), {-27, 8, 0}, "integers cubed")
t.is(g.tensor({3, -0.5}, {dtype = "f16"}):pow(2), {9, 0.25}, "halves squared")

-- ---- remainders ----
local x, y = {}, {}
for i = 1, N do
    x[i] = ({7.5, -7.5, 0, -0.0, 1e-30, 3, -1, inf, -inf, nan, 1 << 20, 0.75, -123456.5})[i % 13 +
        1]
    y[i] = ({2, -2, 0.25, -3, inf, -inf, 0, nan, 1e-3 * 0 + 0.125, 7})[i % 10 + 1]
end
local function judge(x, y, name)
    local fmods, rests = {}, {}
    for i = 1, #x do
        fmods[i] = y[i] == 0 and nan or math.fmod(x[i] + 0.0, y[i] + 0.0)
        rests[i] = fmods[i] ~= 0 and (fmods[i] < 0) ~= (y[i] < 0) and fmods[i] + y[i] or fmods[i]
    end
    for _, dtype in ipairs {"f32", "f64"} do
        local a, b = g.tensor(x, {dtype = dtype}), g.tensor(y, {dtype = dtype})
        close(a:fmod(b), fmods, 0, dtype .. ": fmod, " .. name)
        close(a:remainder(b), rests, 1e-7, dtype .. ": remainder, " .. name)
    end
end
judge(x, y, "small quotients")
x[1500], y[1500] = 2.0 ^ 100, 3
x[1501], y[1501] = 2.0 ^ 29 + 64, 0.75
judge(x, y, "with large quotients")
-- Quotients that round up to an integer.
x, y = {}, {}
for i = 1, N do
    y[i] = string.unpack("f", string.pack("f", 1 + i / 4096 + 2.0 ^ -20))
    x[i] = string.unpack("f",
        string.pack("f", y[i] * (i * 37 % 4000 + 1) * (i % 2 == 0 and 1 or -1)))
end
judge(x, y, "near whole quotients")

-- ---- a column along rows ----
for _, dtype in ipairs {"f32", "f64", "f16", "i64", "u8"} do
    local m, column = g.arange(1, 60):view(20, 3):to(dtype), g.arange(1, 20):view(20, 1):to(dtype)
    local wide = m:repeat_interleave(700, 2) + column
    local want = {}
    for r = 1, 20 do want[r] = {3 * r - 2 + r, 3 * r - 1 + r, 3 * r + r} end
    t.is(g.stack({wide["..., 1"], wide["..., 701"], wide["..., 2100"]}, 2), want,
        dtype .. ": a column added to rows")
end

-- ---- gelu and lgamma: numbers from mpmath, x * erfc(-x / sqrt(2)) / 2, its derivative and
-- loggamma(x) ----
local function over(list, n, one) -- list repeated up to n elements, the last of which is `one`
    local long = {}
    for i = 1, n do long[i] = list[(i - 1) % #list + 1] end
    long[n] = one
    return long
end
local places = {-13, -9.5, -6.25, -4, -2.5, -1, -0.375, 0.375, 1.5, 3, 5.5, 20, -0.0, 0, inf, nan,
    -inf}
local gelus = {-7.952313719414843e-38, -9.969789321594476e-21, -1.2826646407618368e-09,
    -0.0001266849673324797,
    -0.015524163314440337, -0.15865525393145705, -0.13268633749772857, 0.24231366250227143,
    1.399789198096713,
    2.99595030590511, 5.499999895557407, 20, -0.0, 0, inf, nan, nan}
local slopes = {-1.0337304440113355e-36, -9.469093473831384e-20, -8.00728502095238e-09,
    -0.0005036496612264215,
    -0.03761108590814521, -0.0833154705876863, 0.21438457312611287, 0.7856154268738872,
    1.1274691922299795,
    1.011945647204184, 1.00000057334724, 1, 0.5, 0.5, nan, nan, nan}
local gammas = {[0.25] = 1.2880225246980774, [0.9375] = 0.03939090173458230, [1] = 0,
    [1.5] = -0.12078223763524522, [2] = 0,
    [2.5] = 0.2846828704729192, [3.25] = 0.9358019311087253, [5] = 3.1780538303479458,
    [7.25] = 7.0521854507385395,
    [7.5] = 7.534364236758733, [12.5] = 18.734347511936445, [1000] = 5905.220423209181,
    [1e6] = 12815504.569147611}
local at, logs = {}, {}
for v, y in pairs(gammas) do at[#at + 1], logs[#logs + 1] = v, y end
for dtype, tolerance in pairs {f32 = 1e-6, f64 = 1e-13} do
    local a = g.tensor(over(places, N, -1), {dtype = dtype}):requires_grad_()
    local y = a:gelu()
    close(y:detach(), over(gelus, N, gelus[6]), tolerance, dtype .. ": gelu")
    y:sum():backward()
    close(a.grad, over(slopes, N, slopes[6]), tolerance * 4, dtype .. ": gelu's derivative")
    close(g.tensor(over(at, N, 2.5), {dtype = dtype}):lgamma(), over(logs, N, gammas[2.5]),
        tolerance, dtype .. ": lgamma above 0")
    for v, want in pairs {[-0.75] = 1.57570459714985839, [-2] = inf, [-inf] = inf, [inf] = inf} do
        close(g.tensor(over(at, N, v), {dtype = dtype}):lgamma(), over(logs, N, want), tolerance,
            dtype .. ": lgamma with " .. v)
    end
end

-- ---- narrow integers and bools with numbers that they do not hold: as if widened, then truncated
-- ----
local u8, i8 = g.tensor({5, 100, 255}):to "u8", g.tensor({-128, 44, 127}):to "i8"
t.is({u8:lt(300):tolist(), u8:eq(261):tolist(), u8:ge(-1):tolist()},
    {{true, true, true}, {false, false, false}, {true, true, true}},
        "u8 compared with what it does not hold")
t.is({u8:maximum(300):tolist(), (u8 + 300):tolist(), (u8 * 3):tolist(), (-u8):tolist()},
    {{44, 44, 44}, {49, 144, 43}, {15, 44, 253}, {251, 156, 1}}, "u8 wraps")
t.is({i8:abs():tolist(), (i8 + i8):tolist(), (i8 - 200):tolist()},
    {{-128, 44, 127}, {0, 88, -2}, {-72, 100, -73}}, "i8 wraps")
local odd, third = g.arange(1, 3 * N):remainder(2):eq(1), g.arange(1, 3 * N):remainder(3):eq(0)
local function count(mask, rule)
    local list, good = mask:tolist(), true
    for i = 1, 3 * N do good = good and list[i] == rule(i % 2 == 1, i % 3 == 0) end
    return good
end
t.ok(count(odd & third, function(a, b) return a and b end), "bools: and")
t.ok(count(odd | third, function(a, b) return a or b end), "bools: or")
t.ok(count(~odd, function(a) return not a end), "bools: not")
t.ok(count(odd + third, function(a, b) return a or b end), "bools: sum")
t.ok(count(odd:gt(third), function(a, b) return a and not b end), "bools: above")
t.ok(count(odd:bitwise_xor(true), function(a) return not a end), "bools: xor true")

-- ---- short rows: several at a time, however an operand is laid out ----
for _, dtype in ipairs {"f32", "f64", "f16", "i64", "u8"} do
    for _, width in ipairs {1, 2, 5, 8, 17, 100} do
        local h, r = 3, 41
        local a, b, good = {}, {}, true
        for i = 1, h * r do a[i] = i % 7 end
        for i = 1, width do b[i] = i % 5 end
        local col, row = g.tensor(a):to(dtype):view(h, r, 1), g.tensor(b):to(dtype)
        local turned = g.tensor(b):to(dtype):view(width, 1, 1):expand(width, r, h):permute(3, 2, 1)
        for _, other in ipairs {row, turned, turned:contiguous(),
            turned:flip(3):contiguous():flip(3)}
        do
            local list = g.add(col * other, 1):flatten():tolist()
            for i = 1, h * r * width do
                good = good and list[i] == a[(i - 1) // width + 1] * b[(i - 1) % width + 1] + 1
            end
        end
        local own = (turned * 0 + row):mul_(col)
        -- separate rows, with gaps between them and reversed
        local full = g.arange(1, r * (width + 3)):remainder(11):to(dtype)
        for k, cut in ipairs {full:view(r, width + 3):narrow(2, 2, width),
            full:view(width + 3, r):narrow(1, 2, width):t()}
        do
            local list, other = (cut + row):flatten():tolist(), (cut:contiguous():view(-1)):tolist()
            for i = 1, r * width do good = good and list[i] == other[i] + b[(i - 1) % width + 1] end
            good = good and other[width + 1] == (k == 1 and (width + 5) % 11 or (r + 2) % 11)
        end
        t.ok(good and own:equal(col * row), ("%s: rows of %d by a column"):format(dtype, width))
    end
end

-- ---- operands that are transposed, or expanded so that rows do not move ----
for _, dtype in ipairs {"f32", "f64", "f16", "i64", "u8"} do
    for _, size in ipairs {{8, 9}, {17, 300}, {40, 129}} do
        local h, w, good = size[1], size[2], true
        -- a.t()[i][j] is ((j - 1) * h + i) % 97
        local a = g.arange(1, h * w):remainder(97):to(dtype):view(w, h)
        local b = g.arange(1, h * w):remainder(61):to(dtype):view(h, w)
        local col, row = g.arange(1, h):to(dtype):view(h, 1), g.arange(1, w):remainder(31):to(dtype)
        local sum, less, both = (a:t() + b):tolist(), (b:lt(a:t())):tolist(),
            (a:t() + col + row):tolist()
        local own, three = b:clone():add_(a:t()):tolist(), g.where(a:t():gt(b), a:t(), row):tolist()
        local twice = (g.stack{a, a + 1}:transpose(2, 3) + g.stack{b, b}):tolist()
        local function at(v) return dtype == "u8" and v % 256 or v end
        for i = 1, h do
            for j = 1, w do
                local x, y = ((j - 1) * h + i) % 97, ((i - 1) * w + j) % 61
                good = good and sum[i][j] == x + y and own[i][j] == x + y and less[i][j] == (y < x)
                    and
                    both[i][j] == at(x + i + j % 31) and three[i][j] == (x > y and x or j % 31) and
                    twice[1][i][j] == x + y and twice[2][i][j] == x + 1 + y
            end
        end
        t.ok(good, ("%s: %d x %d with a transposed operand"):format(dtype, h, w))
        local one = g.tensor(3):to(dtype)
        local all, down, across = one:expand(h, w), row:expand(h, w), col:expand(h, w)
        good = all:sum(1):eq(3 * h):all():item() and all:sum(2):eq(3 * w):all():item() and
            all:contiguous():eq(3):all():item()
                and down:sum(1):equal(row:to "f64":mul(h):to(down:sum(1).dtype)) and
            across:sum(1):eq(h * (h + 1) // 2):all():item()
                and across:sum(2):equal(col:view(h):to(across:sum(2).dtype) * w)
        local part = one:expand(2, h, 2, w):sum({1, 3})
        good = good and part:eq(12):all():item()
            and g.pad(all, {1, 1}):sum(2):eq(3 * w):all():item()
        t.ok(good, ("%s: %d x %d expanded, summed and copied"):format(dtype, h, w))
    end
end

-- ---- copies ---- of short rows: transposed, concatenated, cut
for _, dtype in ipairs {"f64", "f32", "i16", "u8"} do
    for _, k in ipairs {1, 2, 3, 7, 8, 20} do
        local n, list, good = 41, {}, true
        for i = 1, n * k do list[i] = i * 31 % 127 end
        local x = g.tensor(list):to(dtype):view(n, k)
        local back, both, up = x:flip(2):tolist(), g.cat({x, x:flip(1)}, 2):tolist(),
            x:flip({1, 2}):tolist()
        local cut = g.cat({x, x}, 2):narrow(2, k, k):contiguous():tolist()
        for r = 1, n do
            for j = 1, k do
                local v = list[(r - 1) * k + j]
                good = good and back[r][k + 1 - j] == v and both[r][j] == v
                    and both[n + 1 - r][k + j] == v and
                    up[n + 1 - r][k + 1 - j] == v and cut[r][j % k + 1] == v
            end
        end
        t.ok(good, ("%s: rows of %d are copied"):format(dtype, k))
    end
end
for _, dtype in ipairs {"f64", "f32", "i16", "u8"} do
    for planes = 2, 9 do
        local h, w = 37, 61
        local function at(shape, step)
            return (g.arange(0, shape[1] * shape[2] * shape[3] * shape[4] - 1) * step):view(shape)
        end
        local whole = at({2, planes, h, w}, 1):remainder(251)
        local picture = whole:to(dtype):permute(1, 3, 4, 2):contiguous()
        local good = true
        for c = 1, planes do
            good = good
                and picture:select(4, c):to("i64"):equal(
                    (g.arange(0, h * w - 1):view(1, h, w) + (c - 1) * h * w +
                        g.arange(0, 1):view(2, 1, 1) * planes * h * w):remainder(251))
        end
        t.ok(good, ("%s: %d planes become pixels"):format(dtype, planes))
        t.ok(picture:permute(1, 4, 2, 3):contiguous():to("i64"):equal(whole),
            ("%s: and %d planes again"):format(dtype, planes))
    end
end
t.is(g.arange(1, 9):unfold(1, 3, 2):contiguous(), {{1, 2, 3}, {3, 4, 5}, {5, 6, 7}, {7, 8, 9}},
    "overlapping windows")

-- ---- wide windows ----
local sums = {}
for r = 1, 3 do
    sums[r] = 0
    for i = 1, 77 * 41 do sums[r] = sums[r] + (i * r) % 10 end
    sums[r] = sums[r] / (77 * 41)
end
local plane = g.arange(1, 77 * 41):view(1, 77, 41)
local planes = g.cat({plane, plane * 2, plane * 3}, 1):remainder(10):to("f64"):view(1, 3, 77, 41)
close(g.adaptive_avg_pool2d(planes, 1):view(3), sums, 1e-12, "the mean of each plane")
-- ---- norms: gradients in one op equal those composed of ops (create_graph), for all sizes ----
local function agree(name, f, inputs, tolerance)
    local up = f(table.unpack(inputs)):detach():mul(0.37):add(0.25):sin()
    for _, x in ipairs(inputs) do x:requires_grad_() end
    local function back(opts) return g.grad(f(table.unpack(inputs)), inputs, up, opts) end
    local good, quick, slow = true, {back{}}, {back{create_graph = true}}
    for i = 1, #inputs do
        local q, s = quick[i], slow[i]
        local off = (q - s:detach()):abs():max():item() / (1e-3 + s:abs():max():item())
        good = good and off <= tolerance
    end
    t.ok(good, name)
end
for _, dtype in ipairs {"f64", "f32"} do
    local tolerance = dtype == "f64" and 1e-9 or 2e-4
    local function some(...)
        local s = {...} s[#s + 1] = {dtype = dtype} return g.randn(table.unpack(s)) + 0.5
    end
    for _, s in ipairs {{3, 5}, {700, 130}, {4, 1500}} do
        local r, k = s[1], s[2]
        agree(("%s: layer_norm of %d x %d"):format(dtype, r, k),
            function(x, w, b) return g.layer_norm(x, {k}, w, b) end, {some(r, k), some(k), some(k)},
                tolerance)
        agree(("%s: batch_norm of %d x %d"):format(dtype, r, k),
            function(x, w, b) return g.batch_norm(x, nil, nil, w, b, true) end,
                {some(r, k), some(k), some(k)}, tolerance)
        local mean, var = some(k), some(k):abs() + 1
        agree(("%s: batch_norm of %d x %d, given statistics"):format(dtype, r, k),
            function(x, w, b) return g.batch_norm(x, mean, var, w, b) end,
                {some(r, k), some(k), some(k)}, tolerance)
        local x = some(r, k)
        local y = (x - x:mean(1)) / (x:var(1, {correction = 0}) + 1e-5):sqrt()
        t.ok((g.batch_norm(x, nil, nil, nil, nil, true) - y):abs():max():item() <= tolerance,
            ("%s: batch_norm of %d x %d, forward"):format(dtype, r, k))
    end
    for _, size in ipairs {{2, 12, 5}, {3, 6, 40}, {2, 40}} do
        agree(("%s: group_norm of %s"):format(dtype, table.concat(size, " x ")),
            function(x, w, b) return g.group_norm(x, 2, w, b) end,
                {some(table.unpack(size)), some(size[2]), some(size[2])}, tolerance)
    end
end

-- ---- short rows of broadcast operands: a converted block is reused only where it is the same ----
for _, size in ipairs {{3, 7, 5, 9}, {2, 40, 30, 3}, {2, 3, 700, 11}, {1, 1, 3000, 5},
    {4, 5, 6, 100}}
do
    local i, j, k, l = table.unpack(size)
    for shape_b,
        index in pairs {[{1, j, 1, l}] = "jl", [{i, 1, 1, l}] = "il", [{1, 1, k, 1}] = "k",
            [{1, j, 1, 1}] = "j"}
    do
        for dtype, other in pairs {f32 = "f32", f64 = "f64", i64 = "i64", u8 = "i64", f16 = "f32"}
        do
            local a = g.arange(0, i * k - 1):remainder(13):reshape(i, 1, k, 1):to(dtype)
            local b = g.arange(0, g.ones(shape_b):numel() - 1):remainder(17):reshape(shape_b):to(
                other)
            local list, want, good = (a:expand(i, j, k, l) * 20 + b):reshape(-1):tolist(), 0, true
            for at = 0, i * j * k * l - 1 do
                local L, K, J, I = at % l, at // l % k, at // (l * k) % j, at // (l * k * j)
                local from = ({jl = J * l + L, il = I * l + L, k = K, j = J})[index]
                want = (I * k + K) % 13 * 20 + from % 17
                good = good and list[at + 1] == want
            end
            t.ok(good, ("%s: %s with b of dims %s"):format(dtype, table.concat(size, " x "), index))
        end
    end
end

-- A column along rows, on either side, in place, and with gaps between the rows: exact in quarters.
do
    local ops = {add = function(a, b) return a + b end, sub = function(a, b) return a - b end,
        mul = function(a, b) return a * b end,
        div = function(a, b) return a / b end}
    for _, dtype in ipairs {"f32", "f64"} do
        for _, width in ipairs {15, 16, 40, 130, 1030} do
            local whole = g.arange(0, 12 * (width + 3) - 1):remainder(29):sub(14):div(4):to(
                dtype):reshape(3, 4, width + 3)
            local rows, wide = whole:narrow(3, 2, width), whole:tolist()
            local columns = {{3, 4, 1}, {4, 1}, {3, 1, 1}}
            for name, f in pairs(ops) do
                local good = true
                for k, shape in ipairs(columns) do
                    local numel = g.ones(shape):numel()
                    local c = (2 ^ g.arange(0, numel - 1):remainder(5):to(dtype)):reshape(shape)
                    local right, left = g[name](rows, c), g[name](c, rows:mul(0):add(0.5))
                    local there = g[name](rows:contiguous():clone(), c)
                    local into = rows:clone()
                    into[name .. "_"](into, c)
                    right, left, there, into = right:tolist(), left:tolist(), there:tolist(),
                        into:tolist()
                    for i = 1, 3 do
                        for j = 1, 4 do
                            local at = k == 1 and 4 * i - 4 + j or k == 2 and j or i
                            local v = 2.0 ^ ((at - 1) % 5)
                            for l = 1, width do
                                local want = f(wide[i][j][l + 1], v)
                                good = good and right[i][j][l] == want and there[i][j][l] == want
                                    and into[i][j][l] == want and left[i][j][l] == f(v, 0.5)
                            end
                        end
                    end
                end
                t.ok(good, ("%s of %s: rows of %d and columns"):format(name, dtype, width))
            end
        end
    end
end

-- Equal elements give equal results at any index: also after the last whole vector.
for _, dt in ipairs { "f32", "f64" } do
    for _, name in ipairs { "exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "sigmoid",
        "erf", "expm1", "log1p", "atan", "lgamma" }
    do
        local apart = 0
        for v = 1, 40 do
            local y = gpush[name](gpush.full({ 30 }, v * 0.037, { dtype = dt }))
            if not y:eq(y[1]):all():item() then apart = apart + 1 end
        end
        t.is(apart, 0, name .. " of 30 equal numbers in " .. dt)
    end
end
t.done()
