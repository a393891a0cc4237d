-- Runs both sides of the benchmark in turn and prints the table; started by scripts/bench/run.
local root = arg[1]
local rounds, only = 3, nil
do
    local i = 2
    while arg[i] do
        if arg[i] == "--rounds" then
            rounds, i = math.max(1, math.tointeger(tonumber(arg[i + 1])) or 3), i + 2
        elseif arg[i] == "--only" then only, i = arg[i + 1], i + 2
        else io.stderr:write("scripts/bench/run: unknown option ", arg[i], "\n") os.exit(1) end
    end
end
local bench = root .. "/scripts/bench/"
local gpush, nohooks = root .. "/build/default/gpush", root .. "/build/nohooks/gpush"

-- name, threads, peer, target (gpush's time over the peer's, at most; false: none set). Ops and
-- layers have the lower of the requirement and of the aim from measurements of the peers and the
-- limits of a core; with two threads the aim.
local items = {
    { "gpush -e ''", 1, "lua5.4", 10 },
    { "x + y, 16", 1, "torch", 0.2 },
    { "chain of ten, 16", 1, "torch", 0.15 },
    { "t[3]", 1, "torch", 0.2 },
    { "nn.Linear(16, 16)(x)", 1, "torch", 0.2 },
    { "(x*y):sum():backward(), 16", 1, "torch", 0.15 },
    { "chain of ten and backward, 16", 1, "torch", 0.15 },
    { "x + y, 1e7", 1, "torch", 0.2 },
    { "svd 8x128x128", 1, "numpy", 0.6 },
    { "svd 8x128x128", 2, "numpy", 0.3 },
    { "x + y, 16, hooks", 1, "no hooks", 1.03 },
    { "profiling an op", 1, "torch", 0.1 },
    { "svdvals 8x128x128", 1, "numpy", false },
    { "svdvals 8x128x128", 2, "numpy", false },
    { "lstm 50x50x256", 1, "torch", 0.68 },
    { "lstm 50x50x256", 2, "torch", 0.68 },
    { "lstm 50x50x1024", 1, "torch", 0.82 },
    { "lstm 50x50x1024", 2, "torch", 0.82 },
    { "fft 1x65536", 1, "torch", 1.0 },
    { "fft 1x1048576", 1, "torch", 1.0 },
    { "fft 1000x1000", 1, "torch", 1.0 },
    { "fft 1000x1000", 2, "torch", 1.0 },
    { "fft 100x997", 1, "torch", 0.9 },
    { "rfft 1000x1024", 1, "torch", 0.9 },
    { "rfft 1000x1024", 2, "torch", 0.9 },
}
-- With one thread, and with two.
for _, row in ipairs {
    { "conv2d 3 to 8, 1x128x128", 0.35, 0.3 }, { "conv2d 10 to 10, 8x256x256", 0.25, 0.2 },
    { "conv2d 10 to 10 backward", 0.2, 0.15 }, { "conv2d 64 to 64, 8x56x56", 0.98, 0.98 },
    { "max_pool2d 8x10x256x256", 0.08, 0.08 }, { "softmax 1e4x1e3", 0.2, 0.16 },
    { "batch_norm 8x10x256x256", 0.2, 0.2 }, { "cross_entropy 8x10x256x256", 0.5, 0.45 },
    { "cross_entropy and gradient", 0.38, 0.33 }, { "layer_norm 1e4x1e3", false, false },
} do
    for threads = 1, 2 do items[#items + 1] = { row[1], threads, "torch", row[1 + threads] } end
end
for threads = 1, 2 do items[#items + 1] = { "Adam, 1e6 in 100", threads, "torch", 0.5 } end
for threads = 1, 2 do
    items[#items + 1] = { "matmul f32 512", threads, "torch", threads == 1 and 1.02 or 1.0 }
end
for threads = 1, 2 do items[#items + 1] = { "matmul f64 512", threads, "torch", false } end

-- Fused functions; the peer is torch.compile. The first call in seconds.
items[#items + 1] = { "fused relu(x*y+x), 1e7", 1, "torch", 0.25 }
items[#items + 1] = { "fused gelu(x*2+1):sum(), 1e7", 1, "torch", 0.6 }
items[#items + 1] = { "fused ten ops, 16", 1, "torch", 0.1 }
items[#items + 1] = { "fused layer_norm, gelu, dropout and gradients", 1, "torch", 0.5 }
items[#items + 1] = { "fused, first call", 1, "torch", 0.1 }

-- Captured functions; the peer is the function itself.
items[#items + 1] = { "captured ten ops, 16", 1, "eager", 0.5 }
items[#items + 1] = { "captured ten ops, 16, sim", 1, "eager", 0.25 }

items[#items + 1] = { "loader, an image", 2, "torch", 0.25 }
items[#items + 1] = { "loader, first batch", 2, "torch", 0.05 }

-- A copy moves as many bytes: 80 % of its bandwidth is 1.25 times its time.
for _, it in ipairs { { "exp 1e7", 0.13, 0.11 }, { "x * 2, 1e7", 0.2 },
    { "x * 2 beside a copy", 1.25 }, { "tanh 1e7", 0.3 },
    { "x > 0.5, 1e7", 0.5 }, { "rand 1e7", 0.3 }, { "randn 1e7", 0.2, 0.1 },
    { "f64 to bf16, 1e7", 1 }, { "f64 to f16, 1e7", 1 },
    -- Reductions, scans and copies; none may be slower than the peer.
    { "sum 1e7", 0.9 }, { "var 1e7", 1 }, { "norm 1e7", 1 },
    { "sum 1e4x1e3 over dim 1", 1 }, { "amax 1e4x1e3 over dim 2", 0.9 },
    { "logsumexp 1e4x1e3 over dim 2", 1 }, { "argmax 8x10x256x256, dim 2", 0.03 },
    { "cumsum 1e7", 0.4 }, { "cummax 1e4x1e3 along dim 2", 1 },
    { "median 1e4x1e3 over dim 2", 1 }, { "transposed copy 1e4x1e3", 0.4 },
    { "roll 1e4x1e3", 0.9 }, { "pad 8x10x256x256, reflect", 0.9 },
    -- 524288 labels of 11 values, random i64 and f32, and scores 8x10x256x256.
    { "sort labels", 0.1 }, { "sort random i64", 0.3 }, { "sort f32", 0.15 },
    { "unique labels", 0.17 },
    { "unique random i64", 0.3 }, { "nonzero(labels == 9)", 0.15 },
    { "where(labels == 9, -1, labels)", 0.15 },
    { "count_nonzero labels", 0.15 }, { "labels[mask]", 0.06 }, { "scores[mask]", 1 },
    { "scores[mask] as in MaskedLoss", 0.05 },
    { "index_put labels", 0.9 }, { "masked fill labels", 1 }, { "bincount labels", 1 },
    { "topk(10) f32", 1 },
    { "scatter_add 1e6 into 1e3", 1 } } do
    for threads = 1, 2 do
        items[#items + 1] = { it[1], threads, "torch", threads == 2 and it[3] or it[2] }
    end
end

-- A training step, and the peak memory of two, at most half the peer's.
for _, stage in ipairs { "baseline", "ignore_index" } do
    for threads = 1, 2 do
        items[#items + 1] = { "masked loss, " .. stage, threads, "torch",
            threads == 1 and 0.3 or 0.25 }
    end
    items[#items + 1] = { "masked loss, " .. stage .. ", peak", 1, "torch", 0.5 }
end

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function output(command)
    local p = io.popen(command)
    local text = p:read "a"
    return p:close() and text or nil, text
end

local function median(v)
    if not v or #v == 0 then return nil end
    table.sort(v)
    return #v % 2 == 1 and v[#v // 2 + 1] or (v[#v // 2] + v[#v // 2 + 1]) / 2
end

-- Linear algebra: its own items, and targets for those above.
local linear = { { "matmul f32 1024", 1.02, 1.03 }, { "bmm 64x64x64", 0.9 }, { "eigh 512", 1.0 },
    { "qr 512", 1.0 },
    { "inv 512", 1.0 }, { "solve 512, 16 sides", 1.0 }, { "cholesky 512", 1.0 },
    { "inv 1000x8x8", false } }
for _, it in ipairs(linear) do
    local found
    for _, have in ipairs(items) do
        if have[1] == it[1] then have[4], found = it[2], true end
    end
    for threads = 1, found and 0 or 2 do
        items[#items + 1] = { it[1], threads, "torch", threads == 2 and it[3] or it[2] }
    end
end

-- ---- environment ----

-- The OpenBLAS kernels that a Python uses: an OpenBLAS older than the processor falls back to slow
-- ones, which would flatter gpush.
local core_of = [[
import numpy, ctypes, re
numpy.ones((2, 2)) @ numpy.ones((2, 2))
for path in sorted(set(re.findall(r'/\S*blas\S*', open('/proc/self/maps').read()))):
    try:
        f = ctypes.CDLL(path).gotoblas_corename
    except (AttributeError, OSError):
        continue
    f.restype = ctypes.c_char_p
    print(f().decode())
    break
]]

local function find_python()
    for _, python in ipairs { os.getenv "GPUSH_BENCH_PYTHON" or "python3", "/usr/bin/python3" } do
        local versions = output(quote(python) ..
            " -c 'import torch, numpy; print(torch.__version__, numpy.__version__)' 2>/dev/null")
        if versions then return python, versions:gsub("\n", "") end
    end
end

local python, versions = find_python()
local missing = { ["lua5.4"] = not output "lua5.4 -v" and "lua5.4 is not installed",
    ["no hooks"] = not io.open(nohooks) and "build/nohooks is not built" }
if not python then
    missing.torch = "no python3 with torch and numpy here (package python3-torch)"
end
missing.numpy = missing.torch

local blas = ""
if python then
    local core = (output(quote(python) .. " -c " .. quote(core_of)) or ""):gsub("\n", "")
    local flags = (io.open "/proc/cpuinfo" and io.open("/proc/cpuinfo"):read "a") or ""
    local old = { Prescott = true, Core2 = true, Penryn = true, Nehalem = true }
    local better = flags:find " avx512f" and "SkylakeX" or flags:find " avx2" and "Haswell"
    if old[core] and better then blas = "OPENBLAS_CORETYPE=" .. better .. " " end
    print("peers: PyTorch and NumPy " .. versions .. ", OpenBLAS kernels " .. core ..
        (blas ~= "" and " (they would be slow: " .. better .. " instead)" or ""))
end

-- ---- the rounds ----

local seen = { gpush = {}, peer = {} } -- side -> "threads item" -> seconds of each round

local function add(side, threads, name, seconds)
    local key = threads .. " " .. name
    seen[side][key] = seen[side][key] or {}
    table.insert(seen[side][key], seconds)
end

local function run(side, threads, command)
    local text = select(2, output("OMP_NUM_THREADS=" .. threads .. " " .. command)) or ""
    for name, seconds in text:gmatch "([^\n\t]+)\t([^\n]+)\n" do
        add(side, threads, name, tonumber(seconds))
    end
end

local function wanted(name) return not only or name:find(only, 1, true) end
local text = only and " " .. quote(only) or ""

local function starts()
    if not wanted "gpush -e ''" then return end
    local count = 20
    add("gpush", 1, "gpush -e ''",
        tonumber(output(bench .. "starts " .. count .. " " .. quote(gpush) .. " -e ''") or nil))
    if not missing["lua5.4"] then
        add("peer", 1, "gpush -e ''",
            tonumber(output(bench .. "starts " .. count .. " lua5.4 -e ''") or nil))
    end
end

-- Small differences need many short turns: the ratio of each pair, not of the medians.
local function hooks()
    if missing["no hooks"] or not wanted "x + y, 16, hooks" then return end
    for _ = 1, 5 do
        for side, program in pairs { gpush = gpush, peer = nohooks } do
            local text = output("OMP_NUM_THREADS=1 " .. quote(program) .. " " ..
                quote(bench .. "ops.lua") .. " 1 'x + y, 16'") or ""
            add(side, 1, "x + y, 16, hooks", tonumber(text:match "\t(%S+)"))
        end
    end
end

-- In separate processes, whose peak is the step's.
local function peaks()
    for _, stage in ipairs { "baseline", "ignore_index" } do
        if wanted("masked loss, " .. stage .. ", peak") then
            run("gpush", 1, quote(gpush) .. " " .. quote(bench .. "masked.lua") .. " " .. stage)
            if python then
                run("peer", 1, quote(python) .. " " .. quote(bench .. "masked.py") .. " " .. stage)
            end
        end
    end
end

for round = 1, rounds do
    io.stderr:write("round ", round, " of ", rounds, "\n")
    starts()
    for threads = 1, 2 do
        run("gpush", threads, quote(gpush) .. " " .. quote(bench .. "ops.lua") .. " " .. threads ..
            text)
        if python then
            local program = blas .. quote(python) .. " " .. quote(bench .. "peers.py")
            run("peer", threads, program .. " " .. threads .. text .. " 2>/dev/null")
        end
    end
    hooks()
    if round == 1 then peaks() end
end

-- ---- the table ----

local function time(s, name)
    if not s then return "-" end
    if name:find ", peak$" then return string.format("%.0f MiB", s / 2^20) end
    if s < 1e-6 then return string.format("%.0f ns", s * 1e9) end
    if s < 1e-3 then return string.format("%.2f us", s * 1e6) end
    return string.format("%.2f ms", s * 1e3)
end

local function least(v) return v and math.min(table.unpack(v)) end

local format = "%-31s %7s  %10s  %10s %-9s  %7s  %7s  %s"
print(string.format(format, "", "threads", "gpush", "peer", "", "ratio", "target", "met"))
local met, known = 0, 0
for _, it in ipairs(items) do
    local name, threads, peer, target = table.unpack(it)
    local key = threads .. " " .. name
    local pick = peer == "no hooks" and least or median
    local ours = pick(seen.gpush[key])
    local theirs = pick(peer == "eager" and seen.gpush[key .. " (eager)"] or seen.peer[key])
    local ratio = ours and theirs and ours / theirs
    local verdict = not target and "" or missing[peer] or (not ratio and "not measured")
        or (ratio <= target and "yes" or "no")
    if target and ratio then known, met = known + 1, met + (ratio <= target and 1 or 0) end
    if wanted(name) then
        print(string.format(format, name, threads, time(ours, name), time(theirs, name), peer,
            ratio and string.format("%.3f", ratio) or "-", target or "", verdict))
    end
end
print(string.format("%d of %d measured targets met; medians of %d rounds", met, known, rounds))
print "one thread is measured in processor time, two threads and starts in wall time"
