--!plain
-- nan.watch on a device, where one launch checks many results: how many there are, and that each
-- NaN is found, by its own op and line, whatever happens to its tensor before.
local t = require "tap"
local g = require "gpush"
local nn, watch = g.nn, g.nan.watch
local dev = "sim"

local function line() return debug.getinfo(2, "l").currentline end
local function of(v) return g.tensor(v, { dtype = "f32", device = dev }) end
-- fn's error must hold each text.
local function says(name, texts, fn, ...)
    local ok, msg = pcall(fn, ...)
    msg = tostring(msg)
    local missing = not ok and "" or "an error"
    for _, text in ipairs(texts) do
        if not msg:find(text, 1, true) then missing = missing .. " '" .. text .. "'" end
    end
    if not t.ok(missing == "", name) then io.stderr:write("#   ", msg, "; lacks", missing, "\n") end
    return msg
end
local LOG <const> = "nan.watch: log made 0 NaN and 1 infinite of 2 elements (f32 2)"
local FILE <const> = "tests/tensor/autograd/watch_together.lua"
local function log_at(n) return ("(queued at %s:%d on"):format(FILE, n) end
-- The calls of check_finite that fn makes until the device is done.
local function checks(fn)
    local n = 0
    for _, row in ipairs(g.profile.run(function() fn() g.synchronize() end):rows()) do
        if row.name == "check_finite" then n = n + row.count end
    end
    return n
end

-- ---- how many launches ----

local net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)):to(dev)
local opt = g.optim.SGD(net:parameters(), { lr = 0.01 })
local x, y = g.randn(32, 64, { device = dev }), g.randn(32, 64, { device = dev })
local function step()
    opt:zero_grad()
    local loss = g.mse_loss(net(x), y)
    loss:backward()
    opt:step()
    return loss
end
step()
watch(true)
t.is(checks(step), 1, "one check for a step")
t.is(checks(function() for _ = 1, 5 do step():item() end end), 5, "one each where each waits")
t.is(checks(function() for _ = 1, 5 do step() end end), 5,
    "and where none does: each step overwrites what the one before has made")
t.is(checks(function() for _ = 1, 70 do x:exp() end end), 2, "64 results are checked together")
watch(false)

if dev ~= "cuda" then -- modelled times are exact
    g.sim.card, g.sim.host = "h200", 8e-6
    local function seconds()
        step() g.synchronize()
        local t0 = g.clock()
        for _ = 1, 10 do step():item() end
        return (g.clock() - t0) / 10
    end
    local plain = seconds()
    watch(true)
    local more = seconds() - plain
    watch(false)
    t.ok(more > 7e-6 and more < 12e-6, "a watched step takes a launch more, of 8 us", more * 1e6)
    g.sim.card, g.sim.host = nil, nil
end

-- ---- what is overwritten ----

local at
local function found(name, made, texts)
    at = nil
    local msg = says(name, texts, watch, function() made() end)
    if at then t.ok(msg:find(log_at(at), 1, true), name .. ": its line", msg) end
end
found("a result that is overwritten", function()
    local z = of { 0, 1 }:log() at = line()
    z:fill_(1)
end, { LOG })
found("by a view", function()
    local z = of { 0, 1 }:log() at = line()
    z:select(1, 1):fill_(1)
    z:narrow(1, 1, 1):mul_(0)
end, { LOG })
found("by an op in place that is checked itself", function()
    of { 0, 1 }:log():exp_():add_(1) at = line()
end, { LOG })
found("that is freed, and its memory taken again", function()
    do
        local z = of { 0, 1 }:log() at = line() -- luacheck: ignore
    end
    collectgarbage()
    for k = 1, 10 do of { k, k } end
end, { LOG })
found("an operand that is overwritten", function()
    local z = of { 0 / 0, 1 }
    local _ = z + 1
    z:fill_(1)
end, { "add gave 1 NaN and 0 infinite of 2 elements", "operand 1 was not finite before" })
found("an operand that waits, too", function()
    local z = of { 0, 1 }:log() at = line()
    for _ = 1, 5 do z = z * 0 + 1 end
end, { LOG })
t.ok(pcall(watch, function()
    local mask = of { 0, -math.huge }
    local _ = of { 1, 2 } + mask
    mask:zero_()
end), "an infinity of an operand that is overwritten is passed on")
do
    local w = of { 3e38, 1 }:requires_grad_()
    local sgd = g.optim.SGD({ w }, { lr = 1e38 })
    found("before the parameters are written that were operands", function()
        local z = w * 2 at = line()
        z:sum():backward()
        sgd:step()
    end, { "mul made 0 NaN and 1 infinite of 2 elements" })
