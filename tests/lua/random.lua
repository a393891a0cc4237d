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

-- Known at the time of writing: the generator must not change under people's seeds.
g.manual_seed(0)
local first = g.randint(0, (1 << 32) - 1, {2})
g.manual_seed(0)
-- Words of counter 0 under key 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8; 64 bits of which the
-- upper 32 decide here.
t.is(first:tolist(), {0xe169c58d, 0x9b00dbd8}, "Philox's words reach the tensor")
t.is(g.rand(4):tolist(), {0x6627e8 / (1 << 24), 0xe169c5 / (1 << 24), 0xbc57ac / (1 << 24),
    0x9b00db / (1 << 24)}, "and are the upper bits of uniform numbers")

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

local p = g.tensor({0.0, 1.0, 0.25}):view(3, 1):expand({3, 40000})
local drawn = p:bernoulli():mean(2):tolist()
t.ok(drawn[1] == 0 and drawn[2] == 1 and math.abs(drawn[3] - 0.25) < 0.01,
    "bernoulli of probabilities")
t.close(g.zeros(40000):bernoulli(0.7):mean():item(), 0.7, 0.01, "bernoulli of one probability")

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

local state = g.get_rng_state()
local a = g.rand(5):tolist()
g.rand(3)
g.set_rng_state(state)
t.is(g.rand(5):tolist(), a, "the state brings the numbers back")
t.error(function() g.set_rng_state {seed = 1} end, "set_rng_state: field 'counter'", "half a state")
t.error(function() g.set_rng_state(3) end, "table expected", "no state")

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
