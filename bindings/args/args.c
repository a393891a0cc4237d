/* Arguments of a Lua call, read and checked by a signature: positions, then options by name, then
 * defaults. */
#include "bindings/args/args.h"

#include <string.h>

#include "bindings/args/names.h"
#include "bindings/args/values.h"
#include "bindings/bind.h"
#include "tensor/call.h"

/* Fills in the signature's default for an absent argument; raises for mandatory ones. */
static void read_default(lua_State *L, const gp_op *op, const gp_param *p, int number, gp_call *c) {
    if (!p->has_default && !p->optional) {
        gp_fail("%s: argument '%s' (#%d): expected %s, got nothing", op->name, p->name, number,
                gp_lua_wanted[p->type]);
        gp_lua_raise_argument(L);
    }
    gp_call_default(c, p);
}

/* Whether the table at i has no entries at all. */
static bool is_empty(lua_State *L, int i) {
    lua_pushnil(L);
    return !lua_next(L, i) || (lua_pop(L, 2), false);
}

/* Whether the last argument may be a table of options: its keys are names, or it has none. */
static bool has_options(lua_State *L, int top) {
    if (top < 1 || lua_type(L, top) != LUA_TTABLE) return false;
    if (lua_getmetatable(L, top)) return lua_pop(L, 1), false;
    if (lua_rawlen(L, top)) return false;
    lua_pushnil(L);
    if (!lua_next(L, top)) return true;
    bool named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    return named;
}

/* Whether p takes the last table, at i, although it may be one of options: any table where p may be
 * a table with names; an empty one, a list of nothing, where p must be given or is a shape. */
static bool claims(lua_State *L, int i, const gp_param *p) {
    if (p->type == GP_SIG_value || p->type == GP_SIG_table) return true;
    return (p->type == GP_SIG_shape || !(p->optional || p->has_default)) && is_empty(L, i);
}

/* Pushes option p of the table; false (nil) if it is absent. */
static bool push_option(lua_State *L, int table, const gp_op *op, const gp_sig *sig, int k) {
    if (lua_getfield(L, table, sig->p[k].name) != LUA_TNIL) return true;
    lua_pop(L, 1);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && gp_option_named(op, sig, lua_tostring(L, -2)) == k)
            return lua_remove(L, -2), true;
    return lua_pushnil(L), false;
}

/* Reads an argument that is present; stores its stack index in at. */
static int take(const gp_lua_reading *r, int last, int k, int8_t *at) {
    if (at) at[k] = (int8_t)r->i;
    return gp_lua_read_arg(r, last);
}

/* Raises: there are more arguments than the signature has. */
static void surplus(lua_State *L, const gp_op *op, const gp_sig *sig, int given) {
    int self = sig->n && sig->p[0].type == GP_SIG_self;
    const char *params = self && sig->n == 1 ? "" : self ? strchr(op->sig, ',') + 2 : op->sig;
    gp_fail("%s: %d argument%s given, at most %d expected: %s(%s)", op->name, given - self,
            given - self == 1 ? "" : "s", sig->n - self, op->name, params);
    gp_lua_raise_argument(L);
}

/* Reads the arguments by position, from stack index 1 to *last, of which the last one may be a
 * table of options: then *options is its index. Returns how many parameters were handled. */
static int read_positions(lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c, int8_t *at,
                          int *options) {
    int top = lua_gettop(L), last = *options ? top - 1 : top, i = 1, k = 0;
    int self = sig->n && sig->p[0].type == GP_SIG_self;
    for (; k < sig->n; k++) {
        const gp_param *p = &sig->p[k];
        if (p->type == GP_SIG_rest) {
            gp_call_none(c);
            if (at && i <= top) at[k] = (int8_t)i;
            *options = 0, i = top + 1, last = top;
            continue;
        }
        if (i == *options && claims(L, i, p)) *options = 0, last = top;
        if (i > last) break;
        bool absent = lua_isnil(L, i) && (p->optional || p->has_default);
        if (absent || (p->type == GP_SIG_table && p->optional && !lua_istable(L, i))) {
            read_default(L, op, p, k + 1 - self, c);
            i += absent;
            continue;
        }
        gp_lua_reading r = {.L = L, .op = op, .c = c, .p = p, .i = i, .number = i - self};
        i += take(&r, last, k, at);
    }
    if (i <= last) surplus(L, op, sig, last);
    return k;
}

void gp_lua_args(lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c,
                 int8_t at[GP_MAX_PARAMS]) {
    int top = lua_gettop(L), options = has_options(L, top) ? top : 0;
    int self = sig->n && sig->p[0].type == GP_SIG_self;
    luaL_checkstack(L, 2 * sig->n + 8, op->name);
    if (at) memset(at, 0, GP_MAX_PARAMS);
    int k = read_positions(L, op, sig, c, at, &options);
    if (options) gp_check_options(L, op, sig, c, options, k);
    for (; k < sig->n; k++) {
        const gp_param *p = &sig->p[k];
        if (p->type == GP_SIG_rest) {
            gp_call_none(c);
            continue;
        }
        if (p->type != GP_SIG_self && (!options || !push_option(L, options, op, sig, k))) {
            read_default(L, op, p, k + 1 - self, c);
            continue;
        }
        gp_lua_reading r = {.L = L, .op = op, .c = c, .p = p, .i = 1};
        if (p->type == GP_SIG_self) gp_lua_no_self(&r);
        r.i = lua_gettop(L);
        take(&r, r.i, k, at); /* the value stays on the stack, which keeps it alive */
    }
}
