/* A library that adds ops to gpush: hypot3, elementwise, and cityblock, with a shape of its own. */
#include <lua.h>
#include <math.h>

#include <gpush/op.h>

/* hypot3: the operands have been converted to one dtype; of a single element the step is 0. */
static void hypot3_part(void *context, int64_t begin, int64_t end) {
    const gpush_call *c = context;
    const gpush_tensor *x = c->arg[0].tensor, *y = c->arg[1].tensor, *z = c->arg[2].tensor;
    const float *xs = x->data, *ys = y->data, *zs = z->data;
    float *out = c->result[0].data;
    for (int64_t i = begin; i < end; i++)
        out[i] = hypotf(hypotf(xs[i * x->step], ys[i * y->step]), zs[i * z->step]);
}

static int hypot3(const gpush_call *c) {
    gpush_parallel(c, c->result[0].numel, 4096, hypot3_part, (void *)c);
    return 0;
}

/* Its gradient is composed of gpush's ops: dy x / y of each operand. */
static int hypot3_gradient(gpush_gradient *g) {
    for (int i = 0; i < 3; i++)
        if (g->wanted[i])
            g->dx[i] =
                gpush_run(g, "mul", "tt", g->dy[0], gpush_run(g, "div", "tt", g->x[i], g->y[0]));
    return 0;
}

/* cityblock: n x d and m x d make n x m. */
static int cityblock_shape(const gpush_call *c, gpush_result *result) {
    const gpush_tensor *x = c->arg[0].tensor, *y = c->arg[1].tensor;
    if (x->ndim != 2 || y->ndim != 2 || x->size[1] != y->size[1])
        return gpush_fail(c, "expected x of n x d and y of m x d");
    result[0] = (gpush_result){.dtype = x->dtype, .ndim = 2, .size = {x->size[0], y->size[0]}};
    return 0;
}

static int cityblock(const gpush_call *c) {
    const gpush_tensor *x = c->arg[0].tensor, *y = c->arg[1].tensor;
    int64_t n = x->size[0], m = y->size[0], d = x->size[1];
    const float *a = x->data, *b = y->data;
    float *out = c->result[0].data;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            float sum = 0;
            for (int64_t k = 0; k < d; k++) sum += fabsf(a[i * d + k] - b[j * d + k]);
            out[i * m + j] = sum;
        }
    return 0;
}

/* Its gradient is an op, too: of the gradient g, the arguments and the result. */
static int cityblock_grad_shape(const gpush_call *c, gpush_result *result) {
    for (int i = 0; i < 2; i++) {
        const gpush_tensor *t = c->arg[1 + i].tensor;
        result[i] = (gpush_result){.dtype = t->dtype, .ndim = 2, .size = {t->size[0], t->size[1]}};
    }
    return 0;
}

static int cityblock_grad(const gpush_call *c) {
    const gpush_tensor *x = c->arg[1].tensor, *y = c->arg[2].tensor;
    int64_t n = x->size[0], m = y->size[0], d = x->size[1];
    const float *g = c->arg[0].tensor->data, *a = x->data, *b = y->data;
    float *da = c->result[0].data, *db = c->result[1].data;
    for (int64_t i = 0; i < n * d; i++) da[i] = 0;
    for (int64_t i = 0; i < m * d; i++) db[i] = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < d; k++) {
                float left = a[i * d + k] - b[j * d + k];
                float slope = (float)((left > 0) - (left < 0)) * g[i * m + j];
                da[i * d + k] += slope, db[j * d + k] -= slope;
            }
    return 0;
}

static const gpush_op ops[] = {
    {.name = "hypot3",
     .signature = "operand! x, operand y, operand z",
     .help = "length of the vectors (x, y, z)",
     .dtypes = "f32",
     .cpu = hypot3,
     .gradient = hypot3_gradient},
    {.name = "cityblock",
     .signature = "tensor x, tensor y",
     .help = "sums of |x - y| over the last dim, for each row of x and each of y",
     .dtypes = "f32",
     .shape = cityblock_shape,
     .cpu = cityblock,
     .derivative = "cityblock_grad"},
    {.name = "cityblock_grad",
     .signature = "tensor g, tensor x, tensor y, tensor result",
     .help = "gradients of cityblock by x and y",
     .dtypes = "f32",
     .results = 2,
     .shape = cityblock_grad_shape,
     .cpu = cityblock_grad},
};
GPUSH_LIBRARY(distances, ops)
