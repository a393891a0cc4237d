-- gpush analyze, profile and sync with --json: each line of JSON has the form that
-- docs/answer.schema.json gives it, no field beside, and numbers known beforehand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"
local root, build = os.getenv "GPUSH_ROOT", os.getenv "GPUSH_BUILD"
local folder = os.getenv "TMPDIR" or "/tmp"

local function read(path)
    local file <close> = assert(io.open(path))
    return file:read "a"
end
local schema = g.json.decode(read(root .. "/docs/answer.schema.json"))

-- ---- a validator for what the schema uses ----

local types = {
    integer = function(v) return math.type(v) == "integer" end,
    number = function(v) return type(v) == "number" end,
    string = function(v) return type(v) == "string" end,
    boolean = function(v) return type(v) == "boolean" end,
    array = function(v) return type(v) == "table" and (next(v) == nil or #v > 0) end,
    object = function(v) return type(v) == "table" and #v == 0 end,
}
local check

local function check_object(v, form, at, wrong)
    for _, name in ipairs(form.required or {}) do
        if v[name] == nil then wrong[#wrong + 1] = at .. "." .. name .. " is missing" end
    end
    for name, x in pairs(v) do
        local inner = form.properties[name]
        if inner then check(x, inner, at .. "." .. name, wrong)
        else wrong[#wrong + 1] = at .. "." .. name .. " is not in the schema" end
    end
end

function check(v, form, at, wrong)
    if form["$ref"] then form = schema["$defs"][form["$ref"]:match "[^/]+$"] end
    if form.const and v ~= form.const then wrong[#wrong + 1] = at .. " is not the constant" end
    if form.enum then
        local found = false
        for _, choice in ipairs(form.enum) do found = found or choice == v end
        if not found then wrong[#wrong + 1] = at .. " is none of the choices" end
    end
    if form.type and not types[form.type](v) then
        wrong[#wrong + 1] = ("%s: %s is no %s"):format(at, tostring(v), form.type)
    elseif form.type == "object" then
        check_object(v, form, at, wrong)
    elseif form.type == "array" then
        for i, x in ipairs(v) do check(x, form.items, ("%s[%d]"):format(at, i), wrong) end
    end
end

-- The answer in the last line that a command prints; the lines before it are the program's.
local function answer(name, command)
    local pipe <close> = assert(io.popen(("%s/gpush %s 2>%s/err"):format(build, command, folder)))
    local text = pipe:read "a"
    local last = text:match "([^\n]*)\n$"
    local ok, v = pcall(g.json.decode, last or "")
    t.ok(ok, name .. ": the last line is JSON", text .. read(folder .. "/err"))
    local wrong = {}
    if ok then check(v, schema, "", wrong) end
    t.is(table.concat(wrong, "\n"), "", name .. ": it has the schema's form")
    return ok and v or {}, text
end

local bad = {}
check({ schema = 2, gpush = 1, waits = { count = 1.5, waited_ns = 0, lines = { { more = 1 } } } },
    schema, "", bad)
t.is(#bad, 12, "the validator finds what is wrong", table.concat(bad, "\n"))

-- ---- a trace ----

local trace = made.one_wait()
local path = folder .. "/step.json"
local file <const> = assert(io.open(path, "w"))
file:write(trace:text())
file:close()
local a = answer("a trace", "analyze --json " .. path)
t.is(a.kind, "measured", "its kind")
t.is(a.wall_ns, 1000000, "its wall time")
t.is(a.devices[1] and a.devices[1].kernel_ns, 380000, "its kernels")
t.is(a.kernels[1] and a.kernels[1].name .. " " .. a.kernels[1].device_ns, "gemm 300000", "by name")
t.is(a.waits.count, 1, "its wait")
t.is(a.waits.waited_ns, 250000, "which took that")
t.is(#a.would_wait, 0, "with a device, nothing would wait")
local prof = g.profile.load(path)
t.is(a.verdict.sentence, prof:verdict().sentence, "the verdict is that of the text")
t.is(a.verdict.causes[1].worth_ns, math.tointeger(prof:verdict()[1].worth), "and its worth")
local sum = 0
for _, part in ipairs(a.critical_path) do sum = sum + part.time_ns end
t.is(sum, a.wall_ns, "the path's parts add up to the wall time")
local one = answer("a limit", "analyze --json --limit 1 " .. path)
t.is(#one.ops + #one.kernels, 2, "--limit")
local _, said = answer("a page beside it",
    ("analyze --json --html %s/p.html %s"):format(folder, path))
t.is(select(2, said:gsub("\n", "")), 1, "nothing but the line is printed")
local full = made.trace()
full:kernel("s16816gemm", 20, 300, full:call("cudaLaunchKernel", 5, 10), 7,
    { grid = "[136, 2, 1]", block = "[128, 1, 1]", ["registers per thread"] = 64,
        ["shared memory"] = 4096, ["blocks per SM"] = 2.5, ["est. achieved occupancy %"] = 40 })
local whole <const> = assert(io.open(folder .. "/full.json", "w"))
whole:write(full:text())
whole:close()
local k = answer("a kernel of which all is known", "analyze --json " .. folder .. "/full.json")
t.is(k.kernels, { { name = "s16816gemm", count = 1, device_ns = 300000, shortest_ns = 300000,
    longest_ns = 300000, blocks_per_sm = 2.5, occupancy = 0.4, grid = "136x2", block = "128",
    registers = 64, shared_memory = 4096, tensor_cores = true } }, "as the trace has it")
t.is({ k.streams[1].busy_ns, k.launches[1].delay_ns, k.tensor_core_ns }, { 300000, 5000, 300000 },
    "its stream and its launch")
-- A line that waits for three copies to the host, and for one from pageable memory.
local both_ways = made.trace()
both_ways:python("train.py(7): step", 0, 4000)
for i = 0, 3 do
    both_ways:op("aten::to", 1000 * i, 210)
    both_ways:copy(i == 2 and "Memcpy HtoD (Pageable -> Device)"
        or "Memcpy DtoH (Device -> Pageable)", 1000 * i + 5, 200,
        both_ways:call("cudaMemcpyAsync", 1000 * i + 2, 206), 1 << 24)
end
local mixed <const> = assert(io.open(folder .. "/mixed.json", "w"))
mixed:write(both_ways:text())
mixed:close()
local w = answer("a line that waits for two things", "analyze --json " .. folder .. "/mixed.json")
local said_of = {}
for _, row in ipairs(w.waits.lines) do
    said_of[row.what] = { row.count, row.mixed, row.saves_ns ~= nil, row.more }
end
t.is(said_of, { ["aten::to: DtoH"] = { 3, true, true, false },
    ["aten::to: HtoD"] = { 1, true, false } }, "what the whole line saves stands once")
local shown = tostring(g.profile.load(folder .. "/mixed.json"):sync())
t.ok(shown:find "HtoD[^\n]* with its line", "and the other row says where its savings are", shown)
local bare = made.trace() -- a kernel that no call launched
bare:kernel("gemm", 20, 300)
local unlaunched <const> = assert(io.open(folder .. "/bare.json", "w"))
unlaunched:write(bare:text())
unlaunched:close()
local none = answer("no verdict", "analyze --json " .. folder .. "/bare.json").verdict
t.is({ none.cause, none.untold ~= nil, none.causes[1].cause, none.causes[1].unknown,
    none.causes[1].worth_ns, none.causes[1].share }, { nil, true, "kernels", true },
    "whose causes are worth what nobody knows")
local other <const> = folder .. "/other.json"
os.execute(("cp '%s' '%s'"):format(path, other))
answer("two ranks", ("analyze --json %s %s"):format(path, other))
local third <const> = assert(io.open(folder .. "/rank3.json", "w"))
local one = made.trace { rank = 3 }
one:kernel("gemm", 20, 300, one:call("cudaLaunchKernel", 5, 10))
third:write(one:text())
third:close()
local lone = answer("a rank alone", "analyze --json " .. folder .. "/rank3.json")
t.is({ lone.idle[1].rank, lone.devices[1].rank }, { 3, 3 }, "has its own number")
local both = ("%s/gpush analyze --json --diff %s %s 2>/dev/null"):format(build, path, path)
local status = select(3, os.execute(both))
t.is(status, 2, "--diff has no JSON")

-- ---- own records ----

local script = folder .. "/step.lua"
local program <const> = assert(io.open(script, "w"))
program:write [[
print "the program's own line"
local x = randn(16, 16, {device = (arg[1] or "sim")})
for i = 1, 3 do local n = x:sum():item() end
]]
program:close()
local p, text = answer("gpush profile", "profile --json " .. script)
t.is(text:match "^[^\n]*", "the program's own line", "what the program prints comes first")
t.is(p.waits.count, 3, "three waits")
t.is(p.waits.lines[1].line, 3, "on their line")
local m = answer("a modelled card", "--card h100 profile --json " .. script)
t.ok(m.kind:find "modelled" and m.modelled, "its times say so", m.kind)
local w = answer("gpush sync", "sync --json " .. script)
t.is(("%d %d %d %s"):format(w.waits.count, #w.waits.lines, w.waits.lines[1].line,
    w.waits.lines[1].why), "3 1 3 item", "gpush sync has the same")
local c = answer("a record of the CPU", "profile --json " .. script .. " cpu")
t.is(c.would_wait[1] and c.would_wait[1].count, 3, "what would wait on a card")
t.is(#c.waits.lines + #c.devices, 0, "where nothing waits")
t.is(g.json.encode(setmetatable({}, { __jsontype = "array" })), "[]", "an empty list")
t.is(g.json.encode({}), "{}", "an empty table")
t.done()
