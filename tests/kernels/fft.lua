--!plain
-- Fourier transforms beyond the table-driven test: every size to 300, primes, batches, several
-- dims, grids and shifts.
local t = require "tap"
local g = require "gpush"
local A = require "arrays"
local F = require "fourier"

-- Root mean square error of pairs against the transform of re, im by definition, over the
-- spectrum's size; up to `most` results are looked at.
local function error_of(y, re, im, sign, most)
    local n, got = #re, A.values(y)
    local wr, wi = F.roots(n, sign)
    local sum, all = 0, 0
    for k = 0, n - 1, math.max(1, n // most) do
        local r, i, rest_r, rest_i = 0, 0, 0, 0 -- sums and their rounding errors
        for j = 0, n - 1 do
            local c, d = wr[j * k % n], wi[j * k % n]
            local a, b = re[j + 1] * c - im[j + 1] * d - rest_r, re[j + 1] * d + im[j + 1] * c -
                rest_i
            local p, q = r + a, i + b
            rest_r, rest_i = p - r - a, q - i - b
            r, i = p, q
        end
        sum = sum + (got[2 * k + 1] - r) ^ 2 + (got[2 * k + 2] - i) ^ 2
        all = all + r * r + i * i
    end
    return math.sqrt(sum / all)
end

g.manual_seed(3)
local eps = {f32 = 2 ^ -24, f64 = 2 ^ -53}
local function sizes(list, most)
    for dtype, unit in pairs(eps) do
        local bad = {}
        for _, n in ipairs(list) do
            local x = g.rand(n, 2, {dtype = dtype}) - 0.5
            local re, im, none = A.values(x:select(2, 1)), A.values(x:select(2, 2)), {}
            for i = 1, n do none[i] = 0 end
            local limit = 1.5 * unit * (2 + math.log(n, 2))
            local real = x:select(2, 1)
            local e = {error_of(g.fft.fft(x, {complex = true}), re, im, -1, most),
                error_of(g.fft.ifft(x, {norm = "forward"}), re, im, 1, most),
                error_of(g.fft.fft(real), re, none, -1, most)}
            local half = g.fft.rfft(real)
            local back = (g.fft.irfft(half, n) - real):abs():amax():item()
            local dense = g.fft.irfft(g.fft.rfft(real:contiguous()), n)
            local again = (dense - real):abs():amax():item()
            for k, v in ipairs {e[1], e[2], e[3], back / 2, again / 2} do
                if not (v <= limit) then bad[#bad + 1] = ("size %d, %d: %g"):format(n, k, v) end
            end
            if not half:eq(g.fft.fft(real):narrow(1, 1, n // 2 + 1)):all():item() then
                bad[#bad + 1] = "rfft of " .. n
            end
        end
        t.is(bad, {}, #list .. " sizes from " .. list[1] .. " in " .. dtype)
    end
end
local list = {}
for n = 1, 300 do list[n] = n end
sizes(list, 40)
sizes({1009, 1024, 4096, 3 * 5 * 1024, 10007, 65536, 65537}, 5)

-- an even length, of a line that is odd and shorter; the imaginary part of the last frequency of an
-- even one
do
    local function dft(v, n)
        local out = {}
        for k = 0, n // 2 do
            local re, im = 0, 0
            for j = 0, #v - 1 do
                local a = -2 * math.pi * j * k / n
                re, im = re + v[j + 1] * math.cos(a), im + v[j + 1] * math.sin(a)
            end
            out[k + 1] = {re, im}
        end
        return out
    end
    local v = {1, -2, 3.5, 0.25, 7}
    for _, dtype in ipairs {"f32", "f64"} do
        t.close(g.fft.rfft(g.tensor(v, {dtype = dtype}), 8):to("f64"), dft(v, 8), 1e-5,
            "5 elements as 8, " .. dtype)
        local x = g.zeros({3, 10}, {dtype = dtype})
        x[2]["::2"] = g.tensor(v, {dtype = dtype})
        t.close(g.fft.rfft(x[2]["::2"], 8):to("f64"), dft(v, 8), 1e-5, "and with gaps between them")
    end
    local function back(last)
        return g.fft.irfft(g.tensor({{1, 0}, {2, 1}, {3, last}}, {dtype = "f64"}), 4)
    end
    t.close(back(7), {2, -1, 0, 0}, 1e-15,
        "irfft takes the last frequency of an even length for real")
    t.is(back(7), back(0):tolist(), "whatever its imaginary part is")
end

-- Lines of a batch, in each dim and layout, are transformed as separate ones are.
for _, device in ipairs {"cpu", "sim"} do
    for _, n in ipairs {7, 48, 300, 1000} do
        local x = (g.rand(37, n, {dtype = "f64"})):to(device)
        local y, z = g.fft.fft(x), g.fft.fft(x:transpose(1, 2), {dim = 1})
        t.close(A.values(z:transpose(1, 2)), A.values(y), 1e-12,
            ("dim 1 of %d x 37 on %s"):format(n, device))
        t.close(A.values(g.fft.fft(x[5])), A.values(y[5]), 1e-12, "a line of a batch and alone")
        t.close(A.values(g.fft.irfft(g.fft.rfft(x, {dim = 1}), {n = 37, dim = 1})), A.values(x),
            1e-14, "rfft and back along dim 1")
        t.close(A.values(g.fft.ifft(y):select(3, 1)), A.values(x), 1e-14, "fft and back")
    end
end
g.threads(1)
local many = g.rand(200, 90)
local one = g.fft.fft(many)
g.threads(2)
t.is(A.values(g.fft.fft(many)), A.values(one), "the same bits from two threads")

-- ---- several dims ----

local x, a = A.context("fft", "f64", "cpu", "contiguous").x {3, 4, 5}
local want = F.transform(F.transform(F.transform(F.pairs(a), 1, nil, -1, 1), 2, nil, -1, 1), 3, nil,
    -1, 1)
t.close(A.values(g.fft.fftn(x)), want.v, 1e-12, "fftn")
t.close(A.values(g.fft.fftn(x:to "sim"):to "cpu"), want.v, 1e-12, "fftn on sim")
local two = F.transform(F.transform(F.pairs(a), 2, 6, -1, 1 / 6), 3, 3, -1, 1 / 3)
t.close(A.values(g.fft.fft2(x, {6, 3}, {norm = "forward"})), two.v, 1e-12,
    "fft2 with sizes and norm")
t.close(A.values(g.fft.ifftn(g.fft.fftn(x)):select(4, 1)), a.v, 1e-14, "ifftn")
t.close(A.values(g.fft.ifft2(g.fft.fft2(x, {dim = {1, 3}}), {dim = {1, 3}}):select(4, 1)), a.v,
    1e-14, "ifft2 over dims 1 and 3")
t.is(g.fft.rfftn(x).shape, {3, 4, 3, 2}, "rfftn's shape")
t.close(A.values(g.fft.rfftn(x)), A.values(g.fft.fftn(x):narrow(3, 1, 3)), 1e-12, "rfftn")
t.close(A.values(g.fft.irfftn(g.fft.rfftn(x), {3, 4, 5})), a.v, 1e-14, "irfftn")
t.close(A.values(g.fft.irfft2(g.fft.rfft2(x), {4, 5})), a.v, 1e-14, "irfft2")

-- ---- frequencies and shifts ----

t.close(A.values(g.fft.fftfreq(5, 0.5)), {0, 0.4, 0.8, -0.8, -0.4}, 1e-6, "fftfreq of 5")
t.close(A.values(g.fft.fftfreq(4)), {0, 0.25, -0.5, -0.25}, 0, "fftfreq of 4")
t.close(A.values(g.fft.rfftfreq(5, {dtype = "f64"})), {0, 0.2, 0.4}, 1e-15, "rfftfreq of 5")
t.close(A.values(g.fft.rfftfreq(4)), {0, 0.25, 0.5}, 0, "rfftfreq of 4")
for n = 1, 6 do
    local shifted, want = A.values(g.fft.fftshift(g.arange(1, n))), {}
    for i = 1, n do want[(i - 1 + n // 2) % n + 1] = i end
    t.is(shifted, want, "fftshift of " .. n)
    t.is(A.values(g.fft.ifftshift(g.fft.fftshift(g.arange(1, n)))), A.values(g.arange(1, n)),
        "and back")
end
t.is(A.values(g.fft.fftshift(g.arange(1, 6):view(2, 3))), {6, 4, 5, 3, 1, 2},
    "fftshift of both dims")
t.is(A.values(g.fft.fftshift(g.arange(1, 6):view(2, 3), 2)), {3, 1, 2, 6, 4, 5},
    "fftshift of dim 2")

-- ---- edges ----

t.is(g.fft.fft(g.zeros(0, 4)).shape, {0, 4, 2}, "an empty batch")
t.is(A.values(g.fft.fft(g.tensor {3.0})), {3, 0}, "one element")
local nan = A.values(g.fft.fft(g.tensor {1.0, 0 / 0, 2.0, 3.0}))
t.ok(nan[1] ~= nan[1] and nan[3] ~= nan[3], "NaN")
t.error(function() g.fft.fft(g.zeros(0)) end, "fft.fft: 0 points", "nothing to transform")
t.error(function() g.fft.fft(g.zeros(4), {n = 0}) end, "0 points", "n = 0")
t.error(function() g.fft.fft(g.zeros(4), {norm = "back"}) end, "norm 'back'", "norm")
t.error(function() g.fft.fft(g.zeros(4, 3), {dim = 3}) end, "dim 3", "dim")
t.error(function() g.fft.fft(g.zeros(4, 2), {dim = 2, complex = true}) end, "dim 2",
    "the pairs' dim is not counted")
t.error(function() g.fft.fft(g.zeros(4):to "f16") end, "f16", "f16")
t.error(function() g.fft.fft2(g.zeros(4, 4), {4}, {1, 2}) end, "1 sizes for 2 dims",
    "sizes and dims")

-- Lines that are shorter than the transform end in zeros, longer ones are cut, also where they are
-- read in place.
for _, n in ipairs {64, 100, 125, 512} do
    for _, have in ipairs {n - 20, n + 20} do
        local z, w = g.randn(3, have, 2, {dtype = "f64"}), g.zeros(3, n, 2, {dtype = "f64"})
        local same = math.min(n, have)
        w:narrow(2, 1, same):copy_(z:narrow(2, 1, same))
        t.close(A.values(g.fft.fft(z, {n = n, complex = true})),
            A.values(g.fft.fft(w, {complex = true})), 1e-13, ("fft of %d as %d"):format(have, n))
        t.close(A.values(g.fft.ifft(z, {n = n})), A.values(g.fft.ifft(w)), 1e-13, "ifft")
        local x, y = z:select(3, 1):contiguous(), w:select(3, 1):contiguous()
        t.close(A.values(g.fft.rfft(x, {n = n})), A.values(g.fft.rfft(y)), 1e-13, "rfft")
    end
end

-- lines that are read where they are, and those that begin where a library cannot read them; the
-- input stays as it was
for _, dtype in ipairs {"f32", "f64"} do
    for _, norm in ipairs {"backward", "ortho", "forward"} do
        local flat = g.randn(1 + 5 * 6 * 4, {dtype = dtype})
        local from, to = flat:narrow(1, 2, 120), flat:narrow(1, 1, 120):clone()
        local before, o = flat:clone(), {norm = norm}
        to:copy_(from)
        local function results(v)
            local real, pairs = v:view(5, 24), v:view(5, 12, 2)
            local c = {norm = norm, complex = true}
            return {g.fft.rfft(real, o), g.fft.fft(real, o),
                g.fft.ifft(real, {norm = norm, complex = false}),
                g.fft.fft(pairs, c), g.fft.ifft(pairs, c), g.fft.irfft(pairs, o),
                g.fft.rfft(v:view(5, 4, 6), {norm = norm, dim = 2})}
        end
        local want, got = results(from), results(to)
        for k, y in ipairs(want) do
            t.ok(y:eq(got[k]):all():item(),
                ("%s %s, %d: wherever it begins"):format(dtype, norm, k))
        end
        local whole = g.fft.rfft(to:view(5, 24), o):select(1, 3)
        local line = g.fft.rfft(to:view(5, 24):select(1, 3), o)
        t.ok((whole - line):abs():max():item() < 1e-4, "a line of several, " .. norm)
        t.ok(flat:eq(before):all():item(), "the input is not written to, " .. norm)
    end
end
t.done()
