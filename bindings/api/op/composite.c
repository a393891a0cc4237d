/* Composites: ops made of other ops, written in Lua (scripts/lua/ops), whose arguments are read by
 * a signature, as the rows' are. */
#include <string.h>

#include "bindings/args/args.h"
#include "bindings/bind.h"
#include "tensor/autograd/tape.h"

/* Made by cmake/composites.cmake: of each composite its name, file and first type. */
static const struct {
    const char *name, *file, *type;
} defined[] = {
#include "bindings/composites.inc"
};

/* A definition; lives as long as its function. */
typedef struct composite {
    gp_op op; /* only name, sig, help, types and columns that it sets */
    gp_sig sig;
    bool plain; /* not an op: tables that it returns stay as they are */
} composite;

/* A string of the definition at index def, kept alive by the userdata on top of the stack. */
static const char *field(lua_State *L, int def, const char *name, int keep) {
    const char *s = lua_getfield(L, def, name) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!s) luaL_error(L, "composite: '%s' is missing", name);
    lua_setiuservalue(L, -2, keep);
    return s;
}

/* The set of a definition's dtypes (gp_dtype_set). Raises where it is none. */
static uint32_t types_of(lua_State *L, const char *text) {
    uint32_t types;
    if (!gp_dtype_set(text, &types)) luaL_error(L, "define: dtypes: %s", gp_error());
    return types;
}

/* Pushes the composite of the definition at index def, and its function. */
static void make(lua_State *L, int def) {
    luaL_checktype(L, def, LUA_TTABLE);
    composite *f = lua_newuserdatauv(L, sizeof *f, 6);
    f->op = (gp_op){.kind = GP_CUSTOM};
    f->op.name = field(L, def, "name", 1);
    f->op.sig = field(L, def, "sig", 2);
    f->op.help = field(L, def, "help", 3);
    const gp_op *row = gp_op_find(f->op.name); /* that it replaces */
    if (row) f->op.options = row->options;
    if (!gp_sig_parse(f->op.sig, &f->sig)) gp_lua_raise(L);
    if (lua_getfield(L, def, "waits") == LUA_TSTRING) f->op.waits = lua_tostring(L, -1);
    lua_setiuservalue(L, -2, 4);
    if (lua_getfield(L, def, "raises") == LUA_TSTRING) f->op.raises = lua_tostring(L, -1);
    lua_setiuservalue(L, -2, 5);
    if (lua_getfield(L, def, "sample") == LUA_TSTRING) f->op.sample = lua_tostring(L, -1);
    lua_setiuservalue(L, -2, 6);
    lua_getfield(L, def, "indices"), f->op.indices = (uint8_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (lua_getfield(L, def, "dtypes") == LUA_TSTRING)
        f->op.types = types_of(L, lua_tostring(L, -1));
    lua_pop(L, 1);
    f->plain = lua_getfield(L, def, "plain") == LUA_TBOOLEAN;
    if (f->plain) f->op.kind = GP_FUNCTION;
    lua_pop(L, 1);
    if (lua_getfield(L, def, "fn") != LUA_TFUNCTION)
        luaL_error(L, "composite: '%s' has no function", f->op.name);
}

/* Resolves a composite that was only declared: the function at upvalue 2 returns its definition.
 * Leaves the composite and its function on the stack, with name and read on top. */
static void define(lua_State *L) {
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    make(L, lua_gettop(L));
    lua_remove(L, -3);
    lua_remove(L, -3);
}

/* Carries out the option requires_grad of the call, whose result is on top of the stack. */
static void require_grad(lua_State *L, const composite *f) {
    gp_tensor *t = gp_lua_totensor(L, -1);
    if (!t) gp_fail("%s: option 'requires_grad': its result is not a tensor", f->op.name);
    if (!t || !gp_tensor_set_requires_grad(t, true)) gp_lua_raise(L);
}

/* The function's results, also after it has yielded. ctx: twice the number of values below them on
 * the stack, plus one if the result requires gradients. */
static int results(lua_State *L, int status, lua_KContext ctx) {
    int n = lua_gettop(L) - (int)(ctx / 2);
    const composite *f = lua_touserdata(L, lua_upvalueindex(1));
    if (ctx % 2) require_grad(L, f);
    if (n == 1 && !f->plain) gp_lua_make_list(L);
    return n;
}

/* Upvalues: the composite, the Lua function; if only declared, the name and the function that reads
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
    int top = lua_gettop(L);
    gp_call c;
    gp_call_begin(&c, &f->op);
    gp_lua_enter(L);
    gp_lua_args(L, &f->op, &f->sig, &c, at);
    lua_KContext ctx = 2 * lua_gettop(L) + c.requires_grad;
    luaL_checkstack(L, 2, f->op.name);
    lua_pushvalue(L, lua_upvalueindex(2));
    int n = gp_lua_push_args(L, &f->sig, &c, at, top);
    lua_callk(L, n, LUA_MULTRET, ctx, results);
    return results(L, LUA_OK, ctx);
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

/* composite{name = …, sig = …, help = …, fn = …}: the function to call; plain = true if it is not
 * an op. composite(name, read): the same, with the definition that read(name) returns when it is
 * first needed. */
static int l_new(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING) luaL_checktype(L, 2, LUA_TFUNCTION), lua_settop(L, 2);
    else make(L, 1);
    lua_pushcclosure(L, l_composite, 2);
    return 1;
}

void gp_lua_push_composite(lua_State *L) { lua_pushcfunction(L, l_new); }

void gp_lua_push_composite_index(lua_State *L) {
    int n = (int)(sizeof defined / sizeof *defined);
    lua_createtable(L, 3 * n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, defined[i].name), lua_rawseti(L, -2, 3 * i + 1);
        lua_pushstring(L, defined[i].file), lua_rawseti(L, -2, 3 * i + 2);
        lua_pushstring(L, defined[i].type), lua_rawseti(L, -2, 3 * i + 3);
    }
}
