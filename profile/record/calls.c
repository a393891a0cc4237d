/* Records the calls of a device's runtime that may block, by source line. */
#include "profile/record/calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/stream/thread.h"

enum { MOST = 512 }; /* rows; the last one takes calls without a row of their own */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gp_call_line *rows;
static int nrows;

static gp_call_line *find(const gp_call_line *key) {
    for (int i = 0; i < nrows; i++)
        if (rows[i].what == key->what && gp_srcloc_same(rows[i].loc, key->loc) &&
            rows[i].first == key->first && !strcmp(rows[i].device, key->device))
            return &rows[i];
    if (!rows) rows = calloc(MOST, sizeof *rows);
    if (!rows) return NULL;
    if (nrows < MOST - 1) rows[nrows] = *key;
    else if (nrows == MOST - 1) {
        rows[nrows] = *key;
        rows[nrows].loc = (gp_srcloc){0};
        rows[nrows].what = "(others)";
    } else return &rows[MOST - 1];
    return &rows[nrows++];
}

static void call(gp_device *dev, const char *what, bool first, uint64_t t0, uint64_t t1) {
    gp_call_line key = {.loc = gp_srcloc_here(), .what = what, .first = first};
    uint64_t ns = t1 - t0;
    memcpy(key.device, dev->name, sizeof key.device);
    gp_lock(&lock);
    gp_call_line *l = find(&key);
    if (l) {
        bool blocked = ns >= GP_CALL_BLOCKED_NS;
        l->times++;
        l->blocked += blocked;
        l->ns += ns;
        l->blocked_ns += blocked ? ns : 0;
        if (ns > l->max_ns) l->max_ns = ns;
    }
    gp_unlock(&lock);
}

void gp_calls_open(void) { atomic_store(&gp_hook.call, call); }

gp_call_line *gp_calls_lines(int *n) {
    gp_lock(&lock);
    gp_call_line *out = nrows ? malloc((size_t)nrows * sizeof *out) : NULL;
    *n = out ? nrows : 0;
    if (out) memcpy(out, rows, (size_t)nrows * sizeof *out);
    gp_unlock(&lock);
    return out;
}

void gp_calls_reset(void) {
    gp_lock(&lock);
    nrows = 0;
    gp_unlock(&lock);
}

void gp_calls_restore(const gp_call_line *lines, int n) {
    gp_lock(&lock);
    if (n) memcpy(rows, lines, (size_t)n * sizeof *lines);
    nrows = n;
    gp_unlock(&lock);
}
