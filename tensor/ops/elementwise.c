/* Elementwise ops: dtypes and shapes of every row of formulas, and what single rows check besides;
 * where and masked_fill with their gradients. Gradients of rows are formulas:
 * autograd/grad_formula.c. */
#include <float.h>
#include <math.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"
#include "tensor/ops/elementwise.h"

static bool checked(gp_call *c, gp_dtype *dt) { return !c->op->check || c->op->check(c, dt); }
static bool settled(gp_call *c, gp_dtype dt) { return !c->op->settle || c->op->settle(c, dt); }

bool infer_unary(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype out, dt = (gp_dtype)x->a.dtype;
    if (!checked(c, &dt) || !gp_infer_compute(c, dt, &out) || !settled(c, dt)) return false;
    gp_meta_like(m, 0, x, out);
    return true;
}

/* Of a formula that does not hold for 16-bit floats, which are computed in f32. */
bool gp_settle_accepts(gp_call *c, gp_dtype dt) {
    return gp_infer_check(c, "a", dt, c->op->accepts);
}

/* As pow(x, 2). */
bool gp_check_square(gp_call *c, gp_dtype *dt) {
    if (*dt == GP_bool) *dt = GP_i64;
    return true;
}

/* A bool has no absolute value, though it has a quotient. */
bool gp_check_softsign(gp_call *c, gp_dtype *dt) {
    return gp_infer_check(c, "x", *dt, GP_SET_FLOAT | GP_SET_INT);
}

/* By default nan_to_num replaces infinities by the dtype's largest and smallest numbers. */
bool gp_settle_nan_to_num(gp_call *c, gp_dtype dt) {
    static const double largest[GP_DTYPES] = {
        [GP_f16] = 65504, [GP_bf16] = 0x1.fep127, [GP_f32] = FLT_MAX, [GP_f64] = DBL_MAX};
    for (int i = 2; i < 4; i++) {
        double end = i == 2 ? largest[c->compute] : -largest[c->compute];
        if (!gp_given(c, i)) c->arg[i] = (gp_value){.kind = GP_FLOAT, .f = end};
    }
    c->nargs = 4;
    return true;
}

/* A NaN in either limit makes every element NaN: the formula checks only the lower one. */
bool gp_check_clamp(gp_call *c, gp_dtype *dt) {
    bool low = gp_given(c, 1), high = gp_given(c, 2);
    if (!low && !high)
        return gp_fail("clamp: arguments 'min' and 'max': expected at least one, got nothing");
    if (*dt == GP_bool && !(low && c->arg[1].is_bool) && !(high && c->arg[2].is_bool)) *dt = GP_i64;
    if (high && c->arg[2].is_float && isnan(c->arg[2].f)) c->arg[1] = c->arg[2];
    return true;
}

/* A limit that an integer dtype cannot hold does not limit (0 … 300 of u8); converted, every
 * element would become it. */
bool gp_settle_clamp(gp_call *c, gp_dtype dt) {
    const gp_value *low = &c->arg[1], *high = &c->arg[2];
    if (gp_is_float(dt)) return true;
    bool top = gp_given(c, 2), least = gp_given(c, 1) && low->i > 0 && (!top || high->i >= low->i);
    if (top && high->i < 0 && !gp_infer_number(c, 2, "max", dt)) return false;
    return !least || gp_infer_number(c, 1, "min", dt);
}

