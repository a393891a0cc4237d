/* The driver of reductions: blocks of reduced elements are folded into one output, or rows of them
 * into many adjacent outputs at once. The shape alone decides how work is split, so that a result
 * does not depend on the number of threads. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/runtime/scratch.h"

#include <stdlib.h>
#include <string.h>

/* SIDE: bytes of the accumulators of outputs that are computed together. CASCADE, ROWS: elements
 * after which a partial result is set aside, so that rounding errors grow much more slowly than the
 * count. DIRECT: elements folded at once where they need no conversion. */
enum {
    SIDE = 4096,
    CASCADE = 65536,
    DIRECT = 4096,
    ROWS = 32,
    FEW = 16,
    PARTS = 64,
    TOGETHER = 64,
    SHORT = 128,       /* rows of fewer elements: the call of fold costs too much */
    FOLDED = 12,       /* the same where the reducer takes many rows at once: sum over 32 columns
                          takes 0.4 of the time of transposed tiles, over 4 columns twice as long */
    TILE = 32768,      /* bytes of short rows that are transposed together */
    FIELDS = 4,        /* at most */
    MADE = 8 * CASCADE /* bytes: a row, which is taken as a whole */
};

typedef struct reduce_plan {
    const gp_array *x;
    const gp_array *const *out;
    const gp_reducer *red;
    int nout;
    double p;
    gp_load load;
    int64_t each; /* bytes of an accumulator */
    bool direct;  /* elements are of the type that the reducer takes */
    int nkept, nred;
    int64_t kept_dim[GP_MAX_DIM], kept_stride[GP_MAX_DIM], red_dim[GP_MAX_DIM],
        red_stride[GP_MAX_DIM]; /* strides in bytes */
    int64_t count;              /* elements reduced into one */
    bool columns;    /* outputs of the last kept dim are closer in memory than reduced elements */
    bool whole;      /* rows without gaps, as the reducer takes many */
    bool transposed; /* … or are once their rows, which are short, are transposed */
    int64_t side, width, blocks; /* outputs computed together at most; of the last kept dim (1: one
                                    at a time); blocks of outputs in all */
    int64_t
        parts; /* parts of the reduced elements, where the outputs are too few for all threads */
    char *partial;                   /* parts x outputs accumulators */
    const gp_element_source *source; /* makes the elements of x; NULL: they are stored */
    void *memory;                    /* of a thread's copy of the plan: what source->begin gave */
    _Atomic bool *failed;            /* no memory to make them in */
} reduce_plan;

/* n consecutive elements at p of x: in place, or made in the thread's room from byte `at` on. */
static const char *elements(const reduce_plan *r, const char *p, int64_t n, int64_t at) {
    if (!r->source) return p;
    int64_t size = gp_dtype_sizes[r->x->dtype];
    char *buffer = gp_scratch(GP_SCRATCH_CALL, MADE); /* reduce_made has seen that it is there */
    return r->source->make(r->source->ctx, r->memory, (p - r->x->data) / size, n, buffer + at);
}

/* ---- one output ---- */

/* Whole pieces of DIRECT elements, in place: each is a row. Into acc in the order of memory. */
static void fold_pieces(const reduce_plan *r, void *acc, const char *row, int64_t pieces) {
    _Alignas(64) char part[CASCADE / DIRECT * 8];
    r->red->start(part, pieces);
    r->red->rows(part, row, DIRECT * gp_ctype_size[r->red->load], pieces, DIRECT, r->p);
    for (int64_t k = 0; k < pieces; k++) r->red->join(acc, part + k * r->each, 1);
}

/* n elements, step bytes apart, into acc. */
static void fold_row(const reduce_plan *r, void *acc, const char *row, int64_t n) {
    _Alignas(64) char buf[GP_BLOCK * 8];
    int64_t step = r->red_stride[r->nred - 1];
    bool direct = r->direct && step == gp_ctype_size[r->red->load];
    int64_t i = 0, pieces = direct && r->red->rows && !r->source ? n / DIRECT : 0;
    if (pieces > 1) fold_pieces(r, acc, row, pieces), i = pieces * DIRECT;
    for (int64_t m; i < n; i += m) {
        m = direct ? DIRECT : GP_BLOCK;
        if (m > n - i) m = n - i;
        const char *at = elements(r, row + i * step, m, 0);
        if (!direct && (step || !i)) r->load(buf, at, step, m);
        r->red->fold(acc, direct ? at : buf, m, r->p);
    }
}

