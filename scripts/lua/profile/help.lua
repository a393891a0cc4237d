--!plain
-- Help texts of profiles and of what times; their form: scripts/lua/help/topics.lua.
return [==[
profile.run (see profile)
    Records what a function does; returns the profile, then the function's results.
    options: stack: record the calls that led to each op, or how many of them, up to 32; memory:
        record allocations; shapes: record the operands' shapes; limit: most events that are kept;
        flops: operations and bytes of each op, and rates; lua: sample the script's function and
        line every millisecond
    waits: at the end, for the devices
    > #profile.run({shapes = true}, function() return ones(2) + 1 end):rows() > 0 --> true
profile.schedule (see profile.run)
    Records some steps of a loop that calls its step().
    options: skip_first: steps skipped once; wait: steps skipped in each round; warmup: steps
        recorded and dropped; active: steps kept, each as a region 'step N'; repeats: number of
        rounds, 0 for no end; on_trace_ready: called with each profile; stack: record the calls that
        led to each op, or how many; memory: record allocations; shapes: record the operands'
        shapes; limit: most events that are kept; flops: operations and bytes of each op; lua:
        sample the script every millisecond
profile.start (see profile.stop)
    Begins to record, with profile.run's options.
profile.stop (see profile.start)
    Ends recording and returns the profile.
    waits: for the devices, so that their last op is timed
profile.load (see profile.save)
    The profile in a file: one that prof:save wrote, or a trace of torch.profiler (CUDA or ROCm,
    packed or not). It can be used as any other profile. A list of files is those of a job's ranks,
    which become one profile.
    options: max_bytes: limit of the file's unpacked bytes, 1 GiB when not given
    raises: when the file is damaged or has more bytes; the message says where
profile.region (see profile)
    Gives what runs in a function, or until the value is closed, its own row: local _ <close> =
    profile.region 'SVD'.
profile.record_function (see profile.region)
    profile.region by PyTorch's name.
profile (see timeit, sync)
    profile.run(f) records what f does; print(prof:table()), prof:trace "step.json". profile.region
    names a part.
    > #profile.run(function() return ones(2) + 1 end):rows() > 0 --> true
profile.table | prof:table{sort=, limit=, group=, width=, format=} (see profile, profile.run)
    What was recorded as a table of text, a row per op; print shows it. The rows and "unattributed"
    add up to the wall time.
    options: sort: a column, as 'cpu_time_total'; limit: number of rows; group: 'op', 'region',
        'line', 'shape', 'stack', 'module', 'kernel' or 'rank'; width: characters of a line, for
        which averages and percentages are left out; format: 'text', 'markdown', or 'csv' and 'json'
        with times in whole nanoseconds
profile.rows | prof:rows{sort=, limit=, group=} (see profile)
    The same as a list of tables; times in whole nanoseconds, memory in bytes. By kernel they have
    device_time_min and device_time_max, tensor_cores where its name says so, and of PyTorch's
    traces blocks_per_sm and occupancy (means by time), grid, block, registers and shared_memory (of
    the longest run).
    options: sort: a column, as 'cpu_time_total'; limit: number of rows; group: 'op', 'region',
        'line', 'shape', 'stack', 'module', 'kernel' or 'rank'
profile.events | prof:events() (see profile)
    Every event as a table, the host's first; times in whole nanoseconds since the start. On CUDA a
    kernel has its own name as kernel, and the kind held is what kept the host inside of a call.
profile.trace | prof:trace(file{, max=}) (see profile)
    Writes a trace for Perfetto or chrome://tracing, a row per stream.
    options: max: limit of the unpacked file, as '50MB' or a number of bytes; short events are
        merged to keep it, waits and regions never, and what was merged is returned as text
    raises: when the waits and regions alone need more than max
profile.diff | prof:diff(before, {group=, limit=}) (see profile, profile.table, compare)
    What changed since the profile `before`, as text: a row per op with calls and times of both,
    what changed most first; then both wall times and waits.
    options: group: 'op', 'region', 'line', 'shape' or 'stack'; limit: number of rows
profile.whatif | prof:whatif{without=, scale=, host=, overlap=, batch=, workers=, device=}
    Predicts what the profile would be under other conditions: a replay of the record, in which
    nothing runs, gives a profile like any other. Its field predicted says what was changed,
    accuracy how far off such predictions were.
    options: without: waits that are left out, a line as 'train.lua:40', a reason as 'item', 'all';
        or a cause of prof:verdict, as 'loader', which then takes no time; or a list of them; scale:
        factors on the time of ops, as {conv2d = 0.5}; host: a factor on the host's time outside of
        waits; overlap: copies between host and device run beside kernels; batch: {32, 64} gives ops
        with a dim of 32, as a record with shapes has them, the work of 64; workers: of each
        data.Loader, with as many batches under way as it then has by default; device: a card, as in
        sim.card, whose times the work takes
    raises: when a line has no wait on the record, or an op, a loader or a dim is not on it
    > profile.run(ones, 3):whatif{host = 0.5}.predicted --> host x 0.5
    see: profile.savings, profile.critical_path
profile.on | prof:on{card=, ranks=, network=, algorithm=} (see profile.whatif, sim.card)
    Predicts the profile on a card from its data sheet (prof:whatif{device = card}), and in a job of
    that many ranks, with the times of collectives by the alpha-beta model of the network. A
    record needs profile.run's flops = true, unless it is of a modelled card, a trace of
    torch.profiler record_shapes=True; work of unknown cost keeps its time.
    options: card: as in sim.card; ranks: as on the record without it; network: '10Gb', '25Gb',
        '100Gb', '200Gb', '400Gb', '800Gb', 'nvlink', 'pcie5', {latency = seconds, bandwidth = bytes
        a second}, or 'measured': what the record's all_reduces took; algorithm: 'ring', 'tree',
        'fastest' of both, 'openmpi'; without it openmpi for records of cpu and sim, fastest for
        others and with a card
    raises: when no op's cost is on the record, no device ran anything, or there is no collective
        for the network; a card for several ranks' profile
profile.verdict | prof:verdict{rank=} (see profile.savings, profile.idle, profile.whatif)
    What dominated a run: waits, synchronize (waits that were asked for), loader, launches, setup
    (first uses), delays, kernels, copies, collectives, cpu (ops that the host computes), script,
    between (the host between calls of a runtime, of a trace without ops). A list that prints as a
    sentence, a table and what to do, the most worth first: cause, label, ns, times, worth (what the
    run would save if it took no time, predicted by a replay), share, nothing (why it is worth
    nothing), where, advice (in PyTorch for its traces). Its fields: cause, the first one where it
    is worth 2 % or more; sentence; wall; untold, where the record cannot tell. Worths overlap.
    options: rank: of that one alone, whose collectives take what they took
    raises: when no event of the rank is on the record
profile.savings | prof:savings{rank=} (see profile.whatif, sync.report)
    What the run would save without each line's waits, predicted by a replay, as a list that prints
    as a table: file, line, why, what, count, waited, saves (times in ns), more (it may save more: a
    copy from pinned memory takes less itself), mixed (the line has also waited for something else
    than what), and all of them together as all. With several ranks
    it is what the job saves; ranks has how much sooner each one ends without any of these waits.
    options: rank: of that one alone, whose collectives take what they took
    raises: when no event of the rank is on the record
profile.critical_path | prof:critical_path{group=, rank=} (see profile.whatif, profile.idle)
    The chain of host time, kernels, copies and latencies that decided the wall time, and whose
    parts add up to it: a list that prints as a table. What is not on it costs no time. With several
    ranks it ends on the one that ended last, and passes at each collective to the rank that came
    last.
    options: group: 'op', 'line' or 'rank'; rank: of that one alone
    raises: when no event of the rank is on the record, or ranks called their collectives in
        different orders
profile.idle | prof:idle{rank=} (see profile.whatif, profile.critical_path)
    The wall time by what the devices did: ran kernels, only copied, or were idle, and why (also
    because the host was in a loader); with each stream's busy time and how much was queued. It
    prints as a table. With several ranks it describes the one that ended last (its field rank);
    ranks has the same for each.
    options: rank: of that one
    raises: when no event of the rank is on the record
profile.report | prof:report(file) (see profile, profile.trace)
    Writes a self-contained page for a browser: what to change and what that saves, a timeline of
    host and streams, waits by line, the rows by op, region, line, shape or stack, a flame graph
    and, with memory = true, the peak's owners. A notebook shows it where no file is named.
profile.sync | prof:sync() (see profile.waits, profile.savings, profile.verdict)
    The waits of a profile by line, or by region where a loaded trace has no lines: a list that
    prints as sync.report() does, with why, how long, how much work the device had to finish, how
    long it then was idle, what the run would save without the line's waits (saves, predicted), and
    what to write instead (in PyTorch for its traces). It prints the field verdict, prof:verdict's,
    first. The field reads has what would wait on a card, where no device ran anything. Times in ns.
profile.waits | prof:waits() (see profile.sync)
    Each wait of a profile by itself, as a list that prints as a table: file, line, why, what,
    region, device, stream, start, stop, drained, idle, advice (times in ns).
profile.devices | prof:devices() (see profile.queues, profile.launches, profile.idle)
    What each device did from its first work to its last, as a list that prints as a table: span,
    idle, compute, other (only copies and collectives), in ns, and the share that it was busy.
    HolisticTraceAnalysis' temporal breakdown. collective is the time of collectives, beside that in
    which kernels computed beside them; short counts kernels that took less than the call that
    launched them alone.
profile.launches | prof:launches() (see profile.devices, profile.queues, profile.load)
    How work of a loaded trace was launched, by call of the runtime: a list that prints as a table.
    times counts calls, work what they launched (a graph's kernels are one call's); called and
    called_most are the calls' time, busy that of their work; delay, delay_median and delay_most are
    from a call's end to its first work's begin. short counts calls whose only work took less than
    they, slow those of more than 50 us, late those whose work began more than 100 us later. Without
    call: copies that were waited for. Times in ns.
profile.memory | prof:memory() (see alive, memory, profile.run)
    Which ops and lines allocated the memory: a list that prints as a table, with name, file, line,
    device, blocks, allocated, peak (alive at the device's peak) and kept (at the end), in bytes;
    .devices has before, before_at_peak, before_freed, peak and after. Garbage that is not collected
    yet counts as kept; collectgarbage() at the function's end avoids that.
    raises: when the profile has no memory: profile.run{memory = true}
profile.queues | prof:queues{series=} (see profile.devices, profile.idle)
    Each stream's busy time, its gaps by why (host_wait: the host queued the next work only after
    the last had ended; kernel_wait: the launch's own delay, below 30 us; other), and statistics of
    how much was queued over its changes, as HolisticTraceAnalysis defines them: a list that prints
    as a table. Times in ns.
    options: series: true gives each stream its queue over time, the times of its changes and the
        lengths from then on: q = prof:queues{series = true}[1]; plot{q.times, q.lengths}
profile.collectives | prof:collectives() (see profile.load, profile.sync, dist)
    For a profile that joins those of a job's ranks, by op of dist and line: how long ranks waited
    for the last one (waited), which rank was last most often (last, times_last), how much later
    than the one before it came (late), and in what it spent more time than the first rank since
    their previous collective (meanwhile, excess). ranks has each rank's time in collectives,
    waiting, exposed, hidden and own work; imbalance is the busiest rank's own work by the mean. A
    list that prints as a table; times in ns.
profile.save | prof:save(file) (see profile.load, profile.trace)
    Writes all of the record to a file, packed if its name ends in .gz; profile.load reads it.
profile.export_chrome_trace | prof:export_chrome_trace(file) (see profile.trace)
    prof:trace by PyTorch's name.
profile.key_averages | prof:key_averages{group_by_input_shape=, group_by_stack_n=}
    The rows as torch.profiler gives them, with their table: prof:key_averages():table{sort_by =
    'cuda_time_total', row_limit = 10}.
    options: group_by_input_shape: a row for each shape; group_by_stack_n: more than 0 for a row for
        each stack, of all its frames
    raises: when the profile has no shapes or stacks
    see: profile.table, profile.rows
profile.folded | prof:folded(file, {device=}) (see profile.speedscope, profile.report)
    Writes the profile's stacks as lines for flame graphs, 'a.lua:9;a.lua:3;matmul NS', as
    flamegraph.pl and inferno read them; the times are whole nanoseconds, and add up to the wall
    time. The first frame of each says of what kind they are: 'times: measured'.
    options: device: true for the devices' time rather than the host's
    raises: when the profile has no stacks: profile.run{stack = true}
profile.speedscope | prof:speedscope(file) (see profile.folded, profile.report)
    Writes the profile's stacks for speedscope.app: the host's time, and the devices'.
    raises: when the profile has no stacks: profile.run{stack = true}
profile.free | prof:free() (see profile)
    Gives its memory back now rather than when it is collected.
]==]
