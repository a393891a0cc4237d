/* The sync report: the ledger as text, one row per source line. */
#include "profile/sync/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/record/calls.h"
#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/sync/sync.h"
#include "tensor/device/card/model.h"
#include "tensor/base/safe_text.h"

static int by_wait(const void *a, const void *b) {
    const gp_sync_line *x = a, *y = b;
    if (x->wait_ns != y->wait_ns) return x->wait_ns < y->wait_ns ? 1 : -1;
    if (x->refused != y->refused) return x->refused < y->refused ? 1 : -1;
    return x->loc.line - y->loc.line;
}

static char *where_text(const gp_sync_line *l, char *buf, size_t n) {
    char file[200];
    if (l->loc.file)
        snprintf(buf, n, "%s:%d", gp_safe_text(l->loc.file, file, sizeof file), l->loc.line);
    else snprintf(buf, n, l->why == GP_WHY_echo || l->why == GP_WHY_explicit ? "(prompt)" : "?");
    return buf;
}

static char *why_text(const gp_sync_line *l, char *buf, size_t n) {
    const char *why = gp_why_name(l->why);
    if (!strcmp(why, l->what)) snprintf(buf, n, "%s", why);
    else snprintf(buf, n, "%s: %s", why, l->what);
    return buf;
}

enum {
    NAMES_LEAST = 13,  /* minimum columns of a line's and a reason's text on a narrow terminal */
    NUMBERS = 65,      /* columns of a line's numbers, and of the spaces before them */
    NUMBERS_FEW = 33,  /* without those that are left out on a narrow terminal */
    CALL_NUMBERS = 53, /* the same for calls */
    CALL_NUMBERS_FEW = 31
};

/* The widths of a report's columns. */
typedef struct layout {
    int columns; /* of the terminal; 0: no limit */
    int first, second;
    int device; /* of waits; left out with the numbers */
    bool few;   /* some numbers are left out */
} layout;

/* Divides the space that the numbers leave between the two columns of names. */
static void share(layout *w, int numbers, int numbers_few) {
    if (!w->columns || w->first + w->second + numbers <= w->columns) return;
    w->few = numbers + 2 * NAMES_LEAST > w->columns;
    int names_width = w->columns - (w->few ? numbers_few : numbers), *first = &w->first,
        *second = &w->second;
    if (*first + *second <= names_width) return;
    if (*second > NAMES_LEAST)
        *second = names_width - *first > NAMES_LEAST ? names_width - *first : NAMES_LEAST;
    if (*first > NAMES_LEAST)
        *first = names_width - *second > NAMES_LEAST ? names_width - *second : NAMES_LEAST;
}

/* Writes text, shortened and padded to that many columns. */
static int cell(FILE *f, char *text, int wide) {
    gp_fit_shorten(text, wide);
    int n = gp_fit_width(text);
    fprintf(f, "%s%*s  ", text, wide > n ? wide - n : 0, "");
    return (wide > n ? wide : n) + 2;
}

/* Writes the names of a line, or their headings: where, why and on which device it waited. */
static int names(FILE *f, const layout *w, char *where, char *why, const char *device) {
    int at = cell(f, where, w->first) + cell(f, why, w->second);
    return at + (w->few ? 0 : fprintf(f, "%-*s  ", w->device, device));
}

/* Writes the numbers of a line, or their headings. */
static int numbers(FILE *f, const layout *w, const char *times, const char *wait, const char *most,
                   const char *drained, const char *idle, const char *worth) {
    if (w->few) return fprintf(f, "%7s  %9s  %9s", times, wait, worth);
    return fprintf(f, "%7s  %9s  %9s  %8s  %9s  %9s", times, wait, most, drained, idle, worth);
}

static char *count_text(uint64_t n, char *buf, size_t size) {
    snprintf(buf, size, "%llu", (unsigned long long)n);
    return buf;
}

/* "; 1024 waits in the loop at train.lua:3: read once after it, and the device idles 0.8 s less";
 * "" for a line that no loop repeats. One read would idle as long as one of them did on average. */
