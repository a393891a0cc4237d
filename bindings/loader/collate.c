/* Collates samples into a batch without a collate function: see collate.h. The first sample
 * determines the shape of the batch (tensors are stacked, numbers become a tensor, texts a list,
 * tables a table of these) and its memory is allocated at once. Every worker then copies its
 * samples into their slots, which no other worker writes, so the copies need no lock. A sample that
 * differs from the first is an error that names both. */
#include "bindings/loader/collate.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/base/error.h"
#include "tensor/device/card/card.h"
#include "tensor/device/card/clock.h"
#include "tensor/infer.h"
#include "tensor/autograd/tape.h"

typedef enum kind { TENSOR, NUMBER, BOOLEAN, STRING, TABLE } kind;

/* A part of every sample: one of its values, or a field of a table in it. */
typedef struct part {
    kind kind;
    char *key; /* of a field: its name, or NULL and its number */
    lua_Integer at;
    struct part *child, *next; /* TABLE: its fields; siblings */
    const struct part *in;     /* the table that it is a field of */
    int fields;
    gp_tensor *out;    /* TENSOR: n x the sample's */
    gp_scalar *number; /* NUMBER, BOOLEAN: n of them */
    struct text {
        char *s;
        size_t n;
    } * text; /* STRING: n of them */
} part;

struct gp_collate {
    int n, count; /* samples; values of each, 0: unknown yet */
    bool pin;
    int64_t first; /* index of the sample that determined the shape */
    part top;      /* its children are the values */
};

gp_collate *gp_collate_new(int n, bool pin) {
    gp_collate *s = calloc(1, sizeof *s);
    if (!s) return gp_fail_null("out of memory");
    s->n = n;
    s->pin = pin;
    s->top.kind = TABLE;
    return s;
}

/* p, its siblings and what is in them; n samples. */
static void free_parts(part *p, int n) {
    for (part *next; p; p = next) {
        next = p->next;
        free_parts(p->child, n);
        gp_tensor_unref(p->out);
        for (int i = 0; p->text && i < n; i++) free(p->text[i].s);
        free(p->text);
        free(p->number);
        free(p->key);
        free(p);
    }
}

void gp_collate_free(gp_collate *s) {
    if (!s) return;
    free_parts(s->top.child, s->n);
    free(s);
}

bool gp_collate_shaped(const gp_collate *s) { return s->count > 0; }

/* "value 2", "value 1.image" */
static char *part_name(const part *p, char *buf, size_t size) {
    if (!p->in->in) {
        snprintf(buf, size, "value %d", (int)p->at);
        return buf;
    }
    size_t n = strlen(part_name(p->in, buf, size));
    if (p->key) snprintf(buf + n, size - n, ".%s", p->key);
    else snprintf(buf + n, size - n, "[%lld]", (long long)p->at);
    return buf;
}

/* ---- the shape ---- */

static bool shape_part(gp_collate *s, part *p, lua_State *L, int idx, int64_t index);

/* Adds a field of `in`, which owns it. The newest comes first. */
static part *add_part(part *in) {
    part *p = calloc(1, sizeof *p);
    if (!p) return gp_fail_null("out of memory");
    p->in = in;
    p->next = in->child;
    in->child = p;
    in->fields++;
    return p;
}

/* The first sample's tensor determines those of all samples; the batch's memory is allocated
 * now. */
static bool shape_tensor(gp_collate *s, part *p, const gp_tensor *t, int64_t index) {
    char name[160];
    if (gp_tensor_device(t) != gp_device_cpu())
        return gp_fail(
            "%s of sample %lld is on %s; samples are made on the cpu, and the batch goes "
            "to a device as a whole (device = \"%s\")",
            part_name(p, name, sizeof name), (long long)index, gp_tensor_device(t)->name,
            gp_tensor_device(t)->name);
    gp_shape shape = {.ndim = t->a.ndim + 1, .dim = {s->n}};
    if (shape.ndim > GP_MAX_DIM)
        return gp_fail("%s of sample %lld has %d dims; a batch has room for %d",
                       part_name(p, name, sizeof name), (long long)index, t->a.ndim,
                       GP_MAX_DIM - 1);
    for (int i = 0; i < t->a.ndim; i++) shape.dim[i + 1] = t->a.dim[i];
    p->kind = TENSOR;
    p->out = gp_tensor_new_host((gp_dtype)t->a.dtype, &shape);
    if (p->out) p->out->storage->pinned = s->pin;
    return p->out != NULL;
}

/* Sets the key from stack index `key`: a name, which is copied, or an integer. */
static bool set_key(part *p, lua_State *L, int key) {
    if (lua_isinteger(L, key)) return p->at = lua_tointeger(L, key), true;
    if (lua_type(L, key) != LUA_TSTRING)
        return gp_fail("a table in a sample has a key that is a %s; expected names and integer "
                       "numbers",
                       luaL_typename(L, key));
    return (p->key = strdup(lua_tostring(L, key))) ? true : gp_fail("out of memory");
}

/* Tables within a sample become tables of stacked parts. Depth is limited, since this and later
 * functions recurse. */
