/* Random tensors: each element is a function of (seed, op counter, its row-major index),
 * independent of layout, threads and instruction set. */
#include <stdlib.h>
#include <string.h>

#include "kernels/common/poisson.h"
#include "kernels/cpu/random/philox.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/runtime/kernel.h"

enum { BLOCKS_A_PART = 16 };

/* n (at most GP_BLOCK) values of compute type for elements from `at`, a multiple of GP_BLOCK. */
typedef struct random_job random_job;
typedef void (*generator)(const random_job *r, int64_t at, int64_t n, void *values);

struct random_job {
    const gp_call *c;
    const gp_array *out;
    gp_ctype ct;
    gp_store store;
    generator fn;
    double a, b; /* low and width; mean and std */
    int bits;    /* of a uniform number that fits the dtype */
    bool stream; /* the output is contiguous, of compute type and too large for a cache */
    _Atomic bool bad;
};

/* Words for counters from `at` on, four each. */
static void words(const random_job *r, int64_t at, uint32_t *w) {
    philox_block(r->c->seed, r->c->counter, (uint64_t)at, GP_BLOCK / 4, w);
}

/* Two words for each element from `at` on. */
static void wide_words(const random_job *r, int64_t at, uint64_t *w) {
    uint32_t half[GP_BLOCK];
    for (int k = 0; k < 2; k++) {
        words(r, at / 2 + k * (GP_BLOCK / 4), half);
        for (int64_t i = 0; i < GP_BLOCK / 2; i++)
            w[k * (GP_BLOCK / 2) + i] = half[2 * i] | (uint64_t)half[2 * i + 1] << 32;
    }
}

/* One word per element; words past n are made and not used. */
static void uniform_f32(const random_job *r, int64_t at, int64_t n, void *values) {
    float *v = values, low = (float)r->a, width = (float)r->b;
    uint32_t w[GP_BLOCK];
    int bits = r->bits;
    words(r, at / 4, w);
    for (int64_t i = 0; i < GP_BLOCK; i++) v[i] = gp_uniform_f32(w[i], bits) * width + low;
}

static void uniform_f64(const random_job *r, int64_t at, int64_t n, void *values) {
    double *v = values;
    uint64_t w[GP_BLOCK];
    wide_words(r, at, w);
    for (int64_t i = 0; i < GP_BLOCK; i++) v[i] = gp_uniform_f64(w[i]) * r->b + r->a;
}

/* Two words make two numbers: gp_normal_f32 step by step. One loop for all steps is a chain of a
 * hundred instructions, where the processor stalls half of the time. */
static void normal_f32(const random_job *r, int64_t at, int64_t n, void *values) {
    enum { PAIRS = GP_BLOCK / 2 };
    float *v = values, mean = (float)r->a, std = (float)r->b;
    float x[PAIRS], k[PAIRS], p[PAIRS], sine[PAIRS], cosine[PAIRS];
    uint32_t first[PAIRS], second[PAIRS];
    philox_pairs(r->c->seed, r->c->counter, (uint64_t)at / 4, GP_BLOCK / 4, first, second);
    for (int i = 0; i < PAIRS; i++) x[i] = gp_log_split(first[i], &k[i]);
    for (int i = 0; i < PAIRS; i++) p[i] = gp_log_polynomial(x[i]);
    for (int i = 0; i < PAIRS; i++) p[i] = gp_radius(x[i], k[i], p[i]);
    for (int i = 0; i < PAIRS; i++) x[i] = gp_angle(second[i]);
    for (int i = 0; i < PAIRS; i++) sine[i] = gp_sine(x[i]), cosine[i] = gp_cosine(x[i]);
    for (int i = 0; i < PAIRS; i++) {
        float z[2];
        gp_normal_pair(second[i], p[i], sine[i], cosine[i], z);
        v[2 * i] = z[0] * std + mean;
        v[2 * i + 1] = z[1] * std + mean;
    }
}

/* Four words make two numbers. */
static void normal_f64(const random_job *r, int64_t at, int64_t n, void *values) {
    double *v = values;
    uint64_t w[GP_BLOCK];
    wide_words(r, at, w);
    for (int64_t i = 0; i < GP_BLOCK / 2; i++) {
        double z[2];
        gp_normal_f64(w[2 * i], w[2 * i + 1], z);
        v[2 * i] = z[0] * r->b + r->a;
        v[2 * i + 1] = z[1] * r->b + r->a;
    }
}

/* Arguments: the smallest and the largest, both included. */
static void integers(const random_job *r, int64_t at, int64_t n, void *values) {
    int64_t *v = values, low = r->c->arg[0].i;
    uint64_t w[GP_BLOCK], range = (uint64_t)r->c->arg[1].i - (uint64_t)low + 1;
    wide_words(r, at, w);
    for (int64_t i = 0; i < n; i++) v[i] = gp_integer(w[i], low, range);
}

/* ---- writing to the output ---- */

