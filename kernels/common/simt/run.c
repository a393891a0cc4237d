/* Runs kernels' grids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/simt/counter.h"
#include "tensor/base/error.h"
#include "tensor/base/interrupt.h"
#include "tensor/device/device.h"
#include "tensor/device/offload.h"
#include "tensor/device/stream/thread.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct grid {
    const gp_simt_launch *launch;
    atomic_bool failed;
    char text[900]; /* of the first that failed */
} grid;

static void begin_grid(gp_runner *r, const gp_simt_launch *l) {
    r->launch = l;
    r->f.dim = r->now.block_dim = l->block, r->now.grid_dim = l->grid;
    r->now.dynamic = r->shared;
    r->check = NULL, r->counter = NULL;
    r->f.stops = NULL, r->f.goes = NULL;
    r->args = (void **)l->arg;
}

static void note(grid *g, const char *text) {
    gp_lock(&lock);
    if (!g->failed) snprintf(g->text, sizeof g->text, "%s", text);
    g->failed = true;
    gp_unlock(&lock);
}

static bool room_for(gp_runner *r, size_t shared) {
    if (shared <= r->shared_size) return true;
    free(r->shared);
    r->shared = aligned_alloc(64, (shared + 63) / 64 * 64);
    r->shared_size = r->shared ? shared : 0;
    return r->shared || gp_fail("out of memory for shared memory");
}

static bool stopped(void) {
    return gp_interrupted || gp_thread_stopped() || gp_offload_is_abandoned();
}

static bool run_block(gp_runner *r, int64_t i) {
    if (!stopped()) return gp_runner_block(r, i);
    snprintf(r->f.text, sizeof r->f.text, "interrupted");
    return false;
}

static void run_blocks(void *ctx, int64_t begin, int64_t end) {
    grid *g = ctx;
    gp_runner *r = gp_runner_mine();
    if (!r || !room_for(r, g->launch->shared)) {
        note(g, gp_error());
        return;
    }
    begin_grid(r, g->launch);
    gp_halt_begin(r->halt);
    for (int64_t i = begin; i < end && !g->failed; i++)
        if (!run_block(r, i)) note(g, r->f.text);
    gp_halt_end(r->halt);
}

static int64_t blocks_of(const gp_simt_launch *l) {
    return (int64_t)l->grid.x * l->grid.y * l->grid.z;
}

/* Keeps what a launch cost as its kernel's. */
static bool keep_counts(gp_runner *r, const gp_simt_launch *l) {
    gp_simt_kernel *k = gp_simt_kernel_of(l->kernel->number);
    gp_simt_counts c;
    if (!gp_count_end(r, &c)) return false;
    c.blocks = (uint64_t)blocks_of(l), c.threads = c.blocks * (uint64_t)r->f.n;
    gp_lock(&lock);
    free(k->counts.row);
    k->counts = c;
    gp_unlock(&lock);
    return true;
}

bool gp_simt_last_counts(const gp_simt_kernel *k, gp_simt_counts *to) {
    gp_lock(&lock);
    size_t n = (size_t)k->counts.nrows * sizeof *to->row;
    *to = k->counts;
    bool ok = k->counts.blocks > 0 && (to->row = malloc(n + 1));
    if (ok && n) memcpy(to->row, k->counts.row, n);
    gp_unlock(&lock);
    return ok;
}

/* The launch has failed, for that reason. */
static bool fails(const gp_simt_launch *l, const char *text) {
    gp_was_interrupted = !strcmp(text, "interrupted");
    return gp_fail("%s: %s", l->kernel->source.name, text);
}

static bool run_checked(const gp_simt_launch *l) {
    gp_runner *r = gp_runner_mine();
    struct gp_check *c = r ? gp_check_begin(r, l) : NULL;
    gp_simt_launch copies = *l;
    char *at[GP_SIMT_TENSORS];
    if (!c) return false;
    for (int i = 0, n = 0; i < l->kernel->source.nparams; i++)
        if (l->kernel->source.param[i].pointer)
            at[n] = gp_check_tensor(c, n), copies.arg[i] = &at[n], n++;
    begin_grid(r, &copies);
    r->now.dynamic = gp_check_dynamic(c);
    r->check = c;
    bool counts = l->kernel->module->counted;
    bool ready = !counts || (r->counter = gp_count_begin(r)), ok = ready;
    gp_halt_begin(r->halt);
    for (int64_t i = 0; ok && i < blocks_of(l); i++) ok = run_block(r, i);
    gp_halt_end(r->halt);
    bool kept = !ok || !counts || keep_counts(r, l);
    gp_check_end(c, ok && kept);
    r->check = NULL, r->counter = NULL, r->launch = NULL;
    return ready && kept && (ok || fails(l, r->f.text));
}

static bool run_grid(const gp_simt_launch *l, gp_simt_loop loop) {
    enum { THREADS = 4096 }; /* that are worth a thread of the process */
    if (l->kernel->module->checked) return run_checked(l);
    int64_t threads = (int64_t)l->block.x * l->block.y * l->block.z;
    grid g = {.launch = l};
    loop(blocks_of(l), (THREADS + threads - 1) / threads, run_blocks, &g);
    return !g.failed || fails(l, g.text);
}

/* ---- variables ---- */

static size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }

size_t gp_simt_block_bytes(const gp_simt_module *m, bool read) {
    size_t sum = 0;
    for (int i = 0; i < m->nglobals; i++)
        if (gp_simt_constant(m, i) == read) sum += padded(m->bytes[i]);
    return sum;
}

size_t gp_simt_in_block(const gp_simt_module *m, int i, size_t *bytes) {
    size_t sum = 0;
    *bytes = m->bytes[i];
    for (int k = 0; k < i; k++)
        if (gp_simt_constant(m, k) == gp_simt_constant(m, i)) sum += padded(m->bytes[k]);
    return sum;
}

void gp_simt_first_values(gp_simt_module *m, bool read, char *to) {
    size_t n;
    gp_lock(m->lock);
    for (int i = 0; i < m->nglobals; i++)
        if (gp_simt_constant(m, i) == read)
            memcpy(to + gp_simt_in_block(m, i, &n), m->global[i], m->bytes[i]);
    gp_unlock(m->lock);
}

/* Exchanges n bytes, but for those that are the same, as of what cannot be written. */
static void exchange(char *p, char *q, size_t n) {
    char part[1024];
    for (size_t at = 0, size; at < n; at += size) {
        size = n - at < sizeof part ? n - at : sizeof part;
        if (!memcmp(p + at, q + at, size)) continue;
        memcpy(part, p + at, size);
        memcpy(p + at, q + at, size);
        memcpy(q + at, part, size);
    }
}

/* Exchanges the module's variables with their values: before a launch, and after it. */
static void swap_globals(const gp_simt_launch *l) {
    const gp_simt_module *m = l->kernel->module;
    char *at[2] = {l->values[0], l->values[1]};
    for (int i = 0; i < m->nglobals; i++) {
        char **from = &at[gp_simt_constant(m, i)];
        exchange(m->global[i], *from, m->bytes[i]);
        *from += padded(m->bytes[i]);
    }
}

bool gp_simt_run(const gp_simt_launch *l, gp_simt_loop loop) {
    if (!l->has_values) return run_grid(l, loop);
    gp_lock(l->kernel->module->lock);
    swap_globals(l);
    bool ok = run_grid(l, loop);
    swap_globals(l);
    gp_unlock(l->kernel->module->lock);
    return ok;
}
