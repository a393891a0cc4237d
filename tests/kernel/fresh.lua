--!plain
-- Ten more right kernels, and ten with a bug, of kinds that the other tests have not; written from
-- docs/kernels.md alone. What is right is compared with plain Lua.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local zeros, right, planted, i32, f32 = own.zeros, own.right, own.planted, own.i32, own.f32
own.need_compiler()
local tensor = g.tensor
local function mixed(n) -- 1 to n in another order
    local list = {}
    for i = 1, n do list[i] = (i * 37) % (n + 1) end
    return list
end
local function ints(list) return tensor(list, { dtype = "i32" }) end

-- ---- right ----

right("a bitonic sort", [[
__global__ void sort(int *x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int size = 2; size <= 64; size *= 2)
        for (int d = size / 2; d; d /= 2) {
            __syncthreads();
            int other = t ^ d;
            if (other > t) {
                bool up = !(t & size);
                int a = s[t], b = s[other];
                if ((a > b) == up) s[t] = b, s[other] = a;
            }
        }
    __syncthreads();
    x[t] = s[t];
}]], function(k)
    local x = ints(mixed(64))
    k(1, 64, x)
    return x, g.arange(1, 64, { dtype = "i32" })
end)

right("a scan by shuffles, whose warps add up in the first", [[
__global__ void scan(const int *x, int *y, int n) {
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t & 31, warp = t / 32, v = t < n ? x[t] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += left;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int left = __shfl_up_sync(0xffffffff, s, d);
            if (lane >= d) s += left;
        }
        sums[lane] = s;
    }
    __syncthreads();
    if (warp) v += sums[warp - 1];
    if (t < n) y[t] = v;
}]], function(k)
    local y = zeros(100, "i32")
    k(1, 128, i32(100), y, 100)
    return y, i32(100):cumsum(1):to "i32"
end)

right("a stencil, whose first threads load what is beside the tile", [[
__global__ void blur(const float *x, float *y, int n) {
    __shared__ float s[34];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    s[t + 1] = i < n ? x[i] : 0;
    if (t < 2) {
        int j = blockIdx.x * 32 + (t ? 32 : -1);
        s[t * 33] = j >= 0 && j < n ? x[j] : 0;
    }
    __syncthreads();
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
}]], function(k)
    local y, want = zeros(70), {}
    k(3, 32, f32(70), y, 70)
    for i = 1, 70 do want[i] = (i > 1 and i - 1 or 0) + i + (i < 70 and i + 1 or 0) end
    return y, want
end)

right("what is odd, moved together by ballots", [[
__global__ void pack(const int *x, int *y, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, first = 0;
    bool keep = i < n && x[i] % 2;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    if (lane == 0) first = atomicAdd(count, __popc(votes));
    first = __shfl_sync(0xffffffff, first, 0);
    if (keep) y[first + __popc(votes & ((1u << lane) - 1))] = x[i];
}]], function(k)
    local y, count = zeros(50, "i32"), zeros(1, "i32")
    k(2, 64, i32(100), y, count, 100)
    return g.cat { y:sort(), count }, g.cat { g.arange(1, 99, 2, { dtype = "i32" }), ints { 50 } }
end)

right("the largest float, by its bits", [[
__device__ void largest(float *at, float v) {
    int *p = (int *)at, old = *(volatile int *)p;
    while (__int_as_float(old) < v) {
        int seen = atomicCAS(p, old, __float_as_int(v));
        if (seen == old) break;
        old = seen;
    }
}
__global__ void k(const float *x, float *y, long long n) {
    float best = -INFINITY;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
         i += (long long)gridDim.x * blockDim.x)
        best = fmaxf(best, x[i]);
    largest(y, best);
}]], function(k)
    local y = g.tensor { -1e30 }
    k(2, 64, ints(mixed(300)):to "f32", y, 300)
    return y, { 300 }
end)

right("the last block adds up", [[
__device__ unsigned done;
__global__ void total(const float *x, float *part, float *y) {
    __shared__ float s[32];
    __shared__ bool last;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 32 + t];
    for (int d = 16; d; d /= 2) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += ((volatile float *)part)[i];
        *y = sum;
    }
}]], function(k)
    local y = zeros(1)
    for _ = 1, 2 do k(4, 32, f32(128), zeros(4), y) end
    return y, { 128 * 129 / 2 }
