/* Loops over strided arrays, and conversion between dtypes in memory and compute types. gp_nd_loop
 * sorts the dims by the output's strides and joins those that all arrays allow, so that most loops
 * are one long row; gp_row_iter steps through the others. Kernels compute in f32, f64, i32 or i64:
 * gp_load_fn and gp_store_fn give the conversions of a dtype, vectorised where the elements are
 * adjacent. */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/widen.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

static void swap_dims(gp_nd_loop *l, int a, int b) {
    int64_t t = l->dim[a];
    l->dim[a] = l->dim[b], l->dim[b] = t;
    for (int k = 0; k < l->n; k++)
        t = l->stride[k][a], l->stride[k][a] = l->stride[k][b], l->stride[k][b] = t;
}

static int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride; }

/* The output's strides decide the order; equal ones (expanded) leave it as it is. */
static void sort_dims(gp_nd_loop *l) {
    for (int i = 1; i < l->ndim; i++)
        for (int j = i; j > 0 && distance(l->stride[0][j - 1]) < distance(l->stride[0][j]); j--)
            swap_dims(l, j - 1, j);
}

static bool joinable(const gp_nd_loop *l, int outer, int inner) {
    for (int k = 0; k < l->n; k++)
        if (l->stride[k][outer] != l->stride[k][inner] * l->dim[inner]) return false;
    return true;
}

static void join_dims(gp_nd_loop *l) {
    int n = 0;
    for (int i = 0; i < l->ndim; i++) {
        if (n && joinable(l, n - 1, i)) {
            l->dim[n - 1] *= l->dim[i];
            for (int k = 0; k < l->n; k++) l->stride[k][n - 1] = l->stride[k][i];
            continue;
        }
        l->dim[n] = l->dim[i];
        for (int k = 0; k < l->n; k++) l->stride[k][n] = l->stride[k][i];
        n++;
    }
    l->ndim = n;
}

void gp_nd_loop_init(gp_nd_loop *l, int n, const gp_array *const *arrays) {
    const gp_array *out = arrays[0];
    l->n = n;
    l->ndim = 0;
    l->numel = out->numel;
    for (int k = 0; k < n; k++) l->data[k] = arrays[k]->data;
    for (int i = 0; i < out->ndim; i++) {
        if (out->dim[i] == 1) continue;
        l->dim[l->ndim] = out->dim[i];
        for (int k = 0; k < n; k++) {
            const gp_array *a = arrays[k];
            int j = i - (out->ndim - a->ndim);
            int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype);
            l->stride[k][l->ndim] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j] * size;
        }
        l->ndim++;
    }
    if (l->ndim == 0) {
        l->ndim = 1;
        l->dim[0] = out->numel;
        for (int k = 0; k < n; k++) l->stride[k][0] = 0;
        return;
    }
    sort_dims(l);
    join_dims(l);
}

void gp_nd_loop_at(const gp_nd_loop *l, int64_t i, char **p) {
    for (int k = 0; k < l->n; k++) p[k] = l->data[k];
    for (int d = l->ndim - 1; d >= 0; d--) {
        int64_t at = i % l->dim[d];
        i /= l->dim[d];
        for (int k = 0; k < l->n; k++) p[k] += at * l->stride[k][d];
    }
}

void gp_row_iter_begin(gp_row_iter *r, const gp_nd_loop *l, int64_t i) {
    i /= l->dim[l->ndim - 1];
    for (int k = 0; k < l->n; k++) r->p[k] = l->data[k];
    for (int d = l->ndim - 2; d >= 0; d--) {
        r->at[d] = i % l->dim[d];
        i /= l->dim[d];
        for (int k = 0; k < l->n; k++) r->p[k] += r->at[d] * l->stride[k][d];
    }
}

void gp_row_iter_next(gp_row_iter *r, const gp_nd_loop *l) {
    for (int d = l->ndim - 2; d >= 0; d--) {
        if (++r->at[d] < l->dim[d]) {
            for (int k = 0; k < l->n; k++) r->p[k] += l->stride[k][d];
            return;
        }
        r->at[d] = 0;
        for (int k = 0; k < l->n; k++) r->p[k] -= (l->dim[d] - 1) * l->stride[k][d];
    }
}

/* ---- conversion ---- */

#undef bool /* a row of dtype.def */
#define FROM_bool(v) ((v) != 0)
#define FROM_u8(v) (v)
#define FROM_i8(v) (v)
#define FROM_i16(v) (v)
#define FROM_i32(v) (v)
#define FROM_i64(v) (v)
#define FROM_f16(v) gp_f16_to_f32(v)
#define FROM_bf16(v) gp_bf16_to_f32(v)
#define FROM_f32(v) (v)
#define FROM_f64(v) (v)
/* Floats beyond an integer type's range are undefined in C; through i64 they at least wrap the same
 * everywhere. */
