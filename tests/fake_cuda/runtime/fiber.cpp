/* Runs the blocks of a grid: each thread of a block on a fiber, whose stack the next thread takes over when one ends
 * without having waited; a kernel without barriers is so a loop of calls. The fibers of an OS thread stay for its next grid. */
#include "fiber.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <memory>
#include <vector>

#include "switch.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define VISIBLE __attribute__((visibility("default"), tls_model("initial-exec")))
VISIBLE __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace fake {
static const size_t STACK = 256 << 10; /* of which a page is a guard; only touched pages take memory */

enum state { IDLE, RUNNING, AT_BARRIER, AT_WARP, YIELDED };

struct runner;
struct fiber {
    context c;
    char *stack;
    size_t size;
    runner *run;
    state st;
    int thread;      /* linear index in the block */
    uint3 at;        /* threadIdx */
    unsigned mask;   /* AT_WARP: who meets */
    uint64_t value;  /* … what it brings */
    uint64_t *all;   /* … and gets: from all 32, or */
    int from;        /* from one lane, into value */
    unsigned met;    /* who came */
    void *asan, *tsan;
};

/* One OS thread's fibers and the block that it is running. */
struct runner {
    context main;
    std::vector<fiber *> fibers; /* all; the first `used` are taken by threads of this block */
    size_t used;
    fiber *current;
    std::vector<fiber *> of; /* by thread: its fiber while it waits; NULL: not started or ended */
    const std::function<void()> *body;
    int n, next, live;
    vote kind;
    int arrived, votes, result;
    std::vector<char> shared;
    bool failed;
    char text[256];
    const void *main_bottom;
    size_t main_size;
    void *asan, *tsan;
    ~runner();
};

static thread_local std::unique_ptr<runner> mine;

__attribute__((noinline)) static runner *me() {
    if (!mine) mine.reset(new runner());
    asm volatile("");
    return mine.get();
}

/* To f, and back to where the block's loop goes on; the sanitizers are told of the other stack. */
static void enter(runner *r, fiber *f) {
    r->current = f;
    f->st = RUNNING;
    threadIdx = f->at;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&r->asan, f->stack, f->size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(f->tsan, 0);
#endif
    context_swap(&r->main, &f->c);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(r->asan, NULL, NULL);
#endif
}

static void leave(fiber *f, state st) {
    runner *r = f->run;
    f->st = st;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&f->asan, r->main_bottom, r->main_size);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(r->tsan, 0);
#endif
    context_swap(&f->c, &r->main);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(f->asan, &f->run->main_bottom, &f->run->main_size);
#endif
}

static uint3 coordinates(int thread) {
    unsigned t = (unsigned)thread, x = blockDim.x, y = blockDim.y;
    return uint3{t % x, t / x % y, t / x / y};
}

static void warp_check(runner *r, int warp);

/* A fiber's whole life: thread after thread of this block, then idle until a block needs it. */
static void fiber_main() {
    fiber *f = me()->current;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(NULL, &f->run->main_bottom, &f->run->main_size);
#endif
    for (;;) {
        runner *r = f->run;
        while (r->next < r->n) {
            f->thread = r->next++;
            f->at = threadIdx = coordinates(f->thread);
            r->of[(size_t)f->thread] = f;
            (*r->body)();
            r->of[(size_t)f->thread] = NULL;
            r->live--;
            warp_check(r, f->thread / 32);
        }
        leave(f, IDLE);
    }
}

static void prepare(fiber *f) {
    f->st = IDLE;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, f->size);
    f->asan = NULL;
#elif defined(__SANITIZE_THREAD__)
    if (f->tsan) __tsan_destroy_fiber(f->tsan);
    f->tsan = __tsan_create_fiber(0);
#endif
    context_make(&f->c, f->stack, f->size, fiber_main);
}

static fiber *fiber_new(runner *r) {
    fiber *f = new fiber();
    char *p = (char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("fake_cuda: a fiber's stack");
        abort();
    }
    mprotect(p, 4096, PROT_NONE);
    f->stack = p + 4096, f->size = STACK - 4096, f->run = r;
    prepare(f);
    r->fibers.push_back(f);
    return f;
}

