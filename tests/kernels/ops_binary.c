/* Every BINARY, COMPARE, TERNARY and PARAM3 row of the op table on cpu and sim: dtypes and their
 * promotion, layouts, broadcasting, numbers, in place. */
#include "binary_references.h"
#include "promotion.h"

/* ---- the table ---- */

typedef enum result { PROMOTED, TO_FLOAT, TO_BOOL } result;
typedef struct entry {
    const char *name;
    int n;          /* operands */
    unsigned types; /* promoted dtypes taken */
    result result;
    ld (*f)(ld, ld, ld);
    int64_t (*i)(int64_t, int64_t);
    double ulps;
    bool anyzero;
    int64_t (*i3)(int64_t, int64_t, int64_t); /* of three operands */
    void (*params)(gp_call *);
    ld (*scale)(ld, ld, ld); /* the magnitude by which errors are judged, if not the result's */
    bool no_truth;           /* a bool operand is refused, also with another dtype */
} entry;

static void p_minus_3(gp_call *c) { gp_call_number(c, (gp_scalar){.i = -3}); }
static void p_half(gp_call *c) { gp_call_number(c, (gp_scalar){.is_float = true, .f = 0.5}); }
static void p_one(gp_call *c) { gp_call_number(c, (gp_scalar){.i = 1}); }