/* Where element `at` of the reduced part that begins at p is. */
static const char *reduced_at(const reduce_plan *r, const char *p, int64_t at) {
    for (int d = r->nred - 1; d > 0; d--)
        p += at % r->red_dim[d] * r->red_stride[d], at /= r->red_dim[d];
    return p + at * r->red_stride[0];
}

/* Folds elements [from, to) of the reduced part at p into acc, a cascade at a time. */
static void fold_range(const reduce_plan *r, void *acc, const char *p, int64_t from, int64_t to) {
    int64_t width = r->red_dim[r->nred - 1], part[FIELDS], done = 0, col = width ? from % width : 0;
    if (to - from <= CASCADE && col + to - from <= width) {
        if (from < to) fold_row(r, acc, reduced_at(r, p, from), to - from);
        return;
    }
    r->red->start(part, 1);
    for (int64_t at = from; at < to;) {
        int64_t left = width - col, n = left < to - at ? left : to - at;
        if (n > CASCADE - done) n = CASCADE - done;
        fold_row(r, part, reduced_at(r, p, at), n);
        at += n;
        done += n;
        col = n == left ? 0 : col + n;
        if (done < CASCADE && at < to) continue;
        r->red->join(acc, part, 1);
        r->red->start(part, 1);
        done = 0;
    }
}

/* ---- adjacent outputs ---- */

/* Folds rows [at, at + m) of n adjacent reduced parts that begin at p; buf holds m rows, the first
 * of which is number *first. Rows that are the same one (stride 0) are loaded once. */
static void each_rows(const reduce_plan *r, void *acc, char *buf, const char **first, const char *p,
                      int64_t n, int64_t at, int m) {
    const void *rows[GP_REDUCE_ROWS];
    int64_t step = r->kept_stride[r->nkept - 1], size = gp_ctype_size[r->red->load];
    bool direct = r->direct && step == size;
    for (int k = 0; k < m; k++) {
        const char *row = elements(r, reduced_at(r, p, at + k), n, k * 2 * SIDE);
        bool again = !direct && !r->source && row == *first;
        rows[k] = direct ? row : again ? buf : buf + k * SIDE;
        if (direct || again) continue;
        r->load(buf + k * SIDE, row, step, n);
        if (k == 0) *first = row;
    }
    r->red->each(acc, rows, m, n, r->p);
}

/* Folds elements [from, to) of n reduced parts, each into its accumulator. */
static void fold_columns(const reduce_plan *r, void *acc, const char *p, int64_t n, int64_t from,
                         int64_t to) {
    _Alignas(64) char part[SIDE], more[SIDE], buf[GP_REDUCE_ROWS * SIDE];
    const char *first = NULL;
    r->red->start(more, n);
    for (int64_t at = from, parts = 1; at < to; parts++) {
        int64_t stop = to - at < ROWS ? to : at + ROWS;
        r->red->start(part, n);
        for (; at < stop; at += GP_REDUCE_ROWS) {
            int m = stop - at < GP_REDUCE_ROWS ? (int)(stop - at) : GP_REDUCE_ROWS;
            each_rows(r, part, buf, &first, p, n, at, m);
        }
        at = stop;
        r->red->join(more, part, n);
        if (parts % ROWS && at < to) continue;
        r->red->join(acc, more, n);
        r->red->start(more, n);
    }
}

/* Folds n rows that begin at p, each into its accumulator: adjacent once they are transposed. */
static void fold_transposed(const reduce_plan *r, void *acc, const char *p, int64_t n) {
    _Alignas(64) char tile[TILE];
    reduce_plan t = *r;
    p = elements(r, p, n * r->count, 0);
    t.source = NULL;
    int64_t size = gp_dtype_sizes[r->x->dtype];
    gp_transpose(tile, n * size, p, r->kept_stride[r->nkept - 1], r->count, n, (size_t)size, false);
    t.kept_stride[r->nkept - 1] = size, t.red_stride[0] = n * size;
    fold_columns(&t, acc, tile, n, 0, r->count);
}

