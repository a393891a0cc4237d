/* The backward walk: nodes in reverse order of creation, each run once, when all gradients of its
 * outputs have arrived. */
#include <stdlib.h>
#include <string.h>

#include "tensor/autocast.h"
#include "tensor/autograd/after.h"
#include "tensor/autograd/anomaly.h"
#include "tensor/autograd/checks.h"
#include "tensor/autograd/watch.h"
#include "tensor/autograd/grad.h"
#include "tensor/autograd/survey.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"

_Thread_local bool gp_grads_separate;

enum { NODES = 16, INPUTS = 8 }; /* for which no memory is allocated */

typedef struct walk {
    const gp_backward_opts *opts;
    gp_node **heap; /* the node with the largest seq first; each holds a reference */
    int n, cap;
    gp_node *nodes[NODES];
    gp_tensor *tensors[2 * INPUTS];
    bool need[INPUTS];
    gp_leaf *leaves;               /* with something pending */
    gp_survey ahead;               /* what the walk may reach */
    gp_srcloc loc;                 /* the forward line of the last step */
    uint64_t used[GP_MAX_DEVICES]; /* by slot: streams other than the caller's that ran a step */
    bool others, joined;           /* whether there are any; join_streams' result */
    bool defers;                   /* ops of the caller's own thread are deferred */
    gp_vjp v;                      /* tensors made during the step */
} walk;

/* ---- the queue ---- */

/* Queues n once, however many gradients reach it; w holds a reference until pop. */
static bool push(walk *w, gp_node *n) {
    if (n->queued) return true;
    if (w->n == w->cap) {
        int cap = 2 * w->cap;
        gp_node **more = malloc((size_t)cap * sizeof *more);
        if (!more) return gp_fail("backward: out of memory");
        memcpy(more, w->heap, (size_t)w->n * sizeof *more);
        if (w->heap != w->nodes) free(w->heap);
        w->heap = more, w->cap = cap;
    }
    int i = w->n++;
    for (; i && w->heap[(i - 1) / 2]->seq < n->seq; i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = gp_node_ref(n);
    n->queued = true;
    return true;
}

/* The node that was made last; the caller takes over its reference. */
static gp_node *pop(walk *w) {
    gp_node *top = w->heap[0], *last = w->heap[--w->n];
    int i = 0;
    for (int k = 1; k < w->n; i = k, k = 2 * k + 1) {
        if (k + 1 < w->n && w->heap[k + 1]->seq > w->heap[k]->seq) k++;
        if (w->heap[k]->seq <= last->seq) break;
        w->heap[i] = w->heap[k];
    }
    w->heap[i] = last;
    top->queued = false;
    return top;
}

/* ---- streams ---- */

static void join_device(gp_device *dev, void *ctx) {
    walk *w = ctx;
    gp_stream *current = gp_stream_current(dev);
    for (int i = 0; w->used[dev->slot] >> i && w->joined; i++) {
        gp_stream *s = dev->streams[i];
        if (w->used[dev->slot] >> i & 1)
            w->joined = gp_order_join(current, s, atomic_load(&s->issued), "backward");
    }
}

/* Orders the caller's streams after all others that the walk has used. */
static bool join_streams(walk *w) {
    w->joined = true;
    if (w->others) gp_device_each(join_device, w);
    return w->joined;
}

/* The cpu runs ops of its default stream where they are called. While forked ones are still ahead,
 * those are deferred: the forks' have workers, which get theirs meanwhile. */
static void begin_deferring(walk *w) {
    w->defers = w->ahead.forked && gp_defer_begin(gp_device_cpu());
}

/* The walk has come to n: its forked nodes are all queued, or else what is deferred is not to
 * become too much. */
static void check_deferred(walk *w, const gp_node *n) {
    if (!w->defers) return;
    w->ahead.forked -= gp_node_forked(n);
    if (w->ahead.forked) gp_defer_relieve();
    else gp_defer_end(), w->defers = false;
}

/* Makes s its device's current stream, or what stands in for it; returns the one before. */
static gp_stream *enter_stream(walk *w, gp_stream *s) {
    gp_stream *was = gp_stream_current(s->dev);
    s = gp_defer_stream(s);
    if (was == s) return was;
    w->others = true;
    w->used[s->dev->slot] |= (uint64_t)1 << s->index;
    gp_stream_set_current(s);
    return was;
}

/* ---- gradients ---- */

static gp_tensor *sum_of(gp_tensor *a, gp_tensor *b, gp_tensor *into) {
    gp_call c;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, a);
    gp_call_tensor(&c, b);
    c.into = into;
    return gp_call_one(&c);
}

