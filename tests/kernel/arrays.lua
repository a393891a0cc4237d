--!plain
-- Arrays of a thread's own: a wrong index and a read before a write are found, with kernel, line,
-- thread, element and size, in C and C++; and what is right is left alone, in whatever form.
local t = require "tap"
local g = require "gpush"
local own = require "own_kernels"
local zeros, right, planted = own.zeros, own.right, own.planted
own.need_compiler()
local found <close> = io.popen "command -v g++"
local ways = { "" }
if found:read "a":find "/" then ways[2] = "namespace in_cxx {}" end

-- One block of n threads of the kernel, whose text stands here in line 3 of `text`.
local function run(n) return function(k) k(1, n, zeros(64), 8) end end
local CXX <const> = { ["one too far"] = true, ["before the first"] = true,
    ["the other member"] = true }
local function bug(way, name, text, ...)
    if way ~= "" and not CXX[name] then return end
    planted(name .. way, way .. "\n" .. text, run(4), "k: ", ...)
end
for _, way in ipairs(ways) do
    bug(way, "one too far", [[__global__ void k(float *y, int n) {
    float acc[8];
    for (int i = 0; i <= n; i++) acc[i] = i;
    y[threadIdx.x] = acc[3];
}]], "out of bounds write", "line 4, block 0 thread 0: element 8 of 'acc' (8 elements)")
    bug(way, "a sum that begins with nothing", [[__global__ void k(float *y, int n) {
    float x = 1, acc[8], z[2] = {0};
    for (int i = 0; i < n; i++)
        acc[i] += x;
    y[threadIdx.x] = acc[3] + z[1];
}]], "read of the thread's own array before a write", "line 5, block 0 thread 0",
        "element 0 of 'acc' (8 elements)")
    bug(way, "before the first", [[__global__ void k(float *y, int n) {
    const float w[3] = {1, 2, 3};
    int t = threadIdx.x;
    y[t] = w[(int)t - 1];
}]], "out of bounds read", "line 5, block 0 thread 0: element -1 of 'w' (3 elements)")
    bug(way, "of some threads", [[__global__ void k(float *y, int n) {
    const float w[3] = {1, 2, 3};
    y[threadIdx.x] = w[threadIdx.x];
}]], "out of bounds read", "line 4, block 0 thread 3: element 3 of 'w' (3 elements)")
    bug(way, "far away", [[__global__ void k(float *y, int n) {
    int hist[16] = {0};
    hist[n * 1000] = 1;
    y[0] = hist[0];
}]], "out of bounds write", "element 8000 of 'hist' (16 elements)")
    bug(way, "through a pointer, elsewhere", [[__device__ float sum(const float *p, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += p[i];
    return s;
}
__global__ void k(float *y, int n) {
    float a[2][3];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) a[i][j] = 1;
    y[threadIdx.x] = sum(a[0], 7);
}]], "out of bounds read", "line 4, block 0 thread 0: element 6 of 'a' (6 elements)")
    bug(way, "what the last turn wrote", [[__global__ void k(float *y, int n) {
    for (int r = 0; r < 2; r++) {
        float a[4];
        if (r == 0) a[0] = 1;
        y[r] = a[0];
    }
}]], "before a write", "line 6, block 0 thread 0: element 0 of 'a' (4 elements)")
    bug(way, "the other member", [[typedef struct { float x; float y; } P;
__global__ void k(float *y, int n) {
    P a[4], b = {1, 2};
    for (int i = 0; i < 4; i++) a[i].x = b.x;
    y[0] = a[2].y;
}]], "before a write", "line 6, block 0 thread 0: element 2 of 'a' (4 elements)")
    bug(way, "memcpy of too much", [[__global__ void k(float *y, int n) {
    double d[2];
    memcpy(d, y, 3 * sizeof(double));
    y[0] = d[0];
}]], "out of bounds write", "element 2 of 'd' (2 elements)")
    bug(way, "after a barrier, when all threads have one", [[__global__ void k(float *y, int n) {
    int mine[4];
    for (int i = 0; i < 3; i++) mine[i] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = mine[threadIdx.x];
}]], "before a write", "line 6, block 0 thread 3: element 3 of 'mine' (4 elements)")
end

