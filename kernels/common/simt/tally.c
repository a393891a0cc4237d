/* What a warp's request needs of the card, by NVIDIA's rules (CUDA C++ Programming Guide, "Global
 * Memory" and "Shared Memory" of the compute capabilities; Best Practices Guide, "Coalesced
 * Access"): global memory moves in sectors of 32 bytes, and shared memory has 32 banks of 4 bytes,
 * each of which gives one word in a pass, to all lanes that ask for it. Accesses of 8 bytes are
 * served for half a warp at a time, of 16 for a quarter. Each array counts as if it began at a
 * multiple of 256 bytes, and at bank 0. */
#include "kernels/common/simt/counter.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static int row_of(gp_counter *c, const gp_count_row *key) {
    gp_simt_counts *s = &c->sum;
    for (int i = 0; i < s->nrows; i++) {
        const gp_count_row *row = &s->row[i];
        if (row->line == key->line && row->kind == key->kind && row->shared == key->shared &&
            !strcmp(row->name, key->name))
            return i;
    }
    gp_count_row *more = realloc(s->row, (size_t)(s->nrows + 1) * sizeof *more);
    if (!more) return c->lost = true, -1;
    s->row = more;
    s->row[s->nrows] = *key;
    return s->nrows++;
}

static void copy_name(gp_count_row *row, const char *name) {
    size_t n = strlen(name);
    if (n >= sizeof row->name) n = sizeof row->name - 1;
    memcpy(row->name, name, n);
}

/* Sets lo and bytes to what `p`, in area `a`, is part of, and the row's name to its name. */
static void find_array(const gp_check *c, const gp_area *a, const char *p, gp_counted *e,
                       gp_count_row *row) {
    const gp_simt_module *m = c->launch->kernel->module;
    *e = (gp_counted){.lo = a->lo, .bytes = a->bytes, .shared = a->shared};
    for (int i = 0; i < c->launch->ntensors; i++) {
        const gp_simt_tensor *t = &c->launch->tensor[i];
        if (a != &c->area[c->of[i] + 1] || (uint64_t)(p - c->at[i]) >= t->bytes) continue;
        e->lo = c->at[i], e->bytes = t->bytes;
        copy_name(row, t->name);
        return;
    }
    for (int i = 0; i < m->symbols.n && a->variable; i++) {
        const gp_simt_symbol *s = &m->symbols.row[i];
        const char *lo = s->shared ? c->statics.lo + s->at : m->base + s->at;
        if (s->shared != a->shared || (uint64_t)(p - lo) >= s->size) continue;
        e->lo = lo, e->bytes = s->size;
        copy_name(row, s->name);
        return;
    }
}

static int line_of(const gp_simt_module *m, const void *pc) {
    return gp_simt_line_at(&m->lines, (uint64_t)((const char *)pc - m->base - 1));
}

static bool grow(gp_counter *c) {
    int size = c->size ? 2 * c->size : 256;
    gp_counted *table = calloc((size_t)size, sizeof *table);
    if (!table) return c->lost = true, false;
    for (int i = 0; i < c->size; i++) {
        if (!c->table[i].pc) continue;
        uint64_t at = (uintptr_t)c->table[i].pc;
        while (table[at & (uint64_t)(size - 1)].pc) at++;
        table[at & (uint64_t)(size - 1)] = c->table[i];
    }
    free(c->table);
    c->table = table, c->size = size;
    return true;
}

/* What the request is part of; NULL: of no memory that is counted. */
static const gp_counted *entry_of(gp_runner *r, const gp_request *q, const char *p) {
    gp_counter *c = r->counter;
    if (2 * c->used >= c->size && !grow(c)) return NULL;
    uint64_t at = (uintptr_t)q->pc, mask = (uint64_t)(c->size - 1);
    for (; c->table[at & mask].pc; at++) {
        const gp_counted *e = &c->table[at & mask];
        if (e->pc == q->pc && (uint64_t)(p - e->lo) < e->bytes) return e;
    }
    const gp_area *a = gp_check_area(r->check, p);
    gp_count_row row = {.kind = q->kind, .size = q->size};
    if (!a) return NULL;
    gp_counted *e = &c->table[at & mask];
    find_array(r->check, a, p, e, &row);
    row.line = line_of(r->launch->kernel->module, q->pc), row.shared = a->shared;
    e->row = row_of(c, &row);
    if (e->row < 0) return NULL;
    e->pc = q->pc, c->used++;
    return e;
}

/* ---- global memory ---- */

/* Distinct numbers, in the order in which they came. */
typedef struct distinct {
    int n;
    bool sorted; /* so far */
    int64_t v[GP_SIMT_WARP];
} distinct;

static inline void include(distinct *d, int64_t v) {
    if (d->n && d->v[d->n - 1] == v) return;
    if (d->n && d->v[d->n - 1] > v) d->sorted = false;
    for (int i = 0; i < d->n && !d->sorted; i++)
        if (d->v[i] == v) return;
    d->v[d->n++] = v;
}

