/* The tape of autograd: a node for each recorded op, which remembers the op's arguments and what
 * its derivative needs, and, for each tensor, the node that made it. gp_op_run records here while
 * gradients are on; backward.c walks the nodes from a result to the leaves. An op's row says which
 * inputs and outputs its derivative reads, and only those are saved, as aliases: a later write in
 * place gives the tensor a new history, and the alias keeps the old one. A view that is written in
 * place is rewritten as a node that puts its elements into the base. */
#include "tensor/autograd/tape.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/memory/alloc.h"
#include "tensor/autograd/anomaly.h"
#include "tensor/autograd/watch.h"
#include "tensor/autograd/grad.h"

_Atomic bool gp_grad_live, gp_grad_watched;
_Thread_local int gp_no_grad;
void (*gp_keep_program)(gp_node *n, struct gp_program *p);

static _Thread_local uint64_t count; /* of nodes: the order of their creation */

/* ---- leaves ---- */

void gp_leaf_unref(gp_leaf *l) {
    if (!l || --l->refs > 0) return;
    gp_tensor_unref(l->grad);
    for (gp_grad_hook *h = l->hooks, *next; h; h = next) {
        next = h->next;
        if (h->drop) h->drop(h->ctx);
        free(h);
    }
    free(l);
}

gp_leaf *gp_tensor_leaf(gp_tensor *t) {
    if (!t->leaf && (t->leaf = calloc(1, sizeof *t->leaf))) t->leaf->refs = 1;
    return t->leaf ? t->leaf : gp_fail_null("out of memory");
}

bool gp_tensor_set_requires_grad(gp_tensor *t, bool on) {
    if (on && !gp_is_float((gp_dtype)t->a.dtype))
        return gp_fail("requires_grad: dtype %s (expected a float: f64 f32 f16 bf16; convert with "
                       ":float())",
                       gp_dtype_name((gp_dtype)t->a.dtype));
    if (gp_tensor_node(t))
        return on ? true
                  : gp_fail("requires_grad: the tensor is the result of %s; use :detach() to cut "
                            "it off from what made it",
                            t->node->op->name);
    if (on && !gp_tensor_leaf(t)) return false;
    t->requires_grad = on;
    if (on) gp_grad_live = true;
    return true;
}

void gp_tensor_drop_history(gp_tensor *t) {
    gp_node *n = t->node;
    gp_leaf *l = t->leaf;
    t->node = NULL;
    t->leaf = NULL;
    t->requires_grad = false;
    gp_node_unref(n);
    gp_leaf_unref(l);
}

/* ---- nodes ---- */

gp_node *gp_node_ref(gp_node *n) {
    n->refs++;
    return n;
}

/* Releases what was saved, and remembers that something was. */
static void release(gp_node *n, gp_tensor **saved) {
    if (*saved) n->freed = true;
    gp_tensor_unref(*saved);
    *saved = NULL;
}

/* A node that saved nothing can be walked again. */
void gp_node_free_saved(gp_node *n) {
    for (int i = 0; i < n->nin; i++) release(n, &n->in[i].saved);
    for (int i = 0; i < n->nout; i++) release(n, &n->out[i].saved);
    if (!n->ctx) return;
    if (n->drop) n->drop(n->ctx);
    n->ctx = NULL;
    n->freed = true;
}

/* ---- spare nodes ---- */

/* Dead nodes of this thread that had room for SMALL bytes: malloc caches no blocks of the sizes
 * that the tape of small ops needs. */
enum { SMALL = 1024, MOST_SPARE = 1024 };
_Static_assert(sizeof(gp_node) < SMALL, "a small node has room for its inputs");
static _Thread_local struct spare_nodes {
    gp_node *first;
    int n;
    bool kept; /* free_spare will be called */
} spare;

static void free_spare(void *unused) {
    for (gp_node *n = spare.first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    spare = (struct spare_nodes){0};
}

static pthread_key_t ending;
static void make_key(void) { pthread_key_create(&ending, free_spare); }

/* Makes a thread that keeps spare nodes free them when it ends. */
static void keeps_spare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    pthread_setspecific(ending, &spare);
    spare.kept = true;
}

/* Memory for a node of that many bytes, uninitialised; nodes of common ops come from the spare
 * ones. */
static gp_node *new_node(size_t bytes) {
    gp_node *n = bytes <= SMALL ? spare.first : NULL;
    if (n) {
        spare.first = n->next;
        spare.n--;
    } else {
        n = malloc(bytes <= SMALL ? SMALL : bytes);
    }
    if (n) n->small = bytes <= SMALL;
    return n;
}

