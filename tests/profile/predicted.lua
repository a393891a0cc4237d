--!plain
-- Predictions against what then happens: programs with planted waits run on a modelled card, whose
-- times are the same each time, and again with the wait really taken out.
local t = require "tap"
local g = require "gpush"

g.sim.card, g.sim.host = "t4", 8e-6
g.sync.mode = "off"
local w = g.randn(384, 384, { device = "sim" })
local x0 = g.randn(384, 384, { device = "sim" })
local image = g.randn(4, 32, 32, 32, { device = "sim" })
local filter = g.randn(32, 32, 3, 3, { device = "sim" })

-- A step of some kernels on x, which take longer than the host's part of them.
local function layer(x)
    for _ = 1, 3 do x = (x:matmul(w) / 384):tanh() end
    return x
end
-- Each takes whether it waits, and does the same ops but for that.
local programs <const> = {
    { "item", "item of a loss at each step", function(waits)
        local x = x0
        for _ = 1, 4 do
            x = layer(x)
            local loss = x:sum()
            if waits then loss:item() end
        end
    end },
    { "item", "a condition at each step", function(waits)
        local x = x0
        for _ = 1, 4 do
            x = layer(x)
            local good = x:le(1):all()
            if waits then good:item() end
        end
    end },
    { "tolist", "a list of a row", function(waits)
        local x = x0
        for _ = 1, 4 do
            x = layer(x)
            local row = x[1]
            if waits then row:tolist() end
        end
    end },
    { "copy", "a copy of rows to the host, pinned or not", function(waits)
        local x = x0
        for _ = 1, 4 do
            x = layer(x)
            local rows = x["1:16"]
            local _ = rows:to("cpu", { non_blocking = not waits })
        end
    end },
    { "print", "convolutions, and a text of each", function(waits)
        local y = image
        for _ = 1, 4 do
            for _ = 1, 4 do y = g.conv2d(y, filter, { padding = 1 }) / 32 end
            local high = y:max()
            if waits then local _ = tostring(high) end
        end
    end },
}
local function wall(fn, waits)
    g.synchronize()
    local p = g.profile.run({ flops = true }, fn, waits)
    return p.wall_ns, p
end
for _, it in ipairs(programs) do
    local why, name, fn = it[1], it[2], it[3]
    local before, p = wall(fn, true)
    local after = wall(fn, false)
    local predicted = p:whatif { without = why }.wall_ns
    t.ok(after < 0.95 * before, ("%s: the wait costs something: %d, %d ns"):format(name, before,
        after))
    t.ok(math.abs(predicted - after) <= 0.1 * after, ("%s: %d ns predicted, %d without it"):format(
        name, predicted, after))
    t.ok(math.abs(before - p:savings().all - after) <= 0.1 * after, name .. ": savings say so, too")
end

-- The same with another host, and with a copy beside kernels.
local function near(is, expected, what)
    t.ok(math.abs(is - expected) <= 0.02 * expected, ("%s: %d ns predicted, %d then"):format(what,
        is, expected))
end
local _, p = wall(programs[1][3], true)
g.sim.host = 2e-6
near(p:whatif({ host = 0.25 }).wall_ns, wall(programs[1][3], true), "a host four times as fast")
g.sim.host = 8e-6
local half = g.sim.cards().t4
half.name, half.bandwidth, half.f32_matrix = "T4, faster", half.bandwidth * 2, half.f32_matrix * 2
g.sim.card = half
near(p:whatif({ device = half }).wall_ns, wall(programs[1][3], true), "a card twice as fast")
g.sim.card = nil

-- ---- a loader's workers, in real time ----
-- Each sample takes `rest` seconds of the worker's script, and each step `step` of the main one's.
-- Both sleep meanwhile, so that it matters little who else uses the processors.
local function sleep(seconds) io.popen(("sleep %.3f"):format(seconds)):close() end
local function pass(rest, step)
    local set = { size = 8, rest = rest, get = function(self, i)
        io.popen(("sleep %.3f"):format(self.rest)):close()
        return full({ 4 }, i)
    end }
    local loader = g.data.Loader { set, batch = 1, workers = 1, prefetch = 1 }
    return g.profile.run(function()
        for _, x in loader() do
            sleep(step)
            x:sum():item()
        end
    end)
end
local predicted, real, off = math.huge, math.huge, nil
for _ = 1, 8 do
    predicted = math.min(predicted, pass(0.06, 0.01):whatif({ host = 0.5 }).wall_ns)
    real = math.min(real, pass(0.03, 0.005).wall_ns)
    off = predicted / real - 1
    if math.abs(off) <= 0.1 then break end
end
-- What starting `sleep` takes is halved, too: where that is long, it is up to half too little.
t.ok(off <= 0.4 and off > -0.55, ("workers and steps in half the time: %.1f %% off"):format(
    100 * off))
t.done()
