/* One Lua function for all ops: arguments checked by the op's signature, gp_op_run, results pushed.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "tensor/sig.h"

/* Signatures are taken apart when an op is first called. */
static _Atomic(gp_sig *) sigs[GP_OPS];

static const gp_sig *signature(lua_State *L, const gp_op *op) {
    gp_sig *sig = atomic_load(&sigs[gp_op_id(op)]);
    if (sig) return sig;
    sig = malloc(sizeof *sig);
    if (!sig) luaL_error(L, "out of memory");
    if (!gp_sig_parse(op->sig, sig)) free(sig), gp_lua_raise(L);
    gp_sig *expected = NULL;
    if (!atomic_compare_exchange_strong(&sigs[gp_op_id(op)], &expected, sig))
        free(sig), sig = expected;
    return sig;
}

/* What the reader of one argument needs to know. `i` is a stack index. */
typedef struct reading {
    lua_State *L;
    const gp_op *op;
    gp_call *c;
    const gp_param *p;
    int i, number; /* number: position as the user counts it, or 0 for an option */
} reading;

static int bad(const reading *r, const char *expected) {
    lua_State *L = r->L;
    const char *got = luaL_typename(L, r->i);
    if (gp_lua_totensor(L, r->i)) got = "tensor";
    else if (lua_type(L, r->i) == LUA_TSTRING)
        got = lua_pushfstring(L, "'%s'", lua_tostring(L, r->i));
    else if (lua_type(L, r->i) == LUA_TNUMBER)
        got = lua_pushfstring(L, "%s", luaL_tolstring(L, r->i, NULL));
    if (r->number)
        return luaL_error(L, "%s: argument '%s' (#%d): expected %s, got %s", r->op->name,
                          r->p->name, r->number, expected, got);
    return luaL_error(L, "%s: option '%s': expected %s, got %s", r->op->name, r->p->name, expected,
                      got);
}

/* A number at i; a one-element tensor there gives its number, which is a recorded wait. */
static bool to_number(const reading *r, int i, gp_scalar *s) {
    lua_State *L = r->L;
    int is;
    if (lua_isinteger(L, i)) return *s = (gp_scalar){.i = lua_tointeger(L, i)}, true;
    if (lua_type(L, i) == LUA_TNUMBER)
        return *s = (gp_scalar){.is_float = true, .f = lua_tonumberx(L, i, &is)}, true;
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t) return false;
    if (!gp_item(t, s, GP_WHY_item, r->op->name)) gp_lua_raise(L);
    return true;
}

static bool to_int(const reading *r, int i, int64_t *out) {
    gp_scalar s;
    if (!to_number(r, i, &s)) return false;
    if (!s.is_float) return *out = s.i, true;
    if (s.f != floor(s.f) || !(fabs(s.f) < 0x1p62)) return false;
    return *out = (int64_t)s.f, true;
}

static void add_number(gp_call *c, gp_scalar s) { gp_call_number(c, s); }

static bool add_bool(const reading *r) {
    if (lua_type(r->L, r->i) != LUA_TBOOLEAN) return false;
    gp_call_number(r->c, (gp_scalar){.i = lua_toboolean(r->L, r->i)});
    r->c->arg[r->c->nargs - 1].is_bool = true;
    return true;
}

static bool is_list(lua_State *L, int i) { return lua_type(L, i) == LUA_TTABLE; }

/* A table of integers, one number, or for dims and shapes the run of numbers that begins here;
 * returns how many stack places it took. */
