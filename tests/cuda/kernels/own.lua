--!plain
-- cuda.kernel on the stand-in for CUDA, whose NVRTC is the host's compiler: names, variables,
-- shared memory, order, captures, errors; and, where NVRTC is installed, that it takes the texts.
local t = require "tap"
local g = require "gpush"
local fake = require "fake"

local function raises(fn, want, name)
    local ok, message = pcall(fn)
    local found = not ok and tostring(message):find(want, 1, true)
    t.is(found and want or ok and "no error" or message, want, name)
end
local function f32(n) return g.arange(1, n, { dtype = "f32", device = "cuda" }) end
local function zeros(n, dtype) return g.zeros(n, { dtype = dtype or "f32", device = "cuda" }) end

local m = g.cuda.module([=[
#include <cuda_fp16.h>
#include <stdint.h>
__constant__ float weight[2] = {1, 2};
__device__ int calls = 0;
template <typename T, int N> __global__ void scale(const T *x, T *y, int n) {
    int i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x * blockDim.x +
            blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * T(N);
}
extern "C" __global__ void blend(const float *a, float *y, float by, int64_t n) {
    int i = threadIdx.x;
    if (i == 0) atomicAdd(&calls, 1);
    if (i < n) y[i] = weight[i % 2] * a[i] + by;
}
__global__ void turn(const float *x, float *y, int n) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[n - 1 - threadIdx.x];
}
]=], { "scale<float, 3>", "scale<__half, 2>" })
t.ok(fake.count "module" > 0, "it is compiled for the card when it is made")
local scale, y = m:kernel "scale<float, 3>", zeros(24)
scale({ 2, 3, 2 }, 2, f32(24), y, 24)
t.is(y, { 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63, 66, 69,
    72 }, "a template, by the name that it was given; a grid of three dims")
y:fill_(0)
scale:over(24)(f32(24), y, 20)
t.is({ y[20]:item(), y[21]:item() }, { 60, 0 }, "over(n)")
t.ok(tostring(scale):find("scale<float, 3>(const float *x, float *y, int n): 32 registers, ", 1,
    true),
    "print(kernel) has its registers")
local h = g.zeros(3, { dtype = "f16", device = "cuda" })
m:kernel "scale<__half, 2>"(1, 32, f32(3):to "f16", h, 3)
t.is(h, { 2, 4, 6 }, "half types")

-- ---- variables ----

local blend, out = m:kernel "blend", zeros(4)
blend(1, 4, f32(4), out, 0.5, 4)
t.is(out, { 1.5, 4.5, 3.5, 8.5 }, "a constant's value in the text")
local weight, calls = m:global("weight", "cuda"), m:global("calls", "cuda")
weight[2] = 10
blend(1, 4, f32(4), out, 0, 4)
t.is(out, { 1, 20, 3, 40 }, "and as it was set")
t.is(calls:item(), 1, "a variable that the kernel writes")

-- ---- shared memory, order, captures ----

local turn = m:kernel "turn"
turn(1, 4, f32(4), out, 4, { shared = 100000 })
t.is(out, { 4, 3, 2, 1 }, "shared memory above 48 KB is asked for")
local w = g.ones(3, { requires_grad = true, device = "cuda" })
local c = g.ones(3, { device = "cuda" })
local z = (w * c):sum()
scale(1, 4, f32(3), c, 3)
raises(function() z:backward() end, "was", "backward sees that what it needs was written")
g.synchronize()
local before = g.sync.mode
g.sync.mode = "error"
local quick = pcall(function() for _ = 1, 3 do scale(1, 32, f32(24), y, 24) end end)
g.sync.mode = before
t.ok(quick, "launches do not wait")
local step = g.capture(function(x)
    local result = zeros(4)
    blend(1, 4, x, result, 1.0, 4)
    return result * 2
end)
local list = {}
for k = 1, 4 do
    weight[1] = k
    list[k] = step(g.ones(4, { device = "cuda" })):tolist()[1]
end
t.is(list, { 4, 6, 8, 10 }, "captured, with its variables as they are at each call")
t.is(calls:item(), 5, "and those that it writes")

-- ---- errors, the disk ----

