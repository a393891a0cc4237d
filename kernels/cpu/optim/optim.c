/* Steps of optimizers and clipping of gradients: one launch for lists of tensors, whose elements
 * are numbered consecutively and divided among the threads in pieces of one size. */
#include <math.h>
#include <stdatomic.h>

#include "kernels/cpu/elementwise/math.h"
#define STEP_FN static inline
#include "kernels/common/optim_step.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { PART = GP_GRAIN / 2, LISTS = ROUNDED + 1, BLOCK = 512 };

#define RULE_FN static
#define TEMPLATE "kernels/common/optim_rules.h"
#include "kernels/common/floats.inc"

/* Updates n elements: x has a pointer for each list. */
typedef struct rule {
    void (*f32)(const void *ctx, float *const *x, int64_t n);
    void (*f64)(const void *ctx, double *const *x, int64_t n);
} rule;
#define RULE(name) ((rule){name##_f32, name##_f64})

/* Tensor k of each list: elements first[k] … first[k + 1] - 1. */
typedef struct lists {
    const gp_value *list[LISTS]; /* some may be absent; ROUNDED gets what the rule leaves in 0 */
    uint32_t writes;             /* bits: lists that are written */
    const int64_t *first;
    rule rule;
    const void *ctx;
} lists;

/* Runs on w elements of a row; p and stride (bytes) as in gp_nd_loop, for the `given` lists. */
typedef struct row {
    int given;
    int list[LISTS]; /* their numbers */
    uint8_t dtype[LISTS];
    char *p[LISTS];
    int64_t stride[LISTS];
} row;

static void in_place(const lists *l, const row *r, bool wide, int64_t n) {
    char *x[LISTS] = {NULL};
    for (int j = 0; j < r->given; j++) x[r->list[j]] = r->p[j];
    if (wide) l->rule.f64(l->ctx, (double *const *)(void *)x, n);
    else l->rule.f32(l->ctx, (float *const *)(void *)x, n);
    if (x[ROUNDED]) memcpy(x[ROUNDED], x[0], (size_t)n * (wide ? sizeof(double) : sizeof(float)));
}

/* Runs the rule through blocks in the compute type. */
static void converted(const lists *l, const row *r, bool wide, int64_t n) {
    double block[LISTS][BLOCK];
    gp_ctype ct = wide ? GP_CT_f64 : GP_CT_f32;
    row b = *r;
    for (int j = 0; j < r->given; j++) b.p[j] = (char *)block[j];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t w = n - at < BLOCK ? n - at : BLOCK;
        for (int j = 0; j < r->given; j++)
            if (r->list[j] != ROUNDED)
                gp_load_fn((gp_dtype)r->dtype[j], ct)(block[j], r->p[j] + at * r->stride[j],
                                                      r->stride[j], w);
        in_place(l, &b, wide, w);
        for (int j = 0; j < r->given; j++)
            if (l->writes >> r->list[j] & 1)
                gp_store_fn(ct, (gp_dtype)r->dtype[j])(r->p[j] + at * r->stride[j], r->stride[j],
                                                       block[j], w);
    }
}

/* Elements [from, from + n) of tensor k, in the memory order of the first list's tensor. */
static void one_tensor(const lists *l, int k, int64_t from, int64_t n) {
    const gp_array *arrays[LISTS];
    row r = {0};
    for (int j = 0; j < LISTS; j++) {
        if (l->list[j]->kind != GP_LIST) continue;
        arrays[r.given] = l->list[j]->arrays[k];
        r.dtype[r.given] = arrays[r.given]->dtype;
        r.list[r.given++] = j;
    }
    bool wide = r.dtype[0] == GP_f64 || !l->rule.f32, direct = true;
    gp_nd_loop loop;
    gp_row_iter rows;
    gp_nd_loop_init(&loop, r.given, arrays);
    int last = loop.ndim - 1;
    for (int j = 0; j < r.given; j++) {
        r.stride[j] = loop.stride[j][last];
        direct = direct && r.dtype[j] == (wide ? GP_f64 : GP_f32) &&
                 (r.stride[j] == (wide ? 8 : 4) || loop.dim[last] == 1);
    }
    int64_t at = from % loop.dim[last];
    for (gp_row_iter_begin(&rows, &loop, from); n > 0; gp_row_iter_next(&rows, &loop)) {
        int64_t w = loop.dim[last] - at < n ? loop.dim[last] - at : n;
        for (int j = 0; j < r.given; j++) r.p[j] = rows.p[j] + at * r.stride[j];
        if (direct) in_place(l, &r, wide, w);
        else converted(l, &r, wide, w);
        n -= w;
        at = 0;
    }
}

