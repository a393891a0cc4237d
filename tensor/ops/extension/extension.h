/* Ops that libraries add at run time (include/gpush/op.h). Each is a gp_op of its own, with the id
 * of the row `extension`: so all tables by id, of kernels, costs and the like, have it, and what
 * they have there reads the structure that the gp_op begins. */
#ifndef GP_EXTENSION_H
#define GP_EXTENSION_H

#include <gpush/op.h>

#include "tensor/autograd/grad.h"
#include "tensor/ops/extension/run.h"
#include "tensor/sig.h"

typedef struct gp_extension {
    gp_op op; /* first: the op of a call is one of these */
    gp_op_known known;
    gp_rule rule;
    gp_sig sig;
    gpush_op row;        /* as the library has it */
    const char *library; /* its name */
    int operands;        /* without a shape rule: how many; they come first */
    int results;
    const gp_op *derivative;
} gp_extension;

static inline const gp_extension *gp_extension_of(const gp_op *op) {
    return (const gp_extension *)op;
}

/* Of ops for which the library has no gradient: backward raises. */
extern const gp_rule gp_rule_missing;

/* Adds the ops of a library, all or none, and keeps the library loaded. Returns them, *n in a row;
 * of a library that was added before, the same. taken(ctx, name): whether something else has that
 * name. NULL with a message that names the library. */
const gp_extension *gp_extension_add(const gpush_library *library,
                                     bool (*taken)(void *ctx, const char *name), void *ctx, int *n);

/* The library's kernel for dev; NULL: it has none. */
static inline gpush_kernel *gp_extension_kernel(const gp_extension *e, const gp_device *dev) {
    return dev->vt->on_host || strcmp(dev->vt->kind, "cuda") ? e->row.cpu : e->row.cuda;
}

/* A call as the library sees it, which it must not outlive. call comes first: the library's
 * functions get it back. */
typedef struct gp_extension_view {
    gpush_call call;
    gp_extension_loop *loop;
    _Atomic bool failed; /* the library said so, with */
    char text[512];      /* this message */
    gpush_arg arg[GP_MAX_ARGS];
    gpush_tensor result[GP_MAX_OUT];
    gpush_tensor tensor[24], *more; /* of the arguments; `more` where they do not suffice */
} gp_extension_view;

/* Fills in the view of c: with addresses and results for a kernel (stream and loop are its),
 * without for a shape rule. False with a message when memory is short. Free it afterwards. */
bool gp_extension_see(gp_extension_view *v, const gp_call *c, bool kernel);
/* How a function of the library's ended that returned status: false with a message. what: "its
 * shape rule". */
bool gp_extension_ended(gp_extension_view *v, const gp_extension *e, int status, const char *what);
/* An argument that is no tensor, as the library sees it; ints: those of its call. */
gpush_arg gp_extension_arg(const gp_value *v, const int64_t *ints);

/* gpush_run and gpush_fail_gradient. */
gpush_value *gp_extension_do(gpush_gradient *g, const char *op, const char *format, ...);
int gp_extension_fail_gradient(gpush_gradient *g, const char *format, ...);
extern const gpush_functions gp_extension_functions;

#endif
