--!plain
-- Queries that may see no key: attention gives 0 for them and no gradient, by bool masks and by
-- float ones of -inf, as in PyTorch; the others are unaffected. One visible key takes the whole
-- weight, so references are exact.
local t = require "tap"
local g = require "gpush"

local inf = math.huge
local k, v = { { 1, 2 }, { 0.5, -1 }, { 3, 0 } }, { { 1, 10 }, { 2, 20 }, { 3, 30 } }
local q = { { 1, -1 }, { 2, 0.5 } }

local function run(dev, dtype, mask, fn, name)
    local function leaf(x)
        return g.tensor(x, { dtype = dtype, device = dev }):view(
            1, 1, -1, 2):detach():requires_grad_()
    end
    local a, b, c = leaf(q), leaf(k), leaf(v)
    local y = fn(a, b, c, mask)
    local function is(x, want, what)
        t.is(x:detach():to "cpu":view(-1, 2):tolist(), want,
            ("%s: %s, %s on %s"):format(name, what, dtype, dev))
    end
    is(y, { { 2, 20 }, { 0, 0 } }, "result")
    local da, db, dc = g.grad(y:sum(), { a, b, c }, nil, { retain_graph = true })
    is(da, { { 0, 0 }, { 0, 0 } }, "gradient of the query")
    is(db, { { 0, 0 }, { 0, 0 }, { 0, 0 } }, "of the key")
    is(dc, { { 0, 0 }, { 1, 1 }, { 0, 0 } }, "of the value")
    if mask.requires_grad then
        is(g.grad(y:sum(), mask, nil, { retain_graph = true }):view(3, 2),
            { { 0, 0 }, { 0, 0 }, { 0, 0 } }, "of the mask")
    end
    dc = g.grad(y:sum(), c, nil, { create_graph = true })
    is(dc, { { 0, 0 }, { 1, 1 }, { 0, 0 } }, "recorded")
    is(g.grad((dc * dc):sum(), a), { { 0, 0 }, { 0, 0 } }, "and differentiated again")
end

for _, dev in ipairs { "cpu", "sim" } do
    for _, dtype in ipairs { "f32", "f64" } do
        local seen = g.tensor { { false, true, false }, { false, false, false } }:to(dev)
        local float = g.tensor({ { -inf, 0, -inf }, { -inf, -inf, -inf } },
            { dtype = dtype, device = dev })
        run(dev, dtype, seen, g.scaled_dot_product_attention, "bool mask")
        run(dev, dtype, float, g.scaled_dot_product_attention, "float mask")
        run(dev, dtype, float:clone():requires_grad_(), g.scaled_dot_product_attention,
            "float mask with a gradient")
        run(dev, dtype, float, g.attention, "the row")
        local one = g.tensor(k, { dtype = dtype, device = dev }):view(1, 1, 3, 2)
        t.is(g.scaled_dot_product_attention(one, one, one,
            g.tensor({ { -inf }, { 0 }, { -inf } }, { dtype = dtype, device = dev })):abs():sum(
                -1):gt(0):view(-1),
            { false, true, false }, "a mask of one column, " .. dtype .. " on " .. dev)
        local nan = g.tensor({ { 0 / 0, 1 } }, { dtype = dtype, device = dev }):view(1, 1, 1, 2)
        t.ok(g.scaled_dot_product_attention(nan, one, one,
            float:narrow(1, 1, 1)):isnan():all():item(),
                "NaN stays NaN, " .. dtype .. " on " .. dev)
        t.ok(g.attention(nan, one, one):isnan():all():item(), "and in the row")
    end
end
t.done()
