#!/bin/bash
# What CMake says of CUDA's toolkits: none, too old, in part, whole, and where it finds the headers
# that one lacks. Toolkits are folders with a stand-in for nvcc and empty files.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"
command -v cmake >/dev/null || tap_skip_all "no cmake"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
unset CUDA_PATH CUDA_HOME CUDNN_HOME NCCL_HOME CONDA_PREFIX VIRTUAL_ENV CUDACXX
all="cublas_v2.h cublasLt.h cusolverDn.h cufft.h cupti.h cub/cub.cuh cudnn.h nccl.h"

# toolkit FOLDER VERSION HEADER...
toolkit() {
    local to=$scratch/$1 f
    mkdir -p "$to/bin" "$to/include/cub" "$to/include/cccl/cub" "$to/lib64"
    printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "${2%.*}" "$2" >"$to/bin/nvcc"
    chmod +x "$to/bin/nvcc"
    touch "$to/lib64/libcudart.so" "$to/lib64/libcudart_static.a"
    for f in cuda_runtime.h "${@:3}"; do : >"$to/include/$f"; done
}
# wheel PREFIX PACKAGE FOLDER HEADER...: a package of Python's with headers
wheel() {
    local to=$scratch/$1/lib/python3.11/site-packages f
    mkdir -p "$to/nvidia/$3/include/cub" "$to/nvidia_$2-1.0.dist-info"
    for f in "${@:4}"; do : >"$to/nvidia/$3/include/$f"; done
}

# A project that asks what the plug-in's own file asks before anything is compiled.
mkdir -p "$scratch/project" "$scratch/bin"
ln -s "$root/cmake" "$scratch/project/cmake"
sed '/^# scripts\/lib.sh asks this/,$d' "$root/cmake/cuda.cmake" >"$scratch/project/asks.cmake"
cat >"$scratch/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(toolkits C)
set(GPUSH_CUDA ON)
macro(gpush_leave_out)
endmacro()
include(asks.cmake)
set(said "${why}")
if(NOT why)
    gpush_cuda_header(NCCL nccl.h)
    string(APPEND said "[${GPUSH_CUDA_INCLUDES}] ${GPUSH_CUDNN_INCLUDE} ${NCCL}")
endif()
file(WRITE ${CMAKE_BINARY_DIR}/said "${said}")
END
printf '#!/bin/sh\necho "%s/${PYTHON-none};%s/none"\n' "$scratch" "$scratch" >"$scratch/bin/python3"
chmod +x "$scratch/bin/python3"

cmakes=$(dirname "$(command -v cmake)")
# asked TOOLKIT [OPTION]: what it says, with the scratch folder as @; nothing of this machine's own
asked() {
    rm -rf "$scratch/build"
    PATH=$scratch/bin:$cmakes:/usr/bin:/bin cmake -S "$scratch/project" -B "$scratch/build" -DCUDAToolkit_ROOT="$scratch/$1" \
        -DCMAKE_IGNORE_PATH="/usr/local/bin;/usr/local/lib;/usr/local/lib64;/usr/local/cuda/lib64" "${@:2}" >"$scratch/out" 2>&1 || cat "$scratch/out"
    sed "s|$scratch|@|g" "$scratch/build/said"
}

if [ -e /usr/bin/nvcc ]; then tap_skip "there is an nvcc beside the C compiler"
else
    tap_is "$(asked nowhere -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)" "no CUDA toolkit was found, by nvcc on PATH, CUDA_PATH or /usr/local/cuda; CUDA 12.4 or newer is needed" \
        "no toolkit"
fi
toolkit bare 13.0.88
tap_is "$(asked bare -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)" \
    "the CUDA toolkit of @/bare/bin/nvcc lacks cuda_runtime.h or libcudart.so: install the whole toolkit" "a compiler alone"
# shellcheck disable=SC2086 # words
for version in 11.8.89 12.0.140 12.3.107; do
    toolkit old-$version $version $all
    tap_is "$(asked old-$version)" "CUDA $version in @/old-$version/bin is too old: 12.4 or newer is needed" "CUDA $version"
