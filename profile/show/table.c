/* Rows as text, with torch.autograd.profiler's columns. Cells are written twice, first to measure
 * them, then to print, and never stored. If a line would be wider than the terminal, columns that
 * follow from others are left out first; then names are shortened, and at last the columns continue
 * below. The foot says what the rows do not include, and whether times are measured, modelled or
 * predicted. */
#include "profile/show/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/sync/sync.h"
#include "profile/show/waves.h"

char *gp_table_time(double ns, char *buf, size_t n) {
    if (ns >= 1e9) snprintf(buf, n, "%.3fs", ns / 1e9);
    else if (ns >= 1e6) snprintf(buf, n, "%.3fms", ns / 1e6);
    else snprintf(buf, n, "%.3fus", ns / 1e3);
    return buf;
}

char *gp_bytes_text(int64_t bytes, char *buf, size_t n) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double v = (double)bytes;
    int u = -1;
    while (u < 2 && (v >= 1024 || v <= -1024)) v /= 1024, u++;
    if (u < 0) snprintf(buf, n, "%lld B", (long long)bytes);
    else snprintf(buf, n, "%.2f %s", v, units[u]);
    return buf;
}

enum {
    MOST = 22,      /* columns: name, 10 times, 4 of memory, 5 rates, calls, shapes or stack; by
                       kernel fewer */
    CELL = 160,     /* bytes of a cell */
    NAME = 55,      /* characters of a name, */
    NAME_LEAST = 14 /* and where there is little room */
};

/* A line of cells: a column's kind says how it is written. */
typedef enum shown {
    TEXT,
    PERCENT,
    TIME,
    AVG,
    BYTES,
    CALLS,
    COUNT,
    RATE,
    SHARE,
    BLOCKS,
    RUN,
    TENSOR
} shown;
typedef struct column {
    char head[40];
    shown kind;
    int which; /* TEXT: 0 name, 1 shapes, 2 stack. COUNT, RATE: 0 operations, 1 bytes. BLOCKS: a
                  gp_wave's, as wave_cell has them. RUN: 0 the shortest, 1 the longest. Otherwise
                  GP_CPU or GP_DEV */
    bool self;
    int width, most; /* most: maximum characters of a TEXT's cell */
} column;

typedef struct table {
    const gp_prof *p;
    const gp_rows *r;
    int n;
    column col[MOST];
    char device[16]; /* "SIM" */
} table;

static void add(table *t, shown kind, int which, bool self, const char *fmt, const char *unit) {
    column *c = &t->col[t->n++];
    c->kind = kind;
    c->which = which;
    c->self = self;
    c->most = kind == TEXT && which == 0 ? NAME : CELL;
    snprintf(c->head, sizeof c->head, fmt, unit);
}

static void add_times(table *t, int which, const char *unit) {
    add(t, PERCENT, which, true, "Self %s %%", unit);
    add(t, TIME, which, true, "Self %s", unit);
    if (t->r->group == GP_BY_KERNEL) { /* which encloses no other */
        add(t, AVG, which, false, "%s time avg", unit);
        add(t, RUN, 0, false, "%s", "Shortest");
        add(t, RUN, 1, false, "%s", "Longest");
        return;
    }
    add(t, PERCENT, which, false, "%s total %%", unit);
    add(t, TIME, which, false, "%s total", unit);
    add(t, AVG, which, false, "%s time avg", unit);
}

static void add_memory(table *t, int which, const char *unit) {
    add(t, BYTES, which, false, "%s Mem", unit);
    add(t, BYTES, which, true, "Self %s Mem", unit);
}

static void add_rates(table *t) {
    add(t, COUNT, 0, false, "%s", "FLOPs");
    add(t, COUNT, 1, false, "%s", "Bytes");
    add(t, RATE, 0, false, "%s", "GFLOP/s");
    add(t, RATE, 1, false, "%s", "GB/s");
    if (t->r->roofline) add(t, SHARE, 0, false, "%s", "Roofline");
}

static void share_cell(double share, char *buf) {
    if (share <= 0) *buf = 0;
    else snprintf(buf, CELL, "%.0f%%", 100 * share);
}

/* Means of a kernel's runs (0, 1), and how its longest one was launched; empty where that is not
 * known. */
