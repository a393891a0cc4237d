/* Fourier transforms by cuFFT: lines that are not dense are gathered, transformed to the result or,
 * where its lines are not dense, to scratch that is copied there, and scaled unless by 1. */
#include "kernels/cuda/fft/fft.h"

#include <cufft.h>

#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/libs.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/plans.h"

enum { PLANS = 256 };

static struct {
#define F GP_LIB_POINTER
#include "kernels/cuda/fft/cufft.def"
} fft;
static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/fft/cufft.def"
};
_Static_assert(sizeof fft == sizeof names, "a pointer for each name");

static bool cufft_ok(const gp_call *c, cufftResult s) {
    if (s == CUFFT_SUCCESS) return true;
    gp_fail("%s: cuFFT failed (%s)", c->op->name, gp_lib_status(GP_LIB_cufft, (int)s));
    return gp_lib_failed(c, s == CUFFT_ALLOC_FAILED);
}

static bool load(const gp_call *c) {
    enum { N = sizeof names / sizeof *names };
    if (fft.cufftCreate || gp_lib_functions(GP_LIB_cufft, c->op->name, names, N, 0, (void **)&fft))
        return true;
    return fft.cufftCreate = NULL, false;
}

/* ---- plans ---- */

/* The key of a plan; compared byte by byte. */
typedef struct shape {
    int64_t n, lines;
    int32_t type, device; /* type: a cufftType */
} shape;

typedef struct plan {
    shape of;
    bool made; /* whether there is a handle */
    cufftHandle handle;
    size_t memory;
} plan;

/* Which waits for the device. */
static void forget(const gp_call *c, void *old) {
    const plan *p = old;
    uint64_t t0 = (uint64_t)gp_lib_now();
    if (!p->made) return;
    fft.cufftDestroy(p->handle);
    gp_cuda_called(c->stream->dev, "cufftDestroy", false, t0);
}

static gp_plans plans = {
    .key = sizeof(shape), .size = sizeof(plan), .most = PLANS, .forget = forget};

/* Makes what p, which has its key, holds; false with a message. */
static bool make(const gp_call *c, plan *p) {
    const shape *s = &p->of;
    long long size[1] = {s->n};
    p->made = cufft_ok(c, fft.cufftCreate(&p->handle));
    return p->made && cufft_ok(c, fft.cufftSetAutoAllocation(p->handle, 0)) &&
           cufft_ok(c, fft.cufftMakePlanMany64(p->handle, 1, size, NULL, 1, s->n, NULL, 1, s->n,
                                               (cufftType)s->type, s->lines, &p->memory));
}

static plan *plan_of(const gp_call *c, int64_t n, int64_t lines, cufftType type) {
    shape s = {n, lines, (int32_t)type, 0};
    int64_t begin = gp_lib_now();
    if (!load(c)) return NULL;
    cudaGetDevice(&s.device);
    plan *p = gp_plans_find(&plans, &s);
    if (p) return p;
    p = gp_plans_add(&plans, c, &s);
    if (!p) return NULL;
    if (make(c, p)) return gp_lib_book(GP_LIB_cufft, begin), p;
    gp_plans_drop(&plans, c, p);
    return NULL;
}

static bool exec(const gp_call *c, const plan *p, void *from, void *to, bool inverse) {
    int way = inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
    switch (p->of.type) {
    case CUFFT_C2C: return cufft_ok(c, fft.cufftExecC2C(p->handle, from, to, way));
    case CUFFT_R2C: return cufft_ok(c, fft.cufftExecR2C(p->handle, from, to));
    case CUFFT_C2R: return cufft_ok(c, fft.cufftExecC2R(p->handle, from, to));
    case CUFFT_Z2Z: return cufft_ok(c, fft.cufftExecZ2Z(p->handle, from, to, way));
    case CUFFT_D2Z: return cufft_ok(c, fft.cufftExecD2Z(p->handle, from, to));
    default: return cufft_ok(c, fft.cufftExecZ2D(p->handle, from, to));
    }
}

