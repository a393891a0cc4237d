--!plain
-- cuda.kernel in C++: templates by name expressions, overloads, references, classes, half types,
-- groups, checked and not; values worked out by hand, or by gpush's own conversions.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local f32, i32, zeros = own.f32, own.i32, own.zeros
own.need_compiler "cxx"

local function raises(fn, want, name)
    local ok, message = pcall(fn)
    local found = not ok and tostring(message):find(want, 1, true)
    t.is(found and want or ok and "no error" or message, want, name)
end

-- ---- the language ----

local LANGUAGE <const> = [[
namespace tools {
constexpr int factor = 3;
template <typename T> struct Range {
    T lo, hi;
    __device__ Range(T lo, T hi = T(9)) : lo(lo), hi(hi) {}
    __device__ T cut(const T &x) const noexcept { return min(max(x, lo), hi); }
    __device__ bool operator()(T x) const { return x > lo; }
};
__device__ int twice(int x) { return 2 * x; }
__device__ float twice(float x) { return 2.5f * x; }
__device__ void add(int &to, int by = 1) { to += by; }
template <typename T, int N = 2> __global__ void work(const T *__restrict__ x, T *y, int n) {
    __shared__ T s[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : T(0);
    __syncthreads();
    if (i >= n) return;
    Range<T> range(T(2));
    auto scaled = [=](T v) { return v * T(N) + T(threadIdx.x * 0); };
    int more = 0;
    add(more), add(more, factor);
    T sum = 0;
    T both[] = {s[threadIdx.x], T(1)};
    for (T v : both) sum += v;
    y[i] = scaled(range.cut(sum)) + twice(T(1)) + more + (range(sum) ? 100 : 0) + sqrt(16) +
           static_cast<T>(nullptr == 0) + min(1u, 2u) + max(0.5, 1.0f) - 1;
}
using real = double;
__global__ void other(real *y) { y[threadIdx.x] = pow(real{2}, 3) + abs(-2.5) + 1'000; }
} // namespace tools
]]
-- x: 1, 2, …: sum x + 1, cut to 2 … 9.
local function want(n, factor, twice)
    local list = {}
    for x = 1, n do
        local sum = x + 1
        list[x] = math.min(math.max(sum, 2), 9) * factor + twice + 4 + (sum > 2 and 100 or 0) +
            4 + 1 + 1 + 1 - 1
    end
    return list
end
for _, check in ipairs { true, false } do
    local m = g.cuda.module(LANGUAGE, { "tools::work<float>", "tools::work<int, 5>" },
        { check = check })
    for _, device in ipairs { "cpu", "sim" } do
        local y = zeros(12):to(device)
        m:kernel "tools::work<float>"(2, 8, f32(12):to(device), y, 12)
        t.is(y, want(12, 2, 2.5), ("of float on %s, check %s"):format(device, check))
        local z = zeros(12, "i32"):to(device)
        m:kernel "tools::work<int, 5>":over(12)((i32(12) + 1):to(device), z, 12)
        t.is(z, want(12, 5, 2), ("of int on %s, check %s"):format(device, check))
    end
    local d = zeros(1, "f64")
    m:kernel "tools::other"(1, 1, d)
    t.is(d, { 1010.5 }, "overloads of functions, an alias of a type")
end
local work = g.cuda.kernel(LANGUAGE, "tools::work<float, -1>")
t.ok(tostring(work):find("kernel tools::work<float, -1>(const float *x, float *y, int n): \z
    registers not known here, 256 B", 1, true), "print(kernel), with the size of its shared memory")
raises(function() work(1, 8, i32(8), zeros(8), 8) end,
    "argument 1 'x' is i32, the kernel takes const float *", "a template's types are checked")

-- ---- names ----

raises(function() g.cuda.kernel(LANGUAGE, "tools::work") end,
    "'tools::work' is a template: its argument 'T' is missing", "no argument")
raises(function() g.cuda.kernel(LANGUAGE, "tools::work<float, 2, 3>") end,
    "3 arguments for the 2 of its template", "too many")
raises(function() g.cuda.kernel(LANGUAGE, "tools::other<float>") end,
    "'tools::other' is no template", "no template")
raises(function() g.cuda.kernel(LANGUAGE, "work<float>") end, "the text has no kernel 'work'",
    "another name")
raises(function() g.cuda.kernel(LANGUAGE, "tools::work<float>(0); }\n#include <x>") end,
    "expected a name", "text in a name")
raises(function() g.cuda.kernel(LANGUAGE, "tools::work<float, >>") end, "expected a name",
    "brackets")
local m = g.cuda.module(LANGUAGE, {})
raises(function() m:kernel "tools::work<float>" end, "it has no kernel 'tools::work<float>'",
    "a template that was not listed")
t.is(tostring(m), "module of kernels tools::other; variables: none", "print(module)")

-- ---- half types ----

local HALF <const> = [[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class H> __global__ void half_work(H a, const H *x, H *y, float *f, int n) {
    __shared__ H s[64];
    int i = threadIdx.x;
    if (i >= n) return;
    s[i] = x[i];
    H sum = a * x[i] + s[i] / H(3) - H(1);
    sum += x[i];
    y[i] = __hfma(a, x[i], sum);
    f[i] = float(-y[i]) + (y[i] > 2.0f ? 1 : 0) + (float)__shfl_sync(~0u >> 32 - n, x[i], 1);
}
]]
-- The same by gpush's own conversions: each operation in f64, of which its result is exact or
-- rounded far below the type's last bit.
local function half_want(dtype, a, x)
    local function r(v) return v:to(dtype):to "f64" end
    x, a = r(x), r(g.tensor({ a }, { dtype = "f64" }))
    local sum = r(r(r(a * x) + r(x / 3)) - 1)
    sum = r(sum + x)
    local y = r(a * x + sum)
    return y, -y + (y:gt(2)):to "f64" + x[2]
end
for name, dtype in pairs { __half = "f16", __nv_bfloat16 = "bf16" } do
    for _, check in ipairs { true, false } do
        local k = g.cuda.kernel(HALF, ("half_work<%s>"):format(name), { check = check })
        local x = g.tensor({ 0.1, 1.0 / 3, 2.7, -1.5, 1000.3, 6e-8, 40000.0, 1.0 },
            { dtype = "f64" })
        local y, f = zeros(8, dtype), zeros(8)
        k(1, 8, 0.3, x:to(dtype), y, f, 8)
        local want_y, want_f = half_want(dtype, 0.3, x)
        t.is(y:to "f64", want_y:tolist(), ("%s, check %s"):format(name, check))
        t.is(f, want_f:to "f32":tolist(), "and in floats")
    end
end
local all = g.arange(0, 65535, { dtype = "i32" })
for name, dtype in pairs { ushort_as_half = "f16", ushort_as_bfloat16 = "bf16" } do
    local k = g.cuda.kernel(([[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void bits(const int *x, float *y, int *back) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto h = __%s(x[i]);
    y[i] = h;
    back[i] = y[i] == y[i] ? decltype(h)(y[i]).bits : x[i];
}]]):format(name), "bits", { check = false })
    local y, back = zeros(65536), zeros(65536, "i32")
    k(256, 256, all, y, back)
    t.is(back, all:tolist(), dtype .. ": every value, to float and back")
    local finite = g.tensor({ 1.5, -2.0, 65504.0 }):to(dtype)
    local wide = zeros(3)
    g.cuda.kernel(([[
template <class H> __global__ void widen(const H *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }
#include <cuda_fp16.h>]]), dtype == "f16" and "widen<__half>" or "widen<__nv_bfloat16>")(1, 3,
        finite, wide)
    t.is(wide, finite:to "f32":tolist(), dtype .. ": as gpush has it")
end

-- ---- groups ----

local groups = g.cuda.kernel [[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sums(const int *x, int *y) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    __shared__ int part[8];
    int sum = cg::reduce(tile, x[block.thread_rank()], cg::plus<int>());
    int most = cg::reduce(tile, x[block.thread_rank()], cg::greater<int>());
    if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = sum + 1000 * most;
    block.sync();
    int t = block.thread_rank();
    if (t < tile.meta_group_size()) y[t] = part[t];
    bool has = tile.any(x[block.thread_rank()] == 9);
    unsigned votes = tile.ballot(tile.thread_rank() > 0);
    int first = tile.shfl(sum, 0);
    if (has && tile.thread_rank() == 1) y[7] = votes + first;
}]]
local sums = zeros(8, "i32")
groups(1, 40, i32(40), sums)
-- Sums of 0 … 7, 8 … 15, …; the second tile has 9; in it lanes 1 to 7 vote: 254, and
-- its sum is 92.
t.is(sums, { 7028, 15092, 23156, 31220, 39284, 0, 0, 346 }, "tiles of a warp")
local grid = g.cuda.kernel [[
#include <cooperative_groups.h>
__global__ void ranks(int *y) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    y[grid.thread_rank()] = 1000 * grid.block_rank() + grid.size() + 100 * grid.is_valid();
}]]
local ranks = zeros(12, "i32")
grid({ 1, 3 }, { 2, 2 }, ranks)
t.is(ranks, { 12, 12, 12, 12, 1012, 1012, 1012, 1012, 2012, 2012, 2012, 2012 },
    "ranks of the whole grid")
raises(function()
    g.cuda.kernel [[
#include <cooperative_groups.h>
__global__ void all(int *y) { cooperative_groups::this_grid().sync(); }]]
end, "has no member named", "whose blocks do not wait for each other")
t.done()