done
# shellcheck disable=SC2086
toolkit mute "" $all
tap_is "$(asked mute)" "nvcc in @/mute/bin does not say its version: does 'nvcc --version' run there?" "a compiler that says no version"
# shellcheck disable=SC2086
for version in 12.4.131 12.9.86 13.0.88 13.2.51; do
    toolkit whole-$version $version $all
    tap_is "$(asked whole-$version)" "[] @/whole-$version/include @/whole-$version/include" "CUDA $version"
done
toolkit part-13 13.1.48 cublas_v2.h cublasLt.h cupti.h cccl/cub/cub.cuh
tap_is "$(asked part-13)" "CUDA 13.1.48 in @/part-13/bin lacks cusolverDn.h, cufft.h: python3 -m pip install nvidia-cusolver nvidia-cufft" \
    "a part of CUDA 13"
toolkit part-12 12.6.20 cublas_v2.h cublasLt.h cusolverDn.h cufft.h
tap_is "$(asked part-12)" "CUDA 12.6.20 in @/part-12/bin lacks cupti.h, cub/cub.cuh: python3 -m pip install nvidia-cuda-cupti-cu12 nvidia-cuda-cccl-cu12" \
    "a part of CUDA 12"
toolkit unblas 13.1.48
tap_is "$(asked unblas)" "CUDA 13.1.48 in @/unblas/bin lacks cublas_v2.h, cublasLt.h, cusolverDn.h, cufft.h, cupti.h, cub/cub.cuh: \
python3 -m pip install nvidia-cublas nvidia-cusolver nvidia-cufft nvidia-cuda-cupti nvidia-cuda-cccl" "a compiler and its runtime alone"
mkdir -p "$scratch/managed/lib/python3.11"
touch "$scratch/managed/lib/python3.11/EXTERNALLY-MANAGED"
tap_is "$(PYTHON=managed asked part-13)" "CUDA 13.1.48 in @/part-13/bin lacks cusolverDn.h, cufft.h: \
python3 -m pip install --user --break-system-packages nvidia-cusolver nvidia-cufft" "by a Python that the system manages"
# shellcheck disable=SC2086
toolkit unlinked 13.1.48 $all
rm "$scratch/unlinked/lib64/libcudart_static.a"
tap_is "$(asked unlinked)" "CUDA 13.1.48 in @/unlinked/bin lacks libcudart_static.a: install the whole toolkit" "no runtime to link"

# The packages: from CUDA 13 on in one folder, before in one each, with cuDNN and NCCL apart.
wheel py13 cufft-13.0 cu13 cusolverDn.h cufft.h cublas_v2.h cublasLt.h
wheel py13 cudnn_cu13 cudnn cudnn.h
wheel py13 nccl_cu13 nccl nccl.h
for name in cuda_cupti cuda_cccl cudnn nccl; do
    case $name in *cupti) f=cupti.h ;; *cccl) f=cub/cub.cuh ;; *) f=$name.h ;; esac
    wheel py12 ${name}_cu12 $name $f
    wheel py11 ${name}_cu11 $name $f
done
site=lib/python3.11/site-packages/nvidia
tap_is "$(PYTHON=py13 asked part-13)" "[@/py13/$site/cu13/include;@/py13/$site/cudnn/include] @/py13/$site/cudnn/include @/py13/$site/nccl/include" \
    "what CUDA 13 lacks comes from Python's packages"
tap_is "$(PYTHON=py12 asked part-12)" \
    "[@/py12/$site/cuda_cupti/include;@/py12/$site/cuda_cccl/include;@/py12/$site/cudnn/include] @/py12/$site/cudnn/include @/py12/$site/nccl/include" \
    "and what CUDA 12 lacks"
tap_is "$(PYTHON=py11 asked part-12)" "$(asked part-12)" "those of another CUDA are left alone"
tap_is "$(VIRTUAL_ENV=$scratch/py12 PYTHON=py11 asked part-12 | cut -c-20)" "[@/py12/lib/python3." "an environment that is active comes first"
mkdir -p "$scratch/conda/targets/x86_64-linux/include" "$scratch/conda/include"
touch "$scratch/conda/targets/x86_64-linux/include/"{cusolverDn,cufft}.h "$scratch/conda/include/cudnn.h"
tap_is "$(CONDA_PREFIX=$scratch/conda asked part-13 | cut -d" " -f1,2)" "[@/conda/targets/x86_64-linux/include;@/conda/include] @/conda/include" \
    "conda's folders"
tap_done