static inline int64_t to_int(double v) {
    return v > -0x1p63 && v < 0x1p63 ? (int64_t)v
           : v >= 0x1p63             ? INT64_MAX
           : v != v                  ? 0
                                     : INT64_MIN;
}
#define INTEGER(v)                                                                                 \
    _Generic((v), float : to_int((double)(v)), double : to_int((double)(v)), default : (v))
#define TO_bool(v) ((v) != 0)
#define TO_u8(v) ((uint8_t)INTEGER(v))
#define TO_i8(v) ((int8_t)INTEGER(v))
#define TO_i16(v) ((int16_t)INTEGER(v))
#define TO_i32(v) ((int32_t)INTEGER(v))
#define TO_i64(v) ((int64_t)INTEGER(v))
/* f32 stays as it is: 16-bit floats are rounded from it, once. */
static inline float same_f32(float v) { return v; }
#define ODD(v)                                                                                     \
    _Generic((v), float                                                                            \
             : same_f32, double                                                                    \
             : gp_f64_to_odd_f32, int32_t                                                          \
             : gp_f64_to_odd_normal_f32, int64_t                                                   \
             : gp_i64_to_odd_f32)(v)
#define TO_f16(v) gp_f32_to_f16(ODD(v))
#define TO_bf16(v) gp_f32_to_bf16(ODD(v))
#define TO_f32(v) ((float)(v))
#define TO_f64(v) ((double)(v))

#define CTYPE_f32 float
#define CTYPE_f64 double
#define CTYPE_i32 int32_t
#define CTYPE_i64 int64_t

#define AT(type, p) (*(const type *)(p))
#define LOAD(name, type, c)                                                                        \
    static void load_##name##_##c(void *dst, const char *src, int64_t step, int64_t n) {           \
        CTYPE_##c *d = dst;                                                                        \
        if (step == (int64_t)sizeof(type)) {                                                       \
            const type *s = (const type *)src;                                                     \
            for (int64_t i = 0; i < n; i++) d[i] = TO_##c(FROM_##name(s[i]));                      \
        } else if (step == 0 && n) {                                                               \
            const CTYPE_##c v = TO_##c(FROM_##name(AT(type, src)));                                \
            for (int64_t i = 0; i < n; i++) d[i] = v;                                              \
        } else                                                                                     \
            for (int64_t i = 0; i < n; i++) d[i] = TO_##c(FROM_##name(AT(type, src + i * step)));  \
    }
#define STORE(name, type, c)                                                                       \
    static void store_##c##_##name(char *dst, int64_t step, const void *src, int64_t n) {          \
        const CTYPE_##c *s = src;                                                                  \
        if (step == (int64_t)sizeof(type)) {                                                       \
            type *d = (type *)dst;                                                                 \
            for (int64_t i = 0; i < n; i++) d[i] = TO_##name(s[i]);                                \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) *(type *)(dst + i * step) = TO_##name(s[i]);           \
        }                                                                                          \
    }
#define DTYPE(name, type, kind)                                                                    \
    LOAD(name, type, f32)                                                                          \
    LOAD(name, type, f64)                                                                          \
    LOAD(name, type, i32)                                                                          \
    LOAD(name, type, i64)                                                                          \
    STORE(name, type, f32) STORE(name, type, f64) STORE(name, type, i32) STORE(name, type, i64)
#include "tensor/dtype.def"

#if defined(__F16C__)
/* The processor's own conversions of f16, which round as gp_f32_to_f16 does. */
static void load_halves(void *dst, const char *src, int64_t step, int64_t n) {
    float *d = dst;
    int64_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(src + 2 * i))));
    for (; i < n; i++) d[i] = _cvtsh_ss(*(const uint16_t *)(src + i * step));
}

static void store_halves(char *dst, int64_t step, const void *src, int64_t n) {
    const float *s = src;
    int64_t i = 0;
    if (step == 2)
        for (; i + 8 <= n; i += 8)
            _mm_storeu_si128((void *)(dst + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), 0));
    for (; i < n; i++) *(uint16_t *)(dst + i * step) = _cvtss_sh(s[i], 0);
}
#define HALVES(fn, other) fn
#else
#define HALVES(fn, other) other
#endif

/* bf16 of adjacent elements, whole vectors at a time: the last one overlaps the one before. */
static void load_brains(void *dst, const char *src, int64_t step, int64_t n) {
    float *d = dst;
    if (step != 2 || n < GP_WIDE) {
        load_bf16_f32(dst, src, step, n);
        return;
    }
    for (int64_t i = 0; i < n; i += GP_WIDE) {
        int64_t at = i < n - GP_WIDE ? i : n - GP_WIDE;
        *(gp_wide *)(d + at) = gp_widen(src + 2 * at) << 16;
    }
}

static void round_brains(char *dst, int64_t step, const void *src, int64_t n) {
    const float *s = src;
    const int64_t both = 2 * GP_WIDE;
    if (step != 2 || n < both) {
        store_f32_bf16(dst, step, src, n);
        return;
    }
    for (int64_t i = 0; i < n; i += both) {
        int64_t at = i < n - both ? i : n - both;
        gp_store_rounded(dst + 2 * at, *(const gp_wide *)(s + at),
                         *(const gp_wide *)(s + at + GP_WIDE));
    }
}

