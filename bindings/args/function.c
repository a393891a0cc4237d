/* Functions in C that scripts call: registered with a signature, which checks and orders their
 * arguments before the function runs; and arguments read by a signature as Lua values. */
#include "bindings/args/function.h"

#include <string.h>

#include "bindings/args/args.h"
#include "bindings/bind.h"

static void push_ints(lua_State *L, const gp_call *c, int i) {
    int n;
    const int64_t *v = gp_ints(c, i, &n);
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        lua_pushinteger(L, v[k]);
        lua_rawseti(L, -2, k + 1);
    }
}

/* Pushes argument i as the Lua function gets it: checked, or the default. at: the stack index of
 * the given value, 0 if absent. */
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
    case GP_PROGRAM: break; /* of no function */
    }
}

int gp_lua_push_args(lua_State *L, const gp_sig *sig, const gp_call *c, const int8_t *at, int top) {
    bool rest = sig->n && sig->p[sig->n - 1].type == GP_SIG_rest;
    int n = sig->n - rest, first = rest && at[n] ? at[n] : top + 1;
    luaL_checkstack(L, n + top - first + 4, "arguments");
    for (int i = 0; i < n; i++) push_arg(L, c, i, at[i]);
    for (int i = first; i <= top; i++) lua_pushvalue(L, i);
    return n + top + 1 - first;
}

/* Upvalue 2, made on the first call. */
typedef struct checked {
    gp_op op; /* only name and sig */
    gp_sig sig;
    lua_CFunction fn;
    int least, most; /* arguments that may be given by position only, without `rest` */
    bool alone;      /* it takes a tensor before its colon, and perhaps nothing else */
} checked;

/* Pushes the `checked` for upvalue 2 of a row's function. */
static const checked *push_checked(lua_State *L, const gp_lua_function *row) {
    checked *made = lua_newuserdatauv(L, sizeof *made, 0);
    made->op = (gp_op){.kind = GP_FUNCTION, .name = row->name, .sig = row->sig, .help = ""};
    made->fn = row->fn;
    if (!gp_sig_parse(row->sig, &made->sig)) gp_lua_raise(L);
    const gp_param *p = made->sig.p;
    made->least = 0, made->most = made->sig.n;
    if (made->most && p[made->most - 1].type == GP_SIG_rest) made->most--;
    for (int k = 0; k < made->most; k++)
        if (p[k].has_default || !p[k].optional) made->least = k + 1;
    made->alone = made->least == 1 && p->type == GP_SIG_self && !strcmp(p->name, "tensor");
    return made;
}

static const checked *signature(lua_State *L) {
    const checked *f = lua_touserdata(L, lua_upvalueindex(2));
    if (f) return f;
    f = push_checked(L, lua_touserdata(L, lua_upvalueindex(1)));
    lua_replace(L, lua_upvalueindex(2));
    return f;
}

/* Whether the value at i is as p wants it, and the function takes it unchanged. */
static bool fits(lua_State *L, int i, const gp_param *p) {
    switch ((gp_sig_type)p->type) {
    case GP_SIG_self: /* the function checks other values itself */
        return (gp_lua_totensor(L, i) != NULL) == !strcmp(p->name, "tensor") &&
               lua_isuserdata(L, i);
    case GP_SIG_tensor: return gp_lua_totensor(L, i) != NULL;
    case GP_SIG_int: return lua_isinteger(L, i);
    case GP_SIG_bool: return lua_type(L, i) == LUA_TBOOLEAN;
    case GP_SIG_text: return lua_type(L, i) == LUA_TSTRING;
    case GP_SIG_function: return lua_isfunction(L, i);
    case GP_SIG_table: return lua_istable(L, i);
    case GP_SIG_value: return true;
    case GP_SIG_any: return !lua_istable(L, i);
    default: return false;
    }
}

/* The usual case: all arguments are given by position, and the function takes them unchanged. */
static bool in_order(lua_State *L, const checked *f) {
    int top = lua_gettop(L);
    if (top < f->least || top > f->most) return false;
    if (f->alone && top == 1) return gp_lua_totensor(L, 1) != NULL;
    for (int k = 0; k < top; k++)
        if (!fits(L, k + 1, &f->sig.p[k])) return false;
    return true;
}

/* Upvalues: the row, what push_checked makes of it, those of the function. */
static int l_function(lua_State *L) {
    const checked *f = signature(L);
    if (in_order(L, f)) {
        lua_settop(L, f->most);
        return f->fn(L);
    }
    int8_t at[GP_MAX_PARAMS];
    gp_call c;
    int top = lua_gettop(L);
    gp_call_begin(&c, &f->op);
    gp_lua_enter(L);
    gp_lua_args(L, &f->op, &f->sig, &c, at);
    int n = gp_lua_push_args(L, &f->sig, &c, at, top);
    lua_rotate(L, 1, n);
    lua_settop(L, n);
    return f->fn(L);
}

void gp_lua_push_function(lua_State *L, const gp_lua_function *row, int nup) {
    lua_pushlightuserdata(L, (void *)row);
    lua_pushnil(L);
    lua_rotate(L, -nup - 2, 2);
    lua_pushcclosure(L, l_function, 2 + nup);
}

void gp_lua_set_functions(lua_State *L, const gp_lua_function *rows) {
    for (; rows->name; rows++) {
        const char *dot = strrchr(rows->name, '.');
        gp_lua_push_function(L, rows, 0);
        lua_setfield(L, -2, dot ? dot + 1 : rows->name);
    }
}

const gp_op *gp_lua_function_of(lua_State *L, int i) {
    if (lua_tocfunction(L, i) != l_function) return NULL;
    i = lua_absindex(L, i);
    luaL_checkstack(L, 4, "function");
    lua_getupvalue(L, i, 2);
    const checked *f = lua_touserdata(L, -1);
    if (!f) {
        lua_getupvalue(L, i, 1);
        f = push_checked(L, lua_touserdata(L, -1));
        lua_setupvalue(L, i, 2);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return &f->op;
}
