-- What a checked kernel does on one core, in processor time: `gpush kernels.lua [ROUNDS]` runs each
-- row ROUNDS times (20), and prints the best and the middle one in millions a second.
-- docs/kernels.md has the first two figures: accesses of memory, and threads that cross barriers.
local rounds = math.tointeger(arg[1] or 20)
local i32 = { dtype = "i32" }

local function kernel(text) return cuda.kernel(text) end

-- name, how many, and what does them.
local rows = {}
local function row(name, count, run) rows[#rows + 1] = { name = name, count = count, run = run } end

local x, y = randn(10000), zeros(1024)

local reads = kernel [[__global__ void reads(const float *x, float *y, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    y[threadIdx.x] = sum;
}]]
row("accesses: reads of a tensor", 256 * 10001, function() reads(1, 256, x, y, 10000) end)

local barriers = kernel [[__global__ void barriers(int n) {
    for (int i = 0; i < n; i++) __syncthreads();
}]]
row("crossings of a barrier", 256 * 4000, function() barriers(1, 256, 4000) end)

local shared = kernel [[__global__ void shared(float *y, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = t;
    for (int i = 0; i < n; i++) s[t] += 1;
    y[t] = s[t];
}]]
row("accesses: shared memory", 256 * (2 * 5000 + 3), function() shared(1, 256, y, 5000) end)

local product = kernel [[__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float s[16][16], u[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        u[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += s[y][j] * u[j][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}]]
local a, b, c = randn(128, 128), randn(128, 128), zeros(128, 128)
row("accesses: a tiled product", 128 * 128 * (8 * 36 + 1),
    function() product({ 8, 8 }, { 16, 16 }, a, b, c, 128) end)

local atomics = kernel [[__global__ void atomics(int *h, int n) {
    for (int i = 0; i < n; i++) atomicAdd(&h[i + threadIdx.x & 255], 1);
}]]
local bins = zeros(256, i32)
row("atomics", 256 * 1000, function() atomics(1, 256, bins, 1000) end)

local shuffles = kernel [[__global__ void shuffles(int *y, int n) {
    int v = threadIdx.x;
    for (int i = 0; i < n; i++) v += __shfl_xor_sync(0xffffffff, v, 1 << i % 5);
    y[threadIdx.x] = v;
}]]
local lanes = zeros(256, i32)
row("lanes' shuffles", 256 * 1000, function() shuffles(1, 256, lanes, 1000) end)

print(("%-28s %8s %8s"):format("millions a second", "best", "middle"))
for _, r in ipairs(rows) do
    local times = {}
    for i = 1, rounds do
        local began = os.clock()
        r.run()
        times[i] = os.clock() - began
    end
    table.sort(times)
    print(("%-28s %8.1f %8.1f"):format(r.name, r.count / times[1] / 1e6,
        r.count / times[(rounds + 1) // 2] / 1e6))
end
