/* Every REDUCE row of the op table on cpu and sim: any subset of dims, keepdim, dtypes, layouts,
 * empties, NaN, and sums of many elements. */
#include "ops.h"

typedef enum result {
    SAME,
    WIDENED,
    FLOATING,
    TRUTH
} result; /* FLOATING: floats only; WIDENED: integers and bool give i64 */

typedef struct entry {
    const char *name;
    unsigned types;
    result result;
    ld start;
    ld (*f)(ld acc, ld x);
    int64_t (*i)(int64_t acc, int64_t x);
    bool mean, extreme; /* extreme: an empty one is an error */
} entry;

static ld f_sum(ld a, ld x) { return a + x; }
static ld f_prod(ld a, ld x) { return a * x; }
static ld f_amax(ld a, ld x) { return isnan(a) || isnan(x) ? NAN : x > a ? x : a; }
static ld f_amin(ld a, ld x) { return isnan(a) || isnan(x) ? NAN : x < a ? x : a; }
static ld f_all(ld a, ld x) { return a != 0 && x != 0; }
static ld f_any(ld a, ld x) { return a != 0 || x != 0; }
static int64_t i_sum(int64_t a, int64_t x) { return (int64_t)((uint64_t)a + (uint64_t)x); }
static int64_t i_prod(int64_t a, int64_t x) { return (int64_t)((uint64_t)a * (uint64_t)x); }
static int64_t i_amax(int64_t a, int64_t x) { return x > a ? x : a; }
static int64_t i_amin(int64_t a, int64_t x) { return x < a ? x : a; }
static int64_t i_all(int64_t a, int64_t x) { return a && x; }
static int64_t i_any(int64_t a, int64_t x) { return a || x; }

static const entry table[] = {
    {"sum", T_ALL, WIDENED, 0, f_sum, i_sum, false, false},
    {"mean", T_FLOAT, FLOATING, 0, f_sum, NULL, true, false},
    {"prod", T_ALL, WIDENED, 1, f_prod, i_prod, false, false},
    {"amax", T_ALL, SAME, -INFINITY, f_amax, i_amax, false, true},
    {"amin", T_ALL, SAME, INFINITY, f_amin, i_amin, false, true},
    {"all", T_ALL, TRUTH, 1, f_all, i_all, false, false},
    {"any", T_ALL, TRUTH, 0, f_any, i_any, false, false},
};

/* ---- reference ---- */

typedef struct expectation {
    gp_dtype out;
    gp_shape shape;
    int64_t n, count;
    val *want;
    ld *scale; /* sum of |x|: rounding of a sum is relative to it */
    bool nothing;
} expectation;

static gp_dtype out_dtype(const entry *e, gp_dtype dt) {
    return e->result == TRUTH ? GP_bool : e->result == WIDENED && !dt_float(dt) ? GP_i64 : dt;
}

/* The result element that element k of the input goes to. */
static int64_t target_of(const gp_shape *in, unsigned mask, int64_t k) {
    int64_t at = 0, step = 1;
    for (int d = in->ndim - 1; d >= 0; d--) {
        int64_t i = k % in->dim[d];
        k /= in->dim[d];
        if (mask >> d & 1) continue;
        at += i * step;
        step *= in->dim[d];
    }
    return at;
}

static void finish(const entry *e, expectation *x, gp_dtype dt) {
    for (int64_t k = 0; k < x->n; k++) {
        val *v = &x->want[k];
        if (e->mean) v->f /= x->count, x->scale[k] /= x->count ? x->count : 1;
        if (!strcmp(e->name, "prod")) x->scale[k] = fabsl(v->f);
        if (e->extreme) x->scale[k] = 0;
        if (x->out == GP_bool && dt_float(dt)) v->i = v->f != 0;
    }
}

static expectation expect(const entry *e, const fixture *x, const gp_shape *in, unsigned mask,
                          bool keep, gp_dtype compute) {
    expectation r = {.out = out_dtype(e, compute), .n = 1, .count = 1};
    for (int d = 0; d < in->ndim; d++) {
        bool gone = mask >> d & 1;
        if (gone) r.count *= in->dim[d];
        else r.n *= in->dim[d];
        if (!gone || keep) r.shape.dim[r.shape.ndim++] = gone ? 1 : in->dim[d];
    }
    r.nothing = r.count == 0 && r.n > 0;
    r.want = calloc((size_t)r.n + 1, sizeof *r.want);
    r.scale = calloc((size_t)r.n + 1, sizeof *r.scale);
    int64_t first =
        e->extreme ? (e->start < 0 ? int_least(compute) : int_most(compute)) : (int64_t)e->start;
    for (int64_t k = 0; k < r.n; k++) r.want[k] = (val){e->start, first};
    for (int64_t k = 0; k < x->n; k++) {
        int64_t t = target_of(in, mask, k);
        if (dt_float(compute)) r.want[t].f = e->f(r.want[t].f, x->v[k].f);
        else r.want[t].i = e->i(r.want[t].i, x->v[k].i);
        r.scale[t] += fabsl(x->v[k].f);
    }
    finish(e, &r, compute);
    return r;
}

/* ---- one case ---- */

