--!plain
-- What a profile's devices did, what its waits cost and whose memory it was, as lists that print as
-- text: prof:sync(), waits(), devices(), queues(), launches() and memory(); and alive().
local require = ...
local fit, registry = require "fit", require "registry"
local usage = registry["gpush.usage"]

local TOLD <const> = 5 -- rows of a text with advice

local time, text, share, bytes = fit.time, fit.table, fit.percent, fit.bytes
local function count(n) return ("%d"):format(n) end

-- A list with the kind of its times, which its text ends in where it has any.
local function shown(list, prof, class)
    list.kind, list.at_least = prof.kind, prof.at_least
    return setmetatable(list, class)
end

-- ---- waits ----

-- Where a wait is: its source line, or the region around it where the trace has no lines; with
-- the rank where there are several.
local function place(row, several)
    local at = row.file and fit.place(row.file, row.line)
        or row.region and ("in %s"):format(row.region) or "?"
    return several and ("rank %d: %s"):format(row.rank, at) or at
end

local function several_ranks(list)
    for _, row in ipairs(list) do if row.rank ~= list[1].rank then return true end end
    return false
end

-- What is said of a list without waits.
local function no_waits(list)
    if list.no_device then return "no device ran anything, and the host waited for none" end
    return list.unknown and "whether the host has waited for a device is not known: the trace has \z
        no calls of CUDA's or HIP's runtime" or "the host has not waited for a device"
end

-- A line for each of the first advices of the rows.
local function add_advice(out, list, several)
    local told = {}
    for _, row in ipairs(list) do
        if #told < TOLD and row.advice ~= "" and not told[row.advice] then
            told[row.advice] = true
            told[#told + 1] = ("%s, %s: %s"):format(fit.safe(place(row, several)),
                fit.safe(row.what), row.advice)
        end
    end
    table.move(told, 1, #told, #out + 1, out)
end

local function reason(row)
    return row.why == row.what and row.why or row.why .. ": " .. row.what
end

-- What would wait with a card, where the record is of the CPU alone.
local function on_a_card(list)
    local several = several_ranks(list)
    local out = text({ "line", "why", "times" }, list, function(row)
        return { place(row, several), reason(row), count(row.count) }
    end, 2)
    add_advice(out, list, several)
    return list.head .. ":\n" .. table.concat(out, "\n")
end

-- What is said of those lines: of a trace of PyTorch, the first line of a function stands for those
-- of its lines that call no function of Python's, as x[mask].
local function head_of_reads(foreign, unknown)
    return ("%s these lines would make the host wait on a card that has their tensors (by what \z
        they call, not measured; copies by to() and cpu()%s%s are not among them%s)"):format(
        unknown and "whether the host has waited for a device is not known, as nothing of one is \z
        on the record;" or "nothing waits for a device;",
        foreign and ", and tolist()" or "", unknown and "," or ", which copy nothing here,",
        foreign and "; " .. fit.LINES or "")
end

