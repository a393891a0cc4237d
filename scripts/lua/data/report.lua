--!plain
-- loader:report(): whether the step or the workers wait, in the current pass or the last one.
-- Prints it and returns nothing, or returns the figures with {print = false}.

local require = ...
local gpush, registry = require "gpush", require "registry"
local usage = registry["gpush.usage"]
local workers = require "data.workers"

-- The kind of a batch's memory.
local function memory(self)
    if not self.pin then return "plain memory" end
    for _, name in ipairs(gpush.devices()) do
        if name ~= "cpu" then return "pinned memory" end
    end
    return "plain memory (only the cpu is open, which copies from any)"
end

local function ms(seconds)
    if seconds >= 0.9995 then return ("%.4g s"):format(seconds) end
    return ("%.3g ms"):format(seconds * 1e3)
end


-- Of what kind the step's times are, on the device that is open.
local function kind_of_step()
    for _, name in ipairs(gpush.devices()) do
        if name ~= "cpu" then return usage.kind_now(name) end
    end
    return usage.kind_now()
end

local function verdict(s)
    -- Workers' clock is the machine's, but where the host's time is counted.
    local making = (s.workers == 0 or s.processors == 0) and usage.kind_now() or nil
    local refused = usage.not_compared("making batches", making, "the step", s.kind)
    if refused then return "no verdict: " .. refused end
    if s.share <= workers.KEEPS_UP and s.first > 0.2 * s.elapsed and s.workers > 0 then
        return ("the loader keeps up once it runs; the first batch was %.0f %% of this short pass")
            :format(
            100 * s.first / s.elapsed)
    end
    if s.share > workers.KEEPS_UP and s.workers > 0 and s.idle > s.busy then
        return
            "the workers had nothing to do most of the time either: batches so small that handing \z
                them over takes longer " ..
            "(larger ones, or workers = 0), or processors that others use"
    end
    if s.share > workers.KEEPS_UP then
        return ("the loader is the bottleneck: %.0f %% of the time; %s"):format(100 * s.share,
            workers.advice(s))
    end
    if s.suggested < s.workers then
        return ("the step is the bottleneck; workers = %d would do"):format(s.suggested)
    end
    return "the step is the bottleneck; the loader keeps up"
end

return function(self, show)
    local s = self.team and self.team:stats()
    if not s or s.batches == 0 then
        if show then print "data.Loader: no batch has been taken yet" end
        return
    end
    s.wait_after = s.wait - s.first_wait
    -- time in which neither the host nor a device had anything to do
    local lost = math.max(s.wait_after - s.covered, 0)
    s.share = s.batches > 1 and lost / (s.elapsed - s.first) or s.wait / s.elapsed
    -- the first batch, which waits for the workers to start, is left out
    s.step = (s.elapsed - s.first - s.wait_after) / math.max(s.batches - 1, 1)
    s.suggested = workers.suggest(s)
    s.kind = kind_of_step()
    s.verdict = verdict(s)
    if not show then return s end
    local fit = require "fit"
    fit.print(("%d batches of %d in %s, %d worker%s, %s"):format(
        s.batches, self.batch, ms(s.elapsed), s.workers,
        s.workers == 1 and "" or "s", memory(self)))
    print(("  first batch      %10s"):format(ms(s.first)))
    fit.print(("  the step waited  %10s  in %d of %d batches (%.0f %%)%s"):format(
        ms(s.wait), s.waits, s.batches,
        100 * s.wait / s.elapsed, s.covered > 0
            and (", for %s of it a device had work"):format(ms(s.covered)) or ""), 19)
    if s.workers > 0 then
        fit.print(("  workers busy     %10s  %s"):format(ms(s.busy), s.processors == 0 and "counted"
            or ("of it computing %s, idle %s, their states opened in %s each"):format(
                ms(s.computed), ms(s.idle), ms(s.open / s.workers))), 19)
    end
    print(("  making a sample  %10s"):format(ms(s.busy / s.samples)))
    fit.print("  " .. s.verdict, 2)
    print("  times: " .. s.kind)
end
