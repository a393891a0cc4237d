#!/usr/bin/env bash
# A job that cannot be joined: each failure of the transport while ranks greet each other is an
# error of dist.init, the same at the next call, and the process ends.
. "$(dirname "$0")/../support/tap.sh"
cd "$HOME" || exit 1
command -v cc >/dev/null 2>&1 || tap_skip_all "there is no C compiler"
case $GPUSH_SAN in *thread*) tap_skip_all "the stand-in is not built with TSan" ;; esac
cc -shared -fPIC -I"$GPUSH_ROOT" -o fake.so "$GPUSH_ROOT/tests/support/dist/fake_mpi.c" ||
    tap_skip_all "the stand-in does not compile"
cat >x.lua <<'E2'
local function attempt() return select(2, pcall(dist.init, {timeout = 0.2})) end
local first = attempt()
print(first)
print(attempt() == first, pcall(dist.barrier))
E2
for case in \
    'open|dist: MPI does not start: it was set so' \
    'version|dist: the plug-in for MPI is of another version' \
    'size|dist: the launcher started 2 processes, MPI \(a stand-in\) sees 3' \
    'group|dist.init: no more communicators' \
    'receive|dist.init: no memory for messages' \
    'test|dist.init: the network is gone' \
    'late|dist.init: rank 1 did not come within 0.2 s'; do
    FAKE_MPI=${case%%|*} OMPI_COMM_WORLD_SIZE=2 GPUSH_MPI_PLUGIN=$PWD/fake.so \
        timeout 20 "$GPUSH_BUILD/gpush" x.lua >out 2>&1
    status=$?
    grep -Eq "^x.lua:1: ${case#*|}" out && grep -Eq "^true.false.*${case#*|}" out && [ $status = 0 ]
    tap_ok $? "${case%%|*}: an error, and again" "status $status: $(head -c 1000 out)"
done
tap_done