local Sync = { __name = "sync report" }
function Sync.__tostring(list)
    local head = list.verdict and list.verdict:head() .. "\n" or ""
    if #list == 0 and #list.reads > 0 then return head .. on_a_card(list.reads) end
    if #list == 0 then return head .. no_waits(list) end
    local several = several_ranks(list)
    local out = text({ "line", "why", "times", "host wait", "longest", "drained", "idle",
        list.predicted and "saves" or nil }, list, function(row)
        return { place(row, several), reason(row), count(row.count), time(row.waited),
            time(row.longest), count(row.drained), time(row.idle),
            list.predicted and fit.saving(row) or nil }
    end, 2)
    add_advice(out, list, several)
    out[#out + 1] = ("%d wait%s, %s; drained: work that was queued, and that the device had to \z
        finish; idle: time until its next work began, in which the device had nothing to do \z
        (%s)%s"):format(list.count,
        list.count == 1 and "" or "s", time(list.waited), time(list.idle), list.predicted
        and "; saves: what the run would take less without the line's waits, predicted by a \z
        replay: " .. list.predicted or "")
    out[#out + 1] = fit.why_more(list)
    for _, row in ipairs(list) do
        if row.at_most then out[#out + 1] = fit.PACED break end
    end
    if list.foreign then
        out[#out + 1] = fit.LINES
    end
    out[#out + 1] = fit.times(list)
    if #list.reads > 0 then out[#out + 1] = on_a_card(list.reads) end
    return head .. table.concat(out, "\n")
end

-- What the run would take less without each line's waits, where lines are known. Of a line that
-- waits for several things that stands in the row of the one for which it waits longest; the others
-- are `mixed`, too, and their savings in that.
local function predict(list, prof)
    local saves, replay = {}, registry["gpush.replay"]
    for _, s in ipairs(replay.savings(prof)) do
        if s.file then saves[s.file .. "\0" .. s.line] = s end
    end
    for _, row in ipairs(list) do
        local s = row.file and saves[row.file .. "\0" .. row.line]
        local own = s and s.why == row.why and s.what == row.what
        if own then row.saves, row.at_most, row.more = s.saves, s.at_most, s.more end
        row.mixed = s and s.mixed or nil
        list.predicted = list.predicted or row.saves and replay.accuracy(prof, "wait")
    end
end

-- The row of w's line in the list, a new one for its first wait.
local function row_of(list, known, w)
    local key = table.concat({ w.file or "", w.line or 0, w.why, w.what,
        w.file and "" or w.region or "", w.rank }, "\0")
    local row = known[key]
    if not row then
        row = { file = w.file, line = w.line, why = w.why, what = w.what, region = w.region,
            rank = w.rank, device = w.device, advice = w.advice, count = 0, ops = 0 }
        known[key] = row
        list[#list + 1] = row
    end
    row.count, row.ops = row.count + 1, row.ops + (w.again and 0 or 1)
    return row
end

-- The reads by line, the most first; unknown: whether a device ran anything.
local function reads(prof, unknown)
    local list, known = {}, {}
    for _, r in ipairs(usage.reads(prof)) do row_of(list, known, r) end
    fit.sort(list, "count")
    for _, row in ipairs(list) do row.advice = fit.advice(row.advice, row.ops) end
    list.head = head_of_reads(prof.foreign, unknown)
    return list
end

-- prof:sync() -> the waits by line, the longest first; .verdict: prof:verdict(); .reads: what would
-- wait on a card, of a record without any device
local function sync(prof)
    local list, known, waits = { count = 0, waited = 0, idle = 0 }, {}, usage.waits(prof)
    list.unknown = waits.unknown
    for _, w in ipairs(waits) do
        local row = row_of(list, known, w)
        local ns = w.stop - w.start
        row.waited, row.longest = (row.waited or 0) + ns, math.max(row.longest or 0, ns)
        row.drained, row.idle = (row.drained or 0) + w.drained, (row.idle or 0) + w.idle
        list.count, list.waited, list.idle = list.count + 1, list.waited + ns, list.idle + w.idle
    end
    fit.sort(list, "waited")
    -- A build without the analysis of profiles shows the waits, and does not judge them.
    local judged, job = rawget(registry["gpush.replay"], "verdict"),
        rawget(registry["gpush.replay"], "job")
    local _ = job and job(prof) -- held for what follows
    if judged and #list > 0 and not several_ranks(list) then predict(list, prof) end
    list.verdict = judged and prof:verdict()
    local v = list.verdict
    list.reads = reads(prof, v and v.untold)
    list.no_device = waits.unknown and v and v.work == 0 and not v.untold or nil
    for _, row in ipairs(list) do
        row.advice = fit.advice(row.advice, row.ops)
        list.foreign = list.foreign or prof.foreign and row.file ~= nil
    end
    return shown(list, prof, Sync)
end

-- The advice of a row of another list for waits for `what`, by how many ops waited at its line.
local function advice(prof, row, what)
    local ops = 0
    for _, w in ipairs(usage.waits(prof)) do
        local same = w.file == row.file and w.line == row.line and w.what == what
        if same and not w.again and (w.rank == row.rank or not row.rank) then ops = ops + 1 end
    end
    return fit.advice(row.advice, ops)
end

local Waits = { __name = "waits" }
function Waits.__tostring(list)
    if #list == 0 then return no_waits(list) end
    local out = text({ "line", "why", "device", "at", "host wait", "drained", "idle" },
        list, function(row)
            return { place(row), reason(row), row.device, time(row.start),
                time(row.stop - row.start), count(row.drained), time(row.idle) }
        end, 3)
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

-- ---- devices ----

local Devices = { __name = "devices" }
function Devices.__tostring(list)
    if #list == 0 then return "no device but the host ran anything" end
    local meets, short = false, false
    for _, d in ipairs(list) do meets, short = meets or d.collective > 0, short or d.short > 0 end
    local heads = { "device", "busy", "computing", "copies and collectives only", "idle",
        "from first to last", "copies", "kernels" }
    if short then heads[#heads + 1] = "shorter than their launch" end
    if meets then table.move({ "collectives", "beside computing" }, 1, 2, #heads + 1, heads) end
    local out = text(heads, list, function(d)
        local cells = { d.device, ("%.1f%%"):format(100 * d.busy), time(d.compute), time(d.other),
            time(d.idle), time(d.span), count(d.copies), count(d.kernels) }
        if short then cells[#cells + 1] = count(d.short) end
        if meets then
            cells[#cells + 1] = time(d.collective)
            cells[#cells + 1] = share(d.beside, d.collective)
        end
        return cells
    end)
    out[#out + 1] = "busy: of the wall time; idle: between the first and the last work"
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

local Queues = { __name = "queues" }
function Queues.__tostring(list)
    if #list == 0 then return "no device but the host ran anything" end
    local out = text({ "stream", "work", "busy", "idle: host late", "idle: launch", "idle: other",
        "queued: mean", "median", "max" }, list, function(q)
        return { ("%s, stream %d"):format(q.device, q.stream), count(q.work), time(q.busy),
            time(q.host_wait), time(q.kernel_wait), time(q.other), ("%.1f"):format(q.mean),
            ("%g"):format(q.median), ("%g"):format(q.max) }
    end)
    out[#out + 1] = "idle: the host queued the next work only after the last had ended; the \z
        launch's own delay, below 30 us; or another stream or event. queued: launched and not begun"
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

local Launches = { __name = "launches" }
local WIDE <const> = 104 -- columns that all of a row take

-- A row without the work, the longest call and the longest delay, where there is no room for them.
local function fitting(row)
    for _, c in ipairs((fit.width() or math.huge) < WIDE and { 8, 6, 4 } or {}) do
        table.remove(row, c)
    end
    return row
end

function Launches.__tostring(list)
    if #list == 0 then return "no call that launched work is on the record" end
    local out = text(fitting { "device", "call", "times", "work", "each", "longest", "later",
        "longest", "short", "slow", "late" }, list, function(row)
        return fitting { row.device, row.call or "(copies that were waited for)", count(row.times),
            count(row.work), time(row.called / row.times), time(row.called_most),
            time(row.delay_median), time(row.delay_most), count(row.short), count(row.slow),
            count(row.late) }
    end, 2)
    out[#out + 1] = "work: kernels, copies and fills; later, the median and the longest: from the \z
        call's end to its first work's begin. short: its only work took less than the call; slow: \z
        the call took more than 50 us; late: its work began more than 100 us later"
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

-- ---- memory ----

local Memory = { __name = "memory" }
function Memory.__tostring(list)
    local out = {}
    if #list > 0 then
        out = text({ "line", "op", "device", "blocks", "allocated", "at the peak", "kept" }, list,
            function(row)
                return { row.file and fit.place(row.file, row.line) or "?",
                    row.name or "outside of any op", row.device, count(row.blocks),
                    bytes(row.allocated), bytes(row.peak), bytes(row.kept) }
            end, 3)
    end
    for _, d in ipairs(list.devices) do
        out[#out + 1] = ("%s: at most %s, with %s from before; at the end %s, with %s from before")
            :format(d.device, bytes(d.peak), bytes(d.before_at_peak), bytes(d.after),
                bytes(d.before - d.before_freed))
    end
    if #out == 0 then return "no memory was allocated or freed" end
    return table.concat(out, "\n")
end

-- prof:memory() -> the owners of memory by op and line: what was alive at the peak first, then
-- what is kept
local function memory(prof)
    return setmetatable(fit.sort(usage.memory(prof), "peak", "kept"), Memory)
end

local Alive = { __name = "alive" }
function Alive.__tostring(list)
    if #list == 0 then return "nothing is alive" end
    return table.concat(text({ "line", "device", "blocks", "bytes" }, list, function(row)
        local place = row.file and fit.place(row.file, row.line) or "?"
        return { row.blocks and place or "below 1 MiB each", row.device,
            row.blocks and count(row.blocks) or "", bytes(row.bytes) }
    end, 2), "\n")
end

-- alive() -> what is alive by line, the largest first
local function alive()
    local list = usage.alive()
    table.sort(list, function(a, b)
        if a.bytes ~= b.bytes then return a.bytes > b.bytes end
        if a.device ~= b.device then return a.device < b.device end
        if a.file ~= b.file then return (a.file or "") < (b.file or "") end
        return (a.line or 0) < (b.line or 0)
    end)
    return setmetatable(list, Alive)
end

return {
    memory = memory,
    alive = alive,
    advice = advice,
    sync = sync,
    waits = function(prof) return shown(usage.waits(prof), prof, Waits) end,
    devices = function(prof) return shown(usage.devices(prof), prof, Devices) end,
    launches = function(prof) return shown(usage.launches(prof), prof, Launches) end,
    queues = function(prof, series) return shown(usage.queues(prof, series), prof, Queues) end,
}