/* Fields left out are 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
static const entry table[] = {
    {"add", 2, T_ALL, PROMOTED, f_add, i_add, 0, false},
    {"sub", 2, T_REAL, PROMOTED, f_sub, i_sub, 0, false, .no_truth = true},
    {"mul", 2, T_ALL, PROMOTED, f_mul, i_mul, 0, false},
    {"div", 2, T_ALL, TO_FLOAT, f_div, NULL, 0, false},
    {"floor_divide", 2, T_REAL, PROMOTED, f_floor_divide, i_floor_divide, 0, false},
    {"remainder", 2, T_REAL, PROMOTED, f_remainder, i_remainder, 0, false},
    {"trunc_divide", 2, T_REAL, PROMOTED, f_trunc_divide, i_trunc_divide, 0, false},
    {"fmod", 2, T_REAL, PROMOTED, f_fmod, i_fmod, 0, false},
    {"hypot", 2, T_FLOAT, PROMOTED, f_hypot, NULL, 4, false},
    {"copysign", 2, T_ALL, TO_FLOAT, f_copysign, NULL, 0, false},
    {"bitwise_left_shift", 2, T_INT, PROMOTED, NULL, i_left, 0, false},
    {"bitwise_right_shift", 2, T_INT, PROMOTED, NULL, i_right, 0, false},
    {"pow", 2, T_REAL, PROMOTED, f_pow, i_pow, 4, false},
    {"maximum", 2, T_ALL, PROMOTED, f_maximum, i_maximum, 0, true},
    {"minimum", 2, T_ALL, PROMOTED, f_minimum, i_minimum, 0, true},
    {"clamp_min", 2, T_ALL, PROMOTED, f_clamp_min, i_maximum, 0, true},
    {"clamp_max", 2, T_ALL, PROMOTED, f_clamp_max, i_minimum, 0, true},
    {"fmax", 2, T_ALL, PROMOTED, f_fmax, i_maximum, 0, true},
    {"fmin", 2, T_ALL, PROMOTED, f_fmin, i_minimum, 0, true},
    {"logaddexp", 2, T_FLOAT, PROMOTED, f_logaddexp, NULL, 4, true, NULL, NULL, s_logaddexp},
    {"logaddexp2", 2, T_FLOAT, PROMOTED, f_logaddexp2, NULL, 6, true, NULL, NULL, s_logaddexp},
    {"xlog1py", 2, T_ALL, TO_FLOAT, f_xlog1py, NULL, 6, true},
    {"ldexp", 2, T_ALL, TO_FLOAT, f_ldexp, NULL, 4, false},
    {"nextafter", 2, 1u << GP_f32 | 1u << GP_f64, PROMOTED, f_nextafter, NULL, 0, false},
    {"gcd", 2, T_INT, PROMOTED, NULL, i_gcd, 0, false},
    {"lcm", 2, T_INT, PROMOTED, NULL, i_lcm, 0, false},
    {"zeta", 2, T_ALL, TO_FLOAT, f_zeta, NULL, 8, false, NULL, NULL, s_zeta},
    {"igamma", 2, T_ALL, TO_FLOAT, f_igamma, NULL, 32, true, NULL, NULL, s_one},
    {"igammac", 2, T_ALL, TO_FLOAT, f_igammac, NULL, 32, true, NULL, NULL, s_one},
    {"atan2", 2, T_ALL, TO_FLOAT, f_atan2, NULL, 4, false},
    {"xlogy", 2, T_ALL, TO_FLOAT, f_xlogy, NULL, 6, true},
    {"bce", 2, T_FLOAT, PROMOTED, f_bce, NULL, 8, true, NULL, NULL, s_bce},
    {"squared_error", 2, T_FLOAT, PROMOTED, f_squared_error, NULL, 3, true},
    {"absolute_error", 2, T_REAL, PROMOTED, f_absolute_error, i_absolute_error, 1, true},
    {"kl_term", 2, T_FLOAT, PROMOTED, f_kl_term, NULL, 8, true, NULL, NULL, s_kl_term},
    {"kl_log_term", 2, T_FLOAT, PROMOTED, f_kl_log_term, NULL, 8, true},
    {"bitwise_and", 2, T_INT | T_BOOL, PROMOTED, NULL, i_and, 0, false},
    {"bitwise_or", 2, T_INT | T_BOOL, PROMOTED, NULL, i_or, 0, false},
    {"bitwise_xor", 2, T_INT | T_BOOL, PROMOTED, NULL, i_xor, 0, false},
    {"eq", 2, T_ALL, TO_BOOL, f_eq, i_eq, 0, false},
    {"ne", 2, T_ALL, TO_BOOL, f_ne, i_ne, 0, false},
    {"lt", 2, T_ALL, TO_BOOL, f_lt, i_lt, 0, false},
    {"le", 2, T_ALL, TO_BOOL, f_le, i_le, 0, false},
    {"gt", 2, T_ALL, TO_BOOL, f_gt, i_gt, 0, false},
    {"ge", 2, T_ALL, TO_BOOL, f_ge, i_ge, 0, false},
    {"logical_and", 2, T_ALL, TO_BOOL, f_land, i_land, 0, false},
    {"logical_or", 2, T_ALL, TO_BOOL, f_lor, i_lor, 0, false},
    {"logical_xor", 2, T_ALL, TO_BOOL, f_lxor, i_lxor, 0, false},
    {"lerp", 3, T_FLOAT, PROMOTED, f_lerp, NULL, 2, true, NULL, NULL, s_lerp},
    {"clamp_between", 3, T_REAL, PROMOTED, f_between, NULL, 0, true, i_between},
    {"smooth_l1", 3, T_FLOAT, PROMOTED, f_smooth_l1, NULL, 4, true, NULL, NULL, s_differences},
    {"huber", 3, T_FLOAT, PROMOTED, f_huber, NULL, 4, true, NULL, NULL, s_differences},
    {"bce_with_logits", 3, T_FLOAT, PROMOTED, f_bce_with_logits, NULL, 8, true, NULL, NULL,
     s_bce_with_logits},
    {"addcmul", 3, T_REAL, PROMOTED, f_addcmul, NULL, 2, true, i_addcmul, p_one},
    {"addcmul", 3, T_REAL, PROMOTED, f_addcmul_3, NULL, 3, true, i_addcmul_3, p_minus_3},
    {"addcdiv", 3, T_FLOAT, PROMOTED, f_addcdiv, NULL, 2, true, NULL, p_one},
    {"addcdiv", 3, T_FLOAT, PROMOTED, f_addcdiv_half, NULL, 3, true, NULL, p_half},
};

/* ---- operands ---- */

typedef enum kind { TENSOR, INTEGER, FLOATING } kind;
typedef struct operand {
    kind kind;
    layout l;
    gp_dtype dt; /* of numbers: i64 or the default f32 */
    val number;
    fixture x;
} operand;

