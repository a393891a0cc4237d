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

/* A string of the definition at index def, kept alive by the userdata on top of the stack. */
static const char *field(lua_State *L, int def, const char *name, int keep) {
    const char *s = lua_getfield(L, def, name) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!s) luaL_error(L, "composite: '%s' is missing", name);
    lua_setiuservalue(L, -2, keep);
    return s;
}

/* Pushes the composite of the definition at index def, and its function. */
static void make(lua_State *L, int def) {
    luaL_checktype(L, def, LUA_TTABLE);
    composite *f = lua_newuserdatauv(L, sizeof *f, 3);
    f->op = (gp_op){.kind = GP_CUSTOM};
    f->op.name = field(L, def, "name", 1);
    f->op.sig = field(L, def, "sig", 2);
    f->op.help = field(L, def, "help", 3);
    if (!gp_sig_parse(f->op.sig, &f->sig)) gp_lua_raise(L);
    if (lua_getfield(L, def, "fn") != LUA_TFUNCTION)
        luaL_error(L, "composite: '%s' has no function", f->op.name);
}

/* The function at upvalue 2 of a composite that was only declared gives its definition: leaves the
 * composite and its function on the stack. name and read are on top of it. */
static void define(lua_State *L) {
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    make(L, lua_gettop(L));
    lua_remove(L, -3);
    lua_remove(L, -3);
}

/* Upvalues: the composite, the Lua function; of one that was only declared the name and what reads
 * the definition. */
static int l_composite(lua_State *L) {
    if (lua_type(L, lua_upvalueindex(1)) == LUA_TSTRING) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushvalue(L, lua_upvalueindex(2));
        define(L);
        lua_replace(L, lua_upvalueindex(2));
        lua_replace(L, lua_upvalueindex(1));
    }
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
    i = lua_absindex(L, i);
    if (lua_tocfunction(L, i) != l_composite) return NULL;
    luaL_checkstack(L, 8, "composite");
    lua_getupvalue(L, i, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
        lua_getupvalue(L, i, 2);
        define(L);
        lua_setupvalue(L, i, 2);
        lua_pushvalue(L, -1);
        lua_setupvalue(L, i, 1);
    }
    const composite *f = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return &f->op;
}

/* composite{name = …, sig = …, help = …, fn = …}: the function to call. composite(name, read): the same,
 * of the definition that read(name) gives once it is needed. */
static int l_new(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING) luaL_checktype(L, 2, LUA_TFUNCTION), lua_settop(L, 2);
    else make(L, 1);
    lua_pushcclosure(L, l_composite, 2);
    return 1;
}

void gp_lua_push_composite(lua_State *L) { lua_pushcfunction(L, l_new); }
