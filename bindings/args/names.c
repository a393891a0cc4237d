/* Options of a call by name: the parameter that a name means, and the error for an unknown one;
 * second names (names.def, and of rows their own columns) for scripts. */
#include "bindings/args/names.h"

#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/chunks.h"

/* Second names of parameters. */
static const struct {
    const char *name, *second, *op; /* op "any": of every op */
} options[] = {
#define OPTION(op, parameter, second) {#parameter, #second, #op},
#include "bindings/args/names.def"
};

/* Second names of parameters that are lists of dims: `dim` in some of PyTorch's ops, `dims` in
 * others. */
static const struct {
    const char *name, *second;
} dims[] = {
#define DIMS(parameter, second) {#parameter, #second},
#include "bindings/args/names.def"
};

/* Most names differ in their first letter: no call is needed for these. */
static bool same(const char *a, const char *b) { return *a == *b && !strcmp(a, b); }

/* Whether second=name is among a row's own, "tensor1=b tensor2=c". */
static bool is_listed(const char *options, const char *name, const char *second) {
    size_t n = strlen(name), m = strlen(second);
    for (const char *p = options; p; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (!strncmp(p, name, n) && p[n] == '=' && strcspn(p + n + 1, " ") == m &&
            !strncmp(p + n + 1, second, m))
            return true;
    }
    return false;
}

static bool is_second_name(const gp_op *op, const gp_param *p, const char *key) {
    if (is_listed(op->options, p->name, key)) return true;
    for (size_t i = 0; p->type == GP_SIG_dims && i < sizeof dims / sizeof *dims; i++)
        if (same(p->name, dims[i].name) && same(key, dims[i].second)) return true;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (same(key, options[i].second) && same(p->name, options[i].name) &&
            (same(options[i].op, "any") || same(options[i].op, op->name)))
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

/* Whether the op makes a tensor on a device that may be named: then requires_grad is an option,
 * too, which the caller of gp_lua_args sets on the result. */
static bool makes(const gp_op *op, const gp_sig *sig) {
    int k = sig->n - 1;
    return k >= 0 && op->kind != GP_FUNCTION && sig->p[k].type == GP_SIG_device;
}

/* Pushes the list of names that may be given after the `given` first parameters. */
static void push_names(lua_State *L, const gp_op *op, const gp_sig *sig, int given) {
    int n = 0;
    lua_newtable(L);
    for (int k = given; k < sig->n; k++) {
        if (sig->p[k].type == GP_SIG_self || sig->p[k].type == GP_SIG_rest) continue;
        lua_pushstring(L, sig->p[k].name);
        lua_rawseti(L, -2, ++n);
    }
    if (!makes(op, sig)) return;
    lua_pushliteral(L, "requires_grad");
    lua_rawseti(L, -2, ++n);
}

/* The name in the list at `names` that key was probably meant to be, as text; NULL if none is
 * near. */
static const char *nearest(lua_State *L, const char *key, int names) {
    gp_lua_require(L, "nearest");
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

/* Raises: there is no option of that name after the `given` first parameters. */
static void unknown(lua_State *L, const gp_op *op, const gp_sig *sig, const char *key, int given) {
    char text[400];
    luaL_checkstack(L, 10, op->name);
    push_names(L, op, sig, given);
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
        if (key && makes(op, sig) && !strcmp(key, "requires_grad")) {
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
        gp_op op = {.kind = GP_FUNCTION, .name = what};
        if (!key || gp_option_named(&op, &parsed, key) < 0)
            unknown(L, &op, &parsed, key ? key : luaL_tolstring(L, -2, NULL), 0);
    }
}

int gp_get_field(lua_State *L, const char *what, const char *name, int table) {
    int type = lua_getfield(L, table, name);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (strcmp(options[i].op, what) != 0 || strcmp(options[i].name, name) != 0) continue;
        int second = lua_getfield(L, table, options[i].second);
        if (second != LUA_TNIL && type != LUA_TNIL)
            luaL_error(L, "%s: '%s' and '%s' are one option", what, name, options[i].second);
        if (second != LUA_TNIL) type = second, lua_remove(L, -2);
        else lua_pop(L, 1);
    }
    return type;
}

int gp_l_check_fields(lua_State *L) {
    gp_check_fields(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2), 3);
    return 0;
}

/* Appends the second name to the list at field op of the table on top. */
static void add_synonym(lua_State *L, const char *op, const char *second) {
    luaL_getsubtable(L, -1, op);
    lua_pushstring(L, second);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

/* The same for all of a row's: linalg_inv is linalg.inv there. */
static void add_row_synonyms(lua_State *L, const gp_op *op) {
    char first[64], second[64];
    snprintf(first, sizeof first, "%s", op->name);
    if (!strncmp(first, "linalg_", 7)) first[6] = '.';
    for (const char *p = op->also; p; p = strchr(p, ' ')) {
        p += *p == ' ';
        snprintf(second, sizeof second, "%.*s", (int)strcspn(p, " "), p);
        add_synonym(L, first, second);
    }
}

void gp_lua_push_synonyms(lua_State *L) {
    lua_newtable(L);
#define SYNONYM(op, second) add_synonym(L, #op, #second);
#include "bindings/args/names.def"
    for (int i = 0; i < GP_ROWS; i++) add_row_synonyms(L, &gp_ops[i]);
}

static void add_second(lua_State *L, const char *function, const char *name, const char *second) {
    luaL_getsubtable(L, -1, function);
    lua_pushstring(L, name);
    lua_setfield(L, -2, second);
    lua_pop(L, 1);
}

void gp_lua_push_members(lua_State *L) {
    lua_newtable(L);
#define MEMBER(table, function, second) add_second(L, #table, #function, #second);
#include "bindings/args/names.def"
}

void gp_lua_push_typed_options(lua_State *L) {
    lua_newtable(L);
#define TYPED(function, parameter, second) add_second(L, #function, #parameter, #second);
#include "bindings/args/names.def"
}

/* The key has the parameter, since a second name may be that of several. */
void gp_lua_push_second_options(lua_State *L) {
    lua_newtable(L);
#define OPTION(function, parameter, second)                                                        \
    add_second(L, #function, #parameter, #second " " #parameter);
#include "bindings/args/names.def"
}
