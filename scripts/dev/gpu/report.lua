-- The report of scripts/dev/gpu-check: report.json and REPORT.md of what its parts did, from
-- check.lua, which this file returns true to if none failed. A figure is the median of an item's
-- rounds, with the fastest and the slowest in brackets.
local c = ...

-- Time relative to PyTorch's, at most; relative to the copy's bandwidth, at least.
local targets = { ["matmul bf16 8192"] = 1.03,
    ["matmul f32 8192"] = 1.03, ["conv2d 10 to 10, 128x256x256"] = 1.0,
    ["conv2d 10 to 10 backward, 128x256x256"] = 1.0,
    ["masked loss, batch 256, baseline"] = 0.9, ["masked loss, batch 256, ignore_index"] = 0.9,
    ["svd 8x128x128"] = 0.25, ["svd 512x128x128"] = 0.25,
    ["svd 1000x64x64"] = 0.25, ["svd 2048x2048"] = 1.0, ["lstm 50x50x1024"] = 1.0,
    ["profiling an op"] = 0.2, ["eigh 4096"] = 1.0, ["topk(10) 64x1000000"] = 1.0,
    ["group_norm backward 32x64x112x112"] = 1.0 }
local shares = { ["x * 2, 1e8"] = 0.9, ["x + y, 1e8"] = 0.9, ["exp 1e8"] = 0.9, ["sum 1e8"] = 0.9,
    ["bf16 x * 2, 1e8"] = 0.9,
    ["softmax 32768x4096"] = 0.85, ["layer_norm 32768x4096"] = 0.85,
    ["softmax 100000x1001"] = 0.7, ["softmax 10000x10000, dim 1"] = 0.7, ["softmax 1e8"] = 0.7,
    ["softmax 8x131072"] = 0.7, ["cumsum 1e8"] = 0.7, ["cumsum 10000x10000, dim 1"] = 0.7,
    ["cumsum 10000x10000, dim 2"] = 0.7, ["cumsum 1000000x100"] = 0.7,
    ["cross_entropy 100000x1000"] = 0.7, ["histc 1e8"] = 0.7, ["bincount 1e8"] = 0.7,
    ["masked_select 1e8"] = 0.7 }
-- Seconds above those of another row, at most.
local above = { ["launch x + y, 16"] = { "launch x + y, 16, by CUDA alone", 1.5e-6 } }

