--!plain
-- Second derivatives of every differentiable row, against differences of the first ones; and the
-- first ones composed of recorded ops against those of the fused ops.
local t = require "tap"
local g = require "gpush"
local rows = require "grad_rows"

-- The gradients of all inputs of a case, recorded or not, as a list; NaN where one is missing.
local function gradients(fn, args, recorded)
    local xs, ys = {}, {}
    for k = 1, args.n or #args do
        if g.is_tensor(args[k]) and args[k].requires_grad then xs[#xs + 1] = args[k] end
    end
    for _, y in ipairs { fn(table.unpack(args, 1, args.n or #args)) } do
        if y.requires_grad then
            ys[#ys + 1] = (y * g.arange(1, y:numel(), { dtype = "f64" }):reshape(y.shape)):sum()
        end
    end
    local got, flat = table.pack(g.grad(ys, xs, { create_graph = recorded, allow_unused = true })),
        {}
    for k = 1, #xs do
        for _, v in ipairs(got[k] and got[k]:reshape(-1):tolist() or { 0 / 0 }) do
            flat[#flat + 1] = v
        end
    end
    return flat
end

local function check(name, case, i)
    local fn, args = rows.call(name, case)
    local what = ("%s, case %d"):format(name, i)
    local ok, msg = pcall(g.autograd.gradgradcheck, fn, args)
    if not t.ok(ok, what) then io.stderr:write("#   ", tostring(msg), "\n") end
    t.close(gradients(fn, args, true), gradients(fn, args, false), 1e-9,
        what .. ": the same first derivative")
end

rows.each(function(name, op, list)
    if op.grad ~= "yes" then return end
    for i, case in ipairs(list or {}) do check(name, case, i) end
end)

-- Where a formula's other branch, or a part of it, is infinite.
for _, name in ipairs { "softplus", "silu", "celu", "elu", "gelu_tanh", "mish", "sigmoid" } do
    local x = g.tensor({ -1000, 1000, -200, 300 }, { dtype = "f64" }):requires_grad_()
    local first = g.grad(g[name](x):sum(), x, { create_graph = true })
    t.close(g.grad(first:sum(), x):tolist(), { 0, 0, 0, 0 }, 1e-30, name .. " far from 0")
end

do -- 0 where the standard deviation is 0, as in PyTorch, and so are its derivatives
    local x = g.tensor({ 2, 2, 2 }, { dtype = "f64" }):requires_grad_()
    local d = g.grad(x:std(), x, { create_graph = true })
    t.is(d:tolist(), { 0, 0, 0 }, "std of equal elements")
    t.is(g.grad(d[1], x):tolist(), { 0, 0, 0 }, "and its second derivative")
end

do -- more than two
    local x = g.tensor({ 0.5, 2 }, { dtype = "f64" }):requires_grad_()
    local y = x ^ 5
    for k = 1, 5 do y = g.grad(y:sum(), x, { create_graph = true }) end
    t.close(y:tolist(), { 120, 120 }, 1e-12, "the fifth derivative of x ^ 5")
    local v = x:sin():exp()
    local d = g.grad(v:sum(), x, { create_graph = true })
    local dd = g.grad(d:sum(), x, { create_graph = true })
    local ddd = g.grad(dd:sum(), x)
    local c, s = math.cos(0.5), math.sin(0.5)
    t.close(ddd:tolist()[1], math.exp(s) * (c ^ 3 - 3 * s * c - c), 1e-12,
        "the third derivative of exp(sin(x))")
    -- A penalty on a gradient's norm, as in some losses: |grad f|^2 for f = sum(x^3) is 9 x^4.
    x.grad = nil
    g.grad((x ^ 3):sum(), x, { create_graph = true }):square():sum():backward()
    t.close(x.grad:tolist(), { 36 * 0.5 ^ 3, 36 * 2 ^ 3 }, 1e-12, "backward of a gradient's norm")
    local a = x:detach():requires_grad_()
    ;(a * a):sum():backward { create_graph = true }
    t.ok(a.grad.requires_grad, "grad itself requires gradients with create_graph")
end
t.done()
