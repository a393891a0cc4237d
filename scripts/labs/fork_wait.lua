-- Lab: fork and wait. The tutorial "Dynamic Parallelism in TorchScript": an
-- ensemble of bidirectional LSTMs, first one layer after the other, then with the
-- two directions of each beside one another, then with all of the models so;
-- forward, and backward, which runs each op on the stream of its forward.
--
-- What to look at
--   1. the times, and that all ways give the same numbers;
--   2. streams: on how many queues the work was. One queue works on one op at a
--      time, however many ops there are; on the cpu the caller, which runs ops
--      itself, is none of them;
--   3. overlap: the time of all kernels on streams over the time in which there
--      was one. 1.00 is one at a time. It is a profile's: on cuda that launches a
--      layer's kernels one by one, where the times are of graphs, so look at the
--      speed-up there;
--   4. waits: none. fork and wait order the device's work; the host goes on. Only
--      the cpu's host, which has the results to use itself, joins the forks;
--   5. with --trace FILE the rows of the streams (Perfetto, or chrome://tracing):
--      the lstm of a model stands above that of another.
-- Overlap needs something that would rest otherwise: on a GPU parts of it that
-- one op leaves free, so try --channels 1024 there; on the cpu, where a queue is
-- a thread, processors. Where there is no GPU sim stands in for a card, whose
-- times are modelled; --card none shows sim as it is, threads.
--
--   gpush lab fork_wait [--device gpu|cpu|sim|cuda] [--card h200] [--host 8e-6]
--     [--models 4] [--time 50] [--batch 50] [--channels 256] [--threads 1]
--     [--trace FILE]

local here = arg[0]:match ".*/" or ""
local options, card = dofile(here .. "options.lua"), dofile(here .. "card.lua")
local verdict, say = dofile(here .. "verdict.lua"), dofile(here .. "text.lua")
local opt, _ <close> = options({
    device = "gpu", card = "h200", host = 8e-6, models = 4, time = 50, batch = 50, channels = 256,
    threads = 1, trace = false }, { trace = "write" })
local T, B, C = opt.time, opt.batch, opt.channels
local label, modelled = card(opt.card, opt.device, opt.host) -- by default PyTorch's 8 us
-- Threads of an op: those of a fork have one, so more are compared with more; a modelled card's
-- ops are computed one at a time.
if not modelled then threads(opt.threads) end

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
local function train()
    ensemble:zero_grad()
    ensemble(x):sum():backward()
end

local ways = { { "one after the other", false, false }, { "directions forked", true, false },
    { "models forked", false, true },
    { "both", true, true } }

say(("%d bidirectional LSTMs, %d steps, batch %d, %d channels, on %s%s"):format(
    opt.models, T, B, C, x.device, label), "")
-- Seconds that fn takes, the device's work included, {time =, spread =, min =}: the median of five;
-- one where it is modelled, which does not vary.
local function time(fn)
    local clock, all, n = current_stream "cpu", {}, not modelled and 5 or 1
    for i = 1, n do
        synchronize()
        local begun = clock:record()
        fn()
        synchronize()
        all[i] = begun:elapsed(clock:record())
    end
    table.sort(all)
    return { time = all[(n + 1) // 2], spread = all[n] - all[1], min = all[1] }
end

-- The number of streams with kernels in the profile, and the overlap of these.
local function streams_of(prof)
    local seen, count, all = {}, 0, {}
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" then
            if not seen[e.stream] then seen[e.stream], count = true, count + 1 end
            all[#all + 1] = e
        end
    end
    table.sort(all, function(a, b) return a.start < b.start end)
    local sum, busy, stop = 0, 0, 0
    for _, e in ipairs(all) do
        sum = sum + e.stop - e.start
        busy = busy + math.max(0, e.stop - math.max(stop, e.start))
        stop = math.max(stop, e.stop)
    end
    return count, busy > 0 and sum / busy or 1
end

-- Waits of the host that nobody asked for; joins are what wait is for.
local function waits()
    local n = 0
    for _, e in ipairs(sync.events()) do
        n = n + ((e.why == "explicit" or e.why == "join") and 0 or 1)
    end
    return n
end

print(("\n%-19s %9s %6s %9s %6s %7s %7s %5s %s"):format("milliseconds", "forward", "ratio",
    "backward", "ratio", "streams", "overlap", "waits", "equal"))
local first, expected
local conclusions = {}
for _, way in ipairs(ways) do
    use(way[2], way[3])
    for _ = 1, not modelled and 4 or 1 do -- memory, streams, and on cuda graphs for each of these
        run()
        train()
    end
    synchronize()
    sync.reset()
    local result
    local prof = profile.run(function()
        result = run()
        train()
        synchronize()
    end)
    local waited = waits()
    if opt.trace then prof:trace(opt.trace) end
    local streams, overlap = streams_of(prof)
    local forward, all = time(run), time(train)
    forward.at_least, all.at_least = prof.at_least, prof.at_least
    forward.kind, all.kind = prof.kind, prof.kind
    if first then
        conclusions[#conclusions + 1] = { way[1], first[2], all }
    end
    first = first or { forward, all }
    if expected == nil then expected = result end
    local function ratio(a, b) -- none of bounds
        return prof.at_least and "-" or ("%.2f"):format(a.time / b.time)
    end
    print(("%-19s %9.3f %6s %9.3f %6s %7d %7.2f %5d %s"):format(way[1], forward.time * 1e3,
        ratio(first[1], forward), all.time * 1e3, ratio(first[2], all), streams, overlap, waited,
        equal(result, expected)))
end
print "\n== result, with backward =="
verdict.conclude(conclusions, say)
if opt.trace then print("trace of the last written to " .. opt.trace) end