static bool shape_table(gp_collate *s, part *p, lua_State *L, int idx, int64_t index) {
    p->kind = TABLE;
    int top = lua_gettop(L);
    bool ok = true;
    if (top > 200 || !lua_checkstack(L, 6))
        return gp_fail("a sample's tables are nested too deeply");
    for (lua_pushnil(L); ok && lua_next(L, idx); lua_settop(L, top + 1)) {
        part *field = add_part(p);
        ok = field && set_key(field, L, top + 1) && shape_part(s, field, L, top + 2, index);
    }
    lua_settop(L, top);
    return ok;
}

/* Determines this part of the batch from the first sample's value at idx, and allocates its
 * memory. */
static bool shape_part(gp_collate *s, part *p, lua_State *L, int idx, int64_t index) {
    const gp_tensor *t = gp_lua_totensor(L, idx);
    char name[160];
    size_t n = (size_t)s->n;
    if (t) return shape_tensor(s, p, t, index);
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
    case LUA_TBOOLEAN:
        p->kind = lua_isboolean(L, idx) ? BOOLEAN : NUMBER;
        return (p->number = calloc(n, sizeof *p->number)) ? true : gp_fail("out of memory");
    case LUA_TSTRING:
        p->kind = STRING;
        return (p->text = calloc(n, sizeof *p->text)) ? true : gp_fail("out of memory");
    case LUA_TTABLE: return shape_table(s, p, L, idx, index);
    default:
        p->kind = TABLE;
        return gp_fail("%s of sample %lld is a %s; a batch is made of tensors, numbers, booleans, "
                       "strings and tables of them (or by a collate function)",
                       part_name(p, name, sizeof name), (long long)index, luaL_typename(L, idx));
    }
}

bool gp_collate_shape(gp_collate *s, lua_State *L, int first, int count, int64_t index) {
    if (count == 0) return gp_fail("get returned nothing for sample %lld", (long long)index);
    bool ok = true;
    for (int i = count - 1; ok && i >= 0; i--) {
        part *p = add_part(&s->top);
        if (p) p->at = i + 1;
        ok = p && shape_part(s, p, L, first + i, index);
    }
    if (ok) {
        s->count = count;
        s->first = index;
        return true;
    }
    free_parts(s->top.child, s->n); /* another sample may still determine the shape */
    s->top.child = NULL;
    s->top.fields = 0;
    return false;
}

/* ---- storing samples ---- */

typedef struct storing {
    gp_collate *s;
    lua_State *L;
    int slot;
    int64_t index;
} storing;

static bool store_part(const storing *o, const part *p, int idx);

/* Reports that samples differ. Workers race for the first sample; the message names the one with
 * the lower index first. */
static bool differs(const storing *o, const part *p, const char *got, const char *want) {
    char name[160];
    bool later = o->index > o->s->first;
    return gp_fail(
        "%s of sample %lld is %s, that of sample %lld %s; a batch needs them alike (or a "
        "collate function)",
        part_name(p, name, sizeof name), (long long)(later ? o->s->first : o->index),
        later ? want : got, (long long)(later ? o->index : o->s->first), later ? got : want);
}

/* Whether x matches the sample that determined out, which has one more leading dim. */
static bool same_kind(const gp_tensor *x, const gp_tensor *out) {
    if (x->a.dtype != out->a.dtype || x->a.ndim != out->a.ndim - 1) return false;
    for (int i = 0; i < x->a.ndim; i++)
        if (x->a.dim[i] != out->a.dim[i + 1]) return false;
    return gp_tensor_device(x) == gp_device_cpu();
}

/* Copies a tensor to the sample's slot, which no other worker writes; never recorded. */
static bool store_tensor(const storing *o, const part *p, gp_tensor *x) {
    gp_tensor *out = p->out;
    char a[200], b[200];
    gp_shape shape = gp_tensor_shape(out);
    for (int i = 1; i < shape.ndim; i++) shape.dim[i - 1] = shape.dim[i];
    shape.ndim--;
    if (!same_kind(x, out)) {
        char text[160];
        snprintf(b, sizeof b, "%s %s", gp_dtype_name((gp_dtype)out->a.dtype),
                 gp_shape_text(&shape, text, sizeof text));
        return differs(o, p, gp_tensor_text(x, a, sizeof a), b);
    }
    size_t bytes = (size_t)x->a.numel * gp_dtype_size((gp_dtype)x->a.dtype);
    if (!gp_host_ready(x->storage, GP_WHY_copy, "collate")) return false;
    if (x->a.contiguous) {
        if (bytes) memcpy(out->a.data + (size_t)o->slot * bytes, x->a.data, bytes);
        gp_clock_work(gp_host_work(2 * (double)bytes, 0));
        return true;
    }
    gp_tensor *view = gp_tensor_view(out, &shape, out->a.stride + 1, o->slot * out->a.stride[0]);
    if (!view) return false;
    gp_no_grad++;
    bool ok = gp_copy_into(view, x, GP_WHY_copy, "batch");
    gp_no_grad--;
    gp_tensor_unref(view);
    return ok;
}

