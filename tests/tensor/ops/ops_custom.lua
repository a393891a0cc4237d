--!plain
-- Every CUSTOM and RANDOM row on cpu and sim, in every dtype and layout, against plain Lua: the
-- cases are in tests/support/cases/.
local t = require "tap"
local A = require "arrays"

math.randomseed(tonumber(os.getenv "FUZZ_SEED") or 20261121)

local cases = {}
for _, file in ipairs {"cases.attention", "cases.conv", "cases.elements", "cases.fft",
    "cases.index", "cases.loss", "cases.math", "cases.norm", "cases.optim", "cases.reduce",
    "cases.rnn", "cases.search"}
do
    for name, case in pairs(require(file)) do cases[name] = case end
end
for name, case in pairs(require "cases.rnn") do cases[name] = case end
for name, case in pairs(require "cases.fft") do cases[name] = case end
A.run(cases, function(op) return op.kind == "custom" end)
t.done()
