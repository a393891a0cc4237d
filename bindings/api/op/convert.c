/* Between Lua values and tensors: tensor(value, options) and x:tolist(). A nested table is walked
 * twice: a survey finds the shape and the dtype and refuses tables that are not rectangular, naming
 * the element; then the numbers are stored, each checked against the dtype. tolist copies once,
 * with one wait, whatever the size. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/entries.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "profile/record/record.h"
#include "tensor/autograd/tape.h"
#include "tensor/device/card/card.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/form.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"
#include "tensor/infer.h"

/* ---- survey of a nested table ---- */

typedef struct survey {
    lua_State *L;
    gp_shape shape;         /* of the tables so far */
    int leaf;               /* depth of the values; -1: none seen */
    int64_t at[GP_MAX_DIM]; /* the current position, from 1 */
    bool boolean, integer, real, tensor;
    int64_t tensors;
} survey;

/* "element [2][1]", or "the value" at depth 0. */
static const char *path_of(const survey *s, int depth, char buf[200]) {
    int n = snprintf(buf, 200, depth ? "element " : "the value");
    for (int i = 0; i < depth; i++)
        n += snprintf(buf + n, 200 - (size_t)n, "[%lld]", (long long)s->at[i]);
    return buf;
}

/* "a number", "a table of 3 elements" … for the value at the top. */
static const char *describe(lua_State *L) {
    int type = lua_type(L, -1);
    if (gp_lua_totensor(L, -1)) return "a tensor";
    if (type == LUA_TTABLE)
        return lua_pushfstring(L, "a table of %I", (LUAI_UACINT)lua_rawlen(L, -1));
    return type == LUA_TNIL ? "nil" : lua_pushfstring(L, "a %s", lua_typename(L, type));
}

/* Raises; names the element's place. */
static void unexpected(const survey *s, int depth, const char *expected) {
    char buf[200];
    luaL_error(s->L, "tensor: %s is %s (expected %s)", path_of(s, depth, buf), describe(s->L),
               expected);
}

/* Raises for a table at the top whose metamethods show more than the n elements it holds itself:
 * those would be left out without a word. */
static void refuse_proxy(const survey *s, int depth, int64_t n) {
    lua_State *L = s->L;
    char buf[200];
    int top = lua_gettop(L);
    if (!lua_getmetatable(L, -1)) return;
    lua_pop(L, 1);
    int64_t shown = luaL_len(L, -1);
    if (shown == n && lua_geti(L, -1, n + 1) != LUA_TNIL) shown = n + 1;
    if (shown != n)
        luaL_error(L,
                   "tensor: %s holds %I elements itself and shows %I through metamethods; copy "
                   "them into a plain table",
                   path_of(s, depth, buf), (LUAI_UACINT)n, (LUAI_UACINT)shown);
    lua_settop(L, top);
}

/* A table at this depth: the first one gives the size of all. */
static void count_table(survey *s, int depth) {
    lua_State *L = s->L;
    int64_t n = (int64_t)lua_rawlen(L, -1);
    refuse_proxy(s, depth, n);
    if (depth == s->leaf)
        unexpected(s, depth, s->tensor ? "a tensor as before it" : "a value as before it");
    if (depth == GP_MAX_DIM) unexpected(s, depth, "at most 8 levels of tables");
    if (depth == s->shape.ndim) s->shape.dim[s->shape.ndim++] = n;
    if (n == s->shape.dim[depth]) return;
    char expected[60];
    snprintf(expected, sizeof expected, "%lld elements as in those before it",
             (long long)s->shape.dim[depth]);
    unexpected(s, depth, expected);
}

/* The value at the top, which is not a table. */
static void count_leaf(survey *s, int depth) {
    lua_State *L = s->L;
    if (depth < s->shape.ndim) unexpected(s, depth, "a table as before it");
    s->leaf = depth;
    int type = lua_type(L, -1);
    if (gp_lua_totensor(L, -1)) s->tensor = true, s->tensors++;
    else if (type == LUA_TBOOLEAN) s->boolean = true;
    else if (type != LUA_TNUMBER) unexpected(s, depth, "a number, a boolean or a tensor");
    else if (lua_isinteger(L, -1)) s->integer = true;
    else s->real = true;
    if (s->boolean + (s->integer || s->real) + s->tensor > 1)
        unexpected(s, depth, "numbers, booleans or tensors, not a mixture of them");
}

