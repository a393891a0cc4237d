-- Lab: seven tips. William Falcon's "7 tips for squeezing maximum performance
-- from PyTorch", each written badly and well, both measured, and whether it pays
-- here. Both ways give the same numbers; the lab checks that.
--
-- What to look at
--   1. workers          the bad loop makes a batch, then runs a step, then makes
--                       a batch: its time is the sum. With workers it is the
--                       longer of the two, and loader:report() says which that is
--   2. pinned memory    a copy from ordinary memory makes the host wait until it
--                       is done; from pinned memory it is queued like an op.
--                       Waits: one a step against none
--   3. transfers        item() once a step empties the device's queue once a
--                       step; a detached sum stays there
--   4. on the device    rand(…):to(device) makes numbers here and waits for their
--                       way there
--   5. several devices  why one process each: the host's share of a step does not
--                       shrink
--   6. 16 bits          half the memory and half the bytes to copy; time only
--                       where the device computes in 16 bits and is what the step
--                       waits for. A step under autocast keeps its parameters in
--                       f32 and its results in 16 bits
--   7. profiling        the table that says which of the other six is worth your
--                       time
-- The last lines say which tips pay here, and which lose. Then run it with
-- --device cpu: nothing waits there, so tips 2 and 3 change little. Where there
-- is no GPU sim stands in for a card: times are modelled, the host's as 8 us an
-- op, but for tips 1 and 7, where the loader's work is measured. With --card none
-- the device is the CPU itself: waits are real, but device and host share the
-- processors.
--
--   gpush lab seven_tips [--device gpu|cpu|sim|cuda] [--card h200] [--host 8e-6]
--     [--size 64] [--steps 20]

local here = arg[0]:match ".*/" or ""
local options, verdict = dofile(here .. "options.lua"), dofile(here .. "verdict.lua")
local card, say = dofile(here .. "card.lua"), dofile(here .. "text.lua")
local opt, _ <close> = options { device = "gpu", card = "h200", host = 8e-6, size = 64, steps = 20 }
local label, modelled = card(opt.card, opt.device, opt.host) -- by default PyTorch's 8 us
local device, size, steps = zeros(1, { device = opt.device }).device, opt.size, opt.steps
local BATCH, CLASSES = 8, 4

-- ---- measuring ----

-- What f takes: seconds, the device's work included; the host's part, its waits aside, but nil
-- where f returns its loader, too, which the host also works or waits for; the waits, their time,
-- and its result.
local function measure(f)
    synchronize()
    sync.reset()
    local clock = current_stream "cpu"
    local begun = clock:record()
    local result, loader = f()
    local waits, lost = 0, 0
    for _, line in ipairs(sync.lines()) do waits, lost = waits + line.times, lost + line.wait end
    local queued = begun:elapsed(clock:record())
    synchronize() -- the device's work belongs to the time
    return { time = begun:elapsed(clock:record()), host = not loader and queued - lost or nil,
        waits = waits, lost = lost, result = result }
end

-- Adds what only a profile knows: the number of ops, and those whose times are bounds.
local function add_counts(figures, run)
    local prof = profile.run(run)
    figures.at_least, figures.kind, figures.ops = prof.at_least, prof.kind, 0
    for _, event in ipairs(prof:events()) do
        if event.kind == "op" then figures.ops = figures.ops + 1 end
    end
end

-- Measures a way three times, after it ran once for a profile, and once in turn with the others:
-- the fastest counts.
local function best_of(ways)
    local best, slowest, lines, counts = {}, {}, nil, {}
    for k, way in ipairs(ways) do
        counts[k] = {}
        add_counts(counts[k], way())
    end
    for round = 0, 3 do
        for k, way in ipairs(ways) do
            local run = measure(way())
            if round > 0 then
                slowest[k] = math.max(slowest[k] or 0, run.time)
                if not best[k] or run.time < best[k].time then best[k] = run end
            end
            if k == 1 then lines = sync.lines() end
        end
    end
    for k = 1, #ways do
        best[k].min, best[k].spread = best[k].time, slowest[k] - best[k].time
        for _, name in ipairs { "at_least", "kind", "ops" } do best[k][name] = counts[k][name] end
    end
    return best[1], best[2], lines