/* Arguments: x, dims (all when the mask has them all and `none` asks for that), keepdim, dtype (-1:
 * absent). */
static void begin(const entry *e, gp_call *c, gp_tensor *x, unsigned mask, bool none, bool keep,
                  int dtype) {
    int64_t dims[3];
    int n = 0;
    for (int d = 0; d < x->a.ndim; d++)
        if (mask >> d & 1) dims[n++] = rand64() & 1 ? d + 1 : d - x->a.ndim;
    gp_call_begin(c, gp_op_find(e->name));
    gp_call_tensor(c, x);
    if (none) gp_call_none(c);
    else gp_call_ints(c, dims, n);
    c->arg[c->nargs++] = (gp_value){.kind = GP_BOOL, .i = keep};
    if (dtype < 0) gp_call_none(c);
    else c->arg[c->nargs++] = (gp_value){.kind = GP_DTYPE, .i = dtype};
}

static void one_case(const entry *e, gp_device *dev, fixture *x, const char *where, unsigned mask,
                     bool none, bool keep) {
    gp_shape in = gp_tensor_shape(x->t);
    expectation r = expect(e, x, &in, mask, keep, x->dt);
    char *primed = prime(dev, (size_t)r.n * dt_size(r.out));
    char what[80];
    snprintf(what, sizeof what, "%s, dims mask %u%s", where, mask, keep ? ", keepdim" : "");
    gp_call c;
    begin(e, &c, x->t, mask, none, keep, -1);
    gp_tensor *y = gp_call_one(&c);
    bool error = e->extreme && r.nothing;
    double ulps = e->extreme ? 0 : 2 + sqrt((double)r.count);
    if (!y != error) complain("%s: %s", what, y ? "a result of nothing" : gp_error());
    else if (y &&
             check_result(what, y, r.out, &r.shape, r.want, NULL, &(judge){ulps, 0, true, r.scale}))
        check_slack(what, y, primed);
    gp_tensor_unref(y);
    free(r.want), free(r.scale);
}

static void one_layout(const entry *e, gp_device *dev, gp_dtype dt, layout l) {
    fixture x = fixture_of(dev, dt, l, 0.5, dt_float(dt) ? 2 : 3);
    const char *where = layout_names[l];
    int nd = x.t->a.ndim;
    for (unsigned mask = 0; mask < 1u << nd; mask++)
        for (int keep = 0; keep < 2; keep++) {
            bool all = mask == (1u << nd) - 1;
            if (mask || nd == 0) one_case(e, dev, &x, where, mask, false, keep);
            if (all) one_case(e, dev, &x, where, mask, true, keep);
        }
    check_written("the input", &x, x.v, &(judge){0});
    fixture_free(&x);
}

/* A special value at each position of a row, so that every lane and remainder of the loops meets
 * it. */
static void special_places(const entry *e, gp_device *dev, gp_dtype dt) {
    static const int64_t lengths[] = {1, 7, 31, 32, 33, 50};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        int64_t n = lengths[l];
        gp_shape s = {2, {n, n}};
        fixture x =
            fixture_new(dev, dt, &s, (int64_t[]){n, 1}, 0, draw, &(span_of){dt, 1, 2, false, 1});
        size_t size = dt_size(dt);
        char *bytes = malloc((size_t)(n * n) * size);
        for (int64_t k = 0; k < n * n; k++) {
            bool odd = k / n == k % n;
            if (odd)
                x.v[k] = dt_float(dt) ? (val){.f = e->f == f_all || e->f == f_prod ? 0 : NAN}
                                      : (val){.f = 0, .i = 0};
            put_value(dt, bytes + (size_t)k * size, x.v[k]);
        }
        gp_tensor_unref(x.t), gp_tensor_unref(x.base);
        gp_tensor *flat = upload(dev, dt, bytes, n * n);
        x.base = gp_tensor_ref(flat);
        x.t = need(gp_tensor_view(flat, &s, (int64_t[]){n, 1}, 0));
        one_case(e, dev, &x, "one special value a row", 2, false, false);
        one_case(e, dev, &x, "one special value a column", 1, false, false);
        gp_tensor_unref(flat);
        free(bytes);
        fixture_free(&x);
    }
}

static void refused(const entry *e, gp_device *dev, gp_dtype dt) {
    fixture x = fixture_of(dev, dt, CONTIGUOUS, 0, 1);
    gp_call c;
    begin(e, &c, x.t, 1, false, false, -1);
    gp_tensor *y = gp_call_one(&c);
    if (y) complain("it took %s", gp_dtype_name(dt));
    else if (!strstr(gp_error(), e->name) || !strstr(gp_error(), gp_dtype_name(dt)))
        complain("the message names not op and dtype: %s", gp_error());
    gp_tensor_unref(y);
    fixture_free(&x);
}

static const layout layouts[] = {CONTIGUOUS, STEP2,  TRANSPOSED, PERMUTED,  ZERO_D,  EMPTY,
                                 EXPANDED,   COLUMN, MISALIGNED, LONG_ROWS, AWKWARD, BIG};