static int tensor_of(const lists *l, int64_t i) {
    int lo = 0, hi = l->list[0]->n;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (l->first[mid] <= i) lo = mid;
        else hi = mid;
    }
    return lo;
}

/* Elements [begin, end) of all tensors of the lists, numbered consecutively. */
static void run_part(void *ctx, int64_t begin, int64_t end) {
    const lists *l = ctx;
    for (int k = tensor_of(l, begin); begin < end; k++) {
        int64_t n = (l->first[k + 1] < end ? l->first[k + 1] : end) - begin;
        if (n > 0) one_tensor(l, k, begin - l->first[k], n);
        begin += n;
    }
}

/* Opens the lists in c's first n arguments, and that in argument `rounded`, 0 for none; *total: the
 * number of elements. */
static bool open_lists(lists *l, const gp_call *c, int n, int rounded, uint32_t writes,
                       int64_t *total) {
    static const gp_value absent = {.kind = GP_NONE};
    int count = c->arg[0].n;
    int64_t *first = gp_scratch(GP_SCRATCH_CALL, ((size_t)count + 1) * sizeof *first);
    if (!first) return gp_fail("%s: out of memory", c->op->name);
    l->writes = writes | 1u << ROUNDED;
    l->first = first;
    for (int j = 0; j < LISTS; j++) l->list[j] = j < n ? &c->arg[j] : &absent;
    if (rounded && gp_given(c, rounded)) l->list[ROUNDED] = &c->arg[rounded];
    first[0] = 0;
    for (int k = 0; k < count; k++) first[k + 1] = first[k] + c->arg[0].arrays[k]->numel;
    *total = first[count];
    return true;
}

static bool update_lists(const gp_call *c, int n, uint32_t writes, rule update, const void *ctx) {
    lists l = {.rule = update, .ctx = ctx};
    int64_t total = 0;
    if (!open_lists(&l, c, n, 0, writes, &total)) return false;
    return gp_parallel_op(c, total, PART, run_part, &l);
}

/* A step of n lists, whose argument `rounded` is followed by what is on the device. */
static bool run_step(const gp_call *c, int n, int rounded, uint32_t writes, rule update,
                     gp_optim_step s) {
    lists l = {.rule = update, .ctx = &s};
    int64_t total = 0;
    on_device d = on_device_of(c, rounded + 1);
    if (!open_lists(&l, c, n, rounded, writes, &total)) return false;
    return !step_begin(&s, &d) || gp_parallel_op(c, total, PART, run_part, &l);
}

bool CPU(sgd_step)(const gp_call *c) {
    return run_step(c, 3, SGD_ROUNDED, SGD_WRITES, RULE(sgd), sgd_of(c));
}

bool CPU(adam_step)(const gp_call *c) {
    return run_step(c, 5, ADAM_ROUNDED, ADAM_WRITES, RULE(adam), adam_of(c));
}

bool CPU(rmsprop_step)(const gp_call *c) {
    return run_step(c, 5, RMSPROP_ROUNDED, RMSPROP_WRITES, RULE(rmsprop), rmsprop_of(c));
}

bool CPU(adagrad_step)(const gp_call *c) {
    return run_step(c, 3, ADAGRAD_ROUNDED, ADAGRAD_WRITES, RULE(adagrad), adagrad_of(c));
}

/* ---- gradient scaling ---- */

/* What amp_unscale does to a run of elements: factor 1 leaves them. Slices may set found
 * concurrently, all to the same. */
typedef struct unscale {
    double factor;
    _Atomic bool *found;
} unscale;

#define UNSCALE(T, name)                                                                           \
    static void name(const void *ctx, T *const *x, int64_t n) {                                    \
        const unscale *u = ctx;                                                                    \
        T *p = x[0];                                                                               \
        int bad = 0;                                                                               \
        for (int64_t i = 0; i < n; i++) bad |= p[i] - p[i] != 0;                                   \
        if (bad) atomic_store_explicit(u->found, true, memory_order_relaxed);                      \
        if (u->factor != 1)                                                                        \
            for (int64_t i = 0; i < n; i++) p[i] *= (T)u->factor;                                  \
    }
UNSCALE(float, unscale_f32)
UNSCALE(double, unscale_f64)

