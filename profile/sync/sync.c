/* The sync debugger: the hooks around every wait, modes, scopes, warnings; ledger.c keeps the
 * ledger. */
#include "profile/sync/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/record/calls.h"
#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/sync/ledger.h"
#include "profile/record/record.h"
#include "tensor/device/form.h"
#include "tensor/base/process.h"
#include "tensor/base/safe_text.h"

static _Atomic int mode;
int (*gp_scope_depth)(void *coroutine);
void *(*gp_scope_coroutine)(void);
gp_srcloc (*gp_sync_loop)(void);

/* This thread's scopes, and what was queued when the current wait began. */
static _Thread_local struct {
    int quiet, echo;
    uint64_t stalled; /* ns spent waiting for full queues */
    gp_scope *scopes;
    gp_stream *stream; /* NULL: no current wait */
    uint64_t queued;
    const char *last_op;
    gp_srcloc last;
} me;

gp_sync_mode gp_sync_get_mode(void) {
    return (gp_sync_mode)atomic_load_explicit(&mode, memory_order_relaxed);
}

/* Makes the device's tools report waits inside libraries. */
static void look_inside(gp_device *dev, void *unused) {
    if (dev->vt->observe) dev->vt->observe(dev, GP_TRACE_CALLS, NULL);
}

/* Any mode but off also reports waits inside libraries; that stays on. */
static void report_calls(gp_sync_mode m) {
    if (m != GP_SYNC_OFF && !atomic_exchange(&gp_hook.calls, true))
        gp_device_each(look_inside, NULL);
}
void gp_sync_set_mode(gp_sync_mode m) {
    atomic_store(&mode, (int)m);
    report_calls(m);
}
void gp_sync_quiet(int by) { me.quiet += by; }
void gp_sync_echo(int by) { me.echo += by; }
bool gp_sync_waiting(void) { return me.stream != NULL; }
uint64_t gp_sync_stalled_ns(void) { return me.stalled; }
bool gp_sync_watched(gp_why why) {
    return why != GP_WHY_explicit && why != GP_WHY_echo && why != GP_WHY_queue &&
           why != GP_WHY_join;
}

double gp_sync_worth(const gp_sync_line *l) {
    if (!l->known || !gp_sync_watched(l->why)) return -1;
    return (double)l->idle_ns / (double)l->known;
}

/* Whether a row for `name` is one for this call: "" is for all, "math." for those that begin with
 * it, ".save" for those that end with it. */
static bool names_call(const char *name, const char *what) {
    size_t n = strlen(name), all = strlen(what);
    if (n && name[n - 1] == '.') return !strncmp(name, what, n);
    if (*name == '.') return all >= n && !strcmp(what + all - n, name);
    return !n || !strcmp(name, what);
}

const char *gp_sync_advice(gp_why why, const char *what, const char *form) {
    if (!form) form = "";
#define ADVICE(w, name, f, text)                                                                   \
    if (why == GP_WHY_##w && (!*f || !strcmp(f, form)) && names_call(name, what)) return text;
#include "profile/sync/advice.def"
    return "";
}

/* ---- scopes ---- */

void gp_scope_open(gp_scope *s) {
    s->outer = me.scopes;
    s->open = true;
    me.scopes = s;
    if (s->kind == GP_SCOPE_MODE) report_calls(s->mode);
}

void gp_scope_close(gp_scope *s) {
    if (!s->open) return;
    s->open = false;
    for (gp_scope **p = &me.scopes; *p; p = &(*p)->outer)
        if (*p == s) {
            *p = s->outer;
            return;
        }
}

gp_scope *gp_scope_innermost(void) { return me.scopes; }

static bool holds(const gp_scope *s) {
    return !gp_scope_depth || gp_scope_depth(s->coroutine) >= 0;
}

/* The innermost scope that says what happens at a wait here, or NULL. */
static const gp_scope *ruling(void) {
    for (const gp_scope *s = me.scopes; s; s = s->outer)
        if (s->kind != GP_SCOPE_BUDGET && holds(s)) return s;
    return NULL;
}

/* The reason for which waits are allowed here, or NULL. */
static const char *allowed(void) {
    const gp_scope *s = ruling();
    return s && s->kind == GP_SCOPE_ALLOW ? s->reason : NULL;
}

gp_sync_mode gp_sync_mode_here(void) {
    for (const gp_scope *s = me.scopes; s; s = s->outer)
        if (s->kind == GP_SCOPE_MODE && holds(s)) return s->mode;
    return gp_sync_get_mode();
}

/* Charges one wait to the scope, and to its line while the scope remembers lines. */
static void charge(gp_scope *s, const gp_sync_event *e) {
    uint64_t ns = e->t1 - e->t0;
    s->waits++;
    s->wait_ns += ns;
    s->sim |= !strncmp(e->device, "sim", 3);
    int i = 0;
    while (i < s->nlines && (!gp_srcloc_same(s->line[i].loc, e->loc) || s->line[i].what != e->what))
        i++;
    if (i == GP_SCOPE_LINES) return;
    if (i == s->nlines) {
        s->nlines++;
        s->line[i].loc = e->loc;
        s->line[i].what = e->what;
        s->line[i].times = s->line[i].wait_ns = 0;
    }
    s->line[i].times++;
    s->line[i].wait_ns += ns;
}

static void charge_budgets(const gp_sync_event *e) {
    if (e->reason || e->why == GP_WHY_echo || e->why == GP_WHY_queue || e->why == GP_WHY_join)
        return;
    for (gp_scope *s = me.scopes; s; s = s->outer)
        if (s->kind == GP_SCOPE_BUDGET && holds(s)) charge(s, e);
}

bool gp_sync_save(gp_sync_state *a) {
    *a = (gp_sync_state){.scopes = me.scopes, .mode = gp_sync_get_mode(), .quiet = me.quiet};
    a->ledger = gp_ledger_exchange(NULL);
    if (!a->ledger) return gp_fail("sync: out of memory");
    me.scopes = NULL;
    me.quiet = 0;
    return true;
}

void gp_sync_restore(gp_sync_state *a) {
    gp_ledger_exchange(a->ledger);
    me.scopes = a->scopes;
    me.quiet = a->quiet;
    gp_sync_set_mode(a->mode);
}

/* ---- text ---- */

char *gp_time_text(double ns, char *buf, size_t n) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int u = 0;
    while (u < 3 && ns >= 999.5) ns /= 1000, u++;
    snprintf(buf, n,
             u == 0 || ns >= 99.95 ? "%.0f %s"
             : ns >= 9.995         ? "%.3g %s"
                                   : "%.2g %s",
             ns, units[u]);
    return buf;
}

