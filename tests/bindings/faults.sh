#!/bin/bash
# Every allocation of gpush and of the C library fails in turn, alone and with all later ones: each
# time an error or the right result, and afterwards all is as it was. So does every system call on a
# file in programs that save, and then the file is whole. At a program's first run, in a process of
# its own each, a sample; FAULTS=all, as scripts/dev/faults sets it, takes them all.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${GPUSH_BUILD:-$root/build/default}
. "$root/tests/support/tap.sh"
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "the sanitizers bring their own malloc"
cc=$(command -v cc || command -v gcc) || tap_skip_all "no C compiler"
$cc -O2 -shared -fPIC -o "$TMPDIR/inject.so" "$root/tests/support/faults/inject.c" 2>/dev/null ||
    tap_skip_all "interposing needs glibc on x86-64"
export LUA_PATH="$root/tests/support/faults/?.lua;;" TMPDIR build root
saving=$(sed -n 's/^function P\.loads\.\([a-z_]*\)().*/\1/p' \
    "$root/tests/support/faults/programs.lua")
programs=$(sed -n 's/^function P\.\([a-z_]*\)().*/\1/p' "$root/tests/support/faults/programs.lua")

# program NAME [N K]: run.lua's last line, or how it ended.
program() {
    local out=$TMPDIR/out.$BASHPID status
    LD_PRELOAD=$TMPDIR/inject.so timeout "${patience:-120}" "$build/gpush" \
        "$root/tests/support/faults/run.lua" "$@" >"$out" 2>&1
    status=$?
    [ $status = 0 ] || echo "BAD status $status, $*"
    cat "$out"
}

# first_run NAME: a line for each point at the program's first run.
first_run() {
    total=$(program "$1" 0)
    [[ $total =~ ^[1-9][0-9]*$ ]] || { echo "BAD count: $total"; return; }
    step=1
    [ "${FAULTS-}" = all ] || step=$((total / 8 + 1))
    for ((n = 1; n <= total; n += step)); do
        for k in 1 1000000000; do
            echo "$n:$k $(patience=20 program "$1" "$n" "$k" | tr '\n' ' ')"
        done
    done
}

# files NAME: the points of its system calls on files.
files() {
    local result
    result=$(program "$1" files)
    if [ "$result" = SKIP ]; then
        tap_skip "no seccomp here to let system calls fail"
        return
    fi
    tap_is "$(grep BAD <<<"$result")" "" "$1, files: $(tail -n 1 <<<"$result")"
    more=$(tail -n 1 <<<"$result")
    more=${more%% points*}
    [[ $more =~ ^[0-9]+$ ]] && points=$((points + more))
}

points=0
for name in $saving; do
    files "$name"
done
for name in $programs; do
    again=$(program "$name")
    tap_is "$(grep BAD <<<"$again")" "" "$name: $(tail -n 1 <<<"$again")"
    first=$(first_run "$name")
    tap_is "$(grep BAD <<<"$first")" "" "$name: $(wc -l <<<"$first") points at its first run, \
$(grep -c 'error *$' <<<"$first") errors"
    more=$(tail -n 1 <<<"$again")
    more=${more%% points*}
    [[ $more =~ ^[0-9]+$ ]] && points=$((points + more + $(wc -l <<<"$first")))
done
echo "# $points points"
tap_ok $((points < 2000)) "points: $points"
tap_done
