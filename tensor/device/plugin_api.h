/* What the CUDA plug-in uses of the program. The program's own symbols are hidden from it, so it is
 * handed this table when it is opened; kernels/cuda/runtime/plugin_imports.c gives the functions
 * their usual names again. */
#ifndef GP_CORE_H
#define GP_CORE_H

#include "tensor/device/alloc.h"
#include "tensor/device/failure.h"
#include "tensor/ops/conv.h"
#include "tensor/ops/norm.h"
#include "tensor/op.h"
#include "tensor/ops/rnn.h"

/* FN(what it returns, name, parameters, their names). gp_fail, with its `...`, has a line of its
 * own. */
#define GP_CORE_FUNCTIONS(FN)                                                                      \
    FN(const char *, gp_error, (void), ())                                                         \
    FN(void, gp_error_clear, (void), ())                                                           \
    FN(uint64_t, gp_now_ns, (void), ())                                                            \
    FN(double, gp_now, (void), ())                                                                 \
    FN(uint64_t, gp_next_id, (void), ())                                                           \
    FN(bool, gp_here, (const char **file, int *line), (file, line))                                \
    FN(gp_dtype, gp_value_dtype, (const gp_value *v), (v))                                         \
    FN(gp_scalar, gp_scalar_load, (gp_dtype dt, const void *p), (dt, p))                           \
    FN(void, gp_scalar_store, (gp_dtype dt, void *p, gp_scalar v), (dt, p, v))                     \
    FN(gp_storage *, gp_storage_new, (gp_stream * s, size_t bytes), (s, bytes))                    \
    FN(void, gp_storage_unref, (gp_storage * st), (st))                                            \
    FN(void, gp_failure_add,                                                                       \
       (gp_stream * s, uint64_t from, uint64_t to, bool broke, const char *text),                  \
       (s, from, to, broke, text))                                                                 \
    FN(void, gp_device_each, (void (*fn)(gp_device *, void *), void *ctx), (fn, ctx))              \
    FN(void, gp_thread_is_worker, (void), ())                                                      \
    FN(int, gp_threads, (void), ())                                                                \
    FN(void, gp_norm_read, (const gp_call *c, const gp_array *x, int at, gp_norm *k),              \
       (c, x, at, k))                                                                              \
    FN(bool, gp_resize_read,                                                                       \
       (const gp_call *c, const gp_shape *x, const int64_t *out, gp_resize *r), (c, x, out, r))    \
    FN(bool, gp_conv_read, (const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k),   \
       (c, x, w, k))                                                                               \
    FN(bool, gp_conv_transpose_read,                                                               \
       (const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k), (c, x, w, k))         \
    FN(bool, gp_pool_read_max, (const gp_call *c, const gp_shape *x, int rank, gp_pool *p),        \
       (c, x, rank, p))                                                                            \
    FN(bool, gp_pool_read_avg,                                                                     \
       (const gp_call *c, const gp_shape *x, int rank, int first, gp_pool *p),                     \
       (c, x, rank, first, p))                                                                     \
    FN(bool, gp_pool_read_adaptive,                                                                \
       (const gp_call *c, const gp_shape *x, int rank, const int64_t *out, int n, gp_pool *p),     \
       (c, x, rank, out, n, p))                                                                    \
    FN(void, gp_rnn_read, (const gp_call *c, const gp_array *x, const gp_array *w_hh, gp_rnn *r),  \
       (c, x, w_hh, r))

typedef struct gp_core {
    uint64_t hash; /* first, whatever else changes */
    bool (*fail)(const char *text);
    const gp_op *ops;
    gp_hooks *hook;
    gp_flag *interrupted;
#define MEMBER(type, name, params, args) type(*name) params;
    GP_CORE_FUNCTIONS(MEMBER)
#undef MEMBER
} gp_core;

/* The program's table, filled (tensor/device/plugin_api.c). */
const gp_core *gp_core_table(void);

/* Differs between builds whose ops or structs differ: a plug-in of another build must not be
 * used. */
static inline uint64_t gp_core_hash(void) {
    static const char names[] =
#define ROW(n) #n " "
#include "tensor/ops/ops_rows.h"
#define GRAD_ROW(n, ...) #n " "
#include "tensor/autograd/grad_rows.h"
        ;
    const size_t sizes[] = {sizeof(gp_core),
                            sizeof(gp_op),
                            sizeof(gp_call),
                            sizeof(gp_value),
                            sizeof(gp_array),
                            sizeof(gp_tensor),
                            sizeof(gp_storage),
                            sizeof(gp_device),
                            sizeof(gp_device_vt),
                            sizeof(gp_stream),
                            sizeof(gp_event),
                            sizeof(gp_hooks),
                            GP_WHYS,
                            GP_DTYPES};
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < sizeof names; i++) h = (h ^ (unsigned char)names[i]) * 0x100000001b3u;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) h = (h ^ sizes[i]) * 0x100000001b3u;
    return h;
}

/* What the plug-in exports. Its device's functions, or NULL with the reason in why: no driver, no
 * device, or a plug-in of another build. */
typedef const gp_device_vt *gp_cuda_open_fn(const gp_core *core, char *why, size_t size);
/* How many devices there are, one a line in text; 0 with the reason. Opens nothing on them. */
typedef int gp_cuda_probe_fn(char *text, size_t size);
/* Library i of those that the plug-in uses, the runtime in it first: 1 if it can be used, with
 * version and path in text; 0 with the reason; -1: no such library. After gp_cuda_open. */
typedef int gp_cuda_library_fn(int i, const char **name, char *text, size_t size);
/* What libraries may do, by name: tf32, deterministic, benchmark (0 or 1), svd_driver and svd_used
 * (numbers). value: -1 does not set it. What it is then; -1: no such setting. */
typedef int gp_cuda_setting_fn(const char *name, int value);
/* Begins an NVTX range and returns its number; name NULL: ends range number `range`. After
 * gp_cuda_open. */
typedef uint64_t gp_cuda_range_fn(const char *name, uint64_t range);

#endif
