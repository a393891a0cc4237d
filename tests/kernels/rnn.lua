--!plain
-- Recurrent layers beyond the table-driven test: sizes that use every path, options, dropout,
-- errors, and both devices.
local t = require "tap"
local g = require "gpush"
local A = require "arrays"
local R = require "recurrent"

local function c_of(dtype, device) return A.context("rnn", dtype, device, "contiguous") end

-- Results of op against the loops, for one set of sizes. T, B, I, H, options.
local sizes = {
    {1, 1, 1, 1, {}}, {5, 1, 3, 4, {}}, {4, 30, 5, 17, {}}, {30, 7, 6, 20, {num_layers = 2}},
    {26, 5, 3, 33, {bidirectional = true}},
    {2, 120, 4, 3, {bidirectional = true, num_layers = 2, has_biases = false}}, {130, 1, 2, 67, {}},
    {3, 600, 2, 2, {}}, {3, 300, 1, 2, {bidirectional = true}},
    {40, 3, 70, 5, {has_biases = false}},
}
for _, device in ipairs {"cpu", "sim"} do
    for _, kind in ipairs {"lstm", "gru", "tanh", "relu"} do
        for _, s in ipairs(sizes) do
            local T, B, I, H, o = table.unpack(s)
            local c = c_of("f64", device)
            -- larger ones make a chaotic system
            local function value() return (math.random() - 0.5) * 2 / math.sqrt(math.max(I, H)) end
            local x, ax = c.x({T, B, I}, value)
            local states = (o.num_layers or 1) * (o.bidirectional and 2 or 1)
            local h, ah = c.x({states, B, H}, value)
            local cell, ac = c.x({states, B, H}, value)
            local w, aw = {}, {}
            for i, shape in ipairs(R.weight_shapes(kind, I, H, o)) do
                w[i], aw[i] = c.x(shape, value)
            end
            local ay, ahn, acn = R.run(kind, ax, ah, ac, aw, o)
            local name, options = kind, {batch_first = false}
            for k, v in pairs(o) do options[k] = v end
            if kind == "tanh" or kind == "relu" then name, options.nonlinearity = "rnn", kind end
            local y, hn, cn = g[name](x, name == "lstm" and {h, cell} or h, w, options)
            c.check(y, ay, nil, 1e-12)
            c.check(hn, ahn, nil, 1e-12, "h_n")
            if cn then c.check(cn, acn, nil, 1e-12, "c_n") end
            options.batch_first = true
            local y2, hn2 = g[name](x:transpose(1, 2), name == "lstm" and {h, cell} or h, w,
                options)
            c.check(y2:transpose(1, 2), ay, nil, 1e-12, "batch_first")
            c.check(hn2, ahn, nil, 1e-12, "h_n, batch_first")
            t.is(c.done(), {},
                ("%s of %d x %d x %d, %d units, on %s"):format(kind, T, B, I, H, device))
        end
    end
end

-- ---- unbatched, zero states, the cells ----

local function weights(gates, I, H, dtype)
    local o = {dtype = dtype or "f64"}
    return {g.randn({gates * H, I}, o), g.randn({gates * H, H}, o), g.randn({gates * H}, o),
        g.randn({gates * H}, o)}
end
local function same(a, b, name) t.close(A.values(a), A.values(b), 1e-12, name) end

g.manual_seed(1)
local x = g.randn(6, 3, 4, {dtype = "f64"})
for name, gates in pairs {lstm = 4, gru = 3, rnn = 1} do
    local w = weights(gates, 4, 5)
    local y, h, c = g[name](x, nil, w)
    local zeros = g.zeros(1, 3, 5, {dtype = "f64"})
    same(y, g[name](x, name == "lstm" and {zeros, zeros} or zeros, w),
        name .. ": no hx means zeros")
    local y1, h1, c1 = g[name](x:select(2, 2), nil, w)
    t.is({y1.shape, h1.shape}, {{6, 5}, {1, 5}}, name .. ": shapes without a batch")
    same(y1, y:select(2, 2), name .. ": without a batch")
    same(h1, h:select(2, 2), name .. ": h_n without a batch")
    if c then same(c1, c:select(2, 2), name .. ": c_n without a batch") end
    -- consecutive cells equal the layer
    local hs, cs = g.zeros(3, 5, {dtype = "f64"}), g.zeros(3, 5, {dtype = "f64"})
    for time = 1, 6 do
        hs, cs = g[name .. "_cell"](x[time], name == "lstm" and {hs, cs} or hs, w[1], w[2], w[3],
            w[4])
    end
    same(hs, h[1], name .. "_cell six times is the layer")
    if c then same(cs, c[1], "c of lstm_cell") end
    local one = g[name .. "_cell"](x[1][1], nil, w[1], w[2])
    t.is(one.shape, {5}, name .. "_cell without a batch, states or biases")
    same(one, g[name](x[1][1]:view(1, 1, 4), nil, {w[1], w[2]}, {has_biases = false}):view(5),
        "and its value")
    t.is(g[name](g.zeros(4, 0, 4, {dtype = "f64"}), nil, w).shape, {4, 0, 5},
        name .. ": an empty batch")
