--!plain
-- Checked kernels: right ones raise nothing, and give what gpush's own ops, or a count by hand,
-- give: those whose threads meet.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local f32, i32, zeros, right = own.f32, own.i32, own.zeros, own.right
own.need_compiler()

g.manual_seed(1)

right("scan by Hillis and Steele, two buffers", [[
__global__ void k(const float *x, float *y, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, in = 0, out = 1;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        s[out * n + t] = t >= d ? s[in * n + t] + s[in * n + t - d] : s[in * n + t];
        in = 1 - in, out = 1 - out;
        __syncthreads();
    }
    y[t] = s[in * n + t];
}]], function(k)
    local y = zeros(64)
    k(1, 64, f32(64), y, 64, { shared = 512 })
    return y, f32(64):cumsum(1):tolist()
end)

right("scan by Blelloch, in place", [[
__global__ void k(float *x, int n) {
    __shared__ float s[128];
    int t = threadIdx.x, step = 1;
    s[2 * t] = x[2 * t], s[2 * t + 1] = x[2 * t + 1];
    for (int d = n / 2; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            float left = s[step * (2 * t + 1) - 1];
            s[step * (2 * t + 1) - 1] = s[step * (2 * t + 2) - 1];
            s[step * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    x[2 * t] = s[2 * t], x[2 * t + 1] = s[2 * t + 1];
}]], function(k)
    local x = f32(128)
    k(1, 64, x, 128)
    return x, (f32(128):cumsum(1) - f32(128)):tolist()
end)

right("scan by shuffles", [[
__global__ void k(const int *x, int *y) {
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, v = x[t];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int u = __shfl_up_sync(0xffffffff, s, d);
            if (lane >= d) s += u;
        }
        sums[lane] = s;
    }
    __syncthreads();
    y[t] = v + (warp ? sums[warp - 1] : 0);
}]], function(k)
    local y = zeros(128, "i32")
    k(1, 128, i32(128), y)
    return y, i32(128):cumsum(1):tolist()
end)

right("reduction by a tree", [[
__global__ void k(const float *x, float *y, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) v += x[i];
    s[t] = v;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) atomicAdd(y, s[0]);
}]], function(k)
    local y = zeros(1)
    k(3, 64, f32(500), y, 500)
    return y:item(), 125250
end)

right("reduction by shuffles", [[
__device__ float warp_sum(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}
__global__ void k(const float *x, float *y, int n) {
    __shared__ float s[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
    float v = warp_sum(i < n ? x[i] : 0);
    if (lane == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(y, v);
    }
}]], function(k)
    local y = zeros(1)
    k(2, 256, f32(500), y, 500)
    return y:item(), 125250
end)

right("reduction whose last warp needs __syncwarp alone", [[
__global__ void k(const int *x, int *y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        int v = s[t] + s[t + 32];
        for (int d = 16; d; d /= 2) {
            s[t] = v;
            __syncwarp();
            if (t < d) v += s[t + d];
            __syncwarp();
        }
        if (t == 0) *y = v;
    }
}]], function(k)
    local y = zeros(1, "i32")
    k(1, 64, i32(64), y)
    return y:item(), 2016
end)

right("the last block adds what all have written", [[
__device__ unsigned ticket = 0;
__global__ void k(const float *x, float *part, float *y) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        part[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += part[i];
        *y = sum;
    }
}]], function(k)
    local y = zeros(1)
    k(10, 32, f32(10), zeros(10), y)
    return y:item(), 55
end)

right("softmax of rows", [[
__global__ void k(const float *x, float *y, int n) {
    __shared__ float s[64];
    const float *row = x + blockIdx.x * n;
    int t = threadIdx.x;
    float most = -INFINITY, sum = 0;
    for (int i = t; i < n; i += blockDim.x) most = fmaxf(most, row[i]);
    s[t] = most;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d /= 2) {
        if (t < d) s[t] = max(s[t], s[t + d]);
        __syncthreads();
    }
    most = s[0];
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) sum += expf(row[i] - most);
    s[t] = sum;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) y[blockIdx.x * n + i] = expf(row[i] - most) / s[0];
}]], function(k)
    local x, y = g.randn(5, 100), g.zeros(5, 100)
    k(5, 64, x, y, 100)
    return y, x:softmax(2):tolist(), 1e-6
end)

right("layer norm by warps", [[
__global__ void k(const float *x, float *y, int n) {
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    float sum = 0, square = 0;
    for (int i = lane; i < n; i += 32) {
        float v = x[row * n + i];
        sum += v, square += v * v;
    }
    for (int d = 16; d; d /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, d);
        square += __shfl_xor_sync(0xffffffff, square, d);
    }
    float mean = sum / n, scale = rsqrtf(square / n - mean * mean + 1e-5f);
    for (int i = lane; i < n; i += 32) y[row * n + i] = (x[row * n + i] - mean) * scale;
}]], function(k)
    local x, y = g.randn(8, 50), g.zeros(8, 50)
    k(2, { 32, 4 }, x, y, 50)
    return y, g.layer_norm(x, 50):tolist(), 1e-4
