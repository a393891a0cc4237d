--!plain
-- A profile for other programs: its table as Markdown, CSV or JSON; its stacks for flame graphs, as
-- folded lines (flamegraph.pl) and for speedscope.app.
local require = ...
local gpush, fail, save = require "gpush", require "fail", require "save"
local fit = require "fit"

-- ---- tables ----

-- Fields of a row, in the order of columns, and their heads in Markdown. Memory, operations and
-- device times are left out where no row has any.
local FIELDS <const> = {
    { "name", "Name" }, { "shapes", "Input shapes" }, { "stack", "Source location" },
    { "count", "# of calls" }, { "self_cpu_time_total", "Self CPU" },
    { "cpu_time_total", "CPU total" }, { "self_device_time_total", "Self device" },
    { "device_time_total", "Device total" }, { "self_cpu_memory_usage", "Self CPU mem" },
    { "cpu_memory_usage", "CPU mem" }, { "self_device_memory_usage", "Self device mem" },
    { "device_memory_usage", "Device mem" }, { "flops", "FLOPs" }, { "bytes", "Bytes" },
    { "flops_per_second", "FLOP/s" }, { "bytes_per_second", "Bytes/s" },
    { "device_time_min", "Shortest" }, { "device_time_max", "Longest" },
    { "blocks_per_sm", "Blocks/SM" }, { "occupancy", "Est. occupancy" }, { "grid", "Grid" },
    { "block", "Block" }, { "registers", "Registers" }, { "shared_memory", "Shared memory" },
    { "tensor_cores", "Tensor cores" },
}

