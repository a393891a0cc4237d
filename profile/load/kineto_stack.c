/* Python's frames in torch.profiler's traces: "train.py(12): step". */
#include <limits.h>
#include <string.h>

#include "profile/load/kineto.h"

static bool contains(const char *p, size_t n, const char *word) {
    return memmem(p, n, word, strlen(word)) != NULL;
}
static bool begins(const char *p, size_t n, const char *word) {
    return n >= strlen(word) && !memcmp(p, word, strlen(word));
}

/* Whether code in that file is a library's: PyTorch's own, Python's, or an installed one. */
static bool is_library(const char *file, size_t n) {
    return begins(file, n, "<") || begins(file, n, "torch/") || contains(file, n, "/torch/") ||
           contains(file, n, "site-packages") || contains(file, n, "dist-packages") ||
           contains(file, n, "/lib/python3") || !contains(file, n, ".py");
}

/* A file's n bytes and the digits of a line; false where they are none, or of a library. */
static bool set_line(gp_intern *names, const char *file, size_t n, gp_json_text digits,
                     gp_srcloc *to) {
    int64_t line = 0;
    if (!gp_json_text_int(&digits, &line) || line < 0 || line > INT_MAX) return false;
    if (is_library(file, n)) return false;
    to->file = gp_intern_put(names, file, n);
    to->line = (int)line;
    return to->file != NULL;
}

/* Reads "FILE(LINE): NAME". */
static bool read_frame(gp_intern *names, const char *p, size_t n, gp_srcloc *to) {
    const char *end = memmem(p, n, "): ", 3), *open = end;
    while (open && open > p && *open != '(') open--;
    if (!end || *open != '(') return false;
    gp_json_text digits = {.p = open + 1, .n = (size_t)(end - open - 1)};
    return set_line(names, p, (size_t)(open - p), digits, to);
}

/* Reads "FILE:LINE". */
static bool read_line(gp_intern *names, const char *p, size_t n, gp_srcloc *to) {
    const char *colon = memrchr(p, ':', n);
    if (!colon) return false;
    gp_json_text digits = {.p = colon + 1, .n = (size_t)(p + n - colon - 1)};
    return set_line(names, p, (size_t)(colon - p), digits, to);
}

static const gp_stack *one(gp_intern *names, const char *text, size_t n,
                           bool (*read)(gp_intern *, const char *, size_t, gp_srcloc *)) {
    gp_load_stack s;
    memset(&s, 0, sizeof s); /* padding is interned with the rest */
    if (!read(names, text, n, &s.frame[0])) return NULL;
    s.n = 1;
    return gp_load_intern_stack(names, &s);
}

const gp_stack *gp_kineto_frame(gp_intern *names, const char *text, size_t n) {
    return one(names, text, n, read_frame);
}

const gp_stack *gp_kineto_line(gp_intern *names, const char *text, size_t n) {
    return one(names, text, n, read_line);
}

const gp_stack *gp_kineto_stack(gp_intern *names, const char *text, size_t n) {
    gp_load_stack s;
    const char *end = text + n;
    memset(&s, 0, sizeof s);
    while (text < end && s.n < GP_STACK_DEPTH) {
        const char *stop = memchr(text, ';', (size_t)(end - text));
        if (!stop) stop = end;
        s.n += read_frame(names, text, (size_t)(stop - text), &s.frame[s.n]);
        text = stop + 1;
    }
    return s.n ? gp_load_intern_stack(names, &s) : NULL;
}
