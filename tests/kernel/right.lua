--!plain
-- Checked kernels: right ones raise nothing, and give what gpush's own ops, or a count by hand,
-- give.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local f32, i32, zeros, right = own.f32, own.i32, own.zeros, own.right
own.need_compiler()

g.manual_seed(1)
local function square(n) return g.arange(1, n * n, { dtype = "f32" }):view(n, n) end

right("transpose", [[
__global__ void k(const float *x, float *y, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < n && c < n) y[c * n + r] = x[r * n + c];
}]], function(k)
    local x, y = square(20), g.zeros(20, 20)
    k({ 2, 2 }, { 16, 16 }, x, y, 20)
    return y, x:t():tolist()
end)

right("transpose by tiles", [[
#define TILE 16
__global__ void k(const float *x, float *y, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if (r < n && c < n) tile[threadIdx.y][threadIdx.x] = x[r * n + c];
    __syncthreads();
    c = blockIdx.y * TILE + threadIdx.x, r = blockIdx.x * TILE + threadIdx.y;
    if (r < n && c < n) y[r * n + c] = tile[threadIdx.x][threadIdx.y];
}]], function(k)
    local x, y = square(40), g.zeros(40, 40)
    k({ 3, 3 }, { 16, 16 }, x, y, 40)
    return y, x:t():tolist()
end)

right("product by tiles", [[
__global__ void k(const float *a, const float *b, float *c, int n) {
    __shared__ float s[8][8], t[8][8];
    int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    float sum = 0;
    for (int m = 0; m < n; m += 8) {
        s[threadIdx.y][threadIdx.x] = a[row * n + m + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(m + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}]], function(k)
    local a, b, c = g.randint(-4, 4, { 16, 16 }):to "f32", g.randint(-4, 4, { 16, 16 }):to "f32",
        g.zeros(16, 16)
    k({ 2, 2 }, { 8, 8 }, a, b, c, 16)
    return c, a:matmul(b):tolist()
end)

right("product without shared memory", [[
__global__ void k(const float *a, const float *b, float *c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col >= n) return;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];
    c[row * n + col] = sum;
}]], function(k)
    local a, b, c = square(10), square(10), g.zeros(10, 10)
    k({ 1, 10 }, 32, a, b, c, 10)
    return c, a:matmul(b):tolist()
end)

right("histogram by global atomics", [[
__global__ void k(const int *x, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[x[i] % 10], 1);
}]], function(k)
    local bins = zeros(10, "i32")
    k:over(1000)(i32(1000), bins, 1000)
    return bins, { 100, 100, 100, 100, 100, 100, 100, 100, 100, 100 }
end)

right("histogram by shared atomics", [[
__global__ void k(const unsigned char *x, int *bins, int n) {
    __shared__ int s[16];
    if (threadIdx.x < 16) s[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}]], function(k)
    local bins, want = zeros(16, "i32"), {}
    for j = 1, 16 do want[j] = 16 end
    k(2, 64, i32(256):to "u8", bins, 256)
    return bins, want
end)

right("stencil with a halo", [[
#define R 2
__global__ void k(const float *x, float *y, int n) {
    __shared__ float s[32 + 2 * R];
    int i = blockIdx.x * 32 + threadIdx.x, t = threadIdx.x + R;
    s[t] = i < n ? x[i] : 0;
    if (threadIdx.x < R) {
        s[t - R] = i >= R ? x[i - R] : 0;
        s[t + 32] = i + 32 < n ? x[i + 32] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int j = -R; j <= R; j++) sum += s[t + j];
    if (i < n) y[i] = sum;
}]], function(k)
    local n, y = 100, zeros(100)
    k(4, 32, f32(n), y, n)
    local want = {}
    for i = 1, n do
        want[i] = 0
        for j = math.max(1, i - 2), math.min(n, i + 2) do want[i] = want[i] + j end
    end
    return y, want
end)

right("heat in two buffers", [[
__global__ void k(const float *x, float *y, int w, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c <= 0 || r <= 0 || c >= w - 1 || r >= h - 1) return;
    int i = r * w + c;
    y[i] = 0.25f * (x[i - 1] + x[i + 1] + x[i - w] + x[i + w]);
}]], function(k)
    local x, y = g.ones(12, 20), g.zeros(12, 20)
    k({ 2, 2 }, { 16, 8 }, x, y, 20, 12)
    return y:sum():item(), 180
end)

