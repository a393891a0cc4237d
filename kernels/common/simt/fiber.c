/* Runs the blocks of a grid: each thread of a block on a fiber, whose stack the next thread takes
 * over when one ends without having waited; so a kernel without barriers is a loop of calls. A
 * thread that waits switches directly to one that need not. The fibers of a thread of the process
 * stay for its next grid. */
#include "kernels/common/simt/fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/common/simt/switch.h"

/* GP_FIBERS_ASAN: this file is not instrumented, but what it runs is. */
#if defined(__SANITIZE_ADDRESS__) || defined(GP_FIBERS_ASAN)
#define ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { GUARD = 4096, SIZE = GP_STACK - GUARD };
static const size_t STACKS = (size_t)GP_STACK * (GP_SIMT_BLOCK + 1); /* one of them to align */

static _Thread_local gp_fibers *mine;

/* The compiler must not keep it across a switch, though fibers never change their thread. */
__attribute__((noinline)) gp_fibers *gp_fibers_mine(void) {
    __asm__ volatile("");
    return mine;
}

/* ---- switches ---- */

/* The two halves of a switch; the sanitizers are informed of the other stack. to: NULL is main. */
static void before_switch(gp_fibers *r, void **asan, gp_fiber *to) {
    r->current = to, r->entered = asan == &r->asan;
    if (to) to->state = GP_RUNNING, *r->now = to->at;
#if defined(ASAN)
    __sanitizer_start_switch_fiber(asan, to ? to->stack : r->main_bottom,
                                   to ? (size_t)SIZE : r->main_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to ? to->tsan : r->tsan, 0);
#endif
}

static void after_switch(gp_fibers *r, void *asan) {
#if defined(ASAN)
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(asan, &bottom, &size);
    if (r->entered) r->main_bottom = bottom, r->main_size = size;
#else
    (void)r, (void)asan;
#endif
}

/* Switches from main to f; returns when no fiber can continue. */
static void enter(gp_fibers *r, gp_fiber *f) {
    before_switch(r, &r->asan, f);
    gp_context_swap(&r->main, &f->c);
    after_switch(r, r->asan);
}

static gp_fiber *pick(gp_fibers *r, int from);

void gp_fibers_wait(gp_fiber *f, gp_fiber_state state) {
    gp_fibers *r = f->run;
    f->state = state;
    if (state != GP_IDLE && f->index == r->used) r->used++;
    gp_fiber *to = r->failed ? NULL : pick(r, f->index + 1);
    if (to == f) {
        f->state = GP_RUNNING, *r->now = f->at;
        return;
    }
    before_switch(r, &f->asan, to);
    gp_context_swap(&f->c, to ? &to->c : &r->main);
    after_switch(f->run, f->asan);
}

void gp_fibers_yield(gp_fibers *r) { gp_fibers_wait(r->current, GP_RUNNING); }

/* ---- fibers ---- */

static gp_uint3 coordinates(unsigned t, gp_uint3 dim) {
    if (t < dim.x) return (gp_uint3){t, 0, 0};
    return (gp_uint3){t % dim.x, t / dim.x % dim.y, t / dim.x / dim.y};
}

static void warp_check(gp_fibers *r, int thread);

/* Where a thread stops, at its end and at a barrier. */
static const char ended, at_barrier;

/* A fiber's whole life: thread after thread of this block, then idle until a block needs it. */
static void fiber_main(void) {
    gp_fiber *f = gp_fibers_mine()->current;
    after_switch(f->run, NULL);
    for (;;) {
        gp_fibers *r = f->run;
        while (r->next < r->n) {
            f->thread = r->backward ? r->n - 1 - r->next : r->next;
            r->next++;
            f->at = *r->now = coordinates((unsigned)f->thread, r->dim);
            r->of[f->thread] = f;
            r->body(r);
            r->of[f->thread] = NULL;
            r->live--;
            warp_check(r, f->thread);
            if (r->stops) r->stops(r, f->thread, &ended);
        }
        gp_fibers_wait(f, GP_IDLE);
    }
}

