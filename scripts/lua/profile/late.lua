--!plain
-- Of a job's profile, the rank that comes last to its collectives, so that the others wait for it.
local require = ...
local fit = require "fit"
local collectives = require "profile.collectives".collectives

local M = {}

--- The rank that is late by the most -> {rank, times, of, ns, meanwhile, all}; of: how many
--- collectives several ranks meet in; all: ns by which any rank is; nil: none is late by `least`
--- ns. And prof:collectives(), where that is.
function M.of(prof, least)
    local by, worst, all, sum, rows = {}, nil, 0, 0, collectives(prof)
    for _, row in ipairs(rows) do
        all = all + row.count
        for rank, late in pairs(row.lates) do
            local it = by[rank] or { rank = rank, times = 0, ns = 0, most = -1 }
            by[rank], sum = it, sum + late.ns
            it.times, it.ns = it.times + late.times, it.ns + late.ns
        end
        local it = by[row.last]
        if row.late > it.most then it.most, it.meanwhile = row.late, row.meanwhile end
    end
    for _, it in pairs(by) do
        local more = worst and (it.ns > worst.ns or it.ns == worst.ns and it.rank < worst.rank)
        if not worst or more then worst = it end
    end
    if not worst or worst.ns < least then return nil, rows end
    worst.of, worst.all = all, sum
    return worst, rows
end

--- As a part of a sentence.
function M.text(it)
    return ("rank %d comes last in %d of %d collectives, by %s, and the others wait for it%s%s")
        :format(it.rank, it.times, it.of, fit.time(it.ns), it.meanwhile
        and "; meanwhile: " .. fit.safe(it.meanwhile) or "", 2 * (it.all - it.ns) >= it.ns
        and ("; in other collectives other ranks come last, by %s together"):format(
        fit.time(it.all - it.ns)) or "")
end

--- What to do about collectives that mostly wait for it.
function M.advice(it)
    return ("for %s of their time ranks wait for rank %d, which comes last in %d of %d: share its \z
        work among the ranks, or let what it does meanwhile go; nothing computed beside them \z
        shortens that"):format(fit.time(it.ns), it.rank, it.times, it.of)
end

return M
