--!plain
-- Help texts of the table cuda; their form: scripts/lua/help/topics.lua.
return [==[
cuda (see sync, profile)
    The GPUs: cuda.is_available(), cuda.devices(), cuda.memory_summary(), cuda.synchronize(); and
    what NVIDIA's libraries may do: cuda.tf32(true), cuda.deterministic(false),
    cuda.benchmark(true), cuda.svd_driver "gesvdj" (and without a name, which one it was).
    > #cuda.memory_summary 'sim' > 0 --> true
cuda.kernel | cuda.kernel(source[, name[, {check = true}]]) (see cuda.module, elementwise, counts)
    A kernel in CUDA C or C++, compiled by GCC for cpu and sim, on a card by NVRTC:
    k(grid, block, arguments…), where grid and block are numbers or {x, y, z}, and
    {shared = bytes} may come last; k:over(n)(arguments…) has a thread for each of n elements, and
    k:global(name) is a variable of the text. name: which, where the text has several; of a
    template as "f<float>". Arguments are checked by the kernel's parameters: a tensor for a
    pointer, a number for a number. On cpu and sim each access is checked, too: bounds, races,
    barriers, shared memory that was not written; check = false turns that off.
    k:counts(grid, block, arguments…) launches, and says what that asks of a card (?counts).
    docs/kernels.md has the rules. A text with b[x[i]] goes between [=[ and ]=].
    > local k = cuda.kernel("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    > local x = tensor{1.0, 2.0} k(1, 2, x)
    > return x
    --> tensor({2.0, 4.0}, f32 2 cpu)
counts | k:counts([grid, block, arguments…]) (see cuda.kernel)
    Launches the kernel on cpu or sim, waits, and returns what that asks of a card: counts, no
    measurement. Without arguments: of the last launch that was counted. Printed, it is a table by
    line and array. It is a list of rows {line, kind = "read", "write", "atomic", "barrier" or
    "branch", name, shared, requests (of warps), lanes (threads of them), sectors (of 32 bytes),
    least (sectors when packed), conflicts (passes more over shared memory), size, stride, advice},
    and has the sums accesses, moved and least (bytes), passes, conflicts, barriers, branches,
    blocks and threads.
    > local k = cuda.kernel("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    > local c = k:counts(1, 64, ones(64))
    > return c[1].kind .. " " .. c[1].sectors .. " " .. c.moved --> read 8 512
cuda.module | cuda.module(source[, names[, {check = true}]]) (see cuda.kernel)
    The kernels of a text in CUDA C or C++, which share its variables: m:kernel(name) is one of
    them, m:global(name[, device]) a variable as a tensor, which launches on its device read and
    write. names lists kernels of templates, as {"f<float>", "f<double>"}.
    > local m = cuda.module("__constant__ int c = 3; __global__ void f(int *x) { x[0] = c; }")
    > m:global "c":fill_(5)
    > local x = zeros(1, {dtype = "i32"}) m:kernel "f"(1, 1, x)
    > return x
    --> tensor({5}, i32 1 cpu)
cuda.linalg_routes | cuda.linalg_routes([file]) (see linalg.svd)
    The table by which linalg's svd, svdvals, eigh, qr and solve choose a routine by shape: our own
    kernels, cuSOLVER's and cuBLAS's, or the CPU's with copies. Returns where it is from, how many
    rows it has, and the routine that was chosen last. A file puts another in force, such as
    scripts/dev/gpu/svd_table.lua measures on a card and writes; "built-in" is the one that gpush
    was built with.
cuda.device_count | cuda.device_count() (see cuda.devices)
    How many GPUs there are.
cuda.get_device_name | cuda.get_device_name([device]) (see cuda.devices)
    The GPU's model.
cuda.get_device_capability | cuda.get_device_capability([device]) (see cuda.devices)
    The GPU's compute capability, as two numbers.
cuda.synchronize | cuda.synchronize([device]) (see synchronize)
    Waits until the GPU has done all that is queued.
    waits: for all that is queued
cuda.empty_cache | cuda.empty_cache([device]) (see empty_cache)
    Frees the memory that is kept for the next tensors.
cuda.current_stream | cuda.current_stream([device]) (see current_stream)
    The stream that ops of this thread go to.
cuda.stream | cuda.stream([device]) (see stream)
    A new queue on the GPU.
cuda.memory_stats | cuda.memory_stats([device]) (see memory, cuda.memory_summary)
    Bytes in use, their peak, what is cached, the limit, and counts, as a table.
cuda.memory_allocated | cuda.memory_allocated([device]) (see memory)
    Bytes of live tensors.
cuda.max_memory_allocated | cuda.max_memory_allocated([device]) (see cuda.reset_peak_memory_stats)
    The peak of the bytes of live tensors.
cuda.memory_reserved | cuda.memory_reserved([device]) (see cuda.empty_cache)
    Bytes in tensors and in the cache.
cuda.reset_peak_memory_stats | cuda.reset_peak_memory_stats([device]) (see reset_peak)
    Restarts the count of the peak.
]==]
