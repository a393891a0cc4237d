/* distinct: the distinct elements in order, where unique begins. Integers of a small range are not
 * sorted: a table notes which there are, or how often. Anything else is sorted and one of each run
 * of equal elements kept. Tables are worth 3.8 at 524288 labels of 11 kinds, 11 of 1,000 (one
 * thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/sort/sort.h"

/* WORD, SEEN, COUNTED: how many values a part can find by the bits of a word, by a table, and by
 * counters in lanes (so that an element need not wait for the count just written). */
enum { WORD = 64, SEEN = 1 << 16, COUNTED = 1 << 10, LANES = 4, PARTS = 64 };
_Static_assert(WORD == 8 * sizeof(uint64_t), "bits_of has a bit for each value");

typedef struct table {
    uint64_t word;
    uint8_t *seen;
    uint32_t *count; /* LANES x COUNTED; NULL: not wanted */
} table;

typedef struct few {
    void (*range)(const char *x, int64_t n, int64_t *low, int64_t *high);
    void (*note)(const char *x, int64_t n, int64_t low, int64_t range, table *t);
    void (*store)(char *o, int64_t i, int64_t v);
} few;

/* Elements are read twice, first for the range: if another stream writes them meanwhile the result
 * is undefined, but nothing is written outside of the tables. */

/* Bit k for each k among n numbers below 64. In lanes, because the compiler does not vectorise this
 * loop. */
static uint64_t bits_of(const uint64_t *k, int64_t n) {
    typedef uint64_t lanes __attribute__((vector_size(64)));
    const lanes one = {1, 1, 1, 1, 1, 1, 1, 1}, six = one * 63;
    lanes all = {0}, v;
    int64_t i = 0;
    uint64_t w = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&v, k + i, sizeof v);
        all |= one << (v & six);
    }
    for (int j = 0; j < 8; j++) w |= all[j];
    for (; i < n; i++) w |= (uint64_t)1 << (k[i] & 63);
    return w;
}

#define ITSELF(v) (v)
#define TRUTH(v) ((v) != 0)
#define NAME truth
#define T uint8_t
#define VALUE TRUTH
#include "kernels/cpu/sort/distinct.inc"
#define NAME u8
#define T uint8_t
#define VALUE ITSELF
#include "kernels/cpu/sort/distinct.inc"
#define NAME i8
#define T int8_t
#define VALUE ITSELF
#include "kernels/cpu/sort/distinct.inc"
#define NAME i16
#define T int16_t
#define VALUE ITSELF
#include "kernels/cpu/sort/distinct.inc"
#define NAME i32
#define T int32_t
#define VALUE ITSELF
#include "kernels/cpu/sort/distinct.inc"
#define NAME i64
#define T int64_t
#define VALUE ITSELF
#include "kernels/cpu/sort/distinct.inc"
#define FNS(name)                                                                                  \
    { range_##name, note_##name, store_##name }
static const few fews[GP_DTYPES] = {
    [GP_bool] = FNS(truth), [GP_u8] = FNS(u8),   [GP_i8] = FNS(i8),
    [GP_i16] = FNS(i16),    [GP_i32] = FNS(i32), [GP_i64] = FNS(i64)};

/* x without gaps, in parts, a thread each. */
typedef struct job {
    const char *x;
    int64_t n, size, parts;
    const few *fn;
    int64_t low, range;
    struct {
        int64_t low, high;
        table t;
    } of[PARTS];
} job;

static int64_t first_of(const job *j, int64_t k) { return j->n * k / j->parts; }

static void find_range(void *ctx, int64_t begin, int64_t end) {
    job *j = ctx;
    for (int64_t k = begin; k < end; k++)
        j->fn->range(j->x + first_of(j, k) * j->size, first_of(j, k + 1) - first_of(j, k),
                     &j->of[k].low, &j->of[k].high);
}

static void note_part(void *ctx, int64_t begin, int64_t end) {
    job *j = ctx;
    for (int64_t k = begin; k < end; k++)
        j->fn->note(j->x + first_of(j, k) * j->size, first_of(j, k + 1) - first_of(j, k), j->low,
                    j->range, &j->of[k].t);
}

/* How often value v of the range occurs; 0 or 1 where they are not counted. */
static int64_t times(const job *j, int64_t v) {
    int64_t n = 0;
    for (int64_t k = 0; k < j->parts; k++) {
        const table *t = &j->of[k].t;
        if (t->count)
            for (int q = 0; q < LANES; q++) n += t->count[q * COUNTED + v];
        else n |= j->range <= WORD ? (int64_t)(t->word >> v & 1) : t->seen[v];
    }
    return n;
}

/* Writes the distinct values of the range in order; returns their number. */
static int64_t list_values(const job *j, char *values, int64_t *counts) {
    int64_t found = 0;
    for (int64_t v = 0; v < j->range; v++) {
        int64_t n = times(j, v);
        if (!n) continue;
        if (counts) counts[found] = n;
        j->fn->store(values, found++, j->low + v);
    }
    return found;
}

/* Finds distinct elements by tables; returns their number, 0 if the range is too large or memory is
 * short. */
static int64_t few_values(const gp_array *x, char *values, int64_t *counts) {
    job j = {.x = x->data,
             .n = x->numel,
             .size = (int64_t)gp_dtype_size((gp_dtype)x->dtype),
             .fn = &fews[x->dtype]};
    j.parts = j.n / GP_GRAIN < gp_threads() ? j.n / GP_GRAIN : gp_threads();
    j.parts = j.parts < 1 ? 1 : j.parts > PARTS ? PARTS : j.parts;
    gp_parallel(j.parts, 1, find_range, &j);
    int64_t low = j.of[0].low, high = j.of[0].high;
    for (int64_t k = 1; k < j.parts; k++) {
        low = j.of[k].low < low ? j.of[k].low : low;
        high = j.of[k].high > high ? j.of[k].high : high;
    }
    uint64_t above = (uint64_t)high - (uint64_t)low;
    if (above >= (counts ? COUNTED : SEEN) || (above >= WORD && (int64_t)above >= 4 * j.n))
        return 0;
    j.low = low, j.range = (int64_t)above + 1;
    size_t each = counts ? LANES * COUNTED * sizeof(uint32_t) : ((size_t)j.range + 63) / 64 * 64;
    if (counts || j.range > WORD) {
        char *scratch = gp_scratch(GP_SCRATCH_CALL, (size_t)j.parts * each);
        if (!scratch) return 0;
        memset(scratch, 0, (size_t)j.parts * each);
        for (int64_t k = 0; k < j.parts; k++) {
            if (counts) j.of[k].t.count = (uint32_t *)(void *)(scratch + (size_t)k * each);
            else j.of[k].t.seen = (uint8_t *)scratch + (size_t)k * each;
        }
    }
    gp_parallel(j.parts, 1, note_part, &j);
    return list_values(&j, values, counts);
}

/* Moves elements that begin a run to the front, after o[run]; returns the last run's number. Each
 * is written to the next free place and kept only if it begins a run: no branch to mispredict. */
#define KEEP(T)                                                                                    \
    static int64_t keep_##T(char *to, int64_t run, const char *from, const uint8_t *starts,        \
                            int64_t n) {                                                           \
        T *o = (T *)(void *)to;                                                                    \
        const T *x = (const T *)(const void *)from;                                                \
        for (int64_t i = 0; i < n; i++) o[run + 1] = x[i], run += starts[i];                       \
        return run;                                                                                \
    }
