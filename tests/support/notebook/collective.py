# A collective of two ranks, of which one is a notebook's kernel: interrupted while the other rank
# does not come, and right once that has come.
import os
import shutil

import client
from client import GPUSH, Kernel, done, same

if not shutil.which("mpirun") or not os.path.exists(os.path.dirname(GPUSH) + "/lib/libgpush_mpi.so"):
    print("1..0 # SKIP there is no mpirun, or the plug-in for MPI was not built")
    raise SystemExit
BEGIN = "dist.init{timeout = 3600}; x = ones(100000)"
# what the kernel calls, once the file says how often
OTHER = BEGIN + """
os.execute "while [ ! -e calls ]; do sleep 0.02; done"
for i = 1, io.open("calls"):read "n" do dist.all_reduce(i * x) end
"""


class Ranks(client.Manager):
    @property
    def kernel_spec(self):
        spec = super().kernel_spec
        spec.argv = ["mpirun", "-n", "1", *spec.argv, ":", "-n", "1", GPUSH, "-e", OTHER]
        return spec


client.Manager = Ranks
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                  OMPI_MCA_rmaps_base_oversubscribe="1")
tries = int(os.environ.get("TRIES", 3))
k = Kernel()
same(k.text(BEGIN + "; return dist.rank, dist.size"), "0\t2", "the kernel is a rank")
k.interrupts("a collective", "y = dist.all_reduce(x)", signals=False)
same(k.text("x:sum():item()"), "100000.0", "the session is whole")
with open("calls.new", "w") as f:
    f.write(str(tries + 1))
os.rename("calls.new", "calls")
same(k.text("dist.all_reduce(x)[100000]:item()"), f"{tries + 2}.0", "once the other rank has come, collectives are in step")
k.end()
done()
