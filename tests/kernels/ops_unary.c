/* Every UNARY and PARAM row of the op table on cpu and sim: dtypes, layouts, values against libm in
 * long double, in place, errors. */
#include "unary_references.h"

/* ---- parameters of PARAM rows ---- */

static void p_float(gp_call *c, double f) {
    c->arg[c->nargs++] = (gp_value){.kind = GP_FLOAT, .f = f};
}
static void p_leaky(gp_call *c) { p_float(c, 0.01); }
static void p_leaky_half(gp_call *c) { p_float(c, 0.5); }
static void p_one(gp_call *c) { p_float(c, 1); }
static void p_two(gp_call *c) { p_float(c, 2); }
static void p_none(gp_call *c) { gp_call_none(c); }
static void p_eighth(gp_call *c) { p_float(c, 0.125); }
static void p_softplus(gp_call *c) { p_float(c, 1), p_float(c, 20); }
static void p_softplus_two(gp_call *c) { p_float(c, 2), p_float(c, 3); }
static void p_nan(gp_call *c) { p_float(c, 0), gp_call_none(c), gp_call_none(c); }
static void p_nan_given(gp_call *c) { p_float(c, 0.5), p_float(c, 3), p_float(c, -7); }
static void p_int(gp_call *c, int64_t i) { gp_call_number(c, (gp_scalar){.i = i}); }
static void p_first(gp_call *c) { gp_call_int(c, 1); }
static void p_second(gp_call *c) { gp_call_int(c, 2); }
static void p_hardtanh(gp_call *c) { p_int(c, -1), p_int(c, 1); }
static void p_hardtanh_above(gp_call *c) { p_int(c, 2), p_int(c, 5); }
static void p_threshold(gp_call *c) { p_int(c, 1), p_int(c, 7); }
static void p_clamp(gp_call *c) { p_int(c, -1), p_int(c, 2); }
static void p_clamp_low(gp_call *c) { p_int(c, 1), gp_call_none(c); }
static void p_clamp_high(gp_call *c) { gp_call_none(c), p_int(c, 1); }
static void p_clamp_crossed(gp_call *c) { p_int(c, 4), p_int(c, 3); }
static void p_nan_number(gp_call *c) { gp_call_number(c, (gp_scalar){.is_float = true, .f = NAN}); }
static void p_clamp_nan(gp_call *c) { p_nan_number(c), p_int(c, 1); }
static void p_clamp_nan_high(gp_call *c) { p_int(c, 1), p_nan_number(c); }

/* ---- the table ---- */

typedef struct entry {
    const char *name;
    unsigned types; /* dtypes taken */
    bool tofloat;   /* integers and bool give f32 */
    ld (*f)(ld);
    int64_t (*i)(int64_t);
    double ulps;
    bool anyzero; /* the sign of a zero result is not checked */
    void (*params)(gp_call *);
    bool tobool;   /* the result is bool */
    ld scale;      /* a result's error is judged at this magnitude at least */
    bool widen;    /* bool gives i64, as with an integer */
    unsigned only; /* only these dtypes are checked, if not 0 */
} entry;

