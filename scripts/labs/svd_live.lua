-- Lab: from which size on does the device pay? The SVD of matrices of several
-- sizes and batch counts, on the CPU and on the device, where it has to be copied
-- in and its results out again.
--
-- What to look at
--   1. "copy in" and "copy out" beside "compute": for small matrices the way may
--      cost as much as the work;
--   2. a batch of small matrices beside one: the device computes many at once;
--   3. "ratio", the CPU's time over the device's, and what follows from it: a
--      difference within the spread of the times is none. The last lines say from
--      which size on the device is faster, where the times tell;
--   4. "residual", the largest |x - U S Vh| over the largest |x|: a quick answer
--      is worth nothing if it is wrong.
-- On a terminal the table is redrawn while it is measured, round by round; on a
-- pipe each row is printed once. Where there is no GPU sim stands in for a card,
-- whose times are modelled, beside the CPU's, which are measured: of these two
-- there is no ratio, "mixed", and no crossover. Where nobody measured the card's
-- SVD its times are bounds, "at least". With --card none the device is the CPU
-- itself: the figures show the machinery, not a graphics card.
--
--   gpush lab svd_live [--device gpu|cpu|sim|cuda] [--card h200]
--     [--sizes 16,32,64,128,256] [--batches 1,8] [--rounds 3]

local here = arg[0]:match ".*/" or ""
local options, verdict = dofile(here .. "options.lua"), dofile(here .. "verdict.lua")
local card, say = dofile(here .. "card.lua"), dofile(here .. "text.lua")
-- The numbers of a list, as in 16,32.
local function numbers(list)
    local out = {}
    for word in list:gmatch "[^,]+" do
        local n = math.tointeger(tonumber(word))
        if not n or n < 1 then return nil, "expected integers of at least 1, as in 16,32" end
        out[#out + 1] = n
    end
    if #out == 0 then return nil, "expected integers of at least 1, as in 16,32" end
    return out
end

local opt, _ <close> = options({
    device = "gpu", card = "h200", sizes = "16,32,64,128,256", batches = "1,8", rounds = 3 },
    { sizes = numbers, batches = numbers })
local live = os.execute "test -t 1"
local label, modelled = card(opt.card, opt.device)
local device = zeros(1, { device = opt.device }).device
if not live then opt.rounds = 1 end

local function quiet(functions) return compare(functions, { print = false }) end

-- Keeps the better of two measurements: disturbances only ever make one slower.
local function keep(row, name, figures)
    if not row[name] or figures.time < row[name].time then row[name] = figures end
end

local function measure(row)
    local x = randn(row.batch, row.size, row.size)
    local there = x:to(device)
    local u, s, vh = linalg.svd(there)
    local back = u:matmul(s:unsqueeze(-1) * vh)
    row.residual = ((back - there):abs():amax() / there:abs():amax()):item()
    local times = quiet {
        cpu = function() return linalg.svd(x) end,
        gpu = function() return linalg.svd(there) end,
        copy_in = function() return x:to(device) end,
        copy_out = function() return u:to "cpu", s:to "cpu", vh:to "cpu" end,
    }
    keep(row, "cpu", times.cpu)
    keep(row, "compute", times.gpu)
    keep(row, "copy_in", times.copy_in)
    keep(row, "copy_out", times.copy_out)
    row.total = { time = 0, spread = 0, min = 0, device = 0, kind = row.compute.kind }
    for _, part in ipairs { row.copy_in, row.compute, row.copy_out } do
        for _, name in ipairs { "time", "spread", "min", "device" } do
            row.total[name] = row.total[name] + (part[name] or 0)
        end
        if part.at_least then
            local known = row.total.at_least
            row.total.at_least = (known and known .. ", " or "") .. part.at_least
        end
    end
    row.verdict, row.ratio = verdict.of(row.cpu, row.total)
    if modelled and row.verdict ~= "at least" then row.verdict, row.ratio = "mixed", nil end
end

local function ms(figures) return figures and ("%.3f"):format(figures.time * 1e3) or "." end

local layout = "%4s %5s %8s %8s %8s %8s %8s %5s %8s%s"
local head = layout:format("size", "batch", "cpu", "device", "copy in", "compute", "copy out",
    "ratio", "residual", "")

local function text(row)
    local ratio = row.ratio and ("%.2f"):format(row.ratio) or row.verdict and "-" or "."
    local residual = row.residual and ("%.1e"):format(row.residual) or "."
    return layout:format(row.size, row.batch, ms(row.cpu), ms(row.total), ms(row.copy_in),
        ms(row.compute), ms(row.copy_out), ratio, residual,
        row.verdict and device ~= "cpu" and "  " .. row.verdict or "") -- of itself there is none
end

local rows = {}
for _, batch in ipairs(opt.batches) do
    for _, size in ipairs(opt.sizes) do
        rows[#rows + 1] = { size = size, batch = batch }
    end
end

print(("SVD on the CPU and on %s, milliseconds"):format(
    (device == "cpu" and "the CPU again" or device) .. label))
if modelled then print "cpu: measured here; device, copy in, compute, copy out: modelled" end
print(head)
if live then
    for _, row in ipairs(rows) do print(text(row)) end
end
for round = 1, opt.rounds do
    for i, row in ipairs(rows) do
        measure(row)
        if live then -- up to the row, write it, and down again
            local up = #rows - i + 1
            io.write(("\27[%dA\r%s\27[K\27[%dB\r"):format(up, text(row), up)):flush()
        else
            print(text(row))
            io.stdout:flush()
        end
    end
end

verdict.method(device)
if device == "cpu" then -- the same work twice
    say("crossover: none; the cpu was compared with itself, and what differs is how far its times \z
        spread", "")
    return
end
for _, batch in ipairs(opt.batches) do
    local own = {}
    for _, row in ipairs(rows) do
        if row.batch == batch then own[#own + 1] = row end
    end
    say(("crossover: batch %d, copies included: %s"):format(
        batch, verdict.crossover(own, device .. (modelled and ", " .. sim.label or ""))), "")
end
if device:find "^sim" and not modelled then
    print "(sim is the cpu itself: a graphics card's crossover is elsewhere)"
end
