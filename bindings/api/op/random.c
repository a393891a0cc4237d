/* The random generator in Lua: manual_seed, and reading and setting its state. */
#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "tensor/intercept.h"

static int l_manual_seed(lua_State *L) {
    gp_rng state = {.seed = (uint64_t)luaL_checkinteger(L, 1)};
    if (!gp_at(GP_AT_SEED, "manual_seed", &state)) return gp_lua_raise(L);
    gp_manual_seed(state.seed);
    return 0;
}

/* A table {seed =, counter =}: the state for the next random op. */
static int l_get_rng_state(lua_State *L) {
    gp_at(GP_AT_RNG, NULL, NULL);
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, (lua_Integer)gp_generator.seed);
    lua_setfield(L, -2, "seed");
    lua_pushinteger(L, (lua_Integer)gp_generator.counter);
    lua_setfield(L, -2, "counter");
    return 1;
}

static uint64_t field(lua_State *L, const char *name) {
    int is;
    lua_getfield(L, 1, name);
    lua_Integer v = lua_tointegerx(L, -1, &is);
    if (!is)
        luaL_error(L,
                   "set_rng_state: field '%s' is %s (expected an integer, as in the table of "
                   "get_rng_state)",
                   name, luaL_typename(L, -1));
    lua_pop(L, 1);
    return (uint64_t)v;
}

static int l_set_rng_state(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    gp_rng state = {.seed = field(L, "seed")};
    state.counter = field(L, "counter");
    if (!gp_at(GP_AT_SEED, "set_rng_state", &state)) return gp_lua_raise(L);
    gp_generator = state;
    return 0;
}

void gp_lua_open_random(lua_State *L) {
    static const gp_lua_function functions[] = {{"manual_seed", "int seed", l_manual_seed},
                                                {"get_rng_state", "", l_get_rng_state},
                                                {"set_rng_state", "table state", l_set_rng_state},
                                                {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
}
