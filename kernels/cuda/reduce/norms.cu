/* Reductions that are not rows of formulas: norms, nansum, nanmean, var and std, summed in f64;
 * logsumexp, aminmax and count_nonzero. Cards such as the T4 do one operation of f64 for 32 of f32:
 * what gives the same numbers in the elements' own type, or as an integer, is done so. */
#include "kernels/cuda/reduce/reduce.cuh"

#define GP_FN __device__ static inline

/* ---- sums in f64 of floats ---- */

/* One accumulator of type A, by the formulas of F. */
template <class F, class A, class Type> struct by_norm {
    typedef Type T;
    typedef A Acc;
    enum { LEAN = F::LEAN };
    GP_FN void start(A &a) { a = (A)F::first(); }
    GP_FN void fold(A &a, T x, double p, int64_t) { a = F::step(a, x, p); }
    GP_FN void join(A &a, A x) { a = F::merge(a, x); }
    GP_FN void finish(A a, double, double p, int, char *to, gp_dtype dt) {
        gp_store_as<double>(to, dt, F::result((double)a, p));
    }
};
/* sum: the accumulator's type, which may be T. */
#define NORM(name, sum, lean, from, step_, merge_, last)                                           \
    struct name##_formulas {                                                                       \
        enum { LEAN = lean };                                                                      \
        GP_FN double first() { return from; }                                                      \
        template <class A, class T> GP_FN A step(A acc, T x, [[maybe_unused]] double p) {          \
            return step_;                                                                          \
        }                                                                                          \
        template <class A> GP_FN A merge(A acc, A x) { return merge_; }                            \
        GP_FN double result(double acc, [[maybe_unused]] double p) { return last; }                \
    };                                                                                             \
    template <class T> struct name : by_norm<name##_formulas, sum, T> {};
/* acc + x x; a product of two f32 is exact in f64, fused or not. */
GP_FN double plus_square(double acc, float x) { return fma((double)x, (double)x, acc); }
GP_FN double plus_square(double acc, double x) { return acc + x * x; }
NORM(ones, int64_t, 1, 0, acc + (x != 0), acc + x, acc)
NORM(sizes, double, 1, 0, acc + fabs(x), acc + x, acc)
NORM(squares, double, 0, 0, plus_square(acc, x), acc + x, sqrt(acc))
NORM(powers, double, 1, 0, acc + pow(fabs((double)x), p), acc + x, pow(acc, 1 / p))
NORM(most, T, 1, 0, fabs(x) > acc || x != x ? fabs(x) : acc, x > acc || x != x ? x : acc, acc)
NORM(least, T, 1, INFINITY, fabs(x) < acc || x != x ? fabs(x) : acc, x < acc || x != x ? x : acc,
     acc)
NORM(known, double, 0, 0, acc + (x == x ? x : (T)0), acc + x, acc)

template <template <class> class R> static bool floats(const gp_call *c, int dims, double p) {
    return gp_in(c, 0)->dtype == GP_f64 ? gp_reduce<R<double>>(c, dims, p)
                                        : gp_reduce<R<float>>(c, dims, p);
}

/* Arguments: x, ord, a mask of dims, keepdim, dtype. */
GP_C bool CUDA(linalg_vector_norm)(const gp_call *c) {
    double p = c->arg[1].f;
    return p == 0           ? floats<ones>(c, 2, p)
           : p == 1         ? floats<sizes>(c, 2, p)
           : p == 2         ? floats<squares>(c, 2, p)
           : p == INFINITY  ? floats<most>(c, 2, p)
           : p == -INFINITY ? floats<least>(c, 2, p)
                            : floats<powers>(c, 2, p);
}

/* Arguments: x, a mask of dims, keepdim, dtype. Integers have no NaN. */
GP_C bool CUDA(sum)(const gp_call *c);
GP_C bool CUDA(nansum)(const gp_call *c) {
    return gp_is_float((gp_dtype)gp_in(c, 0)->dtype) ? floats<known>(c, 1, 0) : CUDA(sum)(c);
}

/* A sum, and the number of its elements. */
template <class Type> struct known_mean {
    typedef Type T;
    enum { LEAN = 1 };
    struct Acc {
        double sum;
        int64_t count;
    };
    GP_FN void start(Acc &a) { a.sum = 0, a.count = 0; }
    GP_FN void fold(Acc &a, T x, double, int64_t) {
        a.sum += x == x ? x : (T)0;
        a.count += x == x;
    }
    GP_FN void join(Acc &a, const Acc &b) { a.sum += b.sum, a.count += b.count; }
    GP_FN void finish(const Acc &a, double, double, int, char *to, gp_dtype dt) {
        gp_store_as<double>(to, dt, a.sum / (double)a.count);
    }
};
GP_C bool CUDA(nanmean)(const gp_call *c) { return floats<known_mean>(c, 1, 0); }

