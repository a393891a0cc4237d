/* Text of a record: shapes and names. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "profile/record/record.h"

const char *gp_rec_keep_shapes(gp_prof *p, const gp_call *c) {
    _Static_assert(GP_DTYPES <= CHAR_MAX && GP_MAX_DIM <= CHAR_MAX, "each is stored in a char");
    char buf[GP_MAX_ARGS * (2 + 8 * GP_MAX_DIM)], *at = buf;
    for (int i = 0; i < c->nargs; i++) {
        if (c->arg[i].kind != GP_TENSOR) continue;
        const gp_array *a = &c->arg[i].t->a;
        *at++ = (char)a->dtype;
        *at++ = (char)a->ndim;
        memcpy(at, a->dim, a->ndim * sizeof *a->dim);
        at += a->ndim * sizeof *a->dim;
    }
    return gp_intern_add(p->names, buf, (size_t)(at - buf));
}

void *gp_prof_fail_lacking(const gp_prof *p, const char *who, const char *what, const char *own,
                           const char *torch) {
    if (!p->foreign) return gp_fail_null("%s needs a profile with %s", who, own);
    if (!p->writer) return gp_fail_null("%s needs a profile with %s", who, torch);
    return gp_fail_null("%s needs a profile with %s, which gpush reads from no trace of this kind: "
                        "%s (it reads them from torch.profiler's, recorded with %s)",
                        who, what, p->writer, torch);
}

char *gp_rec_shapes(const char *shapes, char *buf, size_t n) {
    if (n) *buf = 0;
    if (!shapes) return buf;
    const char *p = shapes, *end = shapes + gp_intern_size(shapes);
    size_t at = 0;
    while (p < end && at < n) {
        const char *dtype = gp_dtype_name((gp_dtype)p[0]);
        gp_shape s = {.ndim = p[1]};
        memcpy(s.dim, p + 2, (size_t)s.ndim * sizeof *s.dim);
        char text[160];
        at += (size_t)snprintf(buf + at, n - at, "%s%s %s", at ? ", " : "", dtype,
                               gp_shape_text(&s, text, sizeof text));
        p += 2 + (size_t)s.ndim * sizeof *s.dim;
    }
    return buf;
}

bool gp_rec_has_dim(const char *shapes, int64_t dim) {
    const char *p = shapes, *end = shapes ? shapes + gp_intern_size(shapes) : NULL;
    while (p < end) {
        gp_shape s = {.ndim = p[1]};
        memcpy(s.dim, p + 2, (size_t)s.ndim * sizeof *s.dim);
        for (int i = 0; i < s.ndim; i++)
            if (s.dim[i] == dim) return true;
        p += 2 + (size_t)s.ndim * sizeof *s.dim;
    }
    return false;
}

const char *gp_rec_kind_name(gp_rec_kind kind) {
    static const char *const names[] = {"op",     "region", "wait",   "copy", "kernel", "copied",
                                        "memory", "held",   "switch", "call", "sample", "read"};
    _Static_assert(sizeof names / sizeof *names == GP_REC_KINDS, "a name for each kind");
    return names[kind];
}

char *gp_rec_name(const gp_rec *r, char *buf, size_t n) {
    if (r->kind == GP_REC_WAIT)
        snprintf(buf, n, "wait: %s", r->why == GP_WHY_queue ? "full queue" : r->name);
    else snprintf(buf, n, "%s%s", r->name, r->inplace ? "_" : "");
    return buf;
}

gp_copy_kind gp_copy_direction(const char *name) {
    static const char *const to_host[] = {"D2H", "DtoH", "DeviceToHost"};
    static const char *const to_device[] = {"H2D", "HtoD", "HostToDevice"};
    for (int i = 0; i < 3; i++) {
        if (strstr(name, to_host[i])) return GP_COPY_D2H;
        if (strstr(name, to_device[i])) return GP_COPY_H2D;
    }
    return GP_COPY_D2D;
}
