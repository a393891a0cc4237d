/* Steps of optimizers and clipping of gradients: one launch for up to 48 tensors of each list,
 * whose elements are divided into chunks. Limit: each list's bytes at the speed of memory, read,
 * and written where the step writes it. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/runtime/rows.cuh"

#define STEP_FN __host__ __device__ static inline
#include "kernels/common/optim_step.h"

#define RULE_FN __device__ static
#define TEMPLATE "kernels/common/optim_rules.h"
#include "kernels/common/floats.inc"

enum { LISTS = ROUNDED + 1, TENSORS = 48, CHUNK = 4096 };

/* A launch's tensors: together with a step they fit in the 4 KB of a kernel's parameters. */
typedef struct batch {
    char *p[LISTS][TENSORS];
    int64_t n[TENSORS];
    uint32_t first[TENSORS + 1]; /* chunk at which each begins */
    uint8_t dtype[LISTS][TENSORS];
    int count;
} batch;
static_assert(sizeof(batch) <= 4096 - 256, "a batch and a step are parameters of one kernel");
static_assert(GP_DTYPES <= UINT8_MAX, "dtypes are stored in bytes");

/* Updates one element of each list; k: values that are not in the step. */
#define RULE(name)                                                                                 \
    struct rule_##name {                                                                           \
        __device__ static void run(const gp_optim_step *s, double, float *const *x) {              \
            name##_f32(s, x, 1);                                                                   \
        }                                                                                          \
        __device__ static void run(const gp_optim_step *s, double, double *const *x) {             \
            name##_f64(s, x, 1);                                                                   \
        }                                                                                          \
    };
RULE(sgd)
RULE(adam)
RULE(rmsprop)
RULE(adagrad)
#undef RULE
#define RULE(name)                                                                                 \
    struct rule_##name {                                                                           \
        __device__ static void run(const gp_optim_step *, double k, float *const *x) {             \
            name##_f32(&k, x, 1);                                                                  \
        }                                                                                          \
        __device__ static void run(const gp_optim_step *, double k, double *const *x) {            \
            name##_f64(&k, x, 1);                                                                  \
        }                                                                                          \
    };
RULE(scale)
RULE(limit)
#undef RULE

/* The tensor that this block's chunk belongs to; the chunk's elements start at *from. */
__device__ static int tensor_of(const batch &b, int64_t *from) {
    int lo = 0, hi = b.count;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (b.first[mid] <= blockIdx.x) lo = mid;
        else hi = mid;
    }
    *from = (int64_t)(blockIdx.x - b.first[lo]) * CHUNK;
    return lo;
}

/* A step whose arguments are on the device, as step_begin left it. */
typedef struct begun {
    gp_optim_step s;
    bool go;
} begun;

static __global__ void begin(begun *to, gp_optim_step s, on_device d) {
    to->go = step_begin(&s, &d);
    to->s = s;
}

/* GIVEN, WRITES: bit masks of the lists that are present, and of those that are written; begun:
 * replaces s, unless NULL. A list ROUNDED gets what the rule leaves in the first. */
template <class C, int D, int V, class R, int GIVEN, int WRITES>
static __global__ void update(batch b, gp_optim_step s, double k, const double *factor,
                              const begun *own) {
    int64_t from;
    if (own && !own->go) return;
    if (own) s = own->s;
    int u = tensor_of(b, &from);
    int64_t end = from + CHUNK < b.n[u] ? from + CHUNK : b.n[u];
    if (factor) k = *factor;
    if (factor && k == 1) return;
    for (int64_t i = from + threadIdx.x * V; i < end; i += GP_THREADS * V) {
        C v[LISTS][V];
#pragma unroll
        for (int j = 0; j < LISTS; j++)
            if (GIVEN >> j & 1 && j != ROUNDED)
                gp_fetch<C, D, V>(v[j], b.p[j][u] + i * gp_bytes_of((gp_dtype)b.dtype[j][u]),
                                  (gp_dtype)b.dtype[j][u]);
#pragma unroll
        for (int e = 0; e < V; e++) {
            C *x[LISTS];
#pragma unroll
            for (int j = 0; j < LISTS; j++) x[j] = GIVEN >> j & 1 ? &v[j][e] : NULL;
            R::run(&s, k, x);
            if (GIVEN >> ROUNDED & 1) v[ROUNDED][e] = v[0][e];
        }
#pragma unroll
        for (int j = 0; j < LISTS; j++)
            if (GIVEN & WRITES & 1 << j)
                gp_store_vector<C, D, V>(b.p[j][u] + i * gp_bytes_of((gp_dtype)b.dtype[j][u]), v[j],
                                         (gp_dtype)b.dtype[j][u]);
    }
}

