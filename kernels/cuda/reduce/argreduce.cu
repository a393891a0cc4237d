/* argmax, argmin, and max and min along a dim: the first of the largest (smallest) elements, with
 * its index; NaN wins. */
#include "kernels/cuda/reduce/reduce.cuh"

#define GP_FN __device__ static inline

/* p: outputs are indices only; else the first is the value. */
template <class Type, bool MIN> struct extreme_index {
    typedef Type T;
    enum { LEAN = std::is_integral<T>::value };
    struct Acc {
        T best;
        int64_t at; /* -1: no element yet */
    };
    GP_FN void start(Acc &a) { a.best = 0, a.at = -1; }
    GP_FN void take(Acc &a, T x, int64_t at) {
        bool better = (MIN ? x < a.best : x > a.best) || (x != x && a.best == a.best);
        bool equal = x == a.best || (x != x && a.best != a.best);
        if (a.at < 0 || better || (equal && at < a.at)) a.best = x, a.at = at;
    }
    GP_FN void fold(Acc &a, T x, double, int64_t at) { take(a, x, at); }
    GP_FN void join(Acc &a, const Acc &b) {
        if (b.at >= 0) take(a, b.best, b.at);
    }
    GP_FN void finish(const Acc &a, double, double p, int k, char *to, gp_dtype dt) {
        if (p || k) gp_store_as<int64_t>(to, dt, a.at + 1);
        else gp_store_as<T>(to, dt, a.best);
    }
};

/* Over dim d; d < 0: all of x, which is contiguous then. */
template <class T>
static bool search(const gp_call *c, const gp_array *x, int d, bool min, bool indices) {
    uint64_t mask = d < 0 || x->ndim == 0 ? ~(uint64_t)0 : (uint64_t)1 << d;
    return min ? gp_reduce_of<extreme_index<T, true>>(c, x, mask, indices)
               : gp_reduce_of<extreme_index<T, false>>(c, x, mask, indices);
}

static bool arg_of(const gp_call *c, bool min) {
    bool whole = !gp_given(c, 1);
    const gp_array *x = whole ? c->tmpa[0] : gp_in(c, 0);
    return GP_BY_COMPUTE((gp_dtype)x->dtype, search, c, x, whole ? -1 : (int)c->arg[1].i - 1, min,
                         true);
}
GP_C bool CUDA(argmax)(const gp_call *c) { return arg_of(c, false); }
GP_C bool CUDA(argmin)(const gp_call *c) { return arg_of(c, true); }

static bool along(const gp_call *c, bool min) {
    const gp_array *x = gp_in(c, 0);
    return GP_BY_COMPUTE((gp_dtype)x->dtype, search, c, x, (int)c->arg[1].i - 1, min, false);
}

GP_C bool CUDA(amax)(const gp_call *c);
GP_C bool CUDA(amin)(const gp_call *c);
GP_C bool CUDA(maximum)(const gp_call *c);
GP_C bool CUDA(minimum)(const gp_call *c);

/* Two outputs: along a dim, with indices. One: of two tensors, or of everything. */
GP_C bool CUDA(max)(const gp_call *c) {
    if (c->nout == 2) return along(c, false);
    return c->arg[1].kind == GP_TENSOR ? CUDA(maximum)(c) : CUDA(amax)(c);
}
GP_C bool CUDA(min)(const gp_call *c) {
    if (c->nout == 2) return along(c, true);
    return c->arg[1].kind == GP_TENSOR ? CUDA(minimum)(c) : CUDA(amin)(c);
}
