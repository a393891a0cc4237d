/* The op that runs a kernel of the user's: its arguments were checked by their parameters
 * (bindings/api/op/simt.c); here it is that they are on one device, and contiguous. */
#include "tensor/infer.h"

/* Arguments: the kernel's number, the tensors that are written, those that are read, and values. */
bool infer_kernel_launch(gp_call *c, gp_meta *m) {
    m->n = 0;
    if (!(m->dev = gp_infer_device(c))) return false;
    for (int i = 1; i <= 2; i++)
        for (int k = 0; k < c->arg[i].n; k++)
            if (!c->arg[i].list[k]->a.contiguous)
                return gp_fail("%s: tensor %d of its %s is not contiguous", c->name, k + 1,
                               i == 2 ? "inputs" : "outputs");
    c->arg[1].written = true;
    return true;
}