/* ---- batches ---- */

/* The lists in a call's first arguments, and that in argument `rounded`, as flat arrays: those with
 * gaps are copied, and copied back. */
typedef struct lists {
    const gp_call *c;
    int count, given; /* tensors of each; bit mask of lists that are present */
    int rounded;
    char **copy; /* LISTS * count addresses, NULL where a tensor is flat itself */
} lists;

static const gp_array *array_of(const lists *l, int j, int k) {
    return l->c->arg[j == ROUNDED ? l->rounded : j].arrays[k];
}

/* Whether tensor k of all lists has one dense order, so that elements can be processed in place. */
static bool flat(const lists *l, int k) {
    const gp_array *first = array_of(l, 0, k);
    bool all = true, same = true;
    int64_t end = 1;
    for (int j = 0; j < LISTS; j++) {
        if (!(l->given >> j & 1)) continue;
        const gp_array *a = array_of(l, j, k);
        all = all && a->contiguous;
        for (int d = 0; d < a->ndim; d++) same = same && a->stride[d] == first->stride[d];
    }
    for (int d = 0; d < first->ndim; d++) {
        if (first->stride[d] < 0) same = false;
        end += (first->dim[d] - 1) * first->stride[d];
    }
    return all || (same && end == first->numel);
}

/* Memory for copies of what is not flat, in one block; filled. rounded: 0 for none. */
static bool open_lists(lists *l, const gp_call *c, int n, int rounded) {
    size_t bytes = 0;
    *l = lists{c, c->arg[0].n, 0, rounded, NULL};
    for (int j = 0; j < n; j++) l->given |= (gp_given(c, j) ? 1 : 0) << j;
    if (rounded && gp_given(c, rounded)) l->given |= 1 << ROUNDED;
    size_t heads = (size_t)(LISTS * l->count) * sizeof *l->copy;
    if (!(l->copy = (char **)gp_cuda_table(c, heads))) return false;
    memset(l->copy, 0, heads);
    for (int pass = 0; pass < 2; pass++) {
        char *scratch = pass && bytes ? (char *)gp_cuda_scratch(c, bytes) : NULL;
        if (pass && bytes && !scratch) return false;
        for (int k = 0; k < l->count && (!pass || bytes); k++) {
            if (flat(l, k)) continue;
            for (int j = 0; j < LISTS; j++) {
                if (!(l->given >> j & 1)) continue;
                const gp_array *a = array_of(l, j, k);
                size_t size = (size_t)(a->numel * gp_dtype_sizes[a->dtype] + 255) / 256 * 256;
                if (!pass) {
                    bytes += size;
                    continue;
                }
                gp_array to =
                    gp_dense_over(a, (gp_dtype)a->dtype, l->copy[j * l->count + k] = scratch);
                scratch += size;
                if (!gp_cuda_copy_array(c, &to, a)) return false;
            }
        }
    }
    return true;
}

/* Copies written lists back. */
static bool close_lists(const lists *l, int writes) {
    for (int j = 0; j < LISTS; j++)
        for (int k = 0; k < l->count; k++) {
            if (!(l->given & writes & 1 << j) || !l->copy[j * l->count + k]) continue;
            const gp_array *a = array_of(l, j, k);
            gp_array from = gp_dense_over(a, (gp_dtype)a->dtype, l->copy[j * l->count + k]);
            if (!gp_cuda_copy_array(l->c, a, &from)) return false;
        }
    return true;
}

