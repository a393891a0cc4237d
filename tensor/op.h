/* The op table and gp_op_run, the only place where an op runs. */
#ifndef GP_OP_H
#define GP_OP_H

#include "tensor/array.h"
#include "tensor/base/srcloc.h"
#include "tensor/base/error.h"
/* C++ sees calls and their arrays: devices and streams are opaque addresses. */
#ifndef __cplusplus
#include "tensor/device/device.h"
#endif

#define GP_MAX_ARGS 18
#define GP_MAX_OUT 4
#define GP_MAX_INTS 32
#define GP_MAX_TMP 8

typedef enum gp_arg_kind {
    GP_NONE,
    GP_TENSOR,
    GP_LIST,
    GP_NUMBER,
    GP_INT,
    GP_FLOAT,
    GP_BOOL,
    GP_INTS,
    GP_STR,
    GP_DTYPE,
    GP_DEVICE,
    GP_PROGRAM
} gp_arg_kind;

/* One argument. GP_NONE: an optional one that is absent. */
typedef struct gp_value {
    uint8_t kind;
    bool is_float;    /* GP_NUMBER: f holds it, else i does */
    bool is_bool;     /* GP_NUMBER: i is true or false, which promotes as a bool tensor does */
    bool written : 1; /* GP_TENSOR, GP_LIST: the kernel updates it (running statistics, parameters);
                         set by infer */
    bool unread : 1;  /* GP_TENSOR: only its shape, dtype and device count; set by infer */
    int32_t n;        /* GP_LIST, GP_INTS: their number */
    union {
        gp_tensor *t;            /* GP_TENSOR; borrowed */
        const gp_array *a;       /* the same, as kernels see it (on a queue: a copy) */
        gp_tensor **list;        /* GP_LIST; borrowed */
        const gp_array **arrays; /* the same, as kernels see it */
        double f;
        int64_t i;     /* GP_INT, GP_NUMBER, GP_BOOL, GP_DTYPE; GP_INTS: an index into call->ints */
        const char *s; /* GP_STR; interned or static: lives as long as the call is queued */
        gp_device *dev;
        struct gp_program *program; /* GP_PROGRAM (tensor/fuse/program.h); borrowed */
    };
} gp_value;

/* One run of an op: its arguments in the order of the signature, and its outputs. Asynchronous
 * devices copy it into their queue. */
typedef struct gp_call {
    const struct gp_op *op;
    const char *name; /* for messages and records: op's name, or that of the row that op replaces */
    gp_stream *stream; /* set by gp_op_run */
    gp_tensor *into; /* in place: the tensor written, the same as out[0]; NULL: new ones are made */
    uint64_t id;     /* correlation id, unique in the process */
    gp_srcloc loc;   /* that launched it (asynchronous devices, or while recording) */
    uint64_t seed, counter; /* random ops: Philox key and op counter */
    uint8_t compute;        /* gp_dtype in which a formula is evaluated; set by infer */
    bool requires_grad;     /* the caller wants the result as a leaf; for bindings */
    bool tensors;  /* for a launch: its tensors are such, not copies of their arrays (a replay has
                      those), and their storages tell which write their values are from */
    bool replayed; /* a captured function launches it again */
    int nargs, nout, nints, ntmp;
    gp_value arg[GP_MAX_ARGS];
    union {
        gp_tensor *out[GP_MAX_OUT];       /* new references, owned by the caller of gp_op_run */
        const gp_array *outa[GP_MAX_OUT]; /* the same, as kernels see it */
    };
    union {
        gp_tensor *tmp[GP_MAX_TMP]; /* temporaries that infer made for the kernel; freed by
                                       gp_op_run */
        const gp_array *tmpa[GP_MAX_TMP];
    };
    int64_t ints[GP_MAX_INTS];
} gp_call;

/* The call whose kernel runs on this thread, or for which a pool thread works; NULL: none. */
#ifndef __cplusplus /* CUDA kernels do not use it */
extern _Thread_local const gp_call *gp_running;
#endif

/* What infer sets of the outputs. */
typedef struct gp_meta {
    int n;
    gp_device *dev;
    struct {
        gp_dtype dtype;
        gp_shape shape;
    } out[GP_MAX_OUT];
} gp_meta;

