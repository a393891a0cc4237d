-- Attention by cuDNN on the stand-in for CUDA, whose graphs run op by op
-- (tests/fake_cuda/libs/cudnn_graph.cpp): the cpu's composed results, forward and backward; what
-- cuDNN does not take or cannot do runs by products and kernels of our own.
local t = require "tap"
local fake = require "fake"

-- fn's result, and by op which kernel cuDNN ran (false: another one).
local function watched(fn)
    local out
    local prof, by = profile.run({}, function() out = fn() end), {}
    for _, e in ipairs(prof:events()) do
        local op = e.kind == "kernel" and e.name:match "^attention_?(%a*)$"
        if op then by[op] = e.kernel:match "^cuDNN: (fake_.*)" or by[op] or false end
    end
    return out, by
end

-- Result and gradients as f64 lists, all computed on device in dtype.
local function pass(q, k, v, g, mask, causal, device, dtype)
    local x = {}
    for i, a in ipairs { q, k, v } do
        x[i] = a:detach():to(device):to(dtype):detach():requires_grad_()
    end
    if is_tensor(mask) then mask = mask:to(device):to(dtype) end
    local y = scaled_dot_product_attention(x[1], x[2], x[3], mask, 0, causal)
    y:backward(g:to(device):to(dtype))
    local all = { y:detach() }
    for i = 1, 3 do all[1 + i] = x[i].grad end
    for i, a in ipairs(all) do all[i] = a:to "cpu":to "f64":tolist() end
    return all
end

manual_seed(11)
local names, eps = { "result", "query's gradient", "key's gradient", "value's gradient" },
    { f16 = 4e-3, bf16 = 4e-2, f32 = 1e-5 }
