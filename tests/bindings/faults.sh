#!/bin/bash
# Allocations of gpush, and its system calls on files, fail in turn, alone and with all later ones:
# each time an error that says why, or the right result, and afterwards all is as it was. A sample
# of them; scripts/dev/faults takes every one. Those of a program's first run are made in a process
# of its own each; jobs of two ranks fail on one of them.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "scripts/dev/faults asan runs it so"
cc=$(command -v cc || command -v gcc) || tap_skip_all "no C compiler"
$cc -O2 -shared -fPIC -o "$TMPDIR/inject.so" "$root/tests/support/faults/inject.c" 2>/dev/null ||
    tap_skip_all "interposing needs glibc on x86-64"
export LUA_PATH="$root/tests/support/faults/?.lua;;" TMPDIR build root
programs=${PROGRAMS:-$(sed -n 's/^function P\.\([a-z_]*\)().*/\1/p' \
    "$root/tests/support/faults/programs.lua")}
# Points in one process, of its first run, and jobs, of each kind.
case ${FAULTS-} in
    all) most=1000000000 first=25 jobs=20 ;;
    asan) most=300 first=0 jobs=0 ;; # Open MPI leaves memory behind
    *) most=40 first=3 jobs=2 ;;
esac

# program NAME WHAT [MOST]: run.lua's lines, and how it ended.
program() {
    local status
    LD_PRELOAD=$TMPDIR/inject.so timeout "${patience:-${PATIENCE:-120}}" "$build/gpush" \
        "$root/tests/support/faults/run.lua" "$@" 2>&1
    status=$?
    [ $status = 0 ] || echo "BAD status $status, $*"
}

# first_run NAME KIND: a line for each point at the program's first run.
first_run() {
    local total n k codes=("") i=0
    total=$(program "$1" "$2:0")
    [[ $total =~ ^[0-9]+$ ]] || { echo "BAD count: $total"; return; }
    [ "$2" = FAULT ] || codes=(:5 :28 :24 :0)
    for ((n = 1; n <= total; n += total / first + 1)); do
        for k in 1 1000000000; do
            local fault="$2:$n:$k${codes[i++ % ${#codes[@]}]}"
            echo "$fault $(patience=60 program "$1" "$fault" | tr '\n' ' ')"
        done
    done
}

points=0
# add TEXT NAME: the test NAME of run.lua's lines, and its points.
add() {
    local n
    if [ "$1" = SKIP ]; then
        tap_skip "$2: no seccomp here to let system calls fail"
        return
    fi
    n=$(sed -n 's/^\([0-9]*\) points.*/\1/p' <<<"$1")
    [ -n "$n" ] || n=$(grep -c '^F' <<<"$1")
    tap_is "$(grep BAD <<<"$1")" "" "$2: $n points"
    points=$((points + n))
}

for name in $programs; do
    for kind in FAULT FILE; do
        add "$(program "$name" $kind $most)" "$name, $kind"
        [ $first = 0 ] || add "$(first_run "$name" $kind)" "$name, $kind at its first run"
    done
done

# job FAULT: how a job ends of which the last rank has it; "fine" from each rank, or why not.
job() {
    local status
    LD_PRELOAD=$TMPDIR/inject.so timeout -k 5 "${patience:-100}" "$build/gpush" run -n 2 \
        "$root/tests/support/faults/job.lua" "$1" >"$TMPDIR/job" 2>&1
    status=$?
    if [ $status = 124 ] || [ $status = 137 ] || grep -q crashed "$TMPDIR/job"; then
        echo "BAD status $status: $(tail -n 3 "$TMPDIR/job")"
    elif [ $status != 0 ]; then
        grep -qE 'memory|no thread|Input/output|No space|open files|interrupted|cannot be loaded: ' "$TMPDIR/job" ||
            echo "BAD no reason: $(head -n 3 "$TMPDIR/job")"
    elif [[ $1 != *:0 ]] && [ "$(grep -c fine "$TMPDIR/job")" != 2 ]; then
        echo "BAD result: $(head -n 3 "$TMPDIR/job")"
    fi
}

# jobs KIND CODE...: a line for each point, with the next of the codes.
jobs() {
    local kind=$1 total n i=0
    shift
    job "$kind:0"
    total=$(grep -E '^[0-9]+$' "$TMPDIR/job")
    [ -n "$total" ] || { echo "BAD count: $(head -n 3 "$TMPDIR/job")"; return; }
    for ((n = 1; n <= total; n += total / jobs + 1)); do
        for k in 1 1000000000; do
            local code=${*:i++ % $# + 1:1}
            echo "$kind:$n:$k${code#-} $(job "$kind:$n:$k${code#-}")"
        done
    done
    job "$kind:0"
}

if [ $jobs = 0 ] || ! command -v mpirun >/dev/null || [ ! -e "$build/lib/libgpush_mpi.so" ]; then
    tap_skip "jobs of ranks: there is no mpirun, or the plug-in for MPI was not built"
else
    export OMPI_MCA_mpi_yield_when_idle=1
    add "$(jobs FAULT -)" "jobs of two ranks, FAULT"
    add "$(jobs FILE :5 :28 :24 :0)" "jobs of two ranks, FILE"
fi
echo "# $points points"
tap_ok $((points < 2000)) "points: $points"
tap_done
