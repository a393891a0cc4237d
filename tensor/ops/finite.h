/* check_finite, which looks for NaN and infinities: its arguments, and what it says of them. */
#ifndef GP_FINITE_H
#define GP_FINITE_H

#include "tensor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nan.watch gives lists of one length for x and the operands that are given, too. */
enum {
    GP_CHECK_X,
    GP_CHECK_OPERANDS, /* GP_CHECK_MOST operands of the op whose result x is; each may be absent; in
                          a list, x itself stands for one that is */
    GP_CHECK_MOST = 3,
    GP_CHECK_NOTES = GP_CHECK_OPERANDS + GP_CHECK_MOST, /* gp_finite_note_id of each, two in an
                                                           integer, as gp_finite_set_note puts them;
                                                           absent: x is not an op's result */
    GP_CHECK_TOGETHER = 2 * GP_MAX_INTS                 /* tensors that have notes */
};

/* What is said of a result: whose it is. Texts live as long as the process. */
typedef struct gp_finite_note {
    const char *op, /* NULL: check_finite was called for itself */
        *step,      /* the forward op in whose backward op ran; NULL: it was not backward */
        *module;    /* the path of the module that called the op, or the forward op; NULL: none */
    gp_srcloc at;   /* where the op was queued; file NULL: that is the call's own line */
    const char *given; /* x is no result, but this argument of the op; NULL: a result */
    bool number;       /* a number among the op's arguments is not finite, or `given` is not NULL:
                          infinities alone are passed on */
} gp_finite_note;

/* The number of a note like n, the same for equal ones; 0: there is no memory for more, and x
 * counts as no op's result. Any thread may call. */
uint32_t gp_finite_note_id(const gp_finite_note *n);
/* Puts the number of tensor k's note among c's integers, which begin with these. */
static inline void gp_finite_set_note(gp_call *c, int k, uint32_t id) {
    c->ints[k / 2] = k % 2 ? c->ints[k / 2] | (int64_t)((uint64_t)id << 32) : (int64_t)id;
}
/* The note of tensor k of c; never NULL. */
const gp_finite_note *gp_finite_note_of(const gp_call *c, int k);

/* How many tensors c checks, and argument i of tensor k's check, x or an operand; NULL: it is
 * absent. */
static inline int gp_check_count(const gp_call *c) {
    return c->arg[GP_CHECK_X].kind == GP_LIST ? c->arg[GP_CHECK_X].n : 1;
}
static inline const gp_array *gp_check_array(const gp_call *c, int i, int k) {
    const gp_value *v = &c->arg[i];
    if (v->kind != GP_LIST) return v->kind == GP_TENSOR ? v->a : NULL;
    bool absent = i != GP_CHECK_X && v->arrays[k]->data == c->arg[GP_CHECK_X].arrays[k]->data;
    return absent ? NULL : v->arrays[k];
}

/* The messages of c, a call of check_finite, for tensor k, with two %lld for the numbers of NaN and
 * of infinite elements: the first where all operands are finite, k + 1 where the k-th operand is
 * the first that is not, the last, GP_CHECK_MOST + 1, where only a number is not. Interned, and so
 * is the array. NULL with a message without memory. */
const char *const *gp_finite_texts(const gp_call *c, int k);
/* Whether a failure's text is such a message of nan.watch's. */
bool gp_finite_watched(const char *text);

#ifdef __cplusplus
}
#endif

#endif