/* Takes back the memory of a dead node, which nobody points to. */
static void give_back(gp_node *n) {
    if (!n->small || spare.n >= MOST_SPARE) {
        free(n);
        return;
    }
    if (!spare.kept) keeps_spare();
    n->next = spare.first;
    spare.first = n;
    spare.n++;
}

/* Tensors that die here may hold the last reference to other nodes: those wait in a list, since a
 * chain may be longer than the C stack. */
void gp_node_unref(gp_node *n) {
    static _Thread_local gp_node *waiting;
    static _Thread_local bool running;
    if (!n || --n->refs > 0) return;
    n->next = waiting;
    waiting = n;
    if (running) return;
    running = true;
    while ((n = waiting)) {
        waiting = n->next;
        gp_node_free_saved(n);
        for (int i = 0; i < n->nin; i++) gp_node_unref(n->in[i].node), gp_leaf_unref(n->in[i].leaf);
        for (int i = 0; i < n->nout; i++) gp_tensor_unref(n->out[i].g);
        for (gp_grad_hook *h = n->hooks, *next; h; h = next) {
            next = h->next;
            if (h->drop) h->drop(h->ctx);
            free(h);
        }
        give_back(n);
    }
    running = false;
}

gp_node *gp_node_new(const gp_op *op, const gp_rule *rule, int nargs, int nints, int nin) {
    size_t bytes = sizeof(gp_node) + (size_t)nargs * sizeof(gp_value) +
                   (size_t)nints * sizeof(int64_t) + (size_t)nin * sizeof(gp_input);
    gp_node *n = new_node(bytes);
    if (!n) return gp_fail_null("out of memory");
    bool small = n->small;
    memset(n, 0, offsetof(gp_node, out));
    n->small = small;
    n->hooks = NULL;
    n->next = NULL;
    n->ctx = NULL;
    n->drop = NULL;
    n->refs = 1;
    n->seq = ++count;
    n->op = op;
    n->rule = rule;
    n->nargs = nargs, n->nints = nints, n->nin = nin;
    n->in = (gp_input *)(n + 1);
    n->arg = (gp_value *)(n->in + nin);
    n->ints = (int64_t *)(n->arg + nargs);
    n->loc = gp_srcloc_here();
    n->module = gp_watch_module();
    return n;
}

void gp_node_input(gp_node *n, int i, gp_tensor *t) {
    gp_input *in = &n->in[i];
    gp_node *made = gp_tensor_node(t);
    in->node = made ? gp_node_ref(made) : NULL;
    in->leaf = !made && t->requires_grad ? t->leaf : NULL;
    if (in->leaf) in->leaf->refs++;
    in->output = t->output;
    in->dtype = t->a.dtype;
    in->need = t->requires_grad;
    in->tensor = true;
    in->contiguous = t->a.contiguous;
    in->shape.ndim = t->a.ndim;
    memcpy(in->shape.dim, t->a.dim, sizeof in->shape.dim); /* all of them: faster than a loop */
    in->dev = t->storage->dev;
    in->saved = NULL;
}

/* Makes t output i of n; releases the node that t had before. */
static void attach(gp_tensor *t, gp_node *n, int i) {
    gp_node *before = t->node;
    t->node = gp_node_ref(n);
    t->output = (uint8_t)i;
    t->requires_grad = true;
    gp_node_unref(before);
}

void gp_node_output(gp_node *n, int i, gp_tensor *t) {
    gp_output *o = &n->out[i];
    n->stream = gp_stream_current(t->storage->dev);
    o->dtype = t->a.dtype;
    o->shape = gp_tensor_shape(t);
    o->dev = t->storage->dev;
    o->saved = o->g = NULL;
    o->own = false;
    if (gp_is_float((gp_dtype)t->a.dtype)) attach(t, n, i);
}

/* ---- views and writes in place ---- */

/* A node for view t of base: base's gradient is t's, scattered to t's elements. Its only input is
 * base. */
static gp_node *geometry(const gp_op *op, const gp_rule *rule, gp_tensor *base, const gp_tensor *t,
                         int nin) {
    int nd = t->a.ndim;
    gp_node *n = gp_node_new(op, rule, 4, 2 * nd, nin);
    if (!n) return NULL;
    n->arg[0] = (gp_value){.kind = GP_TENSOR};
    n->arg[1] = (gp_value){.kind = GP_INTS, .n = nd, .i = 0};
    n->arg[2] = (gp_value){.kind = GP_INTS, .n = nd, .i = nd};
    int64_t offset = (t->a.data - base->a.data) / (int64_t)gp_dtype_size((gp_dtype)t->a.dtype);
    n->arg[3] = (gp_value){.kind = GP_INT, .i = offset + 1};
    for (int i = 0; i < nd; i++) n->ints[i] = t->a.dim[i], n->ints[nd + i] = t->a.stride[i];
    gp_node_input(n, 0, base);
    return n;
}