static char *data_of(const lists *l, int j, int k) {
    char *copy = l->copy[j * l->count + k];
    return copy ? copy : array_of(l, j, k)->data;
}

typedef enum kind { VECTORS, NARROW, WIDE, KINDS } kind;

static kind kind_of(const lists *l, int k) {
    bool vectors = true;
    if (array_of(l, 0, k)->dtype == GP_f64) return WIDE;
    for (int j = 0; j < LISTS; j++)
        if (l->given >> j & 1)
            vectors = vectors && array_of(l, j, k)->dtype == GP_f32 &&
                      gp_aligned(data_of(l, j, k), 16) && array_of(l, j, k)->numel % 4 == 0;
    return vectors ? VECTORS : NARROW;
}

/* Calls launch(batch, kind) for batches that together have all tensors. */
template <class F> static bool each_batch(const lists *l, F launch) {
    for (int q = 0; q < KINDS; q++) {
        batch b = {};
        for (int k = 0; k <= l->count; k++) {
            if (b.count && (k == l->count || b.count == TENSORS)) {
                if (!launch(b, (kind)q)) return false;
                b = batch{};
            }
            if (k == l->count || array_of(l, 0, k)->numel == 0 || kind_of(l, k) != q) continue;
            b.n[b.count] = array_of(l, 0, k)->numel;
            b.first[b.count + 1] = b.first[b.count] + gp_blocks(b.n[b.count], CHUNK);
            for (int j = 0; j < LISTS; j++) {
                if (!(l->given >> j & 1)) continue;
                b.p[j][b.count] = data_of(l, j, k);
                b.dtype[j][b.count] = array_of(l, j, k)->dtype;
            }
            b.count++;
        }
    }
    return true;
}

template <class R, int GIVEN, int WRITES>
static bool run_batches(const lists *l, const gp_optim_step &s, double k, const double *factor,
                        const begun *own) {
    auto vectors = update<float, GP_f32, 4, R, GIVEN, WRITES>;
    auto narrow = update<float, GP_ANY, 1, R, GIVEN, WRITES>;
    auto wide = update<double, GP_ANY, 1, R, GIVEN, WRITES>;
    return each_batch(l,
                      [&](const batch &b, kind q) {
                          auto kernel = q == VECTORS ? vectors : q == NARROW ? narrow : wide;
                          return GP_LAUNCH(l->c, kernel, b.first[b.count], GP_THREADS, 0, b, s, k,
                                           factor, own);
                      }) &&
           close_lists(l, WRITES);
}

/* ---- the ops ---- */

/* A step: GIVEN are the lists without rounded, which may be there or not. */
template <class R, int GIVEN, int WRITES>
static bool run_step(const lists *l, const gp_optim_step &s) {
    on_device d = on_device_of(l->c, l->rounded + 1);
    begun *own = NULL;
    if (d.steps || d.grad_scale || d.found_inf) {
        if (!(own = (begun *)gp_cuda_scratch(l->c, sizeof *own)) ||
            !GP_LAUNCH(l->c, begin, 1, 1, 0, own, s, d))
            return false;
    }
    const int ALSO = 1 << ROUNDED;
    return l->given & ALSO ? run_batches<R, GIVEN | ALSO, WRITES | ALSO>(l, s, 0, NULL, own)
                           : run_batches<R, GIVEN, WRITES>(l, s, 0, NULL, own);
}

GP_C bool CUDA(sgd_step)(const gp_call *c) {
    lists l;
    gp_optim_step s = sgd_of(c);
    if (!open_lists(&l, c, 3, SGD_ROUNDED)) return false;
    return l.given & 4 ? run_step<rule_sgd, 7, SGD_WRITES>(&l, s)
                       : run_step<rule_sgd, 3, SGD_WRITES>(&l, s);
}

