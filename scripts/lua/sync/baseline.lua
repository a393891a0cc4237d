--!plain
-- sync.baseline: the waits of a program kept in a file, so that a later run finds the new ones.
local require = ...
local gpush, fail, save = require "gpush", require "fail", require "save"
local source = require "source"

local FORM <const> = "gpush sync baseline 1"
local LARGEST <const> = 64 << 20 -- bytes of a file

-- The text of a wait's line, so that it is found again after lines above it were added; nil where
-- its file cannot be read.
local function text_of(texts, row)
    local file = row.file
    if not file then return nil end
    if texts[file] == nil then texts[file] = source.text("@" .. file) or false end
    local line = texts[file] and source.line(texts[file], row.line)
    return line and line:match "^%s*(.-)%s*$" or nil
end

-- What is kept of the waits so far: all but those that are allowed, or asked for.
local function entries()
    local list, texts = {}, {}
    for _, row in ipairs(gpush.sync.lines()) do
        if row.watched and not row.reason then
            list[#list + 1] = { file = row.file, line = row.line, text = text_of(texts, row),
                why = row.why, what = row.what, times = row.times, row = row }
        end
    end
    return list
end

-- A file may be given by a shorter or a longer path.
local function same_file(a, b)
    if a == b or not a or not b then return a == b end
    local short, long = a, b
    if #a > #b then short, long = b, a end
    return long:sub(-#short - 1) == "/" .. short:gsub("^%./", "")
end

local function same(a, b)
    if a.why ~= b.why or a.what ~= b.what or not same_file(a.file, b.file) then return false end
    if a.text and b.text then return a.text == b.text end
    return a.line == b.line
end

local function write(path, list)
    local waits = {}
    for i, e in ipairs(list) do
        waits[i] = { file = e.file, line = e.line, text = e.text, why = e.why, what = e.what,
            times = e.times }
    end
    table.sort(waits, function(a, b)
        if a.file ~= b.file then return (a.file or "") < (b.file or "") end
        if a.line ~= b.line then return a.line < b.line end
        return a.why .. a.what < b.why .. b.what
    end)
    local lines = {}
    for i, e in ipairs(waits) do lines[i] = "  " .. gpush.json.encode(e) end
    save("sync.baseline", path, ('{"form": "%s",\n "waits": [\n%s\n ]}\n'):format(FORM,
        table.concat(lines, ",\n")))
end

local function is_entry(e)
    return type(e) == "table" and type(e.why) == "string" and type(e.what) == "string"
        and (e.file == nil or type(e.file) == "string") and math.type(e.line) == "integer"
        and (not e.text or type(e.text) == "string")
        and (e.times == nil or math.type(e.times) == "integer" and e.times > 0)
end

local function read(path)
    local file <close>, message = io.open(path, "rb")
    if not file then
        fail("sync.baseline: %s: write it first, with {update = true}", message)
    end
    local ok, kept = pcall(function()
        local text, why = file:read(LARGEST) -- a device may have no end
        return gpush.json.decode(text or assert(not why and "", why))
    end)
    if not ok or type(kept) ~= "table" or kept.form ~= FORM or type(kept.waits) ~= "table" then
        fail("sync.baseline: %s: expected a file that sync.baseline wrote%s", path,
            ok and "" or " (" .. tostring(kept):gsub("^.-: ", "") .. ")")
    end
    for i, e in ipairs(kept.waits) do
        if not is_entry(e) then
            fail("sync.baseline: %s: wait %d: expected file, line, why and what", path, i)
        end
    end
    return kept.waits
end

-- How often those of the list waited that are the same as e, and how many there are.
local function times_of(list, e)
    local times, n = 0, 0
    for _, k in ipairs(list) do
        if same(e, k) then times, n = times + (k.times or math.huge), n + 1 end
    end
    return times, n
end

-- The file with the waits so far, or those of them that it lacks, as sync.lines() has them, or has
-- half as often or less: then `before` says how often, and `alike` how often lines of its text did
-- together, where there are several. A few more or fewer may be of the times: what has ended
-- already when it is read is no wait.
local function baseline(path, update)
    if update then return write(path, entries()) end
    local kept, found, new = read(path), entries(), {}
    for _, e in ipairs(found) do
        local before, known = times_of(kept, e)
        local times, lines = times_of(found, e)
        if known == 0 or times >= 2 * before then
            new[#new + 1] = e.row
            e.row.before = known > 0 and before or nil
            e.row.alike = lines > 1 and times or nil
        end
    end
    return new
end

return { baseline = baseline, text_of = text_of, same = same, is_entry = is_entry }
