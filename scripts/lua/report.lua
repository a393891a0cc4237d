--!plain
-- Reports of a profile besides its table, in Lua: prof:diff(before), the changes since another one,
-- and prof:report(file), a page for a browser with the waits, the rows and a timeline. Both only
-- read rows() and events().
local gpush, fail, dir, save = ...
local fit = assert(loadfile(dir .. "/fit.lua", "t"))()
-- rows of a diff; events on a page's timeline, the longest if there are more
local SHOWN, EVENTS = 20, 20000

local function time(ns)
    if math.abs(ns) >= 1e9 then return ("%.3fs"):format(ns / 1e9) end
    if math.abs(ns) >= 1e6 then return ("%.3fms"):format(ns / 1e6) end
    return ("%.3fus"):format(ns / 1e3)
end

local function is_prof(p) return debug.getmetatable(p) == debug.getregistry()["gpush.profile"] end

-- ---- diff ----

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

local function change(both)
    local cpu = field(both.after, "self_cpu_time_total") - field(both.before, "self_cpu_time_total")
    local device = field(both.after, "self_device_time_total") -
        field(both.before, "self_device_time_total")
    return cpu, device, math.abs(cpu) + math.abs(device)
end

local function signed(ns) return (ns > 0 and "+" or "") .. time(ns) end

local function cells_of(both, device)
    local cpu, dev = change(both)
    local function pair(name, text)
        return both.before and text(both.before[name]) or "-", both.after and text(both.after[name])
            or "-"
    end
    local cells = { both.name }
    cells[2], cells[3] = pair("count", function(n) return ("%d"):format(n) end)
    cells[4], cells[5] = pair("self_cpu_time_total", time)
    cells[6] = signed(cpu)
    if device then
        cells[7], cells[8] = pair("self_device_time_total", time)
        cells[9] = signed(dev)
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

-- The number and duration of the host's waits; the wait at the end of a profile is not the
-- program's.
local function waits_of(prof)
    local n, ns = 0, 0
    for _, e in ipairs(prof:events()) do
        if e.kind == "wait" and e.name ~= "wait: profile" then
            n, ns = n + 1, ns + e.stop - e.start
        end
    end
    return n, ns
