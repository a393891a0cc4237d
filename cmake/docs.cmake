# The man page, the reference, the declarations for editors and the names for luacheck, generated from
# the help texts by the program itself.
file(GLOB_RECURSE HELP_SOURCES CONFIGURE_DEPENDS scripts/lua/*.lua)
foreach(part docs declarations luacheck members)
    list(APPEND HELP_SOURCES ${CMAKE_SOURCE_DIR}/scripts/dev/${part}.lua)
endforeach()
set(DOCS ${CMAKE_BINARY_DIR}/docs)
set(QUIET "")
if(GPUSH_SANITIZE) # what a sanitizer finds is the tests' to tell
    set(QUIET ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_bugs=0)
endif()
add_custom_command(OUTPUT ${DOCS}/gpush.1 ${DOCS}/reference.md ${DOCS}/gpush.lua ${DOCS}/luacheck-std.lua
    COMMAND ${CMAKE_COMMAND} -E make_directory ${DOCS}
    COMMAND ${QUIET} $<TARGET_FILE:gpush> -E ${CMAKE_SOURCE_DIR}/scripts/dev/docs.lua ${DOCS}
    DEPENDS gpush ${HELP_SOURCES} ${CMAKE_SOURCE_DIR}/scripts/man/gpush.1
    COMMENT "Writing the man page, the reference and the declarations")
add_custom_target(docs ALL DEPENDS ${DOCS}/gpush.1 ${DOCS}/reference.md ${DOCS}/gpush.lua ${DOCS}/luacheck-std.lua)
add_dependencies(ship docs)
