# find_package(gpush): the header for libraries that add ops, and gpush_add_library(NAME SOURCE...),
# which builds one that require finds as NAME.
get_filename_component(GPUSH_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_path(GPUSH_LUA_INCLUDE lua.h PATH_SUFFIXES lua5.4 lua54 lua-5.4)
if(NOT GPUSH_LUA_INCLUDE)
    set(gpush_FOUND FALSE)
    set(gpush_NOT_FOUND_MESSAGE "lua.h of Lua 5.4 was not found (Debian: liblua5.4-dev)")
    return()
endif()
if(NOT TARGET gpush::op)
    add_library(gpush::op INTERFACE IMPORTED)
    set_target_properties(gpush::op PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${GPUSH_PREFIX}/include;${GPUSH_LUA_INCLUDE}")
endif()

function(gpush_add_library name)
    add_library(${name} MODULE ${ARGN})
    set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so)
    target_link_libraries(${name} PRIVATE gpush::op)
endfunction()
