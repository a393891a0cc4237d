/* Shape rules of pad and roll. */
#include <string.h>

#include "tensor/infer.h"

static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR, MODES };

/* The size of dim d of x with `before` and `after` more elements. */
static bool padded(const gp_tensor *x, int d, int mode, int64_t before, int64_t after,
                   int64_t *size) {
    int64_t n = x->a.dim[d], most = before > after ? before : after;
    if (__builtin_add_overflow(before, after, size) || __builtin_add_overflow(n, *size, size) ||
        *size < 0)
        return gp_fail("pad: %lld and %lld elements round the %lld of dim %d give no size",
                       (long long)before, (long long)after, (long long)n, d + 1);
    if (mode == CIRCULAR) n += (before < 0 ? before : 0) + (after < 0 ? after : 0); /* goes round */
    if ((mode == REFLECT && most > 0 && most >= n) || (mode == CIRCULAR && most > 0 && most > n) ||
        (mode == REPLICATE && most > 0 && n == 0))
        return gp_fail("pad: %lld elements beside dim %d of size %lld are too many for %s",
                       (long long)most, d + 1, (long long)n, modes[mode]);
    if (mode != CONSTANT && (before < -n || after < -n))
        return gp_fail("pad: %lld and %lld leave nothing of dim %d of size %lld to repeat",
                       (long long)before, (long long)after, d + 1, (long long)n);
    return true;
}

/* The list becomes what is put before each dim; the mode its number; the value is there. */
bool infer_pad(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int n, mode = 0, nd = x->a.ndim;
    const int64_t *pad = gp_ints(c, 1, &n);
    const char *name = gp_given(c, 2) ? c->arg[2].s : modes[0];
    while (mode < MODES && strcmp(name, modes[mode])) mode++;
    if (mode == MODES)
        return gp_fail("pad: mode '%s' (expected constant, reflect, replicate or circular)", name);
    if (n % 2 || n / 2 > nd)
        return gp_fail("pad: %d numbers given for a %d-d tensor (expected two for each dim, the "
                       "last dim first, at most %d)",
                       n, nd, 2 * nd);
    if (mode != CONSTANT && gp_given(c, 3))
        return gp_fail("pad: mode %s takes no value", modes[mode]);
    int64_t before[GP_MAX_DIM] = {0};
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    for (int i = 0; i < n / 2; i++) {
        int d = nd - 1 - i;
        before[d] = pad[2 * i];
        if (!padded(x, d, mode, before[d], pad[2 * i + 1], &m->out[0].shape.dim[d])) return false;
    }
    while (c->nargs < 4) gp_call_none(c);
    if (!gp_given(c, 3)) c->arg[3] = (gp_value){.kind = GP_NUMBER};
    if (!gp_infer_number(c, 3, "value", (gp_dtype)x->a.dtype)) return false;
    memcpy(c->ints, before, sizeof before);
    c->nints = nd;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = nd};
    c->arg[2] = (gp_value){.kind = GP_INT, .i = mode};
    return true;
}

static int64_t wrapped(int64_t shift, int64_t n) {
    if (n == 0) return 0;
    shift %= n;
    return shift < 0 ? shift + n : shift;
}

/* The shifts become one for each dim; without dims the one of all elements in a row, which are the
 * temporary. */
bool infer_roll(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int n, k = 0, d;
    const int64_t *shift = gp_ints(c, 1, &n), *dims = NULL;
    int64_t by[GP_MAX_DIM] = {0};
    if (gp_given(c, 2)) dims = gp_ints(c, 2, &k);
    if (dims ? n != k : n != 1)
        return gp_fail("roll: %d shifts and %d dims given (expected as many, or one shift and no "
                       "dims)",
                       n, k);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    for (int i = 0; i < k; i++) {
        if (!gp_dim_wrap("roll", dims[i], x->a.ndim, &d)) return false;
        if (x->a.ndim) by[d] = wrapped(by[d] + wrapped(shift[i], x->a.dim[d]), x->a.dim[d]);
    }
    if (!dims) {
        by[0] = wrapped(shift[0], x->a.numel);
        if (!(c->tmp[0] = gp_contiguous(x))) return false;
        c->ntmp = 1;
    }
    memcpy(c->ints, by, sizeof by);
    c->nints = GP_MAX_DIM;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = GP_MAX_DIM};
    if (dims) c->arg[2] = (gp_value){.kind = GP_NONE};
    return true;
}