/* ---- blocks of outputs, parts of the reduced elements ---- */

/* The first element that is reduced into output i. */
static const char *kept_at(const reduce_plan *r, int64_t i) {
    const char *p = r->x->data;
    for (int d = r->nkept - 1; d >= 0; d--)
        p += i % r->kept_dim[d] * r->kept_stride[d], i /= r->kept_dim[d];
    return p;
}

/* First output of a block, and how many it has. */
static int64_t block_at(const reduce_plan *r, int64_t block, int64_t *n) {
    if (!r->columns) return *n = 1, block;
    int64_t per_row = (r->width + r->side - 1) / r->side, first = block % per_row * r->side;
    *n = r->width - first < r->side ? r->width - first : r->side;
    return block / per_row * r->width + first;
}

/* Finishes n accumulators, stored field by field, into outputs from `first` on; outputs have
 * no gaps. */
static void store_outputs(const reduce_plan *r, int64_t first, char *acc, int64_t n) {
    r->red->finish(acc, (double)r->count, n, r->p);
    for (int i = 0; i < r->nout; i++) {
        gp_dtype dt = (gp_dtype)r->out[i]->dtype;
        int64_t size = (int64_t)gp_dtype_size(dt);
        gp_store_fn(r->red->acc, dt)(r->out[i]->data + first * size, size,
                                     acc + i * n * gp_ctype_size[r->red->acc], n);
    }
}

/* n outputs from `at` on, of a whole row each. */
static void fold_rows(const reduce_plan *r, char *acc, int64_t at, int64_t n) {
    int64_t size = gp_dtype_sizes[r->x->dtype], some = CASCADE / (r->count ? r->count : 1);
    for (int64_t m; n; n -= m, at += m, acc += m * r->each) {
        m = r->width - at % r->width < n ? r->width - at % r->width : n;
        if (r->source) {
            m = m < some ? m : some;
            const char *made = elements(r, kept_at(r, at), m * r->count, 0);
            r->red->rows(acc, made, r->count * size, m, r->count, r->p);
            continue;
        }
        r->red->rows(acc, kept_at(r, at), r->kept_stride[r->nkept - 1], m, r->count, r->p);
    }
}

/* Many outputs of a row each: their accumulators are adjacent, to be finished and stored together.
 */
static void reduce_rows(const reduce_plan *r, int64_t begin, int64_t end) {
    _Alignas(64) char acc[TOGETHER * 8];
    for (int64_t at = begin; at < end; at += TOGETHER) {
        int64_t n = end - at < TOGETHER ? end - at : TOGETHER;
        r->red->start(acc, n);
        if (r->whole) fold_rows(r, acc, at, n);
        for (int64_t i = 0; !r->whole && i < n; i++)
            fold_range(r, acc + i * r->each, kept_at(r, at + i), 0, r->count);
        store_outputs(r, at, acc, n);
    }
}

/* Units [begin, end): a block of outputs, or a part of the reduced elements of one. */
static void reduce_blocks(void *ctx, int64_t begin, int64_t end) {
    const reduce_plan *r = ctx;
    _Alignas(64) char acc[SIDE];
    if (!r->columns && r->parts == 1 && r->red->fields == 1) {
        reduce_rows(r, begin, end);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t n, part = unit % r->parts, first = block_at(r, unit / r->parts, &n);
        int64_t from = r->count * part / r->parts, to = r->count * (part + 1) / r->parts;
        r->red->start(acc, n);
        if (r->transposed) fold_transposed(r, acc, kept_at(r, first), n);
        else if (r->columns) fold_columns(r, acc, kept_at(r, first), n, from, to);
        else fold_range(r, acc, kept_at(r, first), from, to);
        if (r->parts == 1) store_outputs(r, first, acc, n);
        else
            memcpy(r->partial + (part * r->out[0]->numel + first) * r->each, acc,
                   (size_t)(n * r->each));
    }
}

