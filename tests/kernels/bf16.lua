-- 16-bit products, convolutions and recurrent layers against f64 on the same numbers: ragged sizes,
-- odd inner dims, layouts, NaN and infinities, nothing, and threads. It runs again for each
-- instruction set: with products of bf16 in pairs, and without.
local t = require "tap"
local g = require "gpush"

local set = os.getenv "GPUSH_ISA"
g.manual_seed(11)

-- Elements of got that are further from want than one rounding to its dtype and sums in f32 allow,
-- or NaN or infinite where want is not. mag: the sums of the products' sizes.
local function wrong(got, want, mag)
    if not g.equal(g.tensor(got.shape), g.tensor(want.shape)) then return "shape" end
    if got:numel() == 0 then return 0 end
    local half = got.dtype == "bf16" and 2 ^ -8 or 2 ^ -11
    local least = got.dtype == "bf16" and 2 ^ -126 or 2 ^ -25
    got = got:to "f64"
    local finite = want:isfinite()
    local near = (got - want):abs():le(want:abs() * half * 1.01 + mag * 2 ^ -19 + least)
    local same = got:eq(want):logical_or(got:isnan():logical_and(want:isnan()))
    return g.where(finite, near, same):logical_not():sum():item()
end

-- x in another layout.
local function lay(x, how)
    if how == "transposed" and #x.shape > 1 then
        return x:transpose(-1, -2):contiguous():transpose(-1, -2)
    end
    if how == "strided" then
        local shape = x.shape
        shape[#shape] = shape[#shape] * 2
        local wide = g.full(shape, 0 / 0, {dtype = x.dtype})
        local y = wide:slice(#shape, 1, -1, 2)
        return y:copy_(x)
    end
    if how == "rows" then -- gaps of one element between rows
        local shape = x.shape
        local n = shape[#shape]
        shape[#shape] = n + 1
        local y = g.full(shape, 0 / 0, {dtype = x.dtype}):narrow(#shape, 1, n)
        return y:copy_(x)
    end
    return x
end

local function check(name, got, f, ...)
    local wide, size = {}, {}
    for i, x in ipairs { ... } do
        wide[i] = x:to "f64"
        size[i] = wide[i]:abs()
    end
    return t.is(wrong(got, f(table.unpack(wide)), f(table.unpack(size))), 0, name)
end

-- ---- products ----

local function times(a, b) return a:matmul(b) end
local layouts = {"plain", "transposed", "strided", "rows"}
local sizes = {
    {2, 2, 513}, {7, 5, 129}, {6, 64, 64}, {13, 65, 33}, {97, 100, 71}, {200, 17, 301},
    {5, 300, 9}, {33, 16, 2049}, {3, 129, 64}, {150, 47, 98}, {1, 300, 77}, {300, 1, 77},
    {2, 70, 130}, {16, 16, 16},
    -- few rows or columns, which are read in place
    {1, 64, 1023}, {1, 333, 31}, {2, 65, 96}, {3, 200, 32}, {4, 70, 65}, {5, 129, 40}, {8, 90, 33},
    {500, 2, 33}, {129, 3, 64}, {70, 4, 95}, {1, 1, 4000}, {2, 3, 999},
}
for _, dtype in ipairs {"bf16", "f16"} do
    for i, s in ipairs(sizes) do
        local m, n, k = table.unpack(s)
        for j = 1, 4 do
            local how, other = layouts[j], layouts[(i + j) % 4 + 1]
            local a = lay(g.randn(m, k):to(dtype), how)
            local b = lay(g.randn(k, n):to(dtype), other)
            check(("%s %d x %d x %d, %s by %s"):format(dtype, m, k, n, how, other), a:matmul(b),
                times, a, b)
        end
    end
    local a, b = g.randn(3, 1, 20, 31):to(dtype), g.randn(4, 31, 19):to(dtype)
    check(dtype .. " batches that are broadcast", a:matmul(b), times, a, b)
    local c, d = g.randn(40, 50, 33):to(dtype), g.randn(33, 70):to(dtype)
    local v = g.randn(33):to(dtype)
    check(dtype .. " a matrix by a vector", c:matmul(v), times, c, v)
    check(dtype .. " a vector by a matrix", v:matmul(d), times, v, d)
    check(dtype .. " a batch by one matrix", c:matmul(d), times, c, d)
    local x, w, bias = g.randn(9, 35):to(dtype), g.randn(77, 35):to(dtype), g.randn(77):to(dtype)
    check(dtype .. " linear", g.linear(x, w, bias),
        function(p, q, r) return g.linear(p, q, r) end, x, w, bias)
    check(dtype .. " addmm", g.addmm(bias, x, w:t(), {beta = 0.5, alpha = 2}),
        function(p, q, r) return g.addmm(p, q, r:t(), {beta = 0.5, alpha = 2}) end, bias, x, w)
    check(dtype .. " nothing to sum", g.ones(30, 0):to(dtype):matmul(g.ones(0, 40):to(dtype)),
        times, g.ones(30, 0), g.ones(0, 40))
    check(dtype .. " nothing", g.ones(0, 30):to(dtype):matmul(g.ones(30, 40):to(dtype)), times,
        g.ones(0, 30), g.ones(30, 40))
end

-- A number that is not finite reaches its row or column, and no other.
for _, special in ipairs {1 / 0, -1 / 0, 0 / 0} do
    for _, k in ipairs {1, 2, 33, 63, 64} do
        local a, b = g.randn(50, k), g.randn(k, 70)
        a[{7, k}] = special
        b[{1, 69}] = special
        a, b = a:bfloat16(), b:bfloat16()
        local got, want = a:matmul(b):to "f64", a:to "f64":matmul(b:to "f64")
        t.is({got:isnan():ne(want:isnan()):sum():item(), got:isinf():ne(want:isinf()):sum():item()},
            {0, 0}, ("%g in a product over %d"):format(special, k))
    end
end

-- Large sums are rounded once, to the nearest, ties to even: 256 + 1 and 256 + 3 lie halfway.
local ones = g.ones(20, 257):bfloat16()
t.is(ones:matmul(g.ones(257, 20):bfloat16())[{3, 4}]:item(), 256, "257 is rounded to 256")
t.is(g.ones(20, 259):bfloat16():matmul(g.ones(259, 20):bfloat16())[{3, 4}]:item(), 260,
    "259 is rounded to 260")
-- Subnormal numbers are zeros where the processor takes them for such, and right elsewhere.
local small = g.full({20, 32}, 2 ^ -130):bfloat16()
local sum = small:matmul(g.full({32, 20}, 2.0):bfloat16())[{1, 1}]:item()
t.ok(sum == 0 or sum == 2 ^ -124, "subnormal numbers are zeros or right")

-- ---- convolutions ----

local function loss_weights(y)
    return g.linspace(-1, 1, y:numel(), {dtype = y.dtype}):view_as(y)
end

-- The result and the gradients of f's arguments, for gradients that are exact in 16 bits.
local function with_grads(f, up, ...)
    local x = { ... }
    for i = 1, #x do x[i] = x[i]:detach():requires_grad_() end
    local y = f(table.unpack(x))
    y:backward(up:to(y.dtype))
    local out = {y:detach()}
    for i = 1, #x do out[#out + 1] = x[i].grad end
    return out
end

local function conv_case(name, f, dtype, how, ...)
    local x = { ... }
    for i = 1, #x do x[i] = lay(x[i]:to(dtype), how) end
    local up = loss_weights(f(table.unpack(x))):to(dtype)
    local got, wide, size = with_grads(f, up, table.unpack(x)), {}, {}
    for i = 1, #x do wide[i] = x[i]:to "f64" size[i] = wide[i]:abs() end
    local want = with_grads(f, up, table.unpack(wide))
    local mag = with_grads(f, up:abs(), table.unpack(size))
    local bad = {}
    for i = 1, #got do bad[i] = wrong(got[i], want[i], mag[i]) end
    t.is(bad, g.zeros(#got):tolist(), ("%s %s, %s: result and gradients"):format(dtype, name, how))
end

local function conv(op, o) return function(x, w, b) return g[op](x, w, b, o) end end
for _, dtype in ipairs {"bf16", "f16"} do
    for _, how in ipairs {"plain", "transposed", "strided"} do
        local r = g.randn
        conv_case("3 x 3", conv("conv2d", {padding = 1}), dtype, how, r(3, 5, 9, 21),
            r(14, 5, 3, 3), r(14))
        conv_case("1 x 1", conv("conv2d", {stride = 1}), dtype, how, r(2, 17, 7, 16),
            r(30, 17, 1, 1), r(30))
        conv_case("strided and dilated", conv("conv2d", {stride = 2, dilation = {1, 2},
            padding = {2, 1}}), dtype, how, r(2, 3, 19, 23), r(4, 3, 5, 3), r(4))
        conv_case("groups", conv("conv2d", {groups = 3, padding = 1}), dtype, how, r(2, 9, 8, 40),
            r(6, 3, 3, 3), r(6))
        conv_case("one channel a group", conv("conv2d", {groups = 4}), dtype, how, r(1, 4, 6, 9),
            r(8, 1, 3, 3), r(8))
        conv_case("wide rows", conv("conv2d", {padding = {0, 1}}), dtype, how, r(1, 2, 3, 1500),
            r(3, 2, 2, 3), r(3))
        conv_case("one channel", conv("conv2d", {padding = 1}), dtype, how, r(2, 1, 9, 40),
            r(20, 1, 3, 3), r(20))
        conv_case("1-d", conv("conv1d", {padding = 3}), dtype, how, r(2, 6, 70), r(5, 6, 7), r(5))
        conv_case("3-d", conv("conv3d", {padding = 1}), dtype, how, r(1, 3, 4, 5, 17),
            r(2, 3, 3, 3, 3), r(2))
        conv_case("transposed", conv("conv_transpose2d", {stride = 2, padding = 1}), dtype, how,
            r(2, 7, 6, 9), r(7, 5, 3, 3), r(5))
    end
end

-- As in f32, padding is multiplied: infinite weights and NaN in the image go where they go there.
for _, special in ipairs {1 / 0, 0 / 0} do
    local x, w, b = g.randn(1, 3, 6, 18), g.randn(5, 3, 3, 3), g.randn(5)
    x[{1, 3, 2, 18}] = special
    w[{2, 1, 1, 1}] = special
    x, w, b = x:bfloat16(), w:bfloat16(), b:bfloat16()
    local f = conv("conv2d", {padding = 1})
    local up = loss_weights(f(x, w, b)):bfloat16()
    local got = with_grads(f, up, x, w, b)
    local want = with_grads(f, up, x:float(), w:float(), b:float())
    for i = 1, 3 do
        t.is({got[i]:isnan():ne(want[i]:isnan()):sum():item(),
            got[i]:isinf():ne(want[i]:isinf()):sum():item()}, {0, 0},
            ("%g in a convolution, %d"):format(special, i))
    end
end
t.is(conv("conv2d", {stride = 1})(g.ones(0, 4, 5, 5):bfloat16(), g.ones(3, 4, 3, 3):bfloat16(),
    g.ones(3):bfloat16()).shape, {0, 3, 3, 3}, "no image")

-- ---- recurrent layers ----

-- The farthest element, as a part of the largest.
local function off(got, want)
    if got:numel() == 0 then return 0 end
    want = want:detach():to "f64"
    return ((got:detach():to "f64" - want):abs():amax() / (want:abs():amax() + 1e-30)):item()
end

local function recurrent(kind, dtype, T, B, I, H, o)
    g.manual_seed(5)
    local m = nn[kind](I, H, o):to(dtype)
    local x = (g.randn(T, B, I) * 0.5):to(dtype)
    if o.batch_first then x = x:transpose(1, 2) end
    local function run(layer, input)
        layer:zero_grad()
        local v = input:detach():requires_grad_()
        local y, h = layer(v)
        y:backward(loss_weights(y))
        local out = {y, type(h) == "table" and h[1] or h, v.grad}
        for _, p in ipairs(layer:parameters()) do out[#out + 1] = p.grad end
        return out
    end
    local got = run(m, x)
    local want = run(m:to "f64", x:to "f64")
    local worst = 0
    for i = 1, #got do
        local d = off(got[i], want[i])
        worst = d > worst and d or d ~= d and d or worst
    end
    local bound = dtype == "bf16" and 0.02 or 0.002
    if not t.ok(worst < bound, ("%s %s of %d x %d x %d, %d units"):format(dtype, kind, T, B, I, H))
    then io.stderr:write("#   off by ", worst, "\n") end
end
for _, dtype in ipairs {"bf16", "f16"} do
    for _, kind in ipairs {"LSTM", "GRU", "RNN"} do
        recurrent(kind, dtype, 6, 5, 7, 33, {})
        recurrent(kind, dtype, 1, 1, 1, 1, {})
        recurrent(kind, dtype, 9, 3, 16, 17, {bidirectional = true, num_layers = 2})
        recurrent(kind, dtype, 40, 20, 5, 20, {batch_first = true, bias = false})
    end
end
local empty = nn.LSTM(4, 6):to "bf16"
t.is(empty(g.ones(3, 0, 4):bfloat16()).shape, {3, 0, 6}, "a batch of nothing")

-- ---- threads ----

-- Bits for one and two threads.
local function bits(f)
    local out = {}
    for n = 1, 2 do
        g.threads(n)
        g.manual_seed(3)
        out[n] = f()
    end
    g.threads(1)
    return out[1], out[2]
end
local function equal(name, f)
    local a, b = bits(f)
    local same = 0
    for i = 1, #a do same = same + (g.equal(a[i], b[i]) and 1 or 0) end
    t.is(same, #a, name .. ": the same bits for one and two threads")
end
equal("products", function()
    local a, b = g.randn(300, 257):bfloat16(), g.randn(257, 190):bfloat16()
    return {a:matmul(b), a:narrow(2, 1, 190):t():matmul(a), a:matmul(b:narrow(2, 1, 10))}
end)
equal("convolutions", function()
    local f = conv("conv2d", {padding = 1})
    local x, w, b = g.randn(5, 33, 30, 30), g.randn(20, 33, 3, 3), g.randn(20)
    x, w, b = x:bfloat16(), w:bfloat16(), b:bfloat16()
    return with_grads(f, loss_weights(f(x, w, b)), x, w, b)
end)
equal("an LSTM", function()
    local m = nn.LSTM(40, 70):to "bf16"
    local x = g.randn(20, 12, 40):bfloat16():requires_grad_()
    local y = m(x)
    y:backward(loss_weights(y))
    local out = {y:detach(), x.grad}
    for _, p in ipairs(m:parameters()) do out[#out + 1] = p.grad end
    return out
end)

-- ---- what multiplies them ----

local info = io.open "/proc/cpuinfo"
local flags = info and info:read "a" or ""
if info then info:close() end

local function doctor(isa)
    local pipe = io.popen(("%s '%s/gpush' doctor 2>&1"):format(isa, os.getenv "GPUSH_BUILD"))
    local said = pipe:read "a"
    pipe:close()
    return said
end

local soft = os.getenv "TEST_SOFT_AMX" -- by scripts/dev/variants
if doctor "":find("bf16 by AMX", 1, true) then
    t.ok((flags:find "amx_bf16" or soft) and not set, "doctor says AMX where the processor has it")
else
    t.ok(set or not soft, "no AMX: the processor, the system or GPUSH_ISA leaves it out")
end
local said = doctor "GPUSH_ISA=bf16"
if flags:find "avx512_bf16" and said:find("those of v4", 1, true) then
    t.ok(said:find("bf16 by AVX512-BF16", 1, true), "pairs are used, on Intel's, too, if asked for")
else
    t.skip(1, "no AVX512-BF16: the processor or the build leaves it out")
end

-- ---- the other instruction sets ----

if not set then
    for _, other in ipairs {"bf16", "v4", "v3", "base"} do
        local command = ("GPUSH_ISA=%s '%s/gpush' '%s' 2>&1"):format(other,
            os.getenv "GPUSH_BUILD", arg[0])
        local pipe = io.popen(command)
        local failed, all = {}, 0
        for line in pipe:lines() do
            if line:find "^not ok" or line:find "^gpush:" then failed[#failed + 1] = line end
            all = all + 1
        end
        local ok = pipe:close()
        t.is(failed, {}, "GPUSH_ISA=" .. other)
        t.ok(ok and all > 50, "GPUSH_ISA=" .. other .. " ends well")
    end
end
t.done()
