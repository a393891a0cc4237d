-- How the programs of this folder measure: rounds of calls, each of which ends with a wait, and
-- a line "item<TAB>seconds<TAB>bytes<TAB>operations<TAB>least<TAB>most" for each item: seconds of a
-- call in the median round, in the fastest and in the slowest. bytes is what the item must move at
-- least, operations those of its products, 0 where the other is the limit. An item that cannot run
-- has a line "item<TAB>failed<TAB>why". measure.py does the same for PyTorch.
local measure = {}

-- Writes the line of an item of which `rounds` has a time for each round.
function measure.report(name, rounds, bytes, operations)
    table.sort(rounds)
    io.write(("%s\t%.9g\t%d\t%.9g\t%.9g\t%.9g\n"):format(name, rounds[#rounds // 2 + 1],
        bytes or 0, operations or 0, rounds[1], rounds[#rounds]))
    io.flush()
end

-- An item that cannot run must not end the others.
function measure.guarded(name, fn)
    local ok, err = pcall(fn)
    if not ok then
        io.write(("%s\tfailed\t%s\n"):format(name, tostring(err):gsub("%s+", " ")))
        io.flush()
    end
    collectgarbage()
end

-- Seconds of a call in each of `samples` rounds of at least `least` seconds, after three calls in
-- which code is loaded; fewer of what takes seconds.
function measure.rounds(device, fn, least, samples)
    synchronize(device)
    local begun = clock()
    for _ = 1, 3 do
        fn()
        synchronize(device)
        if clock() - begun > 0.5 then
            samples = math.min(samples, 3)
            break
        end
    end
    local t0 = clock()
    fn()
    synchronize(device)
    local n, v = math.max(1, least // math.max(clock() - t0, 1e-7) | 0), {}
    for i = 1, samples do
        t0 = clock()
        for _ = 1, n do fn() end
        synchronize(device)
        v[i] = (clock() - t0) / n
    end
    return v
end

return measure
