--!plain
-- Lists as arguments: an entry of the table that is not an entry of the list is an error, and is
-- not lost.
local t = require "tap"
local g = require "gpush"
local x = g.ones(2, 3)

local function refused(fn, text, name)
    local ok, message = pcall(fn)
    if not t.ok(not ok and message:find(text, 1, true), name) then
        io.stderr:write("#   ", ok and "no error" or message, "\n")
    end
end

-- Options among the entries.
refused(function() return g.zeros { 2, 3, dtype = "f64" } end,
    "zeros: argument 'shape': 'dtype' is in the list", "a shape with an option in it")
refused(function() return g.tensor { 1, 2, dtype = "f64" } end,
    "tensor: argument 'value': 'dtype' is in the list", "values with an option")
refused(function() return g.tensor { { 1, 2 }, { 3, 4, device = "cpu" } } end,
    "'device' is in the list", "in an inner table")
refused(function() return g.cat { x, x, dim = 2 } end,
    "cat: argument 'xs': 'dim' is in the list", "tensors with an option")
refused(function() return g.stack { x, x, dim = 2 } end,
    "stack: argument 'xs': 'dim' is in the list", "of any op")
refused(function() return x:sum { 1, keepdim = true } end,
    "sum: argument 'dim': 'keepdim' is in the list", "dims with an option")
refused(function() return g.nn.LayerNorm { 3, eps = 1e-3 } end,
    "nn.LayerNorm: argument 'normalized_shape': 'eps' is in the list", "a layer's")
refused(function() return x[{ 1, step = 2 }] end,
    "index: argument 'key': 'step' is in the list", "an index")
refused(function() return x[{ { first = 1, last = 2 } }] end, "index: argument 'range': '",
    "a range")

-- Lists that count from 0, or have gaps.
refused(function() return g.zeros { [0] = 2, 3 } end,
    "zeros: argument 'shape': entry [0] of a list of 1", "a shape from 0")
refused(function() return g.tensor { [0] = 1, 2, 3 } end,
    "tensor: argument 'value': entry [0] of a list of 2", "values from 0")
refused(function() return g.cat { [0] = x, x } end, "cat: argument 'xs': entry [0] of a list of 1",
    "tensors from 0")
refused(function() return x:sum { [2] = 1 } end, "sum: argument 'dim': entry [2] of a list of 0",
    "a gap at the beginning")
refused(function() return x[{ [0] = 1, 2 }] end, "index: argument 'key': entry [0]",
    "an index from 0")
refused(function() return g.zeros { 2, [2.5] = 1 } end,
    "zeros: argument 'shape': a list with a number for a key", "no integer")
local long = {}
for i = 1, 1000 do long[i] = i end
t.is(g.tensor(long):sum():item(), 500500, "a long list")
long[0] = 5
refused(function() return g.tensor(long) end, "entry [0] of a list of 1000", "a long list from 0")
long[0], long.dtype = nil, "f64"
refused(function() return g.tensor(long) end, "'dtype' is in the list",
    "a long list with an option")

-- Tables that are neither.
t.is(g.tensor {}.shape, { 0 }, "no values")
t.is(x:sum { dim = 1 }, { 2, 2, 2 }, "options alone")
t.is(x[{ {}, {} }].shape, { 2, 3 }, "whole dims")
t.is(g.zeros(setmetatable({ 2, 3, n = 2 }, {})).shape, { 2, 3 }, "an object that is a list")
t.is(g.cat(table.pack(x, x), 2).shape, { 2, 6 }, "table.pack's n")
t.done()