/* *sum += g; own: nobody else holds *sum. The sum stays on the stream that made *sum: that of g may
 * belong to another fork, whose next steps need not wait for this one's. */
static bool add_to(walk *w, gp_tensor **sum, bool *own, gp_tensor *g) {
    if (!*sum) {
        *sum = gp_tensor_ref(g);
        *own = false;
        return true;
    }
    gp_stream *s = (*sum)->storage->last_writer;
    if (!s || s->dev != g->storage->dev) s = gp_stream_current(g->storage->dev);
    gp_stream *was = enter_stream(w, s);
    bool mine = *own && !w->opts->create && !gp_pending_holds((*sum)->storage);
    gp_tensor *t = sum_of(*sum, g, mine ? *sum : NULL);
    gp_stream_set_current(was);
    if (!t) return false;
    gp_tensor_unref(*sum);
    *sum = t;
    *own = true;
    return true;
}

/* Adds g to the gradient of that output of n. Takes no reference of the caller's. */
static bool give_node(walk *w, gp_node *n, int output, gp_tensor *g) {
    gp_output *o = &n->out[output];
    return add_to(w, &o->g, &o->own, g) && push(w, n);
}

/* The same for a leaf, whose sum is kept until the walk is over: a failed walk leaves every grad as
 * it was. */
static bool give_leaf(walk *w, gp_leaf *l, gp_tensor *g) {
    bool own = false, first = !l->pending; /* not owned: a leaf may be given the same g twice */
    if (!add_to(w, &l->pending, &own, g)) return false;
    if (first) l->refs++, l->next = w->leaves, w->leaves = l;
    return true;
}

/* A gradient converted to the input's shape and dtype. */
static gp_tensor *fitted(walk *w, const gp_input *in, gp_tensor *g) {
    gp_vjp *v = &w->v;
    if (g->a.dtype != in->dtype) g = DO(to, "t-d", g, (int)in->dtype);
    return g ? gp_sum_to(v, g, &in->shape) : NULL;
}

/* The hook's result for g: g, or another tensor of its shape and device; NULL with a message. */
static gp_tensor *run_hook(walk *w, gp_grad_hook *h, gp_tensor *g) {
    gp_tensor *r = gp_keep(&w->v, h->fn(h->ctx, g));
    if (!r || r == g) return r;
    gp_shape want = gp_tensor_shape(g), have = gp_tensor_shape(r);
    char a[160], b[160];
    if (gp_shape_equal(&want, &have) && r->storage->dev == g->storage->dev) return r;
    return gp_fail_null(
        "backward: a hook returned a gradient of shape %s on %s (expected %s on %s)",
        gp_shape_text(&have, a, sizeof a), r->storage->dev->name, gp_shape_text(&want, b, sizeof b),
        g->storage->dev->name);
}

/* Runs the hooks of one output, each on the result of the one before; NULL with a message. */
static gp_tensor *run_hooks(walk *w, gp_grad_hook *h, int output, gp_tensor *g) {
    if (h) gp_srcloc_set_forward((gp_srcloc){0}); /* ops in hooks have source lines of their own */
    for (; h && g; h = h->next)
        if (h->output == output) g = run_hook(w, h, g);
    return g;
}

/* Releases what the step made, at its end, also where it failed. */
static void drop_pool(gp_vjp *v) {
    for (int i = 0; i < v->npool; i++) gp_tensor_unref(v->pool[i]);
    v->npool = 0;
}

/* ---- one node ---- */

/* Whether a saved tensor's storage was left unwritten since it was saved; true for a NULL
 * `saved`. */
static bool unchanged(const gp_node *n, const gp_tensor *saved, uint32_t version) {
    const gp_storage *st = saved ? saved->storage : NULL;
    if (!st || st->version == version) return true;
    return gp_fail(
        "backward: %s (%s:%d) needs a tensor that was written in place since (%s:%d); use "
        ":clone() before the write, or the form without _",
        n->op->name, n->loc.file ? n->loc.file : "?", n->loc.line,
        st->write_file ? st->write_file : "?", st->write_line);
}