static void wave_cell(const gp_wave *of, int which, char *buf) {
    const gp_geometry *g = of ? of->geometry : NULL;
    *buf = 0;
    if (of && which == 0 && of->ns > 0) snprintf(buf, CELL, "%.3g", of->blocks / of->ns);
    if (of && which == 1 && of->occupied > 0) share_cell(of->occupancy / of->occupied, buf);
    if (g && which == 2) gp_geometry_text(g->grid, buf, CELL);
    if (g && which == 3) gp_geometry_text(g->block, buf, CELL);
    if (g && which == 4 && g->registers >= 0) snprintf(buf, CELL, "%d", g->registers);
    if (g && which == 5 && g->shared >= 0) gp_bytes_text(g->shared, buf, CELL);
}

/* Whether any row has such a cell. */
static bool any_wave(const gp_rows *r, int which) {
    char buf[CELL];
    for (int i = 0; i < r->n; i++) {
        wave_cell(r->row[i].wave, which, buf);
        if (*buf) return true;
    }
    return false;
}

/* Columns for what was recorded only: no device times without a device, no memory unless asked
 * for. */
static void add_columns(table *t) {
    const gp_rows *r = t->r;
    snprintf(t->device, sizeof t->device, "%s", r->kind ? r->kind : "");
    for (char *c = t->device; *c; c++) *c = (char)toupper((unsigned char)*c);
    if (!strcmp(t->device, "DEVICE")) strcpy(t->device, "Device");
    add(t, TEXT, 0, false, "%s", "Name");
    if (r->group != GP_BY_KERNEL) add_times(t, GP_CPU, "CPU");
    if (r->kind) add_times(t, GP_DEV, t->device);
    bool memory = r->memory && r->group != GP_BY_KERNEL;
    if (memory) add_memory(t, GP_CPU, "CPU");
    if (memory && r->kind) add_memory(t, GP_DEV, t->device);
    if (r->flops && r->group != GP_BY_KERNEL) add_rates(t);
    static const char *const waves[] = {"Blocks/SM", "Est. occupancy", "Grid",
                                        "Block",     "Registers",      "Shared memory"};
    for (int i = 0; i < (int)(sizeof waves / sizeof *waves); i++)
        if (any_wave(r, i)) add(t, BLOCKS, i, false, "%s", waves[i]);
    if (r->on_tensor_cores) add(t, TENSOR, 0, false, "%s", "Tensor cores");
    add(t, CALLS, 0, false, "%s", "# of Calls");
    if (r->group == GP_BY_SHAPE) add(t, TEXT, 1, false, "%s", "Input Shapes");
    if (r->group == GP_BY_STACK) add(t, TEXT, 2, false, "%s", "Source Location");
}

/* Empty for rows without events. buf: CELL bytes. */
static void text_cell(const table *t, const gp_row *row, int which, int most, char *buf) {
    char text[CELL];
    *buf = 0;
    if (which == 0) gp_row_name(t->r, row, text, sizeof text);
    else if (!row->rec) return;
    else if (which == 1) gp_rec_shapes(gp_rec_op_shapes(row->rec), text, sizeof text);
    else gp_stack_text(row->rec->stack, 5, text, sizeof text);
    snprintf(buf, CELL, "%s", text);
    gp_fit_shorten(buf, most);
}

char *gp_count_text(double v, char *buf, size_t n) {
    static const char units[] = "kMGTPE";
    int u = -1;
    while (u < 5 && v >= 1000) v /= 1000, u++;
    if (v <= 0) *buf = 0;
    else if (u < 0) snprintf(buf, n, "%.0f", v);
    else snprintf(buf, n, "%.3g %c", v, units[u]);
    return buf;
}

static void rate_cell(double rate, char *buf) {
    if (rate <= 0) *buf = 0;
    else snprintf(buf, CELL, rate < 100 ? "%.3g" : "%.0f", rate);
}

/* Writes the text of one cell to buf, of CELL bytes. Percentages are of the wall time, a device's
 * of its busy time. */
