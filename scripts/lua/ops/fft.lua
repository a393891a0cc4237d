--!plain
-- Composites: Fourier transforms. See define in init.lua.
local require = ...
local gpush, define, fail = require "gpush", require "ops".define, require "fail"

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
    return at, s or {}
end

-- The last of the dims that a transform to or from half of the numbers has.
local function last_of(name, at)
    if #at == 0 then fail(name .. ": no dims to transform") end
    return #at
end

local function complex_steps(fn, x, at, s, norm, first)
    for i = first, 1, -1 do x = fn(x, s[i], at[i], norm, true) end
    return x
end

-- Real numbers as pairs.
local function pairs_of(x)
    local real = x.dtype:find "f" and x or x:to "f32"
    return gpush.stack({ real, gpush.zeros_like(real) }, -1)
end

-- A transform over several dims from pairs, or from a real tensor, to pairs.
local function over(fn)
    return function(name, default, x, s, dim, norm, complex)
        local dims = #x.shape - (complex and 1 or 0)
        local at, sizes = plan(name, x, s, dim, dims, default)
        local last = #at
        if last == 0 then return complex and x:clone() or pairs_of(x) end
        return complex_steps(fn, fn(x, sizes[last], at[last], norm, complex), at, sizes, norm,
            last - 1)
    end
