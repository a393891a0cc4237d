--!plain
-- Help texts of dist, many processes; their form: scripts/lua/help/topics.lua.
return [==[
dist.init | dist.init{timeout = 60} (see dist.group, dist.barrier)
    Joins the job that gpush run, mpirun or srun has started; the first use of dist does so, too. If
    a rank does not join within timeout seconds, the others raise an error. Without a launcher the
    job has one rank.
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
    Which MPI library is used; nil in a job of one rank.
dist.group (see dist.all_reduce)
    Makes a group of ranks, such as {0, 2}, with its own collectives. Every rank of the job must
    make the same groups in the same order, even those that it is not in. A group has ranks, size,
    and rank: this process's number in it, from 0, or nil.
    waits: for all ranks
    > dist.group{0}.size --> 1
dist.barrier (see dist.init)
    Returns when every rank has called it.
    waits: for all ranks (sync: collective)
dist.preempted | dist.preempted() (see checkpoint.save, dist.barrier)
    Whether the launcher has asked the job to end; every rank gets the same answer. It is true once
    a rank has received SIGTERM or SIGUSR1 since the first call, as Slurm sends them before it
    kills. Call it once a step, and save and return when it is true. A second such signal ends the
    program.
    waits: for all ranks (sync: collective)
    > dist.preempted() --> false
dist.all_reduce (see dist.reduce, dist.reduce_scatter, dist.broadcast)
    Reduces x over all ranks elementwise; every rank gets the result. f16 and bf16 are reduced in
    f32 and rounded once, on cuda as NCCL does; the minimum or maximum of NaN and a number is NaN.
    dist.all_reduce_ writes into x. Gradients of sum and mean go back to every rank.
    options: op: 'sum', 'mean' (floats), 'prod', 'min' or 'max'; group: what dist.group made; all
        ranks without it; async: returns a future for wait, so the host need not wait
    shapes: the same on every rank
    waits: on the cpu for the other ranks, unless async (sync: collective); on another device only
        for the first collective of a group on cuda
    raises: if ranks call different collectives, or with different shapes or dtypes; if a rank has
        ended, or does not call it within dist.init's timeout
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
    Copies rank root's x to every rank; the other ranks' x only gives the shape and dtype.
    dist.broadcast_ writes into x. The gradient is summed on root, and zeros elsewhere.
    shapes: the same on every rank
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.broadcast_ (see dist.broadcast)
    dist.broadcast into x itself, which it returns.
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.all_gather (see dist.gather, dist.reduce_scatter)
    Concatenates x of all ranks along dim 1. Its gradient is reduce_scatter's.
    shapes: the same on every rank; dim 1 of the result is size times x's
    waits: as dist.all_reduce
    raises: as dist.all_reduce
    > dist.all_gather(tensor{1, 2}) --> tensor({1, 2}, i64 2 cpu)
dist.reduce_scatter (see dist.all_gather, dist.all_reduce)
    Reduces x over all ranks elementwise; each rank gets its part of dim 1. Its gradient is
    all_gather's.
    shapes: the same on every rank; dim 1 must be divisible by the number of ranks
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.all_to_all (see dist.all_gather)
    Divides dim 1 of x into one part for each rank; each rank gets its parts of all ranks' x,
    concatenated.
    shapes: the same on every rank; dim 1 must be divisible by the number of ranks
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.gather (see dist.all_gather, dist.scatter)
    Concatenates x of all ranks along dim 1 on rank root; nil on the others. It has no gradient.
    shapes: the same on every rank
    waits: as dist.all_reduce
    raises: as dist.all_reduce
dist.scatter (see dist.gather, dist.broadcast)
    Divides dim 1 of rank root's x into one part for each rank. The other ranks' x only gives the
    shape and dtype: zeros({}):expand(shape) costs no memory. It has no gradient.
    shapes: the same on every rank; dim 1 must be divisible by the number of ranks
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
    raises: if the tensor sent has another shape or dtype; if the rank has ended, or sends nothing
        within dist.init's timeout
]==]