static void one_entry(gp_device *dev, const entry *e) {
    for (int dt = 0; dt < GP_DTYPES; dt++) {
        if (!(e->types >> dt & 1)) {
            refused(e, dev, (gp_dtype)dt);
            tap_quiet("%s %s on %s is refused", e->name, gp_dtype_name((gp_dtype)dt), dev->name);
            continue;
        }
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++)
            one_layout(e, dev, (gp_dtype)dt, layouts[k]);
        special_places(e, dev, (gp_dtype)dt);
        tap_quiet("%s %s on %s", e->name, gp_dtype_name((gp_dtype)dt), dev->name);
    }
}

/* The dtype argument: computed in and returned as that dtype. */
static void with_dtype(gp_device *dev, const entry *e) {
    static const struct {
        gp_dtype from, as;
    } cases[] = {{GP_f32, GP_f64}, {GP_i32, GP_f32}, {GP_i8, GP_f64},
                 {GP_f16, GP_f32}, {GP_i32, GP_i32}, {GP_u8, GP_i16}};
    if (e->result == TRUTH || e->extreme) return;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (!(e->types >> cases[k].as & 1)) continue;
        fixture x = fixture_of(dev, cases[k].from, CONTIGUOUS, 1, 2);
        gp_shape in = gp_tensor_shape(x.t);
        expectation r = expect(e, &x, &in, 2, false, cases[k].as);
        r.out = cases[k].as;
        gp_call c;
        begin(e, &c, x.t, 2, false, false, cases[k].as);
        gp_tensor *y = gp_call_one(&c);
        if (!y) complain("%s", gp_error());
        else
            check_result(gp_dtype_name(cases[k].from), y, r.out, &r.shape, r.want, NULL,
                         &(judge){4, 0, true, r.scale});
        gp_tensor_unref(y);
        free(r.want), free(r.scale);
        fixture_free(&x);
    }
    tap_quiet("%s with a dtype on %s", e->name, dev->name);
}

static void bad_dims(gp_device *dev, const entry *e) {
    fixture x = fixture_of(dev, GP_f32, CONTIGUOUS, 1, 2);
    static const int64_t bad[][2] = {{3, 1}, {-3, 1}, {0, 1}, {1, 1}, {1, -2}};
    for (int k = 0; k < 5; k++) {
        gp_call c;
        gp_call_begin(&c, gp_op_find(e->name));
        gp_call_tensor(&c, x.t);
        gp_call_ints(&c, bad[k], 2);
        gp_tensor *y = gp_call_one(&c);
        if (y) complain("dims %lld, %lld taken", (long long)bad[k][0], (long long)bad[k][1]);
        else if (strncmp(gp_error(), e->name, strlen(e->name)) || !strstr(gp_error(), "dim"))
            complain("%s", gp_error());
        gp_tensor_unref(y);
    }
    fixture_free(&x);
    tap_quiet("%s refuses bad dims on %s", e->name, dev->name);
}

/* Sums of many f32 stay accurate, whatever the order of the sum: all into one, long rows, down
 * columns. */
static void many(gp_device *dev) {
    enum { N = 1 << 21 };
    static const struct {
        gp_shape s;
        int64_t dim;
    } cases[] = {{{1, {N}}, 1}, {{2, {2, N / 2}}, 2}, {{2, {N / 2, 2}}, 1}, {{2, {N, 1}}, 1}};
    float *f = malloc(N * sizeof *f);
    for (int k = 0; k < N; k++) f[k] = 0.1f;
    for (int k = 0; k < 4; k++) {
        gp_tensor *flat = upload(dev, GP_f32, f, N);
        int64_t stride[2];
        gp_shape_strides(&cases[k].s, stride);
        gp_tensor *x = need(gp_tensor_view(flat, &cases[k].s, stride, 0));
        gp_call c;
        gp_call_begin(&c, GP_OP(sum));
        gp_call_tensor(&c, x);
        gp_call_ints(&c, &cases[k].dim, 1);
        gp_tensor *y = need(gp_call_one(&c));
        float *p = download(y);
        double want = (double)N / (double)y->a.numel * (double)0.1f;
        tap_close((double)p[0], want, want * 1e-5, "sum of 0.1 over dim %lld of case %d on %s",
                  (long long)cases[k].dim, k, dev->name);
        free(p);
        gp_tensor_unref(x), gp_tensor_unref(y), gp_tensor_unref(flat);
    }
    free(f);
}

static void all_entries(gp_device *dev) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (!tap_ok(gp_op_find(table[k].name) != NULL, "%s is a row", table[k].name)) continue;
        one_entry(dev, &table[k]);
        with_dtype(dev, &table[k]);
        bad_dims(dev, &table[k]);
    }
    many(dev);
}

int main(void) {
    for (int k = 0; k < GP_ROWS; k++) {
        if (gp_ops[k].kind != GP_REDUCE) continue;
        bool found = false;
        for (size_t j = 0; j < sizeof table / sizeof *table; j++)
            found |= !strcmp(table[j].name, gp_ops[k].name);
        tap_ok(found, "%s has a reference here", gp_ops[k].name);
    }
    on_devices(all_entries);
    gp_device_shutdown();
    return tap_done();
}
