#!/bin/bash
# Programs that NVRTC compiles, in the folder of compiled programs: two shells at once, files that
# are broken or another's, Ctrl-C while it compiles, and an NVRTC that is no use. Whatever happens,
# results are right.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
work=$(mktemp -d) || exit 1
export XDG_CACHE_HOME=$work/cache GPUSH_FUSE_COMPILE=wait
folder=$work/cache/gpush/fused
program='local n = tonumber(arg and arg[1]) or 1
local function fn(x) return x * n + 1 end
local f, x = fuse(fn), randn(30, {device = "cuda"})
f(x)
assert(f(x):equal(fn(x)))
local _, n = fuse_compile()
print(n.compiled, n.loaded, n.failed, n.why)'
run() { "$gpush" -e "$program" 2>&1 | tr '\t' ' '; }
code() { find "$folder" -name '*.cu' | wc -l; }

mkdir "$work/cache"
run >"$work/1" &
run >"$work/2" &
wait
right=$(cat "$work/1" "$work/2" | grep -cE '^(1 0|0 1) 0 nil$')
tap_is "$right" 2 "two at once: both are right" "$(cat "$work/1" "$work/2")"
tap_is "$(find "$folder" -type f | wc -l) $(code)" "1 1" "and leave one file"
tap_is "$(run)" "0 1 0 nil" "which the next one finds"

# ---- files ----
file=$(echo "$folder"/*.cu)
printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none
tap_is "$(run)" "1 0 0 nil" "a damaged one is made again"
cp "$file" "$work/whole"
other=$(program=${program/x \* n/x - n} run)
mv "$(find "$folder" -name '*.cu' ! -path "$file")" "$file"
tap_is "$other $(run)" "1 0 0 nil 1 0 0 nil" "and that of another program"
cp "$work/whole" "$file"
tap_is "$(run)" "0 1 0 nil" "a copy of its own serves"
rm "$file"
GPUSH_FAKE_NVRTC_KEEP=$work/kept run >/dev/null
tap_is "$(code) $(run)" "1 1 1 0 nil" "code that the driver does not take is made again"

# ---- Ctrl-C ----
rm "$file"
export GPUSH_FAKE_NVRTC_WAITS=$work/waits
perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$gpush" -e "$program" >"$work/1" 2>&1 &
for ((i = 0; i < 3000; i++)); do
    [ -e "$work/waits" ] && break
    sleep 0.01
done
kill -INT $!
for ((i = 0; i < 3000; i++)); do
    grep -q interrupted "$work/1" && break
    sleep 0.01
done
grep -q interrupted "$work/1"
tap_ok $? "Ctrl-C ends a program that waits for NVRTC" "$(cat "$work/1")"
wait $!
rm "$work/waits"
unset GPUSH_FAKE_NVRTC_WAITS
tap_is "$(code) $(run)" "0 1 0 0 nil" "and the end of the program does not"

# ---- the end ----
for how in "" "os.exit(3)" "f, x = nil collectgarbage() collectgarbage()"; do
    rm -f "$folder"/*.cu
    want=0
    [ "$how" != "os.exit(3)" ] || want=3
    GPUSH_FUSE_COMPILE=1 GPUSH_FAKE_NVRTC_WAITS=$work/waits timeout 20 "$gpush" -e '
        f, x = fuse(function(x) return x * 5 + 1 end), randn(30, {device = "cuda"})
        f(x) f(x) f(x)
        print(fuse_compile(), (select(2, fuse_compile())))'"$how" >"$work/1" 2>&1
    status=$?
    [ -e "$work/waits" ] && status="$status at work"
    rm -f "$work/waits"
    tap_is "$status" "$want at work" "NVRTC that still works does not keep the program: ${how:-its end}" "$(cat "$work/1")"
done

# ---- what NVRTC knows ----
# Code for its own capability, for the newest that its own may run, and PTX where NVRTC knows none.
for card in "90 75,80,90" "89 75,80,90" "120 75,80,90" "75 75"; do
    rm -f "$folder"/*
    tap_is "$(GPUSH_FAKE_ARCH=${card% *} GPUSH_FAKE_NVRTC_KNOWS=${card#* } run)" "1 0 0 nil" \
        "a card of ${card% *}, and an NVRTC that knows ${card#* }"
done
rm "$folder"/*
tap_is "$(GPUSH_FAKE_ARCH=75 GPUSH_FAKE_NVRTC_KNOWS=80,90 run | cut -d' ' -f1-3)" "0 0 1" "one that knows only newer ones is no use"

# ---- without ----
rm -f "$file"
refused() { # NAME PATTERN
    local text
    text=$(run)
    grep -qE "^0 0 1 .*$2" <<<"$text"
    tap_ok $? "$1" "$text"
    tap_is "$(code)" 0 "$1: nothing is kept"
}
GPUSH_FAKE_NVRTC_FAILS=1 refused "an NVRTC that fails" "as asked"
mkdir "$work/libraries"
ln -s "$GPUSH_BUILD"/fake/*.so* "$work/libraries"
rm "$work/libraries"/libnvrtc*
export GPUSH_CUDA_LIBRARIES=$work/libraries
# The machine may have one of its own, whose code is none for the stand-in's driver.
text=$(run)
grep -qE '^(0 0|1 0) 1 .*(libnvrtc.so.1[23] was not found|the driver cannot load it)' <<<"$text"
tap_ok $? "a missing one" "$text"
rm -f "$folder"/*.cu
ln -s libcufft.so.12 "$work/libraries/libnvrtc.so.13"
refused "one without its functions" "has no function nvrtcCreateProgram"
rm -rf "$work"
tap_done
