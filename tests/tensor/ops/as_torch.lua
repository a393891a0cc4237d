-- Calls at the edges of dtypes and sizes, which PyTorch takes: integers where the result is a
-- float, two dtypes, no dims, 0-d tensors, one row, an empty index, no images. Each result is what
-- PyTorch 2.15 gives for the line of Python beside it.
local t = require "tap"
local g = require "gpush"

local function f(v) return g.tensor(v, { dtype = "f32" }) end
local function i(v) return g.tensor(v, { dtype = "i64" }) end
local none = g.zeros({ 0 }, { dtype = "i64" })

-- A line of Python, the same call here, the result's dtype, shape and elements.
local cases = {
    -- ---- promotion ----
    { "torch.copysign(torch.tensor([1, -2, 3]), torch.tensor([-1., 1., -0.]))",
        function() return g.copysign(i{1, -2, 3}, f{-1, 1, -0.0}) end,
        "f32", { 3 }, { -1, 2, -3 } },
    { "torch.copysign(torch.tensor([1, 2]), -1)",
        function() return g.copysign(i{1, 2}, -1) end, "f32", { 2 }, { -1, -2 } },
    { "torch.copysign(torch.tensor([True, False]), torch.tensor([-1, 2]))",
        function() return g.copysign(g.tensor{true, false}, i{-1, 2}) end,
        "f32", { 2 }, { -1, 0 } },
    { "torch.copysign(torch.tensor([1., 2.]).half(), torch.tensor([-1., 1.]).double())",
        function() return g.copysign(f{1, 2}:to "f16", f{-1, 1}:to "f64") end,
        "f64", { 2 }, { -1, 2 } },
    { "torch.copysign(torch.tensor([1., 2.]).half(), torch.tensor([-1., 1.]).bfloat16())",
        function() return g.copysign(f{1, 2}:to "f16", f{-1, 1}:to "bf16") end,
        "f32", { 2 }, { -1, 2 } },
    { "torch.tensor([1., -2.]).copysign_(torch.tensor([-1, 1]))",
        function() return f{1, -2}:copysign_(i{-1, 1}) end, "f32", { 2 }, { -1, 2 } },
    { "torch.fmax(torch.tensor([True, False]), torch.tensor([False, False]))",
        function() return g.fmax(g.tensor{true, false}, g.tensor{false, false}) end,
        "bool", { 2 }, { true, false } },
    { "torch.clamp_max(torch.tensor([True, True]), torch.tensor([False, True]))",
        function() return g.clamp_max(g.tensor{true, true}, g.tensor{false, true}) end,
        "bool", { 2 }, { false, true } },
    { "torch.trapezoid(torch.tensor([1, 2, 4]))",
        function() return g.trapezoid(i{1, 2, 4}) end, "f32", {}, { 4.5 } },
    { "torch.trapezoid(torch.tensor([1, 2, 4]), torch.tensor([0, 1, 3]))",
        function() return g.trapezoid(i{1, 2, 4}, i{0, 1, 3}) end, "f32", {}, { 7.5 } },
    { "torch.trapezoid(torch.tensor([1, 2, 4]), torch.tensor([0., 1., 3.]).double())",
        function() return g.trapezoid(i{1, 2, 4}, f{0, 1, 3}:to "f64") end, "f64", {}, { 7.5 } },
    { "torch.trapezoid(torch.tensor([1, 2, 4]), torch.tensor([0., 1., 3.]).half())",
        function() return g.trapezoid(i{1, 2, 4}, f{0, 1, 3}:to "f16") end, "f16", {}, { 7.5 } },
    { "torch.trapezoid(torch.tensor([1., 2., 4.]).half(), \z
        torch.tensor([0., 1., 3.]).bfloat16())",
        function() return g.trapezoid(f{1, 2, 4}:to "f16", f{0, 1, 3}:to "bf16") end,
        "f32", {}, { 7.5 } },
    { "torch.cumulative_trapezoid(torch.tensor([1, 2, 4]))",
        function() return g.cumulative_trapezoid(i{1, 2, 4}) end, "f32", { 2 }, { 1.5, 4.5 } },
    { "torch.cov(torch.tensor([[1, 2, 4], [2, -1, 0]]))",
        function() return g.cov(i{{1, 2, 4}, {2, -1, 0}}) end,
        "f32", { 2, 2 }, { 2.333333, -1.166667, -1.166667, 2.333333 } },
    { "torch.corrcoef(torch.tensor([[1, 2, 4], [2, -1, 0]]))",
        function() return g.corrcoef(i{{1, 2, 4}, {2, -1, 0}}) end,
        "f32", { 2, 2 }, { 1, -0.5, -0.5, 1 } },
    { "F.cosine_similarity(torch.tensor([[1, 2]]), torch.tensor([[2., 1.]]))",
        function() return g.cosine_similarity(i{{1, 2}}, f{{2, 1}}) end, "f32", { 1 }, { 0.8 } },
    { "F.cosine_embedding_loss(torch.tensor([[1, 2], [0, 1]]), \z
        torch.tensor([[2, 1], [1, 1]]), torch.tensor([1, -1]))",
        function()
            return g.cosine_embedding_loss(i{{1, 2}, {0, 1}}, i{{2, 1}, {1, 1}}, i{1, -1})
        end,
        "f32", {}, { 0.453553 } },
    { "F.cosine_embedding_loss(torch.tensor([[1., 2.]]), torch.tensor([[2., 1.]]), \z
        torch.tensor([0]))",
        function() return g.cosine_embedding_loss(f{{1, 2}}, f{{2, 1}}, i{0}) end,
        "f32", {}, { 0 } },
    { "F.multilabel_soft_margin_loss(torch.tensor([[1., -1.]]), \z
        torch.tensor([[1., 0.]]).double())",
        function() return g.multilabel_soft_margin_loss(f{{1, -1}}, f{{1, 0}}:to "f64") end,
        "f64", {}, { 0.313262 } },
    -- ---- no dims ----
    { "torch.all(torch.tensor([[2, 0]]), dim=[])",
        function() return g.all(i{{2, 0}}, {dim = {}}) end, "bool", { 1, 2 }, { true, false } },
    { "torch.any(torch.tensor([[2., 0.]]), dim=[])",
        function() return g.any(f{{2, 0}}, {dim = {}}) end, "bool", { 1, 2 }, { true, false } },
    { "torch.sum(torch.tensor([[2, 1]]), dim=[])",
        function() return g.sum(i{{2, 1}}, {dim = {}}) end, "i64", {}, { 3 } },
    { "torch.squeeze(torch.tensor([[2], [1]]), ())",
        function() return g.squeeze(i{{2}, {1}}, {dims = {}}) end, "i64", { 2, 1 }, { 2, 1 } },
    { "torch.roll(torch.tensor([[1, 2], [3, 4]]), 1, [])",
        function() return g.roll(i{{1, 2}, {3, 4}}, 1, {dims = {}}) end,
        "i64", { 2, 2 }, { 4, 1, 2, 3 } },
    { "torch.view_as_real(torch.fft.fftn(torch.tensor([1., 2.]), dim=[]))",
        function() return g.fft.fftn(f{1, 2}, {dim = {}}) end, "f32", { 2, 2 }, { 1, 0, 2, 0 } },
    { "torch.view_as_real(torch.fft.fftn(torch.tensor(5)))",
        function() return g.fft.fftn(g.tensor(5)) end, "f32", { 2 }, { 5, 0 } },
    -- ---- 0-d tensors, and one row ----
    { "torch.cov(torch.tensor([[1., 2., 4.]]))",
        function() return g.cov(f{{1, 2, 4}}) end, "f32", {}, { 2.333333 } },
    { "torch.cov(torch.tensor([[1., 2., 4.]]), correction=0)",
        function() return g.cov(f{{1, 2, 4}}, 0) end, "f32", {}, { 1.555556 } },
    { "torch.cov(torch.tensor(4.), correction=0)",
        function() return g.cov(g.tensor(4.0), 0) end, "f32", {}, { 0 } },
    { "torch.corrcoef(torch.tensor([[1., 2., 4.]]))",
        function() return g.corrcoef(f{{1, 2, 4}}) end, "f32", {}, { 1 } },
    { "torch.tensor(5.).unfold(0, 1, 1)",
        function() return g.tensor(5.0):unfold(1, 1, 1) end, "f32", { 1 }, { 5 } },
    { "torch.tensor(5.).unfold(0, 0, 1)",
        function() return g.tensor(5.0):unfold(1, 0, 1) end, "f32", { 0 }, {} },
    { "F.prelu(torch.tensor(-2.), torch.tensor([0.25]))",
        function() return g.prelu(g.tensor(-2.0), f{0.25}) end, "f32", {}, { -0.5 } },
    { "torch.gather(torch.tensor(5.), 0, torch.tensor([0]))",
        function() return g.gather(g.tensor(5.0), 1, i{1}) end, "f32", { 1 }, { 5 } },
    { "torch.gather(torch.tensor([5., 6.]), 0, torch.tensor(1))",
        function() return g.gather(f{5, 6}, 1, g.tensor(2)) end, "f32", {}, { 6 } },
    { "torch.scatter(torch.tensor(5.), 0, torch.tensor([0]), torch.tensor([2.]))",
        function() return g.scatter(g.tensor(5.0), 1, i{1}, f{2}) end, "f32", {}, { 2 } },
    -- ---- nothing to index ----
    { "torch.gather(torch.ones(2, 3), 0, torch.zeros(0, dtype=torch.int64))",
        function() return g.gather(g.ones(2, 3), 1, none) end, "f32", { 0 }, {} },
    { "torch.gather(torch.ones(2, 3), 1, torch.zeros(0, 5, dtype=torch.int64))",
        function() return g.gather(g.ones(2, 3), 2, none:view(0, 5)) end, "f32", { 0, 5 }, {} },
    { "torch.scatter(torch.ones(2), 0, torch.zeros(0, 3, dtype=torch.int64), torch.ones(2))",
        function() return g.scatter(g.ones(2), 1, none:view(0, 3), g.ones(2)) end,
        "f32", { 2 }, { 1, 1 } },
    { "torch.scatter(torch.ones(1, 2), 0, torch.zeros(0, dtype=torch.int64), 7)",
        function() return g.scatter(g.ones(1, 2), 1, none, 7) end, "f32", { 1, 2 }, { 1, 1 } },
    { "torch.scatter_add(torch.ones(1, 2), 0, torch.zeros(0, dtype=torch.int64), \z
        torch.ones(4, 4))",
        function() return g.scatter_add(g.ones(1, 2), 1, none, g.ones(4, 4)) end,
        "f32", { 1, 2 }, { 1, 1 } },
    { "torch.scatter_reduce(torch.ones(1, 2), 0, torch.zeros(0, dtype=torch.int64), \z
        torch.ones(3), 'amax')",
        function() return g.scatter_reduce(g.ones(1, 2), 1, none, g.ones(3), 'amax') end,
        "f32", { 1, 2 }, { 1, 1 } },
    -- ---- empty batches ----
    { "F.unfold(torch.zeros(0, 1, 5, 5), 2)",
        function() return g.nn.Unfold(2)(g.zeros(0, 1, 5, 5)) end, "f32", { 0, 4, 16 }, {} },
    { "F.fold(torch.zeros(0, 4, 4), (3, 3), 2)",
        function() return g.fold(g.zeros(0, 4, 4), {3, 3}, 2) end, "f32", { 0, 1, 3, 3 }, {} },
    { "F.grid_sample(torch.zeros(0, 1, 5, 5), torch.zeros(0, 2, 3, 2))",
        function() return g.grid_sample(g.zeros(0, 1, 5, 5), g.zeros(0, 2, 3, 2)) end,
        "f32", { 0, 1, 2, 3 }, {} },
    { "F.local_response_norm(torch.zeros(0, 4, 2), 3)",
        function() return g.local_response_norm(g.zeros(0, 4, 2), 3) end, "f32", { 0, 4, 2 }, {} },
    { "F.local_response_norm(torch.zeros(2, 0, 3, 2), 3)",
        function() return g.local_response_norm(g.zeros(2, 0, 3, 2), 3) end,
        "f32", { 2, 0, 3, 2 }, {} },
    { "F.instance_norm(torch.zeros(2, 0, 5))",
        function() return g.instance_norm(g.zeros(2, 0, 5)) end, "f32", { 2, 0, 5 }, {} },
    { "F.interpolate(torch.zeros(0, 2, 4, 4), scale_factor=(2, 3))",
        function() return g.interpolate(g.zeros(0, 2, 4, 4), nil, {2, 3}) end,
        "f32", { 0, 2, 8, 12 }, {} },
}

