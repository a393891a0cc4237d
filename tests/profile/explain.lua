-- sync.explain: each cause has a program that waits and one that waits less, with equal results.
local t = require "tap"
local function explain(...) return sync.explain(...) end

local list = explain(nil, "sim", { print = false }).text
local causes = {}
for name in list:gmatch "\n  (%w[%w_ ]-)  +%u?" do causes[#causes + 1] = name end
t.ok(#causes > 20, "without a cause: the list of them")

sync.reset()
local outside = ones(1000, { device = "sim" })
local _ = (outside + 1):exp():tolist()
local before = #sync.lines()
for _, cause in ipairs(causes) do
    local found = explain(cause, "sim", { print = false })
    if cause == "allocation" then -- would have to fill the device
        t.ok(not found.before and found.text:find "no program here", "one card has no program")
        goto next
    end
    t.ok(found.equal, cause .. ": the results are equal")
    -- The cpu waits for a fork once at most, and not where the fork took the host's core.
    -- One rank waits for no other; tests/dist/waits.sh has two.
    t.ok(found.waits > found.left or cause == "join" and found.waits <= 1 and found.left <= 1
        or cause == "collective" and found.text:find "This job has one rank",
        ("%s: %d waits, then %d"):format(cause, found.waits, found.left))
    t.ok(found.before > 0 and found.after > 0 and found.text:find "Instead:\n    ",
        "with both times")
    local low, high = found.text:match "([%d.e+]+) to ([%d.e+]+) in the middle half of %d turns"
    low, high = tonumber(low), tonumber(high)
    local said = found.text:find("times as fast,", 1, true) and low >= 1.1
        or found.text:find("slower here", 1, true) and high <= 0.9
        or found.text:find("as fast here", 1, true) and low >= 0.9 and high <= 1.1
        or found.text:find("not clear", 1, true) and not (low > 1.1 or high < 0.9)
    t.ok(low and low <= high and said, cause .. ": the verdict by the turns' spread", found.text)
    ::next::
end
t.is(#sync.lines(), before, "the ledger is as it was")
t.ok(explain("shape: nonzero", "sim", { print = false }).text:find "^shape: nonzero: ",
    "a cause as the report names it")
for name, title in pairs { ["explicit: wait_event"] = "explicit: synchronize", echo = "print" } do
    t.ok(explain(name, "sim", { print = false }).text:find("^" .. title .. ": "),
        name .. ": a reason with one card")
end
for _, mode in ipairs { "warn", "error" } do
    local run <close> = assert(io.popen(("%s -e 'sync.mode = %q sync.explain(%q, %q) \z
        io.stderr:write(sync.mode)' 2>&1 >/dev/null"):format(arg[-1], mode, "item", "sim")))
    t.is(run:read "a", mode, "in mode " .. mode .. " its own waits are none of the user's")
end

-- Every word of a warning or a table has its card: the reasons, the calls of advice.def, those of
-- Lua's own functions, and a wait's call in the sources.
local root = os.getenv "GPUSH_ROOT"
local function read(path) return assert(io.open(root .. "/" .. path)):read "a" end
local words = { allocation = true, ["item: topk"] = true, ["copy: add"] = true, dropout = true }
for why in read "tensor/device/why.def":gmatch "\nWHY%((%w+)%)" do words[why] = true end
for why, call in read "profile/sync/advice.def":gmatch '\nADVICE%((%w+), "([^"]*)"' do
    call = call:gsub("^%.%f[%a]", "npy."):gsub("(%a%.)$", "%1f")
    if call ~= "" then words[call], words[why .. ": " .. call] = true, true end
end
for lib, name in read "bindings/api/stdlib.def":gmatch "\nX%((%w+), (%w+), number" do
    words[("item: %s.%s"):format(lib, name)] = true
end
local sources = io.popen(("grep -rhoE 'GP_WHY_[a-z]+, \"[^\"]+\"' '%s/tensor' '%s/bindings'")
    :format(root, root))
for line in sources:lines() do
    words[("%s: %s"):format(line:match 'GP_WHY_(%l+), "(.-)"')] = true
end
sources:close()
local list, meant = {}, {}
for word in pairs(words) do list[#list + 1] = word end
table.sort(list)
t.ok(#list > 80, #list .. " words")
for _, word in ipairs(list) do
    local ok, title = pcall(sync.explain, word, nil, { print = false, run = false })
    t.ok(ok, ("%s: %s"):format(word, ok and title.card or title))
    meant[word] = ok and title.card
end
for word, card in pairs { to = "copy H2D", copy = "copy H2D", shape = "nonzero",
    ["copy: to"] = "copy H2D", ["copy: index"] = "copy H2D", ["index: index"] = "index",
    ["npy.save"] = "save", ["item: .."] = "log", ["item: math.floor"] = "number",
    ["item: topk"] = "option", ["copy: add"] = "arrival", equal = "equal", allclose = "equal",
    copy_ = "copy_", dropout = "option", ["alloc: free"] = "allocation",
    ["validate: scatter_reduce's second derivative"] = "create_graph", ["item: for"] = "option",
    ["wait: to"] = "copy H2D", ["wait: full queue"] = "queue" } do
    t.is(meant[word] or sync.explain(word, nil, { print = false, run = false }).card, card, word)
end
t.ok(explain("copy", "sim", { print = false }).text:find "Others of that name: copy D2H, strided, ",
    "a word of several cards names the others")

-- The causes of a verdict, by their labels, and their names, which may be those of waits, too.
local function read(path)
    local f <close> = assert(io.open((os.getenv "GPUSH_ROOT" or ".") .. path))
    return f:read "a"
end
local causes = 0
for name, label in read "/profile/replay/cause.def":gmatch '\nCAUSE%((%w+), +"([^"]+)"' do
    causes = causes + 1
    t.is(sync.explain(label, nil, { print = false }).card, name, label)
    t.ok(pcall(sync.explain, name, nil, { print = false, run = false }), name)
end
t.is(causes, 13, "all causes were read")
t.ok(explain("the loader", "sim", { print = false }).text:find "DataLoader's num_workers",
    "with what to do, also in PyTorch")
-- What nobody measured on a T4 takes at least what is said, of which nothing follows.
sim.card = "t4"
local bound = explain("unique", "sim", { print = false }).text
sim.card = "h200"
local known = explain("item", "sim", { print = false }).text
sim.card = "t4"
sync.reset()
local x = ones(1000, { device = "sim" })
local _ = x:sort():sum():item()
local least = sync.report(false)
sync.reset()
sim.card = "h200"
_ = (x + 1):sum():item()
local measured = sync.report(false)
sim.card = nil
t.is({ least:find "times: modelled T4[^;]*; at least, as nobody[^\n]*sort" ~= nil,
    measured:find "at least, as nobody" ~= nil }, { true, false },
    "a report says of which ops times are the least", least .. measured)
t.is({ bound:find "at least, as nobody [^\n]*unique[^\n]*which is faster is not known" ~= nil,
    bound:find "times as fast" ~= nil, known:find "at least" ~= nil },
    { true, false, false }, "no ratio of bounds", bound .. known)
t.error(function() explain "nonsense" end, "sync.explain: no cause 'nonsense'; there are item, ",
    "an unknown one")
t.done()