/* Calls fn for the runs of a's last dim that hold its row-major elements from `at` on. */
typedef void (*piece)(void *ctx, char *p, int64_t step, int64_t n, int64_t done);

static void pieces(const gp_array *a, int64_t at, int64_t n, piece fn, void *ctx) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    if (a->contiguous || a->ndim == 0) {
        fn(ctx, a->data + at * size, size, n, 0);
        return;
    }
    int last = a->ndim - 1;
    for (int64_t done = 0; done < n;) {
        int64_t rest = (at + done) / a->dim[last], col = (at + done) % a->dim[last],
                offset = col * a->stride[last];
        int64_t m = a->dim[last] - col < n - done ? a->dim[last] - col : n - done;
        for (int d = last - 1; d >= 0; d--)
            offset += rest % a->dim[d] * a->stride[d], rest /= a->dim[d];
        fn(ctx, a->data + offset * size, a->stride[last] * size, m, done);
        done += m;
    }
}

typedef struct laying {
    gp_store store;
    gp_load load;
    char *values;
    int64_t size; /* of a value */
} laying;

static void lay(void *ctx, char *p, int64_t step, int64_t n, int64_t done) {
    laying *l = ctx;
    l->store(p, step, l->values + done * l->size, n);
}

static void fetch(void *ctx, char *p, int64_t step, int64_t n, int64_t done) {
    laying *l = ctx;
    l->load(l->values + done * l->size, p, step, n);
}

/* Blocks of GP_BLOCK elements, each made from its number alone. */
static void run_blocks(void *ctx, int64_t begin, int64_t end) {
    random_job *r = ctx;
    _Alignas(64) char values[GP_BLOCK * 8];
    laying l = {.store = r->store, .values = values, .size = gp_ctype_size[r->ct]};
    for (int64_t b = begin; b < end; b++) {
        int64_t at = b * GP_BLOCK,
                n = r->out->numel - at < GP_BLOCK ? r->out->numel - at : GP_BLOCK;
        r->fn(r, at, n, values);
        if (r->stream)
            stream_out(r->out->data + at * l.size, values, (size_t)(n * l.size), NULL, 0);
        else pieces(r->out, at, n, lay, &l);
    }
    if (r->stream) stream_end();
}

/* Runs the blocks in parts; false when interrupted. */
static bool generate(random_job *r) {
    r->store = gp_store_fn(r->ct, (gp_dtype)r->out->dtype);
    r->stream = r->out->contiguous && r->out->dtype == gp_ctype_dtype[r->ct] &&
                r->out->numel * gp_ctype_size[r->ct] >= STREAM_BYTES;
    return gp_parallel_op(r->c, (r->out->numel + GP_BLOCK - 1) / GP_BLOCK, BLOCKS_A_PART,
                          run_blocks, r);
}

/* a, b: the generators' parameters in the job. */
static bool floats(const gp_call *c, generator f32, generator f64, double a, double b) {
    random_job r = {.c = c, .out = gp_out(c, 0), .a = a, .b = b};
    r.ct = gp_compute_type((gp_dtype)r.out->dtype);
    r.fn = r.ct == GP_CT_f64 ? f64 : f32;
    r.bits = r.out->dtype == GP_f16 ? 11 : r.out->dtype == GP_bf16 ? 8 : 24;
    return generate(&r);
}

bool CPU(rand)(const gp_call *c) { return floats(c, uniform_f32, uniform_f64, 0, 1); }
bool CPU(randn)(const gp_call *c) { return floats(c, normal_f32, normal_f64, 0, 1); }
bool CPU(rand_like)(const gp_call *c) { return CPU(rand)(c); }
bool CPU(randn_like)(const gp_call *c) { return CPU(randn)(c); }
bool CPU(uniform)(const gp_call *c) {
    return floats(c, uniform_f32, uniform_f64, c->arg[1].f, c->arg[2].f - c->arg[1].f);
}
bool CPU(normal)(const gp_call *c) {
    return floats(c, normal_f32, normal_f64, c->arg[1].f, c->arg[2].f);
}

bool CPU(randint)(const gp_call *c) {
    random_job r = {.c = c, .out = gp_out(c, 0), .ct = GP_CT_i64, .fn = integers};
    return generate(&r);
}

/* ---- distributions by element: bernoulli, poisson ---- */

/* The n elements of x from `at` on, as f64. */
static void elements(const random_job *r, int64_t at, int64_t n, double *v) {
    const gp_array *x = gp_in(r->c, 0);
    laying l = {.load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64), .values = (char *)v, .size = 8};
    pieces(x, at, n, fetch, &l);
}

/* 1 where a uniform number is below the probability: argument p, or the element of x itself. */
static void chances(const random_job *r, int64_t at, int64_t n, void *values) {
    int64_t *v = values;
    uint64_t w[GP_BLOCK];
    double p[GP_BLOCK];
    if (gp_given(r->c, 1))
        for (int64_t i = 0; i < n; i++) p[i] = r->a;
    else elements(r, at, n, p);
    int bad = 0;
    wide_words(r, at, w);
    for (int64_t i = 0; i < n; i++) {
        bad |= !(p[i] >= 0 && p[i] <= 1);
        v[i] = gp_uniform_f64(w[i]) < p[i];
    }
    if (bad) ((random_job *)r)->bad = true;
}

