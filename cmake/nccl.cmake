# The NCCL plug-in, libgpush_nccl.so: built where CUDA's and NCCL's headers are, loaded by the
# program at the first collective on CUDA. It links to neither: the CUDA plug-in finds NCCL.
gpush_cuda_header(GPUSH_NCCL_INCLUDE nccl.h ${SYSTEM})
if(GPUSH_NCCL_INCLUDE AND GPUSH_DIST)
    add_library(gpush_nccl MODULE ${CMAKE_SOURCE_DIR}/kernels/nccl/nccl.c)
    target_include_directories(gpush_nccl PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(gpush_nccl SYSTEM PRIVATE ${GPUSH_NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    target_link_options(gpush_nccl PRIVATE -Wl,-z,nodelete)
    set_target_properties(gpush_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    add_dependencies(plugins gpush_nccl)
    message(STATUS "NCCL: the plug-in is built")
else()
    message(STATUS "no nccl.h (set NCCL_HOME): there will be no collectives on CUDA")
endif()
