--!plain
-- What recording adds to the times of a record, which a verdict must not owe to the program: where
-- that is not known by cause, worths become ranges. gpush record notes how long a step took before;
-- of other traces with stacks it is known how many calls of Python the profiler had to write down.
local require = ...
local fit = require "fit"
local time = fit.time

local M = {}

-- Ns that the profiler takes for a call of Python, at most, where nothing else loads the
-- processors: 0.3 to 0.7 us were measured (PyTorch 2.15 on Zen 3).
local CALL <const> = 2000
local LITTLE <const> = 1e6 -- ns of them that are too few to say
local LITTLE_SHARE <const> = 0.02 -- of the wall time

-- The recording took list.slowed of the time, of which anything the host did may have some: without
-- a cause the program alone takes at most what its record does, and at least so much less.
local function by_steps(list, is_idle)
    list.recorded, list.wall = list.wall, list.wall - list.slowed
    list.busy, list.devices = math.min(list.busy, list.wall), math.min(list.devices, list.wall)
    for _, row in ipairs(list) do
        -- beside a host that has less to do, devices and waits for them may decide
        local most = math.max(row.worth, row.at_most, is_idle[row.cause] and row.ns or 0)
        row.at_most = math.min(most, list.wall)
        row.worth = math.max(0, math.min(row.worth - list.slowed, row.at_most))
    end
end

local function by_calls(list)
    local most = CALL * list.frames
    for _, row in ipairs(list) do
        if row.cause == "script" and most >= LITTLE and 10 * most >= row.ns then
            row.traced = math.min(most, row.ns)
            list.traced = row.ns >= LITTLE_SHARE * list.wall and row.traced or nil
            row.at_most = math.max(row.worth, row.at_most)
            row.worth = math.max(0, row.worth - most)
        end
    end
end

--- Makes ranges of worths; is_idle: by cause, whether the host does nothing in it.
function M.apply(list, is_idle)
    if list.untold then return end
    if list.slowed > 0 and list.slowed < list.wall then by_steps(list, is_idle)
    elseif list.frames > 0 and list.usual == 0 then by_calls(list) end
end

--- Why a row's worth is a range; nil: it is none, or another's.
function M.reason(list, row)
    return list.recorded and "since the record does not say whose time the recording's is"
        or row.traced and "since the record does not say how long the profiler took for each of \z
            its calls of Python"
end

local BESIDE <const> = "; another thread of the program ran Python for %s meanwhile, and while it \z
    does, it holds the interpreter's lock (GIL), for which a line waits like for work of its own: \z
    threads that compute are better processes"

--- The script's advice, where another thread of the program may have held it up.
function M.beside(list, advice)
    return list.beside > 0 and advice .. BESIDE:format(time(list.beside)) or advice
end

local STEPS <const> = "; %s of the %s on the record are left out: by so much its steps are longer \z
    than those before it, which took %s: the recording's time, but for what else may have changed%s"
local CALLS <const> = "; up to %s of the script's time may be the profiler's, for %d calls of \z
    Python: a record without stacks does not have that"
local WITHOUT <const> = "; a record without --stacks has less of it"

--- The sentence's part that says so; "": there is nothing to say.
function M.text(list)
    if list.recorded then
        return STEPS:format(time(list.slowed), time(list.recorded), time(list.usual),
            list.sampled and WITHOUT or "")
    end
    return list.traced and CALLS:format(time(list.traced), list.frames) or ""
end

return M
