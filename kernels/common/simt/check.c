/* Looks at each access of a checked kernel. Tensors are copied into windows of one arena, far from
 * each other, so that the window of an address is a shift away. Each word of 4 bytes has a cell:
 * who wrote it last, and two that read it. Two accesses of threads that nothing orders, one of them
 * a write and not both atomic, are a race, in whatever order they ran. Time counts barriers and
 * meetings of warps: it does not start again with a launch, and so what is old needs no clearing.
 */
#include "kernels/common/simt/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tensor/base/error.h"
#include "tensor/device/device.h"
#include "tensor/device/offload.h"

/* A window that is this large, of which only what is used takes memory, keeps a wrong index out of
 * the next one. */
enum { LEAST_SHIFT = 24, WISHED_SHIFT = 30, LARGEST_TIME = 0x3f000000 };
enum { GUARD = UINT8_MAX }; /* the number of what is not looked at */
enum { TURN = 1 << 16 };    /* accesses until another thread goes on */

static _Thread_local gp_runner *now; /* whose checked launch runs on this thread */

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
    for (int i = 0; i < s->n && i < GUARD - 1; i++) {
        const gp_simt_symbol *row = &s->row[i];
        if (row->shared == a->shared && row->at >= first && row->size <= bytes &&
            row->at - first <= bytes - row->size)
            memset(a->variable + (row->at - first), row->guard ? GUARD : i + 1, row->size);
    }
    return set_cells(a, bytes);
}

