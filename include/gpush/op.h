/* Ops of one's own in gpush: the interface through which a shared library adds rows to the table of
 * ops. A library includes lua.h and this header, fills in a gpush_op for each op and ends with
 * GPUSH_LIBRARY; `require` of its name then adds them. It links to nothing of gpush's, whose
 * functions come with each call. docs/embedding-and-extending.md has an example, with what is
 * promised.
 *
 * What GPUSH_ABI counts: the structs below as they are. While it stays the same, structs that
 * gpush fills in may get fields at their end, and gpush_op, whose size the library tells, too. */
#ifndef GPUSH_OP_H
#define GPUSH_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <exception>
extern "C" {
#endif

#define GPUSH_ABI 1

enum { GPUSH_MAX_DIMS = 8, GPUSH_MAX_RESULTS = 4 };

enum gpush_dtype {
    GPUSH_BOOL, /* a byte, 0 or 1 */
    GPUSH_U8,
    GPUSH_I8,
    GPUSH_I16,
    GPUSH_I32,
    GPUSH_I64,
    GPUSH_F16,
    GPUSH_BF16,
    GPUSH_F32,
    GPUSH_F64
};

/* A tensor as a kernel sees it. Contiguous, row by row, unless the op says GPUSH_STRIDED. */
typedef struct gpush_tensor {
    void *data; /* of the device's memory; NULL in shape rules and gradients */
    int64_t numel;
    const int64_t *size, *stride; /* ndim of each; strides in elements */
    int32_t ndim, dtype;
    int64_t step; /* operands of an op without a shape rule: element i of the result goes with
                     element i * step, where step is 1, or 0 for a single element */
} gpush_tensor;

enum gpush_kind { GPUSH_NONE, GPUSH_NUMBER, GPUSH_TENSOR, GPUSH_TENSORS, GPUSH_INTS, GPUSH_TEXT };

/* An argument of a call. */
typedef struct gpush_arg {
    int32_t kind;               /* GPUSH_NONE: an optional one that is absent */
    int32_t n;                  /* GPUSH_TENSORS and GPUSH_INTS: how many */
    double f;                   /* GPUSH_NUMBER: the number, which is also in */
    int64_t i;                  /* this one, cut off; of a bool 0 or 1, of a dtype gpush_dtype */
    const gpush_tensor *tensor; /* GPUSH_TENSOR; GPUSH_TENSORS: the first of n */
    const int64_t *ints;
    const char *text;
} gpush_arg;

/* What a shape rule says of a result. */
typedef struct gpush_result {
    int32_t dtype, ndim;
    int64_t size[GPUSH_MAX_DIMS];
} gpush_result;

typedef struct gpush_call gpush_call;
typedef struct gpush_gradient gpush_gradient;
typedef struct gpush_value gpush_value; /* a tensor whose elements are not there yet */

/* gpush's functions. Use them by the short forms below. */
typedef struct gpush_functions {
    int (*fail)(const gpush_call *c, const char *format, ...);
    void (*parallel)(const gpush_call *c, int64_t n, int64_t grain,
                     void (*body)(void *context, int64_t begin, int64_t end), void *context);
    gpush_value *(*run)(gpush_gradient *g, const char *op, const char *format, ...);
    int (*fail_gradient)(gpush_gradient *g, const char *format, ...);
} gpush_functions;

/* A call of an op: for its shape rule and its kernels. */
struct gpush_call {
    int32_t nargs, nresults;
    const gpush_arg *arg;       /* as the signature has them */
    const gpush_tensor *result; /* not there yet in a shape rule */
    void *stream; /* cuda: the cudaStream_t to queue on, whose card is the current one */
    const gpush_functions *gpush;
};

/* A step of backward. It fails where a tensor of a list needs a gradient: those have none. */
struct gpush_gradient {
    int32_t nargs, nresults;
    const gpush_arg *arg;   /* of the call; tensors without their elements */
    gpush_value *const *x;  /* its tensors, by argument (numbers in the place of an operand, too);
                               NULL where `saves` leaves them out */
    gpush_value *const *y;  /* its results; likewise */
    gpush_value *const *dy; /* the gradients of the results: zeros where none came */
    const uint8_t *wanted;  /* by argument: whether its gradient is needed */
    gpush_value **dx;       /* by argument: to be set where wanted; may be larger by broadcasting */
    const gpush_functions *gpush;
};

/* These return 0, or what gpush_fail returns. */
typedef int gpush_shape_rule(const gpush_call *c, gpush_result *result);
typedef int gpush_kernel(const gpush_call *c);
typedef int gpush_gradient_rule(gpush_gradient *g);

enum { GPUSH_STRIDED = 1 };     /* gpush_op.flags: kernels take any strides */
enum { GPUSH_NO_RESULTS = -1 }; /* gpush_op.results: it only writes */

/* A row of the table of ops: an op. What is 0 is absent. */
typedef struct gpush_op {
    const char *name;
    const char *signature; /* "tensor x, tensor y, float p=2, dims? dim": `!` after the type of the
                              first makes NAME_, which writes there; `tensors!` are written */
    const char *help;      /* a line, without a full stop */
    const char *dtypes;    /* of tensors: "f32 f64", or floats, integers, numbers, all. Operands of
                              an op without a shape rule are converted to one of them. */
    int32_t results;       /* how many; 0: one */
    uint32_t flags;
    gpush_shape_rule *shape; /* NULL: elementwise. The operands come first in the signature; they
                                broadcast, and are of one dtype, which is the results', too. */
    gpush_kernel *cpu, *cuda;
    gpush_gradient_rule *gradient; /* or */
    const char *derivative; /* the op that takes the gradients of the results, all arguments and all
                               results, and gives a gradient for each tensor in the signature */
    const char *saves; /* what gradient reads: "x" the tensors, "y" the results, "" neither; NULL:
                          both */
} gpush_op;

typedef struct gpush_library {
    uint32_t abi, op_size;
    const char *name;
    const gpush_op *ops;
    size_t n;
} gpush_library;

/* Begins and ends an error: return what it returns. The message follows the op's name. Any thread
 * of the call may use it; the first message counts. */
#define gpush_fail(c, ...) ((c)->gpush->fail((c), __VA_ARGS__))
#define gpush_fail_gradient(g, ...) ((g)->gpush->fail_gradient((g), __VA_ARGS__))

/* For kernels on the cpu: calls body for parts of 0 … n - 1 of at least grain, on several
 * threads. */
#define gpush_parallel(c, n, grain, body, context)                                                 \
    ((c)->gpush->parallel((c), (n), (grain), (body), (context)))

/* Runs a row of the table in a gradient; NULL after a failure, which needs no check: then the
 * gradient fails. format has a letter for each argument: t a gpush_value *, l a list of them and
 * their number (int), n a number (double), i an int64_t, b an int that is 0 or 1, v a
 * const int64_t * and their number (int), s a text, d a dtype (int), - an absent one. What is left
 * out at the end is absent, too. Of several results the first counts. */
#define gpush_run(g, ...) ((g)->gpush->run((g), __VA_ARGS__))

/* A dim as callers count them, from 1 or from the end, as 0 … ndim - 1; -1 with an error. */
static inline int gpush_dim(const gpush_call *c, int64_t dim, int ndim) {
    int64_t n = ndim > 0 ? ndim : 1;
    if (dim >= 1 && dim <= n) return (int)dim - 1;
    if (dim < 0 && -dim <= n) return (int)(n + dim);
    gpush_fail(c, "dim %lld is out of range (expected 1 to %lld, or -%lld to -1)", (long long)dim,
               (long long)n, (long long)n);
    return -1;
}

/* Ends a library called name, whose ops are the array `rows`: what `require` calls. */
#define GPUSH_LIBRARY(library, rows)                                                               \
    GPUSH_EXPORT int luaopen_##library(lua_State *L) {                                             \
        static const gpush_library it = {GPUSH_ABI, sizeof(gpush_op), #library, rows,              \
                                         sizeof(rows) / sizeof *(rows)};                           \
        lua_getglobal(L, "require");                                                               \
        lua_pushstring(L, "gpush");                                                                \
        lua_callk(L, 1, 0, 0, NULL);                                                               \
        lua_getfield(L, LUA_REGISTRYINDEX, "gpush.extend");                                        \
        lua_pushlightuserdata(L, (void *)&it);                                                     \
        lua_callk(L, 1, 1, 0, NULL);                                                               \
        return 1;                                                                                  \
    }

#ifdef __cplusplus
}
#define GPUSH_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef __cpp_exceptions
/* A kernel or rule that may throw, as gpush takes it: gpush_catch<kernel>. */
template <int (*kernel)(const gpush_call *)> int gpush_catch(const gpush_call *c) noexcept {
    try {
        return kernel(c);
    } catch (const std::exception &e) {
        return gpush_fail(c, "%s", e.what());
    } catch (...) {
        return gpush_fail(c, "an exception");
    }
}
#endif
#else
#define GPUSH_EXPORT __attribute__((visibility("default")))
#endif

#endif
