-- Kernels that divide their work by its size, on the stand-in for CUDA: sizes around and above a
-- division's, whose results are the cpu's.
local t = require "tap"

manual_seed(5)
local function same(name, op, ...)
    local there = {}
    for i, v in ipairs { ... } do
        there[i] = v:to "cuda"
    end
    local got, want = { op(table.unpack(there)) }, { op(...) }
    for i = 1, #want do
        local a, b = got[i]:to "cpu", want[i]
        t.is(a.shape, b.shape, name .. ": shape")
        t.ok((a:eq(b) | (a:ne(a) & b:ne(b))):all():item(), name)
    end
end

local function count_nonzero(v) return v:count_nonzero() end
local function bincount(v) return v:bincount() end

-- masks: 16 bytes of a thread, 512 of a warp, 4096 of a block
for _, n in ipairs { 15, 16, 513, 4095, 4096, 4097, 10000 } do
    for _, share in ipairs { 0, 0.1, 1 } do
        local mask = rand(n):lt(share)
        local name = ("%d elements, %g of them true"):format(n, share)
        for _, dtype in ipairs { "f32", "f64", "u8", "bf16" } do
            same("masked_select of " .. dtype .. ", " .. name, function(x, m)
                return x:masked_select(m)
            end, (rand(n) * 100):to(dtype), mask)
        end
        same("nonzero, " .. name, nonzero, mask)
        same("count_nonzero, " .. name, count_nonzero, mask)
        same("masked_scatter, " .. name, function(x, m, s)
            return x:masked_scatter(m, s)
        end, rand(n), mask, rand(n))
    end
end
local wide = (rand(5000) * 300):to "u8"
same("count_nonzero of any bytes", count_nonzero, wide["1:4992"])
same("nonzero of any bytes", nonzero, wide)
same("nonzero of a view that is not aligned", function(m) return nonzero(m["4:4990"]) end, wide)
same("masked_select by every other element", function(x, m)
    return x["1:5000:2"]:masked_select(m["1:5000:2"])
end, rand(5000), rand(5000):lt(0.5))