end
local relu = weights(1, 4, 5)
same(g.rnn_cell(x[1], nil, relu[1], relu[2], relu[3], relu[4], "relu"),
    g.rnn(x[1]:view(1, 3, 4), nil, relu, {nonlinearity = "relu"}):view(3, 5), "rnn_cell with relu")

-- ---- weights larger than a cache ----

do
    local w, sequence = {}, g.randn(3, 7, 20)
    for i, shape in ipairs {{1200, 20}, {1200, 300}, {1200}, {1200}} do
        w[i] = (g.randn(shape) * 0.05):requires_grad_()
    end
    local function gradients(fn)
        for _, p in ipairs(w) do p.grad = nil end
        local y = fn()
        y:square():sum():backward()
        return {y:detach(), w[1].grad, w[2].grad, w[3].grad, w[4].grad}
    end
    local layer = gradients(function() return (g.lstm(sequence, nil, w)) end)
    local cells = gradients(function()
        local h, c, ys = g.zeros(7, 300), g.zeros(7, 300), {}
        for i = 1, 3 do
            h, c = g.lstm_cell(sequence[i], {h, c}, table.unpack(w))
            ys[i] = h
        end
        return g.stack(ys)
    end)
    for i = 1, 5 do
        t.close(A.values(layer[i]), A.values(cells[i]), 1e-4, "300 units, value " .. i)
    end
end

-- ---- an input without a gradient ----

for name, gates in pairs {lstm = 4, gru = 3, rnn = 1} do
    local w = {}
    for i, v in ipairs(weights(gates, 4, 5)) do w[i] = v:requires_grad_() end
    for i, v in ipairs(weights(gates, 5, 5)) do w[4 + i] = v:requires_grad_() end
    for _, device in ipairs {"cpu", "sim"} do
        local function gradients(wants)
            local input, moved = x:clone():to(device):detach():requires_grad_(wants), {}
            for i, v in ipairs(w) do moved[i] = v:detach():to(device):requires_grad_() end
            g[name](input, nil, moved, {num_layers = 2}):sin():sum():backward()
            local list = {}
            for i, v in ipairs(moved) do list[i] = A.values(v.grad) end
            return list, input.grad
        end
        local with, given = gradients(true)
        local without, none = gradients(false)
        t.is(without, with, name .. " on " .. device .. ": the weights' gradients are the same")
        t.ok(given ~= nil and none == nil, "and x has one only where it is wanted")
    end
end

-- ---- threads, saturation, NaN ----

local big = g.randn(20, 9, 40) * 3
local bw = weights(4, 40, 100, "f32")
g.threads(1)
local one = g.lstm(big, nil, bw)
g.threads(2)
t.is(A.values(g.lstm(big, nil, bw)), A.values(one), "the same bits from two threads")
local far = g.lstm(g.full({2, 1, 4}, 1e30), nil, weights(4, 4, 3, "f32"))
for _, v in ipairs(A.values(far)) do t.ok(v >= -1 and v <= 1, "saturated gates stay in range") end
local bad = x:clone()
bad[1][2] = 0 / 0
local nan = g.gru(bad, nil, weights(3, 4, 5))
local first, second = nan:select(2, 1), nan[1][2]
t.ok(first:eq(first):all():item() and second:ne(second):all():item(),
    "NaN stays in its row of the batch")

-- ---- dropout ----

local dw = {}
for i, shape in ipairs(R.weight_shapes("lstm", 4, 50, {num_layers = 2})) do
    dw[i] = g.randn(shape)
end
local dx = g.randn(30, 8, 4)
local function dropped(p, train)
    return (g.lstm(dx, nil, dw, {num_layers = 2, dropout = p, train = train}))
