/* cross_entropy and its gradient. A thread takes a pixel where pixels are adjacent in memory; a
 * group of threads takes one whose classes are. Limit: the logits at the speed of memory, once
 * forward; backward read once, again from the caches, and written. */
#include "kernels/cuda/loss/labels.cuh"
#include "kernels/cuda/norm/parts.cuh"

GP_LABEL_TEXTS(cross_entropy)
GP_LABEL_TEXTS(cross_entropy_grad)

typedef struct cross_entropy_params {
    int64_t n, xs, ys,
        os; /* classes; bytes between those of x, of probabilities, of the gradient */
    gp_dtype xt, yt, gt, ot; /* gt: of the losses, or of g */
    bool soft;               /* the target holds class probabilities */
    double smooth;
    gp_labels labels;
    gp_class_weight weight;
    const double *weight_sum, *factor; /* of all classes; of a mean; NULL: n, 1 */
    int group;                         /* threads per pixel: 1, or 32 and more */
    bool plain;                        /* pixels are rows that are read as vectors */
} cross_entropy_params;

template <class T> __device__ static T scaled(const gp_exp_sum<T> &a, T most) {
    return a.m == most ? a.s : a.s * exp(a.m - most);
}

template <class T, class F> __device__ static T joined(T v, int group, F f) {
    return group == 1 ? v : gp_group_reduce(v, group, f);
}

/* A pixel and statistics of its logits: with labels p = x - m at the label and q = sum weight * (x
 * - m); with probabilities p = sum weight * y * (x - m), q = sum weight * y. */
template <class T, int D, int V> struct pixel {
    /* Elements that a thread reads before it uses the first. */
    enum { AHEAD = V > 4 ? 2 : D == GP_f16 || D == GP_bf16 ? 8 : 4, CHUNK = AHEAD * V };
    const cross_entropy_params *r;
    const char *x, *y;
    int64_t label, n; /* n: 0 for threads without a pixel */
    int lane;
    gp_exp_sum<T> a;
    T p, q;

    __device__ T at(int64_t c) const {
        T v[1];
        gp_fetch<T, D, 1>(v, x + c * r->xs, r->xt);
        return v[0];
    }
    /* Calls f(first, v) for this thread's chunks of classes: v[j] is x of class first + j / V * V *
     * group + j % V, and -INFINITY from n on. */
    template <class F> __device__ void chunks(F f) const {
        const int64_t spacing = (int64_t)V * r->group;
        for (int64_t c = lane * V; c < n; c += AHEAD * spacing) {
            T v[CHUNK];
            if constexpr (D == GP_ANY) { /* the last one is read again where there are fewer */
                const char *from[AHEAD];
                for (int k = 0; k < AHEAD; k++)
                    from[k] = c + k * spacing < n ? x + (c + k * spacing) * r->xs : from[k - 1];
                gp_load_at<T, AHEAD>(from, r->xt, v);
            } else {
                gp_vector<typename gp_memory<D>::type, V> raw[AHEAD] = {};
#pragma unroll
                for (int k = 0; k < AHEAD; k++)
                    if (c + k * spacing < n)
                        raw[k] =
                            *(const gp_vector<typename gp_memory<D>::type, V> *)(x +
                                                                                 (c + k * spacing) *
                                                                                     r->xs);
#pragma unroll
                for (int j = 0; j < CHUNK; j++)
                    v[j] = gp_load_as<T>(&raw[j / V].v[j % V], (gp_dtype)D);
            }
#pragma unroll
            for (int j = 0; j < CHUNK; j++)
                if (c + j / V * spacing >= n) v[j] = -INFINITY;
            f(c, v);
        }
    }
    /* Calls f(c, x of class c) for this thread's classes. */
    template <class F> __device__ void each(F f) const {
        chunks([&](int64_t c, const T(&v)[CHUNK]) {
#pragma unroll
            for (int j = 0; j < CHUNK; j++) {
                int64_t k = c + j / V * V * r->group + j % V;
                if (k < n) f(k, v[j]);
            }
        });
    }
    __device__ T share(int64_t c) const { /* of class c in the target, weighted */
        T v = gp_load_as<T>(y + c * r->ys, r->yt) * (T)(1 - r->smooth) + (T)(r->smooth / r->n);
        return gp_weight_of<T>(r->weight, c) * v;
    }
    /* seen: the label as it is in memory, which is on its way while the classes are read. */
    __device__ void read(int64_t seen) {
        a.m = -INFINITY, a.s = p = q = 0;
        chunks([&](int64_t, const T(&v)[CHUNK]) { a.add(v); });
        T most = joined(a.m, r->group, gp_max());
        a.s = joined(scaled(a, most), r->group, gp_add());
        a.m = most;
        label = r->soft || !n ? 0 : gp_label(r->labels, seen);
        if (!r->soft && n && label >= 0) p = at(label) - a.m;
        if (!r->soft && r->smooth == 0) return;
        each([&](int64_t c, T v) {
            if (r->soft) p += share(c) * (v - a.m), q += share(c);
            else q += gp_weight_of<T>(r->weight, c) * (v - a.m);
        });
        if (r->soft) p = joined(p, r->group, gp_add());
        q = joined(q, r->group, gp_add());
    }
};

