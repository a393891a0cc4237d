/* Dims and strides: pure functions on small arrays. */
#include "tensor/shape.h"

#include <stdio.h>
#include <string.h>

#include "tensor/base/error.h"

_Static_assert(sizeof(size_t) == 8, "a size in bytes holds 2^58 elements of 8 bytes");

bool gp_shape_numel(const gp_shape *s, int64_t *numel) {
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < s->ndim; i++) {
        if (s->dim[i] < 0)
            return gp_fail("dim %d has negative size %lld", i + 1, (long long)s->dim[i]);
        if (s->dim[i] == 0) empty = true;
        else if (__builtin_mul_overflow(n, s->dim[i], &n) || n > (int64_t)1 << 58)
            return gp_fail("shape has more than 2^58 elements");
    }
    *numel = empty ? 0 : n;
    return true;
}

void gp_shape_strides(const gp_shape *s, int64_t *stride) {
    int64_t n = 1;
    for (int i = s->ndim - 1; i >= 0; i--) {
        stride[i] = n;
        n *= s->dim[i] > 0 ? s->dim[i] : 1;
    }
}

bool gp_shape_equal(const gp_shape *a, const gp_shape *b) {
    return a->ndim == b->ndim && !memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim);
}

bool gp_shape_broadcast(const char *op, gp_shape *into, const gp_shape *s) {
    gp_shape r = *into;
    int ndim = s->ndim > r.ndim ? s->ndim : r.ndim;
    for (int i = 1; i <= ndim; i++) {
        int64_t a = i <= into->ndim ? into->dim[into->ndim - i] : 1;
        int64_t b = i <= s->ndim ? s->dim[s->ndim - i] : 1;
        if (a != b && a != 1 && b != 1) {
            char x[128], y[128];
            return gp_fail(
                "%s: shapes %s and %s do not broadcast (dim %d from the end: %lld and %lld)", op,
                gp_shape_text(into, x, sizeof x), gp_shape_text(s, y, sizeof y), i, (long long)a,
                (long long)b);
        }
        r.dim[ndim - i] = a == 1 ? b : a;
    }
    r.ndim = ndim;
    *into = r;
    return true;
}

char *gp_shape_text(const gp_shape *s, char *buf, size_t n) {
    if (s->ndim == 0) return snprintf(buf, n, "scalar"), buf;
    size_t at = 0;
    for (int i = 0; i < s->ndim && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, i ? "x%lld" : "%lld", (long long)s->dim[i]);
    return buf;
}

char *gp_index_range(int64_t size, char *buf, size_t n) {
    long long last = (long long)size;
    if (size == 0) snprintf(buf, n, "it is empty: there is nothing to index");
    else if (size == 1) snprintf(buf, n, "expected 1 or -1");
    else snprintf(buf, n, "expected 1 to %lld, or -%lld to -1", last, last);
    return buf;
}

bool gp_dim_wrap(const char *op, int64_t dim, int ndim, int *out) {
    int n = ndim ? ndim : 1;
    char range[80];
    if (dim == 0 || dim > n || dim < -n)
        return gp_fail("%s: dim %lld is out of range for a %d-d tensor (%s)", op, (long long)dim,
                       ndim, gp_index_range(n, range, sizeof range));
    *out = (int)(dim > 0 ? dim - 1 : dim + n);
    return true;
}
