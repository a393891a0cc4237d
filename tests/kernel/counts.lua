--!plain
-- kernel:counts(): sectors, passes over shared memory, parted branches, barriers and bytes of known
-- kernels, worked out by hand; and of random indices against a count in Lua.
local t = require "tap"
local g = require "gpush"
require "own_kernels".need_compiler()

local function f32(n) return g.zeros(n) end

local function row_of(counts, line, what)
    for _, row in ipairs(counts) do
        if row.line == line and what == (row.name == "" and row.kind or row.kind .. " " .. row.name)
        then return row end
    end
end

-- counted(name, text, run, wants...): run(kernel) returns the counts. Each of wants has a line of
-- the text and "read x", or "barrier", and what that row has; or it is of the sums. A row that is
-- false is not there.
local function counted(name, text, run, ...)
    local ok, counts = pcall(function()
        return run(g.cuda.kernel(text .. "\n// of no script", text:match "template" and "k<float>"))
    end)
    if not ok then return t.is(counts, "counts", name) end
    for _, want in ipairs { ... } do
        local found, got, expected = want[1] and row_of(counts, want[1], want[2]) or counts, {}, {}
        for field, value in pairs(want) do
            if type(field) == "string" then
                expected[#expected + 1] = field .. " " .. value
                got[#got + 1] = field .. " " .. tostring(found[field])
            end
        end
        table.sort(expected)
        table.sort(got)
        t.is(table.concat(got, ", "), table.concat(expected, ", "),
            name .. (want[1] and (": line %d, %s"):format(want[1], want[2]) or ": sums"))
    end
end

-- A kernel of one block of 32 threads, whose text is line 3; it has t, x of 256 floats, y of 32.
local function warp(name, body, ...)
    counted(name, ("__global__ void k(const float *x, float *y) {\nint t = threadIdx.x;\n%s\n}")
        :format(body), function(k) return k:counts(1, 32, f32(256), f32(32)) end, ...)
end

-- ---- global memory ----

warp("neighbours", "y[t] = x[t];", { 3, "read x", requests = 1, lanes = 32, sectors = 4, least = 4,
    stride = 4, size = 4 }, { 3, "write y", requests = 1, sectors = 4 },
    { moved = 256, least = 256, accesses = 64, blocks = 1, threads = 32 })
warp("every second element", "y[t] = x[2 * t];",
    { 3, "read x", sectors = 8, least = 4, stride = 8 })
warp("every eighth", "y[t] = x[8 * t];", { 3, "read x", sectors = 32, least = 4, stride = 32 })
warp("off by one", "y[t] = x[t + 1];", { 3, "read x", sectors = 5, least = 4 })
warp("backwards", "y[t] = x[31 - t];", { 3, "read x", sectors = 4, least = 4, stride = -4 })
warp("one element for all", "y[t] = x[7];", { 3, "read x", sectors = 1, least = 1, stride = 0 })
warp("seven apart, modulo 32", "y[t] = x[7 * t % 32];", { 3, "read x", sectors = 4, least = 4 })
warp("bytes", "y[t] = ((const char *)x)[t];", { 3, "read x", sectors = 1, least = 1, size = 1 })
warp("doubles", "y[t] = ((const double *)x)[t];", { 3, "read x", sectors = 8, least = 8, size = 8 })
warp("four at once", "float4 v = ((const float4 *)x)[t];\ny[t] = v.x + v.y + v.z + v.w;",
    { 3, "read x", requests = 1, sectors = 16, least = 16, size = 16 })
warp("three at once are three requests",
    "float3 v = ((const float3 *)x)[t];\ny[t] = v.x + v.y + v.z;",
    { 3, "read x", requests = 3, sectors = 36, least = 12, size = 4, stride = 12 })
warp("a stencil reads bytes once at least",
    "y[t] = x[t] + x[t + 1] + x[t + 2];",
    { 3, "read x", requests = 3, sectors = 14 }, { least = 34 * 4 + 32 * 4, moved = 18 * 32 })
warp("a global atomic", "atomicAdd(y, 1.0f);",
    { 3, "atomic y", requests = 1, lanes = 32, sectors = 1, least = 1 }, { least = 8, moved = 32 })

-- ---- shared memory ----

local function shared(name, type, n, index, ...)
    warp(name, ("__shared__ %s s[%d];\nfor (int i = t; i < %d; i += 32) s[i] = i;\n" ..
        "__syncthreads();\ny[t] = s[%s];"):format(type, n, n, index), ...)
end
shared("neighbours in shared memory", "float", 64, "t",
    { 6, "read s", requests = 1, conflicts = 0 },
    { 4, "write s", requests = 2, conflicts = 0 }, { passes = 3, barriers = 1, moved = 128 })
shared("two ways", "float", 64, "2 * t", { 6, "read s", conflicts = 1 }, { passes = 4 })
shared("four ways", "float", 128, "4 * t", { 6, "read s", conflicts = 3 })
shared("32 ways", "float", 1024, "32 * t", { 6, "read s", conflicts = 31 })
shared("33 apart is in other banks", "float", 1056, "33 * t", { 6, "read s", conflicts = 0 })
shared("three apart, too", "float", 96, "3 * t", { 6, "read s", conflicts = 0 })
shared("one word for all", "float", 32, "5", { 6, "read s", conflicts = 0 })
shared("two words of a bank", "float", 64, "t % 2 * 32", { 6, "read s", conflicts = 1 })
shared("bytes of a word", "char", 32, "t", { 6, "read s", conflicts = 0 })
shared("doubles go by half warps", "double", 32, "t", { 6, "read s", conflicts = 0 },
    { passes = 2 + 2 })
shared("every second double: two ways in each half", "double", 64, "2 * t",
    { 6, "read s", conflicts = 2 }, { passes = 4 + 4 })
warp("four at once go by quarters", "__shared__ float4 s[32];\ns[t] = ((const float4 *)x)[t];\n" ..
    "__syncthreads();\ny[t] = s[t].x;", { 4, "write s", conflicts = 0 },
    { 6, "read s", conflicts = 3 }, { passes = 4 + 4 })
warp("atomics of one word take turns", "__shared__ int n;\nif (!t) n = 0;\n__syncthreads();\n" ..
    "atomicAdd(&n, 1);", { 6, "atomic n", requests = 1, conflicts = 31 }, { passes = 1 + 32 })

-- ---- transposes ----

local function transpose(tile, body)
    return ([[
__global__ void k(const float *x, float *y, int n) {
    __shared__ float s[32][%d];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    s[threadIdx.y][threadIdx.x] = x[r * n + c];
    __syncthreads();
    %s
}]]):format(tile, body)
end
local function run(k) return k:counts({ 2, 2 }, { 32, 32 }, g.ones(64, 64), g.zeros(64, 64), 64) end
local TILED <const> = "y[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = " ..
    "s[threadIdx.x][threadIdx.y];"
counted("naive transpose", transpose(32, "y[c * n + r] = s[threadIdx.y][threadIdx.x];"), run,
    { 6, "write y", requests = 128, sectors = 4096, least = 512, stride = 256 },
    { 4, "read x", requests = 128, sectors = 512 },
    { moved = (4096 + 512) * 32, least = 2 * 64 * 64 * 4, conflicts = 0 })
counted("transpose by a tile", transpose(32, TILED), run, { 6, "write y", sectors = 512 },
    { 6, "read s", requests = 128, conflicts = 128 * 31 }, { 4, "write s", conflicts = 0 },
    { moved = 1024 * 32, barriers = 4, passes = 128 + 128 * 32 })
counted("transpose by a padded tile", transpose(33, TILED), run,
    { 6, "read s", requests = 128, conflicts = 0 }, { conflicts = 0, passes = 256 })

-- ---- branches ----

warp("no branch", "y[t] = x[t];", { branches = 0 })
warp("two halves", "if (t < 16) y[t] = x[t];\nelse y[t] = 0;", { 3, "branch", requests = 1 },
    { 3, "read x", requests = 1, lanes = 16, sectors = 2 }, { 4, "write y", lanes = 16 })
warp("they meet again", "float v = 1;\nif (t % 2) v = x[t];\ny[t] = v;",
    { 4, "read x", requests = 1, lanes = 16, sectors = 4, least = 2 },
    { 5, "write y", requests = 1, lanes = 32 }, { branches = 1 })
warp("all go one way", "if (x[0] == 0) y[t] = 1;\nelse y[t] = x[t];", { branches = 0 },
    { 3, "write y", lanes = 32 })
warp("loops of 0 to 3 turns", "float v = 0;\nfor (int i = 0; i < t % 4; i++) v += x[i];\ny[t] = v;",
    { 4, "read x", requests = 3, lanes = 24 + 16 + 8, sectors = 3 }, { branches = 3 },
    { 5, "write y", requests = 1, lanes = 32 })
warp("each turn pairs its own lanes",
    "float v = 0;\nfor (int i = 0; i < 4; i++)\nif ((t + i) % 4 == 0) v += x[t];\ny[t] = v;",
    { 5, "read x", requests = 4, lanes = 32, sectors = 16 }, { 6, "write y", requests = 1 },
    { branches = 4 })
warp("a loop that lanes leave",
    "float v = 0;\nfor (int i = 0; i < 8; i++) {\nif (i == t) break;\n" ..
    "v += x[i];\n}\ny[t] = v;", { 6, "read x", requests = 8, lanes = 24 * 8 + 28 },
    { 8, "write y", requests = 1, lanes = 32 }, { branches = 8 })
warp("three ways of a switch", "switch (t % 3) {\ncase 0: y[t] = x[0]; break;\n" ..
    "case 1: y[t] = x[8]; break;\ndefault: y[t] = x[16];\n}", { 4, "read x", lanes = 11 },
    { 5, "read x", lanes = 11 }, { 6, "read x", lanes = 10 })
warp("a return", "if (t >= 20) return;\ny[t] = x[t];", { 4, "write y", lanes = 20, sectors = 3 },
    { branches = 1 })
warp("shuffles ask for no memory",
    "float v = x[t];\nfor (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);\n" ..
    "if (!t) y[0] = v;", { accesses = 33, branches = 1 }, { 5, "write y", lanes = 1, sectors = 1 })
counted("lanes meet again after a function with two returns", [[
__noinline__ __device__ float f(const float *x, int t) {
    if (t % 2) return x[t];
    return x[t + 32];
}
__global__ void k(const float *x, float *y) {
    float v = f(x, threadIdx.x);
    y[threadIdx.x] = v + x[0];
}]], function(k) return k:counts(1, 32, f32(64), f32(32)) end, { 2, "read x", lanes = 16 },
    { 7, "write y", requests = 1, lanes = 32 }, { 7, "read x", requests = 1, lanes = 32 })

counted("a thread that is ahead before a barrier meets the others after it", [[
__global__ void k(int *y) {
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    atomicAdd(&s, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(y, s);
}]], function(k) return k:counts(2, 64, g.zeros(1, { dtype = "i32" })) end,
    { 3, "branch", requests = 2 }, { 4, "write s", requests = 2, lanes = 2 },
    { 6, "atomic s", requests = 4, lanes = 128, conflicts = 124 }, { 8, "branch", requests = 2 },
    { 9, "read s", requests = 2, lanes = 2 })

-- ---- warps and blocks ----

local GUARDED <const> = [[
__global__ void k(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
    for (int j = 0; j < 5; j++)
        __syncthreads();
}]]
local function guarded(device)
    return function(k)
        local x, y = f32(130):to(device), f32(130):to(device)
        return k:counts(3, 48, x, y, 130)
    end
end
for _, device in ipairs { "cpu", "sim" } do
    -- 48 + 48 + 34 elements in warps of 32 and 16; the last one has two.
    counted("short warps on " .. device, GUARDED, guarded(device),
        { 3, "read x", requests = 6, lanes = 130, sectors = 4 + 2 + 4 + 2 + 4 + 1 },
        { 3, "branch", requests = 1 }, { 5, "barrier", requests = 15 },
        { blocks = 3, threads = 144, least = 1040 })
end
counted("as many with one thread", GUARDED, function(k)
    local before = g.threads()
    g.threads(1)
    local made = guarded "cpu"(k)
    g.threads(before)
    return made
end, { 3, "read x", requests = 6, lanes = 130, sectors = 17 })

local has_cxx <close> = io.popen "command -v g++"
if has_cxx:read "a":find "/" then
    counted("a template", [[
template <class T> __device__ T twice(const T &x) { return x + x; }
template <class T> __global__ void k(const T *x, T *y) {
    y[threadIdx.x] = twice(x[threadIdx.x]);
}]],
        function(k) return k:counts(1, 32, f32(32), f32(32)) end,
        { 1, "read x", requests = 1, sectors = 4 }, { 3, "write y", requests = 1, sectors = 4 })
end

-- ---- random indices ----

local any = g.cuda.kernel [=[
__global__ void any(const int *at, const float *x, float *y) {
    __shared__ float s[512];
    int t = threadIdx.x;
    for (int i = t; i < 512; i += 32) s[i] = x[i];
    __syncthreads();
    y[at[t]] = s[at[t]];
}]=]
local LINE <const> = debug.getinfo(1, "l").currentline - 2

-- The most of the counts that a table has.
local function most_of(counts)
    local most = 0
    for _, n in pairs(counts) do most = math.max(most, n) end
    return most
end

g.manual_seed(7)
local wrong = {}
for turn = 1, 16 do
    local at = g.randperm(32 * turn):narrow(1, 1, 32):to "i32":contiguous()
    local sectors, n, banks = {}, 0, {}
    for _, v in ipairs(at:tolist()) do
        if not sectors[v // 8] then sectors[v // 8], n = true, n + 1 end
        banks[v % 32] = (banks[v % 32] or 0) + 1
    end
    local c = any:counts(1, 32, at, f32(512), f32(512))
    local want = ("%d sectors, %d conflicts"):format(n, most_of(banks) - 1)
    local got = ("%d sectors, %d conflicts"):format(row_of(c, LINE, "write y").sectors,
        row_of(c, LINE, "read s").conflicts)
    if got ~= want then wrong[#wrong + 1] = got .. " for " .. want end
end
t.is(wrong, {}, "random indices, and lines as typed")

-- ---- what is said ----

local naive = g.cuda.kernel [=[
__global__ void naive(const float *x, float *y, int n) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    y[c * n + r] = x[r * n + c];
}]=]
local at = debug.getinfo(1, "l").currentline - 2
local ok, message = pcall(naive.counts, naive)
t.ok(not ok and message:find("naive: no launch of it was counted", 1, true), "none is counted")
local x, y = g.arange(1, 32 * 32, { dtype = "f32" }):view(32, 32), f32(1024):view(32, 32)
local c = naive:counts({ 1, 4 }, { 32, 8 }, x, y, 32)
t.is(tostring(c), ([[
kernel naive: 4 blocks of 256 threads
line  what     requests  threads  sectors  packed  conflicts
 %d  read x         32       32        4       4
 %d  write y        32       32       32       4
36.9 kB moved, 8,192 B at least
line %d: 32 sectors for 32 threads: neighbours write 128 bytes apart]]):format(at, at, at),
    "the table")
t.is(y, x:t():tolist(), "a counted launch writes")
t.is(tostring(naive:counts()), tostring(c), "the last one's are kept")
ok, message = pcall(function() return naive:counts({ 1, 4 }, { 32, 8 }, x, f32(1023), 32) end)
t.ok(not ok and message:find "naive: out of bounds write", "a counted launch is checked")
t.done()