static int read_ints(const reading *r, int last) {
    lua_State *L = r->L;
    int64_t v[GP_MAX_INTS];
    int n = 0, took = 1, most = GP_MAX_INTS - r->c->nints;
    if (is_list(L, r->i)) {
        lua_Integer len = luaL_len(L, r->i);
        if (len > most)
            luaL_error(L, "%s: argument '%s' has %d entries, more than %d", r->op->name, r->p->name,
                       (int)len, most);
        for (; n < len; n++) {
            lua_geti(L, r->i, n + 1);
            if (!to_int(r, lua_gettop(L), &v[n]))
                luaL_error(L, "%s: entry %d of argument '%s': expected an integer, got %s",
                           r->op->name, n + 1, r->p->name, luaL_typename(L, -1));
            lua_pop(L, 1);
        }
    } else {
        if (r->p->type == GP_SIG_ints || r->p->type == GP_SIG_padding) last = r->i;
        for (took = 0; r->i + took <= last && n < most &&
                       (took == 0 || lua_type(L, r->i + took) == LUA_TNUMBER ||
                        gp_lua_totensor(L, r->i + took));
             took++, n++)
            if (!to_int(r, r->i + took, &v[n])) bad(r, "integers");
    }
    gp_call_ints(r->c, v, n);
    return took;
}

/* The tensors of a table; the array lives in a userdata that is left on the stack. */
static void read_tensors(const reading *r) {
    lua_State *L = r->L;
    if (!is_list(L, r->i)) bad(r, "a table of tensors");
    lua_Integer n = luaL_len(L, r->i);
    luaL_checkstack(L, 4, "tensors");
    gp_tensor **list = lua_newuserdatauv(L, (size_t)(n ? n : 1) * sizeof *list, 0);
    for (lua_Integer k = 0; k < n; k++) {
        lua_geti(L, r->i, k + 1);
        list[k] = gp_lua_totensor(L, -1);
        if (!list[k])
            luaL_error(L, "%s: entry %d of argument '%s': expected a tensor, got %s", r->op->name,
                       (int)k + 1, r->p->name, luaL_typename(L, -1));
        lua_pop(L, 1); /* the table keeps it alive */
    }
    r->c->arg[r->c->nargs++] = (gp_value){.kind = GP_LIST, .n = (int32_t)n, .list = list};
}

static void read_name(const reading *r) {
    lua_State *L = r->L;
    gp_value *v = &r->c->arg[r->c->nargs];
    if (lua_type(L, r->i) != LUA_TSTRING)
        bad(r, r->p->type == GP_SIG_dtype    ? "a dtype as a string"
               : r->p->type == GP_SIG_device ? "a device as a string"
                                             : "a string");
    const char *s = lua_tostring(L, r->i);
    gp_dtype dt = GP_f32;
    if (r->p->type == GP_SIG_dtype) {
        if (!gp_dtype_parse(s, &dt)) luaL_error(L, "%s: %s", r->op->name, gp_error());
        *v = (gp_value){.kind = GP_DTYPE, .i = dt};
    } else if (r->p->type == GP_SIG_device) {
        *v = (gp_value){.kind = GP_DEVICE, .dev = gp_device_get(s)};
        if (!v->dev) luaL_error(L, "%s: %s", r->op->name, gp_error());
    } else {
        *v = (gp_value){.kind = GP_STR, .s = gp_lua_intern(s)};
        if (!v->s) luaL_error(L, "out of memory");
    }
    r->c->nargs++;
}

static void read_tensor(const reading *r) {
    gp_tensor *t = gp_lua_totensor(r->L, r->i);
    if (!t) bad(r, "a tensor");
    gp_call_tensor(r->c, t);
}

static void read_operand(const reading *r) {
    gp_tensor *t = gp_lua_totensor(r->L, r->i);
    gp_scalar s;
    if (t) gp_call_tensor(r->c, t);
    else if (add_bool(r)) return;
    else if (to_number(r, r->i, &s)) add_number(r->c, s);
    else bad(r, "a tensor or a number");
}

