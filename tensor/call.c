/* Calls: what a parameter takes, and its default; and a call that outlives its caller, copied with
 * the arrays that it points to. */
#include "tensor/call.h"

#include <math.h>
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

void gp_call_default(gp_call *c, const gp_param *p) {
    gp_value *v = &c->arg[c->nargs];
    if (!p->has_default) {
        gp_call_none(c);
        return;
    }
    switch ((gp_sig_type)p->type) {
    case GP_SIG_float: *v = (gp_value){.kind = GP_FLOAT, .f = p->number}; break;
    case GP_SIG_bool: *v = (gp_value){.kind = GP_BOOL, .i = p->number != 0}; break;
    case GP_SIG_str: *v = (gp_value){.kind = GP_STR, .s = p->text}; break;
    case GP_SIG_number:
    case GP_SIG_operand:
        if (p->number == floor(p->number))
            *v = (gp_value){.kind = GP_NUMBER, .i = (int64_t)p->number};
        else *v = (gp_value){.kind = GP_NUMBER, .is_float = true, .f = p->number};
        break;
    case GP_SIG_dims:
    case GP_SIG_shape:
    case GP_SIG_padding:
    case GP_SIG_ints: gp_call_ints(c, &(int64_t){(int64_t)p->number}, 1); return;
    default: *v = (gp_value){.kind = GP_INT, .i = (int64_t)p->number}; break;
    }
    c->nargs++;
}

bool gp_call_takes(const gp_param *p, const gp_value *v) {
    switch ((gp_sig_type)p->type) {
    case GP_SIG_tensor: return v->kind == GP_TENSOR;
    case GP_SIG_operand: return v->kind == GP_TENSOR || v->kind == GP_NUMBER;
    case GP_SIG_tensors:
    case GP_SIG_varargs: return v->kind == GP_LIST;
    case GP_SIG_number: return v->kind == GP_NUMBER;
    case GP_SIG_int:
    case GP_SIG_dim: return v->kind == GP_INT;
    case GP_SIG_float: return v->kind == GP_FLOAT;
    case GP_SIG_bool: return v->kind == GP_BOOL;
    case GP_SIG_dims:
    case GP_SIG_shape:
    case GP_SIG_ints: return v->kind == GP_INTS;
    case GP_SIG_str: return v->kind == GP_STR;
    case GP_SIG_dtype: return v->kind == GP_DTYPE;
    default: return false;
    }
}
