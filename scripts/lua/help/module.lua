--!plain
-- Help texts of what the module has beside ops and classes; their form: topics.lua.
return [==[
tensor (see zeros, arange, npy, image)
    A tensor of the numbers in nested tables; f32 where one of them has a point, else i64, or bool.
    options: dtype: data type; device: device of the tensor; requires_grad: backward computes a
        gradient for it
    waits: for the copy to another device than the cpu
    > tensor({{1, 2}, {3, 4}}):sum(1) --> tensor({4, 6}, i64 2 cpu)
sim (see sim.card, sim.host, sim.measured, timeit)
    The simulated device, and the card that it stands in for: sim.card = 'h200'. Results stay real
    and are computed by the processor; times are the bound of the card's data sheet, divided by the
    measured share of it where there is one (sim.measured). Its memory is the card's, too.
    > sim.card --> nil
sim.measured (see sim.card, sim.cards)
    Whether a modelled card's time for an op, such as 'linalg.svd', uses a share of the card's bound
    that was measured on it. false: it is the bound itself, the least that the card can take, which
    says nothing about what is faster. nil if no card is modelled.
    > sim.measured 'add' --> nil
sim.card (see sim.cards, sim.host)
    The card that sim stands in for: 'h200', 'h100', 'a100', 'v100', 'mi250' (one of its two dies),
    't4', a table of figures ({like = 'h200', bandwidth = 1e12}), or nil. With a card, the host's
    clock stands still while the processor computes in the card's place, and jumps where the host
    waits.
sim.host (see sim.card, sim.script, sim.loader)
    Seconds that the host takes for each op while sim stands in for a card, as 8e-6 for PyTorch's 8
    us; nil: what it takes here. With it a run's times are the same on every machine: the cpu's own
    work, such as a loader's, takes its bytes and operations over fixed rates, an instruction of Lua
    3 ns (sim.script), a call of clock() 50 ns; files and values of tables count, too.
sim.script (see sim.host)
    Seconds that an instruction of Lua takes where sim.host is set: 3e-9 at first, as measured on a
    Xeon; nil restores that. Time in functions of C, such as string.format, is not counted, so the
    script's time is a lower bound.
    > sim.script --> 3e-09
sim.loader (see sim.host)
    Seconds that the host takes for a batch of a data.Loader where sim.host is set, as measured on
    some host; nil: what is counted. It is divided by the number of workers.
sim.tf32 (see sim.card)
    Whether products of f32 take the card's tf32 rate; their results do not change.
sim.label (see sim.card)
    The modelled card in words that go with its times, as 'modelled H200'; nil where none is
    modelled. It is read only.
    > sim.label --> nil
sim.cards (see sim.card)
    The known cards and their figures, in bytes, operations and seconds.
    > sim.cards().t4.bandwidth --> 320000000000.0
timeit (see compare, profile)
    How long a call takes, with the wait for devices: the median of several runs, host and device
    time separately; .kind says whether it is measured, modelled or CPU-backed. Counting a device's
    time slows launches, so it comes from .device_runs other runs, but on a modelled card.
    options: n: number of calls; print: print the result at once; device: device to wait for
    waits: for each run, so that device time counts
    > timeit(function() return ones(2) + 1 end, {n = 1}).time > 0 --> true
printoptions
    How tensors are shown.
    options: precision: digits after the point; threshold: largest number of elements shown in full;
        edgeitems: elements shown at each end of a larger dim; linewidth: columns of a line
    > printoptions().precision --> 4
progress (see data)
    A bar on a terminal for loops: for i in progress(n) do, for step, x, y in progress(loader) do,
    for i, v in progress(list) do.
    > local s = 0 for i, v in progress{1, 2, 3} do s = s + v end return s --> 6
image (see imshow)
    Pictures in PNG files: image.load(file), image.save(file, x).
gpush (see help, ops)
    The module, whose fields are global in the shell. In other programs write local gpush = require
    "gpush".
help | help([name or words or value], [{source = true}]) (see ops)
    Describes an op, a class or a value, or lists what the words are found in; at the prompt ?name,
    x?, ??name.
    options: source: its source in place of the text
ops | ops([all=false]) (see help)
    The table of ops by name: signature, help, kind, whether it has a derivative; ops(true) has
    composites, too.
    > ops().exp.grad --> yes
is_tensor | is_tensor(value) (see tensor)
    Whether the value is a tensor.
    > is_tensor {1, 2} --> false
devices | devices([kind]) (see cuda, default_device)
    Names of the opened devices; with a kind, such as 'cuda', descriptions of the devices of that
    kind, or why there are none.
    > devices()[1] --> cpu
default_device | default_device([device]) (see default_dtype, to)
    The device of new tensors; sets it if one is given.
    > default_device() --> cpu
default_dtype | default_dtype([dtype]) (see default_device, to)
    The float dtype of new tensors; sets it if one is given.
    > default_dtype() --> f32
synchronize | synchronize([device]) (see sync, stream)
    Waits until a device, or every device, has done all that is queued; sync.report() counts it as
    explicit.
    waits: for all that is queued
stream | stream([device]) (see current_stream, stream.use, synchronize)
    A new queue on the device; ops go there while s:use() is in force.
    > local s = stream "sim"
    > local y = s:use(function() return ones(2, {device = "sim"}) + 1 end)
    > s:synchronize()
    > return y:sum():item()
    --> 4.0
fuse | fuse(fn) (see fuse_compile, timeit, compare, profile)
    Returns fn as a function that runs each chain of elementwise ops, with a reduction at the end,
    as one op, forward and backward. The first call with arguments of a kind (dtypes, dims, which
    sizes are 1; numbers by their values) runs fn and traces its ops; later ones run the plan. fn is
    traced again when something that it reads changes: upvalues, fields of tables, globals. Reading
    a tensor's value in it is an error. Other ops run as they are, and long chains become several
    ops, of 40 steps each. A chain that runs often is compiled; until then its ops run one by one on
    cuda. Chains always run so where an element may be an error (probabilities), or where the
    derivative has over 160 steps. Integer division is not fused.
    > local f = fuse(function(x, y) return relu(x * y + x) end) local x = ones(2) f(x, x)
    > return f(x, -x * 3)
    --> tensor({0.0, 0.0}, f32 2 cpu)
elementwise | elementwise(inputs, outputs, formula[, name]) (see reduction, fuse, cuda.kernel)
    An op of your own from formulas of C, as CuPy's ElementwiseKernel: a list of 'type name' for
    operands and results, and 'result = value' for each, with ; between. A type is a dtype, a C
    type, or a capital: the dtype that its operands promote to. Operands broadcast. The op runs on
    every device with the same bits, is fused, and has a derivative. A raw operand is read by
    index, from 0, as in x[i - 1], where i is the element's own; k(x, {size = n}) gives the number
    of elements where only raw operands are there. A read outside of it is an error. A text with
    loops or branches is compiled as a kernel, as cuda.kernel does; {check = false} turns its checks
    off, and {backward = function(g, x, …) … end} gives the gradients of the arguments, which such a
    text has not by itself.
    > local huber = elementwise("T x, T d", "T z",
    >     "T a = fabs(x); z = a <= d ? 0.5 * x * x : d * (a - 0.5 * d)", "huber")
    > return huber(tensor{-3.0, 0.5}, 1.0)
    --> tensor({2.500, 0.125}, f32 2 cpu)
reduction | reduction(inputs, outputs, map, reduce[, post[, identity[, name]]]) (see elementwise)
    A reduction of your own from formulas of C, as CuPy's ReductionKernel: map of each element,
    combined by reduce, a formula of a and b, and post, 'result = value' of a. All is also taken by
    name, as in the example. Called with {dim = 2, keepdim = true}, or for all elements. a + b,
    a * b, min, max, && and || are gpush's sum, prod and so on; others combine neighbours in pairs,
    in order, and identity fills up odd numbers, so it has to change nothing.
    > local l2 = reduction{"T x", "T y", map = "x * x", reduce = "a + b", post = "y = sqrt(a)"}
    > return l2(tensor{{3.0, 4.0}, {5.0, 12.0}}, {dim = 2})
    --> tensor({ 5.0, 13.0}, f32 2 cpu)
promote_types | promote_types(dtype1, dtype2) (see to, default_dtype)
    The dtype of what an op makes of tensors of both.
    > promote_types("f16", "bf16") --> f32
fuse_compile | fuse_compile([mode]) (see fuse)
    Whether fused functions are compiled, by GCC where it is in PATH, and on cuda by NVRTC: true
    compiles those that run often, in the background; false none; "wait" each at its second call,
    which waits for the compiler. Sets it if mode is given; initially true, or what the variable
    GPUSH_FUSE_COMPILE says (0, wait). Results are the same bits. Also gives a table: how many
    programs were compiled, loaded from the folder gpush/fused of XDG_CACHE_HOME (~/.cache), are
    being compiled (running) and failed, and why the last one did.
    > local mode, n = fuse_compile()
    > return n.failed
    --> 0
capture | capture(fn) (see fuse, profile, optim)
    Returns fn as a function whose first call, or two, run fn and record its ops; later calls replay
    them, as a list on the cpu and sim, as graphs on cuda. A replay has new inputs, results,
    gradients and random numbers, and the optimizer's current options; a whole training step can be
    captured. Anything that would make a replay differ from fn is an error with its line: other
    shapes, dtypes, devices or layouts, values of tensors that are read, a changed upvalue or field,
    a tensor that fn keeps. fn gives tensors, numbers, strings, booleans or nil.
    > local w = ones(2)
    > local step = capture(function(x) w:add_(x) return w:sum() end)
    > for i = 1, 3 do step(ones(2)) end
    > return step(ones(2))
    --> tensor(10.0, f32 scalar cpu)
fork | fork(fn, …) (see wait, stream)
    Calls fn at once, but queues its ops, and those of its backward, on streams of their own, where
    they run beside other work. Returns a future for wait, with the methods f:done() and f:wait().
    Nothing waits: an op starts after those that make its operands. On the cpu the streams are
    threads, one for each processor, and each op uses one. An error of fn is raised by fork at once;
    one of an op (an index out of range) by whatever reads a result, such as item or print, by
    synchronize, on the cpu by wait.
    > local x = ones(3, {device = "sim"}); local f = fork(function(a)
    > return a:neg() end, x); return (x + wait(f)):sum():item()
    --> 0.0
wait | wait(future) (see fork, synchronize)
    Returns what the function given to fork returned; wait{f, g} a list of the first value of each.
    On a device the host does not wait: ops start after those that make their operands, and an error
    is raised where a value is read. On the cpu it waits for the fork (sync: join), and raises its
    errors; within another fork, its worker does.
    waits: on the cpu for the fork; sync counts it as a join, which is never refused
    > local l = {}; for i = 1, 4 do l[i] = fork(ones, 2) end return stack(wait(l)):sum():item()
    --> 8.0
current_stream | current_stream([device]) (see stream)
    The stream that ops of this thread go to.
memory | memory([device]) (see alive, empty_cache, reset_peak, cuda.memory_summary)
    Bytes in use, their peak, what is cached, the limit, and counts, as a table.
    > memory("cpu").in_use >= 0 --> true
alive | alive() (see memory, profile.memory)
    The memory in use now, on all devices, by the line that allocated it: a list that prints as a
    table, with device, file, line, blocks, bytes. Blocks below 1 MiB are one row without a line.
    Garbage that is not collected yet counts as alive; collectgarbage() before it avoids that.
    > local x = ones(1024, 1024); return #alive() > 0 --> true
empty_cache | empty_cache([device]) (see memory)
    Frees the memory that is kept for the next tensors.
reset_peak | reset_peak([device]) (see memory)
    Restarts the count of the peak of memory in use.
threads | threads([n]) (see data, deterministic)
    How many threads an op on the cpu uses; sets it if n is given.
    > threads() > 0 --> true
deterministic | deterministic([on]) (see threads, manual_seed, cuda.deterministic)
    Whether the cpu's results are the same bits for any number of threads; sets it if on is given.
    Initially off. BLAS and LAPACK then use one thread for a product or a factorization; matrices of
    a batch are still divided among all.
    > deterministic() --> false
cuda_routes | cuda_routes([text]) (see cuda.linalg_routes)
    The table of linear algebra's routines on CUDA: its rows, where it is from, and the routine that
    was chosen last, after the text of another came in its place, or "" for its own: use
    cuda.linalg_routes.
cuda_setting | cuda_setting(name, [on]) (see cuda)
    Sets and returns what cuda.tf32, cuda.deterministic, cuda.benchmark and cuda.svd_driver set: use
    those.
grad (see backward)
    call: grad(outputs, inputs, [grad_outputs], [retain_graph=false], [create_graph=false],
        [allow_unused=false])
    The gradients of outputs for each of the inputs, as values; no tensor's grad changes.
    options: retain_graph: what backward needs is kept for another one; create_graph: the gradients
        can be differentiated again; allow_unused: nil, not an error, for an input that the outputs
        do not use
    > local x = tensor({3.0}, {requires_grad = true}) return grad((x * x):sum(), x)
    --> tensor({6.0}, f32 1 cpu)
no_grad | no_grad([fn, …]) (see enable_grad, inference, detach)
    Nothing is recorded for backward while fn runs, or until the value is closed, local _ <close> =
    no_grad(), or collected: without a variable it may be at any time.
    > local x = ones(2):requires_grad_() return no_grad(function() return (x * 2).requires_grad end)
    --> false
enable_grad | enable_grad([fn, …]) (see no_grad)
    Turns recording on again inside no_grad.
inference | inference([fn, …]) (see no_grad)
    The same as no_grad.
is_grad_enabled | is_grad_enabled() (see no_grad)
    Whether ops are recorded for backward here.
    > no_grad(is_grad_enabled) --> false
autocast | autocast(dtype or {dtype =, enabled =, cache =} [, fn, …])
    Ops choose their dtype while fn runs, or until the value is closed: matmul, linear, conv, lstm
    and their like take f16 or bf16; exp, log, pow, sum, softmax, norms and losses f32; cat, dot and
    addcmul the widest they are given; all others what they get. The lists are PyTorch's for CUDA,
    on every device. Parameters stay f32 and are converted once. Call backward after it.
    options: dtype: 'f16' or 'bf16', that of the scope around or bf16 if not given; enabled: false
        turns it off within; cache: false converts parameters at every use
    > autocast("bf16", function()
    > local y = ones(2, 2):matmul(ones(2, 2))
    > return y.dtype .. " " .. y:exp().dtype
    > end)
    --> bf16 f32
    see: get_autocast_dtype, no_grad
is_autocast_enabled | is_autocast_enabled() (see autocast)
    Whether ops choose their dtype here.
    > autocast("f16", is_autocast_enabled) --> true
get_autocast_dtype | get_autocast_dtype() (see autocast)
    The dtype that autocast converts to here, or nil.
    > autocast("f16", get_autocast_dtype) --> f16
autograd.autocast_as | autograd.autocast_as(dtype, fn, …) (see autocast, autograd.checkpoint)
    fn under autocast as it was where get_autocast_dtype gave dtype (nil: none), with conversions of
    its own. For autograd.checkpoint.
autograd (see backward, grad)
    What stands beside backward and grad: autograd.checkpoint (less memory), autograd.gradcheck,
    autograd.detect_anomaly, autograd.node (a backward of your own).
autograd.node | autograd.node(inputs, outputs, backward) (see backward, no_grad)
    A function with a backward of its own: outputs, which were made without recording, become
    results of inputs; backward(gradients …) gives a gradient for each input.
    > local x = tensor({2.0}, {requires_grad = true})
    > local y = no_grad(function() return x ^ 3 end)
    > autograd.node({x}, {y}, function(g) return g * 3 * x:detach() ^ 2 end)
    > y:sum():backward() return x.grad
    --> tensor({12.0}, f32 1 cpu)
autograd.detect_anomaly | autograd.detect_anomaly([fn, …]) (see nan.watch, backward)
    While it holds, a backward that makes a NaN is an error that names the forward op and its line;
    slow, as each check is a wait. nan.watch has one, at its end.
    waits: in backward, for each gradient
autograd.gradcheck
    waits: for the differences of each element
autograd.gradgradcheck
    waits: for the differences of each element
autograd.apart | autograd.apart() (see grad, autograd.checkpoint)
    Within a backward: whether it leaves the leaves' grad alone, as grad() does. For
    autograd.checkpoint.
get_rng_state | get_rng_state() (see set_rng_state, manual_seed)
    What the next random op draws from, as a table.
set_rng_state | set_rng_state(state) (see get_rng_state, manual_seed)
    Random numbers go on from where get_rng_state was called.
    > local s = get_rng_state() local a = rand(3) set_rng_state(s) return equal(a, rand(3)) --> true
clock | clock() (see timeit, synchronize)
    Seconds on a steady clock: take the difference of two. It does not wait for devices: timeit
    does.
compare | compare({name = fn, …}, [{n=, device=, print=false}]) (see timeit, profile)
    Times several functions turn by turn: their figures with ratios, which print as a table; waits
    for devices as timeit does. Measured times and a modelled card's get no ratio, nor do times
    that are at least so; "unclear" is one within 5 % or the times' spread.
    options: n: number of calls; print: print the result at once; device: device to wait for
    waits: for each run, so that device time counts
    > compare({a = function() end}, {n = 1}).a.time >= 0 --> true
linalg (see matmul, einsum, fft)
    Linear algebra: linalg.svd, linalg.solve, linalg.eigh … by PyTorch's names.
fft (see fft.fft, fft.rfft)
    Fourier transforms; complex numbers are a last dim of size 2, real and imaginary part.
npy (see npz, safetensors)
    NumPy's files of one array: npy.load(file), npy.save(file, x).
npy.load | npy.load(file) (see npy.save, npz)
    The array in a .npy file, as a tensor on the cpu.
npy.save | npy.save(file, x) (see npy.load)
    Writes a tensor as a .npy file, which is replaced once all is written.
    waits: for x
    > local f = os.tmpname() npy.save(f, tensor{1, 2}) local x = npy.load(f) os.remove(f) return x
    --> tensor({1, 2}, i64 2 cpu)
to_dlpack | to_dlpack(x, [versioned=true], [stream]) (see from_dlpack, detach)
    x's memory for another library of the process, without a copy: a capsule, which owns it until
    from_dlpack or capsule:pointer() takes it over. Either side may free its tensor first. What the
    other writes is in x at once, unseen by backward; the simulated device has no such memory.
    options: versioned: by DLPack 1.0; false: by the older form; stream: on cuda the other's stream,
        which then waits in the host's place: 1 the legacy default one, 2 the per-thread one, or its
        address; -1: none
    waits: for x, where its work is queued and no stream is given
    > local c <close> = ones(2):to_dlpack() return from_dlpack(c)
    --> tensor({1.0, 1.0}, f32 2 cpu)
from_dlpack | from_dlpack(capsule or address, [versioned], [stream], [copy]) (see to_dlpack)
    A tensor over the memory of another library, which frees its own once the last view of that
    tensor is gone. An address that was refused is still the caller's.
    options: versioned: of an address: true for DLPack 1.0, also if not given, false for the older
        form; stream: on cuda the other's stream, after whose work gpush's comes, 1 if not given;
        copy: true: a copy; false: an error in place of one; if not given, one is made of memory
        that may only be read
    > from_dlpack(tensor({1, 2}):to_dlpack()) --> tensor({1, 2}, i64 2 cpu)
npz (see npy, safetensors)
    NumPy's files of several arrays by name: npz.load(file), npz.save(file, {name = x}).
npz.load | npz.load(file, [max_bytes=4294967296]) (see npz.save)
    A table of the arrays in a .npz file by name, on the cpu.
    options: max_bytes: limit of the unpacked bytes; arrays no larger than the file are always read
npz.save | npz.save(file, {name = x, …}, [compressed=false]) (see npz.load)
    Writes tensors by name as a .npz file, which is replaced once all is written.
    options: compressed: makes the file smaller
    waits: for each tensor
safetensors (see checkpoint, npz)
    Tensors by name, and texts, in a file that holds no code: safetensors.load(file),
    safetensors.save(file, {name = x}).
safetensors.load | safetensors.load(file) (see safetensors.save)
    A table of the tensors by name, on the cpu, and one of the file's texts. The file is mapped:
    only what is used is read.
safetensors.save | safetensors.save(file, {name = x, …}, [metadata])
    Writes tensors by name, and replaces the file once all is written.
    options: metadata: texts by name
    waits: for each tensor
    see: safetensors.load, checkpoint
image.load | image.load(file, [dtype="u8"], [channels], [max_pixels=268435456])
    A PNG file as channels x height x width on the cpu: u8 0 to 255 (fewer bits are stretched, 16
    rounded), f32 0 to 1, i32 as stored: 0 to 1, 3, 15, 255 or 65535 by the bits of the file.
    options: dtype: u8, f32 or i32; channels: 1, 2, 3 or 4, converted; those of the file if not
        given; max_pixels: limit of the picture's pixels
    see: image.save, imshow
image.save | image.save(file, x, [bits=8]) (see image.load, imshow)
    Writes height x width or channels x height x width as a PNG file; u8 0 to 255, floats 0 to 1,
    bool.
    options: bits: 8 or 16 for each number
    waits: for x
json (see safetensors)
    JSON: json.encode(value), json.decode(text), json.null.
json.encode | json.encode(value) (see json.decode)
    The value as text: keys are sorted, floats keep all their digits. An empty table is an object,
    or an array if its metatable has __jsontype = 'array'.
    > json.encode {a = {1, 2}} --> {"a":[1,2]}
json.decode | json.decode(text) (see json.encode)
    Tables, numbers, booleans and strings; null is json.null.
    > json.decode('[1, 2]')[2] --> 2
terminal | terminal([query]) (see is_terminal)
    How many columns the terminal on standard output has, nil where it is none; or what it answers
    to a query.
is_terminal | is_terminal(file) (see terminal)
    Whether a file of io is a terminal that can do more than print.
json.null (see json)
    What JSON's null is in a table, which cannot hold nil.
]==]
