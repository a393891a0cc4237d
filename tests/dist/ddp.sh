#!/usr/bin/env bash
# nn.parallel.DistributedDataParallel and data.Loader's sampler in 1 to 4 processes.
# shellcheck disable=SC2154 # status, seconds: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
cd "$HOME" || exit 1
for n in 1 2 3 4; do
    ranks $n "$GPUSH_ROOT/tests/support/dist/ddp.lua"
    tap_is "$status $(grep -c ': 0 wrong' out)" "0 $n" "$n ranks"
    grep 'wrong:' out | head -5 | sed 's/^/# /'
    [ "$status" = 0 ] || head -12 err | sed 's/^/# /'
    [ $n = 3 ] || continue
    first=$(grep '^sum' out)
    ranks 3 "$GPUSH_ROOT/tests/support/dist/ddp.lua"
    tap_is "$(grep '^sum' out)" "$first" "the same bits in every run"
done
tap_done