/* Arrays: x, target, losses (or g), the gradient; all without the classes. */
template <class T, int D, int V>
__device__ static pixel<T, D, V> pixel_of(const cross_entropy_params *r, const gp_loop<4> &l,
                                          int64_t (&off)[4]) {
    pixel<T, D, V> k;
    uint32_t i = gp_group_number(r->group);
    bool live = i < l.numel;
    gp_offsets(l, live ? i : 0, off);
    k.r = r, k.n = live ? r->n : 0, k.lane = threadIdx.x % r->group;
    k.x = l.data[0] + off[0], k.y = l.data[1] + off[1];
    k.read(r->soft || !live ? 0 : gp_load_as<int64_t>(k.y, r->yt));
    return k;
}

template <class T> __device__ static T weight_sum(const cross_entropy_params &r) {
    return r.weight_sum ? (T)*r.weight_sum : (T)r.n;
}

template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS)
    losses(gp_loop<4> l, cross_entropy_params r, double *part) {
    int64_t off[4];
    pixel<T, D, V> k = pixel_of<T, D, V>(&r, l, off);
    T log_s = log(k.a.s), v = 1, loss;
    if (r.soft) {
        loss = k.q * log_s - k.p;
    } else {
        v = k.label < 0 ? 0 : gp_weight_of<T>(r.weight, k.label);
        loss = v * (T)(1 - r.smooth) * (log_s - k.p);
        if (r.smooth != 0) loss += (T)(r.smooth / r.n) * (weight_sum<T>(r) * log_s - k.q);
        if (k.label < 0) loss = 0;
    }
    bool mine = k.lane == 0 && gp_group_number(r.group) < l.numel;
    if (part) gp_add_block(part, mine ? loss : 0, mine ? v : 0);
    else if (mine) gp_store_as<T>(l.data[2] + off[2], r.gt, loss);
}

/* a * exp(x - m), minus the target's part: with labels e * weight, and b at the label; with
 * probabilities b times the class's share. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS)
    gradients(gp_loop<4> l, cross_entropy_params r) {
    int64_t off[4];
    pixel<T, D, V> k = pixel_of<T, D, V>(&r, l, off);
    T g = gp_load_as<T>(l.data[2] + off[2], r.gt) * (r.factor ? (T)*r.factor : (T)1), a, b, e = 0;
    char *out = l.data[3] + off[3];
    if (r.soft) {
        a = g * k.q / k.a.s, b = g;
    } else {
        T own = k.label < 0 ? 0 : gp_weight_of<T>(r.weight, k.label) * (T)(1 - r.smooth),
          each = (T)(r.smooth / r.n);
        bool skip = k.label < 0;
        b = skip ? 0 : g * own;
        e = skip ? 0 : g * each;
        a = skip ? 0 : g * (own + each * weight_sum<T>(r)) / k.a.s;
    }
    k.chunks([&](int64_t first, const auto &x) {
#pragma unroll
        for (int at = 0; at < (int)(sizeof x / sizeof *x); at += V) {
            T v[V];
            int64_t c = first + at * r.group;
            if (c >= k.n) break;
#pragma unroll
            for (int j = 0; j < V; j++) {
                v[j] = a * exp(x[at + j] - k.a.m);
                if (r.soft) v[j] -= b * k.share(c + j);
                else
                    v[j] -= (e != 0 ? e * gp_weight_of<T>(r.weight, c + j) : 0) +
                            (c + j == k.label ? b : 0);
            }
            gp_store_vector<T, D, V>(out + c * r.os, v, r.ot);
        }
    });
}

/* Weights of labels, of which a mean's gradient needs the sum. */
static __global__ void weigh(gp_loop<4> l, cross_entropy_params r, double *part) {
    uint32_t i = gp_element();
    int64_t off[4];
    double v = 0;
    if (i < l.numel) {
        gp_offsets(l, i, off);
        int64_t label = gp_label(r.labels, l.data[1] + off[1]);
        if (label >= 0) v = gp_weight_of<double>(r.weight, label);
    }
    gp_add_block(part, 0, v);
}