-- counts: 16 elements of a thread, 4096 of a block, and elements at the ends of bins
for _, n in ipairs { 100, 4096, 9000 } do
    for _, dtype in ipairs { "f32", "bf16", "f64" } do
        local x = (randn(n) * 3):to(dtype)
        x[1], x[7], x[50] = 0 / 0, math.huge, -math.huge
        for _, range in ipairs { { 100, -4, 4 }, { 7, -0.3, 0.1 }, { 24, -3, 3 }, { 5000, -9, 9 },
            { 10, 1e6, 1e6 + 2 } } do
            same(("histc of %d, %s, %d bins from %g to %g"):format(n, dtype, table.unpack(range)),
                function(v) return v:histc(table.unpack(range)) end, x)
        end
    end
    local steps = (arange(1, n) // 4):to "f32" / 8
    same("histc of numbers at bins' ends, " .. n, function(v) return v:histc(16, 0, 16) end, steps)
    same("histc of the numbers' own range, " .. n, function(v) return v:histc(10) end, steps)
    for _, dtype in ipairs { "i64", "u8", "i32" } do
        local labels = randint(1, 100, { n }):to(dtype)
        same(("bincount of %d, %s"):format(n, dtype), bincount, labels)
        same("of every third", function(v) return v["1:-1:3"]:bincount() end, labels)
    end
    same("bincount of many bins, " .. n, bincount, randint(1, 6000, { n }))
end
-- Many labels are counted while the largest is sought, fewer than 65536 afterwards.
for _, dev in ipairs { "cpu", "cuda" } do
    for _, most in ipairs { 7, 300, 4096, 4097 } do
        for _, dtype in ipairs { "i64", "i16" } do
            local labels = randint(1, most, { 70001 }):to(dtype):to(dev)
            labels[5] = most
            local a, b = labels:narrow(1, 1, 40000), labels:narrow(1, 40001, 30001)
            local want = a:bincount(nil, most) + b:bincount(nil, most)
            local what = ("bincount of many labels up to %d, %s on %s"):format(most, dtype, dev)
            t.is(labels:bincount():tolist(), want:tolist(), what)
            local every = labels:repeat_interleave(2)["1:-1:2"]
            t.is(every:bincount(nil, 5000):narrow(1, 1, most):tolist(), want:tolist(),
                what .. ", every second, and more than there are")
            labels[69000] = -2
            t.error(function() return labels:bincount():tolist() end, "value %-2 is out of range",
                what .. ", and a bad one")
        end
    end
end
do
    local labels = ones({ 5000 }, { dtype = "i64" }):to "cuda"
    labels[4000] = 0
    t.error(function() return labels:bincount():tolist() end, "value 0 is out of range",
        "a bad label among many")
end

-- ranges: four vectors of a thread
for _, dtype in ipairs { "f32", "i64", "bf16", "u8" } do
    for _, r in ipairs { { 1, 9001, 1 }, { -5, -9000, -3 }, { 2 ^ 40 // 1, 2 ^ 40 // 1 + 9000, 2 },
        { 0, 900, 0.25 }, { math.mininteger, math.mininteger + 10, 3 } } do
        local a = arange(r[1], r[2], r[3], { dtype = dtype, device = "cuda" }):to "cpu"
        t.ok(a:eq(arange(r[1], r[2], r[3], { dtype = dtype })):all():item(),
            ("arange of %s from %g by %g"):format(dtype, r[1], r[3]))
    end
end

-- windows of 2 x 2 and 3 x 3, which have a kernel, and of 4 x 3, which have not
for _, dtype in ipairs { "f32", "f16", "bf16" } do
    local x = (randn(2, 3, 11, 14) * 4):floor():to(dtype)
    x[1][2][3][4], x[1][2][3][5], x[2][1][1][1] = 0 / 0, -math.huge, math.huge
    x[2][3] = -math.huge
    for _, w in ipairs { { 2, 2, 0 }, { 3, 2, 1 }, { 3, 1, 1 }, { 2, 3, 1 }, { { 4, 3 }, 2, 1 } } do
        local kernel, stride, pad = table.unpack(w)
        for _, ceil in ipairs { false, true } do
            local name = (" of %s, stride %d, padding %d, %s"):format(dtype, stride, pad, ceil)
            local o = { stride = stride, padding = pad, ceil_mode = ceil }
            same("max_pool2d" .. name, function(v) return max_pool2d(v, kernel, o) end, x)
            same("avg_pool2d" .. name, function(v) return v:avg_pool2d(kernel, o) end, x)
            same("max_pool2d of transposed rows" .. name, function(v)
                return max_pool2d(v:transpose(1, 2), kernel, o)
            end, x)
            o.return_indices = true
            same("max_pool2d with indices" .. name, function(v)
                return max_pool2d(v, kernel, o)
            end, x)
            same("max_pool2d of one image" .. name, function(v)
                return max_pool2d(v[2]["..., 2:9"], kernel, o)
            end, x)
        end
    end
end

-- lines in parts of 8192 elements (f64, i64: 4096), and their first ones in parts again
for _, dtype in ipairs { "f32", "f64", "bf16", "u8" } do
    for _, shape in ipairs { { 1, 5000 }, { 2, 9001 } } do
        local x = (randn(shape) * 20):abs():to(dtype)
        local holes = x:clone()
        if dtype:find "f" then
            holes["-1, 3"], holes["-1, 4000"] = 0 / 0, 0 / 0
            holes["-1, 77"], holes["-1, 78"] = -math.huge, math.huge
        end
        for _, k in ipairs { 1, 250 } do
            local name = ("topk(%d) of %dx%d %s"):format(k, shape[1], shape[2], dtype)
            for _, largest in ipairs { true, false } do
                same(name, function(v) return v:topk(k, 2, largest) end, holes)
            end
            same("kthvalue, " .. name, function(v) return v:kthvalue(k, 2) end, x)
        end
    end
end
-- values are made from sorted keys, but for zeros and NaNs
for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool" } do
    local x = (randn(3, 700) * 60):to(dtype)
    if dtype:find "f" then
        x["1, 1:200:7"], x["1, 2:200:7"], x[2][5], x[2][600] = -0.0, 0, 0 / 0, -math.huge
    end
    for _, descending in ipairs { false, true } do
        local name = dtype .. (descending and ", descending" or "")
        local function sorted(v)
            local values, at = v:sort(2, descending)
            return values, at, 1 / values:to "f32"
        end
        same("sort of " .. name, sorted, x)
        same("msort-like columns of " .. name, function(v) return v:sort(1, descending) end, x)
        same("sort of one line of " .. name, sorted, x["3:3"])
    end
end
same("topk(500) of parts of parts", function(v) return v:topk(500) end, randn(150000))
same("topk of equal elements", function(v) return v:topk(9) end, ones(2, 30000))
same("topk down columns", function(v) return v:topk(9, 1) end, randn(9000, 3))

-- rows of x that do not fit a card's cache: strips of columns
do
    local x = arange(1, 100000 * 96, 1, { dtype = "i32" }):reshape(100000, 96)
    same("gather in strips", function(a, i) return a:gather(1, i) end, x,
        randint(1, 100000, { 8200, 96 }))
end

-- classes: rows of vectors, with fewer and more than a thread's, and rows that are none
for _, n in ipairs { 32, 33, 1000, 4100 } do
    for _, dtype in ipairs { "f32", "bf16" } do
        local x, labels = (randn(9, n) * 3):to(dtype), randint(1, n, { 9 })
        x[{ 2, 5 }], x[{ 3, 6 }], x[{ 4, 7 }] = -math.huge, math.huge, 0 / 0
        labels[4] = -100
        local options = { label_smoothing = 0.1, reduction = "none" }
        for name, target in pairs { labels = labels, shares = randn(9, n):softmax(2):to(dtype) } do
            local got = {}
            for _, device in ipairs { "cpu", "cuda" } do
                local y = x:to(device):detach():requires_grad_()
                local loss = cross_entropy(y, target:to(device), options)
                loss:sum():backward()
                got[device] = { loss:detach():to("cpu", "f32"), y.grad:to("cpu", "f32") }
            end
            for i, what in ipairs { "", "'s gradient" } do
                local a, b = got.cuda[i], got.cpu[i]
                local near = (a - b):abs():le(b:abs() * 0.02 + 1e-3)
                local same = near | a:eq(b) | (a:ne(a) & b:ne(b))
                t.ok(same:all():item(), ("cross_entropy%s of %d classes in %s, %s"):format(what, n,
                    dtype, name))
            end
        end
    end
end

-- random numbers, of which a thread makes several vectors where there are many
do
    local n = 4 * 2 ^ 20 // 1 + 5003
    local ways = { rand = rand, bernoulli = function(...) return zeros(...):bernoulli(0.3) end }
    for name, make in pairs(ways) do
        local made = {}
        for i, device in ipairs { "cpu", "cuda" } do
            manual_seed(8)
            made[i] = make(n, { device = device }):to "cpu"
        end
        t.ok(made[1]:eq(made[2]):all():item(), name .. " of " .. n)
    end
end
t.done()
