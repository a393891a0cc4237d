#!/bin/bash
# gpush doctor on the stand-in for CUDA: a kernel on each card, what the plug-in has code for, memory
# that is free, each of NVIDIA's libraries, and the command that mends what is missing.
. "$GPUSH_ROOT/tests/support/tap.sh"
cd "$TMPDIR" || exit 1
mkdir -p plugin bin home
cp "$GPUSH_BUILD"/fake/lib{gpush_cuda,fakecudart}.so plugin/ # without its libraries beside it
printf '#!/bin/sh\n' >bin/python3
chmod +x bin/python3
export GPUSH_CUDA_PLUGIN=$PWD/plugin/libgpush_cuda.so HOME=$PWD/home PATH=$PWD/bin:$PATH
unset CUDA_HOME CUDA_PATH CONDA_PREFIX LD_LIBRARY_PATH
doctor() { env "$@" "$GPUSH_BUILD/gpush" doctor; }
# says LINE NAME [SETTING...]: the doctor's lines have these, one under the other
says() {
    local got
    got=$(doctor "${@:3}" | sed -E 's/^(ok|--|!!)  ([^ ]+( [^ ]+)?) +/\1 \2: /; s/^ {17}/     /')
    [[ $'\n'$got$'\n' == *$'\n'$1$'\n'* ]]
    tap_ok $? "$2" "${got}"
}
build="     scripts/gpush --cuda"

says "ok cuda:0: runs a kernel; 4.0 GiB of its memory are free
ok code: for 8.0, 9.0, and PTX of CUDA 13.0 for others" "a card runs a kernel, and its code is in the plug-in"
says "ok cuda:0: runs a kernel; 4.0 GiB of its memory are free
ok code: for 8.0, 9.0, and PTX of CUDA 13.0 for others" "code for 8.0 serves 8.9" GPUSH_FAKE_ARCH=89
says "-- code: for 8.0, 9.0, and PTX of CUDA 13.0 for others: the driver compiles it for this card at each file's first use
$build" "a card without code of its own" GPUSH_FAKE_ARCH=120
echo $((3 << 30)) >others
says "ok cuda:0: runs a kernel; 1.0 GiB of its memory are free" "what others have is not free" GPUSH_FAKE_OTHERS="$PWD/others"
says "ok plug-in: finds cuda:1, stand-in for tests (not a GPU), compute capability 9.0, 4.0 GiB
ok cuda:0: runs a kernel; 4.0 GiB of its memory are free
ok code: for 8.0, 9.0, and PTX of CUDA 13.0 for others
ok cuda:1: runs a kernel; 4.0 GiB of its memory are free" "two cards" GPUSH_FAKE_DEVICES=2
code="; the plug-in has code for 8.0, 9.0, and PTX of CUDA 13.0 for others"
says "!! cuda:0: runs no kernel: doctor:2: ones: the provided PTX was compiled with an unsupported toolchain. (cudaErrorUnsupportedPtxVersion) on cuda:0; last queued: ones (doctor:2)$code
$build" "PTX of a CUDA that is newer than the driver's" GPUSH_FAKE_LAUNCH=1+:222
says "!! cuda:0: runs no kernel: doctor:2: ones: no kernel image is available for execution on the device (cudaErrorNoKernelImageForDevice) on cuda:0; last queued: ones (doctor:2)$code
$build" "no code for the card" GPUSH_FAKE_LAUNCH=1+:209
text=$(GPUSH_FAKE_LAUNCH=1+:222 "$GPUSH_BUILD/gpush" -e 'print(pcall(ones, 1, {device = "cuda"}))')
[[ $text == *"(cudaErrorUnsupportedPtxVersion) on cuda:0; "*"; gpush doctor says what to do" ]]
tap_ok $? "the op's own error leads to the doctor" "$text"
doctor GPUSH_FAKE_LAUNCH=1+:209 >/dev/null
tap_is $? 1 "which is a failure"
says "-- plug-in: built, but no device: cuda: there is no NVIDIA driver" "no driver" GPUSH_FAKE_DRIVER=0
says "-- plug-in: built, but no device: cuda: the driver is for CUDA 12.4, and this build of gpush needs 13.0: update the driver, or build gpush with a toolkit of CUDA 12
     scripts/dev/cuda-plugins FOLDER, with a toolkit of the driver's CUDA" "a driver that is too old" GPUSH_FAKE_DRIVER=12040

says "ok CUDA runtime: 13.0, linked into $PWD/plugin/libgpush_cuda.so" "the plug-in's own path"

