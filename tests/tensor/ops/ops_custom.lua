--!plain
-- Every CUSTOM and RANDOM row on cpu and sim, in every dtype and layout, against plain Lua: the
-- cases are in cases_*.lua.
local t = require "tap"
local A = require "arrays"

math.randomseed(tonumber(os.getenv "FUZZ_SEED") or 20261121)

local cases = {}
for _, file in ipairs {"cases_attention", "cases_conv", "cases_elements", "cases_fft",
    "cases_index", "cases_loss", "cases_math", "cases_norm", "cases_optim", "cases_reduce",
    "cases_rnn", "cases_search"}
do
    for name, case in pairs(require(file)) do cases[name] = case end
end
for name, case in pairs(require "cases_rnn") do cases[name] = case end
for name, case in pairs(require "cases_fft") do cases[name] = case end
A.run(cases, function(op) return op.kind == "custom" end)
t.done()
