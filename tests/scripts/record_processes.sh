#!/usr/bin/env bash
# gpush record: of a program's processes its ranks are recorded, and a loader's workers left alone.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
cat >loads.py <<'E2'
from model import *
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    for how in "fork", "spawn":
        for (b,) in DataLoader(TensorDataset(x), batch_size=4, num_workers=1, multiprocessing_context=how):
            ((model(b)) ** 2).mean().backward(); optimizer.step()
E2
record loads.py
tap_is "$status|$(grep -c 'recorded steps' err)" "0|1" "a loader's workers are left alone"
cat >ranks.py <<'E2'
from model import *
import torch.distributed as dist
def train(rank=None):
    torch.set_num_threads(1)
    if rank is None: dist.init_process_group("gloo")
    else: dist.init_process_group("gloo", init_method="file://" + os.path.abspath("meet"), rank=rank, world_size=2)
    parallel = nn.parallel.DistributedDataParallel(model)
    for i in range(14): parallel(x).mean().backward(); optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    if len(sys.argv) > 1: torch.multiprocessing.spawn(train, nprocs=2)
    else: train()
E2
record --save ranks.prof -- torchrun --nproc-per-node 2 ranks.py
tap_is "$status" 0 "torchrun"
says "Wall time of all ranks" "one profile of both ranks"
record ranks.py spawn
tap_is "$status" 0 "ranks by torch.multiprocessing"
says "Wall time of all ranks" "one profile of both, too"
tap_done