/* The same of elements that are made. */
static void reduce_made(void *ctx, int64_t begin, int64_t end) {
    reduce_plan own = *(const reduce_plan *)ctx;
    own.memory = own.source->begin(own.source->ctx);
    if (own.memory && gp_scratch(GP_SCRATCH_CALL, MADE)) reduce_blocks(&own, begin, end);
    else *own.failed = true;
}

/* On one thread, in the order of the parts: the sum does not depend on which was first. In pairs,
 * then pairs of pairs: for parts of equal size that loses the fewest digits. */
static void join_parts(const reduce_plan *r) {
    int64_t n, stride = r->out[0]->numel * r->each;
    for (int64_t block = 0; block < r->blocks; block++) {
        int64_t first = block_at(r, block, &n);
        char *acc = r->partial + first * r->each;
        for (int64_t distance = 1; distance < r->parts; distance *= 2)
            for (int64_t part = 0; part + distance < r->parts; part += 2 * distance)
                r->red->join(acc + part * stride, acc + (part + distance) * stride, n);
        store_outputs(r, first, acc, n);
    }
}

/* Splits x's dims into kept and reduced ones, each joined where their memory allows. */
static void split(reduce_plan *r, uint64_t mask) {
    const gp_array *x = r->x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    r->count = 1;
    for (int d = 0; d < x->ndim; d++) {
        bool red = mask >> d & 1;
        int *n = red ? &r->nred : &r->nkept;
        int64_t *dim = red ? r->red_dim : r->kept_dim,
                *stride = red ? r->red_stride : r->kept_stride;
        if (red) r->count *= x->dim[d];
        if (x->dim[d] == 1) continue;
        if (*n && stride[*n - 1] == x->stride[d] * size * x->dim[d]) {
            dim[*n - 1] *= x->dim[d];
            stride[*n - 1] = x->stride[d] * size;
            continue;
        }
        dim[*n] = x->dim[d];
        stride[(*n)++] = x->stride[d] * size;
    }
    if (r->nred == 0) r->red_dim[0] = 1, r->red_stride[0] = 0, r->nred = 1;
}

/* The reduced dims in the order of their memory: a transposed tensor is folded as fast as a
 * contiguous one. */
static void sort_reduced(reduce_plan *r) {
    for (int i = 1; i < r->nred; i++)
        for (int j = i; j > 0 && r->red_stride[j - 1] < r->red_stride[j]; j--) {
            int64_t dim = r->red_dim[j], stride = r->red_stride[j];
            r->red_dim[j] = r->red_dim[j - 1], r->red_stride[j] = r->red_stride[j - 1];
            r->red_dim[j - 1] = dim, r->red_stride[j - 1] = stride;
        }
    int n = 0;
    for (int i = 1; i < r->nred; i++) {
        if (r->red_stride[n] == r->red_stride[i] * r->red_dim[i]) r->red_dim[n] *= r->red_dim[i];
        else n++, r->red_dim[n] = r->red_dim[i];
        r->red_stride[n] = r->red_stride[i];
    }
    r->nred = n + 1;
}

/* Whether there are many short rows without gaps. */
static bool short_rows(const reduce_plan *r) {
    return r->nred == 1 && r->count > 1 && r->count <= (r->whole ? FOLDED : SHORT) &&
           r->width >= 8 && r->red_stride[0] == gp_dtype_sizes[r->x->dtype];
}

/* Up to a tile of them. */
static int64_t most_rows(const reduce_plan *r) {
    int64_t n = TILE / (r->count * gp_dtype_sizes[r->x->dtype]) & ~(int64_t)15;
    return n < r->side ? n : r->side;
}

/* Shares out the work: by outputs, and where these are few and long, by parts of the reduced
 * elements, too. picks: a row's last few elements are compared one by one, in branches. */