/* Fields left out are 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const entry table[] = {
    {"neg", T_REAL, false, f_neg, i_neg, 0, false, NULL},
    {"abs", T_REAL, false, fabsl, i_abs, 0, false, NULL},
    {"sign", T_ALL, false, f_sign, i_sign, 0, true, NULL},
    {"square", T_ALL, false, f_square, i_square, 0, false, NULL, .widen = true},
    {"relu", T_REAL, false, f_relu, i_relu, 0, true, NULL},
    {"exp", T_ALL, true, expl, NULL, 1, false, NULL},
    {"exp2", T_ALL, true, exp2l, NULL, 4, false, NULL},
    {"expm1", T_ALL, true, expm1l, NULL, 4, false, NULL},
    {"log", T_ALL, true, logl, NULL, 4, false, NULL},
    {"log2", T_ALL, true, log2l, NULL, 4, false, NULL},
    {"log10", T_ALL, true, log10l, NULL, 4, false, NULL},
    {"log1p", T_ALL, true, log1pl, NULL, 4, false, NULL},
    {"sqrt", T_ALL, true, sqrtl, NULL, 0, false, NULL},
    {"rsqrt", T_ALL, true, f_rsqrt, NULL, 2, false, NULL},
    {"reciprocal", T_ALL, true, f_reciprocal, NULL, 0, false, NULL},
    {"sin", T_ALL, true, sinl, NULL, 4, false, NULL},
    {"cos", T_ALL, true, cosl, NULL, 4, false, NULL},
    {"sinc", T_ALL, true, f_sinc, NULL, 4, true, NULL, .scale = 1},
    {"tan", T_ALL, true, tanl, NULL, 4, false, NULL},
    {"tanh", T_ALL, true, tanhl, NULL, 4, false, NULL},
    {"atan", T_ALL, true, atanl, NULL, 4, false, NULL},
    {"asin", T_ALL, true, asinl, NULL, 4, false, NULL},
    {"acos", T_ALL, true, acosl, NULL, 4, false, NULL},
    {"sinh", T_ALL, true, sinhl, NULL, 4, false, NULL},
    {"cosh", T_ALL, true, coshl, NULL, 4, false, NULL},
    {"asinh", T_ALL, true, asinhl, NULL, 4, false, NULL},
    {"acosh", T_ALL, true, acoshl, NULL, 4, false, NULL},
    {"atanh", T_ALL, true, atanhl, NULL, 4, false, NULL},
    {"erf", T_ALL, true, erfl, NULL, 4, false, NULL},
    {"erfc", T_ALL, true, erfcl, NULL, 4, false, NULL},
    {"erfinv", T_ALL, true, f_erfinv, NULL, 6, false, NULL},
    {"lgamma", T_ALL, true, lgammal, NULL, 9, false, NULL,
     .scale = 0.25L}, /* below 0 terms cancel */
    {"digamma", T_ALL, true, f_digamma, NULL, 8, false, NULL, .scale = 1},
    {"polygamma", T_ALL, true, f_trigamma, NULL, 8, false, p_first},
    {"polygamma", T_ALL, true, f_tetragamma, NULL, 8, false, p_second, .scale = 16}, /* as above */
    {"i0", T_ALL, true, f_i0, NULL, 10, false, NULL},
    {"i0e", T_ALL, true, f_i0e, NULL, 10, false, NULL},
    {"i1", T_ALL, true, f_i1, NULL, 10, false, NULL},
    {"i1e", T_ALL, true, f_i1e, NULL, 10, false, NULL},
    {"erfcx", T_ALL, true, f_erfcx, NULL, 8, false, NULL},
    {"ndtr", T_ALL, true, f_ndtr, NULL, 16, false, NULL}, /* as gelu */
    {"log_ndtr", T_ALL, true, f_log_ndtr, NULL, 16, false, NULL, .scale = 0.01L},
    {"ndtri", T_ALL, true, f_ndtri, NULL, 6, true, NULL},
    {"entr", T_ALL, true, f_entr, NULL, 6, true, NULL},
    {"frexp_mantissa", T_FLOAT, false, f_mantissa, NULL, 0, false, NULL},
    {"frexp_exponent", T_FLOAT, false, f_exponent, NULL, 0, true, NULL},
    {"relu6", T_REAL, false, f_relu6, i_relu6, 0, false, NULL},
    {"frac", T_FLOAT, false, f_frac, NULL, 0, false, NULL},
    {"selu", T_FLOAT, false, f_selu, NULL, 6, false, NULL},
    {"gelu", T_FLOAT, false, f_gelu, NULL, 16, false,
     NULL}, /* erfc magnifies its argument's rounding */
    {"gelu_tanh", T_FLOAT, false, f_gelu_tanh, NULL, 12, false, NULL},
    {"mish", T_FLOAT, false, f_mish, NULL, 8, false, NULL},
    {"softsign", T_REAL, true, f_softsign, NULL, 2, false, NULL},
    {"hardsigmoid", T_FLOAT, false, f_hardsigmoid, NULL, 2, false, NULL, .scale = 1},
    {"hardswish", T_FLOAT, false, f_hardswish, NULL, 3, false, NULL, .scale = 1},
    {"signbit", T_ALL, false, f_signbit, i_negative, 0, false, NULL, true},
    {"isnan", T_ALL, false, f_isnan, i_never, 0, false, NULL, true},
    {"isinf", T_ALL, false, f_isinf, i_never, 0, false, NULL, true},
    {"isfinite", T_ALL, false, f_isfinite, i_always, 0, false, NULL, true},
    {"logical_not", T_ALL, false, f_not, i_lnot, 0, false, NULL, true},
    {"sigmoid", T_ALL, true, f_sigmoid, NULL, 6, false, NULL},
    {"silu", T_FLOAT, false, f_silu, NULL, 6, false, NULL},
    {"floor", T_REAL, false, floorl, i_same, 0, false, NULL},
    {"ceil", T_REAL, false, ceill, i_same, 0, false, NULL},
    {"round", T_REAL, false, rintl, i_same, 0, false, NULL},
    {"trunc", T_REAL, false, truncl, i_same, 0, false, NULL},
    {"bitwise_not", T_INT | T_BOOL, false, NULL, i_not, 0, false, NULL},
    {"leaky_relu", T_FLOAT, false, f_leaky, NULL, 1, false, p_leaky},
    {"leaky_relu", T_FLOAT, false, f_leaky_half, NULL, 1, false, p_leaky_half},
    {"elu", T_FLOAT, false, f_elu, NULL, 4, false, p_one},
    {"elu", T_FLOAT, false, f_elu_half, NULL, 4, false, p_leaky_half},
    {"hardshrink", T_FLOAT, false, f_hardshrink, NULL, 1, true, p_leaky_half},
    {"hardshrink", T_FLOAT, false, f_hardshrink_two, NULL, 1, true, p_two},
    {"softshrink", T_FLOAT, false, f_softshrink, NULL, 1, true, p_leaky_half},
    {"softshrink", T_FLOAT, false, f_softshrink_two, NULL, 1, true, p_two},
    {"celu", T_FLOAT, false, f_celu_two, NULL, 4, false, p_two},
    {"softplus", T_FLOAT, false, f_softplus, NULL, 8, false, p_softplus},
    {"softplus", T_FLOAT, false, f_softplus_two, NULL, 8, false, p_softplus_two},
    {"logit", T_ALL, true, f_logit, NULL, 6, false, p_none},
    {"logit", T_ALL, true, f_logit_eighth, NULL, 6, false, p_eighth},
    {"hardtanh", T_REAL & ~(1u << GP_u8), false, f_hardtanh, i_sign, 0, false,
     p_hardtanh}, /* u8 has no -1 */
    {"hardtanh", T_REAL, false, f_hardtanh_above, i_hardtanh_above, 0, false, p_hardtanh_above,
     .only = (1u << GP_u8)},
    {"threshold", T_REAL, false, f_threshold, i_threshold, 0, false, p_threshold},
    {"nan_to_num", T_ALL, false, f_nan_to_num, i_same, 0, false, p_nan},
    {"nan_to_num", T_ALL, false, f_nan_to_given, i_same, 0, false, p_nan_given},
    {"clamp", T_ALL, false, f_clamp, i_clamp, 0, false, p_clamp, .widen = true},
    {"clamp", T_ALL, false, f_clamp_low, i_clamp_low, 0, false, p_clamp_low, .widen = true},
    {"clamp", T_ALL, false, f_clamp_high, i_clamp_high, 0, false, p_clamp_high, .widen = true},
    {"clamp", T_ALL, false, f_clamp_crossed, i_clamp_crossed, 0, false, p_clamp_crossed,
     .widen = true},
    {"clamp", T_FLOAT, false, f_nothing, NULL, 0, false, p_clamp_nan, .only = T_FLOAT},
    {"clamp", T_FLOAT, false, f_nothing, NULL, 0, false, p_clamp_nan_high, .only = T_FLOAT},
};

