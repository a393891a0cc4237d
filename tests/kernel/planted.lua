--!plain
-- Checked kernels: bugs planted in kernels are found, each with its kind, line, thread and element.
local t = require "tap"
local g = require "gpush"

local own = require "own_kernels"
local f32, i32, planted = own.f32, own.i32, own.planted
own.need_compiler()

-- ---- bounds ----

planted("a read beyond the end", [[
__global__ void k(const float *x, float *y) {
    int i = threadIdx.x;
    y[i] = x[i + 8];
}]], function(k) k(1, 100, f32(100), f32(100)) end, "k: out of bounds read at ", "planted.lua:15",
    "block 0 thread 92", "element 100 of 'x' (100 elements)")

planted("a write beyond the end", [[
__global__ void k(float *y) { y[blockIdx.x * 64 + threadIdx.x] = 1; }
]], function(k) k(2, 64, f32(100)) end, "out of bounds write", "block 1 thread 36",
    "element 100 of 'y'")

planted("a read before the begin", [[
__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x - 1]; }
]], function(k) k(1, 8, f32(8), f32(8)) end, "out of bounds read", "element 4294967295 of 'x'")

planted("a negative index", [[
__global__ void k(const float *x, float *y) { int i = threadIdx.x; y[i] = x[i - 1]; }
]], function(k) k(1, 8, f32(8), f32(8)) end, "out of bounds read", "thread 0:",
    "element -1 of 'x' (8 elements)")

planted("a guard with <= in place of <", [[
__global__ void k(float *y, int n) { int i = threadIdx.x; if (i <= n) y[i] = 0; }
]], function(k) k(1, 32, f32(20), 20) end, "element 20 of 'y' (20 elements)")

planted("beyond static shared memory", [[
__global__ void k(float *y) {
    __shared__ float s[32];
    __shared__ float u[32];
    u[threadIdx.x] = 0;
    s[threadIdx.x + 1] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x] + u[threadIdx.x];
}]], function(k) k(1, 32, f32(32)) end, "out of bounds write", "planted.lua:42", "thread 31",
    "element 32 of shared 's' (32 elements)")

