--!plain
-- Help texts of what the module has beside ops, classes and those of init.lua; their form:
-- init.lua.
local init_options = "a: slope below zero; mode: 'fan_in' or 'fan_out'; nonlinearity: 'relu', \z
    'leaky_relu', 'tanh' …"
local topics = {
    gpush = {
        text = "The module: what is global in the shell. In other programs local gpush = require \z
            \"gpush\".",
        see = "help, ops" },
    help = { call = "help([name or words or value], [{source = true}])",
        text = "What an op, a class or a value is, or what the words are found in; at the prompt \z
            ?name, x?, ??name.",
        options = "source: its source in place of the text",
        see = "ops" },
    ops = { call = "ops([all=false])",
        text = "The table of ops by name: signature, help, kind, whether it has a derivative; \z
            ops(true) has composites, too.",
        example = "ops().exp.grad\n--> yes",
        see = "help" },
    is_tensor = { call = "is_tensor(value)", text = "Whether the value is a tensor.",
        example = "is_tensor {1, 2}\n--> false",
        see = "tensor" },

    -- Devices and memory.
    devices = { call = "devices([kind])",
        text = "Names of the devices that were opened; with a kind, 'cuda', descriptions of those \z
            there are, and why there are none.",
        example = "devices()[1]\n--> cpu",
        see = "cuda, default_device" },
    default_device = { call = "default_device([device])",
        text = "Where new tensors are; sets it if one is given.",
        example = "default_device()\n--> cpu",
        see = "default_dtype, to" },
    default_dtype = { call = "default_dtype([dtype])",
        text = "The float dtype of new tensors; sets it if one is given.",
        example = "default_dtype()\n--> f32",
        see = "default_device, to" },
    synchronize = { call = "synchronize([device])",
        text = "Waits until a device, or every device, has done all that is queued; sync.report() \z
            counts it as explicit.",
        waits = "for all that is queued",
        see = "sync, stream" },
    stream = { call = "stream([device])",
        text = "A queue of its own on the device; ops go there while s:use() holds.",
        example = "local s = stream \"sim\"\n\z
            local y = s:use(function() return ones(2, {device = \"sim\"}) + 1 end)\n\z
            s:synchronize()\nreturn y:sum():item()\n--> 4.0",
        see = "current_stream, stream.use, synchronize" },
    fuse = { call = "fuse(fn)",
        text = "fn as a function that runs chains of elementwise ops, with a reduction at the \z
            end, as one op each, forward and backward. The first call with arguments of a kind \z
            (dtypes, dims, which sizes are 1; numbers by their values) runs fn and notes its ops; \z
            later ones run what was planned. fn is noted again when something that it reads \z
            changes: upvalues, fields of tables, globals. Reading a tensor's value in it is an \z
            error. Other ops run as they are, and long chains become several ops, of 40 steps \z
            each. What runs often is compiled; until then the ops run one by one on cuda, \z
            and always those of chains where an element may be an error (probabilities) or whose \z
            derivative has over 160 steps. Integer division is no step.",
        example = "local f = fuse(function(x, y) return relu(x * y + x) end) local x = ones(2) \z
            f(x, x) return f(x, -x * 3)\n--> tensor({0.0, 0.0}, f32 2 cpu)",
        see = "fuse_compile, timeit, compare, profile" },
    fuse_compile = { call = "fuse_compile([mode])",
        text = "Whether fused functions are compiled, by GCC where it is in PATH, and on cuda \z
            by NVRTC: true, those that run often, while they go on as before; false, none; \z
            \"wait\", each at its second call, which waits for the compiler. Sets it if mode is \z
            given; initially true, or what the variable GPUSH_FUSE_COMPILE says (0, wait). \z
            Results are the same bits. \z
            Also gives a table: how many programs were compiled, loaded from the folder \z
            gpush/fused of XDG_CACHE_HOME (~/.cache), are being compiled (running) and failed, \z
            and why the last one did.",
        example = "local mode, n = fuse_compile()\nreturn n.failed\n--> 0",
        see = "fuse" },
    capture = { call = "capture(fn)",
        text = "fn as a function whose first call, or two, run it and record its ops; later calls \z
            launch them again as they were resolved: a list on the cpu and sim, graphs on cuda. \z
            A replay has new inputs, results, gradients and random numbers, and an optimizer's \z
            options as they are then; a whole training step can be captured. What would make it \z
            differ from fn is an error with the line: other shapes, dtypes, devices or layouts, \z
            values of tensors that are read, a changed upvalue or field, a tensor that fn keeps. \z
            fn gives tensors, numbers, strings, booleans or nil.",
        example = "local w = ones(2)\n\z
            local step = capture(function(x) w:add_(x) return w:sum() end)\n\z
            for i = 1, 3 do step(ones(2)) end\n\z
            return step(ones(2))\n--> tensor(10.0, f32 \z
            scalar cpu)",
        see = "fuse, profile, optim" },
    fork = { call = "fork(fn, …)",
        text = "Calls fn at once, but its ops go to streams of their own, beside what is queued \z
            meanwhile, and so do those of its backward; gives a future for wait, which has \z
            f:done() and f:wait(), too. Nothing waits: ops follow those whose tensors they take. \z
            On the cpu the streams are threads, as many as processors, and each op uses one. An \z
            error of fn is raised by fork at once; one of an op (an index out of range) by \z
            whatever reads a result, such as item or print, by synchronize, on the cpu by wait.",
        example = "local x = ones(3, {device = \"sim\"}); local f = fork(function(a) return \z
            a:neg() end, x); return (x + wait(f)):sum():item()\n--> 0.0",
        see = "wait, stream" },
    wait = { call = "wait(future)",
        text = "What the function given to fork returned; wait{f, g} a list of the first value of \z
            each. On a device the host does not wait: whoever uses a tensor follows what makes \z
            it, and an error is raised where a value is read. On the cpu it waits for the fork \z
            (sync: join), and raises its errors; within another fork, its worker does.",
        waits = "on the cpu for the fork; sync counts it as a join, which is never refused",
        example = "local l = {}; for i = 1, 4 do l[i] = fork(ones, 2) end return \z
            stack(wait(l)):sum():item()\n--> 8.0",
        see = "fork, synchronize" },
    current_stream = { call = "current_stream([device])",
        text = "The stream that ops of this thread go to.",
        see = "stream" },
    memory = { call = "memory([device])",
        text = "Bytes in use, their peak, what is cached, the limit, and counts, as a table.",
        example = "memory(\"cpu\").in_use >= 0\n--> true",
        see = "alive, empty_cache, reset_peak, cuda.memory_summary" },
    alive = { call = "alive()",
        text = "What memory is in use now, on all devices, by the line that made it: a list that \z
            prints as a table, with device, file, line, blocks, bytes. Blocks below 1 MiB are \z
            one row without a line. What only waits for the collector is alive, too: \z
            collectgarbage() first leaves that out.",
        example = "local x = ones(1024, 1024); return #alive() > 0\n--> true",
        see = "memory, profile.memory" },
    empty_cache = { call = "empty_cache([device])",
        text = "Gives back memory that is kept for the next tensors.",
        see = "memory" },
    reset_peak = { call = "reset_peak([device])",
        text = "The peak of memory in use is counted from here.",
        see = "memory" },
    threads = { call = "threads([n])",
        text = "How many threads an op on the cpu uses; sets it if n is given.",
        example = "threads() > 0\n--> true",
        see = "data, deterministic" },
    deterministic = { call = "deterministic([on])",
        text = "Whether the cpu's results are the same bits for any number of threads; sets it if \z
            on is given. Initially off. BLAS and LAPACK then use one thread for a product or a \z
            factorization; matrices of a batch are still divided among all.",
        example = "deterministic()\n--> false",
        see = "threads, manual_seed, cuda.deterministic" },
    cuda_setting = { call = "cuda_setting(name, [on])",
        text = "Sets and gives what cuda.tf32, cuda.deterministic, cuda.benchmark and \z
            cuda.svd_driver set: use those.",
        see = "cuda" },
    ["cuda.device_count"] = { call = "cuda.device_count()", text = "How many GPUs there are.",
        see = "cuda.devices" },
    ["cuda.get_device_name"] = { call = "cuda.get_device_name([device])", text = "The GPU's model.",
        see = "cuda.devices" },
    ["cuda.get_device_capability"] = { call = "cuda.get_device_capability([device])",
        text = "The GPU's compute capability, as two numbers.",
        see = "cuda.devices" },
    ["cuda.synchronize"] = { call = "cuda.synchronize([device])",
        text = "Waits until the GPU has done all that is queued.",
        waits = "for all that is queued",
        see = "synchronize" },
    ["cuda.empty_cache"] = { call = "cuda.empty_cache([device])",
        text = "Gives back memory that is kept for the next tensors.",
        see = "empty_cache" },
    ["cuda.current_stream"] = { call = "cuda.current_stream([device])",
        text = "The stream that ops of this thread go to.",
        see = "current_stream" },
    ["cuda.stream"] = { call = "cuda.stream([device])", text = "A queue of its own on the GPU.",
        see = "stream" },
    ["cuda.memory_stats"] = { call = "cuda.memory_stats([device])",
        text = "Bytes in use, their peak, what is cached, the limit, and counts, as a table.",
        see = "memory, cuda.memory_summary" },
    ["cuda.memory_allocated"] = { call = "cuda.memory_allocated([device])",
        text = "Bytes in tensors that live.",
        see = "memory" },
    ["cuda.max_memory_allocated"] = { call = "cuda.max_memory_allocated([device])",
        text = "The most bytes that were in tensors at once.",
        see = "cuda.reset_peak_memory_stats" },
    ["cuda.memory_reserved"] = { call = "cuda.memory_reserved([device])",
        text = "Bytes in tensors and in the cache.",
        see = "cuda.empty_cache" },
    ["cuda.reset_peak_memory_stats"] = { call = "cuda.reset_peak_memory_stats([device])",
        text = "The peak is counted from here.",
        see = "reset_peak" },

    -- Gradients.
    grad = {
        call = "grad(outputs, inputs, [grad_outputs], [retain_graph=false], [create_graph=false], \z
            [allow_unused=false])",
        text = "The gradients of outputs for each of the inputs, as values; no tensor's grad \z
            changes.",
        options = "retain_graph: what backward needs is kept for another one; create_graph: the \z
            gradients can be differentiated again; allow_unused: nil, not an error, for an input \z
            that the outputs do not use",
        example = "local x = tensor({3.0}, {requires_grad = true}) return grad((x * x):sum(), \z
            x)\n--> tensor({6.0}, f32 1 cpu)",
        see = "backward" },
    no_grad = { call = "no_grad([fn, …])",
        text = "Nothing is recorded for backward while fn runs, or until the value is closed: \z
            local _ <close> = no_grad().",
        example = "local x = ones(2):requires_grad_() return no_grad(function() return (x * \z
            2).requires_grad end)\n--> false",
        see = "enable_grad, inference, detach" },
    enable_grad = { call = "enable_grad([fn, …])",
        text = "Recording is on again inside no_grad, as no_grad turns it off.",
        see = "no_grad" },
    inference = { call = "inference([fn, …])", text = "no_grad, by the name that says what for.",
        see = "no_grad" },
    is_grad_enabled = { call = "is_grad_enabled()",
        text = "Whether ops are recorded for backward here.",
        example = "no_grad(is_grad_enabled)\n--> false",
        see = "no_grad" },
    autocast = { call = "autocast(dtype or {dtype =, enabled =, cache =} [, fn, …])",
        text = "Ops choose their dtype while fn runs, or until the value is closed: matmul, \z
            linear, conv, lstm and their like take f16 or bf16; exp, log, pow, sum, softmax, \z
            norms and losses f32; cat, dot and addcmul the widest they are given; all others what \z
            they get. The lists are PyTorch's for CUDA, on every device. Parameters stay f32 and \z
            are converted once. Call backward after it.",
        options = "dtype: 'f16' or 'bf16', that of the scope around or bf16 if not given; \z
            enabled: false turns it off within; cache: false converts parameters at every use",
        example = "autocast(\"bf16\", function()\nlocal y = ones(2, 2):matmul(ones(2, 2))\n\z
            return y.dtype .. \" \" .. y:exp().dtype\nend)\n--> bf16 f32",
        see = "get_autocast_dtype, no_grad" },
    is_autocast_enabled = { call = "is_autocast_enabled()",
        text = "Whether ops choose their dtype here.",
        example = "autocast(\"f16\", is_autocast_enabled)\n--> true", see = "autocast" },
    get_autocast_dtype = { call = "get_autocast_dtype()",
        text = "The dtype that autocast converts to here, or nil.",
        example = "autocast(\"f16\", get_autocast_dtype)\n--> f16", see = "autocast" },
    ["autograd.autocast_as"] = { call = "autograd.autocast_as(dtype, fn, …)",
        text = "fn under autocast as it was where get_autocast_dtype gave dtype (nil: none), with \z
            conversions of its own. For autograd.checkpoint.",
        see = "autocast, autograd.checkpoint" },
    autograd = {
        text = "What stands beside backward and grad: autograd.checkpoint (less memory), \z
            autograd.gradcheck, autograd.detect_anomaly, autograd.node (a backward of your own).",
        see = "backward, grad" },
    ["autograd.node"] = { call = "autograd.node(inputs, outputs, backward)",
        text = "A function with a backward of its own: outputs, which were made without \z
            recording, become results of inputs; backward(gradients …) gives a gradient for \z
            each input.",
        example = [[
local x = tensor({2.0}, {requires_grad = true})
local y = no_grad(function() return x ^ 3 end)
autograd.node({x}, {y}, function(g) return g * 3 * x:detach() ^ 2 end)
y:sum():backward() return x.grad
--> tensor({12.0}, f32 1 cpu)]], see = "backward, no_grad" },
    ["autograd.detect_anomaly"] = { call = "autograd.detect_anomaly([fn, …])",
        text = "While it holds, a backward that makes a NaN is an error that names the forward op \z
            and its line; slow, as each check is a wait. nan.watch has none.",
        see = "nan.watch, backward" },
    ["autograd.apart"] = { call = "autograd.apart()",
        text = "Within a backward: whether it leaves the leaves' grad alone, as grad() does. For \z
            autograd.checkpoint.",
        see = "grad, autograd.checkpoint" },
    get_rng_state = { call = "get_rng_state()",
        text = "What the next random op draws from, as a table.",
        see = "set_rng_state, manual_seed" },
    set_rng_state = { call = "set_rng_state(state)",
        text = "Random numbers go on from where get_rng_state was called.",
        example = "local s = get_rng_state() local a = rand(3) set_rng_state(s) return equal(a, \z
            rand(3))\n--> true",
        see = "get_rng_state, manual_seed" },

    -- Time.
    clock = { call = "clock()",
        text = "Seconds since some moment, that pass evenly; the difference of two. It does not \z
            wait for devices: timeit does.",
        see = "timeit, synchronize" },
    compare = { call = "compare({name = fn, …}, [{n=, device=, print=false}])",
        text = "Times several functions turn by turn: their figures with ratios, which print as a \z
            table; waits for devices as timeit does. Measured times and a modelled card's get no \z
            ratio.",
        options = "n: calls; print: at once; device: which is waited for",
        example = "compare({a = function() end}, {n = 1}).a.time >= 0\n--> true",
        waits = "for each run, so that device time counts",
        see = "timeit, profile" },

    -- Groups and files.
    linalg = { text = "Linear algebra: linalg.svd, linalg.solve, linalg.eigh … by PyTorch's \z
        names.",
        see = "matmul, einsum, fft" },
    fft = {
        text = "Fourier transforms; complex numbers are a last dim of size 2, real and imaginary \z
            part.",
        see = "fft.fft, fft.rfft" },
    npy = { text = "NumPy's files of one array: npy.load(file), npy.save(file, x).",
        see = "npz, safetensors" },
    ["npy.load"] = { call = "npy.load(file)",
        text = "The array in a .npy file, as a tensor on the cpu.",
        see = "npy.save, npz" },
    ["npy.save"] = { call = "npy.save(file, x)",
        text = "Writes a tensor as a .npy file, which is replaced once all is written.",
        example = "local f = os.tmpname() npy.save(f, tensor{1, 2}) local x = npy.load(f) \z
            os.remove(f) return x\n--> tensor({1, 2}, i64 2 cpu)",
        waits = "for x",
        see = "npy.load" },
    npz = {
        text = "NumPy's files of several arrays by name: npz.load(file), npz.save(file, {name = \z
            x}).",
        see = "npy, safetensors" },
    ["npz.load"] = { call = "npz.load(file, [max_bytes=4294967296])",
        text = "A table of the arrays in a .npz file by name, on the cpu.",
        options = "max_bytes: the most that the arrays may unpack to; those that are not larger \z
            than the file are read in any case",
        see = "npz.save" },
    ["npz.save"] = { call = "npz.save(file, {name = x, …}, [compressed=false])",
        text = "Writes tensors by name as a .npz file, which is replaced once all is written.",
        options = "compressed: makes the file smaller",
        waits = "for each tensor",
        see = "npz.load" },
    safetensors = {
        text = "Tensors by name, and texts, in a file that holds no code: safetensors.load(file), \z
            safetensors.save(file, {name = x}).",
        see = "checkpoint, npz" },
    ["safetensors.load"] = { call = "safetensors.load(file)",
        text = "A table of the tensors by name, on the cpu, and one of the file's texts. The file \z
            is mapped: only what is used is read.",
        see = "safetensors.save" },
    ["safetensors.save"] = { call = "safetensors.save(file, {name = x, …}, [metadata])",
        text = "Writes tensors by name, and replaces the file once all is written.",
        options = "metadata: texts by name",
        waits = "for each tensor",
        see = "safetensors.load, checkpoint" },
    ["image.load"] = { call = "image.load(file, [dtype=\"u8\"], [channels], \z
            [max_pixels=268435456])",
        text = "A PNG file as channels x height x width on the cpu: u8 0 to 255 (fewer bits are \z
            stretched, 16 rounded), f32 0 to 1, i32 as stored: 0 to 1, 3, 15, 255 or 65535 by the \z
            bits of the file.",
        options = "dtype: u8, f32 or i32; channels: 1, 2, 3 or 4, converted; those of the file if \z
            not given; max_pixels: the most that are read",
        see = "image.save, imshow" },
    ["image.save"] = { call = "image.save(file, x, [bits=8])",
        text = "Writes height x width or channels x height x width as a PNG file; u8 0 to 255, \z
            floats 0 to 1, bool.",
        options = "bits: 8 or 16 for each number",
        waits = "for x",
        see = "image.load, imshow" },
    json = { text = "JSON: json.encode(value), json.decode(text), json.null.",
        see = "safetensors" },
    ["json.encode"] = { call = "json.encode(value)",
        text = "The value as text: keys are sorted, floats keep all their digits.",
        example = "json.encode {a = {1, 2}}\n--> {\"a\":[1,2]}",
        see = "json.decode" },
    ["json.decode"] = { call = "json.decode(text)",
        text = "Tables, numbers, booleans and strings; null is json.null.",
        example = "json.decode('[1, 2]')[2]\n--> 2",
        see = "json.encode" },
    checkpoint = {
        text = "A training run in one safetensors file: checkpoint.save(file, {model = m, \z
            optimizer = o}), checkpoint.load; or in a file for each rank of a job.",
        see = "safetensors, nn, optim" },

    -- The terminal.
    terminal = { call = "terminal([query])",
        text = "How many columns the terminal on standard output has, nil where it is none; or \z
            what it answers to a query.",
        see = "is_terminal" },
    is_terminal = { call = "is_terminal(file)",
        text = "Whether a file of io is a terminal that can do more than print.",
        see = "terminal" },

    -- Classes and what is for writing more of them.
    ["nn.Module"] = {
        text = "The methods of all modules: parameters, to, train, eval, state_dict … ; a class \z
            of your own is nn.module \"Name\".",
        see = "nn, nn.module" },
    ["nn.Identity"] = { call = "nn.Identity()",
        text = "Gives what it gets; a stand-in for any layer.",
        shapes = "x: any; the result is x",
        example = "nn.Identity()(tensor{1, 2})\n--> tensor({1, 2}, i64 2 cpu)",
        see = "nn.Sequential" },
    ["nn.TransformerEncoder"] = {
        options = "make: a function that gives a layer; num_layers: how many; norm: a module \z
            after the last",
        shapes = "x: what the layers take; the result: what they give",
        example = "local make = function() return nn.TransformerEncoderLayer(4, 2) end\nreturn \z
            table.concat(nn.TransformerEncoder(make, 2)(ones(3, 2, 4)).shape, \"x\")\n--> 3x2x4",
        see = "nn.TransformerEncoderLayer" },
    ["nn.is_module"] = { call = "nn.is_module(value)",
        text = "Whether the value is a module, not a class of them.",
        see = "nn.module" },
    ["nn.shape_text"] = { call = "nn.shape_text(x)",
        text = "The shape as messages show it: \"2x3\", or \"scalar\".",
        example = "nn.shape_text(ones(2, 3))\n--> 2x3",
        see = "nn.fail" },
    ["nn.raise"] = { call = "nn.raise(format, …)",
        text = "An error at the line of the script that called, not inside the layer.",
        see = "nn.fail" },
    ["optim.raise"] = { call = "optim.raise(format, …)",
        text = "An error at the line of the script that called, not inside the optimizer.",
        see = "optim.define" },
    ["data.raise"] = { call = "data.raise(text)",
        text = "An error at the line of the script that called, not inside the loader.",
        see = "data" },
    ["optim.check_positive"] = { call = "optim.check_positive(group, fail, name, …)",
        text = "For check functions of optim.define: these options must be 0 or more.",
        see = "optim.define" },
    ["optim.lr"] = {
        text = "Schedules, which change learning rates as training goes on: s = \z
            optim.lr.StepLR(opt, 30), then s:step() after each epoch.",
        see = "optim.lr.StepLR, optim.lr.CosineAnnealingLR, optim.lr.OneCycleLR" },
    ["optim.lr_scheduler"] = { text = "optim.lr by PyTorch's name.", see = "optim.lr" },

    -- What members of these names are in all classes of an area.
    ["nn.any.init"] = {
        text = "Called when a module is made, with its arguments: assigns parameters and layers.",
        see = "nn.module" },
    ["nn.any.forward"] = { text = "What calling the module runs; model(x) also runs hooks.",
        see = "nn.module" },
    ["nn.any.extra_repr"] = {
        text = "The module's text inside the brackets of its line in a printed tree." },
    ["nn.any.append"] = { text = "Puts a module at the end; returns the list.",
        see = "nn.Sequential" },
    ["nn.any.buffers"] = { text = "The tensors that it keeps beside parameters, as a list." },
    ["nn.any.named_buffers"] = { text = "for name, tensor in model:named_buffers() do … end." },
    ["nn.any.children"] = { text = "Its own modules, without theirs." },
    ["nn.any.modules"] = { text = "It and all modules below it." },
    ["nn.any.eval"] = {
        text = "For use: dropout does nothing, norms take the statistics that they have; returns \z
            the model." },
    ["nn.any.requires_grad_"] = {
        text = "All parameters learn, or with false none; returns the model.",
        see = "requires_grad_" },
    ["nn.init"] = {
        text = "How parameters start: each function writes its tensor in place, records nothing \z
            and returns it.",
        see = "nn.init.kaiming_uniform_, nn.init.xavier_uniform_" },
    ["nn.init.uniform_"] = { options = "a: the least; b: the most" },
    ["nn.init.trunc_normal_"] = {
        options = "mean: the middle; std: how wide it spreads; a: the least; b: the most" },
    ["nn.init.kaiming_uniform_"] = { options = init_options },
    ["nn.init.kaiming_normal_"] = { options = init_options },
    ["optim.any.add_param_group"] = {
        text = "Another group of parameters: opt:add_param_group {params = …, lr = …}." },
    ["optim.any.check"] = { text = "Raises where options do not fit; called for each group.",
        see = "optim.define" },
    ["optim.any.fill"] = { text = "Gives options that a signature cannot their defaults.",
        see = "optim.define" },
    ["optim.any.key"] = { text = "What parameters of one launch share.", see = "optim.define" },
    ["optim.any.launch"] = { text = "One launch of the optimizer's op for lists of parameters.",
        see = "optim.define" },
    ["optim.any.slots"] = { text = "Names of the tensors that are kept for each parameter.",
        see = "optim.define" },
    ["optim.any.rate"] = { text = "A group's learning rate after so many steps.",
        see = "optim.lr" },
    ["optim.any.begin"] = { text = "Called when a schedule is made.", see = "optim.lr" },
    ["optim.any.check_state_dict"] = {
        text = "Raises if dict is not the state of such an optimizer or schedule." },
    ["data.Dataset"] = {
        shapes = "a sample: what get gives; a loader puts a dim in front",
        example = "local ds = data.Dataset{size = 3, get = function(self, i) return \z
            tensor{i, i * i} end}\nreturn ds[3]\n--> tensor({3, 9}, i64 2 cpu)",
        see = "data.Loader" },
    ["data.TensorDataset"] = {
        shapes = "tensors: n x any; sample i: those without the first dim",
        example = "local ds = data.TensorDataset(tensor({{1, 2}, {3, 4}}), tensor{5, \z
            6})\nlocal x, y = ds:get(2) return y\n--> tensor(6, i64 scalar cpu)",
        see = "data.Loader" },
    ["data.ImageFolder"] = {
        shapes = "a sample: channels x height x width and a number, or what transform gives",
        example = "local folder = os.tmpname() os.remove(folder)\nos.execute(\"mkdir -p \" .. \z
            folder .. \"/cat\")\nimage.save(folder .. \"/cat/1.png\", zeros(3, 4, 4))\nreturn \z
            data.ImageFolder(folder).classes[1]\n--> cat",
        see = "data.Loader, data.transforms" },
    ["data.Loader"] = {
        shapes = "a batch: batch x a sample's shape; the last one may be smaller",
        example = "local ds = data.TensorDataset(arange(1, 5):reshape(5, 1))\nlocal \z
            sizes = {}\nfor step, x in data.Loader({ds, batch = 2})() do sizes[step] = #x \z
            end\nreturn table.concat(sizes, \" \")\n--> 2 2 1",
        waits = "for a worker where none has a batch ready, which is no wait for a device",
        see = "data.Dataset, data.TensorDataset" },
    ["data.any.get"] = { text = "A sample as one or several values, by its index.",
        see = "data.Dataset" },
    ["data.any.report"] = { text = "Who waits for whom, and how many workers would do.",
        see = "data.Loader" },
    ["data.transforms"] = {
        text = "Functions of an image, channels x height x width, to be composed: \z
            data.transforms.Compose {…}.",
        shapes = "x: channels x height x width, with any leading dims",
        example = "local crop = data.transforms.CenterCrop(2)\nreturn \z
            table.concat(crop(zeros(3, 4, 4)).shape, \"x\")\n--> 3x2x2",
        see = "data.ImageFolder" },
    ["data.transforms.RandomHorizontalFlip"] =
        { call = "data.transforms.RandomHorizontalFlip([p=0.5])",
            text = "Left and right exchanged, as often as p says." },
    ["data.transforms.RandomVerticalFlip"] =
        { call = "data.transforms.RandomVerticalFlip([p=0.5])",
            text = "Top and bottom exchanged, as often as p says." },
    ["json.null"] = { text = "What JSON's null is in a table, which cannot hold nil.",
        see = "json" },
}
for name, to in pairs { double = "of f64", float = "of f32", half = "of f16", bfloat16 = "of bf16",
    cpu = "on the cpu",
    cuda = "on the first NVIDIA GPU", gpu = "on the GPU, or on sim where there is none" } do
    topics["nn.any." ..
        name] = { text = ("Its parameters and buffers become new ones %s; returns the model.")
            :format(to),
        see = "to" }
end
return topics
