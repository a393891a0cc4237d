# dist.lua's peer: torch.distributed by gloo. dist.py start | step | collectives, in each of two
# processes with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set; rank 0 prints seconds.
import sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.set_num_threads(1)


def median(values):
    return sorted(values)[len(values) // 2]


def timed(fn, batches, times):
    took = []
    for _ in range(batches):
        dist.barrier()
        t0 = time.perf_counter()
        for _ in range(times):
            fn()
        took.append((time.perf_counter() - t0) / times)
    return median(took)


def show(name, seconds):
    if dist.get_rank() == 0:
        print(f"{name}\t{seconds:.9f}")


def step():
    sys.path.insert(0, sys.path[0])
    import masked
    from torch.nn.parallel import DistributedDataParallel
    plain = masked.Net
    masked.Net = lambda: DistributedDataParallel(plain())
    run = masked.step("baseline", batch=4)
    run()
    show("step", timed(run, 3, 1))


def collectives():
    small, large = torch.ones(2), torch.zeros(25_000_000)
    for _ in range(50):
        dist.all_reduce(small)
    show("small", timed(lambda: dist.all_reduce(small), 5, 100))
    show("large", timed(lambda: dist.all_reduce(large), 3, 1))


{"start": dist.barrier, "step": step, "collectives": collectives}[sys.argv[1]]()
dist.destroy_process_group()
