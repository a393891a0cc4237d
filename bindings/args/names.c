/* Options of a call by name: which parameter a name means, and what is said of one that means
 * none. */
#include "bindings/args/names.h"

#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/paths.h"

/* Parameters that are called otherwise here than in PyTorch: they answer to its names, too. */
static const struct {
    const char *name, *second, *op; /* op NULL: of every op */
} called[] = {{"slope", "negative_slope", "leaky_relu"},
              {"min", "min_val", "hardtanh"},
              {"max", "max_val", "hardtanh"},
              {"first", "start_dim", "flatten"},
              {"last", "end_dim", "flatten"},
              {"first", "start", NULL},
              {"last", "end", NULL},
              {"offset", "storage_offset", "as_strided"},
              {"value", "fill_value", "full"},
              {"value", "fill_value", "full_like"},
              {"value", "fill_value", "new_full"},
              {"size", "split_size_or_sections", "split"},
              {"sections", "indices_or_sections", "tensor_split"},
              {"cond", "condition", "where"},
              {"a", "x", "where"},
              {"b", "y", "where"},
              {"b", "exponent", "pow"},
              {"b", "end", "lerp"},
              {"c", "weight", "lerp"},
              {"b", "tensor1", "addcmul"},
              {"c", "tensor2", "addcmul"},
              {"b", "tensor1", "addcdiv"},
              {"c", "tensor2", "addcdiv"},
              {"a", "mat1", "addmm"},
              {"b", "mat2", "addmm"},
              {"a", "mat", "addmv"},
              {"b", "vec", "addmv"},
              {"a", "batch1", "baddbmm"},
              {"b", "batch2", "baddbmm"},
              {"b", "mat2", "mm"},
              {"b", "mat2", "bmm"},
              {"b", "vec", "mv"},
              {"b", "vec2", "outer"},
              {"l", "input2", "cholesky_solve"},
              {"x1", "input1", NULL},
              {"x2", "input2", NULL},
              {"x", "input", NULL},
              {"a", "input", NULL},
              {"x", "A", NULL},
              {"a", "A", NULL},
              {"b", "B", NULL},
              {"b", "other", NULL},
              {"repeats", "repeat", "profile.schedule"},
              {"uplo", "UPLO", NULL},
              {"shape", "size", NULL}};

/* Is key the other name of p? Lists of dims are `dim` in some of PyTorch's ops and `dims` in
 * others. */
static bool is_second_name(const gp_op *op, const gp_param *p, const char *key) {
    if (p->type == GP_SIG_dims && !strcmp(p->name, "dims") && !strcmp(key, "dim")) return true;
    if (p->type == GP_SIG_dims && !strcmp(p->name, "dim") && !strcmp(key, "dims")) return true;
    for (size_t i = 0; i < sizeof called / sizeof *called; i++)
        if (!strcmp(p->name, called[i].name) && !strcmp(key, called[i].second) &&
            (!called[i].op || !strcmp(op->name, called[i].op)))
            return true;
    return false;
}

int gp_option_named(const gp_op *op, const gp_sig *sig, const char *key) {
    for (int k = 0; k < sig->n; k++)
        if (!strcmp(sig->p[k].name, key)) return k;
    for (int k = 0; k < sig->n; k++)
        if (is_second_name(op, &sig->p[k], key)) return k;
    return -1;
}

/* Does the op make a tensor on a device that may be named? Then requires_grad is an option too. */
static bool makes(const gp_sig *sig) {
    int k = sig->n - 1;
    return k >= 0 && sig->p[k].type == GP_SIG_device;
}

/* Pushes the list of names that may be given behind the `given` first parameters. */
static void push_names(lua_State *L, const gp_sig *sig, int given) {
    int n = 0;
    lua_newtable(L);
    for (int k = given; k < sig->n; k++) {
        if (sig->p[k].type == GP_SIG_self || sig->p[k].type == GP_SIG_rest) continue;
        lua_pushstring(L, sig->p[k].name);
        lua_rawseti(L, -2, ++n);
    }
    if (!makes(sig)) return;
    lua_pushliteral(L, "requires_grad");
    lua_rawseti(L, -2, ++n);
}

/* Which of the names in the list at `names` the key was meant to be, as text; NULL if none is
 * near. */
static const char *nearest(lua_State *L, const char *key, int names) {
    gp_chunk_push(L, lua_pushfstring(L, "%s/nearest.lua", gp_scripts_dir()));
    lua_call(L, 0, 1);
    lua_pushstring(L, key);
    lua_pushvalue(L, names);
    lua_call(L, 2, 1);
    return lua_tostring(L, -1);
}

/* "a, b, c" of the list at `names`. */
static const char *joined(lua_State *L, int names) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= (int)lua_rawlen(L, names); i++) {
        if (i > 1) luaL_addstring(&b, ", ");
        lua_rawgeti(L, names, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

/* Raises: there is no option of that name behind the `given` first parameters. */
static void unknown(lua_State *L, const gp_op *op, const gp_sig *sig, const char *key, int given) {
    char text[400];
    luaL_checkstack(L, 10, op->name);
    push_names(L, sig, given);
    int names = lua_gettop(L);
    if (!lua_rawlen(L, names)) {
        gp_fail("%s: unknown option '%s' (it takes none)", op->name, key);
    } else {
        const char *near = nearest(L, key, names);
        snprintf(text, sizeof text, near ? "; did you mean %s?" : "", near);
        gp_fail("%s: unknown option '%s'%s (expected %s)", op->name, key, text, joined(L, names));
    }
    gp_lua_raise_argument(L);
}

void gp_check_options(lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c, int table,
                      int given) {
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        int k = key ? gp_option_named(op, sig, key) : -1;
        if (k >= 0 && sig->p[k].type == GP_SIG_self) k = -1;
        if (k >= given) continue;
        if (key && makes(sig) && !strcmp(key, "requires_grad")) {
            if (!lua_isboolean(L, -1)) {
                gp_fail("%s: option 'requires_grad': expected true or false, got %s", op->name,
                        luaL_typename(L, -1));
                gp_lua_raise_argument(L);
            }
            c->requires_grad = lua_toboolean(L, -1);
            continue;
        }
        if (k < 0) unknown(L, op, sig, key ? key : luaL_tolstring(L, -2, NULL), given);
        gp_fail("%s: '%s' is given twice, as argument #%d and as an option", op->name, key, k + 1);
        gp_lua_raise_argument(L);
    }
}

void gp_check_fields(lua_State *L, const char *what, const char *sig, int table) {
    gp_sig parsed;
    if (!gp_sig_parse(sig, &parsed)) gp_lua_raise(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        int k = 0;
        while (k < parsed.n && !(key && !strcmp(parsed.p[k].name, key))) k++;
        if (k == parsed.n)
            unknown(L, &(gp_op){.name = what}, &parsed, key ? key : luaL_tolstring(L, -2, NULL), 0);
    }
}

int gp_l_check_fields(lua_State *L) {
    gp_check_fields(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), 3);
    return 0;
}
