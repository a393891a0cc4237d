-- The module in a stock Lua: require "gpush" works, and what cannot work without the rewrite
-- raises.
local t = require "tap"
local g = require "gpush"
local x = g.tensor { 1, 2, 3 }
t.ok(rawget(_G, "tensor") == nil, "the module adds no globals")
t.is((x * 2 + 1):sum():item(), 15, "operators and methods work")
t.is(x:eq(2):sum():item(), 1, ":eq compares elementwise")
t.error(function() return x == g.tensor { 1, 2, 3 } end, "use :eq%(%)", "== between tensors raises")
t.error(function() return x < x end, "ambiguous", "a < b of many elements raises")
t.ok(g.tensor(1) < g.tensor(2), "a < b of one element is its truth")
t.is(x["1:2"]:sum():item(), 3, "indexing works")
t.is(select("#", 1, 2), 2, "Lua's own select is untouched")
t.ok(assert(g.tensor(false)) ~= nil,
    "Lua's own assert is untouched: a tensor is true, as the README says")
t.error(function() assert(g.tensor(false):item()) end, "assertion failed",
    "its number is what can be asserted")
local list = { g.tensor(2), g.tensor(3), g.tensor(1) }
table.sort(list, function(a, b) return a:lt(b):item() end)
t.is({ list[1]:item(), list[2]:item(), list[3]:item() }, { 1, 2, 3 }, "and a comparator can give")

local factor = 3
local function triple(i) return factor * i end
local set = { size = 5, get = function(_, i) return triple(i), g.linalg.norm(g.ones(4)) end }
local sums = {}
for step, v, n in g.data.Loader { set, batch = 2, workers = 2 } () do
    sums[step] = { v:tolist(), n:tolist() }
end
t.is(sums, { { { 3, 6 }, { 2, 2 } }, { { 9, 12 }, { 2, 2 } }, { { 15 }, { 2 } } },
    "a loader's workers have stock states too")
t.done()