typedef enum gp_op_kind {
    GP_UNARY, /* and PREDICATE rows */
    GP_PARAM, /* and PARAM3 rows: parameters follow ntensors operands */
    GP_BINARY,
    GP_COMPARE,
    GP_TERNARY,
    GP_REDUCE,
    GP_GRAD,
    GP_VIEW,
    GP_CUSTOM,
    GP_FUNCTION /* no op: a function with a name and a signature, such as a layer's class */
} gp_op_kind;

/* Bits of gp_op.types above those of the dtypes. */
#define GP_T_TOFLOAT (1u << 16) /* integers are computed as, and give, f32 */
#define GP_T_WIDEN (1u << 17)   /* integers and bool give i64 */
#define GP_T_BOOL (1u << 18)    /* the result is bool */

/* What an integer op, or a probability, may fail at. */
typedef enum gp_fault_kind {
    GP_FAULT_NONE,
    GP_FAULT_DIVISOR,  /* integers: the second operand is 0 */
    GP_FAULT_EXPONENT, /* integers: the second operand is below 0 */
    GP_FAULT_CHANCE    /* floats: the first operand is not between 0 and 1 */
} gp_fault_kind;

/* What autocast does to the arguments of a row. The lists are PyTorch's for CUDA, for every device;
 * those of linalg and fft are its for the CPU. Composites have theirs in their definition. */
typedef enum gp_cast_policy {
    GP_CAST_NONE,    /* the arguments stay as they are given */
    GP_CAST_LOW,     /* all floats but f64 become the 16-bit dtype of the scope */
    GP_CAST_WIDE,    /* 16-bit floats become f32 */
    GP_CAST_DTYPE,   /* the result is f32, by the option dtype where it is not given */
    GP_CAST_PROMOTE, /* the 16-bit floats and f32 become the widest of them */
    GP_CAST_REFUSED  /* an error */
} gp_cast_policy;

typedef struct gp_cast_rule {
    uint8_t policy;            /* gp_cast_policy */
    uint8_t dtype;             /* GP_CAST_DTYPE: the argument that is the option dtype */
    const char *name, *advice; /* GP_CAST_REFUSED: the function that users call, and what to write
                                  instead */
} gp_cast_rule;

struct gp_cost;
/* What a row without a formula costs: fn, which is one of cost.h's, sets what cost has beside the
 * bytes of all operands and results; NULL: nothing. */
typedef struct gp_cost_rule {
    uint8_t family; /* gp_family (cost.h) */
    void (*fn)(const gp_call *c, const struct gp_cost_rule *rule, struct gp_cost *cost);
    double a, b; /* as fn says */
} gp_cost_rule;

