--!plain
-- Checked kernels: ten more right ones, written from docs/kernels.md alone, and what plain Lua
-- makes of the same.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local right = own.right
local tensor, zeros = g.tensor, g.zeros
own.need_compiler()

local function i32(t) return tensor(t, {dtype = "i32"}) end
local function f32(t) return tensor(t, {dtype = "f32"}) end
local state = 12345
local function random(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n
end
local function list(n, f) local t = {} for i = 1, n do t[i] = f(i) end return t end

right("shortest ways between all pairs, in place", [[
__global__ void ways(int *d, int n) {
    int i = threadIdx.y, j = threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (i != k && j != k) {
            int via = d[i * n + k] + d[k * n + j];
            if (via < d[i * n + j]) d[i * n + j] = via;
        }
        __syncthreads();
    }
}]], function(k)
    local n = 12
    local w = list(n * n, function(i)
        return (i - 1) // n == (i - 1) % n and 0 or 1 + random(40)
    end)
    local d = i32(w)
    k(1, {n, n}, d, n)
    for m = 0, n - 1 do for a = 0, n - 1 do for b = 0, n - 1 do
        w[a * n + b + 1] = math.min(w[a * n + b + 1], w[a * n + m + 1] + w[m * n + b + 1])
    end end end
    return d, w
end)

right("relaxation between two buffers that change places", [[
__global__ void relax(const int *x, int *y, int steps) {
    __shared__ int a[48], b[48];
    int t = threadIdx.x, *from = a, *to = b;
    from[t] = x[t];
    __syncthreads();
    for (int k = 0; k < steps; k++) {
        to[t] = from[t ? t - 1 : 0] + from[t < 47 ? t + 1 : 47];
        __syncthreads();
        int *was = from;
        from = to, to = was;
    }
    y[t] = from[t];
}]], function(k)
    local x = list(48, function() return random(9) end)
    local y = zeros(48, {dtype = "i32"})
    k(1, 48, i32(x), y, 5)
    for _ = 1, 5 do
        x = list(48, function(i) return x[math.max(i - 1, 1)] + x[math.min(i + 1, 48)] end)
    end
    return y, x
end)

right("life, on bytes, in tiles with a halo that wraps round", [[
__global__ void life(const unsigned char *x, unsigned char *y, int rows, int cols) {
    __shared__ unsigned char tile[10][10];
    int c0 = blockIdx.x * 8, r0 = blockIdx.y * 8, t = threadIdx.y * 8 + threadIdx.x;
    for (int i = t; i < 100; i += 64) {
        int r = (r0 + i / 10 - 1 + rows) % rows, c = (c0 + i % 10 - 1 + cols) % cols;
        tile[i / 10][i % 10] = x[r * cols + c];
    }
    __syncthreads();
    int near = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            if (dx != 1 || dy != 1) near += tile[threadIdx.y + dy][threadIdx.x + dx];
    unsigned char me = tile[threadIdx.y + 1][threadIdx.x + 1];
    y[(r0 + threadIdx.y) * cols + c0 + threadIdx.x] = near == 3 || (me && near == 2);
}]], function(k)
    local rows, cols = 16, 24
    local x = list(rows * cols, function() return random(3) == 0 and 1 or 0 end)
    local y = zeros(rows * cols, {dtype = "u8"})
    k({3, 2}, {8, 8}, tensor(x, {dtype = "u8"}), y, rows, cols)
    return y, list(rows * cols, function(i)
        local r, c, near = (i - 1) // cols, (i - 1) % cols, 0
        for dy = -1, 1 do for dx = -1, 1 do
            if dx ~= 0 or dy ~= 0 then
                near = near + x[(r + dy) % rows * cols + (c + dx) % cols + 1]
            end
        end end
        return (near == 3 or x[i] == 1 and near == 2) and 1 or 0
    end)
end)

right("the last block adds partial sums that were fenced", [[
__global__ void total(const int *x, int *partial, int *done, int *y, int n) {
    __shared__ int last;
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = b * 32; i < n && i < b * 32 + 32; i++) sum += x[i];
        partial[b] = sum;
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        y[0] = sum;
    }
}]], function(k)
    local x, sum = list(120, function() return random(100) end), 0
    for i = 1, 120 do sum = sum + x[i] end
    local y = zeros(1, {dtype = "i32"})
    k(4, 32, i32(x), zeros(4, {dtype = "i32"}), zeros(1, {dtype = "i32"}), y, 120)
    return y, {sum}
end)

