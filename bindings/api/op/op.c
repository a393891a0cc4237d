/* One Lua function for all ops: arguments read by the op's signature (bindings/args), gp_op_run,
 * results pushed. */
#include <stdlib.h>
#include <string.h>

#include "bindings/args/args.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/sig.h"

const gp_sig *gp_lua_signature(lua_State *L, const gp_op *op) {
    gp_sig *sig = atomic_load(&op->known->sig);
    if (sig) return sig;
    sig = malloc(sizeof *sig);
    if (!sig) return luaL_error(L, "out of memory"), NULL;
    if (!gp_sig_parse(op->sig, sig)) return free(sig), gp_lua_raise(L), NULL;
    gp_sig *expected = NULL;
    if (!atomic_compare_exchange_strong(&op->known->sig, &expected, sig)) free(sig), sig = expected;
    return sig;
}

/* Reads one of two operands, the case worth a fast path. False: not that simple. */
static bool quick_operand(lua_State *L, int i, gp_value *v) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (t) {
        v->kind = GP_TENSOR;
        v->written = v->unread = false;
        v->t = t;
        return true;
    }
    if (lua_type(L, i) != LUA_TNUMBER) return false;
    v->kind = GP_NUMBER;
    v->is_bool = false;
    v->is_float = !lua_isinteger(L, i);
    if (v->is_float) v->f = lua_tonumber(L, i);
    else v->i = lua_tointeger(L, i);
    return true;
}

/* Reads the arguments of an elementwise op on tensors and numbers only, without its signature. */
static bool quick_args(lua_State *L, const gp_op *op, gp_call *c) {
    int n = op->ntensors;
    if (n == 0 || op->kind == GP_PARAM || lua_gettop(L) != n) return false;
    for (int i = 0; i < n; i++)
        if (!quick_operand(L, i + 1, &c->arg[i])) return false;
    if (op->kind == GP_UNARY && c->arg[0].kind != GP_TENSOR) return false;
    c->nargs = n;
    return true;
}

/* Upvalues of the functions from here on: op, the tensors' metatable. */

/* All results but the first of the call at 1, which keeps those that are not pushed yet. */
static int push_rest(lua_State *L) {
    gp_call *c = lua_touserdata(L, 1);
    luaL_checkstack(L, c->nout, NULL);
    for (int i = 1; i < c->nout; i++) {
        gp_tensor *t = c->out[i];
        c->out[i] = NULL;
        gp_lua_push(L, t);
    }
    return c->nout - 1;
}

/* Pushes the results; the first goes into the box that is already on the stack. */
static int push_results(lua_State *L, gp_call *c, gp_box *box) {
    if (c->nout == 0) return 0; /* an op that only writes */
    box->t = c->out[0];
    if (c->nout > 1) {
        lua_pushcfunction(L, push_rest);
        lua_pushlightuserdata(L, c);
        if (lua_pcall(L, 1, c->nout - 1, 0) != LUA_OK) {
            for (int i = 1; i < c->nout; i++) gp_tensor_unref(c->out[i]);
            return lua_error(L);
        }
    }
    gp_lua_charge(box->t);
    return c->nout;
}

/* Upvalues: op, metatable. Nothing is held while arguments may raise. */
static int l_op(lua_State *L) {
    const gp_op *op = lua_touserdata(L, lua_upvalueindex(1));
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    if (!quick_args(L, op, &c)) {
        c.nargs = 0;
        c.op = op = gp_lua_form(L, op, false);
        gp_lua_args(L, op, gp_lua_signature(L, op), &c, NULL);
    }
    gp_lua_settle(L);
    gp_box *box = gp_lua_new_box(L, lua_upvalueindex(2));
    if (!gp_op_run(&c)) return gp_lua_raise(L);
    int n = push_results(L, &c, box);
    if (c.requires_grad && !gp_tensor_set_requires_grad(box->t, true)) return gp_lua_raise(L);
    return n;
}

/* x:op_(…): x, written; the result's reference is let go. */
static int l_op_in_place(lua_State *L) {
    const gp_op *op = gp_lua_form(L, lua_touserdata(L, lua_upvalueindex(1)), true);
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    gp_lua_args(L, op, gp_lua_signature(L, op), &c, NULL);
    if (c.arg[0].kind != GP_TENSOR)
        return luaL_error(L, "%s_: argument #1: expected a tensor to write to, got a number",
                          op->name);
    c.into = c.arg[0].t;
    if (!gp_op_run(&c)) return gp_lua_raise(L);
    gp_tensor_unref(c.out[0]);
    lua_settop(L, 1);
    return 1;
}

void gp_lua_push_op(lua_State *L, const gp_op *op, bool in_place) {
    lua_pushlightuserdata(L, (void *)op);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    lua_pushcclosure(L, in_place ? l_op_in_place : l_op, 2);
}

/* Sets field name of the table at t; a name such as linalg_svd goes into its subtable. */
static void set_function(lua_State *L, int t, const char *name) {
    static const char *const groups[] = {"linalg_", "fft_"};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        size_t n = strlen(groups[g]);
        if (strncmp(name, groups[g], n)) continue;
        lua_pushlstring(L, name, n - 1);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, t) != LUA_TTABLE) {
            lua_pop(L, 1);
            lua_newtable(L);
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, t);
        }
        lua_pushvalue(L, -3);
        lua_setfield(L, -2, name + n);
        lua_pop(L, 3);
        return;
    }
    lua_setfield(L, t, name);
}

void gp_lua_add_op(lua_State *L, int module, int methods, const gp_op *op) {
    bool method = !strncmp(op->sig, "tensor", 6) && strncmp(op->sig, "tensors", 7);
    method = method || !strncmp(op->sig, "operand", 7);
    gp_lua_push_op(L, op, false);
    if (method) lua_pushvalue(L, -1), lua_setfield(L, methods, op->name);
    set_function(L, module, op->name);
    if (strncmp(op->sig, "tensor!", 7) && strncmp(op->sig, "operand!", 8)) return;
    gp_lua_push_op(L, op, true);
    lua_pushfstring(L, "%s_", op->name);
    lua_pushvalue(L, -2);
    lua_rawset(L, methods);
    lua_pop(L, 1);
}

void gp_lua_open_ops(lua_State *L) {
    int module = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    const gp_op *op;
    for (int i = 0; (op = gp_op_row(i)); i++)
        if (gp_lua_calls(op)) gp_lua_add_op(L, module, module + 1, op);
    lua_pop(L, 1);
}
