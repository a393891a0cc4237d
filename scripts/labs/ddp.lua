-- Lab: one training in several processes. A small net is trained on batches of 32
-- rows by 1, 2 and 4 processes, each of which computes its part of every batch
-- and has a copy of the model; gradients are averaged while backward goes on
-- (nn.parallel.DistributedDataParallel).
--
-- What to look at
--   1. the losses: those of one process, however many share the work;
--   2. the time of a step, and its spread: whether a second process pays depends
--      on what a step computes and on the processors, which the processes share;
--   3. communication: how long a step's collectives take on their own stream, and
--      how much of that the host, or the device, waited for ("exposed"); the rest
--      was hidden behind backward;
--   4. the last tables: a delay is put into one rank's steps. Collectives make
--      the others wait for it. Each rank saves a profile, which rank 0 joins:
--      prof:collectives() names the late rank, and the lines between which it was
--      late ("meanwhile").
-- The result says what follows from each.
--
-- It starts its processes itself, by gpush run; where there is no mpirun, only
-- the first. In a job that you have started (gpush run -n 2 ddp.lua) it runs
-- there as it is.
--
--   gpush lab ddp [--device cpu|sim] [--steps 20] [--width 256] [--delay 5]
--     [--slow -1] [--save PREFIX of the ranks' profiles]

local here = arg[0]:match ".*/" or ""
local opt, _ <close> = dofile(here .. "options.lua")({
    device = "cpu", steps = 20, width = 256, delay = 5, slow = -1, save = false },
    { slow = -1, save = "prefix" })
local say, verdict = dofile(here .. "text.lua"), dofile(here .. "verdict.lua")
local BATCH, ROUNDS = 32, 5
local MOST = 1.1 -- times as many processes: as much faster as they may be, with some noise

local function training()
    manual_seed(1)
    local layers = { nn.Linear(64, opt.width), nn.ReLU() }
    for _ = 1, 3 do
        layers[#layers + 1] = nn.Linear(opt.width, opt.width)
        layers[#layers + 1] = nn.ReLU()
    end
    layers[#layers + 1] = nn.Linear(opt.width, 10)
    local model = nn.parallel.DistributedDataParallel(nn.Sequential(layers):to(opt.device),
        { bucket = "256KB" })
    local optimizer = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
    local set = data.TensorDataset(randn(BATCH * 8, 64), randint(1, 10, { BATCH * 8 }))
    local loader = data.Loader { set, batch = BATCH // dist.size, sampler = "distributed",
        shuffle = true, seed = 1 }
    return model, optimizer, loader
end

-- Passes over the data until there were that many steps; gives the last loss, of this rank's part.
local function train(model, optimizer, loader, steps)
    local loss, n = nil, 0
    while n < steps do
        for _, x, y in loader() do
            if n == steps then break end
            n = n + 1
            x, y = x:to(opt.device), y:to(opt.device)
            optimizer:zero_grad()
            loss = cross_entropy(model(x), y)
            if dist.rank == opt.slow then
                local t = clock()
                while clock() - t < opt.delay * 1e-3 do end
            end
            loss:backward()
            optimizer:step()
        end
    end
    synchronize()
    return loss:detach()
end

-- Seconds of this process's collectives while fn ran, and how long the host, or the device, waited
-- for them; and the profile of it.
local function communication(fn)
    local prof = profile.run(fn)
    local own = prof:collectives().ranks[1]
    return own.collectives * 1e-9, own.exposed * 1e-9, prof
end

-- The values of every rank, a row each.
local function rows(values)
    return dist.all_gather(tensor({ values }, { dtype = "f64" })):tolist()
end

-- Who waited for whom: of all ranks' profiles, which become one.
local function show_late(prof)
    local function file(rank) return ("%s-%d.prof"):format(opt.save, rank) end
    prof:save(file(dist.rank))
    dist.barrier()
    if dist.rank > 0 then return end
    local files = {}
    for r = 0, dist.size - 1 do files[r + 1] = file(r) end
    local late = profile.load(files):collectives()
    print(late)
    local row, steps = late[1], opt.steps
    say(("late rank: rank %d, last in %d of %d collectives, late by %.3f ms a step, where %d ms \z
        were put in%s"):format(row.last, row.times_last, row.count, row.late * 1e-6 / steps,
        opt.delay, row.last ~= opt.slow and ": another rank than the delayed one"
        or row.meanwhile and "; it was late " .. row.meanwhile or ""))
end

local function run_rank()
    dist.init { timeout = 60 }
    local model, optimizer, loader = training()
    train(model, optimizer, loader, 4)
    dist.barrier()
    local loss, times = nil, {}
    for round = 1, ROUNDS do
        local t = clock()
        loss = dist.all_reduce(train(model, optimizer, loader, opt.steps), { op = "mean" })
        times[round] = (clock() - t) / opt.steps
    end
    table.sort(times)
    local step, spread = times[ROUNDS // 2 + 1], times[ROUNDS - 1] - times[2]
    local busy, waited, prof = communication(function()
        train(model, optimizer, loader, opt.steps)
    end)
    local all = rows { busy / opt.steps, waited / opt.steps }
    if opt.save then show_late(prof) end
    if dist.rank ~= 0 or opt.save then return end
    print(("  %9d  %9.6f  %9.3f ms  %9.3f ms  %9.3f ms  %9.3f ms"):format(dist.size, loss:item(),
        step * 1e3, spread * 1e3, all[1][1] * 1e3, all[1][2] * 1e3))
end

-- Runs this lab in n processes and prints what they print; gives the numbers of its row, or nil and
-- whether it succeeded.
local function start(n, more)
    io.stdout:flush()
    local options = ("--device %s --steps %d --width %d --delay %d %s"):format(opt.device,
        opt.steps, opt.width, opt.delay, more or "")
    -- the program that runs this lab, whatever options it was given
    local out, row = io.popen(('exec "$(readlink /proc/$PPID/exe)" run -n %d \'%s\' %s'):format(n,
        arg[0], options)), nil
    for line in out:lines() do
        print(line)
        local loss, time, spread, _, exposed = line:match("^ +%d+ +([%d.]+)" ..
            (" +([%d.]+) ms"):rep(4))
        if loss then
            row = { n = n, loss = tonumber(loss), time = time * 1e-3, spread = spread * 1e-3,
                min = 0, exposed = exposed * 1e-3 }
        end
    end
    return row, out:close()
end

-- What follows from the rows.
local function conclude(rows)
    print "\n== result =="
    local low, high = math.huge, -math.huge
    for _, row in ipairs(rows) do low, high = math.min(low, row.loss), math.max(high, row.loss) end
    say(("losses: %s"):format(high - low <= 1e-4 * high and ("equal to %.1e: the same training")
        :format(math.max(high - low, 1e-6)) or ("they differ by %.1e, more than rounding does")
        :format(high - low)))
    for i = 2, #rows do
        local n, times = rows[i].n, rows[1].time / rows[i].time
        say(("%d processes: %s; a step waited %.3f ms for collectives while it was profiled")
            :format(n, times > n * MOST and ("no conclusion: %.2f times as fast is more than %d \z
                processes can give; something held up the first one"):format(times, n)
                or verdict.pays(rows[1], rows[i]), rows[i].exposed * 1e3))
    end
end

local launched = os.getenv "OMPI_COMM_WORLD_SIZE" or os.getenv "PMI_SIZE"
    or os.getenv "SLURM_STEP_NUM_TASKS"
if launched then return run_rank() end

say(("ddp: %d steps of %d rows, 5 layers of %d, on %s (%s)"):format(opt.steps, BATCH, opt.width,
    opt.device, timeit(function() return zeros(1, { device = opt.device }) end, { n = 1 }).kind))
print "  processes  last loss      a step         spread   collectives        exposed"
if not (dist.is_available() and os.execute "command -v mpirun >/dev/null 2>&1") then
    run_rank()
    print "  More need MPI and gpush's plug-in for it: gpush doctor says what brings them."
    return
end
local rows = {}
for i, n in ipairs { 1, 2, 4 } do
    local row, ok = start(n)
    if not ok then os.exit(1) end
    rows[i] = row
end
print(("\nwith %d ms more in each step of rank 1:"):format(opt.delay))
local prefix = os.tmpname()
local _, ok = start(2, ("--slow 1 --save '%s'"):format(prefix))
for _, ending in ipairs { "", "-0.prof", "-1.prof" } do os.remove(prefix .. ending) end
if not ok then os.exit(1) end
conclude(rows)
