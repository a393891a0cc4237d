/* Integer divisors and exponents are looked at before an op in place runs: what fails leaves its
 * operand as it was. */
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/math.h"

#undef bool /* a row of dtype.def */

typedef struct divisor_check {
    gp_nd_loop loop;
    gp_load load;
    int fault; /* FAULT_…: what is looked for */
    _Atomic int found;
} divisor_check;

/* Elements [begin, end) of the operand, a piece of a row at a time. */
static void look(void *ctx, int64_t begin, int64_t end) {
    divisor_check *k = ctx;
    int last = k->loop.ndim - 1;
    int64_t width = k->loop.dim[last], step = k->loop.stride[0][last], v[GP_BLOCK];
    gp_row_iter g;
    gp_row_iter_begin(&g, &k->loop, begin);
    for (int64_t at = begin, i = begin % width, n; at < end; at += n, i += n) {
        if (i == width) i = 0, gp_row_iter_next(&g, &k->loop);
        n = end - at < width - i ? end - at : width - i;
        if (n > GP_BLOCK) n = GP_BLOCK;
        k->load(v, g.p[0] + i * step, step, n);
        int bad = 0;
        for (int64_t j = 0; j < n; j++) bad |= k->fault == FAULT_NEG_POW ? v[j] < 0 : v[j] == 0;
        if (bad) k->found = 1;
    }
}

_Bool gp_check_divisors(const gp_call *c) {
    const gp_value *v = &c->arg[1];
    int fault = c->op->fault == GP_FAULT_DIVISOR    ? FAULT_DIV_ZERO
                : c->op->fault == GP_FAULT_EXPONENT ? FAULT_NEG_POW
                                                    : 0;
    if (!fault || gp_is_float((gp_dtype)c->compute) || gp_out(c, 0)->numel == 0) return true;
    if (v->kind != GP_TENSOR)
        return fault == FAULT_NEG_POW ? v->i >= 0 || gp_check_faults(c, fault)
                                      : v->i != 0 || gp_check_faults(c, fault);
    divisor_check k = {.load = gp_load_fn((gp_dtype)v->a->dtype, GP_CT_i64), .fault = fault};
    gp_nd_loop_init(&k.loop, 1, (const gp_array *[]){v->a});
    return gp_parallel_op(c, v->a->numel, 1 << 14, look, &k) &&
           gp_check_faults(c, k.found ? fault : 0);
}
