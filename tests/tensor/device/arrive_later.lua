-- Copies to the host that nobody waits for: whatever reads the result waits for it, exactly then.
local t = require "tap"
local dev = "gpu"

-- A tensor whose value the device takes some time to have: on a card, which does 2^18 elements in
-- microseconds, of more of them, and on the stand-in for one, which is slow, of fewer.
local size = cuda.is_available() and not require "on_card" "cuda" and 1 << 13 or 1 << 18
local function slow(n)
    local y = ones(size, { device = dev })
    for _ = 1, 6 do y = y:exp():log() end
    return y["1:" .. n] * 1
end
-- The least of several times: one that takes memory from the driver says nothing of the device.
local function seconds()
    local least = math.huge
    for _ = 1, 5 do
        collectgarbage()
        synchronize()
        local from = clock()
        slow(10)
        synchronize()
        least = math.min(least, clock() - from)
    end
    return least
end
for _ = 1, 3 do
    if seconds() < 1e-3 then size = size * 8 end
end
local function waits(fn)
    synchronize()
    local x = slow(1000)
    sync.reset()
    local result = fn(x)
    local n, why = 0, {}
    for _, l in ipairs(sync.lines()) do
        if l.why ~= "explicit" then n = n + l.times why[#why + 1] = l.why end
    end
    return n, table.concat(why, " "), result
end
local function close(list, n, value)
    if type(list) ~= "table" then list = { list } end
    for i = 1, n do if math.abs(list[i] - value) > 1e-3 * math.abs(value) then return false end end
    return #list == n
end
local later = { non_blocking = true }

local n, why, host = waits(function(x) return x:to("cpu", later) end)
t.is({ n, host.device, host:is_pinned() }, { 0, "cpu", true },
    "x:to('cpu', {non_blocking = true}) does not wait, and is pinned")
t.ok(close(host:tolist(), 1000, 1), "its elements are right when they are read")

for name, read in pairs {
    tolist = function(h) return h:tolist() end,
    item = function(h) return h[1000]:item() end,
    sum = function(h) return { h:sum():item() / 1000 } end,
    ["in place"] = function(h) return (h:mul_(2) / 2):tolist() end,
    print = function(h) return tonumber((tostring(h["1:1"]):match "{([%d.]+)}")) end,
    ["back to the device"] = function(h) return (h:to(dev) + 0):tolist() end,
    ["a fork"] = function(h) return wait(fork(function() return h:exp():log() end)):tolist() end,
    numpy = function(h)
        local file = os.tmpname()
        npy.save(file, h)
        local back = npy.load(file):tolist()
        os.remove(file)
        return back
    end,
    branch = function(h) if h[5] > 0.5 then return 1 else return 0 end end,
} do
    local n, why, got = waits(function(x) return read(x:to("cpu", later)) end)
    if type(got) ~= "table" then got = { got } end
    t.ok(close(got, #got, 1) and #got > 0,
        ("%s reads what came (%d waits: %s)"):format(name, n, why))
end

-- Into pinned memory of one's own.
local buffer = zeros(1000):pin_memory()
n, why = waits(function(x) buffer:copy_(x, later) end)
t.is(n, 0, "copy_ into a pinned tensor does not wait")
t.ok(close(buffer:tolist(), 1000, 1), "and is right when it is read")
n, why = waits(function(x)
    buffer:copy_(x * 2, later)
    buffer:copy_(x * 3, later)
end)
t.ok(close(buffer:tolist(), 1000, 3), "the later of two copies is the one that stays")
waits(function(x)
    buffer:copy_(x * 5, later)
    buffer:fill_(7)
end)
t.ok(close(buffer:tolist(), 1000, 7),
    "a write by the host comes after a copy that was queued before")
local half = zeros(1000, { dtype = "f64" }):pin_memory()
waits(function(x) half:copy_(x * 3, later) end)
t.ok(close(half:tolist(), 1000, 3), "another dtype is converted, with a wait")

-- Work queued after the copy is not waited for: a read comes back before it is done, unless the
-- host has no processor for so long, and then again.
local early, right = false, true
for _ = 1, 20 do
    synchronize()
    local h = slow(1000):to("cpu", later)
    local y = ones(size, { device = dev })
    for _ = 1, 30 do y = y:exp():log() end
    local last = current_stream(dev):record()
    right = right and math.abs(h[1]:item() - 1) < 1e-3
    early = not last:done()
    if early then break end
end
t.ok(early and right, "a read waits for the copy, not for what was queued later")

-- Dropped at once, failures, modes.
for _ = 1, 50 do slow(1000):to("cpu", later) end
collectgarbage()
t.ok(pcall(synchronize), "results that nobody keeps")
local bad = arange(1, 5, { device = dev })[arange(7, 9, { device = dev })]
local ok, message = pcall(function()
    local h = bad:to("cpu", later)
    return h:tolist()
end)
t.ok(not ok and message:find "index", "an error on the device is raised where the copy is read")
pcall(synchronize)
sync.error(function()
    local h = slow(10):to("cpu", later)
    t.ok(h.device == "cpu", "error mode lets it pass")
    t.error(function() return h:tolist() end, "would wait", "and refuses the read")
    t.error(function() return slow(10):to("cpu", later) + 1 end, "add would wait",
        "also by an op of the host")
end)

-- ---- sync.async ----
synchronize()
sync.reset()
local got = {}
for i = 1, 5 do
    local x = slow(10) * i
    sync.async(x, function(h, at, more)
        got[#got + 1] = { at, h.device, h[3]:item(), more }
    end, i, "m")
end
local n = 0
for _, l in ipairs(sync.lines()) do n = n + l.times end
t.is(n, 0, "sync.async does not wait")
sync.finish()
t.is(#got, 5, "sync.finish calls the rest")
local right = true
for i, g in ipairs(got) do
    right = right and g[1] == i and g[2] == "cpu" and math.abs(g[3] - i) < 1e-3 * i and g[4] == "m"
end
t.ok(right, "in order, with the values and the arguments")
sync.async(ones(3), function(h) got = h:sum():item() end)
t.is(got, 3, "a value of the host is there at once")
t.error(function()
    sync.async(ones(3, { device = dev }), function() error "mine" end)
    sync.finish()
end, "mine", "an error of the function is raised")
pcall(sync.async, ones(3, { device = dev }), error)
pcall(sync.async, ones(3, { device = dev }), function() got = "after it" end)
pcall(sync.finish)
sync.finish()
t.is(got, "after it", "and the others are called")
t.error(function() sync.async(3, print) end, "sync.async: argument 'x' %(#1%)", "bad input")
local p <close> = io.popen(arg[-1] .. [[ -e 'for i = 1, 3 do
    sync.async(ones(3, {device = "gpu"}) * i, function(h) print(h:sum():item()) end) end' 2>&1]])
t.is(p:read "a", "3.0\n6.0\n9.0\n", "the end of the program delivers, too")
t.done()
