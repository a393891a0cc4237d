/* Autocast: the scopes, the conversions of an op's arguments, and the cache of converted
 * parameters. */
#include "tensor/autocast.h"

#include <limits.h>
#include <stdlib.h>

#include "tensor/autograd/tape.h"
#include "tensor/intercept.h"

_Thread_local gp_autocasts gp_autocast_thread;
int (*gp_autocast_depth)(void *coroutine);

/* ---- the cache ---- */

/* A parameter, which the cache keeps, and its conversion; it counts while storage and version are
 * those that were converted. */
typedef struct entry {
    gp_tensor *from, *to;
    gp_storage *storage;
    uint32_t version;
    bool recorded; /* gradients flow through `to` */
} entry;

typedef struct gp_casts {
    int refs; /* of scopes */
    int n, cap, next;
    entry *e;
} gp_casts;

static void drop_casts(gp_casts *k) {
    if (!k || --k->refs) return;
    for (int i = 0; i < k->n; i++) gp_tensor_unref(k->e[i].from), gp_tensor_unref(k->e[i].to);
    free(k->e);
    free(k);
}

static bool recording(void) { return gp_grad_live && !gp_no_grad; }

/* As in PyTorch: f32 leaves that require gradients and are no views are converted to 16 bits once,
 * however many ops take them. A trace needs each conversion as a call: later runs make it again. */
static bool cacheable(const gp_autocast *s, gp_tensor *t, gp_dtype dt) {
    return s->casts && !(gp_kept() & GP_KEEPS_CALLS) && t->a.dtype == GP_f32 &&
           dt == (gp_dtype)s->dtype && !t->base && !gp_tensor_node(t) && t->requires_grad;
}

/* The place of t, or the end. A step takes parameters in the same order as the one before. */
static int find(gp_casts *k, const gp_tensor *t) {
    if (k->next < k->n && k->e[k->next].from == t) return k->next;
    for (int i = 0; i < k->n; i++)
        if (k->e[i].from == t) return i;
    return k->n;
}

/* Whether e is t's present value in dt; a conversion without a history serves where none is
 * recorded. */
static bool fresh(const entry *e, const gp_tensor *t, gp_dtype dt) {
    return e->storage == t->storage && e->version == t->storage->version && e->to->a.dtype == dt &&
           (e->recorded || !recording());
}

/* Keeps a conversion in place i; without memory it is not kept. */
static void keep(gp_casts *k, int i, gp_tensor *from, gp_tensor *to) {
    if (i == k->cap) {
        int cap = k->cap ? 2 * k->cap : 16;
        entry *more = realloc(k->e, (size_t)cap * sizeof *more);
        if (!more) return;
        k->e = more, k->cap = cap;
    }
    entry *e = &k->e[i];
    if (i == k->n) k->n++, e->from = gp_tensor_ref(from);
    else gp_tensor_unref(e->to);
    e->to = gp_tensor_ref(to);
    e->storage = from->storage;
    e->version = from->storage->version;
    e->recorded = recording();
}

void gp_autocast_forget(void) {
    for (gp_autocast *s = gp_autocast_thread.scopes; s; s = s->outer) {
        gp_casts *k = s->casts;
        for (int i = 0; k && i < k->n; i++)
            gp_tensor_unref(k->e[i].from), gp_tensor_unref(k->e[i].to);
        if (k) k->n = k->next = 0;
    }
}

/* ---- conversions ---- */

/* Floats that autocast converts: f64 was asked for. */
static bool eligible(const gp_tensor *t) {
    return gp_is_float((gp_dtype)t->a.dtype) && t->a.dtype != GP_f64;
}

static gp_tensor *convert(gp_tensor *t, gp_dtype dt) {
    gp_call c;
    gp_call_begin(&c, GP_OP(to));
    gp_call_tensor(&c, t);
    gp_call_none(&c);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    return gp_call_one(&c);
}

/* t as an op takes it, as a new reference. */
static gp_tensor *cast(gp_autocast *s, gp_tensor *t, gp_dtype dt) {
    if (!eligible(t) || t->a.dtype == dt) return gp_tensor_ref(t);
    if (!cacheable(s, t, dt)) return convert(t, dt);
    int i = find(s->casts, t);
    s->casts->next = i + 1;
    if (i < s->casts->n && fresh(&s->casts->e[i], t, dt)) return gp_tensor_ref(s->casts->e[i].to);
    gp_tensor *to = convert(t, dt);
    if (to) keep(s->casts, i, t, to);
    return to;
}

/* The widest of an argument's eligible dtypes and dt, GP_bool for none so far. */
static gp_dtype widest(const gp_value *v, gp_dtype dt) {
    int n = v->kind == GP_TENSOR ? 1 : v->kind == GP_LIST ? v->n : 0;
    for (int i = 0; i < n; i++) {
        const gp_tensor *t = v->kind == GP_TENSOR ? v->t : v->list[i];
        if (eligible(t)) dt = gp_dtype_promote(dt, (gp_dtype)t->a.dtype);
    }
    return dt;
}

/* The dtype that c's arguments become; GP_bool: they stay. */
static gp_dtype target(const gp_autocast *s, const gp_cast_rule *r, const gp_call *c) {
    gp_dtype dt = GP_bool;
    switch ((gp_cast_policy)r->policy) {
    case GP_CAST_LOW: return (gp_dtype)s->dtype;
    case GP_CAST_WIDE: return GP_f32;
    case GP_CAST_PROMOTE:
        for (int i = 0; i < c->nargs; i++) dt = widest(&c->arg[i], dt);
        return dt;
    default: return GP_bool;
    }
}

