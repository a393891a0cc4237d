--!plain
-- Checked kernels: ten more bugs, written from docs/kernels.md alone.
local t = require "tap"
local g = require "gpush"

local own = require "own_kernels"
local planted = own.planted
local ones, zeros, arange, full = g.ones, g.zeros, g.arange, g.full
own.need_compiler()

planted("the last block adds partial sums that were never fenced", [[
__global__ void total(const float *x, float *partial, int *done, float *y, int n) {
    __shared__ int last;
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = b * 32; i < n && i < b * 32 + 32; i++) sum += x[i];
        partial[b] = sum;
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        y[0] = sum;
    }
}]], function(k)
    k(4, 32, ones(128), zeros(4), zeros(1, {dtype = "i32"}), zeros(1), 128)
end,
    "race")

planted("a barrier inside the guard of the array's end", [[
__global__ void smooth(const float *x, float *y, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        s[threadIdx.x] = x[i];
        __syncthreads();
        float left = threadIdx.x ? s[threadIdx.x - 1] : 0;
        y[i] = left + s[threadIdx.x];
    }
    else
        __syncthreads();
}]], function(k) k(2, 64, ones(100), zeros(100), 100) end, "barrier")

planted("four floats at once from the second on", [[
__global__ void four(const float *x, float4 *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = *(const float4 *)(x + 4 * i + 1);
}]], function(k) k(1, 16, ones(80), zeros(64), 16) end, "misaligned")

planted("shared memory asked for the values, not for the keys after them", [=[
__global__ void pairs(const float *x, float *y, int n) {
    extern __shared__ float values[];
    int *keys = (int *)(values + n);
    int t = threadIdx.x;
    values[t] = x[t];
    keys[t] = n - 1 - t;
    __syncthreads();
    y[t] = values[keys[t]];
}]=], function(k) k(1, 32, ones(32), zeros(32), 32, {shared = 32 * 4}) end, "out of bounds")

planted("a helper that casts const away", [[
__device__ void clamp_at(float *p, float top) { if (*p > top) *p = top; }
__global__ void clamp_all(const float *x, float *y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    clamp_at((float *)&x[i], 2.0f);
    y[i] = x[i];
}]], function(k) k(1, 32, full({20}, 3.0), zeros(20), 20) end, "const")

planted("relaxation in place, with a barrier after the write only", [[
__global__ void relax(const float *x, float *y, int steps) {
    __shared__ float s[48];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int k = 0; k < steps; k++) {
        float left = s[t ? t - 1 : 0], right = s[t < 47 ? t + 1 : 47];
        s[t] = 0.5f * (left + right);
        __syncthreads();
    }
    y[t] = s[t];
}]], function(k) k(1, 48, ones(48), zeros(48), 3) end, "race")

planted("a tile whose edge is not filled where the matrix ends", [[
__global__ void box(const float *x, float *y, int rows, int cols) {
    __shared__ float tile[8][8];
    int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    if (r < rows && c < cols && threadIdx.x < 7)
        y[r * cols + c] = tile[threadIdx.y][threadIdx.x] + tile[threadIdx.y][threadIdx.x + 1];
}]], function(k) k({2, 2}, {8, 8}, ones(12, 11), zeros(12, 11), 12, 11) end,
    "shared memory that the block has not written")

planted("a shuffle with every lane in its mask where eight have left", [[
__global__ void partial(const float *x, float *y, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    float v = x[t];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    if (t == 0) *y = v;
}]], function(k) k(1, 32, ones(24), zeros(1), 24) end, "lane")

planted("bins set to 0 by some threads while others count", [[
__global__ void bins(const int *x, int *h, int n) {
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t >= 48) s[t - 48] = 0;
    if (t < n) atomicAdd(&s[x[t] % 16], 1);
    __syncthreads();
    if (t < 16) h[t] = s[t];
}]], function(k) k(1, 64, arange(0, 63, {dtype = "i32"}), zeros(16, {dtype = "i32"}), 64) end,
    "race")

planted("tiles that overlap by one element", [[
__global__ void tiles(const float *x, float *y, int n) {
    int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}]], function(k) k(3, 16, ones(46), zeros(46), 46) end, "race")
t.done()
