-- Every list and file of a profile that shows times says what kind they are: measured, modelled,
-- predicted or CPU-backed. A method of profiles that this test does not know fails it.
local t = require "tap"

local LISTS <const> = { "sync", "waits", "devices", "queues", "savings", "critical_path", "idle",
    "verdict" }
local OTHERS <const> = { "table", "rows", "trace", "events", "free", "whatif", "save", "memory",
    "collectives", "diff", "report", "folded", "speedscope", "key_averages",
    "export_chrome_trace", "on" }

local function step()
    local x = randn(64, { device = "sim" })
    return (x * 2):sum():item()
end
local function read(path)
    local f = assert(io.open(path))
    local text = f:read "a"
    f:close()
    os.remove(path)
    return text
end

local function check(prof, words)
    for _, name in ipairs(LISTS) do
        local list = prof[name](prof)
        t.ok(list.kind:find(words, 1, true), ("%s.kind: %s"):format(name, words))
        t.ok(tostring(list):find(words, 1, true), ("the text of %s: %s"):format(name, words))
    end
    for _, format in ipairs { "csv", "json" } do
        t.ok(prof:table { format = format }:find(words, 1, true), format .. ": " .. words)
    end
    t.ok(tostring(prof:table { format = "markdown" }):find(words, 1, true), "markdown: " .. words)
    t.ok(prof:diff(prof):find("Times: " .. words, 1, true), "diff: " .. words)
    local path = os.tmpname()
    prof:speedscope(path)
    t.ok(read(path):find(words, 1, true), "speedscope: " .. words)
end

local plain = profile.run({ stack = true }, step)
check(plain, "CPU-backed")
sim.card = "h200"
check(profile.run({ stack = true }, step), "modelled H200")
sim.card = nil
local host = profile.run(function() return randn(64):sum() end)
local predicted = plain:whatif { host = 0.5 }
t.ok(predicted:devices().kind:find "^predicted by a replay, not measured %(.*CPU%-backed",
    "a replay of sim's record")
t.is(host:savings().kind, "measured", "of the cpu alone")

local known = {}
for _, list in ipairs { LISTS, OTHERS } do
    for _, name in ipairs(list) do known[name] = true end
end
local _, methods = debug.getupvalue(debug.getregistry()["gpush.profile"].__index, 1)
for name in pairs(methods) do t.ok(known[name], "prof:" .. name .. " is in this test's lists") end
t.done()
