--!plain
-- Hostile calls of all functions: none crashes, hangs or breaks the state.
-- scripts/dev/fuzz-calls makes a million: `gpush hostile.lua SEED CALLS LOG` is one run of it.
local t = require "tap"
local g = require "gpush"
local H = require "hostile"
local seed, n, log = tonumber(arg[1]) or 1, tonumber(arg[2]) or 6000, arg[3]
local file = log and assert(io.open(log, "w"))
local function note(text)
    file:seek "set"
    file:write(text, (" "):rep(40), "\n")
    file:flush()
end

local state = { g.is_grad_enabled(), g.sync.mode, g.threads(), g.default_dtype() }
local refused, slowest, longest = H.run(seed, n, file and note)
t.ok(refused > n // 4 and refused < n,
    ("seed %d: %d calls of %d functions, %d refused"):format(seed, n, H.functions(), refused))
t.ok(longest < 10, ("the longest call, %s, took %.2f s"):format(slowest, longest))
t.is({ g.is_grad_enabled(), g.sync.mode, g.threads(), g.default_dtype() }, state,
    "modes are as they were")
local x = g.arange(1, 4):to "f32":requires_grad_()
;(x * x):sum():backward()
t.is(x.grad:tolist(), { 2.0, 4.0, 6.0, 8.0 }, "ops and backward work")
local y = g.ones(3, { device = "sim" }) + 1
t.is(y:tolist(), { 2.0, 2.0, 2.0 }, "on a device, too")
local left = setmetatable({ x, y }, { __mode = "v" })
x, y = nil, nil
t.ok(collectgarbage "isrunning", "the collector runs")
collectgarbage()
collectgarbage()
t.is(next(left), nil, "and collects")
t.done()
