--!plain
-- What to do about causes of prof:verdict(), where what is on the record says more than cause.def
-- has for all.
local require = ...
local fit, registry = require "fit", require "registry"
local replay = registry["gpush.replay"]
local time = fit.time

local M = {}

--- Where most of what the host does came once, in one step of several or one stretch, as work in a
--- loop does not: when, and what is known of it; nil: it did not.
local STEADY <const> = { waits = true, synchronize = true, setup = true, collectives = true }
function M.came_once(row)
    if STEADY[row.cause] or 2 * row.extra < row.ns or row.times < 2 then return end
    local when = row.steps > 0 and ("in step %d of the %d on the record"):format(row.step,
        row.steps) or "in one stretch of this record"
    local why = row.cause == "launches" and ": no kernel ran there for the first time, and \z
        nothing on the record says why; the system may have given its processor to something else"
        or ": not what each step takes"
    return ("%s of the %s came once, %s%s; record more steps to see whether it comes again")
        :format(time(row.extra), time(row.ns), when, why)
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
    "attention", "winograd", "wgrad", "dgrad", "cijk_" }
local SHORT <const> = { "bf16", "bfloat16", "half", "fp16", "f16", "e4m3", "e5m2", "fp8", "h884",
    "h1688", "h16816", "_bbs", "_bss", "_hhs", "_hss" }

local COMPILED <const> = "^triton_" -- kernels that torch.compile made
local OTHERS <const> = { "memcpy", "memset", "copybuffer", "nccl", "[" } -- which are no kernels

-- Of cuBLAS's nvjet kernels, by the letters of their dtypes: h and t have 16 bits, q fewer.
local NVJET <const> = "nvjet_[%w_]-[thq]s[thqs]_"

local function has_any(name, parts)
    for _, part in ipairs(parts) do if name:find(part, 1, true) then return true end end
    return false
end

-- What to do about kernels of PyTorch by what they are, as their names say; nil: they do not.
function M.by_kind(prof)
    local all, native, products, short, compiled, parts = 0, 0, 0, 0, 0, {}
    for _, row in ipairs(prof:rows { group = "kernel" }) do
        local name, ns = row.name:lower(), row.self_device_time_total
        local own = name:find("at::native", 1, true)
        local product = not own and has_any(name, PRODUCTS)
        all = all + (has_any(name, OTHERS) and 0 or ns)
        if own then native = native + ns end
        if row.name:find(COMPILED) then compiled = compiled + ns end
        if product then products = products + ns end
        if product and (has_any(name, SHORT) or name:find(NVJET)) then short = short + ns end
    end
    if native >= all / 4 then
        parts[1] = ("%s of %s are PyTorch's own elementwise ops, reductions and normalizations: \z
            torch.compile joins many of them"):format(time(native), time(all))
    end
    if products >= all / 4 then
        parts[#parts + 1] = ("%s of %s are products, convolutions and attention%s"):format(
            time(products), time(all), 2 * short >= products and
            ", most of them in 16 bits or fewer already: a smaller model or input" or
            ": torch.autocast where they are in f32, to f16, or bf16 from the A100 on; a \z
            smaller model or input")
    end
    if compiled >= all / 4 then
        parts[#parts + 1] = ("torch.compile made the kernels of %s of %s (triton_…): \z
            mode=\"max-autotune\" tries more ways to run them; a smaller model or input")
            :format(time(compiled), time(all))
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
        if has_any(name, OTHERS) or name:find "^copy %l2%l" then ns = 0 end
        all = all + ns
        if ns > 0 and ns <= least * row.count then short, runs = short + ns, runs + row.count end
    end
    if all == 0 or 2 * short < all then return end
    return SHORTEST:format(time(short), time(all), time(short / runs), not prof.foreign
        and "fuse(f) for elementwise ops" or built.torch and "torch.compile joins many of them"
        or "one for several elementwise ones")
end

-- What to do where the host takes far longer for each launch than a launch does; nil: it does not.
local SLOW_LAUNCH <const> = 200000 -- ns; a launch by PyTorch takes 5 to 20 us
local function slow_launches(row, prof)
    if row.times == 0 or row.ns < SLOW_LAUNCH * row.times then return end
    return ("the host takes %s for each of %d, which is no launch's time: its ops do something \z
        else before them (compile, check guards, make memory); record later steps, where a first \z
        use has passed%s")
        :format(time(row.ns / row.times), row.times,
        prof.writer and "" or ", with with_stack=True, which names it")
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
--- of a quarter of its time; and whether the program is known to be PyTorch's: of another program's
--- trace -> {graphs, compiled, torch}.
function M.built(prof)
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
        torch = prof.foreign and of_torch(prof) }
end

local GRAPHS <const> = "launch less: CUDA graphs launch most of the work already \z
    (cudaGraphLaunch): take what is left of the step into them; or larger batches"
local COMPILED_LAUNCHES <const> = "launch less: torch.compile made kernels already (triton_…), \z
    mode=\"reduce-overhead\" replays their launches at once, by CUDA graphs; or larger batches"

local FUSED <const> = "launch less: fuse(f) made kernels of several ops already; capture(step) \z
    replays at once the launches of a step that never waits (with SGD, Adam, AdamW, RMSprop or \z
    Adagrad); or larger batches"

--- What to do about launches, of gpush's own or of a trace of PyTorch; nil: what cause.def says.
function M.launches(row, built, prof)
    if not prof.foreign then return row.name and row.name:find("+", 1, true) and FUSED or nil end
    if row.reads and 2 * row.most >= row.ns then
        return ("%s of it is in %s, which reads a result on the host: no CUDA graph holds that, \z
            and torch.compile joins nothing across it: %s"):format(time(row.most),
            fit.safe(row.name), row.reads)
    end
    return slow_launches(row, prof) or built.graphs and built.torch and GRAPHS
        or built.compiled and COMPILED_LAUNCHES or nil
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
    if 2 * row.between < row.ns then return end
    local by = not prof.foreign and REPLAYED
        or REPLAYED_BY[prof.writer and prof.writer:find "^JAX" and "jax"
            or not built.torch and "any" or built.graphs and "graphs" or "torch"]
    return BETWEEN:format(time(row.between)) .. by
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
        if ns > 0 and not row.name:find "^copy %l2%l" then
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