/* Walks the value at the top, by raw access. */
static void look(survey *s, int depth) {
    lua_State *L = s->L;
    if (lua_type(L, -1) != LUA_TTABLE) {
        count_leaf(s, depth);
        return;
    }
    count_table(s, depth);
    for (int64_t i = 1; i <= s->shape.dim[depth]; i++) {
        s->at[depth] = i;
        gp_lua_may_stop(L, i);
        lua_rawgeti(L, -1, i);
        look(s, depth + 1);
        lua_pop(L, 1);
    }
    if (!gp_lua_only_entries(L, -1, s->shape.dim[depth], "tensor", "value")) gp_lua_raise(L);
}

/* ---- numbers and booleans into memory ---- */

typedef struct filling {
    survey *s;
    gp_dtype dtype;
    char *to;
    gp_tensor **list; /* instead of memory, where tensors are collected */
} filling;

/* Whether the number fits the integer dtype. Fractions are truncated, as in x:to(). */
static bool fits(gp_dtype dt, gp_scalar v) {
    int bits = 8 * (int)gp_dtype_size(dt) - (dt != GP_u8);
    double low = dt == GP_u8 ? 0 : -ldexp(1, bits);
    if (gp_dtype_kind(dt) != GP_KIND_INT) return true;
    if (v.is_float) return trunc(v.f) >= low && trunc(v.f) < ldexp(1, bits);
    if (dt == GP_i64) return true;
    return v.i >= (int64_t)low && v.i < (int64_t)1 << bits;
}

/* Stores the value at the top as the next element; raises where the dtype cannot hold it. */
static void store(filling *f, int depth) {
    lua_State *L = f->s->L;
    gp_scalar v = {.i = 0};
    if (f->list) {
        *f->list++ = gp_lua_totensor(L, -1);
        return;
    }
    if (lua_type(L, -1) == LUA_TBOOLEAN) v.i = lua_toboolean(L, -1);
    else if (lua_isinteger(L, -1)) v.i = lua_tointeger(L, -1);
    else v = (gp_scalar){.is_float = true, .f = lua_tonumber(L, -1)};
    if (!fits(f->dtype, v)) {
        char buf[200];
        luaL_error(L, "tensor: %s, %s, does not fit in %s", path_of(f->s, depth, buf),
                   luaL_tolstring(L, -1, NULL), gp_dtype_name(f->dtype));
    }
    gp_scalar_store(f->dtype, f->to, v);
    f->to += gp_dtype_size(f->dtype);
}

static void fill(filling *f, int depth) {
    lua_State *L = f->s->L;
    if (depth == f->s->shape.ndim) {
        store(f, depth);
        return;
    }
    for (int64_t i = 1; i <= f->s->shape.dim[depth]; i++) {
        /* A finalizer that ran since the survey may have changed the table. */
        if (lua_type(L, -1) != LUA_TTABLE) unexpected(f->s, depth, "a table as before");
        f->s->at[depth] = i;
        gp_lua_may_stop(L, i);
        lua_rawgeti(L, -1, i);
        fill(f, depth + 1);
        lua_pop(L, 1);
    }
}

/* ---- tensor() ---- */

/* The row of a record for the time in which a table is read. */
typedef struct reading {
    gp_call call;
    bool open, read;
} reading;

static void end_reading(void *owner) {
    reading *r = owner;
    void (*end)(gp_call *, bool) = GP_HOOK(op_end);
    if (r->open && end) end(&r->call, r->read);
    r->open = false;
}

/* Begins a row "tensor", which ends with end_reading, or where the C function that called this
 * raises; NULL: nothing is recorded. */
static reading *begin_reading(lua_State *L) {
    static const gp_op op = {.name = "tensor", .kind = GP_FUNCTION};
    static const gp_owner_type type = {"gpush.reading", end_reading};
    void (*begin)(gp_call *) = GP_HOOK(op_begin);
    if (!begin) return NULL;
    reading *r = gp_lua_push_owner(L, &type, sizeof *r);
    lua_toclose(L, -1);
    gp_call_begin(&r->call, &op);
    r->call.id = gp_next_id();
    r->open = true;
    begin(&r->call);
    return r;
}

/* Ends it once the table is read; NULL is fine. */
static void finish_reading(reading *r) {
    if (!r) return;
    r->read = true;
    end_reading(r);
}

typedef struct wanted {
    bool has_dtype, requires_grad;
    gp_dtype dtype;
    gp_device *dev; /* NULL: not given */
} wanted;

