-- Everything that shows a time says of what kind: measured, modelled, predicted or CPU-backed.
-- The walk takes the methods of profiles, the functions of gpush and its tables, and the sources
-- that write times as text. One that is in no list here fails it: it is to be called below, or to
-- be named among those that show no time.
local t = require "tap"
local root = os.getenv "GPUSH_ROOT"

local function read(path)
    local f = assert(io.open(path))
    local text = f:read "a"
    f:close()
    return text
end
local function set(...)
    local all = {}
    for _, words in ipairs { ... } do
        if type(words) == "table" then for name in pairs(words) do all[name] = true end
        else for name in words:gmatch "%S+" do all[name] = true end end
    end
    return all
end

-- ---- profiles ----

local LISTS <const> = set [[sync waits devices queues savings critical_path idle verdict
    key_averages collectives launches]]
-- The lists that print as text, but for collectives, which are of several ranks (tests/dist), and
-- launches, of which these records have no calls (tests/profile/launches.lua).
local TEXTS <const> = set "sync waits devices queues savings critical_path idle verdict"
local FILES <const> = set "folded speedscope trace report export_chrome_trace"
-- rows and events are plain lists, of the profile's kind; whatif and on give profiles, save a file
-- that one is read from; memory and free have no times.
local OTHERS <const> = set "table diff rows events whatif on save memory free"

local function step()
    local x = randn(64, { device = "sim" })
    return (x * 2):sum():item()
end

-- The file that a method writes, as text; a page is packed.
local function written(prof, name)
    local path = os.tmpname()
    prof[name](prof, path)
    local text = read(path)
    os.remove(path)
    return text
end

local function check(prof, words)
    local function says(text, name)
        t.ok(tostring(text):find(words, 1, true), name .. " says " .. words, tostring(text))
    end
    says(prof.kind, "kind")
    says(prof, "the profile's own text")
    for name in pairs(LISTS) do says(prof[name](prof).kind, "the kind of " .. name) end
    for name in pairs(TEXTS) do -- a list may be empty, and of no times
        if words ~= "measured" then says(prof[name](prof), name) end
    end
    says(prof:table():gsub("Predicted(.-): ", "predicted%1 ("), "the table")
    for _, format in ipairs { "csv", "json", "markdown" } do
        says(prof:table { format = format }, format)
    end
    says(prof:diff(prof), "diff")
    says(written(prof, "folded"):match "^times: [^;]*;", "folded")
    for name in pairs(FILES) do
        if name ~= "folded" and name ~= "report" then says(written(prof, name), name) end
    end
    local path = os.tmpname()
    prof:save(path)
    says(profile.load(path).kind, "a saved and loaded one")
    os.remove(path)
end

local plain = profile.run({ stack = true }, step)
check(plain, "CPU-backed")
sim.card = "h200"
check(profile.run({ stack = true, shapes = true, flops = true }, step),
    "modelled H200, host as measured")
local modelled = profile.run(step)
sim.card = nil
t.ok(not modelled:diff(plain):find " times%)" and plain:diff(plain):find "%(1%.00 times%)",
    "a modelled profile is no multiple of a measured one")
check(profile.run({ stack = true }, function() return randn(64):sum() end), "measured")
local predicted = plain:whatif { host = 0.5 }
check(predicted, "predicted by a replay, not measured (host x 0.5")
t.ok(predicted.kind:find "CPU%-backed, not a GPU's$", "a replay of sim's record is CPU-backed")

local known = set(LISTS, TEXTS, FILES, OTHERS)
local _, methods = debug.getupvalue(debug.getregistry()["gpush.profile"].__index, 1)
for name in pairs(methods) do t.ok(known[name], "prof:" .. name .. " is in this test's lists") end

-- ---- functions ----

local function host() return randn(64):sum() end

