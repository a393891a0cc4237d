/* The aggregated record: one row per op, region, line, shape, stack or kernel. Their self times and
 * "unattributed" add up exactly to the wall time. */
#ifndef GP_ROWS_H
#define GP_ROWS_H

#include "profile/record/record.h"

typedef enum gp_group_by {
    GP_BY_OP,
    GP_BY_REGION,
    GP_BY_LINE,
    GP_BY_SHAPE,
    GP_BY_STACK,
    GP_BY_RANK,
    GP_BY_MODULE, /* "Net.features.1", as the stack has it */
    GP_BY_KERNEL, /* what devices did, by the kernel's own name; the host has no rows */
    GP_GROUPS
} gp_group_by;

/* The content of a row that no event belongs to. */
typedef enum gp_special {
    GP_ROW_EVENTS,
    GP_ROW_NO_REGION, /* by region: events outside any */
    GP_ROW_DRAINED,   /* the profiler's wait, at the end, for work that the profiled code had queued
                       */
    GP_ROW_ELSEWHERE, /* device work that nothing in the record queued: other threads did */
    GP_ROW_BEFORE,    /* the same of another program's trace: it was queued before that began, */
    GP_ROW_UNKNOWN,   /* or it is not known when */
    GP_ROW_PROFILER,  /* the profiler's own cost on the host: an estimate, measured at the start */
    GP_ROW_UNATTRIBUTED, /* host time outside all events: the script itself */
    GP_ROW_REST          /* rows that a limit left out */
} gp_special;

enum { GP_CPU, GP_DEV }; /* host; devices together */

/* Times in ns, memory in bytes: allocated minus freed. Self excludes nested events on the same
 * thread; for a device it is the work that the row's events themselves queued. A total is the self
 * times of the event and of all within it, so a region's excludes time in which its coroutine did
 * not run. Nested events of one row count once in totals, so no total exceeds the whole. */
typedef struct gp_row {
    gp_special special;
    const gp_rec *rec;       /* one of the row's events, for its name; NULL when special */
    int rank;                /* by rank */
    uint64_t calls, samples; /* samples: of the script's own time */
    int64_t self[2], total[2], self_mem[2], mem[2];
    double ops, moved;          /* with opts.flops: operations and bytes of the row's own events */
    double bound;               /* with a card, too: ns that they take on it at least */
    const struct gp_wave *wave; /* by kernel, of a loaded trace: what it fills; NULL: not known */
    uint64_t shortest, longest; /* by kernel: of its runs, ns */
    bool on_tensor_cores;       /* by kernel: its name says so */
} gp_row;

/* Per second of the device's own time in the row's events, of the host's where no device ran any;
 * 0 where there is none. amount: ops or moved. */
double gp_row_rate(const gp_row *row, double amount);
/* The bound's share of that time; 0 where there is none. */
double gp_row_roofline(const gp_row *row);

typedef struct gp_rows {
    gp_group_by group;
    int n;
    gp_row *row; /* events' rows in order of appearance, then the special ones, each only if it is
                    not empty; UNATTRIBUTED always */
    int64_t wall, busy; /* sums of self[GP_CPU], self[GP_DEV] */
    int mains, others;  /* threads of the host: one of each rank, whose wall time is in wall; and
                           others, which only loaded traces have, */
    int64_t beside;     /* and the time of their events, which is in wall, too */
    int64_t copies;     /* copies' part of busy */
    uint64_t samples;   /* of the script; those of regions and ranks are in their rows */
    const char *kind;   /* "sim", "cuda"; "device" for several; NULL: no device ran anything */
    bool memory, flops, roofline;
    int64_t on_tensor_cores; /* by kernel: the time of those rows */
} gp_rows;

/* NULL when out of memory, or with a message where p did not record what group needs. */
gp_rows *gp_rows_new(const gp_prof *p, gp_group_by group);
void gp_rows_free(gp_rows *r); /* NULL is fine */
/* Fills rows with those by kernel, with room for `more`. False when out of memory or stopped. */
bool gp_kernel_rows(const gp_prof *p, gp_rows *rows, int more);
/* Whether a kernel's name says that it uses tensor cores, or AMD's matrix cores; others may, too.
 */
bool gp_kernel_on_tensor_cores(const char *name);

/* Sorts by a column as torch names it ("self_cpu_time_total", "cuda_time_total", "count", …;
 * device_ and sim_ mean the same as cuda_), the largest first. False with a message. */
bool gp_rows_sort(gp_rows *r, const char *column);
/* Keeps the first `limit` rows of events and combines the rest into one. */
void gp_rows_limit(gp_rows *r, int limit);
/* "add_", "wait: item", "[unattributed]", "train.lua:12" */
char *gp_row_name(const gp_rows *r, const gp_row *row, char *buf, size_t n);
/* A line's number; "8+" of -8, a line of the function that begins at 8, and "?" of 0, where a trace
 * has no more. */
const char *gp_line_text(int line, char buf[13]);
/* "x.lua:3 (step) < x.lua:9", of at most depth frames. */
char *gp_stack_text(const gp_stack *s, int depth, char *buf, size_t n);

#endif
