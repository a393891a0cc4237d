-- What a training step asks of CUDA, counted on the stand-in: the same in each step, no memory, no
-- wait, and about as many calls of libraries as there are products.
local t = require "tap"
local fake = require "fake"

local model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
    nn.Linear(4 * 4 * 4, 8), nn.ReLU(), nn.Linear(8, 3)):to "cuda"
local optimizer = optim.Adam(model:parameters(), { lr = 0.01 })
local images, labels = randn(5, 2, 6, 6, { device = "cuda" }), randint(1, 3, { 5 }):to "cuda"
local function step()
    optimizer:zero_grad()
    local loss = model(images):cross_entropy(labels)
    loss:backward()
    optimizer:step()
    return loss
end

local kinds = { "malloc", "free", "sync", "poll", "copy", "library", "launch" }
local function counts_of(n)
    local before, more = {}, {}
    for _, k in ipairs(kinds) do before[k] = fake.count(k) end
    for _ = 1, n do step() end
    for _, k in ipairs(kinds) do more[k] = fake.count(k) - before[k] end
    return more
end
for _ = 1, 5 do step() end
synchronize "cuda"
collectgarbage()
local first = counts_of(10)
for round = 1, 2 do
    local now = counts_of(10)
    local none = { "sync", "copy", "malloc", "free" }
    -- AddressSanitizer has memory undivided, of which the cache gives some back.
    if os.getenv("GPUSH_SAN"):find "address" then none = { "sync", "copy" } end
    for _, k in ipairs(none) do
        t.is(now[k], 0, ("no %s in ten steps, round %d"):format(k, round))
    end
    t.is(now.library, 100, "ten calls of libraries a step: three layers forward, and backward")
    t.is(now.launch, first.launch, "as many launches as before: " .. now.launch)
    -- With ThreadSanitizer the device is so slow that its events are asked for thousands of times.
    if not os.getenv("GPUSH_SAN"):find "thread" then
        t.ok(now.poll <= now.launch, ("%d queries, fewer than launches"):format(now.poll))
    end
end
t.ok(fake.count "cudaLaunchKernel" >= fake.count "launch", "calls are counted by name, too")
t.done()
