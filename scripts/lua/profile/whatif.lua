--!plain
-- What a replay of a profile's record tells, as lists that print as text: what each line's waits
-- cost, the critical path, and why the devices were idle. Of several ranks all answer for the job,
-- with a row for each rank, or for one of them.
local require = ...
local fail, registry = require "fail", require "registry"
local fit, usage = require "fit", require "profile.usage"
local replay = registry["gpush.replay"]

local RIGHT <const> = { [2] = true, [3] = true, [4] = true, [5] = true } -- columns of numbers

local time, percent = fit.time, fit.percent

-- Where a row is: its line, or what it is where no line is known.
local function place(row)
    return row.file and fit.place(fit.safe(row.file), row.line) or fit.safe(row.what or "?")
end

-- The rank that ended last of a job's ranks, which it sorts by their numbers.
local function last_of(ranks)
    table.sort(ranks, function(a, b) return a.rank < b.rank end)
    local last = ranks[1]
    for _, rank in ipairs(ranks) do last = rank.wall > last.wall and rank or last end
    return last
end

-- ---- savings ----

local Savings = { __name = "savings" }
function Savings.__tostring(list)
    if #list == 0 then
        return "no wait but those that the script asks for (prof:verdict() has these) is recorded"
    end
    local out = fit.table({ "what waits", "times", "waited", "saves" }, list, function(row)
        local others = row.mixed and " and others" or ""
        return { (row.file and place(row) .. "  " .. fit.safe(row.what) or place(row)) .. others,
            tostring(row.count), time(row.waited), fit.saving(row) }
    end)
    out[#out + 1] = ("without them all: %s instead of %s (predicted by a replay, not measured; %s)")
        :format(fit.left(list.wall, list.all, list.at_most), time(list.wall), list.accuracy)
    if list.asked > 0 then
        out[#out + 1] = ("those that the script asks for (synchronize, %d) stay in that: without \z
            both kinds %s"):format(list.asked, time(list.without_asked))
    end
    out[#out + 1] = fit.why_more(list)
    out[#out + 1] = list.assumed
    if list.at_most > list.all then out[#out + 1] = fit.PACED end
    out[#out + 1] = fit.safe("times of the record: " .. fit.kind(list))
    if #list.ranks > 1 then
        local ranks = { { "rank", "wall time", "without them all" } }
        for _, it in ipairs(list.ranks) do
            ranks[#ranks + 1] = { tostring(it.rank), time(it.wall), time(it.wall - it.saves) }
        end
        out[#out + 1] = fit.columns(ranks, RIGHT)
    end
    local told = {}
    for i = 1, math.min(#list, 3) do
        local advice = list[i].advice
        if advice ~= "" and not told[advice] then
            out[#out + 1] = ("%s: %s"):format(place(list[i]), advice)
            told[advice] = true
        end
    end
    return table.concat(out, "\n")
end

-- How many waits the script asks for, and the wall time without these and all others.
local function asked_for(prof, rank, any)
    if rank or not any then return 0 end
    for _, row in ipairs(replay.verdict(prof, rank)) do
        if row.cause == "synchronize" then
            return row.times, prof:whatif { without = { "waits", "synchronize" } }.wall_ns
        end
    end
    return 0
end

local function savings(prof, rank)
    local list, all, at_most = replay.savings(prof, rank)
    list.all, list.at_most, list.wall = all, at_most, last_of(list.ranks).wall
    for _, row in ipairs(list) do row.advice = usage.advice(prof, row, row.what) end
    list.asked, list.without_asked = asked_for(prof, rank, #list > 0)
    list.accuracy = replay.accuracy(prof, "wait")
    list.kind, list.at_least = prof.kind, prof.at_least
    return setmetatable(list, Savings)
end

-- ---- the critical path ----

local kinds = { script = "the script", host = "%s, on the host", device = "%s, on the device",
    latency = "before %s began", wait = "after %s", loader = "%s" }
local Path = { __name = "critical path" }
function Path.__tostring(list)
    local out = fit.table({ "on the critical path", "times", "time", "share" }, list, function(row)
        local name = row.name and fit.safe(row.name) or row.file and place(row)
        local what = row.rank and "rank " .. row.rank or row.file and name
            or list.group == "line" and "where no line is known"
            or row.kind == "script" and kinds.script
            or kinds[row.kind]:format(name or "the end of all work")
        return { what, tostring(row.count), time(row.ns), percent(row.ns, list.wall) }
    end)
    out[#out + 1] = list.assumed
    for _, row in ipairs(list.ranks or {}) do
        out[#out + 1] = ("rank %d: %s of the path"):format(row.rank, percent(row.ns, list.wall))
    end
    out[#out + 1] = "wall time: " .. time(list.wall) .. "; what is not on the path costs nothing"
    out[#out + 1] = fit.times(list)
    return table.concat(out, "\n")
end

local function critical_path(prof, group, rank)
    if group and group ~= "op" and group ~= "line" and group ~= "rank" then
        fail("profile.critical_path: group: expected \"op\", \"line\" or \"rank\", got \"%s\"",
            group)
    end
    local list, wall, ranks = replay.critical_path(prof, rank, group or "op")
    list.wall, list.group, list.kind = wall, group, prof.kind
    list.at_least = prof.at_least
    if ranks > 1 and group ~= "rank" then list.ranks = replay.critical_path(prof, nil, "rank") end
    return setmetatable(list, Path)
end

-- ---- idle time ----

local shares = { { "kernels", "kernels ran" }, { "copies", "only copies ran" },
    { "latency", "idle: work was queued, and had not begun" },
    { "waiting", "idle: nothing was queued, the host waited" },
    { "loader", "idle: nothing was queued, the host was in a loader" },
    { "op", "idle: nothing was queued, the host was in an op" },
    { "script", "idle: nothing was queued, the host was in the script" } }
-- A row for each rank, with its shares.
local function each_rank(ranks)
    local rows = { { "rank", "wall time" } }
    for _, it in ipairs(shares) do rows[1][#rows[1] + 1] = it[1] end
    for i, rank in ipairs(ranks) do
        rows[i + 1] = { tostring(rank.rank), time(rank.wall) }
        for k, it in ipairs(shares) do rows[i + 1][k + 2] = percent(rank[it[1]], rank.wall) end
    end
    return rows
end

local IDLE_RIGHT <const> = {}
for i = 1, #shares + 2 do IDLE_RIGHT[i] = true end
local Idle = { __name = "idle" }
function Idle.__tostring(idle)
    if #idle.streams == 0 then return "no device but the host ran anything" end
    local first = #idle.ranks > 1 and ("of rank %d, which ended last"):format(idle.rank)
        or "of the wall time"
    local rows = { { first, "time", "share" } }
    for _, it in ipairs(shares) do
        rows[#rows + 1] = { it[2], time(idle[it[1]]), percent(idle[it[1]], idle.wall) }
    end
    for _, s in ipairs(idle.streams) do
        rows[#rows + 1] = { ("%s, stream %d: busy"):format(s.device, s.stream), time(s.busy),
            percent(s.busy, idle.wall) }
    end
    local out = { fit.columns(rows, RIGHT) }
    if #idle.ranks > 1 then out[#out + 1] = fit.columns(each_rank(idle.ranks), IDLE_RIGHT) end
    out[#out + 1] = ("queued or running at a time: %.1f on average, %d at most"):format(idle.depth,
        idle.most)
    out[#out + 1] = fit.times(idle)
    return table.concat(out, "\n")
end

local function idle(prof, rank)
    local ranks = replay.idle(prof, rank)
    local it = last_of(ranks)
    it.ranks, it.kind, it.at_least = ranks, prof.kind, prof.at_least
    return setmetatable(it, Idle)
end

return { savings = savings, critical_path = critical_path, idle = idle }