right("a list whose places atomics give", [[
__global__ void k(const int *x, int *y, int *n) {
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (v % 2) y[atomicAdd(n, 1)] = v;
}]], function(k)
    local y, n = zeros(64, "i32"), zeros(1, "i32")
    k(4, 32, i32(128), y, n)
    return { n:item(), y:sum():item() }, { 64, 4096 }
end)

right("a lock-free maximum by atomicCAS", [[
__global__ void k(const float *x, float *most) {
    int *at = (int *)most, old = atomicAdd(at, 0), seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= x[threadIdx.x]) break;
        old = atomicCAS(at, seen, __float_as_int(x[threadIdx.x]));
    } while (old != seen);
}]], function(k)
    local m = zeros(1)
    k(1, 64, f32(64), m)
    return m:item(), 64
end)

right("vectors of four", [[
__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    float4 v = ((const float4 *)x)[i];
    ((float4 *)y)[i] = make_float4(v.w, v.z, v.y, v.x);
}]], function(k)
    local y = zeros(8)
    k(1, 32, f32(8), y, 8)
    return y, { 4, 3, 2, 1, 8, 7, 6, 5 }
end)

right("bytes by neighbouring threads", [[
__global__ void k(const unsigned char *x, unsigned char *y) {
    __shared__ unsigned char s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}]], function(k)
    local y = zeros(64, "u8")
    k(1, 64, i32(64):to "u8", y)
    return { y[1]:item(), y[64]:item() }, { 63, 0 }
end)

right("doubles and 64-bit integers", [[
__global__ void k(const double *x, double *y, long long *n) {
    int i = threadIdx.x;
    y[i] = sqrt(x[i]) + fabs(-1.0);
    n[i] = (long long)x[i] << 33;
}]], function(k)
    local y, n = zeros(3, "f64"), zeros(3, "i64")
    k(1, 3, g.tensor({ 1.0, 4.0, 9.0 }, { dtype = "f64" }), y, n)
    return { y[3]:item(), n[3]:item() }, { 4, 9 << 33 }
end)

right("float functions of CUDA's", [[
__global__ void k(const float *x, float *y) {
    float v = x[0];
    y[0] = abs(-1.5f) + min(v, 2.0f) + max(1, 2) + sqrt(v) + pow(v, 2.0f) + __fdividef(1, v) +
           fmodf(5, 3) + __saturatef(7) + floor(-0.5f) + rsqrtf(v) + copysignf(1, -v);
}]], function(k)
    local y = zeros(1)
    k(1, 1, g.tensor { 4.0 }, y)
    return y:item(), 1.5 + 2 + 2 + 2 + 16 + 0.25 + 2 + 1 - 1 + 0.5 - 1
end)

right("a thread's own array", [[
__device__ void fill(int *a, int n) { for (int i = 0; i < n; i++) a[i] = i; }
__global__ void k(int *y) {
    int own[16], sum = 0;
    fill(own, 16);
    for (int i = 0; i < 16; i++) sum += own[(i * 5 + threadIdx.x) % 16];
    y[threadIdx.x] = sum;
}]], function(k)
    local y = zeros(4, "i32")
    k(1, 4, y)
    return y, { 120, 120, 120, 120 }
end)

right("blocks of three dims", [[
__global__ void k(int *y) {
    __shared__ int s[4][3][2];
    s[threadIdx.z][threadIdx.y][threadIdx.x] = threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
    __syncthreads();
    y[(threadIdx.z * 3 + threadIdx.y) * 2 + threadIdx.x] =
        s[3 - threadIdx.z][2 - threadIdx.y][1 - threadIdx.x];
}]], function(k)
    local y = zeros(24, "i32")
    k(1, { 2, 3, 4 }, y)
    return { y[1]:item(), y[24]:item() }, { 321, 0 }
end)
t.done()
