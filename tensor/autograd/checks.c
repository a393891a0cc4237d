/* Calls of check_finite, and what waits for them: see checks.h. */
#include "tensor/autograd/checks.h"

#include <string.h>

#include "tensor/device/stream/failure.h"

_Thread_local gp_checks gp_pending;

/* v's tensor, or of a list that of the number k; NULL: it is none, or has none of it. */
static gp_tensor *tensor_of(const gp_value *v, int k) {
    if (v->kind == GP_LIST) return k >= 0 && k < v->n ? v->list[k] : NULL;
    return v->kind == GP_TENSOR ? v->t : NULL;
}

/* Whether operand x of t can be asked, which its op gave in v: not where that has overwritten it.
 */
static bool may_ask(const gp_value *v, const gp_tensor *x, const gp_tensor *t) {
    return !v->unread && !v->written && gp_is_float((gp_dtype)x->a.dtype) &&
           x->storage != t->storage && x->storage->dev == t->storage->dev;
}

static bool is_absent(const gp_checks *k, int i, int at) {
    return i != GP_CHECK_X && k->of[i][at] == k->of[GP_CHECK_X][at];
}

bool gp_checks_add(gp_checks *k, const gp_call *c, gp_tensor *t, int number, uint32_t note) {
    if (k->n == GP_CHECK_TOGETHER && !gp_checks_run(k)) return false;
    int at = k->n++, n = 0;
    k->stream = c->stream;
    k->note[at] = note;
    for (int i = 0; i <= GP_CHECK_MOST; i++) k->of[i][at] = t;
    for (int i = 0; number != GP_CHECK_GIVEN && i < c->nargs && n < GP_CHECK_MOST; i++) {
        gp_tensor *x = tensor_of(&c->arg[i], number);
        if (x && ++n && may_ask(&c->arg[i], x, t)) k->of[n][at] = x;
    }
    if (n > k->operands) k->operands = n;
    return true;
}

bool gp_checks_run(gp_checks *k) {
    gp_call c;
    int n = k->n;
    k->n = 0;
    if (!n) return true;
    gp_call_begin(&c, GP_OP(check_finite));
    for (int i = 0; i <= GP_CHECK_MOST; i++)
        if (i > k->operands || (n == 1 && is_absent(k, i, 0))) gp_call_none(&c);
        else if (n == 1) gp_call_tensor(&c, k->of[i][0]);
        else c.arg[c.nargs++] = (gp_value){.kind = GP_LIST, .n = n, .list = k->of[i]};
    for (int i = 0; i < n; i++) gp_finite_set_note(&c, i, k->note[i]);
    c.arg[c.nargs++] = (gp_value){.kind = GP_INTS, .n = (n + 1) / 2};
    c.nints = (n + 1) / 2;
    k->operands = 0;
    return gp_op_run(&c);
}

/* ---- results that wait for their check ---- */

/* More bytes than this do not wait: to read them takes a card longer than the host a launch. */
static const size_t most_bytes = (size_t)64 << 20;

/* The bit of st in gp_checks.held: where it is 0, st is not held. */
static bool may_hold(gp_checks *k, const gp_storage *st, bool set) {
    uint64_t h = (uintptr_t)st / sizeof *st * 0x9e3779b97f4a7c15 >> 56;
    uint64_t *word = &k->held[h / 64], bit = (uint64_t)1 << h % 64, had = *word & bit;
    if (set) *word |= bit;
    return had;
}

/* Whether st is held; what was added last is asked first. */
static bool is_held(gp_checks *k, const gp_storage *st) {
    if (!may_hold(k, st, false)) return false;
    for (int at = k->n - 1; at >= 0; at--)
        for (int i = 0; i <= k->operands; i++)
            if (k->of[i][at]->storage == st) return true;
    return false;
}

