#!/usr/bin/env bash
# The lab ddp.lua: equal losses in 1, 2 and 4 processes, and the late rank is found.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
"$GPUSH_BUILD/gpush" "$GPUSH_ROOT/scripts/labs/ddp.lua" --steps 6 --width 32 --delay 40 >out 2>err
tap_is "$? $(head -c 300 err)" "0 " "it runs"
tap_is "$(awk 'NF == 10 && $1 ~ /^[124]$/ { print $1, $2 }' out | awk '{ d = $2 - last; last = $2; if (NR > 1 && (d > 2e-6 || d < -2e-6)) bad = 1; n++ } END { print n, bad + 0 }')" \
    "3 0" "the same loss in 1, 2 and 4 processes"
tr -s ' \n' ' ' <out | grep -q 'dist.all_reduce_ [^ ]*ddp.lua:\([0-9]*\) 6 .* rank 1 [1-6] .* between .*ddp.lua:[0-9]* .*and \1 '
tap_ok $? "the late rank is found, and the lines around the delay" "$(cat out)"
tap_is "$(grep -cE '^(losses: equal to 1.0e-06|[24] processes: (pays|loses|no clear|no conclusion)|late rank: rank 1, last in [1-6] of 6 )' out)" 4 \
    "it concludes from its numbers: the losses, 2 and 4 processes, the late rank"
lone=$(GPUSH_MPI_PLUGIN=/none "$GPUSH_BUILD/gpush" "$GPUSH_ROOT/scripts/labs/ddp.lua" --steps 2 --width 8 2>&1)
tap_is "$? $(tail -n 1 <<<"$lone" | cut -c -61)" "0   More need MPI and gpush's plug-in for it: gpush doctor says" \
    "an mpirun without the plug-in: one process, and what is missing"
tap_is "$(sed -n 1p out)" "ddp: 6 steps of 32 rows, 5 layers of 32, on cpu (measured)" "and says of what kind they are"
tap_done