end
g.manual_seed(7)
local state = g.rand(1):item()
g.manual_seed(7)
local none = dropped(0.5, false)
t.is(g.rand(1):item(), state, "without training nothing is drawn")
t.is(A.values(dropped(0, true)), A.values(none), "dropout 0")
g.manual_seed(7)
local once = dropped(0.5, true)
t.ok(not once:eq(none):all():item(), "dropout changes the result")
t.ok(not dropped(0.5, true):eq(once):all():item(), "and is drawn again")
g.manual_seed(7)
t.ok(dropped(0.5, true):eq(once):all():item(), "the same seed, the same result")
g.manual_seed(7)
local away, wide, wide_away = {}, {}, {}
for i, w in ipairs(dw) do
    away[i], wide[i], wide_away[i] = w:to "sim", w:to "f64", w:to("sim", "f64")
end
local options = {num_layers = 2, dropout = 0.5, train = true}
if os.getenv "GPUSH_TEST_DEVICE" then -- it adds in another order, but drops the same elements
    local there = g.lstm(dx:to("sim", "f64"), nil, wide_away, options)
    g.manual_seed(7)
    t.close(A.values(there:to "cpu"), A.values((g.lstm(dx:to "f64", nil, wide, options))), 1e-9,
        "on sim as well")
else
    t.ok(g.lstm(dx:to "sim", nil, away, options):to "cpu":eq(once):all():item(), "on sim as well")
end
-- With everything dropped the second layer sees zeros.
local zero = g.lstm(g.zeros(30, 8, 50), nil, {table.unpack(dw, 5)})
t.close(A.values(dropped(1, true)), A.values(zero), 1e-6, "dropout 1")
-- The saved mask: 0 or 2, half of each, and backward uses it.
g.manual_seed(7)
local r = {g.lstm_forward(dx, nil, dw, {num_layers = 2, dropout = 0.5, train = true})}
t.ok(r[1]:eq(once):all():item(), "lstm_forward gives what lstm gives")
local plane = 30 * 8 * 50
local mask = r[4]:narrow(1, 1 + 6 * plane, plane)
local share = mask:sum():item() / (2 * plane)
t.ok((mask:eq(0) | mask:eq(2)):all():item() and share > 0.47 and share < 0.53, "the mask")

-- ---- errors ----

local w = weights(4, 4, 5)
local function fails(pattern, ...)
    local args = table.pack(...)
    t.error(function() g.lstm(table.unpack(args, 1, args.n)) end, pattern, pattern)
end
fails("lstm: argument 'weights' has 4 entries %(expected 8", x, nil, w, {num_layers = 2})
fails("lstm: entry 1 of 'weights' %(w_ih of layer 1%) is f64 20x4 %(expected 20x3%)",
    x:narrow(3, 1, 3), nil, w)
fails("lstm: argument 'x' is f64 and entry 2 of 'weights' %(w_hh of layer 1%) f32", x, nil,
    {w[1], w[2]:to "f32", w[3], w[4]})
fails("lstm: argument 'hx' has 1 entries %(expected 2", x, {g.zeros(1, 3, 5, {dtype = "f64"})}, w)
fails("lstm: entry 2 of 'hx' %(c%) is f64 1x2x5 %(expected 1x3x5%)", x,
    {g.zeros(1, 3, 5, {dtype = "f64"}), g.zeros(1, 2, 5, {dtype = "f64"})}, w)
fails("lstm: argument 'x' is f64 4 %(expected time x batch x features", x[1][1], nil, w)
fails("expected at least one time step", x:narrow(1, 1, 0), nil, w)
fails("lstm: dropout is 1.5", x, nil, w, {dropout = 1.5})
fails("lstm: num_layers is 0", x, nil, w, {num_layers = 0})
fails("dtype i64", x:to "i64", nil, w)
t.error(function() g.rnn(x, nil, weights(1, 4, 5), {nonlinearity = "sine"}) end,
    "rnn: nonlinearity 'sine' %(expected 'tanh' or 'relu'%)", "nonlinearity")
t.error(function() g.gru_backward(x, nil, weights(3, 4, 5), {saved = x}) end,
    "gru_backward: argument 'saved' is f64 6x3x4", "saved")

-- While it is recorded lstm_forward runs in place of lstm; messages show the call as made.
t.error(function() g.lstm(x:detach():requires_grad_(), nil, w, {dropout = 1.5}) end,
    "^[^_]*lstm: dropout is 1.5", "lstm in an error")
local prof = g.profile.run(function()
    g.lstm(x:detach():requires_grad_(), nil, w):sum():backward()
end)
local shown = {}
for _, row in ipairs(prof:rows()) do shown[row.name] = true end
t.ok(shown.lstm and shown.lstm_backward and not shown.lstm_forward, "lstm in a profile")

t.done()
