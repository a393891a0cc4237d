--!plain
-- Help texts of dist, many processes; their form: init.lua.
local GROUP <const> = "group: what dist.group made; all ranks without it; async: gives a future \z
    for wait, and the host need not wait"
local WAITS <const> = "on the cpu for the other ranks, unless async (sync: collective); never on \z
    another device, but for the first one of a group on cuda"
local OP <const> = "op: 'sum', 'mean' (floats), 'prod', 'min' or 'max'; "
local RAISES <const> = "ranks that call something else, or with another shape or dtype; a rank \z
    that has ended, or that does not come within dist.init's timeout"
return {
    ["dist.init"] = { call = "dist.init{timeout = 60}",
        text = "Joins the job that gpush run, mpirun or srun has started; the first use of dist \z
            does so, too. A rank that does not come within timeout seconds is an error for the \z
            others. Without a launcher it is a job of one.",
        options = "timeout: seconds",
        example = "dist.init{timeout = 10} return dist.size\n--> 1",
        see = "dist.group, dist.barrier" },
    ["dist.is_available"] = { call = "dist.is_available()",
        text = "Whether the plug-in for MPI is here, without which a job has one process.",
        waits = "no", see = "dist.init" },
    ["dist.rank"] = { text = "The number of this process, from 0.", see = "dist.size" },
    ["dist.size"] = { text = "How many processes there are; 1 without a launcher.",
        see = "dist.rank" },
    ["dist.engine"] = { text = "Which MPI; nil in a job of one.", see = "dist.init" },
    ["dist.group"] = {
        text = "Ranks, such as {0, 2}, that have collectives of their own. Every rank of the job \z
            makes the same groups in the same order, those too that are not in them. It has \z
            ranks, size and rank, this process's place in it from 0, or nil.",
        waits = "for all ranks", example = "dist.group{0}.size\n--> 1", see = "dist.all_reduce" },
    ["dist.barrier"] = { text = "Returns when every rank has come to it.",
        options = "group: what dist.group made; all ranks without it",
        waits = "for all ranks (sync: collective)", see = "dist.init" },
    ["dist.preempted"] = { call = "dist.preempted()",
        text = "Whether the launcher asked the job to end, on every rank alike: SIGTERM or \z
            SIGUSR1 came to one of them since the first call, as Slurm sends them before it \z
            kills. Ask once a step, and save and return when it is true. A second signal of the \z
            kind ends the program.",
        waits = "for all ranks (sync: collective)", example = "dist.preempted()\n--> false",
        see = "checkpoint.save, dist.barrier" },
    ["dist.all_reduce"] = {
        text = "x of all ranks, joined elementwise, on every rank. f16 and bf16 are joined in \z
            f32 and rounded once, on cuda as NCCL does; the smallest or largest of NaN and a \z
            number is NaN. dist.all_reduce_ writes into x. Gradients of sum and mean go \z
            back to every rank.",
        options = OP .. GROUP, shapes = "the same on every rank", waits = WAITS, raises = RAISES,
        example = "dist.all_reduce(tensor{1.0, 2.0})\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "dist.reduce, dist.reduce_scatter, dist.broadcast" },
    ["dist.all_reduce_"] = { text = "dist.all_reduce into x itself, which it returns.",
        options = OP .. GROUP, waits = WAITS, raises = RAISES, see = "dist.all_reduce" },
    ["dist.reduce"] = { text = "dist.all_reduce on rank root; nil on the others.",
        options = "root: a rank of all; " .. OP .. GROUP, shapes = "the same on every rank",
        waits = WAITS, raises = RAISES, see = "dist.all_reduce" },
    ["dist.broadcast"] = {
        text = "Rank root's x on every rank; what the others give only says its shape and dtype. \z
            dist.broadcast_ writes into x. The gradient is summed on root, and zeros elsewhere.",
        options = "root: a rank of all; " .. GROUP, shapes = "the same on every rank",
        waits = WAITS, raises = RAISES, see = "dist.scatter, dist.all_reduce" },
    ["dist.broadcast_"] = { text = "dist.broadcast into x itself, which it returns.",
        options = "root: a rank of all; " .. GROUP, waits = WAITS, raises = RAISES,
        see = "dist.broadcast" },
    ["dist.all_gather"] = {
        text = "x of all ranks, one after the other along dim 1. Its gradient is reduce_scatter's.",
        options = GROUP, shapes = "the same on every rank; dim 1 of the result is size times x's",
        waits = WAITS, raises = RAISES,
        example = "dist.all_gather(tensor{1, 2})\n--> tensor({1, 2}, i64 2 cpu)",
        see = "dist.gather, dist.reduce_scatter" },
    ["dist.reduce_scatter"] = {
        text = "x of all ranks, joined elementwise; each rank gets its part of dim 1. Its \z
            gradient is all_gather's.",
        options = OP .. GROUP, shapes = "the same on every rank; dim 1 can be divided by the size",
        waits = WAITS, raises = RAISES, see = "dist.all_gather, dist.all_reduce" },
    ["dist.all_to_all"] = {
        text = "Dim 1 of x in parts, one for each rank: each gets its own part of every rank's x, \z
            one after the other.",
        options = GROUP, shapes = "the same on every rank; dim 1 can be divided by the size",
        waits = WAITS, raises = RAISES, see = "dist.all_gather" },
    ["dist.gather"] = {
        text = "x of all ranks, one after the other along dim 1, on rank root; nil on the others. \z
            No gradient.",
        options = "root: a rank of all; " .. GROUP, shapes = "the same on every rank",
        waits = WAITS, raises = RAISES, see = "dist.all_gather, dist.scatter" },
    ["dist.scatter"] = {
        text = "Dim 1 of rank root's x in parts, one for each rank, which gets its own. What the \z
            others give only says x's shape and dtype: zeros({}):expand(shape) costs no memory. \z
            No gradient.",
        options = "root: a rank of all; " .. GROUP,
        shapes = "the same on every rank; dim 1 can be divided by the size",
        waits = WAITS, raises = RAISES, see = "dist.gather, dist.broadcast" },
    ["dist.send"] = {
        text = "Sends a copy of x to rank dst, which calls dist.recv. It does not wait for that: \z
            ranks may send in a ring before they receive.",
        options = "dst: a rank of all; " .. GROUP,
        waits = "on the cpu for collectives that were queued before, unless async",
        see = "dist.recv" },
    ["dist.recv"] = { text = "Fills x with what rank src has sent, and returns it.",
        options = "src: a rank of all; " .. GROUP, shapes = "those of the tensor that was sent",
        waits = WAITS,
        raises = "a tensor of another shape or dtype; a rank that has ended, or sends nothing \z
            within dist.init's timeout", see = "dist.send" },
    ["nn.parallel"] = { text = "A model trained by several processes: DistributedDataParallel.",
        see = "nn.parallel.DistributedDataParallel, dist" },
    ["nn.parallel.DistributedDataParallel"] = {
        call = "nn.parallel.DistributedDataParallel(model [, {bucket = \"25MB\", group =}])",
        text = "model, of which each rank trains a copy on its own part of every batch. It starts \z
            with rank 0's parameters and buffers. In backward gradients become their mean over \z
            ranks, in buckets that are sent as soon as they are complete, while backward goes on. \z
            A parameter that some ranks do not use counts as zeros there; buffers are rank 0's at \z
            each forward. In a job of one it is the model. model.module is the model itself.",
        options = "bucket: bytes of gradients that are sent together, as \"25MB\"; group: what \z
            dist.group made; all ranks without it",
        shapes = "what the model takes",
        raises = "models whose tensors differ between ranks, with the first one that does",
        example = "nn.parallel.DistributedDataParallel(nn.Linear(2, 3))(ones(1, 2)).shape[2]\n\z
            --> 3",
        see = "dist.all_reduce, data.Loader, nn.parallel.DistributedDataParallel.no_sync" },
    ["nn.parallel.DistributedDataParallel.no_sync"] = { call = "ddp:no_sync(fn, …)",
        text = "Runs fn, whose backwards add up gradients on each rank without sending them; the \z
            next backward outside averages the sums.",
        see = "nn.parallel.DistributedDataParallel" },
}
