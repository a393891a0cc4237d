/* One Lua function for all ops: arguments read by the op's signature (bindings/args), gp_op_run,
 * results pushed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/args/args.h"
#include "bindings/args/names.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/sig.h"

/* Signatures, parsed when an op is first called. */
static _Atomic(gp_sig *) sigs[GP_OPS];

/* op's signature, parsed on its first call and never freed; states in other threads may do so at
 * the same time, and one of the two copies stays. */
static const gp_sig *signature(lua_State *L, const gp_op *op) {
    gp_sig *sig = atomic_load(&sigs[gp_op_id(op)]);
    if (sig) return sig;
    sig = malloc(sizeof *sig);
    if (!sig) return luaL_error(L, "out of memory"), NULL;
    if (!gp_sig_parse(op->sig, sig)) return free(sig), gp_lua_raise(L), NULL;
    gp_sig *expected = NULL;
    if (!atomic_compare_exchange_strong(&sigs[gp_op_id(op)], &expected, sig))
        free(sig), sig = expected;
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

/* Pushes n results; the first goes into the box that is already on the stack. */
static int push_results(lua_State *L, gp_call *c, gp_box *box) {
    if (c->nout == 0) return 0; /* an op that only writes */
    box->t = c->out[0];
    int n = c->nout;
    if (n > 1) {
        gp_tensor *rest[GP_MAX_OUT];
        memcpy(rest, c->out, sizeof rest);
        for (int i = 1; i < n; i++) gp_lua_push(L, rest[i]);
    }
    gp_lua_charge(box->t);
    return n;
}

static bool is_bool(lua_State *L, int i) {
    gp_tensor *t = gp_lua_totensor(L, i);
    return t ? t->a.dtype == GP_bool : lua_isboolean(L, i);
}

/* The number of fields in the table at index t. */
static int fields(lua_State *L, int t) {
    int n = 0;
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
    return n;
}

/* Takes operand k of add or sub by one of its names from the table on top, and puts it below that.
 * False: it is not there. */
static bool named_operand(lua_State *L, const gp_op *op, int k) {
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) continue;
        if (gp_option_named(op, signature(L, op), lua_tostring(L, -2)) != k) continue;
        lua_insert(L, table);
        lua_pop(L, 1);
        return true;
    }
    lua_pushnil(L);
    lua_insert(L, table);
    return false;
}

/* PyTorch's add(a, b, alpha) and sub(a, b, alpha) by name, {alpha = n}, a + n b: run as addcmul
 * with 1 for the third factor, so that other sums need no multiplication. Leaves addcmul's
 * arguments on the stack. A sum of two bools is a bool for any alpha but 0; a difference refuses
 * them itself. */
static const gp_op *with_alpha(lua_State *L, const gp_op *op) {
    bool less = op == GP_OP(sub);
    int top = lua_gettop(L);
    if ((op != GP_OP(add) && !less) || top < 1 || top > 3 || lua_type(L, top) != LUA_TTABLE)
        return op;
    bool scaled = lua_getfield(L, top, "alpha") == LUA_TNUMBER;
    lua_pop(L, 1);
    if (!scaled || fields(L, top) != 4 - top) return op;
    for (int k = top; k < 3; k++)
        if (!named_operand(L, op, k - 1)) {
            for (; k >= top; k--) lua_remove(L, k);
            return op;
        }
    lua_getfield(L, 3, "alpha");
    bool a = is_bool(L, 1), b = is_bool(L, 2);
    if (less ? a || b : a && b && lua_tonumber(L, 4) != 0) return lua_settop(L, 2), op;
    if (less) lua_arith(L, LUA_OPUNM);
    lua_pushinteger(L, 1);
    lua_replace(L, 3);
    return GP_OP(addcmul);
}

/* Upvalues: op, metatable. No reference is held while arguments may raise. */
static int l_op(lua_State *L) {
    const gp_op *op = lua_touserdata(L, lua_upvalueindex(1));
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    if (!quick_args(L, op, &c)) {
        c.nargs = 0;
        c.op = op = with_alpha(L, op);
        gp_lua_args(L, op, signature(L, op), &c, NULL);
    }
    gp_lua_settle(L);
    gp_box *box = gp_lua_new_box(L, lua_upvalueindex(2));
    if (!gp_op_run(&c)) return gp_lua_raise(L);
    int n = push_results(L, &c, box);
    if (c.requires_grad && !gp_tensor_set_requires_grad(box->t, true)) return gp_lua_raise(L);
    return n;
}

/* x:clamp_(min, max) with a tensor among the limits is another op, as in clamp's composite. Leaves
 * that op's arguments on the stack; an option that clamp does not have goes to its own row, which
 * reports it. */
static const gp_op *with_limits(lua_State *L, const gp_op *op) {
    if (op != GP_OP(clamp)) return op;
    int top = lua_gettop(L);
    bool named = top == 2 && lua_istable(L, 2);
    if (named) {
        lua_getfield(L, 2, "min"), lua_getfield(L, 2, "max");
        if (fields(L, 2) > !lua_isnil(L, 3) + !lua_isnil(L, 4)) return lua_settop(L, top), op;
    }
    int low = named ? 3 : 2, high = low + 1;
    if (!gp_lua_totensor(L, low) && !gp_lua_totensor(L, high)) return lua_settop(L, top), op;
    if (named) lua_remove(L, 2);
    if (lua_isnil(L, 2)) return lua_remove(L, 2), GP_OP(clamp_max);
    if (lua_isnoneornil(L, 3)) return lua_settop(L, 2), GP_OP(clamp_min);
    return GP_OP(clamp_between);
}

/* PyTorch's x:div_(b, rounding_mode) is another op, as in div's composite. Leaves that op's
 * arguments on the stack. */
static const gp_op *with_rounding(lua_State *L, const gp_op *op) {
    if (op != GP_OP(div) || lua_gettop(L) != 3) return op;
    bool named = lua_istable(L, 3) && fields(L, 3) == 1;
    if (named) lua_getfield(L, 3, "rounding_mode");
    const char *mode = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (!strcmp(mode, "floor")) op = GP_OP(floor_divide);
    else if (!strcmp(mode, "trunc")) op = GP_OP(trunc_divide);
    lua_settop(L, op == GP_OP(div) ? 3 : 2);
    return op;
}

/* x:op_(…): returns x, written; the result's reference is released. */
static int l_op_in_place(lua_State *L) {
    const gp_op *op = with_alpha(L, lua_touserdata(L, lua_upvalueindex(1)));
    op = with_rounding(L, with_limits(L, op));
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    gp_lua_args(L, op, signature(L, op), &c, NULL);
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

/* Adds the op to the module and the methods, and its form with _ where it has one. */
static void add_op(lua_State *L, int module, int methods, const gp_op *op) {
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
    for (int i = 0; i < GP_ROWS; i++) add_op(L, module, module + 1, &gp_ops[i]);
    lua_pop(L, 1);
}
