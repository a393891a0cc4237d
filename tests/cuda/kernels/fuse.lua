--!plain
-- Fused functions on the stand-in for CUDA, whose NVRTC is the host's compiler: programs run as one
-- kernel each, forward and backward, with the bits of their single ops.
local t = require "tap"
local g = require "gpush"
local programs = require "fused_programs"
local same, gradients = programs.same, programs.gradients
local fake = require "fake"
g.fuse_compile "wait"

local function counts() return select(2, g.fuse_compile()) end

-- fn fused and as it is, on the same arguments; the fused one runs `kernels` kernels. Other sizes
-- are the same program. Each program takes the host's compiler half a second.
local function compare(what, fn, kernels, ...)
    local fused = g.fuse(fn)
    fused(table.unpack((...))) -- notes the ops
    for k, args in ipairs { ... } do
        local failed = counts().failed
        fused(table.unpack(args))
        t.is(counts().failed, failed, what .. ": nothing fails to compile")
        g.manual_seed(3)
        g.synchronize()
        local launches = fake.count "launch"
        local got = table.pack(fused(table.unpack(args)))
        t.is(fake.count "launch" - launches, kernels[k], what .. ": kernels " .. k)
        g.manual_seed(3)
        local want = table.pack(fn(table.unpack(args)))
        for i = 1, want.n do
            t.ok(same(got[i], want[i]), ("%s %d: result %d"):format(what, k, i))
        end
    end
end
local function cuda(x) return x:to "cuda" end

local m, row, column = cuda(g.randn(6, 40)), cuda(g.randn(40)), cuda(g.randn(6, 1))
-- 240 elements are whole vectors; 243 leave three.
compare("layouts", function(a, b, c, d)
    return (a * b + c) * 2 - d, a:gt(b)
end, { 1, 1 }, { m, row, column, cuda(g.randn(40, 6)):t() },
    { cuda(g.randn(5, 7)), cuda(g.randn(7)), cuda(g.randn(5, 1)),
        cuda(g.randn(5, 9))["1:-1, 2:-2"] })
local special = cuda(g.tensor { 0, -0.0, 1, -1, 1 / 0, -1 / 0, 0 / 0, 1e-41, 3e38, 0.5, -2.5 })
local integers = cuda(g.randn(11) * 9):to "i32"
compare("numbers of all kinds, parameters and choices", function(x)
    local y = g.where(x:isfinite(), g.clamp(x, -1, 2) + g.leaky_relu(x, 0.1), x ^ 2)
    return g.dropout(y * x, 0.3) + g.gelu(x):sin() + g.lgamma(x) ^ 2.5
end, { 2 }, { special })
compare("integers and conversions", function(x, i, k, h)
    local z = g.hardtanh(i, -3, 4) * k + i:abs()
    return (z:to "f32" + x):to "i32" + z:gt(2):bitwise_not() + (g.silu(h * x + 1) - h / 3)
end, { 2 }, { special, integers, integers:to "i64" * 3, special:to "f16" })

-- Reductions: along rows and down columns, of vectors and not, in parts, over all and over none.
compare("sums of rows", function(a, b) return (g.relu(a) * b + 1):sum(2) end, { 1, 1, 2 },
    { m, row }, { m["1:3, 2:-1"], row["2:-1"] }, { cuda(g.randn(2, 30000)), cuda(g.randn(2, 1)) })
compare("means of columns", function(a) return (a * 2 + 1):mean(1) end, { 1, 1 },
    { m:to "f16" }, { cuda(g.randn(3, 8)):to "f16" })
compare("largest integers", function(a, b) return (a * b):amax(2) end, { 1 },
    { cuda(g.randn(9, 5) * 4):to "i32", cuda(g.randn(5) * 4):to "i32" })

-- Backward is programs, too.
for what, fn in pairs { dropout = function(a, b)
    return g.dropout(g.gelu(a * b), 0.5) * g.sigmoid(a)
end } do
    local fused = g.fuse(fn)
    gradients(fused, m, row)
    gradients(fused, m, row)
    g.manual_seed(4)
    local got = gradients(fused, m, row)
    g.manual_seed(4)
    local want = gradients(fn, m, row)
    for i = 1, 2 do t.ok(same(got[i], want[i]), what .. ": gradient " .. i) end
end

-- The derivative of the longest chain has four steps for each of its own.
do
    local function fn(a, b)
        local z = a
        for _ = 1, 20 do z = z * a * b end
        return z
    end
    local fused, x, y = g.fuse(fn), 1 + 0.1 * g.sigmoid(m), 1 + 0.1 * g.sigmoid(m:flip(1))
    gradients(fused, x, y)
    gradients(fused, x, y)
    g.synchronize()
    local launches = fake.count "launch"
    local got = gradients(fused, x, y)
    local few = fake.count "launch" - launches
    local want = gradients(fn, x, y)
    t.ok(few < 10, ("a chain of 40 steps and its gradients: %d kernels"):format(few))
    for i = 1, 2 do
        t.ok(g.allclose(got[i], want[i], 1e-4), "a long chain: gradient " .. i)
    end
end

-- What may fail, or is off, runs op by op; a captured function's graph has the program's kernel.
local divided = g.fuse(function(a, b) return a // b + 1 end)
local i, k = cuda(g.tensor { 7, -7, 9 }):to "i32", cuda(g.tensor { 2, 2, 4 }):to "i32"
divided(i, k)
t.ok(divided(i, k):equal(i // k + 1), "integer division runs op by op")
local add = g.fuse(function(a, b) return g.relu(a * b + a) end)
local x, y = cuda(g.randn(8)), cuda(g.randn(8))
add(x, y)
add(x, y)
local step = g.capture(function(a, b) return add(a, b) * 2 end)
step(x, y)
for n = 1, 2 do
    local z = x + n
    t.ok(step(z, y):equal(g.relu(z * y + z) * 2), "captured")
end
g.fuse_compile(false)
local off = g.fuse(function(a) return a * 3 - 1 end)
off(x)
t.ok(off(x):equal(x * 3 - 1), "compiling nothing")
t.done()
