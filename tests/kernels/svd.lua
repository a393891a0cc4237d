-- linalg.svd: residual, orthogonality and order for all shapes; values against Jacobi rotations
-- written here; bad input raises.
local t = require "tap"
local g = require "gpush"
local on_card = require "on_card"

-- Singular values of a (rows of numbers): one-sided Jacobi rotations make the columns orthogonal;
-- their norms are the values.
local function jacobi(a, rows, cols)
    local c = {}
    for j = 1, cols do
        c[j] = {}
        for i = 1, rows do c[j][i] = a[i][j] end
    end
    local function dot(x, y)
        local s = 0
        for i = 1, rows do s = s + x[i] * y[i] end
        return s
    end
    for _ = 1, 30 do
        for p = 1, cols - 1 do
            for q = p + 1, cols do
                local x, y = c[p], c[q]
                local xy = dot(x, y)
                if math.abs(xy) > 1e-300 then
                    local z = (dot(y, y) - dot(x, x)) / (2 * xy)
                    local tan = (z >= 0 and 1 or -1) / (math.abs(z) + math.sqrt(1 + z * z))
                    local cos = 1 / math.sqrt(1 + tan * tan)
                    local sin = cos * tan
                    for i = 1, rows do x[i], y[i] = cos * x[i] - sin * y[i],
                        sin * x[i] + cos * y[i] end
                end
            end
        end
    end
    local s = {}
    for j = 1, cols do s[j] = math.sqrt(dot(c[j], c[j])) end
    table.sort(s, function(x, y) return x > y end)
    for j = math.min(rows, cols) + 1, cols do s[j] = nil end
    return s
end

local function far(a, b) return a:numel() == 0 and 0 or (a - b):abs():amax():item() end
local function eye(n, dtype) return g.eye(n, n, {dtype = dtype}) end

