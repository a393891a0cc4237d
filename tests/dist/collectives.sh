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
tap_done
