--!plain
-- Every op, called with every plausible mistake: it is refused with a helpful error, or
-- tests/support/audit/rules.lua says why the answer is right. A new op needs a valid call in
-- tests/support/audit/samples.lua.
local t = require "tap"
local g = require "gpush"
local A, M, S, rules = require "audit", require "audit.mutants", require "audit.samples",
    require "audit.rules"
local judge = A.judge(rules)
g.manual_seed(1)

local rows, names, missing = g.ops(true), {}, {}
for name in pairs(rows) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
    local row = rows[name]
    local text = S.call(name, row)
    if not row.own then
        local fn, public = S.function_of(g, name)
        local chunk = text
            and load("local fn = ... return fn(" .. text .. ")", "=audit", "t", A.env)
        local ok, message = pcall(chunk or error, fn)
        if not ok then missing[#missing + 1] = name .. ": " .. tostring(message)
        else
            M.each(row.sig, M.split(text),
                function(what, p, args, v) A.try(public, fn, what, p, args, v, judge) end)
        end
    end
end
t.is(missing, {}, "each op has a valid call")
for name in pairs(S.calls) do
    if not rows[name] then t.ok(false, "there is no op " .. name) end
end
A.report(t, rules, "ops")
t.done()
