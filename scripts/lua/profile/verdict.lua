--!plain
-- prof:verdict(): what dominated a run, what each cause is worth, and what to do about it, as a
-- list that prints as text. The list is decided on replays of the record, in
-- profile/replay/verdict/verdict.c; here are its words, which the commands, the page and
-- prof:sync() show.
local require = ...
local fit, registry = require "fit", require "registry"
local workers = require "data.workers"
local usage, late = require "profile.usage", require "profile.late"
local causes, slowed = require "profile.causes", require "profile.slowed"
local launches = require "profile.launches"
local replay = registry["gpush.replay"]

local LITTLE <const> = 0.02  -- of the wall time: less is nothing to gain
local NOTHING <const> = 5e-4 -- of it: less is said as 0, where other work takes most of its place
local BUSY <const> = 0.9     -- of it
local VAGUE <const> = 0.1    -- of it: less does not dominate what devices do, where that is unknown
local NAME <const> = 60      -- characters of a kernel's name
local ADVISED <const> = 3    -- causes with advice

local RIGHT <const> = { [2] = true, [3] = true, [4] = true, [5] = true } -- columns of numbers

local time = fit.time
local function percent(share) return ("%.1f%%"):format(100 * share) end

-- ---- where ----

local function at(file, line, name)
    return file and fit.place(fit.safe(file), line) or name and fit.safe(name)
end

-- "between train.lua:8 and train.lua:9": where the script ran, which no op says.
local function between(row)
    local a, b = at(row.before_file, row.before_line, row.before), at(row.file, row.line, row.name)
    if a and a == b then return "between two ops of " .. a end
    if a and b then return ("between %s and %s"):format(a, b) end
    return a and "the end, after " .. a or b and "the start, before " .. b
end

-- Whether the time of the host is mostly that of lines which are passed once, or before the steps.
local function is_once(row) return row.once and 2 * row.once >= row.ns and row.once > 0 end
local ONCE <const> = "most of it passes once in this record: record later steps alone to see \z
    what they take"

local MOVE <const> = "move work out of the loop, or to a DataLoader's workers" -- lines are known
local SAMPLED <const> = "its functions and lines have rows of their own in the table, by samples; \z
    move work out of the loop, or to a loader's workers"
local LEFT <const> = "; where a DataLoader's loop was left, its workers still end their batches"

local NAMES <const> = "; a profile with with_stack=True names what ran there"
local ALL_RANKS <const> = "; some of that time may be waiting for a rank that came later, which \z
    only the traces of all ranks together say (gpush analyze rank*.json)"

-- Waits whose lines are worth little alone: one that goes is waited for in the next.
local function together_with(prof, rank, row)
    local best
    for _, line in ipairs((replay.savings(prof, rank))) do
        if not best or line.saves > best.saves then best = line end
    end
    if not best or 2 * best.saves >= row.worth then return row.advice end
    return ("no line alone is worth that, %s the most, %s: the lines that wait are to go \z
        together; of the longest, %s"):format(
        fit.safe(best.file and fit.place(best.file, best.line) or best.what),
        time(best.saves), row.advice)
end

-- Causes that are the device's, and of them those in which it works.
local DEVICE <const> = { delays = true, kernels = true, copies = true, collectives = true }
local WORK <const> = { kernels = true, copies = true, collectives = true }
local WAITS <const> = { waits = true, synchronize = true }
local IDLE <const> = { waits = true, synchronize = true }
for cause in pairs(DEVICE) do IDLE[cause] = true end

-- Where most of a cause was, in the rank that has the most of it; nil: it is not known.
local function place(row)
    if row.cause == "script" and not row.sampled then return between(row) end
    if DEVICE[row.cause] then return row.name and fit.shorten(fit.safe(row.name), NAME) end
    local line = at(row.file, row.line)
    local own = line and line:gsub(":%?$", ""):gsub("%+$", "") -- its function's
    if own and row.name and row.name:find(("(%s)"):format(own), 1, true) then line = nil end
    return line and row.name and ("%s at %s"):format(fit.safe(row.name), line)
        or line or row.name and fit.safe(row.name)
