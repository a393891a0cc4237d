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