static __global__ void add_weights(gp_class_weight w, int64_t n, double *to) {
    double s = 0;
    for (int64_t i = threadIdx.x; i < n; i += GP_THREADS) s += gp_weight_of<double>(w, i);
    s = gp_group_reduce(s, GP_THREADS, gp_add());
    if (threadIdx.x == 0) *to = s;
}
static __global__ void one_over(double n, double *to) { *to = 1 / n; }

static bool rows_plain(const gp_array *x) {
    return x->contiguous && gp_row_plain(x->data, x->dim[x->ndim - 1], (gp_dtype)x->dtype);
}

/* Arguments from `at` on as in tensor/ops/loss.h; third: the losses or g; out: the gradient, or
 * x. */
static bool set_up(cross_entropy_params *r, gp_nest<4> *n, const gp_call *c, int at,
                   const gp_array *third, const gp_array *out, const char *const *texts) {
    const gp_array *x = gp_in(c, at + GP_LOSS_X), *target = gp_in(c, at + GP_LOSS_TARGET),
                   *weight = gp_in(c, at + GP_LOSS_WEIGHT);
    int d = x->ndim == 1 ? 0 : 1;
    r->n = x->dim[d];
    r->smooth = c->arg[at + GP_LOSS_SMOOTHING].f;
    r->soft = gp_is_float((gp_dtype)target->dtype);
    gp_array x1 = gp_without(x, d), t1 = r->soft ? gp_without(target, d) : *target,
             o1 = gp_without(out, d);
    r->xs = gp_step(x, d), r->ys = r->soft ? gp_step(target, d) : 0, r->os = gp_step(out, d);
    r->xt = (gp_dtype)x->dtype, r->yt = (gp_dtype)target->dtype;
    r->gt = (gp_dtype)third->dtype, r->ot = (gp_dtype)out->dtype;
    r->labels = gp_labels{r->yt, r->n, c->arg[at + GP_LOSS_IGNORE].i, gp_cuda_fault(c, texts, 1)};
    r->weight = gp_class_weight_of(weight);
    const gp_array *const arrays[4] = {&x1, &t1, third, &o1};
    if (r->n == 0) x1.numel = t1.numel;
    *n = gp_nest_of<4>(arrays);
    /* Classes are contiguous, or there are too few pixels to fill the device with one thread
     * each. */
    r->plain = r->n >= 32 && d == x->ndim - 1 && rows_plain(x) && rows_plain(out);
    int64_t each = r->plain ? 8 * 16 / gp_dtype_sizes[r->xt] : 8; /* classes of a thread */
    r->group = 1;
    if (r->n >= 32 && (r->xs == gp_dtype_sizes[r->xt] || n->numel < 1024))
        for (r->group = 32; r->group < GP_THREADS && r->n > each * r->group;) r->group *= 2;
    if (!weight || r->smooth == 0) return true;
    double *sum = (double *)gp_cuda_scratch(c, sizeof *sum);
    r->weight_sum = sum;
    return sum && GP_LAUNCH(c, add_weights, 1, GP_THREADS, 0, r->weight, r->n, sum);
}

static uint32_t blocks_of(const cross_entropy_params *r, int64_t pixels) {
    return gp_blocks(pixels, GP_THREADS / r->group);
}