/* "12 queued ops (last: sum, file:line)" */
static void queued_text(const gp_sync_event *e, char *buf, size_t n) {
    char file[200];
    int at = snprintf(buf, n, "%llu queued op%s", (unsigned long long)e->queued,
                      e->queued == 1 ? "" : "s");
    if (!e->last_op || at < 0 || (size_t)at >= n) return;
    if (e->last.file)
        snprintf(buf + at, n - (size_t)at, " (last: %s, %s:%d)", e->last_op,
                 gp_safe_text(e->last.file, file, sizeof file), e->last.line);
    else snprintf(buf + at, n - (size_t)at, " (last: %s)", e->last_op);
}

/* Writes a line to stderr in one write, folded between words on a terminal; text has space for one
 * byte more than n. */
static void print_warning(char *text, size_t n) {
    int columns = gp_fit_terminal(STDERR_FILENO);
    char *folded = NULL;
    size_t size = 0;
    FILE *f = columns ? open_memstream(&folded, &size) : NULL;
    if (f) {
        gp_fit_fold(f, text, 0, columns);
        if (fclose(f)) free(folded), folded = NULL;
    }
    text[n] = '\n';
    fwrite(folded ? folded : text, 1, folded ? size : n + 1, stderr);
    free(folded);
}

/* "; worth at least 12 us each: the device then idled so long"; "" where that is not known. */
static char *worth_text(const gp_sync_line *l, char *buf, size_t n) {
    char ns[32];
    double worth = gp_sync_worth(l);
    if (worth < 0) buf[0] = 0;
    else if (worth < 1) snprintf(buf, n, "; worth 0: the device had work left");
    else
        snprintf(buf, n, "; worth at least %s each: the device then idled so long",
                 gp_time_text(worth, ns, sizeof ns));
    return buf;
}

/* Warns of the line that `times` waits came from at its 1st, 10th, 100th … wait, so that a loop
 * does not drown other output. */
static void warn(const gp_sync_event *e, const gp_sync_line *l) {
    uint64_t power = 1;
    while (power < l->warned) power *= 10;
    if (power != l->warned) return;
    char where[240] = "?", file[200], queued[300], took[32], all[32], text[1024], again[200] = "";
    char who[24] = "", id[300], worth[96], kind[GP_KIND_TEXT];
    int rank;
    if (e->loc.file)
        snprintf(where, sizeof where, "%s:%d", gp_safe_text(e->loc.file, file, sizeof file),
                 e->loc.line);
    snprintf(id, sizeof id, "%s %s %llu", where, e->what, (unsigned long long)l->warned);
    if (!gp_process.warns(id, &rank)) return;
    if (rank >= 0) snprintf(who, sizeof who, "rank %d: ", rank);
    queued_text(e, queued, sizeof queued);
    gp_time_text((double)(e->t1 - e->t0), took, sizeof took);
    if (l->warned > 1)
        snprintf(again, sizeof again, " [%llu times, %s in all%s]", (unsigned long long)l->warned,
                 gp_time_text((double)l->wait_ns, all, sizeof all),
                 worth_text(l, worth, sizeof worth));
    int n = snprintf(text, sizeof text - 1, "%s%s: %s waited %s on %s (%s) for %s; %s%s", who,
                     where, e->what, took, e->device, gp_kind_of_device(e->device, kind), queued,
                     e->advice, again);
    if (n >= (int)sizeof text - 1) n = (int)sizeof text - 2;
    print_warning(text, (size_t)n);
}

