/* The sync debugger: what happens at a wait (recorded, warned about, refused), scopes that change
 * it, and the ledger of waits by source line. */
#ifndef GP_SYNC_H
#define GP_SYNC_H

#include "tensor/device/device.h"

typedef enum gp_sync_mode { GP_SYNC_OFF, GP_SYNC_WARN, GP_SYNC_ERROR } gp_sync_mode;

/* Sets the hooks; from then on every wait is in the ledger, whatever the mode. */
void gp_sync_open(void);
/* Of the whole process. */
gp_sync_mode gp_sync_get_mode(void);
void gp_sync_set_mode(gp_sync_mode mode);
/* The mode of the innermost such scope of this thread; the process's where there is none. */
gp_sync_mode gp_sync_mode_here(void);

/* Whether a wait for this reason is warned about and refused: not one that was asked for
 * (explicit), the prompt's echo, or a full queue. */
bool gp_sync_watched(gp_why why);
/* "what to write instead" of a wait for this reason in this call, of this form
 * (tensor/device/form.h; NULL or "": not known); never NULL, may be "". */
const char *gp_sync_advice(gp_why why, const char *what, const char *form);

/* While the count is above 0, waits of this thread are gpush's own: not in the ledger, never
 * refused. */
void gp_sync_quiet(int by);

/* While the count is above 0, prints of this thread are the prompt's echo of a result: recorded as
 * such, never warned about or refused. */
void gp_sync_echo(int by);

/* Whether this thread waits for a device. Safe in a signal handler. */
bool gp_sync_waiting(void);
/* How long this thread has waited for full launch queues so far. */
uint64_t gp_sync_stalled_ns(void);

/* A source line's waits. Strings are never freed. */
typedef struct gp_sync_line {
    gp_srcloc loc;  /* of the script */
    gp_srcloc loop; /* from the second wait on: where the loop begins that repeats it */
    gp_why why;
    const char *what;   /* what waited: "item", "nonzero" */
    const char *reason; /* of the enclosing allow(); NULL: none */
    const char *advice;
    char device[16];
    uint64_t times; /* waits, except the refused ones */
    uint64_t refused;
    uint64_t warned;          /* of these, those warned about: under mode "warn" and not allowed */
    uint64_t wait_ns, max_ns; /* time the host was blocked: sum, longest */
    uint64_t drained;         /* commands that were queued when the waits began */
    uint64_t idle_ns;         /* time the device was idle afterwards, at most the wait itself */
    uint64_t known; /* waits of which that is known: the device had work left when it got more, or
                       none */
} gp_sync_line;

/* What one of the line's waits is worth at least, in ns, as far as the ledger knows without a
 * record: how long the device idled after it until more was queued, on average. It may idle later,
 * too, until the host is ahead again. Below 0: it is not known, or the waits are none that a script
 * can avoid. */
double gp_sync_worth(const gp_sync_line *l);

/* One wait. */
typedef struct gp_sync_event {
    gp_srcloc loc, last; /* of the script; of what was queued last */
    const char *what, *reason, *last_op, *advice;
    gp_why why;
    bool refused;
    char device[16];
    int stream;
    uint64_t t0, t1, queued; /* ns, ns, commands */
} gp_sync_event;

/* Copies of the ledger, malloc'd, in the order of first appearance; *n is 0 and the result NULL
 * where it is empty, and *n is -1 where the copy of the lines has no memory. Waits that there was
 * no memory to keep a line for are one line without a file, the last. The events are the last
 * GP_SYNC_EVENTS; *lost counts the older ones. */
enum { GP_SYNC_EVENTS = 4096 };
gp_sync_line *gp_sync_lines(int *n);
gp_sync_event *gp_sync_events(int *n, uint64_t *lost);
void gp_sync_reset(void);
/* When the ledger was begun, as gp_model_mark has it. */
uint64_t gp_sync_mark(void);
/* What devices idle from here on is not because of the waits so far: the prompt calls it before it
 * reads a line, as people think while the device is idle. */
void gp_sync_forget_idle(void);

/* What gp_sync_save saves. */
typedef struct gp_sync_state {
    struct gp_ledger *ledger;
    struct gp_scope *scopes;
    gp_sync_mode mode;
    int quiet;
} gp_sync_state;
/* For the self-test: moves the ledger, the mode and this thread's scopes to *a and starts with
 * none; false with a message when out of memory. gp_sync_restore brings them back. Not nestable. */
bool gp_sync_save(gp_sync_state *a);
void gp_sync_restore(gp_sync_state *a);

/* Scopes: of one thread, innermost first; the caller owns the memory. */
typedef enum gp_scope_kind { GP_SCOPE_BUDGET, GP_SCOPE_ALLOW, GP_SCOPE_MODE } gp_scope_kind;
enum { GP_SCOPE_LINES = 8 };
typedef struct gp_scope {
    struct gp_scope *outer;
    bool open;
    void *coroutine; /* where it was opened; see gp_scope_depth */
    gp_scope_kind kind;
    gp_srcloc opened;        /* where */
    const char *reason;      /* allow: why waits are allowed here */
    gp_sync_mode mode;       /* mode: instead of the process's, and of allow scopes around it */
    uint64_t max, stall_ns;  /* budget: maximum waits, and time in them; UINT64_MAX: no limit */
    uint64_t waits, wait_ns; /* seen so far, */
    bool sim;                /* of them of sim's devices */
    int nlines;
    struct {
        gp_srcloc loc;
        const char *what;
        uint64_t times, wait_ns;
    } line[GP_SCOPE_LINES]; /* the first ones */
} gp_scope;
/* Makes s, filled in but for outer and open, the innermost scope of this thread. s must stay where
 * it is until gp_scope_close. */
void gp_scope_open(gp_scope *s);
/* Any order; closing twice is fine. */
void gp_scope_close(gp_scope *s);
/* This thread's innermost scope, or NULL. */
gp_scope *gp_scope_innermost(void);
/* budget.c: whether s is a budget that its waits exceed, and the sentence that says so, by free;
 * NULL without memory. */
bool gp_scope_over(const gp_scope *s);
char *gp_scope_text(const gp_scope *s);
/* For a block that never ended, as that of a coroutine that nobody resumed: prints that sentence on
 * stderr. Then the program fails: gp_scope_missed_any is true, once. */
void gp_scope_missed(const gp_scope *s);
bool gp_scope_missed_any(void);
/* Interns text; never freed. */
const char *gp_sync_name(const char *text);
/* How many coroutines inside this one are running: 0 for the innermost. A scope opened in a
 * coroutine applies to it and to those that it resumes; -1: it is suspended or dead, and the scope
 * does not apply. Set by bindings/, as is the next. */
extern int (*gp_scope_depth)(void *coroutine);
/* The running coroutine. */
extern void *(*gp_scope_coroutine)(void);
/* Where the innermost loop that runs begins; without a file where there is none. Set by
 * bindings/. */
extern gp_srcloc (*gp_sync_loop)(void);

/* "12 ns" "1.3 ms" "52 us", three digits at most. */
char *gp_time_text(double ns, char *buf, size_t n);

#endif