/* To 16 bits through floats that round to the same: two short loops that are both vectorised. */
#define ONCE(c, name, store, odd_of)                                                               \
    static void once_##c##_##name(char *dst, int64_t step, const void *src, int64_t n) {           \
        const CTYPE_##c *s = src;                                                                  \
        float odd[64];                                                                             \
        for (int64_t m; n > 0; n -= m, s += m, dst += m * step) {                                  \
            m = n < 64 ? n : 64;                                                                   \
            for (int64_t i = 0; i < m; i++) odd[i] = odd_of(s[i]);                                 \
            store(dst, step, odd, m);                                                              \
        }                                                                                          \
    }
#define ONCE_EACH(name, store) ONCE(i32, name, store, ODD) ONCE(i64, name, store, ODD)
ONCE_EACH(f16, HALVES(store_halves, store_f32_f16))
ONCE_EACH(bf16, store_f32_bf16)
ONCE(f64, f16, HALVES(store_halves, store_f32_f16), gp_f64_to_odd_normal_f32) /* others give 0 */
ONCE(f64, bf16, store_f32_bf16, ODD)

/* n numbers as bf16, through f32 in one loop that is vectorised: all of them right unless a float
 * lies halfway between two of bf16, where what it lacks of the number may decide: then false. */
static _Bool brains_by_f32(uint16_t *restrict d, const double *s, int64_t n) {
    uint32_t halfway = 0;
    for (int64_t i = 0; i < n; i++) {
        float f = (float)s[i];
        uint32_t u, rounded;
        memcpy(&u, &f, 4);
        rounded =
            (int32_t)(u & 0x7fffffff) > 0x7f800000 ? u | 0x400000 : u + 0x7fff + (u >> 16 & 1);
        d[i] = (uint16_t)(rounded >> 16);
        halfway |= (u & 0xffff) == 0x8000;
    }
    return !halfway;
}

static void store_brains(char *dst, int64_t step, const void *src, int64_t n) {
    const double *s = src;
    for (int64_t m; n > 0; n -= m, s += m, dst += m * step) {
        m = n < 256 ? n : 256;
        if (step != 2 || !brains_by_f32((uint16_t *)dst, s, m)) once_f64_bf16(dst, step, s, m);
    }
}

gp_load gp_load_fn(gp_dtype from, gp_ctype to) {
    static const gp_load fns[GP_DTYPES][GP_CTYPES] = {
#define DTYPE(name, type, kind)                                                                    \
    {load_##name##_f32, load_##name##_f64, load_##name##_i32, load_##name##_i64},
#include "tensor/dtype.def"
    };
    if (from == GP_f16 && to == GP_CT_f32) return HALVES(load_halves, load_f16_f32);
    if (from == GP_bf16 && to == GP_CT_f32) return load_brains;
    return fns[from][to];
}

gp_store gp_store_fn(gp_ctype from, gp_dtype to) {
    static const gp_store fns[GP_CTYPES][GP_DTYPES] = {
        {
#define DTYPE(name, type, kind) store_f32_##name,
#include "tensor/dtype.def"
        },
        {
#define DTYPE(name, type, kind) store_f64_##name,
#include "tensor/dtype.def"
        },
        {
#define DTYPE(name, type, kind) store_i32_##name,
#include "tensor/dtype.def"
        },
        {
#define DTYPE(name, type, kind) store_i64_##name,
#include "tensor/dtype.def"
        },
    };
    static const gp_store halves[GP_CTYPES] = {HALVES(store_halves, store_f32_f16), once_f64_f16,
                                               once_i32_f16, once_i64_f16},
                          brains[GP_CTYPES] = {round_brains, store_brains, once_i32_bf16,
                                               once_i64_bf16};
    return to == GP_f16 ? halves[from] : to == GP_bf16 ? brains[from] : fns[from][to];
}

/* ---- truth ---- */

#define TRUE_BOOL(v) ((v) != 0)
#define TRUE_INT(v) ((v) != 0)
/* 16-bit floats: everything but the two zeros. */
#define TRUE_FLOAT(v) _Generic((v), uint16_t : ((uint16_t)(v)&0x7fff) != 0, default : (v) != 0)
#define DTYPE(name, type, kind)                                                                    \
    static void truth_##name(uint8_t *o, const char *p, int64_t step, int64_t n) {                 \
        if (step == (int64_t)sizeof(type)) {                                                       \
            for (int64_t i = 0; i < n; i++) o[i] = TRUE_##kind(((const type *)p)[i]);              \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) o[i] = TRUE_##kind(*(const type *)(p + i * step));     \
        }                                                                                          \
    }
#include "tensor/dtype.def"

gp_nonzero gp_nonzero_fn(gp_dtype dt) {
    static const gp_nonzero fns[GP_DTYPES] = {
#define DTYPE(name, type, kind) truth_##name,
#include "tensor/dtype.def"
    };
    return fns[dt];
}
