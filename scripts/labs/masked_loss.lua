-- Lab: a loss function that makes the host wait. A small segmentation net is
-- trained on pictures whose labels are partly to be ignored: those of the value
-- `ignore`, and those of the last class, the background. A batch with less than
-- two different labels left is not learnt from. The first way to write that looks
-- harmless and waits for the device four times a step; three changes, one at a
-- time, take all of the waits away:
--   baseline      nonzero + index assignment, unique, boolean masks
--   where         where() instead of nonzero
--   sort          sort, differences and their count instead of unique
--   ignore_index  cross_entropy's own option instead of masks
--
-- What to look at
--   1. the waits of each stage: ops whose result's size depends on the values
--      (nonzero, unique, a mask) must ask the device how large it is; an op of a
--      fixed size need not;
--   2. the first wait of a step is the long one, whichever op it is: it waits for
--      all that is queued. Taking it away moves the time to the next one, until
--      there is none;
--   3. "host lost": time in which the host could have prepared the next step,
--      queued its ops or read a batch;
--   4. all four give the same loss and the same gradients;
--   5. with --tables, where the time of each stage goes, by region; with --trace
--      PREFIX, one trace a stage of three steps after one that is left out and
--      four that warm up: open PREFIX-baseline.json and PREFIX-ignore_index.json
--      beside each other in Perfetto.
-- On `cpu` nothing waits, and the time that remains is what the ops cost. Where
-- there is no GPU sim stands in for a card: times are modelled, the host's as 8
-- us an op. With --card none sim is the CPU itself: the waits are real, but cost
-- a graphics card much more.
--
-- With --precision bf16 or f16 the net computes in 16 bits and the loss in f32,
-- by autocast; a scaler keeps the gradients of f16 above 0, and its decisions
-- make nobody wait.
--
--   gpush lab masked_loss [--batch 8] [--size 256] [--steps 4]
--     [--device gpu|cpu|sim|cuda] [--card h200] [--host 8e-6] [--workers 2]
--     [--precision f32|bf16|f16] [--tables] [--trace PREFIX]
--     [--loader SECONDS]
--
-- A modelled host takes what a batch's bytes and operations take; --loader puts in
-- its place what a batch takes on some host, as it was measured there.

local here = arg[0]:match ".*/" or ""
local options, precision = dofile(here .. "options.lua"), dofile(here .. "precision.lua")
local card, say = dofile(here .. "card.lua"), dofile(here .. "text.lua")
local verdict = dofile(here .. "verdict.lua")

-- Seconds a batch.
local function seconds(text)
    local n = tonumber(text)
    if n and n >= 1e-9 and n <= 1 then return n end
    return nil, "expected seconds a batch, from 1e-9 to 1"
end

local opt, _ <close> = options({
    device = "gpu", card = "h200", host = 8e-6, batch = 8, size = 256, steps = 4, workers = 2,
    precision = "f32", trace = false, loader = false, tables = {} },
    { trace = "prefix", loader = seconds })
if opt.loader then sim.loader = opt.loader end
local CLASSES, IGNORE, BACKGROUND = 10, 0, 10 -- labels are 1 … 10, or 0 where unknown
local size = opt.size
local forward = precision.of(opt.precision)
-- How far gradients of different ways to one loss may be apart: roundings of 16 bits add up.
local CLOSE = ({ f32 = 1e-4, f16 = 1e-2, bf16 = 5e-2 })[opt.precision]

-- ---- the net ----

local Net = nn.module "Net"

function Net:init(hidden)
    self.conv_in = nn.Conv2d(3, 10, 3, { padding = "same" })
    self.hidden = nn.Sequential()
    for _ = 1, hidden do
        self.hidden:append(nn.Conv2d(10, 10, 3, { padding = "same" }))
        self.hidden:append(nn.ReLU())
    end
    self.conv_out = nn.Conv2d(10, CLASSES, 3, { padding = "same" })
end

function Net:forward(x)
    return self.conv_out(self.hidden(self.conv_in(x):relu()))
end

-- ---- the loss, in parts that the stages exchange ----

local region = profile.region

