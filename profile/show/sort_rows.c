/* Sorts, limits and names rows. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/show/rows.h"
#include "profile/sync/sync.h"
#include "tensor/base/safe_text.h"

/* The columns by which rows are sorted, as torch.autograd.profiler names them; avg: divided by the
 * calls. */
static const struct column {
    const char *name;
    size_t offset;
    bool avg, real; /* real: a double */
} columns[] = {
    {"cpu_time", offsetof(gp_row, total[GP_CPU]), true, false},
    {"device_time", offsetof(gp_row, total[GP_DEV]), true, false},
    {"cpu_time_total", offsetof(gp_row, total[GP_CPU]), false, false},
    {"device_time_total", offsetof(gp_row, total[GP_DEV]), false, false},
    {"self_cpu_time_total", offsetof(gp_row, self[GP_CPU]), false, false},
    {"self_device_time_total", offsetof(gp_row, self[GP_DEV]), false, false},
    {"cpu_memory_usage", offsetof(gp_row, mem[GP_CPU]), false, false},
    {"device_memory_usage", offsetof(gp_row, mem[GP_DEV]), false, false},
    {"self_cpu_memory_usage", offsetof(gp_row, self_mem[GP_CPU]), false, false},
    {"self_device_memory_usage", offsetof(gp_row, self_mem[GP_DEV]), false, false},
    {"count", offsetof(gp_row, calls), false, false},
    {"flops", offsetof(gp_row, ops), false, true},
    {"bytes", offsetof(gp_row, moved), false, true},
};

/* "cuda_time_total" and "sim_time_total" are "device_time_total". */
static const struct column *find_column(const char *name) {
    static const char *const devices[] = {"cuda_", "sim_", "gpu_"};
    char text[64];
    snprintf(text, sizeof text, "%s", name);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const char *at = strstr(name, devices[i]);
        if (at)
            snprintf(text, sizeof text, "%.*sdevice_%s", (int)(at - name), name,
                     at + strlen(devices[i]));
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!strcmp(columns[i].name, text)) return &columns[i];
    return NULL;
}

static double value(const gp_row *row, const struct column *c) {
    const char *at = (const char *)row + c->offset;
    double v =
        c->real ? *(const double *)(const void *)at : (double)*(const int64_t *)(const void *)at;
    return c->avg && row->calls ? v / (double)row->calls : v;
}

static int compare(const void *a, const void *b, void *column) {
    const gp_row *x = a, *y = b;
    double u = value(x, column), v = value(y, column);
    uint64_t s = x->rec ? x->rec->t0 : 0, t = y->rec ? y->rec->t0 : 0;
    return u != v ? (u < v ? 1 : -1) : (s > t) - (s < t);
}

static int events(const gp_rows *r) {
    int n = 0;
    while (n < r->n && r->row[n].special <= GP_ROW_NO_REGION) n++;
    return n;
}

bool gp_rows_sort(gp_rows *r, const char *column) {
    const struct column *c = find_column(column);
    if (!c)
        return gp_fail("sort: no column \"%s\"; there are [self_]cpu_time_total, "
                       "[self_]device_time_total, cpu_time, device_time, "
                       "[self_]cpu_memory_usage, [self_]device_memory_usage, count, flops and "
                       "bytes (cuda_ and sim_ mean device_)",
                       column);
    qsort_r(r->row, (size_t)events(r), sizeof *r->row, compare, (void *)c);
    return true;
}

void gp_rows_limit(gp_rows *r, int limit) {
    int n = events(r);
    if (limit < 0 || limit >= n) return;
    gp_row rest = {.special = GP_ROW_REST};
    for (int i = limit; i < n; i++) {
        rest.calls += r->row[i].calls, rest.samples += r->row[i].samples;
        rest.ops += r->row[i].ops, rest.moved += r->row[i].moved;
        for (int d = 0; d < 2; d++)
            rest.self[d] += r->row[i].self[d], rest.self_mem[d] += r->row[i].self_mem[d];
    }
    for (int d = 0; d < 2; d++)
        rest.total[d] = rest.self[d],
        rest.mem[d] = rest.self_mem[d]; /* totals overlap: only self adds up */
    r->row[limit] = rest;
    memmove(&r->row[limit + 1], &r->row[n], (size_t)(r->n - n) * sizeof *r->row);
    r->n -= n - limit - 1;
}

const char *gp_line_text(int line, char buf[13]) {
    snprintf(buf, 13, line < 0 ? "%d+" : "%d", line < 0 ? -line : line);
    return line ? buf : "?";
}

char *gp_stack_text(const gp_stack *s, int depth, char *buf, size_t n) {
    size_t at = 0;
    if (n) *buf = 0;
    for (int i = 0; s && i < s->n && i < depth && at < n; i++) {
        char file[120], in[61] = "";
        const gp_frame *f = &s->frame[i];
        if (f->function) gp_safe_text(f->function, in, sizeof in);
        char line[13];
        at += (size_t)snprintf(buf + at, n - at, "%s%s:%s%s%s%s", i ? " < " : "",
                               gp_safe_text(f->file, file, sizeof file),
                               gp_line_text(f->line, line), *in ? " (" : "", in, *in ? ")" : "");
    }
    return buf;
}

char *gp_row_name(const gp_rows *r, const gp_row *row, char *buf, size_t n) {
    static const char *const names[] = {"",
                                        "(no region)",
                                        "[wait for the devices at the end]",
                                        "[device work of other threads]",
                                        "[device work queued before the record]",
                                        "[device work without a launch on record]",
                                        "[profiler]",
                                        "[unattributed]",
                                        "[other rows]"};
    char text[200], line[13];
    bool kernel = r->group == GP_BY_KERNEL && row->rec && row->rec->kind == GP_REC_KERNEL;
    if (row->special) snprintf(buf, n, "%s", names[row->special]);
    else if (kernel && row->rec->kernel) gp_safe_text(row->rec->kernel, buf, n);
    else if (r->group == GP_BY_RANK) snprintf(buf, n, "rank %d", row->rank);
    else if (r->group == GP_BY_MODULE)
        gp_safe_text(row->rec->stack && row->rec->stack->module ? row->rec->stack->module
                                                                : "(no module)",
                     buf, n);
    else if (r->group != GP_BY_LINE) gp_safe_text(gp_rec_name(row->rec, text, sizeof text), buf, n);
    else if (row->rec->file)
        snprintf(buf, n, "%s:%s", gp_safe_text(row->rec->file, text, sizeof text),
                 gp_line_text(row->rec->line, line));
    else snprintf(buf, n, "?");
    return buf;
}
