/* A library of ops for tests (tests/bindings/extension.lua): what a kernel gets to see, arguments
 * that are written, and kernels, shape rules and gradients that fail or answer nonsense. */
#include <lua.h>
#include <string.h>

#include <gpush/op.h>

static int like(const gpush_call *c, gpush_result *r) {
    const gpush_tensor *x = c->arg[0].tensor;
    *r = (gpush_result){.dtype = x->dtype, .ndim = x->ndim};
    memcpy(r->size, x->size, (size_t)x->ndim * sizeof *x->size);
    return 0;
}

static int copy(const gpush_call *c) {
    const gpush_tensor *x = c->arg[0].tensor;
    memcpy(c->result[0].data, x->data, (size_t)x->numel * sizeof(double));
    return 0;
}

/* ---- what a kernel sees ---- */

static int seen_shape(const gpush_call *c, gpush_result *r) {
    *r = (gpush_result){.dtype = GPUSH_F64, .ndim = 1, .size = {12}};
    return 0;
}

static int seen(const gpush_call *c) {
    const gpush_arg *a = c->arg;
    double *y = c->result[0].data;
    const double v[12] = {a[0].tensor->ndim,
                          (double)a[0].tensor->stride[0],
                          (double)a[1].i,
                          a[2].f,
                          (double)a[3].i,
                          a[4].kind == GPUSH_NONE ? -1 : a[4].n,
                          a[4].kind == GPUSH_NONE ? -1 : (double)a[4].ints[a[4].n - 1],
                          (double)strlen(a[5].text),
                          a[6].f,
                          (double)a[6].i,
                          a[7].kind == GPUSH_NONE ? -1 : (double)a[7].i,
                          gpush_dim(c, a[8].i, a[0].tensor->ndim)};
    memcpy(y, v, sizeof v);
    return 0;
}

/* xs *= by, and by + the number of tensors is nowhere returned. */
static int scale(const gpush_call *c) {
    for (int k = 0; k < c->arg[0].n; k++) {
        const gpush_tensor *x = &c->arg[0].tensor[k];
        for (int64_t i = 0; i < x->numel; i++) ((double *)x->data)[i] *= c->arg[1].f;
    }
    return 0;
}

/* x times the number of ys. */
static int times(const gpush_call *c) {
    for (int64_t i = 0; i < c->result[0].numel; i++)
        ((double *)c->result[0].data)[i] = ((double *)c->arg[0].tensor->data)[i] * c->arg[1].n;
    return 0;
}

static int times_gradient(gpush_gradient *g) {
    for (int k = 0; k < g->arg[1].n; k++)
        g->dx[0] = k ? gpush_run(g, "add", "tt", g->dx[0], g->dy[0]) : g->dy[0];
    return 0;
}

/* a + 2 b of two dims, by strides. */
static int strided(const gpush_call *c) {
    const gpush_tensor *a = c->arg[0].tensor, *b = c->arg[1].tensor, *y = &c->result[0];
    if (y->ndim != 2) return gpush_fail(c, "two dims");
    for (int64_t i = 0; i < y->size[0]; i++)
        for (int64_t j = 0; j < y->size[1]; j++)
            ((double *)y->data)[i * y->stride[0] + j * y->stride[1]] =
                ((double *)a->data)[i * a->stride[0] + j * a->stride[1]] +
                2 * ((double *)b->data)[i * b->stride[0] + j * b->stride[1]];
    return 0;
}

/* a - b and a + b. */
static int both(const gpush_call *c) {
    const gpush_tensor *a = c->arg[0].tensor, *b = c->arg[1].tensor;
    double *minus = c->result[0].data, *plus = c->result[1].data;
    for (int64_t i = 0; i < c->result[0].numel; i++) {
        double u = ((double *)a->data)[i * a->step], v = ((double *)b->data)[i * b->step];
        minus[i] = u - v, plus[i] = u + v;
    }
    return 0;
}

/* ---- nonsense ---- */

static int odd_shape(const gpush_call *c, gpush_result *r) {
    if (c->arg[1].i != 1) like(c, r);
    switch (c->arg[1].i) {
    case 2: r->dtype = 77; break;
    case 3: r->ndim = 99; break;
    case 4: r->ndim = -2; break;
    case 5: r->size[0] = -3; break;
    case 6: r->size[0] = INT64_MAX / 2; break;
    case 7: return gpush_fail(c, "no such shape: %d", 7);
    case 8: return 5;
    }
    return 0;
}

