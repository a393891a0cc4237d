/* Shape and dtype rules of elementwise ops, reductions and creation. */
#include "tensor/infer.h"

#include <float.h>

#include <math.h>
#include <stdio.h>

_Thread_local gp_device *gp_default_device;
_Thread_local gp_dtype gp_default_dtype = GP_f32;

gp_device *gp_infer_device(const gp_call *c) {
    gp_device *dev = NULL;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        int n = v->kind == GP_TENSOR ? 1 : v->kind == GP_LIST ? v->n : 0;
        for (int j = 0; j < n; j++) {
            gp_device *d = (v->kind == GP_TENSOR ? v->t : v->list[j])->storage->dev;
            if (!dev) dev = d;
            else if (dev != d)
                return gp_fail_null("%s: tensors are on different devices: %s and %s (argument %d)",
                                    c->op->name, dev->name, d->name, i + 1);
        }
    }
    return dev ? dev : gp_fail_null("%s: expected a tensor", c->op->name);
}

void gp_meta_like(gp_meta *m, int i, const gp_tensor *x, gp_dtype dt) {
    m->out[i].shape = gp_tensor_shape(x);
    m->out[i].dtype = dt;
    m->dev = x->storage->dev;
    m->n = i + 1;
}

bool gp_infer_dims(const gp_call *c, int i, int ndim, uint64_t *mask) {
    *mask = ndim ? ((uint64_t)1 << ndim) - 1 : 0;
    if (!gp_given(c, i)) return true;
    int n, dim;
    const int64_t *v = gp_ints(c, i, &n);
    if (n == 0) return true;
    uint64_t seen = 0;
    for (int k = 0; k < n; k++) {
        if (!gp_dim_wrap(c->op->name, v[k], ndim, &dim)) return false;
        if (seen >> dim & 1)
            return gp_fail("%s: dim %lld is given twice", c->op->name, (long long)v[k]);
        seen |= (uint64_t)1 << dim;
    }
    *mask = ndim ? seen : 0;
    return true;
}

gp_dtype gp_arg_dtype(const gp_call *c, int i, gp_dtype fallback) {
    return gp_given(c, i) ? (gp_dtype)c->arg[i].i : fallback;
}

gp_device *gp_arg_device(const gp_call *c, int i) {
    if (gp_given(c, i)) return c->arg[i].dev;
    return gp_default_device ? gp_default_device : gp_device_cpu();
}

bool gp_arg_shape(const gp_call *c, int i, gp_shape *s) {
    int n;
    const int64_t *v = gp_ints(c, i, &n);
    if (n > GP_MAX_DIM)
        return gp_fail("%s: %d dims are more than the %d a tensor may have", c->op->name, n,
                       GP_MAX_DIM);
    s->ndim = n;
    for (int k = 0; k < n; k++) {
        if (v[k] < 0)
            return gp_fail("%s: dim %d has negative size %lld", c->op->name, k + 1,
                           (long long)v[k]);
        s->dim[k] = v[k];
    }
    return true;
}

gp_dtype gp_value_dtype(const gp_value *v) {
    return v->is_float ? gp_default_dtype : v->is_bool ? GP_bool : GP_i64;
}

/* A number or 0-d operand changes the result's dtype only if it is of a higher kind. */
static gp_dtype raise_kind(bool have, gp_dtype dt, bool other_have, gp_dtype other) {
    if (!other_have) return dt;
    if (!have) return other;
    return gp_dtype_kind(other) > gp_dtype_kind(dt) ? other : dt;
}

gp_dtype gp_infer_promote(const gp_call *c, int first, int n) {
    bool have[3] = {false, false, false}; /* dimensioned, 0-d, number */
    gp_dtype dt[3] = {GP_bool, GP_bool, GP_bool};
    for (int i = first; i < first + n; i++) {
        const gp_value *v = &c->arg[i];
        int level = v->kind == GP_TENSOR ? v->t->a.ndim == 0 : 2;
        gp_dtype d = v->kind == GP_TENSOR ? (gp_dtype)v->t->a.dtype : gp_value_dtype(v);
        dt[level] = have[level] ? gp_dtype_promote(dt[level], d) : d;
        have[level] = true;
    }
    gp_dtype zero = raise_kind(have[1], dt[1], have[2], dt[2]);
    return raise_kind(have[0], dt[0], have[1] || have[2], zero);
}