/* ---- one case ---- */

static gp_dtype result_of(const entry *e, gp_dtype dt) {
    return e->tobool                     ? GP_bool
           : e->widen && dt == GP_bool   ? GP_i64
           : e->tofloat && !dt_float(dt) ? GP_f32
                                         : dt;
}

static val expected(const entry *e, gp_dtype dt, val x) {
    gp_dtype out = result_of(e, dt);
    now = dt;
    if (e->tobool) {
        bool y = dt_float(dt) ? e->f(x.f) != 0 : e->i(x.i) != 0;
        return (val){y, y};
    }
    if (dt_float(out)) return (val){.f = e->f(dt_float(dt) ? x.f : round_to(GP_f32, x.i))};
    if (dt == GP_bool && !strcmp(e->name, "bitwise_not")) return (val){.i = !x.i};
    return (val){.i = wrap_to(out, e->i(x.i))};
}

static void begin(const entry *e, gp_call *c, gp_tensor *x) {
    gp_call_begin(c, gp_op_find(e->name));
    gp_call_tensor(c, x);
    if (e->params) e->params(c);
}

static fixture make(const entry *e, gp_device *dev, gp_dtype dt, layout l) {
    const gp_op *op = gp_op_find(e->name);
    bool whole = !dt_float(dt) && !e->tofloat;
    return fixture_of(dev, dt, l, whole ? -100 : op->lo, whole ? 100 : op->hi);
}

