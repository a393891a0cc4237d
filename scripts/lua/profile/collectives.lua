--!plain
-- prof:collectives(): of a profile that joins those of a job's ranks, which rank the others waited
-- for in each collective, by how much, and what it did meanwhile.
local require = ...
local fit, usage = require "fit", require "registry" ["gpush.usage"]
local SHOWN <const> = 20 -- rows of a text

local function time(ns) return ("%.3fms"):format(ns / 1e6) end

local function by_start(a, b) return a.start < b.start end

-- Sorts by the starts; a rank's events mostly are in that order.
local function sort(list)
    for i = 2, #list do
        if list[i].start < list[i - 1].start then return table.sort(list, by_start) end
    end
end

local function place(e)
    return e.file and fit.place(e.file, e.line) or e.name
end

-- ---- the ranks' events ----

local function is_message(e)
    local name = e.kernel or e.name
    return e.name:find "_send$" ~= nil or e.name:find "_recv$" ~= nil
        or name:find "^%a+:send" ~= nil or name:find "^%a+:recv" ~= nil
end

-- The kind of device that an event is of, the same in every rank: "cuda" of "r1/cuda:1".
local function kind_of(e) return (e.device:gsub("^r%d+/", ""):gsub(":%d+$", "")) end

-- Events without those that lie within an earlier one; in the order of their starts.
local function outermost(list)
    sort(list)
    local out, covered = {}, -1
    for _, e in ipairs(list) do
        if e.start >= covered then
            out[#out + 1] = e
            covered = e.stop
        end
    end
    return out
end

-- The op that queued a kernel; the kernel itself where its record has none, or a call instead.
local function op_of(r, e)
    local call = e.id and r.calls[e.id]
    return call and call.kind == "op" and call or e
end

-- "prepare (ddp.py:4)", or what a library does for a line: "time.sleep at ddp.py:5".
local function script_name(e)
    local at = e.file and place(e)
    local own = at and at:gsub("%+$", "") -- a function's, which its name has already
    return at and not e.name:find(("(%s)"):format(own), 1, true) and e.name .. " at " .. at
        or e.name
end

-- The ranks, each with its collectives (met) in the order of starts, and what it did before some of
-- them, to be found out (tasks).
local function ranks_of(prof)
    local ranks, list = {}, {}
    for i, number in ipairs(usage.ranks(prof)) do
        list[i] = { rank = number, met = {}, tasks = {}, waiting = 0 }
        ranks[number] = list[i]
    end
    for _, e in ipairs(usage.met(prof)) do
        local met = ranks[e.rank].met
        met[#met + 1] = e
    end
    for _, r in ipairs(list) do sort(r.met) end
    return list
end

-- A rank's events beside its collectives: the host's ops and waits (host), the kernels of devices
-- (work), the host's waits for collectives (waits), and of another program's trace the functions
-- that the script was in (script), each in the order of starts; by id, what queued kernels (calls):
-- ops, and in other programs' traces calls of the runtime. Those of all ranks at once would take
-- much memory.
local function events_of(prof, r)
    local out = { host = {}, work = {}, waits = {}, script = {}, calls = {}, longest = 0 }
    local queued = {} -- by what queued a collective
    for _, e in ipairs(r.met) do if e.id then queued[e.id] = true end end
    for _, e in ipairs(usage.events(prof, r.rank)) do
        if (e.kind == "op" or e.kind == "call") and e.id then out.calls[e.id] = e end
        if e.kind == "kernel" then
            if not e.collective then out.work[#out.work + 1] = e end
            out.longest = math.max(out.longest, e.stop - e.start)
        elseif e.kind == "sample" and prof.foreign then -- which stands for the time until its end
            out.script[#out.script + 1] = { name = script_name(e), start = e.start + 1 - e.samples,
                stop = e.start + 1 }
        elseif e.kind == "op" or e.kind == "wait" or prof.foreign and e.batch then
            out.host[#out.host + 1] = e
            e.collective = e.kind == "op" and queued[e.id]
            if e.why == "collective" then out.waits[#out.waits + 1] = e end
        end
    end
    out.host = outermost(out.host)
    for _, events in ipairs { out.work, out.waits, out.script } do sort(events) end
    return out
end

-- ---- what a rank did ----

-- The first of the events, which are in the order of their starts, that may end after t: none is
-- longer than `longest`. Without it they do not overlap.
local function first_after(list, t, longest)
    local lo, hi = 1, #list + 1
    while lo < hi do
        local mid = (lo + hi) // 2
        local stop = longest and list[mid].start + longest or list[mid].stop
        if stop > t then hi = mid else lo = mid + 1 end
    end
    return lo
end

local function add(sums, key, from, to)
    if to > from then sums[key] = (sums[key] or 0) + to - from end
end

-- The time of the host between two of its events, where Lua ran: no op has its line, also where
-- both are of one.
local function between(a, b)
    local x, y = a and place(a), b and place(b)
    if x == y and x then return "between two ops of " .. x end
    if x and y then
        local same = a.file and a.file == b.file
        return ("between %s and %s"):format(x, same and fit.line(b.line) or y)
    end
    return x and "after " .. x or y and "before " .. y or "no op"
end

-- Adds up that time by the functions that the script was in; what they leave is between a and b.
local function add_script(sums, r, a, b, from, to)
    local i, left = first_after(r.script, from), math.max(0, to - from)
    while r.script[i] and r.script[i].start < to do
        local s = r.script[i]
        local begin, stop = math.max(from, s.start), math.min(to, s.stop)
        add(sums, s.name, begin, stop)
        left, i = left - math.max(0, stop - begin), i + 1
    end
    add(sums, between(a, b), 0, left)
end

-- Adds up the devices' work from one time to another; returns when all of it had ended.
local function add_work(sums, r, from, to)
    local ended = from
    for k = first_after(r.work, from, r.longest), #r.work do
        local e = r.work[k]
        if e.start >= to then break end
        local op = op_of(r, e)
        add(sums, ("%s on %s"):format(place(op), kind_of(e)), math.max(from, e.start),
            math.min(to, e.stop))
        ended = math.max(ended, math.min(to, e.stop))
    end
    return ended
end

-- What a rank did since ranks had met before, until a collective began (met): ns by source line.
-- Collectives, and waits for them, do not count until the earlier one ended; nor does what the host
-- did once it had called the collective, which then waits for its device alone. Where that had
-- nothing more to do, the collective began late: its process had no processor, or another one's
-- work ran there.
local function activity(r, before, met)
    local sums, to, from, over = {}, met.start, before.begun, before.ended
    local at = from
    local call = math.min(to, met.called or to)
    local i = first_after(r.host, from)
    while i <= #r.host and r.host[i].start < call do
        local e = r.host[i]
        add_script(sums, r, r.host[i - 1], e, at, e.start)
        local line = e.kind == "wait" and e.file
        local key = line and ("wait (%s) at %s"):format(e.why, place(e)) or place(e)
        local met_others = e.why == "collective" or e.collective
        add(sums, key, math.max(met_others and over or from, e.start), math.min(call, e.stop))
        at = math.max(at, e.stop)
        i = i + 1
    end
    add_script(sums, r, r.host[i - 1], r.host[i], at, call)
    local ended = add_work(sums, r, from, to)
    add(sums, ("%s was called, and began late"):format(place(met)), math.max(call, ended, over), to)
    return sums
end

-- ---- who came last ----

-- The collectives that ranks have in common, each with every rank's event, when all had begun, and
-- when the first one ended: those of one name, and so of one group, on one kind of device are in
-- the same order everywhere.
local function meetings(ranks)
    local known, list = {}, {}
    for _, r in ipairs(ranks) do
        local count = {}
        for i, e in ipairs(r.met) do
            local kind = kind_of(e) .. "\0" .. e.op
            count[kind] = (count[kind] or 0) + 1
            local key = kind .. "\0" .. count[kind]
            local m = known[key] or { begun = 0, ended = math.huge }
            if not known[key] and not is_message(e) then
                known[key], list[#list + 1] = m, m
            end
            m[#m + 1], e.meeting = { r = r, e = e, number = i }, m
            m.begun, m.ended = math.max(m.begun, e.start), math.min(m.ended, e.stop)
        end
    end
    return list
end

-- The last one before participant x's in which all had come by time t.
local function meeting_before(x, t)
    for i = x.number - 1, 1, -1 do
        local m = x.r.met[i].meeting
        if m.begun <= t then return m end
    end
    return { begun = 0, ended = 0 }
end

-- A task: what the participant did before it came, since ranks had met before time t. Its rank's
-- events give the answer, .sums, later.
local function task(x, t)
    local it = { before = meeting_before(x, t), met = x.e }
    x.r.tasks[#x.r.tasks + 1] = it
    return it
end

-- Adds a meeting of two or more ranks to its row.
local function add_meeting(row, m)
    table.sort(m, function(a, b) return a.e.start < b.e.start end)
    local last = m[#m]
    row.count = row.count + 1
    for _, x in ipairs(m) do
        local ns = math.max(0, math.min(last.e.start, x.e.stop) - x.e.start)
        row.waited, x.r.waiting = row.waited + ns, x.r.waiting + ns
    end
    local late = row.by_rank[last.r.rank]
    if not late then
        late = { rank = last.r.rank, count = 0, late = 0 }
        row.by_rank[last.r.rank] = late
    end
    local by = last.e.start - m[#m - 1].e.start
    if by == 0 then return end -- none came last
    late.count, late.late = late.count + 1, late.late + by
    local t = m[1].e.start
    late[late.count] = { usual = task(m[1], t), did = task(last, t) }
end

-- What the last one did more than the first ones before they came: ns by source line.
local function excess_of(late)
    local sums = {}
    for _, it in ipairs(late.late > 0 and late or {}) do
        for key, ns in pairs(it.did.sums) do
            sums[key] = (sums[key] or 0) + ns - (it.usual.sums[key] or 0)
        end
    end
    return sums
end

-- The rank that came last by the most, and what it did more than the first one.
local function conclude(row)
    local worst
    row.lates = {}
    for rank, late in pairs(row.by_rank) do
        row.lates[rank] = { times = late.count, ns = late.late }
        if not worst or late.late > worst.late
            or late.late == worst.late and late.rank < worst.rank then worst = late end
    end
    row.last, row.times_last, row.late = worst.rank, worst.count, worst.late
    local best, excess = nil, excess_of(worst)
    for key, ns in pairs(excess) do
        if ns > 0 and (not best or ns > excess[best]
            or ns == excess[best] and key < best) then best = key end
    end
    row.meanwhile, row.excess = best, best and excess[best] or 0
    row.by_rank = nil
end

-- ---- exposed and hidden ----

-- The parts of intervals of a that lie within (inside) or beside those of b: lists are in the order
-- of starts, and a's do not overlap.
local function parts(a, b, inside)
    local out, i = {}, 1
    local function put(from, to)
        if to > from then out[#out + 1] = { start = from, stop = to } end
    end
    for _, x in ipairs(a) do
        while b[i] and b[i].stop <= x.start do i = i + 1 end
        local k, at = i, x.start
        while b[k] and b[k].start < x.stop do
            local from, to = math.max(at, b[k].start), math.min(x.stop, b[k].stop)
            put(inside and from or at, inside and to or from)
            at, k = math.max(at, to), k + 1
        end
        if not inside then put(at, x.stop) end
    end
    return out
end

-- Their time together, where they overlap once; in the order of starts.
local function length(list)
    local sum, at = 0, -math.huge
    for _, x in ipairs(list) do
        if x.stop > at then sum, at = sum + x.stop - math.max(at, x.start), x.stop end
    end
    return sum
end

-- On the cpu the host computes: exposed is what it waits for. Elsewhere it is the time in which the
-- rank's devices compute nothing. Returns it, and the time in which either was so.
local function exposed(met, r)
    local host, device = {}, {}
    for _, e in ipairs(met) do
        local to = e.device:find "cpu$" and host or device
        to[#to + 1] = e
    end
    local waits, idle = parts(host, r.waits, true), parts(device, r.work, false)
    local sum = length(waits) + length(idle)
    table.move(idle, 1, #idle, #waits + 1, waits)
    sort(waits)
    return sum, length(waits)
end

-- Does a rank's tasks, and sums up its time.
local function read(prof, r)
    local events, busy = events_of(prof, r), 0
    for _, it in ipairs(r.tasks) do it.sums = activity(events, it.before, it.met) end
    for _, e in ipairs(r.met) do busy = busy + e.stop - e.start end
    local seen, lost = exposed(r.met, events)
    return { rank = r.rank, collectives = busy, waiting = r.waiting, exposed = seen,
        hidden = busy - seen, own = prof.wall_ns - lost }
end

-- ---- the text ----

local Collectives = { __name = "collectives" }

local function columns(rows, texts)
    local right = {}
    for c = 1, #rows[1] do right[c] = not texts[c] or nil end
    for _, row in ipairs(rows) do
        for c, cell in ipairs(row) do row[c] = fit.safe(tostring(cell)) end
    end
    return fit.columns(rows, right)
end

function Collectives.__tostring(list)
    if list.unpaired then
        return "no collective is paired: the ranks' files do not have the same ones (calls of one \z
            name and number do not overlap), as where each has another part of the run"
    elseif #list == 0 then
        return "no collective of several ranks; profile.load {file, …} joins the ranks' profiles"
    end
    local rows = { { "collective", "line", "times", "waited", "last", "how often", "by",
        "meanwhile", "excess" } }
    for i = 1, math.min(#list, SHOWN) do
        local r = list[i]
        rows[i + 1] = { r.op, r.file and fit.place(r.file, r.line) or "-", r.count,
            time(r.waited), "rank " .. r.last, r.times_last, time(r.late), r.meanwhile or "-",
            time(r.excess) }
    end
    local out = { columns(rows, { true, true, [8] = true }) }
    if #list > SHOWN then out[#out + 1] = ("and %d more"):format(#list - SHOWN) end
    rows = { { "rank", "own work", "collectives", "waiting for others", "exposed", "hidden" } }
    for i, r in ipairs(list.ranks) do
        rows[i + 1] = { r.rank, time(r.own), time(r.collectives), time(r.waiting),
            time(r.exposed), time(r.hidden) }
    end
    out[#out + 1] = "\n" .. columns(rows, {})
    out[#out + 1] = ("waited: of all ranks, for the last one; by: how much later it came than the \z
        one before it; meanwhile: what took it longer than the first one. Exposed: what the host \z
        or the device waited for. Load imbalance: the busiest rank's own work is %.2f of the mean")
        :format(list.imbalance)
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

--- prof:collectives() -> a row for each op of dist and line, the longest waits first, with .lates:
--- by rank, how often and by how much it came last; .ranks: a row for each rank; .imbalance
local function collectives(prof)
    local ranks, known = ranks_of(prof), {}
    local list = { ranks = {}, imbalance = 1, kind = prof.kind, unpaired = prof.unpaired }
    for _, m in ipairs(prof.unpaired and {} or meetings(ranks)) do
        local e = m[1].e
        local key = ("%s\0%s\0%s"):format(e.op, e.file, e.line)
        local row = known[key]
        if #m > 1 and not row then
            row = { op = e.op, file = e.file, line = e.line, count = 0, waited = 0, by_rank = {} }
            known[key], list[#list + 1] = row, row
        end
        if #m > 1 then add_meeting(row, m) end
    end
    local most, sum = 0, 0
    for i, r in ipairs(ranks) do
        list.ranks[i] = read(prof, r)
        most, sum = math.max(most, list.ranks[i].own), sum + list.ranks[i].own
    end
    if sum > 0 then list.imbalance = most / (sum / #ranks) end
    for _, row in ipairs(list) do conclude(row) end
    fit.sort(list, "waited")
    return setmetatable(list, Collectives)
end

return { collectives = collectives }
