--!plain
-- Of a job's profile, the rank that comes last to its collectives, so that the others wait for it.
local require = ...
local fit = require "fit"
local collectives = require "profile.collectives".collectives

local M = {}

--- The rank that is late by the most -> {rank, times, of, ns, meanwhile}; of: how many collectives
--- several ranks meet in; nil: none is late by `least` ns. And prof:collectives(), where that is.
function M.of(prof, least)
    local by, worst, all, rows = {}, nil, 0, collectives(prof)
    for _, row in ipairs(rows) do
        local it = by[row.last] or { rank = row.last, times = 0, ns = 0, most = -1 }
        by[row.last], all = it, all + row.count
        it.times, it.ns = it.times + row.times_last, it.ns + row.late
        if row.late > it.most then it.most, it.meanwhile = row.late, row.meanwhile end
        if not worst or it.ns > worst.ns then worst = it end
    end
    if not worst or worst.ns < least then return nil, rows end
    worst.of = all
    return worst, rows
end

--- As a part of a sentence.
function M.text(it)
    return ("rank %d comes last in %d of %d collectives, by %s, and the others wait for it%s")
        :format(it.rank, it.times, it.of, fit.time(it.ns), it.meanwhile
        and "; meanwhile: " .. fit.safe(it.meanwhile) or "")
end

--- What to do about collectives that mostly wait for it.
function M.advice(it)
    return ("for %s of their time ranks wait for rank %d, which comes last in %d of %d: share its \z
        work among the ranks, or let what it does meanwhile go; nothing computed beside them \z
        shortens that"):format(fit.time(it.ns), it.rank, it.times, it.of)
end

return M
