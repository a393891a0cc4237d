-- NVIDIA's libraries on the stand-in for CUDA: found, opened and recorded on first use, configured,
-- and missing.
local t = require "tap"
local build, root = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- TF32 keeps 10 bits of mantissa: 1 + 2^-12 is 1.
local fine = full({16, 16}, 1 + 2 ^ -12, {device = "cuda"})
local image = fine:view(1, 1, 16, 16)
local exact, coarse = 16 * (1 + 2 ^ -12) ^ 2, 16
local function products()
    return fine:mm(fine):to("cpu")[3][4]:item(),
        conv2d(image, fine:view(1, 1, 16, 16)):to("cpu"):item() / 16
end
t.is(cuda.tf32(), false, "TF32 is off at first")
local mm, conv = products()
t.ok(math.abs(mm - exact) < 1e-5 and math.abs(conv - exact) < 1e-5, "f32 products are f32's")
t.is(cuda.tf32(true), true, "it can be allowed")
mm, conv = products()
t.ok(mm == coarse and conv == coarse, "TF32 where it is allowed")
cuda.tf32(false)
mm = products()
t.ok(math.abs(mm - exact) < 1e-5, "and not any more")

t.is(cuda.deterministic(), true, "deterministic at first")
for _, on in ipairs {true, false} do
    cuda.deterministic(on)
    cuda.benchmark(true)
    t.close(conv2d(image, image):to("cpu"):item() / 16, exact, 1e-5,
        "benchmark, deterministic " .. tostring(on))
    cuda.benchmark(false)
end
cuda.deterministic(true)

