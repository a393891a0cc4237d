--!plain
-- A kernel that faults ends as an error with its line and thread, checked or not, and the next one
-- runs: integers divided by 0, and addresses that are not there.
local t = require "tap"
local g = require "gpush"
local kernel = g.cuda.kernel

require "own_kernels".need_compiler()
if os.getenv "GPUSH_SAN" == "thread" then
    t.skip_all "TSan gives handlers a copy of the context"
end

local divide = kernel [[
__global__ void divide(const int *x, const int *y, int *z) {
    int i = threadIdx.x;
    z[i] = x[i] / y[i];
}]]
local far = kernel [[
__global__ void far(float *y, long long n) {
    y[n] = 1;
}]]
local function ints(list, device) return g.tensor(list, { dtype = "i32", device = device }) end

for _, device in ipairs { "cpu", "sim" } do
    for _, check in ipairs { true, false } do
        local how, name = { check = check }, device .. (check and ", checked" or ", unchecked")
        local function run(x, y)
            local z = g.zeros(3, { dtype = "i32", device = device })
            divide(1, 3, ints(x, device), ints(y, device), z, how)
            g.synchronize()
            return z
        end
        t.error(function() run({ 1, 2, 3 }, { 1, 0, 3 }) end,
            "divide: division of an integer by 0[^\n]* at [^\n]*faults.lua:16, block 0 thread 1",
            name .. ": a division by 0")
        t.error(function() run({ 1, 2, -2147483648 }, { 1, 1, -1 }) end,
            "or of the least one by %-1,[^\n]* thread 2", name .. ": the least integer by -1")
        t.is(run({ 7, -7, 9 }, { 2, 2, 3 }), { 3, -3, 3 }, name .. ": the next launch is right")
    end
end
t.error(function() far(1, 1, g.zeros(1), 1 << 40, { check = false }) end,
    "far: an address that is not there[^\n]* at [^\n]*faults.lua:20, block 0 thread 0",
    "an address, unchecked")
t.error(function() far(1, 1, g.zeros(1), 1 << 40) end, "out of bounds write", "and checked")
t.error(function() g.elementwise("T x", "T z", "if (true) z = 3 % 0;")(g.ones(3)) end,
    "division of an integer by 0", "a compiled elementwise text")
local deep = kernel [[
__device__ int deeper(int n) {
    volatile int q[10];
    q[n % 10] = n;
    return deeper(n + 1) + q[n % 10];
}
__global__ void deep(int *y) { y[0] = deeper(y[0]); }]]
local large = kernel [[
__global__ void large(int *y) {
    int q[100000];
    for (int i = 0; i < 100000; i++) q[i] = y[0] + i;
    y[0] = q[y[0] & 1023];
}]]
for _, check in ipairs { true, false } do
    for name, k in pairs { deep = deep, large = large } do
        t.error(function() k(1, 2, g.zeros(1, { dtype = "i32" }), { check = check }) end,
            name .. ": more than 252 KB of local variables, or endless recursion",
            name .. (check and ", checked" or ", unchecked") .. ": the stack is full")
    end
end
t.done()