bool gp_infer_check(const gp_call *c, const char *arg, gp_dtype dt, uint32_t set) {
    if (set >> dt & 1) return true;
    char list[80];
    size_t at = 0;
    for (int i = GP_DTYPES - 1; i >= 0; i--)
        if (set >> i & 1)
            at += (size_t)snprintf(list + at, sizeof list - at, " %s", gp_dtype_name((gp_dtype)i));
    return gp_fail("%s: dtype %s of argument '%s' is not supported (expected%s)", c->op->name,
                   gp_dtype_name(dt), arg, list);
}

bool gp_infer_number(const gp_call *c, int i, const char *arg, gp_dtype dt) {
    const gp_value *v = &c->arg[i];
    if (gp_is_float(dt) || dt == GP_bool) return true;
    bool whole = !v->is_float || (v->f > -0x1p63 && v->f < 0x1p63) || v->f == -0x1p63;
    int64_t n = v->is_float ? (whole ? (int64_t)v->f : 0) : v->i;
    char stored[8];
    gp_scalar_store(dt, stored, (gp_scalar){.i = n});
    if (whole && gp_scalar_load(dt, stored).i == n) return true;
    if (v->is_float)
        return gp_fail("%s: argument '%s' is %g, which %s cannot hold", c->op->name, arg, v->f,
                       gp_dtype_name(dt));
    return gp_fail("%s: argument '%s' is %lld, which %s cannot hold", c->op->name, arg,
                   (long long)v->i, gp_dtype_name(dt));
}

/* Checks the promoted dtype against the row; sets c->compute and the result's dtype. */
static bool settle_dtype(gp_call *c, gp_dtype dt, gp_dtype *out) {
    uint32_t types = c->op->types;
    if ((types & GP_T_TOFLOAT) && !gp_is_float(dt)) dt = gp_default_dtype;
    if (!gp_infer_check(c, c->op->kind == GP_UNARY || c->op->kind == GP_REDUCE ? "x" : "a", dt,
                        types))
        return false;
    if ((types & GP_T_WIDEN) && !gp_is_float(dt)) dt = GP_i64;
    c->compute = (uint8_t)dt;
    *out = types & GP_T_BOOL ? GP_bool : dt;
    return true;
}

bool infer_unary(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype out, dt = (gp_dtype)x->a.dtype;
    if (c->op == GP_OP(square) && dt == GP_bool) dt = GP_i64; /* as pow(x, 2) */
    if (c->op == GP_OP(softsign) && !gp_infer_check(c, "x", dt, GP_SET_FLOAT | GP_SET_INT))
        return false; /* a bool has no absolute value, though it has a quotient */
    if (!settle_dtype(c, dt, &out)) return false;
    gp_meta_like(m, 0, x, out);
    return true;
}

/* The numbers that nan_to_num puts for infinities are by default the dtype's own ends. */
static void fill_ends(gp_call *c) {
    static const double largest[GP_DTYPES] = {
        [GP_f16] = 65504, [GP_bf16] = 0x1.fep127, [GP_f32] = FLT_MAX, [GP_f64] = DBL_MAX};
    for (int i = 2; i < 4; i++) {
        double end = i == 2 ? largest[c->compute] : -largest[c->compute];
        if (!gp_given(c, i)) c->arg[i] = (gp_value){.kind = GP_FLOAT, .f = end};
    }
    c->nargs = 4;
}

/* A NaN in either limit makes every element NaN: the formula looks at the lower one. */
static bool settle_limits(gp_call *c, gp_dtype *dt) {
    bool low = gp_given(c, 1), high = gp_given(c, 2);
    if (!low && !high)
        return gp_fail("clamp: arguments 'min' and 'max': expected at least one, got nothing");
    if (*dt == GP_bool && !(low && c->arg[1].is_bool) && !(high && c->arg[2].is_bool)) *dt = GP_i64;
    if (high && c->arg[2].is_float && isnan(c->arg[2].f)) c->arg[1] = c->arg[2];
    return true;
}