/* Copies a string: Lua strings belong to the worker's state. */
static bool store_text(const storing *o, const part *p, int idx) {
    size_t n;
    const char *s = lua_tolstring(o->L, idx, &n);
    struct text *t = &p->text[o->slot];
    if (!(t->s = malloc(n + 1))) return gp_fail("out of memory");
    memcpy(t->s, s, n);
    t->n = n;
    return true;
}

/* Stores the fields that the first sample had, by name or number; their order does not matter. */
static bool store_table(const storing *o, const part *p, int idx) {
    lua_State *L = o->L;
    int fields = 0, top = lua_gettop(L);
    if (!lua_checkstack(L, 6)) return gp_fail("a sample's tables are nested too deeply");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) fields++;
    if (fields != p->fields) {
        char got[40], want[40];
        snprintf(got, sizeof got, "a table of %d", fields);
        snprintf(want, sizeof want, "a table of %d", p->fields);
        return differs(o, p, got, want);
    }
    bool ok = true;
    for (const part *f = p->child; ok && f; f = f->next) {
        if (f->key) lua_pushstring(L, f->key), lua_rawget(L, idx);
        else lua_rawgeti(L, idx, f->at);
        ok = store_part(o, f, top + 1);
        lua_settop(L, top);
    }
    return ok;
}

/* Stores the value at idx, which must be of the part's kind. */
static bool store_part(const storing *o, const part *p, int idx) {
    static const char *const names[] = {"a tensor", "a number", "a boolean", "a string", "a table"};
    lua_State *L = o->L;
    gp_tensor *x = gp_lua_totensor(L, idx);
    int type = lua_type(L, idx);
    if (p->kind == TENSOR && x) return store_tensor(o, p, x);
    if (p->kind == NUMBER && type == LUA_TNUMBER) {
        gp_scalar *v = &p->number[o->slot];
        v->is_float = !lua_isinteger(L, idx);
        if (v->is_float) v->f = lua_tonumber(L, idx);
        else v->i = lua_tointeger(L, idx);
        return true;
    }
    if (p->kind == BOOLEAN && type == LUA_TBOOLEAN)
        return p->number[o->slot].i = lua_toboolean(L, idx), true;
    if (p->kind == STRING && type == LUA_TSTRING) return store_text(o, p, idx);
    if (p->kind == TABLE && type == LUA_TTABLE) return store_table(o, p, idx);
    char got[40];
    snprintf(got, sizeof got, type == LUA_TNIL ? "%s" : "a %s",
             x ? "tensor" : luaL_typename(L, idx));
    return differs(o, p, got, names[p->kind]);
}

bool gp_collate_store(gp_collate *s, int slot, lua_State *L, int first, int count, int64_t index) {
    if (count != s->count) {
        bool later = index > s->first;
        return gp_fail("sample %lld has %d values, sample %lld has %d",
                       (long long)(later ? s->first : index), later ? s->count : count,
                       (long long)(later ? index : s->first), later ? count : s->count);
    }
    storing o = {.s = s, .L = L, .slot = slot, .index = index};
    for (const part *p = s->top.child; p; p = p->next)
        if (!store_part(&o, p, first + (int)p->at - 1)) return false;
    return true;
}

/* ---- the batch ---- */

/* Pushes a tensor of n: bool, i64 if all are integers, else the default float. */
static void push_numbers(const gp_collate *s, const part *p, lua_State *L) {
    gp_dtype dt = p->kind == BOOLEAN ? GP_bool : GP_i64;
    for (int i = 0; i < s->n; i++)
        if (p->number[i].is_float) dt = gp_default_dtype;
    gp_shape shape = {.ndim = 1, .dim = {s->n}};
    gp_tensor *t = gp_tensor_new_host(dt, &shape);
    if (t) t->storage->pinned = s->pin;
    for (int i = 0; t && i < s->n; i++)
        gp_scalar_store(dt, t->a.data + (size_t)i * gp_dtype_size(dt), p->number[i]);
    gp_lua_push(L, t);
}

/* Pushes the part as the batch shows it; its tensor is handed over. */
static void push_part(const gp_collate *s, part *p, lua_State *L) {
    gp_tensor *t = p->out;
    luaL_checkstack(L, 6, "a batch");
    switch (p->kind) {
    case TENSOR:
        p->out = NULL;
        gp_lua_push(L, t);
        break;
    case NUMBER:
    case BOOLEAN: push_numbers(s, p, L); break;
    case STRING:
        lua_createtable(L, s->n, 0);
        for (int i = 0; i < s->n; i++) {
            lua_pushlstring(L, p->text[i].s, p->text[i].n);
            lua_rawseti(L, -2, i + 1);
        }
        break;
    case TABLE:
        lua_newtable(L);
        for (part *f = p->child; f; f = f->next) {
            if (f->key) lua_pushstring(L, f->key);
            else lua_pushinteger(L, f->at);
            push_part(s, f, L);
            lua_rawset(L, -3);
        }
    }
}

int gp_collate_push(gp_collate *s, lua_State *L) {
    luaL_checkstack(L, s->count + 6, "a batch");
    for (part *p = s->top.child; p; p = p->next) push_part(s, p, L);
    return s->count;
}
