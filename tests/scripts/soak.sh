#!/bin/bash
# A short form of scripts/dev/soak: programs of all kinds again and again, each with the same result,
# while memory, threads and open files stay as they are.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "the sanitizers keep what was freed"
out=$("$root/scripts/dev/soak" 10 2>&1)
tap_ok $? "nothing grows and no result changes" "$out"
tap_done
