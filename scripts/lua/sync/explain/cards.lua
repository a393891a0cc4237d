--!plain
-- What makes the host wait, each with a program that waits and one that gives the same and does
-- not: the cards of sync.explain, here those of results whose size depends on values, and of
-- memory, checks, queues and ranks. A card is {name, "reason: call", why}. `waits` and `instead`
-- run after `setup`, with d the device, and leave `result`. Numbers are small integers, so that
-- sums in any order are equal. calls: further calls that it is about, with "math." for those that
-- begin with it and ".save" for those that end with it; ops: any op. ranks: all ranks of a job must
-- run them, equally often.
return {
    { "nonzero", "shape: nonzero",
        "How many elements there are is known only when they have been looked at, and the \z
        result's memory has that size. where, or a product with the mask, keeps the size.",
        setup = "x = (arange(1, 65536, {device = d}) % 7 - 3):to 'f32'",
        waits = [[
local total = zeros({}, {device = d})
for i = 1, 50 do
    local at = (x + i):gt(i):nonzero():squeeze(2)
    total = total + x[at]:sum()
end
result = total:item()]],
        instead = [[
local total = zeros({}, {device = d})
for i = 1, 50 do
    total = total + where((x + i):gt(i), x, 0):sum()
end
result = total:item()]] },
    { "masked_select", "shape: masked_select",
        "x[mask] has as many elements as the mask has true ones, which the host must know. \z
        where keeps the size, with a mask of x's shape; x[mask] = number does not wait either. A \z
        product with the mask is NaN where x is NaN or infinite.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32'",
        waits = [[
local total = zeros({}, {device = d})
for i = 1, 50 do
    total = total + x[x:gt(3)]:sum()
end
result = total:item()]],
        instead = [[
local total = zeros({}, {device = d})
for i = 1, 50 do
    total = total + where(x:gt(3), x, 0):sum()
end
result = total:item()]] },
    { "unique", "shape: unique",
        "How many different values there are must be counted first. Sorted, equal values are \z
        adjacent, and the size stays.",
        setup = "x = arange(1, 65536, {device = d}) % 97",
        waits = [[
local total = zeros({}, {device = d, dtype = "i64"})
for i = 1, 10 do
    total = total + (x + i):unique():numel()
end
result = total:item()]],
        instead = [[
local total = zeros({}, {device = d, dtype = "i64"})
for i = 1, 10 do
    local s = (x + i):sort()
    total = total + s["2:"]:ne(s[":-2"]):sum() + 1
end
result = total:item()]] },
    { "unique_consecutive", "shape: unique_consecutive",
        "How many runs there are must be counted first. Comparing neighbours marks where each \z
        begins, and keeps the size.",
        setup = "x = arange(1, 65536, {device = d}) // 100",
        waits = [[
local total = zeros({}, {device = d, dtype = "i64"})
for i = 1, 20 do
    total = total + (x + i):unique_consecutive():numel()
end
result = total:item()]],
        instead = [[
local total = zeros({}, {device = d, dtype = "i64"})
for i = 1, 20 do
    local y = x + i
    total = total + y["2:"]:ne(y[":-2"]):sum() + 1
end
result = total:item()]] },
    { "bincount", "shape: bincount",
        "The number of bins is the largest value, which the device has yet to find. index_add \z
        counts into a size that you know.",
        setup = "x = arange(1, 65536, {device = d}) % 97 one = ones(65536, {device = d})",
        waits = [[
local bins = zeros(97, {device = d})
for i = 1, 20 do
    bins = bins + (x + 1):bincount()
end
result = bins:tolist()]],
        instead = [[
local bins = zeros(97, {device = d})
for i = 1, 20 do
    bins = bins:index_add(1, x + 1, one)
end
result = bins:tolist()]] },
    { "one_hot", "shape: one_hot",
        "The number of classes is the largest label, which the device has yet to find. Given, \z
        it need not.",
        setup = "labels = arange(1, 4096, {device = d}) % 10 + 1",
        waits = [[
local sum = zeros(4096, 10, {device = d, dtype = "i64"})
for i = 1, 30 do
    sum = sum + labels:one_hot()
end
result = sum:sum():item()]],
        instead = [[
local sum = zeros(4096, 10, {device = d, dtype = "i64"})
for i = 1, 30 do
    sum = sum + labels:one_hot(10)
end
result = sum:sum():item()]] },
    { "repeat_interleave", "shape: repeat_interleave",
        "The length of the result is the sum of the repeats, which the device has yet to add. \z
        Given as output_size, it need not.",
        setup = "x = (arange(1, 4096, {device = d}) % 7):to 'f32' \z
            n = arange(1, 4096, {device = d}) % 4",
        waits = [[
local total = zeros({}, {device = d})
for i = 1, 30 do
    total = total + x:repeat_interleave(n):sum()
end
result = total:item()]],
        instead = [[
local total = zeros({}, {device = d})
for i = 1, 30 do
    total = total + x:repeat_interleave(n, {output_size = 6144}):sum()
end
result = total:item()]] },
    { "empty_cache", "alloc: empty_cache",
        "The cache is memory that the next tensors use without a call of the device. Given \z
        back, it has to be asked for again, and giving it back waits.",
        setup = "x = ones(512, 512, {device = d})",
        waits = [[
local y = x
for i = 1, 30 do
    y = (y + 1) % 5
    empty_cache(d)
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 30 do
    y = (y + 1) % 5
end
result = y:sum():item()]] },
    { "allocation", "alloc: allocation",
        "The device's memory is full: what the cache holds is given back, which waits for all \z
        that is queued. Drop tensors earlier (x = nil), work in place (x:add_(y)), or take \z
        smaller batches. It has no program here, as that would have to fill the device.",
        calls = { "free" } },
    { "detect_anomaly", "validate: detect_anomaly",
        "It looks for NaN in the result of each op of backward, and the host must know of one \z
        at once. It is for searching, not for training.",
        setup = "x = ones(256, 256, {device = d}) w = ones(256, 256, {device = d}) \z
            w.requires_grad = true",
        waits = [[
local g
autograd.detect_anomaly(function()
    for i = 1, 10 do g = grad((x * w * i):sum(), w) end
end)
result = g:sum():item()]],
        instead = [[
local g
for i = 1, 10 do g = grad((x * w * i):sum(), w) end
result = g:sum():item()]] },
    { "create_graph", "validate: scatter_reduce's second derivative",
        "The derivative of a derivative is checked for what it cannot express. A backward without \z
        create_graph is not.",
        setup = "x = ones(4096, {device = d}) at = arange(1, 4096, {device = d}) % 9 + 1",
        waits = [[
local w, g = x:clone():requires_grad_(), nil
for i = 1, 5 do
    local y = ones(9, {device = d}):scatter_reduce(1, at, w, "prod")
    g = grad(y:sum(), w, {create_graph = true})
end
result = g:detach():sum():item()]],
        instead = [[
local w, g = x:clone():requires_grad_(), nil
for i = 1, 5 do
    local y = ones(9, {device = d}):scatter_reduce(1, at, w, "prod")
    g = grad(y:sum(), w)
end
result = g:sum():item()]] },
    { "synchronize", "explicit: synchronize",
        "It was asked for. Each item, print or copy waits by itself where a result is needed, \z
        so a program needs none, but for measuring.",
        setup = "x = zeros(256, 256, {device = d})",
        waits = [[
local y = x
for i = 1, 100 do
    y = y + 1
    synchronize(d)
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 100 do
    y = y + 1
end
result = y:sum():item()]] },
    { "queue", "queue",
        "The device takes a limited number of commands in advance, then the host waits until \z
        there is room. It is not a fault; fewer and larger ops leave the host free.",
        setup = "x = zeros(300, 300, {device = d})",
        waits = [[
local y = x
for i = 1, 3000 do
    y = y + 1
end
result = y:sum():item()]],
        instead = [[
local y = x + arange(1, 3000, {device = d}):ge(1):sum()
result = y:sum():item()]] },
    { "join", "join",
        "On the cpu the host computes what is not forked, and an op that takes a fork's result \z
        waits for it. Work that does not need it, done first, fills the time.",
        device = "cpu",
        setup = "x = ones(300, 300)",
        waits = [[
local y = wait(fork(function() return x:matmul(x) end)) + 1
local z = (x + 1):matmul(x)
result = (y + z):sum():item()]],
        instead = [[
local f = fork(function() return x:matmul(x) end)
local z = (x + 1):matmul(x)     -- beside the fork
result = (wait(f) + 1 + z):sum():item()]] },
    { "collective", "collective",
        "Every rank gets the result when the last one has come and the numbers have travelled. \z
        Started with async = true, it travels while the rank computes something else.",
        ranks = true,
        setup = "x = ones(1000, 1000, {device = d}) w = ones(300, 300, {device = d})",
        waits = [[
local total = dist.all_reduce(x):sum():item()
result = total + w:matmul(w):sum():item()]],
        instead = [[
local f = dist.all_reduce(x, {async = true})
local y = w:matmul(w)           -- meanwhile
result = wait(f):sum():item() + y:sum():item()]] },
}
