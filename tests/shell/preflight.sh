#!/bin/bash
# A limit of address space that is too low ends the start with a sentence, where OpenBLAS would try
# for memory without end; the limit that the sentence names is enough.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$TMPDIR" || exit 1
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "the sanitizers reserve terabytes of addresses"
cat >first.lua <<'END'
local a = randn(300, 300)
local b = linalg.solve(a:matmul(a), a)
conv2d(randn(2, 3, 32, 32), randn(8, 3, 3, 3))
print("done", threads())
END

# start KIB THREADS: the first products and factorizations below that limit.
start() { (ulimit -v "$1"; OMP_NUM_THREADS=$2 timeout 30 "$gpush" first.lua 2>&1); }

for n in 1 2 4; do
    said=$(start 300000 $n)
    tap_is $? 1 "$n threads in 300,000 KiB are refused" "$said"
    need=$(sed -n 's/.* takes \([0-9]*\) MiB; .*/\1/p' <<<"$said")
    tap_ok $((${need:-0} < 400)) "with what they need: $need MiB" "$said"
    tap_is "$(start $((need * 1024)) $n)" "done"$'\t'"$n" "which is enough"
    start $((need * 1024 - 1024)) $n >/dev/null
    tap_is $? 1 "and 1 MiB less is not"
done
tap_done