static void plan(reduce_plan *r, bool picks) {
    int64_t numel = r->out[0]->numel, together = 1;
    r->width = r->nkept ? r->kept_dim[r->nkept - 1] : 1;
    r->side = SIDE / r->each;
    int64_t across = r->nkept ? r->kept_stride[r->nkept - 1] : 0,
            along = r->red_stride[r->nred - 1];
    /* In an expanded tensor both strides may be 0: then shorter rows are avoided. A single element
     * is a row of outputs, too. */
    r->columns = r->width >= 8 &&
                 (across < along || r->count == 1 || (across == along && r->count < r->width));
    r->whole = !r->columns && (!picks || r->count > SHORT) && r->red->rows && r->direct &&
               r->nred == 1 && r->nkept && r->count <= CASCADE &&
               r->red_stride[0] == gp_ctype_size[r->red->load];
    r->transposed = !r->columns && short_rows(r);
    if (r->transposed) r->columns = true, r->side = most_rows(r);
    if (r->columns) together = r->width < r->side ? r->width : r->side;
    r->blocks = r->columns ? numel / r->width * ((r->width + r->side - 1) / r->side) : numel;
    r->parts = r->blocks < FEW ? r->count * together / GP_GRAIN : 1;
    r->parts = r->parts < 1 ? 1 : r->parts > PARTS ? PARTS : r->parts;
    if (r->parts > r->count) r->parts = r->count ? r->count : 1;
}

/* Reads the layout of x: which dims are kept, how the work is shared out. */
static void set_up(reduce_plan *r, const gp_call *c, const gp_op *op, uint64_t mask) {
    r->out = c->outa, r->nout = c->nout;
    r->each = r->red->fields * gp_ctype_size[r->red->acc];
    r->load = gp_load_fn((gp_dtype)r->x->dtype, r->red->load);
    r->direct = r->x->dtype == gp_ctype_dtype[r->red->load];
    split(r, mask);
    sort_reduced(r);
    plan(r, op->picks);
}

static bool reduce(const gp_call *c, reduce_plan *r) {
    int64_t numel = r->out[0]->numel;
    char buffer[PARTS * FIELDS * 8];
    r->partial =
        numel == 1 || r->parts == 1 ? buffer : malloc((size_t)(r->parts * numel) * (size_t)r->each);
    if (!r->partial) return gp_fail("%s: out of memory", c->op->name);
    int64_t per_unit = r->count / r->parts;
    if (r->columns) per_unit *= r->width < r->side ? r->width : r->side;
    bool ok = gp_parallel_op(c, r->blocks * r->parts, 1 + GP_GRAIN / (per_unit + 1),
                             r->source ? reduce_made : reduce_blocks, r);
    if (ok && r->parts > 1) join_parts(r);
    if (r->partial != buffer) free(r->partial);
    return ok;
}

bool gp_reduce(const gp_call *c, const gp_reducer *red, int dims, double p) {
    reduce_plan r = {.x = gp_in(c, 0), .red = red, .p = p};
    if (c->outa[0]->numel == 0) return true;
    set_up(&r, c, c->op, (uint64_t)c->arg[dims].i);
    return reduce(c, &r);
}

/* An address that is followed by none: that of the first element of an array nobody stores. */
static char *const nowhere = (char *)4096;

bool gp_reduce_takes(const gp_array *x, const gp_op *op, const gp_reducer *red, uint64_t mask,
                     const gp_call *c) {
    gp_array made = *x;
    made.data = nowhere;
    reduce_plan r = {.x = &made, .red = red};
    if (x->numel == 0 || c->outa[0]->numel == 0) return true;
    set_up(&r, c, op, mask);
    int64_t size = gp_dtype_sizes[x->dtype];
    bool rows = r.whole || r.transposed;
    if (rows) return r.width <= 1 || r.kept_stride[r.nkept - 1] == r.count * size;
    return r.columns ? r.kept_stride[r.nkept - 1] == size
                     : r.count == 1 || r.red_stride[r.nred - 1] == size;
}

bool gp_reduce_array(const gp_call *c, const gp_op *op, const gp_reducer *red, const gp_array *x,
                     uint64_t mask, const gp_element_source *source) {
    gp_array made = *x;
    _Atomic bool failed = false;
    if (source) made.data = nowhere;
    reduce_plan r = {.x = &made, .red = red, .source = source, .failed = &failed};
    if (c->outa[0]->numel == 0) return true;
    set_up(&r, c, op, mask);
    return reduce(c, &r) && (!failed || gp_fail("%s: out of memory", c->name));
}
