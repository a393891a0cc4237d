--!plain
-- cuda.kernel in C++: what checks find there, errors of the compiler, variables that the program
-- sets, and machines without g++.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local f32, i32, zeros, planted = own.f32, own.i32, own.zeros, own.planted
own.need_compiler "cxx"

-- ---- planted bugs ----

planted("a race in a template's shared memory", [[
template <int N> __device__ void sum(float (&s)[N]) {
    for (int d = N / 2; d; d /= 2)
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
}
__global__ void k(const float *x, float *y) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    sum(tile);
    if (threadIdx.x == 0) *y = tile[0];
}]], function(k) k(1, 64, f32(64), zeros(1)) end, "k: race at ", "cxx_checks.lua:15",
    "no barrier between", "of shared 'tile' (64 elements)")

planted("beyond an array in a class", [[
template <class T> struct View {
    T *p;
    __device__ T &operator[](int i) { return p[i]; }
};
__global__ void k(float *y) {
    View<float> v{y};
    v[threadIdx.x + 1] = 1;
}]], function(k) k(1, 32, f32(32)) end, "out of bounds write at ", "block 0 thread 31",
    "element 32 of 'y' (32 elements)")

planted("a divergent barrier of a group", [[
#include <cooperative_groups.h>
__global__ void k(float *y) {
    auto block = cooperative_groups::this_thread_block();
    if (threadIdx.x < 32) block.sync();
    else
        block.sync();
    y[threadIdx.x] = 1;
}]], function(k) k(1, 64, f32(64)) end, "divergent barrier", "cxx_checks.lua:43",
    "cxx_checks.lua:45")

planted("beyond shared objects with constructors", [[
struct Two {
    float a, b;
    Two() = default;
    __device__ Two(float a) : a(a), b(2) {}
};
__global__ void k(float *y) {
    __shared__ Two s[16];
    s[threadIdx.x] = Two(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x + 1].b;
}]], function(k) k(1, 16, f32(16)) end, "out of bounds read at ", "thread 15:",
    "element 33 of shared 's'")

