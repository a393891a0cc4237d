#!/bin/bash
# The plug-in loads the libraries that gpush doctor names, and nothing of another CUDA: both layouts
# of Python's packages, cuDNN and NCCL in three places, with and without a toolkit in CUDA_HOME and
# a LD_LIBRARY_PATH with other versions of everything. The libraries are empty stand-ins that write
# down that they were loaded. scripts/dev/cuda-plugins runs it on the plug-ins for cards.
. "$GPUSH_ROOT/tests/support/tap.sh"
cd "$TMPDIR" || exit 1
plugin=${PLUGIN_UNDER_TEST-}
if [ -z "$plugin" ]; then # the stand-in, without its libraries beside it
    mkdir plugin
    cp "$GPUSH_BUILD"/fake/lib{gpush_cuda,fakecudart}.so plugin/
    plugin=$PWD/plugin/libgpush_cuda.so
fi
unset CUDA_HOME CUDA_PATH CONDA_PREFIX GPUSH_CUDA_LIBRARIES
doctor() { env GPUSH_CUDA_PLUGIN="$plugin" HOME="$PWD/home" PATH="$PWD/bin:/usr/bin:/bin" "$@" "$GPUSH_BUILD/gpush" doctor; }
major=$(doctor | sed -n 's/^ok *CUDA runtime *\([0-9]*\)\..*/\1/p')
[ "$major" ] || { tap_ok 1 "the plug-in opens" "$(doctor)"; tap_done; }

