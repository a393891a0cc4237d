/* Counts what a launch would cost a card. The lanes of a warp run in lockstep: each stops where a
 * basic block begins, which the compiler calls a function for (-fsanitize-coverage=trace-pc), and
 * once all have, those go on that are deepest in calls and, of these, first in the code. As blocks
 * are in the order of the text (-fno-reorder-blocks), lanes that have parted meet again where their
 * ways do. What a group of lanes asks for on its way is paired by instruction into requests. */
#include "kernels/common/simt/counter.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/device/device.h"
#include "tensor/device/offload.h"

static _Thread_local gp_runner *now; /* whose counted launch runs on this thread */

/* ---- lockstep ---- */

/* Lanes of a group that did not stop at one position have parted where they last compared. */
static void note_parted(gp_runner *r, const gp_lockstep *w) {
    if (!w->group) return;
    int first = __builtin_ctz(w->group);
    for (unsigned m = w->group & (w->group - 1); m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        if (w->position[lane] == w->position[first] && w->depth[lane] == w->depth[first]) continue;
        gp_tally_branch(r, w->compare[first]);
        return;
    }
}

/* The lanes that go on. One that waits for others of its warp in a loop, as for a lock, would keep
 * these back forever: now and then the last ones go first. */
static unsigned choose(gp_lockstep *w) {
    enum { PATIENCE = 1 << 14, TURN = 1 << 10 };
    bool last = w->behind % PATIENCE >= PATIENCE - TURN;
    unsigned chosen = 0;
    uint32_t depth = 0;
    const char *position = NULL;
    for (unsigned m = w->waiting; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        uint32_t d = w->depth[lane];
        const char *p = w->position[lane];
        if (chosen && d == depth && p == position) {
            chosen |= 1u << lane;
            continue;
        }
        bool before = d != depth ? d > depth : p < position;
        if (!chosen || before != last) chosen = 1u << lane, depth = d, position = p;
    }
    w->behind = chosen == w->waiting ? 0 : w->behind + 1;
    return chosen;
}

/* All lanes have stopped. */
static void step(gp_runner *r, gp_lockstep *w, int base) {
    for (int i = 0; i < w->n; i++) gp_tally_request(r, &w->request[i]);
    note_parted(r, w);
    w->n = 0;
    memset(w->cursor, 0, sizeof w->cursor);
    w->group = w->running = choose(w);
    w->waiting &= ~w->group;
    for (unsigned m = w->group; m; m &= m - 1) r->f.of[base + __builtin_ctz(m)]->state = GP_RUNNING;
}

static void stop(gp_runner *r, int thread, uint32_t depth, const void *position) {
    gp_lockstep *w = &r->counter->warp[thread / GP_SIMT_WARP];
    int lane = thread % GP_SIMT_WARP;
    w->depth[lane] = depth, w->position[lane] = position;
    w->running &= ~(1u << lane);
    if (!w->running) step(r, w, thread - lane);
}

static void thread_stops(gp_fibers *f, int thread, const void *position) {
    stop((gp_runner *)f, thread, 0, position);
}

static void thread_goes(gp_fibers *f, int thread) {
    gp_lockstep *w = &((gp_runner *)f)->counter->warp[thread / GP_SIMT_WARP];
    w->running |= 1u << thread % GP_SIMT_WARP;
    w->group |= 1u << thread % GP_SIMT_WARP;
}

void gp_count_block(gp_runner *r) {
    for (int i = 0; i < r->f.n; i += GP_SIMT_WARP) {
        gp_lockstep *w = &r->counter->warp[i / GP_SIMT_WARP];
        w->running = w->group = r->f.n - i < GP_SIMT_WARP ? (1u << (r->f.n - i)) - 1 : ~0u;
        w->waiting = 0, w->behind = 0, w->n = 0;
        memset(w->cursor, 0, sizeof w->cursor);
        memset(w->compare, 0, sizeof w->compare);
    }
}

/* Another warp may be one that this one waits for. */
static void may_stop(gp_runner *r) {
    if (++r->counter->calls & 0xfff) return;
    if (gp_interrupted || gp_thread_stopped() || gp_offload_is_abandoned())
        gp_fibers_fail(&r->f, "interrupted");
    gp_fibers_yield(&r->f);
}

void gp_count_branch(const void *pc) {
    gp_runner *r = now;
    gp_fiber *f = r->f.current;
    gp_lockstep *w = &r->counter->warp[f->thread / GP_SIMT_WARP];
    int lane = f->thread % GP_SIMT_WARP;
    may_stop(r);
    w->waiting |= 1u << lane;
    f->state = GP_AT_BRANCH;
    stop(r, f->thread, (uint32_t)(f->stack + GP_STACK - (char *)__builtin_frame_address(0)), pc);
    if (f->state == GP_AT_BRANCH) gp_fibers_wait(f, GP_AT_BRANCH);
    w->compare[lane] = pc;
}

void gp_count_compare(const void *pc) {
    int thread = now->f.current->thread;
    now->counter->warp[thread / GP_SIMT_WARP].compare[thread % GP_SIMT_WARP] = pc;
}

/* ---- accesses ---- */

