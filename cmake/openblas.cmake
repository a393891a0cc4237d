# The OpenMP flavour of OpenBLAS, whichever flavour the system's alternatives point to: it shares
# its threads with the kernels' own OpenMP regions, where the pthread flavour would run as many
# more.
find_library(OPENBLAS_LIBRARY openblas NO_DEFAULT_PATH PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
find_path(OPENBLAS_INCLUDE cblas.h NO_DEFAULT_PATH PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
add_library(openblas INTERFACE)
if(OPENBLAS_LIBRARY AND OPENBLAS_INCLUDE)
    # DT_RPATH, unlike DT_RUNPATH, also counts for what the libraries load in turn.
    get_filename_component(OPENBLAS_DIR ${OPENBLAS_LIBRARY} DIRECTORY)
    target_include_directories(openblas INTERFACE ${OPENBLAS_INCLUDE})
    set(OPENBLAS_INCLUDE_DIRS ${OPENBLAS_INCLUDE})
    target_link_libraries(openblas INTERFACE ${OPENBLAS_LIBRARY} ${GPUSH_BLAS_NEEDS})
    target_link_options(openblas INTERFACE -Wl,--disable-new-dtags)
else()
    pkg_search_module(OPENBLAS REQUIRED IMPORTED_TARGET openblas-openmp openblas)
    set(OPENBLAS_DIR "")
    target_link_libraries(openblas INTERFACE PkgConfig::OPENBLAS)
    message(STATUS "no openblas-openmp here: using ${OPENBLAS_LINK_LIBRARIES}")
endif()