cat >empty.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
static int version(int *v) { return *v = 1000 * MAJOR, 0; }
int cublasGetProperty(int i, int *v) { return *v = i ? 0 : MAJOR, 0; }
size_t cublasLtGetVersion(void) { return 10000 * MAJOR; }
size_t cudnnGetVersion(void) { return 91000; }
int cusolverGetVersion(int *v) { return version(v); }
int cufftGetVersion(int *v) { return version(v); }
/* That of CUDA 13.2 crashes without a driver. */
int cuptiGetVersion(int *v) { return dlopen("libcuda.so.1", RTLD_LAZY) ? version(v) : (abort(), 0); }
int ncclGetVersion(int *v) { return *v = 22700, 0; }
int nvrtcVersion(int *major, int *minor) { return *major = MAJOR, *minor = 4, 0; }
#ifdef CUDNN
size_t cudnnGetCudartVersion(void) { return 1000 * MAJOR; }
#endif
static const char *const parts[] = {PARTS NULL}; /* what it opens by name */
__attribute__((constructor)) static void loaded(void) {
    Dl_info at;
    FILE *f = fopen(getenv("LOADED") ? getenv("LOADED") : "/dev/null", "a");
    dladdr((void *)cublasGetProperty, &at);
    if (f) fprintf(f, "%s\n", at.dli_fname), fclose(f);
    for (int i = 0; parts[i]; i++) dlopen(parts[i], RTLD_LAZY);
}
END
mkdir all other home bin
printf '#!/bin/sh\n' >bin/python3
chmod +x bin/python3
# empty FILE OPTION...: a library that needs those of all/ that are named
empty() {
    cc -shared -fPIC -DMAJOR="$major" -Wl,-soname,"$1" -Wl,--no-as-needed -Wl,--allow-shlib-undefined -o "all/$1" \
        "-DPARTS=$parts" empty.c "${@:2}" 2>errors || cat errors >&2
}
behind=$((major - 1)) parts=
empty libnvJitLink.so.$major
empty libcublasLt.so.$major
empty libcublas.so.$major all/libcublasLt.so.$major
empty libcusparse.so.12 all/libnvJitLink.so.$major
empty libcusolver.so.$behind all/lib{cublas,cublasLt,nvJitLink}.so.$major all/libcusparse.so.12
empty libcufft.so.$behind
empty libcupti.so.$major
empty libnvrtc-builtins.so.$major.0
parts="\"libnvrtc-builtins.so.$major.0\"," empty libnvrtc.so.$major
empty libcudnn_graph.so.9
empty libcudnn_ops.so.9 all/libcudnn_graph.so.9
parts='"libcudnn_ops.so.9","libcudnn_graph.so.9",' empty libcudnn.so.9 -DCUDNN
empty libnccl.so.2
cp all/* other/ # those of a hostile LD_LIBRARY_PATH

# put FOLDER FILE...
put() { mkdir -p "$1" && cp "${@:2}" "$1/"; }
# package SITE NAME CU FILE...: nvidia/NAME/lib, and what pip writes beside it
package() { mkdir -p "$1/nvidia_$2_$3-1.dist-info" && put "$1/nvidia/$2/lib" "${@:4}"; }
cuda="cublas cublasLt cusolver cufft cusparse nvJitLink cupti nvrtc"
files_of() { for name; do ls all/lib"$name"[.-]* all/lib"$name"_* 2>/dev/null; done; }

# Packages as they are since CUDA 13, and as before; each beside some of another CUDA.
one=$PWD/one/lib/python3.11/site-packages each=$PWD/each/lib/python3.11/site-packages
# shellcheck disable=SC2086,SC2046 # words
put "$one/nvidia/cu$major/lib" $(files_of $cuda)
for pair in cublas:cublas cublas:cublasLt cusolver:cusolver cufft:cufft cusparse:cusparse nvjitlink:nvJitLink \
    cuda_cupti:cupti cuda_nvrtc:nvrtc; do
    # shellcheck disable=SC2046
    package "$each" ${pair%:*} cu$major $(files_of ${pair#*:})
done
package "$one" cublas cu11 all/libcublas* all/libcusparse.so.12
# shellcheck disable=SC2086,SC2046
put "$each/nvidia/cu9/lib" $(files_of $cuda cudnn nccl)
# shellcheck disable=SC2046
put "$PWD/apart" $(files_of cudnn nccl)
# shellcheck disable=SC2086,SC2046
put "$PWD/toolkit/lib64" $(files_of ${cuda/cupti/})
put "$PWD/toolkit/extras/CUPTI/lib64" all/libcupti*
cudnn_and_nccl() { # SITE
    # shellcheck disable=SC2046
    package "$1" cudnn cu$major $(files_of cudnn)
    package "$1" nccl cu$major all/libnccl.so.2
}

# try LAYOUT WHERE TOOLKIT HOSTILE
try() {
    local settings=(LOADED="$PWD/loaded") named=0 found name path want
    local site=$PWD/$1/lib/python3.11/site-packages dnn
    rm -rf loaded "$site"/nvidia*/{cudnn,nccl} "$site"/nvidia_{cudnn,nccl}* home/.local
    ln -sfn "$PWD/$1/lib" lib
    case $2 in
        packages) cudnn_and_nccl "$site" ;;
        user) cudnn_and_nccl "$PWD/home/.local/lib/python3.11/site-packages" ;;
        apart) settings+=(GPUSH_CUDA_LIBRARIES="$PWD/apart") ;;
    esac
    [ "$3" = none ] || settings+=(CUDA_HOME="$PWD/toolkit")
    [ "$4" = none ] || settings+=(LD_LIBRARY_PATH="$PWD/other")
    doctor "${settings[@]}" | sed -n 's/^\(..\) *\(cu[A-Z]*\|CUPTI\|NCCL\|NVRTC\|cuBLASLt\|cuSOLVER\)  *\([^ ]*\), \(\/.*\)/\1 \2 \3 \4/p' >named
    while read -r found name _ path; do
        named=$((named + 1))
        case $2:$name in
            apart:cuDNN | apart:NCCL) dnn=$PWD/apart ;;
            user:cuDNN | user:NCCL) dnn=$PWD/home/.local ;;
            *:cuDNN | *:NCCL) dnn=$PWD/lib ;;
            *) [ "$3" = none ] && dnn=$PWD/lib || dnn=$PWD/toolkit ;;
        esac
        want=$(readlink -f "$dnn")
        [ "$found" = ok ] || echo "$name: $found"
        [[ $(readlink -f "$path") == "$want"/* ]] || echo "$name: $path (expected one in $dnn)"
        grep -qxF "$path" loaded || echo "$name: $path was not loaded"
    done <named
    grep -q "^ok NVRTC $major\.4\.0 " named || echo "the version of NVRTC is wrong"
    [ $named = 8 ] || echo "$named libraries are named"
    grep "^$PWD/other/\|/cu9/\|/$1/.*nvidia/cublas/lib/libcusparse" loaded
    sed 's|.*/||' loaded | sort | uniq -d | sed 's/$/ was loaded twice/'
}
for layout in one each; do
    for where in packages user apart; do
        for toolkit in none CUDA_HOME; do
            for hostile in none LD_LIBRARY_PATH; do
                tap_empty "$(try $layout $where $toolkit $hostile)" \
                    "CUDA $major, packages: $layout, cuDNN and NCCL: $where, toolkit: $toolkit, hostile: $hostile"
            done
        done
    done
done
tap_done
