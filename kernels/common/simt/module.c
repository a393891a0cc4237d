/* Builds modules, texts of kernels that GCC has compiled, and has the table of their kernels. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/common/simt/runner.h"
#include "tensor/base/error.h"
#include "tensor/device/stream/thread.h"

/* The text that stands before a kernel's, in parts: prelude.c. */
extern const char gp_simt_prelude[], gp_simt_prelude_c[], gp_simt_prelude_cxx[],
    gp_simt_prelude_half[], gp_simt_prelude_groups[], gp_simt_prelude_card[];

/* No name or text of a user's is among them. In C a function that nobody declares is a warning, so
 * that without -w it can be an error; in C++ it is one. */
#define FLAGS                                                                                      \
    " -fwrapv -fno-strict-aliasing -ffp-contract=off -fno-math-errno -fno-trapping-math "          \
    "-fstack-clash-protection -fvisibility=hidden -ftrack-macro-expansion=0 "                      \
    "-fdiagnostics-color=never "                                                                   \
    "-fPIC -shared -nostdlib -Wl,-Bsymbolic"
/* A call that is the last of its function is no jump: it is known by its return address. Elsewhere
 * than on x86-64 hooks.inc needs such jumps. */
#ifdef __x86_64__
#define LAST_CALLS " -fno-optimize-sibling-calls"
#else
#define LAST_CALLS " -foptimize-sibling-calls"
#endif
/* Without -ftree-loop-im, which reads before a loop what perhaps is not read in it. */
#define CHECKED                                                                                    \
    FLAGS LAST_CALLS                                                                               \
        " -O1 -fno-tree-sra -fno-tree-loop-im -fsanitize=thread -g1 -gdwarf-4 --param "            \
        "tsan-instrument-func-entry-exit=0"
/* Basic blocks in the order of the text, and functions in the place of their calls: counts.c. */
#define COUNTED                                                                                    \
    CHECKED " -fsanitize-coverage=trace-pc,trace-cmp -fno-reorder-blocks -fno-thread-jumps "       \
            "-finline-functions -finline-small-functions --param max-inline-insns-auto=2000"
#define UNCHECKED FLAGS " -O3 -g1 -gdwarf-4"
#define C "-x c -std=gnu11 -fgnu89-inline -Werror=implicit-function-declaration"
#define CXX                                                                                        \
    "-w -x c++ -std=gnu++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-gnu-unique"
static const char *const flags[2][3] = {{C UNCHECKED, C CHECKED, C COUNTED},
                                        {CXX UNCHECKED, CXX CHECKED, CXX COUNTED}};

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
gp_simt_module *gp_simt_module_of(const gp_simt_kernel *k) { return k->module; }
size_t gp_simt_static_shared(const gp_simt_module *m) {
    size_t n = 0;
    for (int i = 0; i < m->symbols.n; i++)
        if (m->symbols.row[i].shared && !m->symbols.row[i].guard) n += m->symbols.row[i].size;
    return n;
}
int gp_simt_variables(const gp_simt_module *m) { return m->nglobals; }
bool gp_simt_constant(const gp_simt_module *m, int i) { return m->constants >> i & 1; }

static bool add(gp_simt_kernel *k) {
    gp_lock(&lock);
    bool fits = count < MOST;
    if (fits) table[k->number = count++] = k;
    gp_unlock(&lock);
    return fits || gp_fail("cuda.kernel: a program may have %d kernels", MOST);
}

static gp_simt_module *modules; /* by the lock */

static gp_simt_module *keep(gp_simt_module *m) {
    pthread_mutex_init(&m->own_lock, NULL);
    m->lock = &m->own_lock;
    gp_lock(&lock);
    for (gp_simt_module *other = modules; other; other = other->next)
        if (m->base && other->base == m->base) m->lock = other->lock;
    m->next = modules, modules = m;
    gp_unlock(&lock);
    return m;
}

/* ---- building ---- */

static bool has(const gp_simt_text *t, const char *word) { return strstr(t->text, word); }

