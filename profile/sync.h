/* The sync debugger: what is done about a wait (recorded, warned about, refused), scopes that
 * change it, and the ledger of waits by source line. */
#ifndef GP_SYNC_H
#define GP_SYNC_H

#include "tensor/device/device.h"

typedef enum gp_sync_mode { GP_SYNC_OFF, GP_SYNC_WARN, GP_SYNC_ERROR } gp_sync_mode;

/* Sets the hooks; from then on every wait is in the ledger, whatever the mode. */
void gp_sync_open(void);
/* Of the whole process. */
gp_sync_mode gp_sync_get_mode(void);
void gp_sync_set_mode(gp_sync_mode mode);

/* Is a wait for this reason warned about and refused? Not what was asked for (explicit), the
 * prompt's echo, or a full queue. */
bool gp_sync_watched(gp_why why);
/* "what to write instead"; never NULL, may be "". */
const char *gp_sync_advice(gp_why why, const char *what);

/* Waits of gpush's own on this thread while the count is above 0: not in the ledger, never
 * refused. */
void gp_sync_quiet(int by);

/* Prints of this thread are the prompt's echo of a result while the count is above 0: recorded as
 * such, never warned about or refused. */
void gp_sync_echo(int by);

/* How long this thread has stood before full launch queues so far. */
uint64_t gp_sync_stalled_ns(void);

/* A source line's waits. Strings live for ever. */
typedef struct gp_sync_line {
    const char *file; /* NULL: no Lua line */
    int line;
    gp_why why;
    const char *what;   /* what waited: "item", "nonzero" */
    const char *reason; /* of the allow() it was under; NULL: none */
    const char *advice;
    char device[16];
    uint64_t times; /* waits, without the refused ones */
    uint64_t refused;
    uint64_t warned;          /* of these times, under mode "warn" and not allowed */
    uint64_t wait_ns, max_ns; /* time the host stood still: sum, longest */
    uint64_t drained;         /* commands that were queued when the waits began */
    uint64_t idle_ns;         /* time the device then had nothing to do, at most the wait itself */
} gp_sync_line;

/* One wait. */
typedef struct gp_sync_event {
    const char *file, *what, *reason, *last_op, *last_file, *advice;
    int line, last_line;
    gp_why why;
    bool refused;
    char device[16];
    int stream;
    uint64_t t0, t1, queued; /* ns, ns, commands */
} gp_sync_event;

/* Copies of what is known, malloc'd, in the order of first appearance; *n is 0 and NULL is given
   where there is none. The events are the last GP_SYNC_EVENTS; *lost counts the older ones. */
enum { GP_SYNC_EVENTS = 4096 };
gp_sync_line *gp_sync_lines(int *n);
gp_sync_event *gp_sync_events(int *n, uint64_t *lost);
void gp_sync_reset(void);

/* For the self-test: puts the ledger, the mode and this thread's scopes aside and starts with none;
 * restore puts them back. Not to be nested. */
typedef struct gp_sync_aside {
    struct gp_ledger *ledger;
    struct gp_scope *scopes;
    gp_sync_mode mode;
    int quiet;
} gp_sync_aside;
bool gp_sync_put_aside(gp_sync_aside *a);
void gp_sync_restore(gp_sync_aside *a);

/* Scopes: of one thread, innermost first; memory is the caller's. */
enum { GP_SCOPE_LINES = 8 };
typedef struct gp_scope {
    struct gp_scope *outer;
    bool open;
    void *coroutine;         /* where it was opened; see gp_scope_depth */
    const char *reason;      /* allow(): why waits are fine here; NULL: a budget */
    uint64_t max, stall_ns;  /* budget: most waits, and most time in them; UINT64_MAX: no limit */
    uint64_t waits, wait_ns; /* seen so far */
    int nlines;
    struct {
        const char *file, *what;
        int line;
        uint64_t times, wait_ns;
    } line[GP_SCOPE_LINES]; /* the first ones */
} gp_scope;
void gp_scope_open(gp_scope *s);
/* Any order; closing twice is fine. */
void gp_scope_close(gp_scope *s);
/* Stays as long as the process. */
const char *gp_sync_name(const char *text);
/* How many coroutines further in than this one run: 0 for the innermost. What was opened in a
 * coroutine holds in it and in what it resumes: not where this is -1, as it is suspended or dead.
 * Set by bindings/, as the next. */
extern int (*gp_scope_depth)(void *coroutine);
/* The running coroutine. */
extern void *(*gp_scope_coroutine)(void);

/* "12 ns" "1.3 ms" "52 us", three digits at most. */
char *gp_time_text(double ns, char *buf, size_t n);
/* text with control characters replaced, for a terminal. */
char *gp_plain_text(const char *text, char *buf, size_t n);

#endif
