/* Before and after a checked launch: tensors are copied into windows of one arena, far from each
 * other, so that the window of an address is a shift away; the kernel's variables stay where they
 * are, and are mapped. What check.c notes of accesses stays for the next launch: time goes on.
 */
#include "kernels/common/simt/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/base/error.h"

/* A window that is this large, of which only what is used takes memory, keeps a wrong index out of
 * the next one. */
enum { LEAST_SHIFT = 24, WISHED_SHIFT = 30, LARGEST_TIME = 0x3f000000 };

/* ---- areas ---- */

static bool reserve(gp_check *c, int shift) {
    if (shift <= c->shift) return true;
    if (c->arena) munmap(c->arena, (size_t)(GP_SIMT_TENSORS + 1) << c->shift);
    for (int s = shift < WISHED_SHIFT ? WISHED_SHIFT : shift; s >= shift; s--) {
        c->arena = mmap(NULL, (size_t)(GP_SIMT_TENSORS + 1) << s, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        c->shift = s;
        if (c->arena != MAP_FAILED) return true;
    }
    c->arena = NULL, c->shift = 0;
    return gp_fail("out of memory for a checked kernel's copies");
}

/* Gives the area cells for its bytes; those that it has keep their times. */
static bool set_cells(gp_area *a, size_t bytes) {
    size_t n = (bytes + 7) / 4;
    a->bytes = bytes;
    if (n <= a->ncells) return true;
    free(a->cells);
    a->cells = calloc(n, sizeof *a->cells);
    a->ncells = a->cells ? n : 0;
    return a->cells || gp_fail("out of memory for the checks of a kernel");
}

static bool set_area(gp_check *c, int i, size_t bytes, size_t unaligned) {
    gp_area *a = &c->area[i];
    a->lo = c->arena + ((size_t)i << c->shift) + ((size_t)1 << c->shift) / 4 + unaligned;
    return set_cells(a, bytes);
}

/* Puts tensors that share memory into one area: of[i] is the area of tensor i. */
static int group(const gp_simt_launch *l, int *of, const char **lo, const char **hi) {
    int n = 0;
    for (int i = 0; i < l->ntensors; i++) {
        const char *a = l->tensor[i].data, *b = a + l->tensor[i].bytes;
        int into = n++;
        lo[into] = a, hi[into] = b, of[i] = into;
        for (int j = 0; j < into; j++) {
            if (lo[j] == hi[j] || a == b || lo[j] >= hi[into] || lo[into] >= hi[j]) continue;
            if (lo[j] < lo[into]) lo[into] = lo[j];
            if (hi[j] > hi[into]) hi[into] = hi[j];
            for (int k = 0; k < i; k++)
                if (of[k] == j) of[k] = into;
            lo[j] = hi[j] = NULL;
            j = -1;
        }
    }
    return n;
}

static int shift_for(size_t bytes) {
    int shift = LEAST_SHIFT;
    while (((size_t)1 << shift) / 2 < bytes + 4096) shift++;
    return shift;
}

static bool copy_in(gp_check *c, const gp_simt_launch *l) {
    const char *lo[GP_SIMT_TENSORS], *hi[GP_SIMT_TENSORS];
    size_t most = l->shared;
    int n = group(l, c->of, lo, hi);
    for (int i = 0; i < n; i++)
        if ((size_t)(hi[i] - lo[i]) > most) most = (size_t)(hi[i] - lo[i]);
    if (!reserve(c, shift_for(most)) || !set_area(c, 0, l->shared, 0)) return false;
    c->area[0].writable = c->area[0].shared = true;
    for (int i = 0; i < n; i++) {
        if (!set_area(c, i + 1, (size_t)(hi[i] - lo[i]), (uintptr_t)lo[i] & 63)) return false;
        c->area[i + 1].writable = c->area[i + 1].shared = false;
    }
    c->nareas = (uint64_t)n + 1;
    for (int i = 0; i < l->ntensors; i++) {
        const gp_simt_tensor *t = &l->tensor[i];
        gp_area *a = &c->area[c->of[i] + 1];
        c->at[i] = a->lo + (t->data - lo[c->of[i]]);
        a->writable |= t->written;
        if (t->bytes) memcpy(c->at[i], t->data, t->bytes);
    }
    return true;
}

/* ---- a launch ---- */

/* Sets, for an area of the kernel's variables that begins at `first`, the number of the variable at
 * each byte; 0: between them. */
static bool map_variables(gp_area *a, const gp_simt_symbols *s, uint64_t first, uint64_t bytes) {
    free(a->variable);
    if (!(a->variable = calloc(bytes + 1, 1))) return gp_fail("out of memory");
    for (int i = 0; i < s->n && i < GP_GUARD - 1; i++) {
        const gp_simt_symbol *row = &s->row[i];
        if (row->shared == a->shared && row->at >= first && row->size <= bytes &&
            row->at - first <= bytes - row->size)
            memset(a->variable + (row->at - first), row->guard ? GP_GUARD : i + 1, row->size);
    }
    return set_cells(a, bytes);
}

/* Numbers of variables that the module only reads. */
static void find_constants(gp_check *c, const gp_simt_module *m) {
    memset(c->constant, 0, sizeof c->constant);
    for (int i = 0; i < m->symbols.n && i < GP_GUARD - 1; i++)
        for (int k = 0; k < m->nglobals && !m->symbols.row[i].shared; k++)
            if (m->base + m->symbols.row[i].at == m->global[k])
                c->constant[i + 1] = m->constants >> k & 1;
}

static bool of_module(gp_check *c, const gp_simt_module *m) {
    const gp_simt_symbols *s = &m->symbols;
    if (c->of_module == m) return true;
    c->of_module = NULL;
    c->statics.shared = c->statics.writable = c->data.writable = true;
    c->data.lo = (char *)(uintptr_t)(m->base + s->data);
    if (!map_variables(&c->statics, s, 0, s->shared) ||
        !map_variables(&c->data, s, s->data, s->data_end - s->data))
        return false;
    find_constants(c, m);
    free(c->data_before);
    if (!(c->data_before = malloc(c->data.bytes + 1))) return gp_fail("out of memory");
    c->of_module = m;
    return true;
}

/* The times of blocks, which tell the block of a time. */
static bool of_blocks(gp_check *c, const gp_simt_launch *l) {
    int64_t n = (int64_t)l->grid.x * l->grid.y * l->grid.z;
    if (n <= c->nblocks) return true;
    free(c->begin), free(c->fence);
    c->begin = malloc((size_t)n * sizeof *c->begin);
    c->fence = malloc((size_t)n * sizeof *c->fence);
    c->nblocks = c->begin && c->fence ? n : 0;
    return c->nblocks || gp_fail("out of memory for the checks of a kernel");
}

static void clear_cells(gp_area *a) {
    if (a->cells) memset(a->cells, 0, a->ncells * sizeof *a->cells);
}

/* Starts time again, before it is more than a cell holds. */
static void restart(gp_runner *r, gp_check *c) {
    for (int i = 0; i <= GP_SIMT_TENSORS; i++) clear_cells(&c->area[i]);
    clear_cells(&c->statics);
    clear_cells(&c->data);
    c->heard = (gp_heard){0};
    memset(r->f.after, 0, sizeof r->f.after);
    r->f.time = r->block_time = 1;
}

gp_check *gp_check_begin(gp_runner *r, const gp_simt_launch *l) {
    gp_check *c = r->kept;
    if (!c && !(c = r->kept = calloc(1, sizeof *c))) return gp_fail_null("out of memory");
    if (!copy_in(c, l) || !of_module(c, l->kernel->module) || !of_blocks(c, l)) return NULL;
    if (c->data.bytes) memcpy(c->data_before, c->data.lo, c->data.bytes);
    if (r->f.time > LARGEST_TIME / 2) restart(r, c);
    c->launch = l, c->base = l->kernel->module->base, c->fenced = false;
    c->launch_time = ++r->f.time;
    c->count = 0, c->due = GP_CHECK_TURN, c->watch.times = 0;
    gp_check_runs(r);
    return c;
}

void gp_check_block(gp_runner *r, char *first) {
    gp_check *c = r->check;
    if (r->f.time > LARGEST_TIME) {
        restart(r, c);
        c->launch_time = ++r->f.time;
        r->block_time = ++r->f.time;
    }
    c->statics.lo = first - c->launch->kernel->module->symbols.first;
    c->unwritten.area = NULL;
    gp_check_own_none(c, r->f.n);
    c->rewrite.area = NULL, c->nguesses = 0;
    c->begin[r->block] = c->block_time = r->block_time;
    c->fence[r->block] = 0;
}

/* Gives the module's variables the values from before the launch: those that have others, since
 * constants among them cannot be written. */
static void restore_variables(gp_check *c) {
    const gp_simt_symbols *s = &c->launch->kernel->module->symbols;
    for (int i = 0; i < s->n; i++) {
        uint64_t at = s->row[i].at - s->data, size = s->row[i].size;
        if (s->row[i].shared || at >= c->data.bytes || size > c->data.bytes - at) continue;
        char *now_there = c->data.lo + at;
        const char *before = c->data_before + at;
        if (memcmp(now_there, before, size) != 0) memcpy(now_there, before, size);
    }
}

void gp_check_end(gp_check *c, bool ok) {
    enum { KEEP = 64 << 20 };
    size_t used = 0;
    if (!ok) restore_variables(c), gp_check_own_lost(c);
    for (int i = 0; i < c->launch->ntensors; i++) {
        const gp_simt_tensor *t = &c->launch->tensor[i];
        used += t->bytes;
        if (ok && t->written && t->bytes) memcpy(t->data, c->at[i], t->bytes);
    }
    if (used <= KEEP) return;
    madvise(c->arena, (size_t)(GP_SIMT_TENSORS + 1) << c->shift, MADV_DONTNEED);
    for (int i = 0; i <= GP_SIMT_TENSORS; i++) {
        free(c->area[i].cells);
        c->area[i].cells = NULL, c->area[i].ncells = 0;
    }
}

void gp_check_free(gp_check *c) {
    if (!c) return;
    if (c->arena) munmap(c->arena, (size_t)(GP_SIMT_TENSORS + 1) << c->shift);
    for (int i = 0; i <= GP_SIMT_TENSORS; i++) free(c->area[i].cells);
    free(c->statics.cells), free(c->data.cells);
    free(c->statics.variable), free(c->data.variable);
    free(c->begin), free(c->fence), free(c->data_before);
    gp_check_own_free(c);
    free(c);
}

char *gp_check_tensor(gp_check *c, int i) { return c->at[i]; }
char *gp_check_dynamic(gp_check *c) { return c->area[0].lo; }