end

local number -- of the tip
local conclusions = {}
local function conclude(name, a, b)
    local text = ("%s: %s"):format(name, verdict.pays(a, b))
    say(text, "  ")
    conclusions[#conclusions + 1] = { ("%d. %s"):format(number, name), a, b }
end

-- Prints two ways next to each other, and what follows. Each is a function that prepares and
-- returns the measured function. Also prints where the first one waited.
local function beside(bad_name, bad, good_name, good, short)
    local row = "  %-44s %8.3f ms %3d waits, %.3f ms"
    local slow, quick, lines = best_of { bad, good }
    print(row:format(bad_name, slow.time * 1e3, slow.waits, slow.lost * 1e3))
    for _, l in ipairs(lines) do
        if l.times >= steps then
            say(("line %d waits: %s; %s"):format(l.line, l.what, l.advice), "    ")
        end
    end
    print(row:format(good_name, quick.time * 1e3, quick.waits, quick.lost * 1e3))
    print("  equal " .. tostring(slow.result:to "cpu":equal(quick.result:to "cpu")))
    conclude(short, slow, quick)
end

local function tip(n, title)
    number = n
    print(("\n== %d. %s =="):format(n, title))
end

-- ---- a small model and its step ----

local function new_model()
    manual_seed(1)
    local model = nn.Sequential(nn.Conv2d(3, 8, 3, { padding = 1 }), nn.ReLU(),
        nn.Conv2d(8, 8, 3, { padding = 1 }),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES)):to(device)
    return model, optim.SGD(model, { lr = 0.01, momentum = 0.9 })
end

local function step(model, optimizer, x, y)
    local scores, loss
    do local _ <close> = profile.region "forward"; scores = model(x) end
    do local _ <close> = profile.region "loss"; loss = cross_entropy(scores, y) end
    optimizer:zero_grad()
    do local _ <close> = profile.region "backward"; loss:backward() end
    do local _ <close> = profile.region "optimizer"; optimizer:step() end
    return loss
end

-- Pictures that take a while to make: noise, enlarged, cropped and rotated, as in augmentation.
local T = data.transforms
local augment = T.Compose { T.Resize(size + 8), T.RandomCrop(size), T.RandomHorizontalFlip(),
    T.Normalize(0, 1) }
local pictures = data.Dataset { size = BATCH * steps, get = function(self, i)
    return augment(randn(3, size, size)), 1 + i % CLASSES
end }

print(("seven tips: %d steps of %d pictures of %dx%d on %s%s"):format(
    steps, BATCH, size, size, device, label))
print "each way: its time, its waits, and how long these took"

-- ---- 1. workers ----

tip(1, "workers in the loader")
local host = sim.host
local function measured(on) -- the host's and the loader's own time, not ops that are counted
    if modelled then sim.host = not on and host or nil end
    if modelled and on then print("  (the host's time is measured here, for the loader's)") end
end
measured(true)
local reports = {}
local function train(workers)
    return function()
        local model, optimizer = new_model()
        local loader = data.Loader { pictures, batch = BATCH, workers = workers, device = device,
            seed = 1 }
        reports[workers] = loader
        return function()
            local last
            for _, x, y in loader() do last = step(model, optimizer, x, y) end
            return last:detach(), loader
        end
    end
end
beside("batches made in the loop: workers = 0", train(0), "while the step runs: workers = 2",
    train(2), "workers")
for _, workers in ipairs { 0, 2 } do reports[workers]:report() end
measured(false)

-- ---- 2. pinned memory ----

