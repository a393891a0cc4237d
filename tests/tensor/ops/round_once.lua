--!plain
-- f64, i64 and numbers become f16 and bf16 by one rounding, on every path into a tensor: against
-- exact arithmetic in f64, at and next to the midpoints between neighbours, where rounding to f32
-- first goes wrong.
local t = require "tap"
local g = require "gpush"

local bits, least, most = { f16 = 10, bf16 = 7 }, { f16 = -14, bf16 = -126 },
    { f16 = 65504, bf16 = 0x1.fep127 }

-- x rounded to dtype, half to even. Scaling by powers of two is exact, and so is the remainder
-- below 2^53.
local function rounded(dtype, x)
    if x == 0 or x ~= x or x == math.huge or x == -math.huge then return x end
    local _, e = 0, math.floor(math.log(math.abs(x), 2))
    if 2.0 ^ e > math.abs(x) then e = e - 1 elseif 2.0 ^ (e + 1) <= math.abs(x) then e = e + 1 end
    local unit = 2.0 ^ (math.max(e, least[dtype]) - bits[dtype])
    local scaled = math.abs(x) / unit
    local low = math.floor(scaled)
    local rest = scaled - low
    if rest > 0.5 or rest == 0.5 and low % 2 == 1 then low = low + 1 end
    local y = low * unit
    if y > most[dtype] then y = math.huge end
    return x < 0 and -y or y
end

local function middles(dtype)
    local list = {}
    for _, e in ipairs { 0, 1, 9, 15, 100, -3, -14, -20, -24, -126, -130,
        least[dtype] - bits[dtype] }
    do
        local unit = 2.0 ^ (math.max(e, least[dtype]) - bits[dtype])
        for _, k in ipairs { 2.0 ^ bits[dtype], 2.0 ^ bits[dtype] + 1, 1, 2 } do
            for _, off in ipairs { 0, 2.0 ^ -30, -2.0 ^ -30, 2.0 ^ -40, -2.0 ^ -40, 0.25 } do
                local x = unit * (k + 0.5 + off)
                list[#list + 1] = x
                list[#list + 1] = -x
            end
        end
    end
    for _, x in ipairs { most[dtype], 65519.999999999, 65520, 1e300, -1e300, 1e-310, -1e-310, 0,
        -0.0, math.huge, -math.huge, 0 / 0, 0.1, 1 / 3 }
    do
        list[#list + 1] = x
    end
    return list
end

local function each(dtype, dev)
    local list, want = middles(dtype), {}
    for i, x in ipairs(list) do want[i] = rounded(dtype, x) end
    local x = g.tensor(list, { dtype = "f64", device = dev })
    local function is(y, what)
        t.is(y:to "cpu":to "f64":view(-1):tolist(), want,
            ("%s to %s on %s"):format(what, dtype, dev))
    end
    is(x:to(dtype), "f64")
    is(g.stack({ x, x }, 2):select(2, 1):to(dtype), "strided f64")
    is(g.zeros(#list, { dtype = dtype, device = dev }):copy_(x), "copy_ of f64")
    is(g.tensor(list, { dtype = dtype, device = dev }), "a table")
    local filled, set, where, one = {}, g.zeros(#list, { dtype = dtype, device = dev }), {},
        g.zeros(1, { dtype = dtype, device = dev })
    for i, v in ipairs(list) do
        filled[i] = g.full({ 1 }, v, dtype, dev)
        set[i] = v
        where[i] = one:masked_fill(one:eq(0), v)
    end
    is(g.cat(filled), "full")
    is(set, "an assignment")
    is(g.cat(where), "masked_fill")
end

local function whole(dtype, dev)
    local list, want = {}, {}
    for _, i in ipairs { 1 + (1 << 8) + (1 << 16), (1 << 24) + (1 << 16) + 1,
        (1 << 40) + (1 << 32) + 1, (1 << 40) + (1 << 32), (1 << 62) + (1 << 54) + 1,
        (1 << 62) + (1 << 54), (1 << 62) + (3 << 54), (1 << 62) + (3 << 54) - 1, math.maxinteger,
        65519, 65520, 2049, 2051, 0 }
        do
        list[#list + 1], list[#list + 2] = i, -i
    end
    -- only by integers: the last bits kept, the ones after them compared with half a unit
    local function exact(i)
        local n, shift = math.abs(i), 0
        while n >> shift >= 2 << bits[dtype] do shift = shift + 1 end
        local low, rest = n >> shift, shift > 0 and n & ((1 << shift) - 1) or 0
        local half = shift > 0 and 1 << (shift - 1) or 1
        if rest > half or rest == half and low % 2 == 1 then low = low + 1 end
        local y = low * 2.0 ^ shift
        if y > most[dtype] then y = math.huge end
        return i < 0 and -y or y
    end
    for k, i in ipairs(list) do want[k] = exact(i) end
    local x = g.tensor(list, { dtype = "i64", device = dev })
    local function is(y, what)
        t.is(y:to "cpu":to "f64":tolist(), want, ("%s to %s on %s"):format(what, dtype, dev))
    end
    is(x:to(dtype), "i64")
    is(g.tensor(list, { dtype = dtype, device = dev }), "a table of integers")
    local small = g.tensor({ (1 << 24) + (1 << 16) + 1, -(1 << 24) - (1 << 16) - 1 },
        { dtype = "i32", device = dev })
    t.is(small:to(dtype):to "cpu":to "f64", { exact(small[1]:item()), exact(small[2]:item()) },
        "i32 to " .. dtype .. " on " .. dev)
end

for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f16", "bf16" } do
        each(dtype, dev)
        whole(dtype, dev)
    end
end
t.done()