static bool divides(const entry *e) {
    return strstr("floor_divide remainder trunc_divide fmod", e->name) != NULL;
}
static bool chances(const entry *e) { return !strcmp(e->name, "bce"); }
static bool powers(const entry *e) { return !strcmp(e->name, "pow"); }

typedef struct source {
    const entry *e;
    gp_dtype dt;
    int which, spread; /* AWKWARD: a value changes every `spread` elements */
    bool awkward, quarters;
} source;

/* Values that the op accepts: refused ones (a zero divisor, a negative exponent, a probability
 * above 1) have their own tests. */
static int64_t mild(const source *s, int64_t i) {
    if (s->which == 0 && chances(s->e)) return i & 1;
    if (s->which == 1 && divides(s->e)) return i == 0 ? 1 : i;
    if (s->which == 1 && powers(s->e)) return i < 0 ? (-(i + 1)) % 40 : i % 40;
    return i;
}

static val draw_operand(int64_t k, void *arg) {
    source *s = arg;
    val v;
    if (s->awkward) {
        v = special(s->dt, (int)(k / s->spread % SPECIALS));
        if (s->e->n == 3 && isfinite(v.f) && fabsl(v.f) > 100) v.f = 7; /* b - a would overflow */
    } else {
        v = powers(s->e) ? (s->which ? sample(s->dt, -2, 2) : sample(s->dt, 0.1, 3))
                         : sample(s->dt, -3, 3);
    }
    if (s->quarters && dt_float(s->dt)) v.f = rintl(v.f * 4) / 4;
    if (powers(s->e) && s->which == 0 && s->quarters && v.f == 0) v.f = 1;
    if (chances(s->e) && s->which == 0) v.f = isfinite(v.f) ? fabsl(fmodl(v.f, 1)) : 1;
    v.i = dt_float(s->dt) ? 0 : wrap_to(s->dt, mild(s, v.i));
    return v;
}

static void operand_make(const entry *e, gp_device *dev, operand *o, int which, bool quarters) {
    if (o->kind != TENSOR) return;
    gp_shape s;
    int64_t stride[3], offset;
    layout_of(o->l, &s, stride, &offset);
    source src = {e, o->dt, which, 1, o->l == AWKWARD, quarters};
    if (o->l == AWKWARD) { /* every pair: operand 0 varies down, the others along */
        src.spread = which == 2 ? 5 : 1;
        s = (gp_shape){2, {which ? 1 : SPECIALS, which ? SPECIALS : 1}};
        stride[0] = stride[1] = 1;
    }
    o->x = fixture_new(dev, o->dt, &s, stride, offset, draw_operand, &src);
}

static void shape_of(const operand *o, int n, gp_shape *s) {
    s->ndim = 0;
    for (int k = 0; k < n; k++)
        if (o[k].kind == TENSOR && o[k].x.t->a.ndim > s->ndim) s->ndim = o[k].x.t->a.ndim;
    for (int d = 0; d < s->ndim; d++) s->dim[d] = 1;
    for (int k = 0; k < n; k++) {
        if (o[k].kind != TENSOR) continue;
        const gp_array *a = &o[k].x.t->a;
        for (int d = 0; d < a->ndim; d++)
            if (a->dim[d] != 1) s->dim[s->ndim - a->ndim + d] = a->dim[d];
    }
}

/* Operand's value for element k of the result's shape. */
static val at(const operand *o, const gp_shape *s, int64_t k) {
    if (o->kind != TENSOR) return o->number;
    const gp_array *a = &o->x.t->a;
    int64_t from = 0, step = 1;
    for (int d = s->ndim - 1; d >= 0; d--) {
        int64_t i = k % s->dim[d];
        int j = d - (s->ndim - a->ndim);
        k /= s->dim[d];
        if (j < 0) continue;
        from += (a->dim[j] == 1 ? 0 : i) * step;
        step *= a->dim[j];
    }
    return o->x.v[from];
}

