-- What the host's own work takes here: measures the rates of the script's instructions, of values
-- between tables and tensors, and of files, as tensor/device/card/cards.def has them (HOST), and
-- prints them beside these. Run it on a quiet machine: scripts/gpush scripts/dev/host-rates.lua

-- Seconds of a call, the least of 20 as others may use the machine.
local function least(f)
    local best = math.huge
    for _ = 1, 20 do
        local t0 = clock()
        f()
        best = math.min(best, clock() - t0)
    end
    return best
end

-- Instructions of Lua that a call executes: its counted time, a millisecond each, beside which what
-- functions of C take is little.
local function instructions(f)
    sim.card, sim.host, sim.script = "h200", 1e-9, 1e-3
    local t0 = clock()
    f()
    local counted = clock() - t0
    sim.card, sim.host, sim.script = nil, nil, nil
    return math.floor(counted * 1e3)
end

local list, point = {}, { x = 1, y = 2 }
for i = 1, 1000 do list[i] = i end
local function norm(p, z) return p.x * p.y + z end
local programs = {
    { "arithmetic", function()
        local s = 0
        for i = 1, 100000 do s = (s + i * 3) % 1009 end
        return s
    end },
    { "tables", function()
        local sum = 0
        for _ = 1, 100 do for i = 1, #list do list[i] = list[i] + 1 sum = sum + list[i] end end
        return sum
    end },
    { "calls and fields", function()
        local s = 0
        for i = 1, 100000 do s = s + norm(point, i) end
        return s
    end },
    { "closures and new tables", function()
        local kept
        for i = 1, 20000 do kept = { i, f = function() return kept end } end
        return kept
    end },
    { "strings", function()
        local parts = {}
        for i = 1, 5000 do parts[#parts + 1] = ("%d:%s"):format(i, "x"):upper() end
        local n = 0
        for word in table.concat(parts, " "):gmatch "%d+" do n = n + tonumber(word) end
        return n
    end },
}
print(("%-26s %12s %10s"):format("instructions of", "executed", "ns each"))
for _, p in ipairs(programs) do
    local n, s = instructions(p[2]), least(p[2])
    print(("%-26s %12d %10.1f"):format(p[1], n, s / n * 1e9))
end

local numbers = {}
for i = 1, 100000 do numbers[i] = i + 0.5 end
local made = tensor(numbers)
local function say(what, value, unit) print(("%-26s %23.1f %s"):format(what, value, unit)) end
say("a value to a tensor", least(function() tensor(numbers) end) * 1e4, "ns")
say("and back", least(function() made:tolist() end) * 1e4, "ns")

-- Functions of C, as bindings/sampling/library.c counts them.
local written, texts, decimals = ("ab "):rep(100000), {}, {}
for i = 1, 1000 do texts[i], decimals[i] = tostring(i), i / 3 end
local function each(what, n, fn) say(what, least(fn) / n * 1e9, "ns") end
each("a call", 1e5, function() for _ = 1, 1e5 do written:len() end end)
each("a byte by rep", 3e5, function() return ("abcdefgh"):rep(37500) end)
each("one that a pattern passes", 3e5, function() return written:find "%d" end)
each("an element moved", 1e5, function() return table.move(numbers, 1, 1e5, 1, {}) end)
each("one joined", 1000, function() return table.concat(texts, " ") end)
each("a comparison of sort", 1e5 * math.log(1e5, 2), function() table.sort(numbers) end)
each("an integer as text", 1e5, function() for i = 1, 1e5 do tostring(i) end end)
each("a decimal", 1000, function() return table.concat(decimals, " ") end)
each("a value of JSON", 1000, function() return json.encode(texts) end)

local file = os.tmpname()
npy.save(file, zeros(1))
say("a file of one number", least(function() npy.load(file) end) * 1e6, "us")
local opened = least(function() io.open(file):close() end)
say("opened alone", opened * 1e6, "us")
local ramp = (arange(1, 512) / 512):expand(3, 512, 512)
image.save(file, ramp * 0.9 + rand(3, 512, 512) * 0.05)
local decoded = least(function() image.load(file) end)
say("a picture decoded", ramp:numel() / decoded / 1e6, "million samples a second")
npy.save(file, zeros(4000000))
local function rate(read) return 16e6 / (least(read) - opened) / 1e9 end
say("16 MB read by npy.load", rate(function() npy.load(file) end), "GB/s")
say("and by Lua", rate(function()
    local f <close> = io.open(file)
    f:read "a"
end), "GB/s")
os.remove(file)
