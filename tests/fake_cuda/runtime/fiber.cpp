/* Runs the blocks of a grid: each thread of a block on a fiber, whose stack the next thread takes
 * over when one ends without having waited; so a kernel without barriers is a loop of calls. A
 * thread that waits switches directly to one that need not. The fibers of an OS thread stay for its
 * next grid. */
#include "fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <memory>
#include <vector>

#include "kernels/common/simt/switch.h"
#if defined(FAKE_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define VISIBLE __attribute__((visibility("default"), tls_model("initial-exec")))
VISIBLE __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace fake {
static const size_t STACK =
    256 << 10; /* of which a page is a guard; only touched pages take memory */

enum state { IDLE, RUNNING, AT_BARRIER, AT_WARP, YIELDED };

struct runner;
struct fiber {
    gp_fiber_context c;
    char *stack;
    size_t size;
    runner *run;
    state st;
    size_t index;   /* in the runner's fibers */
    int thread;     /* linear index in the block */
    uint3 at;       /* threadIdx */
    unsigned mask;  /* AT_WARP: lanes that meet */
    uint64_t value; /* … the value it brings */
    uint64_t *all;  /* … and the values it gets: from all 32, or */
    int from;       /* from one lane, into value */
    unsigned met;   /* lanes that have arrived */
    void *asan, *tsan;
};

/* Lanes of a warp as bits. */
struct warp {
    unsigned waits; /* at a function of the warp */
    unsigned ended; /* ended, or absent: a block's last warp may be short */
};

/* One OS thread's fibers and the block that it is running. */
struct runner {
    gp_fiber_context main;
    std::vector<fiber *> fibers; /* all; the first `used` are taken by threads of this block */
    size_t used;
    fiber *current;
    std::vector<fiber *> of; /* by thread: its fiber while it runs; NULL: not started or ended */
    std::vector<warp> warps;
    const std::function<void()> *body;
    int n, next, live;
    vote kind;
    int arrived, votes, result;
    std::vector<char> shared;
    bool failed, backward, entered; /* entered: the switch that ends now came from main */
    char text[256];
    const void *main_bottom;
    size_t main_size;
    void *asan, *tsan;
    ~runner();
};

static thread_local std::unique_ptr<runner> mine;
static __thread runner *mine_now __attribute__((tls_model("initial-exec")));

/* The compiler must not keep it across a switch, though fibers never change their OS thread. */
__attribute__((noinline)) static runner *me() {
    if (!mine_now) mine.reset(mine_now = new runner());
    asm volatile("");
    return mine_now;
}

/* The two halves of a switch; the sanitizers are informed of the other stack. to: NULL is main. */
static void before_switch(runner *r, void **asan, fiber *to) {
    r->current = to, r->entered = asan == &r->asan;
    if (to) to->st = RUNNING, threadIdx = to->at;
#if defined(FAKE_ASAN)
    __sanitizer_start_switch_fiber(asan, to ? to->stack : r->main_bottom,
                                   to ? to->size : r->main_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to ? to->tsan : r->tsan, 0);
#endif
}

static void after_switch(runner *r, void *asan) {
#if defined(FAKE_ASAN)
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(asan, &bottom, &size);
    if (r->entered) r->main_bottom = bottom, r->main_size = size;
#else
    (void)r, (void)asan;
#endif
}

/* Switches from main to f; returns when no fiber can continue. */
static void enter(runner *r, fiber *f) {
    before_switch(r, &r->asan, f);
    gp_context_swap(&r->main, &f->c);
    after_switch(r, r->asan);
}

static fiber *pick(runner *r, size_t from);

/* Switches from f, which now waits, to one that can continue. */
static void leave(fiber *f, state st) {
    runner *r = f->run;
    f->st = st;
    if (st != IDLE && f->index == r->used) r->used++;
    fiber *to = r->failed ? NULL : pick(r, f->index + 1);
    if (to == f) {
        f->st = RUNNING;
        return;
    }
    before_switch(r, &f->asan, to);
    gp_context_swap(&f->c, to ? &to->c : &r->main);
    after_switch(f->run, f->asan);
}

static uint3 coordinates(int thread) {
    unsigned t = (unsigned)thread, x = blockDim.x, y = blockDim.y;
    if (t < x) return uint3{t, 0, 0};
    return uint3{t % x, t / x % y, t / x / y};
}

static void warp_check(runner *r, int warp);

/* A fiber's whole life: thread after thread of this block, then idle until a block needs it. */
static void fiber_main() {
    fiber *f = me()->current;
    after_switch(f->run, NULL);
    for (;;) {
        runner *r = f->run;
        while (r->next < r->n) {
            f->thread = r->backward ? r->n - 1 - r->next : r->next;
            r->next++;
            f->at = threadIdx = coordinates(f->thread);
            r->of[(size_t)f->thread] = f;
            (*r->body)();
            r->of[(size_t)f->thread] = NULL;
            r->live--;
            warp_check(r, f->thread);
        }
        leave(f, IDLE);
    }
}

static void prepare(fiber *f) {
    f->st = IDLE;
#if defined(FAKE_ASAN)
    __asan_unpoison_memory_region(f->stack, f->size);
    f->asan = NULL;
#elif defined(__SANITIZE_THREAD__)
    if (f->tsan) __tsan_destroy_fiber(f->tsan);
    f->tsan = __tsan_create_fiber(0);
#endif
    gp_context_make(&f->c, f->stack, f->size, fiber_main);
}

static fiber *fiber_new(runner *r) {
    fiber *f = new fiber();
    char *p = (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("fake_cuda: a fiber's stack");
        abort();
    }
    mprotect(p, 4096, PROT_NONE);
    f->stack = p + 4096, f->size = STACK - 4096, f->run = r;
    f->index = r->fibers.size();
    prepare(f);
    r->fibers.push_back(f);
    return f;
}

runner::~runner() {
    for (fiber *f : fibers) {
#if defined(FAKE_ASAN)
        __asan_unpoison_memory_region(f->stack, f->size);
#elif defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(f->tsan);
#endif
        munmap(f->stack - 4096, STACK);
        delete f;
    }
}

__attribute__((format(printf, 2, 3))) static void fail(runner *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!r->failed) vsnprintf(r->text, sizeof r->text, fmt, ap);
    va_end(ap);
    r->failed = true;
}