planted("shared memory that a lambda has not written", [[
__global__ void k(float *y) {
    __shared__ float s[32];
    auto put = [&](int i) { if (i != 5) s[i] = 1; };
    put(threadIdx.x);
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32, f32(32)) end, "has not written", "cxx_checks.lua:68", "thread 5:",
    "element 5 of shared 's'")

planted("a shuffle from a lane that has left", [[
template <class T> __device__ T left(T v) { return __shfl_sync(0xffu, v, 9); }
__global__ void k(int *y) {
    if (threadIdx.x < 8) y[threadIdx.x] = left<int>(threadIdx.x);
}]], function(k) k(1, 32, i32(32)) end, "shuffle at ", "reads lane 9")

planted("half elements beyond the end", [[
#include <cuda_fp16.h>
__global__ void k(const __half *x, __half *y) {
    int i = threadIdx.x;
    y[i] = x[i] * x[i + 1];
}]], function(k) k(1, 16, g.ones(16, { dtype = "f16" }), g.ones(16, { dtype = "f16" })) end,
    "out of bounds read at ", "cxx_checks.lua:82", "element 16 of 'x'")

planted("atomic and plain writes", [[
template <class T> __device__ void both(T *y) {
    if (threadIdx.x) atomicAdd(&y[0], T(1));
    else y[0] = T(5);
}
__global__ void k(int *y) { both(y); }]], function(k) k(1, 32, i32(1)) end, "race at ",
    "one of them atomic and one not")

-- ---- constants ----

local CONSTANTS <const> = [[
__constant__ float coef[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int calls = 0;
static __constant__ int %s = 10;
struct Cell { int a; };
__device__ %s cell;
__global__ void use(float *y) {
    if (threadIdx.x == 0) calls = calls + 1;
    y[threadIdx.x] = coef[threadIdx.x / 3][threadIdx.x %% 3] * offset;
}
]]
for language, cell in pairs { C = "struct Cell", ["C++"] = "Cell" } do
    local text = CONSTANTS:format("offset", cell)
    if language == "C" then text = text:gsub("struct Cell {", "typedef struct Cell {"):gsub("a; };",
        "a; } Cell;") end
    local k = g.cuda.kernel(text, "use")
    local y = zeros(6)
    k(1, 6, y)
    t.is(y, { 10, 20, 30, 40, 50, 60 }, language .. ": the values in the text")
    for _, device in ipairs { "cpu", "sim" } do
        y = zeros(6):to(device)
        local coef, offset = k:global("coef", device), k:global("offset", device)
        t.is(coef:size(), { 2, 3 }, "a variable's dims")
        coef[{ 2, 3 }] = 7
        offset:fill_(2)
        local calls = k:global("calls", device)
        local before = calls:item()
        for _, check in ipairs { true, false } do
            k(1, 6, y, { check = check })
            t.is(y, { 2, 4, 6, 8, 10, 14 },
                ("%s on %s: set, check %s"):format(language, device, check))
        end
        t.is(calls:item(), before + 2, "and one that the kernel writes")
    end
    local ok, message = pcall(k.global, k, "cell")
    t.ok(not ok and message:find("'cell' is of a type that no tensor has", 1, true),
        "of another type")
    ok, message = pcall(k.global, k, "none")
    t.ok(not ok and message:find("no __constant__ or __device__ variable 'none' (it has coef, ", 1,
        true), "of no such name")
end
planted("a write to a constant", [[
__constant__ float c[4] = {1, 2, 3, 4};
__global__ void k(float *y) { c[1] = y[0]; }]], function(k) k(1, 1, f32(1)) end,
    "write to a const variable", "element 1 of 'c'")
local m = g.cuda.module [[
__constant__ float scale;
__device__ float total;
__global__ void put(const float *x) { atomicAdd(&total, x[threadIdx.x] * scale); }
__global__ void take(float *y) { *y = total; total = 0; }]]
local scale, y = m:global "scale", zeros(1)
scale:fill_(0.5)
m:kernel "put"(1, 4, f32(4))
m:kernel "take"(1, 1, y)
t.is(y, { 5 }, "kernels of a module share its variables")
local step = g.capture(function(x)
    local out = zeros(1)
    m:kernel "put"(1, 4, x)
    m:kernel "take"(1, 1, out)
    return out * 2
end)
local list = {}
for k = 1, 4 do
    scale:fill_(k)
    list[k] = step(g.ones(4)):item()
end
t.is(list, { 8, 16, 24, 32 }, "and captured ones read what they are at each call")

-- ---- errors of the compiler ----

local ok, message = pcall(g.cuda.kernel, [[
template <typename T> __global__ void wrong(T *x, int n) {
    auto i = threadIdx.x;
    if (i < n) x[i] = T::missing(i) + lost;
}]], "wrong<float>")
local line = debug.getinfo(1, "l").currentline - 2
t.ok(not ok and message:find(("cxx_checks.lua:%d: [^\n]*lost[^\n]* not declared"):format(line)),
    "an error has the script's line")
t.ok(message:find("\n        if (i < n) x[i] = T::missing(i) + lost;\n", 1, true),
    "the line itself")
local caret = message:match "lost;\n( *)%^"
t.is(caret and #caret, 4 + #"    if (i < n) x[i] = T::missing(i) + ", "and a caret under the place")

-- What C refuses and does not look like C++ is tried as C++; what neither takes has C's words.
t.is(pcall(g.cuda.kernel, "struct P { int a; }; typedef struct P Q;\n\z
    __global__ void k(int *y) { int a[] = {1, 2}; for (int v : a) y[v] = v; }"), true,
    "C++ that looks like C")
ok, message = pcall(g.cuda.kernel, "__global__ void k(int *y) { y[0] = lost; }")
t.ok(not ok and message:find("undeclared", 1, true), "and an error in a text of C")

-- ---- without g++ ----

local bin, script = os.tmpname(), os.tmpname()
os.execute(("rm %s; mkdir %s; for f in gcc as ld; do ln -s $(command -v $f) %s/$f; done")
    :format(bin, bin, bin))
local file <close> = assert(io.open(script, "w"))
file:write [=[
local g = require "gpush"
local y = g.zeros(4)
g.cuda.kernel("__global__ void k(float *y) { y[threadIdx.x] = 1; }")(1, 4, y)
print(y:sum():item())
print(select(2, pcall(g.cuda.kernel, "template <class T> __global__ void k(T *y) {}", "k<int>")))
print(select(2, pcall(g.cuda.kernel, "__global__ void k(int *y) { lost(); for (int v : {1}); }")))
]=]
file:close()
local run <close> = io.popen(("PATH=%s %s/gpush %s 2>&1"):format(bin, os.getenv "GPUSH_BUILD",
    script))
local said = run:read "a"
t.ok(said:find "^4%.0\n", "C needs no g++")
t.ok(said:find("k<int>: it needs C++ ('template' at ", 1, true) and
    said:find("(package g++): there is no g++ or c++ in PATH", 1, true), "C++ names its package")
t.ok(said:find("the compiler refuses the text", 1, true), "C's own errors stay")
t.done()
