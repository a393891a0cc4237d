/* Runs the blocks of a launch on this thread's fibers (fiber.h): what a kernel calls, and what is
 * wrong where its threads wait. */
#include "kernels/common/simt/counter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor/base/error.h"

/* ---- runners ---- */

static gp_runner *me(void) { return (gp_runner *)gp_fibers_mine(); }

static void runner_free(void *p) {
    gp_runner *r = p;
    gp_halt_free(r->halt);
    gp_fibers_end(&r->f);
    gp_check_free(r->kept);
    gp_count_free(r->kept_counter);
    free(r->shared);
    free(r);
}

static pthread_key_t ending;
static void make_key(void) { pthread_key_create(&ending, runner_free); }

static void body(gp_fibers *f) {
    gp_runner *r = (gp_runner *)f;
    r->launch->kernel->entry(r->args);
}

gp_runner *gp_runner_mine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *why;
    if (me()) return me();
    pthread_once(&once, make_key);
    gp_runner *r = calloc(1, sizeof *r);
    if (!r) return gp_fail_null("out of memory");
    r->f.body = body, r->f.now = &r->now.thread;
    if (!gp_fibers_begin(&r->f, &why)) return free(r), gp_fail_null("%s", why);
    r->halt = gp_halt_new();
    pthread_setspecific(ending, r);
    return r;
}

/* ---- blocks ---- */

/* No thread can continue: says who waits for whom. */
static void stuck(gp_runner *r) {
    const gp_fiber *at = NULL, *warp = NULL;
    char where[120], who[100];
    for (int i = 0; i < r->f.used; i++) {
        if (r->f.fiber[i]->state == GP_AT_BARRIER && !at) at = r->f.fiber[i];
        if (r->f.fiber[i]->state == GP_AT_WARP && !warp) warp = r->f.fiber[i];
    }
    const gp_fiber *f = warp ? warp : at;
    const gp_simt_module *m = r->launch->kernel->module;
    gp_simt_thread_text(r->launch, r->block, f ? f->thread : 0, who, sizeof who);
    if (warp) gp_simt_place_text(m, warp->pc, where, sizeof where);
    else gp_simt_line_text(m, at ? at->line : 0, where, sizeof where);
    r->f.failed = true;
    if (warp)
        snprintf(r->f.text, sizeof r->f.text,
                 "%s waits at %s for lanes of the mask 0x%08x that do not come", who, where,
                 f->mask);
    else
        snprintf(r->f.text, sizeof r->f.text,
                 "barrier at %s, %s: %d of the block's %d threads have ended without reaching it",
                 where, who, r->f.n - r->f.live, r->f.n);
}

bool gp_runner_block(gp_runner *r, int64_t block) {
    gp_uint3 g = r->launch->grid;
    int64_t rest = block / g.x;
    r->now.block =
        (gp_uint3){(unsigned)(block % g.x), (unsigned)(rest % g.y), (unsigned)(rest / g.y)};
    r->block = block;
    gp_fibers_block(&r->f);
    r->block_time = ++r->f.time;
    char *first = r->launch->kernel->module->begin(&r->now);
    if (r->check) gp_check_block(r, first);
    if (r->counter) gp_count_block(r);
    while (!gp_fibers_run(&r->f)) {
        if (r->f.arrived && r->f.arrived == r->f.live && !r->check) gp_fibers_release(&r->f);
        else stuck(r);
    }
    if (!r->f.failed && r->check && !gp_check_written(r)) r->f.failed = true;
    bool ok = !r->f.failed;
    gp_fibers_reset(&r->f);
    return ok;
}

/* ---- what a kernel calls ---- */

/* Two threads of the block wait at different barriers. */
_Noreturn static void diverged(gp_runner *r, const gp_fiber *f) {
    char here[120], there[120], who[100], other[100];
    const gp_simt_module *m = r->launch->kernel->module;
    const gp_fiber *first = r->f.first;
    gp_fibers_fail(&r->f, "divergent barrier: %s waits at %s, %s at %s",
                   gp_simt_thread_text(r->launch, r->block, first->thread, who, sizeof who),
                   gp_simt_line_text(m, first->line, there, sizeof there),
                   gp_simt_thread_text(r->launch, r->block, f->thread, other, sizeof other),
                   gp_simt_line_text(m, f->line, here, sizeof here));
}

/* What the checks say of a thread that comes to a barrier; the last one ends what they look at
 * together. */
static void check_barrier(gp_runner *r, const gp_fiber *f, int kind) {
    if (r->f.arrived && (r->f.kind != kind || r->f.first->line != f->line)) diverged(r, f);
    if (r->f.arrived + 1 < r->f.n) return;
    if (!gp_check_written(r)) r->f.failed = true, gp_fibers_fail(&r->f, "%s", r->f.text);
    r->block_time = ++r->f.time;
    if (r->counter) gp_tally_barrier(r, (r->f.arrived ? r->f.first : f)->line);
}