/* Reads one argument that is there; returns how many stack places it took. */
static int read_arg(const reading *r, int last) {
    gp_scalar s;
    int64_t i = 0;
    gp_value *v = &r->c->arg[r->c->nargs];
    switch ((gp_sig_type)r->p->type) {
    case GP_SIG_tensor: read_tensor(r); break;
    case GP_SIG_operand: read_operand(r); break;
    case GP_SIG_tensors: read_tensors(r); break;
    case GP_SIG_number:
        if (add_bool(r)) break;
        if (!to_number(r, r->i, &s)) bad(r, "a number");
        add_number(r->c, s);
        break;
    case GP_SIG_float:
        if (!to_number(r, r->i, &s)) bad(r, "a number");
        *v = (gp_value){.kind = GP_FLOAT, .f = s.is_float ? s.f : (double)s.i};
        r->c->nargs++;
        break;
    case GP_SIG_int:
    case GP_SIG_dim:
        if (!to_int(r, r->i, &i)) bad(r, "an integer");
        gp_call_int(r->c, i);
        break;
    case GP_SIG_bool:
        if (lua_type(r->L, r->i) != LUA_TBOOLEAN) bad(r, "true or false");
        *v = (gp_value){.kind = GP_BOOL, .i = lua_toboolean(r->L, r->i)};
        r->c->nargs++;
        break;
    case GP_SIG_dims:
    case GP_SIG_shape:
    case GP_SIG_ints: return read_ints(r, last);
    case GP_SIG_padding:
        if (lua_type(r->L, r->i) != LUA_TSTRING) return read_ints(r, last);
        read_name(r);
        break;
    default: read_name(r); break;
    }
    return 1;
}

static void read_default(lua_State *L, const gp_op *op, const gp_param *p, int number, gp_call *c) {
    gp_value *v = &c->arg[c->nargs];
    if (!p->has_default) {
        if (!p->optional)
            luaL_error(L, "%s: argument '%s' (#%d): expected %s, got nothing", op->name, p->name,
                       number,
                       p->type == GP_SIG_operand ? "tensor or number"
                                                 : gp_sig_type_name((gp_sig_type)p->type));
        gp_call_none(c);
        return;
    }
    switch ((gp_sig_type)p->type) {
    case GP_SIG_float: *v = (gp_value){.kind = GP_FLOAT, .f = p->number}; break;
    case GP_SIG_bool: *v = (gp_value){.kind = GP_BOOL, .i = p->number != 0}; break;
    case GP_SIG_str: *v = (gp_value){.kind = GP_STR, .s = p->text}; break;
    case GP_SIG_number:
    case GP_SIG_operand:
        if (p->number == floor(p->number))
            *v = (gp_value){.kind = GP_NUMBER, .i = (int64_t)p->number};
        else *v = (gp_value){.kind = GP_NUMBER, .is_float = true, .f = p->number};
        break;
    case GP_SIG_dims:
    case GP_SIG_shape:
    case GP_SIG_padding:
    case GP_SIG_ints: gp_call_ints(c, &(int64_t){(int64_t)p->number}, 1); return;
    default: *v = (gp_value){.kind = GP_INT, .i = (int64_t)p->number}; break;
    }
    c->nargs++;
}

/* A last argument that is a table with names in it, and not a list that the signature asks for. */
static bool has_options(lua_State *L, int top) {
    if (top < 1 || lua_type(L, top) != LUA_TTABLE || lua_getmetatable(L, top)) return false;
    if (lua_rawlen(L, top)) return false;
    lua_pushnil(L);
    if (!lua_next(L, top)) return false;
    bool named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    return named;
}

static void check_options(lua_State *L, const gp_op *op, const gp_sig *sig, int table, int given) {
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        int k = 0;
        while (key && k < sig->n && strcmp(sig->p[k].name, key)) k++;
        if (key && k < sig->n && k >= given) continue;
        if (key && k < given)
            luaL_error(L, "%s: '%s' is given twice, as argument #%d and as an option", op->name,
                       key, k + 1);
        luaL_Buffer b;
        luaL_buffinit(L, &b);
        for (int j = given; j < sig->n; j++)
            luaL_addstring(&b, j > given ? ", " : ""), luaL_addstring(&b, sig->p[j].name);
        luaL_pushresult(&b);
        luaL_error(L, "%s: unknown option '%s' (expected %s)", op->name, key ? key : "?",
                   lua_tostring(L, -1));
    }
}

