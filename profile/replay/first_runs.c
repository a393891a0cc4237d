/* Finds first runs that set something up: of runs that are alike, the first ones, where they take
 * many times what the others do: several, as a line may call an op of several sizes. Of these a
 * large one is no first use, since it comes again. An op that the host computes has one first use,
 * not one for each line or shape: a later run that is slow had lost its processor. */
#include <stdlib.h>
#include <string.h>

#include "profile/replay/timeline.h"
#include "tensor/base/sort.h"

static int by_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int by_address(const void *a, const void *b) {
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_likeness(const void *a, const void *b) {
    const gp_run *x = a, *y = b;
    int order = strcmp(x->op->name, y->op->name);
    if (!order) order = by_text(x->op->file, y->op->file);
    if (!order) order = x->op->line - y->op->line;
    if (!order) order = by_address(x->op->shapes, y->op->shapes);
    if (!order) order = by_address(x->op->cost, y->op->cost);
    return order ? order : by_text(x->kernel, y->kernel);
}

static int by_likeness_and_time(const void *a, const void *b) {
    const gp_run *x = a, *y = b;
    int order = by_likeness(a, b);
    return order ? order : (x->t0 > y->t0) - (x->t0 < y->t0);
}

static int by_ns(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Calls found for the first ones of n runs that are alike, at most 1 of 10 after the very first.
 * list: room for n times. */
static void find(const gp_run *run, int n, uint64_t *list,
                 void (*found)(const gp_run *, uint64_t, void *), void *with) {
    bool same = run->op->file || run->op->shapes || run->op->cost;
    if (n < 2 || !same) return;
    for (int i = 1; i < n; i++) list[i - 1] = run[i].ns;
    gp_sort(list, (size_t)n - 1, sizeof *list, by_ns);
    uint64_t usual = list[(n - 2) / 2], most = list[(n - 2) * 9 / 10];
    for (int i = 0; i <= (n - 1) / 10; i++) {
        if (run[i].ns < GP_SETUP_NS || run[i].ns / GP_FIRST_USE < most) return;
        found(&run[i], run[i].ns - usual, with);
    }
}

/* When the first of the runs began that have the op's name of the first in the list. */
static uint64_t first_of_name(const gp_run *run, int n) {
    uint64_t first = run->t0;
    for (int i = 1; i < n && !strcmp(run[i].op->name, run->op->name); i++)
        if (run[i].t0 < first) first = run[i].t0;
    return first;
}

bool gp_find_first_runs(gp_run *run, int n, void (*found)(const gp_run *, uint64_t, void *),
                        void *with) {
    uint64_t *list = malloc(((size_t)n + 1) * sizeof *list);
    if (!list) return false;
    gp_sort(run, (size_t)n, sizeof *run, by_likeness_and_time);
    uint64_t first = UINT64_MAX;
    for (int i = 0, k; i < n; i = k) {
        if (!i || strcmp(run[i].op->name, run[i - 1].op->name) != 0)
            first = first_of_name(run + i, n - i);
        for (k = i + 1; k < n && !by_likeness(&run[i], &run[k]);) k++;
        if (run[i].kernel || run[i].t0 == first) find(run + i, k - i, list, found, with);
    }
    free(list);
    return true;
}

/* ---- what comes again and again ---- */

static int by_call(const void *a, const void *b) {
    const gp_run *x = a, *y = b;
    int order = strcmp(x->op->name, y->op->name);
    return order ? order : strcmp(x->kernel, y->kernel);
}

static int by_call_and_time(const void *a, const void *b) {
    const gp_run *x = a, *y = b;
    int order = by_call(a, b);
    return order ? order : (x->t0 > y->t0) - (x->t0 < y->t0);
}

/* The part of the record that time t is in: a step, or where it has not several, a third; -1:
 * before them. */
static int part_at(const gp_steps *s, uint64_t t) {
    int i = -1;
    if (s->n < 2) return (int)(t < s->t1 ? 3 * (t - s->t0) / (s->t1 - s->t0) : 2);
    while (i + 1 < s->n && s->begin[i + 1] <= t) i++;
    return i;
}

/* Whether n runs that are alike, in the order of time, are in at least half of the steps, and two,
 * and do not end with their first half, as what warms up does; or in each third. */
static bool recur(const gp_run *run, int n, const gp_steps *s) {
    int parts = 0, last = -1;
    for (int i = 0; i < n; i++) {
        int part = part_at(s, run[i].t0);
        parts += part > last;
        if (part > last) last = part;
    }
    return s->n < 2 ? parts == 3 : parts >= 2 && 2 * parts >= s->n && 2 * last >= s->n;
}

void gp_find_recurring(gp_run *run, int n, const gp_steps *s, void (*found)(const gp_run *, void *),
                       void *with) {
    if (s->t1 <= s->t0) return;
    gp_sort(run, (size_t)n, sizeof *run, by_call_and_time);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && !by_call(&run[i], &run[k]);) k++;
        for (int j = i; recur(run + i, k - i, s) && j < k; j++) found(&run[j], with);
    }
}

/* ---- of kernels ---- */

static const char *work_name(const gp_command *c) {
    return c->rec->kernel ? c->rec->kernel : c->rec->name;
}

static int by_work_name(const void *a, const void *b) {
    const gp_command *x = *(const gp_command *const *)a, *y = *(const gp_command *const *)b;
    int order = strcmp(work_name(x), work_name(y));
    return order ? order : x < y ? -1 : x > y;
}

bool gp_timeline_read_fresh(const gp_timeline *t, const gp_rec *const *event, int nevents,
                            bool *fresh) {
    const gp_command **by = malloc(((size_t)t->ncommands + 1) * sizeof *by);
    if (!by) return false;
    for (int i = 0; i < t->ncommands; i++) by[i] = &t->command[i];
    qsort(by, (size_t)t->ncommands, sizeof *by, by_work_name);
    for (int i = 0; i < t->ncommands; i++) {
        int found = gp_event_by_id(event, nevents, by[i]->rec->id);
        bool first = !i || strcmp(work_name(by[i]), work_name(by[i - 1])) != 0;
        if (found >= 0 && first) fresh[found] = true;
    }
    free(by);
    return true;
}

static void note_kernel(const gp_run *first, uint64_t extra, void *t) {
    ((gp_timeline *)t)->command[first->of].first_use = extra;
}

bool gp_timeline_read_first_runs(gp_timeline *t) {
    gp_run *run = malloc(((size_t)t->ncommands + 1) * sizeof *run);
    int n = 0;
    for (int i = 0; run && !t->p->midway && i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (!c->op || c->rec->kind != GP_REC_KERNEL) continue;
        const char *kernel = c->rec->kernel ? c->rec->kernel : c->rec->name;
        run[n++] = (gp_run){c->op, kernel, c->rec->t0, c->end - c->rec->t0, i};
    }
    bool ok = run && gp_find_first_runs(run, n, note_kernel, t);
    free(run);
    return ok;
}
