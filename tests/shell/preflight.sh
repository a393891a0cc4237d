#!/bin/bash
# What ends the start with a sentence: a processor that lacks what all kernels are compiled for, and
# a limit of address space that is too low, where OpenBLAS would try for memory without end; the
# limit that the sentence names is enough.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$TMPDIR" || exit 1
[ -z "${GPUSH_SAN-}" ] || tap_skip_all "the sanitizers reserve terabytes of addresses"
if command -v qemu-x86_64 >/dev/null; then
    tap_is "$(qemu-x86_64 -cpu core2duo "$gpush" -e '1 + 1' 2>&1; echo $?)" \
        $'gpush: this processor lacks SSE4.2 or POPCNT, which gpush needs (x86-64-v2)\n1' "a processor older than x86-64-v2"
    tap_is "$(qemu-x86_64 -cpu Nehalem "$gpush" -e '1 + 1' 2>/dev/null)" 2 "but not one of x86-64-v2"
else tap_skip "no qemu-x86_64 (Debian's qemu-user) for a lesser processor"; fi
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

# The libraries' first uses while tensors hold all that the limit leaves, and once it is free again.
cat >full.lua <<'END'
local keep, first = {}, {}
for _, mib in ipairs { 64, 16, 4, 1 } do
    repeat
        local ok, x = pcall(zeros, mib * 262144)
        if ok then keep[#keep + 1] = x end
    until not ok
end
local x = keep[1]
local function part(n, ...) return x[{ { 1, n } }]:view(...) end
function first.sum() return x:sum() end
function first.product() return part(90000, 300, 300) @ part(90000, 300, 300) end
function first.svd() return linalg.svd(part(10000, 100, 100)) end
function first.convolution() return conv2d(part(3072, 1, 3, 32, 32), part(216, 8, 3, 3, 3)) end
function first.fft() return fft.rfft(part(99700, 100, 997)) end
function first.sort() return x[{ { 1, 1000000 } }]:sort() end
for name, f in pairs(first) do
    local ok, why = pcall(f)
    if not ok and not why:find "out of memory" then print(name, why) end
end
keep = nil
for name, f in pairs(first) do
    local ok, why = pcall(f)
    if not ok then print(name, why) end
end
x = nil
print((ones(300, 300) @ ones(300, 300)):sum():item())
END
for kib in 700000 1000000 2000000; do
    for n in 1 2; do
        said=$(ulimit -v $kib; OMP_NUM_THREADS=$n timeout 60 "$gpush" full.lua 2>&1)
        tap_is "$said" 27000000.0 "$n threads live on in $kib KiB when tensors have filled them"
    done
done
tap_done
