-- Trains on all ranks, saves every step, and goes on from what it finds: requeue.lua FILE STEPS
-- SECONDS, the last being a pause after each step. Rank 0 writes its losses and, when the job is to
-- end, the step at which it was saved.
local file, steps, pause = arg[1], tonumber(arg[2]), tonumber(arg[3])
manual_seed(1)
local model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
local optimizer = optim.Adam(model:parameters(), { lr = 0.01 })
local first = 1
if io.open(file) then
    first = checkpoint.load(file, { model = model, optimizer = optimizer }).step + 1
end
for step = first, steps do
    manual_seed(100 * step + dist.rank)
    local loss = (model(randn(6, 4)) - 1):pow(2):mean()
    optimizer:zero_grad()
    loss:backward()
    for _, p in ipairs(model:parameters()) do
        p.grad = dist.all_reduce(p.grad, { op = "mean" })
    end
    optimizer:step()
    loss = dist.all_reduce(loss:detach(), { op = "mean" }):item()
    if dist.rank == 0 then
        checkpoint.save(file, { model = model, optimizer = optimizer, step = step })
        print(("step %d loss %.9g"):format(step, loss))
        io.stdout:flush()
    end
    if dist.preempted() then
        if dist.rank == 0 then print("saved at step " .. step) end
        return
    end
    local stop = clock() + pause
    while clock() < stop do os.execute "sleep 0.05" end
end
