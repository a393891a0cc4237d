-- When the collector runs in full, beside tensors on a card (the stand-in for CUDA has 4 GiB): not
-- for each large result, as that takes the host longer than the card needs for it; but before
-- tensors that only wait for it fill the card.
local t = require "tap"
local MB = 1000000

-- Something that only a full collection frees: it is old when it is dropped. Says whether it was
-- freed.
local function old()
    local freed = false
    local kept = setmetatable({}, { __gc = function() freed = true end })
    for _ = 1, 4 do collectgarbage "step" end
    kept = nil
    return function() return freed end
end

local function results(device, n, bytes)
    for _ = 1, n do local _ = empty({ bytes }, { device = device, dtype = "u8" }) end
end

results("cuda", 2, 5 * MB)
collectgarbage()
local before = memory "cuda".in_use
local freed = old()
results("cuda", 40, 5 * MB)
t.ok(not freed(), "200 MB of results on cuda, one by one: no full collection")
t.ok(memory "cuda".in_use - before <= 100 * MB, "steps of the collector free most of them")
freed = old()
results("cpu", 40, 5 * MB)
t.ok(freed(), "on the cpu: one")

if memory "cuda".limit ~= 4 << 30 then -- a GPU, with room for more garbage than is made here
    t.done()
    return
end

-- Tensors that became old before they were dropped.
local list, most = {}, 0
for i = 1, 300 do
    list[#list + 1] = empty({ 5 * MB }, { device = "cuda", dtype = "u8" })
    if #list == 8 then list = {} end
    most = math.max(most, memory "cuda".in_use)
end
t.ok(most < 400 * MB,
    ("old ones are freed before they fill the card (%.0f MB of 1500)"):format(most / MB))

-- Where most of the card is in use, half of the rest may fill.
local large = empty({ 3500 * MB }, { device = "cuda", dtype = "u8" })
collectgarbage()
local used = memory "cuda".in_use -- more than large's: a sanitised build keeps freed blocks apart
local half = ((4 << 30) - used) / 2
most = 0
for i = 1, 200 do
    list[#list + 1] = empty({ 5 * MB }, { device = "cuda", dtype = "u8" })
    if #list == 8 then list = {} end
    most = math.max(most, memory "cuda".in_use - used)
end
t.ok(large:numel() == 3500 * MB and most < half + 50 * MB,
    ("beside 3.5 GB half of the rest is the limit (%.0f of %.0f MB)"):format(most / MB, half / MB))
t.done()
