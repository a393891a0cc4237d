/* Calls of PyTorch's that are another op of ours for one of their arguments: add's alpha, clamp_'s
 * limits that are tensors, clamp_min_'s that are numbers, div_'s rounding_mode, view's dtype. */
#include <string.h>

#include "bindings/args/names.h"
#include "bindings/bind.h"
#include "tensor/dtype.h"

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
        if (gp_option_named(op, gp_lua_signature(L, op), lua_tostring(L, -2)) != k) continue;
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
static const gp_op *scaled_sum(lua_State *L, const gp_op *op, bool less) {
    int top = lua_gettop(L);
    if (top < 1 || top > 3 || lua_type(L, top) != LUA_TTABLE) return op;
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
static const gp_op *sum_form(lua_State *L, const gp_op *op) { return scaled_sum(L, op, false); }
static const gp_op *difference_form(lua_State *L, const gp_op *op) {
    return scaled_sum(L, op, true);
}

/* x:clamp_(min, max) with a tensor among the limits is another op, as in clamp's composite. Leaves
 * that op's arguments on the stack; an option that clamp does not have goes to its own row, which
 * reports it. */
static const gp_op *clamp_form(lua_State *L, const gp_op *op) {
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
static const gp_op *div_form(lua_State *L, const gp_op *op) {
    if (lua_gettop(L) != 3) return op;
    bool named = lua_istable(L, 3) && fields(L, 3) == 1;
    if (named) lua_getfield(L, 3, "rounding_mode");
    const char *mode = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    bool floors = !strcmp(mode, "floor"), cuts = !strcmp(mode, "trunc");
    lua_settop(L, floors || cuts ? 2 : 3);
    return floors ? GP_OP(floor_divide) : cuts ? GP_OP(trunc_divide) : op;
}

/* x:clamp_min_(number) is clamp's op, as in clamp_min's composite. */
static const gp_op *low_form(lua_State *L, const gp_op *op) {
    return lua_gettop(L) == 2 && lua_type(L, 2) == LUA_TNUMBER ? GP_OP(clamp) : op;
}
static const gp_op *high_form(lua_State *L, const gp_op *op) {
    if (lua_gettop(L) != 2 || lua_type(L, 2) != LUA_TNUMBER) return op;
    lua_pushnil(L), lua_insert(L, 2);
    return GP_OP(clamp);
}

/* PyTorch's x.view(dtype) and NumPy's. */
static const gp_op *view_form(lua_State *L, const gp_op *op) {
    bool named = lua_istable(L, 2) && fields(L, 2) == 1;
    if (named) {
        named = lua_getfield(L, 2, "dtype") == LUA_TSTRING;
        lua_pop(L, 1);
    }
    gp_dtype dt;
    bool is_name = lua_gettop(L) == 2 && lua_type(L, 2) == LUA_TSTRING;
    return named || (is_name && gp_dtype_parse(lua_tostring(L, 2), &dt)) ? GP_OP(bitcast) : op;
}

/* Of each op that has such calls: all of them, and those in place. */
static const struct form {
    const gp_op *(*any)(lua_State *L, const gp_op *op), *(*in_place)(lua_State *L, const gp_op *op);
} forms[GP_OPS] = {
    [OP_add] = {.any = sum_form},
    [OP_sub] = {.any = difference_form},
    [OP_view] = {.any = view_form},
    [OP_clamp] = {.in_place = clamp_form},
    [OP_clamp_min] = {.in_place = low_form},
    [OP_clamp_max] = {.in_place = high_form},
    [OP_div] = {.in_place = div_form},
};

const gp_op *gp_lua_form(lua_State *L, const gp_op *op, bool in_place) {
    const struct form *f = &forms[gp_op_id(op)];
    if (f->any) op = f->any(L, op);
    return in_place && f->in_place ? f->in_place(L, op) : op;
}
