--!plain
-- Arguments outside a function's domain, which once gave a number that looked right, an endless
-- loop or another function's error.
local t = require "tap"
local g = require "gpush"
local x, v = g.rand(2, 3), g.arange(1.0, 4)

local function refused(name, ...)
    local fn, args = g, table.pack(...)
    for key in name:gmatch "[^.]+" do fn = fn[key] end
    local text = table.remove(args)
    t.error(function() fn(table.unpack(args, 1, args.n - 1)) end,
        "^tests/tensor/ops/limits.lua:%d+: " .. name:gsub("%.", "%%.") .. ": " .. text,
            name .. " " .. text)
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
refused("linalg.pinv", x, nil, -1, "argument 'rtol': expected a number >= 0 or a tensor, got %-1")
refused("gather_nd", x, g.ones(2, 2, { dtype = "i64" }), math.mininteger,
    "argument 'batch_dims' is %-9223372036854775808 %(expected 0 to")
local q = g.rand(1, 2, 3, 4)
refused("scaled_dot_product_attention", q, q, q, nil, -1,
    "argument 'dropout_p': expected a number from 0 to 1, got %-1")
refused("scaled_dot_product_attention", q, q, q, nil, 0 / 0, "argument 'dropout_p'")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3),
    "argument 'running_var': expected 3 floats, got nil")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3), g.ones(3, 1),
    "argument 'running_var': expected 3 floats, got f32 3x1")
refused("instance_norm", g.rand(2, 3, 4), g.zeros(3, { dtype = "i64" }), g.ones(3),
    "argument 'running_mean': expected 3 floats, got i64 3")
refused("new_tensor", x, "1, 2",
    "argument 'values': expected numbers or booleans in nested tables, got string")
local bytes = g.tensor({ 1, 2 }, { dtype = "u8" })
refused("where", bytes:gt(1), bytes, 300, "argument 'b' is 300, which u8 cannot hold")
refused("where", bytes:gt(1), -1, bytes, "argument 'a' is %-1, which u8 cannot hold")
refused("split", v, v, "argument 'size' %(#2%): expected a number or a list of numbers, got tensor")
refused("tensor_split", v, v, "argument 'sections' %(#2%): expected a number or a list of numbers")

-- Optimizers, layers and other constructors.
local function leaf() return g.rand(2):requires_grad_() end
local opt = g.optim.SGD({ leaf() }, 0.1)
refused("optim.clip_grad_norm_", { leaf() }, -1,
    "argument 'max_norm': expected a number from 0, got %-1")
refused("optim.clip_grad_value_", { leaf() }, -1,
    "argument 'clip_value': expected a number from 0, got %-1")
refused("optim.lr.ConstantLR", opt, 3, "option 'factor': expected a number from 0 to 1, got 3")
refused("optim.lr.LinearLR", opt, 0, "option 'start_factor': expected a number above 0, up to 1")
refused("optim.lr.LinearLR", opt, 0.5, 2, "option 'end_factor': expected a number from 0 to 1")
refused("optim.lr.ReduceLROnPlateau", opt, "min", -1, "option 'factor'")
refused("optim.lr.CyclicLR", opt, "a", 0.2,
    "argument 'base_lr' %(#2%): expected a number or a list of numbers, got 'a'")
refused("optim.lr.OneCycleLR", opt, true, 10,
    "argument 'max_lr' %(#2%): expected a number or a list of numbers, got boolean")
refused("optim.lr.LambdaLR", opt, 0.9,
    "argument 'lr_lambda': expected a function, or a list of one for each group, got number")
refused("optim.lr.LambdaLR", opt, function() end, "argument 'lr_lambda' gave a nil for 0 steps")
refused("data.transforms.ColorJitter", -1, "option 'brightness': expected a number from 0, got %-1")
refused("data.transforms.Resize", 1.5,
    "argument 'size': expected an integer above 0, or a list of 2, got 1.5")
refused("nn.module", "Net", "Linear", "argument 'base': expected a class, got string")
refused("nn.Conv2d", 2, 4, 3, { groups = 0 }, "2 to 4 channels cannot be split into 0 groups")
refused("nn.LSTM", 2, 3, 0, "argument 'num_layers': expected 1 to 65536, got 0")
refused("nn.MultiheadAttention", 4, 0, "embed_dim 4 is no multiple of num_heads 0")
t.error(function() return g.nn.Linear(2, 3):to(7) end,
    "^tests/tensor/ops/limits.lua:%d+: to: argument #1",
    "a module to a number: at the script's line")
t.error(function() return g.nn.Linear(2, 3):register_buffer(nil, v) end,
    "register_buffer: argument 'name'", "a buffer without a name")

t.is(g.isclose(v, true), { true, false, false, false }, "isclose to a truth, which is 1")
t.is(g.repeat_interleave(v, 2, 1, 8).shape, { 8 }, "repeat_interleave with the size that it has")
t.is(g.hardtanh(v, 2, 2), { 2, 2, 2, 2 }, "hardtanh between equal limits")
t.close(g.linalg.matrix_power(g.tensor({ { 1.0 } }), math.mininteger):item(), 1, 0,
    "matrix_power of the least integer")
t.close(g.linalg.matrix_power(g.tensor({ { 2.0, 1 }, { 0, 1 } }), -2):tolist(),
    { { 0.25, -0.75 }, { 0, 1 } }, 1e-6, "and of -2")

-- An empty tensor whose strides reach beyond every address: UBSan watches (an .npy of fuzzing).
local vast = g.zeros(0, 11111111111111155, 5, 1)
t.is((vast + 1):numel(), 0, "arithmetic on an empty tensor of vast dims")
t.is(vast:narrow(2, 11111111111111100, 9).shape, { 0, 9, 5, 1 }, "a view of its end")
vast:add_(vast:clone())
t.is(vast:sum():item(), 0, "written in place, and summed")
t.done()
