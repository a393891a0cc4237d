-- Lab: fork and wait. The tutorial "Dynamic Parallelism in TorchScript": an ensemble of
-- bidirectional LSTMs, first one layer after the other, then with the two directions of each beside
-- one another, then with all of the models so.
--
-- What to look at
--   1. the three times, and that all three give the same numbers
-- 2. streams: on how many queues the work was. One queue works on one op at a time, however many
-- ops there are
--   3. waits: none. fork and wait order the device's work; the host goes on
-- 4. with --trace the rows of the streams: in parallel.json (Perfetto, or chrome://tracing) the
-- lstm of a model stands
--      above that of another
-- Overlap needs something that would rest otherwise: on `sim`, where a queue is a thread of this
-- machine, processors; on a GPU parts of it that one op leaves free, so try --channels 1024 there.
-- With --device cpu there are no queues, and fork only calls the function.
--
-- gpush fork_wait.lua [--device gpu|cpu|sim|cuda] [--models 4] [--time 50] [--batch 50] [--channels
-- 256] [--trace FILE]

local options = dofile((arg[0]:match ".*/" or "") .. "options.lua")
local opt = options { device = "gpu", models = 4, time = 50, batch = 50, channels = 256,
    trace = false }
local T, B, C = opt.time, opt.batch, opt.channels

-- ---- the model ----

-- Two LSTMs over one sequence, one of them from its end.
local Bidirectional = nn.module "Bidirectional"
function Bidirectional:init()
    self.cell_f = nn.LSTM(C, C)
    self.cell_b = nn.LSTM(C, C)
end
function Bidirectional:backwards(x)
    return (self.cell_b(x:flip(1))):flip(1)
end
function Bidirectional:forward(x)
    local forwards
    if self.forked then
        -- on a stream of its own, while the other direction runs here
        local f = fork(self.cell_f, x)
        local backwards = self:backwards(x)
        forwards = wait(f)
        return cat({ forwards, backwards }, 3)
    end
    forwards = self.cell_f(x)
    return cat({ forwards, self:backwards(x) }, 3)
end

local Ensemble = nn.module "Ensemble"
function Ensemble:init(n)
    self.models = nn.ModuleList()
    for _ = 1, n do self.models:append(Bidirectional()) end
end
function Ensemble:forward(x)
    local results = {}
    for i, model in ipairs(self.models) do
        results[i] = self.forked and fork(model, x) or model(x)
    end
    if self.forked then results = wait(results) end
    return stack(results):sum(1)
end

-- ---- measuring ----

manual_seed(1)
local ensemble = Ensemble(opt.models):to(opt.device)
local x = rand(T, B, C, { device = opt.device })

local function use(cells, models)
    ensemble.forked = models
    for _, model in ipairs(ensemble.models) do model.forked = cells end
end
local function run()
    local _ <close> = no_grad()
    return ensemble(x)
end

local ways = { { "one after the other", false, false }, { "directions forked", true, false },
    { "models forked", false, true },
    { "both", true, true } }

print(("%d bidirectional LSTMs, %d steps, batch %d, %d channels, on %s"):format(
    opt.models, T, B, C, x.device))
-- Milliseconds that run takes, the device's work included: the median of five.
local function time()
    local clock, all = current_stream "cpu", {}
    for i = 1, 5 do
        synchronize()
        local begun = clock:record()
        run()
        synchronize()
        all[i] = begun:elapsed(clock:record()) * 1e3
    end
    table.sort(all)
    return all[3]
end

-- The number of streams with kernels in the profile.
local function streams_of(prof)
    local seen, count = {}, 0
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and not seen[e.stream] then
            seen[e.stream], count = true, count + 1
        end
    end
    return count
end

print(("\n%-20s %12s %9s %8s %6s"):format("", "time", "speed-up", "streams", "waits"))
local slowest, expected
for i, way in ipairs(ways) do
    use(way[2], way[3])
    run() -- allocates memory and streams
    synchronize()
    sync.reset()
    local result
    local prof = profile.run(function()
        result = run()
        synchronize()
    end)
    local waits = 0
    for _, e in ipairs(sync.events()) do waits = waits + (e.why == "explicit" and 0 or 1) end
    if opt.trace then prof:trace(opt.trace) end
    local ms = time()
    if i == 1 then slowest, expected = ms, result end
    print(("%-20s %9.3f ms %9.2f %8d %6d   equal %s"):format(
        way[1], ms, slowest / ms, streams_of(prof), waits, equal(result, expected)))
end
if opt.trace then print("trace of the last written to " .. opt.trace) end
