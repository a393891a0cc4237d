/* Builds kernels, and runs their grids. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/simt/runner.h"
#include "tensor/base/error.h"
#include "tensor/device/device.h"
#include "tensor/device/offload.h"
#include "tensor/device/stream/thread.h"

/* The text that stands before a kernel's: prelude.c. */
extern const char gp_simt_prelude[], gp_simt_prelude_end[];

/* No name or text of a user's is among them. */
#define FLAGS                                                                                      \
    "-x c -std=gnu11 -w -fgnu89-inline -fwrapv -fno-strict-aliasing -ffp-contract=off "            \
    "-fno-math-errno -fno-trapping-math -fvisibility=hidden -ftrack-macro-expansion=0 "            \
    "-fdiagnostics-color=never -foptimize-sibling-calls -fPIC -shared -nostdlib"
#define CHECKED                                                                                    \
    FLAGS " -O1 -fno-tree-sra -fsanitize=thread -g1 -gdwarf-4 --param "                            \
          "tsan-instrument-func-entry-exit=0"
#define UNCHECKED FLAGS " -O3 -g1 -gdwarf-4"

/* ---- the table ---- */

enum { MOST = 4096 }; /* kernels of a program */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gp_simt_kernel *_Atomic table[MOST];
static int count;

gp_simt_kernel *gp_simt_kernel_of(int64_t number) {
    return number >= 0 && number < MOST ? table[number] : NULL;
}
int64_t gp_simt_number(const gp_simt_kernel *k) { return k->number; }
const gp_simt_source *gp_simt_source_of(const gp_simt_kernel *k) { return &k->source; }
size_t gp_simt_static_shared(const gp_simt_kernel *k) {
    size_t n = 0;
    for (int i = 0; i < k->symbols.n; i++)
        if (k->symbols.row[i].shared) n += k->symbols.row[i].size;
    return n;
}

static bool add(gp_simt_kernel *k) {
    gp_lock(&lock);
    bool fits = count < MOST;
    if (fits) table[k->number = count++] = k;
    gp_unlock(&lock);
    return fits || gp_fail("cuda.kernel: a program may have %d kernels", MOST);
}

/* ---- building ---- */

/* Everything that the compiler reads. */
static char *whole_text(const gp_simt_source *s) {
    size_t n = (size_t)(gp_simt_prelude_end - gp_simt_prelude), size;
    char *text = NULL;
    FILE *f = open_memstream(&text, &size);
    if (!f) return gp_fail_null("out of memory");
    if (s->checked) fputs("#define GP_CHECKED\n", f);
    if (strstr(s->text, "atomic")) fputs("#define GP_USES_ATOMICS\n", f);
    if (strstr(s->text, "_sync") || strstr(s->text, "__syncwarp") ||
        strstr(s->text, "__activemask"))
        fputs("#define GP_USES_WARPS\n", f);
    fwrite(gp_simt_prelude, 1, n, f);
    fputs(s->text, f);
    int bad = ferror(f);
    if (!fclose(f) && !bad) return text;
    free(text);
    return gp_fail_null("out of memory");
}

static gp_object *compile(const gp_simt_source *s, bool *refused) {
    char *text = whole_text(s);
    const char *why = NULL;
    gp_object *o = text ? gp_object_begin_own(text, s->checked ? CHECKED : UNCHECKED, &why) : NULL;
    if (!o && text)
        gp_fail("%s: it cannot be compiled, which GCC does (package gcc): %s", s->name,
                why ? why : "two compilers are at work");
    free(text);
    if (!o) return NULL;
    gp_object_state state = gp_object_poll(o, true);
    if (state == GP_OBJECT_READY) return o;
    *refused = state == GP_OBJECT_FAILED;
    if (*refused) gp_fail("%s", gp_object_log(o));
    else gp_fail("interrupted");
    gp_object_free(o);
    return NULL;
}

/* Reads what the object's file says of itself, and opens it. */
static bool open_kernel(gp_simt_kernel *k) {
    size_t n;
    Dl_info info;
    char *bytes = gp_object_read(k->object, &n);
    if (!bytes) return gp_fail("the compiled kernel has gone");
    gp_simt_read_elf(bytes, n, &k->lines, &k->symbols);
    free(bytes);
    void (*open)(const gp_simt_calls *);
    *(void **)&open = gp_object_symbol(k->object, "gp_simt_open");
    *(void **)&k->begin = gp_object_symbol(k->object, "gp_simt_begin");
    *(void **)&k->entry = gp_object_symbol(k->object, "gp_entry");
    if (!open || !k->begin || !k->entry || !dladdr(*(void **)&k->entry, &info))
        return gp_fail("the compiled kernel lacks a function");
    k->base = info.dli_fbase;
    open(&gp_runner_calls);
    return true;
}

gp_simt_kernel *gp_simt_build(const gp_simt_source *s, bool *refused) {
    gp_simt_kernel *k = calloc(1, sizeof *k);
    *refused = false;
    if (!k) return gp_fail_null("out of memory");
    k->source = *s;
    k->source.text = NULL;
    if ((k->object = compile(s, refused)) && open_kernel(k) && add(k)) return k;
    gp_object_free(k->object);
    free(k->lines.row);
    free(k->symbols.row);
    free(k);
    return NULL;
}

/* ---- running ---- */

typedef struct grid {
    const gp_simt_launch *launch;
    atomic_bool failed;
    char text[900]; /* of the first that failed */
} grid;

static void begin_grid(gp_runner *r, const gp_simt_launch *l) {
    r->launch = l;
    r->n = (int)(l->block.x * l->block.y * l->block.z);
    r->now.block_dim = l->block, r->now.grid_dim = l->grid;
    r->now.dynamic = r->shared;
    r->check = NULL;
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

static void run_blocks(void *ctx, int64_t begin, int64_t end) {
    grid *g = ctx;
    gp_runner *r = gp_runner_mine();
    if (!r || !room_for(r, g->launch->shared)) {
        note(g, gp_error());
        return;
    }
    begin_grid(r, g->launch);
    for (int64_t i = begin; i < end && !g->failed; i++)
        if (!gp_runner_block(r, i)) note(g, r->text);
        else if (stopped()) note(g, "interrupted");
}

static int64_t blocks_of(const gp_simt_launch *l) {
    return (int64_t)l->grid.x * l->grid.y * l->grid.z;
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
    bool ok = true;
    for (int64_t i = 0; ok && i < blocks_of(l); i++) ok = gp_runner_block(r, i);
    gp_check_end(c, ok);
    r->check = NULL, r->launch = NULL;
    return ok || gp_fail("%s: %s", l->kernel->source.name, r->text);
}

bool gp_simt_run(const gp_simt_launch *l, gp_simt_loop loop) {
    enum { THREADS = 4096 }; /* that are worth a thread of the process */
    if (l->kernel->source.checked) return run_checked(l);
    int64_t threads = (int64_t)l->block.x * l->block.y * l->block.z;
    grid g = {.launch = l};
    loop(blocks_of(l), (THREADS + threads - 1) / threads, run_blocks, &g);
    return !g.failed || gp_fail("%s: %s", l->kernel->source.name, g.text);
}
