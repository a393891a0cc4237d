--!plain
-- prof:diff(before): the changes since another profile. It only reads rows() and waits().
local require = ...
local fail, registry = require "fail", require "registry"
local fit = require "fit"
local steps = require "profile.gate".steps
local not_compared = registry["gpush.usage"].not_compared
local SHOWN = 20 -- rows

local time = fit.time

local function is_prof(p) return debug.getmetatable(p) == registry["gpush.profile"] end

-- Adds a profile's rows to `into`, as a list and by name; a group's shapes or stacks are part of
-- the name.
local function collect(prof, group, into, side)
    for _, row in ipairs(prof:rows { group = group }) do
        local more = group == "shape" and row.shapes or group == "stack" and row.stack
        local name = more and row.name .. "  " .. more or row.name
        local both = into[name]
        if not both then
            both = { name = name }
            into[name] = both
            into[#into + 1] = both
        end
        both[side] = row
    end
end

local function field(row, name) return row and row[name] or 0 end

-- Notes how much a row has changed, by which rows are sorted: once, as there may be many.
local function note_change(both)
    local function change(name) return field(both.after, name) - field(both.before, name) end
    both.cpu, both.device = change "self_cpu_time_total", change "self_device_time_total"
    both.size = math.abs(both.cpu) + math.abs(both.device)
end

local function signed(ns) return (ns > 0 and "+" or "") .. time(ns) end

local function cells_of(both, device)
    local function pair(name, text)
        return both.before and text(both.before[name]) or "-", both.after and text(both.after[name])
            or "-"
    end
    local cells = { both.name }
    cells[2], cells[3] = pair("count", function(n) return ("%d"):format(n) end)
    cells[4], cells[5] = pair("self_cpu_time_total", time)
    cells[6] = signed(both.cpu)
    if device then
        cells[7], cells[8] = pair("self_device_time_total", time)
        cells[9] = signed(both.device)
    end
    return cells
end

local NAME = 14 -- minimum characters of a name

-- Removes the columns that follow from the others, and shortens names, while lines have more than
-- that many characters.
local function narrow(lines, most)
    local function width(c)
        local w = 0
        for _, cells in ipairs(lines) do w = math.max(w, utf8.len(cells[c]) or #cells[c]) end
        return w
    end
    local all = -2
    for c = 1, #lines[1] do all = all + width(c) + 2 end
    for c = #lines[1], 1, -1 do -- the old value follows from the new one and the change
        if all > most and lines[1][c]:find "before$" then
            all = all - width(c) - 2
            for _, cells in ipairs(lines) do table.remove(cells, c) end
        end
    end
    local room = math.max(NAME, width(1) - math.max(all - most, 0))
    for _, cells in ipairs(lines) do cells[1] = fit.shorten(fit.safe(cells[1]), room) end
end

-- Lines of right-aligned cells under a head, each column as wide as its widest cell.
local function aligned(lines)
    narrow(lines, fit.width() or math.huge)
    local right = {}
    for c = 1, #lines[1] do right[c] = true end
    local out = fit.columns(lines, right)
    local rule = {}
    for c = 1, #lines[1] do
        rule[c] = 0
        for _, cells in ipairs(lines) do
            rule[c] = math.max(rule[c], utf8.len(cells[c]) or #cells[c])
        end
        rule[c] = ("-"):rep(rule[c])
    end
    return (out:gsub("\n", function() return "\n" .. table.concat(rule, "  ") .. "\n" end, 1))
end

-- The number and duration of the host's waits.
local function waits_of(prof)
    local waits, ns = prof:waits(), 0
    for _, w in ipairs(waits) do ns = ns + w.stop - w.start end
    return #waits, ns
end

-- What kind of times both are.
local function kinds(old, new)
    if old == new then return fit.safe("Times: " .. new) end
    return fit.safe("Times before: " .. old) .. "\n" .. fit.safe("Times now: " .. new)
end

-- Why the times of two profiles are not compared, called `what` and `other`; nil: they may be. What
-- another program's device took is compared with no processor that stands in for one.
local function refused(what, a, other, b)
    local function kind(p, beside)
        local its = p.foreign and beside.kind:find("CPU-backed", 1, true) and #p:devices() > 0
        return its and "of another program's device" or p.kind
    end
    return not_compared(what, kind(a, b), other, kind(b, a))
end

local STEPS <const> = "Steps: %d before, %d now: the counts and times are of all of them; a step \z
    takes %s before, %s now\n"

-- What is said where the records have another number of steps; how many each has, or nil.
local function steps_of(prof, before)
    local a, b = steps(before), steps(prof)
    if not a or not b or a == b then return "" end
    return STEPS:format(a, b, time(before.wall_ns / a), time(prof.wall_ns / b)), a, b
end

local BOUNDS <const> = "the card takes at least that, as nobody measured how long it takes: %s; \z
    of such times nothing follows about what is faster"

-- prof:diff(before{, group = "op", limit = 20}) -> text: the largest changes first.
local function diff(prof, before, group, limit)
    if not is_prof(before) then
        fail("profile.diff: before: expected a profile, got %s", type(before))
    end
    limit = limit or SHOWN
    if limit < 1 then fail("profile.diff: limit: expected a number of rows, got %s", limit) end
    local rows, device = {}, false
    collect(before, group, rows, "before")
    collect(prof, group, rows, "after")
    for _, both in ipairs(rows) do
        note_change(both)
        device = device or field(both.before, "self_device_time_total") +
            field(both.after, "self_device_time_total") > 0
    end
    fit.sort(rows, "size")
    local lines = { { "Name", "# before", "#", "Self CPU before", "Self CPU", "change" } }
    if device then
        table.move({ "Self device before", "Self device", "change" }, 1, 3, 7, lines[1])
    end
    for i = 1, math.min(#rows, limit) do lines[i + 1] = cells_of(rows[i], device) end
    local n0, t0 = waits_of(before)
    local n1, t1 = waits_of(prof)
    local least = prof.at_least or before.at_least
    local times = (least or refused("before", before, "now", prof)) and ""
        or (" (%.2f times)"):format(prof.wall_ns / before.wall_ns)
    return ("%s\n%sWall time: %s before, %s now%s\n\z
        Waits: %d before (%s), %d now (%s)\n%s%s\n"):format(aligned(lines),
        #rows > limit and ("(%d rows that changed less are left out)\n"):format(#rows - limit)
            or "", time(before.wall_ns), time(prof.wall_ns), times, n0,
        time(t0), n1, time(t1), (steps_of(prof, before)), kinds(before.kind, prof.kind) .. (least
            and "\n" .. BOUNDS:format(fit.safe(least)) or ""))
end

return { diff = diff, refused = refused, steps_of = steps_of }
