/* Runs the blocks of a grid: each thread of a block on a fiber, whose stack the next thread takes
 * over when one ends without having waited; so a kernel without barriers is a loop of calls. A
 * thread that waits switches directly to one that need not. The fibers of a thread of the process
 * stay for its next grid. */
#include "kernels/common/simt/counter.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/common/simt/switch.h"
#include "tensor/base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

static _Thread_local gp_runner *mine;

/* The compiler must not keep it across a switch, though fibers never change their thread. */
__attribute__((noinline)) static gp_runner *me(void) {
    __asm__ volatile("");
    return mine;
}

/* ---- switches ---- */

/* The two halves of a switch; the sanitizers are informed of the other stack. to: NULL is main. */
static void before_switch(gp_runner *r, void **asan, gp_fiber *to) {
    r->current = to, r->entered = asan == &r->asan;
    if (to) to->state = GP_RUNNING, r->now.thread = to->at;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(asan, to ? to->stack : r->main_bottom,
                                   to ? (size_t)GP_STACK - 4096 : r->main_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to ? to->tsan : r->tsan, 0);
#endif
}

static void after_switch(gp_runner *r, void *asan) {
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(asan, &bottom, &size);
    if (r->entered) r->main_bottom = bottom, r->main_size = size;
#else
    (void)r, (void)asan;
#endif
}

/* Switches from main to f; returns when no fiber can continue. */
static void enter(gp_runner *r, gp_fiber *f) {
    before_switch(r, &r->asan, f);
    gp_context_swap(&r->main, &f->c);
    after_switch(r, r->asan);
}

static gp_fiber *pick(gp_runner *r, int from);

/* Switches from f, which now waits, to one that can continue. */
static void leave(gp_fiber *f, gp_fiber_state state) {
    gp_runner *r = f->run;
    f->state = state;
    if (state != GP_IDLE && f->index == r->used) r->used++;
    gp_fiber *to = r->failed ? NULL : pick(r, f->index + 1);
    if (to == f) {
        f->state = GP_RUNNING, r->now.thread = f->at;
        return;
    }
    before_switch(r, &f->asan, to);
    gp_context_swap(&f->c, to ? &to->c : &r->main);
    after_switch(f->run, f->asan);
}

void gp_runner_wait(gp_fiber *f, gp_fiber_state state) { leave(f, state); }

/* ---- fibers ---- */

static gp_uint3 coordinates(unsigned t, gp_uint3 dim) {
    return (gp_uint3){t % dim.x, t / dim.x % dim.y, t / dim.x / dim.y};
}

static void warp_check(gp_runner *r, int thread);

/* Where a thread is for the counts, at its end and at a barrier. */
static const char gp_ended, gp_at_barrier;

/* A fiber's whole life: thread after thread of this block, then idle until a block needs it. */
static void fiber_main(void) {
    gp_fiber *f = me()->current;
    after_switch(f->run, NULL);
    for (;;) {
        gp_runner *r = f->run;
        while (r->next < r->n) {
            f->thread = r->next++;
            f->at = r->now.thread = coordinates((unsigned)f->thread, r->now.block_dim);
            r->of[f->thread] = f;
            r->launch->kernel->entry(r->args);
            r->of[f->thread] = NULL;
            r->live--;
            warp_check(r, f->thread);
            if (r->counter) gp_count_stops(r, f->thread, &gp_ended);
        }
        leave(f, GP_IDLE);
    }
}

static void prepare(gp_fiber *f) {
    f->state = GP_IDLE;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, (size_t)GP_STACK - 4096);
    f->asan = NULL;
#elif defined(__SANITIZE_THREAD__)
    if (f->tsan) __tsan_destroy_fiber(f->tsan);
    f->tsan = __tsan_create_fiber(0);
#endif
    gp_context_make(&f->c, f->stack, (size_t)GP_STACK - 4096, fiber_main);
}

static bool add_fiber(gp_runner *r) {
    gp_fiber *f = calloc(1, sizeof *f);
    char *p = r->stacks + (size_t)r->nfibers * GP_STACK;
    if (!f || mprotect(p, 4096, PROT_NONE)) return free(f), false;
    f->stack = p + 4096, f->run = r, f->index = r->nfibers;
    prepare(f);
    r->fiber[r->nfibers++] = f;
    return true;
}

