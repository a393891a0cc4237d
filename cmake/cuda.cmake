# The CUDA plug-in, libgpush_cuda.so: built where the toolkit is present, loaded by the program when
# a CUDA device is first asked for. Nothing else may link to CUDA.
if(GPUSH_CUDA)
    find_package(CUDAToolkit QUIET)
endif()
# Its sources, shared with the stand-in in tests/fake_cuda; the last three need nothing of the
# program.
file(GLOB_RECURSE PLUGIN_CU CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.cu)
file(GLOB_RECURSE PLUGIN_C CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/cuda/*.c ${CMAKE_SOURCE_DIR}/profile/cuda/*.c)
gpush_leave_out(PLUGIN_CU SOURCES)
gpush_leave_out(PLUGIN_C SOURCES)
list(APPEND PLUGIN_C ${CMAKE_SOURCE_DIR}/tensor/dtype.c ${CMAKE_SOURCE_DIR}/tensor/shape.c ${CMAKE_SOURCE_DIR}/tensor/io/library.c)
# The text that kernels/cuda/fuse/headers.c takes in: for each target of its own folder.
function(gpush_nvrtc_headers)
    file(STRINGS ${CMAKE_SOURCE_DIR}/kernels/cuda/fuse/headers.def lines REGEX "^FILE")
    list(TRANSFORM lines REPLACE ".*\"(.*)\".*" "${CMAKE_SOURCE_DIR}/\\1")
    set_source_files_properties(${CMAKE_SOURCE_DIR}/kernels/cuda/fuse/headers.c PROPERTIES
        COMPILE_OPTIONS -Wa,-I${CMAKE_SOURCE_DIR} OBJECT_DEPENDS "${lines}")
endfunction()

# Why the plug-in cannot be built, or empty.
set(why "")
if(GPUSH_CUDA AND NOT CUDAToolkit_FOUND)
    find_program(GPUSH_NVCC nvcc HINTS ${CUDAToolkit_ROOT} ENV CUDA_PATH PATH_SUFFIXES bin)
    if(GPUSH_NVCC)
        set(why "the CUDA toolkit of ${GPUSH_NVCC} lacks cuda_runtime.h or libcudart.so: install the whole toolkit")
    else()
        set(why "no CUDA toolkit was found, by nvcc on PATH, CUDA_PATH or /usr/local/cuda; CUDA 12.4 or newer is needed")
    endif()
elseif(GPUSH_CUDA AND NOT CUDAToolkit_VERSION MATCHES "^[0-9]")
    set(why "nvcc in ${CUDAToolkit_BIN_DIR} does not say its version: does 'nvcc --version' run there?")
elseif(GPUSH_CUDA AND CUDAToolkit_VERSION VERSION_LESS 12.4)
    set(why "CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_BIN_DIR} is too old: 12.4 or newer is needed")
elseif(GPUSH_CUDA)
    include(cmake/cuda_headers.cmake)
    gpush_cuda_headers(GPUSH_CUDA_INCLUDES why)
endif()
# The cards that it has code for, as gpush doctor tells them: for each target of its own folder.
function(gpush_tell_cards)
    list(JOIN ARGN " " cards)
    set_source_files_properties(${CMAKE_SOURCE_DIR}/kernels/cuda/runtime/describe.c PROPERTIES
        COMPILE_DEFINITIONS "GP_CUDA_CARDS=\"${cards}\"")
endfunction()

# scripts/lib.sh asks this.
set(GPUSH_CUDA_BUILT "no" CACHE INTERNAL "yes, or why the plug-in is not among the targets")
if(GPUSH_CUDA AND why)
    set(GPUSH_CUDA_BUILT "${why}" CACHE INTERNAL "")
    message(NOTICE "gpush: the CUDA plug-in is not built: ${why}")
elseif(GPUSH_CUDA)
    set(GPUSH_CUDA_BUILT yes CACHE INTERNAL "")
    if(PLUGIN_CU)
        if(NOT CMAKE_CUDA_COMPILER)
            set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
        endif()
        # Code for the compute capabilities in GPUSH_CUDA_CARDS, and PTX of 7.5 for all others, which
        # the driver compiles on a card's first use of each file. Our own kernels use nothing of newer
        # GPUs: they are compiled once, as that PTX, and each GPU's code is made from it (two fifths
        # less time). CUB chooses its algorithms by the GPU that it is compiled for.
        # The environment may set another default: without any (CI) it takes two fifths of the time.
        set(cards 80 90)
        if(DEFINED ENV{GPUSH_CUDA_CARDS})
            set(cards $ENV{GPUSH_CUDA_CARDS})
        endif()
        set(GPUSH_CUDA_CARDS "${cards}" CACHE STRING "compute capabilities that the plug-in has code for")
        set(CMAKE_CUDA_ARCHITECTURES OFF)
        list(TRANSFORM GPUSH_CUDA_CARDS PREPEND sm_ OUTPUT_VARIABLE codes)
        list(PREPEND codes compute_75)
        list(JOIN codes "," codes)
        set_source_files_properties(${PLUGIN_CU} PROPERTIES COMPILE_OPTIONS "-gencode=arch=compute_75,code=[${codes}]")
        set(codes "-gencode=arch=compute_75,code=compute_75")
        foreach(card ${GPUSH_CUDA_CARDS})
            list(APPEND codes "-gencode=arch=compute_${card},code=sm_${card}")
        endforeach()
        set_source_files_properties(${CMAKE_SOURCE_DIR}/kernels/cuda/sort/cub.cu PROPERTIES COMPILE_OPTIONS "${codes}")
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
        enable_language(CUDA)
    endif()
    gpush_nvrtc_headers()
    gpush_tell_cards(${GPUSH_CUDA_CARDS})
    add_library(gpush_cuda MODULE ${PLUGIN_C} ${PLUGIN_CU})
    target_include_directories(gpush_cuda PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_definitions(gpush_cuda PRIVATE GP_PLUGIN)
    # The toolkit's own first: Python's packages have all of CUDA, perhaps of another minor version.
    target_include_directories(gpush_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${GPUSH_CUDA_INCLUDES})
    # Without cuDNN's header our own, slower kernels do all convolutions
    # (kernels/cuda/conv/without_cudnn.c).
    if(NOT GPUSH_CUDNN_INCLUDE)
        message(STATUS "no cudnn.h (set CUDNN_HOME): convolutions will be slow on CUDA")
    endif()
    # No contraction of sums, so that they equal the CPU's bit for bit where the order is the same.
    # Code for each card is compressed, too, not PTX alone: 120 MiB become a third.
    target_compile_options(gpush_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xfatbin=-compress-all;-Werror=all-warnings;--extended-lambda;--fmad=false;-Xcompiler=-Wall,-Wextra,-Werror,-Wno-unused-parameter>")
    # The runtime goes in statically, so that the plug-in loads, and can say what is missing,
    # wherever it is copied.
    target_link_libraries(gpush_cuda PRIVATE CUDA::cudart_static m)
    # The runtime registers handlers for the end of the process: once loaded, the plug-in stays.
    target_link_options(gpush_cuda PRIVATE -Wl,-z,nodelete)
    # An op without its kernel does not link. (Sanitizers find their runtime in the program.)
    if(NOT GPUSH_SANITIZE)
        target_link_options(gpush_cuda PRIVATE -Wl,-z,defs)
    endif()
    # One of CUDA 12 may lie beside the other as gpush_cuda12, for older drivers (docs/gpu.md).
    set(GPUSH_CUDA_NAME gpush_cuda CACHE STRING "the plug-in's name: gpush_cuda, or gpush_cuda12 for a second one")
    set_target_properties(gpush_cuda PROPERTIES OUTPUT_NAME ${GPUSH_CUDA_NAME} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    add_dependencies(plugins gpush_cuda)
    message(STATUS "CUDA ${CUDAToolkit_VERSION}: the plug-in is built")
    include(cmake/nccl.cmake)
endif()
