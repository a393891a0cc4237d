/* Arrays of a thread's own, which a checked kernel makes known where they begin and end. They lie
 * on the threads' stacks, each byte of which has a state here: it is an array's, written or not, or
 * of the room around one; the rest is not looked at. */
#include <string.h>
#include <sys/mman.h>

#include "kernels/common/simt/check.h"

static const size_t STACKS = (size_t)GP_STACK * GP_SIMT_BLOCK;

/* The states from p on; NULL: there is no memory for them. */
static uint8_t *states(gp_runner *r, const char *p) {
    gp_check *c = r->check;
    if (!c->of_stack) {
        void *all = mmap(NULL, STACKS, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) return NULL;
        c->of_stack = all;
    }
    return c->of_stack + (p - r->f.stacks);
}

void gp_check_own(gp_simt_own *o) {
    gp_runner *r = (gp_runner *)gp_fibers_mine();
    gp_simt_own **own = &r->check->own[r->f.current->thread];
    uint8_t *of = states(r, o->lo);
    o->outer = *own, *own = o;
    if (!of) return;
    memset(of - GP_SIMT_ROOM, GP_ROOM, GP_SIMT_ROOM);
    memset(of, o->written ? GP_WRITTEN : GP_UNWRITTEN, o->bytes);
    memset(of + o->bytes, GP_ROOM, GP_SIMT_ROOM);
}

void gp_check_disown(gp_simt_own *o) {
    gp_runner *r = (gp_runner *)gp_fibers_mine();
    uint8_t *of = states(r, o->lo);
    r->check->own[r->f.current->thread] = o->outer;
    if (of) memset(of - GP_SIMT_ROOM, GP_NO_ARRAY, o->bytes + 2 * GP_SIMT_ROOM);
}

void gp_check_stack(gp_runner *r, const char *p, unsigned long size, bool write, const void *pc) {
    if (!r->check->own[r->f.current->thread]) return;
    uint8_t *of = states(r, p);
    unsigned long unwritten = 0;
    if (p < (const char *)__builtin_frame_address(0))
        gp_report_outside(r, NULL, p, size, write, pc);
    for (unsigned long i = 0; of && i < size; i++) {
        if (of[i] == GP_ROOM) gp_report_outside(r, NULL, p + i, size, write, pc);
        unwritten += of[i] == GP_UNWRITTEN;
        if (write && of[i] == GP_UNWRITTEN) of[i] = GP_WRITTEN;
    }
    if (!write && unwritten == size) gp_report_unwritten(r, p, size, pc);
}

void gp_check_own_none(gp_check *c, int n) { memset(c->own, 0, (size_t)n * sizeof *c->own); }

void gp_check_own_lost(gp_check *c) {
    memset(c->own, 0, sizeof c->own);
    if (c->of_stack) madvise(c->of_stack, STACKS, MADV_DONTNEED);
}

void gp_check_own_free(gp_check *c) {
    if (c->of_stack) munmap(c->of_stack, STACKS);
}
