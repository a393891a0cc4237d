--!plain
-- prof:report(file): a profile as one page for a browser, which needs no network. This file gathers
-- what the page shows and joins its parts, the other files of this folder: page.html has marks for
-- them.
local require = ...
local gpush, fail, save = require "gpush", require "fail", require "save"
local registry, fit = require "registry", require "fit"
local sources = require "report.sources"
local columns = registry["gpush.record_columns"]

local ROWS <const> = 1000 -- of a table; what follows is one row
local EVENTS <const> = 250000 -- of several ranks: a browser opens them in two seconds
local CUT <const> = 1000  -- bytes of a name
local LINE <const> = 200  -- of a source line
local GROUPS <const> = { "op", "kernel", "region", "module", "line", "shape", "stack", "rank" }
-- The parts of the script, in this order: each defines functions that the later ones call.
local PARTS <const> = { "format", "record", "tree", "filter", "lanes", "timeline", "view",
    "details", "tables", "flame", "memory", "roofline", "summary", "main" }

local null = gpush.json.null

-- ---- texts ----

-- A page goes to other people: of files in folders of this machine it has as much of the names as
-- tells them apart. Full names to those, of the page that is written.
local shorter = {}

-- The last n parts of a full name, and whether there are more.
local function last_parts(full, n)
    local at = #full + 1
    for _ = 1, n do
        at = full:sub(1, at - 1):match "()[^/]*$" - 1
        if at <= 1 then return full:sub(2), false end
    end
    return full:sub(at + 1), true
end