local function columns_of(rows)
    local out = {}
    for _, it in ipairs(FIELDS) do
        local always, used = it[1] == "count" or it[1]:find "cpu_time", false
        for _, row in ipairs(rows) do
            local v = row[it[1]]
            used = used or always or v and v ~= 0 and v ~= ""
        end
        if used then out[#out + 1] = it end
    end
    return out
end

local function time(ns)
    if math.abs(ns) >= 1e9 then return ("%.3f s"):format(ns / 1e9) end
    if math.abs(ns) >= 1e6 then return ("%.3f ms"):format(ns / 1e6) end
    return ("%.3f us"):format(ns / 1e3)
end

-- A name as Markdown's text: what would be mark-up is escaped, and lines are joined.
local function marked(s) return (s:gsub("%c+", " "):gsub("[\\`*_%[%]<>|~#&]", "\\%0")) end

local function markdown_cell(field, v)
    if v == nil then return "" end
    if v == true then return "yes" end
    if type(v) == "string" then return marked(v) end
    if field:find "time" then return time(v) end
    if field:find "memory" then return fit.bytes(v) end
    return v == math.floor(v) and ("%d"):format(v) or ("%.4g"):format(v)
end

local function notes(prof)
    local out = { ("Wall time: %s. Times: %s."):format(time(prof.wall_ns), marked(fit.kind(prof))) }
    if prof.dropped > 0 then
        out[#out + 1] = ("%d events were dropped, at the limit or for lack of memory."):format(
            prof.dropped)
    end
    return table.concat(out, " ")
end

local function markdown(prof, rows)
    local columns, lines = columns_of(rows), { {}, {} }
    for c, it in ipairs(columns) do
        lines[1][c] = it[2]
        lines[2][c] = type(rows[1][it[1]]) == "number" and "---:" or ":---"
    end
    for i, row in ipairs(rows) do
        lines[i + 2] = {}
        for c, it in ipairs(columns) do lines[i + 2][c] = markdown_cell(it[1], row[it[1]]) end
    end
    for i, cells in ipairs(lines) do lines[i] = "| " .. table.concat(cells, " | ") .. " |" end
    return ("%s\n\n%s\n"):format(table.concat(lines, "\n"), notes(prof))
end

-- RFC 4180: a quote within quotes is doubled.
local function quoted(v)
    if v == nil then return "" end
    if math.type(v) == "float" then return ("%.17g"):format(v) end
    local s = tostring(v)
    return s:find '[",\r\n]' and '"' .. s:gsub('"', '""') .. '"' or s
end

-- The last column is the kind of the times, the same in each row: CSV has no place for notes.
local function csv(prof, rows)
    local columns, lines = columns_of(rows), {}
    columns[#columns + 1] = { "kind" }
    local kind = fit.kind(prof)
    for _, row in ipairs(rows) do row.kind = kind end
    for i = 0, #rows do
        local cells = {}
        for c, it in ipairs(columns) do cells[c] = i == 0 and it[1] or quoted(rows[i][it[1]]) end
        lines[i + 1] = table.concat(cells, ",")
    end
    return table.concat(lines, "\r\n") .. "\r\n"
end

local function utf8_only(s) return utf8.len(s) and s or (s:gsub("[\x80-\xff]", "?")) end

local function json(prof, rows)
    for _, row in ipairs(rows) do
        for field, v in pairs(row) do if type(v) == "string" then row[field] = utf8_only(v) end end
    end
    return gpush.json.encode { wall_ns = prof.wall_ns, dropped = prof.dropped, rows = rows,
        kind = utf8_only(prof.kind), at_least = prof.at_least and utf8_only(prof.at_least),
        predicted = prof.predicted and utf8_only(prof.predicted), accuracy = prof.accuracy,
        modelled = prof.modelled and utf8_only(prof.modelled) } .. "\n"
end

local formats = { markdown = markdown, csv = csv, json = json }

-- The rows of a profile in a format, for prof:table.
local function table_as(prof, rows, format)
    local make = formats[format]
    if not make then
        fail("profile.table: format: expected \"text\", \"markdown\", \"csv\" or \"json\", \z
            got \"%s\"", format)
    end
    return make(prof, rows)
end

-- ---- stacks ----

-- The frames of a row, the outermost first, which end in its name.
local function frames_of(row)
    local frames = {}
    if row.stack then
        for place, fn in (row.stack .. " < "):gmatch "(.-:[%d?]+%+?)( ?%(?[%w_]*%)?) < " do
            table.insert(frames, 1, place .. fn)
        end
    end
    frames[#frames + 1] = row.name
    return frames
end

-- prof:folded(file{, device = true}): a line for each stack, "a.lua:9;a.lua:3 (step);matmul NS",
-- below a frame that says what kind of times they are, which the graph shows as its lowest.
local function folded(prof, file, device)
    local field, lines = device and "self_device_time_total" or "self_cpu_time_total", {}
    local kind = "times: " .. fit.kind(prof):gsub("[;%c]", "_")
    for _, row in ipairs(prof:rows { group = "stack" }) do
        if row[field] > 0 then
            local frames = frames_of(row)
            for i, frame in ipairs(frames) do frames[i] = frame:gsub("[;%c]", "_") end
            lines[#lines + 1] = ("%s;%s %d\n"):format(kind, table.concat(frames, ";"), row[field])
        end
    end
    save("profile.folded", file, table.concat(lines))
end

-- Frames by their names, numbered from 0 as speedscope refers to them.
local function frame_numbers()
    local list, known = {}, {}
    return list, function(name)
        if not known[name] then
            local path, line, fn = name:match "^(.+):(%d+) ?%(?([%w_]*)%)?$"
            if fn == "" then fn = nil end
            list[#list + 1] = { name = fn or utf8_only(name), file = path and utf8_only(path),
                line = path and math.tointeger(line) }
            known[name] = #list - 1
        end
        return known[name]
    end
end

local function samples_of(rows, field, name, number)
    local samples, weights, sum = {}, {}, 0
    for _, row in ipairs(rows) do
        if row[field] > 0 then
            local frames = frames_of(row)
            for i, frame in ipairs(frames) do frames[i] = number(frame) end
            samples[#samples + 1], weights[#weights + 1] = frames, row[field]
            sum = sum + row[field]
        end
    end
    if sum == 0 then return nil end
    return { type = "sampled", name = name, unit = "nanoseconds", startValue = 0, endValue = sum,
        samples = samples, weights = weights }
end

-- prof:speedscope(file): the host's time and the devices', by stack.
local function speedscope(prof, file)
    local rows = prof:rows { group = "stack" }
    local frames, number = frame_numbers()
    local profiles = {}
    profiles[1] = samples_of(rows, "self_cpu_time_total", "host", number)
    profiles[#profiles + 1] = samples_of(rows, "self_device_time_total", "devices", number)
    save("profile.speedscope", file, gpush.json.encode {
        ["$schema"] = "https://www.speedscope.app/file-format-schema.json",
        exporter = "gpush", name = "profile, times " .. utf8_only(fit.kind(prof)),
        shared = { frames = frames }, profiles = profiles })
end

return { folded = folded, speedscope = speedscope, table_as = table_as }
