/* What Python's own functions and libraries do for a line of the script, by their frames in
 * torch.profiler's traces: "queue.py(154): get", "<built-in function print>", "<built-in method
 * recv of socket object at 0x7f>", "<method 'recv' of '_socket.socket' objects>". */
#include <string.h>

#include "profile/load/kineto/kineto.h"

enum {
#define FRAME_ADVICE(kind, ...) IS_##kind,
#include "profile/load/frames.def"
    KINDS
};

static const char *const advice_of[KINDS] = {
#define FRAME_ADVICE(kind, advice) [IS_##kind] = advice,
#include "profile/load/frames.def"
};

static const struct row {
    const char *where, *function, *name;
    int kind;
} rows[] = {
#define FRAME(where, function, name, kind) {where, function, name, IS_##kind},
#include "profile/load/frames.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct text {
    const char *p;
    size_t n;
} text;

/* A frame's function, and the file or the type that it is of; a type without its module. */
typedef struct frame {
    text where, function;
} frame;

static bool is(text t, const char *word) { return t.n == strlen(word) && !memcmp(t.p, word, t.n); }

/* From p up to the first of `ends`. */
static text until(const char *p, const char *ends) { return (text){p, strcspn(p, ends)}; }

static text last_part(text t) {
    const char *dot = t.n ? memrchr(t.p, '.', t.n) : NULL;
    return dot ? (text){dot + 1, t.n - (size_t)(dot + 1 - t.p)} : t;
}

/* Reads what follows `begin`, of which text begins: "NAME of TYPE". */
static frame read_method(const char *name) {
    bool quotes = *name == '\'';
    frame f = {.function = until(name + quotes, quotes ? "'" : " ")};
    const char *of = strstr(name, " of ");
    if (of) f.where = last_part(until(of + 4 + quotes, quotes ? "'" : " "));
    return f;
}

static frame read_frame(const char *name) {
    static const char function[] = "<built-in function ", method[] = "<built-in method ",
                      slot[] = "<method ";
    const char *end = strstr(name, "): ");
    if (!strncmp(name, function, sizeof function - 1))
        return (frame){.function = until(name + sizeof function - 1, ">")};
    if (!strncmp(name, method, sizeof method - 1)) return read_method(name + sizeof method - 1);
    if (!strncmp(name, slot, sizeof slot - 1)) return read_method(name + sizeof slot - 1);
    if (!end) return (frame){{0}, {0}};
    return (frame){.where = until(name, "("), .function = {end + 3, strlen(end + 3)}};
}

/* Whether f is of the file, the folder or the type `where`. */
static bool is_of(const frame *f, const char *where) {
    size_t n = strlen(where);
    if (!n) return !f->where.n;
    if (where[n - 1] != '/') {
        if (f->where.n < n || memcmp(f->where.p + f->where.n - n, where, n) != 0) return false;
        return f->where.n == n || f->where.p[f->where.n - n - 1] == '/';
    }
    if (f->where.n > n && !memcmp(f->where.p, where, n)) return true;
    const char *at = f->where.n ? memmem(f->where.p, f->where.n, where, n) : NULL;
    return at && at > f->where.p && at[-1] == '/';
}

const char *gp_kineto_library(const char *name) {
    frame f = read_frame(name);
    for (int i = 0; f.function.n && i < ROWS; i++) {
        bool named = !*rows[i].function || is(f.function, rows[i].function);
        if (named && is_of(&f, rows[i].where)) return rows[i].name;
    }
    return NULL;
}

const char *gp_load_library_advice(const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name)) return advice_of[rows[i].kind];
    return NULL;
}