static void one_layout(const entry *e, gp_device *dev, gp_dtype dt, layout l) {
    fixture x = make(e, dev, dt, l);
    gp_dtype out = result_of(e, dt);
    val *want = malloc((size_t)(x.n + 1) * sizeof *want);
    for (int64_t k = 0; k < x.n; k++) want[k] = expected(e, dt, x.v[k]);
    gp_shape s = gp_tensor_shape(x.t);
    const char *where = layout_names[l];
    char *primed = prime(dev, (size_t)x.n * dt_size(out));
    gp_call c;
    begin(e, &c, x.t);
    gp_tensor *y = gp_call_one(&c);
    if (!y) complain("%s: %s", where, gp_error());
    else if (check_result(where, y, out, &s, want, x.v,
                          &(judge){.ulps = e->ulps, .scale = e->scale, .anyzero = e->anyzero}))
        check_slack(where, y, primed);
    gp_tensor_unref(y);
    check_written(where, &x, x.v, &(judge){0}); /* the input is unchanged */
    free(want);
    fixture_free(&x);
}

/* y = op_(x): x takes the result if its dtype can, else it is unchanged. */
static void one_in_place(const entry *e, gp_device *dev, gp_dtype dt, layout l) {
    fixture x = make(e, dev, dt, l);
    val *want = malloc((size_t)(x.n + 1) * sizeof *want);
    bool fits = e->tobool || (dt_float(result_of(e, dt)) == dt_float(dt) &&
                              (result_of(e, dt) == GP_bool) == (dt == GP_bool));
    for (int64_t k = 0; k < x.n; k++) want[k] = fits ? expected(e, dt, x.v[k]) : x.v[k];
    uint32_t version = x.t->storage->version;
    gp_call c;
    begin(e, &c, x.t);
    c.into = x.t;
    bool ok = gp_op_run(&c);
    const char *where = layout_names[l];
    if (ok != fits)
        complain("%s in place: %s", where,
                 ok ? "an integer tensor took a float result" : gp_error());
    if (ok && c.out[0] != x.t) complain("%s in place: the result is another tensor", where);
    if (ok) gp_tensor_unref(c.out[0]);
    if ((x.t->storage->version != version) != fits)
        complain("%s in place: version %u -> %u", where, version, x.t->storage->version);
    check_written(
        where, &x, want,
        &(judge){.ulps = fits ? e->ulps : 0, .scale = fits ? e->scale : 0, .anyzero = e->anyzero});
    free(want);
    fixture_free(&x);
}

