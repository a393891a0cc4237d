/* Whether a replay finds what the recording found: arguments, gradients, and tensors that the
 * function reads by itself. */
#include "tensor/capture/list.h"

static bool same_layout(const gp_array *a, const gp_array *b) {
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] > 1 && a->stride[i] != b->stride[i]) return false;
    return true;
}

static bool differs(const gp_capture *k, int i, const char *was, const char *is) {
    return gp_fail("capture: argument #%d is %s, and was %s when the function was captured "
                   "(%s:%d); capture it for each kind of arguments",
                   k->arg[i], is, was, k->loc.file ? k->loc.file : "?", k->loc.line);
}

/* Whether input i is like the one of the recording. */
static bool same_input(const gp_capture *k, int i, gp_tensor *t) {
    const gp_tensor *like = &k->like[i];
    gp_shape a = gp_tensor_shape(like), b = gp_tensor_shape(t);
    char was[200], is[200];
    if (t->a.dtype != like->a.dtype || !gp_shape_equal(&a, &b))
        return differs(k, i, gp_tensor_text(like, was, sizeof was),
                       gp_tensor_text(t, is, sizeof is));
    const gp_capture_slot *s = &k->slot[k->input_slot[i]];
    if (t->storage->dev != s->dev) return differs(k, i, s->dev->name, t->storage->dev->name);
    if (!same_layout(&like->a, &t->a))
        return differs(k, i, like->a.contiguous ? "contiguous" : "of other strides",
                       t->a.contiguous ? "contiguous" : "of other strides");
    gp_tensor_node(t);
    if (t->requires_grad != like->requires_grad)
        return differs(k, i, like->requires_grad ? "with gradients" : "without gradients",
                       t->requires_grad ? "with gradients" : "without gradients");
    if (s->pinned && (t->storage != like->storage || t->a.data != like->a.data))
        return gp_fail("capture: argument #%d was a tensor that the captured function also reads "
                       "by itself, and is another one now",
                       k->arg[i]);
    return true;
}

/* Whether inputs share memory with each other, and with what the function reads by itself, as they
 * did. */
static bool same_sharing(const gp_capture *k, gp_tensor *const *in) {
    for (int i = 0; i < k->ninputs; i++) {
        for (int j = 0; j < i; j++) {
            bool was = k->input_slot[i] == k->input_slot[j];
            bool is = in[i]->storage == in[j]->storage;
            if (was != is ||
                (is && in[i]->a.data - in[j]->a.data != k->like[i].a.data - k->like[j].a.data))
                return gp_fail(
                    "capture: arguments #%d and #%d share memory otherwise than when the "
                    "function was captured",
                    k->arg[j], k->arg[i]);
        }
        for (int n = 0; n < k->noutside; n++)
            if (k->slot[k->outside[n]].st == in[i]->storage &&
                k->slot[k->outside[n]].kind == GP_SLOT_FIXED)
                return gp_fail(
                    "capture: argument #%d shares memory with a tensor that the captured "
                    "function reads by itself, which it did not before",
                    k->arg[i]);
    }
    return true;
}

static bool same_inputs(const gp_capture *k, gp_tensor *const *in) {
    for (int i = 0; i < k->ninputs; i++)
        if (!same_input(k, i, in[i])) return false;
    return same_sharing(k, in);
}

static bool not_freed(const gp_capture *k) {
    for (int n = 0; n < k->noutside; n++) {
        const gp_capture_slot *s = &k->slot[k->outside[n]];
        if (s->kind != GP_SLOT_FIXED || s->made || atomic_load(&s->st->refs) > 1) continue;
        gp_srcloc at = s->first < 0 ? k->loc : k->call[s->first]->call.loc;
        return gp_fail("capture: the tensor that %s:%d reads was freed since the function was "
                       "captured",
                       at.file ? at.file : "?", at.line);
    }
    return true;
}

bool gp_capture_same_leaves(const gp_capture *k, gp_tensor *const *in, gp_leaf **leaf) {
    for (int i = 0; i < k->nleaves; i++) {
        const gp_captured_leaf *l = &k->leaf[i];
        gp_leaf *now = leaf[i] = l->input < 0 ? l->leaf : gp_tensor_leaf(in[l->input]);
        if (!now) return false;
        if (l->read && now->grad != l->before)
            return gp_fail("capture: the gradient that %s:%d adds to is not the one of the "
                           "recording: clear it in the captured function, or neither there nor "
                           "between its calls",
                           l->loc.file ? l->loc.file : "?", l->loc.line);
    }
    return true;
}

static bool same_mode(const gp_capture *k) {
    if ((k->no_grad > 0) == (gp_no_grad > 0)) return true;
    return gp_fail("capture: the function was captured %s no_grad, and is called %s it now",
                   k->no_grad ? "under" : "outside", gp_no_grad ? "under" : "outside");
}

bool gp_capture_same(const gp_capture *k, gp_tensor *const *in) {
    return same_mode(k) && same_inputs(k, in) && not_freed(k);
}
