--!plain
-- cuda.kernel: arguments, grids, shared memory, messages, order, on cpu and sim, checked and not;
-- values worked out by hand.
local t = require "tap"
local g = require "gpush"
local kernel = g.cuda.kernel

require "own_kernels".need_compiler()

local function raises(fn, want, name)
    local ok, message = pcall(fn)
    local found = not ok and tostring(message):find(want, 1, true)
    t.is(found and want or ok and "no error" or message, want, name)
end

local function on(device, list, dtype) return g.tensor(list, { dtype = dtype }):to(device) end
local SAXPY <const> = [[
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
]]

local function values(device, check)
    local function is(x, want, name)
        t.is(x, want, ("%s, check %s: %s"):format(device, check, name))
    end
    local how = { check = check }
    local saxpy = kernel(SAXPY, "saxpy", how)
    local x, y = on(device, { 1.0, 2.0, 3.0, 4.0, 5.0 }, "f32"), g.ones(5):to(device)
    saxpy(2, 4, 2.0, x, y, 5)
    is(y, { 3, 5, 7, 9, 11 }, "saxpy")
    saxpy:over(5)(1.0, x, y, 3)
    is(y, { 4, 7, 10, 9, 11 }, "over(n), and a guard")

    local grid = kernel([[
__global__ void where(int *out) {
    int at = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) *
             (blockDim.x * blockDim.y * blockDim.z) +
             (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[at] = at;
}]], "where", how)
    local out = g.zeros(2 * 3 * 2 * 2 * 2 * 3, { dtype = "i32", device = device })
    grid({ 2, 3, 2 }, { 2, 2, 3 }, out)
    is(out, g.arange(0, 143, { dtype = "i32" }):tolist(), "grids and blocks of three dims")

    local sum = kernel([[
__constant__ float half[2] = {0.5f, 0.25f};
__device__ __forceinline__ float scaled(float x) { return x * half[0]; }
__global__ void sum(const float *x, float *y, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = t < n ? scaled(__ldg(x + t)) : 0;
    __syncthreads();
    for (int k = blockDim.x / 2; k; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (!t) *y = s[0];
}]], "sum", how)
    local total = g.zeros(1, { device = device })
    sum(1, 64, g.arange(1, 40, { dtype = "f32", device = device }), total, 40, { shared = 256 })
    is(total, { 410 }, "dynamic shared memory, constants, device functions, barriers")

    local types = kernel([[
__global__ void types(double *d, long long *l, short *s, unsigned char *u, bool *b, signed char *c,
                      double x, unsigned int y, bool z, size_t w) {
    d[0] = x; l[0] = -5; s[0] = -3; u[0] = 200; b[0] = z; c[0] = y - w;
}]], nil, how)
    local made = {}
    for k, dtype in ipairs { "f64", "i64", "i16", "u8", "bool", "i8" } do
        made[k] = g.zeros(1, { dtype = dtype, device = device })
    end
    types(1, 1, made[1], made[2], made[3], made[4], made[5], made[6], 0.1, 4294967295, true,
        4294967290)
    is({ made[1]:item(), made[2]:item(), made[3]:item(), made[4]:item(), made[5]:item(),
        made[6]:item() }, { 0.1, -5, -3, 200, true, 5 }, "every type")

    local votes = kernel([[
__global__ void votes(int *out) {
    int t = threadIdx.x, v = t;
    for (int k = 16; k; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
    int w = __shfl_sync(0xffffffffu, v, 0);
    unsigned odd = __ballot_sync(0xffffffffu, t & 1);
    int n = __syncthreads_count(t < 10), all = __syncthreads_and(t < 64);
    int any = __syncthreads_or(t == 3);
    out[t] = w + __popc(odd) + n + all + any + __reduce_max_sync(0xffffffffu, t) +
             __any_sync(0xffffffffu, t == 7) + __all_sync(0xffffffffu, t < 3) +
             __shfl_xor_sync(0xffffffffu, t, 1);
}]], "votes", how)
    local v = g.zeros(64, { dtype = "i32", device = device })
    votes(1, 64, v)
    -- Warp 0: 496 + 16 + 10 + 1 + 1 + 31 + 1 + 0 + t ^ 1; warp 1: 1520 + … + 63 + 0 + 0.
    is({ v[1]:item(), v[2]:item(), v[33]:item() }, { 557, 556, 1644 }, "warps and votes")

    local count = kernel([[
__global__ void count(const int *x, int *bins, int n, float *total, unsigned *most) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[x[i] % 4], 1);
        atomicAdd(total, 0.5f);
        atomicMax(most, (unsigned)x[i]);
    }
}]], "count", how)
    local bins = g.zeros(4, { dtype = "i32", device = device })
    local most = g.zeros(1, { dtype = "i32", device = device })
    local sums = g.zeros(1, { device = device })
    count(4, 32, g.arange(0, 999, { dtype = "i32", device = device }), bins, 1000, sums, most)
    is({ bins[1]:item(), bins[4]:item(), sums:item(), most:item() }, { 250, 250, 500, 999 },
        "atomics")
