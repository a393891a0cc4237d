--!plain
-- Kernels whose threads wait in a loop for what another thread of their block writes: they end, and
-- fences with atomics, or with volatile words, order accesses; without a fence there is a race.
local t = require "tap"
local own = require "own_kernels"
local zeros, right, planted = own.zeros, own.right, own.planted
own.need_compiler()

-- Thread W writes a word and a flag, which thread R waits for.
local FLAG <const> = [[
__global__ void k(int *y) {
    __shared__ %s int flag;
    __shared__ int word;
    if (threadIdx.x == 0) flag = 0, word = 0;
    __syncthreads();
    if (threadIdx.x == %d) {
        word = 42;
        %s;
        %s;
    }
    if (threadIdx.x == %d) {
        while (%s == 0) {}
        __threadfence_block();
        y[0] = word;
    }
}]]
local function flag(kind, fence, set, get, from, to)
    return FLAG:format(kind, from, fence, set, to, get)
end
local SET <const>, GET <const> = "atomicExch(&flag, 1)", "atomicAdd(&flag, 0)"
local FENCE <const> = "__threadfence_block()"

for _, pair in ipairs { { 0, 32 }, { 32, 0 }, { 1, 0 }, { 0, 1 } } do
    local text = flag("", FENCE, SET, GET, pair[1], pair[2])
    for _, how in ipairs { "checked", "unchecked", "counted" } do
        right(("thread %d waits for %d, %s"):format(pair[2], pair[1], how), text, function(k)
            local y = zeros(1, "i32")
            if how == "counted" then k:counts(1, 64, y)
            else k(1, 64, y, { check = how == "checked" }) end
            return y:item(), 42
        end)
    end
    planted(("thread %d waits for %d, which has no fence"):format(pair[2], pair[1]),
        flag("", "", SET, GET, pair[1], pair[2]), function(k) k(1, 64, zeros(1, "i32")) end,
        "race at", "read after a write", "shared 'word'")
end

local out <close> = io.popen "gcc -dumpversion 2>/dev/null"
if (tonumber(out:read "a":match "^%d+") or 0) >= 11 then
    right("a volatile flag", flag("volatile", FENCE, "flag = 1", "flag", 32, 0), function(k)
        local y = zeros(1, "i32")
        k(1, 64, y)
        return y:item(), 42
    end)
end
-- Unchecked, in each kind of loop; the thread that waits runs first.
local SPINS <const> = { "while (*word == 0) {}", "while (!*(volatile int *)word);",
    "do v = *word; while (v == 0);", "for (;;) { v = *word; if (v) break; }",
    "for (; *word == 0;) ;", "while (v == 0) { v = *word; }",
    "do { if (*word) v = 1; } while (!v);", "while (atomicAdd((int *)word, 0) == 0) ;" }
local spins = {}
for k, loop in ipairs(SPINS) do
    spins[k] = ("{ volatile int *word = flag + %d; int v = 0; if (threadIdx.x == 0) { %s \z
        __threadfence(); y[%d] = *word; } if (threadIdx.x == 63) *word = %d; __syncthreads(); }")
        :format(k, loop, k - 1, k)
end
right("unchecked loops around a volatile word", ("__global__ void k(int *flag, int *y) { %s }")
    :format(table.concat(spins, " ")), function(k)
        local y = zeros(8, "i32")
        k(1, 64, zeros(16, "i32"), y, { check = false })
        return y, { 1, 2, 3, 4, 5, 6, 7, 8 }
    end)
planted("a volatile flag without a fence", flag("volatile", "", "flag = 1", "flag", 32, 0),
    function(k) k(1, 64, zeros(1, "i32")) end, "race at", "no barrier between")
