--!plain
-- Help texts of dist, many processes; their form: scripts/lua/help/topics.lua.
return [==[
dist.init | dist.init{timeout = 60} (see dist.group, dist.barrier)
    Joins the job that gpush run, mpirun or srun has started; the first use of dist does so, too. A
    rank that does not come within timeout seconds is an error for the others. Without a launcher it
    is a job of one.
    options: timeout: seconds
    > dist.init{timeout = 10} return dist.size --> 1
dist.is_available | dist.is_available() (see dist.init)
    Whether the plug-in for MPI is here, without which a job has one process.
    waits: no
dist.rank (see dist.size)
    The number of this process, from 0.
dist.size (see dist.rank)
    How many processes there are; 1 without a launcher.
dist.engine (see dist.init)
    Which MPI; nil in a job of one.
dist.group (see dist.all_reduce)
    Ranks, such as {0, 2}, that have collectives of their own. Every rank of the job makes the same
    groups in the same order, those too that are not in them. It has ranks, size and rank, this
    process's place in it from 0, or nil.
    waits: for all ranks
    > dist.group{0}.size --> 1
dist.barrier (see dist.init)
    Returns when every rank has come to it.
    waits: for all ranks (sync: collective)
dist.preempted | dist.preempted() (see checkpoint.save, dist.barrier)
    Whether the launcher asked the job to end, on every rank alike: SIGTERM or SIGUSR1 came to one
    of them since the first call, as Slurm sends them before it kills. Ask once a step, and save and
    return when it is true. A second signal of the kind ends the program.
    waits: for all ranks (sync: collective)
    > dist.preempted() --> false
dist.all_reduce (see dist.reduce, dist.reduce_scatter, dist.broadcast)
    x of all ranks, joined elementwise, on every rank. f16 and bf16 are joined in f32 and rounded
    once, on cuda as NCCL does; the smallest or largest of NaN and a number is NaN. dist.all_reduce_
    writes into x. Gradients of sum and mean go back to every rank.
    options: op: 'sum', 'mean' (floats), 'prod', 'min' or 'max'; group: what dist.group made; all
        ranks without it; async: gives a future for wait, and the host need not wait
    shapes: the same on every rank
    waits: on the cpu for the other ranks, unless async (sync: collective); never on another device,
        but for the first one of a group on cuda
    raises: ranks that call something else, or with another shape or dtype; a rank that has ended,
        or that does not come within dist.init's timeout
    > dist.all_reduce(tensor{1.0, 2.0}) --> tensor({1.0, 2.0}, f32 2 cpu)
dist.all_reduce_ (see dist.all_reduce)
    dist.all_reduce into x itself, which it returns.
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.reduce (see dist.all_reduce)
    dist.all_reduce on rank root; nil on the others.
    shapes: the same on every rank
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.broadcast (see dist.scatter, dist.all_reduce)
    Rank root's x on every rank; what the others give only says its shape and dtype. dist.broadcast_
    writes into x. The gradient is summed on root, and zeros elsewhere.
    shapes: the same on every rank
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.broadcast_ (see dist.broadcast)
    dist.broadcast into x itself, which it returns.
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.all_gather (see dist.gather, dist.reduce_scatter)
    x of all ranks, one after the other along dim 1. Its gradient is reduce_scatter's.
    shapes: the same on every rank; dim 1 of the result is size times x's
    waits: as dist.all_reduce
    raises: as dist.all_reduce
    > dist.all_gather(tensor{1, 2}) --> tensor({1, 2}, i64 2 cpu)
dist.reduce_scatter (see dist.all_gather, dist.all_reduce)
    x of all ranks, joined elementwise; each rank gets its part of dim 1. Its gradient is
    all_gather's.
    shapes: the same on every rank; dim 1 can be divided by the size
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.all_to_all (see dist.all_gather)
    Dim 1 of x in parts, one for each rank: each gets its own part of every rank's x, one after the
    other.
    shapes: the same on every rank; dim 1 can be divided by the size
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.gather (see dist.all_gather, dist.scatter)
    x of all ranks, one after the other along dim 1, on rank root; nil on the others. No gradient.
    shapes: the same on every rank
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.scatter (see dist.gather, dist.broadcast)
    Dim 1 of rank root's x in parts, one for each rank, which gets its own. What the others give
    only says x's shape and dtype: zeros({}):expand(shape) costs no memory. No gradient.
    shapes: the same on every rank; dim 1 can be divided by the size
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.send (see dist.recv)
    Sends a copy of x to rank dst, which calls dist.recv. It does not wait for that: ranks may send
    in a ring before they receive.
    waits: on the cpu for collectives that were queued before, unless async
dist.recv (see dist.send)
    Fills x with what rank src has sent, and returns it.
    shapes: those of the tensor that was sent
    waits: as dist.all_reduce
    raises: a tensor of another shape or dtype; a rank that has ended, or sends nothing within
        dist.init's timeout
]==]
