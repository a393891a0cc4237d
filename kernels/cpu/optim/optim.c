/* Steps of optimizers and clipping of gradients: one launch for lists of tensors, whose elements
 * are numbered consecutively and divided among the threads in pieces of one size. */
#include <math.h>

#include "kernels/cpu/elementwise/math.h"
#include "kernels/common/optim_step.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { GRAIN = 16384, LISTS = 5, BLOCK = 512 };

#define RULE_FN static
#define T float
#define t f32
#include "kernels/common/optim_rules.h"
#undef T
#undef t
#define T double
#define t f64
#include "kernels/common/optim_rules.h"
#undef T
#undef t

/* Updates n elements: x has a pointer for each list. */
typedef struct rule {
    void (*f32)(const void *ctx, float *const *x, int64_t n);
    void (*f64)(const void *ctx, double *const *x, int64_t n);
} rule;
#define RULE(name) ((rule){name##_f32, name##_f64})

/* Tensor k of each list: elements first[k] … first[k + 1] - 1. */
typedef struct lists {
    int n; /* number of lists, some of which may be absent */
    const gp_value *list[LISTS];
    uint32_t writes; /* bits: lists that are written */
    const int64_t *first;
    rule rule;
    const void *ctx;
} lists;

/* Runs on w elements of a row; p and stride (bytes) as in gp_loop, for the `given` lists. */
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
    for (int j = 0; j < l->n; j++) {
        if (l->list[j]->kind == GP_NONE) continue;
        arrays[r.given] = l->list[j]->arrays[k];
        r.dtype[r.given] = arrays[r.given]->dtype;
        r.list[r.given++] = j;
    }
    bool wide = r.dtype[0] == GP_f64 || !l->rule.f32, direct = true;
    gp_loop loop;
    gp_row_iter rows;
    gp_loop_init(&loop, r.given, arrays);
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

/* Opens the lists in c's first n arguments; *total: the number of elements. */
static bool open_lists(lists *l, const gp_call *c, int n, uint32_t writes, int64_t *total) {
    int count = c->arg[0].n;
    int64_t *first = gp_scratch(GP_SCRATCH_CALL, ((size_t)count + 1) * sizeof *first);
    if (!first) return gp_fail("%s: out of memory", c->op->name);
    l->n = n;
    l->writes = writes;
    l->first = first;
    for (int j = 0; j < n; j++) l->list[j] = &c->arg[j];
    first[0] = 0;
    for (int k = 0; k < count; k++) first[k + 1] = first[k] + c->arg[0].arrays[k]->numel;
    *total = first[count];
    return true;
}

static bool run(const gp_call *c, int n, uint32_t writes, rule update, const void *ctx) {
    lists l = {.rule = update, .ctx = ctx};
    int64_t total = 0;
    if (!open_lists(&l, c, n, writes, &total)) return false;
    return gp_parallel_op(c, total, GRAIN, run_part, &l);
}

bool CPU(sgd_step)(const gp_call *c) {
    step s = sgd_of(c);
    return run(c, 3, SGD_WRITES, RULE(sgd), &s);
}

bool CPU(adam_step)(const gp_call *c) {
    step s = adam_of(c);
    return run(c, 5, ADAM_WRITES, RULE(adam), &s);
}

bool CPU(rmsprop_step)(const gp_call *c) {
    step s = rmsprop_of(c);
    return run(c, 5, RMSPROP_WRITES, RULE(rmsprop), &s);
}

bool CPU(adagrad_step)(const gp_call *c) {
    step s = adagrad_of(c);
    return run(c, 3, ADAGRAD_WRITES, RULE(adagrad), &s);
}

/* ---- clipping ---- */

/* Arguments: grads, clip_value. */
bool CPU(clip_grad_value)(const gp_call *c) { return run(c, 1, 1, RULE(limit), &c->arg[1].f); }

/* The norm in f64, from parts of GRAIN elements whose order does not depend on the threads. */
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
        int64_t at = i * GRAIN, to = at + GRAIN < m->total ? at + GRAIN : m->total;
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
    if (!open_lists(&m.l, c, 1, 0, &m.total)) return false;
    int64_t parts = (m.total + GRAIN - 1) / GRAIN;
    m.part = gp_scratch(GP_SCRATCH_PART, (size_t)(parts + 1) * sizeof *m.part);
    if (!m.part) return gp_fail("clip_grad_norm: out of memory");
    if (!gp_parallel_op(c, parts, 1, norm_parts, &m)) return false;
    double n = norm_of(&m, parts), factor = c->arg[1].f / (n + 1e-6);
    const gp_array *out = gp_out(c, 0);
    gp_scalar_store((gp_dtype)out->dtype, out->data, (gp_scalar){.is_float = true, .f = n});
    return factor >= 1 || isinf(c->arg[1].f) || run(c, 1, 1, RULE(scale), &factor);
}