/* A saved tensor with its history, for gradients of gradients. */
static gp_tensor *with_history(gp_vjp *v, gp_tensor *t, gp_node *node, gp_leaf *leaf, int output) {
    gp_tensor *r = gp_keep(v, gp_tensor_alias(t));
    if (!r || (!node && !leaf) || !gp_is_float((gp_dtype)t->a.dtype)) return r;
    if (node) r->node = gp_node_ref(node);
    else r->leaf = leaf, leaf->refs++;
    r->output = (uint8_t)output;
    r->requires_grad = true;
    return r;
}

/* Sets v->x and v->y, the saved inputs and outputs of n, and v->need, which gradients are wanted.
 * create: with their history, since the gradients are recorded too. */
static bool unpack(gp_vjp *v, gp_node *n, bool create) {
    bool ok = true;
    for (int i = 0; i < n->nin && ok; i++) {
        const gp_input *in = &n->in[i];
        ok = unchanged(n, in->saved, in->version);
        v->need[i] = in->need && (in->node || in->leaf);
        v->dx[i] = NULL;
        v->x[i] = in->saved;
        if (ok && in->saved && create)
            ok = (v->x[i] = with_history(v, in->saved, in->node, in->leaf, in->output)) != NULL;
    }
    for (int i = 0; i < n->nout && ok; i++) {
        const gp_output *o = &n->out[i];
        ok = unchanged(n, o->saved, o->version);
        v->y[i] = o->saved;
        if (ok && o->saved && create)
            ok = (v->y[i] = with_history(v, o->saved, n, NULL, i)) != NULL;
    }
    return ok;
}

/* With detect_anomaly: reports a NaN in a gradient where it arises. Waits for the device. */
static bool no_anomaly(walk *w, const gp_node *n, int i, gp_tensor *g) {
    bool found;
    if (!gp_anomaly) return true;
    if (!gp_has_nan(g, &found)) return false;
    return !found || gp_fail("backward: %s (%s:%d) gave NaN in the gradient of its input %d",
                             n->op->name, n->loc.file ? n->loc.file : "?", n->loc.line, i + 1);
}

/* Passes the gradients that n's rule left in dx to the nodes and leaves of the inputs. */
static bool pass_on(walk *w, gp_node *n) {
    for (int i = 0; i < n->nin; i++) {
        const gp_input *in = &n->in[i];
        if (!w->v.dx[i] || !w->v.need[i]) continue;
        gp_tensor *g = fitted(w, in, w->v.dx[i]);
        if (!g || !no_anomaly(w, n, i, g)) return false;
        if (in->node ? !give_node(w, in->node, in->output, g) : !give_leaf(w, in->leaf, g))
            return false;
    }
    return true;
}

/* Memory for the inputs of n: in the walk itself, or malloc'ed for nodes with many (cat, stack);
 * step frees it. */
static bool prepare(walk *w, gp_node *n) {
    gp_vjp *v = &w->v;
    v->node = n;
    v->arg = n->arg;
    v->x = w->tensors;
    v->need = w->need;
    v->failed = false;
    if (n->nin > INPUTS) {
        char *memory = malloc((size_t)n->nin * (2 * sizeof(gp_tensor *) + sizeof(bool)));
        if (!memory) return gp_fail("backward: out of memory");
        v->x = (gp_tensor **)memory;
        v->need = (bool *)(v->x + 2 * n->nin);
    }
    v->dx = v->x + n->nin;
    return true;
}

/* Stores the gradient for grad() where one of its inputs is an output of n: it is complete now. */
static void capture(walk *w, const gp_node *n) {
    const gp_backward_opts *o = w->opts;
    for (int i = 0; i < o->ninputs; i++)
        if (gp_tensor_node(o->inputs[i]) == n) {
            gp_tensor *g = n->out[o->inputs[i]->output].g;
            if (g) o->out[i] = gp_tensor_ref(g);
        }
}

/* The body of step, on n's stream. */
static bool run_rule(walk *w, gp_node *n) {
    gp_vjp *v = &w->v;
    if (!prepare(w, n)) return false;
    bool ok = unpack(v, n, w->opts->create);
    for (int i = 0; i < n->nout; i++) {
        gp_tensor *g = n->out[i].g;
        v->g[i] = g ? gp_keep(v, g) : NULL; /* the pool owns it from here on */
        if (ok && g && n->hooks) ok = (v->g[i] = run_hooks(w, n->hooks, i, g)) != NULL;
        n->out[i].g = v->g[i]; /* for capture */
    }
    if (ok) capture(w, n);
    for (int i = 0; i < n->nout; i++) n->out[i].g = NULL;
    gp_srcloc_set_forward(n->loc);
    const gp_node *outer = gp_watch_step(n);
    ok = ok && n->rule->fn(v) && !v->failed && pass_on(w, n);
    gp_watch_step(outer);
    w->loc = n->loc;
    drop_pool(v);
    if (v->x != w->tensors) free(v->x);
    return ok;
}