/* Checks that limits are in order, and not below 0 for u8, where they would wrap. */
bool gp_check_hardtanh(gp_call *c, gp_dtype *dt) {
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

bool gp_check_softshrink(gp_call *c, gp_dtype *dt) {
    return c->arg[1].f >= 0 ||
           gp_fail("softshrink: argument 'lambd': expected a number from 0, got %g", c->arg[1].f);
}

bool gp_check_celu(gp_call *c, gp_dtype *dt) {
    return c->arg[1].f != 0 || gp_fail("celu: argument 'alpha' is 0 (the function divides by it)");
}

bool gp_check_polygamma(gp_call *c, gp_dtype *dt) {
    return c->arg[1].i >= 0 ||
           gp_fail("polygamma: argument 'n': expected an integer from 0, got %lld",
                   (long long)c->arg[1].i);
}

bool infer_param(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype out, dt = (gp_dtype)x->a.dtype;
    if (!checked(c, &dt)) return false;
    for (int i = 1; i < c->nargs;
         i++) /* a float parameter turns integers into floats, as a float operand does */
        if (c->arg[i].kind == GP_NUMBER && c->arg[i].is_float && !gp_is_float(dt))
            dt = gp_default_dtype;
    if (!gp_infer_compute(c, dt, &out) || !settled(c, dt)) return false;
    gp_meta_like(m, 0, x, out);
    return true;
}

/* The most frequent case, without promotion or broadcasting: n tensors of one dtype, shape and
 * device. */
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

/* The first n arguments, tensors or numbers: promotes their dtypes, broadcasts their shapes. */
static bool infer_operands(gp_call *c, gp_meta *m, int n) {
    gp_dtype out;
    if (same_layout(c, n)) {
        if (!gp_infer_compute(c, (gp_dtype)c->arg[0].t->a.dtype, &out)) return false;
        gp_meta_like(m, 0, c->arg[0].t, out);
        return true;
    }
    gp_dtype dt = gp_infer_promote(c, 0, n);
    if (!gp_infer_zero_dim(c, 0, n) || !(m->dev = gp_infer_device(c)) ||
        !gp_infer_compute(c, dt, &out))
        return false;
    if (!gp_infer_broadcast(c, 0, n, &m->out[0].shape)) return false;
    m->n = 1;
    m->out[0].dtype = out;
    return true;
}

/* Integers of at most 32 bits are computed in 32 bits: a larger number would lose its upper
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

/* PyTorch's rule: there is no difference of bools. */
bool gp_check_sub(gp_call *c, gp_dtype *dt) {
    for (int i = 0; i < 2; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR ? v->t->a.dtype == GP_bool : v->is_bool)
            return gp_fail("%s: dtype bool of argument '%s' is not supported (use logical_not, "
                           "logical_xor or another dtype)",
                           c->op->name, i ? "b" : "a");
    }
    return true;
}

/* Whether the second operand is a number, of integers: undefined results are refused before
 * anything is written. */
static bool whole_number(const gp_call *c, gp_dtype dt) {
    return c->arg[1].kind == GP_NUMBER && !c->arg[1].is_float && !gp_is_float(dt);
}

bool gp_settle_exponent(gp_call *c, gp_dtype dt) {
    int64_t by = c->arg[1].i;
    return !whole_number(c, dt) || by >= 0 ||
           gp_fail("pow: an integer raised to a negative integer, %lld; convert to a float dtype "
                   "first",
                   (long long)by);
}

bool gp_settle_divisor(gp_call *c, gp_dtype dt) {
    bool empty = c->arg[0].kind == GP_TENSOR && c->arg[0].t->a.numel == 0;
    return !whole_number(c, dt) || c->arg[1].i || empty ||
           gp_fail("%s: integer division by zero", c->op->name);
}

bool infer_binary(gp_call *c, gp_meta *m) {
    gp_dtype dt;
    return checked(c, &dt) && infer_operands(c, m, 2) && numbers_fit(c, 2) &&
           settled(c, (gp_dtype)c->compute);
}

bool infer_ternary(gp_call *c, gp_meta *m) { return infer_operands(c, m, 3) && numbers_fit(c, 3); }