-- The first element of the result; no finding.
local function fine(name, text, want)
    for _, way in ipairs(ways) do
        right(name .. way, way .. "\n" .. text, function(k)
            local y = zeros(64)
            k(1, 1, y, 8)
            k(1, 1, y, 8, { check = false })
            return y[1]:item(), want
        end)
    end
end
fine("names that are others', too", [[#define AT(i) seen[i]
typedef struct { int acc[2]; int n; } S;
__device__ int twice(int acc) { return 2 * acc; }
__global__ void k(float *y, int n) {
    int acc[3] = {1, 2, 3}, seen[2], k = 0, *p = acc + 1;
    S s = {{4, 5}, 6}, *q = &s;
    AT(0) = AT(1) = 7;
    for (int acc = 0; acc < 2; acc++) k += acc;
    if (n) { float acc[2]; acc[0] = 1; k += acc[0]; }
    y[0] = acc[2] + s.acc[1] + q->acc[0] + p[0] + twice(k) + seen[1] + sizeof(acc) + 2 * acc[0];
}]], 3 + 5 + 4 + 2 + 4 + 7 + 12 + 2)
fine("a switch, a goto, two declared in one line", [[__global__ void k(float *y, int n) {
    int i = 0, a[2] = {0, 0}; float b[2];
again:
    switch (n) {
    case 8: a[i++] = 3; break;
    default: { int c[2]; c[0] = n; a[1] = c[0]; }
    }
    if (i < 2) goto again;
    b[0] = a[0], b[1] = a[1];
    y[0] = b[0] * b[1];
}]], 9)
fine("every kind of loop, and an early return", [[__device__ int first(const int *v, int n) {
    int order[8];
    for (int i = 0; i < n; i++) order[i] = v[i];
    for (int i = 0; i < n; i++) {
        int pair[2] = {order[i], i};
        if (pair[0] < 0) return pair[1];
        if (pair[0] == 1) continue;
    }
    return -1;
}
__global__ void k(float *y, int n) {
    int v[8] = {1, 1, 2, -1};
    y[0] = first(v, n);
}]], 3)
fine("a heap that is only as full as it is", [[__global__ void k(float *y, int n) {
    float best[4];
    int full = 0;
    for (int i = 0; i < n; i++) {
        float v = (i * 5) % 8;
        int at = full;
        while (at > 0 && best[at - 1] < v) {
            if (at < 4) best[at] = best[at - 1];
            at--;
        }
        if (at < 4) best[at] = v;
        if (full < 4) full++;
    }
    y[0] = best[0] * 1000 + best[1] * 100 + best[2] * 10 + best[3];
}]], 7654)
fine("what is read where it was written, in a loop", [[__global__ void k(float *y, int n) {
    float a[4], s = 0;
    if (n > 9) a[0] = 1;
    for (int i = 0; i < n; i++)
        if (n > 9) s += a[0];
    y[0] = s + 1;
}]], 1)
fine("a matrix in registers", [[__global__ void k(float *y, int n) {
    float acc[4][4] = {{0}}, a[4], b[4];
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < 4; i++) a[i] = i, b[i] = s;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) acc[i][j] += a[i] * b[j];
    }
    y[0] = acc[3][2];
}]], 84)
if ways[2] then
    right("templates, lambdas, members and constructors of C++", [[
struct Zero { float v; __device__ Zero() : v(0) {} };
template <typename T, int N> struct Stack {
    T item[N]; int n = 0;
    __device__ void push(T v) { item[n++] = v; }
};
template <int N> __device__ float total(float (&a)[N]) {
    float s = 0;
    for (float v : a) s += v;
    return s;
}
__global__ void k(float *y, int n) {
    float a[3] = {1, 2, 3};
    Zero z[2];
    Stack<int, 4> stacks[2];
    stacks[1].push(5);
    auto add = [&](int i, float v) { a[i] += v; };
    add(1, z[0].v + 10);
    switch (n) {
    case 8: float b[2]; b[0] = 1; a[0] += b[0]; break;
    case 9: y[0] = 0;
    }
    y[0] = total(a) + stacks[1].item[0];
}]], function(k)
        local y = zeros(1)
        k(1, 1, y, 8)
        return y:item(), 22
    end)
end
t.done()
