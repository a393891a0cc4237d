/* Calls into libraries: a call as its shape rule and its kernels see it, and how they fail. */
#include "tensor/ops/extension/extension.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a call ---- */

static gpush_tensor seen(const gp_array *a, bool data, int64_t step) {
    return (gpush_tensor){.data = data ? a->data : NULL,
                          .numel = a->numel,
                          .size = a->dim,
                          .stride = a->stride,
                          .ndim = a->ndim,
                          .dtype = a->dtype,
                          .step = step};
}

gpush_arg gp_extension_arg(const gp_value *v, const int64_t *ints) {
    gpush_arg a = {.kind = GPUSH_NUMBER};
    bool is_float = v->kind == GP_FLOAT || (v->kind == GP_NUMBER && v->is_float);
    switch ((gp_arg_kind)v->kind) {
    case GP_FLOAT:
    case GP_NUMBER:
    case GP_INT:
    case GP_BOOL:
    case GP_DTYPE:
        a.f = is_float ? v->f : (double)v->i;
        a.i = !is_float ? v->i : v->f >= -0x1p63 && v->f < 0x1p63 ? (int64_t)v->f : 0;
        return a;
    case GP_INTS: return (gpush_arg){.kind = GPUSH_INTS, .n = v->n, .ints = ints + v->i};
    case GP_STR: return (gpush_arg){.kind = GPUSH_TEXT, .text = v->s};
    default: return (gpush_arg){.kind = GPUSH_NONE};
    }
}

/* The argument that is a tensor, or a list of them, whose views begin at t. */
static gpush_arg see_tensors(const gp_value *v, gpush_tensor *t, bool data, bool steps) {
    bool list = v->kind == GP_LIST;
    int n = list ? v->n : 1;
    for (int i = 0; i < n; i++) {
        const gp_array *a = list ? v->arrays[i] : v->a;
        t[i] = seen(a, data, !steps || a->numel != 1);
    }
    return (gpush_arg){.kind = list ? GPUSH_TENSORS : GPUSH_TENSOR, .n = n, .tensor = t};
}

bool gp_extension_see(gp_extension_view *v, const gp_call *c, bool kernel) {
    const gp_extension *e = gp_extension_of(c->op);
    enum { OWN = sizeof v->tensor / sizeof *v->tensor };
    int n = 0, at = 0;
    for (int i = 0; i < c->nargs; i++)
        n += c->arg[i].kind == GP_LIST ? c->arg[i].n : c->arg[i].kind == GP_TENSOR;
    v->more = n > OWN ? malloc((size_t)n * sizeof *v->more) : NULL;
    if (n > OWN && !v->more) return gp_fail("%s: out of memory", c->op->name);
    gpush_tensor *t = v->more ? v->more : v->tensor;
    for (int i = 0; i < e->sig.n; i++) {
        const gp_value *a = &c->arg[i];
        bool given = gp_given(c, i),
             tensors = given && (a->kind == GP_TENSOR || a->kind == GP_LIST);
        if (!given) v->arg[i] = (gpush_arg){.kind = GPUSH_NONE};
        else if (!tensors) v->arg[i] = gp_extension_arg(a, c->ints);
        else v->arg[i] = see_tensors(a, t + at, kernel, i < e->operands), at += v->arg[i].n;
    }
    for (int i = 0; kernel && i < c->nout; i++) v->result[i] = seen(c->outa[i], true, 1);
    v->call = (gpush_call){.nargs = e->sig.n,
                           .nresults = e->results,
                           .arg = v->arg,
                           .result = kernel ? v->result : NULL,
                           .gpush = &gp_extension_functions};
    v->loop = NULL;
    atomic_init(&v->failed, false);
    return true;
}

static void free_view(gp_extension_view *v) { free(v->more); }

/* ---- the functions that a library gets ---- */

/* Any thread of the call's may come here, and the first one's message counts: it is whole when the
 * call is over. */
static int fail(const gpush_call *c, const char *format, ...) {
    gp_extension_view *v = (gp_extension_view *)(uintptr_t)c;
    if (atomic_exchange(&v->failed, true)) return -1;
    va_list ap;
    va_start(ap, format);
    vsnprintf(v->text, sizeof v->text, format, ap);
    va_end(ap);
    return -1;
}

static void parallel(const gpush_call *c, int64_t n, int64_t grain,
                     void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx) {
    const gp_extension_view *v = (const gp_extension_view *)c;
    if (v->loop) v->loop(n, grain, body, ctx);
    else if (n > 0) body(ctx, 0, n);
}

const gpush_functions gp_extension_functions = {.fail = fail,
                                                .parallel = parallel,
                                                .run = gp_extension_do,
                                                .fail_gradient = gp_extension_fail_gradient};

bool gp_extension_ended(gp_extension_view *v, const gp_extension *e, int status, const char *what) {
    bool failed = atomic_load(&v->failed);
    if (failed) gp_fail("%s: %s", e->op.name, v->text);
    else if (status)
        gp_fail("%s: %s returned %d without a message (library '%s')", e->op.name, what, status,
                e->library);
    free_view(v);
    return !failed && !status;
}

bool gp_extension_run(const gp_call *c, void *stream, gp_extension_loop *loop) {
    const gp_extension *e = gp_extension_of(c->op);
    gp_extension_view v;
    if (!gp_extension_see(&v, c, true)) return false;
    v.call.stream = stream;
    v.loop = loop;
    return gp_extension_ended(&v, e, gp_extension_kernel(e, c->stream->dev)(&v.call), "its kernel");
}