/* A limit that an integer dtype cannot hold limits nothing (0 … 300 of u8), or every element would
 * become it. */
static bool limits_held(gp_call *c, gp_dtype dt) {
    const gp_value *low = &c->arg[1], *high = &c->arg[2];
    if (gp_is_float(dt)) return true;
    bool top = gp_given(c, 2), least = gp_given(c, 1) && low->i > 0 && (!top || high->i >= low->i);
    if (top && high->i < 0 && !gp_infer_number(c, 2, "max", dt)) return false;
    return !least || gp_infer_number(c, 1, "min", dt);
}

/* Limits in order; below 0 there is no u8: such a limit would wrap. */
static bool limits_fit(const gp_call *c) {
    double low = c->arg[1].is_float ? c->arg[1].f : (double)c->arg[1].i,
           high = c->arg[2].is_float ? c->arg[2].f : (double)c->arg[2].i;
    if (low > high)
        return gp_fail("hardtanh: argument 'min' is %g and 'max' %g (expected min <= max)", low,
                       high);
    if (c->arg[0].t->a.dtype != GP_u8) return true;
    for (int i = 1; i < 3; i++) {
        double limit = c->arg[i].is_float ? c->arg[i].f : (double)c->arg[i].i;
        if (limit < 0)
            return gp_fail(
                "hardtanh: argument '%s' is %g (expected a number from 0 for a u8 tensor)",
                i == 1 ? "min" : "max", limit);
    }
    return true;
}

bool infer_param(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype out, dt = (gp_dtype)x->a.dtype;
    if (c->op == GP_OP(clamp) && !settle_limits(c, &dt)) return false;
    if (c->op == GP_OP(hardtanh) && !limits_fit(c)) return false;
    if (c->op == GP_OP(softshrink) && !(c->arg[1].f >= 0))
        return gp_fail("softshrink: argument 'lambd': expected a number from 0, got %g",
                       c->arg[1].f);
    if (c->op == GP_OP(celu) && c->arg[1].f == 0)
        return gp_fail("celu: argument 'alpha' is 0 (the function divides by it)");
    if (c->op == GP_OP(polygamma) && c->arg[1].i < 0)
        return gp_fail("polygamma: argument 'n': expected a whole number from 0, got %lld",
                       (long long)c->arg[1].i);
    for (int i = 1; i < c->nargs;
         i++) /* a float parameter turns integers into floats, as a float operand does */
        if (c->arg[i].kind == GP_NUMBER && c->arg[i].is_float && !gp_is_float(dt))
            dt = gp_default_dtype;
    if (!settle_dtype(c, dt, &out)) return false;
    if (c->op == GP_OP(clamp) && !limits_held(c, dt)) return false;
    if (c->op == GP_OP(nan_to_num)) fill_ends(c);
    gp_meta_like(m, 0, x, out);
    return true;
}

void gp_infer_zero_dim(gp_call *c, int first, int n) {
    gp_device *cpu = gp_device_cpu();
    bool elsewhere = false;
    for (int i = 0; i < c->nargs; i++)
        elsewhere |= c->arg[i].kind == GP_TENSOR && c->arg[i].t->storage->dev != cpu;
    for (int i = first; elsewhere && i < first + n; i++) {
        gp_value *v = &c->arg[i];
        if (v->kind != GP_TENSOR || v->t->storage->dev != cpu || v->t->a.ndim) continue;
        gp_scalar s = gp_scalar_load((gp_dtype)v->t->a.dtype, v->t->a.data);
        *v = (gp_value){.kind = GP_NUMBER, .is_float = s.is_float};
        if (s.is_float) v->f = s.f;
        else v->i = s.i;
    }
}

/* The most frequent case, which needs neither promotion nor broadcasting: n tensors of one
 * dtype, shape and device. */
