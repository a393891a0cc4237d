--!plain
-- What a trace's verdict concludes: collectives wait for what they send, the rank that is late and
-- why, what came in a few steps, what kernels are by their names, and profiles with another number
-- of steps. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local folder, build = os.getenv "TMPDIR" or "/tmp", os.getenv "GPUSH_BUILD"
local function write(name, trace)
    local f <close> = assert(io.open(folder .. "/" .. name, "wb"))
    f:write(trace:text())
    return folder .. "/" .. name
end
local function load(...)
    local files = {}
    for i, trace in ipairs { ... } do files[i] = write("conclusion" .. i .. ".json", trace) end
    local p = g.profile.load(files)
    for _, file in ipairs(files) do os.remove(file) end
    return p
end
local function by_cause(verdict)
    local out = {}
    for _, row in ipairs(verdict) do out[row.cause] = row end
    return out
end
local function has(text, part) return text:find(part, 1, true) ~= nil end

local REDUCE <const> = "ncclDevKernel_AllReduce_Sum_f32"

-- ---- collectives wait for what they send ----
-- Five steps of 500 us, whose streams' orders are not named: two kernels of 100, an all_reduce of
-- 200 on another stream, one of 50 us after it, and an item. Without the items the device goes on
-- without the 40 us between two steps, and no faster: 160 us of the run.
local function sends(rank, n)
    local r = made.trace { rank = rank, device = rank, pid = 70 + rank }
    for k = 0, n - 1 do
        local at = 500 * k
        r:op("aten::mm", at, 8)
        r:kernel("gemm", at + 10, 100, r:call("cudaLaunchKernel", at + 2, 4))
        r:op("aten::mm", at + 10, 8)
        r:kernel("gemm", at + 110, 100, r:call("cudaLaunchKernel", at + 12, 4))
        r:call("cudaStreamWaitEvent", at + 20, 2)
        r:kernel(REDUCE, at + 212, 200, r:call("cudaLaunchKernelExC", at + 24, 4), 20)
        r:call("cudaStreamWaitEvent", at + 30, 2)
        r:op("aten::add_", at + 34, 8)
        r:kernel("add", at + 414, 50, r:call("cudaLaunchKernel", at + 36, 4))
        r:op("aten::item", at + 44, 436)
        r:call("cudaStreamSynchronize", at + 46, 432)
    end
    return r
end
for _, case in ipairs { { "one rank", sends(0, 5) }, { "two", sends(0, 5), sends(1, 5) } } do
    local p = load(table.unpack(case, 2))
    local waits = by_cause(p:verdict()).waits
    t.ok(waits.worth >= 130000 and waits.worth <= 190000 and waits.at_most >= 160000,
        ("%s: the waits are worth %d to %d ns"):format(case[1], waits.worth, waits.at_most))
    local all = tostring(p:savings()):match "without them all: ([%d.]+)ms"
    t.ok(math.abs(tonumber(all) - 2.32) < 0.04, "and the savings say so", all)
end

-- Two kernels of 100 us on streams whose orders are not named, 100 us apart: a host that took no
-- time would launch both at once, but whether they could run beside each other is not known.
local two = made.trace()
for i = 0, 1 do
    two:op("aten::mm", 200 * i, 8)
    two:kernel("gemm", 200 * i + 10, 100, two:call("cudaLaunchKernel", 200 * i + 2, 4), 7 + 10 * i)
    two:call("cudaStreamWaitEvent", 200 * i + 20, 2)
