-- Matrix products, convolution, normalisation and softmax against plain loops, in every dtype and
-- layout, on cpu and sim.
local t = require "tap"
local g = require "gpush"

local devices = {"cpu", "sim"}
local tolerance = {f64 = 1e-12, f32 = 1e-5, f16 = 2e-3, bf16 = 1.6e-2, i64 = 0, i32 = 0, i16 = 0,
    i8 = 0, u8 = 0}
local floats = {"f64", "f32", "f16", "bf16"}

-- A table of n numbers that every dtype holds, the same each run.
local plain = require "plain"
local numbers, product = plain.numbers(1), plain.product

-- The same elements in a layout: dense, with dims stored in reverse order, or every second element
-- of a wider one.
local function lay(values, shape, dtype, device, layout)
    local x = g.tensor(values, {dtype = dtype}):view(shape)
    if layout == "transposed" then
        local back = {}
        for i = 1, #shape do back[i] = #shape + 1 - i end
        x = x:permute(back):contiguous():permute(back)
    elseif layout == "strided" then
        local wide = {table.unpack(shape)}
        wide[#wide] = wide[#wide] * 2
        local y = g.zeros(wide, {dtype = dtype})
        local part = y:slice(#shape, 1, -1, 2)
        part:copy_(x)
        return y:to(device):slice(#shape, 1, -1, 2)
    end
    return x:to(device)
end

local function flat(x) return x:to("cpu"):reshape(-1):tolist() end

local function close(got, want, dtype, name)
    local tol = tolerance[dtype]
    if tol == 0 then return t.is(flat(got), want, name) end
    return t.close(flat(got), want, tol, name)
end

-- ---- matmul ----

local function matmul(a, b, batch, m, n, k, a_batched, b_batched)
    local c = {}
    for p = 0, batch - 1 do
        local ao, bo = a_batched and p * m * k or 0, b_batched and p * k * n or 0
        for i = 0, m - 1 do
            for j = 0, n - 1 do
                local s = 0
                for l = 0, k - 1 do s = s + a[ao + i * k + l + 1] * b[bo + l * n + j + 1] end
                c[#c + 1] = s
            end
        end
    end
    return c
end

for _, device in ipairs(devices) do
    for dtype in pairs(tolerance) do
        for _, layout in ipairs {"dense", "transposed", "strided"} do
            for _, size in ipairs {{3, 4, 5}, {17, 19, 33}} do
                local m, n, k = table.unpack(size)
                local a, b = numbers(m * k, dtype == "u8" and 0 or -1, 1), numbers(k * n, 0, 2)
                local x, y = lay(a, {m, k}, dtype, device, layout), lay(b, {k, n}, dtype, device,
                    layout)
                close(x:matmul(y), matmul(a, b, 1, m, n, k), dtype,
                    string.format("matmul %dx%dx%d %s %s %s", m, k, n, dtype, layout, device))
            end
        end
    end
end

local shapes = { -- a, b, result; batch, m, n, k of the loop above, and which side is batched
    {{4}, {4}, {}, 1, 1, 1, 4}, {{3, 4}, {4}, {3}, 1, 3, 1, 4}, {{4}, {4, 5}, {5}, 1, 1, 5, 4},
    {{2, 3, 4}, {4, 5}, {2, 3, 5}, 2, 3, 5, 4, true}, {{3, 4}, {2, 4, 5}, {2, 3, 5}, 2, 3, 5, 4,
        false, true},
    {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}, 2, 3, 5, 4, true, true}, {{2, 1, 4}, {2, 4, 1}, {2, 1, 1}, 2,
        1, 1, 4, true, true},
    {{1, 3, 4}, {6, 4, 5}, {6, 3, 5}, 6, 3, 5, 4, false, true}, {{4}, {2, 4, 5}, {2, 5}, 2, 1, 5,
        4, false, true},
    {{2, 3, 4}, {4}, {2, 3}, 2, 3, 1, 4, true}, {{3, 0}, {0, 2}, {3, 2}, 1, 3, 2, 0}, {{0, 3}, {3,
        2}, {0, 2}, 1, 0, 2, 3},
    {{150, 40}, {40, 70}, {150, 70}, 1, 150, 70, 40}, {{200, 300}, {300}, {200}, 1, 200, 1, 300},
    {{300}, {300, 90}, {90}, 1, 1, 90, 300},
    {{5, 30, 40}, {40, 20}, {5, 30, 20}, 5, 30, 20, 40, true}, {{7, 1, 40}, {40, 90}, {7, 1, 90},
        7, 1, 90, 40, true},
}
for _, s in ipairs(shapes) do
    local a, b = numbers(product(s[1]), -4, 4), numbers(product(s[2]), -4, 4)
    for _, layout in ipairs {"dense", "transposed", "strided"} do
        local want = matmul(a, b, table.unpack(s, 4, 9))
        for _, dtype in ipairs {"f32", "f64"} do
            local c = lay(a, s[1], dtype, "cpu", layout):matmul(lay(b, s[2], dtype, "cpu", layout))
            local name = string.format("%s x %s %s %s", table.concat(s[1], ","), table.concat(s[2],
                ","), dtype, layout)
            t.is(c.shape, s[3], "shape of " .. name)
            t.is(flat(c), want, name)
        end
    end
end

local x = g.tensor({1, 2, 3, 4}, {dtype = "f32"}):view(2, 2)
t.is(x:expand({3, 2, 2}):matmul(x):sum():item(), 3 * (7 + 10 + 15 + 22), "an expanded batch")
t.is(x[1]:view(1, 2):expand(40, 2):matmul(g.ones(2, 40)):sum():item(), 40 * 40 * 3, "expanded rows")
local big = g.ones(40, 40):to {dtype = "i8"} * 100
t.is((big:matmul(big))[1][1]:item(), (40 * 100 * 100 + 128) % 256 - 128,
    "integers wrap in their own width")
local wide = g.full({2, 2}, 1 << 62):matmul(g.full({2, 2}, 6))
t.is(wide[1][1]:item(), (1 << 62) * 12, "64-bit integers wrap")
for _, n in ipairs {2, 40} do
    local a = g.zeros(n, n)
    local b = g.ones(n, n)
    b[1][1]:fill_(0 / 0)
    b[2][2]:fill_(math.huge)
    local c = flat(a:matmul(b))
    t.ok(c[1] ~= c[1] and c[2] ~= c[2] and (n == 2 or c[3] == 0),
        "0 * NaN and 0 * inf are NaN, nothing else is, n = " .. n)
    local v = flat(a:matmul(b:select(2, 1)))
    t.ok(v[1] ~= v[1], "also times a vector, n = " .. n)
end
for _, f in ipairs {"mm", "bmm", "mv", "dot"} do
    local shape = {mm = {{2, 3}, {3, 2}}, bmm = {{2, 2, 3}, {2, 3, 2}}, mv = {{2, 3}, {3}},
        dot = {{3}, {3}}}
    local a, b = g.ones(shape[f][1]), g.ones(shape[f][2])
    t.is(flat(g[f](a, b)), flat(a:matmul(b)), f)
    t.error(function() g[f](g.ones(1, 1, 1, 1), b) end, f .. ": .*expected",
        f .. " refuses other ranks")
end
t.error(function() x:matmul(g.ones(3, 2)) end,
    "matmul: f32 2x2 x f32 3x2 %(expected the same number of columns in a as of rows in b, not 2 \z
        and 3%)", "sizes that do not fit")
t.error(function() x:matmul(g.ones(2, 2, {dtype = "f64"})) end, "matmul: .*f32.*f64",
    "mixed dtypes")
t.error(function() g.ones(2, 2, {dtype = "bool"}):matmul(g.ones(2, 2, {dtype = "bool"})) end,
    "matmul: dtype bool", "bool")
t.error(function() g.ones({}):matmul(x) end, "matmul: .*at least one dim", "a 0-d operand")
t.error(function() g.ones(2, 2, 2):matmul(g.ones(3, 2, 2)) end, "matmul: ",
    "batches that do not fit")

-- ---- softmax ----

local function softmax(v, outer, n, inner, take_log)
    local out = {}
    for o = 0, outer - 1 do
        for i = 1, inner do
            local m, s = -math.huge, 0
            for j = 0, n - 1 do m = math.max(m, v[(o * n + j) * inner + i]) end
            for j = 0, n - 1 do s = s + math.exp(v[(o * n + j) * inner + i] - m) end
            for j = 0, n - 1 do
                local d = v[(o * n + j) * inner + i] - m
                out[(o * n + j) * inner + i] = take_log and d - math.log(s) or math.exp(d) / s
            end
        end
    end
    return out
end

for _, device in ipairs(devices) do
    for _, dtype in ipairs(floats) do
        for _, layout in ipairs {"dense", "transposed", "strided"} do
            local v = numbers(3 * 5 * 70, -6, 6)
            local y = lay(v, {3, 5, 70}, dtype, device, layout)
            for dim, s in ipairs {{1, 3, 350}, {3, 5, 70}, {15, 70, 1}} do
                local name = string.format("softmax dim %d %s %s %s", dim, dtype, layout, device)
                close(y:softmax(dim), softmax(v, s[1], s[2], s[3]), dtype, name)
                close(y:log_softmax(dim - 4), softmax(v, s[1], s[2], s[3], true), dtype,
                    "log_" .. name)
            end
        end
    end
end
t.close(g.tensor({1000.0, 1000.0}):softmax(1), {0.5, 0.5}, "large numbers do not overflow")
t.close(g.tensor({-math.huge, 0.0}):softmax(1), {0, 1}, "minus infinity has no share")
t.is(g.tensor({0 / 0, 1.0}):softmax(1):tolist(), {0 / 0, 0 / 0}, "NaN spreads along its row")
t.is(g.full({}, 3.0):softmax(1):item(), 1.0, "0-d")
t.is(g.zeros(3, 0):softmax(2).shape, {3, 0}, "empty")
t.is(g.tensor({1, 1}):softmax(1, "f64").dtype, "f64", "dtype")
t.close(g.zeros(200000):softmax(1):sum():item(), 1, 1e-5, "a long row")

-- Long columns, n of them a tenth of the first row's exponential: narrow and wide, with and without
-- gaps, with one thread and two.
local had = g.threads()
for _, k in ipairs {{100003, 3}, {20003, 20}, {5001, 70}} do
    local n, w = k[1], k[2]
    local want = 1 / (1 + (n - 1) * math.exp(g.tensor(math.log(0.1)):item()))
    local v = g.full({n, w}, math.log(0.1))
    v[1]:fill_(0)
    local gaps = g.zeros(n, 2 * w):slice(2, 1, -1, 2)
    gaps:copy_(v)
    for kind, x in pairs {rows = v, columns = v:t():contiguous():t(), gaps = gaps} do
        local one
        for threads = 1, 2 do
            g.threads(threads)
            local y, z = x:softmax(1), x:log_softmax(1)
            local name = string.format("%d rows of %d, %s, %d threads", n, w, kind, threads)
            local off = ((y[1]:to "f64" / want - 1):abs():max():item())
            t.ok(off < 1e-6, name .. ": off by " .. off)
            off = (z[n]:to "f64" - math.log(want) - math.log(0.1)):abs():max():item()
            t.ok(off < 3e-6, name .. ": logarithms off by " .. off)
            one = one or {y, z}
            t.ok(y:equal(one[1]) and z:equal(one[2]), name .. ": the same bits")
        end
    end
end
-- The same columns within outer rows, some threads of which get none.
for _, w in ipairs {3, 20, 70} do
    local x = g.randn(3, 5003, w)
    for _, threads in ipairs {1, 2, 7} do
        g.threads(threads)
        local y, z = x:softmax(2), x:log_softmax(2)
        for i = 1, 3 do
            t.ok(y[i]:equal(x[i]:softmax(1)) and z[i]:equal(x[i]:log_softmax(1)),
                ("columns of %d in outer row %d, %d threads"):format(w, i, threads))
        end
    end
end
g.threads(had)

-- Gradients, from the definition: of rows, of narrow columns without gaps and of wide ones.
local function softmax_grad(v, u, outer, n, inner, take_log)
    local y, out = softmax(v, outer, n, inner), {}
    for o = 0, outer - 1 do
        for i = 1, inner do
            local s = 0
            for j = 0, n - 1 do
                local k = (o * n + j) * inner + i
                s = s + (take_log and u[k] or u[k] * y[k])
            end
            for j = 0, n - 1 do
                local k = (o * n + j) * inner + i
                out[k] = take_log and u[k] - y[k] * s or y[k] * (u[k] - s)
            end
        end
    end
    return out
end
for _, dtype in ipairs {"f32", "f64"} do
    for _, s in ipairs {{5, 33, 1}, {2, 37, 3}, {1, 15, 2}, {3, 16, 15}, {2, 5, 16}, {2, 6, 300}} do
        local numel = s[1] * s[2] * s[3]
        local v, u = numbers(numel, -4, 4), numbers(numel, -2, 2)
        for _, op in ipairs {"softmax", "log_softmax"} do
            local one
            for _, threads in ipairs {1, 2} do
                g.threads(threads)
                local x = g.tensor(v, {dtype = dtype}):view(s):requires_grad_()
                x[op](x, 2):backward(g.tensor(u, {dtype = dtype}):view(s))
                local name = ("gradient of %s, %d x %d x %d in %s, %d threads"):format(op, s[1],
                    s[2], s[3], dtype, threads)
                close(x.grad, softmax_grad(v, u, s[1], s[2], s[3], op == "log_softmax"), dtype,
                    name)
                if one == nil then one = x.grad end
                t.ok(x.grad:equal(one), name .. ": the same bits")
            end
        end
    end
end
g.threads(had)

local single = g.tensor({{3.0}, {-1e30}, {math.huge}, {0 / 0}})
t.is(single:softmax(2):reshape(-1):tolist(), {1, 1, 0 / 0, 0 / 0}, "a dim of one element")
t.is(single:t():log_softmax(1):reshape(-1):tolist(), {0, 0, 0 / 0, 0 / 0}, "and its logarithms")
t.error(function() g.tensor({1, 2}):softmax(1) end, "softmax: dtype i64", "integers")
t.error(function() g.zeros(2, 2):softmax(3) end, "softmax: dim 3", "a dim that is not there")

-- ---- batch_norm ----

local function batch_norm(v, n, c, s, weight, bias, eps)
    local out, means, vars = {}, {}, {}
    for ch = 0, c - 1 do
        local sum, sq = 0, 0
        for i = 0, n - 1 do for j = 1, s do sum = sum + v[(i * c + ch) * s + j] end end
        local mean = sum / (n * s)
        for i = 0, n - 1 do for j = 1, s do sq = sq + (v[(i * c + ch) * s + j] - mean) ^ 2 end end
        means[ch + 1], vars[ch + 1] = mean, sq / (n * s - 1)
        local scale = (weight and weight[ch + 1] or 1) / math.sqrt(sq / (n * s) + eps)
        for i = 0, n - 1 do
            for j = 1, s do
                local at = (i * c + ch) * s + j
                out[at] = (v[at] - mean) * scale + (bias and bias[ch + 1] or 0)
            end
        end
    end
    return out, means, vars
end

for _, device in ipairs(devices) do
    for _, dtype in ipairs(floats) do
        for _, layout in ipairs {"dense", "transposed", "strided"} do
            for _, shape in ipairs {{2, 3, 5, 7}, {50, 4}, {2, 2, 30}} do
                local n, c = shape[1], shape[2]
                local s = product(shape) // (n * c)
                local v, w, b = numbers(product(shape), -8, 8), numbers(c, 1, 3), numbers(c, -2, 2)
                local want, means, vars = batch_norm(v, n, c, s, w, b, 1e-5)
                local put = function(values) return g.tensor(values, {dtype = dtype}):to(device) end
                local rm, rv = put(numbers(c, 0, 0)), put(numbers(c, 1, 1))
                local y = lay(v, shape, dtype, device, layout):batch_norm(rm, rv, put(w), put(b),
                    true, 0.5)
                local name = string.format("batch_norm %s %s %s %s", table.concat(shape, "x"),
                    dtype, layout, device)
                close(y, want, dtype, name)
                for i = 1, c do means[i], vars[i] = 0.5 * means[i], 0.5 + 0.5 * vars[i] end
                close(rm, means, dtype, name .. ": running_mean")
                close(rv, vars, dtype, name .. ": running_var")
            end
        end
    end
end
local far = g.tensor({10000.0, 10001.0, 10002.0, 10003.0}):view(4, 1)
t.close(far:batch_norm(nil, nil, nil, nil, true), {{-1.3416}, {-0.4472}, {0.4472}, {1.3416}}, 1e-4,
    "a mean far from 0 costs no digits")
-- Long rows, whose squares are relative to the start of a block: far from the rest of it, and
-- constant rows.
for dtype, eps in pairs {f32 = 1e-6, f64 = 1e-12} do
    for what, number in pairs {
        ["blocks that begin far off"] = function(j)
            return j % 1024 < 128 and 1000 or j * 37 % 101 / 101
        end,
        ["steps"] = function(j) return j // 300 * 50 + j * 37 % 101 / 101 end,
        ["a narrow row far from 0"] = function(j) return 4096 + j * 37 % 101 / 1024 end,
    } do
        local v = {}
        for i = 1, 4 * 3001 do v[i] = number((i - 1) % 3001) end
        local rm, rv = g.zeros(2, {dtype = dtype}), g.zeros(2, {dtype = dtype})
        local x = g.tensor(v, {dtype = dtype}):view(2, 2, 3001)
        local _, means, vars = batch_norm(x:reshape(12004):tolist(), 2, 2, 3001, nil, nil, 1e-5)
        x:batch_norm(rm, rv, nil, nil, true, 1)
        local off = math.max(math.abs(rm[1]:item() / means[1] - 1),
            math.abs(rv[2]:item() / vars[2] - 1))
        t.ok(off < eps, ("batch_norm %s, %s: off by %.2g"):format(dtype, what, off))
    end
end
t.is(g.full({2, 1, 2000}, 0.1):batch_norm(
    nil, nil, nil, nil, true, 0.1, 1e-30):isfinite():all():item(), true,
    "equal elements have no variance below 0")
local rm, rv = g.full({2}, 1.0), g.full({2}, 4.0)
t.close(g.full({1, 2}, 5.0):batch_norm(rm, rv, nil, nil, false, 0.1, 0), {{2, 2}},
    "evaluation takes the running statistics")
t.is(rm:tolist(), {1, 1}, "and leaves them alone")
t.is(g.zeros(0, 2):batch_norm(rm, rv, nil, nil, true).shape, {0, 2}, "empty")
t.is(rv:tolist(), {4, 4}, "an empty batch leaves the statistics alone")
t.error(function() g.zeros(2, 2):batch_norm() end, "batch_norm: running_mean",
    "evaluation without statistics")
t.error(function() g.zeros(2, 2):batch_norm(g.zeros(3), g.zeros(3)) end,
    "batch_norm: .*running_mean.*2 elements", "statistics of another size")
t.error(function() g.zeros(1, 2):batch_norm(nil, nil, nil, nil, true) end, "more than one value",
    "one value per channel")
t.error(function() g.zeros(2):batch_norm(nil, nil, nil, nil, true) end, "batch_norm: .*2 dims",
    "no channels")

-- ---- var and std ----

-- Variances of v, shaped outer x n x inner, over n.
local function variance(v, outer, n, inner, correction)
    local out = {}
    for o = 0, outer - 1 do
        for i = 1, inner do
            local sum, sq = 0, 0
            for j = 0, n - 1 do sum = sum + v[(o * n + j) * inner + i] end
            for j = 0, n - 1 do sq = sq + (v[(o * n + j) * inner + i] - sum / n) ^ 2 end
            out[#out + 1] = sq / (n - correction)
        end
    end
    return out
end

for _, device in ipairs(devices) do
    for _, dtype in ipairs(floats) do
        for _, layout in ipairs {"dense", "transposed", "strided"} do
            local v = numbers(3 * 70 * 5, -9, 9)
            local y = lay(v, {3, 70, 5}, dtype, device, layout)
            for dims, s in pairs {[1] = {1, 3, 350}, [2] = {3, 70, 5}, [3] = {210, 5, 1}, all = {1,
                1050, 1}} do
                local name = string.format("var over %s %s %s %s", dims, dtype, layout, device)
                local want = variance(v, s[1], s[2], s[3], 1)
                close(dims == "all" and y:var() or y:var(dims), want, dtype, name)
                for i = 1, #want do want[i] = math.sqrt(want[i] * (s[2] - 1) / s[2]) end
                close(y:std({correction = 0, dims = dims ~= "all" and {dims} or nil}), want, dtype,
                    name .. ": std without correction")
            end
        end
    end
end
local far_off = g.tensor({1e8, 1e8 + 1, 1e8 + 2}, {dtype = "f64"})
t.is({far_off:var():item(), far_off:view(3, 1):var(1):item()}, {1, 1}, "a mean far from 0")
t.is(g.ones(2, 3, 4):var({1, 3}, {keepdim = true}).shape, {1, 3, 1}, "keepdim")
local lone = g.ones(1):var():item()
t.ok(lone ~= lone and (g.zeros(0):var():item() ~= 0), "one element has no variance, nor has none")
t.is(g.zeros(0, 3):var(2).shape, {0}, "empty")
t.error(function() g.tensor({1, 2}):var() end, "var: dtype i64", "integers")

t.done()
