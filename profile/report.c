/* The sync report: the ledger as text, one row per source line. */
#include "profile/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/calls.h"
#include "profile/sync.h"

static int by_wait(const void *a, const void *b) {
    const gp_sync_line *x = a, *y = b;
    if (x->wait_ns != y->wait_ns) return x->wait_ns < y->wait_ns ? 1 : -1;
    if (x->refused != y->refused) return x->refused < y->refused ? 1 : -1;
    return x->line - y->line;
}

static char *where_text(const gp_sync_line *l, char *buf, size_t n) {
    char file[200];
    if (l->file) snprintf(buf, n, "%s:%d", gp_plain_text(l->file, file, sizeof file), l->line);
    else snprintf(buf, n, l->why == GP_WHY_echo || l->why == GP_WHY_explicit ? "(prompt)" : "?");
    return buf;
}

static char *why_text(const gp_sync_line *l, char *buf, size_t n) {
    const char *why = gp_why_name(l->why);
    if (!strcmp(why, l->what)) snprintf(buf, n, "%s", why);
    else snprintf(buf, n, "%s: %s", why, l->what);
    return buf;
}

enum { TEXT_LEAST = 30, TEXT_INDENT = 4 }; /* columns that the last column must have, else it stands below, so far in */

/* Ends the line, of which `at` columns are filled, with text; what does not fit in `columns` (0: any) goes on below. */
static void fold(FILE *f, const char *text, int at, int columns) {
    int indent = at;
    if (columns && at && at + (int)strlen(text) > columns && columns - at < TEXT_LEAST) {
        indent = at = TEXT_INDENT;
        fprintf(f, "\n%*s", indent, "");
    }
    for (size_t n; *text; text += n) {
        n = strcspn(text + 1, " ") + 1; /* a word with the space before it */
        if (columns && at > indent && at + (int)n > columns) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
            if (*text == ' ') text++, n--;
        }
        fwrite(text, 1, n, f);
        at += (int)n;
    }
    putc('\n', f);
}

static void row(FILE *f, const gp_sync_line *l, int wide, int why_wide, int columns) {
    char where[240], why[80], wait[32], most[32], idle[32], text[600], refused[48] = "";
    int at = fprintf(f, "%-*s  %-*s  %7llu  %9s  %9s  %8llu  %9s  ", wide,
            where_text(l, where, sizeof where), why_wide, why_text(l, why, sizeof why),
            (unsigned long long)l->times, gp_time_text((double)l->wait_ns, wait, sizeof wait),
            gp_time_text((double)l->max_ns, most, sizeof most), (unsigned long long)l->drained,
            gp_time_text((double)l->idle_ns, idle, sizeof idle));
    if (l->refused)
        snprintf(refused, sizeof refused, "(refused %llu time%s) ", (unsigned long long)l->refused,
                 l->refused == 1 ? "" : "s");
    snprintf(text, sizeof text, "%s%s%s", refused, l->reason ? "allowed: " : "", l->reason ? l->reason : l->advice);
    fold(f, text, at, columns);
}

static void widths(const gp_sync_line *lines, int n, int *wide, int *why_wide) {
    char text[240];
    *wide = (int)strlen("line");
    *why_wide = (int)strlen("why");
    for (int i = 0; i < n; i++) {
        int w = (int)strlen(where_text(&lines[i], text, sizeof text)),
            y = (int)strlen(why_text(&lines[i], text, sizeof text));
        if (w > *wide) *wide = w;
        if (y > *why_wide) *why_wide = y;
    }
}

/* The longest waits first. lines is reordered. */
static void print_lines(FILE *f, gp_sync_line *lines, int n, int columns) {
    int wide, why_wide;
    uint64_t times = 0, ns = 0, drained = 0, idle = 0;
    char wait[32], idled[32], sum[400];
    qsort(lines, (size_t)n, sizeof *lines, by_wait);
    widths(lines, n, &wide, &why_wide);
    int at = fprintf(f, "%-*s  %-*s  %7s  %9s  %9s  %8s  %9s  ", wide, "line", why_wide, "why", "times",
                     "host wait", "longest", "drained", "idle");
    fold(f, "what to write instead", at, columns);
    for (int i = 0; i < n; i++) {
        row(f, &lines[i], wide, why_wide, columns);
        times += lines[i].times;
        ns += lines[i].wait_ns;
        drained += lines[i].drained;
        idle += lines[i].idle_ns;
    }
    snprintf(sum, sizeof sum,
             "%llu wait%s, %s; drained: ops that were queued, and that the device had to finish, "
             "when the waits began (%llu); idle: time the device then had nothing to do because of them (%s)",
             (unsigned long long)times, times == 1 ? "" : "s", gp_time_text((double)ns, wait, sizeof wait),
             (unsigned long long)drained, gp_time_text((double)idle, idled, sizeof idled));
    fold(f, sum, 0, columns);
}

static int by_time(const void *a, const void *b) {
    const gp_call_line *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* The calls of a device's runtime that may block. A line for each, as the waits have one. */
static void print_calls(FILE *f) {
    int n;
    char where[240], file[200], ns[32], blocked[32], most[32];
    gp_call_line *l = gp_calls_lines(&n);
    if (n) {
        qsort(l, (size_t)n, sizeof *l, by_time);
        fprintf(f, "calls of the runtime that may block (longer than %d us: the host stood still)\n%-32s  %-30s  "
                   "%7s  %9s  %7s  %9s  %9s\n",
                GP_CALL_BLOCKED_NS / 1000, "line", "call", "times", "host time", "blocked", "blocked", "longest");
    }
    for (int i = 0; i < n; i++) {
        snprintf(where, sizeof where, "?");
        if (l[i].file)
            snprintf(where, sizeof where, "%s:%d", gp_plain_text(l[i].file, file, sizeof file), l[i].line);
        fprintf(f, "%-32s  %s%-*s  %7llu  %9s  %7llu  %9s  %9s\n", where, l[i].first ? "first use: " : "",
                l[i].first ? 19 : 30, l[i].what, (unsigned long long)l[i].times,
                gp_time_text((double)l[i].ns, ns, sizeof ns), (unsigned long long)l[i].blocked,
                gp_time_text((double)l[i].blocked_ns, blocked, sizeof blocked),
                gp_time_text((double)l[i].max_ns, most, sizeof most));
    }
    free(l);
}

/* What of a device's waits cannot be seen, where somebody wants to. */
static void print_blind(gp_device *dev, void *f) {
    const char *why = dev->vt->observe ? dev->vt->observe(dev, GP_LOOK_CALLS, NULL) : NULL;
    if (why) fprintf(f, "%s: %s\n", dev->name, why);
}

char *gp_sync_report(int columns) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    int n;
    gp_sync_line *lines = gp_sync_lines(&n);
    if (n) print_lines(f, lines, n, columns);
    else fprintf(f, "the host has not waited for a device\n");
    free(lines);
    print_calls(f);
    if (atomic_load(&gp_hook.calls)) gp_device_each(print_blind, f);
    if (fclose(f)) return free(text), NULL;
    return text;
}
