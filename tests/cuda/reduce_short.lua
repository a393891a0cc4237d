-- Rows and columns that are no whole vectors (kernels/cuda/reduce/short.cuh) on the stand-in for
-- CUDA, beside the CPU's kernels: small integers, whose sums are exact in any order.
local t = require "tap"

local function values(dtype, n) return ((arange(0, n - 1) * 7919) % 13 - 6):to(dtype) end

local function near(what, got, want)
    got, want = got:cpu():to "f64", want:to "f64"
    t.ok((got - want):abs():le(want:abs() * 0.01):all():item(), what)
end

local function check(what, x, y, d)
    t.is(x:sum(d):cpu(), y:sum(d), what .. ": sum")
    t.is(x:amin(d):cpu(), y:amin(d), what .. ": amin")
    t.is(x:argmax(d):cpu(), y:argmax(d), what .. ": argmax")
    local v, i = x:max(d)
    local w, j = y:max(d)
    t.is(v:cpu(), w, what .. ": max")
    t.is(i:cpu(), j, what .. ": index of max")
    near(what .. ": var", x:var(d), y:var(d))
    near(what .. ": norm", x:norm(2, d), y:norm(2, d))
end

-- x's elements from `offset` on, on both devices
local function both(dtype, shape, offset)
    local n = 1
    for _, k in ipairs(shape) do n = n * k end
    local y = values(dtype, offset + n)
    local x = y:to "cuda"
    return x:narrow(1, offset + 1, n):view(shape), y:narrow(1, offset + 1, n):view(shape)
end

for _, dtype in ipairs { "f32", "bf16" } do
    -- Groups of one thread, of a warp and of more; one element too many; rows of whole vectors.
    for _, k in ipairs { 2, 5, 16, 99, 129, 1023, 1025 } do
        for _, rows in ipairs { 9, 2053 } do
            if rows * k < 30000 then
                local x, y = both(dtype, { rows, k }, 0)
                check(("%s: %d rows of %d"):format(dtype, rows, k), x, y, 2)
            end
        end
    end
    local x, y = both(dtype, { 40, 9 }, 1)
    check(dtype .. ": rows that begin at no vector", x, y, 2)
    check(dtype .. ": rows apart", x:narrow(2, 1, 7), y:narrow(2, 1, 7), 2)
    x, y = both(dtype, { 3, 50, 7 }, 0)
    check(dtype .. ": short rows of three dims", x, y, 3)
    t.is(x:narrow(1, 1, 0):sum(3).shape, { 0, 50 }, dtype .. ": no rows")
    -- Columns with too few rows to fold, with just enough, and with some left over; one too many.
    for _, k in ipairs { 2, 3, 8, 10, 31, 33 } do
        for _, rows in ipairs { 500, 4096, k == 10 and 6007 or 4099 } do
            x, y = both(dtype, { rows, k }, 0)
            check(("%s: %d columns of %d"):format(dtype, k, rows), x, y, 1)
        end
    end
    x, y = both(dtype, { 8200, 3 }, 1)
    check(dtype .. ": columns that begin at no vector", x, y, 1)
    x, y = both(dtype, { 4, 3000, 6 }, 0)
    check(dtype .. ": columns of three dims", x, y, 2)
    check(dtype .. ": columns apart", x:narrow(3, 1, 5), y:narrow(3, 1, 5), 2)
    x, y = both(dtype, { 3, 3001, 3 }, 0)
    check(dtype .. ": columns of which two begin at no vector", x, y, 2)
end

for _, dtype in ipairs { "f16", "f64" } do
    local x, y = both(dtype, { 61, 99 }, 0)
    check(dtype .. ": rows of 99", x, y, 2)
    x, y = both(dtype, { 1501, 11 }, 0)
    check(dtype .. ": 11 columns", x, y, 1)
end

-- The index of a NaN in a folded row, and in what is left over.
for _, at in ipairs { 1, 3000, 6007 } do
    local y = values("bf16", 60070):view { 6007, 10 }
    y[{ at, 3 }] = 0 / 0
    local x = y:to "cuda"
    t.is(x:argmax(1):cpu(), y:argmax(1), "a NaN in row " .. at)
end

-- aminmax and nansum of all, by vectors and not, with NaNs that one takes and the other leaves.
for _, dtype in ipairs { "f32", "bf16", "f64", "i32" } do
    for _, n in ipairs { 1, 4096, 6007 } do
        local y = values(dtype, n)
        local x = y:to "cuda"
        local lo, hi = x:aminmax()
        local low, high = y:aminmax()
        t.is({ lo:item(), hi:item() }, { low:item(), high:item() }, dtype .. ": aminmax of " .. n)
        t.is(x:nansum():item(), y:nansum():item(), dtype .. ": nansum of " .. n)
        if dtype ~= "i32" and n > 1 then
            y[n - 5] = 0 / 0
            x = y:to "cuda"
            lo, hi = x:aminmax()
            t.ok(lo:isnan():item() and hi:isnan():item(), dtype .. ": aminmax with a NaN of " .. n)
            t.is(x:nansum():item(), y:nansum():item(), dtype .. ": nansum with a NaN of " .. n)
        end
    end
end

-- The same rows give the same bits, wherever they lie.
local one = randn { 1, 99 }
local sums = one:expand { 500, 99 }:to "cuda":contiguous():sum(2)
t.ok(sums:eq(sums[1]):all():item(), "each of equal rows has the same sum")

t.done()
