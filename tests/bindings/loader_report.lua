-- loader:report(), and what a profile's verdict says of the same pass: who waits, and whether more
-- workers help. A get that waits is told from one that computes by processor time.
local t = require "tap"

local slow = { size = 12, get = function(_, i)
    local t0 = clock()
    while clock() - t0 < 0.004 do end
    return i
end }
local waiting = data.Loader { slow, batch = 4, workers = 1 }
local prof, figures
for _ = 1, 9 do -- again where another program had the worker's processor
    prof = profile.run(function() for _ in waiting() do end end)
    figures = waiting:report { print = false }
    if figures.computed > 0.9 * figures.busy then break end
end
t.ok(figures.batches == 3 and figures.samples == 12 and figures.workers == 1, "the report's counts")
t.ok(figures.wait > 0.5 * figures.elapsed and figures.verdict:find "the loader is the bottleneck",
    "a slow get: " .. figures.verdict)
t.ok(figures.busy > 0.045, "the worker was busy for the time its samples take")
t.ok(prof:table { group = "region" }:find "loader: wait for a batch",
    "the wait is a region of the profile")
t.ok(figures.computed > 0.9 * figures.busy and figures.verdict:find "making batches is computing",
    "get computes: " .. figures.computed)

-- What the verdict of a profile says to do about the loader.
local function advice(p)
    for _, row in ipairs(p:verdict()) do if row.cause == "loader" then return row.advice end end
end
t.ok(advice(prof):find "making batches is computing", "its profile says so, too: " .. advice(prof))
local sleeps = { size = 8, get = function(_, i)
    io.popen "sleep 0.03":close()
    return i
end }
local sleeping = data.Loader { sleeps, batch = 2, workers = 1 }
prof = profile.run(function() for _ in sleeping() do end end)
figures = sleeping:report { print = false }
t.ok(figures.computed < 0.5 * figures.busy, "a get that waits does not compute: " ..
    figures.computed)
t.ok(figures.suggested > figures.workers and
    figures.verdict:find "the rest waiting, which more workers do at the same time$",
    "then more workers help: " .. figures.verdict)
t.ok(figures.suggested <= figures.batches, "a batch is made by one worker: " .. figures.suggested)
t.ok(advice(prof):find "^try workers = %d+: .*which more workers do at the same time$",
    "its profile says so, too: " .. advice(prof))
local each = data.Loader { sleeps, batch = 2, workers = 4 }
for _ in each() do end
t.ok(each:report { print = false }.verdict:find "each of a pass's 4 batches has a worker",
    "processors do not bound what waits: " .. each:report { print = false }.verdict)
local path = os.tmpname()
prof:save(path)
t.is(advice(profile.load(path)), advice(prof), "also a saved one")
os.remove(path)
local quick = data.Loader { { size = 40, get = function(_, i) return i end }, batch = 1,
    workers = 1 }
for _ in quick() do
    local t0 = os.clock()
    while os.clock() - t0 < 0.01 do end
end
figures = quick:report { print = false }
local late = figures.first > 0.2 * figures.elapsed -- on a machine that others keep busy
t.ok(figures.verdict:find(late and "^the loader keeps up" or "^the step is the bottleneck"),
    "a slow step: " .. figures.verdict)
t.ok(figures.idle > 0.03, "the worker was idle meanwhile")
t.done()
