-- Lab: the loop that waits. GatherND picks data[i][j] for many index rows (i, j).
-- A model in a real project ran 15 times slower than it had to because its
-- GatherND looped over the rows and turned each index into a number.
--
-- What to look at
--   1. the sync report of the loop: one line of this file waits twice a row; the
--      vectorised form leaves its report empty;
--   2. the profile tables: the loop is hundreds of waits and tiny ops, the other
--      one gather_nd;
--   3. "idle" in the report: time in which the device had nothing to do, because
--      the host waited for a number and had not queued the next op;
--   4. the two times, and that both give the same result.
-- Then run it with --device cpu: no waits are left, and the time that remains is
-- the cost of many small ops.
--
-- Where there is no GPU sim stands in for a card: times are modelled, the host's
-- as 8 us an op. --card none shows sim as it is, threads of the processor.
--
--   gpush lab gathernd [--device gpu|cpu|sim|cuda] [--card h200] [--host 8e-6]
--     [--rows 500] [--size 64]

local here = arg[0]:match ".*/" or ""
local options, card = dofile(here .. "options.lua"), dofile(here .. "card.lua")
local verdict, say = dofile(here .. "verdict.lua"), dofile(here .. "text.lua")
local opt, _ <close> = options { device = "gpu", card = "h200", host = 8e-6, rows = 500, size = 64 }
local label = card(opt.card, opt.device, opt.host) -- by default PyTorch's 8 us

manual_seed(1)
local data = randn(opt.size, opt.size, 16, { device = opt.device })
local indices = randint(1, opt.size, { opt.rows, 2 }, { device = opt.device })

-- Each number in `indices` is read on its own: the host waits for the device, once per number.
local function loop(data, indices)
    local picked = {}
    for i = 1, #indices do
        local row, column = indices[i][1]:item(), indices[i][2]:item()
        picked[i] = data[{ row, column }]
    end
    return stack(picked)
end

-- The indices stay where they are. One op, no wait.
local function vectorised(data, indices)
    return data:gather_nd(indices)
end

local function study(name, f)
    print(("\n== %s =="):format(name))
    f(data, indices) -- first call: memory is allocated, kernels are loaded
    synchronize()
    sync.reset()
    local result
    local prof = profile.run(function() result = f(data, indices) end)
    local waits, lost = 0, 0
    for _, line in ipairs(sync.lines()) do
        waits, lost = waits + line.times, lost + line.wait
    end
    print(prof:table { sort = "cpu_time_total", limit = 8 })
    print("sync report:")
    sync.report()
    local figures = timeit(function() f(data, indices) end, { print = false })
    say(tostring(figures))
    figures.host = math.max(0, figures.host - lost) -- timeit's has the waits in it
    return result, figures, waits
end

local shape = table.concat(data.shape, "x")
print(("GatherND: %d index pairs into %s on %s%s"):format(opt.rows, shape, data.device, label))
local a, slow, many = study("a loop over the rows", loop)
local b, fast, few = study("vectorised", vectorised)

print "\n== result =="
print(("loop        %9.3f ms  %5d waits"):format(slow.time * 1e3, many))
print(("vectorised  %9.3f ms  %5d waits"):format(fast.time * 1e3, few))
print("equal       " .. tostring((a == b):all():item()))
say("vectorised: " .. verdict.pays(slow, fast), "")