static void prepare(gp_fiber *f) {
    f->state = GP_IDLE;
#if defined(ASAN)
    __asan_unpoison_memory_region(f->stack, SIZE);
    f->asan = NULL;
#elif defined(__SANITIZE_THREAD__)
    if (f->tsan) __tsan_destroy_fiber(f->tsan);
    f->tsan = __tsan_create_fiber(0);
#endif
    gp_context_make(&f->c, f->stack, SIZE - GP_STACK_TOP, fiber_main);
}

static bool add_fiber(gp_fibers *r) {
    gp_fiber *f = calloc(1, sizeof *f);
    char *p = r->stacks + (size_t)r->nfibers * GP_STACK;
    if (!f || mprotect(p, GUARD, PROT_NONE)) return free(f), false;
    f->stack = p + GUARD, f->run = r, f->index = r->nfibers;
    prepare(f);
    r->fiber[r->nfibers++] = f;
    return true;
}

/* A fiber for the next thread that has not run yet; else the next that can continue, searched from
 * number `from` on. */
static gp_fiber *pick(gp_fibers *r, int from) {
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
        if (f->state == GP_RUNNING) return f;
    }
    return NULL;
}

/* Whether the processor compares return addresses with a stack of its own, which fibers leave. */
static bool shadow_stack(void) {
    uint64_t at = 0;
#ifdef __x86_64__
    __asm__ volatile("rdsspq %0" : "+r"(at));
#endif
    return at != 0;
}

bool gp_fibers_begin(gp_fibers *r, const char **why) {
    *why = "kernels do not run where the processor keeps a shadow stack";
    if (shadow_stack()) return false;
    *why = "out of memory for the threads' stacks";
    void *p = mmap(NULL, STACKS, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    r->mapped = p, mine = r;
    r->stacks = r->mapped + (-(uintptr_t)p & (GP_STACK - 1));
    return true;
}

void gp_fibers_end(gp_fibers *r) {
    for (int i = 0; i < r->nfibers; i++) {
#if defined(ASAN)
        __asan_unpoison_memory_region(r->fiber[i]->stack, SIZE);
#elif defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(r->fiber[i]->tsan);
#endif
        free(r->fiber[i]);
    }
    if (r->mapped) munmap(r->mapped, STACKS);
    mine = NULL;
}

/* ---- blocks ---- */

void gp_fibers_fail(gp_fibers *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!r->failed) vsnprintf(r->text, sizeof r->text, fmt, ap);
    va_end(ap);
    r->failed = true;
    for (;;) gp_fibers_wait(r->current, GP_RUNNING);
}

void gp_fibers_block(gp_fibers *r) {
    r->n = r->live = (int)(r->dim.x * r->dim.y * r->dim.z);
    int warps = (r->n + GP_SIMT_WARP - 1) / GP_SIMT_WARP;
    r->next = 0, r->arrived = r->votes = 0, r->failed = false;
    memset(r->warp, 0, (size_t)warps * sizeof *r->warp);
    if (r->n % GP_SIMT_WARP) r->warp[warps - 1].ended = ~0u << r->n % GP_SIMT_WARP;
}

bool gp_fibers_run(gp_fibers *r) {
    gp_fiber *f;
#if defined(__SANITIZE_THREAD__)
    r->tsan = __tsan_get_current_fiber();
#endif
    while (r->live && !r->failed && (f = pick(r, 0))) enter(r, f);
    return !r->live || r->failed;
}

/* Threads that never ended lose their fibers' state. */
void gp_fibers_reset(gp_fibers *r) {
    for (int i = 0; r->failed && i < r->nfibers; i++)
        if (r->fiber[i]->state != GP_IDLE || i < r->used) prepare(r->fiber[i]);
    if (r->failed && r->current) prepare(r->current);
    r->used = 0;
}

