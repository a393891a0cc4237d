--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: Fourier transforms.
local g = require "gpush"
local F = require "fourier"
local C = {}

-- All dtypes but f16 and bf16; integers give f32.
local TYPES = {f64 = true, f32 = true, i64 = true, i32 = true, i16 = true, i8 = true, u8 = true,
    bool = true}
local function out(c) return c.dtype == "f64" and "f64" or "f32" end
-- Rounding depends on the size of the terms, not of the sum: they may cancel.
local function tolerance(c, a)
    local most = 1
    for _, v in ipairs(a.v) do most = math.max(most, math.abs(v)) end
    return most * (c.dtype == "f64" and 1e-14 or 3e-6)
end

local function real_to_pairs(fn, sign, half)
    return {types = TYPES, run = function(c)
        for dim, shape in ipairs {{6, 2, 3}, {2, 7, 2}, {3, 2, 8}} do
            local x, a = c.x(shape)
            local o = {dim = dim, complex = false}
            if half then o.complex = nil end
            c.check(fn(x, o),
                F.transform(F.pairs(a), dim, nil, sign, sign > 0 and 1 / shape[dim] or 1, half),
                    out(c), tolerance(c, a), "dim " .. dim)
            o.n, o.norm = 5, "ortho"
            c.check(fn(x, o), F.transform(F.pairs(a), dim, 5, sign, 5 ^ -0.5, half), out(c),
                tolerance(c, a), "n = 5")
        end
    end}
end
C.fft_fft = real_to_pairs(g.fft.fft, -1)
C.fft_rfft = real_to_pairs(g.fft.rfft, -1, true)
C.fft_ifft = {types = TYPES, run = function(c)
    real_to_pairs(g.fft.ifft, 1).run(c)
    local x, a = c.x {3, 5, 2}
    for dim, n in ipairs {3, 5} do
        c.check(g.fft.ifft(x, {dim = dim}), F.transform(a, dim, nil, 1, 1 / n), out(c),
            tolerance(c, a), "of pairs")
        c.check(g.fft.fft(x, {dim = dim, complex = true}), F.transform(a, dim, nil, -1, 1), out(c),
            tolerance(c, a), "fft of pairs")
    end
    c.refuses(function() return g.fft.ifft((c.x {3, 5})) end, "^fft.ifft: ", "last dim of size 2")
end}
C.fft_irfft = {types = TYPES, run = function(c)
    for _, n in ipairs {6, 7, 3, 1, 12} do
        local x, a = c.x {2, 4, 3, 2}
        c.check(g.fft.irfft(x, n, 2, "forward"), F.half_to_real(a, 2, n, 1), out(c),
            tolerance(c, a), "n = " .. n)
    end
    local x, a = c.x {3, 5, 2}
    c.check(g.fft.irfft(x), F.half_to_real(a, 2, 8, 1 / 8), out(c), tolerance(c, a), "without n")
end}
return C
