/* Losses of 16-bit floats as programs that a device may have ready: both tensors widened to f32, a
 * row's formula of them, and the mean or the sum, rounded once. */
#include <stdlib.h>

#include "tensor/fuse/program.h"

static gp_value of_value(int v) { return (gp_value){.kind = GP_TENSOR, .i = v}; }

/* A new input of dtype dt, and its value in f32. */
static gp_value widened(gp_draft *d, gp_dtype dt) {
    gp_value arg[3] = {of_value(gp_draft_input(d, dt)), {.kind = GP_NONE}, {.kind = GP_DTYPE}};
    arg[2].i = GP_f32;
    return of_value(gp_draft_step(d, GP_OP(to), GP_f32, GP_f32, 1, 3, arg));
}

gp_program *gp_program_loss(const gp_op *term, const gp_op *fold, gp_dtype dt, double number) {
    gp_draft *d = malloc(sizeof *d);
    uint8_t used[GP_PROGRAM_INPUTS];
    if (!d) return gp_fail_null("%s: out of memory", term->name);
    gp_draft_begin(d);
    d->ready_made = true;
    gp_value a = widened(d, dt), b = widened(d, dt);
    gp_value arg[3] = {a, b, {.kind = GP_NUMBER, .is_float = true, .f = number}};
    int n = term->ntensors;
    uint16_t out = (uint16_t)gp_draft_step(d, term, GP_f32, GP_f32, n, n, arg);
    d->fold = (gp_fold){.op = fold, .compute = GP_f32, .dtype = (uint8_t)dt, .mask = UINT64_MAX};
    gp_program *p = gp_draft_finish(d, &out, 1, used);
    free(d);
    return p;
}
