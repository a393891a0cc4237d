/* Products of 16-bit matrices: columns of b are packed as a panel in the second-level cache, which
 * all rows of a are then multiplied by; results are rounded once, at the end. */
#include "kernels/cpu/matmul/half.h"

#include <string.h>

#include "kernels/cpu/runtime/scratch.h"

enum {
    LEAST_ROWS = 48,    /* rows of a that are worth packing a panel again */
    UNIT_WORK = 1 << 18 /* multiplications worth a thread */
};

/* Vectors before panel i: about as many in each, at most four. */
static int64_t first_vector(const gp_half_product *p, int64_t i, int64_t lanes) {
    return (p->n + lanes - 1) / lanes * i / p->panels;
}

/* Packs panel i of b into `panel`, its only one; returns its first column. */
static int64_t pack(const gp_half_product *p, int64_t i, gp_panels *panel, char *scratch) {
    int64_t lanes = GP_VB / (int64_t)sizeof(float), from = first_vector(p, i, lanes),
            to = first_vector(p, i + 1, lanes), first = from * lanes,
            end = to * lanes < p->n ? to * lanes : p->n;
    gp_panel_source b = p->b;
    b.w += first * b.rs;
    gp_panels_init(panel, GP_CT_f32, p->pairs, 1, end - first, p->k);
    gp_panels_narrow(panel, (int)(to - from));
    panel->start = scratch;
    panel->data = scratch + 4 * GP_VB;
    gp_panels_pack(panel, &b, 0, 1);
    return first;
}

static void add_row(float *restrict c, const float *restrict y, int64_t n) {
    for (int64_t j = 0; j < n; j++) c[j] += y[j];
}

/* Rows [from, to) of a times the panel, in groups that fit the buffer. */
static void some_rows(const gp_half_product *p, const gp_panels *panel, int64_t first, int64_t from,
                      int64_t to) {
    _Alignas(64) char buf[GP_PANEL_BUFFER * 4 * GP_VB];
    int64_t size = (int64_t)gp_dtype_size(p->dtype), wide = panel->width * (int64_t)sizeof(float);
    gp_store store = gp_pairs_store_fn(p->pairs, p->dtype);
    gp_panels_multiply(panel, 0, to - from, p->a + from * p->lda * (p->pairs ? 2 : 4), p->lda, buf);
    for (int64_t r = from; r < to; r++) {
        char *c = p->c + (r * p->ldc + first) * size, *y = buf + (r - from) * wide;
        if (p->add) add_row((float *)c, (float *)y, panel->units);
        else store(c, size, y, panel->units);
    }
}

/* Units [begin, end): a panel and a group of rows each. */
static void units(void *ctx, int64_t begin, int64_t end) {
    gp_half_product *p = ctx;
    int64_t depth = gp_panels_depth(p->pairs, p->k), packed = -1, first = 0;
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)((1 + depth) * 4 * GP_VB));
    gp_panels panel;
    if (!scratch) p->no_memory = true;
    for (int64_t u = begin; u < end && scratch; u++) {
        int64_t group = u % p->groups, from = p->m * group / p->groups,
                to = p->m * (group + 1) / p->groups,
                blocks = (to - from + GP_PANEL_BUFFER - 1) / GP_PANEL_BUFFER;
        if (packed != u / p->groups) first = pack(p, packed = u / p->groups, &panel, scratch);
        for (int64_t b = 0; b < blocks && !p->stopped; b++) {
            some_rows(p, &panel, first, from + (to - from) * b / blocks,
                      from + (to - from) * (b + 1) / blocks);
            if (gp_stopped()) p->stopped = true;
        }
    }
}

static bool in_pairs(gp_dtype b) { return b == GP_bf16 && gp_packs_pairs(); }

size_t gp_half_bytes(const gp_matrix *a, gp_dtype b) {
    gp_dtype want = in_pairs(b) ? GP_bf16 : GP_f32;
    size_t n = (size_t)(a->rows * a->cols);
    return a->dtype == want && a->cs == 1 ? 0 : (n * gp_dtype_size(want) + 63) / 64 * 64;
}

/* Makes a rows of the dtype that products read, in room if they are not; false when interrupted. */
static bool rows_of(gp_half_product *p, const gp_matrix *a, char *buffer) {
    p->a = a->data;
    p->lda = a->rs;
    if (!buffer) return true;
    gp_array from = {.data = (char *)a->data,
                     .numel = a->rows * a->cols,
                     .dtype = (uint8_t)a->dtype,
                     .ndim = 2,
                     .dim = {a->rows, a->cols},
                     .stride = {a->rs, a->cs}};
    gp_array to = from;
    to.data = buffer;
    to.dtype = p->pairs ? GP_bf16 : GP_f32;
    to.stride[0] = a->cols, to.stride[1] = 1;
    to.contiguous = true;
    p->a = buffer;
    p->lda = a->cols;
    if (p->call) return gp_copy_op(p->call, &to, &from);
    gp_copy_array(&to, &from);
    return true;
}

/* Panels, and groups of rows where those are too few for the threads. */
static void divide(gp_half_product *p) {
    int64_t threads = p->call ? gp_threads() : 1, want = 2 * threads, most = p->m / LEAST_ROWS;
    p->panels = (p->n + GP_VB - 1) / GP_VB;
    p->groups = threads == 1 || p->panels >= want ? 1 : (want + p->panels - 1) / p->panels;
    if (p->groups > most) p->groups = most > 0 ? most : 1;
}

static bool few(gp_half_product *p, const gp_matrix *a, const gp_matrix *b) {
    p->pairs = p->pairs && GP_PAIRS; /* which processors with AMX have, too */
    if (gp_half_few(p, a, b)) return true;
    return p->call && p->no_memory && gp_fail("%s: out of memory", p->call->name);
}

bool gp_half_multiply(gp_half_product *p, const gp_matrix *a, const gp_matrix *b, char *buffer) {
    int64_t size = (int64_t)gp_dtype_size(b->dtype);
    p->pairs = in_pairs(b->dtype);
    p->m = a->rows, p->n = b->cols, p->k = a->cols;
    p->b =
        (gp_panel_source){.w = b->data, .dtype = b->dtype, .rs = b->cs * size, .cs = b->rs * size};
    if (!p->add && gp_half_is_few(a, b)) return few(p, a, b);
    if (!rows_of(p, a, buffer)) return false;
    divide(p);
    int64_t n = p->panels * p->groups, work = p->m * p->n * p->k / n;
    if (!p->call) units(p, 0, n);
    else if (!gp_parallel_op(p->call, n, 1 + UNIT_WORK / (1 + work), units, p)) return false;
    if (p->call && p->stopped) return gp_fail("%s: interrupted", p->call->name);
    if (p->call && p->no_memory) return gp_fail("%s: out of memory", p->call->name);
    return !p->stopped && !p->no_memory;
}