planted("fences alone order nothing", [[
__global__ void k(int *y) {
    __shared__ volatile int s[64];
    s[threadIdx.x] = 1;
    __threadfence_block();
    y[threadIdx.x] = s[63 - threadIdx.x];
}]], function(k) k(1, 64, zeros(64, "i32")) end, "race at", "no barrier between", "shared 's'")
planted("volatile within a warp, but no __syncwarp", [[
__global__ void k(float *y) {
    __shared__ volatile float s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
    }
    y[t] = s[t];
}]], function(k) k(1, 64, zeros(64)) end, "race at", "no barrier between", "shared 's'")

local LOCK <const> = [[
__global__ void k(int *lock, int *x) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    x[0] += 1;
    %s
    atomicExch(lock, 0);
}]]
for _, check in ipairs { true, false } do
    right("a lock that all threads want" .. (check and "" or ", unchecked"),
        LOCK:format "__threadfence();", function(k)
            local x = zeros(1, "i32")
            k(3, 64, zeros(1, "i32"), x, { check = check })
            return x:item(), 192
        end)
end
planted("a lock without a fence", LOCK:format "",
    function(k) k(1, 64, zeros(1, "i32"), zeros(1, "i32")) end, "race at", "element 0 of 'x'")
right("each in its turn, the last thread first", [[
__global__ void k(int *turn, int *x) {
    int me = blockDim.x - 1 - threadIdx.x;
    while (atomicAdd(turn, 0) != me) __nanosleep(10);
    x[me] = me ? x[me - 1] + 1 : 1;
    __threadfence_block();
    atomicAdd(turn, 1);
}]], function(k)
    local x = zeros(128, "i32")
    k(1, 128, zeros(1, "i32"), x)
    return x:sum():item(), 64 * 129
end)
planted("what no thread writes", [[
__global__ void k(int *flag) {
    if (blockIdx.x == 0) while (atomicAdd(&flag[3], 0) == 0) {}
    else atomicAdd(&flag[3], 1);
}]], function(k) k(2, 2, zeros(4, "i32")) end, "waits without end at", "waits.lua:126",
    "block 0 thread", "element 3 of 'flag'")

-- ---- what a student may write, that once passed ----

planted("block 0 sets what all blocks add to", [[
__global__ void k(const float *x, float *sum) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *sum = 0;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(sum, x[blockIdx.x]);
}]], function(k) k(4, 32, own.f32(4), zeros(1)) end, "race at", "block 1 thread 0",
    "write after a write by block 0 thread 0", "one of them atomic and one not",
    "nothing orders blocks", "element 0 of 'sum'")
planted("a vote meets a shuffle", [[
__global__ void k(int *x) {
    int t = threadIdx.x;
    if (t < 16) x[t] = __ballot_sync(0xffffffff, 1);
    else x[t] = __shfl_sync(0xffffffff, t, 0);
}]], function(k) k(1, 32, zeros(32, "i32")) end, "divergent warp: block 0 thread 0 waits at ",
    "block 0 thread 16 in another function at ")
right("shuffles of both branches meet", [[
__global__ void k(int *x) {
    int t = threadIdx.x;
    if (t < 16) x[t] = __shfl_sync(0xffffffff, t, 3);
    else x[t] = __shfl_sync(0xffffffff, t, 20);
}]], function(k)
    local x = zeros(32, "i32")
    k(1, 32, x)
    return x:sum():item(), 16 * 3 + 16 * 20
end)
right("each block sets its own, and adds to it", [[
__global__ void k(int *n) {
    if (threadIdx.x == 0) n[blockIdx.x] = 0;
    __syncthreads();
    atomicAdd(&n[blockIdx.x], 1);
}]], function(k)
    local n = zeros(4, "i32")
    k(4, 64, n)
    return n, { 64, 64, 64, 64 }
end)
right("one that works, and then others add", [[
__global__ void k(int *n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *n = 7;
        __threadfence();
        atomicAdd(n, 1);
    }
    if (blockIdx.x > 0) atomicAdd(n, 1);
}]], function(k)
    local n = zeros(1, "i32")
    k(3, 1, n)
    return n:item(), 10
end)
t.done()
