/* cuda.kernel's part in C: builds a kernel from text that scripts/lua/kernel/cuda.lua has prepared,
 * and queues its calls, whose arguments are checked by the kernel's own parameters. */
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/module.h"
#include "kernels/common/simt/simt.h"
#include "tensor/autograd/grad.h"
#include "tensor/base/intern.h"
#include "tensor/intercept.h"
#include "tensor/memory/alloc.h"
#include "tensor/ops/simt.h"

/* ---- building ---- */

static const char *field_text(lua_State *L, int t, const char *key) {
    lua_getfield(L, t, key);
    const char *s = lua_isstring(L, -1) ? gp_intern_text(lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return s;
}

static int64_t field_int(lua_State *L, int t, const char *key) {
    lua_getfield(L, t, key);
    int64_t i = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : lua_tointeger(L, -1);
    lua_pop(L, 1);
    return i;
}

/* A parameter from the table on top of the stack. */
static gp_simt_param param(lua_State *L) {
    int t = lua_gettop(L);
    const char *dtype = field_text(L, t, "dtype");
    gp_dtype dt;
    return (gp_simt_param){.name = field_text(L, t, "name"),
                           .type = field_text(L, t, "text"),
                           .pointer = field_int(L, t, "pointer"),
                           .constant = field_int(L, t, "const"),
                           .kind = (uint8_t)field_int(L, t, "kind"),
                           .size = (uint8_t)field_int(L, t, "size"),
                           .dtype = dtype && gp_dtype_parse(dtype, &dt) ? (int)dt : -1};
}

enum { MOST_KERNELS = 256 }; /* of a text */
enum { GRID = 7 };           /* values of a launch before its numbers */

/* Whether a call has room for them, and for a value that tells of the module's variables. */
static bool few_enough(const gp_simt_source *s, const gp_simt_module *m) {
    int pointers = 0, most = GP_MAX_INTS - GRID - (gp_simt_variables(m) > 0);
    for (int i = 0; i < s->nparams; i++) pointers += s->param[i].pointer;
    return (pointers <= GP_SIMT_TENSORS && s->nparams - pointers <= most) ||
           gp_fail("%s: %d pointers and %d numbers (expected at most %d and %d)", s->name, pointers,
                   s->nparams - pointers, GP_SIMT_TENSORS, most);
}

static gp_simt_text text_of(lua_State *L) {
    lua_getfield(L, 1, "text");
    return (gp_simt_text){.name = field_text(L, 1, "name"),
                          .text = luaL_checkstring(L, -1),
                          .file = field_text(L, 1, "file"),
                          .line = (int)field_int(L, 1, "line"),
                          .checked = field_int(L, 1, "checked"),
                          .counted = field_int(L, 1, "counted"),
                          .cxx = field_int(L, 1, "cxx"),
                          .half = field_int(L, 1, "half"),
                          .only_found = field_int(L, 1, "only_found"),
                          .nglobals = (int)field_int(L, 1, "nglobals"),
                          .constants = (uint64_t)field_int(L, 1, "constants")};
}

/* build{name =, text =, file =, line =, checked =, counted =, cxx =, only_found =, nglobals =,
 * constants =}: a module and the bytes of its shared memory; nil: it is not on disk; nil and what
 * the compiler says of the text. */
static int l_build(lua_State *L) {
    gp_simt_outcome outcome;
    luaL_checktype(L, 1, LUA_TTABLE);
    gp_simt_text t = text_of(L);
    gp_simt_module *m = gp_simt_build(&t, &outcome);
    if (outcome == GP_SIMT_ABSENT) return lua_pushnil(L), 1;
    if (outcome == GP_SIMT_REFUSED) return lua_pushnil(L), lua_pushstring(L, gp_error()), 2;
    if (!m) return gp_lua_raise(L);
    lua_pushlightuserdata(L, m);
    lua_pushinteger(L, (lua_Integer)gp_simt_static_shared(m));
    return 2;
}

/* add(module, i, {name =, params...}): the number of the kernel that is its entry i. */
static int l_add(lua_State *L) {
    gp_simt_source s = {.name = field_text(L, 3, "name"), .nparams = (int)lua_rawlen(L, 3)};
    if (s.nparams > GP_SIMT_PARAMS)
        return luaL_error(L, "%s: more than %d parameters", s.name, GP_SIMT_PARAMS);
    for (int i = 0; i < s.nparams; i++) {
        lua_rawgeti(L, 3, i + 1);
        s.param[i] = param(L);
        lua_pop(L, 1);
    }
    gp_simt_module *m = lua_touserdata(L, 1);
    if (!few_enough(&s, m)) return gp_lua_raise(L);
    gp_simt_kernel *k = gp_simt_add(m, (int)luaL_checkinteger(L, 2), &s);
    if (!k) return gp_lua_raise(L);
    return lua_pushinteger(L, gp_simt_number(k)), 1;
}

/* card{name =, text =, nglobals =, constants =, nkernels =, expressions...}: a module for cards. */
static int l_card(lua_State *L) {
    const char *expression[GP_SIMT_VARIABLES + MOST_KERNELS];
    gp_simt_text t = text_of(L);
    int nkernels = (int)field_int(L, 1, "nkernels"), n = (int)lua_rawlen(L, 1);
    if (n != nkernels + t.nglobals || nkernels > MOST_KERNELS)
        return luaL_error(L, "%s: more than %d kernels", t.name, MOST_KERNELS);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        expression[i] = gp_intern_text(luaL_checkstring(L, -1));
        lua_pop(L, 1);
    }
    gp_simt_module *m = gp_simt_card(&t, nkernels, expression);
    if (!m) return gp_lua_raise(L);
    return lua_pushlightuserdata(L, m), 1;
}