static void read_args(lua_State *L, const gp_op *op, gp_call *c) {
    const gp_sig *sig = signature(L, op);
    int top = lua_gettop(L), options = has_options(L, top) ? top : 0,
        last = options ? top - 1 : top, at = 1, k = 0;
    luaL_checkstack(L, 2 * sig->n + 8, op->name);
    for (; k < sig->n && at <= last; k++) {
        const gp_param *p = &sig->p[k];
        if (lua_isnil(L, at) && (p->optional || p->has_default)) {
            read_default(L, op, p, k + 1, c);
            at++;
            continue;
        }
        reading r = {.L = L, .op = op, .c = c, .p = p, .i = at, .number = at};
        at += read_arg(&r, last);
    }
    if (at <= last)
        luaL_error(L, "%s: %d arguments given, at most %d expected: %s(%s)", op->name, last, sig->n,
                   op->name, op->sig);
    if (options) check_options(L, op, sig, options, k);
    for (; k < sig->n; k++) {
        const gp_param *p = &sig->p[k];
        if (!options || lua_getfield(L, options, p->name) == LUA_TNIL) {
            read_default(L, op, p, k + 1, c);
            continue;
        }
        reading r = {.L = L, .op = op, .c = c, .p = p, .i = lua_gettop(L)};
        read_arg(&r, 0); /* the value stays on the stack and so alive */
    }
}

/* Two operands, the case worth being quick about. False: not that simple. */
static bool quick_operand(lua_State *L, int i, gp_value *v) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (t) {
        v->kind = GP_TENSOR;
        v->written = false;
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

static bool quick_args(lua_State *L, const gp_op *op, gp_call *c) {
    int n = op->ntensors;
    if (n == 0 || op->kind == GP_PARAM || lua_gettop(L) != n) return false;
    for (int i = 0; i < n; i++)
        if (!quick_operand(L, i + 1, &c->arg[i])) return false;
    if (op->kind == GP_UNARY && c->arg[0].kind != GP_TENSOR) return false;
    c->nargs = n;
    return true;
}

/* Boxes come before the op runs, so that Lua running out of memory loses no tensor. Upvalues: op,
 * metatable. */
static gp_box *new_box(lua_State *L) {
    gp_box *b = lua_newuserdatauv(L, sizeof *b, 0);
    b->tag = &gp_box_tag;
    b->t = NULL;
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setmetatable(L, -2);
    return b;
}

static int push_results(lua_State *L, gp_call *c, gp_box *box) {
    box->t = c->out[0];
    int n = c->nout;
    if (n > 1) {
        gp_tensor *rest[GP_MAX_OUT];
        memcpy(rest, c->out, sizeof rest);
        for (int i = 1; i < n; i++) gp_lua_push(L, rest[i]);
    }
    if (box->t->storage->refs == 1) gp_lua_charge(L, box->t->storage);
    return n;
}

static int l_op(lua_State *L) {
    const gp_op *op = lua_touserdata(L, lua_upvalueindex(1));
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    if (!quick_args(L, op, &c)) {
        c.nargs = 0;
        read_args(L, op, &c);
    }
    gp_box *box = new_box(L);
    if (!gp_op_run(&c)) return gp_lua_raise(L);
    return push_results(L, &c, box);
}

static int l_op_in_place(lua_State *L) {
    const gp_op *op = lua_touserdata(L, lua_upvalueindex(1));
    gp_call c;
    gp_call_begin(&c, op);
    gp_lua_enter(L);
    read_args(L, op, &c);
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

/* Sets field name of the table at t; a name like linalg_svd goes into its subtable. */
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
    for (int i = 0; i < GP_OPS; i++) add_op(L, module, module + 1, &gp_ops[i]);
    lua_pop(L, 1);
}