local function background_by_nonzero(target)
    local indices
    do local _ <close> = region "non_zero"; indices = (target == BACKGROUND):nonzero() end
    do local _ <close> = region "index assignment"
        target:index_put_(indices:unbind(2), IGNORE) -- the image, row and column of each
    end
    return target
end

local function background_by_where(target)
    local _ <close> = region "update background"
    return where(target == BACKGROUND, IGNORE, target)
end

local function loss_of_masked(pred, target)
    local mask, permuted, masked_pred, masked_target
    do local _ <close> = region "create mask"; mask = target ~= IGNORE end
    do local _ <close> = region "permute"; permuted = pred:permute(1, 3, 4, 2) end
    do local _ <close> = region "mask"
        masked_target = target[mask]
        masked_pred = permuted[mask:unsqueeze(-1):expand(-1, -1, -1, CLASSES)]:reshape(-1, CLASSES)
    end
    local _ <close> = region "calc loss"
    return cross_entropy(masked_pred, masked_target)
end

local function loss_of_all(pred, target)
    local _ <close> = region "calc loss"
    return cross_entropy(pred, target, { ignore_index = IGNORE })
end

local function forget_if_one_label_by_unique(target, loss)
    local labels, alone
    do local _ <close> = region "unique"; labels = unique(target) end
    do local _ <close> = region "numel"; alone = labels:numel() < 2 end
    local value = loss()
    return alone and 0 * value or value
end

local function forget_if_one_label_by_sort(target, loss)
    local sorted, steps, labels
    do local _ <close> = region "sort"; sorted = target:flatten(1):sort() end
    do local _ <close> = region "deriv"; steps = sorted["2:"] - sorted[":-2"] end
    do local _ <close> = region "count_nonzero"; labels = steps:count_nonzero() + 1 end
    local value = loss()
    local _ <close> = region "where"
    return where(labels < 2, 0 * value, value)
end

local stages = {
    { "baseline", background_by_nonzero, forget_if_one_label_by_unique, loss_of_masked },
    { "where", background_by_where, forget_if_one_label_by_unique, loss_of_masked },
    { "sort", background_by_where, forget_if_one_label_by_sort, loss_of_masked },
    { "ignore_index", background_by_where, forget_if_one_label_by_sort, loss_of_all },
}

local function masked_loss(stage, pred, target)
    local _, ignore_background, forget_if_one_label, loss = table.unpack(stage)
    target = ignore_background(target)
    return forget_if_one_label(target, function() return loss(pred, target) end)
end

-- ---- training ----

local pictures = data.Dataset { size = 1000000, get = function(self, i)
    return randn(3, size, size), randint(0, CLASSES, { size, size })
end }

local function new_loader()
    return data.Loader { pictures, batch = opt.batch, shuffle = true, workers = opt.workers,
        pin = true, seed = 1 }
end

local function new_model()
    manual_seed(1)
    local model = Net(10):to(opt.device)
    local _, scaler = precision.of(opt.precision)
    return model, optim.SGD(model, { lr = 0.001, momentum = 0.9 }), scaler
end

local function step(stage, model, optimizer, scaler, inputs, labels)
    local outputs, loss
    inputs, labels = inputs:to(opt.device, { non_blocking = true }),
        labels:to(opt.device, { non_blocking = true })
    do local _ <close> = region "forward"; outputs = forward(model, inputs) end
    do local _ <close> = region "loss"
        loss = forward(masked_loss, stage, outputs, labels)
    end
    model:zero_grad()
    do local _ <close> = region "backward"; scaler:scale(loss):backward() end
    do local _ <close> = region "optimizer"
        scaler:step(optimizer)
        scaler:update()
    end
    return loss:detach()
end

-- Loss and gradients of the first batch.
local function first_step(stage)
    local model, optimizer, scaler = new_model()
    for _, inputs, labels in new_loader()() do
        local loss = forward(function()
            return masked_loss(stage, model(inputs:to(opt.device)), labels:to(opt.device))
        end)
        scaler:scale(loss):backward()
        scaler:unscale_(optimizer)
        return loss:detach(), model:parameters()
    end
end

-- How often the steps are measured: once where their time is modelled, which does not vary.
local rounds = 3

