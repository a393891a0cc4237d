--!plain
-- Kernels by name: their runs, how the longest was launched, and which are named after tensor
-- cores. The names are those of real traces and of NVIDIA's and AMD's libraries.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/kernels.json"
local function load(trace)
    local file <close> = assert(io.open(path, "w"))
    file:write(trace:text())
    file:close()
    return g.profile.load(path)
end
local function row_of(p, name)
    for _, row in ipairs(p:rows { group = "kernel" }) do if row.name == name then return row end end
end

-- ---- runs, and the geometry of the longest ----

local r = made.trace()
local function run(name, ts, dur, grid, block, registers, shared)
    r:kernel(name, ts, dur, r:call("cudaLaunchKernel", ts - 10, 5), 7, { grid = grid,
        block = block, ["registers per thread"] = registers, ["shared memory"] = shared })
end
local GEMM <const> = "ampere_bf16_s16816gemm_bf16_128x64_tn"
run(GEMM, 100, 40, "[1, 1, 1]", "[32, 1, 1]", 16, 0)
run(GEMM, 200, 70, "[136, 2, 1]", "[8, 8, 4]", 128, 49152)
run(GEMM, 300, 10, "[5, 1, 1]", "[64, 1, 1]", 20, 0)
run("ncclDevKernel_AllReduce_s16816", 400, 30, "[2, 1, 1]", "[512, 1, 1]", 96, 0)
run("add", 500, 50)
r:copy("Memcpy DtoH (Device -> Pinned)", 600, 25, r:call("cudaMemcpyAsync", 590, 5), 4096)
local p = load(r)
local row = row_of(p, GEMM)
t.is({ row.count, row.self_device_time_total, row.device_time_min, row.device_time_max, row.grid,
    row.block, row.registers, row.shared_memory, row.tensor_cores },
    { 3, 120000, 10000, 70000, "136x2", "8x8x4", 128, 49152, true }, "a kernel's runs")
row = row_of(p, "add")
t.is({ row.device_time_min, row.device_time_max, row.grid or false, row.registers or false,
    row.tensor_cores or false }, { 50000, 50000, false, false, false }, "one without a geometry")
row = row_of(p, "ncclDevKernel_AllReduce_s16816")
t.is(row.tensor_cores, nil, "a collective computes nothing")
row = row_of(p, "Memcpy DtoH (Device -> Pinned)")
t.is({ row.count, row.device_time_max, row.grid or false }, { 1, 25000, false }, "a copy")

-- 120 of 200 us of kernels; the copy is none.
local text = p:table { group = "kernel", width = 300 }
t.ok(text:find "60%.0%% of the kernels' time; others may, too" and
    text:find "10%.000us +70%.000us +136x2 +8x8x4 +128 +48%.00 KiB +yes +3\n" and
    not text:find "Blocks/SM", "as a table, without what no kernel has", text)
t.ok(p:table { group = "kernel", limit = 1, sort = "count" }:find "60%.0%% of the kernels'",
    "the share is of all kernels, shown or not")
local csv = p:table { group = "kernel", format = "csv" }
t.ok(csv:find "device_time_min,device_time_max,grid,block,registers,shared_memory,tensor_cores" and
    csv:find "10000,70000,136x2,8x8x4,128,49152,true", "as CSV", csv)
t.ok(p:table { group = "kernel", format = "markdown" }:find(
    "| 136x2 | 8x8x4 | 128 | 48.00 KiB | yes", 1, true), "as Markdown")
t.ok(not p:table():find "Tensor cores", "no other table has them")
local answer = g.json.decode(assert(io.popen(("%s/gpush analyze --json %s"):format(
    os.getenv "GPUSH_BUILD", path))):read "a")
t.is({ answer.tensor_core_ns, answer.kernels[1].longest_ns, answer.kernels[1].grid },
    { 120000, 70000, "136x2" }, "as JSON")

local page = path .. ".html"
p:report(page)
local html <close> = assert(io.open(page))
local shown = html:read "a"
t.ok(shown:find('"grid":"136x2"', 1, true) and shown:find('"device_time_max":70000', 1, true) and
    shown:find('"tensor_cores":true', 1, true), "the page has it for its table")

