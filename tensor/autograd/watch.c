/* nan.watch: which results are checked, and by which call. */
#include "tensor/autograd/watch.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "tensor/cost.h"
#include "tensor/device/stream/failure.h"
#include "tensor/intercept.h"
#include "tensor/ops/finite.h"

_Thread_local gp_watch_state gp_watch;

/* ---- which results are checked ---- */

/* Whether the formula computes: has an operator of arithmetic or a function. Without one it only
 * compares and chooses, as relu's. */
static bool computes(const char *formula) {
    char before = 0;
    for (const char *p = formula; *p; p++) {
        bool operand = isalnum((unsigned char)before) || before == ')';
        if (strchr("*/+%", *p) || (*p == '-' && operand) ||
            (*p == '(' && isalnum((unsigned char)before)))
            return true;
        if (*p != ' ') before = *p;
    }
    return false;
}

/* Whether op's results are elements of its operands, means of these, or numbers that the script
 * gives: they are not finite only where those are not. */
static bool moves(const gp_op *op) {
    if (op->picks) return true;
    if (op->formula) return op->kind != GP_REDUCE && !computes(op->formula);
    switch (gp_op_family(op)) {
    case GP_FAMILY_fill:
    case GP_FAMILY_layout:
    case GP_FAMILY_gather:
    case GP_FAMILY_select:
    case GP_FAMILY_sort:
    case GP_FAMILY_topk:
    case GP_FAMILY_pool:
    case GP_FAMILY_elementwise: return true; /* where and masked_fill; the others have formulas */
    default: return false;
    }
}

/* The same, read once for each op. */
static bool known_to_move(const gp_op *op) {
    enum { MOVES = 1, MAKES };
    _Atomic uint8_t *k = &op->known->moves;
    if (!atomic_load_explicit(k, memory_order_relaxed))
        atomic_store_explicit(k, moves(op) ? MOVES : MAKES, memory_order_relaxed);
    return atomic_load_explicit(k, memory_order_relaxed) == MOVES;
}

/* v's tensor, or of a list that of the number k; NULL: it is none, or has none of it. */
static gp_tensor *tensor_of(const gp_value *v, int k) {
    if (v->kind == GP_LIST) return k >= 0 && k < v->n ? v->list[k] : NULL;
    return v->kind == GP_TENSOR ? v->t : NULL;
}

static bool is_operand(const gp_value *v, const gp_tensor *t) {
    return t && !v->unread && gp_is_float((gp_dtype)t->a.dtype);
}

/* Whether t, a result of c, may hold a NaN or an infinity that no operand has: conversions to a
 * narrower dtype may overflow, too. */
static bool may_be_new(const gp_call *c, const gp_tensor *t) {
    if (!gp_is_float((gp_dtype)t->a.dtype) || !t->a.numel) return false;
    if (!known_to_move(c->op)) return true;
    for (int i = 0; i < c->nargs; i++)
        if (is_operand(&c->arg[i], tensor_of(&c->arg[i], -1)) && c->arg[i].t->a.dtype != t->a.dtype)
            return true;
    return false;
}

/* ---- the check ---- */

static bool is_not_finite(const gp_value *v) {
    return (v->kind == GP_FLOAT || (v->kind == GP_NUMBER && v->is_float)) && !isfinite(v->f);
}

static void add_text(gp_call *k, const char *s) {
    k->arg[k->nargs++] = (gp_value){.kind = s ? GP_STR : GP_NONE, .s = s};
}

enum { TOGETHER = 64 };

/* Results that one call checks, each with its operands; of all or of none of them one is NULL. */
typedef struct group {
    int n;
    gp_tensor *of[1 + GP_CHECK_MOST][TOGETHER]; /* as arguments: from GP_CHECK_X on */
} group;