/* Arguments: grads, scale, found_inf, check. */
bool CPU(amp_unscale)(const gp_call *c) {
    _Atomic bool found = false;
    bool check = c->arg[3].i;
    unscale u = {check ? 1 : 1 / (double)*(const float *)(void *)c->arg[1].a->data, &found};
    lists l = {.rule = RULE(unscale), .ctx = &u};
    int64_t total = 0;
    if (!open_lists(&l, c, 1, 0, check ? 0 : 1, &total) ||
        !gp_parallel_op(c, total, PART, run_part, &l))
        return false;
    if (found) *(float *)(void *)c->arg[2].a->data = 1;
    return true;
}

/* Arguments: state, found_inf, growth_factor, backoff_factor, growth_interval. */
bool CPU(amp_update_scale)(const gp_call *c) {
    float *scale = (float *)(void *)c->arg[0].arrays[0]->data,
          *tracker = (float *)(void *)c->arg[0].arrays[1]->data;
    const float *found = (const float *)(void *)c->arg[1].a->data;
    scale_update(scale, tracker, *found != 0, (float)c->arg[2].f, (float)c->arg[3].f,
                 (float)c->arg[4].i);
    return true;
}

/* ---- clipping ---- */

/* Arguments: grads, clip_value. */
bool CPU(clip_grad_value)(const gp_call *c) {
    return update_lists(c, 1, 1, RULE(limit), &c->arg[1].f);
}

/* The norm in f64, from parts of PART elements whose order does not depend on the
 * threads. */
typedef struct norm {
    lists l;
    double power, *part; /* part: sum of |x|^power of each, or its largest |x| */
    int64_t total;
} norm;

typedef struct sum {
    double power, value;
} sum;

static void add_run(const void *ctx, double *const *x, int64_t n) {
    sum *to = (sum *)ctx; /* one for each part */
    double s = 0, p = to->power;
    const double *v = x[0];
    if (p == 2) {
        _Pragma("omp simd reduction(+ : s)") for (int64_t i = 0; i < n; i++) s += v[i] * v[i];
    } else if (isinf(p)) {
        s = to->value;
        for (int64_t i = 0; i < n; i++) s = fabs(v[i]) <= s || s != s ? s : fabs(v[i]);
        to->value = 0;
    } else {
        for (int64_t i = 0; i < n; i++) s += p == 1 ? fabs(v[i]) : pow(fabs(v[i]), p);
    }
    to->value += s;
}

static void norm_parts(void *ctx, int64_t begin, int64_t end) {
    const norm *m = ctx;
    for (int64_t i = begin; i < end; i++) {
        sum s = {.power = m->power};
        lists l = m->l;
        int64_t at = i * PART, to = at + PART < m->total ? at + PART : m->total;
        l.ctx = &s;
        run_part(&l, at, to);
        m->part[i] = s.value;
    }
}

/* Combines the parts' sums, in their order. */
static double norm_of(const norm *m, int64_t parts) {
    double s = 0;
    bool most = isinf(m->power);
    for (int64_t i = 0; i < parts; i++) {
        double v = m->part[i];
        s = !most ? s + v : v <= s || s != s ? s : v;
    }
    return most ? s : m->power == 2 ? sqrt(s) : pow(s, 1 / m->power);
}

/* Arguments: grads, max_norm, norm_type. As in PyTorch the factor is max_norm / (norm + 1e-6); an
 * infinite max_norm asks for the norm only. */
bool CPU(clip_grad_norm)(const gp_call *c) {
    norm m = {.l = {.rule = {NULL, add_run}}, .power = c->arg[2].f};
    if (!open_lists(&m.l, c, 1, 0, 0, &m.total)) return false;
    int64_t parts = (m.total + PART - 1) / PART;
    m.part = gp_scratch(GP_SCRATCH_PART, (size_t)(parts + 1) * sizeof *m.part);
    if (!m.part) return gp_fail("clip_grad_norm: out of memory");
    if (!gp_parallel_op(c, parts, 1, norm_parts, &m)) return false;
    double n = norm_of(&m, parts), factor = c->arg[1].f / (n + 1e-6);
    const gp_array *out = gp_out(c, 0);
    gp_scalar_store((gp_dtype)out->dtype, out->data, (gp_scalar){.is_float = true, .f = n});
    return factor >= 1 || isinf(c->arg[1].f) || update_lists(c, 1, 1, RULE(scale), &factor);
}
