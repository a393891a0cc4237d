--!plain
-- Where a card is modelled, a kernel's time comes from its counts: worked out by hand on a card
-- whose figures make round numbers.
local t = require "tap"
local g = require "gpush"
require "own_kernels".need_compiler()
local sim = g.sim

-- 1 GB/s and 1 GFLOP/s; 2 us of a kernel.
sim.card = { name = "R1", memory = 1e9, bandwidth = 1e9, f64 = 1e9, f32 = 1e9, f64_matrix = 1e9,
    f32_matrix = 1e9, tf32 = 1e9, f16 = 1e9, bf16 = 1e9, pinned = 1e9, pageable = 1e9,
    launch = 1e-6, kernel = 2e-6, wait = 3e-6 }
sim.host = 8e-6

-- The device's ns of a launch, and the bytes that the profile says it had to move.
local function took(name, fn)
    local prof = g.profile.run({ flops = true }, function() fn() g.synchronize() end)
    for _, row in ipairs(prof:rows()) do
        if row.name == name then
            return row.self_device_time_total, row.bytes
        end
    end
end

local function zeros(n) return g.zeros(n, { device = "sim" }) end
local copy = g.cuda.kernel([[
__global__ void copy(const float *x, float *y, int by) { y[threadIdx.x] = x[threadIdx.x * by]; }]])
local x, y = zeros(32 * 8), zeros(32)
local function launch(by, options)
    return function() copy(1, 32, x, y, by, options or {}) end
end
launch(1)() -- compiled
t.is({ took("copy", launch(1)) }, { 2000 + 256, 256 }, "8 sectors of 32 bytes")
t.is({ took("copy", launch(8)) }, { 2000 + 36 * 32, 256 }, "36 sectors, for the same bytes")
t.is({ took("copy", launch(8, { check = false })) }, { 2000 + 1152, 1152 },
    "not counted: the tensors' bytes, once")

-- The same by the clock, without a profile: each launch has its own time, whatever ran before.
local function clocked(fn)
    g.synchronize()
    local began = g.clock()
    fn()
    g.synchronize()
    return math.floor((g.clock() - began) * 1e9 + 0.5)
end
local unchecked = launch(8, { check = false })
clocked(unchecked)
local alone = clocked(unchecked)
t.is(clocked(launch(8)) - clocked(launch(1)), 1152 - 256,
    "by the clock a checked launch takes its sectors")
t.is(clocked(unchecked), alone, "and an unchecked one after it what it took before")
local turn = g.cuda.kernel([[
__global__ void turn(float *y) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = 0;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x * 32];
}]])
turn(1, 32, y)
-- 32 passes to write, 32 to read, of 128 operations each.
t.is({ took("turn", function() turn(1, 32, y) end) }, { 2000 + 64 * 128, 128 },
    "passes over shared memory")
local bad = g.cuda.kernel "__global__ void bad(float *y) { y[threadIdx.x + 1] = 1; }"
local ok, message = pcall(function() bad(1, 32, y) g.synchronize() end)
t.ok(not ok and message:find "bad: out of bounds write", "a finding is reported at a wait")
sim.card, sim.host = nil, nil
t.done()