local function compare(what, shapes, dtype, mask, causal, want_by)
    local x = {}
    for i, s in ipairs(shapes) do x[i] = randn(s, { dtype = "f32" }):to "f16":to "f32" end
    local like = { table.unpack(shapes[1]) }
    like[#like] = shapes[3][#like]
    local g = randn(like, { dtype = "f32" })
    local want = pass(x[1], x[2], x[3], g, mask, causal, "cpu", "f64")
    local got,
        by = watched(function() return pass(x[1], x[2], x[3], g, mask, causal, "cuda", dtype) end)
    t.is({ by.forward, by.backward }, want_by, what .. ": who does it")
    for i, name in ipairs(names) do t.close(got[i], want[i], eps[dtype], what .. ": " .. name) end
end

local same, own = { "fake_attention", "fake_attention" }, { false, false }
local four = { { 2, 2, 5, 8 }, { 2, 2, 6, 8 }, { 2, 2, 6, 8 } }
for _, dtype in ipairs { "f16", "bf16" } do
    compare(dtype, four, dtype, nil, false, same)
    compare(dtype .. ", causal", four, dtype, nil, true, same)
    compare(dtype .. ", a mask of keys", four, dtype, randn(2, 1, 1, 6), false, same)
end
compare("a mask for each head", four, "f16", randn(2, 5, 6), false, same)
compare("three dims", { { 2, 3, 16 }, { 2, 7, 16 }, { 2, 7, 24 } }, "f16", nil, false, same)
compare("two dims", { { 3, 8 }, { 4, 8 }, { 4, 8 } }, "bf16", nil, true, same)
compare("f32", four, "f32", nil, false, own)
compare("heads of 4", { { 2, 2, 5, 4 }, { 2, 2, 6, 4 }, { 2, 2, 6, 8 } }, "f16", nil, true, own)
compare("heads of 264", { { 1, 1, 2, 264 }, { 1, 1, 3, 264 }, { 1, 1, 3, 8 } }, "f16", nil, false,
    own)
compare("one key", { { 1, 2, 3, 8 }, { 1, 2, 1, 8 }, { 1, 2, 1, 8 } }, "f16", nil, false, own)
compare("one query, with gradients", { { 1, 2, 1, 8 }, { 1, 2, 3, 8 }, { 1, 2, 3, 8 } }, "f16", nil,
    false, { "fake_attention", false })

-- Where cuDNN does not do it, operands of 16 bits are multiplied as such.
for _, dtype in ipairs { "f16", "bf16", "f32" } do
    local x, kernel = {}, "fake_gemm_" .. dtype
    for i = 1, 3 do
        x[i] = randn(1, 2, 4, 4, { dtype = "f32" }):to(dtype):to "cuda":requires_grad_()
    end
    local prof, names, others = profile.run({}, function()
        scaled_dot_product_attention(x[1], x[2], x[3]):to "f32":sum():backward()
    end), 0, 0
    for _, e in ipairs(prof:events()) do
        local gemm = e.kind == "kernel" and e.kernel:match "fake_gemm_%w+"
        if gemm == kernel then names = names + 1 elseif gemm then others = others + 1 end
    end
    t.is({ names, others }, { 7, 0 }, dtype .. ": seven products of its dtype")
end

-- Heads stored as one row each, as in nn.MultiheadAttention, are read in place.
local function heads()
    return randn(2, 6, 3 * 16, { device = "cuda", dtype = "f32" }):to "f16":unflatten(
        3, { 3, 16 }):transpose(2, 3)
end
local q, k, v = heads(), heads(), heads()
local before = fake.count "launch"
local y = attention(q, k, v)
t.is(fake.count "launch" - before, 1, "rows of heads are read where they lie")
t.close(y:to "cpu":to "f32":tolist(),
    scaled_dot_product_attention(q:to "cpu", k:to "cpu", v:to "cpu"):to "f32":tolist(), 4e-3,
        "and are right")

-- The stand-in's first plan is not deterministic: used where that is allowed.
cuda.deterministic(false)
compare("not deterministic", four, "f16", nil, true,
    { "fake_attention_varying", "fake_attention_varying" })
-- By measuring them: the stand-in's first is slower than its second here.
cuda.benchmark(true)
compare("measured", four, "f16", nil, false, { "fake_attention", "fake_attention" })
cuda.deterministic(true)
compare("measured, deterministic", four, "f16", nil, true, same)
fake.fault "plan=1+"
compare("measured, where no plan can be made", four, "bf16", nil, true, own)
fake.fault "plan=0"
cuda.benchmark(false)

-- No engine, no plan, no memory.
local function other(l) return { { 1, 2, l, 8 }, { 1, 2, 4, 8 }, { 1, 2, 4, 8 } } end
fake.fault "engine=1+"
compare("no engine", other(3), "f16", nil, false, own)
fake.fault "engine=2"
compare("none for the gradients", other(4), "f16", nil, true, { "fake_attention", false })
fake.fault "engine=0 plan=1+"
compare("no plan can be made", other(5), "f16", nil, false, own)
-- An older cuDNN knows the causal gradients with the mask before the stats only.
fake.fault "plan=0 older=1+"
compare("older patterns", other(7), "f16", nil, true, same)
fake.fault "older=0 plan=1+"
compare("no plan for either pattern", other(9), "f16", nil, true, own)
fake.fault "plan=0"
compare("a refused shape is not asked for again", other(5), "f16", nil, false, own)
fake.fault "oom=1"
compare("out of memory once", other(6), "f16", nil, false, same)
-- Masks of bools, dropout, and a mask with a gradient: composed of ops.
local mask = ones(6, 6, { dtype = "bool", device = "cuda" }):tril()
for what, fn in pairs {
    ["a mask of bools"] = function() return scaled_dot_product_attention(q, k, v, mask) end,
    dropout = function() return scaled_dot_product_attention(q, k, v, nil, 0.5) end,
    ["a mask with a gradient"] = function()
        return scaled_dot_product_attention(q, k, v,
            zeros(6, 6, { dtype = "f16", device = "cuda" }):requires_grad_())
    end }
    do
    local _, by = watched(fn)
    t.is(by, {}, what .. " is composed")
end
t.close(scaled_dot_product_attention(q, k, v, mask):to "cpu":to "f32":tolist(),
    scaled_dot_product_attention(q, k, v, nil, 0, true):to "cpu":to "f32":tolist(), 4e-3,
        "a triangle is causal")

-- Deterministic gradients that keep an eighth of the card's memory say so, once.
local script = os.getenv "TMPDIR" .. "/keeps.lua"
local file = assert(io.open(script, "w"))
file:write [[
cuda.deterministic(arg[1] == "same")
local x = randn(1, 8, 360, 8, {device = "cuda", dtype = "f32"}):to "f16":requires_grad_()
for _ = 1, 2 do scaled_dot_product_attention(x, x, x):to "f32":sum():backward() end
]]
file:close()
local function says(how)
    local p = assert(io.popen(("GPUSH_FAKE_MEMORY=%d %s/gpush %s %s 2>&1"):format(15 << 20,
        os.getenv "GPUSH_BUILD", script, how)))
    local text = p:read "a"
    p:close()
    return text
end
local said = says "same"
t.ok(said:find "^gpush: gradients of attention keep 2%.0 MiB of scores here, [^\n]*\n$",
    "scores that are kept are said: " .. said)
t.is(says "any", "", "and none are kept where bits may vary")

-- Layers come here when weights are not asked for.
local layer = nn.MultiheadAttention(16, 2, { batch_first = true }):to "cuda":to "f16"
local x = randn(2, 3, 16, { device = "cuda", dtype = "f32" }):to "f16"
local bare, by = watched(function() return layer(x, x, x, { need_weights = false }):detach() end)
t.is(by.forward, "fake_attention", "nn.MultiheadAttention without weights")
local full = layer(x, x, x)
t.close(bare:to "cpu":to "f32":tolist(), full:detach():to "cpu":to "f32":tolist(), 4e-3,
    "and with them")
t.done()