# ---- a plug-in that cannot be loaded: one sentence each ----
# loads_not NAME PATTERN: the plug-in in bad.so
loads_not() {
    local text
    text=$(doctor GPUSH_CUDA_PLUGIN="$PWD/plugin/bad.so" | grep -A1 '^--  plug-in  *cuda')
    grep -qx -- "--  plug-in      cuda: the plug-in cannot be loaded: $2" <<<"${text%%$'\n'*}" && [ "$(sed -n '2s/^ *//p' <<<"$text")" = "scripts/gpush --cuda" ]
    tap_ok $? "$1" "$text"
    text=$(GPUSH_CUDA_PLUGIN=$PWD/plugin/bad.so "$GPUSH_BUILD/gpush" -e 'print(pcall(ones, 1, {device = "cuda"}))' 2>&1)
    grep -q "^false.*no CUDA device here (the plug-in cannot be loaded: $2); device" <<<"$text" && [ "$(wc -l <<<"$text")" = 1 ]
    tap_ok $? "$1: what asks for it says so, too" "$text"
}
head -c 100000 plugin/libgpush_cuda.so >plugin/bad.so
loads_not "a broken download" ".*bad.so is cut off: 100000 of its [0-9]* bytes are there"
: >plugin/bad.so
loads_not "an empty one" ".*bad.so: file too short"
cp plugin/libgpush_cuda.so plugin/bad.so
printf '\267' | dd of=plugin/bad.so bs=1 seek=18 conv=notrunc status=none # aarch64's number
loads_not "one for another processor" ".*bad.so is for another kind of processor"
needed=$(readelf -V plugin/libgpush_cuda.so | grep -o 'GLIBC_2\.[0-9]*' | sort -V | tail -n 1)
LC_ALL=C sed "s/$needed/GLIBC_9${needed#GLIBC_2}/g" plugin/libgpush_cuda.so >plugin/bad.so
loads_not "one for a newer glibc" ".*version .GLIBC_9${needed#GLIBC_2}. not found.*"

# ---- libraries, by a small plug-in that was compiled without cudnn.h, for CUDA 13 and 12 ----
# small MAJOR: its search and its descriptions alone
small() {
    mkdir -p "include$1"
    for f in "$GPUSH_ROOT"/tests/fake_cuda/include/*; do
        # copies: of a link GCC takes the shorter path of the two
        case $f in */cudnn.h | */nccl.h) ;; *) cp -r "$f" "include$1/" ;; esac
    done
    sed "s/\(define CUDART_VERSION\) .*/\1 ${1}040/" "$GPUSH_ROOT/tests/fake_cuda/include/cuda_runtime_api.h" >"include$1/cuda_runtime_api.h"
    echo 'int gp_fail(const char *f, ...) { return 0; } void *gp_cuda_stream(const void *c) { return 0; }' >stubs.c
    (cd "$GPUSH_ROOT/kernels/cuda/runtime" && cc -std=gnu11 -shared -fPIC -fvisibility=hidden -w -D_GNU_SOURCE -DGP_PLUGIN -nostdinc \
        -isystem "$(cc -print-file-name=include)" -I"$GPUSH_ROOT" -isystem "$TMPDIR/include$1" -idirafter /usr/include \
        -idirafter "/usr/include/$(cc -print-multiarch)" -o "$TMPDIR/plugin/small$1.so" \
        describe.c libs.c find.c "$GPUSH_ROOT/tensor/io/library.c" "$TMPDIR/stubs.c" -L"$TMPDIR/plugin" -lfakecudart "-Wl,-rpath,$TMPDIR/plugin")
}
small 12
small 13
if [ -x /usr/bin/python3 ] && ls /usr/lib*/python3*/EXTERNALLY-MANAGED >/dev/null 2>&1; then
    says "     for fft: python3 -m pip install --user --break-system-packages nvidia-cufft-cu12" "a Python that the system manages" \
        PATH=/usr/bin:/bin GPUSH_CUDA_PLUGIN="$PWD/plugin/small12.so"
else tap_skip "no Python here refuses packages"; fi
mkdir none
for cuda in 12 13; do
    [ $cuda = 13 ] && number= || number=-cu12
    text=$(doctor GPUSH_CUDA_PLUGIN="$PWD/plugin/small$cuda.so" GPUSH_CUDA_LIBRARIES="$PWD/none")
    while read -r name for; do
        case $name in cuDNN | NCCL) package=$for-cu$cuda ;; *) package=$for$number ;; esac
        line=$(grep -A1 "^..  $name  " <<<"$text")
        case $line in
            ok*) tap_skip "$name of CUDA $cuda is on this machine" ;;
            *) [[ $line == *"python3 -m pip install $package" ]]; tap_ok $? "CUDA $cuda: the package of $name" "$line" ;;
        esac
    done <<'END'
cuBLAS nvidia-cublas
cuBLASLt nvidia-cublas
cuSOLVER nvidia-cusolver
cuFFT nvidia-cufft
CUPTI nvidia-cuda-cupti
NVRTC nvidia-cuda-nvrtc
NCCL nvidia-nccl
END
done
says "-- cuDNN: 9.19.0, $(readlink -f "$GPUSH_BUILD")/fake/libcudnn.so.9, which is not used: the plug-in was compiled without cudnn.h
     python3 -m pip install nvidia-cudnn-cu13 && scripts/gpush --cuda" "a cuDNN that the plug-in cannot use" \
    GPUSH_CUDA_PLUGIN="$PWD/plugin/small13.so" GPUSH_CUDA_LIBRARIES="$(readlink -f "$GPUSH_BUILD")/fake"
[ "$(doctor | grep -c 'ok *processor *x86-64')" = 1 ] || ! grep -q '^flags' /proc/cpuinfo
tap_ok $? "the processor's level is named"
tap_done