/* Everything that the compiler reads. */
static char *whole_text(const gp_simt_text *t) {
    size_t size;
    char *text = NULL;
    FILE *f = open_memstream(&text, &size);
    if (!f) return gp_fail_null("out of memory");
    bool groups = t->cxx && has(t, "cooperative_groups");
    if (t->checked) fputs("#define GP_CHECKED\n", f);
    if (t->counted) fputs("#define GP_COUNTED\n", f);
    if (has(t, "atomic")) fputs("#define GP_USES_ATOMICS\n", f);
    if (groups || has(t, "_sync") || has(t, "__syncwarp") || has(t, "__activemask"))
        fputs("#define GP_USES_WARPS\n", f);
    fputs(gp_simt_prelude, f);
    fputs(t->cxx ? gp_simt_prelude_cxx : gp_simt_prelude_c, f);
    if (t->half) fputs(gp_simt_prelude_half, f);
    if (groups) fputs(gp_simt_prelude_groups, f);
    fputs(t->text, f);
    int bad = ferror(f);
    if (!fclose(f) && !bad) return text;
    free(text);
    return gp_fail_null("out of memory");
}

/* No compiler was started, or found: says why. */
static gp_simt_outcome not_begun(const gp_simt_text *t, const char *why) {
    if (t->only_found) return GP_SIMT_ABSENT;
    const char *compiler = t->cxx ? "g++" : "gcc";
    gp_fail("%s: it cannot be compiled, which %s does (package %s): %s", t->name,
            t->cxx ? "GCC's C++ compiler" : "GCC", compiler,
            why ? why : "two compilers are at work");
    return GP_SIMT_FAILED;
}

/* GCC 11 and later call other functions for what is volatile. An older one refuses the option. */
#define OF_VOLATILE "tsan-distinguish-volatile"
static atomic_bool is_old;

static gp_object *begin(const gp_simt_text *t, gp_simt_outcome *outcome) {
    char *text = whole_text(t), *all = NULL;
    const char *why = NULL, *of_kind = flags[t->cxx][t->checked + t->counted];
    if (asprintf(&all, "%s%s", of_kind, t->checked && !is_old ? " --param " OF_VOLATILE "=1" : "") <
        0)
        all = NULL;
    gp_object_own how = {text, all, t->cxx, t->only_found};
    gp_object *o = text && all ? gp_object_begin_own(&how, &why) : NULL;
    *outcome = GP_SIMT_FAILED;
    if (!all) gp_fail("out of memory");
    else if (!o && text) *outcome = not_begun(t, why);
    free(text), free(all);
    return o;
}

static gp_object *compile(const gp_simt_text *t, gp_simt_outcome *outcome) {
    gp_object *o = begin(t, outcome);
    gp_object_state state = o ? gp_object_poll(o, true) : GP_OBJECT_FAILED;
    if (!o || state == GP_OBJECT_READY) return o;
    bool refuses = state == GP_OBJECT_FAILED && strstr(gp_object_log(o), OF_VOLATILE);
    bool again = refuses && !atomic_exchange(&is_old, true);
    if (state != GP_OBJECT_FAILED) gp_fail("interrupted");
    else *outcome = GP_SIMT_REFUSED, gp_fail("%s", gp_object_log(o));
    gp_object_free(o);
    return again ? compile(t, outcome) : NULL;
}

/* Sets *to to the object's function of that name and number, as in gp_entry_2. */
static bool find(const gp_simt_module *m, const char *name, int i, void **to) {
    char text[40];
    snprintf(text, sizeof text, "%s_%d", name, i);
    return (*to = gp_object_symbol(m->object, text)) ||
           gp_fail("the compiled kernel lacks %s", text);
}

static bool find_globals(gp_simt_module *m) {
    for (int i = 0; i < m->nglobals; i++) {
        void *(*get)(unsigned long *n);
        unsigned long n;
        if (!find(m, "gp_global", i, (void **)&get)) return false;
        m->global[i] = get(&n), m->bytes[i] = n;
    }
    return true;
}

