# What makes a fault in the built files harder to exploit, and their bytes independent of where they
# were built. tests/house/install.sh reads all of it back from what is installed.

# Names of files in the program begin at the tree's root, wherever that is.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>")

include(CheckLinkerFlag)
if(NOT GPUSH_SANITIZE) # which look for the same faults, and more closely
    set(HARDEN -fstack-protector-strong -fstack-clash-protection)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND HARDEN -fcf-protection=full)
    endif()
    # Checks of buffers need the sizes that optimization finds. clang 14 knows level 2.
    set(FORTIFY 3)
    if(CMAKE_C_COMPILER_ID STREQUAL Clang AND CMAKE_C_COMPILER_VERSION VERSION_LESS 15)
        set(FORTIFY 2)
    endif()
    if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
        list(APPEND HARDEN -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${FORTIFY})
    endif()
    list(JOIN HARDEN "," HARDEN_HOST) # of CUDA's files, the host's part
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${HARDEN}>"
        "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${HARDEN_HOST}>")
    # What every small op runs through: arrays there have a fixed rank, indexed by a tensor's own
    # number of dims, and hold no bytes of a file. Guards in functions with arrays of any type would
    # be 2 % of the instructions of x + y on 16 numbers; in those with buffers of bytes, 0.2 %.
    set_source_files_properties(tensor/infer.c tensor/op.c tensor/tensor.c tensor/ops/elementwise.c
        bindings/api/op/op.c kernels/cpu/elementwise/driver.c PROPERTIES COMPILE_OPTIONS -fstack-protector)
    # All addresses of functions are found at the start, and read-only from then on.
    add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
    # The linker marks a file for shadow stacks and for landing pads (SHSTK, IBT) where each object in
    # it is marked. Startup code and liblua of Debian 12 are not. Shadow stacks ask nothing of code
    # that returns to where it was called from: they are claimed for these, too. Landing pads do, and
    # are left to the linker.
    check_linker_flag(C LINKER:-z,shstk GPUSH_HAS_SHSTK)
    if(GPUSH_HAS_SHSTK AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        add_link_options(LINKER:-z,shstk)
    endif()
endif()
# Programs at random addresses: -fPIE and -pie, where the compiler does not do so by itself.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

# Where the loader looks for libraries besides the system's folders: in that of OpenBLAS only.
# Plug-ins are opened by their whole path (tensor/device/cuda.c). A run path for the build tree that
# differs from the installed one would be padded by CMake with empty entries, each of which means
# the current folder to the loader.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH ${OPENBLAS_DIR})