static void expect_refusal(const entry *e, gp_device *dev, gp_dtype dt) {
    fixture x = fixture_of(dev, dt, CONTIGUOUS, 0, 1);
    for (int in_place = 0; in_place < 2; in_place++) {
        gp_call c;
        begin(e, &c, x.t);
        if (in_place) c.into = x.t;
        gp_error_clear();
        if (gp_op_run(&c)) complain("it took %s", gp_dtype_name(dt)), gp_tensor_unref(c.out[0]);
        else if (!strstr(gp_error(), e->name) || !strstr(gp_error(), gp_dtype_name(dt)))
            complain("the message names not op and dtype: %s", gp_error());
    }
    check_written("after the refusal", &x, x.v, &(judge){0});
    fixture_free(&x);
}

static const layout read_layouts[] = {CONTIGUOUS, STEP2,  TRANSPOSED, PERMUTED,  ZERO_D, EMPTY,
                                      EXPANDED,   COLUMN, MISALIGNED, LONG_ROWS, AWKWARD};
static const layout write_layouts[] = {CONTIGUOUS, STEP2,      TRANSPOSED, PERMUTED, ZERO_D,
                                       EMPTY,      MISALIGNED, LONG_ROWS,  AWKWARD};

static void one_entry(gp_device *dev, const entry *e) {
    for (int dt = 0; dt < GP_DTYPES; dt++) {
        if (e->only && !(e->only >> dt & 1)) continue;
        if (!(e->types >> dt & 1)) {
            expect_refusal(e, dev, (gp_dtype)dt);
            tap_quiet("%s %s on %s is refused", e->name, gp_dtype_name((gp_dtype)dt), dev->name);
            continue;
        }
        for (size_t k = 0; k < sizeof read_layouts / sizeof *read_layouts; k++)
            one_layout(e, dev, (gp_dtype)dt, read_layouts[k]);
        if (dt == GP_f32 || dt == GP_i16) one_layout(e, dev, (gp_dtype)dt, BIG);
        for (size_t k = 0; k < sizeof write_layouts / sizeof *write_layouts; k++)
            one_in_place(e, dev, (gp_dtype)dt, write_layouts[k]);
        tap_quiet("%s %s on %s", e->name, gp_dtype_name((gp_dtype)dt), dev->name);
    }
}

static void all_entries(gp_device *dev) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const gp_op *op = gp_op_find(table[k].name);
        if (tap_ok(op && (op->kind == GP_UNARY || op->kind == GP_PARAM), "%s is an elementwise row",
                   table[k].name))
            one_entry(dev, &table[k]);
    }
}

/* An expanded tensor cannot be written, nor one with overlapping windows. */
static void overlapping_targets(gp_device *dev) {
    fixture x = fixture_of(dev, GP_f32, EXPANDED, 0, 1),
            y = fixture_of(dev, GP_f32, CONTIGUOUS, 0, 1);
    gp_tensor *windows = gp_tensor_view(y.t, &(gp_shape){2, {4, 3}}, (int64_t[]){1, 1}, 0);
    gp_tensor *targets[] = {x.t, windows};
    for (int k = 0; k < 2; k++) {
        gp_call c;
        gp_call_begin(&c, GP_OP(exp));
        gp_call_tensor(&c, targets[k]);
        c.into = targets[k];
        if (gp_op_run(&c)) complain("target %d was written", k), gp_tensor_unref(c.out[0]);
        else if (strncmp(gp_error(), "exp_: ", 6))
            complain("the message does not begin with the op: %s", gp_error());
    }
    check_written("after the refusal", &x, x.v, &(judge){0});
    check_written("after the refusal", &y, y.v, &(judge){0});
    gp_tensor_unref(windows);
    fixture_free(&x), fixture_free(&y);
    tap_quiet("a tensor that overlaps itself is not written on %s", dev->name);
}

/* ---- exp ---- */

enum { MANTISSAS = 24 };

/* The k-th number of the test: of every exponent and either sign, then those around the ends of the
 * range. */
