--!plain
-- Where the host's time is counted, functions of Lua's libraries and json take what they work on,
-- by the rates of cards.def, the same digits on each machine. Instructions of Lua are made to take
-- one ns; what is expected is written out from the rates, less those.
local t = require "tap"
local g = require "gpush"
local ns <const> = 1e-9
g.sim.card, g.sim.host, g.sim.script = "h200", 8e-6, ns

local function took(fn, ...)
    local t0 = g.clock()
    fn(...)
    return g.clock() - t0
end
local function nothing() end
-- ns of fn(...) besides a call of a function that does nothing; up to 12 instructions are its own
local function is(expected, what, fn, ...)
    local had = (took(fn, ...) - took(nothing, ...)) / ns
    t.ok(had > expected - 2 and had < expected + 13, ("%s: %.1f ns, expected %g"):format(what, had,
        expected))
end
local CALL <const> = 20
local text = ("ab "):rep(1000)
is(CALL + 1e6 / 2, "a million bytes by rep", function() return ("x"):rep(1000000) end)
is(CALL + 3000 / 2, "upper writes as many bytes as it reads", function() return text:upper() end)
is(CALL + 2, "sub only what it returns", function() return text:sub(11, 14) end)
is(CALL, "len and byte none", function() return text:len() end)
is(CALL + 3000 * 5 + 3000 / 2, "gsub reads all", function() return text:gsub("z", "y") end)
is(CALL + 3000 * 5, "find of a pattern that is nowhere", function() return text:find "%d" end)
is(CALL + 1000 * 5, "from a place on", function() return text:match("%d", 2001) end)
is(CALL, "not of a plain text", function() return text:find("zz", 1, true) end)
is(CALL, "nor at the beginning alone", function() return text:match "^%d" end)
is(CALL + 60 + 200 + 1.5, "integers and decimals as text: format", function()
    return ("%d%s"):format(7, 0.5)
end)
is(CALL + 200 + 1.5, "and tostring", function() return tostring(0.5) end)
is(12 * CALL + 10 + 11,  "each step of gmatch", function()
    for _ in ("ab cd ef gh ij kl mn op qr s"):gmatch "%a%a?" do end -- 10 words of 1 ns, 11 turns
end)

local words, numbers = {}, {}
for i = 1, 1000 do words[i], numbers[i] = "word", i end
is(CALL + 1000 * 4 + 4999 / 2, "concat: elements and bytes", table.concat, words, " ")
is(CALL + 10 * (4 + 60) + 11 / 2, "its numbers become text", table.concat, numbers, "", 1, 10)
is(CALL + 1000 * 4, "move", table.move, numbers, 1, 1000, 1, {})
is(CALL + 100 * 4, "unpack", table.unpack, numbers, 1, 100)
is(CALL + 999 * 4, "an insertion in front moves the rest", table.insert, table.move(numbers, 2,
    1000, 1, {}), 1, 7)
is(CALL, "one at the end nothing", table.insert, { 1, 2, 3 }, 4)
is(CALL + 9 * 4, "nor does removing but from the front", table.remove,
    table.move(numbers, 1, 10, 1, {}), 1)
local compared = 1000 * math.log(1000, 2)
is(CALL + compared * 12, "sort: n log2 n comparisons", table.sort,
    table.move(numbers, 1, 1000, 1, {}))
local few = { 4, 2, 3, 1 }
local had = took(table.sort, few, function(a, b) return a < b end) / ns
t.ok(had > CALL + 8 * (12 + CALL) and had < CALL + 8 * (12 + CALL) + 200,
    ("a function that compares is called for each: %.0f ns"):format(had))
t.is(table.concat(few, " "), "1 2 3 4", "and sorts")

is(4 * 80 + 200 + 5 * 14, "json.encode: values and bytes", g.json.encode, { 1, 2, true, 0.5 })
is(4 * 80 + 200 + 5 * 14, "and decode", g.json.decode, "[1,2,true,0.5]")

-- a profile has the time at the function
local prof = g.profile.run({ lua = true }, function()
    for _ = 1, 4 do text = ("x"):rep(4000000) end
end)
local row
for _, r in ipairs(prof:rows()) do if r.name:find "^rep %[C%]" then row = r end end
t.ok(row and row.cpu_time_total >= 7e-3, "samples are of the function that takes long")
t.done()
