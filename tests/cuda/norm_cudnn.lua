-- batch_norm and its gradients by cuDNN on the stand-in for CUDA, which has an implementation of
-- its own (tests/fake_cuda/libs/cudnn_norm.cpp): the cpu's results; what cuDNN does not take runs
-- by our own kernels.
local t = require "tap"

-- fn's result, and the ops that cuDNN ran.
local function watched(fn)
    local out
    local prof, by = profile.run({}, function() out = fn() end), {}
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and e.kernel:find "^cuDNN: " then by[e.name] = true end
    end
    return out, by
end

-- The layer's result, running statistics and gradients, as lists.
local function pass(x, w, b, g, training, device)
    x, w, b = x:detach():to(device):requires_grad_(), w:detach():to(device):requires_grad_(),
        b:detach():to(device):requires_grad_()
    local stat = w.dtype
    local mean, var = full({ x.shape[2] }, 0.5, { device = device, dtype = stat }),
        full({ x.shape[2] }, 2, { device = device, dtype = stat })
    local y = batch_norm(x, mean, var, w, b, training, 0.3, 1e-3)
    y:backward(g:to(device))
    local all = {}
    for i, v in ipairs { y, mean, var, x.grad, w.grad, b.grad } do
        all[i] = v:detach():to "cpu":tolist()
    end
    return all
end

manual_seed(5)
local names = { "result", "running mean", "running variance", "gradient", "weight's gradient",
    "bias's gradient" }
local eps = { f32 = 1e-5, f64 = 1e-11, f16 = 1e-2, bf16 = 6e-2 }
for _, shape in ipairs { { 4, 3, 5, 6 }, { 8, 3 }, { 3, 2, 7 }, { 2, 3, 2, 3, 4 } } do
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
        for _, training in ipairs { true, false } do
            local x, g = randn(shape, { dtype = "f32" }):to(dtype) * 2 + 1,
                randn(shape, { dtype = "f32" }):to(dtype)
            local of = dtype == "f64" and "f64" or "f32"
            local w, b = randn(shape[2], { dtype = of }), randn(shape[2], { dtype = of })
            local what = ("%s %s, %s"):format(dtype, table.concat(shape, "x"),
                training and "training" or "inference")
            local want = pass(x, w, b, g, training, "cpu")
            local got, by = watched(function() return pass(x, w, b, g, training, "cuda") end)
            t.is({ by.batch_norm, by.batch_norm_grad }, { true, training or nil },
                what .. " goes to cuDNN; given statistics have a gradient of our own")
            for i, name in ipairs(names) do
                t.close(got[i], want[i], eps[dtype], what .. ": " .. name)
            end
        end
    end
end

local x = randn(4, 6, 3, { device = "cuda" })
local one, zero = ones(6, { device = "cuda" }), zeros(6, { device = "cuda" })
local function own(fn, name) t.is(select(2, watched(fn)), {}, name) end
own(function() return batch_norm(x, nil, nil, nil, nil, true) end,
    "without weight and bias: our own kernel")
own(function()
    return batch_norm(x:transpose(2, 3):contiguous():transpose(2, 3), nil, nil, one, zero, true)
end, "a transposed image, too")
own(function()
    return batch_norm(randn(73, { device = "cuda" })["2:"]:view(4, 6, 3), nil, nil, one, zero, true)
end, "one that begins beside a multiple of 16 bytes")
own(function() return batch_norm(x:to "f16", nil, nil, one:to "f16", zero:to "f16", true) end,
    "and a weight in f16")
t.done()
