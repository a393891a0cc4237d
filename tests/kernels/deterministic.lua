-- Results on the cpu are the same bits for 1 to 4 threads: always where gpush sums itself, and
-- under deterministic(true) where BLAS and LAPACK do.
local t = require "tap"
local g = require "gpush"

local function rand(...) return g.randn { ... } end
local function spd(n, ...)
    local x = rand(n, n, ...)
    return x:matmul(x:t()) / n + g.eye(n) * 2
end

-- The gradients of f's inputs, of a loss that weighs the elements differently.
local function grads(f)
    return function(...)
        local x = { ... }
        for i = 1, #x do x[i] = x[i]:clone():requires_grad_() end
        local y = f(table.unpack(x))
        local w = g.linspace(-1, 1, y:numel()):view_as(y)
        ;(y * w):sum():backward()
        for i = 1, #x do x[i] = x[i].grad end
        return table.unpack(x)
    end
end

local function recurrent(kind, opts)
    g.manual_seed(1)
    local m = nn[kind](40, 48, opts)
    return function(x)
        m:zero_grad()
        local y = m(x)
        y:sum():backward()
        local out = { y:detach() }
        for _, p in ipairs(m:parameters()) do out[#out + 1] = p.grad:clone() end
        return table.unpack(out)
    end
end

-- Made once, so that every number of threads sees the same inputs.
g.manual_seed(7)
local a, b, v = rand(301, 257), rand(257, 199), rand(257)
local long, wide = rand(3000, 130), rand(130, 3000)
local square, many = rand(511, 511) + g.eye(511) * 8, rand(3, 140, 140)
local square64, wide64 = square:to "f64", g.randn({ 130, 300 }, { dtype = "f64" })
local s = spd(200)
local image = rand(4, 8, 40, 40)
local index = g.randint(1, 50, { 40000 })

-- Whose order of sums BLAS or LAPACK choose.
local blas = {
    matmul = { g.matmul, a, b }, tall = { g.matmul, long, wide }, inner = { g.matmul, wide, long },
    matmul_f64 = { g.matmul, a:to "f64", b:to "f64" },
    matmul_f16 = { g.matmul, a:to "f16", b:to "f16" },
    bmm = { g.bmm, many, many }, mv = { g.mv, a, v }, mv_long = { g.mv, wide, rand(3000) },
    mv_f64 = { g.mv, wide:to "f64", g.randn({ 3000 }, { dtype = "f64" }) },
    dot = { g.dot, rand(100000), rand(100000) }, addmm = { g.addmm, rand(301, 199), a, b },
    linear = { g.linear, a, rand(64, 257), rand(64) },
    matmul_grad = { grads(g.matmul), a, b }, linear_grad = { grads(g.linear), long, rand(90, 130) },
    qr = { g.linalg.qr, square }, qr_tall = { g.linalg.qr, long }, lu = { g.linalg.lu, square },
    solve = { g.linalg.solve, square, rand(511, 30) },
    inv = { g.linalg.inv, square }, pinv = { g.linalg.pinv, a },
    lstsq = { g.linalg.lstsq, long, rand(3000, 4) }, det = { g.linalg.det, square / 16 },
    cholesky = { g.linalg.cholesky, s }, eigh = { g.linalg.eigh, s }, svd = { g.linalg.svd, a },
    inv_many = { g.linalg.inv, many }, qr_many = { g.linalg.qr, many },
    solve_f64 = { g.linalg.solve, square64, wide64:new_ones(511, 3) },
    qr_f64 = { g.linalg.qr, square64 }, lu_f64 = { g.linalg.lu, square64 },
    pinv_f64 = { g.linalg.pinv, wide64 }, inv_f64 = { g.linalg.inv, square64 },
    lstm = { recurrent("LSTM", { num_layers = 2 }), rand(30, 20, 40) },
    gru = { recurrent("GRU", { bidirectional = true }), rand(30, 20, 40) },
    rnn = { recurrent("RNN"), rand(30, 20, 40) },
    attention = { grads(g.attention), rand(2, 4, 130, 32), rand(2, 4, 130, 32),
        rand(2, 4, 130, 32) },
    conv2d = { g.conv2d, image, rand(16, 8, 3, 3), rand(16) },
    conv2d_grad = { grads(g.conv2d), image, rand(16, 8, 3, 3), rand(16) },
    conv1d = { grads(g.conv1d), rand(4, 8, 400), rand(16, 8, 5) },
    conv3d = { grads(g.conv3d), rand(2, 4, 12, 12, 12), rand(6, 4, 3, 3, 3) },
    grouped = { grads(function(x, w) return g.conv2d(x, w, { groups = 4 }) end), image,
        rand(16, 2, 3, 3) },
    conv_transpose2d = { grads(g.conv_transpose2d), image, rand(8, 6, 3, 3) },
}

-- Whose order of sums is gpush's own.
local own = {
    sum = { g.sum, long }, sum_1 = { g.sum, long, 1 }, sum_2 = { g.sum, long, 2 },
    mean = { g.mean, long:to "f16" }, var = { g.var, long }, std_1 = { g.std, long, 1 },
    prod = { g.prod, long / 100 + 1 }, norm = { g.norm, long },
    logsumexp = { g.logsumexp, long, 2 }, cumsum = { g.cumsum, long, 1 },
    softmax = { grads(function(x) return x:softmax(2) end), wide },
    layer_norm = { grads(function(x) return g.layer_norm(x, { 130 }) end), long },
    batch_norm = { grads(function(x)
        return g.batch_norm(x, g.zeros(8), g.ones(8), { training = true })
    end), image },
    group_norm = { grads(function(x) return g.group_norm(x, 4) end), image },
    cross_entropy = { grads(function(x) return g.cross_entropy(x, index[{ { 1, 3000 } }]) end),
        long },
    index_add = { function(x) return g.zeros(50, 4):index_add(1, index, x) end, rand(40000, 4) },
    scatter_add = { function(x) return g.zeros(50):scatter_add(1, index, x) end, rand(40000) },
    bincount = { g.bincount, index }, fft = { g.fft.fft, long, nil, 1 },
    max_pool = { grads(function(x) return g.max_pool2d(x, 2) end), image },
    avg_pool = { grads(function(x) return g.avg_pool2d(x, 3) end), image },
    random = { function()
        g.manual_seed(3)
        return g.rand(5000), g.randn(70000), g.randperm(3000)
    end },
}

local function results(case) return table.pack(case[1](table.unpack(case, 2))) end

local function same(x, y)
    if x.n ~= y.n then return false end
    for i = 1, x.n do if not g.equal(x[i], y[i]) then return false end end
    return true
end

-- Runs every case with 1 to 4 threads; returns how many differ from one thread's.
local function compare(cases, what)
    local differing, names = 0, {}
    for name in pairs(cases) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        g.threads(1)
        local one, bad = results(cases[name]), {}
        for n = 2, 4 do
            g.threads(n)
            if not same(one, results(cases[name])) then bad[#bad + 1] = n end
        end
        if #bad > 0 then differing = differing + 1 end
        if what then t.is(table.concat(bad, " "), "", what .. ": " .. name) end
    end
    return differing
end

local threads = g.threads()
compare(own, "gpush's own sums")
t.is(g.deterministic(), false, "initially off")
print("# " .. compare(blas) .. " of BLAS's and LAPACK's differ without deterministic(true)")
t.is(g.deterministic(true), true, "the switch gives what it is set to")
compare(blas, "deterministic(true)")
g.deterministic(false)
g.threads(threads)
t.error(function() g.deterministic(1) end, "deterministic: .*expected true or false",
    "a number is refused")
t.done()
