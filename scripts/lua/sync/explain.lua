--!plain
-- sync.explain([cause], [device], [options]): why something makes the host wait and what to write
-- instead, with both programs run on the device: their results, waits and times.
-- bindings/api/profile/sync.c runs this file at each call; it prints, or returns a table with the
-- text, the card's name and what was measured.
local require, cause, device, shown, runs = ...
local gpush, registry = require "gpush", require "registry"
local sync = gpush.sync
local fit = require "fit"
local cards = {}
for _, file in ipairs { "numbers", "copies", "cards" } do
    for _, card in ipairs(require("sync.explain." .. file)) do
        cards[#cards + 1] = card
    end
end

local RUNS <const>, ENOUGH <const> = 9, 1.5 -- of each program; seconds for all
local NAMES <const> = 23 -- columns of a list's names

-- Whether the call is one of those that a card lists.
local function lists(card, call)
    for _, name in ipairs(card.calls or {}) do
        if name == call or name:find "%.$" and call:sub(1, #name) == name
            or name:find "^%.%a" and call:sub(-#name) == name then
            return true
        end
    end
end

local function is_op(name)
    local value = gpush
    for part in name:gmatch "[^.]+" do
        value = type(value) == "table" and value[part] or nil
    end
    return type(value) == "function"
end

-- The cards that a cause means, the best first: a card's name ("copy H2D"), what a warning or a
-- table calls the wait ("to", "copy: to", "wait: to"), or its reason ("copy"). The prompt's echo
-- prints.
local function find(cause)
    cause = cause:gsub("^wait: ", ""):gsub("^full queue$", "queue") -- as a profile's table has it
    local reason, call = cause:match "^(%l+): *(.+)$"
    call = call or cause
    local ways = {
        function(card) return card[1] == cause or card[2] == cause end,
        function(card) return card[1] == call or lists(card, call) end,
        function(card) return card.reason == (cause == "echo" and "print" or cause) end,
        function(card) return card.ops and is_op(call) end,
        function(card) return card.reason == reason end,
    }
    for i, fits in ipairs(ways) do
        local found = {}
        for _, card in ipairs(cards) do
            card.reason = card[2]:match "^%w+"
            if (i == 1 or not reason or card.reason == reason) and fits(card) then
                found[#found + 1] = card
            end
        end
        if #found > 0 then return table.unpack(found) end
    end
end

-- Prints the paragraphs, or returns them in `found`.
local function give(found, ...)
    local parts = table.pack(...)
    if not shown then
        found.text = table.concat(parts, "\n")
        return found
    end
    for _, part in ipairs(parts) do
        if part:find "^    " then print(part) -- Lua
        else fit.print(part, part:find "^  " and NAMES or 0) end
    end
end

local function indented(text) return "    " .. text:gsub("\n", "\n    ") end

local function seconds(s)
    if s < 1e-3 then return ("%.3g us"):format(s * 1e6) end
    if s < 1 then return ("%.3g ms"):format(s * 1e3) end
    return ("%.3g s"):format(s)
end

local function median(list)
    table.sort(list)
    return list[(#list + 1) // 2]
end

-- How many times as fast the second program was, turn by turn: the least, median and most of the
-- middle half, and the number of turns.
local function ratios(slow, fast)
    local list = {}
    for i = 1, #slow do list[i] = slow[i] / fast[i] end
    table.sort(list)
    local n = #list
    return { low = list[(n + 3) // 4], mid = list[(n + 1) // 2], high = list[n + 1 - (n + 3) // 4],
        runs = n }
end

-- The program after the setup, in an environment of its own.
local function program(card, text, where)
    local env = setmetatable({ d = where }, { __index = function(_, name)
        local value = gpush[name]
        if value == nil then value = _G[name] end
        return value
    end })
    assert(load(card.setup, "=" .. card[1], "t", env))()
    local run = assert(load(text, "=" .. card[1], "t", env))
    return function()
        gpush.synchronize()
        local begin = gpush.clock()
        run()
        gpush.synchronize()
        return gpush.clock() - begin, env.result
    end
end

-- The seconds of one run, and how often the host waits in it while the device has something to do.
local function measured(run, why)
    sync.reset()
    local time, n = run(), 0
    for _, line in ipairs(sync.lines()) do
        if line.why == why then n = n + line.times end
    end
    return time, n
end

local function same(a, b)
    if type(a) ~= "table" then return a == b end
    for i = 1, math.max(#a, #b) do if a[i] ~= b[i] then return false end end
    return true
end

-- The waits are counted, and neither reported nor refused: they are not the user's.
local function measure(card, where)
    sync.mode = "off"
    local why = card[2]:match "^%w+"
    local old, new = program(card, card.waits, where), program(card, card.instead, where)
    local _, first = old()
    local _, second = new()
    local slow, fast, waits, left, begin = {}, {}, {}, {}, gpush.clock()
    for i = 1, RUNS do -- in turn, so that what slows the machine slows both
        slow[i], waits[i] = measured(old, why)
        fast[i], left[i] = measured(new, why)
        if not card.ranks and gpush.clock() - begin > ENOUGH and i >= 3 then break end
    end
    -- of a card that nobody measured these ops on, times are the least, of which nothing follows
    local least = registry["gpush.usage"].kind_now(where):find("modelled", 1, true)
        and gpush.profile.run(function() old() new() end).at_least
    return { equal = same(first, second), ratio = ratios(slow, fast), before = median(slow),
        after = median(fast),
        waits = median(waits), left = median(left), at_least = least or nil }
end

local function verdict(found)
    local ratio = found.ratio
    if found.at_least then
        return "at least, as nobody measured how long the card takes: " .. found.at_least
            .. "; which is faster is not known"
    end
    local spread = (", %.3g to %.3g in the middle half of %d turns"):format(ratio.low, ratio.high,
        ratio.runs)
    if ratio.low > 1.1 then return ("%.3g times as fast"):format(ratio.mid) .. spread end
    if ratio.high < 0.9 then
        return ("slower here: %.3g of the speed"):format(ratio.mid) .. spread
    end
    if ratio.low > 0.9 and ratio.high < 1.1 then return "as fast here" .. spread end
    return ("which is faster is not clear here: %.3g times as fast"):format(ratio.mid) .. spread
end

if not cause then
    local list = {}
    for i, card in ipairs(cards) do
        list[i] = ("  %-20s %s"):format(card[1], card[3]:match "^(.-%.) " or card[3])
    end
    return give({}, "sync.explain(cause) runs a program that waits and one that does not:",
        table.unpack(list))
end

-- A cause of prof:verdict(), by its name or as its table has it.
local function cause_of_verdict()
    for _, row in ipairs(registry["gpush.replay"].causes()) do
        if row.cause == cause or row.label == cause or row.label == "the " .. cause then
            return row
        end
    end
end

local row = not find(cause) and cause_of_verdict()
if row then
    return give({ card = row.cause }, row.label .. ": a cause in a verdict. Its worth is what the \z
        run would take less without it, as a replay of the record predicts.",
        "What to do: " .. row.advice .. ".", "In PyTorch: " .. row.torch .. ".")
end

-- "Others of that name: copy D2H, strided."
local function others(...)
    local list = {}
    for i, card in ipairs { ... } do list[i] = card[1] end
    return #list > 0 and " Others of that name: " .. table.concat(list, ", ") .. "." or ""
end

local card = find(cause)
if not card then
    local there = {}
    for i, known in ipairs(cards) do there[i] = known[1] end
    error(("sync.explain: no cause '%s'; there are %s"):format(cause,
        table.concat(there, ", ")), 0)
end
local more = others(select(2, find(cause)))
local title = card[2]:gsub("^(%w+): %1$", "%1") .. ": " .. card[3]
if not card.waits then return give({ card = card[1] }, title .. more) end
if not runs then
    return give({ card = card[1] }, title .. more, "", indented(card.waits), "", "Instead:",
        indented(card.instead))
end
local where = gpush.ones(1, { device = card.device or device or "gpu" }).device
local found = measure(card, where)
found.card, found.kind = card[1], registry["gpush.usage"].kind_now(where)
return give(found, title, "", indented(card.waits), "", "Instead:",
    indented(card.instead), "", ("On %s (%s): %s with %d such wait%s; instead %s with %d: %s. The \z
    results are %s."):format(where, found.kind,
        seconds(found.before), found.waits, found.waits == 1 and "" or "s",
        seconds(found.after), found.left, verdict(found), found.equal and "equal" or "NOT EQUAL")
    .. (card.ranks and gpush.dist.size == 1
        and " This job has one rank, which waits for nobody: gpush run -n 2 script.lua has two."
        or "") .. more)
