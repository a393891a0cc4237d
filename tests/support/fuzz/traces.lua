--!plain
-- Mutants of traces and profiles through all that `gpush analyze` and the methods of a profile show
-- (scripts/dev/fuzz-traces). traces.lua SEED FIRST LAST WORK FILE...: the mutants FIRST to LAST of
-- the seeds FILE... in the folder WORK, each decided by SEED plus its number. WORK/at is the number
-- of the mutant in work, WORK/found has what was found, a line each. Without a number for SEED,
-- traces.lua FILE... takes those files as they are, and prints that.
local g = require "gpush"
local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/?.lua;" .. package.path
local mutate = require "mutate"
local random = math.random

local SLOW = 10      -- seconds of the processor
local EVENTS = 300   -- of a large trace
local MOST = 1 << 26 -- bytes of a trace's text

local seed, first, last = math.tointeger(arg[1]), tonumber(arg[2]), tonumber(arg[3])
local work = seed and arg[4] or os.getenv "TMPDIR" or "/tmp"
local files = table.move(arg, seed and 5 or 1, #arg, 1, {})

local function read(name)
    local f <close> = assert(io.open(name, "rb"))
    return f:read "a"
end
local function write(name, text)
    local f <close> = assert(io.open(name, "wb"))
    f:write(text)
end
local function unpacked(name)
    if read(name):sub(1, 2) ~= "\x1f\x8b" then return read(name) end
    local p <close> = assert(io.popen(("gzip -dc '%s'"):format(name)))
    return p:read "a"
end
local function pack(name) os.execute(("gzip -nf '%s'"):format(name)) end

-- ---- what is asked of each ----

-- Errors that only a mistake of ours can raise.
local ours = { "attempt to ", "bad argument #", "no integer representation", "stack overflow",
    "invalid value", "expected: ", "internal" }
local found
local function call(what, fn, ...)
    local ok, value = pcall(fn, ...)
    if ok then return value end
    if type(value) ~= "string" or value == "" then found(what .. ": an error without a message") end
    for _, text in ipairs(ours) do
        if tostring(value):find(text, 1, true) then found(what .. ": " .. value) end
    end
end

local function plain(what, text)
    text = text and tostring(text)
    if text and text:gsub("[\n\t]", ""):find "[%c\x7f]" then
        found(what .. ": a control character")
    end
    return text
end

local groups = { "op", "region", "line", "shape", "stack", "module", "rank", "kernel" }
local whatifs = { { without = "all" }, { without = { "aten::item", "a.py:3" } }, { host = 0.5 },
    { scale = { ["aten::mm"] = 0.5, matmul = 2 } }, { overlap = true }, { device = "h200" } }
local targets = { { card = "t4" }, { card = "h200", ranks = 8, network = "400Gb" },
    { ranks = 1024, network = "10Gb", algorithm = "ring" }, { ranks = 3, network = "measured" } }

local function tables(p)
    for _, group in ipairs(groups) do
        plain("table by " .. group, call("table", p.table, p, { group = group }))
    end
    local csv = { format = "csv" }
    call("csv", p.table, p, csv)
    call("markdown", p.table, p, { format = "markdown" })
    local json = call("json", p.table, p, { format = "json" })
    if json then call("json of a table", g.json.decode, json) end
    for _, method in ipairs { "sync", "waits", "devices", "queues", "launches", "memory",
        "collectives", "savings", "critical_path", "idle" } do
        local list = call(method, p[method], p)
        if list ~= nil then plain(method, call(method .. " as text", tostring, list)) end
    end
    call("series", p.queues, p, { series = true })
    call("path by line", p.critical_path, p, { group = "line" })
    call("path of a rank", p.critical_path, p, { group = "rank", rank = 1 })
end

local function predictions(p)
    local k = random(#whatifs)
    local q = call("whatif", p.whatif, p, whatifs[k])
    if q then
        plain("a prediction", call("table of a prediction", q.table, q))
        plain("diff", call("diff", function() return tostring(p:diff(q)) end))
    end
    q = call("on", p.on, p, targets[random(#targets)])
    if q then plain("a card's", call("table on a card", q.table, q)) end
end

-- Without its blocks of numbers a page has the scripts and comments of any other.
local scripts
local function page(p, name)
    call("report", p.report, p, name)
    local f = io.open(name, "rb")
    if not f then return end
    local blocks = '<script type="text/plain" id="block%-%d+">[%w+/=\n]*</script>'
    local _, n = f:read "a":gsub(blocks, ""):gsub("<[/!]?[sS-][cC-]", "")
    f:close()
    os.remove(name)
    scripts = scripts or n
    if n ~= scripts then found(("a page with %d scripts, not %d"):format(n, scripts)) end
end

local function written(p)
    local name = work .. "/out"
    for _, how in ipairs { "trace", "folded", "speedscope" } do
        call(how, p[how], p, name)
        local f = how ~= "folded" and io.open(name, "rb")
        if f then
            call("json of " .. how, g.json.decode, f:read "a")
            f:close()
        end
        os.remove(name)
    end
    call("short trace", p.trace, p, name, { max = "20kB" })
    os.remove(name)
    if call("save", function() return p:save(name) or true end) then
        local again = call("load", g.profile.load, name)
        if not again or again:table() ~= p:table() then found "a saved profile that differs" end
    end
    os.remove(name)
end

local analyze = assert(loadfile(here .. "/../../../scripts/lua/command/analyze.lua"))
local options = { {}, { "--group", "module" }, { "--network", "400Gb" }, { "--limit", "3" },
    { "--card", "h100", "--ranks", "4", "--network", "nvlink" } }

-- All of it for a profile of one file or of several.
local function examine(names)
    local ok, p = pcall(g.profile.load, #names > 1 and names or names[1], { max_bytes = MOST })
    if not ok then
        return call("load", error, p)
    end
    tables(p)
    predictions(p)
    page(p, work .. "/out.html")
    written(p)
    local given = table.move(options[random(#options)], 1, 9, 1, {})
    table.move(names, 1, #names, #given + 1, given)
    call("analyze", analyze, table.unpack(given))
end

-- ---- the mutants ----

local texts = {}
local function seed_text()
    local name = files[random(#files)]
    texts[name] = texts[name] or unpacked(name)
    return mutate.part(texts[name], random(EVENTS))
end

-- Writes a mutant; returns its name. One in ten is packed, and half of those damaged after it.
local function make(i)
    local name = ("%s/mutant-%d.json"):format(work, i)
    write(name, mutate.text(seed_text()))
    if random(10) > 1 then return name end
    pack(name)
    name = name .. ".gz"
    if random(2) == 1 then write(name, mutate.packed(read(name))) end
    return name
end

local out = seed and assert(io.open(work .. "/found", "a")) or io.stderr
out:setvbuf "line"

local function examined(i, names)
    found = function(what)
        what = what:sub(1, 300):gsub("%c", "?")
        out:write(("%s: %s\n"):format(table.concat(names, " "), what))
        found = function() end
        names.kept = true
    end
    local took
    for _ = 1, 2 do -- the second time is not the machine's
        local begin = os.clock()
        examine(names)
        took = os.clock() - begin
        if took <= SLOW then break end
    end
    if took > SLOW then found(("took %.1f s"):format(took)) end
    if i and not names.kept then for _, name in ipairs(names) do os.remove(name) end end
    collectgarbage()
end

if not seed then
    for _, name in ipairs(files) do examined(nil, { name }) end
    return
end
for i = first, last do
    write(work .. "/at", tostring(i))
    math.randomseed(seed + i)
    local names = { make(2 * i) }
    if random(8) == 1 then names[2] = make(2 * i + 1) end
    examined(i, names)
end
