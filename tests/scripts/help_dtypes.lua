-- help's dtypes: an op takes those that it claims in its sample call, and refuses all others.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit.samples"
local all = { "f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool" }

-- Calls that a dtype's range refuses, not the op.
local ranges = { hardtanh = { u8 = "its least is -1, if none is given" } }

local function function_of(name)
    local group, short = name:match "^(%l+)[._](.+)$"
    if group == "linalg" or group == "fft" then return g[group][short] end
    return g[name]
end

-- The samples' operands f(…) in one dtype; integers are 1.
local env, dtype = setmetatable({}, { __index = A.env }), nil
function env.f(...)
    if dtype:find "^b?f%d" then return (g.rand(...) * 0.8 + 0.1):to(dtype) end
    return g.ones(...):to(dtype)
end

local function claims(text)
    local set = {}
    for name in text:match "^[^;]*":gmatch "%w+" do set[name] = true end
    if text:find("; integers", 1, true) then
        for _, name in ipairs { "i64", "i32", "i16", "i8", "u8" } do set[name] = true end
    end
    set.bool = set.bool or text:find("and bool give", 1, true) ~= nil
    return set
end

local wrong, none, seen = {}, {}, 0
for name, row in pairs(g.ops(true)) do
    local text = S.call(name, row)
    local fn = function_of(name)
    if text and fn and not row.own and (text:find "f%(" or text:find "spd") then
        if not row.dtypes then none[#none + 1] = name end
        local set = claims(row.dtypes or "")
        seen = seen + 1
        for _, dt in ipairs(row.dtypes and all or {}) do
            dtype, env.spd = dt, A.env.spd:to(dt)
            local call = load("local fn = ... return fn(" .. text .. ")", "=sample", "t", env)
            local takes = pcall(call, fn)
            if takes ~= (set[dt] or false) and not (ranges[name] or {})[dt] then
                wrong[#wrong + 1] = ("%s %s %s"):format(name, takes and "takes" or "refuses", dt)
            end
        end
    end
end
table.sort(wrong)
table.sort(none)
t.is(table.concat(wrong, ", "), "", "what an op claims is what it takes")
t.is(table.concat(none, " "), "", "and none claims nothing")
t.ok(seen > 350, "of " .. seen .. " ops")
t.is(g.ops().conv2d.dtypes, "f64 f32 bf16 f16 i64 i32 i16 i8 u8", "of a row with a rule")
t.is(g.ops(true)["linalg.pinv"].dtypes, "f64 f32", "of a composite")

-- What help says of floats alone is true of ops that refuse integers.
local function page(name)
    local lines, old = {}, print
    _G.print = function(...) lines[#lines + 1] = table.concat({ ... }, " ") end
    g.help(name)
    _G.print = old
    return (table.concat(lines, " "):gsub("%s+", " "))
end
local said, untrue = 0, {}
for name, row in pairs(g.ops(true)) do
    local text = row.dtypes and page(name) or ""
    for _, claim in ipairs { "Floats only[.:;]", "%(floats only%)", "For floats[.;]",
        "one float dtype", "must have a float dtype" } do
        local found = text:match(claim)
        said = said + (found and 1 or 0)
        if found and claims(row.dtypes).i64 then untrue[#untrue + 1] = name .. ": " .. found end
    end
end
table.sort(untrue)
t.is(table.concat(untrue, ", "), "", "floats alone are claimed where integers are refused")
t.ok(said > 20, "as " .. said .. " pages do")
t.done()