/* ---- barriers ---- */

void gp_fibers_release(gp_fibers *r) {
    int kind = r->kind;
    r->result = kind == GP_SIMT_OR    ? r->votes > 0
                : kind == GP_SIMT_AND ? r->votes == r->arrived
                                      : r->votes;
    r->arrived = 0;
    for (int i = 0; i < r->used; i++) {
        gp_fiber *f = r->fiber[i];
        if (f->state != GP_AT_BARRIER) continue;
        f->state = GP_RUNNING;
        if (r->goes) r->goes(r, f->thread);
    }
}

int gp_fibers_barrier(gp_fibers *r, int kind, int vote) {
    gp_fiber *f = r->current;
    if (r->arrived++ == 0) r->kind = kind, r->votes = 0, r->first = f;
    r->votes += vote;
    if (r->arrived < r->n) {
        if (r->stops) r->stops(r, f->thread, &at_barrier);
        gp_fibers_wait(f, GP_AT_BARRIER);
        return f->run->result;
    }
    gp_fibers_release(r);
    return r->result; /* which stays valid until all have read it: the next barrier needs them */
}

/* ---- warps ---- */

/* Lanes of the mask have met, or had ended: each is after all that one of them was after. */
static void note_meeting(gp_fibers *r, int base, unsigned mask, unsigned met) {
    uint32_t all[GP_SIMT_WARP] = {0};
    int n = r->n - base;
    unsigned present = n < GP_SIMT_WARP ? ~(~0u << n) : ~0u;
    r->time++;
    if (!(present & ~mask)) {
        r->warp[base / GP_SIMT_WARP].time = r->time;
        return;
    }
    for (unsigned m = met; m; m &= m - 1) {
        const uint32_t *one = r->after[base + __builtin_ctz(m)];
        for (int j = 0; j < GP_SIMT_WARP; j++) all[j] = one[j] > all[j] ? one[j] : all[j];
    }
    for (int j = 0; j < GP_SIMT_WARP; j++)
        if (mask >> j & 1) all[j] = r->time;
    for (unsigned m = met; m; m &= m - 1)
        memcpy(r->after[base + __builtin_ctz(m)], all, sizeof all);
}

/* Releases the lanes of mask if all have arrived, except those that have ended. */
static void warp_release(gp_fibers *r, int base, unsigned mask) {
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
    note_meeting(r, base, mask, met);
    for (unsigned m = met; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        gp_fiber *g = r->of[base + lane];
        if (g->all) memcpy(g->all, values, sizeof values);
        else g->value = values[g->from & 31];
        g->met = met;
        g->state = GP_RUNNING;
        if (r->goes && g != r->current) r->goes(r, g->thread);
    }
}

/* A thread has ended: others of its warp may have waited only for it. */
static void warp_check(gp_fibers *r, int thread) {
    gp_warp *w = &r->warp[thread / GP_SIMT_WARP];
    w->ended |= 1u << thread % GP_SIMT_WARP;
    for (unsigned left = w->waits; left; left &= left - 1) {
        gp_fiber *g = r->of[(thread & ~31) + __builtin_ctz(left)];
        if (g->state == GP_AT_WARP) warp_release(r, thread & ~31, g->mask);
    }
}

gp_fiber *gp_fibers_meet(gp_fibers *r, unsigned mask, unsigned long long value,
                         unsigned long long *all, int from, const void *pc) {
    gp_fiber *f = r->current;
    f->pc = pc, f->mask = mask, f->value = value, f->all = all, f->from = from;
    f->state = GP_AT_WARP;
    r->warp[f->thread / GP_SIMT_WARP].waits |= 1u << (f->thread & 31);
    warp_release(r, f->thread & ~31, mask);
    if (f->state == GP_AT_WARP) {
        if (r->stops) r->stops(r, f->thread, pc);
        gp_fibers_wait(f, GP_AT_WARP);
    }
    return f;
}
