-- Convolutions of 16 bits on the stand-in for CUDA: cuDNN gets channels as the fastest dim, in
-- eights, and everything else, and what it refuses so, as it is.
local t = require "tap"
local g, fake = require "gpush", require "fake"

local function kernels_of(fn)
    local last, other, out = 0, 0, nil
    local prof = profile.run({}, function() out = fn() end)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel" and e.kernel and e.kernel:match "fake_convolution%S*"
        if name == "fake_convolution_channels_last" then last = last + 1
        elseif name then other = other + 1 end
    end
    return last, other, out
end

-- Forward, and all gradients, of a convolution and a transposed one.
local function all(x, w, bias, device, options)
    local function leaf(v) return v:detach():to(device):requires_grad_() end
    x, w, bias = leaf(x), leaf(w), leaf(bias)
    local dims = w.ndim - 2
    local y = g["conv" .. dims .. "d"](x, w, bias, options)
    local z = g["conv_transpose" .. dims .. "d"](y, w)
    z:sum():backward()
    local list = {}
    for i, v in ipairs { y, z, x.grad, w.grad, bias.grad } do
        list[i] = v:detach():to "cpu":to "f32"
    end
    return list
end

for i, case in ipairs {
    { { 2, 8, 5, 6 }, { 16, 8, 3, 2 }, { stride = 1 }, true },
    { { 8, 7, 5 }, { 8, 8, 2, 3 }, { padding = "same" }, true }, -- no images; uneven padding
    { { 2, 8, 9 }, { 16, 8, 3 }, { stride = 2, padding = 1 }, true },
    { { 1, 8, 3, 4, 5 }, { 8, 8, 2, 2, 2 }, { dilation = 2, padding = 1 }, true },
    { { 2, 4, 5, 6 }, { 16, 4, 3, 2 }, { stride = 1 }, false },
    { { 2, 16, 5, 6 }, { 16, 8, 3, 2 }, { groups = 2 }, false, true },
} do
    local xs, ws, options, last, groups = table.unpack(case)
    for _, dtype in ipairs { "f16", "bf16", "f32" } do
        local x, w, bias = randn(xs):to(dtype), randn(ws):to(dtype), randn(ws[1]):to(dtype)
        local run = all
        if groups then
            function run(a, b, c, device)
                local y = conv2d(a:to(device), b:to(device), c:to(device), options)
                return { y:to "cpu":to "f32" }
            end
        end
        local right = run(x, w, bias, "cpu", options)
        local turned, plain, got = kernels_of(function()
            return run(x, w, bias, "cuda", options)
        end)
        local what = ("case %d, %s"):format(i, dtype)
        if last and dtype ~= "f32" then
            t.ok(turned > 0 and plain <= 1, what .. ": channels last") -- with its bias, by one
        else
            t.ok(turned == 0 and plain > 0, what .. ": as it is")
        end
        for k, y in ipairs(right) do
            local eps = (dtype == "f32" and 1e-5 or 1e-2) * (1 + y:abs():amax():item())
            t.close(got[k]:tolist(), y:tolist(), eps, what .. ": result " .. k)
        end
    end
end

-- An image whose memory is so needs no copy, and the result is the same.
local x, w = randn(2, 9, 7, 16):to "f16", randn(8, 16, 3, 3):to "f16"
local there, kernel = x:cuda():permute(1, 4, 2, 3), w:cuda()
local copies = {}
for i, image in ipairs { there, there:contiguous() } do
    local prof = profile.run({}, function()
        t.close(conv2d(image, kernel):cpu():to "f32":tolist(),
            conv2d(x:permute(1, 4, 2, 3), w):to "f32":tolist(), 5e-2, "of an image, view " .. i)
    end)
    copies[i] = 0
    for _, e in ipairs(prof:events()) do
        local own = e.kind == "kernel" and e.kernel and not e.kernel:find "fake_"
        copies[i] = copies[i] + (own and 1 or 0)
    end
end
t.is(copies[2] - copies[1], 1, "an image with channels last is not copied")

-- In 16 bits a convolution without a bias, and its gradients, are graphs of cuDNN's; with one, in
-- f32, where all algorithms are tried, and where the graph is refused, its older interface runs.
do
    local function graphs(fn)
        synchronize()
        local before, y = fake.count "convolution as a graph", fn()
        synchronize()
        return fake.count "convolution as a graph" - before, y
    end
    local here = { x = randn(2, 8, 6, 5):to "bf16", k = randn(8, 8, 3, 3):to "bf16",
        dy = randn(2, 8, 6, 5):to "bf16", b = ones(8):to "bf16" }
    local there = {}
    for name, v in pairs(here) do there[name] = v:cuda() end
    local function plain(v) return conv2d(v.x, v.k, nil, 1, 1) end
    local function check(want, fn, what)
        local n, y = graphs(function() return fn(there) end)
        t.is(n, want, what .. ": graphs")
        t.close(y:cpu():float():tolist(), fn(here):float():tolist(), 6e-2, what .. ": the result")
    end
    for time = 1, 2 do
        check(1, plain, "forward, time " .. time)
        check(1, function(v) return conv_input_grad(v.dy, v.k, v.x.shape, 1, 1) end,
            "the image's gradient, time " .. time)
        check(1, function(v) return conv_weight_grad(v.x, v.dy, v.k.shape, 1, 1) end,
            "the weight's gradient, time " .. time)
        check(0, function(v) return conv2d(v.x, v.k, v.b, 1, 1) end, "with a bias, time " .. time)
        check(0, function(v) return conv2d(v.x:float(), v.k:float(), nil, 1, 1) end, "in f32")
    end
    cuda.benchmark(true)
    check(0, plain, "where all are tried")
    cuda.benchmark(false)
    stream "cuda":use(function()
        fake.fault "slow=1+:3"
        check(1, plain, "on another stream")
        fake.fault "slow=0"
    end)
    fake.fault "plan=1+"
    check(0, function(v) return conv2d(v.x, v.k, nil, 2, 1) end, "without a plan")
    fake.fault "plan=0 engine=1+"
    check(0, function(v) return conv2d(v.x, v.k, nil, 1, 2) end, "without an engine")
    fake.fault "engine=0"
end

-- Refused so, it runs as it is, and is not tried again.
fake.fault "channels_last=1+"
for time = 1, 2 do
    local image = randn(1, 8, 11, 4):to "f16"
    local turned, plain, y = kernels_of(function()
        return conv2d(image:cuda(), w:narrow(2, 1, 8):cuda())
    end)
    t.ok(turned == 0 and plain == 1, "refused with channels last, time " .. time)
    t.close(y:cpu():to "f32":tolist(), conv2d(image, w:narrow(2, 1, 8)):to "f32":tolist(), 3e-2,
        "the result is right")
    if time == 1 then fake.fault "channels_last=0" end
end
t.done()