/* Numbers of variables that the module only reads. */
static void find_constants(gp_check *c, const gp_simt_module *m) {
    memset(c->constant, 0, sizeof c->constant);
    for (int i = 0; i < m->symbols.n && i < GUARD - 1; i++)
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
    c->count = 0, c->due = TURN, c->watch.times = 0;
    now = r;
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

/* ---- order ---- */

typedef enum order { BEFORE, UNORDERED, OTHER_BLOCK, NOT_KNOWN } order;

int64_t gp_check_block_at(const gp_check *c, uint32_t time, int64_t last) {
    int64_t low = 0, high = last;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (c->begin[middle] <= time) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* Of an access since the last barrier: whether the thread that runs has met the other one since. */
static bool met_since(const gp_runner *r, gp_access a, int thread) {
    if ((unsigned)a.thread / GP_SIMT_WARP != (unsigned)thread / GP_SIMT_WARP) return false;
    const gp_warp *w = &r->f.warp[thread / GP_SIMT_WARP];
    int own = thread & 31, other = a.thread & 31;
    return w->time > a.time || (w->part[own] >> other & 1 && w->part_time[own] > a.time);
}

static inline order order_of(const gp_runner *r, const gp_check *c, gp_access a, int thread,
                             bool shared) {
    if (__builtin_expect(a.time >= r->block_time, 0))
        return a.thread == (unsigned)thread || met_since(r, a, thread) ||
                       gp_check_heard(c, a, thread)
                   ? BEFORE
                   : UNORDERED;
    if (shared || a.time < c->launch_time || a.time >= c->block_time) return BEFORE;
    return c->fence[gp_check_block_at(c, a.time, r->block)] > a.time ? BEFORE : OTHER_BLOCK;
}

/* ---- accesses ---- */

/* Whether the read may be a guess, which is noted. */
static bool guess(gp_check *c, const gp_area *a, const gp_word *cell, gp_access read) {
    enum { MOST = sizeof c->guess / sizeof *c->guess };
    if (!cell->write.atomic || c->nguesses == MOST) return false;
    c->guess[c->nguesses++] = (gp_guess){a, cell, cell->write, read};
    return true;
}

static inline void read_cell(gp_runner *r, gp_check *c, gp_area *a, gp_word *cell, gp_access new) {
    order o = cell->write.time >= c->launch_time
                  ? order_of(r, c, cell->write, new.thread, a->shared)
                  : BEFORE;
    bool mixed = !new.atomic || !cell->write.atomic;
    if (o != BEFORE && mixed && cell->write.mask & new.mask && !guess(c, a, cell, new))
        gp_report_race(r, a, cell, cell->write, new, 0);
    if (a->shared && cell->write.time < c->block_time && !c->unwritten.area)
        c->unwritten = (gp_unwritten){a, cell, new}; /* perhaps it is written before a barrier */
    if (cell->read.time < c->launch_time ||
        order_of(r, c, cell->read, new.thread, a->shared) == BEFORE)
        cell->read = new;
    else cell->other = new;
}

/* Notes a write that is a race with one of the same bytes. The second one is late enough to tell of
 * the first. */
static void note_rewrite(gp_runner *r, gp_check *c, const gp_area *a, const gp_word *cell,
                         gp_access write) {
    if (c->rewrite.area) gp_report_rewrite(r);
    c->rewrite = (gp_rewrite){a, cell, cell->write, write, 0};
    memcpy(&c->rewrite.before, gp_cell_address(a, cell), sizeof c->rewrite.before);
}

static inline void write_cell(gp_runner *r, gp_check *c, gp_area *a, gp_word *cell, gp_access new) {
    const gp_access *before[] = {&cell->write, &cell->read, &cell->other};
    for (int i = 0; i < 3; i++) {
        gp_access old = *before[i];
        if (old.time < c->launch_time || !(old.mask & new.mask)) continue;
        if (old.atomic && new.atomic) continue;
        if (order_of(r, c, old, new.thread, a->shared) == BEFORE) continue;
        if (i || old.atomic || new.atomic || old.mask != new.mask)
            gp_report_race(r, a, cell, old, new, i ? 1 : 2);
        note_rewrite(r, c, a, cell, new);
    }
    /* A thread's atomic access after its own plain write, which says more of a race. */
    if (new.atomic && !cell->write.atomic && cell->write.thread == new.thread &&
        cell->write.time == new.time)
        return;
    if (new.atomic && a->shared && cell->write.time < c->block_time && !c->unwritten.area)
        c->unwritten = (gp_unwritten){a, cell, new};
    if (new.atomic && !cell->write.atomic && cell->write.time >= c->block_time && !a->shared)
        cell->other = cell->write, cell->other.wrote = 1; /* other blocks are not after that */
    cell->write = new;
}

/* Memory that is no area's: the thread's own variables, and constants. */
static bool of_thread(const gp_runner *r, const gp_check *c, const char *p, bool write) {
    const gp_simt_module *m = c->launch->kernel->module;
    if ((uint64_t)(p - r->f.current->stack) < (uint64_t)GP_STACK - 4096) return true;
    return !write && (uint64_t)(p - m->base) < m->symbols.end;
}

/* Whether the area has all bytes of the access; of variables, one of these. */
static inline bool within(const gp_area *a, const char *p, unsigned long size) {
    uint64_t at = (uint64_t)(p - a->lo);
    if (at >= a->bytes || a->bytes - at < size) return false;
    return !a->variable || (a->variable[at] && a->variable[at] == a->variable[at + size - 1]);
}

static void may_stop(gp_runner *r, gp_check *c) {
    if (++c->count < c->due) return;
    c->due = c->count + TURN;
    if (gp_interrupted || gp_thread_stopped() || gp_offload_is_abandoned())
        gp_fibers_fail(&r->f, "interrupted");
    gp_fibers_yield(&r->f);
}

/* The area of an access that is allowed; NULL: none is needed. */
static inline gp_area *allowed(gp_runner *r, gp_check *c, const char *p, unsigned long size,
                               bool write, const void *pc) {
    gp_area *a = gp_check_area(c, p);
    may_stop(r, c);
    if (!a && of_thread(r, c, p, write)) return gp_check_stack(r, p, size, write, pc), NULL;
    if (!a || !within(a, p, size)) gp_report_outside(r, a, p, size, write, pc);
    int variable = a->variable ? a->variable[p - a->lo] : 0;
    if (variable == GUARD) return NULL;
    if ((uintptr_t)p & (size - 1) & 15 && !(size & (size - 1)))
        gp_report_misaligned(r, a, p, size, write, pc);
    if (write && (!a->writable || (a == &c->data && c->constant[variable])))
        gp_report_const(r, a, p, size, pc);
    return a;
}

static inline gp_access access_now(const gp_runner *r, const gp_check *c, unsigned mask,
                                   bool atomic, const void *pc) {
    return (gp_access){.mask = mask & 15,
                       .thread = (unsigned)r->f.current->thread & 1023,
                       .pc = (uint64_t)((const char *)pc - c->base) & 0x3ffff,
                       .atomic = atomic,
                       .time = r->f.time};
}

/* The bytes of the mask in the word of p, which the area has. */
static inline void check_word(gp_runner *r, gp_area *a, const char *p, unsigned mask, bool write,
                              bool atomic, const void *pc) {
    gp_access new = access_now(r, r->check, mask, atomic, pc);
    if (atomic) gp_check_hear(r->check, gp_word_at(a, p)->write, (int)new.thread);
    if (write) write_cell(r, r->check, a, gp_word_at(a, p), new);
    else read_cell(r, r->check, a, gp_word_at(a, p), new);
}

static void word_range(const char *p, unsigned long size, bool write, bool atomic, const void *pc) {
    gp_runner *r = now;
    gp_area *a = allowed(r, r->check, p, size, write, pc);
    if (!a) return;
    for (const char *end = p + size; p < end;) {
        unsigned in = (uintptr_t)p & 3, n = (unsigned)(end - p < 4 - in ? end - p : 4 - in);
        check_word(r, a, p, ((1u << n) - 1) << in, write, atomic, pc);
        p += n;
    }
}

void gp_check_read(const void *p, unsigned long size, const void *pc) {
    word_range(p, size, false, false, pc);
}
void gp_check_write(void *p, unsigned long size, const void *pc) {
    word_range(p, size, true, false, pc);
}
void gp_check_atomic(void *p, unsigned long size, const void *pc) {
    gp_check_watch(now, p, size, pc);
    word_range(p, size, true, true, pc);
}
/* What is volatile a card reads as it is; a write of it tells of others that a fence is after. */
void gp_check_look(const void *p, unsigned long size, const void *pc) {
    gp_check_watch(now, p, size, pc);
    word_range(p, size, false, true, pc);
}
void gp_check_tell(void *p, unsigned long size, const void *pc) {
    const gp_check *c = now->check;
    word_range(p, size, true, c->heard.fence[now->f.current->thread] >= c->block_time, pc);
}

/* ---- an aligned word, as most accesses are ---- */

/* The bits of a gp_access, as x86-64's ABI lays it out: GCC makes one of fields through memory. */
enum { THREAD_BIT = 4, PC_BIT = 14, TIME_BIT = 34 };

static inline uint64_t bits_of(const gp_access *a) {
    uint64_t bits;
    memcpy(&bits, a, sizeof bits);
    return bits;
}

static inline uint64_t at_time(uint32_t time) { return (uint64_t)time << TIME_BIT; }

/* As order_of, of the bits of accesses, where a few comparisons tell. */
static inline order order_at_once(const gp_runner *r, const gp_check *c, uint64_t old, uint64_t new,
                                  bool shared) {
    if (old < at_time(c->launch_time)) return BEFORE;
    if (old < at_time(r->block_time)) {
        if (shared || old >= at_time(c->block_time)) return BEFORE;
        return c->fenced ? NOT_KNOWN : OTHER_BLOCK;
    }
    if (!((old ^ new) >> THREAD_BIT & 1023)) return BEFORE;
    return old >= at_time(r->f.time) ? UNORDERED : NOT_KNOWN;
}

/* Notes an access of a tensor or of shared memory, if nothing is to be reported. False: it has to
 * be looked at. */
static inline bool note_at_once(gp_runner *r, const char *p, bool write, const void *pc) {
    gp_check *c = r->check;
    gp_area *a = gp_check_area(c, p);
    if (!a || !within(a, p, 4) || (uintptr_t)p & 3 || ++c->count >= c->due) return false;
    if (a->variable && (a == &c->data || a->variable[p - a->lo] == GUARD)) return false;
    if (write && !a->writable) return false;
    gp_word *cell = gp_word_at(a, p);
    uint64_t of_pc = (uint64_t)((const char *)pc - c->base) & 0x3ffff;
    uint64_t new =
        15 | (uint64_t)r->f.current->thread << THREAD_BIT | of_pc << PC_BIT | at_time(r->f.time);
    uint64_t written = bits_of(&cell->write);
    if (order_at_once(r, c, written, new, a->shared) != BEFORE) return false;
    order of_read = order_at_once(r, c, bits_of(&cell->read), new, a->shared);
    if (!write) {
        if (of_read == NOT_KNOWN || (a->shared && written < at_time(c->block_time))) return false;
        memcpy(of_read == BEFORE ? &cell->read : &cell->other, &new, sizeof new);
        return true;
    }
    if (of_read != BEFORE || order_at_once(r, c, bits_of(&cell->other), new, a->shared) != BEFORE)
        return false;
    memcpy(&cell->write, &new, sizeof new);
    return true;
}

static __attribute__((noinline)) void look_at_word(const char *p, bool write, const void *pc) {
    gp_runner *r = now;
    gp_area *a = allowed(r, r->check, p, 4, write, pc);
    if (a) check_word(r, a, p, 15, write, false, pc);
}

static inline void one_word(const char *p, bool write, const void *pc) {
    if (__builtin_expect(!note_at_once(now, p, write, pc), 0)) look_at_word(p, write, pc);
}

void gp_check_read4_at(const void *p, const void *pc) { one_word(p, false, pc); }
void gp_check_write4_at(void *p, const void *pc) { one_word(p, true, pc); }
void gp_check_read4(const void *p) { one_word(p, false, __builtin_return_address(0)); }
void gp_check_write4(void *p) { one_word(p, true, __builtin_return_address(0)); }