/* A fiber for the next thread that has not run yet; else the next that can continue, searched from
 * number `from` on. */
static gp_fiber *pick(gp_runner *r, int from) {
    if (r->next < r->n) {
        if (r->used == r->nfibers && !add_fiber(r)) {
            r->failed = true;
            snprintf(r->text, sizeof r->text, "out of memory for the threads' stacks");
            return NULL;
        }
        return r->fiber[r->used];
    }
    for (int i = 0; i < r->used; i++, from++) {
        gp_fiber *f = r->fiber[from < r->used ? from : from - r->used];
        if (f->state == GP_RUNNING) return f; /* released, and not yet on */
    }
    return NULL;
}

/* ---- runners ---- */

static void runner_free(void *p) {
    gp_runner *r = p;
    for (int i = 0; i < r->nfibers; i++) {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(r->fiber[i]->stack, (size_t)GP_STACK - 4096);
#elif defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(r->fiber[i]->tsan);
#endif
        free(r->fiber[i]);
    }
    if (r->stacks) munmap(r->stacks, (size_t)GP_STACK * GP_SIMT_BLOCK);
    gp_check_free(r->kept);
    gp_count_free(r->kept_counter);
    free(r->shared);
    free(r);
    mine = NULL;
}

static pthread_key_t ending;
static void make_key(void) { pthread_key_create(&ending, runner_free); }

/* Whether the processor compares return addresses with a stack of its own, which fibers leave. */
static bool shadow_stack(void) {
    uint64_t at = 0;
#ifdef __x86_64__
    __asm__ volatile("rdsspq %0" : "+r"(at));
#endif
    return at != 0;
}

gp_runner *gp_runner_mine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (mine) return mine;
    if (shadow_stack())
        return gp_fail_null("kernels do not run where the processor keeps a shadow stack");
    pthread_once(&once, make_key);
    gp_runner *r = calloc(1, sizeof *r);
    if (!r) return gp_fail_null("out of memory");
    r->stacks = mmap(NULL, (size_t)GP_STACK * GP_SIMT_BLOCK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->stacks == MAP_FAILED) {
        free(r);
        return gp_fail_null("out of memory for the threads' stacks");
    }
    pthread_setspecific(ending, r);
    return mine = r;
}

void gp_runner_fail(gp_runner *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!r->failed) vsnprintf(r->text, sizeof r->text, fmt, ap);
    va_end(ap);
    r->failed = true;
    for (;;) leave(r->current, GP_RUNNING);
}

/* ---- blocks ---- */

/* No thread can continue: says who waits for whom. */
static void stuck(gp_runner *r) {
    const gp_fiber *at = NULL, *warp = NULL;
    char where[120], who[100];
    for (int i = 0; i < r->used; i++) {
        if (r->fiber[i]->state == GP_AT_BARRIER && !at) at = r->fiber[i];
        if (r->fiber[i]->state == GP_AT_WARP && !warp) warp = r->fiber[i];
    }
    const gp_fiber *f = warp ? warp : at;
    const gp_simt_module *m = r->launch->kernel->module;
    gp_simt_thread_text(r->launch, r->block, f ? f->thread : 0, who, sizeof who);
    if (warp) gp_simt_place_text(m, warp->pc, where, sizeof where);
    else gp_simt_line_text(m, at ? at->line : 0, where, sizeof where);
    r->failed = true;
    if (warp)
        snprintf(r->text, sizeof r->text,
                 "%s waits at %s for lanes of the mask 0x%08x that do not come", who, where,
                 f->mask);
    else
        snprintf(r->text, sizeof r->text,
                 "barrier at %s, %s: %d of the block's %d threads have ended without reaching it",
                 where, who, r->n - r->live, r->n);
}

