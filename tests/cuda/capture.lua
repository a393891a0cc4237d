--!plain
-- Captured functions on the stand-in for CUDA: their calls run as graphs.
local t = require "tap"
local g = require "gpush"
local fake = require "fake"

local function ten(x, y)
    local z = x + y
    for _ = 1, 4 do z = (z * 0.5 + x):tanh() end
    return z * 2
end

local x, y = g.randn(5, 4, { device = "cuda" }), g.randn(5, 4, { device = "cuda" })
local f = g.capture(ten)
f(x, y)
local graphs, launches = fake.count "graph", fake.count "launch"
for _ = 1, 3 do
    x = x + 1
    t.ok(f(x, y):equal(ten(x, y)), "a replay gives what the function gives")
end
graphs = fake.count "graph" - graphs
t.is(graphs, 3, "each replay launches one graph")
f(x, y)
launches = fake.count "launch"
f(x, y)
t.ok(fake.count "launch" - launches <= 3, "and copies two inputs and a result")

-- Where a graph with its copies is more than the calls, they are launched one by one.
local one = g.capture(function(a, b) return (a + b):exp() end)
for _ = 1, 3 do t.ok(one(x, y):equal((x + y):exp()), "a replay of two calls") end
graphs, launches = fake.count "graph", fake.count "launch"
one(x, y)
t.is({ fake.count "graph" - graphs, fake.count "launch" - launches }, { 0, 2 }, "is two launches")

-- Random numbers, options and labels are between graphs.
local function training(captured)
    g.manual_seed(3)
    local model = g.nn.Sequential(g.nn.Linear(4, 8), g.nn.ReLU(), g.nn.Dropout(0.5),
        g.nn.Linear(8, 3)):to "cuda"
    local optimizer = g.optim.Adam(model, { lr = 0.1 })
    local function step(a, labels)
        optimizer:zero_grad()
        local loss = model(a):cross_entropy(labels)
        loss:backward()
        optimizer:step()
        return loss
    end
    local call, losses, held = captured and g.capture(step) or step, {}, {}
    for i = 1, 6 do
        losses[i] = call(g.randn(6, 4):to "cuda", g.randint(1, 3, { 6 }):to "cuda")
        held[i] = model:parameters()[1].grad -- later replays leave it as it is
        optimizer.param_groups[1].lr = 0.1 / i
    end
    local values = {}
    for i = 1, 6 do
        values[i] = { losses[i]:item(), held[i]:tolist() }
    end
    values[7] = model:parameters()[1]:tolist()
    return values
end
graphs = fake.count "graph"
local got = training(true)
t.ok(fake.count "graph" > graphs, "a training step has graphs")
t.is(got, training(false), "and its numbers")

-- Bad data in a call between graphs is found.
local pick = g.capture(function(a, i) return (a * 2):index_select(1, i) + 1 end)
local rows = g.tensor { 1, 3 }:to "i64":to "cuda"
for _ = 1, 3 do pick(x, rows) end
t.ok(pick(x, rows):equal((x * 2):index_select(1, rows) + 1), "an index")
t.error(function() pick(x, g.tensor { 1, 9 }:to "i64":to "cuda"):tolist() end,
    "index 9 is out of range", "a bad one is found at the wait")
t.ok(pick(x, rows):equal((x * 2):index_select(1, rows) + 1), "and the next replay is right")

-- Where memory for a graph's addresses is short, calls run one by one.
do
    local h = g.capture(ten)
    h(x, y)
    fake.fault "oom=1+"
    g.cuda.empty_cache()
    local ok, z = pcall(h, x, y)
    fake.fault "oom=0"
    if ok then t.ok(z:equal(ten(x, y)), "right numbers with little memory")
    else t.ok(tostring(z):find "memory", "or an error that says so: " .. tostring(z)) end
    t.ok(h(x, y):equal(ten(x, y)), "and right ones later")
end
t.done()