end
local fft = gpush.fft
local fft_over, ifft_over = over(fft.fft), over(fft.ifft)
local function rfft_over(name, default, x, s, dim, norm)
    local at, sizes = plan(name, x, s, dim, #x.shape, default)
    local last = last_of(name, at)
    return complex_steps(fft.fft, fft.rfft(x, sizes[last], at[last], norm), at, sizes, norm,
        last - 1)
end
local function irfft_over(name, default, x, s, dim, norm)
    local at, sizes = plan(name, x, s, dim, #x.shape - 1, default)
    local last = last_of(name, at)
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

-- ---- windows, and spectra over time ----

-- fn of the numbers 0 … n - 1 and of the period that they are points of.
local function window(op, n, periodic, dtype, device, fn)
    if n < 0 then fail("%s: argument 'window_length': expected 0 or more, got %d", op, n) end
    if dtype and not dtype:find "f" then
        fail("%s: dtype %s is not supported (expected f64 f32 bf16 f16)", op, dtype)
    end
    local options = { dtype = dtype or gpush.default_dtype(), device = device }
    if n <= 1 then return gpush.ones({ n }, options) end
    local points = gpush.range(0, n - 1, { dtype = "f64", device = device })
    return fn(points, periodic and n or n - 1):to(options.dtype)
end

-- The sum of a[k + 1] cos(k 2 pi i / n) with alternating signs, n points of a period.
local function cosines(a)
    return function(points, period)
        local angle = points * (2 * math.pi / period)
        local y, sign = gpush.full_like(angle, a[1]), -1
        for k = 1, #a - 1 do
            y, sign = y + (angle * k):cos() * (sign * a[k + 1]), -sign
        end
        return y
    end
end

local of_window = ", bool periodic=true, dtype? dtype, device? device"
define { "hann_window", sig = "int window_length" .. of_window,
    help = "one period of a raised cosine, 0 at its ends; periodic: without the last point of a \z
        window longer by 1, as stft needs",
    fn = function(n, periodic, dtype, device)
        return window("hann_window", n, periodic, dtype, device, cosines { 0.5, 0.5 })
    end }
define { "hamming_window",
    sig = "int window_length, bool periodic=true, float alpha=0.54, float beta=0.46, \z
        dtype? dtype, device? device",
    help = "alpha less beta times a cosine: hann_window that ends above 0",
    fn = function(n, periodic, alpha, beta, dtype, device)
        return window("hamming_window", n, periodic, dtype, device, cosines { alpha, beta })
    end }
define { "blackman_window", sig = "int window_length" .. of_window,
    help = "0.42 less half a cosine, and 0.08 of twice its frequency",
    fn = function(n, periodic, dtype, device)
        return window("blackman_window", n, periodic, dtype, device, cosines { 0.42, 0.5, 0.08 })
    end }
define { "bartlett_window", sig = "int window_length" .. of_window, sample = "4",
    help = "a triangle, 0 at its ends",
    fn = function(n, periodic, dtype, device)
        return window("bartlett_window", n, periodic, dtype, device,
            function(points, period) return 1 - (points * (2 / period) - 1):abs() end)
    end }
define { "kaiser_window",
    sig = "int window_length, bool periodic=true, float beta=12, dtype? dtype, device? device",
    sample = "4", help = "i0(beta * the height of a half circle) over i0(beta): beta narrows it",
    fn = function(n, periodic, beta, dtype, device)
        return window("kaiser_window", n, periodic, dtype, device, function(points, period)
            local x = points * (2 / period) - 1
            return gpush.i0((1 - x * x):clamp_min(0):sqrt() * beta)
                / gpush.i0(gpush.full_like(x, beta))
        end)
    end }

-- A window of n_fft points with the given one, or ones, in its middle.
local function middle(op, given, win_length, n_fft, x)
    local n = win_length or given and given:numel() or n_fft
    if n < 1 or n > n_fft then
        fail("%s: argument 'win_length': expected 1 to %d, got %d", op, n_fft, n)
    end
    local w = given or gpush.ones({ n }, { dtype = x.dtype, device = x.device })
    if w.ndim ~= 1 or w:numel() ~= n then
        fail("%s: the window is %s (expected %d)", op, table.concat(w.shape, "x"), n)
    end
    local left = (n_fft - n) // 2
    return n < n_fft and w:pad { left, n_fft - n - left } or w
end

local function check_hop(op, n_fft, hop)
    if n_fft < 1 then fail("%s: argument 'n_fft': expected 1 or more, got %d", op, n_fft) end
    hop = hop or math.max(1, n_fft // 4)
    if hop < 1 then fail("%s: argument 'hop_length': expected 1 or more, got %d", op, hop) end
    return hop
end

define { "stft",
    sig = "tensor x, int n_fft, int? hop_length, int? win_length, tensor? window, bool \z
        center=true, str pad_mode=\"reflect\", bool normalized=false, bool onesided=true",
    help = "spectra of windows along the last dim, hop_length apart, as pairs: frequencies x \z
        windows x 2",
    dtypes = "f64 f32", strict = "f64 f32",
    fn = function(x, n_fft, hop, win_length, given, center, pad_mode, normalized, onesided)
        hop = check_hop("stft", n_fft, hop)
        if x.ndim < 1 or x.ndim > 2 then
            fail("stft: x has %d dims (expected [signals x] samples)", x.ndim)
        end
        local lines = x.ndim == 1 and x:unsqueeze(1) or x
        if center then
            lines = lines:unsqueeze(1):pad({ n_fft // 2, n_fft // 2 }, pad_mode):squeeze(1)
        end
        if lines.shape[2] < n_fft then
            fail("stft: %d samples are less than a window of %d", lines.shape[2], n_fft)
        end
        local parts = lines:unfold(2, n_fft, hop) * middle("stft", given, win_length, n_fft, x)
        local transform = onesided and gpush.fft.rfft or gpush.fft.fft
        local y = transform(parts, { norm = normalized and "ortho" or "backward" }):transpose(2, 3)
        return x.ndim == 1 and y:squeeze(1) or y
    end }

-- Windows, n x windows x points, added up hop apart.
local function overlap(parts, hop)
    local n, count, size = parts.shape[1], parts.shape[2], parts.shape[3]
    local whole = (count - 1) * hop + size
    local at = gpush.range(0, count - 1, { device = parts.device }):mul(hop):unsqueeze(2)
        + gpush.range(1, size, { device = parts.device })
    local lines = gpush.zeros({ n, whole }, { dtype = parts.dtype, device = parts.device })
    return lines:index_add(2, at:reshape(-1), parts:reshape(n, -1))
end

define { "istft",
    sig = "tensor x, int n_fft, int? hop_length, int? win_length, tensor? window, bool \z
        center=true, bool normalized=false, bool onesided=true, int? length",
    help = "the signal whose stft is x, by least squares where windows overlap",
    dtypes = "f64 f32", strict = "f64 f32",
    fn = function(x, n_fft, hop, win_length, given, center, normalized, onesided, length)
        hop = check_hop("istft", n_fft, hop)
        local want = onesided and n_fft // 2 + 1 or n_fft
        if x.ndim < 3 or x.ndim > 4 or x.shape[x.ndim] ~= 2 or x.shape[x.ndim - 2] ~= want then
            fail("istft: x is %s (expected [signals x] %d frequencies x windows x 2)",
                table.concat(x.shape, "x"), want)
        end
        local single = x.ndim == 3
        local spectra = (single and x:unsqueeze(1) or x):transpose(2, 3)
        local norm = normalized and "ortho" or "backward"
        local parts = onesided and gpush.fft.irfft(spectra, { n = n_fft, norm = norm })
            or gpush.fft.ifft(spectra, { norm = norm }):select(4, 1)
        local w = middle("istft", given, win_length, n_fft, parts)
        local weight = overlap((w * w):expand(1, parts.shape[2], n_fft), hop)
        local y = overlap(parts * w, hop) / gpush.where(weight:lt(1e-11), 1, weight)
        local first = center and n_fft // 2 or 0
        local count = length and math.min(length, y.shape[2] - first)
            or y.shape[2] - 2 * first
        y = y:narrow(2, first + 1, count)
        if length and length > count then y = y:pad { 0, length - count } end
        return single and y:squeeze(1) or y
    end }