/* prepare(number, tensor): compiles the kernel for the tensor's device. Its registers, bytes of
 * local and of shared memory, and the block that fills the device best; or nil and what the
 * compiler says. */
static int l_prepare(lua_State *L) {
    gp_simt_kernel *k = gp_simt_kernel_of(luaL_checkinteger(L, 1));
    const gp_tensor *t = gp_lua_totensor(L, 2);
    gp_card_info info = {.log = NULL};
    if (!k || !t) return luaL_error(L, "no such kernel, or tensor");
    gp_device *dev = t->storage->dev;
    const char *name = gp_simt_source_of(k)->name;
    bool ok = gp_card_prepare(dev, gp_simt_card_of(k), &info);
    if (!ok && !info.log) {
        gp_fail("%s: %s", name, gp_error());
        return gp_lua_raise(L);
    }
    if (!ok) {
        lua_pushnil(L), lua_pushstring(L, info.log);
        free(info.log);
        return 2;
    }
    lua_pushinteger(L, info.registers), lua_pushinteger(L, info.local);
    lua_pushinteger(L, info.shared), lua_pushinteger(L, info.block);
    return 4;
}

/* The block on that device. To sim it waits for nothing. */
static gp_tensor *new_block(gp_simt_module *m, bool read, const gp_shape *shape, gp_device *dev) {
    gp_tensor *host = gp_tensor_new_host(GP_u8, shape);
    if (!host) return NULL;
    gp_simt_first_values(m, read, host->a.data);
    host->storage->pinned = !strcmp(dev->vt->kind, "sim");
    gp_tensor *t = gp_to_device(host, dev, true, GP_WHY_copy, "kernel");
    gp_tensor_unref(host);
    return t;
}

/* block(module, read, tensor): the first values of its variables that kernels only read, or of the
 * others, as bytes on the tensor's device; nil: there are none. */
static int l_block(lua_State *L) {
    gp_simt_module *m = lua_touserdata(L, 1);
    bool read = lua_toboolean(L, 2);
    const gp_tensor *x = gp_lua_totensor(L, 3);
    gp_shape shape = {.ndim = 1, .dim = {(int64_t)gp_simt_block_bytes(m, read)}};
    if (!x || !shape.dim[0]) return 0;
    gp_lua_enter(L);
    gp_interceptor *list = gp_intercepting;
    gp_intercepting = NULL; /* it is no part of what the script does, which they record */
    gp_tensor *t = new_block(m, read, &shape, x->storage->dev);
    gp_intercepting = list;
    return t ? gp_lua_push(L, t) : gp_lua_raise(L);
}

/* variable(module, i, dtype, block): variable i in its block as a tensor of one dim; nil where its
 * size is no multiple of the dtype's. */
static int l_variable(lua_State *L) {
    size_t bytes;
    gp_dtype dt;
    size_t at = gp_simt_in_block(lua_touserdata(L, 1), (int)luaL_checkinteger(L, 2), &bytes);
    const gp_tensor *block = gp_lua_totensor(L, 4);
    if (!gp_dtype_parse(luaL_checkstring(L, 3), &dt) || bytes % gp_dtype_size(dt)) return 0;
    gp_shape shape = {.ndim = 1, .dim = {(int64_t)(bytes / gp_dtype_size(dt))}};
    gp_tensor *t = block ? gp_tensor_wrap(gp_storage_ref(block->storage), dt, &shape) : NULL;
    if (!t) return gp_lua_raise(L);
    t->a.data = block->a.data + at;
    return gp_lua_push(L, t);
}