static char *cell(const table *t, const gp_row *row, const column *c, char *buf) {
    if (c->kind == TEXT) {
        text_cell(t, row, c->which, c->most, buf);
        return buf;
    }
    double amount = c->which ? row->moved : row->ops;
    bool timed = c->which <= GP_DEV; /* which is another number for what has no time */
    int64_t ns = !timed ? 0 : c->self ? row->self[c->which] : row->total[c->which];
    int64_t all = c->which == GP_CPU ? t->r->wall : t->r->busy;
    switch (c->kind) {
    case TEXT: break;
    case PERCENT:
        snprintf(buf, CELL, "%.2f%%", all > 0 ? 100.0 * (double)ns / (double)all : 0.0);
        break;
    case TIME: gp_table_time((double)ns, buf, CELL); break;
    case AVG: gp_table_time(row->calls ? (double)ns / (double)row->calls : 0, buf, CELL); break;
    case BYTES:
        gp_bytes_text(c->self ? row->self_mem[c->which] : row->mem[c->which], buf, CELL);
        break;
    case COUNT: gp_count_text(amount, buf, CELL); break;
    case RATE: rate_cell(gp_row_rate(row, amount) * 1e-9, buf); break;
    case SHARE: share_cell(gp_row_roofline(row), buf); break;
    case BLOCKS: wave_cell(row->wave, c->which, buf); break;
    case TENSOR: snprintf(buf, CELL, "%s", row->on_tensor_cores ? "yes" : ""); break;
    case RUN:
        if (row->longest)
            gp_table_time((double)(c->which ? row->longest : row->shortest), buf, CELL);
        else *buf = 0;
        break;
    case CALLS:
        if (row->calls) snprintf(buf, CELL, "%llu", (unsigned long long)row->calls);
        else *buf = 0;
        break;
    }
    return buf;
}

/* Makes each column as wide as its widest cell; cells are written twice, never stored. */
static void measure(table *t) {
    char buf[CELL];
    for (int c = 0; c < t->n; c++) {
        t->col[c].width = gp_fit_width(t->col[c].head);
        for (int i = 0; i < t->r->n; i++) {
            int w = gp_fit_width(cell(t, &t->r->row[i], &t->col[c], buf));
            if (w > t->col[c].width) t->col[c].width = w;
        }
    }
}

static int line_width(const table *t) {
    int n = -2;
    for (int c = 0; c < t->n; c++) n += t->col[c].width + 2;
    return n;
}

static void cut(column *c, int most) {
    if (c->width > most) c->most = c->width = most;
}

/* Shortens names, the last column's first, until a line has at most width characters. Where that is
 * not enough, columns continue below: then names have two fifths of a line, and other texts the
 * rest. */
static void cut_texts(table *t, int width) {
    int before[MOST];
    for (int c = 0; c < t->n; c++) before[c] = t->col[c].width;
    for (int c = t->n - 1; c >= 0; c--) {
        int width_left = t->col[c].width - (line_width(t) - width),
            head = gp_fit_width(t->col[c].head);
        int least = head > NAME_LEAST ? head : NAME_LEAST;
        if (t->col[c].kind == TEXT) cut(&t->col[c], width_left > least ? width_left : least);
    }
    if (line_width(t) <= width) return;
    for (int c = 0; c < t->n; c++) {
        int width_left = c ? width - t->col[0].width - 2 : 2 * width / 5;
        t->col[c].width = before[c];
        if (t->col[c].kind == TEXT)
            cut(&t->col[c], width_left > NAME_LEAST ? width_left : NAME_LEAST);
    }
}

/* Leaves out columns that follow from the others until a line has at most width characters; then
 * shortens texts. */
static void narrow(table *t, int width) {
    static const struct {
        shown kind;
        bool self;
    } spare[] = {{AVG, false}, {PERCENT, false}, {PERCENT, true}};
    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
        for (int c = t->n - 1; c > 0 && line_width(t) > width; c--) {
            if (t->col[c].kind != spare[i].kind || t->col[c].self != spare[i].self) continue;
            memmove(&t->col[c], &t->col[c + 1], (size_t)(--t->n - c) * sizeof t->col[c]);
        }
    cut_texts(t, width);
}

static void rule(FILE *f, const table *t) {
    for (int c = 0; c < t->n; c++) {
        for (int i = 0; i < t->col[c].width; i++) fputc('-', f);
        fputs(c + 1 < t->n ? "  " : "\n", f);
    }
}

