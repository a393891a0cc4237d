--!plain
-- The numbers along an axis: its range, round ticks and their labels. An axis is { lo, hi, log =
-- bool, whole = bool }; with log, lo and hi are decimal logarithms, as are its data.
local require = ...
local gpush, fail = require "gpush", require "plot.fail"

local MOST = 2.0 ^ 1022 -- the difference of two such numbers is finite

local function short(x) return ("%.4g"):format(x) end

-- The smallest and largest finite number of tensors (f64, cpu); an empty range is widened. Numbers
-- of a log axis are logarithms already, and those without one are not finite.
local function range(tensors, what, log)
    local lo, hi = math.huge, -math.huge
    for _, t in ipairs(tensors) do
        if t:numel() > 0 then
            local finite = t:isfinite()
            lo = math.min(lo, gpush.where(finite, t, math.huge):amin():item())
            hi = math.max(hi, gpush.where(finite, t, -math.huge):amax():item())
        end
    end
    if lo > hi then fail(what, "there is no finite number%s to show", log and " above 0" or "") end
    if lo == hi then
        local half = math.max(0.5, math.abs(lo) * 1e-6)
        lo, hi = lo - half, hi + half
    end
    return math.max(lo, -MOST), math.min(hi, MOST)
end

-- The nearest of 1, 2 and 5 times a power of ten, by ratio.
local function round(x)
    local power = 10.0 ^ math.floor(math.log(x, 10))
    local m = x / power
    return power * (m < 2 ^ 0.5 and 1 or m < 10 ^ 0.5 and 2 or m < 50 ^ 0.5 and 5 or 10)
end

-- Multiples of a round step between lo and hi, about n; and the step.
local function multiples(lo, hi, n, whole)
    lo, hi = math.min(lo, hi), math.max(lo, hi) -- rows of a matrix go down
    local step = round((hi - lo) / n)
    if whole then step = math.max(1, step) end
    local out = {}
    for i = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9) do
        out[#out + 1] = i * step
    end
    return out, step
end

-- Labels with enough digits to distinguish multiples of step, all with equally many decimals.
local function labels(values, step)
    local largest = step
    for _, v in ipairs(values) do largest = math.max(largest, math.abs(v)) end
    local digits = math.max(0, math.ceil(-math.log(step, 10) - 1e-9))
    local form = ("%%.%df"):format(digits)
    if largest >= 1e6 or digits > 4 then
        local function power(x) return math.floor(math.log(x, 10) + 1e-9) end
        form = ("%%.%dg"):format(math.min(17, power(largest) - power(step) + 1))
    end
    local out = {}
    for i, v in ipairs(values) do out[i] = form:format(v):gsub("e%+?(-?)0*", "e%1") end
    return out
end

-- Powers of ten; if there are few, also 2 and 5 times them; if there are none, round numbers.
local function log_ticks(lo, hi, n)
    local values = {}
    if hi - lo < 1 then
        local values_of, step = multiples(10 ^ lo, 10 ^ hi, n)
        local names = labels(values_of, step)
        for i, v in ipairs(values_of) do values[i] = math.log(v, 10) end
        return values, names
    end
    local every, names = math.max(1, math.ceil((hi - lo) / n)), {}
    for k = math.floor(lo), math.ceil(hi) do
        for _, m in ipairs(hi - lo <= 2.5 and { 1, 2, 5 } or { 1 }) do
            local v = k + math.log(m, 10)
            if k % every == 0 and v >= lo - 1e-9 and v <= hi + 1e-9 then
                values[#values + 1] = v
                names[#names + 1] = (k >= -3 and k < 5) and ("%g"):format(m * 10.0 ^ k)
                    or ("%de%d"):format(m, k)
            end
        end
    end
    return values, names
end

-- About n ticks of an axis: their positions, and their labels.
local function ticks(axis, n)
    if axis.log then return log_ticks(axis[1], axis[2], n) end
    local values, step = multiples(axis[1], axis[2], n, axis.whole)
    return values, labels(values, step)
end

-- An end of an axis in a few digits.
local function ending(axis, i) return short(axis.log and 10 ^ axis[i] or axis[i]) end

-- The relative position of v on its axis, 0 to 1.
local function part(axis, v) return (v - axis[1]) / (axis[2] - axis[1]) end

return { range = range, ticks = ticks, ending = ending, part = part, short = short }