/* ---- calls ---- */

static bool is_tensor(const gp_simt_source *s, int i, gp_tensor *t) {
    const gp_simt_param *p = &s->param[i];
    char text[160];
    if (p->dtype >= 0 && t->a.dtype != p->dtype)
        return gp_fail("%s: argument %d '%s' is %s, the kernel takes %s; %s:to '%s' converts",
                       s->name, i + 1, p->name, gp_dtype_name((gp_dtype)t->a.dtype), p->type,
                       p->name, gp_dtype_name((gp_dtype)p->dtype));
    if (!t->a.contiguous)
        return gp_fail("%s: argument %d '%s' is a view of %s that is not contiguous, and %s is a "
                       "plain address; %s:contiguous() makes a copy",
                       s->name, i + 1, p->name, gp_tensor_text(t, text, sizeof text), p->type,
                       p->name);
    if (t->requires_grad && !gp_no_grad)
        return gp_fail("%s: argument %d '%s' requires grad, and a kernel has no derivative; pass "
                       "%s:detach(), or call it within no_grad",
                       s->name, i + 1, p->name, p->name);
    return true;
}

/* Whether the integer v, of Lua, is one of the parameter's type. */
static bool fits(const gp_simt_param *p, int64_t v) {
    int bits = 8 * p->size;
    if (p->kind == GP_SIMT_UNSIGNED)
        return bits == 64 || (v >= 0 && (uint64_t)v < (uint64_t)1 << bits);
    return bits == 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

/* The bits of argument i, a number at that index of the stack. */
static bool number(lua_State *L, int index, const gp_simt_source *s, int i, int64_t *bits) {
    const gp_simt_param *p = &s->param[i];
    int whole = 1;
    bool real = p->kind == GP_SIMT_FLOAT || p->kind >= GP_SIMT_HALF;
    if (lua_isboolean(L, index) && !real) return *bits = lua_toboolean(L, index), true;
    if (lua_type(L, index) != LUA_TNUMBER)
        return gp_fail("%s: argument %d '%s': expected a number for %s, got %s", s->name, i + 1,
                       p->name, p->type,
                       gp_lua_totensor(L, index) ? "a tensor" : gp_lua_type_text(L, index));
    double d = lua_tonumber(L, index);
    float f = (float)d;
    *bits = 0;
    if (p->kind == GP_SIMT_HALF) return *bits = gp_f32_to_f16(gp_f64_to_odd_f32(d)), true;
    if (p->kind == GP_SIMT_BFLOAT16) return *bits = gp_f32_to_bf16(gp_f64_to_odd_f32(d)), true;
    if (p->kind == GP_SIMT_FLOAT)
        return memcpy(bits, p->size == 4 ? (void *)&f : (void *)&d, p->size), true;
    *bits = lua_tointegerx(L, index, &whole);
    if (!whole || !fits(p, *bits))
        return gp_fail("%s: argument %d '%s': %.17g is no %s", s->name, i + 1, p->name, d, p->type);
    return true;
}

typedef struct arguments {
    gp_device *dev; /* of the first tensor, */
    const char *of; /* which is this parameter's */
    int n[2];       /* tensors: those that are written, those that are read */
    gp_tensor *list[2][GP_SIMT_TENSORS + 1];
    int nvalues;
    int64_t value[GP_MAX_INTS];
} arguments;

/* Whether argument i is on the device of those before it. */
static bool is_there(const gp_simt_source *s, int i, const gp_tensor *t, arguments *a) {
    if (!a->dev) a->dev = t->storage->dev, a->of = s->param[i].name;
    return a->dev == t->storage->dev ||
           gp_fail("%s: argument %d '%s' is on %s, '%s' on %s (expected the same)", s->name, i + 1,
                   s->param[i].name, t->storage->dev->name, a->of, a->dev->name);
}

/* Sorts the arguments from that index of the stack on. False with a message. */
static bool sort_arguments(lua_State *L, int first, const gp_simt_source *s, arguments *a) {
    for (int i = 0; i < s->nparams; i++) {
        const gp_simt_param *p = &s->param[i];
        gp_tensor *t = gp_lua_totensor(L, first + i);
        if (!p->pointer) {
            if (!number(L, first + i, s, i, &a->value[a->nvalues++])) return false;
            continue;
        }
        if (!t)
            return gp_fail("%s: argument %d '%s': expected a tensor for %s, got %s", s->name, i + 1,
                           p->name, p->type, gp_lua_type_text(L, first + i));
        if (!is_tensor(s, i, t) || !is_there(s, i, t, a)) return false;
        a->list[p->constant][a->n[p->constant]++] = t;
    }
    return true;
}

/* Adds the blocks of variables that the table at that index has: which of them are in these, as
 * bits, the block of those that are written, and of those only read; or the tensor there, which no
 * parameter takes. */
static void add_globals(lua_State *L, int index, arguments *a) {
    gp_tensor *alone = gp_lua_totensor(L, index);
    if (alone) a->list[1][a->n[1]++] = alone;
    if (!lua_istable(L, index)) return;
    lua_rawgeti(L, index, 1);
    a->value[a->nvalues++] = lua_tointeger(L, -1);
    for (int read = 0; read < 2; read++) {
        lua_rawgeti(L, index, read + 2);
        gp_tensor *t = gp_lua_totensor(L, -1);
        if (t) a->list[read][a->n[read]++] = t;
    }
    lua_pop(L, 3);
}

static void add_list(gp_call *c, gp_tensor **list, int n) {
    c->arg[c->nargs++] = (gp_value){.kind = GP_LIST, .n = n, .list = list};
}

/* launch(number, gx, gy, gz, bx, by, bz, shared, variables, arguments...): queues it. variables: as
 * add_globals takes them; nil: none. */
static int l_launch(lua_State *L) {
    enum { FIXED = 9 };
    gp_simt_kernel *k = gp_simt_kernel_of(luaL_checkinteger(L, 1));
    arguments a = {.nvalues = GRID};
    gp_call c;
    if (!k) return luaL_error(L, "no such kernel");
    const gp_simt_source *s = gp_simt_source_of(k);
    int given = lua_gettop(L) - FIXED;
    gp_lua_enter(L);
    for (int i = 0; i < GRID; i++) a.value[i] = luaL_checkinteger(L, i + 2);
    if (given != s->nparams) {
        gp_fail("%s: expected %d arguments after grid and block, got %d", s->name, s->nparams,
                given);
        return gp_lua_raise(L);
    }
    if (!sort_arguments(L, FIXED + 1, s, &a)) return gp_lua_raise(L);
    add_globals(L, FIXED, &a);
    gp_call_begin(&c, GP_OP(kernel_launch));
    c.name = s->name;
    gp_call_int(&c, gp_simt_card_of(k) ? (int64_t)(intptr_t)gp_simt_card_of(k) : gp_simt_number(k));
    add_list(&c, a.list[0], a.n[0]);
    add_list(&c, a.list[1], a.n[1]);
    gp_call_ints(&c, a.value, a.nvalues);
    return gp_op_run(&c) ? 0 : gp_lua_raise(L);
}

/* ---- counts ---- */

static void set(lua_State *L, const char *key, uint64_t v) {
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, -2, key);
}