static gp_dtype common(const operand *o, int n) {
    bool have[3] = {false, false, false};
    gp_dtype dt[3] = {GP_bool, GP_bool, GP_bool};
    for (int k = 0; k < n; k++) {
        int level = o[k].kind != TENSOR ? 2 : o[k].l == ZERO_D;
        dt[level] = have[level] ? promote_of(dt[level], o[k].dt) : o[k].dt;
        have[level] = true;
    }
    if (!have[1]) dt[1] = dt[2];
    else if (have[2]) dt[1] = promote_beside(dt[1], dt[2]);
    if (!have[0]) return dt[1];
    return have[1] || have[2] ? promote_beside(dt[0], dt[1]) : dt[0];
}

/* ---- one case ---- */

typedef struct expectation {
    gp_dtype compute, out;
    gp_shape shape;
    int64_t n;
    val *want;
    ld *scale;
    int refused; /* the dtype that the op does not take, or -1 */
} expectation;

static val apply(const entry *e, const expectation *x, const val *in) {
    ld f[3];
    if (!dt_float(x->compute) && e->i3)
        return (val){.i = wrap_to(x->out, e->i3(in[0].i, in[1].i, in[2].i))};
    if (!dt_float(x->compute))
        return (val){.i = wrap_to(x->out == GP_bool && x->compute != GP_bool ? GP_i64 : x->out,
                                  e->i(in[0].i, in[1].i))};
    wide = x->compute == GP_f64;
    for (int k = 0; k < 3; k++) f[k] = wide ? (ld)(double)in[k].f : (ld)(float)in[k].f;
    ld y = e->f(f[0], f[1], f[2]);
    return (val){.f = y, .i = x->out == GP_bool ? y != 0 : 0};
}

static expectation expect(const entry *e, const operand *o) {
    expectation x;
    x.compute = common(o, e->n);
    if (e->result == TO_FLOAT && !dt_float(x.compute)) x.compute = GP_f32;
    x.out = e->result == TO_BOOL ? GP_bool : x.compute;
    shape_of(o, e->n, &x.shape);
    x.refused = e->types >> x.compute & 1 ? -1 : (int)x.compute;
    for (int k = 0; k < e->n; k++)
        if (e->no_truth && o[k].kind == TENSOR && o[k].dt == GP_bool) x.refused = GP_bool;
    x.n = 1;
    for (int d = 0; d < x.shape.ndim; d++) x.n *= x.shape.dim[d];
    x.want = malloc((size_t)(x.n + 1) * sizeof *x.want);
    x.scale = malloc((size_t)(x.n + 1) * sizeof *x.scale);
    for (int64_t k = 0; k < x.n; k++) {
        val in[3] = {{0, 0}, {0, 0}, {0, 0}};
        for (int j = 0; j < e->n; j++) in[j] = at(&o[j], &x.shape, k);
        x.want[k] = x.refused < 0 ? apply(e, &x, in) : (val){0, 0};
        x.scale[k] = e->n == 3 ? fmaxl(fabsl(in[0].f),
                                       fmaxl(1, fabsl(in[2].f)) * (fabsl(in[1].f) + fabsl(in[0].f)))
                               : 0;
        if (e->scale) x.scale[k] = e->scale(in[0].f, in[1].f, in[2].f);
    }
    return x;
}

static void begin(const entry *e, gp_call *c, const operand *o) {
    gp_call_begin(c, gp_op_find(e->name));
    for (int k = 0; k < e->n; k++) {
        if (o[k].kind == TENSOR) gp_call_tensor(c, o[k].x.t);
        else
            gp_call_number(c, o[k].kind == INTEGER
                                  ? (gp_scalar){.i = o[k].number.i}
                                  : (gp_scalar){.is_float = true, .f = (double)o[k].number.f});
    }
    if (e->params) e->params(c);
}

static void inputs_unchanged(const entry *e, operand *o, int from) {
    for (int k = from; k < e->n; k++)
        if (o[k].kind == TENSOR) check_written("an input", &o[k].x, o[k].x.v, &(judge){0});
}

static const char *text_of(const operand *o, int n) {
    static char text[160];
    size_t used = 0;
    for (int k = 0; k < n; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", k ? ", " : "",
                                 gp_dtype_name(o[k].dt),
                                 o[k].kind == TENSOR ? layout_names[o[k].l] : "number");
    return text;
}

