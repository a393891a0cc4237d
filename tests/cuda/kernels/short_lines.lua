-- Lines that one block sorts (kernels/cuda/sort/short_lines.cu) on the stand-in for CUDA: both
-- sides of each group's size, beside the CPU's kernels, which sort otherwise.
local t = require "tap"

manual_seed(5)
-- NaNs, infinities, both zeros and many equal elements
local function numbers(shape, dtype)
    local x = randint(-20, 20, shape)
    if dtype:find "^u" or dtype == "bool" then x = x:abs() end
    if dtype == "bool" then return x:gt(9) end
    x = x:to(dtype)
    if dtype:find "f" then
        x = x / 4
        x = x:masked_fill(x:eq(4), 0 / 0):masked_fill(x:eq(-4), -math.huge)
        x = x:masked_fill(x:eq(3), math.huge):masked_fill(x:eq(2), -0.0)
    end
    return x
end

local function same(what, got, want)
    local function alike(a, b) return (a:eq(b) | (a:ne(a) & b:ne(b))):all():item() end
    got = got:cpu()
    local zeros_too = not got.dtype:find "f" or alike(1 / got, 1 / want)
    t.ok(got.dtype == want.dtype and alike(got, want) and zeros_too, what)
end

local function check(what, x, y, d)
    for _, descending in ipairs { false, true } do
        local v, i = x:sort(d, descending)
        local w, j = y:sort(d, descending)
        local how = what .. (descending and ", descending" or "")
        same(how .. ": values", v, w)
        same(how .. ": indices", i, j)
    end
    if x.dtype == "bool" then return end
    for _, op in ipairs { "median", "nanmedian", "mode" } do
        local v, i = x[op](x, d)
        local w, j = y[op](y, d)
        same(("%s: %s"):format(what, op), v, w)
        same(("%s: index of %s"):format(what, op), i, j)
    end
end

for _, dtype in ipairs { "f32", "bf16", "u8", "bool" } do
    for _, n in ipairs { 1, 2, 8, 9, 33, 256, 257, 513, 1024, 1025, 2048, 2049 } do
        local y = numbers({ n < 100 and 300 or 3, n }, dtype)
        check(("%s, lines of %d"):format(dtype, n), y:to "cuda", y, 2)
    end
end
for _, dtype in ipairs { "f16", "i32", "i16", "i8", "i64", "f64" } do
    local y = numbers({ 5, 77 }, dtype)
    check(dtype, y:to "cuda", y, 2)
end

-- other strides, offsets and no elements
local y = numbers({ 4, 70, 9 }, "f32")
local x = y:to "cuda"
check("the middle dim", x, y, 2)
check("every second of a part", x["2:3, 3::2"], y["2:3, 3::2"], 2)
check("a transposed part", x["2:4, 5:64"]:transpose(1, 3), y["2:4, 5:64"]:transpose(1, 3), 3)
check("flipped", x:flip(2), y:flip(2), 2)
local none = zeros({ 3, 0 }, { device = "cuda" }):sort(2)
t.is(none.shape, { 3, 0 }, "lines without elements")
-- lines whose elements are not adjacent, longer than a block's, too
for _, n in ipairs { 70, 2049 } do
    for _, dtype in ipairs { "f32", "bf16", "i64" } do
        y = numbers({ n, 3 }, dtype)
        check(("%d rows of %s"):format(n, dtype), y:to "cuda", y, 1)
        check(("rows 6 to %d of a part of %s"):format(n, dtype), y:to "cuda"["6:, 2:3"],
            y["6:, 2:3"], 1)
    end
end
x = y:to "cuda"
t.is(x:argsort(1):tolist(), y:argsort(1):tolist(), "argsort of rows")
t.is(x:msort():tolist(), y:msort():tolist(), "msort of rows")

-- equal elements keep their order
local _, places = ones({ 3, 1500 }, { device = "cuda" }):sort(2, true)
t.ok(places:eq(arange(1, 1500, { device = "cuda" })):all():item(),
    "equal elements keep their order")

t.done()
