# GPUSH_BUNDLED: run paths that begin at the file's own folder. GPUSH_VECTOR_MATH: its functions take
# the place of libmvec's.
if(GPUSH_BUNDLED)
    # Within a wheel the program is in scripts and all else in data, where auditwheel looks.
    set_target_properties(gpush PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/gpush:\$ORIGIN/../data/lib/gpush")
    set_target_properties(module PROPERTIES INSTALL_RPATH "\$ORIGIN/../../gpush")
    set_target_properties(gpush_blas PROPERTIES INSTALL_RPATH "\$ORIGIN")
    # As DT_RPATH, which comes before LD_LIBRARY_PATH: what lies there is of another system.
    foreach(target gpush module gpush_blas)
        target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    endforeach()
    target_link_options(gpush_blas PRIVATE -Wl,--exclude-libs,ALL,-z,defs)
endif()
if(GPUSH_VECTOR_MATH)
    foreach(isa ${ISAS})
        target_compile_definitions(kernels_${isa} PRIVATE GP_VECTOR_MATH)
    endforeach()
    # before libmvec, which has functions of the same names
    target_link_options(core INTERFACE LINKER:--no-as-needed,${GPUSH_VECTOR_MATH})
    target_link_options(module PRIVATE LINKER:--no-as-needed,${GPUSH_VECTOR_MATH})
endif()
