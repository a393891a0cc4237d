/* help() and ops(): what the op table says of each op, for people, tests and completion. */
#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/paths.h"
#include "tensor/tape.h"

static const char *const kinds[] = {
    [GP_UNARY] = "unary",     [GP_PARAM] = "param",     [GP_BINARY] = "binary",
    [GP_COMPARE] = "compare", [GP_TERNARY] = "ternary", [GP_REDUCE] = "reduce",
    [GP_GRAD] = "grad",       [GP_VIEW] = "view",       [GP_CUSTOM] = "custom"};

static void add_entry(lua_State *L, const gp_op *op, const char *kind) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, op->sig), lua_setfield(L, -2, "sig");
    lua_pushstring(L, op->help), lua_setfield(L, -2, "help");
    lua_pushstring(L, kind), lua_setfield(L, -2, "kind");
    lua_pushboolean(L, op->random), lua_setfield(L, -2, "random");
    bool differentiable = op->rule && op->rule->fn && !(op->types & GP_T_BOOL);
    lua_pushstring(L, !differentiable ? "no" : gp_rule_later(op->rule) ? "later" : "yes");
    lua_setfield(L, -2, "grad");
    lua_setfield(L, -2, op->name);
}

/* What a composite puts over the row of its name, on top of the stack, if there is one. */
static void cover(lua_State *L, const gp_op *op) {
    lua_pushstring(L, op->sig), lua_setfield(L, -2, "sig");
    lua_pushstring(L, op->help), lua_setfield(L, -2, "help");
}

/* ops(): name -> {sig =, help =, kind =, random =, grad = "yes", "no" or "later"} of every row;
 * ops(true): and of every composite. */
static int l_ops(lua_State *L) {
    bool all = lua_toboolean(L, 1);
    lua_createtable(L, 0, GP_ROWS);
    int list = lua_gettop(L);
    for (int i = 0; i < GP_ROWS; i++) add_entry(L, &gp_ops[i], kinds[gp_ops[i].kind]);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_COMPOSITES);
    for (lua_pushnil(L); lua_next(L, list + 1); lua_settop(L, list + 2)) {
        const gp_op *op = gp_lua_composite(L, -1);
        if (lua_getfield(L, list, op->name) == LUA_TTABLE) cover(L, op);
        else if (all) lua_pushvalue(L, list), add_entry(L, op, "composite");
    }
    return lua_settop(L, list), 1;
}

/* The op that a function runs, or NULL; a layer, or its class, has a function that tells of it. */
static const gp_op *op_of(lua_State *L, int i) {
    if (lua_istable(L, i) && lua_getfield(L, i, "__help") == LUA_TFUNCTION) i = lua_gettop(L);
    const gp_op *composite = gp_lua_composite(L, i);
    if (composite) return composite;
    if (!lua_iscfunction(L, i) || !lua_getupvalue(L, i, 1)) return NULL;
    const gp_op *op = lua_islightuserdata(L, -1) ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 1);
    bool ours = op >= gp_ops && op < gp_ops + GP_ROWS;
    return ours ? op : NULL;
}

/* The op called name: a composite, or a row, whose name linalg_svd is linalg.svd here. */
static const gp_op *find(lua_State *L, const char *name) {
    char row[64];
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_COMPOSITES);
    lua_getfield(L, -1, name);
    const gp_op *op = gp_lua_composite(L, -1);
    lua_pop(L, 2);
    if (op) return op;
    snprintf(row, sizeof row, "%s", name);
    char *dot = strchr(row, '.');
    if (dot) *dot = '_';
    return gp_op_find(row);
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

static void add_name(lua_State *L, int list, const char *name) {
    lua_pushstring(L, name);
    lua_rawseti(L, list, luaL_len(L, list) + 1);
}

/* Pushes a sorted table of the names of all rows and composites. */
static void push_names(lua_State *L) {
    lua_newtable(L);
    int list = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_COMPOSITES);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (!gp_op_find(lua_tostring(L, -2))) add_name(L, list, lua_tostring(L, -2));
    lua_pop(L, 1);
    for (int i = 0; i < GP_ROWS; i++) add_name(L, list, gp_ops[i].name);
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_pushvalue(L, list);
    lua_call(L, 1, 0);
    lua_settop(L, list);
}

static void push_list(lua_State *L) {
    luaL_Buffer b;
    push_names(L);
    int list = lua_gettop(L);
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "help \"name\" tells what an op does. Ops:");
    for (int i = 1; i <= luaL_len(L, list); i++) {
        luaL_addstring(&b, i % 10 == 1 ? "\n    " : " ");
        lua_rawgeti(L, list, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
}

static void push_entry(lua_State *L, const gp_op *op) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    add_signature(&b, op);
    luaL_addstring(&b, "\n    ");
    luaL_addstring(&b, op->help);
    luaL_pushresult(&b);
}

static int print_text(lua_State *L) {
    lua_getglobal(L, "print");
    lua_insert(L, -2);
    lua_call(L, 1, 0);
    return 0;
}

/* Pushes what the comment that text begins with says, without its dashes; "--!plain" is none of it. */
static void push_comment(lua_State *L, const char *text) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t n; !strncmp(text, "--", 2); text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        size_t dashes = text[2] == ' ' ? 3 : 2;
        if (text[2] != '!') luaL_addlstring(&b, text + dashes, n - dashes);
    }
    luaL_pushresult(&b);
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* help "data.Loader": what scripts/data/Loader.lua says first. False: there is no such file. */
static bool push_file_help(lua_State *L, const char *name) {
    const char *dot = strchr(name, '.'), *dir = gp_scripts_dir();
    size_t n = strlen(name);
    if (!dot || !dir || n > 60 || strspn(dot + 1, letters) != n - (size_t)(dot + 1 - name) ||
        strspn(name, letters) != (size_t)(dot - name))
        return false;
    char file[80];
    snprintf(file, sizeof file, "%s.lua", name);
    file[dot - name] = '/';
    const char *path = lua_pushfstring(L, "%s/%s", dir, file);
    FILE *f = fopen(path, "r");
    lua_pop(L, 1);
    if (!f) return false;
    char text[8192];
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    push_comment(L, text);
    return true;
}

/* help(name or function): one line on an op, or what a file of the module says first; help(): what
 * there is. Prints it. */
static int l_help(lua_State *L) {
    const gp_op *op = op_of(L, 1);
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
    if (name && !(op = find(L, name)) && push_file_help(L, name)) return print_text(L);
    if (name && !op)
        return luaL_error(L, "help: there is no op called '%s'; help() lists them", name);
    if (!op && !lua_isnoneornil(L, 1))
        return luaL_error(L, "help: expected the name of an op or its function, got %s",
                          luaL_typename(L, 1));
    if (op) push_entry(L, op);
    else push_list(L);
    return print_text(L);
}

void gp_lua_open_help(lua_State *L) {
    static const luaL_Reg fns[] = {{"help", l_help}, {"ops", l_ops}, {NULL, NULL}};
    luaL_setfuncs(L, fns, 0);
}
