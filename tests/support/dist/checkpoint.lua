-- For tests/dist/checkpoints.sh: checkpoint.lua train FILE [STEP at which rank 1 is killed, once],
-- load FILE, or faults FILE.
local what, file, deadly = arg[1], arg[2], tonumber(arg[3])

-- Writing above a limit of the file size is an error in this program, as on a full disk, where the
-- signal is ignored: mpirun does not pass that on.
if what == "faults" and not os.getenv "IGNORES_XFSZ" then
    local command = "trap '' XFSZ; IGNORES_XFSZ=1 exec '%s' '%s' faults '%s'"
    os.exit(os.execute(command:format(arg[-1], arg[0], file)))
end
dist.init { timeout = 60 }
local n, rank = dist.size, dist.rank

local function new_run(seed)
    manual_seed(seed)
    local model = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 3))
    local ddp = nn.parallel.DistributedDataParallel(model)
    return { model = model, ddp = ddp, optimizer = optim.ZeroRedundancyOptimizer(
        model, optim.AdamW, { lr = 0.05 }) }
end

local function part(x)
    local k = x.shape[1] // n
    return x:narrow(1, rank * k + 1, k)
end

local function step(run)
    local x, y = randn(12, 6), randint(1, 3, { 12 })
    run.optimizer:zero_grad()
    local loss = cross_entropy(run.ddp(part(x)), part(y))
    loss:backward()
    run.optimizer:step()
    return dist.all_reduce(loss:detach(), { op = "mean" }):item()
end

local function save(run, at)
    checkpoint.save(file, { model = run.model, optimizer = run.optimizer, step = at },
        { sharded = true })
end

if what == "train" then
    local run, from = new_run(1), 0
    manual_seed(2)
    if checkpoint.exists(file) then
        from = checkpoint.load(file, { model = run.model, optimizer = run.optimizer }).step
    end
    if rank == 0 then print("from " .. from) end
    for i = from + 1, 8 do
        if i == deadly and rank == 1 and os.getenv "GPUSH_RESTARTS" == "0" then
            os.execute "kill -9 $PPID"
        end
        local loss = step(run)
        if rank == 0 then print(("step %d %a"):format(i, loss)) end
        if i % 2 == 0 then save(run, i) end
    end
elseif what == "load" then
    local run, saved = new_run(7), {}
    local data = checkpoint.load(file, { model = run.model, optimizer = run.optimizer })
    for _, r in ipairs { 1, 2 } do -- what the shards hold, read one by one
        local shard = file:gsub("%.safetensors", ("-4-%05d-of-00002%%0"):format(r))
        for name, x in pairs(safetensors.load(shard)) do
            if saved[name] then print("twice", name) end
            saved[name] = x
        end
    end
    local same, count, states = true, 0, 0
    for name, x in pairs(run.model:state_dict()) do
        same, count = same and equal(x, saved["model." .. name]), count + 1
    end
    for i, p in ipairs(run.model:parameters()) do
        local state = run.optimizer.state[p]
        if state then
            same = same and equal(state.exp_avg, saved[("optimizer.state.%d.exp_avg"):format(i)])
            states = states + 1
        end
    end
    states = dist.all_reduce(tensor { states }):item()
    print("equal", same and count == 4 and states == 4 and data.step == 8)
    step(run)
else
    local function fails(name, pattern, fn)
        local ok, message = pcall(fn)
        if ok or not tostring(message):find(pattern) then
            print(("rank %d wrong: %s: %s"):format(rank, name, message))
        end
    end
    local function keep(objects)
        return function() checkpoint.save(file, objects, { sharded = true }) end
    end
    fails("values that differ", "'losses%.1' differs between ranks: 0 on rank 0, 1 on rank 1",
        keep { losses = { rank } })
    fails("a key on one rank", "on rank 1: 'a' has the key 3",
        keep { a = rank == 1 and { [3] = 1 } or {} })
    if rank == 1 then os.execute "prlimit --pid $PPID --fsize=4096:4096" end
    fails("a full disk on one rank", "on rank 1: cannot write .*: File too large",
        keep { a = nn.Linear(100, 100), b = nn.Linear(100, 100) })
    print(checkpoint.load(file).step == 8 and "whole" or " wrong")
end
os.exit(true, true)
