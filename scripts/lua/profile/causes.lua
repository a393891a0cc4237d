--!plain
-- What to do about causes of prof:verdict(), where what is on the record says more than cause.def
-- has for all.
local require = ...
local fit, registry = require "fit", require "registry"
local replay = registry["gpush.replay"]
local time = fit.time
local NAME <const> = 60 -- characters of a kernel's name

local M = {}

--- Where most of a cause came once, in one step of several or one stretch, as work in a loop does
--- not, or was queued before the record began: when, and what is known of it; nil: it did not.
local STEADY <const> = { setup = true, collectives = true }
local EARLIER <const> = "nothing on the record queued %s of the %s: it was queued before the \z
    record began; synchronize before it begins, to see what the program takes"
function M.came_once(row)
    if row.earlier > 0 and 2 * row.earlier >= row.ns then
        return EARLIER:format(time(row.earlier), time(row.ns))
    end
    local few = row.extras == 1 or row.steps > 0 and 3 * row.extras <= row.steps
    if STEADY[row.cause] or 2 * row.extra < row.ns or not few
        or row.times < 2 and row.steps == 0 then return end
    local when = row.steps == 0 and "in one stretch of this record"
        or row.extras == 1 and ("in step %d of the %d on the record"):format(row.step, row.steps)
        or ("in %d of the %d steps on the record"):format(row.extras, row.steps)
    -- as many of them as there is more of it: the step launches more, and none of these is slow
    local more = row.of_step > 0 and row.extra * row.parts <= 2 * row.of_step * row.ns
    local slow = row.cause == "launches" and row.extras == 1 and not more
    local why = slow and ": no kernel ran there for the first time, and nothing on the record \z
        says why; the system may have given its processor to something else"
        or ": not what each step takes"
    return ("%s of the %s came %s%s%s%s"):format(time(row.extra), time(row.ns),
        row.extras == 1 and "once, " or "", when, why,
        row.extras == 1 and "; record more steps to see whether it comes again" or "")
end

--- What to do about set-up that comes in at least half of the steps, so that it is no first use, or
--- in several of them; nil: what cause.def says.
local SEVERAL <const> = "it comes in %d of the %d steps: first uses pass with the first steps of \z
    a run; in later ones code is made or loaded again, as for shapes that change%s"
local SET_UP <const> = "it comes in %d of the %d steps, so it does not pass: code is made or \z
    loaded again there, as for shapes that change%s"
local RECOMPILED <const> = ": pad to a few sizes, torch.compile(dynamic=True) or mark_dynamic \z
    (TORCH_LOGS=recompiles says why it compiles), torch.backends.cudnn.benchmark=False"
local MORE_MEMORY <const> = ": most of it asks the driver for memory: keep sizes the same, and \z
    leave memory free (PyTorch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)"
local CAPTURED_AGAIN <const> = "a graph is made in %d of the %d steps: capture it once, before \z
    the loop, and replay it; copy what changes into its tensors (copy_), and keep one for a shape"
function M.setup(row, built, prof)
    if row.steps == 0 or row.in_steps < 2 then return end
    if row.name and row.name:find "Graph" and 2 * row.in_steps >= row.steps then
        return CAPTURED_AGAIN:format(row.in_steps, row.steps)
    end
    local how = row.name and row.name:find "Malloc" and MORE_MEMORY or built.torch and RECOMPILED
        or prof.foreign and "" or ": pad to a few sizes"
    local passes = 2 * row.in_steps < row.steps or 2 * (row.last_step - 1) < row.steps
    return (passes and SEVERAL or SET_UP):format(row.in_steps, row.steps, how)
end

--- What to do about memory that is asked for in each step, where most of it is pinned; nil: what
--- cause.def says.
function M.memory(row, prof)
    local pins = row.name and (row.name:find "HostAlloc" or row.name:find "HostRegister")
    return pins and prof.foreign and "most of it pins memory of the host in each step: pin once, \z
        and copy into that (buffer.copy_(x), then buffer.to(device, non_blocking=True)); a \z
        DataLoader's pin_memory=True does so for its batches, beside the loop" or nil