/* ---- var and std ---- */

/* Rounding must not leave a negative sum of squares; NaN stays. */
template <bool ROOT>
GP_FN void store_spread(double squares, double sum, double count, double correction, char *to,
                        gp_dtype dt) {
    double m2 = squares - sum * (sum / count);
    double var = fmax(m2, m2 - m2) / fmax(0.0, count - correction);
    gp_store_as<double>(to, dt, ROOT ? sqrt(var) : var);
}

/* Sums of the elements' distances from a shift and of their squares, of f32 and less. The shift is
 * the first element of all that are reduced into one: sums are added, in 16 bytes, and of n
 * distances f64 loses at most n 2^-53. */
template <class Type, bool ROOT> struct moments {
    typedef Type T;
    enum { LEAN = 0 };
    struct Acc {
        double sum, squares;
    };
    static_assert(sizeof(Acc) <= 20, "what a block down columns has registers for");
    GP_FN void start(Acc &a) { a.sum = a.squares = 0; }
    GP_FN void fold(Acc &a, T v, T shift, int64_t) {
        double d = (double)v - (double)shift;
        a.sum += d, a.squares = fma(d, d, a.squares);
    }
    GP_FN void join(Acc &a, const Acc &b) { a.sum += b.sum, a.squares += b.squares; }
    GP_FN void finish(const Acc &a, double count, double p, int, char *to, gp_dtype dt) {
        store_spread<ROOT>(a.squares, a.sum, count, p, to, dt);
    }
};
template <class T, bool ROOT> struct gp_fold_parameter<moments<T, ROOT>> {
    GP_FN T of(const gp_reduction &a, const char *first) {
        return first ? gp_load_as<T>(first, (gp_dtype)a.dtype) : (T)0;
    }
};

/* Of f64 each accumulator has a shift of its own, the first element that it meets. Combined after
 * Chan, Golub and LeVeque, 1979. p: the correction. */
template <bool ROOT> struct moments<double, ROOT> {
    typedef double T;
    enum { LEAN = 0 };
    struct Acc {
        double shift, sum, squares;
        int64_t count;
    };
    GP_FN void start(Acc &a) { a.shift = a.sum = a.squares = 0, a.count = 0; }
    GP_FN void fold(Acc &a, double x, double, int64_t) {
        if (a.count == 0) a.shift = x;
        double d = x - a.shift;
        a.sum += d, a.squares += d * d, a.count++;
    }
    GP_FN void join(Acc &a, const Acc &b) {
        if (b.count == 0) return;
        if (a.count == 0) {
            a = b;
            return;
        }
        double na = (double)a.count, nb = (double)b.count, all = na + nb, ma = a.shift + a.sum / na;
        double d = b.shift + b.sum / nb - ma;
        a.squares = a.squares - a.sum * (a.sum / na) + b.squares - b.sum * (b.sum / nb) +
                    d * d * (na * nb / all);
        a.shift = ma + d * (nb / all), a.sum = 0, a.count += b.count;
    }
    GP_FN void finish(const Acc &a, double count, double p, int, char *to, gp_dtype dt) {
        store_spread<ROOT>(a.squares, a.sum, count, p, to, dt);
    }
};
template <bool ROOT> struct gp_fold_parameter<moments<double, ROOT>> {
    GP_FN double of(const gp_reduction &, const char *) { return 0; }
};
template <class T> using variance = moments<T, false>;
template <class T> using deviation = moments<T, true>;

/* Arguments: x, a mask of dims, correction, keepdim. */
static double correction(const gp_call *c) {
    return c->arg[2].is_float ? c->arg[2].f : (double)c->arg[2].i;
}
GP_C bool CUDA(var)(const gp_call *c) { return floats<variance>(c, 1, correction(c)); }
GP_C bool CUDA(std)(const gp_call *c) { return floats<deviation>(c, 1, correction(c)); }

/* ---- logsumexp: the largest element m, and the sum of exp(x - m) ---- */

