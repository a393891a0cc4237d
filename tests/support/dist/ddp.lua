-- For tests/dist/ddp.sh: training on parts of each batch equals training on the whole, and what
-- DistributedDataParallel does with unused parameters, buffers, no_sync and several devices.
dist.init { timeout = 30 }
local n, rank = dist.size, dist.rank
local wrong = 0
local function check(ok, ...)
    if ok then return end
    wrong = wrong + 1
    print(("rank %d of %d: wrong: "):format(rank, n), ...)
end
local DDP = nn.parallel.DistributedDataParallel

local function net(seed)
    manual_seed(seed)
    return nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
        nn.Linear(64, 5))
end
local function part(x)
    local k = x.shape[1] // n
    return x:narrow(1, rank * k + 1, k)
end
local function apart(a, b)
    local most = 0
    for i, p in ipairs(a:parameters()) do
        most = math.max(most, (p - b:parameters()[i]):abs():max():item())
    end
    return most
end

-- 40 steps; the copies differ at first on all ranks but rank 0.
for _, device in ipairs(#arg > 0 and { table.unpack(arg) } or { "cpu", "sim" }) do
    local whole, model = net(1):to(device, "f64"), net(1 + rank):to(device, "f64")
    local ddp = DDP(model, { bucket = "16KB" })
    check(apart(whole, model) == 0, "equal start", device)
    local first = optim.Adam(whole:parameters(), { lr = 0.01 })
    local second = optim.Adam(ddp:parameters(), { lr = 0.01 })
    local loss = nn.CrossEntropyLoss()
    local early
    model[1].weight:register_hook(function() early = ddp.state.next end)
    for step = 1, 40 do
        manual_seed(100 + step)
        local x, y = randn(24, 20, { dtype = "f64" }), randint(1, 5, { 24 })
        first:zero_grad()
        loss(whole(x:to(device)), y:to(device)):backward()
        first:step()
        second:zero_grad()
        loss(ddp(part(x):to(device)), part(y):to(device)):backward()
        second:step()
    end
    check(apart(whole, model) < 1e-6, "after 40 steps", device, apart(whole, model))
    check(n == 1 or early and early > 1, "buckets start while backward runs", device, early)
    local sum = 0
    for _, p in ipairs(model:parameters()) do sum = sum + p:double():sum():item() end
    if rank == 0 then print(("sum %s %a"):format(device, sum)) end
end

do -- in f32
    local whole, model = net(1), net(1)
    local ddp = DDP(model)
    for step = 1, 20 do
        manual_seed(100 + step)
        local x = randn(24, 20)
        for i, each in ipairs { whole, ddp } do
            local sgd = optim.SGD(each:parameters(), { lr = 0.05 })
            sgd:zero_grad()
            local first, count = 1, 24
            if i == 2 then first, count = rank * (24 // n) + 1, 24 // n end
            each(x:narrow(1, first, count)):square():mean():backward()
            sgd:step()
        end
    end
    check(apart(whole, model) < 1e-6, "after 20 steps in f32", apart(whole, model))
end

-- A captured step is replayed with its collectives, and in autocast gradients are averaged, too.
for _, device in ipairs(#arg > 0 and { table.unpack(arg) } or { "cpu", "sim" }) do
    local whole, model, half = net(1):to(device), net(1):to(device), net(1):to(device)
    local ddp, ddp16 = DDP(model, { bucket = "16KB" }), DDP(half)
    local opts = {}
    for i, each in ipairs { whole, model, half } do
        opts[i] = optim.SGD(each:parameters(), { lr = 0.05 })
    end
    local opt = opts[2]
    local step = capture(function(x)
        opt:zero_grad()
        local loss = ddp(x):square():mean()
        loss:backward()
        opt:step()
        return dist.all_reduce(loss:detach(), { op = "mean" })
    end)
    for k = 1, 5 do
        manual_seed(100 + k)
        local x = randn(24, 20)
        opts[1]:zero_grad()
        local loss = whole(x:to(device)):square():mean()
        loss:backward()
        opts[1]:step()
        local mean = step(part(x):to(device))
        check((mean - loss):abs():item() < 1e-6, "loss of a captured step", device, k, mean, loss)
        opts[3]:zero_grad()
        autocast("bf16", function() return ddp16(part(x):to(device)):float():square():mean() end)
            :backward()
        opts[3]:step()
    end
    check(apart(whole, model) < 1e-6, "captured", device, apart(whole, model))
    check(apart(whole, half) < 2e-2, "autocast", device, apart(whole, half))
end

-- The optimizer's state divided among ranks: the same bits as undivided, in two groups, with a
-- parameter in 16 bits, and with a gradient scaler that skips a step.
do
    local runs = {}
    for i, divided in ipairs { false, true } do
        local net16 = net(3)
        net16[5]:to "bf16"
        local params = { { params = net16[1], lr = 0.02 }, { params = net16[3] },
            { params = net16[5] } }
        local opt = divided and optim.ZeroRedundancyOptimizer(params, optim.AdamW, { lr = 0.01 })
            or optim.AdamW(params, { lr = 0.01 })
        runs[i] = { net = net16, opt = opt, scaler = amp.GradScaler() }
    end
    for step = 1, 6 do
        for _, run in ipairs(runs) do
            manual_seed(step)
            run.opt:zero_grad()
            local h = run.net[4](run.net[3](run.net[2](run.net[1](randn(8, 20)))))
            local loss = run.net[5](h:to "bf16"):float():square():mean()
            if step == 4 then loss = loss * math.huge end
            if step > 2 then run.scaler:scale(loss):backward() run.scaler:step(run.opt)
                run.scaler:update()
            else loss:backward() run.opt:step() end
        end
    end
    check(apart(runs[1].net, runs[2].net) == 0, "divided state", apart(runs[1].net, runs[2].net))
    local held, largest, whole = 0, 0, 0
    for _, p in ipairs(runs[2].net:parameters()) do
        whole, largest = whole + p:numel(), math.max(largest, p:numel())
        local state = runs[2].opt.state[p]
        held = held + (state and state.exp_avg:numel() or 0)
    end
    check(dist.all_reduce(tensor { held }):item() == whole, "each state is on one rank")
    check(held <= whole / n + largest, "and none has much more than its part", held, whole)
    local ok, err = pcall(runs[2].opt.state_dict, runs[2].opt)
    check(ok == (n == 1) and (ok or err:find "sharded = true"), "a part is no state", err)
end

-- no_sync adds up; the next backward averages the sums.
local model = net(1)
local ddp, alone = DDP(model), net(1)
manual_seed(5)
local x = randn(24, 20)
ddp:no_sync(function()
    ddp(part(x)):sum():backward()
    check(n == 1 or not model[1].bias.grad:equal(model[1].bias.grad * 0), "no_sync accumulates")
end)
ddp(part(x) * 2):sum():backward()
for r = 0, n - 1 do
    local k = 24 // n
    local mine = x:narrow(1, r * k + 1, k)
    alone(mine):sum():backward()
    alone(mine * 2):sum():backward()
end
for i, p in ipairs(model:parameters()) do
    local want = alone:parameters()[i].grad / n
    check((p.grad - want):abs():max():item() < 1e-5, "no_sync", i)
end

-- A parameter that some ranks do not use; one that none uses.
local Branch = nn.module "Branch"
function Branch:init()
    self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)
end
function Branch:forward(v, both)
    if both then return self.a(v) + self.b(v) end
    return self.a(v)
end
manual_seed(2)
local branch = Branch()
local parallel = DDP(branch)
parallel(ones(1, 2), rank == 0):sum():backward()
check((branch.b.weight.grad - ones(2, 2) / n):abs():max():item() < 1e-6, "unused on some",
    branch.b.weight.grad)
check((branch.a.weight.grad - 1):abs():max():item() < 1e-6, "used by all")
check(branch.c.weight.grad == nil, "used by none")
-- and the one after it works
parallel(ones(1, 2), true):sum():backward()
check((branch.b.bias.grad - (1 / n + 1)):abs():max():item() < 1e-6, "a second backward adds up",
    branch.b.bias.grad)

-- Buffers: rank 0's running means, at each forward.
local norm = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
local wrapped = DDP(norm)
norm[2].running_mean:fill_(rank + 5)
manual_seed(4)
wrapped(randn(8, 3)) -- the same rows on every rank
local means = dist.all_gather(norm[2].running_mean:reshape(1, 4))
check(means:eq(means:narrow(1, 1, 1)):all():item(), "running means", means)

-- Models that differ.
local ok, err = pcall(DDP, rank == 0 and nn.Linear(2, 3) or nn.Linear(2, 4))
check(n == 1 or not ok and err:find(
    "models differ: tensor 1 is parameter 'weight' f32 3x2 on the first rank, parameter 'weight' "
    .. "f32 4x2 on number 2", 1, true), err)
check(not pcall(DDP, nn.Linear(2, 2), { buckets = "1MB" }), "unknown options are refused")
check(not pcall(DDP, nn.Linear(2, 2), { bucket = "much" }), "and sizes")

-- The loader: every sample once, ranks together.
local set = data.TensorDataset(range(1, 21, { dtype = "f32" }))
local loader = data.Loader { set, batch = 2, shuffle = true, sampler = "distributed" }
local mine, count = zeros(21), 0
for _, v in loader() do
    for i = 1, v.shape[1] do mine[v[i]:long():item()] = mine[v[i]:long():item()] + 1 end
    count = count + 1
end
check(count == #loader, "as many batches as it says", count, #loader)
local all = dist.all_reduce(mine)
check(all:sum():item() == (21 + n - 1) // n * n and all:amin():item() == 1, "every sample", all)
check(all:amax():item() <= 2, "at most one round again")

print(("rank %d: %d wrong"):format(rank, wrong))
os.exit(wrong == 0, true)
