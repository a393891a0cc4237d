--!plain
-- prof:verdict(): what dominated a run, what each cause is worth, and what to do about it, as a
-- list that prints as text. The list is decided on replays of the record, in
-- profile/replay/verdict.c; here are its words, which the commands, the page and prof:sync() show.
-- Loaded by init.lua on the first call.
local _, _, dir = ...
local fit = assert(loadfile(dir .. "/fit.lua", "t"))()
local replay = debug.getregistry()["gpush.replay"]

local LITTLE <const> = 0.02  -- of the wall time: less is nothing to gain
local NOTHING <const> = 5e-4 -- of it: less is said as 0
local BUSY <const> = 0.9     -- of it
local NAME <const> = 60      -- characters of a kernel's name
local ADVISED <const> = 3    -- causes with advice

local RIGHT <const> = { [2] = true, [3] = true, [4] = true, [5] = true } -- columns of numbers

local time = fit.time
local function percent(share) return ("%.1f%%"):format(100 * share) end

-- ---- where ----

local function at(file, line, name)
    return file and ("%s:%d"):format(fit.safe(file), line) or name and fit.safe(name)
end

-- "between train.lua:8 and train.lua:9": where the script ran, which no op says.
local function between(row)
    local a, b = at(row.before_file, row.before_line, row.before), at(row.file, row.line, row.name)
    if a and a == b then return "between two ops of " .. a end
    if a and b then return ("between %s and %s"):format(a, b) end
    return a and "the end, after " .. a or b and "the start, before " .. b
end

-- Whether a script's time is mostly that before its first op or after its last one: no step.
local function is_once(row)
    local one_side = (row.before == nil) ~= (row.name == nil)
    return row.cause == "script" and one_side and 2 * row.most >= row.ns
end
local ONCE <const> = "it passes once, however many steps there are: record later steps alone to \z
    see what they take"

-- Causes that are the device's, and of them those in which it works.
local DEVICE <const> = { delays = true, kernels = true, copies = true, collectives = true }
local WORK <const> = { kernels = true, copies = true, collectives = true }

-- Where most of a cause was, in the rank that has the most of it; nil: it is not known.
local function place(row)
    if row.cause == "script" then return between(row) end
    if DEVICE[row.cause] then return row.name and fit.shorten(fit.safe(row.name), NAME) end
    local line = at(row.file, row.line)
    return line and row.name and ("%s at %s"):format(fit.safe(row.name), line)
        or line or row.name and fit.safe(row.name)
end
local function where(row)
    local text = place(row)
    return row.rank and ("rank %d%s"):format(row.rank, text and ": " .. text or "") or text
end

-- ---- what it says ----

local UNTOLD <const> = {
    orders = "no verdict: the ranks have called their collectives in different orders, so that a \z
        replay of them together does not end",
    empty = "no verdict: no event is on the record",
    work = "no verdict: the trace has no kernel and no copy: the program ran on the CPU, or the \z
        profiler did not record its device (activities=[ProfilerActivity.CPU, .CUDA])",
    dropped = "no verdict: events were dropped, and the record lacks a part of what happened",
    cut = "no verdict: the file is cut, and what is missing, mostly what devices ran, may be what \z
        dominated",
    device = "no verdict: for %d of %d kernels and copies the record has no event of the host \z
        that queued them, so it cannot tell what the device waited for",
}

-- Why a cause is worth nothing.
local function why_nothing(list, row)
    local top = list[1].cause
    if DEVICE[row.cause] then
        return DEVICE[top] and "0: other work takes as long" or "0: the host comes later"
    end
    local busy = list.busy >= BUSY * list.wall or WORK[top]
    return busy and "0: the device is busy" or "0: other work takes as long"
end

local function conclude(list, prof)
    local how = list.kind == "measured" and "" or (" of a record that is %s"):format(list.kind)
    local top, busy = list[1], percent(list.wall > 0 and list.busy / list.wall or 0)
    if list.untold then
        return UNTOLD[list.untold]:format(list.work - list.queued, list.work)
    end
    if not top or top.share < LITTLE then
        return ("nothing to gain here: no cause alone is worth %d%% of the %s%s (predicted by a \z
            replay%s, not measured%s)"):format(100 * LITTLE, time(list.wall),
            list.work > 0 and ", in which devices were busy for " .. busy or "", how,
            top and "; " .. replay.accuracy(prof, top.cause) or "")
    end
    local text = ("dominated by %s: without that %s instead of %s (predicted by a replay%s, not \z
        measured; %s)"):format(top.label, time(list.wall - top.worth), time(list.wall), how,
        replay.accuracy(prof, top.cause))
    local second = list[2]
    if WORK[top.cause] and (not second or second.share < LITTLE) then
        text = ("%s; nothing else is worth %d%%: devices were busy for %s of the time"):format(text,
            100 * LITTLE, busy)
    end
    return text
end

local Verdict = { __name = "verdict" }
Verdict.__index = Verdict

-- The sentence, and what to do about the first cause.
function Verdict:head()
    if not self.cause then return self.sentence end
    return ("%s\n%s: %s"):format(self.sentence, self[1].label, self[1].advice)
end

function Verdict.__tostring(list)
    local rows, out = { { "what the time is owed to", "times", "time", "worth", "share",
        "most of it" } }, { list.sentence }
    for i, row in ipairs(list) do
        rows[i + 1] = { row.label, ("%d"):format(row.times), time(row.ns),
            row.nothing and "0" or time(row.worth), row.nothing and "" or percent(row.share),
            row.nothing or row.where or "" }
    end
    if list.untold then return list.sentence end
    if #list > 0 then out[2] = fit.columns(rows, RIGHT) end
    for _, row in ipairs(list) do
        if row.advised then out[#out + 1] = ("%s: %s"):format(row.label, row.advice) end
    end
    if list.work == 0 then out[#out + 1] = "no device ran anything beside the host" end
    out[#out + 1] = list.assumed
    return table.concat(out, "\n")
end

-- prof:verdict(rank) -> list of {cause, label, ns, times, worth, share, nothing, where, advice},
-- the most worth first; .cause: the first one's, nil where none dominates; .sentence;
-- .kind: of the record's times
local function verdict(prof, rank)
    local list = replay.verdict(prof, rank)
    for i, row in ipairs(list) do
        row.order, row.share = i, list.wall > 0 and row.worth / list.wall or 0
        row.where = where(row)
        if is_once(row) then row.advice = ONCE end
    end
    table.sort(list, function(a, b)
        if a.worth ~= b.worth then return a.worth > b.worth end
        return a.order < b.order
    end)
    for i, row in ipairs(list) do
        row.order, row.advised = nil, i <= ADVISED and row.share >= LITTLE
        row.nothing = not list.untold and row.share < NOTHING and why_nothing(list, row) or nil
    end
    list.cause = not list.untold and list[1] and list[1].share >= LITTLE and list[1].cause or nil
    list.kind = fit.safe(prof.kind)
    list.sentence = conclude(list, prof)
    return setmetatable(list, Verdict)
end

return { verdict = verdict }
