-- Plans of cuDNN's convolutions and recurrent layers on the stand-in for CUDA, which counts how
-- often an algorithm is chosen or a layer described: a model's shapes are planned in its first step
-- and in no later one, in whatever order they come.
local t = require "tap"
local fake = require "fake"

-- As many convolutions as ResNet-50 has, each of another width, forward and both gradients.
local SHAPES = 68
local w = randn(4, 4, 3, 3, { device = "cuda", requires_grad = true })
local function convolutions(from, to, by)
    for i = from, to, by do
        local x = randn(1, 4, 3, 2 + i, { device = "cuda", requires_grad = true })
        conv2d(x, w, nil, 1, 1):sum():backward()
    end
    synchronize()
end
local function plans(what, fn)
    local before = fake.count(what)
    fn()
    return fake.count(what) - before
end
-- what scripts/dev/gpu-check asks for on a card
local function made() return require "gpush".cuda_setting("plans_made", -1) end
synchronize()
local before = made()
t.is(plans("convolution plan", function() convolutions(1, SHAPES, 1) end), 3 * SHAPES,
    "the first step plans each convolution and its gradients")
t.is(made() - before, 3 * SHAPES, "gpush counts them, too")
t.is(plans("convolution plan", function() convolutions(1, SHAPES, 1) end), 0,
    "the second plans none")
t.is(made() - before, 3 * SHAPES, "and counts none")
t.is(plans("convolution plan", function() convolutions(SHAPES, 1, -1) end), 0,
    "nor in reverse order")

-- Sequences of 16 lengths in turn, as sentences come.
local LENGTHS = 16
local layer = nn.LSTM(8, 8):to "cuda"
local function sentences()
    for steps = 1, LENGTHS do layer(randn(steps, 2, 8, { device = "cuda" })) end
    synchronize()
end
local first = plans("recurrent plan", sentences)
t.ok(first >= LENGTHS, "a recurrent layer is planned for each length: " .. first)
t.is(plans("recurrent plan", sentences), 0, "and for none again")

-- A launch by CUDA alone is the kernel of x + y, of no elements.
before = fake.count "launch"
fake.kernels()
local ns = require "gpush".cuda_setting("launch_ns", -1)
synchronize()
t.ok(ns > 0, "a launch takes the host some time: " .. ns .. " ns")
t.is({ fake.count "launch" - before, #fake.kernels() }, { 900, 1 }, "900 launches of a kernel")
t.done()