static void push_row(lua_State *L, const gp_count_row *r) {
    static const char *const kinds[] = {"read", "write", "atomic", "barrier", "branch"};
    lua_createtable(L, 0, 12);
    set(L, "line", (uint64_t)r->line);
    lua_pushstring(L, kinds[r->kind]);
    lua_setfield(L, -2, "kind");
    lua_pushboolean(L, r->shared);
    lua_setfield(L, -2, "shared");
    lua_pushstring(L, r->name);
    lua_setfield(L, -2, "name");
    set(L, "size", (uint64_t)r->size);
    set(L, "requests", r->requests);
    set(L, "lanes", r->lanes);
    set(L, "sectors", r->sectors);
    set(L, "least", r->least);
    set(L, "conflicts", r->conflicts);
    if (2 * r->even > r->pairs) set(L, "stride", (uint64_t)r->stride);
}

/* counts(number): a table of what the kernel's last counted launch cost, its rows in the list; nil:
 * none was counted. */
static int l_counts(lua_State *L) {
    const gp_simt_kernel *k = gp_simt_kernel_of(luaL_checkinteger(L, 1));
    gp_simt_counts c;
    if (!k) return luaL_error(L, "no such kernel");
    if (!gp_simt_last_counts(k, &c)) return lua_pushnil(L), 1;
    lua_createtable(L, c.nrows, 8);
    set(L, "blocks", c.blocks);
    set(L, "threads", c.threads);
    set(L, "accesses", c.accesses);
    set(L, "moved", c.moved);
    set(L, "least", c.least);
    set(L, "passes", c.passes);
    for (int i = 0; i < c.nrows; i++) {
        push_row(L, &c.row[i]);
        lua_rawseti(L, -2, i + 1);
    }
    free(c.row);
    return 1;
}

void gp_lua_open_simt(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"build", l_build},     {"add", l_add},       {"card", l_card},
        {"prepare", l_prepare}, {"block", l_block},   {"variable", l_variable},
        {"launch", l_launch},   {"counts", l_counts}, {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.simt");
}