end
local quick = load(two):whatif { host = 0.01 }
local last = 0
for _, e in ipairs(quick:events()) do last = math.max(last, e.stop or 0) end
t.ok(quick.wall_ns >= 200000 and last < 120000, "a bound, and the events", quick.wall_ns)
t.ok(has(quick.predicted, ("; its events end %.3f ms earlier, as they would if streams worked \z
    beside each other"):format((quick.wall_ns - last) * 1e-6)), "which is said", quick.predicted)

-- ---- the late rank ----
-- Kernels are alike in both ranks; a loader makes rank 1 3 ms late, or in turn rank 0 and rank 1.
local function alike(rank, late)
    local r, at = made.trace { rank = rank, device = rank, pid = 70 + rank }, 0
    for k = 1, 8 do
        local mine, start = late(k) == rank, at
        if mine then
            r:region("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 3000)
            at = at + 3000
        end
        r:op("aten::mm", at + 5, 10)
        r:kernel("gemm", at + 20, 400, r:call("cudaLaunchKernel", at + 7, 5))
        r:op("c10d::allreduce_", at + 20, 10)
        r:kernel(REDUCE, at + 420, start + 3620 - at - 420, r:call("cudaLaunchKernel", at + 22, 5))
        at = start + 3700
    end
    return r
end
for _, case in ipairs { { "one", function() return 1 end, 8, "24.000ms" },
    { "in turn", function(k) return k % 2 end, 4, "12.000ms" } } do
    local text = load(alike(0, case[2]), alike(1, case[2])):verdict().sentence
    t.ok(text:find(("rank %%d comes last in %d of 8 collectives, by %s"):format(case[3],
        case[4])) ~= nil, case[1] .. ": how often, by how much", text)
    t.ok(has(text, "meanwhile: enumerate(DataLoader)"), "the loader, not the kernels", text)
    t.is(has(text, "in other collectives other ranks come last, by 12.000ms"), case[3] == 4,
        "whether others are late, too")
end

-- ---- in a few steps ----
-- Twelve steps of a kernel of 100 us; the script, or an op of the host, takes 8 ms more in some.
for _, case in ipairs {
    { "script", { 4 }, "[78]%.%d+ms of the %d%.%d+ms came once, in step 4 of the 12" },
    { "script", { 3, 9 }, "1[56]%.%d+ms of the 1[67]%.%d+ms came in 2 of the 12 steps" },
    { "script", { 1, 2, 3, 5, 7, 9, 11, 12 } }, { "cpu", { 5 }, "came once, in step 5 of the 12" },
    { "cpu", { 5, 6 }, "16.000ms of the 16.000ms came in 2 of the 12 steps" } } do
    local r, at, slow = made.trace(), 0, {}
    for _, k in ipairs(case[2]) do slow[k] = 8000 end
    for k = 1, 12 do
        local began = at
        if slow[k] and case[1] == "cpu" then r:op("aten::sort", at, 8000) end
        at = at + (slow[k] or 0)
        r:op("aten::mm", at, 8)
        r:kernel("gemm", at + 10, 100, r:call("cudaLaunchKernel", at + 2, 4))
        at = at + 120
        r:region("ProfilerStep#" .. k, began, at - began)
    end
    local advice = by_cause(load(r):verdict())[case[1]].advice
    t.is(advice:find(case[3] or "came ") ~= nil, case[3] ~= nil,
        ("%s in %d steps"):format(case[1], #case[2]), advice)
end

-- ---- slow calls ----
-- Six steps of three kernels of 20 us, each 2 us after its call; before the second, which begins
-- while the first runs, its call, one that makes memory in an op as long as it, or one that loads
-- code takes 5 ms. Without that a step has 70 us.
for _, case in ipairs { { "cudaLaunchKernel", "launches" }, { "cudaMalloc", "memory" },
    { "cuModuleLoadData", "setup" } } do
    local r, at, launches = made.trace(), 0, case[1] == "cudaLaunchKernel"
    for k = 1, 6 do
        local began = at
        for i = 1, 3 do
            local slow = i == 2 and 5000 or 0
            r:op("aten::mm", at, 10 + slow)
            if slow > 0 and not launches then
                r:call(case[1], at + 2, slow)
                r:op("aten::empty", at + 2, slow)
            end
            local call = launches and { at + 2, 5 + slow } or { at + 2 + slow, 5 }
            r:kernel("gemm", at + 9 + slow, 20, r:call("cudaLaunchKernel", table.unpack(call)))
            at = at + 12 + slow
        end
        at = at + 34
        r:region("ProfilerStep#" .. k, began, at - began)
    end
    local p = load(r)
    local v = p:verdict()
    local by = by_cause(v)
    local worth = by[case[2]].worth + (launches and by.setup and by.setup.worth or 0)
    t.is({ v.cause, math.abs(worth - 30e6) < 3e5 }, { case[2], true }, case[1], tostring(v))
    t.is(has(by[case[2]].advice, "it comes in 6 of the 6 steps"), case[2] == "setup",
        "what comes in each step is no first use")
end

-- Ten steps of a kernel of 100 us: in some of them code is compiled, or an item waits, for 5 ms.
for _, case in ipairs { { "setup", { 3, 6, 9 }, "comes in 3 of the 10 steps: first uses pass" },
    { "waits", { 4 }, "it once after it; [%d.]+ms of the [%d.]+ms came once, in step 4 of the 10" },
    { "waits", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, "it once after it$" } } do
    local r, at, slow = made.trace(), 0, {}
    for _, k in ipairs(case[2]) do slow[k] = 5000 end
    for k = 1, 10 do
        local began, long = at, slow[k] or 0
        if long > 0 and case[1] == "setup" then
            r:call("cuModuleLoadData", at + 2, long)
            at = at + long
        end
        r:op("aten::mm", at, 8)
        r:kernel("gemm", at + 10, 100 + (case[1] == "waits" and long or 0),
            r:call("cudaLaunchKernel", at + 2, 4))
        at = at + 120
        if long > 0 and case[1] == "waits" then
            r:op("aten::item", at, long)
            r:call("cudaStreamSynchronize", at + 2, long - 4)
            at = at + long
        end
        r:region("ProfilerStep#" .. 1000 + k, began, at - began)
    end
    local advice = by_cause(load(r):verdict())[case[1]].advice
    t.ok(advice:find(case[3]), ("%s in %d steps"):format(case[1], #case[2]), advice)
end

-- Six steps of ten launches of 10 us, but for the fourth, which has 200; or one of 1.9 ms more.
for _, many in ipairs { true, false } do
    local r, at = made.trace(), 0
    for k = 1, 6 do
        local began = at
        for i = 1, k == 4 and many and 200 or 10 do
            local slow = k == 4 and not many and i == 5 and 1900 or 0
            r:op("aten::mm", at, 10 + slow)
            r:kernel("gemm", at + 10 + slow, 2, r:call("cudaLaunchKernel", at + 2, 6 + slow))
            at = at + 12 + slow
        end
        r:region("ProfilerStep#" .. k, began, at - began)
    end
    local advice = by_cause(load(r):verdict()).launches.advice
    t.is({ has(advice, "came once, in step 4 of the 6"), has(advice, "given its processor") },
        { true, not many }, "a step with more launches, or a slow one", advice)
end

-- Six steps of three launches of 200 us, each of which returns 6 us after its kernel's end, or
-- before it begins.
for _, blocks in ipairs { true, false } do
    local r = made.trace()
    for k = 0, 17 do
        local at = 300 * k
        r:op("aten::mm", at, blocks and 220 or 10)
        r:kernel("gemm", at + 10, 200, r:call("cudaLaunchKernel", at + 2, blocks and 214 or 5))
    end
    local row = by_cause(load(r):verdict()).launches
    t.is(row and has(row.advice, "18 of 18 launches of kernels of 20 us and more return after"),
        blocks, "CUDA_LAUNCH_BLOCKING", row and row.advice)
end

-- ---- what launches ----
-- Forty of 42 launches of a step are an optimizer's, one parameter after the other, by lists, or
-- all at once.
for _, case in ipairs { { "aten::add_", "foreach=True takes lists of them, and fused=True" },
    { "aten::_foreach_add_", "which takes lists of parameters (foreach) already: fused=True" },
    { "aten::_fused_adam_", "CUDA graphs" } } do
    local r, at = made.trace(), 0
    for k = 1, 5 do
        local began = at
        for i = 1, 42 do
            r:op(i < 3 and "aten::mm" or case[1], at, 10)
            r:kernel("gemm", at + 10, 2, r:call("cudaLaunchKernel", at + 2, 6))
            at = at + 12
        end
        r:region("Optimizer.step#Adam.step", began + 24, at - began - 24)
        r:region("ProfilerStep#" .. k, began, at - began)
    end
    local advice = by_cause(load(r):verdict()).launches.advice
    t.ok(has(advice, case[2]), case[1], advice)
end
-- Eight steps whose graph takes 2 ms to launch, the first no longer than the others; or ten times.
for _, first in ipairs { 2000, 30000 } do
    local r, at = made.trace(), 0
    for k = 1, 8 do
        local began, long = at, k == 1 and first or 2000
        local id = r:call("cudaGraphLaunch", at + 20, long)
        for i = 0, 9 do r:kernel("gemm", at + 30 + long + 20 * i, 18, id) end
        at = at + long + 250
        r:region("ProfilerStep#" .. 100 + k, began, at - began)
    end
    local by = by_cause(load(r):verdict())
    t.is({ by.setup ~= nil, has(by.launches.advice, "calls of cudaGraphLaunch, 2.000ms each: the \z
        more kernels a graph has") or first > 2000 }, { first > 2000, true },
        "a graph's first launch", by.launches.advice)
end
-- Four steps that make memory in the first two, as parameters' gradients and an optimizer's, in the
-- second and the last, or in each, which is pinned; or a graph.
for _, case in ipairs { { "cudaMalloc", { 1, 2 }, "setup", "2 of the 4 steps: first uses pass" },
    { "cudaMalloc", { 2, 4 }, "memory", "no PYTORCH_NO_CUDA_MEMORY_CACHING=1" },
    { "cudaHostAlloc", { 1, 2, 3, 4 }, "memory", "it pins memory of the host in each step: pin" },
    { "cudaGraphInstantiate", { 1, 2, 3, 4 }, "setup", "a graph is made in 4 of the 4 steps" } } do
    local r, at, slow = made.trace(), 0, {}
    for _, k in ipairs(case[2]) do slow[k] = true end
    for k = 1, 4 do
        local began = at
        if slow[k] then
            r:op("aten::empty", at, 3000)
            r:call(case[1], at + 2, 2990)
            at = at + 3000
        end
        r:op("aten::mm", at, 8)
        r:kernel("gemm", at + 10, 100, r:call("cudaLaunchKernel", at + 2, 4))
        at = at + 120
        r:region("ProfilerStep#" .. k - 1, began, at - began)
    end
    local v = load(r):verdict()
    t.is({ v.cause, has(v[1].advice, case[4]) }, { case[3], true },
        ("%s in %d steps"):format(case[1], #case[2]), tostring(v))
end

-- ---- the gradient of a mask ----
-- On the CPU: x[mask] on line 9, whose backward on line 12 has no mask to write otherwise.
do
    local r = made.trace { no_device = true }
    r:python("train.py(8): step", 0, 100)
    r:op("aten::index", 10, 20, nil)
    r:op("aten::nonzero", 12, 5)
    r:op("autograd::engine::evaluate_function: IndexBackward0", 50, 30)
    r:op("IndexBackward0", 51, 28)
    r:op("aten::_index_put_impl_", 60, 15)
    r:op("aten::nonzero", 62, 5)
    local reads, by = load(r):sync().reads, {}
    for _, row in ipairs(reads) do by[row.what] = row.advice end
    t.ok(by["aten::index"] and has(by["aten::index"], "torch.where(mask, x, 0) keeps the shape"),
        "the mask's own line")
    t.ok(by.IndexBackward0 and has(by.IndexBackward0, "the forward's line"), "its gradient's")
    t.is(#reads, 2, "and nothing else")
end

-- ---- kernels by name ----
for _, case in ipairs {
    { "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3>",
        "products, convolutions and attention: torch.autocast" },
    { "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>",
        "on lists, as of an optimizer" },
    { "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float>",
        "torch.compile hardly joins these" },
    { "void at::native::vectorized_elementwise_kernel<4>", "torch.compile joins many of them" },
    { "ampere_dgemm_128x64_nn", "most of them in f64 or complex" },
    { "ampere_sgemm_128x64_nn", "most of them in f32: torch.autocast, to f16, or bf16 from the" },
    { "ampere_sgemm_128x64_nn", "torch.set_float32_matmul_precision(\"high\")" },
    { "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", "most of them of f32 in tf32" },
    { "ampere_igemm_int8_128x128", "in 8 bits already" },
    { "igemm_bwd_gtcx2_nhwc_bf16_bx0_ex1_bt128x128x32", "in 16 bits or fewer already" },
    { "ampere_fp16_s16816gemm_fp16_128x64", "in 16 bits or fewer already" },
    { "void gesvdj_batch<float>", "others, void gesvdj_batch<float> the most" },
    { "triton_poi_fused_add_0", "made by torch.compile" } } do
    local r = made.trace()
    for k = 0, 5 do
        r:op("aten::one", 1000 * k, 8)
        r:kernel(case[1], 1000 * k + 10, 990, r:call("cudaLaunchKernel", 1000 * k + 2, 4))
    end
    local advice = by_cause(load(r):verdict()).kernels.advice
    t.ok(has(advice, case[2]), case[1], advice)
end

for _, case in ipairs { { "void vllm::cross_device_reduce_1stage<c10::BFloat16, 2>", true },
    { "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>", true },
    { "void flashinfer::allreduce_fusion_kernel<8>", true }, { "ln_warpAllReduce_kernel", false },
    { "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", false } } do
    local r = made.trace()
    for k = 0, 5 do
        r:op("aten::one", 1000 * k, 8)
        r:kernel(case[1], 1000 * k + 10, 990, r:call("cudaLaunchKernel", 1000 * k + 2, 4))
    end
    local p = load(r)
    p:save(folder .. "/named.gz")
    for _, prof in ipairs { p, g.profile.load(folder .. "/named.gz") } do
        t.is(prof:verdict().cause, case[2] and "collectives" or "kernels", case[1])
    end
end
os.remove(folder .. "/named.gz")

-- A product of 4096 by 4096 in 1.762 ms on an A100 is in tf32, whose rate a V100 does not have: it
-- takes 156 / 15.7 times as long, beside the least that a kernel takes. One in f32 takes 1.24.
for _, case in ipairs { { "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", 17.5e6 },
    { "ampere_sgemm_128x64_nn", 2.19e6 } } do
    local r = made.trace()
    r.devices = '[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]'
    r:op("aten::mm", 0, 20, { ["Input Dims"] = "[[4096, 4096], [4096, 4096]]",
        ["Input type"] = '["float", "float"]' })
    r:kernel(case[1], 20, 1762, r:call("cudaLaunchKernel", 5, 5))
    local ns = 0
    for _, row in ipairs(load(r):on("v100"):rows { group = "kernel" }) do
        ns = ns + row.self_device_time_total
    end
    t.ok(math.abs(ns - case[2]) < 0.02 * case[2], case[1] .. " on a V100", ns)
end

-- ---- copies by name ----
for _, case in ipairs { { "Memcpy PtoP (Device -> Device)", "copy between devices beside kernels" },
    { "Memset (Device)", "most of it fills memory" },
    { "Memcpy DtoD (Device -> Device)", "leave out clone" } } do
    local r = made.trace()
    for k = 0, 5 do
        r:op("aten::one", 1000 * k, 8)
        r:copy(case[1], 1000 * k + 10, 980, r:call("cudaMemcpyAsync", 1000 * k + 2, 4), 1 << 20)
    end
    local advice = by_cause(load(r):verdict()).copies.advice
    t.ok(has(advice, case[2]), case[1], advice)
end

-- ---- another number of steps ----
-- A step takes 100 us in the first, 180 in the second, which has half as many of them.
local function steps(n, us)
    local r = made.trace()
    for k = 0, n - 1 do
        r:op("aten::mm", us * k, us - 2)
        r:kernel("gemm", us * k + 10, us - 20, r:call("cudaLaunchKernel", us * k + 2, 4))
        r:region("ProfilerStep#" .. k, us * k, us)
    end
    return r
end
local before, after = write("before.json", steps(12, 100)), write("after.json", steps(6, 180))
local function compare(...)
    local pipe = assert(io.popen(("'%s/gpush' compare %s 2>&1"):format(build,
        table.concat({ ... }, " "))))
    local out = pipe:read "a"
    return out, select(3, pipe:close())
end
local out, status = compare(before, after, "--fail-above 10%")
t.is({ status, has(out, "wall of a step: 0.100 ms before, 0.180 ms now (+80.0%): more than 10%") },
    { 1, true }, "a step is compared with a step", out)
t.ok(has(out, "Steps: 12 before, 6 now"), "which is said")
out, status = compare(after, after, "--fail-above 10%")
t.is({ status, has(out, "of a step"), has(out, "Steps:") }, { 0, false, false }, "the same number")
os.remove(before)
os.remove(after)

-- ---- what is captured already ----
local gpush_sim = g.sim
gpush_sim.card, gpush_sim.host = "h200", 8e-6
local x = g.randn(64, 64, { device = "gpu" })
local function twenty(y)
    for _ = 1, 20 do y = y + 1 end
    return y
end
local folder_of = folder .. "/captured.gz"
for _, case in ipairs { { "captured", g.capture(twenty) }, { "not", twenty } } do
    local p = g.profile.run(function() for _ = 1, 50 do case[2](x) end end)
    p:save(folder_of)
    for _, prof in ipairs { p, g.profile.load(folder_of) } do
        local row = by_cause(prof:verdict()).launches
        t.is({ has(row.advice, "captured functions replay 980 of 1000 already"),
            has(row.advice, "capture(step)") }, { case[1] == "captured", case[1] == "not" },
            case[1] .. ": what to do about its launches", row.advice)
    end
end
os.remove(folder_of)

-- ---- copies are no kernels ----
local w, big = g.randn(256, 256, { device = "gpu" }), g.zeros(1024, 1024, { device = "gpu" })
local kernels = by_cause(g.profile.run(function()
    for _ = 1, 20 do w:matmul(w) end
    for _ = 1, 4 do big:cpu() end
end):verdict()).kernels
t.is({ has(kernels.advice, "copy"), has(kernels.advice, "matmul") or has(kernels.advice,
    "products, convolutions") }, { false, true }, "advice for kernels", kernels.advice)

t.done()
