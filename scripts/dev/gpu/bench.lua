-- gpush's side of the benchmark on a GPU, in the lines of measure.lua. gpush bench.lua DEVICE
-- [small]; peers.py beside this file has the same items.
-- `small` is for trying the program without a GPU.
local device, small = arg[1], arg[2] == "small"
local opt = { device = device }
manual_seed(0)

local measure = dofile((arg[0]:match ".*/" or "") .. "measure.lua")
local guarded, report = measure.guarded, measure.report

-- Rounds of 20 ms, as the peers'.
local least = small and 1e-4 or 0.02
local function item(name, fn, bytes, operations)
    guarded(name, function()
        report(name, measure.rounds(device, fn, least, small and 3 or 9), bytes, operations)
    end)
end

local big = small and 10000 or 100000000
local x, y = randn(16, opt), randn(16, opt)
-- The host's time to launch: `host` leaves out the wait at a run's end. Beside it what CUDA itself
-- takes for a launch of the same kernel, measured between two rounds of ours.
guarded("launch x + y, 16", function()
    local function launches() for _ = 1, 100 do local z = x + y end end
    local ours, cuda = {}, {}
    for i = 1, small and 3 or 9 do
        ours[i] = timeit(launches, { print = false, device = device, n = 5 }).host / 100
        if device == "cuda" then
            cuda[i] = require "gpush".cuda_setting("launch_ns", -1) * 1e-9
            synchronize(device)
        end
    end
    report("launch x + y, 16", ours)
    if #cuda > 0 then report("launch x + y, 16, by CUDA alone", cuda) end
end)
-- From the record to the row of the table: the difference between the least times of a profiled
-- run and of a plain one.
guarded("profiling an op", function()
    local N, with, without = small and 50 or 1000, math.huge, math.huge
    local once = { print = false, device = device, n = 1 }
    local function plain() for _ = 1, N do local z = x + y end end
    local function profiled() profile.run(plain):table { sort = "cpu_time_total", limit = 10 } end
    for _ = 1, 5 do
        with = math.min(with, timeit(profiled, once).time)
        without = math.min(without, timeit(plain, once).time)
    end
    report("profiling an op", { (with - without) / N })
end)

-- with a single array, x + y would read half of it from a cache
local a, other = randn(big, opt), randn(big, opt)
item("copy 1e8", function() return a:clone() end, 8 * big)
item("x * 2, 1e8", function() return a * 2 end, 8 * big)
item("x + y, 1e8", function() return a + other end, 12 * big)
item("exp 1e8", function() return a:exp() end, 8 * big)
item("sum 1e8", function() return a:sum() end, 4 * big)
local h = a:to "bf16"
item("bf16 x * 2, 1e8", function() return h * 2 end, 4 * big)
a, other, h = nil, nil, nil
local rows, width = small and 64 or 32768, small and 64 or 4096
local m = randn(rows, width, opt)
local w, b = ones(width, opt), zeros(width, opt)
item("softmax 32768x4096", function() return m:softmax(-1) end, 8 * rows * width)
item("layer_norm 32768x4096", function() return layer_norm(m, { width }, w, b) end,
    8 * rows * width)