/* Equal values, including infinite ones, have distance 0. */
template <class Type> struct log_sum {
    typedef Type T;
    enum { LEAN = 1 };
    struct Acc {
        T m, s;
    };
    GP_FN void start(Acc &a) { a.m = -INFINITY, a.s = 0; }
    GP_FN void fold(Acc &a, T x, double, int64_t) {
        Acc one = {x, 1};
        join(a, one);
    }
    GP_FN void join(Acc &a, const Acc &b) {
        T d = b.m == a.m ? (T)0 : b.m - a.m, e = exp(d <= 0 ? d : -d);
        a.s = d <= 0 ? a.s + b.s * e : a.s * e + b.s;
        a.m = d <= 0 ? a.m : b.m;
    }
    GP_FN void finish(const Acc &a, double, double, int, char *to, gp_dtype dt) {
        gp_store_as<T>(to, dt, a.m + log(a.s));
    }
};
GP_C bool CUDA(logsumexp)(const gp_call *c) { return floats<log_sum>(c, 1, 0); }

/* ---- of any dtype ---- */

template <class T> struct ends {
    GP_FN T lowest() { return -INFINITY; }
    GP_FN T highest() { return INFINITY; }
};
template <> struct ends<int32_t> {
    GP_FN int32_t lowest() { return INT32_MIN; }
    GP_FN int32_t highest() { return INT32_MAX; }
};
template <> struct ends<int64_t> {
    GP_FN int64_t lowest() { return INT64_MIN; }
    GP_FN int64_t highest() { return INT64_MAX; }
};

template <class Type> struct extremes {
    typedef Type T;
    enum { LEAN = std::is_integral<T>::value };
    struct Acc {
        T lo, hi;
    };
    GP_FN void take(Acc &a, T lo, T hi) {
        a.lo = lo < a.lo || lo != lo ? lo : a.lo;
        a.hi = hi > a.hi || hi != hi ? hi : a.hi;
    }
    GP_FN void start(Acc &a) { a.lo = ends<T>::highest(), a.hi = ends<T>::lowest(); }
    GP_FN void fold(Acc &a, T x, double, int64_t) { take(a, x, x); }
    GP_FN void join(Acc &a, const Acc &b) { take(a, b.lo, b.hi); }
    GP_FN void finish(const Acc &a, double, double, int k, char *to, gp_dtype dt) {
        gp_store_as<T>(to, dt, k ? a.hi : a.lo);
    }
};
template <class T> static bool both(const gp_call *c) { return gp_reduce<extremes<T>>(c, 1, 0); }
GP_C bool CUDA(aminmax)(const gp_call *c) {
    return GP_BY_COMPUTE((gp_dtype)gp_in(c, 0)->dtype, both, c);
}

template <class Type> struct not_zero {
    typedef Type T;
    enum { LEAN = 1 };
    typedef int64_t Acc;
    GP_FN void start(int64_t &a) { a = 0; }
    GP_FN void fold(int64_t &a, T x, double, int64_t) { a += x != 0; }
    GP_FN void join(int64_t &a, int64_t b) { a += b; }
    GP_FN void finish(int64_t a, double, double, int, char *to, gp_dtype dt) {
        gp_store_as<int64_t>(to, dt, a);
    }
};
template <class T> static bool tally(const gp_call *c) { return gp_reduce<not_zero<T>>(c, 1, 0); }

/* Of eight elements of one byte at once. */
struct bytes_not_zero : not_zero<int64_t> {
    enum { LEAN = 0 };
    GP_FN void fold(int64_t &a, int64_t x, double, int64_t) {
        const uint64_t low = 0x7f7f7f7f7f7f7f7fu, v = (uint64_t)x;
        a += __popcll((((v & low) + low) | v) & ~low);
    }
};
/* All of x, whose bytes are adjacent, as numbers of 64 bits. */
static bool tally_bytes(const gp_call *c, const gp_array *x) {
    gp_array words = *x;
    words.dtype = GP_i64, words.ndim = 1, words.stride[0] = 1;
    words.dim[0] = words.numel = x->numel / 8;
    return gp_reduce_of<bytes_not_zero>(c, &words, 1, 0);
}

/* Arguments: x, a mask of dims. */
GP_C bool CUDA(count_nonzero)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0);
    if (gp_dtype_sizes[x->dtype] == 1 && x->contiguous && gp_out(c, 0)->numel == 1 &&
        x->numel % 16 == 0 && gp_aligned(x->data, 16))
        return tally_bytes(c, x);
    return GP_BY_COMPUTE((gp_dtype)gp_in(c, 0)->dtype, tally, c);
}
