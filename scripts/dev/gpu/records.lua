-- Whether a profile on a card is whole and its times are right: a kernel on the record for each of
-- a million ops, and kernels' times that agree with those between two events. gpush records.lua
-- DEVICE [small]: exit status 1 where not.
local device, small = arg[1], arg[2] == "small"
local opt = { device = device }
local good = true
local function judge(ok, ...)
    good = good and ok
    print((ok and "ok: " or "WRONG: ") .. (...):format(select(2, ...)))
end

-- The number of kernels on the record, and their time in seconds.
local function kernels(prof)
    local n, ns = 0, 0
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" then n, ns = n + 1, ns + e.stop - e.start end
    end
    return n, ns * 1e-9
end

local x, y = randn(16, opt), randn(16, opt)
local many = small and 1000 or 1000000
local n = kernels(profile.run({}, function()
    for _ = 1, many do local _ = x + y end
    synchronize(device)
end))
judge(n == many, "%d ops, %d kernels on the record", many, n)

-- Long kernels, one after the other: between them is next to nothing, unless CUPTI looks on.
local long, times = randn(small and 100000 or 100000000, opt), 50
local stream = current_stream(device)
local apart
local function several()
    local from = stream:record()
    for _ = 1, times do local _ = long * 2 end
    local to = stream:record()
    to:synchronize()
    apart = from:elapsed(to)
end
several()
several()
local undisturbed = apart
local count, inside = kernels(profile.run({}, several))
judge(count == times and (small or math.abs(inside / undisturbed - 1) < 0.05),
    "%d kernels took %.4f ms by the record, %.4f ms between two events (%.4f ms in a profile)",
    count, inside * 1e3, undisturbed * 1e3, apart * 1e3)
os.exit(good and 0 or 1)
