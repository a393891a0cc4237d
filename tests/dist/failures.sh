#!/usr/bin/env bash
# Ranks that differ, end, raise, hang or are killed: the others get an error that names the rank,
# the op and the line, and nobody waits without end.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >differ.lua <<'E2'
dist.init{timeout = 60}
local r = dist.rank
local x = ones(2)
local calls = {
    function() dist.all_reduce(ones(2, 2 + r)) end,
    function() dist.all_reduce(ones(2, {dtype = r == 0 and "f32" or "i32"})) end,
    function() dist.all_reduce(x, {op = r == 0 and "sum" or "max"}) end,
    function() if r == 0 then dist.all_reduce(x) else dist.broadcast(x, 0) end end,
    function() dist.broadcast(x, r) end,
    function() if r == 0 then dist.send(ones(3), 1) else dist.recv(x, 0) end end,
    function() dist.group{r} end,
    function() print(dist.all_reduce(ones(2 + r, {device = "sim"}))) end,
}
for i, call in ipairs(calls) do
    local ok, message = pcall(call)
    if not ok then io.stderr:write(("%d %d %s\n"):format(r, i, message)) end
end
print("next", dist.all_reduce(x))
dist.all_reduce(ones(2, 2 + r))
E2
ranks 2 differ.lua
differ='dist\.[a-z_]+: ranks differ: rank 0 calls'
for case in \
    "shape|1 1 .*$differ dist.all_reduce\\(sum\\) of f32 2x2 at differ.lua:5, rank 1 dist.all_reduce\\(sum\\) of f32 2x3 at differ.lua:5" \
    "dtype|0 2 .*$differ .* of f32 2 at differ.lua:6, rank 1 .* of i32 2 at differ.lua:6" \
    "op|1 3 .*$differ dist.all_reduce\\(sum\\) .*, rank 1 dist.all_reduce\\(max\\)" \
    "order|0 4 .*$differ dist.all_reduce\\(sum\\) of f32 2 at differ.lua:8, rank 1 dist.broadcast with root 0 of f32 2 at differ.lua:8" \
    "root|0 5 .*$differ dist.broadcast with root 0 .*, rank 1 dist.broadcast with root 1" \
    'message|1 6 .*dist.recv: ranks differ: rank 1 calls dist.recv .* of f32 2 at differ.lua:10, rank 0 dist.send .* of f32 3 at differ.lua:10' \
    'group|0 7 .*dist.group: ranks differ: number 1 of the list is 0 on rank 0, and 1 on rank 1' \
    'sim|0 8 .*ranks differ: .* of f32 2 at differ.lua:12, rank 1 .* of f32 3 at differ.lua:12 \(queued at differ.lua:12 on sim:0\)' \
    'uncaught|differ.lua:19: dist.all_reduce: ranks differ'; do
    says "${case#*|}" "${case%%|*}: the error names both sides"
done
tap_is "$(grep -c 'next.*2.0, 2.0' out)" 2 "after ranks that differed, the next collective works"
[ "$status" != 0 ]
tap_ok $? "and an error that nobody catches fails the job" "status $status"

cat >x.lua <<'E2'
dist.init{timeout = 60}
local r, what = dist.rank, arg[1]
local x = ones(2)
if what == "raise" then
    if r == 1 then error "boom" end
elseif what == "exit" then
    if r == 1 then os.exit(3) end
elseif what == "end" then
    if r == 1 then return end
elseif what == "killed" then
    dist.preempted() -- SIGTERM, which mpirun sends at once, ends no rank then
    if r == 1 then os.execute "kill -9 $PPID" end
elseif what == "groups" or what == "stopped" then
    if what == "groups" then dist.preempted()
    else dist.init{timeout = 1} end
    dist.group{0, 1} -- in which rank 1 gets a signal
elseif what == "device" then
    if r == 1 then x = ones(2, {device = "sim"}) end
elseif what == "membership" then
    local group = dist.group{0, 1}
    if r == 1 then dist.all_reduce(x, {group = group}) end
elseif what == "hang" then
    dist.barrier()
    dist.init{timeout = 1}
    if r == 1 then while true do end end
    io.stderr:write(tostring(select(2, pcall(dist.all_reduce, x))), "\n")