end
do -- gradients that are summed, and kept, as without the watch
    local function grads()
        local w = of { { 1, 2 }, { 3, 4 } }:requires_grad_()
        local h = w * 2
        (h * h + h:exp() + h:select(1, 1) * h:select(1, 2)):sum():backward();
        (w * 3):sum():backward()
        return w.grad
    end
    t.is(watch(grads), grads(), "gradients are the same")
end

-- ---- when it is raised ----

found("by the next wait", function()
    local z = of { 0, 1 }:log() at = line()
    local ok, msg = pcall(z.item, z:sum())
    t.ok(not ok and msg:find(LOG, 1, true), "that waits for a value", msg)
    error(msg, 0)
end, { LOG })
found("by an event's that was recorded after it", function()
    local a, e = g.stream(dev), nil
    a:use(function()
        of { 0, 1 }:log() at = line()
        e = a:record()
        of { 1, 1 }:exp()
    end)
    local ok, msg = pcall(e.synchronize, e)
    t.ok(not ok and msg:find(LOG, 1, true), "that is waited for", msg)
    error(msg, 0)
end, { LOG })
found("after an error of the script's", function()
    local z = of { 0, 1 }:log() at = line()
    pcall(error, "of its own")
    z = nil -- luacheck: ignore
end, { LOG })
found("on another stream", function()
    local z = g.stream(dev):use(function()
        local z = of { 0, 1 }:log() at = line()
        return z
    end)
    local _ = (z + 1):exp()
end, { LOG })
found("by two streams in turn", function()
    local a, b = g.stream(dev), g.stream(dev)
    local z = of { 1, 2 }
    for k = 1, 6 do
        z = a:use(function() return z * 1 end)
        if k == 4 then z = b:use(function() return (z * 0):log() end) at = line() end
        z = b:use(function() return z + 1 end)
    end
end, { "log made 0 NaN and 2 infinite" })
found("by what comes from a fork", function()
    local f = g.fork(function()
        local z = of { 0, 1 }:log() at = line()
        return z
    end)
    local _ = g.wait(f) + 1
end, { LOG })
do
    local outer = watch()
    of { 0, 1 }:log() at = line()
    local ok, msg = pcall(watch, function() return of { 1, 2 } * 2 end)
    t.ok(not ok and msg:find(log_at(at), 1, true), "by the end of a watch in a watch", msg)
    watch(false)
    t.ok(tostring(outer):find "off", "which ends both")
end
if arg[-1] then -- at the end of a program that waits for nothing
    local script <const> = [[nan.watch() tensor({0, 1}, {dtype = "f32", device = "sim"}):log()]]
    local p <close> = io.popen(("%s -e '%s' 2>&1"):format(arg[-1], script))
    local text = p:read "a"
    local _, _, status = p:close()
    t.ok(text:find(LOG, 1, true) and status == 1, "by the end of the program", text)
end

-- ---- memory ----

do
    local big = g.ones(1 << 20, { device = dev }) -- 4 MiB
    g.synchronize()
    collectgarbage()
    g.reset_peak(dev)
    local before = g.memory(dev).in_use
    local n = checks(function()
        watch(function()
            for _ = 1, 20 do
                local _ = big * 2
                collectgarbage()
            end
        end)
    end)
    local more = (g.memory(dev).peak - before) / (1 << 20)
    t.ok(more <= 64 + 3 * 4 + 1, "results that wait hold 64 MiB at most", more)
    t.ok(n <= 3, "and are still checked together", n)
    collectgarbage()
    t.is(g.memory(dev).in_use, before, "nothing is held when the watch has ended")
end

do -- diverge sees each result at once
    watch(true)
    local z = of { 0, 1 }:log() at = line()
    local parts = g.diverge(function(v) return (v + 0.5) - 256 end, g.tensor { 256.0 },
        { dtype = "bf16" })
    t.is(parts.op, "sub", "diverge inside a watch")
    says("which finds its own, too", { LOG, log_at(at) }, watch, false)
    t.is(z:tolist()[2], 0.0, "and nothing is raised afterwards")
end
t.done()