GP_C bool CUDA(adam_step)(const gp_call *c) {
    lists l;
    gp_optim_step s = adam_of(c);
    if (!open_lists(&l, c, 5, ADAM_ROUNDED)) return false;
    return l.given & 16 ? run_step<rule_adam, 31, ADAM_WRITES>(&l, s)
                        : run_step<rule_adam, 15, ADAM_WRITES>(&l, s);
}

GP_C bool CUDA(rmsprop_step)(const gp_call *c) {
    lists l;
    gp_optim_step s = rmsprop_of(c);
    if (!open_lists(&l, c, 5, RMSPROP_ROUNDED)) return false;
    switch (l.given & 31) {
    case 31: return run_step<rule_rmsprop, 31, RMSPROP_WRITES>(&l, s);
    case 23: return run_step<rule_rmsprop, 23, RMSPROP_WRITES>(&l, s);
    case 15: return run_step<rule_rmsprop, 15, RMSPROP_WRITES>(&l, s);
    default: return run_step<rule_rmsprop, 7, RMSPROP_WRITES>(&l, s);
    }
}

GP_C bool CUDA(adagrad_step)(const gp_call *c) {
    lists l;
    gp_optim_step s = adagrad_of(c);
    return open_lists(&l, c, 3, ADAGRAD_ROUNDED) &&
           run_step<rule_adagrad, 7, ADAGRAD_WRITES>(&l, s);
}

/* Arguments: grads, clip_value. */
GP_C bool CUDA(clip_grad_value)(const gp_call *c) {
    lists l;
    return open_lists(&l, c, 1, 0) &&
           run_batches<rule_limit, 1, 1>(&l, gp_optim_step{}, c->arg[1].f, NULL, NULL);
}

/* ---- gradient scaling ---- */

/* Divides by *scale, or only looks (NULL); all that find an element infinite or NaN write 1. */
template <class C, int D, int V>
static __global__ void unscale(batch b, const float *scale, float *found) {
    int64_t from;
    int u = tensor_of(b, &from);
    int64_t end = from + CHUNK < b.n[u] ? from + CHUNK : b.n[u];
    gp_dtype dt = (gp_dtype)b.dtype[0][u];
    C factor = scale ? (C)(1 / (double)*scale) : (C)1;
    bool bad = false;
    for (int64_t i = from + threadIdx.x * V; i < end; i += GP_THREADS * V) {
        C v[V];
        char *p = b.p[0][u] + i * gp_bytes_of(dt);
        gp_fetch<C, D, V>(v, p, dt);
        for (int e = 0; e < V; e++) {
            bad = bad || v[e] - v[e] != 0;
            v[e] *= factor;
        }
        if (scale) gp_store_vector<C, D, V>(p, v, dt);
    }
    if (bad) *found = 1;
}

/* Arguments: grads, scale, found_inf, check. */
GP_C bool CUDA(amp_unscale)(const gp_call *c) {
    lists l;
    bool check = c->arg[3].i;
    const float *scale = check ? NULL : (const float *)(void *)c->arg[1].a->data;
    float *found = (float *)(void *)c->arg[2].a->data;
    if (!open_lists(&l, c, 1, 0)) return false;
    auto vectors = unscale<float, GP_f32, 4>;
    auto narrow = unscale<float, GP_ANY, 1>;
    auto wide = unscale<double, GP_ANY, 1>;
    return each_batch(&l,
                      [&](const batch &b, kind q) {
                          auto kernel = q == VECTORS ? vectors : q == NARROW ? narrow : wide;
                          return GP_LAUNCH(c, kernel, b.first[b.count], GP_THREADS, 0, b, scale,
                                           found);
                      }) &&
           close_lists(&l, check ? 0 : 1);
}

static __global__ void update_scale(float *scale, float *tracker, const float *found, float growth,
                                    float backoff, float interval) {
    scale_update(scale, tracker, *found != 0, growth, backoff, interval);
}