end
local HAS <const> = "%s has %s of it: %s"
local function has(list, row, advice) -- how much, unless some of that may be the recording's
    return HAS:format(place(row), slowed.reason(list, row) and "the most" or time(row.most), advice)
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
        profiler did not record its device",
    launched = "no verdict: %d calls launched kernels, of which the trace has none: the profiler \z
        did not record what its device ran",
    dropped = "no verdict: events were dropped, and the record lacks a part of what happened",
    cut = "no verdict: the file is cut, and what is missing, mostly what devices ran, may be what \z
        dominated",
    bound = "no verdict: how long the card takes is a bound, as nobody measured this program's \z
        ops there, and what it takes more may be what dominates",
    device = "no verdict: for %d of %d kernels and copies the record has no event of the host \z
        that queued them, so it cannot tell what the device waited for",
    calls = "no verdict on the host: for %d of %d kernels and copies the trace has no call of the \z
        runtime that launched them, so when that was, and what the host waited for, is not known",
}
local ACTIVITIES <const> = " (activities=[ProfilerActivity.CPU, .CUDA])"
local RECORDS <const> = { -- what is missing, by other profilers
    ["Nsight Systems' export"] = " (nsys profile --trace=cuda records it)",
    ["rocprofv3's trace"] = " (rocprofv3 --hip-trace --kernel-trace --memory-copy-trace \z
        records it)",
}
local OF_DEVICES <const> = { device = true, calls = true } -- with what these did