local function shorten_files(files)
    local left, n = {}, 0
    shorter = {}
    for _, file in ipairs(files) do if file:find "^/" then left[#left + 1] = file end end
    while #left > 0 do
        local named, again = {}, {}
        n = n + 1
        for _, full in ipairs(left) do
            local name = last_parts(full, n)
            named[name] = (named[name] or 0) + 1
        end
        for _, full in ipairs(left) do
            local name, more = last_parts(full, n)
            if named[name] > 1 and more then again[#again + 1] = full else shorter[full] = name end
        end
        left = again
    end
end

-- A text from a slash on that may be one of those.
local function shorten(part)
    for at in part:gmatch "()/" do
        local short = shorter[part:sub(at)]
        if short then return part:sub(1, at - 1) .. short end
    end
end

-- JSON holds only UTF-8: of other texts the ASCII characters. What is longer than `most` bytes is
-- cut.
local function text(s, most)
    most = most or CUT
    if next(shorter) and s:find("/", 1, true) then s = s:gsub("/[^:()]*", shorten) end
    if not utf8.len(s) then s = s:gsub("[\x80-\xff]", "?") end
    if #s <= most then return s end
    local at = most -- not in the middle of a character
    while s:byte(at + 1) & 0xc0 == 0x80 do at = at - 1 end
    return s:sub(1, at) .. "…"
end

-- An empty table of Lua is an object in JSON: the page reads both as an empty list.
local function texts(list)
    for i, s in ipairs(list) do list[i] = text(s) end
    return list
end

-- ---- the record ----

-- Leaves whole ranks out of a record of more than EVENTS events, and says which ones it has: the
-- one that is named first, then others in their order, as long as there is place for them.
local function leave_ranks_out(record, first)
    local count, ranks, kept, is_kept, all, sum = {}, {}, {}, {}, 0, 0
    for _, track in ipairs(record.tracks) do
        local rank = track.rank or 0
        if not count[rank] then ranks[#ranks + 1] = rank end
        count[rank], all = (count[rank] or 0) + track.events, all + track.events
    end
    if all <= EVENTS or #ranks < 2 then return end
    table.sort(ranks, function(a, b)
        if (a == first) ~= (b == first) then return a == first end
        return a < b
    end)
    for i, rank in ipairs(ranks) do
        if i > 1 and sum + count[rank] > EVENTS then break end
        kept[#kept + 1], is_kept[rank], sum = rank, true, sum + count[rank]
    end
    local tracks = {}
    for _, track in ipairs(record.tracks) do
        if is_kept[track.rank or 0] then tracks[#tracks + 1] = track end
    end
    record.tracks = tracks
    table.sort(kept)
    record.part = { events = sum, all = all, ranks = kept, of = #ranks }
end

-- A profile's events: what their classes are, and the texts that stand in elements of their own,
-- which are added to `blocks`; and the files' names as they are.
local function record_of(prof, blocks, first)
    local record = columns(prof)
    leave_ranks_out(record, first)
    shorten_files(record.files)
    for _, class in ipairs(record.classes) do
        class[2], class[8] = text(class[2]), text(class[8])
    end
    local files = table.move(record.files, 1, #record.files, 1, {})
    texts(record.files)
    for _, place in ipairs(record.places) do place[1] = text(place[1]) end
    for _, track in ipairs(record.tracks) do
        if track.name then track.name = text(track.name) end
        blocks[#blocks + 1] = track.text
        track.text = #blocks
    end
    record.wall = prof.wall_ns
    return record, files
end

-- ---- rows ----

local FIELDS <const> = { "count", "self_cpu_time_total", "cpu_time_total", "self_device_time_total",
    "device_time_total", "self_cpu_memory_usage", "self_device_memory_usage", "flops", "bytes",
    "flops_per_second", "bytes_per_second", "samples", "device_time_min", "device_time_max",
    "blocks_per_sm", "occupancy", "registers", "shared_memory" }

local function finite(v) return v == v and math.abs(v) < math.huge and v or 0 end

local function rows_of(prof, group)
    local rows = prof:rows { group = group, limit = ROWS }
    for i, row in ipairs(rows) do
        local kept = { name = text(row.name) }
        for _, field in ipairs(FIELDS) do
            if row[field] then kept[field] = finite(row[field]) end
        end
        kept.grid, kept.block, kept.tensor_cores = row.grid, row.block, row.tensor_cores
        if group == "shape" and row.shapes then kept.more = text(row.shapes) end
        if group == "stack" and row.stack then kept.more = text(row.stack) end
        rows[i] = kept
    end
    return rows
end

-- Whether rows by rank are of several ranks, those by module or kernel of any; others always.
local function divided(group, rows)
    local n = 0
    for _, row in ipairs(rows) do
        if group == "rank" and row.name:find "^rank %d" then n = n + 1 end
        if group ~= "rank" and not row.name:find "^[%[(]" then n = n + 2 end
    end
    return n > 1 or group ~= "rank" and group ~= "module" and group ~= "kernel"
end

-- The rows by each group, and why there are none by the others.
local function tables_of(prof)
    local tables, missing = {}, {}
    for _, group in ipairs(GROUPS) do
        local ok, rows = pcall(rows_of, prof, group)
        if ok and not divided(group, rows) then rows = nil end
        if ok then tables[group] = rows
        elseif rows:find "needs a profile" then missing[group] = rows:match "needs a profile.*"
        elseif not rows:find "group: expected" then error(rows, 0)
        end
    end
    return tables, missing
end

-- ---- the summary ----

-- What each line's waits would save. A foreign trace may have no replay: then the reason.
local function savings_of(prof)
    local ok, list = pcall(prof.savings, prof)
    if not ok then return {}, (list:gsub("^[^\n]-:%d+: ", "")) end
    local out = {}
    for i = 1, math.min(#list, ROWS) do
        local row = list[i]
        out[i] = { file = row.file and text(row.file), line = row.line, what = text(row.what),
            why = row.why, advice = text(row.advice), count = row.count, waited = row.waited,
            saves = row.saves, at_most = row.at_most, more = row.more, mixed = row.mixed }
    end
    return out, nil, list.all, list.at_most > list.all and list.at_most or nil
end

-- What to write instead of each line's waits, by their cause.
local function advice_of(sync)
    local out = {}
    for _, row in ipairs(sync) do
        if #out == ROWS then break end
        if row.file and row.advice and row.advice ~= "" then
            out[#out + 1] = { line = text(fit.place(row.file, row.line)), why = row.why,
                text = text(row.advice) }
        end
    end
    return out
end

-- The rows of prof:sync() or of its reads, by line or region.
local function by_place(rows)
    local out, several = {}, nil
    for _, row in ipairs(rows) do several = several or row.rank ~= rows[1].rank end
    for i, row in ipairs(rows) do
        if i > ROWS then break end
        local place = row.file and fit.place(row.file, row.line)
            or row.region and "in " .. row.region or "?"
        out[i] = { line = text(place), rank = several and row.rank or nil, why = row.why,
            what = text(row.what or ""),
            device = text(row.device or ""), times = row.count, ns = row.waited,
            idle = row.idle, advice = text(row.advice or "") }
    end
    return out
end

-- What would wait on a card, of a record without any device, as prof:sync() has it; null: nothing.
local function reads_of(sync)
    if #sync > 0 or #sync.reads == 0 then return null end
    return { head = text(sync.reads.head), rows = by_place(sync.reads) }
end

-- What dominated, what each cause is worth, and what to do: the words are prof:verdict's.
local function verdict_of(verdict)
    local out = { sentence = text(verdict.sentence), causes = {} }
    for i, row in ipairs(verdict.untold and {} or verdict) do
        out.causes[i] = { label = row.label, times = row.times, ns = row.ns, worth = row.worth,
            nothing = row.nothing or (row.at_most or row.more) and fit.worth(row) or null,
            where = row.where and text(row.where) or null,
            advice = (row.advised or row == verdict.together) and text(row.advice) or null }
    end
    return out
end

local function idle_of(prof)
    local ok, idle = pcall(prof.idle, prof)
    if not ok or #idle.streams == 0 then return null end
    local out = { streams = {}, rank = #idle.ranks > 1 and idle.rank or null }
    for _, name in ipairs { "kernels", "copies", "latency", "waiting", "loader", "op", "script",
        "most" } do
        out[name] = idle[name]
    end
    out.depth = finite(idle.depth)
    for i, s in ipairs(idle.streams) do
        out.streams[i] = { name = text(("%s, stream %d"):format(s.device, s.stream)),
            busy = s.busy }
    end
    return out
end

-- The source lines that waits and their advice name: "file:line" to text.
local function lines_of(record, files)
    local lines = {}
    if record.foreign then return lines end
    for _, class in ipairs(record.classes) do
        local file, line = files[class[3]], class[4]
        if file then
            local found = sources.line(file, line)
            local place = ("%s:%d"):format(record.files[class[3]], line)
            if found then lines[place] = text(found, LINE) end
        end
    end
    sources.forget()
    return lines
end

-- Where a loaded profile is from, without its folder.
local function source_of(prof)
    return prof.how and prof.how:gsub("^Loaded from .-/([^/]*, )", "Loaded from %1")
end

-- A program and its arguments, of whose files' names the folders are left out.
local function words_of(list)
    local words = {}
    for i, word in ipairs(list) do
        words[i] = word:gsub("^/.*/", ""):gsub("=/.*/", "=")
    end
    return table.concat(words, " ")
end

-- What was profiled: the program, where it is known, else a trace's file.
local function title_of(prof, files)
    local recorded = rawget(registry, "gpush.recorded")
    if recorded then return text(words_of(recorded)) end
    local loaded = prof.how and source_of(prof):match "^Loaded from (.-), "
    if loaded then return text((loaded:gsub(" %(it is cut .*", ""))) end
    for _, file in ipairs(files) do
        if arg and file == arg[0] then
            return text(words_of { file:match "[^/]*$", table.unpack(arg) })
        end
    end
    return null
end

local function or_null(s) return s and text(s) or null end

-- The figures of the card that sim stood in for.
local function card_of(prof)
    local card = prof.card
    if card then card.name = text(card.name) end
    return card or null
end

local function data_of(prof, blocks)
    local _ <const>, _ <const> = registry["gpush.replay"].job(prof), -- held for what follows
        registry["gpush.usage"].of(prof)
    local sync = prof:sync()
    local top = sync.verdict[1]
    local record, files = record_of(prof, blocks, top and top.rank)
    local rows, missing = tables_of(prof)
    local savings, why_none, all, most = savings_of(prof)
    local measured = prof.measured
    return { wall = prof.wall_ns, count = prof.count, dropped = prof.dropped, lost = prof.lost,
        others = prof.others, how = or_null(source_of(prof)),
        title = title_of(prof, files), version = gpush._VERSION,
        predicted = or_null(prof.predicted),
        accuracy = or_null(prof.accuracy),
        savings_accuracy = registry["gpush.replay"].accuracy(prof, "wait"),
        modelled = or_null(prof.modelled), at_least = or_null(prof.at_least),
        card = card_of(prof),
        date = os.date "%Y-%m-%d %H:%M", rows = rows, missing = missing, savings = savings,
        no_savings = or_null(why_none), saves_all = all or null,
        saves_most = most or null, idle = idle_of(prof),
        verdict = verdict_of(sync.verdict), advice = advice_of(sync),
        sources = lines_of(record, files),
        record = record, reads = reads_of(sync),
        -- with what they cost: savings are of one rank's record
        waits = (record.foreign or why_none) and by_place(sync) or null,
        measured = measured and { record = (record_of(measured, blocks)), wall = measured.wall_ns,
            op = rows_of(measured, "op") } or null }
end

-- ---- the page ----

local function part(name)
    local file <close> = assert(io.open(("%s/report/%s"):format(require "dir", name)))
    return assert(file:read "a")
end

-- JSON as it may stand in a script element, which only "<" could end: in pieces, between which
-- Ctrl-C is heard.
local function embedded(json)
    local out, PIECE <const> = {}, 1 << 20
    for at = 1, #json, PIECE do
        out[#out + 1] = json:sub(at, at + PIECE - 1):gsub("<", "\\u003c")
    end
    return table.concat(out)
end

-- The title as HTML, which a browser also shows of a saved page before its script has run.
local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;" }
local function head_of(data)
    local name = data.title ~= null and data.title or "a profile"
    return (("%s, gpush %s"):format(name, data.version):gsub("[&<]", ENTITIES))
end

-- The page as a list of texts.
local function page_of(data, blocks)
    local scripts = {}
    for i, name in ipairs(PARTS) do scripts[i] = part(name .. ".js") end
    local marks = { STYLE = part "page.css", SCRIPT = table.concat(scripts, "\n"),
        DATA = embedded(gpush.json.encode(data)),
        TITLE = head_of(data) }
    local out, rest = {}, part "page.html"
    for before, mark in rest:gmatch "(.-)@(%u+)@" do
        out[#out + 1] = before
        if mark == "BLOCKS" then
            for i, block in ipairs(blocks) do
                out[#out + 1] = ('<script type="text/plain" id="block-%d">'):format(i)
                out[#out + 1] = block
                out[#out + 1] = "</script>\n"
            end
        else
            out[#out + 1] = assert(marks[mark], mark)
        end
    end
    out[#out + 1] = rest:match "@%u+@([^@]*)$"
    return out
end

-- The page as text.
local function page(prof)
    local blocks = {}
    local data = data_of(prof, blocks)
    return table.concat(page_of(data, blocks))
end

--- prof:report(file): one self-contained page.
local function report(prof, file)
    if type(file) ~= "string" then
        fail("profile.report: file: expected a name, got %s", type(file))
    end
    save("profile.report", file, page(prof))
    collectgarbage() -- of a large record, tens of megabytes
    registry["gpush.trim"]()
end

return { report = report, page = page }
