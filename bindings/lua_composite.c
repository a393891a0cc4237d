/* Composites: ops made of other ops, written in Lua (scripts/ops), whose arguments are read by a
 * signature as the rows' are. */
#include "bindings/args.h"
#include "bindings/bind.h"

/* What define gave; lives as long as its function. */
typedef struct composite {
    gp_op op; /* only name, sig and help */
    gp_sig sig;
} composite;

static void push_ints(lua_State *L, const gp_call *c, int i) {
    int n;
    const int64_t *v = gp_ints(c, i, &n);
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        lua_pushinteger(L, v[k]);
        lua_rawseti(L, -2, k + 1);
    }
}

/* Argument i as the Lua function gets it: checked, or the default. at: the stack index of what was
 * given, 0 if nothing was. */
static void push_arg(lua_State *L, const gp_call *c, int i, int at) {
    const gp_value *v = &c->arg[i];
    switch ((gp_arg_kind)v->kind) {
    case GP_NONE:
        if (at) lua_pushvalue(L, at);
        else lua_pushnil(L);
        break;
    case GP_TENSOR:
    case GP_LIST: lua_pushvalue(L, at); break;
    case GP_NUMBER:
        if (v->is_bool) lua_pushboolean(L, v->i != 0);
        else if (v->is_float) lua_pushnumber(L, v->f);
        else lua_pushinteger(L, v->i);
        break;
    case GP_FLOAT: lua_pushnumber(L, v->f); break;
    case GP_INT: lua_pushinteger(L, v->i); break;
    case GP_BOOL: lua_pushboolean(L, v->i != 0); break;
    case GP_INTS: push_ints(L, c, i); break;
    case GP_STR: lua_pushstring(L, v->s); break;
    case GP_DTYPE: lua_pushstring(L, gp_dtype_name((gp_dtype)v->i)); break;
    case GP_DEVICE: lua_pushstring(L, v->dev->name); break;
    }
}

/* Upvalues: the composite, the Lua function. */
static int l_composite(lua_State *L) {
    const composite *f = lua_touserdata(L, lua_upvalueindex(1));
    int8_t at[GP_MAX_PARAMS];
    gp_call c;
    gp_call_begin(&c, &f->op);
    gp_lua_enter(L);
    gp_lua_args(L, &f->op, &f->sig, &c, at);
    int before = lua_gettop(L);
    luaL_checkstack(L, c.nargs + 2, f->op.name);
    lua_pushvalue(L, lua_upvalueindex(2));
    for (int i = 0; i < c.nargs; i++) push_arg(L, &c, i, at[i]);
    lua_call(L, c.nargs, LUA_MULTRET);
    return lua_gettop(L) - before;
}

const gp_op *gp_lua_composite(lua_State *L, int i) {
    if (lua_tocfunction(L, i) != l_composite || !lua_getupvalue(L, i, 1)) return NULL;
    const composite *f = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return &f->op;
}

/* A string of define's table, kept alive by the userdata on top of the stack. */
static const char *field(lua_State *L, const char *name, int keep) {
    const char *s = lua_getfield(L, 1, name) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!s) luaL_error(L, "composite: '%s' is missing", name);
    lua_setiuservalue(L, -2, keep);
    return s;
}

/* composite{name = …, sig = …, help = …, fn = …}: the function to call. */
static int l_new(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    composite *f = lua_newuserdatauv(L, sizeof *f, 3);
    f->op = (gp_op){.kind = GP_CUSTOM};
    f->op.name = field(L, "name", 1);
    f->op.sig = field(L, "sig", 2);
    f->op.help = field(L, "help", 3);
    if (!gp_sig_parse(f->op.sig, &f->sig)) return gp_lua_raise(L);
    if (lua_getfield(L, 1, "fn") != LUA_TFUNCTION)
        return luaL_error(L, "composite: '%s' has no function", f->op.name);
    lua_pushcclosure(L, l_composite, 2);
    return 1;
}

void gp_lua_push_composite(lua_State *L) { lua_pushcfunction(L, l_new); }
