-- autocast: which dtype each op chooses (the lists are PyTorch's), that gradients flow through the
-- conversions, what the cache keeps, and that scopes end however they are left.
local g = require "gpush"
local t = require "tap"

local DEVICES = { "cpu", "sim" }
g.manual_seed(3)

local function on(device, ...)
    local out = {}
    for i, x in ipairs { ... } do out[i] = x:to(device) end
    return table.unpack(out)
end

-- ---- the lists ----

local m, v = g.rand(4, 4) * 0.8 + 0.1, g.rand(4) * 0.8 + 0.1
local b, image = g.rand(2, 4, 4), g.rand(1, 2, 6, 6)
local signs, labels = g.tensor { 1.0, -1.0, 1.0, -1.0 }, g.tensor { 1, 2, 3, 4 }
local lstm = { g.rand(8, 4), g.rand(8, 2), g.rand(8), g.rand(8) }
local gru = { g.rand(6, 4), g.rand(6, 2), g.rand(6), g.rand(6) }
local rnn = { g.rand(2, 4), g.rand(2, 2), g.rand(2), g.rand(2) }

-- name -> arguments of f32, and the dtype of the (first) result under autocast "bf16"
local low = {
    matmul = { m, m }, mm = { m, m }, bmm = { b, b }, mv = { m, v }, addmm = { m, m, m },
    addmv = { v, m, v }, baddbmm = { b, b, b }, linear = { m, m, v },
    conv1d = { b, g.rand(3, 4, 2) }, conv2d = { image, g.rand(3, 2, 3, 3), g.rand(3) },
    conv3d = { g.rand(1, 2, 3, 3, 3), g.rand(3, 2, 2, 2, 2) },
    conv_transpose1d = { b, g.rand(4, 3, 2) }, conv_transpose2d = { image, g.rand(2, 3, 3, 3) },
    conv_transpose3d = { g.rand(1, 2, 3, 3, 3), g.rand(2, 3, 2, 2, 2) },
    lstm = { b, nil, lstm }, gru = { b, nil, gru }, rnn = { b, nil, rnn },
    lstm_cell = { m, nil, table.unpack(lstm) }, gru_cell = { m, nil, table.unpack(gru) },
    rnn_cell = { m, nil, table.unpack(rnn) }, scaled_dot_product_attention = { b, b, b },
    einsum = { "ij,kj->ik", m, m }, ["linalg.multi_dot"] = { { m, m, m } },
    ["linalg.vecdot"] = { m, m },
}
local wide = {
    acos = { m }, asin = { m }, cosh = { m }, erfinv = { m }, exp = { m }, expm1 = { m },
    log = { m }, log10 = { m }, log1p = { m }, log2 = { m }, pow = { m, m }, reciprocal = { m },
    rsqrt = { m }, sinh = { m }, softplus = { m }, tan = { m }, sum = { m }, prod = { m },
    cumsum = { m, 1 }, cumprod = { m, 1 }, softmax = { m, 1 }, log_softmax = { m, 1 },
    softmin = { m, 1 }, group_norm = { b, 2 }, layer_norm = { m, { 4 } }, rms_norm = { m, { 4 } },
    logsumexp = { m, 1 }, norm = { m }, dist = { m, m }, cdist = { m, m },
    interpolate = { image, 12 }, cosine_similarity = { m, m, 1 }, normalize = { m },
    cross_entropy = { m, labels }, nll_loss = { m, labels }, mse_loss = { m, m },
    l1_loss = { m, m }, smooth_l1_loss = { m, m }, huber_loss = { m, m },
    binary_cross_entropy_with_logits = { m, m }, kl_div = { m, m }, poisson_nll_loss = { m, m },
    soft_margin_loss = { v, signs }, hinge_embedding_loss = { v, signs },
    margin_ranking_loss = { v, v, signs }, cosine_embedding_loss = { m, m, signs },
    triplet_margin_loss = { m, m, m }, ["linalg.vector_norm"] = { m },
    ["linalg.matrix_norm"] = { m }, ["linalg.inv"] = { m }, ["linalg.svdvals"] = { m },
    ["linalg.qr"] = { m }, ["linalg.pinv"] = { m }, ["fft.rfft"] = { m },
}
-- stay as they are: bf16 for bf16, f32 for f32
local free = {
    relu = { m }, tanh = { m }, sigmoid = { m }, gelu = { m }, add = { m, m }, mul = { m, m },
    mean = { m }, amax = { m }, sqrt = { m }, max_pool2d = { image, 2 }, where = { m:gt(0), m, m },
    batch_norm = { b, nil, nil, nil, nil, true }, square = { m }, permute = { m, 2, 1 },
}
local both = { -- of a bf16 and an f32 tensor: f32
    addcmul = { m, m, m }, addcdiv = { m, m, m }, atan2 = { m, m }, dot = { v, v },
    cat = { { m, m } }, stack = { { m, m } }, tensordot = { m, m, 1 },
    cross = { g.rand(2, 3), g.rand(2, 3) }, add = { m, m },
    index_put = { v, { labels }, v }, scatter_add = { v, 1, labels, v },
}

local function converted(args, dtype, device, first)
    local out, n = {}, 0
    for i, x in pairs(args) do
        n = math.max(n, i)
        if g.is_tensor(x) then
            x = x:to(device)
            if x.dtype:find "f" and (not first or i == 1) then x = x:to(dtype) end
        elseif type(x) == "table" and g.is_tensor(x[1]) then
            x = (converted(x, dtype, device, first))
        end
        out[i] = x
    end
    return out, n
end

local function call(name, args, n)
    local area, short = name:match "^(%w+)%.(.+)$"
    local fn = area and g[area][short] or g[name]
    return (fn(table.unpack(args, 1, n)))
end

local function check(list, what, given, expected, device, first)
    for name, args in pairs(list) do
        local xs, n = converted(args, given, device, first)
        local ok, y = pcall(g.autocast, "bf16", call, name, xs, n)
        t.is(ok and y.dtype or y, expected, ("%s is %s on %s"):format(name, what, device))
    end
end
for _, device in ipairs(DEVICES) do
    check(low, "low", "f32", "bf16", device)
    check(wide, "wide", "bf16", "f32", device)
    check(free, "as given", "bf16", "bf16", device)
    check(free, "as given", "f32", "f32", device)
    check(both, "promoted", "bf16", "f32", device, true)
    check(both, "promoted", "bf16", "bf16", device)
end

-- What is chosen is what explicit conversions give.
for name, args in pairs(low) do
    local xs, n = converted(args, "f32", "cpu")
    local hs = converted(args, "f16", "cpu")
    local y = g.autocast("f16", call, name, xs, n)
    t.ok(y.dtype == "f16" and g.equal(y, call(name, hs, n)), name .. " equals that of f16 operands")
end
for name, args in pairs(wide) do
    local hs, n = converted(args, "f16", "cpu")
    local fs = converted(hs, "f32", "cpu")
    local y, want = g.autocast("f16", call, name, hs, n), call(name, fs, n)
    t.ok(y.dtype == "f32" and g.allclose(y, want, 1e-6, 1e-6),
        name .. " equals that of f32 operands")
end

-- ---- what is left alone ----

g.autocast("f16", function()
    t.is(m:double():matmul(m:double()).dtype, "f64", "f64 was asked for, and stays")
    t.error(function() return m:double():matmul(m) end, "f64 and argument 'b' f16",
        "f64 with what was f32 is refused as elsewhere")
    t.is(g.arange(1, 4):sum().dtype, "i64", "integers stay")
    local h = m:half()
    h:exp_()
    t.is(h.dtype, "f16", "in place, the tensor that is written says the dtype")
    t.is(m:half():sum({ dtype = "f64" }).dtype, "f64", "an option dtype that is given counts")
end)
t.error(function() g.autocast("bf16", g.binary_cross_entropy, m, m) end,
    "binary_cross_entropy_with_logits%(scores, target%)", "binary_cross_entropy says what to write")
t.ok(g.binary_cross_entropy(m, m):item() > 0, "and works outside")
t.error(function() g.autocast "f32" end, "expected f16 or bf16")
t.error(function() g.autocast { enable = true } end, "unknown option 'enable'")
t.error(function() g.autocast { enabled = 1 } end, "expected true or false, got number")
t.error(function() g.autocast() end, "autocast")

-- ---- scopes ----

local function dtype() return g.get_autocast_dtype() end
t.is(dtype(), nil, "outside there is none")
do
    local _ <close> = g.autocast "f16"
    t.ok(g.is_autocast_enabled() and dtype() == "f16", "a scope holds in its block")
    t.is(g.autocast("bf16", dtype), "bf16", "the inner one counts")
    t.is(g.autocast({ enabled = false }, dtype), nil, "and may turn it off")
    t.is(g.autocast({ enabled = false }, function() return g.autocast({}, dtype) end), "f16",
        "without a dtype it is that of the scope around")
    pcall(g.autocast, "bf16", error, "left")
    t.is(dtype(), "f16", "an error ends a scope")
end
t.is(dtype(), nil, "and the block's end")
local co = coroutine.wrap(function()
    local _ <close> = g.autocast "bf16"
    coroutine.yield(dtype())
    return dtype()
end)
t.is(co(), "bf16", "a coroutine's scope holds in it")
t.is(dtype(), nil, "and not where it was resumed from")
do
    local _ <close> = g.autocast "f16"
    t.is(co(), "bf16", "it still holds when the coroutine goes on")
    t.is(coroutine.wrap(dtype)(), "f16", "a coroutine inherits the scope that resumed it")
end
co = coroutine.wrap(function()
    local _ <close> = g.autocast "bf16"
    coroutine.yield()
end)
co()
co = nil
collectgarbage()
collectgarbage()
t.is(dtype(), nil, "an abandoned coroutine leaves nothing")
do -- closed in another order than opened
    local a, b2 = g.autocast "f16", g.autocast "bf16"
    getmetatable(a).__close(a)
    t.is(dtype(), "bf16", "the outer one closed first leaves the inner one")
    getmetatable(b2).__close(b2)
    getmetatable(b2).__close(b2)
    t.is(dtype(), nil, "and both closed none")
end
t.is(g.wait(g.fork(function() return g.autocast("bf16", dtype) end)), "bf16",
    "a forked function has its own")

-- ---- gradients ----

for _, device in ipairs(DEVICES) do
    local x, w = on(device, g.rand(5, 4), g.rand(3, 4))
    w:requires_grad_()
    local y = g.autocast("bf16", function() return x:linear(w):exp():sum() end)
    y:backward()
    local w2 = w:detach():clone():requires_grad_()
    x:to("bf16"):linear(w2:to "bf16"):to("f32"):exp():sum():backward()
    t.is(w.grad.dtype, "f32", "a parameter's gradient has its dtype on " .. device)
    t.ok(g.equal(w.grad, w2.grad), "and is that through explicit conversions")
    w.grad = nil
    g.autocast("bf16", function() x:linear(w):exp():sum():backward() end)
    t.ok(g.equal(w.grad, w2.grad), "backward within the scope gives the same")
end

-- ---- the cache ----

local function conversions(fn)
    local n = 0
    local prof = g.profile.run(fn)
    for _, row in ipairs(prof:rows { group = "op" }) do
        if row.name == "to" then n = n + row.count end
    end
    return n
end
local x, w = g.rand(5, 4):bfloat16(), g.rand(4, 4):requires_grad_()
local function twice() return x:matmul(w):matmul(w) end
t.is(conversions(function() g.autocast("bf16", twice) end), 1, "a parameter is converted once")
t.is(conversions(function()
    g.autocast("bf16", function() twice() g.autocast("bf16", twice) end)
end), 1, "and nested scopes share that")
t.is(conversions(function() g.autocast({ dtype = "bf16", cache = false }, twice) end), 2,
    "not without the cache")
t.is(conversions(function() g.autocast("bf16", twice) g.autocast("bf16", twice) end), 2,
    "the outermost scope's end drops it")
t.is(conversions(function() g.autocast("bf16", function()
    local c = w:detach()
    x:matmul(c):matmul(c)
end) end), 2, "only parameters are kept")
g.autocast("bf16", function()
    local before = x:matmul(w):float()
    g.no_grad(function() w:add_(1) end)
    local after = x:matmul(w):float()
    t.ok(g.equal(after, x:float():matmul(w:to("bf16"):float()):to("bf16"):float()),
        "a parameter that was written is converted again")
    t.ok(not g.equal(before, after), "to another value")
end)
g.autocast("bf16", function()
    g.no_grad(function() return x:matmul(w) end)
    local y = x:matmul(w)
    t.ok(y.requires_grad, "a conversion made under no_grad does not cut gradients off")
    y:float():sum():backward()
    local first = w.grad:clone()
    x:matmul(w):float():sum():backward()
    t.ok(g.equal(w.grad, first * 2), "several backwards go through one conversion")
end)

-- ---- checkpoint ----

for _, device in ipairs(DEVICES) do
    local layers = { g.rand(4, 4), g.rand(4, 4) }
    for i, p in ipairs(layers) do layers[i] = p:to(device):requires_grad_() end
    local input = g.rand(6, 4):to(device)
    local function block(h)
        return h:linear(layers[1]):tanh():linear(layers[2]):softmax(-1)
    end
    local function gradients(run, ...)
        for _, p in ipairs(layers) do p.grad = nil end
        run(...)
        return layers[1].grad:clone(), layers[2].grad:clone()
    end
    local function train(how, inside)
        local y
        g.autocast("bf16", function()
            y = (how(block, input) * g.arange(1, 4):to(device)):sum()
            if inside then y:backward() end
        end)
        if not inside then y:backward() end
    end
    local a1, a2 = gradients(train, function(f, h) return f(h) end)
    for _, inside in ipairs { false, true } do
        local b1, b2 = gradients(train, g.autograd.checkpoint, inside)
        t.ok(g.equal(a1, b1) and g.equal(a2, b2), ("checkpoint gives the same gradients, backward \z
            %s the scope, on %s"):format(inside and "in" or "after", device))
    end
end
t.done()