-- A saved profile has all of it, and answers as the first one did.
local kept = path .. ".prof.gz"
local function by_kernel(of) return of:table { group = "kernel", width = 300 } end
local filled = made.trace()
filled:kernel("few", 100, 80, filled:call("cudaLaunchKernel", 90, 5), 7,
    { ["blocks per SM"] = 0.25, ["est. achieved occupancy %"] = 4 })
filled = load(filled)
for i, each in ipairs { p, filled } do
    each:save(kept)
    local again = g.profile.load(kept)
    t.is(by_kernel(again), by_kernel(each), "a saved profile " .. i)
    t.is(tostring(again:verdict()), tostring(each:verdict()), "and its verdict")
end
local packed <close> = assert(io.popen("gzip -dc " .. kept))
local whole = packed:read "a"
for _, damage in ipairs { { '"waves":%[\n?%[%d+', '"waves":[[0', "without a name" },
    { '("waves":%[\n?%[%d+),%d+', "%1,-1", "out of range" },
    { ",%-1%]%]", ",7]]", "expected another element" } } do
    local broken, n = whole:gsub(damage[1], damage[2])
    t.is(n, 1, "one place is damaged")
    local file <close> = assert(io.open(path, "w"))
    file:write(broken)
    file:close()
    t.error(function() g.profile.load(path) end, damage[3], "damaged: " .. damage[3])
end

-- What is no list of three counts is not known, and the rest is.
r = made.trace()
run("a", 100, 10, '"x"', "[1, null, 3]", "{}", 5)
run("b", 200, 10, "[1, 2, 3, 4]", "[99999999999, 1, 1]", -7, 1 << 40)
run("c", 300, 10, "null", "[]", 8, -1)
p = load(r)
for _, case in ipairs { { "a", false, false, false, false }, { "b", "1x2x3", false, false, false },
    { "c", false, false, 8, false } } do
    row = row_of(p, case[1])
    t.is({ row.grid or false, row.block or false, row.registers or false,
        row.shared_memory or false }, table.move(case, 2, 5, 1, {}), "a damaged geometry")
end

-- ---- names ----

local YES <const> = {
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "volta_h884gemm_64x128_ldg8_nn",
    "turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
    "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", "ampere_s1688gemm_128x128_nn",
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(…)",
    "cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_nn_align8",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas",
    "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tensor16x8x8_cudnn",
    "void cutlass::device_kernel<…cute::SM90::GMMA::MMA_64x128x16_F32BF16BF16_SS…>",
    "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_tmaOpt_clmp_dynBatch_sm100f",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32_MI16x16x1_SN_LDSB1" }
local NO <const> = { -- or their names do not say
    "volta_sgemm_128x64_nn", "ampere_sgemm_32x32_sliced1x4_tn", "cutlass_80_simt_sgemm_128x32_nn",
    "cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_warpsize1x2x1_ffma_aligna4_cublas",
    "SubTensorOpWithScalar1d", "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_TT4_4_WG16_16_1",
    "flash_fwd_splitkv_combine_kernel", "flash_bwd_dot_do_o_kernel",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80", "fmha_cutlassF_f16_aligned_64x64_rf_sm50",
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>",
    "triton_poi_fused_add_cos_sin_0", "batched_transpose_16x64_pack_1x4_ediv_1x2_half" }
r = made.trace()
for i, name in ipairs(YES) do run(name, 100 * i, 10) end
for i, name in ipairs(NO) do run(name, 5000 + 100 * i, 10) end
local wrong, rows = {}, load(r):rows { group = "kernel" }
local said = {}
for _, it in ipairs(rows) do said[it.name] = it.tensor_cores or false end
for _, name in ipairs(YES) do if said[name] ~= true then wrong[#wrong + 1] = name end end
for _, name in ipairs(NO) do if said[name] ~= false then wrong[#wrong + 1] = name end end
t.is(table.concat(wrong, "\n"), "", "names of kernels on tensor cores, and others")
t.done()
