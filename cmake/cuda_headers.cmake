# Where the headers of CUDA's libraries are: in the toolkit's folder, or beside it in conda's and in
# the packages nvidia-* of Python, which have no compiler but what many toolkits lack.

# The prefixes of Python's packages: that of an active environment, of python3, the user's own.
set(PYTHONS $ENV{VIRTUAL_ENV} $ENV{CONDA_PREFIX})
execute_process(COMMAND python3 -c "import site, sys; print(sys.prefix, site.USER_BASE, sep=';')" OUTPUT_VARIABLE prefixes
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(NOT failed)
    list(APPEND PYTHONS ${prefixes})
    list(GET prefixes 0 prefix)
    file(GLOB MANAGED ${prefix}/lib*/python3*/EXTERNALLY-MANAGED) # takes no packages beside the system's
endif()

# The folders in which headers of the toolkit's major version may be. A package's name tells for
# which CUDA it is; from CUDA 13 on most are in nvidia/cu13 together.
set(FOLDERS ${CUDAToolkit_INCLUDE_DIRS} $ENV{CUDNN_HOME}/include $ENV{NCCL_HOME}/include
    ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
if(DEFINED ENV{CONDA_PREFIX})
    list(APPEND FOLDERS $ENV{CONDA_PREFIX}/targets/x86_64-linux/include $ENV{CONDA_PREFIX}/targets/sbsa-linux/include
        $ENV{CONDA_PREFIX}/include)
endif()
set(CU cu${CUDAToolkit_VERSION_MAJOR})
foreach(prefix ${PYTHONS})
    foreach(packages lib*/python3*/site-packages lib*/python3*/dist-packages local/lib/python3*/dist-packages)
        file(GLOB includes ${prefix}/${packages}/nvidia/*/include)
        foreach(folder ${includes})
            string(REGEX MATCH "^(.*)/nvidia/([^/]*)/include$" all ${folder})
            file(GLOB package ${CMAKE_MATCH_1}/nvidia_${CMAKE_MATCH_2}_${CU}-*.dist-info)
            if(package OR CMAKE_MATCH_2 STREQUAL CU)
                list(APPEND FOLDERS ${folder})
            endif()
        endforeach()
    endforeach()
endforeach()
foreach(folder ${FOLDERS}) # where CUDA 13 has CUB
    list(APPEND FOLDERS ${folder}/cccl)
endforeach()

# Where the system has headers that are the same for any CUDA: cuDNN's and NCCL's.
set(SYSTEM /usr/include /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})

# In the cached `variable`: the folder of the header, in one of FOLDERS or those given; else false.
function(gpush_cuda_header variable header)
    if(NOT EXISTS "${${variable}}/${header}") # it may have come or gone since the last time
        unset(${variable} CACHE)
    endif()
    find_path(${variable} ${header} NO_DEFAULT_PATH PATHS ${FOLDERS} ${ARGN})
endfunction()

# In `includes`: the folders of all headers that the plug-in needs or can use. In `why`: what is
# missing and how to get it, or nothing.
function(gpush_cuda_headers includes why)
    set(missing)
    set(packages)
    set(found)
    foreach(row "cublas_v2.h cublas" "cublasLt.h cublas" "cusolverDn.h cusolver" "cufft.h cufft" "cupti.h cuda-cupti" "cub/cub.cuh cuda-cccl")
        separate_arguments(row)
        list(POP_FRONT row header package)
        string(MAKE_C_IDENTIFIER "GPUSH_${header}_INCLUDE" variable)
        string(TOUPPER ${variable} variable)
        gpush_cuda_header(${variable} ${header})
        if(NOT ${variable})
            list(APPEND missing ${header})
            list(APPEND packages nvidia-${package})
        endif()
        list(APPEND found ${${variable}})
    endforeach()
    gpush_cuda_header(GPUSH_CUDNN_INCLUDE cudnn.h ${SYSTEM})
    list(APPEND found ${GPUSH_CUDNN_INCLUDE})
    list(FILTER found EXCLUDE REGEX "NOTFOUND$")
    list(REMOVE_DUPLICATES found)
    list(REMOVE_ITEM found ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_INCLUDE_DIRS}/cccl /usr/include)
    set(${includes} "${found}" PARENT_SCOPE)
    if(CUDAToolkit_VERSION_MAJOR LESS 13)
        list(TRANSFORM packages APPEND -${CU})
    endif()
    list(JOIN missing ", " missing)
    list(REMOVE_DUPLICATES packages)
    if(MANAGED)
        list(PREPEND packages --user --break-system-packages)
    endif()
    list(JOIN packages " " packages)
    if(missing)
        set(${why} "CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_BIN_DIR} lacks ${missing}: python3 -m pip install ${packages}" PARENT_SCOPE)
    elseif(NOT TARGET CUDA::cudart_static)
        set(${why} "CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_BIN_DIR} lacks libcudart_static.a: install the whole toolkit" PARENT_SCOPE)
    endif()
endfunction()
