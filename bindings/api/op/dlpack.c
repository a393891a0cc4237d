/* DLPack in Lua: to_dlpack gives a capsule, a userdata that owns one managed tensor until it is
 * taken over, from_dlpack a tensor over such memory. Other languages pass its address. */
#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/base/error.h"
#include "tensor/device/device.h"
#include "tensor/io/dlpack.h"

#define CAPSULE "gpush.capsule"

typedef struct capsule {
    void *managed; /* NULL: it was taken over */
    bool versioned;
} capsule;

/* The capsule at argument i, which is full. */
static capsule *check_capsule(lua_State *L, int i, const char *fn) {
    capsule *c = gp_lua_checkudata(L, i, CAPSULE);
    if (!c->managed) luaL_error(L, "%s: the capsule is empty: its tensor was taken over", fn);
    return c;
}

/* capsule:pointer(): the address, whose tensor is the caller's from here on. */
static int l_pointer(lua_State *L) {
    capsule *c = check_capsule(L, 1, "pointer");
    lua_pushinteger(L, (lua_Integer)(uintptr_t)c->managed);
    c->managed = NULL;
    return 1;
}

static int l_delete(lua_State *L) {
    capsule *c = gp_lua_checkudata(L, 1, CAPSULE);
    void *managed = c->managed;
    c->managed = NULL;
    if (managed) gp_dl_delete(managed, c->versioned);
    return 0;
}

/* Pushes the capsules' metatable, made when the first of them is. */
static void push_metatable(lua_State *L) {
    static const gp_lua_function methods[] = {{"capsule.pointer", "self capsule", l_pointer},
                                              {NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__gc", l_delete}, {"__close", l_delete}, {NULL, NULL}};
    if (luaL_getmetatable(L, CAPSULE) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_setfuncs(L, meta, 0);
    gp_lua_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, CAPSULE);
    lua_setfield(L, -2, "__name");
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, CAPSULE); /* last: a whole one, whatever fails */
}

static gp_dl_order read_order(lua_State *L, int i) {
    return (gp_dl_order){.given = !lua_isnoneornil(L, i), .stream = lua_tointeger(L, i)};
}

/* to_dlpack(x, {versioned = true, stream = nil}), x:to_dlpack(…). */
static int l_to_dlpack(lua_State *L) {
    gp_tensor *x = gp_lua_check(L, 1, "to_dlpack");
    capsule *c = lua_newuserdatauv(L, sizeof *c, 0);
    *c = (capsule){.versioned = lua_toboolean(L, 2)};
    push_metatable(L);
    lua_setmetatable(L, -2);
    gp_lua_enter(L);
    c->managed = gp_dl_export(x, c->versioned, read_order(L, 3));
    return c->managed ? 1 : gp_lua_raise(L);
}

/* What argument 1 of from_dlpack holds: a capsule, or an address of a tensor that the caller owns
 * so far. */
static capsule read_source(lua_State *L) {
    bool given = !lua_isnoneornil(L, 2), versioned = !given || lua_toboolean(L, 2);
    if (lua_isinteger(L, 1)) return (capsule){(void *)(uintptr_t)lua_tointeger(L, 1), versioned};
    if (lua_islightuserdata(L, 1)) return (capsule){lua_touserdata(L, 1), versioned};
    if (!luaL_testudata(L, 1, CAPSULE)) {
        gp_fail("from_dlpack: argument 'capsule' (#1): expected a capsule, an address or a tensor, "
                "got %s",
                gp_lua_type_text(L, 1));
        gp_lua_raise_argument(L);
    }
    capsule *c = check_capsule(L, 1, "from_dlpack");
    if (given && versioned != c->versioned)
        luaL_error(L, "from_dlpack: versioned: the capsule's tensor is of the %s form",
                   c->versioned ? "versioned" : "older");
    return *c;
}

/* Of a tensor of gpush, on any device: it again, or a copy, without history. */
static gp_tensor *from_tensor(gp_tensor *x, bool copies) {
    gp_call c;
    if (x->requires_grad)
        return gp_fail_null("from_dlpack: the tensor requires a gradient (expected x:detach())");
    if (!copies) return gp_tensor_alias(x);
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, x);
    return gp_call_one(&c);
}

/* from_dlpack(capsule or address, {versioned = true, stream = nil, copy = nil}). */
static int l_from_dlpack(lua_State *L) {
    gp_tensor *x = gp_lua_totensor(L, 1);
    if (x) return gp_lua_enter(L), gp_lua_push(L, from_tensor(x, lua_toboolean(L, 4)));
    capsule from = read_source(L);
    int copy = lua_isnoneornil(L, 4) ? -1 : lua_toboolean(L, 4);
    gp_lua_enter(L);
    gp_lua_settle(L);
    gp_tensor *t = gp_dl_import(from.managed, from.versioned, read_order(L, 3), copy);
    if (!t) return gp_lua_raise(L);
    capsule *c = luaL_testudata(L, 1, CAPSULE);
    if (c) c->managed = NULL;
    return gp_lua_push(L, t);
}

void gp_lua_open_dlpack(lua_State *L) {
    static const gp_lua_function
        functions[] = {{"to_dlpack", "tensor x, bool versioned=true, int? stream", l_to_dlpack},
                       {"from_dlpack", "value capsule, bool? versioned, int? stream, bool? copy",
                        l_from_dlpack},
                       {NULL, NULL, NULL}},
        methods[] = {{"to_dlpack", "self tensor, bool versioned=true, int? stream", l_to_dlpack},
                     {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    gp_lua_set_functions(L, methods);
    lua_pop(L, 1);
}
