--!plain
-- Forks in captured functions on the stand-in for CUDA: branches of one graph, whose order only
-- their dependencies decide.
local t = require "tap"
local g = require "gpush"
local fake = require "fake"

local function two(x, y)
    local a = g.fork(function(v) return (v * 2 + 1):tanh() end, x)
    local b = g.fork(function(v) return (v - 3):sigmoid() * v end, y)
    local c = x * y
    return g.wait(a) + g.wait(b) * c
end
-- A fork that goes on where another one left off.
local function chain(x, y)
    local a = g.fork(function(v) return v * 3 end, x)
    local z = g.wait(a) + y
    local b = g.fork(function(v, w) return v * w + 1 end, z, x)
    return g.wait(b) - z, z
end

local x, y = g.randn(5, 4, { device = "cuda" }), g.randn(5, 4, { device = "cuda" })
for what, fn in pairs { two = two, chain = chain } do
    local f = g.capture(fn)
    f(x, y)
    local graphs, branches = fake.count "graph", fake.count "branch"
    for i = 1, 3 do
        local got, want = table.pack(f(x + i, y)), table.pack(fn(x + i, y))
        for k = 1, want.n do t.ok(got[k]:equal(want[k]), what .. ": result " .. k) end
    end
    g.synchronize()
    t.is(fake.count "graph" - graphs, 3, what .. ": each replay launches one graph")
    if what == "two" then
        t.ok(fake.count "branch" - branches > 0, what .. ": which has branches")
    end
end

-- Backward runs each op on its forward's stream: branches, too.
local layers = { g.nn.Linear(4, 4), g.nn.Linear(4, 4) }
local model = g.nn.Sequential(layers[1], layers[2]):to "cuda"
local function step(a)
    model:zero_grad()
    local left = g.fork(function(v) return layers[1](v):relu() end, a)
    local right = layers[2](a):exp()
    local sum = (g.wait(left) * right):sum()
    sum:backward()
    return sum:detach()
end
local f = g.capture(step)
f(x)
f(x)
for i = 1, 2 do
    local got, grads = f(x - i), {}
    for k, p in ipairs(model:parameters()) do grads[k] = p.grad:clone() end
    t.ok(got:equal(step(x - i)), "the loss of a step with a fork")
    for k, p in ipairs(model:parameters()) do t.ok(grads[k]:equal(p.grad), "gradient " .. k) end
end
t.done()