static bool same_layout(const gp_call *c, int n) {
    const gp_tensor *x = c->arg[0].kind == GP_TENSOR ? c->arg[0].t : NULL;
    if (!x) return false;
    for (int i = 1; i < n; i++) {
        if (c->arg[i].kind != GP_TENSOR) return false;
        const gp_tensor *y = c->arg[i].t;
        if (y->a.ndim != x->a.ndim || y->a.dtype != x->a.dtype ||
            y->storage->dev != x->storage->dev)
            return false;
        for (int d = 0; d < x->a.ndim; d++)
            if (x->a.dim[d] != y->a.dim[d]) return false;
    }
    return true;
}

/* The first n arguments, tensors or numbers: their dtype by promotion, their shape by
 * broadcasting. */
static bool infer_operands(gp_call *c, gp_meta *m, int n) {
    gp_dtype out;
    if (same_layout(c, n)) {
        if (!settle_dtype(c, (gp_dtype)c->arg[0].t->a.dtype, &out)) return false;
        gp_meta_like(m, 0, c->arg[0].t, out);
        return true;
    }
    gp_dtype dt = gp_infer_promote(c, 0, n);
    gp_infer_zero_dim(c, 0, n);
    if (!(m->dev = gp_infer_device(c)) || !settle_dtype(c, dt, &out)) return false;
    gp_shape *s = &m->out[0].shape;
    s->ndim = 0;
    for (int i = 0; i < n; i++) {
        if (c->arg[i].kind != GP_TENSOR) continue;
        gp_shape si = gp_tensor_shape(c->arg[i].t);
        if (!gp_shape_broadcast(c->op->name, s, &si)) return false;
    }
    m->n = 1;
    m->out[0].dtype = out;
    return true;
}

/* Integers of at most 32 bits are computed in 32: a number beyond them would lose its upper
 * half. */
static bool numbers_fit(const gp_call *c, int n) {
    gp_dtype dt = (gp_dtype)c->compute;
    if (gp_is_float(dt) || dt == GP_i64) return true;
    for (int i = 0; i < n; i++)
        if (c->arg[i].kind == GP_NUMBER && !c->arg[i].is_float &&
            (c->arg[i].i > UINT32_MAX || c->arg[i].i < INT32_MIN))
            return gp_fail(
                "%s: the number %lld does not fit in %s; convert the tensor to i64 first",
                c->op->name, (long long)c->arg[i].i, gp_dtype_name(dt));
    return true;
}

/* What a difference of truths should be is anybody's guess: PyTorch's rule. */
static bool no_truths(const gp_call *c) {
    for (int i = 0; i < 2; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR ? v->t->a.dtype == GP_bool : v->is_bool)
            return gp_fail("%s: dtype bool of argument '%s' is not supported (use logical_not, "
                           "logical_xor or another dtype)",
                           c->op->name, i ? "b" : "a");
    }
    return true;
}

/* What no integer can be divided by or raised to is told before anything is written. */
static bool number_defined(const gp_call *c) {
    const gp_value *b = &c->arg[1];
    if (b->kind != GP_NUMBER || b->is_float || gp_is_float((gp_dtype)c->compute)) return true;
    if (c->op == GP_OP(pow) && b->i < 0)
        return gp_fail(
            "pow: an integer raised to a negative integer, %lld; convert to a float dtype first",
            (long long)b->i);
    bool divides = c->op == GP_OP(floor_divide) || c->op == GP_OP(remainder) ||
                   c->op == GP_OP(trunc_divide) || c->op == GP_OP(fmod);
    bool empty = c->arg[0].kind == GP_TENSOR && c->arg[0].t->a.numel == 0;
    return !divides || b->i || empty || gp_fail("%s: integer division by zero", c->op->name);
}

bool infer_binary(gp_call *c, gp_meta *m) {
    if (c->op == GP_OP(sub) && !no_truths(c)) return false;
    return infer_operands(c, m, 2) && numbers_fit(c, 2) && number_defined(c);
}

bool infer_ternary(gp_call *c, gp_meta *m) { return infer_operands(c, m, 3) && numbers_fit(c, 3); }