/* Arguments: state, found_inf, growth_factor, backoff_factor, growth_interval. */
GP_C bool CUDA(amp_update_scale)(const gp_call *c) {
    float *scale = (float *)(void *)c->arg[0].arrays[0]->data;
    float *tracker = (float *)(void *)c->arg[0].arrays[1]->data;
    return GP_LAUNCH(c, update_scale, 1, 1, 0, scale, tracker,
                     (const float *)(void *)c->arg[1].a->data, (float)c->arg[2].f,
                     (float)c->arg[3].f, (float)c->arg[4].i);
}

/* ---- clip_grad_norm ---- */

struct most_of {
    __device__ double operator()(double a, double b) const { return b <= a || a != a ? a : b; }
};

/* A chunk's sum of |x|^power, or its largest |x|; in f64. */
template <class C, int D, int V>
static __global__ void add_powers(batch b, double power, double *part) {
    int64_t from;
    int u = tensor_of(b, &from);
    int64_t end = from + CHUNK < b.n[u] ? from + CHUNK : b.n[u];
    double s = 0;
    for (int64_t i = from + threadIdx.x * V; i < end; i += GP_THREADS * V) {
        C v[V];
        gp_fetch<C, D, V>(v, b.p[0][u] + i * gp_bytes_of((gp_dtype)b.dtype[0][u]),
                          (gp_dtype)b.dtype[0][u]);
        for (int e = 0; e < V; e++) {
            double x = fabs((double)v[e]);
            if (power == 2) s += x * x;
            else if (isinf(power)) s = most_of()(s, x);
            else s += power == 1 ? x : pow(x, power);
        }
    }
    s = isinf(power) ? gp_group_reduce(s, GP_THREADS, most_of())
                     : gp_group_reduce(s, GP_THREADS, gp_add());
    if (threadIdx.x == 0) part[blockIdx.x] = s;
}

enum { NORM_THREADS = 1024 }; /* of settle_norm */

/* One block: stores the norm in out, and in part[0] the factor of the gradients: as in PyTorch
 * max_norm / (norm + 1e-6), at most 1. */
static __global__ void __launch_bounds__(NORM_THREADS)
    settle_norm(double *part, int64_t n, double power, double max_norm, char *out, gp_dtype dt) {
    double s = 0;
    bool most = isinf(power);
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < n; i += NORM_THREADS)
        s = most ? most_of()(s, part[i]) : s + part[i];
    s = most ? gp_group_reduce(s, NORM_THREADS, most_of())
             : gp_group_reduce(s, NORM_THREADS, gp_add());
    if (threadIdx.x) return;
    s = most ? s : power == 2 ? sqrt(s) : pow(s, 1 / power);
    gp_store_as<double>(out, dt, s);
    double factor = max_norm / (s + 1e-6);
    part[0] = factor >= 1 ? 1 : factor;
}

/* Arguments: grads, max_norm, norm_type. An infinite max_norm only computes the norm. */
GP_C bool CUDA(clip_grad_norm)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    double max_norm = c->arg[1].f, power = c->arg[2].f, *part;
    int64_t chunks = 0, at = 0;
    lists l;
    if (!open_lists(&l, c, 1, 0)) return false;
    for (int k = 0; k < l.count; k++) chunks += gp_blocks(array_of(&l, 0, k)->numel, CHUNK);
    if (!(part = (double *)gp_cuda_scratch(c, (size_t)(chunks + 1) * sizeof *part))) return false;
    auto vectors = add_powers<float, GP_f32, 4>;
    auto narrow = add_powers<float, GP_ANY, 1>;
    auto wide = add_powers<double, GP_ANY, 1>;
    bool ok = each_batch(&l, [&](const batch &b, kind q) {
        auto kernel = q == VECTORS ? vectors : q == NARROW ? narrow : wide;
        double *to = part + at;
        at += b.first[b.count];
        return GP_LAUNCH(c, kernel, b.first[b.count], GP_THREADS, 0, b, power, to);
    });
    return ok &&
           GP_LAUNCH(c, settle_norm, 1, NORM_THREADS, 0, part, chunks, power, max_norm, out->data,
                     (gp_dtype)out->dtype) &&
           (isinf(max_norm) || run_batches<rule_scale, 1, 1>(&l, gp_optim_step{}, 0, part, NULL));
}
