--!plain
-- sync.selftest(): provokes every kind of wait on a device and reports which were caught, and that
-- nothing else is reported. Returns whether all is well, and the lines of the failures.
local require, device = ...
local gpush = require "gpush"
local sync = gpush.sync

local current = gpush.current_stream(device)
local asynchronous = device:match "^[^:]+" ~= "cpu"

-- The first square matrices whose product with themselves takes the device 20 ms, so that there is
-- something to wait for even if the host is delayed, and 0.2 s: a thousand small ops are queued
-- before it is done. In steps of about twice the work, so that a slow device is not given eight
-- times what is needed.
local function seconds(y)
    local from = current:record()
    local _ = y:matmul(y)
    local to = current:record()
    to:synchronize()
    return asynchronous and from:elapsed(to) or 1
end
-- Whether the product takes longer than that each time. A single time may be the first use, or
-- another program's turn on the processor.
local function longer(y, than)
    return seconds(y) > than and seconds(y) > than and seconds(y) > than
end
local function lengthy()
    local n, short = 24, nil
    while true do
        n = n * 5 // 4
        local y = gpush.ones({ n, n }, { device = device, dtype = "f32" })
        local last = n >= 1 << 14
        short = short or (last or longer(y, 0.02)) and y
        if short and (last or longer(y, 0.2)) then return short, y end
    end
end
local short, long = lengthy()

-- Variables of the snippets: x a vector, t a 0-d integer, m a mask, idx indices, all on the device
-- d; c a vector on the host; g the module; s the current stream; y a matrix whose product takes
-- some time.
local function prepare()
    local x = gpush.arange(1, 64, { device = device, dtype = "f32" })
    return {
        g = gpush, d = device, x = x, c = gpush.arange(1, 64, { dtype = "f32" }), m = x:gt(32),
        t = gpush.full({}, 3, { device = device, dtype = "i64" }),
        idx = gpush.arange(1, 4, { device = device, dtype = "i64" }),
        s = current, y = long,
    }
end

-- Whether this state's load gives text tensor syntax. Only then do `if t` and a == b read the
-- tensor.
local syntax = load("local t = ...; if t then return false end; return true")(gpush.full({}, 0))

-- kind, reason of the wait, the Lua text that must wait. `syntax`: only with tensor syntax;
-- `quiet`: not run for real, as it would print.
local waits = {
    { "item",        "item",   "x:sum():item()" },
    { "tolist",      "tolist", "x:tolist()" },
    { "print",       "print",  "print(x)",                    quiet = true },
    { "print",       "print",  "tostring(x)" },
    { "print",       "print",  "('%s'):format(x)" },
    { "if",          "branch", "if t then end",               syntax = true },
    { "elseif",      "branch", "if false then elseif t then end", syntax = true },
    { "while",       "branch", "while t do break end",        syntax = true },
    { "until",       "branch", "repeat until t",              syntax = true },
    { "not",         "branch", "local v = not t",             syntax = true },
    { "and",         "branch", "local v = t and 1",           syntax = true },
    { "or",          "branch", "local v = t or 1",            syntax = true },
    { "and in if",   "branch", "if t and true then end",      syntax = true },
    { "or in if",    "branch", "if false or t then end",      syntax = true },
    { "not in if",   "branch", "if not t then end",           syntax = true },
    { "condition <", "branch", "if t < 1 then end" },
    { "condition >=", "branch", "if 1 >= t then end" },
    { "condition ==", "branch", "if t == 1 then end",         syntax = true },
    { "condition ~=", "branch", "if t ~= 1 then end",         syntax = true },
    { "condition while", "branch", "while t < 0 do end" },
    { "condition until", "branch", "repeat until t > 0" },
    { "number: for",    "item", "for i = 1, t do end",        syntax = true },
    { "number: math",   "item", "math.floor(t)",              syntax = true },
    { "number: max",    "item", "math.max(1, t)",             syntax = true },
    { "number: format", "item", "string.format('%d', t)",     syntax = true },
    { "number: argument", "item", "x:narrow(1, t, 2)" },
    { "shape: nonzero",  "shape", "x:nonzero()" },
    { "shape: masked_select", "shape", "x:masked_select(m)" },
    { "shape: x[mask]",  "shape", "local v = x[m]" },
    { "shape: unique",   "shape", "x:unique()" },
    { "shape: repeat_interleave", "shape", "x['1:4']:repeat_interleave(idx)" },
    { "copy: to the host", "copy", "x:to('cpu')" },
    { "copy: to the device", "copy", "c:to(d)" },
    { "copy: tensor()",  "copy", "g.tensor({1, 2, 3}, {device = d})" },
    { "copy: copy_ in",  "copy", "x:copy_(c)" },
    { "copy: copy_ out", "copy", "c:copy_(x)" },
    { "index: x[t]",     "index", "local v = x[t]" },
    { "index: bound",    "index", "local v = x[{ {1, t} }]" },
    { "allocator: empty_cache", "alloc",
        "do local z = y:matmul(y) end collectgarbage() g.empty_cache(d)" },
    { "allocator: out of memory", "alloc",
        "do local z = y:matmul(y) end collectgarbage() g.empty({g.memory(d).limit // 4 + 1}, \z
            {device = d, dtype = 'f32'})", fails = "out of memory" },
}

-- Waits that were asked for, and a full queue: recorded, never refused.
local recorded = {
    { "explicit: synchronize", "explicit", "g.synchronize(d)" },
    { "explicit: an event",   "explicit", "local y = x * 2; s:record():synchronize()" },
    { "full queue",           "queue",
        "for i = 1, 5 do local z = y:matmul(y) end for i = 1, 1500 do local z = x + 1 end" },
}

