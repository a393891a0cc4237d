-- Modes of a scope, waits on several devices, and the prompt: what people think about is not idle.
local t = require "tap"
local sync = sync

local function wait()
    local y = full({ 256, 1024 }, 1, { device = "gpu" })
    for _ = 1, 8 do y = y + 1 end
    return y:sum():item()
end
local function refused(...) return not pcall(wait, ...) end

-- ---- a mode of its own ----
do
    local _ <close> = sync.error()
    t.ok(refused(), "sync.error() refuses in its scope")
    t.is(sync.mode, "error", "and sync.mode says so")
end
t.ok(not refused(), "not after it")
t.is(sync.mode, "off", "where the mode is what it was")
t.error(function() sync.error(wait) end, "item would wait", "sync.error(fn)")
t.is({ sync.error(function(a, b) return b, a end, 1, 2) }, { 2, 1 },
    "passes arguments and results")
pcall(sync.error, error, "out of it")
t.ok(not refused(), "an error ends the scope, too")
sync.mode = "error"
t.ok(sync.off(function() return not refused() end), "sync.off() in a program that refuses")
t.ok(sync.off(function() return sync.error(refused) end), "the innermost holds")
t.ok(sync.allow("test", function() return not refused() end), "allow is for the mode around it")
t.ok(sync.allow("test", function() return sync.error(refused) end), "not for one within it")
t.ok(sync.error(function() return sync.allow("test", function() return not refused() end) end),
    "allow within the scope holds")
sync.mode = "off"

local co = coroutine.wrap(function()
    local _ <close> = sync.error()
    coroutine.yield(refused())
    return refused()
end)
t.ok(co(), "a coroutine's scope holds in it")
t.ok(not refused(), "and not outside while it is suspended")
t.ok(co(), "and again when it runs")

-- What a script prints on its standard error.
local function stderr_of(text)
    local name = os.tmpname()
    local f <close> = assert(io.open(name, "w"))
    f:write(text)
    f:close()
    local p <close> = io.popen(("%s %s 2>&1 >/dev/null"):format(arg[-1], name))
    local out = p:read "a"
    os.remove(name)
    return (out:gsub(name:gsub("%p", "%%%0"), "CHILD"))
end
local out = stderr_of [[
local x = full({256, 256}, 1, {device = "gpu"})
local function wait() return ((x + 1):exp()):sum():item() end
wait()
sync.warning(wait)
sync.off()
]]
t.ok(out:find "^CHILD:2: item waited [^\n]+\nCHILD:5: sync.off was not closed: [^\n]+\n$",
    "sync.warning(fn) warns, and a scope that nobody closes is reported")
t.error(function() sync.error(3) end,
    "sync.error: argument 'fn' %(#1%): expected a function, got 3", "bad input")

-- ---- devices ----
local typed
local function output_of(command) -- with the program for %s
    local p <close> = io.popen(command:format(arg[-1]))
    return p:read "a"