-- What the devices did, the longest first.
local function work_of(list)
    local rows = {}
    for _, row in ipairs(list) do if WORK[row.cause] then rows[#rows + 1] = row end end
    table.sort(rows, function(a, b) return a.ns > b.ns end)
    return rows
end

local UNKNOWING <const> = " that does not know what streams waited for"
local STREAMS <const> = "since the trace does not say what streams waited for"

-- Where devices are busy, and no cause alone is worth anything: of what they did, the longest.
local function together(list)
    local known = list.devices >= LITTLE * list.wall
    local busy = list.busy >= BUSY * list.wall and (known or list.vague)
    local least = list.vague and VAGUE or LITTLE
    return not list.untold and busy and list[1].share < least and work_of(list)[1] or nil
end

-- What is said then.
local function conclude_together(list, how, prof)
    local did, all = {}, time(list.wall - list.devices)
    for i, row in ipairs(work_of(list)) do
        did[i] = ("%s (%s)"):format(row.label, time(row.ns))
    end
    local loaded = replay.accuracy(prof) -- how sure it is nobody has measured
    local worth = ("without all of it %s (predicted by a replay%s, not measured%s); no cause \z
        alone is worth %d%%"):format(all, how, loaded ~= "" and "; " .. loaded or "",
        100 * LITTLE)
    return ("dominated by the devices' work, %s, busy for %s of %s: %s"):format(
        table.concat(did, ", "), percent(list.busy / list.wall), time(list.wall), list.vague and
        "what less of it would save is not known, " .. STREAMS or worth)
end

-- Why a cause is worth nothing.
local function why_nothing(list, row)
    local top = list[1].cause
    if DEVICE[row.cause] then
        return DEVICE[top] and "0: other work takes as long" or "0: the host comes later"
    end
    if top == "loader" then return "0: the next batch comes later" end
    local busy = list.busy >= BUSY * list.wall or WORK[top]
    return busy and "0: the device is busy" or "0: other work takes as long"
end

-- Whether workers make the batches, beside the script; of an own record that may be unknown: nil.
local function has_workers(row, prof)
    if prof.foreign then return row.name:find("_MultiProcessing", 1, true) ~= nil end
    return row.pass and row.pass.workers > 0
end
local FASTER <const> = "they are made beside the script already, and come late: more of the \z
    DataLoader's num_workers where processors are free, persistent_workers=True, and make a \z
    sample cheaper; the trace does not say whether __getitem__ computes, which processors bound, \z
    or waits, which more workers help"

-- Whether the processors that make a loader's batches ran the ops beside it, too: on cpu, and on
-- sim without a card.
local function shares_processors(list, prof)
    return has_workers(list[1], prof) ~= false
        and (list.work == 0 or list.kind:find("CPU-backed", 1, true) ~= nil)
end

local function conclude_untold(list, prof)
    local text, did = UNTOLD[list.untold]:format(list.untold == "launched" and list.launched
        or list.work - (list.untold == "calls" and list.calls or list.queued), list.work), {}
    local lacks_work = list.untold == "work" or list.untold == "launched"
    if lacks_work and not prof.writer then text = text .. ACTIVITIES end
    if lacks_work or OF_DEVICES[list.untold] then
        text = text .. (RECORDS[prof.writer] or "")
    end
    if not OF_DEVICES[list.untold] then return text end
    for i, row in ipairs(work_of(list)) do did[i] = ("%s %s"):format(row.label, time(row.ns)) end
    return ("%s; devices were busy for %s of %s: %s"):format(text, percent(list.busy / list.wall),
        time(list.wall), table.concat(did, ", "))
end

-- Whether most of a modelled card's time is that of ops which nobody measured on it, so that it is
-- the least that they can take.
local function mostly_bounds(prof)
    local all, bounds, names = 0, 0, {}
    for name in (prof.at_least or ""):gmatch "[^,%s]+" do names[name] = true end
    for _, row in ipairs(next(names) and prof:rows() or {}) do
        local ns = row.self_device_time_total
        all = all + ns
        if names["…"] or names[row.name:match "^%S+"] then bounds = bounds + ns end
    end
    return 2 * bounds > all
end
local BOUNDS <const> = "; the card's times are the least that it can take, as nobody measured it: \z
    what it takes more may be what dominates"

local LEAST <const> = "; kernels and copies take at least that on the card, and where they take \z
    more, they dominate the more"

local PACED <const> = "since the trace does not say how long worker processes took for a batch \z
    (a record with num_workers=0 does)"

-- What may be worth more than the most that is known: devices' work, where streams may have waited
-- for it; any, where whose time the recording's is is not known; and where worker processes may
-- have had time left, what then is worth more than the first.
local function may_be_more(list)
    local rows, top = {}, list[1] or { worth = 0 }
    local known = math.max(top.worth, LITTLE * list.wall)
    local then_known = top.worth < known and known or math.max(known, top.at_most or 0)
    for _, row in ipairs(list) do
        local open = row.unknown or slowed.reason(list, row) and (row ~= top or top.worth < known)
        local least = open and known or list.paced and then_known or math.huge
        if (row.at_most or 0) > least then rows[#rows + 1] = row end
    end
    table.sort(rows, function(a, b)
        if a.at_most ~= b.at_most then return a.at_most > b.at_most end
        return a.ns > b.ns
    end)
    return rows
end

local function conclude_open(list, how, prof)
    local top, may, why = list[1], {}, {}
    for i, row in ipairs(list.open) do
        local may_be = i == 1 and " may be worth" or ""
        may[i] = ("%s%s up to %s"):format(row.label, may_be, time(row.at_most))
        local reason = row.unknown and STREAMS or slowed.reason(list, row) or PACED
        if not why[reason] then why[#why + 1], why[reason] = reason, true end
    end
    local known = top.share >= LITTLE and ("of what is known the most is owed to %s: without that \z
        %s instead of %s (predicted by a replay%s, not measured; %s)"):format(top.label,
        fit.left(list.wall, top.worth, top.at_most), time(list.wall), how,
        replay.accuracy(prof, top.cause))
        or ("nothing that is known is worth %d%% of the %s"):format(100 * LITTLE, time(list.wall))
    return ("what dominated is not decided: %s, %s; %s"):format(
        table.concat(may, ", "), table.concat(why, ", and "), known)
end

local function conclude_nothing(list, how, busy, prof)
    local top = list[1]
    return ("nothing to gain here: no cause alone is worth %d%% of the %s%s (predicted by a \z
        replay%s, not measured%s)"):format(100 * LITTLE, time(list.wall),
        list.work > 0 and ", in which devices were busy for " .. busy or "", how,
        top and "; " .. replay.accuracy(prof, top.cause) or "")
end

local function conclude(list, prof)
    local how = list.kind == "measured" and "" or (" of a record that is %s%s"):format(list.kind,
        prof.at_least and not prof.foreign and ", at least" or "")
    if list.vague and not list.open then how = how .. UNKNOWING end
    local top, busy = list[1], percent(list.wall > 0 and list.busy / list.wall or 0)
    if list.untold then return conclude_untold(list, prof) end
    if list.together then return conclude_together(list, how, prof) end
    if list.open then return conclude_open(list, how, prof) end
    if not top or top.share < LITTLE then return conclude_nothing(list, how, busy, prof) end
    local text = ("dominated by %s: without that %s%s instead of %s (predicted by a replay%s, not \z
        measured; %s)"):format(top.label, fit.left(list.wall, top.worth, top.at_most),
        top.more and " or less" or "", time(list.wall), how, replay.accuracy(prof, top.cause))
    if top.cause == "loader" and shares_processors(list, prof) then
        text = text .. "; or less: the ops share the loader's processors, and stay as slow as \z
            they were beside it"
    end
    if not WORK[top.cause] and mostly_bounds(prof) then text = text .. BOUNDS end
    if WORK[top.cause] and prof.at_least then text = text .. LEAST end
    local second = list[2]
    if WORK[top.cause] and (not second or second.share < LITTLE) then
        text = ("%s; nothing else is worth %d%%: devices were busy for %s of the time"):format(text,
            100 * LITTLE, busy)
    end
    return text
end

local HIDDEN <const> = "%s; waits and synchronizations follow each other, and what one does not \z
    wait for the next one does: without both %s instead of %s"
local PROFILERS <const> = "%s; in either time %s (%s) is the profiler's own, which the program \z
    alone does not take"

local Verdict = { __name = "verdict" }
Verdict.__index = Verdict

-- The sentence, and what to do about the first cause.
function Verdict:head()
    local first = self.together or self[1]
    if not self.cause and not (self.open and first.advised) then return self.sentence end
    return ("%s\n%s: %s"):format(self.sentence, first.label, first.advice)
end

-- A row's worth as a share, or as two where that is a range.
local function share_of(row, wall)
    local most = row.at_most and row.at_most > row.worth
    return percent(row.share) .. (most and " to " .. percent(row.at_most / wall) or "")
end

function Verdict.__tostring(list)
    local rows, out = { { "what the time is owed to", "times", "time", "worth", "share",
        "most of it" } }, { list.sentence }
    for i, row in ipairs(list) do
        rows[i + 1] = { row.label, ("%d"):format(row.times), time(row.ns),
            row.nothing and "0" or fit.worth(row),
            (row.unknown or row.nothing) and "" or share_of(row, list.wall),
            row.nothing or row.where or "" }
    end
    if list.untold then return list.sentence end
    if #list > 0 then out[2] = fit.columns(rows, RIGHT) end
    for _, row in ipairs(list) do
        if row.advised or row == list.together then
            out[#out + 1] = ("%s: %s"):format(row.label, row.advice)
        end
    end
    for _, row in ipairs(list) do
        if row.more then out[#out + 1] = fit.why_more { { saves = row.worth, more = true } } end
    end
    if list.lines then out[#out + 1] = fit.LINES end
    if list.work == 0 then out[#out + 1] = "no device but the host ran anything" end
    out[#out + 1] = list.assumed
    if list.paced then out[#out + 1] = fit.PACED end
    return table.concat(out, "\n")
end

-- Of a job, the rank that the others wait for, and what then is to be done about collectives.
local function add_late(list, prof)
    local several = not list.untold and list[1] and list[1].rank
    if several then list.late, list.met = late.of(prof, LITTLE * list.wall) end
    for _, row in ipairs(list.late and list or {}) do
        local waits = row.cause == "collectives" and 2 * list.late.ns >= row.ns
        if waits then row.advice = late.advice(list.late) end
    end
end

local function worth_more(a, b)
    if a.worth ~= b.worth then return a.worth > b.worth end
    local p, q = a.at_most or a.worth, b.at_most or b.worth
    if not a.unknown and not b.unknown and p ~= q then return p > q end
    if a.unknown and b.unknown and a.ns ~= b.ns then return a.ns > b.ns end
    return a.order < b.order
end

-- Waits of both kinds that follow each other, so that neither alone is worth much.
local function add_hidden(list)
    local alone = 0
    for _, row in ipairs(list) do
        if WAITS[row.cause] then alone = math.max(alone, row.worth) end
    end
    if list.untold or list.all_waits <= 2 * alone + LITTLE * list.wall then return end
    list.sentence = HIDDEN:format(list.sentence, time(list.wall - list.all_waits), time(list.wall))
    for _, row in ipairs(list) do row.advised = row.advised or WAITS[row.cause] end
end

-- prof:verdict(rank) -> list of {cause, label, ns, times, worth, share, nothing, unknown, at_most,
-- where, advice}, at_most: where a trace does not say what streams waited for, of the devices' work
-- and waits for them, and of all where worker processes made batches that were awaited; unknown:
-- the worth is not known but for that, and 0; the most worth first; .cause: the first one's, nil
-- where none dominates; .sentence; .met: prof:collectives(), where it was asked; .kind: of the
-- record's times
local function verdict(prof, rank)
    local _ = replay.job(prof, rank, "profile.verdict") -- held for what follows
    local list, loads = replay.verdict(prof, rank), false
    slowed.apply(list, IDLE)
    local built = causes.built(prof, list)
    local of_writer = causes.BY_WRITER[prof.writer] or {}
    for i, row in ipairs(list) do
        local any = prof.foreign and not built.torch and causes.ANY[row.cause]
        row.advice = of_writer[row.cause] or any or row.advice
        loads = loads or row.cause == "loader"
        row.unknown = list.vague and WORK[row.cause] or nil
        if row.unknown then row.worth = 0 end
        local vague = list.vague and (row.unknown or WAITS[row.cause])
        row.at_most = (vague or row.at_most > row.worth) and row.at_most or nil
        row.order, row.share = i, list.wall > 0 and row.worth / list.wall or 0
        row.where = where(row)
        list.lines = list.lines or prof.foreign and row.where and row.file ~= nil
        if row.cause == "script" and prof.foreign and (row.file or row.before_file) then
            row.advice = row.sampled and has(list, row, row.library or MOVE) or MOVE
        end
        if row.cause == "script" and list.sampled and not prof.foreign then row.advice = SAMPLED end
        if row.cause == "script" and not row.library then
            row.advice = causes.script(row, built, prof) or row.advice
        end
        if row.cause == "script" then row.advice = slowed.beside(list, row.advice) end
        if row.cause == "loader" and row.sampled then
            row.advice = has(list, row, row.advice)
        end
        if row.cause == "collectives" and prof.foreign and not row.rank then
            row.advice = row.advice .. ALL_RANKS
        end
        if row.cause == "cpu" then row.advice = causes.host_ops(row, prof) or row.advice end
        if row.cause == "kernels" then
            row.advice = causes.kernels(row, prof, row.share >= LITTLE, built) or row.advice
        end
        if row.cause == "launches" then
            row.advice = launches(row, built, prof) or row.advice
        end
        if row.cause == "delays" then
            row.advice = causes.delays(built) or row.advice
        end
        if row.cause == "copies" then row.advice = causes.copies(row, built) or row.advice end
        if row.cause == "memory" then row.advice = causes.memory(row, prof) or row.advice end
        if row.cause == "setup" then row.advice = causes.setup(row, built, prof) or row.advice end
        if row.pass then row.advice = workers.advice(row.pass) end
        if row.cause == "loader" and prof.foreign and has_workers(row, prof) then
            row.advice = FASTER
        end
        local once = not WAITS[row.cause] and causes.came_once(row)
        if once and not (row.library and row.steps == 0) then
            local unnamed = row.cause == "script" and prof.foreign and not prof.writer
            once = once .. (unnamed and not row.sampled and NAMES or "")
            local named = row.cause == "script" and row.sampled
            -- the place named may have come in each step, beside what came once
            local beside = named and row.most <= row.ns - row.extra or row.extras > 1
            row.advice = beside and row.advice .. "; " .. once
                or named and has(list, row, once) or once
        end
        if is_once(row) then
            local left = prof.foreign and loads and not row.name
            row.advice = ONCE .. (left and LEFT or "")
        end
    end
    table.sort(list, worth_more)
    local bound = prof.foreign and prof.at_least and not (list[1] and WORK[list[1].cause])
    list.untold = list.untold or bound and "bound" or nil
    for i, row in ipairs(list) do
        local most = math.max(row.worth, row.at_most or 0)
        local little = row.share < NOTHING and 2 * most < row.ns and most < LITTLE * list.wall
        row.nothing = not list.untold and not row.unknown and little and why_nothing(list, row)
            or nil
        row.order = i
    end
    for _, row in ipairs(list) do if row.nothing then row.worth, row.share = 0, 0.0 end end
    table.sort(list, worth_more)
    for i, row in ipairs(list) do
        row.order, row.advised = nil, i <= ADVISED and row.share >= LITTLE
        if row.cause == "waits" then row.advice = usage.advice(prof, row, row.name) end
        if row.cause == "waits" and row.advised and not list.untold then
            row.advice = together_with(prof, rank, row)
        end
        local once = WAITS[row.cause] and causes.came_once(row)
        if once then row.advice = row.advice .. "; " .. once end
        row.advice = causes.of_device(row.advice, prof)
    end
    list.cause = not list.untold and list[1] and list[1].share >= LITTLE and list[1].cause or nil
    list.kind = fit.safe(prof.kind)
    list.together = together(list)
    if not list.untold and not list.together then
        local more = may_be_more(list)
        if #more > 0 then list.open, list.cause = more, nil end
    end
    add_late(list, prof)
    if list.together and list.together.cause == "kernels" and built.torch then
        list.together.advice = causes.by_kind(prof) or list.together.advice
    end
    list.cause = list.together and list.together.cause or list.cause
    list.sentence = conclude(list, prof)
    if not list.untold and list.profiler >= LITTLE * list.wall then
        list.sentence = PROFILERS:format(list.sentence, time(list.profiler),
            percent(list.profiler / list.wall))
    end
    list.sentence = list.sentence .. slowed.text(list)
    if not list.recorded then add_hidden(list) end
    if list.late then list.sentence = list.sentence .. "; " .. late.text(list.late) end
    return setmetatable(list, Verdict)
end

return { verdict = verdict }
