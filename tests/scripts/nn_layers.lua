--!plain
-- Layers: values, parameters' names and shapes, and gradients against PyTorch's; what PyTorch 1.13
-- lacks against closed forms; initial values of parameters; modes; bad arguments.
local t = require "tap"
local g = require "gpush"
local nn = g.nn
local rows = require "torch_layers"

local f64 = { dtype = "f64" }
local function product(shape)
    local n = 1
    for _, d in ipairs(shape) do n = n * d end
    return n
end
local function fill(shape, a, b, s)
    local v = {}
    for j = 0, product(shape) - 1 do v[j + 1] = math.sin(a * j + b) * s end
    return g.tensor(v, f64):view(shape)
end
local function sum(x)
    local s = 0
    for j, v in ipairs(x:to("cpu", "f64"):reshape(-1):tolist()) do
        s = s + v * math.cos(0.3 * (j - 1))
    end
    return s
end
local function sorted(iterator)
    local list = {}
    for name, value in iterator do list[#list + 1] = { name, value } end
    table.sort(list, function(a, b) return a[1] < b[1] end)
    return list
end

-- ---- against PyTorch ----

local function set(m, row)
    m:to("f64")
    g.no_grad(function()
        for k, it in ipairs(sorted(m:named_parameters())) do
            it[2]:copy_(fill(it[2].shape, 0.7, k, 0.5))
        end
        if not row.eval then return end
        for k, it in ipairs(sorted(m:named_buffers())) do
            if it[2].dtype == "f64" then it[2]:copy_(fill(it[2].shape, 0.7, k, 0.5):abs() + 0.5) end
        end
    end)
    return row.eval and m:eval() or m
end

local function inputs(row, device)
    if not row.ints then
        local xs = {}
        for i, s in ipairs(row[3]) do
            xs[i] = fill(s, 1.3, 0.5 + i - 1, 1.5):to(device):requires_grad_()
        end
        return xs
    end
    local v = {}
    for j = 0, product(row[3][1]) - 1 do v[j + 1] = j * 7 % row.ints + 1 end
    return { g.tensor(v):view(row[3][1]):to(device) }
end

local function compare(number, row, device)
    local name = ("%s (row %d, %s)"):format(row[1], number, device)
    local m = set(row[2](), row):to(device)
    local xs = inputs(row, device)
    local y = m(table.unpack(xs))
    local flat = y:detach():reshape(-1)
    t.is(y.shape, row.shape, name .. ": the result's shape")
    t.close({ sum(y:detach()), flat[1]:item(), flat[-1]:item() }, row.y, 1e-8,
        name .. ": the result")
    local state, own = m:state_dict(), 0
    for key in pairs(row.grads or {}) do own = own + (state[key] and 1 or 0) end
    t.is({ own, #m:parameters() }, { own, own }, name .. ": names of parameters")
    if row.buffers then
        for key, value in pairs(row.buffers) do
            t.close(sum(m[key]), value, 1e-8, ("%s: %s afterwards"):format(name, key))
        end
    end
    local weights = fill(y.shape, 0.3, math.pi / 2, 1):to(device) -- sin(x + pi/2) is cos(x)
    y:mul(weights):sum():backward()
    for i, value in ipairs(row.dx or {}) do
        t.close(sum(xs[i].grad), value, 1e-7, ("%s: gradient of input %d"):format(name, i))
    end
    for key, p in m:named_parameters() do
        t.close(sum(p.grad), row.grads[key], 1e-7, ("%s: gradient of %s"):format(name, key))
    end
end

for number, row in ipairs(rows) do
    for _, device in ipairs { "cpu", "sim" } do compare(number, row, device) end
end

-- ---- layers that PyTorch 1.13 lacks ----

local x = fill({ 2, 3, 4 }, 1.3, 0.5, 1.5)
local rms = nn.RMSNorm(4, { eps = 1e-3 }):to "f64"
g.no_grad(rms.weight.copy_, rms.weight, g.tensor({ 1, 2, 3, 4 }, f64))
local want = {}
for i, row in ipairs(x:view(6, 4):tolist()) do
    local s = 0
    for _, v in ipairs(row) do s = s + v * v / 4 end
    for j, v in ipairs(row) do want[(i - 1) * 4 + j] = v / math.sqrt(s + 1e-3) * j end
end
t.close(rms(x):detach():reshape(-1), want, 1e-12, "RMSNorm against its formula")
t.is(nn.Unflatten(3, { 2, 2 })(x).shape, { 2, 3, 2, 2 }, "Unflatten")

-- Masks of attention: hidden keys have no weight; a causal mask hides later keys.
local attention = nn.MultiheadAttention(4, 2, { batch_first = true }):to "f64"
local _, share = attention(x, x, x,
    { key_padding_mask = g.tensor { { false, false, true }, { false, true, true } } })
t.is({ share.shape, share[{ 1, 1, 3 }]:item(), share[{ 2, 3, 2 }]:item(),
    share[{ 2, 3, 1 }]:item() }, { { 2, 3, 3 }, 0, 0, 1 },
    "attention: keys that pad are not seen")
local causal = g.ones({ 3, 3 }, { dtype = "bool" }):triu(1)
local y, each = attention(x, x, x, { attn_mask = causal, average_attn_weights = false })
t.is({ each.shape, each:triu(1):abs():sum():item() }, { { 2, 2, 3, 3 }, 0 },
    "attention: nor what a mask forbids, head by head")
t.close(y:select(2, 1):detach(),
    attention(x:narrow(2, 1, 1), x:narrow(2, 1, 1), x:narrow(2, 1, 1)):select(2, 1):detach(), 1e-12,
    "the first query then sees the first key only")
t.is(select("#", attention(x, x, x, { need_weights = false })), 1,
    "weights are left out where they are not needed")
t.is(attention(x[1], x[1], x[1]).shape, { 3, 4 }, "attention without a batch")

local encoder = nn.TransformerEncoder(function()
    return nn.TransformerEncoderLayer(4, 2, 8, { batch_first = true })
end, 2, nn.LayerNorm(4)):to "f64":eval()
t.close(encoder(x):detach(), encoder.norm(encoder.layers[2](encoder.layers[1](x))):detach(), 1e-12,
    "TransformerEncoder is its layers in turn")
-- torch.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.).double(), its k-th parameter (from 0)
-- sin(0.37 * (1, 2 …) + k) * 0.3; of cos(0.7 * (1 … 24)) as 3 x 2 x 4 under src_mask=torch.ones(3,
-- 3, dtype=torch.bool).triu(1), and under
-- src_key_padding_mask=torch.tensor([[False, True, False], [False, False, True]]): the first four
-- results.
local masked = nn.TransformerEncoderLayer(4, 2, 6, { dropout = 0 }):to "f64"
local k = 0
for _, p in masked:named_parameters() do
    g.no_grad(function()
        p:copy_((g.arange(1, p:numel(), f64) * 0.37 + k):sin():reshape(p.shape) * 0.3)
    end)
    k = k + 1
end
local input = (g.arange(1, 24, f64) * 0.7):cos():reshape(3, 2, 4)
t.close(masked(input, causal):detach():reshape(-1):narrow(1, 1, 4),
    { -0.6813207277, -0.1802247079, 0.1599519523, 0.1158747009 }, 1e-9, "src_mask, by place")
t.close(masked(input,
    { src_key_padding_mask = g.tensor { { false, true, false }, { false, false, true } } }):detach()
    :reshape(-1):narrow(1, 1, 4), { -0.6829568518, -0.1696716864, 0.1590349981, 0.1088252702 },
        1e-9, "src_key_padding_mask, by name")
t.error(function() masked(input, { attn_mask = causal }) end,
    "nn_layers.lua:%d+: TransformerEncoderLayer: forward: unknown option 'attn_mask' %(expected \z
        src_mask, src_key_padding_mask%)",
    "a name that is not forward's")
t.is(encoder:state_dict()["layers.2.self_attn.in_proj_weight"].shape, { 12, 4 },
    "and its names are PyTorch's, counted from 1")

-- ---- modes and initialisation ----

g.manual_seed(5)
local drop = nn.Dropout(0.25)
local dropped = drop(g.ones(10000))
t.close(dropped:eq(0):to("f32"):mean():item(), 0.25, 0.02, "Dropout drops its share")
t.close(dropped:amax():item(), 4 / 3, 1e-6, "and makes the rest larger")
local norm = nn.BatchNorm1d(2)
norm(g.ones(3, 2))
norm:eval()(g.ones(3, 2))
t.is(norm.num_batches_tracked:item(), 1,
    "BatchNorm counts the batches that it was trained with, and no others")
-- torch.nn.BatchNorm1d(2, momentum=None) of PyTorch 2.15, after three batches
for _, dev in ipairs { "cpu", "sim" } do
    local x = (g.range(0, 11, { device = dev }) * 7 % 11):to("f64"):view(3, 2, 2)
    local mean = nn.BatchNorm1d(2, { momentum = false, dtype = "f64", device = dev })
    for _, k in ipairs { 1, 2, 4 } do mean(x * k + k) end
    t.close(mean.running_mean:tolist(), { 11.666666666666668, 14.38888888888889 }, 1e-12,
        "the mean of all batches' means on " .. dev)
    t.close(mean.running_var:tolist(), { 81.2, 99.16666666666667 }, 1e-12, "and variances")
    t.close(mean:eval()(x)[1]:tolist(), { { -1.2946988083310558, -0.5178795233324224 },
        { -1.1436640676357552, -0.4407290797230472 } }, 1e-12, "which evaluation uses")
end
t.error(function() nn.BatchNorm2d(3, { momentum = true }) end,
    "nn.BatchNorm2d: option 'momentum': expected a number, or false for the mean of all batches",
    "true is no momentum")
t.is(drop:eval()(g.ones(3)):tolist(), { 1, 1, 1 }, "and does nothing in evaluation")

for d = 1, 3 do -- channels are dropped whole, each sample's own
    for _, shape in ipairs { { 20, 30, 2, 2, 2 }, { 600, 2, 2, 2 } } do
        local x = g.ones(table.unpack(shape, 1, #shape - 3 + d))
        local y = nn["Dropout" .. d .. "d"](0.25)(x):view(600, -1)
        t.ok(y:amin(2):equal(y:amax(2)), ("Dropout%dd drops whole channels"):format(d))
        t.close(y:amin(2):eq(0):to("f32"):mean():item(), 0.25, 0.06, "a quarter of them")
        t.close(y:amax():item(), 4 / 3, 1e-6, "and makes the rest larger")
    end
end

-- Largest magnitude and deviation of w relative to the limit it was drawn within.
local function spread(w, bound)
    return w:abs():amax():item() / bound, w:std():item() / bound
end
for _, it in ipairs { { nn.Linear(100, 400), 1 / 10 }, { nn.Conv2d(4, 200, 5), 1 / 10 },
    { nn.Conv2d(8, 200, 5, { groups = 2 }), 1 / 10 },
    { nn.ConvTranspose2d(40, 4, 5), 1 / 10 }, { nn.LSTM(30, 100), 1 / 10, "weight_hh_l0" } } do
    local most, deviation = spread(it[1][it[3] or "weight"]:detach(), it[2])
    t.ok(most <= 1 and most > 0.99, nn.class_of(it[1]) .. " starts within PyTorch's bound")
    t.close(deviation, 1 / math.sqrt(3), 0.02, "evenly")
end
t.close(nn.Embedding(100, 100).weight:std():item(), 1, 0.03, "Embedding starts normal")
local init = nn.init
local w = g.zeros(200, 100, { requires_grad = true })
for name, it in pairs { kaiming_uniform_ = { math.sqrt(6 / 100), 1 / math.sqrt(3) },
    xavier_uniform_ = { math.sqrt(6 / 300), 1 / math.sqrt(3) } }
do
    local most, deviation = spread(init[name](w):detach(), it[1])
    t.ok(most <= 1 and most > 0.99 and math.abs(deviation - it[2]) < 0.02, name)
end
t.close(init.kaiming_normal_(w, { mode = "fan_out", nonlinearity = "relu" }):std():item(),
    math.sqrt(2 / 200), 0.02, "kaiming_normal_")
t.close(init.xavier_normal_(w, 2):std():item(), 2 * math.sqrt(2 / 300), 0.02, "xavier_normal_")
t.close(init.kaiming_normal_(w, { a = math.sqrt(5) }):std():item(), math.sqrt(1 / 300), 0.02,
    "kaiming_normal_ of a slope")
init.trunc_normal_(w, 1, 2, 0, 4)
t.ok(w:amin():item() >= 0 and w:amax():item() <= 4, "trunc_normal_ stays in its range")
-- The mean of a normal (1, 2) within [0, 4]: 1 + 2 (phi(-1/2) - phi(3/2)) / (Phi(3/2) - Phi(-1/2))
t.close(w:mean():item(), 1 + 2 * (0.3520653268 - 0.1295175957) / (0.9331927987 - 0.3085375387),
    0.02, "about the mean of that")
t.ok(w.is_leaf and w.requires_grad, "and records nothing")
for _, shape in ipairs { { 6, 4 }, { 4, 6 }, { 4, 2, 3 } } do
    local q = init.orthogonal_(g.zeros(shape), 2):view(shape[1], -1)
    local small = shape[1] > 4 and q:t():matmul(q) or q:matmul(q:t())
    t.close(small, (g.eye(4) * 4), 1e-5,
        "orthogonal_: rows or columns at right angles, of length gain")
end
t.is({ init.constant_(w, 3)[1][1]:item(), init.zeros_(w):sum():item(),
    init.ones_(w):mean():item() }, { 3, 0, 1 }, "constants")
t.close(init.uniform_(w, 2, 4):mean():item(), 3, 0.01, "uniform_")
t.close(init.normal_(w, 5, 2):mean():item(), 5, 0.02, "normal_")
t.error(function() init.xavier_normal_(g.zeros(3)) end,
    "nn.init.xavier_normal_: the tensor has 1 dims %(expected at least 2", "of too few dims")
t.error(function() init.kaiming_normal_(w, { mode = "in" }) end,
    "option 'mode': expected 'fan_in' or 'fan_out', got 'in'", "of no mode")
-- PyTorch's order and names.
local f64 = g.zeros(200, 100, { dtype = "f64" })
t.close(init.kaiming_normal_(f64, math.sqrt(5), "fan_out", "leaky_relu"):std():item(),
    math.sqrt(2 / 6 / 200), 0.02, "by position")
t.close(init.uniform_(f64, { a = 2, b = 4 }):mean():item(), 3, 0.01, "uniform_ by name")
t.close(init.normal_(f64, { mean = 5 }):mean():item(), 5, 0.02, "normal_ by name")
t.is(init.constant_(f64, { val = 3 })[1][1]:item(), 3, "constant_ by name")
t.is(init.trunc_normal_(f64, { a = 1, b = 1 })[1][1]:item(), 1, "trunc_normal_ by name")
t.is(init.orthogonal_(g.zeros(0, 3)):numel(), 0, "nothing to fill")
t.error(function() init.uniform_(3) end,
    "nn_layers.lua:%d+: nn.init.uniform_: argument 'tensor' %(#1%): expected a tensor, got 3",
        "no tensor")
t.error(function() init.normal_(w, "1") end,
    "nn_layers.lua:%d+: nn.init.normal_: argument 'mean' %(#2%): expected a number, got '1'",
        "no number")
t.error(function() init.normal_(w, { sd = 1 }) end,
    "nn_layers.lua:%d+: nn.init.normal_: unknown option 'sd' %(expected mean, std%)",
        "an unknown option")
t.error(function() init.constant_(w) end,
    "nn.init.constant_: argument 'val' %(#2%): expected a number, got nothing", "without a value")
t.error(function() init.zeros_(w, 1) end, "nn.init.zeros_: 2 arguments given, at most 1 expected",
    "one too many")
t.error(function() init.trunc_normal_(w, 0, 0) end, "nn.init.trunc_normal_: option 'std' is 0",
    "no spread")
t.error(function() init.calculate_gain "gelu" end, "no gain is known for 'gelu'", "of no gain")

-- ---- options ----

local ones = g.tensor { -1.0, 2.0 }
local over = nn.ReLU { inplace = true }
t.ok(rawequal(over(ones), ones) or ones[1]:item() == 0,
    "ReLU{inplace = true} writes over its input")
t.is(nn.LeakyReLU(0.5, true)(g.tensor { -2.0 }):tolist(), { -1 },
    "an activation with a parameter and inplace")
t.is(select("#", nn.MaxPool2d(2, { return_indices = true })(g.ones(1, 1, 4, 4))), 2,
    "MaxPool2d gives indices if asked")
t.is(nn.Sequential()(ones):tolist(), ones:tolist(), "an empty Sequential changes nothing")
local half = nn.Linear(3, 2, { dtype = "f16", device = "sim" })
t.is({ half.weight.dtype, half.bias.device }, { "f16", "sim:0" }, "dtype and device of a layer")

local loss = nn.CrossEntropyLoss { weight = g.tensor { 1.0, 2, 3 }, ignore_index = -1 }
local scores, labels = g.randn(4, 3), g.tensor { 1, 3, -1, 2 }
t.is(loss(scores, labels):item(),
    g.cross_entropy(scores, labels, g.tensor { 1.0, 2, 3 }, -1):item(), "a loss with its options")
t.ok(loss:buffers()[1]:numel() == 3 and loss:to("sim").weight.device == "sim:0",
    "whose weight moves with it")
local a, b, c = g.tensor { { 0.2, 0.7 } }, g.tensor { { 0.5, 0.4 } }, g.tensor { { 1.0, -1.0 } }
for name, it in pairs { MSELoss = { 0.09, a, b }, L1Loss = { 0.3, a, b },
    SmoothL1Loss = { 0.045, a, b }, HuberLoss = { 0.045, a, b },
    BCELoss = { -(0.5 * math.log(0.2) + 0.5 * math.log(0.8) + 0.4 * math.log(0.7) +
        0.6 * math.log(0.3)) / 2, a, b },
    BCEWithLogitsLoss = { (math.log(1 + math.exp(0.2)) - 0.1 + math.log(1 + math.exp(0.7)) - 0.28) /
        2, a, b },
    NLLLoss = { -0.7, a, g.tensor { 2 } },
    KLDivLoss = { (0.5 * (math.log(0.5) - 0.2) + 0.4 * (math.log(0.4) - 0.7)) / 2, a, b },
    PoissonNLLLoss = { (math.exp(0.2) - 0.1 + math.exp(0.7) - 0.28) / 2, a, b },
    SoftMarginLoss = { (math.log(1 + math.exp(-0.2)) + math.log(1 + math.exp(0.7))) / 2, a, c },
    HingeEmbeddingLoss = { (0.2 + 0.3) / 2, a, c },
    MarginRankingLoss = { (0.3 + 0.3) / 2, a, b, c },
    GaussianNLLLoss = { (math.log(2) + 0.045 + math.log(2) + 0.045) / 4, a, b,
        g.tensor { { 2.0, 2.0 } } },
    CosineEmbeddingLoss = { 1 - (0.1 + 0.28) / math.sqrt(0.53 * 0.41), a, b, g.tensor { 1 } },
    TripletMarginLoss = { 1 + math.sqrt(0.18) - math.sqrt(0.64 + 2.89), a, b, c } } do
    local m = nn[name]()
    t.close(m(it[2], it[3], it[4]):item(), name == "TripletMarginLoss" and 0 or it[1], 1e-5, name)
    t.ok(nn[name] { reduction = "none" }(it[2], it[3], it[4]):numel() >= 1,
        name .. " with an option")
end

-- ---- three more schemes: the values by hand ----

t.is(init.eye_(g.empty(2, 3)):tolist(), { { 1, 0, 0 }, { 0, 1, 0 } }, "eye_")
do
    local x = g.randn(1, 2, 4, 5)
    local w = init.dirac_(g.empty(3, 2, 3, 3))
    t.close(x:conv2d(w, nil, 1, 1):narrow(2, 1, 2), x, 0, "dirac_ lets channels pass")
    t.is(w:sum():item(), 2, "one for each channel that both have")
    t.is(init.dirac_(g.empty(4, 1, 3), 2):select(3, 2):tolist(), { { 1 }, { 0 }, { 1 }, { 0 } },
        "in groups")
    local sparse = init.sparse_(g.empty(10, 4), 0.25, 2)
    t.is(sparse:eq(0):sum(1):tolist(), { 3, 3, 3, 3 }, "sparse_: 0.25 of 10, rounded up")
    t.error(function() init.eye_(g.empty(2)) end, "nn.init.eye_: the tensor has 1 dims")
    t.error(function() init.dirac_(g.empty(3, 2, 1), 2) end, "3 outputs cannot be split into 2")
end

-- ---- against PyTorch 2.15 in f64 ----

-- By the order of names, element i of parameter n is ((i * 7 + 3 n) % 11 - 5) / 20; inputs are
-- ((i * 5) % 13 - 6) / 6. Each result is known by its sum and by that of its elements times 0, 1, …
do
    local function fill(m)
        local list = {}
        for name, p in m:double():named_parameters() do list[#list + 1] = { name, p } end
        table.sort(list, function(x, y) return x[1] < y[1] end)
        for n, it in ipairs(list) do
            local values = {}
            for i = 1, it[2]:numel() do values[i] = ((i * 7 - 7 + 3 * n - 3) % 11 - 5) / 20 end
            g.no_grad(function()
                it[2]:copy_(g.tensor(values, { dtype = "f64" }):view(it[2].shape))
            end)
        end
        return m
    end
    local function v(...)
        local values, shape = {}, { ... }
        local n = g.empty(shape):numel()
        for i = 1, n do values[i] = (i * 5 - 5) % 13 / 6 - 1 end
        return g.tensor(values, { dtype = "f64" }):view(shape)
    end
    local function is(y, sum, weighted, name)
        local i = g.arange(0, y:numel() - 1):view(y.shape)
        t.close({ y:sum():item(), (y * i):sum():item() }, { sum, weighted }, 1e-8, name)
    end
    local function backward(y) y:pow(2):sum():backward() end

    local hidden = g.tensor { { false, false, true, false }, { false, false, false, false } }
    for _, it in ipairs { { false, 4.905334268, 126.3937903, -0.03040365719, -1.388468506 },
        { true, 3.01098417, 72.40364348, 0.1184521448, 52.45533052 } } do
        local m = fill(nn.TransformerDecoderLayer(8, 2, 16,
            { dropout = 0, norm_first = it[1], activation = "gelu" }))
        local y = m(v(3, 2, 8), v(4, 2, 8), { memory_key_padding_mask = hidden,
            tgt_mask = nn.Transformer.generate_square_subsequent_mask(3, "f64") })
        is(y, it[2], it[3], "a decoder layer")
        backward(y)
        is(m.multihead_attn.in_proj_weight.grad, it[4], it[5], "and its gradients")
    end
    local m = fill(nn.Transformer(8, 2, 2, 2, 16, { dropout = 0, batch_first = true })):eval()
    is(m(v(2, 3, 8), v(2, 4, 8),
        { tgt_mask = nn.Transformer.generate_square_subsequent_mask(4, "f64") }),
        1.404855509, 23.34978278, "a transformer")
    is(nn.TransformerDecoder(m.decoder.layers[1], 1)(v(2, 4, 8), v(2, 3, 8)):eq(
        m.decoder.layers[1](v(2, 4, 8), v(2, 3, 8))):double(), 64, 2016, "of copies of a layer")

    m = nn.utils.weight_norm(fill(nn.Linear(3, 4)))
    g.no_grad(function() m.weight_g:mul_(2) end)
    local y = m(v(2, 3))
    is(y, 2, 8.166666667, "weight_norm")
    backward(y)
    is(m.weight_g.grad, 1.956313515, 4.064232726, "the gradient of its lengths")
    is(m.weight_v.grad, 1.375303807, 23.89132246, "and of its directions")
    t.is(#m:parameters(), 3, "the weight itself is no parameter")
    local other = m:deepcopy()
    t.is(nn.utils.remove_weight_norm(m)(v(2, 3)):eq(y):all():item(), true, "removed: the same")
    t.is(#m:parameters() .. " " .. #other:parameters(), "2 3", "of two parameters; a copy keeps 3")
    t.error(function() nn.utils.remove_weight_norm(m) end, "'weight' of Linear is not computed")
    t.error(function() nn.utils.weight_norm(m, "other") end, "Linear has no parameter 'other'")

    m = nn.utils.spectral_norm(fill(nn.ConvTranspose2d(2, 3, 2)))
    g.no_grad(function()
        m.weight_u:copy_(g.tensor({ 0.6, 0.8, 0 }, { dtype = "f64" }))
        m.weight_v:fill_(8 ^ -0.5)
    end)
    y = m(v(1, 2, 3, 3))
    is(y, -4.038826097, -45.25284504, "spectral_norm")
    backward(y)
    is(m.weight_orig.grad, -9.248787128, 130.2109435, "its gradient")
    is(m.weight_u, 0.3291105465, -0.8003370108, "and its vector")
    t.close(nn.utils.remove_spectral_norm(m).weight, m.weight, 0, "removed")

    is(fill(nn.Bilinear(2, 3, 4))(v(5, 2), v(5, 3)), 0.5541666667, 6.701388889, "Bilinear")
    is(nn.Unfold({ 2, 3 }, { dilation = { 1, 2 }, padding = 1, stride = { 2, 1 } })(v(2, 3, 5, 6)),
        -7 / 6, 58.66666667, "Unfold")
    is(nn.ReflectionPad2d({ 1, 2, 0, 1 })(v(1, 2, 3, 4)), 5, 125, "ReflectionPad2d")
    is(nn.ReplicationPad3d(1)(v(1, 2, 3, 4, 2)), 1, 812.5, "ReplicationPad3d")
    is(nn.ConstantPad1d(2, 3.5)(v(2, 3)), 28, 188.8333333, "ConstantPad1d")
    is(nn.UpsamplingBilinear2d { scale_factor = 2 }(v(1, 2, 3, 4)), 3.885714286, 259.2380952,
        "UpsamplingBilinear2d")
    local pad = nn.utils.rnn.pad_sequence
    is(pad({ v(2, 3), v(4, 3) }, { padding_value = 9 }), 53.66666667, 872.3333333, "pad_sequence")
    is(pad({ v(2, 3), v(4, 3) }, { batch_first = true, padding_side = "left" }), -1 / 3, 10 / 3,
        "on the left")
    local list = { v(2, 3), v(4) }
    g.nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(list) * 2, list)
    is(list[1], v(2, 3):sum():item() * 2, (v(6) * 2 * g.arange(0, 5)):sum():item(),
        "parameters as a vector, and back")
end

-- ---- containers by name ----

do
    local d = nn.ModuleDict { { "b", nn.Linear(2, 3) }, { "a", nn.ReLU() } }
    t.is(table.concat(d:keys(), " ") .. #d, "b a2", "a list of pairs keeps its order")
    t.is(table.concat(nn.ModuleDict { b = nn.ReLU(), a = nn.Tanh() }:keys(), " "), "a b",
        "a table of names is sorted")
    d:update { c = nn.Linear(3, 1) }
    local names = {}
    for name, module in d:items() do names[#names + 1] = name .. nn.class_of(module) end
    t.is(table.concat(names, " "), "bLinear aReLU cLinear", "items")
    names = {}
    for name in pairs(d) do names[#names + 1] = name end
    t.is(table.concat(names, " "), "b a c", "pairs")
    t.is(d.c(d.a(d["b"](g.ones(2)))).shape, { 1 }, "its modules are its fields")
    t.is(#d:parameters(), 4, "whose parameters count")
    local same = nn.ModuleDict { b = nn.Linear(2, 3), c = nn.Linear(3, 1), a = nn.ReLU() }
    same:load_state_dict(d:state_dict())
    t.ok(g.equal(same.b.weight, d.b.weight), "and are saved by name")
    t.is(nn.class_of(d:pop "b") .. #d .. #d:parameters(), "Linear22", "pop")
    t.error(function() d:pop "b" end, "ModuleDict: pop: there is no 'b'")
    t.error(function() d:update { train = nn.ReLU() } end,
        "'train' is a name that every module has")
    t.error(function() d:update { x = 3 } end, "ModuleDict: 'x': expected a module, got number")
    t.error(function() d:update { ["a.b"] = nn.ReLU() } end, "a name is 'a.b'")
    local p = nn.ParameterDict { w = g.ones(2, 3), b = g.zeros(3):requires_grad_() }
    t.is(#p:parameters() .. tostring(p.w.requires_grad), "2true", "ParameterDict")
    local list = nn.ParameterList { g.ones(2), g.zeros(1) }:append(g.ones(3))
    t.is(#list .. " " .. #list:parameters(), "3 3", "ParameterList")
    t.is(tostring(list:to("f64")[3].dtype), "f64", "which moves")
    t.error(function() nn.ParameterList { 3 } end,
        "argument 'value' %(#1%): expected a tensor, got 3")
end

-- ---- bad arguments ----

for _, it in ipairs { { function() nn.Conv2d(3, 4, 3, { groups = 2 }) end,
    "nn.Conv2d: 3 to 4 channels cannot be split into 2 groups" },
    { function() nn.Conv2d(3, 4, 3, { padding_mode = "odd" }) end,
        "padding_mode: expected 'zeros'.*got 'odd'" },
    { function() nn.GroupNorm(2, 3) end, "nn.GroupNorm: 3 channels cannot be split into 2 groups" },
    { function() nn.Dropout(2) end, "nn.Dropout: p: expected 0 to 1, got 2" },
    { function() nn.Dropout2d(-1) end, "nn.Dropout2d: p: expected 0 to 1, got %-1" },
    { function() nn.Dropout2d()(g.ones(2, 3)) end,
        "Dropout2d: x has 2 dims %(expected 4, or 3 without samples%)" },
    { function() nn.MultiheadAttention(4, 3) end, "embed_dim 4 is no multiple of num_heads 3" },
    { function() nn.TransformerEncoderLayer(4, 2, { activation = "tanh" }) end,
        "activation: expected 'relu' or 'gelu', got 'tanh'" },
    { function() nn.TransformerEncoder(3, 1) end, "argument 'make' %(#1%): expected a function" },
    { function() nn.Embedding(4, 2, 5) end, "padding_idx: expected 1 to 4" },
    { function() nn.Sequential(3) end, "nn.Sequential: entry 1: expected a module, got number" },
    { function() nn.Sequential(nn.Linear(1, 1), nn.ReLU) end,
        "nn.Sequential: entry 2: expected a module, got the class nn.ReLU %(write nn.ReLU%(%)%)" },
    { function() nn.Sequential(nn.ReLU) end,
        "nn.Sequential: entry 1: expected a module, got the class nn.ReLU %(write nn.ReLU%(%)%)" },
    { function() nn.ModuleList { nn.Identity(), "x" } end,
        "nn.ModuleList: entry 2: expected a module, got string" },
    { function() nn.Linear(2, 2, { wide = true }) end, "nn.Linear: unknown option 'wide'" },
    { function() nn.Conv2d(3, 4, 3)(g.ones(1, 2, 5, 5)) end,
        "Conv2d: conv2d: the weight 4x3x3x3 takes 3 channels, the image 1x2x5x5 has 2 in 1 group" },
    { function() nn.LayerNorm(4)(g.ones(2, 3)) end, "LayerNorm: layer_norm: .*4.*2x3" },
    { function() nn.LSTM(3, 4)(g.ones(5, 2, 3), g.ones(1, 2, 4)) end,
        "LSTM: the state is a tensor %(expected {h, c}: y, h, c = lstm" },
    { function() nn.LSTM(3, 4)(g.ones(5, 2, 7)) end, "LSTM: x is 5x2x7 %(expected 3 features" },
    { function() nn.InstanceNorm1d(3)(g.ones(2, 4, 5)) end,
        "InstanceNorm1d: x is 2x4x5 %(expected 3 channels" },
    { function() nn.GRUCell(3, 4)(g.ones(5, 7)) end, "GRUCell: x is 5x7 %(expected 3 features" },
    { function() nn.BatchNorm2d(3)(g.ones(2, 4, 5, 5)) end,
        "BatchNorm2d: x is 2x4x5x5 %(expected 3 channels" },
    { function() nn.GroupNorm(3, 3)(g.ones(2, 6, 5)) end,
        "nn_layers.lua:%d+: GroupNorm: x is 2x6x5 %(expected 3 channels" },
    { function() nn.Embedding(3, 2)(g.tensor { 4 }) end, "Embedding: embedding: index 4" },
    { function() nn.NLLLoss { reduction = "half" }(a, g.tensor { 1 }) end, "NLLLoss: nll_loss: " } }
    do
    t.error(it[1], it[2])
end
t.done()