/* `lines` transforms of length n. One to real overwrites what it reads. */
static bool transform(const gp_call *c, int64_t n, int64_t lines, cufftType type, void *from,
                      void *to, bool inverse) {
    gp_lib_lock();
    plan *p = plan_of(c, n, lines, type);
    void *workspace = p && p->memory ? gp_cuda_scratch(c, p->memory) : NULL;
    bool ok = p && (workspace || !p->memory) &&
              cufft_ok(c, fft.cufftSetStream(p->handle, gp_cuda_stream(c))) &&
              (!workspace || cufft_ok(c, fft.cufftSetWorkArea(p->handle, workspace))) &&
              exec(c, p, from, to, inverse);
    gp_lib_unlock();
    return ok;
}

/* ---- lines ---- */

typedef struct fft_call {
    gp_fft_lines f;
    const gp_array *x, *out;
    int dim, dims;                             /* dims of x without the pairs */
    bool complex, inverse, half_out, real_out; /* half_out: rfft; real_out: irfft */
    gp_dtype dtype;
    int64_t size; /* bytes of a number */
} fft_call;

/* a with dim `dim` moved last (but before the pairs). */
static gp_array moved_last(const gp_array *a, int dim, int dims) {
    gp_array m = *a;
    for (int d = dim; d < dims - 1; d++) m.dim[d] = a->dim[d + 1], m.stride[d] = a->stride[d + 1];
    m.dim[dims - 1] = a->dim[dim], m.stride[dims - 1] = a->stride[dim];
    m.contiguous = false;
    return m;
}

/* Scratch for lines of `length` elements of `width` numbers each. */
static void *scratch_lines(const gp_call *c, const fft_call *r, int64_t length, int64_t width) {
    return gp_cuda_scratch(c, (size_t)(r->f.lines * length * width * r->size));
}

/* x's lines, cut or padded with zeros to `length`; width 2 for a real x gives pairs. NULL with a
 * message. */
static void *gather(const gp_call *c, const fft_call *r, int64_t length, int64_t width) {
    int64_t have = r->x->dim[r->dim] < length ? r->x->dim[r->dim] : length,
            bytes = r->f.lines * length * width * r->size;
    void *to = scratch_lines(c, r, length, width);
    bool pairs = r->x->ndim > r->dims;
    if (!to) return NULL;
    if ((have < length || (width == 2 && !pairs)) &&
        !gp_cuda_ok(c, cudaMemsetAsync(to, 0, (size_t)bytes, gp_cuda_stream(c))))
        return NULL;
    gp_array from = moved_last(r->x, r->dim, r->dims), into = from;
    int64_t step = width;
    from.dim[r->dims - 1] = into.dim[r->dims - 1] = have;
    into.data = (char *)to, into.dtype = (uint8_t)r->dtype;
    if (pairs) into.stride[r->dims] = 1;
    from.numel = pairs ? 2 : 1;
    for (int d = r->dims - 1; d >= 0; d--) {
        into.stride[d] = step;
        step *= d == r->dims - 1 ? length : into.dim[d];
        from.numel *= from.dim[d];
    }
    into.numel = from.numel;
    return gp_cuda_copy_array(c, &into, &from) ? to : NULL;
}

/* Where lines of the result may be written: the result itself where dim is its last one. */
static void *output_lines(const gp_call *c, const fft_call *r, int64_t length, int64_t width) {
    return r->dim == r->dims - 1 ? (void *)r->out->data : scratch_lines(c, r, length, width);
}
static bool copy_to_output(const gp_call *c, const fft_call *r, void *lines) {
    if (lines == r->out->data) return true;
    gp_array to = moved_last(r->out, r->dim, r->dims),
             from = gp_dense_over(lines, r->dtype, to.ndim, to.dim);
    return gp_cuda_copy_array(c, &to, &from);
}

/* ---- kinds ---- */

/* A transform of one element is that element. */
static bool single(const gp_call *c, const fft_call *r) {
    void *x = gather(c, r, 1, 2), *to = output_lines(c, r, 1, r->real_out ? 1 : 2);
    if (!x || !to) return false;
    return (r->real_out ? gp_fft_scaled(c, &r->f, x, 2, to)
                        : gp_fft_spectra(c, &r->f, x, false, false, 1, to)) &&
           copy_to_output(c, r, to);
}

/* x itself where it is lines of `length` elements as cuFFT reads them, `width` numbers each, or
 * else a gathered copy; NULL with a message. To be read only. */