tip(2, "pinned memory, copies that do not wait")
local batches = {}
for k = 1, steps do batches[k] = randn(BATCH, 3, size, size) end
local weights = randn(8, 3, 3, 3, { device = device })
local function copies(list, non_blocking)
    return function()
        local sum = zeros({}, { device = device })
        for k = 1, steps do
            local x = list[k]:to(device, { non_blocking = non_blocking })
            sum = sum + conv2d(x, weights):mean()
        end
        return sum
    end
end
beside("x:to(device)", function() return copies(batches, false) end,
    "pinned, x:to(device, {non_blocking = true})", function()
        local pinned = {}
        for k = 1, steps do pinned[k] = batches[k]:pin_memory() end
        return copies(pinned, true)
    end, "pinned memory")
say("(data.Loader{…, device = device} builds its batches in pinned memory and copies them so)",
    "  ")

-- ---- 3. transfers ----

tip(3, "no item(), cpu(), tolist() in the loop")
local x = randn(BATCH, 3, size, size, { device = device })
local y = randint(1, CLASSES, { BATCH }, { device = device })
beside("total = total + loss:item()", function()
    local model, optimizer = new_model()
    return function()
        local total = 0
        for _ = 1, steps do total = total + step(model, optimizer, x, y):item() end
        return tensor(total)
    end
end, "total = total + loss:detach(), item() last", function()
    local model, optimizer = new_model()
    return function()
        local total = zeros({}, { device = device, dtype = "f64" })
        for _ = 1, steps do total = total + step(model, optimizer, x, y):detach() end
        return tensor(total:item())
    end
end, "a detached sum")

-- ---- 4. constructing on the device ----

tip(4, "tensors made on the device")
local function sum_of(make)
    return function()
        manual_seed(2) -- the numbers are the same on every device
        return function()
            local sum = zeros({}, { device = device })
            for _ = 1, steps do sum = sum + make():mean() end
            return sum
        end
    end
end
local n = 4 * size
beside("rand(n, n):to(device)", sum_of(function() return rand(n, n):to(device) end),
    "rand(n, n, {device = device})", sum_of(function() return rand(n, n, { device = device }) end),
    "made on the device")

-- ---- 5. several devices ----

tip(5, "several devices: a process each, not threads of one")
local model, optimizer = new_model()
local t = timeit(function() step(model, optimizer, x, y) end, { print = false })
if device == "cpu" then
    say(("A step takes %.3f ms, all of it the host's, which computes on the cpu itself.")
        :format(t.time * 1e3), "  ")
else
    say(("A step takes %.3f ms; for %.3f ms of it the host is busy giving the device its ops.")
        :format(t.time * 1e3, t.host * 1e3), "  ")
end
print [[
  That part is one script's, and a script is one thread: for N devices it
  queues N times as many ops, one after the other. PyTorch's DataParallel has
  threads for it, of which Python lets one run at a time, and copies the model
  to every device in every step; DistributedDataParallel has a process for
  each device, and only gradients travel. So here: workers of a loader are
  threads, because each has a Lua state of its own and nothing to share; a
  model that is trained on several devices is a process each.]]
if device ~= "cpu" then
    print "  devices    one process, host time a step    a process each"
    for _, n in ipairs { 1, 2, 4, 8 } do
        print(("  %7d    %24.3f ms    %11.3f ms   (computed)"):format(
            n, n * t.host * 1e3, t.host * 1e3))
    end
end

if dist.is_available() and os.execute "command -v mpirun >/dev/null 2>&1" then
    print "  With a process each, by nn.parallel.DistributedDataParallel (the lab ddp.lua):"
    io.stdout:flush()
    os.execute(('exec "$(readlink /proc/$PPID/exe)" \'%sddp.lua\' --steps %d --width 64'):format(
        arg[0]:match ".*/" or "", opt.steps))
else
    print "  The lab ddp.lua does so where MPI is: gpush doctor says what brings it."
end

-- ---- 6. 16 bits ----

