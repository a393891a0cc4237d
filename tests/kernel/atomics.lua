--!plain
-- Checked kernels: a word that threads change by atomics, and that one of them then reads or writes
-- plainly. Others may not have come to their atomics yet, whichever thread's was the last here.
local t = require "tap"
local g = require "gpush"

local own = require "own_kernels"
local i32, planted, right, zeros, ones = own.i32, own.planted, own.right, own.zeros, g.ones
own.need_compiler()

-- ---- a barrier, or a fence, is missing ----

planted("a count of the block, read after one's own atomicAdd", [[
__global__ void count(const float *x, int *y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    if (x[threadIdx.x] > 0) atomicAdd(&n, 1);
    if (threadIdx.x == 0) y[0] = n;
}]], function(k) k(1, 64, ones(64), zeros(1, "i32")) end,
    "race", "thread 0: read after a write by block 0 thread ", "atomics.lua:19", "atomics.lua:18",
    "one of them atomic and one not; no barrier between; element 0 of shared 'n'")

planted("the larger of two values, read by the thread that came last", [[
__global__ void most(const int *x, int *best, int *y) {
    atomicMax(best, x[threadIdx.x]);
    if (threadIdx.x == 1) y[0] = *best;
}]], function(k) k(1, 2, i32(2), zeros(1, "i32"), zeros(1, "i32")) end,
    "race", "thread 1: read after a write by block 0 thread 0")

planted("a counter that a thread sets back after its own atomicAdd", [[
__global__ void place(int *y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    y[atomicAdd(&n, 1)] = threadIdx.x;
    if (threadIdx.x == 0) n = 0;
}]], function(k) k(1, 64, zeros(64, "i32")) end,
    "race", "thread 0: write after a write by block 0 thread ")

planted("a sum of all blocks, read by the last one without a fence of the others", [[
__global__ void total(float *sum, float *y) {
    if (threadIdx.x) return;
    atomicAdd(sum, 1.0f);
    if (blockIdx.x == gridDim.x - 1) y[0] = *sum;
}]], function(k) k(4, 32, zeros(1), zeros(1)) end,
    "race", "block 3 thread 0: read after a write by block 0 thread 0", "nothing orders blocks")

planted("a histogram of all blocks, read after a barrier of one", [=[
__global__ void histogram(const int *x, int *h, int *y) {
    int t = threadIdx.x;
    atomicAdd(&h[x[t] & 7], 1);
    __syncthreads();
    if (t < 8 && blockIdx.x == 1) y[t] = h[t];
}]=], function(k) k(2, 32, i32(32), zeros(8, "i32"), zeros(8, "i32")) end,
    "race", "read after a write by block 0 thread", "nothing orders blocks")

planted("two warps add, and each waits for its own lanes alone", [[
__global__ void sum(const int *x, int *y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, x[threadIdx.x]);
    __syncwarp();
    if (threadIdx.x == 0) y[0] = n;
}]], function(k) k(1, 64, i32(64), zeros(1, "i32")) end, "race", "read after a write",
    "shared 'n'")

planted("half of a warp waits for each other", [[
__global__ void sum(const int *x, int *y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, x[threadIdx.x]);
    if (threadIdx.x >= 16) {
        __syncwarp(0xffff0000);
        if (threadIdx.x == 31) y[0] = n;
    }
}]], function(k) k(1, 32, i32(32), zeros(1, "i32")) end, "race", "read after a write",
    "shared 'n'")

planted("a fence without a counter that tells of it", [[
__global__ void sum(const int *x, int *y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, x[threadIdx.x]);
    __threadfence_block();
    if (threadIdx.x == 0) y[0] = n;
}]], function(k) k(1, 64, i32(64), zeros(1, "i32")) end, "race", "read after a write",
    "shared 'n'")

-- ---- right ----

right("a histogram by atomics, a barrier, then its bins", [=[
__global__ void histogram(const int *x, int *h, int n) {
    __shared__ int s[8];
    int t = threadIdx.x;
    if (t < 8) s[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) atomicAdd(&s[x[i] & 7], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&h[t], s[t]);
    __syncthreads();
    if (t < 8) s[t] = 0;
}]=], function(k)
    local h = zeros(8, "i32")
    k(3, 64, i32(160), h, 160)
    return h, { 60, 60, 60, 60, 60, 60, 60, 60 }
end)

right("the last block reads what all have added, each before a fence", [[
__global__ void total(const float *x, float *sum, int *done, float *y) {
    __shared__ int last;
    atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(done, 1) % gridDim.x == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == blockDim.x - 1) y[0] = *sum, *sum = 0;
}]], function(k)
    local sum, done, y = zeros(1), zeros(1, "i32"), zeros(1)
    for _ = 1, 2 do k(4, 64, ones(256), sum, done, y) end
    return y, { 256 }
end)

right("the last thread of a block reads, told by a counter after a fence", [[
__global__ void sum(const int *x, int *y) {
    __shared__ int n, done;
    if (threadIdx.x == 0) n = done = 0;
    __syncthreads();
    atomicAdd(&n, x[threadIdx.x]);
    __threadfence_block();
    if (atomicAdd(&done, 1) == blockDim.x - 1) {
        __threadfence_block();
        y[0] = n;
        n = 0;
    }
}]], function(k)
    local y = zeros(1, "i32")
    k(1, 64, i32(64), y)
    return y, { 2016 }
end)

