#!/usr/bin/env bash
# gpush record: programs end within the recorded steps as they would without it, and what was recorded is kept.
. "${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/support/record.sh"
with_torch
export OMP_NUM_THREADS=1
ends 'os._exit(5)' 5 "os._exit"
ends 'raise ValueError("mine")' 1 "an exception"
says 'ValueError: mine' "which is shown"
ends 'sys.exit(4)' 4 "sys.exit"
TMPDIR=. record ends.py 'os.chdir("/"); sys.stderr.close()'
tap_is "$status|$out|$(ls -d tmp.* 2>/dev/null)" "0||" "a program that goes to another folder, with a relative one for temporary files"
says "dominated by" "which is recorded, without its stderr"
record ends.py 'os.kill(os.getpid(), 9)'
tap_is "$status" 137 "SIGKILL"
says "signal 9 ended the program before" "of which nothing is left"
record ends.py 'child = os.fork()
if child == 0: optimizer.step(); os._exit(0)
os.waitpid(child, 0)'
tap_is "$status" 0 "fork in the window"
says "recorded steps 11 to 13" "fork: the parent is recorded"
cat >forks.py <<'E2'
from model import *
import ctypes, signal
for i in range(1, 21):
    step()
    if i not in (5, 12, 17): continue
    child = os.fork()
    if child == 0:
        signal.alarm(100) # a hang is an end by signal 14
        print("printed", i); ctypes.CDLL(None).printf(b"by C\n")
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
E2
alone=$(python3 forks.py)
record forks.py
tap_is "$status|$out" "0|$alone" "children of fork before, in and after the window end as without it, their output flushed"
says "recorded steps 11 to 13" "and the parent's record goes on"
record ends.py 'p = torch.profiler.profile(); p.start(); step(); p.stop(); print(len(p.events()) > 0)'
tap_is "$status|$out" "0|True" "a program that profiles itself has its own profile"
says "recorded steps 11 to 12" "and gpush's record ends there"
record -- sh -c 'ulimit -f 8; exec python3 "$@"' sh ends.py 1
says "nothing was recorded: the record cannot be written to $TMPDIR" "the record is not written, which says where"
says "(TMPDIR): File too large" "and why"
tap_done