end

-- What to do about kernels that mostly leave half of the device without a block; nil: they do not,
-- or the record does not tell.
local function small(row, built)
    if not row.small or 2 * row.small < row.filled then return end
    return ("too small for the device: for %s of %s, at least half of its multiprocessors have no \z
        block to run (analyze --group kernel has blocks by kernel): larger batches; %sor several \z
        at a time, on streams"):format(time(row.small), time(row.filled),
        (built.compiled or not built.torch) and "" or "torch.compile, which joins kernels; ")
end

-- Parts of kernels' names, in small letters: of products, convolutions and attention, and of
-- numbers of 16 bits and fewer.
local PRODUCTS <const> = { "gemm", "conv", "xmma", "cutlass", "nvjet", "bmm_", "flash", "fmha",
    "attention", "winograd", "wgrad", "dgrad", "cijk_", "cudnn::rnn" }
local SHORT <const> = { "bf16", "bfloat16", "half", "fp16", "f16", "e4m3", "e5m2", "fp8", "h884",
    "h1688", "h16816", "_bbs", "_bss", "_hhs", "_hss" }

-- Of 64 bits or complex numbers, which autocast leaves as they are; and of whole ones of 8 bits.
local LONG <const> = { "dgemm", "zgemm", "cgemm", "f64f64", "d884" }
local WHOLE <const> = { "igemm", "int8", "i8i8", "s8s8" }
-- Of f32: multiplied in tf32, and as they are.
local TF32 <const> = { "tf32", "s1688" }
local SINGLE <const> = { "sgemm", "ffma" }
-- Of PyTorch's own kernels: convolutions; those that torch.compile joins; and those of optimizers
-- and of other lists, which are of many tensors already.
local OWN_PRODUCTS <const> = { "conv_depthwise", "slow_conv" }
local JOINED <const> = { "elementwise", "reduce_kernel", "softmax", "norm", "dropout", "catarray" }
local LISTS <const> = "multi_tensor_apply"

local COMPILED <const> = "^triton_" -- kernels that torch.compile made
local OTHERS <const> = { "memcpy", "memset", "copybuffer", "nccl", "[" } -- which are no kernels

-- Of cuBLAS's nvjet kernels, by the letters of their dtypes: h and t have 16 bits, q fewer.
local NVJET <const> = "nvjet_[%w_]-[thq]s[thqs]_"

local function has_any(name, parts)
    for _, part in ipairs(parts) do if name:find(part, 1, true) then return true end end
    return false
end

-- What a kernel of PyTorch is, by its name: "product", "list", "joined" by torch.compile, "own" of
-- PyTorch, "compiled"; nil: not known. And of a product, its numbers: "short", "long", "whole",
-- "tf32", "single".
local function kind_of(kernel, tensor_cores)
    local name = kernel:lower():gsub("igemm_(%l+_gtc)", "gemm_%1") -- AMD's, of numbers of any kind
    if kernel:find(COMPILED) then return "compiled" end
    local own = name:find("at::native", 1, true)
    if own and not has_any(name, OWN_PRODUCTS) then
        return name:find(LISTS, 1, true) and "list" or has_any(name, JOINED) and "joined" or "own"
    end
    if not own and not has_any(name, PRODUCTS) then return end
    return "product", has_any(name, LONG) and "long" or has_any(name, WHOLE) and "whole"
        or (has_any(name, SHORT) or name:find(NVJET)) and "short"
        or has_any(name, TF32) and tensor_cores and "tf32"
        or has_any(name, SINGLE) and not tensor_cores and "single" or nil
end

