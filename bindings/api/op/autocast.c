/* autocast in Lua: scopes in which ops run in 16 bits where that is safe (tensor/autocast.h). */
#include <string.h>

#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "bindings/scope.h"
#include "bindings/stop.h"
#include "tensor/autocast.h"

#define SCOPE "gpush.autocast"

/* A scope's __close and __gc; also run when an error leaves the block. */
static int l_close(lua_State *L) {
    gp_autocast_close(gp_lua_checkudata(L, 1, SCOPE));
    return 0;
}

/* Pushes a scope of the running coroutine, which it keeps alive. */
static gp_autocast *push_scope(lua_State *L) {
    gp_autocast *s = lua_newuserdatauv(L, sizeof *s, 1);
    memset(s, 0, sizeof *s);
    luaL_setmetatable(L, SCOPE);
    lua_pushthread(L);
    lua_setiuservalue(L, -2, 1);
    s->coroutine = L;
    s->enabled = s->cached = true;
    return s;
}

static gp_dtype check_dtype(lua_State *L, const char *text) {
    gp_dtype dt;
    if (!gp_dtype_parse(text, &dt))
        luaL_error(L, "autocast: expected f16 or bf16, got '%s' (it holds on every device)", text);
    if (dt != GP_f16 && dt != GP_bf16)
        luaL_error(L, "autocast: dtype %s: expected f16 or bf16", gp_dtype_name(dt));
    return dt;
}

/* The field of the options at index 1, or what is there without it. */
static bool option(lua_State *L, const char *name, bool fallback) {
    int type = lua_getfield(L, 1, name);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        luaL_error(L, "autocast: option '%s': expected true or false, got %s", name,
                   luaL_typename(L, -1));
    bool on = type == LUA_TNIL ? fallback : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return on;
}

static void read_options(lua_State *L, gp_autocast *s) {
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (!name || (strcmp(name, "dtype") && strcmp(name, "enabled") && strcmp(name, "cache")))
            luaL_error(L, "autocast: unknown option '%s' (expected dtype, enabled or cache)",
                       name ? name : luaL_typename(L, -2));
    }
    int type = lua_getfield(L, 1, "dtype");
    if (type == LUA_TSTRING) s->dtype = (uint8_t)check_dtype(L, lua_tostring(L, -1));
    else if (type != LUA_TNIL)
        luaL_error(L, "autocast: option 'dtype': expected a text, got %s", luaL_typename(L, -1));
    lua_pop(L, 1);
    s->enabled = option(L, "enabled", true);
    s->cached = option(L, "cache", true);
}

/* autocast(dtype or options [, fn, ...]) */
static int l_autocast(lua_State *L) {
    int type = lua_type(L, 1);
    if (type != LUA_TSTRING && type != LUA_TTABLE)
        return luaL_error(L,
                          "autocast: argument #1: expected 'f16', 'bf16' or a table of options, "
                          "got %s",
                          luaL_typename(L, 1));
    gp_lua_check_fn(L, 2, "autocast");
    gp_lua_enter(L);
    const gp_autocast *around = gp_autocast_current();
    gp_autocast *s = push_scope(L);
    s->dtype = around ? around->dtype : GP_bf16;
    if (type == LUA_TSTRING) s->dtype = (uint8_t)check_dtype(L, lua_tostring(L, 1));
    else read_options(L, s);
    if (!gp_autocast_open(s)) return gp_lua_raise(L);
    return gp_lua_scoped(L, 2);
}

/* autograd.autocast_as(dtype, fn, ...): as it is where autocast_state gave dtype; without dtype,
 * off. Its casts are its own: a backward within may walk through them. */
static int l_autocast_as(lua_State *L) {
    gp_lua_enter(L);
    gp_autocast *s = push_scope(L);
    s->enabled = !lua_isnil(L, 1);
    s->separate = true;
    s->dtype = (uint8_t)(s->enabled ? check_dtype(L, lua_tostring(L, 1)) : GP_bf16);
    if (!gp_autocast_open(s)) return gp_lua_raise(L);
    return gp_lua_scoped(L, 2);
}

/* The dtype of the scope that converts here, or NULL. */
static const char *state(lua_State *L) {
    gp_lua_enter(L);
    const gp_autocast *s = gp_autocast_current();
    return s && s->enabled ? gp_dtype_name((gp_dtype)s->dtype) : NULL;
}

static int l_dtype(lua_State *L) { return lua_pushstring(L, state(L)), 1; }
static int l_enabled(lua_State *L) { return lua_pushboolean(L, state(L) != NULL), 1; }

void gp_lua_open_autocast(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"autocast", "value dtype, function? fn, rest args", l_autocast},
        {"is_autocast_enabled", "", l_enabled},
        {"get_autocast_dtype", "", l_dtype},
        {NULL, NULL, NULL}};
    static const gp_lua_function autograd[] = {
        {"autograd.autocast_as", "text? dtype, function fn, rest args", l_autocast_as},
        {NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__close", l_close}, {"__gc", l_close}, {NULL, NULL}};
    if (gp_autocast_depth != gp_stop_distance) gp_autocast_depth = gp_stop_distance;
    luaL_newmetatable(L, SCOPE);
    luaL_setfuncs(L, meta, 0);
    lua_pop(L, 1);
    gp_lua_set_functions(L, functions);
    lua_getfield(L, -1, "autograd");
    gp_lua_set_functions(L, autograd);
    lua_pop(L, 1);
}
