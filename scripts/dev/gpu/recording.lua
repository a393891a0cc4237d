-- What it costs to begin and to end a profile, and an op after one: gpush recording.lua DEVICE
-- [small], in the lines of measure.lua.
local device, small = arg[1], arg[2] == "small"
local measure = dofile((arg[0]:match ".*/" or "") .. "measure.lua")
local opt = { device = device }
local x = randn(16, opt)

local start, stop, plain = {}, {}, {}
for i = 1, small and 3 or 50 do
    synchronize(device)
    local t0 = clock()
    profile.start()
    local t1 = clock()
    local _ = x + x
    synchronize(device)
    local t2 = clock()
    profile.stop()
    start[i], stop[i] = t1 - t0, clock() - t2
end
for i = 1, #start do
    local t0 = clock()
    local _ = x + x
    synchronize(device)
    plain[i] = clock() - t0
end
measure.report("profile.start", start)
measure.report("profile.stop", stop)
measure.report("x + x and a wait, afterwards", plain)
