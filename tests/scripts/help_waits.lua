-- help's claims: an op that says it waits does so on the simulated device, and no other op does.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit_samples"

-- Calls that wait only because of an argument, which the samples do not give.
local calls = {
    one_hot = "i{1, 2, 3}", repeat_interleave = "f(2, 3), i{1, 2}, 1", where = "b{true, false}",
    quantile = "f(2, 3), {0.5}, 2", nanquantile = "f(2, 3), {0.5}, 2", to = "f(2, 3), 'cpu'",
    new_tensor = "f(2, 3), {1, 2}",
}
local internal = S.internal
local function only_others(name)
    for _, pattern in ipairs(internal) do if name:find(pattern) then return true end end
end
local function function_of(name)
    local group, short = name:match "^(%l+)[._](.+)$"
    if group == "linalg" or group == "fft" then return g[group][short] end
    return g[name]
end

-- The samples' operands, on the simulated device.
local env = setmetatable({}, { __index = _G })
for _, maker in ipairs { "f", "i", "b" } do
    env[maker] = function(...) return A.env[maker](...):to "sim" end
end
env.spd = A.env.spd:to "sim"

-- Whether the call waits; its operands are made before it, and nil where it fails.
local function waits(fn, text)
    local args = table.pack(load("return " .. text, "=sample", "t", env)())
    g.synchronize()
    g.sync.reset()
    if not pcall(fn, table.unpack(args, 1, args.n)) then return nil end
    return #g.sync.lines() > 0
end

g.sync.mode = "off"
t.is(waits(g.isclose, "f(3), 0.5"), false, "isclose to a number makes that on the device")
local silent, idle, seen = {}, {}, 0
for name, row in pairs(g.ops(true)) do
    local text = calls[name] or S.calls[name] or S.kinds[row.kind]
    local fn = function_of(name)
    if text and fn and not only_others(name) then
        local waited = waits(fn, text)
        if waited ~= nil then seen = seen + 1 end
        if waited and not row.waits then silent[#silent + 1] = name end
        if waited == false and row.waits then idle[#idle + 1] = name end
    end
end
table.sort(silent)
table.sort(idle)
t.is(table.concat(silent, " "), "", "no op waits without saying so")
t.is(table.concat(idle, " "), "", "and those that say so wait")
t.ok(seen > 250, "of " .. seen .. " ops")
t.is(g.ops().nonzero.waits, "for the number of elements that are not zero", "the table has it")
t.is(g.ops(true).equal.waits, "for true or false", "of a composite, too")


-- Options: none makes an op wait that does not say so. (A 0-d tensor where a number is expected is
-- read, whatever the op: docs/waiting.md.)
local function vector(...) return g.tensor({ ... }, { device = "sim" }) end
local values = { true, false, 0, 1, 2, -1, 0.5, "mean", "none", "sum", "constant", { 1 }, { 0.5 },
    { 2, 2 }, { 2, 3 }, function() return vector(1, 2) end, function() return vector(1.0, 2.0) end,
    function() return vector(true, false, true) end }
local tried, late = 0, {}
local function try(name, fn, args)
    pcall(g.synchronize)
    g.sync.reset()
    local done = pcall(fn, table.unpack(args, 1, args.n))
    local waited = done and #g.sync.lines() > 0
    pcall(g.synchronize)
    if done then tried = tried + 1 end
    if waited then late[name] = true end
end
for name, row in pairs(g.ops(true)) do
    local text, fn, i = S.calls[name] or S.kinds[row.kind], function_of(name), 0
    local sig = text and fn and not row.waits and not only_others(name) and row.sig or ""
    for word in sig:gmatch "%w+[!?]* ([%w_]+)" do
        i = i + 1
        for _, value in ipairs(values) do
            local args = table.pack(load("return " .. text, "=sample", "t", env)())
            if type(value) == "function" then value = value() end
            local named = table.move(args, 1, math.min(args.n, i - 1), 1, { n = math.min(args.n, i - 1) })
            named.n = named.n + 1
            named[named.n] = { [word] = value }
            args[i], args.n = value, math.max(args.n, i)
            try(name .. " " .. word, fn, args)
            try(name .. " " .. word, fn, named)
        end
    end
end
local list = {}
for name in pairs(late) do list[#list + 1] = name end
table.sort(list)
t.is(table.concat(list, ", "), "", "no option makes an op wait that does not say so")
t.ok(tried > 4000, tried .. " calls with an option went through")
t.done()
