/* The helpers that rewritten Lua text calls: truth and comparison where tensors may take part. */
#include "bindings/rewrite/truth.h"

#include "bindings/bind.h"
#include "bindings/rewrite/rewrite.h"

#include <string.h>

/* Every helper first checks for tensors: for plain values that is its whole cost. */
static bool any_tensor(lua_State *L) { return gp_lua_totensor(L, 1) || gp_lua_totensor(L, 2); }

static int l_truth(lua_State *L) {
    if (!gp_lua_totensor(L, 1)) return 1;
    if (!gp_lua_truth(L, 1)) lua_pushboolean(L, 0);
    return 1;
}

/* Of the values in the head of a loop that counts. */
static int l_number(lua_State *L) {
    gp_tensor *t = gp_lua_totensor(L, 1);
    char text[200];
    if (!t) return 1;
    if (t->a.numel == 1) return gp_lua_number(L, 1, "for");
    gp_fail("for: expected a number or a tensor of one element, got tensor %s (#x is the size of "
            "its first dim; for i, row in ipairs(x) gives its parts)",
            gp_tensor_text(t, text, sizeof text));
    return gp_lua_raise(L);
}

/* Whether 1 and 2 are compared elementwise: a tensor with a tensor or a number; anything else is
 * just another value. */
static bool elementwise(lua_State *L) {
    return (gp_lua_totensor(L, 1) || lua_type(L, 1) == LUA_TNUMBER) &&
           (gp_lua_totensor(L, 2) || lua_type(L, 2) == LUA_TNUMBER);
}

/* Whether 1 and 2, one of them a tensor, are equal as a condition. */
static bool tensors_equal(lua_State *L) {
    if (!elementwise(L)) return false;
    gp_lua_operate(L, "eq", 1, 2);
    return gp_lua_truth(L, -1);
}

static int same_tensor(lua_State *L) {
    if (tensors_equal(L)) lua_settop(L, 1);
    else if (lua_isnil(L, 1)) lua_pushboolean(L, 0); /* anything that x does not equal */
    else lua_pushnil(L);
    return 1;
}

static int l_same(lua_State *L) { return any_tensor(L) ? same_tensor(L) : 1; }

static int l_same1(lua_State *L) { return gp_lua_totensor(L, 2) ? same_tensor(L) : 1; }

static int l_tensor(lua_State *L) {
    if (!any_tensor(L)) return 0;
    lua_pushboolean(L, 1);
    return 1;
}

static int l_tensor1(lua_State *L) { return gp_lua_totensor(L, 1) ? 1 : 0; }

/* ---- Metamethods: called so that they may yield, as from Lua's own operators ---- */

enum { M_NEGATE = 1, M_CONDITION = 2 };

/* Converts a metamethod's result to the comparison's: a boolean, but a tensor stays one where a
 * value is wanted. */
static int finish(lua_State *L, int status, lua_KContext how) {
    bool tensor = gp_lua_totensor(L, -1), r;
    if (tensor && !(how & (M_CONDITION | M_NEGATE))) return 1;
    r = tensor ? gp_lua_truth(L, -1) : lua_toboolean(L, -1);
    lua_pushboolean(L, how & M_NEGATE ? !r : r);
    return 1;
}

static bool find_metamethod(lua_State *L, const char *event, int a, int b) {
    return luaL_getmetafield(L, a, event) != LUA_TNIL || luaL_getmetafield(L, b, event) != LUA_TNIL;
}

/* The metamethod is on top of the stack. */
static int call_metamethod(lua_State *L, int a, int b, lua_KContext how) {
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_callk(L, 2, 1, how, finish);
    return finish(L, LUA_OK, how);
}

static bool has_metatable(lua_State *L, int i) {
    if (!lua_getmetatable(L, i)) return false;
    lua_pop(L, 1);
    return true;
}

/* Whether one of 1 and 2, whose types are given, is a tensor. */
static bool tensors(lua_State *L, int t1, int t2) {
    return (t1 == LUA_TUSERDATA && gp_lua_totensor(L, 1)) ||
           (t2 == LUA_TUSERDATA && gp_lua_totensor(L, 2));
}