g.manual_seed(5)
local precision, unit = {f32 = 2e-6, f64 = 4e-15}, {f32 = 0x1p-23, f64 = 0x1p-52}
-- cuSOLVER's Jacobi rotations leave vectors less orthogonal than LAPACK or our own kernel: on an
-- H200 those of 130x130 by 490 units in the last place of f32 (its gesvd: 28), 273 of f64 (27).
local function rotated(device, m, n) return math.max(m, n) > 64 and on_card(device) end
for dtype, eps in pairs(precision) do
    for _, device in ipairs {"cpu", "sim"} do
        for _, shape in ipairs {{1, 1}, {4, 4}, {7, 3}, {3, 7}, {1, 5}, {60, 20}, {20, 60}, {3, 5,
            4}, {2, 2, 4, 6}, {40, 3, 3}, {2, 33, 33}, {80, 110}, {130, 130}} do
            for _, layout in ipairs {"dense", "transposed"} do
                for _, full in ipairs {true, false} do
                    local a = g.randn(shape, {dtype = dtype, device = device})
                    if layout == "transposed" then a = a:transpose(-1,
                        -2):contiguous():transpose(-1, -2) end
                    local m, n = shape[#shape - 1], shape[#shape]
                    local k = math.min(m, n)
                    local u, s, vh = g.linalg.svd(a, full)
                    u, s, vh, a = u:to("cpu"), s:to("cpu"), vh:to("cpu"), a:to("cpu")
                    local name = string.format("%s %s %s %s %s: ", table.concat(shape, "x"), dtype,
                        layout, full and "full" or "economy", device)
                    t.ok(u.shape[#shape] == (full and m or k)
                        and vh.shape[#shape - 1] == (full and n or k) and s.shape[#shape - 1] == k,
                            name .. "shapes")
                    local uk, vk = u:narrow(-1, 1, k), vh:narrow(-2, 1, k)
                    local size = a:abs():amax():item() * math.sqrt(m * n)
                    t.ok(far((uk * s:unsqueeze(-2)):matmul(vk), a) <= eps * size * 4,
                        name .. "U S Vh is the matrix")
                    local most = rotated(device, m, n) and 8 * k * unit[dtype] or eps * 8
                    t.ok(far(u:transpose(-1, -2):matmul(u), eye(u.shape[#shape],
                        dtype)) <= most, name .. "U is orthogonal")
                    t.ok(far(vh:matmul(vh:transpose(-1, -2)), eye(vh.shape[#shape - 1],
                        dtype)) <= most, name .. "V is orthogonal")
                    local down = k == 1 or (s:narrow(-1, 1, k - 1) - s:narrow(-1, 2,
                        k - 1)):amin():item() >= 0
                    t.ok(down and s:amin():item() >= 0, name .. "values fall and are not negative")
                    t.ok(far(g.linalg.svdvals(a), s) <= eps * size,
                        name .. "svdvals gives the same")
                end
            end
        end
    end
end

for _, shape in ipairs {{5, 5}, {8, 3}, {3, 8}, {12, 11}} do
    local a = g.randn(shape, {dtype = "f64"})
    t.close(g.linalg.svdvals(a), jacobi(a:tolist(), shape[1], shape[2]), 1e-12,
        "values are those of Jacobi's method, " .. table.concat(shape, "x"))
    t.close(g.linalg.svdvals(a:to {dtype = "f32"}), jacobi(a:tolist(), shape[1], shape[2]), 1e-5,
        "in f32 too")
end
t.close(g.linalg.svdvals(g.tensor({{3.0, 0.0}, {4.0, 5.0}})), {3 * math.sqrt(5), math.sqrt(5)},
    "a known matrix")
local _, s = g.linalg.svd(g.ones(4, 4))
t.close(s, {4, 0, 0, 0}, 1e-6, "rank one")

local u, s0, vh = g.linalg.svd(g.zeros(2, 0, 3))
t.is({u.shape, s0.shape, vh.shape}, {{2, 0, 0}, {2, 0}, {2, 3, 3}}, "no rows: shapes")
t.is(vh[2]:tolist(), {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, "no rows: V is the identity")
u, s0, vh = g.linalg.svd(g.zeros(0, 3, 2), false)
t.is({u.shape, s0.shape, vh.shape}, {{0, 3, 2}, {0, 2}, {0, 2, 2}}, "no matrices: shapes")

local one = g.randn({6, 9, 7})
local wide = g.linalg.svdvals(one:expand({6, 9, 7}))
t.is(g.linalg.svdvals(one[4]):tolist(), wide[4]:tolist(),
    "a matrix alone gives the same bits as in a batch")
t.is(g.linalg.svdvals(one[1]:unsqueeze(1):expand({3, 9, 7}))[3]:tolist(), wide[1]:tolist(),
    "an expanded batch")

for _, bad in ipairs {0 / 0, math.huge, -math.huge} do
    local a = g.ones(3, 4, 4)
    a[2][3][1]:fill_(bad)
    t.error(function() g.linalg.svd(a) end, "linalg.svd: the input contains NaN or inf",
        "an element is " .. bad)
    t.error(function() g.linalg.svdvals(a) end, "linalg.svdvals: the input contains NaN or inf",
        "for svdvals as well")
    local _, sv = g.linalg.svd(a:to("sim"))
    t.error(function() return sv:tolist() end, "linalg.svd: the input contains NaN or inf",
        "on sim the next wait says so")
end
for _, scale in ipairs {1e-30, 1e-8, 1e8, 1e30} do
    local a = g.randn({40, 44}) * scale
    local u, s, vh = g.linalg.svd(a, false)
    t.ok(far((u * s):matmul(vh), a) <= 1e-5 * scale * 44, "elements about " .. scale)
end
local hilbert = {}
for i = 1, 30 do
    hilbert[i] = {}
    for j = 1, 30 do hilbert[i][j] = 1 / (i + j - 1) end
end
t.close(g.linalg.svdvals(g.tensor(hilbert, {dtype = "f64"})), jacobi(hilbert, 30, 30), 1e-14,
    "values over 17 orders of magnitude")
-- Columns so far apart that squares of them, or of their ratio, leave the dtype's range.
for dtype, sizes in pairs {f32 = {1, 1e-10, 1e-21, 1e-30}, f64 = {1, 1e-60, 1e-158, 1e-250}} do
    for _, device in ipairs {"cpu", "sim"} do
        local a = g.randn({3, 6, 4}, {dtype = dtype}) * g.tensor(sizes, {dtype = dtype})
        local u, s, vh = g.linalg.svd(a:to(device), false)
        u, s, vh = u:to("cpu"), s:to("cpu"), vh:to("cpu")
        t.ok(far((u * s:unsqueeze(-2)):matmul(vh), a) <= precision[dtype] * 8,
            "graded columns, " .. dtype .. " on " .. device)
        t.ok(far(u:transpose(-1, -2):matmul(u), eye(4, dtype):expand({3, 4, 4})) <= precision[dtype]
            * 8, "and U is orthogonal")
    end
end
local banded = g.eye(50, 50) * 2 + g.eye(50, 50):flip(1)
local ub, sb, vb = g.linalg.svd(banded)
t.ok(far((ub * sb):matmul(vb), banded) < 1e-5, "equal values: most of the matrix is zero already")
t.is(g.linalg.svdvals(g.zeros(3, 40, 40)):abs():amax():item(), 0, "zero matrices")
t.close(g.linalg.svdvals(g.full({2, 2}, 1e30)) / 1e30, {2, 0}, 1e-6, "large elements")
for _, dtype in ipairs {"f16", "bf16", "i64", "bool"} do
    t.error(function() g.linalg.svd(g.ones(2, 2, {dtype = dtype})) end, "svd: dtype " .. dtype,
        dtype)
end
t.error(function() g.linalg.svd(g.ones(3)) end, "svd: argument 'x' is f32 3", "a vector")
t.error(function() g.linalg.svd(g.ones({})) end, "svd: argument 'x'", "0-d")

t.done()
