/* nan.watch: which results are checked, and by which call. */
#include "tensor/autograd/watch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/cost.h"
#include "tensor/autograd/checks.h"
#include "tensor/device/stream/failure.h"
#include "tensor/base/intern.h"
#include "tensor/intercept.h"
#include "tensor/sig.h"

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

/* Whether op's results are elements of its operands, or numbers that the script gives: they are not
 * finite only where those are not. The sum of a mean may be too large. */
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

/* Whether t, a result of c, may hold a NaN or an infinity that no operand has: conversions to a
 * narrower dtype may overflow, too. */
static bool may_be_new(const gp_call *c, const gp_tensor *t) {
    if (!gp_is_float((gp_dtype)t->a.dtype) || !t->a.numel) return false;
    if (!known_to_move(c->op)) return true;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        bool read = v->kind == GP_TENSOR && !v->unread && gp_is_float((gp_dtype)v->t->a.dtype);
        if (read && v->t->a.dtype != t->a.dtype) return true;
    }
    return false;
}

/* ---- their check ---- */

static bool is_not_finite(const gp_value *v) {
    return (v->kind == GP_FLOAT || (v->kind == GP_NUMBER && v->is_float)) && !isfinite(v->f);
}

/* Whether the results of c wait for their check, as on a device launches may decide. */
static bool waits(const gp_call *c) { return c->stream->async && !c->stream->dev->vt->on_host; }

/* What is raised at once names the module that is called by itself, and a line where that is not
 * the script's. */
static gp_finite_note note_at(const gp_call *c) {
    bool async = c->stream->async;
    return (gp_finite_note){.op = c->name,
                            .step = gp_watch.step ? gp_watch.step->op->name : NULL,
                            .module = gp_watch.step || async ? gp_watch_module() : NULL,
                            .at = async ? c->loc : (gp_srcloc){0}};
}

/* The name of argument i of op, by its signature; "" where that is not known. */
static void name_of(const gp_op *op, int i, char to[sizeof((gp_param){0}.name)]) {
    gp_sig sig;
    bool known = op->sig && gp_sig_parse(op->sig, &sig) && i < sig.n;
    strcpy(to, known ? sig.p[i].name : "");
}

/* A number brings its infinities along, but none to what an optimizer trains: there its name is
 * said. */
static uint32_t note_of(const gp_call *c, bool step) {
    gp_finite_note n = note_at(c);
    char name[sizeof((gp_param){0}.name)], text[120];
    for (int i = 0; i < c->nargs; i++) {
        if (!is_not_finite(&c->arg[i])) continue;
        n.number = !step;
        if (!step) break;
        name_of(c->op, i, name);
        double v = c->arg[i].f;
        snprintf(text, sizeof text, "%s with %s = %s", c->name, name,
                 isnan(v) ? "nan"
                 : v > 0  ? "inf"
                          : "-inf");
        n.op = gp_intern_text(text);
        break;
    }
    return gp_finite_note_id(&n);
}

/* The first list that c has written; -1: none. An optimizer's parameters, or gradients that are
 * clipped. State in further ones, as Adam's, no other op reads: to look at it took 8 % of a step.
 */
static int written_list(const gp_call *c) {
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_LIST && c->arg[i].written) return i;
    return -1;
}

/* Whether c only moves elements, and does not convert them to integers or bool. */
static bool only_moves(const gp_call *c) {
    gp_family family = gp_op_family(c->op);
    return family == GP_FAMILY_fill ||
           (family == GP_FAMILY_layout && gp_is_float((gp_dtype)c->out[0]->a.dtype));
}

/* What is computed, compared or chosen, and what an optimizer writes. */
static bool show_results(const gp_call *c) {
    int list = written_list(c);
    bool ok = true, shown = c->nout && !only_moves(c);
    gp_watch.on = false;
    for (int i = 0; ok && shown && i < c->nout; i++)
        if (c->out[i]->a.numel) ok = gp_watch.see(c, c->out[i]);
    for (int k = 0; ok && list >= 0 && k < c->arg[list].n; k++)
        ok = gp_watch.see(c, c->arg[list].list[k]);
    gp_watch.on = true;
    return ok;
}