/* row NULL: the headings. */
static void line(FILE *f, const table *t, const gp_row *row) {
    char buf[CELL];
    for (int c = 0; c < t->n; c++) {
        const column *col = &t->col[c];
        const char *text = row ? cell(t, row, col, buf) : col->head;
        bool left = col->kind == TEXT && col->which, last = c + 1 == t->n;
        int pad = col->width - gp_fit_width(text);
        if (!left) fprintf(f, "%*s", pad, "");
        fputs(text, f);
        if (left && !last) fprintf(f, "%*s", pad, "");
        fputs(last ? "\n" : "  ", f);
    }
}

/* Says what the rows of the script's own time are worth; without any, how to get them. */
static void foot_of_script(FILE *f, const table *t, int64_t loose) {
    const gp_prof *p = t->p;
    char each[40];
    unsigned long long n = t->r->samples;
    gp_table_time((double)p->period, each, sizeof each);
    if (p->foreign && n)
        fprintf(
            f, "The script's own time is that of its functions, by the trace's frames of Python\n");
    else if (p->foreign) return;
    else if (p->period && !n)
        fprintf(f, "No sample, one each %s, found the script outside of ops and waits\n", each);
    else if (p->period)
        fprintf(f,
                "The script's own time is that of %llu sample%s, one each %s; a line is where Lua "
                "next looked\n",
                n, n == 1 ? "" : "s", each);
    else if (!p->foreign && !p->predicted && 2 * loose > t->r->wall)
        fprintf(f, "lua = true says where the unattributed time went, by function and line\n");
    if (p->blocked)
        fprintf(f, "%llu samples were not taken: the script's own hook (debug.sethook) was set\n",
                (unsigned long long)p->blocked);
}

/* Says which lines those of another program's trace are. */
static void foot_of_lines(FILE *f, const table *t) {
    bool lines = t->r->group == GP_BY_LINE || t->r->samples;
    if (t->p->foreign && t->p->opts.stack && lines)
        fprintf(f, "A line is the one that calls; N+: the trace has only the first line of its "
                   "function, N; ?: not even that, as outside of functions, and in one that ran "
                   "when the profiler began\n");
}

/* What part of the kernels' time those have that are named after tensor cores; buf: of 40 bytes. */
static char *tensor_share(const gp_rows *r, char *buf) {
    snprintf(buf, 40, "%.1f", 100.0 * (double)r->on_tensor_cores / (double)(r->busy - r->copies));
    return buf;
}

/* Says how the device's time adds up, and whether a device measured it. */
static void foot_of_device(FILE *f, const table *t) {
    const gp_rows *r = t->r;
    const gp_prof *p = t->p;
    char a[40], b[40], c[40];
    if (!r->kind) return;
    fprintf(f, "%s time total: %s (kernels %s, copies %s)\n", t->device,
            gp_table_time((double)r->busy, a, sizeof a),
            gp_table_time((double)(r->busy - r->copies), b, sizeof b),
            gp_table_time((double)r->copies, c, sizeof c));
    if (!strcmp(r->kind, "comm"))
        fprintf(f, "COMM is the time of collectives that other threads of the host ran\n");
    else if (!strcmp(r->kind, "fork"))
        fprintf(f, "FORK is the time of forked ops, on the cpu's worker threads, and of those that "
                   "backward ran after queuing these\n");
    else if (p->modelled)
        fprintf(f, "%s is a %s: its times are computed from a card's figures, not measured%s%s\n",
                t->device, p->modelled,
                p->at_least ? "; at least, as nobody measured how long the card takes: " : "",
                p->at_least ? p->at_least : "");
    else if (!p->foreign && strcmp(r->kind, "cuda"))
        fprintf(f, "sim is CPU-backed: its kernels ran on threads of this processor, and its times "
                   "are not a GPU's\n");
    if (any_wave(r, 0))
        fprintf(f, "Blocks/SM: blocks for each multiprocessor, below 1 some have none; est. "
                   "occupancy: warps of those that fit, as the trace has it; means by time\n");
    if (any_wave(r, 2))
        fprintf(f, "Grid, block, registers of a thread and shared memory: of the longest run\n");
    if (r->on_tensor_cores)
        fprintf(f,
                "Tensor cores: kernels whose names say that they use them take %s%% of the "
                "kernels' time; others may, too\n",
                tensor_share(r, a));
}