static bool refuse(const gp_sync_event *e) {
    char queued[300];
    queued_text(e, queued, sizeof queued);
    return gp_fail("%s would wait on %s for %s; %s", e->what, e->device, queued, e->advice);
}

/* ---- the hooks ---- */

/* Everything but the times. The line is the innermost Lua line of this thread. */
static gp_sync_event event(gp_stream *s, gp_why why, const char *what) {
    gp_sync_event e = {.why = why,
                       .what = gp_sync_name(what),
                       .reason = allowed(),
                       .advice = gp_sync_advice(why, what, gp_wait_form)};
    memcpy(e.device, s->dev->name, sizeof e.device);
    e.stream = s->index;
    e.loc = gp_srcloc_here();
    e.queued = me.queued;
    e.last_op = me.last_op;
    e.last = me.last;
    return e;
}

/* Records what was queued when a wait began; when it ends, the queue is empty. */
static void snapshot(gp_stream *s, uint64_t queued) {
    me.stream = s;
    me.queued = queued;
    me.last_op = s->last_op;
    me.last = (gp_srcloc){s->last_file, s->last_line};
}

static gp_why true_why(gp_why why) { return why == GP_WHY_print && me.echo ? GP_WHY_echo : why; }

/* Called before the host blocks; false refuses, with an error set. */
static bool wait_begin(gp_stream *s, gp_why why, const char *what) {
    why = true_why(why);
    snapshot(s, gp_stream_queued(s));
    if (me.quiet || gp_sync_mode_here() != GP_SYNC_ERROR || !gp_sync_watched(why)) return true;
    gp_sync_event e = event(s, why, what);
    if (e.reason) return true;
    me.stream = NULL;
    e.refused = true;
    e.t0 = e.t1 = gp_now_ns();
    gp_ledger_add(&e, false, NULL);
    return refuse(&e);
}

static void launch(gp_stream *s) { gp_ledger_busy(s, gp_now_ns()); }

/* Called when the wait is over: records, counts, charges and reports it. t0 and t1 in ns on
 * gp_now_ns's clock; t1 = 0: the host read at once, which is only recorded. */
static void wait_end(gp_stream *s, gp_why why, const char *what, uint64_t t0, uint64_t t1,
                     uint64_t queued) {
    why = true_why(why);
    if (!t1) {
        t1 = gp_now_ns();
        if (gp_prof_running() && gp_sync_watched(why) && !me.quiet)
            gp_record_wait(NULL, why, gp_sync_name(what), gp_wait_form, t1, t1, 0,
                           gp_srcloc_here());
        return;
    }
    if (why == GP_WHY_echo) what = "echo";
    if (why == GP_WHY_queue) me.stalled += t1 - t0;
    if (me.stream != s || why == GP_WHY_queue) snapshot(s, queued);
    me.stream = NULL;
    gp_sync_event e = event(s, why, what);
    e.t0 = t0;
    e.t1 = t1;
    gp_record_wait(s, why, e.what, gp_wait_form, t0, t1, e.queued, e.loc);
    if (me.quiet) return;
    bool warned = gp_sync_mode_here() == GP_SYNC_WARN && gp_sync_watched(why) && !e.reason;
    gp_sync_line line;
    bool known = gp_ledger_add(&e, warned, &line);
    bool idle = !s->dev->vt->busy(s);
    gp_ledger_after(s, &e, idle);
    atomic_store(&gp_hook.launch, launch);
    charge_budgets(&e);
    if (known && line.times == 2 && gp_sync_watched(why) && gp_sync_loop)
        gp_ledger_loop(&e, gp_sync_loop());
    if (known && warned) warn(&e, &line);
}

static uint64_t copy(gp_stream *s, gp_copy_kind kind, size_t bytes, bool pageable) {
    return gp_record_copy(s, kind, bytes);
}

void gp_sync_open(void) {
    atomic_store(&gp_hook.wait_begin, wait_begin);
    atomic_store(&gp_hook.wait_end, wait_end);
    atomic_store(&gp_hook.copy, copy);
    gp_calls_open();
}