KEEP(uint8_t)
KEEP(uint16_t)
KEEP(uint32_t)
KEEP(uint64_t)

static int64_t keep(int64_t size, char *to, int64_t run, const char *from, const uint8_t *starts,
                    int64_t n) {
    if (size == 8) return keep_uint64_t(to, run, from, starts, n);
    if (size == 4) return keep_uint32_t(to, run, from, starts, n);
    if (size == 2) return keep_uint16_t(to, run, from, starts, n);
    return keep_uint8_t(to, run, from, starts, n);
}

/* Sorted elements: one of each run moves to the front. */
static int64_t list_runs(const gp_array *sorted, int64_t *counts) {
    gp_differ differ = gp_differ_fn((gp_dtype)sorted->dtype);
    uint8_t starts[GP_BLOCK];
    int64_t run = -1, size = (int64_t)gp_dtype_size((gp_dtype)sorted->dtype);
    for (int64_t i = 0; i < sorted->numel; i += GP_BLOCK) {
        int64_t n = sorted->numel - i < GP_BLOCK ? sorted->numel - i : GP_BLOCK, skip = i == 0;
        const char *block = sorted->data + i * size;
        starts[0] = 1;
        differ(starts + skip, block + skip * size, 1, n - skip);
        for (int64_t k = 0, r = run; counts && k < n; k++) {
            if (starts[k]) counts[++r] = 0;
            counts[r]++;
        }
        run = keep(size, sorted->data, run, block, starts, n);
    }
    return run + 1;
}

/* c->tmp[0] is x without gaps. */
bool CPU(distinct)(const gp_call *c) {
    const gp_array *x = c->tmpa[0], *values = gp_out(c, 0);
    int64_t *found = (int64_t *)(void *)gp_out(c, 1)->data;
    int64_t *counts = c->nout > 2 ? (int64_t *)(void *)gp_out(c, 2)->data : NULL;
    *found = 0;
    if (x->numel == 0) return true;
    if (fews[x->dtype].range && x->numel <= UINT32_MAX)
        *found = few_values(x, values->data, counts);
    if (*found) return true;
    if (!gp_sort_whole(c, x, values)) return false;
    *found = list_runs(values, counts);
    return true;
}
