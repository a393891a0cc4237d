/* The record added up: one row per op, region, line, shape or stack, whose own times and
 * "unattributed" make the wall time exactly. */
#ifndef GP_ROWS_H
#define GP_ROWS_H

#include "profile/record.h"

typedef enum gp_group {
    GP_BY_OP,
    GP_BY_REGION,
    GP_BY_LINE,
    GP_BY_SHAPE,
    GP_BY_STACK,
    GP_GROUPS
} gp_group;

/* What is in a row that is no event's. */
typedef enum gp_special {
    GP_ROW_EVENTS,
    GP_ROW_NO_REGION, /* by region: what ran outside of any */
    GP_ROW_DRAINED,   /* the profiler's wait, at the end, for what the profiled code had queued */
    GP_ROW_ELSEWHERE, /* device work that nothing in the record queued */
    GP_ROW_PROFILER,  /* the profiler's own cost on the host: an estimate, measured at its start */
    GP_ROW_UNATTRIBUTED, /* host time outside of every event: the script itself */
    GP_ROW_REST          /* rows that a limit left out */
} gp_special;

enum { GP_CPU, GP_DEV }; /* host; devices together */

/* Times in ns, memory in bytes: taken minus given back. Self excludes what ran within on the same
   thread; for a device it is what the row's events themselves queued. A total is the self times of
   the event and of all within it, so a region's has no time in which its coroutine did not run.
   Totals count a row once where it is inside itself, so no total exceeds the whole. */
typedef struct gp_row {
    gp_special special;
    const gp_rec *rec; /* one of the row's events, for its name; NULL when special */
    uint64_t calls;
    int64_t self[2], total[2], self_mem[2], mem[2];
} gp_row;

typedef struct gp_rows {
    gp_group group;
    int n;
    gp_row *row; /* events' rows in order of appearance, special ones last, each only if it holds
                    something but UNATTRIBUTED always */
    int64_t wall, busy; /* sums of self[GP_CPU], self[GP_DEV] */
    int64_t copies;     /* of busy: copies */
    const char *kind;   /* "sim", "cuda"; "device" for several; NULL: no device did anything */
    bool memory;
} gp_rows;

/* NULL when out of memory, or with a message where p was not told to record what group needs. */
gp_rows *gp_rows_new(const gp_prof *p, gp_group group);
void gp_rows_free(gp_rows *r); /* NULL is fine */

/* Sorts by a column as torch names it ("self_cpu_time_total", "cuda_time_total", "count", …;
   device_ and sim_ mean what cuda_ does), the largest first. False with a message. */
bool gp_rows_sort(gp_rows *r, const char *column);
/* Keeps the first `limit` rows of events and puts the rest into one. */
void gp_rows_limit(gp_rows *r, int limit);
/* "add_", "wait: item", "[unattributed]", "train.lua:12" */
char *gp_row_name(const gp_rows *r, const gp_row *row, char *buf, size_t n);
/* "x.lua:3 < x.lua:9", of at most depth frames. */
char *gp_stack_text(const gp_stack *s, int depth, char *buf, size_t n);

#endif
