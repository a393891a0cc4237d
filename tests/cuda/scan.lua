-- Scans on the stand-in for CUDA are the cpu's in each way of dividing the work: a warp for a short
-- line, a block for a long one, parts of it, a thread for each of adjacent lines, and parts of
-- those.
local t = require "tap"

-- Shape, dim, and the way.
local ways = {
    { { 100, 40 }, 2, "a warp, an element each" }, { { 65, 3, 130 }, 3, "a warp, four each" },
    { { 64, 1024 }, 2, "a warp, several times" }, { { 64, 1025 }, 2, "a block" },
    { { 3, 5000 }, 2, "a block, several times" }, { { 1, 40000 }, 2, "parts of a line" },
    { { 50, 40 }, 1, "adjacent lines" }, { { 2, 1100, 33 }, 2, "parts of adjacent lines" },
    { { 700, 100 }, 1, "the same, more lines than a warp" }, { { 9000, 32 }, 1, "many parts" },
    { { 7, 300000 }, 1, "many adjacent lines" }, { { 9, 52 }, 2, "four lines of a warp" },
    { { 2, 200 }, 2, "four vectors" }, { { 150, 4100 }, 1, "strips of adjacent lines" },
    { { 2, 3000 }, 2, "small tiles" }, { { 1, 144000 }, 2, "tiles, 32 of which have a sum" },
}
local function flat(x) return x:to "cpu":to "f64":reshape(-1) end
-- The largest difference of a from b; both NaN, or the same infinity, is none.
local function far(a, b)
    a, b = flat(a), flat(b)
    local same = (a:ne(a) & b:ne(b)) | a:eq(b)
    return where(same, zeros_like(a), ((a - b) / (b:abs() + 1)):abs()):amax():item()
end

manual_seed(6)
for _, way in ipairs(ways) do
    local shape, dim, what = table.unpack(way)
    local x = randn(shape, { dtype = "f64" })
    local holes = x:clone()
    holes:reshape(-1)["1:-1:97"] = 0 / 0
    local there, there_holes = x:to "cuda", holes:to "cuda"
    t.ok(far(there:cumsum(dim), x:cumsum(dim)) < 1e-12, "cumsum: " .. what)
    t.ok(far(there:to "f32":cumsum(dim), x:to "f32":cumsum(dim)) < 1e-6, "cumsum f32: " .. what)
    t.ok(far(there:cumprod(dim), x:cumprod(dim)) < 1e-10, "cumprod: " .. what)
    t.ok(far(there:to "f32":cumprod(dim), x:to "f32":cumprod(dim)) < 1e-6, "cumprod f32: " .. what)
    local whole = (x * 4):to "i64"
    t.is(far(whole:to "cuda":cumprod(dim), whole:cumprod(dim)), 0, "cumprod of i64: " .. what)
    t.ok(far(there:logcumsumexp(dim), x:logcumsumexp(dim)) < 1e-12, "logcumsumexp: " .. what)
    t.ok(far(there_holes:cumsum(dim), holes:cumsum(dim)) < 1e-12, "cumsum with NaN: " .. what)
    local i = (x * 4):to "i32"
    t.is(far(i:to "cuda":cumsum(dim), i:cumsum(dim)), 0, "cumsum of integers: " .. what)
    t.is(far(i:to "cuda":cumprod(dim), i:cumprod(dim)), 0, "cumprod of integers: " .. what)
    for _, op in ipairs { "cummax", "cummin" } do
        local a, b = i:to "cuda"[op](i:to "cuda", dim)
        local c, d = i[op](i, dim)
        t.ok(far(a, c) == 0 and far(b, d) == 0, op .. " of equal elements: " .. what)
        a, b = there_holes[op](there_holes, dim)
        c, d = holes[op](holes, dim)
        t.ok(far(a, c) == 0 and far(b, d) == 0, op .. " with NaN: " .. what)
    end
    local y = there:clone()
    y:cumsum_(dim)
    t.ok(far(y, x:cumsum(dim)) < 1e-12, "cumsum_ in place: " .. what)
end

-- More than 1024 tiles, and the last one not whole.
for _, dtype in ipairs { "i64", "f16" } do
    local x = randint(-9, 9, { dtype == "i64" and 2200003 or 70003 }):to(dtype)
    t.is(far(x:to "cuda":cumsum(1), x:cumsum(1)), 0, "cumsum of a long line of " .. dtype)
end

-- Products of powers of two are exact: those of a part may leave f64's range, those of a line from
-- its start do not. A sum of exponents is the reference.
local function powers(dtype, exponent, shape, dim)
    local n, view = shape[dim], { 1, 1 }
    local phase = arange(1, n):div(900 // exponent, { rounding_mode = "floor" }) % 4
    view[dim] = n
    local e = where(phase:eq(0) | phase:eq(3), -exponent, exponent):to "f64":reshape(view)
    e = e:expand(shape)
    return e:exp2():to(dtype):contiguous(), e:cumsum(dim):exp2():to(dtype)
end
for _, c in ipairs { { "f64", 1, { 2, 9000 }, 2 }, { "f64", 1, { 2, 3900 }, 2 },
    { "f64", 60, { 120, 4100 }, 1 }, { "f32", 60, { 120, 4100 }, 1 }, { "f32", 1, { 1, 9000 }, 2 },
    { "bf16", 2, { 1, 9000 }, 2 }, { "f16", 6, { 5, 1200 }, 2 }, { "f32", 20, { 40, 400 }, 2 },
    { "f64", 60, { 300, 70 }, 2 } } do
    local x, want = powers(table.unpack(c))
    t.is(far(x:to "cuda":cumprod(c[4]), want), 0,
        ("products of powers of two, %s %dx%d"):format(c[1], table.unpack(c[3])))
end

-- The largest and the smallest numbers of each type, four in a row.
for _, c in ipairs { { "f64", 2 ^ 1023, 2 ^ -1074 }, { "f32", 2 ^ 127, 2 ^ -149 },
    { "bf16", 2 ^ 127, 2 ^ -133 }, { "f16", 2 ^ 15, 2 ^ -24 } } do
    local large, small = c[2], c[3]
    local row = tensor({ small, large, large, small, -large, small, 1, 1, small, -0.0, large, 1 },
        { dtype = c[1] })
    local line = cat { row, row:flip(1), row["1:8"], row * (1 / 0) }
    t.is(far(line:to "cuda":cumprod(1), line:cumprod(1)), 0, "ends of " .. c[1])
    local long = cat { ones(5000, { dtype = c[1] }), line, ones(5000, { dtype = c[1] }) }
    t.is(far(long:to "cuda":cumprod(1), long:cumprod(1)), 0, "ends of " .. c[1] .. " in tiles")
end

-- Products of adjacent elements of one type are read once, as sums are: by as many kernels.
local function kernels(op)
    local line, n = randn(144000):to "cuda", 0
    local prof = profile.run(function() line[op](line, 1):to "cpu" end)
    for _, e in ipairs(prof:events()) do n = n + (e.kind == "kernel" and 1 or 0) end
    return n
end
t.is(kernels "cumprod", kernels "cumsum", "cumprod of a line is as many kernels as cumsum")
t.done()
