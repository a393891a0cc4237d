-- sync.explain: each cause has a program that waits and one that waits less, with equal results.
local t = require "tap"
local function explain(...) return sync.explain(...) end

local list = explain(nil, "sim", { print = false }).text
local causes = {}
for name in list:gmatch "\n  (%w[%w_ ]-)  +%u?" do causes[#causes + 1] = name end
t.ok(#causes > 20, "without a cause: the list of them")

-- What waited, as the report calls it, has a card; these three have none to run.
local without = { ["echo/"] = true, ["alloc/"] = true, ["validate/"] = true }
for line in io.lines(os.getenv "GPUSH_ROOT" .. "/profile/advice.def") do
    local why, what, text = line:match '^ADVICE%((%w+), +"(.-)", +"(.*)"%)$'
    local known = text and ("\n" .. list):find("\n  " .. (what ~= "" and what or why), 1, true)
    if text and text ~= "" and not without[why .. "/" .. what] and what ~= "" then
        t.ok(known, ("%s %s has a card"):format(why, what))
    end
end

sync.reset()
local outside = ones(1000, { device = "sim" })
local _ = (outside + 1):exp():tolist()
local before = #sync.lines()
for _, cause in ipairs(causes) do
    local found = explain(cause, "sim", { print = false })
    t.ok(found.equal, cause .. ": the results are equal")
    -- The cpu waits for a fork once at most, and not where the fork took the host's core.
    -- One rank waits for no other; tests/dist/waits.sh has two.
    t.ok(found.waits > found.left or cause == "join" and found.waits <= 1 and found.left <= 1
        or cause == "collective" and found.text:find "This job has one rank",
        ("%s: %d waits, then %d"):format(cause, found.waits, found.left))
    t.ok(found.before > 0 and found.after > 0 and found.text:find "Instead:\n    ",
        "with both times")
end
t.is(#sync.lines(), before, "the ledger is as it was")
t.ok(explain("shape: nonzero", "sim", { print = false }).text:find "^shape: nonzero: ",
    "a cause as the report names it")
for name, title in pairs { ["explicit: wait_event"] = "explicit: synchronize", echo = "print" } do
    t.ok(explain(name, "sim", { print = false }).text:find("^" .. title .. ": "),
        name .. ": a reason with one card")
end
t.error(function() explain "copy" end,
    "no cause 'copy'; for copy there are copy H2D, copy D2H$", "a reason with several")
t.error(function() explain "nonsense" end, "sync.explain: no cause 'nonsense'; there are item, ",
    "an unknown one")
t.done()
