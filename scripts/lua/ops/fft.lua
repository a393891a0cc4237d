--!plain
-- Composites: Fourier transforms. See define in scripts/lua/init.lua.
local gpush, define, _, fail = ...

-- ---- Fourier transforms over several dims; grids; shifts ----

-- The dims as positions from the front (dims: the number that x has without those of pairs), and a
-- size for each or nil.
local function plan(name, x, s, dim, dims, default)
    if not dim then
        dim = {}
        local n = s and #s or default or dims
        for i = 1, n do dim[i] = dims - n + i end
    end
    if s and #s ~= #dim then fail("%s: %d sizes for %d dims", name, #s, #dim) end
    local at, seen = {}, {}
    for i, d in ipairs(dim) do
        at[i] = d < 0 and dims + 1 + d or d
        if at[i] < 1 or at[i] > dims then
            fail("%s: dim %d is out of range for %d dims", name, d, dims)
        end
        if seen[at[i]] then fail("%s: dim %d is given twice", name, d) end
        seen[at[i]] = true
    end
    if #at == 0 then fail(name .. ": no dims to transform") end
    return at, s or {}
end

local function complex_steps(fn, x, at, s, norm, first)
    for i = first, 1, -1 do x = fn(x, s[i], at[i], norm, true) end
    return x
end

-- A transform over several dims from pairs, or from a real tensor, to pairs.
local function over(fn)
    return function(name, default, x, s, dim, norm, complex)
        local dims = #x.shape - (complex and 1 or 0)
        local at, sizes = plan(name, x, s, dim, dims, default)
        local last = #at
        return complex_steps(fn, fn(x, sizes[last], at[last], norm, complex), at, sizes, norm,
            last - 1)
    end
end
local fft = gpush.fft
local fft_over, ifft_over = over(fft.fft), over(fft.ifft)
local function rfft_over(name, default, x, s, dim, norm)
    local at, sizes = plan(name, x, s, dim, #x.shape, default)
    local last = #at
    return complex_steps(fft.fft, fft.rfft(x, sizes[last], at[last], norm), at, sizes, norm,
        last - 1)
end
local function irfft_over(name, default, x, s, dim, norm)
    local at, sizes = plan(name, x, s, dim, #x.shape - 1, default)
    local last = #at
    return fft.irfft(complex_steps(fft.ifft, x, at, sizes, norm, last - 1), sizes[last], at[last],
        norm)
end

define { "fft.fft2",
    sig = "tensor x, ints? s, dims? dim, str norm=\"backward\", bool complex=false",
    help = "Fourier transform of a real tensor (complex=true: of pairs) over the last two dims, \z
        or dim; s: their sizes",
    dtypes = "f64 f32 integers bool", fn = function(...) return fft_over("fft.fft2", 2, ...) end }
define { "fft.fftn",
    sig = "tensor x, ints? s, dims? dim, str norm=\"backward\", bool complex=false",
    help = "Fourier transform of a real tensor (complex=true: of pairs) over all dims, or dim; s: \z
        their sizes",
    dtypes = "f64 f32 integers bool", fn = function(...) return fft_over("fft.fftn", nil, ...) end }
define { "fft.ifft2",
    sig = "tensor x, ints? s, dims? dim, str norm=\"backward\", bool complex=true",
    help = "inverse Fourier transform of pairs over the last two dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool", fn = function(...) return ifft_over("fft.ifft2", 2, ...) end }
define { "fft.ifftn",
    sig = "tensor x, ints? s, dims? dim, str norm=\"backward\", bool complex=true",
    help = "inverse Fourier transform of pairs over all dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool",
    fn = function(...) return ifft_over("fft.ifftn", nil, ...) end }
define { "fft.rfft2", sig = "tensor x, ints? s, dims? dim, str norm=\"backward\"",
    help = "Fourier transform of a real tensor, half of it along the last of the dims, over the \z
        last two dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool", fn = function(...) return rfft_over("fft.rfft2", 2, ...) end }
define { "fft.rfftn", sig = "tensor x, ints? s, dims? dim, str norm=\"backward\"",
    help = "Fourier transform of a real tensor, half of it along the last of the dims, over all \z
        dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool",
    fn = function(...) return rfft_over("fft.rfftn", nil, ...) end }
define { "fft.irfft2", sig = "tensor x, ints? s, dims? dim, str norm=\"backward\"",
    help = "inverse of fft.rfftn over the last two dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool",
    fn = function(...) return irfft_over("fft.irfft2", 2, ...) end }
define { "fft.irfftn", sig = "tensor x, ints? s, dims? dim, str norm=\"backward\"",
    help = "inverse of fft.rfftn over all dims, or dim; s: their sizes",
    dtypes = "f64 f32 integers bool",
    fn = function(...) return irfft_over("fft.irfftn", nil, ...) end }

-- The integers of FFT order over n d, as `dtype` on `device`.
local function frequencies(op, count, low, n, d, dtype, device)
    if n < 1 then fail("%s: argument 'n': expected an integer above 0, got %d", op, n) end
    local o = { dtype = dtype or gpush.default_dtype(), device = device }
    local f = gpush.arange(0, count - 1, o)
    if low > 0 then f = gpush.cat({ f, gpush.arange(-low, -1, o) }, 1) end
    return f / (n * d)
end
define { "fft.fftfreq", sig = "int n, float d=1, dtype? dtype, device? device",
    help = "the frequencies of fft.fft's n results, for samples d apart: 0, 1 … then the negative \z
        ones, over n d",
    fn = function(n, d, dtype, device)
        return frequencies("fft.fftfreq", (n + 1) // 2, n // 2, n, d, dtype, device)
    end }
define { "fft.rfftfreq", sig = "int n, float d=1, dtype? dtype, device? device",
    help = "the frequencies of fft.rfft's n // 2 + 1 results, for samples d apart",
    fn = function(n, d, dtype, device)
        return frequencies("fft.rfftfreq", n // 2 + 1, 0, n, d, dtype, device)
    end }

local function shift(op, x, dim, back)
    if not dim then
        dim = {}
        for i = 1, #x.shape do dim[i] = i end
    end
    for _, d in ipairs(dim) do
        local n = rawget(x.shape, d < 0 and #x.shape + 1 + d or d)
        if not n then
            fail("%s: dim %d is out of range for a %d-d tensor (expected 1 to %d)", op, d, x.ndim,
                x.ndim)
        end
        local half = (back and n // 2 or n - n // 2) -- how many move to the end
        if n > 1 then
            x = gpush.cat({ x:narrow(d, half + 1, n - half), x:narrow(d, 1, half) }, d)
        end
    end
    return x
end
define { "fft.fftshift", sig = "tensor x, dims? dim",
    help = "frequency 0 moved to the middle of dim, or of every dim (of pairs: say which)",
    dtypes = "all", fn = function(x, dim) return shift("fft.fftshift", x, dim, false) end }
define { "fft.ifftshift", sig = "tensor x, dims? dim", help = "undoes fft.fftshift",
    dtypes = "all", fn = function(x, dim) return shift("fft.ifftshift", x, dim, true) end }
