/* Fields of the table on top of Lua's stack: set_KIND(L, key, value). */
#ifndef GP_FIELDS_H
#define GP_FIELDS_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

static inline void set_int(lua_State *L, const char *key, int64_t v) {
    lua_pushinteger(L, v);
    lua_setfield(L, -2, key);
}
static inline void set_number(lua_State *L, const char *key, double v) {
    lua_pushnumber(L, v);
    lua_setfield(L, -2, key);
}
/* Nanoseconds, as Lua's seconds. */
static inline void set_seconds(lua_State *L, const char *key, uint64_t ns) {
    set_number(L, key, (double)ns * 1e-9);
}
static inline void set_bool(lua_State *L, const char *key, bool v) {
    lua_pushboolean(L, v);
    lua_setfield(L, -2, key);
}
/* NULL leaves the field absent. */
static inline void set_text(lua_State *L, const char *key, const char *v) {
    lua_pushstring(L, v);
    lua_setfield(L, -2, key);
}

#endif
