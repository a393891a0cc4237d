-- Conclusions that labs may draw from measured times: only differences beyond their spread.
local verdict = {}

local LEAST = 1.05 -- a smaller ratio does not count, however quiet the machine was

-- The range of times: its lower end is at least the shortest one measured.
local function low(f) return math.max(f.min, f.time - f.spread) end
local function high(f) return f.time + f.spread end

--- How b compares with a, each {time =, spread =, min =} in seconds as timeit returns them:
--- "faster", "slower", or
--- "unclear" where their ranges meet; and the ratio of the times, a over b.
function verdict.of(a, b)
    local ratio = a.time / b.time
    if ratio >= LEAST and low(a) > high(b) then return "faster", ratio end
    if ratio <= 1 / LEAST and high(a) < low(b) then return "slower", ratio end
    return "unclear", ratio
end

local function sizes(rows)
    local list = {}
    for i, row in ipairs(rows) do list[i] = tostring(row.size) end
    return table.concat(list, ", ")
end

--- From which size on rows of one batch count {size =, verdict =} are faster, as text that names
--- the device.
function verdict.crossover(rows, device)
    local all = table.move(rows, 1, #rows, 1, {})
    table.sort(all, function(a, b) return a.size < b.size end)
    local faster, last = {}, 0 -- last: how many of the largest are faster, all of them
    for i, row in ipairs(all) do
        last = row.verdict == "faster" and last + 1 or 0
        if row.verdict == "faster" then faster[#faster + 1] = row end
    end
    if #faster == 0 then return device .. " is clearly faster at no size here" end
    if #faster > last then
        return ("%s is faster at %s, but not at every size between or above"):format(
            device, sizes(faster))
    end
    return ("%s is faster from size %d on"):format(device, all[#all - last + 1].size)
end

return verdict