static int barrier(int kind, int vote) {
    gp_runner *r = me();
    gp_fiber *f = r->f.current;
    f->line = kind >> 2;
    if (r->check) check_barrier(r, f, kind & 3);
    return gp_fibers_barrier(&r->f, kind & 3, vote);
}

/* Lanes of one mask have to call one function: a shuffle, or what all lanes give values for. */
static void check_meeting(gp_runner *r, int thread, unsigned mask, bool all, const void *pc) {
    char here[120], there[120], who[100], other[100];
    const gp_simt_module *m = r->launch->kernel->module;
    unsigned waits = r->f.warp[thread / GP_SIMT_WARP].waits & mask;
    const gp_fiber *g = waits ? r->f.of[(thread & ~31) + __builtin_ctz(waits)] : NULL;
    if (!g || g->mask != mask || (g->all != NULL) == all) return;
    gp_fibers_fail(&r->f, "divergent warp: %s waits at %s, %s in another function at %s",
                   gp_simt_thread_text(r->launch, r->block, g->thread, who, sizeof who),
                   gp_simt_place_text(m, g->pc, there, sizeof there),
                   gp_simt_thread_text(r->launch, r->block, thread, other, sizeof other),
                   gp_simt_place_text(m, pc, here, sizeof here));
}

static gp_fiber *meet(unsigned mask, unsigned long long value, unsigned long long *all, int from,
                      const void *pc) {
    gp_runner *r = me();
    int thread = r->f.current->thread;
    char where[120], who[100];
    if (!(mask >> (thread & 31) & 1))
        gp_fibers_fail(&r->f, "%s, lane %d, is not in the mask 0x%08x that it gives at %s",
                       gp_simt_thread_text(r->launch, r->block, thread, who, sizeof who),
                       thread & 31, mask,
                       gp_simt_place_text(r->launch->kernel->module, pc, where, sizeof where));
    if (r->check) check_meeting(r, thread, mask, all != NULL, pc);
    gp_fiber *f = gp_fibers_meet(&r->f, mask, value, all, from, pc);
    if (r->check) gp_check_met(r, f->met);
    return f;
}

static unsigned exchange(unsigned mask, unsigned long long value, unsigned long long *all,
                         const void *pc) {
    return meet(mask, value, all, 0, pc)->met;
}

static unsigned long long shuffle(unsigned mask, unsigned long long value, int from,
                                  const void *pc) {
    gp_fiber *f = meet(mask, value, NULL, from, pc);
    gp_runner *r = me();
    char where[120], who[100];
    if (r->check && !(f->met >> (from & 31) & 1))
        gp_fibers_fail(&r->f, "shuffle at %s, %s: reads lane %d, which %s",
                       gp_simt_place_text(r->launch->kernel->module, f->pc, where, sizeof where),
                       gp_simt_thread_text(r->launch, r->block, f->thread, who, sizeof who),
                       from & 31,
                       mask >> (from & 31) & 1 ? "is not active there" : "is not in its mask");
    return f->value;
}

static int lane(void) { return me()->f.current->thread & 31; }

/* Lanes run one after the other here: of those that are together now, this one is sure. */
static unsigned active(void) { return 1u << (me()->f.current->thread & 31); }

static void fence(void) {
    gp_runner *r = me();
    if (r->check) gp_check_fence(r, true);
}

static void block_fence(void) {
    gp_runner *r = me();
    if (r->check) gp_check_fence(r, false);
}

static void turn(void) { gp_fibers_yield(&me()->f); }

static void trap(const char *why) {
    gp_runner *r = me();
    const void *pc = __builtin_return_address(0);
    char where[120], who[100];
    gp_fibers_fail(&r->f, "%s at %s, %s", why,
                   gp_simt_place_text(r->launch->kernel->module, pc, where, sizeof where),
                   gp_simt_thread_text(r->launch, r->block, r->f.current->thread, who, sizeof who));
}

/* What is the same whether a launch is counted. */
#define CALLS                                                                                      \
    .barrier = barrier, .exchange = exchange, .shuffle = shuffle, .lane = lane, .active = active,  \
    .fence = fence, .trap = trap, .guessed = gp_check_guessed

const gp_simt_calls gp_runner_calls = {.read = gp_check_read,
                                       .write = gp_check_write,
                                       .read4 = gp_check_read4,
                                       .write4 = gp_check_write4,
                                       .atomic = gp_check_atomic,
                                       CALLS};
const gp_simt_calls gp_counted_calls = {.read = gp_count_read,
                                        .write = gp_count_write,
                                        .read4 = gp_count_read4,
                                        .write4 = gp_count_write4,
                                        .atomic = gp_count_atomic,
                                        .branch = gp_count_branch,
                                        .compare = gp_count_compare,
                                        CALLS};
const gp_simt_waits gp_runner_waits = {gp_check_look, gp_check_tell, block_fence,
                                       turn,          gp_check_own,  gp_check_disown};
const gp_simt_waits gp_counted_waits = {gp_count_look, gp_count_tell, block_fence,
                                        turn,          gp_check_own,  gp_check_disown};