/* Runs the hooks of a leaf whose gradient is complete, and gives it to the leaf's watcher. */
static bool tell(walk *w, gp_leaf *l) {
    gp_tensor *g = run_hooks(w, l->hooks, 0, l->pending);
    if (!g) return false;
    gp_tensor_ref(g);
    gp_tensor_unref(l->pending);
    l->pending = g;
    l->told = true;
    gp_srcloc_set_forward((gp_srcloc){0});
    return l->watch->ready(l->watcher, g, &l->taken);
}

/* n was walked: tells who waits for leaves that only it could still add to. */
static bool leave_leaves(walk *w, gp_node *n) {
    bool ok = true;
    for (int i = 0; w->ahead.leaves && i < n->nin; i++) {
        gp_leaf *l = n->in[i].need ? n->in[i].leaf : NULL;
        if (l && --l->edges == 0 && l->watch && l->pending && !l->told) ok = ok && tell(w, l);
    }
    return ok;
}

/* Runs one node on the stream of its forward, so that what was forked overlaps here, too: hooks,
 * the rule's function, its gradients passed on. Then what it saved is freed unless the graph is
 * retained; `freed` refuses a second walk through it. */
static bool step(walk *w, gp_node *n) {
    if (n->freed)
        return gp_fail(
            "backward: the graph through %s (%s:%d) was freed by an earlier backward; give "
            "that one retain_graph = true",
            n->op->name, n->loc.file ? n->loc.file : "?", n->loc.line);
    gp_stream *was = enter_stream(w, n->stream);
    n->walked = true;
    bool ok = run_rule(w, n);
    gp_stream_set_current(was);
    if (ok && !w->opts->retain) gp_node_free_saved(n);
    return ok && leave_leaves(w, n);
}

/* ---- the walk ---- */

/* Queues root with its gradient g (NULL: 1, for a one-element root). */
static bool start(walk *w, gp_tensor *root, gp_tensor *g) {
    gp_vjp *v = &w->v;
    char text[200];
    if (!gp_is_float((gp_dtype)root->a.dtype))
        return gp_fail(
            "backward: the tensor is %s; gradients go through floats only (convert with :float() "
            "before the ops that need them)",
            gp_dtype_name((gp_dtype)root->a.dtype));
    if (!root->requires_grad && !gp_tensor_node(root))
        return gp_fail("backward: the tensor does not require gradients: nothing that made it does "
                       "(or it was made under no_grad)");
    if (!g && root->a.numel != 1)
        return gp_fail("backward: a tensor with %lld elements (%s) needs a gradient argument; only "
                       "for one element it is 1",
                       (long long)root->a.numel, gp_tensor_text(root, text, sizeof text));
    if (gp_anomaly && !gp_check_root(root)) return false;
    gp_shape s = gp_tensor_shape(root), have = g ? gp_tensor_shape(g) : s;
    char a[160], b[160];
    if (!gp_shape_equal(&s, &have))
        return gp_fail("backward: the gradient has shape %s, the tensor %s",
                       gp_shape_text(&have, a, sizeof a), gp_shape_text(&s, b, sizeof b));
    if (!g) {
        gp_call c;
        gp_call_begin(&c, GP_OP(full));
        gp_call_ints(&c, s.dim, s.ndim);
        gp_call_number(&c, (gp_scalar){.i = 1});
        c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = root->a.dtype};
        c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = root->storage->dev};
        g = gp_keep(v, gp_call_one(&c));
    }
    if (!g) return false;
    gp_node *n = gp_tensor_node(root);
    return n ? give_node(w, n, root->output, g) : give_leaf(w, root->leaf, g);
}

/* A gradient that a leaf may keep: not an expanded view, nor one that others hold. */
static gp_tensor *own_copy(walk *w, gp_tensor *g) {
    bool only = g->refs == 1 && g->storage->refs - gp_pending_holds(g->storage) == 1;
    if (w->opts->create || (g->a.contiguous && only)) return gp_tensor_ref(g);
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, g);
    return gp_call_one(&c);
}

