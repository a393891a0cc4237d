/* Threads of a block that wait for what another one writes, in a loop: they get their turns, and
 * what a fence and an atomic access tell of each other orders their accesses. Of two accesses, the
 * second one is after the first where the first one's thread was at a fence since, and the second
 * one's has made an atomic access, or read a volatile word, that saw another one's from later on.
 */
#include <string.h>

#include "kernels/common/simt/check.h"

enum { LATEST = 0x7ffffff0 }; /* time that an access holds */

void gp_check_fence(gp_runner *r, bool wide) {
    gp_check *c = r->check;
    if (r->f.time < LATEST) r->f.time++;
    c->heard.fence[r->f.current->thread] = r->f.time;
    if (wide) c->fence[r->block] = r->f.time, c->fenced = true;
}

/* While nothing else is accessed, and the word stays as it is, all that can go on look at it. */
void gp_check_watch(gp_runner *r, const char *p, unsigned long size, const void *pc) {
    enum { TURN = 32, ENOUGH = 1 << 24 };
    gp_check *c = r->check;
    gp_watch *w = &c->watch;
    uint64_t value = 0;
    const gp_area *a = gp_check_area(c, p);
    if (!a || (uint64_t)(p - a->lo) >= a->bytes || a->bytes - (uint64_t)(p - a->lo) < size) return;
    if (w->p == p && ++w->turn % TURN == 0) gp_fibers_yield(&r->f);
    memcpy(&value, p, size < sizeof value ? size : sizeof value);
    if (w->p != p || w->value != value || c->count - w->since != w->times)
        *w = (gp_watch){.p = p, .value = value, .since = c->count};
    if (++w->times >= ENOUGH) gp_report_waits(r, p, size, pc);
}