/* The parameter takes the operands' dtype, so it must be one of its numbers. */
bool infer_param3(gp_call *c, gp_meta *m) {
    if (!infer_operands(c, m, 3) || !numbers_fit(c, 3)) return false;
    const gp_value *v = &c->arg[3];
    if (!gp_given(c, 3) || !v->is_float || gp_is_float((gp_dtype)c->compute)) return true;
    return gp_fail("%s: argument 'value' is %g (expected an integer beside %s operands)",
                   c->op->name, v->f, gp_dtype_name((gp_dtype)c->compute));
}

/* Integers are compared as what they are, in i64 where one may be beyond the tensor's dtype; beside
   a 16-bit float a number is rounded as that tensor's values were. */
bool infer_compare(gp_call *c, gp_meta *m) {
    if (!infer_operands(c, m, 2)) return false;
    gp_dtype dt = (gp_dtype)c->compute;
    for (int i = 0; i < 2; i++) {
        gp_value *v = &c->arg[i];
        bool number = v->kind == GP_NUMBER;
        if (gp_dtype_kind(dt) == GP_KIND_INT && (number || v->t->a.dtype == GP_i64))
            c->compute = GP_i64;
        if (!number || !gp_is_float(dt) || gp_dtype_size(dt) != 2) continue;
        uint16_t half;
        gp_scalar_store(dt, &half, gp_value_scalar(v));
        v->f = gp_scalar_load(dt, &half).f;
        v->is_float = true;
    }
    return true;
}

/* A derivative's operands: of g's dtype (or converted to it), broadcast together. */
bool infer_grad(gp_call *c, gp_meta *m) {
    m->n = 1;
    m->out[0].shape = gp_tensor_shape(c->arg[0].t);
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    c->compute = (uint8_t)m->out[0].dtype;
    for (int i = 1; i < c->op->ntensors; i++) {
        if (c->arg[i].kind != GP_TENSOR || c->arg[i].t == c->arg[0].t) continue;
        gp_shape s = gp_tensor_shape(c->arg[i].t);
        if (!gp_shape_broadcast(c->op->name, &m->out[0].shape, &s)) return false;
    }
    return (m->dev = gp_infer_device(c)) != NULL;
}

