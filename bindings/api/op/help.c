/* help() and ops(): the op table's entries for people, tests and completion. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "bindings/chunks.h"
#include "tensor/autograd/grad.h"
#include "tensor/ops/extension/extension.h"

static const char *const kinds[] = {
    [GP_UNARY] = "unary",      [GP_PARAM] = "param",     [GP_BINARY] = "binary",
    [GP_COMPARE] = "compare",  [GP_TERNARY] = "ternary", [GP_REDUCE] = "reduce",
    [GP_GRAD] = "grad",        [GP_VIEW] = "view",       [GP_CUSTOM] = "custom",
    [GP_FUNCTION] = "function"};

/* The dtypes that a row accepts, and its GP_T_ bits. */
static uint32_t row_types(const gp_op *op) {
    uint32_t every = (1u << GP_DTYPES) - 1;
    if (op->accepts) return op->accepts | (op->kind == GP_CUSTOM ? 0 : op->types & ~every);
    return op->kind == GP_VIEW ? every : op->kind == GP_CUSTOM ? 0 : op->types;
}

/* Sets dtypes, "f64 f32 f16 bf16; integers and bool give f32", unless the set is empty. */
static void set_dtypes(lua_State *L, uint32_t types) {
    luaL_Buffer b;
    bool first = true;
    if (!(types & ((1u << GP_DTYPES) - 1))) return;
    luaL_buffinit(L, &b);
    for (int dt = GP_DTYPES - 1; dt >= 0; dt--) {
        if (!(types >> dt & 1)) continue;
        if (!first) luaL_addchar(&b, ' ');
        luaL_addstring(&b, gp_dtype_name((gp_dtype)dt));
        first = false;
    }
    if (types & (GP_T_TOFLOAT | GP_T_WIDEN)) {
        bool no_bool = (types & GP_SET_INT) && !(types & GP_SET_BOOL);
        luaL_addstring(&b, no_bool ? "; integers" : "; integers and bool");
        luaL_addstring(&b, types & GP_T_TOFLOAT ? " give f32" : " give i64");
    }
    if (types & GP_T_BOOL) luaL_addstring(&b, "; the result is bool");
    luaL_pushresult(&b);
    lua_setfield(L, -2, "dtypes");
}

/* The errors of an op that depend on elements or on sizes, by its kind of fault. */
static const char *const faults[] = {[GP_FAULT_DIVISOR] = "a divisor of 0, of integers",
                                     [GP_FAULT_EXPONENT] =
                                         "an exponent below 0, of integers but 1 and -1",
                                     [GP_FAULT_CHANCE] = "an element that is not between 0 and 1"};

/* Sets waits and raises, where the op has them. A composite leaves what it does not set as the row
 * has it. */
static void set_conditions(lua_State *L, const gp_op *op) {
    const char *raises = op->raises  ? op->raises
                         : op->picks ? "no elements to choose from"
                                     : faults[op->fault];
    if (op->waits) lua_pushstring(L, op->waits), lua_setfield(L, -2, "waits");
    if (raises) lua_pushstring(L, raises), lua_setfield(L, -2, "raises");
}

/* Sets domain, of rows with a formula {least, largest} operand that tests take, and no_derivative,
 * the operands by which it cannot be differentiated, "a". */
static void set_formula(lua_State *L, const gp_op *op) {
    char letters[4] = "";
    for (int k = 0; op->vars && op->vars[k]; k++)
        if (op->no_derivative >> k & 1) strncat(letters, &op->vars[k], 1);
    if (*letters) lua_pushstring(L, letters), lua_setfield(L, -2, "no_derivative");
    if (!op->vars) return;
    lua_createtable(L, 2, 0);
    lua_pushnumber(L, op->lo), lua_rawseti(L, -2, 1);
    lua_pushnumber(L, op->hi), lua_rawseti(L, -2, 2);
    lua_setfield(L, -2, "domain");
}

