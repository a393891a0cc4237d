/* Queues a kernel of the user's. Variables of its text that have their values in tensors get them
 * before it, and give them back after it, in the stream's order. */
#include "kernels/cuda/simt/own.h"

#include <string.h>

typedef struct variables {
    int n;
    const gp_own_variable *at[64];
    void *value[64];
    bool read[64]; /* kernels only read it */
} variables;

/* Copies all of them into the module, or those that were written out of it. */
static bool copy(const gp_call *c, const variables *v, bool in) {
    bool ok = true;
    for (int i = 0; ok && i < v->n; i++) {
        void *to = in ? v->at[i]->p : v->value[i], *from = in ? v->value[i] : v->at[i]->p;
        if (in || !v->read[i])
            ok = gp_cuda_ok(c, cudaMemcpyAsync(to, from, v->at[i]->bytes, cudaMemcpyDeviceToDevice,
                                               gp_cuda_stream(c)));
    }
    return ok;
}

/* Finds those of the variables that the program has asked for, by bit: which have their values in
 * blocks (kernels/common/simt/simt.h), the tensors of both lists at these numbers. */
static void find_values(const gp_call *c, const gp_card_text *t, const gp_own_module *m,
                        uint64_t asked, const int *at, variables *v) {
    size_t in[2] = {0, 0};
    for (int i = 0; i < t->nglobals; i++) {
        bool read = t->constants >> i & 1;
        if (asked >> i & 1) {
            char *block = c->arg[1 + read].arrays[at[read]]->data;
            v->at[v->n] = &m->variable[i], v->read[v->n] = read;
            v->value[v->n++] = block + in[read];
        }
        in[read] += (m->variable[i].bytes + 15) / 16 * 16;
    }
}

/* arg[0]: the kernel's address. Values of a launch: grid, block, bytes of shared memory, the
 * arguments that are numbers, as bits, and as find_values has it, variables. */
bool CUDA(kernel_launch)(const gp_call *c) {
    const gp_card_kernel *k = (const gp_card_kernel *)(intptr_t)c->arg[0].i;
    const gp_own_form *f = k->text->form; /* it stays, once a kernel is prepared */
    const gp_own_module *m = f ? &f->on[c->stream->dev->slot] : NULL;
    int n, at[2] = {0, 0}, value = 7;
    const int64_t *ints = gp_ints(c, 3, &n);
    void *args[GP_CARD_PARAMS + 1], *pointer[GP_CARD_PARAMS];
    unsigned size[6];
    variables v = {.n = 0};
    if (!m || !m->module) return gp_fail("%s: it is not compiled for this device", c->name);
    for (int i = 0; i < 6; i++) size[i] = (unsigned)ints[i];
    for (int i = 0; i < k->nparams; i++) {
        if (k->pointer[i]) {
            pointer[i] = c->arg[1 + k->constant[i]].arrays[at[k->constant[i]]++]->data;
            args[i] = &pointer[i];
        } else args[i] = (void *)&ints[value++];
    }
    if (value < n) find_values(c, k->text, m, (uint64_t)ints[value], at, &v);
    return copy(c, &v, true) &&
           gp_module_run(c, m->kernel[k->index].function, size, size + 3, (size_t)ints[6], args) &&
           copy(c, &v, false);
}
