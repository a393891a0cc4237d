-- Conversion to 16-bit floats rounds once, to the nearest, ties to even: from f64 and from
-- integers, around every number that bf16 and f16 have and halfway between them. What each must
-- become follows from how it was made.
local t = require "tap"
local g = require "gpush"

-- Bits of the mantissa, and the exponents of the least and the largest normal numbers.
local formats = { bf16 = { 7, -126, 127 }, f16 = { 10, -14, 15 } }

-- The next f64 after x > 0, away from zero (+1) or towards it (-1).
local function beside(x, way)
    local bits = string.unpack("<i8", string.pack("<d", x))
    return (string.unpack("<d", string.pack("<i8", bits + way)))
end

-- All numbers from zero on, and what would follow the largest.
local function numbers(format)
    local bits, least, largest = table.unpack(format)
    local n, list = 1 << bits, {}
    for m = 0, n - 1 do list[#list + 1] = m * 2.0 ^ (least - bits) end
    for e = least, largest do
        for m = 0, n - 1 do list[#list + 1] = (n + m) * 2.0 ^ (e - bits) end
    end
    list[#list + 1] = 2.0 ^ (largest + 1)
    return list
end

-- Lists of numbers and of what they become: each number of the format, halfway to the next, and the
-- f64 numbers beside these. take(x, want) may refuse.
local function around(list, take)
    for k = 1, #list - 1 do
        local low, high = list[k], k + 1 == #list and math.huge or list[k + 1]
        local middle = (list[k] + list[k + 1]) / 2
        take(low, low)
        if low > 0 then take(beside(low, 1), low) end
        take(beside(middle, -1), low)
        take(middle, k % 2 == 1 and low or high)
        take(beside(middle, 1), high)
        take(beside(list[k + 1], -1), high)
    end
end

local function samples(list)
    local xs, wants = {}, {}
    around(list, function(x, want)
        xs[#xs + 1], wants[#wants + 1] = x, want
        xs[#xs + 1], wants[#wants + 1] = -x, -want
    end)
    for _, x in ipairs { 0x1p-1074, 0x1.fffffffffffffp-1023, 0x1p-200 } do
        xs[#xs + 1], wants[#wants + 1] = x, 0
    end
    for _, x in ipairs { math.huge, 0x1.fffffffffffffp1023, 1e300 } do
        xs[#xs + 1], wants[#wants + 1] = x, math.huge
    end
    return xs, wants
end

-- How many elements of got are other numbers than want's, or zeros of the other sign.
local function wrong(got, want)
    got, want = got:to("f64"), want:to("f64")
    return got:ne(want):logical_or((1 / got):ne(1 / want)):sum():item()
end

for _, dev in ipairs { "cpu", "sim" } do
    for dtype, format in pairs(formats) do
        local xs, wants = samples(numbers(format))
        local function on(v) return g.tensor(v, { dtype = "f64", device = dev }) end
        local x, want, name = on(xs), on(wants), dtype .. " on " .. dev
        t.ok(x:numel() > 380000, "there are many numbers for " .. name)
        t.is(wrong(x:to(dtype), want), 0, "f64 in order to " .. name)
        local order = g.randperm(x:numel(), { device = dev })
        x, want = x[order], want[order]
        t.is(wrong(x:to(dtype), want), 0, "f64 mixed to " .. name)
        local clear = (x - want):abs():le(want:abs() * 2.0 ^ -(format[1] + 3))
        t.ok(clear:sum():item() > 180000, "many are far from halfway for " .. name)
        t.is(wrong(x[clear]:to(dtype), want[clear]), 0, "these, all in a row, to " .. name)
        local pairs_of = x["1:380000"]:view(2, -1)
        t.is(wrong(pairs_of:t():to(dtype), want["1:380000"]:view(2, -1):t()), 0,
            "f64 by columns to " .. name)
        local columns = g.zeros(190000, 2, { dtype = dtype, device = dev })
        columns:t():copy_(pairs_of)
        t.is(wrong(columns, want["1:380000"]:view(2, -1):t()), 0, "f64 into columns of " .. name)
        local bad = 0
        for n = 1, 130 do
            bad = bad + wrong(x:narrow(1, 7 * n, n):to(dtype), want:narrow(1, 7 * n, n))
        end
        t.is(bad, 0, "few of f64 to " .. name)
        local nans = g.full({ 67 }, 0 / 0, { dtype = "f64", device = dev })
        nans[5] = 1
        local y = nans:to(dtype):to "f64"
        t.is({ y:ne(y):sum():item(), y[5]:item() }, { 66, 1 }, "NaN in " .. name)
    end
end

-- A NaN of f64 whose bits are among those that 16 bits lack, and all its bits.
for dtype in pairs(formats) do
    local file = os.tmpname() .. ".npy"
    local head = "{'descr': '<f8', 'fortran_order': False, 'shape': (20,), }"
    head = head .. (" "):rep(-(#head + 11) % 64) .. "\n"
    local out <close> = assert(io.open(file, "wb"))
    out:write("\x93NUMPY\1\0", string.pack("<I2", #head), head)
    for _, bits in ipairs { 0x7ff0000000000001, 0x7fffffffffffffff, -1, 0x7ff8000000000000 } do
        out:write(string.pack("<i8", bits):rep(5))
    end
    out:close()
    local y = g.npy.load(file):to(dtype):to "f64"
    t.is(y:ne(y):sum():item(), 20, "every NaN of f64 is one of " .. dtype)
    os.remove(file)
end

-- A long row is converted in two halves, a part of each in turn: as its parts are one by one.
do
    local n, part = 600011, 9973
    local whole = g.arange(1, 2 * n, { dtype = "f64" }):remainder(251)
    for _, from in ipairs { "f64", "f32", "i64", "bf16", "u8" } do
        local pairs_of = whole:to(from):view(-1, 2)
        for _, x in ipairs { pairs_of:select(2, 2):contiguous(), pairs_of:select(2, 1) } do
            for _, to in ipairs { "bf16", "f16", "f32", "i64", "bool" } do
                local got, good = x:to(to), true
                for at = 1, n, part do
                    local some = math.min(part, n - at + 1)
                    good = good and got:narrow(1, at, some):equal(x:narrow(1, at, some):to(to))
                end
                t.ok(good, ("%d numbers of %s %d apart to %s"):format(n, from, x:stride(1), to))
            end
        end
    end
end

-- Integers: those among the numbers, the middles and beside them.
local function integers(dtype, limit)
    local list, xs, wants = numbers(formats[dtype]), {}, {}
    local function take(x, want)
        for _, sign in ipairs { 1, -1 } do
            local i = math.tointeger(sign * x)
            if i and math.abs(x) < limit then xs[#xs + 1], wants[#wants + 1] = i, sign * want end
        end
    end
    for k = 1, #list - 1 do
        local low, high = list[k], k + 1 == #list and math.huge or list[k + 1]
        local middle = math.tointeger((list[k] + list[k + 1]) / 2)
        take(low, low)
        if middle and middle < limit and (list[k + 1] - list[k]) > 2 then
            take(middle - 1, low)
            take(middle, k % 2 == 1 and low or high)
            take(middle + 1, high)
        end
    end
    return xs, wants
end
for _, dev in ipairs { "cpu", "sim" } do
    for dtype in pairs(formats) do
        for from, limit in pairs { i64 = 2.0 ^ 63, i32 = 2.0 ^ 31 } do
            local xs, wants = integers(dtype, limit)
            local x = g.tensor(xs, { dtype = from, device = dev })
            local want = g.tensor(wants, { dtype = "f64", device = dev })
            want = g.where(x:eq(0), 0.0, want) -- integers have one zero
            t.is(wrong(x:to(dtype), want), 0,
                ("%d of %s to %s on %s"):format(#xs, from, dtype, dev))
        end
    end
end
t.done()