local function functions(words)
    local function says(text, name, other)
        t.ok(tostring(text):find(other or words, 1, true), name .. " says " .. (other or words),
            tostring(text))
    end
    says(timeit(step, { n = 3 }), "timeit")
    says(timeit(step, { n = 3 }).kind, "the kind of timeit")
    says(timeit(host, { n = 3 }), "timeit of the host", "measured")
    local both = compare({ device = step, host = host }, { n = 3 })
    says(both, "compare")
    says(both.device.kind, "the kind of compare")
    says(both.host.kind, "of the host", "measured")
    local apart = words:find "^modelled" ~= nil
    t.is({ both.device.ratio == nil, both.host.ratio == nil,
        tostring(both):find "\nno ratios: times of these kinds are not compared\n" ~= nil },
        { apart, apart, apart }, "ratios of times that may be compared: " .. words)
    local told = 0
    for _ = 1, 12 do
        local same = compare({ one = step, two = step })
        told = told + ((same.two.unclear or same.one.unclear or not same.one.ratio) and 0 or 1)
    end
    t.ok(told < 2, "what is alike is unclear: " .. words, told .. " of 12 had a ratio")
    sync.reset()
    step()
    says(sync.report(false), "sync.report")
    says(sync.lines()[1].kind, "sync.lines")
    local events = sync.events()
    says(events[#events].kind, "sync.events")
    says(sync.explain("item", "sim", { print = false }).text, "sync.explain")
    says(select(2, pcall(function()
        local _ <close> = sync.budget { max = 0 }
        step()
    end)), "sync.budget")
    local loader = data.Loader({ size = 8, get = function(_, i) return full({ 1 }, i) end },
        { batch = 2 })
    for _ in loader() do host() end
    local figures = loader:report { print = false }
    says(figures.kind, "a loader's figures")
    t.is(figures.verdict:match "^no verdict: .*", apart and "no verdict: not compared: making \z
        batches is measured, the step is " .. words or nil, "and what they may be compared with")
end
functions "CPU-backed"
sim.card = "h200"
functions "modelled H200, host as measured"
sim.host = 8e-6
t.is(timeit(host, { n = 3 }).kind, "modelled H200, host 8 us an op", "the host's time is counted")
local four = compare({ once = step, more = function() for _ = 1, 4 do step() end end })
t.ok(not four.more.unclear and four.more.ratio > 3 and four.more.ratio < 5,
    "four times the work is no unclear ratio", tostring(four))
local loader = data.Loader({ size = 8, get = function(_, i) return full({ 1 }, i) end },
    { batch = 2 })
for _ in loader() do step() end
t.ok(not loader:report({ print = false }).verdict:find "^no verdict",
    "a loader's, too: it is compared with the step")
sim.card, sim.host = nil, nil
sync.reset()
host()
t.ok(sync.report(false):find "has not waited", "a report without waits has no times")

-- gpush's own functions that are no ops, and those of its tables.
local SHOWN <const> = set [[timeit compare sync.report sync.lines sync.events sync.explain
    sync.budget sync.calls sync.warning profile.run profile.stop profile.load profile.schedule]]
-- clock gives seconds of no work, progress the clock's time of a loop.
local SILENT <const> = set [[ alive autocast capture clock clone cuda_routes cuda_setting
    current_stream default_device default_dtype deterministic devices diverge elementwise
    empty_cache enable_grad fork from_dlpack
    fuse fuse_compile get_autocast_dtype get_rng_state grad heatmap help hist imshow inference
    is_autocast_enabled is_grad_enabled is_tensor is_terminal manual_seed memory no_grad ops plot
    printoptions progress promote_types reduction reset_peak set_rng_state stream synchronize tensor
    terminal threads to_dlpack wait
    sync.allow sync.async sync.baseline sync.error sync.finish sync.off sync.reset sync.selftest
    profile.record_function profile.region profile.start sim.cards sim.measured ]]
local ops, composites = gpush.ops(), debug.getregistry()["gpush.composites"]
local second = {}
for name, others in pairs(debug.getregistry()["gpush.synonyms"]) do
    second[name] = true
    for _, other in pairs(others) do second[tostring(other)] = true end
end
local function walk(from, prefix)
    for name, fn in pairs(from) do
        name = prefix .. tostring(name)
        local op = ops[name] or composites[name] or second[name]
        if type(fn) == "function" and not op then
            t.ok(SHOWN[name] or SILENT[name], name .. " is in this test's lists")
        end
    end
end
walk(gpush, "")
for _, name in ipairs { "sync", "profile", "sim" } do walk(gpush[name], name .. ".") end

-- ---- sources ----

-- Files that write times as text, and the function or the test that shows what they say.
local WRITERS <const> = {
    ["bindings/api/profile/profile.c"] = "the profile's own text",
    ["bindings/api/profile/time.c"] = "timeit",
    ["profile/sync/budget.c"] = "sync.budget", ["profile/sync/report.c"] = "sync.report",
    ["profile/sync/sync.c"] = "tests/profile/sync.lua", ["profile/show/table.c"] = "table",
    ["profile/show/table.h"] = "declares it", ["profile/sync/sync.h"] = "declares it",
    ["scripts/lua/profile/collectives.lua"] = "its kind; tests/dist/profiles.sh",
    ["scripts/lua/command/analyze.lua"] = "predicted, as its head says",
    ["scripts/lua/command/compare.lua"] = "below prof:diff",
    ["scripts/lua/data/report.lua"] = "a loader's figures",
    ["scripts/lua/profile/diff.lua"] = "diff", ["scripts/lua/sync/explain.lua"] = "sync.explain",
    ["scripts/lua/profile/export.lua"] = "csv, json, markdown",
    ["scripts/lua/fit.lua"] = "formats for others",
    ["scripts/lua/shell/commands.lua"] = "tests/shell/session.sh",
    ["scripts/lua/shell/kernel/console.lua"] = "a cell's time: measured",
    ["scripts/lua/profile/usage.lua"] = "sync, waits, devices, queues",
    ["scripts/lua/profile/verdict.lua"] = "verdict", ["scripts/lua/profile/late.lua"] = "verdict",
    ["scripts/lua/profile/causes.lua"] = "verdict",
    ["scripts/lua/profile/launches.lua"] = "verdict",
    ["scripts/lua/profile/slowed.lua"] = "verdict",
    ["scripts/lua/report/init.lua"] = "the page's kind, in its head; tests/profile/report.lua",
    ["scripts/lua/profile/whatif.lua"] = "savings, critical_path, idle",
    ["bindings/api/profile/whatif.c"] = "prof.predicted, which prof.kind holds",
    ["profile/replay/result.c"] = "how loaded the processors were; tests/profile/loaded.sh",
    ["profile/load/own_ranks.c"] = "prof.how: between clocks",
    ["profile/load/ranks.c"] = "an error: how far apart files are",
    ["tensor/device/card/model.c"] = "the kind",
}
local FORMATS <const> = { "gp_time_text", "gp_table_time", "fit%.time",
    "%%[.%d]*[fgd] ?[mun]?s[^%w%%_]" }
local list = io.popen(("cd '%s' && find bindings profile tensor kernels shell scripts/lua -type f \z
    -not -path '*/help/*' -not -name help.lua"):format(root))
for path in list:lines() do
    local text = read(root .. "/" .. path)
    for _, format in ipairs(FORMATS) do
        -- "within %g s" of messages is a limit that was given, no time that something took
        if not WRITERS[path] and text:gsub("within %%g s", ""):find(format) then
            t.ok(false, path .. " writes times as text and is in no list of this test")
            break
        end
    end
end
list:close()
-- With a card, what runs on the cpu alone is measured; with the host's time counted it is not.
local here = ones(10)
local function add() here = here + 1 end
sim.card, sim.host = "t4", nil
t.is(profile.run(add).kind, "measured", "nothing ran on the card")
sim.host = 8e-6
t.is(profile.run(add).kind, "modelled T4, host 8 us an op", "the host's time is counted")
sim.card, sim.host = nil, nil
t.done()
