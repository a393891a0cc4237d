-- Packed sequences: nn.utils.rnn.pack_padded_sequence, pack_sequence, pad_packed_sequence, and RNN,
-- LSTM and GRU on them. Numbers are PyTorch 2.15's; and each sequence alone gives the same.
local t = require "tap"
local g = require "gpush"
local nn = g.nn
local rnn = nn.utils.rnn

-- ((arange(n) * 7) % 11).reshape(shape)
local function image(dev, ...)
    local n = 1
    for _, k in ipairs { ... } do n = n * k end
    return (g.range(0, n - 1, { device = dev }) * 7 % 11):to("f64"):view { ... }
end

-- Two layers in two directions: the outputs' first element of the second layer, h and, for LSTM, c.
local want = {
    RNN = { { 0.684797395, 0.572758945, -0.061059082, 0.256280984, 0.837231585, 0, 0, 0.475215256,
        0, 0, 0.153663469, 0 }, { -0.75754992, 0.814486859, -0.591545483, 0.816496661, -0.833654607,
        0.341293256, 0.080442656, 0.89563439, -0.130777297, 0.971060025, -0.864556285, 0.239689296,
        0.187182321, 0.256280984, -0.053825018, 0.153663469, -0.160385168, -0.061059082,
        -0.169954906, 0.307866509, 0.392261017, 0.476292121, -0.024615182, 0.075880578 } },
    LSTM = { { -0.148485463, -0.175348526, -0.138236979, -0.2322978, -0.263717922, 0, 0,
        -0.295119943, 0, 0, -0.326823014, 0 }, { 0.109674954, -0.433409915, 0.025642719,
        -0.51597809, 0.024045699, -0.090994428, 0.151573821, -0.246611141, 0.191631704,
        -0.478764226, 0.003606364, -0.114121833, 0.070202498, -0.2322978, 0.04213825, -0.326823014,
        0.103228918, -0.138236979, 0.07270395, -0.248869303, 0.068872765, -0.330178771, 0.084907082,
        -0.151648482 }, { 0.138071588, -0.708481886, 0.032036958, -1.0918699, 0.030681759,
        -0.153176679, 0.233038485, -0.692544861, 0.279866466, -1.271980174, 0.004717023,
        -0.202326313, 0.097164489, -0.450136148, 0.058961094, -0.721068454, 0.136254688,
        -0.24934147, 0.097535569, -0.495768609, 0.091426107, -0.775334481, 0.113839278,
        -0.284047194 } },
    GRU = { { -0.039930029, -0.049719186, -0.055645415, -0.071890867, -0.074317794, 0, 0,
        -0.099286629, 0, 0, -0.127590476, 0 }, { 0.192772865, -0.185044811, 0.10030968,
        -0.292268858, 0.024484687, -0.023248508, 0.388877781, -0.247031869, 0.522158206,
        -0.376229993, -0.081707036, -0.054017919, 0.149421209, -0.071890867, 0.096574989,
        -0.127590476, 0.153687484, -0.055645415, 0.191792367, -0.101829961, 0.219006453,
        -0.168686523, 0.19504164, -0.059843129 } },
}
for _, dev in ipairs { "cpu", "sim" } do
    local x = (image(dev, 4, 3, 2) - 4) / 5
    local packed = rnn.pack_padded_sequence(x, { 2, 4, 1 }, { enforce_sorted = false })
    t.is(packed.batch_sizes, { 3, 2, 1, 1 }, "batch sizes on " .. dev)
    t.is({ packed.sorted_indices:tolist(), packed.unsorted_indices:tolist() },
        { { 2, 1, 3 }, { 2, 1, 3 } }, "the order of falling lengths")
    t.close(packed.data:tolist(), { { -0.2, 1.2 }, { -0.8, 0.6 }, { 0.4, -0.4 }, { -0.6, 0.8 },
        { 1, 0.2 }, { 1.2, 0.4 }, { 0.8, 0 } }, 1e-12, "step after step")
    local padded, lengths = rnn.pad_packed_sequence(packed, { padding_value = -1, total_length = 5,
        batch_first = true })
    t.close(padded:flatten():tolist(), { -0.8, 0.6, 1, 0.2, -1, -1, -1, -1, -1, -1, -0.2, 1.2, -0.6,
        0.8, 1.2, 0.4, 0.8, 0, -1, -1, 0.4, -0.4, -1, -1, -1, -1, -1, -1, -1, -1 }, 1e-12,
        "and back, with another padding")
    t.is(lengths:tolist(), { 2, 4, 1 }, "with the lengths")
    for name, numbers in pairs(want) do
        local layer = nn[name](2, 2, 2, { bidirectional = true, dtype = "f64", device = dev })
        local _ <close> = g.no_grad()
        for i, key in ipairs(layer.weight_names) do
            layer[key]:copy_((image(dev, table.unpack(layer[key].shape)) - 5 + (i - 1) % 3) / 9)
        end
        local y, h, c = layer(packed)
        local out = rnn.pad_packed_sequence(y)
        t.close(out:select(3, 2):flatten():tolist(), numbers[1], 1e-8, name .. " on " .. dev)
        t.close(h:flatten():tolist(), numbers[2], 1e-8, "its h_n")
        if c ~= nil then t.close(c:flatten():tolist(), numbers[3], 1e-8, "its c_n") end
    end