static void *input_lines(const gp_call *c, const fft_call *r, int64_t length, int64_t width) {
    bool pairs = r->x->ndim > r->dims, last = r->dim == r->dims - 1;
    bool as_is = r->x->contiguous && r->x->dtype == r->dtype && pairs == (width == 2) && last &&
                 r->x->dim[r->dim] == length && (uintptr_t)r->x->data % 16 == 0;
    return as_is ? (void *)r->x->data : gather(c, r, length, width);
}

static bool from_pairs(const gp_call *c, const fft_call *r) {
    int64_t n = r->f.n;
    void *x = input_lines(c, r, n, 2), *to = output_lines(c, r, n, 2);
    return x && to &&
           transform(c, n, r->f.lines, r->f.wide ? CUFFT_Z2Z : CUFFT_C2C, x, to, r->inverse) &&
           (r->f.scale == 1 || gp_fft_spectra(c, &r->f, to, false, false, n, to)) &&
           copy_to_output(c, r, to);
}

/* The inverse of a real line is the conjugate of its transform. */
static bool from_real(const gp_call *c, const fft_call *r) {
    int64_t n = r->f.n, half = n / 2 + 1, wanted = r->half_out ? half : n;
    bool as_is = r->half_out && !r->inverse;
    void *x = input_lines(c, r, n, 1), *to = output_lines(c, r, wanted, 2),
         *spectra = as_is ? to : scratch_lines(c, r, half, 2);
    return x && spectra && to &&
           transform(c, n, r->f.lines, r->f.wide ? CUFFT_D2Z : CUFFT_R2C, x, spectra, false) &&
           ((as_is && r->f.scale == 1) ||
            gp_fft_spectra(c, &r->f, spectra, true, r->inverse, wanted, to)) &&
           copy_to_output(c, r, to);
}

static bool to_real(const gp_call *c, const fft_call *r) {
    int64_t n = r->f.n;
    void *x = gather(c, r, n / 2 + 1, 2), *to = output_lines(c, r, n, 1);
    return x && to && gp_fft_real_ends(c, &r->f, x) &&
           transform(c, n, r->f.lines, r->f.wide ? CUFFT_Z2D : CUFFT_C2R, x, to, true) &&
           (r->f.scale == 1 || gp_fft_scaled(c, &r->f, to, 1, to)) && copy_to_output(c, r, to);
}

/* ---- the op ---- */

static double scale_of(const char *norm, bool inverse, int64_t n) {
    if (!strcmp(norm, "ortho")) return 1 / sqrt((double)n);
    return inverse == !strcmp(norm, "backward") ? 1 / (double)n : 1;
}

/* Arguments: x, n, dim (0-based), norm, complex. */
static bool fourier(const gp_call *c, fft_call r) {
    r.x = gp_in(c, 0), r.out = gp_out(c, 0);
    if (r.out->numel == 0) return true;
    r.dtype = (gp_dtype)r.out->dtype;
    r.f.wide = r.dtype == GP_f64;
    r.size = r.f.wide ? 8 : 4;
    r.f.n = c->arg[1].i;
    r.dim = (int)c->arg[2].i;
    r.dims = r.x->ndim - (r.complex || r.real_out);
    r.f.scale = scale_of(c->arg[3].s, r.inverse, r.f.n);
    r.f.lines = 1;
    for (int d = 0; d < r.dims; d++) r.f.lines *= d == r.dim ? 1 : r.x->dim[d];
    if (r.f.n == 1) return single(c, &r);
    return r.real_out ? to_real(c, &r) : r.complex ? from_pairs(c, &r) : from_real(c, &r);
}

bool CUDA(fft_fft)(const gp_call *c) { return fourier(c, (fft_call){.complex = c->arg[4].i}); }
bool CUDA(fft_ifft)(const gp_call *c) {
    return fourier(c, (fft_call){.complex = c->arg[4].i, .inverse = true});
}
bool CUDA(fft_rfft)(const gp_call *c) { return fourier(c, (fft_call){.half_out = true}); }
bool CUDA(fft_irfft)(const gp_call *c) {
    return fourier(c, (fft_call){.real_out = true, .inverse = true});
}
