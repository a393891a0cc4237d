-- Random tensors: the same numbers on every device and from the same seed; ranges, moments and
-- permutations; the generator's state.
local t = require "tap"
local g = require "gpush"

local makers = {
    rand = function(o) return g.rand(1000, 3, o) end,
    randn = function(o) return g.randn(1000, 3, o) end,
    randint = function(o) return g.randint(-5, 5, {3000}, o) end,
    randperm = function(o) return g.randperm(255, o) end,
}
for name, make in pairs(makers) do
    for _, dtype in ipairs {"f32", "f64", "f16"} do
        g.manual_seed(42)
        local a, b = make {dtype = dtype, device = "cpu"}, make {dtype = dtype, device = "cpu"}
        g.manual_seed(42)
        local c = make {dtype = dtype, device = "sim"}
        t.is(c:tolist(), a:tolist(), name .. " " .. dtype .. ": the same numbers on sim")
        t.ok(not a:eq(b):all():item(), name .. " " .. dtype .. ": the next call gives others")
        g.manual_seed(43)
        t.ok(not make({dtype = dtype}):eq(a):all():item(),
            name .. " " .. dtype .. ": another seed gives others")
    end
end

g.manual_seed(1)
local long = g.randn(5000)
g.manual_seed(1)
t.is(g.randn(777):tolist(), long:narrow(1, 1, 777):tolist(),
    "an element depends on its index, not on how many there are")

-- Element i of f64 has words 2i and 2i + 1, of which f32's elements have one each: across blocks
-- too.
g.manual_seed(5)
local narrow = g.rand(6002, {dtype = "f32"}):to("f64"):tolist()
g.manual_seed(5)
local wide, same = g.rand(3001, {dtype = "f64"}):tolist(), true
for i = 1, 3001 do same = same and math.floor(wide[i] * (1 << 24)) / (1 << 24) == narrow[2 * i] end
t.ok(same, "f64 begins with the bits of the second word of two")

-- Known at the time of writing: the generator must not change for users' seeds.
g.manual_seed(0)
local first = g.randint(0, (1 << 32) - 1, {2})
g.manual_seed(0)
-- Words of counter 0 under key 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8; 64 bits of which the
-- upper 32 decide here.
t.is(first:tolist(), {0xe169c58d, 0x9b00dbd8}, "Philox's words reach the tensor")
t.is(g.rand(4):tolist(), {0x6627e8 / (1 << 24), 0xe169c5 / (1 << 24), 0xbc57ac / (1 << 24),
    0x9b00db / (1 << 24)}, "and are the upper bits of uniform numbers")

