/* Texts typed at the prompt, under the names that their chunks have in Lua, so that an error in a
 * function, a warning and ??name find the line of an earlier input. */
#include "bindings/bind.h"
#include "shell/shell.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

enum { KEPT = 1000, BYTES = 1 << 20 }; /* the newest inputs, and bytes of them */

static struct {
    int n, oldest; /* the last input, and the first that is still kept */
    size_t bytes;
    char name[24];
} inputs = {.oldest = 1};

static const char *name_of(int n) {
    snprintf(inputs.name, sizeof inputs.name, "=stdin[%d]", n);
    return inputs.name;
}

const char *gp_input_name(bool next) { return name_of(inputs.n + next); }

#define TYPED "gpush.typed" /* registry: of inputs whose text a command replaced, as it was */

/* Sets field `name` of that table to the value on top of the stack, which stays. */
static void set_typed(lua_State *L, const char *name) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, TYPED);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

static void forget_oldest(lua_State *L, int table) {
    const char *name = name_of(inputs.oldest++);
    lua_pushnil(L);
    set_typed(L, name);
    lua_pop(L, 1);
    lua_getfield(L, table, name);
    inputs.bytes -= lua_rawlen(L, -1);
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_setfield(L, table, name);
}

/* Pops the text on top of the stack and keeps it as input n. */
static void keep(lua_State *L, int n) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_INPUTS);
    int table = lua_gettop(L);
    const char *name = name_of(n);
    if (lua_getfield(L, table, name) == LUA_TSTRING) inputs.bytes -= lua_rawlen(L, -1);
    lua_pop(L, 1);
    inputs.bytes += lua_rawlen(L, table - 1);
    lua_pushvalue(L, table - 1);
    lua_setfield(L, table, name);
    while (inputs.oldest < n && (n - inputs.oldest >= KEPT || inputs.bytes > BYTES))
        forget_oldest(L, table);
    lua_settop(L, table - 2);
}

void gp_input_number(int n) { inputs.n = n - 1; }

void gp_input_keep(lua_State *L) { keep(L, ++inputs.n); }

void gp_input_name_text(lua_State *L, const char *name, const char *text) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_INPUTS);
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

int gp_input_replace(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    const char *name = gp_input_name(false);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, TYPED);
    bool again = lua_getfield(L, -1, name) != LUA_TNIL; /* :timeit of a text that is looked at */
    lua_settop(L, 1);
    if (!again && gp_input_text(L, name)) {
        lua_pushstring(L, gp_input_text(L, name));
        set_typed(L, name);
        lua_settop(L, 1);
    }
    keep(L, inputs.n);
    lua_pushstring(L, gp_input_name(false));
    return 1;
}

int gp_input_count(lua_State *L) {
    lua_pushinteger(L, inputs.n);
    return 1;
}

const char *gp_input_text(lua_State *L, const char *name) {
    const char *text = NULL;
    if (lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_INPUTS) == LUA_TTABLE) {
        lua_getfield(L, -1, name);
        text = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return text;
}