static val wide(int64_t k, void *arg) {
    const fmt *f = arg;
    const ld ends[] = {
        88.7228317L,        88.7228394L,  89,           89.5L,     -87.3365402L, -87.4L,
        -103.278931L,       -103.972076L, -103.972084L, -104,      -105,         709.782712893384L,
        709.7827128933841L, 710,          711,          -708.396L, -708.5L,      -745.1332L,
        -745.1333L,         -746,         -747,         NAN,       INFINITY,     -INFINITY};
    int64_t all = 2 * MANTISSAS * (f->emax - f->emin + f->mant + 1);
    if (k >= all) return (val){.f = ends[(k - all) % (int64_t)(sizeof ends / sizeof *ends)]};
    ld x = ldexpl(1 + rand_unit(), f->emin - f->mant + (int)(k / 2 / MANTISSAS));
    return (val){.f = k & 1 ? -x : x};
}

/* At most 1.25 ulps off, also where results are subnormal; overflow and underflow occur where they
 * must. */
static void exp_of_all(gp_device *dev) {
    for (int i = 0; i < 2; i++) {
        gp_dtype dt = i ? GP_f64 : GP_f32;
        fmt f = fmt_of(dt);
        gp_shape s = {.ndim = 1, .dim = {2 * MANTISSAS * (f.emax - f.emin + f.mant + 1) + 24}};
        fixture x = fixture_new(dev, dt, &s, (int64_t[]){1}, 0, wide, &f);
        gp_call c;
        gp_call_begin(&c, GP_OP(exp));
        gp_call_tensor(&c, x.t);
        gp_tensor *y = need(gp_call_one(&c));
        char *p = download(y);
        for (int64_t k = 0; k < x.n; k++) {
            ld got = get_value(dt, p + (size_t)k * dt_size(dt)).f, want = expl(x.v[k].f);
            ld most = ldexpl(2 - ldexpl(1, -f.mant - 1), f.emax);
            bool good = isnan(want)    ? isnan(got)
                        : want >= most ? got == INFINITY
                                       : fabsl(got - want) <= 1.25L * ulp_at(dt, want);
            if (!good) complain("exp(%.17Lg): got %.17Lg, expected %.17Lg", x.v[k].f, got, want);
        }
        free(p);
        gp_tensor_unref(y);
        fixture_free(&x);
        tap_quiet("exp of %s numbers of all sizes on %s", gp_dtype_name(dt), dev->name);
    }
}

/* ---- gelu ---- */

static val even(int64_t k, void *arg) { return (val){.f = -14.5L + 29 * k / *(const ld *)arg}; }

/* Of f32 at most 8 ulps off, also in the tail, where rounding erfc's argument costs its square
 * in ulps; and 16 where the probability below x is a subnormal number. */
static void gelu_of_all(gp_device *dev) {
    ld n = 20000;
    fixture x = fixture_new(dev, GP_f32, &(gp_shape){.ndim = 1, .dim = {(int64_t)n}},
                            (int64_t[]){1}, 0, even, &n);
    gp_call c;
    gp_call_begin(&c, GP_OP(gelu));
    gp_call_tensor(&c, x.t);
    gp_tensor *y = need(gp_call_one(&c));
    char *p = download(y);
    for (int64_t k = 0; k < x.n; k++) {
        ld got = get_value(GP_f32, p + k * 4).f, want = f_gelu(x.v[k].f);
        ld ulps = x.v[k].f < -13 ? 16 : 8;
        if (!(fabsl(got - want) <= ulps * ulp_at(GP_f32, want)))
            complain("gelu(%.9Lg): got %.9Lg, expected %.9Lg", x.v[k].f, got, want);
    }
    free(p);
    gp_tensor_unref(y);
    fixture_free(&x);
    tap_quiet("gelu from -14.5 to 14.5 on %s", dev->name);
}

static bool has_entry(const gp_op *op) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, op->name)) return true;
    return false;
}

int main(void) {
    for (int k = 0; k < GP_ROWS; k++)
        if (gp_ops[k].kind == GP_UNARY || (gp_ops[k].kind == GP_PARAM && gp_ops[k].ntensors == 1))
            tap_ok(has_entry(&gp_ops[k]), "%s has a reference here", gp_ops[k].name);
    on_devices(all_entries);
    on_devices(overlapping_targets);
    on_devices(exp_of_all);
    gelu_of_all(gp_device_cpu());
    gp_device_shutdown();
    return tap_done();
}