/* Lets those at the barrier go on, unless the checks have found something by now. */
static void release(gp_runner *r) {
    int kind = r->kind;
    if (r->check && !gp_check_written(r)) gp_runner_fail(r, "%s", r->text);
    r->result = kind == GP_SIMT_OR    ? r->votes > 0
                : kind == GP_SIMT_AND ? r->votes == r->arrived
                                      : r->votes;
    r->arrived = 0;
    r->block_time = ++r->time;
    if (r->counter) gp_tally_barrier(r, r->first->line);
    for (int i = 0; i < r->used; i++) {
        gp_fiber *f = r->fiber[i];
        if (f->state != GP_AT_BARRIER) continue;
        f->state = GP_RUNNING;
        if (r->counter) gp_count_goes(r, f->thread);
    }
}

/* Cleans up after a block: threads that never ended lose their fibers' state. */
static void reset(gp_runner *r) {
    for (int i = 0; r->failed && i < r->nfibers; i++)
        if (r->fiber[i]->state != GP_IDLE || i < r->used) prepare(r->fiber[i]);
    if (r->failed && r->current) prepare(r->current);
    r->used = 0;
}

static void begin_block(gp_runner *r, int64_t block) {
    gp_uint3 g = r->launch->grid;
    int warps = (r->n + GP_SIMT_WARP - 1) / GP_SIMT_WARP;
    int64_t rest = block / g.x;
    r->now.block =
        (gp_uint3){(unsigned)(block % g.x), (unsigned)(rest % g.y), (unsigned)(rest / g.y)};
    r->block = block;
    r->next = 0, r->live = r->n, r->arrived = r->votes = 0, r->failed = false;
    r->block_time = ++r->time;
    memset(r->warp, 0, (size_t)warps * sizeof *r->warp);
    if (r->n % GP_SIMT_WARP) r->warp[warps - 1].ended = ~0u << r->n % GP_SIMT_WARP;
}

bool gp_runner_block(gp_runner *r, int64_t block) {
    begin_block(r, block);
    char *first = r->launch->kernel->module->begin(&r->now);
    if (r->check) gp_check_block(r, first);
    if (r->counter) gp_count_block(r);
#if defined(__SANITIZE_THREAD__)
    r->tsan = __tsan_get_current_fiber();
#endif
    while (r->live && !r->failed) {
        gp_fiber *f = pick(r, 0);
        if (f) enter(r, f);
        else if (r->arrived && r->arrived == r->live && !r->check) release(r);
        else if (!r->failed) stuck(r);
    }
    if (!r->failed && r->check && !gp_check_written(r)) r->failed = true;
    bool ok = !r->failed;
    reset(r);
    return ok;
}

/* ---- barriers ---- */

/* Two threads of the block wait at different barriers. */
_Noreturn static void diverged(gp_runner *r, const gp_fiber *f) {
    char here[120], there[120], who[100], other[100];
    const gp_simt_module *m = r->launch->kernel->module;
    gp_runner_fail(r, "divergent barrier: %s waits at %s, %s at %s",
                   gp_simt_thread_text(r->launch, r->block, r->first->thread, who, sizeof who),
                   gp_simt_line_text(m, r->first->line, there, sizeof there),
                   gp_simt_thread_text(r->launch, r->block, f->thread, other, sizeof other),
                   gp_simt_line_text(m, f->line, here, sizeof here));
}

static int barrier(int kind, int vote) {
    gp_runner *r = me();
    gp_fiber *f = r->current;
    f->line = kind >> 2;
    if (r->arrived++ == 0) r->kind = kind & 3, r->votes = 0, r->first = f;
    else if (r->check && (r->kind != (kind & 3) || r->first->line != f->line)) diverged(r, f);
    r->votes += vote;
    if (r->arrived < r->n) {
        if (r->counter) gp_count_stops(r, f->thread, &gp_at_barrier);
        leave(f, GP_AT_BARRIER);
        return f->run->result;
    }
    release(r);
    return r->result; /* which stays valid until all have read it: the next barrier needs them */
}

/* ---- warps ---- */