end

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
    for i, both in ipairs(rows) do
        both.order = i
        device = device or field(both.before, "self_device_time_total") +
            field(both.after, "self_device_time_total") > 0
    end
    table.sort(rows, function(a, b)
        local _, _, x = change(a)
        local _, _, y = change(b)
        if x ~= y then return x > y end
        return a.order < b.order
    end)
    local lines = { { "Name", "# before", "#", "Self CPU before", "Self CPU", "change" } }
    if device then
        table.move({ "Self device before", "Self device", "change" }, 1, 3, 7, lines[1])
    end
    for i = 1, math.min(#rows, limit) do lines[i + 1] = cells_of(rows[i], device) end
    local n0, t0 = waits_of(before)
    local n1, t1 = waits_of(prof)
    return ("%s\n%sWall time: %s before, %s now (%.2f times)\nWaits: %d before (%s), %d now (%s)\n")
        :format(aligned(lines),
        #rows > limit and ("(%d rows that changed less are left out)\n"):format(#rows - limit)
            or "", time(before.wall_ns),
        time(prof.wall_ns), prof.wall_ns / before.wall_ns, n0, time(t0), n1, time(t1))
end

-- ---- report ----

-- The depth of nested host events, which are in the order of their starts.
local function depths(events)
    local open = {}
    for _, e in ipairs(events) do
        while #open > 0 and open[#open] <= e.start do open[#open] = nil end
        e.depth = #open
        open[#open + 1] = e.stop
    end
end

-- JSON holds only UTF-8: of other texts the ASCII characters.
local function text(s) return utf8.len(s) and s or (s:gsub("[\x80-\xff]", "?")) end

-- The name of an event's track. Threads and ranks have names in loaded traces only.
local function track_name(e, device)
    if device then return ("%s, stream %d"):format(e.device, e.stream) end
    local name = e.thread and "host, " .. text(e.thread) or "host"
    return e.rank and ("rank %d, %s"):format(e.rank, name) or name
end

-- The tracks of the timeline: the host, then each stream; only spans, at most EVENTS of them.
local function tracks_of(prof)
    local tracks, all = {}, {}
    local function track(name)
        if not tracks[name] then
            tracks[name] = { name = name, events = {} }
            tracks[#tracks + 1] = tracks[name]
        end
        return tracks[name]
    end
    for _, e in ipairs(prof:events()) do
        local device = e.kind == "kernel" or e.kind == "copied"
        local known = e.kind == "op" or e.kind == "region" or e.kind == "wait" or e.kind == "held"
            or e.kind == "call" or device
        if known then
            all[#all + 1] = { start = e.start, stop = e.stop, name = e.kernel or e.name,
                kind = e.kind, line = e.line, file = e.file,
                track = track(track_name(e, device)) }
        end
    end
    local least = 0
    if #all > EVENTS then
        table.sort(all, function(a, b) return a.stop - a.start > b.stop - b.start end)
        least = #all - EVENTS
    end
    for i = 1, math.min(#all, EVENTS) do table.insert(all[i].track.events, all[i]) end
    for _, t in ipairs(tracks) do
        table.sort(t.events, function(a, b)
            if a.start ~= b.start then return a.start < b.start end
            return a.stop > b.stop
        end)
        depths(t.events)
        for i, e in ipairs(t.events) do
            t.events[i] = { e.start, e.stop, e.depth, text(e.name), e.kind,
                e.file and text(("%s:%d"):format(e.file, e.line)) or "" }
        end
    end
    return tracks, least
end

-- The waits by line: reason, count, duration.
local function waits_by_line(prof)
    local lines, known = {}, {}
    for _, e in ipairs(prof:events()) do
        if e.kind == "wait" and e.name ~= "wait: profile" then
            local key = ("%s:%s %s"):format(e.file or "?", e.line or 0, e.why)
            local l = known[key]
            if not l then
                l = { line = text(("%s:%s"):format(e.file or "?", e.line or 0)), why = e.why,
                    device = e.device or "", times = 0, ns = 0 }
                known[key] = l
                lines[#lines + 1] = l
            end
            l.times, l.ns = l.times + 1, l.ns + e.stop - e.start
        end
    end
    table.sort(lines, function(a, b) return a.ns > b.ns end)
    return lines
end

-- The devices of a loaded trace.
local function devices_of(prof)
    local names = {}
    for i, d in ipairs(prof:devices()) do names[i] = d.device end
    return names
end

-- prof:report(file): one self-contained page.
local function report(prof, file)
    if type(file) ~= "string" then
        fail("profile.report: file: expected a name, got %s", type(file))
    end
    local page <close> = assert(io.open(dir .. "/report.html"))
    local tracks, left_out = tracks_of(prof)
    local data = { wall = prof.wall_ns, dropped = prof.dropped, how = prof.how or gpush.json.null,
        predicted = prof.predicted and text(prof.predicted) or gpush.json.null,
        modelled = prof.modelled and text(prof.modelled) or gpush.json.null,
        date = os.date "%Y-%m-%d %H:%M",
        devices = table.concat(prof.foreign and devices_of(prof) or gpush.devices(), ", "),
        rows = prof:rows(),
        waits = waits_by_line(prof), tracks = {}, left_out = left_out }
    for i, t in ipairs(tracks) do data.tracks[i] = { name = t.name, events = t.events } end
    for _, row in ipairs(data.rows) do row.name, row.stack = text(row.name), nil end
    -- Inside a script element only "<" could end it.
    local json = gpush.json.encode(data):gsub("<", "\\u003c"):gsub("%%", "%%%%")
    save("profile.report", file, (page:read "a":gsub("@DATA@", json, 1)))
end

return { diff = diff, report = report }