static void fail_part(void *context, int64_t begin, int64_t end) {
    gpush_fail((const gpush_call *)context, "part fails");
}

static int failing(const gpush_call *c) {
    switch (c->arg[1].i) {
    case 1: return gpush_fail(c, "x is not good enough: %.1f", *(double *)c->arg[0].tensor->data);
    case 2: return 7;
    case 3: gpush_parallel(c, 1 << 20, 1, fail_part, (void *)c); return 0;
    }
    return copy(c);
}

static int odd_gradient(gpush_gradient *g) {
    gpush_value *two = gpush_run(g, "mul", "tn", g->dy[0], 2.0);
    switch (g->arg[1].i) {
    case 0: g->dx[0] = two; break;
    case 1: gpush_run(g, "nothing", "t", two); break;
    case 2: g->dx[0] = gpush_run(g, "sum", "t", two); break;
    case 3: gpush_run(g, "mul", "t", two); break;
    case 4: gpush_run(g, "mul", "ttt", two, two, two); break;
    case 5: return gpush_fail_gradient(g, "not today");
    case 6: return 3;
    case 7: g->dx[0] = gpush_run(g, "to", "t-d", two, (int)GPUSH_I64); break;
    case 8: gpush_run(g, "mul", "tt", two, g->x[0]); break; /* which it does not save */
    case 9: gpush_run(g, "fused", "t", two); break;
    case 10: g->dx[0] = gpush_run(g, "matmul", "tt", two, two); break;
    }
    return 0;
}

static const gpush_op ops[] = {
    {.name = "probe_seen",
     .signature = "tensor x,int i=3,  float f=0.5 , bool b=true, dims? d, str s=\"abc\", "
                  "number n=2.5, dtype? t, dim along=-1",
     .help = "what a kernel gets",
     .shape = seen_shape,
     .cpu = seen},
    {.name = "probe_scale",
     .signature = "tensors! xs, float by",
     .help = "multiplies each of xs",
     .dtypes = "f64",
     .results = GPUSH_NO_RESULTS,
     .cpu = scale},
    {.name = "probe_times",
     .signature = "tensor x, tensors ys",
     .help = "x times the number of ys",
     .dtypes = "f64",
     .shape = like,
     .cpu = times,
     .gradient = times_gradient,
     .saves = ""},
    {.name = "probe_strided",
     .signature = "operand! a, operand b",
     .help = "a + 2 * b",
     .dtypes = "f64",
     .flags = GPUSH_STRIDED,
     .cpu = strided},
    {.name = "probe_both",
     .signature = "operand a, operand b",
     .help = "a - b and a + b",
     .dtypes = "f64",
     .results = 2,
     .cpu = both},
    {.name = "probe_shape",
     .signature = "tensor x, int how=0",
     .help = "x, by a rule that may be wrong",
     .dtypes = "f64",
     .shape = odd_shape,
     .cpu = copy},
    {.name = "probe_fails",
     .signature = "tensor x, int how=0",
     .help = "x, by a kernel that may fail",
     .dtypes = "f64",
     .shape = like,
     .cpu = failing},
    {.name = "probe_on_card",
     .signature = "tensor x",
     .help = "for a card alone",
     .shape = like,
     .cuda = copy},
    {.name = "probe_gradient",
     .signature = "tensor x, int how=0",
     .help = "x, by a gradient that may be wrong",
     .dtypes = "f64",
     .shape = like,
     .cpu = copy,
     .gradient = odd_gradient,
     .saves = ""},
};
GPUSH_LIBRARY(probe, ops)

/* ---- libraries that are refused: require "probe.NAME" ---- */

#define ROW(...)                                                                                   \
    { .help = "none", .cpu = copy, __VA_ARGS__ }