local OF_PRODUCTS <const> = { short = ", most of them in 16 bits or fewer already: ",
    whole = ", most of them in 8 bits already: ",
    tf32 = ", most of them of f32 in tf32 already: torch.autocast, to f16 or bf16; ",
    single = ", most of them in f32: torch.autocast, to f16, or bf16 from the A100 on; or tf32 \z
        there, where tensors stay f32: torch.set_float32_matmul_precision(\"high\"); ",
    long = ", most of them in f64 or complex, which autocast leaves: f32 where f64 is not needed; \z
        " }
local IN_F32 <const> =
    ": torch.autocast where they are in f32, to f16, or bf16 from the A100 on; "
local OF_KINDS <const> = {
    { "joined", "PyTorch's own elementwise ops, reductions and normalizations: torch.compile \z
        joins many of them" },
    { "product", "products, convolutions and attention%sa smaller model or input" },
    { "list", "PyTorch's ops on lists, as of an optimizer, for many tensors at once already: \z
        fewer or smaller parameters, or fewer steps of it (gradients of several batches added \z
        up)" },
    { "own", "PyTorch's own, %s the most: torch.compile hardly joins these, nor does autocast \z
        make them cheaper; less data for them does" },
    { "compiled", "made by torch.compile (triton_…): mode=\"max-autotune\" tries more ways to \z
        run them; a smaller model or input" },
    { "other", "others, %s the most, whose names do not say that autocast or torch.compile makes \z
        them cheaper; less data for them does, or another way to compute it" } }

-- What to do about kernels of PyTorch by what they are, as their names say; nil: they do not.
function M.by_kind(prof)
    local all, sums, parts, most = 0, {}, {}, { own = { ns = 0 }, other = { ns = 0 } }
    for _, row in ipairs(prof:rows { group = "kernel" }) do
        local ns = row.self_device_time_total
        local kind, numbers = kind_of(row.name, row.tensor_cores)
        if has_any(row.name:lower(), OTHERS) then ns = 0 end
        all, kind = all + ns, kind or "other"
        for _, key in ipairs { kind, numbers } do sums[key] = (sums[key] or 0) + ns end
        if most[kind] and ns > most[kind].ns then most[kind] = { ns = ns, name = row.name } end
    end
    for _, it in ipairs(OF_KINDS) do
        local ns, how = sums[it[1]] or 0, IN_F32
        for numbers, text in pairs(OF_PRODUCTS) do
            if 2 * (sums[numbers] or 0) >= ns then how = text end
        end
        if ns > 0 and ns >= all / 4 then
            local one = most[it[1]]
            parts[#parts + 1] = ("%s of %s are "):format(time(ns), time(all))
                .. it[2]:format(one and fit.shorten(fit.safe(one.name), NAME) or how)
        end
    end
    return all > 0 and parts[1] and table.concat(parts, "; ")
end

-- What to do about kernels that mostly take the least that any does, as a card's own or, of one
-- that ran, LEAST; nil: they do not, or a processor ran them, on which none takes so long.
local LEAST <const> = 3000 -- ns; one that does nothing takes 1 to 2 us
local SHORTEST <const> = "%s of %s is that of kernels which take the least that one does, %s \z
    each: fewer of them (%s), or larger batches, which make them no longer; another dtype or a \z
    smaller model makes none shorter"
local function shortest(prof, built)
    if prof.kind:find("CPU-backed", 1, true) then return end
    local least = not prof.foreign and prof.card and 1.1e9 * prof.card.kernel or LEAST
    local all, short, runs = 0, 0, 0
    for _, row in ipairs(prof:rows { group = "kernel" }) do
        local ns = row.self_device_time_total
        local name = row.name:lower()
        if has_any(name, OTHERS) or name:find "^copy %u2%u" then ns = 0 end
        all = all + ns
        if ns > 0 and ns <= least * row.count then short, runs = short + ns, runs + row.count end
    end
    if all == 0 or 2 * short < all then return end
    return SHORTEST:format(time(short), time(all), time(short / runs), not prof.foreign
        and "fuse(f) for elementwise ops" or built.torch and "torch.compile joins many of them"
        or "one for several elementwise ones")
end

-- What to do about ops of the host that no device would take over: those that take less than a
-- card's launch, and tensors of Lua's tables; nil: others.
local LAUNCH <const> = 10000 -- ns; one takes 5 to 20 us of the host
local TABLES <const> = "tensor() reads a table of Lua's number by number, also for a device: make \z
    it once, before the loop, by an op (arange, full, one_hot) or from a file (npy.load), or in a \z
    loader's workers"
function M.host_ops(row, prof)
    if row.name == "tensor" and not prof.foreign then return TABLES end
    local ns, times = row.most or row.ns, row.most and row.most_times or row.times
    if not times or times == 0 or ns >= LAUNCH * times then return end
    return ("they take %s each where most of it is, and a launch on a device 5 to 20 us: none is \z
        faster there; fewer and larger ones (%s), or in %s workers"):format(time(ns / times),
        prof.foreign and "a batch at once, torch.compile" or "a batch at once, fuse(f)",
        prof.foreign and "a DataLoader's" or "a loader's")
end

-- ---- what is in place already ----

-- Parts of names of PyTorch's own kernels and ops: of another profiler's trace they say that the
-- program is of PyTorch.
local TORCH <const> = { "at::native", "at_cuda", "c10::", "aten::", "triton_" }

local function of_torch(prof)
    if not prof.writer then return true end
    for _, group in ipairs { "kernel", "op" } do
        for _, row in ipairs(prof:rows { group = group }) do
            if has_any(row.name, TORCH) then return true end
        end
    end
    return false
end

--- Whether CUDA graphs launched at least half of the devices' work, and torch.compile made kernels
--- of a quarter of its time; whether the program is known to be PyTorch's, of another program's
--- trace; and whether captured functions launched at least half of list's launches -> {graphs,
--- compiled, torch, captured, replayed, launches, longer, blocked}.
function M.built(prof, list)
    local work, graphs, all, compiled = 0, 0, 0, 0
    for _, row in ipairs(prof.foreign and prof:launches() or {}) do
        work = work + row.work
        if row.call and row.call:find("GraphLaunch", 1, true) then graphs = graphs + row.work end
    end
    for _, row in ipairs(prof.foreign and prof:rows { group = "kernel" } or {}) do
        all = all + row.self_device_time_total
        if row.name:find(COMPILED) then compiled = compiled + row.self_device_time_total end
    end
    return { graphs = work > 0 and 2 * graphs >= work, compiled = all > 0 and 4 * compiled >= all,
        torch = prof.foreign and of_torch(prof), replayed = list.replayed, launches = list.launches,
        longer = list.longer, blocked = list.blocked,
        captured = list.replayed > 0 and 2 * list.replayed >= list.launches }
end

local DELAYS <const> = "short delays lie between kernels of the CUDA graphs that launch most of \z
    the work already: %slarger batches make fewer of them; a long one waited for what is not on \z
    the record, as earlier work or another process's is: torch.cuda.synchronize() before it \z
    begins, and nvidia-smi or rocm-smi says what else runs there"

-- The script's time that lies between launches, by what the record is of.
local BETWEEN <const> = "%s of it lies in short stretches between launches: "
local REPLAYED <const> = "capture(step) replays the launches of a step that never waits without \z
    the script between them (with SGD, Adam, AdamW, RMSprop or Adagrad); or larger batches"
local REPLAYED_BY <const> = {
    torch = "CUDA graphs (torch.compile(mode=\"reduce-overhead\")) replay these without the \z
        script; or larger batches",
    graphs = "CUDA graphs launch most of the work already: take what is left of the step into \z
        them; or larger batches",
    jax = "one jitted function for more of the step (jax.jit, tf.function) leaves them out; or \z
        larger batches",
    any = "a graph of CUDA or HIP replays these without the program; or larger batches" }

--- What to do about the script, where most of its time lies between launches; nil: what is said
--- of all.
function M.script(row, built, prof)
    if 2 * row.between < row.ns or built.captured then return end
    local by = not prof.foreign and REPLAYED
        or REPLAYED_BY[prof.writer and prof.writer:find "^JAX" and "jax"
            or not built.torch and "any" or built.graphs and "graphs" or "torch"]
    return BETWEEN:format(time(row.between)) .. by
end

local BETWEEN_DEVICES <const> = "keep what is used together on one device, or copy between \z
    devices beside kernels, on another stream"
local FILLS <const> = "most of it fills memory: leave it out where all is written next (%s), and \z
    do not clear what is not read"

local PINNED <const> = "the source is pinned already: keep data on the device, copy beside \z
    kernels, on another stream, where that is not so yet, or move fewer bytes (uint8, 16 bits; \z
    augment on the device)"

--- What to do about copies, most of which are between devices, fills, or pinned; nil: what is said
--- of their direction.
function M.copies(row, built)
    local name = row.name or ""
    if name:find("PtoP", 1, true) then return BETWEEN_DEVICES end
    if name:find("HtoD (Pinned", 1, true) then return PINNED end
    return name:find "^Memset" and FILLS:format(built.torch
        and "torch.empty; optimizer.zero_grad(set_to_none=True)" or "memory that is not cleared")
        or nil
end

--- What to do about queued work that begins late; nil: what cause.def says.
function M.delays(built)
    return built.graphs and built.torch and DELAYS:format(built.compiled and "" or
        "torch.compile, which joins kernels, or ") or nil
end

-- What to do about kernels of gpush's own by what they are, by shares of their time; nil: not
-- known. lower: what makes products cheaper.
local SMALLER <const> = "a smaller model or input"
local LOWER <const> = ": autocast where they are in f32, to f16, or bf16 from the A100 on (tensor \z
    cores of a T4 and a V100 take f16 alone)"
local function own_kinds(prof, lower)
    local all, by, most = 0, { product = 0, elementwise = 0, fused = 0, other = 0 }, nil
    for _, row in ipairs(prof:rows { group = "kernel" }) do
        local ns = row.self_device_time_total
        if ns > 0 and not row.name:find "^copy %u2%u" then
            local kind = replay.kernel_kind(row.name)
            all, by[kind] = all + ns, by[kind] + ns
            if kind == "other" and not (most and most.ns >= ns) then
                most = { name = row.name, ns = ns }
            end
        end
    end
    local known, low = replay.products(prof)
    local how = { product = known > 0 and 2 * low >= known and ", in 16 bits or fewer already"
        or lower, elementwise = ": fuse(f) makes one kernel of several",
        fused = ": what fuse(f) joins is joined",
        other = ": neither autocast nor fuse(f) makes these cheaper, less data for them does" }
    local parts, names = {}, { product = "products, convolutions and attention",
        elementwise = "elementwise ops", fused = "fused already",
        other = most and fit.safe(most.name) .. (most.ns < by.other and " and others" or "") }
    for _, kind in ipairs { "product", "elementwise", "fused", "other" } do
        if all > 0 and 4 * by[kind] >= all then
            parts[#parts + 1] = ("%s of %s %s %s%s"):format(time(by[kind]), time(all),
                kind == "fused" and "is" or "are", names[kind], how[kind])
        end
    end
    return parts[1] and table.concat(parts, "; ") .. "; or " .. SMALLER
end

local PROCESSOR <const> = "the processor ran them here: %s; gpush --card h200 says in modelled \z
    times what a card would take"

--- What to do about kernels; nil: what cause.def says.
function M.kernels(row, prof, worth, built)
    if prof.kind:find("CPU-backed", 1, true) then
        return PROCESSOR:format(not prof.foreign and own_kinds(prof, "") or SMALLER)
    end
    return worth and shortest(prof, built) or small(row, built)
        or built.torch and worth and M.by_kind(prof) or not prof.foreign and own_kinds(prof, LOWER)
        or nil
end

-- ---- Intel's GPUs ----

-- What is of CUDA in the advice, and what torch.xpu has in its place.
local OF_XPU <const> = {
    { 'CUDA graphs %(torch%.compile%(mode="reduce%-overhead"%)%)', "graphs (torch.xpu.XPUGraph, \z
        where PyTorch has it; CUDA graphs, mode=\"reduce-overhead\", do not exist on Intel's \z
        GPUs)" },
    { "mode=\"reduce%-overhead\" replays their launches at once, by CUDA graphs", "\z
        torch.xpu.XPUGraph, where PyTorch has it, replays their launches at once" },
    { "torch%.compile or CUDA graphs", "torch.compile or torch.xpu.XPUGraph" },
    { "torch%.cuda%.", "torch.xpu." }, { "nvidia%-smi or rocm%-smi", "xpu-smi" },
    { "no PYTORCH_NO_CUDA_MEMORY_CACHING=1, and ", "" },
    { "; where sizes change, PYTORCH_CUDA_ALLOC_CONF[^;]*", "" },
    { ", to f16, or bf16 from the A100 on,", ", to bf16 or f16," } }

--- The advice in the words of torch.xpu, where the trace is of Intel's GPUs.
function M.of_device(advice, prof)
    local first = advice and prof.foreign and prof:devices()[1]
    if not first or not first.device:find "^xpu" then return advice end
    for _, pair in ipairs(OF_XPU) do advice = advice:gsub(pair[1], pair[2]) end
    return advice
end

-- ---- other profilers ----

-- What is to be done by cause in a record of another profiler than PyTorch's, in the words of that
-- one; what is not here is as cause.def says.
local FIRST <const> = "first uses (of a device, a library, a shape, a kernel's code) pass once, \z
    with the first steps: record later ones (%s)"
local OUT <const> = "move work out of the loop, or to other threads"

-- Of a program that is not known to be PyTorch's.
M.ANY = {
    synchronize = "synchronize only where a result or a time is needed",
    launches = "launch less: a graph of CUDA or HIP replays launches at once, fewer and larger \z
        kernels are launched less often (if it is PyTorch, torch.compile does either); or larger \z
        batches",
    memory = "the driver is asked for memory in each step: keep what is allocated, or take it \z
        from a pool (cudaMallocAsync, hipMallocAsync); pin memory once, not in the loop",
    delays = "short delays are each launch's own: graphs, or fewer and larger kernels; a long one \z
        waited for what is not on the record, as earlier work or another process's is: \z
        synchronize before it begins, and nvidia-smi or rocm-smi says what else runs there",
    kernels = "make them cheaper: 16 bits where products and convolutions are in 32, one kernel \z
        for several elementwise ones, a smaller model or input",
    copies = "keep data on the device, or copy beside kernels: from pinned memory, \z
        asynchronously, on another stream",
    collectives = "compute beside them, on another stream; or communicate less often",
    cpu = "move their data to the device, or the work to other threads" }
M.BY_WRITER = {
    ["Nsight Systems' export"] = {
        script = "NVTX ranges around its parts (nvtxRangePush, torch.cuda.nvtx.range) name them; "
            .. OUT,
        between = "NVTX ranges name what the host did there (nvtxRangePush)",
        setup = FIRST:format "nsys profile --delay, or --capture-range=cudaProfilerApi" },
    ["rocprofv3's trace"] = {
        script = "ROCTx ranges around its parts name them (rocprofv3 --marker-trace); " .. OUT,
        between = "ROCTx ranges name what the host did there (rocprofv3 --marker-trace)",
        setup = FIRST:format "rocprofv3 --collection-period" },
    ["JAX's or TensorFlow's trace"] = {
        script = "jax.profiler.TraceAnnotation, or tf.profiler.experimental.Trace, around its \z
            parts names them; move work out of the loop",
        setup = FIRST:format "jax.profiler.start_trace after them",
        launches = "launch less: jit more of the step in one function (jax.jit, tf.function), or \z
            larger batches",
        memory = "the driver is asked for memory in each step: keep arrays of the same sizes, and \z
            leave memory free (smaller batches)",
        delays = "short delays are each launch's own: one jitted function for more of the step \z
            makes fewer; a long one waited for what is not on the record, as earlier work or \z
            another process's is",
        kernels = "make them cheaper: lower precision where products and convolutions are in f32 \z
            (bf16), more in one jitted function for elementwise ops, a smaller model or input" } }

return M