raises(function() scale(1, 4, f32(4):to "f64", y, 4) end,
    "argument 1 'x' is f64, the kernel takes const float *", "arguments are checked")
local ok, message = pcall(g.cuda.kernel, [[
template <typename T> __global__ void wrong(T *x, int n) {
    auto i = threadIdx.x;
    if (i < n) x[i] = T(i) + lost;
}]], "wrong<float>")
local line = debug.getinfo(1, "l").currentline - 2
t.ok(not ok and message:find(("own.lua:%d: [^\n]*lost"):format(line)),
    "an error has the script's line")
local caret = message:match "lost;\n( *)%^"
t.is(caret and #caret, 4 + #"    if (i < n) x[i] = T(i) + ", "and a caret under the place")
local child <close> = io.popen(([[%s/gpush -e '
local g = require "gpush"
local text = "__global__ void k(float *x) { x[threadIdx.x] = 2; }"
local x = g.zeros(2, {device = "cuda"})
g.cuda.kernel(text)(1, 2, x)
local counts = select(2, g.fuse_compile())
print(x:sum():item(), counts.compiled, counts.loaded)']]):format(os.getenv "GPUSH_BUILD"))
local first = child:read "a"
t.is(first, "4.0\t1\t0\n", "compiled once")
local again <close> = io.popen(([[%s/gpush -e '
local g = require "gpush"
local text = "__global__ void k(float *x) { x[threadIdx.x] = 2; }"
local x = g.zeros(2, {device = "cuda"})
g.cuda.kernel(text)(1, 2, x)
local counts = select(2, g.fuse_compile())
print(x:sum():item(), counts.compiled, counts.loaded)']]):format(os.getenv "GPUSH_BUILD"))
t.is(again:read "a", "4.0\t0\t1\n", "and found on disk by the next program")

-- ---- NVRTC itself ----

-- In a toolkit, or in Python's packages, but none of the stand-in: compiles these texts, too.
local find <close> = io.popen [[ls -d "${CUDA_HOME:-/usr/local/cuda}"/lib*/libnvrtc.so.1[23] \
    /usr/local/cuda*/lib*/libnvrtc.so.1[23] /usr/lib/*-linux-gnu/libnvrtc.so.1[23] 2>/dev/null]]
local library = find:read "l"
if library then
    local keep = os.getenv "TMPDIR" .. "/kept"
    local script = os.tmpname()
    local file <close> = assert(io.open(script, "w"))
    file:write [==[
local g = require "gpush"
local HALF = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
for _, text in ipairs { HALF .. [[
template <class H> __global__ void k(H a, const H *x, H *y, int64_t n) {
    __shared__ H s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[0] = __hfma(a, s[1], s[2]) + a * 2 - x[0] / s[3];
    if (y[0] > 2.0f || y[0] != x[1]) y[0] += hsqrt(x[0]) + __hmax(a, x[2]) + H(INFINITY);
}]], [[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__constant__ float c[2] = {1, 2};
static __device__ int calls;
template <class H> __global__ void k(H a, const H *x, H *y, int64_t n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    float sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
    block.sync();
    y[0] = sum + tile.ballot(sum > 3) + tile.match_any(sum) + tile.shfl_down(a, 1) + c[1];
    calls++;
}]] } do
    for _, name in ipairs { "k<__half>", "k<__nv_bfloat16>", "k<float>" } do
        if text:find "half" or name == "k<float>" then pcall(g.cuda.kernel, text, name) end
    end
end]==]
    file:close()
    os.execute(("GPUSH_FAKE_NVRTC_KEEP=%s %s/gpush %s"):format(keep, os.getenv "GPUSH_BUILD",
        script))
    local texts <close> = io.popen("ls " .. keep .. "/*.cu")
    local n = 0
    for path in texts:lines() do
        local text <close> = assert(io.open(path))
        local compiled, log = fake.nvrtc(library, text:read "a", {},
            { "--std=c++17", "--gpu-architecture=sm_90" })
        n = n + 1
        if not t.ok(compiled, "NVRTC takes text " .. n) then io.stderr:write(log, "\n") end
    end
    t.ok(n >= 2, "there were texts: " .. n)
end
t.done()
