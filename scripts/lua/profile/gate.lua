--!plain
-- Checks of a profile that ask for no times, which differ from run to run: its waits by line, the
-- kernels that it launches, its copies, their bytes, and the most memory it had at once. A file
-- keeps what a good run had; a later run fails where it has more, by step where both have steps.
-- For gpush analyze and record with --baseline.
local require = ...
local gpush, fail, save = require "gpush", require "fail", require "save"
local lines, fit = require "sync.baseline", require "fit"
local usage = require "registry" ["gpush.usage"]

local FORM <const> = "gpush profile baseline 1"
local LARGEST <const> = 64 << 20 -- bytes of a file
local COUNTS <const> = { "launches", "copies", "bytes", "peak" }
local PROFILERS <const> = "profiler: " -- what such waits begin with (profile/load/torch.def)
local SHOWN <const> = 5 -- lines named in a failure

local M = {}

M.names = { "waits", table.unpack(COUNTS) }

local function is_profilers(wait) return wait.what:sub(1, #PROFILERS) == PROFILERS end

-- The waits by line; of a record without a device those that would be waits on a card. Whether
-- the host waits for a collective is a matter of time, as when another rank is late; and so is
-- whether a trace's op waits for its copy, too, so that ops are counted. And how many waits were
-- the profiler's own, which are not the script's.
local function waits_of(prof)
    local sync, texts, list, own = prof:sync(), {}, {}, 0
    for _, rows in ipairs { sync, sync.reads } do
        for _, row in ipairs(rows) do
            local times = prof.foreign and row.ops or row.count
            if is_profilers(row) then
                own = own + row.count
            elseif row.why ~= "collective" and times > 0 then
                list[#list + 1] = { file = row.file, line = row.line or 0, why = row.why,
                    text = lines.text_of(texts, row), what = row.what, times = times,
                    advice = row.advice, region = row.region }
            end
        end
    end
    return list, own
end

local function is_step(name) return name == "ProfilerStep*" or name:find "^step %d+$" end

--- How many steps a profile's record has, of one rank; nil: it has none.
function M.steps(prof)
    local n = 0
    for _, row in ipairs(prof:rows { group = "region" }) do
        if is_step(row.name) then n = n + row.count end
    end
    return n > 0 and n // math.max(1, #usage.ranks(prof)) or nil
end

--- What is checked of a profile: {waits = list, launches =, copies =, bytes =, peak =}, how many
--- waits were the profiler's, own, and what it is of: {ranks =, steps =}, with the steps of all
--- ranks, nil where it has none.
function M.measure(prof)
    local out = { launches = 0, copies = 0, bytes = 0, ranks = 0 }
    out.waits, out.own = waits_of(prof)
    local ranks, steps = {}, 0
    for _, e in ipairs(prof:events()) do
        if not ranks[e.rank or 0] then
            ranks[e.rank or 0], out.ranks = true, out.ranks + 1
        end
        if e.kind == "region" and is_step(e.name) then steps = steps + 1 end
        if e.kind == "kernel" then out.launches = out.launches + 1 end
        if e.kind == "copied" then
            out.copies, out.bytes = out.copies + 1, out.bytes + (e.bytes or 0)
        end
        if e.kind == "memory" then -- id: what its device then has, the most of it at once
            local has = e.id or 0
            out.peak = math.max(out.peak or 0, has, has - e.bytes)
        end
    end
    if out.peak == 0 then out.peak = nil end -- older versions do not say
    out.steps = steps > 0 and steps or nil
    return out
end

local function fail_without(name, what, writer)
    fail("--fail-on: %s: %s lacks it: %s", name, what, writer
        and "gpush reads it from no trace of this kind: " .. writer
        or "record with profile_memory=True (gpush record --memory)")
end

--- Keeps them in a file; an error where the record lacks one of those asked for.
function M.write(path, found, names, writer)
    for _, name in ipairs(names or {}) do
        if not found[name] then fail_without(name, "the record", writer) end
    end
    local kept = { form = FORM, waits = {}, steps = found.steps, ranks = found.ranks }
    for _, name in ipairs(COUNTS) do kept[name] = found[name] end
    for i, w in ipairs(found.waits) do
        kept.waits[i] = { file = w.file, line = w.line, text = w.text, why = w.why, what = w.what,
            region = w.region, times = w.times }
    end
    save("--baseline", path, gpush.json.encode(kept) .. "\n")
end

--- The file's, as measure returns them; an error where it is no such file.
function M.read(path)
    local file <close> = assert(io.open(path, "rb"))
    local ok, kept = pcall(function() return gpush.json.decode(file:read(LARGEST) or "") end)
    local fine = ok and type(kept) == "table" and kept.form == FORM
    for _, name in ipairs(COUNTS) do
        local v = fine and kept[name]
        fine = fine and (math.type(v) == "integer" or v == nil and name == "peak")
    end
    for _, name in ipairs(fine and { "steps", "ranks" } or {}) do -- older files lack them
        local v = kept[name]
        fine = fine and (v == nil or math.type(v) == "integer" and v > 0)
    end
    kept = fine and kept or {}
    if next(kept.waits or {}) == nil then kept.waits = {} end
    for _, w in ipairs(kept.waits) do
        fine = fine and lines.is_entry(w) and math.type(w.times) == "integer"
    end
    for i = fine and #kept.waits or 0, 1, -1 do -- older files have them
        if is_profilers(kept.waits[i]) then table.remove(kept.waits, i) end
    end
    if not fine then
        fail("--baseline: %s: expected a file that --baseline --update wrote", path)
    end
    return kept
end

-- How often the waits of one line are in a list; what has no line is known by its region.
local function times_of(wait, list)
    local times = 0
    for _, w in ipairs(list) do
        if lines.same(w, wait) and (w.file or w.region == wait.region) then
            times = times + w.times
        end
    end
    return times
end

-- How often a line's waits were in the file: by its text or, where that has changed, by its number.
local function had_times(wait, kept, found)
    local times = times_of(wait, kept)
    local by_number = { file = wait.file, line = wait.line, why = wait.why, what = wait.what }
    for _, k in ipairs(times == 0 and wait.file and wait.line > 0 and kept or {}) do
        if lines.same(k, by_number) and times_of(k, found) == 0 then times = times + k.times end
    end
    return times
end

-- Whether n of what was found is more than n of what was kept: by step where both have steps.
local function is_more(has, had, found, kept)
    if not (found.steps and kept.steps) then return has > had end
    return has * kept.steps > had * found.steps
end

-- " in 6 steps" after a number of the first, which has another number of them than the second.
local function in_steps(one, other)
    if not (one.steps and other.steps) or one.steps == other.steps then return "" end
    return (" in %d step%s"):format(one.steps, one.steps == 1 and "" or "s")
end

-- A line for each wait that the file lacks, or has less often.
local function more_waits(found, kept)
    local out, known = {}, {}
    for _, w in ipairs(found.waits) do
        local has, had = times_of(w, found.waits),
            had_times(w, kept.waits, found.waits)
        if is_more(has, had, found, kept) and times_of(w, known) == 0 then
            known[#known + 1] = w
            out[#out + 1] = ("%s: %s, %d%s instead of %d%s: %s"):format(
                w.file and fit.place(w.file, w.line) or w.region or "?", w.what, has,
                in_steps(found, kept), had, in_steps(kept, found), w.advice)
        end
    end
    return out
end

local function total(waits)
    local n = 0
    for _, w in ipairs(waits) do n = n + w.times end
    return n
end

-- One check. The most memory at once is no matter of how many steps there were.
local function check(name, found, kept)
    local has, had = found[name], kept[name]
    if name == "waits" then has, had = total(found.waits), total(kept.waits) end
    local of, by = found, kept
    if name == "peak" then of, by = {}, {} end
    local more = name == "waits" and more_waits(found, kept) or {}
    return { name = name, ok = #more == 0 and not is_more(has, had, of, by), lines = more,
        text = ("%s: %d%s, at most %d%s"):format(name, has, in_steps(of, by), had,
            in_steps(by, of)) }
end

--- Why the two can be compared only as wholes, or nil.
function M.note(found, kept)
    if found.steps and kept.steps then return nil end
    return ("%s: what was counted is compared as it is"):format(found.steps
        and "the baseline has no steps" or kept.steps and "the record has no steps"
        or "neither has steps")
end

--- The checks by the names asked for, or of all that both have: a list of {name, ok, text, lines}.
--- writer: of another profiler's trace, its name.
function M.check(found, kept, names, writer)
    if kept.ranks and kept.ranks ~= found.ranks then
        fail("--baseline: it is of %d rank%s, and the record of %d (expected as many: a file for \z
            each number, or --update)", kept.ranks, kept.ranks == 1 and "" or "s", found.ranks)
    end
    local checks = {}
    for _, name in ipairs(names or M.names) do
        if found[name] and kept[name] then
            checks[#checks + 1] = check(name, found, kept)
        elseif names then
            fail_without(name, found[name] and "the baseline" or "the record", writer)
        end
    end
    return checks
end

-- The lines that belong to a failure.
local function told(check)
    local out = table.move(check.lines, 1, math.min(#check.lines, SHOWN), 1, {})
    if #check.lines > SHOWN then out[SHOWN + 1] = ("and %d more"):format(#check.lines - SHOWN) end
    return out
end
M.told = told

--- The checks as TAP. Names come from the file: no newline of theirs begins a line.
function M.tap(checks)
    local out = {}
    for i, check in ipairs(checks) do
        out[#out + 1] = ("%sok %d - %s"):format(check.ok and "" or "not ", i, check.text)
        for _, line in ipairs(told(check)) do out[#out + 1] = "# " .. fit.safe(line) end
    end
    out[#out + 1] = "1.." .. #checks
    return table.concat(out, "\n") .. "\n"
end

local ENTITIES <const> = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
-- Text in UTF-8 without control characters, as XML wants it; bytes that are no UTF-8 become "?".
local function xml(text)
    text = fit.safe(text):gsub('[&<>"]', ENTITIES)
    local _, bad = utf8.len(text)
    while bad do
        text = text:sub(1, bad - 1) .. "?" .. text:sub(bad + 1)
        _, bad = utf8.len(text)
    end
    return text
end

local function xml_lines(lines)
    local out = {}
    for i, line in ipairs(lines) do out[i] = xml(line) end
    return table.concat(out, "\n")
end

--- The checks as a file of JUnit's form.
function M.junit(path, checks)
    local out, failed = {}, 0
    for _, check in ipairs(checks) do
        local case = ('  <testcase classname="gpush" name="%s"'):format(check.name)
        if check.ok then
            out[#out + 1] = case .. "/>"
        else
            failed = failed + 1
            out[#out + 1] = ('%s>\n    <failure message="%s">%s</failure>\n  </testcase>'):format(
                case, xml(check.text), xml_lines(told(check)))
        end
    end
    save("--junit", path, ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="gpush" \z
        tests="%d" failures="%d">\n%s\n</testsuite>\n'):format(#checks, failed,
        table.concat(out, "\n")))
end

return M