/* Whether both are of this type. */
static bool may_have_eq(lua_State *L, int type) {
    return (type == LUA_TTABLE || type == LUA_TUSERDATA) &&
           (has_metatable(L, 1) || has_metatable(L, 2)) && find_metamethod(L, "__eq", 1, 2);
}

static int plain_equal(lua_State *L, int t1, int t2, lua_KContext how) {
    bool equal = t1 == t2 && lua_rawequal(L, 1, 2);
    if (!equal && t1 == t2 && may_have_eq(L, t1)) return call_metamethod(L, 1, 2, how);
    lua_pushboolean(L, how & M_NEGATE ? !equal : equal);
    return 1;
}

static int l_equal_condition(lua_State *L) {
    int t1 = lua_type(L, 1), t2 = lua_type(L, 2);
    if (!tensors(L, t1, t2)) return plain_equal(L, t1, t2, M_CONDITION);
    lua_pushboolean(L, tensors_equal(L));
    return 1;
}

static int equality(lua_State *L, const char *op, lua_KContext how) {
    int t1 = lua_type(L, 1), t2 = lua_type(L, 2);
    if (!tensors(L, t1, t2)) return plain_equal(L, t1, t2, how);
    if (elementwise(L)) return gp_lua_operate(L, op, 1, 2);
    lua_pushboolean(L, how == M_NEGATE);
    return 1;
}

/* ---- results of functions ---- */

/* Whether table.sort, without a comparator, calls the function that calls this. */
static bool sorting(lua_State *L) {
    lua_Debug ar;
    if (!lua_getstack(L, 2, &ar) || !lua_getinfo(L, "f", &ar)) return false;
    bool sort = gp_lua_is_sort(L, -1);
    lua_pop(L, 1);
    return sort;
}

/* Whether Lua's own comparison calls the function that calls this. It takes every userdata as
 * true. */
static bool for_truth(lua_State *L) {
    lua_Debug ar;
    if (!lua_getstack(L, 1, &ar) || !lua_getinfo(L, "n", &ar)) return false;
    if (strcmp(ar.namewhat, "metamethod")) return sorting(L);
    return !strcmp(ar.name, "eq") || !strcmp(ar.name, "lt") || !strcmp(ar.name, "le");
}

/* The comparison's result, which is on top, after a return. */
static int returned(lua_State *L) {
    if (gp_lua_totensor(L, -1) && for_truth(L)) lua_pushboolean(L, gp_lua_truth(L, -1));
    return 1;
}

static int l_eq(lua_State *L) { return equality(L, "eq", 0); }
static int l_ne(lua_State *L) { return equality(L, "ne", M_NEGATE); }

/* A value's type as Lua's own messages name it; may push its name. */
static const char *type_name(lua_State *L, int i) {
    int type = lua_type(L, i);
    if ((type == LUA_TTABLE || type == LUA_TUSERDATA) &&
        luaL_getmetafield(L, i, "__name") == LUA_TSTRING)
        return lua_tostring(L, -1);
    return luaL_typename(L, i);
}

/* The same message as Lua's, at the same line: the one that compares. */
static int order_error(lua_State *L, int a, int b) {
    const char *s = type_name(L, a), *t = type_name(L, b);
    if (!strcmp(s, t)) return luaL_error(L, "attempt to compare two %s values", s);
    return luaL_error(L, "attempt to compare %s with %s", s, t);
}

/* op is the tensor operation for (1, 2); for plain values a and b are the operands as Lua orders
 * them. */
static int order(lua_State *L, const char *op, int a, int b, int api, const char *event) {
    int t1 = lua_type(L, 1), t2 = lua_type(L, 2);
    if (tensors(L, t1, t2)) return gp_lua_operate(L, op, 1, 2);
    if (t1 != t2 || (t1 != LUA_TNUMBER && t1 != LUA_TSTRING)) {
        if (find_metamethod(L, event, a, b)) return call_metamethod(L, a, b, 0);
        /* Lua derives __le from __lt in builds that enable it: that is left to it. */
        if (api == LUA_OPLT || !find_metamethod(L, "__lt", a, b)) return order_error(L, a, b);
    }
    lua_pushboolean(L, lua_compare(L, a, b, api));
    return 1;
}