static void run_new(const entry *e, gp_device *dev, operand *o, const expectation *x) {
    char *primed = prime(dev, (size_t)x->n * dt_size(x->out));
    const char *where = text_of(o, e->n);
    gp_call c;
    begin(e, &c, o);
    gp_tensor *y = gp_call_one(&c);
    if (x->refused >= 0) {
        if (y)
            complain("%s: taken, but %s is not among its dtypes", where,
                     gp_dtype_name((gp_dtype)x->refused));
        else if (!strstr(gp_error(), e->name) ||
                 !strstr(gp_error(), gp_dtype_name((gp_dtype)x->refused)))
            complain("%s: the message names not op and dtype: %s", where, gp_error());
    } else if (!y) {
        complain("%s: %s", where, gp_error());
    } else if (check_result(where, y, x->out, &x->shape, x->want, NULL,
                            &(judge){e->ulps, 0, e->anyzero, x->scale})) {
        check_slack(where, y, primed);
    }
    gp_tensor_unref(y);
    inputs_unchanged(e, o, 0);
}

/* a takes the result if it has the result's shape, shares no element with itself and its dtype is
 * of the result's category. */
static void run_in_place(const entry *e, operand *o, const expectation *x) {
    if (o[0].kind != TENSOR) return;
    const char *where = text_of(o, e->n);
    gp_tensor *a = o[0].x.t;
    gp_shape s = gp_tensor_shape(a);
    bool fits = x->refused < 0 && gp_shape_equal(&s, &x->shape) &&
                category(x->out) <= category(o[0].dt) && o[0].l != EXPANDED;
    uint32_t version = a->storage->version;
    val *want = malloc((size_t)(x->n + 1) * sizeof *want);
    for (int64_t k = 0; k < x->n; k++) {
        want[k] = x->want[k];
        if (!dt_float(x->out) && dt_float(o[0].dt)) want[k].f = want[k].i;
        if (dt_float(o[0].dt) && o[0].dt != x->out)
            want[k].f = round_to(o[0].dt, round_to(x->out, want[k].f));
    }
    gp_call c;
    begin(e, &c, o);
    c.into = a;
    bool ok = gp_op_run(&c);
    if (ok != fits) complain("%s in place: %s", where, ok ? "taken" : gp_error());
    if (ok) gp_tensor_unref(c.out[0]);
    if ((a->storage->version != version) != ok)
        complain("%s in place: version %u -> %u", where, version, a->storage->version);
    bool loose = e->n == 3 || e->scale;
    check_written(where, &o[0].x, ok ? want : o[0].x.v,
                  &(judge){ok ? e->ulps : 0, loose ? 40 : 0, e->anyzero, NULL});
    inputs_unchanged(e, o, 1);
    free(want);
}

static void one_case(const entry *e, gp_device *dev, operand *o, bool quarters) {
    for (int k = 0; k < e->n; k++) operand_make(e, dev, &o[k], k, quarters);
    expectation x = expect(e, o);
    run_new(e, dev, o, &x);
    if (!(o[0].l == AWKWARD && e->n == 3)) run_in_place(e, o, &x);
    free(x.want), free(x.scale);
    for (int k = 0; k < e->n; k++)
        if (o[k].kind == TENSOR) fixture_free(&o[k].x);
}

static operand tensor_of(gp_dtype dt, layout l) {
    return (operand){.kind = TENSOR, .l = l, .dt = dt};
}
static operand integer_of(int64_t i) {
    return (operand){.kind = INTEGER, .dt = GP_i64, .number = {.f = i, .i = i}};
}
static operand float_of(double f) {
    return (operand){.kind = FLOATING, .dt = GP_f32, .number = {.f = f}};
}

/* ---- all cases of an op ---- */

static const layout pairs[][2] = {
    {CONTIGUOUS, CONTIGUOUS}, {STEP2, TRANSPOSED},  {TRANSPOSED, CONTIGUOUS},
    {MISALIGNED, CONTIGUOUS}, {EXPANDED, STEP2},    {STEP2, EXPANDED},
    {COLUMN, EXPANDED},       {CONTIGUOUS, COLUMN}, {ZERO_D, CONTIGUOUS},
    {MISALIGNED, ZERO_D},     {ZERO_D, ZERO_D},     {EMPTY, EMPTY},
    {EMPTY, ZERO_D},          {PERMUTED, PERMUTED}, {LONG_ROWS, LONG_ROWS},
    {AWKWARD, AWKWARD},
};