local function near(got, expected)
    for k = 1, math.max(#got, #expected) do
        local a, b = got[k], expected[k]
        if type(a) ~= type(b) then return false end
        if type(a) == "boolean" and a ~= b then return false end
        if type(a) == "number" and not (a ~= a and b ~= b) and not (math.abs(a - b) <= 2e-5) then
            return false
        end
    end
    return true
end

for _, device in ipairs { "cpu", "sim" } do
    g.default_device(device)
    none = none:to(device)
    for _, case in ipairs(cases) do
        local python, fn, dtype, shape, expected = table.unpack(case)
        local ok, y = pcall(fn)
        local got = ok and { y.dtype, table.move(y.shape, 1, y.ndim, 1, {}) } or { tostring(y) }
        local elements = ok and y:reshape(-1):tolist() or {}
        if t.is(got, { dtype, shape }, ("%s: %s"):format(device, python)) then
            t.ok(near(elements, expected), "and its elements, " .. table.concat(
                ok and y:to("f64"):reshape(-1):tolist() or {}, " "))
        end
    end
end
g.default_device "cpu"

-- ---- gradients where nothing was read or written ----

none = none:to "cpu"
local x, src = g.ones(2, 3):requires_grad_(), g.ones(4):requires_grad_()
local function gradients(fn)
    x.grad, src.grad = nil, nil
    (fn() * 2):sum():backward()
    local of_x = x.grad ~= nil and x.grad:sum():item() or 0
    return { of_x, src.grad ~= nil and src.grad:abs():sum():item() or 0 }
end
t.is(gradients(function() return g.gather(x, 1, none) end), { 0, 0 }, "gather")
t.is(gradients(function() return g.scatter(x, 1, none, src) end), { 12, 0 }, "scatter")
t.is(gradients(function() return g.scatter_add(x, 1, none, src) end), { 12, 0 }, "scatter_add")
for _, how in ipairs { "sum", "prod", "mean", "amin", "amax" } do
    t.is(gradients(function() return g.scatter_reduce(x, 1, none, src, how) end), { 12, 0 },
        "scatter_reduce by " .. how)
end
local one = g.tensor(3.0):requires_grad_()
one:unfold(1, 1, 1):backward(g.tensor { 5.0 })
t.is(one.grad:item(), 5.0, "a window of a 0-d tensor")

-- ---- dtypes that PyTorch refuses, too ----

for _, op in ipairs { "cov", "corrcoef", "trapezoid", "cumulative_trapezoid" } do
    t.error(function() g[op](g.tensor { true, false }) end, op .. ": dtype bool of argument '%w'",
        op .. " of bools")
end
t.done()
