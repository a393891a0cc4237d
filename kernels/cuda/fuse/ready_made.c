/* Programs that are never compiled, of losses of 16-bit floats and of their gradients: inputs that
 * are converted, one formula of them, and what becomes of its result. The loss is a reduction of
 * two arrays; a gradient is the kernel of its row, which converts what it reads and writes. */
#include <string.h>

#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/plugin_api.h"
#include "tensor/fuse/program.h"
#include "tensor/ops/elementwise.h"

/* The input that value v is, perhaps converted; -1: it is none. */
static int input_of(const gp_program *p, int64_t v) {
    const gp_step *s = v < p->ninputs ? NULL : &p->step[v - p->ninputs];
    if (s && (s->op->fuses != GP_FUSE_CONVERT || s->arg[0].i >= p->ninputs)) return -1;
    return (int)(s ? s->arg[0].i : v);
}

/* The one step of p that is no conversion, and reads inputs alone; NULL: there are others. */
static const gp_step *formula_of(const gp_program *p) {
    const gp_step *found = NULL;
    for (int k = 0; k < p->nsteps; k++) {
        const gp_step *s = &p->step[k];
        if (s->op->fuses == GP_FUSE_CONVERT) continue;
        if (found || s->op->kind > GP_GRAD) return NULL;
        found = s;
    }
    for (int i = 0; found && i < found->nargs; i++)
        if (found->arg[i].kind == GP_TENSOR && input_of(p, found->arg[i].i) < 0) return NULL;
    return found;
}

bool gp_ready_made(const gp_program *p, gp_tensor *const *in) {
    const gp_step *s = formula_of(p);
    if (!s || p->nout != 1) return false;
    if (!p->fold.op) return true;
    for (int i = 0; i < p->ninputs; i++)
        if (!in[i]->a.contiguous || in[i]->a.numel == 0) return false;
    return gp_loss_reduces(gp_op_id(s->op));
}

bool gp_ready_made_run(const gp_call *c) {
    const gp_program *p = c->arg[0].program;
    const gp_array **in = c->arg[1].arrays;
    const gp_step *s = formula_of(p);
    gp_call one = *c;
    one.op = s->op, one.nargs = s->nargs, one.compute = s->compute;
    for (int i = 0; i < s->nargs; i++) {
        one.arg[i] = s->arg[i];
        if (s->arg[i].kind == GP_TENSOR) one.arg[i].a = in[input_of(p, s->arg[i].i)];
    }
    if (!p->fold.op) return gp_cuda_kernel(s->op)(&one);
    double number = s->nin > 2 ? s->arg[2].f : 0;
    bool mean = strcmp(p->fold.op->finish, "acc") != 0; /* the sum is finished as it is */
    return gp_loss_reduce(&one, gp_op_id(s->op), one.arg[0].a, one.arg[1].a, number, mean);
}