/* The gradient that l has from earlier walks += g, on the caller's stream. */
static bool add_grad(gp_leaf *l, gp_tensor *g, bool create) {
    gp_tensor *t = sum_of(l->grad, g, create ? NULL : l->grad);
    if (!t) return false;
    gp_tensor_unref(l->grad);
    l->grad = t;
    return true;
}

/* The sum of a leaf's gradients becomes its grad (is added to it), or is captured for grad(). */
static bool settle_leaf(walk *w, gp_leaf *l) {
    gp_tensor *g = l->told ? l->pending : run_hooks(w, l->hooks, 0, l->pending);
    const gp_backward_opts *o = w->opts;
    if (l->taken) return true;
    bool wanted = !o->inputs;
    if (!g) return false;
    for (int i = 0; !wanted && i < o->ninputs; i++)
        if (o->inputs[i]->leaf == l && !gp_tensor_node(o->inputs[i])) o->out[i] = gp_tensor_ref(g);
    if (!wanted) return true;
    gp_srcloc_set_forward(w->loc);
    if (!gp_at(GP_AT_GRAD_READ, NULL, l)) return false;
    if (l->grad) return add_grad(l, g, o->create);
    return (l->grad = own_copy(w, g)) != NULL;
}

/* Called after the walk. ok false: discards the gradients. */
static bool settle_leaves(walk *w, bool ok) {
    for (gp_leaf *l = w->leaves; l && ok && !w->opts->inputs; l = l->next)
        if (l->watch && !l->told) ok = tell(w, l);
    while (w->leaves) {
        gp_leaf *l = w->leaves;
        w->leaves = l->next;
        if (ok) ok = settle_leaf(w, l);
        gp_tensor_unref(l->pending);
        l->pending = NULL;
        l->told = l->taken = false;
        gp_leaf_unref(l);
    }
    drop_pool(&w->v);
    return ok;
}

static void begin_walk(walk *w, const gp_backward_opts *opts) {
    w->opts = opts;
    w->heap = w->nodes, w->n = 0, w->cap = NODES;
    w->leaves = NULL, w->loc = (gp_srcloc){0}, w->others = w->defers = false;
    memset(w->used, 0, sizeof w->used);
    w->v.pool = w->v.first, w->v.npool = 0, w->v.cap = GP_POOL;
    w->v.failed = false;
    gp_walk_begin();
}

/* Runs the nodes in order; ok false: releases them only. */
static bool run_nodes(walk *w, bool ok) {
    if (ok) begin_deferring(w);
    while (w->n) {
        gp_node *top = pop(w);
        ok = ok && !gp_thread_stopped() && step(w, top);
        check_deferred(w, top);
        for (int i = 0; !ok && i < top->nout; i++)
            gp_tensor_unref(top->out[i].g), top->out[i].g = NULL;
        gp_node_unref(top);
    }
    if (w->defers) gp_defer_end();
    if (gp_thread_stopped()) ok = gp_fail("interrupted!");
    return ok;
}

bool gp_backward(gp_tensor *const *roots, gp_tensor *const *grads, int n,
                 const gp_backward_opts *opts) {
    walk w;
    bool ok = true;
    if (gp_kept() & GP_KEEPS_CALLS)
        return gp_fail("backward: a function that fuse traces computes no gradients itself; call "
                       "backward on its result");
    begin_walk(&w, opts);
    int off = gp_no_grad;
    bool separate = gp_grads_separate;
    gp_no_grad = opts->create ? 0 : 1;
    gp_grads_separate = opts->inputs != NULL;
    gp_autocast_pause(); /* gradients have the dtypes of the forward's ops */
    for (int i = 0; i < n && ok; i++) ok = start(&w, roots[i], grads ? grads[i] : NULL);
    ok = ok && gp_survey_nodes(w.heap, w.n, !opts->inputs, &w.ahead);
    ok = run_nodes(&w, ok);
    ok = ok && join_streams(&w);
    ok = settle_leaves(&w, ok);
    gp_srcloc_set_forward((gp_srcloc){0});
    ok = gp_walk_end(ok);
    gp_no_grad = off;
    gp_grads_separate = separate;
    gp_autocast_resume();
    if (w.heap != w.nodes) free(w.heap);
    if (w.v.pool != w.v.first) free(w.v.pool);
    return ok;
}
