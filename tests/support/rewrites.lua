--!plain
-- Pairs of a program and its rewrite, for predictions: what prof:whatif says of a record of the
-- first beside what the second takes (scripts/dev/accuracy, tests/profile/accuracy.lua).
-- rewrites(device, work) returns the list of them: {kind =, name =, whatif = its options, first =,
-- second = functions}. work(n) keeps the host busy for about n us. Kinds are those of
-- profile/replay/accuracy.def; slow: it takes tenths of a second.
local g = require "gpush"

local STEPS <const> = 24

-- ---- what a step computes ----

-- Each returns a function that queues a step's kernels, about 1 ms of them on a core, and returns
-- a tensor of rows. n: samples of a batch.
local bodies = { images = { conv = 32, attention = 16 } } -- rows of each image, sequence

function bodies.dense(opt, n)
    local x, w = g.randn(n, 192, opt), g.randn(192, 192, opt)
    return function()
        local y = x
        for _ = 1, 3 do y = (y:matmul(w) / 192):tanh() end
        return y
    end
end
function bodies.conv(opt, n)
    local x, w = g.randn(n // 32, 16, 24, 24, opt), g.randn(16, 16, 3, 3, opt)
    return function()
        local y = x
        for _ = 1, 3 do y = g.conv2d(y, w, { padding = 1 }):relu() / 16 end
        return y:flatten(2)
    end
end
function bodies.rows(opt, n)
    local x = g.randn(n, 512, opt)
    return function() return g.layer_norm(x:softmax(2) * 3, { 512 }):gelu() end
end
function bodies.scan(opt, n)
    local x = g.randn(n, 256, opt)
    return function() return (x:cumsum(2):sort(2)) * 2 end
end
function bodies.train(opt, n)
    local x, w, v = g.randn(n, 96, opt), g.randn(96, 128, opt) / 10, g.randn(128, 16, opt) / 10
    w:requires_grad_(true)
    v:requires_grad_(true)
    return function()
        local y = x:matmul(w):relu():matmul(v)
        y:square():mean():backward()
        g.no_grad(function()
            for _, p in ipairs { w, v } do
                p:sub_(p.grad * 0.01)
                p.grad = nil
            end
        end)
        return y:detach()
    end
end
function bodies.attention(opt, n)
    local q = g.randn(n // 16, 4, 64, 32, opt)
    return function() return g.scaled_dot_product_attention(q, q, q):flatten(2) end
end

-- ---- waits that are taken out ----

-- A step's read of its result, and the same value read without a wait.
local function later(x) return x:to("cpu", { non_blocking = true }) end
local reads = {
    item = function(y, waits)
        local loss = y:sum()
        return waits and loss:item() or later(loss)
    end,
    condition = function(y, waits)
        local good = y:le(1e9):all()
        return waits and good:item() or later(good)
    end,
    tolist = function(y, waits)
        local row = y[1]["1:8"]
        return waits and row:tolist() or later(row)
    end,
    copy = function(y, waits) return waits and y["1:1"]:to "cpu" or later(y["1:1"]) end,
    print = function(y, waits)
        local high = y:max()
        return waits and tostring(high) or later(high)
    end,
}
local WHY <const> = { item = "item", condition = "item", tolist = "tolist", copy = "copy",
    print = "print" }

-- steps of a body with `us` of the host's work, each read if it waits.
local function loop(steps, step, read, waits, work, us)
    return function()
        for _ = 1, steps do
            local y = step()
            if read then read(y, waits) end
            work(us)
        end
    end
end

local function add_waits(list, opt, work)
    local each = { { "dense", "item", 100 }, { "dense", "item", 1000 }, { "conv", "item", 300 },
        { "rows", "item", 2000 }, { "train", "item", 500 }, { "dense", "condition", 500 },
        { "scan", "condition", 300 }, { "attention", "condition", 1000 }, { "rows", "tolist", 100 },
        { "conv", "tolist", 1000 }, { "dense", "copy", 300 }, { "scan", "copy", 1000 },
        { "conv", "print", 300 }, { "train", "print", 2000 } }
    for _, it in ipairs(each) do
        local body, form, us = it[1], it[2], it[3]
        local step, read = bodies[body](opt, 256), reads[form]
        list[#list + 1] = { kind = "wait", whatif = { without = WHY[form] },
            name = ("%s, %s a step, %d us of the script"):format(body, form, us),
            first = loop(STEPS, step, read, true, work, us),
            second = loop(STEPS, step, read, false, work, us) }
    end
end

-- ---- half of the host's time ----

local function add_hosts(list, opt, work)
    local each = { { "dense", nil, 3000 }, { "dense", "item", 2000 }, { "conv", nil, 4000 },
        { "conv", "item", 1000 }, { "rows", nil, 3000 }, { "rows", "item", 3000 },
        { "scan", nil, 1000 }, { "train", "item", 2000 }, { "train", nil, 4000 },
        { "attention", nil, 2000 }, { "attention", "print", 3000 } }
    for _, it in ipairs(each) do
        local body, form, us = it[1], it[2], it[3]
        local step, read = bodies[body](opt, 256), reads[form]
        list[#list + 1] = { kind = "host", whatif = { host = 0.5 },
            name = ("%s, %s, %d us of the script a step"):format(body, form or "no wait", us),
            first = loop(STEPS, step, read, true, work, us),
            second = loop(STEPS, step, read, true, work, us / 2) }
    end
    for _, it in ipairs { { "dense", "item", 1000 }, { "conv", nil, 3000 } } do
        local body, form, us = it[1], it[2], it[3]
        local step, read = bodies[body](opt, 256), reads[form]
        list[#list + 1] = { kind = "host", whatif = { without = "script" }, slow = true,
            name = ("%s, %s, %d us of the script a step, then none"):format(body, form or "no wait",
                us),
            first = loop(STEPS, step, read, true, work, us),
            second = loop(STEPS, step, read, true, work, 0) }
    end
end

-- ---- copies beside kernels ----

-- Steps that copy `floats` numbers to the device, or from it, and compute something else; beside
-- the kernels on a stream of their own.
local function copying(body, opt, floats, back, beside, work, us)
    local step, host = body, g.randn(floats):pin_memory()
    local kept = g.randn(floats, opt)
    local stream = g.stream(opt.device)
    local function copy()
        return back and kept:to("cpu", { non_blocking = true })
            or host:to(opt.device, { non_blocking = true })
    end
    return function()
        local held = {} -- all of them, or one program would use warm memory again, and one not
        for i = 1, STEPS do
            local got = beside and stream:use(copy) or not beside and copy()
            if not back and beside then g.current_stream(opt.device):wait(stream:record()) end
            local y = step()
            local _ = back or y[1][1] + got["1:64"]:sum()
            held[i] = got
            work(us)
        end
    end
end

local function add_overlaps(list, opt, work)
    local each = { { "dense", 1 << 19, false, 256 }, { "dense", 1 << 20, false, 256 },
        { "conv", 1 << 19, false, 256 }, { "conv", 1 << 20, false, 512 },
        { "rows", 1 << 18, false, 512 }, { "train", 1 << 19, false, 512 },
        { "attention", 1 << 19, false, 256 }, { "dense", 1 << 19, true, 256 },
        { "conv", 1 << 20, true, 256 }, { "scan", 1 << 18, true, 128 } }
    for _, it in ipairs(each) do
        local body, floats, back, n = it[1], it[2], it[3], it[4]
        local step = bodies[body](opt, n)
        list[#list + 1] = { kind = "overlap", whatif = { overlap = true },
            name = ("%s, %d KiB %s the device a step"):format(body, floats >> 8,
                back and "from" or "to"),
            first = copying(step, opt, floats, back, false, work, 20),
            second = copying(step, opt, floats, back, true, work, 20) }
    end
end

-- ---- batches of twice as many samples ----

local function add_batches(list, opt, work)
    local each = { { "dense", nil, 200, 100 }, { "dense", "item", 96, 500 },
        { "dense", "item", 200, 100 }, { "conv", nil, 96, 100 }, { "conv", "item", 160, 1000 },
        { "rows", nil, 300, 100 }, { "rows", "item", 200, 300 }, { "scan", "condition", 100, 100 },
        { "train", "item", 120, 300 }, { "train", nil, 260, 50 }, { "attention", "item", 96, 200 } }
    for _, it in ipairs(each) do
        local body, form, n, us = it[1], it[2], it[3], it[4]
        local dims = bodies.images[body] and n // bodies.images[body] or n
        list[#list + 1] = { kind = "batch", whatif = { batch = { dims, 2 * dims } },
            name = ("%s, %s, %d samples"):format(body, form or "no wait", dims),
            first = loop(STEPS, bodies[body](opt, n), reads[form], true, work, us),
            second = loop(STEPS, bodies[body](opt, 2 * n), reads[form], true, work, us) }
    end
end

-- ---- an op that takes half the time ----

local function add_scales(list, opt, work)
    local each = { { nil, 320, 100 }, { "item", 320, 300 }, { nil, 640, 1000 },
        { "print", 200, 100 } }
    for _, it in ipairs(each) do
        local form, inner, us = it[1], it[2], it[3]
        local x = g.randn(192, 192, opt)
        local function step_of(n)
            local v, w = g.randn(192, n, opt), g.randn(n, 192, opt)
            return function()
                local y = x
                for _ = 1, 2 do y = (y:matmul(v):matmul(w) / n):tanh():softmax(2) end
                return y
            end
        end
        list[#list + 1] = { kind = "scale", whatif = { scale = { matmul = 0.5 } },
            name = ("products by %d and by %d columns, %s"):format(inner, inner // 2,
                form or "no wait"),
            first = loop(STEPS, step_of(inner), reads[form], true, work, us),
            second = loop(STEPS, step_of(inner // 2), reads[form], true, work, us) }
    end
end

-- ---- loaders with workers ----

-- A step with a batch x.
local function use(step, x, opt)
    local y = step()
    local _ = (y:sum() + x:to(opt.device):sum()):item()
end

-- A pass over `count` batches of `batch` samples, each of which takes `ms` of a disk's or a
-- network's time, for which a sleep stands, or of a processor's.
local function passing(opt, count, batch, ms, busy, workers, step)
    local set = { size = count * batch, ms = ms, busy = busy, get = function(self, i)
        if not self.busy then io.popen(("sleep %.4f"):format(self.ms / 1e3)):close() end
        local s = 0
        for k = 1, self.busy and self.ms * 1e5 or 0 do s = s + k % 7 end
        return full({ 4 }, i + s * 0)
    end }
    return function()
        local loader = g.data.Loader { set, batch = batch, workers = workers }
        for _, x in loader() do use(step, x, opt) end
    end
end

-- The same with batches that are there.
local function passing_ready(opt, count, batch, step)
    local ready = {}
    for i = 1, count do ready[i] = g.full({ batch, 4 }, i) end
    return function()
        for _, x in ipairs(ready) do use(step, x, opt) end
    end
end

local function add_loaders(list, opt, work)
    local each = { { 0, 1, 10, 1, 12, false }, { 0, 2, 10, 2, 8, false }, { 0, 4, 12, 4, 5, false },
        { 1, 2, 10, 1, 25, false }, { 1, 2, 8, 4, 6, false }, { 1, 3, 12, 1, 25, false },
        { 2, 4, 16, 1, 25, false }, { 2, 4, 8, 8, 6, false }, { 0, 1, 10, 4, 1, true },
        { 0, 1, 10, 1, 8, true }, { 1, 2, 10, 2, 6, true }, { 0, 2, 10, 4, 3, true } }
    for _, it in ipairs(each) do
        local was, is, count, batch, ms, busy = table.unpack(it)
        local step = bodies.dense(opt, 256)
        list[#list + 1] = { kind = "workers", whatif = { workers = is }, slow = true,
            name = ("%d to %d workers, batches of %d, %d ms of a %s a sample"):format(was, is,
                batch, ms, busy and "processor" or "disk"),
            first = passing(opt, count, batch, ms, busy, was, step),
            second = passing(opt, count, batch, ms, busy, is, step) }
    end
    for _, it in ipairs { { 0, 20, 4, 2, true }, { 1, 30, 1, 6, false } } do
        local workers, count, batch, ms, busy = table.unpack(it)
        local step = bodies.dense(opt, 1024)
        list[#list + 1] = { kind = "workers", whatif = { without = "loader" }, slow = true,
            name = ("%d workers, batches of %d, %d ms of a %s a sample, then none"):format(workers,
                batch, ms, busy and "processor" or "disk"),
            first = passing(opt, count, batch, ms, busy, workers, step),
            second = passing_ready(opt, count, batch, step) }
    end
end

return function(device, work)
    local list, opt = {}, { device = device }
    add_waits(list, opt, work)
    add_hosts(list, opt, work)
    add_overlaps(list, opt, work)
    add_batches(list, opt, work)
    add_scales(list, opt, work)
    add_loaders(list, opt, work)
    return list
end
