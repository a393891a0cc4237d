/* Lists as arguments: a table with other keys than a list's is an error. */
#ifndef GP_ENTRIES_H
#define GP_ENTRIES_H

#include <lua.h>
#include <stdbool.h>

/* Whether the table at index i holds exactly the entries 1 to n. Fails naming the function and the
 * argument: zeros{2, 3, dtype = "f64"} would lose the dtype, {[0] = 2, 3} an entry. A table with a
 * metatable may hold other keys. Raw access: no metamethod runs. */
bool gp_lua_only_entries(lua_State *L, int i, lua_Integer n, const char *fn, const char *argument);

/* The same of all entries of the table: fails where one comes after a nil, too. */
bool gp_lua_check_list(lua_State *L, int i, const char *fn, const char *argument);

/* require "check_list" of files in Lua: (fn, argument, list). */
int gp_l_check_list(lua_State *L);

#endif