static void add_entry(lua_State *L, const gp_op *op, const char *kind, uint32_t types) {
    lua_createtable(L, 0, 6);
    set_dtypes(L, types);
    set_conditions(L, op);
    lua_pushstring(L, op->sig), lua_setfield(L, -2, "sig");
    lua_pushstring(L, op->help), lua_setfield(L, -2, "help");
    lua_pushstring(L, kind), lua_setfield(L, -2, "kind");
    lua_pushboolean(L, op->random), lua_setfield(L, -2, "random");
    set_formula(L, op);
    if (op->own) lua_pushboolean(L, true), lua_setfield(L, -2, "own");
    if (op->indices) lua_pushinteger(L, op->indices), lua_setfield(L, -2, "indices");
    if (op->sample) lua_pushstring(L, op->sample), lua_setfield(L, -2, "sample");
    if (op->options) lua_pushstring(L, op->options), lua_setfield(L, -2, "options");
    bool differentiable =
        op->rule && op->rule->fn && op->rule != &gp_rule_missing && !(op->types & GP_T_BOOL);
    lua_pushstring(L, !differentiable ? "no" : op->rule == &gp_rule_once ? "later" : "yes");
    lua_setfield(L, -2, "grad");
    lua_setfield(L, -2, op->name);
}

/* Replaces the row's entry, on top of the stack, by that of the composite of its name, if there is
 * one. */
static void cover(lua_State *L, const gp_op *op) {
    lua_pushstring(L, op->sig), lua_setfield(L, -2, "sig");
    lua_pushstring(L, op->help), lua_setfield(L, -2, "help");
    set_dtypes(L, op->types);
    set_conditions(L, op);
}

/* ops(): name -> {sig =, help =, kind =, dtypes =, waits =, raises =, random =, own =, indices =,
 * sample =, domain =, no_derivative =, grad = "yes", "no" or "later"} of every row; ops(true): and
 * of every composite. */
static int l_ops(lua_State *L) {
    bool all = lua_toboolean(L, 1);
    lua_createtable(L, 0, GP_ROWS);
    int list = lua_gettop(L);
    const gp_op *row;
    for (int i = 0; (row = gp_op_row(i)); i++)
        if (gp_lua_calls(row)) add_entry(L, row, kinds[row->kind], row_types(row));
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_COMPOSITES);
    for (lua_pushnil(L); lua_next(L, list + 1); lua_settop(L, list + 2)) {
        const gp_op *op = gp_lua_composite(L, -1);
        if (lua_getfield(L, list, op->name) == LUA_TTABLE) cover(L, op);
        else if (all) lua_pushvalue(L, list), add_entry(L, op, "composite", op->types);
    }
    return lua_settop(L, list), 1;
}

/* Pushes the function of a layer, or of its class, that describes it; no function of the user's
 * runs for that. */
static bool push_description(lua_State *L, int i) {
    i = lua_absindex(L, i);
    if (!lua_istable(L, i)) return false;
    lua_pushliteral(L, "__help");
    if (lua_rawget(L, i) == LUA_TFUNCTION) return true;
    return luaL_getmetafield(L, i, "__help") == LUA_TFUNCTION;
}

const gp_op *gp_lua_op_of(lua_State *L, int i) {
    if (push_description(L, i)) i = lua_gettop(L);
    const gp_op *composite = gp_lua_composite(L, i);
    if (composite) return composite;
    const gp_op *function = gp_lua_function_of(L, i);
    if (function) return function;
    if (!lua_iscfunction(L, i) || !lua_getupvalue(L, i, 1)) return NULL;
    const gp_op *op = lua_islightuserdata(L, -1) ? lua_touserdata(L, -1) : NULL;
    lua_pop(L, 1);
    bool ours = op >= gp_ops && op < gp_ops + GP_ROWS;
    for (int i = GP_ROWS; !ours && op && gp_op_row(i); i++) ours = gp_op_row(i) == op;
    return ours ? op : NULL;
}

/* op_name(f): the name of the op that f runs, its signature and its help; nothing for other
 * values. */
static int l_op_name(lua_State *L) {
    const gp_op *op = gp_lua_op_of(L, 1);
    if (!op) return 0;
    lua_pushstring(L, op->name);
    lua_pushstring(L, op->sig);
    lua_pushstring(L, op->help);
    return 3;
}

/* help(…): the function of scripts/lua/help/init.lua. */
static int l_help(lua_State *L) {
    int n = lua_gettop(L);
    gp_lua_require(L, "help");
    lua_insert(L, 1);
    lua_call(L, n, 0);
    return 0;
}

void gp_lua_open_help(lua_State *L) {
    static const gp_lua_function fns[] = {{"ops", "bool all=false", l_ops}, {NULL, NULL, NULL}};
    static const gp_lua_function help = {"help", "value? what, bool source=false", l_help};
    gp_lua_set_functions(L, fns);
    lua_pushcfunction(L, l_op_name);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.signature");
    gp_lua_push_function(L, &help, 0);
    lua_setfield(L, -2, "help");
}
