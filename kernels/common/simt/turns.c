/* Threads of a block that wait for what another one writes, in a loop: they get their turns, and
 * what a fence and an atomic access tell of each other orders their accesses. Of two accesses, the
 * second one is after the first where the first one's thread was at a fence since, and the second
 * one's, or a lane that it has met, has made an atomic access, or read a volatile word, that saw
 * another one's from later on.
 */
#include <string.h>

#include "kernels/common/simt/check.h"

enum { LATEST = 0x3ffffff0 }; /* time that an access holds */

/* The area that has all bytes of p; NULL: none has. */
static const gp_area *area_of(const gp_check *c, const char *p, unsigned long size) {
    const gp_area *a = gp_check_area((gp_check *)c, p);
    uint64_t at = a ? (uint64_t)(p - a->lo) : 0;
    return a && at < a->bytes && a->bytes - at >= size ? a : NULL;
}

void gp_check_fence(gp_runner *r, bool wide) {
    gp_check *c = r->check;
    if (r->f.time < LATEST) r->f.time++;
    c->heard.fence[r->f.current->thread] = r->f.time;
    if (wide) c->fence[r->block] = r->f.time, c->fenced = true;
}

void gp_check_met(gp_runner *r, unsigned lanes) {
    gp_heard *h = &r->check->heard;
    int thread = r->f.current->thread;
    if (h->latest < r->check->block_time) return;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t from = h->from[(thread & ~31) + __builtin_ctz(lanes)];
        if (from > h->from[thread]) h->from[thread] = from;
    }
}

static void forget_guesses(gp_check *c, gp_word *cell, int thread) {
    gp_access *const reads[] = {&cell->read, &cell->other};
    for (int i = 0; i < 2; i++)
        if (reads[i]->thread == (unsigned)thread && reads[i]->time >= c->block_time)
            *reads[i] = (gp_access){.time = 0};
    for (int i = 0; i < c->nguesses; i++)
        if (c->guess[i].cell == cell && c->guess[i].read.thread == (unsigned)thread)
            c->guess[i--] = c->guess[--c->nguesses];
}

void gp_check_guessed(void *p, unsigned long size) {
    const gp_runner *r = (gp_runner *)gp_fibers_mine();
    const gp_area *a = area_of(r->check, p, size);
    for (unsigned long at = 0; a && at < size; at += 4)
        forget_guesses(r->check, gp_word_at(a, (char *)p + at), r->f.current->thread);
}

/* While nothing else is accessed, and the word stays as it is, all that can go on look at it. */
void gp_check_watch(gp_runner *r, const char *p, unsigned long size, const void *pc) {
    enum { TURN = 32, ENOUGH = 1 << 24 };
    gp_check *c = r->check;
    gp_watch *w = &c->watch;
    uint64_t value = 0;
    if (!area_of(c, p, size)) return;
    if (w->p == p && ++w->turn % TURN == 0) gp_fibers_yield(&r->f);
    memcpy(&value, p, size < sizeof value ? size : sizeof value);
    if (w->p != p || w->value != value || c->count - w->since != w->times)
        *w = (gp_watch){.p = p, .value = value, .since = c->count};
    if (++w->times >= ENOUGH) gp_report_waits(r, p, size, pc);
}
