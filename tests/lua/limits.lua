--!plain
-- Arguments outside of what a function is for, which once gave a number that looked right, an endless loop or an error of
-- another function.
local t = require "tap"
local g = require "gpush"
local x, v = g.rand(2, 3), g.arange(1.0, 4)

local function refused(name, ...)
    local fn, args = g, table.pack(...)
    for key in name:gmatch "[^.]+" do fn = fn[key] end
    local text = table.remove(args)
    t.error(function() return fn(table.unpack(args, 1, args.n - 1)) end, "^tests/lua/limits.lua:%d+: " .. name:gsub("%.", "%%.") .. ": " .. text, name .. " " .. text)
end

refused("max", x, true, "argument 'dim' is true")
refused("min", x, false, "argument 'dim' is false")
refused("hardtanh", v, 1, -1, "argument 'min' is 1 and 'max' %-1")
refused("softshrink", v, -1, "argument 'lambd': expected a number from 0, got %-1")
refused("celu", v, 0, "argument 'alpha' is 0")
refused("isclose", v, v, -1, "argument 'rtol': expected a number >= 0")
refused("allclose", v, v, 1e-5, 0 / 0, "argument 'atol': expected a number >= 0")
refused("repeat_interleave", v, 2, 1, 9, "argument 'output_size' is 9, but the result has 8")
refused("fft.fftshift", v, 2, "dim 2 is out of range for a 1%-d tensor")
refused("fft.ifftshift", x, 0, "dim 0 is out of range for a 2%-d tensor")
refused("fft.fftfreq", -1, "argument 'n': expected an integer above 0")
refused("fft.rfftfreq", 0, "argument 'n': expected an integer above 0")
refused("fft.fftfreq", 4, true, "argument 'd'")
refused("glu", x, 3, "dim 3 is out of range for a 2%-d tensor")
refused("cosine_similarity", x, g.rand(2, 2), "shapes 2x3 and 2x2 do not broadcast")
refused("cdist", x, v, "argument 'x2': expected rows of numbers, got 4")
refused("linalg.matrix_rank", x, 0 / 0, "argument 'atol': expected a number >= 0")
refused("linalg.pinv", x, nil, -1, "argument 'rtol': expected a number >= 0, got %-1")
local q = g.rand(1, 2, 3, 4)
refused("scaled_dot_product_attention", q, q, q, nil, -1, "argument 'dropout_p': expected a number from 0 to 1, got %-1")
refused("scaled_dot_product_attention", q, q, q, nil, 0 / 0, "argument 'dropout_p'")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3), "argument 'running_var': expected 3 floats, got nil")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3), g.ones(3, 1), "argument 'running_var': expected 3 floats, got f32 3x1")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3, { dtype = "i64" }), g.ones(3), "argument 'running_mean': expected 3 floats, got i64 3")
refused("new_tensor", x, "1, 2", "argument 'values': expected numbers or booleans in nested tables, got string")
refused("split", v, v, "argument 'size': expected an integer or a table of integers, got userdata")
refused("tensor_split", v, v, "argument 'sections': expected an integer above 0 or a table")

t.is(g.isclose(v, true), { true, false, false, false }, "isclose to a truth, which is 1")
t.is(g.repeat_interleave(v, 2, 1, 8).shape, { 8 }, "repeat_interleave with the size that it has")
t.is(g.hardtanh(v, 2, 2), { 2, 2, 2, 2 }, "hardtanh between equal limits")
t.close(g.linalg.matrix_power(g.tensor({ { 1.0 } }), math.mininteger):item(), 1, 0, "matrix_power of the least integer")
t.close(g.linalg.matrix_power(g.tensor({ { 2.0, 1 }, { 0, 1 } }), -2):tolist(), { { 0.25, -0.75 }, { 0, 1 } }, 1e-6, "and of -2")
t.done()
