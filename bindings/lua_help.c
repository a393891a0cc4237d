/* help() and ops(): what the op table says of each op, for people, tests and completion. */
#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"

static const char *const kinds[] = {"unary",   "param",  "binary", "compare",
                                    "ternary", "reduce", "view",   "custom"};

/* ops(): name -> {sig =, help =, kind =, random =} of every row. */
static int l_ops(lua_State *L) {
    lua_createtable(L, 0, GP_OPS);
    for (int i = 0; i < GP_OPS; i++) {
        const gp_op *op = &gp_ops[i];
        lua_createtable(L, 0, 4);
        lua_pushstring(L, op->sig), lua_setfield(L, -2, "sig");
        lua_pushstring(L, op->help), lua_setfield(L, -2, "help");
        lua_pushstring(L, kinds[op->kind]), lua_setfield(L, -2, "kind");
        lua_pushboolean(L, op->random), lua_setfield(L, -2, "random");
        lua_setfield(L, -2, op->name);
    }
    return 1;
}

/* The op that a function made by gp_lua_push_op runs, or NULL. */
static const gp_op *op_of(lua_State *L, int i) {
    if (!lua_iscfunction(L, i) || !lua_getupvalue(L, i, 1)) return NULL;
    const gp_op *op = lua_islightuserdata(L, -1) ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 1);
    bool ours = op >= gp_ops && op < gp_ops + GP_OPS;
    return ours ? op : NULL;
}

/* The signature as a user writes it: `sum(x [, dim] [, keepdim=false])`. */
static void add_signature(luaL_Buffer *b, const gp_op *op) {
    luaL_addstring(b, op->name);
    luaL_addchar(b, '(');
    for (const char *s = op->sig; *s;) {
        size_t type = strcspn(s, " "), n = strcspn(s + type + 1, ",");
        const char *name = s + type + 1;
        bool optional = memchr(s, '?', type) || memchr(name, '=', n);
        if (optional) luaL_addchar(b, '[');
        luaL_addlstring(b, name, n);
        if (optional) luaL_addchar(b, ']');
        s = name + n;
        if (*s) luaL_addstring(b, ", "), s += 2;
    }
    luaL_addchar(b, ')');
}

/* help(name or function): one line on an op; help(): what there is. Returns the text after printing
 * it. */
static int l_help(lua_State *L) {
    luaL_Buffer b;
    const gp_op *op = op_of(L, 1);
    char name[64] = "";
    if (lua_type(L, 1) == LUA_TSTRING) {
        snprintf(name, sizeof name, "%s", lua_tostring(L, 1));
        if (!(op = gp_op_find(name))) {
            char *dot = strchr(name, '.'); /* linalg.svd is the row linalg_svd */
            if (dot) *dot = '_';
            op = gp_op_find(name);
        }
        if (!op)
            return luaL_error(L, "help: there is no op called '%s'; help() lists them",
                              lua_tostring(L, 1));
    }
    if (!op && !lua_isnoneornil(L, 1))
        return luaL_error(L, "help: expected the name of an op or its function, got %s",
                          luaL_typename(L, 1));
    luaL_buffinit(L, &b);
    if (op) {
        add_signature(&b, op);
        luaL_addstring(&b, "\n    ");
        luaL_addstring(&b, op->help);
    } else {
        luaL_addstring(&b, "help \"name\" tells what an op does. Ops:");
        for (int i = 0; i < GP_OPS; i++)
            luaL_addstring(&b, i % 10 ? " " : "\n    "), luaL_addstring(&b, gp_ops[i].name);
    }
    luaL_pushresult(&b);
    lua_getglobal(L, "print");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
    return 0;
}

void gp_lua_open_help(lua_State *L) {
    static const luaL_Reg fns[] = {{"help", l_help}, {"ops", l_ops}, {NULL, NULL}};
    luaL_setfuncs(L, fns, 0);
}