end)

right("a transpose of a matrix that is no multiple of the tile", [[
__global__ void transpose(const float *x, float *y, int rows, int cols) {
    __shared__ float tile[8][9];
    int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 8 + threadIdx.x, r = blockIdx.x * 8 + threadIdx.y;
    if (r < cols && c < rows) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}]], function(k)
    local x, y = f32(11 * 13):reshape(11, 13), zeros(143):reshape(13, 11)
    k({ 2, 2 }, { 8, 8 }, x, y, 11, 13)
    return y, x.T
end)

right("softmax, a warp for each row, with its running maximum", [[
__global__ void softmax(const float *x, float *y, int cols) {
    const float *row = x + threadIdx.y * cols;
    float most = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32) {
        float v = row[c], next = fmaxf(most, v);
        sum = sum * expf(most - next) + expf(v - next);
        most = next;
    }
    for (int d = 16; d; d /= 2) {
        float m = __shfl_xor_sync(~0u, most, d), s = __shfl_xor_sync(~0u, sum, d);
        float next = fmaxf(most, m);
        sum = next == -INFINITY ? 0 : sum * expf(most - next) + s * expf(m - next);
        most = next;
    }
    for (int c = threadIdx.x; c < cols; c += 32)
        y[threadIdx.y * cols + c] = expf(row[c] - most) / sum;
}]], function(k)
    local x, y = g.linspace(-3, 3, 120):reshape(3, 40), zeros(120):reshape(3, 40)
    k(1, { 32, 3 }, x, y, 40)
    local want = x:exp()
    return y, want / want:sum(2, { keepdim = true }), 1e-6
end)

right("queens on a board, with a stack of the thread's own", [[
__global__ void queens(int *count, int n) {
    int at[8], row = 1, found = 0, first = threadIdx.x;
    at[0] = first, at[1] = -1;
    while (row > 0) {
        int c = ++at[row];
        if (c == n) { row--; continue; }
        bool free = true;
        for (int r = 0; r < row; r++) {
            int d = at[r] - c;
            free = free && d != 0 && d != row - r && d != r - row;
        }
        if (!free) continue;
        if (row == n - 1) found++;
        else at[++row] = -1;
    }
    atomicAdd(count, found);
}]], function(k)
    local count = zeros(1, "i32")
    k(1, 6, count, 6)
    return count, { 4 }
end)

right("a pipeline of two warps through a ring in shared memory", [[
__global__ void ring(const int *x, int *y, int n) {
    __shared__ int slot[4];
    __shared__ volatile int filled, taken;
    if (threadIdx.x == 0) filled = taken = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i < n; i++) {
            while (i - taken >= 4) {}
            __threadfence_block();
            slot[i % 4] = 2 * x[i];
            __threadfence_block();
            filled = i + 1;
        }
    else if (threadIdx.x == 32)
        for (int i = 0; i < n; i++) {
            while (filled <= i) {}
            __threadfence_block();
            y[i] = slot[i % 4] + 1;
            __threadfence_block();
            taken = i + 1;
        }
}]], function(k)
    local y = zeros(20, "i32")
    k(1, 64, i32(20), y, 20)
    k(1, 64, i32(20), y, 20, { check = false })
    return y, g.arange(1, 39, 2, { dtype = "i32" })
end)

-- ---- with a bug ----

planted("a sum in place without a barrier between reading and writing", [[
__global__ void scan(int *x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int left = t >= d ? s[t - d] : 0;
        s[t] += left;
        __syncthreads();
    }
    x[t] = s[t];
}]], function(k) k(1, 64, i32(64)) end, "race at", "no barrier between", "shared 's'")

planted("the halo of the last block", [[
__global__ void blur(const float *x, float *y, int n) {
    __shared__ float s[34];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    if (i < n) s[t + 1] = x[i];
    if (t == 0) s[0] = i ? x[i - 1] : 0;
    if (t == 31 && i + 1 < n) s[33] = x[i + 1];
    __syncthreads();
    if (i < n) y[i] = s[t] + s[t + 1] + s[t + 2];
}]], function(k) k(2, 32, f32(64), zeros(64), 64) end, "has not written", "block 1 thread 31",
    "element 33 of shared 's'")

