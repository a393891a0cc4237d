/* Runs a kernel of the user's on the pool's threads. */
#include "kernels/common/simt/simt.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/device/card/model.h"

#include <stdlib.h>
#include <string.h>

static void loop(int64_t n, int64_t grain, gp_simt_body body, void *ctx) {
    gp_parallel(n, grain, body, ctx);
}

static gp_uint3 three(const int64_t *v) {
    return (gp_uint3){(unsigned)v[0], (unsigned)v[1], (unsigned)v[2]};
}

/* Tells the card that is modelled what the launch has asked of it: all bytes of its sectors, as if
 * no cache had them; a pass over shared memory takes a multiprocessor a cycle, in which it does 128
 * operations at least. */
static void tell_card(const gp_call *c, const gp_simt_kernel *k) {
    enum { A_PASS = 128 };
    gp_simt_counts n;
    if (!gp_model_card() || strcmp(c->stream->dev->vt->kind, "sim") != 0) return;
    if (!gp_simt_last_counts(k, &n)) return;
    free(n.row);
    gp_cost cost = {.bytes = (double)n.moved,
                    .ops = (double)n.passes * A_PASS,
                    .passes = 1,
                    .unit = GP_UNIT_VECTOR,
                    .dtype = GP_f32,
                    .family = GP_FAMILY_elementwise};
    gp_model_counted(c->id, &cost, (double)n.least);
}

/* Of a launch: grid, block, bytes of shared memory, the arguments that are numbers, as bits, and
 * where the text has variables, which of them have their values in blocks: the last tensors of the
 * lists. Here all do. */
bool CPU(kernel_launch)(const gp_call *c) {
    int n, at[2] = {0, 0}, value = 7;
    const int64_t *v = gp_ints(c, 3, &n);
    gp_simt_launch l = {.kernel = gp_simt_kernel_of(c->arg[0].i),
                        .grid = three(v),
                        .block = three(v + 3),
                        .shared = (size_t)v[6]};
    const gp_simt_source *s = gp_simt_source_of(l.kernel);
    for (int i = 0; i < s->nparams; i++) {
        const gp_simt_param *p = &s->param[i];
        if (!p->pointer) {
            l.arg[i] = (void *)&v[value++];
            continue;
        }
        const gp_array *a = c->arg[1 + p->constant].arrays[at[p->constant]++];
        gp_simt_tensor *t = &l.tensor[l.ntensors++];
        size_t size = gp_dtype_size((gp_dtype)a->dtype);
        *t = (gp_simt_tensor){a->data, (size_t)a->numel * size, (int)size, !p->constant, p->name};
        l.arg[i] = &t->data;
    }
    l.has_values = value < n;
    for (int read = 0; l.has_values && read < 2; read++)
        if (at[read] < c->arg[1 + read].n) l.values[read] = c->arg[1 + read].arrays[at[read]]->data;
    bool ok = gp_simt_run(&l, loop);
    if (ok) tell_card(c, l.kernel);
    return ok;
}