static char *loop_text(const gp_sync_line *l, char *buf, size_t n) {
    char file[200], took[32];
    buf[0] = 0;
    if (!l->loop.file || l->times < 2 || l->reason) return buf;
    bool read = !strcmp(l->what, "item") || l->why == GP_WHY_tolist || l->why == GP_WHY_print;
    double idle = (double)l->idle_ns * (double)(l->times - read) / (double)l->times;
    int at = snprintf(buf, n, "; %llu waits in the loop at %s:%d", (unsigned long long)l->times,
                      gp_safe_text(l->loop.file, file, sizeof file), l->loop.line);
    if (idle < 1 || at < 0 || (size_t)at >= n) return buf;
    gp_time_text(idle, took, sizeof took);
    snprintf(buf + at, n - (size_t)at,
             read ? ": read once after it, and the device idles %s less" : ": the device idled %s",
             took);
    return buf;
}

static char *worth_text(const gp_sync_line *l, char *buf, size_t n) {
    double worth = gp_sync_worth(l);
    if (worth < 0 || l->reason) return snprintf(buf, n, "-"), buf;
    return worth < 1 ? (snprintf(buf, n, "0"), buf) : gp_time_text(worth, buf, n);
}

static void row(FILE *f, const gp_sync_line *l, const layout *w) {
    char where[240], why[80], times[32], wait[32], most[32], drained[32], idle[32], worth[32],
        loop[360], text[960], refused[48] = "";
    int at =
        names(f, w, where_text(l, where, sizeof where), why_text(l, why, sizeof why), l->device);
    at += numbers(f, w, count_text(l->times, times, sizeof times),
                  gp_time_text((double)l->wait_ns, wait, sizeof wait),
                  gp_time_text((double)l->max_ns, most, sizeof most),
                  count_text(l->drained, drained, sizeof drained),
                  gp_time_text((double)l->idle_ns, idle, sizeof idle),
                  worth_text(l, worth, sizeof worth));
    if (l->refused)
        snprintf(refused, sizeof refused, "(refused %llu time%s) ", (unsigned long long)l->refused,
                 l->refused == 1 ? "" : "s");
    snprintf(text, sizeof text, "  %s%s%s%s", refused, l->reason ? "allowed: " : "",
             l->reason ? l->reason : l->advice, loop_text(l, loop, sizeof loop));
    gp_fit_fold(f, text, at, w->columns);
}

static void widen(int *wide, const char *text) {
    if ((int)strlen(text) > *wide) *wide = (int)strlen(text);
}

static void widths(const gp_sync_line *lines, int n, layout *w) {
    char text[240];
    widen(&w->first, "line");
    widen(&w->second, "why");
    widen(&w->device, "device");
    for (int i = 0; i < n; i++) {
        widen(&w->first, where_text(&lines[i], text, sizeof text));
        widen(&w->second, why_text(&lines[i], text, sizeof text));
        widen(&w->device, lines[i].device);
    }
}

/* Writes the longest waits first. lines is reordered. */
static void print_lines(FILE *f, gp_sync_line *lines, int n, int columns) {
    layout w = {.columns = columns};
    char line[] = "line", why[] = "why";
    uint64_t times = 0, ns = 0, drained = 0, idle = 0;
    char wait[32], idled[32], sum[500];
    qsort(lines, (size_t)n, sizeof *lines, by_wait);
    widths(lines, n, &w);
    share(&w, NUMBERS + w.device + 2, NUMBERS_FEW);
    int at = names(f, &w, line, why, "device");
    at += numbers(f, &w, "times", "host wait", "longest", "drained", "idle", "worth");
    gp_fit_fold(f, "  what to write instead", at, columns);
    for (int i = 0; i < n; i++) {
        row(f, &lines[i], &w);
        times += lines[i].times;
        ns += lines[i].wait_ns;
        drained += lines[i].drained;
        idle += lines[i].idle_ns;
    }
    snprintf(sum, sizeof sum,
             "%llu wait%s, %s; drained: ops that were queued, and that the device had to finish, "
             "when the waits began (%llu); idle: time until more was queued, in which the device "
             "had nothing to do (%s); worth: of one wait, at least, that time on average "
             "(prof:savings() predicts "
             "what a run gains; lines that wait one after the other gain more together)",
             (unsigned long long)times, times == 1 ? "" : "s",
             gp_time_text((double)ns, wait, sizeof wait), (unsigned long long)drained,
             gp_time_text((double)idle, idled, sizeof idled));
    gp_fit_fold(f, sum, 0, columns);
}

