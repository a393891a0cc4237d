-- Streams: they overlap, are ordered where they share tensors, and pinned copies leave the host
-- free.
local t = require "tap"
local dev = "sim"

-- A chain long enough to be still running when the next line is reached.
local function slow(x, n)
    for _ = 1, n do x = x + 1 end
    return x
end

local function negative(x) return -x end
-- Enough numbers to keep a device busy for a while; the stand-in for CUDA takes 30 times as long
-- for each.
local many <const> = dev == "cuda" and not require "on_card" (dev) and 1 << 15 or 1 << 20
local big = ones(many, { device = dev })
synchronize(dev)

-- A stream with work that is not done, and its result; the device may have done the first of it
-- where the host had no processor meanwhile.
local function busy_stream()
    for _ = 1, 20 do
        local a = stream(dev)
        local y = a:use(slow, big, 30)
        if a:busy() then return a, y end
    end
    t.ok(false, "a stream that was given work is busy")
end

-- what another stream is still writing
for _ = 1, 5 do
    local b = stream(dev)
    local _, y = busy_stream()
    local z = b:use(function() return y:sum() end)
    t.is(z:item(), 31 * many,
        "a stream reads what another one writes only after it is written")
end

-- what another stream is still reading
do
    local a = stream(dev)
    local x = ones(many, { device = dev })
    synchronize(dev)
    local sums = a:use(function()
        slow(big, 20)
        return x:sum()
    end)
    x:fill_(7)
    t.is(sums:item(), many, "an in-place write waits for another stream's reads")
    t.is(x:sum():item(), 7 * many, "and then happens")
end

-- a pinned source may be written again only when the copy has been made
do
    local host = ones(many):pin_memory()
    t.ok(host:is_pinned() and not ones(3):is_pinned(), "pinned memory knows it is")
    sync.reset()
    slow(big, 30)
    local there = host:to(dev, { non_blocking = true })
    t.is(#sync.events(), 0, "a non-blocking copy from pinned memory does not wait")
    host:fill_(9)
    t.is(there:sum():item(), many, "writing to the pinned source waits for the copy")
    t.is(host:sum():item(), 9 * many, "and then happens")
    sync.reset()
    slow(big, 10)
    ones(4):to(dev, { non_blocking = true })
    t.is(#sync.events(), 1, "from pageable memory it does wait")
end

-- running statistics are written by an op that does not return them
do
    local a = stream(dev)
    local mean, var = zeros(2, { device = dev }), ones(2, { device = dev })
    local x = ones(4, 2, 64, 64, { device = dev })
    synchronize(dev)
    a:use(function()
        slow(big, 20)
        batch_norm(x, mean, var, { training = true, momentum = 1.0 })
    end)
    t.is(mean:sum():item(), 2, "running statistics are read after another stream has updated them")
end

-- and so are the parameters of an optimizer's step, in one list
do
    local a = stream(dev)
    local p, q = zeros(1 << 16, { device = dev, requires_grad = true }),
        zeros(4, { device = dev, requires_grad = true })
    p.grad, q.grad = ones(1 << 16, { device = dev }), ones(4, { device = dev })
    local opt = optim.SGD({ p, q }, { lr = 1 })
    synchronize(dev)
    a:use(function()
        slow(big, 20)
        opt:step()
    end)
    t.is({ q:sum():item(), p:sum():item() }, { -4, -65536 },
        "parameters are read after another stream has stepped them")
end

-- a tensor of this stream, which this stream still reads, is written by another one
for _ = 1, 3 do
    local a = stream(dev)
    local x = ones(many, { device = dev })
    synchronize(dev)
    slow(big, 60)
    local sum = x:sum()
    a:use(function() x:fill_(7) end)
    t.is({ sum:item(), x:sum():item() }, { many, 7 * many },
        "another stream's write waits for this one's reads")
end

-- synchronize() means all streams, and an event's wait reports earlier failures
do
    local a = busy_stream()
    synchronize(dev)
    t.ok(not a:busy(), "synchronize waits for it too")
    local s = current_stream(dev)
    local _ = ones(3, { device = dev }):index_select(1, tensor({ 9 }, { device = dev }))
    local e = s:record()
    while s:busy() do end
    t.error(function() e:synchronize() end, "out of range",
        "an event that is reached already tells of the error before it")
end

-- fork gives a function its own streams; wait returns its results, and the host waits for nothing
do
    local here = current_stream(dev)
    local seen, f, at_work
    for _ = 1, 20 do
        synchronize(dev)
        sync.reset()
        slow(big, 60)
        f = fork(function(x, n)
            seen = current_stream(dev)
            return slow(x, n):sum(), n, nil
        end, big, 30)
        at_work = not f:done() and tostring(f):find("3 values, at work", 1, true)
        if at_work then break end
    end
    t.ok(tostring(seen) ~= tostring(here) and tostring(current_stream(dev)) == tostring(here),
        "fork's ops have another stream")
    t.ok(at_work, "a future knows that it is not done")
    local r = table.pack(wait(f))
    t.is({ r.n, r[2], #sync.events() }, { 3, 30, 0 }, "wait gives all values, and nothing waited")
    t.is(r[1]:item(), 31 * many, "what uses them follows what makes them")
    t.ok(f:done() and tostring(f:wait()) == tostring(r[1]), "a future can be asked again")
    local list = {}
    for i = 1, 20 do list[i] = fork(function() return fork(negative, big["1:4"]):wait() * i end) end
    t.is(stack(wait(list)):sum():item(), -4 * 210, "more forks than streams, each with one within")
    t.is(wait(fork(nn.Identity(), list)), list, "a module can be forked")
    t.error(function() fork(function() error "no" end) end, "no", "an error comes out of fork")
    t.is(tostring(current_stream(dev)), tostring(here), "and the stream is the old one")
    t.error(function() fork(big) end, "fork: fn: expected a function or a module, got a tensor",
        "fork of a tensor")
    t.error(function() wait { f, 3 } end, "number 2 of the list: expected a future, got number",
        "wait for a number")
end

-- once the copies are made, a pinned source is written without a wait
do
    local host = ones(1 << 10):pin_memory()
    host:to(dev, { non_blocking = true })
    synchronize(dev)
    sync.reset()
    slow(big, 30)
    host:fill_(3)
    t.is(#sync.events(), 0, "what is queued besides does not matter to it")
    synchronize(dev)
end

t.done()
