-- Batches of matrices by calls that take all of them, on the stand-in for CUDA: which they are, how
-- often, and the cpu's results.
local t = require "tap"

local stand_in = not require "on_card" "cuda" -- kernels have its names there
local function called(names, expected, what) if stand_in then t.is(names, expected, what) end end

-- fn's results on the cpu and on CUDA, and the libraries' kernels by name with how often each ran.
local function both(fn)
    local want, got, names = table.pack(fn "cpu"), nil, {}
    local prof = profile.run({}, function() got = table.pack(fn "cuda") end)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel"
            and (e.kernel:match "fake_[%w_]+" or e.kernel:match "form_q")
        if name then names[name] = (names[name] or 0) + 1 end
    end
    return want, got, names
end
local function near(got, want, eps, name)
    t.ok(got.device == "cuda:0" and (got:cpu() - want):abs():amax():item() < eps, name)
end

local eps = { f32 = 1e-4, f64 = 1e-12 }
manual_seed(3)
local function eigen(x, what, by, near_enough)
    for _, uplo in ipairs { "L", "U" } do
        local want, got, names = both(function(device)
            local values, vectors = linalg.eigh(x:to(device), uplo)
            return values, vectors, linalg.eigvalsh(x:to(device), uplo)
        end)
        called(names, { [by] = 2 }, what .. "eigh and eigvalsh are a call each")
        near(got[1], want[1], near_enough, what .. "eigenvalues, " .. uplo)
        near(got[3], want[3], near_enough, what .. "eigenvalues alone, " .. uplo)
        local function product(values, vectors)
            return (vectors * values:unsqueeze(-2)):matmul(vectors.mT)
        end
        near(product(got[1], got[2]), product(want[1], want[2]), near_enough,
            what .. "eigenvectors, " .. uplo)
    end
end
local function equations(x, what, near_enough)
    local n = x.shape[-1]
    local many, one = randn(3, 4, n, 5):to(x.dtype), randn(3, 4, n):to(x.dtype)
    local want, got, names = both(function(device)
        local a = x:to(device)
        return linalg.solve(a, many:to(device)), linalg.solve(a, one:to(device)),
            linalg.solve(a, (many.mT):to(device), false)
    end)
    called(names, { fake_getrf_batched = 3, fake_getrs_batched = 3 },
        what .. "solve is a factorization and a call")
    for i = 1, 3 do near(got[i], want[i], near_enough, what .. "solve, result " .. i) end
end
local function qr(x, mode, what, near_enough, kernels)
    local want, got, names = both(function(device) return linalg.qr(x:to(device), mode) end)
    called(names, kernels, what .. "qr, " .. mode .. ": its kernels")
    for i = mode == "r" and 2 or 1, 2 do
        near(got[i], want[i], near_enough, ("%sqr, %s, result %d"):format(what, mode, i))
    end
end

for _, dtype in ipairs { "f32", "f64" } do
    for _, n in ipairs { 8, 40 } do
        local x = randn(3, 4, n, n):to(dtype)
        local what, near_enough = ("12 matrices of %d, %s: "):format(n, dtype), eps[dtype] * n
        eigen(x, what, n == 8 and "fake_syevj_batched" or "fake_syev_batched", near_enough)
        equations(x + 2 * n * eye(n):to(dtype), what, near_enough)
    end
    for _, size in ipairs { { 8, 8 }, { 40, 7 }, { 7, 40 }, { 33, 1 } } do
        local x = randn(3, size[1], size[2]):to(dtype)
        local what = ("3 matrices of %dx%d, %s: "):format(size[1], size[2], dtype)
        local own = { fake_geqrf_batched = 1, form_q = 1 }
        qr(x, "reduced", what, eps[dtype] * 40, own)
        qr(x, "complete", what, eps[dtype] * 40, own)
        qr(x, "r", what, eps[dtype] * 40, { fake_geqrf_batched = 1 })
    end
    qr(randn(2, 70, 66):to(dtype), "reduced", "2 matrices of 70x66: ", eps[dtype] * 70,
        { fake_geqrf = 2, fake_orgqr = 2 })
end
t.done()
