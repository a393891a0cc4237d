--!plain
-- Help texts of what a tensor, a stream, an event or a profile has beside ops: properties
-- ("tensor.shape") and methods that are no rows of the op table. `call` is how it is called; the
-- rest of the form: init.lua.
local topics = {
    -- Properties of tensors: x.shape.
    ["tensor.shape"] = { call = "x.shape",
        text = "The sizes of the dims, as a list that == compares by what it holds. Nothing \z
            waits: the host knows them. for i, part in ipairs(x) walks the first.",
        example = "zeros(2, 3).shape == {2, 3}\n--> true",
        see = "size, ndim, reshape" },
    ["tensor.dtype"] = { call = "x.dtype",
        text = "The elements' type: f64 f32 f16 bf16 i64 i32 i16 i8 u8 or bool.",
        example = "tensor{1, 2}.dtype\n--> i64",
        see = "to, default_dtype" },
    ["tensor.device"] = { call = "x.device", text = "Where the elements are: cpu, sim:0, cuda:0 …",
        example = "ones(2).device\n--> cpu",
        see = "to, devices" },
    ["tensor.ndim"] = { call = "x.ndim", text = "How many dims there are.",
        example = "ones(2, 3).ndim\n--> 2",
        see = "dim, shape" },
    ["tensor.T"] = { call = "x.T",
        text = "A view with the dims in reverse order, as NumPy's: a matrix transposed.",
        example = "tensor({{1, 2, 3}}).T\n--> tensor({{1},\n-->         {2},\n-->         {3}}, \z
            i64 3x1 cpu)",
        see = "t, transpose, permute" },
    ["tensor.mT"] = { call = "x.mT",
        text = "A view with the last two dims exchanged: each matrix of a batch transposed.",
        example = "zeros(5, 2, 3).mT.shape\n--> {5, 3, 2}",
        see = "T, transpose" },
    ["tensor.mH"] = { call = "x.mH", text = "As x.mT: numbers are real.",
        example = "zeros(5, 2, 3).mH.shape\n--> {5, 3, 2}",
        see = "mT, H" },
    ["tensor.H"] = { call = "x.H", text = "A matrix transposed: numbers are real.",
        example = "zeros(2, 3).H.shape\n--> {3, 2}",
        see = "T, mT" },
    ["tensor.grad"] = { call = "x.grad",
        text = "The gradient that backward added up for this leaf, or nil; x.grad = nil clears it.",
        example = "local x = tensor({3.0}, {requires_grad = true}); (x * x):sum():backward() \z
            return x.grad\n--> tensor({6.0}, f32 1 cpu)",
        see = "backward, requires_grad_, retain_grad" },
    ["tensor.requires_grad"] = { call = "x.requires_grad",
        text = "Whether ops of it are recorded for backward; of a leaf it may be set.",
        example = "ones(2):requires_grad_().requires_grad\n--> true",
        see = "requires_grad_, no_grad, detach" },
    ["tensor.is_leaf"] = { call = "x.is_leaf",
        text = "Whether no recorded op made it: backward gives gradients to leaves that require \z
            them.",
        example = "ones(2).is_leaf\n--> true",
        see = "requires_grad, retain_grad" },
    ["tensor._version"] = { call = "x._version",
        text = "How often the tensor's memory was written in place, its views included.",
        example = "ones(2):add_(1):mul_(2)._version\n--> 2", see = "clone" },
    ["tensor.grad_fn"] = { call = "x.grad_fn",
        text = "The name of the recorded op that made it, or nil of a leaf.",
        example = "(ones(2):requires_grad_() * 2).grad_fn\n--> mul",
        see = "is_leaf" },

    -- What a tensor says of itself; nothing waits.
    size = { call = "x:size([dim])",
        text = "The sizes of all dims as a list, or that of one; dims count from 1, or from the \z
            end with -1.",
        example = "zeros(2, 3):size(-1)\n--> 3",
        see = "shape, numel, stride" },
    stride = { call = "x:stride([dim])",
        text = "By how many elements of memory neighbours along each dim, or one, are apart.",
        example = "zeros(2, 3):stride(1)\n--> 3",
        see = "is_contiguous, as_strided" },
    dim = { call = "x:dim()", text = "How many dims there are; x.ndim is the same.",
        example = "ones(2, 3):dim()\n--> 2",
        see = "ndim, size" },
    ndimension = { call = "x:ndimension()",
        text = "How many dims there are: dim by its older name.",
        example = "ones(2, 3):ndimension()\n--> 2",
        see = "dim" },
    is_floating_point = { call = "x:is_floating_point()",
        text = "Whether the dtype is f64, f32, f16 or bf16.",
        example = "ones(2):is_floating_point()\n--> true",
        see = "dtype" },
    numel = { call = "x:numel()", text = "How many elements there are.",
        example = "zeros(2, 3):numel()\n--> 6",
        see = "size, element_size" },
    nelement = { call = "x:nelement()",
        text = "How many elements there are: numel by its older name.",
        example = "zeros(2, 3):nelement()\n--> 6",
        see = "numel" },
    element_size = { call = "x:element_size()", text = "Bytes of one element.",
        example = "zeros(2):element_size()\n--> 4",
        see = "numel" },
    is_contiguous = { call = "x:is_contiguous()",
        text = "Whether the elements are consecutive in memory, the last dim's adjacent.",
        example = "zeros(2, 3).T:is_contiguous()\n--> false",
        see = "contiguous, stride" },
    is_pinned = { call = "x:is_pinned()",
        text = "Whether the elements are in host memory that a device copies from while the host \z
            goes on.",
        example = "zeros(2):pin_memory():is_pinned()\n--> true",
        see = "pin_memory" },
    shares_storage = { call = "x:shares_storage(y)",
        text = "Whether both show the same memory, as views do: a write to one may be seen in the \z
            other.",
        example = "local x = zeros(2, 3) return x:shares_storage(x[1])\n--> true",
        see = "clone, view" },

    -- Numbers for the host: each is a wait for the device.
    item = { call = "x:item()",
        text = "The number in a tensor of one element. The host waits for the device: \z
            sync.report() counts it.",
        example = "tensor{42}:item()\n--> 42",
        waits = "for x",
        see = "tolist, sync" },
    tolist = { call = "x:tolist()",
        text = "Nested tables of the numbers or booleans; of a 0-d tensor its number. One wait \z
            for the device and one copy, whatever the size.",
        example = "tensor({{1, 2}, {3, 4}}):tolist()[2][1]\n--> 3",
        waits = "for x",
        see = "item, tensor" },

    -- Copies and conversions.
    clone = { call = "x:clone()",
        text = "A copy in memory of its own; backward goes through it to x.",
        example = "local x = zeros(2) x:clone():fill_(1) return x\n--> tensor({0.0, 0.0}, f32 2 \z
            cpu)",
        see = "copy_, detach, contiguous" },
    copy_ = { call = "x:copy_(y)",
        text = "Writes y's elements into x, broadcast and converted to x's dtype and device; \z
            between devices it waits.",
        example = "zeros(2):copy_(tensor{3, 4})\n--> tensor({3.0, 4.0}, f32 2 cpu)",
        waits = "where x and y are on different devices",
        see = "clone, fill_, to" },
    to = { call = "x:to([device], [dtype], [non_blocking=false])",
        text = "x on another device or of another dtype, or both; x:to(y) goes where y is and \z
            takes its dtype. x itself where nothing changes. A copy from a device, or to it from \z
            memory that is not pinned, waits.",
        options = "device: where to: 'cpu', 'gpu', 'sim:0', 'cuda:1'; dtype: the new type; \z
            non_blocking: the host goes on while its pinned memory is copied to a device; to the \z
            host the copy is pinned, and whatever reads it waits for it",
        shapes = "x: any; the result has the same",
        example = "tensor{1, 2}:to \"f16\"\n--> tensor({1.0, 2.0}, f16 2 cpu)",
        see = "cpu, gpu, float, pin_memory" },
    pin_memory = { call = "x:pin_memory()",
        text = "A copy in host memory that a device copies from while the host goes on \z
            (x:to(device, {non_blocking = true})); x itself if it is there already.",
        example = "zeros(2):pin_memory():is_pinned()\n--> true",
        see = "is_pinned, to, data" },

    -- Gradients.
    backward = { call = "y:backward([gradient], [retain_graph=false], [create_graph=false])",
        text = "Adds the gradients of a 0-d tensor, or of y weighted by gradient, to x.grad of \z
            every leaf that requires them.",
        options = "gradient: weights of y's shape, where y is not 0-d; retain_graph: what \z
            backward needs is kept for another one; create_graph: the gradients can be \z
            differentiated again",
        example = "local x = tensor({3.0}, {requires_grad = true}); (x * x):sum():backward() \z
            return x.grad\n--> tensor({6.0}, f32 1 cpu)",
        see = "grad, no_grad, detach" },
    requires_grad_ = { call = "x:requires_grad_([on=true])",
        text = "Ops of x are recorded from here on, and backward gives x a gradient; returns x.",
        example = "ones(2):requires_grad_().requires_grad\n--> true",
        see = "backward, detach, no_grad" },
    retain_grad = { call = "x:retain_grad()", text = "backward sets x.grad although x is no leaf.",
        example = "local y = ones(2):requires_grad_() * 2; y:retain_grad(); y:sum():backward() \z
            return y.grad\n--> tensor({1.0, 1.0}, f32 2 cpu)",
        see = "backward, register_hook" },
    register_hook = { call = "x:register_hook(fn)",
        text = "fn(gradient) is called when x's gradient is complete; a tensor that it returns \z
            takes the gradient's place. The result's remove() takes the hook away.",
        example = "local x = ones(2):requires_grad_(); x:register_hook(function(g) return g * 10 \z
            end); x:sum():backward() return x.grad\n--> tensor({10.0, 10.0}, f32 2 cpu)",
        see = "backward, retain_grad" },

    -- Streams, events, profiles.
    ["stream.use"] = { call = "stream:use([fn, …])",
        text = "Ops of this thread go to the stream until the value is closed, local _ <close> = \z
            s:use(), or while fn runs.",
        see = "stream, current_stream" },
    ["stream.record"] = { call = "stream:record()",
        text = "An event after all that is queued on the stream.",
        see = "stream, synchronize" },
    ["stream.wait"] = { call = "stream:wait(event)",
        text = "What is queued from here on starts after the event; the host does not wait.",
        see = "stream" },
    ["stream.busy"] = { call = "stream:busy()",
        text = "Whether it has work that is not done; does not wait.",
        see = "stream" },
    ["stream.queued"] = { call = "stream:queued()", text = "How many ops are queued and not done.",
        see = "stream" },
    ["stream.synchronize"] = { call = "stream:synchronize()",
        text = "Waits until all that is queued on the stream is done.",
        waits = "for what is queued on the stream",
        see = "synchronize, sync" },
    ["event.done"] = { call = "event:done()",
        text = "Whether what was queued before the event is done; does not wait.",
        see = "stream" },
    ["event.synchronize"] = { call = "event:synchronize()", text = "Waits for the event.",
        waits = "for what was queued before the event",
        see = "stream, sync" },
    ["event.elapsed"] = { call = "event:elapsed(later)",
        text = "Seconds on the device between two events; waits for the later one.",
        waits = "for the later event",
        see = "timeit, profile" },
    ["profile.table"] = { call = "prof:table{sort=, limit=, group=, width=, format=}",
        text = "What was recorded as a table of text, a row per op; print shows it. The rows and \z
            \"unattributed\" add up to the wall time.",
        options = "sort: a column, as 'cpu_time_total'; limit: how many rows; group: 'op', \z
            'region', 'line', 'shape', 'stack', 'module', 'kernel' or 'rank'; width: characters \z
            of a line, for which averages and percentages are left out; format: 'text', \z
            'markdown', or 'csv' and 'json' with times in whole nanoseconds",
        see = "profile, profile.run" },
    ["profile.rows"] = { call = "prof:rows{sort=, limit=, group=}",
        text = "The same as a list of tables; times in whole nanoseconds, memory in bytes.",
        options = "sort: a column, as 'cpu_time_total'; limit: how many rows; group: 'op', \z
            'region', 'line', 'shape', 'stack', 'module', 'kernel' or 'rank'",
        see = "profile" },
    ["profile.events"] = { call = "prof:events()",
        text = "Every event as a table, the host's first; times in whole nanoseconds since the \z
            start. On CUDA a kernel has its own name as kernel, and the kind held is what kept \z
            the host inside of a call.",
        see = "profile" },
    ["profile.trace"] = { call = "prof:trace(file{, max=})",
        text = "Writes a trace for Perfetto or chrome://tracing, a row per stream.",
        options = "max: of the file's size before it is packed, as '50MB' or a number of bytes: \z
            short events are merged for that, waits and regions never; it returns what was \z
            merged, as text",
        raises = "when the waits and regions alone need more than max",
        see = "profile" },
    ["profile.diff"] = { call = "prof:diff(before, {group=, limit=})",
        text = "What changed since the profile `before`, as text: a row per op with calls and \z
            times of both, what changed most first; then both wall times and waits.",
        options = "group: 'op', 'region', 'line', 'shape' or 'stack'; limit: how many rows",
        see = "profile, profile.table, compare" },
    ["profile.whatif"] = { call = "prof:whatif{without=, scale=, host=, overlap=, batch=, \z
        workers=, device=}",
        text = "What the profile would be if something were other than it was: a profile like any \z
            other, predicted by a replay of the record, in which nothing runs. Its field \z
            predicted says what was changed, accuracy how far off such predictions were.",
        options = "without: waits that are left out, a line as 'train.lua:40', a reason as \z
            'item', 'all'; or a cause of prof:verdict, as 'loader', which then takes no time; or \z
            a list of them; scale: factors on the time of ops, as {conv2d = 0.5}; host: \z
            a factor on the host's time outside of waits; overlap: copies between host and \z
            device run beside kernels; batch: {32, 64} gives ops with a dim of 32, as a record \z
            with shapes has them, the work of 64; workers: of each data.Loader, with as many \z
            batches under way as it then has by default; device: a card, as in sim.card, whose \z
            times the work takes",
        raises = "when a line has no wait on the record, or an op, a loader or a dim is not on it",
        example = "profile.run(ones, 3):whatif{host = 0.5}.predicted\n--> host x 0.5",
        see = "profile.savings, profile.critical_path" },
    ["profile.on"] = { call = "prof:on{card=, ranks=, network=, algorithm=}",
        text = "The profile as it would be on a card, by its data sheet: prof:whatif{device = \z
            card}; and in a job of so many ranks, where collectives take what the alpha-beta \z
            model says of the network. The record needs profile.run's flops = true, a trace \z
            of torch.profiler shapes (record_shapes=True): what these do not tell takes what it \z
            took.",
        options = "card: as in sim.card; ranks: as on the record without it; network: '10Gb', \z
            '25Gb', '100Gb', '200Gb', '400Gb', '800Gb', 'nvlink', 'pcie5', {latency = seconds, \z
            bandwidth = bytes a second}, or 'measured': what the record's all_reduces took; \z
            algorithm: 'ring', 'tree', 'fastest' of both, 'openmpi'; without it openmpi for \z
            records of cpu and sim, fastest for others and with a card",
        raises = "when no op's cost is on the record, no device ran anything, or there is no \z
            collective for the network; a card for several ranks' profile",
        see = "profile.whatif, sim.card" },
    ["profile.verdict"] = { call = "prof:verdict{rank=}",
        text = "What dominated a run: waits, synchronize (waits that were asked for), loader, \z
            launches, setup (first uses), delays, kernels, copies, collectives, cpu (ops that \z
            the host computes), script. A list that prints as a sentence, a table and what to do, \z
            the most worth first: cause, label, ns, times, worth (what the run would take less \z
            if it took no time, predicted by a replay), share, nothing (why it is worth nothing), \z
            where, advice (in PyTorch for its traces). Its fields: cause, the first one where it \z
            is worth 2 % or more; sentence; wall; untold, where the record cannot tell. Worths \z
            overlap.",
        options = "rank: of that one alone, whose collectives take what they took",
        raises = "when no event of the rank is on the record",
        see = "profile.savings, profile.idle, profile.whatif" },
    ["profile.savings"] = { call = "prof:savings{rank=}",
        text = "What the run would take less without each line's waits, predicted by a replay, \z
            as a list that prints as a table: file, line, why, what, count, waited, saves \z
            (times in ns), and all of them together as all. Of several ranks it is what the job \z
            takes less; ranks has how much sooner each one ends without them all.",
        options = "rank: of that one alone, whose collectives take what they took",
        raises = "when no event of the rank is on the record",
        see = "profile.whatif, sync.report" },
    ["profile.critical_path"] = { call = "prof:critical_path{group=, rank=}",
        text = "The chain of host time, kernels, copies and latencies that decided the wall time, \z
            which its parts add up to: a list that prints as a table. What is not on it costs \z
            nothing. Of several ranks it ends in the one that ended last, and goes on from a \z
            collective in the one that came last.",
        options = "group: 'op', 'line' or 'rank'; rank: of that one alone",
        raises = "when no event of the rank is on the record, or ranks called their collectives \z
            in different orders",
        see = "profile.whatif, profile.idle" },
    ["profile.idle"] = { call = "prof:idle{rank=}",
        text = "The wall time by what the devices did: ran kernels, only copied, or were idle, \z
            and why (also because the host waited for a loader); with each stream's busy time \z
            and how much was queued. It prints as a table. Of several ranks it is that of the \z
            one that ended last, its field rank; ranks has the same for each.",
        options = "rank: of that one",
        raises = "when no event of the rank is on the record",
        see = "profile.whatif, profile.critical_path" },
    ["profile.report"] = { call = "prof:report(file)",
        text = "Writes a page for a browser, which needs nothing beside it: what to change and \z
            what that saves, a timeline of host and streams, waits by line, the rows by op, \z
            region, line, shape or stack, a flame graph and, with memory = true, the peak's \z
            owners.",
        see = "profile, profile.trace" },
    ["profile.sync"] = { call = "prof:sync()",
        text = "The waits of a profile by line, or by region where a loaded trace has no lines: a \z
            list that prints as sync.report() does, with why, how long, how much work the device \z
            had to finish, how long it then had nothing to do, what the run would take less \z
            without the line's waits (saves, predicted), and what to write instead (in PyTorch \z
            for its traces). It prints the field verdict, prof:verdict's, first. The field \z
            reads has what would wait on a card, where no device ran anything. Times in ns.",
        see = "profile.waits, profile.savings, profile.verdict" },
    ["profile.waits"] = { call = "prof:waits()",
        text = "Each wait of a profile by itself, as a list that prints as a table: file, line, \z
            why, what, region, device, stream, start, stop, drained, idle, advice (times in ns).",
        see = "profile.sync" },
    ["profile.devices"] = { call = "prof:devices()",
        text = "What each device did from its first work to its last, as a list that prints as a \z
            table: span, idle, compute, other (only copies and collectives), in ns, and the \z
            share that it was busy. HolisticTraceAnalysis' temporal breakdown.",
        see = "profile.queues, profile.idle" },
    ["profile.memory"] = { call = "prof:memory()",
        text = "Whose memory it was, by op and line: a list that prints as a table, with name, \z
            file, line, device, blocks, allocated, peak (alive at the device's peak) and kept \z
            (at the end), in bytes; .devices has before, before_at_peak, before_freed, peak and \z
            after. What only waits for the collector is kept, too: collectgarbage() at the \z
            function's end leaves that out.",
        raises = "when the profile has no memory: profile.run{memory = true}",
        see = "alive, memory, profile.run" },
    ["profile.queues"] = { call = "prof:queues{series=}",
        text = "Each stream's busy time, its gaps by why (host_wait: the host queued the next \z
            work only after the last had ended; kernel_wait: the launch's own delay, below 30 \z
            us; other), and statistics of how much was queued over its changes, as \z
            HolisticTraceAnalysis defines them: a list that prints as a table. Times in ns.",
        options = "series: true gives each stream its queue over time, the times of its changes \z
            and the lengths from then on: q = prof:queues{series = true}[1]; plot{q.times, \z
            q.lengths}",
        see = "profile.devices, profile.idle" },
    ["profile.collectives"] = { call = "prof:collectives()",
        text = "Of a profile that joins those of a job's ranks: for each op of dist and line how \z
            long ranks waited for the last one (waited), which that was most (last, times_last), \z
            how much later than the one before it came (late), and what took it longer than the \z
            first one since they had met before (meanwhile, excess). ranks has each rank's \z
            time in collectives, waiting, exposed, hidden and own work; imbalance is the \z
            busiest rank's own work by the mean. \z
            A list that prints as a table; times in ns.",
        see = "profile.load, profile.sync, dist" },
    ["profile.save"] = { call = "prof:save(file)",
        text = "Writes all of the record to a file, packed if its name ends in .gz; \z
            profile.load reads it.",
        see = "profile.load, profile.trace" },
    ["profile.export_chrome_trace"] = { call = "prof:export_chrome_trace(file)",
        text = "prof:trace by PyTorch's name.", see = "profile.trace" },
    ["profile.key_averages"] = {
        call = "prof:key_averages{group_by_input_shape=, group_by_stack_n=}",
        text = "The rows as torch.profiler gives them, with their table: \z
            prof:key_averages():table{sort_by = 'cuda_time_total', row_limit = 10}.",
        options = "group_by_input_shape: a row for each shape; group_by_stack_n: more than 0 for \z
            a row for each stack, of all its frames",
        raises = "when the profile has no shapes or stacks", see = "profile.table, profile.rows" },
    ["profile.folded"] = { call = "prof:folded(file, {device=})",
        text = "Writes the profile's stacks as lines for flame graphs, 'a.lua:9;a.lua:3;matmul \z
            NS', as flamegraph.pl and inferno read them; the times are whole nanoseconds, and \z
            add up to the wall time. The first frame of each says of what kind they are: \z
            'times: measured'.",
        options = "device: true for the devices' time rather than the host's",
        raises = "when the profile has no stacks: profile.run{stack = true}",
        see = "profile.speedscope, profile.report" },
    ["profile.speedscope"] = { call = "prof:speedscope(file)",
        text = "Writes the profile's stacks for speedscope.app: the host's time, and the devices'.",
        raises = "when the profile has no stacks: profile.run{stack = true}",
        see = "profile.folded, profile.report" },
    ["profile.free"] = { call = "prof:free()",
        text = "Gives its memory back now rather than when it is collected.",
        see = "profile" },
}

for name, to in pairs { double = "f64", float = "f32", half = "f16", bfloat16 = "bf16",
    long = "i64", int = "i32",
    short = "i16", char = "i8", byte = "u8", bool = "bool" } do
    topics[name] = { call = ("x:%s()"):format(name),
        text = ("x as %s: x:to \"%s\". x itself if it is that already."):format(to, to),
        example = ("tensor{1, 0}:%s().dtype\n--> %s"):format(name, to),
        see = "to" }
end
for name, where in pairs { cpu = "in the host's memory",
    ["tensor.cuda"] = "on the first NVIDIA GPU", gpu = "on the GPU, or on sim where there is none" }
do
    local device = name:match "%a+$"
    topics[name] = { call = ("x:%s()"):format(device),
        text = ("x %s: x:to \"%s\". x itself if it is there already."):format(where, device),
        see = "to, devices" }
end
topics.cpu.example = "ones(2, {device = \"sim\"}):cpu().device\n--> cpu"
return topics
