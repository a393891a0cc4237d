--!plain
-- Longer help texts; those of most ops are in the other files here, by group. `call`, of what has
-- no signature: how it is called. `options` (name: what it is; …) are also what Tab says
-- (options.lua of those that are not there). `example` is run by tests/scripts/help.lua: what
-- follows --> is what the line before it shows.
local require = ...
local topics = {
    -- The start page: groups of names.
    {
        { "make", "tensor zeros ones full arange linspace eye rand randn randint" },
        { "change shape", "reshape permute transpose squeeze cat stack split pad" },
        { "compute", "+ - * / exp log sqrt where clamp matmul einsum conv2d linalg fft" },
        { "reduce", "sum mean max argmax std any all norm cumsum sort topk" },
        { "learn", "backward grad no_grad nn optim data cross_entropy" },
        { "watch", "sync profile timeit compare memory" },
        { "look", "plot hist heatmap imshow printoptions" },
    },
    tensor = {
        text = "A tensor of the numbers in nested tables; f32 where one of them has a point, else \z
            i64, or bool.",
        options = "dtype: their type; device: where it is; requires_grad: backward gives it a \z
            gradient",
        example = "tensor({{1, 2}, {3, 4}}):sum(1)\n--> tensor({4, 6}, i64 2 cpu)",
        see = "zeros, arange, npy, image" },
    zeros = {
        shapes = "the result has the shape given, as numbers or a list",
        example = "zeros(2, 3, {dtype = \"i32\"})\n--> tensor({{0, 0, 0},\n-->         {0, 0, \z
            0}}, i32 2x3 cpu)", see = "ones, full, empty" },
    arange = {
        text = "The end is included, as in every range of Lua's: PyTorch's arange(n) is arange(0, \z
            n - 1), and its indices are arange(1, n).",
        shapes = "the result: one dim, a number for each step from start to end",
        example = "arange(1, 5)\n--> tensor({1, 2, 3, 4, 5}, i64 5 cpu)",
        see = "linspace" },
    randn = {
        text = "The same seed gives the same numbers on every device and with any number of \z
            threads.",
        shapes = "the result has the shape given, as numbers or a list",
        example = "manual_seed(1) local a = randn(3) manual_seed(1) return equal(a, \z
            randn(3))\n--> true", see = "rand, randint, manual_seed" },
    sum = {
        text = "Over all elements, one dim or several; dims count from 1, or from the end with \z
            -1. keepdim keeps them with size 1.",
        example = "arange(1, 6):reshape(2, 3):sum(-1)\n--> tensor({ 6, 15}, i64 2 cpu)",
        see = "mean, cumsum, prod, logsumexp" },
    mean = { example = "tensor{1.0, 2.0, 6.0}:mean()\n--> tensor(3.0, f32 scalar cpu)",
        see = "sum, var, std, median" },
    max = { text = "Of all elements; or along a dim, with the places too.",
        shapes = "x: any; the result is a scalar, or with dim two that have the dims left; \z
            keepdim keeps it as 1",
        example = "local v, at = tensor({3, 9, 4}):max(1) return at\n--> tensor(2, i64 scalar cpu)",
        see = "min, argmax, amax, topk" },
    cat = { shapes = "all dims equal but the one they are joined along",
        example = "cat({ones(1, 2), zeros(1, 2)}, 1)\n--> tensor({{1.0, 1.0},\n-->         {0.0, \z
            0.0}}, f32 2x2 cpu)", see = "stack, split" },
    reshape = {
        text = "A view where the memory allows it, else a copy; one dim may be -1, the rest.",
        shapes = "x: any; the result has the shape given, with as many elements",
        example = "arange(1, 6):reshape(2, -1)\n--> tensor({{1, 2, 3},\n-->         {4, 5, 6}}, \z
            i64 2x3 cpu)", see = "view, permute, flatten" },
    sync = {
        text = "Who waited for a device, why and for how long: sync.report(), sync.warn = true, \z
            sync.mode = \"error\", sync.allow, sync.budget.",
        example = "sync.mode\n--> off", see = "profile, timeit" },
    ["profile.run"] = { text = "Records what a function does; its results go into the profile's.",
        options = "stack: the calls that led to each op, or how many of them, up to 32; memory: \z
            what was allocated; shapes: of the operands; limit: events that are kept; flops: \z
            operations and bytes of each op, and rates; lua: where the script itself is, every \z
            millisecond, by function and line",
        example = "#profile.run({shapes = true}, function() return ones(2) + 1 end):rows() > \z
            0\n--> true",
        waits = "at the end, for the devices", see = "profile" },
    ["profile.schedule"] = { text = "Records some steps of a loop that calls its step().",
        options = "skip_first: steps left out once; wait: steps left out in each round; warmup: \z
            steps recorded and dropped; active: steps kept, each as a region 'step N'; repeats: \z
            how often, 0 is without end; on_trace_ready: is called with each profile; \z
            stack: the calls that led to each op, or how many of them; memory: what was \z
            allocated; shapes: of the operands; limit: events that are kept; flops: operations \z
            and bytes of each op; lua: where the script itself is, every millisecond",
        see = "profile.run" },
    ["profile.start"] = { text = "Begins to record, with profile.run's options.",
        see = "profile.stop" },
    ["profile.stop"] = { text = "Ends recording and gives the profile.",
        waits = "for the devices, so that their last op is timed", see = "profile.start" },
    ["profile.load"] = { text = "The profile in a file: one that prof:save wrote, or a trace of \z
            torch.profiler (CUDA or ROCm, packed or not). It answers as any other does. A list \z
            of files is those of a job's ranks, which become one profile.",
        options = "max_bytes: limit of the file's unpacked bytes, 1 GiB when not given",
        raises = "when the file is damaged or has more bytes; the message says where",
        see = "profile.save" },
    ["profile.region"] = {
        text = "What runs until the value is closed, or in a function, is a row of its own: local \z
            _ <close> = profile.region 'SVD'.", see = "profile" },
    ["profile.record_function"] = { text = "profile.region by PyTorch's name.",
        see = "profile.region" },
    sim = {
        text = "The simulated device, and the card that it stands in for: sim.card = 'h200'. \z
            Results stay real and are computed by the processor; times are the bound of the \z
            card's data sheet, over the share of it that was measured, where it was: \z
            sim.measured says where. Its memory is the card's, too.",
        example = "sim.card\n--> nil", see = "sim.card, sim.host, sim.measured, timeit" },
    ["sim.measured"] = {
        text = "Whether a modelled card's time for an op, such as 'linalg.svd', is of a share of \z
            the card's bound that was measured on it; false: it is the bound, the least that the \z
            card can take, and says nothing of what is faster. nil where no card is modelled.",
        example = "sim.measured 'add'\n--> nil", see = "sim.card, sim.cards" },
    ["sim.card"] = {
        text = "The card that sim stands in for: 'h200', 'h100', 'a100', 'v100', 'mi250' (one \z
            of its two dies), 't4', a table of figures ({like = 'h200', bandwidth = 1e12}), or \z
            nil. While there is one, the host's clock stands still when the processor plays the \z
            card, and jumps where the host waits.",
        see = "sim.cards, sim.host" },
    ["sim.host"] = {
        text = "Seconds that the host takes for each op while sim stands in for a card, as 8e-6 \z
            for PyTorch's 8 us; nil: what it takes here. With it a run's times are the same on \z
            every machine: the cpu's own work, such as a loader's, takes its bytes and \z
            operations over fixed rates, an instruction of Lua 3 ns (sim.script), a call of \z
            clock() 50 ns; files and values of tables count, too.",
        see = "sim.card, sim.script, sim.loader" },
    ["sim.script"] = {
        text = "Seconds that an instruction of Lua takes where sim.host is set, 3e-9 at first, as \z
            measured on a Xeon; 0: none; nil: that again. Time in functions of C, such as \z
            string.format, is not counted, so that a script takes at least so long.",
        example = "sim.script\n--> 3e-09", see = "sim.host" },
    ["sim.loader"] = {
        text = "Seconds that a batch of a data.Loader takes the host, measured on some host, in \z
            place of what is counted where sim.host is set; nil: that. Workers divide it.",
        see = "sim.host" },
    ["sim.tf32"] = {
        text = "Whether products of f32 take the card's tf32 rate; their results do not change.",
        see = "sim.card" },
    ["sim.cards"] = {
        text = "The known cards and their figures, in bytes, operations and seconds.",
        example = "sim.cards().t4.bandwidth\n--> 320000000000.0", see = "sim.card" },
    ["sync.mode"] = {
        text = "What happens where the host waits for a device: 'off', nothing; 'warn', a line is \z
            printed, once a place; 'error', it is refused.", see = "sync" },
    ["sync.warn"] = {
        text = "Whether each place that waits is printed: true is sync.mode = 'warn', false 'off'.",
        see = "sync.mode" },
    ["sync.allow"] = {
        text = "Waits in a block, or a function, are allowed, with the reason: local _ <close> = \z
            sync.allow 'log the loss'.", see = "sync" },
    ["sync.error"] = {
        text = "In a block, or a function, this thread's waits are refused, whatever sync.mode \z
            is: local _ <close> = sync.error().", see = "sync.mode, sync.allow" },
    ["sync.warning"] = {
        text = "In a block, or a function, each place that waits is printed: local _ <close> = \z
            sync.warning().", see = "sync.mode" },
    ["sync.off"] = {
        text = "In a block, or a function, waits are neither printed nor refused: local _ \z
            <close> = sync.off(). sync.allow does so with a reason.",
        see = "sync.mode, sync.allow" },
    ["sync.baseline"] = {
        text = "The waits so far that a file lacks, as sync.lines has them; with {update = true} \z
            it writes them there. Lines are found by their text. gpush sync --baseline does so \z
            for a script.", see = "sync.lines" },
    ["sync.explain"] = {
        text = "Why something makes the host wait, and what to write instead: both are run on the \z
            device, with their times and results. A cause is any word of a warning or a table: \z
            \"to\", \"copy: to\", \"shape\". Without one, the list of them. With {run = false} it \z
            only shows the programs; with {print = false} it returns what was measured.",
        see = "sync.report" },
    ["sync.async"] = {
        text = "Calls fn(value, ...) with x's value in host memory once it has come, without a \z
            wait: at a later sync.async or sync.finish(), or at the program's end. What is logged \z
            so does not hold the device up.",
        see = "sync.finish, to" },
    ["sync.finish"] = {
        text = "Waits for all that was given to sync.async, and calls its functions.",
        waits = "for the values that have not come", see = "sync.async" },
    ["sync.report"] = {
        text = "Prints who waited for a device, by line: why, how often, how long, what leaving \z
            one wait out is worth at least (how long the device then idled), what to write \z
            instead.",
        see = "sync.lines, profile.verdict" },
    ["sync.lines"] = { text = "What sync.report prints, as a list of tables; times in seconds.",
        see = "sync.report" },
    ["sync.events"] = {
        text = "The last waits one by one, oldest first, and how many older ones are no longer \z
            known.", see = "sync.lines" },
    ["sync.calls"] = { text = "Calls of the device's runtime that may block, by line and function.",
        see = "sync.report" },
    ["sync.reset"] = { text = "Forgets all waits so far.", see = "sync.report" },
    ["sync.selftest"] = {
        text = "Provokes every kind of wait on this machine and says whether it was caught.",
        see = "sync" },
    ["sync.budget"] = {
        text = "An error at the end of a block that waited more often, or longer in all, than it \z
            may: local _ <close> = sync.budget{max = 2}. Waits that are allowed, the prompt's and \z
            those for a full queue are free.",
        options = "max: most waits; stall: most time in all of them, as '50us' or seconds; \z
            without either, no wait", see = "sync" },
    profile = {
        text = "profile.run(f) records what f does; print(prof:table()), prof:trace \z
            \"step.json\". profile.region names a part.",
        example = "#profile.run(function() return ones(2) + 1 end):rows() > 0\n--> true",
        see = "timeit, sync" },
    timeit = {
        text = "What a call takes, the wait for devices included: median of several runs, host \z
            and device time apart; .kind: whether that is measured, modelled or CPU-backed.",
        options = "n: calls; print: at once, else print(timeit(f)); device: which is waited for",
        example = "timeit(function() return ones(2) + 1 end, {n = 1}).time > 0\n--> true",
        waits = "for each run, so that device time counts",
        see = "compare, profile" },
    printoptions = { text = "How tensors are shown.",
        options = "precision: digits after the point; threshold: elements of which all are \z
            shown; edgeitems: of a larger one, at each end; linewidth: columns",
        example = "printoptions().precision\n--> 4" },
    plot = {
        text = "Lines in the terminal: plot(y), or plot{x, y1, y2, …}; in pixels where it knows \z
            kitty's protocol or sixel. png = \"file.png\" writes a picture, of 640 x 400 pixels \z
            if width and height do not say otherwise. Options may stand in the first table: \z
            plot{x, y, title = \"loss\"}.",
        options = "title: above it; xlabel: below the x axis; ylabel: beside the y axis; legend: \z
            a name for each line; xlim: {least, largest} x that is shown; ylim: {least, largest} \z
            y; xlog: true for a logarithmic x axis; ylog: true for a logarithmic y axis; style: \z
            'lines' or 'points'; width: columns, or pixels; height: rows, or pixels; png: a file; \z
            text: the text as value",
        shapes = "vectors, or lists of numbers, all as long",
        waits = "for the elements", see = "hist, heatmap, imshow" },
    hist = {
        text = "How many elements fall into each of bins = 16 equal parts of their range, as \z
            bars; png = \"file.png\" writes a picture.",
        options = "bins: parts; title: above it; xlabel: below the x axis; ylabel: beside the y \z
            axis; width: columns, or pixels; height: rows, or pixels; png: a file; text: the text \z
            as value",
        waits = "for the elements", see = "plot, histc" },
    heatmap = {
        text = "A matrix in colours, from its least to its largest number; as a picture with a \z
            bar that says which is which. NaN is grey.",
        options = "title: above it; xlabel: below the columns; ylabel: beside the rows; width: \z
            columns, or pixels for the cells; height: rows, or pixels for the cells; png: a file; \z
            text: the text as value", shapes = "rows x columns",
        waits = "for the elements", see = "imshow, plot" },
    imshow = {
        text = "A picture: bytes, or floats from 0 to 1. Where the terminal knows kitty's \z
            protocol or sixel, in pixels, and a small one enlarged; a file gets it as it is.",
        options = "width: columns; height: rows; png: a file; text: the text as value",
        shapes = "h x w, 3 x h x w or h x w x 3",
        waits = "for the elements", see = "image, heatmap" },
    progress = {
        text = "A bar on a terminal for loops: for i in progress(n) do, for step, x, y in \z
            progress(loader) do, for i, v in progress(list) do.",
        example = "local s = 0 for i, v in progress{1, 2, 3} do s = s + v end return s\n--> 6",
        see = "data" },
    image = { text = "Pictures in PNG files: image.load(file), image.save(file, x).",
        see = "imshow" },
    nn = {
        text = "Layers: nn.Linear(3, 4) makes one, calling it runs it; nn.Sequential joins them; \z
            a class of your own is nn.module.", see = "optim, data" },
    optim = {
        text = "Optimisers over a table of parameters: optim.Adam(model:parameters(), {lr = \z
            1e-3}), then :step().", see = "nn, backward" },
    amp = { text = "Training in 16 bits: amp.GradScaler keeps small gradients of f16, autocast \z
        lets ops choose their dtype.", see = "autocast, optim" },
    data = { text = "Data sets and loaders that make batches, in threads where asked to.",
        see = "nn, optim" },
    cuda = {
        text = "The GPUs: cuda.is_available(), cuda.devices(), cuda.memory_summary(), \z
            cuda.synchronize(); and what NVIDIA's libraries may do: cuda.tf32(true), \z
            cuda.deterministic(false), cuda.benchmark(true), cuda.svd_driver \"gesvdj\" (and \z
            without a name, which one it was).",
        example = "#cuda.memory_summary 'sim' > 0\n--> true", see = "sync, profile" },
}

for _, group in ipairs { "shape", "reduce", "index", "linalg", "neural", "loss", "values", "module",
    "lua", "composites", "rows", "layers", "more_layers",
    "optim", "data", "dist", "guide", "tasks" }
do
    for name, topic in pairs(require("topics." .. group)) do
        topics[name] = topic
    end
end
return topics
