-- gpush's side of the benchmark: prints a line "item seconds" for each item of this thread count.
-- gpush ops.lua THREADS [TEXT]: only items with TEXT in their names; one thread is measured in
-- processor time, which other programs disturb less, two in wall time.
local count, only = tonumber(arg[1]) or 1, arg[2]
threads(count)
manual_seed(0)

local SAMPLES, SAMPLE = 25, 2e-3

-- Median seconds of a call of fn, divided by `inner`, the number of operations in it.
local function measure(fn, inner)
    inner = inner or 1
    if count > 1 then return timeit(fn, { print = false }).time / inner end
    fn()
    local t0 = os.clock()
    fn()
    local once = math.max(os.clock() - t0, 1e-6)
    local n = math.max(1, math.ceil(SAMPLE / once))
    local samples = once > 0.05 and 7 or SAMPLES
    local v = {}
    for i = 1, samples do
        local t = os.clock()
        for _ = 1, n do fn() end
        v[i] = (os.clock() - t) / n / inner
    end
    table.sort(v)
    return v[samples // 2 + 1]
end

local function item(name, fn, inner)
    if only and not name:find(only, 1, true) then return end
    io.write(string.format("%s\t%.9g\n", name, measure(fn, inner)))
    io.flush()
end

local x, y = randn(16), randn(16)

local folder = arg[0]:match ".*/" or ""
local overhead = assert(loadfile(folder .. "overhead.lua"))("rows")
local ten = overhead.ten

-- A row of overhead.lua, n runs at a time.
local function overhead_item(name, n)
    if only and not name:find(only, 1, true) then return end
    local run = overhead.run(name)
    item(name, function() run(n) end, n)
end

-- Seconds that profiling adds to an op, from the record to the row of the table.
local function profiled()
    local N, best = 2000, math.huge
    local function plain() for _ = 1, N do local z = x + y end end
    for _ = 1, 12 do
        local t0 = os.clock()
        plain()
        local t1 = os.clock()
        local prof = profile.run(plain)
        local _ = prof:table { sort = "cpu_time_total", limit = 10 }
        local t2 = os.clock()
        best = math.min(best, (t2 - t1) - (t1 - t0))
    end
    return best / N
end

if count == 1 then
    overhead_item("x + y, 16", 1000)
    overhead_item("chain of ten, 16", 100)
    overhead_item("nn.Linear(16, 16)(x)", 1000)
    overhead_item("t[3]", 1000)
    if not only
        or ("profiling an op"):find(only, 1, true) then io.write(
            string.format("profiling an op\t%.9g\n",
        profiled())) end
end
if only == "x + y, 16" then return end

local large, larger = randn(10000000), randn(10000000)
if count == 1 then item("x + y, 1e7", function() local z = large + larger end) end
item("exp 1e7", function() local z = large:exp() end)
item("x * 2, 1e7", function() local z = large * 2 end)
item("x * 2 beside a copy", function() local z = large * 2 end)
item("tanh 1e7", function() local z = large:tanh() end)
item("x > 0.5, 1e7", function() local z = large:gt(0.5) end)
item("rand 1e7", function() local z = rand(10000000) end)
local wide = randn(10000000, { dtype = "f64" })
for _, dtype in ipairs { "bf16", "f16" } do
    item("f64 to " .. dtype .. ", 1e7", function() local z = wide:to(dtype) end)
end
local matrices = randn(8, 128, 128)
item("svd 8x128x128", function() local s = linalg.svd(matrices) end)
item("svdvals 8x128x128", function() local s = linalg.svdvals(matrices) end)

for _, units in ipairs { 256, 1024 } do
    local k, sequence = 1 / math.sqrt(units), rand(50, 50, units)
    local weights = {}
    for i, shape in ipairs { { 4 * units, units }, { 4 * units, units }, { 4 * units },
        { 4 * units } }
    do
        weights[i] = rand(shape):mul(2 * k):sub(k)
    end
    item("lstm 50x50x" .. units, function() local y = lstm(sequence, nil, weights) end)
end
for _, shape in ipairs { { 1, 1 << 16 }, { 1, 1 << 20 }, { 1000, 1000 }, { 100, 997 } } do
    local signal = randn(shape[1], shape[2], 2)
    item(("fft %dx%d"):format(shape[1], shape[2]),
        function() local y = fft.fft(signal, { complex = true }) end)
end
local signal = randn(1000, 1024)
item("rfft 1000x1024", function() local y = fft.rfft(signal) end)
for _, n in ipairs { 512, 1024 } do
    local m = randn(n, n)
    item("matmul f32 " .. n, function() local p = m:matmul(m) end)
end
local double = randn(512, 512, { dtype = "f64" })
item("matmul f64 512", function() local p = double:matmul(double) end)
local batch = randn(64, 64, 64)
item("bmm 64x64x64", function() local p = batch:matmul(batch) end)
local square, sides = randn(512, 512), randn(512, 16)
local definite = square:matmul(square:transpose(1, 2)) / 512 + eye(512)
item("eigh 512", function() local w, v = linalg.eigh(definite) end)
item("qr 512", function() local q, r = linalg.qr(square) end)
item("inv 512", function() local p = linalg.inv(square) end)
item("solve 512, 16 sides", function() local p = linalg.solve(square, sides) end)
item("cholesky 512", function() local p = linalg.cholesky(definite) end)
local eights = randn(1000, 8, 8) + eye(8) * 8
item("inv 1000x8x8", function() local p = linalg.inv(eights) end)
local small, filters = randn(1, 3, 128, 128), randn(8, 3, 3, 3)
item("conv2d 3 to 8, 1x128x128", function() local p = conv2d(small, filters, nil, 1, 1) end)
local images, ten_filters = randn(8, 10, 256, 256), randn(10, 10, 3, 3)
item("conv2d 10 to 10, 8x256x256", function() local p = conv2d(images, ten_filters, nil, 1, 1) end)
local upper = randn(8, 10, 256, 256)
item("conv2d 10 to 10 backward", function()
    local x = conv_input_grad(upper, ten_filters, images.shape, 1, 1)
    local w = conv_weight_grad(upper, images, ten_filters.shape, 1, 1)
    local b = upper:sum({ 1, 3, 4 })
end)
item("max_pool2d 8x10x256x256", function() local p = max_pool2d(images, 2) end)
local deep, many = randn(8, 64, 56, 56), randn(64, 64, 3, 3)
item("conv2d 64 to 64, 8x56x56", function() local p = conv2d(deep, many, nil, 1, 1) end)
item("batch_norm 8x10x256x256", function() local p = batch_norm(images, nil, nil, nil, nil,
    true) end)
local labels, one = randint(1, 10, { 8, 256, 256 }), ones({})
labels[labels:eq(9)] = -1
item("cross_entropy 8x10x256x256", function() local p = cross_entropy(images, labels, nil, -1) end)
item("cross_entropy and gradient", function()
    local p, d = cross_entropy(images, labels, nil, -1),
        cross_entropy_grad(one, images, labels, nil, -1)
end)
local rows = randn(10000, 1000)
item("softmax 1e4x1e3", function() local p = rows:softmax(2) end)
item("layer_norm 1e4x1e3", function() local p = layer_norm(rows, 1000) end)
item("randn 1e7", function() local p = randn(10000000) end)

-- The loader: 3 x 256 x 256 images and labels made up by two workers, wall time.
if count == 2 and (not only or only:find "^loader") then
    local fake = { size = 1000000, get = function()
        return randn(3, 256, 256), randint(-1, 9, { 256, 256 })
    end }
    local stream, firsts, each = current_stream "cpu", {}, {}
    local function wall(fn)
        local begun = stream:record()
        fn()
        return begun:elapsed(stream:record())
    end
    for k = 1, 5 do
        local following, team, _
        firsts[k] = wall(function()
            local loader = data.Loader { fake, batch = 32, shuffle = true, workers = 2 }
            following, _, _, team = loader()
            following()
        end)
        for _ = 1, 4 do following() end
        each[k] = wall(function() for _ = 1, 25 do following() end end) / (25 * 32)
        team:stop()
    end
    table.sort(firsts)
    table.sort(each)
    io.write(string.format("loader, an image\t%.9g\nloader, first batch\t%.9g\n", each[3],
        firsts[3]))
    io.flush()
end

do
    local params = {}
    for i = 1, 100 do
        params[i] = randn(10000):requires_grad_()
        params[i].grad = randn(10000)
    end
    local adam = optim.Adam(params)
    item("Adam, 1e6 in 100", function() adam:step() end)
end

-- Reductions, scans and copies.
item("sum 1e7", function() local p = large:sum() end)
item("var 1e7", function() local p = large:var() end)
item("norm 1e7", function() local p = large:norm() end)
item("sum 1e4x1e3 over dim 1", function() local p = rows:sum(1) end)
item("amax 1e4x1e3 over dim 2", function() local p = rows:amax(2) end)
item("logsumexp 1e4x1e3 over dim 2", function() local p = rows:logsumexp(2) end)
item("argmax 8x10x256x256, dim 2", function() local p = images:argmax(2) end)
item("cumsum 1e7", function() local p = large:cumsum(1) end)
item("cummax 1e4x1e3 along dim 2", function() local p = rows:cummax(2) end)
item("median 1e4x1e3 over dim 2", function() local p = rows:median(2) end)
item("transposed copy 1e4x1e3", function() local p = rows:t():contiguous() end)
item("roll 1e4x1e3", function() local p = rows:roll(3, 2) end)
item("pad 8x10x256x256, reflect", function()
    local p = images:pad({ 1, 1, 1, 1 }, "reflect")
end)

-- Labels, masks and indices.
local classes, numbers = randint(-1, 9, { 8, 256, 256 }, { dtype = "i64" }), randn(524288)
local wide = randint(-(1 << 60), (1 << 60) - 1, { 524288 }, { dtype = "i64" })
item("sort labels", function() local p = classes:flatten():sort() end)
item("sort random i64", function() local p = wide:sort() end)
item("sort f32", function() local p = numbers:sort() end)
item("unique labels", function() local p = classes:unique() end)
item("unique random i64", function() local p = wide:unique() end)
item("nonzero(labels == 9)", function() local p = classes:eq(9):nonzero() end)
item("where(labels == 9, -1, labels)", function() local p = where(classes:eq(9), -1, classes) end)
item("count_nonzero labels", function() local p = classes:count_nonzero() end)
local mask = classes:ne(-1)
item("labels[mask]", function() local p = classes[mask] end)
item("scores[mask]", function() local p = images:permute(1, 3, 4, 2)[mask] end)
item("scores[mask] as in MaskedLoss", function()
    local p = images:permute(1, 3, 4, 2)[mask:unsqueeze(-1):expand(-1, -1, -1, 10)]:reshape(-1, 10)
end)
local target = classes:clone()
item("index_put labels", function() target:index_put_(target:eq(9):nonzero():unbind(2), 9) end)
item("masked fill labels", function() target[target:eq(9)] = 9 end)
local counts = classes:flatten() + 2
item("bincount labels", function() local p = counts:bincount() end)
item("topk(10) f32", function() local p = numbers:topk(10) end)
local values, places = randn(1000000), randint(1, 1000, { 1000000 }, { dtype = "i64" })
item("scatter_add 1e6 into 1e3",
    function() local p = zeros(1000):scatter_add(1, places, values) end)

-- Late, since from the first tensor that requires gradients on every op checks for them.
if count == 1 then
    overhead_item("(x*y):sum():backward(), 16", 100)
    overhead_item("chain of ten and backward, 16", 100)
end

-- Fused functions.
local function fused_block(v, w, b) return gelu(v:layer_norm(1024, w, b)):dropout(0.1) end
if count == 1 and (not only or ("fused"):find(only, 1, true) or only:find("fused", 1, true)) then
    for _ = 1, 2 do local z = relu(large * larger + large) end -- memory is there
    local t0 = os.clock()
    local chain = fuse(function(a, b) return relu(a * b + a) end)
    chain(large, larger)
    print(("fused, first call\t%.9g"):format(os.clock() - t0))
    item("fused relu(x*y+x), 1e7", function() local z = chain(large, larger) end)
    local total = fuse(function(a) return gelu(a * 2 + 1):sum() end)
    item("fused gelu(x*2+1):sum(), 1e7", function() local z = total(large) end)
    overhead_item("fused ten ops, 16", 1000)
    local v, d = randn(4096, 1024, { requires_grad = true }), randn(4096, 1024)
    local w = ones(1024, { requires_grad = true })
    local b = zeros(1024, { requires_grad = true })
    local block = fuse(fused_block)
    item("fused layer_norm, gelu, dropout and gradients", function()
        v.grad, w.grad, b.grad = nil, nil, nil
        block(v, w, b):backward(d)
    end)
end

-- Captured functions, beside the same ops as they are; on sim the host's time to launch them.
local function asked(name)
    return not only or name:find(only, 1, true) or only:find(name, 1, true)
end
if count == 1 and asked "captured" then
    overhead_item("captured ten ops, 16", 1000)
    item("captured ten ops, 16 (eager)", function() for _ = 1, 1000 do ten(x, y) end end, 1000)
    local a, b = x:to "sim", y:to "sim"
    local queued = capture(ten)
    for side, fn in pairs { ["captured ten ops, 16, sim"] = queued,
        ["captured ten ops, 16, sim (eager)"] = ten } do
        local best = math.huge
        for _ = 1, 100 do
            synchronize()
            local t0 = clock()
            for _ = 1, 50 do fn(a, b) end -- the queue has room for them
            best = math.min(best, clock() - t0)
        end
        print(("%s\t%.9g"):format(side, best / 50))
    end
end

-- Training.
local step = assert(loadfile(folder .. "masked.lua"))("step")
for _, stage in ipairs { "baseline", "ignore_index" } do
    item("masked loss, " .. stage, step(stage))
end