planted("two buffers, and one barrier a turn too few", [[
__global__ void relax(float *x, int turns) {
    __shared__ float s[2][32];
    int t = threadIdx.x;
    s[0][t] = x[t];
    __syncthreads();
    for (int k = 0; k < turns; k++)
        s[~k & 1][t] = s[k & 1][t] + s[k & 1][(t + 1) % 32];
    __syncthreads();
    x[t] = s[turns & 1][t];
}]], function(k) k(1, 32, f32(32), 3) end, "race at", "shared 's'")

planted("a barrier that some threads reach more often", [[
__global__ void k(const int *x, int *y) {
    int sum = 0;
    for (int i = threadIdx.x; i < 100; i += 64) {
        sum += x[i];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}]], function(k) k(1, 64, i32(100), zeros(64, "i32")) end, "barrier at",
    "28 of the block's 64 threads")

planted("the last block adds up, without a fence", [[
__device__ unsigned done;
__global__ void total(const float *x, float *part, float *y) {
    if (threadIdx.x == 0) {
        part[blockIdx.x] = x[blockIdx.x];
        if (atomicAdd(&done, 1) == gridDim.x - 1) {
            float sum = 0;
            for (int i = 0; i < gridDim.x; i++) sum += part[i];
            *y = sum;
        }
    }
}]], function(k) k(4, 32, f32(4), zeros(4), zeros(1)) end, "race at", "nothing orders blocks",
    "of 'part'")

planted("a stack of the thread's own that is too small", [[
__global__ void walk(const int *left, const int *right, int *sum) {
    int stack[4], n = 0, at = 0, total = 0;
    stack[n++] = 0;
    while (n) {
        at = stack[--n];
        total += at;
        if (left[at] >= 0) stack[n++] = left[at];
        if (right[at] >= 0) stack[n++] = right[at];
    }
    *sum = total;
}]], function(k)
    local left, right_of = { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 }
    for i = 6, 11 do left[i], right_of[i] = -1, -1 end
    k(1, 1, ints(right_of), ints(left), zeros(1, "i32"))
    k(1, 1, ints(left), ints(right_of), zeros(1, "i32"))
end, "out of bounds write", "element 4 of 'stack' (4 elements)")

planted("votes of all lanes within a branch of some", [[
__global__ void k(const int *x, int *y) {
    int t = threadIdx.x;
    if (x[t] > 8) y[t] = __popc(__ballot_sync(0xffffffff, x[t] % 2));
    else y[t] = 0;
    __syncwarp();
}]], function(k) k(1, 32, i32(32), zeros(32, "i32")) end, "divergent warp", "thread 0 waits at")

planted("pairs at an odd place", [[
__global__ void k(const float *x, float *y, int begin) {
    const float2 *pair = (const float2 *)(x + begin);
    float2 v = pair[threadIdx.x];
    y[threadIdx.x] = v.x + v.y;
}]], function(k) k(1, 8, f32(32), zeros(8), 3) end, "misaligned read of 8 bytes",
    "element 3 of 'x'")

planted("a flag that is set before what it tells of", [[
__global__ void k(const int *x, int *y) {
    __shared__ int word, flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 40) {
        atomicExch(&flag, 1);
        __threadfence_block();
        word = x[0];
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(&flag, 0) == 0) {}
        __threadfence_block();
        y[0] = word;
    }
}]], function(k) k(1, 64, i32(1), zeros(1, "i32")) end, "shared 'word'")

planted("a histogram of its own, of which nobody clears the last bins", [[
__global__ void hist(const int *x, int *y, int n) {
    int mine[10];
    for (int i = 0; i < 8; i++) mine[i] = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine[x[i] % 10]++;
    for (int i = 0; i < 10; i++) atomicAdd(&y[i], mine[i]);
}]], function(k) k(1, 4, i32(40), zeros(10, "i32"), 40) end, "before a write",
    "element 8 of 'mine' (10 elements)")
t.done()