-- Seconds per step, as {time =, spread =, min =, at_least =, host =}, the median of the rounds; the
-- waits of a round by line; and its profile. The first step, which allocates memory, is left out.
local function measure(stage)
    local model, optimizer, scaler = new_model()
    local next_batch, times = new_loader()(), {}
    local function take()
        local _, inputs, labels = next_batch()
        step(stage, model, optimizer, scaler, inputs, labels)
    end
    take()
    local prof, lines
    for round = 1, rounds do
        synchronize()
        sync.reset()
        prof = profile.run(function()
            for _ = 1, opt.steps do take() end
            lines = sync.lines()
            -- the device's work belongs to the steps
            local _ <close> = region "synchronize"
            synchronize()
        end)
        times[round] = prof.wall / opt.steps
    end
    table.sort(times)
    return { time = times[(rounds + 1) // 2], spread = times[rounds] - times[1], min = times[1],
        at_least = prof.at_least, kind = prof.kind }, lines, prof
end

-- Waits per step and the host's time in them.
local function total(lines)
    local times, lost = 0, 0
    for _, line in ipairs(lines) do times, lost = times + line.times, lost + line.wait end
    return times / opt.steps, lost / opt.steps
end

local function write_trace(stage)
    local model, optimizer, scaler = new_model()
    local file = ("%s-%s.json"):format(opt.trace, stage[1])
    local prof <close> = profile.schedule {
        wait = 1, warmup = 4, active = 3, repeats = 1, memory = true, shapes = true, stack = true,
        on_trace_ready = function(prof) prof:trace(file) end }
    for number, inputs, labels in new_loader()() do
        step(stage, model, optimizer, scaler, inputs, labels)
        prof:step()
        if number == 8 then break end
    end
    print("wrote " .. file)
end

local label, modelled = card(opt.card, opt.device, opt.host) -- by default PyTorch's 8 us
if modelled then rounds = 1 end
local device = zeros(1, { device = opt.device }).device
say(("%d pictures of %dx%d a step on %s%s in %s"):format(opt.batch, size, size, device, label,
    opt.precision), "")
if opt.tables then print(Net(10)) end

local losses, gradients, rows = {}, {}, {}
for i, stage in ipairs(stages) do
    losses[i], gradients[i] = first_step(stage)
    local figures, lines, prof = measure(stage)
    rows[i] = { figures, lines }
    if opt.tables then
        print(("\n== %s: where the time goes =="):format(stage[1]))
        print(prof:table { group = "region", sort = "cpu_time_total", limit = 16 })
    end
    if opt.trace then write_trace(stage) end
end

print "\n== waits of a step =="
print(("%-13s %-24s %-8s %8s %12s"):format("stage", "line", "why", "times", "host lost ms"))
for i, stage in ipairs(stages) do
    for _, line in ipairs(rows[i][2]) do
        print(("%-13s %-24s %-8s %8.2f %12.3f"):format(
            stage[1], (line.file:match "[^/]*$") .. ":" .. line.line, line.why,
            line.times / opt.steps, line.wait / opt.steps * 1e3))
    end
end

print "\n== result =="
print(("%-13s %10s %8s %12s %12s %12s"):format("stage", "step ms", "waits", "host lost ms", "loss",
    "gradients"))
for i, stage in ipairs(stages) do
    local waits, lost = total(rows[i][2])
    -- the largest difference from the baseline's gradients, over the largest of these
    local worst = 0
    for k, p in ipairs(gradients[i]) do
        local a, b = p.grad, gradients[1][k].grad
        worst = math.max(worst, (a - b):abs():amax():item() / b:abs():amax():item())
    end
    print(("%-13s %10.2f %8.2f %12.3f %12.6f %12s"):format(
        stage[1], rows[i][1].time * 1e3, waits, lost * 1e3, losses[i]:item(),
        worst < CLOSE and "the same" or ("off %.1g"):format(worst)))
end
local conclusions = {}
for i = 2, #stages do conclusions[i - 1] = { stages[i][1], rows[1][1], rows[i][1] } end
verdict.conclude(conclusions, say)
