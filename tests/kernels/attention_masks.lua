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

-- Heads of key and value for groups of query's: PyTorch 2.15, enable_gqa=True. Of shape s the input
-- is ((arange(n) * 7) % 11).reshape(s), over `by`.
local function put(dev, by, ...)
    local n = 1
    for _, k in ipairs { ... } do n = n * k end
    return (g.range(0, n - 1, { device = dev }) * 7 % 11):to("f64"):view { ... } / by
end
for _, dev in ipairs { "cpu", "sim" } do
    local q, keys, v = put(dev, 8, 1, 4, 2, 3), put(dev, 5, 1, 2, 3, 3), put(dev, 1, 1, 2, 3, 2)
    local function attend(options)
        options.enable_gqa = true
        return g.scaled_dot_product_attention(q, keys, v, options):view(-1)
    end
    t.close(attend {}, { 2.712322706, 6.560398919, 3.745742508, 6.579615781, 3.724542093,
        6.511775993, 3.699472961, 6.446018414, 3.190905288, 4.630929997, 3.296619222, 4.563314438,
        3.406815392, 4.497764846, 3.521478618, 4.434567274 }, 1e-8, "grouped queries on " .. dev)
    local mask = g.tensor { { true, false, true }, { true, true, false } }:to(dev)
    t.close(attend { attn_mask = mask },
        { 2.569969482, 4.858358765, 2.371481966, 9.371481966, 4.381544767, 3.348712694, 2.249073307,
        9.249073307, 5.334544114, 1.334544114, 2.875290061, 7.296766227, 5.480410026, 1.480410026,
        3.226853027, 7.164930115 }, 1e-8, "with a mask on " .. dev)
end
local q, keys = g.rand(1, 4, 2, 3), g.rand(1, 3, 2, 3)
t.error(function() g.scaled_dot_product_attention(q, keys, keys, { enable_gqa = true }) end,
    "key has 3 heads, query 4 %(expected a number that divides 4%)", "heads that do not divide")
t.error(function() g.scaled_dot_product_attention(q[1][1], keys, keys, { enable_gqa = true }) end,
    "query is 2x3, key 1x3x2x3 %(expected 3 dims or more with enable_gqa%)", "no heads")
t.ok(g.autograd.gradcheck(function(a, b, c)
    return g.scaled_dot_product_attention(a, b, c, { enable_gqa = true })
end, { g.rand({ 1, 4, 2, 3 }, { dtype = "f64", requires_grad = true }),
    g.rand({ 1, 2, 3, 3 }, { dtype = "f64", requires_grad = true }),
    g.rand({ 1, 2, 3, 2 }, { dtype = "f64", requires_grad = true }) }), "its gradient")
t.done()