gp_node *gp_tensor_node(gp_tensor *t) {
    gp_tensor *base = t->base;
    if (!base || t->writes == base->writes || !base->requires_grad) return t->node;
    gp_node *n = geometry(GP_OP(as_strided), &vjp_as_strided, base, t, 1);
    if (!n) return t->node;
    n->nout = 1;
    gp_node_output(n, 0, t);
    gp_node_unref(n);
    t->writes = base->writes;
    return t->node;
}

/* View t of base was written by n: base becomes its former self with t's elements put in, and t a
 * view of that. */
static bool write_through(gp_tensor *t, gp_node *n) {
    gp_tensor *base = t->base;
    if (!base->a.contiguous)
        return gp_fail("%s_: a view of a tensor with gaps cannot be written under autograd; use "
                       ":clone() first",
                       n->op->name);
    gp_node *w = geometry(n->op, &gp_rule_slice_write, base, t, 2);
    if (!w) return false;
    gp_node_input(w, 1, t);
    w->nout = 1;
    gp_node_output(w, 0, base);
    gp_node_unref(w);
    base->writes++;
    return gp_tensor_node(t) != NULL;
}

/* Whether c may write its tensor: a leaf that requires gradients only where nothing is recorded,
 * since old values may be saved. */
static bool may_write(const gp_call *c) {
    gp_tensor *t = c->into, *root = t->base ? t->base : t;
    if (root->requires_grad && !gp_tensor_node(root))
        return gp_fail("%s_: %s that requires gradients is written in place; do it under no_grad, "
                       "or on a copy",
                       c->op->name, root == t ? "a tensor" : "a view of a tensor");
    return true;
}

/* The same for lists that an op without a derivative writes. */
static bool may_write_lists(const gp_call *c) {
    uint32_t writes = gp_list_writes(c->op);
    for (int i = 0; writes >> i; i++)
        for (int k = 0; (writes >> i & 1) && gp_given(c, i) && k < c->arg[i].n; k++) {
            gp_tensor *t = c->arg[i].list[k];
            if (t->requires_grad || (t->base && t->base->requires_grad))
                return gp_fail("%s: tensor %d of argument %d requires gradients and is written in "
                               "place; do it under no_grad",
                               c->op->name, k + 1, i + 1);
        }
    return true;
}

/* ---- recording ---- */

bool gp_tensor_wants_grad(gp_tensor *t) {
    if (t->base && t->base->requires_grad) gp_tensor_node(t);
    return t->requires_grad;
}

/* Whether a tensor argument of c needs gradients; counts the tensor arguments. */
static bool needed(const gp_call *c, int *nin) {
    bool need = false;
    *nin = 0;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR) need |= gp_tensor_wants_grad(v->t), ++*nin;
        for (int k = 0; v->kind == GP_LIST && k < v->n; k++)
            need |= gp_tensor_wants_grad(v->list[k]), ++*nin;
    }
    return need || (c->into && gp_tensor_wants_grad(c->into));
}

/* Whether the letters of a rule's part name input i, or the outputs (i = -1). */
static bool names(const char *part, int i) {
    for (; *part && *part != '|'; part++)
        if (i < 0 ? *part == 'y' : *part == '*' || *part - '0' == i) return true;
    return false;
}

/* Whether the gradients that n's inputs need read input i, or the outputs (-1). */
static bool reads(const gp_node *n, int i) {
    const char *part = n->rule->saves;
    if (!part) return false;
    const char *end = part; /* short texts: not worth a library call */
    while (*end && *end != '|') end++;
    if (!*end) return names(part, i);
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k].need && names(part, i)) return true;
        while (*part && *part != '|') part++;
        if (!*part++) break;
    }
    return false;
}

/* The same for rows whose derivatives are formulas, which name their operands. */
static bool formula_reads(const gp_node *n, int i) {
    const gp_op *op = n->op;
    int operands = op->kind == GP_REDUCE ? 1 : op->ntensors;
    unsigned wanted = 1u << (i < 0 ? operands + 1 : i + 1);
    if (i == 0 && op->kind == GP_REDUCE) wanted |= 1u << 4;
    for (int k = 0, in = 0; k < op->ngrads; k++) {
        bool need = n->arg[k].kind == GP_TENSOR && n->in[in++].need;
        if (need && (gp_formula_variables(&gp_ops[op->grad + k]) & wanted)) return true;
    }
    return false;
}