right("atomics of a warp put together, then a count", [[
__global__ void filter(const int *x, int *y, int *count) {
    __shared__ int n;
    int t = threadIdx.x, lane = t & 31, place = 0;
    if (t == 0) n = 0;
    __syncthreads();
    unsigned takes = __ballot_sync(0xffffffff, x[t] % 3 == 0);
    if (lane == 0) place = atomicAdd(&n, __popc(takes));
    place = __shfl_sync(0xffffffff, place, 0);
    if (takes >> lane & 1) y[place + __popc(takes & ((1u << lane) - 1))] = x[t];
    __syncthreads();
    if (t == blockDim.x - 1) *count = n;
}]], function(k)
    local y, count = zeros(64, "i32"), zeros(1, "i32")
    k(1, 64, i32(64), y, count)
    return g.cat { count, y:sort():narrow(1, 43, 22) }, { 22, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27,
        30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60, 63 }
end)

right("lanes of one warp, which meet before one reads", [[
__global__ void sum(const int *x, int *y) {
    __shared__ int n[2];
    int w = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) n[w] = 0;
    __syncwarp();
    atomicAdd(&n[w], x[threadIdx.x]);
    __syncwarp();
    if (threadIdx.x % 32 == 31) y[w] = n[w];
}]], function(k)
    local y = zeros(2, "i32")
    k(1, 64, i32(64), y)
    return y, { 496, 1520 }
end)

right("a maximum of floats by guesses for atomicCAS, of two blocks", [[
__device__ void larger(float *at, float v) {
    int *p = (int *)at, old = *p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_int(fmaxf(v, __int_as_float(seen))));
    } while (old != seen);
}
__global__ void most(const float *x, float *y) {
    __shared__ float best;
    if (threadIdx.x == 0) best = 0;
    __syncthreads();
    larger(&best, x[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) y[blockIdx.x] = best;
}]], function(k)
    local y = zeros(2)
    k(2, 64, own.f32(128), y)
    return y, { 64, 128 }
end)

right("the thread that leads adds alone, reads what it added, and the block after a barrier", [[
__global__ void base(int *free, int *y) {
    __shared__ int first;
    if (threadIdx.x == 0) {
        first = 0;
        atomicAdd(&first, 4);
        first = atomicAdd(free, first * 8);
    }
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = first;
}]], function(k)
    local free, y = zeros(1, "i32"), zeros(64, "i32")
    k(2, 32, free, y)
    return y, g.cat { g.zeros(32, { dtype = "i32" }), g.full({ 32 }, 32, { dtype = "i32" }) }
end)
-- ---- threads that meet in parts ----

right("what half of a warp wrote, read after its quarters have met", [[
__global__ void turn(const float *x, float *y) {
    __shared__ float s[32];
    int t = threadIdx.x;
    unsigned half = t < 16 ? 0xffff : 0xffff0000, quarter = 0xffu << t / 8 * 8;
    s[t] = x[t];
    __syncwarp(half);
    float next = __shfl_down_sync(quarter, x[t], 1, 8);
    y[t] = s[t ^ 15] + (t % 8 < 7 ? next : 0);
}]], function(k)
    local y, want = zeros(32), {}
    k(1, 32, own.f32(32), y)
    for i = 1, 32 do want[i] = ((i - 1) ~ 15) + 1 + (i % 8 > 0 and i + 1 or 0) end
    return y, want
end)

right("a value that goes from a pair to the next one, and on", [[
__global__ void chain(int *y) {
    __shared__ int v;
    int t = threadIdx.x;
    if (t == 0) v = 7;
    if (t < 2) __syncwarp(3);
    if (t == 1 || t == 2) __syncwarp(6);
    if (t == 2) *y = v;
}]], function(k)
    local y = zeros(1, "i32")
    k(1, 32, y)
    return y, { 7 }
end)

right("a lane waits for another warp's flag, and its warp for that lane", [[
__global__ void pass(const float *x, float *y) {
    __shared__ float s[32];
    __shared__ int ready;
    int t = threadIdx.x;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t < 32) {
        s[t] = x[t];
        __threadfence_block();
        atomicAdd(&ready, 1);
    } else {
        if (t == 32) while (atomicAdd(&ready, 0) < 32);
        __syncwarp();
        y[t - 32] = s[63 - t];
    }
}]], function(k)
    local y = zeros(32)
    k(1, 64, own.f32(32), y)
    return y, own.f32(32):flip(1)
end)

planted("a pair that met reads what a third lane wrote", [[
__global__ void chain(int *y) {
    __shared__ int v;
    int t = threadIdx.x;
    if (t == 0) v = 7;
    if (t == 1 || t == 2) __syncwarp(6);
    if (t == 2) *y = v;
}]], function(k) k(1, 32, zeros(1, "i32")) end, "race", "thread 2: read after a write by block 0 \z
    thread 0")
t.done()