/* A fiber for the next thread that has not run yet; else the next that can continue, searched from
 * number `from` on. */
static fiber *pick(runner *r, size_t from) {
    if (r->next < r->n) {
        if (r->used == r->fibers.size()) fiber_new(r);
        return r->fibers[r->used];
    }
    for (size_t i = 0; i < r->used; i++, from++) {
        fiber *f = r->fibers[from < r->used ? from : from - r->used];
        if (f->st == RUNNING || f->st == YIELDED) return f; /* RUNNING: released, and not yet on */
    }
    return NULL;
}

/* Cleans up after a block: threads that never ended lose their fibers' state. */
static void reset(runner *r) {
    if (r->failed)
        for (fiber *f : r->fibers)
            if (f->st != IDLE) prepare(f);
    r->used = 0;
}

static bool run_block(runner *r) {
    r->next = 0, r->live = r->n, r->arrived = r->votes = 0;
    r->of.assign((size_t)r->n, NULL);
    r->warps.assign((size_t)(r->n + 31) / 32, warp{0, 0});
    if (r->n % 32) r->warps.back().ended = ~0u << r->n % 32;
    while (r->live && !r->failed) {
        fiber *f = pick(r, 0);
        if (f) enter(r, f);
        else
            fail(r, "%d threads of a block wait for each other forever, %d have ended", r->live,
                 r->n - r->live);
    }
    reset(r);
    return !r->failed;
}

