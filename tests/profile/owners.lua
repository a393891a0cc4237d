-- Whose memory it was: prof:memory() and alive(), against allocations of known size and life.
local t = require "tap"
local MIB <const> = 1 << 20
local here = debug.getinfo(1, "S").short_src

local function find(list, name)
    for _, r in ipairs(list) do if r.name == name then return r end end
end

for _, dev in ipairs { "cpu", "sim" } do
    local warm = ones(4, { device = dev }) * 2 -- what the device needs for itself is there
    collectgarbage()
    synchronize()
    local level = memory(dev).in_use
    local before, kept = zeros(1024, 256, { device = dev }), nil
    local prof = profile.run({ memory = true }, function()
        local a = ones(1024, 512, { device = dev }) -- 2 MiB
        local b = a * 2                             -- 2 MiB
        local c = b:exp()                           -- 2 MiB: the peak is here
        kept = c:sum(1)                             -- and 2 KiB
        a, b, c, before = nil, nil, nil, nil
        collectgarbage()
        for _ = 1, 3 do kept = kept:relu() collectgarbage() end
    end)
    local list = prof:memory()
    local mul, exp, relu = find(list, "mul"), find(list, "exp"), find(list, "relu")
    t.is({ mul.blocks, mul.allocated, mul.peak, mul.kept }, { 1, 2 * MIB, 2 * MIB, 0 },
        dev .. ": what was alive at the peak and freed then")
    t.is(exp.peak, 2 * MIB, "the op that made the peak is in it")
    t.is({ relu.blocks, relu.allocated, relu.peak, relu.kept }, { 3, 3 * 2048, 0, 2048 },
        "what is left of three is one")
    t.is({ mul.file, mul.line + 1, mul.device }, { here, exp.line, exp.device }, "by line")
    t.ok(list[1].peak >= list[2].peak and list[#list].peak == 0, "the largest of the peak first")
    local d
    for _, it in ipairs(list.devices) do if it.device == mul.device then d = it end end
    t.is({ d.before - level, d.peak - level, d.before_at_peak - level, d.before_freed },
        { MIB, 7 * MIB + 2048, MIB, MIB }, "the levels are as they must be")
    local sums = { peak = 0, kept = 0 }
    for _, r in ipairs(list) do
        if r.device == mul.device then
            sums.peak, sums.kept = sums.peak + r.peak, sums.kept + r.kept
        end
    end
    t.is(sums.peak + d.before_at_peak, d.peak, "owners and what was there before make the peak")
    t.is(sums.kept + d.before - d.before_freed, d.after, "and what is in use at the end")
    t.is(d.after, memory(dev).in_use, "which is what the device says")
    t.ok(tostring(list):find "at the peak" and tostring(list):find "owners.lua:%d+ +exp", "as text")
    local path = os.tmpname()
    prof:save(path)
    local saved = profile.load(path):memory()
    t.is({ #saved, saved[1].peak, saved[#saved].kept }, { #list, list[1].peak, list[#list].kept },
        "a saved profile knows it, too")
    os.remove(path)
    local _ = warm
end
t.is(tostring(profile.run({ memory = true }, function() end):memory()),
    "no memory was allocated or freed", "nothing is said to be nothing")
local function without() local _ = profile.run(function() end):memory() end
t.error(without, "profile.memory needs a profile with memory = true", "a profile without memory")

-- ---- alive ----
local function at(line)
    for _, r in ipairs(alive()) do if r.file == here and r.line == line then return r end end
end
local list = {}
for i = 1, 3 do list[i] = ones(1024, 300) end
local line = debug.getinfo(1, "l").currentline - 1
local row = at(line)
t.is({ row.blocks, row.device }, { 3, "cpu" }, "what is alive, by the line that made it")
t.ok(row.bytes >= 3 * 1024 * 300 * 4 and row.bytes <= 3 * 1024 * 300 * 4 * 9 // 8, "its bytes")
list[2] = nil
collectgarbage()
t.is(at(line).blocks, 2, "less one that was freed")
list = nil -- luacheck: ignore
collectgarbage()
t.is(at(line), nil, "until nothing is left")
local sum = 0
for _, r in ipairs(alive()) do if r.device == "cpu" then sum = sum + r.bytes end end
t.is(sum, memory("cpu").in_use, "with the small ones it is all that is in use")
local small = ones(4)
t.ok(tostring(alive()):find "below 1 MiB each", "as text")
local _ = small

t.done()
