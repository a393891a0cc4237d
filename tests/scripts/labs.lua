-- The labs at small sizes: they run, their tables have their columns and regions, and results that
-- must be equal are.
local t = require "tap"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"

local function lab(name, options)
    local p = io.popen(("'%s/gpush' '%s/scripts/labs/%s.lua' %s 2>&1"):format(build, root, name,
        options))
    local out = p:read "a"
    local ok = p:close()
    if ok and not options:find "%-%-help" then -- as every output with times
        local kind = out:find "measured" or out:find "modelled H200" or out:find "CPU%-backed"
        t.ok(kind, ("%s %s says of what kind its times are"):format(name, options))
    end
    return out, ok
end

local function has(out, pattern, name)
    if not t.ok(out:find(pattern), name) then io.stderr:write((out:gsub("[^\n]+", "# %0"))) end
end

for _, device in ipairs { "cpu", "sim" } do
    local out, ok = lab("gathernd", "--device " .. device .. " --rows 12 --size 8")
    t.ok(ok, "gathernd runs on " .. device)
    has(out, "equal       true", "gathernd: both ways give the same on " .. device)
    has(out, "Self CPU %%%s+Self CPU%s+CPU total %%%s+CPU total%s+CPU time avg",
        "gathernd: the table's columns")
    has(out, "gather_nd", "gathernd: the op is in the table")
    local waits = tonumber(out:match "loop%s+[%d.]+ ms%s+(%d+) waits")
    t.is(waits, device == "cpu" and 0 or 24,
        "gathernd: two waits a row on a device, none on the cpu (" .. device .. ")")
    t.is(tonumber(out:match "vectorised%s+[%d.]+ ms%s+(%d+) waits"), 0,
        "gathernd: no wait in the vectorised form on " .. device)
    if device == "sim" then
        has(out, "gathernd.lua:%d+%s+item", "gathernd: the report names the line")
        -- 24 copies and a stack at 8 us each, beside one op; and 24 waits: 4 us until a copy
        -- begins, 2.5 that it takes, 2.7 until the host knows
        has(out, "loop +0.42%d ms", "gathernd: the host's own part and that of the waits")
        has(out:gsub("%s+", " "), "the host waits 0.001 ms for the device, not 0.222 ms",
            "gathernd: and the verdict tells them apart")
        has(out:gsub("%s+", " "), "vectorised: pays here, how much depends on the host: 0.008 ms \z
            of 0.009 ms are its own, at 8 us an op", "gathernd: no ratio of a time that is assumed")
    end

    out, ok = lab("svd", "--device " .. device .. " --size 16")
    t.ok(ok, "svd runs on " .. device)
    local _, regions = out:gsub("\n%s*CONV FORWARD ", "")
    t.is(regions, 2, "svd: the region CONV FORWARD is in both tables on " .. device)
    _, regions = out:gsub("\n%s*SVD ", "")
    t.is(regions, 2, "svd: the region SVD too")
    has(out, "singular values    1x8x16", "svd: shape of the singular values")
    local difference, largest = out:match "largest difference%s+(%S+) of (%S+)"
    t.ok(tonumber(difference) <= 1e-5 * tonumber(largest), "svd: both ways agree on " .. device)
end

for _, device in ipairs { "cpu", "sim" } do
    local out, ok = lab("seven_tips", "--device " .. device .. " --size 12 --steps 3")
    if not t.ok(ok, "seven_tips runs on " .. device) then
        io.stderr:write((out:gsub("[^\n]+", "# %0")))
    end
    local titles, equal = 0, 0
    for number in out:gmatch "\n== (%d)%. " do
        titles = titles + (tonumber(number) == titles + 1 and 1 or 10)
    end
    for _ in out:gmatch "\n  equal true" do equal = equal + 1 end
    t.is({ titles, equal }, { 7, 4 }, "seven_tips: seven parts, four pairs that give the same on "
        .. device)
    local waits = {}
    for n in out:gmatch " ms%s+(%d+) waits," do waits[#waits + 1] = tonumber(n) end
    t.is(waits, device == "cpu" and { 0, 0, 0, 0, 0, 0, 0, 0 } or { 0, 0, 3, 0, 3, 1, 3, 0 },
        "seven_tips: waits of each pair on " .. device)
    has(out, "making a sample .* making a sample ", "seven_tips: both loaders' reports")
    local tip = out:match "== 1%. .-== 2%. "
    t.ok(not tip:find "host's own%s+part", "seven_tips: a loader's work is not the step's own", tip)
    local result = out:match "\n== result: what pays here ==\n(.*)"
    for number, many in pairs { [1] = 1, [2] = 1, [3] = 1, [4] = 1, [6] = 3 } do
        local _, said = (" " .. (result or "")):gsub("%f[%d]" .. number .. "%. ", "")
        t.is(said, many, "seven_tips: the result tells of tip " .. number)
    end
    local way = "\n  [^\n]- ([%d.]+) ms +%d+ waits[^\n]+"
    for slow, quick, text in out:gmatch(way .. ".-" .. way .. "\n  equal true\n  ([^\n]+)") do
        local ratio = tonumber(slow) / tonumber(quick)
        t.ok(not text:find "pays here" or ratio > 1, "seven_tips: what pays is faster", text)
        t.ok(not text:find "loses here" or ratio < 1, "seven_tips: what loses is slower", text)
    end
    local memory, losses = {}, {}
    for dtype, percent, loss in
        out:gmatch "\n  (b?f%d+) +[%d.]+ ms +[%d.]+ KiB more [^\n]-(%d+) %% +loss ([%d.]+)" do
        memory[dtype], losses[dtype] = tonumber(percent), tonumber(loss)
    end
    t.ok(memory.f32 == 100 and memory.bf16 < 90 and memory.f16 < 90,
        ("seven_tips: a step in 16 bits needs less memory on %s: %s and %s %%"):format(device,
        memory.bf16, memory.f16))
    t.close({ losses.bf16, losses.f16 }, { losses.f32, losses.f32 }, 5e-3,
        "seven_tips: and has the same loss")
    t.is(out:find("one process, host time a step", 1, true) ~= nil, device ~= "cpu",
        "seven_tips: the host's share of a step is printed for a device")
    has(out, "\n%s*loader: make a batch ", "seven_tips: the loader is in the profile's table")
end

for _, device in ipairs { "cpu", "sim" } do
    local out,
        ok = lab("fork_wait", "--device " .. device ..
            " --models 3 --time 4 --batch 2 --channels 8")
    if not t.ok(ok, "fork_wait runs on " .. device) then
        io.stderr:write((out:gsub("[^\n]+", "# %0")))
    end
    local streams = {}
    for n, waits in out:gmatch " (%d+) +[%d.]+ +(%d+) true" do
        streams[#streams + 1] = waits == "0" and math.min(tonumber(n), device == "cpu" and 1 or 2)
    end
    t.is(streams, device == "cpu" and { 0, 1, 1, 1 } or { 1, 2, 2, 2 },
        "fork_wait: all ways give the same, forked ones on several streams of " .. device)
end

-- A picture: 3 channels of a PNG made here; the values have a row per feature map.
local gpush = require "gpush"
local file = (os.getenv "TMPDIR" or "/tmp") .. "/lab.png"
gpush.image.save(file, gpush.rand(3, 12, 20))
local out, ok = lab("svd", "--device cpu --image '" .. file .. "'")
t.ok(ok, "svd runs on a picture")
has(out, "1x3x12x20 through conv2d", "svd: the picture's size")
has(out, "singular values    1x8x12", "svd: as many values as the shorter side")
local real = root .. "/../shared/data/chelsea.png"
local f = io.open(real)
if f then
    f:close()
    out, ok = lab("svd", "--device cpu --image '" .. real .. "'")
    t.ok(ok and out:find "1x3x300x451 through conv2d", "svd runs on a photograph")
else
    t.skip(1, "no photograph beside the project")
end

out, ok = lab("svd_live", "--device sim --sizes 4,8 --batches 1,2")
t.ok(ok, "svd_live runs")
has(out, "size%s+batch%s+cpu%s+device%s+copy in%s+compute%s+copy out%s+ratio%s+error\n",
    "svd_live: columns")
local rows, worst = 0, 0
for size, batch, cpu, total, copy_in, compute, copy_out, ratio, residual in
    out:gmatch("\n%s+(%d+)%s+(%d+)" .. ("%s+([%d.]+)"):rep(5) .. "%s+([%d.-]+)%s+(%S+)") do
    rows = rows + 1
    worst = math.max(worst, tonumber(residual))
    t.close(tonumber(total), copy_in + compute + copy_out, 0.002,
        ("svd_live: the parts of %sx%s add up"):format(batch, size))
end
t.is(rows, 4, "svd_live: a row for each size and batch count")
t.ok(worst < 1e-5, "svd_live: small errors")
do -- every method of the device, in its own table
    for _, batch in ipairs { 1, 2 } do
        local block = out:match("\nbatch " .. batch .. " +4 +8\n(.-\n.-\n)") or ""
        local seen = {}
        for name, rest in block:gmatch "([^\n]-) +([%d][^\n]*)\n" do
            local _, cells = rest:gsub("[%d.]+ +%de%-%d+", "")
            seen[#seen + 1] = name .. " " .. cells
        end
        t.is(seen, { "cpu 2", "sim:0 2" }, "svd_live: methods, each with time and error " .. batch)
    end
    has(out, "\nno verdict: modelled\n", "svd_live: and no verdict of modelled times")
end
-- Whether the last lines' conclusion follows from the rows. The verdict of a row is at its end.
local function follows(out, device)
    local verdicts, wrong = {}, nil
    for size, batch, ratio,
        verdict in out:gmatch "\n +(%d+) +(%d+)[%d. ]- ([%d.]+) +%S+  (%l[%l ]+)"
    do
        verdicts[batch] = verdicts[batch] or {}
        table.insert(verdicts[batch], { tonumber(size), verdict })
        if verdict == "faster" and tonumber(ratio) < 1.05 or verdict == "slower"
            and tonumber(ratio) > 0.96 then
            wrong = ratio .. " " .. verdict
        end
    end
    for batch, list in pairs(verdicts) do
        local text = out:match("\ncrossover: batch " .. batch .. ", copies included: ([^\n]+)")
        local from = text and tonumber(text:match "from size (%d+) on")
        local unsure = ", " .. (text and text:match "nothing follows from ([%d, ]+)" or "") .. ","
        for _, row in ipairs(list) do
            local faster = row[2] == "faster" and not unsure:find((", %d,"):format(row[1]), 1, true)
            if not text or from and faster ~= (row[1] >= from) or faster
                and text:find "at no size" then
                wrong = batch .. ": " .. tostring(text)
            end
        end
    end
    t.ok(next(verdicts) and not wrong, "svd_live: the conclusion follows from the rows on " ..
        device .. (wrong and ": " .. wrong or ""))
end
has(out, "on sim:0 %(modelled H200, host as measured%)", "svd_live: the device is a modelled card")
has(out, "\ncpu: measured here; device, .*: modelled\n", "svd_live: measured and modelled apart")
has(out, "copies included:%s+no%s+verdict:%s+the%s+cpu's%s+times%s+are%s+measured%s+here",
    "svd_live: no crossover of measured and modelled")
has(out, "\n +4 +1[%d. ]+ %- +%S+  mixed", "svd_live: and no ratio")
out = lab("svd_live", "--device sim --card t4 --sizes 4 --batches 1")
has(out, "\n +4 +1[%d. ]+ %- +%S+  at least", "svd_live: no ratio of a bound")
out = lab("fork_wait", "--device sim --card none --models 2 --time 2 --batch 1 --channels 4")
t.ok(not out:find "here: [^\n]*times as" or out:find "%(CPU%-backed, not a GPU's%)",
    "fork_wait: whose times a ratio is of", out)
out = lab("svd_live", "--device sim --card none --sizes 4,8 --batches 1,2")
follows(out, "sim alone")
has(out, "\n%(sim is the cpu itself", "svd_live: without a card sim is no graphics card")
out = lab("svd_live", "--device cpu --sizes 4,8 --batches 1,2")
t.ok(not out:find "e%-%d+  [fsu]", "svd_live: no verdict about the cpu beside itself", out)
has(out, "\ncrossover: none; the cpu was compared with itself",
    "svd_live: the cpu does not beat itself")
do -- possible conclusions, from made-up figures
    local verdict = dofile(root .. "/scripts/labs/verdict.lua")
    local function fig(time, spread)
        return { time = time, spread = spread, min = time - spread }
    end
    t.is({ verdict.of(fig(2, 0.1), fig(1, 0.1)) }, { "faster", 2 }, "verdict: apart")
    t.is({ verdict.of(fig(1, 0.1), fig(2, 0.1)) }, { "slower", 0.5 }, "verdict: the other way")
    t.is(verdict.of(fig(2, 0.6), fig(1, 0.6)), "unclear", "verdict: within the spread")
    t.is(verdict.of(fig(1.02, 0), fig(1, 0)), "unclear", "verdict: a ratio of 1.02")
    t.is(verdict.of(fig(0.98, 0), fig(1, 0)), "unclear", "verdict: a ratio of 0.98")
    local function crossover(text)
        local rows = {}
        for letter in text:gmatch "." do
            rows[#rows + 1] = { size = 2 << #rows,
                verdict = letter == "+" and "faster" or letter == "-" and "slower" or "unclear" }
        end
        return verdict.crossover(rows, "d")
    end
    t.is({ crossover "--=", crossover "-=++", crossover "++", crossover "+-+", crossover "+-" },
        { "d is clearly faster at no size here",
        "d is faster from size 8 on", "d is faster from size 2 on",
        "d is faster at 2, 8, but not at every size between or above",
        "d is faster at 2, but not at every size between or above" }, "verdict: the crossover")
end
do -- what is said of two ways, by arithmetic
    local verdict = dofile(root .. "/scripts/labs/verdict.lua")
    local function figures(ms, host, ops, at_least)
        return { time = ms * 1e-3, spread = 0, min = ms * 1e-3, host = host * 1e-3, ops = ops,
            at_least = at_least }
    end
    t.is(verdict.pays(figures(4, 1, 9), figures(2, 1, 9)), "pays here: 2.00 times as fast; the \z
        host waits 1.000 ms for the device, not 3.000 ms", "verdict: what pays, by its waits")
    t.is(verdict.pays(figures(2, 2, 34), figures(3, 3, 55)), "loses here: it takes 1.50 times as \z
        long; the host's own part is 3.000 ms, not 2.000 ms, for 55 ops, not 34",
        "verdict: what loses, by its ops")
    t.is(verdict.pays(figures(2, 2, 9), figures(2, 2, 9)),
        "no clear difference here: 2.000 ms, not 2.000 ms, within 5 % or their spread",
        "verdict: what does neither")
    local backed = { time = 4e-3, spread = 0, min = 4e-3, kind = "CPU-backed, not a GPU's" }
    local quick = { time = 1e-3, spread = 0, min = 1e-3, kind = "CPU-backed, not a GPU's" }
    t.is({ verdict.pays(backed, quick), verdict.pays(quick, backed) },
        { "pays here: 4.00 times as fast (CPU-backed, not a GPU's)",
        "loses here: it takes 4.00 times as long (CPU-backed, not a GPU's)" },
        "verdict: of sim without a card it says whose times they are")
    gpush.sim.card = "t4"
    local mixed = "no verdict: of 4.000 ms and 1.000 ms one is mostly measured on this \z
        machine's CPU, the other modelled (modelled T4)"
    backed.kind, quick.kind, quick.device = "measured", "modelled T4, host as measured", 1e-3
    t.is(verdict.pays(backed, quick), mixed, "verdict: no ratio of measured and modelled")
    t.is(table.pack(verdict.of(quick, backed)), { "mixed", n = 1 }, "verdict: the other way, too")
    backed.kind, backed.device = quick.kind, 1e-4
    t.is(verdict.pays(backed, quick), mixed, "verdict: nor where the CPU has most of one")
    backed.device = 4e-3
    t.ok(verdict.pays(backed, quick):find "^pays here: 4.00 times", "verdict: but of two models")
    local bound = "no verdict: nobody measured linalg.svd on a card like this (modelled T4); the \z
        times are at least so"
    t.is(verdict.pays(figures(9, 1, 9), figures(2, 1, 9, "linalg.svd")),
        bound .. "; the host's own part is 1.000 ms, not 1.000 ms", "verdict: none from a bound")
    local function took(size, ms, how)
        return { size = size, cpu = { time = ms / 1000 }, verdict = how }
    end
    t.is(verdict.crossover({ took(32, 10, "faster"), took(64, 8, "faster"), took(16, 1, "slower") },
        "d"), "d is faster from size 64 on; nothing follows from 32, where the cpu took longer \z
        than for a larger size: other programs ran meanwhile", "verdict: a disturbed row")
    t.is(verdict.crossover({ { size = 8, verdict = "faster" },
        { size = 16, verdict = "at least", cpu = {}, total = { at_least = "linalg.svd" } } }, "d"),
        bound, "verdict: nor a crossover")
    gpush.sim.card = nil
end

-- Of a card that nobody measured each lab says "at least" before its first number, and that nothing
-- is faster.
for _, case in ipairs { { "gathernd", "--rows 3 --size 4" }, { "svd", "--size 4" },
    { "svd_live", "--sizes 4 --batches 1" }, { "masked_loss", "--batch 1 --size 4 --steps 1" },
    { "fork_wait", "--models 2 --time 2 --batch 1 --channels 4" },
    { "fork_wait", "--models 2 --time 2 --batch 1 --channels 4", "a100" },
    { "fork_wait", "--models 2 --time 2 --batch 1 --channels 4", "v100" },
    { "fork_wait", "--models 2 --time 2 --batch 1 --channels 4", "mi250" },
    { "digits", "--epochs 1 --workers 0 --accuracy 0" } } do
    local card = case[3] or "t4"
    local said, fine = lab(case[1], ("--device sim --card %s %s"):format(card, case[2]))
    local head, drawn = said:match "^.-host [^)]*%)", nil
    for word in said:gmatch "%f[%l]%l+%f[%L]" do
        drawn = (word == "faster" or word == "pays" or word == "loses") and word or drawn
    end
    t.ok(fine and (head or ""):gsub("%s+", " "):find "times are at least so: nobody measured it",
        case[1] .. ": the times of a " .. card .. " are bounds", head or said)
    t.is(drawn, nil, case[1] .. ": and nothing is concluded from them")
end
has(out, "\ncrossover: ", "svd_live: ends with the crossover")
t.ok(not out:find "\27", "svd_live: plain rows on a pipe")

-- The masked loss: four ways to write it, the same loss and gradients, and fewer waits in each.
for _, device in ipairs { "cpu", "sim" } do
    local prefix = (os.getenv "TMPDIR" or "/tmp") .. "/masked-" .. device
    out, ok = lab("masked_loss",
        ("--device %s --batch 2 --size 12 --steps 2 --workers 1 --tables --trace '%s'"):format(
            device, prefix))
    if not t.ok(ok, "masked_loss runs on " .. device) then
        io.stderr:write((out:gsub("[^\n]+", "# %0")))
    end
    local waits = device == "cpu" and { 0, 0, 0, 0 } or { 4, 3, 2, 0 }
    local first
    for i, stage in ipairs { "baseline", "where", "sort", "ignore_index" } do
        local _, count, _, loss,
            same = out:match("\n" .. stage ..
                "%s+([%d.]+)%s+([%d.]+)%s+([%d.]+)%s+([%d.]+)%s+(the same)\n")
        t.ok(same, "masked_loss: gradients of " .. stage .. " are the baseline's on " .. device)
        first = first or loss
        t.is(loss, first, "masked_loss: and so is the loss")
        t.is(tonumber(count), waits[i], "masked_loss: waits of a step of " .. stage)
        local f = io.open(prefix .. "-" .. stage .. ".json")
        local trace = f and f:read "a" or ""
        if f then f:close() end
        local _, steps = trace:gsub('"name": ?"calc loss"', "")
        t.ok(steps >= 3 and trace:find '"optimizer"',
            "masked_loss: a trace of three steps of " .. stage)
    end
    for _, region in ipairs { "create mask", "permute", "mask", "calc loss", "non_zero",
        "index assignment", "unique", "numel",
        "update background", "sort", "deriv", "count_nonzero", "where", "forward", "backward",
        "optimizer" }
        do
        has(out, "\n%s*" .. region .. "%s+[%d.]+%%", "masked_loss: the region " .. region)
    end
    if device == "sim" then
        has(out, "baseline%s+masked_loss.lua:%d+%s+shape%s+1.00",
            "masked_loss: waits by line and reason")
    end
end

-- Precisions: training in 16 bits has f32's losses, within bounds that leave room for roundings.
for _, device in ipairs { "cpu", "sim" } do
    local losses = { masked_loss = {}, digits = {} }
    for _, dtype in ipairs { "f32", "bf16", "f16" } do
        local how = (" --workers 0 --precision %s --device %s"):format(dtype, device)
        out, ok = lab("masked_loss", "--batch 2 --size 12 --steps 1" .. how)
        local waits, loss = out:match
            "\nignore_index%s+[%d.]+%s+([%d.]+)%s+[%d.]+%s+([%d.]+)%s+the same\n"
        t.ok(ok and waits == "0.00",
            ("masked_loss in %s on %s: still no wait"):format(dtype, device))
        losses.masked_loss[dtype] = tonumber(loss)
        out, ok = lab("digits", "--count 200 --epochs 3 --accuracy 0" .. how)
        t.ok(ok, ("digits in %s on %s"):format(dtype, device))
        losses.digits[dtype] = tonumber(out:match "epoch +3 +loss ([%d.]+)")
    end
    for name, bound in pairs { masked_loss = 1e-3, digits = 5e-2 } do
        local l = losses[name]
        t.close({ l.bf16, l.f16 }, { l.f32, l.f32 }, bound,
            ("%s: losses in 16 bits are within %g of f32's on %s"):format(name, bound, device))
    end
end

-- Digits: a training run that resumes exactly, and reaches its accuracy on unseen pictures.
do
    local base = (os.getenv "TMPDIR" or "/tmp") .. "/digits"
    local function epochs(text)
        local list = {}
        for line in text:gmatch "epoch[^\n]*right" do list[#list + 1] = line end
        return list
    end
    for _, device in ipairs { "cpu", "sim" } do
        local small = ("--count 300 --epochs 4 --workers 1 --device %s "):format(device)
        local whole = lab("digits", small .. "--plot '" .. base .. ".png'")
        local lines = epochs(whole)
        t.is(#lines, 4, "digits: a line for each epoch on " .. device)
        local file = ("--checkpoint '%s-%s.safetensors' "):format(base, device)
        local part = epochs((lab("digits", small .. file .. "--stop 2")))
        t.is(part, { lines[1], lines[2] }, "digits: the same run, stopped")
        t.is(epochs((lab("digits", small .. file .. "--resume"))), { lines[3], lines[4] },
            "digits: resumed, it goes on as if it had not been stopped")
        has(whole, "| *[*o]", "digits: the losses as text")
        local best = tonumber(lines[4]:match "loss ([%d.]+)")
        t.ok(best < tonumber(lines[1]:match "loss ([%d.]+)"), "digits: the loss falls")
        t.is(gpush.image.load(base .. ".png").shape, { 3, 400, 640 }, "digits: and as a picture")
    end
    out, ok = lab("digits", "--count 100 --epochs 1 --workers 1 --accuracy 100")
    t.ok(not ok and out:find "100 %% wanted: not reached",
        "digits: an accuracy that is not reached is a failure")
    out, ok = lab("digits", "--count 100 --epochs 1 --workers 1 --accuracy 0")
    t.ok(ok and out:find "0 %% wanted: reached", "digits: and one that is, is not")
    t.ok(not out:find "\n\n" and out:find "\n  [^\n]+\naccuracy",
        "digits: the loader's report, and no empty line after it")
    out, ok = lab("digits",
        ("--count 300 --epochs 5 --checkpoint '%s-cpu.safetensors' --resume"):format(base))
    t.ok(not ok and out:find "^digits: %-%-epochs 5: the rate was planned for 4 epochs\n$",
        "digits: resumed for another number of epochs")
    out, ok = lab("digits", "--device cpu --epochs 12")
    local share = tonumber(
        out:match "accuracy ([%d.]+) %% on 400 pictures kept back; 90 %% wanted: reached")
    t.ok(ok and share and share >= 90, "digits: 90 % of the pictures kept back")
    local low, high = out:match "\naccuracy: ([%d.]+) to ([%d.]+) %% of other such pictures"
    t.ok(low and tonumber(low) < share and share < tonumber(high), "digits: within its interval")
    if share == 99 then -- 396 of 400: Wilson's interval by hand, 0.9746 to 0.9961
        t.is({ low, high }, { "97.5", "99.6" }, "digits: Wilson's interval")
    end
    has(out, "\nlosses: %l+", "digits: what the losses say")
    has(out, "\nloader: the %l+ ", "digits: and the loader")
    gpush.npz.save(base .. ".npz",
        { x = gpush.randint(0, 255, { 40, 8, 8 }):to "u8", y = gpush.arange(0, 39) % 4 })
    out, ok = lab("digits",
        ("--device cpu --epochs 1 --workers 0 --accuracy 0 --data '%s.npz'"):format(base))
    t.ok(ok and out:find "40 pictures of 4 kinds, 8 kept back", "digits: the user's npz")
    local faces = root .. "/../shared/data/lfw_subset.npy"
    local f = io.open(faces)
    if f then
        f:close()
        out, ok = lab("digits", ("--device cpu --data '%s'"):format(faces))
        t.ok(ok and out:find "accuracy [%d.]+ %% on 40 pictures kept back; 90 %% wanted: reached",
            "digits: faces")
    else
        t.skip(1, "no faces beside the project")
    end
end

-- Options.
out, ok = lab("svd", "--sise 3")
out, ok = lab("svd", "--help")
t.ok(ok and out:find "options:\n  %-%-card %(default h200%)\n  %-%-device %(default gpu%)",
    "--help lists the options and is no error")
do -- arrays that do not match
    local file = os.tmpname()
    require "gpush".npz.save(file,
        { x = require "gpush".zeros(6, 4, 4), y = require "gpush".zeros(5) })
    out, ok = lab("digits", "--data " .. file)
    os.remove(file)
    t.ok(not ok and out:find "x is 6x4x4, y 5 %(expected n x height x width",
        "digits: pictures and labels of different number")
end
t.done()
