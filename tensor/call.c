/* A call that outlives its caller: copied with the arrays that it points to. */
#include "tensor/call.h"

#include <stddef.h>
#include <string.h>

#include "tensor/tensor.h"

/* Lists count twice, for their table of pointers. */
int gp_call_arrays(const gp_call *c) {
    int n = c->nout + c->ntmp;
    for (int i = 0; i < c->nargs; i++)
        n += c->arg[i].kind == GP_TENSOR ? 1 : c->arg[i].kind == GP_LIST ? 2 * c->arg[i].n : 0;
    return n;
}

static const gp_array *copy_array(gp_array *to, const gp_array *from, uintptr_t address) {
    *to = *from;
    to->data = (char *)((uintptr_t)from->data & address);
    return to;
}

void gp_call_copy(gp_call *to, const gp_call *c, gp_array *arrays, uintptr_t address) {
    memcpy(to, c, offsetof(gp_call, arg));
    to->tensors = false;
    memcpy(to->ints, c->ints, (size_t)c->nints * sizeof *c->ints);
    for (int i = 0; i < c->nout; i++) to->outa[i] = copy_array(arrays++, &c->out[i]->a, address);
    for (int i = 0; i < c->ntmp; i++) to->tmpa[i] = copy_array(arrays++, &c->tmp[i]->a, address);
    for (int i = 0; i < c->nargs; i++) {
        gp_value *v = &to->arg[i];
        *v = c->arg[i];
        if (v->kind == GP_TENSOR) v->a = copy_array(arrays++, c->arg[i].a, address);
        if (v->kind != GP_LIST) continue;
        v->arrays = (const gp_array **)(arrays + v->n);
        for (int j = 0; j < v->n; j++)
            v->arrays[j] = copy_array(arrays++, &c->arg[i].list[j]->a, address);
        arrays += v->n; /* the pointers' space: one array each, more than they need */
    }
}