/* A call's arguments as they were given, and converted, with references. */
typedef struct given {
    int n;
    gp_value arg[GP_MAX_ARGS], cast[GP_MAX_ARGS];
} given;

/* Also where the op's rule has changed arguments of c. */
static void restore(gp_call *c, given *g) {
    for (int i = 0; i < g->n; i++) {
        gp_value *v = &g->cast[i];
        if (v->kind == GP_TENSOR) gp_tensor_unref(v->t);
        for (int k = 0; v->kind == GP_LIST && k < v->n; k++) gp_tensor_unref(v->list[k]);
        if (v->kind == GP_LIST) free(v->list);
        c->arg[i] = g->arg[i];
    }
}

static bool cast_list(gp_autocast *s, gp_value *v, const gp_value *from, gp_dtype dt) {
    v->list = calloc((size_t)from->n + 1, sizeof *v->list);
    v->n = 0;
    if (!v->list) return gp_fail("out of memory");
    for (; v->n < from->n; v->n++)
        if (!(v->list[v->n] = cast(s, from->list[v->n], dt))) return false;
    return true;
}

/* Replaces the arguments of c; *g restores them, also after a failure. */
static bool cast_all(gp_autocast *s, gp_call *c, gp_dtype dt, given *g) {
    bool ok = true;
    for (g->n = 0; ok && g->n < c->nargs; g->n++) {
        gp_value *v = &g->cast[g->n];
        *v = g->arg[g->n] = c->arg[g->n];
        if (v->kind == GP_LIST) ok = cast_list(s, v, &g->arg[g->n], dt);
        else if (v->kind == GP_TENSOR) ok = (v->t = cast(s, v->t, dt)) != NULL;
        c->arg[g->n] = *v;
    }
    return ok;
}

/* Asks for a result in f32 by the option dtype: no operand needs a copy. */
static void ask_wide(gp_call *c, int i) {
    const gp_tensor *x = c->arg[0].kind == GP_TENSOR ? c->arg[0].t : NULL;
    if (!x || !eligible(x) || gp_given(c, i)) return;
    while (c->nargs <= i) gp_call_none(c);
    c->arg[i] = (gp_value){.kind = GP_DTYPE, .i = GP_f32};
}

static bool run_cast(gp_autocast *s, const gp_cast_rule *r, const gp_interceptor *self,
                     gp_call *c) {
    gp_dtype dt = target(s, r, c);
    given g;
    if (r->policy == GP_CAST_REFUSED)
        return gp_fail("%s: is not safe under autocast: its logarithms overflow in 16 bits; use %s",
                       r->name, r->advice);
    if (r->policy == GP_CAST_DTYPE) ask_wide(c, r->dtype);
    if (dt == GP_bool) return gp_op_run_below(self, c);
    bool ok = cast_all(s, c, dt, &g) && gp_op_run_below(self, c);
    restore(c, &g);
    return ok;
}

/* Runs c with its arguments converted as its row says, and restores them. */
static bool autocast_call(const gp_interceptor *self, gp_call *c) {
    if (!gp_autocast_on()) return gp_op_run_below(self, c);
    gp_autocast *s = gp_autocast_current();
    const gp_cast_rule *r = &c->op->autocast;
    gp_autocast_pause();
    /* in place, the tensor that is written says the dtype */
    bool ok = s && s->enabled && r->policy && !c->into ? run_cast(s, r, self, c)
                                                       : gp_op_run_below(self, c);
    gp_autocast_resume();
    return ok;
}

static _Thread_local gp_interceptor interceptor = {.order = 10, .run = autocast_call};

/* ---- scopes ---- */

gp_autocast *gp_autocast_current(void) {
    gp_autocast *found = NULL;
    int nearest = INT_MAX;
    if (gp_autocast_thread.paused) return NULL;
    for (gp_autocast *s = gp_autocast_thread.scopes; s && nearest; s = s->outer) {
        int depth = gp_autocast_depth && s->coroutine ? gp_autocast_depth(s->coroutine) : 0;
        if (depth >= 0 && depth < nearest) found = s, nearest = depth;
    }
    return found;
}

bool gp_autocast_open(gp_autocast *s) {
    gp_autocast *around = gp_autocast_current();
    s->casts = !s->cached ? NULL : !s->separate && around ? around->casts : NULL;
    if (s->casts) s->casts->refs++;
    else if (s->cached) {
        s->casts = calloc(1, sizeof *s->casts);
        if (!s->casts) return gp_fail("autocast: out of memory");
        s->casts->refs = 1;
    }
    s->paused = gp_autocast_thread.paused;
    s->outer = gp_autocast_thread.scopes;
    s->open = true;
    gp_autocast_thread = (gp_autocasts){s, 0};
    gp_intercept(&interceptor, true);
    return true;
}

void gp_autocast_close(gp_autocast *s) {
    if (!s->open) return;
    s->open = false;
    int *paused = &gp_autocast_thread.paused;
    for (gp_autocast **p = &gp_autocast_thread.scopes; *p; paused = &(*p)->paused, p = &(*p)->outer)
        if (*p == s) {
            *p = s->outer;
            *paused = s->paused;
            break;
        }
    gp_intercept(&interceptor, gp_autocast_thread.scopes != NULL);
    drop_casts(s->casts);
}