-- cuDNN writes over the result while it tries algorithms: a bias that stands there is added after
-- that. Each shape is new here, so that it is tried; then it is known.
for _, dims in ipairs { 1, 2, 3 } do
    local image, kernel = { 2, 4 }, { 4, 4 }
    for _ = 1, dims do
        image[#image + 1], kernel[#kernel + 1] = 5, 3
    end
    local x, w, bias = randn(image), randn(kernel), randn(4)
    for _, op in ipairs { "conv", "conv_transpose" } do
        local f = require "gpush"[op .. dims .. "d"]
        local want = f(x, w, bias):tolist()
        cuda.benchmark(true)
        for _, time in ipairs { "first", "second" } do
            t.close(f(x:cuda(), w:cuda(), bias:cuda()):cpu():tolist(), want, 1e-5,
                ("benchmark with a bias: %s%dd, %s call"):format(op, dims, time))
        end
        cuda.benchmark(false)
    end
end

-- A bias is added by the convolution's own kernel where its algorithm can, else by another one.
local fake = require "fake"
local function kernels_of(fn)
    local names, out = {}, nil
    local prof = profile.run({}, function() out = fn() end)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel" and e.kernel and e.kernel:match "fake_%S*"
        if name then names[#names + 1] = name end
    end
    return names, out
end
for i, case in ipairs {
    { "the algorithm adds it", true, "0", { "fake_convolution_and_bias" } },
    { "another one does not", false, "0", { "fake_convolution", "fake_bias" } },
    { "it is refused", true, "1", { "fake_convolution", "fake_bias" } },
    { "both are refused", false, "2", { "fake_convolution" } },
} do
    local what, deterministic, refuse, want = table.unpack(case)
    for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do
        local x, w, bias = randn(2, 4, 5, 6 + i):to(dtype), randn(6, 2, 3, 3):to(dtype),
            randn(6):to(dtype)
        local right = conv2d(x, w, bias, { groups = 2 }):to "f32":tolist()
        local there = { x:cuda(), w:cuda(), bias:cuda() }
        local function run() return conv2d(there[1], there[2], there[3], { groups = 2 }) end
        cuda.deterministic(deterministic)
        fake.fault("refuse=" .. refuse)
        local names, y = kernels_of(run)
        fake.fault "refuse=0"
        if refuse == "2" then table.remove(names, 1) end -- that of the convolution without it
        t.is(names, want, ("%s, %s: kernels of a bias"):format(what, dtype))
        local eps = dtype == "bf16" and 0.1 or dtype == "f16" and 2e-2 or 1e-5
        t.close(y:to "f32":cpu():tolist(), right, eps, what .. ": the result")
        t.is((kernels_of(run)), want, what .. ": the next time")
        cuda.deterministic(true)
    end
end

-- What is too large for cuDNN at once is done in parts of the images that it takes.
do
    local g = require "gpush"
    local kernel = randn(6, 4, 3, 2)
    for _, pad in ipairs { { 1, 1 }, "same" } do
        for _, dtype in ipairs { "f32", "f16" } do
            local image, w, bias = randn(5, 4, 6, 7):to(dtype), kernel:to(dtype), randn(6):to(dtype)
            local function all(device)
                local function leaf(v) return v:detach():to(device):requires_grad_() end
                local x, k, b = leaf(image), leaf(w), leaf(bias)
                local y = conv2d(x, k, b, { padding = pad })
                local bias = full({ 4 }, 0.5, { dtype = dtype, device = device })
                local z = g.conv_transpose2d(y, k, bias)
                z:sum():backward()
                local list = {}
                for i, v in ipairs { y, z, x.grad, k.grad, b.grad } do
                    list[i] = v:detach():to "cpu":to "f32"
                end
                return list
            end
            local right = all "cpu"
            g.cuda_setting("conv_elements", 700)
            local names, got = kernels_of(function() return all "cuda" end)
            g.cuda_setting("conv_elements", 100)
            local own, plain = kernels_of(function() return all "cuda" end)
            g.cuda_setting("conv_elements", (1 << 31) - 1)
            local what = ("%s, %s"):format(dtype, pad == "same" and pad or "padded")
            local parts = 0
            for _, name in ipairs(names) do
                parts = parts + (name:find "^fake_convolution" and 1 or 0)
            end
            t.is(parts, 18, what .. ": six products in three parts each")
            t.is(own, {}, what .. ": where not even an image fits, by our own kernels")
            for i, y in ipairs(right) do
                local size = y:abs():amax():item()
                local eps = (dtype == "f16" and 5e-3 or 1e-6) * size
                t.close(got[i]:tolist(), y:tolist(), eps, what .. ": result " .. i)
                t.close(plain[i]:tolist(), y:tolist(), eps, what .. ": our own, result " .. i)
            end
        end
    end
end

local first = {}
for _, c in ipairs(sync.calls()) do if c.first_use then first[c.what] = c.times end end
t.ok(first.cuBLASLt == 1 and first.cuDNN == 1, "a library's first use is booked once")
t.ok(not first.cuFFT, "one that was not needed was not opened")

-- A cuFFT without its functions, first in GPUSH_CUDA_LIBRARIES: the op that needs it reports that,
-- others run.
os.execute(("mkdir -p %s/libs && ln -sf $(realpath %s/fake/libcublas.so.13) %s/libs/libcufft.so.12")
    :format(root, build, root))
local script = root .. "/script.lua"
local file = assert(io.open(script, "w"))
file:write [[
local x = ones(4, 4, {device = "cuda"})
print(select(2, pcall(fft.fft, x)))
print(x:mm(x):to("cpu")[1][1]:item(), linalg.det(eye(3, {device = "cuda"})):item())
]]
file:close()
local run = assert(io.popen(("GPUSH_CUDA_LIBRARIES=%s/libs:%s/fake %s/gpush %s 2>&1"):format(
    root, build, build, script)))
local text = run:read "a"
run:close()
t.ok(text:find "fft.fft: needs cuFFT: .*has no function cufft",
    "what is missing is named by the op that needs it")
t.ok(text:find "4.0\t1.0", "what does not need it runs")
t.done()
