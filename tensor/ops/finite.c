/* What check_finite says where it finds a NaN or an infinity. */
#include "tensor/ops/finite.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tensor/base/intern.h"

/* The text in argument i, with each % doubled, since messages are formats; "" for none. */
static const char *text_of(const gp_call *c, int i, char *to, size_t size) {
    size_t n = 0;
    for (const char *p = gp_given(c, i) ? c->arg[i].s : ""; *p && n + 2 < size; p++) {
        to[n++] = *p;
        if (*p == '%') to[n++] = '%';
    }
    return to[n] = 0, to;
}

#define WATCH "nan.watch: "

bool gp_finite_watched(const char *text) { return !strncmp(text, WATCH, sizeof WATCH - 1); }

/* The message, where the operand of that number, from 1, is not finite; 0: all are;
 * GP_CHECK_MOST + 1: only a number is not. */
static const char *text(const gp_call *c, const gp_array *x, int operand) {
    char text[360], shape[100], op[64], step[64], module[128], last[48] = "";
    gp_shape s = {.ndim = x->ndim};
    memcpy(s.dim, x->dim, sizeof *x->dim * (size_t)x->ndim);
    text_of(c, GP_CHECK_OP, op, sizeof op);
    text_of(c, GP_CHECK_STEP, step, sizeof step);
    text_of(c, GP_CHECK_MODULE, module, sizeof module);
    if (operand > GP_CHECK_MOST) snprintf(last, sizeof last, "; a number was not finite before");
    else if (operand) snprintf(last, sizeof last, "; operand %d was not finite before", operand);
    snprintf(text, sizeof text,
             "%s%s%s%%lld NaN and %%lld infinite of %lld element%s (%s %s)%s%s%s%s%s",
             *op ? WATCH : "check_finite: ", op,
             !*op      ? ""
             : operand ? " gave "
                       : " made ",
             (long long)x->numel, x->numel == 1 ? "" : "s", gp_dtype_name((gp_dtype)x->dtype),
             gp_shape_text(&s, shape, sizeof shape), *step ? " in the backward of " : "", step,
             *module ? " in " : "", module, last);
    return gp_intern_text(text);
}

const char *const *gp_finite_texts(const gp_call *c, int k) {
    static gp_intern *_Atomic lists;
    const char *texts[2 + GP_CHECK_MOST];
    const gp_array *x = gp_check_array(c, GP_CHECK_X, k);
    for (int i = 0; i <= GP_CHECK_MOST + 1; i++)
        if (!(texts[i] = text(c, x, i))) return gp_fail("check_finite: out of memory"), NULL;
    gp_intern *set = atomic_load(&lists), *mine = set ? NULL : gp_intern_new();
    if (mine && atomic_compare_exchange_strong(&lists, &set, mine)) set = mine, mine = NULL;
    gp_intern_free(mine);
    const void *list = set ? gp_intern_add(set, texts, sizeof texts) : NULL;
    if (!list) gp_fail("check_finite: out of memory");
    return list;
}