end

-- Each sequence alone, states given: the same outputs and states.
g.manual_seed(2)
for _, name in ipairs { "RNN", "LSTM", "GRU" } do
    local o, layers = { dtype = "f64" }, 2
    local layer = nn[name](3, 4, layers, { bidirectional = true, bias = name ~= "GRU",
        dtype = "f64" })
    local list, lengths = {}, { 3, 7, 7, 1, 5 }
    for i, n in ipairs(lengths) do list[i] = g.randn({ n, 3 }, o) end
    local h0, c0 = g.randn({ 2 * layers, 5, 4 }, o), g.randn({ 2 * layers, 5, 4 }, o)
    local function state(h, c) return name == "LSTM" and { h, c } or h end
    local y, h, c = layer(rnn.pack_sequence(list, false), state(h0, c0))
    local out, of = rnn.pad_packed_sequence(y)
    t.is(of:tolist(), lengths, name .. ": lengths come back")
    local far = 0
    for i, n in ipairs(lengths) do
        local own = { layer(list[i]:unsqueeze(2), state(h0:narrow(2, i, 1), c0:narrow(2, i, 1))) }
        local now = { out:narrow(1, 1, n):narrow(2, i, 1), h:narrow(2, i, 1) }
        if c ~= nil then now[3] = c:narrow(2, i, 1) end
        for k = 1, #own do far = math.max(far, (own[k] - now[k]):abs():amax():item()) end
    end
    t.ok(far < 1e-14, ("%s: each sequence is as alone, to %g"):format(name, far))
end

local function leaf(...) return g.randn({ ... }, { dtype = "f64", requires_grad = true }) end
local layer = nn.LSTM(2, 2, 1, { bidirectional = true, dtype = "f64" })
t.ok(g.autograd.gradcheck(function(x, h, c)
    local y, h_n, c_n = layer(rnn.pack_padded_sequence(x, { 3, 1 }, true), { h, c })
    return (rnn.pad_packed_sequence(y)), h_n, c_n
end, { leaf(2, 3, 2), leaf(2, 2, 2), leaf(2, 2, 2) }), "gradients of x and the states")
layer(rnn.pack_padded_sequence(leaf(3, 2, 2), { 3, 2 })).data:sum():backward()
local missing = {}
for _, key in ipairs(layer.weight_names) do
    if layer[key].grad == nil then missing[#missing + 1] = key end
end
t.is(missing, {}, "all weights have gradients")

local drop = nn.GRU(2, 2, 2, { dropout = 1 - 1e-9 })
t.ok(drop(rnn.pack_padded_sequence(g.randn(3, 2, 2), { 3, 2 })).data:isfinite():all():item(),
    "dropout between layers")
t.ok(tostring(rnn.pack_sequence { g.ones(3, 2), g.ones(1, 2) }):find(
    "PackedSequence(2 sequences, 3 steps, data f32 4x2)", 1, true), "what tostring says")

-- ---- errors ----

local x = g.ones(4, 3, 2)
for _, case in ipairs {
    { { 4, 3 }, "2 lengths for 3 sequences" },
    { { 4, 5, 1 }, "length 2 is 5 %(expected an integer from 1 to 4%)" },
    { { 4, 2, 0 }, "length 3 is 0 %(expected an integer from 1 to 4%)" },
    { { 2, 4, 1 }, "length 2 is 4, after 2 %(expected falling ones, or enforce_sorted = false%)" },
    { 4, "argument 'lengths': expected a list or a tensor, got number" },
} do
    t.error(function() rnn.pack_padded_sequence(x, case[1]) end,
        "nn.utils.rnn.pack_padded_sequence: " .. case[2], case[2])
end
local packed = rnn.pack_padded_sequence(x, g.tensor { 4, 3, 1 })
t.error(function() rnn.pad_packed_sequence(x) end, "expected a PackedSequence, got tensor",
    "a tensor is not packed")
t.error(function() rnn.pad_packed_sequence(packed, { total_length = 3 }) end,
    "option 'total_length' is 3 %(expected 4 or more%)", "too short")
t.error(function() nn.LSTM(3, 2)(packed) end, "x is 8x2 %(expected 3 features", "other features")
t.error(function() nn.GRU(2, 2)(packed, g.zeros(1, 2, 2)) end,
    "a state is 1x2x2 %(expected 1x3x2%)", "a state of two sequences")
t.done()
