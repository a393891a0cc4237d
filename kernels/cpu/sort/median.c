/* median, nanmedian and mode: one element chosen from each line, by order-preserving keys. */
#include <string.h>

#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/runtime/scratch.h"

enum { SHORT = 32 };

typedef enum kind { MEDIAN, NANMEDIAN, MODE } kind;

typedef struct median_job {
    kind kind;
    const gp_array *x;
    const gp_array *values, *indices; /* indices may be NULL */
    gp_nd_loop outs;                  /* 0: values, 1: x without the dim, 2: indices */
    int64_t n, step;                  /* the dim's size, and bytes between its elements */
    gp_key key;
    bool floats;
    uint64_t nan; /* the key of NaN, in floats */
    size_t size;
    _Atomic bool failed; /* out of memory */
} median_job;

/* The k-th smallest (from 0) of n keys of `bits` bits, which it permutes: keys that share the
 * digits found so far are counted by their next digit, the most significant first. */
static uint64_t kth(uint64_t *keys, int64_t n, int64_t k, int bits) {
    for (int shift = bits - 8; n > 1 && shift >= 0; shift -= 8) {
        int64_t count[256] = {0}, m = 0;
        int digit = 0;
        for (int64_t i = 0; i < n; i++) count[keys[i] >> shift & 255]++;
        while (k >= count[digit]) k -= count[digit++];
        if (count[digit] == n) continue;
        for (int64_t i = 0; i < n; i++) {
            keys[m] = keys[i];
            m += (int)(keys[i] >> shift & 255) == digit;
        }
        n = m;
    }
    return keys[0];
}

static void insertion_sort(uint64_t *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t v = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

/* Sorts n keys of `bits` bits; b is room for as many. Returns where they are: a or b. */
static uint64_t *sorted(uint64_t *a, uint64_t *b, int64_t n, int bits) {
    if (n <= SHORT) return insertion_sort(a, n), a;
    for (int shift = 0; shift < bits; shift += 8) {
        int64_t at[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) at[a[i] >> shift & 255]++;
        if (at[a[0] >> shift & 255] == n) continue;
        for (int d = 0; d < 256; d++) {
            int64_t count = at[d];
            at[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) b[at[a[i] >> shift & 255]++] = a[i];
        uint64_t *t = a;
        a = b, b = t;
    }
    return a;
}

/* The most frequent of sorted keys, the smallest of several; no NaN equals another. */
static uint64_t most_frequent(const median_job *r, const uint64_t *a) {
    uint64_t best = a[0];
    for (int64_t i = 0, j, most = 0; i < r->n; i = j) {
        bool nan = r->floats && a[i] == r->nan;
        for (j = i + 1; j < r->n && a[j] == a[i] && !nan; j++) continue;
        if (j - i > most) most = j - i, best = a[i];
    }
    return best;
}

/* The 0-based index of the chosen element among n keys, which are followed by room for 2 n more. */
static int64_t choose(const median_job *r, const uint64_t *keys, uint64_t *buffer) {
    int64_t n = r->n, nans = 0, bits = r->x->dtype == GP_bool ? 8 : 8 * (int64_t)r->size;
    uint64_t want;
    memcpy(buffer, keys, (size_t)n * sizeof *keys);
    if (r->kind == MODE) {
        want = most_frequent(r, sorted(buffer, buffer + n, n, (int)bits));
        int64_t last = n - 1;
        while (keys[last] != want) last--;
        return last;
    }
    if (r->floats)
        for (int64_t i = 0; i < n; i++) nans += keys[i] == r->nan;
    if (nans && (r->kind == MEDIAN || nans == n)) want = r->nan;
    else want = kth(buffer, n, (n - nans - 1) / 2, (int)bits);
    int64_t first = 0;
    while (keys[first] != want) first++;
    return first;
}

static void choose_lines(void *ctx, int64_t begin, int64_t end) {
    median_job *r = ctx;
    uint64_t *keys = gp_scratch(GP_SCRATCH_PART, 3 * (size_t)r->n * sizeof *keys);
    if (!keys) {
        r->failed = true;
        return;
    }
    int last = r->outs.ndim - 1;
    int64_t width = r->outs.dim[last];
    gp_row_iter rows;
    gp_row_iter_begin(&rows, &r->outs, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&rows, &r->outs)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i++) {
            const char *x = rows.p[1] + i * r->outs.stride[1][last];
            r->key(keys, x, r->step, r->n);
            int64_t k = choose(r, keys, keys + r->n);
            memcpy(rows.p[0] + i * r->outs.stride[0][last], x + k * r->step, r->size);
            if (r->indices) *(int64_t *)(void *)(rows.p[2] + i * r->outs.stride[2][last]) = k + 1;
        }
    }
}

static uint64_t nan_key(gp_dtype dt) {
    return dt == GP_f32 ? UINT32_MAX : gp_dtype_size(dt) == 2 ? UINT16_MAX : UINT64_MAX;
}

/* Arguments: x, dim (0-based; -1: all of the temporary, which is contiguous). */
static bool run_choice(const gp_call *c, kind kind) {
    int d = (int)c->arg[1].i;
    bool whole = d < 0;
    const gp_array *x = whole ? c->tmpa[0] : gp_in(c, 0);
    gp_dtype dt = (gp_dtype)x->dtype;
    median_job r = {.kind = kind, .x = x, .values = gp_out(c, 0), .key = gp_key_fn(dt)};
    r.size = gp_dtype_size(dt);
    r.indices = whole ? NULL : gp_out(c, 1);
    r.floats = gp_is_float(dt);
    r.nan = nan_key(dt);
    r.n = whole ? x->numel : x->ndim ? x->dim[d] : 1;
    r.step = (int64_t)r.size * (whole || !x->ndim ? 1 : x->stride[d]);
    if (r.values->numel == 0) return true;
    if (gp_offload_wanted(c, (kind == MODE ? 400.0 : 100.0) * (double)r.n))
        return gp_offload_run(c, c->name);
    if (r.n == 0) { /* the median of nothing: floats only */
        gp_scalar_store(dt, r.values->data, (gp_scalar){.is_float = true, .f = NAN});
        return true;
    }
    gp_array kept = *x, vals = *r.values, positions;
    if (whole) kept.ndim = 0;
    else kept = gp_without_dim(x, d);
    kept.numel = r.values->numel;
    gp_shape shape = {.ndim = kept.ndim};
    vals.ndim = kept.ndim; /* keepdim or not, the outputs are contiguous */
    for (int i = 0; i < kept.ndim; i++) shape.dim[i] = vals.dim[i] = kept.dim[i];
    gp_shape_strides(&shape, vals.stride);
    positions = vals;
    positions.dtype = GP_i64;
    positions.data = r.indices ? r.indices->data : vals.data;
    gp_nd_loop_init(&r.outs, 3, (const gp_array *[]){&vals, &kept, &positions});
    return gp_parallel_op(c, vals.numel, 1 + GP_GRAIN / 4 / r.n, choose_lines, &r) &&
           (!r.failed || gp_fail("%s: out of memory", c->op->name));
}
bool CPU(median)(const gp_call *c) { return run_choice(c, MEDIAN); }
bool CPU(nanmedian)(const gp_call *c) { return run_choice(c, NANMEDIAN); }
bool CPU(mode)(const gp_call *c) { return run_choice(c, MODE); }
