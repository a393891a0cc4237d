# Where files go on `cmake --install`, and the Debian package made of them by `cpack`.
include(GNUInstallDirs)
install(TARGETS gpush DESTINATION ${CMAKE_INSTALL_BINDIR})
# where stock lua5.4 looks, in /usr and in /usr/local
install(TARGETS module DESTINATION lib/lua/5.4)
install(TARGETS gpush_blas DESTINATION lib/gpush)
if(TARGET gpush_mpi)
    install(TARGETS gpush_mpi DESTINATION lib/gpush OPTIONAL)
endif()
# Those of CUDA have build folders of their own, and lie beside the program if they were built.
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/ DESTINATION lib/gpush FILES_MATCHING
    PATTERN "libgpush_cuda*.so" PATTERN "libgpush_nccl.so")
install(DIRECTORY scripts/ DESTINATION share/gpush FILES_MATCHING PATTERN "*.lua" PATTERN "report/*"
    PATTERN man EXCLUDE PATTERN completion EXCLUDE)
install(DIRECTORY scripts/python DESTINATION share/gpush FILES_MATCHING PATTERN "*.py"
    PATTERN __pycache__ EXCLUDE)
install(FILES ${CMAKE_BINARY_DIR}/docs/gpush.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES scripts/completion/gpush.bash DESTINATION share/bash-completion/completions RENAME gpush)
install(FILES scripts/completion/gpush.fish DESTINATION share/fish/vendor_completions.d)
install(FILES scripts/completion/gpush.zsh DESTINATION share/zsh/site-functions RENAME _gpush)
install(FILES ${CMAKE_BINARY_DIR}/docs/reference.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# for editors: LuaLS's workspace.library
install(FILES ${CMAKE_BINARY_DIR}/docs/gpush.lua DESTINATION share/gpush/library)
install(DIRECTORY pictures DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the gpush maintainers <gpush@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION interpreters)
# dpkg-shlibdeps knows the libraries' packages by the names that they have on this release.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Any flavour of OpenBLAS satisfies what it derives; the run path wants this one.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0-openmp)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS lua5.4)
include(CPack)