const char *run_grid(dim3 grid, dim3 block, size_t shared, const std::function<void()> &body) {
    runner *r = me();
#if defined(__SANITIZE_THREAD__)
    r->tsan = __tsan_get_current_fiber();
#endif
    r->body = &body, r->failed = false, r->backward = runs_backward();
    r->n = (int)(block.x * block.y * block.z);
    blockDim = block, gridDim = grid;
    r->shared.resize(shared + 16);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = r->backward ? uint3{grid.x - 1 - x, grid.y - 1 - y, grid.z - 1 - z}
                                       : uint3{x, y, z};
                if (shared) memset(r->shared.data(), 0xfd, r->shared.size());
                if (!run_block(r)) return r->text;
            }
    return NULL;
}

char *dynamic_shared() { return (char *)(((uintptr_t)me()->shared.data() + 15) & ~(uintptr_t)15); }

int barrier(vote kind, int value) {
    runner *r = me();
    fiber *f = r->current;
    if (r->arrived++ == 0) r->kind = kind, r->votes = 0;
    else if (r->kind != kind) trap("threads of a block meet at different kinds of barriers");
    r->votes += value != 0;
    if (r->arrived < r->n) {
        leave(f, AT_BARRIER);
        return f->run->result;
    }
    r->result = kind == VOTE_OR ? r->votes > 0 : kind == VOTE_AND ? r->votes == r->n : r->votes;
    r->arrived = 0;
    for (size_t i = 0; i < r->used; i++)
        if (r->fibers[i]->st == AT_BARRIER) r->fibers[i]->st = RUNNING;
    return r->result; /* which stays valid until all have read it: the next barrier needs them */
}

/* Releases the lanes of mask if all have arrived, except those that have ended. */
static void warp_release(runner *r, int base, unsigned mask) {
    warp *w = &r->warps[(size_t)base / 32];
    if (mask & ~(w->waits | w->ended)) return;
    unsigned met = mask & w->waits;
    uint64_t values[32];
    for (int j = 0; j < 32; j++) {
        fiber *g = met >> j & 1 ? r->of[(size_t)(base + j)] : NULL;
        if (g && g->mask != mask) return;
        values[j] = g ? g->value : 0xfdfdfdfdfdfdfdfdull;
    }
    w->waits &= ~met;
    for (unsigned m = met; m; m &= m - 1) {
        fiber *g = r->of[(size_t)(base + __builtin_ctz(m))];
        if (g->all) memcpy(g->all, values, sizeof values);
        else g->value = values[g->from & 31];
        g->met = met;
        g->st = RUNNING;
    }
}

/* A thread has ended: others of its warp may have waited only for it. */
static void warp_check(runner *r, int thread) {
    warp *w = &r->warps[(size_t)thread / 32];
    w->ended |= 1u << thread % 32;
    for (unsigned left = w->waits; left; left &= left - 1) {
        fiber *g = r->of[(size_t)((thread & ~31) + __builtin_ctz(left))];
        if (g->st == AT_WARP) warp_release(r, thread & ~31, g->mask);
    }
}

static fiber *meet(unsigned mask, uint64_t value, uint64_t *all, int from) {
    runner *r = me();
    fiber *f = r->current;
    if (!(mask >> (f->thread & 31) & 1)) trap("a lane is not in the mask that it gives");
    f->mask = mask, f->value = value, f->all = all, f->from = from;
    f->st = AT_WARP;
    r->warps[(size_t)f->thread / 32].waits |= 1u << (f->thread & 31);
    warp_release(r, f->thread & ~31, mask);
    if (f->st == AT_WARP) leave(f, AT_WARP);
    return f;
}

unsigned exchange(unsigned mask, uint64_t value, uint64_t all[32]) {
    return meet(mask, value, all, 0)->met;
}
uint64_t shuffle(unsigned mask, uint64_t value, int from) {
    return meet(mask, value, NULL, from)->value;
}
int lane() { return me()->current->thread & 31; }
void yield() { leave(me()->current, YIELDED); }

void trap(const char *why) {
    runner *r = me();
    fail(r, "%s", why);
    for (;;) leave(r->current, YIELDED);
}

uint64_t clock_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
} // namespace fake