end
for _, device in ipairs { "cpu", "sim" } do
    for _, check in ipairs { true, false } do values(device, check) end
end

-- ---- arguments ----

local saxpy = kernel(SAXPY)
local x, y = g.ones(4), g.ones(4)
local function call(...)
    local args = table.pack(...)
    return function() saxpy(1, 4, table.unpack(args, 1, args.n)) end
end
raises(call(1.0, x:to "f64", y, 4),
    "saxpy: argument 2 'x' is f64, the kernel takes const float *; x:to 'f32' converts", "a dtype")
raises(call(1.0, g.ones(4, 4):t(), y, 4), "argument 2 'x' is a view of", "a view")
raises(call(1.0, x, 3.0, 4), "argument 3 'y': expected a tensor for float *, got number",
    "a number")
raises(call(1.0, x, y, 1.5), "argument 4 'n': 1.5 is no int", "a fraction")
raises(call(1.0, x, y, 2 ^ 31), "argument 4 'n': 2147483648 is no int", "a large number")
raises(call("a", x, y, 4), "argument 1 'a': expected a number for float, got string", "a string")
raises(call(1.0, x, y), "saxpy: expected 4 arguments after grid and block, got 3", "their number")
raises(function() saxpy(0, 4, 1.0, x, y, 4) end, "grid: expected an integer from 1", "no block")
raises(function() saxpy(1, 2048, 1.0, x, y, 4) end, "block: expected an integer from 1 to 1024",
    "a large block")
raises(function() saxpy(1, { 32, 33 }, 1.0, x, y, 4) end, "block: 1056 threads", "its threads")
raises(call(1.0, x, y, 4, { shard = 3 }), "unknown option 'shard'", "an option")
raises(call(1.0, g.ones(4, { requires_grad = true }), y, 4),
    "argument 2 'x' requires grad, and a kernel has no derivative", "a gradient")
raises(call(1.0, x:to "sim", y, 4), "sim", "two devices")

-- ---- sources ----

raises(function() kernel "void f() {}" end, "no __global__ function", "no kernel")
raises(function() kernel(SAXPY, "daxpy") end, "no kernel 'daxpy' (it has saxpy)", "another name")
raises(function() kernel "__global__ void f(float **x) {}" end,
    "f: parameter 1 'x': a launch cannot pass float **", "a parameter")
raises(function() kernel '#include "/etc/passwd"\n__global__ void f(int *x) {}' end,
    "#include of '/etc/passwd' (line 1)", "an include")
local many = {}
for k = 1, 17 do many[k] = "int *x" .. k end
raises(function() kernel("__global__ void f(" .. table.concat(many, ", ") .. ") {}") end,
    "f: 17 pointers and 0 numbers (expected at most 16 and 25)", "many pointers")
for _, name in ipairs { "a", "n", "args" } do
    local y = g.zeros(4)
    kernel(("__global__ void %s(float *y) { y[threadIdx.x] = 1; }"):format(name))(1, 4, y)
    t.is(y, { 1, 1, 1, 1 }, "a kernel may be called " .. name)
end
local ok, message = pcall(kernel, [[
__global__ void wrong(float *x, int n) {
    int i = threadIdx.x;
    if (i < n) x[i] = missing(i) + lost;
}]])
local line = debug.getinfo(1, "l").currentline - 2
t.ok(not ok and message:find(("launch.lua:%d: [^\n]*lost[^\n]* undeclared"):format(line)),
    "an error has the script's line")
t.ok(message:find("\n    " .. "    if (i < n) x[i] = missing(i) + lost;\n", 1, true),
    "the line itself")
