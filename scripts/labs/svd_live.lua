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
--   4. "error", |x - U S Vh| over |x| by the Frobenius norm: a quick answer is
--      worth nothing if it is wrong;
--   5. the second table: every method that the device has, milliseconds and error
--      for each size, and on cuda which of them linalg.svd takes by its table
--      (cuda.linalg_routes); * is the quickest where times tell, - what cannot.
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

local function norm(x) return x:square():sum():sqrt():item() end

-- How far u, s and vh are from x, in f64 on the cpu.
local function off(x, u, s, vh)
    local function far(a) return a:to "cpu":double() end
    local want = far(x)
    return norm(want - (far(u) * far(s):unsqueeze(-2)):matmul(far(vh))) / norm(want)
end

local function measure(row)
    local x = randn(row.batch, row.size, row.size)
    local there = x:to(device)
    local u, s, vh = linalg.svd(there)
    row.error = off(x, u, s, vh)
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
    "ratio", "error", "")

local function text(row)
    local ratio = row.ratio and ("%.2f"):format(row.ratio) or row.verdict and "-" or "."
    local error = row.error and ("%.1e"):format(row.error) or "."
    return layout:format(row.size, row.batch, ms(row.cpu), ms(row.total), ms(row.copy_in),
        ms(row.compute), ms(row.copy_out), ratio, error,
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

-- ---- every method ----

-- Those of cuda, by the names of its tables, with what they are called here.
local routines = { { "jacobi", "jacobi" }, { "gesvd", "gesvd" }, { "gesvdj", "gesvdj" },
    { "gesvdjBatched", "gesvdjB" }, { "gesvdaStridedBatched", "gesvda" }, { "cpu", "cpu+copy" } }
local short = {}
for _, r in ipairs(routines) do short[r[1]] = r[2] end

local methods = { { name = "cpu" } }
if device:find "^cuda" then
    for _, r in ipairs(routines) do
        methods[#methods + 1] = { name = r[2], there = true, routine = r[1] }
    end
elseif device ~= "cpu" then
    methods[2] = { name = device, there = true }
end

-- The time and the error of linalg.svd by that method alone; none where it cannot.
local function by_method(m, x)
    if m.routine then
        require "gpush".cuda_routes(
            ('SOURCE("svd_live")\nROUTE(svd, any, 0, 0, 1, 0, %s)'):format(m.routine))
    end
    local u, s, vh = linalg.svd(x)
    if m.routine and select(3, cuda.linalg_routes()) ~= m.routine then return {} end
    local error = off(x, u, s, vh)
    return { error = error, time = quiet { m = function() return linalg.svd(x) end }.m }
end

-- At most six characters.
local function short_ms(seconds)
    local t = seconds * 1e3
    return (t < 10 and "%.3f" or t < 100 and "%.2f" or t < 1000 and "%.1f" or "%.0f"):format(t)
end

-- Marks the quickest of a column, if each other one is clearly slower.
local function mark(column)
    local best
    for _, cell in pairs(column) do
        if cell.time and (not best or cell.time.time < best.time.time) then best = cell end
    end
    local others, clear = 0, true
    for _, cell in pairs(column) do
        if cell.time and cell ~= best then
            others = others + 1
            clear = clear and verdict.of(cell.time, best.time) == "faster"
        end
    end
    if best and others > 0 and clear then best.best = true end
end

-- What linalg.svd takes by itself.
local function chosen(there)
    cuda.linalg_routes "built-in"
    linalg.svd(there)
    local _, _, used = cuda.linalg_routes()
    return short[used] or used
end

local function block_lines(batch, sizes, cells, taken)
    local lines = { ("%-9s"):format("batch " .. batch) }
    for _, size in ipairs(sizes) do lines[1] = lines[1] .. ("%13s"):format(size) end
    for _, m in ipairs(methods) do
        local line = ("%-9s"):format(m.name:sub(1, 9))
        for _, size in ipairs(sizes) do
            local cell = cells[size][m.name]
            line = line .. (cell and cell.time and (" %6s%s%5s"):format(short_ms(cell.time.time),
                cell.best and "*" or " ", ("%.0e"):format(cell.error))
                or ("%13s"):format(cell and "-" or "."))
        end
        lines[#lines + 1] = line
    end
    if taken then
        local line = ("%-9s"):format "taken"
        for _, size in ipairs(sizes) do line = line .. ("%13s"):format(taken[size] or ".") end
        lines[#lines + 1] = line
    end
    return lines
end

local function draw(lines, again)
    if again then io.write(("\27[%dA"):format(#lines)) end
    for _, line in ipairs(lines) do print(line .. (live and "\27[K" or "")) end
    io.stdout:flush()
end

-- A table of one batch count: methods down, sizes across.
local function block(batch, sizes)
    local cells, taken = {}, device:find "^cuda" and {} or nil
    for _, size in ipairs(sizes) do cells[size] = {} end
    if live then draw(block_lines(batch, sizes, cells, taken)) end
    for _, size in ipairs(sizes) do
        local x = randn(batch, size, size)
        local there = x:to(device)
        if taken then taken[size] = chosen(there) end
        for _, m in ipairs(methods) do
            local on = x
            if m.there then on = there end
            cells[size][m.name] = by_method(m, on)
            if live then draw(block_lines(batch, sizes, cells, taken), true) end
        end
        if device:find "^cuda" then mark(cells[size]) end
    end
    draw(block_lines(batch, sizes, cells, taken), live)
end

print "each method: milliseconds, and the error"
for _, batch in ipairs(opt.batches) do
    for first = 1, #opt.sizes, 5 do
        block(batch, { table.unpack(opt.sizes, first, math.min(first + 4, #opt.sizes)) })
    end
end
if modelled then print "no verdict: modelled" end
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