runner::~runner() {
    for (fiber *f : fibers) {
#if defined(__SANITIZE_ADDRESS__)
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

/* Starts every thread that has not run yet; those that wait keep their fibers. */
static void start_all(runner *r) {
    while (r->next < r->n && !r->failed) {
        if (r->used == r->fibers.size()) fiber_new(r);
        fiber *f = r->fibers[r->used];
        enter(r, f);
        if (f->st != IDLE) r->used++;
    }
}

/* One round over the waiting fibers; false if none could go on. */
static bool resume_all(runner *r) {
    bool moved = false;
    for (size_t i = 0; i < r->used && !r->failed; i++) {
        fiber *f = r->fibers[i];
        if (f->st != RUNNING && f->st != YIELDED) continue; /* RUNNING: released, and not yet on */
        enter(r, f);
        moved = true;
    }
    return moved;
}

/* What the ended block leaves behind: threads that never ended lose their fibers' state. */
static void reset(runner *r) {
    if (r->failed)
        for (fiber *f : r->fibers)
            if (f->st != IDLE) prepare(f);
    r->used = 0;
}

static bool run_block(runner *r) {
    r->next = 0, r->live = r->n, r->arrived = r->votes = 0;
    r->of.assign((size_t)r->n, NULL);
    start_all(r);
    while (r->live && !r->failed)
        if (!resume_all(r) && !r->failed)
            fail(r, "%d threads of a block wait for each other for ever, %d have ended", r->live, r->n - r->live);
    reset(r);
    return !r->failed;
}

const char *run_grid(dim3 grid, dim3 block, size_t shared, const std::function<void()> &body) {
    runner *r = me();
#if defined(__SANITIZE_THREAD__)
    r->tsan = __tsan_get_current_fiber();
#endif
    r->body = &body, r->failed = false;
    r->n = (int)(block.x * block.y * block.z);
    blockDim = block, gridDim = grid;
    r->shared.resize(shared + 16);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = uint3{x, y, z};
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
    return r->result; /* which stays until they have all read it: the next barrier needs them */
}

/* Lets the lanes of mask go if all have come, except those that have ended. */
static void warp_release(runner *r, int base, unsigned mask) {
    int lanes = r->n - base < 32 ? r->n - base : 32;
    unsigned met = 0;
    for (unsigned m = mask; m; m &= m - 1) {
        int j = __builtin_ctz(m);
        if (j >= lanes) continue;
        fiber *g = r->of[(size_t)(base + j)];
        if (g && g->st == AT_WARP && g->mask == mask) met |= 1u << j;
        else if (g || base + j >= r->next) return;
    }
    uint64_t values[32];
    for (int j = 0; j < 32; j++)
        values[j] = met >> j & 1 ? r->of[(size_t)(base + j)]->value : 0xfdfdfdfdfdfdfdfdull;
    for (unsigned m = met; m; m &= m - 1) {
        fiber *g = r->of[(size_t)(base + __builtin_ctz(m))];
        if (g->all) memcpy(g->all, values, sizeof values);
        else g->value = values[g->from & 31];
        g->met = met;
        g->st = RUNNING;
    }
}

/* A lane has ended: some may have waited for it only. */
static void warp_check(runner *r, int warp) {
    int base = warp * 32;
    for (int i = base; i < base + 32 && i < r->n; i++)
        if (r->of[(size_t)i] && r->of[(size_t)i]->st == AT_WARP) warp_release(r, base, r->of[(size_t)i]->mask);
}

static fiber *meet(unsigned mask, uint64_t value, uint64_t *all, int from) {
    runner *r = me();
    fiber *f = r->current;
    if (!(mask >> (f->thread & 31) & 1)) trap("a lane is not in the mask that it gives");
    f->mask = mask, f->value = value, f->all = all, f->from = from;
    f->st = AT_WARP;
    warp_release(r, f->thread & ~31, mask);
    if (f->st == AT_WARP) leave(f, AT_WARP);
    return f;
}

unsigned exchange(unsigned mask, uint64_t value, uint64_t all[32]) { return meet(mask, value, all, 0)->met; }
uint64_t shuffle(unsigned mask, uint64_t value, int from) { return meet(mask, value, NULL, from)->value; }
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
