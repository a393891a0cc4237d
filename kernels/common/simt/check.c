/* Looks at each access of a checked kernel. Each word of 4 bytes of an area (areas.c) has a cell:
 * who wrote it last, two that read it, and of atomic writes, which may come in any order, one of
 * another thread than the last. Two accesses of threads that nothing orders, one of them a write
 * and not both atomic, are a race, in whatever order they ran. Time counts barriers and meetings of
 * warps: it does not start again with a launch, and so what is old needs no clearing.
 */
#include "kernels/common/simt/check.h"

#include <string.h>

#include "tensor/device/device.h"
#include "tensor/device/offload.h"

static _Thread_local gp_runner *now; /* whose checked launch runs on this thread */

void gp_check_runs(gp_runner *r) { now = r; }

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
    return r->f.warp[thread / GP_SIMT_WARP].time > a.time ||
           r->f.after[thread][a.thread & 31] > a.time;
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

/* Whether the read of what `old` wrote may be a guess, which is noted. */
static bool guess(gp_check *c, const gp_area *a, const gp_word *cell, gp_access old,
                  gp_access read) {
    enum { MOST = sizeof c->guess / sizeof *c->guess };
    if (!old.atomic || c->nguesses == MOST) return false;
    c->guess[c->nguesses++] = (gp_guess){a, cell, old, read};
    return true;
}

/* Of the word's writes one that nothing orders before the read, and that is a race with it; NULL:
 * there is none. */
static inline const gp_access *race_with_read(const gp_runner *r, const gp_check *c,
                                              const gp_area *a, const gp_word *cell,
                                              gp_access new) {
    const gp_access *written[] = {&cell->write, &cell->atom};
    if (cell->write.atomic && new.atomic) return NULL;
    for (int i = 0; i < (cell->write.atomic ? 2 : 1); i++)
        if (written[i]->time >= c->launch_time && (written[i]->mask & new.mask) &&
            order_of(r, c, *written[i], new.thread, a->shared) != BEFORE)
            return written[i];
    return NULL;
}

static inline void read_cell(gp_runner *r, gp_check *c, gp_area *a, gp_word *cell, gp_access new) {
    const gp_access *old = race_with_read(r, c, a, cell, new);
    if (old && !guess(c, a, cell, *old, new)) gp_report_race(r, a, cell, *old, new, 0);
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

/* How far an earlier access is from the new one: 0: before it; of two lanes of an aligned part of a
 * warp less than of two of different parts, of two warps more, of two blocks most. */
static unsigned spacing(const gp_runner *r, const gp_check *c, const gp_area *a, gp_access old,
                        gp_access new) {
    if (old.time < c->launch_time || !(old.mask & new.mask)) return 0;
    order o = order_of(r, c, old, new.thread, a->shared);
    return o == BEFORE ? 0 : o == OTHER_BLOCK ? GP_SIMT_BLOCK : (unsigned)(old.thread ^ new.thread);
}

/* Before an atomic write takes the place of one. A later plain access has to be after both; so the
 * farthest of the others stays: whoever has met one of the two alone misses the other. */
static void keep_atom(const gp_runner *r, const gp_check *c, const gp_area *a, gp_word *cell,
                      gp_access new) {
    if (!new.atomic || !cell->write.atomic) return;
    if (spacing(r, c, a, cell->write, new) > spacing(r, c, a, cell->atom, new))
        cell->atom = cell->write;
}

static inline void write_cell(gp_runner *r, gp_check *c, gp_area *a, gp_word *cell, gp_access new) {
    const gp_access *before[] = {&cell->write, &cell->read, &cell->other, &cell->atom};
    for (int i = 0; i < 3 + cell->write.atomic; i++) {
        gp_access old = *before[i];
        bool of_read = i == 1 || i == 2;
        if (old.time < c->launch_time || !(old.mask & new.mask)) continue;
        if (old.atomic && new.atomic) continue;
        if (order_of(r, c, old, new.thread, a->shared) == BEFORE) continue;
        if (i || old.atomic || new.atomic || old.mask != new.mask)
            gp_report_race(r, a, cell, old, new, of_read ? 1 : 2);
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
    keep_atom(r, c, a, cell, new);
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
    c->due = c->count + GP_CHECK_TURN;
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
    if (variable == GP_GUARD) return NULL;
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
enum { THREAD_BIT = 4, PC_BIT = 14, ATOMIC_BIT = 32, TIME_BIT = 34 };

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
    if (a->variable && (a == &c->data || a->variable[p - a->lo] == GP_GUARD)) return false;
    if (write && !a->writable) return false;
    gp_word *cell = gp_word_at(a, p);
    uint64_t of_pc = (uint64_t)((const char *)pc - c->base) & 0x3ffff;
    uint64_t new =
        15 | (uint64_t)r->f.current->thread << THREAD_BIT | of_pc << PC_BIT | at_time(r->f.time);
    uint64_t written = bits_of(&cell->write);
    if (order_at_once(r, c, written, new, a->shared) != BEFORE) return false;
    if (written >> ATOMIC_BIT & 1 && written >= at_time(c->launch_time)) return false;
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
