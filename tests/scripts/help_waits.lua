-- help's claims: an op that says it waits does so on the simulated device, and no other op does; an
-- op that says at what it raises does so.
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

-- Errors that depend on elements or sizes.
local zero = g.tensor { 1, 0 }
for _, name in ipairs { "floor_divide", "trunc_divide", "remainder", "fmod" } do
    t.ok(g.ops()[name].raises:find "divisor of 0" and not pcall(g[name], zero, zero), name)
end
local base, exponent = g.tensor { 2, 3 }, g.tensor { -1, 2 }
t.ok(g.ops().pow.raises:find "exponent below 0" and not pcall(g.pow, base, exponent), "pow")
for _, name in ipairs { "amax", "amin" } do
    t.ok(g.ops()[name].raises:find "no elements" and not pcall(g[name], g.zeros(0)), name)
end
t.done()
