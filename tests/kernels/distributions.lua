-- Random numbers of distributions: poisson, exponential_, geometric_, cauchy_, log_normal_. How
-- often numbers are drawn is compared, by the sum of (seen - expected)^2 / expected, with what the
-- distribution's formula says, computed here. All seeds are fixed, so a result never changes.
local t = require "tap"
local g = require "gpush"

-- Whether counts of n classes are as expected: the sum has mean df and variance 2 df.
local function fits(seen, expected)
    local sum, df = 0, -1
    for i, e in pairs(expected) do
        sum, df = sum + ((seen[i] or 0) - e) ^ 2 / e, df + 1
    end
    return sum < df + 5 * (2 * df) ^ 0.5, ("%.1f of %d"):format(sum, df)
end

-- ---- poisson ----

-- Classes of counts, as few as have 10 expected numbers each, of n numbers of that rate.
local function poisson_classes(rate, n)
    local expected, class, log, at, open = {}, {}, -rate, 1, 0
    for k = 0, math.floor(rate + 12 * rate ^ 0.5 + 20) do
        if k > 0 then log = log + math.log(rate / k) end
        open = open + n * math.exp(log)
        class[k] = at
        if open >= 10 then expected[at], at, open = open, at + 1, 0 end
    end
    expected[at - 1] = expected[at - 1] + open
    return expected, function(k) return math.min(class[k] or at, at - 1) end
end

local N <const> = 40000
for _, rate in ipairs { 0.02, 0.7, 4, 9.99, 10, 13.5, 100, 3000 } do
    g.manual_seed(3)
    local drawn = g.full({ N }, rate, { dtype = "f64" }):poisson()
    local expected, class_of = poisson_classes(rate, N)
    local seen, whole = {}, true
    for _, k in ipairs(drawn:tolist()) do
        whole = whole and k >= 0 and k == math.floor(k)
        local class = class_of(math.tointeger(k))
        seen[class] = (seen[class] or 0) + 1
    end
    local ok, sum = fits(seen, expected)
    t.ok(ok and whole, ("poisson of rate %g: chi-square is %s"):format(rate, sum))
end
-- Large rates are nearly normal: the first four moments, each within five deviations.
for _, rate in ipairs { 1e5, 3e9, 1e13, 1e17 } do
    local z = (g.full({ N }, rate, { dtype = "f64" }):poisson() - rate) / rate ^ 0.5
    local sigma = N ^ -0.5
    t.close({ z:mean():item(), z:square():mean():item(), (z ^ 3):mean():item(),
        (z ^ 4):mean():item() / 3 }, { 0, 1, 0, 1 }, 17 * sigma,
        ("moments of poisson of rate %g"):format(rate))
end
t.is(g.tensor({ 0.0, 1e300, 1e-300 }, { dtype = "f64" }):poisson():tolist(), { 0, 1e300, 0 },
    "rates at both ends")

-- The same numbers on any device, for any number of threads, layout and dtype.
local function drawn(dev, dtype)
    g.manual_seed(11)
    local rates = (g.range(1, 9000, { device = dev }):to("f64") / 128):to(dtype)
    return rates:poisson():to "cpu"
end
local before = g.threads()
for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
    g.threads(1)
    local want = drawn("cpu", dtype)
    g.threads(before)
    t.ok(drawn("cpu", dtype):equal(want) and drawn("sim", dtype):equal(want),
        "poisson of " .. dtype .. " is the same on sim, and by more threads")
    t.is(want.dtype, dtype, "and has the rates' dtype")
end
local x = g.rand(50, 40) * 30
g.manual_seed(12)
local across = x.T:poisson()
g.manual_seed(12)
t.ok(across:equal(x.T:contiguous():poisson()), "of transposed rates")
g.manual_seed(12)
t.ok(not x.T:poisson():equal(x.T:poisson()), "the next call gives others")
-- Known at the time of writing: seeds keep their numbers.
g.manual_seed(0)
t.is(g.tensor { 0.5, 3, 9, 20, 50, 1000, 1e6, 3e7 }:poisson():tolist(),
    { 1, 2, 7, 19, 50, 1051, 1000978, 29986262 }, "the numbers of seed 0")