local caret = message:match "declaration of [^\n]*missing[^\n]*\n[^\n]*lost;\n( *)%^"
t.is(caret and #caret, 4 + #"    if (i < n) x[i] = ", "a caret under a function that is not there")
caret = message:match "undeclared[^\n]*\n[^\n]*lost;\n( *)%^"
t.is(caret and #caret, 4 + #"    if (i < n) x[i] = missing(i) + ", "and under a name")
t.ok(tostring(saxpy):find("kernel saxpy(float a, const float *x, float *y, int n)", 1, true),
    "print(kernel)")
raises(function() return saxpy.grid end, "a kernel has no 'grid'", "a field")

-- ---- versions, views, several kernels ----

local two = [[
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
__global__ void next(float *x) { x[threadIdx.x] += 1; }]]
local a = g.arange(1, 8, { dtype = "f32" })
kernel(two, "twice")(1, 3, a:narrow(1, 3, 3))
kernel(two, "next")(1, 8, a)
t.is(a, { 2, 3, 7, 9, 11, 7, 8, 9 }, "a view is written where it is, and no further")
raises(function() kernel(two) end, "argument 'name': expected one of next, twice", "which of two")
local w = g.ones(3, { requires_grad = true })
local c = g.ones(3)
local z = (w * c):sum()
kernel(two, "twice")(1, 3, c)
raises(function() z:backward() end, "was", "backward sees that what it needs was written")
local both = kernel([[
__global__ void both(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; }]])
local s = g.zeros(4)
both(1, 4, s, s)
t.is(s, { 1, 1, 1, 1 }, "one tensor may be read and written")
local one = kernel "__global__ void one(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }"
local ones = g.zeros(8)
one(8 / 4, 4, ones)
t.is(ones:sum(), 8, "a whole float is a number of blocks")
one:over(0)(ones)
t.is(kernel [[
#if __CUDA_ARCH__ >= 700
__global__ void arch(int *x) { x[0] = 1; }
#endif]](1, 1, g.zeros(1, { dtype = "i32" })), nil, "the text is the device's")
raises(function() kernel "__global__ int f(float *x) { return 1; }" end,
    "f: a __global__ function returns void", "a kernel that returns a value")
raises(function() kernel [[
__global__ void f(float *x) {
    __shared__ float s[20000];
    s[threadIdx.x] = x[0], x[0] = s[0];
}]] end, "80000 B of static shared memory (expected at most 49152", "more than a card has")
raises(function() kernel [[
__global__ void f(float *x) {
    float *p = new float[4];
    x[0] = p[0];
}]] end, "kernels have no heap here", "new")
local counted = g.cuda.module [[__device__ int calls;
__global__ void count(int n) { atomicAdd(&calls, n); }]]
counted:kernel "count"(2, 8, 3)
t.is(counted:global "calls", { 48 }, "a kernel of numbers alone runs")
counted:kernel "count"(1, 1, 2)
t.is(counted:global "calls", { 50 }, "with the variables that it has")
for _, device in ipairs { "cpu", "sim" } do
    local again = g.capture(function(v)
        local out = g.zeros(4, { device = device })
        both(1, 4, v, out)
        return out * 2
    end)
    local list = {}
    for k = 1, 4 do list[k] = again(g.full({ 4 }, k + 0.0, { device = device })):sum():item() end
    t.is(list, { 16, 24, 32, 40 }, device .. ": a captured function has the kernel")
end

-- ---- print ----

-- By hand: an H200 has 2,048 threads, 32 blocks and 228 KB, a T4 1,024, 16 and 64 KB, a V100 96 KB;
-- since the A100 each block has 1 KB more.
local function shows(k, first, second, name)
    local head, occupancy = tostring(k):match "^([^\n]*)\n?%s*(.*)$"
    t.ok(head:find(first, 1, true), name, head)
    t.is(occupancy, second, name .. ": its occupancy")
end
local function computed(share, card, blocks, by)
    return ("occupancy %.3g %%, computed for %s: %s a multiprocessor, limited by %s (registers \z
        not counted)"):format(share, card, blocks, by)
end
local tile = kernel [[
__global__ void tile(float *x) {
    __shared__ float s[64][64];
    extern __shared__ float more[];
    s[0][threadIdx.x] = more[threadIdx.x] = x[threadIdx.x];
}]]
local HEAD <const> = "tile(float *x): registers not known here, 16384 B of static shared memory, \z
    more by {shared = bytes}, checked"
shows(tile, HEAD, computed(100, "H200", "8 blocks of 256 threads", "threads"), "print(kernel)")
tile(1, 64, g.zeros(64), { shared = 4096 })
shows(tile, HEAD, computed(31.25, "H200", "10 blocks of 64 threads", "shared memory"),
    "of the last launch's block and shared memory")
g.sim.card = "v100"
shows(tile, HEAD, computed(12.5, "V100", "4 blocks of 64 threads", "shared memory"),
    "of the modelled card")
g.sim.card = "t4"
one(1, 8, ones)
shows(one, "one(float *x): registers not known here, 0 B", computed(50, "T4",
    "16 blocks of 8 threads", "blocks"), "a block is at least a warp")
g.sim.card = "mi250"
shows(one, "one(float *x)", "", "a card of other limits")
g.sim.card = nil
t.done()