/* Adds t, number k of c's lists, -1 or GP_CHECK_GIVEN, to what is checked; *note: that of c, once
 * it has one. */
static bool add(const gp_call *c, gp_checks *now, gp_tensor *t, int k, uint32_t *note) {
    if (!may_be_new(c, t)) return true;
    if (!*note) *note = note_of(c, k >= 0);
    return waits(c) ? gp_pending_add(c, t, k, *note) : gp_checks_add(now, c, t, k, *note);
}

/* Adds a recurrent layer's weights and states, which come in lists: their NaN would be said to be
 * made by the layer. */
static bool add_lists(const gp_call *c, gp_checks *now) {
    if (gp_op_family(c->op) != GP_FAMILY_rnn) return true;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        for (int k = 0; v->kind == GP_LIST && !v->written && k < v->n; k++) {
            char name[sizeof((gp_param){0}.name)], text[64];
            gp_finite_note n = note_at(c);
            name_of(c->op, i, name);
            snprintf(text, sizeof text, "%s[%d]", name, k + 1);
            n.given = gp_intern_text(text), n.number = true;
            uint32_t note = gp_finite_note_id(&n);
            if (!add(c, now, v->list[k], GP_CHECK_GIVEN, &note)) return false;
        }
    }
    return true;
}

static bool watch_results(const gp_call *c) {
    if (gp_watch.see) return show_results(c);
    /* Nothing after a failure is the first. */
    if (c->stream->async && atomic_load_explicit(&gp_failures_unread, memory_order_relaxed))
        return true;
    gp_checks now;
    now.n = now.operands = 0;
    uint32_t note = 0;
    if (!add_lists(c, &now)) return false;
    for (int i = 0; i < c->nout; i++)
        if (!add(c, &now, c->out[i], -1, &note)) return false;
    int list = written_list(c);
    for (int k = 0; list >= 0 && k < c->arg[list].n; k++)
        if (!add(c, &now, c->arg[list].list[k], k, &note)) return false;
    return gp_checks_run(&now);
}

static _Thread_local bool stepping; /* an optimizer's op runs */

/* Whether c is a step of an optimizer: it writes the first of several lists. */
static bool is_step(const gp_call *c) {
    return c->nargs > 1 && c->arg[0].kind == GP_LIST && c->arg[1].kind == GP_LIST &&
           gp_list_writes(c->op) & 1;
}

/* Work on another stream must not start before the check that belongs to what it may read. */
static bool run_watched(const gp_interceptor *self, gp_call *c) {
    gp_stream *s = gp_pending.n ? gp_pending.stream : NULL;
    if (s && gp_stream_current(s->dev) != s && !gp_pending_check()) return false;
    bool outer = stepping;
    stepping = is_step(c);
    bool ok = gp_op_run_below(self, c);
    stepping = outer;
    return ok;
}

/* Results that wait are checked before they, or their operands, are overwritten, and before what
 * was queued is waited for: then the failure comes with that wait. */
static bool at(gp_moment m, const char *what, void *of) {
    switch (m) {
    case GP_AT_LAUNCH: return !gp_watch.on || watch_results(of);
    case GP_AT_WRITE: return gp_pending_write(of, stepping);
    case GP_AT_ORDER:
    case GP_AT_WAIT:
    case GP_AT_READ:
    case GP_AT_COPY: return gp_pending_check();
    default: return true;
    }
}

static _Thread_local gp_interceptor interceptor = {.order = 40, .run = run_watched, .at = at};

bool gp_watch_set(bool on) {
    bool ok = on || gp_pending_check();
    gp_watch.on = on;
    gp_intercept(&interceptor, on);
    return ok;
}