static bool saves(const gp_node *n, int i) {
    return n->op->ngrads && n->op->rule == n->rule ? formula_reads(n, i) : reads(n, i);
}

/* A copy of what t holds before the op writes it. */
static gp_tensor *copied(gp_tensor *t) {
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, t);
    gp_no_grad++;
    gp_tensor *y = gp_call_one(&c);
    gp_no_grad--;
    return y;
}

/* Saves an alias, not t itself: a later write gives t that write's history, which may lead back to
 * this node. Its present history is in->node or in->leaf. written: the op itself writes t, so its
 * old values are saved for the derivative. */
static bool save(gp_input *in, gp_tensor *t, bool written) {
    in->saved = written ? copied(t) : gp_tensor_alias(t);
    if (in->saved) in->version = in->saved->storage->version;
    return in->saved != NULL;
}

/* The number of the operand that input i of an elementwise op is: plain numbers are not inputs. */
static int operand_of(const gp_node *n, int i) {
    int k = 0;
    while (n->arg[k].kind != GP_TENSOR || i-- > 0) k++;
    return k;
}

bool gp_tape_begin(gp_call *c, gp_node **node) {
    int nin, at = 0;
    *node = NULL;
    if (!needed(c, &nin) || !c->op->rule) return true;
    if (!c->op->rule->fn) return may_write_lists(c);
    if (c->into && !may_write(c)) return false;
    gp_node *n = gp_node_new(c->op, c->op->rule, c->nargs, c->nints, nin);
    if (!n) return false;
    memcpy(n->arg, c->arg, (size_t)c->nargs * sizeof *n->arg);
    memcpy(n->ints, c->ints, (size_t)c->nints * sizeof *n->ints);
    for (int i = 0; i < c->nargs; i++) {
        gp_value *v = &n->arg[i];
        int first = at;
        if (v->kind == GP_TENSOR) gp_node_input(n, at++, v->t);
        for (int k = 0; v->kind == GP_LIST && k < v->n; k++) gp_node_input(n, at++, v->list[k]);
        if (v->kind == GP_TENSOR || v->kind == GP_LIST) v->i = first;
        if (v->kind == GP_PROGRAM) gp_keep_program(n, v->program);
    }
    at = 0;
    bool ok = true;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        int many = v->kind == GP_TENSOR ? 1 : v->kind == GP_LIST ? v->n : 0;
        for (int k = 0; k < many; k++, at++) {
            gp_tensor *t = v->kind == GP_TENSOR ? v->t : v->list[k];
            int number = c->op->ngrads ? operand_of(n, at) : at;
            if (saves(n, number)) ok = ok && save(&n->in[at], t, t == c->into);
        }
    }
    if (!ok) gp_node_unref(n), n = NULL;
    *node = n;
    return ok;
}

/* Whether the op returned an argument as it is (contiguous, to): then nothing is recorded. */
static bool gave_back(const gp_call *c) {
    return !c->into && c->nout == 1 && c->nargs && c->arg[0].kind == GP_TENSOR &&
           c->out[0] == c->arg[0].t;
}

/* Drops what the kernel itself updates (running statistics): backward does not read it. */
static void forget_written(gp_node *n, const gp_call *c) {
    for (int i = 0; i < c->nargs; i++) {
        if (c->arg[i].kind != GP_TENSOR || !c->arg[i].written) continue;
        gp_input *in = &n->in[n->arg[i].i];
        gp_tensor_unref(in->saved);
        in->saved = NULL;
    }
}

bool gp_tape_end(gp_node *n, gp_call *c) {
    if (gave_back(c)) return gp_node_unref(n), true;
    if (!c->into) forget_written(n, c);
    bool extra = n->op->recorded, keep = extra || saves(n, -1), ok = true;
    n->nout = c->nout;
    n->seed = c->seed, n->counter = c->counter;
    for (int i = 0; i < c->nout; i++) {
        gp_node_output(n, i, c->out[i]);
        if (!keep || (extra && i < c->nout - 1 && !strchr(n->rule->saves, 'y'))) continue;
        n->out[i].saved = gp_tensor_alias(c->out[i]);
        n->out[i].version = c->out[i]->storage->version;
        ok = ok && n->out[i].saved;
    }
    if (extra) gp_tensor_unref(c->out[--c->nout]);
    if (gp_anomaly) ok = ok && gp_note_nan(n, c->out, c->nout);
    if (c->into) {
        if (c->into->base) ok = ok && write_through(c->into, n);
        else c->into->writes++;
    }
    gp_node_unref(n);
    return ok;
}
