-- For scripts/bench/dist. As a job of ranks, `collectives`, `step`, `deep` or `start`: rank 0
-- prints what it took, in seconds. As one process, `alone`: the step; `compare ROOT LOOP`: runs all
-- of them and their peers in turns, and prints ratios of medians with their targets.
local here = arg[0]:match "^(.*)/" or "."

local function median(list)
    table.sort(list)
    return list[(#list + 1) // 2]
end

-- ---- what is measured ----

-- The median over batches of the time of a call.
local function timed(fn, batches, times)
    local took = {}
    for b = 0, batches do -- the first is not counted
        dist.barrier()
        local t0 = clock()
        for _ = 1, times do fn() end
        took[b] = (clock() - t0) / times
    end
    took[0] = nil
    return median(took)
end

local function show(name, seconds)
    if dist.rank == 0 then print(("%s\t%.9f"):format(name, seconds)) end
end

local mode = {}

function mode.start() dist.barrier() end

function mode.collectives()
    local small, large = ones(2), zeros(25000000)
    show("small", timed(function() dist.all_reduce(small) end, 21, 200))
    show("large", timed(function() dist.all_reduce(large) end, 5, 1))
end

local function masked_step(options)
    local run = assert(loadfile(here .. "/masked.lua"))("step")("baseline", options)
    run()
    return run
end

function mode.step()
    threads(1)
    show("step", timed(masked_step { batch = 4, wrap = nn.parallel.DistributedDataParallel }, 5, 1))
end

function mode.alone()
    threads(2)
    show("step", timed(masked_step { batch = 8 }, 5, 1))
end

-- A model of 20 layers, about 21 million parameters: saves the profile of 4 steps of each rank.
function mode.deep()
    threads(1)
    local net = nn.Sequential()
    for _ = 1, 20 do net:append(nn.Linear(1024, 1024)):append(nn.ReLU()) end
    local ddp = nn.parallel.DistributedDataParallel(net, { bucket = "8MB" })
    local sgd, x = optim.SGD(ddp:parameters(), { lr = 1e-3 }), randn(256, 1024)
    local function step()
        sgd:zero_grad()
        ddp(x):square():mean():backward()
        sgd:step()
    end
    step()
    local prof = profile.run(function() for _ = 1, 4 do step() end end)
    prof:save(("%s.%d"):format(arg[2], dist.rank))
end

-- ---- and compared ----

-- What a command prints, as numbers by name, and how long it took.
local function run(command)
    local t0, found = clock(), {}
    local pipe <close> = assert(io.popen(command .. " 2>&1"))
    local text = pipe:read "a"
    local ok = pipe:close()
    if not ok then error("failed: " .. command .. "\n" .. text, 0) end
    for name, value in text:gmatch "(%w+)\t([%d.]+)" do found[name] = tonumber(value) end
    found.wall = clock() - t0
    return found
end

local function first_of(command)
    local pipe <close> = assert(io.popen(command))
    return (pipe:read "l")
end

-- The commands: gpush's own, MPI's loop, and torch's, where there is one.
local function commands(root, loop)
    local gpush = first_of "readlink /proc/$PPID/exe"
    local python = os.getenv "GPUSH_BENCH_PYTHON" or "python3"
    local own = ("'%s' %%s '%s/scripts/bench/dist.lua' %%s"):format(gpush, root)
    local mpirun = first_of(("'%s' run -n 2 --print x"):format(gpush)):match "exec (.*) \"%$gpush\""
    local torch = [[export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 OMP_NUM_THREADS=1
        RANK=1 '%s' '%s/scripts/bench/dist.py' %s &
        RANK=0 '%s' '%s/scripts/bench/dist.py' %s && wait $!]]
    local has_torch = os.execute(("'%s' -c 'import torch.distributed' 2>/dev/null"):format(python))
    return {
        ranks = function(what) return run(own:format("run -n 2", what)) end,
        alone = function(what) return run(own:format("", what)) end,
        loop = function() return run(("%s '%s'"):format(mpirun, loop)) end,
        torch = has_torch and function(what)
            return run(torch:format(python, root, what, python, root, what))
        end,
        gpush = gpush,
    }
end

-- The share of the collectives' time that ranks wait for.
local function exposed(c)
    local file = os.tmpname()
    c.ranks("deep " .. file)
    local rows = profile.load { file .. ".0", file .. ".1" }:collectives().ranks
    for _, name in ipairs { "", ".0", ".1" } do os.remove(file .. name) end
    local seen, all = 0, 0
    for _, r in ipairs(rows) do seen, all = seen + r.exposed, all + r.collectives end
    return seen / all
end

-- Each measures rows, and calls take(name, gpush's time, the peer's).
local parts = {
    collectives = function(c, take)
        local loop, own = c.loop(), c.ranks "collectives"
        take("all_reduce of 8 bytes", own.small, loop.small)
        take("all_reduce of 100 MB", own.large, loop.large)
        local torch = c.torch and c.torch "collectives"
        if not torch then return end
        take("8 bytes, of gloo's", own.small, torch.small)
        take("100 MB, of gloo's", own.large, torch.large)
    end,
    step = function(c, take)
        local step = c.ranks "step".step
        take("step of masked_loss", step, c.alone "alone".step)
        if c.torch then take("step, of torch's", step, c.torch "step".step) end
    end,
    exposed = function(c, take) take("exposed, 20 layers", exposed(c), 1) end,
    start = function(c, take)
        if c.torch then take("start of 2 ranks", c.ranks "start".wall, c.torch "start".wall) end
    end,
}

-- Of 8 bytes, 2 us are added to 1.3 of the loop's time.
local targets = {
    ["all_reduce of 8 bytes"] = function(peer) return 1.3 + 2e-6 / peer end,
    ["all_reduce of 100 MB"] = function() return 1 / 0.8 end,
    ["step of masked_loss"] = function() return 1.1 end,
    ["exposed, 20 layers"] = function() return 0.2 end,
    ["start of 2 ranks"] = function() return 0.1 end,
    ["step, of torch's"] = function() return 0.5 end,
}

local function load_now()
    local f <close> = io.open "/proc/loadavg"
    return f and f:read "a":match "^%S+" or "?"
end

-- --rounds N, --only PART; 5 and all without.
local function read(args)
    local given = { rounds = 5 }
    for i = 1, #args, 2 do
        local name, value = args[i]:match "^%-%-(%l+)$", args[i + 1]
        if name == "rounds" then value = math.tointeger(tonumber(value)) end
        assert(value and (name == "rounds" or name == "only" and parts[value]),
            "usage: scripts/bench/dist [--rounds N] [--only collectives|step|exposed|start]")
        given[name] = value
    end
    return given
end

function mode.compare(_, root, loop, ...)
    local given, c, names, got = read { ... }, commands(root, loop), {}, {}
    local rounds = given.rounds
    local function take(name, mine, peer)
        if not got[name] then
            names[#names + 1], got[name] = name, { mine = {}, peer = {}, ratio = {} }
        end
        local g = got[name]
        table.insert(g.mine, mine)
        table.insert(g.peer, peer)
        table.insert(g.ratio, mine / peer)
    end
    for round = 1, rounds do
        io.stderr:write(("round %d of %d, load %s\n"):format(round, rounds, load_now()))
        for _, part in ipairs { "collectives", "step", "exposed", "start" } do
            if not given.only or given.only == part then parts[part](c, take) end
        end
    end
    print(("%-24s %12s %12s %8s %8s  met"):format("2 ranks", "gpush", "peer", "ratio", "target"))
    for _, name in ipairs(names) do
        local g = got[name]
        local peer, ratio = median(g.peer), median(g.ratio)
        local target = targets[name] and targets[name](peer)
        print(("%-24s %9.3f ms %9.3f ms %8.3f %8s  %s"):format(name, median(g.mine) * 1e3,
            peer * 1e3, ratio, target and ("%.3f"):format(target) or "",
            not target and "" or ratio <= target and "yes" or "no"))
    end
    print(("medians of %d rounds, in turns; load %s at the end"):format(rounds, load_now()))
end

assert(mode[arg[1]], "expected a mode")(table.unpack(arg))