#define REFUSED(library, ...)                                                                      \
    static const gpush_op library##_ops[] = {__VA_ARGS__};                                         \
    GPUSH_LIBRARY(probe_##library, library##_ops)

REFUSED(signature, ROW(.name = "wrong_a", .signature = "tensr x"))
REFUSED(default, ROW(.name = "wrong_a", .signature = "tensor x, int n=1.5"))
REFUSED(no_text, ROW(.name = "wrong_a", .signature = "tensor x, str s=hello"))
REFUSED(field, ROW(.name = "shape", .signature = "tensor x"))
REFUSED(grad, ROW(.name = "requires_grad", .signature = "tensor x"))
REFUSED(keyword, ROW(.name = "for", .signature = "tensor x"))
REFUSED(luas, ROW(.name = "print", .signature = "tensor x"))
REFUSED(text, ROW(.name = "wrong_a", .signature = "tensor x, str s=\"abc"))
REFUSED(type, ROW(.name = "wrong_a", .signature = "tensor x, program p"))
REFUSED(twice, ROW(.name = "wrong_a", .signature = "tensor x, tensor x"))
REFUSED(none, ROW(.name = "wrong_a", .signature = "int n"))
REFUSED(many, ROW(.name = "wrong_a",
                  .signature = "tensor a, tensor b, tensor c, tensor d, tensor e, tensor f, "
                               "tensor g, tensor h, tensor i"))
REFUSED(written, ROW(.name = "wrong_a", .signature = "tensor x, tensor! y"))
REFUSED(optional, ROW(.name = "wrong_a", .signature = "tensor x, tensor? y"))
REFUSED(taken, ROW(.name = "matmul", .signature = "tensor x"))
REFUSED(composite, ROW(.name = "cdist", .signature = "tensor x"))
REFUSED(module, ROW(.name = "nn", .signature = "tensor x"))
REFUSED(other, ROW(.name = "probe_both", .signature = "tensor x"))
REFUSED(again, ROW(.name = "wrong_a", .signature = "tensor x"),
        ROW(.name = "wrong_a", .signature = "tensor x"))
REFUSED(name, ROW(.name = "Wrong-a", .signature = "tensor x"))
REFUSED(dtypes, ROW(.name = "wrong_a", .signature = "tensor x", .dtypes = "f32 quad"))
REFUSED(results, ROW(.name = "wrong_a", .signature = "tensor x", .results = 9))
REFUSED(kernel, {.name = "wrong_a", .signature = "tensor x", .help = "none"})
REFUSED(help, {.name = "wrong_a", .signature = "tensor x", .cpu = copy})
REFUSED(derivative, ROW(.name = "wrong_a", .signature = "tensor x", .derivative = "nothing"))
REFUSED(derivative_of, ROW(.name = "wrong_a", .signature = "tensor x", .derivative = "matmul"))
REFUSED(two_gradients, ROW(.name = "wrong_a", .signature = "tensor x", .derivative = "add",
                           .gradient = odd_gradient))
REFUSED(saves, ROW(.name = "wrong_a", .signature = "tensor x", .saves = "z"))

/* As one that is built by another header calls gpush. */
static int extend(lua_State *L, const gpush_library *library) {
    lua_getfield(L, LUA_REGISTRYINDEX, "gpush.extend");
    lua_pushlightuserdata(L, (void *)library);
    lua_callk(L, 1, 1, 0, NULL);
    return 1;
}

static const gpush_op plain[] = {ROW(.name = "wrong_a", .signature = "tensor x")};

GPUSH_EXPORT int luaopen_probe_abi(lua_State *L) {
    static const gpush_library it = {GPUSH_ABI + 1, sizeof(gpush_op), "probe_abi", plain, 1};
    return extend(L, &it);
}

/* A newer header of the same version: rows with fields at their end. */
typedef struct newer {
    gpush_op op;
    void *field;
} newer;

GPUSH_EXPORT int luaopen_probe_newer(lua_State *L) {
    static const newer rows[] = {{ROW(.name = "newer_a", .signature = "tensor x"), NULL},
                                 {ROW(.name = "newer_b", .signature = "tensor x"), NULL}};
    static const gpush_library it = {GPUSH_ABI, sizeof(newer), "probe_newer", &rows->op, 2};
    return extend(L, &it);
}

GPUSH_EXPORT int luaopen_probe_fields(lua_State *L) {
    static const newer rows[] = {{ROW(.name = "wrong_a", .signature = "tensor x"), (void *)extend}};
    static const gpush_library it = {GPUSH_ABI, sizeof(newer), "probe_fields", &rows->op, 1};
    return extend(L, &it);
}
