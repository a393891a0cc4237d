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
t.done()
