/* What kernels share: names per instruction set, access to arguments, loops over strided arrays,
 * and the parallel loop. */
#ifndef GP_KERNEL_H
#define GP_KERNEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tensor/device/offload.h"
#include "tensor/base/error.h"
#include "tensor/op.h"

/* kernels/cpu is compiled once per instruction set (GP_ISA): every name that crosses a file there
   gets the set's suffix. A function shared by kernel files is declared as `#define cpu_thing
   GP_NAME(cpu_thing)` above its prototype. */
#ifndef GP_ISA
#define GP_ISA base
#endif
#define GP_PASTE2(a, b) a##_##b
#define GP_PASTE(a, b) GP_PASTE2(a, b)
#define GP_NAME(name) GP_PASTE(name, GP_ISA)
/* The CPU kernel of op `name`: `bool CPU(matmul)(const gp_call *c)`. */
#define CPU(name) GP_PASTE(cpu_##name, GP_ISA)

/* Output i and tensor argument i as arrays; NULL for an absent argument. */
static inline const gp_array *gp_out(const gp_call *c, int i) { return c->outa[i]; }
static inline const gp_array *gp_in(const gp_call *c, int i) {
    return gp_given(c, i) ? c->arg[i].a : NULL;
}

/* Values to be written: what gp_infer_values(c, i, dt, at) made, or argument i. */
static inline const gp_array *gp_values(const gp_call *c, int i, int at) {
    return c->ntmp > at ? c->tmpa[at] : gp_in(c, i);
}

/* The grain size of cheap loops: elements that are worth a thread, as PyTorch's GRAIN_SIZE. Loops
 * whose elements cost more, or less, divide or multiply it. */
enum { GP_GRAIN = 32768 };

/* Runs body(ctx, begin, end) over [0, n) in pieces of at least grain, on the pool's threads; on one
 * thread inside a worker, or when n is small. Bodies call nothing that waits. A body that fails
 * records it in ctx; the kernel fails after the loop. */
typedef void (*gp_body)(void *ctx, int64_t begin, int64_t end);
#define gp_parallel GP_NAME(gp_parallel)
void gp_parallel(int64_t n, int64_t grain, gp_body body, void *ctx);

/* The same for long work: each thread does its share in slices of about a millisecond, and Ctrl-C
 * ends it between two. False then, with the message: results are incomplete, and the kernel must
 * return. Not inside a body. */
#define gp_parallel_op GP_NAME(gp_parallel_op)
bool gp_parallel_op(const gp_call *c, int64_t n, int64_t grain, gp_body body, void *ctx);

/* For kernels that write all over a large result from the start: touches its pages first, in order.
 * Ctrl-C ends that: false then, with the message. */
#define gp_prefault_outputs GP_NAME(gp_prefault_outputs)
bool gp_prefault_outputs(const gp_call *c);

/* True if the kernel must end: by Ctrl-C, because its loader is closed, or because it was
 * abandoned. For loops that take long themselves. */
static inline bool gp_stopped(void) { return gp_thread_stopped() || gp_offload_is_abandoned(); }

/* After loops that end when gp_stopped(): false, with the message, if they may have. */
static inline bool gp_check_interrupt(const gp_call *c) {
    return !gp_stopped() || gp_fail("%s: interrupted", c->name);
}

/* Before calls of OpenBLAS or oneDNN from this thread: they use at most n threads of the pool from
 * here on; one inside a gp_parallel body or a worker. */
#define gp_blas_threads GP_NAME(gp_blas_threads)
void gp_blas_threads(int n);
/* How many they use now. */
#define gp_blas_threads_now GP_NAME(gp_blas_threads_now)
int gp_blas_threads_now(void);
/* After such calls, before their results are used: tells TSan that their threads have been joined.
 */
#define gp_blas_joined GP_NAME(gp_blas_joined)
void gp_blas_joined(void);

/* oneDNN's kernels use the stack pointer as an ordinary register, so a signal's frame would
   overwrite the heap (seen with 2.6 and AVX-512): each of its calls holds signals back, in every
   thread that takes part. Who calls it many times for short products may hold them once: holds
   nest, and Ctrl-C waits for the last release. */
#define gp_signals_hold GP_NAME(gp_signals_hold)
void gp_signals_hold(void);
#define gp_signals_release GP_NAME(gp_signals_release)
void gp_signals_release(void);

/* c = op(a) op(b) + beta c by rows, in f32 by oneDNN; ta, tb: op transposes; rows of operands that
   crowd the cache are copied apart first. False if it refuses. */
#define gp_sgemm GP_NAME(gp_sgemm)
bool gp_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
              const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* The same with the operands as they are. */
#define gp_onednn_sgemm GP_NAME(gp_onednn_sgemm)
bool gp_onednn_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

/* One loop over up to GP_LOOP_MAX arrays of one (broadcast) shape: dims joined where all arrays
 * allow, the fastest last. Strides in bytes. */
