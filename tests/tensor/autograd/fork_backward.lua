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
        dev .. ": each fork's backward has its stream, on the cpu one for each processor: " .. n)
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

-- On the cpu ops of the caller's stream would hold up the walk. While a fork's are still ahead they
-- are queued, too, and run once the fork's have all been queued.
local w, x = randn(64, 64, { requires_grad = true }), randn(64, 64, { requires_grad = true })
local function part(a) return a:matmul(w):sin():matmul(w):exp() end

-- When each op was queued, or ran where it was called, and when its kernel ran elsewhere.
local function times(fn)
    local op, kernel = {}, {}
    for _, e in ipairs(profile.run(fn):events()) do
        if e.kind == "op" then op[e.name] = e.start end
        if e.kind == "kernel" then kernel[e.name] = e.start end
    end
    return op, kernel
end

local f = fork(part, x)
local loss = (x:matmul(w):tanh():cos() + wait(f) * 1e-20):sum()
local op, kernel = times(function() loss:backward() end)
t.ok(kernel.cos_dx > op.sin_dx and kernel.tanh_dx > op.sin_dx and kernel.exp_dx > op.sin_dx,
    "cpu: a fork's backward is queued before the caller's runs")
t.ok(op.cos_dx < op.sin_dx and op.tanh_dx < op.sin_dx, "cpu: in the same order as ever")

loss = wait(fork(part, x:cos())):tanh():sum()
op, kernel = times(function() loss:backward() end)
t.ok(op.cos_dx and not kernel.cos_dx, "cpu: with no fork ahead, the caller's runs at once")

-- an ensemble: the sums of gradients have the order that they have on one stream
local function ensemble(forked)
    local parts = {}
    local call = forked and fork or function(fn, a) return fn(a) end
    for i = 2, 4 do parts[i] = call(part, x * (1 / i)) end
    parts[1] = part(x)
    for i = 2, 4 do
        if forked then parts[i] = wait(parts[i]) end
    end
    w.grad, x.grad = nil, nil
    stack(parts):square():mean():backward()
    return w.grad, x.grad
end
local w1, x1 = ensemble(false)
local w2, x2 = ensemble(true)
t.ok(equal(w1, w2) and equal(x1, x2), "cpu: an ensemble's gradients, bit for bit")

-- hooks within: what they read, ask and raise
local function hooked(hook)
    local f = fork(part, x)
    local y = x:matmul(w):tanh()
    y:register_hook(hook)
    w.grad, x.grad = nil, nil
    local l = y:cos() + wait(f)
    l:sum():backward()
    return x.grad
end
local seen, stream
local want = hooked(function() end)
local got = hooked(function(g)
    seen, stream = g:sum():item(), tostring(current_stream "cpu")
    local inner = fork(function() return g * 2 end)
    while not inner:done() do end
    enable_grad(function() (x * 1):sum():backward() end)
    return wait(inner) * 0.5
end)
t.ok(seen == seen and stream == tostring(current_stream "cpu"),
    "cpu: a hook reads a number; its stream is the caller's")
t.ok((got - 1):allclose(want, { rtol = 1e-3, atol = 1e-3 }),
    "cpu: it may fork, wait and run backward")
local kept = current_stream "cpu"
hooked(function() kept = current_stream "cpu" end)
t.is(kept:use(function() return ones(2000):sum():item() end), 2000,
    "cpu: the stream that a hook saw can be used later")

-- an op that fails there raises from backward, with the line where it was queued
local nine = tensor { 9 }
t.error(function()
    hooked(function(g) return g + x:index_select(1, nine * 10):sum() end)
end, "index_select: index 90 is out of range.*fork_backward.lua", "cpu: a deferred op's error")
t.is({ w.grad, x.grad }, {}, "cpu: then no gradient is set")
t.ok(pcall(synchronize), "cpu: and it is raised once")
t.error(function() hooked(function() error "no" end) end, "no", "cpu: a hook's own error")
t.ok(equal(hooked(function() end), want), "cpu: and backward works again")

-- many ops: what is deferred is run in between, and its memory reused
local function deep()
    local f = fork(part, x)
    local y = x
    for _ = 1, 1500 do y = y:sin() end
    w.grad, x.grad = nil, nil
    local l = y + wait(f)
    l:sum():backward()
    y, f, l = nil, nil, nil
    collectgarbage()
    return cuda.memory_allocated "cpu"
end
deep()
local before = deep()
for _ = 1, 3 do deep() end
t.is(deep(), before, "cpu: a walk of many deferred ops leaves no memory behind")
t.done()