end
local two = output_of [[GPUSH_SIM_DEVICES=2 %s -e '
for _, name in ipairs {"sim:0", "sim:1"} do
    local x = ones(1000, {device = name})
    for i = 1, 2 do local list = (x + 1):exp():tolist() end
end
print(#sync.lines())
sync.report()']]
t.ok(two:find "^2\n" and two:find "tolist +sim:0  +2 " and two:find "tolist +sim:1  +2 ",
    "a line that waits for two devices is two rows, which show the device")

-- ---- a baseline ----
sync.reset()
local path = os.tmpname()
local function wait_again() return wait() end
wait()
sync.allow("test", wait_again)
synchronize()
sync.baseline(path, { update = true })
t.is(#sync.baseline(path), 0, "no wait is new that is in the file")
local y = full({ 256, 1024 }, 1, { device = "gpu" }) * 2
t.is(#y:exp():tolist(), 256, "a wait")
local new = sync.baseline(path)
t.is({ #new, new[1] and new[1].why }, { 1, "tolist" }, "one that is not in it is")
local function waits(n)
    sync.reset()
    for _ = 1, n do wait() end
end
waits(3)
sync.baseline(path, { update = true })
waits(5)
t.is(#sync.baseline(path), 0, "a line may wait a few times more")
waits(6)
local more = sync.baseline(path)
t.is({ #more, more[1].times, more[1].before }, { 1, 6, 3 }, "but not twice as often")
-- The same line again waits as often as the first: together twice as often.
local function begun()
    local y = full({ 256, 1024 }, 1, { device = "gpu" })
    for _ = 1, 8 do y = y + 1 end
    return y
end
local twins = {
    function(y)
        return y:sum():item()
    end,
    function(y)
        return y:sum():item()
    end,
}
local function of_twins(n)
    sync.reset()
    for i = 1, n do for _ = 1, 3 do twins[i](begun()) end end
end
of_twins(1)
sync.baseline(path, { update = true })
of_twins(2)
more = sync.baseline(path)
t.is({ #more, more[1].times, more[1].before, more[1].alike }, { 2, 3, 3, 6 },
    "lines of one text count together")
sync.baseline(path, { update = true })
t.is(#sync.baseline(path), 0, "in the file, too")
t.error(function() sync.baseline "/dev/zero" end,
    "sync.baseline: /dev/zero: expected a file that sync.baseline wrote", "a device has no end")
t.error(function() sync.baseline(path .. ".none") end,
    "sync.baseline: [^\n]*none: No such file or directory: write it first, with {update = true}",
    "without a file")
os.remove(path)

-- ---- loops ----
sync.reset()
local function loss(x) return (x + 1):exp():sum():item() end
local line = debug.getinfo(1, "l").currentline
local x = full({ 256, 1024 }, 1, { device = "gpu" })
for _ = 1, 5 do
    local _ = loss(x)
end
if loss(x) then sync.reset() end
while true do
    for _ = 1, 4 do local _ = (x * 2):exp():sum():item() end
    break
end
local found = sync.lines()[1]
t.is({ found.times, found.loop_file:match "[%w_]+%.lua$", found.loop_line - line },
    { 4, "sync_modes.lua", 7 }, "a line that repeats knows its loop, the innermost one")
sync.reset()
for _ = 1, 3 do
    local _ = loss(x)
end
t.is(sync.lines()[1].loop_line - line, 14, "also where the loop calls the function that waits")
t.ok(sync.report(false):gsub("%s+", " "):find "; 3 waits in the loop at [^ ]*sync_modes.lua:%d+: \z
    read once after it, and the device idles [%d.]+ [mun]?s less", "and the report says so")
sync.reset()
for _ = 1, 3 do
    local _ = x:sum(2):topk(((x + 1):exp():sum() * 0 + 2):long())
end
t.ok(sync.report(false):gsub("%s+", " "):find "where it stays the same read it once before",
    "an argument that is read can be read earlier only where it stays the same")
t.ok(not sync.report(false):find "read once after it", "and never after the loop")
sync.reset()
local _ = loss(x)
t.is(sync.lines()[1].loop_line, nil, "a single wait has none")
typed = output_of [[printf 'x = ones(1000, {device = "gpu"})
for i = 1, 3 do\n n = (x + 1):exp():sum():item()\nend
l = sync.lines()[1]\nprint(l.loop_file, l.loop_line)\n' | %s -i 2>&1]]
t.ok(typed:find "stdin%S*\t1\n", "nor does a typed one need a file")

-- ---- what a wait is worth ----
-- On a modelled card the host takes 8 us for each op and the script none: so long the device idles
-- after a read. Where more is queued after the copy that the host waits for, it does not.
local said = output_of [[%s -e '
sim.card, sim.host, sim.script, sync.warn = "h200", 8e-6, 0, true
local x = randn(1024, 1024, {device = "sim"})
for i = 1, 10 do
    local n = x:matmul(x):sum():item()
end
local big, few = randn(1024, 1024, {device = "sim"}), ones(9, {device = "sim"})
for i = 1, 11 do
    local y = few:to("cpu", {non_blocking = true})
    for k = 1, 4 do big:matmul(big) end
    y:tolist()
end
synchronize()
sync.warn = false
sync.report()
for _, l in ipairs(sync.lines()) do print(l.why, l.worth) end' 2>&1]]
t.ok(said:find("item waited [^\n]+%[10 times, [^\n]+; worth at least 8 us each: the device \z
    then idled so long%]\n"), "the warning of a line that waits again says what a wait is worth")
t.ok(said:find "tolist waited [^\n]+%[10 times, [^\n]+; worth 0: the device had work left%]\n",
    "and where it is worth nothing")
t.ok(said:find " idle +worth +what to write instead\n"
    and said:find "item +sim:0 [^\n]+ 8 us  in a loop keep"
    and said:find "tolist +sim:0 [^\n]+ 0  ", "the report has it as a column")
t.ok(said:find "explicit: synchronize +sim:0 [^\n]+ %-  ", "of waits that were asked for: none")
t.ok(said:find "\nitem\t8e%-06\n" and said:find "\ntolist\t0.0\n"
    and said:find "\nexplicit\tnil\n", "sync.lines, too, in seconds")

-- A copy's wait, which lasts as long as a product (0.26 ms on this card), leaves the device one;
-- then the host is busy for 1 ms, and all is idle. Without the wait a step takes a product less and
-- 41 us for a list of 4096 values, so that "0: the device had work left" would be wrong.
local runs_out = output_of [[%s -e '
sim.card, sim.host, sync.warn = {name = "slow", like = "h200", f32_matrix = 2e9}, 8e-6, true
local x = randn(64, 64, {device = "sim"})
local function step(waits)
    local c = x:matmul(x):to("cpu", {non_blocking = true})
    local z = x:matmul(x)
    if waits then c:tolist() end
    local stop = clock() + 1e-3
    while clock() < stop do end
end
local took = {}
for _, waits in ipairs {true, false} do
    synchronize()
    local t0 = clock()
    for i = 1, 10 do step(waits) end
    synchronize()
    took[#took + 1] = (clock() - t0) / 10
end
io.write(("%%.0f us less"):format((took[1] - took[2]) * 1e6))
for _, l in ipairs(sync.lines()) do
    if l.why == "tolist" then print(", worth", l.worth) end
end' 2>&1]]
t.ok(runs_out:find "299 us less, worth\tnil\n"
    and runs_out:find "%[10 times, [^;]+ in all%]\n",
    "where work that was left ran out unseen, no worth is claimed: " .. runs_out)

-- A read of what is there queues only its copy, whose launch the device waits for, 8 us.
local reads = output_of [[%s -e 'sim.card, sim.host = "h200", 8e-6
local x = ones(9, {device = "sim"})
for i = 1, 9 do x[i]:item() end
print(sync.lines()[1].worth)' 2>&1]]
t.ok(tonumber(reads) and tonumber(reads) > 7e-6, "a read without an op: " .. reads)

-- ---- the prompt ----
typed = output_of [[(printf 'x = ones(1000, {device = "gpu"})\nn = (x + 1):sum():item()\n'
sleep 0.3
printf 'y = x + 1\nprint("idle " .. sync.lines()[1].idle)\n') | %s -i 2>&1]]
t.is(tonumber(typed:match "idle ([%d.e-]+)"), 0, "a device that waits for people is not idle")
t.done()
