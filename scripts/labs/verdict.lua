-- Conclusions that labs may draw from times: only differences beyond their spread, and none of a
-- time that was measured here and one that is modelled.
local verdict = {}

local LEAST = 1.05 -- a smaller ratio does not count, however quiet the machine was

-- Whether most of a time was measured on this machine, the rest being a card's model; nil: there is
-- no such model, or it is not known.
local function measured(f)
    if not sim.card or sim.host or not f.kind then return end
    if f.kind == "measured" then return true end
    return f.device and 2 * f.device < f.time
end

-- Whether one is measured and the other modelled.
local function mixed(a, b)
    local here, there = measured(a), measured(b)
    return here ~= nil and there ~= nil and here ~= there
end

-- The range of times: its lower end is at least the shortest one measured.
local function low(f) return math.max(f.min, f.time - f.spread) end
local function high(f) return f.time + f.spread end

--- How b compares with a, each {time =, spread =, min =, at_least =, kind =, device =} in seconds
--- as timeit returns them: "faster", "slower", "unclear" where their ranges meet; and their ratio,
--- a over b. Nothing follows and there is no ratio where one of the times is a bound of a modelled
--- card, "at least", or where one is measured here and the other modelled, "mixed".
function verdict.of(a, b)
    if a.at_least or b.at_least then return "at least" end
    if mixed(a, b) then return "mixed" end
    local ratio = a.time / b.time
    if ratio >= LEAST and low(a) > high(b) then return "faster", ratio end
    if ratio <= 1 / LEAST and high(a) < low(b) then return "slower", ratio end
    return "unclear", ratio
end

local function ms(s) return ("%.3f ms"):format(s * 1e3) end

-- The ops of both lists of at_least, "relu, sum", a few of them.
local function bounds(a, b)
    local names, seen, more = {}, {}, 0
    for name in ((a.at_least or "") .. "," .. (b.at_least or "")):gmatch "[^,%s][^,]*" do
        if not seen[name] then
            if #names < 3 then names[#names + 1] = name else more = more + 1 end
        end
        seen[name] = true
    end
    return table.concat(names, ", ") .. (more > 0 and (" and %d more"):format(more) or "")
end

-- What of a time changed most: the host's own part, or its waits for the device. Each way may say
-- how long its host works (host) and how many ops that is (ops).
local function reason(a, b)
    if not (a.host and b.host) then return "" end
    local ops = a.ops and b.ops and a.ops ~= b.ops and (", for %d ops, not %d"):format(b.ops, a.ops)
    local host = ("; the host's own part is %s, not %s%s"):format(ms(b.host), ms(a.host), ops or "")
    if a.at_least or b.at_least then return host end -- which is no bound
    local own, wait = b.host - a.host, (b.time - b.host) - (a.time - a.host)
    if math.abs(own) < math.abs(wait) then
        return ("; the host waits %s for the device, not %s"):format(ms(b.time - b.host),
            ms(a.time - a.host))
    end
    return host
end

--- Why no conclusion is drawn where a time is a bound.
function verdict.unknown(a, b)
    return ("no verdict: nobody measured %s on a card like this (%s); the times are at least so")
        :format(bounds(a, b), sim.label)
end

-- Whose times these are, where it is the processor that stands in for a device.
local function stands_in(a, b)
    local kind = ((a.kind or "") .. (b.kind or "")):match "CPU%-backed[^,]*, not a GPU's"
    return kind and (" (%s)"):format(kind) or ""
end

-- Whether most of a time is the host's own, counted by an assumed time of an op.
local function assumed(f) return sim.card and sim.host and f.host and 2 * f.host > f.time end

--- Whether b pays in place of a, and what of the time changed, as text: each as verdict.of takes
--- them, with host, ops, device, kind and modelled, where they are known.
function verdict.pays(a, b)
    local how, ratio = verdict.of(a, b)
    if how == "mixed" then
        return ("no verdict: of %s and %s one is mostly measured on this machine's CPU, the other \z
            modelled (%s)"):format(ms(a.time), ms(b.time), sim.label)
    end
    if how == "at least" then return verdict.unknown(a, b) .. reason(a, b) end
    if how == "faster" and (assumed(a) or assumed(b)) then
        local f = assumed(b) and b or a
        return ("pays here, how much depends on the host: %s of %s are its own, at %g us an op")
            :format(ms(f.host), ms(f.time), sim.host * 1e6) .. reason(a, b)
    end
    if how == "faster" then
        return ("pays here: %.2f times as fast%s"):format(ratio, stands_in(a, b)) .. reason(a, b)
    end
    if how == "slower" then
        return ("loses here: it takes %.2f times as long%s"):format(1 / ratio, stands_in(a, b)) ..
            reason(a, b)
    end
    return ("no clear difference here: %s, not %s, within 5 %% or their spread"):format(ms(b.time),
        ms(a.time))
end

--- Prints what follows from a list of {name, a, b}, by say(text); what nothing follows from, once.
function verdict.conclude(list, say)
    local open, last = {}, nil
    for _, row in ipairs(list) do
        if verdict.of(row[2], row[3]) == "at least" then
            open[#open + 1], last = row[1], row
        else
            say(row[1] .. ": " .. verdict.pays(row[2], row[3]))
        end
    end
    if last then say(table.concat(open, ", ") .. ": " .. verdict.unknown(last[2], last[3])) end
end

local function sizes(rows)
    local list = {}
    for i, row in ipairs(rows) do list[i] = tostring(row.size) end
    return table.concat(list, ", ")
end

-- The rows, in the order of sizes, whose cpu took longer than for a larger size: something else ran
-- meanwhile, and nothing follows from them.
local function disturbed(rows)
    local list, least = {}, math.huge
    for i = #rows, 1, -1 do
        local time = rows[i].cpu and rows[i].cpu.time or least
        if time > least then
            table.insert(list, 1, rows[i])
            list[rows[i]] = true
        end
        least = math.min(least, time)
    end
    return list
end

--- Prints by which of CUDA's drivers linalg.svd was computed last, where the device is such a one.
function verdict.method(device)
    local _, used
    if device:find "^cuda" then _, used = cuda.svd_driver() end
    if used then print(("linalg.svd on %s: by %s (cuda.svd_driver)"):format(device, used)) end
end

--- From which size on rows of one batch count {size =, verdict =, cpu =, total =} are faster, as
--- text that names the device; cpu and total are the times that a verdict is from.
function verdict.crossover(rows, device)
    local all = table.move(rows, 1, #rows, 1, {})
    table.sort(all, function(a, b) return a.size < b.size end)
    local faster, last = {}, 0 -- last: how many of the largest are faster, all of them
    local unsure = disturbed(all)
    for i, row in ipairs(all) do
        if row.verdict == "at least" then return verdict.unknown(row.cpu or {}, row.total or {}) end
        if row.verdict == "mixed" then
            return ("no verdict: the cpu's times are measured here, the device's are not (%s)")
                :format(device)
        end
        local is = row.verdict == "faster" and not unsure[row]
        last = is and last + 1 or 0
        if is then faster[#faster + 1] = row end
    end
    local but = #unsure == 0 and "" or ("; nothing follows from %s, where the cpu took longer \z
        than for a larger size: other programs ran meanwhile"):format(sizes(unsure))
    if #faster == 0 then return device .. " is clearly faster at no size here" .. but end
    if #faster > last then
        return ("%s is faster at %s, but not at every size between or above%s"):format(
            device, sizes(faster), but)
    end
    return ("%s is faster from size %d on%s"):format(device, all[#all - last + 1].size, but)
end

return verdict