#define GP_LOOP_MAX 6
typedef struct gp_nd_loop {
    int n, ndim; /* arrays; dims, at least 1 */
    int64_t numel;
    int64_t dim[GP_MAX_DIM];
    int64_t stride[GP_LOOP_MAX][GP_MAX_DIM];
    char *data[GP_LOOP_MAX];
} gp_nd_loop;
/* Arrays are broadcast to arrays[0]'s shape; dims are sorted by the strides of arrays[0], then
 * joined. */
#define gp_nd_loop_init GP_NAME(gp_nd_loop_init)
void gp_nd_loop_init(gp_nd_loop *l, int n, const gp_array *const *arrays);
/* Addresses of the row that holds element i of the loop: rows are dim[ndim-1] long. */
#define gp_nd_loop_at GP_NAME(gp_nd_loop_at)
void gp_nd_loop_at(const gp_nd_loop *l, int64_t i, char **p);

/* A row of a loop: its position in the outer dims, and its address in each array. */
typedef struct gp_row_iter {
    int64_t at[GP_MAX_DIM];
    char *p[GP_LOOP_MAX];
} gp_row_iter;
/* Starts at the row that holds element i of the loop; then gp_row_iter_next moves to the next row,
 * and from the last one to the first. */
#define gp_row_iter_begin GP_NAME(gp_row_iter_begin)
void gp_row_iter_begin(gp_row_iter *r, const gp_nd_loop *l, int64_t i);
#define gp_row_iter_next GP_NAME(gp_row_iter_next)
void gp_row_iter_next(gp_row_iter *r, const gp_nd_loop *l);

/* Conversion of n elements between a dtype in memory (src, step bytes apart) and a contiguous
 * buffer of compute type. */
typedef enum gp_ctype { GP_CT_f32, GP_CT_f64, GP_CT_i32, GP_CT_i64, GP_CTYPES } gp_ctype;
gp_ctype gp_compute_type(gp_dtype dt);
static const uint8_t gp_ctype_size[GP_CTYPES] = {4, 8, 4, 8};
static const uint8_t gp_ctype_dtype[GP_CTYPES] = {GP_f32, GP_f64, GP_i32, GP_i64};
_Static_assert(GP_CT_f32 == 0 && GP_CT_f64 == 1 && GP_CT_i32 == 2 && GP_CT_i64 == 3,
               "tables by compute type have this order");
/* The compute type that loses nothing on the way between two dtypes: the source's, unless the
 * target's is the wider float. */
static inline gp_ctype gp_cast_type(gp_dtype from, gp_dtype to) {
    return to == GP_f64 && gp_is_float(from) ? GP_CT_f64 : gp_compute_type(from);
}
typedef void (*gp_load)(void *dst, const char *src, int64_t step, int64_t n);
typedef void (*gp_store)(char *dst, int64_t step, const void *src, int64_t n);
#define gp_load_fn GP_NAME(gp_load_fn)
gp_load gp_load_fn(gp_dtype from, gp_ctype to);
#define gp_store_fn GP_NAME(gp_store_fn)
gp_store gp_store_fn(gp_ctype from, gp_dtype to);

/* Writes 0 or 1 for n elements, step bytes apart: whether they are not zero. */
typedef void (*gp_nonzero)(uint8_t *o, const char *p, int64_t step, int64_t n);
#define gp_nonzero_fn GP_NAME(gp_nonzero_fn)
gp_nonzero gp_nonzero_fn(gp_dtype dt);

/* out = in, converted; shapes are equal or in is broadcast. Strides of either may be negative. */
#define gp_copy_array GP_NAME(gp_copy_array)
void gp_copy_array(const gp_array *out, const gp_array *in);
/* The same as part of the work of c: Ctrl-C ends it, and it returns false, with the message. */
#define gp_copy_op GP_NAME(gp_copy_op)
bool gp_copy_op(const gp_call *c, const gp_array *out, const gp_array *in);
/* n elements of size bytes, ds and ss bytes apart; they do not overlap unless d == s and ds ==
 * ss. */
#define gp_move_row GP_NAME(gp_move_row)
void gp_move_row(char *d, int64_t ds, const char *s, int64_t ss, int64_t n, size_t size);

/* A number argument in dtype dt, written to p (8 bytes), as an array that broadcasts. */
static inline gp_array gp_number_array(const gp_value *v, gp_dtype dt, void *p) {
    gp_scalar s = {.is_float = v->is_float};
    if (v->is_float) s.f = v->f;
    else s.i = v->i;
    gp_scalar_store(dt, p, s);
    return (gp_array){.data = p, .numel = 1, .dtype = (uint8_t)dt, .contiguous = true};
}

/* Elements per block where data is converted on the way: 3 blocks of 8-byte elements stay in the
 * first-level cache. */
enum { GP_BLOCK = 1024 };
_Static_assert(GP_BLOCK % 256 == 0,
               "a block is whole vectors, and its fourth is philox_block's 64");

#endif