local v = randn(big // 10, opt)
item("sort 1e7", function() return v:sort() end)
m, v = nil, nil
local n = small and 64 or 8192
for _, dtype in ipairs { "bf16", "f32" } do
    local p, q = randn(n, n, opt):to(dtype), randn(n, n, opt):to(dtype)
    item("matmul " .. dtype .. " 8192", function() return p:matmul(q) end, 0, 2 * n ^ 3)
end

local side, batch = small and 16 or 256, small and 2 or 256
do
    local image, kernel = randn(batch // 2, 10, side, side, opt), randn(10, 10, 3, 3, opt)
    item("conv2d 10 to 10, 128x256x256", function() return conv2d(image, kernel, nil, 1, 1) end,
        4 * 2 * image:numel(), 2 * 9 * 10 * image:numel())
    item("conv2d 10 to 10 backward, 128x256x256", function()
        return conv_input_grad(image, kernel, image.shape, 1, 1),
            conv_weight_grad(image, image, kernel.shape, 1, 1)
    end, 4 * 4 * image:numel(), 2 * 2 * 9 * 10 * image:numel())
    item("max_pool2d 3, 128x10x256x256", function() return max_pool2d(image, 3, 2, 1) end,
        5 * image:numel())
end
for _, shape in ipairs { { 8, 128, 128 }, { 512, 128, 128 }, { 1000, 64, 64 }, { 2048, 2048 } } do
    local matrices = randn(small and { 4, 8, 8 } or shape, opt)
    item("svd " .. table.concat(shape, "x"), function() return linalg.svd(matrices, false) end)
end
do
    local T, C = small and 3 or 50, small and 8 or 1024
    guarded("lstm 50x50x1024", function()
        local layer = nn.LSTM(C, C):to(device)
        local input = randn(T, T, C, opt)
        local _ <close> = no_grad()
        item("lstm 50x50x1024", function() return (layer(input)) end, 0, 2 * T * T * 8 * C * C)
    end)
end
for _, stage in ipairs { "baseline", "ignore_index" } do
    local name = "masked loss, batch 256, " .. stage
    guarded(name, function()
        local step = assert(loadfile((arg[0]:match ".*/" or "") .. "../../bench/masked.lua")) "step"
        item(name, step(stage, { device = device, batch = batch, size = side }))
    end)
end

-- Shapes that leave one block, one thread or one load at a time to work, in kernels that are not
-- made for them; each with the bytes that it must move.
local square, narrow = small and { 40, 40 } or { 10000, 10000 }, small and { 50, 10 } or { 1000000,
    100 }
do
    local v, m, lines = randn(big, opt), randn(square, opt), randn(narrow, opt)
    item("cumsum 1e8", function() return v:cumsum(1) end, 8 * v:numel())
    item("cumsum 10000x10000, dim 1", function() return m:cumsum(1) end, 8 * m:numel())
    item("cumsum 10000x10000, dim 2", function() return m:cumsum(2) end, 8 * m:numel())
    item("cumsum 1000000x100", function() return lines:cumsum(2) end, 8 * lines:numel())
    item("softmax 1e8", function() return v:softmax(1) end, 8 * v:numel())
    item("softmax 10000x10000, dim 1", function() return m:softmax(1) end, 8 * m:numel())
    local positive = v:gt(0)
    item("masked_select 1e8", function() return v:masked_select(positive) end, 7 * v:numel())
    item("histc 1e8", function() return v:histc(100, -4, 4) end, 4 * v:numel())
    local labels = (v:abs() * 20):to "i64" + 1
    item("bincount 1e8", function() return labels:bincount() end, 8 * v:numel())
    item("bernoulli 1e8", function() return v:bernoulli(0.3) end, 4 * v:numel())
    local f32 = { device = device, dtype = "f32" }
    item("arange 1e8", function() return arange(1, v:numel(), 1, f32) end, 4 * v:numel())
    local weights = lines:abs()[{ {}, 1 }]:contiguous()
    item("multinomial 1e6 of 1e6", function() return weights:multinomial(weights:numel(), true) end,
        12 * weights:numel())
end
do
    local logits = randn(small and { 2, 64 } or { 8, 131072 }, opt)
    item("softmax 8x131072", function() return logits:softmax(2) end, 8 * logits:numel())
    local x, width = logits:clone():requires_grad_(), { logits.shape[2] }
    for name, y in pairs { softmax = x:softmax(2), layer_norm = layer_norm(x, width) } do
        item(name .. " backward 8x131072", function()
            y:backward(logits, { retain_graph = true })
            x.grad = nil
        end, 12 * logits:numel())
    end
    local odd = randn(small and { 10, 11 } or { 100000, 1001 }, opt)
    item("softmax 100000x1001", function() return odd:softmax(2) end, 8 * odd:numel())
    local classes = small and { 10, 20 } or { 100000, 1000 }
    local scores, labels = randn(classes, opt), randint(1, classes[2], { classes[1] }, opt)
    item("cross_entropy 100000x1000", function() return cross_entropy(scores, labels) end,
        4 * scores:numel())
    local long = randn(small and { 2, 100 } or { 64, 1000000 }, opt)
    item("topk(10) 64x1000000", function() return long:topk(10) end, 4 * long:numel())
end
do
    local shape = small and { 2, 4, 3, 3 } or { 32, 64, 112, 112 }
    local x, g = randn(shape, opt):requires_grad_(), randn(shape, opt)
    local w, b = ones(shape[2], opt):requires_grad_(), zeros(shape[2], opt):requires_grad_()
    local y = group_norm(x, 2, w, b)
    item("group_norm backward 32x64x112x112", function()
        y:backward(g, { retain_graph = true })
        x.grad, w.grad, b.grad = nil, nil, nil
    end, 12 * x:numel())
end
do
    local n = small and 8 or 4096
    local a = randn(n, n, opt)
    item("eigh 4096", function() return linalg.eigh(a + a:transpose(1, 2)) end)
end
do
    local many, n = small and 10 or 10000, 8
    local a, b = randn(many, n, n, opt), randn(many, n, n, opt)
    local moved = 4 * 2 * a:numel()
    item("eigh 10000x8x8", function() return linalg.eigh(a) end, moved)
    item("qr 10000x8x8", function() return linalg.qr(a) end, moved + 4 * a:numel())
    item("solve 10000x8x8", function() return linalg.solve(a, b) end, moved + 4 * a:numel())
end
-- Views and mixed dtypes, whose elements are read one by one; small ones; integers' products.
do
    local m, half = randn(square, opt), randn(square, opt):to "f16"
    local bytes = half:gt(0):to "u8"
    item("f16 + f32, 10000x10000", function() return half + m end, 10 * m:numel())
    item("x * 2 of the transposed, 10000x10000", function() return m:t() * 2 end, 8 * m:numel())
    item("transposed copy f16 10000x10000", function() return half:t():contiguous() end,
        4 * m:numel())
    item("transposed copy u8 10000x10000", function() return bytes:t():contiguous() end,
        2 * m:numel())
    item("add u8 10000x10000", function() return bytes + bytes end, 3 * m:numel())
    item("lt(3) of u8 10000x10000", function() return bytes:lt(3) end, 2 * m:numel())
    local mask = half:gt(0)
    item("~ of bool 10000x10000", function() return ~mask end, 2 * m:numel())
    local at = randint(1, square[1], square, opt)
    item("gather 10000x10000", function() return m:gather(1, at) end, 16 * m:numel())
    item("var 10000x10000, dim 2", function() return m:var(2) end, 4 * m:numel())
    local n = math.min(square[1], 2048)
    local p = bytes[{ { 1, n }, { 1, n } }]:to "i32"
    item("matmul i32 2048", function() return p:matmul(p) end, 0, 2 * n ^ 3)
end
-- What libraries run in 16 bits, on tensor cores; and a copy from memory that is not pinned.
guarded("lstm bf16 50x50x1024", function()
    local T, C = small and 3 or 50, small and 8 or 1024
    local layer, x = nn.LSTM(C, C):to "bf16":to(device), randn(T, T, C, opt):to "bf16"
    local _ <close> = no_grad()
    item("lstm bf16 50x50x1024", function() return (layer(x)) end, 0, 2 * T * T * 8 * C * C)
    local deep = nn.LSTM(C, C, { num_layers = 2, dropout = 0.5 }):to "bf16":to(device)
    item("lstm bf16 50x50x1024, 2 layers, dropout", function() return (deep(x)) end, 0,
        4 * T * T * 8 * C * C)
    local images, side = small and 2 or 128, small and 8 or 56
    local image, kernel = randn(images, 64, side, side, opt):to "bf16",
        randn(64, 64, 3, 3, opt):to "bf16"
    item("conv2d bf16 64 to 64, 128x56x56", function() return conv2d(image, kernel, nil, 1, 1) end,
        4 * image:numel(), 2 * 9 * 64 * image:numel())
end)
do
    local shape = small and { 1, 2, 8, 8 } or { 8, 16, 4096, 64 }
    local q = randn(shape, opt):to "bf16"
    local products = 2 * 2 * q:numel() * shape[3]
    item("attention bf16 8x16x4096x64", function()
        return scaled_dot_product_attention(q, q, q)
    end, 0, products)
    local x = q:detach():requires_grad_()
    item("attention bf16 8x16x4096x64, causal, backward", function()
        local y = scaled_dot_product_attention(x, x, x, nil, 0, true)
        y:backward(q)
        x.grad = nil
    end, 0, 7 / 2 * products / 2)
end
do
    local host = randn({ big })
    item("to the device 1e8", function() return host:to(device) end, 4 * big)
end
-- 10^8 bad elements are one error, not 10^8 writes to the host's memory.
guarded("1e8 faults", function()
    local x, none = full({ big }, 1, { device = device, dtype = "i32" }),
        zeros({ big }, { device = device, dtype = "i32" })
    item("1e8 faults", function()
        local y = x // none
        assert(not pcall(synchronize, device), "no fault was raised")
    end, 12 * big)
end)