/* Arguments: x, dims (a mask from here on), keepdim, dtype. */
bool infer_reduce(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    gp_dtype out;
    if (!gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    if (!settle_dtype(c, gp_arg_dtype(c, 3, (gp_dtype)x->a.dtype), &out)) return false;
    if (gp_given(c, 3) && c->arg[3].i == GP_bool && x->a.dtype != GP_bool) {
        /* of truths: a half is true, its integer would not be */
        if (!(c->tmp[0] = gp_cast(x, GP_bool))) return false;
        c->ntmp = 1;
        c->arg[0].t = x = c->tmp[0];
    }
    if (gp_given(c, 3) && (c->op->types & GP_T_WIDEN))
        c->compute = (uint8_t)(out = (gp_dtype)c->arg[3].i); /* what is asked for is not widened */
    bool keep = gp_given(c, 2) && c->arg[2].i;
    gp_meta_like(m, 0, x, out);
    gp_shape *s = &m->out[0].shape;
    s->ndim = 0;
    bool nothing = false;
    for (int d = 0; d < x->a.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (reduced && x->a.dim[d] == 0) nothing = true;
        if (!reduced) s->dim[s->ndim++] = x->a.dim[d];
        else if (keep) s->dim[s->ndim++] = 1;
    }
    if (nothing && (c->op == GP_OP(amax) || c->op == GP_OP(amin)))
        return gp_fail("%s: no elements to compare: a reduced dim has size 0", c->op->name);
    c->arg[1] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    if (c->nargs < 2) c->nargs = 2;
    return true;
}

bool infer_fill(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[1];
    c->arg[0].unread = true;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    if (v->is_float && v->f != floor(v->f) && gp_dtype_kind(m->out[0].dtype) == GP_KIND_INT)
        return gp_fail("fill: argument 'value' is %g, which %s cannot hold", v->f,
                       gp_dtype_name(m->out[0].dtype));
    return gp_infer_number(c, 1, "value", m->out[0].dtype);
}

static double number_f(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }

bool infer_range(gp_call *c, gp_meta *m) {
    bool all_int = !c->arg[0].is_float && !c->arg[1].is_float && !c->arg[2].is_float;
    double first = number_f(&c->arg[0]), last = number_f(&c->arg[1]), step = number_f(&c->arg[2]);
    if (step == 0) return gp_fail("range: step is 0");
    /* A float end that rounding has put just short of last still counts: half a thousandth of a
     * step. */
    double n = all_int ? 0 : floor((last - first) / step + 5e-4) + 1;
    int64_t count = (int64_t)(n > 0 && n < 0x1p62 ? n : 0);
    if (all_int) {
        int64_t a = c->arg[0].i, b = c->arg[1].i, s = c->arg[2].i;
        uint64_t way = s > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b,
                 by = s > 0 ? (uint64_t)s : 0 - (uint64_t)s;
        bool none = s > 0 ? b < a : a < b;
        if (!none && way / by >= (uint64_t)1 << 62)
            return gp_fail("range: %lld to %lld has more than 2^62 elements", (long long)a,
                           (long long)b);
        count = none ? 0 : (int64_t)(way / by) + 1;
    } else if (!(n < 0x1p62)) {
        return gp_fail("range: %g to %g by %g has no finite number of elements", first, last, step);
    }
    m->n = 1;
    m->dev = gp_arg_device(c, 4);
    m->out[0].dtype = gp_arg_dtype(c, 3, all_int ? GP_i64 : gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {count}};
    return true;
}

/* Arguments: first, last, steps; dtype and device stand at `at`. */
static bool spaced(gp_call *c, gp_meta *m, int at) {
    int64_t steps = c->arg[2].i;
    if (steps < 0)
        return gp_fail("%s: argument 'steps' is %lld (expected >= 0)", c->op->name,
                       (long long)steps);
    m->n = 1;
    m->dev = gp_arg_device(c, at + 1);
    m->out[0].dtype = gp_arg_dtype(c, at, gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {steps}};
    return gp_infer_check(c, "dtype", m->out[0].dtype, GP_SET_FLOAT | GP_SET_INT);
}
bool infer_linspace(gp_call *c, gp_meta *m) {
    return spaced(c, m, 3) && gp_infer_number(c, 0, "first", m->out[0].dtype) &&
           gp_infer_number(c, 1, "last", m->out[0].dtype);
}
bool infer_logspace(gp_call *c, gp_meta *m) { return spaced(c, m, 4); }

bool infer_full(gp_call *c, gp_meta *m) {
    gp_dtype fallback = gp_value_dtype(&c->arg[1]);
    m->n = 1;
    m->dev = gp_arg_device(c, 3);
    m->out[0].dtype = gp_arg_dtype(c, 2, fallback);
    return gp_infer_number(c, 1, "value", m->out[0].dtype) && gp_arg_shape(c, 0, &m->out[0].shape);
}

bool infer_empty(gp_call *c, gp_meta *m) {
    m->n = 1;
    m->dev = gp_arg_device(c, 2);
    m->out[0].dtype = gp_arg_dtype(c, 1, gp_default_dtype);
    return gp_arg_shape(c, 0, &m->out[0].shape);
}

bool infer_zeros(gp_call *c, gp_meta *m) { return infer_empty(c, m); }
bool infer_ones(gp_call *c, gp_meta *m) { return infer_empty(c, m); }

bool infer_eye(gp_call *c, gp_meta *m) {
    int64_t rows = c->arg[0].i, cols = gp_given(c, 1) ? c->arg[1].i : rows;
    if (rows < 0 || cols < 0)
        return gp_fail("eye: negative size %lld x %lld", (long long)rows, (long long)cols);
    m->n = 1;
    m->dev = gp_arg_device(c, 3);
    m->out[0].dtype = gp_arg_dtype(c, 2, gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {rows, cols}};
    return true;
}

bool infer_copy(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 1, (gp_dtype)x->a.dtype));
    return true;
}