static int by_time(const void *a, const void *b) {
    const gp_call_line *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

static char *call_text(const gp_call_line *l, char *buf, size_t n) {
    snprintf(buf, n, "%s%s", l->first ? "first use: " : "", l->what);
    return buf;
}

static void call_numbers(FILE *f, const layout *w, const char *times, const char *ns,
                         const char *blocked, const char *blocked_ns, const char *most) {
    if (w->few) fprintf(f, "%7s  %9s  %9s\n", times, ns, blocked_ns);
    else fprintf(f, "%7s  %9s  %7s  %9s  %9s\n", times, ns, blocked, blocked_ns, most);
}

static void call_row(FILE *f, const gp_call_line *l, const layout *w) {
    char where[240] = "?", what[120], file[200], times[32], ns[32], blocked[32], blocked_ns[32],
         most[32];
    if (l->loc.file)
        snprintf(where, sizeof where, "%s:%d", gp_safe_text(l->loc.file, file, sizeof file),
                 l->loc.line);
    cell(f, where, w->first);
    cell(f, call_text(l, what, sizeof what), w->second);
    call_numbers(f, w, count_text(l->times, times, sizeof times),
                 gp_time_text((double)l->ns, ns, sizeof ns),
                 count_text(l->blocked, blocked, sizeof blocked),
                 gp_time_text((double)l->blocked_ns, blocked_ns, sizeof blocked_ns),
                 gp_time_text((double)l->max_ns, most, sizeof most));
}

/* Writes the calls of a device's runtime that may block, one per line, as the waits. */
static void print_calls(FILE *f, int columns) {
    int n;
    char head[120], line[] = "line", call[] = "call";
    layout w = {.columns = columns, .first = 32, .second = 30};
    gp_call_line *l = gp_calls_lines(&n);
    share(&w, CALL_NUMBERS, CALL_NUMBERS_FEW);
    if (n) {
        qsort(l, (size_t)n, sizeof *l, by_time);
        snprintf(head, sizeof head,
                 "calls of the runtime that may block (longer than %d us: the host was blocked)",
                 GP_CALL_BLOCKED_NS / 1000);
        gp_fit_fold(f, head, 0, columns);
        cell(f, line, w.first);
        cell(f, call, w.second);
        call_numbers(f, &w, "times", "host time", "blocked", "blocked", "longest");
    }
    for (int i = 0; i < n; i++) call_row(f, &l[i], &w);
    free(l);
}

/* Writes which of a device's waits cannot be seen, if that matters. */
static void print_blind(gp_device *dev, void *f) {
    const char *why = dev->vt->observe ? dev->vt->observe(dev, GP_TRACE_CALLS, NULL) : NULL;
    if (why) fprintf(f, "%s: %s\n", dev->name, why);
}

/* Says of what kind the lines' times are, of each kind of device where they differ; and of which
 * ops a modelled card's are the least. */
static void print_kinds(FILE *f, const gp_sync_line *lines, int n, int columns) {
    char kind[GP_KIND_TEXT], other[GP_KIND_TEXT], bounds[GP_BOUNDS_TEXT],
        text[2 * GP_KIND_TEXT + GP_BOUNDS_TEXT + 120];
    bool sim = false, others = false;
    for (int i = 0; i < n; i++) *(strncmp(lines[i].device, "sim", 3) ? &others : &sim) = true;
    gp_kind_now(sim, kind);
    if (sim && others && strcmp(gp_kind_now(false, other), kind))
        snprintf(text, sizeof text, "times: %s; those of sim: %s", other, kind);
    else snprintf(text, sizeof text, "times: %s", kind);
    size_t len = strlen(text);
    if (sim && *gp_model_bounds(gp_sync_mark(), bounds))
        snprintf(text + len, sizeof text - len,
                 "; at least, as nobody measured how long the card takes: %s", bounds);
    gp_fit_fold(f, text, 0, columns);
}

char *gp_sync_report(int columns) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    int n;
    gp_sync_line *lines = gp_sync_lines(&n);
    if (n < 0) return fclose(f), free(text), NULL;
    if (n) print_lines(f, lines, n, columns), print_kinds(f, lines, n, columns);
    else fprintf(f, "the host has not waited for a device\n");
    free(lines);
    print_calls(f, columns);
    if (atomic_load(&gp_hook.calls)) gp_device_each(print_blind, f);
    if (fclose(f)) return free(text), NULL;
    return text; /* NULL without memory */
}