/* Reads what the object's file says of itself, and opens it. */
static bool open_module(gp_simt_module *m) {
    size_t n;
    Dl_info info;
    char *bytes = gp_object_read(m->object, &n);
    if (!bytes) return gp_fail("the compiled kernel has gone");
    gp_simt_read_elf(bytes, n, &m->lines, &m->symbols);
    free(bytes);
    void (*open)(const gp_simt_calls *, const gp_simt_waits *);
    *(void **)&open = gp_object_symbol(m->object, "gp_simt_open");
    *(void **)&m->begin = gp_object_symbol(m->object, "gp_simt_begin");
    if (!open || !m->begin || !dladdr(*(void **)&open, &info))
        return gp_fail("the compiled kernel lacks a function");
    m->base = info.dli_fbase;
    if (m->counted) open(&gp_counted_calls, &gp_counted_waits);
    else open(&gp_runner_calls, &gp_runner_waits);
    return find_globals(m);
}

gp_simt_module *gp_simt_build(const gp_simt_text *t, gp_simt_outcome *outcome) {
    gp_simt_module *m = calloc(1, sizeof *m);
    *outcome = GP_SIMT_FAILED;
    if (!m) return gp_fail_null("out of memory");
    m->file = t->file, m->line = t->line, m->checked = t->checked;
    m->counted = t->counted;
    m->nglobals = t->nglobals, m->constants = t->constants;
    if ((m->object = compile(t, outcome)) && open_module(m))
        return *outcome = GP_SIMT_BUILT, keep(m);
    gp_object_free(m->object);
    free(m->lines.row);
    free(m->symbols.row);
    free(m);
    return NULL;
}

/* ---- on a card ---- */

/* Everything that a card's compiler reads. */
static char *whole_card_text(const gp_simt_text *t) {
    bool groups = has(t, "cooperative_groups");
    char *text = NULL;
    int n = asprintf(&text, "%s%s%s%s%s", groups ? "#define GP_USES_GROUPS\n" : "",
                     gp_simt_prelude_card, t->half ? gp_simt_prelude_half : "",
                     groups ? gp_simt_prelude_groups : "", t->text);
    return n < 0 ? NULL : text;
}

static gp_card_text *card_text(const gp_simt_text *t, int nkernels,
                               const char *const *expressions) {
    gp_card_text *c = calloc(1, sizeof *c);
    int n = nkernels + t->nglobals;
    if (!c) return NULL;
    *c = (gp_card_text){.text = whole_card_text(t),
                        .nkernels = nkernels,
                        .nglobals = t->nglobals,
                        .expression = calloc((size_t)n + 1, sizeof *c->expression),
                        .constants = t->constants};
    pthread_mutex_init(&c->lock, NULL);
    bool ok = c->text && c->expression;
    for (int i = 0; ok && i < n; i++) ok = (c->expression[i] = strdup(expressions[i]));
    return ok ? c : NULL;
}

gp_simt_module *gp_simt_card(const gp_simt_text *t, int nkernels, const char *const *expressions) {
    gp_simt_module *m = calloc(1, sizeof *m);
    if (!m || !(m->card = card_text(t, nkernels, expressions)))
        return free(m), gp_fail_null("out of memory");
    m->file = t->file, m->line = t->line;
    m->nglobals = t->nglobals, m->constants = t->constants;
    return keep(m);
}

struct gp_card_kernel *gp_simt_card_of(gp_simt_kernel *k) {
    return k->module->card ? &k->card : NULL;
}

static void describe_for_card(gp_simt_kernel *k, int i) {
    const gp_simt_source *s = &k->source;
    k->card = (gp_card_kernel){.text = k->module->card, .index = i, .nparams = s->nparams};
    for (int p = 0; p < s->nparams; p++)
        k->card.pointer[p] = s->param[p].pointer, k->card.constant[p] = s->param[p].constant;
}

gp_simt_kernel *gp_simt_add(gp_simt_module *m, int i, const gp_simt_source *s) {
    gp_simt_kernel *k = calloc(1, sizeof *k);
    if (!k) return gp_fail_null("out of memory");
    k->source = *s, k->module = m;
    describe_for_card(k, i);
    if (m->card && add(k)) return k;
    if (!m->card && find(m, "gp_entry", i, (void **)&k->entry) && add(k)) return k;
    free(k);
    return NULL;
}