/* Says which events are in no row. */
static void foot_of_losses(FILE *f, const gp_prof *p) {
    if (p->dropped && !p->foreign) /* of those `how` says it */
        fprintf(f,
                "%llu events were dropped, at the limit or for lack of memory: their time is in "
                "the events around them\n",
                (unsigned long long)p->dropped);
    if (p->lost)
        fprintf(f,
                "%llu events of the device were dropped by its tools (CUPTI): their time is in no "
                "row\n",
                (unsigned long long)p->lost);
    if (p->how) fprintf(f, "%s\n", p->how);
    if (p->others)
        fprintf(f, "%llu events of other threads are not in the table\n",
                (unsigned long long)p->others);
}

/* Writes the sums of the rows, and everything that they do not include. */
static void foot(FILE *f, const table *t) {
    const gp_rows *r = t->r;
    const gp_prof *p = t->p;
    char a[40], b[40], c[40], kind[GP_PROF_KIND_TEXT];
    int64_t loose = 0, own = 0;
    for (int i = 0; i < r->n; i++) {
        if (r->row[i].special == GP_ROW_UNATTRIBUTED) loose += r->row[i].self[GP_CPU];
        if (r->row[i].special == GP_ROW_PROFILER) own += r->row[i].self[GP_CPU];
    }
    if (p->predicted)
        fprintf(f, "Predicted by a replay, not measured: %s%s%s\n", p->predicted,
                p->accuracy ? "; " : "", p->accuracy ? p->accuracy : "");
    fprintf(f, "%s: %s = rows %s + unattributed %s",
            r->mains > 1 ? "Wall time of all ranks"
            : r->others  ? "Host time"
                         : "Wall time",
            gp_table_time((double)r->wall, a, sizeof a),
            gp_table_time((double)(r->wall - loose), b, sizeof b),
            gp_table_time((double)loose, c, sizeof c));
    if (r->others)
        fprintf(f, "; of the rows, %s ran on %d other thread%s beside the main one%s",
                gp_table_time((double)r->beside, a, sizeof a), r->others, r->others == 1 ? "" : "s",
                r->mains > 1 ? "s" : "");
    if (p->foreign) fprintf(f, "\n");
    else
        fprintf(f, "; of the rows, the profiler's own cost is about %s\n",
                gp_table_time((double)own, a, sizeof a));
    foot_of_script(f, t, loose);
    foot_of_lines(f, t);
    foot_of_device(f, t);
    if (!strcmp(gp_prof_kind(p, kind), "measured")) fprintf(f, "Times: measured\n");
    foot_of_losses(f, p);
}

/* Writes the table's names with as many columns as fit a line, from that one on; returns the next
 * column. */
static int block(FILE *f, const table *t, int from, int width) {
    table part = *t;
    part.n = 1;
    do part.col[part.n++] = t->col[from++];
    while (from < t->n && (!width || line_width(&part) + 2 + t->col[from].width <= width));
    rule(f, &part);
    line(f, &part, NULL);
    rule(f, &part);
    for (int i = 0; i < t->r->n; i++) line(f, &part, &t->r->row[i]);
    rule(f, &part);
    return from;
}

/* Writes what follows the rows, folded. */
static bool folded_foot(FILE *f, const table *t, int width) {
    char *text = NULL, *rest = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);
    if (!lines) return false;
    foot(lines, t);
    bool ok = !fclose(lines) && text;
    for (char *line = ok ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        gp_fit_fold(f, line, 0, width);
    free(text);
    return ok;
}

char *gp_table_text(const gp_prof *p, const gp_rows *r, int width) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) return gp_fail_null("out of memory");
    table t = {.p = p, .r = r};
    add_columns(&t);
    measure(&t);
    if (width) narrow(&t, width);
    for (int from = 1; from < t.n;) from = block(f, &t, from, width);
    bool ok = folded_foot(f, &t, width);
    if (fclose(f) || !ok || !text) return free(text), gp_fail_null("out of memory");
    return text;
}