typedef struct gp_op {
    const char *name, *sig, *help; /* sig: see gp_sig_parse; GP_GRAD rows have neither */
    /* Rows with a formula: its operands, a letter each, and its text. A reduction: what it begins
     * with, what it does for each element (formula), and what it does at the end, once a result. */
    const char *vars, *formula, *start, *finish;
    uint16_t id;      /* its place in gp_ops */
    uint8_t kind;     /* gp_op_kind */
    uint8_t ntensors; /* elementwise: number of tensor operands (1 to 3) */
    bool random;      /* draws from the generator: gp_op_run fills seed and counter */
    uint32_t types;   /* dtypes accepted, and GP_T_ bits */
    double lo, hi;    /* sample domain for tests */
    /* Shape and dtype rule. May run ops and gp_wait where a shape depends on data, and leave
     * temporaries in c->tmp. */
    bool (*infer)(gp_call *c, gp_meta *m);
    /* GP_VIEW: makes out[0 … nout-1] over the same storage; no launch. */
    bool (*view)(gp_call *c);
    const struct gp_rule *rule; /* how it is differentiated (tape.h); NULL: it is not */
    /* Elementwise rows and reductions: the first of the ops that compute its derivatives, one for
     * each operand, and their number; their help is the formula. GP_GRAD: of, the row that it is a
     * derivative of. */
    uint16_t grad, ngrads, of;
    struct gp_op_known *known; /* of rows and GP_GRAD */

    /* ---- columns that a row of ops.def names; zero for most ---- */

    /* Second names, mostly PyTorch's: of the op, "concat concatenate"; of its parameters,
     * "b=tensor1 c=tensor2". Of all ops: bindings/args/names.def. */
    const char *also, *options;
    /* For help, the dtypes that operands may have, where types does not say it: CUSTOM and RANDOM
     * rows, whose own rules refuse the others, and formulas that take more or less than their type.
     * tests/scripts/help_dtypes.lua compares. */
    uint32_t accepts;
    gp_cast_rule autocast;
    gp_cost_rule cost; /* of CUSTOM and RANDOM rows */
    /* Before the rule of an elementwise row: false with a message where the formula does not take
     * the arguments. *dt, the dtype of the first operand, counts as what check makes it (but for
     * BINARY rows). */
    bool (*check)(gp_call *c, gp_dtype *dt);
    /* After the rule, when c->compute is known: false with a message; may fill in arguments. dt is
     * the dtype of the operands together. */
    bool (*settle)(gp_call *c, gp_dtype dt);
    /* For help: what the host waits for where the operands are on a device, NULL if the op only
     * queues; and which elements are an error, NULL if only those of fault and picks are. */
    const char *waits, *raises;
    /* For tests: arguments of a call, "f(2, 3), 2" (tests/support/audit/samples.lua says what f
     * is); NULL: those of its kind. */
    const char *sample;
    uint16_t recorded; /* the op that runs in its place where it is recorded, which takes the same
                          arguments and gives one more output, for backward only; 0: none */
    uint8_t fault;     /* gp_fault_kind */
    uint8_t form;      /* an enumeration of its family's: rows that share a rule and a kernel */
    uint8_t fuses;     /* gp_fuse_form: how a row without a formula is a step of a program */
    uint8_t exponent;  /* the argument that an earlier one is raised to: kernels/common/power.h;
                          0: none */
    uint8_t indices;   /* the first of its results that are indices, which count from 1; 0: none */
    uint8_t no_derivative;  /* elementwise: bits of the operands for which it has no derivative */
    bool own : 1;           /* for gpush's own use: users call another function */
    bool lowest_bit : 1;    /* of a bool result only the lowest bit counts: ~1 is -2 */
    bool picks : 1;         /* the result is one of the elements: there must be one */
    bool converts : 1;      /* in place, what is written takes any dtype */
    bool separate : 1;      /* a view that is no view to autograd */
    bool empty_is_none : 1; /* an empty list of dims is none of them; of others it is all */
    bool by_quotient : 1;   /* the gradient may be had as g y / x */
} gp_op;

#ifndef __cplusplus
/* What is worked out about an op when it is first needed, and kept; 0: not yet. */
typedef struct gp_op_known {
    _Atomic(struct gp_sig *) sig; /* its signature, parsed (gp_lua_signature) */
    _Atomic uint16_t ops;         /* 1 and the operations in its formula (cost.c) */
    _Atomic uint8_t mentions;     /* GP_GRAD: gp_formula_variables */
    _Atomic uint8_t moves;        /* autograd/watch.c: its results are elements of its operands */
} gp_op_known;
#endif

/* Ids: OP_neg … in the order of ops.def; then those of the derivatives that formulas define,
 * OP_exp_dx, OP_mul_da, OP_mul_db …, which only autograd runs. */
enum {
#define ROW(name) OP_##name,
#include "tensor/ops/table/ops.def"
    GP_ROWS,
    GP_BEFORE_GRADS = GP_ROWS - 1,
#define GRAD_ROW(name, ...) OP_##name,
#include "tensor/autograd/grad_rows.h"
    GP_OPS
};
/* A plug-in is given the program's table when it is opened (tensor/device/plugin_api.h). */
#ifdef GP_PLUGIN
extern const gp_op *gp_ops;
#else
extern const gp_op gp_ops[GP_OPS];
#endif
#define GP_OP(name) (&gp_ops[OP_##name])
static inline int gp_op_id(const gp_op *op) { return op->id; }

/* Row i of the table, counted from 0: those of ops.def, then those that libraries have added
 * (tensor/ops/extension). NULL: there are no more. */
const gp_op *gp_op_row(int i);
/* Adds n rows, which are `size` bytes apart and live as long as the process; calls do not overlap.
 * False with a message where there would be too many. */
bool gp_op_add(const gp_op *first, size_t size, int n);
/* The op called name, or NULL. */
const gp_op *gp_op_find(const char *name);

/* The list arguments that op writes besides its results (`tensors!`), as a bit mask; bit 0 is the
 * first of them. */
uint32_t gp_list_writes(const gp_op *op);

