--!plain
-- What ops cost, as profile.run{flops = true} says. Counts of products, convolutions and attention
-- are those that PyTorch 2.15's FlopCounterMode gave for the same shapes; the others were counted
-- by hand from the formula or the textbook.
local t = require "tap"
local g = require "gpush"
local r = g.randn

-- The costs of the ops that fn runs, by name: {operations, bytes}.
local function costs(fn)
    local prof, by = g.profile.run({ flops = true }, fn), {}
    for _, row in ipairs(prof:rows()) do by[row.name] = { row.flops, row.bytes } end
    return by
end

-- fn's op costs that many operations and, where given, bytes.
local function costs_of(name, fn, flops, bytes)
    local is = costs(fn)[name] or { "not run" }
    t.is(is[1], flops, name .. ": operations")
    if bytes then t.is(is[2], bytes, name .. ": bytes") end
end
local function num(v) return v + 0.0 end

-- ---- products, convolutions, attention: PyTorch's counts ----
local a, b, c = r(33, 65), r(65, 17), r(17)
costs_of("matmul", function() return a:matmul(b) end, num(72930),
    num(4 * (33 * 65 + 65 * 17 + 33 * 17)))
costs_of("mm", function() return a:mm(b) end, num(72930))
costs_of("addmm", function() return c:addmm(a, b) end, num(72930))
local ab, bb = r(5, 33, 65), r(5, 65, 17)
costs_of("bmm", function() return ab:bmm(bb) end, num(364650))
local weight = r(17, 65)
costs_of("linear", function() return a:linear(weight, c) end, num(72930))
costs_of("dot", function() return c:dot(c) end, num(34))
costs_of("mv", function() local v = b:t()[1] return a:mv(v) end, num(2 * 33 * 65))

local x, w = r(2, 6, 19, 23), r(8, 3, 3, 5)
costs_of("conv2d", function() return x:conv2d(w, { stride = 2, padding = 1, groups = 2 }) end,
    num(158400), num(4 * (2 * 6 * 19 * 23 + 8 * 3 * 3 * 5 + 2 * 8 * 10 * 11)))
local x1, w1, x3, w3 = r(2, 6, 19), r(8, 6, 3), r(2, 6, 9, 10, 11), r(8, 6, 3, 3, 3)
costs_of("conv1d", function() return x1:conv1d(w1) end, num(9792))
costs_of("conv3d", function() return x3:conv3d(w3) end, num(2612736))
local xt, wt = r(2, 6, 9, 11), r(6, 4, 3, 5)
costs_of("conv_transpose2d", function() return xt:conv_transpose2d(wt, { stride = 2 }) end,
    num(142560))

-- Forward and backward together.
local function with_grads(...)
    local xs = { ... }
    for k, v in ipairs(xs) do xs[k] = v:detach():clone():requires_grad_() end
    return table.unpack(xs)
end
local function total(fn)
    local sum = 0
    for name, it in pairs(costs(fn)) do
        if name:match "mat?mu?l?$" or name:match "conv" or name:match "attention" then
            sum = sum + it[1]
        end
    end
    return sum
end
local ga, gb = with_grads(a, b)
t.is(total(function() ga:matmul(gb):sum():backward() end), num(218790),
    "matmul, forward and backward")
local gx, gw = with_grads(x, r(8, 6, 3, 5))
t.is(total(function() gx:conv2d(gw, { stride = 2, padding = 1 }):sum():backward() end),
    num(950400), "conv2d, forward and backward")
gx, gw = with_grads(xt, wt)
t.is(total(function() gx:conv_transpose2d(gw, { stride = 2 }):sum():backward() end), num(427680),
    "conv_transpose2d, forward and backward")