static bool check(const gp_call *c, group *g) {
    gp_call k;
    bool given = false;
    if (!g->n) return true;
    for (int i = 0; i < c->nargs; i++) given |= is_not_finite(&c->arg[i]);
    gp_call_begin(&k, GP_OP(check_finite));
    for (int i = 0; i <= GP_CHECK_MOST; i++)
        if (g->n == 1 || !g->of[i][0]) gp_call_tensor(&k, g->of[i][0]);
        else k.arg[k.nargs++] = (gp_value){.kind = GP_LIST, .n = g->n, .list = g->of[i]};
    g->n = 0;
    add_text(&k, c->name);
    add_text(&k, gp_watch.step ? gp_watch.step->op->name : NULL);
    /* What is raised at once names the module that is called by itself. */
    add_text(&k, gp_watch.step || c->stream->async ? gp_watch_module() : NULL);
    k.arg[k.nargs++] = (gp_value){.kind = GP_BOOL, .i = given};
    return gp_op_run(&k);
}

/* Adds t, a result of c, and its operands; those that c has overwritten cannot be asked any more.
 * Checks what is there before where that is full, or has other operands. number: that of t in c's
 * lists; -1: it is in none. */
static bool add(const gp_call *c, group *g, gp_tensor *t, int number) {
    gp_tensor *own[1 + GP_CHECK_MOST] = {t};
    int n = 1;
    bool fits = g->n < TOGETHER;
    for (int i = 0; i < c->nargs && n <= GP_CHECK_MOST; i++) {
        const gp_value *v = &c->arg[i];
        gp_tensor *x = tensor_of(v, number);
        bool ask = x && is_operand(v, x) && !v->written && x->storage != t->storage &&
                   x->storage->dev == t->storage->dev;
        if (x) own[n++] = ask ? x : NULL;
    }
    for (int i = 1; g->n && i <= GP_CHECK_MOST; i++) fits &= !own[i] == !g->of[i][0];
    if (!fits && !check(c, g)) return false;
    for (int i = 0; i <= GP_CHECK_MOST; i++) g->of[i][g->n] = own[i];
    g->n++;
    return true;
}

static bool show_results(const gp_call *c) {
    bool ok = true;
    gp_watch.on = false;
    for (int i = 0; ok && i < c->nout; i++) {
        gp_tensor *t = c->out[i];
        if (gp_is_float((gp_dtype)t->a.dtype) && t->a.numel && !known_to_move(c->op))
            ok = gp_watch.see(c, t);
    }
    gp_watch.on = true;
    return ok;
}

/* The first list that c has written: an optimizer's parameters, or gradients that are clipped.
 * State in further ones, as Adam's, no other op reads: to look at it took 8 % of a step. One call
 * checks them, which names the first. */
static bool check_list(const gp_call *c) {
    int i = 0;
    while (i < c->nargs && !(c->arg[i].kind == GP_LIST && c->arg[i].written)) i++;
    const gp_value *v = i < c->nargs ? &c->arg[i] : NULL;
    group g;
    g.n = 0;
    for (int k = 0; v && k < v->n; k++)
        if (may_be_new(c, v->list[k]) && !add(c, &g, v->list[k], k)) return false;
    return check(c, &g);
}

static bool watch_results(const gp_call *c) {
    if (gp_watch.see) return show_results(c);
    /* Nothing after a failure is the first. */
    if (c->stream->async && atomic_load_explicit(&gp_failures_unread, memory_order_relaxed))
        return true;
    group g;
    for (int i = 0; i < c->nout; i++) {
        g.n = 0;
        if (may_be_new(c, c->out[i]) && !(add(c, &g, c->out[i], -1) && check(c, &g))) return false;
    }
    return check_list(c);
}

static bool at(gp_moment m, const char *what, void *of) {
    return m != GP_AT_LAUNCH || !gp_watch.on || watch_results(of);
}

static _Thread_local gp_interceptor interceptor = {.order = 40, .at = at};

void gp_watch_set(bool on) {
    gp_watch.on = on;
    gp_intercept(&interceptor, on);
}