end
dist.all_reduce(x)
E2
mkdir absent
cat >absent/x.lua <<'E2'
local rank = os.getenv "OMPI_COMM_WORLD_RANK" or os.getenv "PMI_RANK"
if rank == "1" then while true do end end
dist.init{timeout = 1}
E2
# A plug-in in which rank 1 gets the signal TEST_SIGNAL as it begins to make a group with the others.
cat >signal.h <<'E2'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
static int create_with_signal(MPI_Comm all, MPI_Group some, MPI_Comm *made) {
    static int calls; /* the first is dist.init's */
    int rank;
    MPI_Comm_rank(all, &rank);
    if (rank == 1 && ++calls == 2) raise(atoi(getenv("TEST_SIGNAL")));
    return MPI_Comm_create(all, some, made);
}
#define MPI_Comm_create create_with_signal
E2
export OMPI_MCA_odls_base_sigkill_timeout=3 # seconds from SIGTERM to SIGKILL
mpicc=mpicc
[ "${TEST_MPI-}" != mpich ] || mpicc=mpicc.mpich
$mpicc -O1 -shared -fPIC -I"$GPUSH_ROOT" -include "$PWD/signal.h" -o signal.so "$GPUSH_ROOT/kernels/mpi/mpi.c" -Wl,-z,nodelete
tap_ok $? "a plug-in that stops a rank compiles"
# The jobs mostly wait, and so run at the same time, each in a folder of its own, also for Open MPI:
# of two that make its folder at once one fails.
for what in raise exit end killed hang absent groups stopped device membership; do
    mkdir -p "$what"
    cp -n x.lua "$what"
    n=2
    [ "$what" = hang ] && n=3
    case $what in groups) signal=$(kill -l KILL) ;; stopped) signal=$(kill -l STOP) ;; *) signal= ;; esac
    (
        cd "$what" && export TMPDIR=$PWD
        [ -z "$signal" ] || export GPUSH_MPI_PLUGIN=$HOME/signal.so TEST_SIGNAL=$signal
        ranks $n x.lua "$what"
        echo "$status" "$seconds" >result
    ) &
done
wait
killed='x.lua:28: dist.all_reduce: rank 1 has ended \(its process was killed\)'
groups='x.lua:16: dist.group: rank 1 has ended \(its process was killed\)'
# MPICH's launcher ends the job itself, before the others can say why.
[ "${TEST_MPI-}" != mpich ] || killed='EXIT STRING: Killed' groups=$killed
for case in \
    "device|x.lua:28: $differ dist.all_reduce\\(sum\\) of f32 2 on cpu at x.lua:28, rank 1 dist.all_reduce\\(sum\\) of f32 2 on sim:0 at x.lua:28" \
    "membership|x.lua:28: $differ dist.all_reduce\\(sum\\) of f32 2 at x.lua:28, rank 1 dist.all_reduce \\(ranks 0, 1\\)\\(sum\\) of f32 2 at x.lua:21" \
    'raise|x.lua:28: dist.all_reduce: rank 1 has ended \(.*x.lua:5: boom\)' \
    'exit|x.lua:28: dist.all_reduce: rank 1 has ended \(it called os.exit with a failure\)' \
    'end|x.lua:28: dist.all_reduce: rank 1 has ended \(its script came to its end\)' \
    "killed|$killed" \
    "groups|$groups" \
    'stopped|x.lua:16: dist.group: rank 1 did not come within 1 s \(its process is stopped\)' \
    'absent|x.lua:3: dist.init: rank 1 did not come within 1 s \(it has not called dist, or has ended\)' \
    'hang|x.lua:26: dist.all_reduce: rank 1 did not come within 1 s'; do
    cat "${case%%|*}/err" "${case%%|*}/out" >err
    read -r status seconds <"${case%%|*}/result"
    says "${case#*|}" "${case%%|*}: the error names the rank and the line"
    # what the ranks that fail for it end with, too: the first one's own, or its signal's
    case ${case%%|*} in exit) expected=3 ;; killed) expected=137 ;; *) expected=1 ;; esac
    [ "${TEST_MPI-}" != mpich ] || [ $expected != 137 ] || expected=$status
    case ${case%%|*} in groups | stopped) expected=$status ;; esac
    [ "$status" != 0 ] && [ "$status" = $expected ] && awk "BEGIN { exit !($seconds < 50) }"
    tap_ok $? "${case%%|*}: the job fails with that rank's status, before the timeout" "status $status after $seconds s"
done
tap_is "$(grep -c '^x.lua:26: dist.all_reduce: rank 1 did not come' err)" 2 "both of the ranks that wait name it"
says 'x.lua:28: dist.all_reduce: an earlier collective has failed, and ranks are no longer in step: dist.all_reduce: rank 1 did not come' \
    "after a rank that did not come none is in step any more"

echo 'dist.init() print(dist.size, dist.all_reduce(ones(2)))' >one.lua
tap_is "$("$GPUSH_BUILD/gpush" one.lua 2>&1)" $'1\ttensor({1.0, 1.0}, f32 2 cpu)' "one process needs no launcher"
tap_is "$(GPUSH_MPI_PLUGIN=/nowhere.so "$GPUSH_BUILD/gpush" one.lua 2>&1 | head -1)" $'1\ttensor({1.0, 1.0}, f32 2 cpu)' "nor MPI"
echo 'dist.init() print(os.getenv "OMPI_MCA_pml")' >networks.lua
ranks 2 networks.lua
[ "${TEST_MPI-}" = mpich ] || tap_is "$(sort -u out)" ob1 "on one machine MPI does not look for networks"
GPUSH_MPI_PLUGIN=/nowhere.so ranks 2 one.lua
says 'a launcher started 2 processes, but the plug-in for MPI is not there .*; gpush doctor says what brings it' "without the plug-in: what to install"
tap_done
