-- Backward runs each op on the stream of its forward: forks overlap there, too, and the gradients
-- are those of the same program on one stream, bit for bit.
local t = require "tap"

-- The streams on which kernels of the ops whose names begin so ran while fn did.
local function streams_of(fn, name)
    local seen, n = {}, 0
    local prof = profile.run(function()
        fn()
        synchronize()
    end)
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and e.name:find("^" .. name) and not seen[e.stream] then
            seen[e.stream], n = true, n + 1
        end
    end
    return n, seen
end

deterministic(true) -- a fork's products take one thread on the cpu, the caller's all of them
for _, dev in ipairs { "sim", "cpu" } do
    local here = tostring(current_stream(dev))
    local opts = { device = dev, requires_grad = true }
    manual_seed(3)
    local w, x = randn(64, 64, opts), randn(64, 64, opts)
    local function model(a) return (a:matmul(w)):sin():matmul(w) end

    -- one loss of four forks that share a parameter and an input
    local function loss(forked)
        local parts, trunk = {}, x * 2
        for i = 1, 4 do parts[i] = forked and fork(model, trunk + i) or model(trunk + i) end
        if forked then parts = wait(parts) end
        return stack(parts):sum()
    end
    local function grads(forked)
        w.grad, x.grad = nil, nil
        loss(forked):backward()
        return w.grad, x.grad
    end
    local w1, x1 = grads(false)
    local w2, x2 = grads(true)
    t.ok(equal(w1, w2) and equal(x1, x2), dev .. ": gradients of forks, bit for bit")

    local l = loss(true)
    local n = streams_of(function() l:backward() end, "sin")
    t.ok(dev == "cpu" and n >= 1 or n == 4,
        dev .. ": each fork's backward has its stream, of the cpu as many as processors: " .. n)
    l = loss(false)
    t.is(streams_of(function() l:backward() end, "sin"), dev == "cpu" and 0 or 1,
        dev .. ": without forks one, the caller's")
    t.is(tostring(current_stream(dev)), here,
        dev .. ": the caller's stream is current again")

    -- what is queued after backward comes after it
    loss(true):backward()
    w.grad, x.grad = nil, nil
    loss(true):backward()
    t.ok(equal(w.grad * 1, w1) and equal(x.grad + 0, x1), dev .. ": used immediately")

    -- a hook that raises, within a fork's step, leaves the caller's stream
    local h = wait(fork(function()
        local y = x * 3
        y:register_hook(function() error "no" end)
        return y:sum()
    end))
    t.error(function() h:backward() end, "no", dev .. ": a hook's error comes out of backward")
    t.is(tostring(current_stream(dev)), here,
        dev .. ": and the stream is the old one")

    -- gradients of gradients
    local function twice(forked)
        local f = function(a) return (a ^ 3):sum() end
        local y = forked and wait(fork(f, x)) or f(x)
        local g = grad(y, { x }, { create_graph = true })[1]
        return grad((g * g):sum(), { x })[1]
    end
    t.ok(equal(twice(true), twice(false)), dev .. ": gradients of gradients, bit for bit")
end
t.done()