static int l_lt(lua_State *L) { return order(L, "lt", 1, 2, LUA_OPLT, "__lt"); }
static int l_le(lua_State *L) { return order(L, "le", 1, 2, LUA_OPLE, "__le"); }
static int l_gt(lua_State *L) { return order(L, "gt", 2, 1, LUA_OPLT, "__lt"); }
static int l_ge(lua_State *L) { return order(L, "ge", 2, 1, LUA_OPLE, "__le"); }

#define RETURN(name)                                                                               \
    static int l_##name##_return(lua_State *L) {                                                   \
        l_##name(L);                                                                               \
        return returned(L);                                                                        \
    }
RETURN(eq)
RETURN(ne)
RETURN(lt)
RETURN(le)
RETURN(gt)
RETURN(ge)

/* ---- Operators that are not Lua's ---- */

/* An operand of a comparison that is itself a comparison, or the other operand. */
static int l_link(lua_State *L) {
    if (gp_lua_totensor(L, 2))
        return luaL_error(L, "comparisons of tensors cannot be chained; write %s",
                          lua_tostring(L, 1));
    return 1;
}

static int l_matmul(lua_State *L) {
    if (any_tensor(L)) return gp_lua_operate(L, "matmul", 1, 2);
    return luaL_error(L, "@ is the matrix product of two tensors (got %s and %s)",
                      luaL_typename(L, 1), luaL_typename(L, 2));
}

/* Unpacks a value for several variables: the parts of one of gpush's lists, if there are as
 * many. */
static int l_unpack(lua_State *L) {
    lua_Integer wanted = lua_tointeger(L, 1), n;
    if (lua_gettop(L) != 2 || !gp_lua_is_list(L, 2)) return lua_gettop(L) - 1;
    n = (lua_Integer)lua_rawlen(L, 2);
    if (n != wanted)
        return luaL_error(L, "a list of %I cannot be unpacked into %I variables", (LUAI_UACINT)n,
                          (LUAI_UACINT)wanted);
    luaL_checkstack(L, (int)n, "too many parts");
    for (lua_Integer i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
    return (int)n;
}

static const luaL_Reg helpers[] = {
    {GP_H_TRUTH, l_truth},
    {GP_H_NUMBER, l_number},
    {GP_H_SAME, l_same},
    {GP_H_SAME1, l_same1},
    {GP_H_TENSOR, l_tensor},
    {GP_H_TENSOR1, l_tensor1},
    {GP_H_EQC, l_equal_condition},
    {GP_H_EQ, l_eq},
    {GP_H_NE, l_ne},
    {GP_H_LT, l_lt},
    {GP_H_LE, l_le},
    {GP_H_GT, l_gt},
    {GP_H_GE, l_ge},
    {GP_H_EQ GP_H_RETURN, l_eq_return},
    {GP_H_NE GP_H_RETURN, l_ne_return},
    {GP_H_LT GP_H_RETURN, l_lt_return},
    {GP_H_LE GP_H_RETURN, l_le_return},
    {GP_H_GT GP_H_RETURN, l_gt_return},
    {GP_H_GE GP_H_RETURN, l_ge_return},
    {GP_H_LINK, l_link},
    {GP_H_MATMUL, l_matmul},
    {GP_H_UNPACK, l_unpack},
    {NULL, NULL},
};

void gp_syntax_helpers(lua_State *L) {
    lua_pushglobaltable(L);
    luaL_setfuncs(L, helpers, 0);
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    if (luaL_getmetafield(L, -1, "__index") == LUA_TTABLE) {
        /* In the metatable of the string library's table, where pairs(string) does not find
         * them. */
        if (!lua_getmetatable(L, -1)) lua_createtable(L, 0, 1);
        luaL_newlib(L, helpers);
        lua_setfield(L, -2, "__index");
        lua_setmetatable(L, -2);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}