int gp_pending_count(const gp_storage *st) {
    gp_checks *k = &gp_pending;
    int holds = 0;
    if (!may_hold(k, st, false)) return 0;
    for (int i = 0; i <= k->operands; i++)
        for (int at = 0; at < k->n; at++)
            holds += k->of[i][at]->storage == st && !is_absent(k, i, at);
    return holds;
}

static void release(gp_checks *k, int at) {
    for (int i = GP_CHECK_MOST; i >= 0; i--)
        if (!is_absent(k, i, at)) gp_tensor_unref(k->of[i][at]);
}

/* A tensor of t's elements without its history, which keeps their memory. That of a parameter stays
 * anyway: it does not count. */
static gp_tensor *hold(gp_checks *k, const gp_tensor *t) {
    if (!t->leaf && !is_held(k, t->storage)) k->bytes += t->storage->bytes;
    may_hold(k, t->storage, true);
    return gp_tensor_alias(t);
}

/* Replaces the tensors of the result that was added last by its own; without memory it is left
 * out. */
static bool hold_last(gp_checks *k) {
    int at = --k->n;
    gp_tensor *own[1 + GP_CHECK_MOST] = {hold(k, k->of[GP_CHECK_X][at])};
    bool ok = own[GP_CHECK_X] != NULL;
    for (int i = 1; i <= GP_CHECK_MOST; i++) {
        own[i] = is_absent(k, i, at) ? own[GP_CHECK_X] : hold(k, k->of[i][at]);
        ok &= own[i] != NULL;
    }
    for (int i = 0; i <= GP_CHECK_MOST; i++) k->of[i][at] = own[i];
    if (ok) k->n++;
    else release(k, at);
    return ok;
}

bool gp_pending_add(const gp_call *c, gp_tensor *t, int number, uint32_t note) {
    gp_checks *k = &gp_pending;
    bool elsewhere = k->n && k->stream != c->stream;
    if ((elsewhere || k->n == GP_CHECK_TOGETHER) && !gp_pending_check()) return false;
    k->at = c->loc;
    return gp_checks_add(k, c, t, number, note) && hold_last(k) &&
           (k->bytes <= most_bytes || gp_pending_check());
}

/* The check counts as the line of the last result. Nothing after a failure is the first. */
bool gp_pending_check(void) {
    if (!gp_pending.n) return true;
    gp_checks now = gp_pending; /* what runs meanwhile may add others */
    int n = now.n;
    bool ok = true;
    gp_pending.n = gp_pending.operands = 0, gp_pending.bytes = 0;
    memset(gp_pending.held, 0, sizeof gp_pending.held);
    if (!atomic_load_explicit(&gp_failures_unread, memory_order_relaxed)) {
        gp_stream *was = gp_stream_current(now.stream->dev);
        gp_srcloc forward = gp_srcloc_of_backward() ? gp_srcloc_here() : (gp_srcloc){0};
        gp_stream_set_current(now.stream);
        gp_srcloc_set_forward(now.at);
        ok = gp_checks_run(&now);
        gp_srcloc_set_forward(forward);
        gp_stream_set_current(was);
    }
    for (int at = 0; at < n; at++) release(&now, at);
    return ok;
}

static bool is_result(const gp_storage *st) {
    bool found = false;
    for (int at = 0; at < gp_pending.n; at++) found |= gp_pending.of[GP_CHECK_X][at]->storage == st;
    return found;
}

static void leave_out(const gp_storage *st) {
    gp_checks *k = &gp_pending;
    for (int i = 1; i <= k->operands; i++)
        for (int at = 0; at < k->n; at++) {
            gp_tensor *t = k->of[i][at];
            if (t->storage != st) continue;
            k->of[i][at] = k->of[GP_CHECK_X][at];
            gp_tensor_unref(t);
        }
}

bool gp_pending_write(const gp_storage *st, bool step) {
    if (!gp_pending_holds(st)) return true;
    if (!step || is_result(st)) return gp_pending_check();
    leave_out(st);
    return true;
}
