#!/usr/bin/env bash
# Collectives in 1 to 4 processes against references that each rank computes by itself.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
for n in 1 2 3 4; do
    ranks $n "$GPUSH_ROOT/tests/support/dist/collectives.lua"
    tap_is "$status $(grep -c ' 0 wrong' out)" "0 $n" "$n ranks"
    grep 'wrong:' out | head -5 | sed 's/^/# /'
    [ "$status" = 0 ] || head -20 err | sed 's/^/# /'
done
ranks 3 "$GPUSH_ROOT/tests/support/dist/groups.lua"
tap_is "$status $(sort out | tr '\n' ';')" "0 0	0	1	true	3;1	0	1	true	3;2	0	1	true	3;" \
    "150 groups at a time, and 100 one after the other: $(head -c 300 err)"
tap_done
