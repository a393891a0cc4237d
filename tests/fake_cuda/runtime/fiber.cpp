/* Runs the blocks of a grid on this OS thread's fibers (kernels/common/simt/fiber.h), and what a
 * kernel calls where a thread waits for others. */
#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <memory>
#include <vector>

#include "kernels/common/simt/fiber.h"

#define VISIBLE __attribute__((visibility("default"), tls_model("initial-exec")))
VISIBLE __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace fake {
/* One OS thread's fibers, and what they run. */
struct runner {
    gp_fibers f;
    const std::function<void()> *body;
    std::vector<char> shared;
    ~runner() { gp_fibers_end(&f); }
};

static runner *me() { return (runner *)gp_fibers_mine(); }

/* The runner of this OS thread, made for its first grid. */
static runner *mine() {
    static thread_local std::unique_ptr<runner> made;
    const char *why;
    if (made) return made.get();
    made.reset(new runner());
    made->f.body = [](gp_fibers *f) { (*((runner *)f)->body)(); };
    made->f.now = (gp_uint3 *)&threadIdx;
    if (!gp_fibers_begin(&made->f, &why)) {
        fprintf(stderr, "fake_cuda: %s\n", why);
        abort();
    }
    return made.get();
}

static bool run_block(gp_fibers *f) {
    gp_fibers_block(f);
    if (!gp_fibers_run(f)) {
        snprintf(f->text, sizeof f->text,
                 "%d threads of a block wait for each other forever, %d have ended", f->live,
                 f->n - f->live);
        f->failed = true;
    }
    gp_fibers_reset(f);
    return !f->failed;
}

const char *run_grid(dim3 grid, dim3 block, size_t shared, const std::function<void()> &body) {
    runner *r = mine();
    r->body = &body, r->f.backward = runs_backward();
    r->f.dim = gp_uint3{block.x, block.y, block.z};
    blockDim = block, gridDim = grid;
    r->shared.resize(shared + 16);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = r->f.backward ? uint3{grid.x - 1 - x, grid.y - 1 - y, grid.z - 1 - z}
                                         : uint3{x, y, z};
                if (shared) memset(r->shared.data(), 0xfd, r->shared.size());
                if (!run_block(&r->f)) return r->f.text;
            }
    return NULL;
}

char *dynamic_shared() { return (char *)(((uintptr_t)me()->shared.data() + 15) & ~(uintptr_t)15); }

static int barrier(int kind, int vote) {
    gp_fibers *f = gp_fibers_mine();
    kind &= 3; /* the rest is the line */
    if (f->arrived && f->kind != kind)
        trap("threads of a block meet at different kinds of barriers");
    return gp_fibers_barrier(f, kind, vote);
}

static gp_fiber *meet(unsigned mask, unsigned long long value, unsigned long long *all, int from) {
    gp_fibers *f = gp_fibers_mine();
    if (!(mask >> (f->current->thread & 31) & 1)) trap("a lane is not in the mask that it gives");
    return gp_fibers_meet(f, mask, value, all, from, NULL);
}

static unsigned exchange(unsigned mask, unsigned long long value, unsigned long long *all,
                         const void *) {
    return meet(mask, value, all, 0)->met;
}
static unsigned long long shuffle(unsigned mask, unsigned long long value, int from, const void *) {
    return meet(mask, value, NULL, from)->value;
}
static int lane() { return gp_fibers_mine()->current->thread & 31; }
/* Lanes run one after the other here: of those that are together now, this one is sure. */
static unsigned active() { return 1u << lane(); }
void yield() { gp_fibers_wait(gp_fibers_mine()->current, GP_RUNNING); }
void trap(const char *why) { gp_fibers_fail(gp_fibers_mine(), "%s", why); }

uint64_t clock_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static gp_simt_calls calls() {
    gp_simt_calls c = {};
    c.barrier = barrier, c.exchange = exchange, c.shuffle = shuffle, c.lane = lane;
    c.active = active;
    return c;
}
} // namespace fake

const gp_simt_calls fake_calls = fake::calls();