/* Adds a request; NULL: out of memory. */
static gp_request *add(gp_counter *c, gp_lockstep *w) {
    if (w->n == w->capacity) {
        int capacity = w->capacity ? 2 * w->capacity : 16;
        gp_request *more = realloc(w->request, (size_t)capacity * sizeof *more);
        if (!more) return c->lost = true, NULL;
        w->request = more, w->capacity = capacity;
    }
    w->request[w->n].mask = 0;
    return &w->request[w->n++];
}

/* Pairs a lane's access with those of the others by the same instruction. */
static inline void pair(gp_runner *r, const char *p, unsigned size, const void *pc,
                        gp_count_kind kind) {
    int thread = r->f.current->thread, lane = thread % GP_SIMT_WARP;
    gp_lockstep *w = &r->counter->warp[thread / GP_SIMT_WARP];
    int k = w->cursor[lane];
    while (k < w->n && w->request[k].pc != pc) k++;
    gp_request *q = k < w->n ? &w->request[k] : add(r->counter, w);
    if (!q) return;
    if (!q->mask) q->pc = pc, q->kind = (uint8_t)kind, q->size = (uint8_t)size;
    q->mask |= 1u << lane, q->at[lane] = p;
    w->cursor[lane] = k + 1;
}

/* A card moves at most 16 bytes for a lane at once, and of other sizes the largest that divide it.
 */
static void note(const char *p, unsigned long size, const void *pc, gp_count_kind kind) {
    unsigned long each = size <= 16 && !(size & (size - 1)) ? size
                         : size % 16 == 0                   ? 16
                         : size % 4 == 0                    ? 4
                                                            : 1;
    for (unsigned long i = 0; i < size; i += each) pair(now, p + i, (unsigned)each, pc, kind);
}

void gp_count_read(const void *p, unsigned long size, const void *pc) {
    note(p, size, pc, GP_COUNT_READ);
    gp_check_read(p, size, pc);
}
void gp_count_write(void *p, unsigned long size, const void *pc) {
    note(p, size, pc, GP_COUNT_WRITE);
    gp_check_write(p, size, pc);
}
void gp_count_atomic(void *p, unsigned long size, const void *pc) {
    note(p, size, pc, GP_COUNT_ATOMIC);
    gp_check_atomic(p, size, pc);
}
void gp_count_look(const void *p, unsigned long size, const void *pc) {
    note(p, size, pc, GP_COUNT_READ);
    gp_check_look(p, size, pc);
}
void gp_count_tell(void *p, unsigned long size, const void *pc) {
    note(p, size, pc, GP_COUNT_WRITE);
    gp_check_tell(p, size, pc);
}
void gp_count_read4(const void *p) {
    pair(now, p, 4, __builtin_return_address(0), GP_COUNT_READ);
    gp_check_read4_at(p, __builtin_return_address(0));
}
void gp_count_write4(void *p) {
    pair(now, p, 4, __builtin_return_address(0), GP_COUNT_WRITE);
    gp_check_write4_at(p, __builtin_return_address(0));
}

/* ---- a launch ---- */

/* Clears the marks of the bytes that an area has. */
static bool clear_marks(gp_counter *c, int i, const gp_area *a) {
    size_t words = (a->bytes + 7) / 4;
    if (words > c->words[i]) {
        free(c->touched[i]);
        c->touched[i] = malloc(words);
        c->words[i] = c->touched[i] ? words : 0;
        if (!c->touched[i]) return gp_fail("out of memory for a kernel's counts");
    }
    memset(c->touched[i], 0, words);
    return true;
}

gp_counter *gp_count_begin(gp_runner *r) {
    gp_check *check = r->check;
    gp_counter *c = r->kept_counter;
    if (!c && !(c = r->kept_counter = calloc(1, sizeof *c))) return gp_fail_null("out of memory");
    for (int i = 1; i < (int)check->nareas; i++)
        if (!clear_marks(c, i, &check->area[i])) return NULL;
    if (!clear_marks(c, GP_SIMT_TENSORS + 1, &check->data)) return NULL;
    c->sum = (gp_simt_counts){0};
    c->lost = false;
    c->used = 0;
    if (c->table) memset(c->table, 0, (size_t)c->size * sizeof *c->table);
    r->f.stops = thread_stops, r->f.goes = thread_goes;
    now = r;
    return c;
}

static uint64_t marks(const uint8_t *p, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += (unsigned)__builtin_popcount(p[i]);
    return sum;
}

bool gp_count_end(gp_runner *r, gp_simt_counts *to) {
    const gp_check *check = r->check;
    gp_counter *c = r->counter;
    for (int i = 1; i < (int)check->nareas; i++)
        c->sum.least += marks(c->touched[i], (check->area[i].bytes + 7) / 4);
    c->sum.least += marks(c->touched[GP_SIMT_TENSORS + 1], (check->data.bytes + 7) / 4);
    *to = c->sum;
    c->sum = (gp_simt_counts){0};
    return !c->lost || gp_fail("out of memory for a kernel's counts");
}

void gp_count_free(gp_counter *c) {
    if (!c) return;
    for (int i = 0; i < GP_SIMT_BLOCK / GP_SIMT_WARP; i++) free(c->warp[i].request);
    for (int i = 0; i < GP_SIMT_TENSORS + 2; i++) free(c->touched[i]);
    free(c->sum.row);
    free(c->table);
    free(c);
}
