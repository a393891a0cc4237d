#!/usr/bin/env bash
# The plug-in built with MPICH: gpush run takes MPICH's launcher, and ranks meet, reduce and end as
# with Open MPI. TEST_MPI=mpich prove --exec tests/run tests/dist/*.sh runs all tests of ranks so.
# shellcheck disable=SC2154 # status, seconds: dist.sh
export TEST_MPI=mpich
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
cat >x.lua <<'E2'
dist.init{timeout = 60}
local f = dist.all_reduce(ones(1000), {async = true})
print(dist.engine:match "^%u+", dist.size, dist.all_reduce(ones(2)):sum():item(), wait(f):sum():item())
print(pcall(dist.all_reduce, ones(2 + dist.rank)))
E2
cat >lines.lua <<'E2'
dist.init{timeout = 60}
for i = 1, 200 do print("a line", "of three", "parts") end
E2
cat >killed.lua <<'E2'
dist.barrier()
if dist.rank == 1 then os.execute "kill -9 $PPID" end
dist.barrier()
E2
tap_is "$("$GPUSH_BUILD/gpush" run -n 2 --print x.lua | grep -c 'exec mpiexec.hydra')" 1 "gpush run takes its launcher"
"$GPUSH_BUILD/gpush" doctor 2>/dev/null | grep -q 'MPICH [0-9.]*: gpush run'
tap_ok $? "gpush doctor names it"
ranks 2 x.lua
tap_is "$(grep -c $'^MPICH\t2\t4.0\t2000.0$' out)" 2 "two ranks reduce" "$(cat out; head -5 err)"
tap_is "$(grep -c 'ranks differ: rank 0 calls dist.all_reduce(sum) of f32 2 at x.lua:4, rank 1' out)" 2 "ranks that differ"
ranks 2 lines.lua
tap_is "$(grep -c $'^a line\tof three\tparts$' out)" 400 "lines of two ranks do not mix"
ranks 2 killed.lua
[ "$status" != 0 ] && grep -q 'EXIT STRING: Killed' out err
tap_ok $? "a rank that is killed: MPICH's launcher ends the job, and says so" "status $status"
tap_done
