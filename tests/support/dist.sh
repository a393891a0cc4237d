# Programs of several ranks, for tests in bash: source it after tap.sh.
# shellcheck shell=bash
# TEST_MPI=mpich: the plug-in is built with MPICH, and its launcher starts the ranks.
if [ "${TEST_MPI-}" = mpich ]; then
    command -v mpicc.mpich >/dev/null 2>&1 || tap_skip_all "there is no MPICH (libmpich-dev)"
    command -v mpiexec.hydra >/dev/null 2>&1 || tap_skip_all "there is no MPICH (mpich)"
    export GPUSH_MPI_PLUGIN=$HOME/libgpush_mpi.so
    mpicc.mpich -O1 -shared -fPIC -I"$GPUSH_ROOT" -o "$GPUSH_MPI_PLUGIN" \
        "$GPUSH_ROOT/kernels/mpi/mpi.c" -Wl,-z,nodelete || tap_skip_all "mpicc.mpich fails"
else
    command -v mpirun >/dev/null 2>&1 || tap_skip_all "there is no mpirun"
fi
[ -e "$GPUSH_BUILD/lib/libgpush_mpi.so" ] || tap_skip_all "the plug-in for MPI was not built"
# tests run at the same time as others, on few processors: a rank that waits gives its one away
export OMPI_MCA_mpi_yield_when_idle=1
# Open MPI leaves memory behind, in parts of it that are unloaded and have no names by then
[ -z "${ASAN_OPTIONS-}" ] || export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"

# ranks N SCRIPT [ARGS]: runs it in N processes, at most 100 s; stdout in out, stderr in err, and
# how long it took in seconds.
# shellcheck disable=SC2034 # status and seconds are for the tests
ranks() {
    local n=$1 begin=$EPOCHREALTIME
    shift
    timeout -k 5 100 "$GPUSH_BUILD/gpush" run -n "$n" "$@" >out 2>err </dev/null
    status=$?
    seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
}

# says PATTERN NAME: stderr has a line that matches the extended regular expression.
says() {
    grep -Eq -- "$1" err
    tap_ok $? "$2" "$(head -c 2000 err)"
}
