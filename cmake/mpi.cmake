# The MPI plug-in, libgpush_mpi.so: built where MPI's headers are, loaded by the program when a
# script of several processes first uses dist. Nothing else may link to MPI.
option(GPUSH_MPI "build the MPI plug-in where MPI is found" ON)
if(GPUSH_MPI AND GPUSH_DIST)
    find_package(MPI QUIET COMPONENTS C)
endif()
if(GPUSH_MPI AND MPI_C_FOUND)
    add_library(gpush_mpi MODULE ${CMAKE_SOURCE_DIR}/kernels/mpi/mpi.c)
    target_include_directories(gpush_mpi PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(gpush_mpi PRIVATE MPI::MPI_C)
    # MPI keeps threads and handlers: once loaded, the plug-in stays.
    target_link_options(gpush_mpi PRIVATE -Wl,-z,nodelete)
    set_target_properties(gpush_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    add_dependencies(plugins gpush_mpi)
    message(STATUS "MPI ${MPI_C_VERSION}: the plug-in is built")
else()
    message(STATUS "no MPI: the plug-in for many processes is not built")
endif()