right("compaction: a ballot, one atomic of a warp, its place by a shuffle", [[
__global__ void keep(const int *x, int *y, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int v = i < n ? x[i] : 0, has = v % 3 == 0 && i < n;
    unsigned who = __ballot_sync(0xffffffff, has);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(who));
    base = __shfl_sync(0xffffffff, base, 0);
    if (has) y[base + __popc(who & ((1u << lane) - 1))] = v;
}]], function(k)
    local x = list(150, function() return 1 + random(999) end)
    local want = {}
    for i = 1, 150 do if x[i] % 3 == 0 then want[#want + 1] = x[i] end end
    local y, count = zeros(#want, {dtype = "i32"}), zeros(1, {dtype = "i32"})
    k(3, 64, i32(x), y, count, 150)
    table.sort(want)
    assert(count[1]:item() == #want)
    return y:sort(), want
end)

right("a sparse matrix times a vector, a warp for each row", [=[
__global__ void spmv(const int *start, const int *col, const int *val, const int *x, int *y,
                     int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, sum = 0;
    if (row >= rows) return;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32) sum += val[i] * x[col[i]];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) y[row] = sum;
}]=], function(k)
    local rows, start, col, val, want = 7, {0}, {}, {}, {}
    local x = list(50, function() return random(10) end)
    for r = 1, rows do
        want[r] = 0
        for _ = 1, random(70) do
            col[#col + 1], val[#val + 1] = random(50), random(10)
            want[r] = want[r] + val[#val] * x[col[#col] + 1]
        end
        start[r + 1] = #col
    end
    local y = zeros(rows, {dtype = "i32"})
    k(4, 64, i32(start), i32(col), i32(val), i32(x), y, rows)
    return y, want
end)

right("a merge of two sorted lists by binary search", [[
__device__ int below(const int *x, int n, int v, int equal) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (x[mid] < v || (equal && x[mid] == v)) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
__global__ void merge(const int *a, int na, const int *b, int nb, int *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < na) y[i + below(b, nb, a[i], 0)] = a[i];
    else if (i < na + nb) y[i - na + below(a, na, b[i - na], 1)] = b[i - na];
}]], function(k)
    local a, want = list(37, function() return random(60) end), {}
    local b = list(50, function() return random(60) end)
    table.sort(a)
    table.sort(b)
    for _, t in ipairs {a, b} do for _, v in ipairs(t) do want[#want + 1] = v end end
    table.sort(want)
    local y = zeros(87, {dtype = "i32"})
    k:over(87)(i32(a), 37, i32(b), 50, y)
    return y, want
end)

right("values and keys in one dynamic buffer", [=[
__global__ void pairs(const double *x, const int *order, double *y, int n) {
    extern __shared__ double values[];
    int *keys = (int *)(values + n);
    int t = threadIdx.x;
    values[t] = x[blockIdx.x * n + t];
    keys[t] = order[t];
    __syncthreads();
    y[blockIdx.x * n + t] = values[keys[t]];
}]=], function(k)
    local x = list(60, function(i) return i * 1.5 end)
    local order = list(20, function(i) return i * 7 % 20 end)
    local y = zeros(60, {dtype = "f64"})
    k(3, 20, tensor(x, {dtype = "f64"}), i32(order), y, 20, {shared = 20 * 12})
    return y, list(60, function(i) return x[(i - 1) // 20 * 20 + order[(i - 1) % 20 + 1] + 1] end)
end)

right("four floats at once, and the rest one by one", [[
__global__ void twice(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (int q = i; q < n / 4; q += step) {
        float4 v = ((const float4 *)x)[q];
        v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
        ((float4 *)y)[q] = v;
    }
    for (int r = n / 4 * 4 + i; r < n; r += step) y[r] = 2 * x[r];
}]], function(k)
    local x = list(203, function(i) return i + 0.25 end)
    local y = zeros(203)
    k(2, 16, f32(x), y, 203)
    return y, list(203, function(i) return 2 * x[i] end)
end)

right("a radix sort in one block, a bit at a time, by ballots", [[
__global__ void radix(const int *x, int *y) {
    __shared__ int s[64], zeros_of[2];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    s[t] = x[t];
    for (int bit = 0; bit < 8; bit++) {
        __syncthreads();
        int v = s[t], one = v >> bit & 1;
        unsigned ones = __ballot_sync(0xffffffff, one);
        if (lane == 0) zeros_of[warp] = 32 - __popc(ones);
        __syncthreads();
        int before = __popc(ones & ((1u << lane) - 1)), all = zeros_of[0] + zeros_of[1];
        int ahead = warp ? zeros_of[0] : 0;
        int place = one ? all + before + (warp ? 32 - ahead : 0) : lane - before + ahead;
        s[place] = v;
    }
    __syncthreads();
    y[t] = s[t];
}]], function(k)
    local x = list(64, function() return random(256) end)
    local y = zeros(64, {dtype = "i32"})
    k(1, 64, i32(x), y)
    table.sort(x)
    return y, x
end)
t.done()