/* A kernel: writes outputs, false with a message on bad data (an index out of range). Runs on any
 * thread; raises nothing; calls no ops. */
typedef bool (*gp_kernel)(const gp_call *c);
/* The CPU kernels for this processor, indexed by op id: set by the kernels themselves before main
 * (kernels/cpu/runtime/table.c). */
extern const gp_kernel *gp_cpu_kernels;

/* Runs c: infer, allocate, hook, launch. On success c->out[0 … c->nout-1] are new references.
 * False with a message; nothing leaks and inputs are unchanged. */
bool gp_op_run(gp_call *c);

/* Building calls in C. gp_call_begin starts one, which the caller owns; the others append an
 * argument each. None fails and none checks: an op has at most GP_MAX_ARGS arguments, with
 * GP_MAX_INTS integers in all. Tensors are borrowed until the call has run; integers are copied. */
void gp_call_begin(gp_call *c, const gp_op *op);
void gp_call_tensor(gp_call *c, gp_tensor *t); /* NULL: absent */
void gp_call_int(gp_call *c, int64_t i);
void gp_call_number(gp_call *c, gp_scalar s);
void gp_call_ints(gp_call *c, const int64_t *v, int n);
void gp_call_none(gp_call *c);
/* Runs and returns out[0]; further outputs are released. NULL with a message. */
gp_tensor *gp_call_one(gp_call *c);

#ifndef __cplusplus
/* The next six give NULL, or false, with a message where memory is short, a copy cannot run or a
 * wait is refused. */
/* x as a contiguous tensor: itself (a new reference) or a copy. Only queues. */
gp_tensor *gp_contiguous(gp_tensor *x);
/* x as dtype dt on the same device: itself (a new reference) or a converted copy. Only
 * queues. */
gp_tensor *gp_cast(gp_tensor *x, gp_dtype dt);
/* x on dev, as a new reference. From or to an asynchronous device this queues a copy and waits (why
 * = copy), unless non_blocking and the host side is pinned, as it then is where x goes to the host:
 * what reads the result waits for it. */
gp_tensor *gp_to_device(gp_tensor *x, gp_device *dev, bool non_blocking, gp_why why,
                        const char *what);
/* x's elements in host memory, contiguous, for the host itself to read: x (a new reference) or a
 * copy. Waits for them. */
gp_tensor *gp_to_host(gp_tensor *x, gp_why why, const char *what);
/* Writes src's elements into dst: broadcast, converted, copied from another device (a wait, as
 * gp_to_device); overlapping ones are copied first. False also where src does not fit. */
bool gp_copy_into(gp_tensor *dst, gp_tensor *src, gp_why why, const char *what);
/* Queues the copy of src, on a device, into dst, in pinned memory, and does not wait; *done: it
 * could, as dtype, shape and layout agree and no gradient is recorded; else nothing was done. */
bool gp_copy_later(gp_tensor *dst, gp_tensor *src, const char *what, bool *done);
/* Copies x's elements, row-major, to dst (numel * size bytes), waiting for them. */
bool gp_read(gp_tensor *x, void *dst, gp_why why, const char *what);
/* Reads the one element of x, waiting for it. False also where x has none or several. */
bool gp_item(gp_tensor *x, gp_scalar *out, gp_why why, const char *what);
#endif

/* Accessors for infer and kernels. */
/* The dtype by which a number operand takes part in promotion. */
gp_dtype gp_value_dtype(const gp_value *v);
static inline gp_scalar gp_value_scalar(const gp_value *v) {
    gp_scalar s;
    s.is_float = v->is_float;
    if (v->is_float) s.f = v->f;
    else s.i = v->i;
    return s;
}
static inline bool gp_given(const gp_call *c, int i) {
    return i < c->nargs && c->arg[i].kind != GP_NONE;
}
static inline const int64_t *gp_ints(const gp_call *c, int i, int *n) {
    *n = c->arg[i].n;
    return c->ints + c->arg[i].i;
}

#ifndef __cplusplus
/* The generator: Philox key and op counter, settable and readable as a whole. */
typedef struct gp_rng {
    uint64_t seed, counter;
} gp_rng;
extern _Thread_local gp_rng gp_generator; /* of this thread */
/* Starts this thread's generator again: key `seed`, counter 0. */
void gp_manual_seed(uint64_t seed);
#endif

#endif
