--!plain
-- What replays predict of tests/support/rewrites.lua's programs, beside what their rewrites take:
-- accuracy.lua ROOT COMMIT [--anyway] [REPEATS] (scripts/dev/accuracy). The programs run on sim,
-- whose kernels a thread of this processor computes while the host goes on: a real asynchronous
-- device, with real times. Each pair's programs take turns; medians are compared.
local g = require "gpush"
local root, commit = arg[1], arg[2]
local anyway = arg[3] == "--anyway"
local REPEATS <const> = math.tointeger(tonumber(arg[anyway and 4 or 3] or 9))
if not REPEATS or REPEATS < 1 then
    io.stderr:write("accuracy: expected REPEATS, an integer of at least 1; --help says more\n")
    os.exit(2)
end
local SLOW <const> = math.max(3, REPEATS // 2) -- of programs that take long

local OTHERS <const> = 0.03 -- of the processors' time that others may take while a pair runs
local SPREAD <const> = 0.05 -- of a loop's time, from the median to the 9th decile
local TRIES <const> = 4     -- of a pair that was disturbed

local function read(path)
    local file <close> = assert(io.open(path))
    return file:read "a"
end

local function write(path, text)
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
end

-- The value below which that share of the list is.
local function quantile(list, share)
    table.sort(list)
    return list[math.max(1, math.ceil(share * #list))]
end

-- ---- a quiet machine ----

-- Seconds of all processors in which they worked, were taken by another machine, or rested; and
-- those of this process and of its children.
local TICK <const> = 100
local function used()
    local user, nice, system, idle, iowait, irq, soft, steal = read "/proc/stat":match(
        "^cpu%s+(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)")
    local own = { read "/proc/self/stat":match "%) . (.*)$":match(
        ("%S+ "):rep(10) .. "(%d+) (%d+) (%d+) (%d+)") }
    local sum = 0
    for _, ticks in ipairs(own) do sum = sum + ticks end
    local busy = user + nice + system + irq + soft + steal
    return busy / TICK, (busy + idle + iowait) / TICK, sum / TICK
end

-- The share of the processors' time that others took since the state `from`.
local function others(from)
    local busy, all, own = used()
    return math.max(0, (busy - from[1]) - (own - from[3])) / math.max(all - from[2], 1 / TICK)
end

local function spin(n)
    local s = 0
    for i = 1, n do s = s + i % 7 end
    return s
end

-- Seconds that turns of a loop of about 1 ms took.
local LOOP <const> = 150000
local function loop_times(n)
    local list = {}
    for i = 1, n do
        local t0 = g.clock()
        spin(LOOP)
        list[i] = g.clock() - t0
    end
    return list
end

local function say(...) io.stderr:write(string.format(...), "\n") end

-- Whether this process goes before all others (field 41 of proc_pid_stat(5)): then what others take
-- counts less.
local function goes_first()
    local policy = read "/proc/self/stat":match("%) (.*)$"):match(("%S+ "):rep(38) .. "(%d+)")
    return policy ~= "0"
end

local disturbed = {}
local function refuse(...)
    disturbed[#disturbed + 1] = string.format(...)
    if anyway then
        if #disturbed > 1 then disturbed = { disturbed[1], "and during pairs" } end
        return
    end
    say("accuracy: the machine is not quiet: %s", string.format(...))
    os.exit(1)
end

local function check_start()
    local load = tonumber(read "/proc/loadavg":match "^%S+")
    local from = { used() }
    local list = loop_times(1000)
    local middle, high = quantile(list, 0.5), quantile(list, 0.9)
    local share = others(from)
    if share > OTHERS then
        refuse("others took %.0f %% of its processors' time (at most %.0f), load %.2f",
            100 * share, 100 * OTHERS, load)
    elseif high > (1 + SPREAD) * middle then
        refuse("1 of 10 turns of a loop took %.0f %% more than the median (at most %.0f), \z
            load %.2f", 100 * (high / middle - 1), 100 * SPREAD, load)
    end
    return middle, load, share
end

-- ---- pairs ----

g.sync.mode = "off"
g.threads(1)
local turn, load, share = check_start()
local function work(us) spin(math.floor(us * LOOP / (turn * 1e6))) end

local function took(fn)
    g.synchronize()
    collectgarbage()
    local t0 = g.clock()
    fn()
    g.synchronize()
    return g.clock() - t0
end
local function predicted(it)
    g.synchronize()
    collectgarbage()
    local prof = g.profile.run({ shapes = true, flops = true }, it.first)
    local ns = prof:whatif(it.whatif).wall_ns
    prof:free()
    return ns * 1e-9
end

-- Medians of the times of the first and the second program, of what was predicted, and of how far
-- off that was, turn by turn: so a processor that becomes faster or slower counts little. Each
-- runs before it counts, since what ran before left memory and caches as it needs them.
local function measure(it, repeats)
    local is, was, says, off = {}, {}, {}, {}
    took(it.first)
    for i = 1, repeats do
        was[i], says[i] = took(it.first), predicted(it)
        took(it.second)
        is[i] = took(it.second)
        off[i] = says[i] / is[i] - 1
    end
    return { kind = it.kind, name = it.name, was = quantile(was, 0.5), says = quantile(says, 0.5),
        is = quantile(is, 0.5), off = quantile(off, 0.5) }
end

-- Why the machine was not quiet since the state `from`, when a turn of the loop took `speed`; nil:
-- it was. And the others' share.
local function disturbance(from, speed)
    local taken = others(from)
    local drift = quantile(loop_times(20), 0.5) / speed - 1
    if taken > OTHERS then
        return ("others took %.0f %% of its processors' time"):format(100 * taken), taken
    elseif math.abs(drift) > SPREAD then
        return ("a loop took %+.0f %% of its time before"):format(100 * drift), taken
    end
    return nil, taken
end

local rows, worst_share = {}, 0
for n, it in ipairs(require "rewrites"("sim", work)) do
    local why, taken
    for try = 1, anyway and 1 or TRIES do
        local from, speed = { used() }, quantile(loop_times(20), 0.5)
        rows[n] = measure(it, it.slow and SLOW or REPEATS)
        why, taken = disturbance(from, speed)
        if not why then break end
        if try == TRIES then refuse("%s during pair %d, %d times", why, n, TRIES) end
    end
    worst_share = math.max(worst_share, taken)
    say("%2d %-8s %-70s %+6.1f %%", n, it.kind, it.name, 100 * rows[n].off)
end

-- ---- labs on cards ----

-- Labs as scripts/dev/gpu-check ran them, and milliseconds that they printed then, which stand in
-- tests/gpu/REPORT.md: command, card, {pattern of the number, what it is of, measured} … An op of
-- the host takes what x + y took in that card's table there.
local LABS <const> = {
    { "gathernd", "--rows 200 --host 7.8e-6", "h200",
        { "loop +([%d.]+) ms", "gathernd, 400 waits", 7.8 },
        { "vectorised +([%d.]+) ms", "gathernd, none", 0.028 } },
    { "masked_loss", "--batch 8 --steps 2 --workers 0 --host 7.8e-6", "h200",
        { "baseline +([%d.]+) +4", "masked_loss, a step with 4 waits", 21.95 },
        { "ignore_index +([%d.]+)", "masked_loss, a step without", 15.71 } },
    { "masked_loss", "--batch 8 --steps 2 --workers 0 --host 6.2e-6", "h100",
        { "baseline +([%d.]+) +4", "masked_loss, a step with 4 waits", 18.2 },
        { "ignore_index +([%d.]+)", "masked_loss, a step without", 9.2 } },
    { "fork_wait", "--host 6.2e-6", "h100",
        { "other +([%d.]+)", "fork_wait, one after the other", 4.64 },
        { "directions forked +([%d.]+)", "fork_wait, directions forked", 2.94 },
        { "models forked +([%d.]+)", "fork_wait, models forked", 2.29 },
        { "both +([%d.]+)", "fork_wait, both", 1.69 },
        { "other +[%d.]+ +[%d.]+ +([%d.]+)", "with backward, one after the other", 14.2 },
        { "both +[%d.]+ +[%d.]+ +([%d.]+)", "with backward, both", 4.9 } },
}
-- The step of the loss alone, as the benchmark measured it without a loader or a profile: card, an
-- op's host time, stage, milliseconds.
local STEPS <const> = {
    { "h200", 7.8e-6, "baseline", 56.572 }, { "h200", 7.8e-6, "ignore_index", 50.359 },
    { "h100", 6.2e-6, "baseline", 59.3 }, { "h100", 6.2e-6, "ignore_index", 55.041 },
}

local function lab_row(card, name, modelled, measured)
    return ("| %s | %s | %.3f | %.3f | %+.0f %% |"):format(card:upper(), name, modelled, measured,
        100 * (modelled / measured - 1))
end

-- Adds the rows of the steps, modelled at an eighth of the batch, whose device decides.
local function add_steps(out)
    local step = assert(loadfile(root .. "/scripts/bench/masked.lua")) "step"
    for _, it in ipairs(STEPS) do
        local card, host, stage, measured = table.unpack(it)
        sim.card, sim.host = card, host
        local run = step(stage, { device = "sim", batch = 32 })
        run()
        synchronize()
        local began = clock()
        run()
        synchronize()
        out[#out + 1] = lab_row(card, "masked loss, batch 256, " .. stage,
            8e3 * (clock() - began), measured)
        sim.card, sim.host = nil, nil
    end
end

-- The rows of a table of them, as text.
local function labs()
    local out = { "| card | program | modelled, ms | measured, ms | off |\n|---|---|---|---|---|" }
    local command = ("'%s/gpush' '%s/scripts/labs/%%s.lua' %%s --card %%s 2>&1"):format(
        os.getenv "GPUSH_BUILD", root)
    for _, lab in ipairs(LABS) do
        local pipe <close> = assert(io.popen(command:format(table.unpack(lab, 1, 3))))
        local text = pipe:read "a":gsub("^.*== result ==", "")
        for i = 4, #lab do
            local pattern, name, measured = table.unpack(lab[i])
            local is = tonumber(text:match(pattern))
            if not is then error(("accuracy: %s printed no '%s'"):format(lab[1], pattern), 0) end
            out[#out + 1] = lab_row(lab[3], name, is, measured)
        end
    end
    add_steps(out)
    return table.concat(out, "\n")
end

-- ---- what is written ----

local WHAT <const> = {
    wait = { "waits left out", "`savings()`, `whatif{without =}`" },
    host = { "half of the host's time", "`whatif{host =}`" },
    overlap = { "copies beside kernels", "`whatif{overlap =}`" },
    batch = { "batches of twice as many samples", "`whatif{batch =}`" },
    workers = { "a loader's workers", "`whatif{workers =}`" },
    scale = { "another time of an op", "`whatif{scale =}`" },
    card = { "another card, measured for each kind of op", "`prof:on(card)`" },
    bound = { "another card, with ops that nobody measured", "`prof:on(card)`" },
    network = { "another network, or more ranks", "`prof:on{network =}`" },
    other = { "without another cause, or of a record that is not of `sim`", "`verdict()`" },
}

-- pairs, median, the 9th decile (of fewer than ten pairs the most), most; in %, of one kind or of
-- all.
local function figures(kind)
    local list = {}
    for _, row in ipairs(rows) do
        if not kind or row.kind == kind then list[#list + 1] = 100 * math.abs(row.off) end
    end
    if #list == 0 then return 0, 0, 0, 0 end
    return #list, quantile(list, 0.5), quantile(list, #list < 10 and 1 or 0.9), quantile(list, 1)
end

local def_path <const> = root .. "/profile/replay/accuracy.def"
local function write_def()
    local text = read(def_path)
    text = text:gsub("ACCURACY%((%w+),( +)[^)]*%)", function(kind, gap)
        local pairs, median, decile = figures(kind)
        return pairs > 0 and ("ACCURACY(%s,%s%d, %.1f, %.1f)"):format(kind, gap, pairs, median,
            decile) or nil
    end)
    write(def_path, text)
end

local function ms(seconds) return ("%.2f"):format(seconds * 1e3) end

-- The lines of accuracy.def: kind, pairs, median and decile as texts.
local FIGURES <const> = "ACCURACY%((%w+), +(%d+), ([%d.]+), ([%d.]+)%)"
local function summary(out)
    out[#out + 1] = "| what is other | asked by | pairs | median | 9 of 10 within | most |"
    out[#out + 1] = "|---|---|---|---|---|---|"
    for kind, pairs, median, decile in read(def_path):gmatch(FIGURES) do
        local n, _, _, most = figures(kind)
        local few = tonumber(pairs) < 10
        out[#out + 1] = ("| %s | %s | %s | %s | %s | %s |"):format(WHAT[kind][1], WHAT[kind][2],
            pairs, pairs == "0" and "" or median .. " %", few and "" or decile .. " %",
            n > 0 and ("%.1f %%"):format(most) or few and pairs ~= "0" and decile .. " %" or "")
    end
    local n, median, decile, most = figures()
    out[#out + 1] = ("| all that are measured here | | %d | %.1f %% | %.1f %% | %.1f %% |"):format(
        n, median, decile, most)
end

local HEAD <const> = [[
# Accuracy of predictions

`scripts/dev/accuracy` writes this page. It runs pairs of a program and its rewrite, and compares
what a replay of a record of the first predicts of the wall time with what the second takes. "Off"
is the median of predicted / measured - 1 over the turns in which the two ran; the pairs are in
`tests/support/rewrites.lua`.
]]
local NOTES <const> = [[

- gpush prints the bounds of the fifth column (of fewer than ten pairs those of the last) with each
  prediction, from `profile/replay/accuracy.def`. Of several changes at once it is that of the kind
  that was farthest off. A kind without pairs says that none was compared: so do records of a GPU,
  of a modelled card, of the CPU alone and traces of PyTorch, on which no pair ran.
- Pairs were not drawn blindly: some were resized or exchanged after a first measurement. In most
  pairs of overlap kernels last longer than copies; copy-bound ones were up to 23 % off.
- Bounds are of wall times: a saving of 1 ms of a run of 100 is less than such a prediction can
  tell.
- Programs run on `sim`, a real asynchronous device made of the processor: its kernels, the host and
  a loader's workers take real time. They share processors, which a replay knows of a loader's
  workers alone, and a card's kernels do not.
- The network's pairs are those of
  [Distributed training](distributed.md#what-it-would-be-with-more-ranks).
- A card's are the device times of ops on an H200 and an H100, as
  [their report](../tests/gpu/REPORT.md) has them, each predicted by what the other card reaches of
  its bounds (`tests/tensor/device/cards.c`). No rewrite of a program was measured on a card.
- Predicted times of a modelled card against its own are a test of consistency, not of accuracy:
  `tests/profile/accuracy.lua` allows 0.5 %.
]]
local LABS_HEAD <const> = [[
## Programs on a modelled card

What labs took on real cards, as [their report](../tests/gpu/REPORT.md) has it, and what they take
on the modelled card with a host whose ops take as long as `x + y` in that card's table there, 7.8
and 6.2 us. Of a host more was not measured, so gpush prints no bound for these times.

- gathernd: what a number's copy takes was read from traces of an H100, and judged here on the H200.
  One `gather_nd` took the host 28 us, of which nothing else tells, so the lab draws no
  ratio. Nor does masked_loss: its steps were timed within a profile and beside a loader, whose time
  was not measured. The same step in the benchmark, without both, is modelled at batch 32 and
  multiplied by 8: without the waits it is faster by 1.04 and 1.05 times, measured 1.12 and 1.08.
- fork_wait: what a recurrent gradient reaches of its bound was fitted on the two rows with
  backward, so these agree; of the rows between them, 9.6 and 6.1 ms, the model gives 9.69 and 5.96.
  Without backward it was fitted on one after the other and both. Farthest off are four models
  at the same time: the modelled card is as full of four streams as of eight, the H100 was not.
  Nothing else that was measured tells why.
]]
local ORIGIN <const> = [[
## The pairs

Measured at commit %s on %s, %d processors: medians of %d runs
of each program (of loaders' %d), in turns. The load was %.2f at the start; others took %.1f %% of
the processors' time then, and at most %.1f %% during a pair.
]]

local function document()
    local cpu = read "/proc/cpuinfo":match "model name%s*: ([^\n]*)" or "an unknown processor"
    local _, count = read "/proc/cpuinfo":gsub("processor%s*:", "")
    local out = { HEAD }
    if #disturbed > 0 then
        out[2] = ("**The machine was not quiet, and the figures are provisional**: %s%s.\n"):format(
            table.concat(disturbed, "; "),
            goes_first() and "; these programs went before others (a real-time policy)" or "")
    end
    summary(out)
    out[#out + 1] = NOTES
    out[#out + 1] = LABS_HEAD
    out[#out + 1] = labs()
    out[#out + 1] = ""
    out[#out + 1] = ORIGIN:format(commit, cpu, count, REPEATS, SLOW, load, 100 * share,
        100 * worst_share)
    out[#out + 1] = "| what is other | program | before, ms | predicted, ms | measured, ms | off |"
        .. "\n|---|---|---|---|---|---|"
    for _, row in ipairs(rows) do
        out[#out + 1] = ("| %s | %s | %s | %s | %s | %+.1f %% |"):format(row.kind, row.name,
            ms(row.was), ms(row.says), ms(row.is), 100 * row.off)
    end
    return table.concat(out, "\n") .. "\n"
end

write_def()
write(root .. "/docs/accuracy.md", document())
local n, median, decile = figures()
say("%d pairs: median %.1f %% off (target 5), 9 of 10 within %.1f %% (target 15). The program \z
    prints the new figures once it is built again.", n, median, decile)