end)

right("bitonic sort", [[
__global__ void k(int *x) {
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (unsigned size = 2; size <= 64; size *= 2)
        for (unsigned d = size / 2; d; d /= 2) {
            unsigned other = t ^ d;
            if (other > t && (s[t] > s[other]) == !(t & size)) {
                int v = s[t];
                s[t] = s[other], s[other] = v;
            }
            __syncthreads();
        }
    x[t] = s[t];
}]], function(k)
    local x = (i32(64) * 37) % 64
    k(1, 64, x)
    return x, i32(64):tolist()
end)

right("odd-even sort", [[
__global__ void k(int *x, int n) {
    int t = threadIdx.x;
    for (int pass = 0; pass < n; pass++) {
        int i = 2 * t + pass % 2;
        if (i + 1 < n && x[i] > x[i + 1]) { int v = x[i]; x[i] = x[i + 1]; x[i + 1] = v; }
        __syncthreads();
    }
}]], function(k)
    local x = (i32(32) * 11) % 32
    k(1, 16, x, 32)
    return x, i32(32):tolist()
end)

right("compaction by ballots", [[
__global__ void k(const int *x, int *y, int *count) {
    int t = threadIdx.x, keep = x[t] % 3 == 0;
    unsigned votes = __ballot_sync(0xffffffff, keep), below = votes & ((1u << t) - 1);
    if (keep) y[__popc(below)] = x[t];
    if (t == 0) *count = __popc(votes);
}]], function(k)
    local y, n = zeros(32, "i32"), zeros(1, "i32")
    k(1, 32, i32(32), y, n)
    return { n:item(), y[11]:item() }, { 11, 30 }
end)

right("a part of a warp meets by its own mask", [[
__global__ void k(int *y) {
    int t = threadIdx.x;
    if (t < 8) {
        int v = t;
        for (int d = 4; d; d /= 2) v += __shfl_xor_sync(0xff, v, d, 8);
        y[t] = v;
    } else y[t] = -1;
}]], function(k)
    local y = zeros(32, "i32")
    k(1, 32, y)
    return { y[1]:item(), y[8]:item(), y[9]:item() }, { 28, 28, -1 }
end)

right("n-body by tiles", [[
__global__ void k(const float *x, float *f, int n) {
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, own = x[i];
    for (int tile = 0; tile < n; tile += blockDim.x) {
        s[threadIdx.x] = x[tile + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) sum += s[j] - own;
        __syncthreads();
    }
    f[i] = sum;
}]], function(k)
    local f = zeros(64)
    k(2, 32, f32(64), f, 64, { shared = 128 })
    return { f[1]:item(), f[64]:item() }, { 2016, -2016 }
end)

right("an atomicAdd of double by atomicCAS, which reads first", [[
__device__ double add(double *at, double v) {
    unsigned long long *p = (unsigned long long *)at, old = *p, was;
    do {
        was = old;
        old = atomicCAS(p, was, __double_as_longlong(v + __longlong_as_double(was)));
    } while (was != old);
    return __longlong_as_double(old);
}
__global__ void k(double *sum) { add(sum, threadIdx.x); }]], function(k)
    local sum = g.zeros(1, { dtype = "f64" })
    k(3, 64, sum)
    return sum, { 3 * 63 * 64 / 2 }
end)

right("a block's sum whose array is static in a function", [[
__device__ float warp(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}
__device__ float block(float v) {
    static __shared__ float s[32];
    int lane = threadIdx.x & 31, w = threadIdx.x / 32;
    v = warp(v);
    if (lane == 0) s[w] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? s[lane] : 0;
    return w == 0 ? warp(v) : v;
}
__global__ void k(const float *x, float *y) {
    float v = block(x[threadIdx.x]);
    if (threadIdx.x == 0) y[0] = v;
}]], function(k)
    local y = zeros(1)
    k(1, 128, g.ones(128), y)
    return y, { 128 }
end)

right("votes of a block, and a counter of its warps", [[
__global__ void k(const int *x, int *y) {
    int t = threadIdx.x, n = __syncthreads_count(x[t] > 9);
    if (__syncthreads_or(x[t] > 62) && t == 0) y[0] = n;
    if (t % 32 == 0) atomicAdd(&y[1], 1);
}]], function(k)
    local y = zeros(2, "i32")
    k(1, 64, i32(64), y)
    return y, { 54, 2 }
end)
t.done()