/* The parameter takes the operands' dtype, so it must be representable in that. */
bool infer_param3(gp_call *c, gp_meta *m) {
    if (!infer_operands(c, m, 3) || !numbers_fit(c, 3)) return false;
    const gp_value *v = &c->arg[3];
    if (!gp_given(c, 3) || !v->is_float || gp_is_float((gp_dtype)c->compute)) return true;
    return gp_fail("%s: argument 'value' is %g (expected an integer with %s operands)", c->op->name,
                   v->f, gp_dtype_name((gp_dtype)c->compute));
}

/* Integers are compared exactly, in i64 where one may exceed 32 bits; a number compared with a
 * 16-bit float is rounded as that tensor's values were. */
bool infer_compare(gp_call *c, gp_meta *m) {
    if (!infer_operands(c, m, 2)) return false;
    gp_dtype dt = (gp_dtype)c->compute;
    for (int i = 0; i < 2; i++) {
        gp_value *v = &c->arg[i];
        bool number = v->kind == GP_NUMBER;
        bool wide = number ? v->i != (int32_t)v->i : v->t->a.dtype == GP_i64;
        if (gp_dtype_kind(dt) == GP_KIND_INT && wide) c->compute = GP_i64;
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

/* ---- where, masked_fill ---- */

bool infer_where(gp_call *c, gp_meta *m) {
    if (!gp_infer_mask(c, 0, "cond")) return false;
    m->out[0].dtype = gp_infer_promote(c, 1, 2);
    if (!gp_infer_zero_dim(c, 1, 2)) return false;
    for (int k = 1; k <= 2; k++)
        if (c->arg[k].kind == GP_NUMBER &&
            !gp_infer_number(c, k, k == 1 ? "a" : "b", m->out[0].dtype))
            return false;
    m->n = 1;
    return (m->dev = gp_infer_device(c)) && gp_infer_broadcast(c, 0, 3, &m->out[0].shape);
}

bool infer_masked_fill(gp_call *c, gp_meta *m) {
    gp_dtype dt = (gp_dtype)c->arg[0].t->a.dtype;
    const gp_value *v = &c->arg[2];
    if (!gp_infer_mask(c, 1, "mask")) return false;
    if (v->kind == GP_TENSOR && v->t->a.ndim)
        return gp_fail("masked_fill: expected a number or a 0-d tensor as value, got a %d-d tensor",
                       v->t->a.ndim);
    gp_dtype vt = v->kind == GP_TENSOR ? (gp_dtype)v->t->a.dtype : v->is_float ? GP_f32 : GP_i64;
    if (gp_dtype_kind(vt) > gp_dtype_kind(dt) && !(v->kind == GP_NUMBER && !v->is_float))
        return gp_fail("masked_fill: a %s value does not fit in a %s tensor",
                       v->kind == GP_NUMBER ? "float" : gp_dtype_name(vt), gp_dtype_name(dt));
    if (!gp_infer_zero_dim(c, 2, 1)) return false;
    if (c->arg[2].kind == GP_NUMBER && !gp_infer_number(c, 2, "value", dt)) return false;
    m->n = 1;
    m->out[0].dtype = dt;
    return (m->dev = gp_infer_device(c)) && gp_infer_broadcast(c, 0, 2, &m->out[0].shape);
}

static bool where(gp_vjp *v) {
    /* Inputs: cond, then those of a and b that are tensors. */
    int in = 1;
    for (int k = 1; k <= 2; k++) {
        if (v->arg[k].kind != GP_TENSOR) continue;
        if (v->need[in])
            v->dx[in] = k == 1 ? DO(where, "ttn", v->x[0], v->g[0], 0.0)
                               : DO(where, "tnt", v->x[0], 0.0, v->g[0]);
        in++;
    }
    return !v->failed;
}
const gp_rule vjp_where = {where, "0"};

static bool masked_fill(gp_vjp *v) {
    gp_tensor *mask = v->x[1];
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (v->arg[2].kind == GP_TENSOR && v->need[2]) v->dx[2] = DO(where, "ttn", mask, v->g[0], 0.0);
    return !v->failed;
}
const gp_rule vjp_masked_fill = {masked_fill, "1"};