/* Reads the arguments dtype, device and requires_grad, from 2 on; their names were checked. */
static wanted read_options(lua_State *L) {
    wanted w = {.dtype = gp_default_dtype, .requires_grad = lua_toboolean(L, 4)};
    if (!lua_isnoneornil(L, 2)) w.has_dtype = gp_dtype_parse(lua_tostring(L, 2), &w.dtype);
    if (!lua_isnoneornil(L, 3)) w.dev = gp_device_get(lua_tostring(L, 3));
    return w;
}

/* Converts the tensor at the top to what `w` asks for; a new reference to the same one where
 * nothing changes. form: of a wait for it (form.h). */
static void convert(lua_State *L, const wanted *w, const char *form) {
    gp_tensor *t = gp_lua_totensor(L, -1);
    gp_call c;
    gp_call_begin(&c, GP_OP(to));
    gp_call_tensor(&c, t);
    c.arg[c.nargs++] = (gp_value){.kind = w->dev ? GP_DEVICE : GP_NONE, .dev = w->dev};
    c.arg[c.nargs++] = (gp_value){.kind = w->has_dtype ? GP_DTYPE : GP_NONE, .i = w->dtype};
    form = gp_wait_form_set(form);
    t = gp_call_one(&c);
    gp_wait_form_set(form);
    gp_lua_push(L, t);
    lua_remove(L, -2);
}

/* tensor(t): a copy that shares neither memory nor history. */
static void from_tensor(lua_State *L, gp_tensor *t, const wanted *w) {
    gp_call c;
    gp_call_begin(&c, GP_OP(detach));
    gp_call_tensor(&c, t);
    gp_lua_push(L, gp_call_one(&c));
    convert(L, w, NULL);
    gp_tensor *same = gp_lua_totensor(L, -1);
    if (same->storage != t->storage) return;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, same);
    gp_lua_push(L, gp_call_one(&c));
}

/* Stacks a table of tensors, which is at the top; nested tables add a dim each. */
static void from_tensors(lua_State *L, survey *s, const wanted *w) {
    gp_tensor **list = lua_newuserdatauv(L, (size_t)s->tensors * sizeof *list, 0);
    lua_insert(L, -2);
    filling f = {.s = s, .list = list};
    fill(&f, 0);
    for (int64_t i = 0; i < s->tensors; i++)
        if (!list[i]) luaL_error(L, "tensor: the table changed while it was read");
    gp_call c;
    gp_call_begin(&c, GP_OP(stack));
    c.arg[c.nargs++] = (gp_value){.kind = GP_LIST, .n = (int32_t)s->tensors, .list = list};
    gp_call_int(&c, 1);
    gp_lua_push(L, gp_call_one(&c));
    if (s->shape.ndim > 1) {
        gp_tensor *flat = gp_lua_totensor(L, -1);
        int64_t dims[2 * GP_MAX_DIM];
        int n = 0;
        for (int i = 0; i < s->shape.ndim; i++) dims[n++] = s->shape.dim[i];
        for (int i = 1; i < flat->a.ndim; i++) dims[n++] = flat->a.dim[i];
        gp_call_begin(&c, GP_OP(reshape));
        gp_call_tensor(&c, flat);
        gp_call_ints(&c, dims, n);
        gp_lua_push(L, gp_call_one(&c));
    }
    convert(L, w, NULL);
}

static void from_numbers(lua_State *L, survey *s, wanted *w, reading *row) {
    if (!w->has_dtype) {
        if (s->boolean) w->dtype = GP_bool;
        else if (s->integer && !s->real) w->dtype = GP_i64;
    }
    gp_tensor *t = gp_tensor_new_host(w->dtype, &s->shape);
    gp_lua_push(L, t);
    lua_insert(L, -2);
    filling f = {.s = s, .dtype = w->dtype, .to = t->a.data};
    fill(&f, 0);
    gp_clock_work(gp_host_times(GP_HOST_value, (double)t->a.numel));
    lua_pop(L, 1);
    finish_reading(row);
    if (!w->dev) w->dev = gp_default_device;
    if (w->dev && w->dev != gp_device_cpu()) convert(L, w, "literal");
}

/* tensor(value, {dtype=, device=, requires_grad=}): value is a number, a boolean, a tensor, or
   tables of them, nested to 8 levels. Without dtype: booleans give bool, integers i64, anything
   else the default dtype. */
