--!plain
-- What makes the host wait, each with a program that waits and one that gives the same and does
-- not: the cards of sync.explain. `waits` and `instead` run after `setup`, with d the device, and
-- leave `result`. Numbers are small integers, so that sums in any order are equal. ranks: all
-- ranks of a job must run them, equally often.
return {
    { "item", "item: item",
        "item() gives a number to Lua, so the host waits until the device has computed it. A \z
        0-d tensor stays on the device and can be computed with.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local total = 0
for i = 1, 256 do
    total = total + x[i]:sum():item()
end
result = total]],
        instead = [[
local total = zeros({}, {device = d})
for i = 1, 256 do
    total = total + x[i]:sum()
end
result = total:item()           -- once, after the loop]] },
    { "number", "item: number",
        "math.floor and others like it are functions of numbers: they read the tensor. Tensors \z
        have methods of the same name.",
        setup = "x = full({256, 256}, 2, {device = d}) t = full({}, 2.5, {device = d})",
        waits = [[
local y = x
for i = 1, 50 do
    y = (y + i) % 5 + math.floor(t)
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 50 do
    y = (y + i) % 5 + t:floor()
end
result = y:sum():item()]] },
    { "print", "print",
        "A text of a tensor needs its numbers. Printed at the end, or every 50 steps, it costs \z
        a wait there only.",
        setup = "x = zeros(256, 256, {device = d})",
        waits = [[
local y, text = x, nil
for i = 1, 100 do
    y = y + 1
    text = tostring(y:sum())    -- as print does
end
result = text]],
        instead = [[
local y, text = x, nil
for i = 1, 100 do
    y = y + 1
    if i % 50 == 0 then text = tostring(y:sum()) end
end
result = text]] },
    { "tolist", "tolist",
        "A list of numbers is made on the host. What is computed with tensor ops, and converted \z
        once, waits once.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32'",
        waits = [[
local sums = {}
for i = 1, 256 do
    local sum = 0
    for _, v in ipairs(x[i]:tolist()) do sum = sum + v * v end
    sums[i] = sum
end
result = sums]],
        instead = [[
result = (x * x):sum(2):tolist()]] },
    { "branch", "branch",
        "A condition must be known before Lua goes on. where, a mask or clamp choose on the \z
        device.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32'",
        waits = [[
local y = x
for i = 1, 100 do
    if y:sum() > 1e6 then y = y - 3 else y = y + 5 end
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 100 do
    y = where(y:sum() > 1e6, y - 3, y + 5)
end
result = y:sum():item()]] },
    { "cpu index", "index: cpu index",
        "An index that lies on the host is copied to the device at each use. Brought there \z
        once, it is not.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32' idx = arange(1, 60000, 3)",
        waits = [[
local y = zeros(20000, {device = d})
for i = 1, 50 do
    y = y + x[idx]
end
result = y:sum():item()]],
        instead = [[
local y, here = zeros(20000, {device = d}), idx:to(d)
for i = 1, 50 do
    y = y + x[here]
end
result = y:sum():item()]] },
    { "index", "index",
        "x[t] with a 0-d tensor takes t's number, as x[3] does. An index of one dim, and ops \z
        such as gather, read it on the device.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):reshape(256, 256):to 'f32' \z
            t = full({}, 3, {device = d, dtype = 'i64'})",
        waits = [[
local y = zeros(256, {device = d})
for i = 1, 50 do
    y = y + x[t]
end
result = y:sum():item()]],
        instead = [[
local y, row = zeros(1, 256, {device = d}), t:reshape(1)
for i = 1, 50 do
    y = y + x[row]
end
result = y:sum():item()]] },
    { "copy H2D", "copy: to",
        "Memory that is not pinned may be given back to the system at any time, so a copy of it \z
        must end before the host goes on. A pinned tensor is copied while Lua goes on.",
        setup = "c = (arange(1, 262144) % 7):to 'f32' p = c:pin_memory()",
        waits = [[
local y = zeros(262144, {device = d})
for i = 1, 30 do
    y = y + c:to(d)
end
result = y:sum():item()]],
        instead = [[
local y = zeros(262144, {device = d})
for i = 1, 30 do
    y = y + p:to(d, {non_blocking = true})
end
result = y:sum():item()]] },
    { "copy D2H", "copy: to cpu",
        "A copy to the host waits for what it copies. Results that are collected on the device \z
        are copied once.",
        setup = "x = (arange(1, 4096, {device = d}) % 7):to 'f32'",
        waits = [[
local rows = {}
for i = 1, 50 do
    rows[i] = (x * i):cpu()
end
result = stack(rows):sum():item()]],
        instead = [[
local rows = {}
for i = 1, 50 do
    rows[i] = x * i
end
result = stack(rows):cpu():sum():item()]] },
    { "reuse", "reuse",
        "A queued copy still reads the pinned tensor, so a write to it must wait. Two tensors \z
        in turn let the host fill one while the other is copied.",
        setup = "p = zeros(262144):pin_memory() q = zeros(262144):pin_memory()",
        waits = [[
local y = zeros(262144, {device = d})
for i = 1, 20 do
    p:fill_(i)
    y = y + p:to(d, {non_blocking = true})
end
result = y:sum():item()]],
        instead = [[
local y = zeros(262144, {device = d})
for i = 1, 20 do
    local free = ({p, q})[i % 2 + 1]
    free:fill_(i)
    y = y + free:to(d, {non_blocking = true})
end
result = y:sum():item()]] },
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
        where, or a product with the mask, keeps the size; x[mask] = number does not wait \z
        either.",
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
    total = total + (x * x:gt(3)):sum()
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
        "The device takes up to so many commands in advance, then the host waits until there is \z
        room. It is not a fault; fewer and larger ops leave the host free.",
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