local rates = g.tensor({ 2.0, 30.0 }, { requires_grad = true })
rates:poisson():sum():backward()
t.is(rates.grad, nil, "backward passes, and rates get no gradient, as bernoulli's")
for _, bad in ipairs { -1.0, math.huge, 0 / 0 } do
    t.error(function() return g.tensor({ 1, bad }, { dtype = "f32" }):poisson():tolist() end,
        "poisson: a rate in 'x' is negative, infinite or NaN", "a rate of " .. bad)
end
t.error(function() g.tensor { 1, 2 }:poisson() end, "poisson: .*i64", "rates that are integers")

-- ---- fills ----

-- x's numbers in ten classes of equal probability, by the distribution's function.
local function uniform_after(x, name, cdf)
    local seen, expected = {}, {}
    for _, v in ipairs(x:tolist()) do
        local class = math.min(9, math.floor(cdf(v) * 10)) + 1
        seen[class] = (seen[class] or 0) + 1
    end
    for i = 1, 10 do expected[i] = x:numel() / 10 end
    local ok, sum = fits(seen, expected)
    t.ok(ok, ("%s of %s: chi-square is %s"):format(name, x.dtype, sum))
end
-- The normal distribution's function. Source: Abramowitz and Stegun, 26.2.17, to 1e-7.
local function normal(z)
    local k = 1 / (1 + 0.2316419 * math.abs(z))
    local upper = math.exp(-z * z / 2) / (2 * math.pi) ^ 0.5 * k * (0.319381530 + k *
        (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    return z > 0 and 1 - upper or upper
end
for _, dtype in ipairs { "f64", "f32", "bf16" } do
    g.manual_seed(4)
    local n = dtype == "bf16" and 2000 or 20000 -- of few digits, edges of classes are coarse
    local o = { dtype = dtype }
    uniform_after(g.empty(n, o):exponential_(2), "exponential_",
        function(v) return 1 - math.exp(-2 * v) end)
    uniform_after(g.empty(n, o):cauchy_(1, 0.5), "cauchy_",
        function(v) return math.atan((v - 1) / 0.5) / math.pi + 0.5 end)
    uniform_after(g.empty(n, o):log_normal_(0.5, 0.8), "log_normal_",
        function(v) return normal((math.log(v) - 0.5) / 0.8) end)
end
for _, dtype in ipairs { "f32", "i64", "u8" } do
    g.manual_seed(8)
    local seen, expected, least = {}, {}, math.huge
    for _, k in ipairs(g.zeros({ 20000 }, dtype):geometric_(0.3):tolist()) do
        least = math.min(least, k)
        k = math.min(math.tointeger(k), 15)
        seen[k] = (seen[k] or 0) + 1
    end
    for k = 1, 14 do expected[k] = 20000 * 0.3 * 0.7 ^ (k - 1) end
    expected[15] = 20000 * 0.7 ^ 14
    local ok, sum = fits(seen, expected)
    t.ok(ok and least == 1, ("geometric_ of %s: chi-square is %s"):format(dtype, sum))
end
t.is(g.zeros(3):geometric_(1):tolist(), { 1, 1, 1 }, "geometric_ of a sure success")
t.close(g.zeros({ 1000 }, "f64"):geometric_(1e-12):mean():item() * 1e-12, 1, 0.2,
    "geometric_ of a rare one")
for _, name in ipairs { "exponential_", "cauchy_", "log_normal_" } do
    local function fill(dev)
        g.manual_seed(5)
        local y = g.zeros(3, 5, { device = dev })
        t.ok(rawequal(y[name](y), y), name .. " returns what it filled")
        return y:to "cpu"
    end
    -- a card's logarithm and tangent have other last bits
    local off = os.getenv "GPUSH_TEST_DEVICE" and 1e-5 or 0
    t.close(fill("sim"):tolist(), fill("cpu"):tolist(), off, name .. " on sim")
end
t.error(function() g.zeros(2):exponential_(0) end,
    "exponential_: argument 'lambd': expected a number above 0, got 0", "no rate")
t.error(function() g.zeros(2):geometric_(1.5) end,
    "geometric_: argument 'p': expected a number above 0, up to 1, got 1.5", "no probability")
t.error(function() g.zeros(2):cauchy_(0, -1) end, "argument 'sigma': expected a number above 0",
    "a negative width")
t.error(function() g.zeros({ 2 }, "i64"):exponential_() end, "exponential_: dtype i64",
    "an integer for a time")
t.error(function() g.zeros(2, { requires_grad = true }):exponential_() end,
    "requires gradients is written in place",
    "a leaf is not written")
t.done()