bool CPU(bernoulli)(const gp_call *c) {
    random_job r = {.c = c, .out = gp_out(c, 0), .ct = GP_CT_i64, .fn = chances};
    if (gp_given(c, 1))
        r.a =
            c->arg[1].kind == GP_NUMBER && !c->arg[1].is_float ? (double)c->arg[1].i : c->arg[1].f;
    generate(&r);
    return !r.bad || gp_fail("bernoulli: a probability in 'x' is not between 0 and 1");
}

/* Numbers of Poisson's distribution, at the rates in x. */
static void counts(const random_job *r, int64_t at, int64_t n, void *values) {
    double *v = values;
    elements(r, at, n, v);
    for (int64_t i = 0; i < n; i++) {
        bool ok = v[i] >= 0 && v[i] < (double)INFINITY;
        if (ok) v[i] = gp_poisson(v[i], r->c->seed, r->c->counter, (uint64_t)(at + i));
        else ((random_job *)r)->bad = true;
    }
}

bool CPU(poisson)(const gp_call *c) {
    random_job r = {.c = c, .out = gp_out(c, 0), .ct = GP_CT_f64, .fn = counts};
    generate(&r);
    return !r.bad || gp_fail("poisson: a rate in 'x' is negative, infinite or NaN");
}

/* ---- randperm ---- */

/* A random key and an index. Moved as one vector: a load of both would wait for two stores. */
typedef uint64_t entry __attribute__((vector_size(16), may_alias));
enum { KEY, INDEX };

/* Insertion sort: stable; for few entries, or nearly sorted ones. */
static void insert(entry *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        entry e = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1][KEY] > e[KEY]; j--) a[j] = a[j - 1];
        a[j] = e;
    }
}

/* Sorts n entries by the lowest `bits` bits of their keys, the others being equal: into `a`, or
 * `other`, which is as long. Random keys are uniform: two rounds suffice for a million. */
static void sort_keys(entry *a, entry *other, int64_t n, int bits, bool into_other) {
    enum { FEW = 8, DIGIT = 10 };
    if (n <= FEW || bits == 0) {
        insert(a, n);
        if (into_other) memcpy(other, a, (size_t)n * sizeof *a);
        return;
    }
    int digit = 64 - __builtin_clzll((uint64_t)n); /* one or two entries per bucket */
    if (digit > DIGIT) digit = DIGIT;
    if (digit > bits) digit = bits;
    int shift = bits - digit;
    int64_t buckets = (int64_t)1 << digit, end[1 << DIGIT], sum = 0;
    uint64_t mask = (uint64_t)buckets - 1;
    memset(end, 0, (size_t)buckets * sizeof *end);
    for (int64_t i = 0; i < n; i++) end[a[i][KEY] >> shift & mask]++;
    for (int64_t d = 0; d < buckets; d++) {
        int64_t count = end[d];
        end[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) other[end[a[i][KEY] >> shift & mask]++] = a[i];
    if (n >> digit < FEW) {
        insert(other, n);
        if (!into_other) memcpy(a, other, (size_t)n * sizeof *a);
        return;
    }
    for (int64_t d = 0, from = 0; d < buckets; from = end[d++])
        sort_keys(other + from, a + from, end[d] - from, shift, !into_other);
}

/* The order of 64 random bits per element; ties keep their order. */
bool CPU(randperm)(const gp_call *c) {
    random_job r = {.c = c, .out = gp_out(c, 0)};
    int64_t n = r.out->numel, size = (int64_t)gp_dtype_size((gp_dtype)r.out->dtype);
    if (gp_offload_wanted(c, 1000.0 * (double)n)) return gp_offload_run(c, c->name);
    entry *a = malloc(2 * (size_t)(n ? n : 1) * sizeof *a), *b = a + n;
    if (!a) return gp_fail("randperm: out of memory");
    uint64_t w[GP_BLOCK];
    for (int64_t at = 0; at < n; at += GP_BLOCK) {
        wide_words(&r, at, w);
        for (int64_t i = at; i < n && i < at + GP_BLOCK; i++)
            a[i] = (entry){w[i - at], (uint64_t)i + 1};
    }
    sort_keys(a, b, n, 64, false);
    gp_store store = gp_store_fn(GP_CT_i64, (gp_dtype)r.out->dtype);
    for (int64_t i = 0; i < n; i += GP_BLOCK) {
        int64_t index[GP_BLOCK], m = n - i < GP_BLOCK ? n - i : GP_BLOCK;
        for (int64_t j = 0; j < m; j++) index[j] = (int64_t)a[i + j][INDEX];
        store(r.out->data + i * size, size, index, m);
    }
    free(a);
    return true;
}
