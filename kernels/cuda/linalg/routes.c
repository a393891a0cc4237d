/* The table of routines for linear algebra: routes.def, compiled in, until a text of the same form
 * is read in its place. A text is read as a whole or not at all. */
#include "kernels/cuda/linalg/routes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/plugin_api.h"

enum { MOST = 2048, WORD = 24 };

typedef struct row {
    uint8_t op, dtype, route; /* dtype: ANY or that of its index in dtypes */
    int64_t rows, cols, from, to;
} row;

typedef struct table {
    char source[120];
    int n;
    const row *rows;
} table;

enum { any, f32, f64 };
static const char *const dtypes[] = {"any", "f32", "f64"};
#define R(name) #name,
static const char *const ops[] = {GP_ROUTED(R)}, *const names[] = {GP_ROUTES(R)};
#undef R
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
_Static_assert(COUNT(names) <= 32, "a bit of GP_CAN for each");

static const row built_in[] = {
#define SOURCE(text)
#define ROUTE(op, dtype, rows, cols, from, to, by)                                                 \
    {GP_FOR_##op, dtype, GP_BY_##by, rows, cols, from, to},
#include "kernels/cuda/linalg/routes.def"
};
static const table original = {
#define SOURCE(text) text,
#define ROUTE(...)
#include "kernels/cuda/linalg/routes.def"
    COUNT(built_in), built_in};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards now and its rows */
static table now;
static bool read_in;     /* now is in force */
static _Atomic int last; /* gp_route: for a whole op */

/* ---- use ---- */

static bool fits(const row *r, gp_routed op, bool wide, int64_t rows, int64_t cols, int64_t count) {
    return r->op == op && (r->dtype == any || (r->dtype == f64) == wide) &&
           (!r->rows || rows <= r->rows) && (!r->cols || cols <= r->cols) && count >= r->from &&
           (!r->to || count <= r->to);
}

gp_route gp_route_for(gp_routed op, bool wide, int64_t rows, int64_t cols, int64_t count,
                      unsigned can, gp_route otherwise) {
    gp_route by = otherwise;
    pthread_mutex_lock(&lock);
    const table *t = read_in ? &now : &original;
    for (int i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        if (!(can >> r->route & 1) || !fits(r, op, wide, rows, cols, count)) continue;
        by = (gp_route)r->route;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (op != GP_FOR_form_q) atomic_store(&last, by);
    return by;
}

const char *gp_route_name(gp_route by) { return names[by]; }

/* ---- reading ---- */

static int position(const char *const *list, int n, const char *word) {
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i], word)) return i;
    return -1;
}

/* A line that begins with ROUTE as a row. False where it is none. */
static bool read_row(const char *line, row *to) {
    char op[WORD], dtype[WORD], by[WORD], end;
    long long rows, cols, from, most;
    int n = sscanf(
        line, "ROUTE ( %23[a-z_] , %23[a-z0-9] , %lld , %lld , %lld , %lld , %23[A-Za-z0-9] %c", op,
        dtype, &rows, &cols, &from, &most, by, &end);
    if (n != 8 || end != ')' || rows < 0 || cols < 0 || from < 1 || most < 0) return false;
    int i = position(ops, COUNT(ops), op), k = position(dtypes, COUNT(dtypes), dtype),
        route = position(names, COUNT(names), by);
    if (i < 0 || k < 0 || route <= 0) return false;
    *to = (row){(uint8_t)i, (uint8_t)k, (uint8_t)route, rows, cols, from, most};
    return true;
}

/* Reads all lines; false with what is wrong in why. */
static bool read_text(const char *text, table *t, row *rows, char *why, size_t size) {
    int line = 1;
    for (const char *p = text; *p; line++) {
        size_t n = strcspn(p, "\n");
        if (!strncmp(p, "SOURCE", 6)) sscanf(p, "SOURCE ( \"%119[^\"\n]", t->source);
        if (!strncmp(p, "ROUTE", 5)) {
            if (t->n == MOST) return snprintf(why, size, "more than %d rows", MOST), false;
            if (!read_row(p, &rows[t->n++]))
                return snprintf(why, size, "line %d is no row: %.*s", line, (int)(n < 80 ? n : 80),
                                p),
                       false;
        }
        p += n + (p[n] == '\n');
    }
    if (!t->n) return snprintf(why, size, "no line begins with ROUTE"), false;
    return *t->source || (snprintf(why, size, "no SOURCE (\"...\") says where it is from"), false);
}

/* Puts the table in force, and frees the rows of the one before. */
static void use(const table *t) {
    pthread_mutex_lock(&lock);
    const row *before = read_in ? now.rows : NULL;
    if (t) now = *t;
    read_in = t != NULL;
    pthread_mutex_unlock(&lock);
    free((void *)before);
}

__attribute__((visibility("default"))) int gp_cuda_routes(const char *text, char *source,
                                                          size_t size, const char **used) {
    int by = atomic_load(&last);
    *used = by ? names[by] : NULL;
    if (text && *text) {
        table t = {.source = ""};
        row *rows = malloc(MOST * sizeof *rows);
        if (!rows) return snprintf(source, size, "out of memory"), -1;
        if (!read_text(text, &t, rows, source, size)) return free(rows), -1;
        t.rows = rows;
        use(&t);
    } else if (text) {
        use(NULL);
    }
    pthread_mutex_lock(&lock);
    const table *t = read_in ? &now : &original;
    int n = t->n;
    snprintf(source, size, "%s", t->source);
    pthread_mutex_unlock(&lock);
    return n;
}