static int l_tensor(lua_State *L) {
    survey s = {.L = L, .leaf = -1};
    wanted w = read_options(L);
    lua_settop(L, 1);
    luaL_checkstack(L, GP_MAX_DIM + 20, "tensor");
    gp_lua_enter(L);
    if (gp_lua_totensor(L, 1)) {
        from_tensor(L, gp_lua_totensor(L, 1), &w);
    } else {
        reading *row = lua_istable(L, 1) ? begin_reading(L) : NULL;
        lua_pushvalue(L, 1);
        look(&s, 0);
        if (s.tensor) finish_reading(row), from_tensors(L, &s, &w);
        else from_numbers(L, &s, &w, row);
    }
    gp_tensor *t = gp_lua_totensor(L, -1);
    if (w.requires_grad && !gp_is_float((gp_dtype)t->a.dtype))
        return luaL_error(L, "tensor: requires_grad with dtype %s (expected a float)",
                          gp_dtype_name((gp_dtype)t->a.dtype));
    if (w.requires_grad && !gp_tensor_set_requires_grad(t, true)) return gp_lua_raise(L);
    return 1;
}

/* ---- tolist ---- */

const gp_tensor *gp_lua_host(lua_State *L, gp_tensor *x, gp_why why, const char *what) {
    if (!gp_at(GP_AT_READ, what, NULL)) return gp_lua_raise(L), NULL;
    if (x->a.contiguous && gp_tensor_device(x)->vt->on_host && !x->storage->last_writer) {
        gp_host_reads(x->storage->dev, why, what);
        lua_pushnil(L);
        return x;
    }
    gp_lua_enter(L);
    gp_tensor *host = gp_to_host(x, why, what);
    gp_lua_push(L, host);
    return host;
}

static void push_element(lua_State *L, gp_dtype dt, const char *p) {
    gp_scalar v = gp_scalar_load(dt, p);
    if (v.is_float) lua_pushnumber(L, v.f);
    else if (dt == GP_bool) lua_pushboolean(L, v.i != 0);
    else lua_pushinteger(L, v.i);
}

static const char *push_nested(lua_State *L, const gp_array *a, int depth, const char *p) {
    if (depth == a->ndim) {
        push_element(L, (gp_dtype)a->dtype, p);
        return p + gp_dtype_size((gp_dtype)a->dtype);
    }
    lua_createtable(L, a->dim[depth] < INT32_MAX ? (int)a->dim[depth] : INT32_MAX, 0);
    for (int64_t i = 1; i <= a->dim[depth]; i++) {
        gp_lua_may_stop(L, i);
        p = push_nested(L, a, depth + 1, p);
        lua_rawseti(L, -2, i);
    }
    return p;
}

/* x:tolist(): nested tables of numbers or booleans; a 0-d tensor gives its number. One wait, in the
 * name of the composite that reads. */
static int l_tolist(lua_State *L) {
    gp_tensor *x = gp_lua_check(L, 1, "tolist");
    bool plain = gp_tensor_device(x)->vt->on_host && !gp_prof_running();
    const gp_op *by = plain ? NULL : gp_lua_composite_called(L);
    const char *what = by ? by->name : "tolist";
    luaL_checkstack(L, GP_MAX_DIM + 4, "tolist");
    const gp_tensor *host = x->a.numel ? gp_lua_host(L, x, GP_WHY_tolist, what) : x;
    push_nested(L, &host->a, 0, host->a.data);
    gp_clock_work(gp_host_times(GP_HOST_listed, (double)x->a.numel));
    return 1;
}

static gp_dtype check_dtype(lua_State *L, int index) {
    gp_dtype dt;
    if (!gp_dtype_parse(lua_tostring(L, index), &dt)) gp_lua_raise(L);
    return dt;
}

/* promote_types(a, b): the dtype of an op on tensors of both. */
static int l_promote_types(lua_State *L) {
    gp_dtype a = check_dtype(L, 1), b = check_dtype(L, 2);
    lua_pushstring(L, gp_dtype_name(gp_dtype_promote(a, b)));
    return 1;
}

void gp_lua_open_convert(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"promote_types", "dtype dtype1, dtype dtype2", l_promote_types},
        {"tensor", "value value, dtype? dtype, device? device, bool? requires_grad", l_tensor},
        {NULL, NULL, NULL}};
    static const gp_lua_function methods[] = {{"tolist", "self tensor", l_tolist},
                                              {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    gp_lua_set_functions(L, methods);
    lua_pop(L, 1);
}