-- Calls of CUDA's runtime that may block, and the operations that make them: for more memory than
-- segments have beside the matrices that live in them.
local calls = {
    { "call: cudaMalloc",      "cudaMalloc",
        "collectgarbage() collectgarbage() g.empty_cache(d) \z
            local y = g.empty({g.memory(d).cached // 4 + 8000001}, {device = d})" },
    { "call: cudaFree",        "cudaFree",
        "do local y = g.empty({g.memory(d).cached // 4 + 8000001}, {device = d}) end \z
            collectgarbage() collectgarbage() g.empty_cache(d)" },
}

-- Operations that must not be reported.
local free = {
    { "elementwise",     "local y = (x * 2 + 1):exp()" },
    { "reduction",       "local y = x:sum()" },
    { "in place",        "x:add_(1)" },
    { "matmul",          "local y = x:reshape(8, 8):matmul(x:reshape(8, 8))" },
    { "comparison as a value", "local y = x:gt(3)" },
    { "views",           "local y = x['1:4']; y = x:reshape(8, 8); y = x[1]" },
    { "assigning a number", "x[1] = 0; x['1:4'] = 1" },
    { "masked assignment", "x[m] = 0" },
    { "where",           "local y = g.where(m, x, x * 2)" },
    { "index tensor",    "local y = x[idx]" },
    { "shape, dtype, #", "local a, b, e = x.shape, x.dtype, #x" },
    { "making",          "local y = g.zeros({8}, {device = d})" },
    { "another stream",  "local s = g.stream(d); s:use(function() local y = x * 2 end)" },
    { "item of the host's", "local y = c:sum():item()" },
    { "text of the host's", "local y = tostring(c)" },
    { "branch on the host's", "if c:sum() > 0 then end" },
    { "tolist of the host's", "local y = c:tolist()" },
}

local names = { "g", "d", "x", "c", "m", "t", "idx", "s", "y" }
local function compile(text)
    local f = assert(load("local " .. table.concat(names, ", ") .. " = ...; " .. text, "=selftest"))
    return function(env)
        local args = {}
        for i, name in ipairs(names) do args[i] = env[name] end
        return pcall(f, table.unpack(args, 1, #names))
    end
end

local function keep_busy()
    for _ = 1, 2 do local y = short:matmul(short) end
end

-- Runs the text in mode; returns pcall's results and the events it left.
local function try(text, mode)
    sync.mode = "off"
    local run, env = compile(text), prepare()
    gpush.synchronize()
    keep_busy()
    sync.reset()
    sync.mode = mode
    local ok, err = run(env)
    sync.mode = "off"
    return ok, tostring(err), sync.events()
end

-- The reason why the case was missed, or nil.
local function missed(case)
    local ok, err, events = try(case[3], "error")
    if ok then return "error mode let it wait" end
    if not err:find("would wait on", 1, true) then return err end
    if not err:find("selftest:1:", 1, true) then return "its line is not named: " .. err end
    if #events == 0 or not events[#events].refused or events[#events].why ~= case[2] then
        return "the refusal is not in the ledger"
    end
    if case.quiet then return nil end
    ok, err, events = try(case[3], "off")
    if not ok and not (case.fails and err:find(case.fails, 1, true)) then return err end
    for _, e in ipairs(events) do
        if e.why == case[2] and not e.refused and e.file == "selftest" then return nil end
    end
    return "the wait is not in the ledger"
end

local function unrecorded(case)
    local ok, err, events = try(case[3], "error")
    if not ok then return err end
    for _, e in ipairs(events) do
        if e.why == case[2] and e.file == "selftest" then return nil end
    end
    return "the wait is not in the ledger"
end

local function uncalled(case)
    local ok, err = try(case[3], "off")
    if not ok then return err end
    for _, l in ipairs(sync.calls()) do
        if l.what == case[2] and l.file == "selftest" then return nil end
    end
    return "the call was not seen"
end

local function false_alarm(case)
    local ok, err = try(case[2], "error")
    if not ok then return err end
    local _, _, events = try(case[2], "off")
    for _, e in ipairs(events) do
        if e.watched then return e.what .. " was recorded as a wait" end
    end
end

-- What check finds wrong with the case each of three times: a host that other programs held up for
-- longer than the device was busy finds nothing to wait for.
local function always(check, case)
    local why = check(case)
    for _ = 1, asynchronous and 2 or 0 do why = why and check(case) end
    return why
end

local problems, counts = {}, { caught = 0, missed = 0, quiet = 0, ["false alarm"] = 0, skipped = 0 }
local function tell(verdict, name, text, why)
    counts[verdict] = counts[verdict] + 1
    local line = string.format("%-11s  %-25s  %s%s", verdict, name, text,
        why and "  -- " .. why or "")
    if verdict == "missed" or verdict == "false alarm" then problems[#problems + 1] = line end
    print(line)
end

for _, case in ipairs(waits) do
    if case.syntax and not syntax then
        tell("skipped", case[1], case[3], "needs tensor syntax")
    else
        local why = always(missed, case)
        tell(why and "missed" or "caught", case[1], case[3], why)
    end
end
for _, case in ipairs(recorded) do
    local why = always(unrecorded, case)
    tell(why and "missed" or "caught", case[1], case[3], why)
end
for _, case in ipairs(gpush.ones(1, { device = device }).device:find "^cuda" and calls or {}) do
    local why = always(uncalled, case)
    tell(why and "missed" or "caught", case[1], case[3], why)
end
for _, case in ipairs(free) do
    local why = false_alarm(case)
    tell(why and "false alarm" or "quiet", case[1], case[2], why)
end
gpush.synchronize()
print(string.format("%d caught, %d missed, %d false alarms on %s", counts.caught, counts.missed,
    counts["false alarm"], device))
return #problems == 0, problems