/* fn<T, D, V>(...) for x's dtype. */
#define BY_LOGITS(r, fn, ...)                                                                      \
    ((r).xt == GP_f64 || ((r).soft && (r).yt == GP_f64) ? fn<double, GP_ANY, 1>(__VA_ARGS__)       \
     : (r).xt != (r).ot                                 ? fn<float, GP_ANY, 1>(__VA_ARGS__)        \
     : (r).xt == GP_f32 && (r).plain                    ? fn<float, GP_f32, 4>(__VA_ARGS__)        \
     : (r).xt == GP_f16 && (r).plain                    ? fn<float, GP_f16, 8>(__VA_ARGS__)        \
     : (r).xt == GP_bf16 && (r).plain                   ? fn<float, GP_bf16, 8>(__VA_ARGS__)       \
     : (r).xt == GP_f32                                 ? fn<float, GP_f32, 1>(__VA_ARGS__)        \
     : (r).xt == GP_f16                                 ? fn<float, GP_f16, 1>(__VA_ARGS__)        \
     : (r).xt == GP_bf16                                ? fn<float, GP_bf16, 1>(__VA_ARGS__)       \
                                                        : fn<float, GP_ANY, 1>(__VA_ARGS__))

/* part: NULL for unreduced losses; *at: blocks launched. */
template <class T, int D, int V>
static bool run_losses(const gp_call *c, const cross_entropy_params &r, const gp_nest<4> &n,
                       double *part, int64_t *at) {
    auto kernel = losses<T, D, V>;
    return gp_nest_run(n, [&](gp_loop<4> l, int64_t) {
        double *to = part ? part + 2 * *at : NULL;
        *at += blocks_of(&r, l.numel);
        return GP_LAUNCH(c, kernel, blocks_of(&r, l.numel), GP_THREADS, 0, l, r, to);
    });
}

template <class T, int D, int V>
static bool run_gradients(const gp_call *c, const cross_entropy_params &r, const gp_nest<4> &n) {
    auto kernel = gradients<T, D, V>;
    return gp_nest_run(n, [&](gp_loop<4> l, int64_t) {
        return GP_LAUNCH(c, kernel, blocks_of(&r, l.numel), GP_THREADS, 0, l, r);
    });
}

static double *parts(const gp_call *c, int64_t blocks) {
    return (double *)gp_cuda_scratch(c, (size_t)(2 * blocks + 64) * sizeof(double));
}

GP_C bool CUDA(cross_entropy)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int reduction = (int)c->arg[GP_LOSS_REDUCTION].i;
    cross_entropy_params r = {};
    gp_nest<4> n;
    int64_t at = 0;
    double *part = NULL;
    if (!set_up(&r, &n, c, 0, out, gp_in(c, GP_LOSS_X), texts_cross_entropy)) return false;
    if (reduction == GP_LOSS_EACH) return BY_LOGITS(r, run_losses, c, r, n, part, &at);
    return (part = parts(c, blocks_of(&r, n.numel))) != NULL &&
           BY_LOGITS(r, run_losses, c, r, n, part, &at) &&
           gp_sum_parts(c, part, at, out->data, (gp_dtype)out->dtype, reduction == GP_LOSS_MEAN);
}

/* 1 over the mean's count, in scratch memory. */
static bool find_factor(const gp_call *c, cross_entropy_params *r, const gp_nest<4> &n) {
    double *part = parts(c, gp_blocks(n.numel));
    int64_t at = 0;
    r->factor = part;
    if (!part) return false;
    if (r->soft) return GP_LAUNCH(c, one_over, 1, 1, 0, (double)n.numel, part);
    return gp_nest_run(n,
                       [&](gp_loop<4> l, int64_t) {
                           double *to = part + 2 * at;
                           at += gp_blocks(l.numel);
                           return GP_LAUNCH(c, weigh, gp_blocks(l.numel), GP_THREADS, 0, l, *r, to);
                       }) &&
           gp_sum_parts(c, part, at, NULL, GP_f64, true);
}

/* Arguments: g, then those of cross_entropy. */
GP_C bool CUDA(cross_entropy_grad)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    cross_entropy_params r = {};
    gp_nest<4> n;
    if (out->numel == 0) return true;
    return set_up(&r, &n, c, 1, gp_in(c, 0), out, texts_cross_entropy_grad) &&
           (c->arg[1 + GP_LOSS_REDUCTION].i != GP_LOSS_MEAN || find_factor(c, &r, n)) &&
           BY_LOGITS(r, run_gradients, c, r, n);
}
