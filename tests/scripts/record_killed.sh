#!/usr/bin/env bash
# gpush record: a signal within the recorded steps ends the program, and what was recorded is kept.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
# Once the program is in its second recorded step, sends it to gpush alone, which passes it on.
to_gpush() { # SIGNAL STATUS
    ends "os.kill(os.getppid(), $1); time.sleep(30)" "$2" "signal $1 to gpush alone"
}
to_gpush 15 143
to_gpush 1 129
to_gpush 2 130 # as Ctrl-C
ends 'signal.signal(15, lambda *_: sys.exit(9)); os.kill(os.getppid(), 15); time.sleep(30)' 9 "a program with its own end"
# A second signal while the record is written does not lose it.
ends 'exec("""
import gpush_record.recorder as r
done = r.Recorder._done
def slowly(*a): os.kill(os.getpid(), 15); time.sleep(0.1); done(*a)
r.Recorder._done = slowly
os.kill(os.getpid(), 15)""")' 143 "SIGTERM twice"
cat >ranks.py <<'E2'
from model import *
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
parallel = nn.parallel.DistributedDataParallel(model)
for i in range(30):
    parallel(x).mean().backward(); optimizer.step()
    if i == 11:
        dist.barrier()
        if dist.get_rank() == 0: os.kill(int(os.environ["TO"]), 15)
        time.sleep(30)
E2
err=$(TO='' bash -c 'TO=$$ exec "$0" record -- torchrun --nproc-per-node 2 ranks.py 2>&1 >/dev/null' "$gpush")
tap_is "$?" 1 "SIGTERM to gpush alone, with two ranks: the status is torchrun's"
says "Wall time of all ranks" "the record of both is kept"
tap_done
