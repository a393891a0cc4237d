/* embedding: rows of a table, and the sums of gradients into them. */
#include <string.h>

#include "kernels/cpu/loss/labels.h"
#include "kernels/cpu/index/gather.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { BLOCK = 256 };

typedef struct embedding_job {
    const gp_array *index, *rows; /* contiguous; the table, or the gradients to be summed */
    const gp_array *out;
    int64_t width, size; /* elements of a row; bytes of an element */
    gp_label_reader labels;
    bool skips; /* labels.ignore is the row left out; every other index must be in range */
    char *sums; /* of compute type, num_embeddings x width */
    gp_ctype ct;
} embedding_job;

static int64_t read_index(embedding_job *r, int64_t at, int64_t end, int32_t *index) {
    int64_t step = gp_dtype_sizes[r->index->dtype], n = end - at < BLOCK ? end - at : BLOCK;
    gp_label_reader_read(&r->labels, r->index->data + at * step, step, n, index);
    int32_t least = 0;
    for (int64_t i = 0; i < n; i++) least = index[i] < least ? index[i] : least;
    if (least < 0 && !r->skips) r->labels.bad = true;
    return n;
}

/* Rows [begin, end) of the result. */
static void copy_rows(void *ctx, int64_t begin, int64_t end) {
    embedding_job *r = ctx;
    int32_t index[BLOCK];
    int64_t from[BLOCK], bytes = r->width * r->size;
    for (int64_t at = begin; at < end;) {
        int64_t n = read_index(r, at, end, index), good = 0;
        for (int64_t i = 0; i < n; i++) {
            good += index[i] >= 0;
            from[i] = index[i] * bytes;
        }
        if (good == n)
            gp_gather_rows(r->out->data + at * bytes, r->rows->data, from, n, (size_t)bytes);
        at += n;
    }
}

/* After all rows: an index out of range fails the op. */
static bool report(const gp_call *c, const embedding_job *r) {
    if (!r->labels.bad) return true;
    gp_load load = gp_load_fn((gp_dtype)r->index->dtype, GP_CT_i64);
    int64_t v = 0, step = gp_dtype_sizes[r->index->dtype];
    for (int64_t i = 0; i < r->index->numel; i++) {
        load(&v, r->index->data + i * step, step, 1);
        if (v < 1 || v > r->labels.classes) break;
    }
    return gp_fail("%s: index %lld is out of range (expected 1 to %lld)", c->op->name, (long long)v,
                   (long long)r->labels.classes);
}

bool CPU(embedding)(const gp_call *c) {
    embedding_job r = {.index = c->tmpa[0], .rows = c->tmpa[1], .out = gp_out(c, 0)};
    r.width = r.rows->dim[1], r.size = gp_dtype_sizes[r.rows->dtype];
    gp_label_reader_init(&r.labels, r.index, r.rows->dim[0], 0);
    return gp_parallel_op(c, r.index->numel, 1 + GP_GRAIN / (1 + r.width), copy_rows, &r) &&
           report(c, &r);
}

/* Columns begin … end of all rows: each sum is made by one thread, in order. */
static void add_columns(void *ctx, int64_t begin, int64_t end) {
    embedding_job *r = ctx;
    int32_t index[BLOCK];
    char buf[BLOCK * 8];
    int64_t count = r->index->numel, size = r->size;
    gp_load load = gp_load_fn((gp_dtype)r->rows->dtype, r->ct);
    for (int64_t at = 0, n; at < count && !gp_stopped(); at += n) {
        n = read_index(r, at, count, index);
        for (int64_t i = 0; i < n; i++)
            for (int64_t from = begin; index[i] >= 0 && from < end; from += BLOCK) {
                int64_t w = end - from < BLOCK ? end - from : BLOCK,
                        to = index[i] * r->width + from;
                load(buf, r->rows->data + ((at + i) * r->width + from) * size, size, w);
                if (r->ct == GP_CT_f32)
                    for (int64_t j = 0; j < w; j++) ((float *)r->sums)[to + j] += ((float *)buf)[j];
                else
                    for (int64_t j = 0; j < w; j++)
                        ((double *)r->sums)[to + j] += ((double *)buf)[j];
            }
    }
}

/* Arguments: g, index, num_embeddings, padding_idx; contiguous copies of g and index in c->tmp. */
bool CPU(embedding_grad)(const gp_call *c) {
    embedding_job r = {.index = c->tmpa[1], .rows = c->tmpa[0], .out = gp_out(c, 0)};
    int64_t n = r.out->numel, os = gp_dtype_sizes[r.out->dtype], count = c->arg[2].i,
            pad = gp_given(c, 3) ? c->arg[3].i : 0;
    r.width = r.out->dim[1], r.size = gp_dtype_sizes[r.rows->dtype];
    r.ct = gp_compute_type((gp_dtype)r.out->dtype);
    bool direct = r.out->dtype == gp_ctype_dtype[r.ct];
    r.sums =
        direct ? r.out->data : gp_scratch(GP_SCRATCH_CALL, (size_t)(n + 1) * gp_ctype_size[r.ct]);
    if (!r.sums) return gp_fail("embedding_grad: out of memory");
    memset(r.sums, 0, (size_t)n * gp_ctype_size[r.ct]);
    r.skips = pad != 0;
    gp_label_reader_init(&r.labels, r.index, count, pad < 0 ? pad + count + 1 : pad);
    gp_parallel(r.width, 1 + GP_GRAIN / (1 + r.index->numel), add_columns, &r);
    if (!gp_check_interrupt(c)) return false;
    if (!direct) gp_store_fn(r.ct, (gp_dtype)r.out->dtype)(r.out->data, os, r.sums, n);
    return report(c, &r);
}
