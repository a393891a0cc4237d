--!plain
-- How many workers a data.Loader should have, and why: what loader:report() and prof:verdict() say.
-- Computing is bounded by processors, what get waits for (a disk, a network) only by workers.
--
-- pass: {workers, processors, batches, busy, computed, step, share}, times in seconds.
-- busy: making all batches took the workers together so long; computed: of that, on a processor or
-- ready for one; step: of the script between two batches, without its waits for them, which are
-- that share of the time after the first batch. processors: 0 where the host's time is counted, of
-- which the model has one for each worker.

local MOST <const> = 64          -- workers that a loader may have
local LITTLE <const> = 0.02      -- of the step: no worker is worth it
local KEEPS_UP <const> = 0.1     -- of the time after the first batch: less is no bottleneck
local ALL <const> = 0.95         -- of making batches
local HANDED_OVER <const> = 5e-5  -- s of a batch that a worker makes; measured: 17 to 71 us

local CHEAPER <const> = "make get cheaper, or do part of it on the device"

-- What a batch takes its workers, and the least time between two batches: the step's, or that of
-- all processors computing.
local function figures(pass)
    local computing = pass.processors == 0 and 0
        or pass.computed / pass.batches / pass.processors
    return pass.busy / pass.batches, math.max(pass.step, computing, 1e-9), computing > pass.step
end

-- The number of workers that make batches as fast as the step takes them, or as the processors
-- allow, each of which makes whole batches; 0 where the work is negligible, or less than handing a
-- batch over. And the number if a pass had more batches.
local function suggest(pass)
    local work, least = figures(pass)
    if work < LITTLE * pass.step or work < HANDED_OVER then return 0 end
    local n = math.ceil(work / least - 0.1)
    return math.max(1, math.min(MOST, pass.batches, n)), n
end

-- Whether a pass computes or waits, as a sentence's part.
local function kind(pass)
    local share = pass.computed / pass.busy
    if share >= ALL then return "making batches is computing" end
    return ("%.0f %% of making batches is computing, the rest waiting"):format(100 * share)
end

-- What to do about a loader that the step waits for.
local function advice(pass)
    local n, unbounded = suggest(pass)
    local bound = select(3, figures(pass))
    local took = kind(pass)
    local processors = pass.processors == 1 and "1 processor" or
        ("%d processors"):format(pass.processors)
    if pass.share <= KEEPS_UP then
        return "the loader keeps up once it runs, after a pass's first batch: longer passes"
    end
    if n == 0 then
        return "a batch takes less than handing it over does: larger batches" ..
            (pass.workers > 0 and ", or workers = 0" or "")
    end
    if n > pass.workers then
        return ("try workers = %d: %s, %s"):format(n, took,
            pass.computed < ALL * pass.busy and "which more workers do at the same time"
                or pass.processors > 0 and "and there are " .. processors
                or "which takes a processor each")
    end
    if pass.workers >= pass.batches and (unbounded > pass.batches or not bound) then
        return ("each of a pass's %d batches has a worker: smaller batches, or %s"):format(
            pass.batches, CHEAPER)
    end
    if bound then
        return ("more workers do not help: %d compute as much as %s can (%s): %s"):format(n,
            processors, took, CHEAPER)
    end
    if pass.workers >= MOST then
        return ("a loader has at most %d workers: %s"):format(MOST, CHEAPER)
    end
    return "there are enough workers for batches that all take the same time: larger prefetch"
end

return { suggest = suggest, advice = advice, KEEPS_UP = KEEPS_UP }