local q, k, v = r(2, 3, 40, 16), r(2, 3, 50, 16), r(2, 3, 50, 24)
costs_of("attention", function() return g.attention(q, k, v) end, num(960000))
costs_of("attention", function() return g.attention(q, k, v, { is_causal = true }) end,
    num(2 * 2 * 3 * (40 * 41 // 2) * (16 + 24)))
q, k, v = with_grads(q, k, v)
local parts = costs(function() g.attention(q, k, v):sum():backward() end)
t.is(parts.attention_backward and parts.attention_backward[1], num(2304000),
    "attention_backward: operations")

-- ---- formulas: operators, choices and functions of the row ----
local n <const> = 1000
local e, f = r(n), r(n)
local each = { relu = 2, exp = 1, sigmoid = 4, tanh = 1, square = 1, reciprocal = 1, neg = 1,
    softsign = 5, isnan = 1, erf = 1, rsqrt = 2, hardswish = 8 }
for name, ops in pairs(each) do
    costs_of(name, function() return e[name](e) end, num(ops * n),
        num(name == "isnan" and 5 * n or 8 * n))
end
for name, ops in pairs { add = 1, mul = 1, atan2 = 1, squared_error = 3, lt = 1, hypot = 1 } do
    costs_of(name, function() return e[name](e, f) end, num(ops * n),
        num(name == "lt" and 9 * n or 12 * n))
end
costs_of("lerp", function() return e:lerp(f, e) end, num(12 * n), num(16 * n))
costs_of("addcmul", function() return e:addcmul(e, f) end, num(3 * n), num(16 * n))
costs_of("leaky_relu", function() return e:leaky_relu(0.1) end, num(3 * n), num(8 * n))
costs_of("add_", function() return e:add_(f) end, num(n), num(12 * n))
local halves = e:to "f16"
costs_of("mul", function() return halves * 2 end, num(n), num(4 * n))
local row, column = r(1, n), r(10, 1)
costs_of("mul", function() return row * column end, num(10 * n), num(4 * (n + 10 + 10 * n)))
local expanded = row:expand(10, n)
costs_of("exp", function() return expanded:exp() end, num(10 * n), num(4 * (n + 10 * n)))
local leaf = r(n):requires_grad_()
local back = costs(function() leaf:sigmoid():sum():backward() end)
t.is(back.sigmoid_dx[1], num(3 * n), "the derivative's formula: g * y * (1 - y)")

-- ---- reductions and views ----
local m = r(10, n)
costs_of("sum", function() return m:sum() end, num(10 * n), num(40 * n + 4))
costs_of("mean", function() return m:mean(2) end, num(10 * n + 10), num(40 * n + 40))
costs_of("amax", function() return m:amax(1) end, num(4 * 10 * n), num(40 * n + 4 * n))
for name, fn in pairs { transpose = function() return m:transpose(1, 2) end,
    view = function() return m:view(n, 10) end, narrow = function() return m:narrow(2, 1, 5) end }
do
    costs_of(name, fn, 0.0, 0.0)
end
costs_of("copy", function() return m:t():contiguous() end, 0.0, num(80 * n))
local steps = g.fuse(function(u, s) return (u * s + 1):relu() end)
steps(e, f)
local fused = costs(function() return steps(e, f) end)
t.is(fused["mul+add+relu"], { num(4 * n), num(12 * n) }, "a fused chain: its steps, and its ends")

-- ---- others ----
costs_of("softmax", function() return m:softmax(2) end, num(5 * 10 * n), num(80 * n))
local lw, lb = r(n), r(n)
costs_of("layer_norm", function() return m:layer_norm({ n }, lw, lb) end, num(8 * 10 * n),
    num(80 * n + 8 * n))
local img = r(2, 3, 8, 8)
costs_of("max_pool2d", function() return img:max_pool2d(2) end, num(2 * 3 * 4 * 4 * 4),
    num(4 * (2 * 3 * 64 + 2 * 3 * 16)))
local index = g.randint(1, 10, { 500 })
local rows = r(1000, 64)
costs_of("embedding", function() return g.embedding(index, rows) end, 0.0,
    num(8 * 500 + 2 * 4 * 500 * 64))
local big = r(5000, 64)
costs_of("index_select", function() return big:index_select(1, index) end, 0.0,
    num(8 * 500 + 2 * 4 * 500 * 64))
local source = r(500, 64)
costs_of("index_add_", function() return big:index_add_(1, index, source) end, num(500 * 64),
    num(8 * 500 + 3 * 4 * 500 * 64))
costs_of("cat", function() return g.cat({ e, f }) end, 0.0, num(16 * n))
costs_of("sort", function() return e:sort() end, n * math.log(n, 2),
    num((8 + 8) * n + 3 * 2 * 12 * n))
costs_of("cumsum", function() return e:cumsum(1) end, num(n), num(8 * n))
local s = r(4, 20, 30)
costs_of("linalg_qr", function() return g.linalg.qr(s) end,
    4 * 2 * (2 * 30 * 20 ^ 2 - 2 * 20 ^ 3 / 3))
costs_of("linalg_svdvals", function() return g.linalg.svdvals(s) end,
    4 * (4 * 30 * 20 ^ 2 - 4 * 20 ^ 3 / 3))
local sq = r(3, 20, 20)
costs_of("linalg_inv", function() return g.linalg.inv(sq) end, num(3 * 2 * 20 ^ 3))
costs_of("linalg_solve", function() return g.linalg.solve(sq, sq) end,
    3 * (2 * 20 ^ 3 / 3 + 2 * 20 ^ 3))
costs_of("fft_fft", function() return g.fft.fft(r(6, 64)) end, num(5 * 64 * 6 * 6))
costs_of("fft_rfft", function() return g.fft.rfft(r(6, 64)) end, num(2.5 * 64 * 6 * 6))
local lstm = g.nn.LSTM(5, 4)
costs_of("lstm", function() return g.no_grad(function() return lstm(r(7, 3, 5)) end) end,
    num(2 * 7 * 3 * 16 * 9))
costs_of("rand", function() return g.rand(n) end, num(22 * n), num(4 * n))
local p = r(n):requires_grad_()
local sgd = g.optim.SGD({ p }, { lr = 0.1 })
p:sum():backward()
costs_of("sgd_step", function() sgd:step() end, num(6 * n), num(12 * n))

-- ---- in the table ----
local prof = g.profile.run({ flops = true }, function() return a:matmul(b) end)
t.ok(prof:table { width = 200 }:find("72.9 k", 1, true), "the table has the operations")
t.ok(prof:table { width = 200 }:find "GFLOP/s +GB/s", "and rates")
local first = prof:rows { sort = "flops" }[1]
t.is(first.name, "matmul", "rows can be sorted by operations")
t.is(first.flops_per_second, first.flops * 1e9 / first.self_cpu_time_total, "the rate is theirs")
t.is(g.profile.run(function() return a + 1 end):rows()[1].flops, nil, "without flops = true: none")
t.done()
