--!plain
-- A profile for other programs: Markdown, CSV, JSON, folded stacks and speedscope, read here by
-- readers of their own.
local t = require "tap"
local g = require "gpush"
local profile = g.profile

local x = g.randn(32, 32, { device = "sim" })
local NAME <const> = 'a|b, "c"; d_e'
local function inner() return x:matmul(x):sum():item() end
local function outer()
    for _ = 1, 3 do
        local _ <close> = profile.region(NAME)
        inner()
    end
end
outer()
local prof = profile.run({ stack = true, shapes = true, memory = true }, outer)
local rows = prof:rows { group = "stack" }
local function by_name(list)
    local out = {}
    for _, row in ipairs(list) do out[row.name] = row end
    return out
end

-- ---- CSV ----

-- The lines of a text as RFC 4180 has them.
local function read_csv(text)
    local lines, at = { {} }, 1
    while at <= #text do
        local quoted, stop = text:match('^"(.-)"()[,\r]', at)
        while quoted and select(2, quoted:gsub('"', "")) % 2 == 1 do -- "" is a quote
            local more, to = text:match('^(.-)"()[,\r]', stop)
            quoted, stop = quoted .. '"' .. more, to
        end
        local plain, to = text:match("^([^,\r]*)()", at)
        local cells = lines[#lines]
        cells[#cells + 1] = quoted and quoted:gsub('""', '"') or plain
        at = quoted and stop or to
        if text:sub(at, at + 1) == "\r\n" then lines[#lines + 1], at = {}, at + 1 end
        at = at + 1
    end
    lines[#lines] = nil
    return lines
end
local csv = read_csv(prof:table { format = "csv", group = "stack" })
t.is(#csv, #rows + 1, "CSV has a line for each row")
local wrong = {}
local kind = prof:devices().kind -- of the times; tests/profile/kinds.lua has its words
for i, row in ipairs(rows) do
    for c, field in ipairs(csv[1]) do
        local value = field == "kind" and kind or row[field] or ""
        if csv[i + 1][c] ~= tostring(value) then wrong[#wrong + 1] = row.name end
    end
end
t.is(wrong, {}, "with its values")
local region = by_name(rows)[NAME]
t.ok(region, "the name with quotes and commas is among them")

-- ---- JSON and Markdown ----

local json = g.json.decode(prof:table { format = "json", group = "stack" })
t.is(json.rows, rows, "JSON has the rows")
t.is(json.wall_ns, prof.wall_ns, "and the wall time")
local text = prof:table { format = "markdown", sort = "count", limit = 2 }
local lines = {}
for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
local bars = select(2, lines[1]:gsub("|", ""))
for i = 1, 4 do
    t.is(select(2, lines[i]:gsub("\\|", ""):gsub("|", "")), bars, "each line has as many cells")
end
t.ok(prof:table { format = "markdown" }:find('a\\|b, "c"; d\\_e', 1, true),
    "what would be mark-up is escaped")
t.ok(text:find "\nWall time: [%d.]+ %a+%. Times: CPU%-backed, not a GPU's%.",
    "a note says whose times they are")
t.ok(prof:whatif { host = 0.5 }:table { format = "markdown" }:find(
    "predicted by a replay, not measured (host x 0.5", 1, true), "and what is predicted")
t.error(function() prof:table { format = "xml" } end,
    'format: expected "text", "markdown", "csv" or "json", got "xml"', "no such format")
t.is(prof:table { format = "text" }, prof:table(), "text is the table as ever")

-- ---- stacks ----

local function written(write, ...)
    local name = os.tmpname()
    write(prof, name, ...)
    local f <close> = io.open(name)
    local content = f:read "a"
    os.remove(name)
    return content
end
-- The sum of folded lines, and that of those that end in a name.
local function sums(folded, name)
    local all, named = 0, 0
    for stack, ns in folded:gmatch "([^\n]+) (%d+)\n" do
        all = all + ns
        if stack:match "[^;]+$" == name then named = named + ns end
    end
    return all, named
end
local host = written(prof.folded)
local all, matmul = sums(host, "matmul")
local here = debug.getinfo(1, "S").short_src
t.is(all, prof.wall_ns, "folded lines add up to the wall time")
t.is(matmul, by_name(rows).matmul.self_cpu_time_total, "an op has its self time")
t.ok(host:find(("%s:14;%s:10 %%(%%w+%%);matmul %%d+\n"):format(here, here)),
    "below the lines that called it")
t.ok(host:find 'a|b, "c"_ d_e %d+\n', "a name cannot end a frame")
local _, device = sums(written(prof.folded, { device = true }), "matmul")
t.is(device, by_name(rows).matmul.self_device_time_total, "of the devices their time")

local scope = g.json.decode(written(prof.speedscope))
t.is(scope["$schema"], "https://www.speedscope.app/file-format-schema.json", "speedscope's format")
t.is({ scope.profiles[1].name, scope.profiles[2].name }, { "host", "devices" }, "both times")
for i, field in ipairs { "self_cpu_time_total", "self_device_time_total" } do
    local p, sum, ops = scope.profiles[i], 0, 0
    t.is(#p.samples, #p.weights, "a weight for each sample")
    for k, sample in ipairs(p.samples) do
        sum = sum + p.weights[k]
        local last = scope.shared.frames[sample[#sample] + 1]
        if last.name == "matmul" then
            ops = ops + p.weights[k]
            local caller = scope.shared.frames[sample[#sample - 1] + 1]
            t.is({ caller.file, caller.line }, { here, 10 }, "a frame has its file and line")
        end
    end
    t.is(sum, p.endValue, "which add up")
    t.is(ops, by_name(rows).matmul[field], "an op has its self time")
end
local plain = profile.run(outer)
t.error(function() plain:folded(os.tmpname()) end, "needs a profile with stack = true",
    "without stacks there are none")
t.error(function() prof:speedscope "/nowhere/x.json" end, "cannot write /nowhere/x.json",
    "a file that cannot be written")
-- ---- by PyTorch's names ----

local torch = profile.run({ with_stack = true, record_shapes = true, profile_memory = true,
    with_flops = true }, function() profile.record_function("step", outer) end)
local averages = torch:key_averages()
t.is(averages:table { sort_by = "cuda_time_total", row_limit = 3 },
    torch:table { sort = "cuda_time_total", limit = 3 }, "key_averages has the table")
t.is(tostring(averages), torch:table(), "and is one as text")
t.is(#torch:key_averages { group_by_input_shape = true }, #torch:rows { group = "shape" },
    "by shape")
t.is(#torch:key_averages { group_by_stack_n = 5 }, #torch:rows { group = "stack" }, "by stack")
t.ok(by_name(torch:rows()).step and by_name(averages).matmul.flops > 0, "a region, and rates")
t.error(function() plain:key_averages { group_by_stack_n = 1 } end,
    "profile.key_averages: group_by_stack_n: needs a profile with stack = true", "no stacks")
t.error(function() torch:key_averages { group_by_stack_n = 1, group_by_input_shape = true } end,
    "exclude each other", "one or the other")
t.error(function() averages:table { rows = 3 } end, "averages.table: unknown option 'rows'",
    "an option that is none")
t.done()
