/* check_finite: one pass that looks at exponents, as whole numbers; only where it finds one of a
 * NaN or an infinity, a second one counts them, and looks at the operands. */
#include <stdatomic.h>
#include <stdio.h>

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/device/stream/failure.h"
#include "tensor/ops/finite.h"

/* Whether the exponent of one of n elements, step bytes apart, is that of NaN and infinities. */
#define ANY(name, U, EXPONENT)                                                                     \
    static bool name(const char *p, int64_t step, int64_t n) {                                     \
        U bad = 0;                                                                                 \
        if (step == sizeof(U))                                                                     \
            for (int64_t i = 0; i < n; i++)                                                        \
                bad |= (U)((((const U *)(const void *)p)[i] & EXPONENT) == EXPONENT);              \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                bad |= (U)((*(const U *)(const void *)(p + i * step) & EXPONENT) == EXPONENT);     \
        return bad;                                                                                \
    }
ANY(any_f16, uint16_t, 0x7c00u)
ANY(any_bf16, uint16_t, 0x7f80u)
ANY(any_f32, uint32_t, 0x7f800000u)
ANY(any_f64, uint64_t, 0x7ff0000000000000u)

typedef struct search {
    gp_nd_loop loop;
    bool (*any)(const char *p, int64_t step, int64_t n);
    gp_load load;
    _Atomic bool found;
    int64_t nan, infinite;
} search;

/* Calls fn for the runs of elements begin … end - 1 of the search's array. */
static void each_run(search *s, int64_t begin, int64_t end,
                     void (*fn)(search *s, const char *p, int64_t step, int64_t n)) {
    int last = s->loop.ndim - 1;
    int64_t row = s->loop.dim[last], step = s->loop.stride[0][last], at = begin % row;
    gp_row_iter rows;
    for (gp_row_iter_begin(&rows, &s->loop, begin); begin < end && !gp_stopped();
         gp_row_iter_next(&rows, &s->loop)) {
        int64_t n = row - at < end - begin ? row - at : end - begin;
        fn(s, rows.p[0] + at * step, step, n);
        begin += n;
        at = 0;
    }
}

static void look(search *s, const char *p, int64_t step, int64_t n) {
    if (s->any(p, step, n)) atomic_store_explicit(&s->found, true, memory_order_relaxed);
}

static void look_part(void *ctx, int64_t begin, int64_t end) { each_run(ctx, begin, end, look); }

static void tally(search *s, const char *p, int64_t step, int64_t n) {
    double v[GP_BLOCK];
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < GP_BLOCK ? n - i : GP_BLOCK;
        s->load(v, p + i * step, step, some);
        for (int64_t k = 0; k < some; k++)
            s->nan += v[k] != v[k], s->infinite += v[k] == v[k] && v[k] - v[k] != 0;
    }
}

static void open_search(search *s, const gp_array *x) {
    gp_dtype dt = (gp_dtype)x->dtype;
    *s = (search){.load = gp_load_fn(dt, GP_CT_f64),
                  .any = dt == GP_f64    ? any_f64
                         : dt == GP_f32  ? any_f32
                         : dt == GP_bf16 ? any_bf16
                                         : any_f16};
    gp_nd_loop_init(&s->loop, 1, &x);
}

/* Whether x has such elements. */
static bool found_in(search *s, const gp_array *x) {
    open_search(s, x);
    gp_parallel(x->numel, 2 * GP_GRAIN, look_part, s);
    return s->found;
}

static bool is_finite(const gp_array *x) {
    search s;
    return !x || !found_in(&s, x);
}

/* Of the call's tensor x. Infinities that an operand brings, as a mask of -inf, are passed on. */
static bool report(const gp_call *c, int x, search *s) {
    const gp_finite_note *note = gp_finite_note_of(c, x);
    int k = 0;
    char where[300] = "";
    each_run(s, 0, s->loop.numel, tally);
    while (k < GP_CHECK_MOST && is_finite(gp_check_array(c, GP_CHECK_OPERANDS + k, x))) k++;
    int from = k < GP_CHECK_MOST || note->number ? k + 1 : 0;
    if (!s->nan && from) return true;
    const char *const *texts = gp_finite_texts(c, x);
    if (!texts) return false;
    gp_failed_at = note->at;
    if (note->step && !c->stream->async) {
        gp_srcloc at = c->loc.file ? c->loc : gp_srcloc_here();
        if (at.file) snprintf(where, sizeof where, " (%s:%d)", at.file, at.line);
    }
    char text[512];
    snprintf(text, sizeof text, texts[from], (long long)s->nan, (long long)s->infinite);
    return gp_fail("%s%s", text, where);
}

/* Arguments: those of tensor/ops/finite.h. */
bool CPU(check_finite)(const gp_call *c) {
    search s;
    for (int x = 0, n = gp_check_count(c); x < n; x++)
        if (found_in(&s, gp_check_array(c, GP_CHECK_X, x)) && !report(c, x, &s)) return false;
    return gp_check_interrupt(c);
}
