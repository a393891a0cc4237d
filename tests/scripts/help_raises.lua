-- help's claims: an op that says which elements are an error raises at them, on a device where the
-- host next waits at the latest; no other op does at the elements tried here.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit.samples"

-- Calls whose errors the samples' elements do not show.
local calls = {
    repeat_interleave = "f(2, 3), i{1, 2}, 1", bincount = "i{0, 1}", bernoulli = "f(2, 3)",
    masked_scatter = "f(2), b{true, true}, f(1)", amax = "f(0)", amin = "f(0)",
    floor_divide = "i{1, 2}, i{0, 1}", trunc_divide = "i{1, 2}, i{0, 1}",
    remainder = "i{1, 2}, i{0, 1}", fmod = "i{1, 2}, i{0, 1}", pow = "i{2, 3}, i{-1, 2}",
    ["linalg.norm"] = "spd, 2", ["linalg.matrix_norm"] = "spd, 'nuc'",
}
local function function_of(name)
    local group, short = name:match "^(%l+)[._](.+)$"
    if group == "linalg" or group == "fft" then return g[group][short] end
    return g[name]
end

-- What a sample's operands are replaced by, one maker at a time.
local function integers(change)
    return function(list) return change(g.tensor(list, { dtype = "i64" })) end
end
local function matrix(x) return function() return g.full({ 3, 3 }, x) end end
local function filled(x) return function(...) return g.full({ ... }, x) end end
local bad = {
    { "f", filled(0.0) }, { "f", filled(0 / 0) }, { "f", filled(1 / 0) }, { "f", filled(-0.5) },
    { "f", filled(7.0) }, { "i", integers(function(x) return x - 99 end) },
    { "i", integers(function(x) return x * 0 end) },
    { "i", integers(function(x) return x + 99 end) },
    { "spd", matrix(0.0) }, { "spd", matrix(0 / 0) }, { "spd", matrix(1 / 0) },
    { "b", function(list) return g.tensor(list):logical_and(false) end },
    { "f", A.env.f }, -- none: the call itself is the error
}

-- Whether a call with bad elements fails on the device, at once or later.
local function fails(fn, text, maker, make, device)
    local env = setmetatable({}, { __index = _G })
    for _, name in ipairs { "f", "i", "b" } do
        local own = name == maker and make or A.env[name]
        env[name] = function(...) return own(...):to(device) end
    end
    local matrices = maker == "spd" and make or function() return A.env.spd end
    env.spd = matrices():to(device)
    local args = table.pack(load("return " .. text, "=sample", "t", env)())
    g.synchronize()
    local queued = pcall(fn, table.unpack(args, 1, args.n))
    return not (pcall(g.synchronize) and queued)
end

for _, device in ipairs { "cpu", "sim" } do
    local silent, never, claimed = {}, {}, 0
    for name, row in pairs(g.ops(true)) do
        local text, fn, failed = calls[name] or S.call(name, row), function_of(name), false
        if text and fn and not row.own then
            for _, case in ipairs(bad) do
                failed = fails(fn, text, case[1], case[2], device) or failed
            end
            if row.raises then claimed = claimed + 1 end
            if failed and not row.raises then silent[#silent + 1] = name end
            if row.raises and not failed then never[#never + 1] = name end
        end
    end
    table.sort(silent)
    table.sort(never)
    t.is(table.concat(silent, " "), "", device .. ": no op raises at elements without saying so")
    t.is(table.concat(never, " "), "", "and those that say so raise")
    t.ok(claimed > 35, "of " .. claimed .. " ops")
end
t.is(g.ops().bincount.waits, "for the largest element", "an op may wait")
t.is(g.ops().bincount.raises, "an element below 1", "and raise")
t.done()
