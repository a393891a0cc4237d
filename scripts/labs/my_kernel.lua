-- Lab: a kernel of your own. A transpose in CUDA C, from the first idea to one
-- that a card likes, checked and counted on the processor: no card is needed, a C
-- compiler is (package gcc).
--
-- What to look at
--   1. the naive kernel is right, and its counts say what it costs: a warp writes
--      32 elements into 32 sectors of 32 bytes, where 4 would hold them; the line
--      below the table says why;
--   2. a tile in shared memory turns these writes round, and two bugs come with
--      it: a barrier that is not there, and a row that is one too far. Each
--      message names line, block, thread, element, and of a race the other access.
--      Neither has written anything. Lines of the tile count from its __global__;
--   3. mended, the tile's columns meet in one bank of shared memory; one more
--      column spreads them;
--   4. the profile's column "Roofline": the share of what the card's memory could
--      do, with only the bytes that have to move. Times are by the counts, as if
--      no cache helped.
-- Then change a kernel below: threads of 16 x 16, say, or a tile of 34 columns.
--
-- The counts are the same on every machine. Times are modelled, of a card that sim
-- stands in for; with --card none, or --device cpu, there are counts alone.
--
--   gpush lab my_kernel [--device sim|cpu] [--card h200] [--host 8e-6]
--     [--size 512]

local here = arg[0]:match ".*/" or ""
local options, card = dofile(here .. "options.lua"), dofile(here .. "card.lua")
local opt = options { device = "sim", card = "h200", host = 8e-6, size = 512 }
local device = opt.device:find "^cpu" and "cpu" or "sim" -- a card itself counts nothing
local label, modelled = card(opt.card, device, opt.host)

local naive = cuda.kernel [[
__global__ void naive(const float *x, float *y, int n) {
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < n && c < n) y[c * n + r] = x[r * n + c];
}]]

-- A tile of 32 x 32 elements for 32 x 8 threads: its name, columns, first row, and barrier.
local TILED <const> = [[
__global__ void %s(const float *x, float *y, int n) {
    __shared__ float tile[32][%d];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (r + k < n && c < n) tile[threadIdx.y + k + %d][threadIdx.x] = x[(r + k) * n + c];
    %s
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (r + k < n && c < n) y[(r + k) * n + c] = tile[threadIdx.x][threadIdx.y + k];
}]]
local function tiled(name, columns, row, barrier)
    return cuda.kernel(TILED:format(name, columns, row, barrier))
end

local BARRIER <const> = "__syncthreads();"

local n = opt.size
manual_seed(1)
local x = randn(n, n, { device = device })
local blocks = (n + 31) // 32

local function run(kernel, high, y)
    kernel({ blocks, (n + high - 1) // high }, { 32, 8 }, x, y, n)
end

-- ---- bugs ----

local function bug(what, name, ...)
    local kernel = tiled(name, 32, ...)
    local ok, message = pcall(function()
        run(kernel, 32, zeros(n, n, { device = device }))
        synchronize()
    end)
    print(("\n-- %s:\n%s"):format(what, ok and "nothing was found"
        or tostring(message):match(name .. ": .*"):gsub(" %(queued.*", "")))
    return not ok
end

-- ---- kernels that are right ----

local ways = {}

local function study(name, kernel, high)
    local y = zeros(n, n, { device = device })
    run(kernel, high, y)
    local way = { name = name, kernel = kernel, high = high, y = y,
        right = (y == x:t()):all():item() }
    way.counts = kernel:counts({ blocks, (n + high - 1) // high }, { 32, 8 }, x, y, n)
    print(("\n%s"):format(way.counts))
    print("right: " .. tostring(way.right))
    ways[#ways + 1] = way
    return way
end

print(("transpose of %d x %d floats on %s%s"):format(n, n, device, label))
print "\n== 1. naive =="
local first = study("naive", naive, 8)
print "\n== 2. a tile, with bugs =="
local found = bug("without the barrier", "hasty", 0, "")
found = bug("from row 1 on", "greedy", 1, BARRIER) and found
print "\n== 3. a tile, mended =="
local tile = study("tile", tiled("tile", 32, 0, BARRIER), 32)
local padded = study("padded", tiled("padded", 33, 0, BARRIER), 32)

if modelled then
    print "\n== 4. the roofline =="
    local prof = profile.run({ flops = true }, function()
        for _, way in ipairs(ways) do run(way.kernel, way.high, way.y) end
        synchronize()
    end)
    local list = prof:rows()
    for _, way in ipairs(ways) do
        for _, row in ipairs(list) do if row.name == way.name then way.row = row end end
    end
    print(prof:table { limit = 6 })
end

-- ---- what the numbers say ----

print "\n== result =="
print(("bugs found: %s"):format(found and "both" or "not both"))
for _, way in ipairs(ways) do
    local c = way.counts
    print(("%-7s %5.2f MB moved, of %.2f at least; %d conflicts; right: %s"):format(way.name,
        c.moved / 1e6, c.least / 1e6, c.conflicts, tostring(way.right)))
end
local less = first.counts.moved / tile.counts.moved
print(("the tile moves %s"):format(less > 1.01 and ("%.1f times less"):format(less)
    or "no less"))
local more = tile.counts.conflicts - padded.counts.conflicts
print("the column that pads it " .. (more > 0
    and ("saves %d of %d passes over shared memory"):format(more, tile.counts.passes)
    or "saves no pass"))