static void layouts_and_numbers(const entry *e, gp_device *dev, gp_dtype dt) {
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        one_case(e, dev,
                 (operand[]){tensor_of(dt, pairs[k][0]), tensor_of(dt, pairs[k][1]),
                             tensor_of(dt, pairs[k][1])},
                 false);
    if (dt == GP_f32 || dt == GP_i8)
        one_case(e, dev, (operand[]){tensor_of(dt, BIG), tensor_of(dt, BIG), tensor_of(dt, BIG)},
                 false);
    one_case(e, dev, (operand[]){tensor_of(dt, CONTIGUOUS), integer_of(3), integer_of(2)}, false);
    one_case(e, dev, (operand[]){tensor_of(dt, LONG_ROWS), integer_of(2), float_of(0.5)}, false);
    one_case(e, dev,
             (operand[]){tensor_of(dt, TRANSPOSED), float_of(1.5), tensor_of(dt, TRANSPOSED)},
             true);
    one_case(e, dev, (operand[]){tensor_of(dt, ZERO_D), float_of(0.25), float_of(0.75)}, true);
    if (chances(e)) return; /* these numbers are not probabilities */
    one_case(e, dev, (operand[]){integer_of(2), tensor_of(dt, STEP2), float_of(0.25)}, true);
    one_case(e, dev,
             (operand[]){float_of(2.25), tensor_of(dt, MISALIGNED), tensor_of(dt, MISALIGNED)},
             true);
}

/* A few of the pairs under TSan: there are no threads in what they differ by, and each of these
 * small ops takes a millisecond. */
static bool tried_here(int a, int b) {
#if defined(__SANITIZE_THREAD__)
    return (a + 2 * b) % 5 == 0;
#else
    return a >= 0 && b >= 0;
#endif
}

static void all_entries(gp_device *dev) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const entry *e = &table[k];
        if (!tap_ok(gp_op_find(e->name) && gp_op_find(e->name)->ntensors == e->n,
                    "%s is a row of %d operands", e->name, e->n))
            continue;
        for (int dt = 0; dt < GP_DTYPES; dt++) {
            layouts_and_numbers(e, dev, (gp_dtype)dt);
            tap_quiet("%s %s on %s", e->name, gp_dtype_name((gp_dtype)dt), dev->name);
        }
        for (int a = 0; a < GP_DTYPES; a++)
            for (int b = 0; b < GP_DTYPES; b++) {
                if (!tried_here(a, b)) continue;
                one_case(e, dev,
                         (operand[]){tensor_of((gp_dtype)a, CONTIGUOUS),
                                     tensor_of((gp_dtype)b, TRANSPOSED),
                                     tensor_of((gp_dtype)a, STEP2)},
                         true);
                one_case(e, dev,
                         (operand[]){tensor_of((gp_dtype)a, STEP2), tensor_of((gp_dtype)b, ZERO_D),
                                     tensor_of((gp_dtype)b, ZERO_D)},
                         true);
                one_case(e, dev,
                         (operand[]){tensor_of((gp_dtype)a, ZERO_D), tensor_of((gp_dtype)b, STEP2),
                                     float_of(0.5)},
                         true);
            }
        tap_quiet("%s of mixed dtypes on %s", e->name, dev->name);
    }
}

static bool has_entry(const gp_op *op) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, op->name)) return true;
    return false;
}

int main(void) {
    for (int k = 0; k < GP_ROWS; k++)
        if (gp_ops[k].kind == GP_BINARY || gp_ops[k].kind == GP_COMPARE ||
            gp_ops[k].kind == GP_TERNARY || (gp_ops[k].kind == GP_PARAM && gp_ops[k].ntensors == 3))
            tap_ok(has_entry(&gp_ops[k]), "%s has a reference here", gp_ops[k].name);
    on_devices(all_entries);
    gp_device_shutdown();
    return tap_done();
}