planted("beyond dynamic shared memory", [[
__global__ void k(float *y) {
    extern __shared__ float s[];
    s[threadIdx.x] = 1;
    y[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32, f32(32), { shared = 64 }) end, "out of bounds write", "thread 16",
    "element 16 of the dynamic shared memory (16 elements)")

planted("no dynamic shared memory at all", [[
extern __shared__ int s[];
__global__ void k(int *y) { s[0] = 1; y[0] = s[0]; }]], function(k) k(1, 1, i32(1)) end,
    "out of bounds write", "element 0 of the dynamic shared memory (0 elements)")

planted("beyond a row of a tile", [[
__global__ void k(float *y) {
    __shared__ float tile[8][8];
    tile[threadIdx.y][threadIdx.x + 1] = 1;
    __syncthreads();
    y[threadIdx.y * 8 + threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}]], function(k) k(1, { 8, 8 }, f32(64)) end, "thread 7,7", "element 64 of shared 'tile'")

planted("an integer that overflows", [[
__global__ void k(float *y, int n) { y[n * n] = 1; }]],
    function(k) k(1, 1, f32(4), 100000) end, "out of bounds write")

planted("a null pointer", [[
__global__ void k(float *y) { float *p = 0; p[threadIdx.x] = y[0]; }]],
    function(k) k(1, 1, f32(4)) end, "write through a null pointer")

planted("a module's variable", [[
__device__ int table[4];
__global__ void k(int *y) { y[threadIdx.x] = table[threadIdx.x]; }]],
    function(k) k(1, 8, i32(8)) end, "out of bounds read", "'table'")

-- ---- misaligned, const ----

planted("misaligned", [[
__global__ void k(float *y) { *(double *)(y + 1) = 1; }]], function(k) k(1, 1, f32(4)) end,
    "misaligned write of 8 bytes", "element 1 of 'y'")

planted("misaligned float4", [[
__global__ void k(const float *x, float *y) {
    float4 v = *(const float4 *)(x + 2);
    y[0] = v.x + v.w;
}]],
    function(k) k(1, 1, f32(8), f32(8)) end, "misaligned read", "element 2 of 'x'")

planted("a write to const", [[
__global__ void k(const float *x) { ((float *)x)[threadIdx.x] = 1; }]],
    function(k) k(1, 4, f32(4)) end, "write to a const argument", "element 0 of 'x'")

-- ---- races ----

local TREE <const> = [[
__global__ void k(const float *x, float *y) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    %s
    for (int d = 32; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        %s
    }
    if (!t) *y = s[0];
}]]
local function tree(k) k(1, 64, f32(64), f32(1)) end
planted("a reduction without its first barrier", TREE:format("", "__syncthreads();"), tree,
    "race at line 4, block 0 thread 32", "by block 0 thread 0 at line 7", "no barrier between",
    "element 32 of shared 's' (64 elements)")
planted("a reduction without the barrier in its loop", TREE:format("__syncthreads();", ""), tree,
    "race at line 7", "no barrier between")

planted("a stencil in place", [[
__global__ void k(float *x) { int i = threadIdx.x; if (i > 0) x[i] = x[i] + x[i - 1]; }]],
    function(k) k(1, 64, f32(64)) end, "race", "of 'x'")

planted("all threads write one element", [[
__global__ void k(float *y) { y[0] = threadIdx.x; }]], function(k) k(1, 2, f32(1)) end, "race",
    "write after a write", "element 0 of 'y'")

planted("a histogram without atomics", [[
__global__ void k(const int *x, int *bins) { bins[x[threadIdx.x] % 4]++; }]],
    function(k) k(1, 32, i32(32), i32(4)) end, "race", "of 'bins'")

planted("blocks that write one element", [[
__global__ void k(float *y) { if (!threadIdx.x) y[0] += blockIdx.x; }]],
    function(k) k(4, 32, f32(1)) end, "race", "block 1 thread 0", "block 0 thread 0",
    "nothing orders blocks")

planted("a block that reads what another wrote", [[
__global__ void k(int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = i;
    __syncthreads();
    if (i > 0) x[i] = x[i - 1];
}]], function(k) k(2, 1, i32(2)) end, "race", "read after a write", "nothing orders blocks")

planted("lanes without __syncwarp", [[
__global__ void k(int *y) {
    __shared__ int s[32];
    s[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = s[31 - threadIdx.x];
}]], function(k) k(1, 32, i32(32)) end, "race at ", "no barrier between", "of shared 's'")

planted("a tile that is written again too early", [[
__global__ void k(const float *x, float *y) {
    __shared__ float s[32];
    float a = 0;
    for (int j = 0; j < 2; j++) {
        s[threadIdx.x] = x[threadIdx.x + 32 * j];
        __syncthreads();
        a += s[31 - threadIdx.x];
    }
    y[threadIdx.x] = a;
}]], function(k) k(1, 32, f32(64), f32(32)) end, "race at ", "planted.lua:157", "of shared 's'")

planted("atomic and plain", [[
__global__ void k(int *y) { if (threadIdx.x) atomicAdd(y, 1); else *y = 0; }]],
    function(k) k(1, 32, i32(1)) end, "race", "one of them atomic and one not")

planted("a counter that is read while others add", [[
__global__ void k(int *y, int *out) { atomicAdd(y, 1); out[threadIdx.x] = *y; }]],
    function(k) k(1, 32, i32(1), i32(32)) end, "race", "one of them atomic and one not")

planted("a counter that its first thread sets before the others add", [[
__global__ void k(int *n) {
    if (threadIdx.x == 0) *n = 0;
    atomicAdd(n, 1);
}]], function(k) k(1, 64, i32(1)) end, "race", "write after a write", "atomic and one not")

planted("a flag that one thread sets otherwise", [[
__global__ void k(int *found) { if (threadIdx.x > 3) *found = threadIdx.x == 40 ? 2 : 1; }
]], function(k) k(1, 64, i32(1)) end, "race", "thread 5: write after a write by",
    "thread 4 at", "both write the same value, which one thread, or atomicExch, may do")

planted("blocks that count what they find", [[
__global__ void k(int *n) { *n = blockIdx.x; }
]], function(k) k(3, 1, i32(1)) end, "race", "block 1", "nothing orders blocks; element 0 of 'n'")

planted("a tile that nobody fills", [[
__global__ void k(float *y) {
    __shared__ float s[32];
    float a = 0;
    for (int i = 0; i < 32; i++) a += s[i];
    y[threadIdx.x] = a;
}]], function(k) k(1, 32, f32(32)) end, "shared memory that the block has not written",
    "thread 0: element 0 of shared 's'")

planted("a histogram in shared memory that is not zeroed", [[
__global__ void k(const int *x, int *h) {
    __shared__ int s[8];
    atomicAdd(&s[x[threadIdx.x] & 7], 1);
    __syncthreads();
    if (threadIdx.x < 8) h[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 64, i32(64), i32(8)) end, "shared memory that the block has not written",
    "thread 0: element 0 of shared 's'")

planted("bytes of a word: one byte twice", [[
__global__ void k(unsigned char *y) { y[threadIdx.x / 2] = 1; }]],
    function(k) k(1, 4, g.zeros(4, { dtype = "u8" })) end, "race", "element 0 of 'y'")

-- ---- barriers, warps ----

planted("a barrier in a branch", [[
__global__ void k(float *y) {
    if (threadIdx.x < 16) __syncthreads();
    else y[threadIdx.x] = 0;
}]], function(k) k(1, 32, f32(32)) end, "barrier at ", "16 of the block's 32 threads have ended")

planted("two barriers in a branch's two ways", [[
__global__ void k(float *y) {
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads();
    y[threadIdx.x] = 0;
}]], function(k) k(1, 32, f32(32)) end, "divergent barrier", "thread 0 waits at", "thread 16 at")

planted("a thread that returns before the barrier", [[
__global__ void k(float *y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    y[i] = 1;
    __syncthreads();
    y[i] += 1;
}]], function(k) k(1, 32, f32(20), 20) end, "barrier at ", "12 of the block's 32 threads")

planted("uninitialised shared memory", [[
__global__ void k(float *y) {
    __shared__ float s[32];
    if (threadIdx.x < 31) s[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}]], function(k) k(1, 32, f32(32)) end, "read of shared memory that the block has not written",
    "thread 31", "element 31 of shared 's'")

planted("a block counts on what the one before left", [[
__global__ void k(float *y) {
    __shared__ float s;
    if (!blockIdx.x) s = 1;
    y[blockIdx.x] = s;
}]], function(k) k(2, 1, f32(2)) end, "has not written", "block 1 thread 0")

planted("a shuffle from a lane that is not there", [[
__global__ void k(int *y) {
    y[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 16);
}]],
    function(k) k(1, 24, i32(24)) end, "shuffle at ", "reads lane 24, which is not active there")

planted("a lane that is not in its own mask", [[
__global__ void k(int *y) { y[threadIdx.x] = __shfl_sync(0xffffu, (int)threadIdx.x, 0); }]],
    function(k) k(1, 32, i32(32)) end, "lane 16, is not in the mask 0x0000ffff")

planted("a shuffle in a branch with the whole warp's mask", [[
__global__ void k(int *y) {
    if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    else __syncthreads();
}]], function(k) k(1, 32, i32(32)) end, "waits at", "lanes of the mask 0xffffffff")

planted("an assertion", [[
__global__ void k(int *y) { assert(y[threadIdx.x] < 3); }]], function(k) k(1, 8, i32(8)) end,
    "assertion failed: y[threadIdx.x] < 3", "thread 3")

-- ---- after a finding ----

local y = g.zeros(8)
local bad = g.cuda.kernel "__global__ void k(float *y) { y[threadIdx.x] = 1; }"
pcall(bad, 1, 9, y)
t.is(y, { 0, 0, 0, 0, 0, 0, 0, 0 }, "a kernel with a finding has written nothing")
bad(1, 8, y)
t.is(y, { 1, 1, 1, 1, 1, 1, 1, 1 }, "and the next call runs")
local counter = g.cuda.kernel [[
__device__ int n = 52;
__global__ void k(int *x) { n = 1; x[9] = 2; }]]
pcall(counter, 1, 1, i32(1))
t.is(counter:global "n", { 52 }, "nor a variable of the text")
local s = g.zeros(8, { device = "sim" })
bad(1, 9, s)
local ok, message = pcall(s.tolist, s)
t.ok(not ok and message:find "out of bounds write" and message:find "queued at",
    "on sim a finding comes at the next wait, with the line that queued it")
t.done()