tip(6, "16 bits")
local a = randn(4 * size, 4 * size)
local function chain(dtype)
    local m = a:to(device, dtype)
    return function()
        local p = m
        for _ = 1, 4 do p = p:matmul(m) / (2 * math.sqrt(size)) end
        return p
    end
end
local wide, narrow = chain "f32", chain "f16"
local both = compare({ f32 = wide, f16 = narrow }, { print = false })
local exact, rounded = wide(), narrow()
local function line(name, p, figures)
    print(("  %s  %9.3f ms  %8.1f KiB a tensor"):format(
        name, figures.time * 1e3, p:numel() * p:element_size() / 1024))
end
line("f32", exact, both.f32)
line("f16", rounded, both.f16)
print(("  largest difference %.2g of %.3g"):format(
    (exact - rounded:float()):abs():amax():item(), exact:abs():amax():item()))
conclude("products in f16", both.f32, both.f16)
if device == "cpu" or device:find "^sim" and not modelled then
    say("(" .. device ..
        " computes f16 as f32 and rounds: what is to be gained here is memory and bytes to copy)",
        "  ")
end

-- A whole step, as autocast makes it. What backward keeps is most of its memory.
local deep_x = randn(BATCH, 3, size, size, { device = device })
local function deep_step(dtype)
    manual_seed(1)
    local layers = { nn.Conv2d(3, 16, 3, { padding = 1 }), nn.ReLU() }
    for _ = 1, 3 do
        table.insert(layers, nn.Conv2d(16, 16, 3, { padding = 1 }))
        table.insert(layers, nn.ReLU())
    end
    local net = nn.Sequential(nn.Sequential(layers), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(16, CLASSES)):to(device)
    local sgd = optim.SGD(net, { lr = 0.01, momentum = 0.9 })
    local scaler = amp.GradScaler { enabled = dtype == "f16" }
    local scope = { dtype = dtype or "bf16", enabled = dtype ~= nil }
    return function()
        local loss = autocast(scope, function() return cross_entropy(net(deep_x), y) end)
        sgd:zero_grad()
        scaler:scale(loss):backward()
        scaler:step(sgd)
        scaler:update()
        return loss:detach()
    end
end
-- Bytes that a step needs beyond those in use before it.
local function memory_of(run)
    synchronize()
    collectgarbage()
    reset_peak(device)
    local before = memory(device).in_use
    local loss = run()
    synchronize()
    return memory(device).peak - before, loss:item()
end
local ways = { { "f32" }, { "bf16", "bf16" }, { "f16", "f16" } }
local timed = {}
for _, way in ipairs(ways) do
    way.run = deep_step(way[2])
    way.run()
    way.bytes, way.loss = memory_of(way.run)
    timed[way[1]] = way.run
end
local times = compare(timed, { print = false })
print "  a step of four convolutions: under autocast, f16 with a scaler"
for _, way in ipairs(ways) do
    print(("  %-5s %9.3f ms  %9.1f KiB more at its peak, %3d %%   loss %.5f"):format(way[1],
        times[way[1]].time * 1e3, way.bytes / 1024, 100 * way.bytes // ways[1].bytes, way.loss))
    add_counts(times[way[1]], way.run)
end
conclude("a step in bf16", times.f32, times.bf16)
conclude("a step in f16", times.f32, times.f16)

-- ---- 7. profiling ----

tip(7, "profile, then decide")
measured(true)
local loader = data.Loader { pictures, batch = BATCH, workers = 0, device = device, seed = 1 }
local prof = profile.run(function()
    for k, x, y in loader() do
        step(model, optimizer, x, y)
        if k == math.min(steps, 4) then break end
    end
    synchronize()
end)
print(prof:table { group = "region", sort = "cpu_time_total", limit = 8 })
say("`loader: make a batch` is tip 1's; waits are tips 2 to 4's; what is left is the model's own.",
    "  ")

print "\n== result: what pays here =="
verdict.conclude(conclusions, say)