/* Releases the lanes of mask if all have arrived, except those that have ended. */
static void warp_release(gp_runner *r, int base, unsigned mask) {
    gp_warp *w = &r->warp[base / GP_SIMT_WARP];
    if (mask & ~(w->waits | w->ended)) return;
    unsigned met = mask & w->waits;
    unsigned long long values[GP_SIMT_WARP];
    for (int j = 0; j < GP_SIMT_WARP; j++) {
        gp_fiber *g = met >> j & 1 ? r->of[base + j] : NULL;
        if (g && g->mask != mask) return;
        values[j] = g ? g->value : 0xfdfdfdfdfdfdfdfdull;
    }
    w->waits &= ~met;
    r->time++;
    if (!(~met & ~w->ended)) w->time = r->time;
    for (unsigned m = met; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        gp_fiber *g = r->of[base + lane];
        w->part_time[lane] = r->time, w->part[lane] = met;
        if (g->all) memcpy(g->all, values, sizeof values);
        else g->value = values[g->from & 31];
        g->met = met;
        g->state = GP_RUNNING;
        if (r->counter && g != r->current) gp_count_goes(r, g->thread);
    }
}

/* A thread has ended: others of its warp may have waited only for it. */
static void warp_check(gp_runner *r, int thread) {
    gp_warp *w = &r->warp[thread / GP_SIMT_WARP];
    w->ended |= 1u << thread % GP_SIMT_WARP;
    for (unsigned left = w->waits; left; left &= left - 1) {
        gp_fiber *g = r->of[(thread & ~31) + __builtin_ctz(left)];
        if (g->state == GP_AT_WARP) warp_release(r, thread & ~31, g->mask);
    }
}

static gp_fiber *meet(unsigned mask, unsigned long long value, unsigned long long *all, int from,
                      const void *pc) {
    gp_runner *r = me();
    gp_fiber *f = r->current;
    int lane = f->thread & 31;
    char where[120], who[100];
    f->pc = pc;
    if (!(mask >> lane & 1))
        gp_runner_fail(r, "%s, lane %d, is not in the mask 0x%08x that it gives at %s",
                       gp_simt_thread_text(r->launch, r->block, f->thread, who, sizeof who), lane,
                       mask,
                       gp_simt_place_text(r->launch->kernel->module, pc, where, sizeof where));
    f->mask = mask, f->value = value, f->all = all, f->from = from;
    f->state = GP_AT_WARP;
    r->warp[f->thread / GP_SIMT_WARP].waits |= 1u << lane;
    warp_release(r, f->thread & ~31, mask);
    if (f->state == GP_AT_WARP) {
        if (r->counter) gp_count_stops(r, f->thread, pc);
        leave(f, GP_AT_WARP);
    }
    return f;
}

static unsigned exchange(unsigned mask, unsigned long long value, unsigned long long *all,
                         const void *pc) {
    return meet(mask, value, all, 0, pc)->met;
}

static unsigned long long shuffle(unsigned mask, unsigned long long value, int from,
                                  const void *pc) {
    gp_fiber *f = meet(mask, value, NULL, from, pc);
    gp_runner *r = f->run;
    char where[120], who[100];
    if (r->check && !(f->met >> (from & 31) & 1))
        gp_runner_fail(r, "shuffle at %s, %s: reads lane %d, which is not active there",
                       gp_simt_place_text(r->launch->kernel->module, f->pc, where, sizeof where),
                       gp_simt_thread_text(r->launch, r->block, f->thread, who, sizeof who),
                       from & 31);
    return f->value;
}

static int lane(void) { return me()->current->thread & 31; }

/* Lanes run one after the other here: of those that are together now, this one is sure. */
static unsigned active(void) { return 1u << (me()->current->thread & 31); }

static void fence(void) {
    gp_runner *r = me();
    if (r->check) gp_check_fence(r);
}

static void trap(const char *why) {
    gp_runner *r = me();
    const void *pc = __builtin_return_address(0);
    char where[120], who[100];
    gp_runner_fail(r, "%s at %s, %s", why,
                   gp_simt_place_text(r->launch->kernel->module, pc, where, sizeof where),
                   gp_simt_thread_text(r->launch, r->block, r->current->thread, who, sizeof who));
}

/* What is the same whether a launch is counted. */
#define CALLS                                                                                      \
    .barrier = barrier, .exchange = exchange, .shuffle = shuffle, .lane = lane, .active = active,  \
    .fence = fence, .trap = trap

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
