-- How a data.Loader's workers end: with the program, by break, an error or the collector, in an
-- endless loop, one loader inside another.
local t = require "tap"

-- Threads of this process.
local function tasks()
    local p, n = io.popen "ls /proc/$PPID/task", 0
    for _ in p:lines() do n = n + 1 end
    p:close()
    return n
end

-- All batches of a pass, as lists of values.
local function batches(loader)
    local out = {}
    for step, x, y in loader() do
        out[step] = { x:tolist(), y ~= nil and y:tolist() or nil }
    end
    return out
end

local numbers = data.Dataset { size = 10, get = function(self, i) return full({ 2 }, i), i end }
-- TSan has a thread of its own
if os.getenv "GPUSH_SAN" == "thread" then batches(data.Loader { numbers, workers = 1 }) end
local threads_before = tasks()

-- A program that ends while its workers run: its exit status comes immediately.
local function ends(how)
    local set = "size = 9, get = function(_, i) if i > 3 then while true do end end return i end"
    local script = ("for s in data.Loader{{%s}, workers = 2}() do if s == 2 then %s end end")
        :format(set, how)
    local _, _,
        status = os.execute(("timeout 60 '%s/gpush' -e '%s' 2>/dev/null"):format(
            os.getenv "GPUSH_BUILD", script))
    return status
end
if os.getenv "GPUSH_SAN" == "thread" then
    t.skip(3,
        "TSan holds a signal back until the next system call, which an endless loop in Lua has \z
            none of")
else
    t.is(ends "os.exit(3)", 3, "os.exit in the loop")
    t.is(ends "os.exit(3, true)", 3, "os.exit that closes the state")
    t.is(ends "error(1)", 1, "an error that nobody catches")
end

for step in data.Loader { numbers, workers = 2 } () do
    if step == 2 then break end
end
t.is(tasks(), threads_before, "break ends the workers")
pcall(function() for step in data.Loader { numbers, workers = 2 } () do error "mine" end end)
t.is(tasks(), threads_before, "so does an error in the loop")
do
    local next_batch = data.Loader { numbers, workers = 2 } ()
    next_batch()
end
collectgarbage()
collectgarbage()
t.is(tasks(), threads_before, "so does the collector, where nobody closes")
-- a worker that would never end on its own, also in a coroutine; TSan cannot deliver the signal to
-- it
do
    if os.getenv "GPUSH_SAN" == "thread" then
        t.skip(1,
            "TSan holds a signal back until the next system call, which an endless loop in Lua \z
                has none of")
    else
        local endless = function(_, i)
            if i == 2 then while true do end end
            if i == 3 then coroutine.wrap(function() while true do pcall(error) end end)() end
            return i
        end
        for step in data.Loader { { size = 9, get = endless }, workers = 2, prefetch = 4 } () do
            break
        end
        t.is(tasks(), threads_before, "an endless loop in a worker is stopped")
    end
end

-- Two at the same time, and one inside another's worker.
local left, right = data.Loader { numbers, workers = 2, batch = 5 } (),
    data.Loader { numbers, workers = 1, batch = 5 } ()
local _, p = left()
local _, q = right()
t.is(p:tolist(), q:tolist(), "two loaders at once")
while left() do end
while right() do end
local nested = { size = 2, get = function(self, i)
    local sum = 0
    for _, x in data.Loader { { size = 3, get = function(_, k) return 10 * i + k end }, workers = 2,
        batch = 3 } ()
    do
        sum = sum + x:sum():item()
    end
    return sum
end }
for _, s in data.Loader { nested, workers = 2, batch = 2 } () do
    t.is(s:tolist(), { 36, 66 }, "a loader in a loader's worker")
end
local leaving = { size = 2, get = function() os.exit(3) end }
local ok, message = pcall(data.Loader { leaving, workers = 1 } ())
t.ok(not ok and message:find "a loader's worker cannot end the program", "os.exit in a worker")
collectgarbage()
t.is(tasks(), threads_before, "no thread is left")

t.done()
