# For scripts/dev/wheel, which passes this file as CMAKE_TOOLCHAIN_FILE: compiles with this machine's
# GCC against the headers and libraries of an older system, whose root is GPUSH_OLD_ROOT, so that the
# program starts there, too. Its libraries come from GPUSH_OLD_ROOT/gpush/deps, as archives.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GPUSH_OLD_ROOT)
set(CMAKE_SYSROOT ${GPUSH_OLD_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(libraries ${GPUSH_OLD_ROOT}/usr/lib/x86_64-linux-gnu)
set(deps ${GPUSH_OLD_ROOT}/gpush/deps)
file(GLOB runtime ${GPUSH_OLD_ROOT}/usr/lib/gcc/x86_64-linux-gnu/*)

# GCC looks in its own system's folders before those of the root, unless these are named; gpush/link
# has the root's libgomp, libstdc++ and libgcc_s, but not its libgcc.a, which knows too few processors.
# What was linked in as an archive is not for others to find: a C module may bring its own zlib.
string(JOIN " " link -B${libraries} -L${GPUSH_OLD_ROOT}/gpush/link -L${libraries} -L${GPUSH_OLD_ROOT}/lib/x86_64-linux-gnu
    -Wl,--gc-sections
    -Wl,--exclude-libs,libz.a:libpng16.a:libjansson.a:libzip.a:libedit.a:libtinfo.a:libutf8proc.a:libzmq.a)
foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT ${link})
endforeach()

set(ENV{PKG_CONFIG_LIBDIR} ${deps}/lib/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${GPUSH_OLD_ROOT})
set(OpenMP_gomp_LIBRARY ${GPUSH_OLD_ROOT}/gpush/link/libgomp.so CACHE FILEPATH "")
set(OpenMP_pthread_LIBRARY ${libraries}/libpthread.so CACHE FILEPATH "")
set(OPENBLAS_INCLUDE ${deps}/include/openblas ${deps}/include CACHE STRING "")
set(OPENBLAS_LIBRARY ${deps}/lib/libopenblas.a CACHE FILEPATH "")
set(GPUSH_DNNL ${deps}/lib/libdnnl.a CACHE STRING "")
# What the two archives need; libgfortran as code of its own, which is little of it.
set(GPUSH_BLAS_NEEDS ${runtime}/libgfortran.a stdc++ gomp m CACHE STRING "")
set(GPUSH_VECTOR_MATH ${deps}/lib/libgpush_vector.so CACHE FILEPATH "")
set(GPUSH_BUNDLED ON CACHE BOOL "")