static void mark(gp_runner *r, const gp_request *q, const char *p) {
    gp_check *check = r->check;
    gp_counter *c = r->counter;
    const gp_area *a = gp_check_area(check, p);
    if (!a || a->shared) return;
    uint8_t *touched = c->touched[a == &check->data ? GP_SIMT_TENSORS + 1 : (int)(a - check->area)];
    for (unsigned i = 0; i < q->size; i += 4) {
        unsigned in = (uintptr_t)(p + i) & 3, n = q->size < 4 ? q->size : 4;
        unsigned bytes = ((1u << n) - 1) << in;
        size_t word = (size_t)(gp_word_at(a, p + i) - a->cells);
        if (q->kind != GP_COUNT_WRITE) touched[word] |= (uint8_t)bytes;
        if (q->kind != GP_COUNT_READ) touched[word] |= (uint8_t)(bytes << 4);
    }
}

static void global_request(gp_runner *r, const gp_request *q, const gp_counted *e,
                           gp_count_row *row) {
    distinct sectors = {.sorted = true}, positions = {.sorted = true};
    for (unsigned m = q->mask; m; m &= m - 1) {
        const char *p = q->at[__builtin_ctz(m)];
        include(&sectors, (p - e->lo) >> 5);
        include(&positions, p - e->lo);
        mark(r, q, p);
    }
    row->sectors += (uint64_t)sectors.n;
    row->least += ((uint64_t)positions.n * q->size + GP_SECTOR - 1) / GP_SECTOR;
    r->counter->sum.moved += (uint64_t)sectors.n * GP_SECTOR;
}

/* ---- shared memory ---- */

/* Passes for the lanes from `first` on, `n` of them: the most words of a bank. Of atomics, lanes
 * that want the same word take turns. */
static uint64_t passes(const gp_request *q, const gp_counted *e, int first, int n) {
    int64_t word[GP_BANKS][GP_SIMT_WARP];
    int count[GP_BANKS] = {0}, most = 0;
    for (int lane = first; lane < first + n; lane++) {
        if (!(q->mask >> lane & 1)) continue;
        int64_t at = (q->at[lane] - e->lo) >> 2, end = at + (q->size + 3) / 4;
        for (; at < end; at++) {
            int bank = (int)(at & (GP_BANKS - 1)), k = 0;
            while (k < count[bank] && (word[bank][k] != at || q->kind == GP_COUNT_ATOMIC)) k++;
            if (k < count[bank]) continue;
            word[bank][count[bank]++] = at;
            if (count[bank] > most) most = count[bank];
        }
    }
    return (uint64_t)most;
}

static void shared_request(gp_runner *r, const gp_request *q, const gp_counted *e,
                           gp_count_row *row) {
    int n = q->size <= 4 ? GP_SIMT_WARP : GP_SIMT_WARP * 4 / q->size;
    for (int first = 0; first < GP_SIMT_WARP; first += n) {
        uint64_t p = passes(q, e, first, n);
        r->counter->sum.passes += p;
        row->conflicts += p ? p - 1 : 0;
    }
}

/* ---- both ---- */

/* How far neighbours are apart. */
static void note_stride(gp_count_row *row, const gp_request *q) {
    for (unsigned m = q->mask & (q->mask >> 1); m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        int64_t by = q->at[lane + 1] - q->at[lane];
        if (!row->pairs++) row->stride = by;
        row->even += by == row->stride;
    }
}

void gp_tally_request(gp_runner *r, const gp_request *q) {
    const gp_counted *e = entry_of(r, q, q->at[__builtin_ctz(q->mask)]);
    if (!e) return;
    gp_count_row *row = &r->counter->sum.row[e->row];
    uint64_t lanes = (uint64_t)__builtin_popcount(q->mask);
    row->requests++, row->lanes += lanes;
    if (q->size > row->size) row->size = q->size;
    r->counter->sum.accesses += lanes;
    note_stride(row, q);
    if (e->shared) shared_request(r, q, e, row);
    else global_request(r, q, e, row);
}

static void count_in(gp_counter *c, int line, gp_count_kind kind) {
    int i = row_of(c, &(gp_count_row){.line = line, .kind = kind});
    if (i >= 0) c->sum.row[i].requests++;
}

void gp_tally_branch(gp_runner *r, const void *pc) {
    const gp_simt_module *m = r->launch->kernel->module;
    if (!pc || !gp_simt_own_line(&m->lines, (uint64_t)((const char *)pc - m->base - 1))) return;
    count_in(r->counter, line_of(m, pc), GP_COUNT_BRANCH);
}

void gp_tally_barrier(gp_runner *r, int line) { count_in(r->counter, line, GP_COUNT_BARRIER); }