-- randn is Box and Muller's formula of two words each, in every block: f32's uniform numbers have
-- the upper 24 bits of the first word, f64's have the whole second.
do
    local n, worst = 5002, 0
    local function same(make, dtype)
        g.manual_seed(9) return make(dtype == "f64" and n // 2 or n, {dtype = dtype}):tolist()
    end
    local u, v, z = same(g.rand, "f32"), same(g.rand, "f64"), same(g.randn, "f32")
    for i = 1, n, 2 do
        local first, second = math.tointeger(u[i] * (1 << 24)) >> 1,
            math.tointeger(v[i // 2 + 1] * 2 ^ 53) >> 21
        local r, turn = (-2 * math.log((first + 0.5) / (1 << 23))) ^ 0.5,
            2 * math.pi * (second / 2 ^ 32)
        worst = math.max(worst, math.abs(z[i] - r * math.cos(turn)),
            math.abs(z[i + 1] - r * math.sin(turn)))
    end
    t.ok(worst < 2e-6, "randn: two numbers from two words, off by at most " .. worst)
end

local function moments(x)
    x = x:to("f64")
    local mean = x:mean():item()
    local d = x - mean
    return mean, (d * d):mean():item(), (d * d * d * d):mean():item()
end
g.manual_seed(7)
for _, dtype in ipairs {"f32", "f64", "f16", "bf16"} do
    local n = 200000
    local mean, var = moments(g.rand(n, {dtype = dtype}))
    t.close(mean, 0.5, dtype == "bf16" and 5e-3 or 3e-3, "rand " .. dtype .. ": mean")
    t.close(var, 1 / 12, 2e-3, "rand " .. dtype .. ": variance")
    local x = g.rand(n, {dtype = dtype})
    t.ok(x:amin():item() >= 0 and x:amax():item() < 1 and x:amax():item() > 0.99,
        "rand " .. dtype .. ": in [0, 1)")
    local m, v, k = moments(g.randn(n, {dtype = dtype}))
    t.close(m, 0, 0.012, "randn " .. dtype .. ": mean")
    t.close(v, 1, 0.015, "randn " .. dtype .. ": variance")
    t.close(k, 3, 0.05, "randn " .. dtype .. ": fourth moment")
end

local die = g.randint(1, 6, {60000})
for face = 1, 6 do t.close(die:eq(face):sum():item(), 10000, 0.05, "face " .. face) end
t.is({die:amin():item(), die:amax():item(), die.dtype}, {1, 6, "i64"}, "both ends are included")
t.is(g.randint(3, 3, {4}):tolist(), {3, 3, 3, 3}, "one choice")
t.is(g.randint(0, 1, {2, 2}, "bool").dtype, "bool", "bool")
t.ok(g.randint(math.mininteger, math.maxinteger, {1000}):lt(0):sum():item() > 400, "all of 64 bits")

local perm = g.randperm(1000):tolist()
local moved = 0
for i, v in ipairs(perm) do moved = moved + (v ~= i and 1 or 0) end
table.sort(perm)
local whole = true
for i, v in ipairs(perm) do whole = whole and v == i end
t.ok(whole and #perm == 1000 and moved > 900, "randperm holds each of 1 … n once, moved")
t.is(g.randperm(0).shape, {0}, "randperm(0)")
-- rand's f64 numbers are the upper 53 of their 64 bits
for _, n in ipairs {2, 8, 9, 17, 700, 5000, 60000} do
    g.manual_seed(n)
    local order = g.rand(n, {dtype = "f64"}):argsort()
    g.manual_seed(n)
    t.ok(g.randperm(n):equal(order), "randperm is the order of random numbers, " .. n)
end

local p = g.tensor({0.0, 1.0, 0.25}):view(3, 1):expand({3, 40000})
local drawn = p:bernoulli():mean(2):tolist()
t.ok(drawn[1] == 0 and drawn[2] == 1 and math.abs(drawn[3] - 0.25) < 0.01,
    "bernoulli of probabilities")
t.close(g.zeros(40000):bernoulli(0.7):mean():item(), 0.7, 0.01, "bernoulli of one probability")
-- Elements are 1 where rand's of f64 are below p: to the last of 53 bits.
for _, device in ipairs {"cpu", "sim"} do
    local n, draws = 4003, {}
    g.manual_seed(7)
    local u = g.rand(n, {dtype = "f64"})
    for i, k in ipairs {1, 2, 1000, n} do draws[2 * i - 1], draws[2 * i] = u[k]:item(),
        u[k]:item() + 0x1p-53 end
    for _, dtype in ipairs {"f32", "f64", "f16", "i64", "u8"} do
        local same = true
        for _, p in ipairs(draws) do
            g.manual_seed(7)
            local drawn = g.zeros({n}, {dtype = dtype, device = device}):bernoulli(p)
            same = same and drawn:to "cpu":eq(u:lt(p):to(dtype)):all():item()
        end
        t.ok(same, "bernoulli of " .. dtype .. " on " .. device .. " compares all 53 bits")
    end
end

local x = g.zeros(20, 300)
g.manual_seed(9)
x:transpose(1, 2):normal_(10, 2)
g.manual_seed(9)
t.is(x:transpose(1, 2):tolist(), (g.randn(300, 20) * 2 + 10):tolist(),
    "normal_ on a transposed tensor goes by its own order")
g.manual_seed(9)
x:uniform_(-1, 3)
t.ok(x:amin():item() >= -1 and x:amax():item() <= 3 and math.abs(x:mean():item() - 1) < 0.06,
    "uniform_")
t.is(g.rand_like(x).shape, {20, 300}, "rand_like")
t.is(g.randn_like(x:to {dtype = "f64"}).dtype, "f64", "randn_like")

-- any number of threads gives the same numbers, on any device
do
    local function draw(dev)
        g.manual_seed(11)
        local o, all = {device = dev}, {}
        for i, x in ipairs {g.rand(200001, o), g.randn(200001, o), g.randint(1, 9, {100001}, o),
            g.randperm(5000, o),
            g.randn(70001, {device = dev, dtype = "f64"}),
            g.rand(70001, {device = dev, dtype = "bf16"}),
            g.full({50001}, 0.5, o):bernoulli(), g.ones(300, 40, o):multinomial(7),
            g.ones(300, 40, o):multinomial(70, true),
            g.rand(5000000, o)} do all[i] = x:to "cpu" end
        return all
    end
    local before, want = g.threads(), nil
    for _, n in ipairs {1, 2} do
        g.threads(n)
        for _, dev in ipairs {"cpu", "sim"} do
            local got = draw(dev)
            want = want or got
            for i, x in ipairs(got) do
                t.ok(x:equal(want[i]),
                    ("draw %d is the same with %d threads on %s"):format(i, n, dev))
            end
        end
    end
    g.threads(before)
end

-- numbers drawn by weight
do
    local w = g.tensor {1.0, 0.0, 3.0, 4.0}
    local n = 80000
    local counts = {0, 0, 0, 0}
    for _, k in ipairs(w:multinomial(n, true):tolist()) do counts[k] = counts[k] + 1 end
    for k, share in ipairs {1 / 8, 0, 3 / 8, 4 / 8} do
        t.ok(math.abs(counts[k] / n - share) < 0.01, "share of weight " .. k)
    end
    local first = {0, 0, 0, 0}
    for _, row in ipairs(w:expand({20000, 4}):multinomial(3):tolist()) do
        first[row[1]] = first[row[1]] + 1
        if row[1] + row[2] + row[3] ~= 8 then first[2] = 1e9 end
    end
    for k, share in ipairs {1 / 8, 0, 3 / 8, 4 / 8} do
        t.ok(math.abs(first[k] / 20000 - share) < 0.015, "weight " .. k .. " comes first")
    end
    -- of many: weights 1, 2, 3, 0, 1, 2, 3, 0 … ; the sum of k distinct ones among n
    for _, case in ipairs {{20001, 3}, {20001, 500}, {6000, 4000}, {65, 48}} do
        local many, samples = case[1], case[2]
        local list = g.arange(1, many):remainder(4):to("f32"):multinomial(samples):tolist()
        local seen, good = {}, true
        for _, k in ipairs(list) do
            good, seen[k] = good and not seen[k] and k % 4 ~= 0 and k >= 1 and k <= many, true
        end
        t.ok(good and #list == samples,
            ("%d of %d, each once, none of weight 0"):format(samples, many))
    end
    local heavy = {0, 0, 0}
    for _, k in ipairs(g.arange(1, 20000):remainder(4):to("f32"):multinomial(3000):tolist()) do
        heavy[k % 4] = heavy[k % 4] + 1
    end
    for k = 1, 3 do
        t.ok(math.abs(heavy[k] / 3000 - k / 6) < 0.05,
            "without replacement, weight " .. k .. " of many")
    end
    for k, share in ipairs {1 / 6, 2 / 6, 3 / 6} do
        local drawn = g.arange(1, 20000):remainder(4):to("f32"):multinomial(n, true)
        t.ok(math.abs(drawn:remainder(4):eq(k):sum():item() / n - share) < 0.01,
            "with replacement, weight " .. k .. " of many")
    end
    for _, dev in ipairs {"cpu", "sim"} do
        local function fails(v, replace)
            return function()
                return g.tensor(v, {device = dev}):multinomial(2, replace):tolist()
            end
        end
        t.error(fails({1.0, -1.0, 2.0}), "multinomial: a weight in 'x' is negative",
            "a negative weight on " .. dev)
        t.error(fails({1.0, 0 / 0, 2.0}, true),
            "multinomial: a weight in 'x' is negative, infinite or NaN", "NaN on " .. dev)
        t.error(fails {1.0, 0.0, 0.0}, "multinomial: a row of 'x' has fewer weights",
            "too few on " .. dev)
        t.error(fails({0.0, 0.0}, true), "multinomial: a row of 'x' has fewer weights",
            "none on " .. dev)
    end
end

-- normal of numbers and of tensors; the _like family
do
    local x = g.normal(5, 0.5, {40000})
    t.close(x:mean():item(), 5, 0.01, "normal of numbers: mean")
    t.close(x:std():item(), 0.5, 0.01, "normal of numbers: deviation")
    local y = g.normal(g.tensor {0.0, 100.0}:view(2, 1), g.tensor {1.0, 0.0, 2.0})
    t.is(y.shape, {2, 3}, "normal of tensors broadcasts")
    t.is(y:select(2, 2):tolist(), {0, 100}, "no deviation gives the mean")
    t.close(g.normal(g.zeros(40000), 3):std():item(), 3, 0.05, "a tensor and a number")
    t.close(g.normal(2, g.ones(40000)):mean():item(), 2, 0.02, "a number and a tensor")
    t.error(function() g.normal(0, 1) end, "normal: argument 'shape'", "numbers without a shape")
    t.error(function() g.normal(g.zeros(2), 1, {2}) end, "normal: shape, dtype and device",
        "tensors with a shape")
    local b = g.zeros(2, 3, {dtype = "f16"})
    t.is({g.randint_like(b, 1, 6).dtype, g.randint_like(b, 1, 6, {dtype = "i8"}).dtype},
        {"f16", "i8"}, "randint_like")
    t.is({g.full_like(b, 3.5, {dtype = "i32"}):tolist(), g.full_like(b, 7).dtype},
        {{{3, 3, 3}, {3, 3, 3}}, "f16"}, "full_like")
    t.is({g.empty_like(b, {dtype = "u8"}).shape, g.empty_like(b, {dtype = "u8"}).dtype},
        {{2, 3}, "u8"}, "empty_like")
    t.is({g.rand_like(b, {dtype = "f64"}).dtype, g.randn_like(b).dtype}, {"f64", "f16"},
        "rand_like and randn_like")
    t.is(g.arange(1, 7, 2):tolist(), g.range(1, 7, 2):tolist(), "arange is range")
end

local state = g.get_rng_state()
local a = g.rand(5):tolist()
g.rand(3)
g.set_rng_state(state)
t.is(g.rand(5):tolist(), a, "the state brings the numbers back")
t.error(function() g.set_rng_state {seed = 1} end, "set_rng_state: field 'counter'", "half a state")
t.error(function() g.set_rng_state(3) end, "expected a table, got 3", "no state")

t.error(function() g.rand(2, {dtype = "i32"}) end, "rand: dtype i32", "rand of integers")
t.error(function() g.randint(3, 2, {1}) end, "randint: low is 3, high 2", "an empty range")
t.error(function() g.randint(0, 256, {1}, "u8") end, "randint: 0 to 256 do not fit in u8",
    "a range beyond the dtype")
t.error(function() g.randperm(-1) end, "randperm: n is %-1", "a negative count")
t.error(function() g.randperm(300, "u8") end, "randperm: .*u8", "more than the dtype holds")
t.error(function() g.zeros(2):bernoulli(1.5) end, "bernoulli: argument 'p' is 1.5",
    "a probability above 1")
t.error(function() g.tensor({0.5, 2.0}):bernoulli() end, "bernoulli: a probability",
    "one among elements")
t.error(function() g.zeros(2):uniform_(2, 1) end, "uniform: low is 2", "low above high")
t.error(function() g.zeros(2):normal_(0, -1) end, "normal: std is %-1", "a negative deviation")

t.done()
