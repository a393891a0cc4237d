/* Costs of PyTorch's ops, and which op launched which kernel of a loaded trace. */
#include "profile/replay/torch_cost.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/base/sort.h"

/* ---- an op ---- */

typedef enum kind { PRODUCT, ELEMENTWISE, COMPARISON, REDUCTION, TRANSFER, FILL } kind;

static const struct row {
    const char *op;
    uint8_t kind, inputs, ops;
} rows[] = {
#define TORCH_COST(op, kind, inputs, ops) {op, kind, inputs, ops},
#include "profile/replay/torch_cost.def"
#undef TORCH_COST
};

typedef struct input {
    gp_dtype dtype;
    int ndim;
    int64_t dim[GP_MAX_DIM];
    double bytes, n;
} input;

enum { INPUTS = 3 };

/* Reads at most INPUTS of an op's inputs; returns how many. */
static int read_inputs(const char *shapes, input *in) {
    int n = 0;
    const char *p = shapes, *end = shapes + gp_intern_size(shapes);
    for (; p < end && n < INPUTS; n++) {
        in[n] = (input){.dtype = (gp_dtype)p[0], .ndim = p[1], .n = 1};
        memcpy(in[n].dim, p + 2, (size_t)in[n].ndim * sizeof *in[n].dim);
        for (int i = 0; i < in[n].ndim; i++) {
            if (in[n].dim[i] < 0) return 0;
            in[n].n *= (double)in[n].dim[i];
        }
        in[n].bytes = in[n].n * (double)gp_dtype_size(in[n].dtype);
        p += 2 + (size_t)in[n].ndim * sizeof *in[n].dim;
    }
    return n;
}

/* Elements of n inputs that are broadcast; negative where they do not fit. */
static double broadcast(const input *in, int n) {
    double all = 1;
    for (int d = 1; d <= GP_MAX_DIM; d++) {
        int64_t size = 1;
        for (int i = 0; i < n; i++) {
            int64_t mine = d <= in[i].ndim ? in[i].dim[in[i].ndim - d] : 1;
            if (mine != 1 && size != 1 && mine != size) return -1;
            if (mine != 1) size = mine;
        }
        all *= (double)size;
    }
    return all;
}

static bool product(const input *in, int n, double each, gp_cost *cost) {
    const input *a = &in[n - 2], *b = &in[n - 1];
    if (n < 2 || a->ndim < 2 || a->ndim != b->ndim || a->dim[a->ndim - 1] != b->dim[b->ndim - 2])
        return false;
    double columns = (double)b->dim[b->ndim - 1], inner = (double)a->dim[a->ndim - 1];
    double results = inner > 0 ? a->n / inner * columns : 0;
    for (int i = 0; i < n; i++) cost->bytes += in[i].bytes;
    cost->bytes += results * (double)gp_dtype_size(a->dtype);
    cost->ops = each * results * inner;
    cost->unit = GP_UNIT_MATRIX;
    cost->dtype = (uint8_t)a->dtype;
    return true;
}

static bool elements(const struct row *row, const input *in, int n, gp_cost *cost) {
    double all = row->kind == REDUCTION ? in[0].n : broadcast(in, n);
    for (int i = 0; i < n; i++) cost->bytes += in[i].bytes;
    if (row->kind == ELEMENTWISE) cost->bytes += all * (double)gp_dtype_size(in[0].dtype);
    if (row->kind == COMPARISON) cost->bytes += all;
    cost->ops = all * row->ops;
    return all >= 0;
}

bool gp_torch_cost(const gp_rec *op, gp_cost *cost) {
    const struct row *row = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !row; i++)
        if (!strcmp(rows[i].op, op->name)) row = &rows[i];
    if (!row || !op->shapes) return false;
    input in[INPUTS];
    int n = read_inputs(op->shapes, in);
    if (!n || (row->kind == PRODUCT && n < row->inputs)) return false;
    if (n > row->inputs) n = row->inputs;
    memset(cost, 0, sizeof *cost);
    cost->passes = 1;
    cost->dtype = (uint8_t)in[0].dtype;
    return row->kind == PRODUCT ? product(in, n, row->ops, cost) : elements(row, in, n, cost);
}

/* ---- the ops of a trace's kernels ---- */

typedef struct launch {
    uint64_t id; /* of a call or an op, as a kernel has it */
    const gp_rec *op;
    gp_cost cost;
} launch;

struct gp_torch_costs {
    const gp_prof *p;
    launch *launch; /* those whose cost is known, by id */
    size_t n, capacity;
};

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const launch *)a)->id, y = ((const launch *)b)->id;
    return (x > y) - (x < y);
}

static bool add(gp_torch_costs *c, uint64_t id, const gp_rec *op) {
    launch l = {.id = id, .op = op};
    if (!id || !op || !gp_torch_cost(op, &l.cost)) return true;
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 256;
        launch *more = realloc(c->launch, capacity * sizeof *more);
        if (!more) return false;
        c->launch = more, c->capacity = capacity;
    }
    c->launch[c->n++] = l;
    return true;
}

/* The launches of a thread, each with the innermost op that was open. */
static bool add_track(gp_torch_costs *c, const gp_track *t) {
    enum { DEPTH = 128 };
    const gp_rec *open[DEPTH];
    int n = 0;
    gp_cursor at = gp_first(t);
    for (const gp_rec *r; (r = gp_next(&at));) {
        if (r->kind != GP_REC_OP && r->kind != GP_REC_CALL && r->kind != GP_REC_WAIT) continue;
        while (n && gp_rec_end(c->p, open[n - 1]) <= r->t0) n--;
        if (r->kind == GP_REC_OP && n < DEPTH) open[n++] = r;
        if (!add(c, r->id, n ? open[n - 1] : NULL)) return false;
    }
    return true;
}

gp_torch_costs *gp_torch_costs_new(const gp_prof *p) {
    gp_torch_costs *c = calloc(1, sizeof *c);
    bool ok = c != NULL;
    if (ok) c->p = p;
    for (const gp_track *t = p->host; ok && t; t = t->next) ok = add_track(c, t);
    if (!ok) return gp_torch_costs_free(c), gp_fail_null("profile: out of memory");
    if (c->n) gp_sort(c->launch, c->n, sizeof *c->launch, by_id);
    return c;
}

void gp_torch_costs_free(gp_torch_costs *c) {
    if (!c) return;
    free(c->launch);
    free(c);
}

const gp_rec *gp_torch_costs_of(const gp_torch_costs *c, const gp_rec *kernel,
                                const gp_cost **cost) {
    launch key = {.id = kernel->id};
    if (kernel->kind != GP_REC_KERNEL || !key.id || !c->n) return NULL;
    const launch *l = bsearch(&key, c->launch, c->n, sizeof key, by_id);
    if (!l) return NULL;
    *cost = &l->cost;
    return l->op;
}

double gp_torch_costs_share(const gp_torch_costs *c) {
    double known = 0, all = 0;
    const gp_cost *cost;
    for (const gp_track *t = c->p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (const gp_rec *r; (r = gp_next(&at));) {
            if (r->kind != GP_REC_KERNEL) continue;
            double took = (double)(gp_rec_end(c->p, r) - r->t0);
            all += took;
            if (gp_torch_costs_of(c, r, &cost)) known += took;
        }
    }
    return all > 0 ? known / all : 0;
}