-- The items of a program's lines, in order and by name.
local function figures(text)
    local by = {}
    for line in (text or ""):gmatch "[^\n]+" do
        local name, seconds, rest = line:match "^([^\t]+)\t([^\t]+)\t?(.*)$"
        if name then
            local f = {}
            for field in rest:gmatch "[^\t]+" do f[#f + 1] = tonumber(field) end
            by[#by + 1], by[name] = name, { seconds = tonumber(seconds), bytes = f[1] or 0,
                operations = f[2] or 0, least = f[3], most = f[4],
                failed = not tonumber(seconds) and rest or nil }
        end
    end
    return by
end

local function time(s)
    return not s and "-" or s < 1e-3 and ("%.2f us"):format(s * 1e6) or ("%.3f ms"):format(s * 1e3)
end
local function spread(f)
    if not f then return "-" end
    if f.failed then return "failed" end
    if not f.most or f.most == f.least then return time(f.seconds) end
    return ("%s (%s to %s)"):format(time(f.seconds), time(f.least), time(f.most))
end
local function number(v, f) return v and f:format(v) or "" end

-- The rows of a table, with what its targets say.
local function rows_of(t)
    local a, b, cupy, before =
        figures(t.ours), figures(t.theirs), figures(t.cupy), figures(t.before)
    local copied = a["copy 1e8"]
    local copy = copied and copied.seconds and copied.bytes / copied.seconds
    local rows = {}
    for _, name in ipairs(a) do
        local x, y, beyond = a[name], b[name], t.targets and above[name]
        local row = { name = name, seconds = x.seconds, least = x.least, most = x.most,
            failed = x.failed, peer = y and y.seconds, peer_least = y and y.least,
            peer_most = y and y.most, cupy = cupy[name] and cupy[name].seconds,
            before = before[name] and before[name].seconds,
            reported = t.reported and t.reported[name] }
        row.ratio = x.seconds and y and y.seconds and x.seconds / y.seconds or nil
        row.rate = x.seconds and x.operations > 0 and x.operations / x.seconds or nil
        row.share = x.seconds and x.bytes > 0 and copy and x.bytes / x.seconds / copy or nil
        if t.targets then
            row.target, row.share_target = targets[name], shares[name]
            row.target = row.target or not row.share_target and row.peer and 1 or nil
        end
        if row.target and row.ratio then row.met = row.ratio <= row.target end
        if row.share_target and row.share then row.met = row.share >= row.share_target end
        if beyond and x.seconds and a[beyond[1]] then
            row.met = x.seconds <= a[beyond[1]].seconds + beyond[2]
            row.above = ("%s + %.1f us"):format(beyond[1], beyond[2] * 1e6)
        end
        rows[#rows + 1] = row
    end
    return rows
end

local text = { "# gpush on a GPU\n\n", "Made by `scripts/dev/gpu-check`; do not edit.\n\n" }
local function add(...) text[#text + 1] = (...):format(select(2, ...)) end

-- Those that take longest beside the peer, or in all.
local function worst(rows, n)
    table.sort(rows, function(a, b)
        local x, y = a.ratio or 0, b.ratio or 0
        if x ~= y then return x > y end
        return (a.seconds or 0) > (b.seconds or 0)
    end)
    return table.move(rows, 1, math.min(n, #rows), 1, {})
end

local function add_table(t)
    local rows = rows_of(t)
    local beside, at_most, over = 0, 0, 0
    for _, r in ipairs(rows) do
        if r.ratio then beside = beside + 1 end
        if r.ratio and r.ratio <= 1 then at_most = at_most + 1 end
        if r.ratio and r.ratio > 1.5 then over = over + 1 end
    end
    t.rows = rows
    add("\n## %s\n\n", t.title)
    if beside > 0 then
        add("Of %d rows, %d beside the other, %d take at most its time, %d over 1.5 of it.\n\n",
            #rows, beside, at_most, over)
    end
    add("| | %s | %s | ratio |%s%s\n|---|---|---|---|%s%s\n", t.ours_is or "gpush",
        t.peer or "PyTorch",
        t.targets and " CuPy | target | of copy | target | met | Tflop/s |" or "",
        t.reported and " before | ratio reported |" or "",
        t.targets and "---|---|---|---|---|---|" or "", t.reported and "---|---|" or "")
    for _, r in ipairs(t.worst and worst(rows, t.worst) or rows) do
        local peer = r.peer and { seconds = r.peer, least = r.peer_least, most = r.peer_most }
        add("| %s | %s | %s | %s |", r.name, spread(r), spread(peer), number(r.ratio, "%.3f"))
        if t.targets then
            add(" %s | %s | %s | %s | %s | %s |", time(r.cupy), r.above or number(r.target, "%g"),
                number(r.share, "%.2f"), number(r.share_target, "%g"),
                r.met == nil and "" or r.met and "yes" or "no",
                number(r.rate and r.rate / 1e12, "%.1f"))
        end
        if t.reported then add(" %s | %s |", time(r.before), number(r.reported, "%.2f")) end
        add "\n"
    end
end

for _, key in ipairs { "date", "card", "version", "system", "processor", "load", "python" } do
    add("- %s: %s\n", key, c.facts[key] or "not asked")
end
if c.absent then
    add("\n**There is no CUDA device here (%s): nothing in this report ran on a GPU.**\n", c.absent)
end
if c.device ~= "cuda" then
    add "\n**This is a trial on the simulated device: nothing here ran on a GPU.**\n"
elseif c.small ~= "" then
    add "\n**This is a trial with little work: its times say nothing of a GPU.**\n"
end
add "\n| part | | seconds | |\n|---|---|---|---|\n"
local failed = 0
for _, p in ipairs(c.parts) do
    if not p.ok then failed = failed + 1 end
    add("| %s | %s | %d | %s |\n", p.name, p.ok and "ok" or "**failed**", p.seconds, p.what)
end
for _, t in ipairs(c.tables) do add_table(t) end
if c.predicted then
    add("\n| on a modelled %s | measured | modelled | modelled / measured |\n|---|---|---|---|\n",
        c.model:upper())
    for name, measured, modelled in c.predicted.text:gmatch "([^\t\n]+)\t([^\t\n]+)\t([^\n]+)" do
        local m, p = tonumber(measured), tonumber(modelled)
        add("| %s | %s | %s | %s |\n", name, m and time(m) or measured, p and time(p) or modelled,
            m and p and ("%.2f"):format(p / m) or "")
    end
end
add("\n```\n%s\n```\n", (c.parts[1].text:gsub("%s+$", "")))
for _, p in ipairs(c.parts) do
    if not p.ok and p.text ~= "" then
        local bad = {}
        for line in p.text:gmatch "[^\n]+" do
            if line:find "^not ok" or line:find "^#" or line:find "rror" then
                bad[#bad + 1] = line
            end
            if #bad == 60 then break end
        end
        add("\n## %s\n\n```\n%s\n%s\n```\n", p.name, table.concat(bad, "\n"), p.text:sub(-1500))
    end
end

local function write(name, s)
    local f = assert(io.open(c.out .. "/" .. name, "w"))
    assert(f:write(s))
    f:close()
end
write("REPORT.md", table.concat(text))
for _, p in ipairs(c.parts) do p.text = nil end
local tables = {}
for i, t in ipairs(c.tables) do tables[i] = { title = t.title, rows = t.rows } end
write("report.json", require "gpush".json.encode { facts = c.facts, parts = c.parts,
    tables = tables, failed = failed, seconds = os.time() - c.started })
io.write(table.concat(text))
io.stderr:write(("gpu-check: %d of %d parts failed; %d s; the report is %s/REPORT.md\n"):format(
    failed, #c.parts, os.time() - c.started, c.out))
return failed == 0
